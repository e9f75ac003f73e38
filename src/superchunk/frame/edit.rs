//! Changes content. Appended content is buffered until a chunk is full; overwritten content goes to
//! its chunks at once.
#![forbid(unsafe_code)]

use super::encode::{ChunkEncoder, Previous};
use super::read::FrameReader;
use super::write::FrameWriter;
use crate::blosc;
use crate::blosc::stored::StoredBytes;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::chunks::{BlockChange, Encoded, Fill, Source};
use crate::superchunk::staging::{self, StagingTarget};
use crate::{alloc, parallel};
use std::ops::Range;

impl StagingTarget for FrameWriter {
    fn staged(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }
    fn encoded(&self) -> u64 {
        self.reader.layout.header.nbytes
    }
    fn encode(&mut self, content: &[u8]) -> Result<()> {
        self.append_content(content)
    }
}

impl FrameWriter {
    fn encoder(&self) -> Result<ChunkEncoder<'_>> {
        Ok(ChunkEncoder {
            params: self.reader.layout.encoding_params()?,
            buffers: &self.buffers,
            memory_limit: self.reader.memory_limit,
        })
    }

    /// Returns the pending content of a chunk that is not encoded yet.
    pub(super) fn pending_chunk(&self, i: u64) -> Option<&[u8]> {
        let after = i.checked_sub(self.reader.layout.stored_chunks())?;
        self.pending
            .chunks(self.reader.layout.chunk_bytes().max(1))
            .nth(after as usize)
    }

    /// Encodes a chunk of `n` bytes, based on chunk `i` if it exists.
    pub(super) fn encode_chunk(
        &self,
        i: u64,
        n: usize,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Encoded> {
        let (reader, encoder) = (&self.reader, self.encoder()?);
        let blocks = n.div_ceil(encoder.block_size(n));
        if let Some(content) = self.pending_chunk(i) {
            return encoder.encode(&Previous::Content(content), n, source, threads);
        }
        let is_new = i >= reader.layout.entries.len() as u64
            || (0..blocks).all(|b| source.change(b) == BlockChange::Full);
        if is_new {
            return encoder.encode(&Previous::Fill(&Fill::Zeros), n, source, threads);
        }
        match reader.fill_of(i)? {
            Some(fill) => encoder.encode(&Previous::Fill(&fill), n, source, threads),
            None => {
                let encoded = reader.open_for(i, None).and_then(|opened| {
                    let (stored, bytes) = (&opened.chunk.stored, opened.source());
                    let bytes = bytes.bytes(0..stored.header().cbytes)?;
                    let before = Previous::Chunk(stored, &bytes);
                    encoder.encode(&before, n, source, threads)
                });
                reader.finish(i, encoded)
            }
        }
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
        let size = self.encoder()?.block_size(content.len());
        self.encode_chunk(u64::MAX, content.len(), &Content(content, size), threads)
    }

    /// Encodes content and appends its chunks. On failure, the chunks before the failing one stay
    /// appended.
    fn append_content(&mut self, content: &[u8]) -> Result<()> {
        let pieces: Vec<&[u8]> = content
            .chunks(self.reader.layout.chunk_bytes().max(1))
            .collect();
        let all = self.reader.threads.count();
        let (threads, each) = if pieces.len() > 1 { (all, 1) } else { (1, all) };
        if self.reader.files.storage.sparse {
            return self.push_files(&pieces, each);
        }
        self.reader.layout.check_room(content.len() as u64)?;
        let make = |piece: &[u8]| {
            let encoded = self.encode_content(piece, each)?;
            self.reader.form(piece.len(), encoded).map(Some)
        };
        let (puts, done) = self.write_parallel(threads, pieces.clone(), make)?;
        // dropping the writer truncates what a failed write has left
        self.changed |= done.is_err();
        for (piece, put) in pieces.iter().zip(puts.into_iter().flatten()) {
            self.reader.layout.check_room(piece.len() as u64)?;
            let entry = self.entry_of(put);
            self.reader.layout.push(entry, piece.len())?;
        }
        done
    }

    /// Appends chunks that are files of their own.
    fn push_files(&mut self, pieces: &[&[u8]], each: usize) -> Result<()> {
        let threads = self.reader.threads.count();
        for group in pieces.chunks(threads) {
            let mut encoded: Vec<(&[u8], Result<Encoded>)> = group
                .iter()
                .map(|piece| (*piece, Ok(Encoded::Fill(Fill::Zeros))))
                .collect();
            parallel::for_each(
                threads,
                encoded.iter_mut().collect(),
                |(piece, new): &mut (&[u8], _)| *new = self.encode_content(piece, each),
            );
            for (piece, new) in encoded {
                self.reader.layout.check_room(piece.len() as u64)?;
                let entry = self.store(piece.len(), new?)?;
                self.reader.layout.push(entry, piece.len())?;
            }
        }
        Ok(())
    }

    /// Appends content. On failure, part of it may have been appended.
    pub(super) fn append(&mut self, src: &[u8]) -> Result<()> {
        if src.is_empty() {
            return Ok(());
        }
        let layout = &self.reader.layout;
        if layout.starts.is_some() || layout.header.variable_blocks {
            return self.insert(layout.stored_chunks(), src);
        }
        let default_chunk = staging::default_chunk(layout.header.typesize as usize);
        self.reopen_last_chunk()?;
        self.changed = true;
        self.reader.set_first_chunk_length(default_chunk)?;
        let chunk = self.reader.layout.chunk_bytes();
        let threads = self.reader.threads.count();
        let (before, encoded) = (self.pending.len(), self.reader.layout.header.nbytes);
        staging::append(self, src, chunk, threads)?;
        let is_longer = self.reader.layout.header.nbytes == encoded;
        self.truncate_pending(if is_longer { before } else { 0 })
    }

    /// Truncates the precision of the pending content from offset `from` on, so that it is read as
    /// it will be after it is encoded.
    fn truncate_pending(&mut self, from: usize) -> Result<()> {
        let params = self.reader.layout.encoding_params()?;
        let Some(bits) = params.filters.truncation() else {
            return Ok(());
        };
        let typesize = params.typesize.max(1);
        let new = self.pending.at_mut(from / typesize * typesize..)?;
        blosc::filter::truncate_in_place(bits, typesize, new)
    }

    /// Moves a partial last chunk back to the pending content.
    fn reopen_last_chunk(&mut self) -> Result<()> {
        let layout = &self.reader.layout;
        let Some(last) = layout
            .stored_chunks()
            .checked_sub(1)
            .filter(|_| self.pending.is_empty() && !layout.is_full())
        else {
            return Ok(());
        };
        self.pending = self.reader.content(last)?;
        self.pop(last)
    }

    /// Removes the last chunk.
    fn pop(&mut self, last: u64) -> Result<()> {
        let begin = self.reader.layout.span(last)?.start;
        self.reclaim(last)?;
        self.remove_uncommitted(last)?;
        self.reader.layout.pop(last, begin);
        self.changed = true;
        Ok(())
    }

    /// Returns the number of content bytes.
    fn nbytes(&self) -> u64 {
        self.reader.layout.header.nbytes + self.pending.len() as u64
    }

    /// Encodes all pending content; the last chunk may be partial.
    pub(super) fn flush(&mut self) -> Result<()> {
        staging::encode_first(self, self.pending.len())
    }

    /// Overwrites existing content. On failure, part of it may be overwritten.
    pub(super) fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        let end = at
            .checked_add(src.len() as u64)
            .filter(|&e| e <= self.nbytes());
        let layout = &self.reader.layout;
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {} are out of range (there are {})",
                layout.name,
                at.saturating_add(src.len() as u64),
                self.nbytes()
            )
        })?;
        let stored = layout.header.nbytes.clamp(at, end);
        let (now, pending_part) = src.cut((stored - at) as usize)?;
        let from = at.saturating_sub(layout.header.nbytes) as usize;
        self.pending
            .at_mut(from..from + pending_part.len())?
            .copy_from_slice(pending_part);
        self.changed |= !pending_part.is_empty();
        if !pending_part.is_empty() {
            self.truncate_pending(from)?;
        }
        self.write_chunks(at..stored, now)
    }

    fn write_chunks(&mut self, bytes: Range<u64>, mut src: &[u8]) -> Result<()> {
        let mut pieces: Vec<ChunkWrite> = Vec::new();
        let FrameReader {
            layout, threads, ..
        } = &self.reader;
        for i in layout.chunks_overlapping(&bytes) {
            let span = layout.span(i)?;
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
        let threads = threads.count();
        for group in pieces.chunks(threads * 2) {
            let mut encoded: Vec<(&ChunkWrite, Result<Encoded>)> = group
                .iter()
                .map(|p| (p, Ok(Encoded::Fill(Fill::Zeros))))
                .collect();
            let each = if encoded.len() > 1 { 1 } else { threads };
            parallel::for_each(
                self.reader.file_threads(),
                encoded.iter_mut().collect(),
                |(piece, new): &mut (&ChunkWrite, _)| *new = self.encode_part(piece, each),
            );
            for (piece, new) in encoded {
                let span = self.reader.layout.span(piece.chunk)?;
                let n = (span.end - span.start) as usize;
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
        if self.reader.layout.header.variable_blocks {
            let mut content = self.reader.content(i)?;
            let changed = content.at_mut(from..from + part.len())?;
            changed.copy_from_slice(part);
            return self.encode_blocks(&self.reader.divided(i, &content)?);
        }
        let span = self.reader.layout.span(i)?;
        let n = (span.end - span.start) as usize;
        let source = ChunkWriteSource {
            from,
            part,
            size: self.encoder()?.block_size(n),
            all: n,
        };
        self.encode_chunk(i, n, &source, threads)
            .map_err(|e| self.reader.layout.chunk_error(i, e))
    }

    /// Appends an encoded chunk after all content.
    pub(super) fn append_raw(&mut self, bytes: &[u8]) -> Result<()> {
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
        let limit = self.reader.memory_limit;
        let mut content = alloc::zeroed(alloc::allow(h.nbytes as u64, limit, "a chunk")?)?;
        blosc::decode(bytes, &mut content, self.reader.threads.count())?;
        drop(content);
        self.flush()?;
        match h.variable_blocks {
            Some(_) => self.set_variable_blocks()?,
            // c-blosc2 refuses chunks of both kinds in a frame
            None if self.reader.layout.header.variable_blocks => {
                let name = &self.reader.layout.name;
                let e = fail!(
                    Unsupported,
                    "{name}: its chunks have blocks of variable length, and the new one has not"
                );
                return Err(e);
            }
            None => {}
        }
        let mut copy = alloc::with_capacity(bytes.len())?;
        copy.extend_from_slice(bytes);
        let end = self.reader.layout.stored_chunks();
        self.insert_made(end, h.nbytes, Encoded::Stored(copy))
    }

    /// Inserts content as one chunk before chunk `at`, or after the last chunk. In a frame of
    /// blocks of variable length the chunk has one block.
    pub(super) fn insert(&mut self, at: u64, src: &[u8]) -> Result<()> {
        if self.reader.layout.header.variable_blocks {
            return self.insert_blocks(at, &[src]);
        }
        self.flush()?;
        let new = self.encode_content(src, self.reader.threads.count())?;
        self.insert_made(at, src.len(), new)
    }

    /// Inserts a chunk of blocks with this content before chunk `at`, or after the last chunk. A
    /// frame without content becomes one of blocks of variable length.
    pub(super) fn insert_blocks(&mut self, at: u64, blocks: &[&[u8]]) -> Result<()> {
        let count = self.reader.layout.stored_chunks();
        if at > count {
            return Err(self.reader.layout.no_chunk(at, count));
        }
        let chunk = self.encode_blocks(blocks)?;
        self.set_variable_blocks()?;
        let nbytes = blocks.iter().map(|block| block.len()).sum();
        self.insert_made(at, nbytes, chunk)
    }

    /// Encodes a chunk of blocks of variable length.
    pub(super) fn encode_blocks(&self, blocks: &[&[u8]]) -> Result<Encoded> {
        let name = &self.reader.layout.name;
        if let Some(i) = blocks.iter().position(|block| block.is_empty()) {
            return Err(fail!(Argument, "{name}: block {i} of a new chunk is empty"));
        }
        if blocks.is_empty() {
            return Err(fail!(Argument, "{name}: a new chunk has no block"));
        }
        let params = self.reader.layout.encoding_params()?;
        blosc::encode_variable(params, blocks).map(Encoded::Stored)
    }

    fn insert_made(&mut self, at: u64, n: usize, new: Encoded) -> Result<()> {
        let layout = &self.reader.layout;
        let count = layout.stored_chunks();
        if at > count {
            return Err(layout.no_chunk(at, count));
        }
        if n == 0 {
            let name = &layout.name;
            return Err(fail!(Argument, "{name}: a chunk must not be empty"));
        }
        layout.check_room(n as u64)?;
        self.reader.set_first_chunk_length(n)?;
        let layout = &self.reader.layout;
        let size = layout.header.chunksize as usize;
        let fits = n == size && (at < count || layout.is_full());
        let is_last = at == count && n < size && layout.is_full();
        if layout.starts.is_none() && !fits && !is_last {
            self.allow_variable_length()?;
        }
        let entry = self.store(n, new)?;
        self.reader.layout.insert(at, entry, n)
    }

    /// Switches the frame to chunks of variable length. Chunks that are not stored are encoded,
    /// because the length of a chunk is in its header.
    pub(super) fn allow_variable_length(&mut self) -> Result<()> {
        let count = self.reader.layout.entries.len();
        let mut starts = alloc::with_capacity(count + 1)?;
        starts.push(0);
        for i in 0..count as u64 {
            let span = self.reader.layout.span(i)?;
            starts.push(span.end);
            if let Some(fill) = self.reader.fill_of(i)?
                && self.reader.position(i)?.is_none()
            {
                let n = (span.end - span.start) as usize;
                let bytes = self.reader.filled(&fill, n)?;
                let entry = self.store(0, Encoded::Stored(bytes))?;
                *self.reader.layout.entries.at_mut(i as usize)? = entry;
            }
        }
        self.reader.layout.set_variable_length(starts);
        self.changed = true;
        Ok(())
    }

    /// Makes a frame without content one of chunks and blocks of variable length.
    pub(super) fn set_variable_blocks(&mut self) -> Result<()> {
        if self.reader.layout.header.variable_blocks {
            return Ok(());
        }
        if self.nbytes() > 0 {
            let name = &self.reader.layout.name;
            return Err(fail!(State, "{name}: its chunks have blocks of one length"));
        }
        self.allow_variable_length()?;
        self.reader.layout.set_variable_blocks();
        Ok(())
    }

    /// Removes a chunk and its content.
    pub(super) fn remove(&mut self, at: u64) -> Result<()> {
        self.flush()?;
        let span = self.reader.layout.span(at)?;
        if at + 1 == self.reader.layout.stored_chunks() {
            return self.pop(at);
        }
        self.remove_uncommitted(at)?;
        self.reader.layout.remove(at, span.end - span.start);
        self.changed = true;
        Ok(())
    }

    /// Keeps the first `nbytes` bytes of content and removes the rest.
    pub(super) fn truncate(&mut self, nbytes: u64) -> Result<()> {
        let layout = &self.reader.layout;
        if nbytes > self.nbytes() {
            return Err(fail!(
                Range,
                "{}: cannot truncate to {nbytes} bytes (there are {})",
                layout.name,
                self.nbytes()
            ));
        }
        self.changed |= nbytes < self.nbytes();
        if let Some(pending_part) = nbytes.checked_sub(layout.header.nbytes) {
            self.pending.truncate(pending_part as usize);
            return Ok(());
        }
        let i = layout.chunks_overlapping(&(nbytes..nbytes + 1)).start;
        let retained = (nbytes - layout.span(i)?.start) as usize;
        let mut content = if retained == 0 {
            Vec::new()
        } else {
            self.reader.content(i)?
        };
        content.truncate(retained);
        let blocks = match layout.header.variable_blocks && retained > 0 {
            true => self.reader.divided(i, &content)?,
            false => Vec::new(),
        };
        self.pending = Vec::new();
        while let Some(last) = self.reader.layout.stored_chunks().checked_sub(1)
            && last >= i
        {
            self.pop(last)?;
        }
        if !blocks.is_empty() {
            return self.insert_blocks(i, &blocks);
        }
        if self.reader.layout.starts.is_some() && retained > 0 {
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
