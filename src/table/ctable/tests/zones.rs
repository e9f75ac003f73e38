//! Conditions select the same rows with the extrema of blocks as without, whatever has become of
//! these, and read only the blocks that can have such rows.

use super::super::*;
use super::content;
use super::summaries::{CATALOG, ENTRIES, append, base, metalayer, options};
use super::write::opened;
use crate::array::msgpack_json::from_json;
use crate::io::sim::{Rng, SimDisk};
use crate::superchunk::frame::Frame;
use crate::table::Predicate;
use std::ffi::OsStr;

const ROWS: u64 = 100;

/// The values of the column that has summaries.
fn values(t: &Table) -> Vec<i32> {
    let bytes = content(&t.columns()[0].array);
    let items = bytes.as_chunks().0.iter();
    items.map(|item| i32::from_le_bytes(*item)).collect()
}

/// The rows for which a condition is true.
fn selected(t: &Table, condition: &str) -> Vec<u64> {
    let predicate = Predicate::parse(condition).unwrap();
    t.select(&predicate, 0..t.rows(), usize::MAX).unwrap().rows
}

/// The rows whose values pass.
fn passing(t: &Table, passes: impl Fn(i32) -> bool) -> Vec<u64> {
    let rows = (0..).zip(values(t));
    rows.filter(|(_, value)| passes(*value))
        .map(|(row, _)| row)
        .collect()
}

/// Tests random conditions on a table.
pub(super) fn check(folder: &Arc<dyn Folder>, rng: &mut Rng) {
    let t = opened(folder, Mode::Read).unwrap();
    for _ in 0..5 {
        let mut bounds = [rng.draw() as i32, rng.draw() as i32];
        bounds.sort();
        let [low, high] = bounds;
        let between = selected(&t, &format!("a between {low} and {high}"));
        assert_eq!(between, passing(&t, |a| low <= a && a <= high));
        let outside = selected(&t, &format!("not (a >= {low} and a <= {high})"));
        assert_eq!(outside, passing(&t, |a| a < low || high < a));
    }
}

/// Changes a metalayer of the table, as another program may.
fn set_metalayer(folder: &Arc<dyn Folder>, name: &str, json: &str) {
    let file = OsStr::new("_meta.b2f");
    let mut meta = Frame::open_in(folder, file, Mode::Append, &options()).unwrap();
    meta.vlmeta_set(name, &from_json(json.as_bytes())).unwrap();
    meta.commit().unwrap();
}

/// Tests a condition on the other column, which may have an index.
pub(super) fn check_floats(folder: &Arc<dyn Folder>) {
    let t = opened(folder, Mode::Read).unwrap();
    let bytes = content(&t.columns()[1].array);
    let values = bytes
        .as_chunks()
        .0
        .iter()
        .map(|item| f64::from_le_bytes(*item));
    let rows = (0..).zip(values).filter(|(_, x)| *x > 0.5 || x.is_nan());
    let expected: Vec<u64> = rows.map(|(row, _)| row).collect();
    assert_eq!(selected(&t, "f > 0.5"), expected);
}

/// Writes entries by which no block has positive values.
fn lie(folder: &Arc<dyn Folder>) {
    let name = OsStr::new(ENTRIES);
    let mut entries = Array::open_in(folder, name, Mode::Append, &options()).unwrap();
    let shape = entries.shape().to_vec();
    let entry = [255; 8].into_iter().chain([0]);
    let all: Vec<u8> = entry.cycle().take(9 * shape[0] as usize).collect();
    entries.write(&[0], &shape, None, &all, None).unwrap();
    entries.commit().unwrap();
}

#[test]
fn blocks_that_cannot_pass_are_not_read() {
    let folder = base(ROWS).folder();
    lie(&folder);
    let t = opened(&folder, Mode::Read).unwrap();
    let positive = passing(&t, |a| a > 0);
    assert!(positive.len() > 9);
    // the proof is that wrong entries are believed
    assert_eq!(selected(&t, "a > 0"), [0; 0]);
    assert_eq!(selected(&t, "not a > 0").len(), 100 - positive.len());
    // a table that is open for changes has new rows, and slices have others
    let writer = opened(&folder, Mode::Append).unwrap();
    assert_eq!(selected(&writer, "a > 0"), positive);
    let slice = t.slice(0, ROWS, 1, None).unwrap();
    assert_eq!(selected(&slice, "a > 0"), positive);
}

#[test]
fn entries_of_other_values_are_not_used() {
    let folder = base(ROWS).folder();
    lie(&folder);
    // the table is changed after it was opened, and before its entries are read
    let t = opened(&folder, Mode::Read).unwrap();
    let positive = passing(&t, |a| a > 0);
    let mut writer = opened(&folder, Mode::Append).unwrap();
    append(&mut writer, 5, 3).unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(selected(&t, "a > 0"), positive);
    // another program changed the values, and not the catalog
    let folder = base(ROWS).folder();
    lie(&folder);
    let epoch = metalayer(&folder, "value_epoch").parse::<u64>().unwrap() + 1;
    set_metalayer(&folder, "value_epoch", &epoch.to_string());
    let t = opened(&folder, Mode::Read).unwrap();
    assert_eq!(selected(&t, "a > 0"), passing(&t, |a| a > 0));
}

#[test]
fn entries_of_other_blocks_are_not_used() {
    for (from, to) in [
        (r#""segment_len":16"#, r#""segment_len":15"#),
        (r#""segment_len":16"#, r#""segment_len":17"#),
        (r#""segment_len":16"#, r#""segment_len":4294967296"#),
        ("_indexes/a/", "../a/"),
    ] {
        let folder = base(ROWS).folder();
        lie(&folder);
        let catalog = metalayer(&folder, CATALOG);
        assert!(catalog.contains(from), "{catalog}");
        set_metalayer(&folder, CATALOG, &catalog.replace(from, to));
        let t = opened(&folder, Mode::Read).unwrap();
        assert_eq!(selected(&t, "a > 0"), passing(&t, |a| a > 0), "{to}");
    }
}

#[test]
fn flips_of_entries_change_no_result() {
    let files = base(ROWS).contents();
    let name = OsStr::new(ENTRIES);
    let mut flips = 0;
    for at in 0..files[name].len() {
        let mut files = files.clone();
        files.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
        let folder = SimDisk::with_files(&files).folder();
        let t = opened(&folder, Mode::Read).unwrap();
        assert_eq!(selected(&t, "a > 0"), passing(&t, |a| a > 0), "byte {at}");
        flips += 1;
    }
    assert!(flips > 300, "{flips}");
}
