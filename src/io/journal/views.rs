//! Files as the last commit left them, while a change is under way.
#![forbid(unsafe_code)]

use super::entries::Saved;
use crate::error::{Result, Status, fail};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, read_only};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A folder whose files are being swapped.
pub struct Swapping {
    pub folder: Arc<dyn Folder>,
    /// Names in rising order, each with what the file has been called; none: it is removed.
    pub swapped: Vec<(OsString, Option<OsString>)>,
}

impl Swapping {
    /// Asks for the new file, and where it has its name already for that; `gone` where it is
    /// removed.
    fn ask<T>(
        &self,
        name: &OsStr,
        gone: Result<T>,
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
            Some(None) => return gone,
            Some(Some(new)) => f(new)?,
            None => None,
        };
        there.map_or_else(none, Ok)
    }
}

impl Folder for Swapping {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let gone = Err(fail!(
            Missing,
            "{}: there is no such file in the last commit",
            self.show(name)
        ));
        let open = |name: &OsStr| match self.folder.open(name, access) {
            Err(e) if e.status == Status::Missing => Ok(None),
            file => file.map(Some),
        };
        self.ask(name, gone, open, || self.folder.open(name, access))
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
        self.ask(
            name,
            Ok(None),
            |name| Ok(self.folder.identity(name)?.map(Some)),
            || self.folder.identity(name),
        )
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.folder.lock(name)
    }

    fn show(&self, name: &OsStr) -> String {
        self.folder.show(name)
    }

    fn is_foreign(&self) -> bool {
        self.folder.is_foreign()
    }

    fn writable(&self) -> Result<()> {
        Err(read_only(&self.show(OsStr::new(""))))
    }
}

/// A file as it was before the change that a journal tells of.
pub struct Before {
    pub file: Arc<dyn File>,
    pub journal: Arc<dyn File>,
    pub size: u64,
    /// In rising order.
    pub saved: Vec<Saved>,
}

impl File for Before {
    fn size(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let end = self.size.min(at.saturating_add(dst.len() as u64));
        let n = usize::try_from(end.saturating_sub(at)).unwrap_or(0);
        let Some(dst) = dst.get_mut(..n) else {
            return Ok(0);
        };
        let mut got = self.file.read_at(at, dst)? as u64;
        for s in &self.saved {
            let (from, to) = (s.at.max(at), (s.at + s.len).min(end));
            if from >= to {
                continue;
            }
            let part = dst
                .get_mut((from - at) as usize..(to - at) as usize)
                .unwrap_or_default();
            self.journal.read_exact_at(s.from + (from - s.at), part)?;
            // a change that cuts the file has saved all that it cuts off
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

    /// That of the journal: it changes when the change is over and the journal goes.
    fn stamp(&self) -> Result<u64> {
        self.journal.stamp()
    }

    fn modified(&self) -> Result<u64> {
        self.stamp()
    }
}
