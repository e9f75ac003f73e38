//! The writers' lock: an advisory lock of the operating system on a file beside the container, and
//! on the container's main file, which may also be reached through a hard link. The lock ends with
//! the process, however the process ends. A leftover lock file holds no lock.
//!
//! A lock file is valid only if its owner may write the container. A lock file of any other user is
//! ignored.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::os::{self, OsStrExt};
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Suffix of a lock file's name.
pub const SUFFIX: &str = ".holdall-lock";

/// A lock, held until the value is dropped.
pub struct Lock(Held);

enum Held {
    Nothing,
    File(HeldLock),
    /// A lock of files in memory, held while the token exists.
    InMemory {
        _token: Arc<()>,
    },
}

struct HeldLock {
    /// The open lock file. `None` if a file of another user has its name.
    file: Option<fs::File>,
    path: PathBuf,
    /// The main file, also locked.
    main: Option<fs::File>,
    owner: u32,
    /// Whether the lock uses an existing file only and leaves that file in place.
    is_existing: bool,
}

type TryLock = fn(&fs::File) -> std::result::Result<(), TryLockError>;

impl Lock {
    /// Returns an empty lock, for storage without locks. The caller must ensure a single writer.
    pub fn none() -> Lock {
        Lock(Held::Nothing)
    }

    /// Returns a lock of files in memory, whose holder is this value.
    pub(super) fn in_memory(token: Arc<()>) -> Lock {
        Lock(Held::InMemory { _token: token })
    }

    /// Takes the exclusive lock of this name in a folder.
    pub fn take(folder: &Path, name: &OsStr) -> Result<Lock> {
        Lock::take_as(folder, name, fs::File::try_lock, false)
    }

    /// Takes a shared lock, which excludes the exclusive lock.
    pub fn take_shared(folder: &Path, name: &OsStr) -> Result<Lock> {
        Lock::take_as(folder, name, fs::File::try_lock_shared, false)
    }

    /// Takes the lock without creating its file, exclusive or shared. If the lock file does not
    /// exist and the container has no main file (a dataset), another writer may still start.
    pub fn test(folder: &Path, name: &OsStr, shared: bool) -> Result<Lock> {
        Lock::take_as(
            folder,
            name,
            if shared {
                fs::File::try_lock_shared
            } else {
                fs::File::try_lock
            },
            true,
        )
    }

    fn take_as(folder: &Path, name: &OsStr, try_lock: TryLock, is_existing: bool) -> Result<Lock> {
        let path = folder.join(name);
        let main = name
            .as_bytes()
            .strip_suffix(SUFFIX.as_bytes())
            .map_or(PathBuf::new(), |n| folder.join(OsStr::from_bytes(n)));
        let file = if is_existing {
            existing_lock_file(folder, &path, &main, try_lock)?
        } else {
            lock_file(folder, &path, &main, try_lock)?
        };
        let is_other_users =
            file.is_none() && (!is_existing || is_other_users(folder, &path, &main));
        let main = lock_main(&main, try_lock)?;
        if is_other_users && main.is_none() {
            return Err(fail!(
                Busy,
                "{}: this lock file belongs to a user who may not write the container; have it removed, or see HOLDALL_OPT_LOCK",
                path.display()
            ));
        }
        Ok(Lock(Held::File(HeldLock {
            file,
            path,
            main,
            owner: os::process(),
            is_existing,
        })))
    }

    /// Returns an error if the lock file was renamed, replaced or removed. Another writer may hold
    /// the lock then, so the caller must not commit.
    pub fn still_held(&self) -> Result<()> {
        let Held::File(held) = &self.0 else {
            return Ok(());
        };
        let shown = held.path.display();
        let is_there = held
            .file
            .as_ref()
            .map_or(Ok(true), |file| os::is_current_lock(file, &held.path));
        if is_there.map_err(|e| Error::os(&shown, &e))? {
            return Ok(());
        }
        Err(fail!(
            State,
            "{shown}: the lock was renamed, replaced or removed (expected the file that this writer has locked, found {}); \
             restore its name, or open the container again",
            if held.path.exists() {
                "another one"
            } else {
                "none"
            }
        ))
    }
}

/// Opens and locks the lock file. Returns `None` if a file of another user has its name.
fn lock_file(
    folder: &Path,
    path: &Path,
    main: &Path,
    try_lock: TryLock,
) -> Result<Option<fs::File>> {
    let shown = path.display();
    let what = |e: std::io::Error| Error::os(&shown, &e);
    loop {
        let file = match os::open_lock(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(fail!(Missing, "{}: no such folder", folder.display()));
            }
            Err(_) if is_other_users(folder, path, main) => return Ok(None),
            Err(e) => return Err(what(e)),
        };
        if !file.metadata().map_err(what)?.is_file() {
            return Err(fail!(
                Format,
                "{shown}: this is not a regular file, so it cannot be the lock file; remove it"
            ));
        }
        if is_other_users(folder, path, main) {
            return Ok(None);
        }
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(path.display())),
            Err(TryLockError::Error(e)) => return Err(what(e)),
        }
        if os::is_current_lock(&file, path).map_err(what)? {
            return Ok(Some(file));
        }
    }
}

/// Locks an existing lock file. Returns `None` if there is none.
fn existing_lock_file(
    folder: &Path,
    path: &Path,
    main: &Path,
    try_lock: TryLock,
) -> Result<Option<fs::File>> {
    if is_other_users(folder, path, main) {
        return Ok(None);
    }
    let what = |e: std::io::Error| Error::os(path.display(), &e);
    let file = match os::open_nofollow(OpenOptions::new().read(true), path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(what)?,
    };
    let Some(file) = file.filter(|f| f.metadata().is_ok_and(|l| l.is_file())) else {
        return Err(fail!(
            Format,
            "{}: this is not a regular file, so it cannot be the lock file; remove it",
            path.display()
        ));
    };
    match try_lock(&file) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(busy(path.display())),
        Err(TryLockError::Error(e)) => Err(what(e)),
    }
}

/// Returns the error of a lock that another writer holds.
pub(super) fn busy(name: impl Display) -> Error {
    fail!(
        Busy,
        "{name}: another writer holds this lock; wait for it, or see HOLDALL_OPT_LOCK"
    )
}

/// Returns whether a user who may not write the container owns the file of this name.
fn is_other_users(folder: &Path, path: &Path, main: &Path) -> bool {
    let Ok(of) = os::stat(main).or_else(|_| os::stat(folder)) else {
        return false;
    };
    os::lstat(path).is_ok_and(|lock| !os::is_trusted_for(&lock, &of, os::is_shared(folder)))
}

/// Locks the main file, if it exists and its file system supports locks.
fn lock_main(path: &Path, try_lock: TryLock) -> Result<Option<fs::File>> {
    let Ok(Some(file)) = os::open_nofollow(OpenOptions::new().read(true), path) else {
        return Ok(None);
    };
    if !file.metadata().is_ok_and(|l| l.is_file()) {
        return Ok(None);
    }
    match try_lock(&file) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(busy(path.display())),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // a forked child has a copy of this value, but its parent holds the lock
        if let Held::File(held) = mem::replace(&mut self.0, Held::Nothing)
            && held.owner == os::process()
        {
            // a child may still have the file open, so closing it would not unlock
            let _ = held.main.map(|main| main.unlock());
            match held.file {
                Some(file) if held.is_existing => _ = file.unlock(),
                Some(file) => os::unlock(file, &held.path),
                None => {}
            }
        }
    }
}
