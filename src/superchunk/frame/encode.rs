//! Encodes chunks. When part of an existing chunk changes, its unchanged blocks are copied as they
//! are stored, and the other blocks are encoded by several threads.
#![forbid(unsafe_code)]

use super::read::FrameReader;
use crate::alloc::Scratch;
use crate::blosc::stored::StoredChunk;
use crate::blosc::{self, BlockEncoder, Content, Params};
use crate::error::{Error, Result};
use crate::slice::SliceExt;
use crate::superchunk::buffer_pool::BufferPool;
use crate::superchunk::chunks::{BlockChange, Encoded, Fill, Source};
use crate::{alloc, parallel};
use std::sync::{Arc, Mutex, PoisonError};

/// The previous content of a chunk.
pub(super) enum Previous<'a> {
    Fill(&'a Fill),
    /// Content that is not encoded yet.
    Content(&'a [u8]),
    /// An open chunk and all its stored bytes.
    Chunk(&'a StoredChunk, &'a [u8]),
}

/// A block that was encoded, or copied from the existing chunk.
#[derive(Default)]
struct EncodedBlock {
    stored: Vec<u8>,
    /// The item that fills the block, if all items are equal.
    item: Option<Arc<[u8]>>,
}

/// Encodes chunks with the parameters of a frame.
pub(super) struct ChunkEncoder<'a> {
    pub(super) params: &'a Params,
    pub(super) buffers: &'a BufferPool,
    pub(super) memory_limit: u64,
}

impl ChunkEncoder<'_> {
    /// Returns the content bytes of a block in a new chunk.
    pub(super) fn block_size(&self, n: usize) -> usize {
        self.params.block_len(n).max(1)
    }

    /// Encodes a chunk of `n` bytes, based on its previous content.
    pub(super) fn encode(
        &self,
        before: &Previous,
        n: usize,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Encoded> {
        let size = self.block_size(n);
        alloc::allow(size as u64, self.memory_limit, "a block of a chunk")?;
        let like = match before {
            Previous::Chunk(chunk, _) if chunk.has_free_blocks() && chunk.header().nbytes == n => {
                BlockEncoder::for_header(chunk.header(), self.params.level)?
            }
            _ => None,
        };
        let truncation = self.params.filters.truncation();
        let reuse = like
            .as_ref()
            .is_some_and(|l| l.header().blocksize == size && l.truncation() == truncation);
        let encoder = match like.filter(|_| reuse) {
            Some(like) => Some(like),
            None => BlockEncoder::new(self.params, n)?,
        };
        if let Some(encoder) = encoder.as_ref().filter(|_| threads < 2)
            && let Some(chunk) = self.encode_sequentially(before, encoder, reuse, source)?
        {
            return Ok(chunk);
        }
        if let Some(encoder) = encoder.filter(|_| threads > 1) {
            let encoded = encode_blocks(before, &encoder, reuse, source, threads)?;
            let item = encoded.first().and_then(|m| m.item.clone());
            if let Some(item) =
                item.filter(|item| encoded.iter().all(|m| m.item.as_ref() == Some(item)))
            {
                return Ok(Encoded::Fill(if item.iter().all(|b| *b == 0) {
                    Fill::Zeros
                } else {
                    Fill::Item(item)
                }));
            }
            if let Some(chunk) = encoder.chunk(encoded.iter().map(|m| &m.stored[..]))? {
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

    /// Encodes the blocks in order into one buffer. Returns none if the chunk would be longer than
    /// its content.
    fn encode_sequentially(
        &self,
        before: &Previous,
        encoder: &BlockEncoder,
        reuse: bool,
        source: &dyn Source,
    ) -> Result<Option<Encoded>> {
        let header = encoder.header();
        let mut chunk = self.buffers.take();
        encoder.begin(&mut chunk)?;
        // the item that fills all blocks so far
        let mut item: Option<Arc<[u8]>> = None;
        for block in 0..header.blocks() {
            let fits = match (before, source.change(block), reuse) {
                (Previous::Chunk(there, bytes), BlockChange::Unchanged, true) => {
                    item = None;
                    encoder.push_encoded(block, there.block(bytes, block)?, &mut chunk)?
                }
                _ => with_content(before, source, encoder, block, |content| {
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
        encoder.end(&mut chunk)?;
        let is_zeros = blosc::Header::parse(&chunk)?.content()? == Content::Zeros;
        Ok(Some(if is_zeros {
            Encoded::Fill(Fill::Zeros)
        } else {
            Encoded::Stored(chunk)
        }))
    }

    /// Encodes a chunk from its complete content. Used if the blocks depend on each other, or if
    /// the chunk would be longer than its content otherwise.
    fn encode_whole(
        &self,
        before: &Previous,
        n: usize,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Encoded> {
        let mut content = alloc::zeroed(alloc::allow(n as u64, self.memory_limit, "a chunk")?)?;
        let size = self.block_size(n);
        for (block, part) in content.chunks_mut(size).enumerate() {
            fill_block(before, source, block, size, part)?;
        }
        let mut chunk = Vec::new();
        blosc::encode(self.params, &content, &mut chunk, threads)?;
        let is_zeros = blosc::Header::parse(&chunk)?.content()? == Content::Zeros;
        Ok(if is_zeros {
            Encoded::Fill(Fill::Zeros)
        } else {
            Encoded::Stored(chunk)
        })
    }
}

impl FrameReader {
    /// Returns an encoded chunk that is filled with one item.
    pub(super) fn filled(&self, fill: &Fill, n: usize) -> Result<Vec<u8>> {
        let params = self.layout.encoding_params()?;
        let item = if let Fill::Item(item) = fill {
            Some(&item[..])
        } else {
            None
        };
        if let Some(chunk) = blosc::encode_filled(params, item, n)? {
            return Ok(chunk);
        }
        let mut content = alloc::zeroed(alloc::allow(n as u64, self.memory_limit, "a chunk")?)?;
        if let Some(item) = item {
            blosc::repeat(item, 0, &mut content);
        }
        let mut chunk = Vec::new();
        blosc::encode(params, &content, &mut chunk, self.threads.count())?;
        Ok(chunk)
    }
}

/// Encodes the blocks independently, on several threads.
fn encode_blocks(
    before: &Previous,
    encoder: &BlockEncoder,
    reuse: bool,
    source: &dyn Source,
    threads: usize,
) -> Result<Vec<EncodedBlock>> {
    let header = encoder.header();
    let mut encoded: Vec<EncodedBlock> = alloc::defaults(header.blocks())?;
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    parallel::for_each(
        threads,
        encoded.iter_mut().enumerate().collect(),
        |(block, encoded): (usize, &mut EncodedBlock)| {
            if let Err(e) = encode_block(before, encoder, reuse, source, block, encoded) {
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
        .map_or(Ok(encoded), Err)
}

/// Encodes or copies one block.
fn encode_block(
    before: &Previous,
    encoder: &BlockEncoder,
    reuse: bool,
    source: &dyn Source,
    block: usize,
    encoded: &mut EncodedBlock,
) -> Result<()> {
    let header = encoder.header();
    if let (Previous::Chunk(chunk, bytes), BlockChange::Unchanged, true) =
        (before, source.change(block), reuse)
    {
        let stored = chunk.block(bytes, block)?;
        alloc::reserve(&mut encoded.stored, stored.len())?;
        encoded.stored.extend_from_slice(stored);
        return Ok(());
    }
    with_content(before, source, encoder, block, |content| {
        encoded.item = repeated(content, header.typesize, block * header.blocksize).map(Arc::from);
        encoder.block(block, content, &mut encoded.stored)
    })
}

/// Calls `f` with the new content of a block, as decoding will return it.
fn with_content<R>(
    before: &Previous,
    source: &dyn Source,
    encoder: &BlockEncoder,
    block: usize,
    f: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    let (header, truncation) = (encoder.header(), encoder.truncation());
    let n = header.block_len(block);
    let borrowed = source.borrowed(block, n);
    if let Some(content) = borrowed.filter(|_| truncation.is_none()) {
        return f(content);
    }
    let mut content = Scratch::new(n as u64, u64::MAX, "a block of a chunk")?;
    match borrowed {
        Some(borrowed) => content.copy_from_slice(borrowed),
        None => fill_block(before, source, block, header.blocksize, &mut content)?,
    }
    if let Some(bits) = truncation {
        blosc::filter::truncate_in_place(bits, header.typesize, &mut content)?;
    }
    f(&content)
}

/// Returns the item that fills `content`, if all items are equal.
fn repeated(content: &[u8], typesize: usize, at: usize) -> Option<&[u8]> {
    let item = content
        .get(..typesize)
        .filter(|_| at.is_multiple_of(typesize) && content.len().is_multiple_of(typesize))?;
    let same = content.get(typesize..)? == content.get(..content.len() - typesize)?;
    same.then_some(item)
}

/// Writes the new content of a block to `content`. Blocks have `size` bytes, independent of the
/// block size of the previous chunk.
fn fill_block(
    before: &Previous,
    source: &dyn Source,
    block: usize,
    size: usize,
    content: &mut [u8],
) -> Result<()> {
    let touch = source.change(block);
    match before {
        _ if touch == BlockChange::Full => {}
        Previous::Fill(Fill::Zeros) => content.fill(0),
        Previous::Fill(Fill::Item(item)) => blosc::repeat(item, block * size, content),
        Previous::Content(all) => {
            // none if the previous chunk is shorter
            let own = all.get(block * size..).unwrap_or_default();
            let n = own.len().min(content.len());
            let (there, rest) = content.cut_mut(n)?;
            there.copy_from_slice(own.at(..n)?);
            rest.fill(0);
        }
        // the previous chunk may be shorter than the new one
        Previous::Chunk(chunk, bytes) => {
            let from = block * size;
            let n = chunk
                .header()
                .nbytes
                .saturating_sub(from)
                .min(content.len());
            let (there, rest) = content.split_at_mut(n);
            rest.fill(0);
            if n > 0 {
                chunk.read(bytes, from, there, None)?;
            }
        }
    }
    if touch == BlockChange::Unchanged {
        Ok(())
    } else {
        source.fill(block, content)
    }
}
