//! CTables of python-blosc2: groups of a store with a column per array below `_cols`, the mask
//! `_valid_rows` of the rows that exist, the schema in the metalayers of `_meta`, and attributes in
//! those of `_vlmeta`. Specified in docs/stores.md.
//!
//! - Reading: `column` has the rows of an array, `text_rows` those of values of any length, which are in
//!   `utf8`, `batches` or a `dictionary`. Other columns are listed and not read (`unread`). `zones` reads
//!   the extrema of blocks, by which conditions exclude rows; other indexes are not read.
//! - Writing: `column_writer` and `text_writer`, whose values are in `utf8_writer`, `batch_writer` or
//!   `dictionary_writer`. `commit_part` is what the commit of all columns, in `writer`, needs of each.
//! - `valid_rows` and `row_map`: the positions of rows; `null_mask`: which are null.
#![forbid(unsafe_code)]

mod batch_writer;
mod batches;
mod column;
mod column_writer;
mod commit_part;
mod create;
mod dictionary;
mod dictionary_writer;
mod index_builder;
mod index_catalog;
mod null_mask;
mod objects;
mod open_writer;
mod row_map;
pub mod schema;
mod schema_edit;
mod summary;
#[cfg(test)]
mod tests;
mod text_column;
mod text_rows;
mod text_writer;
mod unread;
mod utf8;
mod utf8_writer;
mod valid_rows;
mod writer;
mod zones;

pub use commit_part::part_of;
pub use create::create;
pub use row_map::RowMap;
pub use schema_edit::{LongKind, long_entry};
pub use text_column::entry_of;
pub use writer::{CTableWriter, writer_of};

use self::batches::{Batches, Items};
use self::column::Rows;
use self::dictionary::Dictionary;
use self::index_catalog::{INDEXES, IndexCatalog};
use self::objects::Objects;
use self::schema::{Field, Nulls, TextForm, Values};
use self::text_rows::{TextRows, TextSource};
use self::unread::Unread;
use self::utf8::Utf8;
use self::valid_rows::ValidRows;
use self::zones::{Segments, StoredZones};
use super::zones::ZoneSource;
use super::{Column, NullRule, Table};
use crate::array::Array;
use crate::array::msgpack_json::to_json;
use crate::dataset::attrs::Attrs;
use crate::dataset::open;
use crate::dtype::numpy_meta::{ArrayMeta, Order};
use crate::dtype::{Dtype, Kind};
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::journal::Snapshot;
use crate::io::{Access, Folder, read_buffer};
use crate::json::Value;
use crate::options::Options;
use crate::store::path::{self, Named};
use crate::store::table_files::{self, COLUMNS, DICTIONARY, NOT_NULL, TableFiles, UTF8};
use crate::store::{self, NodeLocation, Store};
use crate::superchunk::any::Superchunk;
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::frame::Frame;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};

const META: &str = "_meta";
const SCHEMA: &str = "schema";
const ATTRIBUTES: &str = "_vlmeta";
const VALID_ROWS: &str = "_valid_rows";

/// Opens the CTable that a path names, if it names one.
pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Option<Table>> {
    let (store, root) = match path::named(path, options)? {
        Named::Table(store, root) => (store, root),
        Named::Other if store::format_at(path)?.is_some() => {
            (Store::open(path, options)?, String::new())
        }
        _ => return Ok(None),
    };
    of_store(&store, &root, mode, options)
}

/// Opens the CTable that a storage holds, if it holds one.
pub fn open_in(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<Option<Table>> {
    if let Some(location) = folder.in_store() {
        let store = Store::open_folder(&location.folder, options)?;
        return of_store(&store, &location.root, mode, options);
    }
    if store::format_in(folder, OsStr::new(""))?.is_none() {
        return Ok(None);
    }
    let store = Store::open_in(folder, OsStr::new(""), options)?;
    of_store(&store, "", mode, options)
}

/// Opens the CTable below a group of a store, if it is one; "": the store itself.
pub fn of_store(store: &Store, root: &str, mode: Mode, options: &Options) -> Result<Option<Table>> {
    if !store.is_table(root, options)? {
        return Ok(None);
    }
    let name = store.show(root);
    let within = |e: Error| match e.message.starts_with(&name) {
        true => e,
        false => e.within(&name),
    };
    let table = match mode {
        Mode::Read => read(store, root, options),
        Mode::Append => open_writer::open(store, root, options),
        Mode::New | Mode::Replace => Err(fail!(
            Argument,
            "wrong mode for opening (expected HOLDALL_READ or HOLDALL_APPEND)"
        )),
    };
    table.map(Some).map_err(within)
}

/// Opens a table for reading, as the last commit left it.
fn read(store: &Store, root: &str, options: &Options) -> Result<Table> {
    let open = |store: &Store| {
        let opened = Opened {
            store,
            root,
            options,
        };
        opened.open(&store.show(root))
    };
    if store.format() != Format::B2d {
        return open(store);
    }
    let files = TableFiles::new(&store.folder()?, root);
    if files.folder().is_store() {
        return open(store);
    }
    Snapshot::read(&files.container(), |snapshot| {
        let folder = snapshot.folder()?;
        let meta = || -> Result<Vec<u8>> {
            let file = folder.open(&files.file(table_files::META), Access::Read)?;
            read_buffer::read(&*file, 0, file.size()? as usize, options.memory_limit())
                .map(|bytes| bytes.to_vec())
        };
        let before = meta()?;
        let table = match Arc::ptr_eq(&folder, files.folder()) {
            true => open(store),
            false => open(&Store::open_folder(&folder, options)?),
        };
        // A commit changes it before it removes its journal. So if there is no journal after all
        // frames are open, one that ended before has changed it.
        match snapshot.same_journal()? && meta()? == before {
            true => table,
            false => Err(fail!(Busy, "{}: it is being changed", store.show(root))),
        }
    })
}

/// Returns the path of the node of a column in its table.
pub fn node_of(name: &str) -> String {
    format!("{COLUMNS}/{}", schema::path_of(name))
}

/// Returns the text of the schema.
fn schema_of(meta: &Superchunk) -> Result<Vec<u8>> {
    let packed = meta.meta(SCHEMA)?.unwrap_or_default();
    match Value::parse(to_json(packed).as_bytes()) {
        Ok(Value::String(text)) => Ok(text.into_bytes()),
        _ => Err(fail!(Format, "{META}: the metalayer {SCHEMA:?} is no text")),
    }
}

struct Opened<'a> {
    store: &'a Store,
    root: &'a str,
    options: &'a Options,
}

impl Opened<'_> {
    fn open(&self, name: &str) -> Result<Table> {
        let meta = self.metalayers(META)?;
        let fields = schema::parse(&schema_of(&meta)?)?;
        let mask = self.array(VALID_ROWS)?;
        let valid = Arc::new(ValidRows::read(&mask, self.options.memory_limit())?);
        let mut segments = HashMap::new();
        let mut column = |field: &Field| {
            self.column(field, &valid, &mut segments)
                .map_err(|e| in_column(e, &field.name))
        };
        let columns = fields.iter().map(&mut column).collect::<Result<_>>()?;
        Ok(Table {
            name: name.to_owned(),
            rows: valid.count(),
            columns,
            attrs: self.attrs()?,
            writer: None,
            format: Some(Format::CTable),
            zones: self.zones(&meta, &valid, segments)?,
        })
    }

    fn path(&self, node: &str) -> String {
        format!("{}/{node}", self.root)
    }

    /// Opens an array of the table.
    fn array(&self, node: &str) -> Result<Array> {
        match self.store.locate(&self.path(node))? {
            NodeLocation::Path(path) => open::open(&path, Mode::Read, self.options),
            NodeLocation::Folder(folder) => open::open_in(&folder, Mode::Read, self.options),
        }
    }

    /// Opens a superchunk of which only the metalayers are used.
    fn metalayers(&self, node: &str) -> Result<Superchunk> {
        match self.store.locate(&self.path(node))? {
            NodeLocation::Path(path) => Superchunk::open(&path, Mode::Read, self.options),
            NodeLocation::Folder(folder) => {
                Superchunk::open_in(&folder, OsStr::new(""), Mode::Read, self.options)
            }
        }
    }

    fn schema(&self) -> Result<Vec<u8>> {
        schema_of(&self.metalayers(META)?)
    }

    /// Returns the zones of a table in a folder, if it has any.
    fn zones(
        &self,
        meta: &Superchunk,
        valid: &Arc<ValidRows>,
        segments: HashMap<String, Segments>,
    ) -> Result<Option<Arc<dyn ZoneSource>>> {
        let epoch = writer::parsed(meta.meta(writer::VALUE_EPOCH)?);
        let catalog = IndexCatalog::of(meta.meta(INDEXES)?, epoch);
        if self.store.format() != Format::B2d || catalog.is_empty() {
            return Ok(None);
        }
        Ok(Some(Arc::new(StoredZones {
            files: TableFiles::new(&self.store.folder()?, self.root),
            catalog,
            epoch,
            valid: valid.clone(),
            segments,
            options: self.options.clone(),
            read: Mutex::default(),
        })))
    }

    fn attrs(&self) -> Result<Attrs> {
        let mut attrs = Attrs::default();
        if self.store.node(&self.path(ATTRIBUTES)).is_ok() {
            let stored = self.metalayers(ATTRIBUTES)?;
            for name in stored.meta_names() {
                let value = stored.meta(name)?.unwrap_or_default();
                attrs.set(name, to_json(value).as_bytes())?;
            }
        }
        Ok(attrs)
    }

    fn column(
        &self,
        field: &Field,
        valid: &Arc<ValidRows>,
        segments: &mut HashMap<String, Segments>,
    ) -> Result<Column> {
        let node = format!("{COLUMNS}/{}", field.path);
        match &field.values {
            Values::Texts(form) => return self.texts(field, form, valid),
            Values::Other(kind) => return self.unread(field, kind, valid.count()),
            Values::Items | Values::Times(_) => {}
        }
        let array = self.array(&node)?;
        if let (&[positions], &[len]) = (array.shape(), array.blockshape()) {
            segments.insert(field.name.clone(), Segments { positions, len });
        }
        let dtype = match &field.values {
            Values::Times(unit) => times(&array, unit)?,
            _ => array.dtype().clone(),
        };
        let nulls = match &field.nulls {
            Nulls::None => None,
            Nulls::Mask => self.mask(&node, valid)?,
            Nulls::Value(value) => Some(match schema::null_item(value, &dtype)? {
                Some(item) => NullRule::Item(item),
                None => NullRule::Nan,
            }),
        };
        Ok(Column {
            name: field.name.clone(),
            array: self.rows(array, dtype, valid)?,
            stored_rows: valid.count(),
            folder: node,
            nulls,
        })
    }

    /// Returns a column of texts, or of other values of any length.
    fn texts(&self, field: &Field, form: &TextForm, valid: &Arc<ValidRows>) -> Result<Column> {
        let folder = format!("{COLUMNS}/{}", field.path);
        let limit = self.options.memory_limit();
        let name = self.store.show(&self.path(&folder));
        let batches = |node: &str, items| Batches::new(self.frame(node)?, items, limit);
        let source: Box<dyn TextSource> = match form {
            TextForm::Utf8 => {
                let mask = match field.nulls {
                    Nulls::Mask => self.stored_mask(&folder)?,
                    _ => None,
                };
                let data = self.array(&format!("{folder}{UTF8}"))?;
                let ends = self.array(&folder)?;
                Box::new(Utf8::new(ends, data, mask, &field.nulls, limit)?)
            }
            TextForm::Batches => Box::new(batches(&folder, Items::Texts)?),
            TextForm::Bytes => Box::new(batches(&folder, Items::Bytes)?),
            TextForm::Packed(_) => Box::new(batches(&folder, Items::Values)?),
            TextForm::Arrow(of) => Box::new(batches(&folder, Items::Arrow(of.clone()))?),
            TextForm::Objects(_) => Box::new(Objects::new(self.frame(&folder)?, limit)),
            TextForm::Dictionary(null) => {
                let values = batches(&format!("{folder}{DICTIONARY}"), Items::Texts)?;
                let numbers = self.array(&folder)?;
                Box::new(Dictionary::new(numbers, &values, *null, limit)?)
            }
        };
        let n = source.len();
        if n < valid.end() {
            return Err(fail!(
                Format,
                "it has {n} values (expected {}, as {VALID_ROWS})",
                valid.end()
            ));
        }
        let may_be_null = text_column::may_be_null(field, form);
        let described = (form.packed().cloned(), field.entry.clone());
        let store = TextRows::new(name, source, Arc::clone(valid), described, limit);
        let meta = ArrayMeta {
            dtype: text_column::dtype_of(form)?,
            shape: vec![valid.count()],
            order: Order::C,
        };
        let chunkshape = vec![valid.count().max(1)];
        Ok(Column {
            name: field.name.clone(),
            array: Array::over(Box::new(store), meta, chunkshape, self.options)?,
            stored_rows: valid.count(),
            nulls: may_be_null.then_some(NullRule::Texts),
            folder,
        })
    }

    /// Opens a frame of the table.
    fn frame(&self, node: &str) -> Result<Frame> {
        match self.store.locate(&self.path(node))? {
            NodeLocation::Path(path) => Frame::open(&path, Mode::Read, self.options),
            NodeLocation::Folder(folder) => {
                Frame::open_in(&folder, OsStr::new(""), Mode::Read, self.options)
            }
        }
    }

    /// Returns a column that is listed, but not read.
    fn unread(&self, field: &Field, kind: &str, rows: u64) -> Result<Column> {
        let folder = format!("{COLUMNS}/{}", field.path);
        let store = Unread {
            name: self.store.show(&self.path(&folder)),
            kind: kind.to_owned(),
        };
        let meta = ArrayMeta {
            dtype: Dtype::parse("|O")?,
            shape: vec![rows],
            order: Order::C,
        };
        Ok(Column {
            name: field.name.clone(),
            array: Array::over(Box::new(store), meta, vec![rows.max(1)], self.options)?,
            stored_rows: rows,
            nulls: None,
            folder,
        })
    }

    /// Returns the rows of an array that exist, as items of a dtype.
    fn rows(&self, array: Array, dtype: Dtype, valid: &Arc<ValidRows>) -> Result<Array> {
        let (&n, row) = array
            .shape()
            .split_first()
            .ok_or_else(|| fail!(Format, "an array without dimensions"))?;
        if n < valid.end() {
            return Err(fail!(
                Format,
                "it has {n} rows (expected {}, as {VALID_ROWS})",
                valid.end()
            ));
        }
        let shape = [&[valid.count()], row].concat();
        let has_attrs = !array.store().attr_names().is_empty();
        if valid.is_dense() && dtype == *array.dtype() && !has_attrs {
            return array.slice(&vec![0; shape.len()], &shape, None);
        }
        let rows = array.chunkshape().first().copied().unwrap_or(1);
        let chunkshape = [&[rows], row].concat();
        let name = array.store().name().to_owned();
        let store = Rows::new(array, name, Arc::clone(valid), self.options.memory_limit())?;
        let meta = ArrayMeta {
            dtype,
            shape,
            order: Order::C,
        };
        Array::over(Box::new(store), meta, chunkshape, self.options)
    }

    /// Returns the mask of nulls of a column, if it has any.
    fn mask(&self, node: &str, valid: &Arc<ValidRows>) -> Result<Option<NullRule>> {
        let Some(mask) = self.stored_mask(node)? else {
            return Ok(None);
        };
        let dtype = mask.dtype().clone();
        Ok(Some(NullRule::Mask(Arc::new(
            self.rows(mask, dtype, valid)?,
        ))))
    }

    /// Returns the mask of nulls of a column with a value per position.
    fn stored_mask(&self, node: &str) -> Result<Option<Array>> {
        let node = format!("{node}{NOT_NULL}");
        // a column that never had a null has no mask
        if self.store.node(&self.path(&node)).is_err() {
            return Ok(None);
        }
        let mask = self.array(&node)?;
        if mask.shape().len() != 1 || mask.itemsize() != 1 {
            return Err(fail!(Format, "{node}: no mask of one byte per row"));
        }
        Ok(Some(mask))
    }
}

/// Returns an error of a column. A node that the schema requires and that is missing makes the table
/// an invalid one, not a missing one.
fn in_column(e: Error, name: &str) -> Error {
    let status = match e.status {
        Status::Missing => Status::Format,
        status => status,
    };
    Error { status, ..e }.within(format_args!("column {name:?}"))
}

/// Returns the dtype of times that are stored as integers.
fn times(array: &Array, unit: &str) -> Result<Dtype> {
    let stored = &array.dtype().item;
    if stored.kind != Kind::Int || stored.size != 8 {
        return Err(fail!(
            Format,
            "timestamps of dtype {} (expected integers of 64 bits)",
            array.dtype_text()
        ));
    }
    let order = if stored.big_endian { '>' } else { '<' };
    Dtype::parse(&format!("{order}M8[{unit}]"))
}
