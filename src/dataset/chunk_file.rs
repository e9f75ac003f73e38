//! A file with one chunk, `__N.blp`: a header of 16 bytes (magic, version 1, one chunk), a Blosc
//! chunk, and optionally the digest of the chunk.
//!
//! The tools write the header but never read it. Here it must be correct, because nothing else in
//! the file detects corruption of these bytes. The tools also ignore everything after the chunk,
//! which is where the digest is. A file without the digest was written by another tool and is
//! accepted.
//!
//! An open file may be cached between calls. Its headers are read once and its digest is verified
//! once. A block that is read in several small parts is decoded once. The cache entry becomes
//! invalid when the size or the modification time of the file changes.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc;
use crate::cache::{CacheBudget, LruCache, PartialReads};
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The header before the chunk.
pub const HEADER: [u8; 16] = *b"blpk\x01\0\0\0\x01\0\0\0\0\0\0\0";
/// Number of bytes that are read when a file is opened, and stay buffered. They contain both
/// headers and, for most chunks, the block offsets and the length of the first stream.
const HEAD_BYTES: usize = 128;
/// A chunk is read completely if at least one byte in `PARTIAL_FRACTION` is requested.
const PARTIAL_FRACTION: usize = 4;

/// Number of small reads of a block after which the complete block is decoded. These reads take
/// about as long as decoding it.
const PARTIAL_READS: u32 = 4;
/// Maximum number of decoded blocks that a handle caches, and maximum size of such a block.
const MAX_CACHED_BLOCKS: usize = 4;
const MAX_CACHED_BLOCK: usize = 4 << 20;
/// Maximum size of all cached blocks.
static CACHED_BYTES: CacheBudget = CacheBudget::new(64 << 20);

/// Completely decoded blocks, by file and block index.
pub type Blocks = LruCache<(u64, usize), Arc<[u8]>>;

/// Creates an empty cache of blocks.
pub fn blocks() -> Blocks {
    LruCache::new(MAX_CACHED_BLOCKS, &CACHED_BYTES)
}

/// An open chunk file.
pub struct ChunkFile {
    file: Arc<dyn File>,
    head: [u8; HEAD_BYTES],
    header: blosc::Header,
    /// True if the file has a digest.
    pub has_digest: bool,
    sum: Checksum,
    limit: u64,
    /// Size and modification time when the file was opened.
    as_opened: (u64, u64),
    /// Unique number of this open file.
    id: u64,
    /// True once the digest was found to match.
    is_verified: AtomicBool,
    partial_reads: PartialReads,
}

impl ChunkFile {
    /// Reads the headers of an open file. `sum` is the algorithm of the digest, if there is one.
    pub fn open(file: Arc<dyn File>, sum: Checksum, limit: u64) -> Result<ChunkFile> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let mut head = [0; HEAD_BYTES];
        let as_opened = file.as_opened()?;
        let n = file.read_at(0, &mut head)?;
        let short = || {
            fail!(
                Format,
                "it is too short for a header of {} bytes and the header of a chunk ({n} bytes)",
                HEADER.len()
            )
        };
        let (own, chunk) = head
            .get(..n)
            .and_then(|h| h.split_first_chunk::<16>())
            .ok_or_else(short)?;
        if *own != HEADER {
            return Err(fail!(
                Format,
                "wrong header (expected {HEADER:02x?}, found {own:02x?})"
            ));
        }
        let header = blosc::Header::parse(chunk)?;
        let (end, size) = (
            (HEADER.len() + header.cbytes) as u64,
            if n < HEAD_BYTES {
                n as u64
            } else {
                as_opened.0
            },
        );
        if size < end {
            return Err(fail!(
                Format,
                "the file is too short (expected {end} bytes, found {size})"
            ));
        }
        let rest = size - end;
        let digest = sum.size() as u64;
        if rest > 0 && rest < digest {
            return Err(fail!(
                Format,
                "the digest is incomplete (expected {digest} bytes, found {rest})"
            ));
        }
        let (has_digest, id) = (
            digest > 0 && rest >= digest,
            OPENED.fetch_add(1, Ordering::Relaxed),
        );
        let (is_verified, partial_reads) = (AtomicBool::new(false), PartialReads::default());
        Ok(ChunkFile {
            file,
            head,
            header,
            has_digest,
            sum,
            limit,
            as_opened,
            id,
            is_verified,
            partial_reads,
        })
    }

    /// Returns true if the file has an identity, so that a change of it can be detected.
    pub fn is_cacheable(&self) -> bool {
        self.file.identity() != 0
    }

    /// Returns true if the file has not been modified since it was opened.
    pub fn is_as_opened(&self) -> bool {
        self.file
            .size_and_modified()
            .is_ok_and(|now| now == self.as_opened)
    }

    /// Returns the size of the content in bytes.
    pub fn nbytes(&self) -> usize {
        self.header.nbytes
    }

    /// Returns the header of the chunk.
    pub fn header(&self) -> blosc::Header {
        self.header
    }

    /// Decodes a range. Verifies the digest first if `verify` is true and the file has one. `cache`
    /// has the decoded blocks of the handle.
    pub fn read(
        &self,
        from: usize,
        dst: &mut [u8],
        verify: bool,
        threads: usize,
        cache: &Blocks,
    ) -> Result<()> {
        alloc::allow(
            self.header.blocksize as u64,
            self.limit,
            "a block of a chunk",
        )?;
        let digest = if verify && self.has_digest && !self.is_verified.load(Ordering::Relaxed) {
            self.sum.size()
        } else {
            0
        };
        if digest == 0 && dst.len() < self.nbytes() / PARTIAL_FRACTION {
            return self.read_blocks(from, dst, cache);
        }
        self.with_bytes(0..self.header.cbytes + digest, |bytes| {
            let (chunk, stored) = bytes
                .split_at_checked(self.header.cbytes)
                .unwrap_or_default();
            if digest > 0 && self.sum.of(chunk) != stored {
                return Err(fail!(
                    Checksum,
                    "its {:?} does not match the stored digest",
                    self.sum
                ));
            }
            if digest > 0 {
                self.is_verified.store(true, Ordering::Relaxed);
            }
            // the bytes that were read now may belong to another header
            if blosc::Header::parse(chunk)? != self.header {
                return Err(fail!(Format, "it was modified while it was being read"));
            }
            blosc::decode_range(chunk, from, dst, threads)
        })
    }

    /// Calls `f` with a range of the bytes after the first header.
    fn with_bytes<R>(&self, range: Range<usize>, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let (from, n) = (HEADER.len() + range.start, range.len());
        match self.buffered(&range) {
            Some(bytes) => f(bytes),
            None => read_buffer::with_range(&*self.file, from as u64, n, self.limit, f),
        }
    }

    /// Returns a range of the bytes that were read on opening.
    fn buffered(&self, range: &Range<usize>) -> Option<&[u8]> {
        let bytes = self
            .head
            .get(HEADER.len() + range.start..)?
            .get(..range.len());
        bytes.filter(|_| range.end <= self.header.cbytes)
    }

    /// Decodes a range and reads only the blocks that contain it.
    fn read_blocks(&self, from: usize, dst: &mut [u8], cache: &Blocks) -> Result<()> {
        let h = &self.header;
        if h.content()? != blosc::Content::Blocks || h.extended() {
            return self.with_bytes(0..h.cbytes, |chunk| {
                blosc::decode_range(chunk, from, dst, 1)
            });
        }
        let decoder = blosc::BlockDecoder::new(h, None)?;
        let (index, skip) = (from / h.blocksize, from % h.blocksize);
        if dst.len() < h.block_len(index) && skip + dst.len() <= h.block_len(index) {
            return self.read_block(&decoder, index, skip, dst, cache);
        }
        let starts =
            self.with_bytes(h.len()..h.len() + 4 * h.blocks(), |table| starts(table, h))?;
        let mut ends = starts.clone();
        ends.push(h.cbytes);
        ends.sort_unstable();
        let (mut at, mut rest) = (from, dst);
        while !rest.is_empty() {
            let index = at / h.blocksize;
            let begin = *starts
                .get(index)
                .ok_or_else(|| fail!(Range, "the range exceeds the chunk"))?;
            // writers store blocks in the order in which they are finished: the next block in the
            // file need not be the block with the next index
            let end = ends
                .get(ends.partition_point(|e| *e <= begin))
                .copied()
                .unwrap_or(h.cbytes);
            let (skip, len) = (at % h.blocksize, h.block_len(index));
            let (piece, tail) = rest.split_at_mut(len.saturating_sub(skip).min(rest.len()));
            if piece.len() == len {
                self.with_bytes(begin..end, |stored| {
                    decoder.decode(index, stored, None, piece)
                })?;
            } else {
                self.block_part(&decoder, index, begin..end, skip, piece)?;
            }
            at += piece.len();
            rest = tail;
        }
        Ok(())
    }

    /// Decodes a part of one block, from the cached block if there is one.
    fn read_block(
        &self,
        decoder: &blosc::BlockDecoder,
        index: usize,
        skip: usize,
        dst: &mut [u8],
        cache: &Blocks,
    ) -> Result<()> {
        let (h, key) = (&self.header, (self.id, index));
        let len = h.block_len(index);
        let mut cached = cache.get(&key);
        if cached.is_none() {
            let mut start = [0; 4];
            self.with_bytes(h.len() + 4 * index..h.len() + 4 * index + 4, |bytes| {
                start.copy_from_slice(bytes);
                Ok(())
            })?;
            let begin = u32::from_le_bytes(start) as usize;
            if begin < h.len() + 4 * h.blocks() || begin >= h.cbytes {
                return Err(outside(index));
            }
            if len > MAX_CACHED_BLOCK
                || !self
                    .partial_reads
                    .should_decode_whole(index, skip, dst.len(), PARTIAL_READS)
            {
                return self.block_part(decoder, index, begin..h.cbytes, skip, dst);
            }
            let mut block = alloc::zeroed(len)?;
            self.block_part(decoder, index, begin..h.cbytes, 0, &mut block)?;
            let block = Arc::from(block);
            cache.put(key, Arc::clone(&block), len);
            cached = Some(block);
        }
        let part = cached
            .as_ref()
            .and_then(|w| w.get(skip..)?.get(..dst.len()));
        dst.copy_from_slice(part.ok_or_else(|| fail!(Range, "the range exceeds the chunk"))?);
        Ok(())
    }

    /// Decodes a part of the block that is stored in this range of bytes.
    fn block_part(
        &self,
        decoder: &blosc::BlockDecoder,
        index: usize,
        bytes: Range<usize>,
        skip: usize,
        dst: &mut [u8],
    ) -> Result<()> {
        let len = self.header.block_len(index);
        let reader =
            read_buffer::SequentialReader::new(&*self.file, (HEADER.len() + bytes.end) as u64);
        let some = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let r = bytes.start + r.start..bytes.start + r.end;
            match self.buffered(&r) {
                _ if r.end > bytes.end => {
                    Err(fail!(Format, "block {index} ends outside of its chunk"))
                }
                Some(bytes) => f(bytes),
                None => reader.with_range((HEADER.len() + r.start) as u64, r.len(), self.limit, f),
            }
        };
        if dst.len() < len && decoder.decode_part(index, skip, dst, &some)? {
            return Ok(());
        }
        self.with_bytes(bytes.clone(), |stored| {
            if dst.len() == len {
                return decoder.decode(index, stored, None, dst);
            }
            let mut block = alloc::zeroed(len)?;
            decoder.decode(index, stored, None, &mut block)?;
            dst.copy_from_slice(
                block
                    .get(skip..)
                    .and_then(|b| b.get(..dst.len()))
                    .unwrap_or_default(),
            );
            Ok(())
        })
    }
}

/// Returns the offsets of the blocks in their chunk.
fn starts(table: &[u8], h: &blosc::Header) -> Result<Vec<usize>> {
    let (table, earliest) = (table.as_chunks::<4>().0, h.len() + 4 * h.blocks());
    let mut starts = alloc::with_capacity(table.len() + 1)?;
    for (i, start) in table.iter().enumerate() {
        let start = u32::from_le_bytes(*start) as usize;
        if start < earliest || start >= h.cbytes {
            return Err(outside(i));
        }
        starts.push(start);
    }
    Ok(starts)
}

fn outside(block: usize) -> Error {
    fail!(Format, "block {block} begins outside of its chunk")
}
