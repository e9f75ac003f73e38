//! The default value of an array: JSON in `meta/storage`, converted to and from the bytes of an
//! item or of a row.
//!
//! The value is a number, a string, a list with a value for each field, or nested lists of those in
//! the shape of a row. 0 means the zero of any type: the tools store it for times and objects.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::dtype::{Field, Kind, Type};
use crate::error::{Error, Result, fail};
use crate::json::Value;
use crate::slice::{SliceExt, trim_zeros};

/// Returns the bytes of a value, for one item or for all items of a row, at most `limit`. Returns
/// `None` if all bytes are zero.
pub fn bytes(value: &Value, item: &Type, row: &[u64], limit: u64) -> Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    if is_zero(value) {
        return Ok(None);
    }
    if !row.is_empty() && matches!(value, Value::Array(_)) && !matches!(item.kind, Kind::Struct(_))
    {
        nested(value, item, row, limit, &mut out)?;
    } else {
        put(value, item, limit, &mut out)?;
    }
    Ok(out.iter().any(|b| *b != 0).then_some(out))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Int(0) | Value::Bool(false) | Value::Null => true,
        Value::Float(x) => x.to_bits() == 0,
        Value::String(s) => s.is_empty(),
        _ => false,
    }
}

fn nested(value: &Value, item: &Type, shape: &[u64], limit: u64, out: &mut Vec<u8>) -> Result<()> {
    let Some((n, rest)) = shape.split_first() else {
        return put(value, item, limit, out);
    };
    match value {
        Value::Array(items) if items.len() as u64 == *n => items
            .iter()
            .try_for_each(|v| nested(v, item, rest, limit, out)),
        other => Err(unexpected(other, &format!("a list of {n}"))),
    }
}

/// Appends one item.
fn put(value: &Value, item: &Type, limit: u64, out: &mut Vec<u8>) -> Result<()> {
    let from = out.len();
    alloc::allow((from + item.size) as u64, limit, "the default value")?;
    alloc::reserve(out, item.size)?;
    out.resize(from + item.size, 0);
    put_into(value, item, limit, out.at_mut(from..)?)
}

fn put_into(value: &Value, item: &Type, limit: u64, dst: &mut [u8]) -> Result<()> {
    if is_zero(value) {
        return Ok(());
    }
    match (&item.kind, value) {
        (Kind::Bool, Value::Bool(b)) => set(dst, &[u8::from(*b)], false),
        (Kind::Bytes | Kind::Void, Value::String(s)) => set_text(dst, &latin1(s), s)?,
        (Kind::Str, Value::String(s)) => {
            let order = |c: char| {
                if item.big_endian {
                    (c as u32).to_be_bytes()
                } else {
                    (c as u32).to_le_bytes()
                }
            };
            set_text(dst, &s.chars().flat_map(order).collect::<Vec<u8>>(), s)?;
        }
        (Kind::Int | Kind::Uint | Kind::Bool | Kind::Datetime(_) | Kind::Timedelta(_), _) => {
            let n = integer(value).ok_or_else(|| unexpected(value, "an integer"))?;
            let bits = (item.size as u32).saturating_mul(8).min(64);
            let least = if matches!(item.kind, Kind::Uint | Kind::Bool) {
                0
            } else {
                -1i128 << (bits.max(1) - 1)
            };
            if n < least || n >= least + (1i128 << bits) {
                return Err(unexpected(
                    value,
                    &format!("a number of {} bytes", item.size),
                ));
            }
            set(dst, &n.to_le_bytes(), item.big_endian);
        }
        (Kind::Float | Kind::Complex, _) => set_float(value, item, dst)?,
        (Kind::Struct(fields), Value::Array(values)) if values.len() == fields.len() => {
            for (field, value) in fields.iter().zip(values) {
                let part = dst.at_mut(field.offset..)?.at_mut(..field.item.size)?;
                put_into(value, &field.item, limit, part)?;
            }
        }
        (Kind::Array(of, shape), value) => {
            let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
            // `None`: zeros
            if let Some(part) = bytes(value, of, &shape, limit)? {
                for to in dst.chunks_exact_mut(part.len().max(1)) {
                    to.copy_from_slice(&part);
                }
            }
        }
        _ => return Err(unexpected(value, "a value of the item type")),
    }
    Ok(())
}

fn set_float(value: &Value, item: &Type, dst: &mut [u8]) -> Result<()> {
    let x = match value {
        Value::Int(n) => *n as f64,
        Value::Float(x) => *x,
        other => return Err(unexpected(other, "a number")),
    };
    // the real part of a complex number comes first
    let size = if item.kind == Kind::Complex {
        item.size / 2
    } else {
        item.size
    };
    let real = dst.at_mut(..size)?;
    match size {
        2 => set(real, &half(x).to_le_bytes(), item.big_endian),
        4 => set(real, &(x as f32).to_le_bytes(), item.big_endian),
        8 => set(real, &x.to_le_bytes(), item.big_endian),
        _ => {
            return Err(fail!(
                Unsupported,
                "a default value of {} bytes of floating point is not supported",
                item.size
            ));
        }
    }
    Ok(())
}

/// Returns the value of these bytes, of one item or of all items of a row, as the tools store it.
pub fn value(bytes: &[u8], item: &Type, row: &[u64]) -> Result<Value> {
    if bytes.len() == item.size {
        return value_of(bytes, item);
    }
    let rows = row
        .iter()
        .try_fold(item.size as u64, |n, d| n.checked_mul(*d));
    if rows != Some(bytes.len() as u64) || matches!(item.kind, Kind::Struct(_)) {
        return Err(fail!(
            Argument,
            "a default value of {} bytes (expected {}, or a row of the shape {row:?})",
            bytes.len(),
            item.size
        ));
    }
    list(bytes, item, row)
}

/// Returns the values of an array of this shape as nested lists.
fn list(bytes: &[u8], item: &Type, shape: &[u64]) -> Result<Value> {
    let Some((n, rest)) = shape.split_first() else {
        return value_of(bytes, item);
    };
    let part = bytes.len() / usize::try_from(*n).unwrap_or(usize::MAX).max(1);
    bytes
        .chunks(part.max(1))
        .map(|b| list(b, item, rest))
        .collect::<Result<_>>()
        .map(Value::Array)
}

fn value_of(bytes: &[u8], item: &Type) -> Result<Value> {
    let mut little = bytes.to_vec();
    if item.big_endian && !matches!(item.kind, Kind::Str) {
        little.reverse();
    }
    let integer = |is_signed: bool| {
        let sign = if is_signed && little.last().is_some_and(|b| *b > 127) {
            0xff
        } else {
            0
        };
        let mut all = [sign; 16];
        all.iter_mut()
            .zip(&little)
            .for_each(|(to, from)| *to = *from);
        Value::Int(i128::from_le_bytes(all))
    };
    Ok(match &item.kind {
        Kind::Bool => Value::Bool(bytes.iter().any(|b| *b != 0)),
        Kind::Int | Kind::Datetime(_) | Kind::Timedelta(_) => integer(true),
        Kind::Uint => integer(false),
        Kind::Float => Value::Float(float(&little)?),
        Kind::Complex => {
            let (first, second) = bytes.cut(item.size / 2)?;
            if second.iter().any(|b| *b != 0) {
                return Err(fail!(
                    Unsupported,
                    "a default value with an imaginary part cannot be stored as JSON"
                ));
            }
            return value_of(
                first,
                &Type {
                    kind: Kind::Float,
                    size: first.len(),
                    ..item.clone()
                },
            );
        }
        Kind::Bytes | Kind::Void => {
            Value::String(trim_zeros(bytes).iter().map(|b| char::from(*b)).collect())
        }
        Kind::Str => {
            let number = |b: &[u8; 4]| {
                if item.big_endian {
                    u32::from_be_bytes(*b)
                } else {
                    u32::from_le_bytes(*b)
                }
            };
            let all: Vec<u32> = bytes.as_chunks().0.iter().map(number).collect();
            let one = |n: &u32| {
                char::from_u32(*n).ok_or_else(|| {
                    fail!(
                        Argument,
                        "the default value has an invalid character {n:#x}"
                    )
                })
            };
            Value::String(trim_zeros(&all).iter().map(one).collect::<Result<_>>()?)
        }
        Kind::Struct(fields) => {
            let one = |f: &Field| value_of(bytes.at(f.offset..)?.at(..f.item.size)?, &f.item);
            Value::Array(fields.iter().map(one).collect::<Result<_>>()?)
        }
        Kind::Array(of, shape) => list(
            bytes,
            of,
            &shape.iter().map(|n| *n as u64).collect::<Vec<_>>(),
        )?,
        Kind::Object | Kind::Text => {
            return Err(fail!(
                Unsupported,
                "Python objects cannot have a default value"
            ));
        }
    })
}

/// Returns the number in the little-endian bytes of a float.
fn float(bytes: &[u8]) -> Result<f64> {
    match *bytes {
        [a, b] => {
            let bits = u32::from(u16::from_le_bytes([a, b]));
            // except for infinities and NaN, the same bits are worth 2^112 times as much in a
            // 16-bit float
            let moved = f32::from_bits((bits & 0x8000) << 16 | (bits & 0x7fff) << 13);
            Ok(if bits & 0x7c00 == 0x7c00 {
                f64::from(f32::from_bits(moved.to_bits() | 0x7f80_0000))
            } else {
                f64::from(moved) * 2f64.powi(112)
            })
        }
        [a, b, c, d] => Ok(f32::from_le_bytes([a, b, c, d]).into()),
        [a, b, c, d, e, f, g, h] => Ok(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ if bytes.iter().all(|b| *b == 0) => Ok(0.0),
        _ => Err(fail!(
            Unsupported,
            "a default value of {} bytes of floating point is not supported",
            bytes.len()
        )),
    }
}

/// Copies as many of the little-endian bytes of a number as `dst` has room for.
fn set(dst: &mut [u8], bytes: &[u8], big_endian: bool) {
    for (to, from) in dst.iter_mut().zip(bytes) {
        *to = *from;
    }
    if big_endian {
        dst.reverse();
    }
}

fn set_text(dst: &mut [u8], bytes: &[u8], text: &str) -> Result<()> {
    let n = dst.len();
    let room = dst.get_mut(..bytes.len()).ok_or_else(|| {
        fail!(
            Format,
            "the default value {text:?} is too long (expected at most {n} bytes)"
        )
    })?;
    room.copy_from_slice(bytes);
    Ok(())
}

/// Returns the Latin-1 bytes of a string, as Python 3 writes bytes. Returns UTF-8 if a character
/// does not fit.
fn latin1(s: &str) -> Vec<u8> {
    if s.is_ascii() {
        s.as_bytes().to_vec()
    } else {
        s.chars()
            .map(|c| u8::try_from(c).ok())
            .collect::<Option<_>>()
            .unwrap_or_else(|| s.as_bytes().to_vec())
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Bool(b) => Some((*b).into()),
        Value::Float(x) if x.fract() == 0.0 && x.abs() < 1e19 => Some(*x as i128),
        _ => None,
    }
}

/// Rounds to the nearest 16-bit float, ties to even.
fn half(x: f64) -> u16 {
    let bits = (x as f32).to_bits();
    let (sign, bits) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fff_ffff);
    let magnitude = match bits {
        0x7f80_0001.. => 0x7e00,
        // above the largest finite number
        0x477f_f000.. => 0x7c00,
        // shift the exponent and round the remaining bits
        0x3880_0000.. => {
            let moved = bits - (112 << 23);
            (moved + 0xfff + (moved >> 13 & 1)) >> 13
        }
        // subnormal: in units of 2^-24
        _ => (f32::from_bits(bits) * 16_777_216.0).round_ties_even() as u32,
    };
    sign | magnitude as u16
}

fn unexpected(value: &Value, expected: &str) -> Error {
    let text = value.to_string();
    fail!(
        Format,
        "wrong default value (expected {expected}, found {text:.60})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    fn of(json: &str, dtype: &str, row: &[u64]) -> Result<Vec<u8>> {
        let item = Dtype::parse(dtype).unwrap().item;
        let zeros = || vec![0; item.size];
        bytes(&Value::parse(json.as_bytes()).unwrap(), &item, row, 100)
            .map(|b| b.unwrap_or_else(zeros))
    }

    #[test]
    fn values_are_converted_to_bytes() {
        for (json, dtype, row, expected) in [
            ("3", "<i4", &[][..], &[3, 0, 0, 0][..]),
            ("-2", ">i2", &[], &[0xff, 0xfe]),
            ("7.0", "u1", &[], &[7]),
            ("true", "bool", &[], &[1]),
            ("0.0", "M8[ns]", &[5], &[0; 8]),
            ("3.5", "<f8", &[], &3.5f64.to_le_bytes()),
            ("NaN", ">f4", &[], &f32::NAN.to_be_bytes()),
            ("Infinity", "f2", &[], &[0, 0x7c]),
            ("1.5", "<c16", &[], &[1.5f64.to_le_bytes(), [0; 8]].concat()),
            ("\"abc\"", "S5", &[], b"abc\0\0"),
            ("\"\"", "<U2", &[], &[0; 8]),
            ("\"é\"", ">U1", &[], &[0, 0, 0, 0xe9]),
            ("[[1, 2], [3, 4]]", "u1", &[2, 2], &[1, 2, 3, 4]),
            (
                "[1, [2, 3]]",
                "[('a', 'u1'), ('b', '>u2', (2,))]",
                &[],
                &[1, 0, 2, 0, 3],
            ),
            ("0.0", "[('a', 'u1'), ('b', '>u2')]", &[], &[0; 3]),
            (
                "[1, [0, 0]]",
                "[('a', 'u1'), ('b', '>u2', (2,))]",
                &[],
                &[1, 0, 0, 0, 0],
            ),
        ] {
            assert_eq!(of(json, dtype, row).unwrap(), expected, "{json} {dtype}");
        }
    }

    #[test]
    fn bytes_are_converted_to_values_and_back() {
        for (json, dtype, row) in [
            ("3", "<i4", &[][..]),
            ("-2", ">i2", &[]),
            ("18446744073709551615", "u8", &[]),
            ("-9223372036854775808", "M8[ns]", &[]),
            ("true", "bool", &[]),
            ("3.5", "<f8", &[]),
            ("-0.0", "<f8", &[]),
            ("NaN", ">f4", &[]),
            ("NaN", "f2", &[]),
            ("-Infinity", "f2", &[]),
            ("-1.5", "f2", &[]),
            ("5.960464477539063e-8", "f2", &[]),
            ("1.5", ">c16", &[]),
            ("\"abc\"", "S5", &[]),
            ("\"a\\u0000é\"", "S5", &[]),
            ("\"é\"", ">U2", &[]),
            ("\"\"", "<U2", &[3]),
            ("[[1,2],[3,4]]", "u1", &[2, 2]),
            (
                "[1,[2,3],\"x\",false]",
                "[('a', 'u1'), ('b', '>u2', (2,)), ('c', 'S2'), ('d', 'bool')]",
                &[],
            ),
        ] {
            let item = Dtype::parse(dtype).unwrap().item;
            let expected = of(json, dtype, row).unwrap();
            let made = value(&expected, &item, row).unwrap();
            assert_eq!(
                made.to_string(),
                Value::parse(json.as_bytes()).unwrap().to_string(),
                "{dtype}"
            );
        }
        let refused = |bytes: &[u8], dtype: &str, row: &[u64]| {
            value(bytes, &Dtype::parse(dtype).unwrap().item, row).is_err()
        };
        assert!(
            refused(&[1; 16], "c16", &[])
                && refused(&[1; 16], "f16", &[])
                && refused(&[1; 3], "u1", &[2])
        );
        assert!(refused(&0xd800u32.to_le_bytes(), "U1", &[]) && refused(&[], "u1", &[]));
    }

    #[test]
    fn invalid_values_are_refused() {
        for (json, dtype, row) in [
            ("300", "u1", &[][..]),
            ("-1", "u8", &[]),
            ("1.5", "i4", &[]),
            ("\"abc\"", "S2", &[]),
            ("\"abc\"", "f8", &[]),
            ("[1]", "f8", &[]),
            ("[1, 2]", "f8", &[3]),
            ("[1, 2]", "[('a', 'u1')]", &[]),
            ("1", "[('a', 'u1')]", &[]),
            ("{}", "i4", &[]),
            ("1.5", "f16", &[]),
            ("\"a\"", "S101", &[]),
        ] {
            assert!(of(json, dtype, row).is_err(), "{json} {dtype}");
        }
    }

    #[test]
    fn half_floats_are_rounded_to_the_nearest() {
        for (x, expected) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (6.103515625e-5, 0x0400),
            (5.960464477539063e-8, 0x0001),
            (2.98e-8, 0x0000),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (f64::INFINITY, 0x7c00),
        ] {
            assert_eq!(half(x), expected, "{x}");
        }
    }
}
