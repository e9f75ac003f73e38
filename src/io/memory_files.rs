//! Files in memory that can be written: storage for containers that are no files.
//!
//! An open file outlives its name, as on a local disk: a reader keeps the file that it opened if a
//! writer renames another one over it. A snapshot of a file shares its memory with the file until
//! the next write, which copies the file once.
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::memory::copy_from;
use super::memory_locks::MemoryLocks;
use super::{Access, File, Folder};
use crate::alloc;
use crate::error::{Result, fail};
use crate::os::OsStrExt;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A folder of files in memory.
#[derive(Default)]
pub struct MemoryFiles {
    files: RwLock<BTreeMap<OsString, Arc<MemoryFile>>>,
    locks: MemoryLocks,
}

struct MemoryFile {
    shown: String,
    identity: u64,
    content: RwLock<Content>,
}

#[derive(Default)]
struct Content {
    bytes: Arc<Vec<u8>>,
    /// Number of changes: the stamp of the file.
    changes: u64,
}

fn reading<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn writing<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

fn shown(name: &OsStr) -> String {
    format!("(memory){}", name.display())
}

fn missing(name: &OsStr) -> crate::error::Error {
    fail!(Missing, "{}: no such file", shown(name))
}

impl MemoryFiles {
    /// Returns the names of all files, in order.
    pub fn names(&self) -> Vec<OsString> {
        reading(&self.files).keys().cloned().collect()
    }

    /// Returns the content of a file as of now. Returns `Missing` if it does not exist.
    pub fn snapshot(&self, name: &OsStr) -> Result<Arc<Vec<u8>>> {
        let file = self.find(name).ok_or_else(|| missing(name))?;
        Ok(Arc::clone(&reading(&file.content).bytes))
    }

    /// Stores a file. Replaces an existing file of this name, which its readers keep.
    pub fn put(&self, name: &OsStr, bytes: Vec<u8>) {
        let file = MemoryFile::new(name, bytes);
        writing(&self.files).insert(name.to_owned(), Arc::new(file));
    }

    fn find(&self, name: &OsStr) -> Option<Arc<MemoryFile>> {
        reading(&self.files).get(name).cloned()
    }
}

impl MemoryFile {
    fn new(name: &OsStr, bytes: Vec<u8>) -> MemoryFile {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        MemoryFile {
            shown: shown(name),
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            content: RwLock::new(Content {
                bytes: Arc::new(bytes),
                changes: 0,
            }),
        }
    }

    /// Changes the bytes, which have room for `size` bytes then.
    fn change(&self, size: u64, change: impl FnOnce(&mut Vec<u8>, usize)) -> Result<()> {
        let mut content = writing(&self.content);
        let size = alloc::allow(size, isize::MAX as u64, &self.shown)?;
        if Arc::get_mut(&mut content.bytes).is_none() {
            let mut copy = alloc::with_capacity(size.max(content.bytes.len()))?;
            copy.extend_from_slice(&content.bytes);
            content.bytes = Arc::new(copy);
        }
        let Some(bytes) = Arc::get_mut(&mut content.bytes) else {
            return Err(fail!(State, "{}: the file is shared", self.shown));
        };
        alloc::reserve(bytes, size.saturating_sub(bytes.len()))
            .map_err(|e| e.within(&self.shown))?;
        change(bytes, size);
        content.changes = content.changes.wrapping_add(1);
        Ok(())
    }
}

impl Folder for MemoryFiles {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        match self.find(name) {
            Some(file) => {
                if access == Access::Create {
                    file.set_size(0)?;
                }
                Ok(file)
            }
            None if access == Access::Create => self.create(name, OsStr::new("")),
            None => Err(missing(name)),
        }
    }

    fn create(&self, name: &OsStr, _like: &OsStr) -> Result<Arc<dyn File>> {
        let file = Arc::new(MemoryFile::new(name, Vec::new()));
        writing(&self.files).insert(name.to_owned(), file.clone());
        Ok(file)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        let mut files = writing(&self.files);
        let file = files.remove(from).ok_or_else(|| missing(from))?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        let removed = writing(&self.files).remove(name);
        removed.map(drop).ok_or_else(|| missing(name))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(self.find(name).map(|file| file.identity))
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.locks.take(name, false, &shown(name))
    }

    fn lock_shared(&self, name: &OsStr) -> Result<Lock> {
        self.locks.take(name, true, &shown(name))
    }

    fn test_lock(&self, name: &OsStr, shared: bool) -> Result<Lock> {
        self.locks.take(name, shared, &shown(name))
    }

    fn show(&self, name: &OsStr) -> String {
        shown(name)
    }

    fn files(&self) -> Result<Vec<OsString>> {
        Ok(self.names())
    }

    fn list(&self, folder: &OsStr) -> Result<Vec<OsString>> {
        let prefix = folder.as_encoded_bytes();
        let names = self.names();
        let inside = names.iter().filter_map(|name| {
            let name = name.as_encoded_bytes();
            match prefix {
                [] => Some(name),
                _ => name.strip_prefix(prefix)?.strip_prefix(b"/"),
            }
        });
        let mut found: Vec<OsString> = inside
            .filter_map(|name| name.split(|byte| *byte == b'/').next())
            .map(|name| OsStr::from_bytes(name).to_owned())
            .collect();
        found.dedup();
        Ok(found)
    }
}

impl File for MemoryFile {
    fn size(&self) -> Result<u64> {
        Ok(reading(&self.content).bytes.len() as u64)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        copy_from(&reading(&self.content).bytes, at, dst)
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        let end = at.saturating_add(src.len() as u64);
        self.change(end, |bytes, end| {
            let at = end - src.len();
            if bytes.len() < at {
                bytes.resize(at, 0);
            }
            // what follows the current end is written once, not zeroed before
            let (old, more) = src.split_at(src.len().min(bytes.len() - at));
            if let Some(before) = bytes.get_mut(at..at + old.len()) {
                before.copy_from_slice(old);
            }
            bytes.extend_from_slice(more);
        })
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.change(size, |bytes, size| bytes.resize(size, 0))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        &self.shown
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    fn stamp(&self) -> Result<u64> {
        Ok(reading(&self.content).changes)
    }

    fn modified(&self) -> Result<u64> {
        self.stamp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn name(text: &str) -> &OsStr {
        OsStr::new(text)
    }

    #[test]
    fn an_open_file_outlives_its_name() {
        let folder = MemoryFiles::default();
        folder.put(name("a"), b"first".to_vec());
        let old = folder.open(name("a"), Access::Read).unwrap();
        let new = folder.create(name("b"), name("")).unwrap();
        new.write_at(2, b"new").unwrap();
        folder.rename(name("b"), name("a")).unwrap();
        let mut bytes = [9; 8];
        assert_eq!(old.read_at(0, &mut bytes).unwrap(), 5);
        assert_eq!(&bytes[..5], b"first");
        assert_eq!(*folder.snapshot(name("a")).unwrap(), b"\0\0new");
        assert_ne!(folder.identity(name("a")).unwrap(), Some(old.identity()));
        assert_eq!(
            folder
                .open(name("b"), Access::Write)
                .err()
                .map(|e| e.status),
            Some(Status::Missing)
        );
    }

    #[test]
    fn a_snapshot_does_not_change() {
        let folder = MemoryFiles::default();
        let file = folder.create(name(""), name("")).unwrap();
        file.write_at(0, b"one").unwrap();
        let stamp = file.stamp().unwrap();
        let before = folder.snapshot(name("")).unwrap();
        file.write_at(1, b"two").unwrap();
        file.set_size(3).unwrap();
        assert_eq!(
            (&**before, &**folder.snapshot(name("")).unwrap()),
            (&b"one"[..], &b"otw"[..])
        );
        assert_ne!(file.stamp().unwrap(), stamp);
        // a size that memory cannot have is an error
        assert_eq!(
            file.set_size(u64::MAX).err().map(|e| e.status),
            Some(Status::Limit)
        );
        assert_eq!(
            file.set_size(1 << 60).err().map(|e| e.status),
            Some(Status::Memory)
        );
        assert_eq!(file.size().unwrap(), 3);
    }

    #[test]
    fn names_are_listed_by_folder() {
        let folder = MemoryFiles::default();
        for file in ["", "meta/sizes", "meta/storage", "data/__0.blp", "datax/0"] {
            folder.put(name(file), Vec::new());
        }
        assert_eq!(
            folder.list(name("")).unwrap(),
            ["", "data", "datax", "meta"]
        );
        assert_eq!(folder.list(name("meta")).unwrap(), ["sizes", "storage"]);
        assert_eq!(folder.list(name("none")).unwrap(), [""; 0]);
    }

    #[test]
    fn locks_exclude_each_other() {
        let folder = MemoryFiles::default();
        let status = |lock: Result<Lock>| lock.err().map(|e| e.status);
        let held = folder.lock(name("l")).unwrap();
        assert_eq!(status(folder.lock(name("l"))), Some(Status::Busy));
        assert_eq!(status(folder.lock_shared(name("l"))), Some(Status::Busy));
        drop(held);
        let shared = [folder.lock_shared(name("l")), folder.lock_shared(name("l"))];
        assert_eq!(status(folder.lock(name("l"))), Some(Status::Busy));
        drop(shared);
        folder.lock(name("l")).unwrap().still_held().unwrap();
    }
}
