//! Makes the changes of an overlay one commit of the folder.
//!
//! If files only change or are new, they are changed in place, under an undo journal of the
//! container: a commit takes as long as what was written. If a file is removed or replaced,
//! complete new files are swapped in. What a container has not committed in the overlay is not part
//! of the commit.
#![forbid(unsafe_code)]

use super::extents::Changed;
use super::{Node, Overlay, Real, lock};
use crate::alloc;
use crate::error::Result;
use crate::io::journal::{
    Change, MAX_RANGES, NEW, PART, SAMPLE_BYTES, SUFFIX, Sample, Session, already_exists,
    changed_by_others,
};
use crate::io::{self, Access, File, Folder, beside, is_own_file, parent};
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// Maximum number of files that are open while they are changed in place.
const MAX_OPEN: usize = 200;
/// Maximum number of samples of one file.
const MAX_SAMPLES: usize = 8;

/// What differs from the real folder, in the order of the names.
#[derive(Default)]
pub struct Differences {
    /// Number of changes of the overlay when they were determined.
    pub changes: u64,
    /// Files whose content differs in places.
    changed: Vec<(OsString, Arc<Node>)>,
    /// Files under a name that was free.
    new: Vec<(OsString, Arc<Node>)>,
    /// Files under the name of another one.
    replaced: Vec<(OsString, Arc<Node>)>,
    removed: Vec<OsString>,
}

impl Differences {
    /// Returns the names of the files that are new, replace others, or were removed.
    pub fn names(&self) -> Vec<OsString> {
        let files = self.new.iter().chain(&self.replaced);
        let names = files.map(|(name, _)| name);
        names.chain(&self.removed).cloned().collect()
    }

    fn is_empty(&self) -> bool {
        self.changed.is_empty()
            && self.new.is_empty()
            && self.replaced.is_empty()
            && self.removed.is_empty()
    }

    /// Returns whether no name loses its file, and the journal has room for the ranges.
    fn is_in_place(&self) -> bool {
        let few = |(_, node): &(_, Arc<Node>)| {
            let changed = lock(&node.changed);
            changed
                .as_ref()
                .is_none_or(|changed| changed.overwritten().len() <= MAX_RANGES)
        };
        self.replaced.is_empty()
            && self.removed.is_empty()
            && self.changed.len() <= MAX_OPEN
            && self.changed.iter().all(few)
    }
}

/// A file that is changed in place.
struct Rewritten<'a> {
    name: &'a OsStr,
    node: &'a Node,
    file: Arc<dyn File>,
}

impl Overlay {
    /// Returns the number of changes of names and content so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns whether a file belongs to a container that has not committed it here.
    pub fn is_uncommitted(&self, name: &OsStr) -> Result<bool> {
        Ok(is_temporary(name) && !self.base().exists(name)?)
    }

    /// Returns whether the content of a file differs.
    pub fn is_changed(&self, name: &OsStr) -> bool {
        let names = lock(&self.names);
        let node = names.files.get(name).and_then(Option::as_ref);
        node.is_some_and(|node| node.is_changed())
    }

    /// Returns the journal of a container whose commit in the overlay failed half-way.
    pub fn unfinished(&self) -> Result<Option<OsString>> {
        let names = lock(&self.names);
        let mut files = names.files.iter().filter(|(_, node)| node.is_some());
        let journal = files.find(|(name, _)| name.as_bytes().ends_with(SUFFIX.as_bytes()));
        Ok(journal.map(|(name, _)| name.clone()))
    }

    /// Commits these changes of files to the real folder, which is that of the session. After a
    /// failure the changes are still there, unless the session is broken. Open files remain usable.
    pub fn publish(&self, session: &Session, found: Differences) -> Result<()> {
        session.check_commit()?;
        if !found.is_empty() {
            let folders = self.make_real_folders(&found)?;
            let is_in_place = found.is_in_place();
            let done = match is_in_place {
                true => self.change_in_place(session, &found),
                false => self.swap(session, &found),
            };
            done.inspect_err(|_| {
                for folder in folders.iter().rev() {
                    let _ = self.base().remove_folder(folder);
                }
            })?;
            self.finish(&found, is_in_place);
        }
        self.remove_real_folders(&found.removed);
        Ok(())
    }

    /// Continues over another folder, which has these changes. The files that it has are those of
    /// this overlay; others remain changes.
    pub fn rebase(&self, base: Arc<dyn Folder>, mut found: Differences) {
        for files in [&mut found.changed, &mut found.new, &mut found.replaced] {
            files.retain(|(name, _)| base.exists(name).unwrap_or(false));
        }
        *lock(&self.base) = base;
        self.finish(&found, false);
        let mut names = lock(&self.names);
        names.folders.retain(|_, exists| *exists);
    }

    /// Returns what differs from the real folder.
    pub fn differences(&self) -> Result<Differences> {
        let mut found = Differences {
            changes: self.changes(),
            ..Differences::default()
        };
        let mut files: Vec<_> = lock(&self.names)
            .files
            .iter()
            .filter(|(name, _)| !is_temporary(name))
            .map(|(name, node)| (name.clone(), node.clone()))
            .collect();
        files.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (name, node) in files {
            match node {
                Some(node) if node.is_real(&name) && node.is_changed() => {
                    found.changed.push((name, node));
                }
                Some(node) if node.is_real(&name) => {}
                Some(node) if self.base().exists(&name)? => found.replaced.push((name, node)),
                Some(node) => found.new.push((name, node)),
                None if self.base().exists(&name)? => found.removed.push(name),
                None => {}
            }
        }
        Ok(found)
    }

    /// Creates the folders of new files. Returns those that were missing.
    fn make_real_folders(&self, found: &Differences) -> Result<Vec<OsString>> {
        let base = self.base();
        let mut made = Vec::new();
        for folder in folders_of(found.new.iter().map(|(name, _)| name)) {
            if !folder.is_empty() && !base.exists(&folder)? {
                base.make_folder(&folder)?;
                made.push(folder);
            }
        }
        Ok(made)
    }

    // ---- in place

    fn change_in_place(&self, session: &Session, found: &Differences) -> Result<()> {
        let base = self.base();
        let open = |(name, node): &'_ (OsString, Arc<Node>)| -> Result<Arc<dyn File>> {
            let file = base.open(name, Access::Write)?;
            let changed = lock(&node.changed);
            let seen = changed.as_ref().map_or((0, 0), |changed| changed.found);
            match base.is_unchanged(name, &*file, seen)? {
                true => Ok(file),
                false => Err(changed_by_others(&base.show(name))),
            }
        };
        let mut rewritten = Vec::new();
        for both in &found.changed {
            rewritten.push(Rewritten {
                name: &both.0,
                node: &both.1,
                file: open(both)?,
            });
        }
        let parts = self.write_new(session, found.new.iter(), PART)?;
        let done = self.apply(session, &rewritten, &parts);
        if done.is_err() {
            for (_, part) in &parts {
                let _ = base.remove_if_there(part);
            }
            // the rollback wrote the old bytes
            for file in rewritten.iter().filter(|_| !session.is_broken()) {
                if let (Some(changed), Ok(stamp)) =
                    (&mut *lock(&file.node.changed), file.file.stamp())
                {
                    changed.found.1 = stamp;
                }
            }
        }
        done
    }

    /// Changes files and gives new ones their names.
    fn apply(
        &self,
        session: &Session,
        rewritten: &[Rewritten],
        parts: &[(OsString, OsString)],
    ) -> Result<()> {
        let base = self.base();
        for (name, _) in parts {
            if base.exists(name)? {
                return Err(already_exists(&base.show(name)));
            }
        }
        let mut changes = Vec::new();
        for file in rewritten {
            changes.push(self.change(file)?);
        }
        for (name, part) in parts {
            let size = base.open(part, Access::Read)?.size()?;
            changes.push(Change {
                name: name.clone(),
                file: None,
                overwritten: Vec::new(),
                lengths: 0..=size,
                samples: vec![self.sample(name, 0)?],
            });
        }
        let undo = session.begin(&changes)?;
        drop(changes);
        let write = || {
            for file in rewritten {
                self.rewrite(file)?;
                session.sync(&*file.file)?;
            }
            for (name, part) in parts {
                base.rename(part, name)?;
            }
            session.sync_names(parts.iter().map(|(name, _)| name.as_os_str()))?;
            session.sync_created_folder()
        };
        session.finish(undo, write())
    }

    /// Returns what [`Overlay::rewrite`] changes.
    fn change<'a>(&self, of: &'a Rewritten) -> Result<Change<'a>> {
        let changed = lock(&of.node.changed);
        let (overwritten, had, size) = match &*changed {
            Some(changed) => (changed.overwritten(), changed.found.0, changed.size),
            None => (Vec::new(), 0, 0),
        };
        let starts = changed.iter().flat_map(|changed| changed.extents.keys());
        let starts: Vec<u64> = starts.copied().take(MAX_SAMPLES).collect();
        drop(changed);
        let samples = starts.into_iter().map(|at| self.sample(of.name, at));
        Ok(Change {
            name: of.name.to_owned(),
            file: Some(&*of.file),
            overwritten,
            lengths: size.min(had)..=size.max(had),
            samples: samples.collect::<Result<_>>()?,
        })
    }

    /// Returns the new bytes of a file from an offset on.
    fn sample(&self, name: &OsStr, at: u64) -> Result<Sample> {
        let mut bytes = vec![0; SAMPLE_BYTES];
        let n = self.open(name, Access::Read)?.read_at(at, &mut bytes)?;
        bytes.truncate(n);
        Ok(Sample { at, bytes })
    }

    /// Writes what has changed, from the end on: the first bytes of a frame make the others
    /// visible.
    fn rewrite(&self, of: &Rewritten) -> Result<()> {
        let changed = lock(&of.node.changed);
        let Some(changed) = &*changed else {
            return Ok(());
        };
        if changed.base < changed.found.0 {
            of.file.set_size(changed.base)?;
        }
        of.file.set_size(changed.size)?;
        let mut piece = alloc::zeroed(PIECE)?;
        for (at, (n, from)) in changed.extents.iter().rev() {
            let mut done = 0;
            while done < *n {
                let part = piece.at_mut(..(n - done).min(PIECE as u64) as usize)?;
                changed.read_written(from + done, part)?;
                of.file.write_at(at + done, part)?;
                done += part.len() as u64;
            }
        }
        Ok(())
    }

    // ---- complete files

    /// Writes complete files under temporary names. Returns both names of each.
    fn write_new<'a>(
        &self,
        session: &Session,
        files: impl Iterator<Item = &'a (OsString, Arc<Node>)>,
        end: &str,
    ) -> Result<Vec<(OsString, OsString)>> {
        let base = self.base();
        let mut written = Vec::new();
        let write = || {
            for (name, _) in files {
                base.refuse_obstacle(name)?;
                let temporary = beside("", name, end);
                written.push((name.clone(), temporary.clone()));
                let to = match base.exists(name)? {
                    true => base.create(&temporary, name)?,
                    false => session.container().create(&temporary)?,
                };
                let from = self.open(name, Access::Read)?;
                io::copy(&*from, 0, &*to, 0, from.size()?)?;
                session.sync(&*to)?;
            }
            Ok(())
        };
        if let Err(e) = write() {
            for (_, temporary) in &written {
                let _ = base.remove_if_there(temporary);
            }
            return Err(e);
        }
        Ok(written)
    }

    fn swap(&self, session: &Session, found: &Differences) -> Result<()> {
        let files = found.changed.iter().chain(&found.new);
        let files = files.chain(&found.replaced);
        let written = self.write_new(session, files, NEW)?;
        let names: Vec<OsString> = written.iter().map(|(name, _)| name.clone()).collect();
        let swap = || {
            session.sync_names(names.iter().map(OsString::as_os_str))?;
            session.sync_created_folder()?;
            session.swap(&names, &found.removed)
        };
        let swapped = swap();
        if swapped.is_err() && !session.is_broken() {
            for (_, temporary) in &written {
                let _ = self.base().remove_if_there(temporary);
            }
        }
        swapped
    }

    // ---- after the commit

    /// Continues with the files as they are now in the real folder: those that changed are the same
    /// if `is_in_place`.
    fn finish(&self, found: &Differences, is_in_place: bool) {
        let base = self.base();
        let all = found.changed.iter().map(|both| (both, is_in_place));
        let others = found.new.iter().chain(&found.replaced);
        let mut names = lock(&self.names);
        for ((name, node), is_same) in all.chain(others.map(|both| (both, false))) {
            // beside the list of names and that of the differences
            let has_handles = Arc::strong_count(node) > 2;
            if !has_handles {
                names.files.remove(name);
                continue;
            }
            if !is_same {
                // a handle reports that the file is missing
                let access = self.access(Access::Write);
                let published = base.open(name, access).ok();
                let mut changed = lock(&node.changed);
                *changed = match (changed.take(), &published) {
                    (Some(all), Some(file)) => all.after(&**file),
                    _ => None,
                };
                *lock(&node.real) = Real {
                    name: Some(name.clone()),
                    published,
                };
                continue;
            }
            *lock(&node.changed) = None;
        }
        names.files.retain(|_, node| node.is_some());
        if !names.files.values().flatten().any(|node| node.is_changed()) {
            self.space.clear();
        }
    }

    /// Removes the folders that were removed here, and those of removed files, if they are empty.
    fn remove_real_folders(&self, removed: &[OsString]) {
        let base = self.base();
        let is_real = |name: &OsString| base.exists(name).unwrap_or(false);
        let mut folders = folders_of(removed.iter());
        lock(&self.names).folders.retain(|name, exists| {
            if !*exists {
                folders.insert(name.clone());
            }
            // those of containers without a commit exist here only
            *exists && !is_real(name)
        });
        for folder in folders.into_iter().rev().filter(|name| !name.is_empty()) {
            let _ = base.remove_folder(&folder);
        }
    }
}

/// Returns whether a file is part of a container that is open for writing, and not of its last
/// commit.
fn is_temporary(name: &OsStr) -> bool {
    is_own_file(Path::new(name).file_name().unwrap_or_default())
}

/// Returns the folders above files, from the top.
fn folders_of<'a>(files: impl Iterator<Item = &'a OsString>) -> BTreeSet<OsString> {
    let above = files.flat_map(|name| Path::new(parent(name)).ancestors());
    above.map(|folder| folder.as_os_str().to_owned()).collect()
}

impl Changed {
    /// Returns the ranges of the real file that change, ascending and without overlap.
    fn overwritten(&self) -> Vec<Range<u64>> {
        let (had, mut ranges) = (self.found.0, Vec::<Range<u64>>::new());
        let written = self.extents.iter().map(|(at, (n, _))| *at..*at + *n);
        // what was cut off
        let mut written: Vec<Range<u64>> = written.chain([self.base..had]).collect();
        written.sort_unstable_by_key(|range| range.start);
        for range in written {
            let range = range.start..range.end.min(had);
            match ranges.last_mut() {
                _ if range.is_empty() => {}
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range),
            }
        }
        ranges
    }
}
