//! The bytes before the chunks: header, metadata and offsets, as they are in the committed file and
//! as the next commit writes them.
#![forbid(unsafe_code)]

use super::chunk_list::ChunkSlots;
use super::content::Content;
use super::header::{Dialect, ENTRY, Header};
use super::layout::Layout;
use super::metadata::{MetaLayout, MetaLocation, Section};
use super::metadata_encode;
use super::offsets;
use super::uniform_mark;
use crate::alloc;
use crate::dtype::numpy_meta::ArrayMeta;
use crate::error::{Error, Result, Status, fail};
use crate::json::Value;
use crate::options::{Opt, Options};

/// Number of offsets that a new file reserves before its chunks.
const INITIAL_ENTRIES: u64 = 1022;
/// Spare offsets as a multiple of the number of chunks, as in Bloscpack, and their minimum.
const SPARE: u64 = 10;
const MIN_SPARE: u64 = 50;

/// The header and the metadata of an open file.
pub struct Head {
    /// The header of the last commit. Before the first commit it has no chunks and no metadata.
    pub header: Header,
    /// The current metadata.
    pub meta: Option<Vec<u8>>,
    /// True if the metadata differs from that in the file.
    pub meta_changed: bool,
    pub meta_damage: Option<Error>,
    /// Number of spare offsets, if it is set.
    spare_chunks: Option<u64>,
}

/// The layout of a file after a commit.
pub struct Committed {
    pub header: Header,
    /// Position and encoded size (without checksum) of each chunk.
    pub positions: Vec<(u64, u32)>,
    /// End of the last chunk.
    pub end: u64,
}

impl Head {
    /// Returns the head of a new file.
    pub fn new(header: Header, options: &Options) -> Head {
        Head {
            header,
            meta: None,
            meta_changed: false,
            meta_damage: None,
            spare_chunks: options.given(Opt::SpareChunks).map(|n| n as u64),
        }
    }

    /// Returns the head of a committed file.
    pub fn of(layout: Layout, options: &Options) -> Head {
        Head {
            meta_changed: layout.header_repaired && layout.meta.is_some(),
            meta: layout.meta,
            meta_damage: layout.meta_damage,
            ..Head::new(layout.header, options)
        }
    }

    /// Sets the metadata, which must be JSON; `None` removes it. `name` is the path of the file.
    pub fn set_meta(&mut self, json: Option<&[u8]>, name: &str) -> Result<()> {
        if let Some(json) = json {
            if !matches!(self.header.dialect, Dialect::V3 | Dialect::Rfc) {
                return Err(fail!(
                    Unsupported,
                    "{name}: this layout cannot store metadata or an array (expected version 3 or the BLZ RFC layout)"
                ));
            }
            Value::parse(json).map_err(|e| fail!(Argument, "metadata must be JSON: {e}"))?;
        }
        self.meta = match json {
            Some(json) => {
                let mut copy = alloc::with_capacity(json.len())?;
                copy.extend_from_slice(json);
                Some(copy)
            }
            None => None,
        };
        (self.meta_damage, self.meta_changed) = (None, true);
        Ok(())
    }

    /// Removes damaged metadata. Returns true if there was any.
    pub fn drop_damaged_meta(&mut self) -> bool {
        let is_damaged = self.meta_damage.take().is_some();
        if is_damaged {
            (self.meta, self.meta_changed) = (None, true);
        }
        is_damaged
    }

    /// Returns the array in the metadata if it is a NumPy array of a known type.
    pub fn array(&self) -> Result<Option<ArrayMeta>> {
        match self.meta.as_deref().map_or(Ok(None), ArrayMeta::read) {
            Err(e) if e.status == Status::Type => Ok(None),
            r => r,
        }
    }

    /// Returns true if the metadata is stored in the BLZ RFC layout.
    fn has_rfc_metadata(&self) -> bool {
        self.header.dialect == Dialect::Rfc
            || matches!(
                self.header.meta.as_ref().map(|m| &m.layout),
                Some(MetaLayout::Rfc { .. })
            )
    }

    /// Returns the header for the current chunks.
    pub fn next_header(&self, content: &Content) -> Header {
        let slots = &content.slots;
        let last = slots.iter().next_back().map_or(0, |s| s.nbytes);
        let sized = !matches!(self.header.dialect, Dialect::V0 | Dialect::V1);
        Header {
            nchunks: Some(slots.len() as u64),
            // Bloscpack rejects a last chunk that is longer than the others
            chunk_size: sized.then_some(last.max(content.chunk_size as u32)),
            last_chunk: sized.then_some(last),
            max_app_chunks: 0,
            ..self.header.clone()
        }
    }

    /// Encodes the metadata, and returns it with its new location.
    fn new_meta(&self) -> Result<Option<(MetaLocation, Vec<u8>)>> {
        let Some(json) = &self.meta else {
            return Ok(None);
        };
        if let Some(fits) = self
            .header
            .meta
            .as_ref()
            .map(|m| m.rewrite(json))
            .transpose()?
            .flatten()
        {
            return Ok(Some(fits));
        }
        if self.has_rfc_metadata() {
            return metadata_encode::encode_rfc(json, false).map(Some);
        }
        metadata_encode::section(
            json,
            None,
            &Section::new(metadata_encode::DEFAULT_SUM, metadata_encode::DEFAULT_LEVEL),
        )
        .map(Some)
    }

    /// Returns the bytes to reserve before the first chunk of a new file, whose number of chunks is
    /// still unknown.
    pub fn room(&self) -> Result<u64> {
        let meta = self.new_meta()?.map_or(0, |(location, _)| location.size());
        let entries = match (self.header.has_offsets, self.header.dialect) {
            (true, Dialect::V3) => self.spare_chunks.unwrap_or(0) + INITIAL_ENTRIES,
            _ => 0,
        };
        Ok(self.header.size() + meta + entries * ENTRY)
    }

    /// Encodes header, metadata and offsets. `at` is the required position of the first chunk; with
    /// `None` the position follows from the sizes. Returns `None` if the required position is not
    /// possible.
    pub fn encode(&self, content: &Content, at: Option<u64>) -> Result<Option<(Header, Vec<u8>)>> {
        let mut header = self.next_header(content);
        let meta = self.new_meta()?;
        header.meta = meta.as_ref().map(|(location, _)| location.clone());
        if header.has_offsets {
            let spare = match (header.dialect, at) {
                (Dialect::V3, Some(at)) => {
                    let Some(room) = at
                        .checked_sub(header.offsets_at())
                        .filter(|r| r % ENTRY == 0)
                    else {
                        return Ok(None);
                    };
                    let Some(spare) = (room / ENTRY).checked_sub(content.slots.len() as u64) else {
                        return Ok(None);
                    };
                    spare
                }
                (Dialect::V3, None) => self.spare_offsets(&content.slots),
                _ => 0,
            };
            header.max_app_chunks = spare;
        }
        if at.is_some_and(|at| at != header.chunks_at()) {
            return Ok(None);
        }
        let mut bytes = header.encode();
        bytes.extend(meta.map_or_else(Vec::new, |(_, b)| b));
        if header.has_offsets {
            let positions = content
                .slots
                .positions_from(header.chunks_at(), header.checksum);
            let offsets = positions.map(|(at, _)| at);
            bytes.extend(offsets::encode(offsets, header.offset_entries())?);
            if uniform_mark::position(&header).is_some() {
                bytes.truncate(bytes.len() - ENTRY as usize);
                bytes.extend(uniform_mark::entry(&header, &content.slots).to_le_bytes());
            }
        }
        Ok(Some((header, bytes)))
    }

    /// Encodes header and metadata of a file that has no offsets.
    pub fn encode_without_offsets(&self, mut header: Header) -> Result<Vec<u8>> {
        let meta = self.new_meta()?;
        header.meta = meta.as_ref().map(|(location, _)| location.clone());
        let mut bytes = header.encode();
        bytes.extend(meta.map_or_else(Vec::new, |(_, b)| b));
        Ok(bytes)
    }

    /// Returns the number of spare offsets of a new file with these chunks.
    pub fn spare_offsets(&self, slots: &ChunkSlots) -> u64 {
        self.spare_chunks
            .unwrap_or_else(|| default_spare(slots.len() as u64))
    }
}

/// Returns the default number of spare offsets of a file with `chunks` chunks.
pub fn default_spare(chunks: u64) -> u64 {
    chunks.saturating_mul(SPARE).max(MIN_SPARE)
}
