//! The mask of the nulls of a column that is open for writing: a byte per row, 0 for a null. A column
//! that never had a null has none.
#![forbid(unsafe_code)]

use super::column_writer::ColumnWriter;
use super::commit_part::CommitPart;
use super::row_map::RowMap;
use super::valid_rows::ValidRows;
use crate::alloc;
use crate::array::store::Store;
use crate::array::{Array, NewTiled};
use crate::error::{Result, fail};
use crate::io::journal::Session;
use crate::options::{Opt, Options};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Splice;
use crate::superchunk::frame::Frame;
use crate::table::NullRule;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Positions that are written at once where there are no rows.
const PIECE: usize = 1 << 20;

/// A mask that a column and the rule of its nulls share.
#[derive(Clone)]
pub struct SharedMask(Arc<RwLock<NullMask>>);

/// The mask of one column.
pub struct NullMask {
    session: Arc<Session>,
    file: OsString,
    options: Options,
    rows: Option<ColumnWriter>,
    /// The position after the last one that had a row since the last commit.
    used: u64,
}

impl SharedMask {
    /// Creates the mask of a column. `stored` is the one that exists, and the positions of its rows.
    pub fn new(
        session: &Arc<Session>,
        file: OsString,
        options: &Options,
        stored: Option<(Array, RowMap)>,
    ) -> Result<SharedMask> {
        let limit = options.memory_limit();
        let rows = stored.map(|(array, map)| ColumnWriter::new(array, map, limit));
        Ok(SharedMask(Arc::new(RwLock::new(NullMask {
            session: session.clone(),
            file,
            options: options.clone(),
            rows: rows.transpose()?,
            used: 0,
        }))))
    }

    /// Returns the rule of the nulls of the column.
    pub fn rule(&self) -> NullRule {
        let mask = self.clone();
        NullRule::Written {
            read: Arc::new(move |first, dst| mask.read().read_rows(first, dst)),
            start: 0,
            step: 1,
        }
    }

    /// Returns the mask for a change.
    pub fn write(&self) -> RwLockWriteGuard<'_, NullMask> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the mask for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, NullMask> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NullMask {
    /// Reads a byte for each row from `first` on.
    pub fn read_rows(&self, first: u64, dst: &mut [u8]) -> Result<()> {
        match &self.rows {
            Some(rows) => Store::read(rows, first, dst).map(|_| ()),
            None => {
                dst.fill(1);
                Ok(())
            }
        }
    }

    /// Adds rows that are not null.
    pub fn append(&mut self, n: u64) -> Result<()> {
        match &mut self.rows {
            Some(rows) => rows.append(&valid(n)?),
            None => Ok(()),
        }
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: u64) -> Result<()> {
        let Some(mask) = &mut self.rows else {
            return Ok(());
        };
        self.used = self.used.max(mask.map().end());
        mask.truncate(rows)
    }

    /// States that rows are not null.
    pub fn set_valid(&mut self, first: u64, n: u64) -> Result<()> {
        match &mut self.rows {
            Some(rows) => Store::write(rows, first, &valid(n)?),
            None => Ok(()),
        }
    }

    /// Removes `gone` rows from `at` on, and inserts `added` that are not null.
    pub fn splice(&mut self, at: u64, gone: u64, added: u64) -> Result<()> {
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        self.used = self.used.max(rows.map().end());
        let src = valid(added)?;
        rows.splice(&Splice {
            at,
            every: rows.nbytes(),
            times: 1,
            gone,
            src: &src,
        })
    }

    /// States which rows from `first` on are null. Creates the mask of a column with these rows if
    /// there is none.
    pub fn set_nulls(&mut self, map: &RowMap, first: u64, nulls: &[bool]) -> Result<()> {
        if self.rows.is_none() {
            if !nulls.contains(&true) {
                return Ok(());
            }
            self.rows = Some(self.all_valid(map)?);
        }
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        let mut bytes = alloc::with_capacity(nulls.len())?;
        bytes.extend(nulls.iter().map(|null| u8::from(!null)));
        Store::write(rows, first, &bytes)
    }

    /// Creates a mask in which no row is null.
    fn all_valid(&self, map: &RowMap) -> Result<ColumnWriter> {
        let new = NewTiled {
            dtype: "|b1",
            shape: &[map.end()],
            chunks: Some(&[super::writer::CHUNK_ROWS]),
            blocks: None,
            caterva: false,
        };
        let mut options = self.options.clone();
        options.set_bytes(Opt::Fill, &[1])?;
        let array = Array::create_member(&self.session, &self.file, &new, &options)?;
        ColumnWriter::new(array, map.clone(), self.options.memory_limit())
    }

    /// Writes all rows, of `positions` positions. Returns positions without rows whose nulls were
    /// removed.
    pub fn flush(&mut self, positions: u64) -> Result<Range<u64>> {
        let Some(rows) = &mut self.rows else {
            return Ok(0..0);
        };
        rows.flush()?;
        // new positions are null
        if positions > rows.positions() {
            self.used = self.used.max(positions);
        }
        rows.set_positions(positions)?;
        // python-blosc2 does not write the mask for new rows that are not null
        let (free, free_end) = (rows.map().end(), self.used.min(rows.positions()));
        for from in (free..free_end).step_by(PIECE) {
            let n = (free_end - from).min(PIECE as u64);
            rows.write_at(from..from + n, &valid(n)?)?;
        }
        Ok(free..free_end.max(free))
    }

    /// Reads a byte for each position from `first` on that the column has.
    pub fn read_positions(&self, first: u64, dst: &mut [u8]) -> Result<()> {
        dst.fill(1);
        let Some(rows) = &self.rows else {
            return Ok(());
        };
        let n = rows.positions().saturating_sub(first).min(dst.len() as u64);
        rows.read_positions(first, dst.at_mut(..n as usize)?)
    }

    /// Returns the frame of the mask, with all rows, if there is one.
    pub fn prepare_commit(&mut self, positions: u64, count: u64) -> Result<Vec<&mut Frame>> {
        self.flush(positions)?;
        let Some(rows) = &mut self.rows else {
            return Ok(Vec::new());
        };
        if rows.map().rows() != count {
            return Err(fail!(
                State,
                "{}: the mask of nulls has {} rows (the table has {count}); open the table again",
                rows.name(),
                rows.map().rows()
            ));
        }
        rows.prepare_commit(positions)
    }

    /// Continues with the rows of the commit.
    pub fn finish_commit(&mut self, valid: &Arc<ValidRows>) {
        if let Some(rows) = &mut self.rows {
            rows.finish_commit(valid);
        }
        self.used = 0;
    }
}

/// Returns the mask of `n` rows that are not null.
fn valid(n: u64) -> Result<Vec<u8>> {
    let mut ones = alloc::zeroed(n as usize)?;
    ones.fill(1);
    Ok(ones)
}
