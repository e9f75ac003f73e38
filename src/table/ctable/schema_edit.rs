//! Changes of the schema of a CTable: JSON, of which unknown members stay.
#![forbid(unsafe_code)]

use super::batch_writer::BATCH_ROWS;
use crate::dtype::packed::PackedType;
use crate::dtype::{Dtype, Kind, Type};
use crate::error::{Error, Result, fail};
use crate::json::Value;
use crate::slice::SliceExt;
use crate::table::NullRule;
use crate::table::write::NewColumn;

/// A column to be added.
pub struct NewField {
    /// Its member of the list of columns.
    pub entry: Value,
    /// The dtype of its array.
    pub stored: String,
    /// The shape of one of its rows.
    pub row: Vec<u64>,
    /// Whether a mask marks its nulls.
    pub has_mask: bool,
}

/// Version of a schema with masks of nulls.
const WITH_MASKS: i128 = 3;
/// Maximum length of texts in lists and structures, as python-blosc2 states it for those of Arrow.
const MAX_LENGTH: i128 = 1_000_000;

/// Returns the schema of a table without columns.
pub fn empty() -> Value {
    let version = ("version".to_owned(), Value::Int(1));
    Value::Object(vec![
        version,
        ("columns".to_owned(), Value::Array(Vec::new())),
    ])
}

/// Sets a member.
pub fn set(schema: &mut Value, name: &str, value: Value) {
    if let Some(old) = schema.get_mut(name) {
        *old = value;
    } else if let Value::Object(members) = schema {
        members.push((name.to_owned(), value));
    }
}

/// States that a column has a mask of nulls.
pub fn set_version_with_masks(schema: &mut Value) {
    set(schema, "version", Value::Int(WITH_MASKS));
}

/// Returns the columns.
pub fn columns(schema: &mut Value) -> Result<&mut Vec<Value>> {
    match schema.get_mut("columns") {
        Some(Value::Array(columns)) => Ok(columns),
        _ => Err(fail!(
            Format,
            "the schema of the CTable has no list of columns"
        )),
    }
}

/// What the values of a column of any length are, and how they are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum LongKind {
    /// Texts, as offsets and bytes.
    Utf8,
    /// Texts, as numbers of those of a dictionary.
    Dictionary,
    /// Bytes, in batches.
    Bytes,
    /// Lists or structures, in batches.
    Packed(PackedType),
}

/// Returns the member of the list of columns for a column of values of any length, which has no name
/// yet.
pub fn long_entry(kind: &LongKind, is_nullable: bool) -> Value {
    let mut entry = match kind {
        LongKind::Utf8 => object(&[("kind", text("utf8"))]),
        LongKind::Dictionary => object(&[
            ("kind", text("dictionary")),
            ("index_type", object(&[("kind", text("int32"))])),
            ("value_type", batches("vlstring")),
            ("ordered", Value::Bool(false)),
            ("null_code", Value::Int(-1)),
        ]),
        LongKind::Bytes => batches("vlbytes"),
        LongKind::Packed(of) => packed_entry(of),
    };
    set(&mut entry, "nullable", Value::Bool(is_nullable));
    if is_nullable && *kind == LongKind::Utf8 {
        set(&mut entry, "null_storage", text("mask"));
    }
    entry
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn object(members: &[(&str, Value)]) -> Value {
    let member = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
    Value::Object(members.iter().map(member).collect())
}

/// Describes values in batches of MessagePack.
fn batches(kind: &str) -> Value {
    object(&[
        ("kind", text(kind)),
        ("nullable", Value::Bool(false)),
        ("serializer", text("msgpack")),
        ("batch_rows", Value::Int(BATCH_ROWS as i128)),
    ])
}

/// Describes the type of values of lists and structures, which may be null.
fn packed_entry(of: &PackedType) -> Value {
    let kind = |kind: &str| object(&[("kind", text(kind))]);
    let long = |kind: &str| object(&[("kind", text(kind)), ("max_length", Value::Int(MAX_LENGTH))]);
    let mut entry = match of {
        PackedType::Bool | PackedType::Int { .. } | PackedType::Float(_) => kind(&of.to_string()),
        PackedType::Text => long("string"),
        PackedType::Bytes => long("bytes"),
        PackedType::Any => batches("object"),
        PackedType::Time(unit) => object(&[("kind", text("timestamp")), ("unit", text(unit))]),
        PackedType::List(item) => {
            let mut list = batches("list");
            set(&mut list, "item", packed_entry(item));
            set(&mut list, "storage", text("batch"));
            list
        }
        PackedType::Struct(fields) => {
            let field = |(name, of): &(String, PackedType)| {
                let mut entry = packed_entry(of);
                set(&mut entry, "name", text(name));
                entry
            };
            let fields = Value::Array(fields.iter().map(field).collect());
            object(&[("kind", text("struct")), ("fields", fields)])
        }
    };
    set(&mut entry, "nullable", Value::Bool(true));
    entry
}

/// Returns the member of the list of columns for a column of texts, or other values of any length: that
/// of the column that is copied, or one of texts of which any may be null.
pub fn text_entry(new: &NewColumn) -> Option<Value> {
    let mut entry = match &new.entry {
        Some(entry) => entry.clone(),
        None if new.dtype.item.kind == Kind::Text => long_entry(&LongKind::Utf8, true),
        None => return None,
    };
    set(&mut entry, "name", text(new.name));
    if entry.get("serializer").and_then(Value::as_str) == Some("arrow") {
        set(&mut entry, "serializer", text("msgpack"));
    }
    Some(entry)
}

/// Describes a column of this dtype, whose nulls are marked as these. A dtype that is an array gives
/// rows of that shape.
pub fn new_field(name: &str, dtype: &Dtype, nulls: Option<&NullRule>) -> Result<NewField> {
    let mut members = vec![("name".to_owned(), text(name))];
    let (item, row) = match &dtype.item.kind {
        Kind::Array(of, shape) => (&**of, shape.iter().map(|n| *n as u64).collect()),
        _ => (&dtype.item, Vec::new()),
    };
    let stored = stored_dtype(item).ok_or_else(|| unsupported(name, dtype))?;
    let add = |members: &mut Vec<_>, name: &str, value| members.push((name.to_owned(), value));
    if !row.is_empty() {
        if matches!(item.kind, Kind::Datetime(_)) || row.contains(&0) {
            return Err(unsupported(name, dtype));
        }
        let shape = row.iter().map(|n| Value::Int(i128::from(*n)));
        add(&mut members, "kind", text("ndarray"));
        add(&mut members, "item_shape", Value::Array(shape.collect()));
        add(&mut members, "dtype_str", text(&stored));
    } else {
        add(&mut members, "kind", text(&kind(item)));
        match &item.kind {
            Kind::Str => add(
                &mut members,
                "max_length",
                Value::Int(item.size as i128 / 4),
            ),
            Kind::Bytes => add(&mut members, "max_length", Value::Int(item.size as i128)),
            Kind::Datetime(unit) => add(&mut members, "unit", text(unit)),
            _ => {}
        }
    }
    let null = match nulls {
        Some(NullRule::Item(null)) => {
            let value = item_value(item, null);
            Some(value.ok_or_else(|| unsupported(name, dtype))?)
        }
        Some(NullRule::Nan) => Some(Value::Float(f64::NAN)),
        _ => None,
    };
    let has_mask = matches!(nulls, Some(NullRule::Mask(_) | NullRule::Written { .. }));
    if has_mask || null.is_some() {
        add(&mut members, "nullable", Value::Bool(true));
    }
    if has_mask {
        add(&mut members, "null_storage", text("mask"));
    }
    if let Some(null) = null {
        add(&mut members, "null_value", null);
    }
    Ok(NewField {
        has_mask,
        entry: Value::Object(members),
        stored,
        row,
    })
}

fn unsupported(name: &str, dtype: &Dtype) -> Error {
    fail!(
        Unsupported,
        "column {name:?}: a CTable has no columns of the dtype {} (expected little-endian numbers, Booleans, texts, bytes, or times in s, ms, us or ns)",
        dtype.spelling
    )
}

/// Returns the dtype of the array with such items, if a CTable can have them.
fn stored_dtype(item: &Type) -> Option<String> {
    if item.big_endian && item.size > 1 || item.size == 0 {
        return None;
    }
    let size = item.size;
    match &item.kind {
        Kind::Bool => Some("|b1".to_owned()),
        Kind::Int => Some(spelled('i', size)),
        Kind::Uint => Some(spelled('u', size)),
        Kind::Float if matches!(size, 4 | 8) => Some(spelled('f', size)),
        Kind::Complex if matches!(size, 8 | 16) => Some(spelled('c', size)),
        Kind::Str => Some(format!("<U{}", size / 4)),
        Kind::Bytes => Some(format!("|S{size}")),
        Kind::Datetime(unit) if matches!(&**unit, "s" | "ms" | "us" | "ns") => {
            Some("<i8".to_owned())
        }
        _ => None,
    }
}

/// Returns the value of an item, in the byte order of a new column.
fn item_value(item: &Type, bytes: &[u8]) -> Option<Value> {
    let mut wide = [0; 16];
    wide.at_mut(..bytes.len()).ok()?.copy_from_slice(bytes);
    let unsigned = i128::from_le_bytes(wide);
    let bits = bytes.len() as u32 * 8;
    match &item.kind {
        Kind::Uint | Kind::Bool => Some(Value::Int(unsigned)),
        Kind::Int | Kind::Datetime(_) => {
            let unused = 128u32.checked_sub(bits)?;
            Some(Value::Int(unsigned.checked_shl(unused)? >> unused))
        }
        Kind::Float => match *bytes {
            [a, b, c, d] => Some(Value::Float(f32::from_le_bytes([a, b, c, d]).into())),
            [a, b, c, d, e, f, g, h] => {
                Some(Value::Float(f64::from_le_bytes([a, b, c, d, e, f, g, h])))
            }
            _ => None,
        },
        Kind::Str => {
            let characters = bytes.chunks_exact(4).map(|c| {
                let code = c.iter().rev().fold(0, |code, b| code << 8 | u32::from(*b));
                char::from_u32(code)
            });
            let text: Option<String> = characters.collect();
            Some(Value::String(text?.trim_end_matches('\0').to_owned()))
        }
        _ => None,
    }
}

fn spelled(letter: char, size: usize) -> String {
    let order = if size == 1 { '|' } else { '<' };
    format!("{order}{letter}{size}")
}

/// Returns the name of a kind of scalars.
fn kind(item: &Type) -> String {
    let bits = item.size * 8;
    match &item.kind {
        Kind::Bool => "bool".to_owned(),
        Kind::Int => format!("int{bits}"),
        Kind::Uint => format!("uint{bits}"),
        Kind::Float => format!("float{bits}"),
        Kind::Complex => format!("complex{bits}"),
        Kind::Str => "string".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        _ => "timestamp".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_all_kinds() {
        let entry = |dtype: &str| {
            new_field("a", &Dtype::parse(dtype).unwrap(), None)
                .map(|field| (field.entry.to_string(), field.stored, field.row))
        };
        for (dtype, members, stored) in [
            ("<i4", r#""kind":"int32""#, "<i4"),
            ("|u1", r#""kind":"uint8""#, "|u1"),
            ("<f8", r#""kind":"float64""#, "<f8"),
            ("<c8", r#""kind":"complex64""#, "<c8"),
            ("|b1", r#""kind":"bool""#, "|b1"),
            ("<U5", r#""kind":"string","max_length":5"#, "<U5"),
            ("|S3", r#""kind":"bytes","max_length":3"#, "|S3"),
            ("<M8[us]", r#""kind":"timestamp","unit":"us""#, "<i8"),
        ] {
            let entry = entry(dtype).unwrap();
            assert_eq!(entry.0, format!(r#"{{"name":"a",{members}}}"#));
            assert_eq!((entry.1, entry.2), (stored.to_owned(), vec![]));
        }
        let array = entry("('<f4', (2, 3))").unwrap();
        let members = r#""kind":"ndarray","item_shape":[2,3],"dtype_str":"<f4""#;
        assert_eq!(array.0, format!(r#"{{"name":"a",{members}}}"#));
        assert_eq!((array.1, array.2), ("<f4".to_owned(), vec![2, 3]));
        for dtype in [
            ">i4",
            "<f2",
            "<M8[D]",
            "<m8[s]",
            "|V3",
            "|O",
            "[('a', '<i4')]",
        ] {
            assert!(entry(dtype).is_err(), "{dtype}");
        }
    }

    #[test]
    fn null_values_are_those_of_the_schema() {
        use super::super::schema::null_item;
        for (dtype, json) in [
            ("<i2", "-1"),
            ("|u1", "255"),
            ("<u8", "18446744073709551615"),
            ("<f4", "-999.5"),
            ("<f8", "1e300"),
            ("<U3", "\"né\""),
            ("<M8[s]", "-9223372036854775808"),
        ] {
            let dtype = Dtype::parse(dtype).unwrap();
            let value = Value::parse(json.as_bytes()).unwrap();
            let item = null_item(&value, &dtype).unwrap().unwrap();
            let rule = NullRule::Item(item);
            let field = new_field("a", &dtype, Some(&rule)).unwrap();
            assert_eq!(field.entry.get("null_value"), Some(&value), "{json}");
        }
    }

    #[test]
    fn unknown_members_stay() {
        let mut schema = Value::parse(br#"{"x": [NaN], "n_rows": 1, "columns": []}"#).unwrap();
        set(&mut schema, "n_rows", Value::Int(2));
        set(&mut schema, "y", Value::Bool(false));
        columns(&mut schema).unwrap().push(Value::Null);
        let text = r#"{"x":[NaN],"n_rows":2,"columns":[null],"y":false}"#;
        assert_eq!(schema.to_string(), text);
        assert!(columns(&mut Value::Null).is_err());
    }
}
