//! Bags and files of records.

mod advice;
mod arrow_column;
mod arrow_reader;
mod arrow_writer;
pub mod cat;
pub mod convert;
mod copy;
pub mod dictionary;
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
use crate::file_name::FileName;
use crate::{detect, options};
use holdall::{Bag, BagLimits, Options, Status};

/// Returns whether an option says that a file is a bag.
pub fn is_declared(read: &BagRead, codec: &BagCodec) -> bool {
    codec.codec.is_some() || read.limits == Some(BagLimits::Separate)
}

/// Refuses a file that neither its name nor its content shows to be a bag. It may open as one,
/// because any bytes can be records.
pub fn refuse_raw(path: &FileName) -> Result {
    match detect::is_named_bag(path) {
        true => Ok(()),
        false => match holdall::identify(path) {
            Err(error) if error.status() == Status::Format => Err(library(path)(error)),
            _ => Ok(()),
        },
    }
}

/// How a bag is opened.
#[derive(Clone)]
pub struct Access {
    options: Options,
    slice: Option<Slice>,
    /// An option says that it is a bag, see [`is_declared`].
    is_declared: bool,
    memory_limit: u64,
}

impl Access {
    pub fn new(reading: &Reading, read: &BagRead, codec: &BagCodec) -> Result<Access> {
        let options = options::bag_read(options::reading(reading), read);
        Ok(Access {
            options: options::compression(options, codec)?,
            slice: None,
            is_declared: is_declared(read, codec),
            memory_limit: reading.memory_limit.unwrap_or(u64::MAX),
        })
    }

    pub fn of(source: &Source) -> Result<Access> {
        Access::new(&source.reading, &source.bag.read, &source.bag.codec)
    }

    /// Adds the value of `--slice`.
    pub fn sliced(mut self, picks: Option<&Picks>) -> Result<Access> {
        self.slice = Picks::plain(picks, "a bag")?;
        Ok(self)
    }

    /// Returns the access to a bag that was opened, with at most so many bytes of memory.
    pub fn within(&self, most: u64) -> Access {
        let options = self.options.clone().memory_limit(self.memory_limit.min(most));
        Access { options, is_declared: true, ..self.clone() }
    }

    /// Opens a bag, or the slice of it.
    pub fn open(&self, path: &FileName) -> Result<Bag> {
        let bag = Bag::open_with(path, &self.options).map_err(library(path))?;
        if !self.is_declared {
            refuse_raw(path)?;
        }
        let Some(slice) = self.slice else {
            return Ok(bag);
        };
        let span = slice.resolve(bag.len());
        bag.strided(span.start, span.step, span.count).map_err(library(path))
    }
}
