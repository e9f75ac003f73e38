//! Datasets: folders that hold an array, as written by bcolz and BLZ and as described in the BLZ
//! RFC.
//!
//! - [`folder`]: a folder of a dataset and the paths in it, none of which can lead out of it.
//! - [`meta`]: the contents of `meta/sizes` and `meta/storage`; [`yaml`]: the same files where they
//!   are not JSON; [`fill_value`]: the default value; [`precision`]: truncated floats.
//! - [`attrs`]: user attributes; [`text_checksum`]: the checksum of the small metadata files;
//!   [`meta_files`]: further files in `meta/`.
//! - [`chunk_file`]: a file with one chunk; [`superchunks`]: the BLZ RFC files with many chunks.
//! - [`chunks`]: the items of an array in either kind of file; [`fields`]: items whose fields are
//!   stored in folders of their own.
//! - [`array`], [`open`]: the array built on these parts; [`any`]: arrays in this and all other
//!   formats.
//! - [`edit`]: pending changes; [`commit`]: makes them durable and visible; [`create`]: the
//!   metadata of a new dataset; [`like`]: what it takes over from another one; [`repair`],
//!   [`repair_blz_rfc`]: recovery of a corrupt dataset.
//!
//! `meta/sizes` is the record of the last commit. Rows beyond it are ignored, whatever other files
//! are in the folder. A chunk file is opened when its content is first requested. Python objects
//! are returned as the bytes that are stored and are never decoded.

pub mod any;
pub mod array;
pub mod attrs;
pub mod chunk_file;
pub mod chunks;
pub mod commit;
pub mod create;
pub mod edit;
pub mod fields;
pub mod fill_value;
pub mod folder;
pub mod like;
pub mod meta;
pub mod meta_files;
pub mod open;
pub mod precision;
pub mod repair;
pub mod repair_blz_rfc;
pub mod superchunks;
#[cfg(test)]
mod tests;
pub mod text_checksum;
pub mod yaml;
