//! Any bytes as a predicate, and as rows of a table on which it is tested. Each row is selected, or
//! the negation selects it, or neither does because of nulls; a call for a few rows at a time
//! selects the same.
use holdall::dtype::Dtype;
use holdall::error::Status;
use holdall::format::Format;
use holdall::io::Folder;
use holdall::io::memory_files::MemoryFiles;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use holdall::table::{Predicate, Table};
use std::sync::{Arc, OnceLock};

/// Rows of the table.
const ROWS: u64 = 70;
const COLUMNS: [(&str, &str); 8] = [
    ("a", "<i2"),
    ("b", "<u4"),
    ("f", "<f8"),
    ("g", ">f4"),
    ("t", "<M8[D]"),
    ("s", "|S3"),
    ("u", "<U2"),
    ("k", "|b1"),
];

fn options() -> Options {
    Options::new().with(Opt::Threads, 1).unwrap()
}

/// A table whose numbers, texts and times are short, so that constants meet them.
fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let folder: Arc<dyn Folder> = Arc::new(MemoryFiles::default());
        let columns = COLUMNS.map(|(name, of)| (name, Dtype::parse(of).unwrap()));
        let mut t =
            Table::create_in(&folder, Mode::New, Format::Bcolz, &columns, &options()).unwrap();
        let item = |name: &str, size: usize, i: u64| {
            let few = (i * 7 % 5) as u8;
            let mut item = vec![0; size];
            item[..1].fill(match name {
                "s" | "u" => few + 95,
                "k" => few & 1,
                _ => few,
            });
            if i.is_multiple_of(11) {
                // NaN, and the lowest and the highest numbers
                let byte = if "suk".contains(name) || i.is_multiple_of(2) {
                    0
                } else {
                    0xff
                };
                item.fill(byte);
            }
            item
        };
        let content = COLUMNS.map(|(name, of)| {
            let size = Dtype::parse(of).unwrap().item.size;
            (0..ROWS)
                .flat_map(|i| item(name, size, i))
                .collect::<Vec<u8>>()
        });
        let slices: Vec<&[u8]> = content.iter().map(Vec::as_slice).collect();
        t.append(ROWS, &slices).unwrap();
        t.commit().unwrap();
        t
    })
}

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let predicate = match Predicate::parse(text) {
        Ok(predicate) => predicate,
        Err(e) => {
            let at = usize::try_from(e.position).unwrap();
            assert!(
                e.status == Status::Argument && text.is_char_boundary(at),
                "{e}"
            );
            return;
        }
    };
    let t = table();
    let found = match t.select(&predicate, 0..ROWS, usize::MAX) {
        Ok(found) => found.rows,
        Err(e) => {
            let known = [Status::Argument, Status::Type, Status::Range];
            return assert!(known.contains(&e.status), "{e}");
        }
    };
    assert!(found.is_sorted() && found.iter().all(|row| *row < ROWS));
    let negated = Predicate::Not(Box::new(predicate.clone()));
    let others = t.select(&negated, 0..ROWS, usize::MAX).unwrap().rows;
    assert!(others.iter().all(|row| found.binary_search(row).is_err()));
    let (mut some, mut next) = (Vec::new(), 0);
    while next < ROWS {
        let part = t.select(&predicate, next..ROWS, 3).unwrap();
        some.extend(part.rows);
        next = part.next;
    }
    assert_eq!(some, found);
}
