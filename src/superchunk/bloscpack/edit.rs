//! Changes: appended, written, inserted and removed content is held in memory, and in the part file
//! if it is large. The committed file is not changed before the commit.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::ChunkSlot;
use super::chunk_reader::ChunkReader;
use super::head::Head;
use super::writer::Writer;
use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::superchunk::staging::{self, StagingTarget};
use std::ops::Range;

impl StagingTarget for Bloscpack {
    fn staged(&mut self) -> &mut Vec<u8> {
        &mut self.content.pending
    }
    fn encoded(&self) -> u64 {
        self.content.slots.nbytes()
    }
    fn encode(&mut self, content: &[u8]) -> Result<()> {
        self.push_content(content)
    }
}

impl Bloscpack {
    /// Returns the writer, or an error if the handle is open for reading.
    pub(super) fn writer(&self) -> Result<&Writer> {
        let writer = self.writer.as_ref();
        writer.ok_or_else(|| opened_for_reading(self.name()))
    }

    /// Returns the writer and the parts that it uses to store a chunk.
    fn storage(&mut self) -> Result<(&mut Writer, &mut ChunkReader, &Head)> {
        match &mut self.writer {
            Some(writer) => Ok((writer, &mut self.reader, &self.head)),
            None => Err(opened_for_reading(&self.reader.name)),
        }
    }

    pub(super) fn check_writer(&self) -> Result<()> {
        self.writer()?.session.check()
    }

    /// Sets the metadata, which must be JSON; `None` removes it.
    pub fn meta_set(&mut self, json: Option<&[u8]>) -> Result<()> {
        self.check_writer()?;
        self.head.set_meta(json, &self.reader.name)?;
        self.changed = true;
        Ok(())
    }

    /// Appends content. On failure, [`Bloscpack::nbytes`] shows how much was appended.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        if src.is_empty() {
            return Ok(());
        }
        self.close_chunk()?;
        self.content.reopen_last_chunk(&self.reader)?;
        self.changed = true;
        staging::append(self, src, self.chunk_size(), self.reader.threads.count())
    }

    /// Encodes all pending content; the last chunk may be short.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.close_chunk()?;
        self.encode_pending()?;
        if let Some(writer) = &mut self.writer {
            writer.encoder.free_buffers();
        }
        Ok(())
    }

    /// Encodes the pending content.
    pub(super) fn encode_pending(&mut self) -> Result<()> {
        staging::encode_first(self, self.content.pending.len())
    }

    /// Encodes content and appends the chunks. On failure the chunks before the failed one remain.
    fn push_content(&mut self, content: &[u8]) -> Result<()> {
        let pieces = content.chunks(self.content.chunk_size).collect();
        let (slots, done) = self.store_all(pieces)?;
        let mut slots = slots.into_iter();
        slots.try_for_each(|s| self.content.slots.push(s))?;
        done
    }

    /// Encodes each piece as a chunk and stores it. On failure returns the chunks before the failed
    /// one.
    fn store_all(&mut self, pieces: Vec<&[u8]>) -> Result<(Vec<ChunkSlot>, Result<()>)> {
        let (writer, reader, head) = self.storage()?;
        writer.store_all(reader, head, pieces)
    }

    /// Encodes content and stores it as one chunk.
    fn store(&mut self, content: &[u8]) -> Result<ChunkSlot> {
        let (writer, reader, head) = self.storage()?;
        writer.store(reader, head, content)
    }

    /// Overwrites content from byte `at` on. On failure part of it may be written.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        let end = self.checked_end(at, src.len())?;
        if src.is_empty() {
            return Ok(());
        }
        self.changed = true;
        let encoded = self.content.slots.nbytes();
        let stored_end = encoded.clamp(at, end);
        let (now, waits) = src
            .split_at_checked((stored_end - at) as usize)
            .unwrap_or((src, &[]));
        self.content.write_pending(at.max(encoded) - encoded, waits);
        self.write_chunks(at..stored_end, now)
    }

    fn write_chunks(&mut self, bytes: Range<u64>, mut src: &[u8]) -> Result<()> {
        let mut whole: Vec<(usize, &[u8])> = Vec::new();
        for i in self.content.slots.holding(bytes.clone()) {
            let span = self.content.slots.span(i);
            let (from, to) = (span.start.max(bytes.start), span.end.min(bytes.end));
            let (part, rest) = src
                .split_at_checked((to - from) as usize)
                .unwrap_or((src, &[]));
            src = rest;
            if part.len() as u64 == span.end - span.start && self.content.unencoded(i).is_none() {
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
            .for_each(|((i, _), slot)| self.content.slots.replace(*i, slot));
        done
    }

    /// Replaces the content of a chunk by content of the same size.
    pub(super) fn replace_content(&mut self, i: usize, content: &[u8]) -> Result<()> {
        let slot = self.store(content)?;
        self.content.slots.replace(i, slot);
        self.changed = true;
        Ok(())
    }

    /// Returns the content of chunk `i` for changes. One chunk is open at a time, so that many
    /// small writes to it encode it once.
    fn opened(&mut self, i: usize) -> Result<&mut Vec<u8>> {
        if self.content.unencoded(i).is_none() {
            self.close_chunk()?;
            let slot = self.content.slots.get(i)?;
            self.content.open_chunk = Some((i, self.reader.content(i, slot)?));
        }
        let open = self.content.open_chunk.as_mut();
        open.map(|(_, c)| c)
            .ok_or_else(|| fail!(State, "no chunk is open"))
    }

    /// Encodes the open chunk.
    fn close_chunk(&mut self) -> Result<()> {
        let Some((i, content)) = self.content.open_chunk.take() else {
            return Ok(());
        };
        match self.store(&content) {
            Ok(slot) => {
                self.content.slots.replace(i, slot);
                Ok(())
            }
            Err(e) => {
                self.content.open_chunk = Some((i, content));
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
        let reader = &self.reader;
        let n = alloc::allow(h.nbytes as u64, reader.memory_limit, "a chunk")?;
        blosc::decode(chunk, &mut alloc::zeroed(n)?, reader.threads.count())?;
        self.flush()?;
        let (writer, reader, head) = self.storage()?;
        let chunk = writer.encoder.sealed_raw(chunk)?;
        let slot = writer.store_encoded(reader, head, chunk)?;
        self.changed = true;
        self.content.slots.push(slot)
    }

    /// Inserts content as one chunk before chunk `at`, or after the last chunk.
    pub fn insert(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let n = self.content.slots.len();
        let at = usize::try_from(at)
            .ok()
            .filter(|a| *a <= n)
            .ok_or_else(|| fail!(Range, "{}: chunk {at}: there are {n}", self.name()).at(at))?;
        let slot = self.store(src)?;
        self.changed = true;
        self.content.slots.splice(at..at, [slot])
    }

    /// Removes chunk `at` and shifts the following chunks down by one.
    pub fn remove(&mut self, at: u64) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let at = self.index(at)?;
        self.changed = true;
        self.content.slots.splice(at..at + 1, [])
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
        self.content.truncate(&self.reader, nbytes)
    }
}

fn opened_for_reading(name: &str) -> Error {
    fail!(State, "{name}: it was opened for reading")
}
