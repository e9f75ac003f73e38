//! The chunks of a file with the uniform mark, of which only the offsets in use are read.
//!
//! The header gives the content range of each chunk, and two adjacent offsets its bytes. Reading a
//! chunk verifies that its own header has these sizes.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::header::{ENTRY, Header};
use super::located_chunk::{BLOSC_HEADER, LocatedChunk};
use super::uniform_mark;
use crate::alloc;
use crate::cache::{CacheBudget, LruCache};
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::io::File;
use std::ops::Range;
use std::sync::Arc;

/// Number of chunks on a page.
const PAGE: u64 = if cfg!(any(test, fuzzing)) { 3 } else { 64 };
/// Pages that a file caches, and the memory limit for the pages of all files.
const CACHED_PAGES: usize = 64;
static BUDGET: CacheBudget = CacheBudget::new(32 << 20);

/// The chunks of a file, located on demand.
pub struct UniformChunks {
    file: Arc<dyn File>,
    count: u64,
    nbytes: u64,
    chunk_size: u32,
    last_chunk: u32,
    checksum: Checksum,
    offsets_at: u64,
    /// The bytes of all chunks with their checksums.
    stored: Range<u64>,
    /// The typesize of the first chunk.
    pub typesize: u8,
    /// The offsets of the chunks on a page, and the end of the last one of them.
    pages: LruCache<u64, Arc<[u64]>>,
}

impl UniformChunks {
    /// Opens the chunks of a file of `size` bytes. Returns `None` if it has no mark, or if first
    /// and last chunk are not where the header and the size of the file expect them.
    pub fn open(file: &Arc<dyn File>, header: &Header, size: u64) -> Result<Option<UniformChunks>> {
        let (Some(count), Some(chunk_size), Some(last_chunk)) =
            (header.nchunks, header.chunk_size, header.last_chunk)
        else {
            return Ok(None);
        };
        let nbytes = (count.saturating_sub(1))
            .checked_mul(chunk_size.into())
            .and_then(|n| n.checked_add(last_chunk.into()));
        let plausible =
            0 < last_chunk && last_chunk <= chunk_size && usize::try_from(count).is_ok();
        let Some(nbytes) = nbytes.filter(|_| plausible) else {
            return Ok(None);
        };
        if !uniform_mark::is_set(&**file, header)? {
            return Ok(None);
        }
        let mut chunks = UniformChunks {
            file: file.clone(),
            count,
            nbytes,
            chunk_size,
            last_chunk,
            checksum: header.checksum,
            offsets_at: header.offsets_at(),
            stored: header.chunks_at()..size,
            typesize: 1,
            pages: LruCache::new(CACHED_PAGES, &BUDGET),
        };
        let [first, last] = [chunks.end_chunk(0)?, chunks.end_chunk(count - 1)?];
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(None);
        };
        let end = last.end(header.checksum);
        // bytes after the last chunk may be another chunk if they have a header
        let after = size.checked_sub(end).filter(|n| *n < BLOSC_HEADER as u64);
        if first.at != header.chunks_at() || after.is_none() {
            return Ok(None);
        }
        chunks.stored.end = end;
        chunks.typesize = first.typesize.max(1);
        Ok(Some(chunks))
    }

    /// Returns the first or the last chunk, if its header has the expected content size.
    fn end_chunk(&self, i: u64) -> Result<Option<LocatedChunk>> {
        let mut entry = [0; ENTRY as usize];
        self.file
            .read_exact_at(self.offsets_at + i * ENTRY, &mut entry)?;
        let chunk = self.chunk_at(u64::from_le_bytes(entry))?;
        Ok(chunk.filter(|c| c.nbytes == self.content_size(i)))
    }

    fn chunk_at(&self, at: u64) -> Result<Option<LocatedChunk>> {
        let mut header = [0; BLOSC_HEADER];
        if !self.stored.contains(&at) || self.file.read_at(at, &mut header)? < BLOSC_HEADER {
            return Ok(None);
        }
        Ok(LocatedChunk::parse(at, &header))
    }

    /// Returns the end of the last chunk in the file.
    pub fn end(&self) -> u64 {
        self.stored.end
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns the number of bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// Returns the content range of chunk `i`.
    pub fn span(&self, i: usize) -> Range<u64> {
        let at = |i: u64| i.saturating_mul(self.chunk_size.into()).min(self.nbytes);
        at(i as u64)..at((i as u64).saturating_add(1))
    }

    /// Returns the chunks that overlap the content range `bytes`.
    pub fn holding(&self, bytes: Range<u64>) -> Range<usize> {
        if bytes.is_empty() {
            return 0..0;
        }
        let size = u64::from(self.chunk_size);
        let end = bytes.end.div_ceil(size).min(self.count);
        (bytes.start / size).min(end) as usize..end as usize
    }

    /// Returns the location of chunk `i`. Its flags are not known.
    pub fn slot(&self, i: usize) -> Result<ChunkSlot> {
        let i = i as u64;
        let page = self.page(i / PAGE)?;
        let ends = page.get((i % PAGE) as usize..).unwrap_or_default();
        let [at, end, ..] = *ends else {
            return Err(fail!(Range, "chunk {i}: there are {}", self.count).at(i));
        };
        let room = end.checked_sub(at).filter(|_| at >= self.stored.start);
        let room = room.filter(|_| end <= self.stored.end);
        let cbytes = room.and_then(|n| n.checked_sub(self.checksum.size() as u64));
        let cbytes = cbytes.and_then(|n| i32::try_from(n).ok());
        let Some(cbytes) = cbytes.filter(|n| *n as usize >= BLOSC_HEADER) else {
            return Err(fail!(
                Format,
                "offsets: chunk {i} is at {at}, and the next one at {end} (expected between {} and {})",
                self.stored.start,
                self.stored.end
            )
            .at(i));
        };
        Ok(ChunkSlot {
            location: ChunkLocation::Main(at),
            cbytes: cbytes as u32,
            nbytes: self.content_size(i),
            flags: 0,
            spare: 0,
        })
    }

    /// Returns the location of chunk `i` with the flags in its header.
    pub fn slot_with_flags(&self, i: usize) -> Result<ChunkSlot> {
        let slot = self.slot(i)?;
        let found = match slot.location {
            ChunkLocation::Main(at) => self.chunk_at(at)?,
            _ => None,
        };
        let found = found.filter(|c| (c.cbytes, c.nbytes) == (slot.cbytes, slot.nbytes));
        let flags = found.map(|c| c.flags).ok_or_else(|| {
            fail!(Format, "chunk {i}: its header differs from the offsets").at(i as u64)
        })?;
        Ok(ChunkSlot { flags, ..slot })
    }

    fn content_size(&self, i: u64) -> u32 {
        if i + 1 == self.count {
            self.last_chunk
        } else {
            self.chunk_size
        }
    }

    fn page(&self, number: u64) -> Result<Arc<[u64]>> {
        if let Some(page) = self.pages.get(&number) {
            return Ok(page);
        }
        let first = number.saturating_mul(PAGE).min(self.count);
        // with the offset of the chunk after the page
        let n = (self.count - first).min(PAGE + 1) as usize;
        let mut bytes = alloc::zeroed(n * ENTRY as usize)?;
        self.file
            .read_exact_at(self.offsets_at + first * ENTRY, &mut bytes)?;
        let offsets = bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b));
        let end = (first + n as u64 == self.count).then_some(self.stored.end);
        let page: Arc<[u64]> = offsets.chain(end).collect();
        self.pages.put(number, page.clone(), size_of_val(&*page));
        Ok(page)
    }
}
