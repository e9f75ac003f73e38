//! Scenarios on the simulated disk, and their results.

use super::crash_states::hash;
use super::{Fault, Files, Rng, SimDisk};
use crate::error::{Result, Status};
use crate::io::Folder;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A mutating operation of a format, from a given disk to the next commit.
pub struct Scenario<'a> {
    /// Name for messages.
    pub name: String,
    /// The disk before the operation.
    pub disk: SimDisk,
    /// Performs the operation, with one commit at its end.
    pub act: &'a dyn Fn(Arc<dyn Folder>) -> Result<()>,
    /// Returns what a reader sees: the content, in any comparable form.
    pub read: &'a dyn Fn(Arc<dyn Folder>) -> Result<Vec<Vec<u8>>>,
    /// Opens for writing, adds nothing or a little, commits: what the next program does.
    pub next_commit: &'a dyn Fn(Arc<dyn Folder>) -> Result<()>,
}

/// The results of [`check`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of disk states, of all cuts. A state that several cuts lead to is opened once.
    pub states: usize,
    /// Descriptions of the states that were neither the old nor the new commit.
    pub violations: Vec<String>,
    /// How often the disk's fault occurred, without a power failure.
    pub faults: usize,
}

/// Returns the factor by which more states are tried, from `HOLDALL_DISK_STATES`, for long runs.
fn state_factor() -> usize {
    std::env::var("HOLDALL_DISK_STATES")
        .ok()
        .and_then(|v| v.trim().parse().ok())
        .unwrap_or(1)
}

/// Returns the seeds that a test with random content or damage tries: one, or as many as
/// `HOLDALL_SEEDS` says.
pub fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("HOLDALL_SEEDS")
        .ok()
        .and_then(|v| v.trim().parse().ok())
        .unwrap_or(1)
}

/// What a reader saw, or its error.
pub(super) type Seen = Result<Vec<Vec<u8>>>;
pub(super) type Read<'a> = dyn Fn(Arc<dyn Folder>) -> Seen + 'a;

/// Cuts the power before every operation of the scenario and opens the possible states. Then does
/// the same while the next writer recovers.
pub fn check(scenario: &Scenario<'_>, per_cut: usize, fault: Option<Fault>) -> Tally {
    let old = read_files(scenario.read, &scenario.disk.contents());
    let new = after(&scenario.name, &scenario.disk, scenario.act, scenario.read);
    let newer_copy = NewerCopy::of(scenario);
    let same = |got: &Seen, done: bool| match got {
        Ok(v) => *v == new || (!done && old.as_ref().is_ok_and(|o| o == v)),
        // where no container existed before, none may exist after
        Err(e) => !done && old.is_err() && e.status == Status::Missing,
    };
    each_state(
        &scenario.name,
        &scenario.disk,
        scenario.act,
        per_cut,
        fault,
        &|left, tried| {
            let seen = read_files(scenario.read, left.files);
            if !same(&seen, left.done) {
                return Some(describe("a reader saw another state, or failed:", &seen));
            }
            next_writer_violation(scenario, left.files, &seen)
                .or_else(|| second_crash_violation(scenario, left, &seen, tried))
                .or_else(|| newer_copy.as_ref()?.violation_beside(scenario, left))
        },
    )
}

/// The container after two more commits, as a user may copy it over the files of an interrupted
/// writer.
struct NewerCopy {
    files: Files,
    content: Vec<Vec<u8>>,
    /// Files that equal byte for byte what the interrupted writer was about to write. Their content
    /// does not show that they are newer.
    as_intended: Vec<OsString>,
}

impl NewerCopy {
    /// Returns `None` if the next writer adds nothing: such a copy is indistinguishable from the
    /// intended files.
    fn of(scenario: &Scenario<'_>) -> Option<NewerCopy> {
        let disk = scenario.disk.copy();
        let done = |disk: &SimDisk| {
            (scenario.read)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scenario.name))
        };
        (scenario.act)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scenario.name));
        let (once, intended) = (done(&disk), disk.contents());
        (scenario.next_commit)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scenario.name));
        let content = done(&disk);
        let (before, files) = (scenario.disk.contents(), disk.contents());
        let as_intended = files
            .iter()
            .filter(|(n, b)| intended.get(*n) == Some(b) && before.get(*n) != Some(b))
            .map(|(n, _)| n.clone())
            .collect();
        (content != once).then_some(NewerCopy {
            files,
            content,
            as_intended,
        })
    }

    /// Verifies that the copy is read or refused, and remains unchanged.
    fn violation_beside(&self, scenario: &Scenario<'_>, left: &CrashState<'_>) -> Option<String> {
        let of_writers = |name: &OsStr| name.to_str().is_some_and(|n| n.contains(".holdall-"));
        let journals = || {
            left.files
                .iter()
                .filter(|(n, _)| n.to_str().is_some_and(|n| n.ends_with(".holdall-journal")))
        };
        let names = |journal: &[u8], name: &OsStr| {
            journal
                .windows(name.len())
                .any(|w| w == name.as_encoded_bytes())
        };
        if journals().count() == 0
            || journals().any(|(_, journal)| self.as_intended.iter().any(|n| names(journal, n)))
        {
            return None;
        }
        let mut files = self.files.clone();
        files.extend(
            left.files
                .iter()
                .filter(|(n, _)| of_writers(n))
                .map(|(n, b)| (n.clone(), b.clone())),
        );
        let seen = read_files(scenario.read, &files);
        if !matches!(&seen, Err(e) if e.status == Status::Format)
            && !seen.as_ref().is_ok_and(|v| *v == self.content)
        {
            return Some(describe(
                "a newer copy beside a journal was read as something else, or failed:",
                &seen,
            ));
        }
        let next = SimDisk::with_files(&files);
        if let Err(e) = (scenario.next_commit)(next.folder()) {
            let after = next.contents();
            let survives = self
                .files
                .iter()
                .filter(|(n, _)| !of_writers(n))
                .all(|(n, b)| after.get(n) == Some(b));
            return (!survives || e.status != Status::Format).then(|| {
                format!(
                    "a newer copy beside a journal was changed, or refused with another message: {e}"
                )
            });
        }
        let after = (scenario.read)(next.folder());
        let is_preserved = after
            .as_ref()
            .is_ok_and(|after| after.starts_with(&self.content));
        (!is_preserved).then(|| describe("a newer copy beside a journal was lost:", &after))
    }
}

/// A state of the disk after a power failure.
pub(super) struct CrashState<'a> {
    pub files: &'a Files,
    /// Whether the operation had returned.
    pub done: bool,
    /// Seed for random choices with this state.
    pub seed: u64,
}

/// Returns what is wrong with a state, if anything, and counts the further states that it opens.
pub(super) type Judge<'a> = dyn Fn(&CrashState<'_>, &mut usize) -> Option<String> + 'a;
/// An operation on a disk.
pub(super) type Act<'a> = dyn Fn(Arc<dyn Folder>) -> Result<()> + 'a;

/// Cuts the power before every operation of `act` and judges each possible state once, whichever
/// cuts lead to it. The first violation is reported with its operations. With a fault, which causes
/// violations, it ends the check.
pub(super) fn each_state(
    name: &str,
    disk: &SimDisk,
    act: &Act<'_>,
    per_cut: usize,
    fault: Option<Fault>,
    judge: &Judge<'_>,
) -> Tally {
    let mut tally = Tally::default();
    let run = |disk: &SimDisk| act(disk.folder()).unwrap_or_else(|e| panic!("{name}: {e}"));
    if let Some(fault) = fault {
        let disk = disk.copy();
        disk.inject(fault);
        run(&disk);
        tally.faults = disk.faults_injected();
    }
    let whole = disk.copy();
    run(&whole);
    let ops = whole.ops() - disk.ops();
    let mut judged = BTreeSet::new();
    for cut in 0..=ops {
        let disk = disk.copy();
        disk.cut_after(cut);
        fault.inspect(|w| disk.inject(*w));
        let done = act(disk.folder()).is_ok();
        for (i, (fates, files)) in disk
            .crash_states(per_cut * state_factor(), cut as u64 * 7919 + 1)
            .enumerate()
        {
            tally.states += 1;
            if !judged.insert((hash(&files), done)) {
                continue;
            }
            let seed = i as u64 * 31 + cut as u64;
            let Some(found) = judge(
                &CrashState {
                    files: &files,
                    done,
                    seed,
                },
                &mut tally.states,
            ) else {
                continue;
            };
            if fault.is_some() {
                tally.violations.push(found);
                return tally;
            }
            let names: Vec<_> = files
                .iter()
                .map(|(n, b)| format!("{}:{}", n.display(), b.len()))
                .collect();
            let operations = match tally.violations.is_empty() {
                true => fates.shrink(&disk, &|files| {
                    judge(&CrashState { files, done, seed }, &mut 0).is_some()
                }),
                false => String::new(),
            };
            tally.violations.push(format!(
                "{name}, cut {cut} of {ops}: {found} {names:?}{operations}"
            ));
        }
    }
    tally
}

/// Returns what a reader sees after the operation, which must succeed.
pub(super) fn after(name: &str, disk: &SimDisk, act: &Act<'_>, read: &Read<'_>) -> Vec<Vec<u8>> {
    let whole = disk.copy();
    act(whole.folder())
        .and_then(|()| read(whole.folder()))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub(super) fn read_files(read: &Read<'_>, files: &Files) -> Seen {
    read(SimDisk::with_files(files).folder())
}

pub(super) fn describe(what: &str, seen: &Seen) -> String {
    format!(
        "{what} {}",
        seen.as_ref().err().map_or(String::new(), |e| e.to_string())
    )
}

/// Returns whether the earlier content is preserved, with at most additions after it.
fn is_preserved(before: &Seen, after: &Seen) -> bool {
    match (before, after) {
        (Ok(before), Ok(after)) => after.starts_with(before),
        (before, _) => before.is_err(),
    }
}

/// Verifies that the next writer succeeds and preserves the content.
fn next_writer_violation(scenario: &Scenario<'_>, files: &Files, seen: &Seen) -> Option<String> {
    let next = SimDisk::with_files(files);
    if let (Err(e), Ok(_)) = ((scenario.next_commit)(next.folder()), seen) {
        return Some(format!("the next writer failed: {e}"));
    }
    let after = (scenario.read)(next.folder());
    (!is_preserved(seen, &after))
        .then(|| describe("the next writer changed what was there", &after))
}

/// Cuts the power again while the next writer works.
fn second_crash_violation(
    scenario: &Scenario<'_>,
    left: &CrashState<'_>,
    seen: &Seen,
    states: &mut usize,
) -> Option<String> {
    if seen.is_err() {
        return None;
    }
    second_crash(left, scenario.next_commit)?.find_map(|files| {
        *states += 1;
        let after = read_files(scenario.read, &files);
        (!is_preserved(seen, &after)).then(|| {
            describe(
                "a second crash, of the next writer, changed what was there",
                &after,
            )
        })
    })
}

/// Returns the states after a second power failure, while `next_commit` recovers. Most calls return
/// `None`: most states of one cut require the same recovery.
pub(super) fn second_crash(
    left: &CrashState<'_>,
    next_commit: &Act<'_>,
) -> Option<impl Iterator<Item = Files> + use<>> {
    let mut rng = Rng(left.seed | 1);
    if rng.below(4) != 0 && state_factor() == 1 {
        return None;
    }
    let next = SimDisk::with_files(left.files);
    let before = next.ops();
    let counted = next.copy();
    let _ = next_commit(counted.folder());
    next.cut_after(rng.below(counted.ops() - before + 1));
    let _ = next_commit(next.folder());
    Some(next.after_cut(3, left.seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Access;

    /// A header refers to data that is not synced: of all possible losses, only the one write that
    /// violates the commit is reported as lost.
    #[test]
    fn a_violation_is_reported_with_as_few_losses_as_possible() {
        let file = |folder: &Arc<dyn Folder>| folder.open(OsStr::new("x"), Access::Write);
        let act = |folder: Arc<dyn Folder>| {
            folder
                .open(OsStr::new("beside"), Access::Create)?
                .write_at(0, &[9; 700])?;
            let f = file(&folder)?;
            [(600, [1; 600]), (1200, [2; 600])]
                .iter()
                .try_for_each(|(at, bytes)| f.write_at(*at, bytes))?;
            f.write_at(0, &[1])?;
            f.sync()
        };
        let read = |folder: Arc<dyn Folder>| {
            let (f, mut header, mut content) = (file(&folder)?, [0], vec![0; 1200]);
            f.read_exact_at(0, &mut header)?;
            if header == [1] {
                f.read_exact_at(600, &mut content)?;
            }
            Ok(vec![content])
        };
        let disk = SimDisk::default();
        disk.folder()
            .open(OsStr::new("x"), Access::Create)
            .unwrap()
            .set_size(1800)
            .unwrap();
        disk.make_durable();
        let scenario = Scenario {
            name: "a header".into(),
            disk,
            act: &act,
            read: &read,
            next_commit: &|_| Ok(()),
        };
        let found = check(&scenario, 60, None).violations;
        let lines: Vec<&str> = found[0].lines().collect();
        assert_eq!(lines.len(), 1 + 5, "{lines:?}");
        assert!(
            lines[0].starts_with("a header, cut 5 of 6: a reader saw another state"),
            "{lines:?}"
        );
        let hurt: Vec<_> = lines[1..]
            .iter()
            .filter(|l| !l.ends_with(": survived"))
            .collect();
        assert!(
            hurt.len() == 1 && hurt[0].contains("write \"x\" at ") && !hurt[0].contains(" at 0,"),
            "{lines:?}"
        );
        assert!(found[1..].iter().all(|v| v.lines().count() == 1));
    }
}
