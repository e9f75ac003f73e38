//! Making an index on the simulated disk: it is there as a whole, or as it was before.

use super::*;
use crate::io::sim::{self, Mending, Proof, Scene, Tally, Wrong};

fn keys() -> Vec<Vec<u8>> {
    some_keys(400, 37)
}

/// All that the index says; where it is not of this bag, that it is not.
fn read(folder: Arc<dyn Folder>, keys: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let bag = open_bag(&folder);
    let index = match open(&folder, &bag, &[(Opt::Verify, 2)]) {
        Err(e) if e.status == Status::State => return Ok(vec![b"stale".to_vec()]),
        r => r?,
    };
    keys.iter()
        .map(|k| {
            Ok(index
                .find(k)?
                .iter()
                .flat_map(|r| r.to_le_bytes())
                .collect())
        })
        .collect()
}

fn act(folder: Arc<dyn Folder>, mode: Mode, pairs: &[(Opt, i64)]) -> Result<()> {
    let bag = open_bag(&folder);
    Index::create_in(&folder, OsStr::new(INDEX), mode, &bag, &options(pairs)).map(|_| ())
}

/// The disks before: no index, one of the same bag, one of the bag as it was before.
fn disks() -> [(&'static str, SimDisk, Mode); 3] {
    let disk = |with: &[Vec<Vec<u8>>]| {
        let disk = SimDisk::default();
        for keys in with {
            put(&disk.folder(), BAG, keys);
            if !std::ptr::eq(keys, &with[with.len() - 1]) {
                act(disk.folder(), Mode::Replace, &[]).unwrap();
            }
        }
        disk.settle();
        disk
    };
    [
        ("new", disk(&[keys()]), Mode::New),
        ("replaced", disk(&[keys(), keys()]), Mode::Replace),
        (
            "in place of a stale one",
            disk(&[some_keys(300, 41), keys()]),
            Mode::Replace,
        ),
    ]
}

fn check(
    (name, disk, mode): &(&str, SimDisk, Mode),
    pairs: &[(Opt, i64)],
    wrong: Option<Wrong>,
) -> Tally {
    let scene = Scene {
        name: format!("{name} {pairs:?}"),
        disk: disk.copy(),
        act: &|folder| act(folder, *mode, pairs),
        read: &|folder| read(folder, &keys()),
        go_on: &|folder| match mode {
            // what another state of the disk has must stay as it is: nothing is made where nothing
            // was
            Mode::New => Ok(()),
            _ => act(folder, Mode::Replace, &[]),
        },
    };
    let mut t = sim::check(&scene, 60, wrong);
    // the next one makes a stale index right
    t.violations
        .retain(|v| !(v.contains("stale") && v.contains("next writer")));
    t
}

#[test]
fn a_failing_power_supply_leaves_the_old_index_or_the_new() {
    let mut proof = Proof::of("index of a bag");
    for pairs in [
        &[(Opt::Threads, 1)][..],
        &[(Opt::Threads, 1), (Opt::MemoryLimit, 40_000)],
    ] {
        disks()
            .iter()
            .for_each(|before| proof.add(before.0, check(before, pairs, None)));
    }
    proof.stands(150);
}

/// An index is repaired by making it anew.
#[test]
fn a_failing_power_supply_leaves_a_damaged_index_or_the_new() {
    let mut proof = Proof::of("index of a bag");
    // behind what says that it is an index
    for at in [20, 50, 700] {
        let mut files = disks()[1].1.contents();
        files.get_mut(OsStr::new(INDEX)).unwrap()[at] ^= 4;
        let repair = |folder| act(folder, Mode::Replace, &[(Opt::Threads, 1)]);
        let m = Mending {
            name: format!("byte {at}"),
            disk: SimDisk::with_files(&files),
            repair: &repair,
            read: &|folder| read(folder, &keys()),
        };
        proof.add("in place of a damaged one", sim::check_repair(&m, 60, None));
    }
    proof.stands(30);
}

#[test]
fn the_rig_notices_when_a_sync_is_missing() {
    assert!(
        !check(&disks()[1], &[(Opt::Threads, 1)], Some(Wrong::Sync(0)))
            .violations
            .is_empty()
    );
}

#[test]
fn mutations_of_making_an_index_are_noticed() {
    let before = &disks()[1];
    sim::mutations(
        "index of a bag",
        2,
        &[("replaced", |wrong| {
            check(before, &[(Opt::Threads, 1)], wrong)
        })],
    );
}

#[test]
fn a_full_disk_leaves_the_old_index() {
    for (name, disk, mode) in disks() {
        let before = read(disk.folder(), &keys()).ok();
        let whole = disk.copy();
        act(whole.folder(), mode, &[(Opt::Threads, 1)]).unwrap();
        for full in 0..whole.ops() - disk.ops() {
            let disk = disk.copy();
            disk.full_after(full);
            if act(disk.folder(), mode, &[(Opt::Threads, 1)]).is_ok() {
                continue;
            }
            let after = read(disk.folder(), &keys()).ok();
            assert!(
                after == before || after == read(whole.folder(), &keys()).ok(),
                "{name} {full}"
            );
            act(disk.folder(), Mode::Replace, &[]).unwrap();
            assert_eq!(
                read(disk.folder(), &keys()).ok(),
                read(whole.folder(), &keys()).ok()
            );
        }
    }
}
