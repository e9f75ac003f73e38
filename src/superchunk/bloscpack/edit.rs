//! Changes: appended, written, inserted and removed content is held in memory, and in the part file
//! if it is large. The committed file is not changed before the commit.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::open::part_name;
use crate::alloc;
use crate::blosc;
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::io::File;
use crate::io::journal::Session;
use crate::parallel::ordered::{self, ConsumerThread};
use crate::superchunk::buffer_pool::BufferPool;
use crate::superchunk::staging::{self, StagingTarget};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of bytes of encoded chunks in memory; further chunks go to the part file.
const MAX_IN_MEMORY: usize = if cfg!(test) { 24 << 10 } else { 8 << 20 };
/// Flag of a chunk that stores its content uncompressed. Such a chunk cannot have spare bytes.
pub(super) const COPIED: u8 = 0x02;

/// An encoded chunk with its checksum, and the number of spare bytes before the checksum.
pub(super) struct SealedChunk {
    bytes: Vec<u8>,
    spare: u32,
}

impl StagingTarget for Bloscpack {
    fn staged(&mut self) -> &mut Vec<u8> {
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
    /// Returns the session of a handle that is open for writing.
    pub(super) fn session(&self) -> Result<&Session> {
        self.session
            .as_ref()
            .ok_or_else(|| fail!(State, "{}: it was opened for reading", self.name()))
    }

    pub(super) fn check_writer(&self) -> Result<()> {
        self.session()?.check()
    }

    /// Appends content. On failure, [`Bloscpack::nbytes`] shows how much was appended.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        if src.is_empty() {
            return Ok(());
        }
        self.close_chunk()?;
        self.reopen_last_chunk()?;
        self.changed = true;
        staging::append(self, src, self.chunk_size, self.threads.count())
    }

    /// Decodes a last chunk that is not full into pending content.
    fn reopen_last_chunk(&mut self) -> Result<()> {
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

    /// Returns the content of chunk `i`.
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

    /// Encodes all pending content; the last chunk may be short.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.close_chunk()?;
        self.encode_pending(self.pending.len())?;
        self.buffers = BufferPool::default();
        Ok(())
    }

    /// Encodes the first `n` bytes of the pending content.
    pub(super) fn encode_pending(&mut self, n: usize) -> Result<()> {
        staging::encode_first(self, n)
    }

    /// Encodes content and appends the chunks. On failure the chunks before the failed one remain.
    fn push_content(&mut self, content: &[u8]) -> Result<()> {
        let (slots, done) = self.store_all(content.chunks(self.chunk_size).collect())?;
        slots.into_iter().try_for_each(|s| self.slots.push(s))?;
        done
    }

    /// Encodes each piece as a chunk and stores it. On failure returns the chunks before the failed
    /// one.
    fn store_all(&mut self, pieces: Vec<&[u8]>) -> Result<(Vec<ChunkSlot>, Result<()>)> {
        let each = if pieces.len() > 1 {
            1
        } else {
            self.threads.count()
        };
        let file = self.part_for(pieces.iter().map(|p| p.len()).sum())?;
        let keeper = if self.file_threads() > 1 {
            ConsumerThread::Any
        } else {
            ConsumerThread::Caller
        };
        let (mut slots, mut bytes) = (alloc::with_capacity(pieces.len())?, 0);
        let (this, start) = (&*self, self.part_end);
        let done = ordered::in_order(
            this.threads.count(),
            ordered::max_early_large(this.threads.count()),
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
        self.count_stored(file.is_some(), bytes);
        Ok((slots, done))
    }

    /// Encodes a chunk with spare bytes and checksum.
    pub(super) fn encode_sealed(&self, content: &[u8], threads: usize) -> Result<SealedChunk> {
        let mut bytes = self.buffers.take();
        self.encode(content, &mut bytes, threads)?;
        let least = bytes.len();
        widen(&mut bytes, self.spare_bytes);
        let spare = (bytes.len() - least) as u32;
        Ok(SealedChunk {
            bytes: seal(bytes, self.header.checksum)?,
            spare,
        })
    }

    pub(super) fn encode(&self, content: &[u8], dst: &mut Vec<u8>, threads: usize) -> Result<()> {
        blosc::encode(&self.params, content, dst, threads)
    }

    /// Stores an encoded chunk.
    pub(super) fn store(&mut self, chunk: SealedChunk) -> Result<ChunkSlot> {
        let n = chunk.bytes.len();
        let file = self.part_for(n)?;
        let slot = self.put(file.as_deref(), self.part_end, chunk)?;
        self.count_stored(file.is_some(), n as u64);
        Ok(slot)
    }

    /// Returns the part file if `n` more bytes of chunks do not fit into memory.
    pub(super) fn part_for(&mut self, n: usize) -> Result<Option<Arc<dyn File>>> {
        let memory = self.main.is_some() && self.in_memory.saturating_add(n) <= MAX_IN_MEMORY;
        if memory {
            Ok(None)
        } else {
            self.part_file().map(Some)
        }
    }

    /// Writes an encoded chunk to `file`, or holds it in memory.
    pub(super) fn put(
        &self,
        file: Option<&dyn File>,
        at: u64,
        chunk: SealedChunk,
    ) -> Result<ChunkSlot> {
        let SealedChunk { bytes, spare } = chunk;
        let h = blosc::Header::parse(&bytes)?;
        let location = match file {
            Some(file) => {
                file.write_at(at, &bytes)?;
                self.buffers.give_back(bytes, self.threads.count());
                ChunkLocation::Part(at)
            }
            None => ChunkLocation::Memory(bytes.into()),
        };
        Ok(ChunkSlot {
            location,
            cbytes: h.cbytes as u32,
            nbytes: h.nbytes as u32,
            flags: h.flags,
            spare,
        })
    }

    pub(super) fn count_stored(&mut self, in_file: bool, n: u64) {
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
        let container = self.session()?.container();
        let file = container.create(&part_name(container))?;
        // the header, whose size is known only at the commit, needs bytes before the chunks
        self.part_end = if self.main.is_none() {
            self.head_room()?
        } else {
            0
        };
        Ok(self.part.insert(file).clone())
    }

    /// Overwrites content from byte `at` on. On failure part of it may be written.
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
            let target = content
                .get_mut((from - span.start) as usize..)
                .and_then(|c| c.get_mut(..part.len()));
            target
                .ok_or_else(|| fail!(State, "the size of a chunk changed"))?
                .copy_from_slice(part);
        }
        let (slots, done) = self.store_all(whole.iter().map(|(_, piece)| *piece).collect())?;
        whole
            .iter()
            .zip(slots)
            .for_each(|((i, _), slot)| self.slots.replace(*i, slot));
        done
    }

    /// Replaces the content of a chunk by content of the same size.
    pub(super) fn replace_content(&mut self, i: usize, content: &[u8]) -> Result<()> {
        let chunk = self.encode_sealed(content, self.threads.count())?;
        let slot = self.store(chunk)?;
        self.slots.replace(i, slot);
        self.changed = true;
        Ok(())
    }

    /// Returns the content of chunk `i` for changes. One chunk is open at a time, so that many
    /// small writes to it encode it once.
    fn opened(&mut self, i: usize) -> Result<&mut Vec<u8>> {
        if self.open_chunk.as_ref().is_none_or(|(k, _)| *k != i) {
            self.close_chunk()?;
            self.open_chunk = Some((i, self.content(i)?));
        }
        self.open_chunk
            .as_mut()
            .map(|(_, c)| c)
            .ok_or_else(|| fail!(State, "no chunk is open"))
    }

    /// Encodes the open chunk.
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

    /// Appends an encoded chunk unchanged.
    pub fn append_raw(&mut self, chunk: &[u8]) -> Result<()> {
        self.check_writer()?;
        let h = blosc::Header::parse(chunk)?;
        if h.cbytes != chunk.len() {
            return Err(fail!(
                Format,
                "the chunk size does not match its header (expected {} bytes, found {})",
                h.cbytes,
                chunk.len()
            ));
        }
        if h.extended() || h.version > 2 {
            return Err(fail!(
                Unsupported,
                "Bloscpack files cannot contain Blosc2 chunks (version {}); pass a Blosc1 chunk",
                h.version
            ));
        }
        let mut content =
            alloc::zeroed(alloc::allow(h.nbytes as u64, self.memory_limit, "a chunk")?)?;
        blosc::decode(chunk, &mut content, self.threads.count())?;
        self.flush()?;
        let mut bytes = alloc::with_capacity(chunk.len() + self.header.checksum.size())?;
        bytes.extend_from_slice(chunk);
        let slot = self.store(SealedChunk {
            bytes: seal(bytes, self.header.checksum)?,
            spare: 0,
        })?;
        self.changed = true;
        self.slots.push(slot)
    }

    /// Inserts content as one chunk before chunk `at`, or after the last chunk.
    pub fn insert(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let n = self.slots.len();
        let at = usize::try_from(at)
            .ok()
            .filter(|a| *a <= n)
            .ok_or_else(|| fail!(Range, "{}: chunk {at}: there are {n}", self.name()).at(at))?;
        let chunk = self.encode_sealed(src, self.threads.count())?;
        let slot = self.store(chunk)?;
        self.changed = true;
        self.slots.splice(at..at, [slot])
    }

    /// Removes chunk `at` and shifts the following chunks down by one.
    pub fn remove(&mut self, at: u64) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let n = self.slots.len();
        let at = usize::try_from(at)
            .ok()
            .filter(|a| *a < n)
            .ok_or_else(|| fail!(Range, "{}: chunk {at}: there are {n}", self.name()).at(at))?;
        self.changed = true;
        self.slots.splice(at..at + 1, [])
    }

    /// Truncates the content to `nbytes` bytes.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.check_writer()?;
        if nbytes > self.nbytes() {
            return Err(fail!(
                Range,
                "{}: cannot truncate to {nbytes} bytes: there are {}",
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
        let retained = (nbytes - self.slots.span(i).start) as usize;
        let content = if retained == 0 {
            Vec::new()
        } else {
            self.content(i)?
        };
        self.slots.truncate(i);
        self.pending = content;
        self.pending.truncate(retained);
        Ok(())
    }
}

/// Appends the checksum to a chunk.
pub(super) fn seal(mut chunk: Vec<u8>, sum: Checksum) -> Result<Vec<u8>> {
    let digest = sum.of(&chunk);
    alloc::reserve_exact(&mut chunk, digest.len())?;
    chunk.extend_from_slice(&digest);
    Ok(chunk)
}

/// Extends a chunk without checksum by `by` bytes that readers ignore, and sets the length in its
/// header, also after a truncation. Returns false if the chunk cannot be extended.
pub(super) fn widen(chunk: &mut Vec<u8>, by: u32) -> bool {
    let requested = u32::try_from(chunk.len())
        .ok()
        .and_then(|n| n.checked_add(by))
        .filter(|n| i32::try_from(*n).is_ok());
    let (Some(requested), Some(flags)) = (requested, chunk.get(2).copied()) else {
        return false;
    };
    if by > 0 && (flags & COPIED != 0 || alloc::reserve_exact(chunk, by as usize).is_err()) {
        return false;
    }
    chunk.resize(requested as usize, 0);
    if let Some(field) = chunk.get_mut(12..16) {
        field.copy_from_slice(&requested.to_le_bytes());
    }
    true
}
