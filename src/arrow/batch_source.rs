//! Sources of batches for Arrow streams. A source owns a reference to its container, so it stays
//! valid after the handle is closed.
#![forbid(unsafe_code)]

use super::data::Data;
use super::format::Field;
use crate::error::Result;

/// Approximate number of bytes of a batch, if the caller does not set the number of rows.
pub(super) const BATCH_BYTES: u64 = 16 << 20;

/// A source of batches.
pub trait Source: Send {
    /// Returns the schema of all batches.
    fn schema(&self) -> &Field;
    /// Returns the next batch, or `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Data>>;
}
