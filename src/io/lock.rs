//! The writers' lock: an advisory lock of the operating system on a file beside the container, and
//! on the container's main file itself, which may be reached by another name (a hard link). It ends
//! with the process, however that ends; a file that is left lying bears no lock.
//!
//! A lock file counts if only those can have created it who may write the container: another user's
//! is passed over.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::os::{self, OsStrExt};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What the name of a lock file ends with, after that of the main file.
pub const SUFFIX: &str = ".holdall-lock";

/// A lock that is held until the value is dropped.
pub struct Lock(Option<Held>);

struct Held {
    /// Open as long as the lock is held; none where another user's file has the name.
    file: Option<fs::File>,
    path: PathBuf,
    /// The main file, locked as well.
    main: Option<fs::File>,
    owner: u32,
    /// The file was there before, and stays.
    is_tested: bool,
}

type Take = fn(&fs::File) -> std::result::Result<(), TryLockError>;

impl Lock {
    /// A lock of storage that has none: the caller sees to it that there is one writer.
    pub fn none() -> Lock {
        Lock(None)
    }

    /// Takes the lock of this name in a folder.
    pub fn take(folder: &Path, name: &OsStr) -> Result<Lock> {
        Lock::take_as(folder, name, fs::File::try_lock, false)
    }

    /// Takes a part in it: others may do so too, but nobody has all of it then.
    pub fn take_part(folder: &Path, name: &OsStr) -> Result<Lock> {
        Lock::take_as(folder, name, fs::File::try_lock_shared, false)
    }

    /// Takes the lock, or a part in it, as far as it can be without a file that is not there:
    /// nothing is changed. A writer of a container without a main file (a dataset) may come all
    /// the same.
    pub fn test(folder: &Path, name: &OsStr, part: bool) -> Result<Lock> {
        Lock::take_as(
            folder,
            name,
            if part {
                fs::File::try_lock_shared
            } else {
                fs::File::try_lock
            },
            true,
        )
    }

    fn take_as(folder: &Path, name: &OsStr, take: Take, is_tested: bool) -> Result<Lock> {
        let path = folder.join(name);
        let main = name
            .as_bytes()
            .strip_suffix(SUFFIX.as_bytes())
            .map_or(PathBuf::new(), |n| folder.join(OsStr::from_bytes(n)));
        let file = if is_tested {
            tested_file(folder, &path, &main, take)?
        } else {
            lock_file(folder, &path, &main, take)?
        };
        let is_foreign = file.is_none() && (!is_tested || is_foreign(folder, &path, &main));
        let main = lock_main(&main, take)?;
        if is_foreign && main.is_none() {
            return Err(fail!(
                Busy,
                "{}: this lock is another user's, who may not write the container; have it removed, or see HOLDALL_OPT_LOCK",
                path.display()
            ));
        }
        Ok(Lock(Some(Held {
            file,
            path,
            main,
            owner: os::process(),
            is_tested,
        })))
    }

    /// Refuses to commit where its file was renamed, replaced or removed: another writer may have
    /// the lock, then.
    pub fn still_held(&self) -> Result<()> {
        let Some(held) = &self.0 else { return Ok(()) };
        let shown = held.path.display();
        let is_there = held
            .file
            .as_ref()
            .map_or(Ok(true), |file| os::is_lock(file, &held.path));
        if is_there.map_err(|e| Error::os(&shown, &e))? {
            return Ok(());
        }
        Err(fail!(
            State,
            "{shown}: the lock was renamed, replaced or removed (expected the file that this writer has locked, found {}); \
             give it back its name, or open the container anew",
            if held.path.exists() {
                "another one"
            } else {
                "none"
            }
        ))
    }
}

/// None where another user's file has this name.
fn lock_file(folder: &Path, path: &Path, main: &Path, take: Take) -> Result<Option<fs::File>> {
    let shown = path.display();
    let what = |e: std::io::Error| Error::os(&shown, &e);
    loop {
        let file = match os::open_lock(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(fail!(
                    Missing,
                    "{}: there is no such folder",
                    folder.display()
                ));
            }
            Err(_) if is_foreign(folder, path, main) => return Ok(None),
            Err(e) => return Err(what(e)),
        };
        if !file.metadata().map_err(what)?.is_file() {
            return Err(fail!(
                Format,
                "{shown}: this is no regular file, it cannot be the lock"
            ));
        }
        if is_foreign(folder, path, main) {
            return Ok(None);
        }
        match take(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(path)),
            Err(TryLockError::Error(e)) => return Err(what(e)),
        }
        if os::is_lock(&file, path).map_err(what)? {
            return Ok(Some(file));
        }
    }
}

/// The same of a file that is there; none where there is none.
fn tested_file(folder: &Path, path: &Path, main: &Path, take: Take) -> Result<Option<fs::File>> {
    if is_foreign(folder, path, main) {
        return Ok(None);
    }
    let what = |e: std::io::Error| Error::os(path.display(), &e);
    let file = match os::open_itself(OpenOptions::new().read(true), path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(what)?,
    };
    let Some(file) = file.filter(|f| f.metadata().is_ok_and(|l| l.is_file())) else {
        return Err(fail!(
            Format,
            "{}: this is no regular file, it cannot be the lock",
            path.display()
        ));
    };
    match take(&file) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(busy(path)),
        Err(TryLockError::Error(e)) => Err(what(e)),
    }
}

fn busy(path: &Path) -> Error {
    fail!(
        Busy,
        "{}: another writer holds this lock; wait for it, or see HOLDALL_OPT_LOCK",
        path.display()
    )
}

/// Has another user, who may not write the container, put something there under this name?
fn is_foreign(folder: &Path, path: &Path, main: &Path) -> bool {
    let Ok(about) = os::look(main).or_else(|_| os::look(folder)) else {
        return false;
    };
    os::look_itself(path).is_ok_and(|lock| !os::may_speak_for(&lock, &about, os::is_shared(folder)))
}

/// The main file, where it is there and the file system can lock it.
fn lock_main(path: &Path, take: Take) -> Result<Option<fs::File>> {
    let Ok(Some(file)) = os::open_itself(OpenOptions::new().read(true), path) else {
        return Ok(None);
    };
    if !file.metadata().is_ok_and(|l| l.is_file()) {
        return Ok(None);
    }
    match take(&file) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(busy(path)),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // a forked child has a copy of this value, and the lock is its parent's
        if let Some(held) = self.0.take().filter(|h| h.owner == os::process()) {
            // a child may have it open still
            let _ = held.main.map(|main| main.unlock());
            match held.file {
                Some(file) if held.is_tested => _ = file.unlock(),
                Some(file) => os::unlock(file, &held.path),
                None => {}
            }
        }
    }
}
