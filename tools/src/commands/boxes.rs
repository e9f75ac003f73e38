//! Boxes of bounded size that cover a shape.

use std::ops::Range;

/// Boxes of a shape in C order of their positions.
pub struct Boxes {
    shape: Vec<u64>,
    step: Vec<u64>,
    next: Option<Vec<u64>>,
}

impl Boxes {
    /// `most` is the number of items of a box.
    pub fn new(shape: &[u64], chunk: &[u64], fast_first: bool, most: u64) -> Boxes {
        let mut step: Vec<u64> =
            chunk.iter().zip(shape).map(|(c, n)| (*c).min(*n).max(1)).collect();
        step.resize(shape.len(), 1);
        let size = |step: &[u64]| step.iter().fold(1u64, |n, d| n.saturating_mul(*d));
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if fast_first {
            order.reverse();
        }
        for d in &order {
            let others = (size(&step) / step[*d]).max(1);
            if size(&step) > most.max(1) {
                step[*d] = (most / others).clamp(1, step[*d]);
            }
        }
        for d in order.iter().rev() {
            let factor = (most / size(&step)).max(1);
            step[*d] = step[*d].saturating_mul(factor).min(shape[*d].max(1));
            if step[*d] < shape[*d] {
                break;
            }
        }
        let next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        Boxes { shape: shape.to_vec(), step, next }
    }

    /// The box in the middle; None: there are no items.
    pub fn middle(&self) -> Option<Vec<Range<u64>>> {
        let at = self.next.as_ref()?.iter().zip(&self.step).zip(&self.shape);
        let side = |((_, step), n): ((&u64, &u64), &u64)| {
            let start = n / 2 / step * step;
            start..start.saturating_add(*step).min(*n)
        };
        Some(at.map(side).collect())
    }
}

impl Iterator for Boxes {
    type Item = Vec<Range<u64>>;

    fn next(&mut self) -> Option<Vec<Range<u64>>> {
        let mut at = self.next.take()?;
        let sides = at.iter().zip(&self.step).zip(&self.shape);
        let found = sides.map(|((at, step), n)| *at..at.saturating_add(*step).min(*n)).collect();
        for d in (0..at.len()).rev() {
            at[d] = at[d].saturating_add(self.step[d]);
            if at[d] < self.shape[d] {
                self.next = Some(at);
                break;
            }
            at[d] = 0;
        }
        Some(found)
    }
}

/// The position in the whole of item `i` of a box.
pub fn position(of: &[Range<u64>], mut i: u64) -> Vec<u64> {
    let mut at = vec![0; of.len()];
    for (at, range) in at.iter_mut().zip(of).rev() {
        let n = (range.end - range.start).max(1);
        *at = range.start + i % n;
        i /= n;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cover_each_item_once_and_are_small() {
        let shapes: [(&[u64], &[u64], u64); 6] = [
            (&[7, 5, 3], &[2, 5, 2], 10),
            (&[7, 5, 3], &[2, 2, 2], 1000),
            (&[10], &[100], 3),
            (&[], &[], 5),
            (&[0, 5], &[1, 1], 5),
            (&[4, 4], &[4, 4], 1),
        ];
        for (shape, chunk, most) in shapes {
            for fast_first in [false, true] {
                let boxes: Vec<_> = Boxes::new(shape, chunk, fast_first, most).collect();
                let items =
                    |of: &Vec<Range<u64>>| of.iter().map(|r| r.end - r.start).product::<u64>();
                assert_eq!(boxes.iter().map(items).sum::<u64>(), shape.iter().product::<u64>());
                assert!(boxes.iter().all(|of| items(of) <= most.max(1)), "{shape:?} {boxes:?}");
            }
        }
    }

    #[test]
    fn hostile_shapes_have_boxes_at_once() {
        let first = Boxes::new(&[u64::MAX, u64::MAX], &[u64::MAX, 9], false, 100).next();
        assert_eq!(first.map(|of| position(&of, 1).len()), Some(2));
    }
}
