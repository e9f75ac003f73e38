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
        macro_rules! each {
            ($t:ty, $key:expr) => {
                self.each(n, items, |b| passes($key(<$t>::from_le_bytes(b))))
            };
        }
        let signed = |n: i64| n as u64 ^ SIGN;
        match (self.number, self.size) {
            (Number::Bool, _) => each!(u8, |b| u64::from(b != 0)),
            (Number::Unsigned, 1) => each!(u8, u64::from),
            (Number::Unsigned, 2) => each!(u16, u64::from),
            (Number::Unsigned, 4) => each!(u32, u64::from),
            (Number::Unsigned, _) => each!(u64, |n| n),
            (Number::Signed, 1) => each!(i8, |n| signed(i64::from(n))),
            (Number::Signed, 2) => each!(i16, |n| signed(i64::from(n))),
            (Number::Signed, 4) => each!(i32, |n| signed(i64::from(n))),
            (Number::Signed, _) => each!(i64, signed),
            (Number::Float, 4) => each!(f32, |x| float_key(f64::from(x))),
            (Number::Float, _) => each!(f64, float_key),
        }
    }

    /// Returns for each of `n` items whether its key is in a range. The items are compared as they are,
    /// which is several times faster than by their keys.
    pub fn test_range(&self, n: usize, items: &[u8], (low, high): (u64, u64)) -> Result<Bits> {
        let infinity = float_key(f64::INFINITY);
        let (low, high) = match self.number {
            Number::Float => (
                // no number has a key between those of infinity and NaN
                if low > infinity {
                    NAN
                } else {
                    low.max(float_key(f64::NEG_INFINITY))
                },
                if high < NAN { high.min(infinity) } else { NAN },
            ),
            _ => {
                let (least, greatest) = self.limits();
                let (least, greatest) = (self.of_integer(least), self.of_integer(greatest));
                (low.max(least), high.min(greatest))
            }
        };
        if low > high {
            return Bits::new(n, |_| false);
        }
        macro_rules! within {
            ($t:ty, $of:expr) => {{
                let (low, high) = ($of(low) as $t, $of(high) as $t);
                self.each(n, items, |b| {
                    <$t>::from_le_bytes(b).wrapping_sub(low) <= high.wrapping_sub(low)
                })
            }};
        }
        macro_rules! float {
            ($t:ty) => {{
                // the key before that of 0 is of -0, which has the key of 0
                let high = if high == SIGN - 1 { SIGN - 2 } else { high };
                let (begin, end) = (float_of(low), float_of(high));
                match (low, high) {
                    (NAN, _) => self.each(n, items, |b| <$t>::from_le_bytes(b).is_nan()),
                    // NaN is greater than all numbers
                    (_, NAN) => self.each(n, items, |b| {
                        let x = f64::from(<$t>::from_le_bytes(b));
                        x >= begin || x.is_nan()
                    }),
                    _ => self.each(n, items, |b| {
                        let x = f64::from(<$t>::from_le_bytes(b));
                        begin <= x && x <= end
                    }),
                }
            }};
        }
        let signed = |key: u64| key ^ SIGN;
        let unsigned = |key: u64| key;
        match (self.number, self.size) {
            (Number::Bool, _) => self.test(n, items, |key| low <= key && key <= high),
            (Number::Unsigned, 1) => within!(u8, unsigned),
            (Number::Unsigned, 2) => within!(u16, unsigned),
            (Number::Unsigned, 4) => within!(u32, unsigned),
            (Number::Unsigned, _) => within!(u64, unsigned),
            (Number::Signed, 1) => within!(u8, signed),
            (Number::Signed, 2) => within!(u16, signed),
            (Number::Signed, 4) => within!(u32, signed),
            (Number::Signed, _) => within!(u64, signed),
            (Number::Float, 4) => float!(f32),
            (Number::Float, _) => float!(f64),
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
        let items = items.as_chunks::<N>().0;
        match self.big_endian {
            false => Bits::of(n, items, passes),
            true => Bits::of(n, items, |mut item| {
                item.reverse();
                passes(item)
            }),
        }
    }
}

/// Returns the floating-point number of a key, which is between those of the infinities.
fn float_of(key: u64) -> f64 {
    f64::from_bits(match key & SIGN {
        0 => !key,
        _ => key ^ SIGN,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::io::sim::Rng;

    #[test]
    fn ranges_have_the_items_that_have_their_keys() {
        let types = "|b1 |i1 |u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8 <f4 >f4 <f8 >f8 <M8[s] >m8[s]";
        for (seed, dtype) in (1_u64..).zip(types.split(' ')) {
            let item = Dtype::parse(dtype).unwrap().item;
            let (keys, mut rng) = (Keys::of(&item).unwrap(), Rng(seed));
            let n = 200;
            let mut items: Vec<u8> = (0..n * item.size).map(|_| rng.draw() as u8).collect();
            // zeros of both signs, infinities, NaN, and the limits of integers
            let special = [
                0u64,
                1 << 63,
                0x7ff0 << 48,
                0xfff0 << 48,
                0x7ff8 << 48,
                u64::MAX,
            ];
            for (to, value) in items
                .chunks_mut(item.size)
                .zip(special.iter().cycle().take(60))
            {
                let high = &value.to_be_bytes()[..item.size];
                to.copy_from_slice(high);
                if !item.big_endian {
                    to.reverse();
                }
            }
            let mut all: Vec<u64> = items
                .chunks(item.size)
                .filter_map(|one| keys.key(one))
                .collect();
            assert_eq!(all.len(), n);
            all.extend([0, 1, NAN - 1, NAN]);
            for _ in 0..300 {
                let mut draw = || {
                    let key = all[rng.below(all.len())];
                    key.saturating_add(rng.below(3) as u64).saturating_sub(1)
                };
                let (one, other) = (draw(), draw());
                let range = (one.min(other), one.max(other));
                let found = keys.test_range(n, &items, range).unwrap();
                let by_key = |key| range.0 <= key && key <= range.1;
                let mut expected = keys.test(n, &items, by_key).unwrap();
                // NaT is in no range
                if let Some(nat) = keys.nat(n, &items).unwrap() {
                    expected.remove(&nat);
                }
                assert!(found == expected, "{dtype} {range:?}");
            }
        }
    }
}
