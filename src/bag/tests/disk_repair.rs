//! Repairs of bags under power failures, and of bags that need none.

use super::dictionary::of_records;
use super::{FORMS, Form, NAME, all, bag, disk_with, go_on, put, small};
use crate::bag::*;
use crate::io::sim::{self, Fault, RepairScenario, Scenario, SimDisk, StateCounts, Tally};

/// The pair of files that an interrupted Bagz writer leaves, without the last `torn` bytes of the
/// records.
fn unfinished(records: &[Vec<u8>], codec: i64, torn: usize) -> SimDisk {
    let disk = SimDisk::default();
    put(
        disk.folder(),
        Mode::New,
        Form {
            separate: 1,
            codec,
            checksums: 0,
            dictionary: false,
            name: NAME,
        },
        records,
    )
    .unwrap();
    let mut files = disk.contents();
    let data = files.get_mut(OsStr::new(NAME)).unwrap();
    data.truncate(data.len() - torn);
    SimDisk::with_files(&files)
}

#[test]
fn a_power_failure_leaves_repairs_complete_or_not_begun() {
    let mut state_counts = StateCounts::of("bag");
    for codec in [0, 6] {
        let records = small(0, 9);
        let tail = Form {
            separate: 0,
            codec,
            checksums: 0,
            dictionary: false,
            name: NAME,
        };
        for torn in [0, 1] {
            let disk = unfinished(&records, codec, torn);
            let retained = if torn == 0 {
                &records[..]
            } else {
                &records[..8]
            };
            let repair = |folder: Arc<dyn Folder>| {
                let o = Options::new().with(Opt::Codec, codec)?;
                repair_in(&folder, OsStr::new(NAME), &o).map(|_| ())
            };
            // Before the repair it is readable with separate limits.
            let read = |folder: Arc<dyn Folder>| match all(folder.clone(), tail) {
                Ok(r) => Ok(r),
                Err(_) => {
                    let b = bag(
                        &folder,
                        Form {
                            separate: 1,
                            ..tail
                        },
                    )?;
                    Ok(b.read_range(0, retained.len() as u64)?
                        .iter()
                        .map(<[u8]>::to_vec)
                        .collect())
                }
            };
            let go_on =
                |folder: Arc<dyn Folder>| repair(folder.clone()).and_then(|()| go_on(folder, tail));
            let scene = Scenario {
                name: format!("repair {codec} {torn}"),
                disk: disk.copy(),
                act: &repair,
                read: &read,
                next_commit: &go_on,
            };
            state_counts.add("repair", sim::check(&scene, 60, None));
            let done = repair_in(
                &disk.folder(),
                OsStr::new(NAME),
                &Options::new().with(Opt::Codec, codec).unwrap(),
            )
            .unwrap();
            assert_eq!(
                done,
                Repaired {
                    retained: retained.len() as u64,
                    dropped: torn as u64
                }
            );
            assert_eq!(all(disk.folder(), tail).unwrap(), retained);
            assert_eq!(disk.contents().len(), 1);
        }
    }
    state_counts.assert_complete(20);
}

#[test]
fn a_consistent_bag_is_not_changed() {
    for &f in FORMS {
        let disk = disk_with(f, &small(0, 7));
        let before = disk.contents();
        let o = Options::new()
            .with(Opt::BagLimits, f.separate)
            .unwrap()
            .with(Opt::Codec, f.codec)
            .unwrap();
        assert_eq!(
            repair_in(&disk.folder(), OsStr::new(f.name), &o).unwrap(),
            Repaired {
                retained: 7,
                dropped: 0
            }
        );
        assert_eq!(disk.contents(), before);
    }
}

/// Bags with damaged limits, the forms to open them in, and the records after the repair.
fn damaged() -> Vec<(&'static str, Form, SimDisk, Vec<Vec<u8>>)> {
    let (records, mut found) = (small(0, 9), Vec::new());
    let mut add =
        |what, f: Form, file: &str, retained: usize, damaged_files: &dyn Fn(&mut Vec<u8>)| {
            let mut files = disk_with(f, &records).contents();
            damaged_files(files.get_mut(OsStr::new(file)).unwrap());
            found.push((
                what,
                f,
                SimDisk::with_files(&files),
                records[..retained].to_vec(),
            ));
        };
    for codec in [0, 6] {
        let tail = Form {
            separate: 0,
            codec,
            checksums: 2,
            dictionary: false,
            name: NAME,
        };
        add("the last limit", tail, NAME, 9, &|b| {
            b.iter_mut().rev().nth(7).map(|b| *b ^= 4).unwrap()
        });
        let apart = Form {
            separate: 1,
            ..tail
        };
        add("a limit too much", apart, "limits.x.bag", 9, &|b| {
            b.extend([1, 2, 3])
        });
        add("the last record is torn", apart, NAME, 8, &|b| {
            b.truncate(b.len() - 1)
        });
    }
    for separate in [0, 1] {
        let f = Form {
            separate,
            codec: 6,
            checksums: 2,
            dictionary: true,
            name: NAME,
        };
        add("the dictionary", f, NAME, 9, &|b| {
            let dictionary = of_records();
            let n = dictionary.len();
            let at = b.windows(n).position(|w| *w == *dictionary).unwrap();
            b[at + n / 4..at + n / 2].iter_mut().for_each(|b| *b ^= 1);
        });
    }
    found
}

fn options(f: Form) -> Options {
    let mut o = Options::new()
        .with(Opt::Codec, f.codec)
        .unwrap()
        .with(Opt::BagLimits, f.separate)
        .unwrap();
    if f.dictionary {
        o.set_bytes(Opt::Dictionary, &of_records()).unwrap();
    }
    o
}

fn check(what: &str, f: Form, disk: &SimDisk, per_cut: usize, wrong: Option<Fault>) -> Tally {
    let repair =
        |folder: Arc<dyn Folder>| repair_in(&folder, OsStr::new(NAME), &options(f)).map(|_| ());
    let name = format!("repair, {what}, {f:?}");
    sim::check_repair(
        &RepairScenario {
            name,
            disk: disk.copy(),
            repair: &repair,
            read: &|folder| all(folder, f),
        },
        per_cut,
        wrong,
    )
}

#[test]
fn a_power_failure_leaves_repairs_of_limits_complete_or_repeatable() {
    let mut state_counts = StateCounts::of("bag");
    for (what, f, disk, retained) in damaged() {
        state_counts.add(&format!("repair: {what}"), check(what, f, &disk, 60, None));
        repair_in(&disk.folder(), OsStr::new(NAME), &options(f)).unwrap();
        assert!(all(disk.folder(), f).unwrap() == retained, "{what}, {f:?}");
    }
    state_counts.assert_complete(30);
}

#[test]
fn mutations_of_a_repair_are_detected() {
    let damage = damaged();
    let checks: Vec<_> = damage
        .iter()
        .map(|(what, f, disk, _)| (*what, |wrong| check(what, *f, disk, 100, wrong)))
        .collect();
    sim::mutations_of_repairs("bag", 2, &checks);
}

fn frames_form(checksums: i64) -> Form {
    Form {
        separate: 0,
        codec: 6,
        checksums,
        dictionary: false,
        name: NAME,
    }
}

fn take_frames(folder: &Arc<dyn Folder>) -> Result<Repaired> {
    let o = Options::new()
        .with(Opt::Codec, 6)?
        .with(Opt::SkipDamaged, 1)?;
    repair_in(folder, OsStr::new(NAME), &o)
}

/// A bag that was truncated at any byte offers the intact frames, and takes them if requested. The
/// rest is preserved.
#[test]
fn the_intact_frames_of_a_truncated_bag_are_offered() {
    for checksums in [0, 2] {
        let records: Vec<Vec<u8>> = (0..12u8).map(|i| vec![i; 1 + usize::from(i) * 9]).collect();
        let disk = SimDisk::default();
        put(disk.folder(), Mode::New, frames_form(checksums), &records).unwrap();
        let whole = disk.contents().remove(OsStr::new(NAME)).unwrap();
        let ends: Vec<u64> = whole[whole.len() - 8 * records.len()..]
            .chunks(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let mut offered = 0;
        for cut in 1..whole.len() {
            let disk = SimDisk::with_files(&[(NAME.into(), whole[..cut].to_vec())].into());
            let retained = ends.iter().filter(|&&e| e <= cut as u64).count();
            let o = Options::new().with(Opt::Codec, 6).unwrap();
            let before = disk.contents();
            match repair_in(&disk.folder(), OsStr::new(NAME), &o) {
                // The frames allow a damaged last limit to be corrected.
                Ok(done) => assert!(done.retained <= retained as u64, "{cut}"),
                Err(e) => {
                    assert_eq!(disk.contents(), before, "{cut}");
                    assert_eq!(
                        e.message
                            .contains(&format!("{retained} intact zstd frames")),
                        retained > 0,
                        "{cut}: {e}"
                    );
                    if retained == 0 {
                        assert!(take_frames(&disk.folder()).is_err(), "{cut}");
                        continue;
                    }
                    offered += 1;
                    let end = ends[retained - 1] as usize;
                    assert_eq!(
                        take_frames(&disk.folder()).unwrap(),
                        Repaired {
                            retained: retained as u64,
                            dropped: u64::from(end < cut)
                        },
                        "{cut}"
                    );
                    assert!(
                        all(disk.folder(), frames_form(checksums)).unwrap() == records[..retained],
                        "{cut}"
                    );
                    let rest = disk
                        .contents()
                        .remove(OsStr::new("x.bag.holdall-damaged"))
                        .unwrap_or_default();
                    assert_eq!(rest, whole[end..cut], "{cut}");
                }
            }
        }
        assert!(offered > whole.len() / 2, "{offered} of {}", whole.len());
    }
}

#[test]
fn a_power_failure_leaves_a_repair_from_frames_complete_or_repeatable() {
    let disk = SimDisk::default();
    put(disk.folder(), Mode::New, frames_form(2), &small(0, 9)).unwrap();
    let whole = disk.contents().remove(OsStr::new(NAME)).unwrap();
    let disk = SimDisk::with_files(&[(NAME.into(), whole[..whole.len() / 2].to_vec())].into());
    let repair = |folder: Arc<dyn Folder>| take_frames(&folder).map(|_| ());
    let scenario = RepairScenario {
        name: "repair, frames alone".into(),
        disk,
        repair: &repair,
        read: &|folder| all(folder, frames_form(2)),
    };
    let mut state_counts = StateCounts::of("bag");
    state_counts.add(
        "repair: frames alone",
        sim::check_repair(&scenario, 60, None),
    );
    state_counts.assert_complete(10);
}
