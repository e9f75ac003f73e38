//! Finds a column in the schema of an Arrow stream.
//!
//! A batch has the buffers of all columns one after the other, those of a column before those of
//! its children. Their number follows from the types:
//! <https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout>

use crate::failure;
use crate::failure::Result;
use arrow_ipc::{Endianness, Field, Schema, Type, UnionMode};

/// How the values of a column are stored.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// End to end, with offsets of so many bytes.
    Offsets(u64),
    Views,
    /// End to end, of so many bytes each.
    Fixed(u64),
}

/// The numbers of arrays, of buffers, and of columns of views before a column in a batch.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub nodes: usize,
    pub buffers: u64,
    pub views: usize,
    pub values: Values,
}

fn buffers_of(field: &Field) -> u64 {
    match field.type_type() {
        Type::Null | Type::RunEndEncoded => 0,
        Type::Struct_ | Type::FixedSizeList => 1,
        Type::Union => match field.type_as_union().map(|union| union.mode()) {
            Some(UnionMode::Dense) => 2,
            _ => 1,
        },
        Type::Binary | Type::Utf8 | Type::LargeBinary | Type::LargeUtf8 => 3,
        Type::ListView | Type::LargeListView => 3,
        // numbers and times, lists, and views without the buffers that they refer to
        _ => 2,
    }
}

/// Moves past a field and its children. The verifier bounds their number and their depth.
fn pass(field: &Field, column: &mut Column) {
    column.nodes += 1;
    if field.dictionary().is_some() {
        column.buffers += 2; // of the indices
        return;
    }
    column.buffers += buffers_of(field);
    column.views += usize::from(is_of_views(field));
    for child in field.children().into_iter().flatten() {
        pass(&child, column);
    }
}

fn is_of_views(field: &Field) -> bool {
    matches!(field.type_type(), Type::BinaryView | Type::Utf8View)
}

fn values_of(field: &Field) -> Option<Values> {
    if field.dictionary().is_some() {
        return None;
    }
    match field.type_type() {
        Type::Binary | Type::Utf8 => Some(Values::Offsets(4)),
        Type::LargeBinary | Type::LargeUtf8 => Some(Values::Offsets(8)),
        Type::BinaryView | Type::Utf8View => Some(Values::Views),
        Type::FixedSizeBinary => {
            let width = field.type_as_fixed_size_binary()?.byteWidth();
            u64::try_from(width).ok().filter(|width| *width > 0).map(Values::Fixed)
        }
        _ => None,
    }
}

/// Finds a column of text or bytes; without `name`, the only one.
pub fn find_column(schema: &Schema, name: Option<&str>, path: &str) -> Result<Column> {
    if schema.endianness() != Endianness::Little {
        return Err(failure!("{path}: its numbers are big-endian, which is not read"));
    }
    let (mut found, mut named) = (Vec::new(), 0);
    let mut at = Column { nodes: 0, buffers: 0, views: 0, values: Values::Views };
    for field in schema.fields().into_iter().flatten() {
        if name.is_none_or(|name| field.name().unwrap_or("") == name) {
            named += 1;
            found.extend(values_of(&field).map(|values| Column { values, ..at }));
        }
        pass(&field, &mut at);
    }
    match (found.as_slice(), name) {
        ([column], _) => Ok(*column),
        ([], None) => Err(failure!("{path}: no column has text or bytes")),
        (several, None) => Err(failure!(
            "{path}: {} columns have text or bytes: --columns X says which becomes the records",
            several.len()
        )),
        ([], Some(name)) if named > 0 => Err(failure!(
            "{path}: column '{name}' has no text or bytes, or has a dictionary, which is not read"
        )),
        ([], Some(name)) => Err(failure!("{path}: there is no column '{name}'")),
        (several, Some(name)) => {
            Err(failure!("{path}: column '{name}' is there {} times", several.len()))
        }
    }
}
