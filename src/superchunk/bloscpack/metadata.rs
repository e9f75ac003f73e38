//! The metadata of a Bloscpack file: the user's JSON, in the v3 layout and in the BLZ RFC layout.
//!
//! v3 has a section: a section header of 32 bytes, the JSON (plain or in zlib format), reserved
//! bytes, and a checksum of the stored bytes. The RFC layout has only the JSON, plain or in zlib
//! format. This module does not interpret the JSON.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::checksum::Checksum;
use crate::error::{Result, fail};
use crate::io::File;
use crate::json::Value;
use crate::slice::SliceExt;
use crate::zlib::{self, CompressionLvl, DecompressionError};

/// Offset of the metadata: the size of every header that allows metadata.
const AT: u64 = 32;
/// Size of the section header in bytes.
const HEAD: usize = 32;
const MAGIC: &[u8; 8] = b"JSON\0\0\0\0";
/// The magic in the documentation of the format. Bloscpack itself writes [`MAGIC`].
const MAGIC_WITH_SPACES: &[u8; 8] = b"JSON    ";
const CODEC_NONE: u8 = 0;
const CODEC_ZLIB: u8 = 1;
/// First byte of data in zlib format. JSON cannot start with it.
const ZLIB: u8 = 0x78;
/// Default size of the reserved area in v3, as a multiple of the JSON size.
const ROOM: usize = 10;
/// Maximum compression ratio of the zlib format.
const BEST_RATIO: u64 = 1032;
/// Default compression level of Bloscpack.
pub const DEFAULT_LEVEL: u8 = 6;
/// Default checksum of Bloscpack.
pub const DEFAULT_SUM: Checksum = Checksum::Adler32;

/// The location and the layout of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaLocation {
    /// Reserved bytes, including the used ones.
    pub room: u32,
    /// Used bytes.
    pub stored: u32,
    /// The layout.
    pub layout: MetaLayout,
}

/// The layout of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaLayout {
    /// BLZ RFC: only the JSON.
    Rfc {
        /// True if the JSON is in zlib format.
        packed: bool,
    },
    /// v3: a section.
    Section(Section),
}

/// The fields of a v3 section, except the sizes of the stored bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Options; none are defined.
    pub options: u8,
    /// Checksum type.
    pub sum: Checksum,
    /// Codec: 0 none, 1 zlib.
    pub codec: u8,
    /// Compression level; 0 for none.
    pub level: u8,
    /// Size of the JSON in bytes.
    pub size: u32,
    /// Bytes for a user-defined codec.
    pub user_codec: [u8; 8],
}

impl Section {
    /// Returns true if a v3 section starts here. That is unambiguous, because JSON cannot start
    /// with the magic.
    pub fn is_here(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC) || bytes.starts_with(MAGIC_WITH_SPACES)
    }
}

impl MetaLocation {
    /// Parses the header of a v3 section.
    pub fn of_section(head: &[u8; HEAD]) -> Result<MetaLocation> {
        let [
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            options,
            checksum,
            codec,
            level,
            sizes @ ..,
        ] = *head;
        let [
            a0,
            a1,
            a2,
            a3,
            b0,
            b1,
            b2,
            b3,
            c0,
            c1,
            c2,
            c3,
            user_codec @ ..,
        ] = sizes;
        let (room, stored) = (
            u32::from_le_bytes([b0, b1, b2, b3]),
            u32::from_le_bytes([c0, c1, c2, c3]),
        );
        if stored > room {
            return Err(fail!(
                Format,
                "metadata: the stored size {stored} exceeds the reserved size {room} (meta-comp-size, max-meta-size)"
            ));
        }
        let size = u32::from_le_bytes([a0, a1, a2, a3]);
        let section = Section {
            options,
            sum: sum(checksum)?,
            codec,
            level,
            size,
            user_codec,
        };
        Ok(MetaLocation {
            room,
            stored,
            layout: MetaLayout::Section(section),
        })
    }

    /// Parses the last field of a header in the RFC layout. `rest` starts after the header.
    ///
    /// A damaged v3 section also leads here, so the start of the JSON is checked.
    pub fn of_rfc(last_field: [u8; 8], packed: bool, rest: &[u8]) -> Result<MetaLocation> {
        let [s0, s1, s2, s3, reserved @ ..] = last_field;
        let size = i32::from_le_bytes([s0, s1, s2, s3]);
        match u32::try_from(size) {
            Ok(size) if size > 0 && reserved == [0; 4] && begins(rest, packed) => {
                Ok(MetaLocation {
                    room: size,
                    stored: size,
                    layout: MetaLayout::Rfc { packed },
                })
            }
            _ => Err(fail!(
                Format,
                "no metadata after the header (expected a section with the magic JSON, or {size} bytes of JSON)"
            )),
        }
    }

    /// Returns the total size of the metadata in the file.
    pub fn size(&self) -> u64 {
        u64::from(self.room)
            + match &self.layout {
                MetaLayout::Rfc { .. } => 0,
                MetaLayout::Section(s) => (HEAD + s.sum.size()) as u64,
            }
    }

    /// Returns the offset of the stored bytes.
    pub fn stored_at(&self) -> u64 {
        match &self.layout {
            MetaLayout::Rfc { .. } => AT,
            MetaLayout::Section(_) => AT + HEAD as u64,
        }
    }

    /// Reads the JSON. No allocation exceeds `limit` bytes.
    pub fn read(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
        self.load(file, limit).map_err(|e| e.within(file.name()))
    }

    fn load(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
        let stored = self.stored_bytes(file, limit)?;
        let json = match &self.layout {
            MetaLayout::Rfc { packed: false } => stored,
            MetaLayout::Rfc { packed: true } => unpack(&stored, limit)?,
            MetaLayout::Section(section) => section.open(stored, limit)?,
        };
        match std::str::from_utf8(&json) {
            Ok(_) => Ok(json),
            Err(e) => Err(fail!(Format, "metadata: invalid JSON: not UTF-8: {e}")),
        }
    }

    /// Reads the stored bytes and verifies their checksum.
    fn stored_bytes(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
        let mut stored = alloc::zeroed(alloc::allow(self.stored.into(), limit, "metadata")?)?;
        file.read_exact_at(self.stored_at(), &mut stored)?;
        if let MetaLayout::Section(section) = &self.layout {
            self.check(file, section, &stored)?;
        }
        Ok(stored)
    }

    fn check(&self, file: &dyn File, section: &Section, stored: &[u8]) -> Result<()> {
        let mut digest = [0; 64];
        let digest = digest.at_mut(..section.sum.size())?;
        file.read_exact_at(self.stored_at() + u64::from(self.room), digest)?;
        if section.sum.of(stored) == digest {
            return Ok(());
        }
        Err(fail!(
            Checksum,
            "metadata: the {} of the {} stored bytes does not match what is stored",
            section.sum,
            stored.len()
        ))
    }

    /// Encodes new metadata with the same location, reserved size, checksum and codec. Returns
    /// `None` if it does not fit.
    pub fn rewrite(&self, json: &[u8]) -> Result<Option<(MetaLocation, Vec<u8>)>> {
        match &self.layout {
            MetaLayout::Section(s) => encode_section(json, self.room, s),
            MetaLayout::Rfc { packed: true } => {
                let (location, bytes) = encode_rfc(json, true)?;
                Ok((location.room == self.room).then_some((location, bytes)))
            }
            MetaLayout::Rfc { packed: false } if json.len() > self.room as usize => Ok(None),
            MetaLayout::Rfc { packed: false } => {
                let mut bytes = json.to_vec();
                // JSON may end in spaces
                bytes.resize(self.room as usize, b' ');
                Ok(Some((self.clone(), bytes)))
            }
        }
    }
}

impl Section {
    /// Returns a section with the defaults of Bloscpack, and this checksum and level.
    pub fn new(sum: Checksum, level: u8) -> Section {
        Section {
            options: 0,
            sum,
            codec: CODEC_ZLIB,
            level,
            size: 0,
            user_codec: [0; 8],
        }
    }

    /// Decodes the stored bytes to JSON.
    fn open(&self, stored: Vec<u8>, limit: u64) -> Result<Vec<u8>> {
        let wrong = |n: usize| {
            fail!(
                Format,
                "metadata: wrong JSON size (expected {} bytes, found {n})",
                self.size
            )
        };
        match self.codec {
            CODEC_NONE if stored.len() as u64 == u64::from(self.size) => Ok(stored),
            CODEC_NONE => Err(wrong(stored.len())),
            CODEC_ZLIB => {
                let most = (stored.len() as u64).saturating_mul(BEST_RATIO);
                if u64::from(self.size) > most {
                    return Err(fail!(
                        Format,
                        "metadata: {} bytes cannot be compressed to {} bytes",
                        self.size,
                        stored.len()
                    ));
                }
                let mut json = alloc::zeroed(alloc::allow(self.size.into(), limit, "metadata")?)?;
                match zlib::decompressor().zlib_decompress(&stored, &mut json) {
                    Ok(n) if n == json.len() => Ok(json),
                    Ok(n) => Err(wrong(n)),
                    Err(e) => Err(damaged(e)),
                }
            }
            id => Err(fail!(
                Codec,
                "metadata: unknown codec {id} (expected 0 (none) or 1 (zlib))"
            )),
        }
    }

    /// Encodes the section header for `stored` bytes in `room` reserved bytes.
    fn head(&self, room: u32, stored: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD);
        out.extend(MAGIC);
        out.extend([self.options, self.sum as u8, self.codec, self.level]);
        out.extend(
            [self.size, room, stored]
                .into_iter()
                .flat_map(u32::to_le_bytes),
        );
        out.extend(self.user_codec);
        out
    }
}

/// Returns true if RFC metadata can start with these bytes.
pub(super) fn begins(bytes: &[u8], packed: bool) -> bool {
    match bytes.first() {
        Some(&ZLIB) => packed,
        Some(b) => {
            !packed && (b.is_ascii_whitespace() || b.is_ascii_digit() || b"{[\"-tfnNI".contains(b))
        }
        None => false,
    }
}

/// Reconstructs a damaged section header. `bytes` is the total size of the reserved bytes and the
/// checksum. The checksum must match, and the stored bytes must be JSON.
pub(super) fn other_head(
    file: &dyn File,
    damaged: &[u8; HEAD],
    bytes: u32,
    limit: u64,
) -> Option<[u8; HEAD]> {
    let [
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        _,
        options,
        _,
        _,
        level,
        n0,
        n1,
        n2,
        n3,
        r0,
        r1,
        r2,
        r3,
        s0,
        s1,
        s2,
        s3,
        user_codec @ ..,
    ] = *damaged;
    let [size, max_size, stored] =
        [[n0, n1, n2, n3], [r0, r1, r2, r3], [s0, s1, s2, s3]].map(u32::from_le_bytes);
    for sum in (1..=8)
        .chain([0])
        .filter_map(|n| Checksum::from_number(n).ok())
    {
        let Some(room) = bytes.checked_sub(sum.size() as u32) else {
            continue;
        };
        // without a checksum, only the stored size of the reserved area can be checked
        for stored in [stored, size]
            .into_iter()
            .filter(|n| *n <= room && (sum.size() > 0 || room == max_size))
        {
            let mut section = Section {
                options,
                sum,
                codec: CODEC_NONE,
                level,
                size: stored,
                user_codec,
            };
            let location = MetaLocation {
                room,
                stored,
                layout: MetaLayout::Section(section.clone()),
            };
            let Ok(mut json) = location.stored_bytes(file, limit) else {
                continue;
            };
            if json.first() == Some(&ZLIB) {
                let Ok(unpacked) = unpack(&json, limit) else {
                    continue;
                };
                (json, section.codec, section.size) = (unpacked, CODEC_ZLIB, 0);
                section.size = u32::try_from(json.len()).ok()?;
            }
            if Value::parse(&json).is_ok() {
                return section.head(room, stored).first_chunk().copied();
            }
        }
    }
    None
}

/// Returns the header of an empty section with `bytes` reserved bytes.
pub(super) fn empty_head(bytes: u32) -> Option<[u8; HEAD]> {
    Section {
        codec: CODEC_NONE,
        ..Section::new(Checksum::None, 0)
    }
    .head(bytes, 0)
    .first_chunk()
    .copied()
}

/// Encodes a v3 section: section header, JSON, reserved bytes (default 10 times the JSON size),
/// checksum.
pub fn section(
    json: &[u8],
    room: Option<u32>,
    layout: &Section,
) -> Result<(MetaLocation, Vec<u8>)> {
    let usual = || u32::try_from(json.len().saturating_mul(ROOM)).unwrap_or(u32::MAX);
    let room = room.unwrap_or_else(usual);
    encode_section(json, room, layout)?.ok_or_else(|| {
        fail!(
            Argument,
            "metadata: {} bytes of JSON do not fit into {room} reserved bytes",
            json.len()
        )
    })
}

fn encode_section(
    json: &[u8],
    room: u32,
    layout: &Section,
) -> Result<Option<(MetaLocation, Vec<u8>)>> {
    let size = u32::try_from(json.len()).map_err(|_| too_long(json))?;
    let packed = match layout.level {
        0 if size <= room => None,
        0 => Some(pack(json, DEFAULT_LEVEL)?),
        // a level above 9 may come from another writer
        level => Some(pack(json, level.min(9))?),
    };
    let packed = packed.filter(|p| p.len() < json.len());
    let codec = if packed.is_some() {
        CODEC_ZLIB
    } else {
        CODEC_NONE
    };
    let bytes = packed.as_deref().unwrap_or(json);
    let stored = u32::try_from(bytes.len()).map_err(|_| too_long(json))?;
    if stored > room {
        return Ok(None);
    }
    let section = Section {
        codec,
        size,
        ..layout.clone()
    };
    let digest = section.sum.of(bytes);
    let mut out = section.head(room, stored);
    alloc::reserve(&mut out, room as usize + digest.len())?;
    out.extend(bytes);
    out.resize(HEAD + room as usize, 0);
    out.extend(digest);
    Ok(Some((
        MetaLocation {
            room,
            stored,
            layout: MetaLayout::Section(section),
        },
        out,
    )))
}

/// Encodes metadata in the RFC layout.
pub fn encode_rfc(json: &[u8], packed: bool) -> Result<(MetaLocation, Vec<u8>)> {
    let bytes = if packed {
        pack(json, DEFAULT_LEVEL)?
    } else {
        json.to_vec()
    };
    let room = i32::try_from(bytes.len())
        .map_err(|_| too_long(json))?
        .unsigned_abs();
    if room == 0 {
        return Err(fail!(Argument, "metadata: the JSON is empty"));
    }
    Ok((
        MetaLocation {
            room,
            stored: room,
            layout: MetaLayout::Rfc { packed },
        },
        bytes,
    ))
}

/// Returns the checksum type with this number.
pub(super) fn sum(number: u8) -> Result<Checksum> {
    Checksum::from_number(number.into())
        .map_err(|_| fail!(Unsupported, "unknown checksum {number} (expected 0 to 8)"))
}

fn too_long(json: &[u8]) -> crate::error::Error {
    fail!(
        Argument,
        "metadata: {} bytes of JSON exceed the limit of the format",
        json.len()
    )
}

fn damaged(e: DecompressionError) -> crate::error::Error {
    fail!(Format, "metadata: invalid zlib data or wrong length ({e})")
}

fn pack(json: &[u8], level: u8) -> Result<Vec<u8>> {
    let level = CompressionLvl::new(level.into()).map_err(|_| {
        fail!(
            Argument,
            "metadata: unknown level {level} (expected 0 to 9)"
        )
    })?;
    let mut compressor = zlib::compressor(level);
    let mut out = alloc::zeroed(compressor.zlib_compress_bound(json.len()))?;
    let n = compressor
        .zlib_compress(json, &mut out)
        .map_err(|e| fail!(Memory, "metadata: zlib: {e}"))?;
    out.truncate(n);
    Ok(out)
}

/// Decompresses bytes in zlib format whose uncompressed size is unknown.
fn unpack(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
    let most = (stored.len() as u64).saturating_mul(BEST_RATIO);
    let mut room = (stored.len() as u64).saturating_mul(8);
    loop {
        let mut out = alloc::zeroed(alloc::allow(room, limit, "metadata")?)?;
        match zlib::decompressor().zlib_decompress(stored, &mut out) {
            Ok(n) => {
                out.truncate(n);
                return Ok(out);
            }
            Err(DecompressionError::InsufficientSpace) if room < most => {
                room = room.saturating_mul(8).min(most);
            }
            Err(e) => return Err(damaged(e)),
        }
    }
}
