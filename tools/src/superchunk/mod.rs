//! Superchunks: the commands for a byte sequence in compressed chunks.

pub mod append;
pub mod cat;
pub mod convert;
pub mod pack;
pub mod packing;
pub mod source;
pub mod unpack;
