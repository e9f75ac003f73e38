//! Superchunks: sequences of Blosc chunks in one file or in a folder.
//!
//! - [`any`]: a superchunk in either format.
//! - [`bloscpack`]: Bloscpack files.
//! - [`frame`]: Blosc2 frames, in one file or in a folder.
//! - [`block_checksums`]: checksums of the blocks of a chunk.
//! - [`chunk_in_file`]: the bytes of a chunk in a file.
//! - [`chunks`]: the trait through which arrays read and write chunks of equal size.
//! - [`open_chunk`]: an open chunk of a file, and the caches of open chunks and of decoded blocks.
//! - [`buffer_pool`]: reusable buffers for encoded chunks.
//! - `staging`: buffering of appended content, and sequential reads in pieces.
//!
//! This layer does not know array shapes or data types.

pub mod any;
pub mod block_checksums;
pub mod bloscpack;
pub mod buffer_pool;
pub mod chunk_in_file;
pub mod chunks;
pub mod frame;
pub mod open_chunk;
mod staging;
