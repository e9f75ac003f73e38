//! `holdall index`: in which records of a bag some content is.

use super::records::{Batch, Sink};
use super::{Access, parser};
use crate::cli::groups::Sync;
use crate::cli::{Index, IndexAction, IndexOptions};
use crate::failure::{Exit, Result, library, library_with};
use crate::file_name::FileName;
use crate::files::Input;
use crate::output::Output;
use crate::report::{self, plural, printable};
use crate::rows::frame::names;
use crate::{create, detect, options, progress, signals, usage};
use holdall::{Bag, BagIndex, FileAccess, Kind, Options, Status, Table};
use serde_json::json;
use std::os::unix::ffi::OsStrExt;

/// The path of the index: NAME.index beside a bag NAME.
fn index_path(options: &IndexOptions, bag: &FileName) -> FileName {
    match &options.index {
        Some(path) => path.clone(),
        None => bag.with_suffix(".index"),
    }
}

fn open_bag(options: &IndexOptions, path: &FileName) -> Result<Bag> {
    Access::new(&options.reading, &options.bag.read, &options.bag.codec)?.open(path)
}

pub fn run(index: &Index) -> Result<Exit> {
    match &index.action {
        IndexAction::Build { options, sync, force, columns, bag } => {
            match detect::identify(bag, None) {
                Ok((_, Kind::Table)) => build_columns(options, sync, columns.as_deref(), bag),
                _ if columns.is_some() => Err(usage!("--columns is for tables")),
                _ => build(options, sync, *force, bag),
            }
        }
        IndexAction::Find { options, keys, json, bag, key } => {
            if key.is_empty() != keys.is_some() {
                return Err(usage!("find wants keys, or a file of them with --keys"));
            }
            let mut output = Output::standard();
            let mut finder = Finder {
                index: open_index(options, &index_path(options, bag), &open_bag(options, bag)?)?,
                index_path: index_path(options, bag),
                path: bag,
                output: &mut output,
                json: *json,
                absent: 0,
            };
            if let Some(keys) = keys {
                finder.find_lines(keys)?;
            }
            key.iter().try_for_each(|one| finder.find_all(one.as_bytes(), key.len() > 1))?;
            let absent = finder.absent;
            output.finish(Exit::damaged(absent > 0))
        }
    }
}

/// Adds indexes to columns of a table.
fn build_columns(
    given: &IndexOptions,
    sync: &Sync,
    columns: Option<&str>,
    path: &FileName,
) -> Result<Exit> {
    if given.index.is_some() {
        return Err(usage!("--index is for bags: the index of a table is in its folder"));
    }
    let options = options::sync(options::reading(&given.reading), sync);
    let mut table = Table::open_for_writing(path, &options).map_err(library(path))?;
    let columns = columns.map(|list| names(path, list)).transpose()?;
    let built = table.build_index(columns.as_deref()).and_then(|()| table.commit());
    built.map_err(library(path))?;
    Ok(Exit::Done)
}

fn build(given: &IndexOptions, sync: &Sync, force: bool, path: &FileName) -> Result<Exit> {
    let index = index_path(given, path);
    if index.is_standard() {
        return Err(usage!("--index names a file that is written in place: not '-'"));
    }
    signals::catch();
    progress::begin("index");
    let bag = open_bag(given, path)?;
    let options = options::sync(Options::new().progress(progress::report), sync);
    let options = options::given(options, given.reading.threads, Options::threads);
    let options = options::given(options, given.reading.memory_limit, Options::memory_limit);
    let options = options.skip_corrupt(given.skip_damaged);
    let built = create!(BagIndex, &index, force, &bag, &options)?;
    progress::end();
    let (keys, records, damaged) = (built.key_count(), bag.len(), built.corrupt());
    let (s, of) = (plural(keys), plural(records));
    report::note(&format!("{index}: {keys} key{s} in {records} record{of}"));
    if damaged > 0 {
        report::error(&format!("{index}: {damaged} damaged record{} left out", plural(damaged)));
    }
    Ok(Exit::damaged(damaged > 0))
}

fn open_index(given: &IndexOptions, path: &FileName, bag: &Bag) -> Result<BagIndex> {
    let mut options = Options::new().skip_corrupt(given.skip_damaged);
    if given.reading.map {
        options = options.file_access(FileAccess::Map);
    }
    BagIndex::open_with(path, bag, &options).map_err(|error| {
        let again = matches!(error.status(), Status::Missing | Status::State);
        library_with(path, &error, if again { " (index build makes it)" } else { "" })
    })
}

struct Finder<'a, 'o> {
    index: BagIndex,
    index_path: FileName,
    path: &'a FileName,
    output: &'a mut Output<'o>,
    json: bool,
    /// Keys that no record equals.
    absent: u64,
}

impl Finder<'_, '_> {
    /// Prints the records of a key, each on a line; of several keys, followed by the key.
    fn find_all(&mut self, key: &[u8], is_named: bool) -> Result {
        let found = self.index.find(key).map_err(library(&self.index_path))?;
        let name = String::from_utf8_lossy(key);
        if found.is_empty() {
            report::error(&format!("{}: no record is '{}'", self.path, printable(&name)));
            self.absent += 1;
        }
        if self.json {
            return self.output.line(json!({"key": name, "records": found}));
        }
        for number in found {
            self.output.text(number)?;
            if is_named {
                self.output.bytes(b"\t")?;
                self.output.bytes(key)?;
            }
            self.output.bytes(b"\n")?;
        }
        Ok(())
    }

    fn find_lines(&mut self, keys: &FileName) -> Result {
        let mut input = Input::open(keys, None)?;
        let found = parser::each_line(&mut input, self);
        // the results before a failure are printed
        self.output.flush()?;
        found?;
        if self.absent > 0 {
            let text = format!("{}: no record is {} of the keys", self.path, self.absent);
            report::error(&text);
        }
        Ok(())
    }
}

/// Finds the first record of each of many keys, and prints it on a line of its own.
impl Sink for Finder<'_, '_> {
    fn take(&mut self, keys: Batch) -> Result {
        let keys: Vec<&[u8]> = keys.iter().collect();
        let found = self.index.find_many(&keys).map_err(library(&self.index_path))?;
        for (key, number) in keys.iter().zip(found) {
            self.absent += u64::from(number.is_none());
            match number {
                _ if self.json => {
                    let key = String::from_utf8_lossy(key);
                    self.output.line(json!({"key": key, "record": number}))?;
                }
                Some(number) => self.output.line(number)?,
                None => self.output.line("none")?,
            }
        }
        Ok(())
    }
}
