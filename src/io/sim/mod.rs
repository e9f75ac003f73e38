//! A simulated disk, for crash tests. It tracks durable and pending writes separately, cuts the
//! power before any operation, and then presents every state that a real disk might be left in
//! (within bounds).
//!
//! The model is as strict as POSIX allows. Content and length become durable by syncing the file,
//! names by syncing their folder. A pending change may be lost, survive, or survive in part, and
//! the write in progress may be torn at any multiple of 512 bytes. Each change of a name survives
//! independently, in any order. The content of a folder is lost with the folder.
//!
//! A format lists its mutating operations as [`Scenario`]s and its damage as [`RepairScenario`]s.
//! [`check`] and [`check_repair`] run them, and [`StateCounts`] counts. A violation is reported
//! with the operations that led to it, with as few losses as possible. Disks with a [`Fault`] show
//! that the checks detect violations.

mod check;
mod counting;
mod crash_states;
mod faulty;
mod live_states;
mod mutations;
mod repair;

pub use check::{Scenario, Tally, check, seeds};
pub use counting::{Counted, Counting, Record, Use};
pub use crash_states::Files;
pub use faulty::Fault;
pub use live_states::{check_full, check_opened_before, check_readers};
pub use mutations::{StateCounts, mutations, mutations_of_repairs, without_each_sync};
pub use repair::{RepairScenario, check_repair};

use super::{Access, File, Folder, beside, lock::Lock, parent};
use crate::error::{Result, fail};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
enum Pending {
    Write(u64, Vec<u8>),
    Size(u64),
}

#[derive(Clone, Default, Debug)]
struct Inode {
    durable: Arc<Vec<u8>>,
    /// Changes, each with the number of its operation.
    pending: Vec<(usize, Pending)>,
    /// The content that programs see.
    live: Arc<Vec<u8>>,
    /// Numbers of the last operation that changed the content, and of the last one that changed
    /// content or name.
    modified: u64,
    changed: u64,
}

#[derive(Clone, Debug)]
enum NameOp {
    Link(OsString, usize),
    Unlink(OsString),
    /// Old name, new name, and the renamed file.
    Rename(OsString, OsString, usize),
}

impl NameOp {
    /// Returns the folder of the name; no rename crosses folders.
    fn folder(&self) -> &OsStr {
        match self {
            NameOp::Link(n, _) | NameOp::Unlink(n) | NameOp::Rename(n, ..) => parent(n),
        }
    }
}

/// Returns the folders of a name, in their notation here: with a trailing slash.
fn above(name: &OsStr) -> impl Iterator<Item = OsString> {
    std::path::Path::new(name)
        .ancestors()
        .skip(1)
        .filter(|p| !p.as_os_str().is_empty())
        .map(|p| beside("", p.as_os_str(), "/"))
}

#[derive(Clone, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<OsString, usize>,
    durable_names: BTreeMap<OsString, usize>,
    pending_names: Vec<(usize, NameOp)>,
    ops: usize,
    /// Log of the operations since everything was durable.
    log: Vec<String>,
    written: u64,
    cut_at: Option<usize>,
    /// An injected fault, to show that the checks detect it.
    fault: faulty::FaultState,
    syncs: usize,
    /// This operation fails once, with no space. Unlike after a cut, later operations succeed.
    full_at: Option<usize>,
}

/// The simulated disk: one folder.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

fn apply(bytes: &mut Vec<u8>, p: &Pending) {
    match p {
        Pending::Write(at, b) => {
            let at = *at as usize;
            if bytes.len() < at + b.len() {
                bytes.resize(at + b.len(), 0);
            }
            bytes[at..at + b.len()].copy_from_slice(b);
        }
        Pending::Size(n) => bytes.resize(*n as usize, 0),
    }
}

fn apply_name(names: &mut BTreeMap<OsString, usize>, op: &NameOp) {
    match op {
        NameOp::Link(n, i) => _ = names.insert(n.clone(), *i),
        NameOp::Unlink(n) => _ = names.remove(n),
        NameOp::Rename(a, b, i) => {
            // the old name may never have become durable
            names.remove(a);
            names.insert(b.clone(), *i);
        }
    }
}

impl State {
    /// Counts a mutating operation. Fails at and after the cut.
    fn op(&mut self, text: impl FnOnce() -> String) -> Result<()> {
        if self.cut_at.is_some_and(|c| self.ops >= c) {
            return Err(fail!(Io, "simulated: the power is off"));
        }
        self.ops += 1;
        self.log.push(text());
        if self.full_at == Some(self.ops - 1) {
            return Err(fail!(Io, "simulated: no space left"));
        }
        Ok(())
    }

    /// Changes a file and its timestamps.
    fn change(&mut self, inode: usize, p: Pending) {
        let now = self.ops as u64;
        if let Some(i) = self.inodes.get_mut(inode) {
            apply(Arc::make_mut(&mut i.live), &p);
            i.pending.push((self.ops, p));
            (i.modified, i.changed) = (now, now);
        }
    }

    /// Creates a file or folder.
    fn create(&mut self, name: &OsStr) -> Result<usize> {
        if let Some(none) = above(name).find(|f| !self.names.contains_key(f)) {
            return Err(fail!(Missing, "{}: no such folder", none.display()));
        }
        self.op(|| format!("create {name:?}"))?;
        self.inodes.push(Inode::default());
        let i = self.inodes.len() - 1;
        self.change_name(NameOp::Link(name.into(), i));
        Ok(i)
    }

    /// Changes a name.
    fn change_name(&mut self, op: NameOp) {
        let now = self.ops as u64;
        for name in match &op {
            NameOp::Link(..) => [None, None],
            NameOp::Unlink(n) => [Some(n), None],
            NameOp::Rename(a, b, _) => [Some(a), Some(b)],
        } {
            if let Some(&i) = name.and_then(|n| self.names.get(n)) {
                self.inodes[i].changed = now;
            }
        }
        apply_name(&mut self.names, &op);
        self.pending_names.push((self.ops, op));
    }

    /// Makes content and length of a file durable.
    fn sync_file(&mut self, inode: usize) -> Result<()> {
        let name = self
            .names
            .iter()
            .find(|(_, i)| **i == inode)
            .map(|(n, _)| n.clone());
        self.op(|| format!("sync {:?}", name.unwrap_or_default()))?;
        self.syncs += 1;
        if !self.leaves_out(self.syncs - 1) {
            let i = &mut self.inodes[inode];
            i.durable = i.live.clone();
            i.pending.clear();
        }
        Ok(())
    }
}

impl SimDisk {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }

    /// Returns a number that no other file has, on any disk that exists now.
    fn identity_of(&self, inode: usize) -> u64 {
        ((Arc::as_ptr(&self.0).addr() as u64) << 12) + inode as u64 + 1
    }

    /// Returns an independent copy of the disk.
    pub fn copy(&self) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.with(|s| s.clone()))))
    }

    /// Returns the disk as a folder.
    pub fn folder(&self) -> Arc<dyn Folder> {
        Arc::new(self.clone())
    }

    /// Returns the number of mutating operations so far.
    pub fn ops(&self) -> usize {
        self.with(|s| s.ops)
    }

    /// Returns the number of bytes written so far.
    pub fn written(&self) -> u64 {
        self.with(|s| s.written)
    }

    /// Returns the number of syncs so far.
    pub fn syncs(&self) -> usize {
        self.with(|s| s.syncs)
    }

    /// Cuts the power before the n-th operation from now.
    pub fn cut_after(&self, n: usize) {
        self.with(|s| s.cut_at = Some(s.ops + n));
    }

    /// Makes the n-th operation from now fail as on a full disk.
    pub fn full_after(&self, n: usize) {
        self.with(|s| s.full_at = Some(s.ops + n));
    }

    /// Makes everything durable.
    pub fn make_durable(&self) {
        self.with(|s| {
            for i in &mut s.inodes {
                i.durable = i.live.clone();
                i.pending.clear();
            }
            s.durable_names = s.names.clone();
            s.pending_names.clear();
            s.log.clear();
        });
    }

    /// Returns names and contents as programs see them.
    pub fn contents(&self) -> Files {
        self.with(|s| {
            s.names
                .iter()
                .map(|(n, &i)| (n.clone(), s.inodes[i].live.to_vec()))
                .collect()
        })
    }

    /// Creates a disk with these files.
    pub fn with_files(files: &Files) -> SimDisk {
        let disk = SimDisk::default();
        disk.with(|s| {
            for (n, b) in files {
                s.inodes.push(Inode {
                    live: Arc::new(b.clone()),
                    ..Inode::default()
                });
                s.names.insert(n.clone(), s.inodes.len() - 1);
            }
        });
        disk.make_durable();
        disk
    }
}

/// A pseudo-random number generator, so that tests are reproducible.
pub struct Rng(pub u64);

impl Rng {
    /// Returns the next 64 bits (xorshift64*).
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    /// Returns a number below `n`, or 0 if `n` is 0. The remainder is computed in 64 bits, so that
    /// a seed produces the same numbers for any width of `usize`.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            ((self.draw() >> 16) % n as u64) as usize
        }
    }
}

struct SimFile {
    disk: SimDisk,
    inode: usize,
    name: String,
}

impl Folder for SimDisk {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let inode = self.with(|s| {
            if let Some(&i) = s.names.get(name) {
                if access == Access::Create && !s.inodes[i].live.is_empty() {
                    s.op(|| format!("empty {name:?}"))?;
                    s.change(i, Pending::Size(0));
                }
                return Ok(i);
            }
            if access != Access::Create {
                return Err(fail!(Missing, "{}: no such file", name.display()));
            }
            s.create(name)
        })?;
        Ok(Arc::new(SimFile {
            disk: self.clone(),
            inode,
            name: name.display().to_string(),
        }))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.with(|s| {
            let Some(&file) = s.names.get(from) else {
                return Err(fail!(Missing, "{}: no such file", from.display()));
            };
            s.op(|| format!("rename {from:?} to {to:?}"))?;
            s.change_name(NameOp::Rename(from.into(), to.into(), file));
            s.renamed(to)
        })
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.with(|s| {
            if !s.names.contains_key(name) {
                return Err(fail!(Missing, "{}: no such file", name.display()));
            }
            s.op(|| format!("remove {name:?}"))?;
            s.change_name(NameOp::Unlink(name.into()));
            s.removed(name)
        })
    }

    fn sync(&self) -> Result<()> {
        self.sync_in(OsStr::new(""))
    }

    fn sync_in(&self, name: &OsStr) -> Result<()> {
        self.with(|s| {
            s.op(|| format!("sync the folder {name:?}"))?;
            s.syncs += 1;
            if !s.leaves_out(s.syncs - 1) {
                let (own, others) = std::mem::take(&mut s.pending_names)
                    .into_iter()
                    .partition(|(_, op)| op.folder() == name);
                s.pending_names = others;
                let own: Vec<(usize, NameOp)> = own;
                own.iter()
                    .for_each(|(_, op)| apply_name(&mut s.durable_names, op));
            }
            Ok(())
        })
    }

    fn make_folder(&self, name: &OsStr) -> Result<()> {
        let name = beside("", name, "/");
        self.with(|s| {
            if name == "/" || s.names.contains_key(&name) {
                Ok(())
            } else {
                s.create(&name).map(|_| ())
            }
        })
    }

    fn remove_folder(&self, name: &OsStr) -> Result<()> {
        let name = beside("", name, "/");
        self.with(|s| {
            if s.names.contains_key(&name) && !s.names.keys().any(|n| above(n).any(|f| f == name)) {
                s.op(|| format!("remove {name:?}"))?;
                s.change_name(NameOp::Unlink(name));
            }
            Ok(())
        })
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        let file_name = |n: &OsString| std::path::Path::new(n).file_name().map(OsStr::to_os_string);
        Ok(self.with(|s| {
            s.names
                .keys()
                .filter(|n| parent(n) == name)
                .filter_map(file_name)
                .collect()
        }))
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(self.with(|s| {
            s.names
                .get(name)
                .or_else(|| s.names.get(&beside("", name, "/")))
                .map(|&i| self.identity_of(i))
        }))
    }

    fn obstacle(&self, name: &OsStr) -> Result<Option<&'static str>> {
        Ok(self.with(|s| {
            s.names
                .contains_key(&beside("", name, "/"))
                .then_some(super::A_FOLDER)
        }))
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Ok(Lock::none())
    }

    fn show(&self, name: &OsStr) -> String {
        name.display().to_string()
    }
}

impl File for SimFile {
    fn size(&self) -> Result<u64> {
        Ok(self.disk.with(|s| s.inodes[self.inode].live.len() as u64))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.disk.with(|s| {
            let rest = s.inodes[self.inode].live.get(at as usize..).unwrap_or(&[]);
            let n = rest.len().min(dst.len());
            dst[..n].copy_from_slice(&rest[..n]);
            Ok(n)
        })
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.disk.with(|s| {
            let done = s.op(|| format!("write {:?} at {at}, {} bytes", self.name, src.len()));
            s.written += src.len() as u64;
            // a full disk writes what fits
            let room = if s.full_at == Some(s.ops.wrapping_sub(1)) {
                src.len() / 2
            } else {
                src.len()
            };
            if done.is_ok() || (0 < room && room < src.len()) {
                s.change(self.inode, Pending::Write(at, src[..room].to_vec()));
            }
            done.and_then(|()| s.wrote(self.inode, at))
        })
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.disk.with(|s| {
            s.op(|| format!("resize {:?} to {size} bytes", self.name))?;
            s.change(self.inode, Pending::Size(size));
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.disk.with(|s| {
            if s.holds_back(self.inode, &self.name) {
                Ok(())
            } else {
                s.sync_file(self.inode)
            }
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        self.disk.identity_of(self.inode)
    }

    fn stamp(&self) -> Result<u64> {
        Ok(self.disk.with(|s| s.inodes[self.inode].changed))
    }

    fn modified(&self) -> Result<u64> {
        Ok(self.disk.with(|s| s.inodes[self.inode].modified))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    /// A folder and a file in it are durable when both folders are synced.
    #[test]
    fn each_folder_is_synced_separately() {
        for (syncs, folder, file) in [
            (&[][..], false, false),
            (&[""], true, false),
            (&["a"], false, false),
            (&["a", ""], true, true),
        ] {
            let disk = SimDisk::default();
            let f = disk.folder();
            assert_eq!(
                f.open(OsStr::new("a/b"), Access::Create)
                    .err()
                    .map(|e| e.status),
                Some(Status::Missing)
            );
            f.make_folder(OsStr::new("a")).unwrap();
            f.open(OsStr::new("a/b"), Access::Create).unwrap();
            assert_eq!(f.list(OsStr::new("a")).unwrap(), ["b"]);
            syncs.iter().for_each(|s| f.sync_in(OsStr::new(s)).unwrap());
            let left = disk.after_cut(1, 1).next().unwrap();
            assert_eq!(
                (
                    left.contains_key(OsStr::new("a/")),
                    left.contains_key(OsStr::new("a/b"))
                ),
                (folder, file),
                "{syncs:?}"
            );
            f.remove_folder(OsStr::new("a")).unwrap();
            assert!(f.exists(OsStr::new("a")).unwrap());
            f.remove(OsStr::new("a/b")).unwrap();
            f.remove_folder(OsStr::new("a")).unwrap();
            assert!(!f.exists(OsStr::new("a")).unwrap());
        }
    }
}
