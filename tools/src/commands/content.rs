//! An open container of any kind, and its items.

use super::boxes::Boxes;
use crate::array::attributes::{of_metadata, stored_to_json};
use crate::array::dataset::in_c_order;
use crate::bag::{is_declared, refuse_raw};
use crate::cli::groups::Source;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Failure, Result, library};
use crate::file_name::FileName;
use crate::{failure, options, signals};
use holdall::{Array, Bag, Format, Kind, Options, Schunk, Selection, Table};
use serde_json::{Map, Value, json};

/// Bytes of items that are read at once.
pub const BOX: u64 = 4 << 20;

/// Bytes of a single item that are read at most.
const MOST: usize = 1 << 30;

pub enum Content {
    Bag(Bag),
    /// A superchunk that is no array.
    Schunk(Schunk),
    Array(Array),
    Table(Table),
}

impl Content {
    /// Opens the container at a path, and refuses options of other containers.
    pub fn open(path: &FileName, usage: &Usage, source: &Source) -> Result<Content> {
        signals::catch();
        let container = detect::container(path, source.frame.at);
        usage.fit(container.name())?;
        if container == detect::Container::Bag && !is_declared(&source.bag.read, &source.bag.codec)
        {
            refuse_raw(path)?;
        }
        Content::open_with(path, source.frame.at, &options::source(source)?)
    }

    /// Opens the container at a path, or the frame at an offset in it, with options of the library.
    pub fn open_with(path: &FileName, at: Option<u64>, options: &Options) -> Result<Content> {
        let opened = match (detect::container(path, at), detect::identify(path, at)) {
            (Container::Bag, _) => Bag::open_with(path, options).map(Content::Bag),
            (Container::Superchunk, _) => Schunk::open_with(path, options).map(Content::Schunk),
            (_, Ok((_, Kind::Table))) => Table::open_with(path, options).map(Content::Table),
            (_, found) => found.and_then(|_| Array::open_with(path, options)).map(Content::Array),
        };
        opened.map_err(library(path))
    }

    pub fn format(&self) -> Format {
        match self {
            Content::Bag(_) => Format::Bagz,
            Content::Schunk(schunk) => schunk.format(),
            Content::Array(array) => array.format(),
            Content::Table(table) => table.format(),
        }
    }

    /// The names of the format and of the kind, as `identify` prints them.
    pub fn names(&self) -> [&'static str; 2] {
        let kind = match self {
            Content::Bag(_) => "bag",
            Content::Schunk(_) => "schunk",
            Content::Array(_) => "array",
            Content::Table(_) => "table",
        };
        [detect::format_name(self.format()), kind]
    }

    /// The number of records, rows, indices of the first dimension, or items.
    pub fn len(&self) -> u64 {
        match self {
            Content::Bag(bag) => bag.len(),
            Content::Schunk(schunk) => schunk.len() / (schunk.type_size() as u64).max(1),
            Content::Array(array) => array.shape().first().copied().unwrap_or(1),
            Content::Table(table) => table.rows(),
        }
    }

    /// The parts with items: the array, or the columns of the table.
    pub fn parts<'a>(&'a self, path: &'a FileName) -> Vec<Part<'a>> {
        match self {
            Content::Array(array) => {
                vec![Part { path, name: "", array, shape: array.shape().to_vec() }]
            }
            Content::Table(table) => {
                let column = |(name, array): (&'a str, &'a Array)| {
                    // a column can be longer than the table, if a writer was interrupted
                    let mut shape = array.shape().to_vec();
                    *shape.first_mut()? = table.rows();
                    Some(Part { path, name, array, shape })
                };
                columns(table).filter_map(column).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The attributes as JSON, whatever stores them.
    pub fn attributes(&self, path: &FileName) -> Result<Map<String, Value>> {
        let found = match self {
            Content::Bag(_) => return Ok(Map::new()),
            Content::Schunk(schunk) => {
                attributes(schunk.attribute_names(), |name| schunk.attribute(name), self.format())
            }
            Content::Array(array) => {
                attributes(array.attribute_names(), |name| array.attribute(name), self.format())
            }
            Content::Table(table) => {
                attributes(table.attribute_names(), |name| table.attribute(name), self.format())
            }
        };
        let found = found.map_err(library(path))?;
        let members = |metadata| match metadata {
            Value::Object(metadata) => of_metadata(metadata),
            _ => Map::new(),
        };
        Ok(match (self, self.format()) {
            (Content::Array(_), Format::Bloscpack) => {
                found.into_iter().flat_map(|(_, metadata)| members(metadata)).collect()
            }
            _ => found,
        })
    }
}

/// The columns of a table.
pub fn columns(table: &Table) -> impl Iterator<Item = (&str, &Array)> {
    table.column_names().filter_map(|name| Some((name, table.column(name)?)))
}

/// The part that is a column.
pub fn column<'p, 'a>(parts: &'p [Part<'a>], path: &FileName, name: &str) -> Result<&'p Part<'a>> {
    let found = parts.iter().find(|part| part.name == name);
    found.ok_or_else(|| failure!("{path}: it has no column '{name}'"))
}

/// The columns of a table as JSON, with their shapes from dimension `from` on.
pub fn column_members(table: &Table, from: usize) -> Value {
    let member = |(name, array): (&str, &Array)| json!({"name": name, "dtype": array.dtype(), "shape": array.shape().get(from..)});
    columns(table).map(member).collect()
}

/// A list of numbers as text, `3x4`.
pub fn joined(numbers: &[u64], by: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(by)
}

fn attributes<'a>(
    names: Vec<&str>,
    get: impl Fn(&str) -> holdall::Result<Option<&'a [u8]>>,
    format: Format,
) -> holdall::Result<Map<String, Value>> {
    let mut all = Map::new();
    for name in names {
        if let Some(bytes) = get(name)? {
            all.insert(name.to_owned(), json(bytes, detect::is_frame(format)));
        }
    }
    Ok(all)
}

/// An attribute as JSON; one that is none is text.
fn json(bytes: &[u8], is_frame: bool) -> Value {
    let text =
        if is_frame { stored_to_json(bytes) } else { String::from_utf8_lossy(bytes).into_owned() };
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// An array, or a column of a table as long as the table.
pub struct Part<'a> {
    pub path: &'a FileName,
    /// Empty: the array itself.
    pub name: &'a str,
    pub array: &'a Array,
    pub shape: Vec<u64>,
}

impl Part<'_> {
    /// The number of items.
    pub fn len(&self) -> u64 {
        self.shape.iter().fold(1, |n, d| n.saturating_mul(*d))
    }

    /// The attributes of a column as JSON.
    pub fn attributes(&self) -> Result<Map<String, Value>> {
        let array = self.array;
        let found =
            attributes(array.attribute_names(), |name| array.attribute(name), array.format());
        found.map_err(library(self.path))
    }

    /// The boxes that cover it, of at most `most` bytes or one item, in whole chunks where these
    /// are small enough.
    pub fn boxes(&self, most: u64) -> Boxes {
        let fast_first = !in_c_order(self.array);
        Boxes::new(
            &self.shape,
            self.array.chunk_shape(),
            fast_first,
            most / self.item_size().max(1),
        )
    }

    pub fn item_size(&self) -> u64 {
        self.array.item_size() as u64
    }

    /// Reads a selection into the buffer, which gets its size.
    pub fn read(&self, selection: impl Into<Selection>, buffer: &mut Vec<u8>) -> Result {
        if signals::stopped() {
            return Err(Failure::Stopped);
        }
        let selection = selection.into();
        let items = selection.counts().iter().try_fold(self.item_size(), |n, d| n.checked_mul(*d));
        let bytes = items.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        buffer.clear();
        if bytes > MOST || buffer.try_reserve_exact(bytes).is_err() {
            return Err(failure!("{}: an item has {bytes} bytes, too many for memory", self.path));
        }
        buffer.resize(bytes, 0);
        let read = self.array.read_bytes(selection, buffer);
        read.map(|_| ()).map_err(|error| match self.name {
            "" => library(self.path)(error),
            name => match library(self.path)(error) {
                Failure::Message(text) if !text.contains(name) => {
                    failure!("{text} (column {name})")
                }
                other => other,
            },
        })
    }
}
