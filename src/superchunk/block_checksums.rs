//! Checksums of the blocks of a chunk, at its end, so that a block is verified without the others.
//!
//! After the last block, where readers of Blosc chunks find no block, a chunk has the CRC-32 of each
//! stored block (little-endian, in order) and a mark. They need no checksum of their own: the
//! CRC-32s of all parts determine that of the complete chunk, which the container stores.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc::stored::{StoredBytes, StoredChunk};
use crate::blosc::{Content, Header};
use crate::checksum::{crc32, crc32_of_parts};
use crate::error::{Error, Result, fail};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shorter chunks are read at once, and have no checksums of blocks.
pub const MIN_CHUNK: usize = if cfg!(fuzzing) { 64 } else { 64 << 10 };
/// The last bytes of a chunk that has them.
const MARK: [u8; 8] = *b"hldblock";
/// Bytes of a CRC-32.
const CRC: usize = 4;
/// Offset of the length of a chunk in its header.
const CBYTES: Range<usize> = 12..16;

/// Returns the number of bytes after the last block of a chunk with this many blocks.
fn tail_len(blocks: usize) -> usize {
    blocks.saturating_mul(CRC).saturating_add(MARK.len())
}

/// Appends the checksums of its blocks to a chunk, unless it is short, has them, has no blocks in
/// order, or would become longer than its uncompressed form. Returns the CRC-32 of the chunk.
pub fn append(chunk: &mut Vec<u8>) -> Result<u32> {
    let Some(ends) = block_ends(chunk)? else {
        return Ok(crc32(chunk));
    };
    let tail = tail_len(ends.len() - 1);
    let len = u32::try_from(chunk.len() + tail)
        .map_err(|_| fail!(Limit, "a chunk of {} bytes is too large", chunk.len()))?;
    alloc::grow(chunk, tail, chunk.len() + tail)?;
    if let Some(cbytes) = chunk.get_mut(CBYTES) {
        cbytes.copy_from_slice(&len.to_le_bytes());
    }
    let part = |range: Range<usize>| chunk.get(range).unwrap_or_default();
    let mut parts = alloc::with_capacity(ends.len() + 1)?;
    let head = part(0..ends.first().copied().unwrap_or_default());
    parts.push((crc32(head), head.len()));
    parts.extend(ends.iter().zip(ends.iter().skip(1)).map(|(from, to)| {
        let block = part(*from..*to);
        (crc32(block), block.len())
    }));
    for (crc, _) in parts.iter().skip(1) {
        chunk.extend_from_slice(&crc.to_le_bytes());
    }
    chunk.extend_from_slice(&MARK);
    let tail = chunk.get(chunk.len() - tail..).unwrap_or_default();
    parts.push((crc32(tail), tail.len()));
    Ok(crc32_of_parts(&parts))
}

/// Returns the offset of the first block and the end of each, if the chunk is to get checksums.
fn block_ends(chunk: &[u8]) -> Result<Option<Vec<usize>>> {
    let header = Header::parse(chunk)?;
    let blocks = header.blocks();
    let fits = chunk.len() + tail_len(blocks) <= header.nbytes + header.len();
    if chunk.len() < MIN_CHUNK || blocks < 2 || !fits || header.content()? != Content::Blocks {
        return Ok(None);
    }
    if chunk.ends_with(&MARK) {
        return Ok(None); // it was copied as it is stored
    }
    let Some(stored) = StoredChunk::parse(chunk, u64::MAX)? else {
        return Ok(None);
    };
    ends(&stored, &chunk, chunk.len())
}

/// Returns the offset of the first block and the end of each; none if they are not in order, or do
/// not fill the chunk up to `end`.
fn ends(stored: &StoredChunk, source: &dyn StoredBytes, end: usize) -> Result<Option<Vec<usize>>> {
    let blocks = stored.header().blocks();
    let mut ends = alloc::with_capacity(blocks + 1)?;
    for block in 0..blocks {
        ends.push(stored.span(source, block)?.start);
    }
    ends.push(end);
    Ok(ends.is_sorted_by(|a, b| a < b).then_some(ends))
}

/// The checksums of the blocks of a chunk that match the CRC-32 of the chunk.
pub struct BlockChecksums {
    /// The offset of the first block, and the end of each.
    ends: Vec<usize>,
    blocks: Vec<BlockChecksum>,
}

struct BlockChecksum {
    crc: u32,
    verified: AtomicBool,
}

impl BlockChecksums {
    /// Reads the checksums of the blocks of a chunk, of which the first bytes are `head`. Returns
    /// none if it has none, or if they and the head do not match the CRC-32 of the chunk: then only
    /// the complete chunk can be verified.
    pub fn read(
        stored: &StoredChunk,
        head: &[u8],
        source: &dyn StoredBytes,
        crc: u32,
    ) -> Result<Option<BlockChecksums>> {
        let (header, blocks) = (stored.header(), stored.header().blocks());
        let Some(end) = header.cbytes.checked_sub(tail_len(blocks)) else {
            return Ok(None);
        };
        if header.content() != Ok(Content::Blocks) {
            return Ok(None);
        }
        let tail = source.bytes(end..header.cbytes)?;
        let Some((crcs, &MARK)) = tail.split_last_chunk::<8>() else {
            return Ok(None);
        };
        let crcs = crcs.as_chunks::<CRC>().0;
        let Some(ends) = ends(stored, source, end)? else {
            return Ok(None);
        };
        let Some(head) = ends.first().and_then(|first| head.get(..*first)) else {
            return Ok(None);
        };
        let mut parts = alloc::with_capacity(blocks + 2)?;
        parts.push((crc32(head), head.len()));
        parts.extend(
            crcs.iter()
                .zip(ends.windows(2))
                .map(|(crc, ends)| (u32::from_le_bytes(*crc), length(ends))),
        );
        parts.push((crc32(&tail), tail.len()));
        if crc32_of_parts(&parts) != crc {
            return Ok(None);
        }
        let mut all = alloc::with_capacity(blocks)?;
        all.extend(crcs.iter().map(|crc| BlockChecksum {
            crc: u32::from_le_bytes(*crc),
            verified: AtomicBool::new(false),
        }));
        Ok(Some(BlockChecksums { ends, blocks: all }))
    }

    /// Returns the memory that they take.
    pub fn allocated(&self) -> usize {
        size_of_val(&self.ends[..]) + size_of_val(&self.blocks[..])
    }

    /// Returns the blocks that a range of the chunk touches, if one of them is not verified.
    pub fn unverified(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let first = self
            .ends
            .partition_point(|end| *end <= range.start)
            .saturating_sub(1);
        let last = self.ends.partition_point(|end| *end < range.end);
        let touched = first..last.min(self.blocks.len());
        let blocks = self.blocks.get(touched.clone())?;
        let verified = blocks
            .iter()
            .all(|block| block.verified.load(Ordering::Relaxed));
        (!verified).then_some(touched)
    }

    /// Returns the range of the chunk that these blocks take. That of the last one includes the
    /// checksums.
    pub fn range(&self, blocks: &Range<usize>) -> Range<usize> {
        let at = |i: usize| self.ends.get(i).copied().unwrap_or_default();
        let all = self.blocks.len();
        let tail = if blocks.end == all { tail_len(all) } else { 0 };
        at(blocks.start)..at(blocks.end).saturating_add(tail)
    }

    /// Verifies these blocks. `bytes` are those of their range.
    pub fn verify(&self, blocks: Range<usize>, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        for (i, ends) in blocks.clone().zip(self.ends.windows(2).skip(blocks.start)) {
            let (block, after) = rest
                .split_at_checked(length(ends))
                .ok_or_else(|| mismatch(i))?;
            let sum = self.blocks.get(i).ok_or_else(|| mismatch(i))?;
            if !sum.verified.load(Ordering::Relaxed) {
                if crc32(block) != sum.crc {
                    return Err(mismatch(i));
                }
                sum.verified.store(true, Ordering::Relaxed);
            }
            rest = after;
        }
        Ok(())
    }
}

fn length(ends: &[usize]) -> usize {
    match ends {
        [from, to] => to.saturating_sub(*from),
        _ => 0,
    }
}

#[cold]
fn mismatch(block: usize) -> Error {
    fail!(
        Checksum,
        "the CRC-32 of its block {block} does not match the stored one"
    )
}
