//! A read-only file in memory, under the name "".
#![forbid(unsafe_code)]

use super::{Access, File, Folder, lock::Lock, read_only};
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use std::ffi::OsStr;
use std::sync::Arc;

const NAME: &str = "(memory)";

/// A folder with one file, "".
pub struct MemoryFolder<B>(Arc<Bytes<B>>);

struct Bytes<B>(B);

impl<B: AsRef<[u8]> + Send + Sync + 'static> MemoryFolder<B> {
    /// Creates a folder on these bytes.
    pub fn new(bytes: B) -> Self {
        MemoryFolder(Arc::new(Bytes(bytes)))
    }
}

impl<B: AsRef<[u8]> + Send + Sync + 'static> Folder for MemoryFolder<B> {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        if !name.is_empty() {
            return Err(fail!(
                Missing,
                "{}: this storage has one file, \"\"",
                self.show(name)
            ));
        }
        match access {
            Access::Read | Access::Map => Ok(self.0.clone()),
            Access::Write | Access::WriteBeside | Access::Create => Err(read_only(NAME)),
        }
    }

    fn rename(&self, _: &OsStr, _: &OsStr) -> Result<()> {
        Err(read_only(NAME))
    }

    fn remove(&self, _: &OsStr) -> Result<()> {
        Err(read_only(NAME))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(name.is_empty().then_some(0))
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Ok(Lock::none())
    }

    fn writable(&self) -> Result<()> {
        Err(read_only(NAME))
    }

    fn show(&self, name: &OsStr) -> String {
        format!("{NAME}{}", name.display())
    }
}

/// Copies bytes from offset `at` on to `dst`, fewer at the end. Returns their number.
pub(super) fn copy_from(bytes: &[u8], at: u64, dst: &mut [u8]) -> Result<usize> {
    let at = usize::try_from(at).ok();
    let rest = at.and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let n = rest.len().min(dst.len());
    dst.at_mut(..n)?.copy_from_slice(rest.at(..n)?);
    Ok(n)
}

impl<B: AsRef<[u8]> + Send + Sync> File for Bytes<B> {
    fn size(&self) -> Result<u64> {
        Ok(self.0.as_ref().len() as u64)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        copy_from(self.0.as_ref(), at, dst)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(read_only(NAME))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(read_only(NAME))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }

    fn name(&self) -> &str {
        NAME
    }
}
