//! Creates and changes tables.
//!
//! Each column is an array with its own pending changes; the pending changes of the table's own
//! metadata are stored here. A commit applies all of them or none, by the journal of the table's
//! folder. The folder of a new column is not part of the table until the list of columns names it.
//! The commit removes the metadata of a removed column, and its other files are removed afterwards.
//! For tables in the BLZ RFC layout see [`blz_rfc`].
#![forbid(unsafe_code)]

use super::blz_rfc::{self, BlzRfcTable};
use super::ctable::{self, CTableWriter, RowMap};
use super::{Cells, Column, NullRule, Table, names};
use crate::array::{Array, NewLocation};
use crate::dataset::array::ArrayFile;
use crate::dataset::attrs::{Attrs, FILES};
use crate::dataset::commit::{
    self, FOLDERS, MAIN, TableMetadata, check_unchanged, commit_all, open_session, remove_array,
    remove_field, snapshot, tidy,
};
use crate::dataset::create::{self, ArraySpec};
use crate::dataset::folder::{DatasetDir, is_valid_entry_name};
use crate::dataset::meta::{Meta, SIZES, STORAGE};
use crate::dataset::open::{ROOTDIRS, all_intact, write_config, write_options};
use crate::dataset::text_checksum::{self, with_checksum};
use crate::dtype::{Dtype, Kind};
use crate::error::{Error, Result, Status, fail};
use crate::format::{Format, Kind as Sort};
use crate::io::journal::Session;
use crate::io::{Folder, is_own_file};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::progress::{Step, measured};
use crate::superchunk::bloscpack::Mode;
use std::any::Any;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// The write state of a table.
pub(super) enum Writer {
    Dataset(Box<TableWriter>),
    CTable(Box<CTableWriter>),
}

impl Writer {
    fn session(&self) -> &Session {
        match self {
            Writer::Dataset(writer) => &writer.session,
            Writer::CTable(writer) => &writer.session,
        }
    }

    pub fn options(&self) -> &Options {
        match self {
            Writer::Dataset(writer) => &writer.options,
            Writer::CTable(writer) => &writer.options,
        }
    }

    /// Returns the format of new columns.
    pub fn format(&self) -> Format {
        match self {
            Writer::Dataset(writer) => writer.format,
            Writer::CTable(_) => Format::CTable,
        }
    }

    /// Returns the writer of a dataset, if it is one.
    pub fn dataset(&self) -> Option<&TableWriter> {
        match self {
            Writer::Dataset(writer) => Some(writer),
            Writer::CTable(_) => None,
        }
    }

    /// Like [`Writer::dataset`], for a change.
    pub fn dataset_mut(&mut self) -> Option<&mut TableWriter> {
        match self {
            Writer::Dataset(writer) => Some(writer),
            Writer::CTable(_) => None,
        }
    }
}

/// The write state of a dataset: pending changes other than those of the columns, and the settings
/// for new columns.
pub(super) struct TableWriter {
    dir: DatasetDir,
    pub options: Options,
    /// Format of new columns.
    pub format: Format,
    /// Set if the columns are fields of one dataset.
    pub rfc_table: Option<BlzRfcTable>,
    /// The list of columns of the last commit; `None` before the first one.
    last: Option<Vec<u8>>,
    /// True if the table replaces another one.
    replaces: bool,
    /// Number of rows at the last commit.
    pub rows: u64,
    names_changed: bool,
    attrs_changed: bool,
    /// True if attributes were removed, which the other attribute file may still have.
    attrs_fewer: bool,
    /// Columns of the last commit that the next commit removes or replaces.
    removed: Vec<RemovedColumn>,
    /// True if the metadata files have checksums.
    pub has_checksum: bool,
    // last field, so that the lock is released after the cleanup
    session: Arc<Session>,
}

/// A column of the last commit that is removed.
pub(super) struct RemovedColumn {
    /// Folder of the column.
    pub folder: String,
    /// Number of chunk files in that folder.
    pub chunks: u64,
    /// Folders of its chunks in the BLZ RFC layout, each with its maximum number of files.
    pub chunk_dirs: Vec<(DatasetDir, u64)>,
}

/// Opens a table for writing.
pub(super) fn open(dir: &DatasetDir, options: &Options) -> Result<Table> {
    let options = &write_options(options)?;
    let config = write_config(dir, options);
    let dir = &dir.trusted(!config.verify);
    if snapshot(dir, is_blz_rfc)? {
        return blz_rfc::open(dir, &config, options);
    }
    let session = open_session(dir.folder(), options)?;
    tidy(dir, "")?;
    let text = dir.read(ROOTDIRS, config.memory_limit)?.unwrap_or_default();
    let names = names(&text).map_err(|e| e.within(dir.show(ROOTDIRS)))?;
    refuse_shared(dir, &names)?;
    let has_checksum = text_checksum::has_checksum(&text);
    let attrs = Attrs::read(dir, config.memory_limit, has_checksum, config.skip_damaged)?;
    let mut files = Vec::new();
    for (name, folder) in names {
        let open = || {
            let dir = dir.subdir(&folder)?;
            let writer = commit::Writer::new(&dir, Mode::Append, options, &session)?;
            let meta = Meta::read(&dir, config.memory_limit, !config.verify)?;
            ArrayFile::open_for_writing(&dir, meta, &config, options, writer)
        };
        files.push((
            open().map_err(|e| e.within(format_args!("column {name:?}")))?,
            name,
            folder,
        ));
    }
    if options.get(Opt::Verify, 1) > 1 {
        all_intact(&files.iter().map(|(file, ..)| file).collect::<Vec<_>>())?;
    }
    let rows = files
        .iter()
        .map(|(file, ..)| file.meta.rows())
        .min()
        .unwrap_or(0);
    let format = files
        .first()
        .map_or(Format::Bcolz, |(file, ..)| file.format());
    let mut columns = Vec::new();
    for (file, name, folder) in files {
        let (stored_rows, mut array) = (file.meta.rows(), file.into_array()?);
        cut(&mut array, rows)?;
        columns.push(Column {
            name,
            folder,
            stored_rows,
            array,
            nulls: None,
        });
    }
    let writer = TableWriter {
        format,
        last: Some(text),
        rows,
        has_checksum,
        ..TableWriter::new(dir, options, session)
    };
    Ok(Table {
        name: dir.show(""),
        rows,
        columns,
        attrs,
        writer: Some(Writer::Dataset(Box::new(writer))),
        format: None,
        zones: None,
    })
}

/// Returns true if the columns are fields of one dataset. Fails if the dataset is not a table.
fn is_blz_rfc(dir: &DatasetDir) -> Result<bool> {
    if dir.has(ROOTDIRS)? {
        return Ok(false);
    }
    match super::identify_at(dir)? {
        Some((_, Sort::Table)) => Ok(true),
        Some(_) => Err(fail!(Type, "{}: it is an array, not a table", dir.show(""))),
        None => Err(fail!(
            Format,
            "{}: it is not a dataset: it has neither {STORAGE} nor {ROOTDIRS}",
            dir.show("")
        )),
    }
}

/// Fails if two columns share a folder, because a change of one would change the other.
fn refuse_shared(dir: &DatasetDir, names: &[(String, String)]) -> Result<()> {
    let (mut folders, mut identities) = (HashSet::new(), HashSet::new());
    for (name, folder) in names {
        let identity = dir
            .folder()
            .identity(&dir.name(folder))?
            .filter(|n| *n != 0);
        if !folders.insert(folder) || identity.is_some_and(|n| !identities.insert(n)) {
            return Err(fail!(
                Format,
                "{}: column {name:?} and another one have the same folder",
                dir.show("")
            ));
        }
    }
    Ok(())
}

/// Cuts an array to `rows` rows.
pub(super) fn cut(array: &mut Array, rows: u64) -> Result<()> {
    let mut shape = array.shape().to_vec();
    match shape.first_mut() {
        Some(n) if *n != rows => *n = rows,
        _ => return Ok(()),
    }
    array.resize(&shape)
}

impl Table {
    /// Creates a table without rows, which exists from the first commit on. A dtype that is an
    /// array makes a column whose rows have that shape.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        format: Format,
        columns: &[(&str, Dtype)],
        options: &Options,
    ) -> Result<Table> {
        let columns = new_columns(columns, options);
        create(NewLocation::Path(path), mode, format, &columns, options)
    }

    /// Like [`Table::create`], with these columns.
    pub fn create_with(
        to: NewLocation,
        mode: Mode,
        format: Format,
        columns: &[NewColumn],
        options: &Options,
    ) -> Result<Table> {
        create(to, mode, format, columns, options)
    }

    /// Creates a table in storage of the caller.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        mode: Mode,
        format: Format,
        columns: &[(&str, Dtype)],
        options: &Options,
    ) -> Result<Table> {
        let columns = new_columns(columns, options);
        create(
            NewLocation::Storage(folder),
            mode,
            format,
            &columns,
            options,
        )
    }
}

/// A column of a new table.
pub struct NewColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// The dtype of its items; one that is an array gives rows of that shape.
    pub dtype: Dtype,
    /// How it marks nulls.
    pub nulls: Option<NullRule>,
    /// The member of the schema of a CTable that describes a column of texts, or other values of any
    /// length.
    pub entry: Option<Value>,
    /// How it is stored.
    pub options: Options,
}

fn new_columns<'a>(columns: &[(&'a str, Dtype)], options: &Options) -> Vec<NewColumn<'a>> {
    let column = |(name, dtype): &(&'a str, Dtype)| NewColumn {
        name,
        dtype: dtype.clone(),
        nulls: None,
        entry: None,
        options: options.clone(),
    };
    columns.iter().map(column).collect()
}

/// Creates a table without rows, which exists from the first commit on.
pub(super) fn create(
    to: NewLocation,
    mode: Mode,
    format: Format,
    columns: &[NewColumn],
    options: &Options,
) -> Result<Table> {
    if format == Format::CTable {
        return ctable::create(to, mode, columns, options);
    }
    create::check_request(mode, options)?;
    match to {
        NewLocation::Path(path) => create::in_folder(path, options, |dir, session| {
            create_at(dir, mode, format, columns, options, session)
        }),
        NewLocation::Storage(folder) => {
            let session = open_session(folder, options)?;
            create_at(
                &DatasetDir::of(folder),
                mode,
                format,
                columns,
                options,
                &session,
            )
        }
    }
}

fn create_at(
    dir: &DatasetDir,
    mode: Mode,
    format: Format,
    columns: &[NewColumn],
    options: &Options,
    session: &Arc<Session>,
) -> Result<Table> {
    if columns.is_empty() {
        return Err(fail!(Argument, "a table has at least one column"));
    }
    tidy(dir, "")?;
    let (rfc_table, removed) = match format {
        Format::BlzRfc => blz_rfc::create(dir, mode, columns, options)
            .map(|(rfc_table, removed)| (Some(rfc_table), removed))?,
        _ => (None, refuse_existing(dir, mode, columns, options)?),
    };
    let writer = TableWriter {
        format,
        rfc_table,
        replaces: mode == Mode::Replace,
        names_changed: true,
        attrs_changed: true,
        attrs_fewer: true,
        removed,
        has_checksum: options.get(Opt::Checksum, 1) != 0,
        ..TableWriter::new(dir, options, session.clone())
    };
    let mut table = Table {
        name: dir.show(""),
        rows: 0,
        columns: Vec::new(),
        attrs: Attrs::default(),
        writer: Some(Writer::Dataset(Box::new(writer))),
        format: None,
        zones: None,
    };
    table.attrs.is_yaml = options.get(Opt::Yaml, 0) == 1;
    for column in columns {
        table.insert_column(table.columns.len(), column, None)?;
    }
    Ok(table)
}

/// Fails if something else exists at the destination. Returns the columns that are replaced.
fn refuse_existing(
    dir: &DatasetDir,
    mode: Mode,
    columns: &[NewColumn],
    options: &Options,
) -> Result<Vec<RemovedColumn>> {
    let exists = |e: &str| {
        Err(Error {
            status: Status::Exists,
            ..fail!(State, "{}: {e}", dir.show(""))
        })
    };
    let limit = options.memory_limit();
    if dir.has(STORAGE)? || dir.has(SIZES)? {
        return exists("an array is there already");
    }
    match dir.read(ROOTDIRS, limit)? {
        Some(_) if mode == Mode::New => exists("it is there already"),
        Some(text) => {
            let names = names(&text).map_err(|e| e.within(dir.show(ROOTDIRS)))?;
            let chunks = |folder: &String| {
                let meta = Meta::read(&dir.subdir(folder)?, limit, true)?;
                Ok::<_, Error>(meta.rows().div_ceil(meta.chunklen))
            };
            // corrupt columns may be replaced as well
            let inside = |folder: &String| dir.subdir(folder).is_ok();
            let removed = |folder: String| RemovedColumn {
                chunks: chunks(&folder).unwrap_or(0),
                chunk_dirs: Vec::new(),
                folder,
            };
            Ok(names
                .into_iter()
                .filter(|(_, folder)| inside(folder))
                .map(|(_, folder)| removed(folder))
                .collect())
        }
        None => {
            // leftovers of an interrupted writer are allowed
            let is_leftover = |n: &OsStr| {
                n.to_str()
                    .is_some_and(|n| n.starts_with(MAIN) || columns.iter().any(|c| c.name == n))
            };
            match dir.list("").iter().find(|n| !is_leftover(n)) {
                Some(other) => exists(&format!(
                    "the folder is not empty (found {:?})",
                    other.display().to_string()
                )),
                None => Ok(Vec::new()),
            }
        }
    }
}

impl TableWriter {
    pub fn new(dir: &DatasetDir, options: &Options, session: Arc<Session>) -> TableWriter {
        TableWriter {
            dir: dir.clone(),
            options: options.clone(),
            format: Format::Bcolz,
            rfc_table: None,
            last: None,
            replaces: false,
            rows: 0,
            names_changed: false,
            attrs_changed: false,
            attrs_fewer: false,
            removed: Vec::new(),
            has_checksum: false,
            session,
        }
    }

    /// Creates the folder of a column without rows.
    fn column(&self, name: &str, dtype: &Dtype, options: &Options) -> Result<ArrayFile> {
        let replaces = self.removed.iter().any(|r| r.folder == name);
        if let Some(rfc_table) = &self.rfc_table {
            return rfc_table.column(name, dtype, &self.session, replaces, options);
        }
        let (spelling, row) = match &dtype.item.kind {
            Kind::Array(of, shape) => {
                let item = Dtype {
                    spelling: String::new(),
                    item: (**of).clone(),
                };
                (
                    item.to_python_literal(),
                    shape.iter().map(|n| *n as u64).collect(),
                )
            }
            _ => (dtype.spelling.clone(), Vec::new()),
        };
        let mode = if replaces { Mode::Replace } else { Mode::New };
        let dir = self.dir.subdir(name)?;
        self.dir.folder().make_folder(dir.path())?;
        let new = ArraySpec {
            dtype: &spelling,
            shape: &[&[0], &row[..]].concat(),
            chunks: None,
            format: self.format,
        };
        create::create_at(&dir, mode, &new, options, &self.session).inspect_err(|_| {
            let _ = self.dir.folder().remove_folder(dir.path());
        })
    }

    fn text(&self, text: String) -> String {
        if self.has_checksum {
            with_checksum(text)
        } else {
            text
        }
    }

    /// Returns the changed metadata of the table, and the metadata files of removed columns.
    fn table_metadata<A>(
        &self,
        columns: &[Column<A>],
        attrs: &Attrs,
        rows: u64,
    ) -> TableMetadata<'_> {
        let mut table_metadata = TableMetadata {
            dir: &self.dir,
            texts: Vec::new(),
            meta_files: self.rfc_table.as_ref().map(|table| &table.meta_files),
            removed: Vec::new(),
            totals: None,
            has_checksum: self.has_checksum,
            is_yaml: self.rfc_table.as_ref().is_some_and(|t| t.meta.is_yaml),
        };
        let own = self.rfc_table.as_ref().map_or(FILES[0], |p| p.attrs_file);
        if self.attrs_changed {
            table_metadata.texts.push((own, self.text(attrs.to_text())));
        }
        if self.attrs_fewer {
            table_metadata
                .removed
                .extend(FILES.iter().filter(|f| **f != own).map(|f| (*f).to_owned()));
        }
        if let Some(rfc_table) = &self.rfc_table {
            table_metadata.texts.extend(
                rfc_table
                    .texts(self.names_changed)
                    .into_iter()
                    .map(|(name, text)| (name, self.text(text))),
            );
            let is_changed = self.names_changed || self.rows != rows || rfc_table.is_first();
            table_metadata.totals = is_changed.then(|| {
                [
                    rows,
                    rows.saturating_mul(rfc_table.meta.array.dtype.item.size as u64),
                ]
            });
            return table_metadata;
        }
        if self.names_changed {
            table_metadata
                .texts
                .push((ROOTDIRS, self.text(to_json(columns))));
        }
        let removed_folders = self
            .removed
            .iter()
            .map(|r| &r.folder)
            .filter(|folder| columns.iter().all(|c| c.folder != **folder));
        let files = removed_folders.flat_map(|folder| {
            [SIZES, STORAGE, FILES[0], FILES[1]].map(|file| format!("{folder}/{file}"))
        });
        table_metadata.removed.extend(files);
        table_metadata
    }

    /// Updates the state after the commit took effect, and removes the files of removed columns.
    fn finish_commit<A>(
        &mut self,
        columns: &[Column<A>],
        retained: &[(DatasetDir, u64)],
        rows: u64,
    ) {
        for RemovedColumn {
            folder,
            chunks,
            chunk_dirs,
        } in std::mem::take(&mut self.removed)
        {
            if let Some(data) = self
                .dir
                .subdir(FOLDERS[0])
                .ok()
                .filter(|_| self.rfc_table.is_some())
            {
                chunk_dirs
                    .iter()
                    .filter(|(chunk_dir, _)| {
                        !retained.iter().any(|(k, _)| k.path() == chunk_dir.path())
                    })
                    .for_each(|(chunk_dir, n)| remove_field(&data, chunk_dir, *n));
            }
            let is_gone = self.rfc_table.is_none() && columns.iter().all(|c| c.folder != folder);
            if let Some(dir) = self.dir.subdir(&folder).ok().filter(|_| is_gone) {
                remove_array(&dir, chunks);
            }
        }
        if self.names_changed {
            self.last = Some(self.text(to_json(columns)).into_bytes());
        }
        (
            self.names_changed,
            self.attrs_changed,
            self.attrs_fewer,
            self.replaces,
        ) = (false, false, false, false);
        self.rows = rows;
    }
}

fn to_json<A>(columns: &[Column<A>]) -> String {
    names_to_json(columns.iter().map(|c| (c.name.as_str(), c.folder.as_str())))
}

/// Returns the list of columns: the names as bcolz stores them, and the folders as BLZ does.
pub(super) fn names_to_json<'a>(
    columns: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> String {
    let text = |t: &str| Value::String(t.to_owned());
    let names = Value::Array(columns.clone().map(|(name, _)| text(name)).collect());
    let dirs = Value::Object(
        columns
            .map(|(name, folder)| (name.to_owned(), text(folder)))
            .collect(),
    );
    format!(
        "{}\n",
        Value::Object(vec![("names".to_owned(), names), ("dirs".to_owned(), dirs)])
    )
}

/// Fails if the name is not valid for both a column and its folder.
pub(super) fn check_name(name: &str) -> Result<()> {
    let taken = [ROOTDIRS, FILES[0]].contains(&name) || is_own_file(name);
    if taken || !is_valid_entry_name(name) {
        return Err(fail!(
            Argument,
            "{name:?}: it is not a valid name for a column and its folder"
        ));
    }
    Ok(())
}

/// Returns items of fixed length of several columns.
#[cfg(any(test, feature = "internals"))]
fn items<'a>(columns: &[&'a [u8]]) -> Vec<Cells<'a>> {
    columns.iter().map(|src| Cells::of_items(src)).collect()
}

fn file_of(array: &mut Array) -> Result<&mut ArrayFile> {
    let store: &mut dyn Any = array.store_mut()?;
    store
        .downcast_mut()
        .ok_or_else(|| fail!(State, "the column is not stored in a dataset"))
}

impl<A: From<Array> + AsRef<Array> + AsMut<Array>> Table<A> {
    pub(super) fn writer(&mut self) -> Result<&mut Writer> {
        let error = fail!(State, "{}: it was opened for reading", self.name);
        let writer = self.writer.as_mut().ok_or(error)?;
        if let Some(column) = self.columns.iter().find(|c| c.array.as_ref().has_views()) {
            return Err(fail!(
                State,
                "{}: slices of column {:?} are open; close them before the table is changed",
                self.name,
                column.name
            ));
        }
        writer.session().check().map(|()| writer)
    }

    /// Returns an error if the table must not be changed.
    pub fn check_writable(&mut self) -> Result<()> {
        self.writer().map(|_| ())
    }

    /// Returns the writer of a dataset.
    fn dataset_writer(&mut self) -> Result<&mut TableWriter> {
        let writer = self.writer()?.dataset_mut();
        writer.ok_or_else(|| fail!(State, "the table is not a dataset"))
    }

    /// Returns the number of rows after `rows` rows are added with these items. Fails if there are
    /// too many, or if `columns` does not have all columns.
    fn rows_with(&self, rows: u64, columns: usize) -> Result<u64> {
        if columns != self.columns.len() {
            return Err(fail!(
                Argument,
                "wrong number of columns (found {columns}, the table has {})",
                self.columns.len()
            ));
        }
        let all = self.rows.checked_add(rows);
        all.ok_or_else(|| fail!(Argument, "more than 2^64 rows"))
    }

    /// Appends rows: for each column its items in C order, packed. On failure nothing is appended.
    #[cfg(any(test, feature = "internals"))]
    pub fn append(&mut self, rows: u64, columns: &[&[u8]]) -> Result<()> {
        self.append_cells(rows, &items(columns))
    }

    /// Like [`Table::append`], of columns of any kind.
    pub fn append_cells(&mut self, rows: u64, columns: &[Cells]) -> Result<()> {
        self.writer()?;
        let all = self.rows_with(rows, columns.len())?;
        let total = columns.iter().map(|cells| cells.nbytes()).sum();
        measured(self.progress(), total, Step::Encode, || {
            self.append_columns(rows, columns)
        })?;
        self.rows = all;
        Ok(())
    }

    /// Appends rows to all columns or, on failure, to none.
    fn append_columns(&mut self, rows: u64, columns: &[Cells]) -> Result<()> {
        let end = self.rows;
        for (i, cells) in columns.iter().enumerate() {
            let done = match self.columns.get_mut(i) {
                Some(column) => cells
                    .insert(column.array.as_mut(), end, rows)
                    .map_err(|e| e.within(format_args!("column {:?}", column.name))),
                None => Ok(()),
            };
            if let Err(e) = done {
                for column in self.columns.iter_mut().take(i) {
                    cut(column.array.as_mut(), self.rows)?;
                }
                return Err(e);
            }
        }
        Ok(())
    }

    /// Inserts rows before row `at`, as [`Table::append`] appends them. The following rows move. On
    /// failure nothing is inserted; if some columns were changed already, the table refuses all
    /// further changes.
    #[cfg(any(test, feature = "internals"))]
    pub fn insert(&mut self, at: u64, rows: u64, columns: &[&[u8]]) -> Result<()> {
        self.insert_cells(at, rows, &items(columns))
    }

    /// Like [`Table::insert`], of columns of any kind.
    pub fn insert_cells(&mut self, at: u64, rows: u64, columns: &[Cells]) -> Result<()> {
        self.writer()?;
        let all = self.rows_with(rows, columns.len())?;
        if at == self.rows {
            return self.append_cells(rows, columns);
        }
        if at > self.rows {
            let (name, have) = (&self.name, self.rows);
            return Err(fail!(
                Range,
                "{name}: rows before row {at}: there are {have}"
            ));
        }
        for (column, cells) in self.columns.iter().zip(columns) {
            cells
                .check(column.array.as_ref(), rows)
                .map_err(|e| e.within(format_args!("column {:?}", column.name)))?;
        }
        let total = columns.iter().map(|cells| cells.nbytes()).sum();
        measured(self.progress(), total, Step::Encode, || {
            self.shift(|i, array| match columns.get(i) {
                Some(cells) => cells.insert(array, at, rows),
                None => Ok(()),
            })
        })?;
        self.rows = all;
        Ok(())
    }

    /// Removes `rows` rows from row `at` on. The following rows move. On failure nothing is removed;
    /// if some columns were changed already, the table refuses all further changes.
    pub fn remove(&mut self, at: u64, rows: u64) -> Result<()> {
        self.writer()?;
        let (name, have) = (&self.name, self.rows);
        let end = at.checked_add(rows).filter(|end| *end <= have);
        let outside = || {
            fail!(
                Range,
                "{name}: {rows} rows from row {at} on: there are {have}"
            )
        };
        if end.ok_or_else(outside)? == have {
            return self.truncate(at);
        }
        self.shift(|_, array| array.remove(0, at, rows))?;
        self.rows -= rows;
        Ok(())
    }

    /// Changes the number of rows of each column in the middle.
    fn shift(&mut self, change: impl Fn(usize, &mut Array) -> Result<()>) -> Result<()> {
        for (i, column) in self.columns.iter_mut().enumerate() {
            if let Err(e) = change(i, column.array.as_mut()) {
                // the columns before have other rows than this one
                if let Some(writer) = self.writer.as_ref().filter(|_| i > 0) {
                    writer.session().mark_broken();
                }
                return Err(e.within(format_args!("column {:?}", column.name)));
            }
        }
        Ok(())
    }

    /// Returns a column for a change.
    fn column_mut(&mut self, column: usize) -> Result<&mut Column<A>> {
        let have = self.columns.len();
        let found = self.columns.get_mut(column);
        found.ok_or_else(|| fail!(Range, "column {column}: there are {have}"))
    }

    /// Overwrites rows of one column from `first` on. On failure some of them may be overwritten.
    #[cfg(any(test, feature = "internals"))]
    pub fn write(&mut self, column: usize, first: u64, rows: u64, src: &[u8]) -> Result<()> {
        self.write_cells(column, first, rows, &Cells::of_items(src))
    }

    /// Like [`Table::write`], of a column of any kind.
    pub fn write_cells(
        &mut self,
        column: usize,
        first: u64,
        rows: u64,
        cells: &Cells,
    ) -> Result<()> {
        self.writer()?;
        let column = self.column_mut(column)?;
        cells
            .write(column.array.as_mut(), first, rows)
            .map_err(|e| e.within(format_args!("column {:?}", column.name)))
    }

    /// States which rows of a column from `first` on are null, by its mask.
    pub fn set_nulls(&mut self, column: usize, first: u64, nulls: &[bool]) -> Result<()> {
        self.writer()?;
        let column = self.column_mut(column)?;
        ctable::writer_of(column.array.as_mut())
            .and_then(|writer| writer.set_nulls(first, nulls))
            .map_err(|e| e.within(format_args!("column {:?}", column.name)))
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: u64) -> Result<()> {
        self.writer()?;
        if rows > self.rows {
            return Err(fail!(
                Range,
                "{}: cannot keep {rows} of {} rows",
                self.name,
                self.rows
            ));
        }
        // an error here affects all columns, and occurs before the first one is cut
        self.columns
            .iter_mut()
            .try_for_each(|c| cut(c.array.as_mut(), rows))?;
        self.rows = rows;
        Ok(())
    }

    /// Inserts a column before column `at`. `src` has its rows; `None`: each is the fill value. On
    /// failure nothing is changed.
    #[cfg(any(test, feature = "internals"))]
    pub fn column_add(
        &mut self,
        at: usize,
        name: &str,
        dtype: &Dtype,
        src: Option<&[u8]>,
    ) -> Result<()> {
        self.column_add_cells(at, name, dtype, src.map(Cells::of_items).as_ref())
    }

    /// Like [`Table::column_add`], of a column of any kind.
    pub fn column_add_cells(
        &mut self,
        at: usize,
        name: &str,
        dtype: &Dtype,
        src: Option<&Cells>,
    ) -> Result<()> {
        let new = NewColumn {
            name,
            dtype: dtype.clone(),
            nulls: None,
            entry: None,
            options: self.options()?,
        };
        self.insert_column(at, &new, src)
    }

    pub(super) fn insert_column(
        &mut self,
        at: usize,
        new: &NewColumn,
        src: Option<&Cells>,
    ) -> Result<()> {
        let (name, dtype, options) = (new.name, &new.dtype, &new.options);
        check_name(name)?;
        let folder = match self.writer()? {
            Writer::Dataset(_) => name.to_owned(),
            Writer::CTable(_) => ctable::node_of(name),
        };
        let (have, rows) = (self.columns.len(), self.rows);
        if at > have {
            return Err(fail!(
                Range,
                "a column before column {at}: there are {have}"
            ));
        }
        if self
            .columns
            .iter()
            .any(|c| c.name == name || c.folder == folder)
        {
            return Err(Error {
                status: Status::Exists,
                ..fail!(
                    State,
                    "{}: column {name:?}, or its folder, is there already",
                    self.name
                )
            });
        }
        let map = match (&self.writer, self.columns.first_mut()) {
            (Some(Writer::CTable(_)), Some(first)) => {
                ctable::part_of(first.array.as_mut())?.map().clone()
            }
            _ => RowMap::empty(),
        };
        let make = || {
            let writer = match self.writer()? {
                Writer::Dataset(writer) => writer,
                Writer::CTable(writer) => {
                    let mut made = writer.column(new, &map)?;
                    if let Some(cells) = src {
                        cells.write(&mut made.array, 0, rows)?;
                    }
                    writer.add_to_schema(at, made.entry)?;
                    return Ok((made.array, made.nulls));
                }
            };
            let mut array = writer.column(name, dtype, options)?.into_array()?;
            match src {
                Some(cells) => cells.insert(&mut array, 0, rows)?,
                None => {
                    let row = array.shape().get(1..).unwrap_or_default();
                    array.resize(&[&[rows], row].concat())?;
                }
            }
            Ok((array, None))
        };
        let made: Result<_> = { make }();
        let (array, nulls) = made.map_err(|e| e.within(format_args!("column {name:?}")))?;
        let array = A::from(array);
        let column = Column {
            name: name.to_owned(),
            folder: folder.clone(),
            stored_rows: 0,
            array,
            nulls,
        };
        // a file system may treat two names as the same
        let mut names: Vec<_> = self
            .columns
            .iter()
            .map(|c| (c.name.clone(), c.folder.clone()))
            .collect();
        names.push((name.to_owned(), folder));
        if let Writer::Dataset(writer) = self.writer()? {
            refuse_shared(&writer.dir, &names)?;
            writer.names_changed = true;
        }
        self.columns.insert(at, column);
        Ok(())
    }

    /// Returns the options for a new column. Options that are not given are taken from the first
    /// column.
    fn options(&mut self) -> Result<Options> {
        let rows = self.rows;
        let mut options = self.writer()?.options().clone();
        let is_there = match self.writer()? {
            Writer::Dataset(writer) => writer.last.is_some(),
            // each column has chunks of its own
            Writer::CTable(_) => false,
        };
        if let Some(first) = self.columns.first_mut().filter(|_| is_there) {
            let meta = &file_of(first.array.as_mut())?.meta;
            create::inherit_options(&mut options, meta, rows)?;
        }
        Ok(options)
    }

    /// Removes a column.
    pub fn column_remove(&mut self, name: &str) -> Result<()> {
        self.writer()?;
        let at = self.column_index(name)?;
        if self.columns.len() == 1 {
            return Err(fail!(
                Argument,
                "{}: {name:?} is the only column, and a table must have at least one",
                self.name
            ));
        }
        let mut column = self.columns.remove(at);
        if let Writer::CTable(writer) = self.writer()? {
            return writer.column_removed(at, &column.folder);
        }
        let file = file_of(column.array.as_mut())?;
        if let Some(chunks) = file.committed_files() {
            let folder = column.folder.clone();
            let chunk_dirs = file_of(column.array.as_mut())?.chunk_dirs();
            self.dataset_writer()?.removed.push(RemovedColumn {
                folder,
                chunks,
                chunk_dirs,
            });
        }
        self.dataset_writer()?.names_changed = true;
        Ok(())
    }

    /// Sets an attribute to a JSON value, or removes it.
    pub fn attr_set(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.writer()?;
        match value {
            Some(value) => self.attrs.set(name, value)?,
            None => self.attrs.remove(name)?,
        }
        if let Writer::Dataset(writer) = self.writer()? {
            writer.attrs_changed = true;
            writer.attrs_fewer |= value.is_none();
        }
        Ok(())
    }

    /// Sets or removes an attribute of a column.
    pub fn column_attr_set(
        &mut self,
        column: usize,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<&mut A> {
        self.writer()?;
        let column = self.column_mut(column)?;
        let array = column.array.as_mut();
        let done = match value {
            Some(value) => array.attr_set(name, value),
            None => array.attr_remove(name),
        };
        done.map_err(|e| e.within(format_args!("column {:?}", column.name)))?;
        Ok(&mut column.array)
    }

    /// Makes all changes of all columns durable and visible. On failure the files are in the state
    /// of the last commit.
    pub fn commit(&mut self) -> Result<()> {
        let stores = self.columns.iter().map(|c| c.array.as_ref().store());
        let pending = stores.map(|store| store.pending_bytes()).sum();
        measured(self.progress(), pending, Step::Encode, || {
            self.commit_columns()
        })
    }

    fn commit_columns(&mut self) -> Result<()> {
        let rows = self.rows;
        self.writer()?;
        if let Some(Writer::CTable(writer)) = &mut self.writer {
            writer.commit(&mut self.columns, &self.attrs)?;
            self.columns.iter_mut().for_each(|c| c.stored_rows = rows);
            return Ok(());
        }
        let writer = self.dataset_writer()?;
        if let Some(rfc_table) = &writer.rfc_table {
            rfc_table.check_unchanged()?;
        } else if !writer.replaces {
            check_unchanged(&writer.dir, ROOTDIRS, writer.last.as_deref())?;
        }
        self.columns
            .iter_mut()
            .try_for_each(|c| c.array.as_mut().flush())?;
        let Some(Writer::Dataset(writer)) = &mut self.writer else {
            return Ok(());
        };
        if let Some(rfc_table) = &mut writer.rfc_table {
            // state in the metadata that each field has a folder, so that readers need not find it
            // out
            writer.names_changed |= !rfc_table.meta.has_field_dirs && rows != writer.rows;
        }
        if let Some(rfc_table) = writer.rfc_table.as_mut().filter(|_| writer.names_changed) {
            rfc_table.rename(&mut self.columns)?;
        }
        let mut table_metadata = writer.table_metadata(&self.columns, &self.attrs, rows);
        let mut files = self
            .columns
            .iter_mut()
            .map(|c| file_of(c.array.as_mut()))
            .collect::<Result<Vec<_>>>()?;
        // bcolz uses the length of the first column for all: it must never be longer than another
        // one
        if rows >= writer.rows {
            files.reverse();
        }
        commit_all(&writer.session, &mut files, Some(&mut table_metadata))?;
        let retained: Vec<(DatasetDir, u64)> = if writer.rfc_table.is_some() {
            files.iter().flat_map(|f| f.chunk_dirs()).collect()
        } else {
            Vec::new()
        };
        let texts = table_metadata.texts;
        if let Some(rfc_table) = &mut writer.rfc_table {
            rfc_table.finish_commit(texts, rows);
        }
        writer.finish_commit(&self.columns, &retained, rows);
        self.columns.iter_mut().for_each(|c| c.stored_rows = rows);
        Ok(())
    }
}
