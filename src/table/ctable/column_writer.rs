//! A column of a CTable that is open for writing, as the store of an array: the rows that exist, in
//! order, and rows that are not written yet.
#![forbid(unsafe_code)]

use super::column::{attrs_of, split_rows};
use super::commit_part::CommitPart;
use super::null_mask::{NullMask, SharedMask};
use super::row_map::RowMap;
use super::summary::Summary;
use super::valid_rows::ValidRows;
use crate::alloc::{self, Scratch};
use crate::array::Array;
use crate::array::msgpack_json::from_json;
use crate::array::store::{Reader, Store};
use crate::blosc::StoredEncoding;
use crate::checksum::Checksum;
use crate::dataset::attrs::Attrs;
use crate::error::{Result, fail};
use crate::format::Format;
use crate::progress::Progress;
use crate::slice::{SliceExt, take_mut};
use crate::superchunk::bloscpack::{Destination, Splice};
use crate::superchunk::frame::Frame;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of rows that an insertion holds in memory.
const PIECE: u64 = 16 << 20;

/// The rows of an array whose positions are given, and rows to be written after them.
pub struct ColumnWriter {
    array: Array,
    map: RowMap,
    /// The last rows, if they do not complete a chunk yet.
    pending: Vec<u8>,
    row_bytes: u64,
    limit: u64,
    attrs: Attrs,
    /// Which rows are null, if a mask says it.
    mask: Option<SharedMask>,
    /// The extrema of its blocks, if they are stored.
    summary: Option<Summary>,
}

impl ColumnWriter {
    /// Creates the store of the rows of `array` with these positions.
    pub fn new(array: Array, map: RowMap, limit: u64) -> Result<ColumnWriter> {
        let row = array.shape().get(1..).unwrap_or_default();
        let row_bytes = row
            .iter()
            .fold(array.itemsize() as u64, |n, d| n.saturating_mul(*d));
        Ok(ColumnWriter {
            attrs: attrs_of(&array)?,
            array,
            map,
            pending: Vec::new(),
            row_bytes: row_bytes.max(1),
            limit,
            mask: None,
            summary: None,
        })
    }

    /// Returns the array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Returns whether the extrema of the blocks are stored.
    pub fn has_summary(&self) -> bool {
        self.summary.is_some()
    }

    /// States that the extrema of the blocks are stored.
    pub fn set_summary(&mut self, summary: Summary) {
        self.summary = Some(summary);
    }

    /// States which rows from `first` on are null.
    pub fn set_nulls(&mut self, first: u64, nulls: &[bool]) -> Result<()> {
        let Some(mask) = &self.mask else {
            return Err(fail!(Type, "{}: the column has no nulls", self.name()));
        };
        let set = mask.write().set_nulls(&self.map, first, nulls);
        if let Some(summary) = &mut self.summary {
            let (mut row, end) = (first, first + nulls.len() as u64);
            while row < end {
                let run = self.map.run(row, end - row);
                row += (run.end - run.start).max(1);
                summary.written(&run, None);
            }
        }
        set
    }

    fn change_mask(&self, change: impl FnOnce(&mut NullMask) -> Result<()>) -> Result<()> {
        match &self.mask {
            Some(mask) => change(&mut mask.write()),
            None => Ok(()),
        }
    }

    /// Returns the number of positions that the array has.
    pub fn positions(&self) -> u64 {
        self.array.shape().first().copied().unwrap_or(0)
    }

    /// Changes the number of positions.
    pub fn set_positions(&mut self, positions: u64) -> Result<()> {
        let (mut shape, before) = (self.array.shape().to_vec(), self.positions());
        match shape.first_mut() {
            Some(n) if *n != positions => *n = positions,
            _ => return Ok(()),
        }
        self.array.resize(&shape)?;
        if let Some(summary) = &mut self.summary {
            summary.written(&(before..positions), None);
        }
        Ok(())
    }

    /// Returns the first row that is not written yet.
    fn written(&self) -> u64 {
        self.map.rows() - self.pending.len() as u64 / self.row_bytes
    }

    /// Returns the box of these positions.
    fn rows_at(&self, positions: &Range<u64>) -> [Vec<u64>; 2] {
        let row = self.array.shape().get(1..).unwrap_or_default();
        let start = [&[positions.start], vec![0; row.len()].as_slice()].concat();
        let count = [&[positions.end - positions.start], row].concat();
        [start, count]
    }

    /// Writes these positions, which need not have rows.
    pub fn write_at(&mut self, positions: Range<u64>, src: &[u8]) -> Result<()> {
        if positions.end > self.positions() {
            self.set_positions(positions.end)?;
        }
        let [start, count] = self.rows_at(&positions);
        let written = self.array.write(&start, &count, None, src, None);
        if let Some(summary) = &mut self.summary {
            // part of them may be written
            summary.written(&positions, written.is_ok().then_some(src));
        }
        written
    }

    /// Reads positions, which need not have rows.
    pub fn read_positions(&self, first: u64, dst: &mut [u8]) -> Result<()> {
        let [start, count] = self.rows_at(&(first..first + dst.len() as u64));
        match self.array.read(&start, &count, None, dst, None)? {
            false => Ok(()),
            true => Err(fail!(
                Checksum,
                "{}: it is corrupt; repair the table before it is changed",
                self.name()
            )),
        }
    }

    /// Writes the rows that are pending.
    pub fn flush(&mut self) -> Result<()> {
        let (from, rows) = (self.written(), self.map.rows());
        if from == rows {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let written = self.write_at(self.map.run(from, rows - from), &pending);
        if written.is_err() {
            self.pending = pending;
        }
        written
    }

    fn chunk_rows(&self) -> u64 {
        self.array.chunkshape().first().copied().unwrap_or(1).max(1)
    }

    /// Appends rows. Those that complete a chunk are written at once, the others are pending.
    fn append_rows(&mut self, mut src: &[u8]) -> Result<()> {
        let row_bytes = self.row_bytes as usize;
        while !src.is_empty() {
            let (first, left) = (self.written(), (src.len() / row_bytes) as u64);
            let chunk = self.chunk_rows();
            let room = chunk - self.map.run(first, 1).start % chunk - self.pending_rows();
            let rows = match (left < room, self.pending.is_empty()) {
                (true, _) => left,
                (false, true) => room + (left - room) / chunk * chunk,
                (false, false) => room,
            };
            let (now, rest) = src.cut(rows as usize * row_bytes)?;
            if left < room || !self.pending.is_empty() {
                alloc::reserve(&mut self.pending, now.len())?;
                self.pending.extend_from_slice(now);
                self.map.grow(rows);
                if rows == room {
                    self.flush()?;
                }
            } else {
                self.map.grow(rows);
                self.write_at(self.map.run(first, rows), now)?;
            }
            src = rest;
        }
        Ok(())
    }

    fn pending_rows(&self) -> u64 {
        self.pending.len() as u64 / self.row_bytes
    }

    /// Keeps the first `rows` rows.
    fn keep(&mut self, rows: u64) {
        let pending = rows.saturating_sub(self.written()) * self.row_bytes;
        self.pending.truncate(pending as usize);
        self.map.truncate(rows);
    }

    /// Reads complete rows from `row` on until `dst` is full.
    fn read_rows(&self, row: u64, dst: &mut [u8]) -> Result<bool> {
        let written = self
            .written()
            .saturating_sub(row)
            .min(dst.len() as u64 / self.row_bytes);
        let (stored, pending) = dst.cut_mut((written * self.row_bytes) as usize)?;
        let from = (row + written).saturating_sub(self.written()) * self.row_bytes;
        let from = from as usize;
        if !pending.is_empty() {
            pending.copy_from_slice(self.pending.at(from..from + pending.len())?);
        }
        self.read_written(&self.map, row, stored)
    }

    /// Reads rows that are not pending.
    fn read_written(&self, map: &RowMap, mut row: u64, mut dst: &mut [u8]) -> Result<bool> {
        let mut damaged = false;
        while !dst.is_empty() {
            let run = map.run(row, dst.len() as u64 / self.row_bytes);
            let n = run.end - run.start;
            if n == 0 {
                return Err(fail!(State, "{}: row {row} has no position", self.name()));
            }
            let part = take_mut(&mut dst, (n * self.row_bytes) as usize)?;
            let [start, count] = self.rows_at(&run);
            damaged |= self.array.read(&start, &count, None, part, None)?;
            row += n;
        }
        Ok(damaged)
    }

    /// Overwrites complete rows from `row` on.
    fn write_rows(&mut self, mut row: u64, mut src: &[u8]) -> Result<()> {
        while !src.is_empty() {
            let (rows, written) = (src.len() as u64 / self.row_bytes, self.written());
            if let Some(from) = row.checked_sub(written) {
                let from = (from * self.row_bytes) as usize;
                self.pending
                    .at_mut(from..from + src.len())?
                    .copy_from_slice(src);
                return Ok(());
            }
            let run = self.map.run(row, rows.min(written - row));
            let n = run.end - run.start;
            let (now, rest) = src.cut((n * self.row_bytes) as usize)?;
            self.write_at(run, now)?;
            (row, src) = (row + n, rest);
        }
        Ok(())
    }

    fn is_whole(&self, bytes: &Range<u64>) -> bool {
        bytes.start == 0 && bytes.end >= self.row_bytes
    }

    /// Inserts rows. Those after them get new positions.
    fn insert_rows(&mut self, at: u64, src: &[u8]) -> Result<()> {
        let before = self.map.clone();
        let inserted = self.insert_before(&before, at, src);
        if inserted.is_err() {
            self.pending.clear();
            self.map = before;
        }
        inserted
    }

    fn insert_before(&mut self, before: &RowMap, at: u64, src: &[u8]) -> Result<()> {
        self.map.truncate_before_tail(at)?;
        self.append_rows(src)?;
        let piece = (PIECE / self.row_bytes).max(1);
        let mut row = at;
        while row < before.rows() {
            let n = piece.min(before.rows() - row);
            let mut rows = Scratch::new(n * self.row_bytes, self.limit, self.name())?;
            self.read_written(before, row, &mut rows)?;
            self.append_rows(&rows)?;
            row += n;
        }
        Ok(())
    }
}

impl CommitPart for ColumnWriter {
    fn map(&self) -> &RowMap {
        &self.map
    }

    fn set_mask(&mut self, mask: SharedMask) {
        self.mask = Some(mask);
    }

    fn mask(&self) -> Option<&SharedMask> {
        self.mask.as_ref()
    }

    fn update_summary(&mut self, positions: u64) -> Result<()> {
        let Some(summary) = &mut self.summary else {
            return Ok(());
        };
        let mut mask = self.mask.as_ref().map(SharedMask::write);
        let cleared = mask
            .as_mut()
            .map(|mask| mask.flush(positions))
            .transpose()?;
        summary.written(&cleared.unwrap_or(0..0), None);
        drop(mask);
        self.flush()?;
        self.set_positions(positions)?;
        let mask = self.mask.as_ref().map(SharedMask::read);
        let valid = |first, dst: &mut [u8]| match &mask {
            Some(mask) => mask.read_positions(first, dst),
            None => Ok(()),
        };
        match &mut self.summary {
            Some(summary) => summary.update(&self.array, &valid),
            None => Ok(()),
        }
    }

    fn prepare_commit(&mut self, positions: u64) -> Result<Vec<&mut Frame>> {
        self.flush()?;
        self.set_positions(positions)?;
        self.array.flush()?;
        let mut frames = Vec::new();
        if let Some(summary) = &mut self.summary {
            frames.push(frame_of(summary.entries())?);
        }
        frames.push(frame_of(&mut self.array)?);
        Ok(frames)
    }

    fn finish_commit(&mut self, valid: &Arc<ValidRows>) {
        self.map = RowMap::new(valid.clone());
    }
}

impl Store for ColumnWriter {
    fn name(&self) -> &str {
        self.array.store().name()
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
        self.map.rows().saturating_mul(self.row_bytes)
    }

    fn cbytes(&self) -> Result<u64> {
        self.array.cbytes()
    }

    fn chunk_span(&self, at: u64) -> Range<u64> {
        let chunk = self.chunk_bytes().max(1);
        let from = at / chunk * chunk;
        from..from.saturating_add(chunk)
    }

    fn chunk_bytes(&self) -> u64 {
        self.chunk_rows().saturating_mul(self.row_bytes)
    }

    fn block_bytes(&self) -> Option<u64> {
        None
    }

    fn pending_bytes(&self) -> u64 {
        self.pending.len() as u64
    }

    fn progress(&self) -> Option<&Progress> {
        self.array.progress()
    }

    fn file_threads(&self) -> usize {
        self.array.store().file_threads()
    }

    fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let (mut dst, mut damaged) = (dst, false);
        for (row, bytes) in split_rows(self.row_bytes, at, dst.len() as u64) {
            let part = take_mut(&mut dst, (bytes.end - bytes.start) as usize)?;
            if self.is_whole(&bytes) {
                damaged |= self.read_rows(row, part)?;
                continue;
            }
            let mut all = Scratch::new(self.row_bytes, self.limit, self.name())?;
            damaged |= self.read_rows(row, &mut all)?;
            part.copy_from_slice(all.at(bytes.start as usize..bytes.end as usize)?);
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

    fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        let (first, end) = (at / self.row_bytes, at + src.len() as u64);
        let rows = end.div_ceil(self.row_bytes).saturating_sub(first);
        self.change_mask(|mask| mask.set_valid(first, rows))?;
        let mut src = src;
        for (row, bytes) in split_rows(self.row_bytes, at, src.len() as u64) {
            let (part, rest) = src.cut((bytes.end - bytes.start) as usize)?;
            src = rest;
            if self.is_whole(&bytes) {
                self.write_rows(row, part)?;
                continue;
            }
            let mut all = Scratch::new(self.row_bytes, self.limit, self.name())?;
            self.read_rows(row, &mut all)?;
            all.at_mut(bytes.start as usize..bytes.end as usize)?
                .copy_from_slice(part);
            self.write_rows(row, &all)?;
        }
        Ok(())
    }

    fn splice(&mut self, splice: &Splice) -> Result<()> {
        let (at, gone) = (splice.at / self.row_bytes, splice.gone / self.row_bytes);
        self.flush()?;
        if gone > 0 {
            self.map.remove(at..at + gone, self.limit)?;
        }
        if !splice.src.is_empty() {
            self.insert_rows(at, splice.src)?;
        }
        let added = splice.src.len() as u64 / self.row_bytes;
        self.change_mask(|mask| mask.splice(at, gone, added))
    }

    fn append(&mut self, src: &[u8]) -> Result<()> {
        let rows = self.map.rows();
        let added = src.len() as u64 / self.row_bytes;
        let appended = self
            .append_rows(src)
            .and_then(|()| self.change_mask(|mask| mask.append(added)));
        if appended.is_err() {
            self.keep(rows);
            self.change_mask(|mask| mask.truncate(rows))?;
        }
        appended
    }

    fn truncate(&mut self, nbytes: u64) -> Result<()> {
        let rows = nbytes / self.row_bytes;
        self.keep(rows);
        self.change_mask(|mask| mask.truncate(rows))
    }

    fn can_have(&self, shape: &[u64]) -> Result<()> {
        match shape.get(1..) == self.array.shape().get(1..) {
            true => Ok(()),
            false => Err(fail!(
                Unsupported,
                "{}: the rows of a column have a fixed shape",
                self.name()
            )),
        }
    }

    fn set_shape(&mut self, _shape: &[u64]) -> Result<()> {
        Ok(())
    }

    fn attr_set(&mut self, name: &str, value: &[u8]) -> Result<()> {
        let mut attrs = self.attrs.clone();
        attrs.set(name, value)?;
        self.array.attr_set(name, &from_json(value))?;
        self.attrs = attrs;
        Ok(())
    }

    fn attr_remove(&mut self, name: &str) -> Result<()> {
        self.array.attr_remove(name)?;
        self.attrs.remove(name)
    }

    fn commit(&mut self) -> Result<()> {
        Err(fail!(
            State,
            "{}: a column of a table is committed with the table",
            self.name()
        ))
    }
}

/// Returns the frame of an array.
pub fn frame_of(array: &mut Array) -> Result<&mut Frame> {
    let store: &mut dyn Any = array.store_mut()?;
    store
        .downcast_mut()
        .ok_or_else(|| fail!(State, "the array is not stored in a frame"))
}
