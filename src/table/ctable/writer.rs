//! CTables that are open for writing. Each column is a frame, and so are the mask of the rows that
//! exist, the schema and the attributes. A commit makes the changes of all of them visible together:
//! see [`commit_all`](frame::commit_all).
//!
//! Each commit counts `value_epoch` in `_meta`, by which readers notice that a commit has changed
//! the frames between two of which they were opening. It updates the summaries of blocks and drops
//! the other indexes, which other programs would believe.
#![forbid(unsafe_code)]

use super::SCHEMA;
use super::column_writer::{ColumnWriter, frame_of};
use super::commit_part::part_of;
use super::index_catalog::IndexCatalog;
use super::null_mask::SharedMask;
use super::row_map::RowMap;
use super::schema::{self, Field, Nulls, TextForm, Values, path_of};
use super::schema_edit;
use super::text_column::{self, ColumnFiles};
use super::valid_rows::ValidRows;
use crate::alloc;
use crate::array::msgpack_json::{from_json, to_json};
use crate::array::{Array, NewTiled};
use crate::blosc::{Codec, Params, Target};
use crate::dataset::attrs::Attrs;
use crate::dtype::numpy_meta::{ArrayMeta, Order};
use crate::dtype::{Dtype, Kind};
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::journal::Session;
use crate::io::parent;
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::store::table_files::{
    ATTRIBUTES, Extension, INDEXES, META, NOT_NULL, TableFiles, VALID_ROWS,
};
use crate::store::{EMBED, embed_frame};
use crate::superchunk::frame::{self, Frame, NewFrame};
use crate::table::write::NewColumn;
use crate::table::{Column, NullRule};
use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Metalayers of `_meta`.
const KIND: &str = "kind";
const VERSION: &str = "version";
pub const VALUE_EPOCH: &str = "value_epoch";
const VISIBILITY_EPOCH: &str = "visibility_epoch";
/// Default number of rows in a chunk, the minimum of a small table, and the maximum bytes of a chunk
/// with more rows than one.
pub const CHUNK_ROWS: u64 = 1 << 16;
const MIN_CHUNK_ROWS: u64 = 1 << 12;
const MAX_CHUNK_BYTES: u64 = 4 << 20;
/// Positions of the mask that are written at once.
const PIECE: u64 = 1 << 20;
/// Content bytes of a chunk of a frame that has none.
const EMPTY_CHUNK: usize = 1 << 24;
const UNCHANGED: Range<u64> = Range {
    start: u64::MAX,
    end: 0,
};

/// The write state of a CTable.
pub struct CTableWriter {
    files: TableFiles,
    /// Settings of new columns.
    pub options: Options,
    schema: Value,
    /// The schema has other columns than that of the last commit.
    schema_changed: bool,
    meta: Frame,
    mask: Array,
    attrs: Option<Frame>,
    /// The frame of nodes without files, of a store that is new.
    embed: Option<Frame>,
    catalog: IndexCatalog,
    /// The rows of the last commit.
    valid: Arc<ValidRows>,
    /// Where the mask differs from the last commit, at most.
    mask_changed: Range<u64>,
    /// Folders of new columns.
    folders: Vec<OsString>,
    /// Before the first commit: the files of the table that it replaces.
    replaced: Option<Vec<OsString>>,
    /// Files that are removed after the commit: of removed columns, and of indexes.
    obsolete: Vec<OsString>,
    // last field, so that the lock is released after the cleanup
    pub session: Arc<Session>,
}

/// A column that was created.
pub struct MadeColumn {
    pub array: Array,
    /// How its nulls are marked.
    pub nulls: Option<NullRule>,
    /// Its member of the schema.
    pub entry: Value,
}

/// The frames of an existing table.
pub struct Found {
    pub schema: Value,
    pub meta: Frame,
    pub mask: Array,
    pub attrs: Option<Frame>,
    pub valid: Arc<ValidRows>,
    pub catalog: IndexCatalog,
    /// Files of indexes that are dropped.
    pub obsolete: Vec<OsString>,
}

impl CTableWriter {
    /// Returns the writer of a table that exists.
    pub fn of(
        files: TableFiles,
        found: Found,
        session: &Arc<Session>,
        options: &Options,
    ) -> CTableWriter {
        CTableWriter {
            files,
            options: options.clone(),
            schema: found.schema,
            schema_changed: false,
            meta: found.meta,
            mask: found.mask,
            attrs: found.attrs,
            embed: None,
            catalog: found.catalog,
            valid: found.valid,
            mask_changed: UNCHANGED,
            folders: Vec::new(),
            replaced: None,
            obsolete: found.obsolete,
            session: session.clone(),
        }
    }

    /// Returns the writer of a new table without columns, which replaces these files.
    pub fn create(
        files: TableFiles,
        replaced: Vec<OsString>,
        session: &Arc<Session>,
        options: &Options,
    ) -> Result<CTableWriter> {
        let own = own_options(options)?;
        let create = |name: &str, new: &NewFrame| {
            Frame::create_member(session, &files.file(name), new, &own)
        };
        // one frame for all nodes of a store
        let embed = match files.root() {
            "" => Some(embed_frame::create(Format::B2d, |new| create(EMBED, new))?),
            _ => None,
        };
        let mut meta = create(META, &empty_frame())?;
        meta.vlmeta_set(KIND, &from_json(br#""ctable""#))?;
        meta.vlmeta_set(VERSION, &from_json(b"1"))?;
        let chunk = [chunk_rows(1, options)];
        let new = new_array("|b1", &[0], &chunk);
        let name = files.file(VALID_ROWS);
        let mask = Array::create_member(session, &name, &new, &own)?;
        Ok(CTableWriter {
            files,
            options: options.clone(),
            schema: schema_edit::empty(),
            schema_changed: true,
            meta,
            mask,
            attrs: None,
            embed,
            catalog: IndexCatalog::empty(),
            valid: Arc::new(ValidRows::dense(0)),
            mask_changed: UNCHANGED,
            folders: Vec::new(),
            replaced: Some(replaced),
            obsolete: Vec::new(),
            session: session.clone(),
        })
    }

    /// Creates a column, whose rows are zeros at the positions of those of the other columns. It
    /// belongs to the table when it is [in the schema](CTableWriter::add_to_schema).
    pub fn column(&mut self, new: &NewColumn, map: &RowMap) -> Result<MadeColumn> {
        if schema::has_empty_part(new.name) {
            return Err(fail!(
                Argument,
                "an empty part of the name before or after a dot (a dot in a name is written \\.)"
            ));
        }
        if new.options.get(Opt::ChunkDictionary, 0) == 1 {
            return Err(fail!(
                Unsupported,
                "{}: python-blosc2 fails when it appends to, or reads a part of, a column with dictionaries",
                Opt::ChunkDictionary.name()
            ));
        }
        if let Some(entry) = schema_edit::text_entry(new) {
            return self.text_column(new, map, entry);
        }
        let (name, dtype, options) = (new.name, &new.dtype, &new.options);
        let field = schema_edit::new_field(name, dtype, new.nulls.as_ref())?;
        self.refuse_shared(&schema::field(&field.entry)?)?;
        if options.given_bytes(Opt::Fill).is_some() {
            return Err(fail!(
                Unsupported,
                "a fill value: the rows of a CTable always have values"
            ));
        }
        let file = self.files.column(&path_of(name), Extension::Array);
        self.refuse_obsolete(&file)?;
        self.make_folders(&file)?;
        let item = Dtype::parse(&field.stored)?.item.size as u64;
        let row_bytes = field.row.iter().fold(item, |n, d| n.saturating_mul(*d));
        let chunk = [&[chunk_rows(row_bytes, options)], &field.row[..]].concat();
        let shape = [&[map.end()], &field.row[..]].concat();
        let mut own = options.clone();
        own.take(Opt::ExpectedRows);
        own.take(Opt::ChunkBytes);
        let spec = new_array(&field.stored, &shape, &chunk);
        let array = Array::create_member(&self.session, &file, &spec, &own)?;
        let mut array = column(array, dtype, map.clone(), options)?;
        let nulls = match field.has_mask {
            true => Some(self.add_mask(name, &mut array, options)?.rule()),
            false => new.nulls.clone(),
        };
        Ok(MadeColumn {
            array,
            nulls,
            entry: field.entry,
        })
    }

    /// Adds a column to the schema before column `at`.
    pub fn add_to_schema(&mut self, at: usize, entry: Value) -> Result<()> {
        if schema::field(&entry)?.nulls == Nulls::Mask {
            schema_edit::set_version_with_masks(&mut self.schema);
        }
        let columns = schema_edit::columns(&mut self.schema)?;
        columns.insert(at.min(columns.len()), entry);
        self.schema_changed = true;
        Ok(())
    }

    /// Gives a new column a mask of its nulls.
    fn add_mask(&self, name: &str, array: &mut Array, options: &Options) -> Result<SharedMask> {
        let path = format!("{}{NOT_NULL}", path_of(name));
        let file = self.files.column(&path, Extension::Array);
        let mask = SharedMask::new(&self.session, file, &own_options(options)?, None)?;
        part_of(array)?.set_mask(mask.clone());
        Ok(mask)
    }

    /// Creates a column of texts, or other values of any length, with this member of the schema.
    fn text_column(&mut self, new: &NewColumn, map: &RowMap, entry: Value) -> Result<MadeColumn> {
        let field = schema::field(&entry)?;
        let Values::Texts(form) = &field.values else {
            return Err(fail!(State, "column {:?}: no column of texts", new.name));
        };
        self.refuse_shared(&field)?;
        for file in self.files.of_text(&field.path) {
            self.refuse_obsolete(&file)?;
        }
        self.make_folders(&self.files.column(&field.path, Extension::Array))?;
        let mut own = own_options(&new.options)?;
        for opt in [Opt::Codec, Opt::Level, Opt::Checksum] {
            new.options.copy_to(opt, &mut own)?;
        }
        let (session, files) = (&self.session, &self.files);
        let file =
            |suffix: &str, extension| files.column(&format!("{}{suffix}", field.path), extension);
        let array = |suffix: &str, new: &NewTiled| {
            Array::create_member(session, &file(suffix, Extension::Array), new, &own)
        };
        let frame = |suffix: &str, new: &NewFrame| {
            let mut own = own.clone();
            let params = frame::take_requested_params(&mut own, &new.params)?;
            let new = NewFrame { params, ..*new };
            let name = file(suffix, Extension::Batches);
            let mut frame = Frame::create_member(session, &name, &new, &own)?;
            match form {
                // a chunk is one value, not blocks of several
                TextForm::Objects(_) => frame.set_variable_chunks()?,
                _ => frame.set_variable_blocks()?,
            }
            Ok(frame)
        };
        let files = ColumnFiles {
            positions: 0,
            array: &array,
            frame: &frame,
        };
        let name = session.container().folder.show(&file("", Extension::Array));
        let which = (&field, form);
        let mut array = text_column::column(which, &files, map, session, name, &new.options)?;
        if text_column::has_mask(&field, form) {
            self.add_mask(new.name, &mut array, &new.options)?;
        }
        let nulls = text_column::may_be_null(&field, form).then_some(NullRule::Texts);
        Ok(MadeColumn {
            array,
            nulls,
            entry,
        })
    }

    /// Removes a column from the schema; its files after the commit.
    pub fn column_removed(&mut self, at: usize, folder: &str) -> Result<()> {
        let columns = schema_edit::columns(&mut self.schema)?;
        if at < columns.len() {
            let removed = schema::field(&columns.remove(at))?;
            let index = self.catalog.remove(&removed.name);
            self.obsolete.extend(index.map(OsString::from));
        }
        self.schema_changed = true;
        // the first commit removes or replaces all files of another table
        if self.replaced.is_none() {
            self.obsolete.extend(self.files.of_node(folder)?);
        }
        Ok(())
    }

    /// Fails if another column has a node of a new one.
    fn refuse_shared(&mut self, new: &Field) -> Result<()> {
        let nodes = new.nodes();
        for entry in schema_edit::columns(&mut self.schema)?.iter() {
            let other = schema::field(entry)?;
            if other.nodes().iter().any(|node| nodes.contains(node)) {
                let e = fail!(State, "it would have the files of column {:?}", other.name);
                let status = Status::Exists;
                return Err(Error { status, ..e });
            }
        }
        Ok(())
    }

    /// Fails if a file exists that is not part of the next commit.
    fn refuse_obsolete(&self, file: &OsStr) -> Result<()> {
        let folder = &self.session.container().folder;
        if self.replaced.is_some() || !folder.exists(file)? {
            return Ok(());
        }
        let (name, hint) = (
            folder.show(file),
            "no column has this file; remove it first",
        );
        Err(match self.obsolete.iter().any(|name| name == file) {
            true => fail!(State, "{name}: commit the removal of this column first"),
            false => fail!(Exists, "{name}: {hint}"),
        })
    }

    /// Creates the folders of a file.
    fn make_folders(&mut self, file: &OsStr) -> Result<()> {
        let above = Path::new(file).ancestors().skip(1);
        let mut above: Vec<OsString> = above.map(|name| name.as_os_str().to_owned()).collect();
        above.retain(|name| !name.is_empty());
        for name in above.into_iter().rev() {
            self.session.container().folder.make_folder(&name)?;
            self.folders.push(name);
        }
        Ok(())
    }

    /// Returns a file for an index of a column that no other one has, and makes its folders.
    pub fn index_file(&mut self, column: &str) -> Result<OsString> {
        let mut path = format!("{INDEXES}/{}/summary.block.b2nd", path_of(column));
        for i in 2.. {
            let file = self.files.file(&path);
            // that of an index which is dropped exists until the commit
            if self.replaced.is_some() || !self.session.container().folder.exists(&file)? {
                self.make_folders(&file)?;
                return Ok(file);
            }
            path = format!("{INDEXES}/{}/summary.block-{i}.b2nd", path_of(column));
        }
        Err(fail!(Limit, "{column}: no name for its index is free"))
    }

    /// Creates an array whose encoding the caller does not choose.
    pub fn new_member(&self, file: &OsStr, new: &NewTiled) -> Result<Array> {
        Array::create_member(&self.session, file, new, &own_options(&self.options)?)
    }

    /// Adds an index to the catalog.
    pub fn index_added(&mut self, column: &str, entry: Value) {
        self.catalog.add(column, entry);
        self.schema_changed = true;
    }

    /// Commits all changes.
    pub fn commit<A: AsMut<Array>>(
        &mut self,
        columns: &mut [Column<A>],
        attrs: &Attrs,
    ) -> Result<()> {
        self.session.check_commit()?;
        for column in columns.iter_mut() {
            column.array.as_mut().flush()?;
        }
        let limit = self.options.memory_limit();
        let map = match columns.first_mut() {
            Some(column) => part_of(column.array.as_mut())?.map().clone(),
            None => RowMap::new(self.valid.clone()),
        };
        let valid = map.committed(limit)?;
        // python-blosc2 doubles the capacity until it has room, which 0 never has
        let positions = self.positions().max(map.end()).max(1);
        self.write_mask(&map, &valid, positions)?;
        self.write_attrs(attrs)?;
        for column in columns.iter_mut() {
            part_of(column.array.as_mut())?.update_summary(positions)?;
        }
        let masks = masks_of(columns)?;
        let mut masks: Vec<_> = masks.iter().map(SharedMask::write).collect();
        let mut frames = Vec::new();
        for column in columns.iter_mut() {
            frames.extend(part_of(column.array.as_mut())?.prepare_commit(positions)?);
        }
        for mask in &mut masks {
            frames.extend(mask.prepare_commit(positions, valid.count())?);
        }
        self.mask.flush()?;
        let mask = frame_of(&mut self.mask)?;
        let rows_changed = mask.is_changed();
        frames.push(mask);
        frames.extend(self.attrs.as_mut());
        if !self.schema_changed && frames.iter().all(|frame| !frame.is_changed()) {
            return Ok(());
        }
        write_meta(
            &mut self.meta,
            &mut self.schema,
            &mut self.catalog,
            (valid.count(), rows_changed),
            positions,
        )?;
        // programs without the journal see rows only when everything else is there
        frames.push(&mut self.meta);
        frames.extend(self.embed.as_mut());
        match &self.replaced {
            Some(replaced) => frame::create_all(&self.session, frames, replaced)?,
            None => frame::commit_all(&self.session, frames)?,
        }
        for column in columns {
            part_of(column.array.as_mut())?.finish_commit(&valid);
        }
        masks.iter_mut().for_each(|mask| mask.finish_commit(&valid));
        self.finish_commit(valid);
        Ok(())
    }

    fn finish_commit(&mut self, valid: Arc<ValidRows>) {
        (self.valid, self.schema_changed) = (valid, false);
        (self.replaced, self.embed) = (None, None);
        (self.mask_changed, self.folders) = (UNCHANGED, Vec::new());
        let folder = &self.session.container().folder;
        for name in std::mem::take(&mut self.obsolete) {
            let _ = folder.remove_if_there(&name);
            let _ = folder.remove_folder(parent(&name));
            let _ = folder.remove_folder(parent(parent(&name)));
        }
    }

    fn positions(&self) -> u64 {
        self.mask.shape().first().copied().unwrap_or(0)
    }

    /// Writes the mask where it changes.
    fn write_mask(&mut self, map: &RowMap, valid: &ValidRows, positions: u64) -> Result<()> {
        if positions != self.positions() {
            self.mask.resize(&[positions])?;
        }
        let Range { start, end } = self.mask_changed;
        let mut at = map.unchanged_before(&self.valid).min(start);
        let end = valid.end().max(self.valid.end()).max(end);
        // also if the commit fails
        self.mask_changed = at..end;
        while at < end {
            let n = (end - at).min(PIECE);
            let mut bytes = alloc::with_capacity(n as usize)?;
            bytes.extend((at..at + n).map(|position| u8::from(valid.is_valid(position))));
            self.mask.write(&[at], &[n], None, &bytes, None)?;
            at += n;
        }
        Ok(())
    }

    /// Writes the attributes that differ.
    fn write_attrs(&mut self, attrs: &Attrs) -> Result<()> {
        if self.attrs.is_none() && attrs.names().is_empty() {
            return Ok(());
        }
        let frame = match &mut self.attrs {
            Some(frame) => frame,
            none => none.insert(Frame::create_member(
                &self.session,
                &self.files.file(ATTRIBUTES),
                &empty_frame(),
                &own_options(&self.options)?,
            )?),
        };
        let stored: Vec<String> = frame.meta_names().map(str::to_owned).collect();
        for name in stored {
            if attrs.get(&name)?.is_none() {
                frame.meta_remove(&name)?;
            }
        }
        for name in attrs.names() {
            let value = from_json(attrs.get(name)?.unwrap_or_default());
            let stored = frame.meta(name)?.map(to_json);
            if stored.is_none_or(|stored| stored != to_json(&value)) {
                frame.vlmeta_set(name, &value)?;
            }
        }
        Ok(())
    }
}

impl Drop for CTableWriter {
    /// Removes the folders of columns that were not committed.
    fn drop(&mut self) {
        if self.session.is_own() {
            let folder = &self.session.container().folder;
            for name in self.folders.iter().rev() {
                let _ = folder.remove_folder(name);
            }
        }
    }
}

/// Writes the schema with the number of rows, the epochs, and the indexes of columns with so many
/// positions.
fn write_meta(
    meta: &mut Frame,
    schema: &mut Value,
    catalog: &mut IndexCatalog,
    (rows, rows_changed): (u64, bool),
    positions: u64,
) -> Result<()> {
    if catalog.take_dropped() {
        schema_edit::set(schema, "summary_indexes_built", Value::Bool(false));
    }
    schema_edit::set(schema, "n_rows", Value::Int(rows.into()));
    let text = Value::String(schema.to_string()).to_string();
    meta.vlmeta_set(SCHEMA, &from_json(text.as_bytes()))?;
    let epoch = count(meta, VALUE_EPOCH)?;
    catalog.write(meta, positions, epoch)?;
    if rows_changed {
        count(meta, VISIBILITY_EPOCH)?;
    }
    Ok(())
}

/// Returns the catalog of the indexes of a table.
pub fn index_catalog(meta: &Frame) -> Result<IndexCatalog> {
    IndexCatalog::read(meta, value_epoch(meta)?)
}

/// Returns the epoch of the values of a table.
pub fn value_epoch(meta: &Frame) -> Result<u64> {
    number(meta, VALUE_EPOCH)
}

/// Adds one to a number. Returns the sum.
fn count(meta: &mut Frame, name: &str) -> Result<u64> {
    let next = number(meta, name)?.saturating_add(1);
    meta.vlmeta_set(name, &from_json(next.to_string().as_bytes()))?;
    Ok(next)
}

/// Returns the number that a metalayer has; 0 without it.
fn number(meta: &Frame, name: &str) -> Result<u64> {
    meta.meta(name).map(parsed)
}

/// Returns the number that a metalayer states; 0 without it.
pub fn parsed(stored: Option<&[u8]>) -> u64 {
    stored.map(to_json).unwrap_or_default().parse().unwrap_or(0)
}

/// Returns the column over an array, whose rows have these positions.
pub fn column(array: Array, dtype: &Dtype, map: RowMap, options: &Options) -> Result<Array> {
    let shape = [&[map.rows()], array.shape().get(1..).unwrap_or_default()].concat();
    let chunkshape = array.chunkshape().to_vec();
    let dtype = match dtype.item.kind {
        // the rows have the shape
        Kind::Array(..) => array.dtype().clone(),
        _ => dtype.clone(),
    };
    let meta = ArrayMeta {
        dtype,
        shape,
        order: Order::C,
    };
    let store = ColumnWriter::new(array, map, options.memory_limit())?;
    Array::over(Box::new(store), meta, chunkshape, options)
}

/// Returns the masks of nulls of all columns.
fn masks_of<A: AsMut<Array>>(columns: &mut [Column<A>]) -> Result<Vec<SharedMask>> {
    let mut masks = Vec::new();
    for column in columns {
        masks.extend(part_of(column.array.as_mut())?.mask().cloned());
    }
    Ok(masks)
}

/// Returns the writer of a column.
pub fn writer_of(array: &mut Array) -> Result<&mut ColumnWriter> {
    let store: &mut dyn Any = array.store_mut()?;
    store
        .downcast_mut()
        .ok_or_else(|| fail!(State, "the column is not open for writing"))
}

/// Returns the properties of a frame of which only the metalayers are used.
fn empty_frame() -> NewFrame<'static> {
    NewFrame {
        typesize: 1,
        chunk_bytes: EMPTY_CHUNK,
        params: Params::new(Target::Blosc2, Codec::Zstd, 5, 1),
        metalayers: &[],
        sparse: false,
    }
}

/// Returns the properties of an array.
pub fn new_array<'a>(dtype: &'a str, shape: &'a [u64], chunk: &'a [u64]) -> NewTiled<'a> {
    NewTiled {
        dtype,
        shape,
        chunks: Some(chunk),
        blocks: None,
        caterva: false,
    }
}

/// Returns the options for frames whose encoding the caller does not choose.
pub fn own_options(options: &Options) -> Result<Options> {
    let mut own = Options::new();
    for opt in [
        Opt::Threads,
        Opt::MemoryLimit,
        Opt::Verify,
        Opt::Durability,
        Opt::Lock,
    ] {
        options.copy_to(opt, &mut own)?;
    }
    Ok(own)
}

/// Returns the number of rows in a chunk of a new column, the same for all that are not too wide.
fn chunk_rows(row_bytes: u64, options: &Options) -> u64 {
    if let Some(bytes) = options.given(Opt::ChunkBytes) {
        return (bytes.max(1) as u64 / row_bytes.max(1)).max(1);
    }
    let expected = options.given(Opt::ExpectedRows).map(|n| n.max(0) as u64);
    let expected = expected.map_or(CHUNK_ROWS, |n| n.checked_next_power_of_two().unwrap_or(n));
    let mut rows = expected.clamp(MIN_CHUNK_ROWS, CHUNK_ROWS);
    while rows > 1 && rows.saturating_mul(row_bytes) > MAX_CHUNK_BYTES {
        rows /= 2;
    }
    rows
}
