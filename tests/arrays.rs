//! Bloscpack files as arrays: those of the real tools, and random ones against a plain array in memory.

mod common;

use common::Files;
use holdall::array::Array;
use holdall::array::dtype::{Dtype, Kind, Type};
use holdall::array::numpy_meta::{ArrayMeta, Order};
use holdall::checksum::Sum;
use holdall::error::Status;
use holdall::io::Folder;
use holdall::io::functions::{Answer, Functions, FunctionsFolder, Refusal};
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::{Bloscpack, Destination, Mode};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

// ---- files in memory, that can be written

#[derive(Default)]
struct Memory {
    files: Mutex<HashMap<OsString, Vec<u8>>>,
    reads: AtomicU64,
    /// Other threads may call.
    threads: AtomicBool,
}

const ENOENT: Refusal = Refusal::Errno(2);

impl Memory {
    fn with<R>(&self, name: &OsStr, f: impl FnOnce(&mut Vec<u8>) -> R) -> Answer<R> {
        self.files.lock().unwrap().get_mut(name).map(f).ok_or(ENOENT)
    }
}

impl Functions for Memory {
    fn size(&self, name: &OsStr) -> Answer<u64> {
        self.with(name, |f| f.len() as u64)
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> Answer<u64> {
        let helper = std::thread::current().name().is_some_and(|n| n.starts_with("holdall-"));
        assert!(!helper || self.threads.load(Ordering::Relaxed), "threads that nobody asked for");
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.with(name, |f| {
            let there = f.get(at as usize..).unwrap_or_default();
            let n = there.len().min(dst.len());
            dst[..n].copy_from_slice(&there[..n]);
            n as u64
        })
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> Answer<()> {
        self.with(name, |f| {
            f.resize(f.len().max(at as usize + src.len()), 0);
            f[at as usize..][..src.len()].copy_from_slice(src);
        })
    }
    fn truncate(&self, name: &OsStr, size: u64) -> Answer<()> {
        self.files.lock().unwrap().entry(name.into()).or_default().resize(size as usize, 0);
        Ok(())
    }
    fn sync(&self, _: &OsStr) -> Answer<()> {
        Ok(())
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Answer<()> {
        let mut files = self.files.lock().unwrap();
        let f = files.remove(from).ok_or(ENOENT)?;
        files.insert(to.into(), f);
        Ok(())
    }
    fn remove(&self, name: &OsStr) -> Answer<()> {
        self.files.lock().unwrap().remove(name).map(|_| ()).ok_or(ENOENT)
    }
}

fn memory() -> (Arc<Memory>, Arc<dyn Folder>) {
    let m = Arc::new(Memory::default());
    (m.clone(), Arc::new(FunctionsFolder::new(m)))
}

fn name() -> &'static OsStr {
    OsStr::new("a")
}

fn open(folder: &Arc<dyn Folder>, mode: Mode) -> Array {
    Array::open_in(folder, name(), mode, &Options::new()).unwrap()
}

fn all(a: &Array) -> Vec<u8> {
    let mut out = vec![0; a.nbytes() as usize];
    a.read(&vec![0; a.shape().len()], a.shape(), None, &mut out, None).unwrap();
    out
}

// ---- files of the real tools

fn sha256(bytes: &[u8]) -> String {
    Sum::Sha256.of(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Turns big-endian numbers round.
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
    for e in manifest["fixtures"].as_array().unwrap().iter().filter(|e| e["kind"] == "bloscpack" && e["expect"] != "damaged") {
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
            Dtype::from_json(&holdall::json::Value::parse(content["dtype"].to_string().as_bytes()).unwrap()).unwrap().item,
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
        out = out.into_iter().flat_map(|i: Vec<u64>| (0..n).map(move |k| [i.clone(), vec![k]].concat())).collect();
    }
    out
}

impl Model {
    fn at(&self, index: &[u64]) -> std::ops::Range<usize> {
        let i = index.iter().zip(&self.shape).fold(0, |at, (i, n)| at * n + i) as usize;
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

    /// With another length of one dimension, where the items of each place are from `there`, or zeros.
    fn moved(&self, axis: usize, n: u64, there: impl Fn(u64) -> Option<u64>) -> Model {
        let mut shape = self.shape.clone();
        shape[axis] = n;
        let mut new = Model { bytes: vec![0; shape.iter().product::<u64>() as usize * self.item], shape, item: self.item };
        for mut i in indices(&new.shape) {
            let to = new.at(&i);
            if let Some(from) = there(i[axis]) {
                i[axis] = from;
                new.bytes[to].copy_from_slice(&self.bytes[self.at(&i)]);
            }
        }
        new
    }

    /// With these items at some places of a dimension, packed, in C order.
    fn put(&mut self, axis: usize, places: std::ops::Range<u64>, src: &[u8]) {
        let there = indices(&self.shape).into_iter().filter(|i| places.contains(&i[axis])).collect::<Vec<_>>();
        assert_eq!(there.len() * self.item, src.len());
        for (i, item) in there.iter().zip(src.chunks(self.item)) {
            let to = self.at(i);
            self.bytes[to].copy_from_slice(item);
        }
    }

    /// Bytes of all items at one place of a dimension.
    fn place_bytes(&self, axis: usize) -> usize {
        (0..).zip(&self.shape).map(|(d, n)| if d == axis { 1 } else { *n as usize }).product::<usize>() * self.item
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
    let meta = ArrayMeta { dtype: Dtype::parse(&format!("V{item}")).unwrap(), shape: model.shape.clone(), order };
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
    Case { model, order, folder }
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
        let mut b = Box_ { start: vec![], count: vec![], step: vec![], strides: vec![0; shape.len()], len: item };
        for &n in shape {
            let step = if r.below(2) == 0 { 1 } else { 1 + r.below(4) };
            let start = if r.below(3) == 0 { 0 } else { r.below(n + 1) };
            let most = (n - start).div_ceil(step);
            b.start.push(start);
            b.step.push(step);
            b.count.push(if r.below(2) == 0 { most } else { r.below(most + 1) });
        }
        // any order of the dimensions, either sign, gaps
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if r.below(2) == 0 {
            order.sort_by_key(|_| r.below(1000));
        }
        let plain = r.below(3) == 0;
        for &d in order.iter().rev() {
            let gap = if plain { 0 } else { r.below(3) as usize * r.below(9) as usize };
            b.strides[d] = (b.len + gap) as i64 * if plain || r.below(2) == 0 { 1 } else { -1 };
            b.len = (b.len + gap) * b.count[d].max(1) as usize;
        }
        b
    }

    /// Where in the array and where in the buffer each item is.
    fn items(&self) -> Vec<(Vec<u64>, usize)> {
        let low: i64 = self.strides.iter().zip(&self.count).map(|(s, n)| (s * (*n as i64 - 1)).min(0)).sum();
        let place = |i: Vec<u64>| {
            let buf: i64 = i.iter().zip(&self.strides).map(|(i, s)| *i as i64 * s).sum();
            let index = i.iter().zip(&self.start).zip(&self.step).map(|((i, start), step)| start + i * step).collect();
            (index, (buf - low) as usize)
        };
        indices(&self.count).into_iter().map(place).collect()
    }
}

fn check_read(array: &Array, model: &Model, r: &mut Random) {
    let b = Box_::random(r, &model.shape, model.item);
    let (mut got, mut want) = (vec![0xee; b.len + 9], vec![0xee; b.len + 9]);
    for (index, at) in b.items() {
        want[at..at + model.item].copy_from_slice(&model.bytes[model.at(&index)]);
    }
    assert!(!array.read(&b.start, &b.count, Some(&b.step), &mut got, Some(&b.strides)).unwrap());
    assert!(got == want, "{b:?} of {:?}, items of {}, {:?}", model.shape, model.item, array.order());
    // packed
    let packed: Vec<u8> = b.items().iter().flat_map(|(index, _)| model.bytes[model.at(index)].to_vec()).collect();
    let mut got = vec![0; packed.len()];
    array.read(&b.start, &b.count, Some(&b.step), &mut got, None).unwrap();
    assert!(got == packed, "{b:?} of {:?}, items of {}, {:?}, packed", model.shape, model.item, array.order());
}

fn lists(r: &mut Random, shape: &[u64]) -> Vec<Option<Vec<u64>>> {
    let most = if shape.len() > 4 { 2 } else { 7 };
    let list = |r: &mut Random, n: u64| if n == 0 { vec![] } else { (0..r.below(most)).map(|_| r.below(n)).collect() };
    shape.iter().map(|&n| if r.below(3) == 0 { None } else { Some(list(r, n)) }).collect()
}

/// The indices of a product of positions.
fn product(lists: &[Option<Vec<u64>>], shape: &[u64]) -> Vec<Vec<u64>> {
    let lists: Vec<Vec<u64>> = lists.iter().zip(shape).map(|(l, n)| l.clone().unwrap_or_else(|| (0..*n).collect())).collect();
    let count: Vec<u64> = lists.iter().map(|l| l.len() as u64).collect();
    indices(&count).into_iter().map(|i| i.iter().zip(&lists).map(|(k, l)| l[*k as usize]).collect()).collect()
}

fn check_positions(array: &Array, model: &Model, r: &mut Random) {
    let lists = lists(r, &model.shape);
    let want: Vec<u8> = product(&lists, &model.shape).iter().flat_map(|i| model.bytes[model.at(i)].to_vec()).collect();
    let mut got = vec![0xee; want.len() * 3];
    let borrowed: Vec<Option<&[u64]>> = lists.iter().map(|l| l.as_deref()).collect();
    array.read_orthogonal(&borrowed, &mut got).unwrap();
    assert!(got[..want.len()] == want && got[want.len()..].iter().all(|b| *b == 0xee), "{lists:?} of {:?}", model.shape);
    if model.shape.contains(&0) {
        return;
    }
    let n = r.below(40) as usize;
    let points: Vec<Vec<u64>> = (0..n).map(|_| model.shape.iter().map(|s| r.below(*s)).collect()).collect();
    let want: Vec<u8> = points.iter().flat_map(|i| model.bytes[model.at(i)].to_vec()).collect();
    let mut got = vec![0xee; want.len() * 3];
    array.read_points(&points.concat(), n, &mut got).unwrap();
    assert!(got[..want.len()] == want && got[want.len()..].iter().all(|b| *b == 0xee), "{points:?} of {:?}", model.shape);
}

#[test]
fn any_box_reads_as_in_memory() {
    let mut r = Random(1);
    for _ in 0..400 {
        let shape = shape(&mut r);
        let c = case(&mut r, shape);
        let array = open(&c.folder, Mode::Read);
        assert_eq!((array.shape(), array.order(), array.itemsize()), (&c.model.shape[..], c.order, c.model.item));
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
            array.write(&b.start, &b.count, Some(&b.step), &src, Some(&b.strides)).unwrap();
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
            let src = r.bytes(n as usize * model.place_bytes(axis));
            array.append(axis, n, &src).unwrap();
            model.put(axis, old..old + n, &src);
        }
        (6, Some(axis)) => {
            let (n, at) = (r.below(9), r.below(model.shape[axis] + 1));
            *model = model.moved(axis, model.shape[axis] + n, |i| if i < at { Some(i) } else { i.checked_sub(n).filter(|i| *i >= at) });
            let src = r.bytes(n as usize * model.place_bytes(axis));
            array.insert(axis, at, n, &src).unwrap();
            model.put(axis, at..at + n, &src);
        }
        (7, Some(axis)) => {
            let at = r.below(model.shape[axis] + 1);
            let n = r.below(model.shape[axis] - at + 1);
            *model = model.moved(axis, model.shape[axis] - n, |i| Some(if i < at { i } else { i + n }));
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
            assert!(all(&array) == c.model.bytes, "{:?}, {before:?} to {:?}", array.order(), array.shape());
            assert_eq!((array.shape(), array.nbytes()), (&c.model.shape[..], c.model.bytes.len() as u64));
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
fn copies_are_as_what_they_are_made_from() {
    let mut r = Random(4);
    for _ in 0..200 {
        let shape: Vec<u64> = shape(&mut r).into_iter().take(4).collect();
        let mut c = case(&mut r, shape);
        let mut array = open(&c.folder, Mode::Append);
        // what is not committed is copied too
        change(&mut array, &mut c.model, &mut r);
        let (_, folder) = memory();
        let mut options = Options::new().with(Opt::FormatVersion, r.one_of(&[0, 3, 103])).unwrap();
        let mut chunks = None;
        match r.below(3) {
            0 => options.set(Opt::ChunkBytes, 1 + r.below(2000) as i64).unwrap(),
            1 if array.slowest().is_some() && array.chunkshape().iter().product::<u64>() > 0 => {
                let mut shape = array.shape().to_vec();
                shape[array.slowest().unwrap()] = 1 + r.below(5);
                chunks = Some(shape);
            }
            _ => {}
        }
        let to = Destination { folder: folder.clone(), name: name().into(), mode: Mode::New, options };
        assert!(!array.copy(to, chunks.as_deref()).unwrap());
        let copy = open(&folder, Mode::Read);
        assert!(all(&copy) == c.model.bytes);
        assert_eq!((copy.shape(), copy.order(), copy.dtype()), (array.shape(), array.order(), array.dtype()));
        if let Some(chunks) = chunks {
            assert_eq!(copy.chunkshape(), chunks);
        }
        for _ in 0..3 {
            check_read(&copy, &c.model, &mut r);
        }
    }
}

#[test]
fn a_copy_keeps_metadata_and_is_refused_where_they_have_no_place() {
    let json = r#"{"shape":[3,4], "dtype":"  '<i2'", "order":"F", "container":"numpy", "unit":"m"}"#;
    let mut a = array_of(json, &[5; 24]).unwrap();
    a.insert(1, 2, 2, &[6; 12]).unwrap();
    let (_, folder) = memory();
    let copy = |chunks: Option<&[u64]>, version| {
        let options = Options::new().with(Opt::FormatVersion, version).unwrap();
        a.copy(Destination { folder: folder.clone(), name: name().into(), mode: Mode::Replace, options }, chunks).map_err(|e| e.status)
    };
    assert_eq!(copy(Some(&[3, 2]), 3), Ok(false));
    assert_eq!(open(&folder, Mode::Read).meta().unwrap(), json.replace("[3,4]", "[3,6]").as_bytes());
    assert_eq!((open(&folder, Mode::Read).store().chunk_bytes(), all(&open(&folder, Mode::Read))), (12, all(&a)));
    assert_eq!(copy(Some(&[2, 6]), 3), Err(Status::Unsupported));
    assert_eq!(copy(Some(&[3, 0]), 3), Err(Status::Argument));
    assert_eq!(copy(None, 2), Err(Status::Unsupported));
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
        let options = chunk.map_or(Options::new(), |n| Options::new().with(Opt::ChunkBytes, n).unwrap());
        let mut a = Array::create_in(&folder, name(), Mode::New, dtype, &shape, None, &options).unwrap();
        assert_eq!((a.chunkshape(), a.itemsize(), a.dtype().spelling.as_str()), (&chunkshape[..], item, dtype), "{shape:?}");
        let mut model = Model { bytes: vec![0; shape.iter().product::<u64>() as usize * item], shape, item };
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

#[test]
fn a_huge_array_costs_nothing_until_it_is_written() {
    let (_, folder) = memory();
    let mut a = Array::create_in(&folder, name(), Mode::New, "<f8", &[1 << 40, 1 << 15], None, &Options::new()).unwrap();
    assert_eq!(a.nbytes(), 1 << 58);
    let mut item = [1; 8];
    a.read(&[(1 << 40) - 1, 5], &[1, 1], None, &mut item, None).unwrap();
    assert_eq!(item, [0; 8]);
    a.write(&[0, 3], &[1, 1], None, &[7; 8], None).unwrap();
    a.resize(&[2, 1 << 15]).unwrap();
    a.commit().unwrap();
    let a = open(&folder, Mode::Read);
    a.read(&[0, 3], &[1, 1], None, &mut item, None).unwrap();
    assert_eq!((item, a.shape()), ([7; 8], &[2, 1 << 15][..]));
}

#[test]
fn a_column_reads_each_chunk_once() {
    for order in [Order::C, Order::Fortran] {
        let (memory, folder) = memory();
        let (rows, columns) = if order == Order::C { (5000, 100) } else { (100, 5000) };
        let options = Options::new().with(Opt::ChunkBytes, 80_000).unwrap();
        let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 8, &options).unwrap();
        let meta = ArrayMeta { dtype: Dtype::parse("<i8").unwrap(), shape: vec![rows, columns], order };
        file.meta_set(Some(meta.to_json().as_bytes())).unwrap();
        file.append(&vec![3; 4_000_000]).unwrap();
        file.commit().unwrap();
        let a = open(&folder, Mode::Read);
        let mut dst = vec![0; 40_000];
        for (start, count, step, most) in
            [([0, 7], [5000, 1], [1, 1], 50), ([0, 7], [625, 2], [8, 3], 50), ([3, 0], [2, 100], [1, 1], 1), ([0, 7], [10, 1], [500, 1], 10)]
        {
            let turned = |v: [u64; 2]| if order == Order::C { v } else { [v[1], v[0]] };
            let before = memory.reads.load(Ordering::Relaxed);
            a.read(&turned(start), &turned(count), Some(&turned(step)), &mut dst, None).unwrap();
            let reads = memory.reads.load(Ordering::Relaxed) - before;
            assert!(reads <= most, "{order:?}: {reads} reads for {start:?}, {count:?}, {step:?}");
        }
        assert_eq!(a.chunkshape(), turned_shape(order, [100, 100]));
    }
}

/// Chunks behind an insert stay as they are where their limits allow it.
#[test]
fn whole_chunks_are_put_in_without_touching_those_behind() {
    let (memory, folder) = memory();
    let options = Options::new().with(Opt::ChunkBytes, 1000).unwrap();
    let mut a = Array::create_in(&folder, name(), Mode::New, "|u1", &[100_000], None, &options).unwrap();
    a.write(&[0], &[100_000], None, &[7; 100_000], None).unwrap();
    a.commit().unwrap();
    drop(a);
    for (at, count, most) in [(5000, 3000, 2), (5500, 3000, 3), (99_500, 10, 2)] {
        let mut a = open(&folder, Mode::Append);
        let before = memory.reads.load(Ordering::Relaxed);
        a.insert(0, at, count, &vec![9; count as usize]).unwrap();
        let reads = memory.reads.load(Ordering::Relaxed) - before;
        assert!(reads <= most, "{reads} reads to insert {count} at {at}");
        let mut want = vec![7; 100_000];
        want.splice(at as usize..at as usize, vec![9; count as usize]);
        assert!(all(&a) == want);
        a.remove(0, at, count).unwrap();
        assert!(all(&a) == [7; 100_000]);
    }
}

fn turned_shape(order: Order, shape: [u64; 2]) -> [u64; 2] {
    if order == Order::C { shape } else { [shape[1], shape[0]] }
}

/// Enough for several threads, and for several turns of what cannot go straight to its place.
#[test]
fn large_arrays_read_and_write_as_small_ones() {
    let shape = [1500u64, 2000];
    let model = Model { shape: shape.to_vec(), item: 8, bytes: (0..shape[0] * shape[1]).flat_map(u64::to_le_bytes).collect() };
    for (order, threads) in [(Order::C, false), (Order::C, true), (Order::Fortran, false), (Order::Fortran, true)] {
        let (memory, folder) = memory();
        memory.threads.store(threads, Ordering::Relaxed);
        let options = Options::new().with(Opt::ChunkBytes, 400_000).unwrap();
        let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 8, &options).unwrap();
        let meta = ArrayMeta { dtype: Dtype::parse("<u8").unwrap(), shape: shape.to_vec(), order };
        file.meta_set(Some(meta.to_json().as_bytes())).unwrap();
        file.append(&vec![0; model.bytes.len()]).unwrap();
        file.commit().unwrap();
        drop(file);
        let mut a = open(&folder, Mode::Append);
        a.write(&[0, 0], &shape, None, &model.bytes, None).unwrap();
        assert!(all(&a) == model.bytes);
        a.commit().unwrap();
        let options = if threads { Options::new().with(Opt::Threads, 2).unwrap() } else { Options::new() };
        let a = Array::open_in(&folder, name(), Mode::Read, &options).unwrap();
        assert!(all(&a) == model.bytes);
        for (start, count, step) in
            [([3, 7], [1400, 1990], [1, 1]), ([1, 0], [700, 2000], [2, 1]), ([0, 1999], [1500, 1], [1, 1]), ([2, 5], [499, 600], [3, 3])]
        {
            let mut got = vec![0; (count[0] * count[1] * 8) as usize];
            a.read(&start, &count, Some(&step), &mut got, None).unwrap();
            let mut want = got.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b));
            let wanted = (0..count[0]).flat_map(|i| (0..count[1]).map(move |j| (start[0] + i * step[0]) * 2000 + start[1] + j * step[1]));
            assert!(wanted.eq(&mut want), "{order:?} {start:?}");
        }
    }
}

// ---- what is refused

fn array_of(json: &str, content: &[u8]) -> holdall::Result<Array> {
    let (_, folder) = memory();
    let mut file = Bloscpack::create_in(&folder, name(), Mode::New, 1, &Options::new()).unwrap();
    file.meta_set(Some(json.as_bytes())).unwrap();
    file.append(content).unwrap();
    file.commit().unwrap();
    drop(file);
    Array::open_in(&folder, name(), Mode::Append, &Options::new())
}

#[test]
fn what_is_no_array_is_refused() {
    let json = |dtype: &str, shape: &str| format!(r#"{{"dtype":"{dtype}","shape":{shape},"order":"C","container":"numpy"}}"#);
    for (json, status) in [
        (json("<f8", "[3]"), None),
        (json("<f8", "[2]"), Some(Status::Format)),
        (json("<f8", "[4]"), Some(Status::Format)),
        (json("<f8", "[4611686018427387904,4]"), Some(Status::Format)),
        (json("<f8", "[0,4]"), Some(Status::Format)),
        (json("O", "[3]"), None),
        (json("<f3", "[8]"), Some(Status::Type)),
        (json("<f8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,1,1]"), Some(Status::Unsupported)),
        (json("<f8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,3,1]"), None),
        ("{}".into(), Some(Status::Type)),
        (r#"{"container":"numpy"}"#.into(), Some(Status::Format)),
    ] {
        let got = array_of(&json, &[0; 24]);
        assert_eq!(got.as_ref().err().map(|e| e.status), status, "{json}: {:?}", got.err());
    }
    let e = array_of(&json("<f8", "[2,3]"), &[0; 24]).err().unwrap();
    assert!(e.message.contains("48") && e.message.contains("24"), "{e}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut a = array_of(r#"{"dtype":"<i2","shape":[3,4],"order":"C","container":"numpy"}"#, &[5; 24]).unwrap();
    let mut dst = [0xee; 64];
    let mut read = |start: &[u64], count: &[u64], step: &[u64], strides: Option<&[i64]>, n: usize| {
        let read = a.read(start, count, Some(step), &mut dst[..n], strides);
        read.map_err(|e| e.status)
    };
    let huge = u64::MAX;
    for (start, count, step, status) in [
        ([0, 0], [3, 4], [1, 1], None),
        ([3, 0], [0, 4], [1, 1], None),
        ([4, 0], [0, 4], [1, 1], Some(Status::Range)),
        ([1, 0], [3, 4], [1, 1], Some(Status::Range)),
        ([0, 0], [2, 4], [3, 1], Some(Status::Range)),
        ([0, 0], [1, 4], [huge, 1], None),
        ([0, 0], [2, 4], [huge, 1], Some(Status::Range)),
        ([0, 0], [huge, 4], [1, 1], Some(Status::Range)),
        ([huge, 0], [1, 4], [1, 1], Some(Status::Range)),
        ([0, 0], [1, 4], [0, 1], Some(Status::Argument)),
    ] {
        assert_eq!(read(&start, &count, &step, None, 24).err(), status, "{start:?} {count:?} {step:?}");
    }
    assert_eq!(read(&[0], &[1], &[1], None, 64).err(), Some(Status::Argument));
    for (strides, n, status) in [
        ([8, 2], 24, None),
        ([8, 2], 23, Some(Status::Buffer)),
        ([-8, 2], 24, None),
        ([-8, -2], 23, Some(Status::Buffer)),
        ([2, 6], 24, None),
        ([0, 0], 2, None),
        ([20, 2], 47, Some(Status::Buffer)),
        ([i64::MIN, i64::MAX], 64, Some(Status::Buffer)),
        ([i64::MAX, 0], 64, Some(Status::Buffer)),
    ] {
        assert_eq!(read(&[0, 0], &[3, 4], &[1, 1], Some(&strides), n).err(), status, "{strides:?} {n}");
    }
    assert_eq!(a.read_points(&[0, 0, 2, 4], 2, &mut [0; 4]).unwrap_err().status, Status::Range);
    assert_eq!(a.read_points(&[0, 0, 2], 2, &mut [0; 4]).unwrap_err().status, Status::Argument);
    assert_eq!(a.read_points(&[0, 0, 2, 3], 2, &mut [0; 3]).unwrap_err().status, Status::Buffer);
    assert_eq!(a.read_orthogonal(&[None, Some(&[4])], &mut [0; 64]).unwrap_err().status, Status::Range);
    assert_eq!(a.read_orthogonal(&[None, Some(&[3])], &mut [0; 5]).unwrap_err().status, Status::Buffer);

    for (e, status) in [
        (a.append(1, 1, &[0; 8]), Status::Argument),
        (a.append(2, 1, &[0; 6]), Status::Argument),
        (a.append(0, 1, &[0; 6]), Status::Argument),
        (a.append(0, u64::MAX, &[]), Status::Argument),
        (a.resize(&[3]), Status::Argument),
        (a.resize(&[1 << 62, 4]), Status::Argument),
        (a.remove(0, 2, 2), Status::Range),
        (a.remove(0, u64::MAX, 2), Status::Range),
        (a.remove(1, 3, 2), Status::Range),
        (a.remove(2, 0, 1), Status::Argument),
        (a.insert(0, 1, 1, &[0; 6]), Status::Argument),
        (a.insert(0, 4, 1, &[0; 8]), Status::Range),
        (a.insert(0, 1, u64::MAX, &[]), Status::Argument),
        (a.insert(1, 5, 1, &[0; 6]), Status::Range),
        (a.insert(2, 0, 1, &[0; 6]), Status::Argument),
        (a.meta_set(b"{}"), Status::Argument),
    ] {
        assert_eq!(e.unwrap_err().status, status);
    }
    assert_eq!((a.shape(), all(&a)), (&[3, 4][..], vec![5; 24]));
    a.remove(0, 1, 2).unwrap();
    assert_eq!((a.shape(), all(&a)), (&[1, 4][..], vec![5; 8]));
    a.meta_set(br#"{"dtype":"<i2","shape":[1,4],"order":"C","container":"numpy","unit":"m"}"#).unwrap();
    a.append(0, 1, &[6; 8]).unwrap();
    a.commit().unwrap();
    assert_eq!(a.meta().unwrap(), br#"{"dtype":"<i2","shape":[2,4],"order":"C","container":"numpy","unit":"m"}"#);
}

#[test]
fn a_reader_changes_nothing() {
    let (_, folder) = memory();
    Array::create_in(&folder, name(), Mode::New, "<i2", &[3], None, &Options::new()).unwrap().commit().unwrap();
    let mut a = open(&folder, Mode::Read);
    for e in [
        a.insert(0, 1, 1, &[0; 2]),
        a.remove(0, 0, 1),
        a.append(0, 1, &[0; 2]),
        a.resize(&[9]),
        a.resize(&[1]),
        a.write(&[0], &[1], None, &[0; 2], None),
        a.commit(),
    ] {
        assert_eq!(e.unwrap_err().status, Status::State);
    }
    assert_eq!((a.shape(), all(&a)), (&[3][..], vec![0; 6]));
}

#[test]
fn creating_is_checked() {
    let (_, folder) = memory();
    let with = |opt, n| Options::new().with(opt, n).unwrap();
    let create = |dtype: &str, shape: &[u64], chunks: Option<&[u64]>, o: Options| {
        let made = Array::create_in(&folder, name(), Mode::Replace, dtype, shape, chunks, &o);
        made.map(|a| a.chunkshape().to_vec()).map_err(|e| e.status)
    };
    assert_eq!(create("<f8", &[10, 3], Some(&[4, 3]), Options::new()), Ok(vec![4, 3]));
    assert_eq!(create("<f8", &[10, 3], Some(&[4, 2]), Options::new()), Err(Status::Unsupported));
    assert_eq!(create("<f8", &[10, 3], Some(&[0, 3]), Options::new()), Err(Status::Argument));
    assert_eq!(create("<f8", &[10, 3], Some(&[4, 3]), with(Opt::ChunkBytes, 100)), Err(Status::Argument));
    assert_eq!(create("<f8", &[10, 3], Some(&[1 << 40, 3]), Options::new()), Err(Status::Argument));
    assert_eq!(create("<f8", &[1 << 62], None, Options::new()), Err(Status::Argument));
    assert_eq!(create("<f8", &[1; 17], None, Options::new()), Err(Status::Argument));
    assert_eq!(create("O", &[3], None, Options::new()), Err(Status::Unsupported));
    assert_eq!(create("<f3", &[3], None, Options::new()), Err(Status::Type));
    assert_eq!(create("<f8", &[3], None, with(Opt::FormatVersion, 2)), Err(Status::Unsupported));
    assert_eq!(create("<f8", &[3], None, with(Opt::FormatVersion, 103)), Ok(vec![131_072]));
}
