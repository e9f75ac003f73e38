//! The type that fits all values of a column of text.

use super::parse::Value;
use super::times::Time;

/// What the values of a column have in common so far.
pub struct Guess {
    has_missing: bool,
    has_truth: bool,
    has_floating: bool,
    has_text: bool,
    /// The least and the largest whole number.
    whole: Option<[i128; 2]>,
    /// A character that is not ASCII.
    is_wide: bool,
    /// The longest value.
    bytes: usize,
    characters: usize,
    /// Times are recognized, and all values so far are such.
    times: Option<Times>,
}

impl Guess {
    /// `times`: columns of times are recognized.
    pub fn new(times: bool) -> Guess {
        Guess {
            has_missing: false,
            has_truth: false,
            has_floating: false,
            has_text: false,
            whole: None,
            is_wide: false,
            bytes: 0,
            characters: 0,
            times: times.then(Times::default),
        }
    }

    /// Takes a value into account. `is_text`: it is known to be a string.
    pub fn see(&mut self, text: &[u8], is_text: bool) {
        let mut characters = text.len();
        if !text.is_ascii() {
            self.is_wide = true;
            characters = text.iter().filter(|byte| *byte & 0xc0 != 0x80).count();
        }
        self.bytes = self.bytes.max(text.len());
        self.characters = self.characters.max(characters);
        if self.times.as_mut().is_some_and(|times| !times.see(text)) {
            self.times = None;
        }
        if is_text || self.has_text {
            self.has_text = true;
            return;
        }
        match Value::read(text) {
            Value::Missing => self.has_missing = true,
            Value::Truth(_) => self.has_truth = true,
            Value::Floating(_) => self.has_floating = true,
            Value::Text => self.has_text = true,
            Value::Whole(n, _) => {
                let n = n.unwrap_or(i128::MAX);
                let [least, most] = self.whole.unwrap_or([n, n]);
                self.whole = Some([least.min(n), most.max(n)]);
            }
        }
    }

    /// Whether the type is one of texts.
    pub fn is_text(&self) -> bool {
        self.dtype().starts_with(['<', '|']) && self.dtype().contains(['S', 'U'])
    }

    /// The type, as NumPy spells it: int64, or uint64 if a number needs it; float64 with gaps or
    /// points; booleans without gaps. Values that would be rounded, or are mixed, are text, of
    /// bytes if all are ASCII.
    pub fn dtype(&self) -> String {
        let to_double = self.has_missing || self.has_floating;
        let is_mixed = self.has_truth && (self.whole.is_some() || to_double);
        let [least, most] = self.whole.unwrap_or_default();
        let is_signed = i128::from(i64::MIN) <= least && most <= i128::from(i64::MAX);
        let is_unsigned = least >= 0 && most <= i128::from(u64::MAX);
        let is_exact = most.max(-least) <= 1 << 53;
        let fits = if to_double { is_exact } else { is_signed || is_unsigned };
        if let Some(unit) = self.times.as_ref().and_then(Times::unit) {
            format!("<M8[{unit}]")
        } else if self.has_text || is_mixed || !fits {
            match self.is_wide {
                true => format!("<U{}", self.characters.max(1)),
                false => format!("|S{}", self.bytes.max(1)),
            }
        } else {
            match self.whole {
                _ if self.has_truth => "|b1",
                Some(_) if !to_double && is_signed => "<i8",
                Some(_) if !to_double => "<u8",
                _ => "<f8",
            }
            .to_owned()
        }
    }
}

/// What the times of a column have in common: dates, or times of day too, with or without a "Z" at
/// the end.
#[derive(Default)]
struct Times {
    /// The parts of a time, and whether it ends in "Z".
    form: Option<(usize, bool)>,
    /// Digits of a fraction of a second.
    digits: usize,
    /// Some year is none that 64 bits of nanoseconds have.
    is_far: bool,
}

impl Times {
    /// Returns whether all values, with this one, are times of one form.
    fn see(&mut self, text: &[u8]) -> bool {
        if matches!(Value::read(text), Value::Missing) {
            return true;
        }
        let Some(time) = Time::parse(text) else {
            return false;
        };
        let form = (time.parts, time.is_utc);
        self.digits = self.digits.max(time.digits);
        self.is_far |= !(1678..=2261).contains(&time.year);
        matches!(time.parts, 3 | 6)
            && time.year >= 0
            && time.year_digits == 4
            && time.has_zone == time.is_utc
            && form == *self.form.get_or_insert(form)
    }

    fn unit(&self) -> Option<&'static str> {
        match (self.form?.0, self.digits) {
            (3, _) => Some("D"),
            (_, 0) => Some("s"),
            (_, 1..=3) => Some("ms"),
            (_, 4..=6) => Some("us"),
            (_, 7..=9) => (!self.is_far).then_some("ns"),
            _ => None,
        }
    }
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

    #[test]
    fn numbers_that_would_be_rounded_are_text() {
        assert_eq!(dtype(&["1", "-2"]), "<i8");
        assert_eq!(dtype(&["18446744073709551615", "0"]), "<u8");
        assert_eq!(dtype(&["18446744073709551615", "-1"]), "|S20");
        assert_eq!(dtype(&["9007199254740993", ""]), "|S16");
        assert_eq!(dtype(&["1", "2.5", "NaN"]), "<f8");
        assert_eq!(dtype(&["true", "1"]), "|S4");
    }
}
