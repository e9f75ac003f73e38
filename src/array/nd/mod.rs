//! Arrays of any number of dimensions, cut into chunks along each of them, and chunks into blocks.
//!
//! - [`tiles`]: where an item is: its chunk, its block, its place there.
//! - [`cells`]: what is wanted of an array, chunk by chunk and block by block.
//! - [`units`]: the caller's buffer, cut into parts that several threads fill at once.
//! - [`read`]: boxes, lists of positions, single items.
//! - [`write`](mod@write): the same, the other way.
//! - [`change`]: another shape.
//!
//! All that is known of the chunks themselves is [`Chunks`](crate::superchunk::chunks::Chunks).

pub mod cells;
pub mod read;
pub mod resize;
#[cfg(test)]
mod tests;
pub mod tiles;
pub mod units;
pub mod write;

pub use tiles::Tiles;
