//! Changing: what is appended, written, inserted and removed waits in memory, or, where it is much,
//! in a temporary file. The file itself is not touched before the commit.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::{Place, Slot};
use super::open::part_name;
use crate::alloc;
use crate::blosc;
use crate::checksum::Sum;
use crate::error::{Result, fail};
use crate::io::File;
use crate::os;
use crate::parallel::ordered::{self, Keeper};
use crate::superchunk::buffer_pool::Buffers;
use crate::superchunk::staging::{self, Gathering};
use std::ops::Range;
use std::sync::Arc;

/// Encoded chunks that wait in memory before they go to a file.
const MEMORY: usize = if cfg!(test) { 24 << 10 } else { 8 << 20 };
/// A chunk that is a copy of its content: it has no room for anything else.
pub(super) const COPIED: u8 = 0x02;

/// An encoded chunk with its digest, and how many spare bytes it has before that.
pub(super) struct Sealed {
    bytes: Vec<u8>,
    spare: u32,
}

impl Gathering for Bloscpack {
    fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }
    fn encoded(&self) -> u64 {
        self.slots.nbytes()
    }
    fn encode(&mut self, content: &[u8]) -> Result<()> {
        self.push_content(content)
    }
}

impl Bloscpack {
    pub(super) fn check_writer(&self) -> Result<()> {
        if self.owner == 0 {
            return Err(fail!(State, "{}: it was opened for reading", self.name()));
        }
        if self.owner != os::process() {
            return Err(fail!(
                State,
                "{}: this handle belongs to the process that opened it for writing",
                self.name()
            ));
        }
        if self.broken {
            return Err(fail!(
                State,
                "{}: a commit failed half-way; open it again, what was committed before is whole",
                self.name()
            ));
        }
        Ok(())
    }

    /// Appends content. On failure [`Bloscpack::nbytes`] tells how much of it went in.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        if src.is_empty() {
            return Ok(());
        }
        self.close_chunk()?;
        self.take_last()?;
        self.changed = true;
        staging::append(self, src, self.chunk_size, self.threads.count())
    }

    /// The last chunk, if it has room, becomes content that waits.
    fn take_last(&mut self) -> Result<()> {
        let Some(i) = self
            .slots
            .len()
            .checked_sub(1)
            .filter(|_| self.pending.is_empty())
        else {
            return Ok(());
        };
        let n = self.slots.get(i)?.nbytes as usize;
        if n >= self.chunk_size {
            return Ok(());
        }
        self.pending = self.content(i)?;
        self.slots.truncate(i);
        Ok(())
    }

    /// The content of a chunk.
    fn content(&self, i: usize) -> Result<Vec<u8>> {
        let n = self.slots.get(i)?.nbytes;
        let mut content = alloc::zeroed(alloc::allow(n.into(), self.memory_limit, "a chunk")?)?;
        self.chunk_part(i, 0, &mut content, self.threads.count())
            .map_err(|e| {
                e.within(format_args!("{}: chunk {i}", self.name()))
                    .at(i as u64)
            })?;
        Ok(content)
    }

    /// Encodes all that waits, the last of it as a chunk that is not full.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.close_chunk()?;
        self.encode_pending(self.pending.len())?;
        self.buffers = Buffers::default();
        Ok(())
    }

    /// Encodes the first `n` bytes of what waits.
    pub(super) fn encode_pending(&mut self, n: usize) -> Result<()> {
        staging::encode_first(self, n)
    }

    /// Encodes content and puts its chunks behind the last. On failure those before it stay.
    fn push_content(&mut self, content: &[u8]) -> Result<()> {
        let (slots, done) = self.store_all(content.chunks(self.chunk_size).collect())?;
        slots.into_iter().try_for_each(|s| self.slots.push(s))?;
        done
    }

    /// Encodes pieces of content and keeps them, each as a chunk. On failure there are those before
    /// the one that failed.
    fn store_all(&mut self, pieces: Vec<&[u8]>) -> Result<(Vec<Slot>, Result<()>)> {
        let each = if pieces.len() > 1 {
            1
        } else {
            self.threads.count()
        };
        let file = self.part_for(pieces.iter().map(|p| p.len()).sum())?;
        let keeper = if self.file_threads() > 1 {
            Keeper::Any
        } else {
            Keeper::Caller
        };
        let (mut slots, mut bytes) = (alloc::with_room(pieces.len())?, 0);
        let (this, start) = (&*self, self.part_end);
        let done = ordered::in_order(
            this.threads.count(),
            ordered::few(this.threads.count()),
            keeper,
            pieces,
            |piece| this.encode_sealed(piece, each),
            |chunk| {
                let n = chunk.bytes.len() as u64;
                slots.push(this.put(file.as_deref(), start.saturating_add(bytes), chunk)?);
                bytes += n;
                Ok(())
            },
        );
        self.kept(file.is_some(), bytes);
        Ok((slots, done))
    }

    /// Encodes a chunk with its spare bytes and its digest.
    pub(super) fn encode_sealed(&self, content: &[u8], threads: usize) -> Result<Sealed> {
        let mut bytes = self.buffers.take();
        self.encode(content, &mut bytes, threads)?;
        let least = bytes.len();
        widen(&mut bytes, self.spare_bytes);
        let spare = (bytes.len() - least) as u32;
        Ok(Sealed {
            bytes: seal(bytes, self.header.checksum)?,
            spare,
        })
    }

    pub(super) fn encode(&self, content: &[u8], dst: &mut Vec<u8>, threads: usize) -> Result<()> {
        blosc::encode(&self.params, content, dst, threads)
    }

    /// Keeps an encoded chunk with its digest.
    pub(super) fn store(&mut self, chunk: Sealed) -> Result<Slot> {
        let n = chunk.bytes.len();
        let file = self.part_for(n)?;
        let slot = self.put(file.as_deref(), self.part_end, chunk)?;
        self.kept(file.is_some(), n as u64);
        Ok(slot)
    }

    /// Where chunks of so many bytes are kept: the temporary file, or memory.
    pub(super) fn part_for(&mut self, n: usize) -> Result<Option<Arc<dyn File>>> {
        let memory = self.main.is_some() && self.in_memory.saturating_add(n) <= MEMORY;
        if memory {
            Ok(None)
        } else {
            self.part_file().map(Some)
        }
    }

    /// Puts an encoded chunk into that file, or keeps it in memory.
    pub(super) fn put(&self, file: Option<&dyn File>, at: u64, chunk: Sealed) -> Result<Slot> {
        let Sealed { bytes, spare } = chunk;
        let h = blosc::Header::parse(&bytes)?;
        let place = match file {
            Some(file) => {
                file.write_at(at, &bytes)?;
                self.buffers.keep(bytes, self.threads.count());
                Place::Part(at)
            }
            None => Place::Memory(bytes.into()),
        };
        Ok(Slot {
            place,
            cbytes: h.cbytes as u32,
            nbytes: h.nbytes as u32,
            flags: h.flags,
            spare,
        })
    }

    pub(super) fn kept(&mut self, in_file: bool, n: u64) {
        if in_file {
            self.part_end = self.part_end.saturating_add(n);
        } else {
            self.in_memory = self.in_memory.saturating_add(n as usize);
        }
    }

    fn part_file(&mut self) -> Result<Arc<dyn File>> {
        if let Some(f) = &self.part {
            return Ok(f.clone());
        }
        let file = self.container.create(&part_name(&self.container))?;
        // a new file needs room before its chunks for what is known only at the commit
        self.part_end = if self.main.is_none() {
            self.head_room()?
        } else {
            0
        };
        Ok(self.part.insert(file).clone())
    }

    /// Writes over content that is there. On failure some of it may be written.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        let end = at
            .checked_add(src.len() as u64)
            .filter(|&e| e <= self.nbytes());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {}: there are {}",
                self.name(),
                at.saturating_add(src.len() as u64),
                self.nbytes()
            )
        })?;
        if src.is_empty() {
            return Ok(());
        }
        self.changed = true;
        let stored = self.slots.nbytes();
        let (now, waits) = src
            .split_at_checked((stored.clamp(at, end) - at) as usize)
            .unwrap_or((src, &[]));
        let from = at.max(stored) - stored;
        if let Some(part) = self
            .pending
            .get_mut(from as usize..)
            .and_then(|p| p.get_mut(..waits.len()))
        {
            part.copy_from_slice(waits);
        }
        self.write_chunks(at..stored.clamp(at, end), now)
    }

    fn write_chunks(&mut self, bytes: Range<u64>, mut src: &[u8]) -> Result<()> {
        let mut whole: Vec<(usize, &[u8])> = Vec::new();
        for i in self.slots.holding(bytes.clone()) {
            let span = self.slots.span(i);
            let (from, to) = (span.start.max(bytes.start), span.end.min(bytes.end));
            let (part, rest) = src
                .split_at_checked((to - from) as usize)
                .unwrap_or((src, &[]));
            src = rest;
            if part.len() as u64 == span.end - span.start
                && self.open_chunk.as_ref().is_none_or(|(k, _)| *k != i)
            {
                if !part.is_empty() {
                    whole.push((i, part));
                }
                continue;
            }
            let content = self.opened(i)?;
            let place = content
                .get_mut((from - span.start) as usize..)
                .and_then(|c| c.get_mut(..part.len()));
            place
                .ok_or_else(|| fail!(State, "a chunk of another size"))?
                .copy_from_slice(part);
        }
        let (slots, done) = self.store_all(whole.iter().map(|(_, piece)| *piece).collect())?;
        whole
            .iter()
            .zip(slots)
            .for_each(|((i, _), slot)| self.slots.replace(*i, slot));
        done
    }

    /// Puts other content, of the same size, into a chunk.
    pub(super) fn replace_content(&mut self, i: usize, content: &[u8]) -> Result<()> {
        let chunk = self.encode_sealed(content, self.threads.count())?;
        let slot = self.store(chunk)?;
        self.slots.replace(i, slot);
        self.changed = true;
        Ok(())
    }

    /// The content of a chunk that is being changed: of one at a time, so that many small writes to
    /// it encode it once.
    fn opened(&mut self, i: usize) -> Result<&mut Vec<u8>> {
        if self.open_chunk.as_ref().is_none_or(|(k, _)| *k != i) {
            self.close_chunk()?;
            self.open_chunk = Some((i, self.content(i)?));
        }
        self.open_chunk
            .as_mut()
            .map(|(_, c)| c)
            .ok_or_else(|| fail!(State, "no open chunk"))
    }

    /// Encodes the chunk that was being changed.
    fn close_chunk(&mut self) -> Result<()> {
        let Some((i, content)) = self.open_chunk.take() else {
            return Ok(());
        };
        let encoded = self.encode_sealed(&content, self.threads.count());
        match encoded.and_then(|chunk| self.store(chunk)) {
            Ok(slot) => {
                self.slots.replace(i, slot);
                Ok(())
            }
            Err(e) => {
                self.open_chunk = Some((i, content));
                Err(e)
            }
        }
    }

    /// Appends a chunk as it is, behind all content.
    pub fn append_raw(&mut self, chunk: &[u8]) -> Result<()> {
        self.check_writer()?;
        let h = blosc::Header::parse(chunk)?;
        if h.cbytes != chunk.len() {
            return Err(fail!(
                Format,
                "the chunk says that it has {} bytes, {} are given",
                h.cbytes,
                chunk.len()
            ));
        }
        if h.extended() || h.version > 2 {
            return Err(fail!(
                Unsupported,
                "a Blosc2 chunk (version {}): the readers of these files know those of Blosc 1 only",
                h.version
            ));
        }
        let mut content =
            alloc::zeroed(alloc::allow(h.nbytes as u64, self.memory_limit, "a chunk")?)?;
        blosc::decode(chunk, &mut content, self.threads.count())?;
        self.flush()?;
        let mut bytes = alloc::with_room(chunk.len() + self.header.checksum.size())?;
        bytes.extend_from_slice(chunk);
        let slot = self.store(Sealed {
            bytes: seal(bytes, self.header.checksum)?,
            spare: 0,
        })?;
        self.changed = true;
        self.slots.push(slot)
    }

    /// Puts content, as one chunk, before chunk `at`, or behind the last.
    pub fn insert(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let n = self.slots.len();
        let at = usize::try_from(at)
            .ok()
            .filter(|a| *a <= n)
            .ok_or_else(|| fail!(Range, "{}: a chunk {at}: there are {n}", self.name()).at(at))?;
        let chunk = self.encode_sealed(src, self.threads.count())?;
        let slot = self.store(chunk)?;
        self.changed = true;
        self.slots.splice(at..at, [slot])
    }

    /// Takes a chunk away, with its content.
    pub fn remove(&mut self, at: u64) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let n = self.slots.len();
        let at = usize::try_from(at)
            .ok()
            .filter(|a| *a < n)
            .ok_or_else(|| fail!(Range, "{}: a chunk {at}: there are {n}", self.name()).at(at))?;
        self.changed = true;
        self.slots.splice(at..at + 1, [])
    }

    /// Keeps the first `nbytes` bytes of content.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.check_writer()?;
        if nbytes > self.nbytes() {
            return Err(fail!(
                Range,
                "{}: {nbytes} bytes are to stay: there are {}",
                self.name(),
                self.nbytes()
            ));
        }
        self.close_chunk()?;
        self.changed |= nbytes < self.nbytes();
        if let Some(waits) = nbytes.checked_sub(self.slots.nbytes()) {
            self.pending.truncate(waits as usize);
            return Ok(());
        }
        let i = self.slots.holding(nbytes..nbytes + 1).start;
        let kept = (nbytes - self.slots.span(i).start) as usize;
        let content = if kept == 0 {
            Vec::new()
        } else {
            self.content(i)?
        };
        self.slots.truncate(i);
        self.pending = content;
        self.pending.truncate(kept);
        Ok(())
    }
}

/// Puts the digest behind a chunk.
pub(super) fn seal(mut chunk: Vec<u8>, sum: Sum) -> Result<Vec<u8>> {
    let digest = sum.of(&chunk);
    alloc::reserve_exact(&mut chunk, digest.len())?;
    chunk.extend_from_slice(&digest);
    Ok(chunk)
}

/// Makes a chunk without its digest longer by bytes that no reader looks at; false where it cannot
/// be. Its header has its length then, also where it was cut before.
pub(super) fn widen(chunk: &mut Vec<u8>, by: u32) -> bool {
    let wanted = u32::try_from(chunk.len())
        .ok()
        .and_then(|n| n.checked_add(by))
        .filter(|n| i32::try_from(*n).is_ok());
    let (Some(wanted), Some(flags)) = (wanted, chunk.get(2).copied()) else {
        return false;
    };
    if by > 0 && (flags & COPIED != 0 || alloc::reserve_exact(chunk, by as usize).is_err()) {
        return false;
    }
    chunk.resize(wanted as usize, 0);
    if let Some(field) = chunk.get_mut(12..16) {
        field.copy_from_slice(&wanted.to_le_bytes());
    }
    true
}
