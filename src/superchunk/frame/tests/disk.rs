//! Every operation that changes a frame, on the simulated disk.

use super::*;
use crate::io::sim::{self, Fault, Scenario, StateCounts, Tally};

const FORMS: &[Form] = &[
    PLAIN,
    Form { sum: 0, ..PLAIN },
    Form { meta: 700, ..PLAIN },
    Form {
        sparse: true,
        ..PLAIN
    },
    Form {
        sparse: true,
        sum: 0,
        meta: 700,
        codec: Codec::Zstd,
        ..PLAIN
    },
    Form {
        filter: Some(Filter::Delta),
        ..PLAIN
    },
    Form { level: 0, ..PLAIN },
];

type Change = Box<dyn Fn(&mut Frame) -> Result<()>>;

/// One operation on a given disk.
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

/// Returns a disk with a frame of three full chunks and a partial one, written in two commits.
fn base(form: Form) -> SimDisk {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.append(&text(1, 1250)).unwrap();
    w.vlmeta_set("vl", &text(1, 30)).unwrap();
    w.commit().unwrap();
    w.append(&text(2, 800)).unwrap();
    w.commit().unwrap();
    assert_eq!((w.chunks(), w.nbytes()), (4, 2050));
    drop(w);
    disk.make_durable();
    disk
}

/// Returns a disk with a frame of two chunks of blocks of variable length.
fn variable(form: Form) -> SimDisk {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.insert_blocks(0, &[&text(1, 250), &noise(1, 50)]).unwrap();
    w.insert_blocks(0, &[&text(2, 50), &text(3, 100), &noise(2, 400)])
        .unwrap();
    w.commit().unwrap();
    drop(w);
    disk.make_durable();
    disk
}

/// Returns the operations on such a frame.
fn cases_of_variable(form: Form) -> Vec<Case> {
    let blocks = |w: &mut Frame| w.insert_blocks(1, &[&text(4, 100), &noise(5, 50)]);
    let changes: Vec<(&str, Change)> = vec![
        ("insert blocks", Box::new(blocks)),
        ("append a block", Box::new(|w| w.append(&text(4, 100)))),
        ("write over blocks", Box::new(|w| w.write(100, &[7; 700]))),
        ("truncate within a block", Box::new(|w| w.truncate(300))),
        ("remove a chunk of blocks", Box::new(|w| w.remove(0))),
    ];
    let case = |(name, change): (&str, Change)| Case {
        name: name.to_owned(),
        form,
        disk: variable(form),
        mode: Mode::Append,
        change,
    };
    changes.into_iter().map(case).collect()
}

/// Returns a disk with a long frame after so many small commits, of which all but the first write
/// to a pair of tails.
fn long(form: Form, commits: u64) -> SimDisk {
    let disk = SimDisk::default();
    let mut w = form.create(&disk.folder(), Mode::New).unwrap();
    w.vlmeta_set("vl", &text(1, 30)).unwrap();
    w.append(&text(1, 6050)).unwrap();
    w.commit().unwrap();
    for i in 0..commits {
        w.append(&text(2 + i, 100)).unwrap();
        w.commit().unwrap();
    }
    drop(w);
    disk.make_durable();
    disk
}

/// Returns the operations on a long frame, whose commits may write to a pair of tails.
fn cases_of_long(form: Form) -> Vec<Case> {
    let changes: Vec<(&str, Change)> = vec![
        (
            "append into the last chunk",
            Box::new(|w| w.append(&text(4, 100))),
        ),
        ("append new chunks", Box::new(|w| w.append(&text(4, 1500)))),
        (
            "append more than there is room",
            Box::new(|w| w.append(&noise(5, 3000))),
        ),
        (
            "write the last chunk",
            Box::new(|w| w.write(6000, &[7; 50])),
        ),
        ("write another chunk", Box::new(|w| w.write(600, &[7; 600]))),
        ("truncate", Box::new(|w| w.truncate(5900))),
        (
            "a metalayer and an append",
            Box::new(|w| {
                w.vlmeta_set("vl", &noise(6, 3))?;
                w.append(&text(4, 100))
            }),
        ),
        (
            "a longer header",
            Box::new(|w| w.meta_set("fixed", &[9; 900])),
        ),
    ];
    let mut all = Vec::new();
    for (i, (name, change)) in changes.into_iter().enumerate() {
        let change = std::rc::Rc::new(change);
        // the header refers to the second tail of the pair, to the first one; there is no pair
        let starts: &[u64] = if i == 0 { &[2, 3, 0] } else { &[2, 3] };
        for commits in starts.iter().copied() {
            let change = change.clone();
            all.push(Case {
                name: format!("{name}, after {commits} commits"),
                form,
                disk: long(form, commits),
                mode: Mode::Append,
                change: Box::new(move |w| change(w)),
            });
        }
    }
    all
}

impl Case {
    fn act(&self, folder: &Arc<dyn Folder>) -> Result<()> {
        let mut w = if self.mode == Mode::Append {
            self.form.append(folder)?
        } else {
            self.form.create(folder, self.mode)?
        };
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

/// Returns a state as a list that appends extend: the metalayers, then the content in pieces of 50
/// bytes. All lengths in these tests are multiples of 50.
fn pieces(s: &State) -> Vec<Vec<u8>> {
    let metas = s
        .metas
        .iter()
        .flat_map(|(n, v)| [n.as_bytes(), v].concat())
        .collect();
    std::iter::once(metas)
        .chain(s.content().chunks(50).map(<[u8]>::to_vec))
        .collect()
}

/// What the next program does: it appends a few bytes.
fn go_on(form: Form, folder: &Arc<dyn Folder>) -> Result<()> {
    let mut w = match form.append(folder) {
        Err(e) if e.status == Status::Missing => form.create(folder, Mode::New)?,
        r => r?,
    };
    w.append(&text(9, 25))?;
    w.commit()
}

/// Returns every operation that changes a frame.
fn cases(form: Form) -> Vec<Case> {
    let mut all = cases_of_variable(form);
    if !form.sparse && form.sum != 0 {
        all.extend(cases_of_long(form));
    }
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
        let late = |w: &mut Frame| {
            w.append(&text(3, 900))
                .and_then(|()| w.meta_set("late", &text(3, 50)))
        };
        add(
            &format!("{name}, with a metalayer more"),
            disk,
            mode,
            Box::new(late),
        );
    }
    let append = Mode::Append;
    add(
        "append to an empty file",
        &empty,
        append,
        Box::new(|w| w.append(&text(3, 1400))),
    );
    add(
        "insert blocks into an empty file",
        &empty,
        append,
        Box::new(|w| w.insert_blocks(0, &[&text(3, 1400), &noise(3, 50)])),
    );
    add(
        "append into the last chunk",
        &base,
        append,
        Box::new(|w| w.append(&text(4, 100))),
    );
    add(
        "append new chunks",
        &base,
        append,
        Box::new(|w| w.append(&text(4, 1500))),
    );
    add(
        "append noise",
        &base,
        append,
        Box::new(|w| w.append(&noise(5, 3000))),
    );
    add(
        "write a chunk",
        &base,
        append,
        Box::new(|w| w.write(600, &[7; 600])),
    );
    add(
        "write into a block",
        &base,
        append,
        Box::new(|w| w.write(650, &[b'a'; 100])),
    );
    add(
        "write over a border",
        &base,
        append,
        Box::new(|w| w.write(1150, &[b'b'; 100])),
    );
    add(
        "write all",
        &base,
        append,
        Box::new(|w| w.write(0, &[0; 2050])),
    );
    add(
        "insert a chunk",
        &base,
        append,
        Box::new(|w| w.insert(1, &text(8, 600))),
    );
    add(
        "insert a chunk of another length",
        &base,
        append,
        Box::new(|w| w.insert(1, &text(8, 450))),
    );
    add(
        "remove the first chunk",
        &base,
        append,
        Box::new(|w| w.remove(0)),
    );
    add(
        "remove the last chunk",
        &base,
        append,
        Box::new(|w| w.remove(3)),
    );
    add(
        "remove all",
        &base,
        append,
        Box::new(|w| (0..4).try_for_each(|_| w.remove(0))),
    );
    add(
        "truncate within a chunk",
        &base,
        append,
        Box::new(|w| w.truncate(700)),
    );
    add(
        "truncate between chunks",
        &base,
        append,
        Box::new(|w| w.truncate(1200)),
    );
    add(
        "truncate to nothing",
        &base,
        append,
        Box::new(|w| w.truncate(0)),
    );
    add(
        "a metalayer of the same length",
        &base,
        append,
        Box::new(|w| w.meta_set("fixed", &vec![8; w.meta("fixed")?.map_or(0, <[u8]>::len)])),
    );
    add(
        "a metalayer of another length",
        &base,
        append,
        Box::new(|w| w.meta_set("fixed", &[9; 900])),
    );
    add(
        "a metalayer of the trailer appears",
        &base,
        append,
        Box::new(|w| w.vlmeta_set("new", &noise(6, 300))),
    );
    add(
        "a metalayer of the trailer changes",
        &base,
        append,
        Box::new(|w| w.vlmeta_set("vl", &noise(6, 3))),
    );
    add(
        "a metalayer of the trailer goes",
        &base,
        append,
        Box::new(|w| w.meta_remove("vl")),
    );
    let mixed = |w: &mut Frame| {
        w.write(300, &[9; 700])?;
        w.write(310, &noise(3, 30))?;
        w.truncate(1950)?;
        w.append(&text(10, 450))?;
        let n = w.meta("fixed")?.map_or(0, <[u8]>::len);
        w.meta_set("fixed", &vec![3; n])
    };
    add(
        "write, truncate, append, and a metalayer",
        &base,
        append,
        Box::new(mixed),
    );
    all
}

#[test]
fn a_power_failure_leaves_the_old_commit_or_the_new_one() {
    for (sparse, format) in [(false, "frame"), (true, "frame in a folder")] {
        let mut state_counts = StateCounts::of(format);
        for case in FORMS
            .iter()
            .filter(|f| f.sparse == sparse)
            .flat_map(|f| cases(*f))
        {
            state_counts.add(&case.name, case.check(25, None));
        }
        state_counts.assert_complete(4_000);
    }
}

#[test]
fn missing_syncs_are_detected() {
    let sparse = FORMS[3];
    for (form, name) in [
        (PLAIN, "append new chunks"),
        (PLAIN, "append into the last chunk, after 0 commits"),
        (PLAIN, "append new chunks, after 3 commits"),
        (FORMS[2], "write, truncate, append, and a metalayer"),
        (PLAIN, "new"),
        (sparse, "append new chunks"),
        (sparse, "new"),
    ] {
        let case = cases(form).into_iter().find(|c| c.name == name).unwrap();
        let what = format!("{form:?} {name}");
        let noticed = sim::without_each_sync(
            &what,
            &case.disk,
            |folder| case.act(&folder),
            |wrong| case.check(100, wrong),
        );
        assert!(
            noticed.iter().all(|&n| n > 0),
            "{form:?} {name}: {noticed:?}"
        );
    }
}

#[test]
fn mutations_of_a_commit_are_detected() {
    let of = [
        "append new chunks",
        "a metalayer of the same length",
        "new",
        "replace",
    ];
    // headers within a sector, and a longer one; a sparse frame has no journal
    for (forms, format, arises) in [
        (&[FORMS[0], FORMS[2]][..], "frame", 3),
        (&[FORMS[3]], "frame in a folder", 2),
    ] {
        let cases: Vec<Case> = forms
            .iter()
            .flat_map(|f| cases(*f))
            .filter(|c| of.contains(&c.name.as_str()))
            .collect();
        sim::mutations(
            format,
            arises,
            &cases
                .iter()
                .map(|c| (c.name.as_str(), |wrong| c.check(100, wrong)))
                .collect::<Vec<_>>(),
        );
    }
}

#[test]
fn a_reader_opened_before_a_commit_sees_the_old_state_or_an_error() {
    let (mut saw, mut refused) = (0, 0);
    for case in FORMS
        .iter()
        .flat_map(|f| cases(*f))
        .filter(|c| c.mode != Mode::New && reader(&c.disk.folder()).is_ok())
    {
        let (a, b) = case.on(|scene| sim::check_opened_before(scene, reader, State::of));
        (saw, refused) = (saw + a, refused + b);
    }
    println!("readers that were there before: {saw} saw the old state, {refused} were refused");
    assert!(saw > 1000 && refused > 100);
}

#[test]
fn a_full_disk_fails_a_commit_and_loses_nothing() {
    FORMS
        .iter()
        .flat_map(|f| cases(*f))
        .for_each(|case| case.on(sim::check_full));
}

#[test]
fn a_commit_that_fails_can_be_tried_again_or_says_so() {
    let (mut again, mut refused) = (0, 0);
    for case in FORMS.iter().flat_map(|f| cases(*f)) {
        for k in 0..case.ops() {
            let d = case.disk.copy();
            let old = reader(&d.folder()).ok().map(|f| State::of(&f).unwrap());
            d.full_after(k);
            let what = format!("{:?} {} {k}", case.form, case.name);
            let opened = if case.mode == Mode::Append {
                case.form.append(&d.folder())
            } else {
                case.form.create(&d.folder(), case.mode)
            };
            let Ok(mut w) = opened else { continue };
            if (case.change)(&mut w).is_err() {
                continue;
            }
            let first = w.commit();
            let between = reader(&d.folder()).ok().map(|f| State::of(&f).unwrap());
            match first.or_else(|_| w.commit()) {
                Ok(()) => {
                    again += 1;
                    assert!(
                        State::of(&reader(&d.folder()).unwrap()).unwrap() == State::of(&w).unwrap(),
                        "{what}"
                    );
                }
                Err(e) => {
                    refused += 1;
                    assert_eq!(e.status, Status::State, "{what}: {e}");
                    assert!(
                        between == old || between == Some(State::of(&w).unwrap()),
                        "{what}"
                    );
                }
            }
        }
    }
    println!("{again} commits succeeded the second time, {refused} handles refused to go on");
    assert!(again > 300);
}

#[test]
fn a_reader_opened_during_a_commit_sees_the_old_state_or_an_error() {
    let (mut old_ones, mut through_a_journal) = (0, 0);
    for case in FORMS
        .iter()
        .flat_map(|f| cases(*f))
        .filter(|c| c.mode == Mode::Append)
    {
        let old = State::of(&reader(&case.disk.folder()).unwrap()).unwrap();
        let whole = case.disk.copy();
        case.act(&whole.folder()).unwrap();
        let new = State::of(&reader(&whole.folder()).unwrap()).unwrap();
        for k in 0..case.ops() {
            let d = case.disk.copy();
            d.cut_after(k);
            let _ = case.act(&d.folder());
            // continue from what programs saw
            let d = SimDisk::with_files(&d.contents());
            let journal = d
                .contents()
                .keys()
                .any(|n| n.to_str().unwrap().ends_with("holdall-journal"));
            let between = reader(&d.folder())
                .unwrap_or_else(|e| panic!("{:?} {} {k}: {e}", case.form, case.name));
            let saw = State::of(&between).unwrap();
            assert!(
                saw == old || (!journal && saw == new),
                "{:?} {} {k}",
                case.form,
                case.name
            );
            (old_ones, through_a_journal) = (
                old_ones + usize::from(saw == old),
                through_a_journal + usize::from(journal),
            );
            // the next writer, and a reader that was open before it
            go_on(case.form, &d.folder()).unwrap();
            match State::of(&between) {
                Ok(s) => assert!(s == saw, "{:?} {} {k}", case.form, case.name),
                Err(e) => assert_eq!(e.status, Status::State, "{e}"),
            }
        }
    }
    println!("{old_ones} readers saw the old state, {through_a_journal} of them through a journal");
    assert!(old_ones > 500 && through_a_journal > 3);
}
