//! Parameters of encoding.
//!
//! Block sizes, splitting of blocks, and the decision to store content uncompressed follow the
//! reference libraries, so that chunks are as small as theirs.
#![forbid(unsafe_code)]

use super::header::{
    BASE_HEADER_LEN, BITSHUFFLED, COPIED, DELTA, EXTENDED_HEADER_LEN, Header, NOT_SPLIT, SHUFFLED,
    VERSION_1, VERSION_2, splits_in_version_1,
};
use super::{Codec, Filter, Pipeline, filter};
use crate::error::{Result, fail};

/// Maximum block size of the reference libraries.
const MAX_BLOCK_SIZE: usize = 536_866_816;

/// The library that must be able to read a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// c-blosc 1.x and all later versions.
    Blosc1,
    /// c-blosc2.
    Blosc2,
}

/// Whether blocks are split into streams, one for each byte of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Split {
    /// Like the reference library.
    #[default]
    Auto,
    /// If the target's readers allow it.
    Always,
    /// Never.
    Never,
}

/// Parameters of a chunk.
#[derive(Clone, Debug)]
pub struct Params {
    /// The library that must be able to read the chunk.
    pub target: Target,
    /// The codec.
    pub codec: Codec,
    /// Compression level: 0 (uncompressed) to 9.
    pub level: u8,
    /// The filters. For c-blosc 1.x: none, shuffle, or bitshuffle.
    pub filters: Pipeline,
    /// Size of an item in bytes.
    pub typesize: usize,
    /// Block size in bytes. It is rounded down to whole items and limited to the size of the
    /// content. `None`: like the reference library.
    pub blocksize: Option<usize>,
    /// Whether blocks are split.
    pub split: Split,
    /// Whether a chunk has a dictionary, if a useful one can be trained.
    pub dictionary: bool,
}

impl Params {
    /// Creates parameters for this target, with shuffle, which has no effect on items of one byte.
    pub fn new(target: Target, codec: Codec, level: u8, typesize: usize) -> Params {
        Params {
            target,
            codec,
            level,
            filters: Pipeline::single(Filter::Shuffle { group: 0 }),
            typesize,
            blocksize: None,
            split: Split::Auto,
            dictionary: false,
        }
    }
}

fn is_high_ratio(codec: Codec) -> bool {
    matches!(codec, Codec::Lz4Hc | Codec::Zlib | Codec::Zstd)
}

/// Returns the default block size of both libraries for blocks that are not split.
fn unsplit_blocksize(codec: Codec, level: u8, n: usize) -> usize {
    const BASE: usize = 32 << 10;
    if n < BASE {
        return n;
    }
    let base = if is_high_ratio(codec) { 2 * BASE } else { BASE };
    match level {
        0 => base / 4,
        1 => base / 2,
        2 => base,
        3 => base * 2,
        4 | 5 => base * 4,
        9 if is_high_ratio(codec) => base * 16,
        _ => base * 8,
    }
}

impl Params {
    fn shuffles(&self) -> bool {
        self.filters
            .iter()
            .any(|f| matches!(f, Filter::Shuffle { .. }))
    }

    fn splits(&self, typesize: usize, blocksize: usize) -> bool {
        let (allowed, by_default) = match self.target {
            Target::Blosc1 => (
                splits_in_version_1(typesize, blocksize),
                self.codec != Codec::Zstd,
            ),
            Target::Blosc2 => {
                let fast = matches!(self.codec, Codec::BloscLz | Codec::Lz4)
                    || self.codec == Codec::Zstd && self.level <= 5;
                (
                    blocksize.is_multiple_of(typesize),
                    fast && self.shuffles() && typesize <= 16 && blocksize / typesize >= 32,
                )
            }
        };
        match self.split {
            Split::Auto => allowed && by_default,
            Split::Always => allowed,
            Split::Never => false,
        }
    }

    fn default_blocksize(&self, typesize: usize, n: usize) -> usize {
        let whole = unsplit_blocksize(self.codec, self.level, n);
        if self.level == 0 {
            return whole;
        }
        match self.target {
            Target::Blosc1 if self.splits(typesize, whole) => {
                (whole.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20)
            }
            // c-blosc2 checks whether a single block of the whole content would be split
            Target::Blosc2 if self.splits(typesize, n / typesize * typesize) => {
                let stream: usize = match self.level {
                    1..=3 => 32 << 10,
                    4..=6 => 64 << 10,
                    7 => 128 << 10,
                    8 => 256 << 10,
                    _ => 512 << 10,
                };
                (stream * typesize).clamp(32 << 10, 4 << 20)
            }
            _ => whole,
        }
    }

    /// Returns the block size for `n` bytes of content.
    fn choose_blocksize(&self, typesize: usize, n: usize) -> usize {
        if n < typesize {
            return 1;
        }
        let min = if self.target == Target::Blosc1 {
            128
        } else {
            1
        };
        let requested = match self.blocksize {
            Some(b) => b.clamp(min, MAX_BLOCK_SIZE),
            None => self.default_blocksize(typesize, n),
        };
        let b = requested.min(n);
        if b > typesize {
            b / typesize * typesize
        } else {
            b
        }
    }

    /// Returns an error if a chunk with `n` bytes of content cannot be encoded.
    pub fn check(&self, n: usize) -> Result<()> {
        let header = if self.target == Target::Blosc1 {
            BASE_HEADER_LEN
        } else {
            EXTENDED_HEADER_LEN
        };
        if n > i32::MAX as usize - header {
            return Err(fail!(
                Argument,
                "the content of a chunk is too large (expected at most {} bytes, found {n})",
                i32::MAX as usize - header
            ));
        }
        if self.level > 9 || self.typesize == 0 {
            return Err(fail!(
                Argument,
                "invalid level {} or item size {} (expected a level of 0 to 9 and an item size of at least 1)",
                self.level,
                self.typesize
            ));
        }
        match self.target {
            Target::Blosc1 => self.check_blosc1(),
            Target::Blosc2 => self.check_blosc2(),
        }
    }

    fn check_blosc1(&self) -> Result<()> {
        let mut filters = self.filters.iter();
        match (filters.next(), filters.next()) {
            _ if self.dictionary => Err(fail!(
                Argument,
                "chunks for c-blosc 1 cannot have a dictionary"
            )),
            (None | Some(Filter::Shuffle { group: 0 } | Filter::Bitshuffle), None) => Ok(()),
            _ => Err(fail!(
                Argument,
                "chunks for c-blosc 1 can have one filter: shuffle or bitshuffle"
            )),
        }
    }

    fn check_blosc2(&self) -> Result<()> {
        if self.codec == Codec::Snappy {
            return Err(fail!(Argument, "c-blosc2 does not support Snappy"));
        }
        if self.dictionary && !self.codec.uses_dictionaries() {
            return Err(fail!(
                Argument,
                "{} has no dictionaries (expected lz4, lz4hc or zstd)",
                self.codec.name()
            ));
        }
        let (mut delta, mut only_truncation) = (false, true);
        for f in self.filters.iter() {
            match f {
                Filter::Truncate { .. } if delta => {
                    return Err(fail!(
                        Argument,
                        "the truncation filter must precede the delta filter"
                    ));
                }
                Filter::Truncate { .. }
                    if self.blocksize.is_some_and(|b| b < self.stored_typesize()) =>
                {
                    return Err(fail!(
                        Argument,
                        "precision can be truncated only in blocks of at least one item"
                    ));
                }
                // checks only the settings: there are no data
                Filter::Truncate { bits } => {
                    filter::truncate(bits, self.stored_typesize(), &[], &mut [])?
                }
                // c-blosc2 reads other content otherwise: its reference is the decoded first block
                Filter::Delta if !only_truncation => {
                    return Err(fail!(
                        Argument,
                        "the delta filter must be the first filter apart from truncation, and occur once"
                    ));
                }
                Filter::Delta => (delta, only_truncation) = (true, false),
                _ => only_truncation = false,
            }
        }
        Ok(())
    }

    /// Returns the typesize in the header. Items that are too large for its byte are treated as
    /// items of one byte.
    pub(super) fn stored_typesize(&self) -> usize {
        if self.typesize > 255 {
            1
        } else {
            self.typesize
        }
    }

    /// Returns the parameters with explicit filter settings. Readers of a chunk outside of a frame
    /// do not know the meaning of 0.
    pub fn with_explicit_settings(&self) -> Result<Params> {
        let with_explicit_settings =
            self.filters
                .iter()
                .map(|f| match (f, u8::try_from(self.stored_typesize())) {
                    (Filter::ByteDelta { runs: 0 }, Ok(runs)) => Filter::ByteDelta { runs },
                    _ => f,
                });
        Ok(Params {
            filters: Pipeline::new(&with_explicit_settings.collect::<Vec<_>>())?,
            ..self.clone()
        })
    }

    /// Returns the size of the content of a block in bytes, for a chunk of `n` bytes.
    pub fn block_len(&self, n: usize) -> usize {
        self.header(n).blocksize
    }

    pub(super) fn header(&self, n: usize) -> Header {
        let typesize = self.stored_typesize();
        let (version, known, min) = match self.target {
            Target::Blosc1 => (VERSION_1, typesize, 128),
            // c-blosc2 chooses the block size before it limits the typesize
            Target::Blosc2 => (VERSION_2, self.typesize, 32),
        };
        let blocksize = self.choose_blocksize(known, n);
        let copied = if self.level == 0 || n < min || n < typesize {
            COPIED
        } else {
            0
        };
        let split = if self.splits(typesize, blocksize) {
            0
        } else {
            NOT_SPLIT
        };
        let codec = split | self.codec.format() << 5;
        let (ids, metas) = self.filters.slots();
        let flags = match self.target {
            Target::Blosc1 if self.shuffles() => SHUFFLED | copied | codec,
            Target::Blosc1 if self.filters.iter().next().is_some() => BITSHUFFLED | copied | codec,
            Target::Blosc1 => copied | codec,
            Target::Blosc2 if copied != 0 => SHUFFLED | BITSHUFFLED | copied,
            Target::Blosc2 => {
                SHUFFLED | BITSHUFFLED | codec | if ids.contains(&3) { DELTA } else { 0 }
            }
        };
        Header {
            version,
            codec_version: 1,
            flags,
            typesize,
            nbytes: n,
            blocksize,
            cbytes: 0,
            filters: ids,
            filters_meta: metas,
            user_codec: self.codec.number(),
            codec_meta: 0,
            more_flags: 0,
            variable_blocks: None,
        }
    }
}
