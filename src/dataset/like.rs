//! What datasets take over from existing ones: their encoding, and chunks as they are stored.
#![forbid(unsafe_code)]

use super::create;
use crate::array::Array;
use crate::blosc::{self, Codec, StoredCodec};
use crate::checksum::Checksum;
use crate::error::Result;
use crate::options::{Opt, Options};

/// Appends the rows of an array of the same dtype: complete chunks as they are stored, where that is
/// possible. On failure some of them may be appended.
pub fn append_rows(from: &Array, to: &mut Array, limit: u64) -> Result<()> {
    let mut start = vec![0; from.shape().len()];
    let mut count = from.shape().to_vec();
    if let (Some(start), Some(count)) = (start.first_mut(), count.first_mut()) {
        *start = to.append_stored(from)?;
        *count -= *start;
    }
    let rest = from.slice(&start, &count, None)?;
    create::copy_rows(&rest, to, limit, &mut |_| Ok(())).map(|_| ())
}

/// Takes over the encoding of an array where the options do not set it.
pub fn inherit(options: &mut Options, array: &Array) -> Result<()> {
    let (mut encoding, checksum) = (array.encoding(), array.checksum());
    // a copy is exact
    encoding.filters.retain(|filter| *filter != blosc::TRUNCATE);
    if options.given_bytes(Opt::Filters).is_none() {
        options.set_bytes(Opt::Filters, &encoding.filters)?;
    }
    // a requested codec applies also if the chunks are not compressed
    let level = encoding
        .level
        .filter(|level| *level > 0 || options.given(Opt::Codec).is_none());
    let codec = match encoding.codec {
        // every reader of Snappy reads LZ4
        StoredCodec::One(Codec::Snappy) => Some(Codec::Lz4),
        StoredCodec::One(codec) => Some(codec),
        StoredCodec::None | StoredCodec::Mixed => None,
    };
    for (opt, value) in [
        (Opt::Codec, codec.map(|codec| i64::from(codec.number()) + 1)),
        (Opt::Level, level.map(i64::from)),
        (
            Opt::Checksum,
            Some(checksum as i64).filter(|_| checksum != Checksum::None),
        ),
    ] {
        if let (None, Some(value)) = (options.given(opt), value) {
            options.set(opt, value)?;
        }
    }
    Ok(())
}

/// Selects chunks without checksums if an array has none and the options do not set them: its chunks
/// can only be copied to arrays with the same checksum.
pub fn inherit_no_checksum(options: &mut Options, array: &Array) -> Result<()> {
    if options.given(Opt::Checksum).is_none() && array.checksum() == Checksum::None {
        options.set(Opt::Checksum, Checksum::None as i64)?;
    }
    Ok(())
}
