//! Items as unsigned numbers with the same order, so that each comparison with constants is a list
//! of ranges.
#![forbid(unsafe_code)]

use super::truth::Bits;
use crate::dtype::{Kind, Type};
use crate::error::Result;
use std::cell::Cell;

/// The sign bit, which two's complement orders the other way.
const SIGN: u64 = 1 << 63;
/// The key of NaN.
pub const NAN: u64 = u64::MAX;

/// Inclusive ranges of keys, in ascending order.
pub type Ranges = Vec<(u64, u64)>;

/// The types of items that have keys.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// 0, or any other byte for true.
    Bool,
    Unsigned,
    Signed,
    Float,
}

/// How the items of a column become keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keys {
    number: Number,
    size: usize,
    big_endian: bool,
    /// The lowest number is null.
    has_nat: bool,
}

impl Keys {
    /// Returns the keys of items of a type. Returns none if they have none.
    pub fn of(item: &Type) -> Option<Keys> {
        let (number, has_nat) = match (&item.kind, item.size) {
            (Kind::Bool, 1) => (Number::Bool, false),
            (Kind::Uint, 1 | 2 | 4 | 8) => (Number::Unsigned, false),
            (Kind::Int, 1 | 2 | 4 | 8) => (Number::Signed, false),
            (Kind::Datetime(_) | Kind::Timedelta(_), 8) => (Number::Signed, true),
            (Kind::Float, 4 | 8) => (Number::Float, false),
            _ => return None,
        };
        Some(Keys {
            number,
            size: item.size,
            big_endian: item.big_endian,
            has_nat,
        })
    }

    /// Returns whether the keys of these items and of others are of the same numbers.
    pub fn orders_as(&self, other: &Keys) -> bool {
        (self.number, self.size) == (other.number, other.size)
    }

    /// Returns the key of an item; none if it has another size.
    pub fn key(&self, item: &[u8]) -> Option<u64> {
        let key = Cell::new(0);
        let test = self.test(1, item, |found| {
            key.set(found);
            true
        });
        (item.len() == self.size && test.is_ok()).then(|| key.get())
    }

    /// Returns whether the items are floating-point numbers.
    pub fn is_float(&self) -> bool {
        self.number == Number::Float
    }

    /// Returns the lowest and the highest integer.
    pub fn limits(&self) -> (i128, i128) {
        let bits = 8 * self.size as u32;
        match self.number {
            Number::Signed => (
                -(1 << (bits - 1)) + i128::from(self.has_nat),
                (1 << (bits - 1)) - 1,
            ),
            Number::Bool | Number::Unsigned | Number::Float => (0, (1 << bits) - 1),
        }
    }

    /// Returns the key of an integer within the limits.
    pub fn of_integer(&self, n: i128) -> u64 {
        match self.number {
            Number::Signed => n as u64 ^ SIGN,
            Number::Bool | Number::Unsigned | Number::Float => n as u64,
        }
    }

    /// Returns the key of a number, after its conversion to the type of the items.
    pub fn of_float(&self, x: f64) -> u64 {
        float_key(match self.size {
            4 => f64::from(x as f32),
            _ => x,
        })
    }

    /// Returns for each of `n` items whether its key passes.
    pub fn test(
        &self,
        n: usize,
        items: &[u8],
        passes: impl Fn(u64) -> bool + Copy,
    ) -> Result<Bits> {
        let signed = |n: i64| n as u64 ^ SIGN;
        match (self.number, self.size) {
            (Number::Bool, _) => self.each(n, items, |[b]: [u8; 1]| passes(u64::from(b != 0))),
            (Number::Unsigned, 1) => self.each(n, items, |b| passes(u8::from_le_bytes(b).into())),
            (Number::Unsigned, 2) => self.each(n, items, |b| passes(u16::from_le_bytes(b).into())),
            (Number::Unsigned, 4) => self.each(n, items, |b| passes(u32::from_le_bytes(b).into())),
            (Number::Unsigned, _) => self.each(n, items, |b| passes(u64::from_le_bytes(b))),
            (Number::Signed, 1) => {
                self.each(n, items, |b| passes(signed(i8::from_le_bytes(b).into())))
            }
            (Number::Signed, 2) => {
                self.each(n, items, |b| passes(signed(i16::from_le_bytes(b).into())))
            }
            (Number::Signed, 4) => {
                self.each(n, items, |b| passes(signed(i32::from_le_bytes(b).into())))
            }
            (Number::Signed, _) => self.each(n, items, |b| passes(signed(i64::from_le_bytes(b)))),
            (Number::Float, 4) => self.each(n, items, |b| {
                passes(float_key(f32::from_le_bytes(b).into()))
            }),
            (Number::Float, _) => self.each(n, items, |b| passes(float_key(f64::from_le_bytes(b)))),
        }
    }

    /// Returns for each of `n` items whether it is NaT; none if none can be.
    pub fn nat(&self, n: usize, items: &[u8]) -> Result<Option<Bits>> {
        let is_nat = || self.test(n, items, |key| key == 0);
        self.has_nat.then(is_nat).transpose()
    }

    #[inline(always)]
    fn each<const N: usize>(
        &self,
        n: usize,
        items: &[u8],
        passes: impl Fn([u8; N]) -> bool,
    ) -> Result<Bits> {
        let mut items = items.as_chunks::<N>().0.iter();
        Bits::new(n, |_| {
            let mut item = items.next().copied().unwrap_or([0; N]);
            if self.big_endian {
                item.reverse();
            }
            passes(item)
        })
    }
}

/// Returns the key of a floating-point number.
fn float_key(x: f64) -> u64 {
    if x.is_nan() {
        return NAN;
    }
    // -0 equals 0
    let bits = (x + 0.0).to_bits();
    match bits & SIGN {
        0 => bits ^ SIGN,
        _ => !bits,
    }
}
