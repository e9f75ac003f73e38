//! Truncated precision: clears the lowest bits of each float's mantissa. There is no inverse.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

/// Retains `bits` bits of the mantissa of each float of 4 or 8 bytes, or clears `-bits` bits if
/// negative. At least one bit must be retained. Bytes after the last whole float are copied.
pub fn truncate(bits: i8, typesize: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let mantissa = match typesize {
        4 => 23,
        8 => 52,
        _ => {
            return Err(fail!(
                Argument,
                "precision can be truncated only for floats (expected items of 4 or 8 bytes, found {typesize})"
            ));
        }
    };
    let cleared = if bits < 0 {
        Some(bits.unsigned_abs())
    } else {
        u8::checked_sub(mantissa, bits.unsigned_abs())
    };
    let Some(cleared) = cleared.filter(|&cleared| cleared < mantissa) else {
        return Err(fail!(
            Argument,
            "invalid precision of {bits} bits (expected 1 to {mantissa} bits to retain, or -1 to -{} bits to clear)",
            mantissa - 1
        ));
    };
    if typesize == 4 {
        let mask = u32::MAX << cleared;
        each(src, dst, |x| (u32::from_ne_bytes(x) & mask).to_ne_bytes());
    } else {
        let mask = u64::MAX << cleared;
        each(src, dst, |x| (u64::from_ne_bytes(x) & mask).to_ne_bytes());
    }
    Ok(())
}

/// Applies `f` to each item of `N` bytes.
fn each<const N: usize>(src: &[u8], dst: &mut [u8], f: impl Fn([u8; N]) -> [u8; N]) {
    debug_assert_eq!(src.len(), dst.len(), "a filter keeps the length");
    let ((src, src_rest), (dst, dst_rest)) = (src.as_chunks::<N>(), dst.as_chunks_mut::<N>());
    for (to, from) in dst.iter_mut().zip(src) {
        *to = f(*from);
    }
    for (to, from) in dst_rest.iter_mut().zip(src_rest) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::runs;
    use super::*;
    use crate::error::Status;

    /// CRC-32 of runs that c-blosc2 3.3.5 truncated on a little-endian machine.
    #[test]
    #[cfg(target_endian = "little")]
    fn output_equals_the_reference() {
        let known = [
            (4, 4000, 10, 0x0ae1d1ff),
            (4, 4000, -10, 0x8d15955f),
            (4, 4000, 23, 0x77c2b96e),
            (4, 4000, 1, 0xe986570e),
            (4, 4000, -22, 0xe986570e),
            (8, 8000, 20, 0x7dc6fa61),
            (8, 8000, -20, 0xb52cae02),
            (8, 8000, 52, 0xac3e1702),
            (8, 8000, 1, 0x65076939),
            (8, 8000, -51, 0x65076939),
        ];
        for (typesize, len, bits, crc) in known {
            let mut dst = vec![0; len];
            truncate(bits, typesize, &runs(len), &mut dst).unwrap();
            assert_eq!(
                crate::checksum::crc32(&dst),
                crc,
                "{bits} bits, typesize {typesize}"
            );
        }
    }

    #[test]
    fn low_mantissa_bits_are_cleared() {
        let mut dst = [0; 10];
        let src = [1.999_999_9f32.to_ne_bytes(), (-1.75f32).to_ne_bytes()].concat();
        truncate(1, 4, &[&src[..], &[7, 8]].concat(), &mut dst).unwrap();
        assert_eq!(
            dst,
            *[&1.5f32.to_ne_bytes()[..], &(-1.5f32).to_ne_bytes(), &[7, 8]].concat()
        );
    }

    /// Settings that c-blosc2 refuses as well.
    #[test]
    fn invalid_settings_are_errors() {
        for (bits, typesize) in [
            (0, 4),
            (24, 4),
            (-23, 4),
            (-24, 4),
            (0, 8),
            (53, 8),
            (-52, 8),
            (-128, 8),
            (127, 8),
            (1, 2),
            (1, 0),
            (1, 16),
        ] {
            assert_eq!(
                truncate(bits, typesize, &[], &mut []).unwrap_err().status,
                Status::Argument
            );
        }
    }
}
