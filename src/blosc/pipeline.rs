//! The filter pipeline of a chunk, and the filter ids in headers.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

/// Maximum number of filters of a chunk.
pub const MAX_FILTERS: usize = 6;

const SHUFFLE: u8 = 1;
const BITSHUFFLE: u8 = 2;
const DELTA: u8 = 3;
/// The number of the filter that truncates precision.
pub const TRUNCATE: u8 = 4;
const BYTE_DELTA: u8 = 35;

/// A filter: a transformation of the bytes of a block before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Stores the first bytes of all items, then the second bytes, and so on.
    Shuffle {
        /// Item size in bytes; 0 is the chunk's typesize. Must be 0 for c-blosc 1.x.
        group: u8,
    },
    /// Stores the first bits of all items, then the second bits, and so on.
    Bitshuffle,
    /// XORs each item with the item before it (first block), or with the item at the same position
    /// of the first block (other blocks).
    Delta,
    /// Clears the last bits of the mantissa of floats of 4 or 8 bytes. Decoding does not restore
    /// them.
    Truncate {
        /// Number of bits to retain, or, if negative, to clear.
        bits: i8,
    },
    /// Subtracts from each byte the byte before it, in each of the byte streams that shuffle made.
    ByteDelta {
        /// Number of byte streams; 0 is the chunk's typesize.
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

    /// Returns the filter with this id; `None` for 0.
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

/// Up to six filters, applied in order when encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pipeline([Option<Filter>; MAX_FILTERS]);

impl Pipeline {
    /// Creates a pipeline of one filter.
    pub fn single(filter: Filter) -> Pipeline {
        // in the last slot, like the reference libraries
        Pipeline([None, None, None, None, None, Some(filter)])
    }

    /// Creates a pipeline of these filters.
    pub fn new(filters: &[Filter]) -> Result<Pipeline> {
        let mut p = Pipeline::default();
        let Some(free) = MAX_FILTERS.checked_sub(filters.len()) else {
            return Err(fail!(
                Argument,
                "too many filters (expected at most {MAX_FILTERS}, found {})",
                filters.len()
            ));
        };
        // in the last slots, like the reference libraries
        for (slot, filter) in p.0.iter_mut().skip(free).zip(filters) {
            *slot = Some(*filter);
        }
        Ok(p)
    }

    /// Returns the setting of the truncation filter, if there is one.
    pub fn truncation(&self) -> Option<i8> {
        self.iter().find_map(|filter| match filter {
            Filter::Truncate { bits } => Some(bits),
            _ => None,
        })
    }

    /// Returns the other filters, after the truncation filter with this setting, if any.
    pub fn with_truncation(&self, bits: Option<i8>) -> Result<Pipeline> {
        let others = self
            .iter()
            .filter(|f| !matches!(f, Filter::Truncate { .. }));
        let first = bits.map(|bits| Filter::Truncate { bits });
        Pipeline::new(&first.into_iter().chain(others).collect::<Vec<_>>())
    }

    /// Iterates over the filters in encoding order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Filter> + '_ {
        self.0.iter().filter_map(|f| *f)
    }

    /// Returns the ids and the settings, as in a header.
    pub fn slots(&self) -> ([u8; MAX_FILTERS], [u8; MAX_FILTERS]) {
        (
            self.0.map(|f| f.map_or(0, Filter::id)),
            self.0.map(|f| f.map_or(0, Filter::meta)),
        )
    }

    /// Creates a pipeline from the ids and the settings of a header.
    pub fn from_slots(ids: [u8; MAX_FILTERS], metas: [u8; MAX_FILTERS]) -> Result<Pipeline> {
        let mut p = Pipeline::default();
        for (slot, (id, meta)) in p.0.iter_mut().zip(ids.into_iter().zip(metas)) {
            *slot = Filter::from_id(id, meta)?;
        }
        // the reference of the second one is not stored: no library restores the content
        if p.iter().filter(|filter| *filter == Filter::Delta).count() > 1 {
            return Err(fail!(Codec, "the delta filter occurs more than once"));
        }
        Ok(p)
    }
}
