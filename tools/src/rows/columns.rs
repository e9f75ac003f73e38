//! The first reading of a text file: the names of its columns, and the types that fit all rows.
//!
//! Rows of an array are one column without a name. JSON lines that are values are such rows; CSV is
//! if --dtypes is one type without a column name.

use super::csv::Csv;
use super::feed::TextFile;
use super::frame::{self, Frame};
use super::guess::Guess;
use super::jsonl::{self, Lines};
use super::parse;
use super::text::{Finder, Reader, TextOptions, field_name};
use crate::failure;
use crate::failure::Result;
use crate::file_name::FileName;
use holdall::{ItemKind, ItemType};
use serde_json::value::RawValue;

/// Dimensions of an array at most.
const MAX_NDIM: usize = 16;

struct Named {
    name: String,
    /// The type that --dtypes gives.
    dtype: Option<String>,
    guess: Guess,
    /// Rows that have it.
    seen: u64,
    /// The first line that admits no type: an object, or a list of another shape.
    wrong: Option<u64>,
    /// The dimensions of a row of JSON, once there is one.
    shape: Option<Vec<u64>>,
}

struct Columns<'a> {
    path: &'a FileName,
    options: &'a TextOptions<'a>,
    items: Vec<Named>,
    finder: Finder,
    rows: u64,
    /// An array: one column without a name.
    bare: bool,
}

/// Reads a text file once. Returns its columns and the number of rows.
pub fn find(file: &TextFile, options: &TextOptions) -> Result<(Frame, u64)> {
    let path = &file.path;
    let bare = options.dtypes.is_some_and(is_bare);
    let mut columns =
        Columns { path, options, items: Vec::new(), finder: Finder::default(), rows: 0, bare };
    if bare {
        columns.add(b"")?;
    }
    match options.reader(file)? {
        Reader::Csv(mut csv) if bare => columns.count_csv(&mut csv)?,
        Reader::Csv(mut csv) => columns.see_csv(&mut csv)?,
        Reader::Json(mut lines) => columns.see_json(&mut lines)?,
    }
    columns.check_dtypes()?;
    let frame = columns.frame()?;
    Ok((frame.select(path, options.columns)?, columns.rows))
}

// ---- types from --dtypes

/// The parts of "x=<f8,y=[('a', '<i4')]": commas in brackets or quotes do not separate.
fn parts(dtypes: &str) -> Vec<&str> {
    let (mut depth, mut quote) = (0, None);
    let separates = |c: char| {
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '\'' | '"' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' => return depth <= 0,
            _ => {}
        }
        false
    };
    dtypes.split(separates).collect()
}

/// Returns whether it is one type without a column name.
fn is_bare(dtypes: &str) -> bool {
    let first = dtypes.find(['=', '(', '[', '{', '\'', '"']);
    let named = first.is_some_and(|i| dtypes[i..].starts_with('='));
    !named && parts(dtypes).len() == 1
}

/// Returns the type in `COLUMN=DTYPE`, if it is one of that column.
fn dtype_of<'a>(part: &'a str, column: &str) -> Option<&'a str> {
    part.strip_prefix(column)?.strip_prefix('=')
}

impl Columns<'_> {
    /// Checks that --dtypes names columns.
    fn check_dtypes(&self) -> Result {
        let (path, Some(dtypes)) = (self.path, self.options.dtypes) else {
            return Ok(());
        };
        if self.bare && !is_bare(dtypes) {
            return Err(failure!(
                "{path}: its lines have no columns; --dtypes \"('<f8', (3,))\" is the type of a row"
            ));
        }
        let named = parts(dtypes).into_iter().filter(|part| !self.bare && !part.is_empty());
        for part in named {
            let Some((name, _)) = part.split_once('=') else {
                return Err(failure!("--dtypes: '{part}' is not COLUMN=DTYPE"));
            };
            if !self.items.iter().any(|column| dtype_of(part, &column.name).is_some()) {
                return Err(failure!("{path}: there is no column '{name}', as --dtypes has it"));
            }
        }
        Ok(())
    }

    // ---- columns

    fn find(&mut self, name: &[u8]) -> Option<usize> {
        self.finder.find(&self.items, |column| &column.name, name)
    }

    fn add(&mut self, name: &[u8]) -> Result<usize> {
        let path = self.path;
        let Ok(name) = std::str::from_utf8(name) else {
            return Err(failure!("{path}: the name of a column is not UTF-8"));
        };
        if name.contains('\0') {
            return Err(failure!("{path}: the name of a column has a NUL in it"));
        }
        let dtype = match self.options.dtypes {
            Some(dtypes) if is_bare(dtypes) => Some(dtypes),
            dtypes => parts(dtypes.unwrap_or("")).iter().find_map(|part| dtype_of(part, name)),
        };
        self.items.push(Named {
            name: name.to_owned(),
            dtype: dtype.map(str::to_owned),
            guess: Guess::new(self.options.times),
            seen: 0,
            wrong: None,
            shape: None,
        });
        Ok(self.items.len() - 1)
    }

    // ---- CSV

    /// Counts the rows of an array, whose type is given.
    fn count_csv(&mut self, csv: &mut Csv) -> Result {
        if self.options.header {
            csv.next()?;
            check_numbered(csv)?;
        }
        while csv.next()? {
            self.rows += 1;
        }
        Ok(())
    }

    fn see_csv(&mut self, csv: &mut Csv) -> Result {
        let mut more = csv.next()?;
        if !more {
            let name = &csv.feed.name;
            return Err(failure!("{name}: there is no line with the names of the columns"));
        }
        for (i, name) in csv.fields().enumerate() {
            if !self.options.header {
                self.add(field_name(i).as_bytes())?;
            } else if self.find(name).is_none() {
                self.add(name)?;
            } else {
                let (file, name) = (&csv.feed.name, String::from_utf8_lossy(name));
                return Err(failure!("{file}: line 1: two columns are called '{name}'"));
            }
        }
        if self.options.header {
            more = csv.next()?;
        }
        while more {
            csv.fits(self.items.len())?;
            for (column, field) in self.items.iter_mut().zip(csv.fields()) {
                if column.dtype.is_none() {
                    column.guess.see(field, false);
                }
            }
            self.rows += 1;
            more = csv.next()?;
        }
        Ok(())
    }

    // ---- JSON lines

    fn see_json(&mut self, lines: &mut Lines) -> Result {
        while lines.next()? {
            if self.rows == 0 && !self.bare && !lines.is_object() {
                lines.value()?;
                self.bare = true;
                self.add(b"")?;
            }
            self.rows += 1;
            if self.bare {
                self.items[0].see(lines.line, lines.value()?);
                continue;
            }
            for (name, value) in lines.members()? {
                let i = match self.find(name.as_bytes()) {
                    Some(i) => i,
                    None => self.add(name.as_bytes())?,
                };
                self.items[i].see(lines.line, value);
            }
        }
        let name = &lines.feed.name;
        if self.items.is_empty() {
            return Err(failure!("{name}: there is no line with a JSON object"));
        }
        self.check_guesses(name)
    }

    /// Checks that types can be guessed.
    fn check_guesses(&mut self, name: &FileName) -> Result {
        for column in &mut self.items {
            if column.seen < self.rows {
                column.guess.see(b"", false);
            }
            let Some(line) = column.wrong else { continue };
            let column = &column.name;
            let (position, option) = match self.bare {
                true => (String::new(), String::new()),
                false => (format!(", column '{column}'"), format!("{column}=")),
            };
            return Err(failure!(
                "{name}: line {line}{position}: lists of different lengths, and objects, need an explicit type, \
                 --dtypes {option}\"('<f8', (3,))\""
            ));
        }
        Ok(())
    }

    // ---- the frame

    fn frame(&self) -> Result<Frame> {
        let mut frame = Frame { bare: self.bare, ..Frame::default() };
        for column in &self.items {
            let (path, name) = (self.path, &column.name);
            let dtype = column.dtype.clone().unwrap_or_else(|| column.guess.dtype());
            let is_guessed = column.dtype.is_none();
            let has_texts = is_guessed && self.options.long_texts && column.guess.is_text();
            if has_texts || dtype == "T" && self.options.long_texts {
                let item = ItemType { kind: ItemKind::Text, big_endian: false, size: 0 };
                frame.add(name, &item, &[])?;
                continue;
            }
            let item = ItemType::parse(&dtype).ok().filter(|item| !item.has_objects());
            let Some(item) = item else {
                let column = if self.bare { String::new() } else { format!("column '{name}': ") };
                return Err(failure!(
                    "{path}: {column}rows of text do not become items of '{dtype}'"
                ));
            };
            let (of, shape) = frame::split(&item);
            frame.add(name, of, column.shape.as_deref().unwrap_or(&shape))?;
        }
        Ok(frame)
    }
}

/// Checks the first line of the rows of an array: a file without one would lose its first row.
fn check_numbered(csv: &Csv) -> Result {
    for (i, field) in csv.fields().enumerate() {
        let name = field_name(i);
        if field != name.as_bytes() {
            let (file, field) = (&csv.feed.name, String::from_utf8_lossy(field));
            return Err(failure!(
                "{file}: line 1: '{field}' is not '{name}': CSV of an array begins with a line of names, f0,f1,.. \
                 (--no-header if it has none)"
            ));
        }
    }
    Ok(())
}

impl Named {
    fn see(&mut self, line: u64, value: &RawValue) {
        self.seen += 1;
        if self.dtype.is_some() || self.wrong.is_some() {
            return;
        }
        let shape = self.shape.get_or_insert_with(|| measure(value));
        if !see_items(&mut self.guess, value, shape) {
            self.wrong = Some(line);
        }
    }
}

/// The shape of a value, as its first items have it.
fn measure(value: &RawValue) -> Vec<u64> {
    let (mut shape, mut value) = (Vec::new(), value);
    while value.get().starts_with('[') && shape.len() < MAX_NDIM - 1 {
        let items = jsonl::items(value);
        shape.push(items.len() as u64);
        let Some(first) = items.first() else { break };
        value = first;
    }
    shape
}

/// Takes the items of a value into account. Returns `false` if it has another shape.
fn see_items(guess: &mut Guess, value: &RawValue, shape: &[u64]) -> bool {
    let text = value.get();
    match shape.split_first() {
        Some((n, rest)) if text.starts_with('[') => {
            let items = jsonl::items(value);
            items.len() as u64 == *n && items.iter().all(|item| see_items(guess, item, rest))
        }
        Some(_) => false,
        None if text.starts_with(['[', '{']) => false,
        None => {
            match text {
                // half of a surrogate pair is no text: no type holds it, and loading says so
                text if text.starts_with('"') => {
                    guess.see(parse::json_string(text).unwrap_or_default().as_bytes(), true);
                }
                "null" => guess.see(b"", false),
                text => guess.see(text.as_bytes(), false),
            }
            true
        }
    }
}
