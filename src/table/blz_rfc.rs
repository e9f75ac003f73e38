//! Tables in the BLZ RFC layout: one dataset whose fields are stored in folders of their own,
//! `data/a`, `data/b/c`. Each column is a top-level field, and the files in `meta` describe all of
//! them.
//!
//! The files of a new column are not part of the dataset until `meta/storage` contains its name.
//! The files of a removed column are deleted after the commit that removes its name.
#![forbid(unsafe_code)]

use super::write::{NewColumn, RemovedColumn, TableWriter, check_name};
use super::{Column, Table, find};
use crate::array::Array;
use crate::dataset::array::ArrayFile;
use crate::dataset::attrs::FILES;
use crate::dataset::chunks::ReadConfig;
use crate::dataset::commit::{FOLDERS, MAIN, Texts, Writer, check_unchanged, open_session, tidy};
use crate::dataset::create;
use crate::dataset::folder::DatasetDir;
use crate::dataset::meta::{self, Meta, SIZES, STORAGE};
use crate::dataset::meta_files::MetaFiles;
use crate::dataset::open::{ROOTDIRS, all_intact};
use crate::dtype::python_literal::Literal;
use crate::dtype::{Dtype, Field, Kind, Type};
use crate::error::{Error, Result, Status, fail};
use crate::format::Format;
use crate::io::journal::Session;
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// The metadata of the dataset, with its state at the last commit.
pub(super) struct BlzRfcTable {
    dir: DatasetDir,
    pub meta: Meta,
    sizes: Option<Vec<u8>>,
    storage: Option<Vec<u8>>,
    replaces: bool,
    /// Further files in `meta`.
    pub meta_files: MetaFiles,
    /// Name of the file that attributes are written to.
    pub attrs_file: &'static str,
}

/// Opens a table in the BLZ RFC layout for writing.
pub(super) fn open(dir: &DatasetDir, config: &ReadConfig, options: &Options) -> Result<Table> {
    let session = open_session(dir.folder(), options)?;
    for below in ["", FOLDERS[0], FOLDERS[1]] {
        tidy(dir, below)?;
    }
    let limit = config.memory_limit;
    let meta = Meta::read(dir, limit, !config.verify)?;
    if meta.array.shape.len() != 1 {
        return Err(fail!(
            Unsupported,
            "{}: a table of the shape {:?} is read-only",
            dir.show(""),
            meta.array.shape
        ));
    }
    let (sizes, storage) = (dir.read(SIZES, limit)?, dir.read(STORAGE, limit)?);
    let (found, mut attrs) = find(dir, config, &|| Ok(true))?.unwrap_or_default();
    attrs.is_yaml = meta.is_yaml;
    let mut files = Vec::new();
    for column in found {
        let file = column.file?;
        if file.chunk_dirs().len() != leaves(&file.meta.array.dtype.item) {
            return Err(fail!(
                Unsupported,
                "{}: column {:?} has fields that are not in folders of their own, so the table is read-only",
                dir.show(""),
                column.name
            ));
        }
        // empty folders are often lost, for example in archives
        file.make_folders()?;
        let file = file.for_writing(options, Writer::of_field(dir, &session, false, false));
        files.push((
            file.map_err(|e| e.within(format_args!("column {:?}", column.name)))?,
            column.name,
        ));
    }
    if options.get(Opt::Verify, 1) > 1 {
        all_intact(&files.iter().map(|(file, _)| file).collect::<Vec<_>>())?;
    }
    let attrs_file = if dir.has(FILES[0])? {
        FILES[0]
    } else {
        FILES[1]
    };
    let (rows, has_checksum) = (meta.rows(), meta.has_checksum());
    let rfc_table = BlzRfcTable {
        dir: dir.clone(),
        meta,
        sizes,
        storage,
        replaces: false,
        meta_files: MetaFiles::of(dir, false),
        attrs_file,
    };
    let mut columns = Vec::new();
    for (file, name) in files {
        columns.push(Column {
            folder: name.clone(),
            name,
            stored_rows: rows,
            array: file.into_array()?,
            nulls: None,
        });
    }
    let mut writer = TableWriter::new(dir, options, session);
    (
        writer.format,
        writer.rows,
        writer.has_checksum,
        writer.rfc_table,
    ) = (Format::BlzRfc, rows, has_checksum, Some(rfc_table));
    Ok(Table {
        name: dir.show(""),
        rows,
        columns,
        attrs,
        writer: Some(super::write::Writer::Dataset(Box::new(writer))),
        format: None,
        zones: None,
    })
}

/// Returns the metadata of a new table, and the columns that it replaces.
pub(super) fn create(
    dir: &DatasetDir,
    mode: Mode,
    columns: &[NewColumn],
    options: &Options,
) -> Result<(BlzRfcTable, Vec<RemovedColumn>)> {
    for below in FOLDERS {
        tidy(dir, below)?;
    }
    let removed = refuse_existing(dir, mode, options)?;
    let meta = create::blz_rfc_table_meta(
        &columns.iter().map(|c| &c.dtype.item).collect::<Vec<_>>(),
        options,
    )?;
    for name in FOLDERS {
        dir.folder().make_folder(&dir.name(name))?;
    }
    let replaces = mode == Mode::Replace;
    Ok((
        BlzRfcTable {
            dir: dir.clone(),
            meta,
            sizes: None,
            storage: None,
            replaces,
            meta_files: MetaFiles::of(dir, replaces),
            attrs_file: FILES[1],
        },
        removed,
    ))
}

/// Fails if something else exists at the destination. Returns the columns that are replaced.
fn refuse_existing(dir: &DatasetDir, mode: Mode, options: &Options) -> Result<Vec<RemovedColumn>> {
    let exists = |e: &str| {
        Err(Error {
            status: Status::Exists,
            ..fail!(State, "{}: {e}", dir.show(""))
        })
    };
    if dir.has(ROOTDIRS)? {
        return exists("a table of another format is there already");
    }
    if !dir.has(STORAGE)? && !dir.has(SIZES)? {
        // leftovers of an interrupted writer are allowed
        let is_leftover = |n: &OsStr| {
            n.to_str()
                .is_some_and(|n| n.starts_with(MAIN) || FOLDERS.contains(&n))
        };
        return match dir.list("").iter().find(|n| !is_leftover(n)) {
            Some(other) => exists(&format!(
                "the folder is not empty (found {:?})",
                other.display().to_string()
            )),
            None => Ok(Vec::new()),
        };
    }
    if mode == Mode::New {
        return exists("it is there already");
    }
    let config = ReadConfig::new(&create::for_reading(options), &dir.trusted(true));
    match find(&dir.trusted(true), &config, &|| Ok(true))? {
        Some((columns, _)) => columns
            .into_iter()
            .map(|c| {
                Ok(RemovedColumn {
                    chunks: 0,
                    chunk_dirs: c.file?.chunk_dirs(),
                    folder: c.name,
                })
            })
            .collect(),
        None => exists("an array is there already"),
    }
}

impl BlzRfcTable {
    /// Fails if another writer changed the table.
    pub fn check_unchanged(&self) -> Result<()> {
        if self.replaces {
            return Ok(());
        }
        check_unchanged(&self.dir, SIZES, self.sizes.as_deref())?;
        check_unchanged(&self.dir, STORAGE, self.storage.as_deref())
    }

    /// Creates the folders of a column without rows.
    pub fn column(
        &self,
        name: &str,
        dtype: &Dtype,
        session: &Arc<Session>,
        replaces: bool,
        options: &Options,
    ) -> Result<ArrayFile> {
        check_fields(&dtype.item)?;
        if dtype.item.has_objects() {
            return Err(fail!(
                Unsupported,
                "dtype {}: Python objects cannot be stored",
                dtype.spelling
            ));
        }
        let mut meta = self.meta.of_field();
        (meta.array.shape, meta.cbytes, meta.has_field_dirs) = (vec![0], 0, true);
        let config = ReadConfig::new(&create::for_reading(options), &self.dir);
        let file = ArrayFile::field(
            &self.dir,
            &self.dir.subdir(FOLDERS[0])?.subdir(name)?,
            &dtype.item,
            (&meta, 1),
            &config,
        )?;
        let file = file.for_writing(
            options,
            Writer::of_field(&self.dir, session, true, replaces),
        )?;
        file.make_folders()?;
        Ok(file)
    }

    /// Updates the metadata after the columns changed.
    pub fn rename<A: AsMut<Array>>(&mut self, columns: &mut [Column<A>]) -> Result<()> {
        let old = self.meta.array.dtype.item.clone();
        let (mut fields, mut end) = (Vec::new(), 0);
        for column in columns {
            let array = column.array.as_mut();
            let (of, row) = (
                array.dtype().item.clone(),
                array.shape().get(1..).unwrap_or_default(),
            );
            let item = if row.is_empty() {
                of
            } else {
                of.in_shape(row)?
            };
            let offset = end;
            end += item.size;
            fields.push(Field {
                name: column.name.clone(),
                title: None,
                offset,
                item,
            });
        }
        let dflt = self.default(&old, &fields)?;
        let item = Type {
            kind: Kind::Struct(fields),
            big_endian: false,
            size: end,
        };
        let mut dtype = Dtype {
            spelling: String::new(),
            item,
        };
        dtype.spelling = dtype.to_python_literal();
        let as_list = Literal::parse(&dtype.spelling)?.to_json();
        self.meta.set("dtype", as_list);
        self.meta
            .set("fields", Value::String(meta::APART.to_owned()));
        self.meta.has_field_dirs = true;
        self.meta.set_dflt(dflt);
        self.meta.array.dtype = dtype;
        Ok(())
    }

    /// Returns the default value of these fields: the value of the field with the same name and
    /// type, or zeros.
    fn default(&self, old: &Type, fields: &[Field]) -> Result<Value> {
        let (Kind::Struct(before), Value::Array(values)) = (&old.kind, &self.meta.dflt) else {
            return Ok(self.meta.dflt.clone());
        };
        let value = |f: &Field| match before
            .iter()
            .zip(values)
            .find(|(b, _)| b.name == f.name && b.item == f.item)
        {
            Some((_, value)) => Ok(value.clone()),
            None => create::dflt(&[], &f.item, &[], false),
        };
        fields
            .iter()
            .map(value)
            .collect::<Result<_>>()
            .map(Value::Array)
    }

    /// Returns the metadata files to write, except `meta/sizes`.
    pub fn texts(&self, names_changed: bool) -> Texts {
        if names_changed {
            vec![(STORAGE, self.meta.storage_text())]
        } else {
            Vec::new()
        }
    }

    /// Updates the state after the commit took effect.
    pub fn finish_commit(&mut self, texts: Texts, rows: u64) {
        for (name, text) in texts {
            match name {
                SIZES => self.sizes = Some(text.into_bytes()),
                STORAGE => self.storage = Some(text.into_bytes()),
                _ => {}
            }
        }
        self.meta.array.shape = vec![rows];
        self.meta_files.finish_commit();
        self.replaces = false;
    }

    /// Returns true if nothing has been committed yet.
    pub fn is_first(&self) -> bool {
        self.sizes.is_none()
    }
}

impl Drop for BlzRfcTable {
    /// Removes the folders if nothing was committed.
    fn drop(&mut self) {
        for name in FOLDERS.iter().filter(|_| self.is_first() && !self.replaces) {
            let _ = self.dir.folder().remove_folder(&self.dir.name(name));
        }
    }
}

/// Returns the number of folders with chunks that an item has.
fn leaves(item: &Type) -> usize {
    match &item.kind {
        Kind::Struct(fields) => fields.iter().map(|f| leaves(&f.item)).sum(),
        _ => 1,
    }
}

/// Fails if a field within a column has a name that is not valid for a folder.
fn check_fields(item: &Type) -> Result<()> {
    let Kind::Struct(fields) = &item.kind else {
        return Ok(());
    };
    let names: HashSet<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    if fields.is_empty() || names.len() < fields.len() {
        return Err(fail!(
            Argument,
            "the names of the fields of a column must be unique"
        ));
    }
    fields
        .iter()
        .try_for_each(|f| check_name(&f.name).and_then(|()| check_fields(&f.item)))
}
