//! Tests of CTables that python-blosc2 wrote, and of the rows that a mask selects.

mod summaries;
mod texts;
mod write;
mod zones;

use super::*;
use crate::array::store::Texts;
use crate::checksum::Checksum;
use crate::error::Status;
use crate::format::Kind as ContainerKind;
use crate::identify::identify;
use crate::table::NullRule;
use serde_json::Value as Json;
use std::ffi::OsString;
use std::path::Path;

fn fixture(name: &str) -> OsString {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stores");
    folder.join(name).into()
}

fn opened(name: &str) -> Result<Table> {
    Table::open(&fixture(name), Mode::Read, &Options::new())
}

fn content(array: &Array) -> Vec<u8> {
    let mut all = vec![0; array.nbytes() as usize];
    let start = vec![0; array.shape().len()];
    array
        .read(&start, array.shape(), None, &mut all, None)
        .unwrap();
    all
}

/// The rows that are null.
fn nulls(column: &Column, rows: usize, bytes: &[u8]) -> Vec<u64> {
    let item = &column.array.dtype().item;
    let Some(rule) = &column.nulls else {
        return Vec::new();
    };
    let all = rule.nulls(0, rows, item, bytes).unwrap();
    (0..)
        .zip(all)
        .filter(|(_, null)| *null)
        .map(|(row, _)| row)
        .collect()
}

#[test]
fn columns_are_those_of_the_tool() {
    let facts: Json =
        serde_json::from_slice(&std::fs::read(fixture("tables.json")).unwrap()).unwrap();
    for (name, facts) in facts.as_object().unwrap() {
        assert_eq!(
            identify(&fixture(name)).unwrap(),
            (Format::CTable, ContainerKind::Table),
            "{name}"
        );
        let table = opened(name).unwrap();
        assert_eq!(
            (table.rows(), table.format()),
            (facts["rows"].as_u64().unwrap(), Format::CTable)
        );
        let Some(columns) = facts["columns"].as_object() else {
            continue;
        };
        assert_eq!(table.columns().len(), columns.len());
        for (column, about) in columns {
            let found = &table.columns()[table.column_index(column).unwrap()];
            let array = &found.array;
            let shape: Vec<u64> = serde_json::from_value(about["shape"].clone()).unwrap();
            assert_eq!(
                (array.shape(), array.dtype_text()),
                (&*shape, about["dtype"].as_str().unwrap().into())
            );
            let (mut bytes, rows) = (content(array), table.rows() as usize);
            let is_null = nulls(found, rows, &bytes);
            let expected: Vec<u64> = serde_json::from_value(about["nulls"].clone()).unwrap();
            assert_eq!(is_null, expected, "{name} {column}");
            let row = bytes.len() / rows;
            for i in is_null {
                bytes[i as usize * row..][..row].fill(0);
            }
            let digest: String = Checksum::Sha256
                .of(&bytes)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            assert_eq!(digest, about["sha256"], "{name} {column}");
        }
    }
}

/// Any range of rows and bytes, and views, are parts of the whole.
#[test]
fn parts_of_columns() {
    let table = opened("deleted.b2d").unwrap();
    for column in table.columns() {
        let (array, all) = (&column.array, content(&column.array));
        let row = all.len() / table.rows() as usize;
        let rest = array.shape()[1..].to_vec();
        for (first, n) in [(0, 1), (1, 3), (90, 20), (193, 1), (0, 194), (194, 0)] {
            let mut part = vec![0; n as usize * row];
            let (start, count) = (
                [&[first], &*vec![0; rest.len()]].concat(),
                [&[n], &*rest].concat(),
            );
            array.read(&start, &count, None, &mut part, None).unwrap();
            assert!(
                part == all[first as usize * row..][..part.len()],
                "{} {first}",
                column.name
            );
        }
        let store = array.store();
        for (at, n) in [
            (1, 3),
            (row as u64 + 1, 2 * row),
            (7, 300.min(all.len() - 7)),
        ] {
            let mut part = vec![0; n];
            store.read(at, &mut part).unwrap();
            if store.format() == Format::CTable {
                assert!(part == all[at as usize..][..n], "{} {at}", column.name);
            }
        }
    }
    let slice = table.slice(10, 50, 3, None).unwrap();
    let (whole, part) = (&table.columns()[1], &slice.columns()[1]);
    let expected = nulls(whole, 194, &content(&whole.array));
    let expected: Vec<u64> = (0..50)
        .filter(|i| expected.contains(&(10 + 3 * i)))
        .collect();
    assert_eq!(nulls(part, 50, &content(&part.array)), expected);
    assert!(matches!(whole.nulls, Some(NullRule::Mask(_))));
}

/// Texts as offsets and bytes, in batches, and of a dictionary; bytes and lists in batches.
#[test]
fn texts_are_those_of_the_tool() {
    let facts: Json =
        serde_json::from_slice(&std::fs::read(fixture("tables.json")).unwrap()).unwrap();
    let table = opened("text.b2d").unwrap();
    assert_eq!(table.attrs().get("note").unwrap(), Some(&b"\"texts\""[..]));
    for (name, expected) in facts["text.b2d"]["texts"].as_object().unwrap() {
        let expected: Vec<Option<String>> = serde_json::from_value(expected.clone()).unwrap();
        let column = table.column_index(name).unwrap();
        let array = &table.columns()[column].array;
        assert_eq!(
            (array.dtype_text(), array.itemsize(), array.shape()),
            ("T".into(), 0, &[20][..])
        );
        let found = |array: &Array, first: usize, n: usize| {
            let texts = array.texts(first as u64, n as u64).unwrap();
            let text = |i| {
                std::str::from_utf8(texts.get(i).unwrap())
                    .unwrap()
                    .to_owned()
            };
            (0..n)
                .map(|i| (!texts.nulls[i]).then(|| text(i)))
                .collect::<Vec<_>>()
        };
        for (first, n) in [(0, 20), (0, 0), (3, 9), (19, 1), (20, 0)] {
            assert_eq!(
                found(array, first, n),
                expected[first..first + n],
                "{name} {first}"
            );
        }
        let nulls = table.nulls(column, 2, 10).unwrap().unwrap();
        assert!(
            nulls
                .iter()
                .zip(&expected[2..])
                .all(|(null, text)| *null == text.is_none())
        );
        let slice = table.slice(1, 6, 3, None).unwrap();
        let third: Vec<_> = expected
            .iter()
            .skip(1)
            .step_by(3)
            .take(6)
            .cloned()
            .collect();
        assert_eq!(found(&slice.columns()[column].array, 0, 6), third, "{name}");
        assert_eq!(
            array.object(1).unwrap(),
            expected[1].as_deref().unwrap().as_bytes()
        );
        for (first, n) in [(20, 1), (0, 21), (u64::MAX, 2)] {
            assert_eq!(
                array.texts(first, n).err().map(|e| e.status),
                Some(Status::Range)
            );
        }
        assert!(array.object(20).is_err() && array.read(&[0], &[1], None, &mut [], None).is_err());
    }
    let bytes: Vec<Option<String>> =
        serde_json::from_value(facts["text.b2d"]["bytes"]["w"].clone()).unwrap();
    let column = &table.columns()[table.column_index("w").unwrap()];
    let found = column.array.texts(0, 20).unwrap();
    for (i, expected) in bytes.iter().enumerate() {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let item = (!found.nulls[i]).then(|| hex(found.get(i).unwrap()));
        assert_eq!(item, *expected, "{i}");
        assert_eq!(
            hex(&column.array.object(i as u64).unwrap()),
            item.unwrap_or_default()
        );
    }
    let lists: Vec<Vec<u8>> =
        serde_json::from_value(facts["text.b2d"]["lists"]["l"].clone()).unwrap();
    let column = &table.columns()[table.column_index("l").unwrap()];
    for (i, expected) in lists.iter().enumerate() {
        let packed = [&[0x90 | expected.len() as u8], expected.as_slice()].concat();
        assert_eq!(column.array.object(i as u64).unwrap(), packed, "{i}");
    }
}

/// Any objects, lists one by one, and lists in Arrow's format.
#[test]
fn objects_are_those_of_the_tool() {
    let facts: Json =
        serde_json::from_slice(&std::fs::read(fixture("tables.json")).unwrap()).unwrap();
    for name in ["objects.b2z", "arrow.b2z"] {
        let table = opened(name).unwrap();
        for (column, expected) in facts[name]["values"].as_object().unwrap() {
            let array = &table.columns()[table.column_index(column).unwrap()].array;
            let json = |texts: &Texts, i| match texts.is_null(i) {
                true => Json::Null,
                false => serde_json::from_str(&to_json(texts.get(i).unwrap())).unwrap(),
            };
            let (expected, rows) = (expected.as_array().unwrap(), table.rows());
            for (first, n) in [(0, rows), (3, 5), (rows - 1, 1), (2, 0)] {
                let texts = array.texts(first, n).unwrap();
                let found: Vec<Json> = (0..n as usize).map(|i| json(&texts, i)).collect();
                let expected = &expected[first as usize..(first + n) as usize];
                assert_eq!(found, expected, "{name} {column} {first}");
            }
        }
    }
}

#[test]
fn what_is_refused() {
    let e = Table::open(&fixture("table.b2z"), Mode::Append, &Options::new())
        .err()
        .unwrap();
    assert!(
        e.status == Status::Unsupported && e.message.contains("read-only"),
        "{e}"
    );
    let e = opened("dict.b2z").err().unwrap();
    assert!(e.message.contains("dict.b2z"), "{e}");
    let store = Store::open(&fixture("tree.b2z"), &Options::new()).unwrap();
    let e = store.locate("/tables/t").err().unwrap();
    assert!(
        e.status == Status::Type && e.message.contains("holdall_table_open"),
        "{e}"
    );
}

/// Rows and positions agree with a list, for masks of any density.
#[test]
fn rows_of_a_mask() {
    use crate::dataset::any::create_in;
    use crate::dataset::create::ArraySpec;
    use crate::io::memory_files::MemoryFiles;
    use crate::io::sim::Rng;
    let mut rng = Rng(7);
    for (n, of) in [
        (1, 2),
        (63, 2),
        (64, 1),
        (65, 3),
        (1000, 10),
        (5000, 200),
        (130, 1),
        (200, 0),
    ] {
        let mask: Vec<u8> = (0..n)
            .map(|_| u8::from(of > 0 && rng.below(of) == 0))
            .collect();
        let folder: Arc<dyn Folder> = Arc::new(MemoryFiles::default());
        let spec = ArraySpec {
            format: Format::B2nd,
            dtype: "|b1",
            shape: &[n],
            chunks: None,
        };
        let mut array = create_in(&folder, Mode::New, &spec, None, &Options::new()).unwrap();
        array.write(&[0], &[n], None, &mask, None).unwrap();
        let valid = ValidRows::read(&array, 1 << 20).unwrap();
        let positions: Vec<u64> = (0..n).filter(|i| mask[*i as usize] == 1).collect();
        assert_eq!(valid.count(), positions.len() as u64);
        assert_eq!(valid.end(), positions.last().map_or(0, |last| last + 1));
        for (row, position) in positions.iter().enumerate() {
            for most in [1, 3, 1000] {
                let run = valid.run(row as u64, most);
                assert_eq!(run.start, *position);
                let adjacent = (0..most as usize)
                    .take_while(|i| positions.get(row + i) == Some(&(position + *i as u64)));
                assert_eq!(
                    run.end - run.start,
                    adjacent.count() as u64,
                    "{n} {row} {most}"
                );
            }
        }
        assert!(ValidRows::read(&array, 4).is_err() || n < 64);
    }
}
