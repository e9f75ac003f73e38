//! Text files as rows of a frame. Values that the type of their column cannot hold are errors with
//! line and column.

use super::csv::Csv;
use super::feed::TextFile;
use super::frame::{BATCH, Batch, Extra, Frame, Selected, Take};
use super::jsonl::Lines;
use super::parse;
use super::text::{Finder, Reader, TextOptions, field_name};
use crate::failure::{Failure, Result};
use crate::file_name::FileName;
use crate::superchunk::source::resize;
use crate::{failure, signals};

/// Bytes of a value in a message.
const SHOWN: usize = 60;

/// Reads the selected rows of a file, or all, and hands them on. Its columns are those of the
/// frame, in any order.
pub fn rows(
    frame: &Frame,
    file: &TextFile,
    options: &TextOptions,
    selected: Option<&Selected>,
    take: &mut Take,
) -> Result {
    let mut load = Load {
        frame,
        take,
        selected,
        skips: options.columns.is_some(),
        finder: Finder::default(),
        columns: vec![Vec::new(); frame.columns.len()],
        texts: vec![Vec::new(); frame.columns.len()],
        text_bytes: 0,
        room: frame.batch_rows(u64::MAX),
        rows: 0,
        row: 0,
    };
    for (bytes, column) in load.columns.iter_mut().zip(&frame.columns) {
        resize(bytes, column.size.saturating_mul(load.room))?;
    }
    match options.reader(file)? {
        Reader::Csv(mut csv) => load.csv(&mut csv, options.header)?,
        Reader::Json(mut lines) => load.json(&mut lines)?,
    }
    load.hand_on()
}

struct Load<'a> {
    frame: &'a Frame,
    take: &'a mut Take<'a>,
    selected: Option<&'a Selected>,
    /// Columns that the frame does not have are skipped.
    skips: bool,
    finder: Finder,
    /// The bytes of each column, with room for so many rows.
    columns: Vec<Vec<u8>>,
    /// The values of each column of texts.
    texts: Vec<Vec<Option<String>>>,
    /// Bytes in them.
    text_bytes: usize,
    room: usize,
    /// Rows in them.
    rows: usize,
    /// The number of the next row in the file.
    row: u64,
}

impl Load<'_> {
    fn find(&mut self, name: &[u8]) -> Option<usize> {
        self.finder.find(&self.frame.columns, |column| &column.name, name)
    }

    /// Returns whether the next row of the file is selected.
    fn takes_next(&mut self) -> bool {
        self.row += 1;
        self.selected.is_none_or(|selected| selected.contains(self.row - 1))
    }

    /// Ends a row. Rows are handed on when there is no room for another one.
    fn end_row(&mut self) -> Result {
        self.rows += 1;
        let has_room = self.rows < self.room && self.text_bytes < BATCH;
        if has_room { Ok(()) } else { self.hand_on() }
    }

    /// Hands on the collected rows.
    fn hand_on(&mut self) -> Result {
        if self.rows > 0 {
            let bytes = self.columns.iter().zip(&self.frame.columns);
            let columns = bytes.map(|(bytes, column)| &bytes[..self.rows * column.size]);
            let columns = columns.collect();
            let texts = self.texts.iter_mut().map(std::mem::take);
            let extras = texts.map(|texts| Extra { nulls: Vec::new(), texts }).collect();
            (self.take)(&Batch { rows: self.rows, columns, extras })?;
            (self.rows, self.text_bytes) = (0, 0);
        }
        if signals::stopped() { Err(Failure::Stopped) } else { Ok(()) }
    }

    /// The bytes of a column in the row that is collected.
    fn slot(&mut self, column: usize) -> &mut [u8] {
        let size = self.frame.columns[column].size;
        &mut self.columns[column][self.rows * size..(self.rows + 1) * size]
    }

    /// Takes a text, or a null, of a column of texts.
    fn take_text(&mut self, column: usize, text: Option<String>) {
        self.text_bytes += text.as_ref().map_or(0, String::len);
        self.texts[column].push(text);
    }

    fn refusal(
        &self,
        position: (&FileName, u64),
        column: usize,
        value: &[u8],
        why: &str,
    ) -> Failure {
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
        let (bare, fields) = (self.frame.bare, self.frame.csv_fields());
        let mut more = csv.next()?;
        if header && !self.skips {
            csv.fits(fields)?;
        }
        // the column of each field
        let order = match (bare, self.skips || header) {
            (true, _) => vec![Some(0); fields],
            (false, true) => self.order(csv, header)?,
            (false, false) => (0..fields).map(Some).collect(),
        };
        if header {
            more = csv.next()?;
        }
        while more {
            csv.fits(order.len())?;
            if self.takes_next() {
                self.fields(csv, &order)?;
                self.end_row()?;
            }
            more = csv.next()?;
        }
        Ok(())
    }

    /// Maps the fields of the first row to columns.
    fn order(&mut self, csv: &Csv, header: bool) -> Result<Vec<Option<usize>>> {
        let mut order = Vec::new();
        for (i, field) in csv.fields().enumerate() {
            let generated = field_name(i);
            let name = if header { field } else { generated.as_bytes() };
            let found = self.find(name).filter(|column| !order.contains(&Some(*column)));
            if found.is_none() && !self.skips {
                let (file, name) = (&csv.feed.name, String::from_utf8_lossy(name));
                return Err(failure!(
                    "{file}: line 1: '{name}' is none of the columns, or twice there"
                ));
            }
            order.push(found);
        }
        Ok(order)
    }

    /// Reads a row: each field is the item of a column, or of the row of an array.
    fn fields(&mut self, csv: &Csv, order: &[Option<usize>]) -> Result {
        let frame = self.frame;
        for (i, (text, column)) in csv.fields().zip(order).enumerate() {
            let Some(column) = *column else { continue };
            let of = &frame.columns[column];
            if of.is_text() {
                let is_null = text.is_empty() && !csv.is_quoted(i);
                let taken = (!is_null).then(|| String::from_utf8(text.to_vec())).transpose();
                match taken {
                    Ok(text) => self.take_text(column, text),
                    Err(_) => {
                        let at = (&csv.feed.name, csv.line);
                        return Err(self.refusal(at, column, text, "is not UTF-8"));
                    }
                }
                continue;
            }
            let (shape, size) = of.csv_field(frame.bare);
            let (to, at) = (self.slot(column), if frame.bare { i * size } else { 0 });
            let to = to.get_mut(at..at + size).unwrap_or_default();
            if let Err(why) = parse::csv(&of.item, shape, text, to) {
                return Err(self.refusal((&csv.feed.name, csv.line), column, text, why));
            }
        }
        Ok(())
    }

    // ---- JSON lines

    fn json(&mut self, lines: &mut Lines) -> Result {
        let mut seen = vec![false; self.frame.columns.len()];
        while lines.next()? {
            if !self.takes_next() {
                continue;
            }
            if self.frame.bare {
                self.value(lines, 0, lines.value()?.get())?;
            } else {
                self.object(lines, &mut seen)?;
            }
            self.end_row()?;
        }
        Ok(())
    }

    fn value(&mut self, lines: &Lines, column: usize, value: &str) -> Result {
        let of = &self.frame.columns[column];
        let position = (&lines.feed.name, lines.line);
        if of.is_text() {
            return match serde_json::from_str(value) {
                Ok(text) => {
                    self.take_text(column, text);
                    Ok(())
                }
                Err(_) => Err(self.refusal(position, column, value.as_bytes(), "is no text")),
            };
        }
        let parsed = parse::json(&of.item, &of.shape, value, self.slot(column));
        parsed.map_err(|why| self.refusal(position, column, value.as_bytes(), why))
    }

    fn object(&mut self, lines: &Lines, seen: &mut [bool]) -> Result {
        let position = (&lines.feed.name, lines.line);
        for (name, value) in lines.members()? {
            match self.find(name.as_bytes()) {
                Some(column) if !seen[column] => {
                    seen[column] = true;
                    self.value(lines, column, value.get())?;
                }
                None if self.skips => {}
                _ => {
                    let (file, line) = position;
                    return Err(failure!(
                        "{file}: line {line}: '{name}' is none of the columns, or twice there"
                    ));
                }
            }
        }
        for (column, seen) in seen.iter_mut().enumerate() {
            if !std::mem::take(seen) {
                let of = &self.frame.columns[column];
                if of.is_text() {
                    self.take_text(column, None);
                    continue;
                }
                let missing = parse::missing(&of.item, &of.shape, self.slot(column));
                missing.map_err(|why| self.refusal(position, column, b"", why))?;
            }
        }
        Ok(())
    }
}
