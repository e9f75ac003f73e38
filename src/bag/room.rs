//! Room before the limits of a compressed file with its limits at the tail. The next commits write
//! their records there, so that they do not move the limits, however many there are.
//!
//! Format: a skippable zstd frame at the end of the last record, inside the limits of that record.
//! The last limit is the end of the room, because the limits begin where it says. A commit that fits
//! overwrites the start of the room with records, and with a shorter room after them; it sets the
//! limit of the record before to where the room began, and adds limits at the end of the file.
//!
//! Readers of Bagz files skip the frame. Those here leave the room out of the last record, so that
//! a reader with limits in memory reads no more than its record after a commit has overwritten it.
//!
//! | bytes | content |
//! | --- | --- |
//! | 4 | `5c 2a 4d 18`, the magic number of a skippable frame |
//! | 4 | the number of bytes that follow, little-endian |
//! | 8 | `holdroom` |
//! | n | anything; mostly bytes that were never written |
#![forbid(unsafe_code)]

use super::frame::Source;
use super::limits::LIMIT;
use crate::error::Result;

/// Size of the smallest room.
pub const HEADER: usize = 16;
const MAGIC: [u8; 4] = *b"\x5c\x2a\x4d\x18";
const SIGNATURE: [u8; 8] = *b"holdroom";
/// Number of limits from which on moving them takes longer than the rest of a commit.
const MIN_LIMITS: u64 = if cfg!(test) { 10 } else { 8 << 10 };
/// A room has this fraction of the bytes of the limits, between these sizes: other readers read it
/// with the last record.
const FRACTION: u64 = 16;
const MIN_SIZE: u64 = 4 << 10;
const MAX_SIZE: u64 = 1 << 20;

/// Returns the size of a new room before so many limits; 0 for none.
pub fn size_before(limits: u64) -> u64 {
    match limits >= MIN_LIMITS {
        true => (limits * LIMIT / FRACTION).clamp(MIN_SIZE, MAX_SIZE),
        false => 0,
    }
}

/// Returns the first bytes of a room.
pub fn header(size: u64) -> [u8; HEADER] {
    let content = (size as u32).wrapping_sub(8).to_le_bytes();
    let mut header = [0; HEADER];
    let bytes = MAGIC.into_iter().chain(content).chain(SIGNATURE);
    header
        .iter_mut()
        .zip(bytes)
        .for_each(|(to, byte)| *to = byte);
    header
}

/// Returns whether room begins at this offset, whatever its size.
pub fn begins(source: &impl Source, at: u64) -> Result<bool> {
    let mut found = [0; HEADER];
    let has_header = source.get(at, &mut found)?;
    Ok(has_header && found.starts_with(&MAGIC) && found.ends_with(&SIGNATURE))
}

/// Returns whether the frame in this range is room.
pub fn is_at(source: &impl Source, (from, to): (u64, u64)) -> Result<bool> {
    let mut found = [0; HEADER];
    let size = to - from;
    Ok(size >= HEADER as u64 && source.get(from, &mut found)? && found == header(size))
}
