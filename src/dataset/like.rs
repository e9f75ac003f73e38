//! Datasets like existing ones, so that chunks can be copied as they are stored.
#![forbid(unsafe_code)]

use super::create::{self, ArraySpec};
use crate::array::Array;
use crate::blosc::{self, Codec, StoredCodec};
use crate::checksum::Checksum;
use crate::dtype::numpy_meta::Order;
use crate::error::Result;
use crate::format::Format;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;

/// Creates a dataset without rows in the format of an array, and with its chunks and encoding where
/// the options do not set them. Returns `None` if the array is not a dataset in chunks of rows.
pub fn create(array: &Array, path: &OsStr, options: &Options) -> Result<Option<Array>> {
    let is_dataset = matches!(array.format(), Format::Bcolz | Format::Blz | Format::BlzRfc);
    if !is_dataset || array.is_chunked() || array.order() != Order::C {
        return Ok(None);
    }
    let mut options = options.clone();
    inherit(&mut options, array)?;
    inherit_no_checksum(&mut options, array)?;
    let precision = array.encoding().precision;
    if let (None, Some(bits)) = (options.given(Opt::Precision), precision) {
        options.set(Opt::Precision, bits.into())?;
    }
    if let (None, Some(value)) = (options.given_bytes(Opt::Fill), array.fill()?) {
        options.set_bytes(Opt::Fill, value)?;
    }
    let shape = [&[0], array.shape().get(1..).unwrap_or_default()].concat();
    let is_given = options.given(Opt::ChunkBytes).is_some();
    let new = ArraySpec {
        dtype: &array.dtype_text(),
        shape: &shape,
        // rows without items have no chunk shape
        chunks: Some(array.chunkshape()).filter(|shape| !is_given && !shape.contains(&0)),
        format: array.format(),
    };
    create::create(path, Mode::New, &new, &options).map(Some)
}

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
