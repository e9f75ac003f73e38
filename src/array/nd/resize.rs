//! Another shape. What falls on the ends of chunks moves chunks and nothing else; elsewhere the
//! chunks whose items move are made anew from the old ones, behind them, and take their places when
//! all of them are there.
//!
//! What lies beyond the array in its chunks is made zeros when it shrinks, and when it grows, as
//! others leave there what they like: what was given up never comes back.
#![forbid(unsafe_code)]

use super::super::grid::{Grid, Wanted, packed_strides};
use super::super::selection::MAX_NDIM;
use super::cells::Lattice;
use super::read::read_blocks;
use super::tiles::{Dim, Tiles};
use super::units::outside;
use super::write::{BoxSource, Task, make};
use crate::alloc;
use crate::blosc::Decoded;
use crate::error::{Error, Result, fail};
use crate::superchunk::chunks::{Chunks, Encoded, Fill, Sink, Source, Touch};
use std::ops::Range;

/// Places along each dimension.
type Places = [u64; MAX_NDIM];

impl Tiles {
    /// Gives it another shape: what is beyond goes, what is new is zeros. What it cannot be is
    /// refused first; where a file fails, its shape may be one on the way.
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
            self.regrid(chunks, self.with_shape(&least)?, &|_, place| Some(place))?;
            self.clean(chunks, &old, false)?;
        }
        if new != *self {
            self.clean(chunks, &new, true)?;
            self.regrid(chunks, new, &|_, place| Some(place))?;
        }
        Ok(())
    }

    /// Lets it grow by `count` along a dimension. `src` has the new items, packed, in C order. On
    /// failure it is as it was.
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

    /// Puts `count` places into a dimension before `at`; what is behind moves. `src` has the new
    /// items, packed, in C order. On failure it is as it was.
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
            .ok_or_else(|| fail!(Argument, "axis {axis}: more than 2^64 places"))?;
        let (new, slab) = (
            self.with_shape(&with(self.shape(), axis, len))?,
            self.with_shape(&with(self.shape(), axis, count))?,
        );
        if src.len() as u64 != slab.nbytes() {
            let (item, shape) = (self.item(), slab.shape());
            return Err(fail!(
                Argument,
                "{} bytes: items of {item} bytes in the shape {shape:?} were expected",
                src.len()
            ));
        }
        if at > dim.len {
            return Err(fail!(
                Range,
                "axis {axis}: a place {at}: there are {}",
                dim.len
            ));
        }
        if count == 0 {
            return Ok(());
        }
        if at < dim.len && !(at.is_multiple_of(dim.chunk) && count.is_multiple_of(dim.chunk)) {
            return self.rebuild(
                chunks,
                new,
                &Move {
                    axis,
                    at,
                    more: count,
                    less: 0,
                    src,
                },
            );
        }
        self.open(chunks, axis, at, count, new)?;
        let start = with(&vec![0; self.dims().len()], axis, at);
        let written = self.write(chunks, (&start, slab.shape(), None), src, None);
        written.inspect_err(|_| self.broken = self.close(chunks, axis, at, count).is_err())
    }

    /// Makes room for `count` places before `at`: at the end of the dimension, or whole chunks.
    fn open(
        &mut self,
        chunks: &mut dyn Chunks,
        axis: usize,
        at: u64,
        count: u64,
        new: Tiles,
    ) -> Result<()> {
        let Some(dim) = self.dims().get(axis).copied() else {
            return Err(self.no_axis(axis));
        };
        let (from, more) = (at / dim.chunk, count / dim.chunk);
        self.regrid(chunks, new, &|d, place| match place {
            _ if d != axis || at == dim.len || place < from => Some(place),
            _ => place.checked_sub(more).filter(|place| *place >= from),
        })
    }

    /// Takes away `count` places from `at` on: at the end of the dimension, or whole chunks.
    fn close(&mut self, chunks: &mut dyn Chunks, axis: usize, at: u64, count: u64) -> Result<()> {
        let Some(dim) = self.dims().get(axis).copied() else {
            return Err(self.no_axis(axis));
        };
        let (from, less) = (at / dim.chunk, count / dim.chunk);
        let new = self.with_shape(&with(self.shape(), axis, dim.len - count))?;
        if at + count == dim.len {
            return self.resize(chunks, new.shape());
        }
        self.regrid(chunks, new, &|d, place| {
            Some(if d != axis || place < from {
                place
            } else {
                place + less
            })
        })
    }

    /// Takes away `count` places of a dimension from `at` on; what is behind moves. On failure it
    /// is as it was, or, where they were its last ones, without them.
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
                "axis {axis}: {count} from {at} on: there are {}",
                dim.len
            )
        })?;
        if count == 0 {
            return Ok(());
        }
        if end == dim.len || at.is_multiple_of(dim.chunk) && count.is_multiple_of(dim.chunk) {
            return self.close(chunks, axis, at, count);
        }
        let new = self.with_shape(&with(self.shape(), axis, dim.len - count))?;
        self.rebuild(
            chunks,
            new,
            &Move {
                axis,
                at,
                more: 0,
                less: count,
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

    /// Gives it another grid: which place of chunks along a dimension was which, or is one of
    /// zeros.
    fn regrid(
        &mut self,
        chunks: &mut dyn Chunks,
        new: Tiles,
        moved: &dyn Fn(usize, u64) -> Option<u64>,
    ) -> Result<()> {
        let counts = |tiles: &Tiles| tiles.dims().iter().map(Dim::chunks).collect::<Vec<_>>();
        let (before, after) = (counts(self), counts(&new));
        if before != after {
            let old = |chunk| {
                let places = new.places(chunk, Dim::chunks);
                before
                    .iter()
                    .zip(places)
                    .enumerate()
                    .try_fold(0, |number, (d, (count, place))| {
                        let place = moved(d, place).filter(|place| place < count)?;
                        Some(number * count + place)
                    })
            };
            let (have, len) = (self.chunks(), new.chunks());
            // a few more behind the others, as when it grows again and again: those are not looked
            // at
            let behind =
                before.get(1..) == after.get(1..) && (have..have.saturating_mul(2)).contains(&len);
            if behind
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

/// Along one dimension, from one place on.
struct Move<'a> {
    axis: usize,
    at: u64,
    /// Places that come.
    more: u64,
    /// Places that go.
    less: u64,
    /// What comes, packed.
    src: &'a [u8],
}

impl Tiles {
    /// Makes the chunks anew whose items change, or move to other places of a chunk. They stand
    /// behind the old ones until all of them are there.
    fn rebuild(&mut self, chunks: &mut dyn Chunks, new: Tiles, change: &Move) -> Result<()> {
        let Some(dim) = new.dims().get(change.axis) else {
            return Err(self.no_axis(change.axis));
        };
        let old_len = chunks.len();
        let first = change.at / dim.chunk;
        let whole = change.more.abs_diff(change.less).is_multiple_of(dim.chunk);
        let end = if whole {
            (change.at + change.more).div_ceil(dim.chunk).max(first)
        } else {
            dim.chunks()
        };
        // the grid of those that are made
        let made = new.with_shape(&with(new.shape(), change.axis, (end - first) * dim.chunk))?;
        let threads = self.threads_for(
            chunks,
            made.chunks().saturating_mul(made.chunk_bytes() as u64),
        );
        let (old, target) = (&*self, &new);
        let task = |i| {
            let places = made.places(i, Dim::chunks);
            let fill =
                move |chunks: &dyn Chunks| old.moved_fill(chunks, target, change, first, places);
            let job = move |chunks: &dyn Chunks, threads| {
                old.rebuilt(chunks, target, change, first, places, threads)
            };
            Task {
                chunk: None,
                fill: Some(Box::new(fill)),
                job: Box::new(job),
            }
        };
        let result = make(chunks, threads, &mut (0..made.chunks()).map(task)).and_then(|()| {
            chunks.rearrange(new.chunks(), &|chunk| {
                let mut places = new.places(chunk, Dim::chunks);
                let place = places.get_mut(change.axis)?;
                if (first..end).contains(place) {
                    *place -= first;
                    return Some(old_len + made.chunk_number(places.into_iter()));
                }
                if *place >= end {
                    *place = (*place * dim.chunk + change.less - change.more) / dim.chunk;
                }
                Some(self.chunk_number(places.into_iter()))
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

    /// What one of these chunks is filled with, if nothing comes into it, and all from which it
    /// takes its items are filled with that: items that are all the same need not be moved.
    fn moved_fill(
        &self,
        chunks: &dyn Chunks,
        new: &Tiles,
        change: &Move,
        first: u64,
        mut places: Places,
    ) -> Result<Option<Fill>> {
        let (Some(dim), Some(target), Some(place)) = (
            self.dims().get(change.axis),
            new.dims().get(change.axis),
            places.get_mut(change.axis),
        ) else {
            return Ok(None);
        };
        let from = (*place + first) * dim.chunk;
        let to = from.saturating_add(dim.chunk).min(target.len);
        if from < change.at.saturating_add(change.more) && to > change.at && change.more > 0 {
            return Ok(None);
        }
        // where its items have been: before the place that moves they are where they were
        let was = |at: u64| {
            if at < change.at {
                at
            } else {
                at - change.more + change.less
            }
        };
        let mut all: Option<Fill> = None;
        for old in [from..to.min(change.at).max(from), from.max(change.at)..to] {
            if old.is_empty() {
                continue;
            }
            for chunk in was(old.start) / dim.chunk..=was(old.end - 1) / dim.chunk {
                if let Some(place) = places.get_mut(change.axis) {
                    *place = chunk;
                }
                match chunks.fill(self.chunk_number(places.into_iter()))? {
                    Some(fill) if all.as_ref().is_none_or(|all| *all == fill) => all = Some(fill),
                    _ => return Ok(None),
                }
            }
        }
        Ok(all)
    }

    /// One of these chunks. `places`: where it is, the first of them being `first` along the
    /// dimension.
    fn rebuilt(
        &self,
        chunks: &dyn Chunks,
        new: &Tiles,
        change: &Move,
        first: u64,
        places: Places,
        threads: usize,
    ) -> Result<Option<Encoded>> {
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for (d, (dim, place)) in new.dims().iter().zip(places).enumerate() {
            let begin = (place + if d == change.axis { first } else { 0 }) * dim.chunk;
            start.push(begin);
            count.push(dim.chunk.min(dim.len - begin));
        }
        let bytes = count.iter().product::<u64>() * self.item() as u64;
        let mut items = alloc::zeroed(alloc::allow(
            bytes,
            self.memory_limit(),
            "a chunk whose items move",
        )?)?;
        self.collect(chunks, change, &start, &count, &mut items)?;
        let wanted = Wanted::boxed(
            new.shape(),
            new.item(),
            (&start, &count, None),
            None,
            items.len(),
        )?
        .ok_or_else(outside)?;
        let lattice = Lattice {
            tiles: new,
            wanted: &wanted,
        };
        chunks
            .encode(
                chunks.len(),
                &BoxSource::new(lattice, lattice.all(), &items),
                threads,
            )
            .map(Some)
    }

    /// Puts together a box of the new array.
    fn collect(
        &self,
        chunks: &dyn Chunks,
        change: &Move,
        start: &[u64],
        count: &[u64],
        items: &mut [u8],
    ) -> Result<()> {
        let Move {
            axis,
            at,
            more,
            less,
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
        for within in [0..at, at + more..u64::MAX] {
            let Some((low, n, place)) = part(within) else {
                continue;
            };
            let low = if low < at { low } else { low - more + less };
            let dst = items.get_mut(place..).ok_or_else(outside)?;
            if self.read(
                chunks,
                (&with(start, axis, low), &with(count, axis, n), None),
                dst,
                Some(&strides),
            )? {
                return Err(fail!(
                    Format,
                    "{}: a damaged chunk, whose items cannot be moved",
                    chunks.name()
                ));
            }
        }
        let Some((low, n, place)) = part(at..at + more) else {
            return Ok(());
        };
        let slab = with(self.shape(), axis, more);
        let (dst, box_of) = (
            items.get_mut(place..).ok_or_else(outside)?,
            (with(start, axis, low - at), with(count, axis, n)),
        );
        let plan = Grid::packed(&slab, self.item())
            .boxed(&box_of.0, &box_of.1, None, Some(&strides), dst.len())?
            .ok_or_else(outside)?;
        if plan
            .pieces(plan.range())
            .all(|piece| piece.to_buffer((src, 0), (dst, 0)))
        {
            Ok(())
        } else {
            Err(outside())
        }
    }
}

// ---- what is beyond

impl Tiles {
    /// Makes zeros of what its chunks have beyond it, as far as it would be seen with another
    /// shape. `look`: it may be zeros already.
    fn clean(&self, chunks: &mut dyn Chunks, seen: &Tiles, look: bool) -> Result<()> {
        if self.chunks() == 0 {
            return Ok(());
        }
        let partial =
            |(dim, other): (&Dim, &Dim)| dim.len < other.len && !dim.len.is_multiple_of(dim.chunk);
        let partial: Vec<bool> = self.dims().iter().zip(seen.dims()).map(partial).collect();
        for axis in partial
            .iter()
            .enumerate()
            .filter(|(_, p)| **p)
            .map(|(d, _)| d)
        {
            // the last chunks along this dimension, without those that were the last along one
            // before
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
                let (mut places, mut rest) = ([0; MAX_NDIM], i);
                for (place, span) in places.iter_mut().zip(&spans).rev() {
                    let n = (span.end - span.start).max(1);
                    (*place, rest) = (span.start + rest % n, rest / n);
                }
                Edge::new(self, seen, places)
            };
            let task = |i| {
                let edge = edge(i);
                Task {
                    chunk: Some(edge.chunk),
                    fill: None,
                    job: Box::new(move |chunks, threads| edge.cleaned(chunks, look, threads)),
                }
            };
            make(chunks, threads, &mut (0..all).map(task))?;
        }
        Ok(())
    }
}

/// A chunk that goes beyond the array.
struct Edge<'a> {
    tiles: &'a Tiles,
    chunk: u64,
    /// For each dimension, where in the chunk the array ends, and where what would be seen ends.
    ends: [(u64, u64); MAX_NDIM],
}

impl<'a> Edge<'a> {
    fn new(tiles: &'a Tiles, seen: &Tiles, places: Places) -> Edge<'a> {
        let mut ends = [(0, 0); MAX_NDIM];
        for (((ends, dim), seen), place) in ends
            .iter_mut()
            .zip(tiles.dims())
            .zip(seen.dims())
            .zip(places)
        {
            let within = |len: u64| len.saturating_sub(place * dim.chunk).min(dim.chunk);
            // along the others nothing is beyond
            *ends = (
                if dim.len < seen.len {
                    within(dim.len)
                } else {
                    dim.chunk
                },
                within(seen.len),
            );
        }
        Edge {
            tiles,
            chunk: tiles.chunk_number(places.into_iter()),
            ends,
        }
    }

    /// For each dimension the length of a block, and how much of this one is in the array.
    fn within(&self, block: usize) -> impl Iterator<Item = (u64, u64)> {
        let places = self.tiles.places(block as u64, Dim::blocks);
        let within = |((dim, place), (end, _)): ((&Dim, u64), (u64, u64))| match place * dim.block {
            begin if (begin + dim.block).min(dim.chunk) <= end => (dim.block, dim.block),
            begin => (dim.block, end.saturating_sub(begin)),
        };
        self.tiles
            .dims()
            .iter()
            .zip(places)
            .zip(self.ends)
            .map(within)
    }

    /// Calls a function with all runs of a block that are beyond.
    fn beyond(&self, block: usize, f: &mut dyn FnMut(Range<usize>)) {
        let all = self.tiles.block_bytes();
        let mut inner = all;
        for (len, end) in self.within(block) {
            let slab = inner;
            inner /= len.max(1) as usize;
            if end < len {
                (0..all / slab.max(1))
                    .for_each(|i| f(i * slab + end as usize * inner..(i + 1) * slab));
            }
        }
    }

    /// The chunk anew, unless it is clean.
    fn cleaned(&self, chunks: &dyn Chunks, look: bool, threads: usize) -> Result<Option<Encoded>> {
        let clean = match chunks.fill(self.chunk)? {
            Some(Fill::Zeros) => true,
            Some(Fill::Item(item)) => item.iter().all(|b| *b == 0),
            None => look && self.is_clean(chunks)?,
        };
        if clean {
            Ok(None)
        } else {
            chunks.encode(self.chunk, self, threads).map(Some)
        }
    }

    fn is_clean(&self, chunks: &dyn Chunks) -> Result<bool> {
        let blocks = (0..self.tiles.chunk_bytes() / self.tiles.block_bytes())
            .filter(|block| self.touch(*block) != Touch::Kept);
        let mut look = Look {
            edge: self,
            clean: true,
            buffer: Vec::new(),
        };
        let bad = read_blocks(chunks, self.chunk, blocks, &mut look)?;
        Ok(look.clean && !bad)
    }
}

impl Source for Edge<'_> {
    fn touch(&self, block: usize) -> Touch {
        let places = self.tiles.places(block as u64, Dim::blocks);
        let unseen = self
            .tiles
            .dims()
            .iter()
            .zip(places)
            .zip(self.ends)
            .any(|((dim, place), (_, seen))| place * dim.block >= seen);
        let (mut part, mut whole) = (false, false);
        for (len, end) in self.within(block) {
            part |= end < len;
            whole |= end == 0;
        }
        match (unseen, part, whole) {
            (true, ..) | (_, false, _) => Touch::Kept,
            (_, _, true) => Touch::Whole,
            _ => Touch::Part,
        }
    }

    fn fill(&self, block: usize, content: &mut [u8]) -> Result<()> {
        if self.touch(block) == Touch::Whole {
            content.fill(0);
            return Ok(());
        }
        self.beyond(block, &mut |run| {
            content.get_mut(run).unwrap_or_default().fill(0)
        });
        Ok(())
    }
}

/// Looks whether what is beyond is zeros.
struct Look<'a> {
    edge: &'a Edge<'a>,
    clean: bool,
    buffer: Vec<u8>,
}

impl Sink for Look<'_> {
    fn place(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let content = content.bytes(&mut self.buffer)?;
        self.edge.beyond(block, &mut |run| {
            self.clean &= content.get(run).unwrap_or_default().iter().all(|b| *b == 0)
        });
        Ok(())
    }
}
