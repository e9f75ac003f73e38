//! Opens and creates columns of texts, or other values of any length, for writing.
#![forbid(unsafe_code)]

use super::batch_writer::{BATCH_ROWS, BatchWriter};
use super::batches::{FORM, Items};
use super::dictionary_writer::DictionaryWriter;
use super::objects::Objects;
use super::row_map::RowMap;
use super::schema::{Field, Nulls, TextForm};
use super::text_rows::TextRows;
use super::text_writer::{TextNulls, TextSink, TextWriter};
use super::utf8_writer::Utf8Writer;
use super::writer::{CHUNK_ROWS, new_array};
use crate::array::msgpack_json::from_json;
use crate::array::{Array, NewTiled};
use crate::blosc::{Codec, Params, Target};
use crate::dtype::Dtype;
use crate::dtype::numpy_meta::{ArrayMeta, Order};
use crate::error::{Result, fail};
use crate::io::journal::Session;
use crate::json::Value;
use crate::options::Options;
use crate::store::table_files::{DICTIONARY, UTF8};
use crate::superchunk::frame::{Frame, NewFrame};
use std::any::Any;
use std::sync::Arc;

/// Items of a chunk of offsets and of bytes, as python-blosc2 writes them.
const OFFSETS_CHUNK: u64 = 1 << 17;
const BYTES_CHUNK: u64 = 1 << 21;
/// Content bytes of a chunk that a frame of batches states.
const BATCH_CHUNK: usize = 1 << 24;

/// Returns whether a row of a column may be null: batches and dictionaries may have nulls, whatever the
/// schema states.
pub fn may_be_null(field: &Field, form: &TextForm) -> bool {
    field.is_nullable || *form != TextForm::Utf8
}

/// Returns whether a mask marks the nulls of a column.
pub fn has_mask(field: &Field, form: &TextForm) -> bool {
    *form == TextForm::Utf8 && field.nulls == Nulls::Mask
}

/// Opens or creates the files of a column, by the suffix of the path of their node.
pub struct ColumnFiles<'a> {
    /// The number of positions that the files have, or 0 for new ones.
    pub positions: u64,
    /// Opens an array, or creates one like this.
    pub array: &'a dyn Fn(&str, &NewTiled) -> Result<Array>,
    /// Opens a frame, or creates one like this.
    pub frame: &'a dyn Fn(&str, &NewFrame) -> Result<Frame>,
}

/// Returns the type of the values of a column.
pub fn dtype_of(form: &TextForm) -> Result<Dtype> {
    match form.is_text() {
        true => Ok(Dtype::text()),
        false => Dtype::parse("|O").map(Dtype::of_any_length),
    }
}

/// Returns a column that is open for writing.
pub fn column(
    (field, form): (&Field, &TextForm),
    files: &ColumnFiles,
    map: &RowMap,
    session: &Arc<Session>,
    name: String,
    options: &Options,
) -> Result<Array> {
    let (limit, n) = (options.memory_limit(), files.positions);
    let null = field.nulls.text()?;
    let sink = sink(field, form, files, null.clone(), limit)?;
    if sink.len() < n {
        let have = sink.len();
        return Err(fail!(
            Format,
            "it has {have} values (expected {n}, as _valid_rows)"
        ));
    }
    let nulls = match (form, null) {
        _ if !field.is_nullable => TextNulls::None,
        (TextForm::Utf8, Some(null)) => TextNulls::Value(null),
        (TextForm::Utf8, None) if has_mask(field, form) => TextNulls::Mask,
        (TextForm::Utf8, None) => TextNulls::None,
        _ => TextNulls::Sink,
    };
    let described = (form.clone(), nulls, field.entry.clone());
    let store = TextWriter::new((name, sink), described, map.clone(), session, limit)?;
    let meta = ArrayMeta {
        dtype: dtype_of(form)?,
        shape: vec![map.rows()],
        order: Order::C,
    };
    Array::over(Box::new(store), meta, vec![map.rows().max(1)], options)
}

/// Opens or creates what holds the values of a column.
fn sink(
    field: &Field,
    form: &TextForm,
    files: &ColumnFiles,
    null: Option<Vec<u8>>,
    limit: u64,
) -> Result<Box<dyn TextSink>> {
    let (n, entry) = (files.positions, &field.entry);
    let frame = |suffix: &str, entry: &Value| {
        let new = NewFrame {
            typesize: 1,
            chunk_bytes: BATCH_CHUNK,
            params: Params::new(Target::Blosc2, Codec::Zstd, 5, 1),
            metalayers: &metalayers(entry),
            sparse: false,
        };
        (files.frame)(suffix, &new)
    };
    let batches =
        |suffix: &str, items, entry: &Value| BatchWriter::new(frame(suffix, entry)?, items, limit);
    Ok(match form {
        TextForm::Utf8 => {
            let offsets = (files.array)("", &new_array("<i8", &[1], &[OFFSETS_CHUNK]))?;
            let bytes = (files.array)(UTF8, &new_array("|u1", &[1], &[BYTES_CHUNK]))?;
            Box::new(Utf8Writer::new(offsets, bytes, n, null, limit)?)
        }
        TextForm::Batches => Box::new(batches("", Items::Texts, entry)?),
        TextForm::Bytes => Box::new(batches("", Items::Bytes, entry)?),
        TextForm::Packed(_) => Box::new(batches("", Items::Values, entry)?),
        TextForm::Objects(_) => Box::new(Objects::new(frame("", entry)?, limit)),
        TextForm::Arrow(_) => {
            return Err(fail!(
                Unsupported,
                "lists in Arrow's format are read-only; copy the table to change it"
            ));
        }
        TextForm::Dictionary(null) => {
            let numbers = (files.array)("", &new_array("<i4", &[0], &[CHUNK_ROWS]))?;
            let of = entry.get("value_type").unwrap_or(entry);
            let values = batches(DICTIONARY, Items::Texts, of)?;
            let have = numbers.shape().first().copied().unwrap_or(0);
            let writer = DictionaryWriter::new(numbers, values, n.min(have), *null, limit)?;
            Box::new(writer)
        }
    })
}

/// Returns the metalayers of fixed length of a frame of values, for a member of the schema.
fn metalayers(entry: &Value) -> Vec<(&'static str, Vec<u8>)> {
    let text = |key| entry.get(key).and_then(Value::as_str);
    let kind = text("kind").unwrap_or_default();
    let storage = text("storage").unwrap_or("batch");
    let is_nullable = entry.get("nullable") == Some(&Value::Bool(true));
    let role = match kind {
        "list" => {
            let item = entry
                .get("item")
                .map_or("null".to_owned(), Value::to_string);
            let text = format!(
                r#"{{"version": 1, "kind": "list", "item": {item}, "nullable": {is_nullable}, "serializer": "msgpack", "batch_rows": {BATCH_ROWS}, "backend": "{storage}"}}"#
            );
            ("listarray", text)
        }
        kind => {
            let of = match kind {
                "vlbytes" => "bytes",
                "struct" | "object" => kind,
                _ => "str",
            };
            let text = format!(
                r#"{{"version": 1, "py_type": "{of}", "nullable": {is_nullable}, "batch_rows": {BATCH_ROWS}}}"#
            );
            ("ctable_varlen_scalar", text)
        }
    };
    let form = match storage {
        "vl" => (
            "vlarray",
            r#"{"version": 1, "serializer": "msgpack"}"#.to_owned(),
        ),
        _ => (
            FORM,
            format!(
                r#"{{"version": 1, "serializer": "msgpack", "items_per_block": {BATCH_ROWS}, "arrow_schema": null}}"#
            ),
        ),
    };
    let both = [role, form];
    both.map(|(name, text)| (name, from_json(text.as_bytes())))
        .into()
}

/// Returns the member of the schema of a column of texts, or other values of any length.
pub fn entry_of(array: &Array) -> Option<Value> {
    let store: &dyn Any = array.store();
    let read = store.downcast_ref::<TextRows>().map(TextRows::entry);
    let written = || store.downcast_ref::<TextWriter>().map(TextWriter::entry);
    read.or_else(written).cloned()
}
