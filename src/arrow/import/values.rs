//! The values of a batch as items, by the [`Plan`] for their type.
#![forbid(unsafe_code)]

use super::numbers::{Number, put, put_number, whole};
use super::{How, Plan, Text};
use crate::alloc;
use crate::arrow::export::At;
use crate::arrow::ffi::View;
use crate::arrow::format::{Ends, Field, Format};
use crate::arrow::times::{NAT, Turn};
use crate::error::{Error, Result, Status, fail};
use std::ops::Range;

/// Which values of an array.
#[derive(Clone)]
pub enum Slots {
    /// These.
    Run(Range<usize>),
    /// Each by itself; nothing for a null.
    Picked(Vec<Option<usize>>),
}

impl Slots {
    fn len(&self) -> usize {
        match self {
            Slots::Run(run) => run.len(),
            Slots::Picked(all) => all.len(),
        }
    }

    fn get(&self, k: usize) -> Option<usize> {
        match self {
            Slots::Run(run) => Some(run.start + k),
            Slots::Picked(all) => all.get(k).copied().flatten(),
        }
    }

    /// As they are in memory, where the array begins `offset` values on and has `len`.
    fn placed(self, offset: usize, len: usize) -> Result<Slots> {
        let outside = |i| {
            fail!(
                Argument,
                "an array of the stream: value {i} of {len} is needed"
            )
        };
        match self {
            Slots::Run(run) if run.end <= len => {
                Ok(Slots::Run(run.start + offset..run.end + offset))
            }
            Slots::Run(run) => Err(outside(run.end)),
            Slots::Picked(mut all) => {
                for i in all.iter_mut().flatten() {
                    *i = if *i < len {
                        *i + offset
                    } else {
                        return Err(outside(*i));
                    };
                }
                Ok(Slots::Picked(all))
            }
        }
    }

    /// Those that are valid; `bits` tell which.
    fn masked(self, bits: &[u8]) -> Result<Slots> {
        let is_valid = |i: &usize| bits.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 1);
        match self {
            Slots::Run(run) if run.clone().all(|i| is_valid(&i)) => Ok(Slots::Run(run)),
            slots => slots.turned(1, |i, picked| picked.push(i.filter(is_valid))),
        }
    }

    /// Each as `n` others.
    fn turned(
        &self,
        n: usize,
        f: impl Fn(Option<usize>, &mut Vec<Option<usize>>),
    ) -> Result<Slots> {
        let mut picked = alloc::with_room(self.len().saturating_mul(n))?;
        (0..self.len()).for_each(|k| f(self.get(k), &mut picked));
        Ok(Slots::Picked(picked))
    }

    /// Those of the parts of lists.
    fn parts(&self, n: usize) -> Result<Slots> {
        match self {
            Slots::Run(run) => match (run.start.checked_mul(n), run.end.checked_mul(n)) {
                (Some(start), Some(end)) => Ok(Slots::Run(start..end)),
                _ => Err(fail!(
                    Argument,
                    "an array of the stream: {} lists of {n} items",
                    run.end
                )),
            },
            // parts that would be beyond all memory are found to be so by who looks for them
            slots => slots.turned(n, |i, picked| {
                picked.extend((0..n).map(|j| i.map(|i| i.saturating_mul(n).saturating_add(j))))
            }),
        }
    }
}

/// The first of these values that is null, where one is.
pub fn first_null(view: View, field: &Field, values: Range<usize>) -> Result<Option<usize>> {
    let (offset, len, nulls) = view.check(field)?;
    let bits = view
        .optional(0, (offset + len).div_ceil(8))
        .filter(|_| nulls);
    let is_null = |bits: &[u8], i: usize| bits.get(i / 8).is_none_or(|b| b >> (i % 8) & 1 == 0);
    Ok(bits.and_then(|bits| values.into_iter().find(|i| is_null(bits, i + offset))))
}

/// Puts the items that these values become behind others.
pub fn pack(
    plan: &Plan,
    field: &Field,
    view: View,
    slots: Slots,
    at: At,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (offset, len, nulls) = view.check(field)?;
    let all = offset + len;
    let mut slots = slots.placed(offset, len)?;
    if field.format == Format::Null {
        slots = slots.turned(1, |_, picked| picked.push(None))?;
    } else if let Some(bits) = view.optional(0, all.div_ceil(8)).filter(|_| nulls) {
        slots = slots.masked(bits)?;
    }
    alloc::reserve(out, slots.len().saturating_mul(plan.size))?;
    let from = Values {
        plan,
        view,
        all,
        slots: &slots,
        at,
    };
    match &plan.how {
        How::Nulls => from.each(out, &mut |_, _| Ok(())),
        How::Same { turned } => from.same(*turned, out),
        How::Bits => from.bits(out),
        How::Numbers { from: a, to, big } => from.numbers(*a, *to, *big, out),
        How::Times { narrow, turn, big } => from.times(*narrow, turn, *big, out),
        How::Bytes { from: a, to } => from.bytes(a, *to, out),
        How::List(n, inner) => {
            let part = field.children.first().ok_or_else(no_child)?;
            let at = At {
                per_row: at.per_row.saturating_mul(*n as u64),
                ..at
            };
            pack(inner, part, view.child(0)?, slots.parts(*n)?, at, out)
        }
        How::Struct(parts) => from.parts(field, parts, out),
        How::Dictionary(number, values) => {
            let field = field.dictionary.as_deref().ok_or_else(no_child)?;
            pack(
                values,
                field,
                view.dictionary()?,
                from.numbered(*number, &view.dictionary()?, field)?,
                at,
                out,
            )
        }
    }
}

fn no_child() -> Error {
    fail!(State, "a plan for another type")
}

/// Puts one value, or says why it cannot.
type Put<'a> = &'a mut dyn FnMut(usize, &mut Vec<u8>) -> std::result::Result<(), String>;

/// What of an array is wanted.
struct Values<'a> {
    plan: &'a Plan,
    view: View<'a>,
    /// Values in memory, those before its first one among them.
    all: usize,
    slots: &'a Slots,
    at: At,
}

impl<'a> Values<'a> {
    /// Puts each of them; nulls as what stands for them.
    fn each(&self, out: &mut Vec<u8>, put: Put) -> Result<()> {
        let Plan { null, words, .. } = self.plan;
        for k in 0..self.slots.len() {
            let done = match (self.slots.get(k), null) {
                (Some(i), _) => put(i, out),
                (None, Some(null)) => {
                    out.extend_from_slice(null);
                    Ok(())
                }
                (None, None) => Err(format!("a null, and nothing in {words} stands for one")),
            };
            done.map_err(|words| self.at.fail(Status::Type, k, words))?;
        }
        Ok(())
    }

    /// All values of so many bytes each.
    fn fixed(&self, size: usize) -> Result<&'a [u8]> {
        self.view.buffer(1, self.all.saturating_mul(size))
    }

    fn same(&self, turned: bool, out: &mut Vec<u8>) -> Result<()> {
        let size = self.plan.size;
        let values = self.fixed(size)?;
        if let (Slots::Run(run), false) = (self.slots, turned) {
            out.extend_from_slice(
                values
                    .get(run.start * size..run.end * size)
                    .unwrap_or_default(),
            );
            return Ok(());
        }
        self.each(out, &mut |i, out| {
            let value = values.get(i * size..(i + 1) * size).unwrap_or_default();
            if turned {
                out.extend(value.iter().rev());
            } else {
                out.extend_from_slice(value);
            }
            Ok(())
        })
    }

    fn bits(&self, out: &mut Vec<u8>) -> Result<()> {
        let bits = self.view.buffer(1, self.all.div_ceil(8))?;
        self.each(out, &mut |i, out| {
            out.push(bits.get(i / 8).map_or(0, |b| b >> (i % 8) & 1));
            Ok(())
        })
    }

    fn numbers(&self, from: Number, to: Number, big: bool, out: &mut Vec<u8>) -> Result<()> {
        let (size, signed) = (
            from.size(),
            matches!(from, Number::Int { signed: true, .. }),
        );
        let values = self.fixed(size)?;
        self.each(out, &mut |i, out| {
            let value = values.get(i * size..(i + 1) * size).unwrap_or_default();
            // floats have a place in all that they may become
            put_number(value, from, to, big, out).ok_or_else(|| {
                format!(
                    "{} is no number of {}",
                    whole(value, signed),
                    self.plan.words
                )
            })
        })
    }

    fn times(&self, narrow: bool, turn: &Turn, big: bool, out: &mut Vec<u8>) -> Result<()> {
        let from = Number::Int {
            signed: true,
            size: if narrow { 4 } else { 8 },
        };
        let values = self.fixed(from.size())?;
        self.each(out, &mut |i, out| {
            let value = values
                .get(i * from.size()..(i + 1) * from.size())
                .unwrap_or_default();
            let n = whole(value, true) as i64;
            let turned = turn.apply(n).filter(|n| *n != NAT);
            put(
                turned
                    .ok_or_else(|| {
                        format!(
                            "the time {n}: {} has none that is the same",
                            self.plan.words
                        )
                    })?
                    .to_le_bytes(),
                big,
                out,
            );
            Ok(())
        })
    }

    fn parts(
        &self,
        field: &Field,
        parts: &[(usize, usize, Plan)],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (from, size) = (out.len(), self.plan.size);
        out.resize(from + self.slots.len() * size, 0);
        for (child, offset, plan) in parts {
            let mut part = Vec::new();
            let part_field = field.children.get(*child).ok_or_else(no_child)?;
            let inner = pack(
                plan,
                part_field,
                self.view.child(*child)?,
                self.slots.clone(),
                self.at,
                &mut part,
            );
            inner.map_err(|e| e.within(format_args!("field {:?}", part_field.name)))?;
            if plan.size == 0 {
                continue;
            }
            let items = out
                .get_mut(from..)
                .unwrap_or_default()
                .chunks_exact_mut(size);
            for (to, value) in items.zip(part.chunks_exact(plan.size)) {
                to.get_mut(*offset..offset + plan.size)
                    .into_iter()
                    .for_each(|to| to.copy_from_slice(value));
            }
        }
        Ok(())
    }

    /// The values of a dictionary that numbers tell.
    fn numbered(&self, number: Number, dictionary: &View, field: &Field) -> Result<Slots> {
        let (size, signed) = (
            number.size(),
            matches!(number, Number::Int { signed: true, .. }),
        );
        let numbers = self.fixed(size)?;
        let (_, len, _) = dictionary.check(field)?;
        let mut picked = alloc::with_room(self.slots.len())?;
        for k in 0..self.slots.len() {
            let n = self.slots.get(k).map(|i| {
                whole(
                    numbers.get(i * size..(i + 1) * size).unwrap_or_default(),
                    signed,
                )
            });
            let slot = n
                .map(|n| usize::try_from(n).ok().filter(|n| *n < len).ok_or(n))
                .transpose();
            picked.push(slot.map_err(|n| {
                self.at.fail(
                    Status::Argument,
                    k,
                    format_args!("number {n} of a dictionary of {len} values"),
                )
            })?);
        }
        Ok(Slots::Picked(picked))
    }

    fn bytes(&self, from: &Format, to: Text, out: &mut Vec<u8>) -> Result<()> {
        let lookup = Lookup::new(self.view, from, self.all)?;
        let padded = matches!(from, Format::Fixed(_));
        let (size, words) = (self.plan.size, &self.plan.words);
        self.each(out, &mut |i, out| {
            let value = lookup
                .get(i)
                .ok_or_else(|| "its bytes are not where the array says".to_owned())?;
            let end = out.len() + size;
            let zeros = value.iter().rev().take_while(|b| **b == 0).count();
            let value = match to {
                Text::Exact => value,
                _ if padded => value.get(..value.len() - zeros).unwrap_or_default(),
                _ if zeros > 0 => {
                    return Err(format!(
                        "\"{}\" ends with a zero, which {words} would lose",
                        value.escape_ascii()
                    ));
                }
                _ => value,
            };
            match to {
                Text::Characters { big } => {
                    let text = std::str::from_utf8(value)
                        .map_err(|e| format!("\"{}\" is no UTF-8: {e}", value.escape_ascii()))?;
                    text.chars()
                        .for_each(|c| put(u32::from(c).to_le_bytes(), big, out));
                }
                _ => out.extend_from_slice(value),
            }
            let exact = matches!(to, Text::Exact);
            if out.len() > end || (exact && out.len() < end) {
                return Err(format!(
                    "\"{}\" does not fit into {words}",
                    value.escape_ascii()
                ));
            }
            out.resize(end, 0);
            Ok(())
        })
    }
}

/// Where bytes of any length are.
enum Lookup<'a> {
    Fixed(usize, &'a [u8]),
    Narrow(&'a [u8], &'a [u8]),
    Wide(&'a [u8], &'a [u8]),
    Views(&'a [u8], Vec<&'a [u8]>),
}

impl<'a> Lookup<'a> {
    fn new(view: View<'a>, format: &Format, all: usize) -> Result<Lookup<'a>> {
        let ends = match format {
            Format::Fixed(size) => {
                return Ok(Lookup::Fixed(
                    *size,
                    view.buffer(1, all.saturating_mul(*size))?,
                ));
            }
            Format::Variable { ends, .. } => *ends,
            _ => return Err(no_child()),
        };
        let wrong = |n: i128| fail!(Argument, "an array of the stream: its bytes end at {n}");
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
                .map_or(0, |last| whole(last, true));
            Ok::<_, Error>((
                offsets,
                view.buffer(2, usize::try_from(end).map_err(|_| wrong(end))?)?,
            ))
        };
        match ends {
            Ends::Narrow => bytes(4).map(|(offsets, bytes)| Lookup::Narrow(offsets, bytes)),
            Ends::Wide => bytes(8).map(|(offsets, bytes)| Lookup::Wide(offsets, bytes)),
            Ends::View => {
                let buffers = view.buffers() - 3;
                let sizes = view
                    .buffer(view.buffers() - 1, buffers.saturating_mul(8))?
                    .as_chunks::<8>()
                    .0;
                let one = |(i, size): (usize, &[u8; 8])| {
                    let size = i64::from_ne_bytes(*size);
                    view.buffer(
                        2 + i,
                        usize::try_from(size).map_err(|_| wrong(size.into()))?,
                    )
                };
                let all_bytes = sizes.iter().enumerate().map(one).collect::<Result<_>>()?;
                Ok(Lookup::Views(
                    view.buffer(1, all.saturating_mul(16))?,
                    all_bytes,
                ))
            }
        }
    }

    fn get(&self, i: usize) -> Option<&'a [u8]> {
        match self {
            Lookup::Fixed(size, bytes) => bytes.get(i * size..(i + 1) * size),
            Lookup::Narrow(offsets, bytes) => {
                let all = offsets.as_chunks::<4>().0;
                let [from, to] = [
                    i32::from_ne_bytes(*all.get(i)?),
                    i32::from_ne_bytes(*all.get(i + 1)?),
                ];
                bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            }
            Lookup::Wide(offsets, bytes) => {
                let all = offsets.as_chunks::<8>().0;
                let [from, to] = [
                    i64::from_ne_bytes(*all.get(i)?),
                    i64::from_ne_bytes(*all.get(i + 1)?),
                ];
                bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            }
            Lookup::Views(views, buffers) => {
                let view = views.as_chunks::<16>().0.get(i)?;
                let [len, _, buffer, from] =
                    [0, 4, 8, 12].map(|at| view.get(at..at + 4).map_or(0, |b| whole(b, true)));
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
