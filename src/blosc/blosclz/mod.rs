//! BloscLZ, Blosc's own codec: LZ77 of the FastLZ family, without entropy coding.
//!
//! A stream is a series of instructions, each with a leading control byte `c`:
//!
//! - `c < 32`: `c + 1` literals follow.
//! - otherwise a match. `c >> 5` determines its length: 1 to 6 mean 3 to 8 bytes. 7 means 9 bytes
//!   and more: bytes follow that are added to the length, and the first one below 255 is the last.
//!   The lower five bits of `c` and one more byte are the distance minus one. The value 8191 marks
//!   a far match: two more bytes in big-endian order are added to it.
//!
//! The first instruction is literals, whatever its upper three bits are (writers set them to 1).
//! The last instruction is literals as well. A stream contains neither its own length nor the
//! length of its content.
#![forbid(unsafe_code)]

mod encode;
#[cfg(test)]
mod tests;

pub use encode::compress;

/// Maximum number of literals in one instruction.
const MAX_LITERALS: usize = 32;
/// Bits that writers set in the first control byte.
const FIRST_CONTROL_BITS: u8 = 32;
/// Maximum distance in the short form.
const MAX_SHORT_DISTANCE: usize = 8191;
/// Maximum distance that C-Blosc looks back.
const MAX_DISTANCE: usize = MAX_SHORT_DISTANCE + 65533;
/// Minimum length of a match whose length takes bytes of its own.
const LONG_MATCH: usize = 9;

/// Decompresses the stream `src` into `dst`. Returns the number of bytes, or `None` if the stream
/// is corrupt or does not fit. Bytes of `dst` after this number may have changed.
#[inline(never)] // so that its loop does not depend on the caller, like below
pub fn decompress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    decompress_until::<false>(src, dst, 0)
}

/// Like [`decompress`], but ends after the instruction that completes the first `requested` bytes.
#[inline(never)]
pub fn decompress_prefix(src: &[u8], dst: &mut [u8], requested: usize) -> Option<usize> {
    decompress_until::<true>(src, dst, requested)
}

#[inline(always)]
fn decompress_until<const PREFIX: bool>(
    src: &[u8],
    dst: &mut [u8],
    requested: usize,
) -> Option<usize> {
    let (&first, mut input) = src.split_first()?;
    let mut control = usize::from(first & (FIRST_CONTROL_BITS - 1));
    let mut at = 0;
    loop {
        if control < MAX_LITERALS {
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
            at = copy_match(dst, at, distance, length)?;
        }
        (input, at) = decompress_inner::<PREFIX>(input, dst, at, requested)?;
        if PREFIX && at >= requested {
            return Some(at);
        }
        let (&next, rest) = input.split_first()?;
        (control, input) = (usize::from(next), rest);
    }
}

/// Decompresses the instructions that are far enough from the ends of input and output that
/// literals are copied `MAX_LITERALS` at a time. Returns the remaining input and the position in
/// `dst`.
#[inline(always)]
fn decompress_inner<'a, const PREFIX: bool>(
    mut input: &'a [u8],
    dst: &mut [u8],
    mut at: usize,
    requested: usize,
) -> Option<(&'a [u8], usize)> {
    while let Some([control, literals @ .., _]) = input.first_chunk::<{ MAX_LITERALS + 2 }>() {
        if PREFIX && at >= requested {
            break;
        }
        let control = usize::from(*control);
        if control < MAX_LITERALS {
            let Some(room) = dst.get_mut(at..)?.first_chunk_mut() else {
                break;
            };
            *room = *literals;
            input = input.get(control + 2..)?;
            at += control + 1;
        } else {
            let (length, distance, rest) = match_code(control, input.get(1..)?)?;
            input = rest;
            at = copy_match(dst, at, distance, length)?;
        }
    }
    Some((input, at))
}

/// Returns the length and the distance of a match, and the input after its code.
#[inline(always)]
fn match_code(control: usize, mut input: &[u8]) -> Option<(usize, usize, &[u8])> {
    let mut length = (control >> 5) + 2;
    if length == LONG_MATCH {
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
    if back == MAX_SHORT_DISTANCE {
        let (&more, after) = rest.split_first_chunk()?;
        back += usize::from(u16::from_be_bytes(more));
        rest = after;
    }
    Some((length, back + 1, rest))
}

/// Number of bytes that `copy_match` writes at once if 8 bytes are not sufficient, even if fewer
/// are needed. The number of iterations of a loop would be hard to predict for the processor.
const COPY_CHUNK: usize = 32;

/// Writes `length` bytes at `at`, each equal to the byte `distance` before it. Returns the end of
/// the written bytes.
#[inline(always)]
pub(super) fn copy_match(
    dst: &mut [u8],
    at: usize,
    distance: usize,
    length: usize,
) -> Option<usize> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length)?;
    // the window from the source to the end of the written bytes
    let Some(window) = dst
        .get_mut(from..)
        .filter(|p| length <= COPY_CHUNK && p.len() >= distance + COPY_CHUNK)
    else {
        copy_long_match(dst, from, at, end)?;
        return Some(end);
    };
    let (eight, period) = pattern(window, distance)?;
    *window.get_mut(distance..)?.first_chunk_mut()? = eight;
    if length <= 8 {
        return Some(end);
    }
    for done in [8, 16, 24] {
        let eight = *window.get(distance + done - period..)?.first_chunk::<8>()?;
        *window.get_mut(distance + done..)?.first_chunk_mut()? = eight;
    }
    Some(end)
}

/// For each distance: a mask of the bytes of the pattern, the factor that repeats them, and the
/// first multiple of the distance that is 8 or more. The last entry is for all distances from 8.
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

/// Returns the eight bytes after the first `distance` bytes, which repeat them, and an equivalent
/// distance of 8 or more.
#[inline(always)]
fn pattern(window: &[u8], distance: usize) -> Option<([u8; 8], usize)> {
    let &(mask, factor, period) = PERIODS.get(distance.min(8))?;
    let eight = u64::from_le_bytes(*window.first_chunk()?) & mask;
    Some((
        eight.wrapping_mul(factor).to_le_bytes(),
        period.max(distance),
    ))
}

/// Like `copy_match`, with large copies, and without writing after `end`.
#[inline(never)]
fn copy_long_match(dst: &mut [u8], from: usize, at: usize, end: usize) -> Option<()> {
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
            // the available bytes double with each step
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
