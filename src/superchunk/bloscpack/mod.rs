//! Bloscpack files, in every dialect that was ever written.
//!
//! - [`header`]: the first 8, 16 or 32 bytes, and what tells the dialects apart.
//! - [`metadata`]: the user's JSON behind it.
//! - [`offsets`]: the table of chunk positions.
//! - [`table`]: where each chunk really is, and what is left of a damaged file.
//! - `mend`: what a damaged header must have been. `layout`: all of these together.
//! - `open`, `read`, `edit`, `line`, `splice`, `commit`, `copy`, `repair`: the things that are done
//!   with a [`Bloscpack`].
//! - [`Whole`]: a file that is made at once.

mod assemble;
mod chunk_list;
pub mod chunk_table;
mod commit;
mod copy;
mod edit;
pub mod header;
mod header_repair;
mod in_place;
mod layout;
#[cfg(test)]
mod layout_tests;
pub mod metadata;
pub mod offsets;
mod open;
mod read;
mod repair;
mod splice;
#[cfg(test)]
mod tests;

pub use assemble::{Whole, tidy};
pub use copy::{Destination, keep_room};
pub use open::{Mode, OPEN_OPTIONS, filter_number, params};
pub use read::{Verified, verify};
pub use repair::{Repaired, repair, repair_in};
pub use splice::Splice;

use crate::blosc::{Codec, Params};
use crate::error::{Error, Result};
use crate::io::File;
use crate::io::journal::Container;
use crate::io::lock::Lock;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::superchunk::buffer_pool::Buffers;
use chunk_list::Slots;
use header::{Dialect, Header};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of content in a chunk where nothing else is said.
const DEFAULT_CHUNK: usize = 1 << 20;

/// An open Bloscpack file: a run of bytes in chunks. It sees its own changes at once; others see
/// them after the commit.
pub struct Bloscpack {
    container: Container,
    name: String,
    header: Header,
    slots: Slots,
    /// Content behind that of the last chunk, not encoded yet.
    pending: Vec<u8>,
    /// A chunk that is being changed, and its content.
    open_chunk: Option<(usize, Vec<u8>)>,
    meta: Option<Vec<u8>>,
    meta_changed: bool,
    meta_damage: Option<Error>,
    /// The file as the last commit left it; none before the first.
    main: Option<Arc<dyn File>>,
    /// The temporary file with what waits for the commit.
    part: Option<Arc<dyn File>>,
    part_end: u64,
    buffers: Buffers,
    /// Bytes of the encoded chunks that wait in memory.
    in_memory: usize,
    /// Where the last chunk in the file ends, and the length of the file.
    end: u64,
    size: u64,
    /// Is each chunk where its offset says?
    offsets_are_right: bool,
    /// Length and time of change of a file that was opened for reading.
    unchanged: Option<(u64, u64)>,
    damage: Option<Error>,
    doubt: Option<Error>,
    /// Is the header another one than the file has? Then the doubt says so.
    mended: bool,
    /// Does the doubt leave no doubt that content is where it belongs?
    placed: bool,
    /// Chunks that should be behind the last that was found.
    missing: u64,
    /// A chunk is lost or damaged that may have had another size than it has here.
    unsure: Option<Error>,
    mode: Mode,
    chunk_size: usize,
    params: Params,
    spare_bytes: u32,
    threads: Threads,
    verify: bool,
    skip_damaged: bool,
    memory_limit: u64,
    durable: bool,
    /// Is there anything to commit?
    changed: bool,
    /// A commit failed in a way that leaves this handle unsure of the file.
    broken: bool,
    /// The process that opened it for writing; 0: it reads.
    owner: u32,
    options: Options,
    // last, so that the lock outlives what tidies up
    lock: Lock,
}

impl Bloscpack {
    /// The file, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many chunks, those not encoded yet among them.
    pub fn chunks(&self) -> usize {
        self.slots.len() + self.pending.len().div_ceil(self.chunk_size.max(1))
    }

    /// Bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.slots.nbytes() + self.pending.len() as u64
    }

    /// Bytes of the file of the last commit, or of the chunks where there is none yet.
    pub fn cbytes(&self) -> Result<u64> {
        match &self.main {
            Some(f) => f.size(),
            None => Ok(self.slots.iter().map(|s| u64::from(s.cbytes)).sum()),
        }
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        match self.header.dialect {
            Dialect::V0 | Dialect::V1 => self.params.typesize,
            _ => self.header.typesize.max(1).into(),
        }
    }

    /// Bytes of content of each chunk but the last, unless other ones were put in.
    pub fn chunk_size(&self) -> usize {
        self.chunk_size
    }

    /// What new chunks are made with.
    pub fn codec(&self) -> Codec {
        self.params.codec
    }

    /// The bytes of content of the chunk that holds, or is going to hold, this one of them.
    pub fn chunk_span(&self, at: u64) -> Range<u64> {
        let stored = self.slots.nbytes();
        if at < stored {
            return self.slots.span(self.slots.holding(at..at + 1).start);
        }
        let size = self.chunk_size.max(1) as u64;
        let start = stored + (at - stored) / size * size;
        start..start.saturating_add(size)
    }

    /// Threads that may read and write its files: a caller's function may wait for what the caller
    /// holds, so that other threads call it only on demand.
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

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of content, bytes as stored (0: not encoded yet, or other content waits for that) and
    /// flags of chunk `i`.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let nbytes = self.chunk_nbytes(i)?;
        let slot = self
            .slots
            .get(i as usize)
            .ok()
            .filter(|_| self.open_chunk.as_ref().is_none_or(|(k, _)| *k as u64 != i));
        Ok(slot.map_or((nbytes, 0, 0), |s| (nbytes, s.cbytes as usize, s.flags)))
    }

    /// The content of a chunk that is not encoded yet.
    fn pending_chunk(&self, i: usize) -> &[u8] {
        self.pending
            .chunks(self.chunk_size.max(1))
            .nth(i.saturating_sub(self.slots.len()))
            .unwrap_or_default()
    }
}
