//! BloscLZ, the codec of Blosc itself: LZ77 of FastLZ's family, without entropy coding.
//!
//! A stream is a row of instructions, each with a control byte `c` in front:
//!
//! - `c < 32`: `c + 1` literals follow.
//! - else a match: `c >> 5` says its length, 1 to 6 for 3 to 8 bytes; 7 for 9 bytes and more, where
//!   bytes follow that are added up, and the first one below 255 is the last. The low five bits of
//!   `c` and one more byte are the distance less one. 8191 stands for far away: two bytes more, the
//!   higher one first, are added to it.
//!
//! The first instruction is literals whatever its upper three bits are (writers put a 1 there), and
//! so is the last one. A stream knows neither its own length nor that of its data.
#![forbid(unsafe_code)]

mod encode;
#[cfg(test)]
mod tests;

pub use encode::compress;

/// The most literals in one instruction.
const RUN: usize = 32;
/// What the first control byte carries on top.
const MARK: u8 = 32;
/// The longest distance in the short form.
const NEAR: usize = 8191;
/// The longest distance that C-Blosc looks back.
const FAR: usize = NEAR + 65533;
/// From here on, a match has its length in bytes of its own.
const LONG: usize = 9;

/// Decompresses the stream `src` into `dst` and gives the number of bytes, or nothing where the
/// stream is damaged or does not fit. Bytes of `dst` behind that number may have changed.
pub fn decompress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    decompress_until::<false>(src, dst, 0)
}

/// As [`decompress`], and ends where `wanted` bytes are there, with the instruction that brings the
/// last of them.
pub fn decompress_some(src: &[u8], dst: &mut [u8], wanted: usize) -> Option<usize> {
    decompress_until::<true>(src, dst, wanted)
}

#[inline(always)]
fn decompress_until<const SOME: bool>(src: &[u8], dst: &mut [u8], wanted: usize) -> Option<usize> {
    let (&first, mut input) = src.split_first()?;
    let mut control = usize::from(first & (MARK - 1));
    let mut at = 0;
    loop {
        if control < RUN {
            let count = control + 1;
            dst.get_mut(at..at + count)?
                .copy_from_slice(input.get(..count)?);
            at += count;
            input = input.get(count..)?;
            if input.is_empty() {
                return Some(at);
            }
        } else {
            let (length, distance, rest) = match_code(control, input)?;
            input = rest;
            at = repeat(dst, at, distance, length)?;
        }
        (input, at) = decompress_inner::<SOME>(input, dst, at, wanted)?;
        if SOME && at >= wanted {
            return Some(at);
        }
        let (&next, rest) = input.split_first()?;
        (control, input) = (usize::from(next), rest);
    }
}

/// All instructions with so much input behind them and room before them that literals are copied
/// `RUN` at a time. Gives what is left of the input, and the place in `dst`.
#[inline(always)]
fn decompress_inner<'a, const SOME: bool>(
    mut input: &'a [u8],
    dst: &mut [u8],
    mut at: usize,
    wanted: usize,
) -> Option<(&'a [u8], usize)> {
    while let Some([control, literals @ .., _]) = input.first_chunk::<{ RUN + 2 }>() {
        if SOME && at >= wanted {
            break;
        }
        let control = usize::from(*control);
        if control < RUN {
            let Some(room) = dst.get_mut(at..)?.first_chunk_mut() else {
                break;
            };
            *room = *literals;
            input = input.get(control + 2..)?;
            at += control + 1;
        } else {
            let (length, distance, rest) = match_code(control, input.get(1..)?)?;
            input = rest;
            at = repeat(dst, at, distance, length)?;
        }
    }
    Some((input, at))
}

/// A match's length and distance, and what follows its code.
#[inline(always)]
fn match_code(control: usize, mut input: &[u8]) -> Option<(usize, usize, &[u8])> {
    let mut length = (control >> 5) + 2;
    if length == LONG {
        loop {
            let (&more, rest) = input.split_first()?;
            input = rest;
            length = length.saturating_add(usize::from(more));
            if more != 255 {
                break;
            }
        }
    }
    let (&low, mut rest) = input.split_first()?;
    let mut back = (control & 31) << 8 | usize::from(low);
    if back == NEAR {
        let (&more, behind) = rest.split_first_chunk()?;
        back += usize::from(u16::from_be_bytes(more));
        rest = behind;
    }
    Some((length, back + 1, rest))
}

/// What `repeat` writes at once where 8 bytes are not enough, whether so much is wanted or not: how
/// often it would go on is hard to guess for a processor.
const AT_ONCE: usize = 32;

/// Writes `length` bytes at `at`, each the one `distance` before it, and gives the place behind
/// them.
#[inline(always)]
pub(super) fn repeat(dst: &mut [u8], at: usize, distance: usize, length: usize) -> Option<usize> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length)?;
    // from here to as much as is written
    let Some(place) = dst
        .get_mut(from..)
        .filter(|p| length <= AT_ONCE && p.len() >= distance + AT_ONCE)
    else {
        repeat_long(dst, from, at, end)?;
        return Some(end);
    };
    let (eight, period) = pattern(place, distance)?;
    *place.get_mut(distance..)?.first_chunk_mut()? = eight;
    if length <= 8 {
        return Some(end);
    }
    for done in [8, 16, 24] {
        let eight = *place.get(distance + done - period..)?.first_chunk::<8>()?;
        *place.get_mut(distance + done..)?.first_chunk_mut()? = eight;
    }
    Some(end)
}

/// For each distance: those of eight bytes that count, the factor that repeats them, and the first
/// multiple of the distance that is 8 or more. The last one is for all from 8 on.
const PERIODS: [(u64, u64, usize); 9] = [
    (0, 0, 8),
    (0xff, 0x0101_0101_0101_0101, 8),
    (0xffff, 0x0001_0001_0001_0001, 8),
    (0x00ff_ffff, 0x0001_0000_0100_0001, 9),
    (0xffff_ffff, 0x0000_0001_0000_0001, 8),
    (0xff_ffff_ffff, 0x0000_0100_0000_0001, 10),
    (0xffff_ffff_ffff, 0x0001_0000_0000_0001, 12),
    (0x00ff_ffff_ffff_ffff, 0x0100_0000_0000_0001, 14),
    (u64::MAX, 1, 8),
];

/// The eight bytes that follow the first `distance` ones, which they repeat, and the same distance
/// as one of 8 or more.
#[inline(always)]
fn pattern(place: &[u8], distance: usize) -> Option<([u8; 8], usize)> {
    let &(those, factor, period) = PERIODS.get(distance.min(8))?;
    let eight = u64::from_le_bytes(*place.first_chunk()?) & those;
    Some((
        eight.wrapping_mul(factor).to_le_bytes(),
        period.max(distance),
    ))
}

/// What `repeat` does, with large copies, and never writing behind `end`.
#[inline(never)]
fn repeat_long(dst: &mut [u8], from: usize, at: usize, end: usize) -> Option<()> {
    let dst = dst.get_mut(from..end)?;
    let distance = at - from;
    match pattern(dst, distance) {
        Some((eight, 8)) => {
            let [byte, ..] = eight;
            if eight == [byte; 8] {
                dst.fill(byte);
            } else {
                let (blocks, rest) = dst.as_chunks_mut();
                blocks.fill(eight);
                rest.iter_mut().zip(eight).for_each(|(to, byte)| *to = byte);
            }
        }
        _ => {
            // what is there doubles with each step
            let mut done = distance;
            while done < dst.len() {
                let count = done.min(dst.len() - done);
                dst.copy_within(..count, done);
                done += count;
            }
        }
    }
    Some(())
}
