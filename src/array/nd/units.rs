//! The caller's buffer, cut into parts that belong to one thread each, so that all decode to their
//! places at once.
//!
//! Where the distances of the dimensions in the buffer nest, a range of the outermost one is a run
//! of the buffer that no other range touches. It is cut at the ends of chunks. Where that does not
//! make enough parts, the next one is cut as well: a part then has a run for each place of the
//! outer dimensions. No block is cut, so that each is decoded once.
#![forbid(unsafe_code)]

use super::super::selection::{Axis, Piece, Plan};
use super::super::store::repeat;
use super::cells::{End, Lattice, Spans, first_from};
use super::tiles::Dim;
use crate::alloc;
use crate::blosc::Decoded;
use crate::blosc::filter::Rows;
use crate::error::{Error, Result, fail};
use crate::superchunk::chunks::Fill;

/// Content that is worth a run of the buffer of its own.
const RUN: u64 = 4096;

/// More bytes than caches hold: who reads so many finds the first ones in memory anyway. The tests
/// want it for little.
const LARGE: u64 = if cfg!(test) { 1 << 10 } else { 32 << 20 };

/// Runs of the buffer.
pub struct Parts<'b> {
    /// Where each begins, rising.
    runs: Vec<(usize, &'b mut [u8])>,
    /// Is all that is wanted, of which this is a part, more than caches hold?
    large: bool,
}

/// A part of what is wanted, and where it goes.
pub struct Unit<'b> {
    /// What.
    pub spans: Spans,
    /// Where.
    pub parts: Parts<'b>,
    /// What came of it.
    pub done: Result<bool>,
}

impl Parts<'_> {
    /// The run that has these bytes of the buffer, and where it begins.
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

    /// These bytes of the buffer, if one run has them.
    pub fn run(&mut self, from: usize, to: usize) -> Option<&mut [u8]> {
        let (run, begin) = self.find(from, to)?;
        run.get_mut(from - begin..to - begin)
    }

    /// Calls a function with pieces, as large as runs allow, and the runs that they go to.
    fn each(
        &mut self,
        plan: &Plan,
        mut f: impl FnMut(&Piece, (&mut [u8], usize)) -> bool,
    ) -> Result<()> {
        for piece in plan.pieces(plan.range()) {
            let (from, to) = piece.in_buffer();
            let done = match self.find(from, to) {
                Some(run) => f(&piece, run),
                None => piece.units().all(|unit| {
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

    /// Copies items to their places.
    pub fn copy(&mut self, plan: &Plan, content: &Decoded) -> Result<()> {
        let past = self.large;
        self.each(plan, |piece, (run, begin)| match content {
            Decoded::Plain(content) => piece.to_buffer((content, 0), (run, begin)),
            Decoded::Shuffled(streams) => streams.unshuffle(
                &Rows {
                    past,
                    ..piece.rows(begin)
                },
                run,
            ),
        })
    }

    /// Puts the same into all places.
    pub fn fill(&mut self, plan: &Plan, fill: &Filling) -> Result<()> {
        self.each(plan, |piece, (run, begin)| {
            piece.units().all(|unit| {
                let place = run
                    .get_mut(unit.buf - begin..)
                    .and_then(|p| p.get_mut(..unit.len));
                place.map(|place| fill.put(place)).is_some()
            })
        })
    }
}

/// What items of a size are filled with.
pub struct Filling<'a>(Option<&'a [u8]>);

impl<'a> Filling<'a> {
    /// What the chunk says that it is filled with.
    pub fn new(fill: &'a Fill, item: usize) -> Result<Filling<'a>> {
        match fill {
            Fill::Zeros => Ok(Filling(None)),
            Fill::Item(value) if !value.is_empty() && item.is_multiple_of(value.len()) => {
                Ok(Filling(Some(value)))
            }
            Fill::Item(value) => Err(fail!(
                Format,
                "a chunk is filled with {} bytes again and again: an item has {item}",
                value.len()
            )),
        }
    }

    /// Fills whole items.
    pub fn put(&self, items: &mut [u8]) {
        repeat(self.0, 0, items);
    }
}

/// A dimension as it lies in the buffer.
struct Layer<'a> {
    d: usize,
    line: &'a (u64, Axis),
    /// Its items, by their places in the buffer.
    order: Order,
    /// Bytes from one item to the next, at least.
    gap: u64,
    /// Bytes from its lowest item to its highest.
    spread: u64,
    /// Bytes of one of its items, with all that is in it.
    inner: u64,
    /// With which items its parts begin.
    cuts: Vec<u64>,
    /// How many units are between two parts of it.
    apart: usize,
}

enum Order {
    Rising,
    Falling,
    Listed(Vec<u64>),
}

impl<'a> Layer<'a> {
    fn new(d: usize, line: &'a (u64, Axis)) -> Layer<'a> {
        let count = line.1.count();
        let (order, gap, spread) = match &line.1 {
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
                let place = |i: &u64| line.1.offset(*i).1;
                order.sort_unstable_by_key(place);
                let gap = order
                    .windows(2)
                    .map(|w| w.iter().map(place).fold(0, |before, at| at - before))
                    .min()
                    .unwrap_or(0);
                let spread = order.last().map_or(0, place) - order.first().map_or(0, place);
                let order = if items.is_sorted_by_key(|(_, buf)| *buf) {
                    Order::Rising
                } else {
                    Order::Listed(order)
                };
                (order, gap.unsigned_abs(), spread.unsigned_abs())
            }
        };
        Layer {
            d,
            line,
            order,
            gap,
            spread,
            inner: 0,
            cuts: vec![0],
            apart: 0,
        }
    }

    /// Where its lowest item is, as its first one is counted.
    fn lowest(&self) -> i64 {
        match &self.order {
            Order::Rising => self.offset(0),
            Order::Falling => self.offset(self.line.1.count() - 1),
            Order::Listed(order) => order.first().map_or(0, |i| self.offset(*i)),
        }
    }

    fn offset(&self, i: u64) -> i64 {
        self.line.1.offset(i).1
    }

    /// With which items parts begin if there are so many of them, which end where chunks do, or
    /// blocks.
    fn cuts(&self, dim: &Dim, pieces: u64, end: End) -> Vec<u64> {
        let count = self.line.1.count();
        let (first, last) = (
            self.line.0 + self.line.1.offset(0).0,
            self.line.0 + self.line.1.offset(count - 1).0,
        );
        let mut cuts = vec![0];
        for k in 1..pieces {
            let position =
                first + (u128::from(last - first) * u128::from(k) / u128::from(pieces)) as u64;
            let next = first_from(self.line, end(dim, position));
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

/// Cuts what is wanted, and the buffer, into about so many parts.
pub fn split<'b>(lattice: &Lattice, dst: &'b mut [u8], wish: u64) -> Result<Vec<Unit<'b>>> {
    let all = lattice.all();
    let large = lattice
        .items(&all)
        .saturating_mul(lattice.tiles.item() as u64)
        >= LARGE;
    let one = |dst| {
        Ok(vec![Unit {
            spans: all,
            parts: Parts {
                runs: vec![(0, dst)],
                large,
            },
            done: Ok(false),
        }])
    };
    if wish < 2 {
        return one(dst);
    }
    let Some(mut layers) = layers(lattice) else {
        return one(dst);
    };
    let last = cut(lattice, &mut layers, wish, lattice.weight(&all) / RUN + 64);
    let Some(last) = last else { return one(dst) };
    let mut units = Vec::new();
    let parts: usize = layers.iter().map(|l| l.cuts.len()).product();
    for i in 0..parts {
        alloc::reserve(&mut units, 1)?;
        units.push(Unit {
            spans: spans_of(&mut layers, all, i),
            parts: Parts {
                runs: Vec::new(),
                large,
            },
            done: Ok(false),
        });
    }
    // dimensions of one item have their place, too
    let low = lattice.wanted.buf
        + lattice
            .wanted
            .lines
            .iter()
            .map(|(_, axis)| {
                if axis.count() == 1 {
                    axis.offset(0).1
                } else {
                    0
                }
            })
            .sum::<i64>();
    let low = low + layers.iter().map(Layer::lowest).sum::<i64>();
    let (_, rest) = dst
        .split_at_mut_checked(usize::try_from(low).map_err(|_| outside())?)
        .ok_or_else(outside)?;
    let mut cutter = Cutter {
        rest,
        at: low,
        units: &mut units,
    };
    cutter.walk(layers.get(..=last).unwrap_or_default(), low, 0)?;
    Ok(units)
}

/// The dimensions from the outermost in the buffer to the innermost; nothing where their items
/// overlap.
fn layers<'a>(lattice: &Lattice<'a>) -> Option<Vec<Layer<'a>>> {
    let lines = lattice
        .wanted
        .lines
        .iter()
        .enumerate()
        .filter(|(_, (_, axis))| axis.count() > 1);
    let mut layers: Vec<Layer> = lines.map(|(d, line)| Layer::new(d, line)).collect();
    layers.sort_by_key(|l| std::cmp::Reverse(l.gap));
    let mut reach = lattice.tiles.item() as u64;
    for layer in layers.iter_mut().rev() {
        if layer.gap < reach {
            return None;
        }
        layer.inner = reach;
        reach = reach.checked_add(layer.spread)?;
    }
    Some(layers)
}

/// Decides where to cut; the innermost dimension that is cut. No more than so many runs.
fn cut(lattice: &Lattice, layers: &mut [Layer], wish: u64, most: u64) -> Option<usize> {
    let (mut units, mut last) = (1u64, None);
    for end in [Dim::chunk_end as End, Dim::block_end] {
        let mut outer = 1u64;
        for (i, layer) in layers.iter_mut().enumerate() {
            let count = layer.line.1.count();
            let (others, have) = (units / layer.cuts.len() as u64, layer.cuts.len());
            let runs = if let Order::Listed(_) = layer.order {
                count
            } else {
                wish.div_ceil(others)
            };
            if units >= wish || outer.saturating_mul(runs) > most {
                break;
            }
            if let Some(dim) = lattice.tiles.dims().get(layer.d) {
                let cuts = layer.cuts(dim, wish.div_ceil(others), end);
                if cuts.len() > have {
                    units = others * cuts.len() as u64;
                    layer.cuts = cuts;
                    last = last.max(Some(i));
                }
            }
            outer = outer.saturating_mul(count);
        }
    }
    last
}

/// What is in a unit.
fn spans_of(layers: &mut [Layer], all: Spans, unit: usize) -> Spans {
    let (mut spans, mut rest, mut apart) = (all, unit, 1);
    for layer in layers.iter_mut().rev() {
        let n = layer.cuts.len();
        let part = rest % n;
        (layer.apart, rest, apart) = (apart, rest / n, apart * n);
        if let Some(span) = spans.get_mut(layer.d) {
            let begin = layer.cuts.get(part).copied().unwrap_or(0);
            *span = (begin, layer.cuts.get(part + 1).copied().unwrap_or(span.1));
        }
    }
    spans
}

/// Goes through the buffer once.
struct Cutter<'u, 'b> {
    rest: &'b mut [u8],
    /// Where that begins.
    at: i64,
    units: &'u mut [Unit<'b>],
}

impl Cutter<'_, '_> {
    /// `at`: where the lowest item of these layers is.
    fn walk(&mut self, layers: &[Layer], at: i64, unit: usize) -> Result<()> {
        let Some((layer, inner)) = layers.split_first() else {
            return Ok(());
        };
        let low = at - layer.lowest();
        let (count, parts) = (layer.line.1.count(), layer.cuts.len());
        let by_item = |this: &mut Self, i: u64| {
            let (begin, unit) = (low + layer.offset(i), unit + layer.part(i) * layer.apart);
            if inner.is_empty() {
                this.take(begin, begin + layer.inner as i64, unit)
            } else {
                this.walk(inner, begin, unit)
            }
        };
        let by_part = |this: &mut Self, part: usize| {
            let from = layer.cuts.get(part).copied().unwrap_or(0);
            let to = layer.cuts.get(part + 1).copied().unwrap_or(count) - 1;
            let (a, b) = (low + layer.offset(from), low + layer.offset(to));
            this.take(
                a.min(b),
                a.max(b) + layer.inner as i64,
                unit + part * layer.apart,
            )
        };
        match (&layer.order, inner.is_empty()) {
            (Order::Listed(order), _) => order.iter().try_for_each(|i| by_item(self, *i)),
            (Order::Rising, true) => (0..parts).try_for_each(|part| by_part(self, part)),
            (Order::Falling, true) => (0..parts).rev().try_for_each(|part| by_part(self, part)),
            (Order::Rising, false) => (0..count).try_for_each(|i| by_item(self, i)),
            (Order::Falling, false) => (0..count).rev().try_for_each(|i| by_item(self, i)),
        }
    }

    fn take(&mut self, from: i64, to: i64, unit: usize) -> Result<()> {
        let rest = std::mem::take(&mut self.rest);
        let cut = |n: i64, slice| {
            usize::try_from(n)
                .ok()
                .and_then(|n| <[u8]>::split_at_mut_checked(slice, n))
                .ok_or_else(outside)
        };
        let (_, rest) = cut(from - self.at, rest)?;
        let (run, rest) = cut(to - from, rest)?;
        (self.rest, self.at) = (rest, to);
        let parts = &mut self.units.get_mut(unit).ok_or_else(outside)?.parts.runs;
        alloc::reserve(parts, 1)?;
        parts.push((from as usize, run));
        Ok(())
    }
}

pub(super) fn outside() -> Error {
    fail!(State, "a selection reaches out of its buffer")
}
