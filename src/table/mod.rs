//! Tables: named columns of equal length, each an array. Supports bcolz `ctable`, BLZ `btable`, and
//! BLZ RFC datasets whose fields are stored in folders of their own.
//!
//! A table is as long as its shortest column. Additional rows of other columns belong to a commit
//! that was interrupted. The columns are cut to the common length on opening; the stored length of
//! each column stays available.
#![forbid(unsafe_code)]

mod blz_rfc;
mod cells;
mod copy;
mod ctable;
mod index_build;
mod meta_files;
mod nulls;
mod predicate;
mod read;
mod repair;
mod rows;
mod splits;
#[cfg(test)]
mod tests;
mod view;
mod write;
mod zones;

pub use cells::Cells;
#[cfg(feature = "internals")]
pub use ctable::schema as ctable_schema;
pub use ctable::{LongKind, long_entry};
pub use nulls::NullRule;
pub use predicate::{Bound, Predicate, Tested};
pub use repair::repair;
#[cfg(any(test, feature = "internals"))]
pub use repair::{Repaired, repair_at};
pub use rows::{Rows, row_bytes, select_rows};
pub use write::NewColumn;

use self::write::Writer;
use self::zones::{ZoneSource, Zones};
use crate::alloc;
use crate::array::Array;
use crate::array::store::Store;
use crate::checksum::crc32;
use crate::dataset::array::{ArrayFile, Verified};
use crate::dataset::attrs::Attrs;
use crate::dataset::chunks::ReadConfig;
use crate::dataset::commit::{snapshot, snapshot_of_many};
use crate::dataset::folder::DatasetDir;
use crate::dataset::meta::{self, Meta, MetaTexts, SIZES, STORAGE};
use crate::dataset::open::{self, ROOTDIRS, all_intact, read_config};
use crate::dataset::text_checksum;
use crate::error::{Error, Result, Status, fail};
use crate::format::{Format, Kind};
use crate::io::{Folder, object};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::store::Store as NodeStore;
use crate::superchunk::bloscpack::Mode;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

/// Number of columns that fail to open after which opening stops. Names take no space in files, but
/// each broken column takes memory.
const MAX_BROKEN: usize = 1000;

/// An open table. `A` is the type of its columns.
pub struct Table<A = Array> {
    name: String,
    rows: u64,
    columns: Vec<Column<A>>,
    attrs: Attrs,
    /// Write state, if the table is open for writing.
    writer: Option<Writer>,
    /// The format, if it is not that of the columns.
    format: Option<Format>,
    /// The zones of the columns, if they are stored.
    zones: Option<Arc<dyn ZoneSource>>,
}

/// One column.
pub struct Column<A = Array> {
    /// Name of the column.
    pub name: String,
    /// Content of the column, cut to the length of the table.
    pub array: A,
    /// Number of rows in the files of the column.
    pub stored_rows: u64,
    /// Which rows are null, if any can be.
    pub nulls: Option<NullRule>,
    /// Folder of the column.
    folder: String,
}

/// A column that may have failed to open.
struct FoundColumn {
    name: String,
    folder: String,
    stored_rows: u64,
    file: Result<ArrayFile>,
}

impl Table {
    /// Opens the table in a folder, or a CTable in a store.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Table> {
        match Table::open_dataset(path, mode, options) {
            Err(e) => ctable::open(path, mode, options)?.ok_or(e),
            opened => opened,
        }
    }

    /// Opens a node of a store that is a table.
    pub fn open_node(
        store: &NodeStore,
        node: &str,
        mode: Mode,
        options: &Options,
    ) -> Result<Table> {
        let root = store.node(node)?.0;
        ctable::of_store(store, root, mode, options)?
            .ok_or_else(|| fail!(Type, "{}: this node is no table", store.show(root)))
    }

    fn open_dataset(path: &OsStr, mode: Mode, options: &Options) -> Result<Table> {
        let _scope = object::request_scope(options);
        if !open::is_folder(path) && std::fs::metadata(path).is_ok() {
            return Err(fail!(
                Type,
                "{}: it is a file, and a table is a folder",
                path.display()
            ));
        }
        Table::open_at(
            &DatasetDir::local(path, options.follows_links())?,
            mode,
            options,
        )
    }

    /// Opens the table in caller-provided storage.
    pub fn open_in(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<Table> {
        let dir = DatasetDir::of(folder);
        if folder.in_store().is_some() || !snapshot(&dir, open::is_dataset)? {
            if let Some(table) = ctable::open_in(folder, mode, options)? {
                return Ok(table);
            }
            return Err(fail!(
                Missing,
                "{}: it is not a dataset: it has neither {STORAGE} nor {ROOTDIRS}",
                dir.show("")
            ));
        }
        Table::open_at(&dir, mode, options)
    }

    fn open_at(dir: &DatasetDir, mode: Mode, options: &Options) -> Result<Table> {
        match mode {
            Mode::Read => {}
            Mode::Append => return write::open(dir, options),
            _ => {
                return Err(fail!(
                    Argument,
                    "wrong mode for opening (expected HOLDALL_READ or HOLDALL_APPEND); use holdall_table_create() with HOLDALL_CREATE or HOLDALL_REPLACE"
                ));
            }
        }
        let config = read_config(dir, options)?;
        let found = snapshot_of_many(&dir.trusted(!config.verify), |dir, same| {
            find(dir, &config, same)
        })?;
        let (found, attrs) =
            found.ok_or_else(|| fail!(Type, "{}: it is an array, not a table", dir.show("")))?;
        let mut columns = Vec::new();
        for column in found {
            let FoundColumn {
                name,
                folder,
                stored_rows,
                file,
            } = column;
            columns.push(Column {
                name,
                folder,
                stored_rows,
                array: file?,
                nulls: None,
            });
        }
        if options.get(Opt::Verify, 1) > 1 {
            all_intact(&columns.iter().map(|c| &c.array).collect::<Vec<_>>())?;
        }
        let rows = columns.iter().map(|c| c.stored_rows).min().unwrap_or(0);
        Table {
            name: dir.show(""),
            rows,
            columns,
            attrs,
            writer: None,
            format: None,
            zones: None,
        }
        .map(ArrayFile::into_array)
    }
}

/// Returns a shared table for a change, or an error while an Arrow stream reads the table: the stream
/// must not see changes.
pub fn exclusive<A>(table: &mut Arc<Table<A>>) -> Result<&mut Table<A>> {
    Arc::get_mut(table).ok_or_else(|| {
        fail!(
            State,
            "an Arrow stream reads the table: release it before the table is changed"
        )
    })
}

impl<A> Table<A> {
    /// Converts the columns with `f`.
    pub fn map<B>(self, f: impl Fn(A) -> Result<B>) -> Result<Table<B>> {
        let Table {
            name,
            rows,
            columns,
            attrs,
            writer,
            format,
            zones,
        } = self;
        let column = |c: Column<A>| {
            Ok(Column {
                name: c.name,
                array: f(c.array)?,
                stored_rows: c.stored_rows,
                nulls: c.nulls,
                folder: c.folder,
            })
        };
        Ok(Table {
            name,
            rows,
            columns: columns.into_iter().map(column).collect::<Result<_>>()?,
            attrs,
            writer,
            format,
            zones,
        })
    }

    /// Returns the folder, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the zones of a column, if they are stored and can be read.
    pub fn zones(&self, column: usize) -> Option<Arc<Zones>> {
        let column = self.columns.get(column)?;
        self.zones.as_ref()?.zones(&column.name).ok()?
    }

    /// Returns the columns in order.
    pub fn columns(&self) -> &[Column<A>] {
        &self.columns
    }

    /// Returns the columns for a change that does not affect their items.
    pub fn columns_mut(&mut self) -> impl Iterator<Item = &mut A> {
        self.columns.iter_mut().map(|c| &mut c.array)
    }

    /// Returns the attributes: JSON values by name.
    pub fn attrs(&self) -> &Attrs {
        &self.attrs
    }
}

/// Reads the attributes of a table. `text` is the metadata file whose checksum line shows whether
/// metadata files have checksums.
fn attrs_of(dir: &DatasetDir, config: &ReadConfig, text: &[u8]) -> Result<Attrs> {
    Attrs::read(
        dir,
        config.memory_limit,
        text_checksum::has_checksum(text),
        config.skip_damaged,
    )
}

/// Opens the columns of a table, cut to the shortest, and reads its attributes. Returns `None` if
/// the dataset is an array.
fn find(
    dir: &DatasetDir,
    config: &ReadConfig,
    same: &dyn Fn() -> Result<bool>,
) -> Result<Option<(Vec<FoundColumn>, Attrs)>> {
    if let Some(text) = dir.read(ROOTDIRS, config.memory_limit)? {
        let found = find_columns(dir, config, same, &text)?;
        return Ok(Some((found, attrs_of(dir, config, &text)?)));
    }
    if !dir.has(STORAGE)? {
        return Err(fail!(
            Format,
            "{}: it is not a dataset: it has neither {STORAGE} nor {ROOTDIRS}",
            dir.show("")
        ));
    }
    // files of two commits must not be mixed
    let texts = || {
        Ok::<_, Error>((
            dir.read(SIZES, config.memory_limit)?,
            dir.read(STORAGE, config.memory_limit)?,
        ))
    };
    let before = texts();
    let read = || {
        let meta = Meta::read(dir, config.memory_limit, !config.verify)?;
        Ok::<_, Error>((ArrayFile::fields(dir, &meta, config)?, meta))
    };
    let found = { read }();
    match (&before, texts()) {
        (Ok(before), Ok(now)) if *before != now || !same()? => {
            return Err(fail!(Busy, "{}: it is being changed", dir.show("")));
        }
        _ => {}
    }
    let (fields, meta) = found?;
    let column = |(name, file)| FoundColumn {
        name,
        folder: String::new(),
        stored_rows: meta.rows(),
        file: Ok(file),
    };
    let storage = before
        .ok()
        .and_then(|(_, storage)| storage)
        .unwrap_or_default();
    let with_attrs = |f: Vec<_>| {
        Ok((
            f.into_iter().map(column).collect(),
            attrs_of(dir, config, &storage)?,
        ))
    };
    fields.map(with_attrs).transpose()
}

/// Opens the columns in folders of their own. `text` is the list of columns.
fn find_columns(
    dir: &DatasetDir,
    config: &ReadConfig,
    same: &dyn Fn() -> Result<bool>,
    text: &[u8],
) -> Result<Vec<FoundColumn>> {
    let names = names(text).map_err(|e| e.within(dir.show(ROOTDIRS)))?;
    let read = |folder: &str| {
        let dir = dir.subdir(folder)?;
        let (meta, texts) = Meta::read_with_texts(&dir, config.memory_limit, !config.verify)?;
        Ok((meta, dir, texts))
    };
    let (mut metas, mut texts, mut broken) = (Vec::new(), Vec::new(), 0);
    for (name, folder) in &names {
        let found: Result<(Meta, DatasetDir, MetaTexts)> = read(folder);
        broken += usize::from(found.is_err());
        if let (Err(e), true) = (&found, broken > MAX_BROKEN) {
            return Err(e
                .clone()
                .within(format_args!("column {name:?}, like others before it")));
        }
        alloc::reserve(&mut metas, 1)?;
        alloc::reserve(&mut texts, 1)?;
        let (meta, text) = match found {
            Ok((meta, dir, text)) => (Ok((meta, dir)), Some(text)),
            Err(e) => (Err(e), None),
        };
        metas.push(meta);
        texts.push(text);
    }
    let rows = metas.iter().flatten().map(|(meta, _)| meta.rows()).min();
    let column = |((name, folder), meta): (&(String, String), Result<(Meta, DatasetDir)>)| {
        let stored_rows = meta.as_ref().map_or(0, |(meta, _)| meta.rows());
        let file = meta.and_then(|(mut meta, dir)| {
            if let Some(n) = meta.array.shape.first_mut() {
                *n = rows.unwrap_or(0);
            }
            ArrayFile::open(&dir, meta, config)
        });
        FoundColumn {
            file: file.map_err(|e| e.within(format_args!("column {name:?}"))),
            name: name.clone(),
            folder: folder.clone(),
            stored_rows,
        }
    };
    let found = names.iter().zip(metas).map(column).collect();
    // sizes of two commits must not be mixed: if a second read gives the same result and no
    // commit was in progress between the reads, all sizes are from one commit
    let mut is_one = same()?;
    for (texts, (_, folder)) in texts.iter().zip(&names) {
        is_one = is_one
            && match texts {
                Some(texts) => texts.are_current()?,
                None => read(folder).is_err(),
            };
    }
    match is_one && dir.content_equals(ROOTDIRS, text)? {
        true => Ok(found),
        false => Err(open::busy_error(dir)),
    }
}

/// Parses the names of the columns, each with the name of its folder.
fn names(text: &[u8]) -> Result<Vec<(String, String)>> {
    let value = meta::parse(text)?;
    let names = match value.get("names") {
        Some(Value::Array(names)) => names
            .iter()
            .map(|n| n.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>(),
        _ => None,
    };
    let names =
        names.ok_or_else(|| fail!(Format, "\"names\" is missing or not a list of strings"))?;
    let mut seen = HashSet::new();
    if let Some(duplicate) = names.iter().find(|n| !seen.insert(n.as_str())) {
        return Err(fail!(Format, "two columns have the name {duplicate:?}"));
    }
    // BLZ stores paths; the last component is the folder in the table
    let stated: HashMap<&str, &str> = match value.get("dirs") {
        Some(Value::Object(dirs)) => dirs
            .iter()
            .filter_map(|(name, path)| Some((name.as_str(), path.as_str()?)))
            .collect(),
        _ => HashMap::new(),
    };
    let folder = |name: &str| {
        stated
            .get(name)
            .map_or(name, |path| path.rsplit('/').next().unwrap_or(path))
            .to_owned()
    };
    let all: Vec<_> = names.iter().map(|n| (n.clone(), folder(n))).collect();
    // each column takes memory, and a short file could name one folder very often
    let mut seen = HashSet::new();
    match all.iter().find(|(_, folder)| !seen.insert(folder.as_str())) {
        Some((name, folder)) => Err(fail!(
            Format,
            "columns {name:?} and another one have the same folder {folder:?}"
        )),
        None => Ok(all),
    }
}

/// Reads and verifies every chunk of a table or an array. Calls `fault` with each error; it returns
/// false to stop. For a table, the first argument of `fault` names the column and the file in it.
pub fn verify(
    path: &OsStr,
    options: &Options,
    fault: impl FnMut(Option<&str>, &Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a dataset",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io],
    )?;
    let dir = DatasetDir::local(path, options.follows_links())?;
    verify_at(&dir, options, fault)
}

/// Verifies as [`verify`] does, in this folder.
pub fn verify_at(
    dir: &DatasetDir,
    options: &Options,
    mut fault: impl FnMut(Option<&str>, &Error) -> bool,
) -> Result<Verified> {
    // a corrupt superchunk file is opened as far as possible, so that all of its chunks are
    // verified
    let skipping = options.clone().with(Opt::SkipDamaged, 1)?;
    let strict = ReadConfig {
        skip_damaged: false,
        ..ReadConfig::new(&skipping, dir)
    };
    let limit = strict.memory_limit;
    let (columns, attrs, states) = snapshot_of_many(dir, |dir, same| {
        let before = states(dir, limit)?;
        let (columns, attrs) = find(dir, &strict, same)?.unwrap_or_else(|| {
            let file = open::file_of_one_commit(dir, &strict, same);
            (
                vec![FoundColumn {
                    name: String::new(),
                    folder: String::new(),
                    stored_rows: 0,
                    file,
                }],
                Attrs::default(),
            )
        });
        let busy = columns
            .iter()
            .find_map(|c| c.file.as_ref().err().filter(|e| e.status == Status::Busy));
        match busy {
            Some(e) => Err(e.clone()),
            None if !same()? || states(dir, limit)? != before => Err(open::busy_error(dir)),
            None => Ok((columns, attrs, before)),
        }
    })?;
    let (parts, files): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|c| ((c.name, c.folder), c.file))
        .unzip();
    // an error is not reported as a fault if a writer changed the dataset meanwhile
    let mut changed = None;
    let mut fault = |folder: &str, part: Option<&str>, e: &Error| {
        let now = snapshot(dir, |now| {
            Ok((state(now, "", limit), state(now, folder, limit)))
        });
        let is_same = now.map(|(root, column)| {
            states.get("") == Some(&root) && states.get(folder) == Some(&column)
        });
        changed = is_same.map_or_else(Some, |same| (!same).then(|| open::busy_error(dir)));
        changed.is_none() && fault(part, e)
    };
    let found = match attrs.damage() {
        Some(e) if !fault("", None, e) => Ok(Verified::default()),
        _ => open::verify(&files, options, |i, e| match parts.get(i) {
            Some((name, folder)) if !name.is_empty() => fault(
                folder,
                Some(&fault_location(dir, name, folder, files.get(i), e)),
                e,
            ),
            _ => fault("", None, e),
        }),
    };
    changed.map_or(found, Err)
}

/// Returns a fingerprint of the last commit for each folder of a column; `""` is the folder of the
/// table.
fn states(dir: &DatasetDir, limit: u64) -> Result<HashMap<String, u32>> {
    let text = dir
        .read(ROOTDIRS, limit)
        .unwrap_or_default()
        .unwrap_or_default();
    let folders = names(&text)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, folder)| folder);
    Ok(std::iter::once(String::new())
        .chain(folders)
        .map(|folder| (state(dir, &folder, limit), folder))
        .map(|(s, f)| (f, s))
        .collect())
}

/// Returns the fingerprint of one folder: of its metadata files, or of the errors from reading
/// them.
fn state(dir: &DatasetDir, folder: &str, limit: u64) -> u32 {
    let dir = if folder.is_empty() {
        Ok(dir.clone())
    } else {
        dir.subdir(folder)
    };
    let mut all = Vec::new();
    for file in [ROOTDIRS, SIZES, STORAGE] {
        match dir
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|dir| dir.read(file, limit))
        {
            Ok(text) => all.extend(text.unwrap_or_default()),
            Err(e) => all.extend(e.message.bytes()),
        }
        all.push(0);
    }
    crc32(&all)
}

/// Returns the column and the file in it that the message names.
fn fault_location(
    dir: &DatasetDir,
    name: &str,
    folder: &str,
    file: Option<&Result<ArrayFile>>,
    e: &Error,
) -> String {
    let base = match file {
        Some(Ok(file)) => Store::name(file).to_owned(),
        _ => dir.subdir(folder).map(|p| p.show("")).unwrap_or_default(),
    };
    match e.message.split_once(&format!("{base}/")) {
        Some((_, rest)) => format!(
            "{name}/{}",
            rest.split_once(": ").map_or(rest, |(file, _)| file)
        ),
        None => name.to_owned(),
    }
}

/// Returns format and kind of a dataset, or `None` if the folder is not one.
pub fn identify(dir: &DatasetDir) -> Result<Option<(Format, Kind)>> {
    snapshot(&dir.trusted(true), identify_at)
}

fn identify_at(dir: &DatasetDir) -> Result<Option<(Format, Kind)>> {
    let config = ReadConfig::new(&Options::new(), dir);
    if let Some(text) = dir.read(ROOTDIRS, config.memory_limit)? {
        let value = meta::parse(&text).map_err(|e| e.within(dir.show(ROOTDIRS)))?;
        let first = names(&text)
            .map_err(|e| e.within(dir.show(ROOTDIRS)))?
            .into_iter()
            .next();
        let column = match first
            .map(|(_, folder)| dir.subdir(&folder).and_then(|column| open::format(&column)))
        {
            Some(Err(e)) if e.is_system_failure() => return Err(e),
            column => column.and_then(Result::ok),
        };
        let by_names = if value.get("dirs").is_some() {
            Format::Blz
        } else {
            Format::Bcolz
        };
        return Ok(Some((column.unwrap_or(by_names), Kind::Table)));
    }
    if !dir.has(STORAGE)? {
        return Ok(None);
    }
    let meta = Meta::read(dir, config.memory_limit, true)?;
    let kind = if ArrayFile::fields(dir, &meta, &config)?.is_some() {
        Kind::Table
    } else {
        Kind::Array
    };
    Ok(Some((open::format(dir)?, kind)))
}
