//! What is tried on the simulated disk, and what came of it.

use super::{Files, Rng, SimDisk, Wrong};
use crate::error::{Result, Status};
use crate::io::Folder;
use std::sync::Arc;

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
    /// How often the disk did what it was to do wrong, without a cut.
    pub wrongs: usize,
}

/// How many times as many states are tried as usual: `HOLDALL_DISK_STATES`, for long runs.
fn patience() -> usize {
    std::env::var("HOLDALL_DISK_STATES").ok().and_then(|v| v.trim().parse().ok()).unwrap_or(1)
}

/// What a reader saw, or why it did not.
type Seen = Result<Vec<Vec<u8>>>;

/// Cuts the power before every operation of the scene, and opens what may be left; then again while the next writer
/// settles that.
pub fn check(scene: &Scene<'_>, per_cut: usize, wrong: Option<Wrong>) -> Tally {
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
    if let Some(wrong) = wrong {
        let disk = scene.disk.copy();
        disk.go_wrong(wrong);
        (scene.act)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        tally.wrongs = disk.went_wrong();
    }
    let ops = whole.ops() - scene.disk.ops();
    for cut in 0..=ops {
        let disk = scene.disk.copy();
        disk.cut_after(cut);
        wrong.inspect(|w| disk.go_wrong(*w));
        let done = (scene.act)(disk.folder()).is_ok();
        for (i, files) in disk.after_cut(per_cut, cut as u64 * 7919 + 1).enumerate() {
            tally.states += 1;
            let seen = look(scene, &files);
            let found = if !same(&seen, done) {
                Some(said("a reader saw another state, or failed:", &seen))
            } else {
                go_on(scene, &files, &seen).or_else(|| recover(scene, &files, &seen, i as u64 * 31 + cut as u64, &mut tally.states))
            };
            if let Some(found) = found {
                let names: Vec<_> = files.iter().map(|(n, b)| format!("{}:{}", n.display(), b.len())).collect();
                tally.violations.push(format!("{}, cut {cut} of {ops}: {found} {names:?}", scene.name));
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
    next.after_cut(3, seed).find_map(|files| {
        *states += 1;
        let after = look(scene, &files);
        (!stands(seen, &after)).then(|| said("a second crash, of the next writer, changed what was there", &after))
    })
}

/// The count of a format: states by operation, whatever else differs between its files.
pub struct Proof {
    format: String,
    operations: Vec<(String, usize)>,
    violations: Vec<String>,
}

impl Proof {
    /// Of this format.
    pub fn of(format: &str) -> Proof {
        Proof { format: format.into(), operations: Vec::new(), violations: Vec::new() }
    }

    /// Counts what was tried of an operation.
    pub fn add(&mut self, operation: &str, t: Tally) {
        self.violations.extend(t.violations);
        match self.operations.iter_mut().find(|(name, _)| name == operation) {
            Some((_, states)) => *states += t.states,
            None => self.operations.push((operation.into(), t.states)),
        }
    }

    /// Prints the table. Nothing may be violated, and less than this is no proof.
    pub fn stands(self, least: usize) {
        for (operation, states) in &self.operations {
            println!("simulated disk | {} | {operation} | {states}", self.format);
        }
        let states: usize = self.operations.iter().map(|(_, n)| n).sum();
        println!("simulated disk: {}: {} operations, {states} states, {} violations", self.format, self.operations.len(), self.violations.len());
        assert!(self.violations.is_empty(), "{}", self.violations[..self.violations.len().min(10)].join("\n"));
        assert!(states > least, "{states}");
    }
}

/// Leaves out the syncs of an operation one after the other: how many violations each gives.
pub fn syncs_left_out(name: &str, disk: &SimDisk, act: impl Fn(Arc<dyn Folder>) -> Result<()>, check: impl Fn(Option<Wrong>) -> Tally) -> Vec<usize> {
    let whole = disk.copy();
    act(whole.folder()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let noticed = (0..whole.syncs() - disk.syncs()).map(|n| check(Some(Wrong::Sync(n))).violations.len()).collect();
    println!("simulated disk: {name}: violations where the n-th sync is left out: {noticed:?}");
    noticed
}

/// Does each of [`Wrong::MUTATIONS`] in some operations of a format: where it arises, which is `arises` of the three, it must be
/// noticed.
pub fn mutations(format: &str, arises: usize, operations: &[(&str, impl Fn(Option<Wrong>) -> Tally)]) {
    let mut arose = 0;
    for (wrong, words) in Wrong::MUTATIONS {
        let of_each: Vec<(&str, Tally)> = operations.iter().map(|(name, check)| (*name, check(Some(wrong)))).filter(|(_, t)| t.wrongs > 0).collect();
        if of_each.is_empty() {
            println!("mutation | {format} | {words} | does not arise");
            continue;
        }
        arose += 1;
        let told: Vec<String> = of_each.iter().map(|(name, t)| format!("{name}: {}", t.violations.len())).collect();
        println!("mutation | {format} | {words} | violations: {}", told.join(", "));
        assert!(of_each.iter().any(|(_, t)| !t.violations.is_empty()), "{format}: {words}: not noticed");
    }
    assert_eq!(arose, arises, "{format}");
}
