//! Any bytes as the files of a dataset: a table with a column, an array, or an array in the BLZ RFC
//! layout. It is read in all ways, which must agree, and verified. The first bytes choose the
//! options and the lengths of the files. If requested, the header in the file of a chunk is
//! corrected, because no fuzzer would find it.
use holdall::array::Array;
use holdall::dataset::{chunk_file, folder::DatasetDir, open};
use holdall::error::Status;
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::table::{self, Table};
use std::sync::Arc;

#[path = "files.rs"]
mod files;
use files::Files;

/// More content would only be slower.
const MOST: u64 = 1 << 16;
/// The files of the parts of the input: of a table, of an array, of an array in the BLZ RFC layout.
const LAYOUTS: [[&str; 6]; 3] = [
    [
        "__rootdirs__",
        "a/meta/sizes",
        "a/meta/storage",
        "a/__attrs__",
        "a/data/__0.blp",
        "a/data/__1.blp",
    ],
    [
        "__attrs__",
        "meta/sizes",
        "meta/storage",
        "meta/attributes",
        "data/__0.blp",
        "data/__1.blp",
    ],
    [
        "data/a/__1__.bin",
        "meta/sizes",
        "meta/storage",
        "meta/attributes",
        "data/__1__.bin",
        "data/b/c/__1__.bin",
    ],
];

fn options(how: u8) -> Options {
    let mut o = Options::new();
    let (skip, verify) = (i64::from(how & 1), i64::from(how >> 1 & 1));
    for (opt, value) in [
        (Opt::Threads, 1),
        (Opt::MemoryLimit, 1 << 18),
        (Opt::SkipDamaged, skip),
        (Opt::Verify, verify),
    ] {
        o.set(opt, value).unwrap();
    }
    o
}

/// Reads an array in all ways; its content, if it can be read and is intact.
fn read(array: &Array) -> Option<Vec<u8>> {
    let store = array.store();
    for name in store.attr_names() {
        // corruption is reported with the name of the file
        let is_file =
            store.attr_names().len() == 1 && ["__attrs__", "meta/attributes"].contains(&name);
        assert!(
            store.attr(name).map_or(is_file, |value| value.is_some()),
            "{name}"
        );
    }
    let _ = (
        store.fill(),
        array.blockshape(),
        array.dtype_text(),
        array.cbytes(),
    );
    for i in 0..array.shape()[0].min(4) {
        assert_eq!(
            store.object(i).is_err_and(|e| e.status == Status::Type),
            !store.has_objects()
        );
    }
    if array.nbytes() > MOST || store.has_objects() {
        return None;
    }
    let (shape, start) = (array.shape(), vec![0; array.shape().len()]);
    let mut all = vec![1; array.nbytes() as usize];
    let whole = array.read(&start, shape, None, &mut all, None) == Ok(false);
    let rows = shape[0];
    let row = all.len() / (rows.max(1) as usize);
    for r in [0, rows / 3, rows / 2, rows.saturating_sub(1)]
        .into_iter()
        .filter(|r| *r < rows)
    {
        let (mut from, mut n) = (start.clone(), shape.to_vec());
        (from[0], n[0]) = (r, 1.min(rows));
        let mut one = vec![2; row];
        // a part may report corruption that the complete array does not: blocks that share bytes
        let one_intact = array.read(&from, &n, None, &mut one, None) == Ok(false);
        assert!(
            !(whole && one_intact) || one == all[r as usize * row..][..row],
            "row {r} differs"
        );
    }
    whole.then_some(all)
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[how, a, b, c, d, e], mut rest)) = data.split_first_chunk::<6>() else {
        return;
    };
    let files = Files::default();
    let mut any_data = false;
    for (i, (name, len)) in LAYOUTS[usize::from(how >> 2) % 3]
        .iter()
        .zip([a, b, c, d, e, 255])
        .enumerate()
    {
        let (part, after) =
            rest.split_at(rest.len().min(usize::from(len) * if i < 4 { 1 } else { 4 }));
        rest = after;
        if part.is_empty() && how & 64 == 0 {
            continue;
        }
        let mut part = part.to_vec();
        if how & 128 != 0 && name.ends_with(".blp") {
            part.splice(..0, chunk_file::HEADER);
        }
        any_data |= i > 3;
        files.0.lock().unwrap().insert(name.into(), part);
    }
    let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(Arc::new(files)));
    let o = options(how);
    let mut all_intact = true;
    let array = open::open_in(&folder, Mode::Read, &o);
    let table = Table::open_in(&folder, Mode::Read, &o);
    if let Ok(array) = &array {
        all_intact &= read(array).is_some() || array.nbytes() > MOST || array.store().has_objects();
    }
    if let Ok(table) = &table {
        for column in table.columns() {
            assert_eq!(column.array.shape()[0], table.rows());
            assert!(column.stored_rows >= table.rows());
            all_intact &= read(&column.array).is_some()
                || column.array.nbytes() > MOST
                || column.array.store().has_objects();
        }
    }
    let mut faults = 0;
    let dir = DatasetDir::of(&folder);
    let verified = table::verify_at(&dir, &options(0), |_, _| {
        faults += 1;
        faults < 10
    });
    if let Ok(v) = verified {
        // one fault for all adjacent missing chunks
        assert!(v.corrupt == 0 || faults > 0);
        if any_data && faults == 0 && how & 1 == 0 && (array.is_ok() || table.is_ok()) {
            assert!(all_intact, "verified, and not readable");
        }
    }
    let _ = table::identify(&dir);
}
