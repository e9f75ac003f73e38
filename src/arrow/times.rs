//! Times: NumPy counts in any unit from years to attoseconds, and in multiples of them; Arrow in
//! four units, days and months. A time is turned from one into the other only where it stays the
//! same.
#![forbid(unsafe_code)]

use super::format::Format;

/// What NumPy has for no time.
pub const NAT: i64 = i64::MIN;

/// A unit of Arrow's.
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
    /// The unit with this letter.
    pub fn parse(letter: &str) -> Option<Unit> {
        [Unit::S, Unit::Ms, Unit::Us, Unit::Ns]
            .into_iter()
            .find(|u| letter.chars().eq([u.letter()]))
    }

    /// Its letter.
    pub fn letter(self) -> char {
        match self {
            Unit::S => 's',
            Unit::Ms => 'm',
            Unit::Us => 'u',
            Unit::Ns => 'n',
        }
    }

    fn span(self) -> i128 {
        match self {
            Unit::S => SECOND,
            Unit::Ms => SECOND / 1_000,
            Unit::Us => SECOND / 1_000_000,
            Unit::Ns => SECOND / 1_000_000_000,
        }
    }
}

/// In attoseconds.
const SECOND: i128 = 1_000_000_000_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many attoseconds.
    Time(i128),
    /// So many months.
    Months(i128),
    /// Nobody has said what.
    Bare,
}

/// What a unit of NumPy's counts: `ns`, `25s`; nothing for none.
pub fn count_of(unit: &str) -> Option<Count> {
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = unit.get(..unit.len() - letters.len())?;
    let n: i128 = if digits.is_empty() {
        1
    } else {
        digits.parse().ok().filter(|n| *n > 0)?
    };
    Some(match letters {
        "Y" => Count::Months(12 * n),
        "M" => Count::Months(n),
        "W" => Count::Time(7 * DAY * n),
        "D" => Count::Time(DAY * n),
        "h" => Count::Time(3600 * SECOND * n),
        "m" => Count::Time(60 * SECOND * n),
        "s" => Count::Time(SECOND * n),
        "ms" => Count::Time(SECOND / 1_000 * n),
        "us" => Count::Time(SECOND / 1_000_000 * n),
        "ns" => Count::Time(SECOND / 1_000_000_000 * n),
        "ps" => Count::Time(1_000_000 * n),
        "fs" => Count::Time(1_000 * n),
        "as" => Count::Time(n),
        _ => Count::Bare,
    })
}

/// The type of Arrow's that a unit becomes. `moment`: of a point in time, as against a duration.
pub fn format_of(unit: &str, moment: bool) -> Option<Format> {
    let time = |unit| {
        if moment {
            Format::Timestamp(unit, String::new())
        } else {
            Format::Duration(unit)
        }
    };
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    count_of(unit).map(|count| match (count, letters) {
        (Count::Bare, _) => Format::Int {
            signed: true,
            size: 8,
        },
        (Count::Months(_), _) if !moment => Format::Months,
        (Count::Months(_), _) | (_, "D" | "W") if moment => Format::Date,
        (_, "ms") => time(Unit::Ms),
        (_, "us") => time(Unit::Us),
        (_, "ns" | "ps" | "fs" | "as") => time(Unit::Ns),
        _ => time(Unit::S),
    })
}

/// What the numbers of a type of Arrow's count; nothing where it is none of time.
pub fn count_in(format: &Format) -> Option<Count> {
    Some(match format {
        Format::Timestamp(unit, _) | Format::Duration(unit) => Count::Time(unit.span()),
        Format::Date => Count::Time(DAY),
        Format::DateMs => Count::Time(Unit::Ms.span()),
        Format::Months => Count::Months(1),
        Format::Int {
            signed: true,
            size: 8,
        } => Count::Bare,
        _ => return None,
    })
}

/// How numbers that count one thing become those that count another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// From months to days or back.
    calendar: Option<Calendar>,
    times: i128,
    over: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calendar {
    /// Months since 1970 to days; then what the rest says.
    ToDays(i128),
    /// What the rest says gives days; they are to be so many months.
    ToMonths(i128),
}

impl Turn {
    /// From the one to the other. `moment`: months are those of the calendar.
    pub fn new(from: Count, to: Count, moment: bool) -> Option<Turn> {
        let (calendar, from, to) = match (from, to) {
            (Count::Bare, Count::Bare) => (None, 1, 1),
            (Count::Time(a), Count::Time(b)) | (Count::Months(a), Count::Months(b)) => (None, a, b),
            (Count::Months(n), Count::Time(b)) if moment => (Some(Calendar::ToDays(n)), DAY, b),
            (Count::Time(a), Count::Months(n)) if moment => (Some(Calendar::ToMonths(n)), a, DAY),
            _ => return None,
        };
        let common = greatest_divisor(from, to);
        Some(Turn {
            calendar,
            times: from / common,
            over: to / common,
        })
    }

    /// Does every number stay as it is?
    pub fn is_nothing(&self) -> bool {
        self.calendar.is_none() && self.times == 1 && self.over == 1
    }

    /// The same time, where the other count has a number for it.
    pub fn apply(&self, n: i64) -> Option<i64> {
        if self.calendar.is_none() && self.over == 1 {
            return n.checked_mul(i64::try_from(self.times).ok()?);
        }
        let n = match self.calendar {
            Some(Calendar::ToDays(months)) => first_day(i128::from(n) * months)?,
            _ => i128::from(n),
        };
        let n = n.checked_mul(self.times)?;
        let n = if n % self.over == 0 {
            n / self.over
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

fn greatest_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Days from 1970 to the first of the month that is so many months from January 1970, in the
/// Gregorian calendar.
fn first_day(months: i128) -> Option<i128> {
    // as a year that begins in March: the day that leap years have more is its last
    let march = months.checked_add(1970 * 12 - 2)?;
    let (year, month) = (march.div_euclid(12), march.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let before = (153 * month + 2) / 5;
    // the first of March of the year 0 was so many days before 1970
    Some(year.checked_mul(365)? + leap_days + before - 719_468)
}

/// The months from January 1970 to the one of which this is the first day.
fn whole_month(day: i128) -> Option<i128> {
    // 400 years have 4800 months and 146097 days, so this is off by one at most
    let about = day.checked_mul(4800)?.div_euclid(146_097);
    (about - 1..=about + 2).find(|m| first_day(*m) == Some(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(from: &str, to: &str, moment: bool) -> Turn {
        Turn::new(count_of(from).unwrap(), count_of(to).unwrap(), moment).unwrap()
    }

    #[test]
    fn days_of_months_are_those_of_the_calendar() {
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
    fn times_stay_the_same_or_are_refused() {
        assert_eq!(turn("h", "s", true).apply(-2), Some(-7200));
        assert_eq!(turn("s", "h", true).apply(7200), Some(2));
        assert_eq!(turn("s", "h", true).apply(7201), None);
        assert_eq!(turn("25s", "s", true).apply(3), Some(75));
        assert_eq!(turn("25s", "10s", true).apply(2), Some(5));
        assert_eq!(turn("25s", "10s", true).apply(1), None);
        assert_eq!(turn("Y", "D", true).apply(43), Some(15706));
        assert_eq!(turn("D", "Y", true).apply(15706), Some(43));
        assert_eq!(turn("D", "Y", true).apply(15707), None);
        assert_eq!(turn("s", "M", true).apply(31 * 86_400), Some(1));
        assert_eq!(turn("Y", "M", false).apply(3), Some(36));
        assert_eq!(turn("as", "ns", true).apply(5_000_000_000), Some(5));
        assert_eq!(turn("W", "as", true).apply(1), None);
        assert_eq!(turn("s", "ns", true).apply(i64::MAX), None);
        assert_eq!(turn("Y", "D", true).apply(i64::MAX), None);
        assert!(turn("s", "s", true).is_nothing());
        assert_eq!(
            Turn::new(count_of("M").unwrap(), count_of("D").unwrap(), false),
            None
        );
        assert_eq!(Turn::new(Count::Bare, count_of("D").unwrap(), true), None);
    }

    #[test]
    fn units_have_types() {
        let spelled = |unit: &str, moment| format_of(unit, moment).unwrap().spelling();
        let all = [
            ("ns", "tsn:", "tDn"),
            ("ps", "tsn:", "tDn"),
            ("3ms", "tsm:", "tDm"),
            ("us", "tsu:", "tDu"),
            ("h", "tss:", "tDs"),
            ("", "l", "l"),
        ];
        for (unit, moment, duration) in all {
            assert_eq!(
                (spelled(unit, true).as_str(), spelled(unit, false).as_str()),
                (moment, duration)
            );
        }
        for (unit, moment, duration) in [
            ("Y", "tdD", "tiM"),
            ("M", "tdD", "tiM"),
            ("D", "tdD", "tDs"),
            ("W", "tdD", "tDs"),
        ] {
            assert_eq!(
                (spelled(unit, true).as_str(), spelled(unit, false).as_str()),
                (moment, duration)
            );
        }
        assert_eq!(format_of("0s", true), None);
    }
}
