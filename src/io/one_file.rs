//! One file of a folder as a folder of its own, in which it has the name "". The files beside it
//! that belong to it have the ends of their names: "NAME.holdall-journal" is ".holdall-journal".
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::{Access, File, Folder, read_only};
use crate::error::{Result, fail};
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A folder with one file of another folder, for reading.
pub struct OneFile {
    folder: Arc<dyn Folder>,
    name: OsString,
}

impl OneFile {
    /// Creates the folder of the file `name` in `folder`.
    pub fn new(folder: Arc<dyn Folder>, name: OsString) -> OneFile {
        OneFile { folder, name }
    }

    /// Returns the name in the other folder, if the file may have such a companion.
    fn outer(&self, name: &OsStr) -> Option<OsString> {
        matches!(name.as_bytes(), [] | [b'.', ..]).then(|| joined(&self.name, name))
    }

    fn read_only(&self) -> crate::error::Error {
        read_only(&self.folder.show(&self.name))
    }
}

fn joined(name: &OsStr, end: &OsStr) -> OsString {
    let mut joined = name.to_owned();
    joined.push(end);
    joined
}

impl Folder for OneFile {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        match access {
            Access::Read | Access::Map => {}
            Access::Write | Access::WriteBeside | Access::Create => return Err(self.read_only()),
        }
        match self.outer(name) {
            Some(name) => self.folder.open(&name, access),
            None => Err(fail!(Missing, "{}: no such file", self.show(name))),
        }
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        match (self.outer(name), self.outer(of)) {
            (Some(name), Some(of)) => self.folder.open_trusted(&name, &of),
            _ => Err(fail!(Missing, "{}: no such file", self.show(name))),
        }
    }

    fn rename(&self, _: &OsStr, _: &OsStr) -> Result<()> {
        Err(self.read_only())
    }

    fn remove(&self, _: &OsStr) -> Result<()> {
        Err(self.read_only())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.outer(name)
            .map_or(Ok(None), |name| self.folder.identity(&name))
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Err(self.read_only())
    }

    fn writable(&self) -> Result<()> {
        Err(self.read_only())
    }

    fn show(&self, name: &OsStr) -> String {
        match self.outer(name) {
            Some(name) => self.folder.show(&name),
            None => self
                .folder
                .show(&joined(&joined(&self.name, OsStr::new("/")), name)),
        }
    }

    fn is_foreign(&self) -> bool {
        self.folder.is_foreign()
    }
}
