//! The beginning of an LZ4 stream, for those who want no more of it: LZ4's own library goes byte by byte through a match
//! that leads beyond what is wanted.
//!
//! A stream is a row of sequences: a token, literals, and a match, but for the last one, which ends with its literals. The
//! upper four bits of the token are the number of literals, the lower ones the length of the match less 4; where they are
//! 15, bytes follow that are added up, and the first one below 255 is the last. Behind the literals is the distance, two
//! bytes, the lower one first.
#![forbid(unsafe_code)]

use super::blosclz::repeat;

/// The shortest match.
const SHORTEST: usize = 4;
/// Literals that are copied at once, whether so many are wanted or not.
const RUN: usize = 32;

/// Decompresses until at least the first `wanted` bytes are there, and gives the number of those that are, or nothing where
/// the stream is damaged or does not fit. Bytes of `dst` behind that number may have changed.
pub fn decompress_some(mut src: &[u8], dst: &mut [u8], wanted: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        let (&token, rest) = src.split_first()?;
        let (literals, rest) = length(usize::from(token >> 4), rest)?;
        match (rest.first_chunk::<RUN>(), dst.get_mut(at..)?.first_chunk_mut::<RUN>()) {
            (Some(from), Some(to)) if literals <= RUN => *to = *from,
            // what is missing of the last literals is not wanted
            _ => {
                let n = literals.min(rest.len()).min(dst.len().checked_sub(at)?);
                dst.get_mut(at..at + n)?.copy_from_slice(rest.get(..n)?);
                if n < literals {
                    return Some(at + n);
                }
            }
        }
        at += literals;
        src = rest.get(literals..)?;
        if at >= wanted || src.is_empty() {
            return Some(at);
        }
        let (distance, rest) = src.split_first_chunk()?;
        let (more, rest) = length(usize::from(token & 15), rest)?;
        let distance = usize::from(u16::from_le_bytes(*distance));
        if distance == 0 {
            return None;
        }
        // a run may lead far beyond what is wanted
        at = repeat(dst, at, distance, more.checked_add(SHORTEST)?.min(wanted - at))?;
        src = rest;
        if at >= wanted {
            return Some(at);
        }
    }
}

/// A length whose first four bits are these, and what follows it.
#[inline(always)]
fn length(mut n: usize, mut src: &[u8]) -> Option<(usize, &[u8])> {
    if n == 15 {
        loop {
            let (&more, rest) = src.split_first()?;
            (n, src) = (n.checked_add(usize::from(more))?, rest);
            if more != 255 {
                break;
            }
        }
    }
    Some((n, src))
}
