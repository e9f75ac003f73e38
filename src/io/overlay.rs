//! Overlays for dry runs: during a dry run, the changes that a thread makes to folders go to a
//! scratch file, and reads return the changed content.
//!
//! Every folder that [`locate`](super::locate) returns during a dry run is an [`Overlay`] of the
//! real one. An overlay opens the real files but never writes to them. Written bytes go to one
//! unnamed scratch file, which bounds memory use. An extent map per file records which ranges were
//! written. Renames, removals and creations are a table of names. Locks are tested, not created.
#![forbid(unsafe_code)]

use super::lock::Lock;
use super::{A_FOLDER, Access, File, Folder, beside, parent};
use crate::error::{Error, Result, fail};
use crate::os;
use crate::slice::SliceExt;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

thread_local!(static DRY_RUN: RefCell<Option<Arc<DryRunState>>> = const { RefCell::new(None) });

/// Bit set in the identity of files that exist in an overlay only.
const NEW: u64 = 1 << 63;

/// The folders and the scratch file of one dry run.
struct DryRunState {
    /// The scratch file is created on the file system of this folder, if possible.
    folder: PathBuf,
    scratch: Mutex<Option<Arc<Scratch>>>,
    folders: Mutex<HashMap<OsString, Arc<dyn Folder>>>,
    numbers: AtomicU64,
}

/// The file that holds the written bytes.
struct Scratch {
    file: fs::File,
    end: AtomicU64,
}

/// A dry run on this thread, until it is dropped. Handles opened during the dry run remain usable.
pub struct DryRun(Option<Arc<DryRunState>>);

impl DryRun {
    /// Begins a dry run of changes to the container at this path.
    pub fn begin(path: &OsStr) -> DryRun {
        let folder = parent(path);
        let folder = if folder.is_empty() {
            Path::new(".")
        } else {
            Path::new(folder)
        };
        DryRun(DRY_RUN.replace(Some(Arc::new(DryRunState::new(folder)))))
    }

    /// Calls a function of the caller, which is not part of the dry run.
    pub fn outside<T>(f: impl FnOnce() -> T) -> T {
        let _back = DryRun(DRY_RUN.replace(None));
        f()
    }
}

impl Drop for DryRun {
    fn drop(&mut self) {
        // Folders refer to their dry run: this breaks the reference cycle.
        if let Some(ended) = DRY_RUN.replace(self.0.take()) {
            let folders = std::mem::take(&mut *lock(&ended.folders));
            drop(folders);
        }
    }
}

/// Returns the overlay of a folder during a dry run of this thread, otherwise the folder itself.
/// Folders of the same `kind` and path share one overlay.
pub fn wrap(kind: &str, folder: Arc<dyn Folder>) -> Arc<dyn Folder> {
    DRY_RUN.with_borrow(|state| match state {
        None => folder,
        Some(state) => {
            let key = beside(kind, OsStr::new(&folder.show(OsStr::new(""))), "");
            let new = || {
                Arc::new(Overlay {
                    base: folder,
                    state: state.clone(),
                    names: Mutex::default(),
                }) as Arc<dyn Folder>
            };
            lock(&state.folders).entry(key).or_insert_with(new).clone()
        }
    })
}

/// Returns an overlay of a folder in a dry run of its own.
#[cfg(test)]
pub fn standalone(base: Arc<dyn Folder>) -> Arc<dyn Folder> {
    Arc::new(Overlay {
        base,
        state: Arc::new(DryRunState::new(Path::new("/tmp"))),
        names: Mutex::default(),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DryRunState {
    fn new(folder: &Path) -> DryRunState {
        DryRunState {
            folder: folder.into(),
            scratch: Mutex::default(),
            folders: Mutex::default(),
            numbers: AtomicU64::new(NEW),
        }
    }

    fn scratch(&self) -> Result<Arc<Scratch>> {
        let mut scratch = lock(&self.scratch);
        if let Some(scratch) = &*scratch {
            return Ok(scratch.clone());
        }
        let file = os::create_unnamed(&self.folder)
            .map_err(|e| Error::os("the scratch file of a dry run", &e))?;
        Ok(scratch
            .insert(Arc::new(Scratch {
                file,
                end: AtomicU64::new(0),
            }))
            .clone())
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

impl Scratch {
    fn failed(&self, e: &std::io::Error) -> Error {
        Error::os("the scratch file of a dry run", e)
    }

    fn write(&self, at: u64, src: &[u8]) -> Result<()> {
        os::write_all_at(&self.file, src, at).map_err(|e| self.failed(&e))
    }

    fn read(&self, mut at: u64, mut dst: &mut [u8]) -> Result<()> {
        while !dst.is_empty() {
            let n = os::read_at(&self.file, dst, at).map_err(|e| self.failed(&e))?;
            if n == 0 {
                return Err(fail!(Io, "the scratch file of a dry run: it was truncated"));
            }
            (at, dst) = (at + n as u64, dst.at_mut(n..)?);
        }
        Ok(())
    }
}

/// The overlay of one folder; see the module documentation.
struct Overlay {
    base: Arc<dyn Folder>,
    state: Arc<DryRunState>,
    names: Mutex<Names>,
}

/// Differences from the real folder.
#[derive(Default)]
struct Names {
    /// Files that were opened, created, renamed or removed; `None` if the name is free.
    files: HashMap<OsString, Option<Arc<Node>>>,
    /// Folders that were created (`true`) or removed (`false`).
    folders: HashMap<OsString, bool>,
}

/// A file, independent of its name.
struct Node {
    identity: u64,
    /// The name in the real folder; `None` for a new file.
    base: Option<OsString>,
    /// `None` while the content equals that of the real file.
    changed: Mutex<Option<Changed>>,
}

/// The state of a changed file.
struct Changed {
    size: u64,
    /// Length of the prefix of the real file that is visible where nothing was overwritten.
    base: u64,
    /// Written ranges, without overlap: offset to length and offset in the scratch file.
    extents: BTreeMap<u64, (u64, u64)>,
    changes: u64,
}

impl Overlay {
    fn missing(&self, name: &OsStr) -> Error {
        // ENOENT has this number on all systems
        Error::os(self.show(name), &std::io::Error::from_raw_os_error(2))
    }

    /// Returns the file of this name, or `None`.
    fn node(&self, name: &OsStr) -> Result<Option<Arc<Node>>> {
        if let Some(known) = lock(&self.names).files.get(name) {
            return Ok(known.clone());
        }
        let Some(identity) = self.base.identity(name)? else {
            return Ok(None);
        };
        Ok(Some(self.register(name, identity)))
    }

    /// Registers a file of the real folder, so that all handles on it share what is written.
    fn register(&self, name: &OsStr, identity: u64) -> Arc<Node> {
        let identity = if identity == 0 {
            self.state.number()
        } else {
            identity
        };
        let new = || {
            Some(Arc::new(Node {
                identity,
                base: Some(name.to_owned()),
                changed: Mutex::default(),
            }))
        };
        let mut names = lock(&self.names);
        names
            .files
            .entry(name.to_owned())
            .or_insert_with(new)
            .clone()
            .unwrap_or_else(|| Arc::new(Node::new(identity)))
    }

    fn handle(&self, name: &OsStr, node: Arc<Node>, base: Option<Arc<dyn File>>) -> Arc<dyn File> {
        Arc::new(OverlayFile {
            node,
            base,
            name: self.show(name),
            state: self.state.clone(),
        })
    }

    /// Returns whether a folder of this name exists.
    fn has_folder(&self, name: &OsStr) -> Result<bool> {
        match lock(&self.names).folders.get(name) {
            Some(exists) => Ok(*exists),
            None => Ok(name.is_empty() || self.base.exists(name)?),
        }
    }

    fn set(&self, name: &OsStr, node: Option<Arc<Node>>) {
        lock(&self.names).files.insert(name.to_owned(), node);
    }
}

impl Folder for Overlay {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        if access == Access::Create {
            return self.create(name, OsStr::new(""));
        }
        let known = lock(&self.names).files.get(name).cloned();
        match known {
            Some(None) => Err(self.missing(name)),
            Some(Some(node)) => {
                let base = node
                    .base
                    .as_ref()
                    .map(|base| self.base.open(base, access))
                    .transpose()?;
                Ok(self.handle(name, node, base))
            }
            None => {
                let base = self.base.open(name, access)?;
                Ok(self.handle(name, self.register(name, base.identity()), Some(base)))
            }
        }
    }

    fn create(&self, name: &OsStr, _like: &OsStr) -> Result<Arc<dyn File>> {
        self.refuse_obstacle(name)?;
        if !self.has_folder(parent(name))? {
            return Err(self.missing(name));
        }
        let node = Arc::new(Node::new(self.state.number()));
        self.set(name, Some(node.clone()));
        Ok(self.handle(name, node, None))
    }

    fn check_owner(&self, name: &OsStr, of: &OsStr) -> Result<()> {
        self.base.check_owner(name, of)
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        let known = lock(&self.names).files.get(name).cloned();
        match known {
            // the real folder verifies the owner
            Some(Some(node)) if node.base.as_deref() == Some(name) => {
                let base = self.base.open_trusted(name, of)?;
                Ok(self.handle(name, node, Some(base)))
            }
            Some(_) => self.open(name, Access::Read),
            None => {
                let base = self.base.open_trusted(name, of)?;
                Ok(self.handle(name, self.register(name, base.identity()), Some(base)))
            }
        }
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        let node = self.node(from)?.ok_or_else(|| self.missing(to))?;
        self.refuse_obstacle(to)?;
        self.set(from, None);
        self.set(to, Some(node));
        Ok(())
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.node(name)?.ok_or_else(|| self.missing(name))?;
        self.refuse_obstacle(name)?;
        self.set(name, None);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn sync_in(&self, _: &OsStr) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        if let Some(exists) = lock(&self.names).folders.get(name) {
            return Ok(exists.then_some(NEW));
        }
        let known = lock(&self.names).files.get(name).cloned();
        match known {
            Some(node) => Ok(node.map(|n| n.identity)),
            None => self.base.identity(name),
        }
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        let names = lock(&self.names);
        if let Some(exists) = names.folders.get(name) {
            return Ok(exists.then_some(A_FOLDER));
        }
        match names.files.get(name) {
            Some(None) => Ok(None),
            Some(Some(node)) if node.base.as_deref() != Some(name) => Ok(None),
            _ => self.base.obstacle(name),
        }
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.base.test_lock(name, false)
    }

    fn lock_shared(&self, name: &OsStr) -> Result<Lock> {
        self.base.test_lock(name, true)
    }

    fn show(&self, name: &OsStr) -> String {
        self.base.show(name)
    }

    fn is_foreign(&self) -> bool {
        self.base.is_foreign()
    }

    fn is_store(&self) -> bool {
        self.base.is_store()
    }

    fn writable(&self) -> Result<()> {
        self.base.writable()
    }

    fn make_folder(&self, name: &OsStr) -> Result<()> {
        if !self.has_folder(name)? {
            lock(&self.names).folders.insert(name.to_owned(), true);
        }
        Ok(())
    }

    fn remove_folder(&self, name: &OsStr) -> Result<()> {
        if self.has_folder(name)? && self.list(name)?.is_empty() {
            lock(&self.names).folders.insert(name.to_owned(), false);
        }
        Ok(())
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        let is_new = lock(&self.names).folders.get(name) == Some(&true);
        let mut found = match self.base.list(name) {
            Err(_) if is_new => Vec::new(),
            found => found?,
        };
        let names = lock(&self.names);
        let files = names
            .files
            .iter()
            .map(|(file, node)| (file, node.is_some()));
        let here = files.chain(
            names
                .folders
                .iter()
                .map(|(folder, exists)| (folder, *exists)),
        );
        let here: HashMap<&OsStr, bool> = here
            .filter(|(path, _)| !path.is_empty() && parent(path) == name)
            .filter_map(|(path, is)| Some((Path::new(path).file_name()?, is)))
            .collect();
        found.retain(|n| !here.contains_key(n.as_os_str()));
        found.extend(
            here.iter()
                .filter(|(_, is)| **is)
                .map(|(n, _)| n.to_os_string()),
        );
        Ok(found)
    }
}

impl Node {
    /// Creates an empty file.
    fn new(identity: u64) -> Node {
        Node {
            identity,
            base: None,
            changed: Mutex::new(Some(Changed {
                size: 0,
                base: 0,
                extents: BTreeMap::new(),
                changes: 0,
            })),
        }
    }
}

/// An open file of an overlay.
struct OverlayFile {
    node: Arc<Node>,
    base: Option<Arc<dyn File>>,
    name: String,
    state: Arc<DryRunState>,
}

impl OverlayFile {
    /// Queries the real file if it is unchanged, otherwise the changed state.
    fn query<T>(
        &self,
        real: impl FnOnce(&dyn File) -> Result<T>,
        changed_state: impl FnOnce(&Changed) -> Result<T>,
    ) -> Result<T> {
        let changed = lock(&self.node.changed);
        match (&*changed, &self.base) {
            (Some(changed), _) => changed_state(changed),
            (None, Some(base)) => {
                drop(changed);
                real(&**base)
            }
            (None, None) => Err(fail!(
                State,
                "{}: the file does not exist any more",
                self.name
            )),
        }
    }

    fn change(&self, f: impl FnOnce(&mut Changed) -> Result<()>) -> Result<()> {
        let mut changed = lock(&self.node.changed);
        if changed.is_none() {
            let size = self.base.as_ref().map_or(Ok(0), |base| base.size())?;
            *changed = Some(Changed {
                size,
                base: size,
                extents: BTreeMap::new(),
                changes: 0,
            });
        }
        let Some(changed) = &mut *changed else {
            return Ok(());
        };
        changed.changes += 1;
        f(changed)
    }

    /// Returns the real file's time of change, advanced by the number of changes in the overlay.
    fn time_of_change(&self, real: impl Fn(&dyn File) -> Result<u64>) -> Result<u64> {
        let before = self.base.as_ref().map_or(Ok(0), |base| real(&**base))?;
        self.query(
            |_| Ok(before),
            |changed| Ok(before.wrapping_add(changed.changes)),
        )
    }
}

impl Changed {
    /// Removes a range from the extents.
    fn remove(&mut self, from: u64, to: u64) {
        let begun: Vec<_> = self
            .extents
            .range(..to)
            .rev()
            .map(|(at, e)| (*at, *e))
            .take_while(|(at, (n, _))| at + n > from)
            .collect();
        for (at, (n, scratch)) in begun {
            self.extents.remove(&at);
            if at < from {
                self.extents.insert(at, (from - at, scratch));
            }
            if at + n > to {
                self.extents.insert(to, (at + n - to, scratch + (to - at)));
            }
        }
    }

    /// Returns the last extent that starts at or before `at`.
    fn last(&self, at: u64) -> Option<(u64, u64, u64)> {
        self.extents
            .range(..=at)
            .next_back()
            .map(|(from, (n, scratch))| (*from, *n, *scratch))
    }

    fn write(&mut self, at: u64, src: &[u8], scratch: &Scratch) -> Result<()> {
        let n = src.len() as u64;
        let Some(end) = at.checked_add(n).filter(|end| *end <= i64::MAX as u64) else {
            return Err(fail!(
                Limit,
                "{n} bytes at {at} exceed the maximum length of a file"
            ));
        };
        match self.last(at) {
            Some((from, len, to)) if end <= from + len => scratch.write(to + (at - from), src)?,
            _ => {
                let to = scratch.end.fetch_add(n, Ordering::Relaxed);
                scratch.write(to, src)?;
                self.remove(at, end);
                match self.last(at) {
                    Some((from, len, before)) if from + len == at && before + len == to => {
                        _ = self.extents.insert(from, (len + n, before))
                    }
                    _ => _ = self.extents.insert(at, (n, to)),
                }
            }
        }
        self.size = self.size.max(end);
        Ok(())
    }

    fn read(
        &self,
        at: u64,
        dst: &mut [u8],
        base: Option<&dyn File>,
        scratch: impl FnOnce() -> Result<Arc<Scratch>>,
    ) -> Result<usize> {
        let end = self.size.min(at.saturating_add(dst.len() as u64));
        let n = end.saturating_sub(at) as usize;
        let dst = dst.at_mut(..n)?;
        dst.fill(0);
        let visible = self.base.min(end).saturating_sub(at) as usize;
        if let (Some(base), Some(part)) =
            (base, dst.get_mut(..visible).filter(|part| !part.is_empty()))
        {
            base.read_exact_at(at, part)?;
        }
        let over: Vec<_> = self
            .extents
            .range(..end)
            .rev()
            .take_while(|(from, (n, _))| *from + n > at)
            .collect();
        if over.is_empty() {
            return Ok(n);
        }
        let scratch = scratch()?;
        for (from, (n, to)) in over {
            let (begin, stop) = (at.max(*from), end.min(from + n));
            let part = dst.at_mut((begin - at) as usize..(stop - at) as usize)?;
            scratch.read(to + (begin - from), part)?;
        }
        Ok(n)
    }
}

impl File for OverlayFile {
    fn size(&self) -> Result<u64> {
        self.query(|base| base.size(), |changed| Ok(changed.size))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let changed = lock(&self.node.changed);
        match (&*changed, &self.base) {
            (Some(changed), base) => {
                changed.read(at, dst, base.as_deref(), || self.state.scratch())
            }
            (None, Some(base)) => {
                drop(changed);
                base.read_at(at, dst)
            }
            (None, None) => Err(fail!(
                State,
                "{}: the file does not exist any more",
                self.name
            )),
        }
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        let scratch = self.state.scratch()?;
        if src.is_empty() {
            Ok(())
        } else {
            self.change(|changed| changed.write(at, src, &scratch))
        }
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.change(|changed| {
            changed.remove(size, u64::MAX);
            (changed.base, changed.size) = (changed.base.min(size), size);
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        self.node.identity
    }

    fn stamp(&self) -> Result<u64> {
        self.time_of_change(|base| base.stamp())
    }

    fn modified(&self) -> Result<u64> {
        self.time_of_change(|base| base.modified())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::{Rng, SimDisk};

    /// After any sequence of operations, an overlay reads like a folder to which they were applied,
    /// and the real folder is unchanged.
    #[test]
    fn an_overlay_reads_as_the_changed_folder_would() {
        let names = ["a", "b", "c"].map(OsStr::new);
        for seed in 1..200 {
            let mut rng = Rng(seed * 2 + 1);
            let disk = SimDisk::default();
            for name in &names[..2] {
                let bytes: Vec<u8> = (0..rng.below(300)).map(|_| rng.draw() as u8 | 1).collect();
                disk.folder()
                    .open(name, Access::Create)
                    .unwrap()
                    .write_at(0, &bytes)
                    .unwrap();
            }
            let before = (disk.ops(), disk.contents());
            let (twin, over) = (disk.copy().folder(), standalone(disk.folder()));
            for step in 0..60 {
                let (name, to) = (names[rng.below(3)], names[rng.below(3)]);
                let (what, at, n, byte) = (
                    rng.below(6),
                    rng.below(400) as u64,
                    rng.below(200),
                    rng.draw() as u8,
                );
                let act = |folder: &Arc<dyn Folder>| match what {
                    0 => folder.open(name, Access::Create).map(drop),
                    1 if name != to => folder.rename(name, to),
                    2 if step % 4 == 0 => folder.remove(name),
                    3 => folder.open(name, Access::Write)?.set_size(at),
                    _ => folder
                        .open(name, Access::Write)?
                        .write_at(at, &vec![byte; n.max(1)]),
                };
                let status = |r: Result<()>| r.err().map(|e| e.status);
                assert_eq!(
                    status(act(&over)),
                    status(act(&twin)),
                    "seed {seed}, step {step}"
                );
                for name in names {
                    let read = |folder: &Arc<dyn Folder>| {
                        let file = folder.open(name, Access::Read).map_err(|e| e.status)?;
                        let mut bytes = vec![7; rng_span(at, n)];
                        let got = file.read_at(at / 2, &mut bytes).unwrap();
                        bytes.truncate(got);
                        Ok::<_, crate::error::Status>((
                            file.size().unwrap(),
                            bytes,
                            file.identity() == folder.identity(name).unwrap().unwrap(),
                        ))
                    };
                    assert_eq!(read(&over), read(&twin), "seed {seed}, step {step}");
                }
                let list = |folder: &Arc<dyn Folder>| {
                    let mut all = folder.list(OsStr::new("")).unwrap();
                    all.sort();
                    all
                };
                assert_eq!(list(&over), list(&twin), "seed {seed}, step {step}");
            }
            assert_eq!((disk.ops(), disk.contents()), before);
        }
    }

    fn rng_span(at: u64, n: usize) -> usize {
        (at as usize / 3 + n) % 350
    }

    /// Folders are created and removed in the overlay only.
    #[test]
    fn folders_of_an_overlay() {
        let disk = SimDisk::default();
        let over = standalone(disk.folder());
        let [folder, file] = ["f", "f/x"].map(OsStr::new);
        assert!(over.open(file, Access::Create).is_err());
        over.make_folder(folder).unwrap();
        over.open(file, Access::Create).unwrap();
        assert_eq!(
            (
                over.list(folder).unwrap(),
                over.list(OsStr::new("")).unwrap()
            ),
            (vec!["x".into()], vec!["f".into()])
        );
        assert!(over.obstacle(folder).unwrap() == Some(A_FOLDER) && over.exists(file).unwrap());
        over.remove_folder(folder).unwrap();
        over.remove(file).unwrap();
        assert!(over.exists(folder).unwrap());
        over.remove_folder(folder).unwrap();
        assert!(!over.exists(folder).unwrap() && disk.contents().is_empty());
    }
}
