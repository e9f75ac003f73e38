//! Predicates: conditions on the columns of a table that each row meets, does not meet, or, because
//! of nulls, leaves open.
//!
//! Semantics are those of SQL, as DuckDB and PostgreSQL have them:
//! - A comparison with a null is neither true nor false, and neither is its negation. `and` is
//!   false if one side is, `or` true if one side is. A row is selected if the predicate is true.
//! - NaN equals NaN and is greater than all other numbers; -0 equals 0. NaT is null.
//! - A constant is converted to the type of the column; integers are compared exactly with
//!   fractions. An integer that the type of the column does not have is an error.
//! - Texts are compared by the bytes of UTF-8, `S` items without the zeros at their end.
//! - Times are compared with ISO 8601 texts, `'2013-01-01'` or `'2013-01-01T05:30:00.25'`, without
//!   a time zone.
#![forbid(unsafe_code)]

mod bind;
mod candidates;
mod evaluate;
pub(super) mod keys;
mod parse;
#[cfg(test)]
mod tests;
mod times;
mod truth;

pub use bind::Bound;
pub use evaluate::Tested;

use std::fmt;

/// A condition on the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// All are true.
    And(Vec<Predicate>),
    /// One of them is true.
    Or(Vec<Predicate>),
    /// The opposite.
    Not(Box<Predicate>),
    /// A test of the values of a column.
    Column {
        /// Name of the column.
        name: String,
        /// The test.
        test: Test,
    },
}

/// A test of a value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A comparison with a constant.
    Compare(Comparison, Constant),
    /// Not less than the first constant, and not greater than the second.
    Between(Constant, Constant),
    /// One of these constants.
    In(Vec<Constant>),
    /// The Boolean is true.
    IsTrue,
    /// It is null.
    IsNull,
    /// The text begins with this one.
    StartsWith(String),
    /// The text contains this one.
    Contains(String),
}

/// How a value is compared with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Returns the comparison of exchanged sides.
    fn exchanged(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

/// A number with a fraction or an exponent, infinity or NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal {
    /// The nearest floating-point number.
    pub float: f64,
    /// The whole part, rounded down, if an `i128` has it.
    pub floor: Option<i128>,
    /// There is no fraction.
    pub is_whole: bool,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// An integer.
    Int(i128),
    /// Another number.
    Decimal(Decimal),
    /// A text, or a time.
    Text(String),
    /// A Boolean.
    Bool(bool),
}

impl Decimal {
    /// Returns infinity or NaN.
    fn special(float: f64) -> Decimal {
        Decimal {
            float,
            floor: None,
            is_whole: false,
        }
    }

    /// Parses digits with a point, an exponent or both.
    fn parse(text: &str) -> Option<Decimal> {
        let float = text.parse().ok()?;
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (negative, digits) = match number.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, number.trim_start_matches('+')),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let digits = format!("{whole}{fraction}");
        let exponent = exponent.parse::<i64>().ok()?;
        let point = exponent.saturating_add(whole.len() as i64);
        let point = usize::try_from(point).unwrap_or(0);
        let (whole, fraction) = digits.split_at(point.min(digits.len()));
        let zeros = point.saturating_sub(digits.len());
        let is_whole = fraction.bytes().all(|b| b == b'0');
        let whole = whole.trim_start_matches('0');
        let floor = match whole.len() + zeros {
            _ if whole.is_empty() => Some(0),
            0..=38 => format!("{whole}{}", "0".repeat(zeros)).parse::<i128>().ok(),
            _ => None,
        };
        let floor = floor.map(|floor| match negative {
            true => -floor - i128::from(!is_whole),
            false => floor,
        });
        Some(Decimal {
            float,
            floor,
            is_whole,
        })
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Int(n) => write!(f, "{n}"),
            Constant::Decimal(number) => write!(f, "{}", number.float),
            Constant::Text(text) => write!(f, "'{text}'"),
            Constant::Bool(value) => write!(f, "{value}"),
        }
    }
}
