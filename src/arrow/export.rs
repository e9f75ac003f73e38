//! Converts the bytes of a column to Arrow arrays.
//!
//! Types with the same layout in Arrow stay in the buffer that they were read into: numbers, lists
//! of numbers, and byte strings of fixed length. Their byte order is swapped in place if necessary.
//! Other types are copied: Booleans to bitmaps, text to offsets and bytes, structures to one array
//! per field.
#![forbid(unsafe_code)]

use super::data::{Buffer, Data, bits};
use super::format::{Field, Format, OffsetLayout};
use super::time_units::{NAT, TimeConversion, arrow_format, arrow_step, numpy_step};
use crate::dtype::{self, Kind, Type};
use crate::error::{Error, Result, Status, fail};
use crate::options::{Opt, Options};
use crate::slice::{SliceExt, trim_zeros};
use crate::table::Rows;

/// The field name of list elements.
pub(super) const ITEM: &str = "item";

/// The rows of a conversion, for error positions, and the options.
#[derive(Clone, Copy, Debug)]
pub struct RowContext<'a> {
    /// The rows of the items.
    pub rows: Rows<'a>,
    /// The number of items per row.
    pub per_row: u64,
    /// The options.
    pub options: ExportOptions,
}

/// Options of the conversion to Arrow.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Exports byte strings as binary instead of text.
    pub binary: bool,
    /// Exports NaN as null.
    pub nulls: bool,
}

impl ExportOptions {
    /// Removes the options of the conversion from those of a table, and returns them.
    pub fn take(options: &mut Options) -> ExportOptions {
        ExportOptions {
            binary: options.take(Opt::ArrowBinary) == Some(1),
            nulls: options.take(Opt::ArrowNulls) == Some(1),
        }
    }
}

impl RowContext<'_> {
    /// Creates an error for an item, with the row as position.
    pub fn fail(&self, status: Status, item: usize, message: impl std::fmt::Display) -> Error {
        let row = self
            .rows
            .number((item as u64 / self.per_row.max(1)) as usize);
        Error::new(status, format!("row {row}: {message}")).at(row)
    }
}

/// Whether this machine is big-endian.
pub(super) const NATIVE_BIG_ENDIAN: bool = cfg!(target_endian = "big");

/// Returns the Arrow field for items of a type, in nested lists of the given lengths.
pub fn field(name: &str, item: &Type, lists: &[usize], options: ExportOptions) -> Result<Field> {
    if let Some((n, inner)) = lists.split_first() {
        i32::try_from(*n).map_err(|_| {
            fail!(
                Unsupported,
                "lists of {n} items are too long for Arrow (limit {})",
                i32::MAX
            )
        })?;
        return Ok(Field::of(
            name,
            Format::List(*n),
            vec![field(ITEM, item, inner, options)?],
        ));
    }
    if name.contains('\0') {
        return Err(fail!(
            Unsupported,
            "name {name:?}: contains a NUL byte, which a C string cannot hold"
        ));
    }
    let plain = |format| Ok(Field::new(name, format));
    let time = |unit: &str, is_datetime| match arrow_format(unit, is_datetime) {
        Some(format) => Ok(Field {
            nullable: true,
            ..Field::new(name, format)
        }),
        None => Err(fail!(Type, "unsupported time unit {unit:?}")),
    };
    match &item.kind {
        Kind::Bool => plain(Format::Bool),
        Kind::Int => plain(Format::Int {
            signed: true,
            size: item.size,
        }),
        Kind::Uint => plain(Format::Int {
            signed: false,
            size: item.size,
        }),
        Kind::Float if item.size <= 8 => Ok(Field {
            nullable: options.nulls,
            ..Field::new(name, Format::Float(item.size))
        }),
        Kind::Complex if item.size <= 16 => Ok(Field::of(
            name,
            Format::List(2),
            vec![Field::new(ITEM, Format::Float(item.size / 2))],
        )),
        Kind::Float | Kind::Complex | Kind::Void => plain(Format::Fixed(item.size)),
        Kind::Bytes => plain(Format::Variable {
            text: !options.binary,
            layout: OffsetLayout::Offsets32,
        }),
        Kind::Str => plain(Format::Variable {
            text: true,
            layout: OffsetLayout::Offsets32,
        }),
        Kind::Text => plain(Format::Variable {
            text: true,
            layout: OffsetLayout::Offsets32,
        }),
        Kind::Object => plain(Format::Variable {
            text: false,
            layout: OffsetLayout::Offsets32,
        }),
        Kind::Datetime(unit) => time(unit, true),
        Kind::Timedelta(unit) => time(unit, false),
        Kind::Struct(fields) => {
            let parts = fields
                .iter()
                .map(|f| field(&f.name, &f.item, &[], options))
                .collect::<Result<_>>()?;
            Ok(Field::of(name, Format::Struct, parts))
        }
        Kind::Array(of, lists) => field(name, of, lists, options),
    }
}

/// Converts `n` items, in nested lists of the given lengths, that are stored contiguously in
/// `bytes`.
pub fn export_lists(
    item: &Type,
    lists: &[usize],
    n: usize,
    bytes: Buffer,
    at: RowContext,
) -> Result<Data> {
    let Some((length, inner)) = lists.split_first() else {
        return convert(item, n, bytes, at);
    };
    let per_row = at.per_row.saturating_mul(*length as u64);
    Ok(Data::of(
        n,
        vec![export_lists(
            item,
            inner,
            n.saturating_mul(*length),
            bytes,
            RowContext { per_row, ..at },
        )?],
    ))
}

/// Converts `n` items that are stored contiguously in `bytes`.
fn convert(item: &Type, n: usize, mut bytes: Buffer, at: RowContext) -> Result<Data> {
    swap_to_native(item, bytes.get_mut());
    match &item.kind {
        Kind::Bool => Ok(Data::plain(n, bits(bytes.get().iter().map(|b| *b != 0))?)),
        Kind::Complex if item.size <= 16 => {
            Ok(Data::of(n, vec![Data::plain(n.saturating_mul(2), bytes)]))
        }
        Kind::Float if at.options.nulls && item.size <= 8 => {
            floats_with_null_nans(item.size, n, bytes)
        }
        Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Void => {
            Ok(Data::plain(n, bytes))
        }
        Kind::Bytes => bytes_to_text(item.size, n, bytes.get(), at),
        Kind::Str => utf32_to_text(item.size, n, bytes.get(), at),
        Kind::Datetime(unit) => times(unit, true, n, bytes, at),
        Kind::Timedelta(unit) => times(unit, false, n, bytes, at),
        Kind::Struct(fields) => {
            let part = |f: &dtype::Field| {
                convert(&f.item, n, gather_field(f, item.size, n, bytes.get())?, at)
            };
            Ok(Data::of(n, fields.iter().map(part).collect::<Result<_>>()?))
        }
        Kind::Array(of, lists) => export_lists(of, lists, n, bytes, at),
        Kind::Object | Kind::Text => Err(fail!(
            Unsupported,
            "items of variable length inside structured items are not supported"
        )),
    }
}

/// Converts numbers to the byte order of this machine, in place.
fn swap_to_native(item: &Type, bytes: &mut [u8]) {
    let size = match item.kind {
        _ if item.big_endian == NATIVE_BIG_ENDIAN => return,
        Kind::Str => 4,
        Kind::Complex => item.size / 2,
        Kind::Float | Kind::Int | Kind::Uint | Kind::Datetime(_) | Kind::Timedelta(_) => item.size,
        _ => return,
    };
    match size {
        2 => bytes
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .for_each(|b| b.reverse()),
        4 => bytes
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .for_each(|b| b.reverse()),
        8 => bytes
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .for_each(|b| b.reverse()),
        // types without an Arrow equivalent keep the byte order that the metadata states
        _ => {}
    }
}

/// Exports floating-point numbers with NaN as null.
fn floats_with_null_nans(size: usize, n: usize, bytes: Buffer) -> Result<Data> {
    // NaN: the bits without the sign are above those of infinity
    let half_is_nan = |b: &[u8; 2]| u16::from_ne_bytes(*b) << 1 > 0xf800;
    let all = bytes.get();
    let is_nan: Vec<bool> = match size {
        2 => all.as_chunks::<2>().0.iter().map(half_is_nan).collect(),
        4 => all
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_ne_bytes(*b).is_nan())
            .collect(),
        _ => all
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| f64::from_ne_bytes(*b).is_nan())
            .collect(),
    };
    Data::plain(n, bytes).with_nulls(&is_nan)
}

/// Copies one field of each of `n` structures to a contiguous buffer.
fn gather_field(f: &dtype::Field, size: usize, n: usize, bytes: &[u8]) -> Result<Buffer> {
    let mut part = Buffer::zeroed(f.item.size.saturating_mul(n))?;
    if f.item.size > 0 {
        for (to, from) in part
            .get_mut()
            .chunks_exact_mut(f.item.size)
            .zip(bytes.chunks_exact(size))
        {
            to.copy_from_slice(from.at(f.offset..f.offset + f.item.size)?);
        }
    }
    Ok(part)
}

/// Builds values of variable length: offsets and bytes.
pub struct BinaryBuilder {
    offsets: Buffer,
    bytes: Buffer,
    done: usize,
    end: usize,
}

impl BinaryBuilder {
    /// Allocates space for `n` values of at most `bytes` bytes in total.
    pub fn new(n: usize, bytes: usize) -> Result<BinaryBuilder> {
        if i32::try_from(bytes).is_err() {
            return Err(fail!(
                Limit,
                "batch: {bytes} bytes of text exceed the 32-bit offsets of Arrow (limit {}); request fewer rows per batch",
                i32::MAX
            ));
        }
        Ok(BinaryBuilder {
            offsets: Buffer::zeroed((n + 1) * 4)?,
            bytes: Buffer::zeroed(bytes)?,
            done: 0,
            end: 0,
        })
    }

    /// Appends bytes to the current value.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.end + bytes.len();
        self.bytes
            .get_mut()
            .at_mut(self.end..end)?
            .copy_from_slice(bytes);
        self.end = end;
        Ok(())
    }

    /// Finishes the current value.
    pub fn finish_value(&mut self) -> Result<()> {
        self.done += 1;
        let (at, end) = (self.done * 4, self.end as i32);
        self.offsets
            .get_mut()
            .at_mut(at..at + 4)?
            .copy_from_slice(&end.to_ne_bytes());
        Ok(())
    }

    /// Returns the array of all `n` values.
    pub fn finish(self, n: usize) -> Data {
        Data::variable(n, self.offsets, self.bytes.truncated(self.end))
    }
}

/// Iterates over `n` items of `size` bytes, where `size` may be 0.
fn items(bytes: &[u8], size: usize, n: usize) -> impl Iterator<Item = Result<&[u8]>> {
    (0..n).map(move |i| bytes.at(i * size..(i + 1) * size))
}

/// Exports byte strings of fixed length without the trailing zeros.
fn bytes_to_text(size: usize, n: usize, bytes: &[u8], at: RowContext) -> Result<Data> {
    let mut texts = BinaryBuilder::new(n, bytes.len())?;
    let is_valid = at.options.binary || bytes.is_ascii();
    for (i, item) in items(bytes, size, n).enumerate() {
        let item = trim_zeros(item?);
        if !is_valid && std::str::from_utf8(item).is_err() {
            let message = format!(
                "\"{}\" is not UTF-8; set HOLDALL_OPT_ARROW_BINARY to export bytes as binary",
                item.escape_ascii()
            );
            return Err(at.fail(Status::Type, i, message));
        }
        texts.push_bytes(item)?;
        texts.finish_value()?;
    }
    Ok(texts.finish(n))
}

/// Exports strings of UTF-32 characters without the trailing zeros, as UTF-8.
fn utf32_to_text(size: usize, n: usize, bytes: &[u8], at: RowContext) -> Result<Data> {
    // the UTF-8 form of a character is at most as long as the UTF-32 form
    let mut texts = BinaryBuilder::new(n, bytes.len())?;
    for (i, item) in items(bytes, size, n).enumerate() {
        for character in trim_zeros(item?.as_chunks::<4>().0) {
            let number = u32::from_ne_bytes(*character);
            let invalid = || {
                at.fail(
                    Status::Format,
                    i,
                    format_args!("{number:#x} is not a Unicode character"),
                )
            };
            texts.push_bytes(
                char::from_u32(number)
                    .ok_or_else(invalid)?
                    .encode_utf8(&mut [0; 4])
                    .as_bytes(),
            )?;
        }
        texts.finish_value()?;
    }
    Ok(texts.finish(n))
}

/// Exports datetimes or durations, with NaT as null.
fn times(
    unit: &str,
    is_datetime: bool,
    n: usize,
    mut bytes: Buffer,
    at: RowContext,
) -> Result<Data> {
    let unsupported = || fail!(Type, "unsupported time unit {unit:?}");
    let format = arrow_format(unit, is_datetime).ok_or_else(unsupported)?;
    let conversion = numpy_step(unit)
        .zip(arrow_step(&format))
        .and_then(|(from, to)| TimeConversion::new(from, to, is_datetime))
        .ok_or_else(unsupported)?;
    let number = |b: &[u8; 8]| i64::from_ne_bytes(*b);
    let nulls: Option<Vec<bool>> = {
        let all = bytes.get().as_chunks::<8>().0;
        all.iter()
            .any(|b| number(b) == NAT)
            .then(|| all.iter().map(|b| number(b) == NAT).collect())
    };
    let not_representable = |i, n: i64| {
        at.fail(
            Status::Type,
            i,
            format_args!(
                "{n} in the unit {unit:?}: not representable in the Arrow type {:?}",
                format.format_string()
            ),
        )
    };
    let converted = |i, b: &[u8; 8]| match number(b) {
        NAT => Ok(0),
        n => conversion.apply(n).ok_or_else(|| not_representable(i, n)),
    };
    if matches!(format, Format::Date | Format::Months) {
        let mut narrow = Buffer::zeroed(n.saturating_mul(4))?;
        for (i, (to, from)) in narrow
            .get_mut()
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(bytes.get().as_chunks::<8>().0)
            .enumerate()
        {
            *to = i32::try_from(converted(i, from)?)
                .map_err(|_| not_representable(i, number(from)))?
                .to_ne_bytes();
        }
        bytes = narrow;
    } else if !conversion.is_identity() {
        for (i, b) in bytes
            .get_mut()
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .enumerate()
        {
            *b = converted(i, b)?.to_ne_bytes();
        }
    }
    let data = Data::plain(n, bytes);
    match nulls {
        Some(nulls) => data.with_nulls(&nulls),
        None => Ok(data),
    }
}
