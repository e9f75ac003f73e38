//! Chunks of one length, each made of blocks of one length: what arrays of any number of dimensions
//! are made of.
//!
//! The array knows where items are; behind this is what holds the bytes. A block is the least that
//! is decoded, and a chunk the least that is written; of a chunk that is made anew, the blocks that
//! nobody touches stay as they are stored.
#![forbid(unsafe_code)]

use crate::blosc::Decoded;
use crate::error::Result;
use crate::parallel;
use std::ops::Range;
use std::sync::Arc;

/// A run of chunks, to be read by many threads, and changed by one.
pub trait Chunks: Send + Sync {
    /// Its file or folder, for messages.
    fn name(&self) -> &str;
    /// How many chunks.
    fn len(&self) -> u64;
    /// None?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of content of every chunk.
    fn chunk_bytes(&self) -> usize;
    /// Bytes of content of every block, but the last of a chunk where they do not divide it.
    fn block_bytes(&self) -> usize;
    /// Threads that a call may use.
    fn threads(&self) -> usize;

    /// What all items of a chunk are, where nothing needs to be decoded for them.
    fn fill(&self, chunk: u64) -> Result<Option<Fill>>;
    /// Decodes blocks of one chunk, each once; `wanted` rises. Those that lie together in the file
    /// are read together. True: some were damaged, and are zeros, as was wished.
    fn read_blocks(&self, chunk: u64, wanted: &[usize], sink: &mut dyn Sink) -> Result<bool>;
    /// Reads a part of one block, of any chunk, filled ones too. It is kept for the next call where
    /// more of it is likely to be wanted.
    fn read_part(&self, chunk: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool>;

    /// Makes a chunk anew, or one more behind the last: nothing is changed yet, and several threads
    /// may do this at once.
    fn encode(&self, chunk: u64, source: &dyn Source, threads: usize) -> Result<Encoded>;
    /// Puts it in its place, or behind the last.
    fn put(&mut self, chunk: u64, new: Encoded) -> Result<()>;
    /// Makes several, on so many threads, and puts each in its place in this order:
    /// [`put_in_turn`], or something faster.
    fn put_all(&mut self, threads: usize, coming: Vec<Coming>) -> Result<()>;
    /// Refuses a number of chunks that it can never have.
    fn can_have(&self, _len: u64) -> Result<()> {
        Ok(())
    }
    /// Makes it `len` chunks: which one stands where now, or one of zeros.
    fn rearrange(&mut self, len: u64, from: &dyn Fn(u64) -> Option<u64>) -> Result<()>;
}

/// What all items of a chunk are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    Zeros,
    /// These bytes.
    Item(Arc<[u8]>),
}

impl Fill {
    /// Is this the same for each item of so many bytes, wherever it is?
    pub fn is_of_items(&self, item: usize) -> bool {
        match self {
            Fill::Zeros => true,
            Fill::Item(bytes) => item.is_multiple_of(bytes.len()),
        }
    }
}

/// Where decoded blocks go.
pub trait Sink {
    /// Where all of a block belongs, if that is one run of bytes that has its length: it is decoded
    /// there.
    fn place(&mut self, block: usize) -> Option<&mut [u8]>;
    /// From where to where the content of another one is looked at: what is before and behind may
    /// be anything.
    fn wanted(&mut self, _block: usize, len: usize) -> Range<usize> {
        0..len
    }
    /// Takes the content of another one.
    fn put(&mut self, block: usize, content: &Decoded) -> Result<()>;
}

/// How a block of a chunk is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It stays as it is stored.
    Kept,
    /// Some of its items are new.
    Part,
    /// All of it is new.
    Whole,
}

/// Where the content of a chunk comes from.
pub trait Source: Sync {
    /// What happens to a block.
    fn touch(&self, block: usize) -> Touch;
    /// All of a block of so many bytes, if that is new and lies somewhere as it is going to be.
    fn lent(&self, _block: usize, _len: usize) -> Option<&[u8]> {
        None
    }
    /// Puts in what is new, into what was there; where all is new, that may be anything, and each
    /// byte is put in.
    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()>;
}

/// What makes a chunk anew, on so many threads, or leaves it as it is.
pub type Job<'a> = Box<dyn Fn(&dyn Chunks, usize) -> Result<Option<Encoded>> + Send + 'a>;

/// A chunk that is going to be put.
pub struct Coming<'a> {
    /// In whose place; none: behind the last.
    pub chunk: Option<u64>,
    /// What makes it.
    pub work: Work<'a>,
}

/// What has to be done for a chunk.
pub enum Work<'a> {
    /// Nothing: it is all the same.
    Fill(Fill),
    /// This.
    Job(Job<'a>),
}

impl Work<'_> {
    /// Does it, on so many threads.
    pub fn done(&self, chunks: &dyn Chunks, threads: usize) -> Result<Option<Encoded>> {
        match self {
            Work::Fill(fill) => Ok(Some(Encoded::Fill(fill.clone()))),
            Work::Job(job) => job(chunks, threads),
        }
    }
}

/// How many of these take work.
pub fn jobs(coming: &[Coming]) -> usize {
    coming
        .iter()
        .filter(|c| matches!(c.work, Work::Job(_)))
        .count()
}

/// Makes some of them at a time, and then puts these. On failure those before it are put.
pub fn put_in_turn(chunks: &mut dyn Chunks, threads: usize, mut coming: Vec<Coming>) -> Result<()> {
    let inside = if jobs(&coming) == 1 { threads } else { 1 };
    while !coming.is_empty() {
        let some = coming.drain(..coming.len().min(2 * threads.max(1)));
        let mut made: Vec<(Coming, Result<Option<Encoded>>)> =
            some.map(|c| (c, Ok(None))).collect();
        let shared = &*chunks;
        parallel::for_each_alone(
            threads,
            made.iter_mut().collect(),
            |(coming, made): &mut (Coming, _)| *made = coming.work.done(shared, inside),
        );
        for (coming, made) in made {
            if let Some(new) = made? {
                chunks.put(coming.chunk.unwrap_or(chunks.len()), new)?;
            }
        }
    }
    Ok(())
}

/// A chunk as it is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// It takes no room: all of it is one byte or item, or was never written.
    Fill(Fill),
    /// A Blosc chunk.
    Stored(Vec<u8>),
}
