//! Chunked, compressed containers of the Blosc and Bagz families, read and written.
//!
//! This is the Rust side of the library; C programs use `holdall.h`. Layers, each using only those
//! before it: [`error`], [`alloc`], [`io`], [`zlib`], [`checksum`], [`parallel`], [`options`],
//! [`blosc`], [`bag`], [`capi`].
#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

#[allow(unsafe_code)]
pub mod alloc;
pub mod array;
pub mod arrow;
pub mod bag;
pub mod blosc;
pub mod cache;
#[allow(unsafe_code)]
pub mod capi;
pub mod checksum;
pub mod dataset;
pub mod error;
pub mod identify;
pub mod io;
pub mod json;
pub mod options;
pub(crate) mod os;
pub mod parallel;
pub mod repair;
pub mod superchunk;
pub mod table;
pub mod verify;
pub mod zlib;

pub use error::{Error, Result, Status};
