//! The filters of a chunk, in their order, and the numbers that stand for them in headers.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

/// How many filters a chunk can have.
pub const MOST: usize = 6;

const SHUFFLE: u8 = 1;
const BITSHUFFLE: u8 = 2;
const DELTA: u8 = 3;
const TRUNCATE: u8 = 4;
const BYTE_DELTA: u8 = 35;

/// What is done to the bytes of a block before a codec sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The first bytes of all items, then the second bytes, and so on.
    Shuffle {
        /// Bytes in an item here; 0 is the chunk's typesize. Not for c-blosc 1.x.
        group: u8,
    },
    /// The same with bits.
    Bitshuffle,
    /// Items are xored with the one before (first block) or with the first block (the others).
    Delta,
    /// Floats of 4 or 8 bytes lose the last bits of their mantissa. Not undone, of course.
    Truncate {
        /// Bits to keep, or, where negative, to clear.
        bits: i8,
    },
    /// Each byte less the one before it, in as many runs as an item has bytes: for shuffled bytes.
    ByteDelta {
        /// Runs; 0 is the chunk's typesize.
        runs: u8,
    },
}

impl Filter {
    fn id(self) -> u8 {
        match self {
            Filter::Shuffle { .. } => SHUFFLE,
            Filter::Bitshuffle => BITSHUFFLE,
            Filter::Delta => DELTA,
            Filter::Truncate { .. } => TRUNCATE,
            Filter::ByteDelta { .. } => BYTE_DELTA,
        }
    }

    fn meta(self) -> u8 {
        match self {
            Filter::Shuffle { group } => group,
            Filter::Truncate { bits } => bits.to_le_bytes()[0],
            Filter::ByteDelta { runs } => runs,
            Filter::Bitshuffle | Filter::Delta => 0,
        }
    }

    /// The filter of this number; none for 0.
    fn from_id(id: u8, meta: u8) -> Result<Option<Filter>> {
        Ok(Some(match id {
            0 => return Ok(None),
            SHUFFLE => Filter::Shuffle { group: meta },
            BITSHUFFLE => Filter::Bitshuffle,
            DELTA => Filter::Delta,
            TRUNCATE => Filter::Truncate {
                bits: i8::from_le_bytes([meta]),
            },
            BYTE_DELTA => Filter::ByteDelta { runs: meta },
            _ => return Err(fail!(Codec, "filter {id} is not known")),
        }))
    }
}

/// Up to six filters, applied from first to last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipeline([Option<Filter>; MOST]);

impl Pipeline {
    /// These filters.
    pub fn new(filters: &[Filter]) -> Result<Pipeline> {
        let mut p = Pipeline::default();
        let Some(free) = MOST.checked_sub(filters.len()) else {
            return Err(fail!(
                Argument,
                "{} filters: a chunk has {MOST} at most",
                filters.len()
            ));
        };
        // the last slots, as the other writers do
        for (slot, filter) in p.0.iter_mut().skip(free).zip(filters) {
            *slot = Some(*filter);
        }
        Ok(p)
    }

    /// From first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Filter> + '_ {
        self.0.iter().filter_map(|f| *f)
    }

    /// The ids and their settings, as in a header.
    pub fn slots(&self) -> ([u8; MOST], [u8; MOST]) {
        (
            self.0.map(|f| f.map_or(0, Filter::id)),
            self.0.map(|f| f.map_or(0, Filter::meta)),
        )
    }

    /// What a header holds.
    pub fn from_slots(ids: [u8; MOST], metas: [u8; MOST]) -> Result<Pipeline> {
        let mut p = Pipeline::default();
        for (slot, (id, meta)) in p.0.iter_mut().zip(ids.into_iter().zip(metas)) {
            *slot = Filter::from_id(id, meta)?;
        }
        Ok(p)
    }
}
