//! Tables as the papers have them: one dataset whose fields stand apart, `data/a`, `data/b/c`. Each
//! of its columns is a field at the top, and `meta` tells of all of them at once.
//!
//! Chunks of a new column are in files that nobody knows of before `meta/storage` has its name;
//! those of one that was removed go behind the commit that takes its name away.
#![forbid(unsafe_code)]

use super::write::{Changing, Removed, check_name};
use super::{Column, Table, find};
use crate::array::Array;
use crate::array::dtype::{Dtype, Field, Kind, Type};
use crate::array::python_literal::Literal;
use crate::dataset::array::ArrayFile;
use crate::dataset::attrs::FILES;
use crate::dataset::chunks::How;
use crate::dataset::commit::{FOLDERS, MAIN, Site, Texts, Writer, still_ours, tidy};
use crate::dataset::create;
use crate::dataset::folder::Place;
use crate::dataset::meta::{self, Meta, SIZES, STORAGE};
use crate::dataset::open::{ROOTDIRS, all_sound};
use crate::error::{Error, Result, Status, fail};
use crate::identify::Format;
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// What the dataset says of itself, and what that was at the last commit.
pub(super) struct Papers {
    place: Place,
    pub meta: Meta,
    sizes: Option<Vec<u8>>,
    storage: Option<Vec<u8>>,
    replaces: bool,
    /// Where attributes are put down.
    pub attrs_file: &'static str,
}

/// Opens such a table to be changed.
pub(super) fn open(place: &Place, how: &How, options: &Options) -> Result<Table> {
    let site = Site::new(place.folder(), options)?;
    for below in ["", FOLDERS[0], FOLDERS[1]] {
        tidy(place, below)?;
    }
    let limit = how.memory_limit;
    let meta = Meta::read(place, limit, !how.verify)?;
    if meta.array.shape.len() != 1 {
        return Err(fail!(
            Unsupported,
            "{}: a table in the shape {:?} can be read only",
            place.show(""),
            meta.array.shape
        ));
    }
    let (sizes, storage) = (place.read(SIZES, limit)?, place.read(STORAGE, limit)?);
    let (found, attrs) = find(place, how, &|| Ok(true))?.unwrap_or_default();
    let mut files = Vec::new();
    for column in found {
        let file = column.file?;
        if file.ways().len() != leaves(&file.meta.array.dtype.item) {
            return Err(fail!(
                Unsupported,
                "{}: column {:?} has fields in one place: it can be read only",
                place.show(""),
                column.name
            ));
        }
        let file = file.for_writing(options, Writer::of_field(place, &site, false, false));
        files.push((
            file.map_err(|e| e.within(format_args!("column {:?}", column.name)))?,
            column.name,
        ));
    }
    if options.get(Opt::Verify, 1) > 1 {
        all_sound(&files.iter().map(|(file, _)| file).collect::<Vec<_>>())?;
    }
    let attrs_file = if place.has(FILES[0])? {
        FILES[0]
    } else {
        FILES[1]
    };
    let (rows, is_sealed) = (meta.rows(), meta.is_sealed());
    let papers = Papers {
        place: place.clone(),
        meta,
        sizes,
        storage,
        replaces: false,
        attrs_file,
    };
    let mut columns = Vec::new();
    for (file, name) in files {
        columns.push(Column {
            folder: name.clone(),
            name,
            stored_rows: rows,
            array: file.into_array()?,
        });
    }
    let mut changing = Changing::new(place, options, site);
    (
        changing.format,
        changing.rows,
        changing.is_sealed,
        changing.papers,
    ) = (Format::BlzPaper, rows, is_sealed, Some(papers));
    Ok(Table {
        name: place.show(""),
        rows,
        columns,
        attrs,
        changing: Some(changing),
    })
}

/// What a new table says of itself, and the columns whose places it takes.
pub(super) fn create(
    place: &Place,
    mode: Mode,
    columns: &[(&str, Dtype)],
    options: &Options,
) -> Result<(Papers, Vec<Removed>)> {
    for below in FOLDERS {
        tidy(place, below)?;
    }
    let removed = refuse_existing(place, mode, options)?;
    let meta = create::of_papers(
        &columns
            .iter()
            .map(|(_, dtype)| &dtype.item)
            .collect::<Vec<_>>(),
        options,
    )?;
    for name in FOLDERS {
        place.folder().make_folder(&place.name(name))?;
    }
    let replaces = mode == Mode::Replace;
    Ok((
        Papers {
            place: place.clone(),
            meta,
            sizes: None,
            storage: None,
            replaces,
            attrs_file: FILES[1],
        },
        removed,
    ))
}

/// Refuses to write where something else is. The columns that are replaced.
fn refuse_existing(place: &Place, mode: Mode, options: &Options) -> Result<Vec<Removed>> {
    let exists = |e: &str| {
        Err(Error {
            status: Status::Exists,
            ..fail!(State, "{}: {e}", place.show(""))
        })
    };
    if place.has(ROOTDIRS)? {
        return exists("a table of another form is there already");
    }
    if !place.has(STORAGE)? && !place.has(SIZES)? {
        // what a writer that was cut off has left may be there
        let ours = |n: &OsStr| {
            n.to_str()
                .is_some_and(|n| n.starts_with(MAIN) || FOLDERS.contains(&n))
        };
        return match place.list("").iter().find(|n| !ours(n)) {
            Some(other) => exists(&format!(
                "{:?} is there, an empty folder was expected",
                other.display().to_string()
            )),
            None => Ok(Vec::new()),
        };
    }
    if mode == Mode::New {
        return exists("it is there already");
    }
    let how = How::new(&create::for_reading(options), &place.trusted(true));
    match find(&place.trusted(true), &how, &|| Ok(true))? {
        Some((columns, _)) => columns
            .into_iter()
            .map(|c| {
                Ok(Removed {
                    chunks: 0,
                    ways: c.file?.ways(),
                    folder: c.name,
                })
            })
            .collect(),
        None => exists("an array is there already"),
    }
}

impl Papers {
    /// Refuses to go on where another writer was at work.
    pub fn still_ours(&self) -> Result<()> {
        if self.replaces {
            return Ok(());
        }
        still_ours(&self.place, SIZES, self.sizes.as_deref())?;
        still_ours(&self.place, STORAGE, self.storage.as_deref())
    }

    /// Makes the folders of a column, without rows.
    pub fn column(
        &self,
        name: &str,
        dtype: &Dtype,
        site: &Arc<Site>,
        replaces: bool,
        options: &Options,
    ) -> Result<ArrayFile> {
        check_fields(&dtype.item)?;
        if dtype.item.has_objects() {
            return Err(fail!(
                Unsupported,
                "dtype {}: objects of Python's mean nothing in a file",
                dtype.spelling
            ));
        }
        let mut meta = self.meta.of_field();
        (meta.array.shape, meta.cbytes, meta.apart) = (vec![0], 0, true);
        let how = How::new(&create::for_reading(options), &self.place);
        let file = ArrayFile::field(
            &self.place,
            &self.place.down(FOLDERS[0])?.down(name)?,
            &dtype.item,
            (&meta, 1),
            &how,
        )?;
        let file =
            file.for_writing(options, Writer::of_field(&self.place, site, true, replaces))?;
        file.make_folders()?;
        Ok(file)
    }

    /// The columns are others now.
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
        self.meta.apart = true;
        self.meta.set_dflt(dflt);
        self.meta.array.dtype = dtype;
        Ok(())
    }

    /// The default value of these fields: what those of the same name had, else zeros.
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

    /// What it says of itself, where that is new, besides `meta/sizes`.
    pub fn texts(&self, names_changed: bool) -> Texts {
        if names_changed {
            vec![(STORAGE, meta::to_json(&self.meta.storage) + "\n")]
        } else {
            Vec::new()
        }
    }

    /// The commit stands; goes on from these files.
    pub fn settle(&mut self, texts: Texts, rows: u64) {
        for (name, text) in texts {
            match name {
                SIZES => self.sizes = Some(text.into_bytes()),
                STORAGE => self.storage = Some(text.into_bytes()),
                _ => {}
            }
        }
        self.meta.array.shape = vec![rows];
        self.replaces = false;
    }

    /// Has nothing been committed yet?
    pub fn is_first(&self) -> bool {
        self.sizes.is_none()
    }
}

impl Drop for Papers {
    /// Of what never was committed the folders go.
    fn drop(&mut self) {
        for name in FOLDERS.iter().filter(|_| self.is_first() && !self.replaces) {
            let _ = self.place.folder().remove_folder(&self.place.name(name));
        }
    }
}

/// How many folders of chunks an item has.
fn leaves(item: &Type) -> usize {
    match &item.kind {
        Kind::Struct(fields) => fields.iter().map(|f| leaves(&f.item)).sum(),
        _ => 1,
    }
}

/// Refuses fields within a column whose names are none of folders.
fn check_fields(item: &Type) -> Result<()> {
    let Kind::Struct(fields) = &item.kind else {
        return Ok(());
    };
    let names: HashSet<&str> = fields.iter().map(|f| f.name.as_str()).collect();
    if fields.is_empty() || names.len() < fields.len() {
        return Err(fail!(
            Argument,
            "a column with fields of these names has no folders for them"
        ));
    }
    fields
        .iter()
        .try_for_each(|f| check_name(&f.name).and_then(|()| check_fields(&f.item)))
}
