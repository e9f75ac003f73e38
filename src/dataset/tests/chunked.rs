//! Arrays in chunks along every dimension, in both orders of the items in a chunk: random operations
//! against a model, the simulated disk, and the example of the RFC.

use super::{noise, opened, options};
use crate::array::Array;
use crate::dataset::create::{self, ArraySpec};
use crate::dataset::folder::DatasetDir;
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, Status};
use crate::format::Format;
use crate::io::sim::{self, Rng, Scenario, SimDisk, StateCounts};
use crate::io::{Access, Folder};
use crate::options::Opt;
use crate::superchunk::bloscpack::Mode;
use crate::table;
use std::ffi::OsStr;
use std::sync::Arc;

const ORDERS: [Order; 2] = [Order::C, Order::Fortran];

fn new(
    folder: &Arc<dyn Folder>,
    mode: Mode,
    dtype: &str,
    shape: &[u64],
    chunks: &[u64],
    order: Order,
) -> Result<Array> {
    let options = options()
        .with(Opt::SuperchunkChunks, 2)?
        .with(Opt::Order, (order == Order::Fortran).into())?;
    let new = ArraySpec {
        dtype,
        shape,
        chunks: Some(chunks),
        format: Format::BlzRfc,
    };
    create::create_in(folder, mode, &new, &options)
}

fn all(a: &Array) -> Result<Vec<u8>> {
    let mut bytes = vec![0xee; a.nbytes() as usize];
    a.read(&vec![0; a.shape().len()], a.shape(), None, &mut bytes, None)?;
    Ok(bytes)
}

/// Items by index, packed in C order.
#[derive(Clone)]
struct Model {
    shape: Vec<u64>,
    item: usize,
    data: Vec<u8>,
}

impl Model {
    fn offset(&self, index: &[u64]) -> Option<usize> {
        let inside = index.iter().zip(&self.shape).all(|(i, n)| i < n);
        let at = index
            .iter()
            .zip(&self.shape)
            .fold(0, |at, (i, n)| at * n + i);
        inside.then_some(at as usize * self.item)
    }

    fn indices(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
        let shape = shape.to_vec();
        (0..shape.iter().product::<u64>()).map(move |mut n| {
            let mut index = vec![0; shape.len()];
            for (i, len) in index.iter_mut().zip(&shape).rev() {
                (*i, n) = (n % len, n / len);
            }
            index
        })
    }

    /// Returns the model in another shape; `from` gives the old index of an item, or its value.
    fn with_shape(
        &self,
        shape: Vec<u64>,
        from: impl Fn(&[u64]) -> std::result::Result<Vec<u64>, Vec<u8>>,
    ) -> Model {
        let data = Model::indices(&shape)
            .flat_map(|index| match from(&index) {
                Ok(old) => self.data[self.offset(&old).unwrap()..][..self.item].to_vec(),
                Err(value) => value,
            })
            .collect();
        Model {
            shape,
            data,
            ..*self
        }
    }

    fn read(&self, start: &[u64], count: &[u64]) -> Vec<u8> {
        Model::indices(count)
            .flat_map(|i| {
                let index: Vec<u64> = i.iter().zip(start).map(|(a, b)| a + b).collect();
                self.data[self.offset(&index).unwrap()..][..self.item].to_vec()
            })
            .collect()
    }

    fn write(&mut self, start: &[u64], count: &[u64], src: &[u8]) {
        for (i, item) in Model::indices(count).zip(src.chunks(self.item)) {
            let index: Vec<u64> = i.iter().zip(start).map(|(a, b)| a + b).collect();
            let at = self.offset(&index).unwrap();
            self.data[at..at + self.item].copy_from_slice(item);
        }
    }
}

fn random_box(rng: &mut Rng, shape: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let part = |n: &u64| {
        let from = rng.below(*n as usize + 1) as u64;
        (from, rng.below((n - from) as usize + 1) as u64)
    };
    shape.iter().map(part).unzip()
}

fn with(shape: &[u64], axis: usize, len: u64) -> Vec<u64> {
    let mut shape = shape.to_vec();
    shape[axis] = len;
    shape
}

/// Makes a random change of an array and its model.
fn change(rng: &mut Rng, a: &mut Array, m: &mut Model, fill: &[u8]) {
    let (ndim, seed) = (m.shape.len(), rng.draw());
    let axis = rng.below(ndim);
    let len = m.shape[axis];
    let at = rng.below(len as usize + 1) as u64;
    let values = |n: u64| noise(seed % 1000, n * m.item as u64);
    match rng.below(6) {
        0 => {
            let (start, count) = random_box(rng, &m.shape);
            let src = values(count.iter().product());
            a.write(&start, &count, None, &src, None).unwrap();
            m.write(&start, &count, &src);
        }
        1 | 2 => {
            let n = rng.below(9) as u64;
            let at = if rng.below(2) == 0 { len } else { at };
            let slab = with(&m.shape, axis, n);
            let src = values(slab.iter().product());
            a.insert(axis, at, n, &src).unwrap();
            let slab = Model {
                shape: slab,
                item: m.item,
                data: src,
            };
            *m = m.with_shape(with(&m.shape, axis, len + n), |index| match index[axis] {
                i if i < at => Ok(index.to_vec()),
                i if i >= at + n => Ok(with(index, axis, i - n)),
                i => {
                    let from = slab.offset(&with(index, axis, i - at)).unwrap();
                    Err(slab.data[from..from + slab.item].to_vec())
                }
            });
        }
        3 => {
            let n = rng.below((len - at) as usize + 1) as u64;
            a.remove(axis, at, n).unwrap();
            *m = m.with_shape(with(&m.shape, axis, len - n), |index| match index[axis] {
                i if i < at => Ok(index.to_vec()),
                i => Ok(with(index, axis, i + n)),
            });
        }
        4 => {
            let shape: Vec<u64> = m
                .shape
                .iter()
                .map(|n| (n + 3).saturating_sub(rng.below(7) as u64))
                .collect();
            a.resize(&shape).unwrap();
            *m = m.with_shape(shape, |index| match m.offset(index) {
                Some(_) => Ok(index.to_vec()),
                None => Err(fill.to_vec()),
            });
        }
        _ => a.commit().unwrap(),
    }
}

fn compare(rng: &mut Rng, a: &Array, m: &Model, context: &str) {
    assert_eq!(a.shape(), m.shape, "{context}");
    assert!(all(a).unwrap() == m.data, "{context}");
    for _ in 0..4 {
        let (start, count) = random_box(rng, &m.shape);
        let mut got = vec![0xee; count.iter().product::<u64>() as usize * m.item];
        a.read(&start, &count, None, &mut got, None).unwrap();
        assert!(
            got == m.read(&start, &count),
            "{context}: {start:?} {count:?}"
        );
    }
}

#[test]
fn random_changes_agree_with_a_model() {
    for seed in 0..40 {
        let mut rng = Rng(seed * 77 + 1);
        (0..5).for_each(|_| _ = rng.draw());
        let ndim = 1 + rng.below(3);
        let most = [60, 14, 7][ndim - 1];
        let shape: Vec<u64> = (0..ndim).map(|_| rng.below(most) as u64).collect();
        let chunks: Vec<u64> = (0..ndim).map(|_| 1 + rng.below(most / 2) as u64).collect();
        let order = ORDERS[rng.below(2)];
        let (dtype, item) =
            [("<i4", 4), ("|u1", 1), ("[('a', '<i2'), ('b', '<f8')]", 10)][rng.below(3)];
        // chunks of complete rows are those of a linear array
        if order == Order::C && chunks.get(1..) == shape.get(1..) {
            continue;
        }
        let context = format!("seed {seed}: {dtype} {shape:?} in {chunks:?}, {order:?}");
        let disk = SimDisk::default();
        let folder = disk.folder();
        let mut a = new(&folder, Mode::New, dtype, &shape, &chunks, order).unwrap();
        let fill = match rng.below(2) {
            _ if item == 10 => vec![0; item],
            0 => vec![0; item],
            _ => vec![3; item],
        };
        a.fill_set(&fill).unwrap();
        let n = shape.iter().product::<u64>() as usize * item;
        let mut m = Model {
            shape,
            item,
            data: vec![0; n],
        };
        for step in 0..12 {
            change(&mut rng, &mut a, &mut m, &fill);
            if rng.below(4) == 0 {
                a.commit().unwrap();
                drop(a);
                let dir = DatasetDir::of(&folder);
                let found = table::verify_at(&dir, &options(), |_, e| panic!("{context}: {e}"));
                assert_eq!(found.unwrap().corrupt, 0);
                compare(
                    &mut rng,
                    &opened(&folder, Mode::Read).unwrap(),
                    &m,
                    &context,
                );
                a = opened(&folder, Mode::Append).unwrap();
            }
            compare(&mut rng, &a, &m, &format!("{context}: step {step}"));
            // an array in chunks of complete rows cannot change the shape of its rows
            if order == Order::C && chunks.get(1..) == m.shape.get(1..) {
                break;
            }
        }
    }
}

const SHAPE: [u64; 2] = [50, 45];
const CHUNKS: [u64; 2] = [30, 20];

fn base(order: Order) -> SimDisk {
    let disk = SimDisk::default();
    let mut a = new(&disk.folder(), Mode::New, "<i4", &SHAPE, &CHUNKS, order).unwrap();
    a.write(&[0, 0], &SHAPE, None, &noise(1, 50 * 45 * 4), None)
        .unwrap();
    a.commit().unwrap();
    drop(a);
    disk.make_durable();
    disk
}

/// Returns the fill value, and the rows, to which appends add.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let a = opened(folder, Mode::Read)?;
    let (bytes, row) = (all(&a)?, a.shape()[1] as usize * 4);
    let fill = a.store().fill()?.unwrap_or_default().to_vec();
    Ok(std::iter::once(fill)
        .chain(bytes.chunks(row).map(<[u8]>::to_vec))
        .collect())
}

fn act(folder: &Arc<dyn Folder>, change: fn(&mut Array) -> Result<()>) -> Result<()> {
    let mut a = opened(folder, Mode::Append)?;
    change(&mut a)?;
    a.commit()
}

fn append(a: &mut Array, rows: u64) -> Result<()> {
    a.append(0, rows, &noise(rows, rows * a.shape()[1] * 4))
}

type Change = fn(&mut Array) -> Result<()>;

const CHANGES: &[(&str, Change)] = &[
    ("append in the last chunks", |a| append(a, 3)),
    ("append more chunks", |a| append(a, 60)),
    ("write an item", |a| {
        a.write(&[40, 41], &[1, 1], None, &[1, 2, 3, 4], None)
    }),
    ("write a box", |a| {
        a.write(&[10, 10], &[30, 20], None, &noise(4, 2400), None)
    }),
    ("grow", |a| a.resize(&[70, 85])),
    ("shrink", |a| a.resize(&[20, 30])),
    ("insert columns", |a| a.insert(1, 7, 3, &noise(5, 600))),
    ("remove rows", |a| a.remove(0, 5, 20)),
    ("set the fill value, and grow", |a| {
        a.fill_set(&[9; 4]).and_then(|()| a.resize(&[52, 61]))
    }),
];

#[test]
fn a_power_failure_leaves_the_old_items_or_the_new() {
    for order in ORDERS {
        let mut state_counts = StateCounts::of(&format!("array in chunks of 30 x 20, {order:?}"));
        let mut count =
            |name: &str, disk: &SimDisk, acts: &dyn Fn(Arc<dyn Folder>) -> Result<()>| {
                let scene = Scenario {
                    name: format!("{name}, {order:?}"),
                    disk: disk.copy(),
                    act: acts,
                    read: &|folder| seen(&folder),
                    next_commit: &|folder| act(&folder, |a| append(a, 1)),
                };
                state_counts.add(name, sim::check(&scene, 8, None));
            };
        let disk = base(order);
        for (name, change) in CHANGES {
            count(name, &disk, &|folder| act(&folder, *change));
        }
        count("create", &SimDisk::default(), &|folder| {
            let mut a = new(&folder, Mode::New, "<i4", &[40, 45], &CHUNKS, order)?;
            a.write(&[3, 4], &[20, 20], None, &noise(6, 1600), None)?;
            a.commit()
        });
        state_counts.assert_complete(300);
    }
}

#[test]
fn a_corrupt_chunk_is_reported_and_replaced_by_the_fill_value() {
    let disk = base(Order::C);
    let (f, want) = (disk.folder(), noise(1, 50 * 45 * 4));
    // the third of six chunks: rows 0 to 29 of columns 40 to 44
    let file = f.open(OsStr::new("data/__2__.bin"), Access::Write).unwrap();
    let size = file.size().unwrap();
    let first = {
        let mut header = vec![0; 40];
        file.read_exact_at(0, &mut header).unwrap();
        u64::from_le_bytes(header[32..].try_into().unwrap())
    };
    assert!(first + 100 < size);
    let mut byte = [0];
    file.read_exact_at(first + 90, &mut byte).unwrap();
    file.write_at(first + 90, &[byte[0] ^ 0x40]).unwrap();
    let a = opened(&f, Mode::Read).unwrap();
    let e = all(&a).unwrap_err();
    assert_eq!((e.status, e.position), (Status::Checksum, 2), "{e}");
    let mut got = vec![0; 50 * 40 * 4];
    assert!(!a.read(&[0, 0], &[50, 40], None, &mut got, None).unwrap());
    drop(a);
    let dir = DatasetDir::of(&f);
    assert!(
        table::repair_at(&dir, &options())
            .unwrap_err()
            .message
            .contains("SKIP_DAMAGED")
    );
    let skip = options().with(Opt::SkipDamaged, 1).unwrap();
    let a = crate::dataset::open::open_in(&f, Mode::Read, &skip).unwrap();
    let mut got = vec![1; 9000];
    assert!(a.read(&[0, 0], &SHAPE, None, &mut got, None).unwrap());
    drop(a);
    assert_eq!(table::repair_at(&dir, &skip).unwrap().dropped, 1);
    let repaired = all(&opened(&f, Mode::Read).unwrap()).unwrap();
    assert!(repaired == got);
    for (i, (got, want)) in repaired.chunks(4).zip(want.chunks(4)).enumerate() {
        let is_lost = i / 45 < 30 && i % 45 >= 40;
        assert_eq!(got, if is_lost { &[0; 4] } else { want });
    }
}

/// The files of the RFC's own example: fields in folders of their own, in chunks of 30 x 20.
#[test]
fn the_example_of_the_rfc_is_read_and_appended_to() {
    for (order, list) in [
        (Order::C, "(30, 20)"),
        (Order::Fortran, "!!python/tuple\n- 30\n- 20"),
    ] {
        let (disk, shape) = (SimDisk::default(), [50, 45]);
        let f = disk.folder();
        let values = [noise(1, 2250), noise(2, 9000)];
        for (name, dtype, values) in [("col1", "|i1", &values[0]), ("col2", ">f4", &values[1])] {
            let one = SimDisk::default();
            let mut a = new(&one.folder(), Mode::New, dtype, &shape, &CHUNKS, order).unwrap();
            a.write(&[0, 0], &shape, None, values, None).unwrap();
            a.commit().unwrap();
            drop(a);
            for (file, bytes) in one.contents() {
                if let Some(file) = file.to_str().and_then(|n| n.strip_prefix("data/")) {
                    let to = format!("data/{name}/{file}");
                    put(&f, &to, &bytes);
                }
            }
        }
        let order = if order == Order::C { "C" } else { "F" };
        let storage = format!(
            "dtype: \n  col1: int8\n  col2: float32\nchunkshape: {list}\nsuperchunksize: 2  # max. number of chunks\n\
             endianness: big  # default: little\norder: {order}  # default: C\ncompression:\n  library: blosclz\n  level: 5\n  filters: [shuffle]\n"
        );
        put(&f, "meta/storage", storage.as_bytes());
        put(
            &f,
            "meta/sizes",
            b"shape: (50, 45)\nnbytes: 11250\ncbytes: 1234\n",
        );
        put(
            &f,
            "meta/attributes",
            b"temperature:\n  value: 23.5\n  type: scalar\n",
        );
        let items = |rows: usize, values: &[Vec<u8>; 2]| -> Vec<u8> {
            let pairs = values[0].chunks(1).zip(values[1].chunks(4)).take(rows * 45);
            pairs.flat_map(|(a, b)| [a, b].concat()).collect()
        };
        let want = items(50, &values);
        let a = opened(&f, Mode::Read).unwrap();
        assert_eq!((a.shape(), a.chunkshape()), (&shape[..], &CHUNKS[..]));
        assert_eq!(a.dtype_text(), "[('col1', '|i1'), ('col2', '>f4')]");
        assert!(all(&a).unwrap() == want);
        let mut part = vec![0; 7 * 30 * 5];
        a.read(&[25, 10], &[7, 30], None, &mut part, None).unwrap();
        let rows = part.chunks(150).zip(want.chunks(225).skip(25));
        rows.for_each(|(got, row)| assert!(got == &row[50..200]));
        drop(a);
        let mut a = opened(&f, Mode::Append).unwrap();
        a.append(0, 30, &want[..30 * 225]).unwrap();
        a.write(&[0, 44], &[50, 1], None, &[7; 250], None).unwrap();
        a.commit().unwrap();
        drop(a);
        let mut want = [&want[..], &want[..30 * 225]].concat();
        want.chunks_mut(225)
            .take(50)
            .for_each(|row| row[220..].fill(7));
        assert!(all(&opened(&f, Mode::Read).unwrap()).unwrap() == want);
        let dir = DatasetDir::of(&f);
        let verified = table::verify_at(&dir, &options(), |_, e| panic!("{e}")).unwrap();
        assert_eq!((verified.corrupt, verified.intact), (0, 18));
    }
}

fn put(folder: &Arc<dyn Folder>, name: &str, bytes: &[u8]) {
    for (i, _) in name.match_indices('/') {
        folder.make_folder(OsStr::new(&name[..i])).unwrap();
    }
    let name = OsStr::new(name);
    let file = folder.create(name, name).unwrap();
    file.write_at(0, bytes).unwrap();
}

#[test]
fn other_layouts_and_shapes_are_refused() {
    let disk = SimDisk::default();
    let f = disk.folder();
    let make = |shape: &[u64], chunks: &[u64], format| {
        let new = ArraySpec {
            dtype: "<i4",
            shape,
            chunks: Some(chunks),
            format,
        };
        create::create_in(&f, Mode::New, &new, &options())
            .err()
            .unwrap()
            .status
    };
    assert_eq!(make(&SHAPE, &CHUNKS, Format::Bcolz), Status::Unsupported);
    assert_eq!(make(&SHAPE, &CHUNKS, Format::Blz), Status::Unsupported);
    assert_eq!(make(&SHAPE, &[30, 0], Format::BlzRfc), Status::Argument);
    assert_eq!(make(&SHAPE, &[30], Format::BlzRfc), Status::Argument);
    assert_eq!(
        make(&SHAPE, &[1 << 20, 1 << 20], Format::BlzRfc),
        Status::Argument
    );
    let disk = base(Order::C);
    let f = disk.folder();
    let mut a = opened(&f, Mode::Append).unwrap();
    assert!(a.fill_set(&[1; 180]).is_err());
    assert!(a.resize(&[50]).is_err());
    drop(a);
    for (from, to, status) in [
        ("[30, 20]", "[30, 20, 1]", Status::Format),
        ("[30, 20]", "[30, 0]", Status::Format),
        ("\"C\"", "\"X\"", Status::Unsupported),
        (
            "\"chunkshape\": [30, 20]",
            "\"chunklen\": 30, \"order\": \"F\"",
            Status::Unsupported,
        ),
    ] {
        let disk = disk.copy();
        let f = disk.folder();
        let text = disk.contents()[OsStr::new("meta/storage")].clone();
        let text = String::from_utf8(text).unwrap();
        let text = text.trim_end().replace(
            "\"order\": \"C\", ",
            if from == "\"C\"" {
                "\"order\": \"C\", "
            } else {
                ""
            },
        );
        assert!(text.contains(from), "{text}");
        put(&f, "meta/storage", text.replace(from, to).as_bytes());
        assert_eq!(opened(&f, Mode::Read).err().unwrap().status, status, "{to}");
    }
}

/// A corrupt block of a chunk does not concern boxes in other blocks, which read only these.
#[test]
fn a_small_box_reads_only_its_blocks() {
    let disk = SimDisk::default();
    let (f, shape) = (disk.folder(), [64, 64, 64]);
    let mut a = new(&f, Mode::New, "<i4", &shape, &shape, Order::C).unwrap();
    let item = |i: u32| (i.wrapping_mul(2_654_435_761) >> 18).to_le_bytes();
    let items: Vec<u8> = (0..64 * 64 * 64).flat_map(item).collect();
    a.write(&[0; 3], &shape, None, &items, None).unwrap();
    a.commit().unwrap();
    drop(a);
    let name = OsStr::new("data/__1__.bin");
    let mut bytes = disk.contents()[name].clone();
    let near_the_end = bytes.len() / 10 * 9;
    bytes[near_the_end] ^= 1;
    f.create(name, name).unwrap().write_at(0, &bytes).unwrap();
    let a = opened(&f, Mode::Read).unwrap();
    let read = |at: u64| {
        let mut found = vec![0; 2048];
        a.read(&[at; 3], &[8; 3], None, &mut found, None)
            .map(|_| found)
    };
    assert!(read(0).unwrap()[..32] == items[..32]);
    assert!(read(56).unwrap_err().status.is_corruption());
}
