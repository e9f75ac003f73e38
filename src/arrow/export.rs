//! The bytes of a column as Arrow has them.
//!
//! What is laid out in the same way there stays in the buffer it was read to, byte order turned
//! where it must be: numbers, their lists, bytes of one length. All else is made anew: bits of
//! truth values, text with offsets, parts of structures.
#![forbid(unsafe_code)]

use super::data::{Buffer, Data, bits};
use super::format::{Ends, Field, Format};
use super::times::{NAT, Turn, count_in, count_of, format_of};
use crate::array::dtype::{self, Kind, Type};
use crate::error::{Error, Result, Status, fail};

/// The name that parts of lists have.
const ITEM: &str = "item";

/// Which row the first item is of.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The row.
    pub first: u64,
    /// Items in a row.
    pub per_row: u64,
    /// What becomes what.
    pub rules: Rules,
}

/// What may become one thing or another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Bytes: binary, not text?
    pub binary: bool,
    /// NaN: null?
    pub nulls: bool,
}

impl At {
    /// A failure at an item.
    pub fn fail(&self, status: Status, item: usize, words: impl std::fmt::Display) -> Error {
        let row = self.first.saturating_add(item as u64 / self.per_row.max(1));
        Error::new(status, format!("row {row}: {words}")).at(row)
    }
}

/// Are the numbers of this machine big-endian?
pub(super) const BIG: bool = cfg!(target_endian = "big");

/// The field of items of this type, in lists within lists of these lengths.
pub fn field(name: &str, item: &Type, lists: &[usize], rules: Rules) -> Result<Field> {
    if let Some((n, inner)) = lists.split_first() {
        i32::try_from(*n).map_err(|_| {
            fail!(
                Unsupported,
                "lists of {n} items: Arrow's have {} at most",
                i32::MAX
            )
        })?;
        return Ok(Field::of(
            name,
            Format::List(*n),
            vec![field(ITEM, item, inner, rules)?],
        ));
    }
    if name.contains('\0') {
        return Err(fail!(
            Unsupported,
            "the name {name:?}: C has no text with a NUL in it"
        ));
    }
    let plain = |format| Ok(Field::new(name, format));
    let time = |unit: &str, moment| match format_of(unit, moment) {
        Some(format) => Ok(Field {
            nullable: true,
            ..Field::new(name, format)
        }),
        None => Err(fail!(Type, "times in the unit {unit:?}")),
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
            nullable: rules.nulls,
            ..Field::new(name, Format::Float(item.size))
        }),
        Kind::Complex if item.size <= 16 => Ok(Field::of(
            name,
            Format::List(2),
            vec![Field::new(ITEM, Format::Float(item.size / 2))],
        )),
        Kind::Float | Kind::Complex | Kind::Void => plain(Format::Fixed(item.size)),
        Kind::Bytes => plain(Format::Variable {
            text: !rules.binary,
            ends: Ends::Narrow,
        }),
        Kind::Str => plain(Format::Variable {
            text: true,
            ends: Ends::Narrow,
        }),
        Kind::Object => plain(Format::Variable {
            text: false,
            ends: Ends::Narrow,
        }),
        Kind::Datetime(unit) => time(unit, true),
        Kind::Timedelta(unit) => time(unit, false),
        Kind::Struct(fields) => {
            let parts = fields
                .iter()
                .map(|f| field(&f.name, &f.item, &[], rules))
                .collect::<Result<_>>()?;
            Ok(Field::of(name, Format::Struct, parts))
        }
        Kind::Array(of, lists) => field(name, of, lists, rules),
    }
}

/// `n` items, in lists within lists of these lengths, which stand in `bytes` one behind the other.
pub fn listed(item: &Type, lists: &[usize], n: usize, bytes: Buffer, at: At) -> Result<Data> {
    let Some((length, inner)) = lists.split_first() else {
        return convert(item, n, bytes, at);
    };
    let per_row = at.per_row.saturating_mul(*length as u64);
    Ok(Data::of(
        n,
        vec![listed(
            item,
            inner,
            n.saturating_mul(*length),
            bytes,
            At { per_row, ..at },
        )?],
    ))
}

/// `n` items that stand in `bytes` one behind the other.
fn convert(item: &Type, n: usize, mut bytes: Buffer, at: At) -> Result<Data> {
    turn_round(item, bytes.get_mut());
    match &item.kind {
        Kind::Bool => Ok(Data::plain(n, bits(bytes.get().iter().map(|b| *b != 0))?)),
        Kind::Complex if item.size <= 16 => {
            Ok(Data::of(n, vec![Data::plain(n.saturating_mul(2), bytes)]))
        }
        Kind::Float if at.rules.nulls && item.size <= 8 => floats(item.size, n, bytes),
        Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Void => {
            Ok(Data::plain(n, bytes))
        }
        Kind::Bytes => narrow_text(item.size, n, bytes.get(), at),
        Kind::Str => wide_text(item.size, n, bytes.get(), at),
        Kind::Datetime(unit) => times(unit, true, n, bytes, at),
        Kind::Timedelta(unit) => times(unit, false, n, bytes, at),
        Kind::Struct(fields) => {
            let part =
                |f: &dtype::Field| convert(&f.item, n, gathered(f, item.size, n, bytes.get())?, at);
            Ok(Data::of(n, fields.iter().map(part).collect::<Result<_>>()?))
        }
        Kind::Array(of, lists) => listed(of, lists, n, bytes, at),
        Kind::Object => Err(fail!(
            Unsupported,
            "objects of Python's inside of other items"
        )),
    }
}

/// Gives numbers the byte order of this machine.
fn turn_round(item: &Type, bytes: &mut [u8]) {
    let size = match item.kind {
        _ if item.big_endian == BIG => return,
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
        // those that Arrow does not have stay as the metadata say
        _ => {}
    }
}

/// Numbers, those that are none as nulls.
fn floats(size: usize, n: usize, bytes: Buffer) -> Result<Data> {
    // above infinity, without the sign
    let half = |b: &[u8; 2]| u16::from_ne_bytes(*b) << 1 > 0xf800;
    let all = bytes.get();
    let none: Vec<bool> = match size {
        2 => all.as_chunks::<2>().0.iter().map(half).collect(),
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
    Data::plain(n, bytes).with_nulls(&none)
}

/// A part of each of `n` items.
fn gathered(f: &dtype::Field, size: usize, n: usize, bytes: &[u8]) -> Result<Buffer> {
    let mut part = Buffer::zeroed(f.item.size.saturating_mul(n))?;
    if f.item.size > 0 {
        for (to, from) in part
            .get_mut()
            .chunks_exact_mut(f.item.size)
            .zip(bytes.chunks_exact(size))
        {
            to.copy_from_slice(
                from.get(f.offset..f.offset + f.item.size)
                    .unwrap_or_default(),
            );
        }
    }
    Ok(part)
}

/// Text while it is made: bytes, and where each begins.
pub struct Texts {
    offsets: Buffer,
    bytes: Buffer,
    done: usize,
    end: usize,
}

impl Texts {
    /// `n` of them, of so many bytes at most.
    pub fn new(n: usize, bytes: usize) -> Result<Texts> {
        if i32::try_from(bytes).is_err() {
            return Err(fail!(
                Limit,
                "{bytes} bytes of text in one batch: Arrow's offsets end at {}; ask for fewer rows",
                i32::MAX
            ));
        }
        Ok(Texts {
            offsets: Buffer::zeroed((n + 1) * 4)?,
            bytes: Buffer::zeroed(bytes)?,
            done: 0,
            end: 0,
        })
    }

    /// Adds to the one that is not ended.
    pub fn put(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        if let Some(to) = self.bytes.get_mut().get_mut(self.end..end) {
            to.copy_from_slice(bytes);
            self.end = end;
        }
    }

    /// Ends it.
    pub fn end(&mut self) {
        self.done += 1;
        let (at, end) = (self.done * 4, self.end as i32);
        self.offsets
            .get_mut()
            .get_mut(at..at + 4)
            .into_iter()
            .for_each(|o| o.copy_from_slice(&end.to_ne_bytes()));
    }

    /// All.
    pub fn data(self, n: usize) -> Data {
        Data::variable(n, self.offsets, self.bytes.cut(self.end))
    }
}

/// Items of `size` bytes; of none, there are as many, too.
fn items(bytes: &[u8], size: usize, n: usize) -> impl Iterator<Item = &[u8]> {
    (0..n).map(move |i| bytes.get(i * size..(i + 1) * size).unwrap_or_default())
}

/// Bytes that are filled up with zeros.
fn narrow_text(size: usize, n: usize, bytes: &[u8], at: At) -> Result<Data> {
    let mut texts = Texts::new(n, bytes.len())?;
    let sound = at.rules.binary || bytes.is_ascii();
    for (i, item) in items(bytes, size, n).enumerate() {
        let len = item
            .iter()
            .rposition(|b| *b != 0)
            .map_or(0, |last| last + 1);
        let item = item.get(..len).unwrap_or_default();
        if !sound && std::str::from_utf8(item).is_err() {
            let words = format!(
                "\"{}\" is no UTF-8; HOLDALL_OPT_ARROW_BINARY has such bytes as binary",
                item.escape_ascii()
            );
            return Err(at.fail(Status::Type, i, words));
        }
        texts.put(item);
        texts.end();
    }
    Ok(texts.data(n))
}

/// Characters of 4 bytes that are filled up with zeros.
fn wide_text(size: usize, n: usize, bytes: &[u8], at: At) -> Result<Data> {
    // UTF-8 takes no more than they do
    let mut texts = Texts::new(n, bytes.len())?;
    for (i, item) in items(bytes, size, n).enumerate() {
        let characters = item.as_chunks::<4>().0;
        let len = characters
            .iter()
            .rposition(|c| *c != [0; 4])
            .map_or(0, |last| last + 1);
        for character in characters.get(..len).unwrap_or_default() {
            let number = u32::from_ne_bytes(*character);
            let wrong = || {
                at.fail(
                    Status::Format,
                    i,
                    format_args!("{number:#x} is no character of Unicode"),
                )
            };
            texts.put(
                char::from_u32(number)
                    .ok_or_else(wrong)?
                    .encode_utf8(&mut [0; 4])
                    .as_bytes(),
            );
        }
        texts.end();
    }
    Ok(texts.data(n))
}

/// Times, those that are none as nulls.
fn times(unit: &str, moment: bool, n: usize, mut bytes: Buffer, at: At) -> Result<Data> {
    let none = || fail!(Type, "times in the unit {unit:?}");
    let format = format_of(unit, moment).ok_or_else(none)?;
    let turn = count_of(unit)
        .zip(count_in(&format))
        .and_then(|(from, to)| Turn::new(from, to, moment))
        .ok_or_else(none)?;
    let number = |b: &[u8; 8]| i64::from_ne_bytes(*b);
    let nulls: Option<Vec<bool>> = {
        let all = bytes.get().as_chunks::<8>().0;
        all.iter()
            .any(|b| number(b) == NAT)
            .then(|| all.iter().map(|b| number(b) == NAT).collect())
    };
    let lost = |i, n: i64| {
        at.fail(
            Status::Type,
            i,
            format_args!(
                "{n} in the unit {unit:?}: Arrow's {:?} has no such time",
                format.spelling()
            ),
        )
    };
    let turned = |i, b: &[u8; 8]| match number(b) {
        NAT => Ok(0),
        n => turn.apply(n).ok_or_else(|| lost(i, n)),
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
            *to = i32::try_from(turned(i, from)?)
                .map_err(|_| lost(i, number(from)))?
                .to_ne_bytes();
        }
        bytes = narrow;
    } else if !turn.is_nothing() {
        for (i, b) in bytes
            .get_mut()
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .enumerate()
        {
            *b = turned(i, b)?.to_ne_bytes();
        }
    }
    let data = Data::plain(n, bytes);
    match nulls {
        Some(nulls) => data.with_nulls(&nulls),
        None => Ok(data),
    }
}
