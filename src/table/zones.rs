//! Zones: consecutive rows of a column with the extrema of their values. Rows in zones that cannot
//! meet a condition are not read.
#![forbid(unsafe_code)]

use super::predicate::keys::{Keys, NAN, Ranges};
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// The zones of the columns of a table.
pub trait ZoneSource: Send + Sync {
    /// Returns the zones of a column; none if they are not stored, or not those of the rows of the
    /// table.
    fn zones(&self, column: &str) -> Result<Option<Arc<Zones>>>;
}

/// The zones of a column.
#[derive(Debug)]
pub struct Zones {
    /// How the values became keys.
    pub keys: Keys,
    /// The zones, in the order of their rows, which they all have.
    pub zones: Vec<Zone>,
}

/// Consecutive rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// The rows.
    pub rows: Range<u64>,
    /// The least and the greatest key, or a wider range; none without any number.
    pub extrema: Option<(u64, u64)>,
    /// Some are NaN.
    pub has_nan: bool,
}

/// The rows for which a test can be true, and those for which it can be false.
#[derive(Clone, Debug, PartialEq)]
pub struct Possible {
    /// Ranges of rows, in ascending order, with others between them.
    pub yes: Vec<Range<u64>>,
    /// The same.
    pub no: Vec<Range<u64>>,
}

impl Zone {
    fn can_be_in(&self, ranges: &Ranges) -> bool {
        let overlaps = |(low, high): (u64, u64)| {
            let after = ranges.partition_point(|(_, end)| *end < low);
            ranges.get(after).is_some_and(|(begin, _)| *begin <= high)
        };
        self.extrema.is_some_and(overlaps) || self.has_nan && contains(ranges, (NAN, NAN))
    }

    fn can_be_outside(&self, ranges: &Ranges) -> bool {
        let leaves = |extrema| !contains(ranges, extrema);
        self.extrema.is_some_and(leaves) || self.has_nan && leaves((NAN, NAN))
    }
}

/// Returns whether one of the ranges has all keys.
fn contains(ranges: &Ranges, (low, high): (u64, u64)) -> bool {
    let after = ranges.partition_point(|(_, end)| *end < high);
    ranges.get(after).is_some_and(|(begin, _)| *begin <= low)
}

impl Zones {
    /// Returns for which of some rows the keys can be in one of the ranges.
    pub fn test(&self, rows: &Range<u64>, ranges: &Ranges) -> Possible {
        let of = |can: &dyn Fn(&Zone) -> bool| {
            let mut found: Vec<Range<u64>> = Vec::new();
            let first = self
                .zones
                .partition_point(|zone| zone.rows.end <= rows.start);
            let zones = self.zones.get(first..).unwrap_or_default().iter();
            for zone in zones.take_while(|zone| zone.rows.start < rows.end) {
                let part = zone.rows.start.max(rows.start)..zone.rows.end.min(rows.end);
                if part.is_empty() || !can(zone) {
                    continue;
                }
                match found.last_mut() {
                    Some(last) if last.end == part.start => last.end = part.end,
                    _ => found.push(part),
                }
            }
            found
        };
        Possible {
            yes: of(&|zone| zone.can_be_in(ranges)),
            no: of(&|zone| zone.can_be_outside(ranges)),
        }
    }
}

impl Possible {
    /// Returns that both are possible for all rows.
    pub fn unknown(rows: &Range<u64>) -> Possible {
        let all: Vec<_> = (!rows.is_empty())
            .then(|| rows.clone())
            .into_iter()
            .collect();
        Possible {
            yes: all.clone(),
            no: all,
        }
    }

    /// Returns the opposite.
    pub fn negated(self) -> Possible {
        Possible {
            yes: self.no,
            no: self.yes,
        }
    }

    /// Returns whether both are true.
    pub fn and(&self, other: &Possible) -> Possible {
        Possible {
            yes: intersection(&self.yes, &other.yes),
            no: union(&self.no, &other.no),
        }
    }
}

fn intersection(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut found, mut i, mut k) = (Vec::new(), 0, 0);
    while let (Some(one), Some(other)) = (a.get(i), b.get(k)) {
        let both = one.start.max(other.start)..one.end.min(other.end);
        if !both.is_empty() {
            found.push(both);
        }
        match one.end <= other.end {
            true => i += 1,
            false => k += 1,
        }
    }
    found
}

fn union(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut all = [a, b].concat();
    all.sort_unstable_by_key(|range| range.start);
    let mut found: Vec<Range<u64>> = Vec::new();
    for range in all {
        match found.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => found.push(range),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::io::sim::Rng;

    /// Random keys in zones, and the zones with wider extrema than necessary.
    fn zones(rng: &mut Rng, keys: &[u64], step: usize) -> Zones {
        let zone = |(i, part): (usize, &[u64])| {
            let numbers: Vec<u64> = part.iter().copied().filter(|key| *key != NAN).collect();
            let extrema = numbers.iter().min().zip(numbers.iter().max());
            let wider = rng.below(3) as u64;
            Zone {
                rows: (i * step) as u64..(i * step + part.len()) as u64,
                extrema: extrema.map(|(low, high)| (low.saturating_sub(wider), high + wider)),
                has_nan: numbers.len() < part.len(),
            }
        };
        Zones {
            keys: Keys::of(&Dtype::parse("<f8").unwrap().item).unwrap(),
            zones: keys.chunks(step).enumerate().map(zone).collect(),
        }
    }

    #[test]
    fn no_row_that_passes_is_left_out() {
        for seed in 0..300 {
            let mut rng = Rng((seed + 1_u64).wrapping_mul(0x2545_f491_4f6c_dd1d));
            let n = rng.below(60);
            let step = 1 + rng.below(9);
            let mut draw = || match rng.below(9) {
                0 => NAN,
                _ => rng.below(40) as u64,
            };
            let columns = [0, 1].map(|_| (0..n).map(|_| draw()).collect::<Vec<u64>>());
            let all = columns.each_ref().map(|keys| zones(&mut rng, keys, step));
            let mut ranges = || {
                let low = rng.below(40) as u64;
                let high = low + rng.below(5) as u64;
                match rng.below(3) {
                    0 => vec![(low, NAN)],
                    1 => vec![(low, high)],
                    _ => vec![(low, high), (high + 2, high + 4)],
                }
            };
            let tests = [ranges(), ranges()];
            let rows = rng.below(n + 1) as u64..n as u64;
            let [a, b] = [0, 1].map(|i: usize| all[i].test(&rows, &tests[i]));
            let is_in = |i: usize, row: u64| {
                let key = columns[i][row as usize];
                tests[i]
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&key))
            };
            let found = |ranges: &[Range<u64>], row| ranges.iter().any(|r| r.contains(&row));
            let both = a.and(&b);
            // not a or not b
            let neither = both.clone().negated();
            for row in rows.clone() {
                let (one, other) = (is_in(0, row), is_in(1, row));
                assert!(found(&a.yes, row) || !one, "seed {seed}");
                assert!(found(&a.no, row) || one, "seed {seed}");
                assert!(found(&both.yes, row) || !(one && other), "seed {seed}");
                assert!(found(&neither.yes, row) || (one && other), "seed {seed}");
            }
            for ranges in [&a.yes, &a.no, &both.yes, &both.no] {
                assert!(
                    ranges.is_sorted_by(|one, next| one.end < next.start),
                    "seed {seed}"
                );
                assert!(
                    ranges
                        .iter()
                        .all(|r| rows.start <= r.start && r.end <= rows.end)
                );
            }
        }
    }

    #[test]
    fn zones_that_cannot_pass_are_left_out() {
        let zone = |rows, extrema, has_nan| Zone {
            rows,
            extrema,
            has_nan,
        };
        let zones = Zones {
            keys: Keys::of(&Dtype::parse("<f8").unwrap().item).unwrap(),
            zones: vec![
                zone(0..10, Some((1, 5)), false),
                zone(10..20, Some((6, 9)), true),
                zone(20..30, Some((4, 4)), false),
                zone(30..31, None, false),
            ],
        };
        let test = |ranges: &[(u64, u64)]| {
            let Possible { yes, no } = zones.test(&(5..31), &ranges.to_vec());
            (yes, no)
        };
        assert_eq!(test(&[(0, 4)]), (vec![5..10, 20..30], vec![5..20]));
        assert_eq!(test(&[(0, 9)]), (vec![5..30], vec![10..20]));
        assert_eq!(test(&[(10, NAN)]), (vec![10..20], vec![5..30]));
        assert_eq!(test(&[]), (vec![], vec![5..30]));
    }
}
