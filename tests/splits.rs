//! Ranges of records and rows for programs that distribute work: they contain each item once, in
//! order, at borders of shards and chunks, and have similar stored sizes.

use holdall::{
    Array, ArrayLayout, Bag, BagShards, BagWriter, Codec, Format, Options, Split, Status, Table,
    Values,
};
use std::path::{Path, PathBuf};

struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        let path =
            std::env::temp_dir().join(format!("holdall-splits-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Checks that the ranges contain each of `len` items once, in order. Returns their starts.
fn covers(splits: &[Split], len: u64, n: usize) -> Vec<u64> {
    assert!(splits.len() <= n, "{splits:?}");
    let mut next = 0;
    for split in splits {
        assert!(split.first == next && split.count > 0, "{splits:?}");
        next += split.count;
    }
    assert_eq!(next, len);
    splits.iter().map(|split| split.first).collect()
}

fn sizes(splits: &[Split]) -> Vec<u64> {
    splits.iter().map(|split| split.bytes).collect()
}

fn total(splits: &[Split]) -> u64 {
    sizes(splits).iter().sum()
}

/// Writes `n` records; record `i` has `i % 50` bytes, so that a raw bag stores known sizes.
fn write(path: &Path, n: u64) {
    let mut writer = BagWriter::replace(path, &Options::new().codec(Codec::None)).unwrap();
    for i in 0..n {
        writer.append(&vec![1; (i % 50) as usize]).unwrap();
    }
    writer.commit().unwrap();
}

#[test]
fn records_of_a_bag() {
    let dir = Temporary::new("bag");
    write(&dir.path("a.bag"), 10_000);
    let bag = Bag::open(dir.path("a.bag")).unwrap();
    let all = bag.splits(1).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(total(&all), 10_000 / 50 * (49 * 50 / 2) + 8 * 10_000);
    for n in [2, 7, 64, 10_000, 20_000] {
        let splits = bag.splits(n).unwrap();
        covers(&splits, 10_000, n);
        assert_eq!(total(&splits), total(&all));
        if n <= 64 {
            let mean = total(&all) / n as u64;
            assert!(
                sizes(&splits)
                    .iter()
                    .all(|size| size.abs_diff(mean) < mean / 20)
            );
        }
    }
    assert_eq!(bag.splits(0).unwrap_err().status(), Status::Argument);
    assert_eq!(bag.slice(5..5).unwrap().splits(3).unwrap(), []);
    let part = bag.slice(1000..3000).unwrap();
    covers(&part.splits(4).unwrap(), 2000, 4);
    assert_eq!(total(&part.splits(4).unwrap()), total(&all) / 5);
    for step in [-1, -3, 3] {
        let start = if step < 0 { 9_999 } else { 0 };
        let part = bag.strided(start, step, 3000).unwrap();
        covers(&part.splits(8).unwrap(), 3000, 8);
    }
}

#[test]
fn records_begin_at_shards_where_possible() {
    let dir = Temporary::new("shards");
    for i in 0..4 {
        write(&dir.path(&format!("s-0000{i}-of-00004.bag")), 2500);
    }
    let bag = Bag::open(dir.path("s@4.bag")).unwrap();
    let firsts = [0, 2500, 5000, 7500];
    assert_eq!(covers(&bag.splits(4).unwrap(), 10_000, 4), firsts);
    let splits = bag.splits(8).unwrap();
    let starts = covers(&splits, 10_000, 8);
    assert!(starts.len() == 8 && firsts.iter().all(|first| starts.contains(first)));
    // from the last record to the first
    let back = bag.strided(9_999, -1, 10_000).unwrap().splits(4).unwrap();
    let want: Vec<u64> = firsts.iter().rev().map(|first| 10_000 - first).collect();
    assert_eq!(covers(&back, 10_000, 4)[1..], want[..3]);

    for shards in [3, 40] {
        let path = dir.path(&format!("i@{shards}.bag"));
        write(&path, 10_000);
        let bag = Bag::open(path).unwrap();
        assert_eq!(bag.shard_order(), BagShards::Interleaved);
        let splits = bag.splits(5).unwrap();
        covers(&splits, 10_000, 5);
        let mean = total(&splits) / 5;
        assert_eq!(total(&splits), total(&bag.splits(1).unwrap()));
        assert!(
            sizes(&splits)
                .iter()
                .all(|size| size.abs_diff(mean) < mean / 20)
        );
    }
}

/// Rows of which the first half are zeros and the second half random.
fn rows(n: usize) -> Vec<i32> {
    let mut state = 1u32;
    let random = |i: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if i < n / 2 { 0 } else { state as i32 }
    };
    (0..n).map(random).collect()
}

#[test]
fn rows_of_an_array_begin_at_chunks() {
    let dir = Temporary::new("array");
    let options = Options::new().chunk_bytes(4000).codec(Codec::Lz4);
    for (format, layout, by_chunk) in [
        (
            Format::B2nd,
            ArrayLayout::new(Format::B2nd).chunks(&[100, 5]),
            true,
        ),
        (Format::Bloscpack, ArrayLayout::new(Format::Bloscpack), true),
        (Format::Bcolz, ArrayLayout::new(Format::Bcolz), false),
        (Format::BlzRfc, ArrayLayout::new(Format::BlzRfc), false),
    ] {
        let path = dir.path(&format!("{format:?}"));
        let options = match format {
            Format::B2nd => Options::new(),
            _ => options.clone(),
        };
        let mut array = Array::replace(&path, "<i4", &[10_050, 10], &layout, &options).unwrap();
        covers(&array.splits(4).unwrap(), 10_050, 4);
        array.write([0..10_050, 0..10], &rows(100_500)).unwrap();
        array.commit().unwrap();
        let array = Array::open(&path).unwrap();
        for n in [1, 4, 101, 1000] {
            let starts = covers(&array.splits(n).unwrap(), 10_050, n);
            assert!(
                starts.iter().all(|first| first.is_multiple_of(100)),
                "{starts:?}"
            );
        }
        let splits = array.splits(4).unwrap();
        assert_eq!(splits.len(), 4, "{format:?}");
        // three of four ranges are in the half that takes nearly all space
        let dense = splits
            .iter()
            .filter(|split| split.first >= 5000 - 200)
            .count();
        assert_eq!(dense, if by_chunk { 3 } else { 2 }, "{format:?} {splits:?}");
        let file = array.stored_bytes().unwrap();
        assert!(
            total(&splits) <= file && total(&splits) > file * 9 / 10,
            "{format:?}"
        );
        views(&array);
    }
    let scalar = Array::replace(
        dir.path("0"),
        "<i4",
        &[],
        &ArrayLayout::new(Format::B2nd),
        &Options::new(),
    );
    assert_eq!(
        scalar.unwrap().splits(1).unwrap_err().status(),
        Status::Type
    );
    let layout = ArrayLayout::new(Format::B2nd);
    let empty = Array::replace(dir.path("e"), "<i4", &[0, 3], &layout, &Options::new()).unwrap();
    assert_eq!(empty.splits(3).unwrap(), []);
}

fn views(array: &Array) {
    let view = array.slice([150..9000, 2..4]).unwrap();
    let splits = view.splits(4).unwrap();
    let starts = covers(&splits, 8850, 4);
    assert!(
        starts[1..]
            .iter()
            .all(|first| (first + 150).is_multiple_of(100)),
        "{starts:?}"
    );
    let of_all = total(&array.splits(1).unwrap());
    assert!(total(&splits) * 9 / 10 < of_all / 5 && total(&splits) > 0);
}

#[test]
fn rows_of_a_table_begin_at_chunks_of_its_columns() {
    let dir = Temporary::new("table");
    let columns = [("a", "<f8"), ("b", "<i4"), ("c", "|u1")];
    for format in [Format::Bcolz, Format::Blz, Format::BlzRfc] {
        let path = dir.path(&format!("{format:?}"));
        let options = Options::new().expected_rows(100_000);
        let mut table = Table::replace(&path, format, &columns, &options).unwrap();
        let (a, b, c) = (vec![1.5f64; 100_000], rows(100_000), vec![7u8; 100_000]);
        table
            .append(
                100_000,
                &[
                    Values::from(&a[..]),
                    Values::from(&b[..]),
                    Values::from(&c[..]),
                ],
            )
            .unwrap();
        table.commit().unwrap();
        let table = Table::open(&path).unwrap();
        let chunks = |name| table.column(name).unwrap().chunk_shape()[0];
        let splits = table.splits(5).unwrap();
        let starts = covers(&splits, 100_000, 5);
        assert!(starts.len() > 1, "{format:?}");
        assert!(
            starts.iter().all(|first| first.is_multiple_of(chunks("b"))),
            "{starts:?}"
        );
        let stored = table.stored_bytes().unwrap();
        assert!(
            total(&splits) <= stored && total(&splits) > stored * 9 / 10,
            "{splits:?}"
        );
        let part = table
            .strided(90_000, -2, 20_000)
            .unwrap()
            .select(&["c", "b"])
            .unwrap();
        covers(&part.splits(3).unwrap(), 20_000, 3);
        covers(&table.splits(1_000_000).unwrap(), 100_000, 100_000);
    }
}
