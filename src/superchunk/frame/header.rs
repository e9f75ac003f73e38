//! The beginning of a frame: how long its parts are, how its chunks are made, and metalayers of
//! fixed length.
//!
//! After `parse` every number is one that a frame can have; whether the frame has room for what
//! they say is checked where it is known how long the other parts are: [`Header::index_place`].
#![forbid(unsafe_code)]

use super::metalayers::{self, Kind, Named};
use super::msgpack::{ARRAY, EXT_16, FALSE, Fields, INT_16, INT_32, INT_64, STR, TRUE, UINT_64};
use super::trailer;
use crate::blosc::{self, Codec, Params, Pipeline, Split, Target};
use crate::error::{Result, fail};
use std::ops::Range;

/// Bytes before the metalayers.
pub const FIXED: usize = 87;
/// Where the byte is that the reference library leaves 0: the last one before the metalayers.
pub const MARK_AT: usize = FIXED - 1;
/// Where its own length is, and others.
pub const LEN: usize = 11;
/// The length of the frame.
pub const FRAME_LEN: usize = 16;
const KIND: usize = 26;
/// Bytes of content.
pub const NBYTES: usize = 30;
/// Bytes of chunks.
pub const CBYTES: usize = 39;
/// Bytes in a block.
pub const BLOCKSIZE: usize = 53;
/// Bytes in a chunk.
pub const CHUNKSIZE: usize = 58;
/// Has the trailer metalayers?
pub const HAS_VLMETA: usize = 68;
/// Bytes that are the same in every header, behind the magic, and where they are.
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
/// What a frame begins with.
pub const MAGIC: &[u8; 10] = b"\x9e\xa8b2frame\0";

const SLOTS: usize = 6;
/// The field `chunksize` of a frame that never had a chunk, and was not told how long they are.
const NO_CHUNKSIZE: i32 = -1;

const WIDE_OFFSETS: u8 = 0x10;
const OFFSETS: u8 = 0x30;
const VARIABLE_CHUNKS: u8 = 0x40;
const VARIABLE_BLOCKS: u8 = 0x80;
/// In the field for codecs: its number is in a field of its own.
const ELSEWHERE: u8 = 6;
/// As the reference library counts.
const SPLIT: [Split; 4] = [Split::Always, Split::Never, Split::Auto, Split::Auto];

/// The header of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the frame: where in the file its trailer ends. More may be behind it, which nobody
    /// reads.
    pub frame_len: u64,
    /// The version of the format: 2, or 3 where chunks may have any length.
    pub version: u8,
    /// Chunks have any length. Also said of a frame without content whose chunks have length 0.
    pub variable_chunks: bool,
    /// Blocks have any length.
    pub variable_blocks: bool,
    /// Chunks are files of their own.
    pub sparse: bool,
    /// The number of the codec; 6 where it is only in `user_codec`.
    pub codec: u8,
    /// Its level.
    pub level: u8,
    /// Are blocks split into streams: 0 always, 1 never, 2 and 3 as the library chooses; upper
    /// bits as they were.
    pub split: u8,
    /// Bytes of content. Where there are none, the reference library looks for metalayers of the
    /// trailer right behind the header: nothing may be between them then. It leaves `cbytes`
    /// as it was when it removes the last chunk.
    pub nbytes: u64,
    /// Bytes of all chunks, and of all that is between them and no longer used.
    ///
    /// The index begins behind so many bytes, unless the frame is sparse. Then the reference
    /// library, from 3.0, still refuses a chunk file whose number is above `cbytes - 32`: see
    /// [`Header::least_cbytes`].
    pub cbytes: u64,
    /// Bytes in an item.
    pub typesize: u32,
    /// Bytes of content in a block; 0 where nothing is said.
    pub blocksize: u32,
    /// Bytes of content in a chunk, but the last; 0 where chunks have any length, or where the
    /// first chunk is going to tell: the reference library writes -1 for that.
    pub chunksize: u32,
    /// Threads for making chunks and for reading them, as whoever wrote it had them.
    pub threads: [[u8; 2]; 2],
    /// Does the trailer have metalayers?
    pub has_vlmeta: bool,
    /// How many of the filters count: 6 but in very old frames.
    pub slots: u8,
    /// The filters, by number.
    pub filters: [u8; SLOTS],
    /// The number of the codec.
    pub user_codec: u8,
    /// Its setting.
    pub codec_meta: u8,
    /// The settings of the filters.
    pub filters_meta: [u8; SLOTS],
    /// More about chunks: 1, they have dictionaries.
    pub other_flags: u8,
    /// A byte that the reference library leaves 0, whoever wrote it before: see [`super::seal`].
    pub mark: u8,
    /// Names and values, whose lengths cannot change where they are.
    pub metalayers: Vec<Named>,
}

impl Header {
    /// The length of the header that begins with `first`, which has 15 bytes or more.
    pub fn prefix_len(first: &[u8]) -> Result<u32> {
        length(&mut Fields::new(first))
    }

    /// Reads a whole header: as many bytes as [`Header::prefix_len`] says.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let mut fields = Fields::new(bytes);
        let len = length(&mut fields)?;
        let mut header = Header::fixed(&mut fields)?;
        header.metalayers = metalayers::parse(&mut fields, Kind::Fixed)?;
        if fields.at() != bytes.len() || fields.at() as u64 != u64::from(len) {
            return Err(fail!(
                Format,
                "the header has {} bytes of {}, and says {len}",
                fields.at(),
                bytes.len()
            ));
        }
        header.check()?;
        Ok(header)
    }

    /// What is before the metalayers.
    fn fixed(fields: &mut Fields) -> Result<Header> {
        let frame_len = fields.size_64(UINT_64, "the length of the frame")?;
        let [flags, kind, codec, split] = fields.marked(STR | 4, "the flags")?;
        let sparse = match kind {
            0 => false,
            1 => true,
            _ => {
                return Err(fail!(
                    Unsupported,
                    "frames of kind {kind}; 0 (one file) and 1 (a folder) are known"
                ));
            }
        };
        if flags & OFFSETS != WIDE_OFFSETS {
            return Err(fail!(
                Unsupported,
                "the flags {flags:#04x} of the frame: its offsets do not have 64 bits"
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
        let has_vlmeta = match fields.take("has it variable-length metalayers")? {
            [FALSE] => false,
            [TRUE] => true,
            [other] => {
                return Err(fail!(
                    Format,
                    "has it variable-length metalayers: {other:#04x} is neither no nor yes"
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
                "version {} of the frame format; 2 and 3 are known",
                self.version
            ));
        }
        if self.typesize == 0 {
            return Err(fail!(Format, "the frame claims items of 0 bytes"));
        }
        if usize::from(self.slots) > SLOTS {
            return Err(fail!(
                Format,
                "the frame claims {} filters: there are {SLOTS} at most",
                self.slots
            ));
        }
        if self.len() + trailer::SHORTEST as u64 > self.frame_len {
            return Err(fail!(
                Format,
                "the frame claims {} bytes, less than its header and its trailer have",
                self.frame_len
            ));
        }
        Ok(())
    }

    /// A frame without content, for chunks of `chunk_bytes` made as `params` say.
    pub fn new(params: &Params, chunk_bytes: usize, sparse: bool) -> Result<Header> {
        let size = |n: usize, what| {
            i32::try_from(n).map(|n| n as u32).map_err(|_| {
                fail!(
                    Argument,
                    "{n} bytes in {what}: a frame has {} at most",
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
            slots: SLOTS as u8,
            filters,
            user_codec: params.codec.number(),
            codec_meta: 0,
            filters_meta,
            other_flags: 0,
            mark: 0,
            metalayers: Vec::new(),
        })
    }

    /// How chunks of the frame are made.
    pub fn params(&self) -> Result<Params> {
        let number = if self.codec == ELSEWHERE {
            self.user_codec
        } else {
            self.codec
        };
        // Snappy has a number, and no frame has it
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
            split: SPLIT
                .get(usize::from(self.split & 3))
                .copied()
                .unwrap_or_default(),
        })
    }

    /// How many chunks.
    pub fn chunks(&self) -> Result<u64> {
        if self.nbytes == 0 {
            return Ok(0);
        }
        if self.variable_chunks || self.variable_blocks {
            return Err(fail!(
                Unsupported,
                "a frame whose chunks or blocks have any length"
            ));
        }
        if self.chunksize == 0 {
            return Err(fail!(
                Format,
                "the frame claims {} bytes of content in chunks of 0",
                self.nbytes
            ));
        }
        let n = self.nbytes.div_ceil(self.chunksize.into());
        if n > super::index::MOST {
            return Err(fail!(
                Format,
                "the frame claims {n} chunks: an index has {} at most",
                super::index::MOST
            ));
        }
        Ok(n)
    }

    /// Where the index is, and room behind it, up to a trailer of `trailer_len` bytes; nowhere, if
    /// there are no chunks.
    pub fn index_place(&self, trailer_len: u32) -> Result<Option<Range<u64>>> {
        let begin = if self.sparse {
            Some(self.len())
        } else {
            self.len().checked_add(self.cbytes)
        };
        let end = self.frame_len.checked_sub(trailer_len.into());
        let least = if self.chunks()? == 0 {
            0
        } else {
            blosc::LONG as u64
        };
        match (begin, end) {
            // what is in a frame without chunks is of no use
            (_, Some(end)) if least == 0 && self.len() <= end => Ok(None),
            (Some(begin), Some(end)) if begin <= end && end - begin >= least => {
                Ok(Some(begin..end))
            }
            _ => Err(fail!(
                Format,
                "a header of {} bytes, {} bytes of chunks, their index and a trailer of {trailer_len} bytes have no room in a frame of {}",
                self.len(),
                self.cbytes,
                self.frame_len
            )),
        }
    }

    /// What `cbytes` must at least be in a sparse frame with a chunk file of this number: the
    /// reference library takes the number for a place among so many bytes.
    pub fn least_cbytes(number: u64) -> u64 {
        number.saturating_add(blosc::LONG as u64)
    }

    /// Bytes that it takes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        FIXED as u64 + metalayers::len(&self.metalayers)
    }

    /// Its bytes.
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
                    "{n} bytes of {what}: a frame has {} at most",
                    i64::MAX
                )
            })
        };
        let mut out = Vec::with_capacity(256);
        out.extend(MAGIC);
        out.push(INT_32);
        // the length of values that fit is checked with them
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
        let is_told_later = self.chunksize == 0 && self.nbytes == 0 && !self.variable_chunks;
        let chunksize = if is_told_later {
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
        metalayers::encode(&self.metalayers, Kind::Fixed, &mut out)?;
        Ok(out)
    }

    /// The value of a metalayer.
    pub fn meta(&self, name: &str) -> Option<&[u8]> {
        self.metalayers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_slice())
    }
}

/// How many of the bytes are right that are the same in every header, and how many there are.
pub fn constants(head: &[u8]) -> (usize, usize) {
    let all = MAGIC.iter().copied().enumerate().chain(MARKS);
    let right = all.filter(|(at, byte)| head.get(*at) == Some(byte)).count();
    (right, MAGIC.len() + MARKS.len())
}

/// Puts them right.
pub fn put_constants(head: &mut [u8], sparse: bool) {
    put(head, 0, MAGIC);
    MARKS.iter().for_each(|(at, mark)| put(head, *at, &[*mark]));
    put(head, KIND, &[sparse.into()]);
}

/// Puts bytes to their place, where it is there.
pub fn put(head: &mut [u8], at: usize, bytes: &[u8]) {
    head.iter_mut()
        .skip(at)
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
}

/// How long it says that it is.
pub fn said_len(head: &[u8]) -> Option<usize> {
    head.get(LEN..)?
        .first_chunk()
        .map(|n| u32::from_be_bytes(*n) as usize)
}

/// How long it is by its metalayers.
pub fn true_len(head: &[u8]) -> Option<usize> {
    let mut fields = Fields::new(head);
    fields.slice(FIXED, "the header").ok()?;
    metalayers::parse(&mut fields, Kind::Fixed)
        .ok()
        .map(|_| fields.at())
}

fn length(fields: &mut Fields) -> Result<u32> {
    let magic: [u8; MAGIC.len()] = fields.take("a frame")?;
    if &magic != MAGIC {
        return Err(fail!(
            Format,
            "no frame: it begins with {magic:02x?}, not with {MAGIC:02x?}"
        ));
    }
    let len = fields.size_32(INT_32, "the length of the header")?;
    if (len as usize) < FIXED {
        return Err(fail!(
            Format,
            "the header of a frame has {FIXED} bytes or more, {len} are said"
        ));
    }
    Ok(len)
}

const _: () = assert!(ARRAY | 14 == MAGIC[0] && STR | 8 == MAGIC[1]);
