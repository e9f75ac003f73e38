//! Storage: folders of named files as two traits, and the means to change files atomically.
//!
//! - [`Folder`] and [`File`]: local files, memory, the caller's functions, object stores, zip
//!   archives. Formats use only these traits.
//! - [`locate`]: maps a name to its storage.
//! - [`journal`]: makes a change of several ranges or several files one commit, and gives readers
//!   the last commit while a change is in progress or was interrupted.
//! - [`lock`]: ensures a single writer.
//! - [`overlay`]: holds changes outside of the folders: of a dry run, or until a commit.
//!
//! This layer knows no format and never interprets the bytes it moves.

pub mod fd_pool;
pub mod file;
pub mod file_part;
mod folder_identity;
pub mod functions;
pub mod journal;
pub mod locate;
pub mod lock;
#[cfg(unix)]
#[allow(unsafe_code)]
pub mod map;
#[cfg(unix)]
mod map_heuristic;
pub mod memory;
pub mod memory_files;
mod memory_locks;
pub mod object;
pub mod one_file;
pub mod overlay;
pub mod read_buffer;
mod recent_reads;
#[cfg(test)]
pub mod sim;
pub mod zip;

use crate::error::{Error, Result, fail};
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// Beginning of the suffixes of all files that this library writes beside a container.
pub const OWN_SUFFIX: &str = ".holdall-";
/// What [`Folder::obstacle`] returns for a folder.
pub const A_FOLDER: &str = "a folder";

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For reading; the file must exist.
    Read,
    /// For reading, mapped into memory if the storage supports it; the file must exist.
    Map,
    /// For reading and writing; the file must exist.
    Write,
    /// For reading and writing a companion file of a container's main file. The file must exist and
    /// must have no other name.
    WriteBeside,
    /// For reading and writing; the file is created, or truncated to length 0.
    Create,
}

/// Maximum number of bytes that a call fetches at once, fewer than a remote file caches.
pub const MAX_FETCH: u64 = 32 << 20;

/// A requested range of a file and its destination.
pub struct ReadRange<'a> {
    /// Offset of the range.
    pub at: u64,
    /// Destination; its length is that of the range.
    pub dst: &'a mut [u8],
}

impl ReadRange<'_> {
    /// Returns the offset of the end.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.dst.len() as u64)
    }
}

/// The state of a file when it was opened.
#[derive(Clone, Copy)]
pub struct AsOpened {
    /// Its length.
    pub size: u64,
    /// See [`File::modified`].
    pub modified: u64,
    /// See [`File::stamp`].
    pub stamp: u64,
}

/// An open file. All methods may be called from several threads.
pub trait File: Send + Sync {
    /// Returns the current length in bytes.
    fn size(&self) -> Result<u64>;
    /// Reads into `dst` from offset `at`. Returns the number of bytes, fewer only at the end of the
    /// file.
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize>;
    /// Writes all of `src` at offset `at`. Extends the file if needed.
    fn write_at(&self, at: u64, src: &[u8]) -> Result<()>;
    /// Truncates the file, or extends it with zeros.
    fn set_size(&self, size: u64) -> Result<()>;
    /// Makes content and length durable. [`Folder::sync`] does the same for the name.
    fn sync(&self) -> Result<()>;
    /// Returns the whole file if it is in memory that never changes. A mapped file is not: another
    /// process may write to it.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
    /// Returns whether reading copies from memory, without a system call.
    fn is_in_memory(&self) -> bool {
        self.bytes().is_some()
    }
    /// Returns the name for messages.
    fn name(&self) -> &str;
    /// Returns a number that distinguishes this file from others of the same name, or 0 if unknown.
    fn identity(&self) -> u64 {
        0
    }

    /// Returns a number that distinguishes the file from its copies, even after it was removed and
    /// its inode was reused, or 0 if unknown.
    fn origin(&self) -> Result<u64> {
        Ok(0)
    }
    /// Returns a change stamp, where the storage has one: with the length, it changes at each write
    /// or truncation.
    fn stamp(&self) -> Result<u64> {
        Ok(0)
    }
    /// Returns the modification time, where the storage has one: with the length, it changes when
    /// the content does, but not when the file is renamed or removed.
    fn modified(&self) -> Result<u64> {
        Ok(0)
    }
    /// Returns the current length and [`File::modified`].
    fn size_and_modified(&self) -> Result<(u64, u64)> {
        Ok((self.size()?, self.modified()?))
    }
    /// Returns the state of the file when it was opened, without a further system call where the
    /// storage returned it then.
    fn as_opened(&self) -> Result<AsOpened> {
        let (size, modified) = self.size_and_modified()?;
        Ok(AsOpened {
            size,
            modified,
            stamp: self.stamp()?,
        })
    }
    /// Hints that these bytes will be read: a mapped file prefetches them into the processor cache.
    fn prefetch(&self, _from: u64, _to: u64) {}
    /// Returns whether reading at this offset does not wait for a disk, as far as that is known.
    fn is_cached(&self, _at: u64) -> bool {
        true
    }
    /// Hints that a range will be read: the system begins to read it into its page cache.
    fn begin_reading(&self, _from: u64, _to: u64) {}
    /// Fetches ranges that will be read, by few requests, if each read is a request. If that fails,
    /// the reads that follow report the error.
    fn fetch(&self, _ranges: &[Range<u64>]) {}
    /// Returns whether the file is provided by the caller's functions.
    fn is_foreign(&self) -> bool {
        false
    }
    /// Returns whether each read is a request that takes long, so that several ranges should be
    /// read together (see [`read_ranges`] and [`File::fetch`]).
    fn is_remote(&self) -> bool {
        false
    }
    /// Returns the object if the file is one of an object store.
    fn object(&self) -> Option<&object::ObjectFile> {
        None
    }
    /// Like [`File::read_exact_at`], for ranges that are read repeatedly. Slow storage caches them.
    fn read_cached(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        self.read_exact_at(at, dst)
    }
    /// Makes an uploaded object visible atomically (see [`Folder::upload`]).
    fn publish(&self) -> Result<()> {
        Err(fail!(State, "{}: this file is not an upload", self.name()))
    }

    /// Fills all of `dst`. Returns an error if the file is too short.
    fn read_exact_at(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        let n = self.read_at(at, dst)?;
        if n == dst.len() {
            return Ok(());
        }
        Err(fail!(
            Format,
            "{}: the file is truncated (expected {} bytes at {at}, found {n})",
            self.name(),
            dst.len()
        ))
    }
}

/// A failed read: the index of the job, the byte range in its file, and the error.
pub struct ReadFailure {
    /// Index of the job.
    pub job: usize,
    /// Byte range in the file.
    pub bytes: Range<u64>,
    /// The reason.
    pub error: Error,
}

#[cfg(feature = "cloud")]
impl ReadFailure {
    /// Creates a failure that concerns no particular range.
    pub fn anywhere(job: usize, error: Error) -> ReadFailure {
        ReadFailure {
            job,
            bytes: 0..u64::MAX,
            error,
        }
    }
}

/// Reads ranges of files. For remote files it issues few requests and runs several of them at once.
/// If two jobs read the same file, a failure may be attributed to the first of them.
pub fn read_ranges(jobs: Vec<(&dyn File, Vec<ReadRange<'_>>)>) -> Result<(), ReadFailure> {
    let (mut objects, mut others) = (Vec::new(), Vec::<(&dyn File, Vec<_>)>::new());
    for (job, (file, parts)) in jobs.into_iter().enumerate() {
        if let Some(object) = file.object() {
            objects.push((job, object, parts));
            continue;
        }
        let parts = parts.into_iter().map(|part| (job, part));
        match others
            .last_mut()
            .filter(|(last, _)| ptr::addr_eq(*last, file))
        {
            Some((_, all)) => all.extend(parts),
            None => others.push((file, parts.collect())),
        }
    }
    others
        .into_iter()
        .try_for_each(|(file, parts)| read_each(file, parts))?;
    object::read(objects)
}

/// Reads ranges, each with the index of its job, one by one. Those of a remote file are fetched
/// before, as many as its cache has room for.
fn read_each(file: &dyn File, parts: Vec<(usize, ReadRange<'_>)>) -> Result<(), ReadFailure> {
    let mut parts = parts.into_iter().peekable();
    while parts.peek().is_some() {
        let (mut now, mut left) = (Vec::new(), MAX_FETCH);
        while let Some(part) = parts.next_if(|(_, p)| now.is_empty() || left >= p.dst.len() as u64)
        {
            left = left.saturating_sub(part.1.dst.len() as u64);
            now.push(part);
        }
        if file.is_remote() && now.len() > 1 {
            file.fetch(&now.iter().map(|(_, p)| p.at..p.end()).collect::<Vec<_>>());
        }
        for (job, part) in now {
            let bytes = part.at..part.end();
            file.read_exact_at(part.at, part.dst)
                .map_err(|error| ReadFailure { job, bytes, error })?;
        }
    }
    Ok(())
}

/// Fetches ranges of remote files by few requests into the cache of [`File::read_cached`]. A job is
/// a file, the start and the end of a range.
pub fn prefetch_ranges(jobs: Vec<(&dyn File, u64, u64)>) -> Result<(), ReadFailure> {
    for same in jobs.chunk_by(|(a, ..), (b, ..)| ptr::addr_eq(*a, *b)) {
        if let Some((file, ..)) = same.first().filter(|(file, ..)| file.object().is_none()) {
            file.fetch(
                &same
                    .iter()
                    .map(|(_, from, to)| *from..*to)
                    .collect::<Vec<_>>(),
            );
        }
    }
    object::prefetch(
        jobs.into_iter()
            .enumerate()
            .filter_map(|(job, (file, from, to))| Some((job, file.object()?, from, to)))
            .collect(),
    )
}

/// A group of a store that has the files of a table.
pub struct InStore {
    /// The files of the store.
    pub folder: Arc<dyn Folder>,
    /// The path of the group, with a slash at its beginning; "" for all files.
    pub root: String,
}

/// A folder of named files, or equivalent storage. All methods may be called from several threads.
pub trait Folder: Send + Sync {
    /// Opens a file. Returns `Missing` if it does not exist.
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>>;
    /// Creates a new file. An existing file of this name is removed first, and a link is not
    /// followed. The file gets the mode, owner and access control list of `like`, if that exists
    /// and the storage has these attributes, as far as the process may set them. It is never
    /// accessible to more users than `like`.
    fn create(&self, name: &OsStr, _like: &OsStr) -> Result<Arc<dyn File>> {
        self.open(name, Access::Create)
    }
    /// Opens a file for reading that determines how `of` is changed, or this folder if `of` does
    /// not exist. Returns `Missing` if a user who may not change `of` may have written the file.
    fn open_trusted(&self, name: &OsStr, _of: &OsStr) -> Result<Arc<dyn File>> {
        self.open(name, Access::Read)
    }
    /// Returns an error if the file of this name exists and belongs to a user who may not write the
    /// file `of`. Such files can exist only where several users may create files.
    fn check_owner(&self, _name: &OsStr, _of: &OsStr) -> Result<()> {
        Ok(())
    }
    /// Renames a file atomically. Replaces an existing file of the new name.
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()>;
    /// Removes a file. Returns `Missing` if it does not exist.
    fn remove(&self, name: &OsStr) -> Result<()>;
    /// Makes all creations, renames and removals so far durable.
    fn sync(&self) -> Result<()>;
    /// Returns the [`File::identity`] of the file that currently has this name, or `None`.
    fn identity(&self, name: &OsStr) -> Result<Option<u64>>;
    /// Returns whether the name still refers to this file, with this length and [`File::stamp`].
    fn is_unchanged(
        &self,
        name: &OsStr,
        file: &dyn File,
        (size, stamp): (u64, u64),
    ) -> Result<bool> {
        Ok(self.identity(name)? == Some(file.identity())
            && (file.size()?, file.stamp()?) == (size, stamp))
    }
    /// Takes the exclusive lock of this name until the value is dropped. Returns `Busy` if it is
    /// held.
    fn lock(&self, name: &OsStr) -> Result<lock::Lock>;
    /// Takes a shared lock of this name. Returns `Busy` if the exclusive lock is held.
    fn lock_shared(&self, _name: &OsStr) -> Result<lock::Lock> {
        Ok(lock::Lock::none())
    }
    /// Like [`Folder::lock`], or [`Folder::lock_shared`] if `shared`, without creating a lock file.
    /// Returns `Busy` if the lock is held.
    fn test_lock(&self, _name: &OsStr, _shared: bool) -> Result<lock::Lock> {
        Ok(lock::Lock::none())
    }
    /// Returns the path of a name for messages.
    fn show(&self, name: &OsStr) -> String;

    /// Returns what this folder stands for, if it is the location of a table in a store.
    fn in_store(&self) -> Option<&InStore> {
        None
    }
    /// Returns the absolute path of the folder if it is one of the local file system itself.
    fn local_path(&self) -> Option<&Path> {
        None
    }
    /// Returns whether the files are provided by the caller's functions.
    fn is_foreign(&self) -> bool {
        false
    }
    /// Returns the folder for one call that opens a container and will look for files of these
    /// names: storage in which each question is a request asks for all of them at once. `None`:
    /// this folder.
    fn for_opening(&self, _names: &'static [&'static str]) -> Option<Arc<dyn Folder>> {
        None
    }
    /// Hints that the sizes of these files will be asked for, as they are now.
    fn begin_check(&self, _names: &dyn Fn() -> Vec<OsString>) {}
    /// Ends what [`Folder::begin_check`] began.
    fn end_check(&self) {}
    /// Creates a subfolder, if the storage has folders and it does not exist; "" is the folder
    /// itself.
    fn make_folder(&self, _name: &OsStr) -> Result<()> {
        Ok(())
    }
    /// Removes a subfolder, or the folder itself (""), if it exists and is empty and the storage
    /// has folders.
    fn remove_folder(&self, _name: &OsStr) -> Result<()> {
        Ok(())
    }
    /// Like [`Folder::sync`], for the names in a subfolder; "" is the folder itself.
    fn sync_in(&self, _name: &OsStr) -> Result<()> {
        self.sync()
    }
    /// Returns the names in a subfolder, "" for the folder itself. Empty if the storage cannot
    /// list.
    fn list(&self, _name: &OsStr) -> Result<Vec<OsString>> {
        Ok(Vec::new())
    }
    /// Returns the names of all files in the folder and its subfolders, in no particular order. Links
    /// to folders are not followed.
    fn files(&self) -> Result<Vec<OsString>> {
        const MAX_DEPTH: usize = 64;
        let (mut files, mut folders) = (Vec::new(), vec![(OsString::new(), 0)]);
        while let Some((folder, depth)) = folders.pop() {
            for entry in self.list(&folder)? {
                let name = match folder.is_empty() {
                    true => entry,
                    false => Path::new(&folder).join(&entry).into(),
                };
                if self.exists(&name)? && self.obstacle(&name)?.is_none() {
                    files.push(name);
                } else if depth < MAX_DEPTH {
                    folders.push((name, depth + 1));
                }
            }
        }
        Ok(files)
    }
    /// Returns whether the folder belongs to an object store. Objects appear complete and are
    /// immutable.
    fn is_store(&self) -> bool {
        false
    }
    /// Creates an object, which must be written sequentially. [`File::publish`] makes it visible.
    /// With `only_new`, publishing fails if the name exists by then.
    fn upload(&self, name: &OsStr, _only_new: bool) -> Result<Arc<dyn File>> {
        Err(fail!(
            State,
            "{}: this storage does not support uploads",
            self.show(name)
        ))
    }
    /// Returns the names that start with `start`. Empty if the storage cannot list.
    fn list_beginning(&self, start: &OsStr) -> Result<Vec<OsString>> {
        let mut names = self.list(OsStr::new(""))?;
        names.retain(|n| n.as_encoded_bytes().starts_with(start.as_encoded_bytes()));
        Ok(names)
    }
    /// Prepares the folder for a writer. Returns an error if the storage is read-only. From here
    /// on, storage that has folder identities refuses changes if another folder takes this one's
    /// path.
    fn writable(&self) -> Result<()> {
        Ok(())
    }
    /// Returns whether a file of this name exists.
    fn exists(&self, name: &OsStr) -> Result<bool> {
        Ok(self.identity(name)?.is_some())
    }
    /// Returns what exists under this name if it is not a file, where the storage has other kinds.
    fn obstacle(&self, _name: &OsStr) -> Result<Option<&'static str>> {
        Ok(None)
    }
    /// Returns an error if something other than a file has this name: a rename cannot replace it
    /// atomically.
    fn refuse_obstacle(&self, name: &OsStr) -> Result<()> {
        match self.obstacle(name)? {
            None => Ok(()),
            Some(what) => Err(fail!(
                Exists,
                "{}: {what} exists under this name, which no file can replace, even with HOLDALL_REPLACE; rename or remove it",
                self.show(name)
            )),
        }
    }
    /// Removes a file if it exists.
    fn remove_if_there(&self, name: &OsStr) -> Result<()> {
        match self.remove(name) {
            Err(e) if e.status == crate::error::Status::Missing => Ok(()),
            r => r,
        }
    }
}

/// Returns the folder for one call that opens a container for reading; see [`Folder::for_opening`].
pub fn for_opening(folder: &Arc<dyn Folder>, names: &'static [&'static str]) -> Arc<dyn Folder> {
    folder.for_opening(names).unwrap_or_else(|| folder.clone())
}

/// Returns `prefix` + `name` + `suffix`, the name of a companion file.
pub fn beside(prefix: &str, name: &OsStr, suffix: &str) -> OsString {
    let mut s = OsString::from(prefix);
    s.push(name);
    s.push(suffix);
    s
}

/// Returns whether a name is one of a file that this library writes beside a container.
pub fn is_own_file(name: impl AsRef<OsStr>) -> bool {
    name.as_ref().to_string_lossy().contains(OWN_SUFFIX)
}

/// Returns the folder part of a name: the text before its last slash.
pub fn parent(name: &OsStr) -> &OsStr {
    Path::new(name)
        .parent()
        .map_or(OsStr::new(""), Path::as_os_str)
}

/// Copies `n` bytes from one file to an offset of another.
pub fn copy(from: &dyn File, at: u64, to: &dyn File, to_at: u64, n: u64) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let mut piece = crate::alloc::zeroed(n.min(PIECE) as usize)?;
    let mut done = 0;
    while done < n {
        let part = piece.at_mut(..(n - done).min(PIECE) as usize)?;
        from.read_exact_at(at.saturating_add(done), part)?;
        to.write_at(to_at.saturating_add(done), part)?;
        done += part.len() as u64;
    }
    Ok(())
}

/// Returns the error of storage that cannot be written.
pub(crate) fn read_only(name: &str) -> crate::error::Error {
    fail!(Unsupported, "{name}: this storage is read-only")
}
