//! Plans that map items of the content to offsets in a buffer.
//!
//! The content is a run of bytes. The selected items form the lattice of a box or the product of
//! lists of positions. A [`Plan`] has one [`Axis`] per dimension, slowest dimension of the content
//! first, so that it enumerates items in content order. It can start at any content byte: a reader
//! visits the chunks in turn and asks for the [`Segment`]s in each.
#![forbid(unsafe_code)]

use super::transposition::Transposition;
use crate::blosc::filter::StridedRows;
use std::ops::Range;

/// Maximum number of dimensions of an array.
pub const MAX_NDIM: usize = 16;

/// The selected items of one dimension, in content order.
#[derive(Clone, Debug)]
pub enum Axis {
    /// Items at equal distances.
    Steps {
        /// Number of items.
        count: u64,
        /// Distance in content bytes between consecutive items.
        at: u64,
        /// Distance in buffer bytes between consecutive items.
        buf: i64,
    },
    /// Items at arbitrary positions: pairs of a content offset and a buffer offset. Content offsets
    /// are strictly increasing.
    List(Vec<(u64, i64)>),
}

/// A non-empty selection in bytes of the content and of the buffer.
#[derive(Debug)]
pub struct Plan {
    at: u64,
    buf: i64,
    /// Number of bytes that are contiguous in the content and in the buffer.
    unit: usize,
    axes: Vec<Axis>,
    /// For each axis, the content bytes from the first to the last byte within one of its items;
    /// then the same for the whole plan.
    reach: Vec<u64>,
}

/// A sequence of units at equal distances in the content and in the buffer, or a part of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Content offset of the first unit.
    pub at: u64,
    /// Buffer offset of the first unit.
    pub buf: usize,
    /// Length of a unit in bytes.
    pub len: usize,
    /// Number of units.
    pub n: u64,
    at_step: u64,
    buf_step: i64,
}

/// The part of a selection that lies in a content range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Content offset of the first selected byte.
    pub from: u64,
    /// Content offset after the last selected byte.
    pub to: u64,
    /// Number of selected bytes in between.
    pub requested: u64,
    /// Whether the part is contiguous in the content and in the buffer.
    pub contiguous: bool,
}

/// A position in a plan.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    index: [u64; MAX_NDIM],
    /// Number of bytes of the unit before the position.
    skip: usize,
}

impl Axis {
    /// Returns the number of items.
    pub fn count(&self) -> u64 {
        match self {
            Axis::Steps { count, .. } => *count,
            Axis::List(items) => items.len() as u64,
        }
    }

    /// Returns the axis with all content distances multiplied by `by`.
    pub fn scaled(mut self, by: u64) -> Axis {
        match &mut self {
            Axis::Steps { at, .. } => *at *= by,
            Axis::List(items) => items.iter_mut().for_each(|(at, _)| *at *= by),
        }
        self
    }

    /// Returns the offsets of item `i` in the content and in the buffer; 0 for the first item of an
    /// empty list.
    pub fn offset(&self, i: u64) -> (u64, i64) {
        match self {
            Axis::Steps { at, buf, .. } => (at.wrapping_mul(i), buf.wrapping_mul(i as i64)),
            Axis::List(items) => items.get(i as usize).copied().unwrap_or_default(),
        }
    }

    /// Returns the first item that ends after `at`, if each item has `len` bytes.
    pub fn first_ending_after(&self, at: u64, len: u64) -> u64 {
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
    /// Creates a plan of items of `item` bytes. The item at the start of all axes is at content
    /// offset `at` and buffer offset `buf`. No axis may be empty, and an item of an axis must end
    /// before the next one begins, so that several axes enumerate increasing offsets. A caller that
    /// only uses [`Plan::segments`] over the whole range may pass the axes in any order.
    pub fn new(at: u64, buf: i64, item: usize, axes: Vec<Axis>) -> Plan {
        let mut plan = Plan {
            at,
            buf,
            unit: item,
            axes: Vec::with_capacity(axes.len()),
            reach: Vec::new(),
        };
        for axis in axes.into_iter().rev() {
            plan.push_outer(axis);
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

    /// Adds an axis that is slower than the present ones, which are still in reverse order.
    fn push_outer(&mut self, axis: Axis) {
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

    /// Returns the content range from the first to the last selected byte.
    pub fn range(&self) -> Range<u64> {
        self.at
            ..self
                .at
                .saturating_add(self.reach.last().copied().unwrap_or(0))
    }

    /// Returns the content offset and the buffer range if the selection is contiguous in both.
    pub fn contiguous(&self) -> Option<(u64, Range<usize>)> {
        let buf = self.buf as usize;
        self.axes
            .is_empty()
            .then(|| (self.at, buf..buf.saturating_add(self.unit)))
    }

    /// Returns the plan as a transposition; `None` if items that are neighbours in the content are
    /// neighbours in the buffer too, or if items of this size are not copied in tiles.
    pub fn transposition(&self) -> Option<Transposition> {
        Transposition::new(
            self.at,
            usize::try_from(self.buf).ok()?,
            self.unit,
            &self.axes,
        )
    }

    /// Returns whether increasing content offsets map to increasing, disjoint buffer offsets.
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

    /// Returns the content and buffer offsets of the first selected byte at or after content offset
    /// `at`.
    pub fn first_from(&self, at: u64) -> Option<(u64, usize)> {
        self.seek(at).map(|cursor| self.offset(&cursor))
    }

    fn seek(&self, at: u64) -> Option<Cursor> {
        let mut cursor = Cursor::default();
        let mut rest = at.saturating_sub(self.at);
        for ((axis, len), index) in self.axes.iter().zip(&self.reach).zip(&mut cursor.index) {
            *index = axis.first_ending_after(rest, *len);
            if *index >= axis.count() {
                return None;
            }
            rest = rest.saturating_sub(axis.offset(*index).0);
        }
        cursor.skip = rest as usize;
        (cursor.skip < self.unit).then_some(cursor)
    }

    /// Returns the content offset at which the contiguous run of the byte at `at` ends.
    pub fn unit_end(&self, at: u64) -> Option<u64> {
        self.seek(at)
            .map(|cursor| self.offset(&cursor).0 + (self.unit - cursor.skip) as u64)
    }

    fn offset(&self, cursor: &Cursor) -> (u64, usize) {
        let (mut at, mut buf) = (self.at, self.buf);
        for (axis, i) in self.axes.iter().zip(&cursor.index) {
            let (a, b) = axis.offset(*i);
            (at, buf) = (at.wrapping_add(a), buf.wrapping_add(b));
        }
        (at + cursor.skip as u64, buf as usize + cursor.skip)
    }

    /// Returns the selected segments of a content range, in content order.
    pub fn segments(&self, range: Range<u64>) -> Segments<'_> {
        Segments {
            plan: self,
            cursor: self.seek(range.start),
            end: range.end,
        }
    }

    /// Summarizes the part of the selection in a content range; `None` if it is empty.
    pub fn cover(&self, range: Range<u64>) -> Option<Cover> {
        let mut segments = self.segments(range);
        let first = segments.next()?;
        let mut cover = Cover {
            from: first.at,
            to: first.end(),
            requested: first.bytes(),
            contiguous: first.n == 1,
        };
        for p in segments {
            cover = Cover {
                from: cover.from,
                to: p.end(),
                requested: cover.requested + p.bytes(),
                contiguous: false,
            };
        }
        Some(cover)
    }
}

/// Iterator that [`Plan::segments`] returns.
pub struct Segments<'a> {
    plan: &'a Plan,
    cursor: Option<Cursor>,
    end: u64,
}

impl Segments<'_> {
    /// Advances by `by` units.
    fn advance(&mut self, by: u64) {
        let Some(cursor) = &mut self.cursor else {
            return;
        };
        cursor.skip = 0;
        let mut by = by;
        for (axis, index) in self.plan.axes.iter().zip(&mut cursor.index).rev() {
            *index += by;
            if *index < axis.count() {
                return;
            }
            (*index, by) = (0, 1);
        }
        self.cursor = None;
    }
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        let (plan, cursor) = (self.plan, self.cursor?);
        let (at, buf) = plan.offset(&cursor);
        let room = self.end.checked_sub(at).filter(|n| *n > 0)?;
        let left = plan.unit - cursor.skip;
        if cursor.skip > 0 || (left as u64) > room {
            let len = left.min(usize::try_from(room).unwrap_or(usize::MAX));
            if len == left {
                self.advance(1);
            } else {
                self.cursor = None;
            }
            return Some(Segment {
                at,
                buf,
                len,
                n: 1,
                at_step: 0,
                buf_step: 0,
            });
        }
        let mut segment = Segment {
            at,
            buf,
            len: left,
            n: 1,
            at_step: 0,
            buf_step: 0,
        };
        if let Some((Axis::Steps { count, at, buf }, index)) =
            plan.axes.iter().zip(&cursor.index).next_back()
        {
            let in_room = (room - left as u64) / (*at).max(1) + 1;
            (segment.n, segment.at_step, segment.buf_step) =
                ((count - index).min(in_room), *at, *buf);
        }
        self.advance(segment.n);
        Some(segment)
    }
}

impl Segment {
    /// Returns the content offset at which the last unit ends.
    pub fn end(&self) -> u64 {
        self.at + (self.n - 1) * self.at_step + self.len as u64
    }

    fn bytes(&self) -> u64 {
        self.n * self.len as u64
    }

    /// Returns the buffer range from the first to the last byte.
    pub fn in_buffer(&self) -> (usize, usize) {
        let last = self
            .buf
            .wrapping_add_signed((self.n as isize - 1).wrapping_mul(self.buf_step as isize));
        (self.buf.min(last), self.buf.max(last) + self.len)
    }

    /// Returns the units one by one.
    pub fn units(&self) -> impl Iterator<Item = Segment> {
        let unit = |i| Segment {
            at: self.at + i * self.at_step,
            buf: self
                .buf
                .wrapping_add_signed((i as isize).wrapping_mul(self.buf_step as isize)),
            n: 1,
            ..*self
        };
        (0..self.n).map(unit)
    }

    /// Returns the segment as rows that an unshuffle kernel copies to the part of the buffer that
    /// starts at `buf`.
    pub fn rows(&self, buf: usize) -> StridedRows {
        StridedRows {
            from: self.at as usize,
            from_step: self.at_step as usize,
            to: self.buf.wrapping_sub(buf),
            to_step: self.buf_step as isize,
            len: self.len,
            n: self.n as usize,
            non_temporal: false,
        }
    }

    /// Copies the segment to the part of the buffer that starts at offset `buf`, from the part of
    /// the content that starts at offset `at`. Returns `false` if one of the parts is too short.
    pub fn to_buffer(self, (content, at): (&[u8], u64), (buffer, buf): (&mut [u8], usize)) -> bool {
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

    /// Copies the segment from the buffer to the part of the content that starts at offset `at`.
    /// Returns `false` if one of them is too short.
    pub fn to_content(self, buffer: &[u8], (content, at): (&mut [u8], u64)) -> bool {
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

/// Like [`copy_units`], with a unit length that is known at compile time.
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
