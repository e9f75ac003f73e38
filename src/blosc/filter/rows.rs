//! Unshuffle from streams that are each in a place of their own, to rows that are each in one: what
//! is wanted of a block goes to where it belongs, and nothing else of it is touched.

use super::lanes::{self, Apart, Kernel, Lanes};
use super::shuffle::{AHEAD, riffle};
use std::ops::Range;

/// The most streams.
pub const MOST_STREAMS: usize = 8;
/// Bytes that a cache takes at once: less than that written past it costs as much as all.
const LINE: usize = 64;

/// The bytes of shuffled items: the first ones, the second ones, and so on.
#[derive(Clone, Copy, Debug)]
pub struct Streams<'a> {
    of: [&'a [u8]; MOST_STREAMS],
    count: usize,
}

/// Runs of bytes of a block at equal distances, and where they go.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Where the first is in the block.
    pub from: usize,
    /// From one to the next.
    pub from_step: usize,
    /// Where the first goes.
    pub to: usize,
    /// From one to the next.
    pub to_step: isize,
    /// Bytes of each.
    pub len: usize,
    /// How many.
    pub n: usize,
    /// Are they of more than caches hold? Then what is written goes past them, if it goes in whole
    /// pieces: a line that is to be written is otherwise read first, and takes the place of
    /// one that is still needed.
    pub past: bool,
}

/// Can items of so many bytes be unshuffled in rows?
pub fn goes_in_rows(typesize: usize) -> bool {
    matches!(typesize, 2 | 4 | 8)
}

impl<'a> Streams<'a> {
    /// The first bytes of all items, the second ones, and so on; as many of them as items have
    /// bytes.
    pub fn new(streams: impl Iterator<Item = &'a [u8]>) -> Streams<'a> {
        let (mut of, mut count) = ([&[][..]; MOST_STREAMS], 0);
        for (place, stream) in of.iter_mut().zip(streams) {
            (*place, count) = (stream, count + 1);
        }
        Streams { of, count }
    }

    /// Bytes of the items.
    pub fn nbytes(&self) -> usize {
        self.of.iter().map(|s| s.len()).sum()
    }

    /// Makes rows of items, each where it goes. False, and nothing done, where one is outside of
    /// what is there.
    pub fn unshuffle(&self, rows: &Rows, dst: &mut [u8]) -> bool {
        let shortest = self
            .of
            .iter()
            .take(self.count)
            .map(|s| s.len())
            .min()
            .unwrap_or(0);
        if !rows
            .are_within(shortest * self.count, dst.len())
            .unwrap_or(false)
        {
            return false;
        }
        let whole = [rows.from, rows.from_step, rows.len]
            .iter()
            .all(|n| n.is_multiple_of(self.count.max(1)));
        match (self.count, &self.of) {
            (2, [a, b, ..]) if whole => items([a, b], 1, rows, dst),
            (4, [a, b, c, d, ..]) if whole => items([a, b, c, d], 2, rows, dst),
            (8, of) if whole => items(*of, 3, rows, dst),
            _ => self.bytes(rows, dst),
        }
        .is_some()
    }

    /// One byte after the other.
    fn bytes(&self, rows: &Rows, dst: &mut [u8]) -> Option<()> {
        let streams = self.of.get(..self.count)?;
        for row in 0..rows.n {
            let (from, to) = rows.row(row);
            for (i, to) in (from..).zip(dst.get_mut(to..)?.get_mut(..rows.len)?) {
                *to = *streams
                    .get(i.checked_rem(self.count)?)?
                    .get(i / self.count)?;
            }
        }
        Some(())
    }
}

impl Rows {
    /// One of them, to the beginning.
    pub fn one(from: usize, len: usize) -> Rows {
        Rows {
            from,
            from_step: 0,
            to: 0,
            to_step: 0,
            len,
            n: 1,
            past: false,
        }
    }

    /// Are all of them there, and the places where they go?
    fn are_within(&self, content: usize, dst: usize) -> Option<bool> {
        let Some(last) = self.n.checked_sub(1) else {
            return Some(true);
        };
        let from = last.checked_mul(self.from_step)?.checked_add(self.from)?;
        let to = self
            .to
            .checked_add_signed(isize::try_from(last).ok()?.checked_mul(self.to_step)?)?;
        Some(
            from.checked_add(self.len)? <= content && self.to.max(to).checked_add(self.len)? <= dst,
        )
    }

    /// Do all of them go to multiples of 16 bytes in memory, and are they as many?
    fn are_aligned(&self, dst: &[u8]) -> bool {
        (dst.as_ptr().addr().wrapping_add(self.to) | self.to_step.unsigned_abs() | self.len)
            .is_multiple_of(16)
    }

    /// The lines of the cache that are within a row that goes to `to`.
    #[inline(always)]
    fn lines(&self, dst: &[u8], to: usize) -> Range<usize> {
        let behind = |at: usize| dst.as_ptr().addr().wrapping_add(at) % LINE;
        let end = to + self.len;
        to + (LINE - behind(to)) % LINE..end.saturating_sub(behind(end))
    }

    /// Where a row is, and where it goes.
    #[inline(always)]
    fn row(&self, i: usize) -> (usize, usize) {
        (
            self.from.wrapping_add(i.wrapping_mul(self.from_step)),
            self.to
                .wrapping_add_signed((i as isize).wrapping_mul(self.to_step)),
        )
    }
}

/// Rows of whole items of `T` = 2^`rounds` bytes.
fn items<const T: usize>(
    streams: [&[u8]; T],
    rounds: usize,
    rows: &Rows,
    dst: &mut [u8],
) -> Option<()> {
    let mut work = Unshuffle {
        apart: Apart::new(streams),
        rounds,
        rows,
        dst,
        done: false,
    };
    lanes::vectorised(&mut work);
    if work.done {
        return Some(());
    }
    for row in 0..rows.n {
        let (from, to) = rows.row(row);
        let row = dst
            .get_mut(to..)?
            .get_mut(..rows.len)?
            .as_chunks_mut::<T>()
            .0;
        for (i, to) in (from / T..).zip(row) {
            for (to, stream) in to.iter_mut().zip(streams) {
                *to = *stream.get(i)?;
            }
        }
    }
    Some(())
}

struct Unshuffle<'w, 'a, const T: usize> {
    apart: Apart<'a, T>,
    rounds: usize,
    rows: &'w Rows,
    dst: &'w mut [u8],
    done: bool,
}

impl<const T: usize> Kernel for Unshuffle<'_, '_, T> {
    /// The last items of a row are done together with some of those before them, again: rows that
    /// are shorter than a group are left.
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        let (rows, group) = (self.rows, 16 * L::LANES);
        let Some(last) = (rows.len / T).checked_sub(group).filter(|_| !self.done) else {
            return;
        };
        // as far ahead, but in a row
        let ahead = if rows.len > AHEAD {
            AHEAD as isize
        } else {
            rows.to_step
                .saturating_mul((AHEAD / rows.len.max(1)) as isize)
        };
        if rows.past && rows.are_aligned(self.dst) {
            self.place::<L, true>(l, last, ahead);
            l.settle();
        } else {
            self.place::<L, false>(l, last, ahead);
        }
        self.done = true;
    }
}

impl<const T: usize> Unshuffle<'_, '_, T> {
    /// `last`: the first item of a row's last group. A loop of its own for what goes past the
    /// caches: the question costs little rows a tenth.
    #[inline(always)]
    fn place<L: Lanes, const PAST: bool>(&mut self, l: L, last: usize, ahead: isize) {
        let (rows, group) = (self.rows, 16 * L::LANES);
        for row in 0..rows.n {
            let (from, to) = rows.row(row);
            let lines = if PAST { rows.lines(self.dst, to) } else { 0..0 };
            let mut next = 0;
            loop {
                let i = next.min(last);
                let v = riffle(l, l.load_apart(&self.apart, from / T + i), self.rounds);
                if PAST {
                    l.store_past(v, self.dst, to + i * T, 16 * T, to + next * T, &lines);
                } else {
                    l.fetch_ahead(self.dst, (to + i * T).wrapping_add_signed(ahead), group * T);
                    l.store(v, self.dst, to + i * T, 16, 16 * T);
                }
                if i == last {
                    break;
                }
                next = i + group;
            }
        }
    }
}
