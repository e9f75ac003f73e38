//! The first reading of a text file: the names of its columns, and the types that fit all rows.
//!
//! Rows of an array are one column without a name. JSON lines that are values are such rows; CSV is
//! if --dtypes is one type without a column name.

use super::csv::Csv;
use super::feed::TextFile;
use super::frame::{self, Frame};
use super::guess::Guess;
use super::jsonl::{self, Lines};
use super::load::{Text, TextOptions};
use super::parse;
use crate::failure;
use crate::failure::Result;
use holdall::ItemType;
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
    path: &'a str,
    options: &'a TextOptions<'a>,
    items: Vec<Named>,
    last: usize,
    rows: u64,
    /// An array: one column without a name.
    bare: bool,
}

/// Reads a text file once and adds its columns to a frame. Returns the number of rows.
pub fn find(frame: &mut Frame, file: &TextFile, options: &TextOptions) -> Result<u64> {
    let mut columns =
        Columns { path: &file.path, options, items: Vec::new(), last: 0, rows: 0, bare: false };
    match options.format {
        Text::Csv => columns.see_csv(&mut Csv::new(file.feed()?, options.delimiter))?,
        Text::Jsonl => columns.see_json(&mut Lines::new(file.feed()?))?,
    }
    columns.check_dtypes()?;
    columns.to_frame(frame)?;
    Ok(columns.rows)
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

impl Columns<'_> {
    fn bare_dtype(&self) -> Option<&str> {
        self.options.dtypes.filter(|dtypes| is_bare(dtypes))
    }

    fn given_dtype(&self, name: &str) -> Option<String> {
        let dtype = |part: &&str| part.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        let parts = parts(self.options.dtypes?);
        parts.iter().find_map(dtype)
    }

    /// Checks that --dtypes names columns.
    fn check_dtypes(&self) -> Result {
        let (path, Some(dtypes)) = (self.path, self.options.dtypes) else {
            return Ok(());
        };
        if self.bare {
            return if is_bare(dtypes) {
                Ok(())
            } else {
                Err(failure!(
                    "{path}: its lines have no columns; --dtypes \"('<f8', (3,))\" is the type of a row"
                ))
            };
        }
        for part in parts(dtypes).into_iter().filter(|part| !part.is_empty()) {
            let named = |column: &Named| {
                part.strip_prefix(&*column.name).is_some_and(|rest| rest.starts_with('='))
            };
            let Some((name, _)) = part.split_once('=') else {
                return Err(failure!("--dtypes: '{part}' is not COLUMN=DTYPE"));
            };
            if !self.items.iter().any(named) {
                return Err(failure!("{path}: there is no column '{name}', as --dtypes has it"));
            }
        }
        Ok(())
    }

    // ---- columns

    /// Finds a column, usually the one after the last.
    fn find(&mut self, name: &[u8]) -> Option<usize> {
        let count = self.items.len();
        let mut order = (1..=count).map(|i| (self.last + i) % count);
        let found = order.find(|i| self.items[*i].name.as_bytes() == name)?;
        self.last = found;
        Some(found)
    }

    fn add(&mut self, name: &[u8]) -> Result<usize> {
        let path = self.path;
        let Ok(name) = std::str::from_utf8(name) else {
            return Err(failure!("{path}: the name of a column is not UTF-8"));
        };
        if name.contains('\0') {
            return Err(failure!("{path}: the name of a column has a NUL in it"));
        }
        let bare = self.bare_dtype().map(str::to_owned);
        self.items.push(Named {
            name: name.to_owned(),
            dtype: bare.or_else(|| self.given_dtype(name)),
            guess: Guess::new(self.options.times),
            seen: 0,
            wrong: None,
            shape: None,
        });
        self.last = self.items.len() - 1;
        Ok(self.last)
    }

    fn add_bare(&mut self) -> Result<usize> {
        self.bare = true;
        self.add(b"")
    }

    // ---- CSV

    fn see_csv(&mut self, csv: &mut Csv) -> Result {
        let mut more = csv.next()?;
        if self.bare_dtype().is_some() {
            if self.options.header {
                check_numbered(csv)?;
                more = csv.next()?;
            }
            self.add_bare()?;
            while more {
                self.rows += 1;
                more = csv.next()?;
            }
            return Ok(());
        }
        if !more {
            let name = &csv.feed.name;
            return Err(failure!("{name}: there is no line with the names of the columns"));
        }
        if self.options.header {
            self.read_names(csv)?;
            more = csv.next()?;
        } else {
            (0..csv.len()).try_for_each(|i| self.add(field_name(i).as_bytes()).map(drop))?;
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

    fn read_names(&mut self, csv: &Csv) -> Result {
        for name in csv.fields() {
            if self.find(name).is_some() {
                let (file, name) = (&csv.feed.name, String::from_utf8_lossy(name));
                return Err(failure!("{file}: line 1: two columns are called '{name}'"));
            }
            self.add(name)?;
        }
        Ok(())
    }

    // ---- JSON lines

    fn see_json(&mut self, lines: &mut Lines) -> Result {
        if self.bare_dtype().is_some() {
            self.add_bare()?;
        }
        while lines.next()? {
            if self.rows == 0 && !self.bare && !lines.is_object() {
                lines.value()?;
                self.add_bare()?;
            }
            self.rows += 1;
            if self.bare {
                let value = lines.value()?;
                if let Some(column) = self.items.first_mut() {
                    column.see(lines.line, value);
                }
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
    fn check_guesses(&mut self, name: &str) -> Result {
        for column in &mut self.items {
            if column.seen < self.rows {
                column.guess.see(b"", false);
            }
            let Some(line) = column.wrong else { continue };
            let column = &column.name;
            let (position, option) = if self.bare {
                (String::new(), String::new())
            } else {
                (format!(", column '{column}'"), format!("{column}="))
            };
            return Err(failure!(
                "{name}: line {line}{position}: lists of different lengths, and objects, need an explicit type, \
                 --dtypes {option}\"('<f8', (3,))\""
            ));
        }
        Ok(())
    }

    // ---- the frame

    fn to_frame(&self, frame: &mut Frame) -> Result {
        frame.bare = self.bare;
        for column in &self.items {
            let guessed = column.guess.dtype();
            let spelled = column.dtype.as_deref().unwrap_or(&guessed);
            let item = ItemType::parse(spelled).ok().filter(|item| !item.has_objects());
            let Some(item) = item else {
                let (path, name) = (self.path, &column.name);
                let column = if self.bare { String::new() } else { format!("column '{name}': ") };
                return Err(failure!(
                    "{path}: {column}rows of text do not become items of '{spelled}'"
                ));
            };
            match &column.shape {
                Some(shape) => frame.add(&column.name, &item, shape)?,
                None => {
                    let (item, shape) = frame::split(&item);
                    frame.add(&column.name, item, &shape)?;
                }
            }
        }
        Ok(())
    }
}

/// The name of a column that has none in the file.
pub fn field_name(i: usize) -> String {
    format!("f{i}")
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
        let shape = self.shape.take().unwrap_or_else(|| measure(value));
        if !see_items(&mut self.guess, value, &shape) {
            self.wrong = Some(line);
        }
        self.shape = Some(shape);
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
    let Some((n, rest)) = shape.split_first() else {
        if text.starts_with(['[', '{']) {
            return false;
        }
        match text {
            // half of a surrogate pair is no text: no type holds it, and loading says so
            text if text.starts_with('"') => {
                guess.see(parse::json_string(text).unwrap_or_default().as_bytes(), true);
            }
            "null" => guess.see(b"", false),
            text => guess.see(text.as_bytes(), false),
        }
        return true;
    };
    if !text.starts_with('[') {
        return false;
    }
    let items = jsonl::items(value);
    items.len() as u64 == *n && items.iter().all(|item| see_items(guess, item, rest))
}
