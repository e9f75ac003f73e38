//! Reading: bytes of content, whole chunks, chunks as they are stored; and the search for faults.
#![forbid(unsafe_code)]

use super::chunk_list::{Place, Slot};
use super::{Bloscpack, Mode};
use crate::blosc;
use crate::error::{Error, Result, Status, fail};
use crate::io::File;
use crate::options::{Opt, Options};
use crate::superchunk::staging::Pieces;
use crate::{alloc, parallel};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Content that is worth another thread.
const WORTH: usize = 256 << 10;
/// Scratch that a thread keeps.
const KEPT: usize = 8 << 20;

/// What [`Bloscpack::verify`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Chunks whose checksums fit.
    pub sound: u64,
    /// Chunks that are damaged.
    pub bad: u64,
    /// Chunks that can be decoded, and have no checksum; and those with a codec or a filter that
    /// is not known.
    pub unchecked: u64,
}

impl Verified {
    /// Counts a chunk that cannot be decoded.
    pub fn count(&mut self, e: &Error) {
        if e.is_unsupported() {
            self.unchecked += 1
        } else {
            self.bad += 1
        }
    }
}

/// A part of a chunk that is wanted.
struct Part<'a> {
    chunk: usize,
    /// From this byte of its content on.
    from: usize,
    dst: &'a mut [u8],
}

impl Bloscpack {
    /// Reads content from byte `at` on, until `dst` is full. True: some of it was damaged, and is
    /// zeros now, as the options wished.
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
            pending.copy_from_slice(waiting.ok_or_else(|| fail!(State, "bytes beyond the end"))?);
        }
        let bad = self.read_parts(self.cut(at..stored_end, stored))?;
        // what was read may belong elsewhere
        let doubt = self.doubt.is_some() && !self.placed;
        Ok(bad || (self.skip_damaged && (doubt || self.unsure.is_some())))
    }

    /// Cuts a range of content into parts of chunks.
    fn cut<'a>(&self, bytes: Range<u64>, dst: &'a mut [u8]) -> Vec<Part<'a>> {
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
                parts.push(Part {
                    chunk,
                    from: (from - span.start) as usize,
                    dst: part,
                });
            }
        }
        parts
    }

    fn read_parts(&self, mut parts: Vec<Part<'_>>) -> Result<bool> {
        let total: usize = parts.iter().map(|p| p.dst.len()).sum();
        let worth = total >= WORTH;
        if let [p] = &mut parts[..] {
            let read = self
                .chunk_part(
                    p.chunk,
                    p.from,
                    p.dst,
                    if worth { self.threads.count() } else { 1 },
                )
                .map_err(|e| self.named(p.chunk, e));
            return self
                .or_zeros(read, p.dst)
                .and_then(|bad| self.still().map(|()| bad));
        }
        // the first of those that fail, whatever the order in which they did
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let damaged = Mutex::new(false);
        parallel::for_each(if worth { self.file_threads() } else { 1 }, parts, |p| {
            let read = self
                .chunk_part(p.chunk, p.from, p.dst, 1)
                .map_err(|e| self.named(p.chunk, e));
            match self.or_zeros(read, p.dst) {
                Ok(bad) => *damaged.lock().unwrap_or_else(PoisonError::into_inner) |= bad,
                Err(e) => {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|f| e.position < f.position) {
                        *failed = Some(e);
                    }
                }
            }
        });
        self.still()?;
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(e) => Err(e),
            None => Ok(damaged.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Damage reads as zeros where that is wished.
    fn or_zeros(&self, read: Result<()>, dst: &mut [u8]) -> Result<bool> {
        match read {
            Ok(()) => Ok(false),
            Err(e) if self.skip_damaged && is_damage(e.status) => {
                dst.fill(0);
                Ok(true)
            }
            // it may look damaged only because it was changed under us
            Err(e) => self.still().and(Err(e)),
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

    /// Reads part of one chunk.
    pub(super) fn chunk_part(
        &self,
        i: usize,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        if let Some((_, open)) = self.open_chunk.as_ref().filter(|(k, _)| *k == i) {
            let part = open.get(from..).and_then(|p| p.get(..dst.len()));
            dst.copy_from_slice(part.ok_or_else(|| fail!(Range, "bytes beyond its end"))?);
            return Ok(());
        }
        self.slot_part(self.slots.get(i)?, from, dst, threads)
    }

    /// Reads part of a chunk that is stored.
    pub(super) fn slot_part(
        &self,
        slot: &Slot,
        from: usize,
        dst: &mut [u8],
        threads: usize,
    ) -> Result<()> {
        self.stored(slot, |chunk| {
            // what decoding takes beside the place that the caller brought
            let block = blosc::Header::parse(chunk)?.blocksize;
            alloc::allow(block as u64, self.memory_limit, "a block of a chunk")?;
            blosc::decode_range(chunk, from, dst, threads)
        })
    }

    /// Calls `f` with a chunk as it is stored, its digest checked.
    pub(super) fn stored<R>(&self, slot: &Slot, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let (mut f, mut result) = (Some(f), None);
        self.with_stored(slot, &mut |chunk| {
            result = f.take().map(|f| f(chunk));
            Ok(())
        })?;
        result.unwrap_or_else(|| Err(fail!(State, "no chunk")))
    }

    /// The same, once for all kinds of results.
    fn with_stored(&self, slot: &Slot, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match &slot.place {
            Place::Memory(bytes) => self.checked(slot, bytes, f),
            Place::Main(at) => self.fetched(&self.main, *at, slot, f),
            Place::Part(at) => self.fetched(&self.part, *at, slot, f),
            Place::Lost => Err(self
                .damage
                .clone()
                .unwrap_or_else(|| fail!(Format, "it was not found"))),
        }
    }

    fn fetched(
        &self,
        file: &Option<Arc<dyn File>>,
        at: u64,
        slot: &Slot,
        f: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        thread_local!(static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        let file = file
            .as_ref()
            .ok_or_else(|| fail!(State, "its file is not open"))?;
        let n = slot.cbytes as usize + self.header.checksum.size();
        if let Some(bytes) = file
            .bytes()
            .and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..n))
        {
            return self.checked(slot, bytes, f);
        }
        alloc::allow(n as u64, self.memory_limit, "a stored chunk")?;
        let mut scratch = SCRATCH.with(|s| {
            s.try_borrow_mut()
                .map(|mut s| std::mem::take(&mut *s))
                .unwrap_or_default()
        });
        if scratch.len() < n {
            // one that is kept is going to be of use for somewhat longer chunks, too
            scratch = alloc::zeroed(if n <= KEPT { n.next_power_of_two() } else { n })?;
        }
        let bytes = scratch.get_mut(..n).unwrap_or_default();
        let result = file
            .read_exact_at(at, bytes)
            .and_then(|()| self.checked(slot, bytes, f));
        if scratch.len() <= KEPT {
            SCRATCH.with(|s| _ = s.try_borrow_mut().map(|mut s| *s = scratch));
        }
        result
    }

    fn checked(
        &self,
        slot: &Slot,
        bytes: &[u8],
        f: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (chunk, digest) = bytes
            .split_at_checked(slot.cbytes as usize)
            .unwrap_or_default();
        let sum = self.header.checksum;
        if self.verify && sum.size() > 0 && sum.of(chunk) != digest {
            return Err(fail!(Checksum, "its {sum} does not match what is stored"));
        }
        let header = blosc::Header::parse(chunk)?;
        if header.cbytes != chunk.len() || header.nbytes != slot.nbytes as usize {
            let (n, c) = (header.nbytes, header.cbytes);
            return Err(fail!(
                Format,
                "its header says {n} bytes in {c}, it said {} in {} when it was found",
                slot.nbytes,
                slot.cbytes
            ));
        }
        f(chunk)
    }

    /// Bytes of content of chunk `i`.
    pub fn chunk_nbytes(&self, i: u64) -> Result<usize> {
        let i = self.index(i)?;
        if i < self.slots.len() {
            return Ok(self.slots.get(i)?.nbytes as usize);
        }
        Ok(self.pending_chunk(i).len())
    }

    /// Reads chunk `i` into `dst`, which has its size. True: as [`Bloscpack::read`].
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        let i = self.index(i)?;
        let n = self.chunk_nbytes(i as u64)?;
        if dst.len() != n {
            return Err(fail!(
                Argument,
                "{}: chunk {i}: it has {n} bytes, there is room for {}",
                self.name(),
                dst.len()
            )
            .at(i as u64));
        }
        if i < self.slots.len() {
            let bad = self.read_parts(vec![Part {
                chunk: i,
                from: 0,
                dst,
            }])?;
            // where chunks are missing it may be another one's content
            return Ok(bad || (self.skip_damaged && self.doubt.is_some() && self.damage.is_some()));
        }
        dst.copy_from_slice(self.pending_chunk(i));
        Ok(false)
    }

    /// Calls `f` with chunk `i` as it is, or is going to be, stored, without its digest.
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
        self.still()?;
        read
    }

    fn index(&self, i: u64) -> Result<usize> {
        let n = self.chunks();
        let there = usize::try_from(i).ok().filter(|i| *i < n);
        there.ok_or_else(|| fail!(Range, "{}: chunk {i}: there are {n}", self.name()).at(i))
    }

    /// Refuses to go on where the file was changed since it was opened for reading.
    fn still(&self) -> Result<()> {
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

    /// Reads every chunk and checks all that can be; tells each fault to `fault`, until it returns
    /// false.
    pub fn verify(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.verify_all(&mut fault)
    }

    fn verify_all(&self, fault: &mut dyn FnMut(&Error) -> bool) -> Result<Verified> {
        let mut v = Verified::default();
        let group = self.threads.count() * 4;
        for first in (0..self.slots.len()).step_by(group) {
            let mut found: Vec<(usize, Result<()>)> = (first..self.slots.len().min(first + group))
                .map(|i| (i, Ok(())))
                .collect();
            parallel::for_each(
                self.file_threads(),
                found.iter_mut().collect(),
                |(i, sound): &mut (usize, _)| *sound = self.sound(*i),
            );
            for (i, sound) in found {
                match sound {
                    Ok(()) if self.header.checksum.size() > 0 => v.sound += 1,
                    Ok(()) => v.unchecked += 1,
                    Err(e) => {
                        self.still_for_a_fault()?;
                        v.count(&e);
                        if !fault(&self.named(i, e)) {
                            return Ok(v);
                        }
                    }
                }
            }
            self.options.progress(
                self.slots.len().min(first + group) as u64,
                self.slots.len() as u64,
            )?;
        }
        self.still_for_a_fault()?;
        // one fault tells of all that are missing
        v.bad = v.bad.saturating_add(self.missing);
        let shape = if self.missing > 0 {
            None
        } else {
            self.shape_fault()
        };
        for e in self
            .damage
            .iter()
            .filter(|_| self.missing > 0)
            .chain(&self.doubt)
            .chain(&self.unsure)
            .chain(&self.meta_damage)
            .chain(&shape)
        {
            fault(e);
        }
        Ok(v)
    }

    /// A fault of a file that a writer has changed meanwhile is none.
    fn still_for_a_fault(&self) -> Result<()> {
        self.still().map_err(Error::because_changed)
    }

    /// What speaks against metadata of an array.
    fn shape_fault(&self) -> Option<Error> {
        let checked = self
            .array()
            .and_then(|a| a.map_or(Ok(()), |a| a.check(self.nbytes())));
        checked.err().map(|e| e.within(self.name()))
    }

    /// Calls `f` with all content, piece by piece. True: as [`Bloscpack::read`].
    pub fn each_piece(&self, f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let (nbytes, chunk) = (self.nbytes(), self.chunk_size as u64);
        let pieces = Pieces {
            nbytes,
            chunk,
            threads: self.threads.count(),
            limit: self.memory_limit,
            options: &self.options,
        };
        pieces.each(|at, dst| self.read(at, dst), f)
    }

    fn sound(&self, i: usize) -> Result<()> {
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

/// Verifies a file; every fault goes to `fault`, which says whether to go on.
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

/// Is this what damage looks like, as against a failing disk or a limit of the caller's?
pub(super) fn is_damage(s: Status) -> bool {
    matches!(
        s,
        Status::Format | Status::Checksum | Status::Codec | Status::Version | Status::Unsupported
    )
}
