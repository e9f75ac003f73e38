//! The files that a dataset consists of, and files of others in its folder.

use crate::cli::Info;
use crate::content::{Content, columns, in_c_order};
use crate::failure::{Result, system};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::printable;
use crate::{detect, failure};
use holdall::{Array, Format};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::fs;

/// The most missing chunks that are listed.
const MOST_MISSING: u64 = 1 << 16;

/// A file or folder in a dataset. A folder is named for what it contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Unknown,
    /// A hidden file, or a lock or a journal of the library.
    Hidden,
    Own,
    /// A file in `meta` that is none of the format.
    Extra,
    Array,
    Table,
    Columns,
    Chunks,
    Meta,
    Frame,
}

/// Files by name; the size of an own one is None if it is missing.
struct Files<'a> {
    path: &'a FileName,
    content: &'a Content,
    own: Vec<(String, Option<u64>)>,
    extra: Vec<String>,
    unknown: Vec<String>,
}

/// Returns whether a name is `__0.blp`, or `__1__.bin` in the BLZ RFC layout.
fn is_chunk(name: &str) -> bool {
    let number = name
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix(".blp").or(rest.strip_suffix("__.bin")));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

impl<'a> Files<'a> {
    fn of(path: &'a FileName, content: &'a Content) -> Result<Files<'a>> {
        let (own, extra, unknown) = (Vec::new(), Vec::new(), Vec::new());
        let mut files = Files { path, content, own, extra, unknown };
        let folder = match content {
            _ if detect::is_frame(content.format()) => Part::Frame,
            Content::Table(_) => Part::Table,
            _ => Part::Array,
        };
        files.find("", folder)?;
        Ok(files)
    }

    fn find(&mut self, below: &str, folder: Part) -> Result {
        let path = self.path.path().join(below);
        let failed = |error| system(&path.to_string_lossy())(error);
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(()),
            entries => entries.map_err(failed)?,
        };
        let (mut names, mut is_of_fields) = (HashSet::new(), false);
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let inside = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            match self.part(folder, &name) {
                Part::Hidden => {}
                Part::Own => {
                    let size = fs::metadata(entry.path()).map_err(failed)?.len();
                    self.own.push((inside, Some(size)));
                }
                Part::Extra => {
                    let about = fs::metadata(entry.path()).map_err(failed)?;
                    match about.is_file() {
                        true => {
                            self.own.push((inside.clone(), Some(about.len())));
                            self.extra.push(inside);
                        }
                        false => self.unknown.push(inside),
                    }
                }
                Part::Unknown => self.unknown.push(inside),
                part => {
                    is_of_fields |= folder == Part::Chunks;
                    self.find(&inside, part)?;
                }
            }
            names.insert(name);
        }
        if folder == Part::Chunks && !is_of_fields {
            self.find_missing(below, &names)?;
        }
        Ok(())
    }

    /// Finds the chunks that are not in a folder of chunks.
    fn find_missing(&mut self, below: &str, names: &HashSet<String>) -> Result {
        let array = match self.content.table() {
            None => self.content.array(),
            Some(table) => below.split('/').find_map(|name| table.column(name)),
        };
        let length =
            array.and_then(|array| Some((array.shape().first()?, array.chunk_shape().first()?)));
        let chunks = length.map_or(0, |(rows, chunk)| rows.div_ceil((*chunk).max(1)));
        let stored = names.iter().filter(|name| is_chunk(name)).count() as u64;
        if chunks.saturating_sub(stored) > MOST_MISSING {
            let path = self.path;
            return Err(failure!("{path}: more than {MOST_MISSING} chunks are missing"));
        }
        let expected: Vec<String> = match self.content.format() {
            // chunks of some columns are larger
            Format::BlzRfc => (1..=stored).map(|i| format!("__{i}__.bin")).collect(),
            _ => (0..chunks).map(|i| format!("__{i}.blp")).collect(),
        };
        let missing = expected.into_iter().filter(|name| !names.contains(name));
        self.own.extend(missing.map(|name| (format!("{below}/{name}"), None)));
        Ok(())
    }

    /// What a name in a folder of the dataset is.
    fn part(&self, folder: Part, name: &str) -> Part {
        let rfc = self.content.format() == Format::BlzRfc;
        let own = |is_own| if is_own { Part::Own } else { Part::Unknown };
        let column = |part| {
            let table = self.content.table();
            if table.is_some_and(|table| table.column(name).is_some()) {
                part
            } else {
                Part::Unknown
            }
        };
        if name.starts_with('.') || name.contains(".holdall-") {
            return Part::Hidden;
        }
        match folder {
            Part::Frame => own(name == "chunks.b2frame" || name.ends_with(".chunk")),
            Part::Meta if ["sizes", "storage", "attributes"].contains(&name) => Part::Own,
            Part::Meta => Part::Extra,
            Part::Chunks if rfc && !is_chunk(name) && self.has_field(name) => Part::Chunks,
            Part::Chunks => own(is_chunk(name)),
            Part::Columns => column(Part::Chunks),
            Part::Table => match name {
                "__rootdirs__" | "__attrs__" => Part::Own,
                // the BLZ RFC layout has the columns of a table in `data`
                "data" if rfc => Part::Columns,
                "meta" if rfc => Part::Meta,
                _ => column(Part::Array),
            },
            _ => match name {
                "data" => Part::Chunks,
                "meta" => Part::Meta,
                _ => own(name == "__attrs__"),
            },
        }
    }

    /// Returns whether an item has a field of this name: the BLZ RFC layout has a folder for it.
    fn has_field(&self, name: &str) -> bool {
        let names = |array: &Array| {
            let dtype = array.dtype();
            ['\'', '"'].iter().any(|quote| dtype.contains(&format!("{quote}{name}{quote}")))
        };
        self.content.array().is_some_and(names)
            || self
                .content
                .table()
                .is_some_and(|table| columns(table).any(|(_, array)| names(array)))
    }
}

/// Refuses a dataset in whose folder are files of others, which a copy would lack.
/// Further files in `meta` are copied from an array to one in a folder, between tables in the BLZ RFC
/// layout, and, those of columns, between other tables.
pub fn refuse_unknown(path: &FileName, content: &Content, to: Option<Format>) -> Result {
    let format = content.format();
    // what else is in the store of a CTable is no part of the table
    if detect::is_frame(format) || format == Format::CTable || path.is_standard() {
        return Ok(());
    }
    let Files { mut unknown, extra, .. } = Files::of(path, content)?;
    let is_copied = match content {
        Content::Table(table) if table.format() == Format::BlzRfc => to == Some(Format::BlzRfc),
        Content::Table(_) => matches!(to, Some(Format::Bcolz | Format::Blz)),
        Content::Array(array) if in_c_order(array) => {
            matches!(to, Some(Format::Bcolz | Format::Blz | Format::BlzRfc))
        }
        _ => false,
    };
    if !is_copied {
        unknown.extend(extra);
    }
    match unknown {
        unknown if unknown.is_empty() => Ok(()),
        unknown => Err(failure!(
            "{path}: {}: of these files convert knows nothing, and the copy would not have them; move them away first",
            unknown.join(", ")
        )),
    }
}

/// Prints the files of a dataset, for `holdall info --files`.
pub fn print(args: &Info, content: &Content, output: &mut Output) -> Result {
    let path = &args.path;
    if path.is_standard() {
        return Err(failure!("{path}: --files is for datasets in folders"));
    }
    if content.format() == Format::CTable {
        return Err(failure!("{path}: --files: a CTable has nodes (holdall tree)"));
    }
    let about = fs::metadata(path).map_err(system(path))?;
    let mut files = match about.is_file() {
        true => vec![(String::from_utf8_lossy(path.split().1).into_owned(), Some(about.len()))],
        false => Files::of(path, content)?.own,
    };
    files.sort();
    if args.json {
        let file = |(name, size): &(String, Option<u64>)| json!({ "name": name, "bytes": size });
        let files: Vec<Json> = files.iter().map(file).collect();
        return output.line(json!({ "files": files }));
    }
    files.iter().try_for_each(|(name, size)| {
        let missing = if size.is_none() { " (missing)" } else { "" };
        output.line(format_args!("{}{missing}", printable(name)))
    })
}
