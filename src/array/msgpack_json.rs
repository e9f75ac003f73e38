//! Conversion of attributes between formats: frames store them as MessagePack, all other formats as
//! JSON.
//!
//! - Bytes are `{"hex": "00ff"}` in JSON.
//! - Extension types also have their type number in a member `ext`.
//! - Bytes that are not valid MessagePack are treated as bytes.
//! - Map keys that are not text become their JSON text, as Python does with numbers.
//! - Attributes that are not valid JSON become MessagePack text.
#![forbid(unsafe_code)]

use super::store::Store;
use crate::error::{Error, Result};
use crate::json::{Quoted, Value};
use crate::msgpack::{self, Token};

/// Maximum nesting depth.
const DEPTH: usize = 64;

/// A name and its JSON value.
pub type Attr = (String, Vec<u8>);

/// Returns the attributes of an array in a frame as JSON.
pub fn of_frame(frame: &dyn Store) -> Result<Vec<Attr>> {
    let json = |name: &str| {
        let absent = || Error::internal(format_args!("attribute {name:?} is listed but absent"));
        let value = frame.attr(name)?.ok_or_else(absent)?;
        Ok((name.to_owned(), to_json(value).into_bytes()))
    };
    frame.attr_names().into_iter().map(json).collect()
}

// ---- to JSON

/// Converts a MessagePack value to JSON.
pub fn to_json(bytes: &[u8]) -> String {
    let (mut out, mut rest) = (String::new(), bytes);
    match put(&mut rest, &mut out, DEPTH) {
        Some(()) if rest.is_empty() => out,
        _ => format!("{{{}}}", hex(bytes)),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("\"hex\":\"{digits}\"")
}

/// Converts the next value. Returns `None` if the bytes are invalid or nested too deeply.
fn put(rest: &mut &[u8], out: &mut String, depth: usize) -> Option<()> {
    match msgpack::next(rest)? {
        Token::Nil => out.push_str("null"),
        Token::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Token::Uint(n) => out.push_str(&n.to_string()),
        Token::Int(n) => out.push_str(&n.to_string()),
        Token::Float(x) => out.push_str(&Value::Float(x).to_string()),
        Token::Text(text) => out.push_str(&Quoted(&String::from_utf8_lossy(text)).to_string()),
        Token::Bytes(bytes) => out.push_str(&format!("{{{}}}", hex(bytes))),
        Token::Extension(kind, bytes) => {
            out.push_str(&format!("{{\"ext\":{kind},{}}}", hex(bytes)));
        }
        Token::Array(n) => put_all(rest, out, depth, false, n)?,
        Token::Map(n) => put_all(rest, out, depth, true, n)?,
    }
    Some(())
}

fn put_all(rest: &mut &[u8], out: &mut String, depth: usize, map: bool, n: u64) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    out.push(if map { '{' } else { '[' });
    for i in 0..n {
        out.push_str(if i > 0 { "," } else { "" });
        if map {
            let mut name = String::new();
            put(rest, &mut name, depth)?;
            out.push_str(&if name.starts_with('"') {
                name
            } else {
                Quoted(&name).to_string()
            });
            out.push(':');
        }
        put(rest, out, depth)?;
    }
    out.push(if map { '}' } else { ']' });
    Some(())
}

// ---- from JSON

/// Converts JSON to a MessagePack value.
pub fn from_json(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match Value::parse(json) {
        Ok(value) => pack(&value, &mut out),
        Err(_) => pack_text(&String::from_utf8_lossy(json), &mut out),
    }
    out
}

fn pack(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => msgpack::put(out, Token::Nil),
        Value::Bool(b) => msgpack::put(out, Token::Bool(*b)),
        Value::Int(n) => match (u64::try_from(*n), i64::try_from(*n)) {
            (Ok(n), _) => msgpack::put(out, Token::Uint(n)),
            (_, Ok(n)) => msgpack::put(out, Token::Int(n)),
            // beyond 64 bits
            _ => msgpack::put(out, Token::Float(*n as f64)),
        },
        Value::Float(x) => msgpack::put(out, Token::Float(*x)),
        Value::String(text) => pack_text(text, out),
        Value::Array(items) => {
            msgpack::put(out, Token::Array(items.len() as u64));
            items.iter().for_each(|item| pack(item, out));
        }
        Value::Object(members) => match bytes_of(members) {
            Some(bytes) => msgpack::put(out, Token::Bytes(&bytes)),
            None => {
                msgpack::put(out, Token::Map(members.len() as u64));
                for (name, value) in members {
                    pack_text(name, out);
                    pack(value, out);
                }
            }
        },
    }
}

fn pack_text(text: &str, out: &mut Vec<u8>) {
    msgpack::put(out, Token::Text(text.as_bytes()));
}

/// Returns the bytes that [`hex`] encoded.
fn bytes_of(members: &[(String, Value)]) -> Option<Vec<u8>> {
    let [(name, Value::String(digits))] = members else {
        return None;
    };
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let pair = |pair: &[u8; 2]| {
        let plain = pair.iter().all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'));
        std::str::from_utf8(pair)
            .ok()
            .filter(|_| plain)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    if name == "hex" && rest.is_empty() {
        pairs.iter().map(pair).collect()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_the_messagepack_specification() {
        let cases: &[(&[u8], &str)] = &[
            (b"\xc0", "null"),
            (b"\xc3", "true"),
            (b"\x7f", "127"),
            (b"\xff", "-1"),
            (b"\xe0", "-32"),
            (b"\xd0\xdf", "-33"),
            (b"\xcc\xff", "255"),
            (b"\xcd\x01\x00", "256"),
            (b"\xce\x00\x01\x00\x00", "65536"),
            (
                b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
                "18446744073709551615",
            ),
            (b"\xd1\x80\x00", "-32768"),
            (b"\xd2\x80\x00\x00\x00", "-2147483648"),
            (
                b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
                "-9223372036854775808",
            ),
            (b"\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00", "0.5"),
            (b"\xcb\x40\x00\x00\x00\x00\x00\x00\x00", "2.0"),
            (b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", "Infinity"),
            (b"\xa2ab", "\"ab\""),
            (b"\xa2\xc3\xa4", "\"\\u00e4\""),
            (b"\xc4\x02\x00\xff", "{\"hex\":\"00ff\"}"),
            (b"\x92\x01\x90", "[1,[]]"),
            (b"\x82\xa1a\x01\xa1b\x80", "{\"a\":1,\"b\":{}}"),
        ];
        for (packed, json) in cases {
            assert_eq!(to_json(packed), *json);
            assert_eq!(from_json(json.as_bytes()), *packed, "{json}");
        }
    }

    #[test]
    fn values_without_an_equivalent_are_approximated() {
        for (packed, json) in [
            (&b"\xd4\x05\x01"[..], "{\"ext\":5,\"hex\":\"01\"}"),
            (b"\x81\x01\x02", "{\"1\":2}"),
            (b"\xca\x3f\x00\x00\x00", "0.5"),
            // Invalid, too short, too long.
            (b"\xc1", "{\"hex\":\"c1\"}"),
            (b"\xa2a", "{\"hex\":\"a261\"}"),
            (b"\x01\x01", "{\"hex\":\"0101\"}"),
            (b"", "{\"hex\":\"\"}"),
        ] {
            assert_eq!(to_json(packed), json);
        }
        assert_eq!(
            from_json(b"18446744073709551616"),
            [&[0xcb], &1.8446744073709552e19f64.to_be_bytes()[..]].concat()
        );
        assert_eq!(from_json(b"no JSON"), b"\xa7no JSON");
        let deep = [vec![0x91; 100], vec![1]].concat();
        assert!(to_json(&deep).starts_with("{\"hex\""));
        assert!(to_json(b"\xdd\xff\xff\xff\xff").starts_with("{\"hex\""));
    }

    #[test]
    fn lengths_have_the_shortest_markers() {
        for n in [0, 1, 31, 32, 255, 256, 65535, 65536] {
            for json in [
                format!("\"{}\"", "x".repeat(n)),
                format!("[{}]", vec!["1"; n].join(",")),
                format!("{{\"hex\":\"{}\"}}", "00".repeat(n)),
            ] {
                let packed = from_json(json.as_bytes());
                assert!(packed.len() <= n + 5, "{n}");
                assert_eq!(to_json(&packed), json);
            }
        }
    }
}
