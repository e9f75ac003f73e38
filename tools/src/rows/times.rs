//! Times in ISO 8601. A time is a count of years, months, weeks or days, or of a unit that divides
//! a day. Years have any number of digits: no crate for calendars covers all that NumPy stores.

use super::print::put_padded;

/// The value that is no time.
pub const NONE: i64 = i64::MIN;

/// The most digits of a year that are read: more than 64 bits of any unit need.
const YEAR_DIGITS: usize = 30;
const DAY: i128 = 86_400;
/// Attoseconds of a second.
const ATTO: i128 = 1_000_000_000_000_000_000;

/// A unit of NumPy, such as `25s`: so many months, seconds, or parts of a second.
enum Unit {
    Months(i128),
    Seconds(i128),
    /// A count, and the digits of the fraction of a second that each of them has.
    Parts(i128, usize),
}

/// Parses a unit; `None` if it is generic.
fn unit_of(text: &str) -> Option<Unit> {
    let name = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - name.len()];
    let count = if digits.is_empty() { 1 } else { digits.parse::<i128>().ok()?.max(1) };
    Some(match name {
        "Y" => Unit::Months(12 * count),
        "M" => Unit::Months(count),
        "W" => Unit::Seconds(7 * DAY * count),
        "D" => Unit::Seconds(DAY * count),
        "h" => Unit::Seconds(3600 * count),
        "m" => Unit::Seconds(60 * count),
        "s" => Unit::Seconds(count),
        "ms" => Unit::Parts(count, 3),
        "us" => Unit::Parts(count, 6),
        "ns" => Unit::Parts(count, 9),
        "ps" => Unit::Parts(count, 12),
        "fs" => Unit::Parts(count, 15),
        "as" => Unit::Parts(count, 18),
        _ => return None,
    })
}

// ---- the calendar

/// The calendar repeats every 400 years. Years begin in March here, so that the leap day is the
/// last one.
const ERA_DAYS: i128 = 146_097;
const DAYS_TO_1970: i128 = 719_468;

fn days_of(year: i128, month: i64, day: i64) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400) as i64);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * ERA_DAYS + i128::from(of_era) - DAYS_TO_1970
}

fn date_of(days: i128) -> (i128, i64, i64) {
    let day = days + DAYS_TO_1970;
    let (era, day) = (day.div_euclid(ERA_DAYS), day.rem_euclid(ERA_DAYS) as i64);
    let of_era = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (i128::from(of_era) + era * 400 + i128::from(month <= 2), month, of_month)
}

fn days_in_month(year: i128, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// ---- to text

fn put_year(to: &mut Vec<u8>, year: i128) {
    let sign = usize::from(year < 0);
    match u64::try_from(year) {
        Ok(year) => put_padded(to, year, 4),
        Err(_) => to.extend_from_slice(format!("{year:0width$}", width = 4 + sign).as_bytes()),
    }
}

/// Appends a number of two digits after a character.
fn put_part(to: &mut Vec<u8>, after: u8, n: i64) {
    to.push(after);
    put_padded(to, n.unsigned_abs(), 2);
}

/// Appends a time in as many parts as its unit has; a count if the unit is generic.
pub fn put(to: &mut Vec<u8>, unit: &str, value: i64) {
    let (value, mut digits) = (i128::from(value), 0);
    let (seconds, part, step) = match unit_of(unit) {
        None => return to.extend_from_slice(value.to_string().as_bytes()),
        Some(Unit::Months(count)) => {
            let months = value * count;
            put_year(to, months.div_euclid(12) + 1970);
            if unit.ends_with('M') {
                put_part(to, b'-', months.rem_euclid(12) as i64 + 1);
            }
            return;
        }
        Some(Unit::Seconds(count)) => (value * count, 0, unit),
        Some(Unit::Parts(count, found)) => {
            digits = found;
            let (parts, per_second) = (value * count, 10i128.pow(digits as u32));
            (parts.div_euclid(per_second), parts.rem_euclid(per_second) as u64, "s")
        }
    };
    let (year, month, day) = date_of(seconds.div_euclid(DAY));
    put_year(to, year);
    put_part(to, b'-', month);
    put_part(to, b'-', day);
    if step.ends_with(['D', 'W']) {
        return;
    }
    let second = seconds.rem_euclid(DAY) as i64;
    put_part(to, b'T', second / 3600);
    if !step.ends_with('h') {
        put_part(to, b':', second / 60 % 60);
    }
    if step.ends_with('s') {
        put_part(to, b':', second % 60);
    }
    if digits > 0 {
        to.push(b'.');
        put_padded(to, part, digits);
    }
}

// ---- from text

/// A time as it is written.
#[derive(Default)]
pub struct Time {
    pub year: i128,
    pub year_digits: usize,
    month: i64,
    day: i64,
    /// Numbers of it: 1 for a year alone, 3 for a date, 6 with seconds.
    pub parts: usize,
    seconds: i64,
    atto: i128,
    /// Digits of the fraction of a second.
    pub digits: usize,
    /// It has a zone: `Z`, or a difference such as `+01:00`.
    pub has_zone: bool,
    pub is_utc: bool,
}

/// Removes a number of exactly so many digits.
fn number<N: TryFrom<i128>>(text: &mut &[u8], n: usize) -> Option<N> {
    let (digits, rest) = text.split_at_checked(n)?;
    *text = rest;
    let add = |n: i128, c: &u8| c.is_ascii_digit().then(|| n * 10 + i128::from(c - b'0'));
    digits.iter().try_fold(0, add).and_then(|n| N::try_from(n).ok())
}

fn count_digits(text: &[u8], most: usize) -> usize {
    text.iter().take(most).take_while(|c| c.is_ascii_digit()).count()
}

/// Removes a character if it comes next.
fn next_is(text: &mut &[u8], expected: &[u8]) -> bool {
    let found = text.first().is_some_and(|c| expected.contains(c));
    *text = &text[usize::from(found)..];
    found
}

impl Time {
    /// Parses `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, and a time of day after `T` or a space.
    pub fn parse(mut text: &[u8]) -> Option<Time> {
        let text = &mut text;
        let mut time = Time { month: 1, day: 1, parts: 1, ..Time::default() };
        let is_negative = next_is(text, b"-");
        time.year_digits = count_digits(text, YEAR_DIGITS).max(4);
        time.year = number(text, time.year_digits)?;
        if is_negative {
            time.year = -time.year;
        }
        for part in [&mut time.month, &mut time.day] {
            if time.parts < 3 && next_is(text, b"-") {
                *part = number(text, 2)?;
                time.parts += 1;
            }
        }
        let days = days_in_month(time.year, time.month);
        if !(1..=12).contains(&time.month) || !(1..=days).contains(&time.day) {
            return None;
        }
        // eight digits are a date without hyphens rather than a year
        let is_clear = time.year_digits <= 4 || time.parts > 1;
        if is_clear && next_is(text, b"T ") {
            time.parse_clock(text)?;
        }
        text.is_empty().then_some(time)
    }

    fn parse_clock(&mut self, text: &mut &[u8]) -> Option<()> {
        let mut clock = [0; 3];
        self.parts = 3;
        for (i, (part, most)) in clock.iter_mut().zip([23, 59, 59]).enumerate() {
            if i == 0 || next_is(text, b":") {
                *part = number::<i64>(text, 2).filter(|part| *part <= most)?;
                self.parts += 1;
            }
        }
        self.seconds = clock[0] * 3600 + clock[1] * 60 + clock[2];
        if next_is(text, b".") {
            self.digits = count_digits(text, 18);
            let value: i128 = number(text, self.digits).filter(|_| self.digits > 0)?;
            self.atto = value * 10i128.pow(18 - self.digits as u32);
        }
        // times are in UTC
        let sign = if text.starts_with(b"-") { -1 } else { 1 };
        self.is_utc = next_is(text, b"Z");
        self.has_zone = self.is_utc || next_is(text, b"+-");
        if self.has_zone && !self.is_utc {
            let hours: i64 = number(text, 2)?;
            next_is(text, b":");
            let minutes: i64 = if text.is_empty() { 0 } else { number(text, 2)? };
            self.seconds -= sign * (hours * 3600 + minutes * 60);
        }
        Some(())
    }

    /// The count of the time; `None` if the unit cannot hold it exactly.
    fn count(&self, unit: &Unit) -> Option<i128> {
        let divided = |n: i128, by: i128| (n % by == 0).then_some(n / by);
        let is_start = self.day == 1 && self.seconds == 0 && self.atto == 0;
        // any 64 bits of weeks are less
        if self.year.abs() > 10i128.pow(28) {
            return None;
        }
        let days = days_of(self.year, self.month, self.day);
        let seconds = days * DAY + i128::from(self.seconds);
        match unit {
            Unit::Months(count) => {
                let months = (self.year - 1970) * 12 + i128::from(self.month) - 1;
                divided(months, *count).filter(|_| is_start)
            }
            Unit::Seconds(count) => divided(seconds, *count).filter(|_| self.atto == 0),
            Unit::Parts(count, digits) => {
                let per_second = 10i128.pow(*digits as u32);
                let part = divided(self.atto, ATTO / per_second)?;
                divided(seconds.checked_mul(per_second)?.checked_add(part)?, *count)
            }
        }
    }
}

/// Parses a time into its count. `None`: it is none that the type can hold exactly.
pub fn parse(unit: &str, text: &[u8]) -> Option<i64> {
    if matches!(text, b"" | b"NaT" | b"NA") {
        return Some(NONE);
    }
    let count = match unit_of(unit) {
        None => std::str::from_utf8(text).ok()?.parse().ok()?,
        Some(of) => {
            let time = Time::parse(text)?;
            if time.year_digits > 4 && time.parts == 1 && !unit.ends_with('Y') {
                return None;
            }
            i64::try_from(time.count(&of)?).ok()?
        }
    };
    Some(count).filter(|count| *count != NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back() {
        for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"] {
            for unit in [unit, &format!("7{unit}"), &format!("999999999{unit}")] {
                let mut value = i64::MIN + 1;
                while value < -1 {
                    for value in [value, -value, 0] {
                        let mut text = Vec::new();
                        put(&mut text, unit, value);
                        let read = String::from_utf8_lossy(&text);
                        assert_eq!(parse(unit, &text), Some(value), "{unit} {read}");
                    }
                    value = value / 3 + 1;
                }
            }
        }
    }
}
