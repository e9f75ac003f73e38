//! Files in the state of the last commit, while a change is in progress.
#![forbid(unsafe_code)]

use super::Container;
use super::entries::Saved;
use super::recover::journal_nonce;
use crate::error::{Result, Status, fail};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, parent, read_only};
use crate::slice::SliceExt;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

/// A folder whose files are being changed. Files may be opened long after the change.
pub struct CommitFolder {
    pub container: Container,
    /// The nonce of the journal of the swap.
    pub nonce: u64,
    /// Final names in ascending order, each with the temporary name; `None` if the file is removed.
    pub swapped: Vec<(OsString, Option<OsString>)>,
    /// The files that are changed in place, in their state before the change.
    pub in_place: BTreeMap<OsString, Arc<dyn File>>,
}

impl CommitFolder {
    /// Queries the new file under its temporary name, or under its final name once it was renamed.
    /// Returns `removed` if the file is removed.
    ///
    /// Once the journal is gone, a file with the temporary name belongs to a later commit, which may
    /// be incomplete. While the journal exists, no later commit begins.
    fn ask<T>(
        &self,
        name: &OsStr,
        removed: Result<T>,
        f: impl Fn(&OsStr) -> Result<Option<T>>,
        none: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let found = self
            .swapped
            .binary_search_by(|(n, _)| n.as_os_str().cmp(name));
        let new = found
            .ok()
            .and_then(|i| self.swapped.get(i))
            .map(|(_, new)| new.as_deref());
        let there = match new {
            Some(None) => return removed,
            Some(Some(new)) => match f(new)? {
                Some(found) if journal_nonce(&self.container)? == Some(self.nonce) => Some(found),
                _ => None,
            },
            None => None,
        };
        there.map_or_else(none, Ok)
    }
}

impl Folder for CommitFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        if let Some(file) = self.in_place.get(name) {
            return Ok(file.clone());
        }
        let removed = Err(fail!(
            Missing,
            "{}: the last commit has no such file",
            self.show(name)
        ));
        let open = |name: &OsStr| match self.container.folder.open(name, access) {
            Err(e) if e.status == Status::Missing => Ok(None),
            file => file.map(Some),
        };
        self.ask(name, removed, open, || {
            self.container.folder.open(name, access)
        })
    }

    fn rename(&self, from: &OsStr, _: &OsStr) -> Result<()> {
        Err(read_only(&self.show(from)))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        Err(read_only(&self.show(name)))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        if let Some(file) = self.in_place.get(name) {
            return Ok(Some(file.identity()));
        }
        self.ask(
            name,
            Ok(None),
            |name| Ok(self.container.folder.identity(name)?.map(Some)),
            || self.container.folder.identity(name),
        )
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.container.folder.lock(name)
    }

    fn show(&self, name: &OsStr) -> String {
        self.container.folder.show(name)
    }

    fn list(&self, folder: &OsStr) -> Result<Vec<OsString>> {
        let mut names: BTreeSet<OsString> =
            self.container.folder.list(folder)?.into_iter().collect();
        for (path, new) in self.swapped.iter().filter(|(p, _)| parent(p) == folder) {
            let name = Path::new(path).file_name().unwrap_or_default();
            match new {
                Some(_) => _ = names.insert(name.to_owned()),
                None => _ = names.remove(name),
            }
        }
        Ok(names.into_iter().collect())
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        self.container.folder.obstacle(name)
    }

    fn is_foreign(&self) -> bool {
        self.container.folder.is_foreign()
    }

    fn writable(&self) -> Result<()> {
        Err(read_only(&self.show(OsStr::new(""))))
    }
}

/// A file in its state before the change that a journal records.
pub struct FileBefore {
    pub file: Arc<dyn File>,
    pub journal: Arc<dyn File>,
    pub size: u64,
    /// Saved ranges in ascending order.
    pub saved: Vec<Saved>,
}

impl File for FileBefore {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let end = self.size.min(at.saturating_add(dst.len() as u64));
        let n = usize::try_from(end.saturating_sub(at)).unwrap_or(0);
        let dst = dst.at_mut(..n)?;
        let mut got = self.file.read_at(at, dst)? as u64;
        for s in &self.saved {
            let (from, to) = (s.at.max(at), (s.at + s.len).min(end));
            if from >= to {
                continue;
            }
            let part = dst.at_mut((from - at) as usize..(to - at) as usize)?;
            self.journal.read_exact_at(s.from + (from - s.at), part)?;
            // a change that truncates the file has saved everything that it cuts off
            if at + got >= from {
                got = got.max(to - at);
            }
        }
        Ok(got as usize)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(read_only(self.name()))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(read_only(self.name()))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &str {
        self.file.name()
    }

    /// Returns the stamp of the journal, which changes when the change ends and the journal is
    /// removed.
    fn stamp(&self) -> Result<u64> {
        self.journal.stamp()
    }

    fn modified(&self) -> Result<u64> {
        self.stamp()
    }
}
