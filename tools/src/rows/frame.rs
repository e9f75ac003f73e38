//! Frames: named columns, and batches of their rows in memory. Rows of tables, arrays and files
//! pass through one on their way to another container or to text.

use crate::cli::slice::{Rows, Slice, Span};
use crate::content::{Content, has_objects};
use crate::failure::{Failure, Result, library};
use crate::file_name::FileName;
use crate::superchunk::source::{Damage, resize};
use crate::{failure, relay};
use holdall::{Array, Field, Format, Integrity, ItemKind, ItemType, Table};
use std::ops::Range;

/// Bytes of a batch of rows; two batches exist.
pub const BATCH: usize = 8 << 20;
/// The bytes that a text is counted for in a batch.
const TEXT: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub item: ItemType,
    /// The shape of a row.
    pub shape: Vec<usize>,
    /// Bytes of a row.
    pub size: usize,
}

impl Column {
    /// Whether its values are texts of any length.
    pub fn is_text(&self) -> bool {
        self.item.kind == ItemKind::Text
    }

    /// The type of a row: of items in a shape, if it has one.
    pub fn row_type(&self) -> ItemType {
        if self.shape.is_empty() {
            return self.item.clone();
        }
        let kind = ItemKind::Array(Box::new(self.item.clone()), self.shape.clone());
        ItemType { kind, big_endian: false, size: self.size }
    }

    /// The shape and the bytes of a field of CSV: rows of an array (`bare`) have one for each index
    /// of their first dimension.
    pub fn csv_field(&self, bare: bool) -> (&[usize], usize) {
        match self.shape.split_first() {
            Some((count, shape)) if bare => (shape, self.size / count.max(&1)),
            _ => (&self.shape, self.size),
        }
    }
}

/// Returns the names in a list of them.
pub fn names<'a>(path: &FileName, list: &'a str) -> Result<Vec<&'a str>> {
    let names: Vec<&str> = list.strip_suffix(',').unwrap_or(list).split(',').collect();
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            return Err(failure!("{path}: column '{name}' is asked for twice"));
        }
    }
    Ok(names)
}

/// Returns whether a row of a column is null.
fn has_null(path: &FileName, table: &Table, name: &str) -> Result<bool> {
    const PIECE: u64 = 1 << 16;
    for first in (0..table.rows()).step_by(PIECE as usize) {
        let rows = first..table.rows().min(first + PIECE);
        match table.nulls(name, rows).map_err(library(path))? {
            None => return Ok(false),
            Some(nulls) if nulls.contains(&true) => return Ok(true),
            Some(_) => {}
        }
    }
    Ok(false)
}

fn no_column(path: &FileName, name: &str) -> Failure {
    failure!("{path}: there is no column '{name}'")
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    pub columns: Vec<Column>,
    /// An array: one column, without a name.
    pub bare: bool,
}

/// Takes a batch of rows.
pub type Take<'a> = dyn FnMut(&Batch) -> Result + 'a;

/// Rows of a frame: the bytes of each column.
pub struct Batch<'a> {
    pub rows: usize,
    pub columns: Vec<&'a [u8]>,
    /// Of each column, or empty.
    pub extras: Vec<Extra>,
}

/// What a column has besides bytes; empty: nothing.
#[derive(Default)]
pub struct Extra {
    pub nulls: Vec<bool>,
    pub texts: Vec<Option<String>>,
}

/// A value of a column.
pub enum Value<'a> {
    Null,
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Batch<'_> {
    /// Returns the values of a row.
    pub fn row<'a>(
        &'a self,
        frame: &'a Frame,
        at: usize,
    ) -> impl Iterator<Item = (&'a Column, Value<'a>)> {
        frame.columns.iter().zip(&self.columns).enumerate().map(move |(i, (column, bytes))| {
            let extra = self.extras.get(i);
            let value = match extra.and_then(|extra| extra.texts.get(at)) {
                Some(Some(text)) => Value::Text(text),
                Some(None) => Value::Null,
                None if extra.is_some_and(|extra| extra.nulls.get(at) == Some(&true)) => {
                    Value::Null
                }
                None => Value::Bytes(row(column, bytes, at)),
            };
            (column, value)
        })
    }

    /// Returns the texts of a column of texts; `None`: it is one of bytes.
    pub fn texts(&self, frame: &Frame, column: usize) -> Option<Vec<Option<&str>>> {
        frame.columns.get(column).filter(|column| column.is_text())?;
        let extra = self.extras.get(column);
        let texts = extra.map_or(&[][..], |extra| extra.texts.as_slice());
        Some(texts.iter().map(Option::as_deref).collect())
    }

    /// Appends the bytes of a row, column by column.
    pub fn put_row(&self, frame: &Frame, at: usize, to: &mut Vec<u8>) {
        for (column, bytes) in frame.columns.iter().zip(&self.columns) {
            to.extend_from_slice(row(column, bytes, at));
        }
    }
}

impl Frame {
    pub fn add(&mut self, name: &str, item: &ItemType, shape: &[u64]) -> Result {
        let shape: Option<Vec<usize>> = shape.iter().map(|n| usize::try_from(*n).ok()).collect();
        let size = |shape: &Vec<usize>| {
            let size = shape.iter().try_fold(item.size, |size, n| size.checked_mul(*n))?;
            isize::try_from(size).ok().map(|_| size)
        };
        let sized = shape.and_then(|shape| Some((size(&shape)?, shape)));
        let (size, shape) = sized.ok_or_else(|| failure!("out of memory"))?;
        self.columns.push(Column { name: name.to_owned(), item: item.clone(), shape, size });
        Ok(())
    }

    /// The type of a row: a structure of the columns, or the item of an array.
    pub fn row_type(&self) -> ItemType {
        if let ([column], true) = (self.columns.as_slice(), self.bare) {
            return column.item.clone();
        }
        let mut offset = 0;
        let field = |column: &Column| {
            let at = offset;
            offset += column.size;
            Field { name: column.name.clone(), title: None, offset: at, item: column.row_type() }
        };
        let fields = self.columns.iter().map(field).collect();
        ItemType { kind: ItemKind::Struct(fields), big_endian: false, size: self.row_bytes() }
    }

    /// Returns the frame with some of its columns, in this order.
    pub fn select(self, path: &FileName, list: Option<&str>) -> Result<Frame> {
        let Some(list) = list else {
            return Ok(self);
        };
        if self.bare {
            return Err(failure!("{path}: its lines have no columns for --columns"));
        }
        let find = |name: &str| {
            let found = self.columns.iter().find(|column| column.name == name);
            found.cloned().ok_or_else(|| no_column(path, name))
        };
        let columns = names(path, list)?.into_iter().map(find).collect::<Result<_>>()?;
        Ok(Frame { columns, ..self })
    }

    /// The number of fields of a row in CSV.
    pub fn csv_fields(&self) -> usize {
        match (self.bare, self.columns.first().and_then(|column| column.shape.first())) {
            (true, Some(count)) => *count,
            _ => self.columns.len(),
        }
    }

    /// Bytes of a row in all columns.
    pub fn row_bytes(&self) -> usize {
        let sizes = self.columns.iter().map(|column| column.size);
        sizes.fold(0, usize::saturating_add)
    }

    /// Returns how many of `rows` rows a batch has, at least 1.
    pub fn batch_rows(&self, rows: u64) -> usize {
        let texts = self.columns.iter().filter(|column| column.is_text()).count();
        let most = (BATCH / (self.row_bytes() + texts * TEXT).max(1)).max(1);
        usize::try_from(rows).map_or(most, |rows| rows.clamp(1, most))
    }

    /// Divides memory that has the columns of so many rows one after another.
    pub fn batch<'a>(&self, rows: usize, mut bytes: &'a [u8]) -> Batch<'a> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let (own, rest) = bytes.split_at(rows * column.size);
            columns.push(own);
            bytes = rest;
        }
        Batch { rows, columns, extras: Vec::new() }
    }
}

/// Returns the item of a type, and the shape that it has.
pub fn split(of: &ItemType) -> (&ItemType, Vec<u64>) {
    match &of.kind {
        ItemKind::Array(item, shape) => (item, shape.iter().map(|n| *n as u64).collect()),
        _ => (of, Vec::new()),
    }
}

/// The bytes of one row of a column.
pub fn row<'a>(column: &Column, bytes: &'a [u8], row: usize) -> &'a [u8] {
    let size = column.size;
    bytes.get(row * size..(row + 1) * size).unwrap_or_default()
}

/// Rows of a file that is read from its beginning to its end: a range with a step, or a list.
pub struct Selected {
    span: Span,
    list: Option<Vec<u64>>,
    pub count: u64,
}

impl Selected {
    /// Resolves `--rows` against a number of rows. The rows must rise.
    pub fn new(path: &FileName, rows: Option<&Rows>, length: u64) -> Result<Selected> {
        let slice = match rows {
            Some(Rows::Range(slice)) => *slice,
            _ => Slice::default(),
        };
        let (span, list) =
            (slice.resolve(length), rows.map_or(Ok(None), |rows| rows.list(path, length))?);
        let is_rising = |list: &Vec<u64>| list.is_sorted_by(|one, next| one < next);
        if span.step < 0 || !list.as_ref().is_none_or(is_rising) {
            return Err(failure!(
                "{path}: rows of text are read in their order: --rows A:B:C, or I,J,.. that rise"
            ));
        }
        let count = list.as_ref().map_or(span.count, |list| list.len() as u64);
        Ok(Selected { span, list, count })
    }

    pub fn contains(&self, row: u64) -> bool {
        if let Some(list) = &self.list {
            return list.binary_search(&row).is_ok();
        }
        let step = self.span.step.unsigned_abs();
        row.checked_sub(self.span.start)
            .is_some_and(|from| from % step == 0 && from / step < self.span.count)
    }
}

/// Which rows of a table are taken besides those of a fixed size without nulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    Nothing,
    Texts,
    /// Texts, of which any may be null.
    TextsWithNulls,
    TextsAndNulls,
    /// Also bytes of any length.
    Arrow,
}

/// A frame of the columns of a stored table or array.
pub struct Stored<'a> {
    pub frame: Frame,
    pub path: &'a FileName,
    arrays: Vec<&'a Array>,
    /// The rows that are read; None: all.
    pub list: Option<&'a [u64]>,
    pub rows: u64,
    /// The table, if texts and nulls are taken.
    table: Option<&'a Table>,
    /// A column with nulls that are not taken.
    null: Option<String>,
}

impl<'a> Stored<'a> {
    pub fn of(
        path: &'a FileName,
        content: &'a Content,
        columns: Option<&str>,
        list: Option<&'a [u64]>,
        takes: Takes,
    ) -> Result<Stored<'a>> {
        match content {
            Content::Table(table) => Stored::of_table(path, table, columns, list, takes),
            Content::Array(array) => Stored::of_array(path, array, list),
            _ => Err(failure!("{path}: it has no rows")),
        }
    }

    pub fn of_table(
        path: &'a FileName,
        table: &'a Table,
        columns: Option<&str>,
        list: Option<&'a [u64]>,
        takes: Takes,
    ) -> Result<Stored<'a>> {
        let rows = list.map_or(table.rows(), |list| list.len() as u64);
        let (frame, null) = (Frame::default(), None);
        let with_extras = (takes != Takes::Nothing).then_some(table);
        let arrays = Vec::new();
        let mut stored = Stored { frame, path, arrays, list, rows, table: with_extras, null };
        let names = match columns {
            Some(columns) => names(path, columns)?,
            None => table.column_names().collect(),
        };
        for name in names {
            let array = table.column(name).ok_or_else(|| no_column(path, name))?;
            let is_object = array.dtype() == "|O" && table.format() == Format::CTable;
            if is_object && takes != Takes::Arrow {
                return Err(failure!(
                    "{path}: {name}: values of this kind are not printed (--columns selects the \
                     other columns)"
                ));
            }
            stored.add(name, array)?;
            let refuses_nulls = match takes {
                Takes::Nothing | Takes::Texts => true,
                Takes::TextsWithNulls => array.item_type().kind != ItemKind::Text,
                Takes::TextsAndNulls | Takes::Arrow => false,
            };
            if refuses_nulls && stored.null.is_none() && has_null(path, table, name)? {
                stored.null = Some(name.to_owned());
            }
        }
        Ok(stored)
    }

    pub fn of_array(
        path: &'a FileName,
        array: &'a Array,
        list: Option<&'a [u64]>,
    ) -> Result<Stored<'a>> {
        let Some(rows) = array.shape().first() else {
            return Err(failure!("{path}: an array without dimensions has no rows"));
        };
        let rows = list.map_or(*rows, |list| list.len() as u64);
        let frame = Frame { bare: true, ..Frame::default() };
        let arrays = Vec::new();
        let mut stored = Stored { frame, path, arrays, list, rows, table: None, null: None };
        stored.add("", array)?;
        Ok(stored)
    }

    fn add(&mut self, name: &str, array: &'a Array) -> Result {
        if array.item_type().kind == ItemKind::Text && self.table.is_none() {
            let path = self.path;
            return Err(failure!(
                "{path}: {name}: texts of any length have no rows of a fixed size (--to csv, jsonl \
                 or arrow; --columns selects other columns)"
            ));
        }
        if has_objects(array) {
            let (path, separator) = (self.path, if name.is_empty() { "" } else { ": " });
            return Err(failure!(
                "{path}: {name}{separator}objects of Python's have no rows of a fixed size; cat --to raw prints one \
                 column of them as it is pickled"
            ));
        }
        let shape = array.shape().get(1..).unwrap_or_default();
        self.frame.add(name, array.item_type(), shape)?;
        self.arrays.push(array);
        Ok(())
    }

    /// Takes the rows in batches; another thread reads the next batch meanwhile. Damaged rows that
    /// are skipped are zeros.
    pub fn each(&self, damage: &mut Damage, mut take: impl FnMut(&Batch) -> Result) -> Result {
        if let Some(name) = &self.null {
            let path = self.path;
            return Err(failure!(
                "{path}: column '{name}' has nulls, which would not read back (--to arrow keeps them)"
            ));
        }
        let mut most = self.frame.batch_rows(self.rows) as u64;
        let chunk = self.arrays.first().and_then(|array| array.chunk_shape().first());
        if let Some(chunk) = chunk.filter(|chunk| (1..most).contains(chunk)) {
            // whole chunks, so that each is decoded once
            most -= most % chunk;
        }
        let rows_at = |at: u64| (self.rows - at).min(most);
        let (mut read, mut taken, mut damaged) = (0, 0, false);
        let make = |bytes: &mut Vec<u8>| {
            if read == self.rows {
                return Ok(false);
            }
            let rows = rows_at(read);
            damaged |= self.read(read, rows as usize, bytes)?;
            read += rows;
            Ok(true)
        };
        let done = relay::take_here(make, |bytes: &[u8]| {
            let rows = rows_at(taken);
            let extras = self.extras(taken..taken + rows)?;
            taken += rows;
            take(&Batch { extras, ..self.frame.batch(rows as usize, bytes) })
        });
        if damaged {
            damage.report("here");
        }
        done
    }

    /// Reads the nulls and texts of these rows.
    fn extras(&self, rows: Range<u64>) -> Result<Vec<Extra>> {
        let Some(table) = self.table else {
            return Ok(Vec::new());
        };
        let ranges: Vec<Range<u64>> = match self.list {
            Some(list) => {
                let list = list.get(rows.start as usize..rows.end as usize).unwrap_or_default();
                list.iter().map(|row| *row..row + 1).collect()
            }
            None => vec![rows],
        };
        let extra = |(column, array): (&Column, &&Array)| {
            let mut extra = Extra::default();
            for range in &ranges {
                if column.is_text() {
                    let texts = array.read_texts(range.clone()).map_err(library(self.path))?;
                    extra.texts.extend(texts);
                } else {
                    let nulls = table.nulls(&column.name, range.clone());
                    extra.nulls.extend(nulls.map_err(library(self.path))?.unwrap_or_default());
                }
            }
            Ok(extra)
        };
        self.frame.columns.iter().zip(&self.arrays).map(extra).collect()
    }

    /// Reads rows of all columns. Returns whether some are damaged.
    fn read(&self, at: u64, rows: usize, bytes: &mut Vec<u8>) -> Result<bool> {
        let size = self.frame.row_bytes().checked_mul(rows);
        resize(bytes, size.ok_or_else(|| failure!("out of memory"))?)?;
        let (mut rest, mut damaged) = (bytes.as_mut_slice(), false);
        for (column, array) in self.frame.columns.iter().zip(&self.arrays) {
            let (own, after) = rest.split_at_mut(rows * column.size);
            rest = after;
            if own.is_empty() {
                continue;
            }
            let read = match self.list {
                Some(list) => {
                    let list = list.get(at as usize..at as usize + rows).unwrap_or_default();
                    let mut positions = vec![None; array.shape().len()];
                    positions[0] = Some(list);
                    array.read_orthogonal_bytes(&positions, own)
                }
                None => {
                    let mut ranges: Vec<_> = array.shape().iter().map(|n| 0..*n).collect();
                    ranges[0] = at..at + rows as u64;
                    array.read_bytes(&ranges[..], own)
                }
            };
            damaged |= read.map_err(library(self.path))? == Integrity::Filled;
        }
        Ok(damaged)
    }
}
