//! Tests of the engine against a naive array model, over chunks in memory that count the calls.

use super::ChunkGrid;
use crate::blosc::Decoded;
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, Status, fail};
use crate::io::sim::Rng;
use crate::superchunk::chunks::{
    BlockChange, Chunks, Encoded, Fill, PendingChunk, Sink, Source, put_in_batches,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

mod changes;
mod reads;
mod writes;

/// Calls since the log was last read: decodes per block, and encoded blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CallLog {
    decoded: BTreeMap<(u64, usize), usize>,
    parts: usize,
    calls: usize,
    encoded: BTreeMap<(u64, usize), BlockChange>,
}

/// Chunks in memory, uncompressed.
struct Mem {
    chunk_bytes: usize,
    block_bytes: usize,
    threads: usize,
    chunks: Vec<Encoded>,
    log: Mutex<CallLog>,
    /// Number of changes that succeed before one fails, or all following ones.
    changes_left: AtomicU64,
    keep_failing: bool,
}

impl Mem {
    fn log(&self) -> CallLog {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    fn content(&self, chunk: u64) -> Vec<u8> {
        match self.chunks.get(chunk as usize) {
            Some(Encoded::Stored(bytes)) => bytes.clone(),
            Some(Encoded::Fill(Fill::Item(item))) => item
                .iter()
                .copied()
                .cycle()
                .take(self.chunk_bytes)
                .collect(),
            _ => vec![0; self.chunk_bytes],
        }
    }

    fn use_change(&self) -> Result<()> {
        match self
            .changes_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
        {
            Ok(_) => Ok(()),
            Err(_) => {
                self.changes_left.store(
                    if self.keep_failing { 0 } else { u64::MAX },
                    Ordering::Relaxed,
                );
                Err(fail!(Io, "injected failure"))
            }
        }
    }
}

impl Chunks for Mem {
    fn name(&self) -> &str {
        "mem"
    }
    fn len(&self) -> u64 {
        self.chunks.len() as u64
    }
    fn block_bytes(&self) -> usize {
        self.block_bytes
    }
    fn threads(&self) -> usize {
        self.threads
    }

    fn fill(&self, chunk: u64) -> Result<Option<Fill>> {
        match self.chunks.get(chunk as usize) {
            Some(Encoded::Fill(fill)) => Ok(Some(fill.clone())),
            Some(_) => Ok(None),
            None => Err(fail!(Range, "chunk {chunk} of {}", self.len())),
        }
    }

    fn read_blocks(&self, chunk: u64, requested: &[usize], sink: &mut dyn Sink) -> Result<bool> {
        assert!(requested.is_sorted_by(|a, b| a < b) && !requested.is_empty());
        let content = self.content(chunk);
        self.log.lock().unwrap().calls += 1;
        for block in requested {
            *self
                .log
                .lock()
                .unwrap()
                .decoded
                .entry((chunk, *block))
                .or_default() += 1;
            let bytes = &content[block * self.block_bytes..][..self.block_bytes];
            match sink.destination(*block) {
                Some(locate) => locate.copy_from_slice(bytes),
                None => {
                    let (requested, mut content) =
                        (sink.requested(*block, bytes.len()), vec![0xbe; bytes.len()]);
                    content[requested.clone()].copy_from_slice(&bytes[requested]);
                    sink.put(*block, &Decoded::Plain(&content))?;
                }
            }
        }
        Ok(false)
    }

    fn read_part(&self, chunk: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool> {
        assert!(from + dst.len() <= self.block_bytes);
        self.log.lock().unwrap().parts += 1;
        dst.copy_from_slice(&self.content(chunk)[block * self.block_bytes + from..][..dst.len()]);
        Ok(false)
    }

    fn encode(&self, chunk: u64, source: &dyn Source, _: usize) -> Result<Encoded> {
        self.use_change()?;
        assert!(chunk <= self.len());
        let mut content = self.content(chunk);
        for (i, block) in content.chunks_exact_mut(self.block_bytes).enumerate() {
            let touch = source.change(i);
            if touch == BlockChange::Unchanged {
                assert!(chunk < self.len());
                continue;
            }
            if touch == BlockChange::Full {
                block.fill(0xbe);
            }
            self.log.lock().unwrap().encoded.insert((chunk, i), touch);
            source.fill(i, block)?;
        }
        if content.iter().all(|b| *b == 0) {
            Ok(Encoded::Fill(Fill::Zeros))
        } else {
            Ok(Encoded::Stored(content))
        }
    }

    fn put_all(&mut self, threads: usize, coming: Vec<PendingChunk>) -> Result<()> {
        put_in_batches(self, threads, coming)
    }

    fn put(&mut self, chunk: u64, new: Encoded) -> Result<()> {
        self.use_change()?;
        match self.chunks.get_mut(chunk as usize) {
            Some(old) => *old = new,
            None => {
                assert_eq!(chunk, self.len());
                self.chunks.push(new);
            }
        }
        Ok(())
    }

    fn rearrange(&mut self, len: u64, from: &dyn Fn(u64) -> Option<u64>) -> Result<()> {
        self.use_change()?;
        let old = |i| {
            from(i).map_or(Encoded::Fill(Fill::Zeros), |old| {
                self.chunks[old as usize].clone()
            })
        };
        self.chunks = (0..len).map(old).collect();
        Ok(())
    }
}

/// A naive array.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Model {
    shape: Vec<u64>,
    item: usize,
    data: Vec<u8>,
}

/// Returns all indices of a shape, in C order.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for n in shape {
        all = all
            .into_iter()
            .flat_map(|i: Vec<u64>| (0..*n).map(move |k| [&i[..], &[k]].concat()))
            .collect();
    }
    all
}

impl Model {
    fn at(&self, index: &[u64]) -> usize {
        assert!(index.iter().zip(&self.shape).all(|(i, n)| i < n));
        index
            .iter()
            .zip(&self.shape)
            .fold(0, |at, (i, n)| at * n + i) as usize
            * self.item
    }

    fn get(&self, index: &[u64]) -> &[u8] {
        &self.data[self.at(index)..][..self.item]
    }

    fn set(&mut self, index: &[u64], item: &[u8]) {
        let at = self.at(index);
        self.data[at..][..self.item].copy_from_slice(item);
    }

    /// Returns the model with another shape; `from` returns each item, or `None` for zeros.
    fn encoded(&self, shape: &[u64], from: impl Fn(&[u64]) -> Option<Vec<u8>>) -> Model {
        let zeros = vec![0; self.item];
        let data = indices(shape)
            .iter()
            .flat_map(|i| from(i).unwrap_or_else(|| zeros.clone()))
            .collect();
        Model {
            shape: shape.to_vec(),
            item: self.item,
            data,
        }
    }
}

fn noise(rng: &mut Rng, n: usize) -> Vec<u8> {
    (0..n).map(|_| (rng.draw() >> 24) as u8).collect()
}

/// A random array and its model.
struct Case {
    rng: Rng,
    tiles: ChunkGrid,
    mem: Mem,
    model: Model,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut rng = Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        (0..9).for_each(|_| _ = rng.draw());
        let ndim = [0, 1, 1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8][rng.below(13)];
        let most = [1, 200, 24, 12, 7, 5, 4, 3, 3][ndim];
        let mut shape: Vec<u64> = (0..ndim).map(|_| 1 + rng.below(most) as u64).collect();
        if ndim > 0 && rng.below(30) == 0 {
            shape[rng.below(ndim)] = 0;
        }
        let chunk: Vec<u64> = shape
            .iter()
            .map(|n| 1 + rng.below(*n as usize + 1) as u64)
            .collect();
        let block = chunk.iter().map(|n| match rng.below(8) {
            0 | 1 => *n,
            // Longer than the chunk.
            2 => *n + 1 + rng.below(3) as u64,
            _ => 1 + rng.below(*n as usize) as u64,
        });
        let block: Vec<u64> = block.collect();
        let item = [1, 2, 3, 4, 8, 8, 16, 17, 300][rng.below(if ndim < 4 { 9 } else { 8 })];
        let mut case = Case::of(rng, &shape, &chunk, &block, item);
        if case.rng.below(3) == 0 {
            case.tiles = case.tiles.with_order(Order::Fortran);
            let stored = indices(&shape)
                .iter()
                .flat_map(|i| case.stored(i))
                .collect();
            case.model.data = stored;
        }
        case
    }

    fn of(mut rng: Rng, shape: &[u64], chunk: &[u64], block: &[u64], item: usize) -> Case {
        let tiles = ChunkGrid::new(shape, chunk, block, item, 1 << 30).unwrap();
        let mut mem = Mem {
            chunk_bytes: tiles.chunk_bytes(),
            block_bytes: tiles.block_bytes(),
            threads: 1 + rng.below(2),
            chunks: Vec::new(),
            log: Mutex::default(),
            changes_left: AtomicU64::new(u64::MAX),
            keep_failing: false,
        };
        let value = noise(&mut rng, item);
        for _ in 0..tiles.chunks() {
            mem.chunks.push(match rng.below(8) {
                0 => Encoded::Fill(Fill::Zeros),
                1 => Encoded::Fill(Fill::Item(Arc::from(&value[..]))),
                // Includes the padding: other writers leave arbitrary bytes there.
                _ => Encoded::Stored(noise(&mut rng, mem.chunk_bytes)),
            });
        }
        let mut case = Case {
            rng,
            model: Model {
                shape: shape.to_vec(),
                item,
                data: Vec::new(),
            },
            tiles,
            mem,
        };
        case.model.data = indices(shape).iter().flat_map(|i| case.stored(i)).collect();
        case
    }

    /// Returns chunk, block and offset of an item, computed from the definition.
    fn locate(&self, index: &[u64]) -> (u64, usize, usize) {
        let (mut chunk, mut block, mut at) = (0, 0, 0);
        let mut dims: Vec<_> = self.tiles.dims().iter().zip(index).collect();
        for (dim, i) in &dims {
            chunk = chunk * dim.len.div_ceil(dim.chunk) + *i / dim.chunk;
        }
        if self.tiles.order() == Order::Fortran {
            dims.reverse();
        }
        for (dim, i) in dims {
            block = block * dim.chunk.div_ceil(dim.block) + (i % dim.chunk) / dim.block;
            at = at * dim.block + i % dim.chunk % dim.block;
        }
        (chunk, block as usize, at as usize * self.tiles.item())
    }

    fn stored(&self, index: &[u64]) -> Vec<u8> {
        let (chunk, block, at) = self.locate(index);
        self.mem.content(chunk)[block * self.mem.block_bytes + at..][..self.tiles.item()].to_vec()
    }

    /// Checks that all items are equal to the model.
    fn check(&self, what: &str) {
        assert_eq!(self.tiles.shape(), self.model.shape, "{what}");
        assert_eq!(self.tiles.chunks(), self.mem.len(), "{what}");
        let all: Vec<u8> = indices(&self.model.shape)
            .iter()
            .flat_map(|i| self.stored(i))
            .collect();
        assert!(all == self.model.data, "{what}: {:?}", self.tiles);
    }

    /// Returns a box within the array: start, count, step.
    fn random_box(&mut self) -> [Vec<u64>; 3] {
        let mut all = [vec![], vec![], vec![]];
        let plain = self.rng.below(2) == 0;
        for n in self.model.shape.clone() {
            let kind = self.rng.below(6);
            let step = if plain {
                1
            } else {
                1 + self.rng.below(4) as u64
            };
            let start = if kind == 0 {
                0
            } else {
                self.rng.below(n as usize + usize::from(kind == 1)) as u64
            };
            let room = (n - start).div_ceil(step);
            let count = match kind {
                0 => room,
                2 => room.min(1),
                _ => self.rng.below(room as usize + 1) as u64,
            };
            all[0].push(start);
            all[1].push(count);
            all[2].push(if count < 2 && self.rng.below(9) == 0 {
                u64::MAX
            } else {
                step
            });
        }
        all
    }

    /// Returns strides of a buffer: packed in any order, some negative, with gaps, or overlapping
    /// if allowed.
    fn random_strides(&mut self, count: &[u64], overlaps: bool) -> Option<Vec<i64>> {
        if self.rng.below(3) == 0 {
            return None;
        }
        let mut order: Vec<usize> = (0..count.len()).collect();
        if self.rng.below(2) == 0 {
            (1..count.len()).for_each(|i| order.swap(i, self.rng.below(i + 1)));
        }
        let (mut strides, mut stride) = (vec![0; count.len()], self.model.item as i64);
        for d in order.into_iter().rev() {
            let gap = if self.rng.below(4) == 0 {
                self.rng.below(9) as i64
            } else {
                0
            };
            let sign = if self.rng.below(4) == 0 { -1 } else { 1 };
            strides[d] = sign * (stride + gap);
            stride = (stride + gap) * count[d].max(1) as i64;
        }
        if overlaps && !count.is_empty() && self.rng.below(8) == 0 {
            strides[self.rng.below(count.len())] = 0;
        }
        Some(strides)
    }
}

/// Returns the number of bytes that a box occupies, and the offset of its first item.
fn extent(count: &[u64], strides: &[i64], item: usize) -> (usize, i64) {
    if count.contains(&0) {
        return (0, 0);
    }
    let reach = |below: bool| {
        count
            .iter()
            .zip(strides)
            .map(|(n, s)| (*n as i64 - 1) * s)
            .filter(|r| (*r < 0) == below)
            .sum::<i64>()
    };
    ((reach(false) - reach(true)) as usize + item, -reach(true))
}

fn packed(count: &[u64], item: usize) -> Vec<i64> {
    let mut strides: Vec<i64> = count
        .iter()
        .rev()
        .scan(item as i64, |s, n| {
            Some(std::mem::replace(s, *s * *n as i64))
        })
        .collect();
    strides.reverse();
    strides
}

/// Returns each index of a box with its offset in the buffer.
fn pairs<'a>(
    [start, count, step]: &'a [Vec<u64>; 3],
    first: i64,
    strides: &'a [i64],
) -> impl Iterator<Item = (Vec<u64>, usize)> + 'a {
    indices(count).into_iter().map(move |i| {
        let at = i
            .iter()
            .zip(strides)
            .fold(first, |at, (i, s)| at + *i as i64 * s);
        let index = i
            .iter()
            .zip(start)
            .zip(step)
            .map(|((i, from), by)| from + i.wrapping_mul(*by))
            .collect();
        (index, at as usize)
    })
}

/// Returns random positions of each dimension in any order with duplicates, or `None` for all.
fn random_positions(rng: &mut Rng, shape: &[u64]) -> Vec<Option<Vec<u64>>> {
    let mut lists = Vec::new();
    for n in shape {
        let most = if *n == 0 {
            1
        } else {
            (*n as usize).min(12) + 2
        };
        let mut list: Vec<u64> = (0..rng.below(most))
            .map(|_| rng.below(*n as usize) as u64)
            .collect();
        if rng.below(3) == 0 {
            list.sort();
            list.dedup();
        }
        lists.push(if rng.below(3) == 0 { None } else { Some(list) });
    }
    lists
}

#[test]
fn sizes_and_counts_are_checked_for_overflow() {
    let of = |shape: &[u64], chunks: &[u64], blocks: &[u64], item| {
        ChunkGrid::new(shape, chunks, blocks, item, u64::MAX)
            .map(|t| (t.chunks(), t.chunk_bytes(), t.block_bytes()))
    };
    assert_eq!(of(&[], &[], &[], 8).unwrap(), (1, 8, 8));
    assert_eq!(
        of(&[61, 47], &[20, 16], &[7, 5], 4).unwrap(),
        (12, 1680, 140)
    );
    assert_eq!(of(&[0, 3], &[0, 3], &[0, 3], 4).unwrap().0, 0);
    let (large, more) = (i64::MAX as u64, i32::MAX as u64 + 1);
    for (shape, chunks, blocks, item) in [
        ([large, 1], [1, 1], [1, 1], 4),
        ([large, 1], [1 << 20, 1], [1, 1], 3),
        ([1 << 32, 1 << 32], [1, 1], [1, 1], 1),
        ([1, 1], [more, 1], [1, 1], 1),
        ([1, 1], [more, more], [more, more], 1),
        ([1, 1], [more, more], [1, 1], usize::MAX),
    ] {
        let status = of(&shape, &chunks, &blocks, item).unwrap_err().status;
        assert!(
            matches!(status, Status::Format | Status::Argument),
            "{shape:?} {chunks:?} {item}: {status:?}"
        );
    }
}
