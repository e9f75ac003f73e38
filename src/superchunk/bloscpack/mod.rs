//! Bloscpack files in every published version of the format.
//!
//! - [`header`]: the header of 8, 16 or 32 bytes, and detection of the version.
//! - [`metadata`]: the user's JSON after the header.
//! - [`offsets`]: the table of chunk offsets.
//! - [`chunk_table`]: the actual position of each chunk, also in a damaged file.
//! - `header_repair`: reconstruction of a damaged header. `layout`: all parts of a file together.
//! - `open`, `read`, `edit`, `splice`, `commit`, `in_place`, `copy`, `repair`: the operations of a
//!   [`Bloscpack`].
//! - [`FileEncoder`]: encodes a complete file in memory.

mod chunk_list;
pub mod chunk_table;
mod commit;
mod copy;
mod edit;
mod file_encoder;
pub mod header;
mod header_repair;
mod in_place;
mod layout;
pub mod metadata;
pub mod offsets;
mod open;
mod read;
mod repair;
mod splice;
#[cfg(test)]
mod tests;

pub use copy::{Destination, reserve_offsets};
pub use file_encoder::{FileEncoder, recover};
pub use open::{Mode, OPEN_OPTIONS, filter_number, params};
pub use read::{Verified, verify};
#[cfg(any(test, feature = "internals"))]
pub use repair::repair_in;
pub use repair::{Repaired, repair};
pub use splice::Splice;

use crate::blosc::{self, Params, StoredCodec, StoredEncoding};
use crate::error::{Error, Result};
use crate::io::File;
use crate::io::journal::Session;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::progress::Progress;
use crate::superchunk::buffer_pool::BufferPool;
use chunk_list::{ChunkLocation, ChunkSlot, ChunkSlots};
use header::{Dialect, Header};
use std::ops::Range;
use std::sync::Arc;

/// Default content size of a chunk in bytes.
const DEFAULT_CHUNK: usize = 1 << 20;

/// An open Bloscpack file: a byte sequence in chunks. The handle sees its own changes at once;
/// other readers see them after the commit.
pub struct Bloscpack {
    name: String,
    header: Header,
    slots: ChunkSlots,
    /// Content after the last chunk that is not encoded yet.
    pending: Vec<u8>,
    /// The index and the content of a chunk that is being changed.
    open_chunk: Option<(usize, Vec<u8>)>,
    meta: Option<Vec<u8>>,
    meta_changed: bool,
    meta_damage: Option<Error>,
    /// The file of the last commit; `None` before the first commit.
    main: Option<Arc<dyn File>>,
    /// The part file: a temporary file with encoded chunks that are not committed.
    part: Option<Arc<dyn File>>,
    part_end: u64,
    buffers: BufferPool,
    /// Bytes of encoded chunks in memory that are not committed.
    in_memory: usize,
    /// Offset of the end of the last chunk, and size of the file.
    end: u64,
    size: u64,
    /// True if every chunk is at its stored offset.
    offsets_are_right: bool,
    /// Size and modification time of a file that was opened for reading.
    unchanged: Option<(u64, u64)>,
    damage: Option<Error>,
    suspected: Option<Error>,
    /// True if `header` differs from the header in the file. `suspected` describes the difference.
    header_repaired: bool,
    /// True if the position of all content is certain in spite of `suspected`.
    positions_known: bool,
    /// Number of chunks that are missing after the last chunk that was found.
    missing: u64,
    /// A chunk is lost or corrupt, and its size may differ from the size assumed here.
    unsure_size: Option<Error>,
    chunk_size: usize,
    params: Params,
    spare_bytes: u32,
    threads: Threads,
    verify: bool,
    skip_damaged: bool,
    memory_limit: u64,
    /// True if there is something to commit.
    changed: bool,
    options: Options,
    /// `None` if the file is open for reading.
    // declared last: the lock must be released after the part file is removed
    session: Option<Session>,
}

impl Bloscpack {
    /// Returns the path of the file, for error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of chunks, including chunks that are not encoded yet.
    pub fn chunks(&self) -> usize {
        self.slots.len() + self.pending.len().div_ceil(self.chunk_size.max(1))
    }

    /// Returns the number of bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.slots.nbytes() + self.pending.len() as u64
    }

    /// Returns the number of content bytes that are not encoded yet.
    pub fn pending_bytes(&self) -> u64 {
        let open = self
            .open_chunk
            .as_ref()
            .map_or(0, |(_, content)| content.len());
        (self.pending.len() + open) as u64
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<&Progress> {
        self.options.progress()
    }

    /// Returns the size of the committed file, or of the encoded chunks before the first commit.
    pub fn cbytes(&self) -> Result<u64> {
        match &self.main {
            Some(f) => f.size(),
            None => Ok(self.slots.iter().map(|s| u64::from(s.cbytes)).sum()),
        }
    }

    /// Returns the item size in bytes.
    pub fn typesize(&self) -> usize {
        match self.header.dialect {
            Dialect::V0 | Dialect::V1 => self.params.typesize,
            _ => self.header.typesize.max(1).into(),
        }
    }

    /// Returns the content size of every chunk except the last. Inserted chunks may differ.
    pub fn chunk_size(&self) -> usize {
        self.chunk_size
    }

    /// Returns the codec of new chunks.
    pub fn new_codec(&self) -> StoredCodec {
        StoredCodec::from_params(&self.params)
    }

    /// Returns how the chunks are encoded, with the filters of the last chunk. Without encoded
    /// chunks: as new ones will be, or not at all if the file is open for reading.
    pub fn encoding(&self) -> StoredEncoding {
        let is_lost = |slot: &ChunkSlot| matches!(slot.location, ChunkLocation::Lost);
        let mut found = self.slots.iter().filter(|slot| !is_lost(slot));
        let codecs = found
            .clone()
            .map(|slot| StoredCodec::from_flags(slot.flags));
        let (codec, filters) = match (codecs.reduce(StoredCodec::merge), found.next_back()) {
            (Some(codec), Some(last)) => {
                let in_header = || self.last_chunk().map(|h| blosc::used_filters(&h.filters));
                (codec, blosc::stored_filters(last.flags).or_else(in_header))
            }
            _ if self.session.is_none() => (StoredCodec::None, None),
            _ => {
                let (slots, _) = self.params.filters.slots();
                (self.new_codec(), Some(blosc::used_filters(&slots)))
            }
        };
        StoredEncoding {
            codec,
            level: None,
            filters: filters.unwrap_or_default(),
        }
    }

    /// Returns the content range of the chunk that holds byte `at`, or will hold it after an
    /// append.
    pub fn chunk_span(&self, at: u64) -> Range<u64> {
        let stored = self.slots.nbytes();
        if at < stored {
            return self.slots.span(self.slots.holding(at..at + 1).start);
        }
        let size = self.chunk_size.max(1) as u64;
        let start = stored + (at - stored) / size * size;
        start..start.saturating_add(size)
    }

    /// Returns the number of threads that may access the files. It is 1 for files that caller
    /// functions implement, unless the thread count is set: such a function may wait for a lock
    /// that the caller holds.
    pub fn file_threads(&self) -> usize {
        let foreign = [&self.main, &self.part]
            .into_iter()
            .flatten()
            .any(|f| f.is_foreign());
        if foreign && self.options.given(Opt::Threads).is_none() {
            1
        } else {
            self.threads.count()
        }
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the content size, the stored size and the flags of chunk `i`. The stored size is 0
    /// if the chunk is not encoded yet or has changes that are not encoded.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let nbytes = self.chunk_nbytes(i)?;
        let slot = self
            .slots
            .get(i as usize)
            .ok()
            .filter(|_| self.open_chunk.as_ref().is_none_or(|(k, _)| *k as u64 != i));
        Ok(slot.map_or((nbytes, 0, 0), |s| (nbytes, s.cbytes as usize, s.flags)))
    }

    /// Returns the content of a chunk that is not encoded yet.
    fn pending_chunk(&self, i: usize) -> &[u8] {
        self.pending
            .chunks(self.chunk_size.max(1))
            .nth(i.saturating_sub(self.slots.len()))
            .unwrap_or_default()
    }
}
