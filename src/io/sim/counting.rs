//! A folder and a file that record how much is read.
#![forbid(unsafe_code)]

use crate::error::Result;
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};

/// A folder that records the length of each read of its files.
pub struct Counting(pub Arc<dyn Folder>, pub Arc<Mutex<Vec<usize>>>);

/// A file that records the length of each read.
pub struct Counted(pub Arc<dyn File>, pub Arc<Mutex<Vec<usize>>>);

impl Folder for Counting {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        Ok(Arc::new(Counted(
            self.0.open(name, access)?,
            self.1.clone(),
        )))
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &OsStr) -> Result<()> {
        self.0.remove(name)
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.0.identity(name)
    }
    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.0.lock(name)
    }
    fn show(&self, name: &OsStr) -> String {
        self.0.show(name)
    }
}

impl File for Counted {
    fn size(&self) -> Result<u64> {
        self.0.size()
    }
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.1.lock().unwrap().push(dst.len());
        self.0.read_at(at, dst)
    }
    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.0.write_at(at, src)
    }
    fn set_size(&self, size: u64) -> Result<()> {
        self.0.set_size(size)
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn identity(&self) -> u64 {
        self.0.identity()
    }
    fn modified(&self) -> Result<u64> {
        self.0.modified()
    }
}
