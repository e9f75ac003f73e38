//! Selections: which items of the content go where in a buffer.
//!
//! The content is a run of bytes, and the items wanted stand in it as the lattice of a box does, or
//! as the product of lists of positions does. A [`Plan`] has one [`Axis`] for each dimension, the
//! slowest of the content first, so that its items are met in the order of the content. It can
//! begin at any byte of it: whoever reads it goes from chunk to chunk, and asks for the [`Piece`]s
//! in each.
#![forbid(unsafe_code)]

use crate::blosc::filter::Rows;
use std::ops::Range;

/// The most dimensions of an array.
pub const MAX_NDIM: usize = 16;

/// The items of one dimension, in the order of the content.
#[derive(Clone, Debug)]
pub enum Axis {
    /// At equal distances.
    Steps {
        /// How many.
        count: u64,
        /// Bytes of the content from one to the next.
        at: u64,
        /// Bytes of the buffer from one to the next.
        buf: i64,
    },
    /// Anywhere: where each is in the content, rising, none twice; and where in the buffer.
    List(Vec<(u64, i64)>),
}

/// A selection. It is never empty.
#[derive(Debug)]
pub struct Plan {
    at: u64,
    buf: i64,
    /// Bytes that stand together in the content and in the buffer.
    unit: usize,
    axes: Vec<Axis>,
    /// For each axis, the bytes of content from the first to the last in one of its items; then in
    /// all.
    reach: Vec<u64>,
}

/// Units in a row, at equal distances in the content and in the buffer; or a part of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where the first is in the content.
    pub at: u64,
    /// Where the first is in the buffer.
    pub buf: usize,
    /// Bytes of each.
    pub len: usize,
    /// How many.
    pub n: u64,
    at_step: u64,
    buf_step: i64,
}

/// What a range of the content holds of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cover {
    /// From the first byte of it.
    pub from: u64,
    /// To the last.
    pub to: u64,
    /// Bytes wanted between.
    pub wanted: u64,
    /// Is it one run of bytes in both?
    pub one_run: bool,
}

/// A place in a plan.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    index: [u64; MAX_NDIM],
    /// Bytes of the unit that lie before.
    skip: usize,
}

impl Axis {
    /// How many items.
    pub fn count(&self) -> u64 {
        match self {
            Axis::Steps { count, .. } => *count,
            Axis::List(items) => items.len() as u64,
        }
    }

    /// The same, with everything in the content so many times as far away.
    pub fn scaled(mut self, by: u64) -> Axis {
        match &mut self {
            Axis::Steps { at, .. } => *at *= by,
            Axis::List(items) => items.iter_mut().for_each(|(at, _)| *at *= by),
        }
        self
    }

    /// Where item `i` is, in the content and in the buffer.
    pub fn offset(&self, i: u64) -> (u64, i64) {
        match self {
            Axis::Steps { at, buf, .. } => (at.wrapping_mul(i), buf.wrapping_mul(i as i64)),
            Axis::List(items) => items.get(i as usize).copied().unwrap_or_default(),
        }
    }

    /// The first item that ends behind `at`, each being this long.
    pub fn first_behind(&self, at: u64, len: u64) -> u64 {
        match self {
            _ if at < len => 0,
            Axis::Steps { at: step, .. } => (at - len) / (*step).max(1) + 1,
            Axis::List(items) => {
                items.partition_point(|(from, _)| from.saturating_add(len) <= at) as u64
            }
        }
    }
}

impl Plan {
    /// Items of `item` bytes; the first, where all axes begin, `at` in the content and `buf` in the
    /// buffer. No axis is empty, and an item of an axis ends before the next one begins: what
    /// several axes select goes by rising positions. Who asks for nothing but all pieces may
    /// have the axes in any order.
    pub fn new(at: u64, buf: i64, item: usize, axes: Vec<Axis>) -> Plan {
        let mut plan = Plan {
            at,
            buf,
            unit: item,
            axes: Vec::with_capacity(axes.len()),
            reach: Vec::new(),
        };
        for axis in axes.into_iter().rev() {
            plan.put_around(axis);
        }
        plan.axes.reverse();
        let mut reach = plan.unit as u64;
        for axis in plan.axes.iter().rev() {
            plan.reach.push(reach);
            reach = reach.saturating_add(axis.offset(axis.count().saturating_sub(1)).0);
        }
        plan.reach.reverse();
        plan.reach.push(reach);
        plan
    }

    /// Adds an axis that is slower than those that are there, which are still the other way round.
    fn put_around(&mut self, axis: Axis) {
        match (&axis, self.axes.last_mut()) {
            (Axis::Steps { count: 1, .. }, _) => {}
            (Axis::List(items), _) if items.len() == 1 => {
                let (at, buf) = axis.offset(0);
                (self.at, self.buf) = (self.at + at, self.buf + buf);
            }
            (Axis::Steps { count, at, buf }, None)
                if *at == self.unit as u64 && *buf == self.unit as i64 =>
            {
                self.unit *= *count as usize
            }
            (
                Axis::Steps { count, at, buf },
                Some(Axis::Steps {
                    count: n,
                    at: inner_at,
                    buf: inner_buf,
                }),
            ) if inner_at.checked_mul(*n) == Some(*at)
                && inner_buf.checked_mul(*n as i64) == Some(*buf) =>
            {
                *n *= count;
            }
            _ => self.axes.push(axis),
        }
    }

    /// The bytes of content from its first to its last.
    pub fn range(&self) -> Range<u64> {
        self.at
            ..self
                .at
                .saturating_add(self.reach.last().copied().unwrap_or(0))
    }

    /// If it is one run of bytes in both: where in the content, and where in the buffer.
    pub fn one_run(&self) -> Option<(u64, Range<usize>)> {
        let buf = self.buf as usize;
        self.axes
            .is_empty()
            .then(|| (self.at, buf..buf.saturating_add(self.unit)))
    }

    /// Does the order of the content rise in the buffer as well, without overlaps?
    pub fn is_in_order(&self) -> bool {
        let mut end = self.unit as i64;
        self.axes.iter().rev().all(|axis| match axis {
            Axis::Steps { count, buf, .. } => {
                let rises = *buf >= end;
                end = end.saturating_add(buf.saturating_mul(*count as i64 - 1));
                rises
            }
            Axis::List(_) => false,
        })
    }

    /// The first byte wanted from byte `at` of the content on: where it is in the content, and
    /// where in the buffer.
    pub fn first_from(&self, at: u64) -> Option<(u64, usize)> {
        self.seek(at).map(|place| self.offset(&place))
    }

    fn seek(&self, at: u64) -> Option<Place> {
        let mut place = Place::default();
        let mut rest = at.saturating_sub(self.at);
        for ((axis, len), index) in self.axes.iter().zip(&self.reach).zip(&mut place.index) {
            *index = axis.first_behind(rest, *len);
            if *index >= axis.count() {
                return None;
            }
            rest = rest.saturating_sub(axis.offset(*index).0);
        }
        place.skip = rest as usize;
        (place.skip < self.unit).then_some(place)
    }

    /// Where in the content the run of bytes ends that the byte at `at` belongs to.
    pub fn unit_end(&self, at: u64) -> Option<u64> {
        self.seek(at)
            .map(|place| self.offset(&place).0 + (self.unit - place.skip) as u64)
    }

    fn offset(&self, place: &Place) -> (u64, usize) {
        let (mut at, mut buf) = (self.at, self.buf);
        for (axis, i) in self.axes.iter().zip(&place.index) {
            let (a, b) = axis.offset(*i);
            (at, buf) = (at.wrapping_add(a), buf.wrapping_add(b));
        }
        (at + place.skip as u64, buf as usize + place.skip)
    }

    /// What is wanted of a range of the content, in its order.
    pub fn pieces(&self, range: Range<u64>) -> Pieces<'_> {
        Pieces {
            plan: self,
            place: self.seek(range.start),
            end: range.end,
        }
    }

    /// What there is of it in a range of the content; nothing where there is nothing.
    pub fn cover(&self, range: Range<u64>) -> Option<Cover> {
        let mut pieces = self.pieces(range);
        let first = pieces.next()?;
        let mut cover = Cover {
            from: first.at,
            to: first.end(),
            wanted: first.bytes(),
            one_run: first.n == 1,
        };
        for p in pieces {
            cover = Cover {
                from: cover.from,
                to: p.end(),
                wanted: cover.wanted + p.bytes(),
                one_run: false,
            };
        }
        Some(cover)
    }
}

/// See [`Plan::pieces`].
pub struct Pieces<'a> {
    plan: &'a Plan,
    place: Option<Place>,
    end: u64,
}

impl Pieces<'_> {
    /// Goes on by so many units.
    fn advance(&mut self, by: u64) {
        let Some(place) = &mut self.place else { return };
        place.skip = 0;
        let mut by = by;
        for (axis, index) in self.plan.axes.iter().zip(&mut place.index).rev() {
            *index += by;
            if *index < axis.count() {
                return;
            }
            (*index, by) = (0, 1);
        }
        self.place = None;
    }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let (plan, place) = (self.plan, self.place?);
        let (at, buf) = plan.offset(&place);
        let room = self.end.checked_sub(at).filter(|n| *n > 0)?;
        let left = plan.unit - place.skip;
        if place.skip > 0 || (left as u64) > room {
            let len = left.min(usize::try_from(room).unwrap_or(usize::MAX));
            if len == left {
                self.advance(1);
            } else {
                self.place = None;
            }
            return Some(Piece {
                at,
                buf,
                len,
                n: 1,
                at_step: 0,
                buf_step: 0,
            });
        }
        let mut piece = Piece {
            at,
            buf,
            len: left,
            n: 1,
            at_step: 0,
            buf_step: 0,
        };
        if let Some((Axis::Steps { count, at, buf }, index)) =
            plan.axes.iter().zip(&place.index).next_back()
        {
            let in_room = (room - left as u64) / (*at).max(1) + 1;
            (piece.n, piece.at_step, piece.buf_step) = ((count - index).min(in_room), *at, *buf);
        }
        self.advance(piece.n);
        Some(piece)
    }
}

impl Piece {
    /// Where the last one ends in the content.
    pub fn end(&self) -> u64 {
        self.at + (self.n - 1) * self.at_step + self.len as u64
    }

    fn bytes(&self) -> u64 {
        self.n * self.len as u64
    }

    /// The bytes of the buffer from its first one to its last.
    pub fn in_buffer(&self) -> (usize, usize) {
        let last = self
            .buf
            .wrapping_add_signed((self.n as isize - 1).wrapping_mul(self.buf_step as isize));
        (self.buf.min(last), self.buf.max(last) + self.len)
    }

    /// Each unit on its own.
    pub fn units(&self) -> impl Iterator<Item = Piece> {
        let unit = |i| Piece {
            at: self.at + i * self.at_step,
            buf: self
                .buf
                .wrapping_add_signed((i as isize).wrapping_mul(self.buf_step as isize)),
            n: 1,
            ..*self
        };
        (0..self.n).map(unit)
    }

    /// The same as it goes from the content to the buffer whose part from `buf` on is given.
    pub fn rows(&self, buf: usize) -> Rows {
        Rows {
            from: self.at as usize,
            from_step: self.at_step as usize,
            to: self.buf.wrapping_sub(buf),
            to_step: self.buf_step as isize,
            len: self.len,
            n: self.n as usize,
            past: false,
        }
    }

    /// Copies it to the buffer whose part from `buf` on is given, from the content, of which the
    /// part from `at` on is given. False where one of them is too short.
    pub fn to_buffer(
        &self,
        (content, at): (&[u8], u64),
        (buffer, buf): (&mut [u8], usize),
    ) -> bool {
        let from = Walk {
            at: (self.at - at) as usize,
            step: self.at_step as isize,
        };
        let to = Walk {
            at: self.buf - buf,
            step: self.buf_step as isize,
        };
        copy_units(content, from, buffer, to, self.len, self.n).is_some()
    }

    /// Copies it from the buffer to the content, of which the part from `at` on is given.
    pub fn to_content(&self, buffer: &[u8], (content, at): (&mut [u8], u64)) -> bool {
        let from = Walk {
            at: self.buf,
            step: self.buf_step as isize,
        };
        let to = Walk {
            at: (self.at - at) as usize,
            step: self.at_step as isize,
        };
        copy_units(buffer, from, content, to, self.len, self.n).is_some()
    }
}

#[derive(Clone, Copy)]
struct Walk {
    at: usize,
    step: isize,
}

impl Walk {
    fn next(&mut self) -> usize {
        let at = self.at;
        self.at = at.wrapping_add_signed(self.step);
        at
    }
}

fn copy_units(
    src: &[u8],
    mut from: Walk,
    dst: &mut [u8],
    mut to: Walk,
    len: usize,
    n: u64,
) -> Option<()> {
    match len {
        1 => copy_items::<1>(src, from, dst, to, n),
        2 => copy_items::<2>(src, from, dst, to, n),
        4 => copy_items::<4>(src, from, dst, to, n),
        8 => copy_items::<8>(src, from, dst, to, n),
        16 => copy_items::<16>(src, from, dst, to, n),
        _ => {
            for _ in 0..n {
                let unit = src.get(from.next()..)?.get(..len)?;
                dst.get_mut(to.next()..)?
                    .get_mut(..len)?
                    .copy_from_slice(unit);
            }
            Some(())
        }
    }
}

/// As [`copy_units`], with a length that the compiler knows.
fn copy_items<const N: usize>(
    src: &[u8],
    mut from: Walk,
    dst: &mut [u8],
    mut to: Walk,
    n: u64,
) -> Option<()> {
    for _ in 0..n {
        let item: &[u8; N] = src.get(from.next()..)?.first_chunk()?;
        *dst.get_mut(to.next()..)?.first_chunk_mut()? = *item;
    }
    Some(())
}
