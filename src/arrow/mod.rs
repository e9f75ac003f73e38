//! Arrow: exports tables and bags as streams of record batches, and appends such streams to tables.
//!
//! - [`format`](mod@format): Arrow types as format strings of the C data interface, and named
//!   fields.
//! - [`times`]: conversion between the time units of NumPy and Arrow.
//! - [`data`]: the buffers and arrays of exported batches.
//! - [`export`]: converts the bytes of a column to Arrow arrays.
//! - [`packed`]: converts values in MessagePack to Arrow arrays.
//! - [`table_columns`]: reads rows of columns of a table as a batch.
//! - [`batch_source`]: a source of batches; [`table_source`]: a table; [`bag_source`]: a bag.
//! - [`import`]: converts Arrow arrays to the bytes of a column.
//! - [`append`]: appends an Arrow stream to a table; [`create`]: creates a table of one.
//! - [`ffi`]: the C data interface, and [`exported_stream`]: the functions of an exported stream;
//!   the only modules here with unsafe code.
//!
//! This layer handles types and memory. It does not depend on query engines, and it accesses files
//! only through tables and bags.

pub mod append;
pub mod bag_source;
pub mod batch_source;
pub mod create;
pub mod data;
pub mod export;
#[allow(unsafe_code)]
pub mod exported_stream;
#[allow(unsafe_code)]
pub mod ffi;
pub mod format;
pub mod import;
pub mod packed;
pub mod table_columns;
pub mod table_source;
#[cfg(test)]
mod tests;
pub mod time_units;
