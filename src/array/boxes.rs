//! The boxes of bounded size in which the items of an array are read in order.
#![forbid(unsafe_code)]

use super::Array;
use crate::dtype::numpy_meta::Order;

/// Consecutive boxes whose packed items, one box after the other, are those of the array in order:
/// some indices of one dimension, one index of each slower dimension. Each item is a start and a
/// count.
pub struct Boxes {
    shape: Vec<u64>,
    /// The dimensions, the slowest first.
    order: Vec<usize>,
    /// The dimension that is divided, as a position in `order`, and the maximum number of its
    /// indices in a box.
    split: usize,
    most: u64,
    along: Along,
    /// The next box starts there; `None` at the end.
    next: Option<Vec<u64>>,
}

/// The positions along a dimension of an array that the indices of a view have, and how the array
/// divides them.
#[derive(Clone, Copy)]
pub struct Along {
    /// The position of index 0, and the distance of positions.
    pub origin: u64,
    pub step: i64,
    /// The lengths of a chunk and of a block.
    pub units: [u64; 2],
}

impl Along {
    /// Returns how many of the indices from `at` on, of which `left` are left, a box has, at most
    /// `most`: up to the end of a chunk, otherwise of a block, so that no other box decodes it.
    fn part(&self, at: u64, left: u64, most: u64) -> u64 {
        if left <= most {
            return left;
        }
        let step = self.step.unsigned_abs().max(1);
        let position = |index: u64| self.origin.wrapping_add_signed(index as i64 * self.step);
        let (first, end) = (position(at), position(at + most));
        for unit in self.units.map(|unit| unit.max(1)) {
            if self.step < 0 {
                // the last position of the chunk that has the next index
                let last = end - end % unit + unit - 1;
                if last < first {
                    return (first - last - 1) / step + 1;
                }
            } else {
                let start = end - end % unit;
                if start > first {
                    return (start - first).div_ceil(step);
                }
            }
        }
        most
    }
}

impl Array {
    /// Returns boxes of at most `target` bytes or one item, or up to `most` bytes if a row of
    /// chunks is larger than `target`: then each chunk is decoded once.
    pub fn boxes(&self, order: Order, bytes: [u64; 2]) -> Boxes {
        Boxes::new(self.shape(), self.itemsize() as u64, order, bytes, |d| {
            self.along(d)
        })
    }
}

impl Boxes {
    fn new(
        shape: &[u64],
        item: u64,
        order: Order,
        [target, most]: [u64; 2],
        along: impl Fn(usize) -> Along,
    ) -> Boxes {
        let order: Vec<usize> = match order {
            Order::C => (0..shape.len()).collect(),
            Order::Fortran => (0..shape.len()).rev().collect(),
        };
        let row = |split: usize| {
            let faster = order.iter().skip(split + 1).filter_map(|d| shape.get(*d));
            faster.fold(item, |n, length| n.saturating_mul(*length))
        };
        let split = (0..order.len()).find(|split| row(*split) <= target);
        let split = split.unwrap_or(order.len().saturating_sub(1));
        let along = along(order.get(split).copied().unwrap_or(0));
        let row = row(split).max(1);
        let chunks = (along.units[0] / along.step.unsigned_abs().max(1)).max(1);
        let chunks = row.saturating_mul(chunks);
        let target = if chunks <= most {
            target.max(chunks)
        } else {
            target
        };
        let is_empty = item == 0 || shape.contains(&0);
        Boxes {
            next: (!is_empty).then(|| vec![0; shape.len()]),
            most: (target / row).max(1),
            shape: shape.to_vec(),
            order,
            split,
            along,
        }
    }
}

impl Iterator for Boxes {
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<(Vec<u64>, Vec<u64>)> {
        let start = self.next.take()?;
        let (mut count, mut next) = (self.shape.clone(), start.clone());
        for (i, d) in self.order.iter().enumerate() {
            let (Some(count), Some(at)) = (count.get_mut(*d), start.get(*d)) else {
                continue;
            };
            match i.cmp(&self.split) {
                std::cmp::Ordering::Less => *count = 1,
                std::cmp::Ordering::Equal => *count = self.along.part(*at, *count - at, self.most),
                std::cmp::Ordering::Greater => {}
            }
        }
        for d in self.order.iter().rev() {
            let (Some(at), Some(n), Some(len)) =
                (next.get_mut(*d), count.get(*d), self.shape.get(*d))
            else {
                continue;
            };
            *at += n;
            if *at < *len {
                self.next = Some(next);
                break;
            }
            *at = 0;
        }
        Some((start, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All indices of a box, in an order.
    fn indices(start: &[u64], count: &[u64], order: Order) -> Vec<Vec<u64>> {
        let mut all = vec![Vec::new()];
        let dims: Vec<usize> = match order {
            Order::C => (0..start.len()).collect(),
            Order::Fortran => (0..start.len()).rev().collect(),
        };
        for d in dims {
            let of = start[d]..start[d] + count[d];
            let extended = |p: Vec<u64>| of.clone().map(move |i| [p.as_slice(), &[i]].concat());
            all = all.into_iter().flat_map(extended).collect();
        }
        all
    }

    #[test]
    fn boxes_are_in_order_and_cover_the_array() {
        for (shape, chunks, item, limit) in [
            (&[][..], &[1][..], 8, 1 << 30),
            (&[7], &[3], 1, 4),
            (&[10, 3], &[4, 2], 1, 15),
            (&[3, 5, 4], &[2, 2, 2], 2, 7),
            (&[2, 3, 0], &[1, 1, 1], 4, 100),
            (&[4, 6], &[3, 4], 1 << 20, 3 << 20),
        ] {
            for (order, step) in [Order::C, Order::Fortran].into_iter().zip([1, -2]) {
                let along = |d: usize| Along {
                    origin: 100,
                    step,
                    units: [chunks[d], 1],
                };
                let mut seen: Vec<Vec<u64>> = Vec::new();
                for (start, count) in Boxes::new(shape, item, order, [limit; 2], along) {
                    let found = indices(&start, &count, order);
                    assert!(found.len() as u64 * item <= limit.max(item), "{shape:?}");
                    seen.extend(found);
                }
                assert_eq!(
                    seen,
                    match shape.contains(&0) {
                        true => Vec::new(),
                        false => indices(&vec![0; shape.len()], shape, order),
                    }
                );
            }
        }
    }

    #[test]
    fn boxes_end_with_chunks_in_both_directions() {
        let lengths = |origin: u64, step: i64, most: u64| {
            let along = |_| Along {
                origin,
                step,
                units: [8, 4],
            };
            let boxes = Boxes::new(&[9], 1, Order::C, [most; 2], along);
            boxes.map(|(_, count)| count[0]).collect::<Vec<_>>()
        };
        // 1 3 5 7 | 9 11 13 15 | 17
        assert_eq!(lengths(1, 2, 5), [4, 5]);
        assert_eq!(lengths(1, 2, 4), [4, 4, 1]);
        assert_eq!(lengths(1, 2, 3), [2, 2, 2, 3]);
        assert_eq!(lengths(17, -2, 4), [1, 4, 4]);
        assert_eq!(lengths(17, -2, 2), [1, 2, 2, 2, 2]);
    }
}
