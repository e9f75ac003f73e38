//! JSON parser and writer for the dialect of Python, which has `NaN` and `Infinity`. The standard
//! does not have these, and other readers reject them. Objects preserve the order of their keys.
//!
//! The nesting depth is limited, because each level uses stack. Memory is bounded by the length of
//! the text.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Error, Result, fail};
use std::fmt;

/// Maximum nesting depth of arrays and objects.
const MAX_DEPTH: usize = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer in the range of `i64` or `u64`.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// A string.
    String(String),
    /// `[a, b]`.
    Array(Vec<Value>),
    /// `{"a": b}`.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Parses a text that consists of one value.
    pub fn parse(text: &[u8]) -> Result<Value> {
        let mut p = Parser::new(text)?;
        let value = p.value(MAX_DEPTH)?;
        p.end()?;
        Ok(value)
    }

    /// Returns the value of a key of an object. The last one of duplicate keys is used, as in all
    /// readers.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(items) => items.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Like [`Value::get`], for a change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match self {
            Value::Object(items) => {
                let found = items.iter_mut().rev().find(|(k, _)| k == key);
                found.map(|(_, v)| v)
            }
            _ => None,
        }
    }

    /// Returns the string, if the value is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// Returns the integer, if the value is one and is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }
}

/// Returns the keys of an object, each with the text of its value.
pub fn members(text: &[u8]) -> Result<Vec<(String, &str)>> {
    let mut p = Parser::new(text)?;
    if p.peek() != Some(b'{') {
        return Err(p.unexpected("an object"));
    }
    let mut items = Vec::new();
    p.at += 1;
    while let Some(name) = p.name(items.is_empty())? {
        p.peek();
        let from = p.at;
        p.value(MAX_DEPTH - 1)?;
        alloc::reserve(&mut items, 1)?;
        let value = p.text.get(from..p.at);
        let value = value.ok_or_else(|| Error::internal("the JSON value is not in its text"))?;
        items.push((name, value));
    }
    p.end()?;
    Ok(items)
}

/// Formats a JSON string: quoted, with all characters outside ASCII escaped, as Python does.
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                ' '..='~' => f.write_char(c)?,
                c => c
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .try_for_each(|u| write!(f, "\\u{u:04x}"))?,
            }
        }
        f.write_char('"')
    }
}

/// Escapes all characters outside ASCII in a JSON text. They occur only in strings.
pub fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|u| out.push_str(&format!("\\u{u:04x}")));
        }
    }
    out
}

/// Formats a value as Python does, without spaces.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comma = |i: usize| if i == 0 { "" } else { "," };
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(x) if x.is_finite() => write!(f, "{x:?}"),
            Value::Float(x) if x.is_nan() => f.write_str("NaN"),
            Value::Float(x) => f.write_str(if *x > 0.0 { "Infinity" } else { "-Infinity" }),
            Value::String(s) => write!(f, "{}", Quoted(s)),
            Value::Array(items) => {
                f.write_str("[")?;
                items
                    .iter()
                    .enumerate()
                    .try_for_each(|(i, v)| write!(f, "{}{v}", comma(i)))?;
                f.write_str("]")
            }
            Value::Object(items) => {
                f.write_str("{")?;
                items
                    .iter()
                    .enumerate()
                    .try_for_each(|(i, (k, v))| write!(f, "{}{}:{v}", comma(i), Quoted(k)))?;
                f.write_str("}")
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Result<Self> {
        let text = std::str::from_utf8(text)
            .map_err(|e| fail!(Format, "JSON: the text is not UTF-8: {e}"))?;
        Ok(Parser { text, at: 0 })
    }

    fn end(&mut self) -> Result<()> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err(self.unexpected("the end"))
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Skips whitespace and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.at += rest.len() - trimmed.len();
        trimmed.bytes().next()
    }

    fn accept(&mut self, c: u8) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, expected: &str) -> Error {
        match self.rest().chars().next() {
            Some(c) => fail!(
                Format,
                "JSON: unexpected character at byte {} (expected {expected}, found {c:?})",
                self.at
            ),
            None => fail!(Format, "JSON: unexpected end (expected {expected})"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        let inner = || {
            depth.checked_sub(1).ok_or_else(|| {
                fail!(
                    Limit,
                    "JSON: arrays and objects are nested more than {MAX_DEPTH} deep"
                )
            })
        };
        match self.peek() {
            Some(b'{') => self.object(inner()?),
            Some(b'[') => self.array(inner()?),
            Some(b'"') => self.string().map(Value::String),
            _ => self.token(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.accept(b']') {
            if !items.is_empty() && !self.accept(b',') {
                return Err(self.unexpected("',' or ']'"));
            }
            alloc::reserve(&mut items, 1)?;
            items.push(self.value(depth)?);
        }
        Ok(Value::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut items = Vec::new();
        while let Some(name) = self.name(items.is_empty())? {
            alloc::reserve(&mut items, 1)?;
            items.push((name, self.value(depth)?));
        }
        Ok(Value::Object(items))
    }

    /// Parses the next key of an object and its colon. Returns `None` at the end of the object.
    fn name(&mut self, is_first: bool) -> Result<Option<String>> {
        if self.accept(b'}') {
            return Ok(None);
        }
        if !is_first && !self.accept(b',') {
            return Err(self.unexpected("',' or '}'"));
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in quotes"));
        }
        let name = self.string()?;
        if !self.accept(b':') {
            return Err(self.unexpected("':'"));
        }
        Ok(Some(name))
    }

    /// Parses a number or a literal name.
    fn token(&mut self) -> Result<Value> {
        let rest = self.rest();
        let n = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
            .unwrap_or(rest.len());
        let token = rest.get(..n).unwrap_or(rest);
        let value = match token {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "NaN" => Value::Float(f64::NAN),
            "Infinity" => Value::Float(f64::INFINITY),
            "-Infinity" => Value::Float(f64::NEG_INFINITY),
            _ => number(token).ok_or_else(|| self.unexpected("a value"))?,
        };
        self.at += n;
        Ok(value)
    }

    /// Parses a string from its opening quote on.
    fn string(&mut self) -> Result<String> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let n = rest
                .find(|c: char| c == '"' || c == '\\' || c < ' ')
                .unwrap_or(rest.len());
            let (plain, tail) = rest.split_at_checked(n).unwrap_or((rest, ""));
            out.push_str(plain);
            self.at += n + 1;
            match tail.bytes().next() {
                Some(b'"') => return Ok(out),
                Some(b'\\') => out.push(self.escape()?),
                _ => {
                    return Err(fail!(
                        Format,
                        "JSON: the string at byte {start} does not end on its line"
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        let kind = self.rest().bytes().next();
        self.at += 1;
        let c = match kind {
            Some(c @ (b'"' | b'\\' | b'/')) => Some(char::from(c)),
            Some(b'b') => Some('\x08'),
            Some(b'f') => Some('\x0c'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'u') => self.unicode(),
            _ => None,
        };
        c.ok_or_else(|| {
            self.at = start;
            self.unexpected("an escape")
        })
    }

    /// Parses what follows `\u`: one UTF-16 unit or a surrogate pair. Returns `None` for half of a
    /// pair.
    fn unicode(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first.into());
        }
        self.at += self.rest().starts_with("\\u").then_some(2)?;
        char::decode_utf16([first, self.unit()?]).next()?.ok()
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self
            .rest()
            .get(..4)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += 4;
        u16::from_str_radix(digits, 16).ok()
    }
}

fn number(token: &str) -> Option<Value> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let leading_zero =
        digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || leading_zero {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let whole = token
            .parse()
            .ok()
            .filter(|n: &i128| i64::try_from(*n).is_ok() || u64::try_from(*n).is_ok());
        return Some(whole.map_or_else(
            || Value::Float(token.parse().unwrap_or(f64::INFINITY)),
            Value::Int,
        ));
    }
    let is_numeric = token
        .bytes()
        .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    // Rust accepts "0." and "1.e5"; RFC 8259 requires a digit after the point.
    let has_fraction = token
        .split_once('.')
        .is_none_or(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !is_numeric || !has_fraction {
        return None;
    }
    token.parse().ok().map(Value::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Value> {
        Value::parse(text.as_bytes())
    }

    #[test]
    fn values_are_parsed() {
        let string = |s: &str| Value::String(s.into());
        for (text, expected) in [
            ("null", Value::Null),
            (" true ", Value::Bool(true)),
            ("-0", Value::Int(0)),
            ("18446744073709551615", Value::Int(u64::MAX.into())),
            ("-9223372036854775808", Value::Int(i64::MIN.into())),
            ("99999999999999999999", Value::Float(1e20)),
            ("1.5e-3", Value::Float(0.0015)),
            ("-Infinity", Value::Float(f64::NEG_INFINITY)),
            (
                r#""a\"\\\/\b\f\n\r\tb\u00e9\ud83d\ude00""#,
                string("a\"\\/\x08\x0c\n\r\tb\u{e9}\u{1f600}"),
            ),
            ("[]", Value::Array(vec![])),
            (
                "[1, [2]]",
                Value::Array(vec![Value::Int(1), Value::Array(vec![Value::Int(2)])]),
            ),
            (
                r#"{"b":1,"a":null}"#,
                Value::Object(vec![("b".into(), Value::Int(1)), ("a".into(), Value::Null)]),
            ),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        for text in [
            r#"{"a":[1,-2.5,1e300],"\u00e9":{"b":null,"c":true}}"#,
            "[NaN,-Infinity,Infinity]",
            "[]",
            "{}",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert!(matches!(parse("NaN").unwrap(), Value::Float(x) if x.is_nan()));
        assert_eq!(
            parse(r#"{"a":1,"a":2}"#).unwrap().get("a"),
            Some(&Value::Int(2))
        );
    }

    #[test]
    fn invalid_text_is_an_error() {
        for text in [
            "",
            " ",
            "nul",
            "01",
            "-",
            "+1",
            ".5",
            "1e",
            "0.",
            "1.e5",
            "1-2",
            "inf",
            "nan",
            "'a'",
            "\"a",
            "\"\n\"",
            r#""\x""#,
            r#""\ud800""#,
            r#""\ud800\u0041""#,
            r#""\u12g4""#,
            "[1,]",
            "[1 2]",
            "[,]",
            "{1:2}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            "1 2",
            "[",
            "{",
        ] {
            assert_eq!(parse(text).unwrap_err().status, Status::Format, "{text}");
        }
        assert_eq!(Value::parse(&[0xff]).unwrap_err().status, Status::Format);
        for deep in ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
            assert_eq!(parse(&deep).unwrap_err().status, Status::Limit);
        }
        assert!(
            parse(&format!(
                "{}{}",
                "[".repeat(MAX_DEPTH),
                "]".repeat(MAX_DEPTH)
            ))
            .is_ok()
        );
    }

    #[test]
    fn members_returns_the_text_of_each_value() {
        let text = br#" { "a" : [1, {"b": 2}] , "\u00e9": 1e400,"a":"}" } "#;
        let expected = [
            ("a", r#"[1, {"b": 2}]"#),
            ("\u{e9}", "1e400"),
            ("a", "\"}\""),
        ];
        let found = members(text).unwrap();
        assert!(
            found.iter().map(|(n, v)| (n.as_str(), *v)).eq(expected),
            "{found:?}"
        );
        assert_eq!(members(b"{}").unwrap(), []);
        for invalid in ["[]", "", "{", "{1:2}", "{\"a\"}", "{} {}", "{\"a\":1,}"] {
            assert_eq!(
                members(invalid.as_bytes()).unwrap_err().status,
                Status::Format,
                "{invalid}"
            );
        }
    }

    proptest! {
        #[test]
        fn quoted_text_is_parsed_back(s in any::<String>()) {
            prop_assert_eq!(parse(&Quoted(&s).to_string()).unwrap(), Value::String(s));
        }

        #[test]
        fn results_agree_with_serde_json(text in r#"([\[\]{}:,"\\ 0-9a-fu.eE+-]|true|null|"[a-z]*"){0,12}"#) {
            if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(&text) {
                let ours = parse(&text);
                prop_assert!(ours.is_ok(), "{} {:?} {:?}", text, theirs, ours);
            } else if let Ok(ours) = parse(&text) {
                // serde_json rejects numbers outside the range of a double
                prop_assert!(text.contains(['e', 'E']), "{} {:?}", text, ours);
            }
        }
    }
}
