//! The values of others as the bytes of a column: as it has them, or an error that names the row. No value is rounded, cut
//! or guessed.
//!
//! A [`Plan`] is made of the two types, and says at once where they do not fit. It is then carried out on the values of each
//! batch. Which values, [`Slots`] say: a run of them, or, below nulls and dictionaries, single ones.
#![forbid(unsafe_code)]

use super::export::{At, BIG};
use super::ffi::View;
use super::format::{Ends, Field, Format};
use super::times::{NAT, Turn, count_in, count_of};
use crate::array::dtype::{Dtype, Kind, Type};
use crate::error::{Error, Result, Status, fail};
use crate::memory;
use std::ops::Range;

/// How values of one type become items of another.
pub struct Plan {
    how: How,
    /// What stands for a null.
    null: Option<Vec<u8>>,
    /// Bytes of an item.
    size: usize,
    /// What the items are, for messages.
    words: String,
}

enum How {
    /// There are none but nulls.
    Nulls,
    /// The bytes of each, maybe turned round.
    Same { turned: bool },
    /// Bits.
    Bits,
    /// Numbers.
    Numbers { from: Number, to: Number, big: bool },
    /// Times of 4 bytes or 8.
    Times { narrow: bool, turn: Turn, big: bool },
    /// Bytes of any length.
    Bytes { from: Format, to: Text },
    /// Lists of so many.
    List(usize, Box<Plan>),
    /// Parts: which child, and where in the item.
    Struct(Vec<(usize, usize, Plan)>),
    /// Numbers of values.
    Dictionary(Number, Box<Plan>),
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Int { signed: bool, size: usize },
    Float(usize),
}

/// What text becomes.
#[derive(Clone, Copy)]
enum Text {
    /// Bytes, filled up with zeros.
    Bytes,
    /// Characters of 4 bytes, filled up with zeros.
    Characters { big: bool },
    /// Bytes of just this length.
    Exact,
}

/// Zones in which a time has the same number as without any.
const ZONES: &[&str] = &["", "UTC", "Etc/UTC", "Z", "+00:00"];

impl Plan {
    /// For items of this type, in lists within lists of these lengths.
    pub fn new(field: &Field, item: &Type, lists: &[usize]) -> Result<Plan> {
        let words = Dtype { spelling: String::new(), item: item.clone() }.to_python_literal();
        let refused = || fail!(Type, "values of the type {} cannot become {words} in lists of {lists:?}", field.words());
        if let Some(values) = &field.dictionary {
            let Format::Int { signed, size } = field.format else { return Err(refused()) };
            let plan = Plan::new(values, item, lists)?;
            let (null, words, bytes) = (plan.null.clone(), plan.words.clone(), plan.size);
            return Ok(Plan { how: How::Dictionary(Number::Int { signed, size }, Box::new(plan)), null, size: bytes, words });
        }
        let of = |how, size| Plan { how, null: null_of(item), size, words: words.clone() };
        if field.format == Format::Null {
            let size = lists.iter().fold(item.size, |n, d| n.saturating_mul(*d));
            let null = null_of(item).filter(|_| lists.is_empty());
            return Ok(Plan { null, ..of(How::Nulls, size) });
        }
        if let Some((n, inner)) = lists.split_first() {
            let part = field.children.first().filter(|_| field.format == Format::List(*n)).ok_or_else(refused)?;
            let plan = Plan::new(part, item, inner)?;
            let size = plan.size.saturating_mul(*n);
            return Ok(of(How::List(*n, Box::new(plan)), size));
        }
        match &item.kind {
            Kind::Array(of, lists) => Plan::new(field, of, lists),
            Kind::Complex if item.size <= 16 => {
                let part = Type { kind: Kind::Float, big_endian: item.big_endian, size: item.size / 2 };
                Plan::new(field, &part, &[2])
            }
            Kind::Struct(fields) if field.format == Format::Struct => {
                let parts = matched(&field.children, fields.iter().map(|f| f.name.as_str()))?;
                let parts = parts.into_iter().zip(fields).map(|((child, field), f)| Ok((child, f.offset, Plan::new(field, &f.item, &[])?)));
                Ok(of(How::Struct(parts.collect::<Result<_>>()?), item.size))
            }
            _ => Ok(of(plain(&field.format, item).ok_or_else(refused)?, item.size)),
        }
    }

    /// Bytes of an item.
    pub fn size(&self) -> usize {
        self.size
    }
}

/// The children with these names, none left over.
pub fn matched<'a>(children: &'a [Field], names: impl ExactSizeIterator<Item = &'a str>) -> Result<Vec<(usize, &'a Field)>> {
    let mut taken = vec![false; children.len()];
    let mut found = Vec::new();
    for name in names {
        let mut named = children.iter().enumerate().filter(|(_, f)| f.name == name);
        let one = named.next().ok_or_else(|| fail!(Type, "column {name:?}: the stream has none of this name"))?;
        if named.next().is_some() {
            return Err(fail!(Type, "column {name:?}: the stream has two of this name"));
        }
        taken.get_mut(one.0).into_iter().for_each(|t| *t = true);
        found.push(one);
    }
    match children.iter().zip(&taken).find(|(_, taken)| !**taken) {
        Some((left, _)) => Err(fail!(Type, "column {:?} of the stream: there is no such column to put it into", left.name)),
        None => Ok(found),
    }
}

fn number_of(format: &Format) -> Option<Number> {
    match format {
        Format::Int { signed, size } => Some(Number::Int { signed: *signed, size: *size }),
        Format::Float(size) => Some(Number::Float(*size)),
        _ => None,
    }
}

/// For types without parts.
fn plain(from: &Format, item: &Type) -> Option<How> {
    let big = item.big_endian;
    let same = How::Same { turned: big != BIG };
    match &item.kind {
        Kind::Bool => (*from == Format::Bool).then_some(How::Bits),
        Kind::Int => numbers(from, Number::Int { signed: true, size: item.size }, big),
        Kind::Uint => numbers(from, Number::Int { signed: false, size: item.size }, big),
        Kind::Float if item.size <= 8 => numbers(from, Number::Float(item.size), big),
        Kind::Float | Kind::Complex => (*from == Format::Fixed(item.size)).then_some(How::Same { turned: false }),
        Kind::Void if *from == Format::Fixed(item.size) => Some(How::Same { turned: false }),
        Kind::Void => bytes(from, Text::Exact, false),
        Kind::Bytes => bytes(from, Text::Bytes, true),
        Kind::Str => bytes(from, Text::Characters { big }, true),
        Kind::Datetime(unit) | Kind::Timedelta(unit) => {
            let moment = matches!(item.kind, Kind::Datetime(_));
            let fits = match from {
                Format::Timestamp(_, zone) => moment && ZONES.contains(&zone.as_str()),
                Format::Date | Format::DateMs => moment,
                Format::Duration(_) | Format::Months => !moment,
                _ => true,
            };
            let turn = Turn::new(count_in(from)?, count_of(unit)?, moment).filter(|_| fits)?;
            let narrow = matches!(from, Format::Date | Format::Months);
            Some(if turn.is_nothing() && !narrow { same } else { How::Times { narrow, turn, big } })
        }
        _ => None,
    }
}

fn numbers(from: &Format, to: Number, big: bool) -> Option<How> {
    let from = number_of(from)?;
    let fits = match (from, to) {
        (Number::Int { .. }, Number::Int { .. }) => true,
        (Number::Int { .. }, Number::Float(size)) => size > 2,
        (Number::Float(a), Number::Float(b)) => a <= b,
        (Number::Float(_), Number::Int { .. }) => false,
    };
    match from == to {
        true => Some(How::Same { turned: big != BIG }),
        false => fits.then_some(How::Numbers { from, to, big }),
    }
}

fn bytes(from: &Format, to: Text, text: bool) -> Option<How> {
    let fits = match (from, to) {
        (Format::Variable { text: false, .. } | Format::Fixed(_), Text::Characters { .. }) => false,
        (Format::Variable { text: is_text, .. }, _) => text || !is_text,
        (Format::Fixed(_), _) => true,
        _ => false,
    };
    fits.then(|| How::Bytes { from: from.clone(), to })
}

/// What stands for a null, where something can.
fn null_of(item: &Type) -> Option<Vec<u8>> {
    let mut null = match (&item.kind, item.size) {
        // the quiet NaN of each length
        (Kind::Float, 2) => 0x7e00u16.to_le_bytes().to_vec(),
        (Kind::Float, 4) => f32::NAN.to_le_bytes().to_vec(),
        (Kind::Float, 8) => f64::NAN.to_le_bytes().to_vec(),
        (Kind::Datetime(_) | Kind::Timedelta(_), _) => NAT.to_le_bytes().to_vec(),
        _ => return None,
    };
    if item.big_endian {
        null.reverse();
    }
    Some(null)
}

// ---- values

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
        let outside = |i| fail!(Argument, "an array of the stream: value {i} of {len} is needed");
        match self {
            Slots::Run(run) if run.end <= len => Ok(Slots::Run(run.start + offset..run.end + offset)),
            Slots::Run(run) => Err(outside(run.end)),
            Slots::Picked(mut all) => {
                for i in all.iter_mut().flatten() {
                    *i = if *i < len { *i + offset } else { return Err(outside(*i)) };
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
    fn turned(&self, n: usize, f: impl Fn(Option<usize>, &mut Vec<Option<usize>>)) -> Result<Slots> {
        let mut picked = memory::with_room(self.len().saturating_mul(n))?;
        (0..self.len()).for_each(|k| f(self.get(k), &mut picked));
        Ok(Slots::Picked(picked))
    }

    /// Those of the parts of lists.
    fn parts(&self, n: usize) -> Result<Slots> {
        match self {
            Slots::Run(run) => match (run.start.checked_mul(n), run.end.checked_mul(n)) {
                (Some(start), Some(end)) => Ok(Slots::Run(start..end)),
                _ => Err(fail!(Argument, "an array of the stream: {} lists of {n} items", run.end)),
            },
            // parts that would be beyond all memory are found to be so by who looks for them
            slots => slots.turned(n, |i, picked| picked.extend((0..n).map(|j| i.map(|i| i.saturating_mul(n).saturating_add(j))))),
        }
    }
}

/// The first of these values that is null, where one is.
pub fn first_null(view: View, field: &Field, values: Range<usize>) -> Result<Option<usize>> {
    let (offset, len, nulls) = view.check(field)?;
    let bits = view.optional(0, (offset + len).div_ceil(8)).filter(|_| nulls);
    let is_null = |bits: &[u8], i: usize| bits.get(i / 8).is_none_or(|b| b >> (i % 8) & 1 == 0);
    Ok(bits.and_then(|bits| values.into_iter().find(|i| is_null(bits, i + offset))))
}

/// Puts the items that these values become behind others.
pub fn pack(plan: &Plan, field: &Field, view: View, slots: Slots, at: At, out: &mut Vec<u8>) -> Result<()> {
    let (offset, len, nulls) = view.check(field)?;
    let all = offset + len;
    let mut slots = slots.placed(offset, len)?;
    if field.format == Format::Null {
        slots = slots.turned(1, |_, picked| picked.push(None))?;
    } else if let Some(bits) = view.optional(0, all.div_ceil(8)).filter(|_| nulls) {
        slots = slots.masked(bits)?;
    }
    memory::reserve(out, slots.len().saturating_mul(plan.size))?;
    let from = Values { plan, view, all, slots: &slots, at };
    match &plan.how {
        How::Nulls => from.each(out, &mut |_, _| Ok(())),
        How::Same { turned } => from.same(*turned, out),
        How::Bits => from.bits(out),
        How::Numbers { from: a, to, big } => from.numbers(*a, *to, *big, out),
        How::Times { narrow, turn, big } => from.times(*narrow, turn, *big, out),
        How::Bytes { from: a, to } => from.bytes(a, *to, out),
        How::List(n, inner) => {
            let part = field.children.first().ok_or_else(no_child)?;
            let at = At { per_row: at.per_row.saturating_mul(*n as u64), ..at };
            pack(inner, part, view.child(0)?, slots.parts(*n)?, at, out)
        }
        How::Struct(parts) => from.parts(field, parts, out),
        How::Dictionary(number, values) => {
            let field = field.dictionary.as_deref().ok_or_else(no_child)?;
            pack(values, field, view.dictionary()?, from.numbered(*number, &view.dictionary()?, field)?, at, out)
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
            out.extend_from_slice(values.get(run.start * size..run.end * size).unwrap_or_default());
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
        let (size, signed) = (from.size(), matches!(from, Number::Int { signed: true, .. }));
        let values = self.fixed(size)?;
        self.each(out, &mut |i, out| {
            let value = values.get(i * size..(i + 1) * size).unwrap_or_default();
            // floats have a place in all that they may become
            put_number(value, from, to, big, out).ok_or_else(|| format!("{} is no number of {}", whole(value, signed), self.plan.words))
        })
    }

    fn times(&self, narrow: bool, turn: &Turn, big: bool, out: &mut Vec<u8>) -> Result<()> {
        let from = Number::Int { signed: true, size: if narrow { 4 } else { 8 } };
        let values = self.fixed(from.size())?;
        self.each(out, &mut |i, out| {
            let value = values.get(i * from.size()..(i + 1) * from.size()).unwrap_or_default();
            let n = whole(value, true) as i64;
            let turned = turn.apply(n).filter(|n| *n != NAT);
            put(turned.ok_or_else(|| format!("the time {n}: {} has none that is the same", self.plan.words))?.to_le_bytes(), big, out);
            Ok(())
        })
    }

    fn parts(&self, field: &Field, parts: &[(usize, usize, Plan)], out: &mut Vec<u8>) -> Result<()> {
        let (from, size) = (out.len(), self.plan.size);
        out.resize(from + self.slots.len() * size, 0);
        for (child, offset, plan) in parts {
            let mut part = Vec::new();
            let part_field = field.children.get(*child).ok_or_else(no_child)?;
            let inner = pack(plan, part_field, self.view.child(*child)?, self.slots.clone(), self.at, &mut part);
            inner.map_err(|e| e.within(format_args!("field {:?}", part_field.name)))?;
            if plan.size == 0 {
                continue;
            }
            let items = out.get_mut(from..).unwrap_or_default().chunks_exact_mut(size);
            for (to, value) in items.zip(part.chunks_exact(plan.size)) {
                to.get_mut(*offset..offset + plan.size).into_iter().for_each(|to| to.copy_from_slice(value));
            }
        }
        Ok(())
    }

    /// The values of a dictionary that numbers tell.
    fn numbered(&self, number: Number, dictionary: &View, field: &Field) -> Result<Slots> {
        let (size, signed) = (number.size(), matches!(number, Number::Int { signed: true, .. }));
        let numbers = self.fixed(size)?;
        let (_, len, _) = dictionary.check(field)?;
        let mut picked = memory::with_room(self.slots.len())?;
        for k in 0..self.slots.len() {
            let n = self.slots.get(k).map(|i| whole(numbers.get(i * size..(i + 1) * size).unwrap_or_default(), signed));
            let slot = n.map(|n| usize::try_from(n).ok().filter(|n| *n < len).ok_or(n)).transpose();
            picked.push(slot.map_err(|n| self.at.fail(Status::Argument, k, format_args!("number {n} of a dictionary of {len} values")))?);
        }
        Ok(Slots::Picked(picked))
    }

    fn bytes(&self, from: &Format, to: Text, out: &mut Vec<u8>) -> Result<()> {
        let lookup = Lookup::new(self.view, from, self.all)?;
        let padded = matches!(from, Format::Fixed(_));
        let (size, words) = (self.plan.size, &self.plan.words);
        self.each(out, &mut |i, out| {
            let value = lookup.get(i).ok_or_else(|| "its bytes are not where the array says".to_owned())?;
            let end = out.len() + size;
            let zeros = value.iter().rev().take_while(|b| **b == 0).count();
            let value = match to {
                Text::Exact => value,
                _ if padded => value.get(..value.len() - zeros).unwrap_or_default(),
                _ if zeros > 0 => return Err(format!("\"{}\" ends with a zero, which {words} would lose", value.escape_ascii())),
                _ => value,
            };
            match to {
                Text::Characters { big } => {
                    let text = std::str::from_utf8(value).map_err(|e| format!("\"{}\" is no UTF-8: {e}", value.escape_ascii()))?;
                    text.chars().for_each(|c| put(u32::from(c).to_le_bytes(), big, out));
                }
                _ => out.extend_from_slice(value),
            }
            let exact = matches!(to, Text::Exact);
            if out.len() > end || (exact && out.len() < end) {
                return Err(format!("\"{}\" does not fit into {words}", value.escape_ascii()));
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
            Format::Fixed(size) => return Ok(Lookup::Fixed(*size, view.buffer(1, all.saturating_mul(*size))?)),
            Format::Variable { ends, .. } => *ends,
            _ => return Err(no_child()),
        };
        let wrong = |n: i128| fail!(Argument, "an array of the stream: its bytes end at {n}");
        let bytes = |width: usize| {
            let offsets = if all == 0 { &[] } else { view.buffer(1, (all + 1).saturating_mul(width))? };
            let end = offsets.len().checked_sub(width).and_then(|last| offsets.get(last..)).map_or(0, |last| whole(last, true));
            Ok::<_, Error>((offsets, view.buffer(2, usize::try_from(end).map_err(|_| wrong(end))?)?))
        };
        match ends {
            Ends::Narrow => bytes(4).map(|(offsets, bytes)| Lookup::Narrow(offsets, bytes)),
            Ends::Wide => bytes(8).map(|(offsets, bytes)| Lookup::Wide(offsets, bytes)),
            Ends::View => {
                let buffers = view.buffers() - 3;
                let sizes = view.buffer(view.buffers() - 1, buffers.saturating_mul(8))?.as_chunks::<8>().0;
                let one = |(i, size): (usize, &[u8; 8])| {
                    let size = i64::from_ne_bytes(*size);
                    view.buffer(2 + i, usize::try_from(size).map_err(|_| wrong(size.into()))?)
                };
                let all_bytes = sizes.iter().enumerate().map(one).collect::<Result<_>>()?;
                Ok(Lookup::Views(view.buffer(1, all.saturating_mul(16))?, all_bytes))
            }
        }
    }

    fn get(&self, i: usize) -> Option<&'a [u8]> {
        match self {
            Lookup::Fixed(size, bytes) => bytes.get(i * size..(i + 1) * size),
            Lookup::Narrow(offsets, bytes) => {
                let all = offsets.as_chunks::<4>().0;
                let [from, to] = [i32::from_ne_bytes(*all.get(i)?), i32::from_ne_bytes(*all.get(i + 1)?)];
                bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            }
            Lookup::Wide(offsets, bytes) => {
                let all = offsets.as_chunks::<8>().0;
                let [from, to] = [i64::from_ne_bytes(*all.get(i)?), i64::from_ne_bytes(*all.get(i + 1)?)];
                bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            }
            Lookup::Views(views, buffers) => {
                let view = views.as_chunks::<16>().0.get(i)?;
                let [len, _, buffer, from] = [0, 4, 8, 12].map(|at| view.get(at..at + 4).map_or(0, |b| whole(b, true)));
                let len = usize::try_from(len).ok()?;
                if len <= 12 {
                    return views.get(i * 16 + 4..i * 16 + 4 + len);
                }
                let from = usize::try_from(from).ok()?;
                buffers.get(usize::try_from(buffer).ok()?)?.get(from..from.checked_add(len)?)
            }
        }
    }
}

// ---- numbers

impl Number {
    fn size(self) -> usize {
        match self {
            Number::Int { size, .. } | Number::Float(size) => size,
        }
    }
}

/// A whole number of 1, 2, 4 or 8 bytes.
fn whole(bytes: &[u8], signed: bool) -> i128 {
    let mut wide = [0; 8];
    let negative = signed && bytes.get(if BIG { 0 } else { bytes.len().saturating_sub(1) }).is_some_and(|b| b >> 7 == 1);
    if negative {
        wide = [0xff; 8];
    }
    let at = if BIG { 8usize.saturating_sub(bytes.len()) } else { 0 };
    wide.get_mut(at..at + bytes.len()).into_iter().for_each(|w| w.copy_from_slice(bytes));
    if signed { i128::from(i64::from_ne_bytes(wide)) } else { i128::from(u64::from_ne_bytes(wide)) }
}

/// A floating-point number of 2, 4 or 8 bytes.
fn float(bytes: &[u8]) -> f64 {
    if let Ok(bytes) = bytes.try_into() {
        return f64::from_ne_bytes(bytes);
    }
    match bytes.try_into() {
        Ok(bytes) => f64::from(f32::from_ne_bytes(bytes)),
        Err(_) => half(bytes.try_into().map_or(0, u16::from_ne_bytes)),
    }
}

/// The number that has these 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * f64::from(e - 15).exp2(),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Puts a number, given little-endian.
fn put<const N: usize>(mut bytes: [u8; N], big: bool, out: &mut Vec<u8>) {
    if big {
        bytes.reverse();
    }
    out.extend_from_slice(&bytes);
}

/// Puts a number as one of another type, where that has it.
fn put_number(value: &[u8], from: Number, to: Number, big: bool, out: &mut Vec<u8>) -> Option<()> {
    match (from, to) {
        (Number::Int { signed, .. }, Number::Int { signed: to_signed, size }) => {
            let n = whole(value, signed);
            let bits = 8 * size as u32;
            let (low, high) = if to_signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
            if n < low || n > high {
                return None;
            }
            let at = out.len();
            out.extend_from_slice(n.to_le_bytes().get(..size)?);
            if big {
                out.get_mut(at..)?.reverse();
            }
        }
        (Number::Int { signed, .. }, Number::Float(4)) => {
            let n = whole(value, signed);
            put(Some(n as f32).filter(|f| *f as i128 == n)?.to_le_bytes(), big, out);
        }
        (Number::Int { signed, .. }, Number::Float(_)) => {
            let n = whole(value, signed);
            put(Some(n as f64).filter(|f| *f as i128 == n)?.to_le_bytes(), big, out);
        }
        // none is made shorter
        (Number::Float(_), Number::Float(4)) => put((float(value) as f32).to_le_bytes(), big, out),
        (Number::Float(_), Number::Float(_)) => put(float(value).to_le_bytes(), big, out),
        (Number::Float(_), Number::Int { .. }) => return None,
    }
    Some(())
}
