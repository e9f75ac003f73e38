//! A simulated disk, for proofs: it keeps durable and pending writes apart, cuts the power before any
//! operation, and then shows every state that a real disk might be left in (within bounds).
//!
//! The model, as strict as POSIX allows: bytes and lengths become durable by syncing their file, names
//! by syncing the folder that they are in. What is pending at the cut may be lost, kept, kept in part, and the write
//! that was under way may be torn at any 512 bytes. Changes of names survive in
//! the order in which they were made in a folder; what is in a folder is gone with it.
//!
//! Who adds a format lists its mutating operations as [`Scene`]s; [`check`] does the rest.

use super::{Access, File, Folder, beside, lock::Lock, parent};
use crate::error::{Result, Status, fail};
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
    durable: Vec<u8>,
    pending: Vec<Pending>,
    /// What programs see now.
    live: Vec<u8>,
    /// The operations that changed its bytes last, and it or its name.
    modified: u64,
    changed: u64,
}

#[derive(Clone, Debug)]
enum NameOp {
    Link(OsString, usize),
    Unlink(OsString),
    Rename(OsString, OsString),
}

impl NameOp {
    /// The folder that it is in: nothing is moved to another one.
    fn folder(&self) -> &OsStr {
        match self {
            NameOp::Link(n, _) | NameOp::Unlink(n) | NameOp::Rename(n, _) => parent(n),
        }
    }
}

/// The folders that a name is in, as they are called here: with a slash at the end.
fn above(name: &OsStr) -> impl Iterator<Item = OsString> {
    std::path::Path::new(name).ancestors().skip(1).filter(|p| !p.as_os_str().is_empty()).map(|p| beside("", p.as_os_str(), "/"))
}

#[derive(Clone, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<OsString, usize>,
    durable_names: BTreeMap<OsString, usize>,
    pending_names: Vec<NameOp>,
    ops: usize,
    written: u64,
    cut_at: Option<usize>,
    /// Syncs that are lies, for showing that the rig notices: the n-th sync of a file or folder.
    lie: Option<usize>,
    syncs: usize,
    /// Fails, once, with no space, at this operation; unlike a cut, life goes on.
    full_at: Option<usize>,
}

/// The disk: one folder.
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
        NameOp::Rename(a, b) => {
            if let Some(i) = names.remove(a) {
                names.insert(b.clone(), i);
            }
        }
    }
}

impl State {
    /// Counts an operation that changes the disk; fails at and after the cut.
    fn op(&mut self) -> Result<()> {
        if self.cut_at.is_some_and(|c| self.ops >= c) {
            return Err(fail!(Io, "simulated: the power is off"));
        }
        self.ops += 1;
        if self.full_at == Some(self.ops - 1) {
            return Err(fail!(Io, "simulated: no space left"));
        }
        Ok(())
    }

    /// Changes a file, at a time of its own.
    fn change(&mut self, inode: usize, p: Pending) {
        let now = self.ops as u64;
        if let Some(i) = self.inodes.get_mut(inode) {
            apply(&mut i.live, &p);
            i.pending.push(p);
            (i.modified, i.changed) = (now, now);
        }
    }

    /// Makes a file, or a folder.
    fn create(&mut self, name: &OsStr) -> Result<usize> {
        if let Some(none) = above(name).find(|f| !self.names.contains_key(f)) {
            return Err(fail!(Missing, "{}: no such folder", none.display()));
        }
        self.op()?;
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
            NameOp::Rename(a, b) => [Some(a), Some(b)],
        } {
            if let Some(&i) = name.and_then(|n| self.names.get(n)) {
                self.inodes[i].changed = now;
            }
        }
        apply_name(&mut self.names, &op);
        self.pending_names.push(op);
    }

    fn sync_is_a_lie(&mut self) -> bool {
        self.syncs += 1;
        self.lie == Some(self.syncs - 1)
    }
}

impl SimDisk {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }

    /// The same contents, as another disk.
    pub fn copy(&self) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.with(|s| s.clone()))))
    }

    /// As a folder.
    pub fn folder(&self) -> Arc<dyn Folder> {
        Arc::new(self.clone())
    }

    /// Operations so far that changed something.
    pub fn ops(&self) -> usize {
        self.with(|s| s.ops)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.with(|s| s.written)
    }

    /// Syncs so far.
    pub fn syncs(&self) -> usize {
        self.with(|s| s.syncs)
    }

    /// Lets the power fail before the n-th operation from now.
    pub fn cut_after(&self, n: usize) {
        self.with(|s| s.cut_at = Some(s.ops + n));
    }

    /// Lets the n-th operation from now fail as a full disk does.
    pub fn full_after(&self, n: usize) {
        self.with(|s| s.full_at = Some(s.ops + n));
    }

    /// Lets the n-th sync from now do nothing.
    pub fn lie_at(&self, n: usize) {
        self.with(|s| s.lie = Some(s.syncs + n));
    }

    /// Makes everything durable.
    pub fn settle(&self) {
        self.with(|s| {
            for i in &mut s.inodes {
                i.durable = i.live.clone();
                i.pending.clear();
            }
            s.durable_names = s.names.clone();
            s.pending_names.clear();
        });
    }

    /// Names and contents, as programs see them.
    pub fn contents(&self) -> BTreeMap<OsString, Vec<u8>> {
        self.with(|s| s.names.iter().map(|(n, &i)| (n.clone(), s.inodes[i].live.clone())).collect())
    }

    /// A disk with these files.
    pub fn with_files(files: &BTreeMap<OsString, Vec<u8>>) -> SimDisk {
        let disk = SimDisk::default();
        disk.with(|s| {
            for (n, b) in files {
                s.inodes.push(Inode { live: b.clone(), ..Inode::default() });
                s.names.insert(n.clone(), s.inodes.len() - 1);
            }
        });
        disk.settle();
        disk
    }

    /// What might be on the disk if the power failed now: up to `most` different states, the plain ones
    /// (nothing pending kept, everything kept) always among them.
    pub fn after_cut(&self, most: usize, seed: u64) -> Vec<BTreeMap<OsString, Vec<u8>>> {
        let s = self.with(|s| s.clone());
        let mut rng = Rng(seed | 1);
        let mut out: Vec<BTreeMap<OsString, Vec<u8>>> = Vec::new();
        for round in 0..most * 3 {
            let mut kept: BTreeMap<&OsStr, usize> = BTreeMap::new();
            for op in &s.pending_names {
                *kept.entry(op.folder()).or_default() += 1;
            }
            for n in kept.values_mut() {
                *n = match round {
                    0 => 0,
                    1 => *n,
                    _ => rng.below(*n + 1),
                };
            }
            let mut names = s.durable_names.clone();
            for op in &s.pending_names {
                if let Some(n) = kept.get_mut(op.folder()).filter(|n| **n > 0) {
                    *n -= 1;
                    apply_name(&mut names, op);
                }
            }
            let there = names.clone();
            names.retain(|n, _| above(n).all(|f| there.contains_key(&f)));
            let files: BTreeMap<OsString, Vec<u8>> = names.iter().map(|(n, &i)| (n.clone(), survivor(&s.inodes[i], round, &mut rng))).collect();
            if !out.contains(&files) {
                out.push(files);
            }
            if out.len() >= most {
                break;
            }
        }
        out
    }
}

/// One possible content of a file after the cut.
fn survivor(inode: &Inode, round: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = inode.durable.clone();
    let n = inode.pending.len();
    match round {
        0 => {}
        1 => inode.pending.iter().for_each(|p| apply(&mut bytes, p)),
        r => {
            // a prefix, a subset, or one write alone; and each kept write perhaps torn
            let mode = r % 3;
            let prefix = rng.below(n + 1);
            for (i, p) in inode.pending.iter().enumerate() {
                let keep = match mode {
                    0 => i < prefix,
                    1 => rng.below(2) == 0,
                    _ => n > 0 && i + 1 == prefix,
                };
                if !keep {
                    continue;
                }
                let last = mode == 0 && i + 1 == prefix;
                apply(&mut bytes, &if last || rng.below(3) == 0 { torn(p, rng) } else { p.clone() });
            }
        }
    }
    bytes
}

/// Some of the 512-byte sectors of a write: a head, a tail, or any of them.
fn torn(p: &Pending, rng: &mut Rng) -> Pending {
    let Pending::Write(at, b) = p else { return p.clone() };
    let first = 512 - (*at as usize % 512);
    let edges: Vec<usize> = std::iter::once(0).chain((first..b.len()).step_by(512)).chain([b.len()]).collect();
    let i = rng.below(edges.len());
    if rng.below(2) == 0 { Pending::Write(*at, b[..edges[i]].to_vec()) } else { Pending::Write(*at + edges[i] as u64, b[edges[i]..].to_vec()) }
}

/// A small generator of numbers: the tests must be repeatable.
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits (xorshift64*).
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    /// A number below `n` (0 where `n` is 0).
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.draw() >> 16) as usize % n }
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
                    s.op()?;
                    s.change(i, Pending::Size(0));
                }
                return Ok(i);
            }
            if access != Access::Create {
                return Err(fail!(Missing, "{}: no such file", name.display()));
            }
            s.create(name)
        })?;
        Ok(Arc::new(SimFile { disk: self.clone(), inode, name: name.display().to_string() }))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.with(|s| {
            if !s.names.contains_key(from) {
                return Err(fail!(Missing, "{}: no such file", from.display()));
            }
            s.op()?;
            s.change_name(NameOp::Rename(from.into(), to.into()));
            Ok(())
        })
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.with(|s| {
            if !s.names.contains_key(name) {
                return Err(fail!(Missing, "{}: no such file", name.display()));
            }
            s.op()?;
            s.change_name(NameOp::Unlink(name.into()));
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.sync_in(OsStr::new(""))
    }

    fn sync_in(&self, name: &OsStr) -> Result<()> {
        self.with(|s| {
            s.op()?;
            if !s.sync_is_a_lie() {
                let (own, others) = std::mem::take(&mut s.pending_names).into_iter().partition(|op| op.folder() == name);
                s.pending_names = others;
                let own: Vec<NameOp> = own;
                own.iter().for_each(|op| apply_name(&mut s.durable_names, op));
            }
            Ok(())
        })
    }

    fn make_folder(&self, name: &OsStr) -> Result<()> {
        let name = beside("", name, "/");
        self.with(|s| if name == "/" || s.names.contains_key(&name) { Ok(()) } else { s.create(&name).map(|_| ()) })
    }

    fn remove_folder(&self, name: &OsStr) -> Result<()> {
        let name = beside("", name, "/");
        self.with(|s| {
            if s.names.contains_key(&name) && !s.names.keys().any(|n| above(n).any(|f| f == name)) {
                s.op()?;
                s.change_name(NameOp::Unlink(name));
            }
            Ok(())
        })
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        let file_name = |n: &OsString| std::path::Path::new(n).file_name().map(OsStr::to_os_string);
        Ok(self.with(|s| s.names.keys().filter(|n| parent(n) == name).filter_map(file_name).collect()))
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(self.with(|s| s.names.get(name).or_else(|| s.names.get(&beside("", name, "/"))).map(|&i| i as u64 + 1)))
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
            let done = s.op();
            s.written += src.len() as u64;
            // a full disk takes what there is room for
            let room = if s.full_at == Some(s.ops.wrapping_sub(1)) { src.len() / 2 } else { src.len() };
            if done.is_ok() || (0 < room && room < src.len()) {
                s.change(self.inode, Pending::Write(at, src[..room].to_vec()));
            }
            done
        })
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.disk.with(|s| {
            s.op()?;
            s.change(self.inode, Pending::Size(size));
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.disk.with(|s| {
            s.op()?;
            if !s.sync_is_a_lie() {
                let i = &mut s.inodes[self.inode];
                i.durable = i.live.clone();
                i.pending.clear();
            }
            Ok(())
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        self.inode as u64 + 1
    }

    fn stamp(&self) -> Result<u64> {
        Ok(self.disk.with(|s| s.inodes[self.inode].changed))
    }

    fn modified(&self) -> Result<u64> {
        Ok(self.disk.with(|s| s.inodes[self.inode].modified))
    }
}

/// One mutating operation of a format: from a disk as it is, to the next commit.
pub struct Scene<'a> {
    /// For messages.
    pub name: String,
    /// The disk before.
    pub disk: SimDisk,
    /// Does it, and commits once, at its end.
    pub act: &'a dyn Fn(Arc<dyn Folder>) -> Result<()>,
    /// What a reader sees: the content, in any form that can be compared.
    pub read: &'a dyn Fn(Arc<dyn Folder>) -> Result<Vec<Vec<u8>>>,
    /// Opens for writing, adds nothing or something small, commits: what the next program does.
    pub go_on: &'a dyn Fn(Arc<dyn Folder>) -> Result<()>,
}

/// What [`check`] counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// States of the disk that were opened.
    pub states: usize,
    /// Those that were neither the old nor the new commit, with words.
    pub violations: Vec<String>,
}

/// How many times as many states are tried as usual: `HOLDALL_DISK_STATES`, for long runs.
fn patience() -> usize {
    std::env::var("HOLDALL_DISK_STATES").ok().and_then(|v| v.trim().parse().ok()).unwrap_or(1)
}

/// What a reader saw, or why it did not.
type Seen = Result<Vec<Vec<u8>>>;
type Files = BTreeMap<OsString, Vec<u8>>;

/// Cuts the power before every operation of the scene, and opens what may be left; then again while the next writer
/// settles that.
pub fn check(scene: &Scene<'_>, per_cut: usize, lie: Option<usize>) -> Tally {
    let per_cut = per_cut * patience();
    let mut tally = Tally::default();
    let old = look(scene, &scene.disk.contents());
    let whole = scene.disk.copy();
    (scene.act)(whole.folder()).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
    let new = look(scene, &whole.contents()).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
    let same = |got: &Seen, done: bool| match got {
        Ok(v) => *v == new || (!done && old.as_ref().is_ok_and(|o| o == v)),
        // where there was nothing before, there may be nothing after
        Err(e) => !done && old.is_err() && e.status == Status::Missing,
    };
    let ops = whole.ops() - scene.disk.ops();
    for cut in 0..=ops {
        let disk = scene.disk.copy();
        disk.cut_after(cut);
        if let Some(l) = lie {
            disk.lie_at(l);
        }
        let done = (scene.act)(disk.folder()).is_ok();
        for (i, files) in disk.after_cut(per_cut, cut as u64 * 7919 + 1).into_iter().enumerate() {
            tally.states += 1;
            let seen = look(scene, &files);
            let wrong = if !same(&seen, done) {
                Some(said("a reader saw another state, or failed:", &seen))
            } else {
                go_on(scene, &files, &seen).or_else(|| recover(scene, &files, &seen, i as u64 * 31 + cut as u64, &mut tally.states))
            };
            if let Some(wrong) = wrong {
                let names: Vec<_> = files.iter().map(|(n, b)| format!("{}:{}", n.display(), b.len())).collect();
                tally.violations.push(format!("{}, cut {cut} of {ops}: {wrong} {names:?}", scene.name));
            }
        }
    }
    tally
}

fn look(scene: &Scene<'_>, files: &Files) -> Seen {
    (scene.read)(SimDisk::with_files(files).folder())
}

fn said(what: &str, seen: &Seen) -> String {
    format!("{what} {}", seen.as_ref().err().map_or(String::new(), |e| e.to_string()))
}

/// Does what was seen before still stand, with something behind it at most?
fn stands(before: &Seen, after: &Seen) -> bool {
    match (before, after) {
        (Ok(before), Ok(after)) => after.starts_with(before),
        (before, _) => before.is_err(),
    }
}

/// The next writer finds its way, without changing what was there.
fn go_on(scene: &Scene<'_>, files: &Files, seen: &Seen) -> Option<String> {
    let next = SimDisk::with_files(files);
    if let (Err(e), Ok(_)) = ((scene.go_on)(next.folder()), seen) {
        return Some(format!("the next writer failed: {e}"));
    }
    let after = (scene.read)(next.folder());
    (!stands(seen, &after)).then(|| said("the next writer changed what was there", &after))
}

/// The power fails again, while the next writer is at work.
fn recover(scene: &Scene<'_>, files: &Files, seen: &Seen, seed: u64, states: &mut usize) -> Option<String> {
    let mut rng = Rng(seed | 1);
    // what a crash left to settle is the same for most states of a cut
    if seen.is_err() || (rng.below(4) != 0 && patience() == 1) {
        return None;
    }
    let next = SimDisk::with_files(files);
    let before = next.ops();
    let counted = next.copy();
    let _ = (scene.go_on)(counted.folder());
    next.cut_after(rng.below(counted.ops() - before + 1));
    let _ = (scene.go_on)(next.folder());
    next.after_cut(3, seed).iter().find_map(|files| {
        *states += 1;
        let after = look(scene, files);
        (!stands(seen, &after)).then(|| said("a second crash, of the next writer, changed what was there", &after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder, and what is in it, is there when both are synced.
    #[test]
    fn folders_are_synced_each_by_itself() {
        for (syncs, folder, file) in [(&[][..], false, false), (&[""], true, false), (&["a"], false, false), (&["a", ""], true, true)] {
            let disk = SimDisk::default();
            let f = disk.folder();
            assert_eq!(f.open(OsStr::new("a/b"), Access::Create).err().map(|e| e.status), Some(Status::Missing));
            f.make_folder(OsStr::new("a")).unwrap();
            f.open(OsStr::new("a/b"), Access::Create).unwrap();
            assert_eq!(f.list(OsStr::new("a")).unwrap(), ["b"]);
            syncs.iter().for_each(|s| f.sync_in(OsStr::new(s)).unwrap());
            let left = &disk.after_cut(1, 1)[0];
            assert_eq!((left.contains_key(OsStr::new("a/")), left.contains_key(OsStr::new("a/b"))), (folder, file), "{syncs:?}");
            f.remove_folder(OsStr::new("a")).unwrap();
            assert!(f.exists(OsStr::new("a")).unwrap());
            f.remove(OsStr::new("a/b")).unwrap();
            f.remove_folder(OsStr::new("a")).unwrap();
            assert!(!f.exists(OsStr::new("a")).unwrap());
        }
    }
}
