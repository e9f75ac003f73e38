//! Any bytes as one small file of an otherwise valid dataset: `meta/sizes`, `meta/storage`,
//! `__rootdirs__`, the headers of a chunk's file; or as a dtype. A dataset that opens is read in
//! two ways that agree, verified, repaired and appended to; content that could be read before can
//! be read afterwards. The first byte chooses the file (or HOLDALL_FUZZ_ONE, if it is set), the
//! second one the dataset.
use holdall::array::Array;
use holdall::dataset::create::{ArraySpec, create_in};
use holdall::dataset::{folder::DatasetDir, open, text_checksum};
use holdall::dtype::Dtype;
use holdall::format::Format;
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::json::Value;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::table::{self, Table};
use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

#[path = "files.rs"]
mod files;
use files::Files;

/// More content would only be slower.
const MOST: u64 = 1 << 14;
/// The datasets: items, shape, rows per chunk.
const KINDS: [(&str, &[u64], u64); 4] = [
    ("<f8", &[20], 8),
    ("|S5", &[9], 16),
    ("<i2", &[12, 3], 4),
    ("[('a', '<i4'), ('b', '|u1')]", &[0], 4),
];
type Named = Vec<(OsString, Vec<u8>)>;

fn options(more: &[(Opt, i64)]) -> Options {
    [(Opt::Threads, 1), (Opt::MemoryLimit, 1 << 15)]
        .iter()
        .chain(more)
        .fold(Options::new(), |o, (opt, n)| o.with(*opt, *n).unwrap())
}

/// The files of a valid dataset of each kind, with checksums and without.
fn valid(which: usize) -> &'static Named {
    static MADE: [OnceLock<Named>; 8] = [const { OnceLock::new() }; 8];
    MADE[which % 8].get_or_init(|| {
        let (dtype, shape, rows) = KINDS[which % 4];
        let files = Arc::new(Files::default());
        let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(files.clone()));
        let none = [&[0], &shape[1..]].concat();
        let new = ArraySpec {
            dtype,
            shape: &none,
            chunks: Some(&[&[rows], &shape[1..]].concat()),
            format: Format::Bcolz,
        };
        let checksum = if which % 8 > 3 { 2 } else { 0 };
        let mut a = create_in(
            &folder,
            Mode::New,
            &new,
            &options(&[(Opt::Checksum, checksum)]),
        )
        .unwrap();
        let content: Vec<u8> = (0..shape.iter().product::<u64>() * a.itemsize() as u64)
            .map(|i| (i % 11) as u8)
            .collect();
        a.append(0, shape[0], &content).unwrap();
        a.commit().unwrap();
        drop(a);
        let files = files.0.lock().unwrap();
        files
            .iter()
            .filter(|(n, _)| !n.to_string_lossy().contains("holdall"))
            .map(|(n, b)| (n.clone(), b.clone()))
            .collect()
    })
}

fn folder_of(files: impl Iterator<Item = (OsString, Vec<u8>)>) -> Arc<dyn Folder> {
    let all = Files::default();
    all.0.lock().unwrap().extend(files);
    Arc::new(FunctionsFolder::new(Arc::new(all)))
}

/// Content and attributes, if all of it can be read.
fn read(array: &Array) -> Option<Vec<u8>> {
    let _ = (
        array.store().fill(),
        array.blockshape(),
        array.dtype_text(),
        array.cbytes(),
    );
    if array.nbytes() > MOST || array.store().has_objects() {
        return None;
    }
    let (shape, start) = (array.shape(), vec![0; array.shape().len()]);
    let mut all = vec![1; array.nbytes() as usize];
    let whole = array.read(&start, shape, None, &mut all, None) == Ok(false);
    if let Some(last) = shape[0].checked_sub(1) {
        let (mut from, mut n) = (start, shape.to_vec());
        (from[0], n[0]) = (last, 1);
        let row = all.len() / shape[0] as usize;
        let mut one = vec![2; row];
        let valid = array.read(&from, &n, None, &mut one, None) == Ok(false);
        assert!(
            !(whole && valid) || one == all[last as usize * row..],
            "the last row differs"
        );
        assert!(valid || !whole, "the last row cannot be read, and all can");
    }
    whole.then_some(all)
}

/// Opens it and reads all of it.
fn look(folder: &Arc<dyn Folder>) -> Option<(Vec<u64>, Vec<u8>)> {
    let verified = table::verify_at(&DatasetDir::of(folder), &options(&[]), |_, _| true)
        .is_ok_and(|v| v.corrupt == 0);
    let array = open::open_in(folder, Mode::Read, &options(&[])).ok()?;
    let content = read(&array);
    if let Ok(skipping) = open::open_in(folder, Mode::Read, &options(&[(Opt::SkipDamaged, 1)])) {
        let again = read(&skipping);
        assert!(content.is_none() || again.is_none() || again == content);
    }
    assert!(
        content.is_some() || array.nbytes() > MOST || array.store().has_objects() || !verified,
        "verified, and not readable"
    );
    content.map(|content| (array.shape().to_vec(), content))
}

/// Existing content can be read after another row was appended.
fn append(folder: &Arc<dyn Folder>, before: Option<&(Vec<u64>, Vec<u8>)>) {
    let Ok(mut a) = open::open_in(folder, Mode::Append, &options(&[])) else {
        return;
    };
    let row = (a.nbytes() / a.shape()[0].max(1)) as usize;
    let row = if a.shape()[0] > 0 { row } else { a.itemsize() };
    if row > 1000
        || a.append(0, 1, &vec![5; row])
            .and_then(|()| a.commit())
            .is_err()
    {
        return;
    }
    drop(a);
    let (shape, after) = look(folder).unwrap_or_default();
    if let Some((old, content)) = before {
        assert!(
            shape[0] == old[0] + 1
                && after[..content.len()] == *content
                && after[content.len()..] == vec![5; row]
        );
    }
}

/// Content that could be read can be read after any repair.
fn repair(folder: &Arc<dyn Folder>, which: usize, before: Option<&(Vec<u64>, Vec<u8>)>) {
    let how = [
        (Opt::SkipDamaged, (which >> 5 & 1) as i64),
        (Opt::Durability, 0),
    ];
    let done = table::repair_at(&DatasetDir::of(folder), &options(&how));
    let after = look(folder);
    if before.is_some() {
        assert!(after.as_ref() == before, "repaired to something else");
    } else if done.is_ok() {
        let again = table::repair_at(&DatasetDir::of(folder), &options(&how)).unwrap();
        assert!(
            again.dropped == 0 && look(folder) == after,
            "repaired twice"
        );
    }
}

fn dtype(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let json = Value::parse(text.as_bytes())
        .ok()
        .and_then(|v| Dtype::from_json(&v).ok());
    for dtype in [Dtype::parse(&text).ok(), json].into_iter().flatten() {
        let literal = dtype.to_python_literal();
        let again = Dtype::parse(&literal).unwrap_or_else(|e| panic!("{text:?} is {literal}: {e}"));
        assert_eq!(again.item, dtype.item, "{text:?} is {literal}");
    }
}

fn columns(text: Vec<u8>) {
    let column = |name: &str, which: usize| {
        let name = name.to_owned();
        valid(which)
            .iter()
            .map(move |(file, b)| (format!("{name}/{}", file.display()).into(), b.clone()))
    };
    let named = [
        ("__rootdirs__".into(), text),
        ("__attrs__".into(), b"{}".to_vec()),
    ];
    let folder = folder_of(
        named
            .into_iter()
            .chain(column("a", 0))
            .chain(column("b", 5))
            .chain(column("\u{e9}", 2)),
    );
    let verified = table::verify_at(&DatasetDir::of(&folder), &options(&[]), |_, _| true)
        .is_ok_and(|v| v.corrupt == 0);
    let _ = table::identify(&DatasetDir::of(&folder));
    let Ok(table) = Table::open_in(&folder, Mode::Read, &options(&[])) else {
        return;
    };
    for column in table.columns() {
        assert_eq!(column.array.shape()[0], table.rows());
        assert!(column.stored_rows >= table.rows());
        assert!(read(&column.array).is_some() || !verified);
    }
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    static ONE: OnceLock<Option<u8>> = OnceLock::new();
    let Some((&[what, which], bytes)) = data.split_first_chunk::<2>() else {
        return;
    };
    let what = ONE
        .get_or_init(|| std::env::var("HOLDALL_FUZZ_ONE").ok()?.parse().ok())
        .unwrap_or(what);
    let which = usize::from(which);
    let mut text = bytes.to_vec();
    if which & 8 != 0 && what % 5 < 3 {
        text = String::from_utf8(text).map_or_else(
            |e| e.into_bytes(),
            |t| text_checksum::with_checksum(t).into_bytes(),
        );
    }
    let name = match what % 5 {
        0 => "meta/sizes",
        1 => "meta/storage",
        2 => return columns(text),
        3 => return dtype(bytes),
        _ => ["data/__0.blp", "data/__1.blp"][which >> 4 & 1],
    };
    let files = valid(which).iter().map(|(n, b)| {
        let mut b = b.clone();
        if *n == name && what % 5 == 4 {
            b.iter_mut().zip(bytes).for_each(|(b, new)| *b = *new);
        } else if *n == name {
            b = text.clone();
        }
        (n.clone(), b)
    });
    let folder = folder_of(files);
    let _ = table::identify(&DatasetDir::of(&folder));
    let before = look(&folder);
    if which & 64 != 0 {
        repair(&folder, which, before.as_ref());
    }
    append(&folder, before.as_ref());
}
