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
use crate::slice::SliceExt;
use crate::zlib::{self, DecompressionError};

/// Offset of the metadata: the size of every header that allows metadata.
const AT: u64 = 32;
/// Size of the section header in bytes.
pub(super) const HEAD: usize = 32;
pub(super) const MAGIC: &[u8; 8] = b"JSON\0\0\0\0";
/// The magic in the documentation of the format. Bloscpack itself writes [`MAGIC`].
const MAGIC_WITH_SPACES: &[u8; 8] = b"JSON    ";
pub(super) const CODEC_NONE: u8 = 0;
pub(super) const CODEC_ZLIB: u8 = 1;
/// First byte of data in zlib format. JSON cannot start with it.
pub(super) const ZLIB: u8 = 0x78;
/// Maximum compression ratio of the zlib format.
const BEST_RATIO: u64 = 1032;

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
    pub(super) fn stored_bytes(&self, file: &dyn File, limit: u64) -> Result<Vec<u8>> {
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
}

impl Section {
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

/// Returns the checksum type with this number.
pub(super) fn sum(number: u8) -> Result<Checksum> {
    Checksum::from_number(number.into())
        .map_err(|_| fail!(Unsupported, "unknown checksum {number} (expected 0 to 8)"))
}

fn damaged(e: DecompressionError) -> crate::error::Error {
    fail!(Format, "metadata: invalid zlib data or wrong length ({e})")
}

/// Decompresses bytes in zlib format whose uncompressed size is unknown.
pub(super) fn unpack(stored: &[u8], limit: u64) -> Result<Vec<u8>> {
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
