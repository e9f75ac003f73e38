//! Copies of compressed bags, which do not encode the records again where the frames fit.

use super::*;

const ZSTD: Form = FORMS[0];

fn with(options: &[(Opt, i64)]) -> Options {
    options
        .iter()
        .fold(read_options(ZSTD), |all, (opt, value)| {
            all.with(*opt, *value).unwrap()
        })
}

/// Writes a bag with these options. Returns its file.
fn written(records: &[Vec<u8>], options: &Options) -> SimDisk {
    let disk = SimDisk::default();
    let mut w = Writer::open_in(&disk.folder(), OsStr::new(NAME), Mode::New, options).unwrap();
    records.iter().for_each(|r| w.append(r).unwrap());
    w.commit().unwrap();
    disk
}

fn opened(disk: &SimDisk, options: &Options) -> Bag {
    Bag::open_in(&[ShardPath::new(disk.folder(), NAME)], options).unwrap()
}

fn copied(bag: &Bag, indices: Option<&[u64]>, options: &Options) -> Result<(SimDisk, bool)> {
    let to = SimDisk::default();
    let mut w = Writer::open_in(&to.folder(), OsStr::new(NAME), Mode::New, options)?;
    let damaged = bag.copy(indices, &mut w)?;
    Ok((to, damaged))
}

fn contents(disk: &SimDisk) -> Vec<Vec<u8>> {
    all(disk.folder(), ZSTD).unwrap()
}

/// Returns how many records have no checksum.
fn unchecked(disk: &SimDisk) -> u64 {
    let bag = opened(disk, &with(&[]));
    bag.read_range(0, bag.size()).unwrap().unchecked
}

#[test]
fn frames_are_copied_unless_another_form_is_requested() {
    let records = small(0, 700);
    let high = written(&records, &with(&[(Opt::Level, 19)]));
    let plain = written(&records, &with(&[]));
    assert_ne!(high.contents(), plain.contents());
    for threads in [1, 3] {
        let bag = opened(&high, &with(&[(Opt::Threads, threads)]));
        let (same, damaged) = copied(&bag, None, &with(&[])).unwrap();
        assert!(!damaged);
        assert_eq!(same.contents(), high.contents());
        let (level, _) = copied(&bag, None, &with(&[(Opt::Level, 3)])).unwrap();
        assert_eq!(level.contents(), plain.contents());
    }
    let bare = written(&records, &with(&[(Opt::Checksum, 0)]));
    let (checked, _) = copied(&opened(&bare, &with(&[])), None, &with(&[])).unwrap();
    assert_eq!(checked.contents(), plain.contents());
    let (same, _) = copied(
        &opened(&bare, &with(&[])),
        None,
        &with(&[(Opt::Checksum, 0)]),
    )
    .unwrap();
    assert_eq!(same.contents(), bare.contents());
    let to_bare = copied(
        &opened(&high, &with(&[])),
        None,
        &with(&[(Opt::Checksum, 0)]),
    );
    let to_bare = to_bare.unwrap().0;
    assert_eq!(unchecked(&to_bare), records.len() as u64);
    assert_eq!(contents(&to_bare), records);
}

#[test]
fn frames_are_copied_in_any_order() {
    let records = small(0, 300);
    let bag = opened(&written(&records, &with(&[(Opt::Level, 9)])), &with(&[]));
    let picks: Vec<u64> = (0..600).map(|i| i * i % 300).chain([7, 7, 7]).collect();
    let expected: Vec<_> = picks.iter().map(|i| records[*i as usize].clone()).collect();
    let (copy, _) = copied(&bag, Some(&picks), &with(&[])).unwrap();
    assert_eq!(contents(&copy), expected);
    let direct = written(&expected, &with(&[(Opt::Level, 9)]));
    assert_eq!(copy.contents(), direct.contents());
}

/// Joins bags of both forms, so that frames and encoded records alternate.
#[test]
fn bags_of_both_forms_are_copied() {
    let records = small(0, 60);
    let disk = SimDisk::default();
    let paths: Vec<ShardPath> = (0..6)
        .map(|i| {
            let options = with(&[(Opt::Checksum, i % 2 * 2)]);
            let name = OsString::from(format!("{i}"));
            let mut w = Writer::open_in(&disk.folder(), &name, Mode::New, &options).unwrap();
            let own = &records[i as usize * 10..][..10];
            own.iter().for_each(|r| w.append(r).unwrap());
            w.commit().unwrap();
            ShardPath::new(disk.folder(), name)
        })
        .collect();
    for interleaved in [0, 1] {
        let options = with(&[(Opt::BagShards, interleaved)]);
        let bag = Bag::open_in(&paths, &options).unwrap();
        let (copy, _) = copied(&bag, None, &with(&[])).unwrap();
        let expected = bag.read_range(0, bag.size()).unwrap();
        assert_eq!(contents(&copy), expected.iter().collect::<Vec<_>>());
        assert_eq!(unchecked(&copy), 0);
    }
}

/// The mark that a set is interleaved does not become part of a bag of one file.
#[test]
fn interleave_marks_are_not_copied() {
    let records = small(0, 40);
    let disk = SimDisk::default();
    let set = spec::Set::of(OsStr::new("s-00000-of-00003")).remove(0);
    let mut w = Writer::open_set_in(&disk.folder(), &set, Mode::New, &with(&[])).unwrap();
    records.iter().for_each(|r| w.append(r).unwrap());
    w.commit().unwrap();
    let paths: Vec<_> = (0..3)
        .map(|i| ShardPath::new(disk.folder(), set.name(i)))
        .collect();
    let bag = Bag::open_in(&paths, &with(&[])).unwrap();
    let (copy, _) = copied(&bag, None, &with(&[])).unwrap();
    assert_eq!(contents(&copy), records);
    let has_mark = |disk: &SimDisk| {
        let files = disk.contents().into_values();
        files
            .flatten()
            .collect::<Vec<u8>>()
            .windows(8)
            .any(|w| w == b"hldturns")
    };
    assert!(has_mark(&disk) && !has_mark(&copy));
    // and the marks of another set are its own
    let set = spec::Set::of(OsStr::new("t-00000-of-00002")).remove(0);
    let mut to = Writer::open_set_in(&disk.folder(), &set, Mode::New, &with(&[])).unwrap();
    bag.copy(None, &mut to).unwrap();
    drop(to);
    let paths: Vec<_> = (0..2)
        .map(|i| ShardPath::new(disk.folder(), set.name(i)))
        .collect();
    let bag = Bag::open_in(&paths, &with(&[])).unwrap();
    let read = bag.read_range(0, bag.size()).unwrap();
    assert_eq!(read.iter().collect::<Vec<_>>(), records);
}

#[test]
fn corrupt_frames_are_an_error_or_become_empty() {
    let records: Vec<_> = (0..50).map(|i| record(i, 200)).collect();
    let mut files = written(&records, &with(&[])).contents();
    let file = files.values_mut().next().unwrap();
    let frame = file.len() / 100;
    file[frame * 31] ^= 0x40;
    let disk = SimDisk::with_files(&files);
    let e = copied(&opened(&disk, &with(&[])), None, &with(&[]))
        .err()
        .unwrap();
    assert!(e.status.is_corruption() && e.position >= 0, "{e}");
    let skipping = opened(&disk, &with(&[(Opt::SkipDamaged, 1)]));
    let (copy, damaged) = copied(&skipping, None, &with(&[])).unwrap();
    assert!(damaged);
    let read = contents(&copy);
    let other: Vec<_> = (0..50).filter(|i| read[*i] != records[*i]).collect();
    assert_eq!((other.len(), read[other[0]].len()), (1, 0));
    assert_eq!((other[0] as i64, unchecked(&copy)), (e.position, 0));
}

#[test]
fn frames_need_the_same_dictionary() {
    let records = small(0, 200);
    let mut given = with(&[]);
    given.set_bytes(Opt::Dictionary, &record(3, 900)).unwrap();
    let source = written(&records, &given);
    let bag = opened(&source, &given);
    let (same, _) = copied(&bag, None, &given).unwrap();
    assert_eq!(same.contents(), source.contents());
    let (without, _) = copied(&bag, None, &with(&[])).unwrap();
    assert_eq!(contents(&without), records);
    let (with_it, _) = copied(&opened(&without, &with(&[])), None, &given).unwrap();
    assert_eq!(with_it.contents(), source.contents());
}
