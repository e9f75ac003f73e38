//! Tests of truncated precision in frames: every item that is written is truncated, whether its chunk
//! can be compressed or not, and no other item changes.

use super::Array;
use crate::array::NewLocation;
use crate::array::metalayer::{ArrayMetalayer, B2ND};
use crate::array::tiled::NewTiled;
use crate::blosc::filter::truncate_in_place;
use crate::dataset::any::create_in;
use crate::dataset::create::ArraySpec;
use crate::dataset::open::open_in;
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::Folder;
use crate::io::sim::{Rng, SimDisk};
use crate::options::{Opt, Options};
use crate::superchunk::any::{Superchunk, SuperchunkFormat};
use crate::superchunk::bloscpack::{Destination, Mode};
use std::ffi::OsStr;
use std::sync::Arc;

const SHAPE: [u64; 2] = [40, 30];
const ITEMS: usize = 1200;
/// Values that truncation must not turn into others.
const SPECIAL: [f64; 6] = [
    0.0,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MIN_POSITIVE,
];

/// Returns items that compress well (kind 0), not at all (kind 1), or that are all equal (kind 2).
fn items(kind: usize, size: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed * 2 + 1);
    let value = |i: usize, rng: &mut Rng| match kind {
        0 if i.is_multiple_of(97) => SPECIAL[i / 97 % SPECIAL.len()],
        0 => (i as f64 / 700.0).sin(),
        1 => f64::from_bits(rng.draw()),
        _ => 0.1,
    };
    let values = (0..ITEMS).map(|i| value(i, &mut rng));
    match size {
        4 => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        _ => values.flat_map(f64::to_le_bytes).collect(),
    }
}

fn truncated(bits: i64, size: usize, mut items: Vec<u8>) -> Vec<u8> {
    truncate_in_place(bits as i8, size, &mut items).unwrap();
    items
}

fn options(precision: i64) -> Options {
    Options::new().with(Opt::Precision, precision).unwrap()
}

fn create(folder: &Arc<dyn Folder>, dtype: &str, options: &Options) -> Result<Array> {
    let spec = ArraySpec {
        dtype,
        shape: &SHAPE,
        chunks: Some(&[16, 16]),
        format: Format::B2nd,
    };
    create_in(folder, Mode::New, &spec, Some(&[8, 16]), options)
}

fn read(array: &Array) -> Vec<u8> {
    let mut items = vec![1; array.nbytes() as usize];
    array
        .read(&[0, 0], array.shape(), None, &mut items, None)
        .unwrap();
    items
}

fn open(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<Array> {
    open_in(folder, mode, options)
}

#[test]
fn written_items_are_truncated_and_no_others() {
    let filters: [&[u8]; 4] = [&[1], &[], &[3, 2], &[1, 35]];
    let settings = [(4, 10), (4, -13), (4, 23), (8, 1), (8, -20), (8, 52)];
    for (n, (size, bits)) in settings.into_iter().cycle().take(24).enumerate() {
        let (kind, disk) = (n % 3, SimDisk::default());
        let mut o = options(bits)
            .with(Opt::Level, [5, 0][n / 12])
            .and_then(|o| o.with(Opt::Threads, [1, 3][n % 2]))
            .unwrap();
        o.set_bytes(Opt::Filters, filters[n / 3 % 4]).unwrap();
        let dtype = ["<f4", "<f8"][size / 8];
        let (f, first) = (disk.folder(), items(kind, size, 1));
        let mut expected = truncated(bits, size, first.clone());
        let mut a = create(&f, dtype, &o).unwrap();
        a.write(&[0, 0], &SHAPE, None, &first, None).unwrap();
        assert!(read(&a) == expected, "{n}: before the commit");
        a.commit().unwrap();
        drop(a);

        let mut a = open(&f, Mode::Append, &Options::new()).unwrap();
        assert!(read(&a) == expected, "{n}");
        let encoding = a.encoding();
        assert_eq!(encoding.precision, Some(bits as i8));
        assert_eq!(encoding.filters[0], 4);
        let new = items(1, size, 9);
        let (row, rest) = (30 * size, &new[..9 * size]);
        a.write(&[7, 3], &[1, 9], None, rest, None).unwrap();
        expected[7 * row + 3 * size..][..9 * size].copy_from_slice(&truncated(
            bits,
            size,
            rest.to_vec(),
        ));
        a.resize(&[41, 30]).unwrap();
        a.write(&[40, 0], &[1, 30], None, &new[..row], None)
            .unwrap();
        expected.extend(truncated(bits, size, new[..row].to_vec()));
        a.commit().unwrap();
        drop(a);
        let a = open(&f, Mode::Read, &Options::new()).unwrap();
        assert!(read(&a) == expected, "{n}: after changes");
    }
}

#[test]
fn other_items_and_settings_are_refused() {
    let disk = SimDisk::default();
    let f = disk.folder();
    for dtype in [
        "<i4", ">f4", ">f8", "<f2", "<c8", "<u8", "|V4", "<M8[s]", "|b1",
    ] {
        let e = create(&f, dtype, &options(10)).err().unwrap();
        assert_eq!(e.status, Status::Argument, "{dtype}");
        assert!(e.message.starts_with("HOLDALL_OPT_PRECISION: "), "{e}");
    }
    for (dtype, bits) in [("<f4", 24), ("<f4", -23), ("<f4", 52)] {
        let e = create(&f, dtype, &options(bits)).err().unwrap();
        assert_eq!(e.status, Status::Argument, "{dtype}");
        assert!(e.message.starts_with("HOLDALL_OPT_PRECISION: "), "{e}");
    }
    for invalid in [53, 200, -52, -129, i64::MIN, i64::MAX] {
        assert!(Options::new().with(Opt::Precision, invalid).is_err());
    }
    let mut by_filter = Options::new();
    by_filter.set_bytes(Opt::Filters, &[4, 1]).unwrap();
    let e = create(&f, "<f4", &by_filter).err().unwrap();
    assert!(e.message.contains("HOLDALL_OPT_PRECISION"), "{e}");
    assert!(!f.exists(OsStr::new("")).unwrap());
    create(&f, "<i4", &options(0)).unwrap();

    let superchunk = |typesize, bits| {
        let (f, name) = (SimDisk::default().folder(), OsStr::new("s"));
        let format = SuperchunkFormat::Frame;
        Superchunk::create_in(&f, name, Mode::New, format, typesize, &options(bits)).map(drop)
    };
    superchunk(8, 52).unwrap();
    for typesize in [1, 2, 16, 300] {
        let e = superchunk(typesize, 10).err().unwrap();
        assert_eq!(e.status, Status::Argument);
    }
    for format in [Format::Bloscpack, Format::Bcolz, Format::Blz] {
        let spec = ArraySpec {
            dtype: "<f4",
            shape: &[10],
            chunks: None,
            format,
        };
        let f = SimDisk::default().folder();
        let e = create_in(&f, Mode::New, &spec, None, &options(10)).err();
        assert_eq!(e.unwrap().status, Status::Argument, "{format:?}");
    }
}

/// Items that are stored with their chunk would lose bits that they have.
#[test]
fn the_precision_of_an_existing_frame_is_only_given_up() {
    let disk = SimDisk::default();
    let f = disk.folder();
    let first = items(0, 8, 1);
    let mut a = create(&f, "<f8", &Options::new()).unwrap();
    a.write(&[0, 0], &SHAPE, None, &first, None).unwrap();
    a.commit().unwrap();
    drop(a);
    let e = open(&f, Mode::Append, &options(10)).err().unwrap();
    assert_eq!(e.status, Status::Unsupported);
    open(&f, Mode::Append, &options(0)).unwrap();
    assert!(read(&open(&f, Mode::Read, &options(10)).unwrap()) == first);

    let disk = SimDisk::default();
    let f = disk.folder();
    let mut a = create(&f, "<f8", &options(10)).unwrap();
    a.write(&[0, 0], &SHAPE, None, &first, None).unwrap();
    a.commit().unwrap();
    drop(a);
    let mut expected = truncated(10, 8, first);
    for other in [9, 11, -10] {
        assert!(open(&f, Mode::Append, &options(other)).is_err());
    }
    let mut shuffle = Options::new();
    shuffle.set_bytes(Opt::Filters, &[1]).unwrap();
    // both write exact items, also into chunks that have the filter
    for (row, options) in [(3, options(0)), (20, shuffle)] {
        let mut a = open(&f, Mode::Append, &options).unwrap();
        let new = &items(1, 8, row)[..240];
        a.write(&[row, 0], &[1, 30], None, new, None).unwrap();
        a.commit().unwrap();
        expected[row as usize * 240..][..240].copy_from_slice(new);
        assert!(read(&a) == expected);
        assert_eq!(a.encoding().precision, None);
    }
}

#[test]
fn fill_values_are_truncated() {
    let mut o = options(5);
    o.set_bytes(Opt::Fill, &0.1f32.to_le_bytes()).unwrap();
    let disk = SimDisk::default();
    let mut a = create(&disk.folder(), "<f4", &o).unwrap();
    a.commit().unwrap();
    let expected = truncated(5, 4, items(2, 4, 1));
    assert!(read(&a) == expected);
    // the neighbours of the new item keep their value
    a.write(&[1, 1], &[1, 1], None, &[0; 4], None).unwrap();
    let now = read(&a);
    assert!(now[..31 * 4] == expected[..31 * 4] && now[32 * 4..] == expected[32 * 4..]);
}

/// A copy loses nothing unless it is requested, not even bits that a chunk has that c-blosc2 could
/// not compress.
#[test]
fn copies_are_exact_unless_requested() {
    let disk = SimDisk::default();
    let f = disk.folder();
    let first = items(0, 8, 1);
    let mut a = create(&f, "<f8", &options(30)).unwrap();
    a.write(&[0, 0], &SHAPE, None, &first, None).unwrap();
    a.commit().unwrap();
    let expected = truncated(30, 8, first);
    let zstd = Options::new().with(Opt::Codec, 6).unwrap();
    for (options, bits) in [
        (Options::new(), None),
        (zstd, None),
        (options(12), Some(12)),
    ] {
        let there = SimDisk::default();
        let folder = there.folder();
        let new = NewTiled {
            dtype: "<f8",
            shape: &SHAPE,
            chunks: None,
            blocks: None,
            caterva: false,
        };
        let to = NewLocation::Storage(&folder);
        assert!(!a.copy_to_frame(to, Mode::New, &new, &options).unwrap());
        let copy = open(&folder, Mode::Read, &Options::new()).unwrap();
        assert_eq!(copy.encoding().precision, bits.map(|bits: i64| bits as i8));
        let expected = expected.clone();
        let expected = bits.map_or(expected.clone(), |bits| truncated(bits, 8, expected));
        assert!(read(&copy) == expected);
    }
}

/// Content that is not encoded yet reads as it will after the commit.
#[test]
fn superchunks_truncate_pending_content() {
    for bits in [7, -40] {
        let (folder, name) = (SimDisk::default().folder(), OsStr::new("s"));
        let o = options(bits).with(Opt::ChunkBytes, 800).unwrap();
        let format = SuperchunkFormat::Frame;
        let mut s = Superchunk::create_in(&folder, name, Mode::New, format, 8, &o).unwrap();
        let mut content = items(0, 8, 3);
        let expected = truncated(bits, 8, content.clone());
        let mut at = 0;
        for (i, n) in [3, 1, 7, 300, 2000, 5, 805, 90]
            .into_iter()
            .cycle()
            .enumerate()
        {
            let end = (at + n * (1 + i % 2)).min(content.len());
            s.append(&content[at..end]).unwrap();
            at = end;
            let whole = at / 8 * 8;
            let mut now = vec![0; at];
            s.read(0, &mut now).unwrap();
            assert!(now[..whole] == expected[..whole] && now[whole..] == content[whole..at]);
            if at == content.len() {
                break;
            }
        }
        s.write(content.len() as u64 - 16, &items(1, 8, 4)[..16])
            .unwrap();
        content.truncate(content.len() - 16);
        content.extend(&items(1, 8, 4)[..16]);
        let expected = truncated(bits, 8, content);
        for _ in 0..2 {
            let mut now = vec![0; expected.len()];
            s.read(0, &mut now).unwrap();
            assert!(now == expected);
            s.commit().unwrap();
        }
        let to = Destination {
            folder: SimDisk::default().folder(),
            name: name.into(),
            mode: Mode::New,
            options: Options::new(),
        };
        let there = to.folder.clone();
        s.copy(to, format).unwrap();
        let copy = Superchunk::open_in(&there, name, Mode::Read, &Options::new()).unwrap();
        assert_eq!(copy.encoding().precision, None);
    }
}

/// c-blosc2 applies the filter to items of any type.
#[test]
fn frames_that_truncate_other_items_are_read_only() {
    let disk = SimDisk::default();
    let f = disk.folder();
    let mut a = create(&f, "<f4", &options(10)).unwrap();
    let layer = ArrayMetalayer {
        shape: SHAPE.to_vec(),
        chunkshape: vec![16, 16],
        blockshape: vec![8, 16],
        dtype: Some("<i4".to_owned()),
    };
    a.commit().unwrap();
    drop(a);
    let name = OsStr::new("");
    let mut s = Superchunk::open_in(&f, name, Mode::Append, &Options::new()).unwrap();
    let Superchunk::Frame(frame) = &mut s else {
        panic!("a frame");
    };
    frame.meta_set(B2ND, &layer.encode().unwrap()).unwrap();
    s.commit().unwrap();
    drop(s);
    open(&f, Mode::Read, &Options::new()).unwrap();
    let e = open(&f, Mode::Append, &Options::new()).err().unwrap();
    assert_eq!(e.status, Status::Unsupported);
    assert!(e.message.contains("HOLDALL_OPT_PRECISION 0"), "{e}");
    open(&f, Mode::Append, &options(0)).unwrap();
}
