//! What is wanted of an array, cut where its chunks and blocks end.
//!
//! Along each dimension the items that are wanted stand by rising positions, and are counted. A
//! part of a selection is so a range of those numbers for each dimension; which chunk, or block, it
//! is in, its first items tell.
#![forbid(unsafe_code)]

use super::super::grid::Wanted;
use super::super::selection::{Axis, MAX_NDIM, Plan};
use super::tiles::{Dim, Tiles};
use std::cmp::Reverse;

/// For each dimension, from which of the items that are wanted to which.
pub type Spans = [(u64, u64); MAX_NDIM];
/// Where the part of a dimension ends that has this position.
pub type End = fn(&Dim, u64) -> u64;

/// A selection of an array.
#[derive(Clone, Copy)]
pub struct Lattice<'a> {
    /// The array.
    pub tiles: &'a Tiles,
    /// The selection.
    pub wanted: &'a Wanted,
}

fn position((from, axis): &(u64, Axis), i: u64) -> u64 {
    from + axis.offset(i).0
}

/// The first item at this position or behind it.
pub fn first_from((from, axis): &(u64, Axis), position: u64) -> u64 {
    axis.first_behind(position.saturating_sub(*from), 1)
        .min(axis.count())
}

/// From this item to the last that is in the same chunk or block.
fn cut((dim, line): (&Dim, &(u64, Axis)), all: (u64, u64), from: u64, end: End) -> (u64, u64) {
    (
        from,
        first_from(line, end(dim, position(line, from))).min(all.1),
    )
}

impl<'a> Lattice<'a> {
    fn lines(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&'a Dim, &'a (u64, Axis))> + ExactSizeIterator {
        self.tiles.dims().iter().zip(&self.wanted.lines)
    }

    /// All of it.
    pub fn all(&self) -> Spans {
        let mut all = [(0, 0); MAX_NDIM];
        all.iter_mut()
            .zip(self.lines())
            .for_each(|(span, (_, (_, axis)))| *span = (0, axis.count()));
        all
    }

    /// A part of it, cut at the ends of chunks, or of blocks.
    pub fn cells(self, all: Spans, end: End) -> Cells<'a> {
        let mut now = all;
        for ((line, now), all) in self.lines().zip(&mut now).zip(all) {
            *now = cut(line, all, all.0, end);
        }
        Cells {
            lattice: self,
            all,
            now: Some(now),
            end,
        }
    }

    /// Positions of the first items of a part.
    fn first(&self, spans: &Spans) -> impl Iterator<Item = (&'a Dim, u64)> {
        self.lines()
            .zip(*spans)
            .map(|((dim, line), (from, _))| (dim, position(line, from)))
    }

    /// The chunk that a part is in.
    pub fn chunk(&self, spans: &Spans) -> u64 {
        self.tiles
            .chunk_number(self.first(spans).map(|(dim, at)| at / dim.chunk.max(1)))
    }

    /// The block of that chunk that a part is in.
    pub fn block(&self, spans: &Spans) -> usize {
        self.first(spans).fold(0, |n, (dim, at)| {
            n * dim.blocks() + at % dim.chunk.max(1) / dim.block.max(1)
        }) as usize
    }

    /// What of a chunk's part is in one of its blocks; and whether that is all that there is of the
    /// block.
    pub fn of_block(&self, spans: &Spans, block: usize) -> (Spans, bool) {
        let places = self.tiles.places(block as u64, Dim::blocks);
        let (mut part, mut all) = (*spans, true);
        for (((dim, line), (from, to)), place) in self.lines().zip(&mut part).zip(places) {
            let (low, high) = dim.of_block(position(line, *from) / dim.chunk.max(1), place);
            *from = first_from(line, low).clamp(*from, *to);
            *to = first_from(line, high).clamp(*from, *to);
            all &= *to - *from == high - low;
        }
        (part, all)
    }

    /// Is this all that the array has of a chunk?
    pub fn is_chunk(&self, spans: &Spans) -> bool {
        self.first(spans).zip(spans).all(|((dim, at), (from, to))| {
            to - from == dim.chunk_end(at).min(dim.len) - (at - at % dim.chunk.max(1))
        })
    }

    /// How many items are in this part.
    pub fn items(&self, spans: &Spans) -> u64 {
        self.lines()
            .zip(spans)
            .map(|(_, (from, to))| to - from)
            .product()
    }

    /// Is nothing in this part?
    pub fn is_empty(&self, spans: &Spans) -> bool {
        self.lines().zip(spans).any(|(_, (from, to))| from == to)
    }

    /// How many bytes of blocks a part touches, about.
    pub fn weight(&self, spans: &Spans) -> u64 {
        self.lines().zip(spans).fold(
            self.tiles.block_bytes() as u64,
            |n, ((dim, line), (from, to))| {
                let reach = position(line, to.saturating_sub(1)) - position(line, *from);
                n.saturating_mul(
                    (to - from).min(reach / dim.block.max(1) + reach / dim.chunk.max(1) + 1),
                )
            },
        )
    }

    /// Where in its block, and where in the buffer, the items of a part of one block are.
    pub fn plan(&self, spans: &Spans) -> Plan {
        self.plan_with(
            spans,
            |dim, at| (at - dim.block_start(at), dim.block),
            false,
        )
    }

    /// The same as if they stood one behind the other, and not in blocks.
    pub fn packed(&self, spans: &Spans) -> Plan {
        self.plan_with(spans, |_, _| (0, 1), true)
    }

    fn plan_with(
        &self,
        spans: &Spans,
        within: impl Fn(&Dim, u64) -> (u64, u64),
        packed: bool,
    ) -> Plan {
        let item = self.tiles.item();
        let (mut at, mut buf, mut stride) = (0, self.wanted.buf, item as u64);
        let mut axes = Vec::with_capacity(self.tiles.dims().len());
        for ((dim, line), (from, to)) in self.lines().zip(*spans).rev() {
            let (start, len) = within(dim, position(line, from));
            let (first, first_buf) = line.1.offset(from);
            at += start * stride;
            buf += first_buf;
            axes.push(match &line.1 {
                Axis::Steps { at, buf, .. } => {
                    let at = if packed {
                        stride
                    } else {
                        at.wrapping_mul(stride)
                    };
                    Axis::Steps {
                        count: to - from,
                        at: if to - from > 1 { at } else { 0 },
                        buf: *buf,
                    }
                }
                Axis::List(items) => {
                    let part = items.get(from as usize..to as usize).unwrap_or_default();
                    let item = |(i, (at, buf)): (u64, &(u64, i64))| {
                        (
                            stride * if packed { i } else { at - first },
                            buf - first_buf,
                        )
                    };
                    Axis::List((0..).zip(part).map(item).collect())
                }
            });
            stride *= if packed { to - from } else { len };
        }
        axes.reverse();
        // in the order of the buffer: a block is in the cache, the buffer is not
        let distance = |axis: &Axis| {
            if let Axis::Steps { buf, .. } = axis {
                Some(buf.unsigned_abs())
            } else {
                None
            }
        };
        if axes.iter().all(|axis| distance(axis).is_some()) {
            axes.sort_by_key(|axis| Reverse(distance(axis)));
        }
        Plan::new(at, buf, item, axes)
    }
}

/// See [`Lattice::cells`]: in C order.
pub struct Cells<'a> {
    lattice: Lattice<'a>,
    all: Spans,
    now: Option<Spans>,
    end: End,
}

impl Iterator for Cells<'_> {
    type Item = Spans;

    fn next(&mut self) -> Option<Spans> {
        let now = self.now?;
        let mut next = now;
        self.now = None;
        for ((line, span), all) in self.lattice.lines().zip(&mut next).zip(self.all).rev() {
            let more = span.1 < all.1;
            *span = cut(line, all, if more { span.1 } else { all.0 }, self.end);
            if more {
                self.now = Some(next);
                break;
            }
        }
        Some(now)
    }
}
