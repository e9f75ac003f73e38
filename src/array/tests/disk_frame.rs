//! Tests of every operation that changes an array in a frame, on the simulated disk.

use super::Array;
use crate::array::NewLocation;
use crate::dataset::any::{self, create_in};
use crate::dataset::create::ArraySpec;
use crate::dataset::open::open_in;
use crate::error::Result;
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::{self, Fault, Rng, Scenario, SimDisk, StateCounts, Tally};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::sync::Arc;

/// (sparse, checksum, format): one file or a folder, with or without checksums, `b2nd` or
/// `caterva`.
const FORMS: &[(i64, i64, Format)] = &[
    (0, 2, Format::B2nd),
    (0, 0, Format::B2nd),
    (1, 2, Format::B2nd),
    (1, 0, Format::Caterva),
    (0, 2, Format::Caterva),
];
/// Items of 2 bytes in chunks of 4 by 3 items.
const SHAPE: [u64; 2] = [10, 7];

fn noise(seed: u64, items: u64) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..items * 2).map(|_| (rng.draw() >> 24) as u8).collect()
}

fn options() -> Options {
    // One thread, so that all runs are the same.
    Options::new().with(Opt::Threads, 1).unwrap()
}

fn new(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    (sparse, checksum, format): (i64, i64, Format),
) -> Result<Array> {
    let o = options()
        .with(Opt::Sparse, sparse)?
        .with(Opt::Checksum, checksum)?;
    create_in(
        folder,
        mode,
        &ArraySpec {
            dtype: "<i2",
            shape: &SHAPE,
            chunks: Some(&[4, 3]),
            format,
        },
        Some(&[2, 3]),
        &o,
    )
}

fn create(folder: &Arc<dyn Folder>, mode: Mode, form: (i64, i64, Format)) -> Result<()> {
    let mut a = new(folder, mode, form)?;
    write(&mut a, 1, [0, 0], SHAPE)?;
    a.attr_set("n", b"[1, 2]")?;
    a.commit()
}

fn base(form: (i64, i64, Format)) -> SimDisk {
    let disk = SimDisk::default();
    create(&disk.folder(), Mode::New, form).unwrap();
    disk.make_durable();
    disk
}

fn write(a: &mut Array, seed: u64, start: [u64; 2], count: [u64; 2]) -> Result<()> {
    a.write(
        &start,
        &count,
        None,
        &noise(seed, count[0] * count[1]),
        None,
    )
}

fn append(a: &mut Array, axis: usize, n: u64) -> Result<()> {
    a.append(axis, n, &noise(2, n * a.shape()[1 - axis]))
}

fn insert(a: &mut Array, axis: usize, at: u64, n: u64) -> Result<()> {
    a.insert(axis, at, n, &noise(3, n * a.shape()[1 - axis]))
}

/// Returns the attributes, then the items row by row. An append adds elements to this list.
fn visible_content(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let a = open_in(folder, Mode::Read, &options())?;
    let mut bytes = vec![0xee; a.nbytes() as usize];
    a.read(&[0, 0], a.shape(), None, &mut bytes, None)?;
    let beside = format!("{:?} {:?}", a.shape()[1], a.store().attr("n")?).into_bytes();
    let row = (a.shape()[1] as usize * 2).max(1);
    Ok(std::iter::once(beside)
        .chain(bytes.chunks(row).map(<[u8]>::to_vec))
        .collect())
}

/// Copies a box of an array: whole chunks, which are copied as they are stored, and parts.
fn copy_slice(folder: &Arc<dyn Folder>, mode: Mode, form: (i64, i64, Format)) -> Result<()> {
    let source = SimDisk::default();
    create(&source.folder(), Mode::New, form)?;
    let slice = open_in(&source.folder(), Mode::Read, &options())?.slice(&[4, 0], &[6, 5], None)?;
    let options = options().with(Opt::Sparse, form.0)?;
    let to = NewLocation::Storage(folder);
    any::copy(&slice, to, mode, form.2, [None; 2], &options).map(|_| ())
}

type Change = fn(&mut Array) -> Result<()>;

const CHANGES: &[(&str, Change)] = &[
    ("append", |a| append(a, 0, 1)),
    ("append whole chunks", |a| append(a, 0, 10)),
    ("append along the other dimension", |a| append(a, 1, 4)),
    ("write a box", |a| write(a, 4, [1, 1], [5, 4])),
    ("write an item", |a| write(a, 4, [9, 6], [1, 1])),
    ("write all", |a| write(a, 4, [0, 0], SHAPE)),
    ("insert", |a| insert(a, 0, 3, 2)),
    ("insert whole chunks", |a| insert(a, 0, 4, 4)),
    ("insert into the other dimension", |a| insert(a, 1, 5, 1)),
    ("remove", |a| a.remove(0, 2, 5)),
    ("remove whole chunks", |a| a.remove(0, 4, 4)),
    ("remove from the other dimension", |a| a.remove(1, 0, 2)),
    ("remove all", |a| a.remove(0, 0, SHAPE[0])),
    ("resize, longer", |a| a.resize(&[17, 9])),
    ("resize, shorter", |a| a.resize(&[5, 2])),
    ("resize, both", |a| a.resize(&[5, 11])),
    ("set an attribute", |a| a.attr_set("n", b"5")),
    ("remove, insert, append, and an attribute", |a| {
        a.remove(0, 1, 2)?;
        insert(a, 0, 5, 3)?;
        append(a, 0, 2)?;
        a.attr_set("n", b"[3]")
    }),
];

fn act(folder: &Arc<dyn Folder>, change: Change) -> Result<()> {
    let mut a = open_in(folder, Mode::Append, &options())?;
    change(&mut a)?;
    a.commit()
}

fn check(
    name: String,
    disk: &SimDisk,
    acts: &dyn Fn(Arc<dyn Folder>) -> Result<()>,
    per_cut: usize,
    wrong: Option<Fault>,
) -> Tally {
    let go_on = |folder: Arc<dyn Folder>| act(&folder, |a| append(a, 0, 1));
    sim::check(
        &Scenario {
            name,
            disk: disk.copy(),
            act: acts,
            read: &|folder| visible_content(&folder),
            next_commit: &go_on,
        },
        per_cut,
        wrong,
    )
}

#[test]
fn a_power_failure_leaves_the_old_array_or_the_new() {
    let mut state_counts = StateCounts::of("array in a frame");
    for form in FORMS {
        let disk = base(*form);
        for (name, change) in CHANGES {
            state_counts.add(
                name,
                check(
                    format!("{form:?} {name}"),
                    &disk,
                    &|folder| act(&folder, *change),
                    8,
                    None,
                ),
            );
        }
        for (name, disk, mode) in [
            ("create", &SimDisk::default(), Mode::New),
            ("replace", &disk, Mode::Replace),
        ] {
            state_counts.add(
                name,
                check(
                    format!("{form:?} {name}"),
                    disk,
                    &|folder| create(&folder, mode, *form),
                    8,
                    None,
                ),
            );
        }
        for (name, disk, mode) in [
            ("copy a slice", &SimDisk::default(), Mode::New),
            ("replace by a copy of a slice", &disk, Mode::Replace),
        ] {
            let act = |folder: Arc<dyn Folder>| copy_slice(&folder, mode, *form);
            state_counts.add(name, check(format!("{form:?} {name}"), disk, &act, 8, None));
        }
    }
    state_counts.assert_complete(2_000);
}

#[test]
fn mutations_of_a_commit_are_noticed() {
    // In a single file, the header alone commits.
    for (form, format, arises) in [
        (FORMS[0], "array in a frame", 1),
        (FORMS[2], "array in a frame in a folder", 2),
    ] {
        let disk = base(form);
        let some = CHANGES
            .iter()
            .filter(|(n, _)| ["append", "write a box", "insert"].contains(n));
        let checks: Vec<_> = some
            .map(|(name, change)| {
                (*name, |wrong| {
                    check(
                        (*name).into(),
                        &disk,
                        &|folder| act(&folder, *change),
                        60,
                        wrong,
                    )
                })
            })
            .collect();
        sim::mutations(format, arises, &checks);
    }
}

fn open(disk: &SimDisk, threads: i64) -> Array {
    open_in(
        &disk.folder(),
        Mode::Append,
        &Options::new().with(Opt::Threads, threads).unwrap(),
    )
    .unwrap()
}

#[test]
fn all_threads_make_the_same_file() {
    for form in FORMS {
        let base = base(*form);
        let written = |threads| {
            let disk = base.copy();
            let mut a = open(&disk, threads);
            write(&mut a, 4, [0, 0], SHAPE).unwrap();
            append(&mut a, 0, 30).unwrap();
            a.commit().unwrap();
            disk.contents()
        };
        assert!(written(1) == written(2), "{form:?}");
    }
}

#[test]
fn a_write_can_be_repeated_after_a_full_disk() {
    for (form, threads) in FORMS.iter().flat_map(|form| [(form, 1), (form, 2)]) {
        let base = base(*form);
        let old = visible_content(&base.folder()).unwrap();
        let new = {
            let disk = base.copy();
            act(&disk.folder(), |a| write(a, 4, [0, 0], SHAPE)).unwrap();
            visible_content(&disk.folder()).unwrap()
        };
        let fails_at = |k: usize| {
            let disk = base.copy();
            let mut a = open(&disk, threads);
            disk.full_after(k);
            if write(&mut a, 4, [0, 0], SHAPE).is_ok() {
                return false;
            }
            assert_eq!(
                visible_content(&disk.folder()).unwrap(),
                old,
                "{form:?} at {k}"
            );
            write(&mut a, 4, [0, 0], SHAPE).unwrap();
            a.commit().unwrap();
            assert_eq!(
                visible_content(&disk.folder()).unwrap(),
                new,
                "{form:?} at {k}"
            );
            true
        };
        // There are nine chunks.
        assert!((0..).take_while(|k| fails_at(*k)).count() >= 9, "{form:?}");
    }
}
