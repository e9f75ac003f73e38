//! The options of frames: where they apply, and the checksums and encoding parameters that they
//! request.
#![forbid(unsafe_code)]

use crate::blosc::{Codec, Filter, Params, Pipeline, Target};
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::options::{Opt, Options};

/// Options for opening a frame for reading.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::Io,
    Opt::Verify,
    Opt::SkipDamaged,
    Opt::At,
];
/// Additional options for opening a frame for writing.
pub const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::Checksum,
];

/// Do the options request encoding parameters?
pub fn requests_encoding(options: &Options) -> bool {
    [Opt::Codec, Opt::Level]
        .iter()
        .any(|o| options.given(*o).is_some())
        || options.given_bytes(Opt::Filters).is_some()
}

/// Returns whether the options request checksums.
pub fn requested_checksums(options: &Options) -> Result<Option<bool>> {
    let Some(requested_params) = options.given(Opt::Checksum) else {
        return Ok(None);
    };
    match Checksum::from_number(requested_params as i32) {
        Ok(Checksum::None) => Ok(Some(false)),
        Ok(Checksum::Crc32) => Ok(Some(true)),
        _ => Err(fail!(
            Unsupported,
            "{}: unsupported checksum (frames have HOLDALL_CHECKSUM_CRC32 or _NONE)",
            Opt::Checksum.name()
        )),
    }
}

/// Returns encoding parameters: those of the options, or of `like` where an option is not given.
pub fn requested_params(options: &Options, like: &Params) -> Result<Params> {
    let mut params = like.clone();
    params.target = Target::Blosc2;
    if let Some(n) = options.given(Opt::Codec).filter(|n| *n != 0) {
        let codec = u8::try_from(n - 1)
            .ok()
            .and_then(Codec::from_number)
            .filter(|c| *c != Codec::Snappy);
        params.codec = codec.ok_or_else(|| {
            fail!(Unsupported, "HOLDALL_OPT_CODEC: unsupported codec (frames have HOLDALL_CODEC_BLOSCLZ, _LZ4, _LZ4HC, _ZLIB, _ZSTD and _NONE)")
        })?;
    }
    if let Some(level) = options.given(Opt::Level) {
        params.level = u8::try_from(level)
            .ok()
            .filter(|l| *l <= 9)
            .ok_or_else(|| {
                fail!(
                    Argument,
                    "HOLDALL_OPT_LEVEL: invalid level {level} (expected 0 to 9)"
                )
            })?;
    }
    if options.given(Opt::Codec) == Some(0) {
        params.level = 0;
    }
    if let Some(bytes) = options.given_bytes(Opt::Filters) {
        let filter = |n: &u8| match n {
            1 => Ok(Filter::Shuffle { group: 0 }),
            2 => Ok(Filter::Bitshuffle),
            3 => Ok(Filter::Delta),
            35 => Ok(Filter::ByteDelta { runs: 0 }),
            n => Err(fail!(
                Unsupported,
                "HOLDALL_OPT_FILTERS: filter {n} is not known"
            )),
        };
        params.filters = Pipeline::new(
            &bytes
                .iter()
                .filter(|n| **n != 0)
                .map(filter)
                .collect::<Result<Vec<_>>>()?,
        )?;
    }
    Ok(params)
}
