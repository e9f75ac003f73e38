//! Commits: how a change of several bytes or several files happens as a whole or not at all, and
//! how a reader sees the last commit at any moment of it.
//!
//! A container is a set of files in one folder, known by the name of its main file. Beside it lies,
//! while a change is under way, `NAME.holdall-journal`, of one of two kinds:
//!
//! - *undo*: the files of the container are about to be changed in place. The journal holds their
//!   lengths and the bytes that will be written over. As long as it is there, the container is what
//!   it says; removing it is the commit. A writer that finds one puts everything back; a reader,
//!   who may not write, reads through it.
//! - *swap*: new files lie ready under other names. As long as the journal is there, they are the
//!   container; a writer that finds one finishes the renames, a reader opens the new files.
//!
//! Several containers of one folder may be changed as one: the set of them is a container, too,
//! with a journal of its own. As long as that is there, it counts for each of them. Who writes one
//! of them alone has a part in the lock of the set, who writes the set has all of it; so never do
//! both kinds of journals tell of one file.
//!
//! A journal is written under a temporary name, synced, and renamed: one that is there is whole,
//! and one whose checksum does not match is damage, not an accident of timing.
//!
//! A writer first lets a file grow to its new length, and only then changes its old bytes. A reader
//! that finds the length unchanged *after* it has read therefore knows that it has read old bytes.
//!
//! A journal counts only for the files that its writer changed. Who copies a newer container over
//! one that was cut off, or makes it anew, has other files: these are neither changed nor removed,
//! and opening them is an error that names the journal.
//!
//! Layout (little-endian): `holdall journal\n`, u32 version 2, u32 kind, u64 that tells one journal
//! from another, u64 origin of the journal, u32 entries, then the entries, then u32 CRC-32 of all
//! before, then saved bytes. An origin tells a file from a copy of it, on this machine; 0: nothing
//! does. Entry: u16 length and bytes of a name; undo, one for each range, those of a file in rising
//! order: u64 old length (all ones: no such file), u32 CRC-32 of up to 4 KiB before the place, none
//! of an earlier range, u64 place, u64 length, u64 place of the saved bytes in the journal, u32
//! their CRC-32, u64 origin of the file, u64 least and u64 greatest length that it has meanwhile,
//! u64 place of the bytes behind the last range and u32 CRC-32 of up to 4 KiB of them before the
//! old end, u16 pieces of what is going to be written there, each u64 place, u16 length and bytes;
//! swap: u16 1 and u16 length and bytes of the final name, or u16 0: the file is to be removed; u64
//! length (all ones: no such file) and u32 CRC-32 of up to 4 KiB at the end of the new file, and
//! the same of the old one. The name "" is a name: that of storage with one file. Version 1, of
//! holdall 0.1.0, has no origins, and entries end before what is said of lengths, new bytes and new
//! and old files.
#![forbid(unsafe_code)]

mod change;
mod entries;
mod recover;
mod snapshot;
#[cfg(test)]
mod tests;
mod views;
mod witness;

pub use change::{Change, Swapped, Undo, enter, settle, swap, swap_files, tidy};
pub use entries::Piece;
pub use snapshot::Snapshot;
pub use witness::SAID;

use super::lock::{self, Lock};
use super::{File, Folder, beside, parent};
use crate::error::{Result, Status};
use crate::os::OsStrExt;
use entries::Entry;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A container has a few files, and a change a few ranges.
const MOST_ENTRIES: usize = 4096;
/// Ranges that one change may have.
pub const MOST_RANGES: usize = MOST_ENTRIES / 2;
const PIECE: usize = 1 << 20;

/// A container: the files that belong together, and the folder they are in. A journal may name
/// these files and no others, whatever its bytes say.
#[derive(Clone)]
pub struct Container {
    /// The folder.
    pub folder: Arc<dyn Folder>,
    /// Name of the main file.
    pub main: OsString,
    /// What the names of the other files have before that of the main one; "" for itself.
    pub prefixes: &'static [&'static str],
    /// Where the files are not those around one name: tells by the name whether a file belongs to
    /// it. Prefixes are names then, and the main file is one that is not there, beside which
    /// the journal lies.
    pub members: Option<Members>,
    /// The file whose owner and mode decide who may write a journal of the container: the main file,
    /// or one of the members, since anybody can create a file with the name that no member has;
    /// "" for the folder.
    pub judged_by: OsString,
    /// Files whose mode and owner new ones get: the first that exists.
    pub alike: Vec<OsString>,
    /// Sets that this container may be a part of.
    pub within: Vec<Container>,
}

/// Does a file of this name belong to it?
pub type Members = Arc<dyn Fn(&OsStr) -> bool + Send + Sync>;

/// What a new file has behind its name until it takes its place.
pub const NEW: &str = ".holdall-new";

impl Container {
    /// Of the files of a name with these prefixes.
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
            main,
            within: Vec::new(),
        }
    }
    /// Of the files for whose names `members` is true; see the fields for the other parameters.
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
    /// The file with this prefix.
    pub fn name(&self, prefix: &str) -> OsString {
        beside(prefix, self.own(), "")
    }
    /// The same while it is new.
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
    /// The writers' lock, if it is wanted.
    pub fn lock(&self, wanted: bool) -> Result<Lock> {
        if wanted {
            self.folder.lock(&self.lock_name())
        } else {
            Ok(Lock::none())
        }
    }
    /// Creates one of its files, or one that takes the place of one or waits to: for no more users
    /// than the container.
    pub fn create(&self, name: &OsStr) -> Result<Arc<dyn File>> {
        let exists = |like: &&OsString| self.folder.exists(like).unwrap_or(false);
        let like = match &*self.alike {
            [only] => Some(only),
            several => several.iter().find(exists),
        };
        self.folder.create(name, like.map_or(OsStr::new(""), |l| l))
    }
    /// Opens its journal, if it has one that counts.
    fn open_journal(&self) -> Result<Arc<dyn File>> {
        self.folder.open_trusted(&self.journal(), &self.judged_by)
    }
    fn has_journal(&self) -> Result<bool> {
        match self.open_journal() {
            Err(e) if e.status == Status::Missing => Ok(false),
            r => r.map(|_| true),
        }
    }
    /// The name of the file of its lock.
    pub fn lock_name(&self) -> OsString {
        beside("", &self.main, lock::SUFFIX)
    }
    fn journal(&self) -> OsString {
        beside("", &self.main, ".holdall-journal")
    }
    fn has(&self, name: &OsStr) -> bool {
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
    /// As [`Container::sync`], for the folders in it that these files are in.
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
