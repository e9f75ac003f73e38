//! Times of constants, as numbers in the unit of a column.
#![forbid(unsafe_code)]

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// A number of units, and whether nothing remains.
pub struct Ticks {
    /// The whole units, rounded down.
    pub floor: i128,
    /// Nothing remains.
    pub is_exact: bool,
}

struct Time {
    year: i64,
    month: i64,
    day: i64,
    /// Nanoseconds since midnight.
    nanoseconds: i128,
}

/// Returns an ISO 8601 text as a number of units from 1970 on; `unit` as in a dtype, such as "ms"
/// or "25s". Returns none if it is no time, or the unit is unknown.
pub fn ticks(text: &str, unit: &str) -> Option<Ticks> {
    let time = parse(text)?;
    let (count, unit) = parts(unit)?;
    let days = i128::from(days(time.year, time.month, time.day));
    let months = i128::from((time.year - 1970) * 12 + time.month - 1);
    let (whole, of, rest) = match unit {
        "Y" | "M" => {
            let of = if unit == "Y" { 12 } else { 1 };
            let rest = i128::from(time.day - 1) * DAY + time.nanoseconds;
            (months, of * count, rest)
        }
        unit => (days * DAY + time.nanoseconds, length(unit)? * count, 0),
    };
    Some(Ticks {
        floor: whole.div_euclid(of),
        is_exact: whole.rem_euclid(of) == 0 && rest == 0,
    })
}

/// Returns whether constants can be converted to a unit.
pub fn is_unit(unit: &str) -> bool {
    parts(unit).is_some_and(|(_, unit)| unit == "Y" || unit == "M" || length(unit).is_some())
}

/// Returns the number before a unit, and the unit.
fn parts(unit: &str) -> Option<(i128, &str)> {
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = unit.split_at_checked(digits)?;
    let count = match count {
        "" => 1,
        count => count.parse().ok().filter(|n| *n > 0)?,
    };
    Some((count, unit))
}

/// Returns the nanoseconds of a unit that has always as many.
fn length(unit: &str) -> Option<i128> {
    Some(match unit {
        "W" => 7 * DAY,
        "D" => DAY,
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        _ => return None,
    })
}

/// Parses `YYYY-MM-DD`, also with `T` or a space and `HH:MM`, `HH:MM:SS` or a fraction of seconds.
fn parse(text: &str) -> Option<Time> {
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let mut part = |digits: usize| number(parts.next()?, digits);
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if parts.next().is_some()
        || !(1..=12).contains(&month)
        || !(1..=month_days(year, month)).contains(&day)
    {
        return None;
    }
    let nanoseconds = clock.map_or(Some(0), nanoseconds)?;
    Some(Time {
        year,
        month,
        day,
        nanoseconds,
    })
}

fn nanoseconds(clock: &str) -> Option<i128> {
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = match parts.next() {
        Some(second) => number(second, 2)?,
        None if fraction.is_empty() => 0,
        None => return None,
    };
    let valid = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    let fraction = match fraction {
        "" => 0,
        digits if digits.len() <= 9 => number(&format!("{digits:0<9}"), 9)?,
        _ => return None,
    };
    let seconds = i128::from((hour * 60 + minute) * 60 + second);
    valid.then_some(seconds * 1_000_000_000 + i128::from(fraction))
}

/// Parses a number of so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // years begin in March, so that a leap day is the last
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_of_units() {
        let of = |text, unit| ticks(text, unit).map(|t| (t.floor, t.is_exact));
        assert_eq!(of("1970-01-01", "D"), Some((0, true)));
        assert_eq!(of("1969-12-31", "D"), Some((-1, true)));
        assert_eq!(of("2000-02-29", "D"), Some((11_016, true)));
        assert_eq!(of("2013-01-01T05:30", "m"), Some((22_616_970, true)));
        assert_eq!(
            of("2013-01-01 05:30:00.25", "s"),
            Some((1_357_018_200, false))
        );
        assert_eq!(
            of("2013-01-01T05:30:00.25", "ms"),
            Some((1_357_018_200_250, true))
        );
        assert_eq!(of("1970-01-01T00:00:50", "25s"), Some((2, true)));
        assert_eq!(of("2013-03-01", "M"), Some((518, true)));
        assert_eq!(of("2013-03-02", "M"), Some((518, false)));
        assert_eq!(of("2013-03-02", "Y"), Some((43, false)));
        assert_eq!(of("1969-06-01", "Y"), Some((-1, false)));
        for wrong in [
            "",
            "2013",
            "2013-02-29",
            "2013-13-01",
            "2013-1-1",
            "2013-01-01T",
            "2013-01-01T24:00",
            "2013-01-01T05:30.5",
            "2013-01-01T05:30:00.0123456789",
            "2013-01-01T05:30:00Z",
            "+013-01-01",
        ] {
            assert_eq!(of(wrong, "s"), None, "{wrong}");
        }
        assert_eq!(of("2013-01-01", "fortnight"), None);
        assert_eq!(of("2013-01-01", "0s"), None);
    }
}
