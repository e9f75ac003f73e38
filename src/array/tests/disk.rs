//! Tests of every operation that changes an array, on the simulated disk.

use super::Array;
use crate::dtype::Dtype;
use crate::dtype::numpy_meta::{ArrayMeta, Order};
use crate::error::{Result, Status};
use crate::io::Folder;
use crate::io::sim::{self, Fault, Rng, Scenario, SimDisk, StateCounts, Tally};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Bloscpack, Mode};
use std::ffi::OsStr;
use std::sync::Arc;

const NAME: &str = "x.blp";
/// Number of positions of the slowest dimension, and bytes of each: 5 items of 4 bytes.
const SLABS: u64 = 90;
const SLAB_BYTES: u64 = 20;

/// Order, header layout, checksum. Chunks end within items.
const FORMS: &[(Order, i64, i64)] = &[(Order::C, 3, 2), (Order::Fortran, 3, 0), (Order::C, 103, 6)];

fn noise(seed: u64, len: u64) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..len).map(|_| (rng.draw() >> 24) as u8).collect()
}

fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

fn open(folder: &Arc<dyn Folder>, mode: Mode) -> Result<Array> {
    Array::open_in(folder, OsStr::new(NAME), mode, &options())
}

fn axis(a: &Array) -> usize {
    a.slowest().unwrap()
}

/// Returns a disk with an array of several chunks.
fn base((order, version, checksum): (Order, i64, i64)) -> SimDisk {
    let disk = SimDisk::default();
    let o = options()
        .with(Opt::ChunkBytes, 330)
        .unwrap()
        .with(Opt::FormatVersion, version)
        .unwrap()
        .with(Opt::Checksum, checksum)
        .unwrap();
    let mut file =
        Bloscpack::create_in(&disk.folder(), OsStr::new(NAME), Mode::New, 1, &o).unwrap();
    let shape = if order == Order::C {
        vec![SLABS, 5]
    } else {
        vec![5, SLABS]
    };
    let meta = ArrayMeta {
        dtype: Dtype::parse("<i4").unwrap(),
        shape,
        order,
    };
    file.meta_set(Some(meta.to_json().as_bytes())).unwrap();
    file.append(&noise(1, SLABS * SLAB_BYTES)).unwrap();
    file.commit().unwrap();
    drop(file);
    disk.make_durable();
    disk
}

/// Returns the content by positions of the slowest dimension, so that an append adds elements and
/// the list reflects the shape.
fn slabs(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let a = open(folder, Mode::Read)?;
    let mut bytes = vec![0xee; a.nbytes() as usize];
    a.read(&[0, 0], a.shape(), None, &mut bytes, None)?;
    let n = a.shape()[axis(&a)] as usize;
    if axis(&a) == 0 {
        return Ok(bytes
            .chunks((bytes.len() / n.max(1)).max(1))
            .map(<[u8]>::to_vec)
            .collect());
    }
    Ok((0..n)
        .map(|i| {
            bytes
                .chunks(4)
                .skip(i)
                .step_by(n)
                .flatten()
                .copied()
                .collect()
        })
        .collect())
}

fn append(a: &mut Array, seed: u64, n: u64) -> Result<()> {
    a.append(axis(a), n, &noise(seed, n * 4 * a.shape()[1 - axis(a)]))
}

fn insert(a: &mut Array, at: u64, n: u64) -> Result<()> {
    a.insert(axis(a), at, n, &noise(at + n, n * SLAB_BYTES))
}

fn remove(a: &mut Array, at: u64, n: u64) -> Result<()> {
    a.remove(axis(a), at, n)
}

type Change = fn(&mut Array) -> Result<()>;

const CHANGES: &[(&str, Change)] = &[
    ("append", |a| append(a, 2, 7)),
    ("append much", |a| append(a, 2, 2000)),
    ("write", |a| {
        let count = [3, 4];
        a.write(&[1, 0], &count, None, &noise(3, 48), None)
    }),
    ("insert in the first chunk", |a| insert(a, 3, 5)),
    ("insert at the beginning", |a| insert(a, 0, 1)),
    ("insert near the end", |a| insert(a, SLABS - 1, 1)),
    ("insert whole chunks", |a| insert(a, 33, 33)),
    ("insert more than is buffered in memory", |a| {
        insert(a, 40, 2000)
    }),
    ("insert at the end", |a| insert(a, SLABS, 9)),
    ("remove the first", |a| remove(a, 0, 1)),
    ("remove in the middle", |a| remove(a, 20, 40)),
    ("remove whole chunks", |a| remove(a, 33, 33)),
    ("remove the last", |a| remove(a, SLABS - 5, 5)),
    ("remove all", |a| remove(a, 0, SLABS)),
    ("resize", |a| {
        a.resize(
            &a.shape()
                .iter()
                .map(|n| if *n == 5 { 5 } else { 120 })
                .collect::<Vec<_>>(),
        )
    }),
    ("insert into the other dimension", |a| {
        a.insert(1 - axis(a), 2, 3, &noise(5, 3 * SLABS * 4))
    }),
    ("remove from the other dimension", |a| {
        a.remove(1 - axis(a), 1, 2)
    }),
    ("resize both", |a| {
        a.resize(
            &a.shape()
                .iter()
                .map(|n| if *n == 5 { 7 } else { 60 })
                .collect::<Vec<_>>(),
        )
    }),
    ("remove, insert, append", |a| {
        remove(a, 5, 10)
            .and_then(|()| insert(a, 70, 20))
            .and_then(|()| append(a, 4, 3))
    }),
];

fn act(folder: &Arc<dyn Folder>, change: Change) -> Result<()> {
    let mut a = open(folder, Mode::Append)?;
    change(&mut a)?;
    a.commit()
}

fn check(
    name: &str,
    disk: &SimDisk,
    change: Change,
    per_cut: usize,
    wrong: Option<Fault>,
) -> Tally {
    let go_on: Change = |a| append(a, 9, 1);
    let scene = Scenario {
        name: name.into(),
        disk: disk.copy(),
        act: &|folder| act(&folder, change),
        read: &|folder| slabs(&folder),
        next_commit: &|folder| act(&folder, go_on),
    };
    sim::check(&scene, per_cut, wrong)
}

#[test]
fn a_power_failure_leaves_the_old_array_or_the_new() {
    let mut state_counts = StateCounts::of("array in a superchunk");
    for form in FORMS {
        let disk = base(*form);
        for (name, change) in CHANGES {
            state_counts.add(
                name,
                check(&format!("{form:?} {name}"), &disk, *change, 8, None),
            );
        }
    }
    state_counts.assert_complete(2_000);
}

#[test]
fn mutations_of_a_commit_are_noticed() {
    let disk = base(FORMS[0]);
    let some = CHANGES
        .iter()
        .filter(|(n, _)| ["append", "write", "insert in the first chunk"].contains(n));
    let checks: Vec<_> = some
        .map(|(name, change)| (*name, |wrong| check(name, &disk, *change, 60, wrong)))
        .collect();
    sim::mutations("array in a superchunk", 3, &checks);
}

#[test]
fn failed_changes_leave_the_array_as_it_was() {
    let mut failed = 0;
    for form in FORMS {
        let disk = base(*form);
        let old = slabs(&disk.folder()).unwrap();
        for (name, change) in CHANGES {
            for k in 0.. {
                let d = disk.copy();
                let mut a = open(&d.folder(), Mode::Append).unwrap();
                d.full_after(k);
                let before = d.ops();
                let done = change(&mut a);
                if done.is_ok() && d.ops() - before <= k {
                    break;
                }
                // The disk has room again. A commit must not contain the failed change.
                assert_eq!(done.unwrap_err().status, Status::Io, "{name}");
                a.commit().unwrap();
                drop(a);
                assert!(slabs(&d.folder()).unwrap() == old, "{form:?} {name} at {k}");
                failed += 1;
            }
        }
    }
    println!("{failed} changes failed");
    assert!(failed > 20, "{failed}");
}
