//! The frames of c-blosc2: a run of chunks of one length, an index that says where each is, and metadata, in one file
//! or in a folder with a file a chunk.
//!
//! - [`header`], [`metalayers`], [`index`], [`trailer`]: the parts of a frame, from bytes and back to the same bytes.
//! - [`seal`]: what tells whether these parts are damaged.
#![forbid(unsafe_code)]

pub mod header;
pub mod index;
#[cfg(test)]
mod layout_tests;
pub mod metalayers;
mod msgpack;
pub mod seal;
pub mod trailer;
