//! Chunks are made anew: of one that was there, the blocks that nobody touches stay as they are
//! stored, and the others are made by several threads.
#![forbid(unsafe_code)]

use super::Frame;
use super::chunk::{Chunk, with_scratch};
use crate::blosc::{self, BlockEncoder, Content, Decoded, Header};
use crate::error::{Error, Result, fail};
use crate::superchunk::chunks::{Encoded, Fill, Sink, Source, Touch};
use crate::{alloc, parallel};
use std::sync::{Arc, Mutex, PoisonError};

/// What is there before.
enum Before<'a> {
    Fill(&'a Fill),
    /// Content that was not encoded yet.
    Content(&'a [u8]),
    /// All the bytes of the chunk.
    Chunk(&'a Chunk, &'a [u8]),
}

/// A block that is made, or kept.
#[derive(Default)]
struct Made {
    stored: Vec<u8>,
    /// The item that all of it is.
    item: Option<Arc<[u8]>>,
}

impl Frame {
    /// Makes a chunk of `n` bytes, in the place of chunk `i` if there is one.
    pub(super) fn encode_chunk(
        &self,
        i: u64,
        n: usize,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Encoded> {
        let blocks = n.div_ceil(self.block_size(n)?);
        if let Some(content) = self.waiting(i) {
            return self.encode_over(&Before::Content(content), n, source, threads);
        }
        let is_new =
            i >= self.entries.len() as u64 || (0..blocks).all(|b| source.touch(b) == Touch::Whole);
        if is_new {
            return self.encode_over(&Before::Fill(&Fill::Zeros), n, source, threads);
        }
        match self.fill_of(i)? {
            Some(fill) => self.encode_over(&Before::Fill(&fill), n, source, threads),
            None => self.with_chunk(i, |chunk, have| {
                chunk.with_bytes(have, 0..chunk.header().cbytes, |bytes| {
                    let before = Before::Chunk(chunk, bytes);
                    self.encode_over(&before, n, source, threads)
                })
            }),
        }
    }

    /// Bytes of content in a block of a new chunk.
    pub(super) fn block_size(&self, n: usize) -> Result<usize> {
        Ok(self.params()?.block_len(n).max(1))
    }

    fn encode_over(
        &self,
        before: &Before,
        n: usize,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Encoded> {
        let params = self.params()?;
        let size = self.block_size(n)?;
        alloc::allow(size as u64, self.memory_limit, "a block of a chunk")?;
        let like = match before {
            Before::Chunk(chunk, _) if chunk.has_free_blocks() && chunk.header().nbytes == n => {
                BlockEncoder::like(chunk.header(), params.level)?
            }
            _ => None,
        };
        let keeps = like.as_ref().is_some_and(|l| l.header().blocksize == size);
        let encoder = match like.filter(|_| keeps) {
            Some(like) => Some(like),
            None => BlockEncoder::new(params, n)?,
        };
        if let Some(encoder) = encoder.as_ref().filter(|_| threads < 2)
            && let Some(chunk) = self.chunk_in_turn(before, encoder, keeps, source)?
        {
            return Ok(chunk);
        }
        if let Some(encoder) = encoder.filter(|_| threads > 1) {
            let made = self.blocks(before, &encoder, keeps, source, threads)?;
            let item = made.first().and_then(|m| m.item.clone());
            if let Some(item) =
                item.filter(|item| made.iter().all(|m| m.item.as_ref() == Some(item)))
            {
                return Ok(Encoded::Fill(if item.iter().all(|b| *b == 0) {
                    Fill::Zeros
                } else {
                    Fill::Item(item)
                }));
            }
            if let Some(chunk) = encoder.chunk(made.iter().map(|m| &m.stored[..]))? {
                let is_zeros = blosc::Header::parse(&chunk)?.content()? == Content::Zeros;
                return Ok(if is_zeros {
                    Encoded::Fill(Fill::Zeros)
                } else {
                    Encoded::Stored(chunk)
                });
            }
        }
        self.encode_whole(before, n, source, threads)
    }

    /// Makes the blocks, one behind the other in the chunk; nothing where it would be longer than
    /// its content.
    fn chunk_in_turn(
        &self,
        before: &Before,
        encoder: &BlockEncoder,
        keeps: bool,
        source: &dyn Source,
    ) -> Result<Option<Encoded>> {
        let header = encoder.header();
        let mut chunk = self.writing.buffers.take();
        encoder.begin(&mut chunk)?;
        // the item that all blocks are so far
        let mut item: Option<Arc<[u8]>> = None;
        for block in 0..header.blocks() {
            let fits = match (before, source.touch(block), keeps) {
                (Before::Chunk(there, bytes), Touch::Kept, true) => {
                    item = None;
                    let stored = bytes
                        .get(there.span(block)?)
                        .ok_or_else(|| fail!(Format, "block {block} reaches out of its chunk"))?;
                    encoder.keep(block, stored, &mut chunk)?
                }
                _ => with_content(before, source, header, block, |content| {
                    let own = repeated(content, header.typesize, block * header.blocksize);
                    if block == 0 || own != item.as_deref() {
                        item = own.filter(|_| block == 0).map(Arc::from);
                    }
                    encoder.push(block, content, &mut chunk)
                })?,
            };
            if !fits {
                return Ok(None);
            }
        }
        if let Some(item) = item {
            return Ok(Some(Encoded::Fill(if item.iter().all(|b| *b == 0) {
                Fill::Zeros
            } else {
                Fill::Item(item)
            })));
        }
        encoder.end(&mut chunk);
        let is_zeros = blosc::Header::parse(&chunk)?.content()? == Content::Zeros;
        Ok(Some(if is_zeros {
            Encoded::Fill(Fill::Zeros)
        } else {
            Encoded::Stored(chunk)
        }))
    }

    /// Makes the blocks, each by itself.
    fn blocks(
        &self,
        before: &Before,
        encoder: &BlockEncoder,
        keeps: bool,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Vec<Made>> {
        let header = encoder.header();
        let mut made: Vec<Made> = alloc::defaults(header.blocks())?;
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        parallel::for_each(
            threads,
            made.iter_mut().enumerate().collect(),
            |(block, made): (usize, &mut Made)| {
                if let Err(e) = block_of(before, encoder, keeps, source, block, made) {
                    failed
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert(e);
                }
            },
        );
        failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(made), Err)
    }

    /// The chunk from all its content: where the blocks depend on each other, or none is shorter
    /// than its content.
    fn encode_whole(
        &self,
        before: &Before,
        n: usize,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Encoded> {
        let params = self.params()?;
        let mut content = alloc::zeroed(alloc::allow(n as u64, self.memory_limit, "a chunk")?)?;
        let size = self.block_size(n)?;
        for (block, part) in content.chunks_mut(size).enumerate() {
            put_content(before, source, block, size, part)?;
        }
        let mut chunk = Vec::new();
        blosc::encode(params, &content, &mut chunk, threads)?;
        let is_zeros = blosc::Header::parse(&chunk)?.content()? == Content::Zeros;
        Ok(if is_zeros {
            Encoded::Fill(Fill::Zeros)
        } else {
            Encoded::Stored(chunk)
        })
    }

    /// The bytes of a chunk that is all the same.
    pub(super) fn filled(&self, fill: &Fill, n: usize) -> Result<Vec<u8>> {
        let params = self.params()?;
        let item = if let Fill::Item(item) = fill {
            Some(&item[..])
        } else {
            None
        };
        if let Some(chunk) = blosc::filled(params, item, n)? {
            return Ok(chunk);
        }
        let mut content = alloc::zeroed(alloc::allow(n as u64, self.memory_limit, "a chunk")?)?;
        blosc::repeat(item.unwrap_or_default(), 0, &mut content);
        let mut chunk = Vec::new();
        blosc::encode(params, &content, &mut chunk, self.threads.count())?;
        Ok(chunk)
    }
}

/// Makes one block.
fn block_of(
    before: &Before,
    encoder: &BlockEncoder,
    keeps: bool,
    source: &dyn Source,
    block: usize,
    made: &mut Made,
) -> Result<()> {
    let header = encoder.header();
    if let (Before::Chunk(chunk, bytes), Touch::Kept, true) = (before, source.touch(block), keeps) {
        let stored = bytes
            .get(chunk.span(block)?)
            .ok_or_else(|| fail!(Format, "block {block} reaches out of its chunk"))?;
        alloc::reserve(&mut made.stored, stored.len())?;
        made.stored.extend_from_slice(stored);
        return Ok(());
    }
    with_content(before, source, header, block, |content| {
        made.item = repeated(content, header.typesize, block * header.blocksize).map(Arc::from);
        encoder.block(block, content, &mut made.stored)
    })
}

/// Calls `f` with what a block is going to be.
fn with_content<R>(
    before: &Before,
    source: &dyn Source,
    header: &Header,
    block: usize,
    f: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    let n = header.block_len(block);
    match source.lent(block, n) {
        Some(content) => f(content),
        None => with_scratch(n, |content| {
            put_content(before, source, block, header.blocksize, content)?;
            f(content)
        }),
    }
}

/// The item that all of this is.
fn repeated(content: &[u8], typesize: usize, at: usize) -> Option<&[u8]> {
    let item = content
        .get(..typesize)
        .filter(|_| at.is_multiple_of(typesize) && content.len().is_multiple_of(typesize))?;
    let same = content.get(typesize..)? == content.get(..content.len() - typesize)?;
    same.then_some(item)
}

/// What a block is going to be: blocks of `size` bytes, whatever those are that are there.
fn put_content(
    before: &Before,
    source: &dyn Source,
    block: usize,
    size: usize,
    content: &mut [u8],
) -> Result<()> {
    let touch = source.touch(block);
    match before {
        _ if touch == Touch::Whole => {}
        Before::Fill(Fill::Zeros) => content.fill(0),
        Before::Fill(Fill::Item(item)) => blosc::repeat(item, block * size, content),
        Before::Content(all) => {
            let own = all.get(block * size..).unwrap_or_default();
            let (there, behind) = content.split_at_mut(own.len().min(content.len()));
            there.copy_from_slice(own.get(..there.len()).unwrap_or_default());
            behind.fill(0);
        }
        // what is not as long as it is going to be
        Before::Chunk(chunk, bytes) => {
            let from = block * size;
            let n = chunk
                .header()
                .nbytes
                .saturating_sub(from)
                .min(content.len());
            let (there, behind) = content.split_at_mut(n);
            behind.fill(0);
            if n > 0 {
                read_from(chunk, bytes, from, there)?;
            }
        }
    }
    if touch == Touch::Kept {
        Ok(())
    } else {
        source.fill(block, content)
    }
}

/// Reads a range of the content of a chunk.
fn read_from(chunk: &Chunk, bytes: &[u8], from: usize, dst: &mut [u8]) -> Result<()> {
    let size = chunk.header().blocksize;
    if from.is_multiple_of(size) && dst.len() == chunk.header().block_len(from / size) {
        struct One<'a>(&'a mut [u8]);
        impl Sink for One<'_> {
            fn place(&mut self, _: usize) -> Option<&mut [u8]> {
                Some(self.0)
            }
            fn put(&mut self, _: usize, _: &Decoded) -> Result<()> {
                Ok(())
            }
        }
        return chunk.read_blocks(Some(bytes), &[from / size], &mut One(dst));
    }
    blosc::decode_range(bytes, from, dst, 1)
}
