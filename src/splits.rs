//! Division of a sequence of records or rows into ranges of similar stored size, for programs that
//! distribute work.
//!
//! A division reads the stored sizes at its borders only, and decodes nothing.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Result, fail};
use std::ops::Range;

/// A border may move by this part of a mean range to a better position.
const SLACK: u64 = 8;
/// The search for a border ends within this part of the slack.
const TOLERANCE: u64 = 16;

/// A range of records or rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Split {
    /// The first record or row.
    pub first: u64,
    /// The number of records or rows, at least one.
    pub count: u64,
    /// The stored size in bytes.
    pub bytes: u64,
}

/// A sequence that can be divided.
#[allow(clippy::len_without_is_empty)] // the callers never ask
pub trait Divisible {
    /// Returns the number of items.
    fn len(&self) -> u64;
    /// Returns the maximum number of ranges.
    fn parts(&self) -> u64;
    /// Returns the stored size of the first `i` items.
    fn bytes_before(&self, i: u64) -> Result<u64>;
    /// Returns the border for a range that would best begin at item `i`. `slack` is a distance in
    /// bytes by which a border may move without need.
    fn border(&self, i: u64, slack: u64) -> Result<u64>;
}

/// Returns at most `n` ranges, none empty, that contain each item once, in order.
pub fn divide(of: &dyn Divisible, n: u64) -> Result<Vec<Split>> {
    if n == 0 {
        return Err(fail!(Argument, "0 splits (expected 1 or more)"));
    }
    let (len, total) = (of.len(), of.bytes_before(of.len())?);
    if len == 0 {
        return Ok(Vec::new());
    }
    let n = n.min(of.parts()).clamp(1, len);
    let bytes_before = |i| match total {
        0 => Ok(i), // nothing is committed yet
        _ => of.bytes_before(i),
    };
    let (mut first, end) = ((0, 0), (len, if total == 0 { len } else { total }));
    let slack = end.1 / n / SLACK;
    let mut splits = alloc::with_capacity(usize::try_from(n).unwrap_or(usize::MAX))?;
    let mut push = |(first, from): (u64, u64), (end, to): (u64, u64)| {
        splits.push(Split {
            first,
            count: end - first,
            bytes: if total == 0 {
                0
            } else {
                to.saturating_sub(from)
            },
        });
    };
    for k in 1..n {
        let target = scaled(end.1, k, n);
        if first.0 + 1 >= len || target <= first.1 {
            continue;
        }
        let i = search(&bytes_before, target, (first, end), slack / TOLERANCE)?;
        let i = of.border(i, slack)?;
        if i > first.0 && i < len {
            let border = (i, bytes_before(i)?);
            push(first, border);
            first = border;
        }
    }
    push(first, end);
    Ok(splits)
}

/// Returns an index between two others such that the size before it differs from `target` by about
/// `tolerance` at most. Interpolates, and bisects in turn, so that the number of steps is bounded.
fn search(
    bytes_before: &dyn Fn(u64) -> Result<u64>,
    target: u64,
    (mut low, mut high): ((u64, u64), (u64, u64)),
    tolerance: u64,
) -> Result<u64> {
    let mut bisect = false;
    while high.0 - low.0 > 1 {
        let (width, span) = (high.0 - low.0, high.1.saturating_sub(low.1));
        let step = match target.saturating_sub(low.1) {
            part if !bisect && part <= span => scaled(width, part, span),
            _ => width / 2,
        };
        let middle = low.0 + step.clamp(1, width - 1);
        let bytes = bytes_before(middle)?;
        if bytes.abs_diff(target) <= tolerance {
            return Ok(middle);
        }
        let side = if bytes < target { &mut low } else { &mut high };
        *side = (middle, bytes);
        bisect = !bisect;
    }
    let is_low_closer = low.1.abs_diff(target) < high.1.abs_diff(target);
    Ok(if is_low_closer { low.0 } else { high.0 })
}

/// Returns `n * part / of`, at most `u64::MAX`; 0 if `of` is 0.
pub fn scaled(n: u64, part: u64, of: u64) -> u64 {
    let scaled = (u128::from(n) * u128::from(part)).checked_div(of.into());
    u64::try_from(scaled.unwrap_or(0)).unwrap_or(u64::MAX)
}

/// The positions `start`, `start + step`, ... that a slice selects in a sequence.
#[derive(Clone, Copy)]
pub struct Stride {
    /// The position of index 0.
    pub start: u64,
    /// The distance of positions, which is not 0.
    pub step: i64,
}

impl Stride {
    /// Returns the distance of positions.
    pub fn distance(self) -> u64 {
        self.step.unsigned_abs().max(1)
    }

    /// Returns the position of index `i`.
    pub fn position(self, i: u64) -> u64 {
        self.start.wrapping_add(i.wrapping_mul(self.step as u64))
    }

    /// Returns the positions up to those of the first `i` indices, in a sequence of `size` items.
    pub fn span(self, i: u64, size: u64) -> Range<u64> {
        let length = i.saturating_mul(self.distance());
        let (from, to) = if self.step < 0 {
            let to = self.start.saturating_add(1);
            (to.saturating_sub(length), to)
        } else {
            (self.start, self.start.saturating_add(length))
        };
        from.min(size)..to.min(size)
    }

    /// Returns the number of indices whose positions come before the border `at` of the sequence;
    /// after it, if the step is negative.
    pub fn index_at(self, at: u64) -> u64 {
        if self.step < 0 {
            let last = self.start.checked_sub(at);
            last.map_or(0, |n| n / self.distance() + 1)
        } else {
            at.saturating_sub(self.start).div_ceil(self.distance())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    /// Items of these sizes, with borders at multiples of `unit`.
    struct Sizes(Vec<u64>, u64);

    impl Divisible for Sizes {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }
        fn parts(&self) -> u64 {
            self.len().div_ceil(self.1)
        }
        fn bytes_before(&self, i: u64) -> Result<u64> {
            Ok(self.0.iter().take(i as usize).sum())
        }
        fn border(&self, i: u64, _: u64) -> Result<u64> {
            Ok(((i + self.1 / 2) / self.1 * self.1).min(self.len()))
        }
    }

    fn check(of: &Sizes, n: u64) -> Vec<Split> {
        let splits = divide(of, n).unwrap();
        assert!(splits.len() as u64 <= n);
        let mut next = 0;
        for split in &splits {
            assert!(split.first == next && split.count > 0, "{splits:?}");
            next += split.count;
            let bytes = of.bytes_before(next).unwrap() - of.bytes_before(split.first).unwrap();
            assert_eq!(split.bytes, bytes);
            assert!(next == of.len() || next.is_multiple_of(of.1));
        }
        assert_eq!(next, of.len());
        splits
    }

    #[test]
    fn ranges_have_similar_sizes() {
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let most = [1, 2, 1000][random(3) as usize];
            let sizes = (0..random(400)).map(|_| random(most)).collect();
            let of = Sizes(sizes, random(20) + 1);
            check(&of, random(50) + 1);
        }
        let splits = check(
            &Sizes((0..10_000).map(|i| i % 7 * (i / 100)).collect(), 1),
            8,
        );
        let total: u64 = splits.iter().map(|split| split.bytes).sum();
        assert_eq!(splits.len(), 8);
        for split in splits {
            assert!(
                split.bytes.abs_diff(total / 8) < total / 8 / 20,
                "{split:?} of {total}"
            );
        }
        assert_eq!(check(&Sizes(vec![0; 100], 1), 4).len(), 4);
        assert_eq!(check(&Sizes(vec![5; 10], 1), u64::MAX).len(), 10);
        assert_eq!(check(&Sizes(Vec::new(), 1), 3), []);
        let none = divide(&Sizes(vec![1], 1), 0).unwrap_err();
        assert_eq!(none.status, Status::Argument);
    }

    #[test]
    fn sizes_that_do_not_ascend_change_no_range() {
        struct Corrupt;
        impl Divisible for Corrupt {
            fn len(&self) -> u64 {
                1000
            }
            fn parts(&self) -> u64 {
                1000
            }
            fn bytes_before(&self, i: u64) -> Result<u64> {
                Ok(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            }
            fn border(&self, i: u64, _: u64) -> Result<u64> {
                Ok(i)
            }
        }
        for n in [1, 2, 7, 1000] {
            let splits = divide(&Corrupt, n).unwrap();
            let mut next = 0;
            for split in &splits {
                assert_eq!((split.first, split.count > 0), (next, true));
                next += split.count;
            }
            assert!(next == 1000 && splits.len() as u64 <= n);
        }
    }

    #[test]
    fn indices_of_a_slice_at_borders() {
        for (start, step, n) in [(3, 2, 9), (30, -4, 7), (5, 1, 20), (19, -1, 20)] {
            let stride = Stride { start, step };
            for at in 0..40 {
                let before = |i: &u64| match step > 0 {
                    true => stride.position(*i) < at,
                    false => stride.position(*i) >= at,
                };
                let want = (0..n).filter(before).count() as u64;
                assert_eq!(stride.index_at(at).min(n), want, "{start} {step} {at}");
            }
            let span = stride.span(n, 100);
            assert!((0..n).all(|i| span.contains(&stride.position(i))));
            assert!(stride.span(0, 100).is_empty());
        }
    }
}
