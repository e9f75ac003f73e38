//! Text to the bytes of items. A value that the type cannot hold is an error, except floating-point
//! numbers, which become the nearest one.

use super::dtype::{Kind, Type};
use super::times;
use half::f16;
use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The error is a message to follow `'value' `.
pub type Parsed = Result<(), &'static str>;

// ---- numbers in text ----

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// Empty, NA, N/A, NaN, nan, null or NULL.
    Missing,
    Truth,
    Whole,
    Floating,
    String,
}

/// What the text of a field looks like, and its value.
#[derive(Clone, Copy, Debug)]
pub struct Numeral {
    pub looks: Looks,
    pub minus: bool,
    /// A whole number of more than 64 bits.
    pub huge: bool,
    /// The digits of a `Whole`, the value of a `Truth`.
    pub whole: u64,
    /// The value of a `Whole` or `Floating`.
    pub value: f64,
}

const STRING: Numeral =
    Numeral { looks: Looks::String, minus: false, huge: false, whole: 0, value: 0.0 };

fn number(text: &[u8]) -> Option<Numeral> {
    let minus = text.first() == Some(&b'-');
    let unsigned = text.get(usize::from(matches!(text.first(), Some(b'-' | b'+')))..)?;
    let found = Numeral { minus, ..STRING };
    if matches!(unsigned, b"inf" | b"Inf" | b"Infinity" | b"infinity") {
        let value = if minus { -f64::INFINITY } else { f64::INFINITY };
        return Some(Numeral { looks: Looks::Floating, value, ..found });
    }
    // a number with leading zeros may be a code
    if !matches!(unsigned.first(), Some(b'0'..=b'9' | b'.'))
        || matches!(unsigned, [b'0', b'0'..=b'9', ..])
    {
        return None;
    }
    let parsed = || std::str::from_utf8(text).ok()?.parse().ok();
    if !unsigned.iter().all(u8::is_ascii_digit) {
        return Some(Numeral { looks: Looks::Floating, value: parsed()?, ..found });
    }
    let add = |whole: u64, digit: &u8| whole.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    let whole = unsigned.iter().try_fold(0, add);
    let value = match whole {
        Some(whole) if minus => -(whole as f64),
        Some(whole) => whole as f64,
        None => parsed()?,
    };
    Some(Numeral {
        looks: Looks::Whole,
        huge: whole.is_none(),
        whole: whole.unwrap_or(u64::MAX),
        value,
        ..found
    })
}

impl Numeral {
    /// Parses a field; spaces around it do not matter.
    pub fn read(text: &[u8]) -> Numeral {
        let is_space = |c: &u8| *c != b' ';
        let first = text.iter().position(is_space).unwrap_or(text.len());
        let last = text.iter().rposition(is_space).map_or(first, |last| last + 1);
        let text = text.get(first..last).unwrap_or_default();
        let truth = |whole| Numeral { looks: Looks::Truth, whole, ..STRING };
        match text {
            b"" | b"NA" | b"N/A" | b"NaN" | b"nan" | b"null" | b"NULL" => {
                Numeral { looks: Looks::Missing, ..STRING }
            }
            b"true" | b"True" | b"TRUE" => truth(1),
            b"false" | b"False" | b"FALSE" => truth(0),
            text => number(text).unwrap_or(STRING),
        }
    }
}

// ---- items of numbers ----

/// Stores the lowest bytes of a number.
fn put_bits(of: &Type, to: &mut [u8], bits: u64) {
    let bytes = bits.to_le_bytes();
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to = byte;
    }
    if of.big_endian {
        to.reverse();
    }
}

fn put_whole(of: &Type, n: &Numeral, to: &mut [u8]) -> Parsed {
    let signed = of.kind != Kind::Uint;
    let most = u64::MAX >> (64 - 8 * to.len().clamp(1, 8) + usize::from(signed));
    if n.looks != Looks::Whole {
        return Err("is no whole number");
    }
    if n.minus && !signed && n.whole > 0 {
        return Err("is negative, and the type has no sign");
    }
    if n.huge || n.whole > most + u64::from(n.minus && signed) {
        return Err("is too large for the type");
    }
    put_bits(of, to, if n.minus { n.whole.wrapping_neg() } else { n.whole });
    Ok(())
}

fn put_float(of: &Type, value: f64, to: &mut [u8]) -> Parsed {
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

fn put_floating(of: &Type, n: &Numeral, to: &mut [u8]) -> Parsed {
    match n.looks {
        Looks::Missing => put_float(of, f64::NAN, to),
        Looks::Whole | Looks::Floating => put_float(of, n.value, to),
        _ => Err("is no number"),
    }
}

fn put_number(of: &Type, n: &Numeral, to: &mut [u8]) -> Parsed {
    match of.kind {
        Kind::Bool => {
            let is_truth = n.looks == Looks::Truth || (n.looks == Looks::Whole && n.whole <= 1);
            put_bits(of, to, n.whole);
            is_truth.then_some(()).ok_or("is neither true nor false")
        }
        Kind::Float => put_floating(of, n, to),
        Kind::Time { .. } if n.looks == Looks::Missing => {
            put_bits(of, to, times::NONE as u64);
            Ok(())
        }
        _ => put_whole(of, n, to),
    }
}

/// `1.0+2.0j`, perhaps in brackets.
fn put_complex(of: &Type, text: &[u8], to: &mut [u8]) -> Parsed {
    if let Some(inner) = text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")")) {
        return put_complex(of, inner, to);
    }
    let text = text.strip_suffix(b"j").ok_or("is no complex number")?;
    // the sign of the second number, which is not that of an exponent
    let is_second =
        |pair: &[u8]| matches!(pair, [before, b'+' | b'-'] if !before.eq_ignore_ascii_case(&b'e'));
    let second = text.windows(2).rposition(is_second).map_or(0, |at| at + 1);
    let (real, imaginary) = text.split_at(second);
    let real = if real.is_empty() { b"0" } else { real };
    let (first, other) = to.split_at_mut(to.len() / 2);
    put_floating(of, &Numeral::read(real), first)
        .and_then(|()| {
            put_floating(
                of,
                &Numeral::read(imaginary.strip_prefix(b"+").unwrap_or(imaginary)),
                other,
            )
        })
        .map_err(|_| "is no complex number")
}

// ---- items of strings ----

const ENDS_IN_NUL: &str = "ends in a NUL, which strings of this type cannot";
const TOO_LONG: &str = "is too long for the type";

fn put_bytes(text: &[u8], to: &mut [u8]) -> Parsed {
    if text.len() > to.len() {
        return Err(TOO_LONG);
    }
    if text.last() == Some(&0) {
        return Err(ENDS_IN_NUL);
    }
    let (string, padding) = to.split_at_mut(text.len());
    string.copy_from_slice(text);
    padding.fill(0);
    Ok(())
}

fn put_characters(of: &Type, text: &[u8], to: &mut [u8]) -> Parsed {
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

// ---- any item ----

/// Parses a field of CSV. `to` has the size of the type.
pub fn csv(of: &Type, text: &[u8], to: &mut [u8]) -> Parsed {
    match &of.kind {
        Kind::Bytes => put_bytes(text, to),
        Kind::Text => put_characters(of, text, to),
        Kind::Void => put_hex(text, to),
        Kind::Complex => put_complex(of, text, to),
        Kind::Object => Err("cannot become an object of Python's"),
        Kind::Fields(_) | Kind::Items { .. } => {
            let text = std::str::from_utf8(text).map_err(|_| "is no JSON")?;
            let value: &RawValue = serde_json::from_str(text).map_err(|_| "is no JSON")?;
            json(of, value.get(), to)
        }
        Kind::Time { difference: false, unit, many } => {
            let time = times::parse(unit, *many, text);
            put_bits(of, to, time.ok_or("is no time that the type can hold")? as u64);
            Ok(())
        }
        _ if text == b"NaT" => put_number(of, &Numeral { looks: Looks::Missing, ..STRING }, to),
        _ => put_number(of, &Numeral::read(text), to),
    }
}

/// Writes the item of a missing value: NaN, NaT or an empty string.
pub fn missing(of: &Type, to: &mut [u8]) -> Parsed {
    match of.kind {
        Kind::Float | Kind::Time { .. } | Kind::Bytes | Kind::Text => csv(of, b"", to),
        _ => Err("is missing, and the type has nothing for that"),
    }
}

/// Parses a valid JSON value without spaces around it.
pub fn json(of: &Type, value: &str, to: &mut [u8]) -> Parsed {
    match (value.as_bytes().first(), &of.kind) {
        (Some(b'"'), Kind::Bytes | Kind::Text | Kind::Void | Kind::Time { .. } | Kind::Float) => {
            csv(of, json_string(value).ok_or("has half of a surrogate pair")?.as_bytes(), to)
        }
        (Some(b'"'), _) => Err("is text, and the type is not"),
        (Some(b'['), Kind::Items { of, count }) => list(of, *count, value, to),
        (Some(b'['), Kind::Complex) => {
            let half = Type { kind: Kind::Float, big_endian: of.big_endian, size: of.size / 2 };
            list(&half, 2, value, to)
        }
        (Some(b'{'), Kind::Fields(_)) => object(of, value, to),
        (Some(b'[' | b'{'), _) | (_, Kind::Items { .. } | Kind::Fields(_)) => {
            Err("has another form than the type")
        }
        (Some(b'n'), _) => missing(of, to),
        _ => csv(of, value.as_bytes(), to),
    }
}

fn list(of: &Type, count: usize, value: &str, to: &mut [u8]) -> Parsed {
    let values: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| "is no JSON")?;
    if values.len() != count {
        return Err("has not as many items as the type");
    }
    // items without bytes take none of them
    let mut rest = to;
    for value in values {
        let (item, after) = rest.split_at_mut(of.size);
        json(of, value.get(), item)?;
        rest = after;
    }
    Ok(())
}

fn object(of: &Type, value: &str, to: &mut [u8]) -> Parsed {
    let Kind::Fields(fields) = &of.kind else {
        return Err("has another form than the type");
    };
    let members = members(value).ok_or("is no JSON")?;
    for (name, value) in &members {
        let field = fields.iter().find(|field| field.name == *name);
        let field = field.ok_or("has a member that the type has not")?;
        let bytes = to.get_mut(field.offset..field.offset + field.of.size);
        json(&field.of, value.get(), bytes.unwrap_or_default())?;
    }
    if members.len() != fields.len() {
        return Err("has not all members that the type has");
    }
    Ok(())
}

// ---- JSON ----

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
