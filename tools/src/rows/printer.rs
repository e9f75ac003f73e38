//! Rows of a frame as CSV, JSON lines, a .npy file or their bytes.
//!
//! Rows of an array are values in JSON, and fields in CSV if they have dimensions. Readers of CSV
//! expect a header line, so the fields of an array are named f0, f1, ..., as NumPy and bcolz name
//! columns.

use super::frame::{Batch, Column, Frame, Value};
use super::print::{self, Text};
use super::text::field_name;
use crate::array::npy::{Npy, constant};
use crate::cli::groups::TextInput;
use crate::cli::values::DataFormat;
use crate::failure;
use crate::failure::Result;
use crate::file_name::FileName;
use crate::output::Output;

/// Bytes that are collected before they are written.
const COLLECTED: usize = 1 << 16;

pub struct Printer<'a> {
    path: &'a FileName,
    frame: &'a Frame,
    /// CSV, JSON lines, NumPy, or bytes for any other.
    format: DataFormat,
    /// Refuses what would not read back.
    exact: bool,
    text: Text,
    /// Fields of a row in CSV.
    fields: usize,
    /// What precedes the value of each column in JSON.
    keys: Vec<Vec<u8>>,
    rows: u64,
}

impl<'a> Printer<'a> {
    /// Prints what precedes the rows, whose number is `rows`.
    pub fn begin(
        path: &'a FileName,
        frame: &'a Frame,
        format: DataFormat,
        rows: u64,
        exact: bool,
        csv: &TextInput,
        output: &mut Output,
    ) -> Result<Printer<'a>> {
        let key = |(i, column): (usize, &Column)| {
            let mut key = vec![if i > 0 { b',' } else { b'{' }];
            print::put_json_string(&mut key, &column.name);
            key.push(b':');
            key
        };
        let mut printer = Printer {
            path,
            frame,
            format,
            exact,
            text: Text { delimiter: csv.delimiter.unwrap_or(b','), ..Text::default() },
            fields: frame.csv_fields(),
            keys: frame.columns.iter().enumerate().map(key).collect(),
            rows: 0,
        };
        match format {
            DataFormat::Csv if printer.fields == 0 => {
                return Err(failure!(
                    "{path}: its rows have no items, and CSV has no rows without a field"
                ));
            }
            DataFormat::Csv if csv.no_header => {}
            DataFormat::Csv => printer.put_header(),
            DataFormat::Npy => printer.text.bytes = npy(frame, rows).header(),
            _ => {}
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
        for i in 0..self.fields {
            if i > 0 {
                text.bytes.push(text.delimiter);
            }
            let from = text.bytes.len();
            match self.frame.columns.get(i) {
                _ if self.frame.bare => text.bytes.extend(field_name(i).into_bytes()),
                Some(column) if column.name.is_empty() => text.bytes.extend_from_slice(b"\"\""),
                Some(column) => {
                    text.bytes.extend_from_slice(column.name.as_bytes());
                    print::quote_csv(text, from);
                }
                None => {}
            }
        }
        text.bytes.push(b'\n');
    }

    fn put_csv(&mut self, batch: &Batch, at: usize) {
        let (from, bare) = (self.text.bytes.len(), self.frame.bare);
        let text = &mut self.text;
        for (column, value) in batch.row(self.frame, at) {
            let mut bytes = match value {
                Value::Bytes(bytes) => bytes,
                value => {
                    print::csv_text(text, &value);
                    text.bytes.push(text.delimiter);
                    continue;
                }
            };
            let (shape, size) = column.csv_field(bare);
            for _ in 0..if bare { self.fields } else { 1 } {
                let (field, rest) = bytes.split_at_checked(size).unwrap_or_default();
                print::csv(text, &column.item, shape, field);
                text.bytes.push(text.delimiter);
                bytes = rest;
            }
        }
        // in place of the last delimiter; an empty line is no row
        text.bytes.pop();
        if text.bytes.len() == from {
            text.bytes.extend_from_slice(b"\"\"");
        }
        text.bytes.push(b'\n');
    }

    fn put_json(&mut self, batch: &Batch, at: usize) {
        let text = &mut self.text;
        for ((column, value), key) in batch.row(self.frame, at).zip(&self.keys) {
            text.bytes.extend_from_slice(if self.frame.bare { b"" } else { key });
            match value {
                Value::Null => text.bytes.extend_from_slice(b"null"),
                Value::Text(value) => print::put_json_string(&mut text.bytes, value),
                Value::Bytes(bytes) => print::json(text, &column.item, &column.shape, bytes),
            }
        }
        text.bytes.extend_from_slice(if self.frame.bare { b"\n" } else { b"}\n" });
    }

    /// Prints rows.
    pub fn put(&mut self, batch: &Batch, output: &mut Output) -> Result {
        for at in 0..batch.rows {
            match self.format {
                DataFormat::Csv => self.put_csv(batch, at),
                DataFormat::Jsonl => self.put_json(batch, at),
                _ => batch.put_row(self.frame, at, &mut self.text.bytes),
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
