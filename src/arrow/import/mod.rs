//! Converts Arrow arrays to the bytes of a column. A value that has no exact equivalent is an error
//! that names the row. No value is rounded or truncated.
//!
//! A [`Plan`] is created from the two types; types that do not match are an error. The plan is then
//! executed on each batch. [`ValueIndices`] select the values: a range, or a list of indices where
//! there are nulls or a dictionary.
#![forbid(unsafe_code)]

mod numbers;
mod values;
pub mod variable;

pub use values::{ValueIndices, first_null, pack};

use super::export::NATIVE_BIG_ENDIAN;
use super::format::{Field, Format};
use super::time_units::{NAT, TimeConversion, arrow_step, numpy_step};
use crate::dtype::{Dtype, Kind, Type};
use crate::error::{Result, fail};
use numbers::Number;

/// A conversion from an Arrow type to the items of a column.
pub struct Plan {
    conversion: Conversion,
    /// The item that represents a null.
    null: Option<Vec<u8>>,
    /// The size of an item in bytes.
    size: usize,
    /// The type of the items, for messages.
    item_type: String,
}

enum Conversion {
    /// All values are nulls.
    Nulls,
    /// Copies the bytes of each value, with the byte order swapped if `swapped` is set.
    Same { swapped: bool },
    /// Expands a bitmap.
    Bits,
    /// Converts numbers.
    Numbers { from: Number, to: Number, big: bool },
    /// Converts times of 4 or 8 bytes.
    Times {
        narrow: bool,
        conversion: TimeConversion,
        big: bool,
    },
    /// Copies byte strings of variable length.
    Bytes { from: Format, to: TextTarget },
    /// Converts the items of lists of a fixed length.
    List(usize, Box<Plan>),
    /// Converts fields: the index of the child, the offset in the item, and the plan.
    Struct(Vec<(usize, usize, Plan)>),
    /// Converts dictionary indices to values.
    Dictionary(Number, Box<Plan>),
}

/// The target representation of byte strings.
#[derive(Clone, Copy)]
enum TextTarget {
    /// Bytes, padded with zeros.
    Bytes,
    /// UTF-32 characters, padded with zeros.
    Utf32 { big: bool },
    /// Bytes of exactly the item size.
    Exact,
}

/// Time zones without an offset, in which a time has the same number as without a zone.
const UTC_ZONES: &[&str] = &["", "UTC", "Etc/UTC", "Z", "+00:00"];

impl Plan {
    /// Converts nulls to this item, which no other value may equal.
    pub fn with_null(mut self, null: &[u8]) -> Plan {
        if let Conversion::Dictionary(number, values) = self.conversion {
            let values = Box::new(values.with_null(null));
            self.conversion = Conversion::Dictionary(number, values);
        }
        self.null = Some(null.to_vec());
        self
    }

    /// Creates a plan for items of type `item`, in nested lists of the given lengths.
    pub fn new(field: &Field, item: &Type, lists: &[usize]) -> Result<Plan> {
        let item_type = Dtype {
            spelling: String::new(),
            item: item.clone(),
        }
        .to_python_literal();
        let mismatch = || {
            let in_lists = match lists {
                [] => String::new(),
                _ => format!(" in lists of {lists:?}"),
            };
            fail!(
                Type,
                "values of the type {} cannot be converted to {item_type}{in_lists}",
                field.describe()
            )
        };
        if let Some(values) = &field.dictionary {
            let Format::Int { signed, size } = field.format else {
                return Err(mismatch());
            };
            let plan = Plan::new(values, item, lists)?;
            let (null, item_type, bytes) = (plan.null.clone(), plan.item_type.clone(), plan.size);
            return Ok(Plan {
                conversion: Conversion::Dictionary(Number::Int { signed, size }, Box::new(plan)),
                null,
                size: bytes,
                item_type,
            });
        }
        let plan_of = |conversion, size| Plan {
            conversion,
            null: null_item(item),
            size,
            item_type: item_type.clone(),
        };
        if field.format == Format::Null {
            let size = lists.iter().fold(item.size, |n, d| n.saturating_mul(*d));
            let null = null_item(item).filter(|_| lists.is_empty());
            return Ok(Plan {
                null,
                ..plan_of(Conversion::Nulls, size)
            });
        }
        if let Some((n, inner)) = lists.split_first() {
            let part = field
                .children
                .first()
                .filter(|_| field.format == Format::List(*n))
                .ok_or_else(mismatch)?;
            let plan = Plan::new(part, item, inner)?;
            let size = plan.size.saturating_mul(*n);
            return Ok(plan_of(Conversion::List(*n, Box::new(plan)), size));
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
                let parts = match_fields(&field.children, fields.iter().map(|f| f.name.as_str()))?;
                let parts = parts.into_iter().zip(fields).map(|((child, field), f)| {
                    Ok((child, f.offset, Plan::new(field, &f.item, &[])?))
                });
                Ok(plan_of(
                    Conversion::Struct(parts.collect::<Result<_>>()?),
                    item.size,
                ))
            }
            _ => Ok(plan_of(
                plain(&field.format, item).ok_or_else(mismatch)?,
                item.size,
            )),
        }
    }

    /// Returns the size of an item in bytes.
    pub fn size(&self) -> usize {
        self.size
    }
}

/// Returns the children with the given names. Returns an error if a name is missing or ambiguous,
/// or if a child is left over.
pub fn match_fields<'a>(
    children: &'a [Field],
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Result<Vec<(usize, &'a Field)>> {
    let mut taken = vec![false; children.len()];
    let mut found = Vec::new();
    for name in names {
        let mut named = children.iter().enumerate().filter(|(_, f)| f.name == name);
        let one = named
            .next()
            .ok_or_else(|| fail!(Type, "column {name:?}: not in the Arrow stream"))?;
        if named.next().is_some() {
            return Err(fail!(
                Type,
                "column {name:?}: more than one in the Arrow stream"
            ));
        }
        taken.get_mut(one.0).into_iter().for_each(|t| *t = true);
        found.push(one);
    }
    match children.iter().zip(&taken).find(|(_, taken)| !**taken) {
        Some((left, _)) => Err(fail!(
            Type,
            "Arrow stream: column {:?}: no such column in the destination",
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

/// Returns the conversion for types without children.
fn plain(from: &Format, item: &Type) -> Option<Conversion> {
    let big = item.big_endian;
    let same = Conversion::Same {
        swapped: big != NATIVE_BIG_ENDIAN,
    };
    match &item.kind {
        Kind::Bool => (*from == Format::Bool).then_some(Conversion::Bits),
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
            (*from == Format::Fixed(item.size)).then_some(Conversion::Same { swapped: false })
        }
        Kind::Void if *from == Format::Fixed(item.size) => {
            Some(Conversion::Same { swapped: false })
        }
        Kind::Void => bytes(from, TextTarget::Exact, false),
        Kind::Bytes => bytes(from, TextTarget::Bytes, true),
        Kind::Str => bytes(from, TextTarget::Utf32 { big }, true),
        Kind::Datetime(unit) | Kind::Timedelta(unit) => {
            let is_datetime = matches!(item.kind, Kind::Datetime(_));
            let fits = match from {
                Format::Timestamp(_, zone) => is_datetime && UTC_ZONES.contains(&zone.as_str()),
                Format::Date | Format::DateMs => is_datetime,
                Format::Duration(_) | Format::Months => !is_datetime,
                _ => true,
            };
            let conversion = TimeConversion::new(arrow_step(from)?, numpy_step(unit)?, is_datetime)
                .filter(|_| fits)?;
            let narrow = matches!(from, Format::Date | Format::Months);
            Some(if conversion.is_identity() && !narrow {
                same
            } else {
                Conversion::Times {
                    narrow,
                    conversion,
                    big,
                }
            })
        }
        _ => None,
    }
}

fn numbers(from: &Format, to: Number, big: bool) -> Option<Conversion> {
    let from = number_of(from)?;
    let fits = match (from, to) {
        (Number::Int { .. }, Number::Int { .. }) => true,
        (Number::Int { .. }, Number::Float(size)) => size > 2,
        (Number::Float(a), Number::Float(b)) => a <= b,
        (Number::Float(_), Number::Int { .. }) => false,
    };
    match from == to {
        true => Some(Conversion::Same {
            swapped: big != NATIVE_BIG_ENDIAN,
        }),
        false => fits.then_some(Conversion::Numbers { from, to, big }),
    }
}

fn bytes(from: &Format, to: TextTarget, text: bool) -> Option<Conversion> {
    let fits = match (from, to) {
        (Format::Variable { text: false, .. } | Format::Fixed(_), TextTarget::Utf32 { .. }) => {
            false
        }
        (Format::Variable { text: is_text, .. }, _) => text || !is_text,
        (Format::Fixed(_), _) => true,
        _ => false,
    };
    fits.then(|| Conversion::Bytes {
        from: from.clone(),
        to,
    })
}

/// Returns the item that represents a null, for types that have one.
fn null_item(item: &Type) -> Option<Vec<u8>> {
    let mut null = match (&item.kind, item.size) {
        // the quiet NaN of each size
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
