//! The uniform mark: the statement of a file that its header describes all chunks.
//!
//! The sizes in a header do not prove the sizes of the chunks: versions of Bloscpack wrote wrong
//! ones, and a chunk may be inserted. Without this mark, only the headers of all chunks show where
//! content is. With it, every chunk has the content size that the header states, and the offsets
//! are ascending and complete, so that opening a file does not depend on the number of its chunks.
//!
//! | bytes | value |
//! | --- | --- |
//! | 0 to 3 | CRC-32 of the 32 bytes of the header, little-endian |
//! | 4 to 7 | `7f 75 6e ff` |
//!
//! The mark is the last spare entry of the offsets table of a v3 file. Bloscpack does not read spare
//! entries. When it appends chunks, it changes the header, so that the mark has no meaning any more,
//! and it may overwrite it. As a number the mark is negative, as unused entries are.
#![forbid(unsafe_code)]

use super::chunk_list::ChunkSlots;
use super::header::{Dialect, ENTRY, Header};
use crate::checksum;
use crate::error::Result;
use crate::io::File;

/// Number of chunks from which on a file has the mark. Reading the headers of fewer chunks is fast.
pub const MIN_CHUNKS: u64 = if cfg!(any(test, fuzzing)) { 3 } else { 1000 };
/// The upper half of the mark.
const TAG: i32 = i32::from_le_bytes([0x7f, b'u', b'n', 0xff]);

/// Returns the offset of the mark in a file with this header, if the file can have one.
pub fn position(header: &Header) -> Option<u64> {
    let long = header.nchunks.is_some_and(|n| n >= MIN_CHUNKS);
    let spare = header.has_offsets && header.max_app_chunks > 0;
    let at = header.chunks_at().checked_sub(ENTRY);
    at.filter(|_| long && spare && header.dialect == Dialect::V3)
}

/// Returns the entry at the position of the mark: the mark, or an unused entry if the header does
/// not describe all chunks.
pub fn entry(header: &Header, slots: &ChunkSlots) -> i64 {
    match exception(header, slots) {
        None => mark(header),
        Some(_) => -1,
    }
}

/// Returns true if the file has the mark.
pub fn is_set(file: &dyn File, header: &Header) -> Result<bool> {
    let Some(at) = position(header) else {
        return Ok(false);
    };
    let mut found = [0; ENTRY as usize];
    // a file that is too short for its header has no mark
    let n = file.read_at(at, &mut found)?;
    Ok(n == found.len() && i64::from_le_bytes(found) == mark(header))
}

/// Returns true if an entry of the offsets table leads to no chunk: it is unused, or the mark.
pub fn is_unused(entry: i64) -> bool {
    entry == -1 || (entry >> 32) as i32 == TAG
}

/// Returns the first chunk that does not have the content size that the header states.
pub fn exception(header: &Header, slots: &ChunkSlots) -> Option<usize> {
    slots.iter().enumerate().position(|(i, slot)| {
        let expected = if header.nchunks == Some(i as u64 + 1) {
            header.last_chunk
        } else {
            header.chunk_size
        };
        expected != Some(slot.nbytes)
    })
}

fn mark(header: &Header) -> i64 {
    i64::from(TAG) << 32 | i64::from(checksum::crc32(&header.encode()))
}
