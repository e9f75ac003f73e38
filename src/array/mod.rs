//! N-dimensional arrays: shapes, and how items map to the bytes of a superchunk.
//!
//! - [`selection`]: plans that map byte ranges of the content to byte ranges of a buffer.
//! - [`grid`]: checks the index arguments of a call and turns them into such plans.
//! - [`default_shapes`]: default shapes of chunks and blocks.
//! - [`store`]: the trait of everything that stores the content of an array.
//! - [`msgpack_json`]: conversion of attributes between JSON and MessagePack.
//! - [`filled_content`]: a store, and the fill value for items that were never written.
//! - `transfer`: reads and writes plans over such a content.
//! - [`metalayer`]: the metalayers `b2nd` and `caterva`, which mark a Blosc2 frame as an array.
//! - `linear`: arrays over a linear run of items, such as Bloscpack files.
//! - `tiled`: arrays in Blosc2 frames.
//! - `chunked`: arrays in other stores with chunks along every dimension.
//! - `frame_store`: the [`store`] implementation of Blosc2 frames.
//! - `any`: [`Array`], which wraps all kinds.
//! - `checksum`: the checksum of the content of an array.
//! - `view`: read-only views of a box of an array, its slices.
//! - `new_location`: where a new array or table is created.
//! - [`nd`]: the engine for arrays that are chunked along every dimension.
//!
//! This layer knows items, shapes and types. It does not know how a superchunk is stored. It never
//! evaluates or executes what a file describes.

mod any;
mod boxes;
mod checksum;
mod chunked;
pub mod default_shapes;
pub mod filled_content;
mod frame_store;
pub mod grid;
mod linear;
pub mod metalayer;
pub mod msgpack_json;
pub mod nd;
mod new_location;
mod paste;
pub mod selection;
pub mod splits;
pub mod store;
#[cfg(test)]
mod tests;
mod tiled;
mod transfer;
mod transposition;
mod view;

pub use any::Array;
pub use chunked::ChunkedStore;
pub use new_location::NewLocation;
pub use tiled::{NewTiled, verify, verify_in};
