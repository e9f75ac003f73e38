//! Floating-point numbers of 80 bits, which x86 stores in 12 or 16 bytes.

use num_bigint::BigUint;

/// Significant decimal digits.
const PRECISION: usize = 21;

/// Appends a little-endian number as `%.21Lg` of C does. Returns false if it is none of 80 bits.
pub fn put(to: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let Some((fraction, [low, high, ..])) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let fraction = u64::from_le_bytes(*fraction);
    let exponent = i32::from(u16::from_le_bytes([*low, high & 0x7f]));
    let is_nan = exponent == 0x7fff && fraction << 1 != 0;
    if high & 0x80 != 0 && !is_nan {
        to.push(b'-');
    }
    if exponent == 0x7fff {
        to.extend_from_slice(if is_nan { b"NaN" } else { b"inf" });
        return true;
    }
    // fraction * 2^shift, as a whole number times 10^-decimals
    let shift = exponent.max(1) - 16_383 - 63;
    let decimals = shift.min(0).unsigned_abs();
    let mut whole = BigUint::from(fraction) << shift.max(0).unsigned_abs();
    whole *= BigUint::from(5u8).pow(decimals);
    let length = whole.to_string().len();
    let excess = length.saturating_sub(PRECISION) as u32;
    // to even: half of the divisor is added, or a little less
    let divisor = BigUint::from(10u8).pow(excess);
    let is_even = !(&whole / &divisor).bit(0);
    let half = (&divisor - u32::from(excess > 0 && is_even)) >> 1u8;
    let digits = BigUint::to_string(&((whole + half) / divisor));
    let point = digits.len() as i32 + excess as i32 - decimals as i32;
    super::print::put_decimal(to, digits.as_bytes(), point, PRECISION);
    true
}
#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_printed_as_c_does() {
        let text = |fraction: u64, high: u16| {
            let (mut to, mut bytes) = (Vec::new(), [0; 16]);
            bytes[..8].copy_from_slice(&fraction.to_le_bytes());
            bytes[8..10].copy_from_slice(&high.to_le_bytes());
            assert!(super::put(&mut to, &bytes));
            String::from_utf8(to).unwrap()
        };
        assert_eq!(text(1 << 63, 16_383), "1");
        assert_eq!(text(0, 0), "0");
        assert_eq!(text(0xcccc_cccc_cccc_cccd, 0xbffb), "-0.100000000000000000001");
        assert_eq!(text(1, 0), "3.64519953188247460253e-4951");
        assert_eq!(text(u64::MAX, 0x7ffe), "1.18973149535723176502e+4932");
        assert_eq!(text(1 << 63, 0x7fff), "inf");
    }
}
