//! Reads and writes chunked, compressed containers of the Blosc and Bagz families.
//!
//! | type | content | formats |
//! | --- | --- | --- |
//! | [`Bag`], [`BagWriter`], [`BagIndex`] | records of any length | Bagz |
//! | [`Array`] | items of one dtype in up to 16 dimensions | b2nd, Caterva, bcolz, BLZ, Bloscpack |
//! | [`Table`] | named columns of equal length | bcolz, BLZ |
//! | [`Schunk`] | bytes in compressed chunks | Bloscpack, Blosc2 frames |
//!
//! [`verify`], [`repair`] and [`identify`] take a path of any of these. [`Options`] select codec,
//! checksums, threads and the like; a [`Location`] is a path, bytes in memory, or a [`Storage`] of
//! the caller. Tables and bags are read as Arrow record batches ([`ArrowReader`]), tables written
//! from them ([`Table::append_arrow`]). A [`Stream`] reads records of a bag ahead, in the order of a
//! shuffled [`Epoch`] or any other.
//!
//! The library guarantees four properties:
//!
//! - A crash at any point leaves the last commit intact.
//! - Corruption inside a checksummed region is always reported as an error.
//! - Untrusted files cannot harm the process: invalid bytes are an error.
//! - Reads touch only the chunks and blocks that they need, in parallel.
//!
//! # A first program
//!
//! ```
//! use holdall::{Array, ArrayLayout, Bag, BagWriter, Codec, Format, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = std::env::temp_dir().join(format!("holdall-doc-start-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir)?;
//! // records: nothing is visible before the commit, everything after it
//! let path = dir.join("lines.bagz");
//! let mut writer = BagWriter::create(&path, &Options::new())?;
//! for i in 0..1000 {
//!     writer.append(format!("line {i}").as_bytes())?;
//! }
//! writer.commit()?;
//!
//! let bag = Bag::open(&path)?;
//! assert_eq!(bag.get(500)?, b"line 500");
//! let bytes: usize = bag.read_range(990..)?.iter().map(<[u8]>::len).sum();
//! assert_eq!(bytes, 80);
//!
//! // an array of 200 x 300 numbers, of which a box is written and a row is read
//! let path = dir.join("field.b2nd");
//! let options = Options::new().codec(Codec::Zstd);
//! let layout = ArrayLayout::new(Format::B2nd);
//! let mut array = Array::create(&path, "<f4", &[200, 300], &layout, &options)?;
//! array.write([10..20, 0..2], &[1.5f32; 20])?;
//! array.commit()?;
//!
//! let mut row = vec![0f32; 300];
//! Array::open(&path)?.read([15..16, 0..300], &mut row)?;
//! assert_eq!(row[..3], [1.5, 1.5, 0.0]);
//! # drop((writer, array));
//! # std::fs::remove_dir_all(dir)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! All calls return [`Result`]: an [`Error`] has a [`Status`] and a message that names the file, what
//! was expected and what was found. The crate never panics on content of a file.
//!
//! # Threads
//!
//! Many threads may read through one value at once: containers, indexes and streams are `Send` and
//! `Sync`. Changes need `&mut`. What belongs to one thread at a time, a [`BagWriter`] and the Arrow
//! types, is `Send`. Calls use several threads themselves if that is faster ([`Options::threads`]).
//!
//! # Features
//!
//! - `cloud`: paths may name objects in `gs://`, `s3://`, `az://` and `http(s)://`.
//!
//! The same library has a C API, `holdall.h`, with bindings for other languages.
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

/// The engine. Private, so that the compiler finds dead code in it; `docs/architecture.md` says
/// which module may use which.
#[path = ""] // its modules are in src/
mod engine {
    #[allow(unsafe_code)]
    pub mod alloc;
    pub mod array;
    pub mod arrow;
    pub mod arrow_ipc;
    pub mod bag;
    pub mod blosc;
    pub mod cache;
    // constants of the C header have no use in Rust
    #[allow(unsafe_code, dead_code)]
    pub mod capi;
    pub mod checksum;
    pub mod dataset;
    pub mod dtype;
    pub mod error;
    pub mod format;
    pub mod identify;
    pub mod io;
    pub mod json;
    pub mod msgpack;
    pub(crate) mod offsets;
    pub mod options;
    pub(crate) mod os;
    pub(crate) mod panics;
    pub mod parallel;
    pub mod parts;
    pub mod progress;
    pub mod repair;
    pub(crate) mod slice;
    pub mod splits;
    pub mod store;
    pub mod superchunk;
    pub mod table;
    pub mod verify;
    pub mod watch;
    #[allow(unsafe_code)]
    pub mod zdict;
    pub mod zlib;
}

#[cfg(not(feature = "internals"))]
use engine::*;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use engine::*;

mod api;
pub use api::*;

/// Compiles the Rust program of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
