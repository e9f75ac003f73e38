//! The items of an array that `--slice` or `--rows` asks for, and the parts in which they are read.

use crate::cli::slice::{Pick, Picks, Slice, Span};
use crate::failure;
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::report::plural;
use crate::superchunk::source::resize;
use holdall::{Array, Integrity};

/// Bytes that are read at once, and those that a row of chunks may have to be read at once.
const TARGET: u64 = 16 << 20;
const MOST: u64 = 32 << 20;

/// The selected indices of a dimension: start, start + step, ..., `count` of them; `start` is the
/// lowest.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    start: u64,
    count: u64,
    step: u64,
    /// The highest index comes first.
    backwards: bool,
    /// One index, and no dimension of the result.
    dropped: bool,
    /// Lengths of a chunk and of a block.
    units: [u64; 2],
}

pub struct Selection {
    dimensions: Vec<Dimension>,
    item_size: u64,
}

impl Selection {
    /// Selects what `picks` asks for, otherwise everything.
    pub fn of(picks: Option<&Picks>, array: &Array, path: &FileName) -> Result<Selection> {
        let units = array.chunk_shape().iter().zip(array.block_shape());
        let dimension = |(length, (chunk, block)): (&u64, (&u64, &u64))| Dimension {
            start: 0,
            count: *length,
            step: 1,
            backwards: false,
            dropped: false,
            units: [(*chunk).max(1), (*block).max(1)],
        };
        let mut selection = Selection {
            dimensions: array.shape().iter().zip(units).map(dimension).collect(),
            item_size: array.item_size() as u64,
        };
        if let Some(picks) = picks {
            selection.pick(picks, path)?;
        }
        Ok(selection)
    }

    fn pick(&mut self, picks: &Picks, path: &FileName) -> Result {
        let ndim = self.dimensions.len();
        let named = picks.0.iter().filter(|pick| **pick != Pick::Rest).count();
        if ndim == 0 && named > 0 {
            return Err(failure!("{path}: an array without dimensions has no slices"));
        }
        if named > ndim {
            return Err(failure!(
                "{path}: --slice has {named} parts, and the array has {ndim} dimension{}",
                plural(ndim as u64)
            ));
        }
        let mut d = 0;
        for pick in &picks.0 {
            match pick {
                Pick::Rest => d += ndim - named,
                Pick::Range(slice) => self.dimensions[d].pick_range(slice),
                Pick::Index(index) => self.dimensions[d].pick_index(*index, d, path)?,
            }
            d += usize::from(*pick != Pick::Rest);
        }
        Ok(())
    }

    /// The shape of the result.
    pub fn shape(&self) -> Vec<u64> {
        let remaining = self.dimensions.iter().filter(|d| !d.dropped);
        remaining.map(|d| d.count).collect()
    }

    /// The selection as an array that shares the files.
    pub fn view(&self, array: &Array, path: &FileName) -> Result<Array> {
        let steps = self.dimensions.iter().map(|d| match d.backwards {
            true => -(d.step as i64),
            false => d.step as i64,
        });
        let first = |d: &Dimension| match d.backwards {
            true => d.start + (d.count - 1) * d.step,
            false => d.start,
        };
        let starts: Vec<u64> = self.dimensions.iter().map(first).collect();
        let counts: Vec<u64> = self.dimensions.iter().map(|d| d.count).collect();
        let mut view =
            array.strided(&starts, &steps.collect::<Vec<_>>(), &counts).map_err(library(path))?;
        for (d, _) in self.dimensions.iter().enumerate().rev().filter(|(_, d)| d.dropped) {
            view = view.squeeze(d).map_err(library(path))?;
        }
        Ok(view)
    }

    /// The parts of the selection, in C order of the items, or in Fortran order.
    pub fn parts(&self, fortran: bool) -> Parts<'_> {
        let ndim = self.dimensions.len();
        let order: Vec<usize> =
            if fortran { (0..ndim).rev().collect() } else { (0..ndim).collect() };
        // bytes of one index of each dimension, in this order
        let mut strides = vec![self.item_size; ndim];
        for i in (1..ndim).rev() {
            strides[i - 1] = strides[i].saturating_mul(self.dimensions[order[i]].count);
        }
        let split = strides.iter().position(|bytes| *bytes <= MOST);
        let split = split.unwrap_or(ndim.saturating_sub(1));
        let most = match (strides.get(split), order.get(split)) {
            (Some(bytes @ 1..), Some(d)) => {
                let row = bytes.saturating_mul(self.dimensions[*d].units[0]);
                let target = if row <= MOST { TARGET.max(row) } else { TARGET };
                (target / bytes).max(1)
            }
            _ => 1,
        };
        let is_empty =
            self.item_size == 0 || self.dimensions.iter().any(|dimension| dimension.count == 0);
        Parts {
            selection: self,
            left: (!is_empty).then(|| self.dimensions.iter().map(|d| d.count).collect()),
            order,
            split,
            most,
        }
    }
}

impl Dimension {
    fn pick_range(&mut self, slice: &Slice) {
        let Span { start, count, step } = slice.resolve(self.count);
        self.backwards = step < 0;
        self.count = count;
        self.step = step.unsigned_abs();
        self.start = if self.backwards { start - (count - 1) * self.step } else { start };
    }

    fn pick_index(&mut self, index: i64, d: usize, path: &FileName) -> Result {
        let length = self.count;
        let from_end = length.checked_sub(index.unsigned_abs());
        let at = if index < 0 { from_end } else { Some(index as u64) };
        let Some(at) = at.filter(|at| *at < length) else {
            let which =
                format!("{path}: dimension {d} (the first is 0): index {index} is out of range");
            return Err(if length == 0 {
                failure!("{which}, its length is 0")
            } else {
                failure!("{which}, it has 0 to {}, or -{length} to -1", length - 1)
            });
        };
        (self.start, self.count, self.dropped) = (at, 1, true);
        Ok(())
    }

    /// How many of the last `left` indices to read at once, `most` at most: up to the end of a
    /// chunk, otherwise of a block, so that no other part needs it.
    fn part(&self, left: u64, most: u64) -> u64 {
        if left <= most {
            return left;
        }
        let step = self.step;
        for unit in self.units {
            if self.backwards {
                let top = self.start + (left - 1) * step;
                let low = self.start + (left - most) * step;
                let limit = (low - step) / unit * unit + unit;
                if limit <= top {
                    return (top - limit) / step + 1;
                }
            } else {
                let first = self.start + (self.count - left) * step;
                let limit = (first + most * step) / unit * unit;
                if limit > first {
                    return (limit - first).div_ceil(step);
                }
            }
        }
        most
    }

    /// The lowest of the next `n` indices, of which `left` are left.
    fn lowest(&self, left: u64, n: u64) -> u64 {
        let before = if self.backwards { left - n } else { self.count - left };
        self.start + before * self.step
    }
}

/// The parts of a selection: some indices of one dimension, one index of each slower dimension.
pub struct Parts<'a> {
    selection: &'a Selection,
    /// Dimensions, the slowest first.
    order: Vec<usize>,
    /// The position in `order` of the dimension that is split, and how many of its indices a part
    /// has at most.
    split: usize,
    most: u64,
    /// Indices that are left of each dimension; None at the end.
    left: Option<Vec<u64>>,
}

impl Parts<'_> {
    /// Reads the next part. Returns false at the end. `damaged` is set if damage was skipped.
    pub fn read(
        &mut self,
        array: &Array,
        path: &FileName,
        damaged: &mut bool,
        bytes: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(left) = &mut self.left else {
            return Ok(false);
        };
        let dimensions = &self.selection.dimensions;
        let (mut start, mut count) = (vec![0; dimensions.len()], vec![1; dimensions.len()]);
        for (i, d) in self.order.iter().copied().enumerate() {
            let dimension = &dimensions[d];
            count[d] = match i.cmp(&self.split) {
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => dimension.part(left[d], self.most),
                std::cmp::Ordering::Greater => dimension.count,
            };
            start[d] = dimension.lowest(left[d], count[d]);
        }
        let mut stride = self.selection.item_size as i64;
        let mut strides = vec![0; dimensions.len()];
        for d in self.order.iter().rev().copied() {
            strides[d] = if dimensions[d].backwards { -stride } else { stride };
            stride *= count[d] as i64;
        }
        let steps: Vec<u64> = dimensions.iter().map(|d| d.step).collect();
        resize(bytes, stride as usize)?;
        let part = part_of(&start, &count, &steps);
        let read = array.read_bytes_strided(part, bytes, &strides);
        *damaged |= read.map_err(library(path))? == Integrity::Filled;
        self.advance(&count);
        Ok(true)
    }

    /// Moves on by the part that was read.
    fn advance(&mut self, count: &[u64]) {
        let Some(left) = &mut self.left else { return };
        let slower = self.order.iter().take(self.split + 1).rev().copied();
        for d in slower {
            left[d] -= count[d];
            if left[d] > 0 {
                return;
            }
            left[d] = self.selection.dimensions[d].count;
        }
        self.left = None;
    }
}

/// A selection of the library: `count` indices of each dimension, from `start` on, `step` apart.
fn part_of(start: &[u64], count: &[u64], step: &[u64]) -> holdall::Selection {
    let ends = start.iter().zip(count).zip(step);
    let ranges: Vec<_> =
        ends.map(|((start, count), step)| *start..start + (count - 1) * step + 1).collect();
    holdall::Selection::from(ranges.as_slice()).step(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_with_chunks_in_both_directions() {
        let mut dimension = Dimension {
            start: 1,
            count: 9,
            step: 2,
            backwards: false,
            dropped: false,
            units: [8, 4],
        };
        // 1 3 5 7 | 9 11 13 15 | 17
        assert_eq!((dimension.part(9, 5), dimension.lowest(9, 4)), (4, 1));
        assert_eq!((dimension.part(5, 4), dimension.lowest(5, 4)), (4, 9));
        dimension.backwards = true;
        assert_eq!((dimension.part(9, 2), dimension.lowest(9, 1)), (1, 17));
        assert_eq!((dimension.part(8, 4), dimension.lowest(8, 4)), (4, 9));
    }
}
