//! Which folders a writer's names lead to, so that nothing is written where another folder has got
//! the name meanwhile.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::os;
use crate::parallel::unless_taken;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// The folders that a writer has come to know. Of who only reads there are none.
#[derive(Default)]
pub struct Anchors {
    /// The folder itself, as it was when the writer came.
    own: OnceLock<u64>,
    /// Those in it, as they were when they were listed, or something was changed in them, first.
    below: Mutex<HashMap<OsString, u64>>,
}

impl Anchors {
    /// A writer comes.
    pub fn begin(&self, folder: &Path) {
        if let Ok(look) = os::look(folder) {
            let _ = self.own.set(os::identity(&look));
        }
    }

    /// Refuses to change anything in the folder, or in the one `below` it, where another one has
    /// its name now.
    pub fn check(&self, folder: &Path, below: &OsStr, shown: &Path) -> Result<()> {
        let Some(own) = self.own.get() else {
            return Ok(());
        };
        same(*own, folder, shown)?;
        if below.is_empty() {
            return Ok(());
        }
        let known = unless_taken(&self.below).and_then(|all| all.get(below).copied());
        if let Some(known) = known {
            return same(known, &folder.join(below), &shown.join(below));
        }
        if let (Ok(look), Some(mut all)) =
            (os::look(&folder.join(below)), unless_taken(&self.below))
        {
            all.entry(below.to_owned()).or_insert(os::identity(&look));
        }
        Ok(())
    }

    /// A folder goes: another one may get its name.
    pub fn forget(&self, below: &OsStr) {
        if let Some(mut all) = unless_taken(&self.below) {
            all.remove(below);
        }
    }
}

fn same(known: u64, folder: &Path, shown: &Path) -> Result<()> {
    let shown = shown.display();
    let found = match os::look(folder) {
        Ok(look) if os::identity(&look) == known => return Ok(()),
        Ok(_) => "another one",
        Err(e) if e.kind() == ErrorKind::NotFound => "none",
        Err(e) => return Err(Error::os(shown, &e)),
    };
    Err(fail!(
        State,
        "{shown}: the folder was renamed or replaced (expected the one that was opened for writing, found {found}); \
         give it back its name, or open the container anew"
    ))
}
