//! Text files as rows of a frame. Values that the type of their column cannot hold are errors with
//! line and column.

use super::collector::{Collector, Take};
use super::csv::Csv;
use super::feed::TextFile;
use super::frame::Frame;
use super::jsonl::Lines;
use super::{parse, printer};
use crate::cli::groups::{FileInput, TextInput};
use crate::cli::values::DataFormat;
use crate::failure;
use crate::failure::{Failure, Result};

/// Bytes of a value in a message.
const SHOWN: usize = 60;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Text {
    Csv,
    Jsonl,
}

impl Text {
    pub fn of(format: Option<DataFormat>) -> Option<Text> {
        match format {
            Some(DataFormat::Csv) => Some(Text::Csv),
            Some(DataFormat::Jsonl) => Some(Text::Jsonl),
            _ => None,
        }
    }
}

pub struct TextOptions<'a> {
    pub format: Text,
    /// The types of columns, or of the rows of an array, that were given.
    pub dtypes: Option<&'a str>,
    pub delimiter: u8,
    /// The first line of CSV has the names of the columns.
    pub header: bool,
    /// Columns of times are recognized.
    pub times: bool,
}

impl<'a> TextOptions<'a> {
    pub fn new(format: Text, text: &TextInput, given: Option<&'a FileInput>) -> TextOptions<'a> {
        TextOptions {
            format,
            dtypes: given.and_then(|given| given.dtypes.as_deref()),
            delimiter: text.delimiter.unwrap_or(b','),
            header: !text.no_header,
            times: given.is_some_and(|given| given.times),
        }
    }
}

/// Reads the rows of a file. Its columns are those of the frame, in any order.
pub fn rows(frame: &Frame, file: &TextFile, options: &TextOptions, take: &mut Take) -> Result {
    let feed = file.feed()?;
    let mut load = Load {
        last: frame.columns.len().saturating_sub(1),
        rows: Collector::new(frame, u64::MAX, take)?,
        frame,
    };
    match options.format {
        Text::Csv => load.csv(&mut Csv::new(feed, options.delimiter), options.header)?,
        Text::Jsonl => load.json(&mut Lines::new(feed))?,
    }
    load.rows.hand_on()
}

struct Load<'f, 't> {
    frame: &'f Frame,
    rows: Collector<'f, 't>,
    /// The column that was found last.
    last: usize,
}

impl Load<'_, '_> {
    /// Finds a column, usually the one after the last.
    fn find(&mut self, name: &[u8]) -> Option<usize> {
        let count = self.frame.columns.len();
        let mut order = (1..=count).map(|i| (self.last + i) % count);
        let found = order.find(|i| self.frame.columns[*i].name.as_bytes() == name)?;
        self.last = found;
        Some(found)
    }

    fn refusal(&self, position: (&str, u64), column: usize, value: &[u8], why: &str) -> Failure {
        let column = &self.frame.columns[column];
        let named =
            if self.frame.bare { String::new() } else { format!(", column '{}'", column.name) };
        let (shown, dots) = match value.get(..SHOWN) {
            Some(start) if value.len() > SHOWN => (start, "..."),
            _ => (value, ""),
        };
        let shown = serde_json::Value::from(String::from_utf8_lossy(shown));
        let ((file, line), dtype) = (position, &column.item);
        failure!("{file}: line {line}{named}: {shown}{dots} {why} ({dtype})")
    }

    // ---- CSV

    fn csv(&mut self, csv: &mut Csv, header: bool) -> Result {
        let fields = printer::fields(self.frame);
        let mut order: Vec<usize> = (0..self.frame.columns.len()).collect();
        if header {
            csv.next()?;
            csv.fits(fields)?;
            if !self.frame.bare {
                order = self.header(csv)?;
            }
        }
        while csv.next()? {
            csv.fits(fields)?;
            self.fields(csv, &order)?;
            self.rows.next_row()?;
        }
        Ok(())
    }

    /// Maps the fields of the first row to columns.
    fn header(&mut self, csv: &Csv) -> Result<Vec<usize>> {
        let mut order = Vec::new();
        for name in csv.fields() {
            match self.find(name).filter(|column| !order.contains(column)) {
                Some(column) => order.push(column),
                None => {
                    let (file, name) = (&csv.feed.name, String::from_utf8_lossy(name));
                    return Err(failure!(
                        "{file}: line 1: '{name}' is none of the columns, or twice there"
                    ));
                }
            }
        }
        Ok(order)
    }

    /// Reads a row: each field is the item of a column, or of the row of an array.
    fn fields(&mut self, csv: &Csv, order: &[usize]) -> Result {
        let bare = self.frame.bare;
        for (i, text) in csv.fields().enumerate() {
            let column = if bare { 0 } else { order[i] };
            let (of, to) = self.rows.slot(column);
            let parsed = match of.shape.split_first() {
                Some((count, shape)) if bare => {
                    let size = of.size / count.max(&1);
                    let to = to.get_mut(i * size..(i + 1) * size);
                    parse::csv(&of.item, shape, text, to.unwrap_or_default())
                }
                _ => parse::csv(&of.item, &of.shape, text, to),
            };
            if let Err(why) = parsed {
                return Err(self.refusal((&csv.feed.name, csv.line), column, text, why));
            }
        }
        Ok(())
    }

    // ---- JSON lines

    fn json(&mut self, lines: &mut Lines) -> Result {
        let mut seen = vec![false; self.frame.columns.len()];
        while lines.next()? {
            if self.frame.bare {
                self.json_item(lines, 0, lines.value()?.get())?;
            } else {
                self.object(lines, &mut seen)?;
            }
            self.rows.next_row()?;
        }
        Ok(())
    }

    fn json_item(&mut self, lines: &Lines, column: usize, value: &str) -> Result {
        let (of, to) = self.rows.slot(column);
        let parsed = parse::json(&of.item, &of.shape, value, to);
        parsed.map_err(|why| {
            let position = (lines.feed.name.as_str(), lines.line);
            self.refusal(position, column, value.as_bytes(), why)
        })
    }

    fn object(&mut self, lines: &Lines, seen: &mut [bool]) -> Result {
        let position = (lines.feed.name.as_str(), lines.line);
        for (name, value) in lines.members()? {
            let Some(column) = self.find(name.as_bytes()).filter(|column| !seen[*column]) else {
                let (file, line) = position;
                return Err(failure!(
                    "{file}: line {line}: '{name}' is none of the columns, or twice there"
                ));
            };
            seen[column] = true;
            self.json_item(lines, column, value.get())?;
        }
        for (column, seen) in seen.iter_mut().enumerate() {
            if !std::mem::take(seen) {
                let (of, to) = self.rows.slot(column);
                let missing = parse::missing(&of.item, &of.shape, to);
                missing.map_err(|why| self.refusal(position, column, b"", why))?;
            }
        }
        Ok(())
    }
}
