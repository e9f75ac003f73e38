//! The exported C functions. Each checks its arguments, catches panics, and calls one Rust
//! function; the logic is elsewhere. The header include/holdall.h is generated from these comments.
#![allow(clippy::missing_safety_doc, non_camel_case_types)]

pub mod array;
pub mod arrow;
pub mod bag;
pub mod checksum;
mod constants;
pub mod container;
pub mod guard;
mod handles;
pub mod index;
pub mod options;
pub mod part;
pub mod schunk;
pub mod schunk_stream;
pub mod storage;
pub mod store;
pub mod stream;
mod structs;
pub mod table;
