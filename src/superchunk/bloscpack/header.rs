//! The header of a Bloscpack file: parsing, encoding and detection of the five layouts.
//!
//! | dialect | bytes | fields after the magic |
//! | --- | --- | --- |
//! | v0 | 8 | number of chunks, 32 bits; no version |
//! | v1 | 16 | version 1, number of chunks |
//! | v2 | 32 | options, checksum, typesize, sizes, number of chunks; offsets |
//! | RFC | 32 | as v2, and the size of the JSON that follows, plain or in zlib format |
//! | v3 | 32 | as v2, and the spare entries of the offsets table; JSON in a section of its own |
//!
//! Fields that determine positions are checked against the file here. If the number of chunks is
//! unknown (-1), the file itself shows the length of the offsets table. Sizes and typesize are not
//! checked here; each user decides whether to trust them.
#![forbid(unsafe_code)]

use super::located_chunk::{BLOSC_HEADER, LocatedChunk};
use super::metadata::{self, MetaLayout, MetaLocation, Section};
use super::offsets;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::slice::SliceExt;

const MAGIC: &[u8; 4] = b"blpk";
/// Bytes that suffice to detect the layout: a header and the header of a metadata section.
pub const PREFIX: usize = 64;
/// Size of an entry of the offsets table in bytes.
pub const ENTRY: u64 = 8;

const OPTION_OFFSETS: u8 = 0x01;
const OPTION_META: u8 = 0x02;
const OPTION_PACKED_META: u8 = 0x04;

/// The layout of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Bloscpack 0.1.0-rc1 and rc2.
    V0,
    /// Bloscpack 0.1, and each chunk file of bcolz and BLZ.
    V1,
    /// Bloscpack 0.2.
    V2,
    /// The BLZ RFC layout with metadata; version byte 2 or 3.
    Rfc,
    /// Bloscpack 0.3 and later; also the BLZ RFC layout without metadata.
    V3,
}

/// The fields of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The layout.
    pub dialect: Dialect,
    /// The version byte; 0 in v0, which has no version.
    pub version: u8,
    /// True if there is an offsets table.
    pub has_offsets: bool,
    /// The checksum after each chunk.
    pub checksum: Checksum,
    /// The item size as stored; chunks may have other values.
    pub typesize: u8,
    /// Content size of each chunk except the last; `None` if the header marks it as unknown.
    pub chunk_size: Option<u32>,
    /// Content size of the last chunk.
    pub last_chunk: Option<u32>,
    /// Number of chunks; `None` if the header marks it as unknown.
    pub nchunks: Option<u64>,
    /// Number of spare entries in the offsets table (v3).
    pub max_app_chunks: u64,
    /// Number of all entries of the offsets table, if the number of chunks is unknown.
    pub counted_entries: u64,
    /// The location of the metadata.
    pub meta: Option<MetaLocation>,
}

impl Header {
    /// Returns a header without chunks, metadata and offsets.
    pub fn new(dialect: Dialect) -> Header {
        let version = match dialect {
            Dialect::V0 => 0,
            Dialect::V1 => 1,
            Dialect::V2 => 2,
            Dialect::Rfc | Dialect::V3 => 3,
        };
        Header {
            dialect,
            version,
            has_offsets: false,
            checksum: Checksum::None,
            typesize: 0,
            chunk_size: None,
            last_chunk: None,
            nchunks: Some(0),
            max_app_chunks: 0,
            counted_entries: 0,
            meta: None,
        }
    }

    /// Reads the header of `file`.
    pub fn read(file: &dyn File) -> Result<Header> {
        let size = file.size()?;
        let mut prefix = [0; PREFIX];
        let n = file.read_at(0, &mut prefix)?;
        let read = || {
            let mut header = Header::fields(prefix.at(..n)?, size)?;
            if header.has_offsets && header.nchunks.is_none() {
                header.counted_entries = offsets::count(file, &header)?;
            }
            header.fits(size)?;
            Ok(header)
        };
        read().map_err(|e: Error| e.within(file.name()))
    }

    /// Parses a header from the first 64 bytes (or all bytes) of a file of `size` bytes. Returns an
    /// error if only the rest of the file shows the length of the offsets table.
    pub fn parse(prefix: &[u8], size: u64) -> Result<Header> {
        let header = Header::fields(prefix, size)?;
        if header.has_offsets && header.nchunks.is_none() {
            return Err(fail!(
                Format,
                "header: the length of the offsets table is unknown (number of chunks -1)"
            ));
        }
        header.fits(size)?;
        Ok(header)
    }

    /// Parses the fields of a header.
    fn fields(prefix: &[u8], size: u64) -> Result<Header> {
        let mut bytes = Bytes(prefix);
        let magic: [u8; 4] = bytes.take("magic")?;
        if &magic != MAGIC {
            return Err(fail!(
                Format,
                "not a Bloscpack file: wrong magic (expected {MAGIC:02x?}, found {magic:02x?})"
            ));
        }
        if let Some(n) = nchunks_of_v0(prefix, size) {
            return Ok(Header {
                nchunks: Some(n),
                ..Header::new(Dialect::V0)
            });
        }
        let [version, options, checksum, typesize] = bytes.take("version")?;
        match version {
            1 if [options, checksum, typesize] == [0; 3] => Ok(Header {
                nchunks: number(bytes.i64("number of chunks")?)?,
                ..Header::new(Dialect::V1)
            }),
            2 | 3 => Header::long(bytes, version, options, checksum, typesize),
            _ => {
                let v = u32::from_le_bytes([version, options, checksum, typesize]);
                Err(fail!(
                    Version,
                    "Bloscpack version {version} (32 bits: {v:#x}) is not supported (expected 1, 2 or 3); the file is from a newer writer, or byte 4 is damaged"
                ))
            }
        }
    }

    /// Parses a header of 32 bytes. `bytes` starts after the typesize.
    fn long(
        mut bytes: Bytes,
        version: u8,
        options: u8,
        checksum: u8,
        typesize: u8,
    ) -> Result<Header> {
        let known = OPTION_OFFSETS
            | OPTION_META
            | if options & OPTION_META != 0 {
                OPTION_PACKED_META
            } else {
                0
            };
        if options & !known != 0 {
            return Err(fail!(
                Unsupported,
                "header: unknown options {options:#04x} (expected 0x01, 0x02, or 0x04 with 0x02)"
            ));
        }
        let mut header = Header {
            version,
            has_offsets: options & OPTION_OFFSETS != 0,
            checksum: metadata::sum(checksum)?,
            typesize,
            chunk_size: u32::try_from(bytes.i32("chunk size")?).ok(),
            last_chunk: u32::try_from(bytes.i32("size of the last chunk")?).ok(),
            nchunks: number(bytes.i64("number of chunks")?)?,
            ..Header::new(if version == 2 {
                Dialect::V2
            } else {
                Dialect::V3
            })
        };
        let last_field: [u8; 8] = bytes.take("last field")?;
        if options & OPTION_META == 0 {
            header.max_app_chunks = header.spare_entries(i64::from_le_bytes(last_field))?;
        } else if version == 3 && Section::is_here(bytes.0) {
            if options & OPTION_PACKED_META != 0 {
                return Err(fail!(
                    Unsupported,
                    "header: options {options:#04x}: 0x04 requires metadata in the BLZ RFC layout"
                ));
            }
            header.max_app_chunks = header.spare_entries(i64::from_le_bytes(last_field))?;
            header.meta = Some(MetaLocation::of_section(
                &bytes.take("metadata section header")?,
            )?);
        } else {
            header.dialect = Dialect::Rfc;
            header.meta = Some(MetaLocation::of_rfc(
                last_field,
                options & OPTION_PACKED_META != 0,
                bytes.0,
            )?);
        }
        Ok(header)
    }

    /// Interprets bytes 24 to 31: "max-app-chunks" in v3, reserved in v2.
    fn spare_entries(&self, field: i64) -> Result<u64> {
        match (self.dialect, u64::try_from(field)) {
            (_, Ok(0)) => Ok(0),
            (Dialect::V3, Ok(n)) => Ok(n),
            // the field has no meaning without a table
            (Dialect::V3, Err(_)) if !self.has_offsets => Ok(0),
            (Dialect::V3, Err(_)) => Err(fail!(
                Format,
                "header: invalid number of spare offsets: {field}"
            )),
            _ => Err(fail!(
                Format,
                "header: bytes 24 to 31 are reserved in version 2 (expected 0, found {field:#x})"
            )),
        }
    }

    /// Returns an error if metadata and offsets do not fit into a file of `size` bytes.
    fn fits(&self, size: u64) -> Result<()> {
        let end = self
            .entries()
            .and_then(|n| n.checked_mul(ENTRY))
            .and_then(|n| n.checked_add(self.offsets_at()));
        match end {
            Some(end) if end <= size => Ok(()),
            _ => Err(fail!(
                Format,
                "header: metadata and {} + {} offsets do not fit into the file of {size} bytes",
                self.nchunks.unwrap_or(0),
                self.max_app_chunks
            )),
        }
    }

    /// Returns the size of the header in bytes.
    pub fn size(&self) -> u64 {
        match self.dialect {
            Dialect::V0 => 8,
            Dialect::V1 => 16,
            Dialect::V2 | Dialect::Rfc | Dialect::V3 => 32,
        }
    }

    /// Returns the number of used and spare entries of the offsets table; `None` if it overflows.
    fn entries(&self) -> Option<u64> {
        match self.nchunks {
            _ if !self.has_offsets => Some(0),
            Some(n) => n.checked_add(self.max_app_chunks),
            None => Some(self.counted_entries),
        }
    }

    /// Returns the number of used and spare entries of the offsets table; 0 without a table.
    pub fn offset_entries(&self) -> u64 {
        self.entries().unwrap_or(0)
    }

    /// Returns the position of the offsets table, also if the file has none.
    pub fn offsets_at(&self) -> u64 {
        self.size() + self.meta.as_ref().map_or(0, MetaLocation::size)
    }

    /// Returns the position of the first chunk, unless the offsets differ.
    pub fn chunks_at(&self) -> u64 {
        self.offsets_at()
            .saturating_add(self.offset_entries().saturating_mul(ENTRY))
    }

    /// Encodes the header (8, 16 or 32 bytes) without metadata and offsets. Numbers that do not fit
    /// are encoded as unknown.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        out.extend(MAGIC);
        let nchunks = self
            .nchunks
            .and_then(|n| i64::try_from(n).ok())
            .unwrap_or(-1);
        match self.dialect {
            Dialect::V0 => out.extend(u32::try_from(nchunks).unwrap_or(u32::MAX).to_le_bytes()),
            Dialect::V1 => {
                out.extend([1, 0, 0, 0]);
                out.extend(nchunks.to_le_bytes());
            }
            Dialect::V2 | Dialect::Rfc | Dialect::V3 => {
                let packed = matches!(
                    &self.meta,
                    Some(MetaLocation {
                        layout: MetaLayout::Rfc { packed: true },
                        ..
                    })
                );
                let options = [
                    (self.has_offsets, OPTION_OFFSETS),
                    (self.meta.is_some(), OPTION_META),
                    (packed, OPTION_PACKED_META),
                ];
                let options = options
                    .iter()
                    .filter(|(on, _)| *on)
                    .map(|(_, bit)| bit)
                    .sum();
                let size = |n: Option<u32>| {
                    n.and_then(|n| i32::try_from(n).ok())
                        .unwrap_or(-1)
                        .to_le_bytes()
                };
                out.extend([self.version, options, self.checksum as u8, self.typesize]);
                out.extend(size(self.chunk_size));
                out.extend(size(self.last_chunk));
                out.extend(nchunks.to_le_bytes());
                out.extend(self.last_field().to_le_bytes());
            }
        }
        out
    }

    /// Returns the value of bytes 24 to 31.
    fn last_field(&self) -> u64 {
        match (self.dialect, &self.meta) {
            (Dialect::Rfc, Some(meta)) => u64::from(meta.room),
            (Dialect::V3, _) => self.max_app_chunks,
            _ => 0,
        }
    }
}

/// Returns the number of chunks if the file is a v0 file. v0 has no version; a complete Blosc chunk
/// at byte 8 identifies it.
///
/// No other layout matches. At the size of the first chunk of v0, v2 and v3 have the upper half of
/// their number of chunks. At the version, flags and typesize of that chunk, v1 has the lower half
/// of its number of chunks.
fn nchunks_of_v0(prefix: &[u8], size: u64) -> Option<u64> {
    let (head, rest) = prefix.split_first_chunk::<8>()?;
    let [.., a, b, c, d] = *head;
    let n = u64::from(u32::from_le_bytes([a, b, c, d]));
    let chunk = LocatedChunk::parse(8, rest.first_chunk()?)?;
    let least = 8 + BLOSC_HEADER as u64 * n;
    (n > 0 && least <= size && chunk.end(Checksum::None) <= size).then_some(n)
}

/// Converts a number of chunks; -1 means unknown.
fn number(n: i64) -> Result<Option<u64>> {
    match n {
        -1 => Ok(None),
        _ => u64::try_from(n)
            .map(Some)
            .map_err(|_| fail!(Format, "header: invalid number of chunks: {n}")),
    }
}

/// A reader over the bytes of a header.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let short = || {
            fail!(
                Format,
                "header: {what}: the file is truncated (expected {N} bytes, found {})",
                self.0.len()
            )
        };
        let (first, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*first)
    }

    fn i32(&mut self, what: &str) -> Result<i32> {
        self.take(what).map(i32::from_le_bytes)
    }

    fn i64(&mut self, what: &str) -> Result<i64> {
        self.take(what).map(i64::from_le_bytes)
    }
}
