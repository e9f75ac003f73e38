//! Commits of datasets: what waits counts at once, or nothing does.
//!
//! All new files are there, and durable, under other names before any gets its own. Chunks that
//! only go on where those of the last commit end get their names first, one by one: `meta/sizes`
//! does not count them yet, and whatever reader comes sees the rows of the last commit. Then
//! `meta/sizes` follows, alone in one step; where other files change what was there, together with
//! them, by the journal of the dataset's folder, or of that of the table.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::attrs::FILES;
use super::edit::{Edit, Names};
use super::folder::Place;
use super::meta::{self, SIZES, STORAGE};
use super::open::ROOTDIRS;
use super::text_checksum::sealed;
use crate::array::store::Store;
use crate::error::{Result, fail};
use crate::io::journal::{self, Container, NEW, Snapshot, Swapped};
use crate::io::lock::Lock;
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::os;
use crate::parallel;
use crate::superchunk::bloscpack::{self, Mode};
use std::ffi::OsStr;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Folders in that of an array.
pub const FOLDERS: [&str; 2] = ["data", "meta"];

/// What is beside a file while it is appended to.
const OF_FILES: [&str; 3] = [".holdall-journal", ".holdall-journal-new", ".holdall-part"];

/// What stands before the names of journal and lock.
pub const MAIN: &str = "dataset";

/// A folder that is open for writing, that of an array or of a table, with the lock on it: the
/// columns of a table share one, and so does a column that is opened by itself.
pub struct Site {
    folder: Arc<dyn Folder>,
    durable: bool,
    /// The folder that this one is in, where this one is new.
    parent: OnceLock<Arc<dyn Folder>>,
    /// There is something that was committed.
    committed: AtomicBool,
    broken: AtomicBool,
    owner: u32,
    lock: Option<Lock>,
}

/// Who may change an array.
pub struct Writer {
    pub(super) site: Arc<Site>,
    pub(super) place: Place,
    /// `meta/sizes` of the last commit; none before the first.
    sizes: Option<Vec<u8>>,
    /// The array takes the place of another one.
    replaces: bool,
    /// It is a field that stands apart: what is said of it stands with what is said of all.
    pub(super) is_field: bool,
    /// What is to be written besides `meta/sizes`.
    pub(super) storage_changed: bool,
    pub(super) attrs_changed: bool,
    pub(super) shape_changed: bool,
}

/// May a journal name this file: one of an array, or of a column of a table?
fn is_file(name: &OsStr) -> bool {
    let plain = Path::new(name)
        .components()
        .all(|c| matches!(c, Component::Normal(_)));
    let Some(name) = name.to_str().filter(|_| plain) else {
        return false;
    };
    // fields that stand apart have folders in that of the data
    let is_chunk = |n: &str| Names::parse(n.rsplit('/').next().unwrap_or(n)).is_some();
    let below = |name: &str| {
        [SIZES, STORAGE, ROOTDIRS, FILES[0], FILES[1]].contains(&name)
            || name.strip_prefix("data/").is_some_and(is_chunk)
    };
    below(name) || name.split_once('/').is_some_and(|(_, rest)| below(rest))
}

/// The files of a dataset.
pub fn container(folder: &Arc<dyn Folder>) -> Container {
    let alike = vec![STORAGE.into(), ROOTDIRS.into()];
    Container::of(folder, MAIN, Arc::new(is_file), "", alike)
}

/// Reads the last commit of a dataset, which is there as a whole while the next one comes.
pub fn snapshot<T>(place: &Place, read: impl Fn(&Place) -> Result<T>) -> Result<T> {
    Snapshot::read(&container(place.folder()), |s| {
        read(&place.within(s.folder()?))
    })
}

/// The same of what is in several files. `read` asks by its second argument whether what it has
/// read until then is of one commit if nothing has changed at its end.
pub fn snapshot_of_many<T>(
    place: &Place,
    read: impl Fn(&Place, &dyn Fn() -> Result<bool>) -> Result<T>,
) -> Result<T> {
    Snapshot::read(&container(place.folder()), |s| {
        read(&place.within(s.folder()?), &|| s.same_journal())
    })
}

impl Site {
    /// Takes the lock. Nothing that was cut off waits in this folder any more.
    pub fn new(folder: &Arc<dyn Folder>, options: &Options) -> Result<Arc<Site>> {
        folder.writable()?;
        let lock = if options.get(Opt::Lock, 1) == 1 {
            folder.lock(&container(folder).lock_name())?
        } else {
            Lock::none()
        };
        let durable = options.get(Opt::Durability, 1) == 1;
        journal::settle(&container(folder), durable)?;
        Ok(Arc::new(Site {
            folder: folder.clone(),
            durable,
            parent: OnceLock::new(),
            committed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            owner: os::process(),
            lock: Some(lock),
        }))
    }

    /// The folder was made for this, in that one.
    pub fn made_in(&self, parent: Arc<dyn Folder>) {
        let _ = self.parent.set(parent);
    }

    /// Refuses what cannot be done any more.
    pub fn check(&self) -> Result<()> {
        let name = self.folder.show(OsStr::new(""));
        if !self.is_own() {
            return Err(fail!(
                State,
                "{name}: this handle belongs to the process that opened it for writing"
            ));
        }
        if self.broken.load(Ordering::Relaxed) {
            return Err(fail!(
                State,
                "{name}: a commit failed half-way; open it again, what was committed before is whole"
            ));
        }
        Ok(())
    }

    /// Is this the process that may write?
    pub fn is_own(&self) -> bool {
        self.owner == os::process()
    }

    fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}

impl Drop for Site {
    /// Of what never was committed the folder goes.
    fn drop(&mut self) {
        // the lock is a file in it
        self.lock = None;
        if self.parent.get().is_some() && self.is_own() && !self.committed.load(Ordering::Relaxed) {
            let _ = self.folder.remove_folder(OsStr::new(""));
        }
    }
}

impl Writer {
    /// The only one in this place. `mode`: is there something, may there be?
    pub fn new(place: &Place, mode: Mode, options: &Options, site: &Arc<Site>) -> Result<Writer> {
        for below in ["", "data", "meta"] {
            tidy(place, below)?;
        }
        let is_new = mode != Mode::Append;
        Ok(Writer {
            site: site.clone(),
            place: place.clone(),
            sizes: if is_new {
                None
            } else {
                place.read(SIZES, options.memory_limit())?
            },
            replaces: mode == Mode::Replace,
            is_field: false,
            storage_changed: is_new,
            attrs_changed: is_new,
            shape_changed: is_new,
        })
    }

    /// One of a field in this place that stands apart. `is_new`: nothing of it counts.
    pub fn of_field(place: &Place, site: &Arc<Site>, is_new: bool, replaces: bool) -> Writer {
        Writer {
            site: site.clone(),
            place: place.clone(),
            sizes: if is_new { None } else { Some(Vec::new()) },
            replaces,
            is_field: true,
            storage_changed: false,
            attrs_changed: false,
            shape_changed: false,
        }
    }

    fn still_ours(&self) -> Result<()> {
        if self.replaces || self.is_field {
            Ok(())
        } else {
            still_ours(&self.place, SIZES, self.sizes.as_deref())
        }
    }
}

/// Refuses to go on where a file is another one than that of the last commit.
pub fn still_ours(place: &Place, file: &str, last: Option<&[u8]>) -> Result<()> {
    let is_ours = match last {
        None if place.has(file)? => {
            return Err(fail!(Exists, "{}: it is there already", place.show("")));
        }
        None => true,
        Some(last) => place.is_still(file, last)?,
    };
    if is_ours {
        Ok(())
    } else {
        Err(fail!(
            State,
            "{}: another writer has changed it since it was opened here",
            place.show("")
        ))
    }
}

/// Removes the new files that a writer has left in a folder, and settles files that it was
/// appending to.
pub fn tidy(place: &Place, below: &str) -> Result<()> {
    for name in place.list(below).iter().filter_map(|n| n.to_str()) {
        let full = place.name(&if below.is_empty() {
            name.to_owned()
        } else {
            format!("{below}/{name}")
        });
        if name.strip_suffix('2').unwrap_or(name).ends_with(NEW) {
            place.folder().remove_if_there(&full)?;
        } else if let Some(file) = OF_FILES
            .iter()
            .find_map(|s| full.to_str()?.strip_suffix(s))
            .filter(|f| Names::parse(f.rsplit('/').next().unwrap_or(f)).is_some())
        {
            bloscpack::tidy(place.folder(), OsStr::new(file), true)?;
        }
    }
    Ok(())
}

/// Small files, and their text.
pub type Texts = Vec<(&'static str, String)>;

/// What a table says of itself, beside its columns.
pub struct Beside<'a> {
    /// Where it is.
    pub place: &'a Place,
    /// Its files that are new.
    pub texts: Texts,
    /// Files that go.
    pub gone: Vec<String>,
    /// Rows and bytes of all columns, where it counts them itself.
    pub counts: Option<[u64; 2]>,
    /// Have its small files checksums?
    pub is_sealed: bool,
}

impl Beside<'_> {
    /// Counts rows, which take so many bytes in files.
    fn count(&mut self, cbytes: u64) {
        if let Some([rows, nbytes]) = self.counts.take() {
            let text = meta::sizes(&[rows], nbytes, cbytes);
            self.texts
                .push((SIZES, if self.is_sealed { sealed(text) } else { text }));
        }
    }
}

/// What one array brings to a commit.
struct Part<'a> {
    file: &'a mut ArrayFile,
    texts: Texts,
    /// The files that are to get their names.
    renamed: Vec<String>,
    done: Result<()>,
}

/// Makes the new files of chunks durable.
fn sync_all(edits: &[&mut Edit], threads: usize) -> Result<()> {
    let files = edits.iter().flat_map(|e| {
        e.waiting
            .iter()
            .map(|(unit, second)| (&e.place, e.names.waiting(*unit, *second)))
    });
    parallel::try_each(threads, files.collect(), |(place, name)| {
        place.open(&name, Access::Write).and_then(|f| f.sync())
    })
}

/// Does this for all parts, several at once.
fn all(parts: &mut [Part], f: impl Fn(&mut Part) -> Result<()> + Sync) -> Result<()> {
    let threads = parts.first().map_or(1, |p| p.file.file_threads());
    parallel::for_each_alone(threads, parts.iter_mut().collect(), |part: &mut Part| {
        part.done = f(part)
    });
    parts
        .iter_mut()
        .try_for_each(|part| std::mem::replace(&mut part.done, Ok(())))
}

/// Commits an array.
pub fn commit(file: &mut ArrayFile) -> Result<()> {
    let site = file.writer()?.site.clone();
    commit_all(&site, &mut [file], None)
}

/// Commits arrays that are in one folder together, and what is beside them: all of it or nothing.
/// Their sizes are renamed in this order.
pub fn commit_all(
    site: &Site,
    files: &mut [&mut ArrayFile],
    mut beside: Option<&mut Beside>,
) -> Result<()> {
    site.check()?;
    site.lock.iter().try_for_each(Lock::still_held)?;
    let mut parts: Vec<Part> = files
        .iter_mut()
        .map(|file| Part {
            file,
            texts: Vec::new(),
            renamed: Vec::new(),
            done: Ok(()),
        })
        .collect();
    all(&mut parts, |part| part.begin(site.durable))?;
    if let Some(beside) = &mut beside {
        let cbytes = parts.iter().map(|p| p.file.cbytes()).sum::<Result<u64>>()?;
        beside.count(cbytes);
    }
    let beside = beside.as_deref();
    parts.retain_mut(|p| !p.texts.is_empty() || p.file.is_changed());
    let undo = |parts: &mut [Part]| {
        parts.iter_mut().for_each(|p| p.undo());
        beside.iter().for_each(|b| remove_new(b.place, &b.texts));
    };
    let done = match prepare(site, &mut parts, beside).inspect_err(|_| undo(&mut parts))? {
        (renamed, gone) if renamed.is_empty() && gone.is_empty() => false,
        (renamed, gone) => match journal::swap(
            &container(&site.folder),
            site.durable,
            &texts(&renamed),
            &texts(&gone),
        ) {
            Swapped::Done => false,
            // it counts, but this handle cannot tell what has which name
            Swapped::Counts => true,
            Swapped::Nothing(e) => {
                undo(&mut parts);
                return Err(e);
            }
            Swapped::Unsure(e) => {
                site.break_off();
                parts.iter_mut().for_each(|p| p.file.break_off());
                return Err(e);
            }
        },
    };
    site.committed.store(true, Ordering::Relaxed);
    parts.iter_mut().for_each(|part| part.settle(done));
    if done {
        site.break_off();
    }
    Ok(())
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Everything is there under its new name, durable. The names of the files that are to follow, and
/// of those that are to go.
fn prepare(
    site: &Site,
    parts: &mut [Part],
    beside: Option<&Beside>,
) -> Result<(Vec<String>, Vec<String>)> {
    let (mut renamed, mut gone) = (Vec::new(), Vec::new());
    all(parts, |part| part.prepare(site.durable))?;
    for part in parts {
        let attrs = part.file.attrs_file;
        gone.extend(part.file.writer()?.gone(attrs));
        renamed.append(&mut part.renamed);
    }
    if let Some(beside) = beside {
        write_new(beside.place, &beside.texts, site.durable)?;
        renamed.extend(
            beside
                .texts
                .iter()
                .map(|(name, _)| as_text(beside.place, name)),
        );
        gone.extend_from_slice(&beside.gone);
    }
    if let Some(parent) = site
        .parent
        .get()
        .filter(|_| site.durable && !site.committed.load(Ordering::Relaxed))
    {
        parent.sync()?;
    }
    Ok((renamed, gone))
}

/// What the journal calls a file.
pub(super) fn as_text(place: &Place, name: &str) -> String {
    // a name of a column is text
    place.name(name).to_string_lossy().into_owned()
}

pub(super) fn write_new(
    place: &Place,
    texts: &[(&'static str, String)],
    durable: bool,
) -> Result<()> {
    texts.iter().try_for_each(|(name, text)| {
        let file = place.create(&format!("{name}{NEW}"))?;
        file.write_at(0, text.as_bytes())?;
        if durable { file.sync() } else { Ok(()) }
    })
}

fn remove_new(place: &Place, texts: &Texts) {
    for (name, _) in texts {
        let _ = place
            .folder()
            .remove_if_there(&place.name(&format!("{name}{NEW}")));
    }
}

impl Part<'_> {
    /// Everything is in files, and nobody else has been there.
    fn begin(&mut self, durable: bool) -> Result<()> {
        self.file.flush()?;
        self.file.writer()?.still_ours()?;
        self.file.append_tails(durable)?;
        self.texts = self.file.texts()?;
        Ok(())
    }

    /// Everything is there under its new name, durable; what may have its own already has it.
    fn prepare(&mut self, durable: bool) -> Result<()> {
        let writer = self.file.writer()?;
        let (place, replaces) = (writer.place.clone(), writer.replaces);
        let is_new_field = writer.is_field && writer.is_new();
        self.renamed = self.chunks(durable, replaces)?;
        if is_new_field && durable {
            self.file
                .ways()
                .iter()
                .try_for_each(|(way, _)| way.sync_above())?;
        }
        write_new(&place, &self.texts, durable)?;
        self.renamed
            .extend(self.texts.iter().map(|(name, _)| as_text(&place, name)));
        Ok(())
    }

    /// The chunks that are to be swapped.
    fn chunks(&mut self, durable: bool, replaces: bool) -> Result<Vec<String>> {
        let threads = self.file.file_threads();
        self.file.forget();
        if durable && let Err(e) = sync_all(&self.file.edits(), threads) {
            // the system may have thrown away what it could not write, and says so once
            self.file.break_off();
            return Err(e);
        }
        let mut swapped = Vec::new();
        for edit in self.file.edits() {
            swapped.extend(edit.name_all(durable, replaces)?);
        }
        Ok(swapped)
    }

    /// The small files are not wanted.
    fn undo(&mut self) {
        if let Ok(writer) = self.file.writer() {
            remove_new(&writer.place, &self.texts);
        }
    }

    /// The commit stands; goes on from it. What has no use any more goes.
    fn settle(&mut self, is_broken: bool) {
        let texts = std::mem::take(&mut self.texts);
        self.file.forget();
        let is_new = self.file.writer().is_ok_and(|w| w.is_new()) && !is_broken;
        for (edit, len) in self.file.edits_and_lengths() {
            edit.settle(len);
            if is_new {
                remove_others(&edit.place, edit.names, len.div_ceil(edit.unit));
            }
        }
        let Ok(writer) = self.file.writer() else {
            return;
        };
        if let Some((_, text)) = texts.into_iter().find(|(name, _)| *name == SIZES) {
            writer.sizes = Some(text.into_bytes());
        } else if writer.is_field {
            writer.sizes = Some(Vec::new());
        }
        (
            writer.storage_changed,
            writer.attrs_changed,
            writer.shape_changed,
        ) = (false, false, false);
        writer.replaces = false;
    }
}

/// Removes the files of another array, which this one does not have, in a folder of chunks.
fn remove_others(place: &Place, names: Names, count: u64) {
    for name in place.list("").iter().filter_map(|n| n.to_str()) {
        if Names::parse(name).is_some_and(|(form, unit)| form != names || unit >= count) {
            let _ = place.folder().remove_if_there(&place.name(name));
        }
    }
}

/// Removes the files of an array that is none any more, and its folder. Without it `sizes` and
/// `storage` must be gone.
pub fn remove_array(place: &Place, chunks: u64) {
    let there = if place.folder().is_foreign() {
        chunks
    } else {
        0
    };
    if let Ok(data) = place.down(FOLDERS[0]) {
        remove_chunks(&data, there);
    }
    remove_folders(place);
}

/// Removes the chunks of a field that is none any more, and its folders, which are in that of the
/// data.
pub fn remove_field(data: &Place, way: &Place, files: u64) {
    remove_chunks(way, if way.folder().is_foreign() { files } else { 0 });
    way.remove_folders(data);
}

/// Removes all chunks in a folder; the first `there`, where it cannot be listed.
fn remove_chunks(data: &Place, there: u64) {
    for name in (0..there).flat_map(|i| [Names::One.own(i), Names::Many.own(i)]) {
        let _ = data.folder().remove_if_there(&data.name(&name));
    }
    remove_others(data, Names::One, 0);
}

/// Removes the folders of an array, as far as they are empty.
fn remove_folders(place: &Place) {
    for name in FOLDERS {
        let _ = place.folder().remove_folder(&place.name(name));
    }
    if !place.own().is_empty() {
        let _ = place.folder().remove_folder(place.own());
    }
}

impl Writer {
    pub(super) fn break_off(&self) {
        self.site.break_off();
    }

    pub(super) fn is_durable(&self) -> bool {
        self.site.durable
    }

    /// What was said beside the array that is replaced, where it is not said anew.
    fn gone(&self, attrs: &str) -> Vec<String> {
        let other = |f: &&str| self.replaces && !self.is_field && *f != attrs;
        FILES
            .into_iter()
            .filter(|f| other(f))
            .map(|f| as_text(&self.place, f))
            .collect()
    }

    /// Has nothing been committed yet?
    pub(super) fn is_first(&self) -> bool {
        self.sizes.is_none()
    }

    /// Does nothing count of what may be there?
    pub(super) fn is_new(&self) -> bool {
        self.is_first() || self.replaces
    }

    /// Of what never was committed the folders go. `ways`: those of chunks.
    pub(super) fn close(self, ways: &[(Place, u64)]) {
        if self.sizes.is_some() || self.replaces {
            return;
        }
        match self.place.down(FOLDERS[0]) {
            Ok(data) if self.is_field => ways.iter().for_each(|(way, _)| way.remove_folders(&data)),
            _ => remove_folders(&self.place),
        }
    }
}
