//! A folder and a file that record what is read.
#![forbid(unsafe_code)]

use crate::error::Result;
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex};

/// What is recorded of a use of a file.
pub trait Record: Send + Sized + 'static {
    /// Returns the record of a read of a range.
    fn of_read(from: u64, to: u64) -> Self;
    /// Returns the record of the hint that a range will be read, if hints are recorded.
    fn of_hint(_from: u64, _to: u64) -> Option<Self> {
        None
    }
}

/// The length of each read.
impl Record for usize {
    fn of_read(from: u64, to: u64) -> usize {
        (to - from) as usize
    }
}

/// A use of a range.
pub enum Use {
    /// A hint said that it will be read.
    Announced(u64, u64),
    /// It was read.
    Read(u64, u64),
}

impl Record for Use {
    fn of_read(from: u64, to: u64) -> Use {
        Use::Read(from, to)
    }
    fn of_hint(from: u64, to: u64) -> Option<Use> {
        Some(Use::Announced(from, to))
    }
}

impl Use {
    /// Returns the number of reads, and those that were not announced.
    pub fn tally(uses: &[Use]) -> (usize, Vec<(u64, u64)>) {
        let (mut announced, mut reads, mut surprises) = (Vec::<(u64, u64)>::new(), 0, Vec::new());
        for file_use in uses {
            match *file_use {
                Use::Announced(from, to) => announced.push((from, to)),
                Use::Read(from, to) => {
                    reads += 1;
                    let mut known = from;
                    while let Some((_, end)) =
                        announced.iter().find(|a| a.0 <= known && known < a.1)
                    {
                        known = *end;
                    }
                    if known < to {
                        surprises.push((from, to));
                    }
                }
            }
        }
        (reads, surprises)
    }
}

/// A folder that records the uses of its files.
pub struct Counting<R>(pub Arc<dyn Folder>, pub Arc<Mutex<Vec<R>>>);

/// A file that records its uses, and is not in the page cache.
pub struct Counted<R>(pub Arc<dyn File>, pub Arc<Mutex<Vec<R>>>);

impl<R: Record> Folder for Counting<R> {
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

impl<R: Record> File for Counted<R> {
    fn size(&self) -> Result<u64> {
        self.0.size()
    }
    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let read = R::of_read(at, at + dst.len() as u64);
        self.1.lock().unwrap().push(read);
        self.0.read_at(at, dst)
    }
    fn is_cached(&self, _: u64) -> bool {
        false
    }
    fn begin_reading(&self, from: u64, to: u64) {
        self.1.lock().unwrap().extend(R::of_hint(from, to));
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
