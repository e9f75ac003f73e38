//! Rows that are collected until there are enough to hand them on.

use super::frame::{Batch, Column, Frame};
use crate::failure::{Failure, Result};
use crate::signals;
use crate::superchunk::source::resize;

/// Takes a batch of rows.
pub type Take<'a> = dyn FnMut(&Batch) -> Result + 'a;

pub struct Collector<'f, 't> {
    pub frame: &'f Frame,
    take: &'t mut Take<'t>,
    /// The bytes of each column, of `room` rows.
    columns: Vec<Vec<u8>>,
    room: usize,
    rows: usize,
}

impl<'f, 't> Collector<'f, 't> {
    /// `rows`: how many come, if that is known.
    pub fn new(frame: &'f Frame, rows: u64, take: &'t mut Take<'t>) -> Result<Collector<'f, 't>> {
        let room = frame.batch_rows(rows);
        let mut columns = vec![Vec::new(); frame.columns.len()];
        for (bytes, column) in columns.iter_mut().zip(&frame.columns) {
            resize(bytes, column.size.saturating_mul(room))?;
        }
        Ok(Collector { frame, take, columns, room, rows: 0 })
    }

    /// A column, and the bytes of its items in the next row.
    pub fn slot(&mut self, column: usize) -> (&'f Column, &mut [u8]) {
        let of = &self.frame.columns[column];
        let at = self.rows * of.size;
        (of, &mut self.columns[column][at..at + of.size])
    }

    /// Ends a row. Rows are handed on when there is no room for another one.
    pub fn next_row(&mut self) -> Result {
        self.rows += 1;
        if self.rows < self.room {
            return Ok(());
        }
        self.hand_on()
    }

    /// Hands on what was collected.
    pub fn hand_on(&mut self) -> Result {
        if self.rows > 0 {
            let bytes = self.columns.iter().zip(&self.frame.columns);
            let columns = bytes.map(|(bytes, column)| &bytes[..self.rows * column.size]);
            (self.take)(&Batch { rows: self.rows, columns: columns.collect() })?;
            self.rows = 0;
        }
        if signals::stopped() {
            return Err(Failure::Stopped);
        }
        Ok(())
    }
}
