//! Arrays, files of NumPy, and what arrays and tables (datasets) share.

pub mod attributes;
pub mod cat;
pub mod coding;
pub mod convert;
pub mod files;
pub mod grid;
pub mod info;
pub mod npy;
pub mod pack;
pub mod selection;
