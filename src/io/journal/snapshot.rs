//! Readers: the last commit of a container at any time.
#![forbid(unsafe_code)]

use super::Container;
use super::entries::Entry;
use super::fingerprint::{RangeEnds, check_same_file, check_swapped_files};
use super::recover::{HotJournal, journal_nonce, load_any};
use super::views::{CommitFolder, FileBefore};
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, Folder};
use crate::parallel;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longer than a file has no name while it is swapped.
const RENAME_GAP: Duration = Duration::from_millis(10);

/// A reader's view of the last commit of a container.
pub struct Snapshot<'a> {
    container: &'a Container,
    hot: Option<HotJournal>,
    opened: Mutex<Vec<Opened>>,
}

/// A file that a snapshot has opened.
struct Opened {
    name: OsString,
    file: Arc<dyn File>,
    /// Length and change stamp; `None` for a file that may grow while it is open.
    seen: Option<(u64, u64)>,
}

/// How long a reader has waited for writers.
#[derive(Default)]
struct WaitTime(Duration);

impl WaitTime {
    fn wait(&mut self, c: &Container) -> Result<()> {
        if self.0.as_secs() >= 5 {
            return Err(fail!(
                Busy,
                "{}: a writer changed it during every attempt to open it for 5 seconds; try again",
                c.folder.show(&c.main)
            ));
        }
        let pause = Duration::from_millis(1);
        self.0 += pause;
        std::thread::sleep(pause);
        Ok(())
    }
}

fn for_each<T: Send>(waits: bool, threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    if waits {
        parallel::for_each_blocking(threads, items, f)
    } else {
        parallel::for_each(threads, items, f)
    }
}

fn if_there<T>(r: Result<T>) -> Result<Option<T>> {
    match r {
        Err(e) if e.status == Status::Missing => Ok(None),
        r => r.map(Some),
    }
}

impl<'a> Snapshot<'a> {
    /// Opens the files of a container with `read`, and repeats the call if a writer interfered.
    pub fn read<T>(c: &Container, read: impl Fn(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        let mut waited = WaitTime::default();
        loop {
            if let Some((snap, found)) = Snapshot::attempt(c, &read, &waited)?
                && snap.is_current()?
            {
                return Ok(found);
            }
            waited.wait(c)?;
        }
    }

    /// Like [`Snapshot::read`], for several containers at one point in time, with up to `threads`
    /// threads, or concurrent requests.
    pub fn read_all<T: Send>(
        all: &[Container],
        threads: usize,
        read: impl Fn(usize, &Snapshot<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let mut found: Vec<Option<(Snapshot<'_>, T)>> = all.iter().map(|_| None).collect();
        let waits = all.iter().any(|c| c.folder.is_store());
        let mut waited = WaitTime::default();
        loop {
            let errors = Mutex::new(Vec::new());
            let failed = |i: usize, e: Error| {
                errors
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((i, e))
            };
            let missing = found
                .iter_mut()
                .zip(all)
                .enumerate()
                .filter(|(_, (f, _))| f.is_none())
                .collect();
            for_each(
                waits,
                threads,
                missing,
                |(i, (found, c)): (usize, (&mut Option<_>, &'_ Container))| match Snapshot::attempt(
                    c,
                    |s| read(i, s),
                    &waited,
                ) {
                    Ok(made) => *found = made,
                    Err(e) => failed(i, e),
                },
            );
            // If no file has changed since it was opened, all of them existed at this time.
            for_each(
                waits,
                threads,
                found.iter_mut().enumerate().collect(),
                |(i, found): (usize, &mut Option<_>)| {
                    let still = found
                        .as_ref()
                        .map_or(Ok(true), |(snap, _): &(Snapshot<'_>, T)| snap.is_current());
                    match still {
                        Ok(true) => {}
                        Ok(false) => *found = None,
                        Err(e) => failed(i, e),
                    }
                },
            );
            let errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, e)) = errors.into_iter().min_by_key(|(i, _)| *i) {
                return Err(e);
            }
            match found.iter().zip(all).find(|(f, _)| f.is_none()) {
                Some((_, c)) => waited.wait(c)?,
                None => return Ok(found.into_iter().flatten().map(|(_, t)| t).collect()),
            }
        }
    }

    /// Reads as if there were no journal, which is looked for after each file is open. If there is
    /// one, that is an error.
    fn without_journal<T>(
        c: &'a Container,
        read: impl Fn(&Snapshot<'_>) -> Result<T>,
    ) -> Result<(Snapshot<'a>, T)> {
        let snap = Snapshot {
            container: c,
            hot: None,
            opened: Mutex::new(Vec::new()),
        };
        read(&snap).map(|found| (snap, found))
    }

    /// Returns `None` if a writer interfered.
    fn attempt<T>(
        c: &'a Container,
        read: impl Fn(&Snapshot<'_>) -> Result<T>,
        waited: &WaitTime,
    ) -> Result<Option<(Snapshot<'a>, T)>> {
        if !c.folder.is_store() {
            match Snapshot::without_journal(c, &read) {
                Ok(made) => return Ok(Some(made)),
                Err(e) if e.status == Status::Cancelled => return Err(e),
                Err(_) => {} // may be due to a journal
            }
        }
        let snap = Snapshot {
            container: c,
            hot: load_any(c)?,
            opened: Mutex::new(Vec::new()),
        };
        match read(&snap) {
            Ok(found) => Ok(Some((snap, found))),
            // A file or journal is gone: a writer is active, or the last commit has no such file.
            Err(e)
                if e.status == Status::Busy
                    || (e.status == Status::Missing
                        && snap.hot.is_some()
                        && waited.0 < RENAME_GAP) =>
            {
                Ok(None)
            }
            Err(e) => {
                if snap.is_current()? {
                    Err(e)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Returns the folder of a container, in the state of the last commit, for reading.
    pub fn folder(&self) -> Result<Arc<dyn Folder>> {
        let folder = &self.container.folder;
        let Some(hot) = &self.hot else {
            self.check_journal(&self.container.main)?;
            return Ok(folder.clone());
        };
        // it applies to the files of the folder, not to those of the view
        let is_here = self.container.below.is_empty();
        let sets = self.container.sets.iter().filter(|_| is_here);
        let own = std::iter::once(self.container).chain(sets);
        let mut swapped: Vec<_> = own.map(|of| (of.journal(), None)).collect();
        let mut in_place = BTreeMap::new();
        for e in &hot.entries {
            check_swapped_files(&**folder, hot, e)?;
            match e {
                Entry::Swap {
                    name, to: Some(to), ..
                } => swapped.push((to.clone(), Some(name.clone()))),
                Entry::Swap { name, to: None, .. } => swapped.push((name.clone(), None)),
                Entry::Undo {
                    name, size: None, ..
                } => swapped.push((name.clone(), None)),
                Entry::Undo {
                    name,
                    size: Some(size),
                    ..
                } => {
                    if !in_place.contains_key(name) {
                        in_place.insert(name.clone(), self.before(name, *size)?);
                    }
                }
            }
        }
        swapped.sort_unstable();
        Ok(Arc::new(CommitFolder {
            container: self.container.clone(),
            nonce: hot.nonce,
            swapped,
            in_place,
        }))
    }

    /// Opens a file in the state of the last commit. Returns `Missing` if the commit has no such
    /// file.
    pub fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        self.open_as(name, access, false)
    }

    /// Like [`Snapshot::open`], for a file that a writer may extend between commits.
    pub fn open_growing(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        self.open_as(name, access, true)
    }

    fn open_as(&self, name: &OsStr, access: Access, growing: bool) -> Result<Arc<dyn File>> {
        let folder = &self.container.folder;
        let missing = || {
            fail!(
                Missing,
                "{}: the last commit has no such file",
                folder.show(name)
            )
        };
        for (hot, e) in self
            .hot
            .iter()
            .flat_map(|h| h.entries.iter().map(move |e| (h, e)))
        {
            if e.target() == name {
                check_swapped_files(&**folder, hot, e)?;
            }
            match e {
                Entry::Undo {
                    name: n,
                    size: None,
                    ..
                } if n == name => {
                    if let Some(file) = if_there(folder.open(name, Access::Read))? {
                        check_same_file(&*file, hot, e, 0)?;
                    }
                    return Err(missing());
                }
                Entry::Undo {
                    name: n,
                    size: Some(size),
                    ..
                } if n == name => return self.before(name, *size),
                Entry::Swap {
                    name: n, to: None, ..
                } if n == name => return Err(missing()),
                Entry::Swap {
                    name: new,
                    to: Some(to),
                    ..
                } if to == name => match folder.open(new, access) {
                    Err(e) if e.status == Status::Missing => {}
                    r => return r,
                },
                _ => {}
            }
        }
        let file = folder.open(name, access)?;
        let seen = if growing {
            None
        } else {
            let opened = file.as_opened()?;
            Some((opened.size, opened.stamp))
        };
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Opened {
                name: name.into(),
                file: file.clone(),
                seen,
            });
        // Reads are consistent if no change is in progress now and the length does not change: a
        // later change leaves its journal or has ended.
        self.check_journal(name)?;
        Ok(file)
    }

    /// Returns an error if a change of the container, and thus of this file, has begun or ended.
    fn check_journal(&self, name: &OsStr) -> Result<()> {
        if self.same_journal()? {
            return Ok(());
        }
        let shown = self.container.folder.show(name);
        Err(fail!(Busy, "{shown}: it is being changed"))
    }

    /// Opens a file that is being changed, in its state before the change.
    fn before(&self, name: &OsStr, size: u64) -> Result<Arc<dyn File>> {
        let hot = self
            .hot
            .as_ref()
            .ok_or_else(|| fail!(State, "no journal"))?;
        let file = self.container.folder.open(name, Access::Read)?;
        let (mut all, mut end) = (Vec::new(), RangeEnds::default());
        for e in &hot.entries {
            let Entry::Undo { name: n, saved, .. } = e else {
                continue;
            };
            let from = end.before(n, saved);
            if n == name {
                hot.replay(saved, |_, _| Ok(()))?;
                check_same_file(&*file, hot, e, from)?;
                all.push(saved.clone());
            }
        }
        Ok(Arc::new(FileBefore {
            file,
            journal: hot.file.clone(),
            size,
            saved: all,
        }))
    }

    /// Returns whether the journal is still the same, or still absent.
    pub fn same_journal(&self) -> Result<bool> {
        Ok(journal_nonce(self.container)? == self.hot.as_ref().map(|h| h.nonce))
    }

    /// Returns whether nothing was written since: the same journal (or none), the same files, the
    /// same lengths.
    fn is_current(&self) -> Result<bool> {
        let folder = &self.container.folder;
        folder.begin_check(&|| {
            let mut names = vec![self.container.journal()];
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            names.extend(opened.iter().map(|o| o.name.clone()));
            names
        });
        let unchanged = self.is_unchanged();
        folder.end_check();
        match unchanged {
            Err(e) if e.status == Status::Missing => Ok(false),
            r => r,
        }
    }

    fn is_unchanged(&self) -> Result<bool> {
        if !self.same_journal()? {
            return Ok(false);
        }
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        for o in opened.iter() {
            // An open object is one immutable version. Only two objects of one container may be of
            // different versions.
            if self.container.folder.is_store() && (o.seen.is_some() || opened.len() == 1) {
                continue;
            }
            let folder = &self.container.folder;
            let same = match o.seen {
                Some(seen) => folder.is_unchanged(&o.name, &*o.file, seen)?,
                None => folder.identity(&o.name)? == Some(o.file.identity()),
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
