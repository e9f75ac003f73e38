//! c-blosc2 frames: chunks of equal or variable length, an index with the position of each chunk,
//! and metadata, in one file (contiguous) or in a folder with one file per chunk (sparse).
//!
//! The modules, each of which uses only those that are listed before it:
//!
//! - `msgpack`, [`metalayers`], `vlmeta`, [`trailer`], [`header`]: parse and encode the parts of a
//!   frame; encoding a parsed part gives the same bytes.
//! - `checksums`: the metalayer with the checksums of the chunks.
//! - [`part_checksum`]: the CRC-32s that detect corruption of header, index and trailer.
//! - [`chunk`]: an open chunk. [`index`]: the position of each chunk, and its entry.
//! - `parts`: header, index and trailer of one commit together.
//! - [`storage`]: the names of the files. `options`: the options of frames.
//! - `tail_pair`: two tails of a long frame, which small commits write alternately.
//! - `recover`: reconstructs header, index and trailer of a corrupt frame.
//! - `layout`, `files`, `read`: a `FrameReader` consists of a `FrameLayout` (header, entries,
//!   metalayers), of `FrameFiles` (open files, last commit, session) and of caches.
//! - `verify`, `encode`: verification by a reader, and the encoder of chunks.
//! - `write`: a `FrameWriter` consists of a reader and of what changed since the last commit.
//!   `write_parallel`, `edit`, `meta`, `small_commit`, `commit`: its operations.
//! - `open`, `create`, `repair`: open readers and writers. `detect`: distinguishes frames from
//!   other formats.
//! - `handle`: a [`Frame`] is a reader or a writer. `content`, `copy`: its operations.
//! - `group`: commits of several frames together.
//! - `chunks`: implements the `Chunks` trait, through which arrays use a frame.
//!
//! A writer never overwrites data of the last commit, except the header. It writes new chunks after
//! all committed data, or to the room that a pair of tails has; they become visible with the header
//! of the next commit.
#![forbid(unsafe_code)]

mod checksums;
mod chunks;
mod commit;
mod content;
mod copy;
mod create;
mod detect;
mod edit;
mod encode;
mod files;
mod group;
mod handle;
pub mod header;
pub mod in_store;
pub mod index;
mod layout;
mod meta;
pub mod metalayers;
mod msgpack;
mod open;
mod options;
pub mod part_checksum;
mod parts;
mod proxy;
mod read;
mod read_ahead;
mod recover;
mod repair;
mod small_commit;
pub mod storage;
mod tail_pair;
#[cfg(test)]
mod tests;
pub mod trailer;
mod verify;
mod vlmeta;
mod write;
mod write_parallel;

pub use create::NewFrame;
pub use detect::{for_opening, header_at, header_in, is_at, is_frame, take_requested_params};
pub use group::{commit_all, create_all};
pub use handle::Frame;
pub use options::requests_encoding;
pub use proxy::Proxy;
pub use repair::repair;
#[cfg(any(test, feature = "internals"))]
pub use repair::repair_in;
