//! Copies of items whose neighbours in the content are far apart in the buffer, and the reverse, as
//! in Fortran order read to C order. Items are copied in square tiles, so that each cache line of
//! either side is used as a whole.
#![forbid(unsafe_code)]

use super::selection::Axis;
use crate::blosc::filter::StridedRows;

/// An axis of the copy: number of items, and distances between them.
#[derive(Clone, Copy, Debug)]
struct Steps {
    count: usize,
    at: usize,
    buf: isize,
}

/// A copy of items from content to a buffer.
#[derive(Clone, Debug)]
pub struct Transposition {
    /// Offsets of the first item.
    at: usize,
    buf: usize,
    item: usize,
    /// The axis whose items are neighbours in the content.
    in_content: Steps,
    /// The axis whose items are neighbours in the buffer.
    in_buffer: Steps,
    others: Vec<Steps>,
}

impl Transposition {
    /// Returns the copy of a lattice of items of `item` bytes, the first of which is at these
    /// offsets; `None` if it is no transposition.
    pub fn new(at: u64, buf: usize, item: usize, axes: &[Axis]) -> Option<Transposition> {
        if !matches!(item, 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let mut others: Vec<Steps> = axes.iter().map(steps).collect::<Option<_>>()?;
        let mut take = |is_next: &dyn Fn(&Steps) -> bool| {
            let found = others
                .iter()
                .position(|axis| axis.count > 1 && is_next(axis))?;
            Some(others.remove(found))
        };
        Some(Transposition {
            at: usize::try_from(at).ok()?,
            buf,
            item,
            in_content: take(&|axis| axis.at == item)?,
            in_buffer: take(&|axis| axis.buf == item as isize)?,
            others,
        })
    }

    /// Returns the number of bytes that are copied.
    pub fn bytes(&self) -> usize {
        let axes = self
            .others
            .iter()
            .chain([&self.in_content, &self.in_buffer]);
        axes.fold(self.item, |n, axis| n.saturating_mul(axis.count))
    }

    /// Returns the buffer range from the first to the last byte.
    pub fn in_buffer(&self) -> (usize, usize) {
        let axes = self
            .others
            .iter()
            .chain([&self.in_content, &self.in_buffer]);
        let (mut low, mut high) = (self.buf, self.buf + self.item);
        for axis in axes {
            let reach = axis.buf.unsigned_abs() * (axis.count - 1);
            match axis.buf {
                ..0 => low = low.saturating_sub(reach),
                _ => high = high.saturating_add(reach),
            }
        }
        (low, high)
    }

    /// Packs the requested runs of the content with `unshuffle`, which fills rows of a buffer of
    /// [`Transposition::bytes`] bytes. Returns the copy from that buffer; `None` if `unshuffle` fails.
    pub fn pack(&self, mut unshuffle: impl FnMut(&StridedRows) -> bool) -> Option<Transposition> {
        let mut packed = self.clone();
        packed.at = 0;
        let mut axes: Vec<&mut Steps> = packed.others.iter_mut().collect();
        axes.push(&mut packed.in_buffer);
        axes.sort_by_key(|axis| axis.at);
        // runs that are contiguous in the content are one
        let mut run = self.in_content.count * self.item;
        let (mut size, mut outer) = (run, Vec::with_capacity(axes.len()));
        for axis in axes {
            if outer.is_empty() && axis.at == run {
                run *= axis.count;
            } else {
                outer.push((axis.at, axis.count, size));
            }
            (axis.at, size) = (size, size * axis.count);
        }
        let (rows, outer) = match outer.split_first() {
            Some(((at, count, _), outer)) => ((*at, *count), outer),
            None => ((0, 1), &outer[..]),
        };
        let combinations = outer.iter().map(|(_, count, _)| count).product();
        (0..combinations)
            .all(|mut i: usize| {
                let (mut from, mut to) = (self.at, 0);
                for (at, count, packed) in outer {
                    from += i % count * at;
                    to += i % count * packed;
                    i /= count;
                }
                unshuffle(&StridedRows {
                    from,
                    from_step: rows.0,
                    to,
                    to_step: run as isize,
                    len: run,
                    n: rows.1,
                    non_temporal: false,
                })
            })
            .then_some(packed)
    }

    /// Copies from the content to the part of the buffer that starts at offset `buf`. Returns `None`
    /// if one of them is too short.
    pub fn copy(&self, content: &[u8], (buffer, buf): (&mut [u8], usize)) -> Option<()> {
        let start = (self.at, self.buf.checked_sub(buf)?);
        match self.item {
            1 => self.tiles::<1, 8>(content, buffer, start),
            2 => self.tiles::<2, 8>(content, buffer, start),
            4 => self.tiles::<4, 4>(content, buffer, start),
            8 => self.tiles::<8, 4>(content, buffer, start),
            16 => self.tiles::<16, 2>(content, buffer, start),
            _ => None,
        }
    }

    /// Copies items of `N` bytes in tiles of `T` by `T` items.
    fn tiles<const N: usize, const T: usize>(
        &self,
        content: &[u8],
        buffer: &mut [u8],
        (at, buf): (usize, usize),
    ) -> Option<()> {
        let (columns, rows) = (self.in_content, self.in_buffer);
        for column in (0..columns.count).step_by(T) {
            let width = T.min(columns.count - column);
            let mut index = [0; super::selection::MAX_NDIM];
            loop {
                let (mut at, mut buf) = (at + column * N, moved(buf, columns.buf, column));
                for (axis, i) in self.others.iter().zip(index) {
                    (at, buf) = (at + i * axis.at, moved(buf, axis.buf, i));
                }
                for row in (0..rows.count).step_by(T) {
                    let (at, buf) = (at + row * rows.at, buf + row * N);
                    let height = T.min(rows.count - row);
                    if (width, height) == (T, T) {
                        let tile = load::<N, T>(content, at, rows.at)?;
                        store(buffer, buf, columns.buf, &tile)?;
                    } else {
                        let (from, to) = ((at, rows.at), (buf, columns.buf));
                        edge::<N>((content, from), (buffer, to), (width, height))?;
                    }
                }
                if !next(&mut index, &self.others) {
                    break;
                }
            }
        }
        Some(())
    }
}

fn steps(axis: &Axis) -> Option<Steps> {
    match axis {
        Axis::Steps { count, at, buf } => Some(Steps {
            count: usize::try_from(*count).ok()?,
            at: usize::try_from(*at).ok()?,
            buf: isize::try_from(*buf).ok()?,
        }),
        Axis::List(_) => None,
    }
}

fn moved(from: usize, step: isize, n: usize) -> usize {
    from.wrapping_add_signed(step.wrapping_mul(n as isize))
}

/// Advances to the next combination of the other axes. Returns `false` after the last one.
fn next(index: &mut [usize], axes: &[Steps]) -> bool {
    for (axis, i) in axes.iter().zip(index).rev() {
        *i += 1;
        if *i < axis.count {
            return true;
        }
        *i = 0;
    }
    false
}

/// Loads `T` rows of `T` items.
fn load<const N: usize, const T: usize>(
    content: &[u8],
    at: usize,
    step: usize,
) -> Option<[[[u8; N]; T]; T]> {
    let mut tile = [[[0; N]; T]; T];
    for (i, row) in tile.iter_mut().enumerate() {
        let items = content.get(at + i * step..)?.as_chunks::<N>().0;
        *row = *items.first_chunk::<T>()?;
    }
    Some(tile)
}

/// Stores the columns of a tile as rows.
fn store<const N: usize, const T: usize>(
    buffer: &mut [u8],
    buf: usize,
    step: isize,
    tile: &[[[u8; N]; T]; T],
) -> Option<()> {
    for i in 0..T {
        let items = buffer
            .get_mut(moved(buf, step, i)..)?
            .as_chunks_mut::<N>()
            .0;
        let mut row = [[0; N]; T];
        for (to, from) in row.iter_mut().zip(tile) {
            *to = *from.get(i)?;
        }
        *items.first_chunk_mut::<T>()? = row;
    }
    Some(())
}

/// Copies a tile at the edge, item by item.
fn edge<const N: usize>(
    (content, (at, at_step)): (&[u8], (usize, usize)),
    (buffer, (buf, buf_step)): (&mut [u8], (usize, isize)),
    (width, height): (usize, usize),
) -> Option<()> {
    for column in 0..width {
        for row in 0..height {
            let item = content.get(at + row * at_step + column * N..)?;
            let to = moved(buf + row * N, buf_step, column);
            *buffer.get_mut(to..)?.first_chunk_mut::<N>()? = *item.first_chunk()?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the axes of a box in content of Fortran order, from the slowest to the fastest one of a
    /// buffer in C order; a backward axis has a negative distance there.
    fn axes(
        content: &[u64],
        count: &[u64],
        item: usize,
        backward: Option<usize>,
    ) -> (Vec<Axis>, usize) {
        let (mut axes, mut at, mut first) = (Vec::new(), item as u64, 0);
        for (d, len) in content.iter().enumerate() {
            let buf = item as u64 * count[d + 1..].iter().product::<u64>();
            let sign = if backward == Some(d) { -1 } else { 1 };
            first += if sign < 0 { buf * (count[d] - 1) } else { 0 };
            axes.push(Axis::Steps {
                count: count[d],
                at,
                buf: sign * buf as i64,
            });
            at *= len;
        }
        (axes, first as usize)
    }

    /// Copies every item by its offsets.
    fn copy_items(
        item: usize,
        axes: &[Axis],
        content: &[u8],
        buffer: &mut [u8],
        (at, buf): (u64, i64),
    ) {
        let Some((axis, inner)) = axes.split_first() else {
            let (at, buf) = (at as usize, buf as usize);
            buffer[buf..buf + item].copy_from_slice(&content[at..at + item]);
            return;
        };
        for i in 0..axis.count() {
            let (a, b) = axis.offset(i);
            copy_items(item, inner, content, buffer, (at + a, buf + b));
        }
    }

    #[test]
    fn every_item_is_where_its_offsets_say() {
        let shape = [9, 6, 11];
        for item in [1, 2, 4, 8, 16] {
            let content: Vec<u8> = (0..9 * 6 * 11 * item)
                .map(|i| (i * 37 % 251) as u8)
                .collect();
            for count in [[9, 6, 11], [8, 1, 8], [4, 4, 4], [2, 3, 2], [9, 2, 5]] {
                for backward in [None, Some(0), Some(1)] {
                    let (axes, first) = axes(&shape, &count, item, backward);
                    let bytes = count.iter().product::<u64>() as usize * item;
                    let (mut expected, mut found) = (vec![0; bytes], vec![0; bytes]);
                    copy_items(item, &axes, &content, &mut expected, (0, first as i64));
                    let copy = Transposition::new(0, first, item, &axes).unwrap();
                    assert_eq!((copy.bytes(), copy.in_buffer()), (bytes, (0, bytes)));
                    copy.copy(&content, (&mut found, 0)).unwrap();
                    assert_eq!(found, expected, "{item} {count:?} {backward:?}");

                    found.fill(0);
                    let mut packed = vec![0; bytes];
                    let copy = copy.pack(|rows| {
                        for row in 0..rows.n {
                            let (from, to) = (
                                rows.from + row * rows.from_step,
                                rows.to + row * rows.to_step as usize,
                            );
                            packed[to..to + rows.len]
                                .copy_from_slice(&content[from..from + rows.len]);
                        }
                        true
                    });
                    copy.unwrap().copy(&packed, (&mut found, 0)).unwrap();
                    assert_eq!(found, expected, "packed: {item} {count:?} {backward:?}");
                }
            }
        }
    }

    #[test]
    fn short_content_and_short_buffers_are_refused() {
        let (axes, _) = axes(&[5, 5], &[5, 5], 4, None);
        let copy = Transposition::new(0, 0, 4, &axes).unwrap();
        assert!(copy.copy(&[0; 99], (&mut [0; 100], 0)).is_none());
        assert!(copy.copy(&[0; 100], (&mut [0; 99], 0)).is_none());
        assert!(copy.copy(&[0; 100], (&mut [0; 100], 1)).is_none());
        assert!(copy.copy(&[0; 100], (&mut [0; 100], 0)).is_some());
        assert!(copy.pack(|_| false).is_none());
    }
}
