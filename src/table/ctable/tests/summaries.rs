//! The extrema of blocks that are stored are those of the values, after every operation and after
//! every crash.

use super::super::*;
use super::write::{act, opened, seen};
use crate::array::msgpack_json::{from_json, to_json};
use crate::array::{Array, NewTiled};
use crate::dtype::Dtype;
use crate::error::fail;
use crate::io::sim::{self, Rng, Scenario, SimDisk, StateCounts};
use crate::json::Value;
use crate::options::Opt;
use crate::superchunk::frame::Frame;
use std::ffi::OsStr;
use std::path::Path;

type Change = fn(&mut Table) -> Result<()>;

/// Positions of a block.
const SEGMENT: u64 = 16;
pub(super) const ENTRIES: &str = "_indexes/a/summary.block.b2nd";
pub(super) const CATALOG: &str = "index_catalog";

pub(super) fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

fn values(t: &Table, rng: &mut Rng, n: u64) -> Vec<Vec<u8>> {
    let row = |size: usize| {
        (0..n as usize * size)
            .map(|_| rng.below(256) as u8)
            .collect()
    };
    assert_eq!(t.columns().len(), 2);
    [4, 8].map(row).to_vec()
}

pub(super) fn append(t: &mut Table, seed: u64, n: u64) -> Result<()> {
    let rows = values(t, &mut Rng(seed * 2 + 1), n);
    t.append(n, &[&rows[0], &rows[1]])
}

/// Returns a disk with a table of integers, which have summaries, and floats.
pub(super) fn base(rows: u64) -> SimDisk {
    let disk = SimDisk::default();
    let folder = disk.folder();
    let columns =
        [("a", "<i4"), ("f", "<f8")].map(|(name, dtype)| (name, Dtype::parse(dtype).unwrap()));
    let small = options().with(Opt::ChunkBytes, 64).unwrap();
    let mut t = Table::create_in(&folder, Mode::New, Format::CTable, &columns, &small).unwrap();
    append(&mut t, 1, rows).unwrap();
    t.commit().unwrap();
    drop(t);
    add_index(&folder);
    disk.make_durable();
    disk
}

/// Reads an array of one dimension.
fn items(folder: &Arc<dyn Folder>, name: &str) -> Result<Vec<u8>> {
    let array = Array::open_in(folder, OsStr::new(name), Mode::Read, &options())?;
    let mut bytes = vec![0; array.nbytes() as usize];
    array.read(&[0], array.shape(), None, &mut bytes, None)?;
    Ok(bytes)
}

/// Returns the entries that the values have.
fn expected(folder: &Arc<dyn Folder>) -> Result<Vec<u8>> {
    let bytes = items(folder, "_cols/a.b2nd")?;
    let values: Vec<i32> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|b| i32::from_le_bytes(*b))
        .collect();
    let entry = |segment: &[i32]| {
        let [low, high] = [segment.iter().min(), segment.iter().max()].map(Option::unwrap);
        [&low.to_le_bytes()[..], &high.to_le_bytes(), &[0]].concat()
    };
    Ok(values.chunks(SEGMENT as usize).flat_map(entry).collect())
}

/// Adds an index as python-blosc2 does, and one of another kind.
fn add_index(folder: &Arc<dyn Folder>) {
    let above = Path::new(ENTRIES).ancestors().skip(1).collect::<Vec<_>>();
    for name in above
        .iter()
        .rev()
        .filter(|name| !name.as_os_str().is_empty())
    {
        folder.make_folder(name.as_os_str()).unwrap();
    }
    folder.make_folder(OsStr::new("_indexes/f")).unwrap();
    let expected = expected(folder).unwrap();
    let segments = expected.len() as u64 / 9;
    for (name, content) in [(ENTRIES, expected), ("_indexes/f/full.b2nd", vec![0; 9])] {
        let shape = [content.len() as u64 / 9];
        let new = NewTiled {
            dtype: "[('min', '<i4'), ('max', '<i4'), ('flags', '|u1')]",
            shape: &shape,
            chunks: Some(&[5]),
            blocks: None,
            caterva: false,
        };
        let name = OsStr::new(name);
        let mut entries =
            Array::create_frame_in(folder, name, Mode::New, &new, &options()).unwrap();
        entries.write(&[0], &shape, None, &content, None).unwrap();
        entries.commit().unwrap();
    }
    let epoch = metalayer(folder, "value_epoch");
    let summary = format!(
        r#"{{"kind": "summary", "version": 1, "token": "a", "stale": false, "shape": ["__tuple__", 1],
        "target": {{"source": "field", "field": null}}, "null_aware": false, "built_value_epoch": {epoch},
        "levels": {{"block": {{"segment_len": {SEGMENT}, "nsegments": {segments}, "path": "{ENTRIES}"}}}}}}"#
    );
    let full = summary.replace("summary\"", "full\"");
    let catalog = format!(r#"{{"a": {summary}, "f": {full}}}"#);
    let mut meta =
        Frame::open_in(folder, OsStr::new("_meta.b2f"), Mode::Append, &options()).unwrap();
    meta.vlmeta_set(CATALOG, &from_json(catalog.as_bytes()))
        .unwrap();
    meta.commit().unwrap();
}

pub(super) fn metalayer(folder: &Arc<dyn Folder>, name: &str) -> String {
    let meta = Frame::open_in(folder, OsStr::new("_meta.b2f"), Mode::Read, &options()).unwrap();
    meta.meta(name).unwrap().map(to_json).unwrap_or_default()
}

/// Fails if the summaries are not those of the values, or are out of date by the catalog.
fn check(folder: &Arc<dyn Folder>) -> Result<()> {
    let catalog = metalayer(folder, CATALOG);
    let catalog = Value::parse(catalog.as_bytes())?;
    let (stored, expected) = (items(folder, ENTRIES)?, expected(folder)?);
    let index = catalog.get("a").unwrap();
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    let level = index.get("levels").and_then(|levels| levels.get("block"));
    let segments = number(level.and_then(|level| level.get("nsegments")));
    let epoch = metalayer(folder, "value_epoch").parse().ok();
    let current = number(index.get("built_value_epoch")) == epoch;
    if stored != expected || segments != Some(stored.len() as u64 / 9) || !current {
        return Err(fail!(
            Format,
            "{stored:?} in {index} (expected {expected:?})"
        ));
    }
    Ok(())
}

#[test]
fn random_changes_update_them() {
    for seed in sim::seeds() {
        let mut rng = Rng(seed * 2 + 1);
        (0..9).for_each(|_| _ = rng.draw());
        let folder = base(rng.below(40) as u64).folder();
        let mut t = opened(&folder, Mode::Append).unwrap();
        for _ in 0..60 {
            let (n, some) = (t.rows(), rng.below(30) as u64);
            let at = rng.below(n as usize + 1) as u64;
            match rng.below(6) {
                0 => append(&mut t, rng.draw() >> 1, some).unwrap(),
                1 => {
                    let rows = values(&t, &mut rng, some);
                    t.insert(at, some, &[&rows[0], &rows[1]]).unwrap();
                }
                2 => t.remove(at, some.min(n - at)).unwrap(),
                3 if some == 0 => t.build_index(None).unwrap(),
                3 => {
                    let count = some.min(n - at);
                    let rows = values(&t, &mut rng, count);
                    t.write(0, at, count, &rows[0]).unwrap();
                }
                4 => {
                    drop(t);
                    t = opened(&folder, Mode::Append).unwrap();
                }
                _ => {
                    // without a change there is no commit, and the other index stays
                    append(&mut t, rng.draw() >> 1, 1).unwrap();
                    t.commit().unwrap();
                    check(&folder).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
                    super::zones::check(&folder, &mut rng);
                    super::zones::check_floats(&folder);
                    assert!(!folder.exists(OsStr::new("_indexes/f/full.b2nd")).unwrap());
                    assert!(!metalayer(&folder, CATALOG).contains("full"));
                }
            }
        }
    }
}

#[test]
fn crashes_leave_those_of_the_values() {
    let changes: [(&str, Change); 4] = [
        ("append", |t| append(t, 3, 40)),
        ("build an index", |t| t.build_index(None)),
        ("write", |t| {
            let rows = values(t, &mut Rng(9), 10);
            t.write(0, 11, 10, &rows[0])
        }),
        ("remove and insert", |t| {
            t.remove(3, 9)?;
            let rows = values(t, &mut Rng(9), 2);
            t.insert(5, 2, &[&rows[0], &rows[1]])
        }),
    ];
    let mut counts = StateCounts::of("CTable with summaries");
    for (name, change) in changes {
        let tally = sim::check(
            &Scenario {
                name: name.into(),
                disk: base(50),
                act: &|folder| act(&folder, change),
                read: &|folder| seen(&folder),
                next_commit: &|folder| {
                    act(&folder, |t| append(t, 9, 1))?;
                    super::zones::check_floats(&folder);
                    check(&folder)
                },
            },
            6,
            None,
        );
        counts.add(name, tally);
    }
    counts.assert_complete(100);
}

#[test]
fn summaries_that_do_not_fit_are_dropped() {
    let folder = base(20).folder();
    let catalog = metalayer(&folder, CATALOG);
    for (old, new) in [
        ("\"segment_len\":16", "\"segment_len\":6"),
        ("\"segment_len\":16", "\"segment_len\":0"),
        ("\"stale\":false", "\"stale\":true"),
        ("\"built_value_epoch\":1", "\"built_value_epoch\":0"),
        (ENTRIES, "_cols/a.b2nd"),
        (ENTRIES, "../x.b2nd"),
        ("\"field\":null", "\"field\":\"x\""),
        ("{\"a\":", "{\"f\":"),
        ("{\"a\":", "[{\"a\":"),
    ] {
        let changed = catalog.replace(old, new);
        assert!(changed != catalog, "{old} in {catalog}");
        let folder = base(20).folder();
        let name = OsStr::new("_meta.b2f");
        let mut meta = Frame::open_in(&folder, name, Mode::Append, &options()).unwrap();
        meta.vlmeta_set(CATALOG, &from_json(changed.as_bytes()))
            .unwrap();
        meta.commit().unwrap();
        drop(meta);
        act(&folder, |t| append(t, 3, 3)).unwrap();
        assert_eq!(metalayer(&folder, CATALOG), "", "{new}");
        assert!(!folder.exists(OsStr::new(ENTRIES)).unwrap(), "{new}");
        assert_eq!(seen(&folder).unwrap().len(), 24);
    }
}
