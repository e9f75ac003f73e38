//! Decompression of a prefix of an LZ4 stream.
//!
//! LZ4's own library is not suitable: it copies byte by byte through a match that extends beyond
//! the requested bytes, and leaves old memory content in the output of a corrupt stream.
//!
//! An LZ4 stream is a series of sequences: a token, literals, and a match. The last sequence ends
//! with its literals. The upper four bits of the token are the number of literals, and the lower
//! four bits are the length of the match minus 4. If such a number is 15, bytes follow that are
//! added to it; the first byte below 255 is the last. The literals are followed by the distance of
//! the match, two bytes in little-endian order.
#![forbid(unsafe_code)]

use super::blosclz::copy_match;

/// Minimum length of a match.
const MIN_MATCH: usize = 4;
/// Number of literals that are copied at once, even if fewer are needed.
const LITERAL_CHUNK: usize = 32;

/// Decompresses at least the first `requested` bytes. Returns the number of decompressed bytes, or
/// `None` if the stream is corrupt or does not fit. Bytes of `dst` after this number may have
/// changed.
pub fn decompress_prefix(mut src: &[u8], dst: &mut [u8], requested: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        let (&token, rest) = src.split_first()?;
        let (literals, rest) = length(usize::from(token >> 4), rest)?;
        match (
            rest.first_chunk::<LITERAL_CHUNK>(),
            dst.get_mut(at..)?.first_chunk_mut::<LITERAL_CHUNK>(),
        ) {
            (Some(from), Some(to)) if literals <= LITERAL_CHUNK => *to = *from,
            // the missing bytes of the last literals are not requested
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
        if at >= requested || src.is_empty() {
            return Some(at);
        }
        let (distance, rest) = src.split_first_chunk()?;
        let (more, rest) = length(usize::from(token & 15), rest)?;
        // a match may extend far beyond the requested bytes
        let run = more.checked_add(MIN_MATCH)?.min(requested - at);
        at = match u16::from_le_bytes(*distance) {
            // the format forbids distance 0; LZ4's own library decodes it as zeros, and a prefix
            // must equal the whole
            0 => {
                dst.get_mut(at..at + run)?.fill(0);
                at + run
            }
            distance => copy_match(dst, at, usize::from(distance), run)?,
        };
        src = rest;
        if at >= requested {
            return Some(at);
        }
    }
}

/// Returns a length that begins with these four bits, and the bytes after it.
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
    use super::decompress_prefix;
    use crate::blosc::Codec;
    use crate::blosc::codec::Decoders;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Returns a stream of sequences (literals, a distance that may be 0, and a match length minus
    /// 4), and the length of its content.
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
        /// The buffer has old content, and the distances may be invalid.
        #[test]
        fn a_prefix_equals_that_of_the_whole(
            sequences in vec((vec(any::<u8>(), 0..15), prop_oneof![Just(0usize), any::<usize>()], 0..=200u8), 1..8),
            requested in any::<prop::sample::Index>(),
        ) {
            let (stream, len) = stream(&sequences);
            let mut whole = vec![0xaa; len];
            prop_assert!(Decoders::default().decode(Codec::Lz4, None, &stream, &mut whole).unwrap());
            let requested = requested.index(len + 1);
            let mut part = vec![0x55; len];
            prop_assert!(decompress_prefix(&stream, &mut part, requested).is_some_and(|n| n >= requested));
            prop_assert_eq!(&part[..requested], &whole[..requested]);
        }
    }
}
