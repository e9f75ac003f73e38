//! Types of values in MessagePack, which have no NumPy dtype.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::msgpack::{self, Token};
use std::fmt;

/// The type of a value. Any value may also be null.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedType {
    /// A Boolean.
    Bool,
    /// An integer.
    Int {
        /// Whether it is signed.
        signed: bool,
        /// Its size in bytes.
        size: usize,
    },
    /// A floating-point number of 4 or 8 bytes.
    Float(usize),
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// A time since 1970, as an integer with this NumPy unit.
    Time(String),
    /// Any number of values of a type.
    List(Box<PackedType>),
    /// A value for each name.
    Struct(Vec<(String, PackedType)>),
    /// Any value, also of an extension type.
    Any,
}

impl fmt::Display for PackedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackedType::Bool => f.write_str("bool"),
            PackedType::Int { signed, size } => {
                write!(f, "{}int{}", if *signed { "" } else { "u" }, 8 * size)
            }
            PackedType::Float(size) => write!(f, "float{}", 8 * size),
            PackedType::Text => f.write_str("text"),
            PackedType::Bytes => f.write_str("bytes"),
            PackedType::Time(unit) => write!(f, "time in {unit}"),
            PackedType::List(item) => write!(f, "list of {item}"),
            PackedType::Any => f.write_str("any value"),
            PackedType::Struct(fields) => {
                for (i, (name, of)) in fields.iter().enumerate() {
                    f.write_str(if i == 0 { "struct of " } else { ", " })?;
                    write!(f, "{name:?}: {of}")?;
                }
                Ok(())
            }
        }
    }
}

impl PackedType {
    /// Returns an error unless the bytes are one value of the type.
    pub fn check(&self, value: &[u8]) -> Result<()> {
        let mut rest = value;
        match self.take(&mut rest) {
            Some(()) if rest.is_empty() => Ok(()),
            _ => Err(fail!(
                Type,
                "\"{}\" is no value in MessagePack of the type {self}",
                value.get(..32).unwrap_or(value).escape_ascii()
            )),
        }
    }

    /// Removes a value of the type. `None` if there is none.
    fn take(&self, rest: &mut &[u8]) -> Option<()> {
        if *self == PackedType::Any {
            return msgpack::value(rest).map(|_| ());
        }
        let token = msgpack::next(rest)?;
        let fits = match (self, token) {
            (_, Token::Nil) => true,
            (PackedType::Bool, Token::Bool(_)) | (PackedType::Bytes, Token::Bytes(_)) => true,
            (PackedType::Int { signed, size }, Token::Uint(n)) => {
                n.checked_shr(8 * *size as u32 - u32::from(*signed))
                    .unwrap_or(0)
                    == 0
            }
            (PackedType::Int { signed: true, size }, Token::Int(n)) => {
                n >= i64::MIN >> (64 - 8 * size)
            }
            (PackedType::Time(_), Token::Uint(n)) => i64::try_from(n).is_ok(),
            (PackedType::Time(_), Token::Int(_)) => true,
            (PackedType::Float(_), Token::Float(_) | Token::Uint(_) | Token::Int(_)) => true,
            (PackedType::Text, Token::Text(text)) => std::str::from_utf8(text).is_ok(),
            (PackedType::List(item), Token::Array(n)) => {
                for _ in 0..n {
                    item.take(rest)?;
                }
                true
            }
            (PackedType::Struct(fields), Token::Map(n)) if n == fields.len() as u64 => {
                for _ in 0..n {
                    let Some(Token::Text(name)) = msgpack::next(rest) else {
                        return None;
                    };
                    let field = fields.iter().find(|(field, _)| field.as_bytes() == name);
                    field?.1.take(rest)?;
                }
                true
            }
            _ => false,
        };
        fits.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_type() {
        let int = |signed, size| PackedType::Int { signed, size };
        let list = PackedType::List(Box::new(int(true, 1)));
        let fields = vec![
            ("a".to_owned(), int(false, 8)),
            ("t".to_owned(), PackedType::Text),
        ];
        let both = PackedType::Struct(fields);
        for (of, right, wrong) in [
            (&list, &b"\x93\x01\xd0\x80\xc0"[..], &b"\x91\xcc\x80"[..]),
            (&list, b"\x90", b"\x91\xd1\xff\x7f"),
            (
                &both,
                b"\x82\xa1a\x05\xa1t\xa1x",
                b"\x82\xa1a\xff\xa1t\xa1x",
            ),
            (&both, b"\x82\xa1t\xc0\xa1a\xc0", b"\x81\xa1a\x05"),
            (
                &PackedType::Time("s".into()),
                b"\xff",
                b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
            ),
            (&PackedType::Text, b"\xa1x", b"\xa1\xff"),
            (&PackedType::Bool, b"\xc2", b"\x00"),
            (&PackedType::Bytes, b"\xc4\x00", b"\xa0"),
            (&PackedType::Float(4), b"\x01", b"\xa0"),
            (&PackedType::Any, b"\x92\xd4\x2a\x00\xc0", b"\x91\xc1"),
            (
                &int(true, 8),
                b"\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
                b"\xcf\x80\x00\x00\x00\x00\x00\x00\x00",
            ),
        ] {
            of.check(right).unwrap();
            assert!(of.check(wrong).is_err(), "{of:?}");
            assert!(of.check(&[right, b"\x00"].concat()).is_err(), "{of:?}");
            assert!(of.check(&right[..right.len() - 1]).is_err(), "{of:?}");
        }
    }
}
