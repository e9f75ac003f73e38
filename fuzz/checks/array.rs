//! Any bytes as an array in a Bloscpack file. Boxes, single items and products of positions must
//! agree with content and shape. Committed changes must be readable afterwards, or an error. The
//! first bytes choose the operations. If the first one requests it, the others are metadata and
//! content of a valid file, because no fuzzer would find the checksums of chunks.
use holdall::array::Array;
use holdall::dtype::numpy_meta::Order;
use holdall::io::Folder;
use holdall::io::functions::FunctionsFolder;
use holdall::options::{Opt, Options};
use holdall::superchunk::bloscpack::{Bloscpack, Destination, Mode};
use std::ffi::OsStr;
use std::sync::Arc;

#[path = "files.rs"]
mod files;
use files::Files;

const NAME: &str = "x";
/// More content would only be slower.
const MOST: u64 = 1 << 13;

fn options(more: &[(Opt, i64)]) -> Options {
    [(Opt::Threads, 1), (Opt::MemoryLimit, 1 << 18)]
        .iter()
        .chain(more)
        .fold(Options::new(), |o, (opt, n)| o.with(*opt, *n).unwrap())
}

fn open(folder: &Arc<dyn Folder>, mode: Mode) -> Option<Array> {
    Array::open_in(folder, OsStr::new(NAME), mode, &options(&[])).ok()
}

/// Numbers that the input chooses.
struct Choice<'a>(&'a [u8], usize);

impl Choice<'_> {
    fn below(&mut self, n: u64) -> u64 {
        self.1 = self.1.wrapping_add(1);
        let byte = self
            .0
            .get(self.1 % self.0.len().max(1))
            .copied()
            .unwrap_or(0);
        u64::from(byte).wrapping_mul(self.1 as u64 * 7 + 1) % n.max(1)
    }
}

/// The expected content of an array: its items in C order.
#[derive(Clone, PartialEq, Debug)]
struct Model {
    shape: Vec<u64>,
    item: usize,
    order: Order,
    items: Vec<u8>,
}

/// All index tuples of a box, in C order.
fn indices(count: &[u64]) -> Vec<Vec<u64>> {
    if count.contains(&0) {
        return vec![];
    }
    count.iter().fold(vec![vec![]], |out, n| {
        out.into_iter()
            .flat_map(|i| (0..*n).map(move |k| [&i[..], &[k]].concat()))
            .collect()
    })
}

impl Model {
    /// From the content, if it is not too large.
    fn of(a: &Array) -> Option<Model> {
        let mut content = vec![
            1;
            usize::try_from(a.nbytes())
                .ok()
                .filter(|n| *n as u64 <= MOST)?
        ];
        if a.store().nbytes() != a.nbytes()
            || a.store().read(0, &mut content) != Ok(false)
            || a.itemsize() == 0
            || a.nbytes() == 0
        {
            return None;
        }
        let (shape, item, order) = (a.shape().to_vec(), a.itemsize(), a.order());
        let backwards: Vec<u64> = shape.iter().rev().copied().collect();
        let file_at = |index: &[u64]| match order {
            Order::C => at(index, &shape),
            Order::Fortran => at(&index.iter().rev().copied().collect::<Vec<_>>(), &backwards),
        };
        let items = indices(&shape)
            .iter()
            .flat_map(|i| content[file_at(i) * item..][..item].to_vec())
            .collect();
        Some(Model {
            shape,
            item,
            order,
            items,
        })
    }

    fn get(&self, index: &[u64]) -> &[u8] {
        &self.items[at(index, &self.shape) * self.item..][..self.item]
    }

    /// With other positions along a dimension: each an old one, or new items from `src`.
    fn with(&self, axis: usize, sources: &[Option<u64>], src: &[u8]) -> Model {
        let mut shape = self.shape.clone();
        shape[axis] = sources.len() as u64;
        let mut new = src.chunks(self.item);
        let mut items = Vec::new();
        for mut i in indices(&shape) {
            match sources[i[axis] as usize] {
                Some(old) => {
                    i[axis] = old;
                    items.extend_from_slice(self.get(&i));
                }
                None => items.extend_from_slice(new.next().unwrap()),
            }
        }
        Model {
            shape,
            items,
            ..self.clone()
        }
    }

    /// Bytes of one position along a dimension.
    fn position_bytes(&self, axis: usize) -> u64 {
        self.shape
            .iter()
            .enumerate()
            .filter(|(d, _)| *d != axis)
            .map(|(_, n)| n)
            .product::<u64>()
            * self.item as u64
    }
}

fn at(index: &[u64], shape: &[u64]) -> usize {
    index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i) as usize
}

/// A box with steps.
fn boxed(c: &mut Choice, shape: &[u64]) -> [Vec<u64>; 3] {
    let (mut start, mut count, mut step) = (vec![], vec![], vec![]);
    for n in shape {
        let (from, by) = (c.below(n + 1), 1 + c.below(3));
        start.push(from);
        step.push(by);
        count.push(c.below((n - from).div_ceil(by) + 1));
    }
    [start, count, step]
}

fn check_reads(a: &Array, m: &Model, c: &mut Choice) {
    let mut all = vec![2; m.items.len()];
    assert_eq!(
        a.read(&vec![0; m.shape.len()], &m.shape, None, &mut all, None),
        Ok(false)
    );
    assert!(all == m.items, "the whole differs");
    let [start, count, step] = boxed(c, &m.shape);
    let expected = indices(&count).into_iter().flat_map(|i| {
        let index: Vec<u64> = i
            .iter()
            .zip(&start)
            .zip(&step)
            .map(|((i, from), by)| from + i * by)
            .collect();
        m.get(&index).to_vec()
    });
    let expected: Vec<u8> = expected.collect();
    let mut got = vec![3; expected.len()];
    assert_eq!(
        a.read(&start, &count, Some(&step), &mut got, None),
        Ok(false)
    );
    assert!(got == expected, "box {start:?} {count:?} {step:?}");
    let points: Vec<Vec<u64>> = (0..c.below(6))
        .map(|_| m.shape.iter().map(|n| c.below(*n)).collect())
        .collect();
    let mut got = vec![4; points.len() * m.item];
    assert_eq!(
        a.read_points(&points.concat(), points.len(), &mut got),
        Ok(false)
    );
    assert!(
        got == points
            .iter()
            .flat_map(|p| m.get(p).to_vec())
            .collect::<Vec<u8>>(),
        "items {points:?}"
    );
    let lists: Vec<Vec<u64>> = m
        .shape
        .iter()
        .map(|n| (0..c.below(3)).map(|_| c.below(*n)).collect())
        .collect();
    let counts: Vec<u64> = lists.iter().map(|l| l.len() as u64).collect();
    let product = indices(&counts).into_iter().map(|i| {
        i.iter()
            .zip(&lists)
            .map(|(k, l)| l[*k as usize])
            .collect::<Vec<u64>>()
    });
    let expected: Vec<u8> = product.flat_map(|i| m.get(&i).to_vec()).collect();
    let mut got = vec![5; expected.len()];
    let positions: Vec<Option<&[u64]>> = lists.iter().map(|l| Some(&l[..])).collect();
    assert_eq!(a.read_orthogonal(&positions, &mut got), Ok(false));
    assert!(got == expected, "positions {lists:?}");
}

/// Changes both. False: the change failed, and had no effect.
fn change(a: &mut Array, m: &mut Model, c: &mut Choice) -> bool {
    let bytes = |c: &mut Choice, n: u64| (0..n).map(|_| c.below(256) as u8).collect::<Vec<u8>>();
    let what = c.below(6);
    if what == 0 || m.shape.is_empty() {
        let [start, count, step] = boxed(c, &m.shape);
        let src = bytes(c, count.iter().product::<u64>() * m.item as u64);
        let done = a.write(&start, &count, Some(&step), &src, None).is_ok();
        for (i, new) in indices(&count).iter().zip(src.chunks(m.item)) {
            let index: Vec<u64> = i
                .iter()
                .zip(&start)
                .zip(&step)
                .map(|((i, from), by)| from + i * by)
                .collect();
            let at = at(&index, &m.shape) * m.item;
            m.items[at..at + m.item].copy_from_slice(new);
        }
        return done;
    }
    let axis = c.below(m.shape.len() as u64) as usize;
    let have = m.shape[axis];
    let (from, n) = (
        c.below(have + 1),
        c.below(1 + (256 / m.position_bytes(axis).max(1)).min(20)),
    );
    let src = bytes(c, n * m.position_bytes(axis));
    let (old, new) = ((0..have).map(Some), vec![None; n as usize]);
    let (done, next) = match what {
        1 => (
            a.append(axis, n, &src),
            m.with(axis, &old.chain(new).collect::<Vec<_>>(), &src),
        ),
        2 => (
            a.resize(&{
                let mut shape = m.shape.clone();
                shape[axis] = from + n;
                shape
            }),
            {
                let sources: Vec<Option<u64>> = (0..from + n)
                    .map(|i| Some(i).filter(|i| *i < have))
                    .collect();
                m.with(
                    axis,
                    &sources,
                    &vec![0; ((from + n) * m.position_bytes(axis)) as usize],
                )
            },
        ),
        3 | 4 => {
            let (before, after) = ((0..from).map(Some), (from..have).map(Some));
            (
                a.insert(axis, from, n, &src),
                m.with(
                    axis,
                    &before.chain(new).chain(after).collect::<Vec<_>>(),
                    &src,
                ),
            )
        }
        _ => {
            let n = n.min(have - from);
            (
                a.remove(axis, from, n),
                m.with(
                    axis,
                    &(0..from)
                        .chain(from + n..have)
                        .map(Some)
                        .collect::<Vec<_>>(),
                    &[],
                ),
            )
        }
    };
    if done.is_ok() {
        *m = next;
    }
    done.is_ok()
}

/// A file with these metadata and this content.
fn build(folder: &Arc<dyn Folder>, how: u8, meta: &[u8], content: &[u8]) -> Option<()> {
    let more = [
        (
            Opt::ChunkBytes,
            [1, 13, 64, 1000][usize::from(how >> 1 & 3)],
        ),
        (Opt::Codec, [0, 2][usize::from(how >> 3 & 1)]),
    ];
    let mut file =
        Bloscpack::create_in(folder, OsStr::new(NAME), Mode::New, 1, &options(&more)).ok()?;
    file.meta_set(Some(meta)).ok()?;
    file.append(content).ok()?;
    file.commit().ok()
}

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&[how, low, high], rest)) = data.split_first_chunk::<3>() else {
        return;
    };
    let (first, second) =
        rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([low, high]))));
    let files = Arc::new(Files::default());
    let folder: Arc<dyn Folder> = Arc::new(FunctionsFolder::new(files.clone()));
    if how & 1 == 0 {
        files.0.lock().unwrap().insert(NAME.into(), rest.to_vec());
    } else if build(&folder, how, first, second).is_none() {
        return;
    }
    let Some(mut a) = open(&folder, Mode::Read) else {
        return;
    };
    if let Ok(splits) = a.splits(5) {
        let end = splits.iter().fold(0, |end, split| {
            assert!(split.first == end && split.count > 0, "{splits:?}");
            end + split.count
        });
        assert_eq!(Some(&end), a.shape().first());
    }
    let mut nothing = [0; 0];
    let _ = (
        a.dtype_text(),
        a.chunkshape().len(),
        a.blockshape().len(),
        a.meta().is_ok(),
        a.read_points(&[], 0, &mut nothing),
    );
    let Some(mut m) = Model::of(&a) else { return };
    let mut c = Choice(data, usize::from(how));
    check_reads(&a, &m, &mut c);
    drop(a);
    let Some(writer) = open(&folder, Mode::Append) else {
        return;
    };
    a = writer;
    for _ in 0..4 {
        if !change(&mut a, &mut m, &mut c) {
            return;
        }
        assert!(a.shape() == m.shape && a.nbytes() == m.items.len() as u64);
        if !m.items.is_empty() {
            check_reads(&a, &m, &mut c);
        }
        if m.items.len() as u64 > MOST {
            return;
        }
    }
    let to = Destination {
        folder: folder.clone(),
        name: "copy".into(),
        mode: Mode::New,
        options: options(&[(Opt::ChunkBytes, 255 * 4)]),
    };
    let copied = a.copy(to, None);
    if a.commit().is_err() {
        return;
    }
    drop(a);
    let mut names = vec![NAME];
    names.extend(copied.is_ok().then_some("copy"));
    for name in names {
        let again = Array::open_in(&folder, OsStr::new(name), Mode::Read, &options(&[])).unwrap();
        assert!(again.shape() == m.shape && again.order() == m.order);
        assert!(
            m.items.is_empty() || Model::of(&again).as_ref() == Some(&m),
            "{name} is not what was committed"
        );
    }
}
