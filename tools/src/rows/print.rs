//! Items as text: as JSON values and as fields of CSV.
//!
//! Each number reads back as the same number. One of floating point has a point or an exponent, or
//! is NaN or an infinity.

use super::frame::Value;
use super::{extended, times};
use half::f16;
use holdall::{ItemKind, ItemType};

/// Text that grows. `escaped` is set once a string was not valid text, and does not read back.
#[derive(Default)]
pub struct Text {
    pub bytes: Vec<u8>,
    pub escaped: bool,
    /// The character between fields of CSV, besides commas one that needs quotes in them.
    pub delimiter: u8,
}

// ---- numbers

/// Returns the bytes of a number of at most 8 bytes as an unsigned number.
pub fn bits(bytes: &[u8], big_endian: bool) -> u64 {
    let mut wide = [0; 8];
    match bytes.len() {
        n @ (1 | 2 | 4 | 8) => wide[..n].copy_from_slice(bytes),
        _ => return 0,
    }
    if big_endian {
        wide[..bytes.len()].reverse();
    }
    u64::from_le_bytes(wide)
}

pub fn signed(bytes: &[u8], big_endian: bool) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8);
    (bits(bytes, big_endian) << unused) as i64 >> unused
}

/// Returns a floating-point number of 2, 4 or 8 bytes.
pub fn float(bytes: &[u8], big_endian: bool) -> f64 {
    let bits = bits(bytes, big_endian);
    match bytes.len() {
        2 => f16::from_bits(bits as u16).to_f64(),
        4 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// Appends a number with leading zeros.
pub fn put_padded(to: &mut Vec<u8>, n: u64, digits: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(n);
    to.resize(to.len() + digits.saturating_sub(text.len()), b'0');
    to.extend_from_slice(text.as_bytes());
}

/// Appends a positive number as formatters spell it, `12.5` or `1.25e1`, in the form of
/// `put_decimal`.
fn put_spelled(to: &mut Vec<u8>, text: &str, precision: usize) {
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (mut digits, mut count, mut has_point) = ([0; 32], 0, false);
    let mut point: i32 = exponent.parse().unwrap_or(0);
    for c in number.bytes() {
        match c {
            b'.' => has_point = true,
            b'0' if count == 0 => point -= i32::from(has_point),
            c => {
                if let Some(digit) = digits.get_mut(count) {
                    *digit = c;
                    count += 1;
                }
                point += i32::from(!has_point);
            }
        }
    }
    put_decimal(to, &digits[..count], point, precision);
}

/// Appends the number `0.digits` times 10 to the power of `point`, as `%g` of C does with a
/// precision of at least `precision`.
pub fn put_decimal(to: &mut Vec<u8>, digits: &[u8], point: i32, precision: usize) {
    let count = digits.iter().rposition(|c| *c != b'0').map_or(0, |last| last + 1);
    let (digits, precision) = (&digits[..count], precision.max(count) as i32);
    let Some((first, more)) = digits.split_first() else {
        return to.push(b'0');
    };
    if !(-3..=precision).contains(&point) {
        to.push(*first);
        if !more.is_empty() {
            to.push(b'.');
            to.extend_from_slice(more);
        }
        to.extend_from_slice(if point < 1 { b"e-" } else { b"e+" });
        put_padded(to, u64::from((point - 1).unsigned_abs()), 2);
        return;
    }
    let (whole, zeros) = (point.max(0) as usize, point.min(0).unsigned_abs() as usize);
    let (before, after) = digits.split_at(whole.min(digits.len()));
    to.extend_from_slice(if whole == 0 { b"0" } else { before });
    to.resize(to.len() + whole.saturating_sub(digits.len()), b'0');
    if !after.is_empty() {
        to.push(b'.');
        to.resize(to.len() + zeros, b'0');
        to.extend_from_slice(after);
    }
}

/// Returns the shortest spelling of a number that is nearest to it among those of 16 bits.
fn shortest_half(value: f64) -> String {
    let mut texts = (0..9).map(|digits| format!("{value:.digits$e}"));
    let same =
        |text: &String| text.parse().is_ok_and(|near| f16::from_f64(near) == f16::from_f64(value));
    texts.find(same).unwrap_or_default()
}

/// Appends a floating-point number of `size` bytes, with as few digits as give the same number
/// again: `1`, `0.5`, `1e+16`, `nan`, `-inf`.
pub fn put_float(to: &mut Vec<u8>, value: f64, size: usize) {
    let magnitude = value.abs();
    if value.is_nan() {
        return to.extend_from_slice(b"nan");
    }
    if value.is_sign_negative() {
        to.push(b'-');
    }
    let mut buffer = zmij::Buffer::new();
    match size {
        _ if magnitude.is_infinite() => to.extend_from_slice(b"inf"),
        _ if magnitude == 0.0 => to.push(b'0'),
        2 => put_spelled(to, &shortest_half(magnitude), 1),
        4 => {
            let precision = if magnitude < 1e-37 { 1 } else { 6 };
            put_spelled(to, buffer.format_finite(magnitude as f32), precision);
        }
        _ => {
            let precision = if magnitude < 1e-300 { 1 } else { 15 };
            put_spelled(to, buffer.format_finite(magnitude), precision);
        }
    }
}

fn put_hex(to: &mut Vec<u8>, bytes: &[u8]) {
    let digit = |n: u8| n + if n < 10 { b'0' } else { b'a' - 10 };
    to.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

/// Appends a number that is known for one of floating point.
fn put_floating(to: &mut Vec<u8>, bytes: &[u8], big_endian: bool, json: bool) {
    if !matches!(bytes.len(), 2 | 4 | 8) {
        // numbers of JSON are not that precise everywhere
        let quotes: &[u8] = if json { b"\"" } else { b"" };
        to.extend_from_slice(quotes);
        if big_endian || !extended::put(to, bytes) {
            put_hex(to, bytes);
        }
        return to.extend_from_slice(quotes);
    }
    let value = float(bytes, big_endian);
    if value.is_nan() {
        to.extend_from_slice(if json { b"null" } else { b"NaN" });
    } else if value.is_infinite() && json {
        to.extend_from_slice(if value < 0.0 { b"\"-Infinity\"" } else { b"\"Infinity\"" });
    } else {
        let from = to.len();
        put_float(to, value, bytes.len());
        if !to[from..].iter().any(|c| matches!(c, b'.' | b'e' | b'n')) {
            to.extend_from_slice(b".0");
        }
    }
}

/// Appends `1.0+2.0j`, and in JSON a list of two.
fn put_complex(to: &mut Vec<u8>, bytes: &[u8], big_endian: bool, json: bool) {
    let (real, imaginary) = bytes.split_at(bytes.len() / 2);
    to.extend_from_slice(if json { b"[" } else { b"" });
    put_floating(to, real, big_endian, json);
    let separator = to.len();
    to.push(if json { b',' } else { b'+' });
    put_floating(to, imaginary, big_endian, json);
    if !json && to.get(separator + 1) == Some(&b'-') {
        to.remove(separator);
    }
    to.push(if json { b']' } else { b'j' });
}

/// Appends a plain number: a truth value is 0 or 1, and a floating-point number may look like a
/// whole one.
pub fn put_plain(to: &mut Vec<u8>, of: &ItemType, bytes: &[u8]) {
    let mut buffer = itoa::Buffer::new();
    let text = match of.kind {
        ItemKind::Float => return put_float(to, float(bytes, of.big_endian), of.size),
        ItemKind::Int => buffer.format(signed(bytes, of.big_endian)),
        ItemKind::Bool => buffer.format(u8::from(bits(bytes, false) != 0)),
        _ => buffer.format(bits(bytes, of.big_endian)),
    };
    to.extend_from_slice(text.as_bytes());
}

// ---- strings

/// Appends bytes without the zeros at their end. Bytes that are not UTF-8 become `\xNN`.
fn put_bytes(text: &mut Text, bytes: &[u8]) {
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for chunk in bytes[..length].utf8_chunks() {
        text.bytes.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            text.escaped = true;
            text.bytes.extend_from_slice(b"\\x");
            put_hex(&mut text.bytes, &[*byte]);
        }
    }
}

fn put_characters(text: &mut Text, bytes: &[u8], big_endian: bool) {
    let codes = bytes.chunks_exact(4).map(|c| bits(c, big_endian) as u32);
    let length = codes.clone().rposition(|code| code != 0).map_or(0, |last| last + 1);
    for code in codes.take(length) {
        let c = char::from_u32(code);
        text.escaped |= c.is_none();
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        text.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Appends a JSON string.
pub fn put_json_string(to: &mut Vec<u8>, string: &str) {
    // writing to memory does not fail
    let _ = serde_json::to_writer(to, string);
}

/// Puts the text from `from` on in the quotes of CSV, if it needs them.
pub fn quote_csv(text: &mut Text, from: usize) {
    let needs = |c: &u8| matches!(c, b',' | b'"' | b'\n' | b'\r') || *c == text.delimiter;
    if text.bytes[from..].iter().any(needs) {
        let field = text.bytes.split_off(from);
        text.bytes.push(b'"');
        for c in field {
            text.bytes.extend_from_slice(if c == b'"' { b"\"" } else { b"" });
            text.bytes.push(c);
        }
        text.bytes.push(b'"');
    }
}

/// Appends a text or a null as a field of CSV: an empty text is in quotes, a null is not.
pub fn csv_text(text: &mut Text, value: &Value) {
    let from = text.bytes.len();
    match value {
        Value::Text("") => text.bytes.extend_from_slice(b"\"\""),
        Value::Text(value) => {
            text.bytes.extend_from_slice(value.as_bytes());
            quote_csv(text, from);
        }
        _ => {}
    }
}

// ---- items

/// Appends an item whose text needs no quotes in JSON. Returns false if it does.
fn put_number(to: &mut Vec<u8>, of: &ItemType, bytes: &[u8], json: bool) -> bool {
    let mut buffer = itoa::Buffer::new();
    let text = match &of.kind {
        ItemKind::Bool if bits(bytes, false) == 0 => "false",
        ItemKind::Bool => "true",
        ItemKind::Int => buffer.format(signed(bytes, of.big_endian)),
        ItemKind::Uint => buffer.format(bits(bytes, of.big_endian)),
        ItemKind::Float => {
            put_floating(to, bytes, of.big_endian, json);
            return true;
        }
        ItemKind::Complex => {
            put_complex(to, bytes, of.big_endian, json);
            return true;
        }
        ItemKind::Datetime(_) | ItemKind::Timedelta(_) => {
            let is_date = matches!(&of.kind, ItemKind::Datetime(unit) if !unit.is_empty());
            match signed(bytes, of.big_endian) {
                times::NONE if json => "null",
                times::NONE => "NaT",
                _ if is_date => return false,
                value => buffer.format(value),
            }
        }
        _ => return false,
    };
    to.extend_from_slice(text.as_bytes());
    true
}

/// Appends an item whose text is one string.
pub fn put_string(text: &mut Text, of: &ItemType, bytes: &[u8]) {
    match &of.kind {
        ItemKind::Datetime(unit) => {
            times::put(&mut text.bytes, unit, signed(bytes, of.big_endian));
        }
        ItemKind::Bytes => put_bytes(text, bytes),
        ItemKind::Str => put_characters(text, bytes, of.big_endian),
        _ => put_hex(&mut text.bytes, bytes),
    }
}

/// Returns whether items have parts, which are printed one by one.
fn has_parts(of: &ItemType, shape: &[usize]) -> bool {
    !shape.is_empty() || matches!(of.kind, ItemKind::Struct(_) | ItemKind::Array(..))
}

/// Appends items with parts as JSON.
fn put_parts(text: &mut Text, of: &ItemType, shape: &[usize], bytes: &[u8]) {
    match (shape.split_first(), &of.kind) {
        (Some((count, rest)), _) => {
            let size = rest.iter().fold(of.size, |size, n| size.saturating_mul(*n));
            text.bytes.push(b'[');
            for i in 0..*count {
                text.bytes.extend_from_slice(if i > 0 { b"," } else { b"" });
                json(text, of, rest, bytes.get(i * size..).unwrap_or_default());
            }
            text.bytes.push(b']');
        }
        (None, ItemKind::Struct(fields)) => {
            text.bytes.push(b'{');
            for (i, field) in fields.iter().enumerate() {
                text.bytes.extend_from_slice(if i > 0 { b"," } else { b"" });
                put_json_string(&mut text.bytes, &field.name);
                text.bytes.push(b':');
                json(text, &field.item, &[], bytes.get(field.offset..).unwrap_or_default());
            }
            text.bytes.push(b'}');
        }
        (None, ItemKind::Array(of, shape)) => json(text, of, shape, bytes),
        _ => {}
    }
}

/// Appends a JSON value. A number or time that is none is null. `bytes` begins with the items,
/// which have a shape.
pub fn json(text: &mut Text, of: &ItemType, shape: &[usize], bytes: &[u8]) {
    if has_parts(of, shape) {
        return put_parts(text, of, shape, bytes);
    }
    let bytes = bytes.get(..of.size).unwrap_or_default();
    if put_number(&mut text.bytes, of, bytes, true) {
        return;
    }
    let from = text.bytes.len();
    text.bytes.push(b'"');
    put_string(text, of, bytes);
    let plain = |c: &u8| matches!(c, b' '..=b'~') && !matches!(c, b'"' | b'\\');
    if text.bytes[from + 1..].iter().all(plain) {
        text.bytes.push(b'"');
    } else {
        let string = text.bytes.split_off(from);
        put_json_string(&mut text.bytes, &String::from_utf8_lossy(&string[1..]));
    }
}

/// Appends a field of CSV, in quotes where it needs them. Items with parts are JSON. `bytes` begins
/// with the items, which have a shape.
pub fn csv(text: &mut Text, of: &ItemType, shape: &[usize], bytes: &[u8]) {
    let from = text.bytes.len();
    if has_parts(of, shape) {
        put_parts(text, of, shape, bytes);
    } else {
        let bytes = bytes.get(..of.size).unwrap_or_default();
        if put_number(&mut text.bytes, of, bytes, false) {
            return;
        }
        put_string(text, of, bytes);
    }
    quote_csv(text, from);
}
