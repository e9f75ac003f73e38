//! What a commit of a CTable needs of a column that is open for writing.
#![forbid(unsafe_code)]

use super::column_writer::ColumnWriter;
use super::null_mask::SharedMask;
use super::row_map::RowMap;
use super::text_writer::TextWriter;
use super::valid_rows::ValidRows;
use crate::array::Array;
use crate::error::{Result, fail};
use crate::superchunk::frame::Frame;
use std::any::Any;
use std::sync::Arc;

/// A column that is committed with others.
pub trait CommitPart {
    /// Returns the positions of the rows.
    fn map(&self) -> &RowMap;
    /// Sets the mask of the nulls of the rows.
    fn set_mask(&mut self, mask: SharedMask);
    /// Returns the mask of the nulls of the rows.
    fn mask(&self) -> Option<&SharedMask>;
    /// Brings the extrema of the blocks up to date, where they are stored, with `positions` positions.
    fn update_summary(&mut self, _positions: u64) -> Result<()> {
        Ok(())
    }
    /// Writes all rows, in frames for `positions` positions. Returns the frames.
    fn prepare_commit(&mut self, positions: u64) -> Result<Vec<&mut Frame>>;
    /// Continues with the rows of the commit.
    fn finish_commit(&mut self, valid: &Arc<ValidRows>);
}

/// Returns the part of a column in commits.
pub fn part_of(array: &mut Array) -> Result<&mut dyn CommitPart> {
    let store: &dyn Any = array.store_mut()?;
    match store.is::<TextWriter>() {
        true => store_of::<TextWriter>(array).map(|part| part as _),
        false => store_of::<ColumnWriter>(array).map(|part| part as _),
    }
}

/// Returns the store of a column that is open for writing.
pub fn store_of<S: Any>(array: &mut Array) -> Result<&mut S> {
    let store: &mut dyn Any = array.store_mut()?;
    store
        .downcast_mut()
        .ok_or_else(|| fail!(State, "the column is not open for writing"))
}
