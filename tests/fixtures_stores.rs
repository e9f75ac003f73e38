//! Stores that python-blosc2 wrote: every node has the content that it reads.

mod common;

use common::own;
use holdall::{
    Array, Checksum, Format, Kind, Location, MemoryStorage, Options, Schunk, Status, Store, Table,
    identify, repair, verify,
};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

fn stores() -> Map<String, Value> {
    let facts = common::manifest(&own().join("stores"));
    facts.as_object().unwrap().clone()
}

fn path(store: &str) -> PathBuf {
    own().join("stores").join(store)
}

fn sha256(content: &[u8]) -> String {
    Checksum::Sha256
        .compute(content)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Checks a node, given by its location.
fn check_node(location: Location, facts: &Value, about: &str) {
    if facts["kind"] == "array" {
        let array = Array::open(location).unwrap_or_else(|e| panic!("{about}: {e}"));
        let shape: Vec<u64> = serde_json::from_value(facts["shape"].clone()).unwrap();
        assert_eq!(array.shape(), shape, "{about}");
        assert_eq!(array.dtype(), facts["dtype"].as_str().unwrap(), "{about}");
        let items: u64 = shape.iter().product();
        let mut content = vec![0; items as usize * array.item_size()];
        let all: Vec<_> = shape.iter().map(|n| 0..*n).collect();
        array.read_bytes(all.as_slice(), &mut content).unwrap();
        assert_eq!(sha256(&content), facts["sha256"], "{about}");
    } else {
        let schunk = Schunk::open(location).unwrap_or_else(|e| panic!("{about}: {e}"));
        let mut content = vec![0; schunk.len() as usize];
        schunk.read(0, &mut content).unwrap();
        assert_eq!(schunk.len(), facts["nbytes"].as_u64().unwrap(), "{about}");
        assert_eq!(sha256(&content), facts["sha256"], "{about}");
    }
}

#[test]
fn every_node_is_read() {
    for (name, nodes) in stores() {
        let store = Store::open(path(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (node, facts) in nodes.as_object().unwrap() {
            let about = format!("{name}{node}");
            if facts["kind"] == "reference" {
                assert_eq!(
                    store.node(node).err().map(|e| e.status()),
                    Some(Status::Unsupported)
                );
                continue;
            }
            check_node(store.node(node).unwrap(), facts, &about);
            // by path, with and without a store
            let inside = path(&name).join(&node[1..]);
            check_node(inside.as_path().into(), facts, &about);
            assert_eq!(
                identify(&inside).unwrap(),
                store.identify(node).unwrap(),
                "{about}"
            );
        }
        let listed: Vec<&str> = store.nodes().collect();
        let is_inside = |node: &str| listed.iter().any(|n| node.starts_with(&format!("{n}/")));
        let expected = nodes.as_object().unwrap().keys().filter(|n| !is_inside(n));
        let outside: Vec<&str> = listed
            .iter()
            .copied()
            .filter(|n| *n != "/tables/t")
            .collect();
        assert_eq!(outside, expected.collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn kinds() {
    for (name, format) in [
        ("tree.b2z", Format::B2z),
        ("tree.b2d", Format::B2d),
        ("embed.b2e", Format::B2e),
        ("empty.b2z", Format::B2z),
    ] {
        assert_eq!(
            identify(path(name)).unwrap(),
            (format, Kind::Store),
            "{name}"
        );
        assert_eq!(Store::open(path(name)).unwrap().format(), format);
    }
    let store = Store::open(path("tree.b2z")).unwrap();
    assert_eq!(store.identify("a").unwrap(), (Format::B2nd, Kind::Array));
    assert_eq!(
        store.identify("/group/s").unwrap(),
        (Format::B2Frame, Kind::Schunk)
    );
    assert_eq!(
        store.identify("/tables/t").unwrap(),
        (Format::CTable, Kind::Table)
    );
    let status = |node| store.node(node).err().map(|e| e.status());
    assert_eq!(status("/group"), Some(Status::Type));
    assert_eq!(status("/none"), Some(Status::Missing));
    let table = store.node("/tables/t").unwrap();
    assert_eq!(
        Array::open(table.clone()).err().map(|e| e.status()),
        Some(Status::Type)
    );
    assert_eq!(Table::open(table).unwrap().rows(), 5);
    let e = Array::open(path("tree.b2z").join("none")).unwrap_err();
    assert!(
        e.status() == Status::Missing && e.to_string().contains("tree.b2z/none"),
        "{e}"
    );
}

/// Ranges of texts, with nulls; bytes are none.
#[test]
fn texts_of_tables() {
    let facts: Value = serde_json::from_slice(&fs::read(path("tables.json")).unwrap()).unwrap();
    let table = Table::open(path("text.b2d")).unwrap();
    for (name, texts) in facts["text.b2d"]["texts"].as_object().unwrap() {
        let column = table.column(name).unwrap();
        let texts: Vec<Option<String>> = serde_json::from_value(texts.clone()).unwrap();
        assert_eq!(column.read_texts(..).unwrap(), texts, "{name}");
        assert_eq!(column.read_texts(3..7).unwrap(), texts[3..7], "{name}");
        let values = column.read_values(2..).unwrap();
        let bytes = texts[2..]
            .iter()
            .map(|text| text.clone().map(String::into_bytes));
        assert_eq!(values, bytes.collect::<Vec<_>>(), "{name}");
        let e = column.read_texts(19..21).unwrap_err();
        assert_eq!(e.status(), Status::Range);
    }
    for name in ["w", "x"] {
        let e = table.column(name).unwrap().read_texts(..).unwrap_err();
        assert!(
            e.status() == Status::Type && e.to_string().contains("expected texts"),
            "{e}"
        );
    }
}

/// A store in memory and in storage of the caller.
#[test]
fn stores_without_paths() {
    for (name, nodes) in stores() {
        let memory = MemoryStorage::new();
        if path(&name).is_dir() {
            for file in files(&path(&name)) {
                let short = file.strip_prefix(path(&name)).unwrap();
                memory.put(short, fs::read(&file).unwrap());
            }
        } else {
            memory.put("", fs::read(path(&name)).unwrap());
        }
        let store = Store::open(&memory).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected = match name.as_str() {
            "table.b2z" => (Format::CTable, Kind::Table),
            _ => (store.format(), Kind::Store),
        };
        assert_eq!(identify(&memory).unwrap(), expected, "{name}");
        for (node, facts) in nodes.as_object().unwrap() {
            if facts["kind"] != "reference" {
                check_node(store.node(node).unwrap(), facts, node);
            }
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn temporary(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("holdall-store-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    let _ = fs::remove_file(&path);
    path
}

#[test]
fn intact_stores_verify() {
    for (name, _) in stores() {
        let mut faults = Vec::new();
        let verified = verify(path(&name), &Options::new(), |part, e| {
            faults.push(format!("{part}: {e}"));
            true
        });
        let verified = verified.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            faults.is_empty() && verified.corrupt == 0,
            "{name}: {faults:?}"
        );
    }
}

/// The content of all nodes.
fn contents(store: &Store) -> Vec<(String, Vec<u8>)> {
    let content = |node: &str| {
        let schunk = Schunk::open(store.node(node).unwrap()).unwrap();
        let mut content = vec![0; schunk.len() as usize];
        schunk.read(0, &mut content).unwrap();
        (node.to_owned(), content)
    };
    store.nodes().map(content).collect()
}

/// A flipped byte of an archive is an error, since each member has a CRC-32, or it changes nothing that
/// is read: dates, versions and the like.
#[test]
fn flips_of_an_archive_are_noticed() {
    let bytes = fs::read(path("table.b2z")).unwrap();
    let right = contents(&Store::open(path("table.b2z")).unwrap());
    let copy = temporary("flips.b2z");
    let mut unnoticed = 0;
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&copy, &flipped).unwrap();
        match verify(&copy, &Options::new(), |_, _| true) {
            Ok(verified) if verified.is_intact() => {
                assert!(contents(&Store::open(&copy).unwrap()) == right, "byte {at}");
                unnoticed += 1;
            }
            _ => {}
        }
    }
    fs::remove_file(&copy).unwrap();
    assert!(
        unnoticed * 8 < bytes.len(),
        "{unnoticed} of {}",
        bytes.len()
    );
}

/// A node of a folder is changed in place; the archive is not.
#[test]
fn nodes_of_folders_change() {
    let copy = temporary("changed.b2d");
    for file in files(&path("tree.b2d")) {
        let to = copy.join(file.strip_prefix(path("tree.b2d")).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }
    let node = copy.join("group/b");
    let mut reader = Array::open(&node).unwrap();
    let mut writer = Array::open_for_writing(&node, &Options::new()).unwrap();
    writer.write([3..4], &[7.5f64]).unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert!(reader.refresh().unwrap());
    let mut item = [0f64];
    reader.read([3..4], &mut item).unwrap();
    assert_eq!(item, [7.5]);
    // a corrupt node is named and repaired
    let file = copy.join("group/s.b2f");
    let mut bytes = fs::read(&file).unwrap();
    // the header of its first chunk follows that of the frame, whose length is at byte 11
    let header = u32::from_be_bytes(bytes[11..15].try_into().unwrap()) as usize;
    bytes[header..header + 16].fill(0xff);
    fs::write(&file, bytes).unwrap();
    let mut parts = Vec::new();
    let verified = verify(&copy, &Options::new(), |part, _| {
        parts.push(part.to_owned());
        true
    });
    assert!(
        !verified.unwrap().is_intact() && parts.iter().all(|part| part.starts_with("/group/s")),
        "{parts:?}"
    );
    assert!(repair(&copy, &Options::new()).unwrap().dropped > 0);
    assert!(
        verify(&copy, &Options::new(), |_, _| true)
            .unwrap()
            .is_intact()
    );
    fs::remove_dir_all(&copy).unwrap();
    let e = Array::open_for_writing(path("tree.b2z").join("a"), &Options::new()).unwrap_err();
    assert!(
        e.status() == Status::Unsupported && e.to_string().contains("read-only"),
        "{e}"
    );
}

#[test]
fn two_files_of_one_path_are_ambiguous() {
    let memory = MemoryStorage::new();
    for file in files(&path("tree.b2d")) {
        let short = file.strip_prefix(path("tree.b2d")).unwrap();
        memory.put(short, fs::read(&file).unwrap());
    }
    memory.put("a.b2f", memory.bytes("a.b2nd").unwrap().to_vec());
    // what writers leave is no node
    memory.put(
        "a.b2nd.holdall-new",
        memory.bytes("a.b2nd").unwrap().to_vec(),
    );
    memory.put("a.b2nd.17.tmp", memory.bytes("a.b2nd").unwrap().to_vec());
    let store = Store::open(&memory).unwrap();
    let e = store.node("/a").err().unwrap();
    assert!(
        e.status() == Status::Format && e.to_string().contains("a.b2f"),
        "{e}"
    );
    assert!(store.node("/group/b").is_ok() && store.nodes().all(|node| !node.contains("holdall")));
}
