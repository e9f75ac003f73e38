//! Tests of arrays in files with corrupt or missing parts.

use super::Array;
use crate::error::{Result, Status};
use crate::io::Folder;
use crate::io::sim::{self, RepairScenario, SimDisk, StateCounts};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Bloscpack, Destination, Mode, Repaired, repair_in};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

const NAME: &str = "x.blp";
const ROWS: u64 = 40;
const ROW: u64 = 100 * 8;

fn options(all: &[(Opt, i64)]) -> Options {
    all.iter().fold(
        Options::new().with(Opt::Threads, 1).unwrap(),
        |o, (opt, n)| o.with(*opt, *n).unwrap(),
    )
}

fn content() -> Vec<u8> {
    (0..ROWS * ROW / 4)
        .flat_map(|i| {
            (i as u32 ^ 77)
                .wrapping_mul(2_654_435_761)
                .wrapping_mul(i as u32 | 1)
                .to_le_bytes()
        })
        .collect()
}

/// Returns a file with an array of ten chunks of four rows.
fn sample(all: &[(Opt, i64)]) -> Vec<u8> {
    let disk = SimDisk::default();
    let o = all.iter().fold(
        options(&[(Opt::ChunkBytes, 4 * ROW as i64)]),
        |o, (opt, n)| o.with(*opt, *n).unwrap(),
    );
    let mut a = Array::create_in(
        &disk.folder(),
        OsStr::new(NAME),
        Mode::New,
        "<f8",
        &[ROWS, 100],
        None,
        &o,
    )
    .unwrap();
    a.write(&[0, 0], &[ROWS, 100], None, &content(), None)
        .unwrap();
    a.commit().unwrap();
    drop(a);
    disk.contents().remove(OsStr::new(NAME)).unwrap()
}

fn disk_of(bytes: &[u8]) -> SimDisk {
    SimDisk::with_files(&BTreeMap::from([(NAME.into(), bytes.to_vec())]))
}

fn open(disk: &SimDisk, mode: Mode, skip: bool) -> Result<Array> {
    Array::open_in(
        &disk.folder(),
        OsStr::new(NAME),
        mode,
        &options(&[(Opt::SkipDamaged, skip.into())]),
    )
}

fn rows(a: &Array, from: u64, n: u64) -> (Vec<u8>, bool) {
    let mut bytes = vec![0xee; (n * ROW) as usize];
    let damaged = a
        .read(&[from, 0], &[n, 100], None, &mut bytes, None)
        .unwrap();
    (bytes, damaged)
}

fn repair(disk: &SimDisk) -> Result<Repaired> {
    repair_in(&disk.folder(), OsStr::new(NAME), &options(&[]))
}

fn faults(disk: &SimDisk) -> Vec<String> {
    let mut messages = Vec::new();
    let b = Bloscpack::open_in(
        &disk.folder(),
        OsStr::new(NAME),
        Mode::Read,
        &options(&[(Opt::SkipDamaged, 1)]),
    )
    .unwrap();
    b.verify(|e| {
        messages.push(e.message.clone());
        true
    })
    .unwrap();
    messages
}

#[test]
fn missing_chunks_at_the_end_read_as_zeros() {
    for all in [
        &[][..],
        &[(Opt::Offsets, 0)],
        &[(Opt::FormatVersion, 103), (Opt::Checksum, 0)],
    ] {
        let whole = sample(all);
        for cut in [1, 100, 2000, 9000] {
            let disk = disk_of(&whole[..whole.len() - cut]);
            assert!(open(&disk, Mode::Read, false).is_err());
            let a = open(&disk, Mode::Read, true).unwrap();
            assert_eq!(a.shape(), [ROWS, 100]);
            let there = a.store().nbytes() / ROW;
            assert!(there < ROWS && there.is_multiple_of(4), "{there}");
            let (bytes, damaged) = rows(&a, 0, ROWS);
            let (stored, zeros) = bytes.split_at((there * ROW) as usize);
            assert!(
                damaged && *stored == content()[..stored.len()] && zeros.iter().all(|b| *b == 0),
                "{cut}"
            );
            assert!(
                !rows(&a, 0, there).1
                    && rows(&a, there, 1).1
                    && rows(&a, there - 1, 2).1
                    && rows(&a, ROWS - 1, 1).1
            );
            // A column, item by item, and a copy.
            let mut column = vec![0xee; ROWS as usize * 8];
            assert!(
                a.read(&[0, 3], &[ROWS, 1], None, &mut column, None)
                    .unwrap()
            );
            let to = Destination {
                folder: disk.folder(),
                name: "copy".into(),
                mode: Mode::New,
                options: options(&[]),
            };
            assert!(a.copy(to, None).unwrap());
            let copy = Array::open_in(
                &disk.folder(),
                OsStr::new("copy"),
                Mode::Read,
                &options(&[]),
            )
            .unwrap();
            assert!(rows(&copy, 0, ROWS) == (bytes.clone(), false));
            drop((a, copy));
            // A commit must not make the zeros permanent.
            let mut w = open(&disk, Mode::Append, true).unwrap();
            w.write(&[ROWS - 1, 0], &[1, 100], None, &[1; ROW as usize], None)
                .unwrap();
            assert_eq!(w.commit().unwrap_err().status, Status::State);
            drop(w);
            let missing = (ROWS - there) / 4;
            assert_eq!(
                repair(&disk).unwrap(),
                Repaired {
                    retained: there / 4,
                    dropped: missing,
                    metadata_lost: false,
                },
                "{cut}"
            );
            assert!(
                rows(&open(&disk, Mode::Read, false).unwrap(), 0, ROWS) == (bytes, false),
                "{cut}"
            );
            assert!(faults(&disk).is_empty());
            assert_eq!(
                repair(&disk).unwrap(),
                Repaired {
                    retained: 10,
                    dropped: 0,
                    metadata_lost: false,
                }
            );
        }
    }
}

#[test]
fn a_power_failure_leaves_repairs_complete_or_repeatable() {
    let mut state_counts = StateCounts::of("array in a superchunk");
    // Reads everything, or skips the corrupt part.
    let read = |folder: Arc<dyn Folder>| {
        let open = |skip| {
            Array::open_in(
                &folder,
                OsStr::new(NAME),
                Mode::Read,
                &options(&[(Opt::SkipDamaged, skip)]),
            )
        };
        let a = open(0).or_else(|_| open(1))?;
        (0..ROWS / 4)
            .map(|i| {
                Ok([rows(&a, 4 * i, 4)]
                    .map(|(bytes, damaged)| [bytes, vec![damaged.into()]].concat())
                    .concat())
            })
            .collect()
    };
    let repair =
        |folder: Arc<dyn Folder>| repair_in(&folder, OsStr::new(NAME), &options(&[])).map(|_| ());
    for all in [
        &[][..],
        &[(Opt::Offsets, 0)],
        &[(Opt::FormatVersion, 103), (Opt::Checksum, 0)],
    ] {
        let whole = sample(all);
        for cut in [1, 2000, 9000] {
            let disk = disk_of(&whole[..whole.len() - cut]);
            let m = RepairScenario {
                name: format!("repair, {cut} bytes are lost: {all:?}"),
                disk,
                repair: &repair,
                read: &read,
            };
            state_counts.add("repair: the end is lost", sim::check_repair(&m, 40, None));
        }
    }
    state_counts.assert_complete(300);
}

/// Returns the sample with content that is truncated or extended; all its chunks are intact.
fn of_length(nbytes: u64) -> SimDisk {
    let disk = disk_of(&sample(&[]));
    let mut b = Bloscpack::open_in(
        &disk.folder(),
        OsStr::new(NAME),
        Mode::Append,
        &options(&[]),
    )
    .unwrap();
    if nbytes < b.nbytes() {
        b.truncate(nbytes).unwrap();
    } else {
        b.append(&vec![7; (nbytes - b.nbytes()) as usize]).unwrap();
    }
    b.commit().unwrap();
    disk
}

#[test]
fn a_content_length_that_differs_from_the_shape_is_an_error() {
    for n in [ROWS * ROW - 5, ROWS * ROW + 3, ROWS * ROW - 13 * ROW] {
        let disk = of_length(n);
        let messages = faults(&disk);
        assert!(
            messages.len() == 1
                && messages[0].contains("[40, 100] are 32000 bytes")
                && messages[0].contains(NAME),
            "{messages:?}"
        );
        assert_eq!(
            open(&disk, Mode::Read, false).err().unwrap().status,
            Status::Format
        );
        // The correct length is unknown, so repair changes nothing.
        let before = disk.contents();
        assert_eq!(repair(&disk).unwrap().dropped, 0);
        assert!(disk.contents() == before && faults(&disk).len() == 1);
        if n < ROWS * ROW {
            let (bytes, _) = rows(&open(&disk, Mode::Read, true).unwrap(), 0, ROWS);
            assert!(
                bytes[..n as usize] == content()[..n as usize]
                    && bytes[n as usize..].iter().all(|b| *b == 0)
            );
        } else {
            assert_eq!(
                open(&disk, Mode::Read, true).err().unwrap().status,
                Status::Format
            );
        }
    }
}

#[test]
fn a_shape_larger_than_the_file_can_have_held_is_refused() {
    let disk = disk_of(&sample(&[]));
    let mut b = Bloscpack::open_in(
        &disk.folder(),
        OsStr::new(NAME),
        Mode::Append,
        &options(&[]),
    )
    .unwrap();
    let json = std::str::from_utf8(b.meta().unwrap().unwrap())
        .unwrap()
        .replace("[40,", "[40000000000,");
    b.meta_set(Some(json.as_bytes())).unwrap();
    b.commit().unwrap();
    drop(b);
    let before = disk.contents();
    assert_eq!(
        open(&disk, Mode::Read, true).err().unwrap().status,
        Status::Format
    );
    assert_eq!(repair(&disk).unwrap().dropped, 0);
    assert!(disk.contents() == before && faults(&disk).len() == 1);
}

#[test]
fn lost_metadata_count_as_dropped() {
    let mut bytes = sample(&[]);
    bytes[70] ^= 0x10;
    let disk = disk_of(&bytes);
    assert_eq!(faults(&disk).len(), 1);
    assert_eq!(
        open(&disk, Mode::Read, false).err().unwrap().status,
        Status::Checksum
    );
    let e = open(&disk, Mode::Read, true).err().unwrap();
    assert!(
        e.status == Status::Type && e.message.contains("Adler-32"),
        "{e}"
    );
    assert_eq!(
        repair(&disk).unwrap(),
        Repaired {
            retained: 10,
            dropped: 1,
            metadata_lost: true,
        }
    );
    assert_eq!(
        repair(&disk).unwrap(),
        Repaired {
            retained: 10,
            dropped: 0,
            metadata_lost: false,
        }
    );
    assert_eq!(
        open(&disk, Mode::Read, false).err().unwrap().status,
        Status::Type
    );
}
