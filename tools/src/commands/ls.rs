//! `holdall ls` and `holdall tree`: the containers below a folder, and the columns of tables.
//!
//! With `--json`, one list of objects, in the order of their paths:
//!
//! - `path`, `format`, `kind`: strings, as `identify` prints them
//! - `dtype`: string, and `shape`: list of numbers; of an array
//! - `rows`: number, and `columns`: list of `{"name", "dtype", "shape"}`; of a table

use super::content::columns;
use crate::array::dataset::{Content, Dataset};
use crate::cli::Ls;
use crate::cli::groups::{FrameInput, Reading};
use crate::detect::{self, Container};
use crate::failure::{Exit, Failure, Result, system};
use crate::output::Output;
use crate::report::{plural, printable};
use crate::{options, report};
use holdall::{Array, Format, Table};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// Folders in folders: deeper ones are ignored.
const DEPTH: usize = 64;

/// A container that was found.
pub struct Found {
    pub path: String,
    /// Relative to the folder that was given.
    pub shown: String,
    pub format: Format,
    /// `None`: a superchunk.
    pub dataset: Option<Dataset>,
}

/// Calls a function with each container below a path, and reports those that cannot be opened.
pub struct Walk<'a, F> {
    pub reading: &'a Reading,
    pub each: F,
    pub has_failed: bool,
}

/// Joins names without a redundant separator.
fn joined(folder: &str, name: &str) -> String {
    match folder.is_empty() || folder.ends_with('/') {
        true => format!("{folder}{name}"),
        false => format!("{folder}/{name}"),
    }
}

/// The names in a folder, sorted, without hidden ones.
fn names_in(path: &str) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(path).map_err(system(path))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    Ok(names)
}

impl<F: FnMut(Found) -> Result> Walk<'_, F> {
    /// Walks from a path. What it shows is relative to a folder that is no container.
    pub fn run(&mut self, path: &str) -> Result {
        let is_plain = Path::new(path).is_dir() && detect::container(path, None) == Container::Bag;
        self.visit(path, if is_plain { "" } else { path }, 0)
    }

    /// Reports a failure to read one of them; others go on.
    fn reported<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(Failure::Message(text)) => {
                self.has_failed = true;
                report::error(&text);
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// Visits a container, a folder that may have some, or a file that may be one. Links are not
    /// followed.
    fn visit(&mut self, path: &str, shown: &str, depth: usize) -> Result {
        let about = match depth {
            0 => std::fs::metadata(path),
            _ => std::fs::symlink_metadata(path),
        };
        let Some(about) = self.reported(about.map_err(system(path)))? else {
            return Ok(());
        };
        if !about.is_dir() && !about.is_file() {
            return Ok(());
        }
        let options = options::reading(self.reading);
        let read = || Dataset::read(path, &FrameInput::default(), options);
        let found = |format, dataset| Found {
            path: path.to_owned(),
            shown: shown.to_owned(),
            format,
            dataset,
        };
        match detect::format(path, None) {
            Some(Format::B2Frame) => (self.each)(found(Format::B2Frame, None)),
            Some(Format::Bloscpack) if about.is_file() => {
                let array = Array::open(path).ok();
                let dataset = array.map(|array| Dataset::of_array(path, array));
                (self.each)(found(Format::Bloscpack, dataset))
            }
            Some(format) if detect::is_frame(format) => (self.each)(found(format, read().ok())),
            _ if about.is_file() => Ok(()),
            _ if detect::container(path, None) == Container::Dataset => {
                match self.reported(read())? {
                    Some(dataset) => (self.each)(found(dataset.format, Some(dataset))),
                    None => Ok(()),
                }
            }
            _ if depth < DEPTH => {
                for name in self.reported(names_in(path))?.unwrap_or_default() {
                    self.visit(&joined(path, &name), &joined(shown, &name), depth + 1)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The shape in brackets: `[5, 2]`.
pub fn shape(array: &Array) -> String {
    format!("{:?}", array.shape())
}

/// The members of a column or an array.
pub fn array_members(array: &Array) -> Map<String, Json> {
    let members = [("dtype", json!(array.dtype())), ("shape", json!(array.shape()))];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

/// The columns of a table as JSON.
pub fn column_members(table: &Table) -> Json {
    let member = |(name, array)| {
        let mut column = Map::from_iter([("name".to_owned(), json!(name))]);
        column.append(&mut array_members(array));
        Json::Object(column)
    };
    columns(table).map(member).collect()
}

impl Found {
    pub fn kind(&self) -> &'static str {
        match self.dataset.as_ref().map(|dataset| &dataset.content) {
            None => "schunk",
            Some(Content::Array(_)) => "array",
            Some(Content::Table(_)) => "table",
        }
    }

    fn json(&self) -> Json {
        let format = detect::format_name(self.format);
        let mut all = json!({"path": self.path, "format": format, "kind": self.kind()});
        if let (Json::Object(all), Some(dataset)) = (&mut all, &self.dataset) {
            match &dataset.content {
                Content::Array(array) => all.append(&mut array_members(array)),
                Content::Table(table) => {
                    all.insert("rows".to_owned(), json!(table.rows()));
                    all.insert("columns".to_owned(), column_members(table));
                }
            }
        }
        all
    }

    /// What stands after the name.
    pub fn summary(&self) -> String {
        let about = match self.dataset.as_ref().map(|dataset| &dataset.content) {
            None => String::new(),
            Some(Content::Array(array)) => {
                format!("  {} {}", printable(&array.dtype()), shape(array))
            }
            Some(Content::Table(table)) => {
                format!("  {} row{}", table.rows(), plural(table.rows()))
            }
        };
        format!("{} {}{about}", detect::format_name(self.format), self.kind())
    }

    fn print(&self, output: &mut Output) -> Result {
        output.line(format_args!("{}  {}", printable(&self.shown), self.summary()))?;
        let Some(table) = self.dataset.as_ref().and_then(Dataset::table) else {
            return Ok(());
        };
        for (name, array) in columns(table) {
            let (name, dtype) = (printable(name), printable(&array.dtype()));
            output.line(format_args!("  {name}  {dtype} {}", shape(array)))?;
        }
        Ok(())
    }
}

pub fn run(args: &Ls) -> Result<Exit> {
    let (mut output, mut is_first) = (Output::standard(), true);
    if args.json {
        output.text("[")?;
    }
    let each = |found: Found| {
        if !args.json {
            return found.print(&mut output);
        }
        let separator = if is_first { "" } else { "," };
        is_first = false;
        output.text(format_args!("{separator}\n  {}", found.json()))
    };
    let mut walk = Walk { reading: &args.reading, each, has_failed: false };
    walk.run(&args.path)?;
    let has_failed = walk.has_failed;
    if args.json {
        output.line(if is_first { "]" } else { "\n]" })?;
    }
    output.finish(Exit::damaged(has_failed))
}
