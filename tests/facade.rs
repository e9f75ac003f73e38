//! The interface for Rust, on storage of the caller, on corrupt files and with invalid arguments. The
//! examples in its documentation test the rest.

use holdall::{
    Array, ArrayLayout, Bag, BagLimits, BagWriter, Codec, Element, Format, Integrity, Kind,
    Location, Options, Schunk, Selection, Status, Storage, Table, Values, identify, repair, verify,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Files in memory. `read_only` makes all methods that write unsupported.
#[derive(Default)]
struct Memory {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    read_only: bool,
}

impl Memory {
    fn file<T>(&self, name: &str, f: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T> {
        let mut files = self.files.lock().unwrap();
        files.get_mut(name).map(f).ok_or(ErrorKind::NotFound.into())
    }

    fn check(&self) -> Result<()> {
        match self.read_only {
            true => Err(ErrorKind::Unsupported.into()),
            false => Ok(()),
        }
    }
}

impl Storage for Memory {
    fn size(&self, name: &str) -> Result<u64> {
        self.file(name, |f| f.len() as u64)
    }
    fn read_at(&self, name: &str, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.file(name, |f| {
            let rest = f.get(at as usize..).unwrap_or_default();
            let n = rest.len().min(dst.len());
            dst[..n].copy_from_slice(&rest[..n]);
            n
        })
    }
    fn write_at(&self, name: &str, at: u64, src: &[u8]) -> Result<()> {
        self.check()?;
        self.file(name, |f| {
            let end = at as usize + src.len();
            f.resize(f.len().max(end), 0);
            f[at as usize..end].copy_from_slice(src);
        })
    }
    fn truncate(&self, name: &str, size: u64) -> Result<()> {
        self.check()?;
        let mut files = self.files.lock().unwrap();
        files
            .entry(name.into())
            .or_default()
            .resize(size as usize, 0);
        Ok(())
    }
    fn sync(&self, _: &str) -> Result<()> {
        self.check()
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.check()?;
        let mut files = self.files.lock().unwrap();
        let file = files.remove(from).ok_or(Error::from(ErrorKind::NotFound))?;
        files.insert(to.into(), file);
        Ok(())
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.check()?;
        let removed = self.files.lock().unwrap().remove(name);
        removed.map(|_| ()).ok_or(ErrorKind::NotFound.into())
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let prefix = match folder {
            "" => String::new(),
            _ => format!("{folder}/"),
        };
        let files = self.files.lock().unwrap();
        let inside = files.keys().filter_map(|name| name.strip_prefix(&prefix));
        let mut names: Vec<String> = inside
            .map(|name| name.split('/').next().unwrap().into())
            .collect();
        names.dedup();
        Ok(names)
    }
}

/// A folder that is removed at the end of a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("holdall-facade-{test}-{}", std::process::id()));
        _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn status<T>(result: holdall::Result<T>) -> Status {
    result.err().unwrap().status()
}

#[test]
fn every_container_can_be_in_storage_of_the_caller() {
    let none = Options::new();
    for format in [Format::B2nd, Format::Bloscpack, Format::Bcolz] {
        let memory = Arc::new(Memory::default());
        let layout = ArrayLayout::new(format);
        let mut array = Array::create(memory.clone(), i16::DTYPE, &[4], &layout, &none).unwrap();
        array.write([1..3], &[7i16, 8]).unwrap();
        array.commit().unwrap();
        drop(array);
        let mut array = Array::open_for_writing(memory.clone(), &none).unwrap();
        array.append(0, 1, &[9i16]).unwrap();
        array.commit().unwrap();
        let mut read = [0i16; 5];
        let array = Array::open(memory.clone()).unwrap();
        array.read(Selection::all(&[5]), &mut read).unwrap();
        assert_eq!(read, [0, 7, 8, 0, 9], "{format:?}");
    }

    let memory = Arc::new(Memory::default());
    let mut table = Table::create(memory.clone(), Format::Bcolz, &[("a", "<u4")], &none).unwrap();
    table.append(2, &[Values::from(&[1u32, 2][..])]).unwrap();
    table.commit().unwrap();
    let mut read = [0u32];
    let table = Table::open(memory.clone() as Arc<dyn Storage>).unwrap();
    table.read("a", 1..2, &mut read).unwrap();
    assert_eq!(read, [2]);
    assert_eq!(status(table.read("b", 0..1, &mut read)), Status::Missing);

    let memory = Arc::new(Memory::default());
    let mut schunk = Schunk::create(memory.clone(), Format::B2Frame, 1, &none).unwrap();
    schunk.append(b"content").unwrap();
    schunk.commit().unwrap();
    let bytes = memory.files.lock().unwrap()[""].clone();
    assert_eq!(Schunk::open(Location::memory(bytes)).unwrap().len(), 7);

    let memory = Memory {
        read_only: true,
        ..Memory::default()
    };
    let writer = BagWriter::create(Location::storage(memory), &none)
        .and_then(|mut writer| writer.append(b"").and_then(|()| writer.commit()));
    assert_eq!(status(writer), Status::Unsupported);
}

#[test]
fn a_wrong_type_an_invalid_option_and_a_wrong_range_are_errors() {
    let scratch = Scratch::new("arguments");
    let path = scratch.path("a.b2nd");
    let layout = ArrayLayout::new(Format::B2nd);
    let mut array = Array::create(&path, ">f8", &[2, 3], &layout, &Options::new()).unwrap();
    let mut numbers = [0f64; 6];
    let all = || Selection::all(&[2, 3]);
    if cfg!(target_endian = "little") {
        assert_eq!(status(array.read(all(), &mut numbers)), Status::Type);
        assert_eq!(status(array.write(all(), &numbers)), Status::Type);
        assert_eq!(status(array.append(0, 1, &numbers[..3])), Status::Type);
    }
    let mut bytes = [0; 48];
    array.read_bytes(all(), &mut bytes).unwrap();
    assert_eq!(
        status(array.read_bytes([0..3, 0..3], &mut bytes)),
        Status::Range
    );
    for wrong in [0..1, 0..0] {
        let dst = array.read_bytes([wrong.clone(), 0..3], &mut bytes);
        assert_eq!(status(dst), Status::Argument);
        assert_eq!(
            status(array.write_bytes([wrong, 0..3], &bytes)),
            Status::Argument
        );
    }
    assert_eq!(
        status(array.read_bytes(all(), &mut bytes[..40])),
        Status::Buffer
    );
    assert!(array.read_bytes(all().step(&[0, 1]), &mut bytes).is_err());
    // as Rust's ranges, one whose end is below its start is empty
    #[allow(clippy::reversed_empty_ranges)]
    array.read_bytes([1..0, 0..3], &mut []).unwrap();

    // the first invalid value is reported, by the call that takes the options
    let options = Options::new()
        .chunk_bytes(0)
        .memory_limit(u64::MAX)
        .level(100);
    let error = Array::open_with(&path, &options).err().unwrap();
    assert_eq!(error.status(), Status::Argument);
    assert!(error.message().contains("CHUNK_BYTES"), "{error}");
    let options = Options::new().bag_limits(BagLimits::Separate);
    assert_eq!(status(Array::open_with(&path, &options)), Status::Argument);
    let bag = Schunk::create(&path, Format::Bagz, 1, &Options::new());
    assert_eq!(status(bag), Status::Argument);

    let missing = Bag::open(scratch.path("missing.bagz")).err().unwrap();
    assert_eq!(missing.status(), Status::Missing);
    assert_eq!((missing.os_code(), missing.position()), (Some(2), None));
}

#[test]
fn a_corrupt_record_is_an_error_or_reported_as_skipped() {
    let scratch = Scratch::new("record");
    let path = scratch.path("a.bag");
    let mut writer = BagWriter::create(&path, &Options::new().codec(Codec::None)).unwrap();
    writer
        .append_concatenated(b"zeroonetwo", &[0, 4, 7, 10])
        .unwrap();
    assert_eq!(
        status(writer.append_concatenated(b"a", &[0, 2])),
        Status::Argument
    );
    writer.commit().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[5] ^= 1;
    fs::write(&path, bytes).unwrap();

    let bag = Bag::open(&path).unwrap();
    let error = bag.get(1).unwrap_err();
    assert_eq!(
        (error.status(), error.position()),
        (Status::Checksum, Some(1))
    );
    let all: Vec<_> = bag.iter().map(|record| record.ok()).collect();
    assert_eq!(all, [Some(b"zero".to_vec()), None, Some(b"two".to_vec())]);

    let bag = Bag::open_with(&path, &Options::new().skip_corrupt(true)).unwrap();
    assert_eq!(status(bag.get(1)), Status::Checksum);
    let records = bag.read_range(..).unwrap();
    assert_eq!((records.len(), records.get(1)), (3, Some(&b""[..])));
    assert_eq!(records.get(3), None);
    let corrupt: Vec<u64> = records.corrupt().map(|(i, _)| i).collect();
    assert_eq!(corrupt, [1]);
    assert_eq!(bag.into_iter().filter(|record| record.is_err()).count(), 1);
    let mut stream = bag.stream(&Options::new()).unwrap();
    while stream.next_record().unwrap().is_some() {}
    assert_eq!((stream.corrupt(), stream.number()), (1, Some(2)));
    let last = bag.strided(2, -2, 2).unwrap();
    assert_eq!(last.slice(1..=1).unwrap().get(0).unwrap(), b"zero");
    assert_eq!(status(bag.slice(2..5)), Status::Range);

    let mut faults = Vec::new();
    let verified = verify(&path, &Options::new(), |part, error| {
        faults.push((part.to_owned(), error.status()));
        true
    })
    .unwrap();
    assert_eq!(faults, [("record 1".to_owned(), Status::Checksum)]);
    assert_eq!(
        (verified.intact, verified.corrupt, verified.faults),
        (2, 1, 1)
    );
    assert!(!verified.is_intact());
}

#[test]
fn a_corrupt_chunk_is_an_error_or_reported_as_filled() {
    let scratch = Scratch::new("chunk");
    let path = scratch.path("a.blp");
    let options = Options::new().codec(Codec::None).chunk_bytes(64);
    let mut schunk = Schunk::create(&path, Format::Bloscpack, 1, &options).unwrap();
    schunk.append(&[7; 128]).unwrap();
    schunk.set_attribute("", b"{\"a\": 1}").unwrap();
    schunk.commit().unwrap();
    schunk
        .copy_to(
            scratch.path("copy.b2frame"),
            Format::B2Frame,
            &Options::new(),
        )
        .unwrap();
    drop(schunk);
    assert_eq!(identify(&path).unwrap(), (Format::Bloscpack, Kind::Schunk));
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.iter().rposition(|byte| *byte == 7).unwrap();
    bytes[last] = 8;
    fs::write(&path, bytes).unwrap();

    let mut read = [0; 128];
    let schunk = Schunk::open(&path).unwrap();
    assert_eq!(schunk.attribute("").unwrap(), Some(&b"{\"a\": 1}"[..]));
    assert_eq!(
        schunk.read_chunk(0, &mut read[..64]).unwrap(),
        Integrity::Intact
    );
    assert_eq!(status(schunk.read(0, &mut read)), Status::Checksum);
    let skip = Options::new().skip_corrupt(true);
    let schunk = Schunk::open_with(&path, &skip).unwrap();
    assert_eq!(schunk.read(0, &mut read).unwrap(), Integrity::Filled);
    assert_eq!((read[63], read[127]), (7, 0));

    let planned = repair(&path, &Options::new().dry_run(true)).unwrap();
    assert_eq!((planned.retained, planned.dropped), (1, 1));
    assert_eq!(
        status(Schunk::open(&path).unwrap().read(64, &mut [0])),
        Status::Checksum
    );
    assert_eq!(repair(&path, &Options::new()).unwrap(), planned);
    Schunk::open(&path).unwrap().read(0, &mut read).unwrap();
    Schunk::open(scratch.path("copy.b2frame"))
        .unwrap()
        .read(0, &mut read)
        .unwrap();
    assert_eq!(read, [7; 128]);
}
