//! A column of text or bytes: where its buffers are in a batch, and its values in them.
//!
//! A batch has the buffers of all columns one after the other, those of a column before those of
//! its children. Their number follows from the types:
//! <https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout>

use crate::failure;
use crate::failure::Result;
use crate::file_name::FileName;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{CompressionType, Endianness, Message, MetadataVersion};
use arrow_schema::{DataType, FieldRef, Schema, UnionMode};
use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

/// How the values of a column are stored.
#[derive(Clone, Copy)]
enum Values {
    /// End to end, with offsets of so many bytes.
    Offsets(usize),
    /// A length, and either up to 12 bytes, or 4 of them and the location of all in a buffer.
    Views,
    /// End to end, of so many bytes each.
    Fixed(usize),
}

pub struct Column {
    schema: Schema,
    index: usize,
    values: Values,
}

/// The column in a batch.
pub struct Located {
    pub rows: usize,
    /// The part of the body with all of its buffers.
    pub extent: Range<u64>,
    buffers: Vec<Range<u64>>,
    compression: Option<CompressionType>,
}

/// Finds a column of text or bytes; without `name`, the only one.
pub fn find_column(
    schema: Option<arrow_ipc::Schema>,
    name: Option<&str>,
    path: &FileName,
) -> Result<Column> {
    let schema = schema.ok_or_else(|| failure!("{path}: it has no schema"))?;
    if schema.endianness() != Endianness::Little {
        return Err(failure!("{path}: its numbers are big-endian, which is not read"));
    }
    let schema = try_fb_to_schema(schema).map_err(|error| failure!("{path}: {error}"))?;
    let fields = schema.fields().iter().enumerate();
    let named = fields.filter(|(_, field)| name.is_none_or(|name| field.name() == name));
    let named: Vec<_> = named.map(|(i, field)| (i, values_of(field.data_type()))).collect();
    let found: Vec<_> = named.iter().filter_map(|(i, values)| Some((*i, (*values)?))).collect();
    let why = match (found.as_slice(), name) {
        ([(index, values)], _) => return Ok(Column { index: *index, values: *values, schema }),
        ([], None) => "no column has text or bytes".to_owned(),
        (several, None) => format!(
            "{} columns have text or bytes: --columns X says which becomes the records",
            several.len()
        ),
        ([], Some(name)) if named.is_empty() => format!("there is no column '{name}'"),
        ([], Some(name)) => {
            format!("column '{name}' has no text or bytes, or has a dictionary, which is not read")
        }
        (several, Some(name)) => format!("column '{name}' is there {} times", several.len()),
    };
    Err(failure!("{path}: {why}"))
}

fn values_of(of: &DataType) -> Option<Values> {
    match of {
        DataType::Utf8 | DataType::Binary => Some(Values::Offsets(4)),
        DataType::LargeUtf8 | DataType::LargeBinary => Some(Values::Offsets(8)),
        DataType::Utf8View | DataType::BinaryView => Some(Values::Views),
        DataType::FixedSizeBinary(width) => {
            usize::try_from(*width).ok().filter(|width| *width > 0).map(Values::Fixed)
        }
        _ => None,
    }
}

/// Returns the number of buffers of a type and its children. `views` are the numbers of buffers
/// that columns of views refer to.
fn count_buffers(
    of: &DataType,
    version: MetadataVersion,
    views: &mut dyn Iterator<Item = i64>,
) -> Option<usize> {
    use DataType::*;
    let own = match of {
        Null | RunEndEncoded(..) => 0,
        Struct(_) | FixedSizeList(..) => 1,
        Union(_, mode) => {
            1 + usize::from(*mode == UnionMode::Dense) + usize::from(version < MetadataVersion::V5)
        }
        Utf8 | Binary | LargeUtf8 | LargeBinary | ListView(_) | LargeListView(_) => 3,
        Utf8View | BinaryView => usize::try_from(views.next()?).ok()?.checked_add(2)?,
        // numbers and times, lists, and indices of a dictionary
        _ => 2,
    };
    let children: Vec<&FieldRef> = match of {
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => vec![child],
        FixedSizeList(child, _) | Map(child, _) => vec![child],
        Struct(children) => children.iter().collect(),
        Union(children, _) => children.iter().map(|(_, child)| child).collect(),
        RunEndEncoded(ends, values) => vec![ends, values],
        _ => Vec::new(),
    };
    children
        .iter()
        .try_fold(own, |n, child| n.checked_add(count_buffers(child.data_type(), version, views)?))
}

impl Column {
    /// Finds the column in a batch with a body of so many bytes. None: the metadata are broken.
    pub fn locate(&self, message: &Message, body: u64) -> Option<Located> {
        let batch = message.header_as_record_batch()?;
        let mut views = batch.variadicBufferCounts().into_iter().flatten();
        let (mut first, mut end) = (0, 0usize);
        for field in self.schema.fields().iter().take(self.index + 1) {
            first = end;
            end =
                end.checked_add(count_buffers(field.data_type(), message.version(), &mut views)?)?;
        }
        let all = batch.buffers().filter(|all| end <= all.len())?;
        let buffers = (first..end).map(|i| {
            let begin = u64::try_from(all.get(i).offset()).ok()?;
            let end = begin.checked_add(u64::try_from(all.get(i).length()).ok()?)?;
            (end <= body).then_some(begin..end)
        });
        let buffers = buffers.collect::<Option<Vec<_>>>()?;
        let extent = buffers.iter().map(|buffer| buffer.start).min()?
            ..buffers.iter().map(|buffer| buffer.end).max()?;
        let rows = usize::try_from(batch.length()).ok()?;
        let compression = batch.compression().map(|compression| compression.codec());
        Some(Located { rows, extent, buffers, compression })
    }

    /// Returns a value, or None if it is null. The outer None: it is not in the buffers.
    pub fn value<'a>(&self, buffers: &'a [Cow<[u8]>], i: usize) -> Option<Option<&'a [u8]>> {
        let [valid, first, others @ ..] = buffers else {
            return None;
        };
        if !valid.is_empty() && valid.get(i / 8)? >> (i % 8) & 1 == 0 {
            return Some(None);
        }
        let value = match self.values {
            Values::Offsets(width) => {
                let limits = first.get(i.checked_mul(width)?..)?;
                others.first()?.get(number(limits, 0, width)?..number(limits, width, width)?)
            }
            Values::Views => view(first.get(i.checked_mul(16)?..)?, others),
            Values::Fixed(width) => {
                let begin = i.checked_mul(width)?;
                first.get(begin..begin.checked_add(width)?)
            }
        };
        value.map(Some)
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + width)?;
    let number = match width {
        4 => u64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
        _ => u64::from_le_bytes(bytes.try_into().ok()?),
    };
    usize::try_from(number).ok()
}

fn view<'a>(view: &'a [u8], buffers: &'a [Cow<[u8]>]) -> Option<&'a [u8]> {
    let length = number(view, 0, 4)?;
    if length <= 12 {
        return view.get(4..4 + length);
    }
    let (buffer, begin) = (number(view, 8, 4)?, number(view, 12, 4)?);
    buffers.get(buffer)?.get(begin..begin.checked_add(length)?)
}

impl Located {
    /// Returns the buffers, given the bytes of the extent. None: they cannot be decompressed to at
    /// most `most` bytes.
    pub fn buffers<'a>(&self, bytes: &'a [u8], mut most: u64) -> Option<Vec<Cow<'a, [u8]>>> {
        let buffer = |of: &Range<u64>| {
            let (begin, end) = (of.start - self.extent.start, of.end - self.extent.start);
            let bytes = bytes.get(begin as usize..end as usize)?;
            let bytes = match self.compression {
                Some(codec) if !bytes.is_empty() => decompressed(bytes, codec, most)?,
                _ => Cow::Borrowed(bytes),
            };
            most = most.checked_sub(bytes.len() as u64)?;
            Some(bytes)
        };
        self.buffers.iter().map(buffer).collect()
    }
}

/// A compressed buffer begins with its length; -1 if it is not compressed.
fn decompressed(bytes: &[u8], codec: CompressionType, most: u64) -> Option<Cow<'_, [u8]>> {
    let (length, stored) = bytes.split_first_chunk()?;
    let length = match i64::from_le_bytes(*length) {
        -1 => return Some(Cow::Borrowed(stored)),
        length => u64::try_from(length).ok().filter(|length| *length <= most)?,
    };
    // grows with the bytes that exist
    let mut bytes = Vec::new();
    let read = match codec {
        CompressionType::LZ4_FRAME => {
            lz4_flex::frame::FrameDecoder::new(stored).take(length).read_to_end(&mut bytes)
        }
        CompressionType::ZSTD => {
            let decoder = zstd::Decoder::with_buffer(stored).ok()?;
            decoder.take(length).read_to_end(&mut bytes)
        }
        _ => return None,
    };
    (read.ok()? as u64 == length).then_some(Cow::Owned(bytes))
}
