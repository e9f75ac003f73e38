//! Slices of arrays of every format against a plain list of items: reads, checksums and copies.

mod common;

use holdall::array::{Array, NewLocation};
use holdall::checksum::Checksum;
use holdall::dataset::{any, create::ArraySpec, open};
use holdall::error::Status;
use holdall::format::Format;
use holdall::io::Folder;
use holdall::io::memory_files::MemoryFiles;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::Mode;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FORMATS: [Format; 6] = [
    Format::Bloscpack,
    Format::Bcolz,
    Format::Blz,
    Format::BlzRfc,
    Format::B2nd,
    Format::Caterva,
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n.max(1)
    }
}

fn memory() -> Arc<dyn Folder> {
    Arc::new(MemoryFiles::default())
}

/// An array of numbers that all differ, and its items.
fn array(r: &mut Random, folder: &Arc<dyn Folder>, format: Format, shape: &[u64]) -> Array {
    let is_frame = matches!(format, Format::B2nd | Format::Caterva);
    let chunks: Vec<u64> = (shape.iter().enumerate())
        .map(|(d, n)| {
            if is_frame || d == 0 {
                1 + r.below(*n)
            } else {
                *n
            }
        })
        .collect();
    let spec = ArraySpec {
        dtype: "<i4",
        shape,
        chunks: Some(chunks.as_slice()).filter(|chunks| !chunks.is_empty()),
        format,
    };
    let options = Options::new()
        .with(Opt::Threads, 1 + r.below(3) as i64)
        .unwrap();
    let mut array = any::create_in(folder, Mode::New, &spec, None, &options).unwrap();
    let start = vec![0; shape.len()];
    array
        .write(&start, shape, None, &bytes(0..items(shape)), None)
        .unwrap();
    let name = if format == Format::Bloscpack {
        "unit"
    } else {
        "title"
    };
    if format == Format::Bloscpack {
        let json = String::from_utf8(array.meta().unwrap().to_vec()).unwrap();
        let json = json.trim_end().trim_end_matches('}').to_owned() + r#", "unit": "m"}"#;
        array.meta_set(json.as_bytes()).unwrap();
    } else {
        let value: &[u8] = if is_frame { b"\xa1m" } else { b"\"m\"" };
        array.attr_set(name, value).unwrap();
    }
    array.commit().unwrap();
    array
}

fn items(shape: &[u64]) -> u32 {
    shape.iter().product::<u64>() as u32
}

fn bytes(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A view of an array: its shape, and which items of the array it has.
struct Model {
    shape: Vec<u64>,
    numbers: Vec<u32>,
    /// The items of the array in C order, and the size of one.
    content: Arc<Vec<u8>>,
    item: usize,
}

/// All index tuples of a box, in C order.
fn indices(count: &[u64]) -> Vec<Vec<u64>> {
    count.iter().fold(vec![vec![]], |all, n| {
        let extended = |i: Vec<u64>| (0..*n).map(move |k| [i.as_slice(), &[k]].concat());
        all.into_iter().flat_map(extended).collect()
    })
}

impl Model {
    fn whole(shape: &[u64], content: Vec<u8>, item: usize) -> Model {
        Model {
            shape: shape.to_vec(),
            numbers: (0..items(shape)).collect(),
            content: Arc::new(content),
            item,
        }
    }

    fn of(&self, shape: Vec<u64>, numbers: Vec<u32>) -> Model {
        let (content, item) = (Arc::clone(&self.content), self.item);
        Model {
            shape,
            numbers,
            content,
            item,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let item = |i: &u32| &self.content[*i as usize * self.item..][..self.item];
        self.numbers.iter().flat_map(item).copied().collect()
    }

    fn at(&self, index: &[u64]) -> u32 {
        let flat = index
            .iter()
            .zip(&self.shape)
            .fold(0, |at, (i, n)| at * n + i);
        self.numbers[flat as usize]
    }

    fn selected(&self, lists: &[Vec<u64>]) -> Model {
        let shape: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
        let index = |i: Vec<u64>| -> Vec<u64> {
            i.iter()
                .zip(lists)
                .map(|(i, list)| list[*i as usize])
                .collect()
        };
        let all = indices(&shape).into_iter();
        let numbers = all.map(|i| self.at(&index(i))).collect();
        self.of(shape, numbers)
    }
}

/// Positions start, start + step, ... within a length.
fn range(r: &mut Random, length: u64, signed: bool) -> (u64, u64, i64) {
    let step = [1, 1, 1, 2, 3, 7][r.below(6) as usize];
    if length == 0 {
        return (0, 0, step);
    }
    let start = if r.below(2) == 0 { 0 } else { r.below(length) };
    let is_backward = signed && r.below(3) == 0;
    let room = if is_backward {
        start
    } else {
        length - 1 - start
    };
    let most = room / step as u64 + 1;
    let count = if r.below(2) == 0 {
        most
    } else {
        r.below(most + 1)
    };
    (start, count, if is_backward { -step } else { step })
}

fn positions((start, count, step): (u64, u64, i64)) -> Vec<u64> {
    (0..count as i64)
        .map(|i| start.wrapping_add_signed(i * step))
        .collect()
}

fn ranges(r: &mut Random, shape: &[u64], signed: bool) -> Vec<(u64, u64, i64)> {
    shape.iter().map(|n| range(r, *n, signed)).collect()
}

/// A random view of a view.
fn view(r: &mut Random, array: &Array, model: Model) -> (Array, Model) {
    let ndim = model.shape.len() as u64;
    match r.below(4) {
        0 if ndim < 5 => {
            let axis = r.below(ndim + 1) as usize;
            let mut shape = model.shape.clone();
            shape.insert(axis, 1);
            (
                array.expand_dims(axis).unwrap(),
                model.of(shape, model.numbers.clone()),
            )
        }
        1 if model.shape.contains(&1) => {
            let axis = model.shape.iter().position(|n| *n == 1).unwrap();
            let mut shape = model.shape.clone();
            shape.remove(axis);
            (
                array.squeeze(axis).unwrap(),
                model.of(shape, model.numbers.clone()),
            )
        }
        _ => {
            let picked = ranges(r, &model.shape, true);
            let [start, count] = [|p: &(u64, u64, i64)| p.0, |p: &(u64, u64, i64)| p.1]
                .map(|f| picked.iter().map(f).collect::<Vec<u64>>());
            let step: Vec<i64> = picked.iter().map(|p| p.2).collect();
            let lists: Vec<_> = picked.into_iter().map(positions).collect();
            let slice = array.slice(&start, &count, Some(&step)).unwrap();
            (slice, model.selected(&lists))
        }
    }
}

fn all(array: &Array) -> Vec<u8> {
    let (mut content, start) = (
        vec![0xee; array.nbytes() as usize],
        vec![0; array.shape().len()],
    );
    assert!(
        !array
            .read(&start, array.shape(), None, &mut content, None)
            .unwrap()
    );
    content
}

fn check_reads(r: &mut Random, array: &Array, model: &Model) {
    assert_eq!(array.shape(), model.shape);
    assert_eq!(array.nbytes(), (model.numbers.len() * model.item) as u64);
    assert_eq!(array.chunkshape().len(), model.shape.len());
    assert_eq!(array.blockshape().len(), model.shape.len());
    assert_eq!(all(array), model.bytes());

    let picked = ranges(r, &model.shape, false);
    let start: Vec<u64> = picked.iter().map(|p| p.0).collect();
    let count: Vec<u64> = picked.iter().map(|p| p.1).collect();
    let step: Vec<u64> = picked.iter().map(|p| p.2 as u64).collect();
    let lists: Vec<_> = picked.into_iter().map(positions).collect();
    let want = model.selected(&lists);
    let mut got = vec![0xee; want.numbers.len() * model.item];
    array
        .read(&start, &count, Some(&step), &mut got, None)
        .unwrap();
    assert_eq!(got, want.bytes());

    let list = |r: &mut Random, n: u64| {
        let most = if n == 0 { 0 } else { 4 };
        (0..r.below(most + 1))
            .map(|_| r.below(n))
            .collect::<Vec<u64>>()
    };
    let lists: Vec<Vec<u64>> = model.shape.iter().map(|n| list(r, *n)).collect();
    let mut want = model.selected(&lists);
    let mut given: Vec<Option<&[u64]>> = lists.iter().map(|list| Some(list.as_slice())).collect();
    if let (Some(first), true) = (given.first_mut(), r.below(2) == 0) {
        *first = None;
        let whole = [&[(0..model.shape[0]).collect()], &lists[1..]].concat();
        want = model.selected(&whole);
    }
    let mut got = vec![0xee; want.numbers.len() * model.item];
    let read = array.read_orthogonal(&given, &mut got);
    assert_eq!(read, Ok(false), "{given:?} of {:?}", model.shape);
    assert_eq!(got, want.bytes(), "{given:?} of {:?}", model.shape);

    if !model.shape.contains(&0) {
        let n = r.below(5) as usize;
        let points: Vec<Vec<u64>> = (0..n)
            .map(|_| model.shape.iter().map(|n| r.below(*n)).collect())
            .collect();
        let mut got = vec![0xee; n * model.item];
        array.read_points(&points.concat(), n, &mut got).unwrap();
        let numbers = points.iter().map(|point| model.at(point)).collect();
        assert_eq!(got, model.of(vec![n as u64], numbers).bytes());
    }
}

fn checksum_of(dtype: &str, model: &Model) -> Vec<u8> {
    let mut content = [dtype.as_bytes(), &[0]].concat();
    content.extend((model.shape.len() as u64).to_le_bytes());
    content.extend(model.shape.iter().flat_map(|n| n.to_le_bytes()));
    content.extend(model.bytes());
    Checksum::Sha256.of(&content)
}

fn check_copy(r: &mut Random, array: &Array, model: &Model) {
    let format = FORMATS[r.below(6) as usize];
    let folder = memory();
    let to = NewLocation::Storage(&folder);
    let copied = any::copy(array, to, Mode::New, format, [None, None], &Options::new());
    let is_folder = matches!(format, Format::Bcolz | Format::Blz | Format::BlzRfc);
    if is_folder && model.shape.is_empty() {
        assert_eq!(copied.unwrap_err().status, Status::Unsupported);
        return;
    }
    assert!(!copied.unwrap());
    let copy = open::open_in(&folder, Mode::Read, &Options::new()).unwrap();
    assert_eq!((copy.shape(), copy.format()), (&model.shape[..], format));
    assert_eq!(all(&copy), model.bytes());
    let attrs = |array: &Array| array.attrs().unwrap();
    assert_eq!(attrs(&copy), attrs(array));
    if format != Format::Caterva && array.format() != Format::Caterva {
        let checksum = |array: &Array| array.content_checksum(Checksum::Sha256).unwrap();
        assert_eq!(checksum(&copy), checksum(array));
    }
}

#[test]
fn views_read_and_are_copied_like_their_items() {
    let mut r = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..600 {
        let format = FORMATS[round % 6];
        let is_folder = matches!(format, Format::Bcolz | Format::Blz | Format::BlzRfc);
        let ndim = r.below(4) + u64::from(is_folder);
        let shape: Vec<u64> = (0..ndim.min(4)).map(|_| 1 + r.below(9)).collect();
        let folder = memory();
        drop(array(&mut r, &folder, format, &shape));
        let base = open::open_in(&folder, Mode::Read, &Options::new()).unwrap();
        let model = Model::whole(&shape, bytes(0..items(&shape)), 4);
        let (mut now, mut model) = view(&mut r, &base, model);
        for _ in 0..r.below(4) {
            (now, model) = view(&mut r, &now, model);
        }
        drop(base);
        check_reads(&mut r, &now, &model);
        let dtype = if format == Format::Caterva {
            "|V4"
        } else {
            "<i4"
        };
        let (checksum, _) = now.content_checksum(Checksum::Sha256).unwrap();
        assert_eq!(checksum, checksum_of(dtype, &model));
        check_copy(&mut r, &now, &model);
    }
}

/// The paths in a folder, and in the folders in it.
fn paths(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths(&path, all);
        }
        all.push(path);
    }
}

#[test]
fn views_of_arrays_of_other_tools_read_like_their_items() {
    let (mut all_paths, mut r, mut found) = (Vec::new(), Random(1), 0);
    paths(&common::fixtures(), &mut all_paths);
    for path in all_paths {
        let Ok(array) = open::open(path.as_os_str(), Mode::Read, &Options::new()) else {
            continue;
        };
        let mut content = vec![0; array.nbytes().min(4 << 20) as usize];
        let start = vec![0; array.shape().len()];
        if array.read(&start, array.shape(), None, &mut content, None) != Ok(false) {
            continue;
        }
        found += 1;
        for _ in 0..4 {
            let model = Model::whole(array.shape(), content.clone(), array.itemsize());
            let (now, model) = view(&mut r, &array, model);
            let (now, model) = view(&mut r, &now, model);
            check_reads(&mut r, &now, &model);
        }
    }
    assert!(found > 50, "{found}");
}

/// Returns the files of an array of 8 x 50 numbers in four chunks, created with this option.
fn four_chunks(format: Format, (option, value): (Opt, i64)) -> Arc<MemoryFiles> {
    let files = Arc::new(MemoryFiles::default());
    let folder: Arc<dyn Folder> = files.clone();
    let spec = ArraySpec {
        dtype: "<i4",
        shape: &[8, 50],
        chunks: Some(&[2, 50]),
        format,
    };
    let options = Options::new().with(option, value).unwrap();
    let mut a = any::create_in(&folder, Mode::New, &spec, None, &options).unwrap();
    a.write(&[0, 0], &[8, 50], None, &bytes(0..400), None)
        .unwrap();
    a.commit().unwrap();
    files
}

/// Corruption outside a slice does not affect it; corruption inside is an error, never other items.
#[test]
fn corruption_is_an_error_where_a_slice_has_it() {
    for format in [Format::Bloscpack, Format::Bcolz, Format::B2nd] {
        let (mut intact, mut refused, mut whole) = (0, 0, 0);
        let files = four_chunks(format, (Opt::Checksum, 2));
        let folder: Arc<dyn Folder> = files.clone();
        for name in files.names() {
            let good = files.snapshot(&name).unwrap();
            for at in 0..good.len() {
                let mut corrupt = good.to_vec();
                corrupt[at] ^= 0x10;
                files.put(&name, corrupt);
                let Ok(a) = open::open_in(&folder, Mode::Read, &Options::new()) else {
                    continue;
                };
                if a.shape() != [8, 50] {
                    continue;
                }
                whole += u32::from(a.content_checksum(Checksum::Sha256).is_err());
                let slice = a.slice(&[2, 5], &[2, 40], Some(&[1, 1])).unwrap();
                let there = memory();
                let to = NewLocation::Storage(&there);
                let options = Options::new();
                let copied = any::copy(&slice, to, Mode::New, format, [None, None], &options);
                let checksum = slice.content_checksum(Checksum::Sha256);
                // a copy also reads the attributes
                assert!(copied.is_err() >= checksum.is_err(), "{name:?} {at}");
                if copied.is_err() {
                    refused += 1;
                    assert!(open::open_in(&there, Mode::Read, &options).is_err());
                    continue;
                }
                intact += 1;
                let copy = open::open_in(&there, Mode::Read, &options).unwrap();
                let row = |row: u32| row * 50 + 5..row * 50 + 45;
                assert_eq!(all(&copy), bytes(row(2).chain(row(3))), "{name:?} {at}");
            }
            files.put(&name, good.to_vec());
        }
        assert!(
            refused > 30 && intact > 30 && whole > refused,
            "{refused} {intact} {whole}"
        );
    }
}

/// If corrupt chunks are skipped, only slices that have one report it.
#[test]
fn skipped_corruption_is_reported_where_a_slice_has_it() {
    for format in [Format::Bloscpack, Format::B2nd] {
        let files = four_chunks(format, (Opt::Level, 0));
        let folder: Arc<dyn Folder> = files.clone();
        let name = files.names().remove(0);
        let mut corrupt = files.snapshot(&name).unwrap().to_vec();
        // an item of the third chunk, which is stored as it is
        let item = 260u32.to_le_bytes();
        let at = corrupt.windows(4).position(|bytes| bytes == item).unwrap();
        corrupt[at] ^= 1;
        files.put(&name, corrupt);
        let skip = Options::new().with(Opt::SkipDamaged, 1).unwrap();
        let a = open::open_in(&folder, Mode::Read, &skip).unwrap();
        for (start, is_corrupt) in [(0, false), (2, false), (3, true), (4, true), (6, false)] {
            let slice = a.slice(&[start, 10], &[2, 20], None).unwrap();
            let (checksum, skipped) = slice.content_checksum(Checksum::Crc32).unwrap();
            assert_eq!(skipped, is_corrupt, "{format:?} {start}");
            let there = memory();
            let to = NewLocation::Storage(&there);
            let copied = any::copy(&slice, to, Mode::New, format, [None, None], &Options::new());
            assert_eq!(copied, Ok(is_corrupt), "{format:?} {start}");
            let copy = open::open_in(&there, Mode::Read, &Options::new()).unwrap();
            let of_copy = copy.content_checksum(Checksum::Crc32).unwrap();
            assert_eq!(of_copy, (checksum, false));
        }
    }
}

#[test]
fn an_array_with_open_views_cannot_be_changed() {
    let folder = memory();
    let mut a = array(&mut Random(7), &folder, Format::B2nd, &[6, 5]);
    let mut view = a.slice(&[1, 0], &[2, 5], None).unwrap();
    let state = |result: holdall::error::Result<()>| {
        assert_eq!(result.unwrap_err().status, Status::State);
    };
    state(a.write(&[0, 0], &[1, 1], None, &[1; 4], None));
    state(a.resize(&[6, 6]));
    state(a.attr_set("x", b"y"));
    state(a.commit());
    state(view.write(&[0, 0], &[1, 1], None, &[1; 4], None));
    state(view.resize(&[6, 6]));
    state(view.commit());
    state(view.attr_set("x", b"y"));
    state(view.fill_set(&[1; 4]));
    let of_view = view.squeeze(0);
    assert_eq!(of_view.err().unwrap().status, Status::Argument);
    drop(view);
    a.write(&[0, 0], &[1, 1], None, &[1; 4], None).unwrap();
    a.commit().unwrap();
}

#[test]
fn invalid_views_are_refused() {
    let folder = memory();
    let a = array(&mut Random(7), &folder, Format::Bloscpack, &[6, 5]);
    let status = |result: holdall::error::Result<Array>| result.err().unwrap().status;
    for (start, count, step, want) in [
        ([0, 0], [7, 5], [1, 1], Status::Range),
        ([6, 0], [1, 5], [1, 1], Status::Range),
        ([7, 0], [0, 5], [1, 1], Status::Range),
        ([0, 0], [2, 5], [-1, 1], Status::Range),
        ([5, 4], [6, 5], [-1, -2], Status::Range),
        ([0, u64::MAX], [6, 2], [1, 1], Status::Range),
        ([0, 0], [u64::MAX, 1], [i64::MAX, 1], Status::Range),
        ([5, 4], [u64::MAX, 1], [i64::MIN, 1], Status::Range),
        ([0, 0], [6, 5], [0, 1], Status::Argument),
    ] {
        assert_eq!(
            status(a.slice(&start, &count, Some(&step))),
            want,
            "{start:?}"
        );
    }
    assert_eq!(status(a.slice(&[0], &[1], None)), Status::Argument);
    assert_eq!(status(a.squeeze(2)), Status::Argument);
    assert_eq!(status(a.expand_dims(3)), Status::Argument);
    let mut deep = a.expand_dims(0).unwrap();
    for _ in 3..16 {
        deep = deep.expand_dims(0).unwrap();
    }
    assert_eq!(status(deep.expand_dims(0)), Status::Argument);
    // the steps of slices of slices are multiplied; one index has none
    let far = a
        .slice(&[0, 0], &[1, 1], Some(&[i64::MAX, i64::MIN]))
        .unwrap();
    assert_eq!(all(&far), bytes([0]));
    let whole = a.slice(&[0, 0], &[1, 5], None).unwrap();
    assert_eq!(status(whole.slice(&[1, 0], &[1, 1], None)), Status::Range);
}

/// Items without bytes can be more than fit into memory.
#[test]
fn views_of_items_without_bytes_are_read() {
    let folder = memory();
    let shape = [1 << 40, 1 << 60];
    let spec = ArraySpec {
        dtype: "|S0",
        shape: &shape,
        chunks: None,
        format: Format::Bloscpack,
    };
    let a = any::create_in(&folder, Mode::New, &spec, None, &Options::new()).unwrap();
    let view = a.slice(&[5, 7], &[1 << 39, 1 << 59], None).unwrap();
    let view = view.expand_dims(0).unwrap();
    assert_eq!(
        view.read_orthogonal(&[None, None, None], &mut []),
        Ok(false)
    );
    assert_eq!(view.read_points(&[0, 1, 2], 1, &mut []), Ok(false));
    let read = view.read(&[0; 3], view.shape(), None, &mut [], None);
    assert_eq!(read, Ok(false));
    assert!(view.content_checksum(Checksum::Crc32).is_ok());
    assert!(view.read_points(&[1, 0, 0], 1, &mut []).is_err());
}

/// A folder whose fill value is a row: the view has the part of the row that it selects.
#[test]
fn the_fill_value_of_a_view_is_the_part_of_the_row() {
    let folder = memory();
    let spec = ArraySpec {
        dtype: "<i4",
        shape: &[2, 3, 2],
        chunks: None,
        format: Format::Bcolz,
    };
    let mut options = Options::new();
    options.set_bytes(Opt::Fill, &bytes(0..6)).unwrap();
    let mut a = any::create_in(&folder, Mode::New, &spec, None, &options).unwrap();
    a.commit().unwrap();
    let view = a.slice(&[1, 2, 1], &[1, 2, 1], Some(&[1, -2, 1])).unwrap();
    assert_eq!(view.fill().unwrap(), Some(&bytes([5, 1])[..]));
    assert_eq!(all(&view), bytes([5, 1]));
    let flat = view.squeeze(2).unwrap();
    assert_eq!(flat.fill().unwrap(), Some(&bytes([5, 1])[..]));
    let there = memory();
    let to = NewLocation::Storage(&there);
    any::copy(
        &flat,
        to,
        Mode::New,
        Format::Bcolz,
        [None, None],
        &Options::new(),
    )
    .unwrap();
    let copy = open::open_in(&there, Mode::Read, &Options::new()).unwrap();
    assert_eq!(
        (copy.shape(), copy.fill().unwrap()),
        (&[1, 2][..], Some(&bytes([5, 1])[..]))
    );
    // without the rows of the array, the value does not apply
    let row = flat.squeeze(0).unwrap();
    assert_eq!(row.fill().unwrap_err().status, Status::Unsupported);
    assert_eq!(all(&row), bytes([5, 1]));
}
