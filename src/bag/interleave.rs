//! The interleave mark of a set: record i is in shard i modulo the number of shards.
//!
//! Bagz reads shards one after the other by default, and its files contain only records. The mark
//! says that a set is interleaved. In a compressed set each shard has a skippable zstd frame after
//! the frame of its first record, which all readers of Bagz files skip. It contains the number of
//! the shard and the number of shards. Uncompressed shards cannot contain it: a file `turns.NAME`
//! with the same bytes is beside the first one.
#![forbid(unsafe_code)]

use super::codec::Codec;
use super::shard::Shard;
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::parallel;

/// Prefix of the name of the file with the mark of an uncompressed set.
pub const TURNS_PREFIX: &str = "turns.";
/// Size of a mark in bytes.
pub const MARK_SIZE: usize = 28;
/// The magic number of a skippable frame, the length of its content, and the signature at the start
/// of the content.
const MARK_HEADER: [u8; 16] = *b"\x5c\x2a\x4d\x18\x14\0\0\0hldturns";
/// Number of bytes before the checksum, which covers them.
const CHECKED_LEN: usize = 24;

/// The interleave mark of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the shard, from 0.
    pub shard: u32,
    /// Number of shards.
    pub of: u32,
}

impl Mark {
    /// Returns the bytes of the mark.
    pub fn to_bytes(self) -> [u8; MARK_SIZE] {
        let checked = [
            &MARK_HEADER[..],
            &self.shard.to_le_bytes(),
            &self.of.to_le_bytes(),
        ]
        .concat();
        let mut to_bytes = [0; MARK_SIZE];
        to_bytes
            .iter_mut()
            .zip(checked.iter().chain(&crc32(&checked).to_le_bytes()))
            .for_each(|(to, from)| *to = *from);
        to_bytes
    }

    /// Parses a mark. Returns `None` if it is damaged.
    pub fn parse(bytes: &[u8]) -> Option<Mark> {
        let (checked, crc) = bytes.split_at_checked(CHECKED_LEN)?;
        let (shard, of) = checked.strip_prefix(&MARK_HEADER)?.split_first_chunk()?;
        let mark = Mark {
            shard: u32::from_le_bytes(*shard),
            of: u32::from_le_bytes(of.try_into().ok()?),
        };
        (crc == crc32(checked).to_le_bytes() && mark.shard < mark.of).then_some(mark)
    }
}

/// Returns whether these shards are a complete interleaved set.
///
/// The marks of two shards are read first, so that damage to one of them does not change the order.
/// A mark that names another shard, or another number of them, is an error: the shards were renamed
/// or exchanged, and no order is certain.
pub fn is_interleaved(shards: &[Shard], threads: usize) -> Result<bool> {
    let n = shards.len();
    if n < 2 {
        return Ok(false);
    }
    if shards.iter().all(|s| s.decoder().codec() == Codec::None) {
        return match shards.first().and_then(|s| Some((s, s.mark_in_file()?))) {
            Some((first, mark)) => agree(first, 0, n, mark).map(|()| true),
            None => Ok(false),
        };
    }
    let mut filled: Vec<_> = (0..).zip(shards).filter(|(_, s)| s.count() > 0).collect();
    let others = filled.split_off(filled.len().min(2));
    if !any_interleaved(filled, n, threads)? {
        return Ok(false);
    }
    any_interleaved(others, n, threads).map(|_| true)
}

/// Returns whether one of these shards, each with its number, has the mark of its number. Other
/// marks are an error; a mark that cannot be read is none.
fn any_interleaved(shards: Vec<(usize, &Shard)>, n: usize, threads: usize) -> Result<bool> {
    let mut found = vec![false; shards.len()];
    let each = shards.into_iter().zip(&mut found).collect();
    parallel::try_for_each(
        threads,
        each,
        |((i, shard), found): ((usize, &Shard), &mut bool)| {
            if let Some(mark) = shard.mark().ok().flatten() {
                agree(shard, i, n, mark)?;
                *found = true;
            }
            Ok::<(), Error>(())
        },
    )?;
    Ok(found.contains(&true))
}

/// Fails unless the mark of a shard names its number and how many shards there are.
fn agree(shard: &Shard, i: usize, n: usize, mark: Mark) -> Result<()> {
    if (mark.shard as usize, mark.of as usize) == (i, n) {
        return Ok(());
    }
    Err(fail!(
        Format,
        "{}: the interleave mark names another shard (expected {i} of {n}, found {} of {}); restore the names of the files, or set HOLDALL_OPT_BAG_SHARDS to read them in a given order",
        shard.file().name(),
        mark.shard,
        mark.of
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::frame;

    #[test]
    fn a_mark_is_a_skippable_frame() {
        let mark = Mark { shard: 3, of: 8 };
        let to_bytes = mark.to_bytes();
        let f = frame::frame(&&to_bytes[..], 0).unwrap();
        assert_eq!((f.len, f.skippable), (MARK_SIZE as u64, true));
        assert_eq!(Mark::parse(&to_bytes), Some(mark));
        for other in [
            &to_bytes[1..],
            &to_bytes[..27],
            &Mark { shard: 8, of: 8 }.to_bytes(),
            b"",
        ] {
            assert_eq!(Mark::parse(other), None);
        }
    }
}
