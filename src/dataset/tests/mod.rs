//! Tests every operation that changes a dataset on the simulated disk, and random operations
//! against a model.

mod any;
mod cache;
mod chunked;
mod meta_files;
mod precision;
mod yaml;

use super::create::{self, ArraySpec};
use super::open;
use crate::array::Array;
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::sim::{self, Fault, Rng, Scenario, SimDisk, StateCounts, Tally};
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::sync::Arc;

/// Rows, bytes per row (5 items of 4), and rows per chunk.
const ROWS: u64 = 90;
const ROW: u64 = 20;
const CHUNK: u64 = 16;

fn noise(seed: u64, len: u64) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    (0..len).map(|_| (rng.draw() >> 24) as u8).collect()
}

fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

const FORMATS: &[Format] = &[Format::Bcolz, Format::Blz, Format::BlzRfc];

fn new(folder: &Arc<dyn Folder>, mode: Mode, shape: &[u64], format: Format) -> Result<Array> {
    let mut options = options();
    if format == Format::BlzRfc {
        options.set(Opt::SuperchunkChunks, 2)?;
    }
    create::create_in(
        folder,
        mode,
        &ArraySpec {
            dtype: "<i4",
            shape,
            chunks: Some(&[CHUNK, 5]),
            format,
        },
        &options,
    )
}

fn opened(folder: &Arc<dyn Folder>, mode: Mode) -> Result<Array> {
    open::open_in(folder, mode, &options())
}

/// Returns a disk with an array of several chunks.
fn base(rows: u64, format: Format) -> SimDisk {
    let disk = SimDisk::default();
    let mut a = new(&disk.folder(), Mode::New, &[0, 5], format).unwrap();
    append(&mut a, 1, rows).unwrap();
    set_file(&mut a, "note", Some(b"first")).unwrap();
    a.commit().unwrap();
    drop(a);
    disk.make_durable();
    disk
}

fn content(a: &Array) -> Vec<u8> {
    let mut bytes = vec![0xee; a.nbytes() as usize];
    assert!(!a.read(&[0, 0], a.shape(), None, &mut bytes, None).unwrap());
    bytes
}

/// Returns the attributes and the fill value, and the rows, to which appends add.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let a = opened(folder, Mode::Read)?;
    let mut bytes = vec![0xee; a.nbytes() as usize];
    a.read(&[0, 0], a.shape(), None, &mut bytes, None)?;
    let mut metadata = [
        a.store().attr("n")?.unwrap_or_default(),
        a.store().fill()?.unwrap_or_default(),
    ]
    .concat();
    for name in a.store().meta_file_names()? {
        metadata.extend(name.as_bytes());
        metadata.extend(a.store().meta_file(&name)?.unwrap_or_default());
    }
    Ok(std::iter::once(metadata)
        .chain(bytes.chunks(ROW as usize).map(<[u8]>::to_vec))
        .collect())
}

fn append(a: &mut Array, seed: u64, n: u64) -> Result<()> {
    a.append(0, n, &noise(seed, n * ROW))
}

fn insert(a: &mut Array, at: u64, n: u64) -> Result<()> {
    a.insert(0, at, n, &noise(at + n, n * ROW))
}

fn set_file(a: &mut Array, name: &str, bytes: Option<&[u8]>) -> Result<()> {
    a.store_mut()?.meta_file_set(name, bytes)
}

fn write(a: &mut Array, at: u64, n: u64) -> Result<()> {
    a.write(&[at, 0], &[n, 5], None, &noise(at, n * ROW), None)
}

type Change = fn(&mut Array) -> Result<()>;

const CHANGES: &[(&str, Change)] = &[
    ("append", |a| append(a, 2, 3)),
    ("append beyond the last chunk", |a| append(a, 2, 30)),
    ("append much", |a| append(a, 2, 200)),
    ("write in one chunk", |a| write(a, 17, 3)),
    ("write over two", |a| write(a, 14, 4)),
    ("write whole chunks", |a| write(a, 16, 40)),
    ("write over the end of the last", |a| {
        write(a, ROWS - 1, 1).and_then(|()| append(a, 3, 2))
    }),
    ("insert in the middle", |a| insert(a, 20, 5)),
    ("insert a whole chunk", |a| insert(a, 32, CHUNK)),
    ("insert at the end", |a| insert(a, ROWS, 9)),
    ("remove the first", |a| a.remove(0, 0, 1)),
    ("remove in the middle", |a| a.remove(0, 20, 40)),
    ("remove the last", |a| a.remove(0, ROWS - 5, 5)),
    ("remove the leftover", |a| a.remove(0, 80, ROWS - 80)),
    ("remove chunks at the end", |a| a.remove(0, 20, ROWS - 20)),
    ("remove all", |a| a.remove(0, 0, ROWS)),
    ("resize", |a| a.resize(&[120, 5])),
    ("set the fill value", |a| a.fill_set(&[1, 0, 0, 0])),
    ("resize, set the fill value, resize", |a| {
        a.resize(&[100, 5])
            .and_then(|()| a.fill_set(&[7; ROW as usize]))
            .and_then(|()| a.resize(&[150, 5]))
    }),
    ("cut, and append other rows", |a| {
        a.remove(0, 70, ROWS - 70).and_then(|()| append(a, 7, 50))
    }),
    ("cut, and append as many", |a| {
        a.remove(0, 85, 5).and_then(|()| append(a, 7, 5))
    }),
    ("set an attribute", |a| a.attr_set("n", b"[1, 2]")),
    ("append, and set an attribute", |a| {
        append(a, 3, 20).and_then(|()| a.attr_set("n", b"5"))
    }),
    ("set metadata files", |a| {
        set_file(a, "units", Some(b"K"))?;
        set_file(a, "note", Some(&noise(3, 5000)))
    }),
    ("append, and set a metadata file", |a| {
        append(a, 3, 20).and_then(|()| set_file(a, "note", Some(b"")))
    }),
    ("remove a metadata file", |a| set_file(a, "note", None)),
    ("write, and replace metadata files", |a| {
        write(a, 14, 4)?;
        set_file(a, "note", None)?;
        set_file(a, "new", Some(b"new"))
    }),
    ("remove, insert, append", |a| {
        a.remove(0, 5, 10)
            .and_then(|()| insert(a, 70, 20))
            .and_then(|()| append(a, 4, 3))
    }),
];

fn act(folder: &Arc<dyn Folder>, change: Change) -> Result<()> {
    let mut a = opened(folder, Mode::Append)?;
    change(&mut a)?;
    a.commit()
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
        next_commit: &|folder| act(&folder, |a| append(a, 9, 1)),
    };
    sim::check(&scene, per_cut, wrong)
}

#[test]
fn a_power_failure_leaves_the_old_rows_or_the_new() {
    for format in FORMATS.iter().copied() {
        let mut state_counts = StateCounts::of(&format!("array in a folder, {format:?}"));
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
        // a last chunk that is longer than needed, and a chunk that is not part of the array
        let cut = base(ROWS, format);
        act(&cut.folder(), |a| a.remove(0, 70, ROWS - 70)).unwrap();
        cut.make_durable();
        count("append where rows were cut", &cut, &|folder| {
            act(&folder, |a| append(a, 5, 40))
        });
        let create = |mode| {
            move |folder: Arc<dyn Folder>| {
                let mut a = new(&folder, mode, &[20, 5], format)?;
                write(&mut a, 3, 17)?;
                a.attr_set("n", b"1")?;
                a.commit()
            }
        };
        count("create", &SimDisk::default(), &create(Mode::New));
        for other in FORMATS {
            count(
                &format!("replace {other:?}"),
                &base(ROWS, *other),
                &create(Mode::Replace),
            );
        }
        state_counts.assert_complete(1_000);
    }
}

#[test]
fn mutations_of_a_commit_are_detected() {
    for format in [Format::Bcolz, Format::BlzRfc] {
        let disk = base(ROWS, format);
        let some = CHANGES.iter().filter(|(n, _)| {
            [
                "append beyond the last chunk",
                "write in one chunk",
                "remove in the middle",
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
        sim::mutations(&format!("array in a folder, {format:?}"), 3, &checks);
    }
}

/// An append to 64 MiB in one file does not rewrite them.
#[test]
fn a_small_append_writes_little() {
    let disk = SimDisk::default();
    let f = disk.folder();
    let (chunk, rows) = (16 << 10, (64 << 20) / 8 - 3);
    let options = options()
        .with(Opt::ChunkBytes, chunk)
        .unwrap()
        .with(Opt::SuperchunkChunks, 4096)
        .unwrap();
    let new = ArraySpec {
        dtype: "<i8",
        shape: &[0],
        chunks: None,
        format: Format::BlzRfc,
    };
    let mut a = create::create_in(&f, Mode::New, &new, &options).unwrap();
    let mut want: Vec<u8> = (0..rows as u64)
        .flat_map(|i| (i * i).to_le_bytes())
        .collect();
    a.append(0, rows as u64, &want).unwrap();
    a.commit().unwrap();
    drop(a);
    disk.make_durable();
    // the last three fill the chunk and the file
    for n in 0..5u64 {
        let before = disk.written();
        let mut a = opened(&f, Mode::Append).unwrap();
        let row = (n << 40).to_le_bytes();
        a.append(0, 1, &row).unwrap();
        a.commit().unwrap();
        want.extend(row);
        let written = disk.written() - before;
        println!("row {n}: {written} bytes");
        // the chunk, and the journal copy of its previous state; offsets and metadata files
        assert!(written < 2 * chunk as u64 + 4096, "{written}");
    }
    let a = opened(&f, Mode::Read).unwrap();
    let mut got = vec![0; a.nbytes() as usize];
    a.read(&[0], a.shape(), None, &mut got, None).unwrap();
    assert!(got == want);
    assert!(disk.contents().contains_key(OsStr::new("data/__2__.bin")));
}

/// A reader keeps reading the rows that it found while rows are appended to the same file.
#[test]
fn a_reader_of_superchunks_continues_while_rows_are_appended() {
    let disk = base(ROWS, Format::BlzRfc);
    let f = disk.folder();
    let reader = opened(&f, Mode::Read).unwrap();
    let want = noise(1, ROWS * ROW);
    for n in 0..40 {
        assert!(content(&reader) == want, "{n}");
        act(&f, |a| append(a, 5, 1)).unwrap();
    }
    assert_eq!(opened(&f, Mode::Read).unwrap().shape()[0], ROWS + 40);
    assert!(content(&reader) == want);
}

/// Tests that the simulated disk detects syncs that are left out.
#[test]
fn each_sync_is_needed() {
    let some = CHANGES
        .iter()
        .filter(|(n, _)| ["append beyond the last chunk", "remove in the middle"].contains(n));
    for ((name, change), format) in
        some.flat_map(|c| [Format::Bcolz, Format::BlzRfc].map(|f| (c, f)))
    {
        let disk = base(ROWS, format);
        let acts = |folder| act(&folder, *change);
        let noticed =
            sim::without_each_sync(&format!("{name}, {format:?}"), &disk, acts, |wrong| {
                check(name, &disk, &acts, 8, wrong)
            });
        let (n, missed) = (noticed.len(), noticed.iter().filter(|n| **n == 0).count());
        assert!(missed * 3 <= n, "{name}: {missed} of {n}");
    }
}

#[test]
fn a_failed_change_leaves_the_rows_unchanged() {
    for format in FORMATS {
        fails(*format);
    }
}

fn fails(format: Format) {
    let disk = base(ROWS, format);
    let old = seen(&disk.folder()).unwrap();
    let mut failed = [0; 2];
    for (name, change) in CHANGES {
        for k in 0.. {
            let d = disk.copy();
            let mut a = opened(&d.folder(), Mode::Append).unwrap();
            d.full_after(k);
            let before = d.ops();
            let done = change(&mut a);
            if let Err(e) = &done {
                assert_eq!(e.status, Status::Io, "{name}");
                let several = name.contains(',') || name.starts_with("write");
                // the disk has space again, and the failed change is not committed
                a.commit().unwrap();
                drop(a);
                assert!(
                    several || seen(&d.folder()).unwrap() == old,
                    "{name} at {k}"
                );
                failed[0] += 1;
                continue;
            }
            let new = content(&a);
            if let Err(e) = a.commit() {
                assert_eq!(e.status, Status::Io, "{name}");
                let again = a.commit();
                drop(a);
                let now: Vec<u8> = seen(&d.folder())
                    .unwrap_or_else(|e| panic!("{name} at {k}: {e} {:?}", d.contents()))
                    .iter()
                    .skip(1)
                    .flatten()
                    .copied()
                    .collect();
                let was: Vec<u8> = old.iter().skip(1).flatten().copied().collect();
                assert!(
                    now == new || (again.is_err() && now == was),
                    "{name} at {k}: {again:?}"
                );
                failed[1] += 1;
            } else if d.ops() - before <= k {
                break;
            }
        }
    }
    println!("{failed:?} changes and commits failed");
    assert!(failed[0] > 20 && failed[1] > 50, "{failed:?}");
}

/// Random operations, compared with a vector.
struct Run {
    rng: Rng,
    disk: SimDisk,
    writer: Option<Array>,
    now: Vec<u8>,
    committed: Vec<u8>,
    /// The fill value, now and at the last commit.
    fill: (Vec<u8>, Vec<u8>),
}

impl Run {
    fn rows(&mut self, bytes: usize) -> (u64, u64) {
        let have = bytes / ROW as usize;
        let most = [1, CHUNK as usize, 70][self.rng.below(3)];
        (
            self.rng.below(have + 1) as u64,
            self.rng.below(most + 1) as u64,
        )
    }

    fn step(&mut self) {
        let (at, n) = self.rows(self.now.len());
        let have = self.now.len() as u64 / ROW;
        let (seed, fits) = (self.rng.draw() >> 8, n.min(have - at));
        let bytes = |row: u64| (row * ROW) as usize;
        let a = self.writer.as_mut().unwrap();
        match self.rng.below(14) {
            0..3 => {
                append(a, seed, n).unwrap();
                self.now.extend(noise(seed, n * ROW));
            }
            3..5 => {
                let new = noise(seed, fits * ROW);
                a.write(&[at, 0], &[fits, 5], None, &new, None).unwrap();
                self.now[bytes(at)..bytes(at + fits)].copy_from_slice(&new);
            }
            5 => {
                a.insert(0, at, n, &noise(seed, n * ROW)).unwrap();
                self.now.splice(bytes(at)..bytes(at), noise(seed, n * ROW));
            }
            6 => {
                a.remove(0, at, fits).unwrap();
                self.now.drain(bytes(at)..bytes(at + fits));
            }
            7 => {
                let rows = if self.rng.below(3) == 0 {
                    at
                } else {
                    have - n.min(have)
                };
                a.resize(&[rows, 5]).unwrap();
                self.now.truncate(bytes(rows));
            }
            12 => {
                a.resize(&[have + n, 5]).unwrap();
                self.now
                    .extend(self.fill.0.iter().copied().cycle().take(bytes(n)));
            }
            13 => {
                self.fill.0 = noise(seed, [4, ROW][self.rng.below(2)]);
                a.fill_set(&self.fill.0).unwrap();
            }
            8..10 => {
                a.commit().unwrap();
                self.committed = self.now.clone();
                self.fill.1 = self.fill.0.clone();
            }
            10 => {
                // uncommitted changes are gone
                self.writer = None;
                self.writer = Some(opened(&self.disk.folder(), Mode::Append).unwrap());
                self.now = self.committed.clone();
                self.fill.0 = self.fill.1.clone();
            }
            _ => {
                let reader = opened(&self.disk.folder(), Mode::Read).unwrap();
                assert!(content(&reader) == self.committed);
            }
        }
        assert!(content(self.writer.as_ref().unwrap()) == self.now);
    }
}

#[test]
fn random_operations_match_those_on_a_vector() {
    for seed in 0..90 {
        let format = FORMATS[seed as usize % FORMATS.len()];
        let mut rng = Rng(seed * 7919 + 1);
        (0..9).for_each(|_| _ = rng.draw());
        let disk = base(seed, format);
        let now = noise(1, seed * ROW);
        let writer = Some(opened(&disk.folder(), Mode::Append).unwrap());
        let mut run = Run {
            rng,
            disk,
            writer,
            committed: now.clone(),
            now,
            fill: (vec![0; 4], vec![0; 4]),
        };
        (0..40).for_each(|_| run.step());
        run.writer.as_mut().unwrap().commit().unwrap();
        drop(run.writer.take());
        let names: Vec<String> = run
            .disk
            .contents()
            .keys()
            .map(|n| n.to_string_lossy().into_owned())
            .collect();
        assert!(!names.iter().any(|n| n.contains("holdall")), "{names:?}");
        // only the last file may have rows that are not part of the array
        let each = if format == Format::BlzRfc { 2 } else { 1 };
        assert_eq!(
            names.iter().filter(|n| n.starts_with("data/__")).count(),
            run.now.len().div_ceil((each * CHUNK * ROW) as usize),
            "{names:?}"
        );
    }
}

#[test]
fn invalid_requests_are_refused() {
    let disk = base(ROWS, Format::Bcolz);
    let f = disk.folder();
    let status = |r: Result<Array>| r.err().map(|e| e.status);
    assert_eq!(
        status(new(&f, Mode::New, &[3, 5], Format::Bcolz)),
        Some(Status::Exists)
    );
    assert_eq!(
        status(new(&f, Mode::Append, &[3, 5], Format::Bcolz)),
        Some(Status::Argument)
    );
    assert_eq!(
        status(new(&f, Mode::Replace, &[], Format::Bcolz)),
        Some(Status::Argument)
    );
    assert_eq!(
        status(new(&f, Mode::Replace, &[3, 4], Format::Bcolz)),
        Some(Status::Unsupported)
    );
    let mut a = opened(&f, Mode::Append).unwrap();
    let unsupported = |r: Result<()>| assert_eq!(r.unwrap_err().status, Status::Unsupported);
    unsupported(a.resize(&[ROWS, 6]));
    unsupported(a.resize(&[ROWS, 4]));
    unsupported(a.insert(1, 0, 1, &noise(1, ROWS * 4)));
    unsupported(a.remove(1, 0, 1));
    assert_eq!(a.attr_set("n", b"{").unwrap_err().status, Status::Argument);
    a.attr_set("\u{e9}", "\"\u{1f600}\"".as_bytes()).unwrap();
    a.commit().unwrap();
    assert_eq!(
        f.open(OsStr::new("__attrs__"), Access::Read)
            .unwrap()
            .size()
            .unwrap(),
        27 + 33
    );
    assert!(
        disk.contents()
            .values()
            .all(|text| !text.starts_with(b"{") || text.is_ascii())
    );
    a.commit().unwrap();
    assert_eq!(content(&a), noise(1, ROWS * ROW));
    // a writer that does not hold the lock
    act(&f, |a| append(a, 3, 1)).unwrap();
    append(&mut a, 4, 1).unwrap();
    assert_eq!(a.commit().unwrap_err().status, Status::State);
    let mut reader = opened(&f, Mode::Read).unwrap();
    assert_eq!(append(&mut reader, 1, 1).unwrap_err().status, Status::State);
}
