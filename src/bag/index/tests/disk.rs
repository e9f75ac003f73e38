//! Making an index on the simulated disk: it is there as a whole, or as it was before.

use super::*;
use crate::io::sim::{self, Scene};

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
    keys.iter().map(|k| Ok(index.find(k)?.iter().flat_map(|r| r.to_le_bytes()).collect())).collect()
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
        ("in place of a stale one", disk(&[some_keys(300, 41), keys()]), Mode::Replace),
    ]
}

fn check_all(pairs: &[(Opt, i64)], lie: Option<usize>) -> (usize, Vec<String>) {
    let (mut states, mut violations) = (0, Vec::new());
    for (name, disk, mode) in disks() {
        let scene = Scene {
            name: format!("{name} {pairs:?}"),
            disk,
            act: &|folder| act(folder, mode, pairs),
            read: &|folder| read(folder, &keys()),
            go_on: &|folder| match mode {
                // what another state of the disk has must stay as it is: nothing is made where nothing was
                Mode::New => Ok(()),
                _ => act(folder, Mode::Replace, &[]),
            },
        };
        let t = sim::check(&scene, 60, lie);
        states += t.states;
        violations.extend(t.violations);
    }
    (states, violations)
}

#[test]
fn a_failing_power_supply_leaves_the_old_index_or_the_new() {
    let (mut states, mut violations) = (0, Vec::new());
    for pairs in [&[(Opt::Threads, 1)][..], &[(Opt::Threads, 1), (Opt::MemoryLimit, 40_000)]] {
        let (s, v) = check_all(pairs, None);
        states += s;
        // the next one makes a stale index right
        violations.extend(v.into_iter().filter(|v| !(v.contains("stale") && v.contains("next writer changed"))));
    }
    println!("simulated disk: {states} states, {} violations", violations.len());
    assert!(violations.is_empty(), "{}", violations[..violations.len().min(10)].join("\n"));
    assert!(states > 150, "{states}");
}

#[test]
fn the_rig_notices_when_a_sync_is_missing() {
    let (_, violations) = check_all(&[(Opt::Threads, 1)], Some(0));
    assert!(!violations.is_empty());
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
            assert!(after == before || after == read(whole.folder(), &keys()).ok(), "{name} {full}");
            act(disk.folder(), Mode::Replace, &[]).unwrap();
            assert_eq!(read(disk.folder(), &keys()).ok(), read(whole.folder(), &keys()).ok());
        }
    }
}
