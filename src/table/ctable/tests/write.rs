//! Every operation that changes a CTable, on the simulated disk and against a model.

use super::super::*;
use crate::dtype::Dtype;
use crate::error::Status;
use crate::io::sim::{self, Fault, Files, Rng, Scenario, SimDisk, StateCounts, Tally};
use crate::options::Opt;
use crate::table::Cells;
use std::path::Path;

/// Names and dtypes, of 4, 3 and 6 bytes per row.
const COLUMNS: &[(&str, &str)] = &[("a", "<i4"), ("b.c", "|S3"), ("m", "('<i2', (3,))")];
const ROWS: u64 = 50;

fn noise(seed: u64, len: u64) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..len).map(|_| (rng.draw() >> 24) as u8 | 1).collect()
}

fn options() -> Options {
    let options = Options::new().with(Opt::Threads, 1).unwrap();
    options.with(Opt::ChunkBytes, 64).unwrap()
}

fn dtypes<'a>(columns: &[(&'a str, &str)]) -> Vec<(&'a str, Dtype)> {
    let parsed = columns
        .iter()
        .map(|(name, dtype)| (*name, Dtype::parse(dtype).unwrap()));
    parsed.collect()
}

fn new(folder: &Arc<dyn Folder>, mode: Mode, columns: &[(&str, &str)]) -> Result<Table> {
    Table::create_in(folder, mode, Format::CTable, &dtypes(columns), &options())
}

pub(super) fn opened(folder: &Arc<dyn Folder>, mode: Mode) -> Result<Table> {
    let options = Options::new().with(Opt::Threads, 1)?;
    Table::open_in(folder, mode, &options)
}

/// Returns the bytes of a row of a column.
fn row(array: &Array) -> u64 {
    array.itemsize() as u64 * array.shape()[1..].iter().product::<u64>()
}

fn rows_of(t: &Table, seed: u64, n: u64) -> Vec<Vec<u8>> {
    let columns = t.columns().iter().enumerate();
    columns
        .map(|(i, c)| noise(seed + i as u64, n * row(&c.array)))
        .collect()
}

fn slices(rows: &[Vec<u8>]) -> Vec<&[u8]> {
    rows.iter().map(Vec::as_slice).collect()
}

fn append(t: &mut Table, seed: u64, n: u64) -> Result<()> {
    let rows = rows_of(t, seed, n);
    t.append(n, &slices(&rows))
}

fn base(rows: u64) -> SimDisk {
    let disk = SimDisk::default();
    let mut t = new(&disk.folder(), Mode::New, COLUMNS).unwrap();
    append(&mut t, 1, rows).unwrap();
    t.attr_set("n", Some(b"1")).unwrap();
    t.commit().unwrap();
    drop(t);
    disk.make_durable();
    disk
}

/// Returns the attributes and the names of the columns, and the rows.
pub(super) fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let t = opened(folder, Mode::Read)?;
    let names: Vec<&str> = t.columns().iter().map(|c| c.name.as_str()).collect();
    let mut all = vec![format!("{}{names:?}", t.attrs().to_text()).into_bytes()];
    all.resize(t.rows() as usize + 1, Vec::new());
    for (i, c) in t.columns().iter().enumerate() {
        if let Some(nulls) = t.nulls(i, 0, t.rows())? {
            for (row, null) in all[1..].iter_mut().zip(nulls) {
                row.push(null.into());
            }
        }
        let attrs = c.array.attrs()?.into_iter();
        let about = attrs.flat_map(|(name, value)| [name.into_bytes(), value].concat());
        all[0].extend(about);
        if c.array.store().has_objects() {
            let texts = c.array.texts(0, t.rows())?;
            for (i, row) in all[1..].iter_mut().enumerate() {
                row.extend(texts.get(i).unwrap());
                row.push(0xff);
            }
            continue;
        }
        let mut bytes = vec![0; c.array.nbytes() as usize];
        let start = vec![0; c.array.shape().len()];
        c.array
            .read(&start, c.array.shape(), None, &mut bytes, None)?;
        for (row, bytes) in all[1..]
            .iter_mut()
            .zip(bytes.chunks(row(&c.array) as usize))
        {
            row.extend(bytes);
        }
    }
    Ok(all)
}

pub(super) fn act(
    folder: &Arc<dyn Folder>,
    change: impl Fn(&mut Table) -> Result<()>,
) -> Result<()> {
    let mut t = opened(folder, Mode::Append)?;
    change(&mut t)?;
    t.commit()
}

fn check(
    name: &str,
    disk: &SimDisk,
    act_on: &dyn Fn(Arc<dyn Folder>) -> Result<()>,
    per_cut: usize,
    wrong: Option<Fault>,
) -> Tally {
    check_with(name, disk, act_on, per_cut, wrong, |t| append(t, 9, 1))
}

/// Like [`check`], for tables to which `next` appends a row.
pub(super) fn check_with(
    name: &str,
    disk: &SimDisk,
    act_on: &dyn Fn(Arc<dyn Folder>) -> Result<()>,
    per_cut: usize,
    wrong: Option<Fault>,
    next: fn(&mut Table) -> Result<()>,
) -> Tally {
    let scene = Scenario {
        name: name.into(),
        disk: disk.copy(),
        act: act_on,
        read: &|folder| seen(&folder),
        next_commit: &|folder| act(&folder, next),
    };
    if wrong.is_none() {
        sim::check_readers(&scene);
    }
    if wrong.is_none() && !disk.contents().is_empty() {
        sim::check_full(&scene);
    }
    sim::check(&scene, per_cut, wrong)
}

type Operation = fn(&mut Table) -> Result<()>;

const CHANGES: &[(&str, Operation)] = &[
    ("append", |t| append(t, 3, 40)),
    ("append one row", |t| append(t, 3, 1)),
    ("write", |t| {
        let rows = rows_of(t, 4, 7);
        t.write(0, 11, 7, &rows[0])?;
        t.write(2, 12, 7, &rows[2])
    }),
    ("insert", |t| {
        let rows = rows_of(t, 5, 3);
        t.insert(9, 3, &slices(&rows))
    }),
    ("remove", |t| t.remove(7, 20)),
    ("remove the last rows", |t| t.truncate(13)),
    ("remove all", |t| t.truncate(0)),
    ("add a column", |t| {
        let bytes = noise(6, t.rows() * 8);
        t.column_add(1, "new", &Dtype::parse("<f8")?, Some(&bytes))
    }),
    ("remove a column", |t| t.column_remove("b.c")),
    ("attribute", |t| t.attr_set("n", Some(b"[2]"))),
    ("attribute of a column", |t| {
        t.column_attr_set(1, "unit", Some(b"\"m\"")).map(|_| ())
    }),
    ("remove an attribute", |t| t.attr_set("n", None)),
    ("all at once", |t| {
        append(t, 7, 30)?;
        t.remove(1, 2)?;
        t.column_remove("a")?;
        t.attr_set("other", Some(b"\"x\""))?;
        let bytes = noise(6, t.rows() * 4);
        t.column_add(0, "a2", &Dtype::parse("<u4")?, Some(&bytes))
    }),
];

#[test]
fn changes_on_the_simulated_disk() {
    let mut counts = StateCounts::of("CTable");
    let disk = base(ROWS);
    for (name, change) in CHANGES {
        let tally = check(name, &disk, &|folder| act(&folder, *change), 6, None);
        counts.add(name, tally);
    }
    let nulls = |folder| {
        act(&folder, |t| {
            let n = t.rows();
            append(t, 3, 4)?;
            t.set_nulls(t.column_index("f")?, n, &[true, false, false, true])
        })
    };
    counts.add("nulls", check("nulls", &fixture_disk(), &nulls, 4, None));
    let create = |folder: &Arc<dyn Folder>, mode, columns| {
        let mut t = new(folder, mode, columns)?;
        append(&mut t, 5, 25)?;
        t.attr_set("n", Some(b"1"))?;
        t.commit()
    };
    let other = &[("x", "<f8"), ("a", "|u1")];
    let tally = check(
        "create",
        &SimDisk::default(),
        &|f| create(&f, Mode::New, other),
        6,
        None,
    );
    counts.add("create", tally);
    let tally = check(
        "replace",
        &disk,
        &|f| create(&f, Mode::Replace, other),
        6,
        None,
    );
    counts.add("replace", tally);
    counts.assert_complete(1000);
}

/// The simulated disk detects faults of a commit that changes all kinds of files.
#[test]
fn faults_of_a_commit_are_detected() {
    let disk = base(ROWS);
    let (name, change) = CHANGES[CHANGES.len() - 1];
    let acts = |folder: Arc<dyn Folder>| act(&folder, change);
    let with = |wrong| check(name, &disk, &acts, 8, wrong);
    sim::mutations("CTable", 3, &[(name, with)]);
    let noticed = sim::without_each_sync(name, &disk, acts, with);
    let missed = noticed.iter().filter(|n| **n == 0).count();
    assert!(missed * 2 <= noticed.len(), "{noticed:?}");
}

/// Random operations, and commits and openings between them, compared with vectors.
#[test]
fn random_changes_match_a_model() {
    for seed in sim::seeds() {
        random_changes(seed);
    }
}

fn random_changes(seed: u64) {
    let mut rng = Rng(seed * 2 + 1);
    let disk = SimDisk::default();
    let folder = disk.folder();
    let mut t = new(&folder, Mode::New, COLUMNS).unwrap();
    let mut model: Vec<Vec<Vec<u8>>> = vec![Vec::new(); COLUMNS.len()];
    let mut committed = None;
    for step in 0..120 {
        let n = t.rows();
        let some = rng.below(30) as u64;
        match rng.below(8) {
            0..=2 => {
                let rows = rows_of(&t, step * 3, some);
                t.append(some, &slices(&rows)).unwrap();
                splice(&mut model, &t, n, 0, &rows);
            }
            3 => {
                let at = rng.below(n as usize + 1) as u64;
                let rows = rows_of(&t, step * 3 + 1, some);
                t.insert(at, some, &slices(&rows)).unwrap();
                splice(&mut model, &t, at, 0, &rows);
            }
            4 => {
                let at = rng.below(n as usize + 1) as u64;
                let gone = some.min(n - at);
                t.remove(at, gone).unwrap();
                let none = vec![Vec::new(); model.len()];
                splice(&mut model, &t, at, gone, &none);
            }
            5 => {
                let at = rng.below(n as usize + 1) as u64;
                let count = some.min(n - at);
                for i in 0..model.len() {
                    let rows = rows_of(&t, step * 3 + 2, count);
                    t.write(i, at, count, &rows[i]).unwrap();
                    let one = row(&t.columns()[i].array) as usize;
                    for (k, bytes) in rows[i].chunks(one).enumerate() {
                        model[i][at as usize + k] = bytes.to_vec();
                    }
                }
            }
            6 => {
                t.commit().unwrap();
                committed = Some(model.clone());
            }
            _ => {
                drop(t);
                t = match &committed {
                    Some(last) => {
                        model = last.clone();
                        opened(&folder, Mode::Append).unwrap()
                    }
                    None => {
                        model = vec![Vec::new(); COLUMNS.len()];
                        new(&folder, Mode::New, COLUMNS).unwrap()
                    }
                };
            }
        }
        assert_eq!(t.rows(), model[0].len() as u64, "seed {seed}, step {step}");
        for (column, rows) in t.columns().iter().zip(&model) {
            let found = super::content(&column.array);
            assert!(found == rows.concat(), "seed {seed}, step {step}");
        }
        if let Some(last) = &committed {
            let reader = opened(&folder, Mode::Read).unwrap();
            for (column, rows) in reader.columns().iter().zip(last) {
                let found = super::content(&column.array);
                assert!(found == rows.concat(), "seed {seed}, step {step}: reader");
            }
        }
    }
}

/// Replaces rows of the model.
fn splice(model: &mut [Vec<Vec<u8>>], t: &Table, at: u64, gone: u64, rows: &[Vec<u8>]) {
    for ((column, new), list) in t.columns().iter().zip(rows).zip(model) {
        let one = row(&column.array) as usize;
        let new = new.chunks(one).map(<[u8]>::to_vec);
        list.splice(at as usize..(at + gone) as usize, new);
    }
}

/// A table of python-blosc2 with deleted rows, null values and masks of nulls.
fn fixture_disk() -> SimDisk {
    let root = Path::new(&super::fixture("deleted.b2d")).to_owned();
    let (mut files, mut folders) = (Files::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let mut name = path.strip_prefix(&root).unwrap().as_os_str().to_owned();
            if path.is_dir() {
                name.push("/");
                files.insert(name, Vec::new());
                folders.push(path);
            } else {
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    SimDisk::with_files(&files)
}

fn nulls_of(t: &Table, column: usize) -> Vec<bool> {
    let nulls = t.nulls(column, 0, t.rows()).unwrap();
    nulls.unwrap_or_else(|| vec![false; t.rows() as usize])
}

/// Masks of nulls follow the rows: one that exists, and one that is created by the first null.
#[test]
fn masks_follow_the_rows() {
    for has_mask in [true, false] {
        let mut files = fixture_disk().contents();
        if !has_mask {
            files.retain(|name, _| !name.to_str().unwrap().contains(".notnull"));
        }
        let disk = SimDisk::with_files(&files);
        let mut t = opened(&disk.folder(), Mode::Append).unwrap();
        let column = t.column_index("f").unwrap();
        let mut model = nulls_of(&t, column);
        assert_eq!(model.contains(&true), has_mask);
        let n = t.rows();
        append(&mut t, 3, 4).unwrap();
        t.set_nulls(column, n, &[true, false, true, true]).unwrap();
        model.extend([true, false, true, true]);
        let rows = rows_of(&t, 5, 2);
        t.insert(3, 2, &slices(&rows)).unwrap();
        model.splice(3..3, [false, false]);
        t.remove(10, 5).unwrap();
        model.drain(10..15);
        t.write(column, n - 4, 2, &[1; 16]).unwrap();
        model[n as usize - 4] = false;
        model[n as usize - 3] = false;
        assert_eq!(nulls_of(&t, column), model);
        t.commit().unwrap();
        t.truncate(n).unwrap();
        model.truncate(n as usize);
        append(&mut t, 6, 1).unwrap();
        model.push(false);
        t.commit().unwrap();
        assert_eq!(nulls_of(&t, column), model);
        let part = t.slice(2, 20, 3, Some(&[column])).unwrap();
        let every: Vec<bool> = model[2..].iter().step_by(3).take(20).copied().collect();
        assert_eq!(part.nulls(0, 0, 20).unwrap().unwrap(), every);
        drop((part, t));
        let t = opened(&disk.folder(), Mode::Read).unwrap();
        assert_eq!(nulls_of(&t, column), model);
    }
}

/// Rows of a commit that failed, and that were removed then, do not appear.
#[test]
fn a_failed_commit_can_be_followed_by_another() {
    for n in 0..100 {
        let disk = base(ROWS);
        let old = seen(&disk.folder()).unwrap();
        let mut t = opened(&disk.folder(), Mode::Append).unwrap();
        append(&mut t, 3, 40).unwrap();
        disk.full_after(n);
        if t.commit().is_ok() {
            assert!(n > 10);
            return;
        }
        if t.truncate(ROWS).is_ok() && t.commit().is_ok() {
            assert!(seen(&disk.folder()).unwrap() == old, "{n}");
            let mut t = opened(&disk.folder(), Mode::Append).unwrap();
            append(&mut t, 9, 5).unwrap();
            t.commit().unwrap();
            assert!(seen(&disk.folder()).unwrap()[..old.len()] == old, "{n}");
        }
    }
    panic!("no commit succeeded");
}

#[test]
fn columns_are_replaced_in_two_commits() {
    let disk = base(3);
    let mut t = opened(&disk.folder(), Mode::Append).unwrap();
    let dtype = Dtype::parse("|u1").unwrap();
    t.column_remove("a").unwrap();
    let e = t.column_add(0, "a", &dtype, Some(&[1, 2, 3])).unwrap_err();
    assert_eq!(e.status, Status::State, "{e}");
    t.commit().unwrap();
    t.column_add(0, "a", &dtype, Some(&[1, 2, 3])).unwrap();
    t.commit().unwrap();
    let t = opened(&disk.folder(), Mode::Read).unwrap();
    assert_eq!(super::content(&t.columns()[0].array), [1, 2, 3]);

    let mut t = new(&disk.folder(), Mode::Replace, COLUMNS).unwrap();
    t.column_remove("a").unwrap();
    t.column_add(0, "a", &dtype, Some(&[])).unwrap();
    t.commit().unwrap();
    drop(t);
    assert_eq!(opened(&disk.folder(), Mode::Read).unwrap().rows(), 0);
}

/// The rows of a new column are at the positions of those of the other columns, whatever has been
/// removed before, or inserted since the last commit.
#[test]
fn new_columns_follow_the_rows() {
    for seed in 0..12 {
        let mut rng = Rng(seed * 2 + 1);
        let disk = if seed % 2 == 0 {
            fixture_disk()
        } else {
            base(ROWS)
        };
        let mut t = opened(&disk.folder(), Mode::Append).unwrap();
        for step in 0..rng.below(4) as u64 {
            let at = rng.below(t.rows() as usize) as u64;
            match rng.below(3) {
                0 => t.remove(at, 5.min(t.rows() - at)).unwrap(),
                1 => t.insert(at, 3, &slices(&rows_of(&t, step, 3))).unwrap(),
                _ => append(&mut t, step, 7).unwrap(),
            }
        }
        let n = t.rows();
        let numbers = noise(seed, n * 8);
        let texts: Vec<String> = (0..n).map(|i| "x".repeat(i as usize % 5)).collect();
        let texts = Cells::of_values(texts.iter().map(|t| Some(t.as_bytes()))).unwrap();
        let (number, text) = (Dtype::parse("<f8").unwrap(), Dtype::text());
        t.column_add(0, "new", &number, Some(&numbers)).unwrap();
        let added = t.column_add_cells(2, "texts", &text, Some(&texts));
        added.unwrap();
        t.column_add(1, "zeros", &number, None).unwrap();
        t.column_add(1, "empty", &text, None).unwrap();
        let check = |t: &Table| {
            let column = |name| &t.columns()[t.find_column(name).unwrap()].array;
            assert!(super::content(column("new")) == numbers, "{seed}");
            assert!(
                super::content(column("zeros")) == vec![0; n as usize * 8],
                "{seed}"
            );
            let (found, empty) = (column("texts"), column("empty").texts(0, n).unwrap());
            let found = found.texts(0, n).unwrap();
            for i in 0..n as usize {
                assert_eq!(found.get(i).unwrap().len(), i % 5, "{seed}");
            }
            assert!(empty.bytes.is_empty() && !empty.nulls.contains(&true));
        };
        check(&t);
        t.commit().unwrap();
        check(&t);
        check(&opened(&disk.folder(), Mode::Read).unwrap());
    }
}

/// A column that could not be added leaves nothing.
#[test]
fn columns_that_fail_are_not_in_the_table() {
    let disk = base(3);
    let old = seen(&disk.folder()).unwrap();
    let mut t = opened(&disk.folder(), Mode::Append).unwrap();
    for (dtype, bytes) in [("<i8", 23), ("<i8", 25), ("|V3", 9), ("<U1", 0)] {
        let dtype = Dtype::parse(dtype).unwrap();
        t.column_add(1, "new", &dtype, Some(&vec![0; bytes]))
            .unwrap_err();
    }
    let texts = Cells::of_values([Some(&b"\xff"[..]); 3].into_iter()).unwrap();
    let added = t.column_add_cells(1, "new", &Dtype::text(), Some(&texts));
    assert_eq!(added.unwrap_err().status, Status::Type);
    assert_eq!(t.columns().len(), COLUMNS.len());
    t.commit().unwrap();
    assert!(seen(&disk.folder()).unwrap() == old);
    let texts = Cells::of_values([Some(&b"x"[..]); 3].into_iter()).unwrap();
    t.column_add_cells(1, "new", &Dtype::text(), Some(&texts))
        .unwrap();
    t.commit().unwrap();
    assert_eq!(
        opened(&disk.folder(), Mode::Read).unwrap().columns().len(),
        COLUMNS.len() + 1
    );
    let left = disk.contents();
    assert!(
        left.keys()
            .all(|name| !name.to_str().unwrap().contains(".holdall-p")),
        "{left:?}"
    );
}

#[test]
fn what_a_ctable_cannot_have_is_refused() {
    let disk = SimDisk::default();
    for dtype in [">i4", "<f2", "<M8[D]", "|V3"] {
        let e = new(&disk.folder(), Mode::New, &[("a", dtype)])
            .err()
            .unwrap();
        assert_eq!(e.status, Status::Unsupported, "{dtype}: {e}");
        assert!(
            disk.contents().is_empty(),
            "{dtype}: {:?}",
            disk.contents().keys()
        );
    }
    let disk = base(3);
    let e = new(&disk.folder(), Mode::New, COLUMNS).err().unwrap();
    assert_eq!(e.status, Status::Exists);
    let mut t = opened(&disk.folder(), Mode::Append).unwrap();
    let e = t.column_attr_set(0, "x", Some(b"{")).err().unwrap();
    assert_eq!(e.status, Status::Argument);
    let e = t.column_add(0, "a", &Dtype::parse("<i4").unwrap(), None);
    assert_eq!(e.unwrap_err().status, Status::Exists);
    let other = opened(&disk.folder(), Mode::Append);
    // the simulated disk has no locks between handles of one process
    drop(other);
}
