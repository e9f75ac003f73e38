//! Tests every operation that changes a table on the simulated disk, and random operations against
//! a model.

mod copy;
mod disk_repair;
mod read;
mod view;

use super::Table;
use crate::array::Array;
use crate::dataset::create::{self, ArraySpec};
use crate::dataset::open;
use crate::dtype::Dtype;
use crate::error::{Error, Result, Status};
use crate::format::Format;
use crate::io::sim::{self, Fault, Rng, Scenario, SimDisk, StateCounts, Tally};
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::sync::Arc;

/// Names and dtypes, of 4, 3 and 6 bytes per row; chunks of 64 bytes hold 16, 21 and 10 rows.
const COLUMNS: &[(&str, &str)] = &[("a", "<i4"), ("b", "|S3"), ("m", "('<i2', (3,))")];
const ROWS: u64 = 90;

fn noise(seed: u64, len: u64) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..len).map(|_| (rng.draw() >> 24) as u8).collect()
}

fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

fn dtypes<'a>(columns: &[(&'a str, &str)]) -> Vec<(&'a str, Dtype)> {
    columns
        .iter()
        .map(|(name, dtype)| (*name, Dtype::parse(dtype).unwrap()))
        .collect()
}

const FORMATS: [Format; 2] = [Format::Bcolz, Format::BlzRfc];

fn new(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    columns: &[(&str, &str)],
    format: Format,
) -> Result<Table> {
    let mut options = options().with(Opt::ChunkBytes, 64)?;
    if format == Format::BlzRfc {
        options.set(Opt::SuperchunkChunks, 2)?;
    }
    Table::create_in(folder, mode, format, &dtypes(columns), &options)
}

fn opened(folder: &Arc<dyn Folder>, mode: Mode) -> Result<Table> {
    Table::open_in(folder, mode, &options())
}

/// Returns the size of a row of an array in bytes.
fn row(a: &Array) -> u64 {
    a.itemsize() as u64 * a.shape()[1..].iter().product::<u64>()
}

fn append(t: &mut Table, seed: u64, n: u64) -> Result<()> {
    let all: Vec<Vec<u8>> = t
        .columns()
        .iter()
        .enumerate()
        .map(|(i, c)| noise(seed + i as u64, n * row(&c.array)))
        .collect();
    t.append(n, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Inserts `n` rows before row `at`.
fn insert(t: &mut Table, at: u64, seed: u64, n: u64) -> Result<()> {
    let columns = t.columns().iter().enumerate();
    let all: Vec<Vec<u8>> = columns
        .map(|(i, c)| noise(seed + i as u64, n * row(&c.array)))
        .collect();
    t.insert(at, n, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn add(t: &mut Table, at: usize, name: &str, dtype: &str) -> Result<()> {
    let dtype = Dtype::parse(dtype)?;
    let src = noise(7, t.rows() * dtype.item.size as u64);
    t.column_add(at, name, &dtype, Some(&src))
}

fn write(t: &mut Table, column: usize, first: u64, n: u64) -> Result<()> {
    let src = noise(first, n * row(&t.columns()[column].array));
    t.write(column, first, n, &src)
}

fn base(rows: u64, format: Format) -> SimDisk {
    let disk = SimDisk::default();
    let mut t = new(&disk.folder(), Mode::New, COLUMNS, format).unwrap();
    append(&mut t, 1, rows).unwrap();
    t.attr_set("n", Some(b"1")).unwrap();
    t.commit().unwrap();
    drop(t);
    disk.make_durable();
    disk
}

/// Returns a disk with a table in the BLZ RFC layout that has a further file in `meta`.
fn base_with_note() -> SimDisk {
    let disk = base(ROWS, Format::BlzRfc);
    act(&disk.folder(), |t| t.meta_file_set("note", Some(b"first"))).unwrap();
    disk.make_durable();
    disk
}

/// Returns the further files in `meta` of a table.
fn files(t: &Table) -> Result<Vec<(String, Vec<u8>)>> {
    let read = |name: String| {
        let bytes = t.meta_file(&name)?.unwrap_or_default();
        Ok((name, bytes))
    };
    t.meta_file_names()?.into_iter().map(read).collect()
}

fn content(a: &Array) -> Result<Vec<u8>> {
    let mut bytes = vec![0xee; a.nbytes() as usize];
    a.read(&vec![0; a.shape().len()], a.shape(), None, &mut bytes, None)
        .map(|_| bytes)
}

/// Returns the metadata of the table and whether its columns have equal length; then the rows, to
/// which appends add.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let t = opened(folder, Mode::Read)?;
    let one_length = t.columns().iter().all(|c| c.stored_rows == t.rows());
    let attrs: Vec<_> = t
        .attrs()
        .names()
        .into_iter()
        .map(|n| (n, t.attrs().get(n).unwrap()))
        .collect();
    let columns: Vec<_> = t
        .columns()
        .iter()
        .map(|c| (&c.name, &c.array.dtype().spelling))
        .collect();
    let files = files(&t)?;
    let mut all = vec![format!("{one_length} {attrs:?} {columns:?} {files:?}").into_bytes()];
    let content: Vec<Vec<u8>> = t
        .columns()
        .iter()
        .map(|c| content(&c.array))
        .collect::<Result<_>>()?;
    for i in 0..t.rows() {
        let cell = |(c, bytes): (&super::Column, &Vec<u8>)| {
            bytes[(i * row(&c.array)) as usize..][..row(&c.array) as usize].to_vec()
        };
        all.push(t.columns().iter().zip(&content).flat_map(cell).collect());
    }
    Ok(all)
}

type Change = fn(&mut Table) -> Result<()>;

const CHANGES: &[(&str, Change)] = &[
    ("append", |t| append(t, 2, 3)),
    ("append beyond the last chunk", |t| append(t, 2, 30)),
    ("append much", |t| append(t, 2, 200)),
    ("write in one chunk", |t| write(t, 0, 17, 3)),
    ("write in all columns", |t| {
        write(t, 0, 10, 50)
            .and_then(|()| write(t, 1, 3, 1))
            .and_then(|()| write(t, 2, 80, 10))
    }),
    ("write, and append", |t| {
        write(t, 1, 89, 1).and_then(|()| append(t, 3, 2))
    }),
    ("cut a few", |t| t.truncate(ROWS - 3)),
    ("cut chunks", |t| t.truncate(20)),
    ("cut all", |t| t.truncate(0)),
    ("cut, and append other rows", |t| {
        t.truncate(70).and_then(|()| append(t, 7, 50))
    }),
    ("cut, and append as many", |t| {
        t.truncate(85).and_then(|()| append(t, 7, 5))
    }),
    ("insert rows", |t| insert(t, 40, 3, 7)),
    ("insert many rows in front", |t| insert(t, 0, 3, 100)),
    ("delete rows", |t| t.remove(33, 5)),
    ("delete rows in front, insert others, append", |t| {
        t.remove(0, 30)?;
        insert(t, 55, 4, 30)?;
        append(t, 5, 10)
    }),
    ("add a column", |t| add(t, 3, "x", "<f8")),
    ("add a column in front, and rows", |t| {
        add(t, 0, "x", "|u1").and_then(|()| append(t, 4, 20))
    }),
    ("remove a column", |t| t.column_remove("b")),
    ("remove the first, and rows", |t| {
        t.column_remove("a").and_then(|()| t.truncate(5))
    }),
    ("another column of the same name", |t| {
        t.column_remove("a").and_then(|()| add(t, 1, "a", "<i8"))
    }),
    ("add and remove", |t| {
        add(t, 1, "x", "<i4").and_then(|()| t.column_remove("x"))
    }),
    ("remove, add, and remove", |t| {
        t.column_remove("a")
            .and_then(|()| add(t, 1, "a", "<i8"))
            .and_then(|()| t.column_remove("a"))
    }),
    ("set an attribute", |t| t.attr_set("n", Some(b"[1, 2]"))),
    ("remove an attribute", |t| t.attr_set("n", None)),
    ("all at once", |t| {
        append(t, 3, 20)?;
        t.attr_set("m", Some(b"5"))?;
        t.column_remove("m")?;
        add(t, 0, "y", "<i2")?;
        t.truncate(95)
    }),
];

fn act(folder: &Arc<dyn Folder>, change: Change) -> Result<()> {
    let mut t = opened(folder, Mode::Append)?;
    change(&mut t)?;
    t.commit()
}

fn check(
    name: &str,
    disk: &SimDisk,
    acts: &dyn Fn(Arc<dyn Folder>) -> Result<()>,
    per_cut: usize,
    wrong: Option<Fault>,
) -> Tally {
    let scene = Scenario {
        name: name.into(),
        disk: disk.copy(),
        act: acts,
        read: &|folder| seen(&folder),
        next_commit: &|folder| act(&folder, |t| append(t, 9, 1)),
    };
    sim::check(&scene, per_cut, wrong)
}

fn create(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    columns: &[(&str, &str)],
    format: Format,
) -> Result<()> {
    let mut t = new(folder, mode, columns, format)?;
    append(&mut t, 5, 25)?;
    t.attr_set("n", Some(b"1"))?;
    t.commit()
}

/// Returns a table in the BLZ RFC layout with a column that has fields.
fn nested() -> SimDisk {
    let disk = SimDisk::default();
    let mut t = new(
        &disk.folder(),
        Mode::New,
        &[
            ("a", "<i4"),
            ("n", "[('p', '<i2'), ('q', [('r', '|S3'), ('s', '<f8')])]"),
        ],
        Format::BlzRfc,
    )
    .unwrap();
    append(&mut t, 1, ROWS).unwrap();
    t.meta_file_set("note", Some(b"first")).unwrap();
    t.commit().unwrap();
    drop(t);
    disk.make_durable();
    let names: Vec<String> = disk
        .contents()
        .keys()
        .map(|n| n.to_string_lossy().into_owned())
        .collect();
    for name in [
        "data/a/__1__.bin",
        "data/n/p/__1__.bin",
        "data/n/q/r/__1__.bin",
        "data/n/q/s/__2__.bin",
        "meta/attributes",
        "meta/sizes",
    ] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    disk
}

const NESTED: &[(&str, Change)] = &[
    ("files in meta", |t| {
        t.meta_file_set("note", None)?;
        t.meta_file_set("more", Some(b"2"))
    }),
    ("a file in meta, and rows", |t| {
        t.meta_file_set("note", Some(&[7; 3000]))?;
        append(t, 2, 3)
    }),
    ("append", |t| append(t, 2, 3)),
    ("append much", |t| append(t, 2, 100)),
    ("write", |t| write(t, 1, 17, 30)),
    ("cut, and append", |t| {
        t.truncate(70).and_then(|()| append(t, 7, 50))
    }),
    ("insert rows", |t| insert(t, 40, 3, 7)),
    ("delete rows", |t| t.remove(33, 5)),
    ("numbers instead of fields", |t| {
        t.column_remove("n").and_then(|()| add(t, 1, "n", "<i8"))
    }),
    ("fields instead of numbers", |t| {
        t.column_remove("a")
            .and_then(|()| add(t, 1, "a", "[('p', '<i2'), ('q', '<i4')]"))
    }),
];

#[test]
fn a_power_failure_leaves_the_old_table_or_the_new() {
    for format in FORMATS {
        let mut state_counts = StateCounts::of(&format!("table, {format:?}"));
        let mut count =
            |name: &str, disk: &SimDisk, acts: &dyn Fn(Arc<dyn Folder>) -> Result<()>| {
                state_counts.add(
                    name,
                    check(&format!("{name}, {format:?}"), disk, acts, 8, None),
                );
            };
        let disk = base(ROWS, format);
        for (name, change) in CHANGES {
            count(name, &disk, &|folder| act(&folder, *change));
        }
        // last chunks that are longer than needed, and chunks that are not part of the table
        let cut = base(ROWS, format);
        act(&cut.folder(), |t| t.truncate(70)).unwrap();
        cut.make_durable();
        count("append where rows were cut", &cut, &|folder| {
            act(&folder, |t| append(t, 5, 40))
        });
        count("create", &SimDisk::default(), &|folder| {
            create(&folder, Mode::New, COLUMNS, format)
        });
        let disk = match format {
            Format::BlzRfc => base_with_note(),
            _ => disk,
        };
        count("replace", &disk, &|folder| {
            create(&folder, Mode::Replace, COLUMNS, format)
        });
        let others = [
            ("x", "<i4"),
            ("b", "<f8"),
            ("m", "[('p', '<i2'), ('q', [('r', '|S3')])]"),
        ];
        count("replace by others", &disk, &|folder| {
            create(&folder, Mode::Replace, &others, format)
        });
        let source = opened(&cut.folder(), Mode::Read).unwrap();
        count("copy", &SimDisk::default(), &|folder| {
            copy::copy(&source, &folder, Mode::New, format).map(|_| ())
        });
        count("replace by a copy", &disk, &|folder| {
            copy::copy(&source, &folder, Mode::Replace, format).map(|_| ())
        });
        count("replace by a copy of a slice", &disk, &|folder| {
            let slice = source.slice(60, 20, -3, Some(&[2, 0]))?;
            copy::copy(&slice, &folder, Mode::Replace, format).map(|_| ())
        });
        state_counts.assert_complete(2_000);
    }
    let (mut state_counts, nested) = (StateCounts::of("table, BlzRfc, nested"), nested());
    for (name, change) in NESTED {
        state_counts.add(
            name,
            check(
                &format!("{name}, nested"),
                &nested,
                &|folder| act(&folder, *change),
                8,
                None,
            ),
        );
    }
    state_counts.assert_complete(500);
}

#[test]
fn mutations_of_a_commit_are_detected() {
    for format in FORMATS {
        let disk = base(ROWS, format);
        let some = CHANGES.iter().filter(|(n, _)| {
            [
                "append beyond the last chunk",
                "write in one chunk",
                "add a column",
            ]
            .contains(n)
        });
        let checks: Vec<_> = some
            .map(|(name, change)| {
                (*name, |wrong| {
                    check(name, &disk, &|folder| act(&folder, *change), 40, wrong)
                })
            })
            .collect();
        sim::mutations(&format!("table, {format:?}"), 3, &checks);
    }
}

/// Tests that the simulated disk detects syncs that are left out.
#[test]
fn each_sync_is_needed() {
    let some = CHANGES
        .iter()
        .filter(|(n, _)| ["append beyond the last chunk", "add a column"].contains(n));
    for ((name, change), format) in some.flat_map(|c| FORMATS.map(|f| (c, f))) {
        let disk = base(ROWS, format);
        let acts = |folder| act(&folder, *change);
        let noticed =
            sim::without_each_sync(&format!("{name}, {format:?}"), &disk, acts, |wrong| {
                check(name, &disk, &acts, 8, wrong)
            });
        let (n, missed) = (noticed.len(), noticed.iter().filter(|n| **n == 0).count());
        assert!(missed * 2 <= n, "{name}: {missed} of {n}");
    }
}

/// Returns the rows and columns that a handle shows.
fn shown(t: &Table) -> (u64, Vec<(String, Vec<u8>)>) {
    (
        t.rows(),
        t.columns()
            .iter()
            .map(|c| (c.name.clone(), content(&c.array).unwrap()))
            .collect(),
    )
}

#[test]
fn a_failed_change_leaves_the_table_unchanged() {
    FORMATS.into_iter().for_each(fails);
}

fn fails(format: Format) {
    let disk = base(ROWS, format);
    let old = seen(&disk.folder()).unwrap();
    let mut failed = [0; 2];
    for (name, change) in CHANGES {
        for k in 0.. {
            let d = disk.copy();
            let mut t = opened(&d.folder(), Mode::Append).unwrap();
            let was = shown(&t);
            d.full_after(k);
            let before = d.ops();
            if let Err(e) = change(&mut t) {
                assert_eq!(e.status, Status::Io, "{name}");
                let several = name.contains(',')
                    || name.contains("same name")
                    || name.starts_with("write")
                    || name.contains("all");
                // some columns were changed already: then nothing can be committed
                let is_broken = t.truncate(t.rows()).is_err();
                assert!(!is_broken || name.contains("rows"), "{name} at {k}");
                if is_broken {
                    assert_eq!(t.commit().unwrap_err().status, Status::State);
                    drop(t);
                    assert!(seen(&d.folder()).unwrap() == old, "{name} at {k}");
                    failed[0] += 1;
                    continue;
                }
                assert!(several || shown(&t) == was, "{name} at {k}");
                // the disk has space again, and the failed change is not committed
                t.commit().unwrap();
                drop(t);
                assert!(
                    several || seen(&d.folder()).unwrap() == old,
                    "{name} at {k}"
                );
                failed[0] += 1;
                continue;
            }
            if let Err(e) = t.commit() {
                assert_eq!(e.status, Status::Io, "{name}");
                let done = t.commit();
                let want = if done.is_ok() { shown(&t) } else { was.clone() };
                drop(t);
                let now = shown(
                    &opened(&d.folder(), Mode::Read)
                        .unwrap_or_else(|e| panic!("{name} at {k}: {e}")),
                );
                assert!(now == want || done.is_err(), "{name} at {k}: {done:?}");
                failed[1] += 1;
            } else if d.ops() - before <= k {
                break;
            }
        }
    }
    println!("{failed:?} changes and commits failed");
    assert!(failed[0] > 20 && failed[1] > 100, "{failed:?}");
}

/// A column of the model: name, dtype, bytes per row, content.
type Vector = (String, &'static str, u64, Vec<u8>);

/// Random operations, compared with vectors.
struct Run {
    rng: Rng,
    disk: SimDisk,
    writer: Option<Table>,
    rows: u64,
    now: Vec<Vector>,
    committed: (u64, Vec<Vector>),
}

impl Run {
    fn step(&mut self) {
        let at = self.rng.below(self.rows as usize + 1) as u64;
        let most = [1, 16, 70][self.rng.below(3)];
        let (n, seed) = (self.rng.below(most + 1) as u64, self.rng.draw() >> 8);
        let column = self.rng.below(self.now.len());
        let t = self.writer.as_mut().unwrap();
        match self.rng.below(16) {
            14 if n > 0 => {
                let src: Vec<Vec<u8>> = self.now.iter().map(|c| noise(seed, n * c.2)).collect();
                t.insert(at, n, &src.iter().map(Vec::as_slice).collect::<Vec<_>>())
                    .unwrap();
                for (c, src) in self.now.iter_mut().zip(src) {
                    let at = (at * c.2) as usize;
                    c.3.splice(at..at, src);
                }
                self.rows += n;
            }
            15 => {
                let n = n.min(self.rows - at);
                t.remove(at, n).unwrap();
                for c in &mut self.now {
                    c.3.drain((at * c.2) as usize..((at + n) * c.2) as usize);
                }
                self.rows -= n;
            }
            0..4 => {
                let src: Vec<Vec<u8>> = self.now.iter().map(|c| noise(seed, n * c.2)).collect();
                t.append(n, &src.iter().map(Vec::as_slice).collect::<Vec<_>>())
                    .unwrap();
                self.now
                    .iter_mut()
                    .zip(src)
                    .for_each(|(c, src)| c.3.extend(src));
                self.rows += n;
            }
            4..6 => {
                let (row, n) = (self.now[column].2, n.min(self.rows - at));
                let src = noise(seed, n * row);
                t.write(column, at, n, &src).unwrap();
                self.now[column].3[(at * row) as usize..((at + n) * row) as usize]
                    .copy_from_slice(&src);
            }
            6 => {
                let rows = if n > 10 {
                    at
                } else {
                    self.rows - n.min(self.rows)
                };
                t.truncate(rows).unwrap();
                self.now
                    .iter_mut()
                    .for_each(|c| c.3.truncate((rows * c.2) as usize));
                self.rows = rows;
            }
            7 if self.now.len() < 6 => {
                let (dtype, row) =
                    [("<i4", 4), ("|S3", 3), ("('<i2', (3,))", 6)][self.rng.below(3)];
                let name = ["a", "b", "m", "x", "y", "z"]
                    .into_iter()
                    .find(|n| self.now.iter().all(|c| c.0 != *n))
                    .unwrap();
                let src = noise(seed, self.rows * row);
                t.column_add(column, name, &Dtype::parse(dtype).unwrap(), Some(&src))
                    .unwrap();
                self.now.insert(column, (name.to_owned(), dtype, row, src));
            }
            8 if self.now.len() > 1 => {
                t.column_remove(&self.now[column].0).unwrap();
                self.now.remove(column);
            }
            9..11 => {
                t.commit().unwrap();
                self.committed = (self.rows, self.now.clone());
            }
            11 => {
                // uncommitted changes are gone
                self.writer = None;
                self.writer = Some(opened(&self.disk.folder(), Mode::Append).unwrap());
                (self.rows, self.now) = self.committed.clone();
            }
            _ => Run::same(
                &opened(&self.disk.folder(), Mode::Read).unwrap(),
                &self.committed,
            ),
        }
        Run::same(
            self.writer.as_ref().unwrap(),
            &(self.rows, self.now.clone()),
        );
    }

    fn same(t: &Table, want: &(u64, Vec<Vector>)) {
        assert_eq!(t.rows(), want.0);
        let names: Vec<&str> = t.columns().iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            want.1.iter().map(|c| c.0.as_str()).collect::<Vec<_>>()
        );
        for (c, (name, _, _, bytes)) in t.columns().iter().zip(&want.1) {
            assert!(content(&c.array).unwrap() == *bytes, "{name}");
        }
    }
}

#[test]
fn random_operations_match_those_on_vectors() {
    for seed in 0..60 {
        let mut rng = Rng(seed * 7919 + 1);
        (0..9).for_each(|_| _ = rng.draw());
        let format = FORMATS[seed as usize % 2];
        let disk = base(seed, format);
        let column = |(i, (name, dtype)): (usize, &(&str, &'static str))| {
            let row = [4, 3, 6][i];
            (
                (*name).to_owned(),
                *dtype,
                row,
                noise(1 + i as u64, seed * row),
            )
        };
        let now: Vec<Vector> = COLUMNS.iter().enumerate().map(column).collect();
        let writer = Some(opened(&disk.folder(), Mode::Append).unwrap());
        let mut run = Run {
            rng,
            disk,
            writer,
            rows: seed,
            committed: (seed, now.clone()),
            now,
        };
        (0..50).for_each(|_| run.step());
        run.writer.as_mut().unwrap().commit().unwrap();
        drop(run.writer.take());
        let names: Vec<String> = run
            .disk
            .contents()
            .keys()
            .map(|n| n.to_string_lossy().into_owned())
            .collect();
        assert!(!names.iter().any(|n| n.contains("holdall")), "{names:?}");
        // nothing remains of removed columns
        if format == Format::BlzRfc {
            let mut chunk_dirs: Vec<_> = names
                .iter()
                .filter_map(|n| n.strip_prefix("data/")?.split_once('/'))
                .map(|(column, _)| column)
                .collect();
            chunk_dirs.dedup();
            assert_eq!(chunk_dirs.len(), run.now.len(), "{names:?}");
            assert_eq!(
                names.iter().filter(|n| n.ends_with("meta/storage")).count(),
                1,
                "{names:?}"
            );
            continue;
        }
        let folders = names.iter().filter(|n| n.ends_with("/meta/")).count();
        assert_eq!(folders, run.now.len(), "{names:?}");
        assert_eq!(
            names
                .iter()
                .filter(|n| n.ends_with("/meta/storage"))
                .count(),
            run.now.len(),
            "{names:?}"
        );
    }
}

/// Returns a table with a column that has more rows than the others, as left by an interrupted
/// tool.
fn unequal() -> SimDisk {
    let disk = base(ROWS, Format::Bcolz);
    let longer = base(ROWS + 40, Format::Bcolz);
    for name in [
        "meta/sizes",
        "data/__4.blp",
        "data/__5.blp",
        "data/__6.blp",
        "data/__7.blp",
        "data/__8.blp",
    ] {
        let name = format!("b/{name}");
        let bytes = longer.contents().remove(OsStr::new(&name));
        let Some(bytes) = bytes else { continue };
        disk.folder()
            .open(OsStr::new(&name), Access::Create)
            .unwrap()
            .write_at(0, &bytes)
            .unwrap();
    }
    disk.make_durable();
    disk
}

#[test]
fn a_power_failure_while_columns_of_unequal_length_become_equal() {
    let mut state_counts = StateCounts::of("table, columns of unequal length");
    let disk = unequal();
    let f = disk.folder();
    let lengths = |t: &Table| {
        t.columns()
            .iter()
            .map(|c| c.stored_rows)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lengths(&opened(&f, Mode::Read).unwrap()),
        [ROWS, ROWS + 40, ROWS]
    );
    let rows = |f: &Arc<dyn Folder>| seen(f).unwrap().split_off(1);
    let old = rows(&f);
    assert_eq!(old.len() as u64, ROWS);
    for (name, change) in CHANGES
        .iter()
        .filter(|(name, _)| !name.contains("remove") && !name.contains("cut"))
    {
        let d = disk.copy();
        act(&d.folder(), *change).unwrap_or_else(|e| panic!("{name}: {e}"));
        let t = opened(&d.folder(), Mode::Read).unwrap();
        assert!(lengths(&t).iter().all(|n| *n == t.rows()), "{name}");
        let of_old = base(ROWS, Format::Bcolz);
        act(&of_old.folder(), *change).unwrap();
        assert!(rows(&d.folder()) == rows(&of_old.folder()), "{name}");
        let scene = Scenario {
            name: format!("unequal, {name}"),
            disk: disk.copy(),
            act: &|folder| act(&folder, *change),
            read: &|folder| seen(&folder).map(|mut all| all.split_off(1)),
            next_commit: &|folder| act(&folder, |t| append(t, 9, 1)),
        };
        state_counts.add(name, sim::check(&scene, 4, None));
    }
    state_counts.assert_complete(500);
    let d = disk.copy();
    act(&d.folder(), |_| Ok(())).unwrap();
    assert_eq!(
        lengths(&opened(&d.folder(), Mode::Read).unwrap()),
        [ROWS; 3]
    );
    assert!(rows(&d.folder()) == old);
}

/// Names of columns that lead out of the table never get into a journal.
#[test]
fn a_broken_table_can_be_replaced() {
    let disk = base(ROWS, Format::Bcolz);
    let f = disk.folder();
    let names = b"{\"names\": [\"../a\", \"a/meta\", \"b\", \"gone\"]}";
    f.open(OsStr::new("__rootdirs__"), Access::Create)
        .unwrap()
        .write_at(0, names)
        .unwrap();
    assert_eq!(
        opened(&f, Mode::Append).err().map(|e| e.status),
        Some(Status::Format)
    );
    create(
        &f,
        Mode::Replace,
        &[("b", "<f8"), ("x", "<i4")],
        Format::Bcolz,
    )
    .unwrap();
    assert_eq!(opened(&f, Mode::Append).unwrap().rows(), 25);
    f.open(OsStr::new("__rootdirs__"), Access::Create)
        .unwrap()
        .write_at(0, b"{\"names\": [\"b\", \"b\"]}")
        .unwrap();
    assert_eq!(
        create(&f, Mode::Replace, COLUMNS, Format::Bcolz)
            .unwrap_err()
            .status,
        Status::Format
    );
}

#[test]
fn invalid_requests_are_refused() {
    let disk = base(ROWS, Format::Bcolz);
    let f = disk.folder();
    let status = |r: Result<Table>| r.err().map(|e| e.status);
    assert_eq!(
        status(new(&f, Mode::New, COLUMNS, Format::Bcolz)),
        Some(Status::Exists)
    );
    assert_eq!(
        status(new(&f, Mode::Append, COLUMNS, Format::Bcolz)),
        Some(Status::Argument)
    );
    assert_eq!(
        status(new(&f, Mode::Replace, &[], Format::Bcolz)),
        Some(Status::Argument)
    );
    assert_eq!(status(opened(&f, Mode::New)), Some(Status::Argument));
    let nothing = SimDisk::default();
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "a\0",
        "__attrs__",
        "__rootdirs__",
        "dataset.holdall-lock",
    ] {
        assert_eq!(
            status(new(
                &nothing.folder(),
                Mode::New,
                &[("b", "<i4"), (name, "<i4")],
                Format::Bcolz
            )),
            Some(Status::Argument),
            "{name:?}"
        );
    }
    assert_eq!(
        status(new(
            &nothing.folder(),
            Mode::New,
            &[("a", "<i4"), ("a", "<i4")],
            Format::Bcolz
        )),
        Some(Status::Exists)
    );
    assert_eq!(
        status(new(
            &nothing.folder(),
            Mode::New,
            &[("a", "O")],
            Format::Bcolz
        )),
        Some(Status::Unsupported)
    );
    assert!(nothing.contents().is_empty(), "{:?}", nothing.contents());

    let status_of = |r: Result<()>| r.unwrap_err().status;
    let mut t = opened(&f, Mode::Append).unwrap();
    let was = shown(&t);
    let [a, b, m] = [noise(1, 8), noise(1, 6), noise(1, 12)];
    assert_eq!(status_of(t.append(2, &[&a, &b])), Status::Argument);
    assert_eq!(status_of(t.append(2, &[&a, &b, &m[1..]])), Status::Argument);
    assert_eq!(
        status_of(t.append(u64::MAX, &[&a, &b, &m])),
        Status::Argument
    );
    assert_eq!(status_of(t.write(3, 0, 1, &a)), Status::Range);
    assert_eq!(status_of(t.write(0, ROWS, 1, &a[..4])), Status::Range);
    assert_eq!(status_of(t.write(0, 0, 1, &a)), Status::Argument);
    assert_eq!(status_of(t.truncate(ROWS + 1)), Status::Range);
    assert_eq!(
        status_of(t.insert(ROWS + 1, 2, &[&a, &b, &m])),
        Status::Range
    );
    assert_eq!(status_of(t.insert(3, 2, &[&a, &b])), Status::Argument);
    assert_eq!(
        status_of(t.insert(3, 2, &[&a, &b, &m[1..]])),
        Status::Argument
    );
    assert_eq!(
        status_of(t.insert(3, u64::MAX, &[&a, &b, &m])),
        Status::Argument
    );
    assert_eq!(status_of(t.remove(3, ROWS - 2)), Status::Range);
    assert_eq!(status_of(t.remove(u64::MAX, 2)), Status::Range);
    assert_eq!(status_of(add(&mut t, 4, "x", "<i4")), Status::Range);
    assert_eq!(status_of(add(&mut t, 0, "b", "<i4")), Status::Exists);
    assert_eq!(status_of(add(&mut t, 0, "x", "O")), Status::Unsupported);
    assert_eq!(
        status_of(t.column_add(0, "x", &Dtype::parse("<i4").unwrap(), Some(&a))),
        Status::Argument
    );
    assert_eq!(status_of(t.column_remove("x")), Status::Argument);
    assert_eq!(status_of(t.attr_set("n", Some(b"{"))), Status::Argument);
    assert!(shown(&t) == was);
    let before = disk.contents();
    t.commit().unwrap();
    assert!(disk.contents() == before);
    // a writer that does not hold the lock
    act(&f, |t| append(t, 3, 1)).unwrap();
    append(&mut t, 4, 1).unwrap();
    assert_eq!(status_of(t.commit()), Status::State);
    drop(t);
    let mut t = opened(&f, Mode::Append).unwrap();
    act(&f, |t| add(t, 0, "x", "<i4")).unwrap();
    t.truncate(3).unwrap();
    assert_eq!(status_of(t.commit()), Status::State);
    drop(t);
    let mut reader = opened(&f, Mode::Read).unwrap();
    assert_eq!(status_of(append(&mut reader, 1, 1)), Status::State);
    assert_eq!(status_of(reader.attr_set("n", None)), Status::State);
    assert_eq!(status_of(reader.commit()), Status::State);
    for (name, _) in &COLUMNS[1..] {
        act(&f, |t| t.column_remove("x").or(Ok::<_, Error>(()))).unwrap();
        let mut t = opened(&f, Mode::Append).unwrap();
        t.column_remove(name).unwrap();
        t.commit().unwrap();
    }
    assert_eq!(
        status_of(opened(&f, Mode::Append).unwrap().column_remove("a")),
        Status::Argument
    );
    // an array is not a table
    let array = SimDisk::default();
    let mut a = create::create_in(
        &array.folder(),
        Mode::New,
        &ArraySpec {
            dtype: "<i4",
            shape: &[3],
            chunks: None,
            format: Format::Bcolz,
        },
        &options(),
    )
    .unwrap();
    a.commit().unwrap();
    drop(a);
    assert_eq!(
        status(opened(&array.folder(), Mode::Append)),
        Some(Status::Type)
    );
    assert_eq!(
        status(new(&array.folder(), Mode::Replace, COLUMNS, Format::Bcolz)),
        Some(Status::Exists)
    );
    assert_eq!(
        open::open_in(&f, Mode::Append, &options())
            .err()
            .map(|e| e.status),
        Some(Status::Type)
    );
}
