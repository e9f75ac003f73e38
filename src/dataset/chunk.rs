//! A file with one chunk, `__N.blp`: 16 bytes of header (magic, version 1, one chunk), a Blosc chunk, and maybe its
//! digest.
//!
//! The tools write the header and never look at it; here it must be right, for want of anything better that would
//! tell a damaged file. They also never look behind the chunk: there the digest is. One that is not there was left out by
//! another writer, and says nothing.
#![forbid(unsafe_code)]

use crate::blosc;
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::memory;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// What stands before the chunk.
pub const HEADER: [u8; 16] = *b"blpk\x01\0\0\0\x01\0\0\0\0\0\0\0";
/// The longest header of a chunk.
const CHUNK_HEADER: usize = 32;
/// Scratch that a thread keeps.
const KEPT: usize = 8 << 20;
/// A chunk of which less than one in so many bytes is wanted is not read whole.
const FEW: usize = 4;

/// An open chunk file.
pub struct ChunkFile {
    file: Arc<dyn File>,
    header: blosc::Header,
    /// Its digest is there.
    pub has_digest: bool,
    sum: Sum,
    limit: u64,
}

impl ChunkFile {
    /// Looks at the headers of an open file. `sum`: what its digest is, if it has one.
    pub fn open(file: Arc<dyn File>, sum: Sum, limit: u64) -> Result<ChunkFile> {
        let mut head = [0; HEADER.len() + CHUNK_HEADER];
        let n = file.read_at(0, &mut head)?;
        let short = || fail!(Format, "a header of {} bytes and that of a chunk were expected, the file has {n}", HEADER.len());
        let (own, chunk) = head.get(..n).and_then(|h| h.split_first_chunk::<16>()).ok_or_else(short)?;
        if *own != HEADER {
            return Err(fail!(Format, "it begins with {own:02x?}, not with {HEADER:02x?}"));
        }
        let header = blosc::Header::parse(chunk)?;
        let (end, size) = ((HEADER.len() + header.cbytes) as u64, file.size()?);
        if size < end {
            return Err(fail!(Format, "{end} bytes were expected, {size} are there"));
        }
        let behind = size - end;
        let digest = sum.size() as u64;
        if behind > 0 && behind < digest {
            return Err(fail!(Format, "{digest} bytes of a digest were expected, {behind} are there"));
        }
        Ok(ChunkFile { file, header, has_digest: digest > 0 && behind >= digest, sum, limit })
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> usize {
        self.header.nbytes
    }

    /// The header of the chunk.
    pub fn header(&self) -> blosc::Header {
        self.header
    }

    /// Decodes a range; the digest is checked where it is there and that is wished.
    pub fn read(&self, from: usize, dst: &mut [u8], verify: bool, threads: usize) -> Result<()> {
        memory::allow(self.header.blocksize as u64, self.limit, "a block of a chunk")?;
        let digest = if verify && self.has_digest { self.sum.size() } else { 0 };
        if digest == 0 && dst.len() < self.nbytes() / FEW && self.header.blocks() >= FEW {
            return self.read_blocks(from, dst);
        }
        self.with_bytes(0..self.header.cbytes + digest, |bytes| {
            let (chunk, stored) = bytes.split_at_checked(self.header.cbytes).unwrap_or_default();
            if digest > 0 && self.sum.of(chunk) != stored {
                return Err(fail!(Checksum, "its {:?} does not match what is stored", self.sum));
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
        thread_local!(static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        let (at, n) = (HEADER.len() + range.start, range.len());
        if let Some(bytes) = self.file.bytes().and_then(|b| b.get(at..)?.get(..n)) {
            return f(bytes);
        }
        memory::allow(n as u64, self.limit, "a stored chunk")?;
        let mut scratch = SCRATCH.with(|s| s.try_borrow_mut().map(|mut s| std::mem::take(&mut *s)).unwrap_or_default());
        if scratch.len() < n {
            scratch = memory::zeroed(n.next_power_of_two())?;
        }
        let bytes = scratch.get_mut(..n).unwrap_or_default();
        let result = self.file.read_exact_at(at as u64, bytes).and_then(|()| f(bytes));
        if scratch.len() <= KEPT {
            SCRATCH.with(|s| _ = s.try_borrow_mut().map(|mut s| *s = scratch));
        }
        result
    }

    /// Decodes a range from its own blocks: no other is read.
    fn read_blocks(&self, from: usize, dst: &mut [u8]) -> Result<()> {
        let h = &self.header;
        if h.content()? != blosc::Content::Blocks || h.extended() {
            return self.with_bytes(0..h.cbytes, |chunk| blosc::decode_range(chunk, from, dst, 1));
        }
        let decoder = blosc::BlockDecoder::new(h, None)?;
        let starts = self.with_bytes(h.len()..h.len() + 4 * h.blocks(), |table| starts(table, h))?;
        let mut ends = starts.clone();
        ends.push(h.cbytes);
        ends.sort_unstable();
        let (mut at, mut rest) = (from, dst);
        while !rest.is_empty() {
            let index = at / h.blocksize;
            let begin = *starts.get(index).ok_or_else(|| fail!(Range, "bytes beyond its end"))?;
            // writers put blocks where they are done: the next one in the file need not be the next one
            let end = ends.get(ends.partition_point(|e| *e <= begin)).copied().unwrap_or(h.cbytes);
            let (skip, len) = (at % h.blocksize, h.block_len(index));
            let (piece, behind) = rest.split_at_mut(len.saturating_sub(skip).min(rest.len()));
            self.with_bytes(begin..end, |stored| {
                if piece.len() == len {
                    return decoder.decode(index, stored, None, piece);
                }
                let mut block = memory::zeroed(len)?;
                decoder.decode(index, stored, None, &mut block)?;
                piece.copy_from_slice(block.get(skip..).and_then(|b| b.get(..piece.len())).unwrap_or_default());
                Ok(())
            })?;
            at += piece.len();
            rest = behind;
        }
        Ok(())
    }
}

/// Where blocks begin in their chunk.
fn starts(table: &[u8], h: &blosc::Header) -> Result<Vec<usize>> {
    let (table, earliest) = (table.as_chunks::<4>().0, h.len() + 4 * h.blocks());
    let mut starts = memory::with_room(table.len() + 1)?;
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
