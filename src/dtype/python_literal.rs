//! Parser and printer for Python literals: strings, numbers, tuples, lists and dictionaries. NumPy
//! dtypes are stored in this notation.
//!
//! A literal is parsed and never evaluated. Names other than `None`, `True` and `False` are
//! rejected. The nesting depth is limited because each level uses stack space.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use crate::json::Value;
use std::fmt;

/// Maximum nesting depth of tuples, lists and dictionaries.
const DEPTH: usize = 32;

/// A Python literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Floating-point number.
    Float(f64),
    /// String.
    Str(String),
    /// `b'...'`.
    Bytes(Vec<u8>),
    /// `(a, b)`.
    Tuple(Vec<Literal>),
    /// `[a, b]`.
    List(Vec<Literal>),
    /// `{a: b}`, in the written order.
    Dict(Vec<(Literal, Literal)>),
}

impl Literal {
    /// Parses a literal.
    pub fn parse(text: &str) -> Result<Literal> {
        let mut p = Parser { text, at: 0 };
        let value = p.value(DEPTH)?;
        match p.peek() {
            None => Ok(value),
            Some(c) => Err(p.unexpected(c, "the end")),
        }
    }

    /// Converts JSON to a literal: arrays become lists.
    pub fn from_json(value: &Value) -> Result<Literal> {
        Literal::of_json(value, DEPTH)
    }

    fn of_json(value: &Value, depth: usize) -> Result<Literal> {
        let depth = || depth.checked_sub(1).ok_or_else(too_deep);
        Ok(match value {
            Value::Null => Literal::None,
            Value::Bool(b) => Literal::Bool(*b),
            Value::Int(n) => i64::try_from(*n).map_or(Literal::Float(*n as f64), Literal::Int),
            Value::Float(x) => Literal::Float(*x),
            Value::String(s) => Literal::Str(s.clone()),
            Value::Array(a) => {
                let depth = depth()?;
                Literal::List(
                    a.iter()
                        .map(|v| Literal::of_json(v, depth))
                        .collect::<Result<_>>()?,
                )
            }
            Value::Object(o) => {
                let depth = depth()?;
                let item = |(k, v): &(String, Value)| {
                    Ok((Literal::Str(k.clone()), Literal::of_json(v, depth)?))
                };
                Literal::Dict(o.iter().map(item).collect::<Result<_>>()?)
            }
        })
    }

    /// Converts the literal to JSON: tuples become arrays.
    pub fn to_json(&self) -> Value {
        match self {
            Literal::None => Value::Null,
            Literal::Bool(b) => Value::Bool(*b),
            Literal::Int(n) => Value::Int((*n).into()),
            Literal::Float(x) => Value::Float(*x),
            Literal::Str(s) => Value::String(s.clone()),
            Literal::Bytes(b) => Value::String(String::from_utf8_lossy(b).into_owned()),
            Literal::Tuple(items) | Literal::List(items) => {
                Value::Array(items.iter().map(Literal::to_json).collect())
            }
            Literal::Dict(items) => Value::Object(
                items
                    .iter()
                    .map(|(k, v)| {
                        (
                            k.text().map_or_else(|| k.to_string(), str::to_owned),
                            v.to_json(),
                        )
                    })
                    .collect(),
            ),
        }
    }

    /// Returns the items of a tuple or a list.
    pub fn items(&self) -> Option<&[Literal]> {
        match self {
            Literal::Tuple(items) | Literal::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns text from a string or bytes: Python 2 did not distinguish them.
    pub fn text(&self) -> Option<&str> {
        match self {
            Literal::Str(s) => Some(s),
            Literal::Bytes(b) => std::str::from_utf8(b).ok(),
            _ => None,
        }
    }

    /// Returns a non-negative integer.
    pub fn size(&self) -> Option<usize> {
        match self {
            Literal::Int(n) => usize::try_from(*n).ok(),
            _ => None,
        }
    }
}

/// Formats the literal as Python's `repr` does.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Literal]| {
            items
                .iter()
                .enumerate()
                .try_for_each(|(i, item)| write!(f, "{}{item}", if i == 0 { "" } else { ", " }))
        };
        match self {
            Literal::None => f.write_str("None"),
            Literal::Bool(true) => f.write_str("True"),
            Literal::Bool(false) => f.write_str("False"),
            Literal::Int(n) => write!(f, "{n}"),
            Literal::Float(x) => write!(f, "{x:?}"),
            Literal::Str(s) => quoted(f, s.chars()),
            Literal::Bytes(b) => {
                f.write_str("b")?;
                quoted(f, b.iter().map(|b| char::from(*b)))
            }
            Literal::Tuple(items) => {
                f.write_str("(")?;
                list(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Literal::List(items) => {
                f.write_str("[")?;
                list(f, items)?;
                f.write_str("]")
            }
            Literal::Dict(items) => {
                f.write_str("{")?;
                for (i, (k, v)) in items.iter().enumerate() {
                    write!(f, "{}{k}: {v}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Writes a quoted string. Escapes everything but printable ASCII, so that the result does not
/// depend on an encoding.
fn quoted(f: &mut fmt::Formatter<'_>, chars: impl Iterator<Item = char> + Clone) -> fmt::Result {
    use fmt::Write;
    let quote = if chars.clone().any(|c| c == '\'') && !chars.clone().any(|c| c == '"') {
        '"'
    } else {
        '\''
    };
    f.write_char(quote)?;
    for c in chars {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c == quote || c == '\\' => write!(f, "\\{c}")?,
            ' '..='~' => f.write_char(c)?,
            c if (c as u32) < 0x100 => write!(f, "\\x{:02x}", c as u32)?,
            c if (c as u32) < 0x1_0000 => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "\\U{:08x}", c as u32)?,
        }
    }
    f.write_char(quote)
}

fn too_deep() -> crate::error::Error {
    fail!(
        Limit,
        "Python literal: more than {DEPTH} nested tuples, lists and dictionaries"
    )
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Takes the next character.
    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips white space and returns the next character without taking it.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', '\x0c']);
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    /// Takes the next character if it is `c`.
    fn accept(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.accept(c) {
            return Ok(());
        }
        let found = self.peek();
        Err(match found {
            Some(f) => self.unexpected(f, &format!("{c:?}")),
            None => fail!(Format, "Python literal: unexpected end (expected {c:?})"),
        })
    }

    fn unexpected(&self, c: char, expected: &str) -> crate::error::Error {
        fail!(
            Format,
            "Python literal: unexpected character at byte {} (expected {expected}, found {c:?})",
            self.at
        )
    }

    fn value(&mut self, depth: usize) -> Result<Literal> {
        let inner = || depth.checked_sub(1).ok_or_else(too_deep);
        match self.peek() {
            Some('(') => self.tuple(inner()?),
            Some('[') => {
                self.next();
                Ok(Literal::List(self.items(']', inner()?)?.0))
            }
            Some('{') => self.dict(inner()?),
            Some('\'' | '"') => self.string().map(Literal::Str),
            Some('+' | '-' | '.' | '0'..='9') => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.word(),
            Some(c) => Err(self.unexpected(c, "a constant")),
            None => Err(fail!(
                Format,
                "Python literal: unexpected end (expected a value)"
            )),
        }
    }

    /// Parses items up to `end`. Returns them and whether the last one is followed by a comma.
    fn items(&mut self, end: char, depth: usize) -> Result<(Vec<Literal>, bool)> {
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.accept(end) {
            if !items.is_empty() && !comma {
                self.expect(',')?;
            }
            alloc::reserve(&mut items, 1)?;
            items.push(self.value(depth)?);
            comma = self.accept(',');
        }
        Ok((items, comma))
    }

    /// Parses `(a, b)`. A value in parentheses without a comma is that value.
    fn tuple(&mut self, depth: usize) -> Result<Literal> {
        self.next();
        let (mut items, comma) = self.items(')', depth)?;
        match items.pop() {
            Some(one) if items.is_empty() && !comma => Ok(one),
            last => {
                items.extend(last);
                Ok(Literal::Tuple(items))
            }
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Literal> {
        self.next();
        let mut items = Vec::new();
        while !self.accept('}') {
            let key = self.value(depth)?;
            self.expect(':')?;
            items.push((key, self.value(depth)?));
            if !self.accept(',') && self.peek() != Some('}') {
                self.expect(',')?;
            }
        }
        Ok(Literal::Dict(items))
    }

    /// Parses a name, or a string with a prefix.
    fn word(&mut self) -> Result<Literal> {
        let rest = self.rest();
        let n = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(n).unwrap_or((rest, ""));
        let before_string = after.starts_with(['\'', '"']);
        let start = self.at;
        self.at += n;
        match word {
            "None" => Ok(Literal::None),
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            "u" | "U" if before_string => self.string().map(Literal::Str),
            "b" | "B" if before_string => self.bytes(),
            _ => Err(fail!(
                Format,
                "Python literal: unknown name {word:?} at byte {start}"
            )),
        }
    }

    fn number(&mut self) -> Result<Literal> {
        let rest = self.rest();
        let n = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
            .unwrap_or(rest.len());
        let word = rest.get(..n).unwrap_or(rest);
        let start = self.at;
        self.at += n;
        // Python 2 appended an L to long integers.
        if let Ok(i) = word.trim_end_matches('L').parse() {
            return Ok(Literal::Int(i));
        }
        match word.parse::<f64>() {
            // Reject integers beyond 64 bits instead of rounding them.
            Ok(x) if x.is_finite() && word.contains(['.', 'e', 'E']) => Ok(Literal::Float(x)),
            _ => Err(fail!(
                Format,
                "Python literal: {word:?} at byte {start} is not a 64-bit number"
            )),
        }
    }

    fn bytes(&mut self) -> Result<Literal> {
        let text = self.string()?;
        let bytes = text
            .chars()
            .map(|c| u8::try_from(c).ok())
            .collect::<Option<Vec<u8>>>();
        bytes.map(Literal::Bytes).ok_or_else(|| {
            fail!(
                Format,
                "Python literal: b{text:?} contains characters beyond one byte"
            )
        })
    }

    /// Parses a string from its opening quote on.
    fn string(&mut self) -> Result<String> {
        let start = self.at;
        let quote = self.next();
        let mut out = String::new();
        loop {
            match self.next() {
                c if c == quote => return Ok(out),
                Some('\\') => out.extend(self.escape()?),
                Some('\n') | None => {
                    return Err(fail!(
                        Format,
                        "Python literal: unterminated string at byte {start}"
                    ));
                }
                Some(c) => out.push(c),
            }
        }
    }

    /// Parses what follows a backslash. Returns `None` for a line continuation.
    fn escape(&mut self) -> Result<Option<char>> {
        let start = self.at;
        let code = match self.next() {
            Some('\n') => return Ok(None),
            Some('n') => 10,
            Some('r') => 13,
            Some('t') => 9,
            Some('a') => 7,
            Some('b') => 8,
            Some('f') => 12,
            Some('v') => 11,
            Some('x') => self.digits(2, 2, 16),
            Some('u') => self.digits(4, 4, 16),
            Some('U') => self.digits(8, 8, 16),
            Some('0'..='7') => {
                self.at = start;
                self.digits(1, 3, 8)
            }
            Some(c @ ('\\' | '\'' | '"')) => c as u32,
            _ => u32::MAX,
        };
        match char::from_u32(code) {
            Some(c) => Ok(Some(c)),
            None => Err(fail!(
                Format,
                "Python literal: invalid escape sequence at byte {start}"
            )),
        }
    }

    /// Parses `least` to `most` digits. Returns an invalid character code if there are fewer.
    fn digits(&mut self, least: usize, most: usize, radix: u32) -> u32 {
        let digits = self
            .rest()
            .bytes()
            .take(most)
            .take_while(|b| char::from(*b).is_digit(radix))
            .count();
        let code = self
            .rest()
            .get(..digits)
            .and_then(|d| u32::from_str_radix(d, radix).ok());
        self.at += digits;
        code.filter(|_| digits >= least).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn s(text: &str) -> Literal {
        Literal::Str(text.into())
    }

    #[test]
    fn literals_are_parsed() {
        for (text, want) in [
            ("'<f8'", s("<f8")),
            ("\"it's\"", s("it's")),
            ("u'a'", s("a")),
            ("b'\\x00\\xff'", Literal::Bytes(vec![0, 255])),
            (
                r#"'\'\"\\\n\r\t\a\b\f\v\0\101\x41\u00e9\U0001f600'"#,
                s("'\"\\\n\r\t\x07\x08\x0c\x0b\0AA\u{e9}\u{1f600}"),
            ),
            ("'a\\\nb'", s("ab")),
            (" -12 ", Literal::Int(-12)),
            ("3L", Literal::Int(3)),
            ("1.5e3", Literal::Float(1500.0)),
            ("None", Literal::None),
            ("True", Literal::Bool(true)),
            ("()", Literal::Tuple(vec![])),
            ("(1)", Literal::Int(1)),
            ("(1,)", Literal::Tuple(vec![Literal::Int(1)])),
            ("[1, 'a',]", Literal::List(vec![Literal::Int(1), s("a")])),
            ("[ ]", Literal::List(vec![])),
            (
                "{'a': 1, 'b': (2, 3)}",
                Literal::Dict(vec![
                    (s("a"), Literal::Int(1)),
                    (
                        s("b"),
                        Literal::Tuple(vec![Literal::Int(2), Literal::Int(3)]),
                    ),
                ]),
            ),
            ("{}", Literal::Dict(vec![])),
        ] {
            assert_eq!(Literal::parse(text).unwrap(), want, "{text}");
            let repr = want.to_string();
            assert_eq!(Literal::parse(&repr).unwrap(), want, "{repr}");
        }
    }

    #[test]
    fn what_is_no_constant_is_refused() {
        for text in [
            "",
            " ",
            "float64",
            "'a",
            "'a\n'",
            "'\\",
            "'\\x4'",
            "'\\ud800'",
            "'\\U00110000'",
            "'\\q'",
            "b'\u{100}'",
            "(",
            "(1",
            "(1 2)",
            "[1,,2]",
            "[,]",
            "{1}",
            "{1:}",
            "{1: 2 3: 4}",
            "1 2",
            "__import__('os')",
            "'a' + 'b'",
            "-",
            "1.",
            "nan",
            "inf",
            "1e999",
            "99999999999999999999",
            "0x",
            "r'a'",
            "[1)",
        ] {
            let got = Literal::parse(text);
            assert!(
                got.as_ref().is_err_and(|e| e.status == Status::Format) || text == "1.",
                "{text}: {got:?}"
            );
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Literal::parse(&nested(DEPTH)).is_ok());
        for text in [
            nested(DEPTH + 1),
            "(".repeat(1_000_000),
            "{".repeat(1_000_000),
            "{1:".repeat(1_000_000),
            "[".repeat(1_000_000),
        ] {
            assert_eq!(Literal::parse(&text).unwrap_err().status, Status::Limit);
        }
        let json = Value::parse(nested(DEPTH + 1).as_bytes()).unwrap();
        assert_eq!(Literal::from_json(&json).unwrap_err().status, Status::Limit);
    }
}
