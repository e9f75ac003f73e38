//! Arrow: tables and bags as streams of batches in the memory layout that query engines share, and
//! such streams into tables.
//!
//! - [`format`](mod@format): Arrow's types, as its C interface spells them, and fields that have
//!   names.
//! - [`times`]: the units of times there and here.
//! - [`data`]: batches of ours.
//! - [`export`]: the bytes of a column as Arrow has them.
//! - [`stream`]: a table, or a bag, batch by batch.
//! - [`import`]: the values of others as the bytes of a column.
//! - [`append`]: a stream of others as rows of a table.
//! - [`ffi`]: the C interface, the one place with unsafe code.
//!
//! This layer knows types and memory. It knows nothing of engines, and of files just what a table
//! tells.

pub mod append;
pub mod data;
pub mod export;
#[allow(unsafe_code)]
pub mod ffi;
pub mod format;
pub mod import;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod times;
