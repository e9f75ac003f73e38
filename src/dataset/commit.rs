//! Commits of datasets: all pending changes become durable and visible at once, or none does.
//!
//! All new files are written and synced under temporary names before the first one is renamed.
//! Files with chunks after those of the last commit are renamed first, one by one. `meta/sizes`
//! does not include them yet, so every reader sees the rows of the last commit. Then `meta/sizes`
//! is renamed. If no other file changes, that single rename is the commit. Otherwise the changed
//! files are swapped together with it, by the journal in the folder of the dataset or of the table.
#![forbid(unsafe_code)]

use super::array::ArrayFile;
use super::attrs::FILES;
use super::edit::{Edit, FileLayout};
use super::folder::DatasetDir;
use super::meta::{self, SIZES, STORAGE};
use super::meta_files::{self, MetaFiles};
use super::open::ROOTDIRS;
use super::text_checksum::with_checksum;
use crate::array::store::Store;
use crate::error::Result;
use crate::io::journal::{
    self, Container, NEW, Session, Snapshot, already_exists, changed_by_others,
};
use crate::io::{Access, Folder};
use crate::options::Options;
use crate::parallel;
use crate::superchunk::bloscpack::{self, Mode};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};
use std::sync::Arc;

/// Subfolders of an array.
pub const FOLDERS: [&str; 2] = ["data", "meta"];

/// Suffixes of the files that exist beside a file during an append.
const APPEND_SUFFIXES: [&str; 3] = [journal::SUFFIX, ".holdall-journal-new", journal::PART];

/// Prefix of the names of the journal and the lock.
pub const MAIN: &str = "dataset";

/// The write state of an array.
pub struct Writer {
    pub(super) session: Arc<Session>,
    pub(super) dir: DatasetDir,
    /// `meta/sizes` of the last commit; `None` before the first one.
    sizes: Option<Vec<u8>>,
    /// True if the array replaces another one.
    replaces: bool,
    /// True for a field with folders of its own, whose metadata is that of the whole dataset.
    pub(super) is_field: bool,
    /// Which metadata must be written besides `meta/sizes`.
    pub(super) storage_changed: bool,
    pub(super) attrs_changed: bool,
    pub(super) shape_changed: bool,
}

/// Returns true if a journal may name this file, as a file of an array or of a column of a table.
fn is_file(name: &OsStr) -> bool {
    let plain = Path::new(name)
        .components()
        .all(|c| matches!(c, Component::Normal(_)));
    let Some(name) = name.to_str().filter(|_| plain) else {
        return false;
    };
    // fields may have folders of their own in the data folder
    let is_chunk = |n: &str| FileLayout::parse(n.rsplit('/').next().unwrap_or(n)).is_some();
    let below = |name: &str| {
        [SIZES, STORAGE, ROOTDIRS, FILES[0], FILES[1]].contains(&name)
            || meta_files::is_path(name)
            || name.strip_prefix("data/").is_some_and(is_chunk)
    };
    below(name) || name.split_once('/').is_some_and(|(_, rest)| below(rest))
}

/// Returns the files of a dataset as a container for the journal.
pub fn container(folder: &Arc<dyn Folder>) -> Container {
    let alike = vec![STORAGE.into(), ROOTDIRS.into()];
    Container::of(folder, MAIN, Arc::new(is_file), "", alike)
}

/// Reads the state of the last commit, which stays consistent while another commit is in progress.
pub fn snapshot<T>(dir: &DatasetDir, read: impl Fn(&DatasetDir) -> Result<T>) -> Result<T> {
    Snapshot::read(&container(dir.folder()), |s| read(&dir.within(s.folder()?)))
}

/// Reads state that is spread over several files. The second argument of `read` returns true if no
/// commit has started since the snapshot was taken.
pub fn snapshot_of_many<T>(
    dir: &DatasetDir,
    read: impl Fn(&DatasetDir, &dyn Fn() -> Result<bool>) -> Result<T>,
) -> Result<T> {
    Snapshot::read(&container(dir.folder()), |s| {
        read(&dir.within(s.folder()?), &|| s.same_journal())
    })
}

/// Opens the folder of an array or of a table for writing. The columns of a table share one
/// session. A column that is opened by itself uses the session of its table's folder.
pub fn open_session(folder: &Arc<dyn Folder>, options: &Options) -> Result<Arc<Session>> {
    let shown = folder.show(OsStr::new(""));
    // each array in the folder has a mode of its own
    Session::open(container(folder), shown, journal::Mode::Append, options).map(Arc::new)
}

impl Writer {
    /// Creates the writer of the array in `dir`. Removes the leftovers of an interrupted writer.
    pub fn new(
        dir: &DatasetDir,
        mode: Mode,
        options: &Options,
        session: &Arc<Session>,
    ) -> Result<Writer> {
        for below in ["", "data", "meta"] {
            tidy(dir, below)?;
        }
        let is_new = mode != Mode::Append;
        Ok(Writer {
            session: session.clone(),
            dir: dir.clone(),
            sizes: if is_new {
                None
            } else {
                dir.read(SIZES, options.memory_limit())?
            },
            replaces: mode == Mode::Replace,
            is_field: false,
            storage_changed: is_new,
            attrs_changed: is_new,
            shape_changed: is_new,
        })
    }

    /// Creates the writer of a field with folders of its own. `is_new` is true if the field is not
    /// part of the last commit.
    pub fn of_field(
        dir: &DatasetDir,
        session: &Arc<Session>,
        is_new: bool,
        replaces: bool,
    ) -> Writer {
        Writer {
            session: session.clone(),
            dir: dir.clone(),
            sizes: if is_new { None } else { Some(Vec::new()) },
            replaces,
            is_field: true,
            storage_changed: false,
            attrs_changed: false,
            shape_changed: false,
        }
    }

    fn check_unchanged(&self) -> Result<()> {
        if self.replaces || self.is_field {
            Ok(())
        } else {
            check_unchanged(&self.dir, SIZES, self.sizes.as_deref())
        }
    }
}

/// Fails if a file differs from that of the last commit.
pub fn check_unchanged(dir: &DatasetDir, file: &str, last: Option<&[u8]>) -> Result<()> {
    let is_unchanged = match last {
        None if dir.has(file)? => {
            return Err(already_exists(&dir.show("")));
        }
        None => true,
        Some(last) => dir.content_equals(file, last)?,
    };
    if is_unchanged {
        Ok(())
    } else {
        Err(changed_by_others(&dir.show("")))
    }
}

/// Removes the new files of an interrupted writer from a folder, and recovers files that it was
/// appending to.
pub fn tidy(dir: &DatasetDir, below: &str) -> Result<()> {
    for name in dir.list(below).iter().filter_map(|n| n.to_str()) {
        let full = dir.name(&if below.is_empty() {
            name.to_owned()
        } else {
            format!("{below}/{name}")
        });
        if name.strip_suffix('2').unwrap_or(name).ends_with(NEW) {
            dir.folder().remove_if_there(&full)?;
        } else if let Some(file) = APPEND_SUFFIXES
            .iter()
            .find_map(|s| full.to_str()?.strip_suffix(s))
            .filter(|f| FileLayout::parse(f.rsplit('/').next().unwrap_or(f)).is_some())
        {
            bloscpack::recover(dir.folder(), OsStr::new(file), true)?;
        }
    }
    Ok(())
}

/// Metadata files: names and contents.
pub type Texts = Vec<(&'static str, String)>;

/// The changes of a table's own metadata.
pub struct TableMetadata<'a> {
    /// The folder of the table.
    pub dir: &'a DatasetDir,
    /// New metadata files.
    pub texts: Texts,
    /// Further files in `meta`, if the columns have no such folders of their own.
    pub meta_files: Option<&'a MetaFiles>,
    /// Files that the commit removes.
    pub removed: Vec<String>,
    /// Rows and bytes of all columns, if the table has a `meta/sizes` of its own.
    pub totals: Option<[u64; 2]>,
    /// True if its metadata files have checksums.
    pub has_checksum: bool,
    /// True if its metadata files are YAML.
    pub is_yaml: bool,
}

impl TableMetadata<'_> {
    /// Returns the paths and the bytes of the further files in `meta` to write.
    fn written(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.meta_files.into_iter().flat_map(MetaFiles::written)
    }

    /// Writes and syncs the new files. Returns the names of the files to rename and of those to
    /// remove.
    fn prepare(&self, durable: bool) -> Result<[Vec<OsString>; 2]> {
        write_new(self.dir, &self.texts, durable)?;
        let texts = self.texts.iter().map(|(name, _)| self.dir.name(name));
        let mut renamed: Vec<OsString> = texts.collect();
        renamed.extend(write_files(self.dir, self.written(), durable)?);
        let mut removed: Vec<OsString> = self.removed.iter().map(OsString::from).collect();
        if let Some(meta_files) = self.meta_files {
            removed.extend(meta_files.removed()?.iter().map(|path| self.dir.name(path)));
        }
        Ok([renamed, removed])
    }

    /// Removes the new files after a failure.
    fn undo(&self) {
        remove_new(self.dir, &self.texts);
        self.written()
            .for_each(|(path, _)| remove_new_file(self.dir, &path));
    }

    /// Adds `meta/sizes`, with `cbytes` as the stored size.
    fn add_sizes(&mut self, cbytes: u64) {
        if let Some([rows, nbytes]) = self.totals.take() {
            let text = meta::sizes(&[rows], nbytes, cbytes, self.is_yaml);
            self.texts.push((
                SIZES,
                if self.has_checksum {
                    with_checksum(text)
                } else {
                    text
                },
            ));
        }
    }
}

/// The part of a commit that belongs to one array.
struct ArrayCommit<'a> {
    file: &'a mut ArrayFile,
    texts: Texts,
    /// The files that the journal renames.
    renamed: Vec<OsString>,
    done: Result<()>,
}

/// Syncs the new chunk files.
fn sync_all(edits: &[&mut Edit], threads: usize) -> Result<()> {
    let files = edits.iter().flat_map(|e| {
        e.pending
            .iter()
            .map(|(unit, second)| (&e.dir, e.layout.pending_name(*unit, *second)))
    });
    parallel::try_for_each(threads, files.collect(), |(dir, name)| {
        dir.open(&name, Access::Write).and_then(|f| f.sync())
    })
}

/// Calls `f` for all arrays, several at once.
fn run_all(
    parts: &mut [ArrayCommit],
    f: impl Fn(&mut ArrayCommit) -> Result<()> + Sync,
) -> Result<()> {
    let threads = parts.first().map_or(1, |p| p.file.file_threads());
    parallel::for_each_without_nesting(
        threads,
        parts.iter_mut().collect(),
        |part: &mut ArrayCommit| part.done = f(part),
    );
    parts
        .iter_mut()
        .try_for_each(|part| std::mem::replace(&mut part.done, Ok(())))
}

/// Commits an array.
pub fn commit(file: &mut ArrayFile) -> Result<()> {
    let session = file.writer()?.session.clone();
    commit_all(&session, &mut [file], None)
}

/// Commits arrays in one folder together with the metadata of their table: all of it or nothing.
/// The `meta/sizes` files are renamed in this order.
pub fn commit_all(
    session: &Session,
    files: &mut [&mut ArrayFile],
    mut table_metadata: Option<&mut TableMetadata>,
) -> Result<()> {
    session.check_commit()?;
    let mut parts: Vec<ArrayCommit> = files
        .iter_mut()
        .map(|file| ArrayCommit {
            file,
            texts: Vec::new(),
            renamed: Vec::new(),
            done: Ok(()),
        })
        .collect();
    run_all(&mut parts, |part| part.begin(session.is_durable()))?;
    if let Some(table_metadata) = &mut table_metadata {
        let cbytes = parts.iter().map(|p| p.file.cbytes()).sum::<Result<u64>>()?;
        table_metadata.add_sizes(cbytes);
    }
    let table_metadata = table_metadata.as_deref();
    parts.retain_mut(|p| {
        !p.texts.is_empty() || p.file.is_changed() || p.file.meta_files.is_changed()
    });
    let undo = |parts: &mut [ArrayCommit]| {
        parts.iter_mut().for_each(|p| p.undo());
        table_metadata.iter().for_each(|metadata| metadata.undo());
    };
    let (renamed, removed) =
        prepare(session, &mut parts, table_metadata).inspect_err(|_| undo(&mut parts))?;
    if !renamed.is_empty() || !removed.is_empty() {
        session.swap(&renamed, &removed).inspect_err(|_| {
            if session.is_broken() {
                parts.iter_mut().for_each(|p| p.file.mark_broken());
            } else {
                undo(&mut parts);
            }
        })?;
    }
    parts
        .iter_mut()
        .for_each(|part| part.finish_commit(session.is_broken()));
    Ok(())
}

/// Writes and syncs all new files. Returns the names of the files to rename and of those to remove.
fn prepare(
    session: &Session,
    parts: &mut [ArrayCommit],
    table_metadata: Option<&TableMetadata>,
) -> Result<(Vec<OsString>, Vec<OsString>)> {
    let (mut renamed, mut removed) = (Vec::new(), Vec::new());
    run_all(parts, |part| part.prepare(session.is_durable()))?;
    for part in parts {
        let attrs = part.file.attrs_file;
        removed.extend(part.file.writer()?.replaced_attrs(attrs));
        let meta_files = part.file.meta_files.removed()?;
        let dir = &part.file.writer()?.dir;
        removed.extend(meta_files.iter().map(|path| dir.name(path)));
        renamed.append(&mut part.renamed);
    }
    if let Some(table_metadata) = table_metadata {
        let [new, old] = table_metadata.prepare(session.is_durable())?;
        renamed.extend(new);
        removed.extend(old);
    }
    session.sync_created_folder()?;
    Ok((renamed, removed))
}

pub(super) fn write_new(
    dir: &DatasetDir,
    texts: &[(&'static str, String)],
    durable: bool,
) -> Result<()> {
    let mut texts = texts.iter();
    texts.try_for_each(|(name, text)| write_new_file(dir, name, text.as_bytes(), durable))
}

fn write_new_file(dir: &DatasetDir, name: &str, bytes: &[u8], durable: bool) -> Result<()> {
    let file = dir.create(&format!("{name}{NEW}"))?;
    file.write_at(0, bytes)?;
    if durable { file.sync() } else { Ok(()) }
}

/// Writes new files under temporary names. Returns the names that they get.
fn write_files<'a>(
    dir: &DatasetDir,
    files: impl Iterator<Item = (String, &'a [u8])>,
    durable: bool,
) -> Result<Vec<OsString>> {
    let write = |(path, bytes): (String, &[u8])| {
        write_new_file(dir, &path, bytes, durable)?;
        Ok(dir.name(&path))
    };
    files.map(write).collect()
}

fn remove_new(dir: &DatasetDir, texts: &Texts) {
    texts
        .iter()
        .for_each(|(name, _)| remove_new_file(dir, name));
}

fn remove_new_file(dir: &DatasetDir, name: &str) {
    let _ = dir
        .folder()
        .remove_if_there(&dir.name(&format!("{name}{NEW}")));
}

impl ArrayCommit<'_> {
    /// Writes the buffered changes to files, and fails if another writer changed the array.
    fn begin(&mut self, durable: bool) -> Result<()> {
        self.file.flush()?;
        self.file.writer()?.check_unchanged()?;
        self.file.append_tails(durable)?;
        self.texts = self.file.texts()?;
        Ok(())
    }

    /// Writes and syncs the new files, and renames those that may be renamed before the commit.
    fn prepare(&mut self, durable: bool) -> Result<()> {
        let writer = self.file.writer()?;
        let (dir, replaces) = (writer.dir.clone(), writer.replaces);
        let is_new_field = writer.is_field && writer.is_new();
        self.renamed = self.chunks(durable, replaces)?;
        if is_new_field && durable {
            self.file
                .chunk_dirs()
                .iter()
                .try_for_each(|(chunk_dir, _)| chunk_dir.sync_above())?;
        }
        write_new(&dir, &self.texts, durable)?;
        self.renamed
            .extend(self.texts.iter().map(|(name, _)| dir.name(name)));
        let written = write_files(&dir, self.file.meta_files.written(), durable)?;
        self.renamed.extend(written);
        Ok(())
    }

    /// Syncs the chunk files. Returns those that must be swapped.
    fn chunks(&mut self, durable: bool, replaces: bool) -> Result<Vec<OsString>> {
        let threads = self.file.file_threads();
        self.file.drop_open_files();
        if durable && let Err(e) = sync_all(&self.file.edits(), threads) {
            // the kernel may drop pages that it could not write, and reports the error only once
            self.file.mark_broken();
            return Err(e);
        }
        let mut swapped = Vec::new();
        for edit in self.file.edits() {
            swapped.extend(edit.rename_all(durable, replaces)?);
        }
        Ok(swapped)
    }

    /// Removes the new metadata files after a failure.
    fn undo(&mut self) {
        if let Ok(writer) = self.file.writer() {
            let dir = writer.dir.clone();
            remove_new(&dir, &self.texts);
            let written = self.file.meta_files.written();
            written.for_each(|(path, _)| remove_new_file(&dir, &path));
        }
    }

    /// Updates the state after the commit took effect, and removes files that are no longer used.
    fn finish_commit(&mut self, is_broken: bool) {
        let texts = std::mem::take(&mut self.texts);
        self.file.meta_files.finish_commit();
        self.file.drop_open_files();
        // not `writer()`: the commit took effect even if the session is broken
        let is_new = self.file.writer.as_ref().is_some_and(Writer::is_new) && !is_broken;
        for (edit, len) in self.file.edits_and_lengths() {
            edit.finish_commit(len);
            if is_new {
                remove_others(&edit.dir, edit.layout, len.div_ceil(edit.unit));
            }
        }
        let Some(writer) = &mut self.file.writer else {
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

/// Removes chunk files that do not belong to this array, left from the array that it replaced.
fn remove_others(dir: &DatasetDir, layout: FileLayout, count: u64) {
    for name in dir.list("").iter().filter_map(|n| n.to_str()) {
        if FileLayout::parse(name).is_some_and(|(l, unit)| l != layout || unit >= count) {
            let _ = dir.folder().remove_if_there(&dir.name(name));
        }
    }
}

/// Removes the files of an array that is no longer part of the dataset, and its folder.
/// `meta/sizes` and `meta/storage` must be removed already.
pub fn remove_array(dir: &DatasetDir, chunks: u64) {
    let files = if dir.folder().is_foreign() { chunks } else { 0 };
    if let Ok(data) = dir.subdir(FOLDERS[0]) {
        remove_chunks(&data, files);
    }
    MetaFiles::remove_all(dir);
    remove_folders(dir);
}

/// Removes the chunks and folders of a field that is no longer part of the dataset. `data` is the
/// folder that contains them.
pub fn remove_field(data: &DatasetDir, chunk_dir: &DatasetDir, files: u64) {
    remove_chunks(
        chunk_dir,
        if chunk_dir.folder().is_foreign() {
            files
        } else {
            0
        },
    );
    chunk_dir.remove_folders(data);
}

/// Removes all chunks in a folder. If the storage cannot list its files, removes the first `files`.
fn remove_chunks(data: &DatasetDir, files: u64) {
    for name in (0..files).flat_map(|i| {
        [
            FileLayout::ChunkFiles.file_name(i),
            FileLayout::Superchunks.file_name(i),
        ]
    }) {
        let _ = data.folder().remove_if_there(&data.name(&name));
    }
    remove_others(data, FileLayout::ChunkFiles, 0);
}

/// Removes the folders of an array, as far as they are empty.
fn remove_folders(dir: &DatasetDir) {
    for name in FOLDERS {
        let _ = dir.folder().remove_folder(&dir.name(name));
    }
    if !dir.path().is_empty() {
        let _ = dir.folder().remove_folder(dir.path());
    }
}

impl Writer {
    pub(super) fn mark_broken(&self) {
        self.session.mark_broken();
    }

    pub(super) fn is_durable(&self) -> bool {
        self.session.is_durable()
    }

    /// Returns the attribute files of the replaced array that the commit does not rewrite.
    fn replaced_attrs(&self, attrs: &str) -> Vec<OsString> {
        let other = |f: &&str| self.replaces && !self.is_field && *f != attrs;
        FILES
            .into_iter()
            .filter(|f| other(f))
            .map(|f| self.dir.name(f))
            .collect()
    }

    /// Returns true if the array replaces another one.
    pub(super) fn replaces(&self) -> bool {
        self.replaces
    }

    /// Returns true if nothing has been committed yet.
    pub(super) fn is_first(&self) -> bool {
        self.sizes.is_none()
    }

    /// Returns true if no existing file is part of the array.
    pub(super) fn is_new(&self) -> bool {
        self.is_first() || self.replaces
    }

    /// Removes the folders if nothing was committed. `chunk_dirs` are the folders of the chunks.
    pub(super) fn close(self, chunk_dirs: &[(DatasetDir, u64)]) {
        if self.sizes.is_some() || self.replaces {
            return;
        }
        match self.dir.subdir(FOLDERS[0]) {
            Ok(data) if self.is_field => chunk_dirs
                .iter()
                .for_each(|(chunk_dir, _)| chunk_dir.remove_folders(&data)),
            _ => remove_folders(&self.dir),
        }
    }
}
