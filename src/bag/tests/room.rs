//! Room before limits at the tail.

use super::*;
use crate::bag::limits::Tail;
use crate::bag::room;

const ZSTD: Form = FORMS[0];

/// Returns the bytes of the bag.
fn bytes(folder: &Arc<dyn Folder>) -> Vec<u8> {
    let file = folder.open(OsStr::new(NAME), Access::Read).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_exact_at(0, &mut bytes).unwrap();
    bytes
}

/// Returns the limits, as a reader finds them that knows nothing of room.
fn limits(bytes: &[u8]) -> Vec<usize> {
    let end = usize::from_le_bytes(*bytes.last_chunk().unwrap());
    let (limits, rest) = bytes[end..].as_chunks::<8>();
    assert!(rest.is_empty());
    limits.iter().map(|w| usize::from_le_bytes(*w)).collect()
}

/// Each commit that fits leaves the limits where they are; all records decode with zstd alone.
#[test]
fn commits_leave_the_limits_where_they_are() {
    let folder = SimDisk::default().folder();
    put(folder.clone(), Mode::New, ZSTD, &small(0, 4)).unwrap();
    put(folder.clone(), Mode::Append, ZSTD, &small(4, 8)).unwrap();
    let (mut offsets, mut n) = (Vec::new(), 12);
    let mut writer = writer(&folder, Mode::Append, ZSTD).unwrap();
    for round in 0..40 {
        if round % 3 == 0 {
            drop(writer);
            writer = super::writer(&folder, Mode::Append, ZSTD).unwrap();
        }
        let more = round % 4;
        small(n, more)
            .iter()
            .for_each(|r| writer.append(r).unwrap());
        writer.commit().unwrap();
        n += more;
        assert_eq!(all(folder.clone(), ZSTD).unwrap(), small(0, n));
        let bytes = bytes(&folder);
        let limits = limits(&bytes);
        offsets.push(*limits.last().unwrap());
        let mut from = 0;
        for (to, record) in limits.iter().zip(small(0, n)) {
            let mut decoded = vec![0; record.len()];
            let size = zstd_safe::decompress(&mut decoded[..], &bytes[from..*to]).unwrap();
            assert_eq!((size, &decoded), (record.len(), &record));
            from = *to;
        }
    }
    offsets.dedup();
    assert!((2..10).contains(&offsets.len()), "{offsets:?}");
}

/// A reader with limits in memory reads the same records after commits into the room.
#[test]
fn a_reader_with_limits_in_memory_reads_what_it_opened() {
    let folder = SimDisk::default().folder();
    put(folder.clone(), Mode::New, ZSTD, &small(0, 4)).unwrap();
    put(folder.clone(), Mode::Append, ZSTD, &small(4, 8)).unwrap();
    let options = read_options(ZSTD).with(Opt::BagLimitsCache, 1).unwrap();
    let path = [ShardPath::new(folder.clone(), NAME)];
    let open = || Bag::open_in(&path, &options).unwrap();
    let before = open();
    let in_file = bag(&folder, ZSTD).unwrap();
    let size = bytes(&folder).len();
    put(folder.clone(), Mode::Append, ZSTD, &small(12, 2)).unwrap();
    assert_eq!(bytes(&folder).len(), size + 16);
    for i in 0..12 {
        assert_eq!(before.read(i).unwrap(), small(i, 1)[0]);
    }
    assert_eq!(records(&before).unwrap(), small(0, 12));
    assert_eq!(records(&open()).unwrap(), small(0, 14));
    // one that finds limits in the file sees that it has changed
    assert_eq!(in_file.read(11).unwrap_err().status, Status::State);
}

/// Room that is damaged is no room: every record is read, or named in an error.
#[test]
fn no_flip_in_room_is_silent() {
    let disk = disk_with(ZSTD, &small(0, 12));
    let files = disk.contents();
    let bytes = &files[OsStr::new(NAME)];
    let file = disk.folder().open(OsStr::new(NAME), Access::Read).unwrap();
    let tail = Tail::read(&file, bytes.len() as u64).unwrap();
    let from = (tail.end - room::size_before(12)) as usize;
    assert!(bytes[from..].starts_with(&room::header(room::size_before(12))));
    let mut refused = 0;
    for at in from..from + room::HEADER {
        for bit in 0..8 {
            let mut files = files.clone();
            files.get_mut(OsStr::new(NAME)).unwrap()[at] ^= 1 << bit;
            let disk = SimDisk::with_files(&files);
            let Ok(found) = all(disk.folder(), ZSTD) else {
                refused += 1;
                continue;
            };
            assert_eq!(found, small(0, 12));
            put(disk.folder(), Mode::Append, ZSTD, &small(12, 3)).unwrap();
            assert_eq!(all(disk.folder(), ZSTD).unwrap(), small(0, 15));
        }
    }
    assert!((32..=64).contains(&refused), "{refused}");
}

/// Limits that are lost are found again from the frames, with the room after the last one.
#[test]
fn a_damaged_last_limit_beside_room_is_repaired() {
    let disk = disk_with(ZSTD, &small(0, 12));
    let mut files = disk.contents();
    let bytes = files.get_mut(OsStr::new(NAME)).unwrap();
    let last = bytes.len() - 8;
    bytes[last..].copy_from_slice(&77u64.to_le_bytes());
    let disk = SimDisk::with_files(&files);
    assert!(all(disk.folder(), ZSTD).is_err());
    let options = Options::new().with(Opt::Codec, ZSTD.codec).unwrap();
    repair_in(&disk.folder(), OsStr::new(NAME), &options).unwrap();
    assert_eq!(all(disk.folder(), ZSTD).unwrap(), small(0, 12));
    let size = disk.contents()[OsStr::new(NAME)].len();
    put(disk.folder(), Mode::Append, ZSTD, &small(12, 1)).unwrap();
    assert_eq!(disk.contents()[OsStr::new(NAME)].len(), size + 8);
}

/// Room of any size, in a file of few records as well, is used as far as records fit.
#[test]
fn room_of_any_size_is_used() {
    let record = b"a record".to_vec();
    let frames = |folder: &Arc<dyn Folder>| {
        let bytes = bytes(folder);
        bytes[..*limits(&bytes).last().unwrap()].to_vec()
    };
    let one = SimDisk::default().folder();
    put(one.clone(), Mode::New, ZSTD, std::slice::from_ref(&record)).unwrap();
    let length = frames(&one).len();
    for size in room::HEADER..4 * length {
        let folder = SimDisk::default().folder();
        put(
            folder.clone(),
            Mode::New,
            ZSTD,
            &[record.clone(), record.clone()],
        )
        .unwrap();
        let mut all_bytes = frames(&folder);
        all_bytes.extend(room::header(size as u64));
        all_bytes.resize(2 * length + size, 7);
        let ends = [length, 2 * length + size];
        ends.iter()
            .for_each(|end| all_bytes.extend(end.to_le_bytes()));
        let file = folder.create(OsStr::new(NAME), OsStr::new("")).unwrap();
        file.write_at(0, &all_bytes).unwrap();
        let mut count = 2;
        while count < 8 {
            put(
                folder.clone(),
                Mode::Append,
                ZSTD,
                std::slice::from_ref(&record),
            )
            .unwrap();
            count += 1;
            assert_eq!(
                all(folder.clone(), ZSTD).unwrap(),
                vec![record.clone(); count],
                "{size}"
            );
            let found = limits(&bytes(&folder));
            let rest = found.last().unwrap() - count * length;
            assert!(rest < size.max(2 * room::HEADER), "{size}: {rest}");
        }
    }
}
