//! For each row of a batch whether a predicate is true, false, or neither because of nulls.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;

/// A bit for each row.
#[derive(Clone, PartialEq)]
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

    /// Returns a bit for each of `n` items, as far as there are any.
    #[inline(always)]
    pub fn of<T: Copy>(n: usize, items: &[T], passes: impl Fn(T) -> bool) -> Result<Bits> {
        let mut bits = alloc::with_capacity(n.div_ceil(64))?;
        for some in items.get(..n).unwrap_or(items).chunks(64) {
            // a loop over bytes, which the compiler vectorizes, and then bits of 8 at once
            let mut passed = [0u8; 64];
            for (to, item) in passed.iter_mut().zip(some) {
                *to = u8::from(passes(*item));
            }
            let bytes = passed.as_chunks::<8>().0.iter().enumerate();
            bits.push(bytes.fold(0, |all, (i, eight)| all | gather(*eight) << (8 * i)));
        }
        bits.resize(n.div_ceil(64), 0);
        Ok(Bits(bits))
    }

    /// Clears the bits that are set in another list.
    pub fn remove(&mut self, other: &Bits) {
        self.each(other, |bits, gone| bits & !gone);
    }

    fn each(&mut self, other: &Bits, f: impl Fn(u64, u64) -> u64) {
        let pairs = self.0.iter_mut().zip(&other.0);
        pairs.for_each(|(a, b)| *a = f(*a, *b));
    }

    fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }
}

/// Returns 8 bits from bytes that are 0 or 1, the first one lowest.
fn gather(bytes: [u8; 8]) -> u64 {
    // the product has bit i of the result in bit 56 + i, and nothing else there
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

impl Truth {
    /// Returns the results of a test of `n` rows, some of which are null.
    pub fn new(n: usize, passed: Bits, null: Option<Bits>) -> Result<Truth> {
        let (mut yes, mut no) = (passed, Bits::new(n, |_| true)?);
        no.remove(&yes);
        if let Some(null) = &null {
            yes.remove(null);
            no.remove(null);
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
