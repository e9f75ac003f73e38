//! Reading content, chunks and encoded chunks; verification.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::{Bloscpack, Mode};
use crate::alloc::Bytes;
use crate::blosc::stored::{self, StoredBytes};
use crate::error::{Error, Result, fail};
use crate::options::{Opt, Options};
use crate::progress::{Scope, Step};
use crate::superchunk::chunk_in_file::ChunkInFile;
use crate::superchunk::staging::PieceReader;
use crate::{alloc, blosc, parallel};
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Minimum number of bytes of content for which several threads are used.
const PARALLEL_MIN: usize = 256 << 10;

/// The counts that [`Bloscpack::verify`] returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Chunks whose checksums match.
    pub intact: u64,
    /// Chunks that are corrupt.
    pub corrupt: u64,
    /// Chunks that can be decoded but have no checksum, and chunks with an unknown codec or filter.
    pub unchecked: u64,
}

impl Verified {
    /// Counts a chunk that cannot be decoded.
    pub fn count(&mut self, e: &Error) {
        if e.is_unsupported() {
            self.unchecked += 1
        } else {
            self.corrupt += 1
        }
    }
}

/// A requested part of a chunk.
struct ChunkPart<'a> {
    chunk: usize,
    /// Offset in the content of the chunk.
    from: usize,
    dst: &'a mut [u8],
}

impl Bloscpack {
    /// Reads content from byte `at` on until `dst` is full. Returns true if corrupt content was
    /// replaced by zeros, as the options allow.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at
            .checked_add(dst.len() as u64)
            .filter(|&e| e <= self.nbytes());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {}: there are {}",
                self.name(),
                at.saturating_add(dst.len() as u64),
                self.nbytes()
            )
        })?;
        let stored_end = end.min(self.slots.nbytes()).max(at);
        let (stored, pending) = dst
            .split_at_mut_checked((stored_end - at) as usize)
            .unwrap_or_default();
        let from = at.max(self.slots.nbytes()) - self.slots.nbytes();
        if !pending.is_empty() {
            let waiting = self
                .pending
                .get(from as usize..)
                .and_then(|p| p.get(..pending.len()));
            pending.copy_from_slice(waiting.ok_or_else(|| fail!(State, "range after the end"))?);
        }
        let damaged = self.read_parts(self.cut(at..stored_end, stored))?;
        // the content that was read may belong to other positions
        let suspected = self.suspected.is_some() && !self.positions_known;
        Ok(damaged || (self.skip_damaged && (suspected || self.unsure_size.is_some())))
    }

    /// Splits a range of content at chunk boundaries.
    fn cut<'a>(&self, bytes: Range<u64>, dst: &'a mut [u8]) -> Vec<ChunkPart<'a>> {
        let mut parts = Vec::new();
        let mut rest = dst;
        for chunk in self.slots.holding(bytes.clone()) {
            let span = self.slots.span(chunk);
            let (from, to) = (span.start.max(bytes.start), span.end.min(bytes.end));
            let (part, after) = rest
                .split_at_mut_checked(to.saturating_sub(from) as usize)
                .unwrap_or_default();
            rest = after;
            if !part.is_empty() {
                parts.push(ChunkPart {
                    chunk,
                    from: (from - span.start) as usize,
                    dst: part,
                });
            }
        }
        parts
    }

    fn read_parts(&self, mut parts: Vec<ChunkPart<'_>>) -> Result<bool> {
        let total: usize = parts.iter().map(|p| p.dst.len()).sum();
        let large = total >= PARALLEL_MIN;
        if let [p] = &mut parts[..] {
            let read = self
                .chunk_part(
                    p.chunk,
                    p.from,
                    p.dst,
                    if large { self.threads.count() } else { 1 },
                )
                .map_err(|e| self.named(p.chunk, e));
            return self
                .or_zeros(read, p.dst)
                .and_then(|damaged| self.check_unmodified().map(|()| damaged));
        }
        // the error of the lowest chunk is returned, independent of the order of execution
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let damaged = Mutex::new(false);
        parallel::for_each(if large { self.file_threads() } else { 1 }, parts, |p| {
            let read = self
                .chunk_part(p.chunk, p.from, p.dst, 1)
                .map_err(|e| self.named(p.chunk, e));
            match self.or_zeros(read, p.dst) {
                Ok(zeroed) => *damaged.lock().unwrap_or_else(PoisonError::into_inner) |= zeroed,
                Err(e) => {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|f| e.position < f.position) {
                        *failed = Some(e);
                    }
                }
            }
        });
        self.check_unmodified()?;
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(e) => Err(e),
            None => Ok(damaged.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Fills `dst` with zeros if the data is corrupt and the options skip damage. Returns true in
    /// that case.
    fn or_zeros(&self, read: Result<()>, dst: &mut [u8]) -> Result<bool> {
        match read {
            Ok(()) => Ok(false),
            Err(e) if self.skip_damaged && e.status.is_corruption() => {
                dst.fill(0);
                Ok(true)
            }
            // a concurrent change of the file may look like corruption
            Err(e) => self.check_unmodified().and(Err(e)),
        }
    }

    fn named(&self, chunk: usize, mut e: Error) -> Error {
        e.position = -1;
        let e = e.at(chunk as u64);
        if e.message.starts_with(self.name()) {
            e
        } else {
            e.within(format_args!("{}: chunk {chunk}", self.name()))
        }
    }

    /// Reads a part of chunk `i`.
    pub(super) fn chunk_part(
        &self,
        i: usize,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        if let Some((_, open)) = self.open_chunk.as_ref().filter(|(k, _)| *k == i) {
            let part = open.get(from..).and_then(|p| p.get(..dst.len()));
            dst.copy_from_slice(part.ok_or_else(|| fail!(Range, "range after the end"))?);
            return Ok(());
        }
        self.slot_part(self.slots.get(i)?, from, dst, threads)
    }

    /// Reads a part of an encoded chunk.
    pub(super) fn slot_part(
        &self,
        slot: &ChunkSlot,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        self.stored(slot, |chunk| {
            // memory that decoding needs in addition to the caller's buffer
            let block = blosc::Header::parse(chunk)?.blocksize;
            alloc::allow(block as u64, self.memory_limit, "a block of a chunk")?;
            blosc::decode_range(chunk, from, dst, threads)
        })
    }

    /// Calls `f` with an encoded chunk after its checksum is verified.
    pub(super) fn stored<R>(
        &self,
        slot: &ChunkSlot,
        f: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let (file, at) = match &slot.location {
            ChunkLocation::Memory(bytes) => return f(&self.verified(&&bytes[..], slot)?),
            ChunkLocation::Main(at) => (&self.main, *at),
            ChunkLocation::Part(at) => (&self.part, *at),
            ChunkLocation::Lost => {
                let lost = || fail!(Format, "it was not found");
                return Err(self.damage.clone().unwrap_or_else(lost));
            }
        };
        let file = file.as_deref();
        let source = ChunkInFile {
            file: file.ok_or_else(|| fail!(State, "its file is not open"))?,
            at,
            first: &[],
            limit: self.memory_limit,
        };
        f(&self.verified(&source, slot)?)
    }

    fn verified<'s>(&self, source: &'s dyn StoredBytes, slot: &ChunkSlot) -> Result<Bytes<'s>> {
        let sum = Some(self.header.checksum).filter(|_| self.verify);
        let chunk = stored::verified(source, slot.cbytes as usize, sum)?;
        let header = blosc::Header::parse(&chunk)?;
        if header.cbytes != chunk.len() || header.nbytes != slot.nbytes as usize {
            let (n, c) = (header.nbytes, header.cbytes);
            return Err(fail!(
                Format,
                "its header changed since the file was opened ({n} bytes in {c}, before {} in {})",
                slot.nbytes,
                slot.cbytes
            ));
        }
        Ok(chunk)
    }

    /// Returns the content size of chunk `i` in bytes.
    pub fn chunk_nbytes(&self, i: u64) -> Result<usize> {
        let i = self.index(i)?;
        if i < self.slots.len() {
            return Ok(self.slots.get(i)?.nbytes as usize);
        }
        Ok(self.pending_chunk(i).len())
    }

    /// Reads chunk `i` into `dst`, which must have the content size of the chunk. Returns true
    /// under the same condition as [`Bloscpack::read`].
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        let i = self.index(i)?;
        let n = self.chunk_nbytes(i as u64)?;
        if dst.len() != n {
            return Err(fail!(
                Argument,
                "{}: chunk {i}: wrong buffer size (expected {n} bytes, found {})",
                self.name(),
                dst.len()
            )
            .at(i as u64));
        }
        if i < self.slots.len() {
            let damaged = self.read_parts(vec![ChunkPart {
                chunk: i,
                from: 0,
                dst,
            }])?;
            // if chunks are missing, this may be the content of another chunk
            return Ok(
                damaged || (self.skip_damaged && self.suspected.is_some() && self.damage.is_some())
            );
        }
        dst.copy_from_slice(self.pending_chunk(i));
        Ok(false)
    }

    /// Calls `f` with the encoded bytes of chunk `i` without its checksum. A chunk that is not
    /// encoded yet is encoded first.
    pub fn with_raw<R>(&self, i: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let i = self.index(i)?;
        let changed = self
            .open_chunk
            .as_ref()
            .filter(|(k, _)| *k == i)
            .map(|(_, content)| &content[..]);
        if i >= self.slots.len() || changed.is_some() {
            let content = changed.unwrap_or_else(|| self.pending_chunk(i));
            let mut chunk = Vec::new();
            self.encode(content, &mut chunk, self.threads.count())?;
            return f(&chunk);
        }
        let read = self
            .stored(self.slots.get(i)?, f)
            .map_err(|e| self.named(i, e));
        self.check_unmodified()?;
        read
    }

    fn index(&self, i: u64) -> Result<usize> {
        let n = self.chunks();
        let there = usize::try_from(i).ok().filter(|i| *i < n);
        there.ok_or_else(|| fail!(Range, "{}: chunk {i}: there are {n}", self.name()).at(i))
    }

    /// Returns an error if the file was modified after it was opened for reading.
    fn check_unmodified(&self) -> Result<()> {
        let (Some(main), Some(was)) = (&self.main, self.unchanged) else {
            return Ok(());
        };
        if (main.size()?, main.modified()?) == was {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it was changed since it was opened; open it again to read on",
            self.name()
        ))
    }

    /// Reads and checks all chunks. Passes each error to `fault`, which returns false to stop.
    pub fn verify(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.verify_all(&mut fault)
    }

    fn verify_all(&self, fault: &mut dyn FnMut(&Error) -> bool) -> Result<Verified> {
        let mut v = Verified::default();
        let group = self.threads.count() * 4;
        let scope = Scope::open(self.options.progress(), self.nbytes(), Step::Call);
        for first in (0..self.slots.len()).step_by(group) {
            let mut found: Vec<(usize, Result<()>)> = (first..self.slots.len().min(first + group))
                .map(|i| (i, Ok(())))
                .collect();
            parallel::for_each(
                self.file_threads(),
                found.iter_mut().collect(),
                |(i, checked): &mut (usize, _)| *checked = self.check_chunk(*i),
            );
            for (i, checked) in found {
                match checked {
                    Ok(()) if self.header.checksum.size() > 0 => v.intact += 1,
                    Ok(()) => v.unchecked += 1,
                    Err(e) => {
                        self.confirm_fault()?;
                        v.count(&e);
                        if !fault(&self.named(i, e)) {
                            return Ok(v);
                        }
                    }
                }
            }
            let done = self.slots.len().min(first + group);
            scope.at_part(done as u64, self.slots.len() as u64)?;
        }
        self.confirm_fault()?;
        // one error represents all missing chunks
        v.corrupt = v.corrupt.saturating_add(self.missing);
        let shape = if self.missing > 0 {
            None
        } else {
            self.shape_fault()
        };
        for e in self
            .damage
            .iter()
            .filter(|_| self.missing > 0)
            .chain(&self.suspected)
            .chain(&self.unsure_size)
            .chain(&self.meta_damage)
            .chain(&shape)
        {
            fault(e);
        }
        Ok(v)
    }

    /// Returns an error if a writer has changed the file: then a fault is not corruption.
    fn confirm_fault(&self) -> Result<()> {
        self.check_unmodified().map_err(Error::into_busy)
    }

    /// Returns the contradiction between array metadata and content, if there is one.
    fn shape_fault(&self) -> Option<Error> {
        let checked = self
            .array()
            .and_then(|a| a.map_or(Ok(()), |a| a.check(self.nbytes())));
        checked.err().map(|e| e.within(self.name()))
    }

    /// Calls `f` with all content in consecutive pieces. Returns true under the same condition as
    /// [`Bloscpack::read`].
    pub fn each_piece(&self, f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let (nbytes, chunk) = (self.nbytes(), self.chunk_size as u64);
        let pieces = PieceReader {
            nbytes,
            chunk,
            threads: self.threads.count(),
            limit: self.memory_limit,
            options: &self.options,
        };
        pieces.each(|at, dst| self.read(at, dst), f)
    }

    fn check_chunk(&self, i: usize) -> Result<()> {
        let slot = self.slots.get(i)?;
        self.stored(slot, |chunk| {
            let mut content = alloc::zeroed(alloc::allow(
                slot.nbytes.into(),
                self.memory_limit,
                "a chunk",
            )?)?;
            blosc::decode(chunk, &mut content, 1)
        })
    }
}

/// Verifies a file. Passes each error to `fault`, which returns false to stop.
pub fn verify(
    path: &OsStr,
    options: &Options,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a superchunk",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io],
    )?;
    let all = options.clone().with(Opt::SkipDamaged, 1)?;
    Bloscpack::open(path, Mode::Read, &all)?.verify(fault)
}
