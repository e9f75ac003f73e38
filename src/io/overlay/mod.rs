//! Overlays: changes of folders that are not made there. Reads return the changed content.
//!
//! - [`DryRun`]: the changes are dropped.
//! - [`publish`]: the changes of a folder become one commit.
//!
//! An overlay opens the real files but never writes to them. Written bytes go to one unnamed
//! scratch file, which bounds memory use. An extent map per file records which ranges were written.
//! Renames, removals and creations are a table of names. Locks are tested, not created.
#![forbid(unsafe_code)]

mod dry_run;
mod extents;
mod publish;

#[cfg(test)]
pub use dry_run::standalone;
pub use dry_run::{DryRun, wrap};
pub use extents::ScratchSpace;
pub use publish::Differences;

use super::lock::Lock;
use super::memory_locks::MemoryLocks;
use super::{A_FOLDER, Access, File, Folder, parent};
use crate::error::{Error, Result, fail};
use extents::{Changed, NEW};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an overlay is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The changes are dropped. Files are opened as for a change, to find out whether they could be
    /// changed, and locks are tested.
    DryRun,
    /// The changes are published in one commit, whose writer holds the lock of the folder.
    Commit {
        /// Whether the real files are written then, and not replaced by a new archive.
        in_place: bool,
    },
}

/// Whether files can be changed.
#[derive(Clone, Default)]
struct State(Arc<AtomicU8>);

impl State {
    const OPEN: u8 = 0;
    const COMMITTING: u8 = 1;
    const CLOSED: u8 = 2;

    /// Returns an error if files cannot be changed now. The caller holds the lock of what it changes:
    /// a commit takes it after it has set the state.
    fn check(&self, shown: impl Fn() -> String) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            State::OPEN => Ok(()),
            State::COMMITTING => Err(fail!(
                State,
                "{}: another thread commits the store; commit this change, and the store, afterwards",
                shown()
            )),
            _ => Err(fail!(
                State,
                "{}: the store was closed, and no commit will have this change; open it again",
                shown()
            )),
        }
    }
}

/// Refuses changes until it is dropped.
pub struct Frozen(State);

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.0.store(State::OPEN, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The overlay of one folder; see the module documentation.
pub struct Overlay {
    /// The real folder. A commit may replace it.
    base: Mutex<Arc<dyn Folder>>,
    space: Arc<ScratchSpace>,
    purpose: Purpose,
    names: Mutex<Names>,
    /// Number of changes of names and content.
    changes: Arc<AtomicU64>,
    /// Of containers that are open in the overlay until a commit.
    locks: MemoryLocks,
    state: State,
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
    /// `None` while the content equals that of the real file.
    changed: Mutex<Option<Changed>>,
    real: Mutex<Real>,
}

/// The real file of a file.
#[derive(Default)]
struct Real {
    /// Its name; `None` for a new file.
    name: Option<OsString>,
    /// The file, if a commit has created or replaced it.
    published: Option<Arc<dyn File>>,
}

impl Overlay {
    /// Creates an overlay of a folder.
    pub fn new(base: Arc<dyn Folder>, space: Arc<ScratchSpace>, purpose: Purpose) -> Overlay {
        Overlay {
            base: Mutex::new(base),
            space,
            purpose,
            names: Mutex::default(),
            changes: Arc::default(),
            locks: MemoryLocks::default(),
            state: State::default(),
        }
    }

    fn base(&self) -> Arc<dyn Folder> {
        lock(&self.base).clone()
    }

    /// Returns how a real file is opened.
    fn access(&self, access: Access) -> Access {
        match self.purpose {
            Purpose::Commit { in_place: false } if access != Access::Map => Access::Read,
            _ => access,
        }
    }

    /// Refuses all changes from here on: no commit will publish them.
    pub fn close(&self) {
        self.state.0.store(State::CLOSED, Ordering::Relaxed);
    }

    /// Refuses changes, which other threads make, while a commit publishes those that were made.
    pub fn freeze(&self) -> Frozen {
        self.state.0.store(State::COMMITTING, Ordering::Relaxed);
        Frozen(self.state.clone())
    }

    fn take_lock(&self, name: &OsStr, is_shared: bool) -> Result<Lock> {
        match self.purpose {
            Purpose::DryRun => self.base().test_lock(name, is_shared),
            Purpose::Commit { .. } => self.locks.take(name, is_shared, &self.show(name)),
        }
    }

    fn missing(&self, name: &OsStr) -> Error {
        // ENOENT has this number on all systems
        Error::os(self.show(name), &std::io::Error::from_raw_os_error(2))
    }

    /// Returns the file of this name, or `None`.
    fn node(&self, name: &OsStr) -> Result<Option<Arc<Node>>> {
        if let Some(known) = lock(&self.names).files.get(name) {
            return Ok(known.clone());
        }
        let Some(identity) = self.base().identity(name)? else {
            return Ok(None);
        };
        Ok(Some(self.register(name, identity)))
    }

    /// Registers a file of the real folder, so that all handles on it share what is written.
    fn register(&self, name: &OsStr, identity: u64) -> Arc<Node> {
        let identity = if identity == 0 {
            self.space.number()
        } else {
            identity
        };
        let new = || {
            Some(Arc::new(Node {
                identity,
                changed: Mutex::default(),
                real: Mutex::new(Real {
                    name: Some(name.to_owned()),
                    published: None,
                }),
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
            space: self.space.clone(),
            changes: self.changes.clone(),
            state: self.state.clone(),
        })
    }

    /// Returns whether a folder of this name exists.
    fn has_folder(&self, name: &OsStr) -> Result<bool> {
        match lock(&self.names).folders.get(name) {
            Some(exists) => Ok(*exists),
            None => {
                let base = self.base();
                // an archive has no entries for folders
                let is_listed = || base.list(name).is_ok_and(|names| !names.is_empty());
                Ok(name.is_empty() || base.exists(name)? || is_listed())
            }
        }
    }

    fn set<const N: usize>(&self, new: [(&OsStr, Option<Arc<Node>>); N]) -> Result<()> {
        let mut names = lock(&self.names);
        // before all: a rename must not be refused half-way
        let last = new.last().map(|(name, _)| *name).unwrap_or_default();
        self.state.check(|| self.show(last))?;
        for (name, node) in new {
            self.changes.fetch_add(1, Ordering::Relaxed);
            names.files.insert(name.to_owned(), node);
        }
        Ok(())
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
                let real = lock(&node.real).name.clone();
                let access = self.access(access);
                let base = real
                    .map(|real| self.base().open(&real, access))
                    .transpose()?;
                Ok(self.handle(name, node, base))
            }
            None => {
                let base = self.base().open(name, self.access(access))?;
                Ok(self.handle(name, self.register(name, base.identity()), Some(base)))
            }
        }
    }

    fn create(&self, name: &OsStr, _like: &OsStr) -> Result<Arc<dyn File>> {
        self.refuse_obstacle(name)?;
        if !self.has_folder(parent(name))? {
            return Err(self.missing(name));
        }
        let node = Arc::new(Node::new(self.space.number()));
        self.set([(name, Some(node.clone()))])?;
        Ok(self.handle(name, node, None))
    }

    fn check_owner(&self, name: &OsStr, of: &OsStr) -> Result<()> {
        self.base().check_owner(name, of)
    }

    fn open_trusted(&self, name: &OsStr, of: &OsStr) -> Result<Arc<dyn File>> {
        let known = lock(&self.names).files.get(name).cloned();
        match known {
            // the real folder verifies the owner
            Some(Some(node)) if node.is_real(name) => {
                let base = self.base().open_trusted(name, of)?;
                Ok(self.handle(name, node, Some(base)))
            }
            Some(_) => self.open(name, Access::Read),
            None => {
                let base = self.base().open_trusted(name, of)?;
                Ok(self.handle(name, self.register(name, base.identity()), Some(base)))
            }
        }
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        let node = self.node(from)?.ok_or_else(|| self.missing(to))?;
        self.refuse_obstacle(to)?;
        self.set([(from, None), (to, Some(node))])
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.node(name)?.ok_or_else(|| self.missing(name))?;
        self.refuse_obstacle(name)?;
        self.set([(name, None)])
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
            None => self.base().identity(name),
        }
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        let names = lock(&self.names);
        if let Some(exists) = names.folders.get(name) {
            return Ok(exists.then_some(A_FOLDER));
        }
        match names.files.get(name) {
            Some(None) => Ok(None),
            Some(Some(node)) if !node.is_real(name) => Ok(None),
            _ => self.base().obstacle(name),
        }
    }

    fn lock(&self, name: &OsStr) -> Result<Lock> {
        self.take_lock(name, false)
    }

    fn lock_shared(&self, name: &OsStr) -> Result<Lock> {
        self.take_lock(name, true)
    }

    fn show(&self, name: &OsStr) -> String {
        self.base().show(name)
    }

    fn is_foreign(&self) -> bool {
        self.base().is_foreign()
    }

    fn is_store(&self) -> bool {
        self.base().is_store()
    }

    fn writable(&self) -> Result<()> {
        match self.purpose {
            Purpose::Commit { in_place: false } => Ok(()),
            _ => self.base().writable(),
        }
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

    fn files(&self) -> Result<Vec<OsString>> {
        let mut files = self.base().files()?;
        let names = lock(&self.names);
        files.retain(|name| !names.files.contains_key(name));
        let here = names.files.iter().filter(|(_, node)| node.is_some());
        files.extend(here.map(|(name, _)| name.clone()));
        Ok(files)
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        let is_new = lock(&self.names).folders.get(name) == Some(&true);
        let mut found = match self.base().list(name) {
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
            changed: Mutex::new(Some(Changed::of((0, 0)))),
            real: Mutex::default(),
        }
    }

    /// Returns whether the content may differ from that of the real file.
    fn is_changed(&self) -> bool {
        lock(&self.changed).is_some()
    }

    /// Returns whether it is the real file of this name.
    fn is_real(&self, name: &OsStr) -> bool {
        lock(&self.real).name.as_deref() == Some(name)
    }
}

/// An open file of an overlay.
struct OverlayFile {
    node: Arc<Node>,
    base: Option<Arc<dyn File>>,
    name: String,
    space: Arc<ScratchSpace>,
    /// Those of the overlay.
    changes: Arc<AtomicU64>,
    state: State,
}

impl OverlayFile {
    /// Queries the real file if it is unchanged, otherwise the changed state.
    fn query<T>(
        &self,
        real: impl FnOnce(&dyn File) -> Result<T>,
        changed_state: impl FnOnce(&Changed) -> Result<T>,
    ) -> Result<T> {
        let changed = lock(&self.node.changed);
        match &*changed {
            Some(changed) => changed_state(changed),
            None => {
                drop(changed);
                real(&*self.real()?)
            }
        }
    }

    /// Returns the real file.
    fn real(&self) -> Result<Arc<dyn File>> {
        let published = lock(&self.node.real).published.clone();
        published
            .or_else(|| self.base.clone())
            .ok_or_else(|| fail!(State, "{}: the file does not exist any more", self.name))
    }

    fn change(&self, f: impl FnOnce(&mut Changed) -> Result<()>) -> Result<()> {
        let mut changed = lock(&self.node.changed);
        self.state.check(|| self.name.clone())?;
        if changed.is_none() {
            let real = self.real()?;
            *changed = Some(Changed::of((real.size()?, real.stamp()?)));
        }
        let Some(changed) = &mut *changed else {
            return Ok(());
        };
        changed.changes += 1;
        self.changes.fetch_add(1, Ordering::Relaxed);
        f(changed)
    }

    /// Returns the real file's time of change, advanced by the number of changes in the overlay.
    fn time_of_change(&self, real: impl Fn(&dyn File) -> Result<u64>) -> Result<u64> {
        let before = self.real().map_or(Ok(0), |base| real(&*base))?;
        self.query(
            |_| Ok(before),
            |changed| Ok(before.wrapping_add(changed.changes)),
        )
    }
}

impl File for OverlayFile {
    fn size(&self) -> Result<u64> {
        self.query(|base| base.size(), |changed| Ok(changed.size))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let changed = lock(&self.node.changed);
        let Some(changed) = &*changed else {
            drop(changed);
            return self.real()?.read_at(at, dst);
        };
        let base = self.real().ok();
        changed.read(at, dst, base.as_deref())
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        if src.is_empty() {
            return Ok(());
        }
        self.change(|changed| changed.write(at, src, &self.space))
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
    use crate::io::journal::{Container, Mode, Session};
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

    /// After any sequence of operations and commits, the real folder is what the overlay shows, and
    /// files that are open in the overlay remain so.
    #[test]
    fn a_published_overlay_is_the_real_folder() {
        let names = ["a", "f/b", "f/c"].map(OsStr::new);
        for seed in 1..100 {
            let mut rng = Rng(seed * 2 + 1);
            let disk = SimDisk::default();
            let container =
                Container::of(&disk.folder(), "set", Arc::new(|_| true), "", Vec::new());
            let options = crate::options::Options::new();
            let session = Session::open(container, "set".into(), Mode::Append, &options).unwrap();
            let space = Arc::new(ScratchSpace::new(Path::new("/tmp")));
            let overlay = Overlay::new(disk.folder(), space, Purpose::Commit { in_place: true });
            let mut open: Vec<(Arc<dyn File>, &OsStr)> = Vec::new();
            for step in 0..60 {
                let (name, at) = (names[rng.below(3)], rng.below(300) as u64);
                let about = format!("seed {seed}, step {step}");
                match rng.below(8) {
                    0 => {
                        open.retain(|(_, of)| *of != name);
                        overlay.make_folder(OsStr::new("f")).unwrap();
                        open.push((overlay.open(name, Access::Create).unwrap(), name));
                    }
                    1 => {
                        open.retain(|(_, of)| *of != name);
                        let _ = overlay.remove(name);
                    }
                    2 => {
                        if let Some((file, _)) = open.get(rng.below(3)) {
                            file.set_size(at).unwrap();
                        }
                    }
                    3 => {
                        let _ = overlay
                            .open(name, Access::Write)
                            .map(|file| open.push((file, name)));
                    }
                    4 => {
                        let found = overlay.differences().unwrap();
                        overlay
                            .publish(&session, found)
                            .unwrap_or_else(|e| panic!("{about}: {e}"));
                        let files = disk.contents();
                        for name in names {
                            let real = files.get(name).cloned();
                            assert_eq!(content(&overlay, name), real, "{about} {name:?}");
                        }
                    }
                    _ => {
                        if let Some((file, _)) = open.get(rng.below(3)) {
                            let bytes = vec![step as u8 | 1; 1 + rng.below(80)];
                            file.write_at(at, &bytes).unwrap();
                            let mut back = vec![0; bytes.len()];
                            file.read_exact_at(at, &mut back).unwrap();
                            assert_eq!(back, bytes, "{about}");
                        }
                    }
                }
            }
        }
    }

    fn content(folder: &dyn Folder, name: &OsStr) -> Option<Vec<u8>> {
        let file = folder.open(name, Access::Read).ok()?;
        let mut bytes = vec![0; file.size().unwrap() as usize];
        file.read_exact_at(0, &mut bytes).unwrap();
        Some(bytes)
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
