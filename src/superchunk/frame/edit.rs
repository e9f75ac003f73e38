//! Changes content. Appended content is buffered until a chunk is full; overwritten content goes to
//! its chunks at once.
#![forbid(unsafe_code)]

use super::{Frame, chunk};
use crate::blosc;
use crate::error::{Result, fail};
use crate::io::journal::Session;
use crate::superchunk::chunks::{BlockChange, Encoded, Fill, Source};
use crate::superchunk::staging::{self, StagingTarget};
use crate::{alloc, parallel};
use std::ops::Range;

impl StagingTarget for Frame {
    fn staged(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }
    fn encoded(&self) -> u64 {
        self.header.nbytes
    }
    fn encode(&mut self, content: &[u8]) -> Result<()> {
        self.append_content(content)
    }
}

impl Frame {
    /// Returns the session of a frame that is open for writing.
    pub(super) fn session(&self) -> Result<&Session> {
        self.session
            .as_ref()
            .ok_or_else(|| fail!(State, "{}: it was opened for reading", self.name))
    }

    pub(super) fn check_writer(&self) -> Result<()> {
        self.session()?.check()
    }

    /// Encodes content as a new chunk.
    pub(super) fn encode_content(&self, content: &[u8], threads: usize) -> Result<Encoded> {
        struct Content<'a>(&'a [u8], usize);
        impl Source for Content<'_> {
            fn change(&self, _: usize) -> BlockChange {
                BlockChange::Full
            }
            fn borrowed(&self, block: usize, len: usize) -> Option<&[u8]> {
                self.0.get(block * self.1..).and_then(|c| c.get(..len))
            }
            fn fill(&self, block: usize, dst: &mut [u8]) -> Result<()> {
                dst.copy_from_slice(
                    self.borrowed(block, dst.len())
                        .ok_or_else(|| fail!(State, "a block outside of its chunk"))?,
                );
                Ok(())
            }
        }
        let size = self.block_size(content.len())?;
        self.encode_chunk(u64::MAX, content.len(), &Content(content, size), threads)
    }

    /// Encodes content and appends its chunks. On failure, the chunks before the failing one stay
    /// appended.
    fn append_content(&mut self, content: &[u8]) -> Result<()> {
        let pieces: Vec<&[u8]> = content.chunks(self.chunk_bytes().max(1)).collect();
        let (threads, each) = if pieces.len() > 1 {
            (self.threads.count(), 1)
        } else {
            (1, self.threads.count())
        };
        if self.storage.sparse {
            return self.push_files(&pieces, each);
        }
        self.check_room(content.len() as u64)?;
        let make = |frame: &Frame, piece: &[u8]| {
            frame
                .form(piece.len(), frame.encode_content(piece, each)?)
                .map(Some)
        };
        let (puts, done) = self.write_parallel(threads, pieces.clone(), make)?;
        for (piece, put) in pieces.iter().zip(puts.into_iter().flatten()) {
            self.check_room(piece.len() as u64)?;
            let entry = self.entry_of(put);
            self.push(entry, piece.len())?;
        }
        done
    }

    /// Appends chunks that are files of their own.
    fn push_files(&mut self, pieces: &[&[u8]], each: usize) -> Result<()> {
        for group in pieces.chunks(self.threads.count()) {
            let mut encoded: Vec<(&[u8], Result<Encoded>)> = group
                .iter()
                .map(|piece| (*piece, Ok(Encoded::Fill(Fill::Zeros))))
                .collect();
            parallel::for_each(
                self.threads.count(),
                encoded.iter_mut().collect(),
                |(piece, new): &mut (&[u8], _)| *new = self.encode_content(piece, each),
            );
            for (piece, new) in encoded {
                self.check_room(piece.len() as u64)?;
                let entry = self.store(piece.len(), new?)?;
                self.push(entry, piece.len())?;
            }
        }
        Ok(())
    }

    /// Appends content. On failure [`Frame::nbytes`] shows how much was appended.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        if src.is_empty() {
            return Ok(());
        }
        if self.starts.is_some() {
            return self.insert(self.chunks(), src);
        }
        self.reopen_last_chunk()?;
        self.writing.changed = true;
        self.set_first_chunk_length(staging::default_chunk(self.typesize()))?;
        staging::append(self, src, self.chunk_bytes(), self.threads.count())
    }

    /// Sets the chunk length from the first chunk if the frame was created without one.
    fn set_first_chunk_length(&mut self, n: usize) -> Result<()> {
        if self.starts.is_none() && self.header.chunksize == 0 {
            let chunksize = i32::try_from(n).map_err(|_| {
                fail!(
                    Argument,
                    "a chunk of {n} bytes is too large (at most {})",
                    i32::MAX
                )
            })?;
            (self.header.chunksize, self.blocks) = (chunksize as u32, chunk::blocks(n));
        }
        Ok(())
    }

    /// Moves a partial last chunk back to the pending content.
    fn reopen_last_chunk(&mut self) -> Result<()> {
        let Some(last) = self
            .chunks()
            .checked_sub(1)
            .filter(|_| self.pending.is_empty() && !self.is_full())
        else {
            return Ok(());
        };
        self.pending = self.content(last)?;
        self.pop(last)
    }

    /// Removes the last chunk.
    fn pop(&mut self, last: u64) -> Result<()> {
        let begin = self.span(last)?.start;
        self.reclaim(last)?;
        self.remove_uncommitted(last)?;
        self.entries.truncate(last as usize);
        self.starts
            .iter_mut()
            .for_each(|s| s.truncate(last as usize + 1));
        (self.header.nbytes, self.writing.changed) = (begin, true);
        Ok(())
    }

    /// Returns the content of a chunk.
    fn content(&self, i: u64) -> Result<Vec<u8>> {
        let span = self.span(i)?;
        let mut content = alloc::zeroed(alloc::allow(
            span.end - span.start,
            self.memory_limit,
            "a chunk",
        )?)?;
        if self.read(span.start, &mut content)? {
            return Err(fail!(
                Checksum,
                "{}: chunk {i} is corrupt; repair the frame first",
                self.name
            )
            .at(i));
        }
        Ok(content)
    }

    /// Encodes all pending content; the last chunk may be partial.
    pub(super) fn flush(&mut self) -> Result<()> {
        staging::encode_first(self, self.pending.len())
    }

    /// Overwrites existing content. On failure, part of it may be overwritten.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        let end = at
            .checked_add(src.len() as u64)
            .filter(|&e| e <= self.nbytes());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {} are out of range (there are {})",
                self.name,
                at.saturating_add(src.len() as u64),
                self.nbytes()
            )
        })?;
        let stored = self.header.nbytes.clamp(at, end);
        let (now, pending_part) = src
            .split_at_checked((stored - at) as usize)
            .unwrap_or((src, &[]));
        let from = at.max(self.header.nbytes) - self.header.nbytes;
        if let Some(part) = self
            .pending
            .get_mut(from as usize..)
            .and_then(|p| p.get_mut(..pending_part.len()))
        {
            part.copy_from_slice(pending_part);
            self.writing.changed |= !pending_part.is_empty();
        }
        self.write_chunks(at..stored, now)
    }

    fn write_chunks(&mut self, bytes: Range<u64>, mut src: &[u8]) -> Result<()> {
        let mut pieces: Vec<ChunkWrite> = Vec::new();
        for i in self.chunks_overlapping(&bytes) {
            let span = self.span(i)?;
            let (from, to) = (span.start.max(bytes.start), span.end.min(bytes.end));
            let (part, rest) = src
                .split_at_checked((to - from) as usize)
                .unwrap_or((src, &[]));
            src = rest;
            if !part.is_empty() {
                pieces.push(ChunkWrite {
                    chunk: i,
                    from: (from - span.start) as usize,
                    part,
                });
            }
        }
        for group in pieces.chunks(self.threads.count() * 2) {
            let mut encoded: Vec<(&ChunkWrite, Result<Encoded>)> = group
                .iter()
                .map(|p| (p, Ok(Encoded::Fill(Fill::Zeros))))
                .collect();
            let each = if encoded.len() > 1 {
                1
            } else {
                self.threads.count()
            };
            parallel::for_each(
                self.file_threads(),
                encoded.iter_mut().collect(),
                |(piece, new): &mut (&ChunkWrite, _)| *new = self.encode_part(piece, each),
            );
            for (piece, new) in encoded {
                let n = self.span(piece.chunk).map(|s| (s.end - s.start) as usize)?;
                self.put_chunk(piece.chunk, n, new?)?;
            }
        }
        Ok(())
    }

    /// Encodes a chunk of which a part is new.
    fn encode_part(&self, piece: &ChunkWrite, threads: usize) -> Result<Encoded> {
        let ChunkWrite {
            chunk: i,
            from,
            part,
        } = *piece;
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        let source = ChunkWriteSource {
            from,
            part,
            size: self.block_size(n)?,
            all: n,
        };
        self.encode_chunk(i, n, &source, threads)
            .map_err(|e| self.chunk_error(i, e))
    }

    /// Appends an encoded chunk after all content.
    pub fn append_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.check_writer()?;
        let h = blosc::Header::parse(bytes)?;
        if h.cbytes != bytes.len() {
            return Err(fail!(
                Format,
                "the header of the chunk states {} bytes (found {})",
                h.cbytes,
                bytes.len()
            ));
        }
        if !h.extended() {
            return Err(fail!(
                Unsupported,
                "a Blosc 1 chunk in a frame is unsupported (expected a Blosc 2 chunk)"
            ));
        }
        let mut content =
            alloc::zeroed(alloc::allow(h.nbytes as u64, self.memory_limit, "a chunk")?)?;
        blosc::decode(bytes, &mut content, self.threads.count())?;
        drop(content);
        self.flush()?;
        let mut copy = alloc::with_capacity(bytes.len())?;
        copy.extend_from_slice(bytes);
        self.insert_made(self.entries.len() as u64, h.nbytes, Encoded::Stored(copy))
    }

    /// Inserts content as one chunk before chunk `at`, or after the last chunk.
    pub fn insert(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let new = self.encode_content(src, self.threads.count())?;
        self.insert_made(at, src.len(), new)
    }

    fn insert_made(&mut self, at: u64, n: usize, new: Encoded) -> Result<()> {
        let count = self.entries.len() as u64;
        if at > count {
            return Err(fail!(
                Range,
                "{}: chunk {at} is out of range (there are {count})",
                self.name
            )
            .at(at));
        }
        if n == 0 {
            return Err(fail!(Argument, "{}: a chunk must not be empty", self.name));
        }
        self.check_room(n as u64)?;
        self.set_first_chunk_length(n)?;
        let size = self.header.chunksize as usize;
        let fits = n == size && (at < count || self.is_full());
        let is_last = at == count && n < size && self.is_full();
        if self.starts.is_none() && !fits && !is_last {
            self.allow_variable_length()?;
        }
        let entry = self.store(n, new)?;
        alloc::reserve(&mut self.entries, 1)?;
        self.entries.insert(at as usize, entry);
        self.header.nbytes += n as u64;
        if let Some(starts) = &mut self.starts {
            alloc::reserve(starts, 1)?;
            let begin = starts.get(at as usize).copied().unwrap_or(0);
            starts.insert(at as usize, begin);
            starts
                .iter_mut()
                .skip(at as usize + 1)
                .for_each(|s| *s += n as u64);
        }
        Ok(())
    }

    /// Switches the frame to chunks of variable length. Chunks that are not stored are encoded,
    /// because the length of a chunk is in its header.
    pub(super) fn allow_variable_length(&mut self) -> Result<()> {
        let mut starts = alloc::with_capacity(self.entries.len() + 1)?;
        starts.push(0);
        for i in 0..self.entries.len() as u64 {
            let span = self.span(i)?;
            starts.push(span.end);
            if let Some(fill) = self.fill_of(i)?.filter(|_| {
                self.entries
                    .get(i as usize)
                    .is_some_and(|e| e.position().is_none())
            }) {
                let bytes = self.filled(&fill, (span.end - span.start) as usize)?;
                let entry = self.store(0, Encoded::Stored(bytes))?;
                if let Some(old) = self.entries.get_mut(i as usize) {
                    *old = entry;
                }
            }
        }
        self.starts = Some(starts);
        (
            self.header.variable_chunks,
            self.header.version,
            self.header.chunksize,
        ) = (true, 3, 0);
        self.writing.changed = true;
        Ok(())
    }

    /// Removes a chunk and its content.
    pub fn remove(&mut self, at: u64) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        let span = self.span(at)?;
        let n = span.end - span.start;
        if at + 1 == self.entries.len() as u64 {
            return self.pop(at);
        }
        self.remove_uncommitted(at)?;
        self.entries.remove(at as usize);
        if let Some(starts) = &mut self.starts {
            starts.remove(at as usize);
            starts.iter_mut().skip(at as usize).for_each(|s| *s -= n);
        }
        (self.header.nbytes, self.writing.changed) = (self.header.nbytes - n, true);
        Ok(())
    }

    /// Keeps the first `nbytes` bytes of content and removes the rest.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        self.check_writer()?;
        if nbytes > self.nbytes() {
            return Err(fail!(
                Range,
                "{}: cannot truncate to {nbytes} bytes (there are {})",
                self.name,
                self.nbytes()
            ));
        }
        self.writing.changed |= nbytes < self.nbytes();
        if let Some(pending_part) = nbytes.checked_sub(self.header.nbytes) {
            self.pending.truncate(pending_part as usize);
            return Ok(());
        }
        let i = self.chunks_overlapping(&(nbytes..nbytes + 1)).start;
        let retained = (nbytes - self.span(i)?.start) as usize;
        let mut content = if retained == 0 {
            Vec::new()
        } else {
            self.content(i)?
        };
        content.truncate(retained);
        self.pending = Vec::new();
        while self.entries.len() as u64 > i {
            self.pop(self.entries.len() as u64 - 1)?;
        }
        if self.starts.is_some() && retained > 0 {
            return self.insert(i, &content);
        }
        self.pending = content;
        Ok(())
    }
}

/// New content for a part of a chunk, starting at content offset `from`.
struct ChunkWrite<'a> {
    chunk: u64,
    from: usize,
    part: &'a [u8],
}

/// A [`Source`] that overwrites a part of a chunk.
struct ChunkWriteSource<'a> {
    from: usize,
    part: &'a [u8],
    /// Bytes of a block, and bytes of the chunk.
    size: usize,
    all: usize,
}

impl ChunkWriteSource<'_> {
    /// Returns the content range of a block, and the part of it that is new.
    fn within(&self, block: usize) -> (Range<usize>, Range<usize>) {
        let own = block * self.size..((block + 1) * self.size).min(self.all);
        let new = self.from.max(own.start)..(self.from + self.part.len()).min(own.end);
        (own, new)
    }
}

impl Source for ChunkWriteSource<'_> {
    fn change(&self, block: usize) -> BlockChange {
        match self.within(block) {
            (_, new) if new.is_empty() => BlockChange::Unchanged,
            (own, new) if own == new => BlockChange::Full,
            _ => BlockChange::Partial,
        }
    }

    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()> {
        let (own, new) = self.within(block);
        let src = self
            .part
            .get(new.start.wrapping_sub(self.from)..)
            .and_then(|p| p.get(..new.len()));
        let dst = content
            .get_mut(new.start - own.start..)
            .and_then(|c| c.get_mut(..new.len()));
        dst.zip(src)
            .ok_or_else(|| fail!(State, "a part outside of its block"))?
            .0
            .copy_from_slice(src.unwrap_or_default());
        Ok(())
    }
}
