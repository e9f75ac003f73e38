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
    /// It is in quotes.
    quoted: bool,
    /// It has pairs of quotes, each of which is one.
    doubled: bool,
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
        let (bytes, ended) = (self.feed.rest(), self.feed.ended);
        let mut at = 0;
        self.fields.clear();
        loop {
            let mut field = Field { start: at, end: at, quoted: false, doubled: false };
            if bytes.get(at) == Some(&b'"') {
                field.quoted = true;
                field.start += 1;
                field.end += 1;
                loop {
                    match memchr::memchr(b'"', &bytes[field.end..]) {
                        Some(n) => field.end += n,
                        None if ended => return Err(self.wrong("a quote is not closed")),
                        None => return Ok(None),
                    }
                    if bytes.get(field.end + 1) != Some(&b'"') {
                        break;
                    }
                    (field.end, field.doubled) = (field.end + 2, true);
                }
                at = field.end + 1;
                at += usize::from(bytes[at..].starts_with(b"\r\n"));
            } else {
                let ends = |c: &u8| *c == self.delimiter || *c == b'\n';
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                field.end = at;
                // one that does not end the line is part of the field
                if bytes[field.start..].get(at - field.start) == Some(&b'\n')
                    && bytes[field.start..at].ends_with(b"\r")
                {
                    field.end -= 1;
                }
            }
            self.fields.push(field);
            match &bytes[at..] {
                [c, ..] if *c == self.delimiter => at += 1,
                [b'\n', ..] => return Ok(Some(at + 1)),
                [] if ended => return Ok(Some(at)),
                [] => return Ok(None),
                [b'\r'] if !ended => return Ok(None),
                _ => return Err(self.wrong("there is text after a closing quote")),
            }
        }
    }

    fn wrong(&self, why: &str) -> failure::Failure {
        failure!("{}: line {}: {why}", self.feed.name, self.line)
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

    /// Returns whether a field of the row is in quotes.
    pub fn is_quoted(&self, i: usize) -> bool {
        self.fields.get(i).is_some_and(|field| field.quoted)
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
