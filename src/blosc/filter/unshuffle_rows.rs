//! Unshuffles requested rows of items from separate streams directly to their destination. Other
//! bytes of the block are not touched.

use super::lanes::{self, Kernel, Lanes, SeparateStreams};
use super::shuffle::{PREFETCH_DISTANCE, riffle};
use std::ops::Range;

/// Maximum number of streams.
pub const MAX_STREAMS: usize = 8;
/// Size of a cache line in bytes. A non-temporal store of less than a line costs as much as one of
/// the whole line.
const LINE: usize = 64;

/// The byte streams of shuffled items: the first bytes, the second bytes, and so on.
#[derive(Clone, Copy, Debug)]
pub struct Streams<'a> {
    of: [&'a [u8]; MAX_STREAMS],
    count: usize,
}

/// Rows of bytes at equal distances in a block, and their destinations.
#[derive(Clone, Copy, Debug)]
pub struct StridedRows {
    /// Offset of the first row in the block.
    pub from: usize,
    /// Distance between consecutive rows in the block.
    pub from_step: usize,
    /// Offset of the first row in the destination.
    pub to: usize,
    /// Distance between consecutive rows in the destination.
    pub to_step: isize,
    /// Length of a row in bytes.
    pub len: usize,
    /// Number of rows.
    pub n: usize,
    /// Whether the rows belong to a copy that exceeds the caches. Whole cache lines are then
    /// written with non-temporal stores. Regular stores would read each line first and evict lines
    /// that are still needed.
    pub non_temporal: bool,
}

/// Returns whether items of this size can be unshuffled in rows.
pub fn supports_rows(typesize: usize) -> bool {
    matches!(typesize, 2 | 4 | 8)
}

impl<'a> Streams<'a> {
    /// Creates streams: the first bytes of all items, the second bytes, and so on, one stream per
    /// byte of an item.
    pub fn new(streams: impl Iterator<Item = &'a [u8]>) -> Streams<'a> {
        let (mut of, mut count) = ([&[][..]; MAX_STREAMS], 0);
        for (slot, stream) in of.iter_mut().zip(streams) {
            (*slot, count) = (stream, count + 1);
        }
        Streams { of, count }
    }

    /// Returns the size of the items in bytes.
    pub fn nbytes(&self) -> usize {
        self.of.iter().map(|s| s.len()).sum()
    }

    /// Unshuffles rows of items to their destinations. Returns false, without any effect, if a row
    /// is out of range.
    pub fn unshuffle(&self, rows: &StridedRows, dst: &mut [u8]) -> bool {
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
            (2, [a, b, ..]) if whole => unshuffle_items([a, b], 1, rows, dst),
            (4, [a, b, c, d, ..]) if whole => unshuffle_items([a, b, c, d], 2, rows, dst),
            (8, of) if whole => unshuffle_items(*of, 3, rows, dst),
            _ => self.bytes(rows, dst),
        }
        .is_some()
    }

    /// Unshuffles byte by byte.
    fn bytes(&self, rows: &StridedRows, dst: &mut [u8]) -> Option<()> {
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

impl StridedRows {
    /// Creates a single row with destination offset 0.
    pub fn one(from: usize, len: usize) -> StridedRows {
        StridedRows {
            from,
            from_step: 0,
            to: 0,
            to_step: 0,
            len,
            n: 1,
            non_temporal: false,
        }
    }

    /// Returns whether all rows and their destinations are in range.
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

    /// Returns whether the addresses and the lengths of all destinations are multiples of 16 bytes.
    fn are_aligned(&self, dst: &[u8]) -> bool {
        (dst.as_ptr().addr().wrapping_add(self.to) | self.to_step.unsigned_abs() | self.len)
            .is_multiple_of(16)
    }

    /// Returns the range of whole cache lines in a row with destination offset `to`.
    #[inline(always)]
    fn lines(&self, dst: &[u8], to: usize) -> Range<usize> {
        let past_line_start = |at: usize| dst.as_ptr().addr().wrapping_add(at) % LINE;
        let end = to + self.len;
        to + (LINE - past_line_start(to)) % LINE..end.saturating_sub(past_line_start(end))
    }

    /// Returns the offsets of row `i` in the block and in the destination.
    #[inline(always)]
    fn row(&self, i: usize) -> (usize, usize) {
        (
            self.from.wrapping_add(i.wrapping_mul(self.from_step)),
            self.to
                .wrapping_add_signed((i as isize).wrapping_mul(self.to_step)),
        )
    }
}

/// Unshuffles rows of whole items of `T` = 2^`rounds` bytes.
fn unshuffle_items<const T: usize>(
    streams: [&[u8]; T],
    rounds: usize,
    rows: &StridedRows,
    dst: &mut [u8],
) -> Option<()> {
    let mut work = Unshuffle {
        streams: SeparateStreams::new(streams),
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
    streams: SeparateStreams<'a, T>,
    rounds: usize,
    rows: &'w StridedRows,
    dst: &'w mut [u8],
    done: bool,
}

impl<const T: usize> Kernel for Unshuffle<'_, '_, T> {
    /// The last group of a row overlaps the group before it. Rows that are shorter than a group are
    /// left to the plain code.
    #[inline(always)]
    fn run<L: Lanes>(&mut self, l: L) {
        let (rows, group) = (self.rows, 16 * L::LANES);
        let Some(last) = (rows.len / T).checked_sub(group).filter(|_| !self.done) else {
            return;
        };
        // the prefetch distance, or the same distance in rows if rows are shorter
        let ahead = if rows.len > PREFETCH_DISTANCE {
            PREFETCH_DISTANCE as isize
        } else {
            rows.to_step
                .saturating_mul((PREFETCH_DISTANCE / rows.len.max(1)) as isize)
        };
        if rows.non_temporal && rows.are_aligned(self.dst) {
            self.unshuffle_rows::<L, true>(l, last, ahead);
            l.store_fence();
        } else {
            self.unshuffle_rows::<L, false>(l, last, ahead);
        }
        self.done = true;
    }
}

impl<const T: usize> Unshuffle<'_, '_, T> {
    /// `last`: first item of the last group of a row. The loop is compiled separately for
    /// non-temporal stores, because a branch costs short rows a tenth of the time.
    #[inline(always)]
    fn unshuffle_rows<L: Lanes, const NON_TEMPORAL: bool>(
        &mut self,
        l: L,
        last: usize,
        ahead: isize,
    ) {
        let (rows, group) = (self.rows, 16 * L::LANES);
        for row in 0..rows.n {
            let (from, to) = rows.row(row);
            let lines = if NON_TEMPORAL {
                rows.lines(self.dst, to)
            } else {
                0..0
            };
            let mut next = 0;
            loop {
                let i = next.min(last);
                let v = riffle(l, l.load_streams(&self.streams, from / T + i), self.rounds);
                if NON_TEMPORAL {
                    l.store_non_temporal(v, self.dst, to + i * T, 16 * T, to + next * T, &lines);
                } else {
                    l.prefetch_range(self.dst, (to + i * T).wrapping_add_signed(ahead), group * T);
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
