//! The schema of a CTable: JSON in the metalayer `schema` of its node `_meta`.
#![forbid(unsafe_code)]

use crate::dtype::Dtype;
use crate::dtype::packed::PackedType;
use crate::error::{Result, fail};
use crate::json::Value;
use crate::store::table_files::DICTIONARY;
use std::collections::HashSet;

/// Versions of the schema: 1; 2 with nested columns; 3 with masks of nulls.
const VERSIONS: [u64; 3] = [1, 2, 3];
/// Kinds of columns with items of fixed length, whose names are not those of NumPy dtypes.
const FIXED: [&str; 4] = ["string", "bytes", "bool", "ndarray"];

/// A column.
#[derive(Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The path of its node below `_cols`.
    pub path: String,
    /// How its values are stored.
    pub values: Values,
    /// How it marks nulls.
    pub nulls: Nulls,
    /// Whether it may have nulls.
    pub is_nullable: bool,
    /// Its member of the list of columns.
    pub entry: Value,
}

impl Field {
    /// Returns the paths of its nodes below `_cols` whose names other columns could have.
    pub fn nodes(&self) -> Vec<String> {
        let mut nodes = vec![self.path.clone()];
        if let Values::Texts(TextForm::Dictionary(_)) = self.values {
            nodes.push(format!("{}{DICTIONARY}", self.path));
        }
        nodes
    }
}

/// What is said of a column whose values python-blosc2 does not return before it computes them again.
const STALE: &str =
    "generated, and out of date (refresh_generated_column of python-blosc2 computes it again)";

/// How the values of a column are stored.
#[derive(Debug, PartialEq)]
pub enum Values {
    /// As items of the array.
    Items,
    /// As integers of 64 bits that are times with this unit.
    Times(String),
    /// As texts, or other values of any length.
    Texts(TextForm),
    /// In another form, which is named.
    Other(String),
}

/// How texts and other values of any length are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum TextForm {
    /// As offsets, and bytes.
    Utf8,
    /// In batches of MessagePack.
    Batches,
    /// As texts in batches, but any bytes.
    Bytes,
    /// As texts in batches, but lists, structures or any values.
    Packed(PackedType),
    /// As lists in MessagePack, each a chunk.
    Objects(PackedType),
    /// As lists in batches in Arrow's format, which are only read.
    Arrow(PackedType),
    /// As numbers of texts, of which this one marks nulls.
    Dictionary(i32),
}

impl TextForm {
    /// Returns whether the values are texts.
    pub fn is_text(&self) -> bool {
        match self {
            TextForm::Utf8 | TextForm::Batches | TextForm::Dictionary(_) => true,
            TextForm::Bytes | TextForm::Packed(_) | TextForm::Objects(_) | TextForm::Arrow(_) => {
                false
            }
        }
    }

    /// Returns the type of values in MessagePack.
    pub fn packed(&self) -> Option<&PackedType> {
        match self {
            TextForm::Packed(of) | TextForm::Objects(of) | TextForm::Arrow(of) => Some(of),
            TextForm::Utf8 | TextForm::Batches | TextForm::Bytes | TextForm::Dictionary(_) => None,
        }
    }
}

/// How a column marks nulls.
#[derive(Debug, PartialEq)]
pub enum Nulls {
    /// It has none.
    None,
    /// By a value.
    Value(Value),
    /// By a node with a mask: true where the value is not null.
    Mask,
}

impl Nulls {
    /// Returns the text that marks nulls in a column of texts.
    pub fn text(&self) -> Result<Option<Vec<u8>>> {
        match self {
            Nulls::Value(Value::String(text)) => Ok(Some(text.clone().into_bytes())),
            Nulls::Value(value) => Err(fail!(Format, "the null value {value} of texts")),
            Nulls::None | Nulls::Mask => Ok(None),
        }
    }
}

/// Parses a schema. Returns its columns in order, those that are computed last.
pub fn parse(text: &[u8]) -> Result<Vec<Field>> {
    let schema = Value::parse(text)?;
    let version = schema.get("version").map_or(Some(1), Value::as_u64);
    if !version.is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(fail!(
            Version,
            "the schema of the CTable has the version {version:?} (expected one of {VERSIONS:?})"
        ));
    }
    let Some(Value::Array(stored)) = schema.get("columns") else {
        return Err(fail!(
            Format,
            "the schema of the CTable has no list of columns"
        ));
    };
    let computed = match schema.get("computed_columns") {
        Some(Value::Array(computed)) => computed.as_slice(),
        _ => &[],
    };
    let stored = stored.iter().map(field);
    let mut fields = stored
        .chain(computed.iter().map(computed_field))
        .collect::<Result<Vec<_>>>()?;
    let stale = stale_columns(&schema);
    for field in &mut fields {
        if stale.contains(&*field.name) {
            field.values = Values::Other(STALE.to_owned());
        }
    }
    Ok(fields)
}

/// Returns the stored columns that are generated from others, which were changed since.
fn stale_columns(schema: &Value) -> HashSet<&str> {
    let Some(Value::Array(generated)) = schema.get("materialized_columns") else {
        return HashSet::new();
    };
    let stale = generated
        .iter()
        .filter(|of| of.get("stale") == Some(&Value::Bool(true)));
    stale
        .filter_map(|of| of.get("name").and_then(Value::as_str))
        .collect()
}

/// Returns a column whose values are not stored.
fn computed_field(column: &Value) -> Result<Field> {
    let Some(name) = column.get("name").and_then(Value::as_str) else {
        return Err(fail!(
            Format,
            "a computed column in the schema of the CTable has no name"
        ));
    };
    Ok(Field {
        name: name.to_owned(),
        path: path_of(name),
        values: Values::Other("computed".to_owned()),
        nulls: Nulls::None,
        is_nullable: false,
        entry: column.clone(),
    })
}

/// Parses a column.
pub fn field(column: &Value) -> Result<Field> {
    let text = |key| column.get(key).and_then(Value::as_str);
    let (Some(name), Some(kind)) = (text("name"), text("kind")) else {
        return Err(fail!(
            Format,
            "a column in the schema of the CTable has no name or kind"
        ));
    };
    if has_empty_part(name) {
        return Err(fail!(
            Format,
            "column {name:?}: an empty part of the name before or after a dot"
        ));
    }
    let values = match kind {
        "timestamp" => match text("unit") {
            Some(unit @ ("s" | "ms" | "us" | "ns")) => Values::Times(unit.to_owned()),
            unit => {
                return Err(fail!(
                    Format,
                    "column {name:?}: the unit {unit:?} of a timestamp"
                ));
            }
        },
        "utf8" => Values::Texts(TextForm::Utf8),
        "vlstring" => Values::Texts(TextForm::Batches),
        "vlbytes" => Values::Texts(TextForm::Bytes),
        "dictionary" => match column.get("null_code") {
            None => Values::Texts(TextForm::Dictionary(-1)),
            Some(Value::Int(code)) if i32::try_from(*code).is_ok() => {
                Values::Texts(TextForm::Dictionary(*code as i32))
            }
            Some(code) => return Err(fail!(Format, "column {name:?}: the null code {code}")),
        },
        "list" | "struct" | "object" => match packed_type(column).and_then(|of| form(column, of)) {
            Some(form) => Values::Texts(form),
            None => Values::Other(kind.to_owned()),
        },
        kind if FIXED.contains(&kind) || is_number(kind) => Values::Items,
        kind => Values::Other(kind.to_owned()),
    };
    let nulls = match (text("null_storage"), column.get("null_value")) {
        (Some("mask"), _) => Nulls::Mask,
        (_, Some(value)) if *value != Value::Null => Nulls::Value(value.clone()),
        _ => Nulls::None,
    };
    Ok(Field {
        name: name.to_owned(),
        path: path_of(name),
        values,
        is_nullable: column.get("nullable") == Some(&Value::Bool(true)) || nulls != Nulls::None,
        nulls,
        entry: column.clone(),
    })
}

/// Returns how values of a type are stored, if that is a form which is read.
fn form(column: &Value, of: PackedType) -> Option<TextForm> {
    let text = |key| column.get(key).and_then(Value::as_str);
    let serializer = text("serializer").unwrap_or("msgpack");
    match (text("storage").unwrap_or("batch"), serializer) {
        ("batch", "msgpack") => Some(TextForm::Packed(of)),
        ("vl", "msgpack") => Some(TextForm::Objects(of)),
        ("batch", "arrow") => Some(TextForm::Arrow(of)),
        _ => None,
    }
}

/// Returns the type that a schema describes, if values of it are read.
fn packed_type(schema: &Value) -> Option<PackedType> {
    let int = |signed, size| Some(PackedType::Int { signed, size });
    let text = |key| schema.get(key).and_then(Value::as_str);
    match text("kind")? {
        "bool" => Some(PackedType::Bool),
        "int8" => int(true, 1),
        "int16" => int(true, 2),
        "int32" => int(true, 4),
        "int64" => int(true, 8),
        "uint8" => int(false, 1),
        "uint16" => int(false, 2),
        "uint32" => int(false, 4),
        "uint64" => int(false, 8),
        "float32" => Some(PackedType::Float(4)),
        "float64" => Some(PackedType::Float(8)),
        "string" | "utf8" | "vlstring" | "dictionary" => Some(PackedType::Text),
        "bytes" | "vlbytes" => Some(PackedType::Bytes),
        "object" => Some(PackedType::Any),
        "timestamp" => {
            let unit = text("unit").filter(|unit| ["s", "ms", "us", "ns"].contains(unit))?;
            Some(PackedType::Time(unit.to_owned()))
        }
        "list" => Some(PackedType::List(Box::new(packed_type(
            schema.get("item")?,
        )?))),
        "struct" => {
            let Value::Array(fields) = schema.get("fields")? else {
                return None;
            };
            let field = |field: &Value| {
                let name = field.get("name").and_then(Value::as_str)?;
                Some((name.to_owned(), packed_type(field)?))
            };
            fields
                .iter()
                .map(field)
                .collect::<Option<_>>()
                .map(PackedType::Struct)
        }
        _ => None,
    }
}

/// Returns whether a kind is the name of a NumPy dtype of numbers, such as "int64".
fn is_number(kind: &str) -> bool {
    let letters = ["int", "uint", "float", "complex"];
    let is_name = |prefix: &&str| {
        kind.strip_prefix(*prefix)
            .is_some_and(|bits| matches!(bits, "8" | "16" | "32" | "64" | "128"))
    };
    letters.iter().any(is_name)
}

/// Returns whether a name has a part of which no node can have the name.
pub fn has_empty_part(name: &str) -> bool {
    path_of(name).split('/').any(str::is_empty)
}

/// Returns the path of the node of a column below `_cols`: unescaped dots separate steps, and
/// characters that are special in paths are percent-encoded.
pub fn path_of(name: &str) -> String {
    let mut path = String::new();
    let mut characters = name.chars();
    while let Some(c) = characters.next() {
        let literal = match c {
            '.' => {
                path.push('/');
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            c => c,
        };
        match literal {
            '%' => path.push_str("%25"),
            '/' => path.push_str("%2F"),
            '.' => path.push_str("%2E"),
            '\\' => path.push_str("%5C"),
            c => path.push(c),
        }
    }
    path
}

/// Returns the bytes of an item that marks nulls. `None`: NaN, of any bits.
pub fn null_item(value: &Value, dtype: &Dtype) -> Result<Option<Vec<u8>>> {
    use crate::dtype::Kind;
    let item = &dtype.item;
    let wrong = || {
        fail!(
            Format,
            "the null value {value} does not fit the dtype {}",
            dtype.spelling
        )
    };
    let integer = |n: i128, is_signed: bool| {
        let bits = item.size as u32 * 8;
        let (low, high) = match is_signed {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        let bytes = n.to_le_bytes();
        let bytes = bytes.get(..item.size).filter(|_| (low..=high).contains(&n));
        bytes.map(<[u8]>::to_vec).ok_or_else(wrong)
    };
    let mut bytes = match (&item.kind, value) {
        (Kind::Float, Value::Float(x)) if x.is_nan() => return Ok(None),
        (Kind::Float, Value::Float(_) | Value::Int(_)) => {
            let x = match value {
                Value::Float(x) => *x,
                Value::Int(n) => *n as f64,
                _ => return Err(wrong()),
            };
            match item.size {
                4 => (x as f32).to_le_bytes().to_vec(),
                8 => x.to_le_bytes().to_vec(),
                _ => return Err(wrong()),
            }
        }
        (Kind::Int | Kind::Datetime(_), Value::Int(n)) => integer(*n, true)?,
        (Kind::Uint, Value::Int(n)) => integer(*n, false)?,
        (Kind::Str, Value::String(text)) => {
            let mut bytes: Vec<u8> = text
                .chars()
                .flat_map(|c| u32::from(c).to_le_bytes())
                .collect();
            if bytes.len() > item.size {
                return Err(wrong());
            }
            bytes.resize(item.size, 0);
            bytes
        }
        _ => {
            return Err(fail!(
                Unsupported,
                "the null value {value} of the dtype {}",
                dtype.spelling
            ));
        }
    };
    if item.big_endian {
        let unit = if matches!(item.kind, Kind::Str) {
            4
        } else {
            item.size
        };
        bytes.chunks_mut(unit).for_each(<[u8]>::reverse);
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let text = br#"{"version": 3, "columns": [
            {"name": "x", "kind": "int64", "default": 0, "null_value": -1},
            {"name": "a.b\\.c/d", "kind": "string", "max_length": 4},
            {"name": "t", "kind": "timestamp", "unit": "us", "null_storage": "mask"},
            {"name": "l", "kind": "list", "item": {"kind": "complex64"}}, {"name": "b", "kind": "vlbytes"}],
            "computed_columns": [{"name": "c", "kind": "expression", "expression": "x + 1"}]}"#;
        let nested = br#"{"columns": [
            {"name": "a", "kind": "list", "item": {"kind": "struct", "fields": [
                {"name": "s", "kind": "float32"}, {"name": "t", "kind": "timestamp", "unit": "s"}]}},
            {"name": "b", "kind": "list", "item": {"kind": "int8"}, "serializer": "arrow"},
            {"name": "c", "kind": "list", "item": {"kind": "int8"}, "storage": "vl"},
            {"name": "d", "kind": "list", "item": {"kind": "int8"}, "serializer": "other"},
            {"name": "e", "kind": "object", "serializer": "msgpack"}]}"#;
        let fields = parse(nested).unwrap();
        let item = PackedType::Struct(vec![
            ("s".into(), PackedType::Float(4)),
            ("t".into(), PackedType::Time("s".into())),
        ]);
        let list = PackedType::List(Box::new(item));
        assert_eq!(fields[0].values, Values::Texts(TextForm::Packed(list)));
        let int = PackedType::Int {
            signed: true,
            size: 1,
        };
        let list = PackedType::List(Box::new(int));
        let forms: Vec<&Values> = fields[1..].iter().map(|field| &field.values).collect();
        let expected = [
            &Values::Texts(TextForm::Arrow(list.clone())),
            &Values::Texts(TextForm::Objects(list)),
            &Values::Other("list".into()),
            &Values::Texts(TextForm::Packed(PackedType::Any)),
        ];
        assert_eq!(forms, expected);
        let fields = parse(text).unwrap();
        let paths: Vec<&str> = fields.iter().map(|f| &*f.path).collect();
        assert_eq!(paths, ["x", "a/b%2Ec%2Fd", "t", "l", "b", "c"]);
        assert_eq!(fields[0].nulls, Nulls::Value(Value::Int(-1)));
        assert_eq!(fields[2].values, Values::Times("us".into()));
        assert_eq!(
            (&fields[2].nulls, &fields[1].nulls),
            (&Nulls::Mask, &Nulls::None)
        );
        assert_eq!(fields[3].values, Values::Other("list".into()));
        assert_eq!(fields[4].values, Values::Texts(TextForm::Bytes));
        assert_eq!(fields[5].values, Values::Other("computed".into()));
        for wrong in [
            "[]",
            "{}",
            r#"{"version": 4, "columns": []}"#,
            r#"{"columns": [{"name": "x"}]}"#,
            r#"{"columns": [], "computed_columns": [1]}"#,
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn null_values() {
        let bytes = |json: &str, dtype: &str| {
            null_item(
                &Value::parse(json.as_bytes()).unwrap(),
                &Dtype::parse(dtype).unwrap(),
            )
        };
        assert_eq!(bytes("-1", "<i2").unwrap(), Some(vec![0xff, 0xff]));
        assert_eq!(bytes("-2", ">i2").unwrap(), Some(vec![0xff, 0xfe]));
        assert_eq!(bytes("255", "|u1").unwrap(), Some(vec![0xff]));
        assert_eq!(bytes("NaN", "<f8").unwrap(), None);
        assert_eq!(
            bytes("1", "<f4").unwrap(),
            Some(1f32.to_le_bytes().to_vec())
        );
        assert_eq!(
            bytes("\"a\"", "<U2").unwrap(),
            Some(vec![97, 0, 0, 0, 0, 0, 0, 0])
        );
        for (json, dtype) in [
            ("256", "|u1"),
            ("-129", "|i1"),
            ("\"abc\"", "<U2"),
            ("[]", "<i4"),
        ] {
            assert!(bytes(json, dtype).is_err(), "{json} {dtype}");
        }
    }
}
