//! Files in memory that can be written, and arrays in them.

use holdall::array::Array;
use holdall::io::Folder;
use holdall::io::functions::{FunctionError, FunctionResult, Functions, FunctionsFolder};
use holdall::options::Options;
use holdall::superchunk::bloscpack::{Bloscpack, Mode};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Storage that records the number of reads.
#[derive(Default)]
pub struct Memory {
    pub files: Mutex<HashMap<OsString, Vec<u8>>>,
    pub reads: AtomicU64,
    /// Other threads may call.
    pub threads: AtomicBool,
}

pub const ENOENT: FunctionError = FunctionError::Errno(2);

impl Memory {
    pub fn with<R>(&self, name: &OsStr, f: impl FnOnce(&mut Vec<u8>) -> R) -> FunctionResult<R> {
        self.files
            .lock()
            .unwrap()
            .get_mut(name)
            .map(f)
            .ok_or(ENOENT)
    }
}

impl Functions for Memory {
    fn size(&self, name: &OsStr) -> FunctionResult<u64> {
        self.with(name, |f| f.len() as u64)
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> FunctionResult<u64> {
        let helper = std::thread::current()
            .name()
            .is_some_and(|n| n.starts_with("holdall-"));
        assert!(
            !helper || self.threads.load(Ordering::Relaxed),
            "threads that were not requested"
        );
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.with(name, |f| {
            let there = f.get(at as usize..).unwrap_or_default();
            let n = there.len().min(dst.len());
            dst[..n].copy_from_slice(&there[..n]);
            n as u64
        })
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> FunctionResult<()> {
        self.with(name, |f| {
            f.resize(f.len().max(at as usize + src.len()), 0);
            f[at as usize..][..src.len()].copy_from_slice(src);
        })
    }
    fn truncate(&self, name: &OsStr, size: u64) -> FunctionResult<()> {
        self.files
            .lock()
            .unwrap()
            .entry(name.into())
            .or_default()
            .resize(size as usize, 0);
        Ok(())
    }
    fn sync(&self, _: &OsStr) -> FunctionResult<()> {
        Ok(())
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> FunctionResult<()> {
        let mut files = self.files.lock().unwrap();
        let f = files.remove(from).ok_or(ENOENT)?;
        files.insert(to.into(), f);
        Ok(())
    }
    fn remove(&self, name: &OsStr) -> FunctionResult<()> {
        self.files
            .lock()
            .unwrap()
            .remove(name)
            .map(|_| ())
            .ok_or(ENOENT)
    }
    fn list(&self, folder: &OsStr) -> FunctionResult<Vec<OsString>> {
        let files = self.files.lock().unwrap();
        let inside = files
            .keys()
            .map(Path::new)
            .filter(|n| n.parent() == Some(Path::new(folder)));
        Ok(inside
            .filter_map(|n| n.file_name().map(OsStr::to_os_string))
            .collect())
    }
}

/// Creates a new one, also in the form that arrays take.
pub fn memory() -> (Arc<Memory>, Arc<dyn Folder>) {
    let m = Arc::new(Memory::default());
    (m.clone(), Arc::new(FunctionsFolder::new(m)))
}

/// The name of the file in it.
pub fn name() -> &'static OsStr {
    OsStr::new("a")
}

/// Opens the array in it.
pub fn open(folder: &Arc<dyn Folder>, mode: Mode) -> Array {
    Array::open_in(folder, name(), mode, &Options::new()).unwrap()
}

/// All items of an array.
pub fn all(a: &Array) -> Vec<u8> {
    let mut out = vec![0; a.nbytes() as usize];
    a.read(&vec![0; a.shape().len()], a.shape(), None, &mut out, None)
        .unwrap();
    out
}

/// An array in a file with these metadata, and this content.
pub fn array_of(json: &str, content: &[u8]) -> holdall::error::Result<Array> {
    let (_, folder) = memory();
    let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 1, &Options::new()).unwrap();
    file.meta_set(Some(json.as_bytes())).unwrap();
    file.append(content).unwrap();
    file.commit().unwrap();
    drop(file);
    Array::open_in(&folder, name(), Mode::Append, &Options::new())
}
