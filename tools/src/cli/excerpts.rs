//! Commands that describe a container, or print a part of it, in short form.

use super::groups::{self, BagInput, FrameInput, Output, Reading};
use super::values::{self, TextFormat};
use super::{Cat, Common};
use clap::Args;

/// A container that is described.
#[derive(Args, Debug)]
pub struct Overview {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub bag: BagInput,
    #[command(flatten)]
    pub frame: FrameInput,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    pub path: String,
}

/// A folder whose containers are described.
#[derive(Args, Debug)]
pub struct Tree {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub reading: Reading,
    pub path: String,
}

/// Some records, rows or items of a container.
#[derive(Args, Debug)]
pub struct Excerpt {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    pub bag: BagInput,
    #[command(flatten)]
    pub frame: FrameInput,
    /// The number of records, rows or items
    #[arg(short, long = "count", value_name = "N", default_value = "10", value_parser = values::whole)]
    pub n: u64,
    /// Only these columns, in this order
    #[arg(long, value_name = "X,Y,..", help_heading = groups::DATASETS)]
    pub columns: Option<String>,
    /// Print each record after its length in bytes: 8 bytes, little-endian
    #[arg(long, help_heading = groups::BAGS)]
    pub lengths: bool,
    /// Format of the output [default: csv for tables, otherwise raw]
    #[arg(long, value_name = "FORMAT", help_heading = groups::NOT_BAGS)]
    pub to: Option<TextFormat>,
    /// Report damaged records and chunks, and continue (exit code 1)
    #[arg(long)]
    pub skip_damaged: bool,
    /// Do not verify the checksums stored with the data
    #[arg(long)]
    pub unchecked: bool,
    #[command(flatten)]
    pub output: Output,
    pub path: String,
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
            common: self.common.clone(),
            reading: self.reading.clone(),
            bag: self.bag.clone(),
            frame: self.frame.clone(),
            select: groups::Select { columns: self.columns.clone(), ..groups::Select::default() },
            order: groups::Order::default(),
            lengths: self.lengths,
            to: self.to,
            skip_damaged: self.skip_damaged,
            unchecked: self.unchecked,
            output: self.output.clone(),
            path: self.path.clone(),
        }
    }
}
