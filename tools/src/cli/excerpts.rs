//! Commands that describe a container, or print a part of it, in short form.

use super::Cat;
use super::groups::{self, Order, Output, Reading, Select, Source};
use super::values::{self, DataFormat};
use crate::file_name::FileName;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// A container that is described.
#[derive(Args, Debug)]
pub struct Overview {
    #[command(flatten)]
    pub source: Source,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    pub path: FileName,
}

/// A folder whose containers are described.
#[derive(Args, Debug)]
pub struct Tree {
    #[command(flatten)]
    pub reading: Reading,
    pub path: FileName,
}

/// A container that is printed.
#[derive(Args, Clone, Debug)]
pub struct Print {
    #[command(flatten)]
    pub source: Source,
    /// Only these columns, in this order
    #[arg(long, value_name = "X,Y,..", value_parser = NonEmptyStringValueParser::new(),
        help_heading = groups::DATASETS)]
    pub columns: Option<String>,
    /// Print each record after its length in bytes: 8 bytes, little-endian
    #[arg(long, help_heading = groups::BAGS)]
    pub lengths: bool,
    /// Format of the output; bags: lines [default: csv for tables, otherwise raw]
    #[arg(long, value_name = "FORMAT", value_parser = values::among(values::TEXTS))]
    pub to: Option<DataFormat>,
    /// The character between the fields of CSV; '\t' is a tab [default: ,]
    #[arg(long, value_name = "C", value_parser = values::delimiter, help_heading = groups::DATASETS)]
    pub delimiter: Option<u8>,
    /// Report damaged records and chunks, and continue (exit code 1)
    #[arg(long)]
    pub skip_damaged: bool,
    #[command(flatten)]
    pub output: Output,
    pub path: FileName,
}

/// Some records, rows or items of a container.
#[derive(Args, Debug)]
pub struct Excerpt {
    #[command(flatten)]
    pub print: Print,
    /// The number of records, rows or items
    #[arg(short, long = "count", value_name = "N", default_value = "10", value_parser = values::whole)]
    pub n: u64,
}

/// Records or rows that are chosen at random.
#[derive(Args, Debug)]
pub struct Sample {
    #[command(flatten)]
    pub excerpt: Excerpt,
    /// The number that decides which records or rows are chosen
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = values::whole)]
    pub seed: u64,
}

impl Excerpt {
    /// The call of `cat` for all of it.
    pub fn cat(&self) -> Cat {
        Cat {
            print: self.print.clone(),
            select: Select::default(),
            condition: None,
            order: Order::default(),
        }
    }
}
