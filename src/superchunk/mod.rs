//! Superchunks: a run of Blosc chunks in one file, or in a folder.
//!
//! - [`any`]: one of either kind.
//! - [`bloscpack`]: the files of the tool of that name.
//! - [`buffers`]: what held encoded chunks, used again.
//! - [`chunks`]: chunks of one length, as arrays want them.
//! - `gather`: content that is appended, or read from beginning to end, in either.
//! - [`frame`]: the frames of c-blosc2, in one file or in a folder.
//!
//! This layer knows no shapes and no types.

pub mod any;
pub mod bloscpack;
pub mod buffer_pool;
pub mod chunks;
pub mod frame;
mod staging;
