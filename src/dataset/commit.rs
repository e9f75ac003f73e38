//! Commits of datasets: what waits counts at once, or nothing does.
//!
//! All new files are there, and durable, under other names before any gets its own. Chunks that only go on where those of
//! the last commit end get their names first, one by one: `meta/sizes` does not count them yet, and whatever reader
//! comes sees the rows of the last commit. Then `meta/sizes` follows, alone in one step; where other files change what was
//! there, together with them, by the journal of the dataset's folder, or of that of the table.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::attrs::FILES;
use super::edit::Names;
use super::meta::{SIZES, STORAGE};
use super::open::ROOTDIRS;
use super::place::Place;
use crate::array::store::Store;
use crate::error::{Error, Result, fail};
use crate::io::journal::{self, Container, NEW, Snapshot, Swapped};
use crate::io::lock::Lock;
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::parallel;
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};

/// Folders in that of an array.
pub const FOLDERS: [&str; 2] = ["data", "meta"];

/// What stands before the names of journal and lock.
pub const MAIN: &str = "dataset";

/// Who may change an array.
pub struct Writer {
    pub(super) place: Place,
    durable: bool,
    /// `meta/sizes` of the last commit; none before the first.
    sizes: Option<Vec<u8>>,
    /// The array takes the place of another one.
    replaces: bool,
    /// What is to be written besides `meta/sizes`.
    pub(super) storage_changed: bool,
    pub(super) attrs_changed: bool,
    pub(super) shape_changed: bool,
    /// The folder that this one is in, where it is new.
    pub(super) parent: Option<Arc<dyn Folder>>,
    owner: u32,
    broken: bool,
    // last, so that the lock outlives what tidies up
    _lock: Lock,
}

/// May a journal name this file: one of an array, or of a column of a table?
fn is_file(name: &OsStr) -> bool {
    let plain = Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
    let Some(name) = name.to_str().filter(|n| plain && n.split('/').count() <= 3) else { return false };
    let is_chunk = |n: &str| Names::parse(n).is_some();
    let below = |name: &str| [SIZES, STORAGE, ROOTDIRS, FILES[0], FILES[1]].contains(&name) || name.strip_prefix("data/").is_some_and(is_chunk);
    below(name) || name.split_once('/').is_some_and(|(_, rest)| below(rest))
}

/// The files of a dataset.
pub fn container(folder: &Arc<dyn Folder>) -> Container {
    Container { folder: folder.clone(), main: MAIN.into(), prefixes: &[], in_folder: Some(is_file) }
}

/// Reads the last commit of a dataset, which is there as a whole while the next one comes.
pub fn snapshot<T>(place: &Place, read: impl Fn(&Place) -> Result<T>) -> Result<T> {
    Snapshot::read(&container(place.folder()), |s| read(&place.within(s.folder()?)))
}

impl Writer {
    /// The only one in this place, where nothing waits any more. `mode`: is there something, may there be?
    pub fn new(place: &Place, mode: Mode, options: &Options) -> Result<Writer> {
        place.folder().writable()?;
        let lock = if options.get(Opt::Lock, 1) == 1 { place.folder().lock(&place.name(&format!("{MAIN}.holdall-lock")))? } else { Lock::none() };
        let durable = options.get(Opt::Durability, 1) == 1;
        journal::settle(&container(place.folder()), durable)?;
        for below in ["", "data", "meta"] {
            tidy(place, below)?;
        }
        let sizes = if mode == Mode::Append { place.read(SIZES, options.memory_limit())? } else { None };
        Ok(Writer {
            place: place.clone(),
            durable,
            sizes,
            replaces: mode == Mode::Replace,
            storage_changed: mode != Mode::Append,
            attrs_changed: mode != Mode::Append,
            shape_changed: mode != Mode::Append,
            parent: None,
            owner: std::process::id(),
            broken: false,
            _lock: lock,
        })
    }

    /// Refuses what cannot be done any more.
    pub fn check(&self) -> Result<()> {
        let name = self.place.show("");
        if self.owner != std::process::id() {
            return Err(fail!(State, "{name}: this handle belongs to the process that opened it for writing"));
        }
        if self.broken {
            return Err(fail!(State, "{name}: a commit failed half-way; open it again, what was committed before is whole"));
        }
        Ok(())
    }

    fn still_ours(&self) -> Result<()> {
        let now = self.place.read(SIZES, u64::MAX)?;
        match (&self.sizes, now) {
            _ if self.replaces => Ok(()),
            (None, Some(_)) => Err(fail!(Exists, "{}: it is there already", self.place.show(""))),
            (old, now) if *old == now => Ok(()),
            _ => Err(fail!(State, "{}: another writer has changed it since it was opened here", self.place.show(""))),
        }
    }
}

/// Removes the new files that a writer has left in a folder.
fn tidy(place: &Place, below: &str) -> Result<()> {
    for name in place.list(below).iter().filter_map(|n| n.to_str()) {
        if name.strip_suffix('2').unwrap_or(name).ends_with(NEW) {
            let way = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            place.folder().remove_if_there(&place.name(&way))?;
        }
    }
    Ok(())
}

/// What one array brings to a commit.
struct Part<'a> {
    file: &'a mut ArrayFile,
    /// Small files, and their text.
    texts: Vec<(&'static str, String)>,
}

/// Commits arrays that are in one folder, together: all of them or none.
pub fn commit(files: &mut [&mut ArrayFile]) -> Result<()> {
    let mut parts = Vec::new();
    for file in files.iter_mut() {
        file.flush()?;
        file.writer()?.still_ours()?;
        let texts = file.texts()?;
        if !texts.is_empty() || file.edit().is_some_and(|e| !e.waiting.is_empty()) {
            parts.push(Part { file, texts });
        }
    }
    let Some(first) = parts.first_mut() else { return Ok(()) };
    let (folder, durable) = (first.file.writer()?.place.folder().clone(), first.file.writer()?.durable);
    let (mut swapped, mut gone) = (Vec::new(), Vec::new());
    for part in &mut parts {
        let attrs = part.file.attrs_file;
        gone.extend(part.file.writer()?.gone(attrs));
        swapped.extend(part.prepare(durable).inspect_err(|_| part.undo())?);
    }
    let names: Vec<&str> = swapped.iter().map(String::as_str).collect();
    let done = match journal::swap(&container(&folder), durable, &names, &gone.iter().map(String::as_str).collect::<Vec<_>>()) {
        _ if names.is_empty() => Ok(()),
        Swapped::Done => Ok(()),
        // it counts, but this handle cannot tell what has which name
        Swapped::Counts => Err(true),
        Swapped::Nothing(e) => {
            parts.iter_mut().for_each(Part::undo);
            return Err(e);
        }
        Swapped::Unsure(e) => {
            parts.iter_mut().for_each(|p| p.file.break_off());
            return Err(e);
        }
    };
    for part in &mut parts {
        part.settle(done.is_err());
    }
    Ok(())
}

impl Part<'_> {
    /// Everything is there under its new name, durable; what may have its own already has it. The names of the files that
    /// are to follow.
    fn prepare(&mut self, durable: bool) -> Result<Vec<String>> {
        let writer = self.file.writer()?;
        let (place, replaces) = (writer.place.clone(), writer.replaces);
        let mut names = self.chunks(durable, replaces)?;
        for (name, text) in &self.texts {
            let file = place.open(&format!("{name}{NEW}"), Access::Create)?;
            file.write_at(0, text.as_bytes())?;
            if durable {
                file.sync()?;
            }
            names.push((*name).to_owned());
        }
        if let Some(parent) = self.file.writer()?.parent.take().filter(|_| durable) {
            parent.sync()?;
        }
        // a name of a column is text
        Ok(names.iter().map(|n| place.name(n).to_string_lossy().into_owned()).collect())
    }

    /// The chunks that are to be swapped.
    fn chunks(&mut self, durable: bool, replaces: bool) -> Result<Vec<String>> {
        let threads = self.file.file_threads();
        self.file.forget();
        let Some(edit) = self.file.edit() else { return Ok(Vec::new()) };
        let (place, names) = (edit.place.clone(), edit.names);
        let failed = Mutex::new(None::<Error>);
        if durable {
            parallel::for_each(threads, edit.waiting.clone(), |(unit, second)| {
                let synced = place.open(&names.waiting(unit, second), Access::Write).and_then(|f| f.sync());
                if let Err(e) = synced {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                }
            });
        }
        if let Some(e) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            // the system may have thrown away what it could not write, and says so once
            self.file.break_off();
            return Err(e);
        }
        let grows = edit.kept >= edit.committed && !replaces;
        let mut named = 0;
        let renamed = edit.waiting.iter_mut().try_for_each(|(unit, second)| {
            let to = if grows { names.own(*unit) } else { names.waiting(*unit, false) };
            if grows || *second {
                place.folder().rename(&place.name(&names.waiting(*unit, *second)), &place.name(&to))?;
            }
            (*second, named) = (false, named + 1);
            Ok(())
        });
        if grows {
            edit.waiting.drain(..named);
        }
        renamed?;
        if grows && named > 0 && durable {
            place.sync()?;
        }
        Ok(edit.waiting.iter().map(|(unit, _)| format!("data/{}", names.own(*unit))).collect())
    }

    /// The small files are not wanted.
    fn undo(&mut self) {
        let Ok(writer) = self.file.writer() else { return };
        for (name, _) in &self.texts {
            let _ = writer.place.folder().remove_if_there(&writer.place.name(&format!("{name}{NEW}")));
        }
    }

    /// The commit stands; goes on from it. What has no use any more goes.
    fn settle(&mut self, is_broken: bool) {
        let texts = std::mem::take(&mut self.texts);
        let len = self.file.nbytes();
        self.file.forget();
        let mut units = None;
        if let Some(edit) = self.file.edit() {
            edit.waiting.clear();
            let old = std::mem::replace(&mut edit.committed, len);
            edit.kept = len;
            for i in len.div_ceil(edit.unit)..old.div_ceil(edit.unit) {
                let _ = edit.place.folder().remove_if_there(&edit.place.name(&edit.names.own(i)));
            }
            units = Some((edit.names, len.div_ceil(edit.unit)));
        }
        let Ok(writer) = self.file.writer() else { return };
        if let Some((names, count)) = units.filter(|_| writer.is_new() && !is_broken) {
            remove_others(&writer.place, names, count);
        }
        if let Some((_, text)) = texts.into_iter().find(|(name, _)| *name == SIZES) {
            writer.sizes = Some(text.into_bytes());
        }
        (writer.storage_changed, writer.attrs_changed, writer.shape_changed) = (false, false, false);
        (writer.replaces, writer.broken) = (false, is_broken);
    }
}

/// Removes the files of another array, which this one does not have.
fn remove_others(place: &Place, names: Names, count: u64) {
    for name in place.list(FOLDERS[0]) {
        if name.to_str().and_then(Names::parse).is_some_and(|(form, unit)| form != names || unit >= count) {
            let _ = place.folder().remove_if_there(&place.name(&format!("data/{}", name.to_string_lossy())));
        }
    }
}

impl Writer {
    pub(super) fn break_off(&mut self) {
        self.broken = true;
    }

    /// What was said beside the array that is replaced, where it is not said anew.
    fn gone(&self, attrs: &str) -> Vec<String> {
        let other = |f: &&str| self.replaces && *f != attrs;
        FILES.into_iter().filter(|f| other(f)).map(|f| self.place.name(f).to_string_lossy().into_owned()).collect()
    }

    /// Has nothing been committed yet?
    pub(super) fn is_first(&self) -> bool {
        self.sizes.is_none()
    }

    /// Does nothing count of what may be there?
    pub(super) fn is_new(&self) -> bool {
        self.is_first() || self.replaces
    }

    /// Is this the process that may write?
    pub(super) fn is_own(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Of what never was committed the folders go.
    pub(super) fn close(self) {
        let place = self.place.clone();
        if self.sizes.is_some() || self.replaces || !self.is_own() {
            return;
        }
        for name in FOLDERS {
            let _ = place.folder().remove_folder(&place.name(name));
        }
        let is_new = self.parent.is_some();
        // the lock is a file in it
        drop(self);
        if is_new {
            let _ = place.folder().remove_folder(&place.name(""));
        }
    }
}
