//! Reconstruction of a damaged section header of the metadata.
#![forbid(unsafe_code)]

use super::metadata::{
    CODEC_NONE, CODEC_ZLIB, HEAD, MetaLayout, MetaLocation, Section, ZLIB, unpack,
};
use crate::checksum::Checksum;
use crate::io::File;
use crate::json::Value;

/// Reconstructs a damaged section header. `bytes` is the total size of the reserved bytes and the
/// checksum. The checksum must match, and the stored bytes must be JSON.
pub fn other_head(
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
pub fn empty_head(bytes: u32) -> Option<[u8; HEAD]> {
    Section {
        codec: CODEC_NONE,
        ..Section::new(Checksum::None, 0)
    }
    .head(bytes, 0)
    .first_chunk()
    .copied()
}
