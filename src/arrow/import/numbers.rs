//! Numbers of one type as those of another, where they are the same number there.
#![forbid(unsafe_code)]

use crate::arrow::export::BIG;

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

/// A whole number of 1, 2, 4 or 8 bytes.
pub fn whole(bytes: &[u8], signed: bool) -> i128 {
    let mut wide = [0; 8];
    let negative = signed
        && bytes
            .get(if BIG {
                0
            } else {
                bytes.len().saturating_sub(1)
            })
            .is_some_and(|b| b >> 7 == 1);
    if negative {
        wide = [0xff; 8];
    }
    let at = if BIG {
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

/// A floating-point number of 2, 4 or 8 bytes.
fn float(bytes: &[u8]) -> f64 {
    if let Ok(bytes) = bytes.try_into() {
        return f64::from_ne_bytes(bytes);
    }
    match bytes.try_into() {
        Ok(bytes) => f64::from(f32::from_ne_bytes(bytes)),
        Err(_) => half(bytes.try_into().map_or(0, u16::from_ne_bytes)),
    }
}

/// The number that has these 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * f64::from(e - 15).exp2(),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Puts a number, given little-endian.
pub fn put<const N: usize>(mut bytes: [u8; N], big: bool, out: &mut Vec<u8>) {
    if big {
        bytes.reverse();
    }
    out.extend_from_slice(&bytes);
}

/// Puts a number as one of another type, where that has it.
pub fn put_number(
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
            let n = whole(value, signed);
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
            let n = whole(value, signed);
            put(
                Some(n as f32).filter(|f| *f as i128 == n)?.to_le_bytes(),
                big,
                out,
            );
        }
        (Number::Int { signed, .. }, Number::Float(_)) => {
            let n = whole(value, signed);
            put(
                Some(n as f64).filter(|f| *f as i128 == n)?.to_le_bytes(),
                big,
                out,
            );
        }
        // none is made shorter
        (Number::Float(_), Number::Float(4)) => put((float(value) as f32).to_le_bytes(), big, out),
        (Number::Float(_), Number::Float(_)) => put(float(value).to_le_bytes(), big, out),
        (Number::Float(_), Number::Int { .. }) => return None,
    }
    Some(())
}
