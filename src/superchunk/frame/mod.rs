//! c-blosc2 frames: chunks of equal or variable length, an index with the position of each chunk,
//! and metadata, in one file (contiguous) or in a folder with one file per chunk (sparse).
//!
//! - [`header`], [`metalayers`], [`index`], [`trailer`]: parse and encode the parts of a frame;
//!   encoding a parsed part gives the same bytes.
//! - `checksums`: the metalayer with the checksums of the chunks.
//! - [`part_checksum`]: the CRC-32s that detect corruption of header, index and trailer.
//! - `recover`, with `scan`, `byte_correction`, `patched_file`: reconstructs header, index and
//!   trailer of a corrupt frame.
//! - [`storage`], [`entry`], [`chunk`]: the files of a frame, the metadata of a chunk that is not
//!   open, and an open chunk.
//! - `paged`: the entries of a long frame, loaded page by page on demand.
//! - `open`, `read`, `verify`, `encode`, `write`, `write_parallel`, `edit`, `meta`, `create`,
//!   `commit`, `copy`, `repair`: the operations of a [`Frame`].
//! - `detect`: distinguishes frames from other formats.
//! - `chunks`: implements the `Chunks` trait, through which arrays use a frame.
//!
//! A writer never overwrites committed data, except the header. It writes new chunks after all
//! committed data; they become visible with the header of the next commit.
#![forbid(unsafe_code)]

mod byte_correction;
mod checksums;
pub mod chunk;
mod chunks;
mod commit;
mod copy;
mod create;
mod detect;
mod edit;
mod encode;
pub mod entry;
pub mod header;
pub mod index;
mod meta;
pub mod metalayers;
mod msgpack;
mod open;
mod paged;
pub mod part_checksum;
mod patched_file;
mod read;
mod recover;
mod repair;
mod scan;
pub mod storage;
#[cfg(test)]
mod tests;
pub mod trailer;
mod verify;
mod write;
mod write_parallel;

pub use create::NewFrame;
pub use detect::{header_at, is_at, is_frame, take_requested_params};
pub use repair::repair;
#[cfg(any(test, feature = "internals"))]
pub use repair::repair_in;

use crate::blosc::Params;
use crate::blosc::stored::BlockCache;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::io::journal::Session;
use crate::options::Options;
use crate::parallel::Threads;
use crate::progress::Progress;
use crate::superchunk::buffer_pool::BufferPool;
use chunk::ChunkCache;
use entry::Entry;
use header::Header;
use meta::Variable;
use paged::{EntryRef, PagedEntries};
use std::ops::Range;
use std::sync::Arc;
use storage::FrameStorage;

/// An open frame. It sees its own changes at once; other handles see them after the commit.
pub struct Frame {
    storage: FrameStorage,
    name: String,
    /// The current header. A commit sets the fields that are known only then.
    header: Header,
    entries: Vec<Entry>,
    /// Replaces `entries` in a frame that is open for reading and loads its entries on demand.
    paged: Option<Box<PagedEntries>>,
    /// The content offset of each chunk, and the end of the last one. Set if chunks have variable
    /// length.
    starts: Option<Vec<u64>>,
    /// Variable-length metalayers, without the one that holds the checksums.
    vlmeta: Vec<Variable>,
    /// Does the frame store checksums of its chunks?
    checksums: bool,
    /// Is a checksum mismatch corruption? False if another writer may have replaced chunks without
    /// updating the checksums.
    checksums_trusted: bool,
    /// Corruption or loss outside of the chunks. Commits are refused while there is any.
    corruption: Vec<Error>,
    /// Was the header lost, with its metalayers?
    header_lost: bool,
    /// Content after the last chunk that is not encoded yet.
    pending: Vec<u8>,
    /// The file with header, index and trailer. In a contiguous frame it holds the chunks too.
    file: Option<Arc<dyn File>>,
    /// The offset of the frame in `file`, and the offset where its header ends.
    at: u64,
    base: u64,
    /// The end of the used bytes, relative to `base`.
    next: u64,
    /// The state of the last commit, or the state that was found on opening.
    last: Committed,
    open_chunks: ChunkCache,
    blocks: BlockCache,
    params: Result<Params>,
    threads: Threads,
    verify: bool,
    skip_damaged: bool,
    memory_limit: u64,
    writing: WriterState,
    options: Options,
    /// None if the frame is open for reading.
    // Must be the last field: the lock must outlive the cleanup of the other fields.
    session: Option<Session>,
}

/// The state of a writer.
#[derive(Default)]
struct WriterState {
    /// Is there anything to commit?
    changed: bool,
    /// Bytes before this offset, relative to `base`, must not be overwritten.
    committed: u64,
    /// The number of the next chunk file.
    number: u64,
    /// Numbers of the chunk files that were written and not committed.
    uncommitted: Vec<u64>,
    /// Numbers of the chunk files of the last commit, in ascending order. Before the first commit
    /// of this handle: all chunk files in the folder.
    files: Vec<u64>,
    buffers: BufferPool,
}

/// The file as it was found. Compared later to detect changes by other writers.
#[derive(Default)]
struct Committed {
    header: Vec<u8>,
    /// The last bytes of the trailer, and their offset.
    tail: Vec<u8>,
    tail_at: u64,
    /// Size and modification time of the file.
    stamp: (u64, u64),
    /// Size and modification time may change: writers of this library only append to committed
    /// data.
    may_grow: bool,
}

impl Frame {
    /// Returns the file or folder name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of chunks, including those that are not encoded yet.
    pub fn chunks(&self) -> u64 {
        self.stored_chunks() + self.pending.len().div_ceil(self.chunk_bytes().max(1)) as u64
    }

    /// Returns the number of encoded chunks.
    fn stored_chunks(&self) -> u64 {
        self.paged
            .as_ref()
            .map_or(self.entries.len() as u64, |paged| paged.len())
    }

    /// Returns the number of content bytes that are not encoded yet.
    pub fn pending_bytes(&self) -> u64 {
        self.pending.len() as u64
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<&Progress> {
        self.options.progress()
    }

    /// Is chunk `i` not encoded yet?
    pub fn is_pending(&self, i: u64) -> bool {
        i >= self.stored_chunks()
    }

    /// Returns the number of content bytes.
    pub fn nbytes(&self) -> u64 {
        self.header.nbytes + self.pending.len() as u64
    }

    /// Returns the size of the file; in a sparse frame, the size of the index file and the chunk
    /// files.
    pub fn cbytes(&self) -> Result<u64> {
        let Some(file) = &self.file else { return Ok(0) };
        let size = file.size()?.saturating_sub(self.at);
        Ok(if self.storage.sparse {
            size.saturating_add(self.chunk_files().unwrap_or(self.header.cbytes))
        } else {
            size
        })
    }

    /// Returns the total size of all stored chunks, if it is known without opening them.
    fn chunk_files(&self) -> Option<u64> {
        let stored = self.entries.iter().filter(|e| e.position().is_some());
        stored
            .map(|e| e.length(self.checksums_trusted).map(u64::from))
            .try_fold(0u64, |n, of_it| Some(n.saturating_add(of_it?)))
    }

    /// Returns the content bytes of each chunk except the last; 0 if chunks have variable length.
    pub fn chunk_bytes(&self) -> usize {
        if self.starts.is_some() {
            0
        } else {
            self.header.chunksize as usize
        }
    }

    /// Returns the content bytes of each block according to the header; 0 if the header does not
    /// state them.
    pub fn block_bytes(&self) -> usize {
        self.header.blocksize as usize
    }

    /// Returns the number of bytes of an item.
    pub fn typesize(&self) -> usize {
        self.header.typesize as usize
    }

    /// Returns the error of a header that is lost together with all its metalayers.
    pub fn lost_header(&self) -> Option<&Error> {
        self.corruption.first().filter(|_| self.header_lost)
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns whether it is a folder with one file per chunk.
    pub fn is_sparse(&self) -> bool {
        self.storage.sparse
    }

    /// Returns the parameters with which new chunks are encoded.
    pub fn params(&self) -> Result<&Params> {
        self.params
            .as_ref()
            .map_err(|e| e.clone().within(&self.name))
    }

    /// Does the frame store checksums of its chunks?
    pub fn has_checksums(&self) -> bool {
        self.checksums
    }

    /// Returns the number of threads that may read and write the files. It is 1 for storage that
    /// the caller implements, unless the thread option is given: a callback may wait for a lock
    /// that the caller holds.
    pub fn file_threads(&self) -> usize {
        let foreign = self.storage.folder.is_foreign();
        if foreign && self.options.given(crate::options::Opt::Threads).is_none() {
            1
        } else {
            self.threads.count()
        }
    }

    /// Returns the content range of a chunk.
    pub fn span(&self, i: u64) -> Result<Range<u64>> {
        let none = || {
            fail!(
                Range,
                "{}: chunk {i} is out of range (there are {})",
                self.name,
                self.chunks()
            )
            .at(i)
        };
        let (begin, end) = match &self.starts {
            Some(starts) => {
                let at = |i: u64| usize::try_from(i).ok().and_then(|i| starts.get(i)).copied();
                (at(i), i.checked_add(1).and_then(at))
            }
            None => {
                let size = u64::from(self.header.chunksize);
                let begin = i.checked_mul(size).filter(|_| i < self.chunks());
                (
                    begin,
                    begin.map(|b| b.saturating_add(size).min(self.nbytes())),
                )
            }
        };
        begin
            .zip(end)
            .filter(|(b, e)| b <= e)
            .map(|(b, e)| b..e)
            .ok_or_else(none)
    }

    /// Returns the chunks that overlap a content range.
    fn chunks_overlapping(&self, bytes: &Range<u64>) -> Range<u64> {
        if bytes.is_empty() {
            return 0..0;
        }
        match &self.starts {
            Some(starts) => {
                let first = starts
                    .partition_point(|s| *s <= bytes.start)
                    .saturating_sub(1);
                first as u64..starts.partition_point(|s| *s < bytes.end) as u64
            }
            None => {
                let size = u64::from(self.header.chunksize).max(1);
                bytes.start / size..bytes.end.div_ceil(size)
            }
        }
    }

    fn entry(&self, i: u64) -> Result<EntryRef<'_>> {
        let entry = self.entry_if_stored(i)?;
        entry.ok_or_else(|| {
            fail!(
                Range,
                "{}: chunk {i} is out of range (there are {})",
                self.name,
                self.stored_chunks()
            )
            .at(i)
        })
    }

    /// Returns the offset (or file number) of a chunk; none if the chunk is not stored.
    fn position(&self, i: u64) -> Result<Option<u64>> {
        match usize::try_from(i).ok().and_then(|i| self.entries.get(i)) {
            Some(entry) => Ok(entry.position()),
            None => Ok(self.entry(i)?.position()),
        }
    }

    /// Returns none if the chunk is not encoded yet or does not exist.
    fn entry_if_stored(&self, i: u64) -> Result<Option<EntryRef<'_>>> {
        let Some(paged) = &self.paged else {
            return Ok(usize::try_from(i)
                .ok()
                .and_then(|i| self.entries.get(i))
                .map(EntryRef::Loaded));
        };
        // a concurrent change of the file can look like corruption
        let known = (i < paged.len()).then(|| paged.get(i)).transpose();
        known.map_err(|e| {
            self.check_unchanged()
                .err()
                .unwrap_or_else(|| self.chunk_error(i, e))
        })
    }

    /// Adds the frame name and the chunk number to an error.
    fn chunk_error(&self, i: u64, mut e: Error) -> Error {
        e.position = -1;
        let e = e.at(i);
        if e.message.starts_with(&self.name) {
            e
        } else {
            e.within(format_args!("{}: chunk {i}", self.name))
        }
    }
}
