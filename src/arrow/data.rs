//! Batches of ours: buffers of bytes, and arrays made of them.
#![forbid(unsafe_code)]

use crate::error::Result;
use crate::memory;

/// What Arrow wants buffers to be aligned to, and filled up to a multiple of.
const ALIGN: usize = 64;

/// Bytes that begin where Arrow wants them.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// So many zeros.
    pub fn zeroed(len: usize) -> Result<Buffer> {
        let bytes = memory::zeroed(len.next_multiple_of(ALIGN).saturating_add(ALIGN))?;
        let start = bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        Ok(Buffer { bytes, start, len })
    }

    /// Bytes of any length where they are. Their type must be one that may begin anywhere.
    pub fn bytes(bytes: Vec<u8>) -> Buffer {
        Buffer { len: bytes.len(), start: 0, bytes }
    }

    /// The bytes.
    pub fn get(&self) -> &[u8] {
        self.bytes.get(self.start..).and_then(|b| b.get(..self.len)).unwrap_or_default()
    }

    /// The bytes, to be filled.
    pub fn get_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..).and_then(|b| b.get_mut(..self.len)).unwrap_or_default()
    }

    /// The first so many of them.
    pub fn cut(mut self, len: usize) -> Buffer {
        self.len = self.len.min(len);
        self
    }
}

/// The values of a field in one batch.
#[derive(Debug, Default)]
pub struct Data {
    /// How many.
    pub len: usize,
    /// How many of them are null.
    pub nulls: usize,
    /// Their buffers; the first tells which are not null, where any is.
    pub buffers: Vec<Option<Buffer>>,
    /// The values of the parts.
    pub children: Vec<Data>,
}

impl Data {
    /// Values with one buffer.
    pub fn plain(len: usize, buffer: Buffer) -> Data {
        Data { len, nulls: 0, buffers: vec![None, Some(buffer)], children: Vec::new() }
    }

    /// Values that are made of these.
    pub fn of(len: usize, children: Vec<Data>) -> Data {
        Data { len, nulls: 0, buffers: vec![None], children }
    }

    /// Values of any length.
    pub fn variable(len: usize, offsets: Buffer, bytes: Buffer) -> Data {
        Data { len, nulls: 0, buffers: vec![None, Some(offsets), Some(bytes)], children: Vec::new() }
    }

    /// The same, where `is_null` says so without a value.
    pub fn with_nulls(mut self, is_null: impl Iterator<Item = bool>) -> Result<Data> {
        let mut valid = Buffer::zeroed(self.len.div_ceil(8))?;
        let mut nulls = 0;
        for (i, null) in is_null.enumerate().take(self.len) {
            nulls += usize::from(null);
            valid.get_mut().get_mut(i / 8).into_iter().for_each(|b| *b |= u8::from(!null) << (i % 8));
        }
        if nulls > 0 {
            self.nulls = nulls;
            self.buffers.first_mut().into_iter().for_each(|b| *b = Some(std::mem::take(&mut valid)));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_where_they_should() {
        for n in [0, 1, 63, 64, 65, 100_000] {
            let mut b = Buffer::zeroed(n).unwrap();
            assert_eq!(b.get().len(), n);
            assert!(b.get().as_ptr().addr().is_multiple_of(64));
            b.get_mut().fill(7);
            let first = b.get().as_ptr();
            let moved = Box::new(b.cut(10));
            assert_eq!((moved.get().as_ptr(), moved.get().len()), (first, n.min(10)));
        }
    }
}
