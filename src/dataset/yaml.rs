//! Reads and writes the subset of YAML that the BLZ RFC and PyYAML use for the files in `meta`:
//! block and flow mappings, block and flow lists, plain and quoted scalars, comments, and
//! `!!python/tuple`.
//!
//! Scalars are resolved as PyYAML resolves them (YAML 1.1). Two exceptions:
//!
//! - A tuple of numbers such as `(30, 20)`, which the RFC writes, is a list.
//! - A number in a notation that YAML 1.1 and YAML 1.2 read differently, such as `010`, is an error.
//!
//! The result is the value that the equivalent JSON would have. Anchors, aliases, all other tags,
//! block scalars, directives, complex keys and duplicate keys are errors. The nesting depth is
//! limited. Memory is bounded by the length of the text.
#![forbid(unsafe_code)]

mod scalar;
mod writer;

use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::json::Value;
use std::collections::HashSet;

pub use writer::to_yaml;

/// Maximum nesting depth of mappings and lists.
const DEPTH: usize = 64;
/// Maximum length of the text that an error quotes.
const QUOTED: usize = 40;
/// The only tag that is supported.
const TUPLE: &str = "!!python/tuple";

/// Parses a document, which must be a mapping or a list.
pub fn parse(text: &[u8]) -> Result<Value> {
    let text = std::str::from_utf8(text)
        .map_err(|e| fail!(Format, "invalid YAML: the file is not UTF-8 text: {e}"))?;
    let mut parser = Parser { text, at: 0 };
    let is_not_allowed = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    if let Some(at) = text.find(is_not_allowed) {
        parser.at = at;
        return Err(parser
            .wrong("control characters are not allowed")
            .in_text(text));
    }
    parser.document().map_err(|e| e.in_text(text))
}

/// Returns true if the text does not begin like JSON.
pub fn may_be_yaml(text: &[u8]) -> bool {
    match text.trim_ascii_start() {
        [] => false,
        [b'{', inner @ ..] => !matches!(inner.trim_ascii_start(), [] | [b'"' | b'}', ..]),
        _ => true,
    }
}

/// An error and its location.
struct Wrong {
    at: usize,
    what: String,
    /// The keys of the mappings that contain it.
    path: String,
}

type Parsed<T> = std::result::Result<T, Wrong>;

impl Wrong {
    /// Adds the key of the mapping that contains the error.
    fn below(mut self, key: &str) -> Wrong {
        let dot = if self.path.is_empty() { "" } else { "." };
        let key: String = key.chars().take(QUOTED).collect();
        self.path = format!("{key}{dot}{}", self.path);
        self
    }

    fn in_text(self, text: &str) -> Error {
        let (before, rest) = text.split_at_checked(self.at).unwrap_or((text, ""));
        let line = before.matches('\n').count() + 1;
        let found: String = rest
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(QUOTED)
            .collect();
        let colon = if self.path.is_empty() { "" } else { ": " };
        let (path, what) = (self.path, self.what);
        fail!(
            Format,
            "invalid YAML: line {line}: {path}{colon}{what} (found {found:?})"
        )
    }
}

/// The text, and the offset up to which it is parsed.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn wrong(&self, what: impl Into<String>) -> Wrong {
        Wrong {
            at: self.at,
            what: what.into(),
            path: String::new(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns true if white space or the end of the text follows the next `n` bytes.
    fn is_separated(&self, n: usize) -> bool {
        let after = self.text.get(self.at + n..).unwrap_or_default();
        after.is_empty() || after.starts_with([' ', '\t', '\r', '\n'])
    }

    fn skip_spaces(&mut self) {
        let own = self.rest().trim_start_matches([' ', '\t', '\r']);
        self.at = self.text.len() - own.len();
    }

    /// Skips a comment. A `#` begins a comment at the start of a line or after white space.
    fn skip_comment(&mut self) {
        let before = self.text.get(..self.at).unwrap_or_default();
        if self.rest().starts_with('#')
            && (before.is_empty() || before.ends_with([' ', '\t', '\r', '\n']))
        {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Returns the offset in the line.
    fn column(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or_default();
        self.at - before.rfind('\n').map_or(0, |n| n + 1)
    }

    /// Returns true at the line `...`, which ends a document.
    fn is_end_marker(&self) -> bool {
        self.rest().starts_with("...") && self.is_separated(3) && self.column() == 0
    }

    /// Moves to the next line with content, unless the position is at the first content of a line
    /// already. Returns its indentation; `None` at the end of the document.
    fn next_line(&mut self) -> Parsed<Option<usize>> {
        let mut is_new = {
            let before = self.text.get(self.at - self.column()..self.at);
            before.unwrap_or_default().chars().all(|c| c == ' ')
        };
        loop {
            self.skip_spaces();
            self.skip_comment();
            match self.peek() {
                None => return Ok(None),
                Some('.') if self.is_end_marker() => return Ok(None),
                Some('\n') => (self.at, is_new) = (self.at + 1, true),
                Some(_) if !is_new => {
                    return Err(self.wrong("text follows the value; put the value in quotes"));
                }
                Some(_) => {
                    let column = self.column();
                    let indentation = self.text.get(self.at - column..self.at);
                    return match indentation.is_some_and(|i| i.bytes().all(|b| b == b' ')) {
                        true => Ok(Some(column)),
                        false => Err(self.wrong("the indentation contains a tab")),
                    };
                }
            }
        }
    }

    fn document(&mut self) -> Parsed<Value> {
        self.at = self.text.len() - self.text.trim_start_matches('\u{feff}').len();
        let mut column = self.next_line()?;
        if self.rest().starts_with("---") && self.is_separated(3) && column == Some(0) {
            self.at += 3;
            column = self.next_line()?;
        }
        let Some(column) = column else {
            return Err(self.wrong("the file is empty"));
        };
        let value = match self.peek() {
            Some('{') => self.flow(DEPTH, false)?,
            Some('%') => return Err(self.wrong("directives are not supported")),
            _ => self.block(column, DEPTH)?,
        };
        self.next_line()?;
        if self.is_end_marker() {
            self.at += 3;
        }
        match self.next_line()? {
            None => Ok(value),
            Some(_) => Err(self.wrong("wrong indentation")),
        }
    }

    /// Returns true at the `-` of a list item.
    fn is_dash(&self) -> bool {
        self.rest().starts_with('-') && self.is_separated(1)
    }

    /// Parses a mapping or a list whose first line has this indentation.
    fn block(&mut self, column: usize, depth: usize) -> Parsed<Value> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.wrong("mappings and lists are nested too deeply"));
        };
        if self.is_dash() {
            self.list(column, depth)
        } else {
            self.mapping(column, depth)
        }
    }

    fn list(&mut self, column: usize, depth: usize) -> Parsed<Value> {
        let mut items = Vec::new();
        loop {
            self.at += 1;
            let item = self.value(column, false, depth)?;
            self.push(&mut items, item)?;
            match self.next_line()? {
                Some(next) if next > column => return Err(self.wrong("wrong indentation")),
                Some(next) if next == column && self.is_dash() => {}
                _ => return Ok(Value::Array(items)),
            }
        }
    }

    fn mapping(&mut self, column: usize, depth: usize) -> Parsed<Value> {
        let (mut items, mut names) = (Vec::new(), HashSet::new());
        loop {
            let Some((name, after)) = self.key()? else {
                return Err(self.wrong("a key and a colon were expected"));
            };
            self.refuse_duplicate(&mut names, &name)?;
            self.at = after;
            let value = self
                .value(column, true, depth)
                .map_err(|e| e.below(&name))?;
            self.push(&mut items, (name, value))?;
            match self.next_line()? {
                Some(next) if next > column => return Err(self.wrong("wrong indentation")),
                Some(next) if next == column => {}
                _ => return Ok(Value::Object(items)),
            }
        }
    }

    fn push<T>(&self, items: &mut Vec<T>, item: T) -> Parsed<()> {
        alloc::reserve(items, 1).map_err(|e| self.wrong(e.message))?;
        items.push(item);
        Ok(())
    }

    fn refuse_duplicate(&self, names: &mut HashSet<String>, name: &str) -> Parsed<()> {
        if names.insert(name.to_owned()) {
            Ok(())
        } else {
            Err(self.wrong("the key occurs twice"))
        }
    }

    /// Returns the key at the current position and the offset after its colon; `None` if there is
    /// no key. Does not move.
    fn key(&self) -> Parsed<Option<(String, usize)>> {
        let mut ahead = Parser { ..*self };
        match self.peek() {
            Some('"' | '\'') => {
                let name = ahead.quoted()?;
                ahead.skip_spaces();
                let is_key = ahead.rest().starts_with(':')
                    && ahead.is_separated(1)
                    && !self
                        .text
                        .get(self.at..ahead.at)
                        .unwrap_or_default()
                        .contains('\n');
                return Ok(is_key.then(|| (name, ahead.at + 1)));
            }
            Some('[' | '{') => return Ok(None),
            Some('?') if self.is_separated(1) => {
                return Err(self.wrong("complex keys are not supported"));
            }
            _ => {}
        }
        let line = scalar::without_comment(self.rest().lines().next().unwrap_or_default());
        let Some(colon) = scalar::find_colon(line) else {
            return Ok(None);
        };
        let name = scalar::without_blanks(line.get(..colon).unwrap_or_default());
        self.check_plain_start()?;
        Ok(Some((name.to_owned(), self.at + colon + 1)))
    }

    /// Parses the value after the `:` of a key or the `-` of a list item. `parent` is the
    /// indentation of that key or item.
    fn value(&mut self, parent: usize, after_key: bool, depth: usize) -> Parsed<Value> {
        self.skip_spaces();
        let start = self.at;
        let is_tuple = self.tag()?;
        self.skip_comment();
        let value = if matches!(self.peek(), None | Some('\n')) {
            match self.next_line()? {
                Some(next) if next > parent => {
                    if self.is_dash() || self.key()?.is_some() {
                        self.block(next, depth)?
                    } else {
                        self.inline(parent, depth)?
                    }
                }
                Some(next) if after_key && next == parent && self.is_dash() => {
                    self.block(next, depth)?
                }
                _ => Value::Null,
            }
        } else if !after_key && !is_tuple && (self.is_dash() || self.key()?.is_some()) {
            self.block(self.column(), depth)?
        } else {
            self.inline(parent, depth)?
        };
        self.check_tuple(is_tuple, start, value)
    }

    fn check_tuple(&self, is_tuple: bool, start: usize, value: Value) -> Parsed<Value> {
        match value {
            Value::Array(_) => Ok(value),
            _ if is_tuple => Err(Wrong {
                at: start,
                ..self.wrong(format!("{TUPLE} applies to lists only"))
            }),
            _ => Ok(value),
        }
    }

    /// Skips the tag of a tuple. Returns true if there is one.
    fn tag(&mut self) -> Parsed<bool> {
        if self.peek() != Some('!') {
            return Ok(false);
        }
        let end = self.rest().find([' ', '\t', '\r', '\n', ',']);
        let tag = self.rest().get(..end.unwrap_or(self.rest().len()));
        if tag != Some(TUPLE) {
            return Err(self.wrong(format!("the tag is not supported (expected {TUPLE})")));
        }
        self.at += TUPLE.len();
        self.skip_spaces();
        Ok(true)
    }

    /// Parses a value that is not a block mapping or a block list. `parent` is the indentation of
    /// the mapping or list that contains it.
    fn inline(&mut self, parent: usize, depth: usize) -> Parsed<Value> {
        match self.peek() {
            Some('[' | '{') => self.flow(depth, false),
            Some('"' | '\'') => self.quoted().map(Value::String),
            _ if self.is_dash() => Err(self.wrong("a list item must begin on a line of its own")),
            _ => self.plain(parent),
        }
    }

    /// Parses a plain scalar, which may continue on lines that are indented more than `parent`.
    fn plain(&mut self, parent: usize) -> Parsed<Value> {
        self.check_plain_start()?;
        let (start, mut joined) = (self.at, String::new());
        loop {
            let line = self.rest().lines().next().unwrap_or_default();
            let own = scalar::without_comment(line);
            if scalar::find_colon(own).is_some() {
                return Err(self.wrong("wrong indentation, or a colon in text without quotes"));
            }
            joined.push_str(own);
            self.at += own.len();
            if own.len() < scalar::without_blanks(line).len() {
                break;
            }
            let mut ahead = Parser { ..*self };
            let is_continued = ahead.next_line()?.is_some_and(|next| next > parent);
            let gap = self.text.get(self.at..ahead.at).unwrap_or_default();
            // a comment ends the scalar
            if !is_continued || gap.contains('#') {
                break;
            }
            if ahead.is_dash() {
                return Err(ahead.wrong("wrong indentation"));
            }
            joined.push_str(&scalar::folded(gap));
            self.at = ahead.at;
        }
        scalar::resolve(&joined).map_err(|what| Wrong {
            at: start,
            ..self.wrong(what)
        })
    }

    /// Fails if a plain scalar cannot begin here.
    fn check_plain_start(&self) -> Parsed<()> {
        let what = match self.peek() {
            Some('&') => "anchors are not supported",
            Some('*') => "aliases are not supported",
            Some('!') => "tags are not supported here",
            Some('|' | '>') => "block scalars are not supported",
            Some('%' | '@' | '`') => "the character cannot begin a value",
            Some(',' | ']' | '}') => "a value was expected",
            Some('?' | ':') if self.is_separated(1) => "a value was expected",
            _ => return Ok(()),
        };
        Err(self.wrong(what))
    }

    fn skip_flow_space(&mut self) {
        let mut before = usize::MAX;
        while before != self.at {
            before = self.at;
            let own = self.rest().trim_start_matches([' ', '\t', '\r', '\n']);
            self.at = self.text.len() - own.len();
            self.skip_comment();
        }
    }

    /// Parses `[a, b]`, `{a: b}`, or, inside of these, a Python tuple.
    fn flow(&mut self, depth: usize, in_tuple: bool) -> Parsed<Value> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.wrong("mappings and lists are nested too deeply"));
        };
        match self.peek() {
            Some('{') => self.flow_mapping(depth, in_tuple),
            Some('(') => self.flow_list(')', depth, true),
            _ => self.flow_list(']', depth, in_tuple),
        }
    }

    fn flow_list(&mut self, close: char, depth: usize, in_tuple: bool) -> Parsed<Value> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_flow_space();
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(Value::Array(items));
            }
            let item = self.flow_value(depth, in_tuple)?;
            self.push(&mut items, item)?;
            self.flow_comma(close)?;
        }
    }

    fn flow_mapping(&mut self, depth: usize, in_tuple: bool) -> Parsed<Value> {
        self.at += 1;
        let (mut items, mut names) = (Vec::new(), HashSet::new());
        loop {
            self.skip_flow_space();
            if self.peek() == Some('}') {
                self.at += 1;
                return Ok(Value::Object(items));
            }
            let is_quoted = matches!(self.peek(), Some('"' | '\''));
            let name = if is_quoted {
                self.quoted()?
            } else {
                self.check_plain_start()?;
                let name = self.flow_text(in_tuple);
                self.at += name.len();
                name.to_owned()
            };
            self.refuse_duplicate(&mut names, &name)?;
            self.skip_flow_space();
            let value = match self.peek() {
                Some(':') => {
                    self.at += 1;
                    self.skip_flow_space();
                    match self.peek() {
                        Some(',' | '}') => Value::Null,
                        _ => self
                            .flow_value(depth, in_tuple)
                            .map_err(|e| e.below(&name))?,
                    }
                }
                _ => Value::Null,
            };
            self.push(&mut items, (name, value))?;
            self.flow_comma('}')?;
        }
    }

    /// Skips the comma after an item, which is optional before `close`.
    fn flow_comma(&mut self, close: char) -> Parsed<()> {
        self.skip_flow_space();
        match self.peek() {
            Some(',') => self.at += 1,
            Some(c) if c == close => {}
            _ => return Err(self.wrong(format!("a comma or {close:?} was expected"))),
        }
        Ok(())
    }

    fn flow_value(&mut self, depth: usize, in_tuple: bool) -> Parsed<Value> {
        let start = self.at;
        let is_tuple = self.tag()?;
        self.skip_flow_space();
        let value = match self.peek() {
            Some('[' | '{' | '(') => self.flow(depth, in_tuple)?,
            Some('"' | '\'') => Value::String(self.quoted()?),
            _ => {
                self.check_plain_start()?;
                let text = self.flow_text(in_tuple);
                let value = match text {
                    "" => return Err(self.wrong("a value was expected")),
                    text => scalar::resolve(text).map_err(|what| self.wrong(what))?,
                };
                self.at += text.len();
                value
            }
        };
        self.check_tuple(is_tuple, start, value)
    }

    /// Returns the plain scalar of a flow collection at the current position.
    fn flow_text(&self, in_tuple: bool) -> &'a str {
        let rest = self.rest();
        let mut before = 'x';
        let end = rest.char_indices().find(|(i, c)| {
            let is_blank = matches!(before, ' ' | '\t');
            before = *c;
            match c {
                ',' | '[' | ']' | '{' | '}' | '\n' => true,
                ')' => in_tuple,
                '#' => is_blank,
                ':' => scalar::ends_flow_key(rest.get(i + 1..).unwrap_or_default()),
                _ => false,
            }
        });
        let end = end.map_or(rest.len(), |(i, _)| i);
        scalar::without_blanks(rest.get(..end).unwrap_or_default())
    }

    /// Parses a string in single or double quotes.
    fn quoted(&mut self) -> Parsed<String> {
        let (text, n) = scalar::quoted(self.rest()).map_err(|(at, what)| Wrong {
            at: self.at + at,
            ..self.wrong(what)
        })?;
        self.at += n;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
