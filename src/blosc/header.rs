//! The first 16 or 32 bytes of a chunk, checked: after `parse`, no two of its numbers contradict
//! each other. What else a chunk holds is in `sections`: where its blocks begin, and its
//! dictionary.
#![forbid(unsafe_code)]

use super::Codec;
use super::pipeline::{MOST, Pipeline};
use crate::error::{Result, fail};

/// Length of the header for c-blosc 1.x.
pub const SHORT: usize = 16;
/// Length of the header for c-blosc2.
pub const LONG: usize = 32;
/// The version that c-blosc 1.x writes and demands.
pub const VERSION_1: u8 = 2;
/// The version that c-blosc2 writes.
pub const VERSION_2: u8 = 5;
/// Versions count up by one. A higher number than this is corruption, not a later version.
const MOST_VERSION: u8 = 15;

pub const SHUFFLED: u8 = 0x01;
pub const COPIED: u8 = 0x02;
pub const BITSHUFFLED: u8 = 0x04;
pub const DELTA: u8 = 0x08;
pub const WHOLE: u8 = 0x10;
const EXTENDED: u8 = SHUFFLED | BITSHUFFLED;

const WITH_DICTIONARY: u8 = 0x01;
const CODEC_PER_STREAM: u8 = 0x04;
const LAZY: u8 = 0x08;
const INSTRUMENTED: u8 = 0x80;
const VARIABLE_BLOCKS: u8 = 0x01;

/// The largest dictionary that any release of c-blosc2 wrote.
const DICTIONARY_MOST: usize = 128 << 10;

/// What stands behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Compressed blocks.
    Blocks,
    /// The bytes themselves.
    Copied,
    /// Nothing: all bytes are zero.
    Zeros,
    /// Nothing: all items are a float that is no number.
    Nan,
    /// One item, which is repeated.
    Value,
    /// Nothing: the bytes were never set. They are read as zeros.
    Uninitialised,
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The version of the chunk format: 2 is c-blosc 1.x, 5 c-blosc2.
    pub version: u8,
    /// The version of the codec's format, 1.
    pub codec_version: u8,
    /// The flags, with the codec in the three upper bits.
    pub flags: u8,
    /// Bytes in an item, 1 to 255; 1 for those that do not fit.
    pub typesize: usize,
    /// Bytes of content.
    pub nbytes: usize,
    /// Bytes of content in a block; the last block may have less.
    pub blocksize: usize,
    /// Bytes of the chunk, its header among them.
    pub cbytes: usize,
    /// The ids of the filters. For a header of 16 bytes they are what its flags say.
    pub filters: [u8; MOST],
    /// Their settings.
    pub filters_meta: [u8; MOST],
    /// The number of the codec, where the flags say that it is here.
    pub user_codec: u8,
    /// Its setting.
    pub codec_meta: u8,
    /// The flags that only headers of 32 bytes have.
    pub more_flags: u8,
}

fn size(bytes: [u8; 4], what: &str) -> Result<usize> {
    let n = i32::from_le_bytes(bytes);
    usize::try_from(n).map_err(|_| fail!(Format, "the chunk header says {n} as its {what}"))
}

impl Header {
    /// Reads the header at the start of `bytes`: 32 of them are enough, and 16 for c-blosc 1.x.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let Some((base, rest)) = bytes.split_first_chunk::<SHORT>() else {
            return Err(fail!(
                Format,
                "a chunk header has {SHORT} bytes or more, and {} are here",
                bytes.len()
            ));
        };
        let [
            version,
            codec_version,
            flags,
            typesize,
            n0,
            n1,
            n2,
            n3,
            b0,
            b1,
            b2,
            b3,
            c0,
            c1,
            c2,
            c3,
        ] = *base;
        match version {
            1..=5 => {}
            6 => return Err(fail!(Unsupported, "a chunk with blocks of variable length")),
            0 | 7..=MOST_VERSION => {
                return Err(fail!(
                    Version,
                    "version {version} of the chunk format; 1 to 5 are known"
                ));
            }
            _ => {
                return Err(fail!(
                    Format,
                    "version {version} of the chunk format (expected at most {MOST_VERSION})"
                ));
            }
        }
        let mut h = Header {
            version,
            codec_version,
            flags,
            typesize: usize::from(typesize),
            nbytes: size([n0, n1, n2, n3], "length")?,
            blocksize: size([b0, b1, b2, b3], "block length")?,
            cbytes: size([c0, c1, c2, c3], "compressed length")?,
            filters: [0; MOST],
            filters_meta: [0; MOST],
            user_codec: 0,
            codec_meta: 0,
            more_flags: 0,
        };
        if h.extended() {
            h.parse_extension(rest)?
        } else {
            h.filters_from_flags()?
        }
        h.check()?;
        Ok(h)
    }

    fn parse_extension(&mut self, rest: &[u8]) -> Result<()> {
        if self.version <= VERSION_1 {
            return Err(fail!(
                Format,
                "the chunk is of version {} and claims a header of {LONG} bytes",
                self.version
            ));
        }
        let Some(rest) = rest.first_chunk::<{ LONG - SHORT }>() else {
            return Err(fail!(
                Format,
                "this chunk header has {LONG} bytes, and {} are here",
                SHORT + rest.len()
            ));
        };
        let [
            f0,
            f1,
            f2,
            f3,
            f4,
            f5,
            user_codec,
            codec_meta,
            m0,
            m1,
            m2,
            m3,
            m4,
            m5,
            later,
            more,
        ] = *rest;
        (self.filters, self.filters_meta) = ([f0, f1, f2, f3, f4, f5], [m0, m1, m2, m3, m4, m5]);
        (self.user_codec, self.codec_meta, self.more_flags) = (user_codec, codec_meta, more);
        if self.version == 3 {
            // the first c-blosc2 had five filters and left the sixth place as it was
            let [.., id] = &mut self.filters;
            *id = 0;
        }
        if later & VARIABLE_BLOCKS != 0 {
            return Err(fail!(Unsupported, "a chunk with blocks of variable length"));
        }
        if later != 0 {
            return Err(fail!(
                Version,
                "the chunk has the flags {later:#04x}, of a later version of the format"
            ));
        }
        if more & LAZY != 0 {
            return Err(fail!(
                Format,
                "the chunk says that its blocks are elsewhere (a lazy chunk)"
            ));
        }
        if more & (CODEC_PER_STREAM | INSTRUMENTED) != 0 {
            return Err(fail!(
                Unsupported,
                "a chunk with the flags {more:#04x}: instrumented, or a codec for each stream"
            ));
        }
        Ok(())
    }

    fn filters_from_flags(&mut self) -> Result<()> {
        let [.., before, last] = &mut self.filters;
        if self.flags & SHUFFLED != 0 {
            *last = 1;
        } else if self.flags & BITSHUFFLED != 0 {
            *last = 2;
        }
        if self.flags & DELTA != 0 {
            if self.version <= VERSION_1 {
                return Err(fail!(
                    Version,
                    "the chunk has flag {DELTA:#04x}, which version {} does not have",
                    self.version
                ));
            }
            *before = 3;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<()> {
        if self.cbytes < self.len() {
            return Err(fail!(
                Format,
                "the chunk claims {} bytes, less than its header",
                self.cbytes
            ));
        }
        let content = self.content()?;
        if content == Content::Blocks && (self.blocksize == 0 || self.typesize == 0) {
            return Err(fail!(
                Format,
                "the chunk claims blocks of {} bytes and items of {}",
                self.blocksize,
                self.typesize
            ));
        }
        // elsewhere they say nothing, and some writers let them be 0
        (self.blocksize, self.typesize) = (self.blocksize.max(1), self.typesize.max(1));
        if self.nbytes == 0 {
            return Ok(());
        }
        if self.version > VERSION_1 {
            // c-blosc2 takes such a block for a full one, c-blosc 1 for a short last one
            self.blocksize = self.blocksize.min(self.nbytes);
        }
        let body = self.cbytes - self.len();
        match content {
            Content::Blocks if body / 4 < self.blocks() => Err(fail!(
                Format,
                "{} blocks have no room in a chunk of {} bytes",
                self.blocks(),
                self.cbytes
            )),
            Content::Copied if body != self.nbytes => Err(fail!(
                Format,
                "a chunk of {} bytes claims {} uncompressed ones",
                self.cbytes,
                self.nbytes
            )),
            Content::Nan
                if !(self.typesize == 4 || self.typesize == 8)
                    || !self.nbytes.is_multiple_of(self.typesize) =>
            {
                Err(fail!(
                    Format,
                    "a chunk of {} bytes claims to be all NaN, {} bytes each",
                    self.nbytes,
                    self.typesize
                ))
            }
            Content::Value if body == 0 || !self.nbytes.is_multiple_of(body) => Err(fail!(
                Format,
                "a chunk of {} bytes claims to be one value of {body} bytes, repeated",
                self.nbytes
            )),
            _ => Ok(()),
        }
    }

    /// The bytes of the header.
    pub(super) fn write(&self) -> ([u8; LONG], usize) {
        let mut out = [0; LONG];
        let numbers = [self.nbytes, self.blocksize, self.cbytes]
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
        let typesize = u8::try_from(self.typesize).unwrap_or(1);
        let first = [self.version, self.codec_version, self.flags, typesize];
        let second = [self.user_codec, self.codec_meta];
        let last = [0, self.more_flags];
        let all = first
            .iter()
            .chain(numbers.as_flattened())
            .chain(&self.filters)
            .chain(&second)
            .chain(&self.filters_meta)
            .chain(&last);
        for (to, from) in out.iter_mut().zip(all) {
            *to = *from;
        }
        (out, self.len())
    }

    /// Does it have 32 bytes?
    pub fn extended(&self) -> bool {
        self.flags & EXTENDED == EXTENDED
    }

    /// 16 or 32.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        if self.extended() { LONG } else { SHORT }
    }

    /// What stands behind it.
    pub fn content(&self) -> Result<Content> {
        Ok(match self.more_flags >> 4 & 7 {
            0 if self.flags & COPIED != 0 || self.nbytes == 0 => Content::Copied,
            0 => Content::Blocks,
            1 => Content::Zeros,
            2 => Content::Nan,
            3 => Content::Value,
            4 => Content::Uninitialised,
            n => {
                return Err(fail!(
                    Version,
                    "the chunk is special in a way, {n}, that is not known"
                ));
            }
        })
    }

    /// The codec of its blocks.
    pub fn codec(&self) -> Result<Codec> {
        let n = self.flags >> 5;
        let lz4hc = self.extended() && self.user_codec == Codec::Lz4Hc.number();
        match n {
            0 => Ok(Codec::BloscLz),
            1 if lz4hc => Ok(Codec::Lz4Hc),
            1 => Ok(Codec::Lz4),
            2 => Ok(Codec::Snappy),
            3 => Ok(Codec::Zlib),
            4 => Ok(Codec::Zstd),
            6 => Err(fail!(Codec, "codec {} is not known", self.user_codec)),
            _ => Err(fail!(
                Codec,
                "the codec with the number {n} in a chunk's flags is not known"
            )),
        }
    }

    /// The filters of its blocks.
    pub fn pipeline(&self) -> Result<Pipeline> {
        Pipeline::from_slots(self.filters, self.filters_meta)
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> usize {
        self.nbytes.div_ceil(self.blocksize)
    }

    /// Bytes of content in one of them.
    pub fn block_len(&self, index: usize) -> usize {
        self.nbytes
            .saturating_sub(index.saturating_mul(self.blocksize))
            .min(self.blocksize)
    }

    /// How many streams a block is split into.
    pub(super) fn streams(&self, index: usize) -> usize {
        let full = self.block_len(index) == self.blocksize;
        // c-blosc 1.x had this rule before it had the flag
        let known = self.version > VERSION_1 || splits_in_version_1(self.typesize, self.blocksize);
        if self.flags & WHOLE == 0 && full && known {
            self.typesize
        } else {
            1
        }
    }

    /// Is there a dictionary behind the table of blocks?
    pub fn has_dictionary(&self) -> bool {
        self.extended()
            && self.more_flags & WITH_DICTIONARY != 0
            && self.content() == Ok(Content::Blocks)
    }
}

/// Whether readers of the 1.x family expect full blocks to be split at all.
pub fn splits_in_version_1(typesize: usize, blocksize: usize) -> bool {
    typesize <= 16 && blocksize / typesize >= 128
}

/// The bytes behind the header of a chunk of blocks: where each block begins, four bytes each, and
/// the dictionary. `chunk` holds at least these.
pub fn sections<'c>(header: &Header, chunk: &'c [u8]) -> Result<(&'c [u8], Option<&'c [u8]>)> {
    let none = || {
        fail!(
            Format,
            "the chunk ends within its table of blocks or its dictionary"
        )
    };
    let (starts, rest) = chunk
        .get(header.len()..)
        .and_then(|b| b.split_at_checked(4 * header.blocks()))
        .ok_or_else(none)?;
    if !header.has_dictionary() {
        return Ok((starts, None));
    }
    let (n, rest) = rest.split_first_chunk::<4>().ok_or_else(none)?;
    let n = size(*n, "dictionary's length")?;
    if n == 0 || n > DICTIONARY_MOST {
        return Err(fail!(Format, "the chunk claims a dictionary of {n} bytes"));
    }
    Ok((starts, Some(rest.get(..n).ok_or_else(none)?)))
}
