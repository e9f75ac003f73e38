//! Pool of file descriptors, shared by all handles, for sets of files that exceed the process
//! limit. A file is opened on first use. The least recently used files are closed. When the system
//! refuses to open a file, the pool closes half of its files, and keeps that lower limit until
//! another set is opened.
//!
//! A file that was replaced under its name after it was opened is not read: that is an error. The
//! pool never waits for a lock, because a fork may have copied the lock while it was held.
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::{Access, File, Folder};
use crate::error::{Error, Result, Status, fail};
use crate::os;
use crate::parallel::try_lock;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

/// Number of files of one handle that stay open without the pool, if the process limit allows it.
const MAX_WITHOUT_POOL: usize = 128;
/// Files per container: records, limits, checksums.
const FILES_PER_CONTAINER: usize = 3;
/// Pool capacity if the system does not report a process limit, and the bounds of the capacity.
const DEFAULT_CAPACITY: usize = 128;
const MAX_CAPACITY: usize = 4096;
const MIN_CAPACITY: usize = 4;

/// Current capacity of the pool.
static CAPACITY: AtomicUsize = AtomicUsize::new(DEFAULT_CAPACITY);
/// The slots of open files, in opening order. Some may belong to handles that are gone.
static OPEN: Mutex<VecDeque<Weak<FdSlot>>> = Mutex::new(VecDeque::new());

/// The file of a handle while it is open. An open slot is in [`OPEN`], whose lock protects filling
/// and emptying it.
#[derive(Default)]
struct FdSlot {
    file: RwLock<Option<Arc<dyn File>>>,
    /// Whether the file was used since the pool last considered closing it.
    used: AtomicBool,
}

/// Returns whether one handle on so many containers may need more files than may stay open.
pub fn is_needed(containers: usize) -> bool {
    if containers.saturating_mul(FILES_PER_CONTAINER) <= MIN_CAPACITY {
        // fits under any process limit: no need to query the system
        return false;
    }
    let capacity = capacity();
    CAPACITY.store(capacity, Ordering::Relaxed);
    containers.saturating_mul(FILES_PER_CONTAINER) > capacity.min(MAX_WITHOUT_POOL)
}

/// Returns the number of files that the pool, or a cache of open files, may keep open.
pub fn capacity() -> usize {
    process_limit().map_or(DEFAULT_CAPACITY, |n| {
        (n / 4).clamp(MIN_CAPACITY, MAX_CAPACITY)
    })
}

/// Returns the process limit of open files, where the system reports it.
fn process_limit() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let soft = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max open files"))?
        .split_whitespace()
        .next()?;
    Some(soft.parse().unwrap_or(usize::MAX))
}

/// Returns whether the error is `EMFILE` or `ENFILE`: no more files may be opened.
pub fn is_limit_reached(e: &Error) -> bool {
    os::TOO_MANY_OPEN_CODES.contains(&e.os_code)
}

/// Wraps a local folder so that its files are opened through the pool.
pub fn pooled(folder: &Arc<dyn Folder>) -> Arc<dyn Folder> {
    if folder.is_foreign() || folder.is_store() {
        folder.clone()
    } else {
        Arc::new(PooledFolder(folder.clone()))
    }
}

/// Keeps a file open in its slot, unless another thread holds a lock.
fn keep_open(slot: &Arc<FdSlot>, file: Arc<dyn File>) {
    let Some(mut open) = try_lock(&OPEN) else {
        return;
    };
    let Ok(mut slot_file) = slot.file.try_write() else {
        return;
    };
    if slot_file.replace(file).is_some() {
        return;
    }
    drop(slot_file);
    close_above(
        &mut open,
        CAPACITY.load(Ordering::Relaxed).saturating_sub(1),
    );
    open.push_back(Arc::downgrade(slot));
}

/// Closes files until at most `most` are open, approximately the least recently used ones.
fn close_above(open: &mut VecDeque<Weak<FdSlot>>, most: usize) {
    // each file may get one second chance
    for _ in 0..open.len() * 2 {
        if open.len() <= most {
            return;
        }
        let Some(weak) = open.pop_front() else { return };
        let Some(slot) = weak.upgrade() else { continue };
        let used = slot.used.swap(false, Ordering::Relaxed);
        match slot.file.try_write() {
            Ok(mut file) if !used => *file = None,
            _ => open.push_back(weak),
        }
    }
}

/// Closes half of the open files. Returns whether any file was closed.
fn make_room() -> bool {
    let Some(mut open) = try_lock(&OPEN) else {
        return false;
    };
    open.retain(|slot| slot.strong_count() > 0);
    let before = open.len();
    close_above(&mut open, before / 2);
    if open.len() < before {
        CAPACITY.store((before / 2).max(MIN_CAPACITY), Ordering::Relaxed);
    }
    open.len() < before
}

/// Calls a function that opens a file. Closes pooled files and retries if no descriptor is free.
fn with_capacity<T>(f: impl Fn() -> Result<T>) -> Result<T> {
    /// Retries while other threads hold all pooled files.
    const MAX_RETRIES: usize = 50;
    let mut retries = 0;
    loop {
        match f() {
            Err(e) if is_limit_reached(&e) && make_room() => {}
            Err(e) if is_limit_reached(&e) && retries < MAX_RETRIES => {
                retries += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(mut e) if is_limit_reached(&e) => {
                e.message.push_str(
                    "; this process has too many open files (`ulimit -n` shows the limit)",
                );
                return Err(e);
            }
            done => return done,
        }
    }
}

struct PooledFolder(Arc<dyn Folder>);

struct PooledFile {
    folder: Arc<dyn Folder>,
    slot: Arc<FdSlot>,
    name: OsString,
    access: Access,
    identity: u64,
    shown: String,
}

impl PooledFile {
    fn with<T>(&self, f: impl FnOnce(&dyn File) -> Result<T>) -> Result<T> {
        let open = self.slot.file.try_read().ok().and_then(|file| file.clone());
        if let Some(file) = open {
            self.slot.used.store(true, Ordering::Relaxed);
            return f(&*file);
        }
        let file = self.reopen()?;
        keep_open(&self.slot, file.clone());
        f(&*file)
    }

    fn reopen(&self) -> Result<Arc<dyn File>> {
        let replaced = || {
            fail!(
                State,
                "{}: the file was replaced since it was opened; open it again",
                self.shown
            )
        };
        match with_capacity(|| self.folder.open(&self.name, self.access)) {
            Ok(file) if file.identity() == self.identity => Ok(file),
            Ok(_) => Err(replaced()),
            Err(e) if e.status == Status::Missing => Err(replaced()),
            Err(e) => Err(e),
        }
    }
}

impl File for PooledFile {
    fn size(&self) -> Result<u64> {
        self.with(|f| f.size())
    }
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.with(|f| f.read_at(at, dst))
    }
    fn is_cached(&self, at: u64) -> bool {
        // reading reports the error
        self.with(|f| Ok(f.is_cached(at))).unwrap_or(true)
    }
    fn begin_reading(&self, from: u64, to: u64) {
        let _ = self.with(|f| {
            f.begin_reading(from, to);
            Ok(())
        });
    }
    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.with(|f| f.write_at(at, src))
    }
    fn set_size(&self, size: u64) -> Result<()> {
        self.with(|f| f.set_size(size))
    }
    fn sync(&self) -> Result<()> {
        self.with(|f| f.sync())
    }
    fn name(&self) -> &str {
        &self.shown
    }
    fn identity(&self) -> u64 {
        self.identity
    }
    fn origin(&self) -> Result<u64> {
        self.with(|f| f.origin())
    }
    fn stamp(&self) -> Result<u64> {
        self.with(|f| f.stamp())
    }
    fn modified(&self) -> Result<u64> {
        self.with(|f| f.modified())
    }
    fn size_and_modified(&self) -> Result<(u64, u64)> {
        self.with(|f| f.size_and_modified())
    }
}

impl PooledFolder {
    fn wrap(&self, file: Arc<dyn File>, name: &OsStr, access: Access) -> Arc<dyn File> {
        let pooled = PooledFile {
            folder: self.0.clone(),
            slot: Arc::default(),
            name: name.into(),
            access,
            identity: file.identity(),
            shown: file.name().into(),
        };
        keep_open(&pooled.slot, file);
        Arc::new(pooled)
    }
}

impl Folder for PooledFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        // a mapping would keep its file open
        let access = if access == Access::Map {
            Access::Read
        } else {
            access
        };
        let file = with_capacity(|| self.0.open(name, access))?;
        Ok(self.wrap(
            file,
            name,
            if access == Access::Create {
                Access::Write
            } else {
                access
            },
        ))
    }
    fn create(&self, name: &OsStr, like: &OsStr) -> Result<Arc<dyn File>> {
        let file = with_capacity(|| self.0.create(name, like))?;
        Ok(self.wrap(file, name, Access::Write))
    }
    fn check_owner(&self, name: &OsStr, of: &OsStr) -> Result<()> {
        self.0.check_owner(name, of)
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        let file = with_capacity(|| self.0.open_trusted(name, of))?;
        Ok(self.wrap(file, name, Access::Read))
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &OsStr) -> Result<()> {
        self.0.remove(name)
    }
    fn sync(&self) -> Result<()> {
        with_capacity(|| self.0.sync())
    }
    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.0.identity(name)
    }
    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        self.0.obstacle(name)
    }
    fn is_unchanged(&self, name: &OsStr, file: &dyn File, seen: (u64, u64)) -> Result<bool> {
        self.0.is_unchanged(name, file, seen)
    }
    fn lock(&self, name: &OsStr) -> Result<Lock> {
        with_capacity(|| self.0.lock(name))
    }
    fn lock_shared(&self, name: &OsStr) -> Result<Lock> {
        with_capacity(|| self.0.lock_shared(name))
    }
    fn show(&self, name: &OsStr) -> String {
        self.0.show(name)
    }
    fn sync_in(&self, name: &OsStr) -> Result<()> {
        with_capacity(|| self.0.sync_in(name))
    }
    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        with_capacity(|| self.0.list(name))
    }
    fn writable(&self) -> Result<()> {
        self.0.writable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn a_replaced_file_is_not_read() {
        let disk = SimDisk::default();
        let folder = pooled(&disk.folder());
        let name = |i: usize| OsString::from(format!("f{i}"));
        let files: Vec<_> = (0..2 * MAX_CAPACITY)
            .map(|i| folder.open(&name(i), Access::Create).unwrap())
            .collect();
        for (i, f) in files.iter().enumerate() {
            f.write_at(0, &(i as u64).to_le_bytes()).unwrap();
        }
        let read = |f: &Arc<dyn File>| {
            let mut word = [0; 8];
            f.read_exact_at(0, &mut word)
                .map(|()| u64::from_le_bytes(word))
        };
        for (i, f) in files.iter().enumerate() {
            assert_eq!(read(f).unwrap(), i as u64);
        }
        assert!(OPEN.lock().unwrap().len() <= MAX_CAPACITY);
        disk.folder().rename(&name(1), &name(0)).unwrap();
        assert_eq!(
            [&files[0], &files[1]].map(|f| read(f).err().map(|e| e.status)),
            [Some(Status::State); 2]
        );
    }

    #[test]
    fn few_containers_need_no_pool() {
        assert!(
            [1, 2].map(is_needed) == [false; 2]
                && [MAX_CAPACITY, usize::MAX].map(is_needed) == [true; 2]
        );
        assert_eq!(process_limit().is_some(), cfg!(target_os = "linux"));
    }
}
