//! Changes of the shape. A change that is aligned to chunks moves whole chunks. Otherwise the
//! chunks whose items move are encoded again from the old ones, appended after them, and moved to
//! their positions when all of them exist.
//!
//! Padding outside the array is zeroed when the array shrinks, and when it grows, because other
//! writers store arbitrary bytes there. Removed items therefore never reappear.
#![forbid(unsafe_code)]

use super::super::grid::{Grid, Selection, packed_strides};
use super::super::selection::MAX_NDIM;
use super::buffer_split::outside;
use super::chunk_grid::{ChunkGrid, Dim};
use super::read::batches;
use super::selection_parts::Lattice;
use super::write::{BoxSource, ChunkTask, put_tasks};
use crate::alloc;
use crate::blosc::Decoded;
use crate::dtype::numpy_meta::Order;
use crate::error::{Error, Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::chunks::{BlockChange, Chunks, Encoded, Fill, Sink, Source};
use std::ops::Range;

/// Coordinates along each dimension.
type Coordinates = [u64; MAX_NDIM];

impl ChunkGrid {
    /// Changes the shape. Items outside the new shape are removed; new items are zeros. An
    /// impossible shape is refused before any change. If the chunks fail, the array may have an
    /// intermediate shape.
    pub fn resize(&mut self, chunks: &mut dyn Chunks, shape: &[u64]) -> Result<()> {
        self.check()?;
        let new = self.with_shape(shape)?;
        chunks.can_have(new.chunks())?;
        let least: Vec<u64> = self
            .shape()
            .iter()
            .zip(shape)
            .map(|(a, b)| *a.min(b))
            .collect();
        if least != self.shape() {
            let old = self.clone();
            self.regrid(chunks, self.with_shape(&least)?, &|_, coordinate| {
                Some(coordinate)
            })?;
            self.zero_padding(chunks, &old, false)?;
        }
        if new != *self {
            self.zero_padding(chunks, &new, true)?;
            self.regrid(chunks, new, &|_, coordinate| Some(coordinate))?;
        }
        Ok(())
    }

    /// Appends `count` positions along a dimension. `src` has the new items, packed in C order. On
    /// failure, the array is unchanged.
    #[cfg(test)]
    pub fn append(
        &mut self,
        chunks: &mut dyn Chunks,
        axis: usize,
        count: u64,
        src: &[u8],
    ) -> Result<()> {
        self.insert(
            chunks,
            axis,
            self.shape().get(axis).copied().unwrap_or(0),
            count,
            src,
        )
    }

    /// Inserts `count` positions before position `at` of a dimension, and shifts the following
    /// items. `src` has the new items, packed in C order. On failure, the array is unchanged.
    pub fn insert(
        &mut self,
        chunks: &mut dyn Chunks,
        axis: usize,
        at: u64,
        count: u64,
        src: &[u8],
    ) -> Result<()> {
        self.check()?;
        let dim = *self.dims().get(axis).ok_or_else(|| self.no_axis(axis))?;
        let len = dim
            .len
            .checked_add(count)
            .ok_or_else(|| fail!(Argument, "axis {axis}: the length would exceed 2^64"))?;
        let (new, slab) = (
            self.with_shape(&with(self.shape(), axis, len))?,
            self.with_shape(&with(self.shape(), axis, count))?,
        );
        if src.len() as u64 != slab.nbytes() {
            let (item, shape) = (self.item(), slab.shape());
            return Err(fail!(
                Argument,
                "new items: wrong size (expected items of {item} bytes in the shape {shape:?}, found {} bytes)",
                src.len()
            ));
        }
        if at > dim.len {
            return Err(fail!(
                Range,
                "axis {axis}: position {at} is out of range; the length is {}",
                dim.len
            ));
        }
        if count == 0 {
            return Ok(());
        }
        if at < dim.len && !(at.is_multiple_of(dim.chunk) && count.is_multiple_of(dim.chunk)) {
            return self.shift_items(
                chunks,
                new,
                &Shift {
                    axis,
                    at,
                    inserted: count,
                    removed: 0,
                    src,
                },
            );
        }
        self.make_room(chunks, axis, at, count, new)?;
        let start = with(&vec![0; self.dims().len()], axis, at);
        let written = self.write(chunks, (&start, slab.shape(), None), src, None);
        written.inspect_err(|_| self.broken = self.remove_aligned(chunks, axis, at, count).is_err())
    }

    /// Makes room for `count` positions before `at`: at the end of the dimension, or whole chunks.
    fn make_room(
        &mut self,
        chunks: &mut dyn Chunks,
        axis: usize,
        at: u64,
        count: u64,
        new: ChunkGrid,
    ) -> Result<()> {
        let Some(dim) = self.dims().get(axis).copied() else {
            return Err(self.no_axis(axis));
        };
        let (from, inserted) = (at / dim.chunk, count / dim.chunk);
        self.regrid(chunks, new, &|d, coordinate| match coordinate {
            _ if d != axis || at == dim.len || coordinate < from => Some(coordinate),
            _ => coordinate
                .checked_sub(inserted)
                .filter(|coordinate| *coordinate >= from),
        })
    }

    /// Removes `count` positions from `at` on: at the end of the dimension, or whole chunks.
    fn remove_aligned(
        &mut self,
        chunks: &mut dyn Chunks,
        axis: usize,
        at: u64,
        count: u64,
    ) -> Result<()> {
        let Some(dim) = self.dims().get(axis).copied() else {
            return Err(self.no_axis(axis));
        };
        let (from, removed) = (at / dim.chunk, count / dim.chunk);
        let new = self.with_shape(&with(self.shape(), axis, dim.len - count))?;
        if at + count == dim.len {
            return self.resize(chunks, new.shape());
        }
        self.regrid(chunks, new, &|d, coordinate| {
            Some(if d != axis || coordinate < from {
                coordinate
            } else {
                coordinate + removed
            })
        })
    }

    /// Removes `count` positions of a dimension from position `at` on, and shifts the following
    /// items. On failure, the array is unchanged, or, if they were the last positions, without
    /// them.
    pub fn remove(
        &mut self,
        chunks: &mut dyn Chunks,
        axis: usize,
        at: u64,
        count: u64,
    ) -> Result<()> {
        self.check()?;
        let dim = *self.dims().get(axis).ok_or_else(|| self.no_axis(axis))?;
        let end = at.checked_add(count).filter(|end| *end <= dim.len);
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "axis {axis}: {count} positions from {at} on exceed the length {}",
                dim.len
            )
        })?;
        if count == 0 {
            return Ok(());
        }
        if end == dim.len || at.is_multiple_of(dim.chunk) && count.is_multiple_of(dim.chunk) {
            return self.remove_aligned(chunks, axis, at, count);
        }
        let new = self.with_shape(&with(self.shape(), axis, dim.len - count))?;
        self.shift_items(
            chunks,
            new,
            &Shift {
                axis,
                at,
                inserted: 0,
                removed: count,
                src: &[],
            },
        )
    }

    fn no_axis(&self, axis: usize) -> Error {
        fail!(
            Argument,
            "axis {axis}: the array has {} dimensions",
            self.dims().len()
        )
    }

    /// Changes the grid. `moved` maps a new chunk coordinate along a dimension to the old one;
    /// `None` is a chunk of zeros.
    fn regrid(
        &mut self,
        chunks: &mut dyn Chunks,
        new: ChunkGrid,
        moved: &dyn Fn(usize, u64) -> Option<u64>,
    ) -> Result<()> {
        let counts = |tiles: &ChunkGrid| tiles.dims().iter().map(Dim::chunks).collect::<Vec<_>>();
        let (before, after) = (counts(self), counts(&new));
        if before != after {
            let old = |chunk| {
                let coordinates = new.coordinates(chunk, Dim::chunks);
                before.iter().zip(coordinates).enumerate().try_fold(
                    0,
                    |number, (d, (count, coordinate))| {
                        let coordinate =
                            moved(d, coordinate).filter(|coordinate| coordinate < count)?;
                        Some(number * count + coordinate)
                    },
                )
            };
            let (have, len) = (self.chunks(), new.chunks());
            // A few chunks after the others, as for repeated appends: the existing chunks do not
            // need to be rearranged.
            let appends =
                before.get(1..) == after.get(1..) && (have..have.saturating_mul(2)).contains(&len);
            if appends
                && have
                    .checked_sub(1)
                    .is_some_and(|last| old(last) == Some(last))
            {
                let zeros =
                    (have..len).try_for_each(|chunk| chunks.put(chunk, Encoded::Fill(Fill::Zeros)));
                zeros.inspect_err(|_| self.broken = chunks.rearrange(have, &Some).is_err())?;
            } else {
                chunks.rearrange(len, &old)?;
            }
        }
        *self = new;
        Ok(())
    }
}

fn with(shape: &[u64], axis: usize, len: u64) -> Vec<u64> {
    shape
        .iter()
        .enumerate()
        .map(|(d, n)| if d == axis { len } else { *n })
        .collect()
}

// ---- moving items

/// Insertion or removal of positions along one dimension.
struct Shift<'a> {
    axis: usize,
    at: u64,
    /// Number of inserted positions.
    inserted: u64,
    /// Number of removed positions.
    removed: u64,
    /// The inserted items, packed.
    src: &'a [u8],
}

impl ChunkGrid {
    /// Encodes all chunks whose items change or move within a chunk. Appends them to the old chunks
    /// until all of them exist.
    fn shift_items(
        &mut self,
        chunks: &mut dyn Chunks,
        new: ChunkGrid,
        change: &Shift,
    ) -> Result<()> {
        let Some(dim) = new.dims().get(change.axis) else {
            return Err(self.no_axis(change.axis));
        };
        let old_len = chunks.len();
        let first = change.at / dim.chunk;
        let whole = change
            .inserted
            .abs_diff(change.removed)
            .is_multiple_of(dim.chunk);
        let end = if whole {
            (change.at + change.inserted).div_ceil(dim.chunk).max(first)
        } else {
            dim.chunks()
        };
        // The grid of the chunks that are encoded.
        let new_chunks =
            new.with_shape(&with(new.shape(), change.axis, (end - first) * dim.chunk))?;
        let threads = self.threads_for(
            chunks,
            new_chunks
                .chunks()
                .saturating_mul(new_chunks.chunk_bytes() as u64),
        );
        let (old, target) = (&*self, &new);
        let task = |i| {
            let coordinates = new_chunks.coordinates(i, Dim::chunks);
            let fill = move |chunks: &dyn Chunks| {
                old.shifted_fill(chunks, target, change, first, coordinates)
            };
            let job = move |chunks: &dyn Chunks, threads| {
                old.encode_shifted(chunks, target, change, first, coordinates, threads)
            };
            ChunkTask {
                chunk: None,
                fill: Some(Box::new(fill)),
                job: Box::new(job),
            }
        };
        let result =
            put_tasks(chunks, threads, &mut (0..new_chunks.chunks()).map(task)).and_then(|()| {
                chunks.rearrange(new.chunks(), &|chunk| {
                    let mut coordinates = new.coordinates(chunk, Dim::chunks);
                    let coordinate = coordinates.get_mut(change.axis)?;
                    if (first..end).contains(coordinate) {
                        *coordinate -= first;
                        return Some(old_len + new_chunks.chunk_number(coordinates.into_iter()));
                    }
                    if *coordinate >= end {
                        *coordinate = (*coordinate * dim.chunk + change.removed - change.inserted)
                            / dim.chunk;
                    }
                    Some(self.chunk_number(coordinates.into_iter()))
                })
            });
        match result {
            Ok(()) => *self = new,
            Err(e) => {
                self.broken = chunks.len() != old_len && chunks.rearrange(old_len, &Some).is_err();
                return Err(e);
            }
        }
        Ok(())
    }

    /// Returns the fill of one of these chunks, if nothing is inserted into it and all its source
    /// chunks have the same fill. Equal items do not need to be moved.
    fn shifted_fill(
        &self,
        chunks: &dyn Chunks,
        new: &ChunkGrid,
        change: &Shift,
        first: u64,
        mut coordinates: Coordinates,
    ) -> Result<Option<Fill>> {
        let (Some(dim), Some(target), Some(coordinate)) = (
            self.dims().get(change.axis),
            new.dims().get(change.axis),
            coordinates.get_mut(change.axis),
        ) else {
            return Ok(None);
        };
        let from = (*coordinate + first) * dim.chunk;
        let to = from.saturating_add(dim.chunk).min(target.len);
        if from < change.at.saturating_add(change.inserted) && to > change.at && change.inserted > 0
        {
            return Ok(None);
        }
        // Old position of an item; items before the shift keep their position.
        let was = |at: u64| {
            if at < change.at {
                at
            } else {
                at - change.inserted + change.removed
            }
        };
        let mut all: Option<Fill> = None;
        for old in [from..to.min(change.at).max(from), from.max(change.at)..to] {
            if old.is_empty() {
                continue;
            }
            for chunk in was(old.start) / dim.chunk..=was(old.end - 1) / dim.chunk {
                *coordinates.at_mut(change.axis)? = chunk;
                match chunks.fill(self.chunk_number(coordinates.into_iter()))? {
                    Some(fill) if all.as_ref().is_none_or(|all| *all == fill) => all = Some(fill),
                    _ => return Ok(None),
                }
            }
        }
        Ok(all)
    }

    /// Encodes one of these chunks. `coordinates` is its position, relative to `first` along the
    /// shifted dimension.
    fn encode_shifted(
        &self,
        chunks: &dyn Chunks,
        new: &ChunkGrid,
        change: &Shift,
        first: u64,
        coordinates: Coordinates,
        threads: usize,
    ) -> Result<Option<Encoded>> {
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for (d, (dim, coordinate)) in new.dims().iter().zip(coordinates).enumerate() {
            let begin = (coordinate + if d == change.axis { first } else { 0 }) * dim.chunk;
            start.push(begin);
            count.push(dim.chunk.min(dim.len - begin));
        }
        let bytes = count.iter().product::<u64>() * self.item() as u64;
        let mut items = alloc::zeroed(alloc::allow(
            bytes,
            self.memory_limit(),
            "chunk with shifted items",
        )?)?;
        self.gather_shifted(chunks, change, &start, &count, &mut items)?;
        let selection = Selection::boxed(
            new.shape(),
            new.item(),
            (&start, &count, None),
            None,
            items.len(),
        )?
        .ok_or_else(outside)?;
        let lattice = Lattice {
            tiles: new,
            selection: &selection,
        };
        chunks
            .encode(
                chunks.len(),
                &BoxSource::new(lattice, lattice.all(), &items),
                threads,
            )
            .map(Some)
    }

    /// Reads a box of the new array from the old chunks and the inserted items.
    fn gather_shifted(
        &self,
        chunks: &dyn Chunks,
        change: &Shift,
        start: &[u64],
        count: &[u64],
        items: &mut [u8],
    ) -> Result<()> {
        let Shift {
            axis,
            at,
            inserted,
            removed,
            src,
        } = *change;
        let strides = packed_strides(count, self.item(), items.len())?;
        let (from, n, stride) = (start.get(axis), count.get(axis), strides.get(axis));
        let (Some(from), Some(n), Some(stride)) = (from.copied(), n.copied(), stride.copied())
        else {
            return Err(self.no_axis(axis));
        };
        let part = |within: Range<u64>| {
            let (low, high) = (from.max(within.start), (from + n).min(within.end));
            (low < high).then(|| (low, high - low, (low - from) as usize * stride as usize))
        };
        for within in [0..at, at + inserted..u64::MAX] {
            let Some((low, n, offset)) = part(within) else {
                continue;
            };
            let low = if low < at {
                low
            } else {
                low - inserted + removed
            };
            let dst = items.get_mut(offset..).ok_or_else(outside)?;
            if self.read(
                chunks,
                (&with(start, axis, low), &with(count, axis, n), None),
                dst,
                Some(&strides),
            )? {
                return Err(fail!(
                    Format,
                    "{}: the chunk is corrupt and its items cannot be moved; repair the file first",
                    chunks.name()
                ));
            }
        }
        let Some((low, n, offset)) = part(at..at + inserted) else {
            return Ok(());
        };
        let slab = with(self.shape(), axis, inserted);
        let (dst, box_of) = (
            items.get_mut(offset..).ok_or_else(outside)?,
            (with(start, axis, low - at), with(count, axis, n)),
        );
        let plan = Grid::packed(&slab, self.item())
            .boxed(&box_of.0, &box_of.1, None, Some(&strides), dst.len())?
            .ok_or_else(outside)?;
        if plan
            .segments(plan.range())
            .all(|segment| segment.to_buffer((src, 0), (dst, 0)))
        {
            Ok(())
        } else {
            Err(outside())
        }
    }
}

// ---- padding

impl ChunkGrid {
    /// Zeroes the padding of the chunks as far as the shape `visible` would expose it. With
    /// `check_first`, chunks whose padding is already zero are not encoded again.
    fn zero_padding(
        &self,
        chunks: &mut dyn Chunks,
        visible: &ChunkGrid,
        check_first: bool,
    ) -> Result<()> {
        if self.chunks() == 0 {
            return Ok(());
        }
        let partial =
            |(dim, other): (&Dim, &Dim)| dim.len < other.len && !dim.len.is_multiple_of(dim.chunk);
        let partial: Vec<bool> = self
            .dims()
            .iter()
            .zip(visible.dims())
            .map(partial)
            .collect();
        for axis in partial
            .iter()
            .enumerate()
            .filter(|(_, p)| **p)
            .map(|(d, _)| d)
        {
            // The last chunks along this dimension, without those that were last along a previous
            // one.
            let span = |(d, dim): (usize, &Dim)| match dim.chunks() {
                n if d == axis => n - 1..n,
                n if d < axis && partial.get(d) == Some(&true) => 0..n - 1,
                n => 0..n,
            };
            let spans: Vec<Range<u64>> = self.dims().iter().enumerate().map(span).collect();
            let all: u64 = spans.iter().map(|s| s.end - s.start).product();
            let bytes = all.saturating_mul(self.chunk_bytes() as u64);
            let threads = self.threads_for(chunks, bytes);
            let edge = |i: u64| {
                let (mut coordinates, mut rest) = ([0; MAX_NDIM], i);
                for (coordinate, span) in coordinates.iter_mut().zip(&spans).rev() {
                    let n = (span.end - span.start).max(1);
                    (*coordinate, rest) = (span.start + rest % n, rest / n);
                }
                EdgeChunk::new(self, visible, coordinates)
            };
            let task = |i| {
                let edge = edge(i);
                ChunkTask {
                    chunk: Some(edge.chunk),
                    fill: None,
                    job: Box::new(move |chunks, threads| {
                        edge.encode_zeroed(chunks, check_first, threads)
                    }),
                }
            };
            put_tasks(chunks, threads, &mut (0..all).map(task))?;
        }
        Ok(())
    }
}

/// A chunk with padding outside the array.
struct EdgeChunk<'a> {
    tiles: &'a ChunkGrid,
    chunk: u64,
    /// Per dimension, the chunk positions at which the array ends, and at which the part that
    /// becomes visible ends.
    ends: [(u64, u64); MAX_NDIM],
}

impl<'a> EdgeChunk<'a> {
    fn new(tiles: &'a ChunkGrid, visible: &ChunkGrid, coordinates: Coordinates) -> EdgeChunk<'a> {
        let mut ends = [(0, 0); MAX_NDIM];
        for (((ends, dim), visible), coordinate) in ends
            .iter_mut()
            .zip(tiles.dims())
            .zip(visible.dims())
            .zip(coordinates)
        {
            let within = |len: u64| len.saturating_sub(coordinate * dim.chunk).min(dim.chunk);
            // Nothing is exposed along the other dimensions.
            *ends = (
                if dim.len < visible.len {
                    within(dim.len)
                } else {
                    dim.chunk
                },
                within(visible.len),
            );
        }
        EdgeChunk {
            tiles,
            chunk: tiles.chunk_number(coordinates.into_iter()),
            ends,
        }
    }

    /// Returns, per dimension, the length of a block and the length that lies in the array.
    fn within(&self, block: usize) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let coordinates = self.tiles.block_coordinates(block);
        let within = |((dim, coordinate), (end, _)): ((&Dim, u64), (u64, u64))| match coordinate
            * dim.block
        {
            begin if (begin + dim.block).min(dim.chunk) <= end => (dim.block, dim.block),
            begin => (dim.block, end.saturating_sub(begin)),
        };
        self.tiles
            .dims()
            .iter()
            .zip(coordinates)
            .zip(self.ends)
            .map(within)
    }

    /// Calls `f` with all byte runs of a block that lie outside the array.
    fn beyond(&self, block: usize, f: &mut dyn FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        let all = self.tiles.block_bytes();
        let mut inner = all;
        let mut dims = self.within(block);
        let mut next = || match self.tiles.order() {
            Order::C => dims.next(),
            Order::Fortran => dims.next_back(),
        };
        while let Some((len, end)) = next() {
            let slab = inner;
            inner /= len.max(1) as usize;
            if end < len {
                (0..all / slab.max(1))
                    .try_for_each(|i| f(i * slab + end as usize * inner..(i + 1) * slab))?;
            }
        }
        Ok(())
    }

    /// Encodes the chunk with zeroed padding; `None` if the padding is zero already.
    fn encode_zeroed(
        &self,
        chunks: &dyn Chunks,
        check_first: bool,
        threads: usize,
    ) -> Result<Option<Encoded>> {
        let zeroed = match chunks.fill(self.chunk)? {
            Some(Fill::Zeros) => true,
            Some(Fill::Item(item)) => item.iter().all(|b| *b == 0),
            None => check_first && self.is_clean(chunks)?,
        };
        if zeroed {
            Ok(None)
        } else {
            chunks.encode(self.chunk, self, threads).map(Some)
        }
    }

    fn is_clean(&self, chunks: &dyn Chunks) -> Result<bool> {
        let blocks = (0..self.tiles.chunk_bytes() / self.tiles.block_bytes())
            .filter(|block| self.change(*block) != BlockChange::Unchanged);
        let mut check = ZeroCheck {
            edge: self,
            all_zero: true,
            buffer: Vec::new(),
        };
        let mut damaged = false;
        for batch in batches(blocks) {
            damaged |= chunks.read_blocks(self.chunk, &batch, &mut check)?;
        }
        Ok(check.all_zero && !damaged)
    }
}

impl Source for EdgeChunk<'_> {
    fn change(&self, block: usize) -> BlockChange {
        let coordinates = self.tiles.block_coordinates(block);
        let unseen = self
            .tiles
            .dims()
            .iter()
            .zip(coordinates)
            .zip(self.ends)
            .any(|((dim, coordinate), (_, visible))| coordinate * dim.block >= visible);
        let (mut part, mut whole) = (false, false);
        for (len, end) in self.within(block) {
            part |= end < len;
            whole |= end == 0;
        }
        match (unseen, part, whole) {
            (true, ..) | (_, false, _) => BlockChange::Unchanged,
            (_, _, true) => BlockChange::Full,
            _ => BlockChange::Partial,
        }
    }

    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()> {
        if self.change(block) == BlockChange::Full {
            content.fill(0);
            return Ok(());
        }
        self.beyond(block, &mut |run| {
            content.at_mut(run)?.fill(0);
            Ok(())
        })
    }
}

/// Checks whether the padding is zero.
struct ZeroCheck<'a> {
    edge: &'a EdgeChunk<'a>,
    all_zero: bool,
    buffer: Vec<u8>,
}

impl Sink for ZeroCheck<'_> {
    fn destination(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let content = content.bytes(&mut self.buffer)?;
        self.edge.beyond(block, &mut |run| {
            self.all_zero &= content.at(run)?.iter().all(|b| *b == 0);
            Ok(())
        })
    }
}
