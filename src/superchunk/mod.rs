//! Superchunks: a run of Blosc chunks in one file.
//!
//! [`bloscpack`] holds the files of the tool of that name. This layer knows no shapes and no types.

pub mod bloscpack;
