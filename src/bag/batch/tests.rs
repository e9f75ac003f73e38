//! The reads of a batch: consecutive records together, each record once, and the effect of an
//! unreadable sector.

use crate::bag::{Bag, Mode, ShardPath, Writer};
use crate::error::Status;
use crate::io::functions::{FunctionError, FunctionResult, Functions, FunctionsFolder};
use crate::io::sim::{Counting, SimDisk, Use};
use crate::io::{Access, Folder};
use crate::options::{Opt, Options};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A file with an unreadable range. Records the ranges that are read.
struct Disk {
    bytes: Vec<u8>,
    unreadable: Option<Range<u64>>,
    reads: Mutex<Vec<Range<u64>>>,
}

impl Functions for Disk {
    fn size(&self, name: &OsStr) -> FunctionResult<u64> {
        if name.is_empty() {
            Ok(self.bytes.len() as u64)
        } else {
            Err(FunctionError::Errno(2))
        }
    }
    fn read_at(&self, _: &OsStr, at: u64, dst: &mut [u8]) -> FunctionResult<u64> {
        let requested = at..at + dst.len() as u64;
        self.reads.lock().unwrap().push(requested.clone());
        if self.unreadable.as_ref().is_some_and(|unreadable| {
            unreadable.start < requested.end && requested.start < unreadable.end
        }) {
            return Err(FunctionError::Errno(5));
        }
        dst.copy_from_slice(&self.bytes[at as usize..requested.end as usize]);
        Ok(dst.len() as u64)
    }
    fn write_at(&self, _: &OsStr, _: u64, _: &[u8]) -> FunctionResult<()> {
        Err(FunctionError::Absent)
    }
    fn truncate(&self, _: &OsStr, _: u64) -> FunctionResult<()> {
        Err(FunctionError::Absent)
    }
    fn sync(&self, _: &OsStr) -> FunctionResult<()> {
        Err(FunctionError::Absent)
    }
    fn rename(&self, _: &OsStr, _: &OsStr) -> FunctionResult<()> {
        Err(FunctionError::Absent)
    }
    fn remove(&self, _: &OsStr) -> FunctionResult<()> {
        Err(FunctionError::Absent)
    }
    fn list(&self, _: &OsStr) -> FunctionResult<Vec<OsString>> {
        Err(FunctionError::Absent)
    }
    fn writable(&self) -> bool {
        false
    }
}

fn record(i: u64) -> Vec<u8> {
    (0..100)
        .map(|k| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (k % 50)) as u8)
        .collect()
}

/// A bag of records 0 to 1000, one of which may be on an unreadable sector.
fn bag(codec: i64, unreadable: Option<u64>) -> (Bag, Arc<Disk>) {
    let folder: Arc<dyn Folder> = Arc::new(SimDisk::default());
    let options = Options::new().with(Opt::Codec, codec).unwrap();
    let mut w = Writer::open_in(
        &folder,
        OsStr::new(""),
        Mode::New,
        &options.clone().with(Opt::Checksum, 0).unwrap(),
    )
    .unwrap();
    (0..1000).for_each(|i| w.append(&record(i)).unwrap());
    w.commit().unwrap();
    let file = folder.open(OsStr::new(""), Access::Read).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_exact_at(0, &mut bytes).unwrap();
    let limits = u64::from_le_bytes(*bytes.last_chunk().unwrap()) as usize;
    let limit =
        |i: u64| u64::from_le_bytes(bytes[limits + 8 * i as usize..][..8].try_into().unwrap());
    let unreadable = unreadable.map(|i| limit(i - 1) + 3..limit(i) - 3);
    let disk = Arc::new(Disk {
        bytes,
        unreadable,
        reads: Mutex::default(),
    });
    let path = ShardPath::new(Arc::new(FunctionsFolder::new(disk.clone())), "");
    (Bag::open_in(&[path], &options).unwrap(), disk)
}

const FORMS: [i64; 2] = [0, 6];

#[test]
fn consecutive_records_are_read_together_and_each_record_once() {
    for codec in FORMS {
        let (bag, disk) = bag(codec, None);
        let end = u64::from_le_bytes(*disk.bytes.last_chunk().unwrap());
        // Some records of each group of twenty, all within one piece of the file.
        let numbers: Vec<u64> = (0..400)
            .map(|k| k * 7 % 100 / 20 * 20 + 500 + k % 5)
            .collect();
        disk.reads.lock().unwrap().clear();
        let got = bag.read_indices(&numbers).unwrap();
        assert!(got.iter().eq(numbers.iter().map(|&i| record(i))));
        let reads = disk
            .reads
            .lock()
            .unwrap()
            .iter()
            .filter(|r| r.start < end)
            .count();
        assert!(reads <= 400usize.div_ceil(128), "{reads} reads of {codec}");
        // One record, repeatedly.
        disk.reads.lock().unwrap().clear();
        assert!(
            bag.read_indices(&[77; 100])
                .unwrap()
                .iter()
                .eq([record(77)].iter().cycle().take(100))
        );
        assert_eq!(
            disk.reads
                .lock()
                .unwrap()
                .iter()
                .filter(|r| r.start < end)
                .count(),
            1
        );
    }
}

#[test]
fn an_unreadable_sector_affects_only_its_record() {
    for codec in FORMS {
        let (bag, _) = bag(codec, Some(505));
        for numbers in [
            (500..510).collect::<Vec<u64>>(),
            vec![505, 3, 505, 504],
            vec![506, 506, 505],
        ] {
            let failed = bag.read_indices(&numbers).unwrap_err();
            assert_eq!((failed.status, failed.position), (Status::Callback, 505));
            let others: Vec<u64> = numbers.iter().copied().filter(|&i| i != 505).collect();
            assert!(
                bag.read_indices(&others)
                    .unwrap()
                    .iter()
                    .eq(others.iter().map(|&i| record(i)))
            );
        }
        let mut stream = crate::bag::Stream::open(&bag, None, &Options::new()).unwrap();
        for i in 0..1000 {
            match stream.next_record() {
                Ok(r) => assert!(r == Some(&record(i)[..]) && i != 505),
                Err(e) => assert_eq!((e.position, i), (505, 505)),
            }
        }
        assert_eq!(stream.next_record().unwrap(), None);
    }
}

#[test]
fn scattered_records_and_their_limits_are_announced_before_they_are_read() {
    for codec in FORMS {
        let folder: Arc<dyn Folder> = Arc::new(SimDisk::default());
        let options = Options::new().with(Opt::Codec, codec).unwrap();
        let unchecked = options.clone().with(Opt::Checksum, 0).unwrap();
        let mut w = Writer::open_in(&folder, OsStr::new("x"), Mode::New, &unchecked).unwrap();
        (0..20_000).for_each(|i| w.append(&record(i)).unwrap());
        w.commit().unwrap();
        let uses = Arc::new(Mutex::new(Vec::new()));
        let watched: Arc<dyn Folder> = Arc::new(Counting(folder, uses.clone()));
        let bag = Bag::open_in(&[ShardPath::new(watched, "x")], &options).unwrap();
        uses.lock().unwrap().clear();
        let numbers: Vec<u64> = (0..200).map(|k| k * 7 % 200 * 97 + 5).collect();
        let got = bag.read_indices(&numbers).unwrap();
        assert!(got.iter().eq(numbers.iter().map(|&i| record(i))));
        let (reads, surprises) = Use::tally(&uses.lock().unwrap());
        assert!(reads >= 200, "{reads} reads of {codec}");
        assert_eq!(surprises, [], "{codec}");
    }
}
