//! What is tried on the simulated disk, and what came of it.

use super::{Files, Rng, SimDisk, Wrong};
use crate::error::{Result, Status};
use crate::io::Folder;
use std::ffi::{OsStr, OsString};
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

/// What a reader saw, or why it did not.
pub(super) type Seen = Result<Vec<Vec<u8>>>;
pub(super) type Read<'a> = dyn Fn(Arc<dyn Folder>) -> Seen + 'a;

/// Cuts the power before every operation of the scene, and opens what may be left; then again while
/// the next writer settles that.
pub fn check(scene: &Scene<'_>, per_cut: usize, wrong: Option<Wrong>) -> Tally {
    let old = look(scene.read, &scene.disk.contents());
    let new = after(&scene.name, &scene.disk, scene.act, scene.read);
    let newer = Newer::of(scene);
    let same = |got: &Seen, done: bool| match got {
        Ok(v) => *v == new || (!done && old.as_ref().is_ok_and(|o| o == v)),
        // where there was nothing before, there may be nothing after
        Err(e) => !done && old.is_err() && e.status == Status::Missing,
    };
    each_state(
        &scene.name,
        &scene.disk,
        scene.act,
        per_cut,
        wrong,
        &|left, tried| {
            let seen = look(scene.read, left.files);
            if !same(&seen, left.done) {
                return Some(said("a reader saw another state, or failed:", &seen));
            }
            go_on(scene, left.files, &seen)
                .or_else(|| recover(scene, left, &seen, tried))
                .or_else(|| newer.as_ref()?.beside(scene, left))
        },
    )
}

/// The container after two more commits, as somebody copies it over what a writer that was cut off
/// has left.
struct Newer {
    files: Files,
    content: Vec<Vec<u8>>,
    /// Those of its files that are, byte for byte, what the writer that was cut off was making of
    /// them: nothing in them tells that they are not.
    as_meant: Vec<OsString>,
}

impl Newer {
    /// None where the next writer adds nothing: nothing tells such a copy from what was to become
    /// of the files.
    fn of(scene: &Scene<'_>) -> Option<Newer> {
        let disk = scene.disk.copy();
        let done = |disk: &SimDisk| {
            (scene.read)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scene.name))
        };
        (scene.act)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        let (once, meant) = (done(&disk), disk.contents());
        (scene.go_on)(disk.folder()).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        let content = done(&disk);
        let (before, files) = (scene.disk.contents(), disk.contents());
        let as_meant = files
            .iter()
            .filter(|(n, b)| meant.get(*n) == Some(b) && before.get(*n) != Some(b))
            .map(|(n, _)| n.clone())
            .collect();
        (content != once).then_some(Newer {
            files,
            content,
            as_meant,
        })
    }

    /// It is read, or refused, and stays as it is.
    fn beside(&self, scene: &Scene<'_>, left: &Left<'_>) -> Option<String> {
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
            || journals().any(|(_, journal)| self.as_meant.iter().any(|n| names(journal, n)))
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
        let seen = look(scene.read, &files);
        if !matches!(&seen, Err(e) if e.status == Status::Format)
            && !seen.as_ref().is_ok_and(|v| *v == self.content)
        {
            return Some(said(
                "a newer copy beside a journal was read as something else, or failed:",
                &seen,
            ));
        }
        let next = SimDisk::with_files(&files);
        if let Err(e) = (scene.go_on)(next.folder()) {
            let after = next.contents();
            let kept = self
                .files
                .iter()
                .filter(|(n, _)| !of_writers(n))
                .all(|(n, b)| after.get(n) == Some(b));
            return (!kept || e.status != Status::Format).then(|| {
                format!(
                    "a newer copy beside a journal was changed, or refused with other words: {e}"
                )
            });
        }
        let after = (scene.read)(next.folder());
        let stands = after
            .as_ref()
            .is_ok_and(|after| after.starts_with(&self.content));
        (!stands).then(|| said("a newer copy beside a journal was lost:", &after))
    }
}

/// What a cut left.
pub(super) struct Left<'a> {
    pub files: &'a Files,
    /// Had the operation returned?
    pub done: bool,
    /// For what is drawn with this state.
    pub seed: u64,
}

/// What is wrong with this state, if anything is; counts the further states that it takes to say
/// so.
pub(super) type Judge<'a> = dyn Fn(&Left<'_>, &mut usize) -> Option<String> + 'a;
/// An operation on a disk.
pub(super) type Act<'a> = dyn Fn(Arc<dyn Folder>) -> Result<()> + 'a;

/// Cuts the power before every operation of the act, and has each state judged that may be left.
/// The first that is wrong is told with its operations.
pub(super) fn each_state(
    name: &str,
    disk: &SimDisk,
    act: &Act<'_>,
    per_cut: usize,
    wrong: Option<Wrong>,
    judge: &Judge<'_>,
) -> Tally {
    let mut tally = Tally::default();
    let run = |disk: &SimDisk| act(disk.folder()).unwrap_or_else(|e| panic!("{name}: {e}"));
    if let Some(wrong) = wrong {
        let disk = disk.copy();
        disk.go_wrong(wrong);
        run(&disk);
        tally.wrongs = disk.went_wrong();
    }
    let whole = disk.copy();
    run(&whole);
    let ops = whole.ops() - disk.ops();
    for cut in 0..=ops {
        let disk = disk.copy();
        disk.cut_after(cut);
        wrong.inspect(|w| disk.go_wrong(*w));
        let done = act(disk.folder()).is_ok();
        for (i, (fates, files)) in disk
            .lefts(per_cut * patience(), cut as u64 * 7919 + 1)
            .enumerate()
        {
            tally.states += 1;
            let seed = i as u64 * 31 + cut as u64;
            let Some(found) = judge(
                &Left {
                    files: &files,
                    done,
                    seed,
                },
                &mut tally.states,
            ) else {
                continue;
            };
            let names: Vec<_> = files
                .iter()
                .map(|(n, b)| format!("{}:{}", n.display(), b.len()))
                .collect();
            let operations = match tally.violations.is_empty() {
                true => fates.shrink(&disk, &|files| {
                    judge(&Left { files, done, seed }, &mut 0).is_some()
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

/// What a reader sees after this, which must succeed.
pub(super) fn after(name: &str, disk: &SimDisk, act: &Act<'_>, read: &Read<'_>) -> Vec<Vec<u8>> {
    let whole = disk.copy();
    act(whole.folder())
        .and_then(|()| read(whole.folder()))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub(super) fn look(read: &Read<'_>, files: &Files) -> Seen {
    read(SimDisk::with_files(files).folder())
}

pub(super) fn said(what: &str, seen: &Seen) -> String {
    format!(
        "{what} {}",
        seen.as_ref().err().map_or(String::new(), |e| e.to_string())
    )
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
fn recover(scene: &Scene<'_>, left: &Left<'_>, seen: &Seen, states: &mut usize) -> Option<String> {
    if seen.is_err() {
        return None;
    }
    second_crash(left, scene.go_on)?.find_map(|files| {
        *states += 1;
        let after = look(scene.read, &files);
        (!stands(seen, &after)).then(|| {
            said(
                "a second crash, of the next writer, changed what was there",
                &after,
            )
        })
    })
}

/// What is left where the power fails once more, while this goes on with what is there. Not of each
/// state: what a crash left to settle is the same for most states of a cut.
pub(super) fn second_crash(
    left: &Left<'_>,
    go_on: &Act<'_>,
) -> Option<impl Iterator<Item = Files> + use<>> {
    let mut rng = Rng(left.seed | 1);
    if rng.below(4) != 0 && patience() == 1 {
        return None;
    }
    let next = SimDisk::with_files(left.files);
    let before = next.ops();
    let counted = next.copy();
    let _ = go_on(counted.folder());
    next.cut_after(rng.below(counted.ops() - before + 1));
    let _ = go_on(next.folder());
    Some(next.after_cut(3, left.seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Access;

    /// A header counts what is not synced: of all that may be lost, the one write that has to be is
    /// shown as lost.
    #[test]
    fn what_fails_is_told_with_as_few_losses_as_will_do() {
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
        disk.settle();
        let scene = Scene {
            name: "a header".into(),
            disk,
            act: &act,
            read: &read,
            go_on: &|_| Ok(()),
        };
        let found = check(&scene, 60, None).violations;
        let lines: Vec<&str> = found[0].lines().collect();
        assert_eq!(lines.len(), 1 + 5, "{lines:?}");
        assert!(
            lines[0].starts_with("a header, cut 5 of 6: a reader saw another state"),
            "{lines:?}"
        );
        let hurt: Vec<_> = lines[1..]
            .iter()
            .filter(|l| !l.ends_with(": kept"))
            .collect();
        assert!(
            hurt.len() == 1 && hurt[0].contains("write \"x\" at ") && !hurt[0].contains(" at 0,"),
            "{lines:?}"
        );
        assert!(found[1..].iter().all(|v| v.lines().count() == 1));
    }
}
