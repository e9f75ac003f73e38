//! Division of the caller's buffer into units, each of which one thread fills. All threads decode
//! directly into the buffer.
//!
//! If the strides of the dimensions in the buffer nest, a range of the outermost dimension is a run
//! of the buffer that no other range touches. That dimension is divided at chunk ends. If this does
//! not make enough units, the next dimension is divided, too; a unit then has one run per position
//! of the outer dimensions. Blocks are never divided, so that each one is decoded once.
#![forbid(unsafe_code)]

use super::super::selection::{Axis, Plan, Segment};
use super::super::store::repeat;
use super::super::transposition::Transposition;
use super::chunk_grid::Dim;
use super::selection_parts::{End, Lattice, Spans, first_from};
use crate::alloc::{self, Scratch};
use crate::blosc::Decoded;
use crate::blosc::filter::StridedRows;
use crate::error::{Error, Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::chunks::Fill;

/// Minimum content per run of the buffer, in bytes.
const MIN_RUN_BYTES: u64 = 4096;

/// Number of bytes that exceeds the caches: after such a read, the first bytes have left the caches
/// anyway. Tests use a small value.
const LARGE_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 32 << 20 };

/// Disjoint runs of the buffer.
pub struct BufferRuns<'b> {
    /// Runs with their buffer offsets, in increasing order.
    runs: Vec<(usize, &'b mut [u8])>,
    /// Whether the whole selection exceeds the caches.
    large: bool,
}

/// A part of a selection with its destination.
pub struct Unit<'b> {
    /// The selected items.
    pub spans: Spans,
    /// The destination.
    pub buffer: BufferRuns<'b>,
    /// The result.
    pub done: Result<bool>,
}

impl BufferRuns<'_> {
    /// Returns the run that contains this range of the buffer, and its offset.
    fn find(&mut self, from: usize, to: usize) -> Option<(&mut [u8], usize)> {
        let i = match self.runs.len() {
            1 => 0,
            _ => self
                .runs
                .partition_point(|(begin, _)| *begin <= from)
                .checked_sub(1)?,
        };
        let (begin, run) = self.runs.get_mut(i)?;
        (from >= *begin && to - *begin <= run.len()).then_some((run, *begin))
    }

    /// Returns this range of the buffer, if one run contains it.
    pub fn run(&mut self, from: usize, to: usize) -> Option<&mut [u8]> {
        let (run, begin) = self.find(from, to)?;
        run.get_mut(from - begin..to - begin)
    }

    /// Calls `f` with segments, as large as the runs allow, and with the runs that contain them.
    fn each(
        &mut self,
        plan: &Plan,
        mut f: impl FnMut(&Segment, (&mut [u8], usize)) -> bool,
    ) -> Result<()> {
        for segment in plan.segments(plan.range()) {
            let (from, to) = segment.in_buffer();
            let done = match self.find(from, to) {
                Some(run) => f(&segment, run),
                None => segment.units().all(|unit| {
                    self.find(unit.buf, unit.buf + unit.len)
                        .is_some_and(|run| f(&unit, run))
                }),
            };
            if !done {
                return Err(outside());
            }
        }
        Ok(())
    }

    /// Copies items of a block to the buffer.
    pub fn copy(&mut self, plan: &Plan, content: &Decoded) -> Result<()> {
        if let Some(transposition) = plan.transposition()
            && self.transpose(&transposition, content)?
        {
            return Ok(());
        }
        let non_temporal = self.large;
        self.each(plan, |segment, (run, begin)| match content {
            Decoded::Plain(content) => segment.to_buffer((content, 0), (run, begin)),
            Decoded::Shuffled(streams) => streams.unshuffle(
                &StridedRows {
                    non_temporal,
                    ..segment.rows(begin)
                },
                run,
            ),
        })
    }

    /// Copies items of a block that is stored in another order. Returns `false`, without any effect, if
    /// several runs of the buffer have parts of them.
    fn transpose(&mut self, transposition: &Transposition, content: &Decoded) -> Result<bool> {
        let (from, to) = transposition.in_buffer();
        let Some((run, begin)) = self.find(from, to) else {
            return Ok(false);
        };
        let copied = match content {
            Decoded::Plain(content) => transposition.copy(content, (run, begin)),
            Decoded::Shuffled(streams) => {
                let size = transposition.bytes() as u64;
                let mut packed = Scratch::new(size, u64::MAX, "a block")?;
                transposition
                    .pack(|rows| streams.unshuffle(rows, &mut packed))
                    .and_then(|from_packed| from_packed.copy(&packed, (run, begin)))
            }
        };
        copied.ok_or_else(outside).map(|()| true)
    }

    /// Fills all items with a pattern.
    pub fn fill(&mut self, plan: &Plan, fill: &FillPattern) -> Result<()> {
        self.each(plan, |segment, (run, begin)| {
            segment.units().all(|unit| {
                let unit_bytes = run
                    .get_mut(unit.buf - begin..)
                    .and_then(|p| p.get_mut(..unit.len));
                unit_bytes.map(|unit_bytes| fill.put(unit_bytes)).is_some()
            })
        })
    }
}

/// Repeating pattern for filled chunks.
pub struct FillPattern<'a>(Option<&'a [u8]>);

impl<'a> FillPattern<'a> {
    /// Returns the pattern of a filled chunk for items of `item` bytes.
    pub fn new(fill: &'a Fill, item: usize) -> Result<FillPattern<'a>> {
        match fill {
            Fill::Zeros => Ok(FillPattern(None)),
            Fill::Item(value) if !value.is_empty() && item.is_multiple_of(value.len()) => {
                Ok(FillPattern(Some(value)))
            }
            Fill::Item(value) => Err(fail!(
                Format,
                "the fill value of a chunk has {} bytes, which do not divide an item of {item} bytes",
                value.len()
            )),
        }
    }

    /// Fills whole items.
    pub fn put(&self, items: &mut [u8]) {
        repeat(self.0, 0, items);
    }
}

/// A dimension of the selection with its layout in the buffer.
struct BufferDim<'a> {
    d: usize,
    start_axis: &'a (u64, Axis),
    /// Order of its items in the buffer.
    order: Order,
    /// Minimum distance in bytes between consecutive items.
    gap: u64,
    /// Distance in bytes from its lowest to its highest item.
    spread: u64,
    /// Size in bytes of one of its items with everything inside.
    inner: u64,
    /// First items of the parts into which it is divided.
    cuts: Vec<u64>,
    /// Number of units between two consecutive parts.
    unit_stride: usize,
}

enum Order {
    Rising,
    Falling,
    Listed(Vec<u64>),
}

impl<'a> BufferDim<'a> {
    fn new(d: usize, start_axis: &'a (u64, Axis)) -> BufferDim<'a> {
        let count = start_axis.1.count();
        let (order, gap, spread) = match &start_axis.1 {
            Axis::Steps { buf, .. } => {
                let gap = buf.unsigned_abs();
                (
                    if *buf < 0 {
                        Order::Falling
                    } else {
                        Order::Rising
                    },
                    gap,
                    gap.saturating_mul(count - 1),
                )
            }
            Axis::List(items) => {
                let mut order: Vec<u64> = (0..count).collect();
                let position = |i: &u64| start_axis.1.offset(*i).1;
                order.sort_unstable_by_key(position);
                let gap = order
                    .windows(2)
                    .map(|w| w.iter().map(position).fold(0, |before, at| at - before))
                    .min()
                    .unwrap_or(0);
                let spread = order.last().map_or(0, position) - order.first().map_or(0, position);
                let order = if items.is_sorted_by_key(|(_, buf)| *buf) {
                    Order::Rising
                } else {
                    Order::Listed(order)
                };
                (order, gap.unsigned_abs(), spread.unsigned_abs())
            }
        };
        BufferDim {
            d,
            start_axis,
            order,
            gap,
            spread,
            inner: 0,
            cuts: vec![0],
            unit_stride: 0,
        }
    }

    /// Returns the offset of its lowest item, relative to the origin of the axis.
    fn lowest(&self) -> i64 {
        match &self.order {
            Order::Rising => self.offset(0),
            Order::Falling => self.offset(self.start_axis.1.count() - 1),
            Order::Listed(order) => order.first().map_or(0, |i| self.offset(*i)),
        }
    }

    fn offset(&self, i: u64) -> i64 {
        self.start_axis.1.offset(i).1
    }

    /// Returns the first items of at most `max_parts` parts that end at chunk or block ends.
    fn cuts(&self, dim: &Dim, max_parts: u64, end: End) -> Vec<u64> {
        let count = self.start_axis.1.count();
        let (first, last) = (
            self.start_axis.0 + self.start_axis.1.offset(0).0,
            self.start_axis.0 + self.start_axis.1.offset(count - 1).0,
        );
        let mut cuts = vec![0];
        for k in 1..max_parts {
            let position =
                first + (u128::from(last - first) * u128::from(k) / u128::from(max_parts)) as u64;
            let next = first_from(self.start_axis, end(dim, position));
            if next < count && cuts.last().is_some_and(|before| next > *before) {
                cuts.push(next);
            }
        }
        cuts
    }

    fn part(&self, i: u64) -> usize {
        self.cuts
            .partition_point(|first| *first <= i)
            .saturating_sub(1)
    }
}

/// Divides the selection and the buffer into about `target` units.
pub fn split<'b>(lattice: &Lattice, dst: &'b mut [u8], target: u64) -> Result<Vec<Unit<'b>>> {
    let all = lattice.all();
    let large = lattice
        .items(&all)
        .saturating_mul(lattice.tiles.item() as u64)
        >= LARGE_BYTES;
    let one = |dst| {
        Ok(vec![Unit {
            spans: all,
            buffer: BufferRuns {
                runs: vec![(0, dst)],
                large,
            },
            done: Ok(false),
        }])
    };
    if target < 2 {
        return one(dst);
    }
    let Some(mut buffer_dims) = buffer_dims(lattice) else {
        return one(dst);
    };
    let last = choose_cuts(
        lattice,
        &mut buffer_dims,
        target,
        lattice.weight(&all) / MIN_RUN_BYTES + 64,
    );
    let Some(last) = last else { return one(dst) };
    let mut units = Vec::new();
    let parts: usize = buffer_dims.iter().map(|l| l.cuts.len()).product();
    for i in 0..parts {
        alloc::reserve(&mut units, 1)?;
        units.push(Unit {
            spans: spans_of(&mut buffer_dims, all, i)?,
            buffer: BufferRuns {
                runs: Vec::new(),
                large,
            },
            done: Ok(false),
        });
    }
    // Dimensions with one item contribute an offset, too.
    let low = lattice.selection.buf
        + lattice
            .selection
            .axes
            .iter()
            .map(|(_, axis)| {
                if axis.count() == 1 {
                    axis.offset(0).1
                } else {
                    0
                }
            })
            .sum::<i64>();
    let low = low + buffer_dims.iter().map(BufferDim::lowest).sum::<i64>();
    let (_, rest) = dst
        .split_at_mut_checked(usize::try_from(low).map_err(|_| outside())?)
        .ok_or_else(outside)?;
    let mut cutter = Cutter {
        rest,
        at: low,
        units: &mut units,
    };
    cutter.walk(buffer_dims.at(..=last)?, low, 0)?;
    Ok(units)
}

/// Returns the dimensions from the outermost in the buffer to the innermost; `None` if their items
/// overlap.
fn buffer_dims<'a>(lattice: &Lattice<'a>) -> Option<Vec<BufferDim<'a>>> {
    let axes = lattice
        .selection
        .axes
        .iter()
        .enumerate()
        .filter(|(_, (_, axis))| axis.count() > 1);
    let mut buffer_dims: Vec<BufferDim> = axes
        .map(|(d, start_axis)| BufferDim::new(d, start_axis))
        .collect();
    buffer_dims.sort_by_key(|l| std::cmp::Reverse(l.gap));
    let mut reach = lattice.tiles.item() as u64;
    for buffer_dim in buffer_dims.iter_mut().rev() {
        if buffer_dim.gap < reach {
            return None;
        }
        buffer_dim.inner = reach;
        reach = reach.checked_add(buffer_dim.spread)?;
    }
    Some(buffer_dims)
}

/// Decides where to divide the dimensions, with at most `max_runs` runs. Returns the index of the
/// innermost dimension that is divided.
fn choose_cuts(
    lattice: &Lattice,
    buffer_dims: &mut [BufferDim],
    target: u64,
    max_runs: u64,
) -> Option<usize> {
    let (mut units, mut last) = (1u64, None);
    for end in [Dim::chunk_end as End, Dim::block_end] {
        let mut outer = 1u64;
        for (i, buffer_dim) in buffer_dims.iter_mut().enumerate() {
            let count = buffer_dim.start_axis.1.count();
            let (others, current) = (units / buffer_dim.cuts.len() as u64, buffer_dim.cuts.len());
            let runs = if let Order::Listed(_) = buffer_dim.order {
                count
            } else {
                target.div_ceil(others)
            };
            if units >= target || outer.saturating_mul(runs) > max_runs {
                break;
            }
            if let Some(dim) = lattice.tiles.dims().get(buffer_dim.d) {
                let cuts = buffer_dim.cuts(dim, target.div_ceil(others), end);
                if cuts.len() > current {
                    units = others * cuts.len() as u64;
                    buffer_dim.cuts = cuts;
                    last = last.max(Some(i));
                }
            }
            outer = outer.saturating_mul(count);
        }
    }
    last
}

/// Returns the items of a unit.
fn spans_of(buffer_dims: &mut [BufferDim], all: Spans, unit: usize) -> Result<Spans> {
    let (mut spans, mut rest, mut unit_stride) = (all, unit, 1);
    for buffer_dim in buffer_dims.iter_mut().rev() {
        let n = buffer_dim.cuts.len();
        let part = rest % n;
        (buffer_dim.unit_stride, rest, unit_stride) = (unit_stride, rest / n, unit_stride * n);
        let span = spans.at_mut(buffer_dim.d)?;
        *span = (
            *buffer_dim.cuts.at(part)?,
            buffer_dim.cuts.get(part + 1).copied().unwrap_or(span.1),
        );
    }
    Ok(spans)
}

/// Splits the buffer in one pass.
struct Cutter<'u, 'b> {
    rest: &'b mut [u8],
    /// Buffer offset of `rest`.
    at: i64,
    units: &'u mut [Unit<'b>],
}

impl Cutter<'_, '_> {
    /// `at` is the offset of the lowest item of these dimensions.
    fn walk(&mut self, buffer_dims: &[BufferDim], at: i64, unit: usize) -> Result<()> {
        let Some((buffer_dim, inner)) = buffer_dims.split_first() else {
            return Ok(());
        };
        let low = at - buffer_dim.lowest();
        let (count, parts) = (buffer_dim.start_axis.1.count(), buffer_dim.cuts.len());
        let by_item = |this: &mut Self, i: u64| {
            let (begin, unit) = (
                low + buffer_dim.offset(i),
                unit + buffer_dim.part(i) * buffer_dim.unit_stride,
            );
            if inner.is_empty() {
                this.take(begin, begin + buffer_dim.inner as i64, unit)
            } else {
                this.walk(inner, begin, unit)
            }
        };
        let by_part = |this: &mut Self, part: usize| {
            let from = *buffer_dim.cuts.at(part)?;
            let to = buffer_dim.cuts.get(part + 1).copied().unwrap_or(count) - 1;
            let (a, b) = (low + buffer_dim.offset(from), low + buffer_dim.offset(to));
            this.take(
                a.min(b),
                a.max(b) + buffer_dim.inner as i64,
                unit + part * buffer_dim.unit_stride,
            )
        };
        match (&buffer_dim.order, inner.is_empty()) {
            (Order::Listed(order), _) => order.iter().try_for_each(|i| by_item(self, *i)),
            (Order::Rising, true) => (0..parts).try_for_each(|part| by_part(self, part)),
            (Order::Falling, true) => (0..parts).rev().try_for_each(|part| by_part(self, part)),
            (Order::Rising, false) => (0..count).try_for_each(|i| by_item(self, i)),
            (Order::Falling, false) => (0..count).rev().try_for_each(|i| by_item(self, i)),
        }
    }

    fn take(&mut self, from: i64, to: i64, unit: usize) -> Result<()> {
        let rest = std::mem::take(&mut self.rest);
        let split_off = |n: i64, slice| {
            usize::try_from(n)
                .ok()
                .and_then(|n| <[u8]>::split_at_mut_checked(slice, n))
                .ok_or_else(outside)
        };
        let (_, rest) = split_off(from - self.at, rest)?;
        let (run, rest) = split_off(to - from, rest)?;
        (self.rest, self.at) = (rest, to);
        let runs = &mut self.units.get_mut(unit).ok_or_else(outside)?.buffer.runs;
        alloc::reserve(runs, 1)?;
        runs.push((from as usize, run));
        Ok(())
    }
}

pub(super) fn outside() -> Error {
    fail!(State, "a selection exceeds its buffer")
}
