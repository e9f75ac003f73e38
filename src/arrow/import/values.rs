//! Converts the values of a batch to items, as described by a [`Plan`].
#![forbid(unsafe_code)]

use super::numbers::{Number, convert_number, integer, push_number};
use super::{Conversion, Plan, TextTarget};
use crate::alloc;
use crate::arrow::export::RowContext;
use crate::arrow::ffi::ArrayView;
use crate::arrow::format::{Field, Format, OffsetLayout};
use crate::arrow::time_units::{NAT, TimeConversion};
use crate::error::{Error, Result, Status, fail};
use crate::slice::{SliceExt, trim_zeros};
use std::ops::Range;

/// The selected values of an array.
#[derive(Clone)]
pub enum ValueIndices {
    /// A range of indices.
    Range(Range<usize>),
    /// A list of indices; `None` is a null.
    List(Vec<Option<usize>>),
}

impl ValueIndices {
    fn len(&self) -> usize {
        match self {
            ValueIndices::Range(run) => run.len(),
            ValueIndices::List(all) => all.len(),
        }
    }

    fn get(&self, k: usize) -> Option<usize> {
        match self {
            ValueIndices::Range(run) => Some(run.start + k),
            ValueIndices::List(all) => all.get(k).copied().flatten(),
        }
    }

    /// Converts indices of an array to indices of its buffers, where the array starts at `offset`
    /// and has `len` values.
    fn in_buffers(self, offset: usize, len: usize) -> Result<ValueIndices> {
        let outside = |i| fail!(Argument, "Arrow array: value {i} of {len} is needed");
        match self {
            ValueIndices::Range(run) if run.end <= len => {
                Ok(ValueIndices::Range(run.start + offset..run.end + offset))
            }
            ValueIndices::Range(run) => Err(outside(run.end)),
            ValueIndices::List(mut all) => {
                for i in all.iter_mut().flatten() {
                    *i = if *i < len {
                        *i + offset
                    } else {
                        return Err(outside(*i));
                    };
                }
                Ok(ValueIndices::List(all))
            }
        }
    }

    /// Turns values that are not valid in the bitmap `bits` into nulls.
    fn masked(self, bits: &[u8]) -> Result<ValueIndices> {
        let is_valid = |i: &usize| bits.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 1);
        match self {
            ValueIndices::Range(run) if run.clone().all(|i| is_valid(&i)) => {
                Ok(ValueIndices::Range(run))
            }
            indices => indices.mapped(1, |i, list| list.push(i.filter(is_valid))),
        }
    }

    /// Replaces each index by `n` others.
    fn mapped(
        &self,
        n: usize,
        f: impl Fn(Option<usize>, &mut Vec<Option<usize>>),
    ) -> Result<ValueIndices> {
        let mut list = alloc::with_capacity(self.len().saturating_mul(n))?;
        (0..self.len()).for_each(|k| f(self.get(k), &mut list));
        Ok(ValueIndices::List(list))
    }

    /// Returns the indices of the items of lists of length `n`.
    fn list_items(&self, n: usize) -> Result<ValueIndices> {
        match self {
            ValueIndices::Range(run) => match (run.start.checked_mul(n), run.end.checked_mul(n)) {
                (Some(start), Some(end)) => Ok(ValueIndices::Range(start..end)),
                _ => Err(fail!(
                    Argument,
                    "Arrow array: {} lists of {n} items exceed the address space",
                    run.end
                )),
            },
            // an index that overflows is out of range, which the conversion of the items reports
            indices => indices.mapped(n, |i, list| {
                list.extend((0..n).map(|j| i.map(|i| i.saturating_mul(n).saturating_add(j))))
            }),
        }
    }
}

/// Returns the index of the first null among `values`, if there is one.
pub fn first_null(view: ArrayView, field: &Field, values: Range<usize>) -> Result<Option<usize>> {
    let (offset, len, nulls) = view.check(field)?;
    let bits = view
        .optional_buffer(0, (offset + len).div_ceil(8))
        .filter(|_| nulls);
    let is_null = |bits: &[u8], i: usize| bits.get(i / 8).is_none_or(|b| b >> (i % 8) & 1 == 0);
    Ok(bits.and_then(|bits| values.into_iter().find(|i| is_null(bits, i + offset))))
}

/// Converts the selected values of an array and appends the items to `out`.
pub fn pack(
    plan: &Plan,
    field: &Field,
    view: ArrayView,
    indices: ValueIndices,
    at: RowContext,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (offset, len, nulls) = view.check(field)?;
    let all = offset + len;
    let mut indices = indices.in_buffers(offset, len)?;
    if field.format == Format::Null {
        indices = indices.mapped(1, |_, list| list.push(None))?;
    } else if let Some(bits) = view.optional_buffer(0, all.div_ceil(8)).filter(|_| nulls) {
        indices = indices.masked(bits)?;
    }
    alloc::reserve(out, indices.len().saturating_mul(plan.size))?;
    let from = Values {
        plan,
        view,
        all,
        indices: &indices,
        at,
    };
    match &plan.conversion {
        Conversion::Nulls => from.each(out, Ok, &mut |_, _| Ok(())),
        Conversion::Same { swapped } => from.same(*swapped, out),
        Conversion::Bits => from.bits(out),
        Conversion::Numbers { from: a, to, big } => from.numbers(*a, *to, *big, out),
        Conversion::Times {
            narrow,
            conversion,
            big,
        } => from.times(*narrow, conversion, *big, out),
        Conversion::Bytes { from: a, to } => from.bytes(a, *to, out),
        Conversion::List(n, inner) => {
            let part = field.children.first().ok_or_else(wrong_plan)?;
            let at = RowContext {
                per_row: at.per_row.saturating_mul(*n as u64),
                ..at
            };
            pack(
                inner,
                part,
                view.child(0)?,
                indices.list_items(*n)?,
                at,
                out,
            )
        }
        Conversion::Struct(fields) => from.fields(field, fields, out),
        Conversion::Dictionary(number, values) => {
            let field = field.dictionary.as_deref().ok_or_else(wrong_plan)?;
            pack(
                values,
                field,
                view.dictionary()?,
                from.dictionary_indices(*number, &view.dictionary()?, field)?,
                at,
                out,
            )
        }
    }
}

fn wrong_plan() -> Error {
    fail!(State, "Arrow array: the plan is for another type")
}

/// Converts a value and appends it, or returns an error message.
type ConvertValue<'a, V> = &'a mut dyn FnMut(V, &mut Vec<u8>) -> std::result::Result<(), String>;

/// The values to convert.
struct Values<'a> {
    plan: &'a Plan,
    view: ArrayView<'a>,
    /// The number of values in the buffers, including those before the offset of the array.
    all: usize,
    indices: &'a ValueIndices,
    at: RowContext<'a>,
}

impl<'a> Values<'a> {
    /// Converts each value, which `get` returns for its index, with `convert`, and nulls to the
    /// item that represents them.
    fn each<V>(
        &self,
        out: &mut Vec<u8>,
        get: impl Fn(usize) -> Result<V>,
        convert: ConvertValue<V>,
    ) -> Result<()> {
        let Plan {
            null, item_type, ..
        } = self.plan;
        for k in 0..self.indices.len() {
            let result = match (self.indices.get(k), null) {
                (Some(i), _) => convert(get(i)?, out),
                (None, Some(null)) => {
                    out.extend_from_slice(null);
                    Ok(())
                }
                (None, None) => Err(format!("a null, which {item_type} cannot represent")),
            };
            result.map_err(|message| self.at.fail(Status::Type, k, message))?;
        }
        Ok(())
    }

    /// Converts each value of `size` bytes.
    fn each_fixed(
        &self,
        size: usize,
        out: &mut Vec<u8>,
        convert: ConvertValue<&'a [u8]>,
    ) -> Result<()> {
        let values = self.fixed(size)?;
        self.each(out, |i| values.at(i * size..(i + 1) * size), convert)
    }

    /// Returns the buffer of all values of a fixed size.
    fn fixed(&self, size: usize) -> Result<&'a [u8]> {
        self.view.buffer(1, self.all.saturating_mul(size))
    }

    fn same(&self, swapped: bool, out: &mut Vec<u8>) -> Result<()> {
        let size = self.plan.size;
        if let (ValueIndices::Range(run), false) = (self.indices, swapped) {
            let values = self.fixed(size)?;
            out.extend_from_slice(values.at(run.start * size..run.end * size)?);
            return Ok(());
        }
        self.each_fixed(size, out, &mut |value, out| {
            if swapped {
                out.extend(value.iter().rev());
            } else {
                out.extend_from_slice(value);
            }
            Ok(())
        })
    }

    fn bits(&self, out: &mut Vec<u8>) -> Result<()> {
        let bits = self.view.buffer(1, self.all.div_ceil(8))?;
        let get = |i: usize| Ok(bits.at(i / 8)? >> (i % 8) & 1);
        self.each(out, get, &mut |bit, out| {
            out.push(bit);
            Ok(())
        })
    }

    fn numbers(&self, from: Number, to: Number, big: bool, out: &mut Vec<u8>) -> Result<()> {
        let (size, signed) = (
            from.size(),
            matches!(from, Number::Int { signed: true, .. }),
        );
        self.each_fixed(size, out, &mut |value, out| {
            // only integers can fail: a plan converts floats to larger floats
            convert_number(value, from, to, big, out).ok_or_else(|| {
                format!(
                    "{} is not representable as {}",
                    integer(value, signed),
                    self.plan.item_type
                )
            })
        })
    }

    fn times(
        &self,
        narrow: bool,
        conversion: &TimeConversion,
        big: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let size = if narrow { 4 } else { 8 };
        self.each_fixed(size, out, &mut |value, out| {
            let n = integer(value, true) as i64;
            let converted = conversion.apply(n).filter(|n| *n != NAT);
            push_number(
                converted
                    .ok_or_else(|| {
                        format!(
                            "the time {n} is not representable as {}",
                            self.plan.item_type
                        )
                    })?
                    .to_le_bytes(),
                big,
                out,
            );
            Ok(())
        })
    }

    fn fields(
        &self,
        field: &Field,
        fields: &[(usize, usize, Plan)],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (from, size) = (out.len(), self.plan.size);
        out.resize(from + self.indices.len() * size, 0);
        for (child, offset, plan) in fields {
            let mut values = Vec::new();
            let child_field = field.children.get(*child).ok_or_else(wrong_plan)?;
            let inner = pack(
                plan,
                child_field,
                self.view.child(*child)?,
                self.indices.clone(),
                self.at,
                &mut values,
            );
            inner.map_err(|e| e.within(format_args!("field {:?}", child_field.name)))?;
            if plan.size == 0 {
                continue;
            }
            let items = out.at_mut(from..)?.chunks_exact_mut(size);
            for (to, value) in items.zip(values.chunks_exact(plan.size)) {
                to.at_mut(*offset..offset + plan.size)?
                    .copy_from_slice(value);
            }
        }
        Ok(())
    }

    /// Returns the indices of the dictionary that the values contain.
    fn dictionary_indices(
        &self,
        number: Number,
        dictionary: &ArrayView,
        field: &Field,
    ) -> Result<ValueIndices> {
        let (size, signed) = (
            number.size(),
            matches!(number, Number::Int { signed: true, .. }),
        );
        let numbers = self.fixed(size)?;
        let (_, len, _) = dictionary.check(field)?;
        let mut list = alloc::with_capacity(self.indices.len())?;
        for k in 0..self.indices.len() {
            let number = |i| numbers.at(i * size..(i + 1) * size);
            let number = self.indices.get(k).map(number).transpose()?;
            let index = number
                .map(|number| integer(number, signed))
                .map(|n| usize::try_from(n).ok().filter(|n| *n < len).ok_or(n))
                .transpose();
            list.push(index.map_err(|n| {
                self.at.fail(
                    Status::Argument,
                    k,
                    format_args!("index {n} in a dictionary of {len} values"),
                )
            })?);
        }
        Ok(ValueIndices::List(list))
    }

    fn bytes(&self, from: &Format, to: TextTarget, out: &mut Vec<u8>) -> Result<()> {
        let lookup = ByteStrings::new(self.view, from, self.all)?;
        let padded = matches!(from, Format::Fixed(_));
        let (size, item_type) = (self.plan.size, &self.plan.item_type);
        self.each(
            out,
            |i| Ok(lookup.get(i)),
            &mut |value: Option<&[u8]>, out| {
                let value = value
                    .ok_or_else(|| "its bytes are outside the buffers of the array".to_owned())?;
                let end = out.len() + size;
                let trimmed = trim_zeros(value);
                let value = match to {
                    TextTarget::Exact => value,
                    _ if padded => trimmed,
                    _ if trimmed.len() < value.len() => {
                        return Err(format!(
                            "\"{}\" ends with a zero byte, which {item_type} cannot store",
                            value.escape_ascii()
                        ));
                    }
                    _ => value,
                };
                match to {
                    TextTarget::Utf32 { big } => {
                        let text = std::str::from_utf8(value).map_err(|e| {
                            format!("\"{}\" is not UTF-8: {e}", value.escape_ascii())
                        })?;
                        text.chars()
                            .for_each(|c| push_number(u32::from(c).to_le_bytes(), big, out));
                    }
                    _ => out.extend_from_slice(value),
                }
                let exact = matches!(to, TextTarget::Exact);
                if out.len() > end || (exact && out.len() < end) {
                    return Err(format!(
                        "\"{}\" does not fit into {item_type}",
                        value.escape_ascii()
                    ));
                }
                out.resize(end, 0);
                Ok(())
            },
        )
    }
}

/// The byte strings of an array.
pub enum ByteStrings<'a> {
    Fixed(usize, &'a [u8]),
    Offsets32(&'a [u8], &'a [u8]),
    Offsets64(&'a [u8], &'a [u8]),
    Views(&'a [u8], Vec<&'a [u8]>),
}

impl<'a> ByteStrings<'a> {
    /// Finds the byte strings of an array with `all` values, including those before its offset.
    pub fn new(view: ArrayView<'a>, format: &Format, all: usize) -> Result<ByteStrings<'a>> {
        let layout = match format {
            Format::Fixed(size) => {
                return Ok(ByteStrings::Fixed(
                    *size,
                    view.buffer(1, all.saturating_mul(*size))?,
                ));
            }
            Format::Variable { layout, .. } => *layout,
            _ => return Err(wrong_plan()),
        };
        let invalid = |n: i128| fail!(Argument, "Arrow array: its bytes end at {n}");
        let bytes = |width: usize| {
            let offsets = if all == 0 {
                &[]
            } else {
                view.buffer(1, (all + 1).saturating_mul(width))?
            };
            let end = offsets
                .len()
                .checked_sub(width)
                .and_then(|last| offsets.get(last..))
                .map_or(0, |last| integer(last, true));
            Ok::<_, Error>((
                offsets,
                view.buffer(2, usize::try_from(end).map_err(|_| invalid(end))?)?,
            ))
        };
        match layout {
            OffsetLayout::Offsets32 => {
                bytes(4).map(|(offsets, bytes)| ByteStrings::Offsets32(offsets, bytes))
            }
            OffsetLayout::Offsets64 => {
                bytes(8).map(|(offsets, bytes)| ByteStrings::Offsets64(offsets, bytes))
            }
            OffsetLayout::View => {
                let buffers = view.buffers() - 3;
                let sizes = view
                    .buffer(view.buffers() - 1, buffers.saturating_mul(8))?
                    .as_chunks::<8>()
                    .0;
                let one = |(i, size): (usize, &[u8; 8])| {
                    let size = i64::from_ne_bytes(*size);
                    view.buffer(
                        2 + i,
                        usize::try_from(size).map_err(|_| invalid(size.into()))?,
                    )
                };
                let all_bytes = sizes.iter().enumerate().map(one).collect::<Result<_>>()?;
                Ok(ByteStrings::Views(
                    view.buffer(1, all.saturating_mul(16))?,
                    all_bytes,
                ))
            }
        }
    }

    /// Returns one of them. `None` if it is not in the buffers.
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        match self {
            ByteStrings::Fixed(size, bytes) => bytes.get(i * size..(i + 1) * size),
            ByteStrings::Offsets32(offsets, bytes) => {
                let all = offsets.as_chunks::<4>().0;
                let [from, to] = [
                    i32::from_ne_bytes(*all.get(i)?),
                    i32::from_ne_bytes(*all.get(i + 1)?),
                ];
                bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            }
            ByteStrings::Offsets64(offsets, bytes) => {
                let all = offsets.as_chunks::<8>().0;
                let [from, to] = [
                    i64::from_ne_bytes(*all.get(i)?),
                    i64::from_ne_bytes(*all.get(i + 1)?),
                ];
                bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            }
            ByteStrings::Views(views, buffers) => {
                let view = views.as_chunks::<16>().0.get(i)?;
                let &[len, _, buffer, from] = view.as_chunks().0 else {
                    return None;
                };
                let [len, buffer, from] = [len, buffer, from].map(i32::from_ne_bytes);
                let len = usize::try_from(len).ok()?;
                if len <= 12 {
                    return views.get(i * 16 + 4..i * 16 + 4 + len);
                }
                let from = usize::try_from(from).ok()?;
                buffers
                    .get(usize::try_from(buffer).ok()?)?
                    .get(from..from.checked_add(len)?)
            }
        }
    }
}
