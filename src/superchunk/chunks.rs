//! The interface between multidimensional arrays and the storage of their chunks.
//!
//! All chunks have one content size, and all blocks of a chunk have one size. The array knows the
//! position of every item; an implementation of [`Chunks`] knows where the bytes are stored. A
//! block is the unit of decoding, and a chunk is the unit of writing. Rewriting a chunk copies
//! unchanged blocks in their encoded form.
#![forbid(unsafe_code)]

pub use crate::blosc::stored::{Fill, Sink};
use crate::error::Result;
use crate::parallel;

/// A part of a chunk that will be read.
pub struct ChunkRequest {
    /// The chunk.
    pub chunk: u64,
    /// Blocks of it, in ascending order.
    pub blocks: Vec<usize>,
    /// Whether one call reads all of them, completely, or each call some items.
    pub at_once: bool,
}

/// A sequence of chunks that many threads may read and one thread may change.
#[allow(clippy::len_without_is_empty)] // public only for tests
pub trait Chunks: Send + Sync {
    /// Returns the path of the file or folder, for error messages.
    fn name(&self) -> &str;
    /// Returns the number of chunks.
    fn len(&self) -> u64;
    /// Returns the content size of a block in bytes. The last block of a chunk is shorter if the
    /// block size does not divide the chunk size.
    fn block_bytes(&self) -> usize;
    /// Returns the number of threads that a call may use.
    fn threads(&self) -> usize;

    /// Returns the value of all items of `chunk` if that is known without decoding.
    fn fill(&self, chunk: u64) -> Result<Option<Fill>>;
    /// Decodes blocks of one chunk. `requested` must be strictly ascending. Blocks that are
    /// adjacent in the file are read together. Returns true if corrupt blocks were replaced by
    /// zeros, as the options allow.
    fn read_blocks(&self, chunk: u64, requested: &[usize], sink: &mut dyn Sink) -> Result<bool>;
    /// Returns whether a block is cached, so that reading it copies memory.
    fn is_cached(&self, _chunk: u64, _block: usize) -> bool {
        false
    }
    /// Returns whether each read of the storage is a request, so that [`Chunks::read_ahead`] fetches
    /// what many of them need.
    fn is_remote(&self) -> bool {
        false
    }
    /// Hints that parts of several chunks will be read. The system begins to read them together, if
    /// the first is not in the page cache. Takes no further requests if it is. Remote storage fetches
    /// them.
    fn read_ahead(&self, _requests: &mut dyn Iterator<Item = ChunkRequest>) {}
    /// Reads a part of one block, also of a chunk that is stored as a fill value. Caches the block
    /// if more of it is likely to be requested.
    fn read_part(&self, chunk: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool>;

    /// Encodes chunk `chunk`, or a new chunk after the last one. Changes nothing; several threads
    /// may call this at once.
    fn encode(&self, chunk: u64, source: &dyn Source, threads: usize) -> Result<Encoded>;
    /// Replaces chunk `chunk` by `new`, or appends `new` if `chunk` equals the number of chunks.
    fn put(&mut self, chunk: u64, new: Encoded) -> Result<()>;
    /// Encodes `coming` on up to `threads` threads and stores the results in order, with
    /// [`put_in_batches`] or a faster implementation.
    fn put_all(&mut self, threads: usize, coming: Vec<PendingChunk>) -> Result<()>;
    /// Returns an error if the storage cannot have `_len` chunks.
    fn can_have(&self, _len: u64) -> Result<()> {
        Ok(())
    }
    /// Changes the number of chunks to `len`. `from` gives the old index of each new chunk, or
    /// `None` for a chunk of zeros.
    fn rearrange(&mut self, len: u64, from: &dyn Fn(u64) -> Option<u64>) -> Result<()>;
}

/// How a block changes when its chunk is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockChange {
    /// The block keeps its encoded bytes.
    Unchanged,
    /// Some items of the block change.
    Partial,
    /// All items of the block change.
    Full,
}

/// The new content of a chunk.
pub trait Source: Sync {
    /// Returns how `block` changes.
    fn change(&self, block: usize) -> BlockChange;
    /// Returns the complete new content of a block of `_len` bytes if it is contiguous in memory.
    fn borrowed(&self, _block: usize, _len: usize) -> Option<&[u8]> {
        None
    }
    /// Writes the new items into `content`, which holds the old content. For [`BlockChange::Full`],
    /// `content` may hold anything and every byte is overwritten.
    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()>;
}

/// Encodes a chunk on the given number of threads; `None` leaves the chunk unchanged.
pub type EncodeJob<'a> = Box<dyn Fn(&dyn Chunks, usize) -> Result<Option<Encoded>> + Send + 'a>;

/// A chunk that [`Chunks::put_all`] encodes and stores.
pub struct PendingChunk<'a> {
    /// The index of the chunk to replace; `None` appends.
    pub chunk: Option<u64>,
    /// How the chunk is produced.
    pub work: ChunkWork<'a>,
}

/// How a pending chunk is produced.
pub enum ChunkWork<'a> {
    /// A fill value; nothing is encoded.
    Fill(Fill),
    /// An encoding job.
    Job(EncodeJob<'a>),
}

impl ChunkWork<'_> {
    /// Produces the chunk on up to `threads` threads.
    pub fn run(&self, chunks: &dyn Chunks, threads: usize) -> Result<Option<Encoded>> {
        match self {
            ChunkWork::Fill(fill) => Ok(Some(Encoded::Fill(fill.clone()))),
            ChunkWork::Job(job) => job(chunks, threads),
        }
    }
}

/// Returns the number of chunks that need encoding.
pub fn jobs(coming: &[PendingChunk]) -> usize {
    coming
        .iter()
        .filter(|c| matches!(c.work, ChunkWork::Job(_)))
        .count()
}

/// Encodes chunks in batches and stores each batch. On failure, the chunks before the failed one
/// are stored.
pub fn put_in_batches(
    chunks: &mut dyn Chunks,
    threads: usize,
    mut coming: Vec<PendingChunk>,
) -> Result<()> {
    let inside = if jobs(&coming) == 1 { threads } else { 1 };
    while !coming.is_empty() {
        let some = coming.drain(..coming.len().min(2 * threads.max(1)));
        let mut made: Vec<(PendingChunk, Result<Option<Encoded>>)> =
            some.map(|c| (c, Ok(None))).collect();
        let shared = &*chunks;
        parallel::for_each_without_nesting(
            threads,
            made.iter_mut().collect(),
            |(coming, made): &mut (PendingChunk, _)| *made = coming.work.run(shared, inside),
        );
        for (coming, made) in made {
            if let Some(new) = made? {
                chunks.put(coming.chunk.unwrap_or(chunks.len()), new)?;
            }
        }
    }
    Ok(())
}

/// A chunk in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// All of the chunk is one byte or item value, or was never written. It takes no space.
    Fill(Fill),
    /// A Blosc chunk.
    Stored(Vec<u8>),
}
