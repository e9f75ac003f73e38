//! Open datasets: arrays and tables, in folders, in frames or in Bloscpack files.

use super::attributes;
use crate::cli::groups::FrameInput;
use crate::failure::{Result, library, system};
use crate::superchunk::source::Damage;
use crate::{detect, failure, options};
use holdall::{Array, Format, Kind, Options, Order, Table};
use std::path::Path;

pub enum Content {
    Array(Array),
    Table(Table),
}

pub struct Dataset {
    pub path: String,
    /// The offset of the frame in a larger file.
    pub at: Option<u64>,
    pub format: Format,
    pub content: Content,
}

/// Returns whether the items are Python objects, which have no size.
pub fn has_objects(array: &Array) -> bool {
    array.item_size() == 0 && array.dtype() == "|O"
}

/// Returns whether the items are stored in C order.
pub fn in_c_order(array: &Array) -> bool {
    array.order() == Order::C || array.shape().len() < 2
}

impl Dataset {
    /// Opens what is at a path for reading.
    pub fn read(path: &str, frame: &FrameInput, options: Options) -> Result<Dataset> {
        let (format, kind) = detect::identify(path, frame.at).map_err(library(path))?;
        let options = options::frame(options, frame);
        let content = match kind {
            Kind::Table => Table::open_with(path, &options).map(Content::Table),
            _ => Array::open_with(path, &options).map(Content::Array),
        };
        Dataset::of(path, frame.at, format, content)
    }

    /// The same; with `skip_damaged`, damage reads as zeros. That outside of chunks of a Bloscpack
    /// file is reported.
    pub fn read_skipping(
        path: &str,
        frame: &FrameInput,
        options: Options,
        skip_damaged: bool,
    ) -> Result<(Dataset, Damage)> {
        let damage = match detect::format(path, frame.at) {
            Some(Format::Bloscpack) => Damage::of(path, &options, skip_damaged)?,
            _ => Damage::new(path),
        };
        Ok((Dataset::read(path, frame, options.skip_corrupt(skip_damaged))?, damage))
    }

    /// Opens what is at a path for reading and changes.
    pub fn open_for_writing(path: &str, options: &Options) -> Result<Dataset> {
        let (format, kind) = detect::identify(path, None).map_err(library(path))?;
        let content = match kind {
            Kind::Table => Table::open_for_writing(path, options).map(Content::Table),
            _ => Array::open_for_writing(path, options).map(Content::Array),
        };
        Dataset::of(path, None, format, content)
    }

    fn of(
        path: &str,
        at: Option<u64>,
        format: Format,
        content: holdall::Result<Content>,
    ) -> Result<Dataset> {
        Ok(Dataset { path: path.to_owned(), at, format, content: content.map_err(library(path))? })
    }

    /// Wraps the array in a Bloscpack file, or an array that is about to be written.
    pub fn of_array(path: &str, array: Array) -> Dataset {
        Dataset {
            path: path.to_owned(),
            at: None,
            format: array.format(),
            content: Content::Array(array),
        }
    }

    pub fn array(&self) -> Option<&Array> {
        match &self.content {
            Content::Array(array) => Some(array),
            Content::Table(_) => None,
        }
    }

    pub fn table(&self) -> Option<&Table> {
        match &self.content {
            Content::Array(_) => None,
            Content::Table(table) => Some(table),
        }
    }

    /// The number of rows; an array without dimensions has one.
    pub fn rows(&self) -> u64 {
        match &self.content {
            Content::Array(array) => array.shape().first().copied().unwrap_or(1),
            Content::Table(table) => table.rows(),
        }
    }

    // ---- attributes

    pub fn attribute_names(&self) -> Vec<&str> {
        match &self.content {
            Content::Array(array) => array.attribute_names(),
            Content::Table(table) => table.attribute_names(),
        }
    }

    /// Returns an attribute as it is stored.
    pub fn stored_attribute(&self, name: &str) -> Result<&[u8]> {
        let value = match &self.content {
            Content::Array(array) => array.attribute(name),
            Content::Table(table) => table.attribute(name),
        };
        let missing = || failure!("{}: there is no attribute '{name}'", self.path);
        value.map_err(library(&self.path))?.ok_or_else(missing)
    }

    /// Returns an attribute as JSON, or as what others stored that should be JSON.
    pub fn attribute(&self, name: &str) -> Result<String> {
        let stored = self.stored_attribute(name)?;
        Ok(if detect::is_frame(self.format) {
            attributes::stored_to_json(stored)
        } else {
            String::from_utf8_lossy(stored).into_owned()
        })
    }

    /// Sets an attribute to a value that is stored as it is.
    pub fn set_stored_attribute(&mut self, name: &str, value: &[u8]) -> Result {
        let set = match &mut self.content {
            Content::Array(array) => array.set_attribute(name, value),
            Content::Table(table) => table.set_attribute(name, value),
        };
        set.map_err(library(&self.path))
    }

    /// Sets an attribute to a value that is JSON.
    pub fn set_attribute(&mut self, name: &str, json: &str) -> Result {
        if detect::is_frame(self.format) {
            let packed = attributes::from_json(json)?;
            return self.set_stored_attribute(name, &packed);
        }
        self.set_stored_attribute(name, json.as_bytes())
    }

    pub fn remove_attribute(&mut self, name: &str) -> Result {
        let removed = match &mut self.content {
            Content::Array(array) => array.remove_attribute(name),
            Content::Table(table) => table.remove_attribute(name),
        };
        removed.map_err(library(&self.path))
    }

    pub fn commit(&mut self) -> Result {
        let committed = match &mut self.content {
            Content::Array(array) => array.commit(),
            Content::Table(table) => table.commit(),
        };
        committed.map_err(library(&self.path))
    }

    // ---- files

    /// Refuses a dataset in whose folder are files of others, which a copy would lack.
    pub fn refuse_unknown_files(&self) -> Result {
        if detect::is_frame(self.format) || self.format == Format::Bloscpack {
            return Ok(());
        }
        let folder = match &self.content {
            Content::Array(_) => Part::Array,
            Content::Table(_) => Part::Table,
        };
        let mut unknown = Vec::new();
        self.find_unknown("", folder, &mut unknown)?;
        if unknown.is_empty() {
            return Ok(());
        }
        Err(failure!(
            "{}: {}: of these files convert knows nothing, and the copy would not have them; move them away first",
            self.path,
            unknown.join(", ")
        ))
    }

    fn find_unknown(&self, below: &str, folder: Part, unknown: &mut Vec<String>) -> Result {
        let path = Path::new(&self.path).join(below);
        let failed = |error| system(&path.to_string_lossy())(error);
        let entries = match std::fs::read_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(()),
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            let inside = match below {
                "" => name.to_string(),
                below => format!("{below}/{name}"),
            };
            match self.part(folder, &name) {
                Part::Own => {}
                Part::Unknown => unknown.push(inside),
                part => self.find_unknown(&inside, part, unknown)?,
            }
        }
        Ok(())
    }

    /// What a name in a folder of the dataset is.
    fn part(&self, folder: Part, name: &str) -> Part {
        let rfc = self.format == Format::BlzRfc;
        let own = |is_own| if is_own { Part::Own } else { Part::Unknown };
        let column = |part| {
            if self.has_column(name) { part } else { Part::Unknown }
        };
        // hidden files, and locks and journals of the library
        if name.starts_with('.') || name.contains(".holdall-") {
            return Part::Own;
        }
        match folder {
            Part::Meta => own(["sizes", "storage", "attributes"].contains(&name)),
            Part::Chunks if rfc && !is_chunk(name) && self.has_field(name) => Part::Chunks,
            Part::Chunks => own(is_chunk(name)),
            Part::Columns => column(Part::Chunks),
            Part::Table if !rfc => match name {
                "__rootdirs__" | "__attrs__" => Part::Own,
                _ => column(Part::Array),
            },
            // the BLZ RFC layout has the columns of a table in `data`
            _ => match name {
                "data" if folder == Part::Table => Part::Columns,
                "data" => Part::Chunks,
                "meta" => Part::Meta,
                _ => own(name == "__attrs__"),
            },
        }
    }

    fn has_column(&self, name: &str) -> bool {
        self.table().is_some_and(|table| table.column(name).is_some())
    }

    /// Returns whether an item has a field of this name: the BLZ RFC layout has a folder for it.
    fn has_field(&self, name: &str) -> bool {
        let names = |array: &Array| {
            let dtype = array.dtype();
            ['\'', '"'].iter().any(|quote| dtype.contains(&format!("{quote}{name}{quote}")))
        };
        match &self.content {
            Content::Array(array) => names(array),
            Content::Table(table) => {
                table.column_names().filter_map(|column| table.column(column)).any(names)
            }
        }
    }
}

/// A file or folder in a dataset. A folder is named for what it contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Unknown,
    Own,
    Array,
    Table,
    Columns,
    Chunks,
    Meta,
}

/// Returns whether a name is `__0.blp`, or `__1__.bin` in the BLZ RFC layout.
fn is_chunk(name: &str) -> bool {
    let number = name
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix(".blp").or(rest.strip_suffix("__.bin")));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}
