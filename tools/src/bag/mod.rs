//! Bags and files of records.

mod arrow_column;
mod arrow_reader;
mod arrow_writer;
pub mod cat;
pub mod convert;
mod copy;
pub mod index;
pub mod info;
pub mod merge;
pub mod pack;
mod parser;
mod printer;
mod reader;
pub mod records;
pub mod split;
mod writer;

use crate::cli::groups::{BagCodec, BagRead, Reading, Source};
use crate::cli::slice::{Picks, Slice};
use crate::failure::{Result, library};
use crate::{options, usage};
use holdall::{Bag, BagLimits, Options, Status};

/// How a bag is opened.
#[derive(Clone)]
pub struct Access {
    options: Options,
    slice: Option<Slice>,
    /// An option says that it is a bag, which may be empty.
    is_declared: bool,
}

impl Access {
    pub fn new(reading: &Reading, read: &BagRead, codec: &BagCodec) -> Result<Access> {
        let options = options::bag_read(options::reading(reading), read);
        Ok(Access {
            options: options::compression(options, codec)?,
            slice: None,
            is_declared: codec.codec.is_some() || read.limits == Some(BagLimits::Separate),
        })
    }

    pub fn of(source: &Source) -> Result<Access> {
        Access::new(&source.reading, &source.bag.read, &source.bag.codec)
    }

    /// Adds the value of `--slice`.
    pub fn sliced(mut self, picks: Option<&Picks>) -> Result<Access> {
        let slice = |picks: &Picks| {
            picks.slice().ok_or_else(|| {
                usage!(
                    "--slice takes A:B or A:B:C here, a bag has one dimension; 3:4 is item 3 alone"
                )
            })
        };
        self.slice = picks.map(slice).transpose()?;
        Ok(self)
    }

    /// Opens a bag, or the slice of it.
    pub fn open(&self, path: &str) -> Result<Bag> {
        let bag = Bag::open_with(path, &self.options).map_err(library(path))?;
        // an empty file that neither its name nor an option declares a bag
        if bag.stored_bytes() == 0
            && !self.is_declared
            && let Err(error) = holdall::identify(path)
            && error.status() == Status::Format
        {
            return Err(library(path)(error));
        }
        let Some(slice) = self.slice else {
            return Ok(bag);
        };
        let span = slice.resolve(bag.len());
        bag.strided(span.start, span.step, span.count).map_err(library(path))
    }
}
