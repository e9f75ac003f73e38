//! Identities of the folders that a writer uses, so that nothing is written after another folder
//! has taken a path.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::os;
use crate::parallel::try_lock;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// The folders that a writer has recorded. Readers record none.
#[derive(Default)]
pub struct FolderIdentities {
    /// Identity of the folder itself, when the writer started.
    own: OnceLock<u64>,
    /// Identities of subfolders, recorded at the first listing or change.
    below: Mutex<HashMap<OsString, u64>>,
}

impl FolderIdentities {
    /// Records the folder for a writer.
    pub fn begin(&self, folder: &Path) {
        if let Ok(stat) = os::stat(folder) {
            let _ = self.own.set(os::identity(&stat));
        }
    }

    /// Returns an error if another folder has taken the path of the folder or of its subfolder
    /// `below`.
    pub fn check(&self, folder: &Path, below: &OsStr, shown: &Path) -> Result<()> {
        let Some(own) = self.own.get() else {
            return Ok(());
        };
        check_same(*own, folder, shown)?;
        if below.is_empty() {
            return Ok(());
        }
        let recorded = try_lock(&self.below).and_then(|identities| identities.get(below).copied());
        if let Some(recorded) = recorded {
            return check_same(recorded, &folder.join(below), &shown.join(below));
        }
        if let (Ok(stat), Some(mut identities)) =
            (os::stat(&folder.join(below)), try_lock(&self.below))
        {
            identities
                .entry(below.to_owned())
                .or_insert(os::identity(&stat));
        }
        Ok(())
    }

    /// Removes a subfolder from the record, because another folder may take its path.
    pub fn forget(&self, below: &OsStr) {
        if let Some(mut identities) = try_lock(&self.below) {
            identities.remove(below);
        }
    }
}

fn check_same(recorded: u64, folder: &Path, shown: &Path) -> Result<()> {
    let shown = shown.display();
    let found = match os::stat(folder) {
        Ok(stat) if os::identity(&stat) == recorded => return Ok(()),
        Ok(_) => "another one",
        Err(e) if e.kind() == ErrorKind::NotFound => "none",
        Err(e) => return Err(Error::os(shown, &e)),
    };
    Err(fail!(
        State,
        "{shown}: the folder was renamed or replaced (expected the one that was opened for writing, found {found}); \
         restore its name, or open the container again"
    ))
}
