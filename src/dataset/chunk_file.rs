//! A file with one chunk, `__N.blp`: 16 bytes of header (magic, version 1, one chunk), a Blosc
//! chunk, and maybe its digest.
//!
//! The tools write the header and never look at it; here it must be right, for want of anything
//! better that would tell a damaged file. They also never look behind the chunk: there the digest
//! is. One that is not there was left out by another writer, and says nothing.
//!
//! An open file may be kept from call to call: its headers are read once, its digest is checked
//! once, and a block of which one small part after the other is wanted is decoded once. All that
//! ends where its length or time says that somebody has written into it.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc;
use crate::cache::{Budget, Lately, Parts};
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What stands before the chunk.
pub const HEADER: [u8; 16] = *b"blpk\x01\0\0\0\x01\0\0\0\0\0\0\0";
/// What is read when a file is opened, and stays at hand: both headers, and of most chunks where
/// the blocks begin and how long the first stream is.
const HEAD: usize = 128;
/// A chunk of which less than one in so many bytes is wanted is not read whole.
const FEW: usize = 4;

/// Small parts of a block after which it is decoded as a whole: about what that takes then.
const PARTS: u32 = 4;
/// Decoded blocks that a handle keeps, and the longest of them.
const BLOCKS: usize = 4;
const LONGEST_KEPT: usize = 4 << 20;
/// Bytes in all blocks that are kept.
static KEPT_BYTES: Budget = Budget::new(64 << 20);

/// Blocks that were decoded as a whole, by their files and numbers.
pub type Blocks = Lately<(u64, usize), Arc<[u8]>>;

/// None yet.
pub fn blocks() -> Blocks {
    Lately::new(BLOCKS, &KEPT_BYTES)
}

/// An open chunk file.
pub struct ChunkFile {
    file: Arc<dyn File>,
    head: [u8; HEAD],
    header: blosc::Header,
    /// Its digest is there.
    pub has_digest: bool,
    sum: Sum,
    limit: u64,
    /// Length and time of the last change when it was opened.
    as_opened: (u64, u64),
    /// Tells it from any other one that was ever open.
    id: u64,
    /// Its digest was found to fit.
    is_sound: AtomicBool,
    lately: Parts,
}

impl ChunkFile {
    /// Looks at the headers of an open file. `sum`: what its digest is, if it has one.
    pub fn open(file: Arc<dyn File>, sum: Sum, limit: u64) -> Result<ChunkFile> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let mut head = [0; HEAD];
        let as_opened = file.as_opened()?;
        let n = file.read_at(0, &mut head)?;
        let short = || {
            fail!(
                Format,
                "a header of {} bytes and that of a chunk were expected, the file has {n}",
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
                "it begins with {own:02x?}, not with {HEADER:02x?}"
            ));
        }
        let header = blosc::Header::parse(chunk)?;
        let (end, size) = (
            (HEADER.len() + header.cbytes) as u64,
            if n < HEAD { n as u64 } else { as_opened.0 },
        );
        if size < end {
            return Err(fail!(Format, "{end} bytes were expected, {size} are there"));
        }
        let behind = size - end;
        let digest = sum.size() as u64;
        if behind > 0 && behind < digest {
            return Err(fail!(
                Format,
                "{digest} bytes of a digest were expected, {behind} are there"
            ));
        }
        let (has_digest, id) = (
            digest > 0 && behind >= digest,
            OPENED.fetch_add(1, Ordering::Relaxed),
        );
        let (is_sound, lately) = (AtomicBool::new(false), Parts::default());
        Ok(ChunkFile {
            file,
            head,
            header,
            has_digest,
            sum,
            limit,
            as_opened,
            id,
            is_sound,
            lately,
        })
    }

    /// Could it be told from another one, and would a change of it be seen?
    pub fn can_be_kept(&self) -> bool {
        self.file.identity() != 0
    }

    /// Has nobody written into it since it was opened?
    pub fn is_as_opened(&self) -> bool {
        self.file.look().is_ok_and(|now| now == self.as_opened)
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> usize {
        self.header.nbytes
    }

    /// The header of the chunk.
    pub fn header(&self) -> blosc::Header {
        self.header
    }

    /// Decodes a range; the digest is checked where it is there and that is wished. `kept`: the
    /// blocks of a handle.
    pub fn read(
        &self,
        from: usize,
        dst: &mut [u8],
        verify: bool,
        threads: usize,
        kept: &Blocks,
    ) -> Result<()> {
        alloc::allow(
            self.header.blocksize as u64,
            self.limit,
            "a block of a chunk",
        )?;
        let digest = if verify && self.has_digest && !self.is_sound.load(Ordering::Relaxed) {
            self.sum.size()
        } else {
            0
        };
        if digest == 0 && dst.len() < self.nbytes() / FEW {
            return self.read_blocks(from, dst, kept);
        }
        self.with_bytes(0..self.header.cbytes + digest, |bytes| {
            let (chunk, stored) = bytes
                .split_at_checked(self.header.cbytes)
                .unwrap_or_default();
            if digest > 0 && self.sum.of(chunk) != stored {
                return Err(fail!(
                    Checksum,
                    "its {:?} does not match what is stored",
                    self.sum
                ));
            }
            if digest > 0 {
                self.is_sound.store(true, Ordering::Relaxed);
            }
            // what was read now may differ from what the header was
            if blosc::Header::parse(chunk)? != self.header {
                return Err(fail!(Format, "it was changed while it was read"));
            }
            blosc::decode_range(chunk, from, dst, threads)
        })
    }

    /// Calls `f` with a range of the bytes behind the first header.
    fn with_bytes<R>(&self, range: Range<usize>, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let (from, n) = (HEADER.len() + range.start, range.len());
        match self.at_hand(&range) {
            Some(bytes) => f(bytes),
            None => read_buffer::with_range(&*self.file, from as u64, n, self.limit, f),
        }
    }

    /// What was read when it was opened.
    fn at_hand(&self, range: &Range<usize>) -> Option<&[u8]> {
        let bytes = self
            .head
            .get(HEADER.len() + range.start..)?
            .get(..range.len());
        bytes.filter(|_| range.end <= self.header.cbytes)
    }

    /// Decodes a range from its own blocks: no other is read.
    fn read_blocks(&self, from: usize, dst: &mut [u8], kept: &Blocks) -> Result<()> {
        let h = &self.header;
        if h.content()? != blosc::Content::Blocks || h.extended() {
            return self.with_bytes(0..h.cbytes, |chunk| {
                blosc::decode_range(chunk, from, dst, 1)
            });
        }
        let decoder = blosc::BlockDecoder::new(h, None)?;
        let (index, skip) = (from / h.blocksize, from % h.blocksize);
        if dst.len() < h.block_len(index) && skip + dst.len() <= h.block_len(index) {
            return self.read_block(&decoder, index, skip, dst, kept);
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
                .ok_or_else(|| fail!(Range, "bytes beyond its end"))?;
            // writers put blocks where they are done: the next one in the file need not be the next
            // one
            let end = ends
                .get(ends.partition_point(|e| *e <= begin))
                .copied()
                .unwrap_or(h.cbytes);
            let (skip, len) = (at % h.blocksize, h.block_len(index));
            let (piece, behind) = rest.split_at_mut(len.saturating_sub(skip).min(rest.len()));
            if piece.len() == len {
                self.with_bytes(begin..end, |stored| {
                    decoder.decode(index, stored, None, piece)
                })?;
            } else {
                self.block_part(&decoder, index, begin..end, skip, piece)?;
            }
            at += piece.len();
            rest = behind;
        }
        Ok(())
    }

    /// Decodes a part of one block, from the block where it is kept.
    fn read_block(
        &self,
        decoder: &blosc::BlockDecoder,
        index: usize,
        skip: usize,
        dst: &mut [u8],
        kept: &Blocks,
    ) -> Result<()> {
        let (h, key) = (&self.header, (self.id, index));
        let len = h.block_len(index);
        let mut whole = kept.get(&key);
        if whole.is_none() {
            let mut start = [0; 4];
            self.with_bytes(h.len() + 4 * index..h.len() + 4 * index + 4, |bytes| {
                start.copy_from_slice(bytes);
                Ok(())
            })?;
            let begin = u32::from_le_bytes(start) as usize;
            if begin < h.len() + 4 * h.blocks() || begin >= h.cbytes {
                return Err(outside(index));
            }
            if len > LONGEST_KEPT || !self.lately.are_likely(index, skip, dst.len(), PARTS) {
                return self.block_part(decoder, index, begin..h.cbytes, skip, dst);
            }
            let mut block = alloc::zeroed(len)?;
            self.block_part(decoder, index, begin..h.cbytes, 0, &mut block)?;
            let block = Arc::from(block);
            kept.put(key, Arc::clone(&block), len);
            whole = Some(block);
        }
        let part = whole.as_ref().and_then(|w| w.get(skip..)?.get(..dst.len()));
        dst.copy_from_slice(part.ok_or_else(|| fail!(Range, "bytes beyond its end"))?);
        Ok(())
    }

    /// Decodes a part of a block whose bytes are in this range.
    fn block_part(
        &self,
        decoder: &blosc::BlockDecoder,
        index: usize,
        bytes: Range<usize>,
        skip: usize,
        dst: &mut [u8],
    ) -> Result<()> {
        let len = self.header.block_len(index);
        let near = read_buffer::Near::new(&*self.file, (HEADER.len() + bytes.end) as u64);
        let some = |r: Range<usize>, f: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let r = bytes.start + r.start..bytes.start + r.end;
            match self.at_hand(&r) {
                _ if r.end > bytes.end => {
                    Err(fail!(Format, "block {index} reaches out of its chunk"))
                }
                Some(bytes) => f(bytes),
                None => near.with_range((HEADER.len() + r.start) as u64, r.len(), self.limit, f),
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

/// Where blocks begin in their chunk.
fn starts(table: &[u8], h: &blosc::Header) -> Result<Vec<usize>> {
    let (table, earliest) = (table.as_chunks::<4>().0, h.len() + 4 * h.blocks());
    let mut starts = alloc::with_room(table.len() + 1)?;
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
