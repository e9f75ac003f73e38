//! Any bytes as a zip archive of the files of a CTable, which is changed. Changes are refused, or made: a
//! table that was committed opens with as many rows, and has the values that were appended.
use holdall::array::store::Texts;
use holdall::dtype::Dtype;
use holdall::dtype::packed::PackedType;
use holdall::error::Result;
use holdall::io::Access;
use holdall::io::Folder;
use holdall::io::memory::MemoryFolder;
use holdall::io::memory_files::MemoryFiles;
use holdall::io::zip::ZipFolder;
use holdall::msgpack::{self, Token};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::table::{Cells, Table};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::sync::Arc;

#[path = "refused.rs"]
mod refused;
use refused::refused;

/// More rows, and bytes of one, would only be slower.
const MOST_ROWS: u64 = 1 << 12;
const MOST_BYTES: u64 = 1 << 12;
const ROWS: u64 = 3;

fn options() -> Options {
    let threads = Options::new().with(Opt::Threads, 1).unwrap();
    threads.with(Opt::MemoryLimit, 1 << 18).unwrap()
}

/// The members of an archive as files that can be changed.
fn files(bytes: &[u8]) -> Option<Arc<dyn Folder>> {
    let archive: Arc<dyn Folder> = Arc::new(MemoryFolder::new(Arc::<[u8]>::from(bytes)));
    let zip = ZipFolder::open(&archive, OsStr::new(""))
        .inspect_err(refused)
        .ok()?;
    let files = MemoryFiles::default();
    for name in zip.names() {
        let member = zip
            .open(OsStr::new(name), Access::Read)
            .inspect_err(refused)
            .ok()?;
        files.put(OsStr::new(name), member.bytes()?.to_vec());
    }
    Some(Arc::new(files))
}

/// A value of a type in MessagePack.
fn put(of: &PackedType, out: &mut Vec<u8>) {
    match of {
        PackedType::Bool => msgpack::put(out, Token::Bool(true)),
        PackedType::Int { .. } | PackedType::Time(_) => msgpack::put(out, Token::Uint(7)),
        PackedType::Float(_) => msgpack::put(out, Token::Float(0.5)),
        PackedType::Text => msgpack::put(out, Token::Text(b"x")),
        PackedType::Bytes => msgpack::put(out, Token::Bytes(b"x")),
        PackedType::Any => msgpack::put(out, Token::Extension(42, b"x")),
        PackedType::List(item) => {
            msgpack::put(out, Token::Array(1));
            put(item, out);
        }
        PackedType::Struct(fields) => {
            msgpack::put(out, Token::Map(fields.len() as u64));
            for (name, of) in fields {
                msgpack::put(out, Token::Text(name.as_bytes()));
                put(of, out);
            }
        }
    }
}

/// New rows: items, or values of any length.
fn rows(t: &Table) -> Vec<Cells<'static>> {
    let row = |column: &holdall::table::Column| {
        let array = &column.array;
        if !array.store().has_objects() {
            let bytes = array.nbytes() / t.rows().max(1) * ROWS;
            return Cells::Items(vec![1; bytes as usize].into());
        }
        let mut texts = Texts::new(u64::MAX);
        for i in 0..ROWS as usize {
            let mut value = vec![b'v'; i * 20];
            if let Some(of) = array.store().packed() {
                value.clear();
                put(of, &mut value);
            }
            texts.push(&value, false).unwrap();
        }
        Cells::Texts(Cow::Owned(texts))
    };
    t.columns().iter().map(row).collect()
}

fn change(t: &mut Table, new: &[Cells]) -> Result<()> {
    t.insert_cells(0, ROWS, new)?;
    for (i, cells) in new.iter().enumerate() {
        t.write_cells(i, t.rows() / 2, ROWS, cells)?;
    }
    t.remove(1, 1)?;
    t.append_cells(ROWS, new)
}

/// Adds a column of items, and one of texts.
fn add_columns(t: &mut Table) -> Result<()> {
    let (at, n) = (t.columns().len(), t.rows());
    let numbers = vec![0; n as usize * 4];
    t.column_add(at, "added", &Dtype::parse("<i4")?, Some(&numbers))?;
    let texts = Cells::of_values((0..n).map(|_| Some(&b"long"[..])))?;
    t.column_add_cells(at, "texts", &Dtype::text(), Some(&texts))
}

pub fn run(bytes: &[u8]) {
    let Some(folder) = files(bytes) else { return };
    let open = |mode| Table::open_in(&folder, mode, &options());
    if let Ok(t) = open(Mode::Read).inspect_err(refused) {
        for zones in (0..t.columns().len()).filter_map(|column| t.zones(column)) {
            let is_sorted = zones.zones.is_sorted_by_key(|zone| zone.rows.end);
            assert!(is_sorted && zones.zones.iter().all(|zone| zone.rows.end <= t.rows()));
        }
    }
    let Ok(mut t) = open(Mode::Append).inspect_err(refused) else {
        return;
    };
    let bytes = t.columns().iter().map(|column| column.array.nbytes());
    if t.rows() == 0 || t.rows() > MOST_ROWS || bytes.max() > Some(MOST_BYTES * t.rows()) {
        return;
    }
    let new = rows(&t);
    let changed = change(&mut t, &new).inspect_err(refused).is_ok();
    let added = add_columns(&mut t).inspect_err(refused).is_ok();
    let before = t.rows();
    if t.commit().inspect_err(refused).is_err() {
        return;
    }
    let t = open(Mode::Read).expect("a table that was committed");
    assert_eq!(t.rows(), before);
    if !changed {
        return;
    }
    for (column, cells) in t.columns().iter().zip(&new) {
        if let Cells::Texts(expected) = cells
            && let Ok(texts) = column.array.texts(before - ROWS, ROWS).inspect_err(refused)
        {
            let same = |i| texts.get(i) == expected.get(i);
            assert!((0..ROWS as usize).all(same), "{:?}", column.name);
        }
    }
    if added {
        let n = t.columns().len() - 2;
        let texts = t.columns()[n].array.texts(0, before).unwrap();
        assert!((0..before as usize).all(|i| texts.get(i) == Some(b"long")));
    }
}
