//! Where bytes live: folders of named files, behind two traits, and what keeps them whole.
//!
//! - [`Folder`] and [`File`]: local files, memory, the caller's functions. Formats are written
//!   against these alone.
//! - [`locate`]: which of them the text of a name means.
//! - [`journal`]: how a change of several bytes, or of several files, becomes one commit, and how a
//!   reader sees the last commit while one is under way or was cut off.
//! - [`lock`]: one writer at a time.
//! - [`overlay`]: changes that are kept out of the folders, for a dry run.
//!
//! This layer knows no format, and never looks into the bytes it moves.

pub mod fd_pool;
pub mod file;
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
pub mod object;
pub mod overlay;
pub mod read_buffer;
#[cfg(test)]
pub mod sim;

use crate::error::{Error, Result, fail};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::Arc;

/// What [`Folder::obstacle`] says of a folder.
pub const A_FOLDER: &str = "a folder";

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read; it must be there.
    Read,
    /// To be read, mapped into memory where that can be.
    Map,
    /// To be read and written; it must be there.
    Write,
    /// The same, of a file that lies beside the main one of a container: it must have no other
    /// name.
    WriteBeside,
    /// To be read and written, empty: made new, or emptied.
    Create,
}

/// A range of a file that is wanted, and where it goes.
pub struct Part<'a> {
    /// Where it begins.
    pub at: u64,
    /// Its bytes.
    pub dst: &'a mut [u8],
}

impl Part<'_> {
    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.at.saturating_add(self.dst.len() as u64)
    }
}

/// One open file. All methods may be called from many threads.
pub trait File: Send + Sync {
    /// Its length now, in bytes.
    fn size(&self) -> Result<u64>;
    /// Fills `dst` from `at` on; returns how many bytes there were, fewer only at the end of the
    /// file.
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize>;
    /// Writes all of `src` at `at`; the file grows where needed.
    fn write_at(&self, at: u64, src: &[u8]) -> Result<()>;
    /// Cuts the file, or lets it grow with zeros.
    fn set_size(&self, size: u64) -> Result<()>;
    /// Makes bytes and length durable (not the name: that is [`Folder::sync`]).
    fn sync(&self) -> Result<()>;
    /// The whole file, where it is in memory that nobody changes. A mapped file is not: another
    /// process may write to it.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
    /// Does reading it copy from memory, without a system call?
    fn is_in_memory(&self) -> bool {
        self.bytes().is_some()
    }
    /// Name for messages.
    fn name(&self) -> &str;
    /// What tells this file from another one of the same name, or 0 where nothing does.
    fn identity(&self) -> u64 {
        0
    }

    /// What tells the file from a copy of it, also after it was removed and its place was given to
    /// another one, or 0 where nothing does.
    fn origin(&self) -> Result<u64> {
        Ok(0)
    }
    /// What tells that the file was changed, together with its length: changes at each write and
    /// cut, where the system says when that was.
    fn stamp(&self) -> Result<u64> {
        Ok(0)
    }
    /// What tells that its bytes were changed, together with its length, where the system says when
    /// that was: not that it got another name, or none.
    fn modified(&self) -> Result<u64> {
        Ok(0)
    }
    /// Its length, and [`File::modified`], now.
    fn look(&self) -> Result<(u64, u64)> {
        Ok((self.size()?, self.modified()?))
    }
    /// The same when it was opened, where the system was asked then: that need not be done again.
    fn as_opened(&self) -> Result<(u64, u64)> {
        self.look()
    }
    /// These bytes are going to be wanted: where the file is in memory, they may come nearer
    /// meanwhile.
    fn prefetch(&self, _from: u64, _to: u64) {}
    /// Does it live behind functions of the caller's?
    fn is_foreign(&self) -> bool {
        false
    }
    /// It, where it is an object of a store: each read of one is a request, so that many are better
    /// asked for together (see [`read_parts`]).
    fn object(&self) -> Option<&object::ObjectFile> {
        None
    }
    /// As [`File::read_exact_at`], of what is going to be read again and again: where reading takes
    /// long, it is kept.
    fn read_kept(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        self.read_exact_at(at, dst)
    }
    /// Makes a new object count, all of it or nothing (see [`Folder::upload`]).
    fn publish(&self) -> Result<()> {
        Err(fail!(State, "{}: this is no upload", self.name()))
    }

    /// Fills all of `dst`, or says that the file is too short.
    fn read_exact_at(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        let n = self.read_at(at, dst)?;
        if n == dst.len() {
            return Ok(());
        }
        Err(fail!(
            Format,
            "{}: {} bytes were expected at {at}, {n} are there: the file was cut short",
            self.name(),
            dst.len()
        ))
    }
}

/// Bytes that could not be read: of which job, by its number, where in its file, and why.
pub struct Unread {
    /// The job.
    pub job: usize,
    /// The bytes.
    pub bytes: Range<u64>,
    /// Why.
    pub error: Error,
}

impl Unread {
    /// It is about no bytes rather than others.
    pub fn anywhere(job: usize, error: Error) -> Unread {
        Unread {
            job,
            bytes: 0..u64::MAX,
            error,
        }
    }
}

/// Fills parts of files; where these are objects of a store, by few requests, of which many are
/// under way at once. Of the jobs of one file, which failed may be said to be the first one.
pub fn read_parts(jobs: Vec<(&dyn File, Vec<Part<'_>>)>) -> Result<(), Unread> {
    let mut objects = Vec::new();
    for (job, (file, parts)) in jobs.into_iter().enumerate() {
        match file.object() {
            Some(object) => objects.push((job, object, parts)),
            None => parts.into_iter().try_for_each(|p| {
                let bytes = p.at..p.end();
                file.read_exact_at(p.at, p.dst)
                    .map_err(|error| Unread { job, bytes, error })
            })?,
        }
    }
    object::read(objects)
}

/// Fetches ranges of objects, by few requests, for [`File::read_kept`] to find. Each has its file,
/// its beginning and its end.
pub fn keep_parts(jobs: Vec<(&dyn File, u64, u64)>) -> Result<(), Unread> {
    object::keep(
        jobs.into_iter()
            .enumerate()
            .filter_map(|(job, (file, from, to))| Some((job, file.object()?, from, to)))
            .collect(),
    )
}

/// A folder of named files, or something like it. All methods may be called from many threads.
pub trait Folder: Send + Sync {
    /// Opens a file; `Missing` where there is none.
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>>;
    /// Creates a file that was not there: what has this name is removed first, and never followed.
    /// It gets mode, owner and access control list of `like`, where there is such a file and
    /// storage knows them, as far as the process may give them; it is never open to more users
    /// than that file.
    fn create(&self, name: &OsStr, _like: &OsStr) -> Result<Arc<dyn File>> {
        self.open(name, Access::Create)
    }
    /// Opens a file, to be read, that tells what to do with the file `of`, or with this folder
    /// where there is none: `Missing` where it is there, but somebody who may not change that
    /// file may have written it.
    fn open_trusted(&self, name: &OsStr, _of: &OsStr) -> Result<Arc<dyn File>> {
        self.open(name, Access::Read)
    }
    /// Gives a file another name, replacing what bore it, in one step.
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()>;
    /// Removes a file; `Missing` where there is none.
    fn remove(&self, name: &OsStr) -> Result<()>;
    /// Makes all creations, renames and removals so far durable.
    fn sync(&self) -> Result<()>;
    /// The [`File::identity`] of the file that has this name now; `None` where there is none.
    fn identity(&self, name: &OsStr) -> Result<Option<u64>>;
    /// Has this name still this file, of this length and [`File::stamp`]?
    fn has_still(&self, name: &OsStr, file: &dyn File, (size, stamp): (u64, u64)) -> Result<bool> {
        Ok(self.identity(name)? == Some(file.identity())
            && (file.size()?, file.stamp()?) == (size, stamp))
    }
    /// Takes the lock of this name for as long as the value lives; `Busy` where another has it.
    fn lock(&self, name: &OsStr) -> Result<lock::Lock>;
    /// Takes a part in the lock of this name, as several may; `Busy` where another has all of it.
    fn lock_in_part(&self, _name: &OsStr) -> Result<lock::Lock> {
        Ok(lock::Lock::none())
    }
    /// As [`Folder::lock`], or [`Folder::lock_in_part`] where `part`, without a file for it: `Busy`
    /// where another has it.
    fn test_lock(&self, _name: &OsStr, _part: bool) -> Result<lock::Lock> {
        Ok(lock::Lock::none())
    }
    /// Name for messages.
    fn show(&self, name: &OsStr) -> String;

    /// Does it live behind functions of the caller's?
    fn is_foreign(&self) -> bool {
        false
    }
    /// Makes a folder in it, where storage knows of folders and this one is not there; "" is
    /// itself.
    fn make_folder(&self, _name: &OsStr) -> Result<()> {
        Ok(())
    }
    /// Removes a folder in it, or itself, if it is there and empty, where storage knows of folders.
    fn remove_folder(&self, _name: &OsStr) -> Result<()> {
        Ok(())
    }
    /// As [`Folder::sync`], for what is in a folder in it; "" is itself.
    fn sync_in(&self, _name: &OsStr) -> Result<()> {
        self.sync()
    }
    /// The names in a folder in it, "" is itself; none where storage cannot tell.
    fn list(&self, _name: &OsStr) -> Result<Vec<OsString>> {
        Ok(Vec::new())
    }
    /// Is it one of an object store? There files come whole, under their name at once, and stay as
    /// they are.
    fn is_store(&self) -> bool {
        false
    }
    /// A new file of a store, which is written from its beginning to its end and is there with
    /// [`File::publish`], or never; `only_new`: that fails where another has the name by then.
    fn upload(&self, name: &OsStr, _only_new: bool) -> Result<Arc<dyn File>> {
        Err(fail!(
            State,
            "{}: files are not uploaded here",
            self.show(name)
        ))
    }
    /// The names in it that begin like this; none where storage cannot tell.
    fn list_beginning(&self, start: &OsStr) -> Result<Vec<OsString>> {
        let mut names = self.list(OsStr::new(""))?;
        names.retain(|n| n.as_encoded_bytes().starts_with(start.as_encoded_bytes()));
        Ok(names)
    }
    /// A writer comes: refuses storage that cannot be written. From here on nothing is changed in a
    /// folder that gets the name of this one, where storage can tell.
    fn writable(&self) -> Result<()> {
        Ok(())
    }
    /// Is there a file of this name?
    fn exists(&self, name: &OsStr) -> Result<bool> {
        Ok(self.identity(name)?.is_some())
    }
    /// What has this name, if it is there and is no file, where storage can tell.
    fn obstacle(&self, _name: &OsStr) -> Result<Option<&'static str>> {
        Ok(None)
    }
    /// Refuses to put a file where something is that is none: nothing takes its place in one step.
    fn refuse_obstacle(&self, name: &OsStr) -> Result<()> {
        match self.obstacle(name)? {
            None => Ok(()),
            Some(what) => Err(fail!(
                Exists,
                "{}: {what} is there, which no file takes the place of, also with HOLDALL_REPLACE; rename or remove it",
                self.show(name)
            )),
        }
    }
    /// Removes a file if it is there.
    fn remove_if_there(&self, name: &OsStr) -> Result<()> {
        match self.remove(name) {
            Err(e) if e.status == crate::error::Status::Missing => Ok(()),
            r => r,
        }
    }
}

/// `prefix` + `name` + `suffix`, for the files that lie beside another one.
pub fn beside(prefix: &str, name: &OsStr, suffix: &str) -> OsString {
    let mut s = OsString::from(prefix);
    s.push(name);
    s.push(suffix);
    s
}

/// The folder that a name is in: what stands before its last slash.
pub fn parent(name: &OsStr) -> &OsStr {
    std::path::Path::new(name)
        .parent()
        .map_or(OsStr::new(""), std::path::Path::as_os_str)
}

/// Copies `n` bytes of one file to a place in another.
pub fn copy(from: &dyn File, at: u64, to: &dyn File, to_at: u64, n: u64) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let mut piece = crate::alloc::zeroed(n.min(PIECE) as usize)?;
    let mut done = 0;
    while done < n {
        let part = piece
            .get_mut(..(n - done).min(PIECE) as usize)
            .unwrap_or_default();
        from.read_exact_at(at.saturating_add(done), part)?;
        to.write_at(to_at.saturating_add(done), part)?;
        done += part.len() as u64;
    }
    Ok(())
}

/// The answer of storage that cannot be written.
pub(crate) fn read_only(name: &str) -> crate::error::Error {
    fail!(Unsupported, "{name}: this storage is read-only")
}
