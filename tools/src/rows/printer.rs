//! Rows of a frame as CSV, JSON lines, a .npy file or their bytes.
//!
//! Rows of an array are values in JSON, and fields in CSV if they have dimensions. Readers of CSV
//! expect a header line, so the fields of an array are named f0, f1, ..., as NumPy and bcolz name
//! columns.

use super::frame::{Batch, Frame, row};
use super::print::{self, Text};
use crate::array::npy::{Npy, constant};
use crate::cli::groups::TextInput;
use crate::failure;
use crate::failure::Result;
use crate::output::Output;

/// Bytes that are collected before they are written.
const COLLECTED: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    Jsonl,
    Npy,
    Raw,
}

pub struct Printer<'a> {
    path: &'a str,
    frame: &'a Frame,
    format: Format,
    /// Refuses what would not read back.
    exact: bool,
    text: Text,
    rows: u64,
}

/// The fields of a row in CSV.
pub fn fields(frame: &Frame) -> usize {
    match (frame.bare, frame.columns.first().and_then(|column| column.shape.first())) {
        (true, Some(count)) => *count,
        _ => frame.columns.len(),
    }
}

impl<'a> Printer<'a> {
    /// Prints what precedes the rows, whose number is `rows`.
    pub fn begin(
        path: &'a str,
        frame: &'a Frame,
        format: Format,
        rows: u64,
        exact: bool,
        csv: &TextInput,
        output: &mut Output,
    ) -> Result<Printer<'a>> {
        let mut printer = Printer {
            path,
            frame,
            format,
            exact,
            text: Text { delimiter: csv.delimiter.unwrap_or(b','), ..Text::default() },
            rows: 0,
        };
        match format {
            Format::Csv if fields(frame) == 0 => {
                return Err(failure!(
                    "{path}: its rows have no items, and CSV has no rows without a field"
                ));
            }
            Format::Csv if csv.no_header => {}
            Format::Csv => printer.put_header(),
            Format::Npy => printer.text.bytes = npy(frame, rows).header(),
            Format::Jsonl | Format::Raw => {}
        }
        printer.flush(output)?;
        Ok(printer)
    }

    fn flush(&mut self, output: &mut Output) -> Result {
        output.bytes(&self.text.bytes)?;
        self.text.bytes.clear();
        Ok(())
    }

    fn put_header(&mut self) {
        let text = &mut self.text;
        for i in 0..fields(self.frame) {
            if i > 0 {
                text.bytes.push(text.delimiter);
            }
            let name = match self.frame.columns.get(i) {
                Some(column) if !self.frame.bare => column.name.clone(),
                _ => format!("f{i}"),
            };
            let name = if name.is_empty() { "\"\"" } else { &name };
            let from = text.bytes.len();
            text.bytes.extend_from_slice(name.as_bytes());
            if name != "\"\"" {
                print::quote_csv(text, from)
            }
        }
        text.bytes.push(b'\n');
    }

    fn put_csv(&mut self, batch: &Batch, at: usize) {
        let from = self.text.bytes.len();
        let text = &mut self.text;
        for (i, (column, bytes)) in self.frame.columns.iter().zip(&batch.columns).enumerate() {
            if i > 0 {
                text.bytes.push(text.delimiter);
            }
            let bytes = row(column, bytes, at);
            match column.shape.split_first() {
                Some((count, shape)) if self.frame.bare => {
                    let size = column.size / count.max(&1);
                    for i in 0..*count {
                        if i > 0 {
                            text.bytes.push(text.delimiter);
                        }
                        let bytes = bytes.get(i * size..).unwrap_or_default();
                        print::csv(text, &column.item, shape, bytes);
                    }
                }
                _ => print::csv(text, &column.item, &column.shape, bytes),
            }
        }
        // an empty line is no row
        if text.bytes.len() == from {
            text.bytes.extend_from_slice(b"\"\"");
        }
        text.bytes.push(b'\n');
    }

    fn put_json(&mut self, batch: &Batch, at: usize) {
        let text = &mut self.text;
        for (i, (column, bytes)) in self.frame.columns.iter().zip(&batch.columns).enumerate() {
            if !self.frame.bare {
                text.bytes.push(if i > 0 { b',' } else { b'{' });
                print::put_json_string(&mut text.bytes, &column.name);
                text.bytes.push(b':');
            }
            print::json(text, &column.item, &column.shape, row(column, bytes, at));
        }
        text.bytes.extend_from_slice(if self.frame.bare { b"\n" } else { b"}\n" });
    }

    /// Prints rows.
    pub fn put(&mut self, batch: &Batch, output: &mut Output) -> Result {
        for at in 0..batch.rows {
            match self.format {
                Format::Csv => self.put_csv(batch, at),
                Format::Jsonl => self.put_json(batch, at),
                Format::Npy | Format::Raw => {
                    for (column, bytes) in self.frame.columns.iter().zip(&batch.columns) {
                        self.text.bytes.extend_from_slice(row(column, bytes, at));
                    }
                }
            }
            if self.exact && self.text.escaped {
                return Err(failure!(
                    "{}: row {}: it has a string that is no UTF-8, and would not read back (--to npy takes any)",
                    self.path,
                    self.rows
                ));
            }
            self.rows += 1;
            if self.text.bytes.len() >= COLLECTED {
                self.flush(output)?;
            }
        }
        self.flush(output)
    }
}

/// The header of a .npy file of rows with fields, or of those of an array.
fn npy(frame: &Frame, rows: u64) -> Npy {
    let mut shape = vec![rows];
    if let ([column], true) = (frame.columns.as_slice(), frame.bare) {
        shape.extend(column.shape.iter().map(|n| *n as u64));
    }
    Npy { descr: constant(&frame.row_type().to_string()), fortran_order: false, shape }
}
