//! Filters: transformations of a block before compression, and their inverses.
//!
//! Each filter computes exactly what c-blosc 1.21 and c-blosc2 3 compute, for every typesize and
//! every length. It writes from a source to a destination of the same length and allocates no
//! memory. Bytes that the reference leaves unwritten (in some filters, those after the last whole
//! item) are copied.
// without vector instructions the kernels are unused
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
// unsafe code: loads, stores and intrinsics
#[allow(unsafe_code)]
mod lanes;
pub mod shuffle;
pub mod trunc;
pub mod unshuffle_rows;

pub use bitshuffle::{bitshuffle, bitunshuffle};
pub use bytedelta::{bytedelta_decode, bytedelta_encode};
pub use delta::{delta_decode, delta_encode};
pub use shuffle::{shuffle, unshuffle};
pub use trunc::{truncate, truncate_in_place};
pub use unshuffle_rows::{MAX_STREAMS, Streams, StridedRows, supports_rows};

/// A block that a filter is processing.
struct Block<'a> {
    typesize: usize,
    /// Number of whole items of `typesize` bytes.
    items: usize,
    /// Number of processed items.
    done: usize,
    src: &'a [u8],
    dst: &'a mut [u8],
}

impl<'a> Block<'a> {
    /// Creates a block without processed items.
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

    /// Copies the bytes after the first `items` items.
    fn copy_tail(&mut self, items: usize) {
        let (from, len) = (items * self.typesize, self.src.len().min(self.dst.len()));
        if let (Some(src), Some(dst)) = (self.src.get(from..len), self.dst.get_mut(from..len)) {
            dst.copy_from_slice(src);
        }
    }
}

#[cfg(test)]
mod tests;
