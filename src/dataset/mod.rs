//! Datasets: folders with an array in them, as bcolz and BLZ write them and as the papers on both
//! describe them.
//!
//! - [`place`]: names in such a folder, none of which leads out of it.
//! - [`meta`]: what `meta/sizes` and `meta/storage` say; [`yaml`]: where they are no JSON;
//!   [`fill`]: their default value.
//! - [`attrs`]: what users put beside the array; [`seal`]: what tells that any of these files is
//!   damaged.
//! - [`chunk`]: a file with one chunk; [`superchunks`]: the papers' files with many.
//! - [`chunks`]: the items of an array, in either; [`fields`]: items whose fields stand in folders
//!   of their own.
//! - [`array`], [`open`]: the array over all that; [`any`]: arrays in these formats and all others.
//! - [`edit`]: changes that wait; [`commit`]: how they come to count; [`create`]: what a new
//!   dataset says of itself; [`repair`]: what can be made of a damaged one.
//!
//! Only what `meta/sizes` counts is there, whatever else lies in the folder: it is the record of
//! the last commit. Chunk files are opened when something in them is wanted. Objects of Python's
//! are bytes here, and stay so.

pub mod any;
pub mod array;
pub mod attrs;
#[cfg(test)]
mod cache_tests;
pub mod chunk_file;
pub mod chunks;
pub mod commit;
pub mod create;
pub mod edit;
pub mod fields;
pub mod fill_value;
pub mod folder;
pub mod meta;
pub mod open;
pub mod repair;
pub mod repair_blz_rfc;
pub mod superchunks;
#[cfg(test)]
mod tests;
pub mod text_checksum;
pub mod yaml;
