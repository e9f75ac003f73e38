//! Tables that are made and changed.
//!
//! Each column is an array with its own waiting changes; what the table says of itself waits here.
//! A commit takes all of it or nothing, by the journal of the table's folder. A new column is a
//! folder that nobody knows of before the names of columns have it, and of one that was removed
//! `meta` goes with the commit, and the rest behind it. Tables in the papers' form: see
//! [`papers`](super::papers).
#![forbid(unsafe_code)]

use super::blz_rfc::{self, Papers};
use super::{Column, Table, names};
use crate::array::Array;
use crate::array::dtype::{Dtype, Kind};
use crate::dataset::array::ArrayFile;
use crate::dataset::attrs::{Attrs, FILES};
use crate::dataset::commit::{
    Beside, FOLDERS, MAIN, Site, Writer, commit_all, remove_array, remove_field, snapshot,
    still_ours, tidy,
};
use crate::dataset::create::{self, Kindred};
use crate::dataset::folder::{Place, can_be_in_a_folder};
use crate::dataset::meta::{Meta, SIZES, STORAGE};
use crate::dataset::open::{ROOTDIRS, all_sound, how_to_write};
use crate::dataset::text_checksum::{self, sealed};
use crate::error::{Error, Result, Status, fail};
use crate::identify::{Format, Kind as Sort};
use crate::io::Folder;
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::any::Any;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::sync::Arc;

/// What waits for a commit besides the columns' own changes, and what is needed to make more.
pub(super) struct Changing {
    place: Place,
    options: Options,
    /// Whose form new columns have.
    pub format: Format,
    /// Where the columns are fields of one dataset.
    pub papers: Option<Papers>,
    /// The names of columns as the last commit left them; none before the first.
    last: Option<Vec<u8>>,
    /// The table takes the place of another one.
    replaces: bool,
    /// Rows of the last commit.
    pub rows: u64,
    names_changed: bool,
    attrs_changed: bool,
    /// Attributes were removed, which the papers' file may have as well.
    attrs_fewer: bool,
    /// Columns that the last commit has, and the next one has not, or has other ones in their
    /// place.
    removed: Vec<Removed>,
    /// Its small files have checksums.
    pub is_sealed: bool,
    // last, so that the lock outlives what tidies up
    site: Arc<Site>,
}

/// A column that the last commit has.
pub(super) struct Removed {
    /// Its folder.
    pub folder: String,
    /// How many chunks it has, in that folder.
    pub chunks: u64,
    /// Where its chunks are in the papers' form, and how many files at most.
    pub ways: Vec<(Place, u64)>,
}

/// Opens a table to be changed.
pub(super) fn open(place: &Place, options: &Options) -> Result<Table> {
    let how = how_to_write(place, options)?;
    let place = &place.trusted(!how.verify);
    if snapshot(place, is_of_papers)? {
        return blz_rfc::open(place, &how, options);
    }
    let site = Site::new(place.folder(), options)?;
    tidy(place, "")?;
    let text = place.read(ROOTDIRS, how.memory_limit)?.unwrap_or_default();
    let names = names(&text).map_err(|e| e.within(place.show(ROOTDIRS)))?;
    refuse_shared(place, &names)?;
    let is_sealed = text_checksum::is_sealed(&text);
    let attrs = Attrs::read(place, how.memory_limit, is_sealed, how.skip_damaged)?;
    let mut files = Vec::new();
    for (name, folder) in names {
        let open = || {
            let place = place.down(&folder)?;
            let writer = Writer::new(&place, Mode::Append, options, &site)?;
            let meta = Meta::read(&place, how.memory_limit, !how.verify)?;
            ArrayFile::open_for_writing(&place, meta, &how, options, writer)
        };
        files.push((
            open().map_err(|e| e.within(format_args!("column {name:?}")))?,
            name,
            folder,
        ));
    }
    if options.get(Opt::Verify, 1) > 1 {
        all_sound(&files.iter().map(|(file, ..)| file).collect::<Vec<_>>())?;
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
        });
    }
    let changing = Changing {
        format,
        last: Some(text),
        rows,
        is_sealed,
        ..Changing::new(place, options, site)
    };
    Ok(Table {
        name: place.show(""),
        rows,
        columns,
        attrs,
        changing: Some(changing),
    })
}

/// Is it a table whose columns are fields of one dataset? Refuses what is no table.
fn is_of_papers(place: &Place) -> Result<bool> {
    if place.has(ROOTDIRS)? {
        return Ok(false);
    }
    match super::identify_at(place)? {
        Some((_, Sort::Table)) => Ok(true),
        Some(_) => Err(fail!(
            Type,
            "{}: this is an array, not a table",
            place.show("")
        )),
        None => Err(fail!(
            Format,
            "{}: no dataset: neither {STORAGE} nor {ROOTDIRS} is there",
            place.show("")
        )),
    }
}

/// Refuses columns that are in one folder: a change of one of them would be one of the other.
fn refuse_shared(place: &Place, names: &[(String, String)]) -> Result<()> {
    let (mut folders, mut identities) = (HashSet::new(), HashSet::new());
    for (name, folder) in names {
        let identity = place
            .folder()
            .identity(&place.name(folder))?
            .filter(|n| *n != 0);
        if !folders.insert(folder) || identity.is_some_and(|n| !identities.insert(n)) {
            return Err(fail!(
                Format,
                "{}: column {name:?} is in the same folder as another one",
                place.show("")
            ));
        }
    }
    Ok(())
}

/// Leaves the first rows.
fn cut(array: &mut Array, rows: u64) -> Result<()> {
    let mut shape = array.shape().to_vec();
    match shape.first_mut() {
        Some(n) if *n != rows => *n = rows,
        _ => return Ok(()),
    }
    array.resize(&shape)
}

impl Table {
    /// Creates a table without rows; it is there with the first commit. A dtype that is an array of
    /// items makes a column whose rows have that shape.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        format: Format,
        columns: &[(&str, Dtype)],
        options: &Options,
    ) -> Result<Table> {
        create::check_request(mode, options)?;
        create::in_folder(path, options, |place, site| {
            create(place, mode, format, columns, options, site)
        })
    }

    /// The same in storage of the caller's.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        mode: Mode,
        format: Format,
        columns: &[(&str, Dtype)],
        options: &Options,
    ) -> Result<Table> {
        create::check_request(mode, options)?;
        create(
            &Place::of(folder),
            mode,
            format,
            columns,
            options,
            &Site::new(folder, options)?,
        )
    }
}

fn create(
    place: &Place,
    mode: Mode,
    format: Format,
    columns: &[(&str, Dtype)],
    options: &Options,
    site: &Arc<Site>,
) -> Result<Table> {
    if columns.is_empty() {
        return Err(fail!(Argument, "a table has at least one column"));
    }
    tidy(place, "")?;
    let (papers, removed) = match format {
        Format::BlzPaper => blz_rfc::create(place, mode, columns, options)
            .map(|(papers, removed)| (Some(papers), removed))?,
        _ => (None, refuse_existing(place, mode, columns, options)?),
    };
    let changing = Changing {
        format,
        papers,
        replaces: mode == Mode::Replace,
        names_changed: true,
        attrs_changed: true,
        attrs_fewer: true,
        removed,
        is_sealed: options.get(Opt::Checksum, 1) != 0,
        ..Changing::new(place, options, site.clone())
    };
    let mut table = Table {
        name: place.show(""),
        rows: 0,
        columns: Vec::new(),
        attrs: Attrs::default(),
        changing: Some(changing),
    };
    for (name, dtype) in columns {
        table.column_add(table.columns.len(), name, dtype, &[])?;
    }
    Ok(table)
}

/// Refuses to write where something else is. The columns that are replaced.
fn refuse_existing(
    place: &Place,
    mode: Mode,
    columns: &[(&str, Dtype)],
    options: &Options,
) -> Result<Vec<Removed>> {
    let exists = |e: &str| {
        Err(Error {
            status: Status::Exists,
            ..fail!(State, "{}: {e}", place.show(""))
        })
    };
    let limit = options.memory_limit();
    if place.has(STORAGE)? || place.has(SIZES)? {
        return exists("an array is there already");
    }
    match place.read(ROOTDIRS, limit)? {
        Some(_) if mode == Mode::New => exists("it is there already"),
        Some(text) => {
            let names = names(&text).map_err(|e| e.within(place.show(ROOTDIRS)))?;
            let chunks = |folder: &String| {
                let meta = Meta::read(&place.down(folder)?, limit, true)?;
                Ok::<_, Error>(meta.rows().div_ceil(meta.chunklen))
            };
            // what is broken may be replaced, too
            let inside = |folder: &String| place.down(folder).is_ok();
            let removed = |folder: String| Removed {
                chunks: chunks(&folder).unwrap_or(0),
                ways: Vec::new(),
                folder,
            };
            Ok(names
                .into_iter()
                .filter(|(_, folder)| inside(folder))
                .map(|(_, folder)| removed(folder))
                .collect())
        }
        None => {
            // what a writer that was cut off has left may be there
            let ours = |n: &OsStr| {
                n.to_str().is_some_and(|n| {
                    n.starts_with(MAIN) || columns.iter().any(|(name, _)| *name == n)
                })
            };
            match place.list("").iter().find(|n| !ours(n)) {
                Some(other) => exists(&format!(
                    "{:?} is there, an empty folder was expected",
                    other.display().to_string()
                )),
                None => Ok(Vec::new()),
            }
        }
    }
}

impl Changing {
    pub fn new(place: &Place, options: &Options, site: Arc<Site>) -> Changing {
        Changing {
            place: place.clone(),
            options: options.clone(),
            format: Format::Bcolz,
            papers: None,
            last: None,
            replaces: false,
            rows: 0,
            names_changed: false,
            attrs_changed: false,
            attrs_fewer: false,
            removed: Vec::new(),
            is_sealed: false,
            site,
        }
    }

    /// Makes the folder of a column, without rows.
    fn column(&self, name: &str, dtype: &Dtype, options: &Options) -> Result<ArrayFile> {
        let replaces = self.removed.iter().any(|r| r.folder == name);
        if let Some(papers) = &self.papers {
            return papers.column(name, dtype, &self.site, replaces, options);
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
        let place = self.place.down(name)?;
        self.place.folder().make_folder(place.own())?;
        let new = Kindred {
            dtype: &spelling,
            shape: &[&[0], &row[..]].concat(),
            chunks: None,
            format: self.format,
        };
        create::create_at(&place, mode, &new, options, &self.site).inspect_err(|_| {
            let _ = self.place.folder().remove_folder(place.own());
        })
    }

    fn text(&self, text: String) -> String {
        if self.is_sealed { sealed(text) } else { text }
    }

    /// What the table says of itself, where that is new, and the files of the columns that are no
    /// more.
    fn beside<A>(&self, columns: &[Column<A>], attrs: &Attrs, rows: u64) -> Beside<'_> {
        let mut beside = Beside {
            place: &self.place,
            texts: Vec::new(),
            gone: Vec::new(),
            counts: None,
            is_sealed: self.is_sealed,
        };
        let own = self.papers.as_ref().map_or(FILES[0], |p| p.attrs_file);
        if self.attrs_changed {
            beside.texts.push((own, self.text(attrs.to_json())));
        }
        if self.attrs_fewer {
            beside
                .gone
                .extend(FILES.iter().filter(|f| **f != own).map(|f| (*f).to_owned()));
        }
        if let Some(papers) = &self.papers {
            beside.texts.extend(
                papers
                    .texts(self.names_changed)
                    .into_iter()
                    .map(|(name, text)| (name, self.text(text))),
            );
            let is_changed = self.names_changed || self.rows != rows || papers.is_first();
            beside.counts = is_changed.then(|| {
                [
                    rows,
                    rows.saturating_mul(papers.meta.array.dtype.item.size as u64),
                ]
            });
            return beside;
        }
        if self.names_changed {
            beside.texts.push((ROOTDIRS, self.text(to_json(columns))));
        }
        let gone = self
            .removed
            .iter()
            .map(|r| &r.folder)
            .filter(|folder| columns.iter().all(|c| c.folder != **folder));
        let files = gone.flat_map(|folder| {
            [SIZES, STORAGE, FILES[0], FILES[1]].map(|file| format!("{folder}/{file}"))
        });
        beside.gone.extend(files);
        beside
    }

    /// The commit stands; goes on from it.
    fn settle<A>(&mut self, columns: &[Column<A>], kept: &[(Place, u64)], rows: u64) {
        for Removed {
            folder,
            chunks,
            ways,
        } in std::mem::take(&mut self.removed)
        {
            if let Some(data) = self
                .place
                .down(FOLDERS[0])
                .ok()
                .filter(|_| self.papers.is_some())
            {
                ways.iter()
                    .filter(|(way, _)| !kept.iter().any(|(k, _)| k.own() == way.own()))
                    .for_each(|(way, n)| remove_field(&data, way, *n));
            }
            let is_gone = self.papers.is_none() && columns.iter().all(|c| c.folder != folder);
            if let Some(place) = self.place.down(&folder).ok().filter(|_| is_gone) {
                remove_array(&place, chunks);
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

/// The names of columns as bcolz has them, and their folders as BLZ does.
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

/// Refuses what cannot be both a name of a column and that of its folder.
pub(super) fn check_name(name: &str) -> Result<()> {
    let taken = [ROOTDIRS, FILES[0]].contains(&name) || name.contains(".holdall-");
    if taken || !can_be_in_a_folder(name) {
        return Err(fail!(
            Argument,
            "{name:?}: a column cannot have this name, which is that of its folder, too"
        ));
    }
    Ok(())
}

fn file_of(array: &mut Array) -> Result<&mut ArrayFile> {
    let store: &mut dyn Any = array.store_mut();
    store
        .downcast_mut()
        .ok_or_else(|| fail!(State, "a column is an array of another kind"))
}

impl<A: From<Array> + AsMut<Array>> Table<A> {
    fn changing(&mut self) -> Result<&mut Changing> {
        let none = fail!(State, "{}: it was opened to be read", self.name);
        let changing = self.changing.as_mut().ok_or(none)?;
        changing.site.check().map(|()| changing)
    }

    /// Puts rows behind the last: for each column its items, in C order, packed. On failure nothing
    /// was appended.
    pub fn append(&mut self, rows: u64, columns: &[&[u8]]) -> Result<()> {
        self.changing()?;
        if columns.len() != self.columns.len() {
            return Err(fail!(
                Argument,
                "{} columns: the table has {}",
                columns.len(),
                self.columns.len()
            ));
        }
        let all = self
            .rows
            .checked_add(rows)
            .ok_or_else(|| fail!(Argument, "more than 2^64 rows"))?;
        for (i, src) in columns.iter().enumerate() {
            let done = match self.columns.get_mut(i) {
                Some(column) => column
                    .array
                    .as_mut()
                    .append(0, rows, src)
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
        self.rows = all;
        Ok(())
    }

    /// Writes over rows of one column, from `first` on. On failure some of them may be written.
    pub fn write(&mut self, column: usize, first: u64, rows: u64, src: &[u8]) -> Result<()> {
        self.changing()?;
        let have = self.columns.len();
        let column = self
            .columns
            .get_mut(column)
            .ok_or_else(|| fail!(Range, "column {column}: there are {have}"))?;
        let array = column.array.as_mut();
        let (mut start, mut count) = (vec![0; array.shape().len()], array.shape().to_vec());
        start.first_mut().into_iter().for_each(|n| *n = first);
        count.first_mut().into_iter().for_each(|n| *n = rows);
        let bytes = crate::array::numpy_meta::nbytes(&count, array.itemsize());
        if bytes != Some(src.len() as u64) {
            return Err(fail!(
                Argument,
                "column {:?}: {} bytes: items of {} bytes in the shape {count:?} were expected",
                column.name,
                src.len(),
                array.itemsize()
            ));
        }
        array
            .write(&start, &count, None, src, None)
            .map_err(|e| e.within(format_args!("column {:?}", column.name)))
    }

    /// Keeps the first rows.
    pub fn truncate(&mut self, rows: u64) -> Result<()> {
        self.changing()?;
        if rows > self.rows {
            return Err(fail!(
                Range,
                "{}: {rows} rows are to stay: there are {}",
                self.name,
                self.rows
            ));
        }
        // what fails here fails for all, and before the first is cut
        self.columns
            .iter_mut()
            .try_for_each(|c| cut(c.array.as_mut(), rows))?;
        self.rows = rows;
        Ok(())
    }

    /// Puts a column before column `at`; `src` has its rows. On failure all is as it was.
    pub fn column_add(&mut self, at: usize, name: &str, dtype: &Dtype, src: &[u8]) -> Result<()> {
        check_name(name)?;
        let (options, have, rows) = (self.options()?, self.columns.len(), self.rows);
        if at > have {
            return Err(fail!(
                Range,
                "a column before column {at}: there are {have}"
            ));
        }
        if self
            .columns
            .iter()
            .any(|c| c.name == name || c.folder == name)
        {
            return Err(Error {
                status: Status::Exists,
                ..fail!(
                    State,
                    "{}: a column {name:?}, or its folder, is there already",
                    self.name
                )
            });
        }
        let make = || {
            let mut array = self
                .changing()?
                .column(name, dtype, &options)?
                .into_array()?;
            array.append(0, rows, src)?;
            Ok(array)
        };
        let array: Result<Array> = { make }();
        let array = A::from(array.map_err(|e| e.within(format_args!("column {name:?}")))?);
        let column = Column {
            name: name.to_owned(),
            folder: name.to_owned(),
            stored_rows: 0,
            array,
        };
        // a file system may take two names for the same
        let mut names: Vec<_> = self
            .columns
            .iter()
            .map(|c| (c.name.clone(), c.folder.clone()))
            .collect();
        names.push((name.to_owned(), name.to_owned()));
        let changing = self.changing()?;
        refuse_shared(&changing.place, &names)?;
        changing.names_changed = true;
        self.columns.insert(at, column);
        Ok(())
    }

    /// With what a new column is made: where the options say nothing, as the first one is.
    fn options(&mut self) -> Result<Options> {
        let rows = self.rows;
        let mut options = self.changing()?.options.clone();
        let is_there = self.changing()?.last.is_some();
        if let Some(first) = self.columns.first_mut().filter(|_| is_there) {
            let meta = &file_of(first.array.as_mut())?.meta;
            create::as_there(&mut options, meta, rows)?;
        }
        Ok(options)
    }

    /// Takes a column away.
    pub fn column_remove(&mut self, name: &str) -> Result<()> {
        self.changing()?;
        let at = self.columns.iter().position(|c| c.name == name);
        let at = at.ok_or_else(|| fail!(Argument, "{}: there is no column {name:?}", self.name))?;
        if self.columns.len() == 1 {
            return Err(fail!(
                Argument,
                "{}: a table has at least one column, {name:?} is the last",
                self.name
            ));
        }
        let mut column = self.columns.remove(at);
        let file = file_of(column.array.as_mut())?;
        if let Some(chunks) = file.committed_files() {
            let folder = column.folder.clone();
            let ways = file_of(column.array.as_mut())?.ways();
            self.changing()?.removed.push(Removed {
                folder,
                chunks,
                ways,
            });
        }
        self.changing()?.names_changed = true;
        Ok(())
    }

    /// Sets a named value, JSON, or removes it.
    pub fn attr_set(&mut self, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.changing()?;
        match value {
            Some(value) => self.attrs.set(name, value)?,
            None => self.attrs.remove(name)?,
        }
        let changing = self.changing()?;
        changing.attrs_changed = true;
        changing.attrs_fewer |= value.is_none();
        Ok(())
    }

    /// Does the same with one of a column.
    pub fn column_attr_set(
        &mut self,
        column: usize,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<&mut A> {
        self.changing()?;
        let have = self.columns.len();
        let column = self
            .columns
            .get_mut(column)
            .ok_or_else(|| fail!(Range, "column {column}: there are {have}"))?;
        let array = column.array.as_mut();
        let done = match value {
            Some(value) => array.attr_set(name, value),
            None => array.attr_remove(name),
        };
        done.map_err(|e| e.within(format_args!("column {:?}", column.name)))?;
        Ok(&mut column.array)
    }

    /// Makes all changes durable and visible, those of all columns together. On failure the files
    /// are as the last commit left them.
    pub fn commit(&mut self) -> Result<()> {
        let rows = self.rows;
        let changing = self.changing()?;
        if let Some(papers) = &changing.papers {
            papers.still_ours()?;
        } else if !changing.replaces {
            still_ours(&changing.place, ROOTDIRS, changing.last.as_deref())?;
        }
        self.columns
            .iter_mut()
            .try_for_each(|c| c.array.as_mut().settle())?;
        let Some(changing) = &mut self.changing else {
            return Ok(());
        };
        if let Some(papers) = &mut changing.papers {
            // that each field has a folder need not be told by the folders any more
            changing.names_changed |= !papers.meta.apart && rows != changing.rows;
        }
        if let Some(papers) = changing.papers.as_mut().filter(|_| changing.names_changed) {
            papers.rename(&mut self.columns)?;
        }
        let mut beside = changing.beside(&self.columns, &self.attrs, rows);
        let mut files = self
            .columns
            .iter_mut()
            .map(|c| file_of(c.array.as_mut()))
            .collect::<Result<Vec<_>>>()?;
        // bcolz takes the length of the first column for that of all: it is never longer than
        // another one
        if rows >= changing.rows {
            files.reverse();
        }
        commit_all(&changing.site, &mut files, Some(&mut beside))?;
        let kept: Vec<(Place, u64)> = if changing.papers.is_some() {
            files.iter().flat_map(|f| f.ways()).collect()
        } else {
            Vec::new()
        };
        let texts = beside.texts;
        if let Some(papers) = &mut changing.papers {
            papers.settle(texts, rows);
        }
        changing.settle(&self.columns, &kept, rows);
        self.columns.iter_mut().for_each(|c| c.stored_rows = rows);
        Ok(())
    }
}
