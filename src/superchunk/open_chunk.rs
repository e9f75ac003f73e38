//! An open chunk of a file, and the cache of open chunks.
#![forbid(unsafe_code)]

use crate::alloc::Scratch;
use crate::blosc::stored::StoredChunk;
use crate::cache::{CacheBudget, LruCache};
use crate::error::Result;
use crate::io::File;
use crate::superchunk::block_checksums::BlockChecksums;
use crate::superchunk::chunk_in_file::ChunkInFile;
use std::sync::Arc;

/// The longest chunk whose stored bytes are cached with it.
const MAX_CACHED_CHUNK: usize = 16 << 10;
/// Memory limit for all open chunks that are cached in the process.
static TABLE_BUDGET: CacheBudget = CacheBudget::new(32 << 20);

/// LRU cache of open chunks, by offset or file number.
pub type ChunkCache = LruCache<u64, Arc<Chunk>>;

/// Creates an empty cache. It is small if chunks are files, because each open chunk holds a file
/// descriptor.
pub fn open_chunks(are_files: bool) -> ChunkCache {
    LruCache::new(if are_files { 16 } else { 512 }, &TABLE_BUDGET)
}

/// Returns the bytes at an offset of a file, of which none is read or verified.
fn unverified(file: &Arc<dyn File>, at: u64, limit: u64) -> ChunkInFile<'_> {
    ChunkInFile {
        file: &**file,
        at,
        first: &[],
        limit,
        checksums: None,
    }
}

/// An open chunk.
pub struct Chunk {
    file: Arc<dyn File>,
    /// Its offset in the file.
    at: u64,
    /// Its header and block table.
    pub stored: StoredChunk,
    /// All stored bytes, if they are few.
    cached: Option<Vec<u8>>,
    /// The checksums of its blocks, if it is not verified as a whole.
    pub checksums: Option<BlockChecksums>,
    limit: u64,
}

impl Chunk {
    /// Opens the chunk of at most `room` bytes at offset `at`. Reads its first `n` bytes, or more if
    /// the block table is longer, and returns them too unless they are in memory.
    pub fn open(
        file: &Arc<dyn File>,
        at: u64,
        room: u64,
        n: usize,
        limit: u64,
    ) -> Result<(Chunk, Option<Scratch>)> {
        let source = unverified(file, at, limit);
        let (stored, first) = StoredChunk::open(&source, room, n, limit)?;
        let chunk = Chunk::new(file, at, stored, &first, limit);
        Ok((chunk, first.into_scratch()))
    }

    /// Opens a chunk of this length and CRC-32, if it has one there. Its blocks are verified when they are read. Returns none if
    /// only the complete chunk can be verified.
    pub fn open_for_blocks(
        file: &Arc<dyn File>,
        at: u64,
        (cbytes, crc): (usize, Option<u32>),
        n: usize,
        limit: u64,
    ) -> Result<Option<Chunk>> {
        let source = unverified(file, at, limit);
        let (stored, first) = StoredChunk::open(&source, cbytes as u64, n, limit)?;
        if stored.header().cbytes != cbytes {
            return Ok(None);
        }
        let checksums = BlockChecksums::read(&stored, &first, &source, crc)?;
        Ok(checksums.map(|checksums| Chunk {
            checksums: Some(checksums),
            ..Chunk::new(file, at, stored, &first, limit)
        }))
    }

    /// Parses a chunk from its bytes. Returns none if there are too few.
    pub fn parse(file: &Arc<dyn File>, at: u64, bytes: &[u8], limit: u64) -> Result<Option<Chunk>> {
        let stored = StoredChunk::parse(bytes, limit)?;
        Ok(stored.map(|stored| Chunk::new(file, at, stored, bytes, limit)))
    }

    fn new(file: &Arc<dyn File>, at: u64, stored: StoredChunk, first: &[u8], limit: u64) -> Chunk {
        let all = first.get(..stored.header().cbytes);
        let cached = all.filter(|all| all.len() <= MAX_CACHED_CHUNK && stored.fill().is_none());
        Chunk {
            file: file.clone(),
            at,
            cached: cached.map(<[u8]>::to_vec),
            checksums: None,
            stored,
            limit,
        }
    }

    /// Returns the bytes of the chunk. `first` are its first bytes, if they were just read.
    pub fn source<'a>(&'a self, first: Option<&'a [u8]>) -> ChunkInFile<'a> {
        ChunkInFile {
            file: &*self.file,
            at: self.at,
            first: first.or(self.cached.as_deref()).unwrap_or_default(),
            limit: self.limit,
            checksums: self.checksums.as_ref(),
        }
    }

    /// Returns the memory that caching the chunk takes.
    pub fn cost(&self) -> usize {
        let checksums = self.checksums.as_ref().map_or(0, BlockChecksums::allocated);
        let cached = self.cached.as_ref().map_or(0, Vec::len);
        size_of::<Chunk>() + self.stored.allocated() + checksums + cached
    }
}

/// A chunk that was opened for one call.
pub struct OpenChunk {
    /// The chunk.
    pub chunk: Arc<Chunk>,
    /// Its first bytes, if they were just read into a buffer.
    pub first: Option<Scratch>,
}

impl OpenChunk {
    /// Returns the bytes of the chunk.
    pub fn source(&self) -> ChunkInFile<'_> {
        self.chunk.source(self.first.as_deref())
    }
}
