//! Files in memory that can be changed, through the interface for storage of the caller.
use holdall::io::functions::{FunctionError, FunctionResult, Functions};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Mutex;

const ENOENT: FunctionError = FunctionError::Errno(2);

/// Names and bytes.
#[derive(Default)]
pub struct Files(pub Mutex<HashMap<OsString, Vec<u8>>>);

impl Files {
    fn with<T>(&self, name: &OsStr, f: impl FnOnce(&mut Vec<u8>) -> T) -> FunctionResult<T> {
        self.0.lock().unwrap().get_mut(name).map(f).ok_or(ENOENT)
    }
}

impl Functions for Files {
    fn size(&self, name: &OsStr) -> FunctionResult<u64> {
        self.with(name, |f| f.len() as u64)
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> FunctionResult<u64> {
        self.with(name, |f| {
            let rest = usize::try_from(at)
                .ok()
                .and_then(|at| f.get(at..))
                .unwrap_or(&[]);
            let n = rest.len().min(dst.len());
            dst[..n].copy_from_slice(&rest[..n]);
            n as u64
        })
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> FunctionResult<()> {
        // the size of a file system is limited, too
        if at > 1 << 24 {
            return Err(FunctionError::Errno(27));
        }
        self.with(name, |f| {
            f.resize(f.len().max(at as usize + src.len()), 0);
            f[at as usize..][..src.len()].copy_from_slice(src);
        })
    }
    fn truncate(&self, name: &OsStr, size: u64) -> FunctionResult<()> {
        if size > 1 << 24 {
            return Err(FunctionError::Errno(27));
        }
        self.0
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
        let mut files = self.0.lock().unwrap();
        let f = files.remove(from).ok_or(ENOENT)?;
        files.insert(to.into(), f);
        Ok(())
    }
    fn remove(&self, name: &OsStr) -> FunctionResult<()> {
        self.0
            .lock()
            .unwrap()
            .remove(name)
            .map(|_| ())
            .ok_or(ENOENT)
    }
    fn list(&self, folder: &OsStr) -> FunctionResult<Vec<OsString>> {
        let files = self.0.lock().unwrap();
        let inside = files
            .keys()
            .map(Path::new)
            .filter(|n| n.parent() == Some(Path::new(folder)));
        Ok(inside
            .filter_map(|n| n.file_name().map(OsStr::to_os_string))
            .collect())
    }
}
