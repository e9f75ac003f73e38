//! The dictionary that a compressed bag stores: a zstd dictionary with an ID, which the frames of its
//! records name.
//!
//! Format: a skippable zstd frame after the frame of the first record, inside the limits of that
//! record. An interleave mark, if there is one, follows it. Readers of Bagz files skip both.
//!
//! | bytes | content |
//! | --- | --- |
//! | 4 | `5d 2a 4d 18`, the magic number of a skippable frame |
//! | 4 | the number of bytes that follow |
//! | 8 | `holddict` |
//! | n | the dictionary, in the format of RFC 8878, section 5 |
//! | 4 | n |
//! | 4 | CRC-32 of all bytes before |
//!
//! Integers are little-endian. Each shard of a set stores the dictionary, so that it can be read
//! alone. A frame without a dictionary ID does not use it.
//!
//! The frame is found from both ends, so that neither a damaged first record nor a damaged limit
//! makes all records unreadable. If its checksum does not match, only records with checksums of their
//! own are decoded with it: no others are known to be right. A repair restores it from an intact copy,
//! which another shard has, if the checksum, or all bytes but the checksum, prove that it was the same.
#![forbid(unsafe_code)]

use super::frame::{self, FileSource};
use super::interleave::{MARK_SIZE, Mark};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::File;
use std::sync::Arc;
use zstd_safe::DDict;

/// Maximum size of a stored dictionary in bytes.
pub const MAX_DICTIONARY: usize = 16 << 20;

/// The magic number of a skippable frame.
const MAGIC: [u8; 4] = *b"\x5d\x2a\x4d\x18";
const SIGNATURE: [u8; 8] = *b"holddict";
/// Number of bytes before and after the dictionary.
const HEADER: usize = 16;
const FOOTER: usize = 8;
/// Number of skippable frames that can follow the first record.
const MAX_SKIPPABLE: usize = 16;

/// Returns the ID of a dictionary, which one of raw content does not have.
pub fn id(dictionary: &[u8]) -> Option<u32> {
    zstd_safe::get_dict_id(dictionary).map(u32::from)
}

/// Returns the stored form of a dictionary.
pub fn to_frame(dictionary: &[u8]) -> Result<Arc<[u8]>> {
    if id(dictionary).is_none() {
        return Err(fail!(
            Argument,
            "HOLDALL_OPT_DICTIONARY: only a trained dictionary, which has an ID, can be stored in a bag (found {} bytes of raw content)",
            dictionary.len()
        ));
    }
    if dictionary.len() > MAX_DICTIONARY {
        return Err(fail!(
            Limit,
            "HOLDALL_OPT_DICTIONARY: a bag stores at most {MAX_DICTIONARY} bytes (found {})",
            dictionary.len()
        ));
    }
    let size = dictionary.len() as u32;
    let mut frame = alloc::with_capacity(HEADER + dictionary.len() + FOOTER)?;
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&(size + (HEADER + FOOTER - 8) as u32).to_le_bytes());
    frame.extend_from_slice(&SIGNATURE);
    frame.extend_from_slice(dictionary);
    frame.extend_from_slice(&size.to_le_bytes());
    frame.extend_from_slice(&crc32(&frame).to_le_bytes());
    Ok(frame.into())
}

/// A dictionary found in a file.
pub struct Found {
    /// The dictionary.
    pub bytes: Vec<u8>,
    /// Whether the checksum matches.
    pub is_intact: bool,
}

/// Finds the dictionary of the records that end at `end`, of which the first one ends at `first_end`,
/// if that is known.
pub fn find(
    file: &dyn File,
    end: u64,
    first_end: Option<u64>,
    memory_limit: u64,
) -> Result<Option<Found>> {
    let from_the_start = || offset_from_the_start(file, end);
    let before_the_end = || first_end.map_or(Ok(None), |end| offset_before(file, end));
    let mut damaged = None;
    for extent in [&from_the_start as &dyn Fn() -> Result<_>, &before_the_end] {
        let Some(extent) = extent()? else { continue };
        match read(file, extent, memory_limit)? {
            Some(found) if found.is_intact => return Ok(Some(found)),
            found => damaged = found.or(damaged),
        }
    }
    Ok(damaged)
}

/// Returns the extent of the stored form from the frames at the start of a file.
fn offset_from_the_start(file: &dyn File, end: u64) -> Result<Option<(u64, u64)>> {
    let source = FileSource::new(file, end);
    let mut at = 0;
    for i in 0..MAX_SKIPPABLE {
        let frame = match frame::frame(&source, at) {
            Ok(frame) if frame.skippable || i == 0 => frame,
            Err(e) if !e.status.is_corruption() => return Err(e),
            _ => return Ok(None),
        };
        let extent = (at, at + frame.len);
        if frame.skippable && is_signed(file, extent)? {
            return Ok(Some(extent));
        }
        at = extent.1;
    }
    Ok(None)
}

/// Returns the end of the stored form in a first record with this end.
fn end_before_mark(file: &dyn File, first_end: u64) -> Result<u64> {
    let Some(at) = first_end.checked_sub(MARK_SIZE as u64) else {
        return Ok(first_end);
    };
    let mut mark = [0; MARK_SIZE];
    file.read_exact_at(at, &mut mark)?;
    Ok(Mark::parse(&mark).map_or(first_end, |_| at))
}

/// Finds a damaged copy of a stored form in the first record. Returns the offset of the bytes that
/// differ, and what they were.
///
/// The copy has the checksum of the form, or all bytes but the checksum, and most bytes in any case:
/// that proves that it was the same.
pub fn find_damaged<'a>(
    file: &dyn File,
    first_end: u64,
    form: &'a [u8],
) -> Result<Option<(u64, &'a [u8])>> {
    let length = form.len() as u64;
    let first_frame = frame::frame(&FileSource::new(file, first_end), 0).ok();
    let before_mark = end_before_mark(file, first_end)?.checked_sub(length);
    let starts = [Some(0), first_frame.map(|f| f.len), before_mark];
    for at in starts.into_iter().flatten() {
        if first_end.checked_sub(at).is_none_or(|rest| rest < length) {
            continue;
        }
        let mut found = alloc::zeroed(form.len())?;
        file.read_exact_at(at, &mut found)?;
        let differ = |i: &usize| found.get(*i) != form.get(*i);
        let different = (0..form.len()).filter(differ).count();
        let crc_at = form.len() - 4;
        let is_proved =
            found.get(crc_at..) == form.get(crc_at..) || found.get(..crc_at) == form.get(..crc_at);
        if is_proved && different * 2 < form.len() {
            let first = (0..form.len()).find(differ);
            let last = (0..form.len()).rfind(differ);
            return Ok(first
                .zip(last)
                .and_then(|(first, last)| Some((at + first as u64, form.get(first..=last)?))));
        }
    }
    Ok(None)
}

/// Returns the extent of the stored form from the end of the first record.
fn offset_before(file: &dyn File, first_end: u64) -> Result<Option<(u64, u64)>> {
    let end = end_before_mark(file, first_end)?;
    let Some(footer) = end.checked_sub(FOOTER as u64) else {
        return Ok(None);
    };
    let mut size = [0; 4];
    file.read_exact_at(footer, &mut size)?;
    let size = u64::from(u32::from_le_bytes(size));
    match footer.checked_sub(size + HEADER as u64) {
        Some(at) if is_signed(file, (at, end))? => Ok(Some((at, end))),
        _ => Ok(None),
    }
}

/// Returns whether the frame in this range is an intact stored form.
pub fn is_intact(file: &dyn File, extent: (u64, u64), memory_limit: u64) -> Result<bool> {
    let found = match is_signed(file, extent)? {
        true => read(file, extent, memory_limit)?,
        false => None,
    };
    Ok(found.is_some_and(|found| found.is_intact))
}

/// Returns whether a range of the file can be a stored form.
fn is_signed(file: &dyn File, (from, to): (u64, u64)) -> Result<bool> {
    let mut signature = [0; SIGNATURE.len()];
    if to - from < (HEADER + FOOTER) as u64 {
        return Ok(false);
    }
    file.read_exact_at(from + (HEADER - SIGNATURE.len()) as u64, &mut signature)?;
    Ok(signature == SIGNATURE)
}

/// Reads a stored form that is signed. Returns `None` if it is too large.
fn read(file: &dyn File, (from, to): (u64, u64), memory_limit: u64) -> Result<Option<Found>> {
    let size = to - from;
    if size > (HEADER + MAX_DICTIONARY + FOOTER) as u64 {
        return Ok(None);
    }
    let mut frame = alloc::zeroed(alloc::allow(size, memory_limit, "a stored dictionary")?)?;
    file.read_exact_at(from, &mut frame)?;
    let is_intact = frame
        .split_last_chunk()
        .is_some_and(|(checked, crc)| *crc == crc32(checked).to_le_bytes());
    frame.truncate(frame.len() - FOOTER);
    Ok(Some(Found {
        bytes: frame.split_off(HEADER),
        is_intact,
    }))
}

/// A dictionary of a bag, prepared for decoding.
pub struct Dictionary {
    /// The dictionary.
    pub bytes: Arc<[u8]>,
    /// Its ID.
    pub id: u32,
    /// Whether its checksum matches.
    pub is_intact: bool,
    /// Its prepared form.
    pub prepared: DDict<'static>,
}

impl Dictionary {
    /// Prepares a dictionary. Returns `None` if zstd refuses it.
    pub fn new(found: Found) -> Option<Dictionary> {
        Some(Dictionary {
            id: id(&found.bytes)?,
            is_intact: found.is_intact,
            prepared: DDict::try_create(&found.bytes)?,
            bytes: found.bytes.into(),
        })
    }
}
