//! The type that fits all values of a column of text.

use super::parse::{Looks, Numeral};

/// What the values of a column have in common so far.
#[derive(Default)]
pub struct Guess {
    missing: bool,
    truth: bool,
    whole: bool,
    floating: bool,
    string: bool,
    minus: bool,
    /// A whole number that no int64 holds.
    beyond: bool,
    /// A whole number that not every double near it holds.
    inexact: bool,
    /// A whole number that neither int64 nor uint64 holds.
    huge: bool,
    /// A character that is not ASCII.
    wide: bool,
    /// The longest value.
    bytes: usize,
    characters: usize,
    /// Times are recognized, and all values so far are such.
    times: Option<Times>,
}

impl Guess {
    /// `times`: columns of times are recognized.
    pub fn new(times: bool) -> Guess {
        Guess { times: times.then(Times::default), ..Guess::default() }
    }

    /// Takes a value into account. `text`: it is known to be a string.
    pub fn see(&mut self, value: &[u8], text: bool) {
        self.see_length(value);
        if let Some(times) = &mut self.times
            && !times.see(value)
        {
            self.times = None;
        }
        if text || self.string {
            self.string = true;
            return;
        }
        let number = Numeral::read(value);
        match number.looks {
            Looks::Missing => self.missing = true,
            Looks::Truth => self.truth = true,
            Looks::Floating => self.floating = true,
            Looks::String => self.string = true,
            Looks::Whole => {
                self.whole = true;
                self.minus |= number.minus;
                self.huge |= number.huge || (number.minus && number.whole > 1 << 63);
                self.beyond |= number.whole > i64::MAX as u64 + u64::from(number.minus);
                self.inexact |= number.whole > 1 << 53;
            }
        }
    }

    fn see_length(&mut self, value: &[u8]) {
        let mut characters = value.len();
        if !value.is_ascii() {
            self.wide = true;
            characters = value.iter().filter(|byte| *byte & 0xc0 != 0x80).count();
        }
        self.bytes = self.bytes.max(value.len());
        self.characters = self.characters.max(characters);
    }

    /// The type, as NumPy spells it: int64, or uint64 if a number needs it; float64 with gaps or
    /// points; booleans without gaps. Values that would be rounded, or are mixed, are text, of
    /// bytes if all are ASCII.
    pub fn dtype(&self) -> String {
        let (numbers, to_double) = (self.whole || self.floating, self.missing || self.floating);
        let mixed = self.truth && (numbers || self.missing);
        let rounded = self.huge || (self.inexact && to_double) || (self.beyond && self.minus);
        if let Some(unit) = self.times.as_ref().and_then(Times::unit) {
            format!("<M8[{unit}]")
        } else if self.string || mixed || rounded {
            if self.wide {
                format!("<U{}", self.characters.max(1))
            } else {
                format!("|S{}", self.bytes.max(1))
            }
        } else if self.truth {
            "|b1".to_owned()
        } else if self.whole && !to_double {
            if self.beyond { "<u8" } else { "<i8" }.to_owned()
        } else {
            "<f8".to_owned()
        }
    }
}

/// What the times of a column have in common: dates, or times of day too, with or without a "Z" at
/// the end.
#[derive(Default)]
struct Times {
    form: Option<(bool, bool)>,
    /// Digits of a fraction of a second.
    digits: usize,
    early: bool,
    late: bool,
}

impl Times {
    /// Returns whether all values, with this one, are times of one form.
    fn see(&mut self, value: &[u8]) -> bool {
        if Numeral::read(value).looks == Looks::Missing {
            return true;
        }
        let (text, zone) = match value.strip_suffix(b"Z") {
            Some(text) => (text, true),
            None => (value, false),
        };
        let Some((year, of_day, digits)) = iso_parts(text) else {
            return false;
        };
        let form = *self.form.get_or_insert((of_day, zone));
        self.digits = self.digits.max(digits);
        self.early |= year < 1678;
        self.late |= year > 2261;
        form == (of_day, zone) && (of_day || !zone)
    }

    fn unit(&self) -> Option<&'static str> {
        match (self.form?, self.digits) {
            ((false, _), _) => Some("D"),
            (_, 0) => Some("s"),
            (_, 1..=3) => Some("ms"),
            (_, 4..=6) => Some("us"),
            // 64 bits of nanoseconds
            _ => (!self.early && !self.late).then_some("ns"),
        }
    }
}

/// The parts of "2013-01-31" or "2013-01-31T05:00:00.25": the year, whether there is a time of day,
/// and the digits of its fraction.
fn iso_parts(text: &[u8]) -> Option<(u32, bool, usize)> {
    let number = |from: usize, to: usize| -> Option<u32> {
        let digits = text.get(from..to)?;
        let add = |n: u32, c: &u8| c.is_ascii_digit().then(|| n * 10 + u32::from(c - b'0'));
        digits.iter().try_fold(0, add)
    };
    let is = |at: usize, c: u8| text.get(at) == Some(&c);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    if !is(4, b'-') || !is(7, b'-') || !(1..=days).contains(&day) {
        return None;
    }
    if text.len() == 10 {
        return Some((year, false, 0));
    }
    let in_day = number(11, 13)? < 24 && number(14, 16)? < 60 && number(17, 19)? < 60;
    if !in_day || !(is(10, b'T') || is(10, b' ')) || !is(13, b':') || !is(16, b':') {
        return None;
    }
    let digits = match text.len() {
        19 => 0,
        n @ 21..=29 if is(19, b'.') => {
            number(20, n)?;
            n - 20
        }
        _ => return None,
    };
    Some((year, true, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dtype(values: &[&str]) -> String {
        let mut guess = Guess::new(true);
        values.iter().for_each(|v| guess.see(v.as_bytes(), false));
        guess.dtype()
    }

    #[test]
    fn times_of_one_form_are_recognized() {
        assert_eq!(dtype(&["2013-01-01", "NA", "2012-02-29"]), "<M8[D]");
        assert_eq!(dtype(&["2013-01-01T05:00:00Z"]), "<M8[s]");
        assert_eq!(dtype(&["2013-01-01 05:00:00.5", "2013-01-01 05:00:00"]), "<M8[ms]");
        assert_eq!(dtype(&["2013-01-01", "2013-01-01T05:00:00"]), "|S19", "two forms");
        assert_eq!(dtype(&["2013-02-29"]), "|S10");
        assert_eq!(dtype(&["1500-01-01T00:00:00.123456789"]), "|S29");
        assert_eq!(dtype(&["NA"]), "<f8");
    }
}
