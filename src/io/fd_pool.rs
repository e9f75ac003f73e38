//! Files of which there are more than a process may have open: each is opened where it is used, and
//! those that were of use lately stay open, of all handles together. Where the system has no more
//! to give, half of those are closed for it, and no more than that stay open until another set is
//! opened.
//!
//! A file that has another one in its place by then is not read: that is an error. No lock is
//! waited for: a fork may have copied it taken.
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::{Access, File, Folder};
use crate::error::{Error, Result, Status, fail};
use crate::os;
use crate::parallel::unless_taken;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

/// Files of one handle that need none of this, if so many may stay open.
const PLAIN: usize = 128;
/// A container has records, limits, checksums.
const EACH: usize = 3;
/// Files that may stay open where the system does not say what the process may have, and where it
/// says a lot, or very few.
const SOME: usize = 128;
const MOST: usize = 4096;
const LEAST: usize = 4;

/// How many may stay open just now.
static MAY: AtomicUsize = AtomicUsize::new(SOME);
/// Those that do, and some whose handles are gone; the last one was opened last.
static OPEN: Mutex<VecDeque<Weak<Slot>>> = Mutex::new(VecDeque::new());

/// A file, while it stays open: then it is among [`OPEN`], under whose lock it is filled and
/// emptied.
#[derive(Default)]
struct Slot {
    file: RwLock<Option<Arc<dyn File>>>,
    /// Was it of use since its last turn to go?
    used: AtomicBool,
}

/// Are these more containers of one handle than may have all their files open?
pub fn needed(containers: usize) -> bool {
    if containers.saturating_mul(EACH) <= LEAST {
        // whatever the process may have: the system need not be asked
        return false;
    }
    let may = allowed().map_or(SOME, |n| (n / 4).clamp(LEAST, MOST));
    MAY.store(may, Ordering::Relaxed);
    containers.saturating_mul(EACH) > may.min(PLAIN)
}

/// How many files the process may have open, where the system tells.
fn allowed() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let soft = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max open files"))?
        .split_whitespace()
        .next()?;
    Some(soft.parse().unwrap_or(usize::MAX))
}

/// Did the system say that the process, or all of them, may have no more files open?
pub fn too_many(e: &Error) -> bool {
    os::TOO_MANY.contains(&e.os_code)
}

/// The same folder, of whose files few are open.
pub fn within(folder: &Arc<dyn Folder>) -> Arc<dyn Folder> {
    if folder.is_foreign() || folder.is_store() {
        folder.clone()
    } else {
        Arc::new(FewFolder(folder.clone()))
    }
}

/// Lets a file stay open, if another thread does not do the same just now.
fn keep(slot: &Arc<Slot>, file: Arc<dyn File>) {
    let Some(mut open) = unless_taken(&OPEN) else {
        return;
    };
    let Ok(mut place) = slot.file.try_write() else {
        return;
    };
    if place.replace(file).is_some() {
        return;
    }
    drop(place);
    close_beyond(&mut open, MAY.load(Ordering::Relaxed).saturating_sub(1));
    open.push_back(Arc::downgrade(slot));
}

/// Closes files until so many are open: those that were of no use for longest, about.
fn close_beyond(open: &mut VecDeque<Weak<Slot>>, most: usize) {
    // each may have been of use once
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

/// Closes half of the files that stay open, and says whether there were any.
fn make_room() -> bool {
    let Some(mut open) = unless_taken(&OPEN) else {
        return false;
    };
    open.retain(|slot| slot.strong_count() > 0);
    let before = open.len();
    close_beyond(&mut open, before / 2);
    if open.len() < before {
        MAY.store((before / 2).max(LEAST), Ordering::Relaxed);
    }
    open.len() < before
}

/// Does what needs a file more, and makes room for it where the system has none.
fn with_room<T>(f: impl Fn() -> Result<T>) -> Result<T> {
    /// Other threads may be at work with those that there are.
    const PATIENCE: usize = 50;
    let mut waited = 0;
    loop {
        match f() {
            Err(e) if too_many(&e) && make_room() => {}
            Err(e) if too_many(&e) && waited < PATIENCE => {
                waited += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(mut e) if too_many(&e) => {
                e.message.push_str(
                    "; so many are open in this process already (`ulimit -n` says how many may be)",
                );
                return Err(e);
            }
            done => return done,
        }
    }
}

struct FewFolder(Arc<dyn Folder>);

struct FewFile {
    folder: Arc<dyn Folder>,
    slot: Arc<Slot>,
    name: OsString,
    access: Access,
    identity: u64,
    shown: String,
}

impl FewFile {
    fn with<T>(&self, f: impl FnOnce(&dyn File) -> Result<T>) -> Result<T> {
        let open = self.slot.file.try_read().ok().and_then(|file| file.clone());
        if let Some(file) = open {
            self.slot.used.store(true, Ordering::Relaxed);
            return f(&*file);
        }
        let file = self.reopened()?;
        keep(&self.slot, file.clone());
        f(&*file)
    }

    fn reopened(&self) -> Result<Arc<dyn File>> {
        let replaced = || {
            fail!(
                State,
                "{}: another file has its name since it was opened; open it again",
                self.shown
            )
        };
        match with_room(|| self.folder.open(&self.name, self.access)) {
            Ok(file) if file.identity() == self.identity => Ok(file),
            Ok(_) => Err(replaced()),
            Err(e) if e.status == Status::Missing => Err(replaced()),
            Err(e) => Err(e),
        }
    }
}

impl File for FewFile {
    fn size(&self) -> Result<u64> {
        self.with(|f| f.size())
    }
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.with(|f| f.read_at(at, dst))
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
}

impl FewFolder {
    fn kept(&self, file: Arc<dyn File>, name: &OsStr, access: Access) -> Arc<dyn File> {
        let few = FewFile {
            folder: self.0.clone(),
            slot: Arc::default(),
            name: name.into(),
            access,
            identity: file.identity(),
            shown: file.name().into(),
        };
        keep(&few.slot, file);
        Arc::new(few)
    }
}

impl Folder for FewFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        // a mapping would hold its file
        let access = if access == Access::Map {
            Access::Read
        } else {
            access
        };
        let file = with_room(|| self.0.open(name, access))?;
        Ok(self.kept(
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
        let file = with_room(|| self.0.create(name, like))?;
        Ok(self.kept(file, name, Access::Write))
    }
    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        let file = with_room(|| self.0.open_trusted(name, of))?;
        Ok(self.kept(file, name, Access::Read))
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &OsStr) -> Result<()> {
        self.0.remove(name)
    }
    fn sync(&self) -> Result<()> {
        with_room(|| self.0.sync())
    }
    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.0.identity(name)
    }
    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        self.0.obstacle(name)
    }
    fn has_still(&self, name: &OsStr, file: &dyn File, seen: (u64, u64)) -> Result<bool> {
        self.0.has_still(name, file, seen)
    }
    fn lock(&self, name: &OsStr) -> Result<Lock> {
        with_room(|| self.0.lock(name))
    }
    fn lock_in_part(&self, name: &OsStr) -> Result<Lock> {
        with_room(|| self.0.lock_in_part(name))
    }
    fn show(&self, name: &OsStr) -> String {
        self.0.show(name)
    }
    fn sync_in(&self, name: &OsStr) -> Result<()> {
        with_room(|| self.0.sync_in(name))
    }
    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        with_room(|| self.0.list(name))
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
    fn a_file_is_read_as_long_as_it_is_there() {
        let disk = SimDisk::default();
        let folder = within(&disk.folder());
        let name = |i: usize| OsString::from(format!("f{i}"));
        let files: Vec<_> = (0..2 * MOST)
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
        assert!(OPEN.lock().unwrap().len() <= MOST);
        disk.folder().rename(&name(1), &name(0)).unwrap();
        assert_eq!(
            [&files[0], &files[1]].map(|f| read(f).err().map(|e| e.status)),
            [Some(Status::State); 2]
        );
    }

    #[test]
    fn few_containers_need_none_of_this() {
        assert!([1, 2].map(needed) == [false; 2] && [MOST, usize::MAX].map(needed) == [true; 2]);
        assert_eq!(allowed().is_some(), cfg!(target_os = "linux"));
    }
}
