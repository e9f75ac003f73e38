//! Bags that store a dictionary: what they contain, appends, and damage.

use super::*;
use crate::bag::codec::CODEC_ZSTD;
use crate::bag::dictionary;
use std::sync::OnceLock;

/// A dictionary, which stored records name whether or not they resemble it.
pub fn of_records() -> Arc<[u8]> {
    static DICTIONARY: OnceLock<Arc<[u8]>> = OnceLock::new();
    let train = || {
        let lines = lines(0, 2000);
        crate::bag::train(&lines.concat(), &offsets(&lines), 1024).unwrap()
    };
    DICTIONARY.get_or_init(|| train().into()).clone()
}

/// Short records that have much in common.
fn lines(from: u64, n: u64) -> Vec<Vec<u8>> {
    let city = |r: u64| ["Berlin", "Lagos", "Lima", "Osaka", "Quito"][r as usize % 5];
    let line = |i: u64| {
        let r = Rng(i * 2 + 1).draw() >> 33;
        let (from, to) = (city(r), city(r / 7));
        let text =
            format!("{{\"id\": {i}, \"from\": \"{from}\", \"to\": \"{to}\", \"passengers\": {r}}}");
        text.into_bytes()
    };
    (from..from + n).map(line).collect()
}

fn options(values: &[(Opt, i64)]) -> Options {
    let zstd = Options::new().with(Opt::Codec, CODEC_ZSTD).unwrap();
    let with = |o: Options, (opt, value): &(Opt, i64)| o.with(*opt, *value).unwrap();
    values.iter().fold(zstd, with)
}

fn memory() -> Arc<dyn Folder> {
    SimDisk::default().folder()
}

fn writer(folder: &Arc<dyn Folder>, mode: Mode, o: &Options) -> Result<Writer> {
    Writer::open_in(folder, OsStr::new(NAME), mode, o)
}

fn open(folder: &Arc<dyn Folder>, o: &Options) -> Bag {
    Bag::open_in(&[ShardPath::new(folder.clone(), NAME)], o).unwrap()
}

fn records(bag: &Bag) -> Vec<Vec<u8>> {
    super::records(bag).unwrap()
}

fn bytes(folder: &Arc<dyn Folder>) -> Vec<u8> {
    let file = folder.open(OsStr::new(NAME), Access::Read).unwrap();
    let mut all = vec![0; file.size().unwrap() as usize];
    file.read_exact_at(0, &mut all).unwrap();
    all
}

fn with_bytes(bytes: &[u8]) -> Arc<dyn Folder> {
    let folder = memory();
    let file = folder.create(OsStr::new(NAME), OsStr::new(NAME)).unwrap();
    file.write_at(0, bytes).unwrap();
    folder
}

fn written(all: &[Vec<u8>], how: i64) -> Arc<dyn Folder> {
    let folder = memory();
    let mut w = writer(&folder, Mode::New, &options(&[(Opt::BagDictionary, how)])).unwrap();
    w.append_many(&all.concat(), &offsets(all)).unwrap();
    w.commit().unwrap();
    folder
}

#[test]
fn a_trained_dictionary_makes_short_records_small() {
    let all = lines(0, 20_000);
    let plain = written(&all, 0);
    let folder = written(&all, 2);
    assert!(bytes(&folder).len() * 10 < bytes(&plain).len() * 7);
    let bag = open(&folder, &options(&[]));
    assert_eq!(records(&bag), all);
    assert_eq!(bag.read(0).unwrap(), all[0]);
    assert_eq!(bag.read(19_999).unwrap(), all[19_999]);
    let stored = bag.dictionary().unwrap().unwrap();
    let id = dictionary::id(&stored).unwrap();
    assert!((32768..65536).contains(&id));
    // as zstd sees the frames
    let raw = open(&folder, &options(&[(Opt::Codec, 0)]));
    let mut context = zstd_safe::DCtx::create();
    for (record, frame) in all.iter().zip(records(&raw)) {
        let mut decoded = vec![0; record.len()];
        let n = context.decompress_using_dict(&mut decoded[..], &frame, &stored);
        assert_eq!((n, &decoded), (Ok(record.len()), record));
        assert!(context.decompress(&mut decoded[..], &frame).is_err());
    }
}

#[test]
fn the_same_records_give_the_same_file() {
    let all = lines(0, 5_000);
    let one_by_one = memory();
    let auto = options(&[(Opt::BagDictionary, 2)]);
    let mut w = writer(&one_by_one, Mode::New, &auto).unwrap();
    all.iter().for_each(|r| w.append(r).unwrap());
    w.commit().unwrap();
    assert_eq!(bytes(&one_by_one), bytes(&written(&all, 2)));
}

#[test]
fn records_without_a_gain_are_stored_without_a_dictionary() {
    let random: Vec<Vec<u8>> = (0..2000)
        .map(|i| {
            let mut rng = Rng(i * 2 + 1);
            (0..200).map(|_| (rng.draw() >> 56) as u8).collect()
        })
        .collect();
    for all in [random, lines(0, 3), vec![vec![]; 100], vec![]] {
        let folder = written(&all, 2);
        assert_eq!(bytes(&folder), bytes(&written(&all, 0)));
        assert_eq!(records(&open(&folder, &options(&[]))), all);
    }
}

#[test]
fn appended_records_use_the_stored_dictionary() {
    let folder = written(&lines(0, 5_000), 2);
    let before = bytes(&folder).len();
    for o in [options(&[]), options(&[(Opt::BagDictionary, 2)])] {
        let mut w = writer(&folder, Mode::Append, &o).unwrap();
        let more = lines(w.size(), 1000);
        more.iter().for_each(|r| w.append(r).unwrap());
        w.commit().unwrap();
    }
    let bag = open(&folder, &options(&[]));
    assert_eq!(records(&bag), lines(0, 7_000));
    let grown = bytes(&folder).len() - before;
    assert!(grown < before / 2, "{grown} of {before}");
    let mut other = options(&[(Opt::BagDictionary, 1)]);
    other.set_bytes(Opt::Dictionary, &of_records()).unwrap();
    let refused = writer(&folder, Mode::Append, &other).err().unwrap();
    assert!(refused.message.contains("stores another dictionary"));
    let plain = written(&lines(0, 10), 0);
    let refused = writer(&plain, Mode::Append, &other).err().unwrap();
    assert!(refused.message.contains("stores no dictionary"));
}

#[test]
fn only_a_trained_dictionary_can_be_stored() {
    let mut o = options(&[(Opt::BagDictionary, 1)]);
    let refused = |o: &Options| writer(&memory(), Mode::New, o).err().unwrap().message;
    assert!(refused(&o).contains("is not given"));
    o.set_bytes(Opt::Dictionary, b"only text, not trained")
        .unwrap();
    assert!(refused(&o).contains("has an ID"));
    o.set(Opt::BagDictionary, 2).unwrap();
    assert!(refused(&o).contains("expected none"));
    o.set(Opt::Codec, 0).unwrap();
    assert!(refused(&o).contains("uncompressed"));
}

#[test]
fn a_copy_retains_frames_only_with_the_same_dictionary() {
    let all = lines(0, 3_000);
    let source = written(&all, 2);
    let dictionary = open(&source, &options(&[])).dictionary().unwrap().unwrap();
    let mut same = options(&[(Opt::BagDictionary, 1)]);
    same.set_bytes(Opt::Dictionary, &dictionary).unwrap();
    for (o, is_same) in [
        (&same, true),
        (&options(&[]), true),
        (&options(&[(Opt::BagDictionary, 2)]), true),
        (&options(&[(Opt::BagDictionary, 0)]), false),
    ] {
        let folder = memory();
        let mut w = writer(&folder, Mode::New, o).unwrap();
        open(&source, &options(&[])).copy(None, &mut w).unwrap();
        assert_eq!(bytes(&folder) == bytes(&source), is_same);
        assert_eq!(records(&open(&folder, &options(&[]))), all);
    }
}

#[test]
fn a_copy_of_few_records_has_no_dictionary() {
    let source = written(&lines(0, 3_000), 2);
    let folder = memory();
    let mut w = writer(&folder, Mode::New, &options(&[])).unwrap();
    let all = open(&source, &options(&[]));
    all.copy(Some(&[7, 2_000, 7]), &mut w).unwrap();
    let bag = open(&folder, &options(&[]));
    assert_eq!(bag.dictionary().unwrap(), None);
    assert_eq!(records(&bag), [7, 2_000, 7].map(|i| lines(i, 1).remove(0)));
}

#[test]
fn a_truncated_bag_retains_its_dictionary() {
    for n in [1, 40] {
        let all = lines(0, n);
        let mut o = options(&[(Opt::BagDictionary, 1)]);
        o.set_bytes(Opt::Dictionary, &of_records()).unwrap();
        let folder = memory();
        let mut w = writer(&folder, Mode::New, &o).unwrap();
        w.append_many(&all.concat(), &offsets(&all)).unwrap();
        w.commit().unwrap();
        let whole = bytes(&folder);
        let truncated = with_bytes(&whole[..whole.len() - 3]);
        let o = options(&[(Opt::SkipDamaged, 1)]);
        let repaired = repair_in(&truncated, OsStr::new(NAME), &o).unwrap();
        assert_eq!(repaired.retained, n);
        assert_eq!(records(&open(&truncated, &options(&[]))), all);
        assert_eq!(bytes(&truncated), whole);
    }
}

#[test]
fn each_shard_of_a_set_can_be_read_alone() {
    let folder = memory();
    let set = spec::Set::of(OsStr::new("x-00000-of-00003.bagz")).remove(0);
    let all = lines(0, 6_000);
    let o = options(&[(Opt::BagDictionary, 2)]);
    let mut w = Writer::open_set_in(&folder, &set, Mode::New, &o).unwrap();
    w.append_many(&all.concat(), &offsets(&all)).unwrap();
    w.commit().unwrap();
    let mut dictionaries = Vec::new();
    for i in 0..3 {
        let shard = [ShardPath::new(folder.clone(), set.name(i))];
        let bag = Bag::open_in(&shard, &options(&[])).unwrap();
        let expected: Vec<_> = all.iter().skip(i as usize).step_by(3).cloned().collect();
        assert_eq!(records(&bag), expected);
        dictionaries.push(bag.dictionary().unwrap());
    }
    assert!(dictionaries[0].is_some() && dictionaries.windows(2).all(|w| w[0] == w[1]));
    let shards: Vec<_> = (0..3)
        .map(|i| ShardPath::new(folder.clone(), set.name(i)))
        .collect();
    let bag = Bag::open_in(&shards, &options(&[])).unwrap();
    assert!(bag.interleaved());
    assert_eq!(records(&bag), all);
    let mut w = Writer::open_set_in(&folder, &set, Mode::Append, &options(&[])).unwrap();
    w.append(b"one more").unwrap();
    w.commit().unwrap();
    let bag = Bag::open_in(&shards, &options(&[])).unwrap();
    assert_eq!(bag.read(6_000).unwrap(), b"one more");
}

/// What damaged files were read as.
#[derive(Debug, Default)]
struct Read {
    /// Records that were right, and errors.
    right: usize,
    failed: usize,
    /// Files that could not be opened.
    refused: usize,
    /// Files whose records were all right, and which had no fault: zstd ignores a bit of each frame.
    unaffected: Vec<Vec<u8>>,
}

/// Reads and verifies damaged files. No record may be wrong.
fn read_damaged(all: &[Vec<u8>], damaged: impl Iterator<Item = Vec<u8>>) -> Read {
    let mut read = Read::default();
    for damaged in damaged {
        let path = [ShardPath::new(with_bytes(&damaged), NAME)];
        let Ok(bag) = Bag::open_in(&path, &options(&[(Opt::Threads, 1)])) else {
            read.refused += 1;
            continue;
        };
        let before = read.right;
        for (i, record) in (0..bag.size()).zip(all) {
            match bag.read(i) {
                Ok(found) if found == *record => read.right += 1,
                Ok(found) => panic!("record {i} is wrong: {found:?}"),
                Err(_) => read.failed += 1,
            }
        }
        let mut faults = 0;
        let verified = verify::verify_bag(&bag, |_| {
            faults += 1;
            true
        });
        if faults == 0 && verified.is_ok() {
            assert_eq!(read.right - before, all.len());
            read.unaffected.push(damaged);
        }
    }
    read
}

#[test]
fn flips_are_never_a_wrong_record() {
    let all = lines(0, 40);
    let folder = memory();
    let mut o = options(&[(Opt::BagDictionary, 1)]);
    o.set_bytes(Opt::Dictionary, &of_records()).unwrap();
    let mut w = writer(&folder, Mode::New, &o).unwrap();
    all.iter().for_each(|r| w.append(r).unwrap());
    w.commit().unwrap();
    let original = bytes(&folder);
    let flips = (0..original.len()).map(|at| {
        let mut damaged = original.clone();
        damaged[at] ^= 1 << (at % 8);
        damaged
    });
    let read = read_damaged(&all, flips);
    println!(
        "{} right, {} errors, {} refused",
        read.right, read.failed, read.refused
    );
    assert!(read.right > read.failed);
    let dictionary = original
        .windows(1024)
        .position(|w| *w == *of_records())
        .unwrap();
    let dictionary = dictionary - 16..dictionary + 1024 + 8;
    for damaged in &read.unaffected {
        assert_eq!(damaged[dictionary.clone()], original[dictionary.clone()]);
    }
    assert!(read.unaffected.len() <= all.len());
}

#[test]
fn a_damaged_dictionary_is_restored_from_a_copy() {
    let all = lines(0, 40);
    let folder = memory();
    let mut stored = options(&[(Opt::BagDictionary, 1)]);
    stored.set_bytes(Opt::Dictionary, &of_records()).unwrap();
    let mut w = writer(&folder, Mode::New, &stored).unwrap();
    all.iter().for_each(|r| w.append(r).unwrap());
    w.commit().unwrap();
    let original = bytes(&folder);
    let form = dictionary::to_frame(&of_records()).unwrap();
    let at = original.windows(form.len()).position(|w| *w == *form);
    let extent = at.unwrap()..at.unwrap() + form.len();
    let last = extent.end - 1;
    let repaired = |changed: &[usize], dictionary: &[u8]| {
        let mut damaged = original.clone();
        changed.iter().for_each(|&i| damaged[i] ^= 1 << (i % 8));
        let folder = with_bytes(&damaged);
        let mut o = options(&[]);
        o.set_bytes(Opt::Dictionary, dictionary).unwrap();
        let done = repair_in(&folder, OsStr::new(NAME), &o).unwrap();
        assert_eq!((done.retained, done.dropped), (40, 0));
        (damaged, bytes(&folder))
    };
    for i in extent.clone() {
        assert!(repaired(&[i], &of_records()).1 == original, "byte {i}");
    }
    let many: Vec<usize> = extent
        .clone()
        .step_by(3)
        .filter(|&i| i < last - 3)
        .collect();
    assert!(repaired(&many, &of_records()).1 == original);
    assert!(repaired(&[last - 3, last], &of_records()).1 == original);
    // nothing proves what it was
    let (damaged, after) = repaired(&[extent.start + 40, last], &of_records());
    assert!(after == damaged);
    let others = lines(5_000, 2_000);
    let other = crate::bag::train(&others.concat(), &offsets(&others), 1024).unwrap();
    let (damaged, after) = repaired(&[extent.start + 40], &other);
    assert!(after == damaged);
}

/// The readable records of a bag with a corrupt dictionary can be copied, and are intact there.
#[test]
fn a_copy_with_a_corrupt_dictionary_has_the_readable_records() {
    let all = lines(0, 2_000);
    let original = bytes(&written(&all, 2));
    let bag = open(&with_bytes(&original), &options(&[]));
    let dictionary = bag.dictionary().unwrap().unwrap();
    let at = original
        .windows(dictionary.len())
        .position(|w| *w == *dictionary);
    let mut damaged = original.clone();
    let middle = at.unwrap() + dictionary.len() / 2;
    damaged[middle..middle + 64]
        .iter_mut()
        .for_each(|b| *b ^= 1);
    let bag = open(&with_bytes(&damaged), &options(&[(Opt::SkipDamaged, 1)]));
    let refused = bag.dictionary().unwrap_err();
    assert_eq!(refused.status, Status::Checksum);
    let folder = memory();
    let mut w = writer(&folder, Mode::New, &options(&[])).unwrap();
    assert!(bag.copy(None, &mut w).unwrap(), "no record is corrupt");
    let copy = open(&folder, &options(&[]));
    assert!(copy.dictionary().unwrap().is_some());
    let mut lost = 0;
    for (found, record) in records(&copy).iter().zip(&all) {
        assert!(found == record || found.is_empty());
        lost += usize::from(found.is_empty());
    }
    println!("{lost} of {} records are lost", all.len());
    assert!(lost > 0 && lost < all.len());
    assert_eq!(verify::verify_bag(&copy, |_| true).unwrap().corrupt, 0);
}

#[test]
fn truncations_and_cuts_are_never_a_wrong_record() {
    let all = lines(0, 40);
    let original = bytes(&written(&lines(0, 400), 2));
    assert!(original.len() > 1000);
    let cuts = (0..original.len()).step_by(7);
    let cuts = cuts
        .map(|n| original[..n].to_vec())
        .filter(|b| !b.is_empty());
    let read = read_damaged(&all, cuts);
    println!(
        "{} right, {} errors, {} refused",
        read.right, read.failed, read.refused
    );
    assert!(read.unaffected.is_empty() && read.refused > 0);
}
