//! One file of a folder as a folder of its own, in which it has another name, usually "". The files
//! beside it that belong to it have the ends of their names: "NAME.holdall-journal" is
//! ".holdall-journal".
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::{Access, File, Folder, read_only};
use crate::error::{Error, Result, fail};
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A folder with one file of another folder.
pub struct OneFile {
    folder: Arc<dyn Folder>,
    /// The name in the other folder.
    name: OsString,
    /// The name in this folder.
    own: &'static str,
    is_read_only: bool,
}

impl OneFile {
    /// Creates the folder of the file `name` in `folder`, for reading.
    pub fn new(folder: Arc<dyn Folder>, name: OsString) -> OneFile {
        OneFile {
            folder,
            name,
            own: "",
            is_read_only: true,
        }
    }

    /// Like [`OneFile::new`], for changes.
    pub fn writable(folder: Arc<dyn Folder>, name: OsString) -> OneFile {
        OneFile {
            is_read_only: false,
            ..OneFile::new(folder, name)
        }
    }

    /// Like [`OneFile::new`], in which the file is called `own`.
    pub fn renamed(folder: Arc<dyn Folder>, name: OsString, own: &'static str) -> OneFile {
        OneFile {
            own,
            ..OneFile::new(folder, name)
        }
    }

    /// Returns the name in the other folder of this file, or of a companion.
    fn outer(&self, name: &OsStr) -> Result<OsString> {
        match name.as_bytes().strip_prefix(self.own.as_bytes()) {
            Some(end @ ([] | [b'.', ..])) => Ok(joined(&self.name, OsStr::from_bytes(end))),
            _ => Err(fail!(Missing, "{}: no such file", self.show(name))),
        }
    }

    fn outer_to_change(&self, name: &OsStr) -> Result<OsString> {
        if self.is_read_only {
            return Err(self.read_only());
        }
        self.outer(name).map_err(|_| {
            fail!(
                Unsupported,
                "{}: this node is one file, a frame (b2nd or b2frame), and has no file {name:?}",
                self.folder.show(&self.name)
            )
        })
    }

    fn read_only(&self) -> Error {
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
        let name = match access {
            Access::Read | Access::Map => self.outer(name),
            Access::Write | Access::WriteBeside | Access::Create => self.outer_to_change(name),
        };
        self.folder.open(&name?, access)
    }

    fn create(&self, name: &OsStr, like: &OsStr) -> Result<Arc<dyn File>> {
        let like = self.outer(like)?;
        self.folder.create(&self.outer_to_change(name)?, &like)
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        self.folder
            .open_trusted(&self.outer(name)?, &self.outer(of)?)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        let to = self.outer_to_change(to)?;
        self.folder.rename(&self.outer_to_change(from)?, &to)
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.folder.remove(&self.outer_to_change(name)?)
    }

    fn sync(&self) -> Result<()> {
        match self.is_read_only {
            true => Ok(()),
            false => self.folder.sync_in(super::parent(&self.name)),
        }
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        self.outer(name)
            .map_or(Ok(None), |name| self.folder.identity(&name))
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        self.outer(name)
            .map_or(Ok(None), |name| self.folder.obstacle(&name))
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.folder.lock(&self.outer_to_change(name)?)
    }

    fn writable(&self) -> Result<()> {
        match self.is_read_only {
            true => Err(self.read_only()),
            false => self.folder.writable(),
        }
    }

    fn show(&self, name: &OsStr) -> String {
        match name.as_bytes().strip_prefix(self.own.as_bytes()) {
            Some(end @ ([] | [b'.', ..])) => {
                let name = joined(&self.name, OsStr::from_bytes(end));
                self.folder.show(&name)
            }
            _ => self
                .folder
                .show(&joined(&joined(&self.name, OsStr::new("/")), name)),
        }
    }

    fn files(&self) -> Result<Vec<OsString>> {
        let own = OsStr::new(self.own);
        Ok(match self.exists(own)? {
            true => vec![own.to_owned()],
            false => Vec::new(),
        })
    }

    fn is_foreign(&self) -> bool {
        self.folder.is_foreign()
    }
}
