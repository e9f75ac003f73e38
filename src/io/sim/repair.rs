//! Repairs under a failing power supply: what is left is as damaged as before, or repaired, and one
//! more repair brings it to the same end. So nothing that was whole is lost by a repair that was
//! cut off.

use super::check::{Act, Left, Read, after, each_state, look, said, second_crash};
use super::{Files, SimDisk, Tally, Wrong};
use crate::error::{Error, Status};
use crate::io::overlay;

/// One repair, of a disk as damage left it.
pub struct Mending<'a> {
    /// For messages.
    pub name: String,
    /// The disk before.
    pub disk: SimDisk,
    /// Repairs it.
    pub repair: &'a Act<'a>,
    /// What a reader sees, around the damage if there is any and that can be; an error has to be
    /// one that tells of damage.
    pub read: &'a Read<'a>,
}

/// Cuts the power before every operation of the repair; then again while the next repair goes on
/// from there.
pub fn check_repair(m: &Mending<'_>, per_cut: usize, wrong: Option<Wrong>) -> Tally {
    let tells_of_damage = |e: Error| match e.status {
        Status::Format | Status::Checksum | Status::Version | Status::Missing | Status::Codec => {
            "damaged".to_owned()
        }
        _ => e.to_string(),
    };
    let old = look(m.read, &m.disk.contents()).map_err(tells_of_damage);
    let new = after(&m.name, &m.disk, m.repair, m.read);
    let dry = |files: &Files, words: &str| {
        let disk = SimDisk::with_files(files);
        let (folder, before) = (overlay::alone(disk.folder()), disk.ops());
        let end = (m.repair)(folder.clone()).and_then(|()| (m.read)(folder));
        assert!(
            (disk.ops(), &disk.contents()) == (before, files),
            "{}: {words} changed the disk",
            m.name
        );
        (!end.as_ref().is_ok_and(|end| *end == new)).then(|| said(words, &end))
    };
    assert_eq!(
        dry(&m.disk.contents(), "the dry run came to another end:"),
        None,
        "{}",
        m.name
    );
    let judge = |left: &Left<'_>, tried: &mut usize| {
        let seen = look(m.read, left.files).map_err(tells_of_damage);
        if seen.as_ref() != Ok(&new) && (left.done || seen != old) {
            return Some(format!(
                "neither damaged as before nor repaired: {:?}",
                seen.err()
            ));
        }
        let again = |files: &_, words: &str| {
            let disk = SimDisk::with_files(files);
            let end = (m.repair)(disk.folder()).and_then(|()| (m.read)(disk.folder()));
            (!end.as_ref().is_ok_and(|end| *end == new)).then(|| said(words, &end))
        };
        let once = dry(
            left.files,
            "the dry run of the next repair came to another end:",
        );
        once.or_else(|| again(left.files, "the next repair came to another end:"))
            .or_else(|| {
                second_crash(left, m.repair)?.find_map(|files| {
                    *tried += 1;
                    again(
                        &files,
                        "the repair after a second crash came to another end:",
                    )
                })
            })
    };
    each_state(&m.name, &m.disk, m.repair, per_cut, wrong, &judge)
}
