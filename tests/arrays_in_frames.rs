//! Arrays in Blosc2 frames through all layers: created, changed, committed, opened again, copied to
//! every format and back.

use holdall::array::metalayer::ArrayMetalayer;
use holdall::array::{Array, NewLocation, NewTiled};
use holdall::dataset::{any, create::ArraySpec, open};
use holdall::error::{Result, Status};
use holdall::format::Format;
use holdall::options::{Opt, Options};
use holdall::superchunk::any::Superchunk;
use holdall::superchunk::bloscpack::Mode;
use holdall::superchunk::frame::{self, Frame};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed at the end of the test.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> TempDir {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "holdall-arrays-in-frames-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        TempDir(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(values: &[(Opt, i64)]) -> Options {
    values.iter().fold(
        Options::new().with(Opt::Durability, 0).unwrap(),
        |o, (opt, n)| o.with(*opt, *n).unwrap(),
    )
}

fn reading() -> Options {
    Options::new()
}

fn new<'a>(
    dtype: &'a str,
    shape: &'a [u64],
    chunks: Option<&'a [u64]>,
    blocks: Option<&'a [u64]>,
) -> NewTiled<'a> {
    NewTiled {
        dtype,
        shape,
        chunks,
        blocks,
        caterva: false,
    }
}

fn path_in(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

fn open_array(path: &Path, mode: Mode) -> Result<Array> {
    open::open(path.as_os_str(), mode, &reading())
}

fn all(a: &Array) -> Vec<u8> {
    let mut content = vec![0xee; a.nbytes() as usize];
    assert!(
        !a.read(
            &vec![0; a.shape().len()],
            a.shape(),
            None,
            &mut content,
            None
        )
        .unwrap()
    );
    content
}

fn counted(n: usize) -> Vec<u8> {
    (0..n as u32 / 4)
        .flat_map(|i| (i * 7).to_le_bytes())
        .collect()
}

/// A 3-d array with content, committed.
fn filled(path: &Path, o: &Options) -> Vec<u8> {
    let mut a = Array::create_frame(
        path.as_os_str(),
        Mode::New,
        &new("<i4", &[17, 23, 9], Some(&[8, 10, 5]), Some(&[3, 4, 5])),
        o,
    )
    .unwrap();
    let content = counted(a.nbytes() as usize);
    a.write(&[0; 3], &[17, 23, 9], None, &content, None)
        .unwrap();
    assert!(all(&a) == content);
    a.commit().unwrap();
    content
}

#[test]
fn committed_content_is_read_back() {
    let folder = TempDir::new();
    for (name, sparse) in [("file", 0), ("folder", 1)] {
        let path = path_in(&folder, name);
        let content = filled(&path, &options(&[(Opt::Sparse, sparse)]));
        assert_eq!(path.is_dir(), sparse == 1);
        let a = open_array(&path, Mode::Read).unwrap();
        assert_eq!(
            (a.shape(), a.chunkshape(), a.blockshape()),
            (&[17, 23, 9][..], &[8, 10, 5][..], &[3, 4, 5][..])
        );
        assert_eq!(
            (a.dtype_text().as_str(), a.itemsize(), a.nbytes()),
            ("<i4", 4, content.len() as u64)
        );
        assert!(all(&a) == content);
        assert!(a.cbytes().unwrap() > 0);
        // a reader changes nothing
        let mut a = a;
        assert_eq!(
            a.write(&[0; 3], &[1; 3], None, &[0; 4], None)
                .unwrap_err()
                .status,
            Status::State
        );
        assert_eq!(a.resize(&[18, 23, 9]).unwrap_err().status, Status::State);
        assert_eq!(a.attr_set("x", b"y").unwrap_err().status, Status::State);
    }
}

#[test]
fn shape_and_content_count_with_one_commit() {
    let folder = TempDir::new();
    for (name, sparse, both) in [("a", 0, 0), ("b", 1, 0), ("c", 0, 1)] {
        let path = path_in(&folder, name);
        let content = filled(
            &path,
            &options(&[(Opt::Sparse, sparse), (Opt::BothMetalayers, both)]),
        );
        let mut a = open_array(&path, Mode::Append).unwrap();
        let slab = counted(17 * 23 * 3 * 4);
        a.append(2, 3, &slab).unwrap();
        a.remove(0, 8, 8).unwrap();
        assert_eq!(a.shape(), [9, 23, 12]);
        let before = open_array(&path, Mode::Read).unwrap();
        assert_eq!(before.shape(), [17, 23, 9]);
        assert!(all(&before) == content);
        a.commit().unwrap();
        let now = all(&a);
        drop(a);
        let after = open_array(&path, Mode::Read).unwrap();
        assert_eq!(after.shape(), [9, 23, 12]);
        assert!(all(&after) == now);
        // readers that were opened before still work
        let mut row = vec![0; 23 * 9 * 4];
        after
            .read(&[8, 0, 0], &[1, 23, 9], None, &mut row, None)
            .unwrap();
        assert!(row == content[16 * 23 * 9 * 4..]);
        let frame = Frame::open(path.as_os_str(), Mode::Read, &reading()).unwrap();
        let names: Vec<&str> = frame.meta_names().collect();
        assert_eq!(
            names,
            if both == 1 {
                vec!["b2nd", "caterva"]
            } else {
                vec!["b2nd"]
            }
        );
        let shape = |name: &str| {
            holdall::array::metalayer::ArrayMetalayer::parse(frame.meta(name).unwrap().unwrap())
                .unwrap()
                .shape
        };
        assert!(names.iter().all(|n| shape(n) == [9, 23, 12]));
    }
}

#[test]
fn discarded_content_never_reappears() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    filled(&path, &options(&[]));
    let mut a = open_array(&path, Mode::Append).unwrap();
    a.resize(&[9, 4, 2]).unwrap();
    a.commit().unwrap();
    a.resize(&[17, 23, 9]).unwrap();
    a.commit().unwrap();
    let content = all(&open_array(&path, Mode::Read).unwrap());
    for (i, item) in content.chunks_exact(4).enumerate() {
        let (x, y, z) = (i / (23 * 9), i / 9 % 23, i % 9);
        let want = if x < 9 && y < 4 && z < 2 {
            i as u32 * 7
        } else {
            0
        };
        assert_eq!(item, want.to_le_bytes(), "{x} {y} {z}");
    }
}

#[test]
fn constant_arrays_take_no_space() {
    let folder = TempDir::new();
    let nan = f64::NAN.to_le_bytes();
    for (name, fill) in [
        ("zeros", &[0; 8][..]),
        ("nan", &nan),
        ("value", &[1, 2, 3, 4, 5, 6, 7, 8]),
        ("none", &[]),
    ] {
        let path = path_in(&folder, name);
        let mut o = options(&[]);
        o.set_bytes(Opt::Fill, fill).unwrap();
        let mut a = Array::create_frame(
            path.as_os_str(),
            Mode::New,
            &new("<f8", &[1000, 1000, 20], None, None),
            &o,
        )
        .unwrap();
        a.commit().unwrap();
        let a = open_array(&path, Mode::Read).unwrap();
        assert!(
            a.cbytes().unwrap() < 10_000,
            "{name}: {}",
            a.cbytes().unwrap()
        );
        let mut item = [9; 8];
        a.read(&[999, 999, 19], &[1; 3], None, &mut item, None)
            .unwrap();
        assert_eq!(
            item,
            if fill.is_empty() {
                [0; 8]
            } else {
                fill.try_into().unwrap()
            }
        );
    }
    let mut o = options(&[]);
    o.set_bytes(Opt::Fill, &[1, 2, 3]).unwrap();
    let Err(e) = Array::create_frame(
        path_in(&folder, "x").as_os_str(),
        Mode::New,
        &new("<f8", &[3], None, None),
        &o,
    ) else {
        panic!()
    };
    assert_eq!(e.status, Status::Argument);
    assert!(!path_in(&folder, "x").exists());
}

#[test]
fn every_number_of_dimensions_works() {
    let folder = TempDir::new();
    for ndim in 0..=16 {
        let (path, shape) = (
            path_in(&folder, &ndim.to_string()),
            vec![if ndim > 10 { 2 } else { 3 }; ndim],
        );
        let mut a = Array::create_frame(
            path.as_os_str(),
            Mode::New,
            &new("<u2", &shape, None, None),
            &options(&[]),
        )
        .unwrap();
        let content: Vec<u8> = (0..a.nbytes() / 2)
            .flat_map(|i| (i as u16).to_le_bytes())
            .collect();
        a.write(&vec![0; ndim], &shape, None, &content, None)
            .unwrap();
        a.commit().unwrap();
        assert!(
            all(&open_array(&path, Mode::Read).unwrap()) == content,
            "{ndim}"
        );
    }
    let Err(e) = Array::create_frame(
        path_in(&folder, "17").as_os_str(),
        Mode::New,
        &new("<u2", &[1; 17], None, None),
        &options(&[]),
    ) else {
        panic!()
    };
    assert_eq!(e.status, Status::Argument);
}

#[test]
fn arrays_of_nothing_grow() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let mut a = Array::create_frame(
        path.as_os_str(),
        Mode::New,
        &new("<i4", &[0, 3], Some(&[4, 3]), None),
        &options(&[]),
    )
    .unwrap();
    a.commit().unwrap();
    assert_eq!(open_array(&path, Mode::Read).unwrap().shape(), [0, 3]);
    let rows = counted(10 * 3 * 4);
    a.append(0, 10, &rows).unwrap();
    a.commit().unwrap();
    assert!(all(&open_array(&path, Mode::Read).unwrap()) == rows);
}

#[test]
fn attributes_are_stored() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let content = filled(&path, &options(&[]));
    let mut a = open_array(&path, Mode::Append).unwrap();
    a.attr_set("one", b"\x01").unwrap();
    a.attr_set("two", &vec![7; 100_000]).unwrap();
    for name in ["b2nd", "caterva", "holdall.crc32"] {
        assert_eq!(
            a.attr_set(name, b"x").unwrap_err().status,
            Status::Argument,
            "{name}"
        );
    }
    a.attr_remove("nothing").unwrap();
    a.commit().unwrap();
    a.attr_set("one", b"another").unwrap();
    a.attr_remove("two").unwrap();
    a.commit().unwrap();
    let a = open_array(&path, Mode::Read).unwrap();
    assert_eq!(
        (a.store().attr_names(), a.store().attr("one").unwrap()),
        (vec!["one"], Some(&b"another"[..]))
    );
    assert!(all(&a) == content);
    let copy = path_in(&folder, "copy");
    any::copy(
        &a,
        NewLocation::Path(copy.as_os_str()),
        Mode::New,
        Format::Caterva,
        [Some(&[5, 5, 5]), None],
        &options(&[]),
    )
    .unwrap();
    let copy = open_array(&copy, Mode::Read).unwrap();
    assert_eq!(
        (copy.store().attr_names(), copy.store().attr("one").unwrap()),
        (vec!["one"], Some(&b"another"[..]))
    );
    assert_eq!(
        (copy.dtype_text().as_str(), copy.chunkshape()),
        ("|V4", &[5, 5, 5][..])
    );
    assert!(all(&copy) == content);
}

#[test]
fn named_values_go_from_one_format_to_the_other() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    filled(&path, &options(&[]));
    let mut a = open_array(&path, Mode::Append).unwrap();
    a.attr_set("n", b"\x82\xa1a\x01\xa1b\x92\xc3\xcb\x7f\xf0\0\0\0\0\0\0")
        .unwrap();
    a.attr_set("b", b"\xc4\x02\0\xff").unwrap();
    a.commit().unwrap();
    let want = a.attrs().unwrap();
    assert_eq!(
        want[0],
        ("n".to_owned(), b"{\"a\":1,\"b\":[true,Infinity]}".to_vec())
    );
    let formats = [
        Format::Bloscpack,
        Format::Bcolz,
        Format::Blz,
        Format::BlzRfc,
        Format::Caterva,
        Format::B2nd,
    ];
    let sorted = |a: &Array| {
        let mut all = a.attrs().unwrap();
        all.sort();
        all.iter()
            .map(|(name, json)| (name.clone(), String::from_utf8_lossy(json).replace(' ', "")))
            .collect::<Vec<_>>()
    };
    for from in formats {
        let first = path_in(&folder, &format!("{from:?}"));
        any::copy(
            &a,
            NewLocation::Path(first.as_os_str()),
            Mode::New,
            from,
            [None, None],
            &options(&[]),
        )
        .unwrap();
        let first = open_array(&first, Mode::Read).unwrap();
        for to in formats {
            let second = path_in(&folder, &format!("{from:?} {to:?}"));
            any::copy(
                &first,
                NewLocation::Path(second.as_os_str()),
                Mode::New,
                to,
                [None, None],
                &options(&[]),
            )
            .unwrap();
            let second = open_array(&second, Mode::Read).unwrap();
            assert_eq!(sorted(&second), sorted(&a), "{from:?} {to:?}");
            if matches!(to, Format::Caterva | Format::B2nd) {
                assert_eq!(
                    second.store().attr("n").unwrap(),
                    a.store().attr("n").unwrap(),
                    "{from:?} {to:?}"
                );
            }
        }
    }
}

#[test]
fn every_format_becomes_every_other() {
    let folder = TempDir::new();
    let formats = [
        Format::Bloscpack,
        Format::Bcolz,
        Format::Blz,
        Format::BlzRfc,
        Format::Caterva,
        Format::B2nd,
    ];
    let shape = [50, 40, 3];
    let content = counted(50 * 40 * 3 * 4);
    for from in formats {
        let source = path_in(&folder, &format!("{from:?}"));
        let spec = ArraySpec {
            dtype: "<i4",
            shape: &shape,
            chunks: None,
            format: from,
        };
        let mut a = any::create(source.as_os_str(), Mode::New, &spec, None, &options(&[])).unwrap();
        a.write(&[0; 3], &shape, None, &content, None).unwrap();
        a.commit().unwrap();
        for to in formats {
            let path = path_in(&folder, &format!("{from:?} {to:?}"));
            any::copy(
                &a,
                NewLocation::Path(path.as_os_str()),
                Mode::New,
                to,
                [None, None],
                &options(&[]),
            )
            .unwrap_or_else(|e| panic!("{from:?} {to:?}: {e}"));
            let copy = open_array(&path, Mode::Read).unwrap();
            assert_eq!(copy.shape(), shape, "{from:?} {to:?}");
            assert!(all(&copy) == content, "{from:?} {to:?}");
        }
    }
    let a = open_array(&path_in(&folder, "B2nd"), Mode::Read).unwrap();
    let own = path_in(&folder, "B2nd");
    for to in [Format::B2nd, Format::Bloscpack] {
        let e = any::copy(
            &a,
            NewLocation::Path(own.as_os_str()),
            Mode::Replace,
            to,
            [None, None],
            &options(&[]),
        )
        .unwrap_err();
        assert_eq!(e.status, Status::Argument, "{to:?}");
    }
}

#[test]
fn copies_are_as_they_were_or_as_was_wished() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let o = options(&[(Opt::Codec, 6), (Opt::Level, 3)]);
    let content = filled(&path, &o);
    let a = open_array(&path, Mode::Read).unwrap();
    let codec = |path: &Path| {
        Frame::open(path.as_os_str(), Mode::Read, &reading())
            .unwrap()
            .params()
            .unwrap()
            .codec
    };
    for (name, chunks, blocks, o, want) in [
        ("same", None, None, vec![], [[8, 10, 5], [3, 4, 5]]),
        (
            "chunks",
            Some(&[4u64, 4, 4][..]),
            None,
            vec![],
            [[4, 4, 4], [4, 4, 4]],
        ),
        (
            "blocks",
            None,
            Some(&[1u64, 5, 5][..]),
            vec![],
            [[8, 10, 5], [1, 5, 5]],
        ),
        (
            "bytes",
            None,
            None,
            vec![(Opt::ChunkBytes, 400), (Opt::Codec, 2)],
            [[1, 6, 9], [1, 6, 9]],
        ),
    ] {
        let to = path_in(&folder, name);
        any::copy(
            &a,
            NewLocation::Path(to.as_os_str()),
            Mode::New,
            Format::B2nd,
            [chunks, blocks],
            &options(&o),
        )
        .unwrap();
        let copy = open_array(&to, Mode::Read).unwrap();
        assert_eq!(
            [copy.chunkshape(), copy.blockshape()],
            [&want[0][..], &want[1][..]],
            "{name}"
        );
        assert!(all(&copy) == content, "{name}");
        assert_eq!(codec(&to) == codec(&path), o.is_empty(), "{name}");
    }
}

/// The stored bytes of each chunk, or none if it takes no space.
fn stored(path: &Path) -> Vec<Option<Vec<u8>>> {
    let frame = Frame::open(path.as_os_str(), Mode::Read, &reading()).unwrap();
    let bytes = |i| {
        (frame.chunk_info(i).unwrap().1 > 0).then(|| frame.with_raw(i, |b| Ok(b.to_vec())).unwrap())
    };
    (0..frame.chunks()).map(bytes).collect()
}

#[test]
fn copies_take_chunks_as_they_are() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let nan = f32::NAN.to_le_bytes();
    let mut o = options(&[(Opt::Codec, 6), (Opt::Level, 9)]);
    o.set_bytes(Opt::Fill, &nan).unwrap();
    let mut a = Array::create_frame(
        path.as_os_str(),
        Mode::New,
        &new("<f4", &[100, 100], Some(&[20, 20]), Some(&[10, 5])),
        &o,
    )
    .unwrap();
    let noise = counted(30 * 25 * 4);
    a.write(&[5, 33], &[30, 25], None, &noise, None).unwrap();
    a.write(&[80, 80], &[20, 20], None, &[7; 1600], None)
        .unwrap();
    a.write(&[60, 0], &[20, 20], None, &[0; 1600], None)
        .unwrap();
    a.commit().unwrap();
    let (before, content) = (stored(&path), all(&a));
    assert_eq!(before.iter().flatten().count(), 5);
    let copied = |name: &str, grid: [Option<&[u64]>; 2], values: &[(Opt, i64)]| {
        let to = path_in(&folder, name);
        any::copy(
            &a,
            NewLocation::Path(to.as_os_str()),
            Mode::New,
            Format::B2nd,
            grid,
            &options(values),
        )
        .unwrap();
        assert!(
            all(&open_array(&to, Mode::Read).unwrap()) == content,
            "{name}"
        );
        stored(&to)
    };
    assert!(copied("same", [None, None], &[]) == before);
    assert!(copied("folder", [None, None], &[(Opt::Sparse, 1)]) == before);
    // rewritten; chunks that take no space stay as they are
    let shapes = [
        ("blocks", Some(&[20, 5][..])),
        ("padded", Some(&[15, 7])),
        ("longer", Some(&[23, 21])),
    ]
    .map(|(name, blocks)| (name, blocks, &[][..]));
    for (name, blocks, values) in
        std::iter::once(("codec", None, &[(Opt::Codec, 2)][..])).chain(shapes)
    {
        let now = copied(name, [Some(&[20, 20]), blocks.or(Some(&[10, 5]))], values);
        let room = |all: &[Option<Vec<u8>>]| all.iter().map(Option::is_some).collect::<Vec<_>>();
        assert!(now != before && room(&now) == room(&before), "{name}");
    }
    // corruption is not copied silently, also if reads do not verify checksums
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(40)
        .position(|w| before.iter().flatten().any(|c| c.starts_with(w)))
        .unwrap();
    bytes[at + 60] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    for verify in [0, 1] {
        let a = Array::open(
            path.as_os_str(),
            Mode::Read,
            &reading().with(Opt::Verify, verify).unwrap(),
        )
        .unwrap();
        let to = path_in(&folder, "corrupt");
        let e = any::copy(
            &a,
            NewLocation::Path(to.as_os_str()),
            Mode::New,
            Format::B2nd,
            [None, None],
            &options(&[]),
        )
        .unwrap_err();
        assert!(e.status == Status::Checksum && !to.exists(), "{e}");
    }
}

#[test]
fn unwritten_chunks_take_no_work() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let shape = [1_000_000, 1000];
    let mut a = Array::create_frame(
        path.as_os_str(),
        Mode::New,
        &new("<i4", &shape, Some(&[100, 100]), Some(&[50, 50])),
        &options(&[]),
    )
    .unwrap();
    a.write(&[250_000, 7], &[1, 900], None, &counted(3600), None)
        .unwrap();
    a.remove(0, 30, 7).unwrap();
    a.insert(0, 750_000, 3, &vec![1; 3 * 4000]).unwrap();
    a.commit().unwrap();
    assert_eq!(a.shape(), [999_996, 1000]);
    let mut row = vec![0xee; 3600];
    a.read(&[249_993, 7], &[1, 900], None, &mut row, None)
        .unwrap();
    assert!(row == counted(3600));
    let mut item = [0; 4];
    a.read(&[750_002, 999], &[1, 1], None, &mut item, None)
        .unwrap();
    assert_eq!(item, [1; 4]);
    assert!(stored(&path).iter().flatten().count() < 60);
}

#[test]
fn damaged_frames_are_known_as_frames() {
    let folder = TempDir::new();
    let path = folder.path().join("a.b2nd");
    filled(&path, &options(&[]));
    let good = std::fs::read(&path).unwrap();
    let plain = path_in(&folder, "a");
    for (name, bytes) in [
        ("magic", [&[0; 12], &good[12..]].concat()),
        ("empty", Vec::new()),
        ("cut", good[..3].to_vec()),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        assert!(
            frame::is_at(path.as_os_str(), &reading()).unwrap(),
            "{name}"
        );
        let e = open_array(&path, Mode::Read).err().unwrap();
        assert!(
            e.status == Status::Format && e.message.contains("frame"),
            "{name}: {e}"
        );
        // without its name, if anything remains of it
        std::fs::write(&plain, &bytes).unwrap();
        assert_eq!(
            frame::is_at(plain.as_os_str(), &reading()).unwrap(),
            name == "magic",
            "{name}"
        );
    }
    std::fs::write(&path, [&[0; 12], &good[12..]].concat()).unwrap();
    assert_eq!(
        frame::repair(path.as_os_str(), &options(&[]))
            .unwrap()
            .dropped,
        0
    );
    assert!(open_array(&path, Mode::Read).is_ok());
    // and a folder before its first commit as one that does not exist
    let begun = path_in(&folder, "begun");
    let mut a = Array::create_frame(
        begun.as_os_str(),
        Mode::New,
        &new("<i4", &[100], Some(&[10]), None),
        &options(&[(Opt::Sparse, 1)]),
    )
    .unwrap();
    a.write(&[0], &[100], None, &counted(400), None).unwrap();
    assert_eq!(
        open_array(&begun, Mode::Read).err().unwrap().status,
        Status::Missing
    );
    assert_eq!(
        Superchunk::open(begun.as_os_str(), Mode::Read, &reading())
            .err()
            .unwrap()
            .status,
        Status::Missing
    );
    a.commit().unwrap();
    assert!(open_array(&begun, Mode::Read).is_ok());
    let e = Array::create_frame(
        path.as_os_str(),
        Mode::Replace,
        &new("<i4", &[1], None, None),
        &options(&[(Opt::Sparse, 1)]),
    )
    .err()
    .unwrap();
    assert!(
        e.status == Status::Exists && e.message.contains("remove it first"),
        "{e}"
    );
    assert!(open_array(&path, Mode::Read).is_ok());
}

#[test]
fn a_frame_without_a_shape_grows_at_its_end() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let o = options(&[(Opt::ChunkBytes, 4000)]);
    let mut s = holdall::superchunk::any::Superchunk::create(
        path.as_os_str(),
        Mode::New,
        holdall::superchunk::any::SuperchunkFormat::Frame,
        4,
        &o,
    )
    .unwrap();
    s.append(&counted(10_000)).unwrap();
    s.commit().unwrap();
    drop(s);
    let mut a = open_array(&path, Mode::Append).unwrap();
    assert_eq!(
        (a.shape(), a.chunkshape(), a.dtype_text().as_str()),
        (&[2500][..], &[1000][..], "|V4")
    );
    a.append(0, 500, &[1; 2000]).unwrap();
    a.write(&[10], &[1], None, &[9; 4], None).unwrap();
    assert_eq!(
        a.insert(0, 5, 1, &[0; 4]).unwrap_err().status,
        Status::Unsupported
    );
    a.commit().unwrap();
    a.resize(&[2600]).unwrap();
    a.commit().unwrap();
    let want = [&counted(40)[..], &[9; 4], &counted(10_000)[44..], &[1; 400]].concat();
    assert!(all(&open_array(&path, Mode::Read).unwrap()) == want);
}

#[test]
fn metalayers_that_lie_are_refused() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    filled(&path, &options(&[(Opt::Checksum, 0)]));
    let good = std::fs::read(&path).unwrap();
    let at = good
        .windows(4)
        .position(|w| w == b"\x97\x00\x03\x93")
        .unwrap();
    let mut seen = 0;
    for offset in 0..100 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut corrupt = good.clone();
            corrupt[at + offset] = value;
            std::fs::write(&path, &corrupt).unwrap();
            match open_array(&path, Mode::Read) {
                Ok(a) => {
                    // what is still possible is read without harm
                    let mut item = vec![0; a.itemsize()];
                    let _ = a.read(&[0; 3], &[1; 3], None, &mut item, None);
                }
                Err(e) => {
                    assert!(
                        !matches!(e.status, Status::Argument | Status::Range),
                        "{offset} {value}: {e}"
                    );
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn a_shape_of_a_file_that_cannot_be_is_the_fault_of_the_file() {
    let folder = TempDir::new();
    for (i, shape) in [
        [i64::MAX as u64, 1 << 60],
        [1 << 62, 1 << 62],
        [1 << 40, 1 << 40],
    ]
    .into_iter()
    .enumerate()
    {
        let path = path_in(&folder, &i.to_string());
        let layer = ArrayMetalayer {
            shape: shape.to_vec(),
            chunkshape: vec![4, 4],
            blockshape: vec![2, 2],
            dtype: Some("<i4".into()),
        };
        let params = holdall::blosc::Params::new(
            holdall::blosc::Target::Blosc2,
            holdall::blosc::Codec::Lz4,
            5,
            4,
        );
        let metalayers = [("b2nd", layer.encode().unwrap())];
        let new = frame::NewFrame {
            typesize: 4,
            chunk_bytes: 64,
            params,
            metalayers: &metalayers,
            sparse: false,
        };
        let mut f = Frame::create(path.as_os_str(), Mode::New, &new, &options(&[])).unwrap();
        f.append(&[0; 64]).unwrap();
        f.commit().unwrap();
        drop(f);
        let e = open_array(&path, Mode::Read).err().unwrap();
        assert_eq!(e.status, Status::Format, "{shape:?}: {e}");
    }
}

#[test]
fn progress_of_a_copy_is_in_bytes() {
    use std::sync::{Arc, Mutex};
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    let content = filled(&path, &options(&[]));
    let a = open_array(&path, Mode::Read).unwrap();
    for (name, blocks) in [("same", None), ("others", Some(&[5, 4, 2][..]))] {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let (to, log) = (path_in(&folder, name), reports.clone());
        let mut o = options(&[]);
        o.on_progress(Some(Arc::new(move |done, total| {
            log.lock().unwrap().push((done, total));
            true
        })));
        any::copy(
            &a,
            NewLocation::Path(to.as_os_str()),
            Mode::New,
            Format::B2nd,
            [Some(&[8, 10, 5]), blocks],
            &o,
        )
        .unwrap();
        let reports = reports.lock().unwrap();
        assert_eq!(
            reports.last(),
            Some(&(content.len() as u64, content.len() as u64)),
            "{name}: {reports:?}"
        );
        assert!(reports.is_sorted());
    }
}

#[test]
fn errors_name_the_options() {
    let folder = TempDir::new();
    let path = path_in(&folder, "a");
    for (opt, value) in [
        (Opt::SpareBytes, 1),
        (Opt::ExpectedRows, 1),
        (Opt::Offsets, 0),
    ] {
        let Err(e) = Array::create_frame(
            path.as_os_str(),
            Mode::New,
            &new("<i4", &[3], None, None),
            &options(&[(opt, value)]),
        ) else {
            panic!()
        };
        assert_eq!(e.status, Status::Argument);
        assert!(e.message.contains(opt.name()), "{e}");
    }
    for (chunks, blocks, opt) in [
        (Some(&[2u64][..]), None, Opt::ChunkBytes),
        (None, Some(&[2u64][..]), Opt::BlockBytes),
    ] {
        let o = options(&[(opt, 64)]);
        let Err(e) = Array::create_frame(
            path.as_os_str(),
            Mode::New,
            &new("<i4", &[3], chunks, blocks),
            &o,
        ) else {
            panic!()
        };
        assert_eq!(e.status, Status::Argument);
        assert!(e.message.contains(opt.name()), "{e}");
    }
    for dtype in ["O", "|S0", "x9"] {
        assert!(
            Array::create_frame(
                path.as_os_str(),
                Mode::New,
                &new(dtype, &[3], None, None),
                &options(&[])
            )
            .is_err(),
            "{dtype}"
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name() != OsStr::new("a.holdall-lock"))
            .count(),
        0
    );
}
