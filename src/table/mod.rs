//! Tables: columns of one length, each an array with a name. bcolz's `ctable`, BLZ's `btable`, and
//! datasets of the papers whose fields stand apart.
//!
//! A table is as long as its shortest column: what others have beyond that belongs to a commit that
//! never was. The columns are cut to it here; how long each one is in its files is still known.
#![forbid(unsafe_code)]

mod blz_rfc;
mod repair;
#[cfg(test)]
mod repair_tests;
#[cfg(test)]
mod tests;
mod write;

pub use repair::{Repaired, repair, repair_at};

use self::write::Changing;
use crate::alloc;
use crate::array::Array;
use crate::array::store::Store;
use crate::checksum::crc32;
use crate::dataset::array::{ArrayFile, Verified};
use crate::dataset::attrs::Attrs;
use crate::dataset::chunks::How;
use crate::dataset::commit::{snapshot, snapshot_of_many};
use crate::dataset::folder::Place;
use crate::dataset::meta::{self, Meta, SIZES, STORAGE};
use crate::dataset::open::{self, ROOTDIRS, all_sound, how};
use crate::dataset::text_checksum;
use crate::error::{Error, Result, Status, fail};
use crate::identify::{Format, Kind};
use crate::io::{Folder, object};
use crate::json::Value;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;

/// Columns that do not open, after which no more are looked at: names cost nothing, and each of
/// these takes memory.
const MOST_BROKEN: usize = 1000;

/// An open table. `A`: what its columns are.
pub struct Table<A = Array> {
    name: String,
    rows: u64,
    columns: Vec<Column<A>>,
    attrs: Attrs,
    /// Who may change it.
    changing: Option<Changing>,
}

/// One column.
pub struct Column<A = Array> {
    /// Its name.
    pub name: String,
    /// Its rows, as many as the table has.
    pub array: A,
    /// As many as there are in its files.
    pub stored_rows: u64,
    /// The folder that it is in.
    folder: String,
}

/// A column that may not open.
struct Found {
    name: String,
    folder: String,
    stored_rows: u64,
    file: Result<ArrayFile>,
}

impl Table {
    /// Opens the table in a folder.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<Table> {
        let _asking = object::ask_as(options);
        if !open::is_folder(path) && std::fs::metadata(path).is_ok() {
            return Err(fail!(
                Type,
                "{}: a table is a folder, and this is a file",
                path.display()
            ));
        }
        Table::open_at(&Place::local(path)?, mode, options)
    }

    /// Opens the table that is in this storage.
    pub fn open_in(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<Table> {
        let place = Place::of(folder);
        if !snapshot(&place, open::is_dataset)? {
            return Err(fail!(
                Missing,
                "{}: neither {STORAGE} nor {ROOTDIRS} is there",
                place.show("")
            ));
        }
        Table::open_at(&place, mode, options)
    }

    fn open_at(place: &Place, mode: Mode, options: &Options) -> Result<Table> {
        match mode {
            Mode::Read => {}
            Mode::Append => return write::open(place, options),
            _ => {
                return Err(fail!(
                    Argument,
                    "HOLDALL_NEW and HOLDALL_REPLACE are for holdall_table_create(); opening takes HOLDALL_READ or HOLDALL_APPEND"
                ));
            }
        }
        let how = how(place, options)?;
        let found = snapshot_of_many(&place.trusted(!how.verify), |place, same| {
            find(place, &how, same)
        })?;
        let (found, attrs) = found
            .ok_or_else(|| fail!(Type, "{}: this is an array, not a table", place.show("")))?;
        let mut columns = Vec::new();
        for column in found {
            let Found {
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
            });
        }
        if options.get(Opt::Verify, 1) > 1 {
            all_sound(&columns.iter().map(|c| &c.array).collect::<Vec<_>>())?;
        }
        let rows = columns.iter().map(|c| c.stored_rows).min().unwrap_or(0);
        Table {
            name: place.show(""),
            rows,
            columns,
            attrs,
            changing: None,
        }
        .map(ArrayFile::into_array)
    }
}

impl<A> Table<A> {
    /// The same with columns that are something else.
    pub fn map<B>(self, f: impl Fn(A) -> Result<B>) -> Result<Table<B>> {
        let Table {
            name,
            rows,
            columns,
            attrs,
            changing,
        } = self;
        let column = |c: Column<A>| {
            Ok(Column {
                name: c.name,
                array: f(c.array)?,
                stored_rows: c.stored_rows,
                folder: c.folder,
            })
        };
        Ok(Table {
            name,
            rows,
            columns: columns.into_iter().map(column).collect::<Result<_>>()?,
            attrs,
            changing,
        })
    }

    /// Its folder, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Its columns, in their order.
    pub fn columns(&self) -> &[Column<A>] {
        &self.columns
    }

    /// What users put beside it: JSON by name.
    pub fn attrs(&self) -> &Attrs {
        &self.attrs
    }
}

/// What users put beside a table of which this text tells.
fn attrs_of(place: &Place, how: &How, text: &[u8]) -> Result<Attrs> {
    Attrs::read(
        place,
        how.memory_limit,
        text_checksum::is_sealed(text),
        how.skip_damaged,
    )
}

/// The columns of a table, none of which is opened beyond the shortest, and what users put beside
/// it; nothing where it is an array.
fn find(
    place: &Place,
    how: &How,
    same: &dyn Fn() -> Result<bool>,
) -> Result<Option<(Vec<Found>, Attrs)>> {
    if let Some(text) = place.read(ROOTDIRS, how.memory_limit)? {
        let names = names(&text).map_err(|e| e.within(place.show(ROOTDIRS)))?;
        let read = |folder: &str| {
            let place = place.down(folder)?;
            Ok((Meta::read(&place, how.memory_limit, !how.verify)?, place))
        };
        let (mut metas, mut broken) = (Vec::new(), 0);
        for (name, folder) in &names {
            let meta: Result<(Meta, Place)> = read(folder);
            broken += usize::from(meta.is_err());
            if let (Err(e), true) = (&meta, broken > MOST_BROKEN) {
                return Err(e
                    .clone()
                    .within(format_args!("column {name:?}, as others before it")));
            }
            alloc::reserve(&mut metas, 1)?;
            metas.push(meta);
        }
        let rows = metas
            .iter()
            .flatten()
            .map(|(m, _)| m.rows())
            .min()
            .unwrap_or(0);
        let column = |((name, folder), meta): (&(String, String), &Result<(Meta, Place)>)| {
            let stored_rows = meta.as_ref().map_or(0, |(m, _)| m.rows());
            let file = meta
                .as_ref()
                .map_err(Error::clone)
                .and_then(|(meta, place)| {
                    let mut meta = meta.clone();
                    meta.array
                        .shape
                        .first_mut()
                        .into_iter()
                        .for_each(|n| *n = rows);
                    ArrayFile::open(place, meta, how)
                });
            let file = file.map_err(|e| e.within(format_args!("column {name:?}")));
            Found {
                file,
                name: name.clone(),
                folder: folder.clone(),
                stored_rows,
            }
        };
        let found = names.iter().zip(&metas).map(column).collect();
        // sizes of two commits say nothing: where the second look finds what the first has found,
        // and no commit was under way between them, all are of one
        let mut is_one = same()?;
        for (meta, (_, folder)) in metas.iter().zip(&names) {
            is_one = is_one
                && match meta {
                    Ok((meta, place)) => meta.is_current(place, how.memory_limit)?,
                    Err(_) => read(folder).is_err(),
                };
        }
        if !is_one
            || place
                .read(ROOTDIRS, how.memory_limit)?
                .is_none_or(|now| now != text)
        {
            return Err(open::changing(place));
        }
        return Ok(Some((found, attrs_of(place, how, &text)?)));
    }
    if !place.has(STORAGE)? {
        return Err(fail!(
            Format,
            "{}: no dataset: neither {STORAGE} nor {ROOTDIRS} is there",
            place.show("")
        ));
    }
    // files of two commits say nothing together
    let texts = || {
        Ok::<_, Error>((
            place.read(SIZES, how.memory_limit)?,
            place.read(STORAGE, how.memory_limit)?,
        ))
    };
    let before = texts();
    let read = || {
        let meta = Meta::read(place, how.memory_limit, !how.verify)?;
        Ok::<_, Error>((ArrayFile::fields(place, &meta, how)?, meta))
    };
    let found = { read }();
    match (&before, texts()) {
        (Ok(before), Ok(now)) if *before != now || !same()? => {
            return Err(fail!(Busy, "{}: it is being changed", place.show("")));
        }
        _ => {}
    }
    let (fields, meta) = found?;
    let column = |(name, file)| Found {
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
            attrs_of(place, how, &storage)?,
        ))
    };
    fields.map(with_attrs).transpose()
}

/// The names of columns, each with that of its folder.
fn names(text: &[u8]) -> Result<Vec<(String, String)>> {
    let value = meta::parse(text)?;
    let names = match value.get("names") {
        Some(Value::Array(names)) => names
            .iter()
            .map(|n| n.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>(),
        _ => None,
    };
    let names = names.ok_or_else(|| fail!(Format, "\"names\", a list of text, was expected"))?;
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|n| !seen.insert(n.as_str())) {
        return Err(fail!(Format, "two columns have the name {twice:?}"));
    }
    // BLZ says where they are; what comes last of that is in the table
    let said: HashMap<&str, &str> = match value.get("dirs") {
        Some(Value::Object(dirs)) => dirs
            .iter()
            .filter_map(|(name, way)| Some((name.as_str(), way.as_str()?)))
            .collect(),
        _ => HashMap::new(),
    };
    let folder = |name: &str| {
        said.get(name)
            .map_or(name, |way| way.rsplit('/').next().unwrap_or(way))
            .to_owned()
    };
    let all: Vec<_> = names.iter().map(|n| (n.clone(), folder(n))).collect();
    // each column takes memory, and one folder could be as many as there are names
    let mut seen = HashSet::new();
    match all.iter().find(|(_, folder)| !seen.insert(folder.as_str())) {
        Some((name, folder)) => Err(fail!(
            Format,
            "column {name:?} is in the same folder as another one, {folder:?}"
        )),
        None => Ok(all),
    }
}

/// Reads every chunk of a table or an array and checks all that can be; every fault goes to
/// `fault`, which says whether to go on. With it comes which file of which column it is in, for a
/// table's.
pub fn verify(
    path: &OsStr,
    options: &Options,
    fault: impl FnMut(Option<&str>, &Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a dataset",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io],
    )?;
    let place = Place::local(path)?;
    verify_at(&place, options, fault)
}

/// As [`verify`], in this place.
pub fn verify_at(
    place: &Place,
    options: &Options,
    mut fault: impl FnMut(Option<&str>, &Error) -> bool,
) -> Result<Verified> {
    // in a file of many chunks all that are there are looked at
    let skipping = options.clone().with(Opt::SkipDamaged, 1)?;
    let strict = How {
        skip_damaged: false,
        ..How::new(&skipping, place)
    };
    let limit = strict.memory_limit;
    let (columns, attrs, states) = snapshot_of_many(place, |place, same| {
        let before = states(place, limit)?;
        let (columns, attrs) = find(place, &strict, same)?.unwrap_or_else(|| {
            let file = open::file_of_one_commit(place, &strict, same);
            (
                vec![Found {
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
            None if !same()? || states(place, limit)? != before => Err(open::changing(place)),
            None => Ok((columns, attrs, before)),
        }
    })?;
    let (parts, files): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .map(|c| ((c.name, c.folder), c.file))
        .unzip();
    // a fault of a dataset that a writer has changed meanwhile is none
    let mut changed = None;
    let mut fault = |folder: &str, part: Option<&str>, e: &Error| {
        let now = snapshot(place, |now| {
            Ok((state(now, "", limit), state(now, folder, limit)))
        });
        let is_same = now.map(|(root, column)| {
            states.get("") == Some(&root) && states.get(folder) == Some(&column)
        });
        changed = is_same.map_or_else(Some, |same| (!same).then(|| open::changing(place)));
        changed.is_none() && fault(part, e)
    };
    let found = match attrs.damage() {
        Some(e) if !fault("", None, e) => Ok(Verified::default()),
        _ => open::verify(&files, options, |i, e| match parts.get(i) {
            Some((name, folder)) if !name.is_empty() => {
                fault(folder, Some(&part(place, name, folder, files.get(i), e)), e)
            }
            _ => fault("", None, e),
        }),
    };
    changed.map_or(found, Err)
}

/// What tells one commit of a dataset from another, by the folders of its columns; "" is its own.
fn states(place: &Place, limit: u64) -> Result<HashMap<String, u32>> {
    let text = place
        .read(ROOTDIRS, limit)
        .unwrap_or_default()
        .unwrap_or_default();
    let folders = names(&text)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, folder)| folder);
    Ok(std::iter::once(String::new())
        .chain(folders)
        .map(|folder| (state(place, &folder, limit), folder))
        .map(|(s, f)| (f, s))
        .collect())
}

/// The same of one folder: what its small files say, or why they say nothing.
fn state(place: &Place, folder: &str, limit: u64) -> u32 {
    let place = if folder.is_empty() {
        Ok(place.clone())
    } else {
        place.down(folder)
    };
    let mut all = Vec::new();
    for file in [ROOTDIRS, SIZES, STORAGE] {
        match place
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|place| place.read(file, limit))
        {
            Ok(text) => all.extend(text.unwrap_or_default()),
            Err(e) => all.extend(e.message.bytes()),
        }
        all.push(0);
    }
    crc32(&all)
}

/// The column, and the file in it that the words tell of.
fn part(
    place: &Place,
    name: &str,
    folder: &str,
    file: Option<&Result<ArrayFile>>,
    e: &Error,
) -> String {
    let base = match file {
        Some(Ok(file)) => Store::name(file).to_owned(),
        _ => place.down(folder).map(|p| p.show("")).unwrap_or_default(),
    };
    match e.message.split_once(&format!("{base}/")) {
        Some((_, rest)) => format!(
            "{name}/{}",
            rest.split_once(": ").map_or(rest, |(file, _)| file)
        ),
        None => name.to_owned(),
    }
}

/// Format and kind of a folder; nothing where it is no dataset.
pub fn identify(place: &Place) -> Result<Option<(Format, Kind)>> {
    snapshot(&place.trusted(true), identify_at)
}

fn identify_at(place: &Place) -> Result<Option<(Format, Kind)>> {
    let how = How::new(&Options::new(), place);
    if let Some(text) = place.read(ROOTDIRS, how.memory_limit)? {
        let value = meta::parse(&text).map_err(|e| e.within(place.show(ROOTDIRS)))?;
        let first = names(&text)
            .map_err(|e| e.within(place.show(ROOTDIRS)))?
            .into_iter()
            .next();
        let column = match first
            .map(|(_, folder)| place.down(&folder).and_then(|column| open::format(&column)))
        {
            Some(Err(e)) if e.is_of_system() => return Err(e),
            column => column.and_then(Result::ok),
        };
        let by_names = if value.get("dirs").is_some() {
            Format::Blz
        } else {
            Format::Bcolz
        };
        return Ok(Some((column.unwrap_or(by_names), Kind::Table)));
    }
    if !place.has(STORAGE)? {
        return Ok(None);
    }
    let meta = Meta::read(place, how.memory_limit, true)?;
    let kind = if ArrayFile::fields(place, &meta, &how)?.is_some() {
        Kind::Table
    } else {
        Kind::Array
    };
    Ok(Some((open::format(place)?, kind)))
}
