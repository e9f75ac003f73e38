//! A new array whose chunks are parts of a grid, filled with the items of a file in their order.

use crate::superchunk::packing::PIECE;
use holdall::Array;

/// Items that fill an array, some indices of the slowest dimension in the file at a time: each
/// chunk is written once.
pub struct Grid {
    pub array: Array,
    fortran_order: bool,
    slowest: usize,
    /// The bytes of one index of the slowest dimension.
    slice_bytes: u64,
    /// The next index of the slowest dimension.
    at: u64,
}

impl Grid {
    pub fn new(array: Array, fortran_order: bool) -> Grid {
        let last = array.shape().len().saturating_sub(1);
        let slowest = if fortran_order { last } else { 0 };
        let others = array.shape().iter().enumerate().filter(|(d, _)| *d != slowest);
        let slice_bytes =
            others.fold(array.item_size() as u64, |n, (_, length)| n.saturating_mul(*length));
        Grid { slowest, slice_bytes, fortran_order, at: 0, array }
    }

    /// The bytes that are written at once: those of whole chunks.
    pub fn piece(&self) -> u64 {
        let chunk = self.array.chunk_shape().get(self.slowest).copied().unwrap_or(1);
        match chunk.max(1).saturating_mul(self.slice_bytes) {
            0 => PIECE,
            bytes @ 1..PIECE => PIECE / bytes * bytes,
            bytes => bytes,
        }
    }

    /// Writes the next items.
    pub fn write(&mut self, bytes: &[u8]) -> holdall::Result<()> {
        let n = bytes.len() as u64 / self.slice_bytes.max(1);
        let mut ranges: Vec<_> = self.array.shape().iter().map(|n| 0..*n).collect();
        if let Some(range) = ranges.get_mut(self.slowest) {
            *range = self.at..self.at + n;
        }
        let (mut strides, mut stride) = (vec![0; ranges.len()], self.array.item_size() as i64);
        for i in 0..ranges.len() {
            let d = if self.fortran_order { i } else { ranges.len() - 1 - i };
            strides[d] = stride;
            stride *= (ranges[d].end - ranges[d].start) as i64;
        }
        self.at += n;
        self.array.write_bytes_strided(ranges.as_slice(), bytes, &strides)
    }
}
