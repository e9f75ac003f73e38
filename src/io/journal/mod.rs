//! Atomic commits: a change of several ranges or several files becomes visible completely or not at
//! all, and a reader sees the last commit at any time.
//!
//! A container is a set of files in one folder, identified by the name of its main file. While a
//! change is in progress, `NAME.holdall-journal` exists beside it. There are two kinds:
//!
//! - *undo*: the files of the container are about to be changed in place. The journal holds their
//!   lengths and the bytes that will be overwritten. While it exists, it determines the state of
//!   the container. Removing it is the commit. A writer that finds one rolls the change back. A
//!   reader, which may not write, reads through it.
//! - *swap*: new files are complete under temporary names. While the journal exists, they are the
//!   container. A writer that finds one finishes the renames. A reader opens the new files.
//!
//! Several containers of one folder may be changed in one commit. Their set is a container with its
//! own journal, which applies to each of them. A writer of one member holds a shared lock of the
//! set, and a writer of the set holds the exclusive lock. Therefore two journals never apply to one
//! file.
//!
//! A journal is written under a temporary name, synced, and renamed. A journal is therefore always
//! complete: a checksum mismatch means corruption, not an interrupted write.
//!
//! A writer extends a file to its new length before it changes old bytes. A reader that finds the
//! length unchanged *after* a read has therefore read old bytes.
//!
//! A journal applies only to the files that its writer changed. If a user copies a newer container
//! over an interrupted one, or recreates it, the files differ. They are neither changed nor
//! removed, and opening them is an error that names the journal.
//!
//! Layout (little-endian): `holdall journal\n`, u32 version 2, u32 kind, u64 nonce of the journal,
//! u64 origin of the journal, u32 number of entries, the entries, u32 CRC-32 of everything before,
//! the saved bytes. An origin distinguishes a file from its copies on this machine; 0: unknown. An
//! entry starts with the u16 length and the bytes of a name.
//!
//! An undo entry describes one range. The ranges of a file are in ascending order. Fields: u64 old
//! length of the file (all ones: it did not exist), u32 CRC-32 of up to 4 KiB before the range,
//! excluding earlier ranges, u64 offset, u64 length, u64 offset of the saved bytes in the journal,
//! u32 CRC-32 of the saved bytes, u64 origin of the file, u64 minimum and u64 maximum length during
//! the change, u64 offset of the bytes after the last range, u32 CRC-32 of up to 4 KiB of them
//! before the old end, u16 number of samples of the bytes to be written, each with u64 offset, u16
//! length and bytes.
//!
//! A swap entry: u16 1, u16 length and bytes of the final name; or u16 0: the file is removed. Then
//! u64 length (all ones: no such file) and u32 CRC-32 of up to 4 KiB at the end of the new file,
//! and the same of the old file.
//!
//! The name "" is valid: storage with a single file uses it. Version 1, of holdall 0.1.0, has no
//! origins, and its entries end before the fields about lengths, new bytes, and new and old files.
#![forbid(unsafe_code)]

mod change;
mod entries;
mod fingerprint;
mod recover;
mod session;
mod snapshot;
#[cfg(test)]
mod tests;
mod views;

#[cfg(test)]
use change::recover;
pub use change::{Change, Undo, lock_sets, recover_and_clean, remove_uncommitted, swap};
pub use entries::Sample;
pub use fingerprint::SAMPLE_BYTES;
pub use session::{Mode, Session, already_exists, changed_by_others};
pub use snapshot::Snapshot;

use super::lock::{self, Lock};
use super::{File, Folder, beside, parent};
use crate::error::{Result, Status};
use crate::os::OsStrExt;
use entries::Entry;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A limit: a container has a few files, and a change a few ranges.
const MAX_ENTRIES: usize = 4096;
/// Maximum number of ranges in one change.
pub const MAX_RANGES: usize = MAX_ENTRIES / 2;
const PIECE: usize = 1 << 20;

/// A container: the files that belong together, and their folder. A journal may name only these
/// files, whatever its content says.
#[derive(Clone)]
pub struct Container {
    /// The folder.
    pub folder: Arc<dyn Folder>,
    /// Name of the main file.
    pub main: OsString,
    /// Prefixes of the file names, before the name of the main file; "" is the main file itself.
    pub prefixes: &'static [&'static str],
    /// For containers whose files do not share one name: decides by name whether a file is a
    /// member. Prefixes are then complete names. The main file does not exist; its name is that of
    /// the journal.
    pub members: Option<Members>,
    /// The file whose owner and mode decide who may write a journal of the container: the main file,
    /// or one of the members, since anybody can create a file with the name that no member has;
    /// "" for the folder.
    pub judged_by: OsString,
    /// Files whose mode and owner new ones get: the first that exists.
    pub alike: Vec<OsString>,
    /// Prefixes of files that are never written through links, where `prefixes` does not say it.
    pub beside: &'static [&'static str],
    /// Sets that this container may be a part of.
    pub sets: Vec<Container>,
    /// The path of the folder in those of the sets; "" if they are the same.
    pub below: OsString,
}

/// Returns whether a file of this name belongs to the container.
pub type Members = Arc<dyn Fn(&OsStr) -> bool + Send + Sync>;

/// Suffix of the name of a journal.
pub const SUFFIX: &str = ".holdall-journal";
/// Suffix of a new file's name until it replaces the old one.
pub const NEW: &str = ".holdall-new";
/// Suffix of the name of a new container's file until the first commit.
pub const PART: &str = ".holdall-part";

impl Container {
    /// Creates a container of the files of one name with these prefixes.
    pub fn new(
        folder: &Arc<dyn Folder>,
        main: impl Into<OsString>,
        prefixes: &'static [&'static str],
    ) -> Container {
        let main = main.into();
        Container {
            folder: folder.clone(),
            prefixes,
            members: None,
            judged_by: main.clone(),
            alike: vec![main.clone()],
            beside: &[],
            main,
            sets: Vec::new(),
            below: OsString::new(),
        }
    }
    /// Of the files for whose names `members` returns true; see the fields for the other parameters.
    pub fn of(
        folder: &Arc<dyn Folder>,
        main: impl Into<OsString>,
        members: Members,
        judged_by: impl Into<OsString>,
        alike: Vec<OsString>,
    ) -> Container {
        Container {
            members: Some(members),
            judged_by: judged_by.into(),
            alike,
            ..Container::new(folder, main, &[])
        }
    }
    /// Returns the name of the file with this prefix.
    pub fn name(&self, prefix: &str) -> OsString {
        beside(prefix, self.own(), "")
    }
    /// Returns the temporary name of the new file with this prefix.
    pub fn new_name(&self, prefix: &str) -> OsString {
        beside(prefix, self.own(), NEW)
    }
    fn own(&self) -> &OsStr {
        if self.members.is_some() {
            OsStr::new("")
        } else {
            &self.main
        }
    }
    /// Takes the writers' lock if requested.
    pub fn lock(&self, requested: bool) -> Result<Lock> {
        if requested {
            self.folder.lock(&self.lock_name())
        } else {
            Ok(Lock::none())
        }
    }
    /// Creates a file of the container, or its replacement, accessible to no more users than the
    /// main file.
    pub fn create(&self, name: &OsStr) -> Result<Arc<dyn File>> {
        let exists = |like: &&OsString| self.folder.exists(like).unwrap_or(false);
        let like = match &*self.alike {
            [only] => Some(only),
            several => several.iter().find(exists),
        };
        self.folder.create(name, like.map_or(OsStr::new(""), |l| l))
    }
    /// Opens the journal, if there is one and a valid user wrote it.
    fn open_journal(&self) -> Result<Option<Arc<dyn File>>> {
        let name = self.journal();
        // usually there is none, and the query makes no message
        if !self.folder.exists(&name)? {
            return Ok(None);
        }
        match self.folder.open_trusted(&name, &self.judged_by) {
            Err(e) if e.status == Status::Missing => Ok(None),
            file => file.map(Some),
        }
    }
    fn has_journal(&self) -> Result<bool> {
        Ok(self.open_journal()?.is_some())
    }
    /// Returns the name of the lock file.
    pub fn lock_name(&self) -> OsString {
        beside("", &self.main, lock::SUFFIX)
    }
    fn journal(&self) -> OsString {
        beside("", &self.main, SUFFIX)
    }
    /// Returns whether a file of this name belongs to the container.
    pub fn has(&self, name: &OsStr) -> bool {
        self.prefixes.iter().any(|p| self.name(p) == name)
            || self.members.as_ref().is_some_and(|f| f(name))
    }
    fn has_new(&self, name: &OsStr) -> bool {
        name.as_bytes()
            .strip_suffix(NEW.as_bytes())
            .is_some_and(|n| self.has(OsStr::from_bytes(n)))
    }
    fn sync(&self, durable: bool) -> Result<()> {
        if durable {
            self.folder.sync_in(parent(&self.main))
        } else {
            Ok(())
        }
    }
    /// Like [`Container::sync`], for the folders of these files.
    fn sync_below(&self, durable: bool, entries: &[Entry]) -> Result<()> {
        let mut folders: Vec<&OsStr> = entries
            .iter()
            .map(|e| parent(e.name()))
            .filter(|f| durable && !f.is_empty())
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders.into_iter().try_for_each(|f| self.folder.sync_in(f))
    }
}
