//! Where a table is in a store: it has no file or folder of its own, and is opened and created as a
//! part of the store.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, InStore};
use std::ffi::OsStr;
use std::sync::Arc;

/// The location of a table.
pub struct TableLocation(InStore);

impl TableLocation {
    /// Returns the location of the table below a group.
    pub fn new(folder: Arc<dyn Folder>, root: &str) -> TableLocation {
        let root = root.trim_end_matches('/').to_owned();
        TableLocation(InStore { folder, root })
    }

    fn refusal(&self) -> Error {
        fail!(
            Type,
            "{}: the node of a table; open or create a table (ctable) there",
            self.show(OsStr::new(""))
        )
    }
}

impl Folder for TableLocation {
    fn open(&self, _: &OsStr, _: Access) -> Result<Arc<dyn File>> {
        Err(self.refusal())
    }

    fn rename(&self, _: &OsStr, _: &OsStr) -> Result<()> {
        Err(self.refusal())
    }

    fn remove(&self, _: &OsStr) -> Result<()> {
        Err(self.refusal())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, _: &OsStr) -> Result<Option<u64>> {
        Ok(None)
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Err(self.refusal())
    }

    fn writable(&self) -> Result<()> {
        Err(self.refusal())
    }

    fn in_store(&self) -> Option<&InStore> {
        Some(&self.0)
    }

    fn show(&self, name: &OsStr) -> String {
        let InStore { folder, root } = &self.0;
        let shown = folder.show(OsStr::new(""));
        format!("{}{root}{}", shown.trim_end_matches('/'), name.display())
    }
}
