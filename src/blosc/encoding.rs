//! How the chunks of a container are encoded, as far as the container states it.
#![forbid(unsafe_code)]

use super::header::{COPIED, EXTENDED, filters_from_flags};
use super::{Codec, Params};

/// The codec of one chunk, or of all chunks of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredCodec {
    /// Nothing is compressed.
    None,
    /// What is compressed has this codec. In flags, LZ4 includes LZ4HC.
    One(Codec),
    /// Several codecs, or one that is not known.
    Mixed,
}

impl StoredCodec {
    /// Returns the codec that the flags of a chunk state.
    pub fn from_flags(flags: u8) -> StoredCodec {
        let known = Codec::ALL.into_iter().find(|c| c.format() == flags >> 5);
        match known {
            _ if flags & COPIED != 0 => StoredCodec::None,
            Some(codec) => StoredCodec::One(codec),
            None => StoredCodec::Mixed,
        }
    }

    /// Returns the codec of new chunks.
    pub fn from_params(params: &Params) -> StoredCodec {
        if params.level == 0 {
            StoredCodec::None
        } else {
            StoredCodec::One(params.codec)
        }
    }

    /// Returns the codec of the chunks of both.
    pub fn merge(self, other: StoredCodec) -> StoredCodec {
        match (self, other) {
            (StoredCodec::None, codec) | (codec, StoredCodec::None) => codec,
            (a, b) if a == b => a,
            _ => StoredCodec::Mixed,
        }
    }
}

/// Returns the numbers of the filters that the flags of a chunk state; `None` if its header of 32
/// bytes states them.
pub fn stored_filters(flags: u8) -> Option<Vec<u8>> {
    (flags & EXTENDED != EXTENDED).then(|| used_filters(&filters_from_flags(flags)))
}

/// Returns the numbers of the filters in these slots, without unused slots.
pub fn used_filters(slots: &[u8]) -> Vec<u8> {
    slots.iter().copied().filter(|id| *id != 0).collect()
}

/// How the chunks of a container are encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEncoding {
    /// The codec.
    pub codec: StoredCodec,
    /// The compression level; `None` if the format does not store it.
    pub level: Option<u8>,
    /// The numbers of the filters in chunks, in encoding order.
    pub filters: Vec<u8>,
    /// The setting of the truncation filter, if there is one: the bits that it retains, or, if
    /// negative, clears.
    pub precision: Option<i8>,
}

impl StoredEncoding {
    /// Returns the encoding of content in several containers, each with its own.
    pub fn mixed() -> StoredEncoding {
        StoredEncoding {
            codec: StoredCodec::Mixed,
            level: None,
            filters: Vec::new(),
            precision: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_of_chunks_are_merged() {
        use StoredCodec::{Mixed, None, One};
        let codec = |all: &[u8]| {
            let chunks = all.iter().map(|flags| StoredCodec::from_flags(*flags));
            chunks.reduce(StoredCodec::merge).unwrap()
        };
        assert_eq!(codec(&[COPIED]), None);
        assert_eq!(codec(&[COPIED, 1 << 5, COPIED | 4 << 5]), One(Codec::Lz4));
        assert_eq!(codec(&[1 << 5, 4 << 5]), Mixed);
        assert_eq!(codec(&[COPIED, 6 << 5]), Mixed);
    }
}
