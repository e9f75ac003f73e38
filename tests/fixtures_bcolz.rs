//! Datasets that bcolz and BLZ wrote, and those in the layout of the BLZ RFC: content, shape,
//! dtype, attributes and columns agree with the manifest.

mod common;

use holdall::array::Array;
use holdall::checksum::Checksum;
use holdall::dataset::folder::DatasetDir;
use holdall::dataset::open;
use holdall::dtype::{Dtype, Kind, Type};
use holdall::error::{Result, Status};
use holdall::format::{Format, Kind as Container};
use holdall::io::lock::Lock;
use holdall::io::{Access, File, Folder, memory::MemoryFolder};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::table::{self, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The folders in the source tree: git stores a folder without files only in an archive.
fn own_archive() -> common::Files {
    common::Files::of(common::own().join("datasets"))
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|x| format!("{x:02x}")).collect()
}

fn dtype_of(content: &Value) -> Type {
    Dtype::from_json(&holdall::json::Value::parse(content["dtype"].to_string().as_bytes()).unwrap())
        .unwrap()
        .item
}

/// Swaps the bytes of big-endian numbers: the digests are of little-endian ones.
fn to_little(item: &Type, bytes: &mut [u8]) {
    match &item.kind {
        Kind::Struct(fields) => fields
            .iter()
            .for_each(|f| to_little(&f.item, &mut bytes[f.offset..][..f.item.size])),
        Kind::Array(of, _) => bytes
            .chunks_mut(of.size.max(1))
            .for_each(|b| to_little(of, b)),
        Kind::Str if item.big_endian => bytes.chunks_mut(4).for_each(<[u8]>::reverse),
        _ if item.big_endian => bytes.reverse(),
        _ => {}
    }
}

fn whole(array: &Array) -> Vec<u8> {
    let mut all = vec![0xaa; array.nbytes() as usize];
    let start = vec![0; array.shape().len()];
    assert!(
        !array
            .read(&start, array.shape(), None, &mut all, None)
            .unwrap(),
        "damage"
    );
    all
}

fn check_attrs(id: &Value, want: &Value, names: Vec<&str>, get: impl Fn(&str) -> Vec<u8>) {
    let found: serde_json::Map<String, Value> = names
        .iter()
        .map(|n| (n.to_string(), serde_json::from_slice(&get(n)).unwrap()))
        .collect();
    assert_eq!(Value::Object(found), *want, "{id}");
}

/// Every way of reading gives the same content.
fn check_reading(id: &Value, array: &Array, all: &[u8]) {
    let (shape, size) = (array.shape(), array.itemsize());
    if all.is_empty() {
        return;
    }
    let row = all.len() / shape[0] as usize;
    for (from, step) in [(0, 1), (shape[0] / 2, 1), (0, 3), (shape[0] / 3, 7)] {
        let n = (shape[0] - from).div_ceil(step);
        let (mut start, mut count, mut steps) =
            (vec![0; shape.len()], shape.to_vec(), vec![1; shape.len()]);
        (start[0], count[0], steps[0]) = (from, n, step);
        let mut got = vec![1; n as usize * row];
        array
            .read(&start, &count, Some(&steps), &mut got, None)
            .unwrap();
        let want =
            (0..n as usize).map(|i| &all[(from as usize + i * step as usize) * row..][..row]);
        assert!(got.chunks(row).eq(want), "{id}: rows {from} step {step}");
    }
    for r in [0, shape[0] / 2, shape[0] - 1] {
        let mut point = vec![0; shape.len()];
        point[0] = r;
        let mut item = vec![1; size];
        array.read_points(&point, 1, &mut item).unwrap();
        assert_eq!(item, all[r as usize * row..][..size], "{id}: row {r}");
    }
}

fn check_array(id: &Value, array: &Array, content: &Value, attrs: &Value) {
    assert_eq!(array.dtype().item.kind, dtype_of(content).kind, "{id}");
    assert_eq!(json!(array.shape()), content["shape"], "{id}");
    check_attrs(id, attrs, array.store().attr_names(), |n| {
        array.store().attr(n).unwrap().unwrap().to_vec()
    });
    if content["pickles"] == true {
        return check_objects(id, array);
    }
    assert_eq!(array.dtype().item, dtype_of(content), "{id}");
    assert_eq!(
        (json!(array.nbytes()), json!(array.itemsize())),
        (content["nbytes"].clone(), content["itemsize"].clone()),
        "{id}"
    );
    let all = whole(array);
    check_reading(id, array, &all);
    if let Some(stored) = content.get("sha256_stored") {
        assert_eq!(hex(&Checksum::Sha256.of(&all)), *stored, "{id}");
    }
    let (item, mut little) = (&array.dtype().item, all);
    little
        .chunks_mut(item.size.max(1))
        .for_each(|b| to_little(item, b));
    assert_eq!(
        hex(&Checksum::Sha256.of(&little)),
        content["sha256"],
        "{id}"
    );
}

/// The pickles of `["x", None, 17, 2.5, [1, 2]]`: checks their counted sizes, and that they begin
/// and end as pickles do.
fn check_objects(id: &Value, array: &Array) {
    let all: Vec<Vec<u8>> = (0..array.shape()[0])
        .map(|i| array.store().object(i).unwrap())
        .collect();
    assert_eq!(
        all.iter().map(|o| o.len() as u64).sum::<u64>(),
        array.nbytes(),
        "{id}"
    );
    assert!(
        all.iter().all(|o| o[0] == 0x80 && o.ends_with(b".")),
        "{id}: {all:?}"
    );
    assert!(
        all[0].contains(&b'x') && all[2].ends_with(b"K\x11.") && all[4].ends_with(b"K\x01K\x02e."),
        "{id}: {all:?}"
    );
    assert_eq!(array.store().object(5).unwrap_err().status, Status::Range);
    assert_eq!(
        array
            .read(&[0], &[5], None, &mut [0; 100], None)
            .unwrap_err()
            .status,
        Status::Type,
        "{id}"
    );
    assert_eq!(array.itemsize(), 0);
}

fn check_table(id: &Value, path: &Path, entry: &Value) {
    let table = Table::open(path.as_os_str(), Mode::Read, &Options::new()).unwrap();
    let columns = entry["content"]["columns"].as_array().unwrap();
    assert_eq!(json!(table.rows()), entry["content"]["nrows"], "{id}");
    assert_eq!(table.columns().len(), columns.len(), "{id}");
    check_attrs(id, &entry["attrs"], table.attrs().names(), |n| {
        table.attrs().get(n).unwrap().unwrap().to_vec()
    });
    for (column, want) in table.columns().iter().zip(columns) {
        assert_eq!(json!(column.name), want["name"], "{id}");
        assert_eq!(column.stored_rows, table.rows(), "{id}");
        check_array(id, &column.array, want, &want["attrs"]);
    }
    let as_array = open::open(path.as_os_str(), Mode::Read, &Options::new())
        .err()
        .unwrap();
    assert_eq!(as_array.status, Status::Type, "{id}: {as_array}");
}

/// The default value, by the first of its bytes.
fn check_fill(id: &Value, array: &Array, dflt: &Value) {
    let fill = array.store().fill().unwrap_or_else(|e| panic!("{id}: {e}"));
    match (dflt, fill) {
        (Value::Number(n), Some(fill)) if fill.len() == 8 => assert_eq!(
            f64::from_le_bytes(fill.try_into().unwrap()),
            n.as_f64().unwrap(),
            "{id}"
        ),
        (Value::Number(n), Some(fill)) if fill.len() == 4 => {
            assert_eq!(
                f32::from_le_bytes(fill.try_into().unwrap()),
                n.as_f64().unwrap() as f32,
                "{id}"
            )
        }
        (Value::String(s), Some(fill)) => assert!(fill.starts_with(s.as_bytes()), "{id}"),
        // the manifest has it for infinity
        (Value::Null, fill) => assert_eq!(fill, Some(&f64::INFINITY.to_le_bytes()[..]), "{id}"),
        (Value::Number(n), fill) => assert_eq!((n.as_f64(), fill), (Some(0.0), None), "{id}"),
        (_, fill) => assert_eq!(fill, None, "{id}: {dflt}"),
    }
}

fn check(folder: &Path, entry: &Value) {
    let (id, path) = (&entry["id"], folder.join(entry["path"].as_str().unwrap()));
    let (format, kind) = holdall::identify::identify(path.as_os_str()).unwrap();
    let is_table = entry["content"].get("columns").is_some();
    let nested = id == "rfc/dataset/nested";
    let want = match entry["kind"].as_str().unwrap() {
        "bcolz" => Format::Bcolz,
        "blz" => Format::Blz,
        _ => Format::BlzRfc,
    };
    assert_eq!(
        (format, kind),
        (
            want,
            if is_table || nested {
                Container::Table
            } else {
                Container::Array
            }
        ),
        "{id}"
    );
    if is_table {
        check_table(id, &path, entry);
    } else {
        let array = open::open(path.as_os_str(), Mode::Read, &Options::new())
            .unwrap_or_else(|e| panic!("{id}: {e}"));
        check_array(id, &array, &entry["content"], &entry["attrs"]);
        if let Some(storage) = entry.get("storage") {
            check_fill(id, &array, &storage[""]["storage"]["dflt"]);
            assert_eq!(
                json!(array.chunkshape()[0]),
                storage[""]["storage"]["chunklen"],
                "{id}"
            );
            assert_eq!(
                json!(array.cbytes().unwrap()),
                storage[""]["sizes"]["cbytes"],
                "{id}"
            );
        }
    }
    let v = table::verify(path.as_os_str(), &Options::new(), |_, e| {
        panic!("{id}: {e}")
    })
    .unwrap();
    assert_eq!(
        (v.corrupt, v.intact > 0),
        (
            0,
            matches!(
                id.as_str().unwrap().rsplit('/').next(),
                Some("one_superchunk" | "one_chunk_each")
            ) || nested
        ),
        "{id}"
    );
}

#[test]
fn datasets_of_the_real_tools_are_read() {
    let more = common::fixtures().join("blpk");
    let folder = if more.join("files.tar.gz").exists() {
        common::Files::of(more)
    } else {
        own_archive()
    };
    let manifest = common::manifest(&folder);
    let entries = manifest["fixtures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["kind"] != "bloscpack");
    let mut counts = BTreeMap::new();
    for entry in entries {
        check(&folder, entry);
        *counts.entry(entry["kind"].as_str().unwrap()).or_insert(0) += 1;
    }
    println!("{counts:?}");
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    for (kind, n) in counts {
        assert!(text.contains(&format!("\"{kind}\": {n}")), "{kind}: {n}");
    }
}

/// Files in memory, which count how often they are opened.
#[derive(Default)]
struct Files {
    all: Mutex<BTreeMap<String, Vec<u8>>>,
    opened: Mutex<Vec<String>>,
}

impl Files {
    fn of(path: &Path) -> Arc<Files> {
        let files = Files::default();
        files.load(path, "");
        Arc::new(files)
    }

    fn load(&self, path: &Path, way: &str) {
        for entry in std::fs::read_dir(path).unwrap() {
            let (entry, name) = entry
                .map(|e| (e.path(), e.file_name().into_string().unwrap()))
                .unwrap();
            if entry.is_dir() {
                self.load(&entry, &format!("{way}{name}/"));
            } else {
                self.all
                    .lock()
                    .unwrap()
                    .insert(format!("{way}{name}"), std::fs::read(entry).unwrap());
            }
        }
    }

    fn set(&self, name: &str, bytes: &[u8]) {
        self.all.lock().unwrap().insert(name.into(), bytes.into());
    }

    fn change(&self, name: &str, f: impl FnOnce(&mut Vec<u8>)) {
        f(self
            .all
            .lock()
            .unwrap()
            .get_mut(name)
            .unwrap_or_else(|| panic!("{name}")));
    }

    /// Chunk files opened since the last call.
    fn opened(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.opened.lock().unwrap());
        all.into_iter()
            .filter(|n| n.contains("data/") && !n.contains("holdall"))
            .collect()
    }
}

impl Folder for Files {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let name = name.to_str().unwrap();
        assert!(matches!(access, Access::Read | Access::Map), "{name}");
        self.opened.lock().unwrap().push(name.into());
        let bytes = self.all.lock().unwrap().get(name).cloned();
        let missing =
            || holdall::error::Error::new(Status::Missing, format!("{name}: no such file"));
        MemoryFolder::new(bytes.ok_or_else(missing)?).open(OsStr::new(""), access)
    }
    fn rename(&self, _: &OsStr, _: &OsStr) -> Result<()> {
        panic!("changed")
    }
    fn remove(&self, _: &OsStr) -> Result<()> {
        panic!("changed")
    }
    fn sync(&self) -> Result<()> {
        panic!("changed")
    }
    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(self
            .all
            .lock()
            .unwrap()
            .contains_key(name.to_str().unwrap())
            .then_some(0))
    }
    fn lock(&self, _: &OsStr) -> Result<Lock> {
        panic!("locked")
    }
    fn show(&self, name: &OsStr) -> String {
        name.to_str().unwrap().into()
    }
}

fn array_in(files: &Arc<Files>, options: &[(Opt, i64)]) -> Result<Array> {
    let folder: Arc<dyn Folder> = files.clone();
    let options = options
        .iter()
        .try_fold(Options::new(), |o, (opt, n)| o.with(*opt, *n))?;
    open::open_in(&folder, Mode::Read, &options)
}

fn table_in(files: &Arc<Files>, options: &[(Opt, i64)]) -> Result<Table> {
    let folder: Arc<dyn Folder> = files.clone();
    let options = options
        .iter()
        .try_fold(Options::new(), |o, (opt, n)| o.with(*opt, *n))?;
    Table::open_in(&folder, Mode::Read, &options)
}

fn read(array: &Array, from: u64, n: u64) -> Result<(Vec<u8>, bool)> {
    let row = array.nbytes() / array.shape()[0].max(1);
    let (mut start, mut count) = (vec![0; array.shape().len()], array.shape().to_vec());
    (start[0], count[0]) = (from, n);
    let mut dst = vec![0xee; (n * row) as usize];
    array
        .read(&start, &count, None, &mut dst, None)
        .map(|skipped| (dst, skipped))
}

/// One of the datasets in the source tree.
fn own(name: &str) -> Arc<Files> {
    Files::of(&own_archive().join(name))
}

#[test]
fn a_chunk_file_is_opened_when_it_is_touched() {
    let files = own("bcolz/bcolz121_chunks/leftover");
    let array = array_in(&files, &[]).unwrap();
    assert_eq!(
        (array.shape(), array.chunkshape()),
        (&[1050][..], &[100][..])
    );
    assert_eq!(files.opened(), [""; 0]);
    read(&array, 200, 100).unwrap();
    assert_eq!(files.opened(), ["data/__2.blp"]);
    read(&array, 399, 2).unwrap();
    let mut opened = files.opened();
    opened.sort();
    assert_eq!(opened, ["data/__3.blp", "data/__4.blp"]);
    // some rows of many chunks: each once
    let mut rows = [0; 3 * 8];
    array
        .read(&[5], &[3], Some(&[500]), &mut rows, None)
        .unwrap();
    let mut opened = files.opened();
    opened.sort();
    assert_eq!(opened, ["data/__0.blp", "data/__10.blp", "data/__5.blp"]);

    let table = table_in(&own("bcolz/bcolz121_table/t_addcol"), &[]).unwrap();
    assert_eq!(
        table
            .columns()
            .iter()
            .map(|c| c.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "new", "b", "c"]
    );
}

#[test]
fn files_of_many_chunks_are_opened_when_they_are_touched() {
    let files = own("rfc/dataset/nooffsets_nochk");
    let whole = array_in(&files, &[]).unwrap();
    let all = read(&whole, 0, 3000).unwrap().0;
    files.opened();
    let array = array_in(&files, &[]).unwrap();
    assert_eq!(files.opened(), [""; 0]);
    assert_eq!(read(&array, 2600, 10).unwrap().0, all[2600 * 8..2610 * 8]);
    // the first one determines how many chunks are in each
    assert_eq!(files.opened(), ["data/__1__.bin", "data/__2__.bin"]);
    read(&array, 0, 3000).unwrap();
    assert_eq!(files.opened(), [""; 0]);
    // if that is known, any file may be corrupt
    files.all.lock().unwrap().remove("data/__1__.bin");
    files.change("meta/storage", |s| {
        s.splice(1..1, *b"\"superchunksize\": 4, ").for_each(drop)
    });
    let array = array_in(&files, &[]).unwrap();
    assert_eq!(read(&array, 2600, 10).unwrap().0, all[2600 * 8..2610 * 8]);
    assert_eq!(files.opened(), ["data/__2__.bin"]);
    let e = read(&array, 1990, 20).unwrap_err();
    assert!(
        e.status == Status::Missing && e.position == 3 && e.message.contains("__1__.bin"),
        "{e:?}"
    );
}

/// The digest after each chunk, and its kind in the metadata that the reader reads.
fn with_digests(files: &Arc<Files>, way: &str) {
    let mut all = files.all.lock().unwrap();
    for (_, bytes) in all
        .iter_mut()
        .filter(|(n, _)| n.starts_with(&format!("{way}data/")))
    {
        let digest = Checksum::Crc32.of(&bytes[16..]);
        bytes.extend(digest);
    }
    let storage = all.get_mut(&format!("{way}meta/storage")).unwrap();
    storage
        .splice(1..1, *b"\"checksum\": \"crc32\", ")
        .for_each(drop);
}

#[test]
fn digests_after_chunks_are_verified() {
    let files = own("bcolz/bcolz121_chunks/leftover");
    let want = read(&array_in(&files, &[]).unwrap(), 0, 1050).unwrap();
    with_digests(&files, "");
    let verify = || {
        let folder: Arc<dyn Folder> = files.clone();
        let mut faults = Vec::new();
        let v = table::verify_at(&DatasetDir::of(&folder), &Options::new(), |_, e| {
            faults.push(e.clone());
            true
        });
        (v.unwrap(), faults)
    };
    let array = || array_in(&files, &[]).unwrap();
    assert_eq!(read(&array(), 0, 1050).unwrap(), want);
    assert_eq!((verify().0.intact, verify().0.unchecked), (11, 0));
    // another writer leaves it out
    files.change("data/__7.blp", |b| b.truncate(b.len() - 4));
    assert_eq!(read(&array(), 0, 1050).unwrap(), want);
    assert_eq!((verify().0.intact, verify().0.unchecked), (10, 1));
    files.change("data/__4.blp", |b| b[40] ^= 1);
    let e = read(&array(), 350, 200).unwrap_err();
    assert!(
        e.status == Status::Checksum
            && e.position == 4
            && e.message.contains("data/__4.blp: chunk 4: "),
        "{e:?}"
    );
    let (v, faults) = verify();
    assert_eq!(
        (v.intact, v.unchecked, v.corrupt, faults.len()),
        (9, 1, 1, 1)
    );
    assert_eq!(faults[0], e);
    assert_eq!(read(&array(), 500, 550).unwrap().0, want.0[4000..]);
    assert!(array_in(&files, &[(Opt::Verify, 2)]).is_err());
    // truncated within the digest, and removed
    files.change("data/__4.blp", |b| b.truncate(b.len() - 2));
    files.all.lock().unwrap().remove("data/__9.blp");
    let (v, faults) = verify();
    assert_eq!((v.intact, v.unchecked, v.corrupt), (8, 1, 2));
    assert_eq!(
        (faults[0].status, faults[1].status),
        (Status::Format, Status::Missing)
    );
}

#[test]
fn corruption_is_skipped_on_request_and_read_as_the_default_value() {
    let files = own("bcolz/bcolz121_dflt/dflt_inf");
    let want = read(&array_in(&files, &[]).unwrap(), 0, 100).unwrap().0;
    files.change("data/__1.blp", |b| b[17] = 9);
    let skip = array_in(&files, &[(Opt::SkipDamaged, 1)]).unwrap();
    let (got, skipped) = read(&skip, 0, 100).unwrap();
    assert!(skipped && got[..240] == want[..240] && got[480..] == want[480..]);
    assert!(
        got[240..480]
            .chunks(8)
            .all(|x| x == f64::INFINITY.to_le_bytes())
    );
    let mut one = [0; 8];
    assert!(skip.read_points(&[33], 1, &mut one).unwrap() && one == f64::INFINITY.to_le_bytes());
    assert!(!read(&skip, 60, 40).unwrap().1);
    // a file of many chunks, a chunk of it; then all
    let files = own("rfc/dataset/one_superchunk");
    let want = read(&array_in(&files, &[]).unwrap(), 0, 3000).unwrap().0;
    files.change("data/__1__.bin", |b| b[2000] ^= 4);
    let e = read(&array_in(&files, &[]).unwrap(), 0, 3000).unwrap_err();
    assert!(
        e.status == Status::Checksum && e.message.contains("__1__.bin"),
        "{e:?}"
    );
    let (got, skipped) = read(
        &array_in(&files, &[(Opt::SkipDamaged, 1)]).unwrap(),
        0,
        3000,
    )
    .unwrap();
    let at = e.position as usize * 4000;
    assert!(skipped && got[at..at + 4000].iter().all(|b| *b == 0));
    assert!(got[..at] == want[..at] && got[at + 4000..] == want[at + 4000..]);
    files.all.lock().unwrap().remove("data/__1__.bin");
    let (got, skipped) = read(
        &array_in(&files, &[(Opt::SkipDamaged, 1)]).unwrap(),
        0,
        3000,
    )
    .unwrap();
    assert!(skipped && got.iter().all(|b| *b == 0));
}

#[test]
fn uncounted_chunks_are_ignored() {
    // an uncommitted append: more rows in the last chunk, and chunks after it
    let files = own("bcolz/bcolz121_chunks/leftover");
    let want = read(&array_in(&files, &[]).unwrap(), 0, 1050).unwrap().0;
    for rows in [0, 1, 99, 100, 101, 1049] {
        files.set(
            "meta/sizes",
            format!(
                "{{\"shape\": [{rows}], \"nbytes\": {}, \"cbytes\": 1}}",
                rows * 8
            )
            .as_bytes(),
        );
        let array = array_in(&files, &[]).unwrap();
        assert_eq!(
            read(&array, 0, rows).unwrap().0,
            want[..rows as usize * 8],
            "{rows}"
        );
        let beyond = read(&array, rows, 1).unwrap_err();
        assert_eq!(beyond.status, Status::Range);
    }
    // fewer than are counted are an error
    files.set(
        "meta/sizes",
        b"{\"shape\": [1060], \"nbytes\": 8480, \"cbytes\": 1}",
    );
    let e = read(&array_in(&files, &[]).unwrap(), 1000, 60).unwrap_err();
    assert_eq!((e.status, e.position), (Status::Format, 10));
    // and a full chunk is full
    files.set(
        "meta/sizes",
        b"{\"shape\": [1050], \"nbytes\": 8400, \"cbytes\": 1}",
    );
    let short = files.all.lock().unwrap()["data/__10.blp"].clone();
    files.set("data/__3.blp", &short);
    assert_eq!(
        read(&array_in(&files, &[]).unwrap(), 300, 5)
            .unwrap_err()
            .status,
        Status::Format
    );
}

#[test]
fn a_table_is_as_long_as_its_shortest_column() {
    let files = own("bcolz/bcolz121_table/t_addcol");
    files.set(
        "b/meta/sizes",
        b"{\"shape\": [501], \"nbytes\": 4008, \"cbytes\": 1}",
    );
    let table = table_in(&files, &[]).unwrap();
    assert_eq!(table.rows(), 501);
    assert_eq!(
        table
            .columns()
            .iter()
            .map(|c| c.stored_rows)
            .collect::<Vec<_>>(),
        [530, 530, 501, 530]
    );
    assert!(table.columns().iter().all(|c| c.array.shape() == [501]));
    assert_eq!(
        read(&table.columns()[3].array, 490, 11).unwrap().0.len(),
        66
    );
    // the error names a column and what it lacks
    files.all.lock().unwrap().remove("new/meta/sizes");
    let e = table_in(&files, &[]).err().unwrap();
    assert!(
        e.status == Status::Missing && e.message.contains("column \"new\""),
        "{e:?}"
    );
    let folder: Arc<dyn Folder> = files.clone();
    let mut faults = 0;
    let v = table::verify_at(&DatasetDir::of(&folder), &Options::new(), |_, _| {
        faults += 1;
        true
    });
    assert_eq!((v.unwrap().unchecked, faults), (18, 1));
}

#[test]
fn names_that_lead_out_are_refused() {
    let files = own("bcolz/bcolz121_table/t_addcol");
    for name in ["../x", "/etc", "..", ".", "", "a/b", "a\\u0000"] {
        files.set(
            "__rootdirs__",
            format!("{{\"names\": [\"a\", \"{name}\"]}}").as_bytes(),
        );
        let e = table_in(&files, &[]).err().unwrap();
        assert_eq!(e.status, Status::Format, "{name}: {e}");
    }
    for text in [
        "",
        "{}",
        "[]",
        "{\"names\": 1}",
        "{\"names\": [1]}",
        "{\"names\": [\"a\", \"a\"]}",
    ] {
        files.set("__rootdirs__", text.as_bytes());
        assert_eq!(
            table_in(&files, &[]).err().unwrap().status,
            Status::Format,
            "{text}"
        );
    }
    // folders of BLZ: only the last component of the stored path is used
    files.set("__rootdirs__", b"{\"names\": [\"x\", \"b\"], \"dirs\": {\"x\": \"/somewhere/else/a\", \"gone\": \"gone\"}}");
    let table = table_in(&files, &[]).unwrap();
    assert_eq!(
        (
            table.columns()[0].name.as_str(),
            table.columns()[0].array.dtype_text()
        ),
        ("x", "<i4".into())
    );
    files.set(
        "__rootdirs__",
        b"{\"names\": [\"x\"], \"dirs\": {\"x\": \"..\"}}",
    );
    assert_eq!(table_in(&files, &[]).err().unwrap().status, Status::Format);
}

#[test]
fn links_that_lead_out_are_refused() {
    use std::os::unix::fs::symlink;
    let folder = own_archive();
    let path = folder.join("bcolz/bcolz121_chunks/leftover");
    let array = || open::open(path.as_os_str(), Mode::Read, &Options::new());
    let rows = |a: &Array| read(a, 0, 1050);
    let want = rows(&array().unwrap()).unwrap();
    let (data, chunk) = (path.join("data"), path.join("data/__3.blp"));
    // links inside are followed
    std::fs::rename(&chunk, path.join("other")).unwrap();
    symlink("../other", &chunk).unwrap();
    assert_eq!(rows(&array().unwrap()).unwrap(), want);
    // the dataset itself may be the target of a link
    symlink(&path, folder.join("link")).unwrap();
    let link = folder.join("link");
    assert_eq!(
        rows(&open::open(link.as_os_str(), Mode::Read, &Options::new()).unwrap()).unwrap(),
        want
    );
    std::fs::rename(path.join("other"), folder.join("outside")).unwrap();
    std::fs::remove_file(&chunk).unwrap();
    symlink(folder.join("outside"), &chunk).unwrap();
    let e = rows(&array().unwrap()).unwrap_err();
    assert!(
        e.status == Status::Format && e.message.contains("leads out"),
        "{e:?}"
    );
    std::fs::rename(&data, folder.join("data")).unwrap();
    symlink(folder.join("data"), &data).unwrap();
    let e = read(&array().unwrap(), 0, 1).unwrap_err();
    assert!(e.message.contains("leads out"), "{e:?}");
}

#[test]
fn files_in_the_blz_rfc_layout_are_read() {
    // YAML, shapes of chunks, fields by name
    let files = own("rfc/dataset/nested");
    let want = read(&array_in(&files, &[]).unwrap(), 0, 1500).unwrap().0;
    files.set(
        "meta/sizes",
        b"shape: (1500,)\nnbytes: 27000\ncbytes: 8974 # about\n",
    );
    let storage = b"dtype:\n  col1: int32\n  col2: float64\n  col3:\n    sc1: int16\n    sc3: float32\nchunkshape: (400,)\nsuperchunksize: 2\n\
                    order: C\ncompression:\n  library: blosclz\n  filters: [shuffle, truncate]\n";
    files.set("meta/storage", storage);
    files.set(
        "meta/attributes",
        b"temperature:\n  value: 23.5\nids: [1, 3]\n",
    );
    let array = array_in(&files, &[]).unwrap();
    assert_eq!(
        array.store().attr("temperature").unwrap().unwrap(),
        b"{\"value\":23.5}"
    );
    assert_eq!(read(&array, 0, 1500).unwrap().0, want);
    assert_eq!(read(&array, 777, 3).unwrap().0, want[777 * 18..780 * 18]);
    let mut part = vec![0; 100];
    array.store().read(1005, &mut part).unwrap();
    assert_eq!(part, want[1005..1105]);
    // its columns
    let table = table_in(&files, &[]).unwrap();
    assert_eq!(
        table
            .columns()
            .iter()
            .map(|c| (c.name.as_str(), c.array.dtype_text()))
            .collect::<Vec<_>>(),
        [
            ("col1", "<i4".into()),
            ("col2", "<f8".into()),
            ("col3", "[('sc1', '<i2'), ('sc3', '<f4')]".into())
        ]
    );
    for (i, (from, size)) in [(0, 4), (4, 8), (12, 6)].into_iter().enumerate() {
        let column = read(&table.columns()[i].array, 0, 1500).unwrap().0;
        assert!(
            column
                .chunks(size)
                .eq(want.chunks(18).map(|row| &row[from..from + size])),
            "column {i}"
        );
    }
    let big = [&storage[..], b"endianness: big\n"].concat();
    files.set("meta/storage", &big);
    assert_eq!(
        array_in(&files, &[]).unwrap().dtype_text(),
        "[('col1', '>i4'), ('col2', '>f8'), ('col3', [('sc1', '>i2'), ('sc3', '>f4')])]"
    );
}

/// The result of reading a complete dataset: bytes and shapes of its columns, or nothing if a fault
/// is reported.
fn seen(files: &Arc<Files>) -> Option<Vec<(Vec<u64>, Vec<u8>)>> {
    let limit = [(Opt::MemoryLimit, 1 << 20), (Opt::Threads, 1)];
    let all = |a: &Array| {
        (a.nbytes() < 1 << 20)
            .then(|| read(a, 0, a.shape()[0]).ok())
            .flatten()
            .map(|(bytes, _)| (a.shape().to_vec(), bytes))
    };
    match table_in(files, &limit) {
        Ok(table) => table.columns().iter().map(|c| all(&c.array)).collect(),
        Err(_) => Some(vec![all(&array_in(files, &limit).ok()?)?]),
    }
}

/// Flips and truncations of a dataset: how many were reported, were harmless, were silently wrong.
fn count_damage(files: &Arc<Files>) -> [[usize; 3]; 2] {
    let want = seen(files).unwrap();
    let names: Vec<(String, usize)> = files
        .all
        .lock()
        .unwrap()
        .iter()
        .map(|(n, b)| (n.clone(), b.len()))
        .collect();
    let total: usize = names.iter().map(|(_, n)| n).sum();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % n as u64) as usize
    };
    let mut counts = [[0; 3]; 2];
    for (trial, n) in [(0, 200), (1, 50)] {
        for _ in 0..n {
            let mut at = next(total);
            let (name, _) = names
                .iter()
                .find(|(_, n)| {
                    at < *n || {
                        at -= n;
                        false
                    }
                })
                .unwrap();
            let before = files.all.lock().unwrap()[name].clone();
            files.change(name, |b| {
                if trial == 0 {
                    b[at] ^= 1 << next(8)
                } else {
                    b.truncate(at)
                }
            });
            let outcome = match seen(files) {
                None => 0,
                Some(got) if got == want => 1,
                Some(_) => 2,
            };
            counts[trial][outcome] += 1;
            files.set(name, &before);
        }
    }
    counts
}

#[test]
fn flips_and_truncations_are_reported() {
    let files = own("bcolz/bcolz121_chunks/leftover");
    let bare = count_damage(&files);
    println!("array without digests: {bare:?}");
    assert_eq!(bare[1][2], 0, "a truncated file is always reported");
    with_digests(&files, "");
    let array = count_damage(&files);
    println!("array with digests: {array:?}");
    let files = own("bcolz/bcolz121_table/t_addcol");
    for column in ["a/", "b/", "c/", "new/"] {
        with_digests(&files, column);
    }
    let table = count_damage(&files);
    println!("table with digests: {table:?}");
    let blz_rfc = [
        count_damage(&own("rfc/dataset/one_superchunk")),
        count_damage(&own("rfc/dataset/nested")),
    ];
    println!("superchunks with digests: {blz_rfc:?}");
    for counts in [array, table, blz_rfc[0], blz_rfc[1]] {
        assert_eq!((counts[0][2], counts[1][2]), (0, 0));
        assert!(counts[0][0] > 120 && counts[1][0] > 40, "{counts:?}");
    }
}

#[test]
fn malicious_numbers_take_no_memory() {
    let files = own("bcolz/bcolz121_chunks/leftover");
    let limit = [(Opt::MemoryLimit, 1 << 20)];
    for (sizes, storage) in [
        (
            "{\"shape\": [1152921504606846976], \"nbytes\": 9223372036854775808}",
            "",
        ),
        (
            "{\"shape\": [18446744073709551615]}",
            "{\"dtype\": \"i1\", \"chunklen\": 1}",
        ),
        (
            "{\"shape\": [18446744073709551615]}",
            "{\"dtype\": \"i1\", \"chunklen\": 18446744073709551615}",
        ),
        (
            "{\"shape\": [2, 18446744073709551615, 18446744073709551615, 0]}",
            "",
        ),
        ("{\"shape\": [0, 4294967296, 4294967296]}", ""),
        ("{\"shape\": [1, 4294967296]}", ""),
        (
            "{\"shape\": [1]}",
            "{\"dtype\": \"S2147483647\", \"chunklen\": 1, \"dflt\": \"a\"}",
        ),
        ("{\"shape\": [5]}", "{\"dtype\": \"S0\", \"chunklen\": 1}"),
        ("{\"shape\": [5]}", "{\"dtype\": [], \"chunklen\": 7}"),
        (
            "{\"shape\": [18446744073709551615]}",
            "{\"dtype\": \"object\", \"chunklen\": 7}",
        ),
        (
            "{\"shape\": [18446744073709551615]}",
            "{\"dtype\": \"i1\", \"chunklen\": 3, \"superchunksize\": 1}",
        ),
    ] {
        files.set("meta/sizes", sizes.as_bytes());
        if !storage.is_empty() {
            files.set("meta/storage", storage.as_bytes());
        }
        for skip in [0, 1] {
            let Ok(array) = array_in(&files, &[limit[0], (Opt::SkipDamaged, skip)]) else {
                continue;
            };
            let last = array.shape()[0].saturating_sub(1);
            let (mut start, mut count) =
                (vec![0; array.shape().len()], vec![1; array.shape().len()]);
            start[0] = last;
            count[0] = array.shape()[0].min(1);
            let _ = array.read(&start, &count, None, &mut [0; 4096], None);
            let _ = (
                array.store().fill(),
                array.store().object(last),
                array.blockshape(),
                array.nbytes(),
            );
        }
    }
    for (name, text) in [
        ("meta/sizes", "{\"shape\": []}"),
        ("meta/sizes", "{\"shape\": [-1]}"),
        ("meta/sizes", "{\"shape\": [1.5]}"),
        ("meta/sizes", "{\"shape\": 5}"),
        ("meta/sizes", ""),
        ("meta/sizes", "{\"shape\": [5], \"nbytes\": 7}"),
        ("meta/storage", "{\"dtype\": \"i8\"}"),
        ("meta/storage", "{\"dtype\": \"i8\", \"chunklen\": 0}"),
        ("meta/storage", "{\"chunklen\": 10}"),
        ("meta/storage", "\0\0\0"),
    ] {
        let files = own("bcolz/bcolz121_chunks/leftover");
        files.set(name, text.as_bytes());
        assert_eq!(
            array_in(&files, &[]).err().unwrap().status,
            Status::Format,
            "{name} {text}"
        );
    }
}
