//! The index of a frame: one 64-bit slot per chunk, stored as a Blosc chunk.
//!
//! In a contiguous frame a slot is an offset relative to the end of the header. In a sparse frame
//! it is the number of a chunk file. Special values stand for chunks that are not stored.
//!
//! The writers of the reference library require of an existing index:
//!
//! - Offsets and file numbers may come in any order, with gaps between them.
//! - No two slots are equal, because chunks are changed in place. From version 3.0 on, a chunk that
//!   grows moves all bytes after it, unused ones too.
//! - A new chunk file gets the highest number plus one, whether or not such a file exists. A
//!   changed chunk keeps its number.
//!
//! - [`entry`]: a slot together with the length and the checksum of its chunk. [`entry_list`]: the
//!   entries of all chunks.
//! - `paged`: the entries of a long frame, loaded page by page on demand.
#![forbid(unsafe_code)]

pub mod entry;
pub mod entry_list;
pub(super) mod paged;

use super::checksums::PAGE;
use crate::alloc;
use crate::blosc::{self, Codec, Params, Split, Target};
use crate::error::{Result, fail};
use std::collections::HashSet;

/// Bytes of a slot.
pub const ENTRY: usize = 8;
const SPECIAL: u64 = 1 << 63;
/// The slot of a chunk whose position is lost. No writer stores it.
pub const LOST: u64 = SPECIAL;
const ZEROS: u64 = SPECIAL | 1 << 56;
const NAN: u64 = SPECIAL | 2 << 56;
const UNSET: u64 = SPECIAL | 4 << 56;

/// The position of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexSlot {
    /// The offset relative to the end of the header, or the number of the chunk file.
    At(u64),
    /// Not stored: all bytes are zero.
    Zeros,
    /// Not stored: all items are NaN.
    Nan,
    /// Not stored: the content is uninitialized. It is read as zeros.
    Uninit,
    /// A value without meaning in the format. This chunk cannot be read; other chunks can.
    Unknown(u64),
}

impl IndexSlot {
    fn from_bits(bits: u64) -> IndexSlot {
        match bits {
            ZEROS => IndexSlot::Zeros,
            NAN => IndexSlot::Nan,
            UNSET => IndexSlot::Uninit,
            _ if bits & SPECIAL != 0 => IndexSlot::Unknown(bits),
            _ => IndexSlot::At(bits),
        }
    }

    /// Returns the stored form.
    pub fn bits(self) -> u64 {
        match self {
            IndexSlot::At(bits) | IndexSlot::Unknown(bits) => bits,
            IndexSlot::Zeros => ZEROS,
            IndexSlot::Nan => NAN,
            IndexSlot::Uninit => UNSET,
        }
    }
}

/// Decodes an index of `chunks` slots. `chunk` may have bytes after the index.
pub fn decode(chunk: &[u8], chunks: u64, limit: u64) -> Result<Vec<IndexSlot>> {
    let within = |e: crate::error::Error| e.within("the index of the chunks");
    let header = blosc::Header::parse(chunk).map_err(within)?;
    if Some(header.nbytes as u64) != chunks.checked_mul(ENTRY as u64) {
        return Err(fail!(
            Format,
            "the index holds {} bytes (expected {chunks} chunks, {ENTRY} bytes each)",
            header.nbytes
        ));
    }
    if header.typesize != ENTRY {
        return Err(fail!(
            Format,
            "the index holds items of {} bytes (expected {ENTRY})",
            header.typesize
        ));
    }
    let n = header.nbytes / ENTRY;
    alloc::allow(
        (n * (ENTRY + size_of::<IndexSlot>())) as u64,
        limit,
        "the index of the chunks",
    )?;
    let mut bytes = alloc::zeroed(header.nbytes)?;
    blosc::decode(chunk, &mut bytes, 1).map_err(within)?;
    let mut out = alloc::with_capacity(n)?;
    out.extend(slots(&bytes));
    Ok(out)
}

/// Returns the slots in decoded index bytes.
pub fn slots(bytes: &[u8]) -> impl Iterator<Item = IndexSlot> {
    bytes
        .as_chunks::<ENTRY>()
        .0
        .iter()
        .map(|b| IndexSlot::from_bits(u64::from_le_bytes(*b)))
}

/// Encodes an index as a Blosc chunk.
pub fn encode(slots: &[IndexSlot]) -> Result<Vec<u8>> {
    let mut bytes = alloc::with_capacity(slots.len().saturating_mul(ENTRY))?;
    bytes.extend(slots.iter().flat_map(|s| s.bits().to_le_bytes()));
    let mut out = Vec::new();
    blosc::encode(&params(), &bytes, &mut out, 1)?;
    Ok(out)
}

fn params() -> Params {
    Params {
        // that of the reference library, which looks up single slots: a block holds few slots
        blocksize: Some(PAGE as usize * ENTRY),
        split: Split::Never,
        ..Params::new(Target::Blosc2, Codec::BloscLz, 5, ENTRY)
    }
}

/// Returns the header of an uncompressed index of `chunks` slots, which follow it.
pub fn uncompressed_header(chunks: usize) -> Result<[u8; blosc::EXTENDED_HEADER_LEN]> {
    blosc::copied_header(&params(), chunks.saturating_mul(ENTRY))
}

/// No writer stores two chunks at one offset: all slots that share an offset are marked as invalid.
pub fn invalidate_shared(slots: &mut [IndexSlot]) -> Result<()> {
    let at = |slot: &IndexSlot| {
        if let IndexSlot::At(position) = slot {
            Some(*position)
        } else {
            None
        }
    };
    if slots.iter().filter_map(at).is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut positions = alloc::with_capacity(slots.len())?;
    positions.extend(slots.iter().filter_map(at));
    positions.sort_unstable();
    let shared: HashSet<u64> = positions
        .windows(2)
        .filter(|w| matches!(w, [a, b] if a == b))
        .filter_map(|w| w.first().copied())
        .collect();
    for slot in slots.iter_mut().filter(|_| !shared.is_empty()) {
        if let Some(position) = at(slot).filter(|position| shared.contains(position)) {
            *slot = IndexSlot::Unknown(position);
        }
    }
    Ok(())
}
