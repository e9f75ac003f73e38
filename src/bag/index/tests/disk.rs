//! Creating an index on the simulated disk: after a failure the disk has the complete new index or
//! the previous state.

use super::*;
use crate::io::sim::{self, Fault, RepairScenario, Scenario, StateCounts, Tally};

fn keys() -> Vec<Vec<u8>> {
    some_keys(400, 37)
}

/// Returns all rows of the index, or `stale` if the index does not belong to the bag.
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

/// The initial disks: no index, an index of the same bag, an index of an earlier state of the bag.
fn disks() -> [(&'static str, SimDisk, Mode); 3] {
    let disk = |with: &[Vec<Vec<u8>>]| {
        let disk = SimDisk::default();
        for keys in with {
            put(&disk.folder(), BAG, keys);
            if !std::ptr::eq(keys, &with[with.len() - 1]) {
                act(disk.folder(), Mode::Replace, &[]).unwrap();
            }
        }
        disk.make_durable();
        disk
    };
    [
        ("new", disk(&[keys()]), Mode::New),
        ("replaced", disk(&[keys(), keys()]), Mode::Replace),
        (
            "replaced stale index",
            disk(&[some_keys(300, 41), keys()]),
            Mode::Replace,
        ),
    ]
}

fn check(
    (name, disk, mode): &(&str, SimDisk, Mode),
    pairs: &[(Opt, i64)],
    wrong: Option<Fault>,
) -> Tally {
    let scenario = Scenario {
        name: format!("{name} {pairs:?}"),
        disk: disk.copy(),
        act: &|folder| act(folder, *mode, pairs),
        read: &|folder| read(folder, &keys()),
        next_commit: &|folder| match mode {
            // nothing is written: without an index in the initial state, the next commit must not
            // change the disk
            Mode::New => Ok(()),
            _ => act(folder, Mode::Replace, &[]),
        },
    };
    let mut t = sim::check(&scenario, 60, wrong);
    // the next commit replaces a stale index
    t.violations
        .retain(|v| !(v.contains("stale") && v.contains("next writer")));
    t
}

#[test]
fn a_power_failure_leaves_the_old_index_or_the_new() {
    let mut state_counts = StateCounts::of("index of a bag");
    for pairs in [
        &[(Opt::Threads, 1)][..],
        &[(Opt::Threads, 1), (Opt::MemoryLimit, 40_000)],
    ] {
        disks()
            .iter()
            .for_each(|before| state_counts.add(before.0, check(before, pairs, None)));
    }
    state_counts.assert_complete(150);
}

/// An index is repaired by rebuilding it.
#[test]
fn a_power_failure_leaves_the_damaged_index_or_the_new() {
    let mut state_counts = StateCounts::of("index of a bag");
    // offsets after the magic
    for at in [20, 50, 700] {
        let mut files = disks()[1].1.contents();
        files.get_mut(OsStr::new(INDEX)).unwrap()[at] ^= 4;
        let repair = |folder| act(folder, Mode::Replace, &[(Opt::Threads, 1)]);
        let m = RepairScenario {
            name: format!("byte {at}"),
            disk: SimDisk::with_files(&files),
            repair: &repair,
            read: &|folder| read(folder, &keys()),
        };
        state_counts.add("replaced damaged index", sim::check_repair(&m, 60, None));
    }
    state_counts.assert_complete(30);
}

#[test]
fn the_simulation_detects_a_missing_sync() {
    assert!(
        !check(&disks()[1], &[(Opt::Threads, 1)], Some(Fault::Sync(0)))
            .violations
            .is_empty()
    );
}

#[test]
fn mutations_of_creating_an_index_are_detected() {
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
        let complete = disk.copy();
        act(complete.folder(), mode, &[(Opt::Threads, 1)]).unwrap();
        for full in 0..complete.ops() - disk.ops() {
            let disk = disk.copy();
            disk.full_after(full);
            if act(disk.folder(), mode, &[(Opt::Threads, 1)]).is_ok() {
                continue;
            }
            let after = read(disk.folder(), &keys()).ok();
            assert!(
                after == before || after == read(complete.folder(), &keys()).ok(),
                "{name} {full}"
            );
            act(disk.folder(), Mode::Replace, &[]).unwrap();
            assert_eq!(
                read(disk.folder(), &keys()).ok(),
                read(complete.folder(), &keys()).ok()
            );
        }
    }
}
