//! The parameters of new chunks, from options and existing chunks.
#![forbid(unsafe_code)]

use crate::blosc::{self, Codec, Filter, Params, Pipeline, Target};
use crate::error::{Result, fail};
use crate::options::{Opt, Options};

/// Returns the parameters for new chunks: from `options`, else from `like`, else LZ4 and shuffle.
pub fn params(options: &Options, typesize: usize, like: Option<&blosc::Header>) -> Result<Params> {
    let codec = match options.given(Opt::Codec) {
        None => like.and_then(|h| h.codec().ok()).unwrap_or(Codec::Lz4),
        // level 0 below stores chunks uncompressed
        Some(0) => Codec::BloscLz,
        Some(n) => {
            let codec = u8::try_from(n - 1).ok().and_then(Codec::from_number);
            codec.ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_CODEC: HOLDALL_CODEC_BY_NAME is not a codec of chunks"
                )
            })?
        }
    };
    let level = if options.given(Opt::Codec) == Some(0) {
        0
    } else {
        options.get(Opt::Level, 5)
    };
    let level = u8::try_from(level)
        .ok()
        .filter(|l| *l <= 9)
        .ok_or_else(|| {
            fail!(
                Argument,
                "HOLDALL_OPT_LEVEL: invalid level {level} (expected 0 to 9)"
            )
        })?;
    let mut params = Params::new(Target::Blosc1, codec, level, typesize);
    params.blocksize = options.given(Opt::BlockBytes).map(|n| n as usize);
    if let Some(bytes) = options.given_bytes(Opt::Filters) {
        params.filters = Pipeline::new(&filters(bytes)?)?;
    } else if let Some(h) = like {
        params.filters = h.pipeline().unwrap_or(params.filters);
    }
    Ok(params)
}

/// Returns the number of the filter: 0 none, 1 shuffle, 2 bitshuffle.
pub fn filter_number(params: &Params) -> u64 {
    params
        .filters
        .iter()
        .next()
        .map_or(0, |f| if f == Filter::Bitshuffle { 2 } else { 1 })
}

/// Converts `HOLDALL_FILTER_*` numbers to the filters that c-blosc 1.x supports.
fn filters(bytes: &[u8]) -> Result<Vec<Filter>> {
    let filter = |n: &u8| match n {
        1 => Ok(Filter::Shuffle { group: 0 }),
        2 => Ok(Filter::Bitshuffle),
        _ => Err(fail!(
            Unsupported,
            "HOLDALL_OPT_FILTERS: this filter is not supported by Blosc1 chunks (expected HOLDALL_FILTER_SHUFFLE or _BITSHUFFLE)"
        )),
    };
    let found: Vec<Filter> = bytes
        .iter()
        .filter(|n| **n != 0)
        .map(filter)
        .collect::<Result<_>>()?;
    if found.len() > 1 {
        return Err(fail!(
            Unsupported,
            "HOLDALL_OPT_FILTERS: Blosc1 chunks have at most one filter"
        ));
    }
    Ok(found)
}
