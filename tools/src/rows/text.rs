//! What is known of a text file before it is read: its format, and the options that were given.

use super::feed::{Feed, TextFile};
use super::{csv::Csv, jsonl::Lines};
use crate::cli::groups::{FileInput, TextInput};
use crate::cli::values::DataFormat;
use crate::failure::Result;

pub struct TextOptions<'a> {
    is_csv: bool,
    /// The types of columns, or of the rows of an array, that were given.
    pub dtypes: Option<&'a str>,
    delimiter: u8,
    /// The first line of CSV has the names of the columns.
    pub header: bool,
    /// Columns of times are recognized.
    pub times: bool,
    /// The names of the columns that are read; the others are skipped.
    pub columns: Option<&'a str>,
    /// Columns of texts may have texts of any length, and nulls.
    pub long_texts: bool,
}

/// A text file that is read.
pub enum Reader {
    Csv(Csv),
    Json(Lines),
}

impl<'a> TextOptions<'a> {
    /// Returns `None` if the format is not one of text.
    pub fn new(
        format: Option<DataFormat>,
        text: &TextInput,
        given: Option<&'a FileInput>,
    ) -> Option<TextOptions<'a>> {
        matches!(format, Some(DataFormat::Csv | DataFormat::Jsonl)).then(|| TextOptions {
            is_csv: format == Some(DataFormat::Csv),
            dtypes: given.and_then(|given| given.dtypes.as_deref()),
            delimiter: text.delimiter.unwrap_or(b','),
            header: !text.no_header,
            times: given.is_some_and(|given| given.times),
            columns: given.and_then(|given| given.columns.as_deref()),
            long_texts: false,
        })
    }

    /// Reads a file from its beginning.
    pub fn reader(&self, file: &TextFile) -> Result<Reader> {
        let feed: Feed = file.feed()?;
        Ok(match self.is_csv {
            true => Reader::Csv(Csv::new(feed, self.delimiter)),
            false => Reader::Json(Lines::new(feed)),
        })
    }
}

/// The name of a column that has none in the file.
pub fn field_name(i: usize) -> String {
    format!("f{i}")
}

/// Finds names in a list, fast if they come in its order.
#[derive(Default)]
pub struct Finder(usize);

impl Finder {
    pub fn find<T>(
        &mut self,
        items: &[T],
        name_of: impl Fn(&T) -> &str,
        name: &[u8],
    ) -> Option<usize> {
        let (next, count) = (self.0, items.len());
        let mut order = (0..count).map(|i| (next + i) % count);
        let found = order.find(|i| name_of(&items[*i]).as_bytes() == name)?;
        self.0 = found + 1;
        Some(found)
    }
}
