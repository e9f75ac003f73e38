//! Items as numbers, and summaries of many.

use crate::rows::print::{self, Text};
use holdall::{ItemKind, ItemType};
use serde_json::Value;
use std::cmp::Ordering;

/// How the bytes of an item are a number or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    /// Offsets and durations, in a unit.
    Time,
    Bytes,
    Text,
    /// Counted only: complex numbers, structures, opaque bytes.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub kind: Kind,
    pub size: usize,
    big_endian: bool,
}

impl Number {
    pub fn of(item: &ItemType) -> Number {
        let kind = match (&item.kind, item.size) {
            (ItemKind::Bool, _) => Kind::Bool,
            (ItemKind::Int, _) => Kind::Int,
            (ItemKind::Uint, _) => Kind::Uint,
            (ItemKind::Float, 2 | 4 | 8) => Kind::Float,
            (ItemKind::Datetime(_) | ItemKind::Timedelta(_), _) => Kind::Time,
            (ItemKind::Bytes, _) => Kind::Bytes,
            (ItemKind::Str, _) => Kind::Text,
            _ => Kind::Other,
        };
        Number { kind, size: item.size, big_endian: item.big_endian }
    }

    /// Unsigned integers of 64 bits.
    pub const U64: Number =
        Number { kind: Kind::Uint, size: 8, big_endian: cfg!(target_endian = "big") };

    pub fn is_numeric(self) -> bool {
        !matches!(self.kind, Kind::Bytes | Kind::Text | Kind::Other)
    }

    /// The exact value of an item that is no floating-point number; None: not a time.
    pub fn integer(self, item: &[u8]) -> Option<i128> {
        let bits = print::bits(item, self.big_endian);
        let unused = 64 - 8 * self.size.clamp(1, 8) as u32;
        let signed = (bits << unused) as i64 >> unused;
        match self.kind {
            Kind::Bool => Some(i128::from(bits != 0)),
            Kind::Uint => Some(i128::from(bits)),
            Kind::Time if signed == i64::MIN => None,
            _ => Some(i128::from(signed)),
        }
    }

    /// The value of an item, NaN if it has none.
    pub fn float(self, item: &[u8]) -> f64 {
        match self.kind {
            Kind::Float => print::float(item, self.big_endian),
            _ => self.integer(item).map_or(f64::NAN, |value| value as f64),
        }
    }

    /// The text of an item, without its padding.
    pub fn text(self, item: &[u8]) -> String {
        if self.kind == Kind::Bytes {
            let end = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            return String::from_utf8_lossy(&item[..end]).into_owned();
        }
        let character = |unit: &[u8]| {
            char::from_u32(print::bits(unit, self.big_endian) as u32).unwrap_or('\u{fffd}')
        };
        let text: String = item.chunks_exact(4).map(character).collect();
        text.trim_end_matches('\0').to_owned()
    }
}

/// An item as JSON.
pub fn as_json(of: &ItemType, item: &[u8]) -> Value {
    let mut text = Text::default();
    print::json(&mut text, of, &[], item);
    serde_json::from_slice(&text.bytes).unwrap_or_default()
}

/// A floating-point number of so many bytes, with as few digits as it is read back from.
pub fn shortest(value: f64, size: usize) -> String {
    let mut text = Vec::new();
    print::put_float(&mut text, value, size);
    String::from_utf8_lossy(&text).into_owned()
}

/// The extremes, the mean and the spread of items. Totals of integers are exact; those of
/// floating-point numbers are means of blocks, merged as Chan, Golub and LeVeque do.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub count: u64,
    pub nulls: u64,
    pub integers: Option<[i128; 2]>,
    pub floats: Option<[f64; 2]>,
    pub texts: Option<[String; 2]>,
    sum: i128,
    /// Numbers that are not null.
    numbers: u64,
    /// The first number; the mean is the difference from it.
    shift: f64,
    mean: f64,
    /// The sum of the squared differences from the mean.
    squares: f64,
}

/// Items whose differences from their mean are summed at once.
const BLOCK: usize = 4096;

impl Summary {
    pub fn add(&mut self, number: Number, bytes: &[u8]) {
        let size = number.size.max(1);
        self.count += (bytes.len() / size) as u64;
        if number.is_numeric() {
            let mut values = Vec::with_capacity(BLOCK);
            for block in bytes.chunks(BLOCK * size) {
                self.add_block(number, block, &mut values);
            }
        } else if number.kind != Kind::Other {
            for item in bytes.chunks_exact(size) {
                self.add_text(number.text(item));
            }
        }
    }

    /// Adds one integer.
    pub fn add_integer(&mut self, value: u64) {
        self.add(Number::U64, &value.to_ne_bytes());
    }

    fn add_text(&mut self, text: String) {
        if text.is_empty() {
            self.nulls += 1;
            return;
        }
        match &mut self.texts {
            None => self.texts = Some([text.clone(), text]),
            Some([least, _]) if text < *least => *least = text,
            Some([_, most]) if text > *most => *most = text,
            _ => {}
        }
    }

    fn add_block(&mut self, number: Number, block: &[u8], values: &mut Vec<f64>) {
        values.clear();
        let items = block.chunks_exact(number.size);
        if number.kind == Kind::Float {
            values.extend(items.map(|item| number.float(item)).filter(|value| !value.is_nan()));
            for value in values.iter().copied() {
                let [least, most] = self.floats.unwrap_or([value; 2]);
                self.floats = Some([least.min(value), most.max(value)]);
            }
        } else {
            for value in items.filter_map(|item| number.integer(item)) {
                let [least, most] = self.integers.unwrap_or([value; 2]);
                self.integers = Some([least.min(value), most.max(value)]);
                self.sum += value;
                values.push(value as f64);
            }
        }
        self.nulls += (block.len() / number.size - values.len()) as u64;
        self.merge(values);
    }

    fn merge(&mut self, values: &mut [f64]) {
        let Some(first) = values.first().copied() else {
            return;
        };
        // differences from a value among them lose fewer digits, if they do not overflow
        if self.numbers == 0 && first.abs() < 1e300 {
            self.shift = first;
        }
        let (n, before) = (values.len() as f64, self.numbers as f64);
        values.iter_mut().for_each(|value| *value -= self.shift);
        // each part is divided first: the sum of finite numbers must not become infinite
        let mean: f64 = values.iter().map(|value| value / n).sum();
        let distance = mean - self.mean;
        let squares = values.iter().map(|value| (value - mean).powi(2));
        self.squares += squares.sum::<f64>() + distance.powi(2) * before * n / (before + n);
        self.numbers += values.len() as u64;
        self.mean += if mean.is_finite() && self.mean.is_finite() {
            distance * n / (before + n)
        } else {
            mean
        };
    }

    /// The mean; None: there are no numbers.
    pub fn mean(&self) -> Option<f64> {
        let n = i128::from(self.numbers);
        let exact = || (self.sum / n) as f64 + (self.sum % n) as f64 / n as f64;
        let mean = || {
            if self.integers.is_some() { exact() } else { self.shift + self.mean }
        };
        (n > 0).then(mean)
    }

    /// The standard deviation of the numbers (of the population, as `numpy.std`).
    pub fn deviation(&self) -> Option<f64> {
        (self.numbers > 0).then(|| (self.squares / self.numbers as f64).sqrt())
    }

    pub fn sum(&self) -> i128 {
        self.sum
    }
}

/// Orders numbers, with NaN last.
pub fn order(a: &f64, b: &f64) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_become_numbers() {
        let number = |dtype| Number::of(&ItemType::parse(dtype).unwrap());
        let of = |dtype, bytes: &[u8]| number(dtype).integer(bytes);
        assert_eq!(of(">i2", &[0xff, 0xfe]), Some(-2));
        assert_eq!(of("<u8", &[255; 8]), Some(i128::from(u64::MAX)));
        assert_eq!(of("<u4", &[255; 4]), Some(0xffff_ffff));
        assert_eq!(of("<M8[ns]", &i64::MIN.to_le_bytes()), None);
        assert_eq!(number("<f16").kind, Kind::Other);
    }

    #[test]
    fn totals_are_exact_and_deviations_stable() {
        let mut summary = Summary::default();
        for _ in 0..3 {
            summary.add_integer(u64::MAX);
        }
        assert_eq!(summary.sum(), 3 * i128::from(u64::MAX));
        let (mut summary, number) =
            (Summary::default(), Number::of(&ItemType::parse("<f8").unwrap()));
        for i in 0..10_000 {
            summary.add(number, &(1e9 + f64::from(i % 2)).to_le_bytes());
        }
        assert_eq!((summary.mean(), summary.deviation()), (Some(1e9 + 0.5), Some(0.5)));
    }
}
