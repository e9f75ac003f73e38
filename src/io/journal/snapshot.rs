//! Readers: the last commit of a container, at any moment.
#![forbid(unsafe_code)]

use super::Container;
use super::entries::Entry;
use super::recover::{Hot, load_any, number};
use super::views::{Before, Swapping};
use super::witness::{Ends, same_file, swaps_these};
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, Folder};
use crate::parallel;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longer than a file is without its name while it is swapped in.
const MISSED: Duration = Duration::from_millis(10);

/// The last commit of a container, as a reader may see it.
pub struct Snapshot<'a> {
    container: &'a Container,
    hot: Option<Hot>,
    opened: Mutex<Vec<Opened>>,
}

/// A file that a snapshot has opened.
struct Opened {
    name: OsString,
    file: Arc<dyn File>,
    /// Length and stamp; none of a file that may grow while it is open.
    seen: Option<(u64, u64)>,
}

/// How long a reader has waited for writers.
#[derive(Default)]
struct Patience(Duration);

impl Patience {
    fn wait(&mut self, c: &Container) -> Result<()> {
        if self.0.as_secs() >= 5 {
            return Err(fail!(
                Busy,
                "{}: it changed each time it was being opened, for 5 seconds",
                c.folder.show(&c.main)
            ));
        }
        let pause = Duration::from_millis(1);
        self.0 += pause;
        std::thread::sleep(pause);
        Ok(())
    }
}

fn several<T: Send>(waits: bool, threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    if waits {
        parallel::for_each_that_waits(threads, items, f)
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
    /// Opens a container's files by `read`, which may be called again where a writer came in
    /// between.
    pub fn read<T>(c: &Container, read: impl Fn(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        let mut patience = Patience::default();
        loop {
            if let Some((snap, found)) = Snapshot::attempt(c, &read, &patience)?
                && snap.is_still()?
            {
                return Ok(found);
            }
            patience.wait(c)?;
        }
    }

    /// As [`Snapshot::read`], of several containers, as they are at one moment: by so many threads,
    /// or requests at once.
    pub fn read_all<T: Send>(
        all: &[Container],
        threads: usize,
        read: impl Fn(usize, &Snapshot<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let mut found: Vec<Option<(Snapshot<'_>, T)>> = all.iter().map(|_| None).collect();
        let waits = all.iter().any(|c| c.folder.is_store());
        let mut patience = Patience::default();
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
            several(
                waits,
                threads,
                missing,
                |(i, (found, c)): (usize, (&mut Option<_>, &'_ Container))| match Snapshot::attempt(
                    c,
                    |s| read(i, s),
                    &patience,
                ) {
                    Ok(made) => *found = made,
                    Err(e) => failed(i, e),
                },
            );
            // what was opened by now has all been there now, if none of it has changed from here on
            several(
                waits,
                threads,
                found.iter_mut().enumerate().collect(),
                |(i, found): (usize, &mut Option<_>)| {
                    let still = found
                        .as_ref()
                        .map_or(Ok(true), |(snap, _): &(Snapshot<'_>, T)| snap.is_still());
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
                Some((_, c)) => patience.wait(c)?,
                None => return Ok(found.into_iter().flatten().map(|(_, t)| t).collect()),
            }
        }
    }

    /// None where a writer came in between.
    fn attempt<T>(
        c: &'a Container,
        read: impl Fn(&Snapshot<'_>) -> Result<T>,
        patience: &Patience,
    ) -> Result<Option<(Snapshot<'a>, T)>> {
        let snap = Snapshot {
            container: c,
            hot: load_any(c)?,
            opened: Mutex::new(Vec::new()),
        };
        match read(&snap) {
            Ok(found) => Ok(Some((snap, found))),
            // a file that was there and is gone, or a journal: somebody writes, or there was none
            // at the last commit
            Err(e)
                if e.status == Status::Busy
                    || (e.status == Status::Missing
                        && snap.hot.is_some()
                        && patience.0 < MISSED) =>
            {
                Ok(None)
            }
            Err(e) => {
                if snap.is_still()? {
                    Err(e)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// The files of a container that is a folder, as the last commit left them, to be read.
    pub fn folder(&self) -> Result<Arc<dyn Folder>> {
        let folder = &self.container.folder;
        let Some(hot) = &self.hot else {
            return Ok(folder.clone());
        };
        let mut swapped = Vec::new();
        for e in &hot.entries {
            swaps_these(&**folder, hot, e)?;
            match e {
                Entry::Swap {
                    name, to: Some(to), ..
                } => swapped.push((to.clone(), Some(name.clone()))),
                Entry::Swap { name, to: None, .. } => swapped.push((name.clone(), None)),
                Entry::Undo { .. } => {
                    return Err(fail!(
                        Format,
                        "{}: the files of a folder are not changed in place",
                        hot.file.name()
                    ));
                }
            }
        }
        swapped.sort_unstable();
        Ok(Arc::new(Swapping {
            folder: folder.clone(),
            swapped,
        }))
    }

    /// Opens one file of the container as the last commit left it; `Missing` where it had none.
    pub fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        self.open_as(name, access, false)
    }

    /// As [`Snapshot::open`], a file that a writer may let grow outside of commits.
    pub fn open_growing(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        self.open_as(name, access, true)
    }

    fn open_as(&self, name: &OsStr, access: Access, growing: bool) -> Result<Arc<dyn File>> {
        let folder = &self.container.folder;
        let missing = || {
            fail!(
                Missing,
                "{}: there is no such file in the last commit",
                folder.show(name)
            )
        };
        for (hot, e) in self
            .hot
            .iter()
            .flat_map(|h| h.entries.iter().map(move |e| (h, e)))
        {
            if e.target() == name {
                swaps_these(&**folder, hot, e)?;
            }
            match e {
                Entry::Undo {
                    name: n,
                    size: None,
                    ..
                } if n == name => {
                    if let Some(file) = if_there(folder.open(name, Access::Read))? {
                        same_file(&*file, hot, e, 0)?;
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
            Some((file.size()?, file.stamp()?))
        };
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Opened {
                name: name.into(),
                file: file.clone(),
                seen,
            });
        // what is read from here on is whole if no change was under way now and the length stays: a
        // change that came in between has left its journal, or is over
        if self.same_journal()? {
            Ok(file)
        } else {
            Err(fail!(Busy, "{}: it is being changed", folder.show(name)))
        }
    }

    /// A file that is being changed, as it was.
    fn before(&self, name: &OsStr, size: u64) -> Result<Arc<dyn File>> {
        let hot = self
            .hot
            .as_ref()
            .ok_or_else(|| fail!(State, "no journal"))?;
        let file = self.container.folder.open(name, Access::Read)?;
        let (mut all, mut end) = (Vec::new(), Ends::default());
        for e in &hot.entries {
            let Entry::Undo { name: n, saved, .. } = e else {
                continue;
            };
            let from = end.before(n, saved);
            if n == name {
                hot.replay(saved, |_, _| Ok(()))?;
                same_file(&*file, hot, e, from)?;
                all.push(saved.clone());
            }
        }
        Ok(Arc::new(Before {
            file,
            journal: hot.file.clone(),
            size,
            saved: all,
        }))
    }

    /// Is there still the same journal, or still none?
    pub fn same_journal(&self) -> Result<bool> {
        Ok(number(self.container)? == self.hot.as_ref().map(|h| h.nonce))
    }

    /// Has nobody written since: the same journal (or none), the same files, of the same lengths?
    fn is_still(&self) -> Result<bool> {
        match self.unchanged() {
            Err(e) if e.status == Status::Missing => Ok(false),
            r => r,
        }
    }

    fn unchanged(&self) -> Result<bool> {
        if !self.same_journal()? {
            return Ok(false);
        }
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        for o in opened.iter() {
            // an object is one version of what it was opened as; only two that belong together may
            // be of different ones
            if self.container.folder.is_store() && (o.seen.is_some() || opened.len() == 1) {
                continue;
            }
            let folder = &self.container.folder;
            let same = match o.seen {
                Some(seen) => folder.has_still(&o.name, &*o.file, seen)?,
                None => folder.identity(&o.name)? == Some(o.file.identity()),
            };
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
