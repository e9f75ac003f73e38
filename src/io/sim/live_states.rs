//! States that are visible during a change without a power failure: on a full disk, and while the
//! writer is at work.

use super::SimDisk;
use super::check::{Scenario, Seen, after, read_files};
use crate::error::{Result, Status};
use crate::io::Folder;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

/// Lets each operation of the change fail as on a full disk. The old content must remain, unless
/// the change completed. The next writer must succeed, and must leave no files that a successful
/// change does not leave.
pub fn check_full(scenario: &Scenario<'_>) {
    let (name, old) = (
        &scenario.name,
        read_files(scenario.read, &scenario.disk.contents()),
    );
    let new = Ok(after(name, &scenario.disk, scenario.act, scenario.read));
    let known = &names(scenario, true) | &names(scenario, false);
    for k in 0..operations(scenario) {
        let disk = scenario.disk.copy();
        disk.full_after(k);
        let done = (scenario.act)(disk.folder());
        let got = (scenario.read)(disk.folder());
        assert!(
            got == new || (done.is_err() && unchanged(&got, &old)),
            "{name} at {k}: {done:?} {got:?}"
        );
        (scenario.next_commit)(disk.folder())
            .unwrap_or_else(|e| panic!("{name} at {k}: {e} {:?}", disk.contents().keys()));
        let left: Vec<_> = disk
            .contents()
            .into_keys()
            .filter(|n| !known.contains(n))
            .collect();
        assert!(left.is_empty(), "{name} at {k}: leftover files {left:?}");
    }
}

/// Verifies that a reader after each operation of the change sees the old or the new content.
pub fn check_readers(scenario: &Scenario<'_>) {
    let old = read_files(scenario.read, &scenario.disk.contents());
    let new = Ok(after(
        &scenario.name,
        &scenario.disk,
        scenario.act,
        scenario.read,
    ));
    for k in 0..=operations(scenario) {
        let disk = scenario.disk.copy();
        disk.cut_after(k);
        let _ = (scenario.act)(disk.folder());
        let got = (scenario.read)(disk.folder());
        assert!(
            got == new || unchanged(&got, &old),
            "{} at {k}: {got:?}",
            scenario.name
        );
    }
}

/// Verifies that a reader that opened before the change sees the old content, or gets
/// [`Status::State`]. Tries every prefix of the writer's operations, and a failure of each
/// operation followed by the writer's rollback. Returns how many readers saw the content, and how
/// many got the error.
pub fn check_opened_before<R, S: PartialEq>(
    scenario: &Scenario<'_>,
    open: impl Fn(&Arc<dyn Folder>) -> Result<R>,
    see: impl Fn(&R) -> Result<S>,
) -> (usize, usize) {
    let old = open(&scenario.disk.folder())
        .and_then(|reader| see(&reader))
        .unwrap();
    let (mut saw, mut refused) = (0, 0);
    for (k, hinder) in (0..=operations(scenario))
        .flat_map(|k| [SimDisk::cut_after, SimDisk::full_after].map(|h| (k, h)))
    {
        let disk = scenario.disk.copy();
        let before = open(&disk.folder()).unwrap();
        hinder(&disk, k);
        let _ = (scenario.act)(disk.folder());
        match see(&before) {
            Ok(seen) => {
                assert!(seen == old, "{} at {k}", scenario.name);
                saw += 1;
            }
            Err(e) => {
                assert_eq!(e.status, Status::State, "{} at {k}: {e}", scenario.name);
                refused += 1;
            }
        }
    }
    (saw, refused)
}

fn operations(scenario: &Scenario<'_>) -> usize {
    let whole = scenario.disk.copy();
    (scenario.act)(whole.folder()).unwrap();
    whole.ops() - scenario.disk.ops()
}

/// Where no container existed, leftovers of the new one may exist.
fn unchanged(got: &Seen, old: &Seen) -> bool {
    let missing = |seen: &Seen| matches!(seen, Err(e) if e.status == Status::Missing);
    got == old || (missing(got) && missing(old))
}

fn names(scenario: &Scenario<'_>, changed: bool) -> BTreeSet<OsString> {
    let disk = scenario.disk.copy();
    if changed {
        (scenario.act)(disk.folder()).unwrap();
    }
    let _ = (scenario.next_commit)(disk.folder());
    disk.contents().into_keys().collect()
}
