//! The guarantees of sets of shards, on the simulated disk: a commit is atomic for readers of the
//! whole set and of a single shard.

use super::{dictionary, record, records, small};
use crate::bag::spec::Set;
use crate::bag::*;
use crate::error::Error;
use crate::io::sim::{self, Fault, Rng, Scenario, SimDisk, StateCounts, Tally};
use std::collections::BTreeMap;
use std::ffi::OsStr;

#[derive(Clone, Copy, Debug)]
struct Form {
    separate: i64,
    codec: i64,
    checksums: i64,
    dictionary: bool,
    threads: i64,
}

const FORMS: &[Form] = &[
    Form {
        separate: 0,
        codec: 6,
        checksums: 2,
        dictionary: false,
        threads: 1,
    },
    Form {
        separate: 0,
        codec: 0,
        checksums: 2,
        dictionary: false,
        threads: 1,
    },
    Form {
        separate: 1,
        codec: 6,
        checksums: 0,
        dictionary: false,
        threads: 1,
    },
    Form {
        separate: 1,
        codec: 0,
        checksums: 2,
        dictionary: false,
        threads: 1,
    },
    Form {
        separate: 0,
        codec: 6,
        checksums: 2,
        dictionary: true,
        threads: 1,
    },
];
const SHARDS: u32 = 3;

fn set() -> Set {
    Set::of(OsStr::new("x-00000-of-00003.bag")).remove(0)
}

fn options(f: Form) -> Options {
    Options::new()
        .with(Opt::BagLimits, f.separate)
        .unwrap()
        .with(Opt::Codec, f.codec)
        .unwrap()
        .with(Opt::Threads, f.threads)
        .unwrap()
}

fn write_options(f: Form, mode: Mode) -> Options {
    let mut o = options(f);
    if mode != Mode::Append {
        o.set(Opt::Checksum, f.checksums).unwrap();
        if f.dictionary {
            o.set(Opt::BagDictionary, 1).unwrap();
            o.set_bytes(Opt::Dictionary, &dictionary::of_records())
                .unwrap();
        }
    }
    o
}

fn put(folder: Arc<dyn Folder>, mode: Mode, f: Form, records: &[Vec<u8>]) -> Result<()> {
    let mut w = Writer::open_set_in(&folder, &set(), mode, &write_options(f, mode))?;
    records.iter().try_for_each(|r| w.append(r))?;
    w.commit()
}

fn put_alone(
    folder: Arc<dyn Folder>,
    i: u32,
    mode: Mode,
    f: Form,
    records: &[Vec<u8>],
) -> Result<()> {
    let mut w = Writer::open_in(&folder, &set().name(i), mode, &write_options(f, mode))?;
    records.iter().try_for_each(|r| w.append(r))?;
    w.commit()
}

fn bag(
    folder: &Arc<dyn Folder>,
    f: Form,
    shards: impl Iterator<Item = u32>,
    interleaved: i64,
) -> Result<Bag> {
    let paths: Vec<ShardPath> = shards
        .map(|i| ShardPath::new(folder.clone(), set().name(i)))
        .collect();
    Bag::open_in(&paths, &options(f).with(Opt::BagShards, interleaved)?)
}

/// The records of each shard, opened alone.
fn each(folder: &Arc<dyn Folder>, f: Form) -> Result<Vec<Vec<Vec<u8>>>> {
    (0..SHARDS)
        .map(|i| records(&bag(folder, f, i..i + 1, 0)?))
        .collect()
}

/// The records of the set. Returns an error if a single shard shows another state.
fn all(folder: Arc<dyn Folder>, f: Form) -> Result<Vec<Vec<u8>>> {
    let whole = bag(&folder, f, 0..SHARDS, 1).and_then(|b| records(&b));
    let alone = each(&folder, f);
    match (&whole, &alone) {
        (Ok(w), Ok(a))
            if (0..w.len()).all(|k| a[k % 3].get(k / 3) == Some(&w[k]))
                && a.iter().map(Vec::len).sum::<usize>() == w.len() =>
        {
            whole
        }
        (Err(e), Err(_)) => Err(e.clone()),
        (w, a) => Err(fail!(
            State,
            "the set and its shards differ: {:?} {:?}",
            w.as_ref().map(Vec::len),
            a.as_ref().map(Vec::len)
        )),
    }
}

/// The records of all shards, one shard after the other.
fn in_rows(folder: Arc<dyn Folder>, f: Form) -> Result<Vec<Vec<u8>>> {
    let alone = each(&folder, f)?.concat();
    if records(&bag(&folder, f, 0..SHARDS, 0)?)? == alone {
        Ok(alone)
    } else {
        Err(fail!(State, "the set and its shards differ"))
    }
}

fn disk_with(f: Form, records: &[Vec<u8>]) -> SimDisk {
    let disk = SimDisk::default();
    let (a, b) = records.split_at(records.len() / 2);
    put(disk.folder(), Mode::New, f, a).unwrap();
    put(disk.folder(), Mode::Append, f, b).unwrap();
    disk.make_durable();
    disk
}

fn go_on(folder: Arc<dyn Folder>, f: Form) -> Result<()> {
    let next = [b"the next one".to_vec(), b"and one more".to_vec()];
    match put(folder.clone(), Mode::Append, f, &next) {
        Err(e) if e.status == Status::Missing => put(folder, Mode::New, f, &next),
        r => r,
    }
}

type Act = Box<dyn Fn(Arc<dyn Folder>) -> Result<()>>;

fn scenes(f: Form) -> Vec<(&'static str, SimDisk, Act)> {
    let (old, new) = (small(0, 7), small(50, 5));
    let act = |mode, records: Vec<Vec<u8>>| -> Act {
        Box::new(move |folder| put(folder, mode, f, &records))
    };
    let large = vec![record(90, 1_500_000), record(91, 10), record(92, 1_500_000)];
    vec![
        ("new", SimDisk::default(), act(Mode::New, new.clone())),
        (
            "new, without a record",
            SimDisk::default(),
            act(Mode::New, vec![]),
        ),
        ("append", disk_with(f, &old), act(Mode::Append, new.clone())),
        (
            "append one empty record",
            disk_with(f, &old),
            act(Mode::Append, vec![vec![]]),
        ),
        (
            "append to an empty set",
            disk_with(f, &[]),
            act(Mode::Append, new.clone()),
        ),
        (
            "append, large",
            disk_with(f, &old),
            act(Mode::Append, large),
        ),
        ("replace", disk_with(f, &old), act(Mode::Replace, new)),
        (
            "replace by nothing",
            disk_with(f, &old),
            act(Mode::Replace, vec![]),
        ),
    ]
}

fn on<T>(
    f: Form,
    (name, disk, act): &(&'static str, SimDisk, Act),
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

fn check(
    f: Form,
    scene: &(&'static str, SimDisk, Act),
    per_cut: usize,
    wrong: Option<Fault>,
) -> Tally {
    on(f, scene, |scene| sim::check(scene, per_cut, wrong))
}

#[test]
fn a_power_failure_leaves_all_shards_at_the_old_commit_or_all_at_the_new() {
    let mut state_counts = StateCounts::of("set of bags");
    for &f in FORMS {
        for scene in scenes(f) {
            state_counts.add(scene.0, check(f, &scene, 24, None));
        }
    }
    state_counts.assert_complete(4_000);
}

/// The order in which several threads access the disk varies.
#[test]
fn a_commit_by_several_threads_is_atomic() {
    let mut states = 0;
    for &f in FORMS {
        for scene in [0, 2, 6].map(|number| scenes(Form { threads: 3, ..f }).swap_remove(number)) {
            let t = check(f, &scene, 12, None);
            assert!(t.violations.is_empty(), "{}", t.violations.join("\n"));
            states += t.states;
        }
    }
    println!("sets on the simulated disk, by several threads: {states} states");
    assert!(states > 500, "{states}");
}

/// The contents of disks after interrupting `act`.
fn cuts(disk: &SimDisk, act: &Act, step: usize) -> Vec<BTreeMap<OsString, Vec<u8>>> {
    let whole = disk.copy();
    act(whole.folder()).unwrap();
    let cut = |k: usize| {
        let d = disk.copy();
        d.cut_after(k);
        let _ = act(d.folder());
        d.after_cut(3, k as u64 + 1)
    };
    (0..whole.ops() - disk.ops())
        .step_by(step)
        .flat_map(cut)
        .filter(|files| {
            files
                .keys()
                .any(|n| n.to_string_lossy().contains("journal"))
        })
        .collect()
}

#[test]
fn a_power_failure_during_the_recovery_from_a_crash_changes_nothing() {
    let (mut state_counts, mut disks) = (StateCounts::of("set of bags"), 0);
    for (f, scene) in [(FORMS[0], 2), (FORMS[3], 2), (FORMS[1], 6)] {
        let (name, disk, act) = scenes(f).swap_remove(scene);
        for files in cuts(&disk, &act, 3) {
            let again: Act = Box::new(move |folder| go_on(folder, f));
            state_counts.add(
                "recovery after a crash",
                check(f, &(name, SimDisk::with_files(&files), again), 6, None),
            );
            disks += 1;
        }
    }
    assert!(disks > 20, "{disks}");
    state_counts.assert_complete(2_000);
}

#[test]
fn a_power_failure_during_a_write_of_one_shard_after_a_crash_of_the_set() {
    let (mut state_counts, mut disks) = (StateCounts::of("set of bags"), 0);
    for (f, scene) in [(FORMS[0], 2), (FORMS[3], 2)] {
        let (name, disk, act) = scenes(f).swap_remove(scene);
        for files in cuts(&disk, &act, 4) {
            let alone = move |folder: Arc<dyn Folder>| {
                put_alone(folder, SHARDS - 1, Mode::Append, f, &small(70, 2))
            };
            let read = |folder| in_rows(folder, f);
            let scene = Scenario {
                name: format!("{f:?} {name}, then a shard"),
                disk: SimDisk::with_files(&files),
                act: &alone,
                read: &read,
                next_commit: &alone,
            };
            state_counts.add(
                "a shard alone, after a crash of the set",
                sim::check(&scene, 6, None),
            );
            disks += 1;
        }
    }
    assert!(disks > 10, "{disks}");
    state_counts.assert_complete(500);
}

#[test]
fn the_simulated_disk_detects_a_missing_sync_of_a_set() {
    for f in [FORMS[0], FORMS[2]] {
        for number in [0, 2] {
            let scene = &scenes(f)[number];
            let noticed = sim::without_each_sync(
                &format!("set of bags, {}", scene.0),
                &scene.1,
                &scene.2,
                |wrong| check(f, scene, 60, wrong),
            );
            let syncs = noticed.len();
            // For a new set, the sync of the folder before the journal (the fifth from the end)
            // only prevents shards from existing without the others, which is not read as a set.
            // The syncs after the commit only save work.
            let (folder, needed) = if number == 0 {
                (Some(syncs - 5), syncs - 2)
            } else {
                (None, syncs)
            };
            let missed = noticed[..needed]
                .iter()
                .enumerate()
                .find(|(i, n)| **n == 0 && Some(*i) != folder);
            assert!(missed.is_none(), "{f:?} {}: {noticed:?}", scene.0);
        }
    }
}

#[test]
fn mutations_of_a_commit_of_a_set_are_detected() {
    let f = FORMS[0];
    let of: Vec<_> = scenes(f)
        .into_iter()
        .filter(|s| ["append", "replace"].contains(&s.0))
        .collect();
    sim::mutations(
        "set of bags",
        3,
        &of.iter()
            .map(|s| (s.0, |wrong| check(f, s, 60, wrong)))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn a_full_disk_fails_a_commit_of_a_set_and_loses_nothing() {
    FORMS.iter().for_each(|&f| {
        scenes(f)
            .iter()
            .for_each(|scene| on(f, scene, sim::check_full))
    });
}

#[test]
fn a_set_is_readable_at_every_step_of_a_commit() {
    FORMS.iter().for_each(|&f| {
        scenes(f)
            .iter()
            .for_each(|scene| on(f, scene, sim::check_readers))
    });
}

/// A commit that happens while a reader has opened some of the shards.
#[test]
fn all_shards_belong_to_one_commit() {
    struct Meddling(SimDisk, Form, std::sync::atomic::AtomicUsize, usize);
    impl Meddling {
        fn called(&self) -> Result<()> {
            if self.2.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == self.3 {
                put(self.0.folder(), Mode::Append, self.1, &small(50, 5))?;
            }
            Ok(())
        }
    }
    impl Folder for Meddling {
        fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn io::File>> {
            self.called()?;
            self.0.open(name, access)
        }
        fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
            self.0.rename(from, to)
        }
        fn remove(&self, name: &OsStr) -> Result<()> {
            self.0.remove(name)
        }
        fn sync(&self) -> Result<()> {
            Folder::sync(&self.0)
        }
        fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
            self.called()?;
            Folder::identity(&self.0, name)
        }
        fn lock(&self, name: &OsStr) -> Result<io::lock::Lock> {
            self.0.lock(name)
        }
        fn show(&self, name: &OsStr) -> String {
            self.0.show(name)
        }
    }
    for &f in FORMS {
        let disk = disk_with(f, &small(0, 7));
        let [old, new] = [small(0, 7), [small(0, 7), small(50, 5)].concat()];
        let mut seen = [0; 2];
        for at in 0..40 {
            let disk = disk.copy();
            let folder: Arc<dyn Folder> = Arc::new(Meddling(disk, f, Default::default(), at));
            let size = bag(&folder, f, 0..SHARDS, 0)
                .unwrap_or_else(|e| panic!("{f:?} {at}: {e}"))
                .size() as usize;
            assert!(size == old.len() || size == new.len(), "{f:?} {at}: {size}");
            seen[usize::from(size == new.len())] += 1;
        }
        assert!(seen[1] > 5, "{f:?} {seen:?}");
    }
}

#[test]
fn records_are_interleaved_over_the_shards() {
    for &f in FORMS {
        let disk = SimDisk::default();
        let mut want = vec![];
        let mut rng = Rng(7);
        for (round, n) in [3, 1, 4, 2, 0, 3000, 5].into_iter().enumerate() {
            let more = small(want.len() as u64, n);
            let mode = if round == 0 { Mode::New } else { Mode::Append };
            let mut w =
                Writer::open_set_in(&disk.folder(), &set(), mode, &write_options(f, mode)).unwrap();
            assert_eq!(w.size(), want.len() as u64);
            let (data, offsets) = (more.concat(), super::offsets(&more));
            let cut = rng.below(n as usize + 1);
            more[..cut].iter().for_each(|r| w.append(r).unwrap());
            w.append_many(&data, &offsets[cut..]).unwrap();
            want.extend(more);
            assert_eq!(w.size(), want.len() as u64);
            w.commit().unwrap();
            assert_eq!(all(disk.folder(), f).unwrap(), want, "{f:?}");
        }
        let extra: Vec<_> = disk
            .contents()
            .into_keys()
            .filter(|n| n.to_string_lossy().contains("holdall"))
            .collect();
        assert!(extra.is_empty(), "{extra:?}");
        let b = bag(&disk.folder(), f, 0..SHARDS, 1).unwrap();
        assert_eq!(
            b.protection().unwrap() != Protection::None,
            f.checksums != 0
        );
    }
}

/// The records of the set, opened without an option for their order.
fn without_option(folder: &Arc<dyn Folder>, f: Form, shards: &[u32]) -> Result<Vec<Vec<u8>>> {
    let paths: Vec<ShardPath> = shards
        .iter()
        .map(|&i| ShardPath::new(folder.clone(), set().name(i)))
        .collect();
    Bag::open_in(&paths, &options(f)).and_then(|b| records(&b))
}

#[test]
fn a_set_is_read_in_the_order_in_which_it_was_written() {
    for &f in FORMS {
        for n in [0, 1, 2, 3, 7, 40] {
            let want = [small(0, n), small(50, 2)].concat();
            let disk = disk_with(f, &small(0, n));
            assert_eq!(
                without_option(&disk.folder(), f, &[0, 1, 2]).unwrap(),
                small(0, n),
                "{f:?} {n}"
            );
            put(disk.folder(), Mode::Append, f, &small(50, 2)).unwrap();
            assert_eq!(
                without_option(&disk.folder(), f, &[0, 1, 2]).unwrap(),
                want,
                "{f:?} {n}"
            );
            // each alone, file by file; a part of them, or another order: an error that asks
            for list in [&[0][..], &[1], &[0, 1], &[1, 2], &[1, 0, 2]] {
                let marked = list.len() > 1 && (f.codec != 0 || list[0] == 0);
                let rows: Vec<_> = list
                    .iter()
                    .flat_map(|&i| want.iter().skip(i as usize).step_by(3).cloned())
                    .collect();
                match without_option(&disk.folder(), f, list) {
                    Ok(found) => assert!(!marked && found == rows, "{f:?} {n} {list:?}"),
                    Err(e) => assert!(
                        marked
                            && e.status == Status::Format
                            && e.message.contains("HOLDALL_OPT_BAG_SHARDS"),
                        "{f:?} {n} {list:?}: {e}"
                    ),
                }
            }
        }
    }
}

#[test]
fn a_set_without_a_mark_is_read_as_by_bagz_and_not_appended_to() {
    for &f in FORMS {
        let disk = SimDisk::default();
        (0..SHARDS).for_each(|i| {
            put_alone(disk.folder(), i, Mode::New, f, &small(u64::from(10 * i), 2)).unwrap()
        });
        let rows = in_rows(disk.folder(), f).unwrap();
        assert_eq!(
            without_option(&disk.folder(), f, &[0, 1, 2]).unwrap(),
            rows,
            "{f:?}"
        );
        let e = put(disk.folder(), Mode::Append, f, &small(90, 1)).unwrap_err();
        assert!(
            e.status == Status::State && e.message.contains("HOLDALL_OPT_BAG_SHARDS"),
            "{e}"
        );
        let mut w = Writer::open_set_in(
            &disk.folder(),
            &set(),
            Mode::Append,
            &options(f).with(Opt::BagShards, 1).unwrap(),
        )
        .unwrap();
        w.append(b"x").unwrap();
        w.commit().unwrap();
        let e = Writer::open_set_in(
            &disk.folder(),
            &set(),
            Mode::Append,
            &options(f).with(Opt::BagShards, 0).unwrap(),
        )
        .err()
        .unwrap();
        assert_eq!(e.status, Status::Argument, "{e}");
    }
}

#[test]
fn damage_to_one_mark_does_not_change_the_order() {
    let f = FORMS[0];
    for shard in 0..SHARDS {
        for at in 0..interleave::MARK_SIZE {
            let disk = disk_with(f, &small(1, 9));
            let mut files = disk.contents();
            let file = files.get_mut(&set().name(shard)).unwrap();
            let mark = file.windows(8).position(|w| w == b"hldturns").unwrap() - 8;
            file[mark + at] ^= 0x10;
            let disk = SimDisk::with_files(&files);
            match without_option(&disk.folder(), f, &[0, 1, 2]) {
                Ok(found) => assert!(found == small(1, 9), "{shard} {at}"),
                Err(e) => assert_eq!(e.status, Status::Format, "{shard} {at}: {e}"),
            }
        }
    }
}

#[test]
fn a_set_of_which_one_shard_was_appended_to_alone_requires_the_option() {
    for &f in FORMS {
        let disk = disk_with(f, &small(0, 7));
        put_alone(disk.folder(), 1, Mode::Append, f, &small(9, 2)).unwrap();
        let e = without_option(&disk.folder(), f, &[0, 1, 2]).unwrap_err();
        assert!(
            e.status == Status::Format && e.message.contains("HOLDALL_OPT_BAG_SHARDS"),
            "{e}"
        );
    }
    // Replacing the first shard alone removes the mark.
    let f = FORMS[1];
    let disk = disk_with(f, &small(0, 7));
    put_alone(disk.folder(), 0, Mode::Replace, f, &small(9, 3)).unwrap();
    assert_eq!(
        without_option(&disk.folder(), f, &[0, 1, 2]).unwrap(),
        in_rows(disk.folder(), f).unwrap()
    );
}

#[test]
fn sets_that_cannot_be_interleaved_are_refused() {
    for &f in FORMS {
        let disk = disk_with(f, &small(0, 7));
        put_alone(disk.folder(), 1, Mode::Append, f, &small(9, 2)).unwrap();
        let refused = |e: Option<Error>, status| {
            let e = e.unwrap();
            assert!(
                e.status == status
                    && e.message.contains(&set().name(1).display().to_string())
                    && e.message.contains('4'),
                "{e}"
            );
        };
        refused(
            put(disk.folder(), Mode::Append, f, &[]).err(),
            Status::State,
        );
        refused(bag(&disk.folder(), f, 0..SHARDS, 1).err(), Status::Format);
        assert_eq!(in_rows(disk.folder(), f).unwrap().len(), 9);
        // A missing shard, and one that exists already.
        disk.folder().remove(&set().name(1)).unwrap();
        let named = |e: Error| (e.status, e.message.contains("x-00001-of-00003.bag"));
        assert_eq!(
            put(disk.folder(), Mode::Append, f, &[]).map_err(named),
            Err((Status::Missing, true))
        );
        assert_eq!(
            bag(&disk.folder(), f, 0..SHARDS, 0)
                .map(|_| ())
                .map_err(named),
            Err((Status::Missing, true))
        );
        disk.folder().remove(&set().name(0)).unwrap();
        let e = put(disk.folder(), Mode::New, f, &[]).unwrap_err();
        assert_eq!(e.status, Status::Exists, "{e}");
        put(disk.folder(), Mode::Replace, f, &small(3, 4)).unwrap();
        assert_eq!(all(disk.folder(), f).unwrap(), small(3, 4));
    }
}

#[test]
fn a_power_failure_leaves_repairs_of_shards_complete_or_not_begun() {
    let mut state_counts = StateCounts::of("set of bags");
    for (f, scene) in [(FORMS[0], 2), (FORMS[3], 2)] {
        let (name, disk, act) = scenes(f).swap_remove(scene);
        let repair = move |folder: Arc<dyn Folder>| {
            (0..SHARDS).try_for_each(|i| {
                let o = Options::new()
                    .with(Opt::Codec, f.codec)?
                    .with(Opt::BagLimits, f.separate)?;
                repair_in(&folder, &set().name(i), &o).map(|_| ())
            })
        };
        for files in cuts(&disk, &act, 5) {
            state_counts.add(
                "repair: what a crash left",
                check(
                    f,
                    &(name, SimDisk::with_files(&files), Box::new(repair)),
                    6,
                    None,
                ),
            );
        }
    }
    state_counts.assert_complete(200);
}

#[test]
fn appends_continue_with_or_without_checksums() {
    let raw = |checksums| Form {
        separate: 0,
        codec: 0,
        checksums,
        dictionary: false,
        threads: 1,
    };
    for (first, then) in [(2, 0), (2, 2), (0, 0)] {
        for n in [0, 1, 4] {
            let disk = SimDisk::default();
            put(disk.folder(), Mode::New, raw(first), &small(0, n)).unwrap();
            let o = options(raw(then)).with(Opt::Checksum, then).unwrap();
            let mut w = Writer::open_set_in(&disk.folder(), &set(), Mode::Append, &o).unwrap();
            small(n, 5).iter().for_each(|r| w.append(r).unwrap());
            w.commit().unwrap();
            assert_eq!(
                all(disk.folder(), raw(then)).unwrap(),
                small(0, n + 5),
                "{first} {then} {n}"
            );
        }
    }
    // Requested although the existing records have none.
    let disk = SimDisk::default();
    put(disk.folder(), Mode::New, raw(0), &small(0, 1)).unwrap();
    let o = options(raw(0)).with(Opt::Checksum, 2).unwrap();
    let e = Writer::open_set_in(&disk.folder(), &set(), Mode::Append, &o)
        .err()
        .unwrap();
    assert!(
        e.status == Status::State && e.message.contains("x-00000-of-00003.bag"),
        "{e}"
    );
}

/// A journal saves bytes of the shards, so it is open to no more users than they are.
#[cfg(unix)]
#[test]
fn the_journal_of_a_set_has_the_mode_of_its_shards() {
    use std::os::unix::fs::PermissionsExt;
    let dir = std::env::temp_dir().join(format!("holdall-set-mode-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let shard = dir.join(set().name(0));
    std::fs::write(&shard, b"").unwrap();
    std::fs::set_permissions(&shard, std::fs::Permissions::from_mode(0o600)).unwrap();
    let folder = crate::io::file::folder(dir.as_os_str(), false).unwrap();
    set().container(&folder).create(OsStr::new("new")).unwrap();
    let mode = std::fs::metadata(dir.join("new"))
        .unwrap()
        .permissions()
        .mode();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(mode & 0o777, 0o600);
}
