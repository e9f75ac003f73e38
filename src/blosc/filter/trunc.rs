//! Truncated precision: clears the lowest bits of each float's mantissa. There is no inverse.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

/// Retains `bits` bits of the mantissa of each float of 4 or 8 bytes, or clears `-bits` bits if
/// negative. At least one bit must be retained. Infinities and signed zeros do not change, and NaN
/// stays NaN. Bytes after the last whole float are copied.
pub fn truncate(bits: i8, typesize: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let cleared = cleared_bits(bits, typesize)?;
    if typesize == 4 {
        each(src, dst, |x| clear32(cleared, x));
    } else {
        each(src, dst, |x| clear64(cleared, x));
    }
    Ok(())
}

/// Like [`truncate`], in place.
pub fn truncate_in_place(bits: i8, typesize: usize, content: &mut [u8]) -> Result<()> {
    let cleared = cleared_bits(bits, typesize)?;
    if typesize == 4 {
        let (floats, _) = content.as_chunks_mut::<4>();
        floats.iter_mut().for_each(|x| *x = clear32(cleared, *x));
    } else {
        let (floats, _) = content.as_chunks_mut::<8>();
        floats.iter_mut().for_each(|x| *x = clear64(cleared, *x));
    }
    Ok(())
}

/// Returns the number of bits that are cleared in a float of `typesize` bytes.
fn cleared_bits(bits: i8, typesize: usize) -> Result<u8> {
    let mantissa: u8 = match typesize {
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
        mantissa.checked_sub(bits.unsigned_abs())
    };
    cleared.filter(|&cleared| cleared < mantissa).ok_or_else(|| {
        fail!(
            Argument,
            "invalid precision of {bits} bits (expected 1 to {mantissa} bits to retain, or -1 to -{} bits to clear)",
            mantissa - 1
        )
    })
}

/// Clears bits of a float. A NaN whose other bits make it an infinity gets the bit of a quiet NaN;
/// c-blosc2 returns the infinity.
fn clear32(cleared: u8, x: [u8; 4]) -> [u8; 4] {
    const INFINITY: u32 = 0x7f80_0000;
    let x = u32::from_le_bytes(x);
    let y = x & (u32::MAX << cleared);
    let is_lost = x & !(1 << 31) > INFINITY && y & !(1 << 31) == INFINITY;
    (y | u32::from(is_lost) << 22).to_le_bytes()
}

/// Like [`clear32`], for a float of 8 bytes.
fn clear64(cleared: u8, x: [u8; 8]) -> [u8; 8] {
    const INFINITY: u64 = 0x7ff0_0000_0000_0000;
    let x = u64::from_le_bytes(x);
    let y = x & (u64::MAX << cleared);
    let is_lost = x & !(1 << 63) > INFINITY && y & !(1 << 63) == INFINITY;
    (y | u64::from(is_lost) << 51).to_le_bytes()
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

    /// CRC-32 of runs that c-blosc2 3.3.5 truncated.
    #[test]
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
        let src = [1.999_999_9f32.to_le_bytes(), (-1.75f32).to_le_bytes()].concat();
        truncate(1, 4, &[&src[..], &[7, 8]].concat(), &mut dst).unwrap();
        assert_eq!(
            dst,
            *[&1.5f32.to_le_bytes()[..], &(-1.5f32).to_le_bytes(), &[7, 8]].concat()
        );
    }

    #[test]
    fn special_values_stay_what_they_are() {
        let bits32 = [
            0x7f80_0001u32,
            0xff80_0001,
            0x7fc0_0000,
            0xffff_ffff,
            0x7fa0_0000,
        ];
        let bits64 = [0x7ff0_0000_0000_0001u64, 0xfff0_0000_0000_0001, u64::MAX];
        for bits in [1, 5, 23] {
            for x in bits32.map(f32::from_bits) {
                let y = f32::from_le_bytes(clear32(23 - bits, x.to_le_bytes()));
                assert!(y.is_nan() && y.is_sign_negative() == x.is_sign_negative());
            }
            for x in [f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0] {
                assert_eq!(clear32(23 - bits, x.to_le_bytes()), x.to_le_bytes());
            }
            for x in bits64.map(f64::from_bits) {
                let y = f64::from_le_bytes(clear64(52 - bits, x.to_le_bytes()));
                assert!(y.is_nan() && y.is_sign_negative() == x.is_sign_negative());
            }
            for x in [f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0] {
                assert_eq!(clear64(52 - bits, x.to_le_bytes()), x.to_le_bytes());
            }
        }
    }

    #[test]
    fn truncation_in_place_is_the_same_and_idempotent() {
        for (typesize, len) in [(4, 4003), (8, 8005)] {
            for bits in [1, 10, 23, -1, -13] {
                let (src, mut dst) = (runs(len), vec![0; len]);
                truncate(bits, typesize, &src, &mut dst).unwrap();
                let mut content = src;
                for _ in 0..2 {
                    truncate_in_place(bits, typesize, &mut content).unwrap();
                    assert!(content == dst);
                }
            }
        }
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
