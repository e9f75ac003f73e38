//! Floating-point numbers of 80 bits, which x86 stores in 12 or 16 bytes.

/// Significant decimal digits.
const PRECISION: usize = 21;
const BASE: u64 = 1_000_000_000;

/// A whole number of any size: digits of base 10^9, the lowest first.
struct Natural(Vec<u64>);

impl Natural {
    fn of(mut n: u64) -> Natural {
        let mut digits = Vec::new();
        while n > 0 {
            digits.push(n % BASE);
            n /= BASE;
        }
        Natural(digits)
    }

    /// Multiplies by `factor` to a power, as many at once as a digit has room for.
    fn multiply(&mut self, factor: u64, mut power: u32) {
        let most = BASE.ilog(factor);
        while power > 0 {
            let step = power.min(most);
            let (factor, mut carry) = (factor.pow(step), 0);
            for digit in &mut self.0 {
                let product = *digit * factor + carry;
                *digit = product % BASE;
                carry = product / BASE;
            }
            if carry > 0 {
                self.0.push(carry);
            }
            power -= step;
        }
    }

    fn text(&self) -> String {
        let padded: String = self.0.iter().rev().map(|digit| format!("{digit:09}")).collect();
        padded.trim_start_matches('0').to_owned()
    }
}

/// Rounds digits to at most `PRECISION` of them, to even. Returns whether there is one more digit
/// before them.
fn round(digits: &mut Vec<u8>) -> bool {
    if digits.len() <= PRECISION {
        return false;
    }
    let rest = digits.split_off(PRECISION);
    let is_half = rest[0] == b'5' && rest[1..].iter().all(|c| *c == b'0');
    let up = if is_half { digits[PRECISION - 1] % 2 == 1 } else { rest[0] >= b'5' };
    if !up {
        return false;
    }
    let nines = digits.iter().rev().take_while(|c| **c == b'9').count();
    digits.truncate(PRECISION - nines);
    match digits.last_mut() {
        Some(last) => *last += 1,
        None => digits.push(b'1'),
    }
    nines == PRECISION
}

/// Appends a little-endian number as `%.21Lg` of C does. Returns false if it is none of 80 bits.
pub fn put(to: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let Some((fraction, exponent)) =
        bytes.first_chunk::<8>().zip(bytes.get(8..10).and_then(|high| high.first_chunk::<2>()))
    else {
        return false;
    };
    let (fraction, high) = (u64::from_le_bytes(*fraction), u16::from_le_bytes(*exponent));
    let exponent = i32::from(high & 0x7fff);
    let is_nan = exponent == 0x7fff && fraction << 1 != 0;
    if high & 0x8000 != 0 && !is_nan {
        to.push(b'-');
    }
    if exponent == 0x7fff {
        to.extend_from_slice(if is_nan { b"NaN" } else { b"inf" });
        return true;
    }
    // fraction * 2^shift, as a whole number times 10^-decimals
    let shift = exponent.max(1) - 16_383 - 63;
    let decimals = shift.min(0).unsigned_abs();
    let mut natural = Natural::of(fraction);
    natural.multiply(2, shift.max(0).unsigned_abs());
    natural.multiply(5, decimals);
    let mut digits = natural.text().into_bytes();
    let mut point = digits.len() as i32 - decimals as i32;
    point += i32::from(round(&mut digits));
    super::print::put_decimal(to, &digits, point, PRECISION);
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
