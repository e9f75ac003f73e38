//! The buffers and arrays of exported batches.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;

/// The alignment and padding of buffers that the Arrow format recommends.
const ALIGN: usize = 64;

/// A byte buffer with the alignment of Arrow.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// Allocates an aligned buffer of `len` zero bytes.
    pub fn zeroed(len: usize) -> Result<Buffer> {
        let bytes = alloc::zeroed(len.next_multiple_of(ALIGN).saturating_add(ALIGN))?;
        let start = bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        Ok(Buffer { bytes, start, len })
    }

    /// Wraps a vector without copying. The elements must be of a type without alignment.
    pub fn bytes(bytes: Vec<u8>) -> Buffer {
        Buffer {
            len: bytes.len(),
            start: 0,
            bytes,
        }
    }

    /// Returns the bytes.
    pub fn get(&self) -> &[u8] {
        self.bytes
            .get(self.start..)
            .and_then(|b| b.get(..self.len))
            .unwrap_or_default()
    }

    /// Returns the bytes for writing.
    pub fn get_mut(&mut self) -> &mut [u8] {
        self.bytes
            .get_mut(self.start..)
            .and_then(|b| b.get_mut(..self.len))
            .unwrap_or_default()
    }

    /// Shortens the buffer to at most `len` bytes.
    pub fn truncated(mut self, len: usize) -> Buffer {
        self.len = self.len.min(len);
        self
    }
}

/// The values of one field in one batch.
#[derive(Debug, Default)]
pub struct Data {
    /// The number of values.
    pub len: usize,
    /// The number of nulls.
    pub nulls: usize,
    /// The buffers. The first one is the validity bitmap, if there are nulls.
    pub buffers: Vec<Option<Buffer>>,
    /// The values of the child fields.
    pub children: Vec<Data>,
}

impl Data {
    /// Creates values of fixed size from one buffer.
    pub fn plain(len: usize, buffer: Buffer) -> Data {
        Data {
            len,
            nulls: 0,
            buffers: vec![None, Some(buffer)],
            children: Vec::new(),
        }
    }

    /// Creates nested values from children.
    pub fn of(len: usize, children: Vec<Data>) -> Data {
        Data {
            len,
            nulls: 0,
            buffers: vec![None],
            children,
        }
    }

    /// Creates values of variable length.
    pub fn variable(len: usize, offsets: Buffer, bytes: Buffer) -> Data {
        Data {
            len,
            nulls: 0,
            buffers: vec![None, Some(offsets), Some(bytes)],
            children: Vec::new(),
        }
    }

    /// Adds a validity bitmap. `is_null` has one element per value.
    pub fn with_nulls(mut self, is_null: &[bool]) -> Result<Data> {
        self.nulls = is_null.iter().filter(|null| **null).count();
        if let Some(first) = self.buffers.first_mut().filter(|_| self.nulls > 0) {
            *first = Some(bits(is_null.iter().map(|null| !null))?);
        }
        Ok(self)
    }
}

/// Packs Booleans into a bitmap, least significant bit first.
pub fn bits(mut values: impl ExactSizeIterator<Item = bool>) -> Result<Buffer> {
    let mut bits = Buffer::zeroed(values.len().div_ceil(8))?;
    for byte in bits.get_mut() {
        *byte = values
            .by_ref()
            .take(8)
            .enumerate()
            .fold(0, |byte, (i, v)| byte | u8::from(v) << i);
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned() {
        for n in [0, 1, 63, 64, 65, 100_000] {
            let mut b = Buffer::zeroed(n).unwrap();
            assert_eq!(b.get().len(), n);
            assert!(b.get().as_ptr().addr().is_multiple_of(64));
            b.get_mut().fill(7);
            let first = b.get().as_ptr();
            let moved = Box::new(b.truncated(10));
            assert_eq!(
                (moved.get().as_ptr(), moved.get().len()),
                (first, n.min(10))
            );
        }
    }
}
