//! The header of a frame: the lengths of its parts, the encoding parameters of its chunks, and
//! metalayers of fixed length.
//!
//! [`Header::parse`] validates each number by itself. [`Header::index_range`] validates that the
//! parts fit into the frame, because this requires the length of the trailer.
#![forbid(unsafe_code)]

use super::metalayers::{self, MetalayerKind, Named};
use super::msgpack::{ARRAY, EXT_16, FALSE, Fields, INT_16, INT_32, INT_64, STR, TRUE, UINT_64};
use super::trailer;
use crate::blosc::{self, Codec, Params, Pipeline, Split, StoredCodec, StoredEncoding, Target};
use crate::error::{Result, fail};
use std::ops::Range;

/// The maximum number of chunks: the index is one Blosc chunk of 8 bytes per chunk.
pub const MAX_CHUNKS: u64 = (i32::MAX as u64 - blosc::EXTENDED_HEADER_LEN as u64) / 8;
/// Bytes before the metalayers.
pub const FIXED: usize = 87;
/// Offset of a byte that the reference library writes as 0: the last one before the metalayers.
pub const MARK_AT: usize = FIXED - 1;
/// Offset of the header length.
pub const LEN: usize = 11;
/// Offset of the frame length.
pub const FRAME_LEN: usize = 16;
const KIND: usize = 26;
/// Offset of the number of content bytes.
pub const NBYTES: usize = 30;
/// Offset of the number of chunk bytes.
pub const CBYTES: usize = 39;
/// Offset of the block size.
pub const BLOCKSIZE: usize = 53;
/// Offset of the chunk size.
pub const CHUNKSIZE: usize = 58;
/// Offset of the flag for metalayers in the trailer.
pub const HAS_VLMETA: usize = 68;
/// Offsets and values of the bytes after the magic that are equal in all headers.
const MARKS: [(usize, u8); 11] = [
    (LEN - 1, INT_32),
    (FRAME_LEN - 1, UINT_64),
    (24, STR | 4),
    (NBYTES - 1, INT_64),
    (CBYTES - 1, INT_64),
    (47, INT_32),
    (BLOCKSIZE - 1, INT_32),
    (CHUNKSIZE - 1, INT_32),
    (62, INT_16),
    (65, INT_16),
    (69, EXT_16),
];
/// The first bytes of a frame.
pub const MAGIC: &[u8; 10] = b"\x9e\xa8b2frame\0";

const FILTER_SLOTS: usize = 6;
/// The field `chunksize` of a frame that never had a chunk and was created without a chunk size.
const NO_CHUNKSIZE: i32 = -1;

const WIDE_OFFSETS: u8 = 0x10;
const OFFSETS: u8 = 0x30;
const VARIABLE_CHUNKS: u8 = 0x40;
const VARIABLE_BLOCKS: u8 = 0x80;
/// Flag of `other_flags`.
const DICTIONARIES: u8 = 0x01;
/// Value of the codec field if the codec number is in a field of its own.
const ELSEWHERE: u8 = 6;

/// The header of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the frame: the offset where its trailer ends. Bytes after it are ignored.
    pub frame_len: u64,
    /// The version of the format: 2, or 3 if chunks may have variable length.
    pub version: u8,
    /// Chunks have variable length. Also set in a frame without content whose chunk size is 0.
    pub variable_chunks: bool,
    /// Blocks have variable length.
    pub variable_blocks: bool,
    /// Chunks are files of their own.
    pub sparse: bool,
    /// The number of the codec; 6 if it is only in `user_codec`.
    pub codec: u8,
    /// The compression level.
    pub level: u8,
    /// Are blocks split into streams: 0 always, 1 never, 2 and 3 automatic. The upper bits are
    /// preserved.
    pub split: u8,
    /// Content bytes. If there are none, the reference library expects the metalayers of the
    /// trailer directly after the header, so that no bytes may be between them. When it removes the
    /// last chunk, it leaves `cbytes` as it was.
    pub nbytes: u64,
    /// Bytes of all chunks and of the unused space between them.
    ///
    /// In a contiguous frame the index begins after this many bytes. In a sparse frame the
    /// reference library, from 3.0 on, still refuses a chunk file whose number is above `cbytes -
    /// 32`: see [`Header::least_cbytes`].
    pub cbytes: u64,
    /// Bytes of an item.
    pub typesize: u32,
    /// Content bytes of a block; 0 if unspecified.
    pub blocksize: u32,
    /// Content bytes of each chunk except the last. 0 if chunks have variable length, or if the
    /// first chunk will set it; the reference library writes -1 in the latter case.
    pub chunksize: u32,
    /// Number of threads for encoding and for decoding, as the writer had set them.
    pub threads: [[u8; 2]; 2],
    /// Does the trailer have metalayers?
    pub has_vlmeta: bool,
    /// Number of filter slots in use: 6, except in very old frames.
    pub slots: u8,
    /// Filter numbers.
    pub filters: [u8; FILTER_SLOTS],
    /// The number of the codec.
    pub user_codec: u8,
    /// The metadata of the codec.
    pub codec_meta: u8,
    /// The metadata of the filters.
    pub filters_meta: [u8; FILTER_SLOTS],
    /// More flags of the chunks: 1 if they have dictionaries.
    pub other_flags: u8,
    /// A byte that the reference library always writes as 0: see [`super::part_checksum`].
    pub mark: u8,
    /// Names and values. The length of a value cannot change in place.
    pub metalayers: Vec<Named>,
}

impl Header {
    /// Returns the length of the header that begins with `first`, which must have at least 15
    /// bytes.
    pub fn prefix_len(first: &[u8]) -> Result<u32> {
        length(&mut Fields::new(first))
    }

    /// Parses a complete header: as many bytes as [`Header::prefix_len`] returns.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let mut fields = Fields::new(bytes);
        let len = length(&mut fields)?;
        let mut header = Header::fixed(&mut fields)?;
        header.metalayers = metalayers::parse(&mut fields, MetalayerKind::Fixed)?;
        if fields.at() != bytes.len() || fields.at() as u64 != u64::from(len) {
            return Err(fail!(
                Format,
                "the fields of the header end at {} of {} bytes (its length field states {len})",
                fields.at(),
                bytes.len()
            ));
        }
        header.check()?;
        Ok(header)
    }

    /// Parses the fields before the metalayers.
    fn fixed(fields: &mut Fields) -> Result<Header> {
        let frame_len = fields.size_64(UINT_64, "the length of the frame")?;
        let [flags, kind, codec, split] = fields.marked(STR | 4, "the flags")?;
        let sparse = match kind {
            0 => false,
            1 => true,
            _ => {
                return Err(fail!(
                    Unsupported,
                    "unsupported frame type {kind} (expected 0, one file, or 1, a folder)"
                ));
            }
        };
        if flags & OFFSETS != WIDE_OFFSETS {
            return Err(fail!(
                Unsupported,
                "the flags {flags:#04x} of the frame: unsupported offset size (expected 64 bits)"
            ));
        }
        let nbytes = fields.size_64(INT_64, "bytes of content")?;
        let cbytes = fields.size_64(INT_64, "bytes of chunks")?;
        let typesize = fields.size_32(INT_32, "bytes in an item")?;
        let blocksize = fields.size_32(INT_32, "bytes in a block")?;
        let chunksize = match fields
            .marked(INT_32, "bytes in a chunk")
            .map(i32::from_be_bytes)?
        {
            NO_CHUNKSIZE if nbytes == 0 => 0,
            n => u32::try_from(n).map_err(|_| fail!(Format, "bytes in a chunk: {n}"))?,
        };
        let threads = [
            fields.marked(INT_16, "threads")?,
            fields.marked(INT_16, "threads")?,
        ];
        let has_vlmeta = match fields.take("the flag for variable-length metalayers")? {
            [FALSE] => false,
            [TRUE] => true,
            [other] => {
                return Err(fail!(
                    Format,
                    "the flag for variable-length metalayers: {other:#04x} is not a boolean"
                ));
            }
        };
        let [slots, f0, f1, f2, f3, f4, f5, user_codec, codec_meta] =
            fields.marked(EXT_16, "the filters")?;
        let [m0, m1, m2, m3, m4, m5, other_flags, mark] = fields.take("the filters")?;
        Ok(Header {
            frame_len,
            version: flags & 0x0f,
            variable_chunks: flags & VARIABLE_CHUNKS != 0,
            variable_blocks: flags & VARIABLE_BLOCKS != 0,
            sparse,
            codec: codec & 0x0f,
            level: codec >> 4,
            split,
            nbytes,
            cbytes,
            typesize,
            blocksize,
            chunksize,
            threads,
            has_vlmeta,
            slots,
            filters: [f0, f1, f2, f3, f4, f5],
            user_codec,
            codec_meta,
            filters_meta: [m0, m1, m2, m3, m4, m5],
            other_flags,
            mark,
            metalayers: Vec::new(),
        })
    }

    fn check(&self) -> Result<()> {
        if !(2..=3).contains(&self.version) {
            return Err(fail!(
                Version,
                "unsupported version {} of the frame format (expected 2 or 3)",
                self.version
            ));
        }
        if self.typesize == 0 {
            return Err(fail!(Format, "the header states items of 0 bytes"));
        }
        if usize::from(self.slots) > FILTER_SLOTS {
            return Err(fail!(
                Format,
                "the header states {} filters (at most {FILTER_SLOTS})",
                self.slots
            ));
        }
        if self.len() + trailer::SHORTEST as u64 > self.frame_len {
            return Err(fail!(
                Format,
                "the header states a frame of {} bytes, less than header and trailer have",
                self.frame_len
            ));
        }
        Ok(())
    }

    /// Creates the header of a frame without content, for chunks of `chunk_bytes` bytes that are
    /// encoded with `params`.
    pub fn new(params: &Params, chunk_bytes: usize, sparse: bool) -> Result<Header> {
        let size = |n: usize, what| {
            i32::try_from(n).map(|n| n as u32).map_err(|_| {
                fail!(
                    Argument,
                    "{n} bytes in {what} are too many (at most {})",
                    i32::MAX
                )
            })
        };
        let (filters, filters_meta) = params.filters.slots();
        let split = match params.split {
            Split::Always => 0,
            Split::Never => 1,
            Split::Auto => 2,
        };
        Ok(Header {
            frame_len: 0,
            version: 2,
            variable_chunks: false,
            variable_blocks: false,
            sparse,
            codec: params.codec.number(),
            level: params.level,
            split,
            nbytes: 0,
            cbytes: 0,
            typesize: size(params.typesize, "an item")?,
            blocksize: size(params.blocksize.unwrap_or(0), "a block")?,
            chunksize: size(chunk_bytes, "a chunk")?,
            threads: [1u16.to_be_bytes(); 2],
            has_vlmeta: false,
            slots: FILTER_SLOTS as u8,
            filters,
            user_codec: params.codec.number(),
            codec_meta: 0,
            filters_meta,
            other_flags: if params.dictionary { DICTIONARIES } else { 0 },
            mark: 0,
            metalayers: Vec::new(),
        })
    }

    fn codec_number(&self) -> u8 {
        if self.codec == ELSEWHERE {
            self.user_codec
        } else {
            self.codec
        }
    }

    /// Returns how the chunks are encoded. Level 0 stores them uncompressed.
    pub fn encoding(&self) -> StoredEncoding {
        let codec = match Codec::from_number(self.codec_number()) {
            _ if self.level == 0 => StoredCodec::None,
            Some(codec) => StoredCodec::One(codec),
            None => StoredCodec::Mixed,
        };
        let slots = self.filters.get(..self.slots.into());
        StoredEncoding {
            codec,
            level: Some(self.level),
            filters: blosc::used_filters(slots.unwrap_or_default()),
            precision: self
                .params()
                .ok()
                .and_then(|params| params.filters.truncation()),
        }
    }

    /// Returns the encoding parameters of the chunks.
    pub fn params(&self) -> Result<Params> {
        let number = self.codec_number();
        // Snappy has a codec number, but no frame uses it
        let codec = Codec::from_number(number)
            .filter(|c| *c != Codec::Snappy)
            .ok_or_else(|| fail!(Codec, "codec {number} is not known"))?;
        let mut filters = self.filters;
        filters
            .iter_mut()
            .skip(self.slots.into())
            .for_each(|f| *f = 0);
        Ok(Params {
            target: Target::Blosc2,
            codec,
            level: self.level.min(9),
            filters: Pipeline::from_slots(filters, self.filters_meta)?,
            typesize: self.typesize as usize,
            blocksize: (self.blocksize > 0).then_some(self.blocksize as usize),
            // numbered as in the reference library
            split: match self.split & 3 {
                0 => Split::Always,
                1 => Split::Never,
                _ => Split::Auto,
            },
            dictionary: self.other_flags & DICTIONARIES != 0 && codec.uses_dictionaries(),
        })
    }

    /// Sets whether new chunks have dictionaries.
    pub fn set_dictionaries(&mut self, with: bool) {
        self.other_flags = self.other_flags & !DICTIONARIES | if with { DICTIONARIES } else { 0 };
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> Result<u64> {
        if self.nbytes == 0 {
            return Ok(0);
        }
        if self.variable_chunks {
            return Err(fail!(
                Unsupported,
                "a frame with chunks of variable length is unsupported here"
            ));
        }
        if self.chunksize == 0 {
            return Err(fail!(
                Format,
                "the header states {} bytes of content in chunks of 0",
                self.nbytes
            ));
        }
        let n = self.nbytes.div_ceil(self.chunksize.into());
        if n > MAX_CHUNKS {
            return Err(fail!(
                Format,
                "the header states {n} chunks (an index has at most {})",
                MAX_CHUNKS
            ));
        }
        Ok(n)
    }

    /// Returns the range between the chunks and a trailer of `trailer_len` bytes, which begins with
    /// the index. Returns none if there are no chunks.
    pub fn index_range(&self, trailer_len: u32) -> Result<Option<Range<u64>>> {
        let begin = if self.sparse {
            Some(self.len())
        } else {
            self.len().checked_add(self.cbytes)
        };
        let end = self.frame_len.checked_sub(trailer_len.into());
        let least = if self.chunks()? == 0 {
            0
        } else {
            blosc::EXTENDED_HEADER_LEN as u64
        };
        match (begin, end) {
            // bytes before the trailer are unused if there are no chunks
            (_, Some(end)) if least == 0 && self.len() <= end => Ok(None),
            (Some(begin), Some(end)) if begin <= end && end - begin >= least => {
                Ok(Some(begin..end))
            }
            _ => Err(fail!(
                Format,
                "a header of {} bytes, {} bytes of chunks, their index and a trailer of {trailer_len} bytes do not fit in a frame of {}",
                self.len(),
                self.cbytes,
                self.frame_len
            )),
        }
    }

    /// Returns the minimum of `cbytes` in a sparse frame with a chunk file of this number. The
    /// reference library compares the number with `cbytes` as if it was an offset.
    pub fn least_cbytes(number: u64) -> u64 {
        number.saturating_add(blosc::EXTENDED_HEADER_LEN as u64)
    }

    /// Returns the encoded length.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        FIXED as u64 + metalayers::len(&self.metalayers)
    }

    /// Encodes the header.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let flags = [
            (WIDE_OFFSETS, true),
            (VARIABLE_CHUNKS, self.variable_chunks),
            (VARIABLE_BLOCKS, self.variable_blocks),
        ];
        let flags = flags
            .iter()
            .filter(|(_, on)| *on)
            .fold(self.version, |all, (bit, _)| all | bit);
        let signed = |n: u64, what| {
            i64::try_from(n).map(i64::to_be_bytes).map_err(|_| {
                fail!(
                    Limit,
                    "{n} bytes of {what} are too many (at most {})",
                    i64::MAX
                )
            })
        };
        let mut out = Vec::with_capacity(256);
        out.extend(MAGIC);
        out.push(INT_32);
        // `metalayers::encode` refuses a total length that does not fit
        out.extend((self.len() as u32).to_be_bytes());
        out.push(UINT_64);
        out.extend(self.frame_len.to_be_bytes());
        out.extend([
            STR | 4,
            flags,
            self.sparse.into(),
            self.level << 4 | self.codec,
            self.split,
            INT_64,
        ]);
        out.extend(signed(self.nbytes, "content")?);
        out.push(INT_64);
        out.extend(signed(self.cbytes, "chunks")?);
        let set_later = self.chunksize == 0 && self.nbytes == 0 && !self.variable_chunks;
        let chunksize = if set_later {
            NO_CHUNKSIZE as u32
        } else {
            self.chunksize
        };
        for n in [self.typesize, self.blocksize, chunksize] {
            out.push(INT_32);
            out.extend(n.to_be_bytes());
        }
        for n in self.threads {
            out.push(INT_16);
            out.extend(n);
        }
        out.extend([
            if self.has_vlmeta { TRUE } else { FALSE },
            EXT_16,
            self.slots,
        ]);
        out.extend(self.filters);
        out.extend([self.user_codec, self.codec_meta]);
        out.extend(self.filters_meta);
        out.extend([self.other_flags, self.mark]);
        debug_assert_eq!(out.len(), FIXED);
        metalayers::encode(&self.metalayers, MetalayerKind::Fixed, &mut out)?;
        Ok(out)
    }

    /// Returns the value of a metalayer.
    pub fn meta(&self, name: &str) -> Option<&[u8]> {
        self.metalayers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_slice())
    }
}

/// Returns how many of the bytes that are equal in all headers are correct, and how many there are.
pub fn constants(head: &[u8]) -> (usize, usize) {
    let all = MAGIC.iter().copied().enumerate().chain(MARKS);
    let right = all.filter(|(at, byte)| head.get(*at) == Some(byte)).count();
    (right, MAGIC.len() + MARKS.len())
}

/// Sets the bytes that are equal in all headers.
pub fn put_constants(head: &mut [u8], sparse: bool) {
    put(head, 0, MAGIC);
    MARKS.iter().for_each(|(at, mark)| put(head, *at, &[*mark]));
    put(head, KIND, &[sparse.into()]);
}

/// Overwrites bytes at an offset, as far as `head` has them.
pub fn put(head: &mut [u8], at: usize, bytes: &[u8]) {
    head.iter_mut()
        .skip(at)
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
}

/// Returns the length that the header states.
pub fn stated_len(head: &[u8]) -> Option<usize> {
    head.get(LEN..)?
        .first_chunk()
        .map(|n| u32::from_be_bytes(*n) as usize)
}

/// Returns the length of the header according to its metalayers.
pub fn computed_len(head: &[u8]) -> Option<usize> {
    let mut fields = Fields::new(head);
    fields.slice(FIXED, "the header").ok()?;
    metalayers::parse(&mut fields, MetalayerKind::Fixed)
        .ok()
        .map(|_| fields.at())
}

fn length(fields: &mut Fields) -> Result<u32> {
    let magic: [u8; MAGIC.len()] = fields.take("a frame")?;
    if &magic != MAGIC {
        return Err(fail!(
            Format,
            "not a frame (expected the magic {MAGIC:02x?}, found {magic:02x?})"
        ));
    }
    let len = fields.size_32(INT_32, "the length of the header")?;
    if (len as usize) < FIXED {
        return Err(fail!(
            Format,
            "the header states {len} bytes (expected at least {FIXED})"
        ));
    }
    Ok(len)
}

const _: () = assert!(ARRAY | 14 == MAGIC[0] && STR | 8 == MAGIC[1]);
