//! Arrays: what the items of a superchunk are, and how they lie in a grid.
//!
//! - [`literal`]: Python's notation of constants, in which NumPy's types are stored.
//! - [`dtype`]: those types.
//! - [`numpy_meta`]: the metadata by which Bloscpack marks a file as an array.
//! - [`selection`]: which bytes of the content go where in a buffer.
//! - [`grid`]: what is asked for of an array, as such a selection.
//! - [`shapes`]: how long chunks and blocks are where nobody has said it.
//! - [`store`]: what holds the content. [`attrs`]: what stands beside it, in each format.
//! - [`content`]: the content of an array, and the one engine that moves selections of it.
//! - [`metalayer`]: what marks a Blosc2 frame as an array.
//! - `rows`: arrays whose items stand in one run, Bloscpack files among them.
//! - `tiled`: those in Blosc2 frames. `frame`: frames as what holds an array.
//! - `either`: the [`Array`] of both kinds.
//! - [`nd`]: arrays that are cut into chunks along each dimension.
//!
//! This layer knows items, shapes and types. It does not know how a superchunk is stored, and never
//! runs or builds what a file describes.

mod any;
pub mod attrs;
pub mod content;
#[cfg(test)]
mod damage_tests;
pub mod default_shapes;
#[cfg(test)]
mod disk_tests;
pub mod dtype;
mod frame;
#[cfg(test)]
mod frame_disk_tests;
pub mod grid;
pub mod metalayer;
pub mod nd;
pub mod numpy_meta;
pub mod python_literal;
mod rows;
pub mod selection;
pub mod store;
mod tiled;

pub use any::Array;
pub use tiled::{NewTiled, verify};
