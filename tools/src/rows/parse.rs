//! Text to the bytes of items. A value that the type cannot hold is an error, except floating-point
//! numbers, which become the nearest one.

use super::times;
use half::f16;
use holdall::{Field, ItemKind, ItemType};
use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The error is a message to follow `'value' `.
pub type Parsed = Result<(), &'static str>;

// ---- numbers in text

/// What the text of a field looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Empty, NA, N/A, NaN, nan, null or NULL.
    Missing,
    Truth(bool),
    /// The number, if 128 bits hold it, and the nearest one of floating point.
    Whole(Option<i128>, f64),
    Floating(f64),
    Text,
}

impl Value {
    /// Parses a field; spaces around it do not matter.
    pub fn read(text: &[u8]) -> Value {
        let is_other = |c: &u8| *c != b' ';
        let first = text.iter().position(is_other).unwrap_or(text.len());
        let end = text.iter().rposition(is_other).map_or(first, |last| last + 1);
        match &text[first..end] {
            b"" | b"NA" | b"N/A" | b"NaN" | b"nan" | b"null" | b"NULL" => Value::Missing,
            b"true" | b"True" | b"TRUE" => Value::Truth(true),
            b"false" | b"False" | b"FALSE" => Value::Truth(false),
            text => Value::number(text).unwrap_or(Value::Text),
        }
    }

    fn number(text: &[u8]) -> Option<Value> {
        let signs = usize::from(matches!(text.first(), Some(b'-' | b'+')));
        let unsigned = &text[signs..];
        let read = || std::str::from_utf8(text).ok();
        match unsigned {
            b"inf" | b"Inf" | b"Infinity" | b"infinity" => {}
            // a number with leading zeros may be a code
            [b'0', b'0'..=b'9', ..] => return None,
            [b'0'..=b'9', ..] if unsigned.iter().all(u8::is_ascii_digit) => {
                // 64 bits hold 18 digits
                if unsigned.len() > 18 {
                    let text = read()?;
                    return Some(Value::Whole(text.parse().ok(), text.parse().ok()?));
                }
                let n = unsigned.iter().fold(0, |n, c| n * 10 + i64::from(c - b'0'));
                return Some(match text.first() {
                    Some(b'-') => Value::Whole(Some((-n).into()), -(n as f64)),
                    _ => Value::Whole(Some(n.into()), n as f64),
                });
            }
            [b'0'..=b'9' | b'.', ..] => {}
            _ => return None,
        }
        read()?.parse().ok().map(Value::Floating)
    }
}

// ---- items of numbers

/// Stores the lowest bytes of a number.
fn put_bits(of: &ItemType, to: &mut [u8], bits: u64) {
    for (to, byte) in to.iter_mut().zip(bits.to_le_bytes()) {
        *to = byte;
    }
    if of.big_endian {
        to.reverse();
    }
}

fn put_whole(of: &ItemType, value: Value, to: &mut [u8]) -> Parsed {
    let Value::Whole(n, _) = value else {
        return Err("is no whole number");
    };
    let n = n.ok_or("is too large for the type")?;
    let (bits, is_signed) = (8 * to.len().clamp(1, 8), of.kind != ItemKind::Uint);
    if n < 0 && !is_signed {
        return Err("is negative, and the type has no sign");
    }
    let end = 1i128 << (bits - usize::from(is_signed));
    if n >= end || n < -end {
        return Err("is too large for the type");
    }
    put_bits(of, to, n as u64);
    Ok(())
}

fn put_floating(of: &ItemType, value: Value, to: &mut [u8]) -> Parsed {
    let value = match value {
        Value::Missing => f64::NAN,
        Value::Whole(_, value) | Value::Floating(value) => value,
        _ => return Err("is no number"),
    };
    let (bits, stored) = match to.len() {
        8 => (value.to_bits(), value),
        4 => (u64::from((value as f32).to_bits()), f64::from(value as f32)),
        2 => {
            let half = f16::from_f64(value);
            (u64::from(half.to_bits()), half.to_f64())
        }
        _ => return Err("is for a type that is not read from text"),
    };
    if stored.is_infinite() && !value.is_infinite() {
        return Err("is too large for the type");
    }
    put_bits(of, to, bits);
    Ok(())
}

fn put_number(of: &ItemType, value: Value, to: &mut [u8]) -> Parsed {
    match (&of.kind, value) {
        (ItemKind::Bool, Value::Truth(truth)) => put_bits(of, to, truth.into()),
        (ItemKind::Bool, Value::Whole(Some(n @ 0..=1), _)) => put_bits(of, to, n as u64),
        (ItemKind::Bool, _) => return Err("is neither true nor false"),
        (ItemKind::Float, _) => return put_floating(of, value, to),
        (ItemKind::Timedelta(_), Value::Missing) => put_bits(of, to, times::NONE as u64),
        _ => return put_whole(of, value, to),
    }
    Ok(())
}

/// `1.0+2.0j`, perhaps in brackets.
fn put_complex(of: &ItemType, text: &[u8], to: &mut [u8]) -> Parsed {
    let inner = text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")"));
    let text = inner.unwrap_or(text).strip_suffix(b"j").ok_or("is no complex number")?;
    // the sign of the second number, which is not that of an exponent
    let is_second =
        |pair: &[u8]| matches!(pair, [before, b'+' | b'-'] if !before.eq_ignore_ascii_case(&b'e'));
    let second = text.windows(2).rposition(is_second).map_or(0, |at| at + 1);
    let (real, imaginary) = text.split_at(second);
    let real = if real.is_empty() { b"0" } else { real };
    // only a number has a sign of its own, and the second value may be NaN
    let imaginary = imaginary.strip_prefix(b"+").unwrap_or(imaginary);
    let (first, other) = to.split_at_mut(to.len() / 2);
    put_floating(of, Value::read(real), first)
        .and_then(|()| put_floating(of, Value::read(imaginary), other))
        .map_err(|_| "is no complex number")
}

// ---- items of strings

const ENDS_IN_NUL: &str = "ends in a NUL, which strings of this type cannot";
const TOO_LONG: &str = "is too long for the type";

fn put_bytes(text: &[u8], to: &mut [u8]) -> Parsed {
    let (string, padding) = to.split_at_mut_checked(text.len()).ok_or(TOO_LONG)?;
    if text.last() == Some(&0) {
        return Err(ENDS_IN_NUL);
    }
    string.copy_from_slice(text);
    padding.fill(0);
    Ok(())
}

fn put_characters(of: &ItemType, text: &[u8], to: &mut [u8]) -> Parsed {
    if text.last() == Some(&0) {
        return Err(ENDS_IN_NUL);
    }
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8")?;
    let mut items = to.chunks_exact_mut(4);
    for c in text.chars() {
        put_bits(of, items.next().ok_or(TOO_LONG)?, u64::from(u32::from(c)));
    }
    items.for_each(|item| item.fill(0));
    Ok(())
}

fn put_hex(text: &[u8], to: &mut [u8]) -> Parsed {
    if text.len() != 2 * to.len() {
        return Err("is not as long as the type, two digits a byte");
    }
    let digit = |c: u8| match c {
        b'0'..=b'9' => Ok(c - b'0'),
        b'a'..=b'f' => Ok(c - b'a' + 10),
        _ => Err("is not hexadecimal"),
    };
    for (to, pair) in to.iter_mut().zip(text.chunks_exact(2)) {
        *to = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(())
}

// ---- any item

/// Parses a field of CSV into items in a shape, which have the size of `to`.
pub fn csv(of: &ItemType, shape: &[usize], text: &[u8], to: &mut [u8]) -> Parsed {
    let has_parts = matches!(of.kind, ItemKind::Struct(_) | ItemKind::Array(..));
    if has_parts || !shape.is_empty() {
        let value: &RawValue = serde_json::from_slice(text).map_err(|_| "is no JSON")?;
        return json(of, shape, value.get(), to);
    }
    match &of.kind {
        ItemKind::Bytes => put_bytes(text, to),
        ItemKind::Str => put_characters(of, text, to),
        ItemKind::Void => put_hex(text, to),
        ItemKind::Complex => put_complex(of, text, to),
        ItemKind::Object => Err("cannot become an object of Python's"),
        ItemKind::Datetime(unit) => {
            let time = times::parse(unit, text).ok_or("is no time that the type can hold")?;
            put_bits(of, to, time as u64);
            Ok(())
        }
        _ if text == b"NaT" => put_number(of, Value::Missing, to),
        _ => put_number(of, Value::read(text), to),
    }
}

/// Writes the item of a missing value: NaN, NaT or an empty string.
pub fn missing(of: &ItemType, shape: &[usize], to: &mut [u8]) -> Parsed {
    match of.kind {
        ItemKind::Float
        | ItemKind::Datetime(_)
        | ItemKind::Timedelta(_)
        | ItemKind::Bytes
        | ItemKind::Str
            if shape.is_empty() =>
        {
            csv(of, shape, b"", to)
        }
        _ => Err("is missing, and the type has nothing for that"),
    }
}

/// Parses a valid JSON value without spaces around it.
pub fn json(of: &ItemType, shape: &[usize], value: &str, to: &mut [u8]) -> Parsed {
    use ItemKind::{Array, Bytes, Complex, Datetime, Float, Str, Struct, Timedelta, Void};
    match (value.as_bytes().first(), &of.kind) {
        (_, Array(of, inner)) if shape.is_empty() => json(of, inner, value, to),
        (Some(b'['), Complex) if shape.is_empty() => {
            let part = ItemType { kind: Float, size: of.size / 2, ..*of };
            list(&part, &[2], value, to)
        }
        (Some(b'['), _) if !shape.is_empty() => list(of, shape, value, to),
        (Some(b'{'), Struct(fields)) if shape.is_empty() => object(fields, value, to),
        (Some(b'[' | b'{'), _) => Err("has another form than the type"),
        (Some(b'n'), _) => missing(of, shape, to),
        (_, Struct(_)) => Err("has another form than the type"),
        _ if !shape.is_empty() => Err("has another form than the type"),
        (Some(b'"'), Bytes | Str | Void | Datetime(_) | Timedelta(_) | Float) => {
            let text = json_string(value).ok_or("has half of a surrogate pair")?;
            csv(of, shape, text.as_bytes(), to)
        }
        (Some(b'"'), _) => Err("is text, and the type is not"),
        _ => csv(of, shape, value.as_bytes(), to),
    }
}

fn list(of: &ItemType, shape: &[usize], value: &str, to: &mut [u8]) -> Parsed {
    let values: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| "is no JSON")?;
    let Some((_, rest)) = shape.split_first().filter(|(count, _)| **count == values.len()) else {
        return Err("has not as many items as the type");
    };
    let size = to.len() / values.len().max(1);
    for (i, value) in values.iter().enumerate() {
        json(of, rest, value.get(), to.get_mut(i * size..(i + 1) * size).unwrap_or_default())?;
    }
    Ok(())
}

fn object(fields: &[Field], value: &str, to: &mut [u8]) -> Parsed {
    let members = members(value).ok_or("is no JSON")?;
    for (name, value) in &members {
        let field = fields.iter().find(|field| field.name == *name);
        let field = field.ok_or("has a member that the type has not")?;
        let bytes = to.get_mut(field.offset..field.offset + field.item.size);
        json(&field.item, &[], value.get(), bytes.unwrap_or_default())?;
    }
    if members.len() != fields.len() {
        return Err("has not all members that the type has");
    }
    Ok(())
}

// ---- JSON

/// Returns the text of a JSON string.
pub fn json_string(value: &str) -> Option<Cow<'_, str>> {
    if value.contains('\\') {
        return serde_json::from_str(value).ok();
    }
    Some(Cow::Borrowed(value.strip_prefix('"')?.strip_suffix('"')?))
}

pub type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key::<&RawValue>()? {
            let name = json_string(name.get()).unwrap_or_default();
            members.push((name, map.next_value()?));
        }
        Ok(members)
    }
}

/// Returns the members of a JSON object, in their order; `None`: it is none.
pub fn members(text: &str) -> Option<Members<'_>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = (&mut deserializer).deserialize_map(MembersVisitor).ok()?;
    deserializer.end().ok()?;
    Some(members)
}
