//! What tells that the shards of a set were written in turns: record i in shard i modulo their
//! number.
//!
//! Bagz reads shards one after the other, unless it is told otherwise, and its files have no place
//! for more than records. Each shard of a compressed set has a skippable zstd frame behind the
//! frame of its first record, which all readers of Bagz's files pass over: it says which shard of
//! how many this is. Uncompressed shards have no such place: beside the first one there is
//! a file `turns.NAME` with the same bytes.
#![forbid(unsafe_code)]

use super::codec::Codec;
use super::shard::Shard;
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::parallel;

/// Name of the file with the mark of `name`.
pub const TURNS_PREFIX: &str = "turns.";
/// Bytes of a mark.
pub const MARK: usize = 28;
/// One of the magic numbers of skippable frames, the length of its content, and what that begins
/// with.
const BEGINNING: [u8; 16] = *b"\x5c\x2a\x4d\x18\x14\0\0\0hldturns";
/// Bytes before the checksum.
const SAID: usize = 24;

/// Which shard of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its number, from 0 on.
    pub shard: u32,
    /// How many there are.
    pub of: u32,
}

impl Turn {
    /// The mark.
    pub fn mark(self) -> [u8; MARK] {
        let said = [
            &BEGINNING[..],
            &self.shard.to_le_bytes(),
            &self.of.to_le_bytes(),
        ]
        .concat();
        let mut mark = [0; MARK];
        mark.iter_mut()
            .zip(said.iter().chain(&crc32(&said).to_le_bytes()))
            .for_each(|(to, from)| *to = *from);
        mark
    }

    /// What a mark says; nothing, where it is damaged.
    pub fn read(mark: &[u8]) -> Option<Turn> {
        let (said, sum) = mark.split_at_checked(SAID)?;
        let (shard, of) = said.strip_prefix(&BEGINNING)?.split_first_chunk()?;
        let turn = Turn {
            shard: u32::from_le_bytes(*shard),
            of: u32::from_le_bytes(of.try_into().ok()?),
        };
        (sum == crc32(said).to_le_bytes() && turn.shard < turn.of).then_some(turn)
    }
}

/// Returns whether these shards are a complete set that was written in turns.
///
/// The marks of two shards are read first, so that damage to one of them does not change the order.
/// A mark that names another shard, or another number of them, is an error: the shards were renamed
/// or exchanged, and no order is certain.
pub fn in_turns(shards: &[Shard], threads: usize) -> Result<bool> {
    let n = shards.len();
    if n < 2 {
        return Ok(false);
    }
    if shards.iter().all(|s| s.decoder().codec() == Codec::None) {
        return match shards.first().and_then(|s| Some((s, s.turn_beside()?))) {
            Some((first, turn)) => agree(first, 0, n, turn).map(|()| true),
            None => Ok(false),
        };
    }
    let mut filled: Vec<_> = (0..).zip(shards).filter(|(_, s)| s.count() > 0).collect();
    let others = filled.split_off(filled.len().min(2));
    if !any_in_turns(filled, n, threads)? {
        return Ok(false);
    }
    any_in_turns(others, n, threads).map(|_| true)
}

/// Returns whether one of these shards, each with its number, has the mark of its number. Other
/// marks are an error; a mark that cannot be read is none.
fn any_in_turns(shards: Vec<(usize, &Shard)>, n: usize, threads: usize) -> Result<bool> {
    let mut found = vec![false; shards.len()];
    let each = shards.into_iter().zip(&mut found).collect();
    parallel::try_each(
        threads,
        each,
        |((i, shard), found): ((usize, &Shard), &mut bool)| {
            if let Some(turn) = shard.turn().ok().flatten() {
                agree(shard, i, n, turn)?;
                *found = true;
            }
            Ok::<(), Error>(())
        },
    )?;
    Ok(found.contains(&true))
}

/// Fails unless the mark of a shard names its number and how many shards there are.
fn agree(shard: &Shard, i: usize, n: usize, turn: Turn) -> Result<()> {
    if (turn.shard as usize, turn.of as usize) == (i, n) {
        return Ok(());
    }
    Err(fail!(
        Format,
        "{}: this file was written as shard {} of {} of a set in turns, and is read as shard {i} of {n}; give the files their names back, or say with HOLDALL_OPT_BAG_SHARDS in which order they are read",
        shard.file().name(),
        turn.shard,
        turn.of
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::frame;

    #[test]
    fn a_mark_is_a_skippable_frame() {
        let turn = Turn { shard: 3, of: 8 };
        let mark = turn.mark();
        let f = frame::frame(&&mark[..], 0).unwrap();
        assert_eq!((f.len, f.skippable), (MARK as u64, true));
        assert_eq!(Turn::read(&mark), Some(turn));
        for other in [
            &mark[1..],
            &mark[..27],
            &Turn { shard: 8, of: 8 }.mark(),
            b"",
        ] {
            assert_eq!(Turn::read(other), None);
        }
    }
}
