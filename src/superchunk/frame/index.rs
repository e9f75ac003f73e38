//! Where each chunk of a frame is: 64 bits a chunk, packed as a Blosc chunk.
//!
//! In one file a place counts from the end of the header; in a folder it is the number of a file.
//! Chunks that need no room say what they are instead.
//!
//! What the writers of the reference library ask of an index that they go on with: places and
//! numbers may come in any order, with gaps between them; no two chunks are one, since chunks are
//! changed in place (from 3.0: a longer one moves all behind it, what is unused too). A new file
//! gets the number above the highest, whether or not there is such a file; a changed chunk keeps
//! its own.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc::{self, Codec, Params, Split, Target};
use crate::error::{Result, fail};

/// How many chunks an index can have.
pub const MOST: u64 = (i32::MAX as u64 - blosc::LONG as u64) / ENTRY as u64;

/// Bytes of an entry.
pub const ENTRY: usize = 8;
const SPECIAL: u64 = 1 << 63;
/// Of a chunk whose place is not known any more; no writer has it.
pub const LOST: u64 = SPECIAL;
const ZEROS: u64 = SPECIAL | 1 << 56;
const NAN: u64 = SPECIAL | 2 << 56;
const UNSET: u64 = SPECIAL | 4 << 56;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// So many bytes behind the header, or the file with this number.
    At(u64),
    /// Nowhere: all bytes are zero.
    Zeros,
    /// Nowhere: all items are a float that is no number.
    Nan,
    /// Nowhere: the bytes were never set. They are read as zeros.
    Uninit,
    /// Something that the format has no meaning for: this chunk cannot be read, others can.
    Unknown(u64),
}

impl Slot {
    fn from_bits(bits: u64) -> Slot {
        match bits {
            ZEROS => Slot::Zeros,
            NAN => Slot::Nan,
            UNSET => Slot::Uninit,
            _ if bits & SPECIAL != 0 => Slot::Unknown(bits),
            _ => Slot::At(bits),
        }
    }

    fn bits(self) -> u64 {
        match self {
            Slot::At(bits) | Slot::Unknown(bits) => bits,
            Slot::Zeros => ZEROS,
            Slot::Nan => NAN,
            Slot::Uninit => UNSET,
        }
    }
}

/// Reads the index of so many chunks; `chunk` may have bytes behind it.
pub fn decode(chunk: &[u8], chunks: u64, limit: u64) -> Result<Vec<Slot>> {
    let within = |e: crate::Error| e.within("the index of the chunks");
    let header = blosc::Header::parse(chunk).map_err(within)?;
    if Some(header.nbytes as u64) != chunks.checked_mul(ENTRY as u64) {
        return Err(fail!(
            Format,
            "the index holds {} bytes; {chunks} chunks were expected, {ENTRY} bytes each",
            header.nbytes
        ));
    }
    if header.typesize != ENTRY {
        return Err(fail!(
            Format,
            "the index holds items of {} bytes, {ENTRY} were expected",
            header.typesize
        ));
    }
    let n = header.nbytes / ENTRY;
    alloc::allow(
        (n * (ENTRY + size_of::<Slot>())) as u64,
        limit,
        "the index of the chunks",
    )?;
    let mut bytes = alloc::zeroed(header.nbytes)?;
    blosc::decode(chunk, &mut bytes, 1).map_err(within)?;
    let mut out = alloc::with_room(n)?;
    out.extend(slots(&bytes));
    Ok(out)
}

/// What these bytes of an index say.
pub fn slots(bytes: &[u8]) -> impl Iterator<Item = Slot> {
    bytes
        .as_chunks::<ENTRY>()
        .0
        .iter()
        .map(|b| Slot::from_bits(u64::from_le_bytes(*b)))
}

/// The index as it is stored.
pub fn encode(slots: &[Slot]) -> Result<Vec<u8>> {
    let mut bytes = alloc::with_room(slots.len().saturating_mul(ENTRY))?;
    bytes.extend(slots.iter().flat_map(|s| s.bits().to_le_bytes()));
    // as the reference library makes it, which looks up one entry at a time: a block holds few of
    // them
    let params = Params {
        blocksize: Some(16 << 10),
        split: Split::Never,
        ..Params::new(Target::Blosc2, Codec::BloscLz, 5, ENTRY)
    };
    let mut out = Vec::new();
    blosc::encode(&params, &bytes, &mut out, 1)?;
    Ok(out)
}
