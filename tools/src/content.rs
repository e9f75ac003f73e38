//! An open container of any kind, its attributes and its items.

use crate::array::{attributes::of_metadata, selection};
use crate::bag::{is_declared, refuse_raw};
use crate::cli::groups::Source;
use crate::cli::slice::{Picks, Rows};
use crate::cli::usage::Usage;
use crate::commands::boxes::Boxes;
use crate::detect::{self, Container};
use crate::failure::{Failure, Result, library};
use crate::file_name::FileName;
use crate::superchunk::source::Damage;
use crate::{failure, node, options, signals};
use holdall::{Array, Bag, Format, Kind, Options, Order, Schunk, Selection, Table};
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

/// Evaluates an expression for a container with attributes, another one for a bag.
macro_rules! either {
    ($content:expr, $it:ident => $value:expr, $bag:expr) => {
        match $content {
            Content::Bag(_) => $bag,
            Content::Schunk($it) => $value,
            Content::Array($it) => $value,
            Content::Table($it) => $value,
        }
    };
}

impl Content {
    /// Opens the container at a path, and refuses options of other containers.
    pub fn open(path: &FileName, usage: &Usage, source: &Source) -> Result<Content> {
        signals::catch();
        let container = detect::container(path, source.frame.at);
        usage.fit(container.name())?;
        if container == Container::Bag && !is_declared(&source.bag.read, &source.bag.codec) {
            refuse_raw(path)?;
        }
        Content::open_with(path, source.frame.at, &options::source(source)?)
    }

    /// Opens the container at a path, or the frame at an offset in it, with options of the library.
    pub fn open_with(path: &FileName, at: Option<u64>, options: &Options) -> Result<Content> {
        let opened = match (detect::container(path, at), detect::identify(path, at)) {
            (Container::Bag, _) => Bag::open_with(path, options).map(Content::Bag),
            (Container::Superchunk, _) => Schunk::open_with(path, options).map(Content::Schunk),
            (Container::Store, _) => return Err(detect::refuse_store(path)),
            _ => return Content::dataset(path, at, options),
        };
        opened.map_err(library(path))
    }

    /// Opens an array or a table; a frame without a shape is an array of one dimension.
    pub fn dataset(path: &FileName, at: Option<u64>, options: &Options) -> Result<Content> {
        let opened = match detect::identify(path, at).map_err(library(path))? {
            (_, Kind::Store) => return Err(detect::refuse_store(path)),
            (_, Kind::Table) => Table::open_with(path, options).map(Content::Table),
            _ => Array::open_with(path, options).map(Content::Array),
        };
        opened.map_err(library(path))
    }

    /// The same; with `skip_damaged`, damage reads as zeros. That outside of chunks of a Bloscpack
    /// file is reported.
    pub fn dataset_skipping(
        path: &FileName,
        at: Option<u64>,
        options: Options,
        skip_damaged: bool,
    ) -> Result<(Content, Damage)> {
        let options = options::given(options, at, Options::frame_offset);
        let damage = match detect::format(path, at) {
            Some(Format::Bloscpack) => Damage::of(path, &options, skip_damaged)?,
            _ => Damage::new(path),
        };
        Ok((Content::dataset(path, at, &options.skip_corrupt(skip_damaged))?, damage))
    }

    /// Opens an array or a table for reading and changes.
    pub fn open_for_writing(path: &FileName, options: &Options) -> Result<Content> {
        let found = detect::identify(path, None).map_err(library(path))?;
        node::change(path)?;
        let opened = match found {
            (_, Kind::Store) => return Err(detect::refuse_store(path)),
            (_, Kind::Table) => Table::open_for_writing(path, options).map(Content::Table),
            _ => Array::open_for_writing(path, options).map(Content::Array),
        };
        opened.map_err(library(path))
    }

    /// Restricts an array or a table to what a slice selects, and to a range of rows. Returns the
    /// rows if they are a list.
    pub fn select(
        self,
        path: &FileName,
        slice: Option<&Picks>,
        rows: Option<&Rows>,
    ) -> Result<(Content, Option<Vec<u64>>)> {
        let range = match rows {
            Some(Rows::Range(slice)) => Some(Picks::of(*slice)),
            _ => None,
        };
        let picks = slice.or(range.as_ref());
        let list = rows.map_or(Ok(None), |rows| rows.list(path, self.len()))?;
        let content = match self {
            Content::Array(array) if array.shape().is_empty() && rows.is_some() => {
                return Err(failure!("{path}: an array without dimensions has no slices"));
            }
            Content::Array(array) => match picks {
                Some(picks) => Content::Array(selection::view(&array, picks, path)?),
                None => Content::Array(array),
            },
            Content::Table(table) => match Picks::plain(picks, "a table")? {
                Some(slice) => {
                    let span = slice.resolve(table.rows());
                    let view = table.strided(span.start, span.step, span.count);
                    Content::Table(view.map_err(library(path))?)
                }
                None => Content::Table(table),
            },
            other => other,
        };
        Ok((content, list))
    }

    pub fn array(&self) -> Option<&Array> {
        match self {
            Content::Array(array) => Some(array),
            _ => None,
        }
    }

    pub fn table(&self) -> Option<&Table> {
        match self {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn format(&self) -> Format {
        either!(self, it => it.format(), Format::Bagz)
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

    /// The number of records, rows, indices of the first dimension, or items. An array without
    /// dimensions has one.
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

    // ---- attributes

    pub fn attribute_names(&self) -> Vec<&str> {
        either!(self, it => it.attribute_names(), Vec::new())
    }

    /// Returns an attribute as it is stored.
    pub fn stored_attribute(&self, path: &FileName, name: &str) -> Result<&[u8]> {
        let value = either!(self, it => it.attribute(name), Ok(None)).map_err(library(path))?;
        value.ok_or_else(|| failure!("{path}: there is no attribute '{name}'"))
    }

    /// Returns an attribute as JSON, or as what others stored that should be JSON.
    pub fn attribute(&self, path: &FileName, name: &str) -> Result<String> {
        let text = self.format().attribute_to_json(self.stored_attribute(path, name)?);
        Ok(if detect::is_frame(self.format()) { without_nan(&text) } else { text })
    }

    /// The attributes as JSON, whatever stores them.
    pub fn attributes(&self, path: &FileName) -> Result<Map<String, Value>> {
        let mut all = Map::new();
        for name in self.attribute_names() {
            match json_or_text(self.attribute(path, name)?) {
                // what makes a Bloscpack file an array is no attribute
                Value::Object(metadata) if self.array().is_some() && name.is_empty() => {
                    all.extend(of_metadata(metadata));
                }
                value => _ = all.insert(name.to_owned(), value),
            }
        }
        Ok(all)
    }

    /// Sets an attribute, in the header of a frame if `fixed`, to a value that is stored as it is.
    pub fn set_stored_attribute(
        &mut self,
        path: &FileName,
        (name, fixed): (&str, bool),
        value: &[u8],
    ) -> Result {
        let set = match self {
            Content::Array(array) if fixed => array.set_fixed_attribute(name, value),
            _ if fixed => {
                return Err(failure!("{path}: --fixed is for frames, and this is a table"));
            }
            content => either!(content, it => it.set_attribute(name, value), Ok(())),
        };
        set.map_err(library(path))
    }

    /// Sets an attribute, in the header of a frame if `fixed`, to a value that is JSON.
    pub fn set_attribute(&mut self, path: &FileName, name: (&str, bool), json: &str) -> Result {
        let value = self.format().attribute_from_json(json);
        self.set_stored_attribute(path, name, &value)
    }

    pub fn remove_attribute(&mut self, path: &FileName, name: &str) -> Result {
        either!(self, it => it.remove_attribute(name), Ok(())).map_err(library(path))
    }

    // ---- further files in the folder meta of a dataset

    pub fn meta_file_names(&self, path: &FileName) -> Result<Vec<String>> {
        let names = match self {
            Content::Array(array) => array.meta_file_names(),
            Content::Table(table) => table.meta_file_names(),
            _ => Ok(Vec::new()),
        };
        names.map_err(library(path))
    }

    /// Reads a file.
    pub fn meta_file(&self, path: &FileName, name: &str) -> Result<Vec<u8>> {
        let bytes = match self {
            Content::Array(array) => array.meta_file(name),
            Content::Table(table) => table.meta_file(name),
            _ => Ok(None),
        };
        let bytes = bytes.map_err(library(path))?;
        bytes.ok_or_else(|| failure!("{path}: there is no file '{name}' in meta"))
    }

    /// Sets the bytes of a file.
    pub fn set_meta_file(&mut self, path: &FileName, name: &str, bytes: &[u8]) -> Result {
        let set = match self {
            Content::Array(array) => array.set_meta_file(name, bytes),
            Content::Table(table) => table.set_meta_file(name, bytes),
            _ => Ok(()),
        };
        set.map_err(library(path))
    }

    pub fn remove_meta_file(&mut self, path: &FileName, name: &str) -> Result {
        let removed = match self {
            Content::Array(array) => array.remove_meta_file(name),
            Content::Table(table) => table.remove_meta_file(name),
            _ => Ok(()),
        };
        removed.map_err(library(path))
    }

    pub fn commit(&mut self, path: &FileName) -> Result {
        either!(self, it => it.commit(), Ok(())).map_err(library(path))
    }
}

/// Returns whether the items are Python objects, which have no size.
pub fn has_objects(array: &Array) -> bool {
    array.item_size() == 0 && array.dtype() == "|O" && array.format() != Format::CTable
}

/// Returns whether the items are stored in C order, or in chunks that are.
pub fn in_c_order(array: &Array) -> bool {
    // the order of the BLZ RFC layout is that within a chunk
    array.order() == Order::C || array.shape().len() < 2 || array.format() == Format::BlzRfc
}

/// Puts NaN and infinities, which MessagePack has, in quotes: JSON has none.
pub fn without_nan(text: &str) -> String {
    let (mut quoted, mut chars, mut inside) = (String::new(), text.char_indices(), false);
    while let Some((at, c)) = chars.next() {
        let is_next = |token: &&&str| !inside && text[at..].starts_with(**token);
        if let Some(token) = ["NaN", "Infinity", "-Infinity"].iter().find(is_next) {
            quoted += &format!("\"{token}\"");
            chars.nth(token.len() - 2);
            continue;
        }
        quoted.push(c);
        if inside && c == '\\' {
            quoted.extend(chars.next().map(|(_, c)| c));
        }
        inside ^= c == '"';
    }
    quoted
}

/// A value as JSON; text if it is none.
pub fn json_or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
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
        let value = |name: &str| -> holdall::Result<_> {
            let stored = self.array.attribute(name)?.unwrap_or_default();
            Ok((name.to_owned(), json_or_text(self.array.format().attribute_to_json(stored))))
        };
        let all: holdall::Result<_> = self.array.attribute_names().into_iter().map(value).collect();
        all.map_err(library(self.path))
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
