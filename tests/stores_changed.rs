//! Stores that are created and changed: one commit for all nodes, in a folder, an archive and a frame.

mod common;

use common::own;
use holdall::{
    Array, ArrayLayout, Format, Kind, Location, MemoryStorage, Options, Schunk, Status, Store,
    Table, Values, verify,
};
use std::fs;
use std::path::{Path, PathBuf};

const FORMATS: [(Format, &str); 3] = [
    (Format::B2d, "b2d"),
    (Format::B2z, "b2z"),
    (Format::B2e, "b2e"),
];

/// A folder for one test, which is removed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("holdall-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options() -> Options {
    Options::new()
}

fn layout() -> ArrayLayout {
    ArrayLayout::new(Format::B2nd)
}

fn create_array(store: &Store, node: &str, items: &[i64]) -> Array {
    let location = store.new_node(node, Kind::Array).unwrap();
    let shape = [items.len() as u64];
    let mut array = Array::create(location, "<i8", &shape, &layout(), &options()).unwrap();
    array.write([0..shape[0]], items).unwrap();
    array.commit().unwrap();
    array
}

fn items(location: impl Into<Location>) -> Vec<i64> {
    let array = Array::open(location).unwrap();
    let mut items = vec![0; array.shape()[0] as usize];
    array.read([0..array.shape()[0]], &mut items).unwrap();
    items
}

fn append(array: &mut Array, new: &[i64]) {
    let n = array.shape()[0];
    array.resize(&[n + new.len() as u64]).unwrap();
    array.write([n..n + new.len() as u64], new).unwrap();
    array.commit().unwrap();
}

fn create_table(store: &Store, node: &str) {
    let location = store.new_node(node, Kind::Table).unwrap();
    let columns = [("id", "<i8"), ("name", "T")];
    let mut table = Table::create(location, Format::CTable, &columns, &options()).unwrap();
    let names = [Some("Ada"), None, Some("Zuse")];
    table
        .append(
            3,
            &[Values::from(&[1i64, 2, 3][..]), Values::from(&names[..])],
        )
        .unwrap();
    table.commit().unwrap();
}

fn nodes(store: &Store) -> Vec<&str> {
    store.nodes().collect()
}

fn status<T>(result: holdall::Result<T>) -> Option<Status> {
    result.err().map(|e| e.status())
}

fn check_intact(path: &Path) {
    let mut faults = Vec::new();
    let found = verify(path, &options(), |part, e| {
        faults.push(format!("{part}: {e}"));
        true
    });
    assert_eq!(found.unwrap().corrupt, 0, "{faults:?}");
    assert!(faults.is_empty(), "{faults:?}");
}

/// Returns the names of files beside a store and in it that are left by writers.
fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leftovers(&path));
        } else if path.to_string_lossy().contains(".holdall-") {
            found.push(path);
        }
    }
    found
}

/// Changes of several nodes and removals are one commit; nodes remain open.
#[test]
fn one_commit_for_all_nodes() {
    let folder = Folder::new("stores-changed");
    for (format, end) in FORMATS {
        let path = folder.0.join(format!("x.{end}"));
        let mut store = Store::create(&path, None, &options()).unwrap();
        assert_eq!(store.format(), format);
        assert!(nodes(&store).is_empty());
        let mut a = create_array(&store, "/a", &[1, 2, 3]);
        create_array(&store, "group/deep/b", &[4]);
        let location = store.new_node("/group/s", Kind::Schunk).unwrap();
        let mut schunk = Schunk::create(location, Format::B2Frame, 1, &options()).unwrap();
        schunk.append(b"bytes").unwrap();
        schunk.commit().unwrap();
        drop(schunk);
        let mut all = vec!["/a", "/group/deep/b", "/group/s"];
        if format != Format::B2e {
            create_table(&store, "/tables/t");
            all.push("/tables/t");
        }
        // nothing is visible yet
        assert!(Store::open(&path).is_err(), "{end}");
        assert_eq!(items(store.node("a").unwrap()), [1, 2, 3]);
        store.commit().unwrap();
        assert_eq!(nodes(&store), all, "{end}");
        assert_eq!(items(path.join("a")), [1, 2, 3], "{end}");
        // the array is still open
        append(&mut a, &[7, 8]);
        let mut b = {
            let location = store.node_for_writing("/group/deep/b").unwrap();
            Array::open_for_writing(location, &options()).unwrap()
        };
        append(&mut b, &[5]);
        assert_eq!(items(path.join("a")), [1, 2, 3], "{end}");
        store.commit().unwrap();
        assert_eq!(items(path.join("a")), [1, 2, 3, 7, 8], "{end}");
        assert_eq!(items(path.join("group/deep/b")), [4, 5], "{end}");
        // a removal with a change
        append(&mut a, &[9]);
        store.remove("/group/s").unwrap();
        assert_eq!(nodes(&store), all, "{end}");
        store.commit().unwrap();
        assert_eq!(items(path.join("a")), [1, 2, 3, 7, 8, 9], "{end}");
        assert!(!nodes(&store).contains(&"/group/s"), "{end}");
        append(&mut a, &[10]);
        append(&mut b, &[6]);
        store.commit().unwrap();
        drop((a, b, store));
        let store = Store::open(&path).unwrap();
        assert_eq!(items(store.node("a").unwrap()), [1, 2, 3, 7, 8, 9, 10]);
        assert_eq!(
            items(store.node("group/deep/b").unwrap()),
            [4, 5, 6],
            "{end}"
        );
        if format != Format::B2e {
            let table = Table::open(store.node("/tables/t").unwrap()).unwrap();
            let names = table.column("name").unwrap().read_texts(..).unwrap();
            assert_eq!(
                names,
                [Some("Ada".to_owned()), None, Some("Zuse".to_owned())]
            );
        }
        check_intact(&path);
        assert_eq!(leftovers(&folder.0), [] as [PathBuf; 0], "{end}");
    }
}

/// Stores of python-blosc2: nodes of every kind are changed, embedded ones and a table included.
#[test]
fn stores_of_python_blosc2_are_changed() {
    let folder = Folder::new("stores-theirs");
    for name in ["tree.b2z", "tree.b2d", "embed.b2e"] {
        let path = folder.0.join(name);
        copy(&own().join("stores").join(name), &path);
        let before = Store::open(&path).unwrap();
        let arrays: Vec<String> = nodes(&before)
            .into_iter()
            .filter(|node| {
                before
                    .identify(node)
                    .is_ok_and(|found| found.1 == Kind::Array)
            })
            .map(str::to_owned)
            .collect();
        let all: Vec<String> = nodes(&before).into_iter().map(str::to_owned).collect();
        drop(before);
        let mut store = Store::open_for_writing(&path, &options()).unwrap();
        for node in &arrays {
            let location = store.node_for_writing(node).unwrap();
            let mut array = Array::open_for_writing(location, &options()).unwrap();
            array.set_attribute("seen", b"\xc3").unwrap();
            array.commit().unwrap();
        }
        if name != "embed.b2e" {
            let location = store.node_for_writing("/tables/t").unwrap();
            let mut table = Table::open_for_writing(location, &options()).unwrap();
            table.remove(0, 1).unwrap();
            table.commit().unwrap();
        }
        store.commit().unwrap();
        drop(store);
        let after = Store::open(&path).unwrap();
        assert_eq!(nodes(&after), all, "{name}");
        for node in &arrays {
            let array = Array::open(after.node(node).unwrap()).unwrap();
            let about = format!("{name}{node}");
            assert_eq!(
                array.attribute("seen").unwrap(),
                Some(&b"\xc3"[..]),
                "{about}"
            );
        }
        if name != "embed.b2e" {
            let table = Table::open(after.node("/tables/t").unwrap()).unwrap();
            assert_eq!(table.rows(), 4);
        }
        check_intact(&path);
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// What is dropped without a commit leaves nothing.
#[test]
fn changes_without_a_commit_are_dropped() {
    let folder = Folder::new("stores-dropped");
    for (_, end) in FORMATS {
        let path = folder.0.join(format!("x.{end}"));
        let store = Store::create(&path, None, &options()).unwrap();
        create_array(&store, "/a/b", &[1]);
        drop(store);
        assert!(!path.exists(), "{end}");
        let mut store = Store::create(&path, None, &options()).unwrap();
        create_array(&store, "/a", &[1]);
        store.commit().unwrap();
        create_array(&store, "/group/b", &[2]);
        store.remove("/a").unwrap();
        drop(store);
        let store = Store::open(&path).unwrap();
        assert_eq!(nodes(&store), ["/a"], "{end}");
        assert!(!path.join("group").exists(), "{end}");
        // an existing store, replaced
        let mut store = Store::replace(&path, None, &options()).unwrap();
        create_array(&store, "/c", &[3]);
        assert_eq!(items(path.join("a")), [1]);
        store.commit().unwrap();
        drop(store);
        assert_eq!(nodes(&Store::open(&path).unwrap()), ["/c"], "{end}");
    }
}

#[test]
fn refusals() {
    let folder = Folder::new("stores-refused");
    let path = folder.0.join("x.b2d");
    let mut store = Store::create(&path, None, &options()).unwrap();
    create_array(&store, "/group/a", &[1]);
    create_table(&store, "/tables/t");
    store.commit().unwrap();
    let new = |node, kind| status(store.new_node(node, kind));
    for node in [
        "", "/", "/a//b", "../a", "/a/..", "/a\\b", "/embed", "/a.tmp",
    ] {
        assert_eq!(new(node, Kind::Array), Some(Status::Argument), "{node:?}");
    }
    for (node, kind) in [
        ("/group/a", Kind::Schunk),
        ("/group/a", Kind::Table),
        ("/group", Kind::Table),
        ("/tables/t/x", Kind::Array),
        ("/tables/t", Kind::Array),
    ] {
        assert_eq!(new(node, kind), Some(Status::Exists), "{node:?} {kind:?}");
    }
    assert_eq!(new("/x", Kind::Bag), Some(Status::Argument));
    assert_eq!(
        status(store.node_for_writing("/none")),
        Some(Status::Missing)
    );
    // an array that exists
    let location = store.new_node("/group/a", Kind::Array).unwrap();
    let again = Array::create(location, "<i8", &[1], &layout(), &options());
    assert_eq!(status(again), Some(Status::Exists));
    // another format
    let location = store.new_node("/x", Kind::Schunk).unwrap();
    let mut other = Schunk::create(location, Format::Bloscpack, 1, &options()).unwrap();
    other.append(b"x").unwrap();
    other.commit().unwrap();
    assert_eq!(status(store.commit()), Some(Status::Unsupported));
    assert_eq!(status(store.remove("/x")), Some(Status::Busy));
    drop(other);
    store.remove("/x").unwrap();
    store.commit().unwrap();
    // writers exclude each other
    let busy = |path: &Path| status(Array::open_for_writing(path, &options()));
    assert_eq!(busy(&path.join("group/a")), Some(Status::Busy));
    assert_eq!(busy(&path.join("group/a.b2nd")), Some(Status::Busy));
    let table = Table::open_for_writing(path.join("tables/t"), &options());
    assert_eq!(status(table), Some(Status::Busy));
    assert_eq!(
        status(Store::open_for_writing(&path, &options())),
        Some(Status::Busy)
    );
    drop(store);
    let array = Array::open_for_writing(path.join("group/a"), &options()).unwrap();
    assert_eq!(
        status(Store::open_for_writing(&path, &options())),
        Some(Status::Busy)
    );
    drop(array);
    let mut store = Store::open(&path).unwrap();
    assert_eq!(status(store.commit()), Some(Status::State));
    assert_eq!(status(store.remove("/group")), Some(Status::State));
    assert_eq!(
        status(store.new_node("/x", Kind::Array)),
        Some(Status::State)
    );
    // other names
    let create = |name: &str| status(Store::create(folder.0.join(name), None, &options()));
    assert_eq!(create("x.b2d"), Some(Status::Exists));
    assert_eq!(create("x.blp"), Some(Status::Argument));
    fs::create_dir(folder.0.join("y.b2d")).unwrap();
    fs::write(folder.0.join("y.b2d/notes.txt"), "x").unwrap();
    assert_eq!(create("y.b2d"), Some(Status::Exists));
    fs::write(folder.0.join("y.b2z"), "x").unwrap();
    assert_eq!(create("y.b2z"), Some(Status::Exists));
    let table = Store::create(folder.0.join("z.b2e"), None, &options()).unwrap();
    let location = table.new_node("/t", Kind::Table);
    assert_eq!(status(location), Some(Status::Unsupported));
}

#[test]
fn in_storage_of_the_caller() {
    for (format, _) in FORMATS {
        let storage = MemoryStorage::new();
        let mut store = Store::create(&storage, format, &options()).unwrap();
        create_array(&store, "/g/a", &[1, 2]);
        store.commit().unwrap();
        drop(store);
        let mut store = Store::open_for_writing(&storage, &options()).unwrap();
        let location = store.node_for_writing("/g/a").unwrap();
        let mut array = Array::open_for_writing(location, &options()).unwrap();
        append(&mut array, &[3]);
        store.commit().unwrap();
        let store = Store::open(&storage).unwrap();
        assert_eq!(items(store.node("/g/a").unwrap()), [1, 2, 3], "{format:?}");
    }
    let none = Store::create(MemoryStorage::new(), None, &options());
    assert_eq!(status(none), Some(Status::Argument));
}

/// Handles of nodes: two of one node exclude each other, and none changes a store that was closed.
#[test]
fn handles_of_nodes() {
    let folder = Folder::new("stores-handles");
    for (_, end) in FORMATS {
        let path = folder.0.join(format!("x.{end}"));
        let mut store = Store::create(&path, None, &options()).unwrap();
        let mut array = create_array(&store, "/a", &[1, 2, 3]);
        store.commit().unwrap();
        let again = || {
            let location = store.node_for_writing("/a").unwrap();
            status(Array::open_for_writing(location, &options()))
        };
        assert_eq!(again(), Some(Status::Busy), "{end}");
        assert_eq!(status(store.remove("/a")), Some(Status::Busy), "{end}");
        append(&mut array, &[4]);
        let location = store.new_node("/b", Kind::Array).unwrap();
        drop(store);
        let n = array.shape()[0];
        let changed = array.resize(&[n + 1]).and_then(|()| array.commit());
        assert_eq!(status(changed), Some(Status::State), "{end}");
        let created = Array::create(location, "<i8", &[1], &layout(), &options());
        let committed = created.and_then(|mut array| array.commit());
        assert_eq!(status(committed), Some(Status::State), "{end}");
        drop(array);
        assert_eq!(items(path.join("a")), [1, 2, 3], "{end}");
    }
}

/// Copies between all formats have the same nodes.
#[test]
fn copies_have_the_same_nodes() {
    let folder = Folder::new("stores-copied");
    let arrays = |store: &Store| -> Vec<(String, Vec<u8>)> {
        let is_schunk = |node: &&str| {
            store
                .identify(node)
                .is_ok_and(|found| found.1 != Kind::Table)
        };
        let content = |node: &str| {
            let schunk = Schunk::open(store.node(node).unwrap()).unwrap();
            let mut bytes = vec![0; schunk.len() as usize];
            schunk.read(0, &mut bytes).unwrap();
            (node.to_owned(), bytes)
        };
        nodes(store)
            .into_iter()
            .filter(is_schunk)
            .map(content)
            .collect()
    };
    for name in ["tree.b2z", "tree.b2d", "embed.b2e", "table.b2z"] {
        let source = Store::open(own().join("stores").join(name)).unwrap();
        let has_table = nodes(&source).contains(&"/tables/t");
        for (_, end) in FORMATS {
            let path = folder.0.join(format!("{name}.{end}"));
            let copied = source.copy_to(&path, None, &options());
            if has_table && end == "b2e" {
                assert_eq!(status(copied), Some(Status::Unsupported));
                assert!(!path.exists());
                continue;
            }
            copied.unwrap_or_else(|e| panic!("{name} {end}: {e}"));
            let copy = Store::open(&path).unwrap();
            assert_eq!(nodes(&copy), nodes(&source), "{name} {end}");
            assert_eq!(arrays(&copy), arrays(&source), "{name} {end}");
            if has_table {
                assert_eq!(
                    Table::open(copy.node("/tables/t").unwrap()).unwrap().rows(),
                    5
                );
            }
            check_intact(&path);
            let again = source.copy_to(&path, None, &options());
            assert_eq!(status(again), Some(Status::Exists));
            source.copy_replacing(&path, None, &options()).unwrap();
        }
    }
    // a table that is the whole store
    let table = Table::open(folder.0.join("table.b2z.b2d")).unwrap();
    assert!(table.rows() > 0);
}

/// What a reader of a store sees: the bytes of its arrays and superchunks, and the rows of its tables.
fn read_all(store: &Store) -> holdall::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for node in store.nodes() {
        all.push(node.as_bytes().to_vec());
        if store.identify(node)?.1 != Kind::Table {
            let schunk = Schunk::open(store.node(node)?)?;
            let mut bytes = vec![0; schunk.len() as usize];
            schunk.read(0, &mut bytes)?;
            all.push(bytes);
            continue;
        }
        let table = Table::open(store.node(node)?)?;
        let mut ids = vec![0i64; table.rows() as usize];
        let id = table
            .column("id")
            .map(|column| column.read([0..table.rows()], &mut ids));
        id.transpose()?;
        all.extend(ids.iter().map(|id| id.to_le_bytes().to_vec()));
        for text in table
            .column("name")
            .map(|column| column.read_values(..))
            .transpose()?
            .into_iter()
            .flatten()
        {
            all.push(text.map_or(b"null".to_vec(), |text| [b"text ", &text[..]].concat()));
        }
    }
    Ok(all)
}

/// A flipped byte of a store that this library wrote is an error, or changes nothing that is read.
#[test]
fn flips_are_noticed() {
    for (format, _) in FORMATS {
        let storage = MemoryStorage::new();
        let mut store = Store::create(&storage, format, &options()).unwrap();
        create_array(&store, "/g/a", &(0..50).collect::<Vec<_>>());
        if format != Format::B2e {
            create_table(&store, "/t");
        }
        store.commit().unwrap();
        drop(store);
        let right = read_all(&Store::open(&storage).unwrap()).unwrap();
        let (mut flips, mut unnoticed) = (0, 0);
        for name in storage.names() {
            let bytes = storage.bytes(&name).unwrap().to_vec();
            for at in 0..bytes.len() {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                storage.put(&name, flipped);
                flips += 1;
                if let Ok(found) = Store::open(&storage).and_then(|store| read_all(&store)) {
                    assert_eq!(found, right, "{format:?}: {} byte {at}", name.display());
                    unnoticed += 1;
                }
            }
            storage.put(&name, bytes);
        }
        println!("{format:?}: {flips} flips, {unnoticed} change nothing that is read");
        assert!(
            flips > 500 && unnoticed * 4 < flips,
            "{format:?}: {unnoticed} of {flips}"
        );
    }
}

/// What nodes have not committed stays out of a commit of the store, and goes on after it.
#[test]
fn uncommitted_nodes_go_on() {
    let folder = Folder::new("stores-uncommitted");
    for (format, end) in FORMATS {
        let path = folder.0.join(format!("x.{end}"));
        let mut store = Store::create(&path, None, &options()).unwrap();
        let mut a = create_array(&store, "/a", &[1, 2, 3]);
        a.write([0..3], &[7i64, 8, 9]).unwrap();
        let location = store.new_node("/new/group/b", Kind::Array).unwrap();
        let mut b = Array::create(location, "<i8", &[2], &layout(), &options()).unwrap();
        b.write([0..2], &[4i64, 5]).unwrap();
        let mut table = (format != Format::B2e).then(|| {
            let location = store.new_node("/t/of", Kind::Table).unwrap();
            Table::create(location, Format::CTable, &[("id", "<i8")], &options()).unwrap()
        });
        store.commit().unwrap();
        assert_eq!(nodes(&store), ["/a"], "{end}");
        assert_eq!(items(path.join("a")), [1, 2, 3], "{end}");
        a.commit().unwrap();
        b.commit().unwrap();
        if let Some(table) = &mut table {
            table.append(2, &[Values::from(&[1i64, 2][..])]).unwrap();
            table.commit().unwrap();
            // before the store lists it
            let again = Table::open(store.node("/t/of").unwrap()).unwrap();
            assert_eq!(again.rows(), 2);
        }
        store.commit().unwrap();
        assert_eq!(items(path.join("a")), [7, 8, 9], "{end}");
        assert_eq!(items(path.join("new/group/b")), [4, 5], "{end}");
        if table.is_some() {
            assert_eq!(Table::open(path.join("t/of")).unwrap().rows(), 2, "{end}");
        }
        drop((a, b, table));
        // the list follows removals
        store.remove("/a").unwrap();
        store.commit().unwrap();
        assert!(!nodes(&store).contains(&"/a"), "{end}");
        let deep = "/d".repeat(60);
        assert_eq!(
            status(store.new_node(&deep, Kind::Array)),
            Some(Status::Limit)
        );
    }
}

/// Nodes that other threads commit while the store is committed: each such commit is in the store,
/// or was an error.
#[test]
fn commits_of_nodes_beside_those_of_the_store_are_stored_or_refused() {
    const THREADS: usize = 3;
    let folder = Folder::new("stores-threads");
    for (_, end) in FORMATS {
        let path = folder.0.join(format!("x.{end}"));
        let mut store = Store::create(&path, None, &options()).unwrap();
        let arrays: Vec<Array> = (0..THREADS)
            .map(|i| create_array(&store, &format!("/{i}"), &[0]))
            .collect();
        store.commit().unwrap();
        let counts: Vec<(i64, bool)> = std::thread::scope(|scope| {
            let work = |mut array: Array| {
                move || {
                    for i in 1..100 {
                        let n = i as u64;
                        let append = array
                            .resize(&[n + 1])
                            .and_then(|()| array.write([n..n + 1], &[i]))
                            .and_then(|()| array.commit());
                        if let Err(e) = append {
                            assert_eq!(e.status(), Status::State, "{end}: {e}");
                            return (i, false);
                        }
                    }
                    (100, true)
                }
            };
            let threads: Vec<_> = arrays
                .into_iter()
                .map(|array| scope.spawn(work(array)))
                .collect();
            while !threads.iter().all(|thread| thread.is_finished()) {
                if let Err(e) = store.commit() {
                    assert_eq!(e.status(), Status::State, "{end}: {e}");
                }
            }
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let last = store.commit();
        drop(store);
        for (i, (count, all)) in counts.into_iter().enumerate() {
            let found = items(path.join(i.to_string()));
            assert!(found.iter().copied().eq(0..found.len() as i64), "{end}");
            let n = found.len() as i64;
            match last.is_ok() {
                // what a failed commit has changed belongs to no other
                true if all => assert_eq!(n, count, "{end}"),
                true => assert!(n == count || n == count + 1, "{end}: {n} of {count}"),
                false => assert!(n <= count, "{end}"),
            }
        }
    }
}
