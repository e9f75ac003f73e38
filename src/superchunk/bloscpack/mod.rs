//! Bloscpack files in every published version of the format.
//!
//! - [`header`]: the header of 8, 16 or 32 bytes, and detection of the version.
//! - [`metadata`], `metadata_encode`: the user's JSON after the header.
//! - [`offsets`]: the table of chunk offsets.
//! - [`located_chunk`], [`chunk_table`], `chunk_search`, `header_buffer`: the actual position of each
//!   chunk, also in a damaged file.
//! - `header_repair`, `metadata_repair`: reconstruction of a damaged header. `layout`: all parts of a file together.
//! - [`uniform_mark`], `uniform_chunks`: files that open without reading the headers of all chunks.
//! - The parts of a [`Bloscpack`]: `head` (header and metadata), `chunk_list` and `content` (chunks in
//!   order, and content that is not encoded), `chunk_reader` and `damage`, `chunk_encoder` and
//!   `writer`. A part does not know the handle.
//! - `params`, `load`, `open`, `read`, `verify`, `edit`, `splice`, `commit`, `in_place`, `copy`,
//!   `repair`: the operations of a [`Bloscpack`].
//! - [`FileEncoder`]: encodes a complete file in memory. [`StreamWriter`]: writes a file from front
//!   to back.

mod chunk_encoder;
mod chunk_list;
mod chunk_reader;
mod chunk_search;
pub mod chunk_table;
mod commit;
mod content;
mod copy;
mod damage;
mod edit;
mod file_encoder;
mod head;
pub mod header;
mod header_buffer;
mod header_repair;
mod in_place;
mod layout;
mod load;
pub mod located_chunk;
pub mod metadata;
mod metadata_encode;
mod metadata_repair;
pub mod offsets;
mod open;
mod params;
mod read;
mod repair;
mod splice;
mod stream_writer;
#[cfg(test)]
mod tests;
mod uniform_chunks;
pub mod uniform_mark;
mod verify;
mod writer;

pub use copy::{Destination, reserve_offsets};
pub use file_encoder::{FileEncoder, recover};
pub use open::{Mode, OPEN_OPTIONS};
pub use params::{filter_number, params};
#[cfg(any(test, feature = "internals"))]
pub use repair::repair_in;
pub use repair::{Repaired, repair};
pub use splice::Splice;
pub use stream_writer::StreamWriter;
pub use verify::{Verified, verify};

use crate::blosc::{self, Codec, StoredCodec, StoredEncoding};
use crate::error::{Error, Result, fail};
use crate::options::Options;
use crate::progress::Progress;
use chunk_list::ChunkSlot;
use chunk_reader::ChunkReader;
use content::Content;
use head::Head;
use header::{Dialect, Header};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;
use writer::Writer;

/// An open Bloscpack file: a byte sequence in chunks. The handle sees its own changes at once;
/// other readers see them after the commit.
pub struct Bloscpack {
    head: Head,
    content: Content,
    reader: ChunkReader,
    /// True if there is something to commit.
    changed: bool,
    options: Options,
    /// The same file with the list of all chunks, if this handle locates them on demand.
    listed: OnceLock<Result<Box<Bloscpack>>>,
    /// `None` if the file is open for reading.
    // declared last: the lock must be released after the part file is removed
    writer: Option<Writer>,
}

impl Bloscpack {
    /// Returns the path of the file, for error messages.
    pub fn name(&self) -> &str {
        &self.reader.name
    }

    /// Returns the number of chunks, including chunks that are not encoded yet.
    pub fn chunks(&self) -> usize {
        self.content.chunks()
    }

    /// Returns the number of bytes of content.
    pub fn nbytes(&self) -> u64 {
        self.content.nbytes()
    }

    /// Returns the number of content bytes that are not encoded yet.
    pub fn pending_bytes(&self) -> u64 {
        self.content.pending_bytes()
    }

    /// Returns the progress callback of the options.
    pub fn progress(&self) -> Option<&Progress> {
        self.options.progress()
    }

    /// Returns the size of the committed file, or of the encoded chunks before the first commit.
    pub fn cbytes(&self) -> Result<u64> {
        match &self.reader.main {
            Some(main) => main.file.size(),
            None => Ok(self.content.slots.cbytes()),
        }
    }

    /// Returns, for each encoded chunk, the end of its content and the stored size up to there;
    /// `None` if they are located on demand.
    pub fn stored_ends(&self) -> Option<Vec<(u64, u64)>> {
        if self.content.uniform.is_some() {
            return None;
        }
        let (slots, checksum) = (&self.content.slots, self.header().checksum);
        let mut stored = 0u64;
        let end = |(i, slot): (usize, &ChunkSlot)| {
            stored = stored.saturating_add(slot.stored_size(checksum));
            (slots.span(i).end, stored)
        };
        Some(slots.iter().enumerate().map(end).collect())
    }

    /// Returns the item size in bytes.
    pub fn typesize(&self) -> usize {
        match self.head.header.dialect {
            Dialect::V0 | Dialect::V1 => self.content.typesize,
            _ => self.head.header.typesize.max(1).into(),
        }
    }

    /// Returns the content size of every chunk except the last. Inserted chunks may differ.
    pub fn chunk_size(&self) -> usize {
        self.content.chunk_size
    }

    /// Returns the codec of new chunks.
    pub fn new_codec(&self) -> StoredCodec {
        let params = self.writer.as_ref().map(|w| &w.encoder.params);
        params.map_or(StoredCodec::One(Codec::Lz4), StoredCodec::from_params)
    }

    /// Returns how the chunks are encoded, with the filters of the last chunk. Without encoded
    /// chunks: as new ones will be, or not at all if the file is open for reading.
    pub fn encoding(&self) -> StoredEncoding {
        let listed = self.listed().unwrap_or(self);
        let mut found = listed.content.slots.iter().filter(|slot| !slot.is_lost());
        let codecs = found
            .clone()
            .map(|slot| StoredCodec::from_flags(slot.flags));
        let (codec, filters) = match (codecs.reduce(StoredCodec::merge), found.next_back()) {
            (Some(codec), Some(last)) => {
                let in_header = || listed.last_chunk().map(|h| blosc::used_filters(&h.filters));
                (codec, blosc::stored_filters(last.flags).or_else(in_header))
            }
            _ => match &self.writer {
                None => (StoredCodec::None, None),
                Some(writer) => {
                    let (slots, _) = writer.encoder.params.filters.slots();
                    (self.new_codec(), Some(blosc::used_filters(&slots)))
                }
            },
        };
        StoredEncoding {
            codec,
            level: None,
            filters: filters.unwrap_or_default(),
            precision: None,
        }
    }

    /// Returns the header of the last chunk that is not empty, or of the last chunk if all are
    /// empty.
    fn last_chunk(&self) -> Option<blosc::Header> {
        let slots = &self.content.slots;
        let last = match self.content.uniform {
            Some(_) => self.content.slot(self.chunks() - 1).ok(),
            None => slots.iter().rev().find(|s| s.nbytes > 0).map(Cow::Borrowed),
        };
        let last = last.or_else(|| slots.iter().next_back().map(Cow::Borrowed));
        last.and_then(|slot| self.reader.stored(&slot, blosc::Header::parse).ok())
    }

    /// Returns the content range of the chunk that holds byte `at`, or will hold it after an
    /// append.
    pub fn chunk_span(&self, at: u64) -> Range<u64> {
        self.content.chunk_span(at)
    }

    /// Returns the number of threads that may access the files. It is 1 for files that caller
    /// functions implement, unless the thread count is set.
    pub fn file_threads(&self) -> usize {
        self.reader.file_threads()
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.head.header
    }

    /// Returns the metadata.
    pub fn meta(&self) -> Result<Option<&[u8]>> {
        match &self.head.meta_damage {
            Some(e) if !self.reader.skip_damaged => Err(e.clone()),
            _ => Ok(self.head.meta.as_deref()),
        }
    }

    /// Returns the error in the metadata, also if the options skip damage.
    pub fn meta_damage(&self) -> Option<&Error> {
        self.head.meta_damage.as_ref()
    }

    /// Returns the content size of chunk `i` in bytes.
    pub fn chunk_nbytes(&self, i: u64) -> Result<usize> {
        Ok(self.content.chunk_nbytes(self.index(i)?))
    }

    /// Returns the content size, the stored size and the flags of chunk `i`. The stored size is 0
    /// if the chunk is not encoded yet or has changes that are not encoded.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let i = self.index(i)?;
        if let Some(bytes) = self.content.unencoded(i) {
            return Ok((bytes.len(), 0, 0));
        }
        let slot = match &self.content.uniform {
            Some(chunks) => match chunks.slot_with_flags(i) {
                Err(e) if e.status.is_corruption() => self.intact()?.content.slots.get(i)?.clone(),
                slot => slot?,
            },
            None => self.content.slots.get(i)?.clone(),
        };
        Ok((slot.nbytes as usize, slot.cbytes as usize, slot.flags))
    }

    /// Returns the index of chunk `i`, or an error if there is no such chunk.
    fn index(&self, i: u64) -> Result<usize> {
        let n = self.chunks();
        let there = usize::try_from(i).ok().filter(|i| *i < n);
        there.ok_or_else(|| fail!(Range, "{}: chunk {i}: there are {n}", self.name()).at(i))
    }

    /// Returns the end of `len` bytes of content from byte `at` on, or an error if there are fewer.
    fn checked_end(&self, at: u64, len: usize) -> Result<u64> {
        let n = self.nbytes();
        let end = at.checked_add(len as u64).filter(|&e| e <= n);
        end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {}: there are {n}",
                self.name(),
                at.saturating_add(len as u64)
            )
        })
    }
}
