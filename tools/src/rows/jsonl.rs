//! JSON lines: an object per line, whose members are the columns, or a value per line.

use super::feed::Feed;
use super::parse::{self, Members};
use crate::failure;
use crate::failure::{Failure, Result};
use serde_json::value::RawValue;

pub struct Lines {
    pub feed: Feed,
    /// The number of the line that was read last.
    pub line: u64,
    /// The position of the line in the buffer.
    at: usize,
}

impl Lines {
    pub fn new(feed: Feed) -> Lines {
        Lines { feed, line: 0, at: 0 }
    }

    /// Reads the next line, skipping empty ones. Returns `false` at the end.
    pub fn next(&mut self) -> Result<bool> {
        loop {
            let (rest, ended) = (self.feed.rest(), self.feed.ended);
            let length = match memchr::memchr(b'\n', rest) {
                Some(end) => end + 1,
                None if !ended => {
                    self.feed.more()?;
                    continue;
                }
                None if rest.is_empty() => return Ok(false),
                None => rest.len(),
            };
            self.line = self.feed.line;
            self.at = self.feed.take(length, 1);
            if !self.bytes().is_empty() {
                return Ok(true);
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        self.feed.taken_from(self.at).trim_ascii()
    }

    pub fn is_object(&self) -> bool {
        self.bytes().starts_with(b"{")
    }

    /// The value of the line.
    pub fn value(&self) -> Result<&RawValue> {
        serde_json::from_slice(self.bytes()).map_err(|_| self.wrong("value"))
    }

    /// The members of the object that is the line.
    pub fn members(&self) -> Result<Members<'_>> {
        let text = std::str::from_utf8(self.bytes()).ok();
        text.and_then(parse::members).ok_or_else(|| self.wrong("object"))
    }

    fn wrong(&self, what: &str) -> Failure {
        let (name, line) = (&self.feed.name, self.line);
        failure!("{name}: line {line}: it is no JSON {what}")
    }
}

/// The items of a list.
pub fn items(list: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(list.get()).unwrap_or_default()
}
