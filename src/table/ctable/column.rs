//! A column of a CTable as the store of an array: the rows that exist, in order.
#![forbid(unsafe_code)]

use super::valid_rows::ValidRows;
use crate::alloc::Scratch;
use crate::array::Array;
use crate::array::store::{Reader, Store};
use crate::blosc::StoredEncoding;
use crate::checksum::Checksum;
use crate::dataset::attrs::Attrs;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::progress::Progress;
use crate::slice::{SliceExt, take_mut};
use crate::superchunk::bloscpack::Destination;
use std::ops::Range;
use std::sync::Arc;

/// The rows of an array whose positions are given.
pub struct Rows {
    array: Array,
    name: String,
    valid: Arc<ValidRows>,
    row_bytes: u64,
    limit: u64,
    attrs: Attrs,
}

/// Splits a range of bytes into complete rows and parts of rows: each with the first row, and the
/// range from its beginning.
pub fn split_rows(row_bytes: u64, at: u64, n: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let row_bytes = row_bytes.max(1);
    let (mut at, end) = (at, at.saturating_add(n));
    std::iter::from_fn(move || {
        let (row, skipped, left) = (at / row_bytes, at % row_bytes, end - at);
        let n = match skipped {
            0 if left >= row_bytes => left / row_bytes * row_bytes,
            _ => left.min(row_bytes - skipped),
        };
        at += n;
        (n > 0).then_some((row, skipped..skipped + n))
    })
}

/// Returns the attributes of an array in a frame, which are JSON in a table.
pub fn attrs_of(array: &Array) -> Result<Attrs> {
    let mut attrs = Attrs::default();
    for (name, value) in array.attrs()? {
        attrs.set(&name, &value)?;
    }
    Ok(attrs)
}

impl Rows {
    /// Creates the store of the rows of `array`.
    pub fn new(array: Array, name: String, valid: Arc<ValidRows>, limit: u64) -> Result<Rows> {
        let row = array.shape().get(1..).unwrap_or_default();
        let row_bytes = row
            .iter()
            .fold(array.itemsize() as u64, |n, d| n.saturating_mul(*d));
        Ok(Rows {
            attrs: attrs_of(&array)?,
            array,
            name,
            valid,
            row_bytes,
            limit,
        })
    }

    /// Reads complete rows from `row` on until `dst` is full.
    fn read_rows(&self, mut row: u64, mut dst: &mut [u8]) -> Result<bool> {
        let mut damaged = false;
        while !dst.is_empty() {
            let run = self.valid.run(row, dst.len() as u64 / self.row_bytes);
            let n = run.end - run.start;
            if n == 0 {
                return Err(fail!(State, "{}: row {row} has no position", self.name));
            }
            let part = take_mut(&mut dst, (n * self.row_bytes) as usize)?;
            damaged |= self.read_positions(run, part)?;
            row += n;
        }
        Ok(damaged)
    }

    fn read_positions(&self, positions: Range<u64>, dst: &mut [u8]) -> Result<bool> {
        let row = self.array.shape().get(1..).unwrap_or_default();
        let start = [&[positions.start], vec![0; row.len()].as_slice()].concat();
        let count = [&[positions.end - positions.start], row].concat();
        self.array.read(&start, &count, None, dst, None)
    }

    /// Reads a part of one row.
    fn read_part(&self, row: u64, bytes: Range<u64>, dst: &mut [u8]) -> Result<bool> {
        let mut all = Scratch::new(self.row_bytes, self.limit, &self.name)?;
        let damaged = self.read_rows(row, &mut all)?;
        dst.copy_from_slice(all.at(bytes.start as usize..bytes.end as usize)?);
        Ok(damaged)
    }
}

impl Store for Rows {
    fn name(&self) -> &str {
        &self.name
    }

    fn format(&self) -> Format {
        Format::CTable
    }

    fn encoding(&self) -> StoredEncoding {
        self.array.encoding()
    }

    fn checksum(&self) -> Checksum {
        self.array.checksum()
    }

    fn nbytes(&self) -> u64 {
        self.valid.count().saturating_mul(self.row_bytes)
    }

    fn cbytes(&self) -> Result<u64> {
        self.array.cbytes()
    }

    fn chunk_span(&self, at: u64) -> Range<u64> {
        let chunk = self.chunk_bytes().max(1);
        let from = at / chunk * chunk;
        from..from.saturating_add(chunk).min(self.nbytes().max(at))
    }

    fn chunk_bytes(&self) -> u64 {
        let rows = self.array.chunkshape().first().copied().unwrap_or(1);
        rows.saturating_mul(self.row_bytes)
    }

    fn block_bytes(&self) -> Option<u64> {
        None
    }

    fn pending_bytes(&self) -> u64 {
        0
    }

    fn progress(&self) -> Option<&Progress> {
        None
    }

    fn file_threads(&self) -> usize {
        self.array.store().file_threads()
    }

    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let (mut dst, mut damaged) = (dst, false);
        for (row, bytes) in split_rows(self.row_bytes, at, dst.len() as u64) {
            let part = take_mut(&mut dst, (bytes.end - bytes.start) as usize)?;
            damaged |= match bytes.start == 0 && bytes.end >= self.row_bytes {
                true => self.read_rows(row, part)?,
                false => self.read_part(row, bytes, part)?,
            };
        }
        Ok(damaged)
    }

    fn copy_as(
        &self,
        to: Destination,
        meta: Option<&[u8]>,
        len: u64,
        read: Reader,
    ) -> Result<bool> {
        self.array.store().copy_as(to, meta, len, read)
    }

    fn attr_names(&self) -> Vec<&str> {
        self.attrs.names()
    }

    fn attr(&self, name: &str) -> Result<Option<&[u8]>> {
        self.attrs.get(name)
    }
}
