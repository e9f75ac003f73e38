//! Items as text: as JSON values and as fields of CSV.
//!
//! Each number reads back as the same number. One of floating point has a point or an exponent, or
//! is NaN or an infinity.

use super::dtype::{Kind, Type};
use super::times;
use half::f16;

/// Text that grows. `escaped` is set once a string was not valid text, and does not read back.
#[derive(Default)]
pub struct Text {
    pub bytes: Vec<u8>,
    pub escaped: bool,
    /// The character between fields of CSV, besides commas one that needs quotes in them.
    pub delimiter: u8,
}

// ---- numbers ----

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

fn signed(bytes: &[u8], big_endian: bool) -> i64 {
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

pub fn put_unsigned(to: &mut Vec<u8>, n: u64) {
    to.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends a number with leading zeros.
pub fn put_padded(to: &mut Vec<u8>, n: u64, digits: usize) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(n);
    to.resize(to.len() + digits.saturating_sub(text.len()), b'0');
    to.extend_from_slice(text.as_bytes());
}

/// A decimal number: `0.digits` times 10 to the power of `exponent`.
struct Decimal {
    digits: [u8; 32],
    count: usize,
    exponent: i32,
}

impl Decimal {
    /// Parses a positive number as formatters spell it: `12.5`, `1.25e1`.
    fn of(text: &str) -> Decimal {
        let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut decimal =
            Decimal { digits: [b'0'; 32], count: 0, exponent: exponent.parse().unwrap_or(0) };
        let mut has_point = false;
        for c in number.bytes() {
            match c {
                b'.' => has_point = true,
                b'0' if decimal.count == 0 => decimal.exponent -= i32::from(has_point),
                c => {
                    if let Some(digit) = decimal.digits.get_mut(decimal.count) {
                        *digit = c;
                        decimal.count += 1;
                    }
                    decimal.exponent += i32::from(!has_point);
                }
            }
        }
        decimal
    }

    /// Returns the shortest number that is nearest to this one among those of 16 bits.
    fn half(value: f64) -> Decimal {
        let text = (0..9).map(|digits| format!("{value:.digits$e}"));
        let same = |text: &String| {
            text.parse().is_ok_and(|near| f16::from_f64(near) == f16::from_f64(value))
        };
        let mut found = text.skip_while(|text| !same(text));
        Decimal::of(&found.next().unwrap_or_default())
    }

    fn put(&self, to: &mut Vec<u8>, precision: usize) {
        put_decimal(to, &self.digits[..self.count], self.exponent, precision);
    }
}

/// Appends the number `0.digits` times 10 to the power of `point`, as `%g` of C does with a
/// precision of at least
/// `precision`.
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

/// Appends a floating-point number of `size` bytes, with as few digits as give the same number
/// again: `1`, `0.5`,
/// `1e+16`, `nan`, `-inf`.
pub fn put_float(to: &mut Vec<u8>, value: f64, size: usize) {
    let magnitude = value.abs();
    if value.is_nan() {
        to.extend_from_slice(b"nan");
        return;
    }
    if value.is_sign_negative() {
        to.push(b'-');
    }
    if magnitude.is_infinite() {
        to.extend_from_slice(b"inf");
    } else if magnitude == 0.0 {
        to.push(b'0');
    } else if size == 2 {
        Decimal::half(magnitude).put(to, 1);
    } else if size == 4 {
        let is_tiny = magnitude < 1e-37;
        let mut buffer = zmij::Buffer::new();
        Decimal::of(buffer.format_finite(magnitude as f32)).put(to, if is_tiny { 1 } else { 6 });
    } else {
        let is_tiny = magnitude < 1e-300;
        let mut buffer = zmij::Buffer::new();
        Decimal::of(buffer.format_finite(magnitude)).put(to, if is_tiny { 1 } else { 15 });
    }
}

/// Appends a number that is known for one of floating point.
fn put_double(to: &mut Vec<u8>, value: f64, size: usize, json: bool) {
    if value.is_nan() {
        to.extend_from_slice(if json { b"null" } else { b"NaN" });
    } else if value.is_infinite() && json {
        let text: &[u8] = if value < 0.0 { b"\"-Infinity\"" } else { b"\"Infinity\"" };
        to.extend_from_slice(text);
    } else {
        let from = to.len();
        put_float(to, value, size);
        if !to[from..].iter().any(|c| matches!(c, b'.' | b'e' | b'n')) {
            to.extend_from_slice(b".0");
        }
    }
}

fn put_hex(to: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        to.push(DIGITS[usize::from(byte >> 4)]);
        to.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn put_floating(to: &mut Vec<u8>, bytes: &[u8], big_endian: bool, json: bool) {
    if matches!(bytes.len(), 2 | 4 | 8) {
        put_double(to, float(bytes, big_endian), bytes.len(), json);
        return;
    }
    // numbers of JSON are not that precise everywhere
    let quotes: &[u8] = if json { b"\"" } else { b"" };
    to.extend_from_slice(quotes);
    if big_endian || !super::extended::put(to, bytes) {
        put_hex(to, bytes);
    }
    to.extend_from_slice(quotes);
}

/// Appends `1.0+2.0j`, and in JSON a list of two.
fn put_complex(to: &mut Vec<u8>, bytes: &[u8], big_endian: bool, json: bool) {
    let (real, imaginary) = bytes.split_at(bytes.len() / 2);
    if json {
        to.push(b'[');
    }
    put_floating(to, real, big_endian, json);
    let separator = to.len();
    to.push(b',');
    put_floating(to, imaginary, big_endian, json);
    if json {
        to.push(b']');
        return;
    }
    if to.get(separator + 1) == Some(&b'-') {
        to.remove(separator);
    } else {
        to[separator] = b'+';
    }
    to.push(b'j');
}

// ---- strings ----

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

/// Appends a JSON string. Bytes that are not UTF-8 become `\\xNN`.
pub fn put_json_string(to: &mut Vec<u8>, string: &[u8]) {
    to.push(b'"');
    for chunk in string.utf8_chunks() {
        for c in chunk.valid().bytes() {
            match c {
                b'"' | b'\\' => to.extend_from_slice(&[b'\\', c]),
                0..0x20 | 0x7f => {
                    to.extend_from_slice(b"\\u00");
                    put_hex(to, &[c]);
                }
                c => to.push(c),
            }
        }
        for byte in chunk.invalid() {
            to.extend_from_slice(b"\\\\x");
            put_hex(to, &[*byte]);
        }
    }
    to.push(b'"');
}

/// Appends text as a field of CSV in quotes.
pub fn put_csv_quoted(to: &mut Vec<u8>, field: &[u8]) {
    to.push(b'"');
    for c in field {
        if *c == b'"' {
            to.push(b'"');
        }
        to.push(*c);
    }
    to.push(b'"');
}

/// Returns whether a field of CSV needs quotes.
pub fn needs_quotes(field: &[u8], delimiter: u8) -> bool {
    let needs = |c: &u8| matches!(c, b',' | b'"' | b'\n' | b'\r') || *c == delimiter;
    field.iter().any(needs)
}

// ---- items ----

/// Appends an item whose text needs no quotes in JSON. Returns false if it does.
fn put_number(to: &mut Vec<u8>, of: &Type, bytes: &[u8], json: bool) -> bool {
    let mut buffer = itoa::Buffer::new();
    let text = match &of.kind {
        Kind::Bool => match bits(bytes, false) {
            0 => "false",
            _ => "true",
        },
        Kind::Int => buffer.format(signed(bytes, of.big_endian)),
        Kind::Uint => buffer.format(bits(bytes, of.big_endian)),
        Kind::Float => {
            put_floating(to, bytes, of.big_endian, json);
            return true;
        }
        Kind::Complex => {
            put_complex(to, bytes, of.big_endian, json);
            return true;
        }
        Kind::Time { difference, unit, .. } => match signed(bytes, of.big_endian) {
            times::NONE if json => "null",
            times::NONE => "NaT",
            value if *difference || unit.is_empty() => buffer.format(value),
            _ => return false,
        },
        _ => return false,
    };
    to.extend_from_slice(text.as_bytes());
    true
}

/// Appends an item whose text is one string.
fn put_string(text: &mut Text, of: &Type, bytes: &[u8]) {
    match &of.kind {
        Kind::Time { unit, many, .. } => {
            times::put(&mut text.bytes, unit, *many, signed(bytes, of.big_endian));
        }
        Kind::Bytes => put_bytes(text, bytes),
        Kind::Text => put_characters(text, bytes, of.big_endian),
        _ => put_hex(&mut text.bytes, bytes),
    }
}

/// Appends an item with parts as JSON. Returns false if it has none.
fn put_parts(text: &mut Text, of: &Type, bytes: &[u8]) -> bool {
    let from = text.bytes.len();
    match &of.kind {
        Kind::Fields(fields) => {
            for field in fields {
                text.bytes.push(b',');
                put_json_string(&mut text.bytes, field.name.as_bytes());
                text.bytes.push(b':');
                json(text, &field.of, bytes.get(field.offset..).unwrap_or_default());
            }
        }
        Kind::Items { of, count } => {
            for i in 0..*count {
                text.bytes.push(b',');
                json(text, of, bytes.get(i * of.size..).unwrap_or_default());
            }
        }
        _ => return false,
    }
    let brackets = if matches!(of.kind, Kind::Fields(_)) { b"{}" } else { b"[]" };
    if text.bytes.len() == from {
        text.bytes.push(b',');
    }
    text.bytes[from] = brackets[0];
    text.bytes.push(brackets[1]);
    true
}

/// Replaces the text from `from` on by another form of it.
fn replace(to: &mut Vec<u8>, from: usize, put: impl FnOnce(&mut Vec<u8>, &[u8])) {
    let text = to.split_off(from);
    put(to, &text);
}

/// Appends a JSON value. A number or time that is none is null. `bytes` begins with the item.
pub fn json(text: &mut Text, of: &Type, bytes: &[u8]) {
    let bytes = bytes.get(..of.size).unwrap_or_default();
    if !put_number(&mut text.bytes, of, bytes, true) && !put_parts(text, of, bytes) {
        let from = text.bytes.len();
        put_string(text, of, bytes);
        let plain = |c: &u8| matches!(c, b' '..=b'~') && !matches!(c, b'"' | b'\\');
        if text.bytes[from..].iter().all(plain) {
            text.bytes.insert(from, b'"');
            text.bytes.push(b'"');
        } else {
            replace(&mut text.bytes, from, put_json_string);
        }
    }
}

/// Appends a field of CSV, in quotes where it needs them. Items with parts are JSON. `bytes` begins
/// with the item.
pub fn csv(text: &mut Text, of: &Type, bytes: &[u8]) {
    let bytes = bytes.get(..of.size).unwrap_or_default();
    if put_number(&mut text.bytes, of, bytes, false) {
        return;
    }
    let from = text.bytes.len();
    if !put_parts(text, of, bytes) {
        put_string(text, of, bytes);
    }
    if needs_quotes(&text.bytes[from..], text.delimiter) {
        replace(&mut text.bytes, from, put_csv_quoted);
    }
}

/// Appends a plain number: a truth value is 0 or 1, and a floating-point number may look like a
/// whole one.
pub fn put_plain(to: &mut Vec<u8>, of: &Type, bytes: &[u8]) {
    match of.kind {
        Kind::Float => put_float(to, float(bytes, of.big_endian), of.size),
        Kind::Int => to
            .extend_from_slice(itoa::Buffer::new().format(signed(bytes, of.big_endian)).as_bytes()),
        Kind::Bool => to.push(if bits(bytes, false) == 0 { b'0' } else { b'1' }),
        _ => put_unsigned(to, bits(bytes, of.big_endian)),
    }
}
