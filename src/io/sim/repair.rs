//! Repairs under power failures: the remaining state is either as damaged as before or repaired,
//! and another repair brings it to the same result. An interrupted repair therefore loses no intact
//! data.

use super::check::{Act, CrashState, Read, after, describe, each_state, read_files, second_crash};
use super::{Fault, Files, SimDisk, Tally};
use crate::error::{Error, Status};
use crate::io::overlay;

/// A repair of a damaged disk.
pub struct RepairScenario<'a> {
    /// Name for messages.
    pub name: String,
    /// The damaged disk.
    pub disk: SimDisk,
    /// Performs the repair.
    pub repair: &'a Act<'a>,
    /// Returns what a reader sees, reading around the damage where possible. An error must be one
    /// that reports corruption.
    pub read: &'a Read<'a>,
}

/// Cuts the power before every operation of the repair, and again during the next repair.
pub fn check_repair(scenario: &RepairScenario<'_>, per_cut: usize, fault: Option<Fault>) -> Tally {
    let status_of_damage = |e: Error| match e.status {
        Status::Format | Status::Checksum | Status::Version | Status::Missing | Status::Codec => {
            "damaged".to_owned()
        }
        _ => e.to_string(),
    };
    let old = read_files(scenario.read, &scenario.disk.contents()).map_err(status_of_damage);
    let new = after(
        &scenario.name,
        &scenario.disk,
        scenario.repair,
        scenario.read,
    );
    let dry = |files: &Files, text: &str| {
        let disk = SimDisk::with_files(files);
        let (folder, before) = (overlay::standalone(disk.folder()), disk.ops());
        let end = (scenario.repair)(folder.clone()).and_then(|()| (scenario.read)(folder));
        assert!(
            (disk.ops(), &disk.contents()) == (before, files),
            "{}: {text} changed the disk",
            scenario.name
        );
        (!end.as_ref().is_ok_and(|end| *end == new)).then(|| describe(text, &end))
    };
    assert_eq!(
        dry(
            &scenario.disk.contents(),
            "the dry run came to another end:"
        ),
        None,
        "{}",
        scenario.name
    );
    let judge = |left: &CrashState<'_>, tried: &mut usize| {
        let seen = read_files(scenario.read, left.files).map_err(status_of_damage);
        if seen.as_ref() != Ok(&new) && (left.done || seen != old) {
            return Some(format!(
                "neither damaged as before nor repaired: {:?}",
                seen.err()
            ));
        }
        let again = |files: &_, text: &str| {
            let disk = SimDisk::with_files(files);
            let end =
                (scenario.repair)(disk.folder()).and_then(|()| (scenario.read)(disk.folder()));
            (!end.as_ref().is_ok_and(|end| *end == new)).then(|| describe(text, &end))
        };
        let once = dry(
            left.files,
            "the dry run of the next repair came to another end:",
        );
        once.or_else(|| again(left.files, "the next repair came to another end:"))
            .or_else(|| {
                second_crash(left, scenario.repair)?.find_map(|files| {
                    *tried += 1;
                    again(
                        &files,
                        "the repair after a second crash came to another end:",
                    )
                })
            })
    };
    each_state(
        &scenario.name,
        &scenario.disk,
        scenario.repair,
        per_cut,
        fault,
        &judge,
    )
}
