//! What is seen at each moment of a change while the machine runs on: where the disk is full, and
//! where its writer has got no further yet.

use super::SimDisk;
use super::check::{Scene, Seen, after, look};
use crate::error::{Result, Status};
use crate::io::Folder;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

/// Lets each operation of the change fail as a full disk does: what was there is there still,
/// unless all was done, and who writes next can, and leaves no file behind that changes which go
/// well do not leave.
pub fn check_full(scene: &Scene<'_>) {
    let (name, old) = (&scene.name, look(scene.read, &scene.disk.contents()));
    let new = Ok(after(name, &scene.disk, scene.act, scene.read));
    let known = &names(scene, true) | &names(scene, false);
    for k in 0..operations(scene) {
        let disk = scene.disk.copy();
        disk.full_after(k);
        let done = (scene.act)(disk.folder());
        let got = (scene.read)(disk.folder());
        assert!(
            got == new || (done.is_err() && unchanged(&got, &old)),
            "{name} at {k}: {done:?} {got:?}"
        );
        (scene.go_on)(disk.folder())
            .unwrap_or_else(|e| panic!("{name} at {k}: {e} {:?}", disk.contents().keys()));
        let left: Vec<_> = disk
            .contents()
            .into_keys()
            .filter(|n| !known.contains(n))
            .collect();
        assert!(left.is_empty(), "{name} at {k}: left behind {left:?}");
    }
}

/// A reader who comes after each operation of the change sees what was there, or all that is new.
pub fn check_readers(scene: &Scene<'_>) {
    let old = look(scene.read, &scene.disk.contents());
    let new = Ok(after(&scene.name, &scene.disk, scene.act, scene.read));
    for k in 0..=operations(scene) {
        let disk = scene.disk.copy();
        disk.cut_after(k);
        let _ = (scene.act)(disk.folder());
        let got = (scene.read)(disk.folder());
        assert!(
            got == new || unchanged(&got, &old),
            "{} at {k}: {got:?}",
            scene.name
        );
    }
}

/// Who opened before the change sees what was there, or is told that it has changed
/// ([`Status::State`]): where the writer has got no further, and where an operation failed and it
/// took back what it could. How many saw, and how many were told.
pub fn check_opened_before<R, S: PartialEq>(
    scene: &Scene<'_>,
    open: impl Fn(&Arc<dyn Folder>) -> Result<R>,
    see: impl Fn(&R) -> Result<S>,
) -> (usize, usize) {
    let old = open(&scene.disk.folder())
        .and_then(|reader| see(&reader))
        .unwrap();
    let (mut saw, mut told) = (0, 0);
    for (k, hinder) in (0..=operations(scene))
        .flat_map(|k| [SimDisk::cut_after, SimDisk::full_after].map(|h| (k, h)))
    {
        let disk = scene.disk.copy();
        let before = open(&disk.folder()).unwrap();
        hinder(&disk, k);
        let _ = (scene.act)(disk.folder());
        match see(&before) {
            Ok(seen) => {
                assert!(seen == old, "{} at {k}", scene.name);
                saw += 1;
            }
            Err(e) => {
                assert_eq!(e.status, Status::State, "{} at {k}: {e}", scene.name);
                told += 1;
            }
        }
    }
    (saw, told)
}

fn operations(scene: &Scene<'_>) -> usize {
    let whole = scene.disk.copy();
    (scene.act)(whole.folder()).unwrap();
    whole.ops() - scene.disk.ops()
}

/// Where nothing was, there may be traces of what will be.
fn unchanged(got: &Seen, old: &Seen) -> bool {
    let missing = |seen: &Seen| matches!(seen, Err(e) if e.status == Status::Missing);
    got == old || (missing(got) && missing(old))
}

fn names(scene: &Scene<'_>, changed: bool) -> BTreeSet<OsString> {
    let disk = scene.disk.copy();
    if changed {
        (scene.act)(disk.folder()).unwrap();
    }
    let _ = (scene.go_on)(disk.folder());
    disk.contents().into_keys().collect()
}
