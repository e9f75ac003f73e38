//! Reads and writes chunked, compressed containers of the Blosc and Bagz families.
//!
//! This crate implements the library; C programs use it through `holdall.h`. The table of layers in
//! `docs/architecture.md` says which module may use which.
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
pub mod dtype;
pub mod error;
pub mod format;
pub mod identify;
pub mod io;
pub mod json;
pub mod options;
pub(crate) mod os;
pub mod parallel;
pub mod repair;
pub(crate) mod slice;
pub mod superchunk;
pub mod table;
pub mod verify;
pub mod zlib;

pub use error::{Error, Result, Status};
