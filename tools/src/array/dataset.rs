//! Open datasets: arrays and tables, in folders, in frames or in Bloscpack files.

use super::attributes;
use super::selection::Selection;
use crate::cli::groups::FrameInput;
use crate::cli::slice::Picks;
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::superchunk::source::Damage;
use crate::{detect, failure, options};
use holdall::{Array, Format, Kind, Options, Order, Table};

pub enum Content {
    Array(Array),
    Table(Table),
}

/// Evaluates an expression for the array or the table of a content.
macro_rules! either {
    ($content:expr, $it:ident => $value:expr) => {
        match $content {
            Content::Array($it) => $value,
            Content::Table($it) => $value,
        }
    };
}

pub struct Dataset {
    pub path: FileName,
    /// The offset of the frame in a larger file.
    pub at: Option<u64>,
    pub format: Format,
    pub content: Content,
}

/// Returns whether the items are Python objects, which have no size.
pub fn has_objects(array: &Array) -> bool {
    array.item_size() == 0 && array.dtype() == "|O"
}

/// Returns whether the items are stored in C order, or in chunks that are.
pub fn in_c_order(array: &Array) -> bool {
    // the order of the BLZ RFC layout is that within a chunk
    array.order() == Order::C || array.shape().len() < 2 || array.format() == Format::BlzRfc
}

impl Dataset {
    /// Opens what is at a path for reading.
    pub fn read(path: &FileName, frame: &FrameInput, options: Options) -> Result<Dataset> {
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
        path: &FileName,
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
    pub fn open_for_writing(path: &FileName, options: &Options) -> Result<Dataset> {
        let (format, kind) = detect::identify(path, None).map_err(library(path))?;
        let content = match kind {
            Kind::Table => Table::open_for_writing(path, options).map(Content::Table),
            _ => Array::open_for_writing(path, options).map(Content::Array),
        };
        Dataset::of(path, None, format, content)
    }

    fn of(
        path: &FileName,
        at: Option<u64>,
        format: Format,
        content: holdall::Result<Content>,
    ) -> Result<Dataset> {
        Ok(Dataset { path: path.clone(), at, format, content: content.map_err(library(path))? })
    }

    /// Wraps the array in a Bloscpack file, or an array that is about to be written.
    pub fn of_array(path: &FileName, array: Array) -> Dataset {
        Dataset {
            path: path.clone(),
            at: None,
            format: array.format(),
            content: Content::Array(array),
        }
    }

    /// Restricts the content to what a slice selects.
    pub fn slice(&mut self, picks: &Picks) -> Result {
        let path = &self.path;
        self.content = match &self.content {
            Content::Array(array) => {
                Content::Array(Selection::of(Some(picks), array, path)?.view(array, path)?)
            }
            Content::Table(table) => {
                let slice = Picks::plain(Some(picks), "a table")?.unwrap_or_default();
                let span = slice.resolve(table.rows());
                let view = table.strided(span.start, span.step, span.count);
                Content::Table(view.map_err(library(path))?)
            }
        };
        Ok(())
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
        either!(&self.content, it => it.attribute_names())
    }

    /// Returns an attribute as it is stored.
    pub fn stored_attribute(&self, name: &str) -> Result<&[u8]> {
        let value = either!(&self.content, it => it.attribute(name));
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

    /// Sets an attribute, in the header of a frame if `fixed`, to a value that is stored as it is.
    pub fn set_stored_attribute(&mut self, name: &str, fixed: bool, value: &[u8]) -> Result {
        let set = match &mut self.content {
            Content::Array(array) if fixed => array.set_fixed_attribute(name, value),
            Content::Table(_) if fixed => {
                return Err(failure!("{}: --fixed is for frames, and this is a table", self.path));
            }
            Content::Array(array) => array.set_attribute(name, value),
            Content::Table(table) => table.set_attribute(name, value),
        };
        set.map_err(library(&self.path))
    }

    /// Sets an attribute, in the header of a frame if `fixed`, to a value that is JSON.
    pub fn set_attribute(&mut self, name: &str, fixed: bool, json: &str) -> Result {
        if detect::is_frame(self.format) {
            let packed = attributes::from_json(json)?;
            return self.set_stored_attribute(name, fixed, &packed);
        }
        self.set_stored_attribute(name, fixed, json.as_bytes())
    }

    pub fn remove_attribute(&mut self, name: &str) -> Result {
        let removed = either!(&mut self.content, it => it.remove_attribute(name));
        removed.map_err(library(&self.path))
    }

    pub fn commit(&mut self) -> Result {
        let committed = either!(&mut self.content, it => it.commit());
        committed.map_err(library(&self.path))
    }
}
