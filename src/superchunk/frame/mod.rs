//! The frames of c-blosc2: a run of chunks of one length, an index that says where each is, and
//! metadata, in one file or in a folder with a file a chunk.
//!
//! - [`header`], [`metalayers`], [`index`], [`trailer`]: the parts of a frame, from bytes and back
//!   to the same bytes.
//! - `sums`: the metalayer with the checksums of the chunks.
//! - [`seal`]: what tells whether these parts are damaged.
//! - `rescue`, with `walk`, `correct`, `overlay`: what can be found again of a frame that is
//!   damaged.
//! - [`site`], [`entry`], [`chunk`]: where a frame is, what is known of a chunk before it is looked
//!   at, and one that is open.
//! - `paged`: the entries of a long frame, as they are asked for.
//! - `open`, `read`, `verify`, `encode`, `put`, `meanwhile`, `edit`, `meta`, `create`, `commit`,
//!   `copy`, `repair`: the things that are done with a [`Frame`].
//! - `which`: frames told from other things.
//! - `chunks`: it as arrays want it.
//!
//! What is committed is never written over but by the next header: new chunks go behind everything
//! that counts, and count with the header that says so.
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
#[cfg(test)]
mod layout_tests;
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
pub use detect::{header_at, is_at, is_frame, take_wished};
pub use open::OPEN_OPTIONS;
pub use repair::{repair, repair_in};
pub use verify::verify;

use crate::blosc::Params;
use crate::error::{Error, Result, fail};
use crate::io::lock::Lock;
use crate::io::{File, Folder};
use crate::options::Options;
use crate::parallel::Threads;
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::buffer_pool::Buffers;
use chunk::{Blocks, OpenChunks};
use entry::Entry;
use header::Header;
use meta::Variable;
use paged::{Known, Paged};
use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;
use storage::Site;

/// An open frame. It sees its own changes at once; others see them after the commit.
pub struct Frame {
    site: Site,
    name: String,
    /// As it is now, but for what is known only at the commit.
    header: Header,
    entries: Vec<Entry>,
    /// In place of these, of one that is read and was not read at once.
    paged: Option<Box<Paged>>,
    /// Where the content of each chunk begins, and where that of the last ends, if they may have
    /// any length.
    starts: Option<Vec<u64>>,
    /// Metalayers whose length may change, without our own.
    vlmeta: Vec<Variable>,
    /// Are checksums kept?
    sums: bool,
    /// Does a checksum that does not fit mean damage?
    binding: bool,
    /// What of it, but for chunks, is damaged or lost: nothing is committed then.
    doubts: Vec<Error>,
    /// Is its header lost, with its metalayers?
    headless: bool,
    /// Content behind that of the last chunk, not encoded yet.
    pending: Vec<u8>,
    /// The file with header, index and trailer, and the chunks of a frame that is one file.
    file: Option<Arc<dyn File>>,
    /// Where the frame begins in it, and where its header ends.
    at: u64,
    base: u64,
    /// Where in the file, counted from there, nothing is that counts.
    next: u64,
    /// What the last commit left, or what was found.
    last: Committed,
    open_chunks: OpenChunks,
    blocks: Blocks,
    params: Result<Params>,
    threads: Threads,
    verify: bool,
    skip_damaged: bool,
    memory_limit: u64,
    /// The process that opened it for writing; 0: it reads.
    owner: u32,
    writing: Writing,
    options: Options,
    // last, so that the lock outlives what tidies up
    lock: Lock,
}

/// What a writer knows besides.
#[derive(Default)]
struct Writing {
    mode: Option<Mode>,
    durable: bool,
    /// Is there anything to commit?
    changed: bool,
    /// A commit failed in a way that leaves this handle unsure of the file.
    broken: bool,
    /// Nothing before this place, counted from the end of the header, may be written over.
    committed: u64,
    /// The number of the next chunk file.
    number: u64,
    /// Chunk files that were written and not committed.
    fresh: Vec<u64>,
    /// Those of the last commit, in rising order; before the first one here, all that are there.
    files: Vec<u64>,
    /// The folder that was made for it, and where that is.
    made: Option<(Arc<dyn Folder>, OsString)>,
    buffers: Buffers,
}

/// How a frame was found, to tell whether it still is so.
#[derive(Default)]
struct Committed {
    header: Vec<u8>,
    /// The last bytes of the trailer, and where they are.
    tail: Vec<u8>,
    tail_at: u64,
    /// Length and time of change of the file.
    stamp: (u64, u64),
    /// They may change without harm: none of our own writers touches what counts.
    grows: bool,
}

impl Frame {
    /// Its file or folder, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many chunks, those not encoded yet among them.
    pub fn chunks(&self) -> u64 {
        self.stored_chunks() + self.pending.len().div_ceil(self.chunk_bytes().max(1)) as u64
    }

    /// How many are encoded.
    fn stored_chunks(&self) -> u64 {
        self.paged
            .as_ref()
            .map_or(self.entries.len() as u64, |paged| paged.len())
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.header.nbytes + self.pending.len() as u64
    }

    /// Bytes of the file; of a folder those of its chunks and its index.
    pub fn cbytes(&self) -> Result<u64> {
        let Some(file) = &self.file else { return Ok(0) };
        let size = file.size()?.saturating_sub(self.at);
        Ok(if self.site.sparse {
            size.saturating_add(self.chunk_files().unwrap_or(self.header.cbytes))
        } else {
            size
        })
    }

    /// Bytes of all chunks, where they are known.
    fn chunk_files(&self) -> Option<u64> {
        let stored = self.entries.iter().filter(|e| e.place().is_some());
        stored
            .map(|e| e.length(self.binding).map(u64::from))
            .try_fold(0u64, |n, of_it| Some(n.saturating_add(of_it?)))
    }

    /// Bytes of content of each chunk but the last; 0 where they may have any length.
    pub fn chunk_bytes(&self) -> usize {
        if self.starts.is_some() {
            0
        } else {
            self.header.chunksize as usize
        }
    }

    /// Bytes of content of each block, as the header says; 0 where it does not.
    pub fn block_bytes(&self) -> usize {
        self.header.blocksize as usize
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        self.header.typesize as usize
    }

    /// What has become of its header, where that is lost with all metalayers that it had.
    pub fn headless(&self) -> Option<&Error> {
        self.doubts.first().filter(|_| self.headless)
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Is it a folder with a file a chunk?
    pub fn is_sparse(&self) -> bool {
        self.site.sparse
    }

    /// How new chunks are made.
    pub fn params(&self) -> Result<&Params> {
        self.params
            .as_ref()
            .map_err(|e| e.clone().within(&self.name))
    }

    /// Are checksums of the chunks kept?
    pub fn has_sums(&self) -> bool {
        self.sums
    }

    /// Threads that may read and write its files: a caller's function may wait for what the caller
    /// holds, so that other threads call it only on demand.
    pub fn file_threads(&self) -> usize {
        let foreign = self.site.folder.is_foreign();
        if foreign && self.options.given(crate::options::Opt::Threads).is_none() {
            1
        } else {
            self.threads.count()
        }
    }

    /// The bytes of content of a chunk.
    pub fn span(&self, i: u64) -> Result<Range<u64>> {
        let none = || {
            fail!(
                Range,
                "{}: chunk {i}: there are {}",
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

    /// The chunks that hold these bytes of content.
    fn holding(&self, bytes: &Range<u64>) -> Range<u64> {
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

    fn entry(&self, i: u64) -> Result<Known<'_>> {
        let entry = self.entry_if_there(i)?;
        entry.ok_or_else(|| {
            fail!(
                Range,
                "{}: chunk {i}: there are {}",
                self.name,
                self.stored_chunks()
            )
            .at(i)
        })
    }

    /// Where a chunk is, if it takes room.
    fn place(&self, i: u64) -> Result<Option<u64>> {
        match usize::try_from(i).ok().and_then(|i| self.entries.get(i)) {
            Some(entry) => Ok(entry.place()),
            None => Ok(self.entry(i)?.place()),
        }
    }

    /// None of a chunk that is not encoded yet, or not there.
    fn entry_if_there(&self, i: u64) -> Result<Option<Known<'_>>> {
        let Some(paged) = &self.paged else {
            return Ok(usize::try_from(i)
                .ok()
                .and_then(|i| self.entries.get(i))
                .map(Known::Here));
        };
        // it may look damaged only because it was changed under us
        let known = (i < paged.len()).then(|| paged.get(i)).transpose();
        known.map_err(|e| self.still().err().unwrap_or_else(|| self.named(i, e)))
    }

    /// The same error, of this chunk.
    fn named(&self, i: u64, mut e: Error) -> Error {
        e.position = -1;
        let e = e.at(i);
        if e.message.starts_with(&self.name) {
            e
        } else {
            e.within(format_args!("{}: chunk {i}", self.name))
        }
    }
}
