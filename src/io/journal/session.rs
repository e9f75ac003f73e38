//! The session of a writer, from taking the lock until the handle is closed: which process may
//! write, whether a failed commit made the handle unusable, and the steps that all commits share.
//!
//! A commit of any format calls these methods in order:
//!
//! 1. [`Session::check`] before each change, and [`Session::check_commit`] before the commit.
//! 2. [`Session::refuse_existing`] before the first commit of a new container,
//!    [`Session::check_unchanged`] before all others.
//! 3. [`Session::sync`] for each file that was written.
//! 4. [`Session::begin`] and [`Session::finish`] around a change in place, or [`Session::swap`] or
//!    [`Session::swap_in`] to replace files.
//!
//! A session is broken if the state of the files is unknown after a failure. It refuses all further
//! changes. The next session recovers the container.
#![forbid(unsafe_code)]

use super::change::{Change, SwapOutcome, Undo, lock_sets, recover, recover_and_clean, swap};
use super::{Container, parent};
use crate::error::{Error, Result, fail};
use crate::io::lock::Lock;
use crate::io::{File, Folder};
use crate::options::{Opt, Options};
use crate::os;
use crate::progress;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// How a writer treats an existing container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The container must not exist.
    New,
    /// The first commit replaces an existing container.
    Replace,
    /// The writer changes an existing container.
    Append,
}

/// A container that is open for writing.
pub struct Session {
    container: Container,
    /// The name for messages.
    shown: String,
    mode: Mode,
    durable: bool,
    /// The process that opened the session. A forked child must neither write nor clean up.
    owner: u32,
    committed: AtomicBool,
    broken: AtomicBool,
    /// The parent of the container's folder, if that folder was created for this session.
    above: OnceLock<Arc<dyn Folder>>,
    locks: Vec<Lock>,
}

impl Session {
    /// Takes the locks and recovers the container. Must be called before any other access to the
    /// container. `shown` is its name for messages.
    pub fn open(
        container: Container,
        shown: String,
        mode: Mode,
        options: &Options,
    ) -> Result<Session> {
        container.folder.writable()?;
        let requested = options.get(Opt::Lock, 1) == 1;
        let durable = options.get(Opt::Durability, 1) == 1;
        let mut locks = lock_sets(&container, requested, durable)?;
        locks.push(container.lock(requested)?);
        recover_and_clean(&container, durable)?;
        Ok(Session {
            container,
            shown,
            mode,
            durable,
            owner: os::process(),
            committed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            above: OnceLock::new(),
            locks,
        })
    }

    /// Returns the files that are committed together.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// Returns how the writer treats an existing container.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns whether commits are durable.
    pub fn is_durable(&self) -> bool {
        self.durable
    }

    /// Returns whether this is the process that opened the session.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.owner == os::process()
    }

    /// Returns whether the state of the files is unknown after a failure.
    #[inline]
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Makes the session refuse all further changes.
    pub fn mark_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Records that the folder of the container was created in `above` for this session. It is
    /// removed with the session if nothing is committed and the folder is empty.
    pub fn created_in(&self, above: Arc<dyn Folder>) {
        let _ = self.above.set(above);
    }

    // ---- checks

    /// Returns an error if the handle must not be used for changes.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_own() && !self.is_broken() {
            return Ok(());
        }
        Err(self.refusal())
    }

    /// Returns why the handle must not be used for changes.
    #[cold]
    fn refusal(&self) -> Error {
        if self.is_own() {
            return fail!(
                State,
                "{}: a commit failed half-way; open it again, earlier commits are intact",
                self.shown
            );
        }
        fail!(
            State,
            "{}: this handle belongs to the process that opened it for writing",
            self.shown
        )
    }

    /// Like [`Session::check`]; also returns an error if another writer may hold the lock, or if
    /// the caller stops the commit.
    pub fn check_commit(&self) -> Result<()> {
        self.check()?;
        progress::poll()?;
        self.locks.iter().try_for_each(Lock::still_held)
    }

    /// Returns an error if a file of a container without a commit exists, or if no file can have this
    /// name.
    pub fn refuse_existing(&self, name: &OsStr) -> Result<()> {
        let folder = &self.container.folder;
        folder.refuse_obstacle(name)?;
        let is_first = !self.committed.load(Ordering::Relaxed);
        if self.mode == Mode::New && is_first && folder.exists(name)? {
            return Err(already_exists(&folder.show(name)));
        }
        Ok(())
    }

    /// Returns an error if the file of this name is not `file` any more, or if `is_same` returns
    /// false for its content. Another writer, which did not hold the lock, has changed it then.
    pub fn check_unchanged(
        &self,
        name: &OsStr,
        file: &dyn File,
        is_same: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        let folder = &self.container.folder;
        if folder.identity(name)? == Some(file.identity()) && is_same()? {
            return Ok(());
        }
        Err(changed_by_others(&folder.show(name)))
    }

    // ---- commits

    /// Makes the content of a file durable, if commits are durable. A failure breaks the session:
    /// the system may have discarded the unwritten data, and it reports that only once.
    pub fn sync(&self, file: &dyn File) -> Result<()> {
        if !self.durable {
            return Ok(());
        }
        file.sync().inspect_err(|_| self.mark_broken())
    }

    /// Makes the name of the folder that was created for this session durable. Must be called
    /// before the first commit.
    pub fn sync_created_folder(&self) -> Result<()> {
        let is_first = self.durable && !self.committed.load(Ordering::Relaxed);
        match self.above.get().filter(|_| is_first) {
            Some(above) => above.sync(),
            None => Ok(()),
        }
    }

    /// Makes the names of new files durable, and those of the folders that hold them.
    pub fn sync_names<'a>(&self, names: impl Iterator<Item = &'a OsStr>) -> Result<()> {
        if !self.durable {
            return Ok(());
        }
        let above = names.flat_map(|name| Path::new(name).ancestors().skip(1));
        let folders: BTreeSet<&OsStr> = above.map(Path::as_os_str).collect();
        let folder = &self.container.folder;
        folders
            .into_iter()
            .try_for_each(|name| folder.sync_in(name))
    }

    /// Begins a change in place: saves the bytes that will be overwritten. The caller must change
    /// nothing before this returns, and must call [`Session::finish`].
    pub fn begin(&self, changes: &[Change<'_>]) -> Result<Undo> {
        Undo::begin(&self.container, self.durable, changes).inspect_err(|_| {
            // the journal may be visible, and must not remain next to another file that a later
            // attempt swaps in
            self.break_if_failed(&recover(&self.container, self.durable));
        })
    }

    /// Commits a change whose files are written and synced, or rolls it back if that failed.
    pub fn finish(&self, undo: Undo, written: Result<()>) -> Result<()> {
        match written {
            Ok(()) => {
                let done = undo.commit();
                self.break_if_failed(&done);
                self.committed_if(done)
            }
            Err(e) => {
                self.break_if_failed(&undo.rollback());
                Err(e)
            }
        }
    }

    /// Commits by atomically replacing files by the new ones, which are written and synced under
    /// their new names, and by removing others. If this fails and the session is broken, the new
    /// files may be visible.
    pub fn swap(&self, renames: &[OsString], removals: &[OsString]) -> Result<()> {
        let outcome = swap(&self.container, self.durable, renames, removals);
        // after a commit with pending renames, it is unknown which files have their final names
        if matches!(
            outcome,
            SwapOutcome::RenamesPending | SwapOutcome::Uncertain(_)
        ) {
            self.mark_broken();
        }
        self.committed_if(outcome.into_result())
    }

    /// Like [`Session::swap`], for a new main file that was written and synced under the name
    /// `waiting`. If this fails, the file has that name again, or the session is broken.
    pub fn swap_in(&self, waiting: &OsStr) -> Result<()> {
        let Container { folder, main, .. } = &self.container;
        let new = self.container.new_name("");
        let done = folder
            .rename(waiting, &new)
            .and_then(|()| self.swap(std::slice::from_ref(main), &[]));
        let is_waiting = || folder.exists(waiting).unwrap_or(false);
        if done.is_err() && !self.is_broken() && !is_waiting() {
            self.break_if_failed(&folder.rename(&new, waiting));
        }
        done
    }

    fn break_if_failed(&self, done: &Result<()>) {
        if done.is_err() {
            self.mark_broken();
        }
    }

    fn committed_if(&self, done: Result<()>) -> Result<()> {
        done.inspect(|()| self.committed.store(true, Ordering::Relaxed))
    }
}

impl Drop for Session {
    /// Releases the locks. Removes the folder that was created for a container without a commit.
    fn drop(&mut self) {
        // a lock is a file in the folder
        self.locks.clear();
        let is_left = self.above.get().is_some() && !self.committed.load(Ordering::Relaxed);
        if is_left && self.is_own() {
            let _ = self
                .container
                .folder
                .remove_folder(parent(&self.container.main));
        }
    }
}

/// Returns the error of a file that must not exist.
pub fn already_exists(shown: &str) -> Error {
    fail!(Exists, "{shown}: it is there already")
}

/// Returns the error of a file that another writer, which did not hold the lock, has changed.
pub fn changed_by_others(shown: &str) -> Error {
    fail!(
        State,
        "{shown}: another writer has changed it since it was opened here"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use crate::io::journal::SAMPLE_BYTES;
    use crate::io::journal::entries::Sample;
    use crate::io::sim::SimDisk;
    use crate::io::{Access, locate};
    use std::{env, fs, process};

    const PREFIXES: &[&str] = &["", "limits."];

    /// Opens a session of the file `x` on a disk.
    fn open(disk: &SimDisk, mode: Mode) -> Session {
        let container = Container::new(&disk.folder(), "x", PREFIXES);
        Session::open(container, "x".into(), mode, &Options::new()).unwrap()
    }

    /// Returns a disk with this content of `x`.
    fn disk_with(content: &[u8]) -> SimDisk {
        SimDisk::with_files(&[("x".into(), content.to_vec())].into())
    }

    fn content(disk: &SimDisk, name: &str) -> Option<Vec<u8>> {
        disk.contents().get(OsStr::new(name)).cloned()
    }

    /// Writes a new file of the container, under its new name.
    fn write_new(session: &Session, prefix: &str) {
        let container = session.container();
        let file = container.create(&container.new_name(prefix)).unwrap();
        file.write_at(0, b"new").unwrap();
        session.sync(&*file).unwrap();
    }

    /// Replaces the content of `x`, which is one byte, in place.
    fn change(session: &Session, content: &[u8]) -> Result<()> {
        let container = session.container();
        let file = container.folder.open(&container.main, Access::Write)?;
        let change = Change {
            name: container.main.clone(),
            file: Some(&*file),
            overwritten: vec![0..1],
            lengths: 1..=1,
            samples: vec![Sample {
                at: 0,
                bytes: content.iter().copied().take(SAMPLE_BYTES).collect(),
            }],
        };
        let undo = session.begin(&[change])?;
        let written = file
            .write_at(0, content)
            .and_then(|()| session.sync(&*file));
        session.finish(undo, written)
    }

    #[test]
    fn a_forked_child_does_not_write() {
        let mut session = open(&disk_with(b"a"), Mode::Append);
        session.check_commit().unwrap();
        session.owner = session.owner.wrapping_add(1);
        assert!(!session.is_own());
        let e = session.check().unwrap_err();
        assert_eq!(e.status, Status::State);
        assert!(e.message.starts_with("x: this handle belongs to"), "{e}");
        assert_eq!(session.check_commit().unwrap_err(), e);
    }

    #[test]
    fn only_a_new_container_must_not_exist() {
        for (mode, status) in [
            (Mode::New, Some(Status::Exists)),
            (Mode::Replace, None),
            (Mode::Append, None),
        ] {
            let disk = disk_with(b"a");
            let session = open(&disk, mode);
            let refused = session.refuse_existing(OsStr::new("x")).err();
            assert_eq!(refused.map(|e| e.status), status, "{mode:?}");
            session.refuse_existing(OsStr::new("limits.x")).unwrap();
            // no mode replaces a folder
            disk.folder().make_folder(OsStr::new("limits.x")).unwrap();
            let refused = session.refuse_existing(OsStr::new("limits.x"));
            assert_eq!(refused.unwrap_err().status, Status::Exists, "{mode:?}");
        }
    }

    #[test]
    fn changes_by_others_are_detected() {
        let disk = disk_with(b"a");
        let session = open(&disk, Mode::Append);
        let (folder, name) = (disk.folder(), OsStr::new("x"));
        let file = folder.open(name, Access::Write).unwrap();
        let check = |same| session.check_unchanged(name, &*file, || Ok(same));
        check(true).unwrap();
        assert_eq!(check(false).unwrap_err().status, Status::State);
        folder.open(OsStr::new("y"), Access::Create).unwrap();
        folder.rename(OsStr::new("y"), name).unwrap();
        assert_eq!(check(true).unwrap_err().status, Status::State);
        folder.remove(name).unwrap();
        assert_eq!(check(true).unwrap_err().status, Status::State);
    }

    #[test]
    fn a_failed_sync_breaks_the_session() {
        let disk = disk_with(b"a");
        let session = open(&disk, Mode::Append);
        let file = disk.folder().open(OsStr::new("x"), Access::Write).unwrap();
        session.sync(&*file).unwrap();
        session.check().unwrap();
        disk.full_after(0);
        session.sync(&*file).unwrap_err();
        // the next sync would succeed although the data is lost
        session.sync(&*file).unwrap();
        assert_eq!(session.check().unwrap_err().status, Status::State);
        assert_eq!(session.check_commit().unwrap_err().status, Status::State);
    }

    #[test]
    fn nothing_is_synced_without_durability() {
        let disk = disk_with(b"a");
        let container = Container::new(&disk.folder(), "x", PREFIXES);
        let options = Options::new().with(Opt::Durability, 0).unwrap();
        let session = Session::open(container, "x".into(), Mode::Append, &options).unwrap();
        change(&session, b"b").unwrap();
        write_new(&session, "");
        session.swap(&["x".into()], &[]).unwrap();
        assert_eq!(disk.syncs(), 0);
        assert_eq!(content(&disk, "x").unwrap(), b"new");
    }

    /// A change in place fails at each operation once, or at all operations from there on.
    #[test]
    fn a_failed_change_is_rolled_back_or_breaks_the_session() {
        let ops = {
            let disk = disk_with(b"a");
            let session = open(&disk, Mode::Append);
            let before = disk.ops();
            change(&session, b"b").unwrap();
            assert_eq!(content(&disk, "x").unwrap(), b"b");
            session.check().unwrap();
            disk.ops() - before
        };
        let mut broken = 0;
        for (n, is_off) in (0..ops).flat_map(|n| [(n, false), (n, true)]) {
            let disk = disk_with(b"a");
            let session = open(&disk, Mode::Append);
            if is_off {
                disk.cut_after(n);
            } else {
                disk.full_after(n);
            }
            change(&session, b"b").unwrap_err();
            broken += usize::from(session.is_broken());
            if !session.is_broken() {
                assert_eq!(content(&disk, "x").unwrap(), b"a", "{n} {is_off}");
                assert_eq!(content(&disk, "x.holdall-journal"), None, "{n} {is_off}");
            }
        }
        assert!(0 < broken && broken < 2 * ops, "{broken} of {ops}");
    }

    /// Two files are replaced, and each operation fails once.
    #[test]
    fn a_swap_is_done_or_changes_nothing_or_breaks_the_session() {
        let mut seen = [0; 4];
        for n in 0.. {
            let disk = disk_with(b"old");
            let session = open(&disk, Mode::Replace);
            let container = session.container();
            PREFIXES.iter().for_each(|p| write_new(&session, p));
            let before = disk.ops();
            disk.full_after(n);
            let names: Vec<_> = PREFIXES.iter().map(|p| container.name(p)).collect();
            let done = session.swap(&names, &[]);
            let is_new = content(&disk, "x").unwrap() == b"new";
            let has_journal = content(&disk, "x.holdall-journal").is_some();
            match (done.is_ok(), session.is_broken()) {
                (true, false) => assert!(is_new && !has_journal, "{n}"),
                // the renames are pending, or the state is uncertain
                (_, true) => {}
                (false, false) => assert!(!is_new && !has_journal, "{n}"),
            }
            seen[usize::from(done.is_ok()) + 2 * usize::from(session.is_broken())] += 1;
            if before + n >= disk.ops() {
                break;
            }
        }
        assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
    }

    /// Each operation fails once. Unless the session is broken, a second attempt succeeds.
    #[test]
    fn a_file_that_is_not_swapped_in_has_its_name_again() {
        let waiting = OsStr::new("x.part");
        for n in 0.. {
            let disk = SimDisk::default();
            let session = open(&disk, Mode::New);
            let file = session.container().create(waiting).unwrap();
            file.write_at(0, b"new").unwrap();
            session.sync(&*file).unwrap();
            let before = disk.ops();
            disk.full_after(n);
            let done = session.swap_in(waiting);
            if before + n >= disk.ops() {
                done.unwrap();
                assert!(n > 1);
                break;
            }
            done.unwrap_err();
            if !session.is_broken() {
                assert_eq!(content(&disk, "x"), None, "{n}");
                session.swap_in(waiting).unwrap();
                assert_eq!(content(&disk, "x").unwrap(), b"new", "{n}");
            }
        }
    }

    /// A folder on the local disk, which has locks and folders.
    #[test]
    fn one_session_at_a_time_and_no_folder_without_a_commit() {
        let path = env::temp_dir().join(format!("holdall session {}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        let above = locate::folder(path.as_os_str()).unwrap();
        for is_committed in [false, true] {
            above.make_folder(OsStr::new("new")).unwrap();
            let folder = locate::folder(path.join("new").as_os_str()).unwrap();
            let open = || {
                let container = Container::new(&folder, "x", &[""]);
                Session::open(container, "x".into(), Mode::New, &Options::new())
            };
            let session = open().unwrap();
            session.created_in(above.clone());
            session.sync_created_folder().unwrap();
            assert_eq!(open().err().unwrap().status, Status::Busy);
            if is_committed {
                write_new(&session, "");
                session.swap(&["x".into()], &[]).unwrap();
                fs::remove_file(path.join("new/x")).unwrap();
            }
            drop(session);
            assert_eq!(path.join("new").exists(), is_committed);
        }
        fs::remove_dir_all(&path).unwrap();
    }
}
