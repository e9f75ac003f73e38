//! Checksums of the blocks of a chunk, so that a block is verified without the others.
//!
//! Between the block table and the first block, where readers of Blosc chunks find no block, a
//! chunk has the CRC-32 of each stored block, in order, that of all blocks, that of all bytes before
//! it, and a mark (integers are little-endian). The CRC-32s of both parts determine that of the
//! complete chunk, which a frame stores too.
//!
//! An uncompressed chunk has exactly the length of its header and content. In a contiguous frame,
//! its checksums follow it, where no chunk is.
//!
//! They are not at the end of other chunks, because c-blosc2 reads a block up to the next one, or
//! up to the end of the chunk, into a buffer for the longest possible block.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc::stored::{StoredBytes, StoredChunk};
use crate::blosc::{Content, Header};
use crate::checksum::{Checksum, crc32, crc32_of_parts};
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::slice::SliceExt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shorter chunks are read at once, and have no checksums of blocks.
pub const MIN_CHUNK: usize = if cfg!(any(test, fuzzing)) {
    64
} else {
    64 << 10
};
/// The last bytes before the first block of a chunk that has them.
const MARK: [u8; 8] = *b"hldblock";
/// Bytes of a CRC-32, and of an offset in the block table.
const INTEGER: usize = 4;
/// Offset of the length of a chunk in its header.
const CBYTES: Range<usize> = 12..16;

/// Returns the number of bytes between the table and the first block of a chunk with this many
/// blocks.
pub const fn len(blocks: usize) -> usize {
    blocks
        .saturating_mul(INTEGER)
        .saturating_add(2 * INTEGER + MARK.len())
}

/// Are checksums of blocks as reliable as this one of the complete chunk? The longer ones are
/// chosen by writers for which a CRC-32 is too short.
pub fn can_replace(sum: Checksum) -> bool {
    matches!(sum, Checksum::Adler32 | Checksum::Crc32)
}

/// Completes the new chunk that begins at `begin`: inserts the checksums of its blocks if they can
/// replace `sum`, and appends `sum`.
pub fn seal(bytes: &mut Vec<u8>, begin: usize, sum: Checksum) -> Result<()> {
    let crc = match can_replace(sum) {
        true => Some(insert(bytes, begin)?),
        false => None,
    };
    let digest = match crc {
        Some(crc) if sum == Checksum::Crc32 => crc.to_le_bytes().to_vec(),
        _ => sum.of(bytes.at(begin..)?),
    };
    alloc::reserve_exact(bytes, digest.len())?;
    bytes.extend_from_slice(&digest);
    Ok(())
}

/// Inserts the checksums of its blocks into the chunk that begins at `begin`, unless it is short,
/// has them, has no blocks in order, or would become longer than its uncompressed form. Returns the
/// CRC-32 of the chunk.
pub fn insert(bytes: &mut Vec<u8>, begin: usize) -> Result<u32> {
    let chunk = bytes.at(begin..)?;
    let Some(mut ends) = block_ends(chunk)? else {
        return Ok(crc32(chunk));
    };
    let (blocks, first) = (ends.len() - 1, *ends.at(0)?);
    let more = len(blocks);
    let all = chunk.len() + more;
    alloc::grow(bytes, more, begin + all)?;
    bytes.resize(begin + all, 0);
    let chunk = bytes.at_mut(begin..)?;
    chunk.copy_within(first..all - more, first + more);
    for end in &mut ends {
        *end += more;
    }
    chunk.at_mut(CBYTES)?.copy_from_slice(&integer(all)?);
    let table = chunk.at_mut(first - INTEGER * blocks..first)?;
    for (offset, start) in table.chunks_exact_mut(INTEGER).zip(&ends) {
        offset.copy_from_slice(&integer(*start)?);
    }
    write(chunk, &ends)
}

/// Like [`insert`], but appends the checksums of the blocks of an uncompressed chunk after its end.
/// Returns the length and the CRC-32 of the chunk.
pub fn insert_or_append(chunk: &mut Vec<u8>) -> Result<(usize, u32)> {
    let (header, cbytes) = (Header::parse(chunk)?, chunk.len());
    if len_after(&header) == 0 {
        return insert(chunk, 0).map(|crc| (chunk.len(), crc));
    }
    let mut ends = alloc::with_capacity(header.blocks() + 1)?;
    ends.extend((header.len()..cbytes).step_by(header.blocksize));
    ends.push(cbytes);
    let (covered, stored) = chunk.split_at(header.len());
    let (head, all_blocks) = encode(covered, stored, &ends)?;
    let crc = crc32_of_parts(&[(crc32(covered), covered.len()), (all_blocks, stored.len())]);
    let more = head.at(covered.len()..)?;
    alloc::grow(chunk, more.len(), cbytes + more.len())?;
    chunk.extend_from_slice(more);
    Ok((cbytes, crc))
}

/// Returns the length of what [`insert_or_append`] appends to a chunk with this header. It appends
/// nothing to a chunk with very short blocks.
pub fn len_after(header: &Header) -> usize {
    let len = len(header.blocks());
    let fits = header.cbytes >= MIN_CHUNK && header.blocks() > 1 && len <= header.nbytes / 8;
    match header.content() {
        Ok(Content::Copied) if fits => len,
        _ => 0,
    }
}

/// Returns the offset of the end of the `len` bytes of checksums at an offset of a file, or the
/// offset itself if there are none.
pub fn end_after(file: &dyn File, at: u64, len: usize) -> Result<u64> {
    let (end, mut mark) = (at.saturating_add(len as u64), [0; MARK.len()]);
    let is_read = len > 0 && file.read_at(end - MARK.len() as u64, &mut mark)? == MARK.len();
    Ok(if is_read && mark == MARK { end } else { at })
}

/// Rewrites the checksums of a chunk that has them, after a change of its length.
pub fn renew(chunk: &mut [u8]) -> Result<()> {
    let header = Header::parse(chunk)?;
    let head_len = header.len() + INTEGER * header.blocks() + len(header.blocks());
    let head = chunk.get(..head_len).unwrap_or_default();
    if !has_blocks(&header) || !head.ends_with(&MARK) {
        return Ok(());
    }
    match ends_of(chunk)?.filter(|ends| ends.first() == Some(&head_len)) {
        Some(ends) => write(chunk, &ends).map(drop),
        None => Ok(()),
    }
}

/// Writes the checksums of the blocks with these `ends` before them. Returns the CRC-32 of the
/// chunk.
fn write(chunk: &mut [u8], ends: &[usize]) -> Result<u32> {
    let first = *ends.at(0)?;
    let (head, stored) = chunk.split_at_mut(first);
    let (bytes, all_blocks) = encode(head.at(..first - len(ends.len() - 1))?, stored, ends)?;
    head.copy_from_slice(&bytes);
    Ok(crc32_of_parts(&[
        (crc32(head), head.len()),
        (all_blocks, stored.len()),
    ]))
}

/// Returns these bytes with the checksums of the blocks in `stored`, and the CRC-32 of all blocks.
fn encode(covered: &[u8], stored: &[u8], ends: &[usize]) -> Result<(Vec<u8>, u32)> {
    let (first, blocks) = (*ends.at(0)?, ends.len() - 1);
    let mut parts = alloc::with_capacity(blocks)?;
    for (from, to) in ends.iter().zip(ends.iter().skip(1)) {
        let block = stored.at(from - first..to - first)?;
        parts.push((crc32(block), block.len()));
    }
    let all_blocks = crc32_of_parts(&parts);
    let mut bytes = alloc::with_capacity(covered.len() + len(blocks))?;
    bytes.extend_from_slice(covered);
    for crc in parts.iter().map(|(crc, _)| *crc).chain([all_blocks]) {
        bytes.extend_from_slice(&crc.to_le_bytes());
    }
    let own = crc32(&bytes);
    bytes.extend_from_slice(&own.to_le_bytes());
    bytes.extend_from_slice(&MARK);
    Ok((bytes, all_blocks))
}

fn integer(n: usize) -> Result<[u8; INTEGER]> {
    let n = u32::try_from(n).map_err(|_| fail!(Limit, "a chunk of {n} bytes is too large"))?;
    Ok(n.to_le_bytes())
}

/// Returns the offset of the first block and the end of each, if the chunk is to get checksums.
fn block_ends(chunk: &[u8]) -> Result<Option<Vec<usize>>> {
    let header = Header::parse(chunk)?;
    let blocks = header.blocks();
    let table_end = header.len() + INTEGER * blocks;
    let fits = chunk.len() + len(blocks) <= header.nbytes + header.len();
    if chunk.len() < MIN_CHUNK || blocks < 2 || !fits || !has_blocks(&header) {
        return Ok(None);
    }
    // the first block of a chunk that was copied as it is stored may be after its checksums
    Ok(ends_of(chunk)?.filter(|ends| ends.first() == Some(&table_end)))
}

fn ends_of(chunk: &[u8]) -> Result<Option<Vec<usize>>> {
    match StoredChunk::parse(chunk, u64::MAX)? {
        Some(stored) => ends(&stored, &chunk),
        None => Ok(None),
    }
}

/// Can a chunk with this header have checksums before its blocks?
fn has_blocks(header: &Header) -> bool {
    header.content() == Ok(Content::Blocks) && !header.has_dictionary()
}

/// Returns the offset of the first block and the end of each; none if they are not in order.
fn ends(stored: &StoredChunk, source: &dyn StoredBytes) -> Result<Option<Vec<usize>>> {
    let blocks = stored.header().blocks();
    let mut ends = alloc::with_capacity(blocks + 1)?;
    for block in 0..blocks {
        ends.push(stored.span(source, block)?.start);
    }
    ends.push(stored.header().cbytes);
    Ok(ends.is_sorted_by(|a, b| a < b).then_some(ends))
}

/// The checksums of the blocks of a chunk, which match those of the bytes before the first block.
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
    /// Reads the checksums of the blocks of a chunk, of which the first bytes are `first`. Returns
    /// none if it has none, if they are corrupt, or if they do not match `crc`, the CRC-32 of a
    /// chunk of a frame: then only the complete chunk can be verified.
    pub fn read(
        stored: &StoredChunk,
        first: &[u8],
        source: &dyn StoredBytes,
        crc: Option<u32>,
    ) -> Result<Option<BlockChecksums>> {
        let (header, blocks) = (stored.header(), stored.header().blocks());
        // only frames have room after a chunk
        let (is_copied, cbytes) = (crc.is_some() && len_after(header) > 0, header.cbytes);
        let covered = header.len() + if is_copied { 0 } else { INTEGER * blocks };
        let has_room = has_blocks(header) && covered.saturating_add(len(blocks)) < cbytes;
        if !is_copied && !has_room {
            return Ok(None);
        }
        let mut head = alloc::with_capacity(covered + len(blocks))?;
        for range in match is_copied {
            true => [0..covered, cbytes..cbytes + len(blocks)],
            false => [0..covered + len(blocks), 0..0],
        } {
            match first.get(range.clone()) {
                Some(bytes) => head.extend_from_slice(bytes),
                None => head.extend_from_slice(&source.bytes(range)?),
            }
        }
        let Some((crcs, all_blocks)) = checked(&head, covered) else {
            return Ok(None);
        };
        let before = if is_copied { covered } else { head.len() };
        let Some(ends) = ends(stored, source)?.filter(|ends| ends.first() == Some(&before)) else {
            return Ok(None);
        };
        let parts = [
            (crc32(head.at(..before)?), before),
            (all_blocks, cbytes.saturating_sub(before)),
        ];
        if crc.is_some_and(|crc| crc32_of_parts(&parts) != crc) {
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

    /// Returns the range of the chunk that these blocks take.
    pub fn range(&self, blocks: &Range<usize>) -> Range<usize> {
        let at = |i: usize| self.ends.get(i).copied().unwrap_or_default();
        at(blocks.start)..at(blocks.end)
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

/// Returns the checksums of each block and of all, which follow the bytes that they cover, unless
/// they are not there or do not match their own checksum.
fn checked(head: &[u8], covered: usize) -> Option<(&[[u8; INTEGER]], u32)> {
    let (rest, mark) = head.split_last_chunk()?;
    let (rest, own) = rest.split_last_chunk()?;
    if *mark != MARK || crc32(rest) != u32::from_le_bytes(*own) {
        return None;
    }
    let (crcs, all_blocks) = rest.get(covered..)?.split_last_chunk()?;
    Some((crcs.as_chunks().0, u32::from_le_bytes(*all_blocks)))
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
