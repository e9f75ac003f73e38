//! Converts Arrow arrays to values of any length: texts, bytes, and lists and structures in
//! MessagePack. Values of any type are binary, and MessagePack already. A value that has no exact
//! equivalent is an error.
#![forbid(unsafe_code)]

use super::numbers::{Number, float, integer};
use super::values::ByteStrings;
use super::{UTC_ZONES, match_fields, number_of};
use crate::array::store::Texts;
use crate::arrow::export::RowContext;
use crate::arrow::ffi::ArrayView;
use crate::arrow::format::{Field, Format, OffsetLayout};
use crate::arrow::time_units::{TimeConversion, arrow_step, numpy_step};
use crate::dtype::packed::PackedType;
use crate::error::{Error, Result, Status, fail};
use crate::msgpack::{self, Token};
use crate::slice::SliceExt;
use std::ops::Range;

/// Returns an error unless values of an Arrow type can be those of a type.
pub fn check_type(field: &Field, of: &PackedType) -> Result<()> {
    if let Some(values) = &field.dictionary {
        return match number_of(&field.format) {
            Some(Number::Int { .. }) => check_type(values, of),
            _ => Err(mismatch(field, of)),
        };
    }
    let fits = match (of, &field.format) {
        (_, Format::Null) => true,
        (PackedType::Bool, Format::Bool) | (PackedType::Int { .. }, Format::Int { .. }) => true,
        (PackedType::Float(to), Format::Float(from)) => from <= to,
        (PackedType::Text, Format::Variable { text, .. }) => *text,
        (PackedType::Bytes, Format::Variable { .. } | Format::Fixed(_)) => true,
        (PackedType::Any, Format::Variable { text, .. }) => !*text,
        (PackedType::Time(unit), from) => conversion(from, unit).is_some(),
        (PackedType::List(item), Format::VariableList(_) | Format::List(_)) => {
            let Some(child) = field.children.first() else {
                return Err(mismatch(field, of));
            };
            return check_type(child, item);
        }
        (PackedType::Struct(fields), Format::Struct) => {
            let children = match_fields(&field.children, fields.iter().map(|(name, _)| &**name))?;
            let mut both = children.into_iter().zip(fields);
            return both.try_for_each(|((_, child), (_, of))| check_type(child, of));
        }
        _ => false,
    };
    match fits {
        true => Ok(()),
        false => Err(mismatch(field, of)),
    }
}

fn mismatch(field: &Field, of: &PackedType) -> Error {
    let found = field.describe();
    fail!(
        Type,
        "values of the type {found} cannot be converted to {of}"
    )
}

fn conversion(from: &Format, unit: &str) -> Option<TimeConversion> {
    let is_time = match from {
        Format::Timestamp(_, zone) => UTC_ZONES.contains(&zone.as_str()),
        Format::DateMs => true,
        _ => false,
    };
    let steps = || arrow_step(from).zip(numpy_step(unit));
    let (from, to) = steps().filter(|_| is_time)?;
    TimeConversion::new(from, to, true)
}

/// Adds rows of an array to a list of values; those of texts and bytes as they are, others in
/// MessagePack.
pub fn push_rows(
    of: &PackedType,
    field: &Field,
    view: ArrayView,
    rows: Range<usize>,
    at: RowContext,
    to: &mut Texts,
) -> Result<()> {
    let values = Values::new(of, field, view)?;
    if rows.end > values.len {
        let len = values.len;
        return Err(fail!(
            Argument,
            "Arrow array: value {} of {len} is needed",
            rows.end
        ));
    }
    let is_plain = matches!(of, PackedType::Text | PackedType::Bytes);
    let mut packed = Vec::new();
    for (k, i) in rows.enumerate() {
        let wrong = |e: Wrong| match e {
            Wrong::Value(message) => at.fail(Status::Type, k, message),
            Wrong::Array(e) => e,
        };
        if is_plain {
            let bytes = values.bytes(i).map_err(wrong)?;
            to.push(bytes.unwrap_or_default(), bytes.is_none())?;
            continue;
        }
        packed.clear();
        let is_null = values.is_null(i);
        if !is_null {
            values.put(i, &mut packed).map_err(wrong)?;
        }
        to.push(&packed, is_null)?;
    }
    Ok(())
}

/// Why a value was not converted.
enum Wrong {
    /// The value has no equivalent.
    Value(String),
    /// The array is invalid.
    Array(Error),
}

impl From<Error> for Wrong {
    fn from(e: Error) -> Wrong {
        Wrong::Array(e)
    }
}

type Put<T> = std::result::Result<T, Wrong>;

/// The values of an array.
struct Values<'a> {
    of: &'a PackedType,
    /// The index of the first value in the buffers.
    offset: usize,
    len: usize,
    valid: Option<&'a [u8]>,
    form: Form<'a>,
}

enum Form<'a> {
    Nulls,
    Bits(&'a [u8]),
    Numbers(Number, &'a [u8]),
    Times(TimeConversion, &'a [u8]),
    Strings(ByteStrings<'a>),
    /// The end of each list, in integers of some bytes, and the items.
    Lists(usize, &'a [u8], Box<Values<'a>>),
    /// Lists of a fixed number of items.
    Arrays(usize, Box<Values<'a>>),
    Fields(Vec<(&'a str, Values<'a>)>),
    Dictionary(Number, &'a [u8], Box<Values<'a>>),
}

impl<'a> Values<'a> {
    fn new(of: &'a PackedType, field: &'a Field, view: ArrayView<'a>) -> Result<Values<'a>> {
        let (offset, len, nulls) = view.check(field)?;
        let all = offset + len;
        let valid = view.optional_buffer(0, all.div_ceil(8)).filter(|_| nulls);
        let numbers = |number: Number| {
            let bytes = view.buffer(1, all.saturating_mul(number.size()))?;
            Ok::<_, Error>((number, bytes))
        };
        let form = match (&field.dictionary, of, &field.format) {
            (Some(values), ..) => {
                let number = number_of(&field.format).ok_or_else(|| mismatch(field, of))?;
                let (number, bytes) = numbers(number)?;
                let values = Values::new(of, values, view.dictionary()?)?;
                Form::Dictionary(number, bytes, Box::new(values))
            }
            (_, _, Format::Null) => Form::Nulls,
            (_, PackedType::Bool, _) => Form::Bits(view.buffer(1, all.div_ceil(8))?),
            (_, PackedType::Int { .. } | PackedType::Float(_), format) => {
                let number = number_of(format).ok_or_else(|| mismatch(field, of))?;
                let (number, bytes) = numbers(number)?;
                Form::Numbers(number, bytes)
            }
            (_, PackedType::Time(unit), format) => {
                let conversion = conversion(format, unit).ok_or_else(|| mismatch(field, of))?;
                Form::Times(conversion, view.buffer(1, all.saturating_mul(8))?)
            }
            (_, PackedType::Text | PackedType::Bytes | PackedType::Any, format) => {
                Form::Strings(ByteStrings::new(view, format, all)?)
            }
            (_, PackedType::List(item), format) => {
                let child = field.children.first().ok_or_else(|| mismatch(field, of))?;
                let items = Box::new(Values::new(item, child, view.child(0)?)?);
                match format {
                    Format::List(n) => Form::Arrays(*n, items),
                    Format::VariableList(layout) => {
                        let width = if *layout == OffsetLayout::Offsets64 {
                            8
                        } else {
                            4
                        };
                        let n = if all == 0 { 0 } else { all + 1 };
                        Form::Lists(width, view.buffer(1, n.saturating_mul(width))?, items)
                    }
                    _ => return Err(mismatch(field, of)),
                }
            }
            (_, PackedType::Struct(fields), _) => {
                let names = fields.iter().map(|(name, _)| &**name);
                let children = match_fields(&field.children, names)?;
                let both = children.into_iter().zip(fields);
                let both = both.map(|((i, child), (name, of))| {
                    Ok((&**name, Values::new(of, child, view.child(i)?)?))
                });
                Form::Fields(both.collect::<Result<_>>()?)
            }
        };
        Ok(Values {
            of,
            offset,
            len,
            valid,
            form,
        })
    }

    /// Returns whether a value is null.
    fn is_null(&self, i: usize) -> bool {
        let at = self.offset + i;
        let bit = |bits: &[u8]| bits.get(at / 8).is_some_and(|b| b >> (at % 8) & 1 == 1);
        matches!(self.form, Form::Nulls) || self.valid.is_some_and(|bits| !bit(bits))
    }

    /// Returns the index of a value in a dictionary.
    fn in_dictionary(
        &self,
        i: usize,
        (number, numbers, values): (Number, &[u8], &Values),
    ) -> Put<usize> {
        let size = number.size();
        let at = (self.offset + i) * size;
        let n = integer(numbers.at(at..at + size)?, true);
        match usize::try_from(n).ok().filter(|n| *n < values.len) {
            Some(n) => Ok(n),
            None => Err(Wrong::Value(format!(
                "index {n} in a dictionary of {} values",
                values.len
            ))),
        }
    }

    /// Returns the bytes of a text, or bytes; `None`: it is null.
    fn bytes(&self, i: usize) -> Put<Option<&'a [u8]>> {
        match &self.form {
            _ if self.is_null(i) => Ok(None),
            Form::Strings(strings) => match strings.get(self.offset + i) {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(Wrong::Value(
                    "its bytes are outside the buffers of the array".to_owned(),
                )),
            },
            Form::Dictionary(number, numbers, values) => {
                values.bytes(self.in_dictionary(i, (*number, numbers, values))?)
            }
            _ => Err(mismatch_of(self.of).into()),
        }
    }

    /// Appends a value in MessagePack.
    fn put(&self, i: usize, out: &mut Vec<u8>) -> Put<()> {
        if self.is_null(i) {
            msgpack::put(out, Token::Nil);
            return Ok(());
        }
        let at = self.offset + i;
        match &self.form {
            Form::Nulls => msgpack::put(out, Token::Nil),
            Form::Bits(bits) => {
                let byte = bits.at(at / 8..=at / 8)?.first().copied().unwrap_or(0);
                msgpack::put(out, Token::Bool(byte >> (at % 8) & 1 == 1));
            }
            Form::Numbers(number, all) => {
                let size = number.size();
                let bytes = all.at(at * size..(at + 1) * size)?;
                self.put_number(*number, bytes, out)?;
            }
            Form::Times(conversion, all) => {
                let n = integer(all.at(at * 8..(at + 1) * 8)?, true) as i64;
                let converted = conversion.apply(n);
                let n = converted.ok_or_else(|| self.unfit(format_args!("the time {n}")))?;
                msgpack::put(out, Token::Int(n));
            }
            Form::Strings(_) => {
                let bytes = self.bytes(i)?.unwrap_or_default();
                match self.of {
                    PackedType::Any => {
                        let checked = self.of.check(bytes);
                        checked.map_err(|e| Wrong::Value(e.message))?;
                        out.extend_from_slice(bytes);
                    }
                    PackedType::Bytes => msgpack::put(out, Token::Bytes(bytes)),
                    _ => msgpack::put(out, Token::Text(bytes)),
                }
            }
            Form::Lists(width, ends, items) => {
                let end = |at: usize| integer_at(ends, *width, at);
                let (Some(from), Some(to)) = (end(at)?, end(at + 1)?) else {
                    return Err(fail!(Argument, "Arrow array: a list ends before 0").into());
                };
                items.put_list(from..to, out)?;
            }
            Form::Arrays(n, items) => {
                let from = at.saturating_mul(*n);
                items.put_list(from..from.saturating_add(*n), out)?;
            }
            Form::Fields(fields) => {
                msgpack::put(out, Token::Map(fields.len() as u64));
                for (name, values) in fields {
                    msgpack::put(out, Token::Text(name.as_bytes()));
                    if at >= values.len {
                        let (n, len) = (at, values.len);
                        return Err(fail!(Argument, "Arrow array: value {n} of {len}").into());
                    }
                    values.put(at, out)?;
                }
            }
            Form::Dictionary(number, numbers, values) => {
                values.put(self.in_dictionary(i, (*number, numbers, values))?, out)?;
            }
        }
        Ok(())
    }

    fn put_list(&self, items: Range<usize>, out: &mut Vec<u8>) -> Put<()> {
        if items.start > items.end || items.end > self.len {
            let len = self.len;
            return Err(fail!(
                Argument,
                "Arrow array: a list has the items {items:?} of {len}"
            )
            .into());
        }
        msgpack::put(out, Token::Array(items.len() as u64));
        items.into_iter().try_for_each(|i| self.put(i, out))
    }

    fn put_number(&self, number: Number, bytes: &[u8], out: &mut Vec<u8>) -> Put<()> {
        let Number::Int { signed, .. } = number else {
            msgpack::put(out, Token::Float(float(bytes)));
            return Ok(());
        };
        let n = integer(bytes, signed);
        let range = match self.of {
            PackedType::Int { signed: true, size } => {
                -(1i128 << (8 * size - 1))..1 << (8 * size - 1)
            }
            PackedType::Int { size, .. } => 0..1i128 << (8 * size),
            _ => return Err(mismatch_of(self.of).into()),
        };
        let n = Some(n)
            .filter(|n| range.contains(n))
            .ok_or_else(|| self.unfit(n))?;
        let token = match u64::try_from(n) {
            Ok(n) => Token::Uint(n),
            Err(_) => Token::Int(n as i64),
        };
        msgpack::put(out, token);
        Ok(())
    }

    fn unfit(&self, value: impl std::fmt::Display) -> Wrong {
        Wrong::Value(format!("{value} is not representable as {}", self.of))
    }
}

/// Returns one of several integers, if it is not negative.
fn integer_at(integers: &[u8], width: usize, i: usize) -> Result<Option<usize>> {
    let bytes = integers.at(i * width..(i + 1) * width)?;
    Ok(usize::try_from(integer(bytes, true)).ok())
}

fn mismatch_of(of: &PackedType) -> Error {
    fail!(State, "Arrow array: the type {of} is for another array")
}
