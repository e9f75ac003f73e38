//! The column of an Arrow batch: its types as a schema states them, and its values.
#![forbid(unsafe_code)]

use super::flatbuffer::FlatTable;
use super::{invalid, reserve};
use crate::dtype::packed::PackedType;
use crate::error::{Result, fail};
use crate::msgpack::{self, Token};

/// Maximum bytes before a value in MessagePack.
const MARKER: usize = 9;

/// How the values of a type are stored.
pub enum Layout {
    Null,
    Bool,
    Int {
        signed: bool,
        size: usize,
    },
    Float(usize),
    /// Texts or bytes, with offsets of some bytes.
    Variable {
        text: bool,
        width: usize,
    },
    /// Bytes of this length.
    Fixed(usize),
    /// Lists, with offsets of some bytes.
    Lists(usize, Box<Layout>),
    /// Lists of this length.
    Arrays(usize, Box<Layout>),
    Fields(Vec<(String, Layout)>),
}

impl Layout {
    /// Returns the layout of a field whose values have a type.
    pub fn of(field: &FlatTable, of: &PackedType) -> Result<Layout> {
        Layout::parse(field, of)
            .ok_or_else(invalid)?
            .ok_or_else(|| {
                let kind = field.u8(2).unwrap_or(0);
                fail!(
                    Unsupported,
                    "values of Arrow type {kind} (a number of its FlatBuffers schema) for {of}"
                )
            })
    }

    /// `None`: the bytes are invalid. `Some(None)`: values of another type.
    fn parse(field: &FlatTable, of: &PackedType) -> Option<Option<Layout>> {
        if field.has(4)? {
            return Some(None);
        }
        let kind = field.u8(2)?;
        let of_kind = field.table(3)?;
        let child = |of: &PackedType| Layout::parse(&field.table_in(5, 0)?, of);
        let number = |number: usize| of_kind.i32(number).and_then(|n| usize::try_from(n).ok());
        Some(Some(match (kind, of) {
            (1, _) => Layout::Null,
            (2, &PackedType::Int { signed, size }) => {
                if number(0)? != 8 * size || (of_kind.u8(1)? != 0) != signed {
                    return Some(None);
                }
                Layout::Int { signed, size }
            }
            (3, PackedType::Float(size)) => match (of_kind.i16(0)?, size) {
                (1, _) => Layout::Float(4),
                (2, 8) => Layout::Float(8),
                _ => return Some(None),
            },
            (4 | 19, PackedType::Bytes) | (5 | 20, PackedType::Text) => Layout::Variable {
                text: matches!(kind, 5 | 20),
                width: if kind > 5 { 8 } else { 4 },
            },
            (15, PackedType::Bytes) => Layout::Fixed(number(0)?),
            (6, PackedType::Bool) => Layout::Bool,
            (10, PackedType::Time(unit)) => {
                let units = ["s", "ms", "us", "ns"];
                let found = usize::try_from(of_kind.i16(0)?).ok();
                match found.and_then(|n| units.get(n)) {
                    Some(found) if found == unit => Layout::Int {
                        signed: true,
                        size: 8,
                    },
                    _ => return Some(None),
                }
            }
            (12 | 21, PackedType::List(item)) => match child(item)? {
                Some(items) => Layout::Lists(if kind == 12 { 4 } else { 8 }, Box::new(items)),
                None => return Some(None),
            },
            (16, PackedType::List(item)) => match child(item)? {
                Some(items) => Layout::Arrays(number(0)?, Box::new(items)),
                None => return Some(None),
            },
            (13, PackedType::Struct(fields)) => return Layout::parse_fields(field, fields),
            _ => return Some(None),
        }))
    }

    fn parse_fields(field: &FlatTable, of: &[(String, PackedType)]) -> Option<Option<Layout>> {
        let mut fields = Vec::new();
        for i in 0..field.table_count(5)? {
            let child = field.table_in(5, i)?;
            let name = std::str::from_utf8(child.vector(0, 1)?).ok()?;
            let known = of.iter().find(|(known, _)| known == name);
            let is_again = fields.iter().any(|(other, _)| other == name);
            let Some((_, of)) = known.filter(|_| !is_again) else {
                return Some(None);
            };
            match Layout::parse(&child, of)? {
                Some(layout) => fields.push((name.to_owned(), layout)),
                None => return Some(None),
            }
        }
        Some((fields.len() == of.len()).then_some(Layout::Fields(fields)))
    }
}

/// What is left of the nodes and buffers of a batch.
pub struct Body<'a> {
    /// The number of values and of nulls of each column, 16 bytes.
    pub nodes: &'a [u8],
    /// The position and length of each buffer, 16 bytes.
    pub buffers: &'a [u8],
    pub bytes: &'a [u8],
}

/// Removes two integers.
fn pair(rest: &mut &[u8]) -> Option<(usize, usize)> {
    let (first, after) = rest.split_first_chunk::<8>()?;
    let (second, after) = after.split_first_chunk::<8>()?;
    *rest = after;
    let integer = |bytes: &[u8; 8]| usize::try_from(i64::from_le_bytes(*bytes)).ok();
    Some((integer(first)?, integer(second)?))
}

impl<'a> Body<'a> {
    fn buffer(&mut self) -> Option<&'a [u8]> {
        let (at, n) = pair(&mut self.buffers)?;
        self.bytes.get(at..at.checked_add(n)?)
    }

    /// Removes a buffer of at least `n` items of some bytes.
    fn buffer_of(&mut self, n: usize, size: usize) -> Option<&'a [u8]> {
        let buffer = self.buffer()?;
        buffer.get(..n.checked_mul(size)?)
    }
}

/// Values.
pub struct Column<'a> {
    len: usize,
    /// A bit per value, 0 for a null, if there are nulls.
    valid: Option<&'a [u8]>,
    values: Values<'a>,
}

enum Values<'a> {
    Nulls,
    Bits(&'a [u8]),
    Ints(bool, usize, &'a [u8]),
    Floats(usize, &'a [u8]),
    Variable {
        text: bool,
        ends: Ends<'a>,
        bytes: &'a [u8],
    },
    Fixed(usize, &'a [u8]),
    Lists(Ends<'a>, Box<Column<'a>>),
    Arrays(usize, Box<Column<'a>>),
    Fields(Vec<(String, Column<'a>)>),
}

/// Offsets of some bytes, of which there is one more than values.
struct Ends<'a>(usize, &'a [u8]);

impl<'a> Column<'a> {
    /// Removes the nodes and buffers of a column from a batch.
    pub fn read(layout: &Layout, body: &mut Body<'a>) -> Result<Column<'a>> {
        Column::take(layout, body).ok_or_else(invalid)
    }

    fn take(layout: &Layout, body: &mut Body<'a>) -> Option<Column<'a>> {
        let (len, nulls) = pair(&mut body.nodes)?;
        if let Layout::Null = layout {
            return Some(Column {
                len,
                valid: None,
                values: Values::Nulls,
            });
        }
        let valid = body.buffer()?;
        let valid = match nulls {
            0 => None,
            _ => Some(valid.get(..len.div_ceil(8))?),
        };
        let ends = |width: usize, body: &mut Body<'a>| match len {
            0 => body.buffer().map(|_| Ends(width, &[])),
            _ => Some(Ends(width, body.buffer_of(len.checked_add(1)?, width)?)),
        };
        let values = match layout {
            Layout::Null => Values::Nulls,
            Layout::Bool => Values::Bits(body.buffer_of(len.div_ceil(8), 1)?),
            &Layout::Int { signed, size } => Values::Ints(signed, size, body.buffer_of(len, size)?),
            &Layout::Float(size) => Values::Floats(size, body.buffer_of(len, size)?),
            &Layout::Variable { text, width } => Values::Variable {
                text,
                ends: ends(width, body)?,
                bytes: body.buffer()?,
            },
            &Layout::Fixed(size) => Values::Fixed(size, body.buffer_of(len, size)?),
            Layout::Lists(width, items) => {
                let ends = ends(*width, body)?;
                Values::Lists(ends, Box::new(Column::take(items, body)?))
            }
            Layout::Arrays(n, items) => {
                let items = Column::take(items, body)?;
                if items.len < len.checked_mul(*n)? {
                    return None;
                }
                Values::Arrays(*n, Box::new(items))
            }
            Layout::Fields(fields) => {
                let field = |(name, layout): &(String, Layout)| {
                    let column = Column::take(layout, body)?;
                    (column.len >= len).then(|| (name.clone(), column))
                };
                Values::Fields(fields.iter().map(field).collect::<Option<_>>()?)
            }
        };
        Some(Column { len, valid, values })
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether a value is null.
    pub fn is_null(&self, i: usize) -> bool {
        let is_valid = |bits: &[u8]| bit(bits, i).unwrap_or(false);
        matches!(self.values, Values::Nulls) || self.valid.is_some_and(|bits| !is_valid(bits))
    }

    /// Appends value `i` in MessagePack to a value of at most `limit` bytes.
    pub fn put(&self, i: usize, limit: u64, out: &mut Vec<u8>) -> Result<()> {
        reserve(out, MARKER, limit)?;
        if self.is_null(i) {
            msgpack::put(out, Token::Nil);
            return Ok(());
        }
        match &self.values {
            Values::Lists(ends, items) => {
                let (from, to) = ends.get(i).ok_or_else(invalid)?;
                items.put_list(from, to, limit, out)
            }
            Values::Arrays(n, items) => {
                let from = i.saturating_mul(*n);
                items.put_list(from, from.saturating_add(*n), limit, out)
            }
            Values::Fields(fields) => {
                msgpack::put(out, Token::Map(fields.len() as u64));
                for (name, column) in fields {
                    reserve(out, name.len() + MARKER, limit)?;
                    msgpack::put(out, Token::Text(name.as_bytes()));
                    column.put(i, limit, out)?;
                }
                Ok(())
            }
            values => {
                let token = values.token(i).ok_or_else(invalid)?;
                if let Token::Text(bytes) | Token::Bytes(bytes) = token {
                    reserve(out, bytes.len() + MARKER, limit)?;
                }
                msgpack::put(out, token);
                Ok(())
            }
        }
    }

    fn put_list(&self, from: usize, to: usize, limit: u64, out: &mut Vec<u8>) -> Result<()> {
        if from > to || to > self.len {
            return Err(invalid());
        }
        // each item has a byte at least
        reserve(out, to - from, limit)?;
        msgpack::put(out, Token::Array((to - from) as u64));
        (from..to).try_for_each(|i| self.put(i, limit, out))
    }
}

impl<'a> Values<'a> {
    /// Returns a value that has no others. `None` if it is invalid.
    fn token(&self, i: usize) -> Option<Token<'a>> {
        let item = |size: usize, all: &'a [u8]| all.get(i * size..(i + 1) * size);
        Some(match self {
            Values::Bits(bits) => Token::Bool(bit(bits, i)?),
            &Values::Ints(signed, size, all) => {
                let n = integer(item(size, all)?);
                let unused = 64 - 8 * size as u32;
                match signed {
                    true => Token::Int(((n << unused) as i64) >> unused),
                    false => Token::Uint(n),
                }
            }
            &Values::Floats(4, all) => {
                Token::Float(f32::from_bits(integer(item(4, all)?) as u32).into())
            }
            &Values::Floats(size, all) => Token::Float(f64::from_bits(integer(item(size, all)?))),
            Values::Variable { text, ends, bytes } => {
                let (from, to) = ends.get(i)?;
                let bytes = bytes.get(from..to)?;
                match text {
                    true => std::str::from_utf8(bytes)
                        .ok()
                        .map(|_| Token::Text(bytes))?,
                    false => Token::Bytes(bytes),
                }
            }
            &Values::Fixed(size, all) => Token::Bytes(item(size, all)?),
            Values::Nulls | Values::Lists(..) | Values::Arrays(..) | Values::Fields(_) => {
                return None;
            }
        })
    }
}

impl Ends<'_> {
    /// Returns where value `i` begins and ends.
    fn get(&self, i: usize) -> Option<(usize, usize)> {
        let &Ends(width, all) = self;
        let offset = |i: usize| {
            let n = integer(all.get(i * width..(i + 1) * width)?);
            usize::try_from(n).ok()
        };
        Some((offset(i)?, offset(i + 1)?))
    }
}

fn bit(bits: &[u8], i: usize) -> Option<bool> {
    bits.get(i / 8).map(|byte| byte >> (i % 8) & 1 == 1)
}

/// Returns a little-endian integer of at most 8 bytes.
fn integer(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |all, b| all << 8 | u64::from(*b))
}
