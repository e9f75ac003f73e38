//! NumPy's types, as the tools spell them.
//!
//! Three spellings are met: the type string (`<f8`, `|S5`, `<M8[ns]`), the name (`float64`,
//! `datetime64[ns]`), and a Python constant that holds either, or describes fields: a list
//! `[('a', '<i4'), ('b', '<f8', (2, 3))]`, a pair `('<f8', (2, 3))`, or a dictionary of names,
//! formats and offsets. What JSON holds is the same with arrays for tuples.
//!
//! A type says how long an item is and what its bytes mean. Objects have no meaning here: their
//! bytes are Python's, and stay as they are.
#![forbid(unsafe_code)]

use super::python_literal::Literal;
use crate::error::{Error, Result, Status, fail};
use crate::json::Value;

/// The largest item, NumPy's limit.
const MAX_ITEM: usize = i32::MAX as usize;
/// The most dimensions, NumPy's limit.
const MAX_DIMENSIONS: usize = 64;
/// The longest description that is read.
const MAX_TEXT: usize = 1 << 20;
/// Units of times.
const UNITS: &[&str] = &[
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic",
];

/// A type, and how it was spelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Dtype {
    /// As it was found: text as it is, JSON in other forms as a Python constant.
    pub spelling: String,
    /// What it means.
    pub item: Type,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// What its bytes mean.
    pub kind: Kind,
    /// Are its numbers big-endian? Never where a byte or a character of 8 bits is all there is.
    pub big_endian: bool,
    /// Its bytes.
    pub size: usize,
}

/// What the bytes of an item mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// 0 or 1, one byte.
    Bool,
    /// Whole numbers, two's complement.
    Int,
    /// Whole numbers that are not negative.
    Uint,
    /// Floating-point numbers; those of 12 and 16 bytes are the 10 bytes of x87, in most cases.
    Float,
    /// Two of those.
    Complex,
    /// Bytes, filled up with zeros.
    Bytes,
    /// Characters of 4 bytes, filled up with zeros.
    Str,
    /// Bytes without a meaning.
    Void,
    /// 64 bits since 1970, in this unit (`ns`, `D`, `25s`; empty for none).
    Datetime(String),
    /// 64 bits in this unit.
    Timedelta(String),
    /// Something of Python's. Never looked into.
    Object,
    /// Named parts.
    Struct(Vec<Field>),
    /// Items of one type, in C order.
    Array(Box<Type>, Vec<usize>),
}

/// A named part of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its other name.
    pub title: Option<String>,
    /// Where in the item it begins.
    pub offset: usize,
    /// What it is.
    pub item: Type,
}

impl Dtype {
    /// The type that is spelled like this.
    pub fn parse(text: &str) -> Result<Dtype> {
        if text.len() > MAX_TEXT {
            return Err(fail!(
                Limit,
                "dtype of {} bytes: at most {MAX_TEXT} are read",
                text.len()
            ));
        }
        let is_constant =
            text.contains(['\'', '"', '(', '{']) || text.trim_start().starts_with('[');
        let item = if is_constant {
            Type::from_literal(&Literal::parse(text)?)?
        } else {
            Type::from_name(text)?
        };
        Ok(Dtype {
            spelling: text.to_owned(),
            item,
        })
    }

    /// As [`Dtype::parse`], of what a caller wants: text that is none is a type that is not known.
    pub fn wanted(text: &str) -> Result<Dtype> {
        Dtype::parse(text).map_err(|e| {
            if e.status == Status::Format {
                fail!(Type, "dtype {text:?}: {}", e.message)
            } else {
                e
            }
        })
    }

    /// The type in a JSON value: text, or lists in place of tuples.
    pub fn from_json(value: &Value) -> Result<Dtype> {
        if let Value::String(text) = value {
            return Dtype::parse(text);
        }
        let item = Type::from_literal(&Literal::from_json(value)?)?;
        Ok(Dtype {
            spelling: item.to_literal().to_string(),
            item,
        })
    }

    /// As Bloscpack writes it into its metadata: a Python constant, which `numpy.dtype` takes.
    pub fn to_python_literal(&self) -> String {
        self.item.to_literal().to_string()
    }
}

impl Type {
    fn new(kind: Kind, big_endian: bool, size: usize) -> Result<Type> {
        if size > MAX_ITEM {
            return Err(too_large());
        }
        Ok(Type {
            kind,
            big_endian,
            size,
        })
    }

    /// An array of it.
    pub fn in_shape(self, shape: &[u64]) -> Result<Type> {
        let shape: Vec<usize> = shape
            .iter()
            .map(|n| usize::try_from(*n).map_err(|_| too_large()))
            .collect::<Result<_>>()?;
        let size = shape
            .iter()
            .try_fold(self.size, |size, n| size.checked_mul(*n))
            .ok_or_else(too_large)?;
        Type::new(Kind::Array(Box::new(self), shape), false, size)
    }

    /// Does it hold objects of Python's?
    pub fn has_objects(&self) -> bool {
        match &self.kind {
            Kind::Object => true,
            Kind::Struct(fields) => fields.iter().any(|f| f.item.has_objects()),
            Kind::Array(of, _) => of.has_objects(),
            _ => false,
        }
    }

    /// From a constant.
    pub fn from_literal(literal: &Literal) -> Result<Type> {
        if let Some(text) = literal.text() {
            return Type::from_name(text);
        }
        match literal {
            Literal::Dict(items) => Type::from_dict(items),
            Literal::Tuple(parts) => Type::from_pair(parts),
            // JSON has no tuples
            Literal::List(parts) if parts.first().is_some_and(|p| p.text().is_some()) => {
                Type::from_pair(parts)
            }
            Literal::List(parts) => Type::from_list(parts),
            other => Err(unknown(other)),
        }
    }

    /// `(type, shape)`.
    fn from_pair(parts: &[Literal]) -> Result<Type> {
        match parts {
            [item, shape] => Type::from_literal(item)?.repeated(shape),
            _ => Err(fail!(
                Type,
                "dtype: a pair of type and shape was expected, there are {} parts",
                parts.len()
            )),
        }
    }

    /// That many of it.
    fn repeated(self, shape: &Literal) -> Result<Type> {
        let wrong = || fail!(Type, "dtype: {shape} is no shape");
        let unsized_text =
            self.size == 0 && matches!(self.kind, Kind::Bytes | Kind::Str | Kind::Void);
        let shape = match (shape.size(), shape.items()) {
            // then NumPy takes the number for the length
            (Some(n), _) if unsized_text => {
                let unit = if self.kind == Kind::Str { 4 } else { 1 };
                return Type::new(self.kind, self.big_endian, n.saturating_mul(unit));
            }
            (Some(n), _) => vec![n],
            (_, Some([])) => return Ok(self),
            (_, Some(items)) if items.len() <= MAX_DIMENSIONS => items
                .iter()
                .map(|n| n.size().ok_or_else(wrong))
                .collect::<Result<_>>()?,
            _ => return Err(wrong()),
        };
        let size = shape
            .iter()
            .try_fold(self.size, |size, n| size.checked_mul(*n))
            .ok_or_else(too_large)?;
        Type::new(Kind::Array(Box::new(self), shape), false, size)
    }

    /// `[(name, type), (name, type, shape), ((title, name), type)]`: parts one behind the other.
    fn from_list(parts: &[Literal]) -> Result<Type> {
        let mut fields = Vec::new();
        let mut offset = 0usize;
        for (i, part) in parts.iter().enumerate() {
            let (name, item, shape) = match part.items() {
                Some([name, item]) => (name, item, None),
                Some([name, item, shape]) => (name, item, Some(shape)),
                _ => {
                    return Err(fail!(
                        Type,
                        "dtype: a field of name, type and maybe shape was expected, {part} is there"
                    ));
                }
            };
            let item = Type::from_literal(item)?;
            let item = shape.map_or(Ok(item.clone()), |shape| item.repeated(shape))?;
            let (title, name) = match name.items() {
                Some([title, name]) => (Some(title), name),
                _ => (None, name),
            };
            let end = offset.checked_add(item.size).ok_or_else(too_large)?;
            fields.push(field(name, title, i, offset, item)?);
            offset = end;
        }
        Type::from_fields(fields, offset)
    }

    /// `{'names': [...], 'formats': [...], 'offsets': [...], 'titles': [...], 'itemsize': n}`, the
    /// latter three maybe.
    fn from_dict(items: &[(Literal, Literal)]) -> Result<Type> {
        let get = |key: &str| {
            items
                .iter()
                .find(|(k, _)| k.text() == Some(key))
                .map(|(_, v)| v)
        };
        let list = |key: &str| {
            get(key)
                .map(|v| {
                    v.items()
                        .ok_or_else(|| fail!(Type, "dtype: {key} should be a list, and is {v}"))
                })
                .transpose()
        };
        let missing = || {
            fail!(
                Type,
                "dtype: names and formats were expected, as many of the one as of the other"
            )
        };
        let (Some(names), Some(formats)) = (list("names")?, list("formats")?) else {
            return Err(missing());
        };
        let (offsets, titles) = (list("offsets")?, list("titles")?);
        let as_many = |l: Option<&[Literal]>| l.is_none_or(|l| l.len() == names.len());
        if !as_many(Some(formats)) || !as_many(offsets) || !as_many(titles) {
            return Err(missing());
        }
        if get("aligned").is_some_and(|v| *v == Literal::Bool(true)) && offsets.is_none() {
            return Err(fail!(
                Unsupported,
                "dtype: alignment without offsets depends on the machine"
            ));
        }
        let (mut fields, mut end) = (Vec::new(), 0usize);
        for (i, (name, format)) in names.iter().zip(formats).enumerate() {
            let item = Type::from_literal(format)?;
            let offset = match offsets.and_then(|o| o.get(i)) {
                None if offsets.is_none() => end,
                o => o
                    .and_then(Literal::size)
                    .ok_or_else(|| fail!(Type, "dtype: the offset of field {i} is no number"))?,
            };
            end = end.max(offset.checked_add(item.size).ok_or_else(too_large)?);
            let title = titles
                .and_then(|t| t.get(i))
                .filter(|t| **t != Literal::None);
            fields.push(field(name, title, i, offset, item)?);
        }
        match get("itemsize") {
            None => Type::from_fields(fields, end),
            Some(n) => match n.size().filter(|n| *n >= end) {
                Some(n) => Type::from_fields(fields, n),
                None => Err(fail!(
                    Type,
                    "dtype: fields end at byte {end}, the item should have {n}"
                )),
            },
        }
    }

    fn from_fields(fields: Vec<Field>, size: usize) -> Result<Type> {
        let mut names: Vec<&str> = fields
            .iter()
            .flat_map(|f| [Some(f.name.as_str()), f.title.as_deref()])
            .flatten()
            .collect();
        names.sort_unstable();
        if let Some((a, _)) = names.iter().zip(names.iter().skip(1)).find(|(a, b)| a == b) {
            return Err(fail!(Type, "dtype: two fields have the name {a:?}"));
        }
        Type::new(Kind::Struct(fields), false, size)
    }

    /// From a type string or a name.
    fn from_name(text: &str) -> Result<Type> {
        let text = text.trim();
        Type::named(text)
            .or_else(|| Type::from_code(text))
            .unwrap_or_else(|| Err(unknown(text)))
    }

    /// `float64`, `datetime64[ns]`. Numbers in names are bits.
    fn named(text: &str) -> Option<Result<Type>> {
        let code = match split_unit(text)? {
            ("datetime64", unit) => {
                return Some(Type::new(
                    Kind::Datetime(unit.unwrap_or("").into()),
                    false,
                    8,
                ));
            }
            ("timedelta64", unit) => {
                return Some(Type::new(
                    Kind::Timedelta(unit.unwrap_or("").into()),
                    false,
                    8,
                ));
            }
            (_, Some(_)) => return None,
            ("bool" | "bool_" | "?", _) => "b1",
            ("int8", _) => "i1",
            ("int16", _) => "i2",
            ("int32", _) => "i4",
            ("int64", _) => "i8",
            ("uint8", _) => "u1",
            ("uint16", _) => "u2",
            ("uint32", _) => "u4",
            ("uint64", _) => "u8",
            ("float16", _) => "f2",
            ("float32", _) => "f4",
            ("float64" | "float", _) => "f8",
            ("float96", _) => "f12",
            ("float128", _) => "f16",
            ("complex64", _) => "c8",
            ("complex128" | "complex", _) => "c16",
            ("complex192", _) => "c24",
            ("complex256", _) => "c32",
            ("object" | "object_", _) => "O",
            _ => return None,
        };
        Type::from_code(code)
    }

    /// `<f8`: byte order, letter, bytes. Without a byte order it is that of the writer, which is
    /// little-endian wherever these files were written.
    fn from_code(text: &str) -> Option<Result<Type>> {
        let big_endian = text.starts_with('>');
        let (code, unit) = split_unit(text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text))?;
        let mut digits = code.chars();
        let letter = digits.next()?;
        let digits = digits.as_str();
        if !digits.bytes().all(|b| b.is_ascii_digit()) || (unit.is_some() && !"Mm".contains(letter))
        {
            return None;
        }
        let n = if digits.is_empty() {
            None
        } else {
            Some(digits.parse().unwrap_or(usize::MAX))
        };
        let unit = unit.unwrap_or("").to_owned();
        let (kind, sizes): (Kind, &[usize]) = match letter {
            'b' => (Kind::Bool, &[1]),
            'i' => (Kind::Int, &[1, 2, 4, 8]),
            'u' => (Kind::Uint, &[1, 2, 4, 8]),
            'f' => (Kind::Float, &[2, 4, 8, 12, 16]),
            'c' => (Kind::Complex, &[8, 16, 24, 32]),
            'M' => (Kind::Datetime(unit), &[8]),
            'm' => (Kind::Timedelta(unit), &[8]),
            // with or without the bytes of a pointer
            'O' => return Some(Type::new(Kind::Object, false, 8)),
            'S' | 'a' => return Some(Type::new(Kind::Bytes, false, n.unwrap_or(0))),
            'V' => return Some(Type::new(Kind::Void, false, n.unwrap_or(0))),
            'U' => {
                return Some(Type::new(
                    Kind::Str,
                    big_endian,
                    n.unwrap_or(0).saturating_mul(4),
                ));
            }
            _ => return None,
        };
        let size = n.filter(|n| sizes.contains(n))?;
        Some(Type::new(kind, big_endian && size > 1, size))
    }

    /// The constant that `numpy.dtype` takes for it.
    fn to_literal(&self) -> Literal {
        let code = |letter: char, n: usize| {
            let order = match (self.big_endian, letter) {
                (_, 'b' | 'S' | 'V' | 'O') => '|',
                (_, 'i' | 'u') if n == 1 => '|',
                (true, _) => '>',
                (false, _) => '<',
            };
            let n = if letter == 'O' {
                String::new()
            } else {
                n.to_string()
            };
            Literal::Str(format!("{order}{letter}{n}"))
        };
        let time = |letter: char, unit: &str| match code(letter, 8) {
            Literal::Str(s) if !unit.is_empty() => Literal::Str(format!("{s}[{unit}]")),
            plain => plain,
        };
        match &self.kind {
            Kind::Bool => code('b', 1),
            Kind::Int => code('i', self.size),
            Kind::Uint => code('u', self.size),
            Kind::Float => code('f', self.size),
            Kind::Complex => code('c', self.size),
            Kind::Bytes => code('S', self.size),
            Kind::Str => code('U', self.size / 4),
            Kind::Void => code('V', self.size),
            Kind::Datetime(unit) => time('M', unit),
            Kind::Timedelta(unit) => time('m', unit),
            Kind::Object => code('O', 0),
            Kind::Array(of, shape) => Literal::Tuple(vec![of.to_literal(), dimensions(shape)]),
            Kind::Struct(fields) if self.is_packed(fields) => {
                Literal::List(fields.iter().map(Field::to_literal).collect())
            }
            Kind::Struct(fields) => dictionary(fields, self.size),
        }
    }

    /// Do the fields stand one behind the other, to the end?
    fn is_packed(&self, fields: &[Field]) -> bool {
        let end = fields
            .iter()
            .try_fold(0, |at, f| (f.offset == at).then(|| at + f.item.size));
        end == Some(self.size)
    }
}

impl Field {
    /// As a part of a list.
    fn to_literal(&self) -> Literal {
        let text = |s: &String| Literal::Str(s.clone());
        let name = match &self.title {
            None => text(&self.name),
            Some(title) => Literal::Tuple(vec![text(title), text(&self.name)]),
        };
        Literal::Tuple(match &self.item.kind {
            Kind::Array(of, shape) => vec![name, of.to_literal(), dimensions(shape)],
            _ => vec![name, self.item.to_literal()],
        })
    }
}

fn dimensions(shape: &[usize]) -> Literal {
    Literal::Tuple(
        shape
            .iter()
            .map(|n| Literal::Int(i64::try_from(*n).unwrap_or(i64::MAX)))
            .collect(),
    )
}

fn dictionary(fields: &[Field], size: usize) -> Literal {
    let int = |n: usize| Literal::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let text = |s: &String| Literal::Str(s.clone());
    let list = |f: &dyn Fn(&Field) -> Literal| Literal::List(fields.iter().map(f).collect());
    let mut items = vec![
        ("names", list(&|f| text(&f.name))),
        ("formats", list(&|f| f.item.to_literal())),
        ("offsets", list(&|f| int(f.offset))),
    ];
    if fields.iter().any(|f| f.title.is_some()) {
        items.push((
            "titles",
            list(&|f| f.title.as_ref().map_or(Literal::None, text)),
        ));
    }
    items.push(("itemsize", int(size)));
    Literal::Dict(
        items
            .into_iter()
            .map(|(k, v)| (Literal::Str(k.into()), v))
            .collect(),
    )
}

fn field(
    name: &Literal,
    title: Option<&Literal>,
    i: usize,
    offset: usize,
    item: Type,
) -> Result<Field> {
    let text = |l: &Literal| {
        l.text()
            .map(str::to_owned)
            .ok_or_else(|| fail!(Type, "dtype: {l} is no name of a field"))
    };
    let name = match text(name)? {
        // as NumPy has it
        none if none.is_empty() => format!("f{i}"),
        name => name,
    };
    Ok(Field {
        name,
        title: title.map(text).transpose()?,
        offset,
        item,
    })
}

/// `name[unit]` taken apart; nothing where the unit is none, or brackets are where they should not
/// be.
fn split_unit(text: &str) -> Option<(&str, Option<&str>)> {
    let Some((name, unit)) = text.split_once('[') else {
        return Some((text, None));
    };
    let unit = unit.strip_suffix(']')?;
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = unit.len() - letters.len();
    (UNITS.contains(&letters) && count < 10).then_some((name, Some(unit)))
}

fn unknown(what: impl std::fmt::Display) -> Error {
    fail!(Type, "dtype: {what} is none that is known")
}

fn too_large() -> Error {
    fail!(Type, "dtype: an item of more than {MAX_ITEM} bytes")
}

#[cfg(test)]
mod tests;
