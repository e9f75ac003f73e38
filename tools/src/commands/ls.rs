//! `holdall ls`, and the walk that it shares with `holdall tree`.
//!
//! With `--json`, one list of objects, in the order of their paths:
//!
//! - `path`, `format`, `kind`: strings, as `identify` prints them
//! - `records`: number; of a bag
//! - `dtype`: string, and `shape`: list of numbers; of an array
//! - `rows`: number, and `columns`: list of `{"name", "dtype", "shape"}`; of a table

use crate::cli::Ls;
use crate::cli::groups::Reading;
use crate::content::{Content, column_members, columns};
use crate::detect::{self, Container};
use crate::failure::{Exit, Failure, Result, library, system};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::{plural, printable};
use crate::{options, report};
use holdall::{BagLimits, Options, Store};
use serde_json::{Value as Json, json};

/// Folders in folders: deeper ones are ignored.
const DEPTH: usize = 64;

/// A container that was found.
pub struct Found {
    pub path: FileName,
    /// Relative to the folder that was given.
    pub shown: FileName,
    pub content: Content,
}

/// Calls a function with each container below a path, and reports those that cannot be opened.
pub struct Walk<F> {
    options: Options,
    each: F,
    has_failed: bool,
}

/// The names in a folder, sorted, without hidden ones.
fn names_in(path: &FileName) -> Result<Vec<FileName>> {
    let entries = std::fs::read_dir(path).map_err(system(path))?;
    let names = entries.filter_map(|entry| Some(FileName::from(entry.ok()?.file_name())));
    let mut names: Vec<FileName> = names.filter(|name| !name.bytes().starts_with(b".")).collect();
    names.sort_unstable();
    Ok(names)
}

fn exists(path: Vec<u8>) -> bool {
    FileName::from(path).path().exists()
}

/// Returns whether a file has the name of a bag. The limits and the checksums of a bag are files of
/// their own: they are part of it.
fn is_named_bag(path: &FileName) -> bool {
    let (folder, name) = path.split();
    let is_part = ["limits.", "checksums."]
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix.as_bytes()))
        .any(|bag| exists([folder, bag].concat()));
    detect::is_named_bag(path) && !is_part
}

impl<F: FnMut(Found) -> Result> Walk<F> {
    /// Walks from a path. What it shows is relative to a folder that is no container. Returns
    /// whether all containers were opened.
    pub fn run(path: &FileName, reading: &Reading, each: F) -> Result<bool> {
        let is_plain = path.path().is_dir() && detect::container(path, None) == Container::Bag;
        let options = options::reading(reading);
        let mut walk = Walk { options, each, has_failed: false };
        let shown = if is_plain { FileName::default() } else { path.clone() };
        walk.visit(path, &shown, 0)?;
        Ok(!walk.has_failed)
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
    fn visit(&mut self, path: &FileName, shown: &FileName, depth: usize) -> Result {
        let about = match depth {
            0 => std::fs::metadata(path),
            _ => std::fs::symlink_metadata(path),
        };
        if about.is_err() && detect::format(path, None).is_some() {
            // a node of an archive
            return self.open(path, shown, &self.options.clone());
        }
        let Some(about) = self.reported(about.map_err(system(path)))? else {
            return Ok(());
        };
        if !about.is_dir() && !about.is_file() {
            return Ok(());
        }
        if detect::container(path, None) == Container::Store {
            return self.visit_nodes(path, shown);
        }
        let mut options = self.options.clone();
        if detect::container(path, None) == Container::Bag {
            if about.is_dir() && depth < DEPTH {
                for name in self.reported(names_in(path))?.unwrap_or_default() {
                    self.visit(&path.join(&name), &shown.join(&name), depth + 1)?;
                }
                return Ok(());
            }
            if depth > 0 && !is_named_bag(path) {
                return Ok(());
            }
            let (folder, name) = path.split();
            if exists([folder, b"limits.", name].concat()) {
                options = options.bag_limits(BagLimits::Separate);
            }
        }
        self.open(path, shown, &options)
    }

    /// Visits the nodes of a store.
    fn visit_nodes(&mut self, path: &FileName, shown: &FileName) -> Result {
        let store = Store::open_with(path, &self.options).map_err(library(path));
        let Some(store) = self.reported(store)? else {
            return Ok(());
        };
        let options = self.options.clone();
        for node in store.nodes() {
            let name = FileName::from(node.trim_start_matches('/').as_bytes().to_vec());
            self.open(&path.join(&name), &shown.join(&name), &options)?;
        }
        Ok(())
    }

    fn open(&mut self, path: &FileName, shown: &FileName, options: &Options) -> Result {
        match self.reported(Content::open_with(path, None, options))? {
            Some(content) => {
                (self.each)(Found { path: path.clone(), shown: shown.clone(), content })
            }
            None => Ok(()),
        }
    }
}

impl Found {
    fn json(&self) -> Json {
        let [format, kind] = self.content.names();
        let mut all = json!({"path": self.path, "format": format, "kind": kind});
        match &self.content {
            Content::Schunk(_) => {}
            Content::Bag(bag) => all["records"] = json!(bag.len()),
            Content::Array(array) => {
                (all["dtype"], all["shape"]) = (json!(array.dtype()), json!(array.shape()));
            }
            Content::Table(table) => {
                (all["rows"], all["columns"]) = (json!(table.rows()), column_members(table, 0));
            }
        }
        all
    }

    /// What stands after the name.
    pub fn summary(&self) -> String {
        let n = self.content.len();
        let about = match &self.content {
            Content::Schunk(_) => String::new(),
            Content::Bag(_) => format!("  {n} record{}", plural(n)),
            Content::Array(array) => format!("  {} {:?}", printable(&array.dtype()), array.shape()),
            Content::Table(_) => format!("  {n} row{}", plural(n)),
        };
        self.content.names().join(" ") + &about
    }

    fn print(&self, output: &mut Output) -> Result {
        output.line(format_args!("{}  {}", self.shown, self.summary()))?;
        if let Content::Table(table) = &self.content {
            for (name, array) in columns(table) {
                let (name, dtype) = (printable(name), printable(&array.dtype()));
                output.line(format_args!("  {name}  {dtype} {:?}", array.shape()))?;
            }
        }
        Ok(())
    }
}

pub fn run(args: &Ls) -> Result<Exit> {
    let (mut output, mut separator) = (Output::standard(), "[");
    let is_complete = Walk::run(&args.path, &args.reading, |found: Found| {
        if !args.json {
            return found.print(&mut output);
        }
        output.text(format_args!("{separator}\n  {}", found.json()))?;
        separator = ",";
        Ok(())
    })?;
    if args.json {
        output.line(if separator == "[" { "[]" } else { "\n]" })?;
    }
    output.finish(Exit::damaged(!is_complete))
}
