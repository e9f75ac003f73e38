//! Attributes: JSON in folders, MessagePack in frames, and members of the metadata in Bloscpack
//! files.

use super::dataset::{Content, Dataset};
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::{detect, failure, report};
use holdall::Array;
use rmpv::Value;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value as Json, json};

/// Returns whether a text is one JSON value.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns a value as JSON: as it is, or as a string if it is none, as NaN of Python.
pub fn as_json(text: &str) -> String {
    if is_json(text) { text.trim().to_owned() } else { Json::from(text).to_string() }
}

// ---- MessagePack

/// Returns a value of MessagePack as JSON, or None if the bytes are none, or have values that JSON
/// does not have.
pub fn to_json(bytes: &[u8]) -> Option<Json> {
    let mut rest = bytes;
    let value = rmpv::decode::read_value(&mut rest).ok()?;
    rest.is_empty().then(|| json_of(&value))?
}

fn json_of(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Nil => Json::Null,
        Value::Boolean(yes) => json!(yes),
        Value::Integer(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => json!(n),
            (_, n) => json!(n?),
        },
        Value::F32(x) => number(f64::from(*x)),
        Value::F64(x) => number(*x),
        Value::String(text) => match text.as_str() {
            Some(text) => json!(text),
            None => hex(text.as_bytes()),
        },
        Value::Binary(bytes) => hex(bytes),
        Value::Array(items) => Json::Array(items.iter().map(json_of).collect::<Option<_>>()?),
        Value::Map(members) => {
            let member = |(key, value): &(Value, Value)| {
                // a name that is no string is its JSON
                let key = match json_of(key)? {
                    Json::String(text) => text,
                    other => other.to_string(),
                };
                Some((key, json_of(value)?))
            };
            Json::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
        Value::Ext(kind, bytes) => json!({"ext": *kind as u8, "hex": digits(bytes)}),
    })
}

/// JSON has no NaN and no infinity: they become text.
fn number(x: f64) -> Json {
    let text = match x.is_nan() {
        true => "NaN",
        false if x > 0.0 => "Infinity",
        false => "-Infinity",
    };
    Number::from_f64(x).map_or_else(|| json!(text), Json::Number)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(bytes: &[u8]) -> Json {
    json!({ "hex": digits(bytes) })
}

/// Returns an attribute of a frame as JSON; `{"hex": ...}` if it is no MessagePack.
pub fn stored_to_json(bytes: &[u8]) -> String {
    to_json(bytes).unwrap_or_else(|| hex(bytes)).to_string()
}

/// Returns MessagePack of JSON. `{"hex": "00ff"}` becomes bytes.
pub fn from_json(json: &str) -> Result<Vec<u8>> {
    let value: Json = serde_json::from_str(json).map_err(|error| failure!("no JSON: {error}"))?;
    let mut packed = Vec::new();
    rmpv::encode::write_value(&mut packed, &packed_of(&value))
        .map_err(|error| failure!("{error}"))?;
    Ok(packed)
}

fn packed_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(yes) => Value::from(*yes),
        Json::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => Value::from(n),
            (_, Some(n)) => Value::from(n),
            _ => Value::from(n.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Array(items.iter().map(packed_of).collect()),
        Json::Object(members) => bytes_of(members).map(Value::Binary).unwrap_or_else(|| {
            let member = |(name, value): (&String, &Json)| (name.as_str().into(), packed_of(value));
            Value::Map(members.iter().map(member).collect())
        }),
    }
}

/// The bytes of an object `{"hex": ...}`.
fn bytes_of(members: &Map<String, Json>) -> Option<Vec<u8>> {
    let digits = members.get("hex")?.as_str().filter(|_| members.len() == 1)?;
    let is_hex = digits.bytes().all(|c| c.is_ascii_hexdigit());
    let pairs = (is_hex && digits.len() % 2 == 0).then(|| digits.as_bytes().chunks(2))?;
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

// ---- copies

/// Copies the attributes of a dataset to another one.
pub fn copy(from: &Dataset, to: &mut Dataset) -> Result {
    for name in from.attribute_names() {
        let value = from.attribute(name)?;
        // frames take JSON only: NaN of Python becomes text
        let value = if detect::is_frame(to.format) { as_json(&value) } else { value };
        to.set_attribute(name, false, &value)?;
    }
    Ok(())
}

/// Copies the attributes of a dataset into the metadata of an array in a Bloscpack file, as a
/// member "attrs".
pub fn copy_into_metadata(from: &Dataset, to: &mut Array, path: &FileName) -> Result {
    let mut members = Map::new();
    for name in from.attribute_names() {
        match serde_json::from_str(&from.attribute(name)?) {
            Ok(value) => drop(members.insert(name.to_owned(), value)),
            Err(_) => {
                report::note(&format!("{path}: attribute '{name}' is no JSON, and is not in there"))
            }
        }
    }
    if from.attribute_names().is_empty() {
        return Ok(());
    }
    let metadata = to.attribute("").map_err(library(path))?.unwrap_or(b"{}");
    let mut metadata: Map<String, Json> =
        serde_json::from_slice(metadata).map_err(|error| failure!("{path}: metadata: {error}"))?;
    metadata.insert("attrs".to_owned(), Json::Object(members));
    let metadata = Json::Object(metadata).to_string();
    to.set_attribute("", metadata.as_bytes()).map_err(library(path))
}

/// Returns the attributes in the metadata of an array in a Bloscpack file: all but what makes it an
/// array.
pub fn of_metadata(metadata: Map<String, Json>) -> Map<String, Json> {
    let mut members = Map::new();
    for (name, value) in metadata {
        match (name.as_str(), value) {
            ("dtype" | "shape" | "order" | "container", _) => {}
            ("attrs", Json::Object(attributes)) => members.extend(attributes),
            (_, value) => _ = members.insert(name, value),
        }
    }
    members
}

/// Copies the attributes in the metadata of an array in a Bloscpack file to a dataset.
pub fn copy_from_metadata(from: &Array, path: &FileName, to: &mut Dataset) -> Result {
    let metadata = from.attribute("").map_err(library(path))?.unwrap_or_default();
    let members = of_metadata(serde_json::from_slice(metadata).unwrap_or_default());
    let mut members = members.iter();
    members.try_for_each(|(name, value)| to.set_attribute(name, false, &value.to_string()))
}

/// The number of attributes of a dataset and of its columns.
pub fn count(dataset: &Dataset) -> usize {
    let columns = match &dataset.content {
        Content::Table(table) => table
            .column_names()
            .filter_map(|name| table.column(name))
            .map(|column| column.attribute_names().len())
            .sum(),
        Content::Array(_) => 0,
    };
    dataset.attribute_names().len() + columns
}
