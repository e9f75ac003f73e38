//! Batches of ours: buffers of bytes, and arrays made of them.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;

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
        let bytes = alloc::zeroed(len.next_multiple_of(ALIGN).saturating_add(ALIGN))?;
        let start = bytes.as_ptr().align_offset(ALIGN).min(ALIGN);
        Ok(Buffer { bytes, start, len })
    }

    /// Bytes of any length where they are. Their type must be one that may begin anywhere.
    pub fn bytes(bytes: Vec<u8>) -> Buffer {
        Buffer {
            len: bytes.len(),
            start: 0,
            bytes,
        }
    }

    /// The bytes.
    pub fn get(&self) -> &[u8] {
        self.bytes
            .get(self.start..)
            .and_then(|b| b.get(..self.len))
            .unwrap_or_default()
    }

    /// The bytes, to be filled.
    pub fn get_mut(&mut self) -> &mut [u8] {
        self.bytes
            .get_mut(self.start..)
            .and_then(|b| b.get_mut(..self.len))
            .unwrap_or_default()
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
        Data {
            len,
            nulls: 0,
            buffers: vec![None, Some(buffer)],
            children: Vec::new(),
        }
    }

    /// Values that are made of these.
    pub fn of(len: usize, children: Vec<Data>) -> Data {
        Data {
            len,
            nulls: 0,
            buffers: vec![None],
            children,
        }
    }

    /// Values of any length.
    pub fn variable(len: usize, offsets: Buffer, bytes: Buffer) -> Data {
        Data {
            len,
            nulls: 0,
            buffers: vec![None, Some(offsets), Some(bytes)],
            children: Vec::new(),
        }
    }

    /// The same, where these say so without a value.
    pub fn with_nulls(mut self, none: &[bool]) -> Result<Data> {
        self.nulls = none.iter().filter(|none| **none).count();
        if let Some(first) = self.buffers.first_mut().filter(|_| self.nulls > 0) {
            *first = Some(bits(none.iter().map(|none| !none))?);
        }
        Ok(self)
    }
}

/// Truth values, a bit each.
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
    fn buffers_begin_where_they_should() {
        for n in [0, 1, 63, 64, 65, 100_000] {
            let mut b = Buffer::zeroed(n).unwrap();
            assert_eq!(b.get().len(), n);
            assert!(b.get().as_ptr().addr().is_multiple_of(64));
            b.get_mut().fill(7);
            let first = b.get().as_ptr();
            let moved = Box::new(b.cut(10));
            assert_eq!(
                (moved.get().as_ptr(), moved.get().len()),
                (first, n.min(10))
            );
        }
    }
}
