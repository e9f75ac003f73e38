//! Exact conversion between number types.
#![forbid(unsafe_code)]

use crate::arrow::export::NATIVE_BIG_ENDIAN;

/// A number type, with its size in bytes.
#[derive(Clone, Copy, PartialEq)]
pub enum Number {
    Int { signed: bool, size: usize },
    Float(usize),
}

impl Number {
    pub fn size(self) -> usize {
        match self {
            Number::Int { size, .. } | Number::Float(size) => size,
        }
    }
}

/// Reads an integer of 1, 2, 4 or 8 bytes in native byte order.
pub fn integer(bytes: &[u8], signed: bool) -> i128 {
    let mut wide = [0; 8];
    let negative = signed
        && bytes
            .get(if NATIVE_BIG_ENDIAN {
                0
            } else {
                bytes.len().saturating_sub(1)
            })
            .is_some_and(|b| b >> 7 == 1);
    if negative {
        wide = [0xff; 8];
    }
    let at = if NATIVE_BIG_ENDIAN {
        8usize.saturating_sub(bytes.len())
    } else {
        0
    };
    wide.get_mut(at..at + bytes.len())
        .into_iter()
        .for_each(|w| w.copy_from_slice(bytes));
    if signed {
        i128::from(i64::from_ne_bytes(wide))
    } else {
        i128::from(u64::from_ne_bytes(wide))
    }
}

/// Reads a floating-point number of 2, 4 or 8 bytes in native byte order.
pub fn float(bytes: &[u8]) -> f64 {
    if let Ok(bytes) = bytes.try_into() {
        return f64::from_ne_bytes(bytes);
    }
    match bytes.try_into() {
        Ok(bytes) => f64::from(f32::from_ne_bytes(bytes)),
        Err(_) => half(bytes.try_into().map_or(0, u16::from_ne_bytes)),
    }
}

/// Converts the bits of a half-precision number.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * f64::from(e - 15).exp2(),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// Appends a number, given in little-endian order, in the requested byte order.
pub fn push_number<const N: usize>(mut bytes: [u8; N], big: bool, out: &mut Vec<u8>) {
    if big {
        bytes.reverse();
    }
    out.extend_from_slice(&bytes);
}

/// Converts a number and appends it. Returns `None` if the target type cannot represent it.
pub fn convert_number(
    value: &[u8],
    from: Number,
    to: Number,
    big: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    match (from, to) {
        (
            Number::Int { signed, .. },
            Number::Int {
                signed: to_signed,
                size,
            },
        ) => {
            let n = integer(value, signed);
            let bits = 8 * size as u32;
            let (low, high) = if to_signed {
                (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
            } else {
                (0, (1i128 << bits) - 1)
            };
            if n < low || n > high {
                return None;
            }
            let at = out.len();
            out.extend_from_slice(n.to_le_bytes().get(..size)?);
            if big {
                out.get_mut(at..)?.reverse();
            }
        }
        (Number::Int { signed, .. }, Number::Float(4)) => {
            let n = integer(value, signed);
            push_number(
                Some(n as f32).filter(|f| *f as i128 == n)?.to_le_bytes(),
                big,
                out,
            );
        }
        (Number::Int { signed, .. }, Number::Float(_)) => {
            let n = integer(value, signed);
            push_number(
                Some(n as f64).filter(|f| *f as i128 == n)?.to_le_bytes(),
                big,
                out,
            );
        }
        // plans do not shorten floating-point numbers
        (Number::Float(_), Number::Float(4)) => {
            push_number((float(value) as f32).to_le_bytes(), big, out)
        }
        (Number::Float(_), Number::Float(_)) => push_number(float(value).to_le_bytes(), big, out),
        (Number::Float(_), Number::Int { .. }) => return None,
    }
    Some(())
}
