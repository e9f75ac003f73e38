//! Rows: the items of tables and arrays as text, and text as rows.

pub mod append;
pub mod arrow;
pub mod cat;
mod columns;
pub mod compression;
pub mod convert;
mod csv;
mod extended;
mod feed;
pub mod frame;
mod guess;
mod jsonl;
mod load;
mod packed;
pub mod parse;
pub mod print;
pub mod printer;
pub mod target;
mod text;
mod times;
