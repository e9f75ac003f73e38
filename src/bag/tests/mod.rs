//! The guarantees of bags, on the simulated disk and with property tests.

mod copy;
mod dictionary;
mod disk_repair;
mod disk_set;
mod room;

use super::*;
use crate::error::Error;
use crate::io::memory::MemoryFolder;
use crate::io::sim::{self, Fault, Rng, Scenario, SimDisk, StateCounts, Tally};
use std::collections::BTreeMap;

pub(super) const NAME: &str = "x.bag";

#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) separate: i64,
    pub(super) codec: i64,
    pub(super) checksums: i64,
    /// Whether the bag stores a dictionary.
    pub(super) dictionary: bool,
    pub(super) name: &'static str,
}

pub(super) const FORMS: &[Form] = &[
    Form {
        separate: 0,
        codec: 6,
        checksums: 2,
        dictionary: false,
        name: NAME,
    },
    Form {
        separate: 0,
        codec: 0,
        checksums: 2,
        dictionary: false,
        name: NAME,
    },
    Form {
        separate: 0,
        codec: 0,
        checksums: 0,
        dictionary: false,
        name: NAME,
    },
    Form {
        separate: 1,
        codec: 6,
        checksums: 2,
        dictionary: false,
        name: NAME,
    },
    Form {
        separate: 1,
        codec: 0,
        checksums: 2,
        dictionary: false,
        name: NAME,
    },
    Form {
        separate: 1,
        codec: 6,
        checksums: 0,
        dictionary: false,
        name: NAME,
    },
    Form {
        separate: 0,
        codec: 6,
        checksums: 2,
        dictionary: true,
        name: NAME,
    },
    // Storage of the caller has one file without a name.
    Form {
        separate: 0,
        codec: 0,
        checksums: 2,
        dictionary: false,
        name: "",
    },
    Form {
        separate: 1,
        codec: 6,
        checksums: 2,
        dictionary: false,
        name: "",
    },
];

fn read_options(f: Form) -> Options {
    Options::new()
        .with(Opt::BagLimits, f.separate)
        .unwrap()
        .with(Opt::Codec, f.codec)
        .unwrap()
        .with(Opt::Threads, 1)
        .unwrap()
}

fn writer(folder: &Arc<dyn Folder>, mode: Mode, f: Form) -> Result<Writer> {
    let mut o = read_options(f);
    if mode != Mode::Append {
        o.set(Opt::Checksum, f.checksums)?;
        if f.dictionary {
            o.set(Opt::BagDictionary, 1)?;
            o.set_bytes(Opt::Dictionary, &dictionary::of_records())?;
        }
    }
    Writer::open_in(folder, OsStr::new(f.name), mode, &o)
}

pub(super) fn bag(folder: &Arc<dyn Folder>, f: Form) -> Result<Bag> {
    Bag::open_in(&[ShardPath::new(folder.clone(), f.name)], &read_options(f))
}

pub(super) fn all(folder: Arc<dyn Folder>, f: Form) -> Result<Vec<Vec<u8>>> {
    records(&bag(&folder, f)?)
}

pub(super) fn records(b: &Bag) -> Result<Vec<Vec<u8>>> {
    Ok(b.read_range(0, b.size())?
        .iter()
        .map(<[u8]>::to_vec)
        .collect())
}

pub(super) fn record(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..len).map(|_| (rng.draw() >> 60) as u8 + b'a').collect()
}

pub(super) fn put(folder: Arc<dyn Folder>, mode: Mode, f: Form, records: &[Vec<u8>]) -> Result<()> {
    let mut w = writer(&folder, mode, f)?;
    for r in records {
        w.append(r)?;
    }
    w.commit()
}

pub(super) fn small(from: u64, n: u64) -> Vec<Vec<u8>> {
    (from..from + n)
        .map(|i| record(i, [40, 0, 700, 3, 1500][i as usize % 5]))
        .collect()
}

/// A disk with these records, in two commits.
pub(super) fn disk_with(f: Form, records: &[Vec<u8>]) -> SimDisk {
    let disk = SimDisk::default();
    let (a, b) = records.split_at(records.len() / 2);
    put(disk.folder(), Mode::New, f, a).unwrap();
    put(disk.folder(), Mode::Append, f, b).unwrap();
    disk.make_durable();
    disk
}

pub(super) fn go_on(folder: Arc<dyn Folder>, f: Form) -> Result<()> {
    let next = [b"the next one".to_vec()];
    match put(folder.clone(), Mode::Append, f, &next) {
        Err(e) if e.status == Status::Missing => put(folder, Mode::New, f, &next),
        r => r,
    }
}

type Act = Box<dyn Fn(Arc<dyn Folder>) -> Result<()>>;

/// Every operation that changes the files of a bag.
fn scenes(f: Form) -> Vec<(String, SimDisk, Act)> {
    let old = small(0, 7);
    let new = small(50, 5);
    let big: Vec<Vec<u8>> = (0..3).map(|i| record(90 + i, 60_000)).collect(); // more than is buffered
    let act = |mode, records: Vec<Vec<u8>>| -> Act {
        Box::new(move |folder| put(folder, mode, f, &records))
    };
    let mut s: Vec<(String, SimDisk, Act)> = vec![
        (
            "new".into(),
            SimDisk::default(),
            act(Mode::New, new.clone()),
        ),
        (
            "new, without a record".into(),
            SimDisk::default(),
            act(Mode::New, vec![]),
        ),
        (
            "new, large".into(),
            SimDisk::default(),
            act(Mode::New, big.clone()),
        ),
        (
            "append".into(),
            disk_with(f, &old),
            act(Mode::Append, new.clone()),
        ),
        (
            "append one empty record".into(),
            disk_with(f, &old),
            act(Mode::Append, vec![vec![]]),
        ),
        (
            "append to an empty bag".into(),
            disk_with(f, &[]),
            act(Mode::Append, new.clone()),
        ),
        (
            "append, large".into(),
            disk_with(f, &old),
            act(Mode::Append, big),
        ),
        (
            "replace".into(),
            disk_with(f, &old),
            act(Mode::Replace, new.clone()),
        ),
        (
            "replace by nothing".into(),
            disk_with(f, &old),
            act(Mode::Replace, vec![]),
        ),
        (
            "replace what is not there".into(),
            SimDisk::default(),
            act(Mode::Replace, new.clone()),
        ),
    ];
    if f.codec != 0 && f.separate == 0 {
        let with_room = || disk_with(f, &small(0, 12));
        s.push((
            "append into room".into(),
            with_room(),
            act(Mode::Append, new.clone()),
        ));
        s.push((
            "append beyond room".into(),
            with_room(),
            act(Mode::Append, small(30, 25)),
        ));
    }
    let (lost, retained) = (old.clone(), new);
    let after_one_that_did_not: Act = Box::new(move |folder| {
        let mut w = writer(&folder, Mode::Append, f)?;
        w.append_many(&lost.concat(), &offsets(&lost))?;
        drop(w);
        put(folder, Mode::Append, f, &retained)
    });
    s.push((
        "append after a writer that did not commit".into(),
        disk_with(f, &old),
        after_one_that_did_not,
    ));
    let copied: Act = Box::new(move |folder| {
        let source = disk_with(f, &small(50, 9)).folder();
        let slice = bag(&source, f)?.slice(8, -2, 4)?;
        slice.copy(Some(&[3, 0, 0]), &mut writer(&folder, Mode::Replace, f)?)?;
        Ok(())
    });
    s.push(("replace by a copy".into(), disk_with(f, &old), copied));
    s
}

pub(super) fn offsets(records: &[Vec<u8>]) -> Vec<u64> {
    std::iter::once(0)
        .chain(records.iter().scan(0, |end, r| {
            *end += r.len() as u64;
            Some(*end)
        }))
        .collect()
}

fn on<T>(
    f: Form,
    (name, disk, act): &(String, SimDisk, Act),
    then: impl FnOnce(&Scenario<'_>) -> T,
) -> T {
    then(&Scenario {
        name: format!("{f:?} {name}"),
        disk: disk.copy(),
        act,
        read: &|folder| all(folder, f),
        next_commit: &|folder| go_on(folder, f),
    })
}

fn check(f: Form, scene: &(String, SimDisk, Act), per_cut: usize, wrong: Option<Fault>) -> Tally {
    on(f, scene, |scene| sim::check(scene, per_cut, wrong))
}

#[test]
fn a_power_failure_leaves_the_old_commit_or_the_new() {
    let mut state_counts = StateCounts::of("bag");
    for &f in FORMS {
        for scene in scenes(f) {
            state_counts.add(&scene.0, check(f, &scene, 120, None));
        }
    }
    state_counts.assert_complete(8_000);
}

#[test]
fn the_simulated_disk_detects_a_missing_sync() {
    let f = FORMS[0];
    let scene = &scenes(f)[3];
    assert_eq!(scene.0, "append");
    let noticed = sim::without_each_sync("bag, append", &scene.1, &scene.2, |wrong| {
        check(f, scene, 60, wrong)
    });
    // Required syncs: the bytes of the journal, its name, the changed file, and the removal of the
    // journal.
    assert_eq!(noticed.len(), 4);
    assert!(noticed.iter().all(|&n| n > 0));
}

#[test]
fn mutations_of_a_commit_are_detected() {
    let f = FORMS[0];
    let of: Vec<_> = scenes(f)
        .into_iter()
        .filter(|s| ["append", "replace"].contains(&s.0.as_str()))
        .collect();
    sim::mutations(
        "bag",
        3,
        &of.iter()
            .map(|s| (s.0.as_str(), |wrong| check(f, s, 120, wrong)))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn a_full_disk_fails_a_commit_and_loses_nothing() {
    FORMS.iter().for_each(|&f| {
        scenes(f)
            .iter()
            .for_each(|scene| on(f, scene, sim::check_full))
    });
}

#[test]
fn a_failed_commit_can_be_retried() {
    for &f in FORMS {
        let old = small(0, 7);
        let disk = disk_with(f, &old);
        let whole = disk.copy();
        put(whole.folder(), Mode::Append, f, &small(50, 5)).unwrap();
        let ops = whole.ops() - disk.ops();
        let mut again = 0;
        for k in 0..ops {
            let d = disk.copy();
            let mut w = writer(&d.folder(), Mode::Append, f).unwrap();
            small(50, 5).iter().for_each(|r| w.append(r).unwrap());
            d.full_after(k);
            if w.commit().is_ok() {
                continue;
            }
            let size = bag(&d.folder(), f).unwrap().size();
            match w.commit() {
                Ok(()) => {
                    again += 1;
                    assert_eq!(size, 7);
                    assert_eq!(
                        all(d.folder(), f).unwrap(),
                        [small(0, 7), small(50, 5)].concat()
                    );
                }
                // Only after the last sync, of the folder, the outcome is uncertain.
                Err(e) => assert!(
                    e.status == Status::State && (size == 7 || k + 1 == ops),
                    "{e} {size} {k} of {ops}"
                ),
            }
        }
        assert!(again > 2, "{f:?}: {again} of {ops}");
    }
}

/// Opens damaged bytes.
fn damaged(files: &BTreeMap<OsString, Vec<u8>>, f: Form) -> Result<Bag> {
    bag(&SimDisk::with_files(files).folder(), f)
}

/// Reads with every function. `Err` names the function that returned a wrong record.
fn wrong_reads(b: &Bag, want: &[Vec<u8>]) -> std::result::Result<usize, String> {
    if b.size() != want.len() as u64 {
        return Err(format!("{} records", b.size()));
    }
    let mut errors = 0;
    let n = want.len() as u64;
    for (i, w) in want.iter().enumerate() {
        match b.read(i as u64) {
            Ok(r) if r != *w => return Err(format!("read({i})")),
            Ok(_) => {}
            Err(_) => errors += 1,
        }
        match b.read_indices(&[i as u64]) {
            Ok(r) if r.get(0) != w => return Err(format!("read_indices([{i}])")),
            _ => {}
        }
    }
    let same = |r: &Records, order: &mut dyn Iterator<Item = u64>| {
        order.enumerate().all(|(k, i)| r.get(k) == want[i as usize])
    };
    match b.read_range(0, n) {
        Ok(r) if !same(&r, &mut (0..n)) => return Err("read_range".into()),
        Ok(_) if errors > 0 => return Err("read_range found nothing".into()),
        _ => {}
    }
    let backwards: Vec<u64> = (0..n).rev().collect();
    match b.read_indices(&backwards) {
        Ok(r) if !same(&r, &mut (0..n).rev()) => return Err("read_indices".into()),
        _ => {}
    }
    if n > 0 {
        match b.slice(n - 1, -1, n).and_then(|s| s.read_range(0, n)) {
            Ok(r) if !same(&r, &mut (0..n).rev()) => return Err("slice".into()),
            _ => {}
        }
    }
    Ok(errors)
}

#[test]
fn no_flip_of_a_byte_is_silent() {
    let mut flips = 0;
    for &f in FORMS.iter().filter(|f| f.checksums != 0) {
        let records: Vec<Vec<u8>> = (0..12)
            .map(|i| record(i, [30, 0, 5, 90, 0, 0, 300][i as usize % 7]))
            .collect();
        let files = disk_with(f, &records).contents();
        for (name, bytes) in &files {
            for at in 0..bytes.len() {
                // Including small changes, which can make a limit equal to its neighbour.
                for x in [1u8, 2, 8, 0x10, 0x80, 0xff, 3, 0x1d, 0x2a, 0x4b] {
                    let mut damaged_files = files.clone();
                    damaged_files.get_mut(name).unwrap()[at] ^= x;
                    flips += 1;
                    let Ok(b) = damaged(&damaged_files, f) else {
                        continue;
                    };
                    if let Err(how) = wrong_reads(&b, &records) {
                        panic!("{f:?} {} byte {at} ^ {x:#x}: {how}", name.display());
                    }
                }
            }
        }
    }
    println!("{flips} flips, none silent");
}

#[test]
fn no_repair_makes_wrong_records_readable() {
    let mut repaired = 0;
    for &f in FORMS.iter().filter(|f| f.checksums != 0) {
        let records: Vec<Vec<u8>> = [13, 1, 30, 7, 22, 5]
            .iter()
            .map(|&n| record(n, n as usize))
            .collect();
        let files = disk_with(f, &records).contents();
        for (name, bytes) in &files {
            for (at, x) in (0..bytes.len())
                .flat_map(|at| (0..8).map(move |b| (at, 1u8 << b)).chain([(at, 0xff)]))
            {
                let mut damaged_files = files.clone();
                damaged_files.get_mut(name).unwrap()[at] ^= x;
                let disk = SimDisk::with_files(&damaged_files);
                let o = Options::new()
                    .with(Opt::Codec, f.codec)
                    .unwrap()
                    .with(Opt::BagLimits, f.separate)
                    .unwrap();
                match repair_in(&disk.folder(), OsStr::new(f.name), &o) {
                    Ok(done) => {
                        let Ok(b) = bag(&disk.folder(), f) else {
                            continue;
                        };
                        assert!(done.retained <= 6);
                        if let Err(how) = wrong_reads(&b, &records[..done.retained as usize]) {
                            panic!(
                                "{f:?} {} byte {at} ^ {x:#x}: repaired, {how}",
                                name.display()
                            );
                        }
                        repaired += 1;
                    }
                    Err(_) => assert_eq!(disk.contents(), damaged_files),
                }
            }
        }
    }
    println!("{repaired} repairs, none made a wrong record readable");
}

#[test]
fn limits_with_the_value_of_another_limit_are_detected() {
    for f in [FORMS[0], FORMS[3]] {
        let records: Vec<Vec<u8>> = (0..9)
            .map(|i| record(i, [30, 0, 5][i as usize % 3]))
            .collect();
        let files = disk_with(f, &records).contents();
        let limits_name: OsString = if f.separate == 1 {
            format!("limits.{NAME}").into()
        } else {
            NAME.into()
        };
        let bytes = &files[&limits_name];
        let base = bytes.len() - 9 * 8;
        let limit = |i: usize| u64::from_le_bytes(bytes[base + i * 8..][..8].try_into().unwrap());
        for i in 0..9 {
            for value in (0..=limit(8)).chain([limit(8) + 8, limit(8) + 16, limit(8) + 64]) {
                if value == limit(i) {
                    continue;
                }
                let mut damaged_files = files.clone();
                damaged_files.get_mut(&limits_name).unwrap()[base + i * 8..][..8]
                    .copy_from_slice(&value.to_le_bytes());
                let Ok(b) = damaged(&damaged_files, f) else {
                    continue;
                };
                if let Err(how) = wrong_reads(&b, &records) {
                    panic!("{f:?} limit {i} from {} to {value}: {how}", limit(i));
                }
            }
        }
    }
}

#[test]
fn a_damaged_last_limit_is_corrected() {
    let f = FORMS[0];
    let records: Vec<Vec<u8>> = (0..30).map(|i| record(i, 60)).collect();
    let files = disk_with(f, &records).contents();
    let raw = FORMS[1];
    let raw_files = disk_with(raw, &records).contents();
    for (f, files, by) in [8i64, -8, 64, -160]
        .into_iter()
        .flat_map(|by| [(f, &files, by), (raw, &raw_files, by)])
    {
        let mut damaged_files = files.clone();
        let b = damaged_files.get_mut(OsStr::new(NAME)).unwrap();
        let n = b.len();
        let last = u64::from_le_bytes(b[n - 8..].try_into().unwrap());
        b[n - 8..].copy_from_slice(&last.wrapping_add_signed(by).to_le_bytes());
        let disk = SimDisk::with_files(&damaged_files);
        assert!(bag(&disk.folder(), f).is_err(), "{by}");
        repair_in(
            &disk.folder(),
            OsStr::new(NAME),
            &Options::new().with(Opt::Codec, f.codec).unwrap(),
        )
        .unwrap();
        assert_eq!(disk.contents(), *files);
    }
}

#[test]
fn no_truncation_is_silent() {
    for &f in FORMS.iter().filter(|f| f.checksums != 0) {
        let records = small(0, 7);
        let files = disk_with(f, &records).contents();
        for (name, bytes) in &files {
            for keep in 0..bytes.len() {
                let mut damaged_files = files.clone();
                damaged_files.get_mut(name).unwrap().truncate(keep);
                let Ok(b) = damaged(&damaged_files, f) else {
                    continue;
                };
                // Separate limits that are cut between two limits look like a smaller commit.
                if f.separate == 1 && f.codec == 6 && name.to_str().unwrap().starts_with("limits.")
                {
                    continue;
                }
                // An empty file is a bag without records.
                if keep == 0 && b.size() == 0 && f.codec == 6 {
                    continue;
                }
                if let Err(how) = wrong_reads(&b, &records) {
                    panic!("{f:?} {} cut to {keep}: {how}", name.display());
                }
            }
        }
    }
}

#[test]
fn a_bag_is_readable_at_every_step_of_a_commit() {
    // At each operation of an append a reader opens the bag, and another one that was open reads.
    for &f in FORMS {
        let old = small(0, 7);
        let disk = disk_with(f, &old);
        let whole = disk.copy();
        put(whole.folder(), Mode::Append, f, &small(50, 5)).unwrap();
        for k in 0..=whole.ops() - disk.ops() {
            let d = disk.copy();
            let open = bag(&d.folder(), f).unwrap();
            d.cut_after(k);
            let _ = put(d.folder(), Mode::Append, f, &small(50, 5));
            let got = all(d.folder(), f).unwrap();
            assert!(
                got == old || got == [old.clone(), small(50, 5)].concat(),
                "{f:?} at {k}"
            );
            for i in 0..7 {
                match open.read(i) {
                    Ok(r) => assert_eq!(r, old[i as usize], "{f:?} at {k}"),
                    Err(e) => assert_eq!(e.status, Status::State, "{e}"),
                }
            }
            match open.read_indices(&[6, 0, 3]) {
                Ok(r) => assert_eq!((r.get(0), r.get(1)), (&old[6][..], &old[0][..])),
                Err(e) => assert_eq!(e.status, Status::State, "{e}"),
            }
        }
    }
}

#[test]
fn skipped_records_are_reported() {
    let f = FORMS[0];
    let records: Vec<Vec<u8>> = (0..20).map(|i| record(i, 200)).collect();
    let mut files = disk_with(f, &records).contents();
    let n = files[OsStr::new(NAME)].len();
    let bytes = files.get_mut(OsStr::new(NAME)).unwrap();
    let limit = |b: &[u8], i: usize| {
        u64::from_le_bytes(b[n - 160 + i * 8..][..8].try_into().unwrap()) as usize
    };
    for corrupt in [4, 11] {
        let at = limit(bytes, corrupt) - 10;
        bytes[at] ^= 0x55;
    }
    let folder = SimDisk::with_files(&files).folder();
    let o = read_options(f).with(Opt::SkipDamaged, 1).unwrap();
    let b = Bag::open_in(&[ShardPath::new(folder.clone(), NAME)], &o).unwrap();
    let r = b.read_range(0, 20).unwrap();
    assert_eq!(r.damaged.iter().map(|d| d.0).collect::<Vec<_>>(), [4, 11]);
    assert!(r.damaged[0].1.message.contains("record 4"));
    for (i, want) in records.iter().enumerate() {
        assert_eq!(r.get(i), if [4, 11].contains(&i) { &[] } else { &want[..] });
    }
    let r = b.read_indices(&[11, 3, 4, 11]).unwrap();
    assert_eq!(r.damaged.iter().map(|d| d.0).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(
        b.read_into(4, None).map(|r| r.0).unwrap_or(0),
        b.read_into(4, None).map(|r| r.0).unwrap_or(0)
    );
    assert_eq!(b.read_into(4, Some(&mut [0; 200])).unwrap(), (0, true));
    let plain = bag(&folder, f).unwrap();
    assert_eq!(plain.read_range(0, 20).unwrap_err().position, 4);
    assert_eq!(plain.read_indices(&[19, 11, 4]).unwrap_err().position, 11);
    let mut reported: Vec<Error> = vec![];
    let v = verify::verify_bag(&plain, |e| {
        reported.push(e.clone());
        true
    })
    .unwrap();
    assert_eq!(
        v,
        Verified {
            intact: 18,
            corrupt: 2,
            unchecked: 0
        }
    );
    assert_eq!(
        reported.iter().map(|e| e.position).collect::<Vec<_>>(),
        [4, 11]
    );
}

/// Frames under a name that does not determine the codec, or without a name, are never returned as
/// records unless the option requests it.
#[test]
fn frames_under_a_name_without_a_codec_require_the_option() {
    let want = [vec![], b"one".to_vec(), vec![7; 5000]];
    for checksums in [0, 2] {
        let disk = SimDisk::default();
        let mut w = Writer::open_in(
            &disk.folder(),
            OsStr::new("x.bagz"),
            Mode::New,
            &Options::new().with(Opt::Checksum, checksums).unwrap(),
        )
        .unwrap();
        want.iter().for_each(|r| w.append(r).unwrap());
        w.commit().unwrap();
        let bytes = disk.contents().into_values().next().unwrap();
        for name in [
            "x",
            "x.tmp",
            "x.bagz.tmp",
            ".bagz-00000-of-00001",
            "x.bag",
            "x.bagz",
            "",
        ] {
            let folder: Arc<dyn Folder> = match name {
                "" => Arc::new(MemoryFolder::new(bytes.clone())),
                _ => SimDisk::with_files(&[(name.into(), bytes.clone())].into()).folder(),
            };
            let open = |codec: Option<i64>| {
                let o = codec
                    .map_or(Ok(Options::new()), |c| Options::new().with(Opt::Codec, c))
                    .unwrap();
                let path = ShardPath::new(folder.clone(), name);
                Bag::open_in(&[path], &o).map(|b| {
                    (0..b.size())
                        .map(|i| b.read(i).unwrap())
                        .collect::<Vec<_>>()
                })
            };
            assert_eq!(open(Some(codec::CODEC_ZSTD)).unwrap(), want, "{name}");
            assert_ne!(open(Some(codec::CODEC_NONE)).unwrap(), want, "{name}");
            let asks =
                |e: Error| e.status == Status::Argument && e.message.contains("HOLDALL_OPT_CODEC");
            match (name, open(None)) {
                // In Bagz these records are frames.
                ("x.bag", Ok(found)) => assert_ne!(found, want),
                ("x.bagz", Ok(found)) => assert_eq!(found, want),
                ("x.bag" | "x.bagz", Err(e)) => panic!("{name}: {e}"),
                (_, found) => assert!(found.is_err_and(asks), "{name}"),
            }
            if !["x.bag", "x.bagz", ""].contains(&name) {
                let append =
                    Writer::open_in(&folder, OsStr::new(name), Mode::Append, &Options::new())
                        .map(|_| ());
                assert!(append.is_err_and(asks), "{name}");
                assert!(
                    repair_in(&folder, OsStr::new(name), &Options::new()).is_err_and(asks),
                    "{name}"
                );
            }
        }
    }
    // A checksums file proves that the records are stored uncompressed.
    let disk = SimDisk::default();
    let frame = zstd_safe_frame(b"a file of another program");
    let mut w =
        Writer::open_in(&disk.folder(), OsStr::new("x"), Mode::New, &Options::new()).unwrap();
    w.append(&frame).unwrap();
    w.commit().unwrap();
    let b = Bag::open_in(&[ShardPath::new(disk.folder(), "x")], &Options::new()).unwrap();
    assert_eq!(b.read(0).unwrap(), frame);
}

fn zstd_safe_frame(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; zstd_safe::compress_bound(data.len())];
    let n = zstd_safe::compress(&mut out[..], data, 3).unwrap();
    out.truncate(n);
    out
}

fn open_memory(bytes: Vec<u8>, codec: i64) -> Result<Bag> {
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes));
    let o = Options::new()
        .with(Opt::Codec, codec)?
        .with(Opt::MemoryLimit, 1 << 20)?;
    Bag::open_in(&[ShardPath::new(folder, "")], &o)
}

/// Arbitrary bytes must not cause a panic, and all ways of reading must agree.
fn read_anything(bytes: &[u8], codec: i64) {
    let Ok(b) = open_memory(bytes.to_vec(), codec) else {
        return;
    };
    let n = b.size().min(40);
    let each: Vec<_> = (0..n).map(|i| b.read(i)).collect();
    match b.read_range(0, n) {
        Ok(r) => r
            .iter()
            .zip(&each)
            .for_each(|(got, e)| assert_eq!(e.as_deref().ok(), Some(got))),
        Err(e) if e.status == Status::Limit => {}
        Err(e) => assert!(each[e.position as usize].is_err()),
    }
    let indices: Vec<u64> = (0..n).rev().chain(0..n).collect();
    if let Ok(r) = b.read_indices(&indices) {
        indices
            .iter()
            .enumerate()
            .for_each(|(k, &i)| assert_eq!(each[i as usize].as_deref().ok(), Some(r.get(k))));
    }
    let _ = verify::verify_bag(&b, |_| true);
}

proptest::proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300), zstd: bool) {
        read_anything(&bytes, if zstd { 6 } else { 0 });
    }

    #[test]
    fn any_limits(lengths in proptest::collection::vec(0..40u64, 0..20), wild in proptest::collection::vec((0..20usize, 0..800u64), 0..3), zstd: bool) {
        let mut records = vec![];
        let mut limits = vec![];
        for (i, n) in lengths.iter().enumerate() {
            let r = record(i as u64, *n as usize);
            if zstd && i % 3 != 0 {
                let mut out = [0; 200];
                let n = zstd_safe::compress(&mut out[..], &r, 1).unwrap();
                records.extend(&out[..n]);
            } else {
                records.extend(r);
            }
            limits.push(records.len() as u64);
        }
        for (i, v) in wild {
            if i + 1 < limits.len() {
                limits[i] = v;
            }
        }
        records.extend(limits.iter().flat_map(|l| l.to_le_bytes()));
        read_anything(&records, if zstd { 6 } else { 0 });
    }

    #[test]
    fn slices_are_those_of_python(n in 0..30u64, picks in proptest::collection::vec((0..30u64, -4..5i64, 0..30u64), 1..4), interleaved: bool, shards in 1..4usize) {
        let f = FORMS[1];
        let mut lists: Vec<Vec<Vec<u8>>> = vec![vec![]; shards];
        for i in 0..n as usize {
            let at = if interleaved { i % shards } else { i * shards / n as usize };
            lists[at].push(format!("record {i}").into_bytes());
        }
        let paths: Vec<ShardPath> = lists.iter().map(|l| ShardPath::new(disk_with(f, l).folder(), NAME)).collect();
        let o = read_options(f).with(Opt::BagShards, i64::from(interleaved)).unwrap();
        let mut b = Bag::open_in(&paths, &o).unwrap();
        let mut want: Vec<u64> = (0..n).collect();
        for (start, step, m) in picks {
            let inside = (0..m).map(|k| start as i64 + k as i64 * step).collect::<Vec<_>>();
            let fits = step != 0 && inside.iter().all(|&i| (0..want.len() as i64).contains(&i));
            match b.slice(start, step, m) {
                Ok(s) => {
                    assert!(fits);
                    want = inside.iter().map(|&i| want[i as usize]).collect();
                    b = s;
                }
                Err(_) => assert!(!fits),
            }
        }
        let r = b.read_range(0, b.size()).unwrap();
        let got: Vec<_> = r.iter().map(|r| String::from_utf8(r.to_vec()).unwrap()).collect();
        assert_eq!(got, want.iter().map(|i| format!("record {i}")).collect::<Vec<_>>());
        assert!(b.read(b.size()).is_err() && b.read_range(0, b.size() + 1).is_err() && b.read_range(u64::MAX, 2).is_err());
        assert!(b.read_indices(&[b.size()]).is_err());
        for (i, w) in want.iter().enumerate() {
            assert_eq!(b.read(i as u64).unwrap(), format!("record {w}").into_bytes());
        }
        let records: Vec<_> = want.iter().map(|i| format!("record {i}").into_bytes()).collect();
        let there = SimDisk::default();
        let to = &mut writer(&there.folder(), Mode::New, f).unwrap();
        assert!(!b.copy(None, to).unwrap());
        assert_eq!(all(there.folder(), f).unwrap(), records);
        let backwards: Vec<u64> = (0..b.size()).rev().chain(0..b.size().min(1)).collect();
        let to = &mut writer(&there.folder(), Mode::Append, f).unwrap();
        assert!(!b.copy(Some(&backwards), to).unwrap());
        let both: Vec<_> = records.iter().chain(backwards.iter().map(|i| &records[*i as usize])).cloned().collect();
        assert_eq!(all(there.folder(), f).unwrap(), both);
        let e = b.copy(Some(&[0, b.size()]), to).unwrap_err();
        assert!(e.status == Status::Range && e.position == i64::from(b.size() > 0));
    }
}
