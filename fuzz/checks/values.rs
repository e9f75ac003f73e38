//! Any bytes as what stores and CTables have besides frames. The first byte chooses: an archive, the
//! schema of a CTable, a value in MessagePack, or values in Arrow's format. Values are of a type that
//! the next bytes choose; those that are read are values of the type.
use holdall::array::store::Texts;
use holdall::arrow::packed;
use holdall::arrow_ipc;
use holdall::dtype::packed::PackedType;
use holdall::io::Folder;
use holdall::io::memory::MemoryFolder;
use holdall::table::ctable_schema;
use std::sync::Arc;

#[path = "archive.rs"]
mod archive;
#[path = "refused.rs"]
mod refused;
use refused::refused;

const MOST_DEPTH: usize = 4;
/// Bytes of values.
const MOST: u64 = 1 << 16;

/// Returns the type that the first bytes choose.
fn take_type(bytes: &mut &[u8], depth: usize) -> PackedType {
    let Some((first, rest)) = bytes.split_first() else {
        return PackedType::Any;
    };
    *bytes = rest;
    let size = 1 << (first >> 4 & 3);
    match first & 15 {
        0 => PackedType::Bool,
        1 => PackedType::Int { signed: true, size },
        2 => PackedType::Int {
            signed: false,
            size,
        },
        3 => PackedType::Float(if size < 4 { 4 } else { 8 }),
        4 => PackedType::Text,
        5 => PackedType::Bytes,
        6 => PackedType::Time(["s", "ms", "us", "ns"][usize::from(first >> 4 & 3)].into()),
        7 if depth < MOST_DEPTH => PackedType::List(Box::new(take_type(bytes, depth + 1))),
        8 if depth < MOST_DEPTH => {
            let names = ["a", "b", "c", "d"].into_iter().take(size.min(4));
            let field = |name: &str| (name.to_owned(), take_type(bytes, depth + 1));
            PackedType::Struct(names.map(field).collect())
        }
        _ => PackedType::Any,
    }
}

fn schema(text: &[u8]) {
    let Ok(fields) = ctable_schema::parse(text).inspect_err(refused) else {
        return;
    };
    for field in fields {
        assert!(!field.nodes().iter().any(|node| node.is_empty()));
        let again = ctable_schema::field(&field.entry);
        let is_computed = field.entry.get("expression").is_some();
        assert!(is_computed || again.is_ok_and(|again| again.path == field.path));
    }
}

/// A value that is of the type is exported as one.
fn value(of: &PackedType, bytes: &[u8]) {
    let is_one = of.check(bytes).inspect_err(refused).is_ok();
    let mut texts = Texts::new(MOST);
    texts.push(bytes, false).unwrap();
    let exported = packed::export(&texts, of).inspect_err(refused);
    if let (true, Ok(data)) = (is_one, exported) {
        assert_eq!(data.len, 1);
    }
}

fn arrow(of: &PackedType, bytes: &[u8]) {
    let mut texts = Texts::new(MOST);
    let read = arrow_ipc::read_values(bytes, of, MOST, &mut texts);
    if read.inspect_err(refused).is_err() {
        return;
    }
    for i in 0..texts.len() {
        if !texts.is_null(i) {
            of.check(texts.get(i).unwrap()).unwrap();
        }
    }
}

pub fn run(bytes: &[u8]) {
    let Some((kind, mut rest)) = bytes.split_first() else {
        return;
    };
    match kind & 3 {
        0 => {
            let bytes: Arc<[u8]> = rest.into();
            let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes.clone()));
            archive::members(&folder, &bytes);
        }
        1 => schema(rest),
        2 => value(&take_type(&mut rest, 0), rest),
        _ => arrow(&take_type(&mut rest, 0), rest),
    }
}
