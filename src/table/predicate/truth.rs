//! For each row of a batch whether a predicate is true, false, or neither because of nulls.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;

/// A bit for each row.
#[derive(Clone)]
pub struct Bits(Vec<u64>);

/// The rows for which a predicate is true, and those for which it is false.
pub struct Truth {
    yes: Bits,
    no: Bits,
}

impl Bits {
    /// Returns `n` bits, given by their numbers.
    pub fn new(n: usize, mut bit: impl FnMut(usize) -> bool) -> Result<Bits> {
        let mut bits = alloc::with_capacity(n.div_ceil(64))?;
        for first in (0..n).step_by(64) {
            let some = first..n.min(first + 64);
            bits.push(some.fold(0, |all, i| all | u64::from(bit(i)) << (i - first)));
        }
        Ok(Bits(bits))
    }

    fn each(&mut self, other: &Bits, f: impl Fn(u64, u64) -> u64) {
        let pairs = self.0.iter_mut().zip(&other.0);
        pairs.for_each(|(a, b)| *a = f(*a, *b));
    }

    fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }
}

impl Truth {
    /// Returns the results of a test of `n` rows, some of which are null.
    pub fn new(n: usize, passed: Bits, null: Option<Bits>) -> Result<Truth> {
        let (mut yes, mut no) = (passed, Bits::new(n, |_| true)?);
        no.each(&yes, |all, passed| all & !passed);
        if let Some(null) = &null {
            yes.each(null, |passed, null| passed & !null);
            no.each(null, |failed, null| failed & !null);
        }
        Ok(Truth { yes, no })
    }

    /// Returns the opposite.
    pub fn negated(self) -> Truth {
        Truth {
            yes: self.no,
            no: self.yes,
        }
    }

    /// Returns whether both are true.
    pub fn and(&mut self, other: &Truth) {
        self.yes.each(&other.yes, |a, b| a & b);
        self.no.each(&other.no, |a, b| a | b);
    }

    /// Returns whether one of them is true.
    pub fn or(&mut self, other: &Truth) {
        self.yes.each(&other.yes, |a, b| a | b);
        self.no.each(&other.no, |a, b| a & b);
    }

    /// Returns the number of rows for which it is true.
    pub fn count_true(&self) -> usize {
        self.yes.count()
    }

    /// Returns the number of rows for which it is false.
    pub fn count_false(&self) -> usize {
        self.no.count()
    }

    /// Returns the rows for which it is true.
    pub fn rows(&self) -> impl Iterator<Item = u64> {
        let all = self.yes.0.iter().enumerate();
        all.flat_map(|(at, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = u64::from(left.trailing_zeros());
                (left != 0).then(|| {
                    left &= left - 1;
                    at as u64 * 64 + bit
                })
            })
        })
    }
}
