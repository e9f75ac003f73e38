//! Tests of building, opening and using indexes.

mod damage;
mod disk;

use super::*;
use crate::bag::{Mode, ShardPath, Writer};
use crate::error::Status;
use crate::io::sim::{Rng, SimDisk};
use std::collections::HashMap;
use std::sync::Mutex;

const BAG: &str = "x.bag";
const INDEX: &str = "x.bag.index";

fn options(pairs: &[(Opt, i64)]) -> Options {
    pairs.iter().fold(Options::new(), |o, &(opt, value)| {
        o.with(opt, value).unwrap()
    })
}

fn put(folder: &Arc<dyn Folder>, name: &str, keys: &[Vec<u8>]) {
    let mut w = Writer::open_in(folder, OsStr::new(name), Mode::Replace, &Options::new()).unwrap();
    keys.iter().for_each(|k| w.append(k).unwrap());
    w.commit().unwrap();
}

/// Returns a bag of these keys and the folder that contains it.
fn bag_of(keys: &[Vec<u8>]) -> (Arc<dyn Folder>, Bag) {
    let folder = SimDisk::default().folder();
    put(&folder, BAG, keys);
    let bag = open_bag(&folder);
    (folder, bag)
}

fn open_bag(folder: &Arc<dyn Folder>) -> Bag {
    Bag::open_in(&[ShardPath::new(folder.clone(), BAG)], &Options::new()).unwrap()
}

fn create(folder: &Arc<dyn Folder>, bag: &Bag, pairs: &[(Opt, i64)]) -> Result<Index> {
    Index::create_in(
        folder,
        OsStr::new(INDEX),
        Mode::Replace,
        bag,
        &options(pairs),
    )
}

fn open(folder: &Arc<dyn Folder>, bag: &Bag, pairs: &[(Opt, i64)]) -> Result<Index> {
    Index::open_in(folder, OsStr::new(INDEX), bag, &options(pairs))
}

/// Returns keys of which many occur several times, some often, and some have unusual lengths.
fn some_keys(n: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut rng = Rng(seed * 2 + 1);
    let key = |rng: &mut Rng| match rng.below(20) {
        0 => Vec::new(),
        1 => b"often".to_vec(),
        2 => vec![rng.below(3) as u8; 2000 + rng.below(2)],
        3..6 => format!("key {}", rng.below(n / 4 + 1)).into_bytes(),
        _ => (0..rng.below(40)).map(|_| rng.draw() as u8).collect(),
    };
    (0..n).map(|_| key(&mut rng)).collect()
}

/// Compares an index with a map of the same keys.
fn check(index: &Index, keys: &[Vec<u8>]) {
    let mut model: HashMap<&[u8], Vec<u64>> = HashMap::new();
    for (i, k) in keys.iter().enumerate() {
        model.entry(k).or_default().push(i as u64);
    }
    assert_eq!((index.keys(), index.damaged()), (model.len() as u64, 0));
    for (key, rows) in &model {
        assert_eq!(index.first(key).unwrap(), Some(rows[0]));
        assert_eq!(&index.find(key).unwrap(), rows);
    }
    let strangers: Vec<Vec<u8>> = (0..50u32)
        .map(|i| format!("stranger {i}").into_bytes())
        .chain([vec![0; 5000], vec![7; 3]])
        .collect();
    let mut asked: Vec<&[u8]> = keys.iter().chain(&strangers).map(Vec::as_slice).collect();
    let half = asked.len() / 2;
    asked.rotate_left(half);
    let first = |key: &&[u8]| model.get(key).map_or(NO_RECORD, |rows| rows[0]);
    let expected: Vec<u64> = asked.iter().map(first).collect();
    for (key, &expected) in asked
        .iter()
        .zip(&expected)
        .filter(|(_, w)| **w == NO_RECORD)
    {
        assert_eq!(
            (index.first(key).unwrap(), index.find(key).unwrap()),
            (None, vec![]),
            "{expected}"
        );
    }
    let mut offsets = vec![0];
    asked
        .iter()
        .for_each(|k| offsets.push(offsets.last().unwrap() + k.len() as u64));
    let mut got = vec![1; asked.len()];
    let absent = index
        .first_of_each(&asked.concat(), &offsets, &mut got)
        .unwrap();
    assert_eq!(
        (got, absent),
        (
            expected.clone(),
            expected.iter().filter(|&&w| w == NO_RECORD).count() as u64
        )
    );
}

#[test]
fn every_key_is_found_at_its_rows() {
    for (n, seed) in [(0, 1), (1, 2), (2, 3), (40, 4), (5_000, 5), (70_000, 6)] {
        let keys = some_keys(n, seed);
        let (folder, bag) = bag_of(&keys);
        check(&Index::build(&bag, &Options::new()).unwrap(), &keys);
        check(&create(&folder, &bag, &[]).unwrap(), &keys);
        check(&open(&folder, &bag, &[(Opt::Io, 1)]).unwrap(), &keys);
        open(&folder, &bag, &[(Opt::Verify, 2)]).unwrap();
        assert_eq!(
            folder.list(OsStr::new("")).unwrap(),
            ["checksums.x.bag", "x.bag", "x.bag.index"]
        );
    }
}

#[test]
fn one_key_may_have_all_rows() {
    let keys: Vec<Vec<u8>> = (0..10_000)
        .map(|i| if i % 100 == 0 { vec![1] } else { vec![2; 9] })
        .collect();
    let (folder, bag) = bag_of(&keys);
    check(&create(&folder, &bag, &[]).unwrap(), &keys);
    open(&folder, &bag, &[(Opt::Verify, 2)]).unwrap();
}

/// With little memory most fingerprints go through the temporary file.
#[test]
fn a_low_memory_limit_is_respected() {
    let keys = some_keys(30_000, 9);
    let (folder, bag) = bag_of(&keys);
    let little = [(Opt::MemoryLimit, 600_000), (Opt::Threads, 2)];
    let e = Index::build(&bag, &options(&[(Opt::MemoryLimit, 200_000)]))
        .err()
        .unwrap();
    assert!(
        e.status == Status::Limit && e.message.contains("an index in memory"),
        "{e}"
    );
    check(&create(&folder, &bag, &little).unwrap(), &keys);
    assert!(
        !folder
            .exists(OsStr::new("x.bag.index.holdall-part"))
            .unwrap()
    );
    let e = create(&folder, &bag, &[(Opt::MemoryLimit, 20_000)])
        .err()
        .unwrap();
    assert_eq!(e.status, Status::Limit, "{e}");
}

#[test]
fn rows_of_a_slice_are_numbered_within_the_slice() {
    let keys = some_keys(3_000, 11);
    let (folder, bag) = bag_of(&keys);
    for (start, step, n) in [
        (0, 1, 3_000),
        (2_999, -1, 3_000),
        (100, 7, 300),
        (5, 1, 1),
        (9, 3, 0),
    ] {
        let slice = bag.slice(start, step, n).unwrap();
        let of: Vec<Vec<u8>> = (0..n)
            .map(|k| keys[(start as i64 + k as i64 * step) as usize].clone())
            .collect();
        check(&create(&folder, &slice, &[]).unwrap(), &of);
        check(&open(&folder, &slice, &[(Opt::Verify, 2)]).unwrap(), &of);
        for (start, step, n) in [(0, 1, 2_999), (1, 1, 2_999), (100, 6, 300), (100, 7, 299)] {
            let e = open(&folder, &bag.slice(start, step, n).unwrap(), &[])
                .err()
                .unwrap();
            assert!(
                e.status == Status::State && e.message.contains("steps of"),
                "{e}"
            );
        }
    }
}

/// Simulates fingerprint collisions: the index is used with another bag.
#[test]
fn a_row_with_another_key_is_never_returned() {
    let keys = some_keys(2_000, 13);
    let (_, bag) = bag_of(&keys);
    let mut index = Index::build(&bag, &Options::new()).unwrap();
    let mut others = keys.clone();
    for (i, k) in others.iter_mut().enumerate().filter(|(i, _)| i % 3 == 0) {
        *k = format!("changed {i}").into_bytes();
    }
    index.bag = bag_of(&others).1;
    for (i, key) in keys.iter().enumerate() {
        let rows = index.find(key).unwrap();
        let expected: Vec<u64> = (0..2_000)
            .filter(|&r| r % 3 != 0 && keys[r] == *key)
            .map(|r| r as u64)
            .collect();
        assert_eq!(rows, expected, "{i}");
        assert_eq!(index.first(key).unwrap(), expected.first().copied());
    }
    assert_eq!(index.first(&others[0]).unwrap(), None);
    let e = index.verify(&Options::new()).unwrap_err();
    assert!(
        e.status == Status::State && e.message.contains("have changed"),
        "{e}"
    );
}

#[test]
fn keys_with_equal_tags_are_distinguished() {
    // two buckets are merged into one, so that a tag of either is found for both
    let (_, bag) = bag_of(&[
        b"one".to_vec(),
        b"two".to_vec(),
        b"two".to_vec(),
        b"one".to_vec(),
    ]);
    let mut found = Vec::new();
    for values in [[0u64, 1], [3, 0]] {
        let mut index = Index::build(&bag, &Options::new()).unwrap();
        let bytes = index.file.bytes().unwrap().to_vec();
        let mut twice = bytes[..HEADER_BYTES as usize + 8].to_vec();
        let (_, tag) = super::fingerprint::fingerprint(index.header.seed, b"one");
        let mut body: Vec<u8> = [(tag >> 32) as u32; 2]
            .iter()
            .flat_map(|t| t.to_le_bytes())
            .collect();
        let width = index.header.width as usize;
        values
            .iter()
            .for_each(|v| body.extend(&v.to_le_bytes()[..width]));
        body.extend(bucket_checksum(0, &body).to_le_bytes());
        twice[HEADER_BYTES as usize..].copy_from_slice(&(2u64 << 48).to_le_bytes());
        index.header.body = body.len() as u64;
        twice.extend(body);
        index.file = crate::io::memory::MemoryFolder::new(twice)
            .open(OsStr::new(""), Access::Read)
            .unwrap();
        found.push((
            index.first(b"one").unwrap(),
            index.find(b"one").unwrap(),
            index.find(b"two").unwrap(),
        ));
    }
    assert_eq!(
        found,
        [(Some(0), vec![0], vec![]), (Some(0), vec![0, 3], vec![])]
    );
}

#[test]
fn many_threads_look_up_at_once() {
    let keys = some_keys(4_000, 17);
    let (folder, bag) = bag_of(&keys);
    let index = create(&folder, &bag, &[]).unwrap();
    std::thread::scope(|s| {
        for t in 0..8 {
            let (index, keys) = (&index, &keys);
            s.spawn(move || {
                for i in (0..4_000).map(|k| (k * 7 + t * 501) % 4_000) {
                    assert!(index.find(&keys[i]).unwrap().contains(&(i as u64)));
                    assert_eq!(index.first(format!("{t} {i}").as_bytes()).unwrap(), None);
                }
            });
        }
    });
}

#[test]
fn invalid_calls_are_errors() {
    let (folder, bag) = bag_of(&some_keys(10, 19));
    let status = |r: Result<Index>| r.err().map(|e| (e.status, e.message)).unwrap();
    let (s, message) = status(Index::build(&bag, &options(&[(Opt::ChunkBytes, 100)])));
    assert!(
        s == Status::Argument && message.contains("HOLDALL_OPT_CHUNK_BYTES"),
        "{message}"
    );
    let (s, message) = status(Index::create_in(
        &folder,
        OsStr::new(BAG),
        Mode::Replace,
        &bag,
        &Options::new(),
    ));
    assert!(
        s == Status::Exists && message.contains("not a bag index"),
        "{message}"
    );
    assert_eq!(
        status(Index::create_in(
            &folder,
            OsStr::new(INDEX),
            Mode::Append,
            &bag,
            &Options::new()
        ))
        .0,
        Status::Argument
    );
    assert_eq!(status(open(&folder, &bag, &[])).0, Status::Missing);
    create(&folder, &bag, &[]).unwrap();
    assert_eq!(
        status(Index::create_in(
            &folder,
            OsStr::new(INDEX),
            Mode::New,
            &bag,
            &Options::new()
        ))
        .0,
        Status::Exists
    );
    assert_eq!(
        status(Index::open_in(
            &folder,
            OsStr::new(BAG),
            &bag,
            &Options::new()
        ))
        .0,
        Status::Format
    );
    let index = open(&folder, &bag, &[]).unwrap();
    for offsets in [&[0, 2][..], &[0, 2, 1], &[0, 1, 9]] {
        assert_eq!(
            index
                .first_of_each(b"abc", offsets, &mut [0, 0])
                .unwrap_err()
                .status,
            Status::Argument
        );
    }
    let mut stopped = Options::new();
    stopped.on_progress(Some(Arc::new(|_, _| false)));
    assert_eq!(status(Index::build(&bag, &stopped)).0, Status::Cancelled);
}

#[test]
fn progress_ascends_and_is_reported_on_the_calling_thread() {
    let n = 20_000;
    let (_, bag) = bag_of(&some_keys(n, 23));
    let (reported, here) = (Arc::new(Mutex::new(vec![0])), std::thread::current().id());
    let bytes = bag.bytes();
    let mut options = options(&[(Opt::Threads, 3)]);
    let callback_reports = reported.clone();
    options.on_progress(Some(Arc::new(move |done, all| {
        assert_eq!((std::thread::current().id(), all), (here, bytes));
        callback_reports.lock().unwrap().push(done);
        true
    })));
    Index::build(&bag, &options).unwrap();
    let reported = reported.lock().unwrap();
    assert!(
        reported.is_sorted() && reported.last() == Some(&bytes),
        "{reported:?}"
    );
}

proptest::proptest! {
    #[test]
    fn any_keys(keys in proptest::collection::vec(proptest::collection::vec(0..3u8, 0..4), 0..200), start in 0..50usize, step in 1..4i64, threads in 1..3i64) {
        let (folder, bag) = bag_of(&keys);
        let n = keys.len().saturating_sub(start).div_ceil(step as usize);
        let slice = bag.slice(start as u64, step, n as u64).unwrap();
        let of: Vec<Vec<u8>> = keys.iter().skip(start).step_by(step as usize).cloned().collect();
        check(&Index::build(&bag, &options(&[(Opt::Threads, threads)])).unwrap(), &keys);
        check(&create(&folder, &slice, &[(Opt::MemoryLimit, 100_000)]).unwrap(), &of);
    }
}
