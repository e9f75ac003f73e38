//! The C functions: each checks its arguments, stops panics, and calls one Rust function. No logic
//! is here. The comments are the manual for C programmers: the header is generated from them.
#![allow(clippy::missing_safety_doc, non_camel_case_types)]

pub mod array;
pub mod arrow;
pub mod bag;
pub mod common;
pub mod guard;
mod handles;
pub mod index;
pub mod io;
pub mod options;
pub mod schunk;
pub mod stream;
pub mod table;
