//! How a chunk is made, and what can be asked for.
//!
//! Block lengths, when blocks are split, and what is stored as it is: all as the reference
//! libraries choose, so that chunks come out as small as theirs.
#![forbid(unsafe_code)]

use super::header::{
    BITSHUFFLED, COPIED, DELTA, Header, LONG, SHORT, SHUFFLED, VERSION_1, VERSION_2, WHOLE,
    splits_in_version_1,
};
use super::{Codec, Filter, Pipeline, filter};
use crate::error::{Result, fail};

/// The longest blocks that the reference libraries take.
const LONGEST_BLOCK: usize = 536_866_816;

/// Who is to read a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// c-blosc 1.x, and all that came after.
    Blosc1,
    /// c-blosc2.
    Blosc2,
}

/// Are blocks split into streams, one for each byte of an item?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Split {
    /// As the reference library does.
    #[default]
    Auto,
    /// Where its readers allow it.
    Always,
    /// Never.
    Never,
}

/// How to make a chunk.
#[derive(Clone, Debug)]
pub struct Params {
    /// Who is to read it.
    pub target: Target,
    /// The codec.
    pub codec: Codec,
    /// 0 (as it is) to 9.
    pub level: u8,
    /// The filters; for c-blosc 1.x none, shuffle or bitshuffle.
    pub filters: Pipeline,
    /// Bytes in an item.
    pub typesize: usize,
    /// Bytes in a block: rounded down to whole items, and no more than there are. None: as the
    /// reference library does.
    pub blocksize: Option<usize>,
    /// Are blocks split?
    pub split: Split,
}

impl Params {
    /// A chunk for this reader, with shuffle where items have more than a byte.
    pub fn new(target: Target, codec: Codec, level: u8, typesize: usize) -> Params {
        let filters = Pipeline::new(&[Filter::Shuffle { group: 0 }]).unwrap_or_default();
        Params {
            target,
            codec,
            level,
            filters,
            typesize,
            blocksize: None,
            split: Split::Auto,
        }
    }
}

fn searches_long(codec: Codec) -> bool {
    matches!(codec, Codec::Lz4Hc | Codec::Zlib | Codec::Zstd)
}

/// The block length of both libraries where blocks are not split.
fn whole_blocksize(codec: Codec, level: u8, n: usize) -> usize {
    const BASE: usize = 32 << 10;
    if n < BASE {
        return n;
    }
    let base = if searches_long(codec) { 2 * BASE } else { BASE };
    match level {
        0 => base / 4,
        1 => base / 2,
        2 => base,
        3 => base * 2,
        4 | 5 => base * 4,
        9 if searches_long(codec) => base * 16,
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
        let (allowed, usual) = match self.target {
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
            Split::Auto => allowed && usual,
            Split::Always => allowed,
            Split::Never => false,
        }
    }

    fn usual_blocksize(&self, typesize: usize, n: usize) -> usize {
        let whole = whole_blocksize(self.codec, self.level, n);
        if self.level == 0 {
            return whole;
        }
        match self.target {
            Target::Blosc1 if self.splits(typesize, whole) => {
                (whole.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20)
            }
            // the second library asks whether a single block would be split
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

    /// The block length for `n` bytes.
    fn choose_blocksize(&self, typesize: usize, n: usize) -> usize {
        if n < typesize {
            return 1;
        }
        let least = if self.target == Target::Blosc1 {
            128
        } else {
            1
        };
        let wanted = match self.blocksize {
            Some(b) => b.clamp(least, LONGEST_BLOCK),
            None => self.usual_blocksize(typesize, n),
        };
        let b = wanted.min(n);
        if b > typesize {
            b / typesize * typesize
        } else {
            b
        }
    }

    pub(super) fn check(&self, n: usize) -> Result<()> {
        let header = if self.target == Target::Blosc1 {
            SHORT
        } else {
            LONG
        };
        if n > i32::MAX as usize - header {
            return Err(fail!(
                Argument,
                "a chunk holds {} bytes at most, and this one would hold {n}",
                i32::MAX as usize - header
            ));
        }
        if self.level > 9 || self.typesize == 0 {
            return Err(fail!(
                Argument,
                "level {} and items of {} bytes; levels are 0 to 9, items have a byte or more",
                self.level,
                self.typesize
            ));
        }
        match self.target {
            Target::Blosc1 => self.check_for_1(),
            Target::Blosc2 => self.check_for_2(),
        }
    }

    fn check_for_1(&self) -> Result<()> {
        let mut filters = self.filters.iter();
        match (filters.next(), filters.next()) {
            (None | Some(Filter::Shuffle { group: 0 } | Filter::Bitshuffle), None) => Ok(()),
            _ => Err(fail!(
                Argument,
                "chunks for c-blosc 1 have one filter at most: shuffle or bitshuffle"
            )),
        }
    }

    fn check_for_2(&self) -> Result<()> {
        if self.codec == Codec::Snappy {
            return Err(fail!(Argument, "c-blosc2 does not read Snappy"));
        }
        let mut delta = false;
        for f in self.filters.iter() {
            match f {
                Filter::Truncate { .. } if delta => {
                    return Err(fail!(
                        Argument,
                        "floats are truncated before delta, not behind it"
                    ));
                }
                // its settings are checked with no data at all
                Filter::Truncate { bits } => {
                    filter::truncate(bits, self.stored_typesize(), &[], &mut [])?
                }
                Filter::Delta => delta = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// An item that is too long for the header's byte counts as so many items of a byte.
    pub(super) fn stored_typesize(&self) -> usize {
        if self.typesize > 255 {
            1
        } else {
            self.typesize
        }
    }

    /// The same, with all settings of its filters: readers know what 0 means only with the frame
    /// around the chunk.
    pub fn spelled(&self) -> Result<Params> {
        let spelled =
            self.filters
                .iter()
                .map(|f| match (f, u8::try_from(self.stored_typesize())) {
                    (Filter::ByteDelta { runs: 0 }, Ok(runs)) => Filter::ByteDelta { runs },
                    _ => f,
                });
        Ok(Params {
            filters: Pipeline::new(&spelled.collect::<Vec<_>>())?,
            ..self.clone()
        })
    }

    /// Bytes of content in a block of a chunk of `n` bytes.
    pub fn block_len(&self, n: usize) -> usize {
        self.header(n).blocksize
    }

    pub(super) fn header(&self, n: usize) -> Header {
        let typesize = self.stored_typesize();
        let (version, known, least) = match self.target {
            Target::Blosc1 => (VERSION_1, typesize, 128),
            // the second library chooses first and counts bytes later
            Target::Blosc2 => (VERSION_2, self.typesize, 32),
        };
        let blocksize = self.choose_blocksize(known, n);
        let copied = if self.level == 0 || n < least || n < typesize {
            COPIED
        } else {
            0
        };
        let split = if self.splits(typesize, blocksize) {
            0
        } else {
            WHOLE
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
        }
    }
}
