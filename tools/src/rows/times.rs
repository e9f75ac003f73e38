//! Times in ISO 8601. A time is a count of years, months, weeks or days, or of a unit that divides
//! a day.

use super::print::put_padded;

/// The value that is no time.
pub const NONE: i64 = i64::MIN;

/// The most digits of a year. A longer number alone is the count itself.
const YEAR_DIGITS: usize = 16;
const DAY: i64 = 86_400;
const ATTO: i64 = 1_000_000_000_000_000_000;

/// A unit of at most a day.
#[derive(Clone, Copy)]
struct Unit {
    seconds: i64,
    /// Units of a second; 1 for whole seconds and more.
    per_second: i64,
    /// Digits after the decimal point.
    digits: usize,
}

fn unit_of(unit: &str) -> Option<Unit> {
    let of = |seconds, digits: usize| {
        let per_second = 10i64.pow(digits as u32);
        Unit { seconds, per_second, digits }
    };
    Some(match unit {
        "D" => of(DAY, 0),
        "h" => of(3600, 0),
        "m" => of(60, 0),
        "s" => of(1, 0),
        "ms" => of(1, 3),
        "us" => of(1, 6),
        "ns" => of(1, 9),
        "ps" => of(1, 12),
        "fs" => of(1, 15),
        "as" => of(1, 18),
        _ => return None,
    })
}

// ---- the calendar ----

/// The calendar repeats every 400 years. Years begin in March here, so that the leap day is the
/// last one.
const ERA_DAYS: i64 = 146_097;
const DAYS_TO_1970: i64 = 719_468;

fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let day = days.rem_euclid(ERA_DAYS) + DAYS_TO_1970;
    let era = days.div_euclid(ERA_DAYS) + day / ERA_DAYS;
    let day = day % ERA_DAYS;
    let of_era = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (of_era + era * 400 + i64::from(month <= 2), month, of_month)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// ---- to text ----

/// Appends a date of 1 to 3 parts. Returns false, and appends nothing, if its year is too long.
fn put_date(to: &mut Vec<u8>, (year, month, day): (i64, i64, i64), parts: usize) -> bool {
    if year.unsigned_abs() >= 10u64.pow(YEAR_DIGITS as u32) {
        return false;
    }
    if year < 0 {
        to.push(b'-');
    }
    put_padded(to, year.unsigned_abs(), 4);
    for part in [month, day].into_iter().take(parts - 1) {
        to.push(b'-');
        put_padded(to, part as u64, 2);
    }
    true
}

fn put_clock(to: &mut Vec<u8>, unit: Unit, second: i64, part: i64) {
    to.push(b'T');
    put_padded(to, (second / 3600) as u64, 2);
    for (seconds, part) in [(60, second / 60 % 60), (1, second % 60)] {
        if unit.seconds <= seconds {
            to.push(b':');
            put_padded(to, part as u64, 2);
        }
    }
    if unit.digits > 0 {
        to.push(b'.');
        put_padded(to, part as u64, unit.digits);
    }
}

fn put_time(to: &mut Vec<u8>, unit: Unit, count: i64) -> bool {
    let (days, second, part) = if unit.seconds == 1 {
        let (seconds, part) =
            (count.div_euclid(unit.per_second), count.rem_euclid(unit.per_second));
        (seconds.div_euclid(DAY), seconds.rem_euclid(DAY), part)
    } else {
        let per_day = DAY / unit.seconds;
        (count.div_euclid(per_day), count.rem_euclid(per_day) * unit.seconds, 0)
    };
    let put = put_date(to, date_of(days), 3);
    if put && unit.seconds < DAY {
        put_clock(to, unit, second, part);
    }
    put
}

/// Appends a time, or its count where the unit is unknown or the year too long.
pub fn put(to: &mut Vec<u8>, unit: &str, many: i64, value: i64) {
    let count = value.checked_mul(many);
    let put = match (unit, count) {
        (_, None) => false,
        ("Y", Some(count)) => {
            let year = count.checked_add(1970);
            year.is_some_and(|year| put_date(to, (year, 1, 1), 1))
        }
        ("M", Some(count)) => {
            let date = (count.div_euclid(12) + 1970, count.rem_euclid(12) + 1, 1);
            put_date(to, date, 2)
        }
        ("W", Some(count)) => {
            let days = count.checked_mul(7);
            days.is_some_and(|days| put_date(to, date_of(days), 3))
        }
        (unit, Some(count)) => unit_of(unit).is_some_and(|unit| put_time(to, unit, count)),
    };
    if !put {
        if value < 0 {
            to.push(b'-');
        }
        // longer than any year: a count of several units may be shorter
        put_padded(to, value.unsigned_abs(), YEAR_DIGITS + 1);
    }
}

// ---- from text ----

/// A point in time: a date, seconds of the day, and attoseconds of the second.
#[derive(Default)]
struct Moment {
    date: (i64, i64, i64),
    second: i64,
    atto: i64,
}

/// Removes a number of exactly so many digits.
fn digits(text: &mut &[u8], n: usize) -> Option<i64> {
    let (number, rest) = text.split_at_checked(n)?;
    *text = rest;
    number.iter().try_fold(0i64, |value, c| {
        let digit = c.is_ascii_digit().then(|| i64::from(c - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// Removes a character if it comes next.
fn next_is(text: &mut &[u8], expected: u8) -> bool {
    match text.split_first() {
        Some((c, rest)) if *c == expected => {
            *text = rest;
            true
        }
        _ => false,
    }
}

/// Removes a number of two digits after a character, if that comes next.
fn part(text: &mut &[u8], after: u8, absent: i64) -> Option<i64> {
    if next_is(text, after) { digits(text, 2) } else { Some(absent) }
}

/// Removes up to 18 digits of a fraction. Returns attoseconds.
fn fraction(text: &mut &[u8]) -> Option<i64> {
    let n = text.iter().take(18).take_while(|c| c.is_ascii_digit()).count();
    let value = digits(text, n).filter(|_| n > 0)?;
    Some(value * 10i64.pow(18 - n as u32))
}

fn parse_clock(mut text: &[u8], moment: &mut Moment) -> Option<()> {
    let text = &mut text;
    let hour = digits(text, 2)?;
    let minute = part(text, b':', 0)?;
    let second = part(text, b':', 0)?;
    if next_is(text, b'.') {
        moment.atto = fraction(text)?;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    moment.second = hour * 3600 + minute * 60 + second;
    // another time zone: times are in UTC
    let sign = match text.first() {
        Some(b'-') => -1,
        Some(b'+') => 1,
        Some(b'Z') if text.len() == 1 => return Some(()),
        Some(_) => return None,
        None => return Some(()),
    };
    *text = text.get(1..)?;
    let hours = digits(text, 2)?;
    next_is(text, b':');
    let minutes = if text.is_empty() { 0 } else { digits(text, 2)? };
    moment.second -= sign * (hours * 3600 + minutes * 60);
    text.is_empty().then_some(())
}

/// `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, then `T` or a space and a clock time. A longer year has a month, except in a count of
/// years.
fn parse_moment(mut text: &[u8], of_years: bool) -> Option<Moment> {
    let text = &mut text;
    let before = next_is(text, b'-');
    let n = text.iter().take(YEAR_DIGITS).take_while(|c| c.is_ascii_digit()).count();
    let year = digits(text, n.max(4))?;
    let is_alone = of_years && text.is_empty();
    if n > 4 && !is_alone && text.first() != Some(&b'-') {
        return None;
    }
    let year = if before { -year } else { year };
    let has_month = text.first() == Some(&b'-');
    let month = part(text, b'-', 1)?;
    let day = if has_month { part(text, b'-', 1)? } else { 1 };
    if !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let mut moment = Moment { date: (year, month, day), ..Moment::default() };
    match text.split_first() {
        None => Some(moment),
        Some((b'T' | b' ', clock)) => parse_clock(clock, &mut moment).map(|()| moment),
        Some(_) => None,
    }
}

/// A count that is longer than a year can be, or is not of a known unit.
fn parse_count(unit: &str, text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if (digits.len() <= YEAR_DIGITS && !unit.is_empty()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn divided(n: i128, by: i128) -> Option<i128> {
    (n % by == 0).then_some(n / by)
}

/// Parses a time into its count. `None`: it is none that the type can hold exactly.
pub fn parse(unit: &str, many: i64, text: &[u8]) -> Option<i64> {
    if matches!(text, b"" | b"NaT" | b"NA") {
        return Some(NONE);
    }
    if let Some(count) = parse_count(unit, text) {
        return Some(count).filter(|count| *count != NONE);
    }
    let moment = parse_moment(text, unit == "Y")?;
    let (year, month, day) = moment.date;
    let days = i128::from(days_of(year, month, day));
    let (second, atto) = (i128::from(moment.second), i128::from(moment.atto));
    let months = (i128::from(year) - 1970) * 12 + i128::from(month) - 1;
    let is_midnight = second == 0 && atto == 0;
    let count = match unit {
        "Y" if is_midnight && day == 1 => divided(months, 12)?,
        "M" if is_midnight && day == 1 => months,
        "W" if is_midnight => divided(days, 7)?,
        unit => {
            let unit = unit_of(unit)?;
            let seconds = days * i128::from(DAY) + second;
            let part = divided(atto, i128::from(ATTO / unit.per_second))?;
            let whole = divided(seconds, i128::from(unit.seconds))?;
            whole.checked_mul(i128::from(unit.per_second))?.checked_add(part)?
        }
    };
    let count = i64::try_from(divided(count, i128::from(many))?).ok()?;
    Some(count).filter(|count| *count != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back() {
        for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"] {
            for many in [1, 7] {
                let mut value = i64::MIN + 1;
                while value < -1 {
                    for value in [value, -value] {
                        let mut text = Vec::new();
                        put(&mut text, unit, many, value);
                        let found = parse(unit, many, &text);
                        assert_eq!(
                            found,
                            Some(value),
                            "{unit} {many} {}",
                            String::from_utf8_lossy(&text)
                        );
                    }
                    value = value / 3 + 1;
                }
            }
        }
    }
}
