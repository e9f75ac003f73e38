//! The checksum of an array, which depends on dtype, shape and items, not on how they are stored.
#![forbid(unsafe_code)]

use super::Array;
use crate::alloc;
use crate::checksum::{Checksum, Hasher};
use crate::dtype::numpy_meta::Order;
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
        let most = [TARGET, MOST].map(|bytes| bytes.min(limit));
        let (mut buffer, mut damaged, mut done) = (Vec::new(), false, 0);
        for (start, count) in self.boxes(Order::C, most) {
            let bytes = count.iter().fold(item, |n, d| n.saturating_mul(*d));
            if (buffer.len() as u64) < bytes {
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
