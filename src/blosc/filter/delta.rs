//! Delta: XORs each item of a block with the same item of the chunk's first block, the reference.
//! Each item of the reference is XORed with the item before it.
//!
//! The item size is the typesize if it is 1, 2, 4 or 8; 8 bytes for other multiples of 8; otherwise
//! one byte.
#![forbid(unsafe_code)]

/// Returns the size of the items that are XORed, in bytes.
fn width(typesize: usize) -> usize {
    match typesize {
        1 | 2 | 4 | 8 => typesize,
        t if t % 8 == 0 => 8,
        _ => 1,
    }
}

/// XORs `src` with the reference into `dst`. `first`: whether this is the first block of the chunk,
/// the reference itself. Bytes after the last whole item are copied.
pub fn delta_encode(reference: &[u8], first: bool, typesize: usize, src: &[u8], dst: &mut [u8]) {
    debug_assert_eq!(src.len(), dst.len(), "a filter keeps the length");
    let width = width(typesize);
    let whole = src.len() - src.len() % width;
    let (head, before) = if first {
        (width.min(whole), src)
    } else {
        (0, reference)
    };
    debug_assert!(
        head + before.len() >= whole,
        "the first block is the longest"
    );
    let before = before.get(..whole - head).unwrap_or(before);
    dst.iter_mut()
        .zip(src)
        .take(head)
        .for_each(|(to, x)| *to = *x);
    dst.iter_mut()
        .zip(src)
        .skip(head)
        .zip(before)
        .for_each(|((to, x), before)| *to = x ^ before);
    dst.iter_mut()
        .zip(src)
        .skip(whole)
        .for_each(|(to, x)| *to = *x);
}

/// The inverse of [`delta_encode`], in place. Without a reference, `data` is the reference itself.
pub fn delta_decode(reference: Option<&[u8]>, typesize: usize, data: &mut [u8]) {
    let width = width(typesize);
    let whole = data.len() - data.len() % width;
    let (data, _) = data.split_at_mut(whole);
    match (reference, width) {
        (Some(reference), _) => {
            debug_assert!(reference.len() >= whole, "the first block is the longest");
            for (to, &x) in data.iter_mut().zip(reference) {
                *to ^= x;
            }
        }
        (None, 1) => running_xor(data, 8, 0x0101_0101_0101_0101),
        (None, 2) => running_xor(data, 16, 0x0001_0001_0001_0001),
        (None, 4) => running_xor(data, 32, 0x0000_0001_0000_0001),
        (None, _) => running_xor(data, 64, 1),
    }
}

/// XORs each item of `bits` bits with all items before it; `ones` has the lowest bit of each item
/// set.
#[inline(always)]
fn running_xor(data: &mut [u8], bits: u32, ones: u64) {
    let mut before = 0;
    let mut step = |x: u64| {
        let (mut x, mut shift) = (x, bits);
        while shift < 64 {
            x ^= x << shift;
            shift *= 2;
        }
        let items = x ^ before;
        // broadcasts the last item; not computed from `items`, so that a step does not depend on
        // the whole preceding step
        before ^= (x >> (64 - bits)).wrapping_mul(ones);
        items
    };
    let (integers, rest) = data.as_chunks_mut::<8>();
    for integer in integers {
        *integer = step(u64::from_le_bytes(*integer)).to_le_bytes();
    }
    let mut integer = [0; 8];
    integer.iter_mut().zip(&*rest).for_each(|(to, x)| *to = *x);
    integer = step(u64::from_le_bytes(integer)).to_le_bytes();
    rest.iter_mut().zip(integer).for_each(|(to, x)| *to = x);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{noise, runs};
    use super::*;
    use proptest::prelude::*;

    /// CRC-32 of the output of c-blosc2 3.3.5 for runs, in blocks of this many bytes, up to the
    /// last whole item. c-blosc2 does not write the bytes after it.
    #[test]
    fn output_equals_the_reference() {
        let known = [
            (1, 5000, 1000, 0x302b7907),
            (2, 5000, 1000, 0xebac2a38),
            (3, 5001, 1200, 0x969474c8),
            (4, 5000, 1000, 0x4e3b3836),
            (6, 6000, 1200, 0x63f707bb),
            (8, 8000, 1600, 0x4cac5eb5),
            (16, 8000, 1600, 0x4cac5eb5),
            (24, 9600, 2400, 0x26bbf289),
            (12, 6000, 1200, 0x63f707bb),
            (1, 5003, 1000, 0x6ed25aea),
            (2, 5001, 1000, 0xebac2a38),
            (4, 5002, 1000, 0x4e3b3836),
            (8, 8004, 1600, 0x4cac5eb5),
        ];
        for (typesize, len, block, crc) in known {
            let (src, mut dst) = (runs(len), vec![0; len]);
            for (i, (part, dst)) in src.chunks(block).zip(dst.chunks_mut(block)).enumerate() {
                delta_encode(&src[..block], i == 0, typesize, part, dst);
            }
            let whole = len - len % typesize;
            assert_eq!(
                crate::checksum::crc32(&dst[..whole]),
                crc,
                "typesize {typesize}, {len} bytes"
            );
            assert_eq!(dst[whole..], src[whole..]);
        }
    }

    proptest! {
        #[test]
        fn round_trips(typesize in 1usize..=300, src in proptest::collection::vec(any::<u8>(), 0..1000), longer in 0usize..100) {
            let reference = noise(src.len() + longer);
            let mut dst = vec![0xa5; src.len()];
            delta_encode(&reference, false, typesize, &src, &mut dst);
            delta_decode(Some(&reference), typesize, &mut dst);
            prop_assert_eq!(&dst, &src);
            delta_encode(&src, true, typesize, &src, &mut dst);
            delta_decode(None, typesize, &mut dst);
            prop_assert_eq!(&dst, &src);
        }
    }
}
