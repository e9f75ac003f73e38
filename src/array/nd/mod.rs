//! Arrays of any number of dimensions, divided into chunks along each dimension, and chunks into
//! blocks.
//!
//! - [`tiles`]: maps the index of an item to its chunk, its block and its offset.
//! - [`cells`]: divides a selection at chunk and block boundaries.
//! - [`units`]: divides the caller's buffer into parts that several threads fill at once.
//! - [`read`]: reads boxes, lists of positions and single items.
//! - [`write`](mod@write): writes boxes and lists of positions.
//! - [`resize`]: changes the shape.
//!
//! The chunks themselves are accessed only through [`Chunks`](crate::superchunk::chunks::Chunks).

pub mod buffer_split;
pub mod partition;
pub mod read;
pub mod resize;
#[cfg(test)]
mod tests;
pub mod tiles;
pub mod write;

pub use tiles::Tiles;
