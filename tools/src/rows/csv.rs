//! CSV as RFC 4180 has it: fields between commas, in quotes if they contain commas, quotes or line
//! breaks.
//!
//! A row is searched in the buffered bytes. If it does not end there, more is read and it is
//! searched again. Fields are slices of the buffer. The crates for CSV accept unclosed quotes and
//! text after a closing quote without an error.

use super::feed::Feed;
use crate::failure;
use crate::failure::Result;
use crate::report::plural;

#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    /// It has pairs of quotes, each of which is one.
    doubled: bool,
}

/// What follows a field.
enum After {
    Field(usize),
    Row(usize),
    /// The end of the buffered bytes.
    Short,
    Other,
}

pub struct Csv {
    pub feed: Feed,
    delimiter: u8,
    /// The number of the line where the row began.
    pub line: u64,
    fields: Vec<Field>,
    /// The position of the row in the buffer.
    row: usize,
}

impl Csv {
    pub fn new(feed: Feed, delimiter: u8) -> Csv {
        Csv { feed, delimiter, line: 1, fields: Vec::new(), row: 0 }
    }

    /// Reads the next row, skipping empty lines. Returns `false` if there is none.
    pub fn next(&mut self) -> Result<bool> {
        loop {
            self.line = self.feed.line;
            self.fields.clear();
            if self.feed.ended && self.feed.rest().is_empty() {
                return Ok(false);
            }
            let Some(length) = self.find_row()? else {
                self.feed.more()?;
                continue;
            };
            let bytes = &self.feed.rest()[..length];
            let is_empty = matches!(self.fields[..], [Field { start: 0, end: 0, .. }]);
            let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
            self.row = self.feed.take(length, lines);
            if !is_empty {
                self.unquote();
                return Ok(true);
            }
        }
    }

    /// Finds the fields of the row that begins at the buffered bytes. Returns its length, or None
    /// if it is longer.
    fn find_row(&mut self) -> Result<Option<usize>> {
        let (bytes, mut at) = (self.feed.rest(), 0);
        self.fields.clear();
        loop {
            let (field, after) = if bytes.get(at) == Some(&b'"') {
                let Some((field, next)) = self.quoted(bytes, at + 1)? else {
                    return Ok(None);
                };
                (field, self.after(bytes, next))
            } else {
                self.bare(bytes, at)
            };
            self.fields.push(field);
            match after {
                After::Field(next) => at = next,
                After::Row(next) => return Ok(Some(next)),
                After::Short => return Ok(None),
                After::Other => return Err(self.wrong("there is text after a closing quote")),
            }
        }
    }

    fn wrong(&self, why: &str) -> failure::Failure {
        failure!("{}: line {}: {why}", self.feed.name, self.line)
    }

    /// The field that begins after a quote, and the position after its closing quote; None if that
    /// is not buffered.
    fn quoted(&self, bytes: &[u8], start: usize) -> Result<Option<(Field, usize)>> {
        let (mut at, mut doubled) = (start, false);
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(n) = memchr::memchr(b'"', rest) else {
                return if self.feed.ended {
                    Err(self.wrong("a quote is not closed"))
                } else {
                    Ok(None)
                };
            };
            let end = at + n;
            match bytes.get(end + 1) {
                None if !self.feed.ended => return Ok(None),
                Some(b'"') => (at, doubled) = (end + 2, true),
                _ => {
                    let field = Field { start, end, doubled };
                    return Ok(Some((field, end + 1)));
                }
            }
        }
    }

    /// The field without quotes, and what follows it. A carriage return alone is part of it.
    fn bare(&self, bytes: &[u8], start: usize) -> (Field, After) {
        let mut end = start;
        loop {
            let ends = |c: &u8| *c == self.delimiter || *c == b'\n' || *c == b'\r';
            let rest = bytes.get(end..).unwrap_or_default();
            end += rest.iter().position(ends).unwrap_or(rest.len());
            match self.after(bytes, end) {
                After::Other => end += 1,
                after => {
                    let field = Field { start, end, doubled: false };
                    return (field, after);
                }
            }
        }
    }

    fn after(&self, bytes: &[u8], at: usize) -> After {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(c), _) if *c == self.delimiter => After::Field(at + 1),
            (Some(b'\n'), _) => After::Row(at + 1),
            (Some(b'\r'), Some(b'\n')) => After::Row(at + 2),
            (Some(b'\r'), None) if !self.feed.ended => After::Short,
            (Some(_), _) => After::Other,
            (None, _) if self.feed.ended => After::Row(at),
            (None, _) => After::Short,
        }
    }

    /// Makes one quote of each pair, in place.
    fn unquote(&mut self) {
        let bytes = self.feed.taken();
        for field in self.fields.iter_mut().filter(|field| field.doubled) {
            let (mut from, mut to) = (self.row + field.start, self.row + field.start);
            while from < self.row + field.end {
                bytes[to] = bytes[from];
                from += if bytes[from] == b'"' { 2 } else { 1 };
                to += 1;
            }
            field.end = to - self.row;
        }
    }

    /// The number of fields of the row.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let row = self.feed.taken_from(self.row);
        let bytes = |field: &Field| row.get(field.start..field.end).unwrap_or_default();
        self.fields.iter().map(bytes)
    }

    /// Checks the number of fields of the row.
    pub fn fits(&self, columns: usize) -> Result {
        let n = self.len();
        if n == columns {
            return Ok(());
        }
        let fields = plural(n as u64);
        Err(self.wrong(&format!("{n} field{fields}, and there are {columns} columns")))
    }
}
