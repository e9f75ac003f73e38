//! Bloscpack files as arrays: those of the real tools, and random ones against a plain array in
//! memory.

mod common;

use common::Files;
use common::memory::{all, array_of, memory, name, open};
use holdall::array::Array;
use holdall::checksum::Checksum;
use holdall::dtype::numpy_meta::{ArrayMeta, Order};
use holdall::dtype::{Dtype, Kind, Type};
use holdall::error::Status;
use holdall::io::Folder;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::{Bloscpack, Destination, Mode};
use std::sync::Arc;
use std::sync::atomic::Ordering;

// ---- files of the real tools

fn sha256(bytes: &[u8]) -> String {
    Checksum::Sha256
        .of(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Swaps the bytes of big-endian numbers.
fn to_little(t: &Type, bytes: &mut [u8]) {
    let unit = match t.kind {
        _ if !t.big_endian => return,
        Kind::Str => 4,
        Kind::Complex => t.size / 2,
        _ => t.size,
    };
    bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
}

#[test]
fn arrays_of_the_real_tools_are_read() {
    let folder = Files::of(common::fixtures().join("blpk"));
    let manifest = common::manifest(&folder);
    let mut found = [0, 0];
    for e in manifest["fixtures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["kind"] == "bloscpack" && e["expect"] != "damaged")
    {
        let (id, content) = (&e["id"], &e["content"]);
        let path = folder.join(e["path"].as_str().unwrap());
        let array = Array::open(path.as_os_str(), Mode::Read, &Options::new());
        if e["container"] != "numpy" {
            assert_eq!(array.err().unwrap().status, Status::Type, "{id}");
            continue;
        }
        let array = array.unwrap();
        found[usize::from(array.order() == Order::Fortran)] += 1;
        assert_eq!(serde_json::json!(array.shape()), content["shape"], "{id}");
        assert_eq!(
            array.dtype().item,
            Dtype::from_json(
                &holdall::json::Value::parse(content["dtype"].to_string().as_bytes()).unwrap()
            )
            .unwrap()
            .item,
            "{id}"
        );
        assert_eq!(Some(array.nbytes()), content["nbytes"].as_u64(), "{id}");
        let mut bytes = all(&array);
        if let Some(stored) = content["sha256_stored"].as_str() {
            assert_eq!(sha256(&bytes), stored, "{id}");
        }
        to_little(&array.dtype().item, &mut bytes);
        assert_eq!(sha256(&bytes), content["sha256"], "{id}");
    }
    assert!(found[0] >= 15 && found[1] >= 2, "{found:?}");
}

// ---- random ones

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n.max(1)
    }
    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.below(256) as u8).collect()
    }
}

/// The same array without chunks: items in C order.
#[derive(Clone)]
struct Model {
    shape: Vec<u64>,
    item: usize,
    bytes: Vec<u8>,
}

/// All index tuples of a box, in C order.
fn indices(count: &[u64]) -> Vec<Vec<u64>> {
    let mut out = vec![vec![]];
    for &n in count {
        out = out
            .into_iter()
            .flat_map(|i: Vec<u64>| (0..n).map(move |k| [i.clone(), vec![k]].concat()))
            .collect();
    }
    out
}

impl Model {
    fn at(&self, index: &[u64]) -> std::ops::Range<usize> {
        let i = index
            .iter()
            .zip(&self.shape)
            .fold(0, |at, (i, n)| at * n + i) as usize;
        i * self.item..(i + 1) * self.item
    }

    /// Items in the order of the file.
    fn content(&self, order: Order) -> Vec<u8> {
        if order == Order::C {
            return self.bytes.clone();
        }
        let backwards: Vec<u64> = self.shape.iter().rev().copied().collect();
        let there = |mut i: Vec<u64>| {
            i.reverse();
            self.bytes[self.at(&i)].to_vec()
        };
        indices(&backwards).into_iter().flat_map(there).collect()
    }

    /// With another length of one dimension.
    fn resized(&self, axis: usize, n: u64) -> Model {
        self.moved(axis, n, |i| (i < self.shape[axis]).then_some(i))
    }

    /// With another length of one dimension; the items of each position are from `there`, or zeros.
    fn moved(&self, axis: usize, n: u64, there: impl Fn(u64) -> Option<u64>) -> Model {
        let mut shape = self.shape.clone();
        shape[axis] = n;
        let mut new = Model {
            bytes: vec![0; shape.iter().product::<u64>() as usize * self.item],
            shape,
            item: self.item,
        };
        for mut i in indices(&new.shape) {
            let to = new.at(&i);
            if let Some(from) = there(i[axis]) {
                i[axis] = from;
                new.bytes[to].copy_from_slice(&self.bytes[self.at(&i)]);
            }
        }
        new
    }

    /// With these items at some positions along a dimension, packed, in C order.
    fn put(&mut self, axis: usize, positions: std::ops::Range<u64>, src: &[u8]) {
        let there = indices(&self.shape)
            .into_iter()
            .filter(|i| positions.contains(&i[axis]))
            .collect::<Vec<_>>();
        assert_eq!(there.len() * self.item, src.len());
        for (i, item) in there.iter().zip(src.chunks(self.item)) {
            let to = self.at(i);
            self.bytes[to].copy_from_slice(item);
        }
    }

    /// Bytes of all items at one position along a dimension.
    fn position_bytes(&self, axis: usize) -> usize {
        (0..)
            .zip(&self.shape)
            .map(|(d, n)| if d == axis { 1 } else { *n as usize })
            .product::<usize>()
            * self.item
    }
}

struct Case {
    model: Model,
    order: Order,
    folder: Arc<dyn Folder>,
}

/// An array of this shape in chunks of odd sizes.
fn case(r: &mut Random, shape: Vec<u64>) -> Case {
    let item = r.one_of(&[1, 2, 3, 4, 8, 16, 24, 300]);
    let order = r.one_of(&[Order::C, Order::Fortran]);
    let bytes = r.bytes(shape.iter().product::<u64>() as usize * item);
    let model = Model { shape, item, bytes };
    let content = model.content(order);
    let (_, folder) = memory();
    let chunk = r.one_of(&[1, 7, 64, 100, 1000, 1 << 20]);
    let options = Options::new().with(Opt::ChunkBytes, chunk).unwrap();
    let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 1, &options).unwrap();
    let meta = ArrayMeta {
        dtype: Dtype::parse(&format!("V{item}")).unwrap(),
        shape: model.shape.clone(),
        order,
    };
    file.meta_set(Some(meta.to_json().as_bytes())).unwrap();
    let odd = r.below(3) == 0;
    let mut rest = &content[..];
    while odd && !rest.is_empty() {
        let (now, then) = rest.split_at(1 + r.below(rest.len().min(500) as u64) as usize);
        file.insert(file.chunks() as u64, now).unwrap();
        rest = then;
    }
    file.append(rest).unwrap();
    file.commit().unwrap();
    Case {
        model,
        order,
        folder,
    }
}

fn shape(r: &mut Random) -> Vec<u64> {
    match r.below(12) {
        0 => vec![],
        1 => (0..16).map(|_| 1 + u64::from(r.below(3) == 0)).collect(),
        2 => (0..r.below(4) + 1).map(|_| r.below(3)).collect(),
        n => (0..n % 5 + 1).map(|_| r.below(9) + 1).collect(),
    }
}

#[derive(Debug)]
struct Box_ {
    start: Vec<u64>,
    count: Vec<u64>,
    step: Vec<u64>,
    strides: Vec<i64>,
    len: usize,
}

impl Box_ {
    fn random(r: &mut Random, shape: &[u64], item: usize) -> Box_ {
        let mut b = Box_ {
            start: vec![],
            count: vec![],
            step: vec![],
            strides: vec![0; shape.len()],
            len: item,
        };
        for &n in shape {
            let step = if r.below(2) == 0 { 1 } else { 1 + r.below(4) };
            let start = if r.below(3) == 0 { 0 } else { r.below(n + 1) };
            let most = (n - start).div_ceil(step);
            b.start.push(start);
            b.step.push(step);
            b.count.push(if r.below(2) == 0 {
                most
            } else {
                r.below(most + 1)
            });
        }
        // any order of the dimensions, either sign, gaps
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if r.below(2) == 0 {
            order.sort_by_key(|_| r.below(1000));
        }
        let plain = r.below(3) == 0;
        for &d in order.iter().rev() {
            let gap = if plain {
                0
            } else {
                r.below(3) as usize * r.below(9) as usize
            };
            b.strides[d] = (b.len + gap) as i64 * if plain || r.below(2) == 0 { 1 } else { -1 };
            b.len = (b.len + gap) * b.count[d].max(1) as usize;
        }
        b
    }

    /// The position of each item in the array and in the buffer.
    fn items(&self) -> Vec<(Vec<u64>, usize)> {
        let low: i64 = self
            .strides
            .iter()
            .zip(&self.count)
            .map(|(s, n)| (s * (*n as i64 - 1)).min(0))
            .sum();
        let offsets = |i: Vec<u64>| {
            let buf: i64 = i
                .iter()
                .zip(&self.strides)
                .map(|(i, s)| *i as i64 * s)
                .sum();
            let index = i
                .iter()
                .zip(&self.start)
                .zip(&self.step)
                .map(|((i, start), step)| start + i * step)
                .collect();
            (index, (buf - low) as usize)
        };
        indices(&self.count).into_iter().map(offsets).collect()
    }
}

fn check_read(array: &Array, model: &Model, r: &mut Random) {
    let b = Box_::random(r, &model.shape, model.item);
    let (mut got, mut want) = (vec![0xee; b.len + 9], vec![0xee; b.len + 9]);
    for (index, at) in b.items() {
        want[at..at + model.item].copy_from_slice(&model.bytes[model.at(&index)]);
    }
    assert!(
        !array
            .read(
                &b.start,
                &b.count,
                Some(&b.step),
                &mut got,
                Some(&b.strides)
            )
            .unwrap()
    );
    assert!(
        got == want,
        "{b:?} of {:?}, items of {}, {:?}",
        model.shape,
        model.item,
        array.order()
    );
    // packed
    let packed: Vec<u8> = b
        .items()
        .iter()
        .flat_map(|(index, _)| model.bytes[model.at(index)].to_vec())
        .collect();
    let mut got = vec![0; packed.len()];
    array
        .read(&b.start, &b.count, Some(&b.step), &mut got, None)
        .unwrap();
    assert!(
        got == packed,
        "{b:?} of {:?}, items of {}, {:?}, packed",
        model.shape,
        model.item,
        array.order()
    );
}

fn lists(r: &mut Random, shape: &[u64]) -> Vec<Option<Vec<u64>>> {
    let most = if shape.len() > 4 { 2 } else { 7 };
    let list = |r: &mut Random, n: u64| {
        if n == 0 {
            vec![]
        } else {
            (0..r.below(most)).map(|_| r.below(n)).collect()
        }
    };
    shape
        .iter()
        .map(|&n| {
            if r.below(3) == 0 {
                None
            } else {
                Some(list(r, n))
            }
        })
        .collect()
}

/// The indices of a product of positions.
fn product(lists: &[Option<Vec<u64>>], shape: &[u64]) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> = lists
        .iter()
        .zip(shape)
        .map(|(l, n)| l.clone().unwrap_or_else(|| (0..*n).collect()))
        .collect();
    let count: Vec<u64> = lists.iter().map(|l| l.len() as u64).collect();
    indices(&count)
        .into_iter()
        .map(|i| i.iter().zip(&lists).map(|(k, l)| l[*k as usize]).collect())
        .collect()
}

fn check_positions(array: &Array, model: &Model, r: &mut Random) {
    let lists = lists(r, &model.shape);
    let want: Vec<u8> = product(&lists, &model.shape)
        .iter()
        .flat_map(|i| model.bytes[model.at(i)].to_vec())
        .collect();
    let mut got = vec![0xee; want.len() * 3];
    let borrowed: Vec<Option<&[u64]>> = lists.iter().map(|l| l.as_deref()).collect();
    array.read_orthogonal(&borrowed, &mut got).unwrap();
    assert!(
        got[..want.len()] == want && got[want.len()..].iter().all(|b| *b == 0xee),
        "{lists:?} of {:?}",
        model.shape
    );
    if model.shape.contains(&0) {
        return;
    }
    let n = r.below(40) as usize;
    let points: Vec<Vec<u64>> = (0..n)
        .map(|_| model.shape.iter().map(|s| r.below(*s)).collect())
        .collect();
    let want: Vec<u8> = points
        .iter()
        .flat_map(|i| model.bytes[model.at(i)].to_vec())
        .collect();
    let mut got = vec![0xee; want.len() * 3];
    array.read_points(&points.concat(), n, &mut got).unwrap();
    assert!(
        got[..want.len()] == want && got[want.len()..].iter().all(|b| *b == 0xee),
        "{points:?} of {:?}",
        model.shape
    );
}

#[test]
fn any_box_reads_as_in_memory() {
    let mut r = Random(1);
    for _ in 0..400 {
        let shape = shape(&mut r);
        let c = case(&mut r, shape);
        let array = open(&c.folder, Mode::Read);
        assert_eq!(
            (array.shape(), array.order(), array.itemsize()),
            (&c.model.shape[..], c.order, c.model.item)
        );
        assert!(all(&array) == c.model.bytes);
        for _ in 0..20 {
            check_read(&array, &c.model, &mut r);
        }
        for _ in 0..5 {
            check_positions(&array, &c.model, &mut r);
        }
    }
}

fn change(array: &mut Array, model: &mut Model, r: &mut Random) {
    let axis = (!model.shape.is_empty()).then(|| r.below(model.shape.len() as u64) as usize);
    match (r.below(8), axis) {
        (0..3, _) => {
            let b = Box_::random(r, &model.shape, model.item);
            let src = r.bytes(b.len);
            array
                .write(&b.start, &b.count, Some(&b.step), &src, Some(&b.strides))
                .unwrap();
            for (index, at) in b.items() {
                let to = model.at(&index);
                model.bytes[to].copy_from_slice(&src[at..at + model.item]);
            }
        }
        (3, _) => {
            let lists = lists(r, &model.shape);
            let indices = product(&lists, &model.shape);
            let src = r.bytes(indices.len() * model.item);
            let borrowed: Vec<Option<&[u64]>> = lists.iter().map(|l| l.as_deref()).collect();
            array.write_orthogonal(&borrowed, &src).unwrap();
            for (i, item) in indices.iter().zip(src.chunks(model.item)) {
                let to = model.at(i);
                model.bytes[to].copy_from_slice(item);
            }
        }
        (4, Some(axis)) => {
            let (n, old) = (r.below(4), model.shape[axis]);
            *model = model.resized(axis, old + n);
            let src = r.bytes(n as usize * model.position_bytes(axis));
            array.append(axis, n, &src).unwrap();
            model.put(axis, old..old + n, &src);
        }
        (6, Some(axis)) => {
            let (n, at) = (r.below(9), r.below(model.shape[axis] + 1));
            *model = model.moved(axis, model.shape[axis] + n, |i| {
                if i < at {
                    Some(i)
                } else {
                    i.checked_sub(n).filter(|i| *i >= at)
                }
            });
            let src = r.bytes(n as usize * model.position_bytes(axis));
            array.insert(axis, at, n, &src).unwrap();
            model.put(axis, at..at + n, &src);
        }
        (7, Some(axis)) => {
            let at = r.below(model.shape[axis] + 1);
            let n = r.below(model.shape[axis] - at + 1);
            *model = model.moved(axis, model.shape[axis] - n, |i| {
                Some(if i < at { i } else { i + n })
            });
            array.remove(axis, at, n).unwrap();
        }
        (5, Some(axis)) => {
            *model = model.resized(axis, r.below(model.shape[axis] + 4));
            let other = r.below(model.shape.len() as u64) as usize;
            if other != axis {
                *model = model.resized(other, r.below(model.shape[other] + 4));
            }
            array.resize(&model.shape).unwrap();
        }
        _ => {}
    }
}

#[test]
fn any_change_does_as_in_memory() {
    let mut r = Random(2);
    for _ in 0..250 {
        let shape: Vec<u64> = shape(&mut r).into_iter().take(4).collect();
        let mut c = case(&mut r, shape);
        let mut array = open(&c.folder, Mode::Append);
        let mut committed = c.model.clone();
        for _ in 0..12 {
            let before = array.shape().to_vec();
            change(&mut array, &mut c.model, &mut r);
            assert!(
                all(&array) == c.model.bytes,
                "{:?}, {before:?} to {:?}",
                array.order(),
                array.shape()
            );
            assert_eq!(
                (array.shape(), array.nbytes()),
                (&c.model.shape[..], c.model.bytes.len() as u64)
            );
            if r.below(2) == 0 {
                check_read(&array, &c.model, &mut r);
            }
            if r.below(3) == 0 {
                array.commit().unwrap();
                committed = c.model.clone();
            }
        }
        assert!(all(&array) == c.model.bytes);
        drop(array);
        let again = open(&c.folder, Mode::Read);
        assert_eq!(again.shape(), committed.shape);
        assert!(all(&again) == committed.bytes);
    }
}

#[test]
fn copies_have_the_content_of_their_source() {
    let mut r = Random(4);
    for _ in 0..200 {
        let shape: Vec<u64> = shape(&mut r).into_iter().take(4).collect();
        let mut c = case(&mut r, shape);
        let mut array = open(&c.folder, Mode::Append);
        // uncommitted changes are copied too
        change(&mut array, &mut c.model, &mut r);
        let (_, folder) = memory();
        let mut options = Options::new()
            .with(Opt::FormatVersion, r.one_of(&[0, 3, 103]))
            .unwrap();
        let mut chunks = None;
        match r.below(3) {
            0 => options
                .set(Opt::ChunkBytes, 1 + r.below(2000) as i64)
                .unwrap(),
            1 if array.slowest().is_some() && array.chunkshape().iter().product::<u64>() > 0 => {
                let mut shape = array.shape().to_vec();
                shape[array.slowest().unwrap()] = 1 + r.below(5);
                chunks = Some(shape);
            }
            _ => {}
        }
        let to = Destination {
            folder: folder.clone(),
            name: name().into(),
            mode: Mode::New,
            options,
        };
        assert!(!array.copy(to, chunks.as_deref()).unwrap());
        let copy = open(&folder, Mode::Read);
        assert!(all(&copy) == c.model.bytes);
        assert_eq!(
            (copy.shape(), copy.order(), copy.dtype()),
            (array.shape(), array.order(), array.dtype())
        );
        if let Some(chunks) = chunks {
            assert_eq!(copy.chunkshape(), chunks);
        }
        for _ in 0..3 {
            check_read(&copy, &c.model, &mut r);
        }
    }
}

#[test]
fn a_copy_includes_metadata_and_is_refused_if_the_format_has_none() {
    let json =
        r#"{"shape":[3,4], "dtype":"  '<i2'", "order":"F", "container":"numpy", "unit":"m"}"#;
    let mut a = array_of(json, &[5; 24]).unwrap();
    a.insert(1, 2, 2, &[6; 12]).unwrap();
    let (_, folder) = memory();
    let copy = |chunks: Option<&[u64]>, version| {
        let options = Options::new().with(Opt::FormatVersion, version).unwrap();
        a.copy(
            Destination {
                folder: folder.clone(),
                name: name().into(),
                mode: Mode::Replace,
                options,
            },
            chunks,
        )
        .map_err(|e| e.status)
    };
    assert_eq!(copy(Some(&[3, 2]), 3), Ok(false));
    assert_eq!(
        open(&folder, Mode::Read).meta().unwrap(),
        json.replace("[3,4]", "[3,6]").as_bytes()
    );
    assert_eq!(
        (
            open(&folder, Mode::Read).store().chunk_bytes(),
            all(&open(&folder, Mode::Read))
        ),
        (12, all(&a))
    );
    assert_eq!(copy(Some(&[2, 6]), 3), Err(Status::Unsupported));
    assert_eq!(copy(Some(&[3, 0]), 3), Err(Status::Argument));
    assert_eq!(copy(None, 2), Err(Status::Unsupported));
}

#[test]
fn metadata_of_the_blz_rfc_are_an_array() {
    let json = r#"{"dtype":"float64","shape":[1024],"others":[]}"#;
    let content: Vec<u8> = (0..1024).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    let mut a = array_of(json, &content).unwrap();
    assert_eq!(
        (a.shape(), a.dtype().spelling.as_str()),
        (&[1024][..], "float64")
    );
    assert!(all(&a) == content);
    a.append(0, 2, &[0; 16]).unwrap();
    let (_, folder) = memory();
    let to = Destination {
        folder: folder.clone(),
        name: name().into(),
        mode: Mode::New,
        options: Options::new().with(Opt::FormatVersion, 103).unwrap(),
    };
    assert!(!a.copy(to, None).unwrap());
    let copy = open(&folder, Mode::Read);
    assert_eq!(
        copy.meta().unwrap(),
        json.replace("1024", "1026").as_bytes()
    );
    assert!(all(&copy) == [&content[..], &[0; 16]].concat());
    let short = array_of(json, &content[8..]).err().unwrap();
    assert_eq!(short.status, Status::Type, "metadata of any content");
}

#[test]
fn new_arrays_are_zeros_and_can_be_filled_in_any_order() {
    let mut r = Random(3);
    for (dtype, item, shape, chunk, chunkshape) in [
        ("<f8", 8, vec![100, 7], None, vec![18_724, 7]),
        ("<f8", 8, vec![100, 7], Some(200), vec![3, 7]),
        ("|u1", 1, vec![0, 5], Some(100), vec![20, 5]),
        ("<i4", 4, vec![3, 500], Some(1000), vec![1, 500]),
        ("S300", 300, vec![9], Some(100), vec![1]),
        ("[('a', '<i4'), ('b', '>f8')]", 12, vec![], None, vec![]),
        ("<M8[ns]", 8, vec![5, 0, 3], None, vec![5, 0, 3]),
        ("S0", 0, vec![5], None, vec![5]),
    ] {
        let (_, folder) = memory();
        let options = chunk.map_or(Options::new(), |n| {
            Options::new().with(Opt::ChunkBytes, n).unwrap()
        });
        let mut a =
            Array::create_in(&folder, name(), Mode::New, dtype, &shape, None, &options).unwrap();
        assert_eq!(
            (a.chunkshape(), a.itemsize(), a.dtype().spelling.as_str()),
            (&chunkshape[..], item, dtype),
            "{shape:?}"
        );
        let mut model = Model {
            bytes: vec![0; shape.iter().product::<u64>() as usize * item],
            shape,
            item,
        };
        assert!(all(&a) == model.bytes);
        for _ in 0..if item == 0 { 0 } else { 10 } {
            change(&mut a, &mut model, &mut r);
            check_read(&a, &model, &mut r);
        }
        a.commit().unwrap();
        drop(a);
        let a = open(&folder, Mode::Read);
        assert_eq!((a.shape(), a.dtype().item.size), (&model.shape[..], item));
        assert!(all(&a) == model.bytes, "{dtype}");
    }
}

/// Enough for several threads, and for several rounds of reads that cannot go directly to the
/// destination.
#[test]
fn large_arrays_read_and_write_as_small_ones() {
    let shape = [1500u64, 2000];
    let model = Model {
        shape: shape.to_vec(),
        item: 8,
        bytes: (0..shape[0] * shape[1])
            .flat_map(u64::to_le_bytes)
            .collect(),
    };
    for (order, threads) in [
        (Order::C, false),
        (Order::C, true),
        (Order::Fortran, false),
        (Order::Fortran, true),
    ] {
        let (memory, folder) = memory();
        memory.threads.store(threads, Ordering::Relaxed);
        let options = Options::new().with(Opt::ChunkBytes, 400_000).unwrap();
        let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 8, &options).unwrap();
        let meta = ArrayMeta {
            dtype: Dtype::parse("<u8").unwrap(),
            shape: shape.to_vec(),
            order,
        };
        file.meta_set(Some(meta.to_json().as_bytes())).unwrap();
        file.append(&vec![0; model.bytes.len()]).unwrap();
        file.commit().unwrap();
        drop(file);
        let mut a = open(&folder, Mode::Append);
        a.write(&[0, 0], &shape, None, &model.bytes, None).unwrap();
        assert!(all(&a) == model.bytes);
        a.commit().unwrap();
        let options = if threads {
            Options::new().with(Opt::Threads, 2).unwrap()
        } else {
            Options::new()
        };
        let a = Array::open_in(&folder, name(), Mode::Read, &options).unwrap();
        assert!(all(&a) == model.bytes);
        for (start, count, step) in [
            ([3, 7], [1400, 1990], [1, 1]),
            ([1, 0], [700, 2000], [2, 1]),
            ([0, 1999], [1500, 1], [1, 1]),
            ([2, 5], [499, 600], [3, 3]),
        ] {
            let mut got = vec![0; (count[0] * count[1] * 8) as usize];
            a.read(&start, &count, Some(&step), &mut got, None).unwrap();
            let mut want = got
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| u64::from_le_bytes(*b));
            let expected = (0..count[0]).flat_map(|i| {
                (0..count[1]).map(move |j| (start[0] + i * step[0]) * 2000 + start[1] + j * step[1])
            });
            assert!(expected.eq(&mut want), "{order:?} {start:?}");
        }
    }
}
