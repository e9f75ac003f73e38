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
    Opt::CacheBytes,
    Opt::At,
];
/// Additional options for opening a frame for writing.
pub const WRITE_OPTIONS: &[Opt] = &[
    Opt::Durability,
    Opt::Lock,
    Opt::Codec,
    Opt::Level,
    Opt::Filters,
    Opt::Precision,
    Opt::ChunkDictionary,
    Opt::Checksum,
];

/// Options for encoding that are numbers.
const ENCODING: [Opt; 4] = [Opt::Codec, Opt::Level, Opt::Precision, Opt::ChunkDictionary];

/// Do the options request encoding parameters?
pub fn requests_encoding(options: &Options) -> bool {
    ENCODING.iter().any(|o| options.given(*o).is_some())
        || options.given_bytes(Opt::Filters).is_some()
}

/// Removes the options for encoding.
pub fn take_encoding(options: &mut Options) {
    for opt in ENCODING {
        options.take(opt);
    }
    options.take_bytes(Opt::Filters);
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

/// Returns the encoding parameters of a new frame: those of the options, or of `like` where an
/// option is not given. Precision is truncated only on request, so that a copy loses nothing.
pub fn new_params(options: &Options, like: &Params) -> Result<Params> {
    let exact = like.filters.with_truncation(None)?;
    let like = Params {
        filters: exact,
        ..like.clone()
    };
    requested_params(options, &like)
}

/// Returns the encoding parameters of an existing frame that is opened for writing. Its precision
/// is never reduced: items that are stored with their chunk would lose bits that they have.
pub fn changed_params(options: &Options, stored: &Params) -> Result<Params> {
    let (requested, stored_bits) = (options.given(Opt::Precision), stored.filters.truncation());
    match requested {
        Some(n) if n != 0 && stored_bits.map(i64::from) != Some(n) => Err(fail!(
            Unsupported,
            "{}: the precision of an existing frame cannot be changed (expected {}, or 0 to write exact items; found {n}); copy it",
            Opt::Precision.name(),
            stored_bits.unwrap_or(0)
        )),
        _ => requested_params(options, stored),
    }
}

/// Returns encoding parameters: those of the options, or of `like` where an option is not given.
fn requested_params(options: &Options, like: &Params) -> Result<Params> {
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
    params.dictionary = match options.given(Opt::ChunkDictionary) {
        Some(given) => given == 1,
        None => params.dictionary && params.codec.uses_dictionaries(),
    };
    if params.dictionary {
        params
            .check(0)
            .map_err(|e| e.within(Opt::ChunkDictionary.name()))?;
    }
    if let Some(bytes) = options.given_bytes(Opt::Filters) {
        let filter = |n: &u8| match n {
            1 => Ok(Filter::Shuffle { group: 0 }),
            2 => Ok(Filter::Bitshuffle),
            3 => Ok(Filter::Delta),
            35 => Ok(Filter::ByteDelta { runs: 0 }),
            4 => Err(fail!(
                Argument,
                "HOLDALL_OPT_FILTERS: precision is truncated with {}, before the other filters",
                Opt::Precision.name()
            )),
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
    if let Some(n) = options.given(Opt::Precision) {
        // the option is at most 52
        let bits = i8::try_from(n).ok().filter(|bits| *bits != 0);
        params.filters = params.filters.with_truncation(bits)?;
        if bits.is_some() {
            params
                .check(0)
                .map_err(|e| e.within(Opt::Precision.name()))?;
        }
    }
    Ok(params)
}
