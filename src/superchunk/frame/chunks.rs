//! Implements [`Chunks`] for frames with chunks of equal length, as arrays use them.
#![forbid(unsafe_code)]

use super::handle::Frame;
use super::read::{FrameReader, RequestedBlocks};
use crate::alloc::{self, Scratch};
use crate::blosc::Decoded;
use crate::error::{Result, fail};
use crate::superchunk::chunks::{
    ChunkRequest, Chunks, Encoded, Fill, PendingChunk, Sink, Source, put_in_batches,
};

impl Chunks for Frame {
    fn name(&self) -> &str {
        Frame::name(self)
    }

    fn len(&self) -> u64 {
        self.chunks()
    }

    fn block_bytes(&self) -> usize {
        self.layout().array_block_bytes()
    }

    fn threads(&self) -> usize {
        self.file_threads()
    }

    fn fill(&self, chunk: u64) -> Result<Option<Fill>> {
        if self.pending_chunk(chunk).is_some() {
            return Ok(None);
        }
        let reader = self.reader();
        match reader.known_fill(chunk) {
            // the caller gets the error when it reads the blocks
            Err(e) if reader.skip_damaged && e.status.is_corruption() => Ok(None),
            fill => fill,
        }
    }

    fn read_blocks(&self, chunk: u64, requested: &[usize], sink: &mut dyn Sink) -> Result<bool> {
        if let Some(content) = self.pending_chunk(chunk) {
            return deliver(
                requested,
                Chunks::block_bytes(self),
                |i, n| content.get(i..i + n),
                sink,
            )
            .map(|()| false);
        }
        let reader = self.reader();
        let read = match reader.known_fill(chunk) {
            Ok(None) => reader.read_stored_blocks(chunk, requested, sink),
            Ok(Some(fill)) => reader.deliver_fill(chunk, &fill, requested, sink),
            Err(e) => Err(e),
        };
        let mut zeroed = Ok(());
        let corrupt = reader.or_zeros(read, |()| {
            zeroed = reader.deliver_fill(chunk, &Fill::Zeros, requested, sink)
        })?;
        zeroed.map(|()| corrupt)
    }

    fn is_cached(&self, chunk: u64, block: usize) -> bool {
        self.reader().is_decoded(chunk, block)
    }

    fn is_remote(&self) -> bool {
        self.reader().is_remote()
    }

    fn read_ahead(&self, requests: &mut dyn Iterator<Item = ChunkRequest>) {
        self.reader().read_ahead(requests);
    }

    fn read_part(&self, chunk: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool> {
        if let Some(content) = self.pending_chunk(chunk) {
            let at = block.saturating_mul(Chunks::block_bytes(self));
            let own = content.get(at.saturating_add(from)..);
            let own = own.and_then(|c| c.get(..dst.len()));
            dst.copy_from_slice(own.ok_or_else(|| fail!(Range, "bytes beyond the end"))?);
            return Ok(false);
        }
        self.reader().read_part(chunk, block, from, dst)
    }

    fn encode(&self, chunk: u64, source: &dyn Source, threads: usize) -> Result<Encoded> {
        self.as_writer()?
            .encode_chunk(chunk, self.chunk_bytes(), source, threads)
            .map_err(|e| self.layout().chunk_error(chunk, e))
    }

    fn put(&mut self, chunk: u64, new: Encoded) -> Result<()> {
        let writer = self.writer()?;
        writer.flush()?;
        writer.put_chunk(chunk, writer.reader.layout.chunk_bytes(), new)
    }

    fn put_all(&mut self, threads: usize, coming: Vec<PendingChunk>) -> Result<()> {
        let writer = self.writer()?;
        writer.flush()?;
        if !writer.can_write_in_parallel(&coming) {
            return put_in_batches(self, threads, coming);
        }
        let n = writer.reader.layout.chunk_bytes();
        let chunks: Vec<Option<u64>> = coming.iter().map(|c| c.chunk).collect();
        let (shared, writer) = (&*self, self.as_writer()?);
        let make = |c: PendingChunk| {
            c.work
                .run(shared, 1)?
                .map(|new| writer.reader.form(n, new))
                .transpose()
        };
        let written = writer.write_parallel(threads, coming, make)?;
        self.writer()?.put_written(n, chunks.into_iter(), written)
    }

    fn can_have(&self, len: u64) -> Result<()> {
        let FrameReader {
            layout,
            memory_limit,
            ..
        } = self.reader();
        layout.check_chunk_count(len, *memory_limit).map(|_| ())
    }

    fn rearrange(&mut self, len: u64, from: &dyn Fn(u64) -> Option<u64>) -> Result<()> {
        let writer = self.writer()?;
        writer.flush()?;
        writer.rearrange_chunks(len, from)
    }
}

impl FrameReader {
    /// Decodes blocks of a stored chunk that are not cached.
    fn read_stored_blocks(
        &self,
        chunk: u64,
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (key, span) = (self.block_key(chunk)?, self.layout.span(chunk)?);
        let sizes = (
            self.layout.array_block_bytes(),
            (span.end - span.start) as usize,
        );
        let missing = self.blocks.deliver(key, sizes, requested, sink)?;
        let Some(last) = missing.last().copied() else {
            return self.finish(chunk, Ok(()));
        };
        let n = missing.len();
        let opened = self.open_for(chunk, Some(RequestedBlocks { last, n }));
        let read = opened.and_then(|opened| {
            let stored = &opened.chunk.stored;
            if let Some(fill) = stored.fill() {
                self.deliver_fill(chunk, fill, &missing, sink)?;
                return Ok(true);
            }
            if !self.blocks_fit(stored)? {
                return Ok(false);
            }
            let cache = Some((&self.blocks, key));
            stored.read_blocks(&opened.source(), &missing, sink, cache)?;
            Ok(true)
        });
        match self.finish(chunk, read) {
            Ok(false) => self.deliver_whole(chunk, sink),
            read => read.map(|_| ()),
        }
    }

    /// Reads a part of a block of a chunk that is not pending.
    fn read_part(&self, chunk: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool> {
        let at = block
            .saturating_mul(self.layout.array_block_bytes())
            .saturating_add(from);
        let read = match self.position(chunk)? {
            Some(_) => match self.block_part(chunk, block, from, dst) {
                Ok(false) => self.stored_part(chunk, at, dst),
                read => read.map(|_| ()),
            },
            None => (self.fill_of(chunk)).map(|fill| fill.unwrap_or(Fill::Zeros).put(at, dst)),
        };
        self.or_zeros(read, |()| dst.fill(0))
    }

    fn deliver_whole(&self, chunk: u64, sink: &mut dyn Sink) -> Result<()> {
        let span = self.layout.span(chunk)?;
        let n = alloc::allow(span.end - span.start, self.memory_limit, "a chunk")?;
        if let Some(dst) = sink.destination(0).filter(|dst| dst.len() == n) {
            return self.stored_part(chunk, 0, dst);
        }
        let mut content = Scratch::new(n as u64, self.memory_limit, "a chunk")?;
        self.stored_part(chunk, 0, &mut content)?;
        sink.put(0, &Decoded::Plain(&content))
    }

    fn deliver_fill(
        &self,
        chunk: u64,
        fill: &Fill,
        requested: &[usize],
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (size, span) = (
            self.layout.array_block_bytes().max(1),
            self.layout.span(chunk)?,
        );
        fill.deliver((size, (span.end - span.start) as usize), requested, sink)
    }
}

fn deliver<'a>(
    requested: &[usize],
    size: usize,
    content: impl Fn(usize, usize) -> Option<&'a [u8]>,
    sink: &mut dyn Sink,
) -> Result<()> {
    for block in requested {
        let at = block.saturating_mul(size);
        let block_content =
            content(at, size).ok_or_else(|| fail!(Range, "block {block} is out of range"))?;
        sink.deliver(*block, block_content)?;
    }
    Ok(())
}
