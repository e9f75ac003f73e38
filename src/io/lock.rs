//! The writers' lock: an advisory lock of the operating system on a file beside the container. It
//! ends with the process, however that ends; a file that is left lying bears no lock.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::os;
use std::fs::{self, TryLockError};
use std::path::PathBuf;

/// A lock that is held until the value is dropped.
pub struct Lock(Option<Held>);

struct Held {
    /// Open as long as the lock is held.
    file: fs::File,
    path: PathBuf,
    owner: u32,
}

impl Lock {
    /// A lock of storage that has none: the caller sees to it that there is one writer.
    pub fn none() -> Lock {
        Lock(None)
    }

    /// Takes the lock that this file stands for.
    pub fn take(path: PathBuf) -> Result<Lock> {
        Lock::take_as(path, fs::File::try_lock)
    }

    /// Takes a part in it: others may do so too, but nobody has all of it then.
    pub fn take_part(path: PathBuf) -> Result<Lock> {
        Lock::take_as(path, fs::File::try_lock_shared)
    }

    fn take_as(path: PathBuf, take: impl Fn(&fs::File) -> std::result::Result<(), TryLockError>) -> Result<Lock> {
        let shown = path.display().to_string();
        loop {
            let file = os::open_lock(&path).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => fail!(Missing, "{}: there is no such folder", path.parent().unwrap_or(&path).display()),
                _ => Error::os(&shown, &e),
            })?;
            if !file.metadata().map_err(|e| Error::os(&shown, &e))?.is_file() {
                return Err(fail!(Format, "{shown}: this is no regular file, it cannot be the lock"));
            }
            match take(&file) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(fail!(Busy, "{shown}: another writer holds this lock; wait for it, or see HOLDALL_OPT_LOCK"));
                }
                Err(TryLockError::Error(e)) => return Err(Error::os(&shown, &e)),
            }
            if os::is_lock(&file, &path).map_err(|e| Error::os(&shown, &e))? {
                return Ok(Lock(Some(Held { file, path, owner: os::process() })));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // a forked child has a copy of this value, and the lock is its parent's
        if let Some(held) = self.0.take().filter(|h| h.owner == os::process()) {
            os::unlock(held.file, &held.path);
        }
    }
}
