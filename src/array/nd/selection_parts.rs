//! Division of a selection at the ends of chunks and blocks.
//!
//! Along each dimension the selected items have increasing positions and are numbered. A part of a
//! selection is therefore one range of item numbers per dimension. The first items of the ranges
//! determine the chunk or block of the part.
#![forbid(unsafe_code)]

use super::super::grid::Selection;
use super::super::selection::{Axis, MAX_NDIM, Plan};
use super::chunk_grid::{ChunkGrid, Dim};
use crate::dtype::numpy_meta::Order;
use std::cmp::Reverse;

/// Range of selected item numbers, per dimension.
pub type Spans = [(u64, u64); MAX_NDIM];
/// Returns the end of the chunk or block of a dimension that contains a position.
pub type End = fn(&Dim, u64) -> u64;

/// A selection of a chunked array.
#[derive(Clone, Copy)]
pub struct Lattice<'a> {
    /// Grid of the array.
    pub tiles: &'a ChunkGrid,
    /// The selected items.
    pub selection: &'a Selection,
}

fn position((from, axis): &(u64, Axis), i: u64) -> u64 {
    from + axis.offset(i).0
}

/// Returns the first item at or after a position.
pub fn first_from((from, axis): &(u64, Axis), position: u64) -> u64 {
    axis.first_ending_after(position.saturating_sub(*from), 1)
        .min(axis.count())
}

/// Returns the range from item `from` to the last one in the same chunk or block.
fn clip_span(
    (dim, start_axis): (&Dim, &(u64, Axis)),
    all: (u64, u64),
    from: u64,
    end: End,
) -> (u64, u64) {
    (
        from,
        first_from(start_axis, end(dim, position(start_axis, from))).min(all.1),
    )
}

impl<'a> Lattice<'a> {
    fn axes(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&'a Dim, &'a (u64, Axis))> + ExactSizeIterator {
        self.tiles.dims().iter().zip(&self.selection.axes)
    }

    /// Returns the whole selection.
    pub fn all(&self) -> Spans {
        let mut all = [(0, 0); MAX_NDIM];
        all.iter_mut()
            .zip(self.axes())
            .for_each(|(span, (_, (_, axis)))| *span = (0, axis.count()));
        all
    }

    /// Divides a part of the selection at the ends of chunks or blocks.
    pub fn cells(self, all: Spans, end: End) -> Cells<'a> {
        let mut now = all;
        for ((start_axis, now), all) in self.axes().zip(&mut now).zip(all) {
            *now = clip_span(start_axis, all, all.0, end);
        }
        Cells {
            lattice: self,
            all,
            now: Some(now),
            end,
        }
    }

    /// Returns the positions of the first items of a part.
    fn first(&self, spans: &Spans) -> impl Iterator<Item = (&'a Dim, u64)> {
        self.axes()
            .zip(*spans)
            .map(|((dim, start_axis), (from, _))| (dim, position(start_axis, from)))
    }

    /// Returns the chunk number of a part.
    pub fn chunk(&self, spans: &Spans) -> u64 {
        self.tiles
            .chunk_number(self.first(spans).map(|(dim, at)| at / dim.chunk.max(1)))
    }

    /// Returns the block number of a part within its chunk.
    pub fn block(&self, spans: &Spans) -> usize {
        let parts = self
            .first(spans)
            .map(|(dim, at)| (dim.blocks(), at % dim.chunk.max(1) / dim.block.max(1)));
        self.tiles.number_in_order(parts) as usize
    }

    /// Returns the part of a chunk's part that lies in one block, and whether it covers all of the
    /// block that lies in the array.
    pub fn of_block(&self, spans: &Spans, block: usize) -> (Spans, bool) {
        let coordinates = self.tiles.block_coordinates(block);
        let (mut part, mut all) = (*spans, true);
        for (((dim, start_axis), (from, to)), coordinate) in
            self.axes().zip(&mut part).zip(coordinates)
        {
            let (low, high) =
                dim.of_block(position(start_axis, *from) / dim.chunk.max(1), coordinate);
            *from = first_from(start_axis, low).clamp(*from, *to);
            *to = first_from(start_axis, high).clamp(*from, *to);
            all &= *to - *from == high - low;
        }
        (part, all)
    }

    /// Returns whether a part covers all of its chunk that lies in the array.
    pub fn is_chunk(&self, spans: &Spans) -> bool {
        self.first(spans).zip(spans).all(|((dim, at), (from, to))| {
            to - from == dim.chunk_end(at).min(dim.len) - (at - at % dim.chunk.max(1))
        })
    }

    /// Returns the number of items of a part.
    pub fn items(&self, spans: &Spans) -> u64 {
        self.axes()
            .zip(spans)
            .map(|(_, (from, to))| to - from)
            .product()
    }

    /// Returns whether a part is empty.
    pub fn is_empty(&self, spans: &Spans) -> bool {
        self.axes().zip(spans).any(|(_, (from, to))| from == to)
    }

    /// Estimates the number of bytes in the blocks that a part touches.
    pub fn weight(&self, spans: &Spans) -> u64 {
        self.axes().zip(spans).fold(
            self.tiles.block_bytes() as u64,
            |n, ((dim, start_axis), (from, to))| {
                let reach =
                    position(start_axis, to.saturating_sub(1)) - position(start_axis, *from);
                n.saturating_mul(
                    (to - from).min(reach / dim.block.max(1) + reach / dim.chunk.max(1) + 1),
                )
            },
        )
    }

    /// Returns the plan from the block of a part to the buffer. The part must lie in one block.
    pub fn plan(&self, spans: &Spans) -> Plan {
        self.plan_with(
            spans,
            |dim, at| (at - dim.block_start(at), dim.block),
            false,
        )
    }

    /// Like [`Lattice::plan`], for items that are packed instead of arranged in blocks.
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
        let (mut at, mut buf, mut stride) = (0, self.selection.buf, item as u64);
        let mut axes = Vec::with_capacity(self.tiles.dims().len());
        let slowest_last = self.tiles.order() == Order::Fortran;
        let mut parts = self.axes().zip(*spans);
        let mut next = || {
            if slowest_last {
                parts.next()
            } else {
                parts.next_back()
            }
        };
        while let Some(((dim, start_axis), (from, to))) = next() {
            let (start, len) = within(dim, position(start_axis, from));
            let (first, first_buf) = start_axis.1.offset(from);
            at += start * stride;
            buf += first_buf;
            axes.push(match &start_axis.1 {
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
                Axis::List(_) => {
                    let item = |i| {
                        let (at, buf) = start_axis.1.offset(i);
                        (
                            stride * if packed { i - from } else { at - first },
                            buf - first_buf,
                        )
                    };
                    Axis::List((from..to).map(item).collect())
                }
            });
            stride *= if packed { to - from } else { len };
        }
        if !slowest_last {
            axes.reverse();
        }
        // Follow the order of the buffer: the block is in the cache, the buffer is not.
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

/// Iterator that [`Lattice::cells`] returns, in C order.
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
        for ((start_axis, span), all) in self.lattice.axes().zip(&mut next).zip(self.all).rev() {
            let more = span.1 < all.1;
            *span = clip_span(start_axis, all, if more { span.1 } else { all.0 }, self.end);
            if more {
                self.now = Some(next);
                break;
            }
        }
        Some(now)
    }
}
