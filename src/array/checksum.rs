//! The checksum of an array, which depends on dtype, shape and items, not on how they are stored.
#![forbid(unsafe_code)]

use super::Array;
use crate::alloc;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Result, fail};
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;

/// Bytes of items that are read at once, and those that one row of chunks may have to be read at
/// once.
const TARGET: u64 = 16 << 20;
const MOST: u64 = 256 << 20;

impl Array {
    /// Returns the checksum of the dtype as NumPy spells it, a NUL, the number of dimensions and
    /// the length of each as 8 bytes little-endian, and the items in C order. The flag is true if
    /// corrupt content was replaced by the fill value.
    pub fn content_checksum(&self, algorithm: Checksum) -> Result<(Vec<u8>, bool)> {
        if self.store().has_objects() {
            return Err(fail!(
                Type,
                "{}: Python objects of variable size have no checksum",
                self.store().name()
            ));
        }
        let mut hasher = Hasher::new(algorithm);
        hasher.update(self.dtype().item.to_string().as_bytes());
        hasher.update(&[0]);
        hasher.update(&(self.shape().len() as u64).to_le_bytes());
        for n in self.shape() {
            hasher.update(&n.to_le_bytes());
        }
        let scope = Scope::open(self.progress(), self.nbytes(), Step::Call);
        let (item, limit) = (self.itemsize() as u64, self.memory_limit());
        let boxes = Boxes::new(self.shape(), self.chunkshape(), item, limit);
        let (mut buffer, mut damaged, mut done) = (Vec::new(), false, 0);
        for (start, count) in boxes {
            let bytes = count.iter().fold(item, |n, d| n.saturating_mul(*d));
            if buffer.is_empty() {
                // the first box is the largest
                buffer = alloc::zeroed(alloc::allow(bytes, limit, "items")?)?;
            }
            let part = buffer.at_mut(..bytes as usize)?;
            damaged |= self.read(&start, &count, None, part, None)?;
            hasher.update(part);
            done += bytes;
            scope.at(done)?;
        }
        scope.finish();
        Ok((hasher.finish(), damaged))
    }
}

/// Consecutive boxes whose packed items, one box after the other, are those of the array in C
/// order: some indices of one dimension, one index of each slower dimension.
struct Boxes<'a> {
    shape: &'a [u64],
    /// The dimension that is divided, the length of a chunk along it, and the maximum number of its
    /// indices in a box.
    split: usize,
    chunk: u64,
    most: u64,
    /// The next box starts there; `None` at the end.
    next: Option<Vec<u64>>,
}

impl<'a> Boxes<'a> {
    fn new(shape: &'a [u64], chunkshape: &[u64], item: u64, limit: u64) -> Boxes<'a> {
        let product = |lengths: &[u64]| lengths.iter().fold(item, |n, d| n.saturating_mul(*d));
        let row = |d: usize| product(shape.get(d + 1..).unwrap_or_default());
        let split = (0..shape.len()).find(|d| row(*d) <= TARGET.min(limit));
        let split = split.unwrap_or(shape.len().saturating_sub(1));
        let chunk = chunkshape.get(split).copied().unwrap_or(1).max(1);
        let row = row(split).max(1);
        // each chunk is decoded once if the chunks beside each other are not too large
        let target = row.saturating_mul(chunk).clamp(TARGET, MOST).min(limit);
        let most = (target / row).max(1);
        let is_empty = item == 0 || shape.contains(&0);
        Boxes {
            shape,
            split,
            chunk,
            most: if most > chunk {
                most / chunk * chunk
            } else {
                most
            },
            next: (!is_empty).then(|| vec![0; shape.len()]),
        }
    }
}

impl Iterator for Boxes<'_> {
    type Item = (Vec<u64>, Vec<u64>);

    fn next(&mut self) -> Option<(Vec<u64>, Vec<u64>)> {
        let start = self.next.take()?;
        let count = |(d, (len, at)): (usize, (&u64, &u64))| match d.cmp(&self.split) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => {
                let to_chunk_end = self.chunk - at % self.chunk;
                let most = if self.most < self.chunk {
                    self.most.min(to_chunk_end)
                } else {
                    self.most
                };
                most.min(len - at)
            }
            std::cmp::Ordering::Greater => *len,
        };
        let count: Vec<u64> = self
            .shape
            .iter()
            .zip(&start)
            .enumerate()
            .map(count)
            .collect();
        let mut next = start.clone();
        for ((at, n), len) in next.iter_mut().zip(&count).zip(self.shape).rev() {
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
#[test]
fn boxes_are_in_c_order_and_cover_the_array() {
    for (shape, chunks, item, limit) in [
        (&[][..], &[][..], 8, 1 << 30),
        (&[7], &[3], 1, 4),
        (&[10, 3], &[4, 2], 1, 15),
        (&[3, 5, 4], &[2, 2, 2], 2, 7),
        (&[2, 3, 0], &[1, 1, 1], 4, 100),
        (&[4, 6], &[3, 4], 1 << 20, 3 << 20),
    ] {
        let mut seen: Vec<Vec<u64>> = Vec::new();
        for (start, count) in Boxes::new(shape, chunks, item, limit) {
            let mut points = vec![Vec::new()];
            for (at, n) in start.iter().zip(&count) {
                let extended =
                    |p: Vec<u64>| (*at..at + n).map(move |i| [p.as_slice(), &[i]].concat());
                points = points.into_iter().flat_map(extended).collect();
            }
            assert!(points.len() as u64 * item <= limit.max(item), "{shape:?}");
            seen.extend(points);
        }
        assert!(seen.is_sorted() && seen.windows(2).all(|w| w[0] != w[1]));
        assert_eq!(seen.len() as u64, shape.iter().product::<u64>());
    }
}
