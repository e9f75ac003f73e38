//! Converts values in MessagePack to Arrow arrays: lists and structures, of which any may be null. A
//! value of any type stays as it is, binary with an entry in the metadata of its field.
#![forbid(unsafe_code)]

use super::data::{Buffer, Data, bits};
use super::export::{ITEM, NATIVE_BIG_ENDIAN};
use super::format::{Field, Format, OffsetLayout};
use super::time_units::arrow_format;
use crate::alloc;
use crate::array::store::Texts;
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, fail};
use crate::msgpack::{self, Token};

/// The metadata of a field whose values are binary in Arrow.
const ENCODING: (&str, &str) = ("holdall:encoding", "MessagePack");

/// Returns the Arrow field for values of a type.
pub fn field(name: &str, of: &PackedType) -> Result<Field> {
    let variable = |text| Format::Variable {
        text,
        layout: OffsetLayout::Offsets32,
    };
    let (format, children) = match of {
        PackedType::Bool => (Format::Bool, Vec::new()),
        &PackedType::Int { signed, size } => (Format::Int { signed, size }, Vec::new()),
        PackedType::Float(size) => (Format::Float(*size), Vec::new()),
        PackedType::Text => (variable(true), Vec::new()),
        PackedType::Bytes | PackedType::Any => (variable(false), Vec::new()),
        PackedType::Time(unit) => {
            let format = arrow_format(unit, true);
            let format = format.ok_or_else(|| fail!(Type, "unsupported time unit {unit:?}"))?;
            (format, Vec::new())
        }
        PackedType::List(item) => (
            Format::VariableList(OffsetLayout::Offsets32),
            vec![field(ITEM, item)?],
        ),
        PackedType::Struct(fields) => {
            let fields = fields.iter().map(|(name, of)| field(name, of));
            (Format::Struct, fields.collect::<Result<_>>()?)
        }
    };
    let mut field = Field::of(name, format, children);
    field.nullable = true;
    if *of == PackedType::Any {
        let (key, value) = ENCODING;
        field.metadata.push((key.to_owned(), value.to_owned()));
    }
    Ok(field)
}

/// Converts values, each of which is one in MessagePack.
pub fn export(values: &Texts, of: &PackedType) -> Result<Data> {
    let mut all = Builder::new(of);
    for (i, is_null) in values.nulls.iter().enumerate() {
        if *is_null {
            all.push_null()?;
            continue;
        }
        let mut rest = values.get(i).unwrap_or_default();
        all.push(&mut rest)
            .map_err(|e| e.within(format_args!("value {i} of the batch")))?;
    }
    all.finish()
}

/// Collects the values of a field.
struct Builder<'a> {
    of: &'a PackedType,
    nulls: Vec<bool>,
    values: Values<'a>,
}

enum Values<'a> {
    Bits(Vec<bool>),
    Fixed(usize, Vec<u8>),
    /// The end of each value, and the bytes of all.
    Variable(Vec<i32>, Vec<u8>),
    /// The end of each list, and the items of all.
    Lists(Vec<i32>, Box<Builder<'a>>),
    Fields(Vec<(&'a str, Builder<'a>)>),
}

impl<'a> Builder<'a> {
    fn new(of: &'a PackedType) -> Builder<'a> {
        let values = match of {
            PackedType::Bool => Values::Bits(Vec::new()),
            PackedType::Int { size, .. } | PackedType::Float(size) => {
                Values::Fixed(*size, Vec::new())
            }
            PackedType::Time(_) => Values::Fixed(8, Vec::new()),
            PackedType::Text | PackedType::Bytes | PackedType::Any => {
                Values::Variable(Vec::new(), Vec::new())
            }
            PackedType::List(item) => Values::Lists(Vec::new(), Box::new(Builder::new(item))),
            PackedType::Struct(fields) => {
                let fields = fields.iter().map(|(name, of)| (&**name, Builder::new(of)));
                Values::Fields(fields.collect())
            }
        };
        Builder {
            of,
            nulls: Vec::new(),
            values,
        }
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    fn push_null(&mut self) -> Result<()> {
        match &mut self.values {
            Values::Bits(all) => put(all, &[false])?,
            Values::Fixed(size, all) => put(all, [0; 8].get(..*size).unwrap_or_default())?,
            Values::Variable(ends, bytes) => put(ends, &[end(bytes.len())?])?,
            Values::Lists(ends, items) => put(ends, &[end(items.len())?])?,
            Values::Fields(fields) => {
                for (_, field) in fields {
                    field.push_null()?;
                }
            }
        }
        put(&mut self.nulls, &[true])
    }

    /// Adds the next value.
    fn push(&mut self, rest: &mut &[u8]) -> Result<()> {
        let whole = *rest;
        let token = msgpack::next(rest).ok_or_else(truncated)?;
        let before = self.len();
        match (&mut self.values, token) {
            (_, Token::Nil) => return self.push_null(),
            (Values::Bits(all), Token::Bool(value)) => put(all, &[value])?,
            (Values::Fixed(_, all), token) => put(all, &number(self.of, token)?)?,
            (Values::Variable(ends, all), Token::Text(bytes)) if *self.of == PackedType::Text => {
                if std::str::from_utf8(bytes).is_err() {
                    let bytes = bytes.escape_ascii();
                    return Err(fail!(Format, "a text is not UTF-8: \"{bytes}\""));
                }
                put(all, bytes)?;
                put(ends, &[end(all.len())?])?;
            }
            (Values::Variable(ends, all), Token::Bytes(bytes)) if *self.of == PackedType::Bytes => {
                put(all, bytes)?;
                put(ends, &[end(all.len())?])?;
            }
            (Values::Variable(ends, all), _) if *self.of == PackedType::Any => {
                *rest = whole;
                put(all, msgpack::value(rest).ok_or_else(truncated)?)?;
                put(ends, &[end(all.len())?])?;
            }
            (Values::Lists(ends, items), Token::Array(n)) => {
                for _ in 0..n {
                    items.push(rest)?;
                }
                put(ends, &[end(items.len())?])?;
            }
            (Values::Fields(fields), Token::Map(n)) => push_fields(fields, before, n, rest)?,
            (_, token) => return Err(wrong(self.of, token)),
        }
        put(&mut self.nulls, &[false])
    }

    fn finish(self) -> Result<Data> {
        let len = self.len();
        let data = match self.values {
            Values::Bits(all) => Data::plain(len, bits(all.into_iter())?),
            Values::Fixed(_, all) => Data::plain(len, buffer(&all)?),
            Values::Variable(ends, all) => Data::variable(len, offsets(&ends)?, Buffer::bytes(all)),
            Values::Lists(ends, items) => Data {
                buffers: vec![None, Some(offsets(&ends)?)],
                ..Data::of(len, vec![items.finish()?])
            },
            Values::Fields(fields) => {
                let fields = fields.into_iter().map(|(_, field)| field.finish());
                Data::of(len, fields.collect::<Result<_>>()?)
            }
        };
        data.with_nulls(&self.nulls)
    }
}

/// Adds a value to each of the fields, which have `before`. One that has no value is null.
fn push_fields(
    fields: &mut [(&str, Builder)],
    before: usize,
    n: u64,
    rest: &mut &[u8],
) -> Result<()> {
    for _ in 0..n {
        let Some(Token::Text(name)) = msgpack::next(rest) else {
            return Err(fail!(Format, "a structure has a key that is no text"));
        };
        let field = fields
            .iter_mut()
            .find(|(known, _)| known.as_bytes() == name);
        let Some((_, field)) = field.filter(|(_, field)| field.len() == before) else {
            let name = name.escape_ascii();
            return Err(fail!(
                Format,
                "a structure has the field \"{name}\", which its type lacks, or twice"
            ));
        };
        field.push(rest)?;
    }
    let mut missing = fields.iter_mut().filter(|(_, field)| field.len() == before);
    missing.try_for_each(|(_, field)| field.push_null())
}

fn truncated() -> Error {
    fail!(Format, "a value in MessagePack is truncated")
}

fn wrong(of: &PackedType, token: Token) -> Error {
    fail!(
        Format,
        "a value in MessagePack is {token:?} (expected {of})"
    )
}

/// Returns the bytes of a number in the order of this machine.
fn number(of: &PackedType, token: Token) -> Result<Vec<u8>> {
    let whole = match token {
        Token::Uint(n) => Some(i128::from(n)),
        Token::Int(n) => Some(i128::from(n)),
        _ => None,
    };
    let (signed, size) = match (of, token) {
        (PackedType::Float(8), Token::Float(x)) => return Ok(x.to_ne_bytes().to_vec()),
        (PackedType::Float(4), Token::Float(x)) if f64::from(x as f32) == x || x.is_nan() => {
            return Ok((x as f32).to_ne_bytes().to_vec());
        }
        (&PackedType::Int { signed, size }, _) => (signed, size),
        (PackedType::Time(_), _) => (true, 8),
        _ => return Err(wrong(of, token)),
    };
    let bits = size as u32 * 8;
    let range = match signed {
        true => -(1i128 << (bits - 1))..1 << (bits - 1),
        false => 0..1 << bits,
    };
    let n = whole.filter(|n| range.contains(n));
    let n = n.ok_or_else(|| wrong(of, token))?.to_le_bytes();
    let mut bytes = n.get(..size).unwrap_or_default().to_vec();
    if NATIVE_BIG_ENDIAN {
        bytes.reverse();
    }
    Ok(bytes)
}

fn put<T: Clone>(to: &mut Vec<T>, values: &[T]) -> Result<()> {
    alloc::reserve(to, values.len())?;
    to.extend_from_slice(values);
    Ok(())
}

fn end(n: usize) -> Result<i32> {
    i32::try_from(n).map_err(|_| {
        fail!(
            Limit,
            "batch: {n} bytes or items exceed the 32-bit offsets of Arrow (limit {}); request fewer rows per batch",
            i32::MAX
        )
    })
}

fn offsets(ends: &[i32]) -> Result<Buffer> {
    let all = std::iter::once(&0).chain(ends);
    let mut bytes = alloc::with_capacity((ends.len() + 1).saturating_mul(4))?;
    all.for_each(|end| bytes.extend(end.to_ne_bytes()));
    buffer(&bytes)
}

fn buffer(bytes: &[u8]) -> Result<Buffer> {
    let mut buffer = Buffer::zeroed(bytes.len())?;
    buffer.get_mut().copy_from_slice(bytes);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn values(of: &[&[u8]]) -> Texts {
        let mut all = Texts::new(1000);
        for value in of {
            all.push(value, value.is_empty()).unwrap();
        }
        all
    }

    fn ints(data: &Data, buffer: usize) -> Vec<i32> {
        let bytes = data.buffers[buffer].as_ref().unwrap().get();
        let ints = bytes.as_chunks::<4>().0.iter();
        ints.map(|b| i32::from_ne_bytes(*b)).collect()
    }

    #[test]
    fn lists() {
        let int = PackedType::Int {
            signed: true,
            size: 4,
        };
        let of = PackedType::List(Box::new(int));
        let data = export(&values(&[b"\x92\x01\xff", b"", b"\x90", b"\x91\xc0"]), &of).unwrap();
        assert_eq!((data.len, data.nulls), (4, 1));
        assert_eq!(ints(&data, 1), [0, 2, 2, 2, 3]);
        assert_eq!(data.buffers[0].as_ref().unwrap().get(), [0b1101]);
        let items = &data.children[0];
        assert_eq!((ints(items, 1), items.nulls), (vec![1, -1, 0], 1));
        assert_eq!(field("x", &of).unwrap().format.format_string(), "+l");
        for wrong in [
            &b"\x91"[..],
            b"\x91\xa1a",
            b"\x01",
            b"\x91\xce\xff\xff\xff\xff",
            b"\x91\xcb",
        ] {
            let e = export(&values(&[wrong]), &of).err().unwrap();
            assert_eq!(e.status, Status::Format, "{wrong:?}");
        }
    }

    #[test]
    fn structures() {
        let of = PackedType::Struct(vec![
            ("a".into(), PackedType::Float(4)),
            ("b".into(), PackedType::Text),
        ]);
        let one = b"\x82\xa1b\xa1x\xa1a\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00";
        let data = export(&values(&[one, b"\x81\xa1b\xc0", b""]), &of).unwrap();
        assert_eq!((data.len, data.nulls), (3, 1));
        let [a, b] = &data.children[..] else {
            panic!("{data:?}")
        };
        assert_eq!((a.nulls, b.nulls), (2, 2));
        assert_eq!(ints(a, 1)[0], 1.5f32.to_bits() as i32);
        assert_eq!(ints(b, 1), [0, 1, 1, 1]);
        for wrong in [
            &b"\x81\xa1c\xc0"[..],
            b"\x82\xa1b\xc0\xa1b\xc0",
            b"\x81\x01\xc0",
            b"\x81\xa1b\xa1\xff",
            // no number of 32 bits
            b"\x81\xa1a\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a",
        ] {
            let e = export(&values(&[wrong]), &of).err().unwrap();
            assert_eq!(e.status, Status::Format, "{wrong:?}");
        }
    }
}
