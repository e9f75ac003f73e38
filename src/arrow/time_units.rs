//! Conversion of datetimes and durations between NumPy and Arrow.
//!
//! NumPy has units from years to attoseconds, and multiples of them. Arrow has seconds,
//! milliseconds, microseconds, nanoseconds, days and months. A conversion must be exact.
#![forbid(unsafe_code)]

use super::format::Format;

/// NaT, the null value of NumPy datetimes and durations.
pub const NAT: i64 = i64::MIN;

/// A time unit of Arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl Unit {
    /// Returns the unit with a letter.
    pub fn parse(letter: &str) -> Option<Unit> {
        [Unit::S, Unit::Ms, Unit::Us, Unit::Ns]
            .into_iter()
            .find(|u| letter.chars().eq([u.letter()]))
    }

    /// Returns the letter of the unit.
    pub fn letter(self) -> char {
        match self {
            Unit::S => 's',
            Unit::Ms => 'm',
            Unit::Us => 'u',
            Unit::Ns => 'n',
        }
    }

    /// Returns the name of the unit, as NumPy spells it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::S => "s",
            Unit::Ms => "ms",
            Unit::Us => "us",
            Unit::Ns => "ns",
        }
    }

    fn attoseconds(self) -> i128 {
        match self {
            Unit::S => SECOND,
            Unit::Ms => SECOND / 1_000,
            Unit::Us => SECOND / 1_000_000,
            Unit::Ns => SECOND / 1_000_000_000,
        }
    }
}

/// A second in attoseconds.
const SECOND: i128 = 1_000_000_000_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// The step of a time type: the time between two consecutive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeStep {
    /// A number of attoseconds.
    Attoseconds(i128),
    /// A number of months.
    Months(i128),
    /// No unit (the generic units of NumPy).
    Generic,
}

/// Parses a NumPy unit such as `ns` or `25s`. Returns `None` for an invalid multiple. Unknown
/// letters, and no unit, are generic units.
pub fn numpy_step(unit: &str) -> Option<TimeStep> {
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = unit.get(..unit.len() - letters.len())?;
    let n: i128 = if digits.is_empty() {
        1
    } else {
        digits.parse().ok().filter(|n| *n > 0)?
    };
    Some(match letters {
        "Y" => TimeStep::Months(12 * n),
        "M" => TimeStep::Months(n),
        "W" => TimeStep::Attoseconds(7 * DAY * n),
        "D" => TimeStep::Attoseconds(DAY * n),
        "h" => TimeStep::Attoseconds(3600 * SECOND * n),
        "m" => TimeStep::Attoseconds(60 * SECOND * n),
        "s" => TimeStep::Attoseconds(SECOND * n),
        "ms" => TimeStep::Attoseconds(SECOND / 1_000 * n),
        "us" => TimeStep::Attoseconds(SECOND / 1_000_000 * n),
        "ns" => TimeStep::Attoseconds(SECOND / 1_000_000_000 * n),
        "ps" => TimeStep::Attoseconds(1_000_000 * n),
        "fs" => TimeStep::Attoseconds(1_000 * n),
        "as" => TimeStep::Attoseconds(n),
        _ => TimeStep::Generic,
    })
}

/// Returns the Arrow type for a NumPy unit. `is_datetime` selects a point in time or a duration.
pub fn arrow_format(unit: &str, is_datetime: bool) -> Option<Format> {
    let time = |unit| {
        if is_datetime {
            Format::Timestamp(unit, String::new())
        } else {
            Format::Duration(unit)
        }
    };
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    numpy_step(unit).map(|step| match (step, letters) {
        (TimeStep::Generic, _) => Format::Int {
            signed: true,
            size: 8,
        },
        (TimeStep::Months(_), _) if !is_datetime => Format::Months,
        (TimeStep::Months(_), _) | (_, "D" | "W") if is_datetime => Format::Date,
        (_, "ms") => time(Unit::Ms),
        (_, "us") => time(Unit::Us),
        (_, "ns" | "ps" | "fs" | "as") => time(Unit::Ns),
        _ => time(Unit::S),
    })
}

/// Returns the step of an Arrow type, or `None` if it is not a time type.
pub fn arrow_step(format: &Format) -> Option<TimeStep> {
    Some(match format {
        Format::Timestamp(unit, _) | Format::Duration(unit) => {
            TimeStep::Attoseconds(unit.attoseconds())
        }
        Format::Date => TimeStep::Attoseconds(DAY),
        Format::DateMs => TimeStep::Attoseconds(Unit::Ms.attoseconds()),
        Format::Months => TimeStep::Months(1),
        Format::Int {
            signed: true,
            size: 8,
        } => TimeStep::Generic,
        _ => return None,
    })
}

/// A conversion of numbers from one step to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeConversion {
    /// The conversion between months and days, if there is one.
    calendar: Option<Calendar>,
    numerator: i128,
    denominator: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calendar {
    /// Converts steps of this many months since 1970 to days before the fraction is applied.
    ToDays(i128),
    /// Converts days to steps of this many months since 1970 after the fraction is applied.
    ToMonths(i128),
}

impl TimeConversion {
    /// Creates a conversion. For datetimes, months are converted to and from days by the calendar.
    pub fn new(from: TimeStep, to: TimeStep, is_datetime: bool) -> Option<TimeConversion> {
        let (calendar, from, to) = match (from, to) {
            (TimeStep::Generic, TimeStep::Generic) => (None, 1, 1),
            (TimeStep::Attoseconds(a), TimeStep::Attoseconds(b))
            | (TimeStep::Months(a), TimeStep::Months(b)) => (None, a, b),
            (TimeStep::Months(n), TimeStep::Attoseconds(b)) if is_datetime => {
                (Some(Calendar::ToDays(n)), DAY, b)
            }
            (TimeStep::Attoseconds(a), TimeStep::Months(n)) if is_datetime => {
                (Some(Calendar::ToMonths(n)), a, DAY)
            }
            _ => return None,
        };
        let common = greatest_common_divisor(from, to);
        Some(TimeConversion {
            calendar,
            numerator: from / common,
            denominator: to / common,
        })
    }

    /// Returns whether the conversion changes no number.
    pub fn is_identity(&self) -> bool {
        self.calendar.is_none() && self.numerator == 1 && self.denominator == 1
    }

    /// Converts a number. Returns `None` if the result is not exact or out of range.
    pub fn apply(&self, n: i64) -> Option<i64> {
        if self.calendar.is_none() && self.denominator == 1 {
            return n.checked_mul(i64::try_from(self.numerator).ok()?);
        }
        let n = match self.calendar {
            Some(Calendar::ToDays(months)) => first_day(i128::from(n) * months)?,
            _ => i128::from(n),
        };
        let n = n.checked_mul(self.numerator)?;
        let n = if n % self.denominator == 0 {
            n / self.denominator
        } else {
            return None;
        };
        let n = match self.calendar {
            Some(Calendar::ToMonths(months)) => {
                whole_month(n).filter(|n| n % months == 0)? / months
            }
            _ => n,
        };
        i64::try_from(n).ok()
    }
}

fn greatest_common_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Returns the days from 1970-01-01 to the first day of a month, which is given as months since
/// January 1970, in the Gregorian calendar.
fn first_day(months: i128) -> Option<i128> {
    // with years that begin in March, the leap day is the last day of the year
    let march = months.checked_add(1970 * 12 - 2)?;
    let (year, month) = (march.div_euclid(12), march.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let before = (153 * month + 2) / 5;
    // 0000-03-01 is 719,468 days before 1970-01-01
    Some(year.checked_mul(365)? + leap_days + before - 719_468)
}

/// Returns the months since January 1970 of the month whose first day this is, or `None`.
fn whole_month(day: i128) -> Option<i128> {
    // 400 years have 4,800 months and 146,097 days, so the estimate is off by at most one
    let estimate = day.checked_mul(4800)?.div_euclid(146_097);
    (estimate - 1..=estimate + 2).find(|m| first_day(*m) == Some(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(from: &str, to: &str, is_datetime: bool) -> TimeConversion {
        TimeConversion::new(
            numpy_step(from).unwrap(),
            numpy_step(to).unwrap(),
            is_datetime,
        )
        .unwrap()
    }

    #[test]
    fn first_days_of_months_agree_with_the_calendar() {
        for (month, day) in [
            (0, 0),
            (1, 31),
            (2, 59),
            (-1, -31),
            (12, 365),
            (25, 761),
            (26, 790),
            (362, 11017),
            (-1970 * 12, -719_528),
            (336, 10227),
        ] {
            assert_eq!(first_day(month), Some(day), "{month}");
            assert_eq!(whole_month(day), Some(month), "{day}");
        }
        assert_eq!(whole_month(1), None);
        let mut day = first_day(-40_000).unwrap();
        for month in -40_000..40_000 {
            assert_eq!(first_day(month), Some(day));
            assert_eq!(whole_month(day), Some(month));
            let next = first_day(month + 1).unwrap();
            assert!((28..=31).contains(&(next - day)));
            day = next;
        }
    }

    #[test]
    fn times_are_converted_exactly_or_not_at_all() {
        assert_eq!(conversion("h", "s", true).apply(-2), Some(-7200));
        assert_eq!(conversion("s", "h", true).apply(7200), Some(2));
        assert_eq!(conversion("s", "h", true).apply(7201), None);
        assert_eq!(conversion("25s", "s", true).apply(3), Some(75));
        assert_eq!(conversion("25s", "10s", true).apply(2), Some(5));
        assert_eq!(conversion("25s", "10s", true).apply(1), None);
        assert_eq!(conversion("Y", "D", true).apply(43), Some(15706));
        assert_eq!(conversion("D", "Y", true).apply(15706), Some(43));
        assert_eq!(conversion("D", "Y", true).apply(15707), None);
        assert_eq!(conversion("s", "M", true).apply(31 * 86_400), Some(1));
        assert_eq!(conversion("Y", "M", false).apply(3), Some(36));
        assert_eq!(conversion("as", "ns", true).apply(5_000_000_000), Some(5));
        assert_eq!(conversion("W", "as", true).apply(1), None);
        assert_eq!(conversion("s", "ns", true).apply(i64::MAX), None);
        assert_eq!(conversion("Y", "D", true).apply(i64::MAX), None);
        assert!(conversion("s", "s", true).is_identity());
        assert_eq!(
            TimeConversion::new(numpy_step("M").unwrap(), numpy_step("D").unwrap(), false),
            None
        );
        assert_eq!(
            TimeConversion::new(TimeStep::Generic, numpy_step("D").unwrap(), true),
            None
        );
    }

    #[test]
    fn units_are_mapped_to_arrow_types() {
        let format =
            |unit: &str, is_datetime| arrow_format(unit, is_datetime).unwrap().format_string();
        let all = [
            ("ns", "tsn:", "tDn"),
            ("ps", "tsn:", "tDn"),
            ("3ms", "tsm:", "tDm"),
            ("us", "tsu:", "tDu"),
            ("h", "tss:", "tDs"),
            ("", "l", "l"),
        ];
        for (unit, datetime, duration) in all {
            assert_eq!(
                (format(unit, true).as_str(), format(unit, false).as_str()),
                (datetime, duration)
            );
        }
        for (unit, datetime, duration) in [
            ("Y", "tdD", "tiM"),
            ("M", "tdD", "tiM"),
            ("D", "tdD", "tDs"),
            ("W", "tdD", "tDs"),
        ] {
            assert_eq!(
                (format(unit, true).as_str(), format(unit, false).as_str()),
                (datetime, duration)
            );
        }
        assert_eq!(arrow_format("0s", true), None);
    }
}
