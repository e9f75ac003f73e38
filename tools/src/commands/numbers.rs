//! Items as numbers, and summaries of many.

use crate::rows::print::{self, Text};
use holdall::{ItemKind, ItemType};
use serde_json::Value;

/// Returns whether items are numbers, truth values or times.
pub fn is_numeric(of: &ItemType) -> bool {
    match of.kind {
        ItemKind::Bool | ItemKind::Int | ItemKind::Uint => true,
        ItemKind::Datetime(_) | ItemKind::Timedelta(_) => true,
        ItemKind::Float => matches!(of.size, 2 | 4 | 8),
        _ => false,
    }
}

pub fn is_text(of: &ItemType) -> bool {
    matches!(of.kind, ItemKind::Bytes | ItemKind::Str)
}

/// The exact value of an item that is no floating-point number; None: not a time.
fn integer(of: &ItemType, item: &[u8]) -> Option<i128> {
    let signed = print::signed(item, of.big_endian);
    match of.kind {
        ItemKind::Bool => Some(i128::from(signed != 0)),
        ItemKind::Uint => Some(i128::from(print::bits(item, of.big_endian))),
        ItemKind::Datetime(_) | ItemKind::Timedelta(_) if signed == i64::MIN => None,
        _ => Some(i128::from(signed)),
    }
}

/// Calls a function with the value of each item, NaN if it has none.
pub fn floats(of: &ItemType, bytes: &[u8], mut each: impl FnMut(f64)) {
    let items = bytes.chunks_exact(of.size.max(1));
    match of.kind {
        ItemKind::Float => items.for_each(|item| each(print::float(item, of.big_endian))),
        _ => items.for_each(|item| each(integer(of, item).map_or(f64::NAN, |value| value as f64))),
    }
}

/// The text of an item, without its padding.
fn text(of: &ItemType, item: &[u8]) -> String {
    let mut text = Text::default();
    print::put_string(&mut text, of, item);
    String::from_utf8_lossy(&text.bytes).into_owned()
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

/// A number with few digits.
pub fn short(value: f64) -> String {
    let rounded = format!("{value:.3e}").parse().unwrap_or(value);
    match value.abs() {
        1e7.. => format!("{rounded:e}"),
        _ => shortest(rounded, 8),
    }
}

/// The extremes, the mean and the spread of items. Totals of integers are exact; those of
/// floating-point numbers are means of blocks, merged as Chan, Golub and LeVeque do.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Items, and those among them that are null.
    pub items: u64,
    pub nulls: u64,
    pub integers: Option<[i128; 2]>,
    pub floats: Option<[f64; 2]>,
    pub texts: Option<[String; 2]>,
    pub sum: i128,
    /// Numbers that are not null.
    numbers: u64,
    /// The first number; the mean is the difference from it.
    shift: f64,
    mean: f64,
    /// The sum of the squared differences from the mean.
    squares: f64,
    /// The numbers of a block.
    values: Vec<f64>,
}

/// Items whose differences from their mean are summed at once.
pub const BLOCK: usize = 4096;

fn extend<T: PartialOrd + Copy>(extremes: &mut Option<[T; 2]>, value: T) {
    let [least, most] = extremes.get_or_insert([value; 2]);
    if value < *least {
        *least = value;
    }
    if value > *most {
        *most = value;
    }
}

impl Summary {
    pub fn add(&mut self, of: &ItemType, bytes: &[u8]) {
        let size = of.size.max(1);
        self.items += (bytes.len() / size) as u64;
        if is_numeric(of) {
            bytes.chunks(BLOCK * size).for_each(|block| self.add_block(of, block));
        } else if is_text(of) {
            bytes.chunks_exact(size).for_each(|item| self.add_text(text(of, item)));
        }
    }

    fn add_text(&mut self, text: String) {
        match &mut self.texts {
            _ if text.is_empty() => self.nulls += 1,
            None => self.texts = Some([text.clone(), text]),
            Some([least, _]) if text < *least => *least = text,
            Some([_, most]) if text > *most => *most = text,
            _ => {}
        }
    }

    fn add_block(&mut self, of: &ItemType, block: &[u8]) {
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        if of.kind == ItemKind::Float {
            floats(of, block, |value| values.push(value));
            values.retain(|value| !value.is_nan());
            values.iter().for_each(|value| extend(&mut self.floats, *value));
        } else {
            for value in block.chunks_exact(of.size).filter_map(|item| integer(of, item)) {
                extend(&mut self.integers, value);
                self.sum += value;
                values.push(value as f64);
            }
        }
        self.nulls += (block.len() / of.size - values.len()) as u64;
        self.merge(&mut values);
        self.values = values;
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
        let is_exact = self.integers.is_some();
        (n > 0).then(|| if is_exact { exact() } else { self.shift + self.mean })
    }

    /// The standard deviation of the numbers (of the population, as `numpy.std`).
    pub fn deviation(&self) -> Option<f64> {
        (self.numbers > 0).then(|| (self.squares / self.numbers as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_become_numbers() {
        let of = |dtype, bytes: &[u8]| integer(&ItemType::parse(dtype).unwrap(), bytes);
        assert_eq!(of(">i2", &[0xff, 0xfe]), Some(-2));
        assert_eq!(of("<u8", &[255; 8]), Some(i128::from(u64::MAX)));
        assert_eq!(of("<u4", &[255; 4]), Some(0xffff_ffff));
        assert_eq!(of("<M8[ns]", &i64::MIN.to_le_bytes()), None);
        assert!(is_numeric(&ItemType::parse("<f8").unwrap()));
        assert!(!is_numeric(&ItemType::parse("<c16").unwrap()));
    }

    #[test]
    fn totals_are_exact_and_deviations_stable() {
        let mut summary = Summary::default();
        summary.add(&ItemType::parse("<u8").unwrap(), &[255; 24]);
        assert_eq!(summary.sum, 3 * i128::from(u64::MAX));
        let (mut summary, item) = (Summary::default(), ItemType::parse("<f8").unwrap());
        for i in 0..10_000 {
            summary.add(&item, &(1e9 + f64::from(i % 2)).to_le_bytes());
        }
        assert_eq!((summary.mean(), summary.deviation()), (Some(1e9 + 0.5), Some(0.5)));
    }
}
