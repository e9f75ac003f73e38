//! Tests of every operation that changes a file, on the simulated disk.

use super::*;
use crate::io::sim::{self, Fault, Scenario, StateCounts, Tally};

const FORMS: &[Form] = &[
    Form::new(3, 1, 2),
    Form {
        spare_chunks: Some(0),
        spare_bytes: 90,
        ..Form::new(3, 1, 6)
    },
    Form::new(3, 0, 1),
    Form {
        codec: 0,
        ..Form::new(3, 0, 0)
    },
    Form::new(2, 1, 3),
    Form {
        spare_bytes: 50,
        ..Form::new(2, 0, 2)
    },
    Form::new(1, 0, 0),
    Form::new(103, 1, 2),
    Form {
        codec: 6,
        ..Form::new(103, 0, 8)
    },
    Form {
        foreign: Foreign::Unknown,
        ..Form::new(103, 1, 2)
    },
    Form {
        foreign: Foreign::Unknown,
        ..Form::new(3, 1, 2)
    },
    Form {
        foreign: Foreign::SpareBytes,
        ..Form::new(2, 0, 2)
    },
];

type Change = Box<dyn Fn(&mut Bloscpack) -> Result<()>>;

/// One operation, starting from a given disk.
struct Case {
    name: String,
    form: Form,
    disk: SimDisk,
    mode: Mode,
    change: Change,
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..len).map(|_| (rng.draw() >> 24) as u8).collect()
}

fn text(seed: u64, len: usize) -> Vec<u8> {
    noise(seed, len).iter().map(|b| b'a' + b % 4).collect()
}

/// Returns a disk with a file of three full chunks and one short chunk, made in two commits.
fn base(form: Form) -> SimDisk {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.append(&text(1, 1250)).unwrap();
    if form.has_meta() {
        w.meta_set(Some(&json(1, 30))).unwrap();
    }
    w.commit().unwrap();
    w.append(&text(2, 800)).unwrap();
    w.commit().unwrap();
    assert_eq!((w.chunks(), w.nbytes()), (4, 2050));
    drop(w);
    let disk = form.made_foreign(disk);
    disk.make_durable();
    disk
}

impl Case {
    fn open(&self, folder: &Arc<dyn Folder>) -> Result<Bloscpack> {
        if self.mode == Mode::Append {
            self.form.append(folder)
        } else {
            self.form.create(folder, self.mode)
        }
    }

    fn act(&self, folder: &Arc<dyn Folder>) -> Result<()> {
        let mut w = self.open(folder)?;
        (self.change)(&mut w)?;
        w.commit()
    }

    /// Returns the number of disk operations.
    fn ops(&self) -> usize {
        let whole = self.disk.copy();
        self.act(&whole.folder())
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        whole.ops() - self.disk.ops()
    }

    fn on<T>(&self, then: impl FnOnce(&Scenario<'_>) -> T) -> T {
        then(&Scenario {
            name: format!("{:?} {}", self.form, self.name),
            disk: self.disk.copy(),
            act: &|folder| self.act(&folder),
            read: &|folder| Ok(pieces(&State::of(&reader(&folder)?)?)),
            next_commit: &|folder| go_on(self.form, &folder),
        })
    }

    fn check(&self, per_cut: usize, wrong: Option<Fault>) -> Tally {
        self.on(|scene| sim::check(scene, per_cut, wrong))
    }
}

/// Converts a state to a list that an append extends: metadata, then pieces of content. All lengths
/// in these tests are multiples of the piece size.
fn pieces(s: &State) -> Vec<Vec<u8>> {
    let meta = s
        .meta
        .as_ref()
        .map_or(b"none".to_vec(), |m| [b"some".to_vec(), m.clone()].concat());
    std::iter::once(meta)
        .chain(s.content().chunks(50).map(<[u8]>::to_vec))
        .collect()
}

/// Simulates the next program: it makes a small append.
fn go_on(form: Form, folder: &Arc<dyn Folder>) -> Result<()> {
    let mut w = match form.append(folder) {
        Err(e) if e.status == Status::Missing => form.create(folder, Mode::New)?,
        r => r?,
    };
    w.append(&text(9, 25))?;
    w.commit()
}

/// Returns every operation that changes a file.
fn cases(form: Form) -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |name: &str, disk: &SimDisk, mode, change: Change| {
        all.push(Case {
            name: name.into(),
            form,
            disk: disk.copy(),
            mode,
            change,
        })
    };
    let (none, base, empty) = (SimDisk::default(), base(form), SimDisk::default());
    form.create(&empty.folder(), Mode::New)
        .unwrap()
        .commit()
        .unwrap();
    empty.make_durable();

    for (name, disk, mode) in [
        ("new", &none, Mode::New),
        ("replace", &base, Mode::Replace),
        ("replace what is not there", &none, Mode::Replace),
    ] {
        add(name, disk, mode, Box::new(|w| w.append(&text(3, 2100))));
        add(
            &format!("{name}, by nothing"),
            disk,
            mode,
            Box::new(|_| Ok(())),
        );
        if form.has_meta() {
            let late = |w: &mut Bloscpack| {
                w.append(&text(3, 900))
                    .and_then(|()| w.meta_set(Some(&json(3, 50))))
            };
            add(
                &format!("{name}, with metadata"),
                disk,
                mode,
                Box::new(late),
            );
        }
    }
    add(
        "append to an empty file",
        &empty,
        Mode::Append,
        Box::new(|w| w.append(&text(3, 1400))),
    );
    add(
        "append into the last chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.append(&text(4, 100))),
    );
    add(
        "append new chunks",
        &base,
        Mode::Append,
        Box::new(|w| w.append(&text(4, 1500))),
    );
    add(
        "append more than the offsets have room for",
        &base,
        Mode::Append,
        Box::new(|w| (0..60).try_for_each(|i| w.append(&text(i, 600)))),
    );
    add(
        "append noise, more than is held in memory",
        &base,
        Mode::Append,
        Box::new(|w| w.append(&noise(5, 30_000))),
    );
    let raw = |w: &mut Bloscpack| {
        let chunk = w.with_raw(1, |c| Ok(c.to_vec()))?;
        w.append_raw(&chunk)
    };
    add("append a raw chunk", &base, Mode::Append, Box::new(raw));
    add(
        "write a chunk that gets shorter",
        &base,
        Mode::Append,
        Box::new(|w| w.write(600, &[7; 600])),
    );
    add(
        "write a chunk that gets longer",
        &base,
        Mode::Append,
        Box::new(|w| w.write(600, &noise(6, 600))),
    );
    add(
        "write into a chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.write(650, &[b'a'; 100])),
    );
    add(
        "write over a border",
        &base,
        Mode::Append,
        Box::new(|w| w.write(1150, &[b'b'; 100])),
    );
    add(
        "write into the last chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.write(1850, &noise(7, 200))),
    );
    add(
        "write all",
        &base,
        Mode::Append,
        Box::new(|w| w.write(0, &[0; 2050])),
    );
    add(
        "insert a chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.insert(1, &text(8, 600))),
    );
    add(
        "insert a chunk after the last",
        &base,
        Mode::Append,
        Box::new(|w| w.insert(4, &text(8, 200))),
    );
    add(
        "remove the first chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.remove(0)),
    );
    add(
        "remove a chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.remove(2)),
    );
    add(
        "remove the last chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.remove(3)),
    );
    add(
        "remove one chunk, insert a shorter one",
        &base,
        Mode::Append,
        Box::new(|w| w.remove(1).and_then(|()| w.insert(1, &[5; 450]))),
    );
    add(
        "remove all",
        &base,
        Mode::Append,
        Box::new(|w| (0..4).try_for_each(|_| w.remove(0))),
    );
    add(
        "truncate within the last chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.truncate(1900)),
    );
    add(
        "truncate within another chunk",
        &base,
        Mode::Append,
        Box::new(|w| w.truncate(700)),
    );
    add(
        "truncate between chunks",
        &base,
        Mode::Append,
        Box::new(|w| w.truncate(1200)),
    );
    add(
        "truncate to nothing",
        &base,
        Mode::Append,
        Box::new(|w| w.truncate(0)),
    );
    let mixed = |w: &mut Bloscpack| {
        w.write(300, &[9; 700])?;
        w.truncate(1950)?;
        w.append(&text(10, 450))
    };
    add(
        "write, truncate and append",
        &base,
        Mode::Append,
        Box::new(mixed),
    );
    if form.has_meta() {
        let bare = SimDisk::default();
        let mut w = form.create(&bare.folder(), Mode::New).unwrap();
        w.append(&text(1, 1250)).unwrap();
        w.commit().unwrap();
        bare.make_durable();
        add(
            "metadata appear",
            &bare,
            Mode::Append,
            Box::new(|w| w.meta_set(Some(&json(4, 10)))),
        );
        add(
            "metadata of the same length",
            &base,
            Mode::Append,
            Box::new(|w| w.meta_set(Some(&json(4, 30)))),
        );
        add(
            "metadata shrink",
            &base,
            Mode::Append,
            Box::new(|w| w.meta_set(Some(&json(4, 3)))),
        );
        add(
            "metadata grow a little",
            &base,
            Mode::Append,
            Box::new(|w| w.meta_set(Some(&json(4, 70)))),
        );
        add(
            "metadata grow much",
            &base,
            Mode::Append,
            Box::new(|w| w.meta_set(Some(&json(4, 2000)))),
        );
        add(
            "metadata go",
            &base,
            Mode::Append,
            Box::new(|w| w.meta_set(None)),
        );
        let all_of_it = |w: &mut Bloscpack| {
            w.meta_set(Some(&json(5, 20)))?;
            w.write(0, &[3; 100])?;
            w.write(1300, &[4; 100])?;
            w.append(&text(11, 1000))
        };
        add(
            "metadata, two writes, an append",
            &base,
            Mode::Append,
            Box::new(all_of_it),
        );
    }
    let twice = move |w: &mut Bloscpack| {
        w.append(&text(12, 25_000))?;
        w.truncate(2050)?;
        w.append(&text(13, 350))
    };
    add(
        "append, truncate, append",
        &base,
        Mode::Append,
        Box::new(twice),
    );
    all
}

#[test]
fn a_power_failure_leaves_the_old_commit_or_the_new() {
    let mut state_counts = StateCounts::of("Bloscpack");
    for case in FORMS.iter().flat_map(|f| cases(*f)) {
        state_counts.add(&case.name, case.check(25, None));
    }
    state_counts.assert_complete(20_000);
}

#[test]
fn the_simulation_detects_a_missing_sync() {
    for (name, syncs) in [
        ("append into the last chunk", 4),
        ("write a chunk that gets shorter", 4),
        ("insert a chunk", 2),
        ("new", 2),
    ] {
        let case = cases(FORMS[0])
            .into_iter()
            .find(|c| c.name == name)
            .unwrap();
        let noticed = sim::without_each_sync(
            name,
            &case.disk,
            |folder| case.act(&folder),
            |wrong| case.check(100, wrong),
        );
        assert_eq!(noticed.len(), syncs, "{name}");
        assert!(noticed.iter().all(|&n| n > 0), "{name}: {noticed:?}");
    }
}

#[test]
fn mutations_of_a_commit_are_detected() {
    let of = [
        "append into the last chunk",
        "write a chunk that gets shorter",
        "insert a chunk",
        "new",
    ];
    let cases: Vec<Case> = cases(FORMS[0])
        .into_iter()
        .filter(|c| of.contains(&c.name.as_str()))
        .collect();
    sim::mutations(
        "Bloscpack",
        3,
        &cases
            .iter()
            .map(|c| (c.name.as_str(), |wrong| c.check(100, wrong)))
            .collect::<Vec<_>>(),
    );
}

/// Returns the state that a new reader sees.
fn seen(folder: &Arc<dyn Folder>) -> Result<State> {
    State::of(&reader(folder)?)
}

#[test]
fn a_reader_opened_before_a_commit_sees_the_old_state_or_an_error() {
    let (mut saw, mut refused) = (0, 0);
    for case in FORMS
        .iter()
        .flat_map(|f| cases(*f))
        .filter(|c| c.mode != Mode::New && c.disk.contents().len() == 1)
    {
        let (a, b) = case.on(|scene| sim::check_opened_before(scene, reader, State::of));
        (saw, refused) = (saw + a, refused + b);
    }
    println!("readers opened before: {saw} saw the old state, {refused} were refused");
    assert!(saw > 1000 && refused > 1000);
}

#[test]
fn a_reader_opened_during_a_commit_sees_the_old_state_or_an_error() {
    let mut through_a_journal = 0;
    for case in FORMS
        .iter()
        .flat_map(|f| cases(*f))
        .filter(|c| c.mode == Mode::Append)
    {
        let old = seen(&case.disk.folder()).unwrap();
        for k in 0..case.ops() {
            let d = case.disk.copy();
            d.cut_after(k);
            let _ = case.act(&d.folder());
            // the machine continues from the state that programs saw
            let d = SimDisk::with_files(&d.contents());
            let journal = d
                .contents()
                .contains_key(OsStr::new("x.blp.holdall-journal"));
            let between = reader(&d.folder())
                .unwrap_or_else(|e| panic!("{:?} {} {k}: {e}", case.form, case.name));
            let state = State::of(&between).unwrap();
            assert!(
                state == old || !journal,
                "{:?} {} {k}",
                case.form,
                case.name
            );
            through_a_journal += usize::from(journal);
            for change in 0..3 {
                let mut w = case.form.append(&d.folder()).unwrap();
                match change {
                    0 => w.append(&text(14, 200)).unwrap(),
                    1 => w
                        .write(
                            20,
                            &[b'd'; 30].repeat(usize::from(old.content().len() > 1000)),
                        )
                        .unwrap(),
                    _ => w.truncate(0).unwrap(),
                }
                for _ in 0..2 {
                    match State::of(&between) {
                        Ok(s) => assert!(s == state, "{:?} {} {k}", case.form, case.name),
                        Err(e) => assert_eq!(
                            e.status,
                            Status::State,
                            "{:?} {} {k}: {e}",
                            case.form,
                            case.name
                        ),
                    }
                    w.commit().unwrap();
                }
            }
        }
    }
    println!("{through_a_journal} readers read through a journal");
    assert!(through_a_journal > 500);
}

#[test]
fn a_full_disk_fails_a_commit_and_loses_nothing() {
    FORMS
        .iter()
        .flat_map(|f| cases(*f))
        .for_each(|case| case.on(sim::check_full));
}

#[test]
fn a_commit_that_failed_can_be_tried_again() {
    let (mut again, mut refused) = (0, 0);
    for case in FORMS.iter().flat_map(|f| cases(*f)) {
        let old = seen(&case.disk.folder()).ok();
        for k in 0..case.ops() {
            // with the same change, or with another one that requires a new file
            for more in [false, true] {
                let what = format!("{:?} {} at {k}, {more}", case.form, case.name);
                let d = case.disk.copy();
                let mut w = case.open(&d.folder()).unwrap();
                (case.change)(&mut w).unwrap();
                d.full_after(k);
                if w.commit().is_ok() {
                    continue;
                }
                let between = seen(&d.folder()).ok();
                if more && w.insert(0, &text(15, 50)).is_err() {
                    refused += 1;
                    continue;
                }
                let mine = State::of(&w).unwrap();
                match w.commit() {
                    Ok(()) => {
                        again += 1;
                        assert!(between == old, "{what}");
                        assert!(
                            seen(&d.folder()).unwrap().content() == mine.content(),
                            "{what}"
                        );
                        drop(w);
                        assert!(
                            State::of(&case.form.append(&d.folder()).unwrap())
                                .unwrap()
                                .content()
                                == mine.content(),
                            "{what}"
                        );
                        assert_eq!(d.contents().len(), 1, "{what}");
                    }
                    Err(e) => {
                        refused += 1;
                        assert_eq!(e.status, Status::State, "{what}: {e}");
                        let new = between
                            .as_ref()
                            .is_some_and(|b| b.content() == mine.content());
                        assert!(between == old || new, "{what}");
                    }
                }
            }
        }
    }
    println!("{again} commits succeeded the second time, {refused} handles refused to go on");
    assert!(again > 1000);
}
