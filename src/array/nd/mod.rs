//! Arrays of any number of dimensions, divided into chunks along each dimension, and chunks into
//! blocks.
//!
//! - [`chunk_grid`]: maps the index of an item to its chunk, its block and its offset.
//! - [`selection_parts`]: divides a selection at chunk and block boundaries.
//! - [`buffer_split`]: divides the caller's buffer into parts that several threads fill at once.
//! - [`read`]: reads boxes, lists of positions and single items.
//! - [`write`](mod@write): writes boxes and lists of positions.
//! - [`resize`]: changes the shape.
//!
//! The chunks themselves are accessed only through [`Chunks`](crate::superchunk::chunks::Chunks).

pub mod buffer_split;
pub mod chunk_grid;
pub mod read;
pub mod resize;
pub mod selection_parts;
#[cfg(test)]
mod tests;
pub mod write;

pub use chunk_grid::ChunkGrid;
