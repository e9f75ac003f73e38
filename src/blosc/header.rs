//! Chunk header: the first 16 or 32 bytes of a chunk.
//!
//! [`Header::parse`] checks that the fields are consistent. [`sections`] returns the block offsets
//! and the dictionary.
#![forbid(unsafe_code)]

use super::Codec;
use super::pipeline::{MAX_FILTERS, Pipeline};
use crate::error::{Error, Result, fail};

/// Length of the c-blosc 1.x header.
pub const BASE_HEADER_LEN: usize = 16;
/// Length of the c-blosc2 header.
pub const EXTENDED_HEADER_LEN: usize = 32;
/// Version of the chunk format that c-blosc 1.x writes and requires.
pub const VERSION_1: u8 = 2;
/// Version of the chunk format that c-blosc2 writes.
pub const VERSION_2: u8 = 5;
/// Version of chunks with blocks of variable length.
pub const VERSION_VARIABLE: u8 = 6;
/// Maximum plausible version. Versions increase by one, so a higher number means corruption, not a
/// later version.
const MAX_VERSION: u8 = 15;

pub const SHUFFLED: u8 = 0x01;
pub const COPIED: u8 = 0x02;
pub const BITSHUFFLED: u8 = 0x04;
pub const DELTA: u8 = 0x08;
pub const NOT_SPLIT: u8 = 0x10;
pub const EXTENDED: u8 = SHUFFLED | BITSHUFFLED;

pub(super) const WITH_DICTIONARY: u8 = 0x01;
const CODEC_PER_STREAM: u8 = 0x04;
const LAZY: u8 = 0x08;
const INSTRUMENTED: u8 = 0x80;
const VARIABLE_BLOCKS: u8 = 0x01;

/// Maximum length of a dictionary in chunks of any c-blosc2 release.
const MAX_DICTIONARY_LEN: usize = 128 << 10;

/// The kind of data after the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Compressed blocks.
    Blocks,
    /// The uncompressed content.
    Copied,
    /// No data: all bytes are zero.
    Zeros,
    /// No data: all items are NaN.
    Nan,
    /// One item, which is repeated.
    Value,
    /// No data: the bytes were never set. They read as zeros.
    Uninitialised,
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Version of the chunk format: 2 is c-blosc 1.x, 5 is c-blosc2.
    pub version: u8,
    /// Version of the codec's format, always 1.
    pub codec_version: u8,
    /// Flags; the three upper bits are the format of the codec.
    pub flags: u8,
    /// Size of an item in bytes, 1 to 255; 1 for larger items.
    pub typesize: usize,
    /// Size of the content in bytes.
    pub nbytes: usize,
    /// Size of the content of a block in bytes; the last block may be shorter.
    pub blocksize: usize,
    /// Size of the chunk in bytes, including its header.
    pub cbytes: usize,
    /// Ids of the filters. For a header of 16 bytes they are derived from the flags.
    pub filters: [u8; MAX_FILTERS],
    /// Settings of the filters.
    pub filters_meta: [u8; MAX_FILTERS],
    /// Number of the codec, if the flags refer to this field.
    pub user_codec: u8,
    /// Setting of the codec.
    pub codec_meta: u8,
    /// Additional flags of headers of 32 bytes.
    pub more_flags: u8,
    /// Number of blocks, if they have lengths of their own; `blocksize` is their sum.
    pub variable_blocks: Option<usize>,
}

/// Returns the ids of the filters that the flags of a header of 16 bytes state.
pub fn filters_from_flags(flags: u8) -> [u8; MAX_FILTERS] {
    let shuffle = match flags & EXTENDED {
        0 => 0,
        BITSHUFFLED => 2,
        _ => 1,
    };
    let delta = if flags & DELTA != 0 { 3 } else { 0 };
    [0, 0, 0, 0, delta, shuffle]
}

fn size(bytes: [u8; 4], what: &str) -> Result<usize> {
    let n = i32::from_le_bytes(bytes);
    usize::try_from(n).map_err(|_| fail!(Format, "the chunk header has a negative {what} ({n})"))
}

impl Header {
    /// Parses the header at the start of `bytes`. It needs 32 bytes, or 16 bytes for c-blosc 1.x.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let Some((base, rest)) = bytes.split_first_chunk::<BASE_HEADER_LEN>() else {
            return Err(fail!(
                Format,
                "the chunk header is cut short (expected at least {BASE_HEADER_LEN} bytes, found {})",
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
            1..=6 => {}
            0 | 7..=MAX_VERSION => {
                return Err(fail!(
                    Version,
                    "unsupported version {version} of the chunk format (expected 1 to 6)"
                ));
            }
            _ => {
                return Err(fail!(
                    Format,
                    "invalid version {version} of the chunk format (expected at most {MAX_VERSION})"
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
            filters: [0; MAX_FILTERS],
            filters_meta: [0; MAX_FILTERS],
            user_codec: 0,
            codec_meta: 0,
            more_flags: 0,
            variable_blocks: None,
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
                "the chunk of version {} claims a header of {EXTENDED_HEADER_LEN} bytes (expected {BASE_HEADER_LEN})",
                self.version
            ));
        }
        let Some(rest) = rest.first_chunk::<{ EXTENDED_HEADER_LEN - BASE_HEADER_LEN }>() else {
            return Err(fail!(
                Format,
                "the chunk header is cut short (expected {EXTENDED_HEADER_LEN} bytes, found {})",
                BASE_HEADER_LEN + rest.len()
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
            // the first release of c-blosc2 had five filters and left the sixth slot uninitialised
            let [.., id] = &mut self.filters;
            *id = 0;
        }
        if later & VARIABLE_BLOCKS != 0 {
            (self.variable_blocks, self.blocksize) = (Some(self.blocksize), self.nbytes);
        }
        if later & !VARIABLE_BLOCKS != 0 {
            return Err(fail!(
                Version,
                "the chunk has unknown flags {later:#04x}, of a later version of the format"
            ));
        }
        if more & LAZY != 0 {
            return Err(fail!(
                Format,
                "lazy chunks, whose blocks are stored elsewhere, are not valid here"
            ));
        }
        if more & (CODEC_PER_STREAM | INSTRUMENTED) != 0 {
            return Err(fail!(
                Unsupported,
                "chunks that are instrumented or have a codec per stream are not supported (flags {more:#04x})"
            ));
        }
        Ok(())
    }

    fn filters_from_flags(&mut self) -> Result<()> {
        if self.flags & DELTA != 0 && self.version <= VERSION_1 {
            return Err(fail!(
                Version,
                "the chunk has flag {DELTA:#04x}, which does not exist in version {}",
                self.version
            ));
        }
        self.filters = filters_from_flags(self.flags);
        Ok(())
    }

    fn check(&mut self) -> Result<()> {
        if self.cbytes < self.len() {
            return Err(fail!(
                Format,
                "the chunk claims a size of {} bytes, less than its header",
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
        // for other content these fields have no meaning, and some writers set them to 0
        (self.blocksize, self.typesize) = (self.blocksize.max(1), self.typesize.max(1));
        if self.nbytes == 0 {
            return Ok(());
        }
        if self.version > VERSION_1 {
            // c-blosc2 treats a block that is longer than the content as a full block, c-blosc 1 as
            // a short last one
            self.blocksize = self.blocksize.min(self.nbytes);
        }
        let body = self.cbytes - self.len();
        match content {
            Content::Blocks if body / 4 < self.stored_blocks() => Err(fail!(
                Format,
                "the chunk claims {} blocks, which do not fit into its {} bytes",
                self.stored_blocks(),
                self.cbytes
            )),
            Content::Blocks if self.variable_blocks == Some(0) => {
                Err(fail!(Format, "the chunk claims to have no blocks"))
            }
            Content::Copied if body != self.nbytes => Err(fail!(
                Format,
                "the chunk of {} bytes claims {} bytes of uncompressed content",
                self.cbytes,
                self.nbytes
            )),
            Content::Nan
                if !(self.typesize == 4 || self.typesize == 8)
                    || !self.nbytes.is_multiple_of(self.typesize) =>
            {
                Err(fail!(
                    Format,
                    "the chunk claims {} bytes of NaN with items of {} bytes (expected whole items of 4 or 8 bytes)",
                    self.nbytes,
                    self.typesize
                ))
            }
            Content::Value if body == 0 || !self.nbytes.is_multiple_of(body) => Err(fail!(
                Format,
                "the chunk claims {} bytes of a repeated value of {body} bytes, which does not divide them",
                self.nbytes
            )),
            _ => Ok(()),
        }
    }

    /// Returns the encoded header and its length.
    pub(super) fn write(&self) -> Result<([u8; EXTENDED_HEADER_LEN], usize)> {
        let mut out = [0; EXTENDED_HEADER_LEN];
        let number = |n| match u32::try_from(n) {
            Ok(n) => Ok(n.to_le_bytes()),
            Err(_) => Err(Error::internal(format_args!(
                "{n} in the header of a chunk"
            ))),
        };
        let numbers = [
            number(self.nbytes)?,
            number(self.variable_blocks.unwrap_or(self.blocksize))?,
            number(self.cbytes)?,
        ];
        let later = match self.variable_blocks {
            Some(_) => VARIABLE_BLOCKS,
            None => 0,
        };
        // larger items are stored as bytes
        let typesize = u8::try_from(self.typesize).unwrap_or(1);
        let first = [self.version, self.codec_version, self.flags, typesize];
        let second = [self.user_codec, self.codec_meta];
        let last = [later, self.more_flags];
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
        Ok((out, self.len()))
    }

    /// Returns whether the header has 32 bytes.
    pub fn extended(&self) -> bool {
        self.flags & EXTENDED == EXTENDED
    }

    /// Returns the length of the header: 16 or 32.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        if self.extended() {
            EXTENDED_HEADER_LEN
        } else {
            BASE_HEADER_LEN
        }
    }

    /// Returns the kind of data after the header.
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
                    "the chunk has an unknown special value type {n}"
                ));
            }
        })
    }

    /// Returns the codec of the blocks.
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
                "codec format number {n} in the chunk's flags is not known"
            )),
        }
    }

    /// Returns the filters of the blocks.
    pub fn pipeline(&self) -> Result<Pipeline> {
        Pipeline::from_slots(self.filters, self.filters_meta)
    }

    /// Returns whether the content ends with an item, which chunks of one value must.
    pub fn has_whole_items(&self) -> bool {
        self.nbytes.is_multiple_of(self.typesize)
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        self.nbytes.div_ceil(self.blocksize)
    }

    /// Returns the number of offsets in the table of blocks.
    pub(super) fn stored_blocks(&self) -> usize {
        self.variable_blocks.unwrap_or_else(|| self.blocks())
    }

    /// Returns the size of the content of block `index` in bytes.
    pub fn block_len(&self, index: usize) -> usize {
        self.nbytes
            .saturating_sub(index.saturating_mul(self.blocksize))
            .min(self.blocksize)
    }

    /// Returns the offset of block `index` in the chunk, from its entry in the table of block
    /// offsets. No block begins before `earliest`.
    pub(super) fn block_start(
        &self,
        index: usize,
        entry: [u8; 4],
        earliest: usize,
    ) -> Result<usize> {
        let start = u32::from_le_bytes(entry) as usize;
        if start < earliest || start >= self.cbytes {
            return Err(fail!(Format, "block {index} begins outside of its chunk"));
        }
        Ok(start)
    }

    /// Returns the number of streams of block `index`.
    pub(super) fn streams(&self, index: usize) -> usize {
        let full = self.block_len(index) == self.blocksize;
        // c-blosc 1.x had this rule before the flag existed
        let known = self.version > VERSION_1 || splits_in_version_1(self.typesize, self.blocksize);
        if self.flags & NOT_SPLIT == 0 && full && known {
            self.typesize
        } else {
            1
        }
    }

    /// Returns the number of streams of all blocks.
    pub(super) fn all_streams(&self) -> usize {
        (0..self.blocks()).map(|i| self.streams(i)).sum()
    }

    /// Returns whether a dictionary follows the table of block offsets.
    pub fn has_dictionary(&self) -> bool {
        self.extended()
            && self.more_flags & WITH_DICTIONARY != 0
            && self.content() == Ok(Content::Blocks)
    }
}

/// Returns whether readers of the 1.x family expect full blocks to be split.
pub fn splits_in_version_1(typesize: usize, blocksize: usize) -> bool {
    typesize <= 16 && blocksize / typesize >= 128
}

/// Returns the table of block offsets (four bytes each) and the dictionary of a chunk of blocks.
/// `chunk` must contain both.
pub fn sections<'c>(header: &Header, chunk: &'c [u8]) -> Result<(&'c [u8], Option<&'c [u8]>)> {
    let cut_short = || {
        fail!(
            Format,
            "the chunk ends within its table of block offsets or its dictionary"
        )
    };
    let (starts, rest) = chunk
        .get(header.len()..)
        .and_then(|b| b.split_at_checked(4 * header.stored_blocks()))
        .ok_or_else(cut_short)?;
    if !header.has_dictionary() {
        return Ok((starts, None));
    }
    let (n, rest) = rest.split_first_chunk::<4>().ok_or_else(cut_short)?;
    let n = size(*n, "dictionary length")?;
    if n == 0 || n > MAX_DICTIONARY_LEN {
        return Err(fail!(
            Format,
            "the chunk claims a dictionary of {n} bytes (expected 1 to {MAX_DICTIONARY_LEN})"
        ));
    }
    Ok((starts, Some(rest.get(..n).ok_or_else(cut_short)?)))
}
