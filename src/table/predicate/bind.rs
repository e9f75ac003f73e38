//! Predicates of a table: columns are found, and constants converted to their types.
#![forbid(unsafe_code)]

use super::keys::{Keys, NAN, Ranges};
use super::times::{is_unit, ticks};
use super::{Comparison, Constant, Predicate, Test};
use crate::array::Array;
use crate::dtype::{Kind, Type};
use crate::error::{Error, Result, fail};
use crate::table::Table;

/// A predicate of a table.
pub enum Bound {
    /// All are true.
    And(Vec<Bound>),
    /// One of them is true.
    Or(Vec<Bound>),
    /// The opposite.
    Not(Box<Bound>),
    /// A test of the values of a column.
    Column {
        /// The index of the column.
        index: usize,
        /// The test.
        test: BoundTest,
    },
}

/// A test of the values of a column.
pub enum BoundTest {
    IsNull,
    Keys(Keys, Ranges),
    Text(TextTest),
}

/// A test of texts.
pub enum TextTest {
    Compare(Comparison, Vec<u8>),
    Between(Vec<u8>, Vec<u8>),
    /// One of these, in ascending order.
    In(Vec<Vec<u8>>),
    StartsWith(Vec<u8>),
    Contains(Vec<u8>),
}

/// A constant as a number of a column.
#[derive(Clone, Copy)]
struct Bounds {
    /// The greatest key that is not above it; none if it is below all of them.
    below: Option<u64>,
    /// The constant is a key, not between two.
    is_exact: bool,
}

impl Bound {
    /// Returns the indices of the columns that are tested, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.add_columns(&mut columns);
        columns
    }

    fn add_columns(&self, to: &mut Vec<usize>) {
        match self {
            Bound::And(all) | Bound::Or(all) => all.iter().for_each(|one| one.add_columns(to)),
            Bound::Not(one) => one.add_columns(to),
            Bound::Column { index, .. } if to.contains(index) => {}
            Bound::Column { index, .. } => to.push(*index),
        }
    }
}

impl Predicate {
    /// Finds the columns in a table.
    pub fn bind<A: AsRef<Array>>(&self, table: &Table<A>) -> Result<Bound> {
        let all = |predicates: &[Predicate]| -> Result<Vec<Bound>> {
            predicates.iter().map(|p| p.bind(table)).collect()
        };
        Ok(match self {
            Predicate::And(predicates) => Bound::And(all(predicates)?),
            Predicate::Or(predicates) => Bound::Or(all(predicates)?),
            Predicate::Not(predicate) => Bound::Not(Box::new(predicate.bind(table)?)),
            Predicate::Column { name, test } => {
                let index = table.column_index(name)?;
                let column = table.columns().get(index).map(|c| c.array.as_ref());
                let column = column.ok_or_else(|| fail!(State, "column {name:?} is gone"))?;
                let test =
                    bind(test, column).map_err(|e| e.within(format_args!("column {name:?}")))?;
                Bound::Column { index, test }
            }
        })
    }
}

fn bind(test: &Test, column: &Array) -> Result<BoundTest> {
    if *test == Test::IsNull {
        return Ok(BoundTest::IsNull);
    }
    let (item, spelling) = (&column.dtype().item, &column.dtype().spelling);
    if column.shape().len() != 1 {
        return Err(fail!(Type, "rows of several items cannot be compared"));
    }
    if matches!(item.kind, Kind::Bytes | Kind::Str | Kind::Text) {
        return text_test(test).map(BoundTest::Text);
    }
    let Some(keys) = Keys::of(item) else {
        return Err(fail!(
            Type,
            "values of the type {spelling} cannot be compared"
        ));
    };
    let bounds = |constant: &Constant| bounds(&keys, item, constant);
    let ranges = match test {
        Test::Compare(comparison, constant) => compared(*comparison, bounds(constant)?),
        Test::Between(low, high) => {
            let low = compared(Comparison::GreaterOrEqual, bounds(low)?);
            let high = compared(Comparison::LessOrEqual, bounds(high)?);
            let both = low.first().zip(high.first());
            let both = both.map(|(low, high)| (low.0, high.1));
            both.into_iter().filter(|(low, high)| low <= high).collect()
        }
        Test::In(constants) => {
            let mut all = Vec::new();
            for constant in constants {
                all.extend(compared(Comparison::Equal, bounds(constant)?));
            }
            all.sort_unstable();
            all.dedup();
            all
        }
        Test::IsTrue if item.kind == Kind::Bool => vec![(1, u64::MAX)],
        Test::IsTrue => {
            return Err(fail!(
                Type,
                "{spelling} is no Boolean; expected a comparison"
            ));
        }
        Test::StartsWith(_) | Test::Contains(_) => {
            return Err(fail!(Type, "values of the type {spelling} are no texts"));
        }
        Test::IsNull => return Ok(BoundTest::IsNull),
    };
    Ok(BoundTest::Keys(keys, ranges))
}

fn text_test(test: &Test) -> Result<TextTest> {
    let text = |constant: &Constant| match constant {
        Constant::Text(text) => Ok(text.as_bytes().to_vec()),
        _ => Err(fail!(
            Type,
            "expected a text in single quotes, found {constant}"
        )),
    };
    Ok(match test {
        Test::Compare(comparison, constant) => TextTest::Compare(*comparison, text(constant)?),
        Test::Between(low, high) => TextTest::Between(text(low)?, text(high)?),
        Test::In(constants) => {
            let mut all = constants.iter().map(text).collect::<Result<Vec<_>>>()?;
            all.sort_unstable();
            TextTest::In(all)
        }
        Test::StartsWith(text) => TextTest::StartsWith(text.as_bytes().to_vec()),
        Test::Contains(text) => TextTest::Contains(text.as_bytes().to_vec()),
        Test::IsTrue | Test::IsNull => {
            return Err(fail!(Type, "a text is no Boolean; expected a comparison"));
        }
    })
}

/// Converts a constant to the type of a column.
fn bounds(keys: &Keys, item: &Type, constant: &Constant) -> Result<Bounds> {
    let exact = |key| Bounds {
        below: Some(key),
        is_exact: true,
    };
    let wrong = |expected: &str| fail!(Type, "expected {expected}, found {constant}");
    match (&item.kind, constant) {
        (Kind::Bool, Constant::Bool(value)) => Ok(exact(u64::from(*value))),
        (Kind::Bool, _) => Err(wrong("true or false")),
        (Kind::Datetime(unit), _) if !is_unit(unit) => {
            Err(fail!(Type, "times in the unit {unit:?} cannot be compared"))
        }
        (Kind::Datetime(unit), Constant::Text(text)) => {
            let expected =
                "a time such as '2013-01-31T05:30:00.5', of at most 9 digits after the point";
            let ticks = ticks(text, unit).ok_or_else(|| wrong(expected))?;
            integer(keys, ticks.floor, ticks.is_exact)
        }
        (Kind::Datetime(_), _) => Err(wrong("a time in single quotes")),
        (_, Constant::Int(n)) if keys.is_float() => Ok(exact(keys.of_float(*n as f64))),
        (_, Constant::Decimal(x)) if keys.is_float() => Ok(exact(keys.of_float(x.float))),
        (_, Constant::Int(n)) => integer(keys, *n, true),
        (_, Constant::Decimal(x)) => match x.floor {
            Some(floor) => integer(keys, floor, x.is_whole),
            None => Err(out_of_range(keys)),
        },
        (_, Constant::Text(_) | Constant::Bool(_)) => Err(wrong("a number")),
    }
}

/// Returns the bounds of an integer, or of a number up to 1 above it.
fn integer(keys: &Keys, floor: i128, is_exact: bool) -> Result<Bounds> {
    let (low, high) = keys.limits();
    let below_all = !is_exact && floor == low - 1;
    if !(low..=high).contains(&floor) && !below_all {
        return Err(out_of_range(keys));
    }
    Ok(Bounds {
        below: (!below_all).then(|| keys.of_integer(floor)),
        is_exact,
    })
}

fn out_of_range(keys: &Keys) -> Error {
    let (low, high) = keys.limits();
    fail!(
        Range,
        "the constant is out of the range of the column, {low} to {high}"
    )
}

/// Returns the keys for which a comparison with a constant is true.
fn compared(comparison: Comparison, constant: Bounds) -> Ranges {
    let Bounds { below, is_exact } = constant;
    // the keys below the constant, and above it
    let less = match (below, is_exact) {
        (Some(key), true) => key.checked_sub(1).map(|last| (0, last)),
        (below, _) => below.map(|last| (0, last)),
    };
    let greater = match below {
        Some(key) => key.checked_add(1).map(|first| (first, NAN)),
        None => Some((0, NAN)),
    };
    let equal = below.filter(|_| is_exact).map(|key| (key, key));
    let join = |a: Option<(u64, u64)>, b: Option<(u64, u64)>| match (a, b) {
        (Some((low, _)), Some((_, high))) => Some((low, high)),
        (a, b) => a.or(b),
    };
    match comparison {
        Comparison::Equal => equal.into_iter().collect(),
        Comparison::NotEqual => less.into_iter().chain(greater).collect(),
        Comparison::Less => less.into_iter().collect(),
        Comparison::LessOrEqual => join(less, equal).into_iter().collect(),
        Comparison::Greater => greater.into_iter().collect(),
        Comparison::GreaterOrEqual => join(equal, greater).into_iter().collect(),
    }
}

impl TextTest {
    /// Returns whether a text passes.
    pub fn is_true(&self, text: &[u8]) -> bool {
        match self {
            TextTest::Compare(comparison, to) => {
                let order = text.cmp(to);
                match comparison {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                }
            }
            TextTest::Between(low, high) => text >= &**low && text <= &**high,
            TextTest::In(all) => all.binary_search_by(|one| one.as_slice().cmp(text)).is_ok(),
            TextTest::StartsWith(start) => text.starts_with(start),
            TextTest::Contains(part) => {
                part.is_empty() || text.windows(part.len()).any(|window| window == part)
            }
        }
    }
}
