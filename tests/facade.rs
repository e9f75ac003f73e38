//! The interface for Rust, on storage of the caller, on corrupt files and with invalid arguments. The
//! examples in its documentation test the rest.

use holdall::{
    Array, ArrayLayout, ArrowArrayStream, ArrowReader, Bag, BagChecksum, BagIndex, BagLimits,
    BagShards, BagWriter, Checksum, Codec, Element, Epoch, Filter, Format, Integrity, Kind,
    Location, MemoryStorage, Options, Order, Scan, Schunk, Selection, Status, Storage,
    StorageRange, Table, Values, identify, kind_of_broken, repair, verify,
};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// The same files, read by few calls.
#[derive(Default)]
struct Server {
    memory: Memory,
    calls: AtomicUsize,
}

impl Storage for Server {
    fn size(&self, name: &str) -> Result<u64> {
        self.memory.size(name)
    }
    fn read_at(&self, name: &str, at: u64, dst: &mut [u8]) -> Result<usize> {
        self.memory.read_at(name, at, dst)
    }
    fn write_at(&self, name: &str, at: u64, src: &[u8]) -> Result<()> {
        self.memory.write_at(name, at, src)
    }
    fn truncate(&self, name: &str, size: u64) -> Result<()> {
        self.memory.truncate(name, size)
    }
    fn sync(&self, name: &str) -> Result<()> {
        self.memory.sync(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.memory.rename(from, to)
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.memory.remove(name)
    }
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.memory.list(folder)
    }
    fn reads_ranges(&self) -> bool {
        true
    }
    fn read_ranges(&self, ranges: &mut [StorageRange<'_>]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        for range in ranges {
            range.size = self.size(range.name);
            if let Ok(size) = range.size {
                let end = size.saturating_sub(range.at.unsigned_abs());
                let at = u64::try_from(range.at).unwrap_or(end);
                self.read_at(range.name, at, range.dst)?;
            }
        }
        Ok(())
    }
}

#[test]
fn storage_may_read_ranges_by_one_call() {
    let server = Arc::new(Server::default());
    let layout = ArrayLayout::new(Format::B2nd).chunks(&[50, 70]);
    let none = Options::new();
    let mut array = Array::create(server.clone(), i32::DTYPE, &[200, 300], &layout, &none).unwrap();
    let items: Vec<i32> = (0..60_000).collect();
    array.write([0..200, 0..300], &items).unwrap();
    array.commit().unwrap();
    server.calls.store(0, Ordering::Relaxed);
    let array = Array::open(server.clone()).unwrap();
    let mut row = [0i32; 300];
    array.read([7..8, 0..300], &mut row).unwrap();
    assert_eq!(row, items[2100..2400]);
    assert!((2..=4).contains(&server.calls.load(Ordering::Relaxed)));
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
    assert_eq!(status(table.read("b", 0..1, &mut read)), Status::Argument);

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
fn a_raw_file_without_the_name_of_a_bag_is_none() {
    let scratch = Scratch::new("raw");
    let le =
        |numbers: &[u64]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let text: Vec<u8> = (0..4096).map(|i| b'a' + (i % 26) as u8).collect();
    let not_ascending = [&text[..16], &le(&[8, 4, 16])].concat();
    let beyond = [&text[..16], &le(&[99, 16])].concat();
    for (i, raw) in [
        vec![0; 8],
        vec![0; 80_000],
        [text, vec![0; 4096]].concat(),
        le(&[1, 2, 3, 4, 5, 6, 7, 0]),
        not_ascending,
        beyond,
    ]
    .into_iter()
    .enumerate()
    {
        let path = scratch.path(&format!("raw-{i}"));
        fs::write(&path, &raw).unwrap();
        assert_eq!(identify(&path).unwrap_err().status(), Status::Format, "{i}");
        assert_eq!(kind_of_broken(&path), None);
        let mut faults = 0;
        let verified = verify(&path, &Options::new(), |_, _| {
            faults += 1;
            true
        });
        assert_eq!(
            (verified.unwrap_err().status(), faults),
            (Status::Format, 1),
            "{i}"
        );
        let _ = verify(&path, &Options::new().codec(Codec::None), |_, _| true).unwrap();
        let named = scratch.path(&format!("raw-{i}.bag"));
        fs::write(&named, &raw).unwrap();
        assert_eq!(identify(&named).unwrap(), (Format::Bagz, Kind::Bag), "{i}");
    }
}

#[test]
fn a_bag_is_identified_under_any_name() {
    let scratch = Scratch::new("named");
    let many: Vec<Vec<u8>> = (0..20_000).map(|i| vec![b'x'; i % 3]).collect();
    for (i, (records, checksums)) in [
        (vec![vec![]; 5], true),
        (vec![b"a".to_vec()], false),
        (vec![vec![], b"a".to_vec(), vec![]], false),
        (many, false),
    ]
    .into_iter()
    .enumerate()
    {
        let path = scratch.path(&format!("bag-{i}"));
        let options = match checksums {
            true => Options::new(),
            false => Options::new().checksum(Checksum::None),
        };
        let mut writer = BagWriter::create(&path, &options.codec(Codec::None)).unwrap();
        writer.append_many(&records).unwrap();
        writer.commit().unwrap();
        assert_eq!(identify(&path).unwrap(), (Format::Bagz, Kind::Bag), "{i}");
        let verified = verify(&path, &Options::new(), |_, _| true).unwrap();
        assert!(verified.is_intact(), "{i}");
    }
}

#[test]
fn containers_in_memory_are_identified() {
    let options = Options::new();
    let memory = MemoryStorage::new();
    assert_eq!(identify(&memory).unwrap_err().status(), Status::Missing);
    for format in [Format::Bloscpack, Format::B2Frame] {
        let memory = MemoryStorage::new();
        let mut schunk = Schunk::create(&memory, format, 4, &options).unwrap();
        schunk.append(&[7; 100]).unwrap();
        schunk.commit().unwrap();
        assert_eq!(identify(&memory).unwrap(), (format, Kind::Schunk));
        let bytes = memory.bytes("").unwrap();
        let location = Location::memory(bytes.to_vec());
        assert_eq!(identify(location).unwrap(), (format, Kind::Schunk));
    }
    for format in [Format::B2nd, Format::Caterva, Format::Bcolz, Format::BlzRfc] {
        let memory = MemoryStorage::new();
        let layout = ArrayLayout::new(format);
        let mut array = Array::create(&memory, "<i4", &[3], &layout, &options).unwrap();
        array.commit().unwrap();
        assert_eq!(identify(&memory).unwrap(), (format, Kind::Array));
    }
    let memory = MemoryStorage::new();
    let mut table = Table::create(&memory, Format::Blz, &[("x", "<i4")], &options).unwrap();
    table.commit().unwrap();
    assert_eq!(identify(&memory).unwrap(), (Format::Blz, Kind::Table));
    let memory = MemoryStorage::new();
    let mut writer = BagWriter::create(&memory, &options).unwrap();
    writer.append(b"a record").unwrap();
    writer.commit().unwrap();
    assert_eq!(identify(&memory).unwrap(), (Format::Bagz, Kind::Bag));

    let is_broken = |bytes: &[u8]| {
        let location = Location::memory(bytes.to_vec());
        let status = identify(location.clone()).unwrap_err().status();
        (status, kind_of_broken(location))
    };
    assert_eq!(is_broken(b"no container"), (Status::Format, None));
    assert_eq!(is_broken(b""), (Status::Format, None));
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

#[test]
fn items_are_read_and_written_at_points_products_and_strides() {
    let scratch = Scratch::new("items");
    let none = Options::new();
    for format in [Format::B2nd, Format::Bloscpack, Format::Bcolz] {
        let path = scratch.path(&format!("{format:?}"));
        let layout = ArrayLayout::new(format);
        let mut array = Array::create(&path, i32::DTYPE, &[3, 4], &layout, &none).unwrap();
        let all = || Selection::all(&[3, 4]);
        let numbers: Vec<i32> = (0..12).collect();
        array.write(all(), &numbers).unwrap();

        let mut three = [0; 3];
        let points = [[2, 3], [0, 0], [2, 3]];
        array
            .read_points(points.as_flattened(), &mut three)
            .unwrap();
        assert_eq!(three, [11, 0, 11]);
        let outside = array
            .read_points(&[0, 0, 3, 0], &mut three[..2])
            .unwrap_err();
        assert_eq!(
            (outside.status(), outside.position()),
            (Status::Range, Some(1))
        );
        for wrong in [&[0, 0, 1][..], &[0, 0]] {
            assert_eq!(
                status(array.read_points(wrong, &mut three)),
                Status::Argument
            );
        }
        let mut bytes = [0; 4];
        array.read_points_bytes(&[1, 1], &mut bytes).unwrap();
        assert_eq!(bytes, 5i32.to_ne_bytes());
        assert_eq!(
            status(array.read_points(&[0, 0], &mut [0f32])),
            Status::Type
        );

        let mut four = [0; 4];
        let positions: [Option<&[u64]>; 2] = [Some(&[2, 0]), Some(&[1, 3])];
        array.read_orthogonal(&positions, &mut four).unwrap();
        assert_eq!(four, [9, 11, 1, 3]);
        array
            .write_orthogonal(&positions, &[-1, -2, -3, -4])
            .unwrap();
        array
            .read_orthogonal(&[None, Some(&[1])], &mut three)
            .unwrap();
        assert_eq!(three, [-3, 5, -1]);
        for (wrong, expected) in [
            (&[None][..], Status::Argument),
            (&[Some(&[3][..]), None], Status::Range),
            (&[Some(&[0][..]), Some(&[0, 1])], Status::Argument),
        ] {
            let mut dst = [0; 4];
            assert_eq!(status(array.read_orthogonal(wrong, &mut dst)), expected);
            assert_eq!(status(array.write_orthogonal(wrong, &dst)), expected);
        }
        let short = array.read_orthogonal(&[None, None], &mut four);
        assert_eq!(status(short), Status::Buffer);

        // to a buffer in Fortran order, and from one in reverse order
        let mut columns = [9; 12];
        array.read_strided(all(), &mut columns, &[1, 3]).unwrap();
        assert_eq!(columns[..6], [0, 4, 8, -3, 5, -1]);
        array.write_strided(all(), &numbers, &[-4, -1]).unwrap();
        array.read([0..1, 0..4], &mut four).unwrap();
        assert_eq!(four, [11, 10, 9, 8]);
        let mut one = [0; 4];
        array
            .read_bytes_strided([1..2, 0..1], &mut one, &[100, i64::MIN])
            .unwrap();
        assert_eq!(one, 7i32.to_ne_bytes());
        array
            .write_bytes_strided([0..3, 0..1], &one, &[0, 4])
            .unwrap();
        let mut last = [0; 1];
        array.read([2..3, 0..1], &mut last).unwrap();
        assert_eq!(last, [7]);
        for wrong in [&[1][..], &[i64::MAX, 1]] {
            assert!(array.read_strided(all(), &mut columns, wrong).is_err());
        }

        array.insert(0, 1, 1, &[70, 71, 72, 73]).unwrap();
        array.remove(0, 2..4).unwrap();
        assert_eq!(array.shape(), [2, 4]);
        array.read([1..2, 0..4], &mut four).unwrap();
        assert_eq!(four, [70, 71, 72, 73]);
        assert_eq!(status(array.insert(2, 0, 1, &[0; 4])), Status::Argument);
        assert_eq!(status(array.remove(0, 1..3)), Status::Range);
        assert_eq!(status(array.read_object(0)), Status::Type);
    }
}

#[test]
fn an_array_says_how_it_is_stored_and_is_copied_anywhere() {
    let scratch = Scratch::new("stored");
    let options = Options::new()
        .codec(Codec::Zstd)
        .level(7)
        .filters(&[Filter::Bitshuffle]);
    let path = scratch.path("a.bcolz");
    let layout = ArrayLayout::new(Format::Bcolz);
    let mut array = Array::create(&path, u16::DTYPE, &[10], &layout, &options).unwrap();
    array.set_fill(7u16).unwrap();
    assert_eq!(status(array.set_fill(7i64)), Status::Type);
    array.resize(&[12]).unwrap();
    array.commit().unwrap();
    assert_eq!(array.generation(), 1);
    assert_eq!((array.format(), array.order()), (Format::Bcolz, Order::C));
    let encoding = array.encoding();
    assert_eq!(
        (encoding.codec, encoding.level),
        (Some(Codec::Zstd), Some(7))
    );
    assert_eq!(encoding.filters, [Some(Filter::Bitshuffle)]);
    assert_eq!(array.fill_value().unwrap(), Some(&7u16.to_ne_bytes()[..]));
    array.set_fill_bytes(&[]).unwrap();
    assert_eq!(array.fill_value().unwrap(), None);

    let memory = Arc::new(Memory::default());
    let b2nd = ArrayLayout::new(Format::B2nd);
    let none = Options::new();
    array.copy_to(memory.clone(), &b2nd, &none).unwrap();
    assert_eq!(
        status(array.copy_to(memory.clone(), &b2nd, &none)),
        Status::Exists
    );
    array.copy_replacing(memory.clone(), &b2nd, &none).unwrap();
    let copy = Array::open(memory).unwrap();
    let mut items = [0u16; 12];
    copy.read([0..12], &mut items).unwrap();
    assert_eq!(items, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7]);
    assert_eq!(copy.format(), Format::B2nd);
    assert_eq!(status(copy.read_object(0)), Status::Type);

    let two = Location::shards([
        Arc::new(Memory::default()) as Arc<dyn Storage>,
        Arc::new(Memory::default()),
    ]);
    assert_eq!(status(Array::open(two.clone())), Status::Argument);
    assert_eq!(
        status(array.copy_to(two, &b2nd, &Options::new())),
        Status::Argument
    );
}

#[test]
fn a_reader_follows_the_commits_of_a_writer() {
    let scratch = Scratch::new("follow");
    let none = Options::new();

    let path = scratch.path("a.b2nd");
    let layout = ArrayLayout::new(Format::B2nd);
    let mut writer = Array::create(&path, "|u1", &[2], &layout, &none).unwrap();
    writer.commit().unwrap();
    let mut reader = Array::open(&path).unwrap();
    writer.resize(&[3]).unwrap();
    writer.commit().unwrap();
    assert_eq!(reader.shape(), [2]);
    assert!(reader.refresh().unwrap());
    assert_eq!((reader.shape(), reader.generation()), (&[3][..], 1));
    assert_eq!(status(writer.refresh()), Status::State);
    fs::remove_file(&path).unwrap();
    assert_eq!(status(reader.refresh()), Status::Missing);
    assert_eq!(reader.shape(), [3]);

    let path = scratch.path("t.bcolz");
    let mut writer = Table::create(&path, Format::Bcolz, &[("x", "|u1")], &none).unwrap();
    writer.commit().unwrap();
    let mut reader = Table::open(&path).unwrap();
    writer.append(1, &[Values::from(&[5u8])]).unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.column("x").unwrap().generation(), 2);
    assert!(reader.refresh().unwrap());
    assert_eq!((reader.rows(), reader.generation()), (1, 1));
    assert_eq!(status(writer.refresh()), Status::State);

    let memory = Arc::new(Memory::default());
    let mut writer = Schunk::create(memory.clone(), Format::B2Frame, 1, &none).unwrap();
    writer.append(b"one").unwrap();
    writer.commit().unwrap();
    let mut reader = Schunk::open(memory).unwrap();
    writer.append(b"two").unwrap();
    writer.commit().unwrap();
    // storage of the caller has no time stamps
    assert!(reader.refresh().unwrap() && reader.refresh().unwrap());
    assert_eq!((reader.len(), reader.generation()), (6, 2));
    assert_eq!(status(writer.refresh()), Status::State);

    let path = scratch.path("b.bagz");
    let mut writer = BagWriter::create(&path, &none).unwrap();
    writer.append(b"one").unwrap();
    writer.commit().unwrap();
    let mut reader = Bag::open(&path).unwrap();
    let clone = reader.clone();
    writer.append(b"two").unwrap();
    writer.commit().unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!((reader.len(), clone.len()), (2, 1));
    assert_eq!((reader.generation(), clone.generation()), (1, 0));
    assert_eq!(status(reader.slice(..).unwrap().refresh()), Status::State);
    std::thread::sleep(std::time::Duration::from_millis(200));
    reader.refresh().unwrap();
    // nothing has changed, and the stamps are old enough to show it
    assert!(!reader.refresh().unwrap());
}

#[test]
fn a_bag_says_how_it_is_stored_and_reads_into_buffers() {
    let scratch = Scratch::new("bag");
    let path = scratch.path("a@2.bagz");
    let options = Options::new().bag_limits(BagLimits::Separate);
    let mut writer = BagWriter::create(&path, &options).unwrap();
    writer.append_many(&["zero", "one", "two"]).unwrap();
    writer.commit().unwrap();

    let bag = Bag::open_with(&path, &options).unwrap();
    let shards: Vec<u64> = bag.shards().map(|(_, records)| records).collect();
    assert_eq!(shards, [2, 1]);
    assert!(bag.shards().all(|(name, _)| name.contains("of-00002")));
    let files = Bag::files(&path).unwrap();
    assert_eq!(files[1], scratch.path("a-00001-of-00002.bagz"));
    assert_eq!(
        (bag.codec(), bag.limits(), bag.shard_order()),
        (
            Some(Codec::Zstd),
            BagLimits::Separate,
            BagShards::Interleaved
        )
    );
    assert_eq!(bag.protection().unwrap(), BagChecksum::Zstd);
    let (checksum, integrity) = bag.checksum(Checksum::Sha1).unwrap();
    let mut hasher = Checksum::Sha1.hasher();
    for record in &bag {
        let record = record.unwrap();
        hasher.update(&(record.len() as u64).to_le_bytes());
        hasher.update(&record);
    }
    assert_eq!((checksum, integrity), (hasher.finish(), Integrity::Intact));

    let mut buffer = [0; 3];
    assert_eq!(bag.record_len(0).unwrap(), 4);
    let short = bag.read_into(0, &mut buffer).unwrap_err();
    assert_eq!(
        (short.status(), short.position()),
        (Status::Buffer, Some(0))
    );
    let read = bag.read_into(2, &mut buffer).unwrap();
    assert_eq!((read, &buffer), ((3, Integrity::Intact), b"two"));
    assert_eq!(status(bag.record_len(3)), Status::Range);
    let (bytes, offsets) = bag.read_range(1..).unwrap().into_parts();
    assert_eq!((&bytes[..], &offsets[..]), (&b"onetwo"[..], &[0, 3, 6][..]));

    // two shards in memory, one after the other
    let shards = files.iter().map(|file| {
        let memory = Memory::default();
        let bytes = fs::read(file).unwrap();
        let limits = fs::read(file.with_file_name(format!(
            "limits.{}",
            file.file_name().unwrap().to_str().unwrap()
        )));
        let mut all = memory.files.lock().unwrap();
        all.insert(String::new(), bytes);
        all.insert("limits.".into(), limits.unwrap());
        drop(all);
        Arc::new(memory) as Arc<dyn Storage>
    });
    let options = options.codec(Codec::Zstd);
    let bag = Bag::open_with(Location::shards(shards), &options).unwrap();
    assert_eq!((bag.len(), bag.get(1).unwrap()), (3, b"one".to_vec()));
}

#[test]
fn shards_in_memory_are_one_bag_and_copied_to_another() {
    let none = Options::new();
    let parts = [MemoryStorage::new(), MemoryStorage::new()];
    for (memory, records) in parts.iter().zip([["zero", "one"], ["two", "three"]]) {
        let mut writer = BagWriter::create(memory, &none).unwrap();
        writer.append_many(&records).unwrap();
        writer.commit().unwrap();
    }
    let bag = Bag::open(Location::shards(&parts)).unwrap();
    assert_eq!((bag.len(), bag.get(2).unwrap()), (4, b"two".to_vec()));

    let mut writer = BagWriter::open(&parts[0], &none).unwrap();
    let copied = writer.copy_from(&bag, Some(&[3, 0])).unwrap();
    assert_eq!((copied, writer.len()), (Integrity::Intact, 4));
    assert_eq!(Bag::open(&parts[0]).unwrap().get(2).unwrap(), b"three");
    let part = Bag::open(&parts[1]).unwrap().slice(1..).unwrap();
    let appended = writer.append_from(&part).unwrap();
    assert_eq!((appended, writer.len()), ((5, Integrity::Intact), 5));
    assert_eq!(Bag::open(&parts[0]).unwrap().len(), 4);
    writer.commit().unwrap();
    assert_eq!(Bag::open(&parts[0]).unwrap().get(4).unwrap(), b"three");

    let mixed = Location::shards([Location::from(&parts[0]), Location::from("no.bag")]);
    assert_eq!(status(Bag::open(mixed)), Status::Argument);
}

#[test]
fn an_index_finds_records_by_content() {
    let scratch = Scratch::new("index");
    let path = scratch.path("a.bagz");
    let none = Options::new();
    let mut writer = BagWriter::create(&path, &none).unwrap();
    writer.append_many(&["b", "", "a", "b"]).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let bag = Bag::open(&path).unwrap();

    let check = |index: &BagIndex| {
        assert_eq!((index.key_count(), index.corrupt()), (3, 0));
        assert_eq!(index.find_first(b"b").unwrap(), Some(0));
        assert_eq!(index.find_first(b"c").unwrap(), None);
        assert_eq!(index.find(b"b").unwrap(), [0, 3]);
        assert!(index.find(b"bb").unwrap().is_empty());
        let many = index.find_many(&["a", "none", "", "b"]).unwrap();
        assert_eq!(many, [Some(2), None, Some(1), Some(0)]);
        assert!(index.find_many::<&[u8]>(&[]).unwrap().is_empty());
    };
    check(&BagIndex::build(&bag, &none).unwrap());
    let file = scratch.path("a.index");
    check(&BagIndex::create(&file, &bag, &none).unwrap());
    assert_eq!(status(BagIndex::create(&file, &bag, &none)), Status::Exists);
    check(&BagIndex::replace(&file, &bag, &none).unwrap());
    assert_eq!(
        status(BagIndex::replace(&path, &bag, &none)),
        Status::Exists
    );
    check(&BagIndex::open(&file, &bag).unwrap());
    let memory = Location::memory(fs::read(&file).unwrap());
    check(&BagIndex::open_with(memory, &bag, &none.clone().threads(2)).unwrap());
    let slice = bag.slice(1..).unwrap();
    assert_eq!(status(BagIndex::open(&file, &slice)), Status::State);
    assert_eq!(
        BagIndex::build(&slice, &none).unwrap().find(b"b").unwrap(),
        [2]
    );
    assert_eq!(status(BagIndex::open(&path, &bag)), Status::Format);
}

#[test]
fn an_epoch_has_every_number_once_over_all_ranks() {
    let mut all: Vec<u64> = Epoch::new(100, 1, 0).collect();
    assert_eq!(
        all,
        Epoch::of_rank(100, 1, 0, 0, 1).unwrap().collect::<Vec<_>>()
    );
    let mut ranks: Vec<u64> = (0..3)
        .flat_map(|rank| Epoch::of_rank(100, 1, 0, rank, 3).unwrap())
        .collect();
    ranks.sort_unstable();
    let mut epoch = Epoch::new(100, 1, 7);
    epoch.seek(0, 60).unwrap();
    assert!(epoch.eq(all[60..].iter().copied()));
    assert_ne!(all, Epoch::new(100, 1, 1).collect::<Vec<_>>());
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..100) && ranks == all);
    assert_eq!(status(Epoch::of_rank(9, 1, 0, 3, 3)), Status::Argument);
    let mut rank = Epoch::of_rank(10, 1, 0, 2, 3).unwrap();
    assert_eq!(rank.numbers_per_epoch(), 3);
    assert_eq!(status(rank.seek(1, 4)), Status::Range);
    assert_eq!(rank.count(), 3);
}

#[test]
fn chunks_are_described_and_pass_through_as_stored() {
    let none = Options::new();
    for (format, version) in [(Format::Bloscpack, 3), (Format::B2Frame, 2)] {
        let memory = Arc::new(Memory::default());
        let options = Options::new().chunk_bytes(4096);
        let mut schunk = Schunk::create(memory.clone(), format, 1, &options).unwrap();
        schunk.append(&[7; 5000]).unwrap();
        schunk.commit().unwrap();
        let schunk = Schunk::open(memory).unwrap();
        assert_eq!((schunk.format(), schunk.version()), (format, version));
        assert!(!schunk.is_sparse() && !schunk.is_attribute_corrupt(""));
        let encoding = schunk.encoding();
        assert_eq!(
            (encoding.codec, encoding.checksum),
            (Some(Codec::Lz4), Checksum::Crc32)
        );
        let info = schunk.chunk_info(1).unwrap();
        assert_eq!((info.content_bytes, info.is_pending), (904, false));
        assert_eq!(status(schunk.chunk_info(2)), Status::Range);
        let (checksum, _) = schunk.checksum(Checksum::Md5).unwrap();
        assert_eq!(checksum, Checksum::Md5.compute(&[7; 5000]));

        let raw = schunk.read_raw(0).unwrap();
        let memory = Arc::new(Memory::default());
        let mut copy = Schunk::create(memory.clone(), format, 1, &options).unwrap();
        copy.append_raw(&raw).unwrap();
        assert_eq!(status(copy.append_raw(b"no chunk")), Status::Format);
        copy.commit().unwrap();
        assert_eq!((copy.len(), copy.generation()), (4096, 1));
        assert_eq!(
            status(schunk.copy_to(memory.clone(), format, &none)),
            Status::Exists
        );
        schunk
            .copy_replacing(memory.clone(), format, &none)
            .unwrap();
        assert_eq!(Schunk::open(memory).unwrap().len(), 5000);
    }
}

#[test]
fn rows_and_columns_of_a_table_change() {
    let scratch = Scratch::new("table");
    let path = scratch.path("t");
    let none = Options::new();
    let columns = [("n", i32::DTYPE), ("v", "('|u1', (2,))")];
    let mut table = Table::create(&path, Format::Bcolz, &columns, &none).unwrap();
    let rows = [
        Values::from(&[1i32, 2, 3]),
        Values::from(&[1u8, 2, 3, 4, 5, 6]),
    ];
    table.append(3, &rows).unwrap();
    table.write("n", 1, 1, &[20i32]).unwrap();
    assert_eq!(status(table.write("n", 1, 1, &[20u8])), Status::Type);
    assert_eq!(status(table.write("x", 1, 1, &[20i32])), Status::Argument);
    assert_eq!(status(table.write("n", 3, 1, &[20i32])), Status::Range);
    table
        .add_column(1, "t", "|S2", Values::bytes(b"aabbcc"))
        .unwrap();
    assert_eq!(
        status(table.add_column(0, "t", "|u1", &[1u8, 2, 3])),
        Status::Exists
    );
    assert_eq!(
        status(table.add_column(0, "f", "<f4", &[1u8, 2, 3])),
        Status::Type
    );
    table.set_column_attribute("t", "unit", b"\"m\"").unwrap();
    table.set_column_attribute("t", "gone", b"1").unwrap();
    table.remove_column_attribute("t", "gone").unwrap();
    assert_eq!(table.stored_rows("n"), Some(0));
    table.commit().unwrap();
    drop(table);

    let mut table = Table::open(&path).unwrap();
    assert!(table.column_names().eq(["n", "t", "v"]));
    assert_eq!(
        (table.stored_rows("n"), table.stored_rows("x")),
        (Some(3), None)
    );
    assert_eq!(table.format(), Format::Bcolz);
    assert_eq!(table.content_bytes(), 3 * (4 + 2 + 2));
    assert!(table.stored_bytes().unwrap() > 0);
    let column = table.column("t").unwrap();
    assert_eq!(column.attribute_names(), ["unit"]);
    let (mut n, mut v, mut t) = ([0i32; 2], [0u8; 4], [0u8; 4]);
    table.read("n", 1.., &mut n).unwrap();
    assert_eq!(n, [20, 3]);
    table.read("v", ..=1, &mut v).unwrap();
    assert_eq!(v, [1, 2, 3, 4]);
    table.read_bytes("t", 0..2, &mut t).unwrap();
    assert_eq!(&t, b"aabb");
    table.read_points("v", &[2, 0], &mut v).unwrap();
    assert_eq!(v, [5, 6, 1, 2]);
    table.read_points_bytes("t", &[2, 2], &mut t).unwrap();
    assert_eq!(&t, b"cccc");
    let error = table.read_points("n", &[0, 3], &mut n).unwrap_err();
    assert_eq!((error.status(), error.position()), (Status::Range, Some(1)));
    assert_eq!(status(table.read("n", 0..1, &mut n)), Status::Argument);
    assert_eq!(status(table.read("n", 2..4, &mut n)), Status::Range);
    assert_eq!(status(table.read("v", 0..3, &mut v)), Status::Buffer);
    assert_eq!(status(table.read("v", 0..2, &mut n)), Status::Type);
    assert_eq!(status(table.read("x", 0..2, &mut n)), Status::Argument);
    assert_eq!(status(table.remove_column("n")), Status::State);

    let memory = Arc::new(Memory::default());
    table.copy_to(memory.clone(), Format::Blz, &none).unwrap();
    assert_eq!(
        status(table.copy_to(memory.clone(), Format::Blz, &none)),
        Status::Exists
    );
    table
        .copy_replacing(memory.clone(), Format::Blz, &none)
        .unwrap();
    let mut copy = Table::open_for_writing(memory, &none).unwrap();
    copy.remove_column("t").unwrap();
    copy.commit().unwrap();
    assert_eq!((copy.rows(), copy.format()), (3, Format::Blz));
    table.refresh().unwrap();
}

#[test]
fn datasets_have_further_metadata_files() {
    let none = Options::new();
    let memory = MemoryStorage::new();
    let layout = ArrayLayout::new(Format::BlzRfc);
    let mut array = Array::create(&memory, "<i4", &[3], &layout, &none).unwrap();
    array.set_meta_file("units.json", b"\"K\"").unwrap();
    array.set_meta_file("gone", b"").unwrap();
    array.remove_meta_file("gone").unwrap();
    let invalid = array.set_meta_file("../sizes", b"");
    assert_eq!(status(invalid), Status::Argument);
    array.commit().unwrap();
    assert_eq!(&**memory.bytes("meta/units.json").unwrap(), b"\"K\"");

    let mut array = Array::open(&memory).unwrap();
    assert_eq!(array.meta_file_names().unwrap(), ["units.json"]);
    assert_eq!(array.meta_file("none").unwrap(), None);
    assert_eq!(status(array.remove_meta_file("units.json")), Status::State);
    let copy = MemoryStorage::new();
    let to = ArrayLayout::new(Format::Bcolz);
    let _ = array.copy_to(&copy, &to, &none).unwrap();
    let bytes = Array::open(&copy).unwrap().meta_file("units.json").unwrap();
    assert_eq!(bytes.unwrap(), b"\"K\"");
    let to = ArrayLayout::new(Format::B2nd);
    let refused = array.copy_to(MemoryStorage::new(), &to, &none);
    assert_eq!(status(refused), Status::Unsupported);
    let mut frame = Array::create(MemoryStorage::new(), "<i4", &[3], &to, &none).unwrap();
    assert_eq!(status(frame.set_meta_file("x", b"")), Status::Unsupported);
}

#[test]
fn columns_have_further_metadata_files() {
    let none = Options::new();
    let memory = MemoryStorage::new();
    let columns = [("n", i32::DTYPE)];
    let mut table = Table::create(&memory, Format::Bcolz, &columns, &none).unwrap();
    table
        .set_column_meta_file("n", "units.json", b"\"K\"")
        .unwrap();
    table.set_column_meta_file("n", "gone", b"").unwrap();
    table.remove_column_meta_file("n", "gone").unwrap();
    let invalid = table.set_column_meta_file("n", "../sizes", b"");
    assert_eq!(status(invalid), Status::Argument);
    let missing = table.set_column_meta_file("m", "x", b"");
    assert_eq!(status(missing), Status::Argument);
    table.commit().unwrap();
    let table = Table::open(&memory).unwrap();
    let column = table.column("n").unwrap();
    assert_eq!(column.meta_file_names().unwrap(), ["units.json"]);
    assert_eq!(column.meta_file("units.json").unwrap().unwrap(), b"\"K\"");
    let mut rfc = Table::create(MemoryStorage::new(), Format::BlzRfc, &columns, &none).unwrap();
    let refused = rfc.set_column_meta_file("n", "x", b"");
    assert_eq!(status(refused), Status::Unsupported);
}

#[test]
fn tables_in_the_blz_rfc_layout_have_further_metadata_files() {
    let none = Options::new();
    let memory = MemoryStorage::new();
    let columns = [("n", i32::DTYPE), ("m", i32::DTYPE)];
    let mut table = Table::create(&memory, Format::BlzRfc, &columns, &none).unwrap();
    table.set_meta_file("units.json", b"\"K\"").unwrap();
    table.set_meta_file("gone", b"").unwrap();
    table.remove_meta_file("gone").unwrap();
    let invalid = table.set_meta_file("../sizes", b"");
    assert_eq!(status(invalid), Status::Argument);
    table.commit().unwrap();
    assert_eq!(&**memory.bytes("meta/units.json").unwrap(), b"\"K\"");

    let table = Table::open(&memory).unwrap();
    assert_eq!(table.meta_file_names().unwrap(), ["units.json"]);
    assert_eq!(table.meta_file("none").unwrap(), None);
    let copy = MemoryStorage::new();
    let _ = table.copy_to(&copy, Format::BlzRfc, &none).unwrap();
    let bytes = Table::open(&copy).unwrap().meta_file("units.json").unwrap();
    assert_eq!(bytes.unwrap(), b"\"K\"");
    let refused = table.copy_to(MemoryStorage::new(), Format::Bcolz, &none);
    assert_eq!(status(refused), Status::Unsupported);
}

#[test]
fn rows_are_inserted_into_a_table_and_removed() {
    let none = Options::new();
    for format in [Format::Bcolz, Format::Blz, Format::BlzRfc] {
        let memory = MemoryStorage::new();
        let columns = [("n", i32::DTYPE), ("v", "('|u1', (2,))")];
        let mut table = Table::create(&memory, format, &columns, &none).unwrap();
        let rows = |n: &[i32]| -> (Vec<i32>, Vec<u8>) {
            let v = n.iter().flat_map(|n| [*n as u8, 7]);
            (n.to_vec(), v.collect())
        };
        let (n, v) = rows(&[1, 2, 3]);
        table
            .append(3, &[Values::from(&n[..]), Values::from(&v[..])])
            .unwrap();
        for (at, inserted) in [(0, [10, 11]), (3, [20, 21]), (7, [30, 31])] {
            let (n, v) = rows(&inserted);
            table
                .insert(at, 2, &[Values::from(&n[..]), Values::from(&v[..])])
                .unwrap();
        }
        table.commit().unwrap();

        let (n, v) = rows(&[40]);
        let numbers = || Values::from(&n[..]);
        let fails = |table: &mut Table, at, values: &[Values]| status(table.insert(at, 1, values));
        let right = [numbers(), Values::from(&v[..])];
        assert_eq!(fails(&mut table, 10, &right), Status::Range);
        assert_eq!(fails(&mut table, 0, &[numbers()]), Status::Argument);
        assert_eq!(
            fails(&mut table, 0, &[Values::from(&v[..]), numbers()]),
            Status::Type
        );
        let short = [numbers(), Values::from(&v[..1])];
        assert_eq!(fails(&mut table, 0, &short), Status::Argument);
        assert_eq!(status(table.remove(8, 2)), Status::Range);
        table.remove(1, 2).unwrap();
        assert_eq!(table.rows(), 7);
        table.commit().unwrap();

        let mut table = Table::open(&memory).unwrap();
        let expected = [10, 20, 21, 2, 3, 30, 31];
        let (mut n, mut v) = (vec![0; 7], vec![0; 14]);
        table.read("n", .., &mut n).unwrap();
        table.read("v", .., &mut v).unwrap();
        assert_eq!((n, v), rows(&expected), "{format:?}");
        assert_eq!(fails(&mut table, 0, &right), Status::State);
        assert_eq!(status(table.remove(0, 1)), Status::State);
    }
}

/// The structures of the specification of Arrow, as another library declares them.
#[repr(C)]
struct CArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *const *const CArray,
    dictionary: *const CArray,
    release: Option<unsafe extern "C" fn(*mut CArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct CSchema {
    format: *const c_char,
    _rest: [usize; 6],
    release: Option<unsafe extern "C" fn(*mut CSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct CStream {
    get_schema: Option<unsafe extern "C" fn(*mut CStream, *mut CSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut CStream, *mut CArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut CStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut CStream)>,
    private_data: *mut c_void,
}

/// Moves the structure out, as another library does.
fn moved_out(stream: &mut ArrowArrayStream) -> CStream {
    let from = stream.as_mut_ptr().cast::<CStream>();
    // SAFETY: a valid stream, which is marked as released before its owner is used again
    unsafe {
        let moved = from.read();
        (*from).release = None;
        moved
    }
}

/// Returns the values of column `i` of the next batch, or `None` at the end.
fn next_numbers(reader: &mut ArrowReader, i: usize) -> Option<Vec<i32>> {
    let mut batch = reader.next()?.unwrap();
    // SAFETY: an array whose child `i` has 32-bit integers, and lives as long as `batch`
    unsafe {
        let array = &*batch.as_mut_ptr().cast::<CArray>();
        let child = &*array.children.add(i).read();
        assert_eq!((child.null_count, child.offset, child.n_buffers), (0, 0, 2));
        let values = child.buffers.add(1).read().cast::<i32>();
        let values = std::slice::from_raw_parts(values, child.length as usize);
        assert_eq!(batch.len(), values.len() as u64);
        Some(values.to_vec())
    }
}

#[test]
fn tables_and_bags_pass_through_arrow() {
    let scratch = Scratch::new("arrow");
    let none = Options::new();
    let columns = [("a", "<f8"), ("b", "<i4")];
    let path = scratch.path("t");
    let mut table = Table::create(&path, Format::Bcolz, &columns, &none).unwrap();
    let (a, b): (Vec<f64>, Vec<i32>) = (vec![f64::NAN; 10], (0..10).collect());
    table
        .append(10, &[Values::from(&a[..]), Values::from(&b[..])])
        .unwrap();
    table.commit().unwrap();

    let mut reader = table.to_arrow(2..9, 4).unwrap();
    assert_eq!(next_numbers(&mut reader, 1), Some(vec![2, 3, 4, 5]));
    // a reader sees no changes, so there are none
    assert_eq!(status(table.truncate(5)), Status::State);
    assert_eq!(next_numbers(&mut reader, 1), Some(vec![6, 7, 8]));
    assert_eq!(next_numbers(&mut reader, 1), None);
    drop(reader);
    let mut only = table.columns_to_arrow(&["b"], .., 0).unwrap();
    assert_eq!(next_numbers(&mut only, 0), Some(b.clone()));
    assert_eq!(
        status(table.columns_to_arrow(&["x"], .., 0)),
        Status::Argument
    );
    assert_eq!(status(table.to_arrow(5..11, 0)), Status::Range);
    drop(only);

    let scan = |scan: Scan| table.scan(&scan.columns(&["b"])).unwrap();
    let mut found = scan(Scan::new().filter("b >= 3").rows(2..9).limit(4).batch(3));
    assert_eq!(next_numbers(&mut found, 0), Some(vec![3, 4, 5]));
    assert_eq!(next_numbers(&mut found, 0), Some(vec![6]));
    assert_eq!(next_numbers(&mut found, 0), None);
    assert_eq!(
        next_numbers(&mut scan(Scan::new().rows(8..).limit(1)), 0),
        Some(vec![8])
    );
    assert_eq!(
        next_numbers(&mut scan(Scan::default().filter("b > 99")), 0),
        None
    );
    assert_eq!(
        status(table.scan(&Scan::new().filter("b >"))),
        Status::Argument
    );
    drop(found);
    let mut found = table.points_to_arrow(&["b"], &[7, 0, 7], 2).unwrap();
    assert_eq!(next_numbers(&mut found, 0), Some(vec![7, 0]));
    assert_eq!(next_numbers(&mut found, 0), Some(vec![7]));
    assert_eq!(
        status(table.points_to_arrow(&["b"], &[10], 0)),
        Status::Range
    );
    drop(found);

    // a stream is moved to another library, and from there to a table
    let mut exported = table.to_arrow(.., 3).unwrap().into_stream();
    let moved = moved_out(&mut exported);
    assert!(exported.is_released());
    drop(exported);
    let mut imported = ArrowArrayStream::empty();
    // SAFETY: memory for a stream, which is released
    unsafe { imported.as_mut_ptr().cast::<CStream>().write(moved) };
    assert!(!imported.is_released());
    let mut copy = Table::create(scratch.path("copy"), Format::Blz, &columns[..], &none).unwrap();
    copy.append_arrow(imported).unwrap();
    copy.commit().unwrap();
    let mut numbers = [0i32; 10];
    copy.read("b", .., &mut numbers).unwrap();
    assert_eq!(numbers[..], b[..]);
    table.truncate(5).unwrap(); // the stream is released
    let only = table.columns_to_arrow(&["b"], .., 0).unwrap();
    assert_eq!(status(copy.append_arrow(only.into_stream())), Status::Type);
    assert_eq!(
        status(copy.append_arrow(ArrowArrayStream::default())),
        Status::Argument
    );
    assert_eq!(copy.rows(), 10);

    // an option of the table: NaN as null
    let options = Options::new().arrow_nulls(true).arrow_binary(true);
    let nulls = Table::open_with(scratch.path("copy"), &options).unwrap();
    let mut batch = nulls.to_arrow(.., 0).unwrap().next().unwrap().unwrap();
    // SAFETY: an array with two children, which lives as long as `batch`
    let null_count = unsafe {
        let array = &*batch.as_mut_ptr().cast::<CArray>();
        (*array.children.read()).null_count
    };
    assert_eq!(null_count, 10);

    let path = scratch.path("a.bag");
    let mut writer = BagWriter::create(&path, &none).unwrap();
    writer.append_many(&["zero", "one", "two"]).unwrap();
    writer.commit().unwrap();
    let bag = Bag::open(&path).unwrap();
    let mut reader = bag.to_arrow(1.., 1).unwrap();
    let mut schema = reader.schema().unwrap();
    // SAFETY: a schema, which lives as long as `schema`
    let format = unsafe { *(*schema.as_mut_ptr().cast::<CSchema>()).format };
    assert_eq!(format as u8, b'+');
    assert!(!schema.is_released());
    let lengths: Vec<u64> = reader.by_ref().map(|batch| batch.unwrap().len()).collect();
    assert_eq!(lengths, [1, 1]);
    assert_eq!(status(bag.to_arrow(2..4, 0)), Status::Range);

    // a corrupt record ends the reader
    let mut bytes = fs::read(&path).unwrap();
    bytes[5] ^= 1;
    fs::write(&path, bytes).unwrap();
    let bag = Bag::open(&path).unwrap();
    let mut reader = bag.to_arrow(.., 1).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().len(), 1);
    assert_eq!(status(reader.next().unwrap()), Status::Checksum);
    assert!(reader.next().is_none());
    let skip = Options::new().skip_corrupt(true);
    let bag = Bag::open_with(&path, &skip).unwrap();
    assert_eq!(bag.to_arrow(.., 0).unwrap().flatten().count(), 1);
    let mut stream = bag.stream(&Options::new()).unwrap();
    stream.next_record().unwrap();
    assert!(!stream.is_corrupt());
    assert_eq!(stream.next_record().unwrap(), Some(&b""[..]));
    assert!(stream.is_corrupt());
}
