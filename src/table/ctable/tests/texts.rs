//! Changes of columns of texts, and of other values of any length, on the simulated disk and against
//! a model.

use super::super::*;
use super::write::{act, check_with, opened};
use crate::array::NewLocation;
use crate::array::store::Texts;
use crate::error::Status;
use crate::io::sim::{self, Rng, SimDisk, StateCounts};
use crate::json::Value;
use crate::msgpack::{self, Token};
use crate::options::Opt;
use crate::table::Cells;
use crate::table::write::{self, NewColumn};
use std::borrow::Cow;

/// Members of the schema of each column, and whether its values may be null.
const COLUMNS: &[(&str, bool)] = &[
    (r#"{"name": "u", "kind": "utf8"}"#, false),
    (
        r#"{"name": "m", "kind": "utf8", "nullable": true, "null_storage": "mask"}"#,
        true,
    ),
    (
        r#"{"name": "v", "kind": "utf8", "nullable": true, "null_value": "NULL"}"#,
        true,
    ),
    (
        r#"{"name": "t", "kind": "vlstring", "nullable": true}"#,
        true,
    ),
    (
        r#"{"name": "b", "kind": "vlbytes", "nullable": false}"#,
        false,
    ),
    (
        r#"{"name": "d.d", "kind": "dictionary", "nullable": true, "null_code": -1}"#,
        true,
    ),
    (
        r#"{"name": "l", "kind": "list", "item": {"kind": "int16"}, "nullable": true}"#,
        true,
    ),
    (
        r#"{"name": "s", "kind": "struct", "nullable": false, "fields": [{"name": "a", "kind": "string"}]}"#,
        false,
    ),
];

type Rows = Vec<Vec<Option<Vec<u8>>>>;

fn new(folder: &Arc<dyn Folder>, mode: Mode) -> Result<Table> {
    let options = Options::new().with(Opt::Threads, 1)?;
    let columns: Vec<(Value, String)> = COLUMNS
        .iter()
        .map(|(text, _)| {
            let entry = Value::parse(text.as_bytes()).unwrap();
            let name = entry
                .get("name")
                .and_then(Value::as_str)
                .unwrap()
                .to_owned();
            (entry, name)
        })
        .collect();
    let columns: Vec<NewColumn> = columns
        .iter()
        .map(|(entry, name)| NewColumn {
            name,
            dtype: Dtype::text(),
            nulls: None,
            entry: Some(entry.clone()),
            options: options.clone(),
        })
        .collect();
    let to = NewLocation::Storage(folder);
    write::create(to, mode, Format::CTable, &columns, &options)
}

/// Returns a value of a column: of a kind that has many equal ones, and some that are long.
fn value(column: usize, rng: &mut Rng) -> Option<Vec<u8>> {
    if COLUMNS[column].1 && rng.below(5) == 0 {
        return None;
    }
    let n = match rng.below(40) {
        0 => 3000,
        1..=5 => 0,
        n => n,
    };
    let text: String = (0..n)
        .map(|_| ['a', 'é', '\u{1f600}'][rng.below(3)])
        .collect();
    let mut out = Vec::new();
    match column {
        4 => return Some((0..n).map(|_| rng.below(256) as u8).collect()),
        5 => return Some(format!("{}", rng.below(20)).into_bytes()),
        6 => {
            msgpack::put(&mut out, Token::Array(n as u64));
            (0..n).for_each(|i| msgpack::put(&mut out, Token::Int(i as i64 - 300)));
        }
        7 => {
            msgpack::put(&mut out, Token::Map(1));
            msgpack::put(&mut out, Token::Text(b"a"));
            msgpack::put(&mut out, Token::Text(text.as_bytes()));
        }
        _ => return Some(text.into_bytes()),
    }
    Some(out)
}

fn rows_of(seed: u64, n: u64) -> Rows {
    let mut rng = Rng(seed * 2 + 1);
    let column = |i| (0..n).map(|_| value(i, &mut rng)).collect();
    (0..COLUMNS.len()).map(column).collect()
}

fn cells(rows: &Rows) -> Vec<Cells<'static>> {
    let column = |values: &Vec<Option<Vec<u8>>>| {
        Cells::of_values(values.iter().map(|v| v.as_deref())).unwrap()
    };
    rows.iter().map(column).collect()
}

fn append(t: &mut Table, seed: u64, n: u64) -> Result<()> {
    t.append_cells(n, &cells(&rows_of(seed, n)))
}

fn content(t: &Table) -> Rows {
    let column = |column: &Column| {
        let texts = column.array.texts(0, t.rows()).unwrap();
        let value = |i| (!texts.is_null(i)).then(|| texts.get(i).unwrap().to_vec());
        (0..texts.len()).map(value).collect()
    };
    t.columns().iter().map(column).collect()
}

fn base(rows: u64) -> SimDisk {
    let disk = SimDisk::default();
    let mut t = new(&disk.folder(), Mode::New).unwrap();
    append(&mut t, 1, rows).unwrap();
    t.commit().unwrap();
    drop(t);
    disk.make_durable();
    disk
}

/// Appends a row to those columns that a table has.
fn append_one(t: &mut Table) -> Result<()> {
    let all = rows_of(9, 1);
    let of = |column: &Column| {
        let name = format!("\"name\": \"{}\"", column.name);
        let known = COLUMNS.iter().position(|(entry, _)| entry.contains(&name));
        known.map_or(vec![Some(b"new".to_vec())], |i| all[i].clone())
    };
    let rows = cells(&t.columns().iter().map(of).collect());
    t.append_cells(1, &rows)
}

#[test]
fn changes_on_the_simulated_disk() {
    let mut counts = StateCounts::of("CTable: values of any length");
    type Operation = fn(&mut Table) -> Result<()>;
    let changes: [(&str, Operation); 6] = [
        ("append", |t| append(t, 3, 30)),
        ("insert", |t| t.insert_cells(9, 3, &cells(&rows_of(4, 3)))),
        ("write", |t| {
            let all = cells(&rows_of(5, 4));
            let mut all = all.iter().enumerate();
            all.try_for_each(|(i, cells)| t.write_cells(i, 7, 4, cells))
        }),
        ("remove", |t| t.remove(2, 5)),
        ("remove the last rows", |t| t.truncate(6)),
        ("add and remove a column", |t| {
            t.column_remove("d.d")?;
            t.column_remove("l")?;
            t.column_add(1, "new", &Dtype::text(), None)
        }),
    ];
    let disk = base(20);
    for (name, change) in changes {
        let acts = |folder: Arc<dyn Folder>| act(&folder, change);
        let tally = check_with(name, &disk, &acts, 2, None, append_one);
        counts.add(name, tally);
    }
    let create = |folder: Arc<dyn Folder>| {
        let mut t = new(&folder, Mode::New)?;
        append(&mut t, 5, 12)?;
        t.commit()
    };
    let empty = SimDisk::default();
    let tally = check_with("create", &empty, &create, 2, None, append_one);
    counts.add("create", tally);
    counts.assert_complete(500);
}

/// Random operations, and commits and openings between them, compared with vectors.
#[test]
fn random_changes_match_a_model() {
    for seed in sim::seeds() {
        random_changes(seed);
    }
}

fn random_changes(seed: u64) {
    let mut rng = Rng(seed * 2 + 1);
    let disk = SimDisk::default();
    let folder = disk.folder();
    let mut t = new(&folder, Mode::New).unwrap();
    let empty: Rows = vec![Vec::new(); COLUMNS.len()];
    let (mut model, mut committed) = (empty.clone(), None);
    for step in 0..60 {
        let n = t.rows();
        let at = rng.below(n as usize + 1) as u64;
        // batches have up to 2048 values
        let some = [30, 30, 30, 3000][rng.below(4)].min(rng.below(3000) as u64);
        let new_rows = rows_of(step * 3 + seed, some);
        let rows = cells(&new_rows);
        match rng.below(8) {
            0..=1 => {
                t.append_cells(some, &rows).unwrap();
                splice(&mut model, n, 0, new_rows);
            }
            2 => {
                t.insert_cells(at, some, &rows).unwrap();
                splice(&mut model, at, 0, new_rows);
            }
            3 => {
                let gone = some.min(n - at);
                t.remove(at, gone).unwrap();
                splice(&mut model, at, gone, empty.clone());
            }
            4..=5 => {
                let count = some.min(30).min(n - at);
                let new_rows = rows_of(step * 3 + 1 + seed, count);
                for (i, cells) in cells(&new_rows).iter().enumerate() {
                    t.write_cells(i, at, count, cells).unwrap();
                }
                splice(&mut model, at, count, new_rows);
            }
            6 => {
                t.commit().unwrap();
                committed = Some(model.clone());
            }
            _ => {
                drop(t);
                model = committed.clone().unwrap_or(empty.clone());
                t = match &committed {
                    Some(_) => opened(&folder, Mode::Append).unwrap(),
                    None => new(&folder, Mode::New).unwrap(),
                };
            }
        }
        assert_eq!(t.rows(), model[0].len() as u64, "seed {seed}, step {step}");
        assert!(content(&t) == model, "seed {seed}, step {step}");
        if let Some(last) = &committed {
            let reader = opened(&folder, Mode::Read).unwrap();
            assert!(
                content(&reader) == *last,
                "seed {seed}, step {step}: reader"
            );
        }
    }
}

/// Replaces rows of the model.
fn splice(model: &mut Rows, at: u64, gone: u64, rows: Rows) {
    for (list, new) in model.iter_mut().zip(rows) {
        list.splice(at as usize..(at + gone) as usize, new);
    }
}

#[test]
fn what_a_column_cannot_have_is_refused() {
    let disk = base(5);
    let mut t = opened(&disk.folder(), Mode::Append).unwrap();
    let before = content(&t);
    let refused = |t: &mut Table, column: usize, value: Option<&[u8]>| {
        let one = Cells::of_values([value].into_iter()).unwrap();
        let e = t.write_cells(column, 2, 1, &one).unwrap_err();
        assert_eq!((e.status, e.position), (Status::Type, 0), "{e}");
        let mut rows = rows_of(3, 1);
        rows[column] = vec![value.map(<[u8]>::to_vec)];
        let e = t.append_cells(1, &cells(&rows)).unwrap_err();
        assert_eq!(e.status, Status::Type, "{e}");
        assert!(e.message.starts_with("column "), "{e}");
    };
    for (column, (_, may_be_null)) in COLUMNS.iter().enumerate() {
        if !may_be_null {
            refused(&mut t, column, None);
        }
        if ![4, 6, 7].contains(&column) {
            refused(&mut t, column, Some(b"\xff"));
        }
    }
    refused(&mut t, 2, Some(b"NULL"));
    refused(&mut t, 6, Some(b"\x91\xa1a"));
    refused(&mut t, 6, Some(b"\x91"));
    refused(&mut t, 7, Some(b"\x81\xa1b\xc0"));
    let e = t.write(0, 0, 1, b"x").unwrap_err();
    assert_eq!(e.status, Status::Type, "{e}");
    let texts = Texts::new(9);
    let e = t
        .write_cells(0, 0, 1, &Cells::Texts(Cow::Borrowed(&texts)))
        .unwrap_err();
    assert_eq!(e.status, Status::Argument, "{e}");
    assert!(content(&t) == before);
    t.commit().unwrap();
    assert!(content(&opened(&disk.folder(), Mode::Read).unwrap()) == before);
}

/// The texts of a dictionary have a file that no other column may have.
#[test]
fn columns_do_not_share_files() {
    for names in [["d", "d_dict"], ["d_dict", "d"]] {
        let column = |name: &'static str| NewColumn {
            name,
            dtype: Dtype::parse("<i4").unwrap(),
            nulls: None,
            entry: (name == "d").then(|| long_entry(&LongKind::Dictionary, true)),
            options: Options::new(),
        };
        let disk = SimDisk::default();
        let folder = disk.folder();
        let to = NewLocation::Storage(&folder);
        let columns = names.map(column);
        let made = write::create(to, Mode::New, Format::CTable, &columns, &Options::new());
        let e = made.err().unwrap();
        assert_eq!(e.status, Status::Exists, "{e}");
    }
}

/// A copy has the same kinds of columns.
#[test]
fn copies_keep_the_kinds_of_columns() {
    let (disk, other) = (base(2500), SimDisk::default());
    let from = opened(&disk.folder(), Mode::Read).unwrap();
    let options = Options::new();
    let folder = other.folder();
    let to = NewLocation::Storage(&folder);
    from.copy(to, Mode::New, Format::CTable, &options).unwrap();
    let mut copy = opened(&folder, Mode::Append).unwrap();
    assert!(content(&copy) == content(&from));
    let entries = |t: &Table| -> Vec<Value> {
        t.columns()
            .iter()
            .map(|c| entry_of(&c.array).unwrap())
            .collect()
    };
    assert_eq!(entries(&copy), entries(&from));
    copy.append_table(&from).unwrap();
    let twice: Rows = content(&from)
        .into_iter()
        .map(|c| [&c[..], &c].concat())
        .collect();
    assert!(content(&copy) == twice);
}
