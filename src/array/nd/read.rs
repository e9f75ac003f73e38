//! Reading. Each block is decoded at most once per call, directly into the buffer if it is
//! contiguous there.
#![forbid(unsafe_code)]

use super::super::grid::{Duplicates, Positions, Selection, for_each_point};
use super::super::selection::Plan;
use super::super::transfer;
use super::buffer_split::{BufferRuns, FillPattern, Unit, outside, split};
use super::chunk_grid::{ChunkGrid, Dim, ItemLocation};
use super::selection_parts::{Lattice, Spans};
use crate::blosc::Decoded;
use crate::dtype::numpy_meta::Order;
use crate::error::{Result, fail};
use crate::io::MAX_FETCH;
use crate::superchunk::chunks::{ChunkRequest, Chunks, Sink};
use crate::{alloc, parallel};
use std::ops::Range;

/// Minimum content in bytes for several threads. Tests use a small value.
const PARALLEL_MIN: u64 = if cfg!(test) {
    64
} else {
    transfer::PARALLEL_MIN
};
/// Smaller boxes whose first block is cached are read by one thread: the others are probably cached
/// as well, and waking threads takes longer than copying.
const MAX_CACHED: u64 = 4 << 20;
/// Maximum number of blocks per call of [`Chunks::read_blocks`].
const BLOCKS_PER_CALL: usize = 4096;
/// Number of units per thread, so that all threads finish at about the same time.
const UNITS_PER_THREAD: u64 = 4;

impl ChunkGrid {
    /// Reads the items `start[d]`, `start[d] + step[d]`, ... (`count[d]` of them) along each
    /// dimension `d`. See [`Array::read`](crate::array::Array::read) for the other parameters.
    /// Returns `true` if some of the items were corrupt and are zeros, as the options requested.
    pub fn read(
        &self,
        chunks: &dyn Chunks,
        (start, count, step): (&[u64], &[u64], Option<&[u64]>),
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        self.check()?;
        if let Some((location, item)) = self
            .one_item(start, count, step, strides)
            .zip(dst.get_mut(..self.item()).filter(|i| !i.is_empty()))
        {
            return chunks.read_part(location.chunk, location.block, location.at, item);
        }
        let selection = Selection::boxed(
            self.shape(),
            self.item(),
            (start, count, step),
            strides,
            dst.len(),
        )?;
        selection.map_or(Ok(false), |selection| self.gather(chunks, &selection, dst))
    }

    /// Returns the location of a box of one item. Returns `None` if the box has another size, is
    /// invalid, or requires decoding more than the item.
    fn one_item(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        strides: Option<&[i64]>,
    ) -> Option<ItemLocation> {
        let ndim = self.dims().len();
        let one = start.len() == ndim && count.len() == ndim && count.iter().all(|n| *n == 1);
        let plain = step.is_none_or(|s| s.len() == ndim && !s.contains(&0))
            && strides.is_none_or(|s| s.len() == ndim);
        if one && plain {
            self.locate(start.iter().copied())
                .filter(|location| !location.before_padding)
        } else {
            None
        }
    }

    /// Reads all combinations of the positions of each dimension, packed in C order.
    pub fn read_orthogonal(
        &self,
        chunks: &dyn Chunks,
        positions: &Positions,
        dst: &mut [u8],
    ) -> Result<bool> {
        self.check()?;
        let (selection, duplicates) =
            Selection::product(self.shape(), self.item(), positions, dst.len(), false)?;
        let damaged =
            selection.map_or(Ok(false), |selection| self.gather(chunks, &selection, dst))?;
        Duplicates::copy_all(&duplicates, dst);
        Ok(damaged)
    }

    fn gather(&self, chunks: &dyn Chunks, selection: &Selection, dst: &mut [u8]) -> Result<bool> {
        let lattice = Lattice {
            tiles: self,
            selection,
        };
        if let Some(damaged) = lattice.read_contiguous(chunks, dst)? {
            return Ok(damaged);
        }
        let weight = lattice.weight(&lattice.all());
        let threads = match self.threads_for(chunks, weight) {
            n if n > 1 && weight < MAX_CACHED && lattice.begins_in_cache(chunks) => 1,
            n => n,
        };
        let mut n = if threads < 2 {
            1
        } else {
            threads as u64 * UNITS_PER_THREAD
        };
        if chunks.is_remote() {
            n = n.max(weight.div_ceil(MAX_FETCH / UNITS_PER_THREAD));
        }
        let mut units = split(&lattice, dst, n)?;
        lattice.read_units(chunks, &mut units, threads);
        units
            .into_iter()
            .try_fold(false, |damaged, unit| Ok(damaged | unit.done?))
    }

    pub(super) fn threads_for(&self, chunks: &dyn Chunks, weight: u64) -> usize {
        if weight >= PARALLEL_MIN {
            chunks.threads()
        } else {
            1
        }
    }

    /// Reads single items. `coordinates` has one index per dimension, item after item.
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
        for_each_point(self.shape(), self.item(), coordinates, (n, len), |point| {
            points.extend(
                self.locate(point.iter().copied())
                    .zip(items.next())
                    .map(|(location, item)| Point { location, item }),
            );
        })?;
        if self.item() == 0 {
            return Ok(false);
        }
        points.sort_unstable_by_key(|p| (p.location.chunk, p.location.block, p.location.at));
        let threads =
            self.threads_for(chunks, (n as u64).saturating_mul(self.block_bytes() as u64));
        let min_points = if threads < 2 {
            n
        } else {
            n.div_ceil(threads * UNITS_PER_THREAD as usize)
        };
        let mut units = Vec::new();
        for part in split_at_blocks(&mut points, min_points) {
            alloc::reserve(&mut units, 1)?;
            units.push((part, Ok(false)));
        }
        if chunks.is_remote() {
            let mut all = units
                .iter()
                .flat_map(|(points, _)| requests_of_points(points));
            chunks.read_ahead(&mut all);
        }
        parallel::for_each(
            threads,
            units.iter_mut().collect(),
            |(points, done): &mut (&mut [Point], Result<bool>)| {
                if !chunks.is_remote() {
                    chunks.read_ahead(&mut requests_of_points(points));
                }
                *done = points
                    .chunk_by_mut(|a, b| a.location.chunk == b.location.chunk)
                    .try_fold(false, |damaged, p| Ok(damaged | read_points(chunks, p)?));
            },
        );
        units
            .into_iter()
            .try_fold(false, |damaged, (_, done)| Ok(damaged | done?))
    }
}

impl Lattice<'_> {
    /// Reads the selection if it is contiguous in one block and in the buffer.
    fn read_contiguous(&self, chunks: &dyn Chunks, dst: &mut [u8]) -> Result<Option<bool>> {
        let all = self.all();
        let whole = |end| self.cells(all, end).next() == Some(all);
        if !whole(Dim::chunk_end) || !whole(Dim::block_end) {
            return Ok(None);
        }
        let Some((at, range)) = self.plan(&all).contiguous() else {
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

    /// Returns whether the first block of the selection is cached.
    fn begins_in_cache(&self, chunks: &dyn Chunks) -> bool {
        let first = self.cells(self.all(), Dim::chunk_end).next();
        let first = first.and_then(|part| self.cells(part, Dim::block_end).next());
        first.is_some_and(|first| chunks.is_cached(self.chunk(&first), self.block(&first)))
    }

    /// Returns the chunks of a part, and the blocks of it in each.
    fn requests(&self, spans: Spans) -> impl Iterator<Item = ChunkRequest> {
        self.cells(spans, Dim::chunk_end)
            .map(|spans| self.request(spans))
    }

    /// Returns the chunk of a part that lies in one, and the blocks of the part.
    fn request(&self, spans: Spans) -> ChunkRequest {
        let blocks = self.cells(spans, Dim::block_end);
        let mut blocks: Vec<usize> = blocks.map(|block| self.block(&block)).collect();
        blocks.sort_unstable();
        ChunkRequest {
            chunk: self.chunk(&spans),
            blocks,
            at_once: true,
        }
    }

    /// Decodes the items of units into their buffers. What remote storage has of them is fetched
    /// before, in stages.
    fn read_units(&self, chunks: &dyn Chunks, units: &mut [Unit], threads: usize) {
        let read = |units: &mut [Unit]| {
            parallel::for_each(threads, units.iter_mut().collect(), |unit: &mut Unit| {
                unit.done = self.read_unit(chunks, unit)
            });
        };
        if !chunks.is_remote() {
            return read(units);
        }
        for stage in stages(self, units) {
            let mut all = stage.iter().flat_map(|unit| self.requests(unit.spans));
            chunks.read_ahead(&mut all);
            read(stage);
        }
    }

    /// Decodes the items of a unit into the buffer.
    fn read_unit(&self, chunks: &dyn Chunks, unit: &mut Unit) -> Result<bool> {
        let mut damaged = false;
        if !chunks.is_remote() {
            chunks.read_ahead(&mut self.requests(unit.spans));
        }
        for spans in self.cells(unit.spans, Dim::chunk_end) {
            let chunk = self.chunk(&spans);
            if let Some(fill) = chunks.fill(chunk)? {
                unit.buffer.fill(
                    &self.packed(&spans),
                    &FillPattern::new(&fill, self.tiles.item())?,
                )?;
                continue;
            }
            let blocks = self
                .cells(spans, Dim::block_end)
                .map(|block| self.block(&block));
            let mut sink = BoxSink {
                lattice: self,
                spans,
                buffer: &mut unit.buffer,
                pending: None,
            };
            for mut batch in batches(blocks) {
                // the parts are in C order, the numbers of the blocks perhaps not
                if self.tiles.order() == Order::Fortran {
                    batch.sort_unstable();
                }
                damaged |= chunks.read_blocks(chunk, &batch, &mut sink)?;
            }
        }
        Ok(damaged)
    }
}

/// Divides units into stages that decode at most [`MAX_FETCH`] bytes, or one unit.
fn stages<'u, 'b>(
    lattice: &Lattice,
    units: &'u mut [Unit<'b>],
) -> impl Iterator<Item = &'u mut [Unit<'b>]> {
    let mut rest = units;
    std::iter::from_fn(move || {
        let mut left = MAX_FETCH;
        let fits = |unit: &Unit| {
            let room = left.checked_sub(lattice.weight(&unit.spans));
            left = room.unwrap_or(0);
            room.is_some()
        };
        let n = rest.iter().map(fits).take_while(|fits| *fits).count();
        let all = std::mem::take(&mut rest);
        let (stage, after) = all.split_at_mut_checked(n.max(1).min(all.len()))?;
        rest = after;
        (!stage.is_empty()).then_some(stage)
    })
}

/// Divides the requested blocks of a chunk into batches, each for one call of
/// [`Chunks::read_blocks`].
pub(super) fn batches(mut blocks: impl Iterator<Item = usize>) -> impl Iterator<Item = Vec<usize>> {
    std::iter::from_fn(move || {
        let batch: Vec<usize> = blocks.by_ref().take(BLOCKS_PER_CALL).collect();
        (!batch.is_empty()).then_some(batch)
    })
}

/// Destination of the blocks of one chunk.
struct BoxSink<'a, 'b> {
    lattice: &'a Lattice<'a>,
    spans: Spans,
    buffer: &'a mut BufferRuns<'b>,
    /// Plan of the block that was requested last.
    pending: Option<(usize, Plan)>,
}

impl BoxSink<'_, '_> {
    fn plan(&self, block: usize) -> Result<Plan> {
        let (spans, _) = self.lattice.of_block(&self.spans, block);
        if self.lattice.is_empty(&spans) {
            return Err(fail!(State, "block {block} was not requested"));
        }
        Ok(self.lattice.plan(&spans))
    }
}

impl Sink for BoxSink<'_, '_> {
    fn destination(&mut self, block: usize) -> Option<&mut [u8]> {
        let plan = self.plan(block).ok()?;
        let all = plan
            .contiguous()
            .map(|(_, range)| range)
            .filter(|range| range.len() == self.lattice.tiles.block_bytes());
        match all {
            Some(range) => self.buffer.run(range.start, range.end),
            None => {
                self.pending = Some((block, plan));
                None
            }
        }
    }

    fn requested(&mut self, block: usize, len: usize) -> Range<usize> {
        match &self.pending {
            Some((pending, plan)) if *pending == block => {
                let own = plan.range().start as usize..plan.range().end as usize;
                self.lattice
                    .tiles
                    .needed(self.lattice.chunk(&self.spans), block, own)
            }
            _ => 0..len,
        }
    }

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let plan = match self.pending.take_if(|(pending, _)| *pending == block) {
            Some((_, plan)) => plan,
            None => self.plan(block)?,
        };
        self.buffer.copy(&plan, content)
    }
}

/// A requested item and its destination.
struct Point<'b> {
    location: ItemLocation,
    item: &'b mut [u8],
}

/// Divides points that are sorted by block into parts that share no block. Each part but the last
/// has at least `min_points` points.
fn split_at_blocks<'p, 'b>(
    points: &'p mut [Point<'b>],
    min_points: usize,
) -> impl Iterator<Item = &'p mut [Point<'b>]> {
    let mut rest = points;
    std::iter::from_fn(move || {
        let all = std::mem::take(&mut rest);
        let last = all
            .get(min_points.saturating_sub(1).min(all.len().checked_sub(1)?))?
            .location;
        let n = all
            .partition_point(|p| (p.location.chunk, p.location.block) <= (last.chunk, last.block));
        let (part, after) = all.split_at_mut_checked(n)?;
        rest = after;
        Some(part)
    })
}

/// Returns the chunks of sorted points, and their blocks in each.
fn requests_of_points(points: &[Point]) -> impl Iterator<Item = ChunkRequest> {
    let by_chunk = points.chunk_by(|a, b| a.location.chunk == b.location.chunk);
    by_chunk.filter_map(request_of_points)
}

/// Returns the chunk of points that are in one, and their blocks.
fn request_of_points(points: &[Point]) -> Option<ChunkRequest> {
    let mut blocks: Vec<usize> = points.iter().map(|p| p.location.block).collect();
    blocks.dedup();
    Some(ChunkRequest {
        chunk: points.first()?.location.chunk,
        blocks,
        at_once: false,
    })
}

/// Reads points of one chunk.
fn read_points(chunks: &dyn Chunks, points: &mut [Point]) -> Result<bool> {
    let Some((chunk, item)) = points.first().map(|p| (p.location.chunk, p.item.len())) else {
        return Ok(false);
    };
    if let Some(fill) = chunks.fill(chunk)? {
        let fill_pattern = FillPattern::new(&fill, item)?;
        points.iter_mut().for_each(|p| fill_pattern.put(p.item));
        return Ok(false);
    }
    let mut damaged = false;
    for of_block in points.chunk_by_mut(|a, b| a.location.block == b.location.block) {
        if let [point] = of_block
            && !point.location.before_padding
        {
            damaged |=
                chunks.read_part(chunk, point.location.block, point.location.at, point.item)?;
        }
    }
    let shared = points
        .chunk_by(|a, b| a.location.block == b.location.block)
        .filter(|p| p.len() > 1 || p.iter().any(|p| p.location.before_padding));
    let mut blocks = Vec::new();
    for block in shared.filter_map(|p| p.first()).map(|p| p.location.block) {
        alloc::reserve(&mut blocks, 1)?;
        blocks.push(block);
    }
    for batch in batches(blocks.into_iter()) {
        damaged |= chunks.read_blocks(chunk, &batch, &mut PointSink { points })?;
    }
    Ok(damaged)
}

/// Destination of the points of one chunk.
struct PointSink<'a, 'b> {
    points: &'a mut [Point<'b>],
}

impl Sink for PointSink<'_, '_> {
    fn destination(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }

    fn requested(&mut self, block: usize, len: usize) -> Range<usize> {
        let first = self.points.partition_point(|p| p.location.block < block);
        let after = self.points.partition_point(|p| p.location.block <= block);
        let points = self.points.get(first..after).unwrap_or_default();
        let end = |last: &Point| {
            if last.location.before_padding {
                len
            } else {
                last.location.at + last.item.len()
            }
        };
        points
            .first()
            .zip(points.last())
            .map_or(0..len, |(a, b)| a.location.at..end(b))
    }

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let first = self.points.partition_point(|p| p.location.block < block);
        for point in self
            .points
            .iter_mut()
            .skip(first)
            .take_while(|p| p.location.block == block)
        {
            if !content.copy_from(point.location.at, point.item) {
                return Err(outside());
            }
        }
        Ok(())
    }
}
