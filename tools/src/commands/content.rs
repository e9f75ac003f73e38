//! What `stats`, `diff`, `tune` and `view` read: an open container, and its items in boxes of
//! bounded size.

use crate::array::attributes::stored_to_json;
use crate::cli::groups::{BagInput, FrameInput, Reading};
use crate::cli::usage::Usage;
use crate::failure::{Failure, Result, library};
use crate::{detect, failure, options, signals};
use holdall::{Array, Bag, Format, Kind, Order, Schunk, Selection, Table};
use serde_json::{Map, Value};
use std::ops::Range;

/// Bytes of items that are read at once.
pub const BOX: u64 = 4 << 20;

/// Bytes of a single item that are read at most.
const MOST: usize = 1 << 30;

pub enum Content {
    Bag(Bag),
    Schunk(Schunk),
    Array(Array),
    Table(Table),
}

impl Content {
    /// Opens what is at a path; options of other containers are refused.
    pub fn open(
        path: &str,
        usage: &Usage,
        reading: &Reading,
        bag: &BagInput,
        frame: &FrameInput,
    ) -> Result<Content> {
        signals::catch();
        let at = frame.at;
        let (container, found) = (detect::container(path, at), detect::identify(path, at));
        usage.fit(container.name())?;
        let options = options::frame(options::reading(reading, false), frame);
        let opened = match (container, found) {
            (detect::Container::Bag, _) => {
                let options = options::bag(options::reading(reading, false), bag)?;
                Bag::open_with(path, &options).map(Content::Bag)
            }
            (detect::Container::Superchunk, _) => {
                Schunk::open_with(path, &options).map(Content::Schunk)
            }
            (_, Ok((_, Kind::Table))) => Table::open_with(path, &options).map(Content::Table),
            (_, found) => found.and_then(|_| Array::open_with(path, &options)).map(Content::Array),
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

    pub fn kind(&self) -> &'static str {
        match self {
            Content::Bag(_) => "bag",
            Content::Schunk(_) => "schunk",
            Content::Array(_) => "array",
            Content::Table(_) => "table",
        }
    }

    /// The parts with items: the array, or the columns of the table.
    pub fn parts<'a>(&'a self, path: &'a str) -> Vec<Part<'a>> {
        match self {
            Content::Array(array) => vec![Part::new(path, "", array, array.shape().to_vec())],
            Content::Table(table) => {
                let column = |name| {
                    let array = table.column(name)?;
                    // a column can be longer than the table, if a writer was interrupted
                    let mut shape = array.shape().to_vec();
                    *shape.first_mut()? = table.rows();
                    Some(Part::new(path, name, array, shape))
                };
                table.column_names().filter_map(column).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The attributes as JSON, whatever stores them.
    pub fn attributes(&self, path: &str) -> Result<Map<String, Value>> {
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
        let is_packed = matches!((self, self.format()), (Content::Array(_), Format::Bloscpack));
        Ok(if is_packed { of_metadata(found) } else { found })
    }
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

/// The attributes in the metadata of a Bloscpack array, without what makes it an array.
fn of_metadata(all: Map<String, Value>) -> Map<String, Value> {
    let mut members = Map::new();
    for (_, value) in all {
        let Value::Object(metadata) = value else {
            continue;
        };
        for (name, value) in metadata {
            match (name.as_str(), value) {
                ("dtype" | "shape" | "order" | "container", _) => {}
                ("attrs", Value::Object(attrs)) => members.extend(attrs),
                (_, value) => _ = members.insert(name, value),
            }
        }
    }
    members
}

/// An array, or a column of a table as long as the table.
pub struct Part<'a> {
    pub path: &'a str,
    /// Empty: the array itself.
    pub name: &'a str,
    pub array: &'a Array,
    pub shape: Vec<u64>,
}

impl<'a> Part<'a> {
    fn new(path: &'a str, name: &'a str, array: &'a Array, shape: Vec<u64>) -> Part<'a> {
        Part { path, name, array, shape }
    }

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
        let fast_first = self.array.order() == Order::Fortran;
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

/// Boxes of a shape in C order of their positions.
pub struct Boxes {
    shape: Vec<u64>,
    step: Vec<u64>,
    next: Option<Vec<u64>>,
}

impl Boxes {
    /// `most` is the number of items of a box.
    fn new(shape: &[u64], chunk: &[u64], fast_first: bool, most: u64) -> Boxes {
        let mut step: Vec<u64> =
            chunk.iter().zip(shape).map(|(c, n)| (*c).min(*n).max(1)).collect();
        step.resize(shape.len(), 1);
        let size = |step: &[u64]| step.iter().fold(1u64, |n, d| n.saturating_mul(*d));
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if fast_first {
            order.reverse();
        }
        for d in &order {
            let others = (size(&step) / step[*d]).max(1);
            if size(&step) > most.max(1) {
                step[*d] = (most / others).clamp(1, step[*d]);
            }
        }
        for d in order.iter().rev() {
            let factor = (most / size(&step)).max(1);
            step[*d] = step[*d].saturating_mul(factor).min(shape[*d].max(1));
            if step[*d] < shape[*d] {
                break;
            }
        }
        let next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        Boxes { shape: shape.to_vec(), step, next }
    }

    /// The box in the middle; None: there are no items.
    pub fn middle(&self) -> Option<Vec<Range<u64>>> {
        let at = self.next.as_ref()?.iter().zip(&self.step).zip(&self.shape);
        let side = |((_, step), n): ((&u64, &u64), &u64)| {
            let start = n / 2 / step * step;
            start..start.saturating_add(*step).min(*n)
        };
        Some(at.map(side).collect())
    }
}

impl Iterator for Boxes {
    type Item = Vec<Range<u64>>;

    fn next(&mut self) -> Option<Vec<Range<u64>>> {
        let mut at = self.next.take()?;
        let sides = at.iter().zip(&self.step).zip(&self.shape);
        let found = sides.map(|((at, step), n)| *at..at.saturating_add(*step).min(*n)).collect();
        for d in (0..at.len()).rev() {
            at[d] = at[d].saturating_add(self.step[d]);
            if at[d] < self.shape[d] {
                self.next = Some(at);
                break;
            }
            at[d] = 0;
        }
        Some(found)
    }
}

/// The position in the whole of item `i` of a box.
pub fn position(of: &[Range<u64>], mut i: u64) -> Vec<u64> {
    let mut at = vec![0; of.len()];
    for (at, range) in at.iter_mut().zip(of).rev() {
        let n = (range.end - range.start).max(1);
        *at = range.start + i % n;
        i /= n;
    }
    at
}

/// A list of numbers as text, `3x4`.
pub fn joined(numbers: &[u64], by: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_cover_each_item_once_and_are_small() {
        let shapes: [(&[u64], &[u64], u64); 6] = [
            (&[7, 5, 3], &[2, 5, 2], 10),
            (&[7, 5, 3], &[2, 2, 2], 1000),
            (&[10], &[100], 3),
            (&[], &[], 5),
            (&[0, 5], &[1, 1], 5),
            (&[4, 4], &[4, 4], 1),
        ];
        for (shape, chunk, most) in shapes {
            for fast_first in [false, true] {
                let boxes: Vec<_> = Boxes::new(shape, chunk, fast_first, most).collect();
                let items =
                    |of: &Vec<Range<u64>>| of.iter().map(|r| r.end - r.start).product::<u64>();
                assert_eq!(boxes.iter().map(items).sum::<u64>(), shape.iter().product::<u64>());
                assert!(boxes.iter().all(|of| items(of) <= most.max(1)), "{shape:?} {boxes:?}");
            }
        }
    }

    #[test]
    fn hostile_shapes_have_boxes_at_once() {
        let first = Boxes::new(&[u64::MAX, u64::MAX], &[u64::MAX, 9], false, 100).next();
        assert_eq!(first.map(|of| position(&of, 1).len()), Some(2));
    }
}
