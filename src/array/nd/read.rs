//! Reading: each block is decoded once for one call, straight to where it is wanted if it is one
//! run of bytes there.
#![forbid(unsafe_code)]

use super::super::content;
use super::super::grid::{Positions, Repeated, Wanted, each_point};
use super::super::selection::Plan;
use super::cells::{Lattice, Spans};
use super::tiles::{Dim, Place, Tiles};
use super::units::{Filling, Parts, Unit, outside, split};
use crate::blosc::Decoded;
use crate::error::{Result, fail};
use crate::superchunk::chunks::{Chunks, Sink};
use crate::{alloc, parallel};
use std::ops::Range;

/// Content that is worth another thread; the tests want several for little.
const WORTH: u64 = if cfg!(test) { 64 } else { content::WORTH };
/// Blocks that are asked for at once.
const BLOCKS: usize = 4096;
/// Parts of the work for each thread, so that all of them end at about the same time.
const UNITS: u64 = 4;

impl Tiles {
    /// Reads the items `start[d]`, `start[d] + step[d]`, ... (`count[d]` of them) of each dimension
    /// `d`; no steps: 1.
    ///
    /// `strides[d]` is the distance of two of them in `dst` in bytes; none: they are packed, in C
    /// order. The box begins at the first byte of `dst`: where a stride is negative, the items
    /// of that dimension come from its far end. True: some of it was damaged, and is zeros now,
    /// as the options wished.
    pub fn read(
        &self,
        chunks: &dyn Chunks,
        (start, count, step): (&[u64], &[u64], Option<&[u64]>),
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        self.check()?;
        if let Some((place, item)) = self
            .one_item(start, count, step, strides)
            .zip(dst.get_mut(..self.item()).filter(|i| !i.is_empty()))
        {
            return chunks.read_part(place.chunk, place.block, place.at, item);
        }
        let wanted = Wanted::boxed(
            self.shape(),
            self.item(),
            (start, count, step),
            strides,
            dst.len(),
        )?;
        wanted.map_or(Ok(false), |wanted| self.gather(chunks, &wanted, dst))
    }

    /// The place of a box of one item; nothing where it is none, or a wrong one, or more has to be
    /// decoded for it.
    fn one_item(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        strides: Option<&[i64]>,
    ) -> Option<Place> {
        let ndim = self.dims().len();
        let one = start.len() == ndim && count.len() == ndim && count.iter().all(|n| *n == 1);
        let plain = step.is_none_or(|s| s.len() == ndim && !s.contains(&0))
            && strides.is_none_or(|s| s.len() == ndim);
        if one && plain {
            self.place(start.iter().copied())
                .filter(|place| !place.before_padding)
        } else {
            None
        }
    }

    /// Reads all combinations of the positions of each dimension, in C order, packed.
    pub fn read_orthogonal(
        &self,
        chunks: &dyn Chunks,
        positions: &Positions,
        dst: &mut [u8],
    ) -> Result<bool> {
        self.check()?;
        let (wanted, repeated) =
            Wanted::product(self.shape(), self.item(), positions, dst.len(), false)?;
        let bad = wanted.map_or(Ok(false), |wanted| self.gather(chunks, &wanted, dst))?;
        Repeated::copy_all(&repeated, dst);
        Ok(bad)
    }

    fn gather(&self, chunks: &dyn Chunks, wanted: &Wanted, dst: &mut [u8]) -> Result<bool> {
        let lattice = Lattice {
            tiles: self,
            wanted,
        };
        if let Some(bad) = lattice.one_run(chunks, dst)? {
            return Ok(bad);
        }
        let threads = self.threads_for(chunks, lattice.weight(&lattice.all()));
        let mut units = split(
            &lattice,
            dst,
            if threads < 2 {
                1
            } else {
                threads as u64 * UNITS
            },
        )?;
        parallel::for_each(threads, units.iter_mut().collect(), |unit: &mut Unit| {
            unit.done = lattice.decode(chunks, unit)
        });
        units
            .into_iter()
            .try_fold(false, |bad, unit| Ok(bad | unit.done?))
    }

    pub(super) fn threads_for(&self, chunks: &dyn Chunks, weight: u64) -> usize {
        if weight >= WORTH { chunks.threads() } else { 1 }
    }

    /// Reads single items: `coordinates` has one number for each dimension, item after item.
    pub fn read_points(
        &self,
        chunks: &dyn Chunks,
        coordinates: &[u64],
        n: usize,
        dst: &mut [u8],
    ) -> Result<bool> {
        self.check()?;
        let mut points = Vec::new();
        alloc::reserve(&mut points, n.min(dst.len()))?;
        let (len, mut items) = (dst.len(), dst.chunks_exact_mut(self.item().max(1)));
        each_point(self.shape(), self.item(), coordinates, (n, len), |point| {
            points.extend(
                self.place(point.iter().copied())
                    .zip(items.next())
                    .map(|(place, item)| Point { place, item }),
            );
        })?;
        if self.item() == 0 {
            return Ok(false);
        }
        points.sort_unstable_by_key(|p| (p.place.chunk, p.place.block, p.place.at));
        let threads =
            self.threads_for(chunks, (n as u64).saturating_mul(self.block_bytes() as u64));
        let least = if threads < 2 {
            n
        } else {
            n.div_ceil(threads * UNITS as usize)
        };
        let mut units = Vec::new();
        for part in by_block(&mut points, least) {
            alloc::reserve(&mut units, 1)?;
            units.push((part, Ok(false)));
        }
        parallel::for_each(
            threads,
            units.iter_mut().collect(),
            |(points, done): &mut (&mut [Point], Result<bool>)| {
                *done = points
                    .chunk_by_mut(|a, b| a.place.chunk == b.place.chunk)
                    .try_fold(false, |bad, p| Ok(bad | read_points(chunks, p)?));
            },
        );
        units
            .into_iter()
            .try_fold(false, |bad, (_, done)| Ok(bad | done?))
    }
}

impl Lattice<'_> {
    /// Reads what is one run of bytes in one block, and in the buffer.
    fn one_run(&self, chunks: &dyn Chunks, dst: &mut [u8]) -> Result<Option<bool>> {
        let all = self.all();
        let whole = |end| self.cells(all, end).next() == Some(all);
        if !whole(Dim::chunk_end) || !whole(Dim::block_end) {
            return Ok(None);
        }
        let Some((at, range)) = self.plan(&all).one_run() else {
            return Ok(None);
        };
        let (chunk, block, own) = (
            self.chunk(&all),
            self.block(&all),
            at as usize..at as usize + range.len(),
        );
        if range.len() == self.tiles.block_bytes()
            || self.tiles.needed(chunk, block, own.clone()) != own
        {
            return Ok(None);
        }
        let dst = dst.get_mut(range).ok_or_else(outside)?;
        chunks.read_part(chunk, block, at as usize, dst).map(Some)
    }

    /// Decodes what is in a unit to its places.
    fn decode(&self, chunks: &dyn Chunks, unit: &mut Unit) -> Result<bool> {
        let mut bad = false;
        for spans in self.cells(unit.spans, Dim::chunk_end) {
            let chunk = self.chunk(&spans);
            if let Some(fill) = chunks.fill(chunk)? {
                unit.parts.fill(
                    &self.packed(&spans),
                    &Filling::new(&fill, self.tiles.item())?,
                )?;
                continue;
            }
            let blocks = self
                .cells(spans, Dim::block_end)
                .map(|block| self.block(&block));
            bad |= read_blocks(
                chunks,
                chunk,
                blocks,
                &mut BoxSink {
                    lattice: self,
                    spans,
                    parts: &mut unit.parts,
                    last: None,
                },
            )?;
        }
        Ok(bad)
    }
}

/// Reads blocks of one chunk, as many at once as there may be in a chunk of reasonable blocks.
pub(super) fn read_blocks(
    chunks: &dyn Chunks,
    chunk: u64,
    mut blocks: impl Iterator<Item = usize>,
    sink: &mut dyn Sink,
) -> Result<bool> {
    let (mut wanted, mut bad) = (Vec::new(), false);
    loop {
        wanted.clear();
        wanted.extend(blocks.by_ref().take(BLOCKS));
        if wanted.is_empty() {
            return Ok(bad);
        }
        bad |= chunks.read_blocks(chunk, &wanted, sink)?;
    }
}

/// Where the blocks of one chunk go.
struct BoxSink<'a, 'b> {
    lattice: &'a Lattice<'a>,
    spans: Spans,
    parts: &'a mut Parts<'b>,
    /// What is wanted of the block that was asked for last.
    last: Option<(usize, Plan)>,
}

impl BoxSink<'_, '_> {
    fn plan(&self, block: usize) -> Result<Plan> {
        let (spans, _) = self.lattice.of_block(&self.spans, block);
        if self.lattice.is_empty(&spans) {
            return Err(fail!(State, "nothing is wanted of block {block}"));
        }
        Ok(self.lattice.plan(&spans))
    }
}

impl Sink for BoxSink<'_, '_> {
    fn place(&mut self, block: usize) -> Option<&mut [u8]> {
        let plan = self.plan(block).ok()?;
        let all = plan
            .one_run()
            .map(|(_, range)| range)
            .filter(|range| range.len() == self.lattice.tiles.block_bytes());
        match all {
            Some(range) => self.parts.run(range.start, range.end),
            None => {
                self.last = Some((block, plan));
                None
            }
        }
    }

    fn wanted(&mut self, block: usize, len: usize) -> Range<usize> {
        match &self.last {
            Some((last, plan)) if *last == block => {
                let own = plan.range().start as usize..plan.range().end as usize;
                self.lattice
                    .tiles
                    .needed(self.lattice.chunk(&self.spans), block, own)
            }
            _ => 0..len,
        }
    }

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let plan = match self.last.take_if(|(last, _)| *last == block) {
            Some((_, plan)) => plan,
            None => self.plan(block)?,
        };
        self.parts.copy(&plan, content)
    }
}

/// An item that is wanted, and where it goes.
struct Point<'b> {
    place: Place,
    item: &'b mut [u8],
}

/// Cuts points that are in the order of their blocks into parts that share no block, of at least so
/// many points, but for the last.
fn by_block<'p, 'b>(
    points: &'p mut [Point<'b>],
    least: usize,
) -> impl Iterator<Item = &'p mut [Point<'b>]> {
    let mut rest = points;
    std::iter::from_fn(move || {
        let all = std::mem::take(&mut rest);
        let last = all
            .get(least.saturating_sub(1).min(all.len().checked_sub(1)?))?
            .place;
        let n = all.partition_point(|p| (p.place.chunk, p.place.block) <= (last.chunk, last.block));
        let (part, behind) = all.split_at_mut_checked(n)?;
        rest = behind;
        Some(part)
    })
}

/// Reads points of one chunk.
fn read_points(chunks: &dyn Chunks, points: &mut [Point]) -> Result<bool> {
    let Some((chunk, item)) = points.first().map(|p| (p.place.chunk, p.item.len())) else {
        return Ok(false);
    };
    if let Some(fill) = chunks.fill(chunk)? {
        let filling = Filling::new(&fill, item)?;
        points.iter_mut().for_each(|p| filling.put(p.item));
        return Ok(false);
    }
    let mut bad = false;
    for of_block in points.chunk_by_mut(|a, b| a.place.block == b.place.block) {
        if let [point] = of_block
            && !point.place.before_padding
        {
            bad |= chunks.read_part(chunk, point.place.block, point.place.at, point.item)?;
        }
    }
    let several = points
        .chunk_by(|a, b| a.place.block == b.place.block)
        .filter(|p| p.len() > 1 || p.iter().any(|p| p.place.before_padding));
    let mut blocks = Vec::new();
    for block in several.filter_map(|p| p.first()).map(|p| p.place.block) {
        alloc::reserve(&mut blocks, 1)?;
        blocks.push(block);
    }
    Ok(bad | read_blocks(chunks, chunk, blocks.into_iter(), &mut PointSink { points })?)
}

/// Where the points of one chunk go.
struct PointSink<'a, 'b> {
    points: &'a mut [Point<'b>],
}

impl Sink for PointSink<'_, '_> {
    fn place(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }

    fn wanted(&mut self, block: usize, len: usize) -> Range<usize> {
        let first = self.points.partition_point(|p| p.place.block < block);
        let behind = self.points.partition_point(|p| p.place.block <= block);
        let points = self.points.get(first..behind).unwrap_or_default();
        let end = |last: &Point| {
            if last.place.before_padding {
                len
            } else {
                last.place.at + last.item.len()
            }
        };
        points
            .first()
            .zip(points.last())
            .map_or(0..len, |(a, b)| a.place.at..end(b))
    }

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let first = self.points.partition_point(|p| p.place.block < block);
        for point in self
            .points
            .iter_mut()
            .skip(first)
            .take_while(|p| p.place.block == block)
        {
            if !content.copy_from(point.place.at, point.item) {
                return Err(outside());
            }
        }
        Ok(())
    }
}
