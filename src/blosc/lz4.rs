//! The beginning of an LZ4 stream, for those who want no more of it: LZ4's own library goes byte by
//! byte through a match that leads beyond what is wanted, and leaves there what was in memory where
//! the stream is damaged.
//!
//! A stream is a row of sequences: a token, literals, and a match, but for the last one, which ends
//! with its literals. The upper four bits of the token are the number of literals, the lower ones
//! the length of the match less 4; where they are 15, bytes follow that are added up, and the first
//! one below 255 is the last. Behind the literals is the distance, two bytes, the lower one first.
#![forbid(unsafe_code)]

use super::blosclz::repeat;

/// The shortest match.
const SHORTEST: usize = 4;
/// Literals that are copied at once, whether so many are wanted or not.
const RUN: usize = 32;

/// Decompresses until at least the first `wanted` bytes are there, and gives the number of those
/// that are, or nothing where the stream is damaged or does not fit. Bytes of `dst` behind that
/// number may have changed.
pub fn decompress_some(mut src: &[u8], dst: &mut [u8], wanted: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        let (&token, rest) = src.split_first()?;
        let (literals, rest) = length(usize::from(token >> 4), rest)?;
        match (
            rest.first_chunk::<RUN>(),
            dst.get_mut(at..)?.first_chunk_mut::<RUN>(),
        ) {
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
        // a run may lead far beyond what is wanted
        let run = more.checked_add(SHORTEST)?.min(wanted - at);
        at = match u16::from_le_bytes(*distance) {
            // the format forbids it; LZ4's own library takes it as zeros, and a part must be what
            // the whole is
            0 => {
                dst.get_mut(at..at + run)?.fill(0);
                at + run
            }
            distance => repeat(dst, at, usize::from(distance), run)?,
        };
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

#[cfg(test)]
mod tests {
    use super::decompress_some;
    use crate::blosc::Codec;
    use crate::blosc::codec::Decoders;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Literals, a distance that may be none at all, and a length less 4.
    fn stream(sequences: &[(Vec<u8>, usize, u8)]) -> (Vec<u8>, usize) {
        let (mut stream, mut len) = (Vec::new(), 0);
        for (literals, distance, more) in sequences {
            len += literals.len();
            stream.push((literals.len() as u8) << 4 | (*more).min(15));
            stream.extend(literals);
            stream.extend(((distance % (len + 1)) as u16).to_le_bytes());
            stream.extend(more.checked_sub(15));
            len += usize::from(*more) + 4;
        }
        stream.push(12 << 4);
        stream.extend([7; 12]);
        (stream, len + 12)
    }

    proptest! {
        /// In a buffer that held something else, and with distances that the format forbids.
        #[test]
        fn the_beginning_is_that_of_the_whole(
            sequences in vec((vec(any::<u8>(), 0..15), prop_oneof![Just(0usize), any::<usize>()], 0..=200u8), 1..8),
            wanted in any::<prop::sample::Index>(),
        ) {
            let (stream, len) = stream(&sequences);
            let mut whole = vec![0xaa; len];
            prop_assert!(Decoders::default().decode(Codec::Lz4, None, &stream, &mut whole).unwrap());
            let wanted = wanted.index(len + 1);
            let mut part = vec![0x55; len];
            prop_assert!(decompress_some(&stream, &mut part, wanted).is_some_and(|n| n >= wanted));
            prop_assert_eq!(&part[..wanted], &whole[..wanted]);
        }
    }
}
