//! Encoding of metadata, in new bytes or in the reserved bytes of a file.
#![forbid(unsafe_code)]

use super::metadata::{CODEC_NONE, CODEC_ZLIB, HEAD, MAGIC, MetaLayout, MetaLocation, Section};
use crate::alloc;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::zlib::{self, CompressionLvl};

/// Default size of the reserved area in v3, as a multiple of the JSON size.
const ROOM: usize = 10;
/// Default compression level of Bloscpack.
pub const DEFAULT_LEVEL: u8 = 6;
/// Default checksum of Bloscpack.
pub const DEFAULT_SUM: Checksum = Checksum::Adler32;

impl MetaLocation {
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

    /// Encodes the section header for `stored` bytes in `room` reserved bytes.
    pub(super) fn head(&self, room: u32, stored: u32) -> Vec<u8> {
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

fn too_long(json: &[u8]) -> Error {
    fail!(
        Argument,
        "metadata: {} bytes of JSON exceed the limit of the format",
        json.len()
    )
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
