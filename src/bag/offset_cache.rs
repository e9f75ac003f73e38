//! Limits that were read once and held against their file, in pieces: where a record is then costs
//! no system call. An append in place writes over limits, but not over the records that they tell
//! of, so what was right stays right.
//!
//! All bags of the process together keep no more than [`MOST`] pieces; limits beyond are read each
//! time.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::parallel::made;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limits of a piece.
pub const PIECE: usize = 1024;
/// 64 MiB.
const MOST: usize = 1 << 14;
/// A file of more pieces keeps none: the table of them alone would take long to make.
const MOST_PIECES: u64 = 1 << 17;
/// Pieces that are kept.
static ALL: AtomicUsize = AtomicUsize::new(0);

type Piece = OnceLock<Box<Distances>>;

/// The limits of a piece, by their distance from the first: half as much memory, of which at random
/// each is a wait.
struct Distances {
    first: u64,
    distances: [u32; PIECE],
}

impl Distances {
    /// None where one is below the first, or too far from it: records of 4 MiB are no slower for
    /// being looked up.
    fn of(limits: &[u64]) -> Option<Distances> {
        let first = *limits.first()?;
        let (mut distances, mut all) = ([0; PIECE], 0);
        // without a branch, which the compiler makes a few instructions of
        for (distance, limit) in distances.iter_mut().zip(limits) {
            let d = limit.wrapping_sub(first);
            *distance = d as u32;
            all |= d;
        }
        if all >> 32 != 0 {
            return None;
        }
        Some(Distances { first, distances })
    }
}

/// The pieces of one file.
#[derive(Default)]
pub struct Kept {
    pieces: OnceLock<Vec<Piece>>,
}

impl Kept {
    fn piece(&self, i: usize) -> Option<&Distances> {
        self.pieces
            .get()?
            .get(i / PIECE)?
            .get()
            .map(|piece| &**piece)
    }

    /// The limit of this number, where it is here.
    pub fn get(&self, i: u64) -> Option<u64> {
        let i = usize::try_from(i).ok()?;
        let piece = self.piece(i)?;
        piece
            .distances
            .get(i % PIECE)
            .map(|&d| piece.first + u64::from(d))
    }

    /// This one and the three after it, where they are here, in one piece.
    pub fn four(&self, i: u64) -> Option<[u64; 4]> {
        let i = usize::try_from(i).ok()?;
        let piece = self.piece(i)?;
        let four: &[u32; 4] = piece.distances.get(i % PIECE..)?.first_chunk()?;
        Some(four.map(|d| piece.first + u64::from(d)))
    }

    /// Keeps the piece that begins with limit `number`, of a file of `count`, where there is room
    /// for it and it can be kept.
    pub fn put(&self, number: u64, count: u64, limits: &[u64]) {
        let Some(piece) = Distances::of(limits) else {
            return;
        };
        let pieces = made(&self.pieces, || Kept::table(count));
        let Some(place) = usize::try_from(number)
            .ok()
            .and_then(|number| pieces.get(number / PIECE))
        else {
            return;
        };
        if ALL.fetch_add(1, Ordering::Relaxed) >= MOST || place.set(Box::new(piece)).is_err() {
            // too many, or another thread was faster
            ALL.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// May more be kept, of a file of so many limits?
    pub fn has_room(count: u64) -> bool {
        count.div_ceil(PIECE as u64) <= MOST_PIECES && ALL.load(Ordering::Relaxed) < MOST
    }

    /// None where there is no memory for it.
    fn table(count: u64) -> Vec<Piece> {
        let n = count.div_ceil(PIECE as u64) as usize;
        let mut table = alloc::with_room(n).unwrap_or_default();
        if table.capacity() >= n {
            table.resize_with(n, OnceLock::new);
        }
        table
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let kept = self
            .pieces
            .get()
            .into_iter()
            .flatten()
            .filter(|p| p.get().is_some())
            .count();
        ALL.fetch_sub(kept, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_found_again() {
        let kept = Kept::default();
        let count = 3 * PIECE as u64 - 1;
        let limit = |i: u64| (1 << 40) + 4_000_000 * i;
        assert_eq!(kept.get(0), None);
        for k in [2, 0, 0] {
            let first = k * PIECE as u64;
            kept.put(
                first,
                count,
                &(first..count.min(first + PIECE as u64))
                    .map(limit)
                    .collect::<Vec<_>>(),
            );
        }
        for i in [0, 1, PIECE as u64 - 1, 2 * PIECE as u64, count - 1] {
            assert_eq!(kept.get(i), Some(limit(i)));
        }
        assert_eq!((kept.get(PIECE as u64), kept.get(u64::MAX)), (None, None));
        let last = PIECE as u64 - 4;
        assert_eq!(kept.four(last), Some([0, 1, 2, 3].map(|k| limit(last + k))));
        assert_eq!(
            [last + 1, PIECE as u64, u64::MAX].map(|i| kept.four(i)),
            [None; 3]
        );
    }

    #[test]
    fn limits_below_or_too_far_are_not_kept() {
        let kept = Kept::default();
        for limits in [
            &[5, 4][..],
            &[5, u64::from(u32::MAX) + 6],
            &[0, u64::MAX],
            &[],
        ] {
            kept.put(0, 2, limits);
            assert_eq!(kept.get(0), None);
        }
        kept.put(0, 2, &[5, u64::from(u32::MAX) + 5]);
        assert_eq!(
            (kept.get(0), kept.get(1)),
            (Some(5), Some(u64::from(u32::MAX) + 5))
        );
    }
}
