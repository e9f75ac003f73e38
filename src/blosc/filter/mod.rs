//! The filters that a block goes through before its codec, and back again after it.
//!
//! Each computes exactly what c-blosc 1.21 and c-blosc2 3 compute, for every typesize and every
//! length, from a source to a destination of the same length, without memory of its own. What the
//! reference leaves unwritten (bytes behind the last whole item, in some filters) is copied.
// where there are no vectors, nothing runs their kernels
#![cfg_attr(
    not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_feature = "neon")
    )),
    allow(dead_code)
)]

pub mod bitshuffle;
pub mod bytedelta;
pub mod delta;
// loads, stores and intrinsics
#[allow(unsafe_code)]
mod lanes;
pub mod rows;
pub mod shuffle;
pub mod trunc;

pub use bitshuffle::{bitshuffle, bitunshuffle};
pub use bytedelta::{bytedelta_decode, bytedelta_encode};
pub use delta::{delta_decode, delta_encode};
pub use rows::{MOST_STREAMS, Rows, Streams, goes_in_rows};
pub use shuffle::{shuffle, unshuffle};
pub use trunc::truncate;

/// A block under way through a filter.
struct Block<'a> {
    typesize: usize,
    /// Whole items of `typesize` bytes.
    items: usize,
    /// Items that are done.
    done: usize,
    src: &'a [u8],
    dst: &'a mut [u8],
}

impl<'a> Block<'a> {
    /// Nothing done yet.
    fn new(typesize: usize, src: &'a [u8], dst: &'a mut [u8]) -> Block<'a> {
        debug_assert_eq!(src.len(), dst.len(), "a filter keeps the length");
        let items = src.len().min(dst.len()).checked_div(typesize).unwrap_or(0);
        Block {
            typesize,
            items,
            done: 0,
            src,
            dst,
        }
    }

    /// Copies what is behind the first `items` items.
    fn copy_behind(&mut self, items: usize) {
        let (from, len) = (items * self.typesize, self.src.len().min(self.dst.len()));
        if let (Some(src), Some(dst)) = (self.src.get(from..len), self.dst.get_mut(from..len)) {
            dst.copy_from_slice(src);
        }
    }
}

#[cfg(test)]
mod tests;
