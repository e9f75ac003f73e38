//! Datasets that bcolz and BLZ wrote, and those that their papers describe: content, shape, dtype, attributes and
//! columns are what the manifest has.

use holdall::array::dtype::{Dtype, Kind, Type};
use holdall::array::rows::Array;
use holdall::array::store::Store;
use holdall::checksum::Sum;
use holdall::dataset::open;
use holdall::dataset::place::Place;
use holdall::error::{Result, Status};
use holdall::identify::{Format, Kind as Container};
use holdall::io::lock::Lock;
use holdall::io::{Access, File, Folder, memory::MemoryFolder};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::table::{self, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The folder of the files; where they are in an archive, it is unpacked into the build folder.
fn fixtures() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let from = std::env::var_os("HOLDALL_FIXTURES").map_or(own, PathBuf::from).join("blpk");
    let archive = from.join("files.tar.gz");
    if !archive.exists() {
        return own_archive();
    }
    unpack(&archive, &from.join("manifest.json"), "datasets")
}

/// Those that are kept here: a folder without files cannot be kept but in an archive.
fn own_archive() -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/datasets");
    unpack(&from.join("files.tar.gz"), &from.join("manifest.json"), "own-datasets")
}

fn unpack(archive: &Path, manifest: &Path, to: &str) -> PathBuf {
    // tests run at the same time, in one process or in several
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{to}-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&to).unwrap();
    std::fs::copy(manifest, to.join("manifest.json")).unwrap();
    let tar = std::process::Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&to).status().unwrap();
    assert!(tar.success(), "tar xzf {}", archive.display());
    to
}

fn entries(folder: &Path) -> Vec<Value> {
    // Python's spelling
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    let text = text.replace(": Infinity", ": null").replace(": NaN", ": null");
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let all = manifest["fixtures"].as_array().unwrap();
    all.iter().filter(|e| e["kind"] != "bloscpack").cloned().collect()
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|x| format!("{x:02x}")).collect()
}

fn dtype_of(content: &Value) -> Type {
    Dtype::from_json(&holdall::json::Value::parse(content["dtype"].to_string().as_bytes()).unwrap()).unwrap().item
}

/// Turns numbers round where they are big-endian: the digests are of little-endian ones.
fn to_little(item: &Type, bytes: &mut [u8]) {
    match &item.kind {
        Kind::Struct(fields) => fields.iter().for_each(|f| to_little(&f.item, &mut bytes[f.offset..][..f.item.size])),
        Kind::Array(of, _) => bytes.chunks_mut(of.size.max(1)).for_each(|b| to_little(of, b)),
        Kind::Str if item.big_endian => bytes.chunks_mut(4).for_each(<[u8]>::reverse),
        _ if item.big_endian => bytes.reverse(),
        _ => {}
    }
}

fn whole(array: &Array) -> Vec<u8> {
    let mut all = vec![0xaa; array.nbytes() as usize];
    let start = vec![0; array.shape().len()];
    assert!(!array.read(&start, array.shape(), None, &mut all, None).unwrap(), "damage");
    all
}

fn check_attrs(id: &Value, want: &Value, names: Vec<&str>, get: impl Fn(&str) -> Vec<u8>) {
    let found: serde_json::Map<String, Value> = names.iter().map(|n| (n.to_string(), serde_json::from_slice(&get(n)).unwrap())).collect();
    assert_eq!(Value::Object(found), *want, "{id}");
}

/// Every way of reading that there is gives the same.
fn check_reading(id: &Value, array: &Array, all: &[u8]) {
    let (shape, size) = (array.shape(), array.itemsize());
    if all.is_empty() {
        return;
    }
    let row = all.len() / shape[0] as usize;
    for (from, step) in [(0, 1), (shape[0] / 2, 1), (0, 3), (shape[0] / 3, 7)] {
        let n = (shape[0] - from).div_ceil(step);
        let (mut start, mut count, mut steps) = (vec![0; shape.len()], shape.to_vec(), vec![1; shape.len()]);
        (start[0], count[0], steps[0]) = (from, n, step);
        let mut got = vec![1; n as usize * row];
        array.read(&start, &count, Some(&steps), &mut got, None).unwrap();
        let want = (0..n as usize).map(|i| &all[(from as usize + i * step as usize) * row..][..row]);
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
    check_attrs(id, attrs, array.store().attr_names(), |n| array.store().attr(n).unwrap().unwrap().to_vec());
    if content["pickles"] == true {
        return check_objects(id, array);
    }
    assert_eq!(array.dtype().item, dtype_of(content), "{id}");
    assert_eq!((json!(array.nbytes()), json!(array.itemsize())), (content["nbytes"].clone(), content["itemsize"].clone()), "{id}");
    let all = whole(array);
    check_reading(id, array, &all);
    if let Some(stored) = content.get("sha256_stored") {
        assert_eq!(hex(&Sum::Sha256.of(&all)), *stored, "{id}");
    }
    let (item, mut little) = (&array.dtype().item, all);
    little.chunks_mut(item.size.max(1)).for_each(|b| to_little(item, b));
    assert_eq!(hex(&Sum::Sha256.of(&little)), content["sha256"], "{id}");
}

/// The pickles of `["x", None, 17, 2.5, [1, 2]]`, whose sizes are what was counted, and which begin and end as pickles do.
fn check_objects(id: &Value, array: &Array) {
    let all: Vec<Vec<u8>> = (0..array.shape()[0]).map(|i| array.store().object(i).unwrap()).collect();
    assert_eq!(all.iter().map(|o| o.len() as u64).sum::<u64>(), array.nbytes(), "{id}");
    assert!(all.iter().all(|o| o[0] == 0x80 && o.ends_with(b".")), "{id}: {all:?}");
    assert!(all[0].contains(&b'x') && all[2].ends_with(b"K\x11.") && all[4].ends_with(b"K\x01K\x02e."), "{id}: {all:?}");
    assert_eq!(array.store().object(5).unwrap_err().status, Status::Range);
    assert_eq!(array.read(&[0], &[5], None, &mut [0; 100], None).unwrap_err().status, Status::Type, "{id}");
    assert_eq!(array.itemsize(), 0);
}

fn check_table(id: &Value, path: &Path, entry: &Value) {
    let table = Table::open(path.as_os_str(), Mode::Read, &Options::new()).unwrap();
    let columns = entry["content"]["columns"].as_array().unwrap();
    assert_eq!(json!(table.rows()), entry["content"]["nrows"], "{id}");
    assert_eq!(table.columns().len(), columns.len(), "{id}");
    check_attrs(id, &entry["attrs"], table.attrs().names(), |n| table.attrs().get(n).unwrap().to_vec());
    for (column, want) in table.columns().iter().zip(columns) {
        assert_eq!(json!(column.name), want["name"], "{id}");
        assert_eq!(column.stored_rows, table.rows(), "{id}");
        check_array(id, &column.array, want, &want["attrs"]);
    }
    let as_array = open::open(path.as_os_str(), Mode::Read, &Options::new()).err().unwrap();
    assert_eq!(as_array.status, Status::Type, "{id}: {as_array}");
}

/// The default value, by the first of its bytes.
fn check_fill(id: &Value, array: &Array, dflt: &Value) {
    let fill = array.store().fill().unwrap_or_else(|e| panic!("{id}: {e}"));
    match (dflt, fill) {
        (Value::Number(n), Some(fill)) if fill.len() == 8 => assert_eq!(f64::from_le_bytes(fill.try_into().unwrap()), n.as_f64().unwrap(), "{id}"),
        (Value::Number(n), Some(fill)) if fill.len() == 4 => assert_eq!(f32::from_le_bytes(fill.try_into().unwrap()), n.as_f64().unwrap() as f32, "{id}"),
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
        _ => Format::BlzPaper,
    };
    assert_eq!((format, kind), (want, if is_table || nested { Container::Table } else { Container::Array }), "{id}");
    if is_table {
        check_table(id, &path, entry);
    } else {
        let array = open::open(path.as_os_str(), Mode::Read, &Options::new()).unwrap_or_else(|e| panic!("{id}: {e}"));
        check_array(id, &array, &entry["content"], &entry["attrs"]);
        if let Some(storage) = entry.get("storage") {
            check_fill(id, &array, &storage[""]["storage"]["dflt"]);
            assert_eq!(json!(array.chunkshape()[0]), storage[""]["storage"]["chunklen"], "{id}");
            assert_eq!(json!(array.cbytes().unwrap()), storage[""]["sizes"]["cbytes"], "{id}");
        }
    }
    let v = table::verify(path.as_os_str(), &Options::new(), |e| panic!("{id}: {e}")).unwrap();
    assert_eq!((v.bad, v.sound > 0), (0, matches!(id.as_str().unwrap().rsplit('/').next(), Some("one_superchunk" | "one_chunk_each")) || nested), "{id}");
}

#[test]
fn datasets_of_the_real_tools_are_read() {
    let folder = fixtures();
    let entries = entries(&folder);
    let mut counts = BTreeMap::new();
    for entry in &entries {
        check(&folder, entry);
        *counts.entry(entry["kind"].as_str().unwrap()).or_insert(0) += 1;
    }
    println!("{counts:?}");
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    for (kind, n) in counts {
        assert!(text.contains(&format!("\"{kind}\": {n}")), "{kind}: {n}");
    }
    std::fs::remove_dir_all(folder).unwrap();
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
            let (entry, name) = entry.map(|e| (e.path(), e.file_name().into_string().unwrap())).unwrap();
            if entry.is_dir() {
                self.load(&entry, &format!("{way}{name}/"));
            } else {
                self.all.lock().unwrap().insert(format!("{way}{name}"), std::fs::read(entry).unwrap());
            }
        }
    }

    fn set(&self, name: &str, bytes: &[u8]) {
        self.all.lock().unwrap().insert(name.into(), bytes.into());
    }

    fn change(&self, name: &str, f: impl FnOnce(&mut Vec<u8>)) {
        f(self.all.lock().unwrap().get_mut(name).unwrap_or_else(|| panic!("{name}")));
    }

    /// Chunk files opened since the last call.
    fn opened(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.opened.lock().unwrap());
        all.into_iter().filter(|n| n.contains("data/") && !n.contains("holdall")).collect()
    }
}

impl Folder for Files {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let name = name.to_str().unwrap();
        assert!(matches!(access, Access::Read | Access::Map), "{name}");
        self.opened.lock().unwrap().push(name.into());
        let bytes = self.all.lock().unwrap().get(name).cloned();
        let missing = || holdall::Error::new(Status::Missing, format!("{name}: no such file"));
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
        Ok(self.all.lock().unwrap().contains_key(name.to_str().unwrap()).then_some(0))
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
    let options = options.iter().try_fold(Options::new(), |o, (opt, n)| o.with(*opt, *n))?;
    open::open_in(&folder, Mode::Read, &options)
}

fn table_in(files: &Arc<Files>, options: &[(Opt, i64)]) -> Result<Table> {
    let folder: Arc<dyn Folder> = files.clone();
    let options = options.iter().try_fold(Options::new(), |o, (opt, n)| o.with(*opt, *n))?;
    Table::open_in(&folder, Mode::Read, &options)
}

fn read(array: &Array, from: u64, n: u64) -> Result<(Vec<u8>, bool)> {
    let row = array.nbytes() / array.shape()[0].max(1);
    let (mut start, mut count) = (vec![0; array.shape().len()], array.shape().to_vec());
    (start[0], count[0]) = (from, n);
    let mut dst = vec![0xee; (n * row) as usize];
    array.read(&start, &count, None, &mut dst, None).map(|bad| (dst, bad))
}

/// One of the datasets that are kept here.
fn own(name: &str) -> Arc<Files> {
    let folder = own_archive();
    let files = Files::of(&folder.join(name));
    std::fs::remove_dir_all(folder).unwrap();
    files
}

#[test]
fn a_chunk_file_is_opened_when_it_is_touched() {
    let files = own("bcolz/bcolz121_chunks/leftover");
    let array = array_in(&files, &[]).unwrap();
    assert_eq!((array.shape(), array.chunkshape()), (&[1050][..], &[100][..]));
    assert_eq!(files.opened(), [""; 0]);
    read(&array, 200, 100).unwrap();
    assert_eq!(files.opened(), ["data/__2.blp"]);
    read(&array, 399, 2).unwrap();
    let mut opened = files.opened();
    opened.sort();
    assert_eq!(opened, ["data/__3.blp", "data/__4.blp"]);
    // some rows of many chunks: each once
    let mut rows = [0; 3 * 8];
    array.read(&[5], &[3], Some(&[500]), &mut rows, None).unwrap();
    let mut opened = files.opened();
    opened.sort();
    assert_eq!(opened, ["data/__0.blp", "data/__10.blp", "data/__5.blp"]);

    let table = table_in(&own("bcolz/bcolz121_table/t_addcol"), &[]).unwrap();
    assert_eq!(table.columns().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a", "new", "b", "c"]);
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
    // the first one says how many chunks are in each
    assert_eq!(files.opened(), ["data/__1__.bin", "data/__2__.bin"]);
    read(&array, 0, 3000).unwrap();
    assert_eq!(files.opened(), [""; 0]);
    // where that is known it may be elsewhere
    files.all.lock().unwrap().remove("data/__1__.bin");
    files.change("meta/storage", |s| s.splice(1..1, *b"\"superchunksize\": 4, ").for_each(drop));
    let array = array_in(&files, &[]).unwrap();
    assert_eq!(read(&array, 2600, 10).unwrap().0, all[2600 * 8..2610 * 8]);
    assert_eq!(files.opened(), ["data/__2__.bin"]);
    let e = read(&array, 1990, 20).unwrap_err();
    assert!(e.status == Status::Missing && e.position == 3 && e.message.contains("__1__.bin"), "{e:?}");
}
