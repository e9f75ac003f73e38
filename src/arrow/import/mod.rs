//! The values of others as the bytes of a column: as it has them, or an error that names the row.
//! No value is rounded, cut or guessed.
//!
//! A [`Plan`] is made of the two types, and says at once where they do not fit. It is then carried
//! out on the values of each batch. Which values, [`Slots`] say: a run of them, or, below nulls and
//! dictionaries, single ones.
#![forbid(unsafe_code)]

mod numbers;
mod values;

pub use values::{Slots, first_null, pack};

use super::export::BIG;
use super::format::{Field, Format};
use super::times::{NAT, Turn, count_in, count_of};
use crate::array::dtype::{Dtype, Kind, Type};
use crate::error::{Result, fail};
use numbers::Number;

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
        let words = Dtype {
            spelling: String::new(),
            item: item.clone(),
        }
        .to_python_literal();
        let refused = || {
            fail!(
                Type,
                "values of the type {} cannot become {words} in lists of {lists:?}",
                field.words()
            )
        };
        if let Some(values) = &field.dictionary {
            let Format::Int { signed, size } = field.format else {
                return Err(refused());
            };
            let plan = Plan::new(values, item, lists)?;
            let (null, words, bytes) = (plan.null.clone(), plan.words.clone(), plan.size);
            return Ok(Plan {
                how: How::Dictionary(Number::Int { signed, size }, Box::new(plan)),
                null,
                size: bytes,
                words,
            });
        }
        let of = |how, size| Plan {
            how,
            null: null_of(item),
            size,
            words: words.clone(),
        };
        if field.format == Format::Null {
            let size = lists.iter().fold(item.size, |n, d| n.saturating_mul(*d));
            let null = null_of(item).filter(|_| lists.is_empty());
            return Ok(Plan {
                null,
                ..of(How::Nulls, size)
            });
        }
        if let Some((n, inner)) = lists.split_first() {
            let part = field
                .children
                .first()
                .filter(|_| field.format == Format::List(*n))
                .ok_or_else(refused)?;
            let plan = Plan::new(part, item, inner)?;
            let size = plan.size.saturating_mul(*n);
            return Ok(of(How::List(*n, Box::new(plan)), size));
        }
        match &item.kind {
            Kind::Array(of, lists) => Plan::new(field, of, lists),
            Kind::Complex if item.size <= 16 => {
                let part = Type {
                    kind: Kind::Float,
                    big_endian: item.big_endian,
                    size: item.size / 2,
                };
                Plan::new(field, &part, &[2])
            }
            Kind::Struct(fields) if field.format == Format::Struct => {
                let parts = matched(&field.children, fields.iter().map(|f| f.name.as_str()))?;
                let parts = parts.into_iter().zip(fields).map(|((child, field), f)| {
                    Ok((child, f.offset, Plan::new(field, &f.item, &[])?))
                });
                Ok(of(How::Struct(parts.collect::<Result<_>>()?), item.size))
            }
            _ => Ok(of(
                plain(&field.format, item).ok_or_else(refused)?,
                item.size,
            )),
        }
    }

    /// Bytes of an item.
    pub fn size(&self) -> usize {
        self.size
    }
}

/// The children with these names, none left over.
pub fn matched<'a>(
    children: &'a [Field],
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Result<Vec<(usize, &'a Field)>> {
    let mut taken = vec![false; children.len()];
    let mut found = Vec::new();
    for name in names {
        let mut named = children.iter().enumerate().filter(|(_, f)| f.name == name);
        let one = named
            .next()
            .ok_or_else(|| fail!(Type, "column {name:?}: the stream has none of this name"))?;
        if named.next().is_some() {
            return Err(fail!(
                Type,
                "column {name:?}: the stream has two of this name"
            ));
        }
        taken.get_mut(one.0).into_iter().for_each(|t| *t = true);
        found.push(one);
    }
    match children.iter().zip(&taken).find(|(_, taken)| !**taken) {
        Some((left, _)) => Err(fail!(
            Type,
            "column {:?} of the stream: there is no such column to put it into",
            left.name
        )),
        None => Ok(found),
    }
}

fn number_of(format: &Format) -> Option<Number> {
    match format {
        Format::Int { signed, size } => Some(Number::Int {
            signed: *signed,
            size: *size,
        }),
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
        Kind::Int => numbers(
            from,
            Number::Int {
                signed: true,
                size: item.size,
            },
            big,
        ),
        Kind::Uint => numbers(
            from,
            Number::Int {
                signed: false,
                size: item.size,
            },
            big,
        ),
        Kind::Float if item.size <= 8 => numbers(from, Number::Float(item.size), big),
        Kind::Float | Kind::Complex => {
            (*from == Format::Fixed(item.size)).then_some(How::Same { turned: false })
        }
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
            Some(if turn.is_nothing() && !narrow {
                same
            } else {
                How::Times { narrow, turn, big }
            })
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
    fits.then(|| How::Bytes {
        from: from.clone(),
        to,
    })
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
