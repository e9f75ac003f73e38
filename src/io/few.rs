//! Files of which there are more than a process may have open: each is opened where it is used, and those that were of use
//! lately stay open.
//!
//! A file that has another one in its place by then is not read: that is an error.
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::{Access, File, Folder};
use crate::error::{Result, Status, fail};
use crate::lately::{Budget, Lately};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files that may stay open, of all handles together.
const MOST: usize = 128;
static OPEN: Budget = Budget::new(MOST);
/// Containers of a few files each that need none of this.
const PLAIN: usize = 64;

/// Those that are open, of one handle.
pub type Few = Arc<Lately<u64, Arc<dyn File>>>;

/// For so many containers of one handle; none where all their files may be open at once.
pub fn among(containers: usize) -> Option<Few> {
    (containers > PLAIN).then(|| Arc::new(Lately::new(MOST, &OPEN)))
}

/// The same folder, of whose files few are open.
pub fn within(few: &Option<Few>, folder: &Arc<dyn Folder>) -> Arc<dyn Folder> {
    match few {
        Some(few) if !folder.is_foreign() && !folder.is_store() => Arc::new(FewFolder { folder: folder.clone(), few: few.clone() }),
        _ => folder.clone(),
    }
}

struct FewFolder {
    folder: Arc<dyn Folder>,
    few: Few,
}

struct FewFile {
    folder: Arc<dyn Folder>,
    few: Few,
    /// Its own among those that are open.
    number: u64,
    name: OsString,
    access: Access,
    identity: u64,
    shown: String,
}

impl FewFile {
    fn with<T>(&self, f: impl FnOnce(&dyn File) -> Result<T>) -> Result<T> {
        if let Some(file) = self.few.get(&self.number) {
            return f(&*file);
        }
        let replaced = || fail!(State, "{}: another file has its name since it was opened; open it again", self.shown);
        let file = match self.folder.open(&self.name, self.access) {
            Ok(file) if file.identity() == self.identity => file,
            Ok(_) => return Err(replaced()),
            Err(e) if e.status == Status::Missing => return Err(replaced()),
            Err(e) => return Err(e),
        };
        self.few.put(self.number, file.clone(), 1);
        f(&*file)
    }
}

impl Drop for FewFile {
    fn drop(&mut self) {
        self.few.forget(&self.number);
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
    fn stamp(&self) -> Result<u64> {
        self.with(|f| f.stamp())
    }
    fn modified(&self) -> Result<u64> {
        self.with(|f| f.modified())
    }
}

impl Folder for FewFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        // a mapping would hold its file
        let access = if access == Access::Map { Access::Read } else { access };
        let file = self.folder.open(name, access)?;
        let few = FewFile {
            folder: self.folder.clone(),
            few: self.few.clone(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            access: if access == Access::Create { Access::Write } else { access },
            identity: file.identity(),
            shown: file.name().into(),
        };
        self.few.put(few.number, file, 1);
        Ok(Arc::new(few))
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.folder.rename(from, to)
    }
    fn remove(&self, name: &OsStr) -> Result<()> {
        self.folder.remove(name)
    }
    fn sync(&self) -> Result<()> {
        self.folder.sync()
    }
    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.folder.identity(name)
    }
    fn has_still(&self, name: &OsStr, file: &dyn File, seen: (u64, u64)) -> Result<bool> {
        self.folder.has_still(name, file, seen)
    }
    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.folder.lock(name)
    }
    fn lock_in_part(&self, name: &OsStr) -> Result<Lock> {
        self.folder.lock_in_part(name)
    }
    fn show(&self, name: &OsStr) -> String {
        self.folder.show(name)
    }
    fn sync_in(&self, name: &OsStr) -> Result<()> {
        self.folder.sync_in(name)
    }
    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        self.folder.list(name)
    }
    fn writable(&self) -> Result<()> {
        self.folder.writable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::SimDisk;

    #[test]
    fn a_file_is_read_as_long_as_it_is_there() {
        let disk = SimDisk::default();
        let folder = within(&among(1000), &disk.folder());
        let name = |i: usize| OsString::from(format!("f{i}"));
        let files: Vec<_> = (0..2 * MOST).map(|i| folder.open(&name(i), Access::Create).unwrap()).collect();
        for (i, f) in files.iter().enumerate() {
            f.write_at(0, &i.to_le_bytes()).unwrap();
        }
        let read = |f: &Arc<dyn File>| {
            let mut word = [0; 8];
            f.read_exact_at(0, &mut word).map(|()| usize::from_le_bytes(word))
        };
        for (i, f) in files.iter().enumerate() {
            assert_eq!(read(f).unwrap(), i);
        }
        disk.folder().rename(&name(1), &name(0)).unwrap();
        assert_eq!([&files[0], &files[1]].map(|f| read(f).err().map(|e| e.status)), [Some(Status::State); 2]);
        assert!(within(&among(3), &disk.folder()).open(&name(2), Access::Read).is_ok());
    }
}
