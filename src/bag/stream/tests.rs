//! Tests of streams over bags in memory and in files: order, errors, read-ahead limits, concurrent
//! callers, closing.

use super::*;
use crate::bag::{Mode, ShardPath, Writer};
use crate::io::Folder;
use crate::io::memory::MemoryFolder;
use crate::io::sim::SimDisk;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::atomic::AtomicBool;

const ZSTD: i64 = 6;

fn record(i: u64) -> Vec<u8> {
    let n = [40, 7, 700, 0, 160, 1500, 8, 13, 0, 2900][(i % 10) as usize];
    (0..n)
        .map(|k| (i.wrapping_mul(0x9E37_79B9) >> (k % 24)) as u8 % 16 + b'a')
        .collect()
}

fn options(pairs: &[(Opt, i64)]) -> Options {
    pairs
        .iter()
        .fold(Options::new(), |o, &(opt, v)| o.with(opt, v).unwrap())
}

/// Returns a folder with a bag of records 0 to n.
fn folder_of(n: u64, codec: i64) -> Arc<dyn Folder> {
    let folder: Arc<dyn Folder> = Arc::new(SimDisk::default());
    let mut w = Writer::open_in(
        &folder,
        OsStr::new(""),
        Mode::New,
        &options(&[(Opt::Codec, codec)]),
    )
    .unwrap();
    (0..n).for_each(|i| w.append(&record(i)).unwrap());
    w.commit().unwrap();
    folder
}

fn open_in(folder: &Arc<dyn Folder>, codec: i64, more: &[(Opt, i64)]) -> Bag {
    let mut o = options(more);
    o.set(Opt::Codec, codec).unwrap();
    Bag::open_in(&[ShardPath::new(folder.clone(), "")], &o).unwrap()
}

fn bag_of(n: u64, codec: i64) -> Bag {
    open_in(&folder_of(n, codec), codec, &[])
}

fn requested(numbers: Vec<u64>) -> Option<Next> {
    let mut numbers = numbers.into_iter();
    Some(Box::new(move || Ok(numbers.next())))
}

fn stream(bag: &Bag, next: Option<Next>, pairs: &[(Opt, i64)]) -> Stream {
    Stream::open(bag, next, &options(pairs)).unwrap()
}

/// Returns all results; an error as its status and position.
fn drained(s: &mut Stream) -> Vec<std::result::Result<Vec<u8>, (Status, i64)>> {
    let mut all = Vec::new();
    loop {
        match s.next_record().map(|r| r.map(<[u8]>::to_vec)) {
            Ok(Some(r)) => all.push(Ok(r)),
            Ok(None) => return all,
            Err(e) => all.push(Err((e.status, e.position))),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn records_are_returned_in_the_requested_order(
        numbers in prop::collection::vec(0..400u64, 0..1500), order: bool, codec in prop::sample::select(vec![0, ZSTD]),
        threads in 1..4i64, read_ahead in prop::option::of(0..300i64), bytes in prop::option::of(0..100_000i64), takes in prop::collection::vec(0..90usize, 1..6),
    ) {
        let bag = bag_of(400, codec);
        let mut pairs = vec![(Opt::Threads, threads)];
        pairs.extend(read_ahead.map(|n| (Opt::BagReadAhead, n)));
        pairs.extend(bytes.map(|n| (Opt::BagReadAheadBytes, n)));
        let expected: Vec<u64> = if order { (0..400).collect() } else { numbers };
        let open = || stream(&bag, (!order).then(|| requested(expected.clone())).flatten(), &pairs);
        let mut s = open();
        for &i in &expected {
            prop_assert_eq!(s.next_record().unwrap(), Some(&record(i)[..]));
            prop_assert_eq!(s.number(), i);
        }
        prop_assert_eq!(s.next_record().unwrap(), None);
        prop_assert_eq!(s.next_record().unwrap(), None);
        // batches, interleaved with single records
        let (mut s, mut at) = (open(), 0);
        for n in takes.iter().cycle() {
            if n % 7 == 3 && let Some(r) = s.next_record().unwrap() {
                prop_assert_eq!(r, &record(expected[at])[..]);
                at += 1;
            }
            let Some(batch) = s.take(*n).unwrap() else { break };
            let got = batch.records.len();
            prop_assert!(got == *n || *n == 0 || at + got == expected.len());
            prop_assert_eq!(&batch.numbers, &expected[at..at + got]);
            prop_assert!(batch.records.iter().eq(expected[at..at + got].iter().map(|&i| record(i))));
            at += got;
        }
        prop_assert_eq!(at, expected.len());
    }
}

/// Returns the folder with some bytes of the file changed.
fn damaged(folder: &Arc<dyn Folder>, flips: &[u64]) -> Arc<dyn Folder> {
    let file = folder
        .open(OsStr::new(""), crate::io::Access::Read)
        .unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_exact_at(0, &mut bytes).unwrap();
    flips.iter().for_each(|&at| bytes[at as usize] ^= 0x55);
    Arc::new(MemoryFolder::new(bytes))
}

/// Returns the offset of the middle of stored record `i`.
fn middle_of(bag: &Bag, i: u64) -> u64 {
    let bounds = bag.set.shards[0].limits().bounds(i, 1).unwrap();
    (bounds[0] + bounds[1]) / 2
}

#[test]
fn an_error_is_returned_at_its_record_and_the_stream_continues() {
    let folder = folder_of(300, ZSTD);
    let intact = open_in(&folder, ZSTD, &[]);
    let corrupt = [5, 130, 131, 297];
    let corrupted = damaged(&folder, &corrupt.map(|i| middle_of(&intact, i)));
    for (threads, read_ahead) in [(1, 0), (1, 1000), (3, 0), (3, 7), (3, 1000)] {
        let bag = open_in(&corrupted, ZSTD, &[]);
        let pairs = [(Opt::Threads, threads), (Opt::BagReadAhead, read_ahead)];
        let numbers: Vec<u64> = (0..300).rev().flat_map(|i| [i, 130, i]).collect();
        for (next, expected) in [
            (None, (0..300).collect()),
            (requested(numbers.clone()), numbers),
        ] {
            let mut s = stream(&bag, next, &pairs);
            let got = drained(&mut s);
            assert_eq!(got.len(), expected.len());
            for (i, got) in expected.into_iter().zip(got) {
                match got {
                    Ok(r) => assert!(r == record(i) && !corrupt.contains(&i), "{i}"),
                    Err((status, at)) => assert!(
                        corrupt.contains(&i) && at == i as i64 && status.is_corruption(),
                        "{i} {status:?}"
                    ),
                }
            }
            assert_eq!(s.damaged(), 0);
        }
        // damaged records as empty ones
        let mut s = stream(&bag, None, &[pairs[0], pairs[1], (Opt::SkipDamaged, 1)]);
        for i in 0..300 {
            let expected = if corrupt.contains(&i) {
                Vec::new()
            } else {
                record(i)
            };
            assert_eq!(s.next_record().unwrap(), Some(&expected[..]));
            assert_eq!(
                s.damaged(),
                corrupt.iter().filter(|&&b| b <= i).count() as u64
            );
        }
        let s = stream(&bag, None, &[pairs[0], pairs[1], (Opt::SkipDamaged, 1)]);
        let batch = s.take(1000).unwrap().unwrap();
        assert_eq!(
            batch
                .records
                .damaged
                .iter()
                .map(|(at, _)| *at)
                .collect::<Vec<_>>(),
            corrupt
        );
        // batches end before a damaged record
        let s = stream(&bag, None, &pairs);
        assert_eq!(s.take(100).unwrap().unwrap().numbers, [0, 1, 2, 3, 4]);
        assert_eq!(s.take(100).err().unwrap().position, 5);
        assert_eq!(
            s.take(100).unwrap().unwrap().numbers,
            (6..106).collect::<Vec<_>>()
        );
        assert_eq!(
            s.take(100).unwrap().unwrap().numbers,
            (106..130).collect::<Vec<_>>()
        );
        assert_eq!(s.take(100).err().unwrap().position, 130);
        assert_eq!(s.take(100).err().unwrap().position, 131);
        assert_eq!(
            s.take(10).unwrap().unwrap().numbers,
            (132..142).collect::<Vec<_>>()
        );
    }
}

#[test]
fn errors_of_numbers_are_returned_at_their_position() {
    let bag = bag_of(50, ZSTD);
    for (threads, read_ahead) in [(1, 0), (3, 5), (3, 1000)] {
        let mut k = 0;
        let next: Next = Box::new(move || {
            k += 1;
            match k {
                10 => Ok(Some(50)),
                20 | 21 => Err(Error::new(Status::Callback, "planned")),
                31 => Ok(None),
                _ => Ok(Some(k)),
            }
        });
        let mut s = stream(
            &bag,
            Some(next),
            &[(Opt::Threads, threads), (Opt::BagReadAhead, read_ahead)],
        );
        for (at, got) in drained(&mut s).into_iter().enumerate() {
            match at as u64 + 1 {
                10 => assert_eq!(got, Err((Status::Range, 50))),
                20 | 21 => assert_eq!(got, Err((Status::Callback, -1))),
                k => assert_eq!(got, Ok(record(k))),
            }
        }
        assert_eq!(s.next_record().unwrap(), None);
    }
    // an index function that always fails: every call returns its error
    let mut s = stream(
        &bag,
        Some(Box::new(|| Err(Error::new(Status::Callback, "planned")))),
        &[],
    );
    for _ in 0..100 {
        assert!(s.next_record().unwrap_err().message.contains("planned"));
    }
}

/// Compares the number of requested numbers with the number of returned records.
#[test]
fn read_ahead_respects_its_limit() {
    let bag = bag_of(100, ZSTD);
    for read_ahead in [0, 1, 2, 10, 100] {
        let asked = Arc::new(AtomicU64::new(0));
        let count = asked.clone();
        let next: Next = Box::new(move || Ok(Some(count.fetch_add(1, Ordering::Relaxed) % 100)));
        let mut s = stream(
            &bag,
            Some(next),
            &[(Opt::Threads, 3), (Opt::BagReadAhead, read_ahead)],
        );
        for given in 1..500u64 {
            s.next_record().unwrap().unwrap();
            let more = asked.load(Ordering::Relaxed) - given;
            assert!(more <= read_ahead as u64, "{more} ahead, not {read_ahead}");
        }
        assert_eq!(s.take(7).unwrap().unwrap().numbers.len(), 7);
        assert!(asked.load(Ordering::Relaxed) - 506 <= read_ahead as u64);
    }
}

/// Records that do not fit into a batch are read when they are requested. Only a record that
/// exceeds the memory limit is an error.
#[test]
fn memory_is_bounded() {
    let folder: Arc<dyn Folder> = Arc::new(SimDisk::default());
    let mut w = Writer::open_in(
        &folder,
        OsStr::new(""),
        Mode::New,
        &options(&[(Opt::Codec, ZSTD)]),
    )
    .unwrap();
    let size = |i: u64| {
        if i % 17 == 4 {
            300_000
        } else if i == 90 {
            2_000_000
        } else {
            100
        }
    };
    (0..100).for_each(|i| w.append(&vec![i as u8; size(i)]).unwrap());
    w.commit().unwrap();
    let bag = open_in(&folder, ZSTD, &[]);
    for threads in [1, 3] {
        for bytes in [1, 1000, 100_000, 400_000] {
            let mut s = stream(
                &bag,
                None,
                &[(Opt::Threads, threads), (Opt::BagReadAheadBytes, bytes)],
            );
            let all = drained(&mut s);
            assert!(
                all.into_iter()
                    .zip(0..)
                    .all(|(r, i)| r == Ok(vec![i as u8; size(i)]))
            );
        }
        let mut s = stream(
            &bag,
            None,
            &[(Opt::Threads, threads), (Opt::MemoryLimit, 1 << 20)],
        );
        let all = drained(&mut s);
        assert_eq!(all.len(), 100);
        for (r, i) in all.into_iter().zip(0u64..) {
            let expected = if i == 90 {
                Err((Status::Limit, 90))
            } else {
                Ok(vec![i as u8; size(i)])
            };
            assert!(r == expected, "{i}");
        }
    }
}

#[test]
fn concurrent_callers_get_every_record_once() {
    let folder = folder_of(2000, ZSTD);
    let intact = open_in(&folder, ZSTD, &[]);
    let corrupt = [100, 101, 1500];
    let bag = open_in(
        &damaged(&folder, &corrupt.map(|i| middle_of(&intact, i))),
        ZSTD,
        &[],
    );
    for (threads, read_ahead, n) in [
        (1, 0, 3),
        (3, 0, 10),
        (3, 50, 7),
        (3, 4000, 64),
        (2, 4000, 0),
        (3, 100, 1),
    ] {
        let s = stream(
            &bag,
            None,
            &[(Opt::Threads, threads), (Opt::BagReadAhead, read_ahead)],
        );
        let seen = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        match s.take(n) {
                            Ok(Some(b)) => {
                                assert!(
                                    b.numbers
                                        .iter()
                                        .zip(b.records.iter())
                                        .all(|(&i, r)| r == record(i))
                                );
                                let mut seen = seen.lock().unwrap();
                                b.numbers
                                    .iter()
                                    .for_each(|&i| *seen.entry(i).or_insert(0) += 1);
                            }
                            Ok(None) => break,
                            Err(e) => {
                                *seen.lock().unwrap().entry(e.position as u64).or_insert(0) += 1000
                            }
                        }
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 2000);
        assert!(
            seen.into_iter()
                .all(|(i, times)| times == if corrupt.contains(&i) { 1000 } else { 1 })
        );
    }
}

#[test]
fn a_call_from_the_index_function_is_refused() {
    let bag = bag_of(20, 0);
    let there: Arc<Mutex<Option<std::sync::Weak<Stream>>>> = Arc::default();
    let (mine, refused) = (there.clone(), Arc::new(AtomicBool::new(false)));
    let result = refused.clone();
    let next: Next = Box::new(move || {
        let stream = mine
            .lock()
            .unwrap()
            .as_ref()
            .and_then(std::sync::Weak::upgrade)
            .unwrap();
        result.store(
            stream.is_in_callback() && stream.take(1).is_err_and(|e| e.status == Status::State),
            Ordering::Relaxed,
        );
        Ok(Some(3))
    });
    let s = Arc::new(stream(&bag, Some(next), &[]));
    *there.lock().unwrap() = Some(Arc::downgrade(&s));
    assert_eq!(s.take(2).unwrap().unwrap().numbers, [3, 3]);
    assert!(refused.load(Ordering::Relaxed) && !s.is_in_callback());
}

/// After a stream is closed, at any moment, no thread holds the bag.
#[test]
fn closing_waits_for_the_readers() {
    let bag = bag_of(3000, ZSTD);
    for round in 0..300u64 {
        let mut s = stream(&bag, None, &[(Opt::Threads, 3)]);
        for _ in 0..round * round % 400 {
            s.next_record().unwrap();
        }
        drop(s);
        assert_eq!(Arc::strong_count(&bag.set), 1, "{round}");
    }
}
