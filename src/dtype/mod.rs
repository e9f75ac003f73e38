//! NumPy dtypes and their spellings.
//!
//! Three spellings occur: the type string (`<f8`, `|S5`, `<M8[ns]`), the name (`float64`,
//! `datetime64[ns]`), and a Python literal. The literal contains one of the former, or describes
//! fields: a list `[('a', '<i4'), ('b', '<f8', (2, 3))]`, a pair `('<f8', (2, 3))`, or a dictionary
//! of names, formats and offsets. JSON has the same structures with arrays in place of tuples.
//!
//! A dtype defines the size of an item and the meaning of its bytes. Python objects are opaque
//! here: their bytes are passed through unchanged.
#![forbid(unsafe_code)]

pub mod numpy_meta;
pub mod packed;
pub mod python_literal;

use self::python_literal::Literal;
use crate::error::{Error, Result, Status, fail};
use crate::json::Value;

/// The largest item in bytes, NumPy's limit.
const MAX_ITEM: usize = i32::MAX as usize;
/// The maximum number of dimensions, NumPy's limit.
const MAX_DIMENSIONS: usize = 64;
/// The longest dtype description in bytes that is parsed.
const MAX_TEXT: usize = 1 << 20;
/// The spelling of text of any length.
const TEXT: &str = "T";
/// Units of `datetime64` and `timedelta64`.
const UNITS: &[&str] = &[
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic",
];

/// A dtype and its spelling.
#[derive(Clone, Debug, PartialEq)]
pub struct Dtype {
    /// The spelling as found in the file; JSON structures are converted to a Python literal.
    pub spelling: String,
    /// The parsed type.
    pub item: Type,
}

/// The type of an item of an array or a column: what its bytes mean, and how many they are.
///
/// NumPy calls it a dtype. [`ItemType::parse`](Type::parse) takes the spellings of NumPy, and the
/// type is printed as `numpy.dtype` takes it.
///
/// ```
/// use holdall::{ItemKind, ItemType};
///
/// let point = ItemType::parse("[('x', '<f4'), ('t', '>M8[25s]'), ('rgb', '|u1', (3,))]")?;
/// assert_eq!(point.size, 15);
/// let ItemKind::Struct(fields) = &point.kind else { panic!("it has fields") };
/// assert_eq!((fields[1].name.as_str(), fields[1].offset), ("t", 4));
/// assert_eq!(fields[1].item.kind, ItemKind::Datetime("25s".to_owned()));
/// assert!(fields[1].item.big_endian);
/// assert_eq!(ItemType::parse("float64")?.to_string(), "<f8");
/// # Ok::<(), holdall::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The meaning of the bytes.
    pub kind: Kind,
    /// Whether the numbers are big-endian. Always `false` for types of single bytes.
    pub big_endian: bool,
    /// The size in bytes.
    pub size: usize,
}

/// The meaning of the bytes of an item.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Boolean, one byte with the value 0 or 1.
    Bool,
    /// Signed integer in two's complement.
    Int,
    /// Unsigned integer.
    Uint,
    /// Floating-point number. Those of 12 and 16 bytes are in most cases the 10-byte format of the
    /// x87.
    Float,
    /// Complex number: two floating-point numbers.
    Complex,
    /// Byte string, padded with zeros.
    Bytes,
    /// UCS-4 string, padded with zeros.
    Str,
    /// Opaque bytes.
    Void,
    /// 64-bit offset from 1970 in this unit (`ns`, `D`, `25s`; empty if the unit is generic).
    Datetime(String),
    /// 64-bit duration in this unit.
    Timedelta(String),
    /// A Python object. Its bytes are never interpreted.
    Object,
    /// UTF-8 text of any length. Only columns of CTables have such items; no spelling is parsed as
    /// this kind.
    Text,
    /// A structure of named fields.
    Struct(Vec<Field>),
    /// A subarray of items of one type, in C order.
    Array(Box<Type>, Vec<usize>),
}

/// A named field of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The title, NumPy's alternative name.
    pub title: Option<String>,
    /// The offset in the item in bytes.
    pub offset: usize,
    /// The type of the field.
    pub item: Type,
}

impl Dtype {
    /// Returns the type of UTF-8 text of any length.
    pub fn text() -> Dtype {
        Dtype {
            item: Type {
                kind: Kind::Text,
                big_endian: false,
                size: 0,
            },
            spelling: TEXT.to_owned(),
        }
    }

    /// Returns the type of items of any length, which have no size.
    pub fn of_any_length(mut self) -> Dtype {
        self.item.size = 0;
        self
    }

    /// Parses a spelling.
    pub fn parse(text: &str) -> Result<Dtype> {
        if text.len() > MAX_TEXT {
            return Err(fail!(
                Limit,
                "dtype: the text is too long (limit {MAX_TEXT} bytes, found {})",
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

    /// Like [`Dtype::parse`], for an argument of a caller. Invalid syntax is reported as an unknown
    /// type.
    pub fn parse_argument(text: &str) -> Result<Dtype> {
        if text == TEXT {
            return Ok(Dtype::text());
        }
        Dtype::parse(text).map_err(|e| {
            if e.status == Status::Format {
                fail!(Type, "dtype {text:?}: {}", e.message)
            } else {
                e
            }
        })
    }

    /// Returns an error that begins with `name` unless precision can be truncated: the items must be
    /// little-endian floats of 4 or 8 bytes. Blosc2 would clear other bits of other items.
    pub fn check_precision(&self, name: &str) -> Result<()> {
        let Type {
            kind,
            big_endian,
            size,
        } = &self.item;
        if *kind == Kind::Float && !big_endian && matches!(size, 4 | 8) {
            return Ok(());
        }
        Err(fail!(
            Argument,
            "{name}: precision can be truncated only for little-endian floats of 4 or 8 bytes (expected \"<f4\" or \"<f8\", found {:?})",
            self.spelling
        ))
    }

    /// Parses a dtype in JSON: a string, or lists in place of tuples.
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

    /// Returns the spelling that Bloscpack stores: a Python literal that `numpy.dtype` accepts.
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

    /// Returns the subarray type of this shape.
    pub(crate) fn in_shape(self, shape: &[u64]) -> Result<Type> {
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

    /// Returns whether the type is or contains items of variable length: Python objects, or text.
    pub fn has_objects(&self) -> bool {
        match &self.kind {
            Kind::Object | Kind::Text => true,
            Kind::Struct(fields) => fields.iter().any(|f| f.item.has_objects()),
            Kind::Array(of, _) => of.has_objects(),
            _ => false,
        }
    }

    /// Parses a Python literal.
    pub(crate) fn from_literal(literal: &Literal) -> Result<Type> {
        if let Some(text) = literal.text() {
            return Type::from_name(text);
        }
        match literal {
            Literal::Dict(items) => Type::from_dict(items),
            Literal::Tuple(parts) => Type::from_pair(parts),
            // A list that starts with text is a pair: JSON has no tuples.
            Literal::List(parts) if parts.first().is_some_and(|p| p.text().is_some()) => {
                Type::from_pair(parts)
            }
            Literal::List(parts) => Type::from_list(parts),
            other => Err(unknown(other)),
        }
    }

    /// Parses `(type, shape)`.
    fn from_pair(parts: &[Literal]) -> Result<Type> {
        match parts {
            [item, shape] => Type::from_literal(item)?.repeated(shape),
            _ => Err(fail!(
                Type,
                "dtype: invalid pair (expected type and shape, found {} elements)",
                parts.len()
            )),
        }
    }

    /// Returns the subarray type with the shape in a literal.
    fn repeated(self, shape: &Literal) -> Result<Type> {
        let wrong = || fail!(Type, "dtype: invalid shape {shape}");
        let unsized_text =
            self.size == 0 && matches!(self.kind, Kind::Bytes | Kind::Str | Kind::Void);
        let shape = match (shape.size(), shape.items()) {
            // NumPy takes the number as the length of the item.
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

    /// Parses `[(name, type), (name, type, shape), ((title, name), type)]`: consecutive fields.
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
                        "dtype: invalid field (expected name, type and optional shape, found {part})"
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

    /// Parses `{'names': [...], 'formats': [...], 'offsets': [...], 'titles': [...], 'itemsize':
    /// n}`. The last three members are optional.
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
                    v.items().ok_or_else(|| {
                        fail!(Type, "dtype: invalid {key} (expected a list, found {v})")
                    })
                })
                .transpose()
        };
        let missing = || {
            fail!(
                Type,
                "dtype: names and formats are required, and all lists must have the same length"
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
                "dtype: alignment without offsets is not supported; the layout depends on the machine"
            ));
        }
        let (mut fields, mut end) = (Vec::new(), 0usize);
        for (i, (name, format)) in names.iter().zip(formats).enumerate() {
            let item = Type::from_literal(format)?;
            let offset = match offsets.and_then(|o| o.get(i)) {
                None if offsets.is_none() => end,
                o => o
                    .and_then(Literal::size)
                    .ok_or_else(|| fail!(Type, "dtype: invalid offset of field {i}"))?,
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
                    "dtype: invalid itemsize (expected at least {end}, found {n})"
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
            return Err(fail!(Type, "dtype: duplicate field name {a:?}"));
        }
        Type::new(Kind::Struct(fields), false, size)
    }

    /// Parses a type string or a name.
    fn from_name(text: &str) -> Result<Type> {
        let text = text.trim();
        Type::named(text)
            .or_else(|| Type::from_code(text))
            .unwrap_or_else(|| Err(unknown(text)))
    }

    /// Parses a name such as `float64` or `datetime64[ns]`. Numbers in names are bits.
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

    /// Parses a type string such as `<f8`: byte order, letter, size in bytes. Without a byte order
    /// it is that of the writer, which is little-endian on all platforms that wrote these files.
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
            // The size of a pointer may follow.
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

    /// Returns the literal that `numpy.dtype` accepts for the type.
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
            Kind::Text => Literal::Str("T".to_owned()),
            Kind::Array(of, shape) => Literal::Tuple(vec![of.to_literal(), dimensions(shape)]),
            Kind::Struct(fields) if self.is_packed(fields) => {
                Literal::List(fields.iter().map(Field::to_literal).collect())
            }
            Kind::Struct(fields) => dictionary(fields, self.size),
        }
    }

    /// Returns whether the fields are consecutive and fill the item.
    fn is_packed(&self, fields: &[Field]) -> bool {
        let end = fields
            .iter()
            .try_fold(0, |at, f| (f.offset == at).then(|| at + f.item.size));
        end == Some(self.size)
    }
}

/// Formats the type as NumPy spells it: a type string such as `<f8`, or a Python literal.
impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.to_literal() {
            Literal::Str(code) => f.write_str(&code),
            literal => literal.fmt(f),
        }
    }
}

impl Field {
    /// Returns the field as an element of a list of fields.
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
            .ok_or_else(|| fail!(Type, "dtype: invalid field name {l}"))
    };
    let name = match text(name)? {
        // NumPy's default name.
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

/// Splits `name[unit]`. Returns `None` if the unit is unknown or a bracket is misplaced.
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
    fail!(Type, "dtype: unknown type {what}")
}

fn too_large() -> Error {
    fail!(
        Type,
        "dtype: the item exceeds the limit of {MAX_ITEM} bytes"
    )
}

#[cfg(test)]
mod tests;
