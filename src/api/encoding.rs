//! How chunks are stored.
#![forbid(unsafe_code)]

use super::{Checksum, Codec, Filter};
use crate::blosc::{StoredCodec, StoredEncoding};
use crate::checksum::Checksum as EngineChecksum;

/// Codec, level, filters and checksum of the chunks of an [`Array`](crate::Array) or a
/// [`Schunk`](crate::Schunk).
///
/// ```
/// use holdall::{Array, ArrayLayout, Codec, Filter, Format, Options};
/// # let name = format!("holdall-doc-enc-{}.b2nd", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let options = Options::new().codec(Codec::Zstd).level(3);
/// let layout = ArrayLayout::new(Format::B2nd);
/// let array = Array::replace(&path, "<i4", &[1000], &layout, &options)?;
/// let encoding = array.encoding();
/// assert_eq!(encoding.codec, Some(Codec::Zstd));
/// assert_eq!(encoding.level, Some(3));
/// assert_eq!(encoding.filters, [Some(Filter::Shuffle)]);
/// # Ok::<(), holdall::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoding {
    /// The codec; `None`: several, or one that this library does not have. Bloscpack: of all chunks
    /// ([`Codec::Lz4`] includes [`Codec::Lz4Hc`]). BLZ: of the first chunk. Others: as recorded, for
    /// new chunks.
    pub codec: Option<Codec>,
    /// The recorded compression level; `None`: none is (Bloscpack).
    pub level: Option<u8>,
    /// The filters, in order of application; `None`: one that this library does not have.
    /// Bloscpack: of the last chunk.
    pub filters: Vec<Option<Filter>>,
    /// The bits of the mantissa of floats that new items retain, or, if negative, that are cleared:
    /// see [`Options::precision`](crate::Options::precision); `None`: all are retained.
    pub precision: Option<i8>,
    /// The checksum of each chunk.
    pub checksum: Checksum,
}

impl Encoding {
    pub(super) fn of(encoding: StoredEncoding, checksum: EngineChecksum) -> Encoding {
        Encoding {
            codec: codec(encoding.codec),
            level: encoding.level,
            filters: encoding.filters.into_iter().map(filter).collect(),
            precision: encoding.precision,
            checksum: Checksum::of_engine(checksum),
        }
    }
}

/// Returns the codec of stored chunks, if it is one that has a name.
pub(super) fn codec(codec: StoredCodec) -> Option<Codec> {
    const ALL: [Codec; 6] = [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Lz4Hc,
        Codec::Snappy,
        Codec::Zlib,
        Codec::Zstd,
    ];
    match codec {
        StoredCodec::None => Some(Codec::None),
        StoredCodec::One(codec) => ALL.get(usize::from(codec.number())).copied(),
        StoredCodec::Mixed => None,
    }
}

fn filter(number: u8) -> Option<Filter> {
    let all = [
        Filter::Shuffle,
        Filter::Bitshuffle,
        Filter::Delta,
        Filter::Bytedelta,
        Filter::TruncPrec,
    ];
    all.into_iter().find(|filter| *filter as u8 == number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blosc;

    #[test]
    fn every_codec_and_filter_has_its_name() {
        for engine in blosc::Codec::ALL {
            let found = codec(StoredCodec::One(engine)).unwrap();
            assert_eq!(format!("{found:?}"), format!("{engine:?}"));
        }
        assert_eq!(filter(35), Some(Filter::Bytedelta));
        assert_eq!((filter(0), filter(34)), (None, None));
    }
}
