//! Repairs of bags under a failing power supply, and of bags that need none.

use super::tests::{FORMS, Form, NAME, all, bag, disk_with, go_on, put, small};
use super::*;
use crate::io::sim::{self, Mending, Proof, Scene, SimDisk, Tally, Wrong};

/// A pair as the Bagz writer leaves it when it is cut off; the first `lost` limits' records are torn off.
fn unfinished(records: &[Vec<u8>], codec: i64, torn: usize) -> SimDisk {
    let disk = SimDisk::default();
    put(disk.folder(), Mode::New, Form { separate: 1, codec, sums: 0, name: NAME }, records).unwrap();
    let mut files = disk.contents();
    let data = files.get_mut(OsStr::new(NAME)).unwrap();
    data.truncate(data.len() - torn);
    SimDisk::with_files(&files)
}

#[test]
fn a_failing_power_supply_leaves_repairs_whole_or_not_begun() {
    let mut proof = Proof::of("bag");
    for codec in [0, 6] {
        let records = small(0, 9);
        let tail = Form { separate: 0, codec, sums: 0, name: NAME };
        for torn in [0, 1] {
            let disk = unfinished(&records, codec, torn);
            let kept = if torn == 0 { &records[..] } else { &records[..8] };
            let repair = |folder: Arc<dyn Folder>| {
                let o = Options::new().with(Opt::Codec, codec)?;
                repair_in(&folder, OsStr::new(NAME), &o).map(|_| ())
            };
            // until it is repaired it reads with separate limits
            let read = |folder: Arc<dyn Folder>| match all(folder.clone(), tail) {
                Ok(r) => Ok(r),
                Err(_) => {
                    let b = bag(&folder, Form { separate: 1, ..tail })?;
                    Ok(b.read_range(0, kept.len() as u64)?.iter().map(<[u8]>::to_vec).collect())
                }
            };
            let go_on = |folder: Arc<dyn Folder>| repair(folder.clone()).and_then(|()| go_on(folder, tail));
            let scene = Scene { name: format!("repair {codec} {torn}"), disk: disk.copy(), act: &repair, read: &read, go_on: &go_on };
            proof.add("repair", sim::check(&scene, 60, None));
            let done = repair_in(&disk.folder(), OsStr::new(NAME), &Options::new().with(Opt::Codec, codec).unwrap()).unwrap();
            assert_eq!(done, Repaired { kept: kept.len() as u64, dropped: torn as u64 });
            assert_eq!(all(disk.folder(), tail).unwrap(), kept);
            assert_eq!(disk.contents().len(), 1);
        }
    }
    proof.stands(20);
}

#[test]
fn a_bag_that_is_whole_is_left_alone() {
    for &f in FORMS {
        let disk = disk_with(f, &small(0, 7));
        let before = disk.contents();
        let o = Options::new().with(Opt::BagLimits, f.separate).unwrap().with(Opt::Codec, f.codec).unwrap();
        assert_eq!(repair_in(&disk.folder(), OsStr::new(f.name), &o).unwrap(), Repaired { kept: 7, dropped: 0 });
        assert_eq!(disk.contents(), before);
    }
}

/// Bags of which limits are damaged, the forms in which they are to be opened, and what their records are once repaired.
fn damaged() -> Vec<(&'static str, Form, SimDisk, Vec<Vec<u8>>)> {
    let (records, mut found) = (small(0, 9), Vec::new());
    let mut add = |what, f: Form, file: &str, kept: usize, hurt: &dyn Fn(&mut Vec<u8>)| {
        let mut files = disk_with(f, &records).contents();
        hurt(files.get_mut(OsStr::new(file)).unwrap());
        found.push((what, f, SimDisk::with_files(&files), records[..kept].to_vec()));
    };
    for codec in [0, 6] {
        let tail = Form { separate: 0, codec, sums: 2, name: NAME };
        add("the last limit", tail, NAME, 9, &|b| b.iter_mut().rev().nth(7).map(|b| *b ^= 4).unwrap());
        let apart = Form { separate: 1, ..tail };
        add("a limit too much", apart, "limits.x.bag", 9, &|b| b.extend([1, 2, 3]));
        add("the last record is torn", apart, NAME, 8, &|b| b.truncate(b.len() - 1));
    }
    found
}

fn options(f: Form) -> Options {
    Options::new().with(Opt::Codec, f.codec).unwrap().with(Opt::BagLimits, f.separate).unwrap()
}

fn check(what: &str, f: Form, disk: &SimDisk, per_cut: usize, wrong: Option<Wrong>) -> Tally {
    let repair = |folder: Arc<dyn Folder>| repair_in(&folder, OsStr::new(NAME), &options(f)).map(|_| ());
    let name = format!("repair, {what}, {f:?}");
    sim::check_repair(&Mending { name, disk: disk.copy(), repair: &repair, read: &|folder| all(folder, f) }, per_cut, wrong)
}

#[test]
fn a_failing_power_supply_leaves_repairs_of_limits_whole_or_to_be_done_again() {
    let mut proof = Proof::of("bag");
    for (what, f, disk, kept) in damaged() {
        proof.add(&format!("repair: {what}"), check(what, f, &disk, 60, None));
        repair_in(&disk.folder(), OsStr::new(NAME), &options(f)).unwrap();
        assert!(all(disk.folder(), f).unwrap() == kept, "{what}, {f:?}");
    }
    proof.stands(30);
}

#[test]
fn mutations_of_a_repair_are_noticed() {
    let damage = damaged();
    let checks: Vec<_> = damage.iter().map(|(what, f, disk, _)| (*what, |wrong| check(what, *f, disk, 100, wrong))).collect();
    sim::mutations_of_repairs("bag", 2, &checks);
}
