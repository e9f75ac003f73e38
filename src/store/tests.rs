//! Every change of a store on the simulated disk: one commit for all its nodes.

use super::*;
use crate::array::Array;
use crate::dataset::create::ArraySpec;
use crate::dataset::{any, open};
use crate::dtype::Dtype;
use crate::error::Status;
use crate::format::Kind;
use crate::io::sim::{self, Fault, Scenario, SimDisk, StateCounts, Tally};
use crate::superchunk::any::{Superchunk, SuperchunkFormat};
use crate::table::{Cells, Table};

const FORMATS: [Format; 3] = [Format::B2d, Format::B2z, Format::B2e];

fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

/// Creates an array at a node.
fn new_array(store: &StoreHandle, node: &str, items: &[i32]) -> Result<Array> {
    let NodeLocation::Folder(folder) = store.locate_new(node, Kind::Array)? else {
        panic!("{node}: no folder")
    };
    let spec = ArraySpec {
        dtype: "<i4",
        shape: &[0],
        chunks: Some(&[16]),
        format: Format::B2nd,
    };
    let mut array = any::create_in(&folder, Mode::Replace, &spec, None, &options())?;
    append(&mut array, items)?;
    Ok(array)
}

/// Appends to an array, and commits it.
fn append(array: &mut Array, items: &[i32]) -> Result<()> {
    let n = array.shape()[0];
    array.resize(&[n + items.len() as u64])?;
    let bytes: Vec<u8> = items.iter().flat_map(|i| i.to_le_bytes()).collect();
    array.write(&[n], &[items.len() as u64], None, &bytes, None)?;
    array.commit()
}

fn opened(store: &StoreHandle, node: &str) -> Result<Array> {
    let NodeLocation::Folder(folder) = store.locate(node, Mode::Append)? else {
        panic!("{node}: no folder")
    };
    open::open_in(&folder, Mode::Append, &options())
}

fn new_schunk(store: &StoreHandle, node: &str, bytes: &[u8]) -> Result<()> {
    let NodeLocation::Folder(folder) = store.locate_new(node, Kind::Schunk)? else {
        panic!("{node}: no folder")
    };
    let name = OsStr::new("");
    let format = SuperchunkFormat::Frame;
    let mut schunk = Superchunk::create_in(&folder, name, Mode::Replace, format, 1, &options())?;
    schunk.append(bytes)?;
    schunk.commit()
}

fn table(store: &StoreHandle, mode: Mode) -> Result<Table> {
    let location = match mode {
        Mode::Append => store.locate("/t/of", mode)?,
        _ => store.locate_new("/t/of", Kind::Table)?,
    };
    let NodeLocation::Folder(folder) = location else {
        panic!("no folder")
    };
    if mode == Mode::Append {
        return Table::open_in(&folder, mode, &options());
    }
    let columns = [("n", Dtype::parse("<i4")?), ("text", Dtype::text())];
    Table::create_in(&folder, mode, Format::CTable, &columns, &options())
}

fn append_row(table: &mut Table, n: i32, text: &str) -> Result<()> {
    let items = n.to_le_bytes();
    let texts = Cells::of_values([Some(text.as_bytes())].into_iter())?;
    table.append_cells(1, &[Cells::of_items(&items), texts])?;
    table.commit()
}

/// Returns the nodes with their content.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let store = Store::open_in(folder, OsStr::new(""), &options())?;
    let mut all = Vec::new();
    for (node, at) in store.nodes() {
        all.push(node.as_bytes().to_vec());
        if *at == Node::Table {
            let table = Table::open_node(&store, node, Mode::Read, &options())?;
            for column in table.columns() {
                if !column.array.store().has_objects() {
                    all.push(content(&column.array)?);
                    continue;
                }
                let texts = column.array.texts(0, table.rows())?;
                all.extend((0..texts.len()).map(|i| texts.get(i).unwrap_or_default().to_vec()));
            }
            continue;
        }
        let NodeLocation::Folder(location) = store.locate(node)? else {
            panic!("{node}: no folder")
        };
        let schunk = Superchunk::open_in(&location, OsStr::new(""), Mode::Read, &options())?;
        let mut bytes = vec![0; schunk.nbytes() as usize];
        schunk.read(0, &mut bytes)?;
        all.push(bytes);
    }
    Ok(all)
}

fn content(array: &Array) -> Result<Vec<u8>> {
    let mut bytes = vec![0; array.nbytes() as usize];
    let start = vec![0; array.shape().len()];
    array.read(&start, array.shape(), None, &mut bytes, None)?;
    Ok(bytes)
}

type Change = fn(&mut StoreHandle) -> Result<()>;

fn act(folder: &Arc<dyn Folder>, change: Change) -> Result<()> {
    let mut store = StoreHandle::open_in(folder, Mode::Append, &options())?;
    change(&mut store)?;
    store.commit()
}

fn create(folder: &Arc<dyn Folder>, mode: Mode, format: Format, change: Change) -> Result<()> {
    let mut store = StoreHandle::create_in(folder, mode, Some(format), &options())?;
    change(&mut store)?;
    store.commit()
}

fn fill(store: &mut StoreHandle) -> Result<()> {
    new_array(store, "/a", &(0..40).collect::<Vec<_>>())?;
    new_array(store, "/g/deep/b", &[1, 2, 3])?;
    new_schunk(store, "/g/s", b"some bytes")?;
    if has_tables(store) {
        append_row(&mut table(store, Mode::New)?, 1, "one")?;
    }
    Ok(())
}

fn has_tables(store: &StoreHandle) -> bool {
    store.committed().format() != Format::B2e
}

fn base(format: Format) -> SimDisk {
    let disk = SimDisk::default();
    create(&disk.folder(), Mode::New, format, fill).unwrap();
    disk.make_durable();
    disk
}

const CHANGES: [(&str, Change); 6] = [
    ("append to two arrays", |store| {
        append(&mut opened(store, "/a")?, &[5; 30])?;
        append(&mut opened(store, "/g/deep/b")?, &[7; 20])
    }),
    ("append and create", |store| {
        append(&mut opened(store, "/a")?, &[5])?;
        new_array(store, "/new/c", &[8, 9])?;
        new_schunk(store, "/d", b"d")
    }),
    ("remove and append", |store| {
        store.remove("/g/s")?;
        append(&mut opened(store, "/a")?, &[5; 3])
    }),
    ("replace and remove a group", |store| {
        new_array(store, "/a", &[1])?;
        store.remove("/g")
    }),
    ("table and array", |store| {
        if has_tables(store) {
            append_row(&mut table(store, Mode::Append)?, 2, "two")?;
        }
        append(&mut opened(store, "/a")?, &[6])
    }),
    ("replace a table", |store| {
        if has_tables(store) {
            append_row(&mut table(store, Mode::Replace)?, 3, "three")?;
        }
        new_schunk(store, "/g/s", b"other")
    }),
];

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
        next_commit: &|folder| act(&folder, |store| new_schunk(store, "/zz", b"last in order")),
    };
    if wrong.is_none() {
        sim::check_readers(&scene);
    }
    if wrong.is_none() && !disk.contents().is_empty() {
        sim::check_full(&scene);
    }
    sim::check(&scene, per_cut, wrong)
}

#[test]
fn changes_on_the_simulated_disk() {
    let mut counts = StateCounts::of("stores");
    for format in FORMATS {
        let disk = base(format);
        for (name, change) in CHANGES {
            let name = format!("{format:?} {name}");
            let tally = check(&name, &disk, &|folder| act(&folder, change), 6, None);
            counts.add(&name, tally);
        }
        let other: Change = |store| new_array(store, "/x", &[1]).map(drop);
        let name = format!("{format:?} create");
        let new = |folder: Arc<dyn Folder>| create(&folder, Mode::New, format, fill);
        counts.add(&name, check(&name, &SimDisk::default(), &new, 6, None));
        let name = format!("{format:?} replace");
        let replace = |folder: Arc<dyn Folder>| create(&folder, Mode::Replace, format, other);
        counts.add(&name, check(&name, &disk, &replace, 6, None));
    }
    counts.assert_complete(1000);
}

/// The simulated disk detects faults of commits in place and of swaps.
#[test]
fn faults_of_a_commit_are_detected() {
    let disk = base(Format::B2d);
    for (name, change) in &CHANGES[1..3] {
        let acts = |folder: Arc<dyn Folder>| act(&folder, *change);
        let with = |wrong| check(name, &disk, &acts, 8, wrong);
        let noticed = sim::without_each_sync(name, &disk, acts, with);
        let missed = noticed.iter().filter(|n| **n == 0).count();
        assert!(missed * 2 <= noticed.len(), "{name}: {noticed:?}");
    }
}

/// A commit that fails at any operation changes nothing, and may be repeated.
#[test]
fn a_commit_that_failed_is_repeated() {
    for format in FORMATS {
        let mut failed = 0;
        while fails_at(format, failed) {
            failed += 1;
        }
        assert!(failed > 3, "{format:?}");
    }
}

/// Returns whether the commit failed at its n-th operation.
fn fails_at(format: Format, n: usize) -> bool {
    let disk = base(format);
    let (folder, before) = (disk.folder(), seen(&disk.folder()).unwrap());
    let mut store = StoreHandle::open_in(&folder, Mode::Append, &options()).unwrap();
    append(&mut opened(&store, "/a").unwrap(), &[5; 3]).unwrap();
    new_schunk(&store, "/new/s", b"new").unwrap();
    disk.full_after(n);
    let failed = store.commit();
    disk.full_after(1 << 40);
    let now = seen(&folder).unwrap();
    if let Err(e) = &failed {
        // after a failure whose effect is unknown, the store is opened again
        assert_eq!(e.status, Status::Io, "{e}");
        if store.commit().is_ok() {
            assert_eq!(now, before, "{format:?}, operation {n}");
        } else {
            drop(store);
            store = StoreHandle::open_in(&folder, Mode::Append, &options()).unwrap();
            new_schunk(&store, "/new/s", b"new").unwrap();
            store.commit().unwrap();
        }
    }
    drop(store);
    let after = seen(&folder).unwrap();
    assert!(
        after.contains(&b"new".to_vec()),
        "{format:?}, operation {n}"
    );
    failed.is_err()
}
