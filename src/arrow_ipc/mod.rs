//! Reads values from streams in Arrow's format (Arrow Columnar Format 1.5, "IPC streaming format"):
//! messages, each a FlatBuffer and a body of buffers. Values become MessagePack.
//!
//! Fields of tables are read by their number in `Message.fbs` and `Schema.fbs`:
//!
//! - `Message`: 1 the type of the header, 2 the header, 3 the length of the body
//! - `Schema`: 0 the byte order, 1 the fields
//! - `RecordBatch`: 0 the length, 1 the nodes, 2 the buffers, 3 the compression
//! - `Field`: 0 the name, 2 the type of the type, 3 the type, 4 the dictionary, 5 the children
#![forbid(unsafe_code)]

mod column;
mod flatbuffer;

use self::column::{Body, Column, Layout};
use self::flatbuffer::FlatTable;
use crate::alloc;
use crate::array::store::Texts;
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, fail};

/// The first bytes of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Message types.
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;

/// Adds the values of streams, one after the other. Each has one column of a type. The values may
/// need `limit` bytes.
pub fn read_values(mut streams: &[u8], of: &PackedType, limit: u64, to: &mut Texts) -> Result<()> {
    let mut layout = None;
    while !streams.is_empty() {
        let Some((metadata, body)) = next_message(&mut streams).ok_or_else(invalid)? else {
            layout = None;
            continue;
        };
        let message = FlatTable::root(metadata).ok_or_else(invalid)?;
        let header = message.table(2).ok_or_else(invalid)?;
        match (message.u8(1).ok_or_else(invalid)?, &layout) {
            (SCHEMA, None) => layout = Some(layout_of(&header, of)?),
            (RECORD_BATCH, Some(layout)) => {
                let column = batch(&header, layout, body)?;
                push_all(&column, limit, to)?;
            }
            (kind, _) => {
                return Err(fail!(
                    Unsupported,
                    "an Arrow message of type {kind} (expected a schema, then batches)"
                ));
            }
        }
    }
    Ok(())
}

/// Removes the next message. `Some(None)`: the end of a stream.
fn next_message<'a>(rest: &mut &'a [u8]) -> Option<Option<(&'a [u8], &'a [u8])>> {
    let after = rest.strip_prefix(&CONTINUATION)?;
    let (n, after) = after.split_first_chunk::<4>()?;
    let n = usize::try_from(u32::from_le_bytes(*n)).ok()?;
    if n == 0 {
        *rest = after;
        return Some(None);
    }
    let (metadata, after) = after.split_at_checked(n)?;
    let body = FlatTable::root(metadata)?.i64(3)?;
    let (body, after) = after.split_at_checked(usize::try_from(body).ok()?)?;
    *rest = after;
    Some(Some((metadata, body)))
}

fn layout_of(schema: &FlatTable, of: &PackedType) -> Result<Layout> {
    if schema.i16(0).ok_or_else(invalid)? != 0 {
        return Err(fail!(Unsupported, "an Arrow stream in big-endian order"));
    }
    match schema.table_count(1).ok_or_else(invalid)? {
        1 => Layout::of(&schema.table_in(1, 0).ok_or_else(invalid)?, of),
        n => Err(fail!(Format, "an Arrow stream of {n} columns (expected 1)")),
    }
}

/// Returns the column of a batch.
fn batch<'a>(header: &FlatTable<'a>, layout: &Layout, body: &'a [u8]) -> Result<Column<'a>> {
    if header.has(3).ok_or_else(invalid)? {
        return Err(fail!(Unsupported, "an Arrow batch that is compressed"));
    }
    let mut body = Body {
        nodes: header.vector(1, 16).ok_or_else(invalid)?,
        buffers: header.vector(2, 16).ok_or_else(invalid)?,
        bytes: body,
    };
    let column = Column::read(layout, &mut body)?;
    match header.i64(0) {
        Some(n) if usize::try_from(n) == Ok(column.len()) => Ok(column),
        _ => Err(invalid()),
    }
}

fn push_all(column: &Column, limit: u64, to: &mut Texts) -> Result<()> {
    let mut value = Vec::new();
    for i in 0..column.len() {
        if column.is_null(i) {
            to.push(&[], true)?;
            continue;
        }
        value.clear();
        column.put(i, limit, &mut value)?;
        to.push(&value, false)?;
    }
    Ok(())
}

fn invalid() -> Error {
    fail!(Format, "an Arrow message is truncated or invalid")
}

/// Adds bytes to a value, of at most `limit` bytes.
fn reserve(value: &mut Vec<u8>, n: usize, limit: u64) -> Result<()> {
    let needed = (value.len() as u64).saturating_add(n as u64);
    alloc::allow(needed, limit, "a value")?;
    alloc::reserve(value, n)
}

#[cfg(test)]
mod tests;
