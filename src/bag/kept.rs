//! Limits that were read once and held against their file, in pieces: where a record is then costs no system call. An append
//! in place writes over limits, but not over the records that they tell of, so what was right stays right.
//!
//! All bags of the process together keep no more than [`MOST`] pieces; limits beyond are read each time.
#![forbid(unsafe_code)]

use crate::memory;
use crate::parallel::made;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limits of a piece.
pub const PIECE: usize = 512;
/// 64 MiB.
const MOST: usize = 1 << 14;
/// A file of more pieces keeps none: the table of them alone would take long to make.
const MOST_PIECES: u64 = 1 << 17;
/// Pieces that are kept.
static ALL: AtomicUsize = AtomicUsize::new(0);

type Piece = OnceLock<Box<[u64; PIECE]>>;

/// The pieces of one file.
#[derive(Default)]
pub struct Kept {
    pieces: OnceLock<Vec<Piece>>,
}

impl Kept {
    /// The limit of this number, where it is here.
    pub fn get(&self, i: u64) -> Option<u64> {
        let i = usize::try_from(i).ok()?;
        self.pieces.get()?.get(i / PIECE)?.get()?.get(i % PIECE).copied()
    }

    /// This one and the three after it, where they are here, in one piece.
    pub fn four(&self, i: u64) -> Option<&[u64; 4]> {
        let i = usize::try_from(i).ok()?;
        self.pieces.get()?.get(i / PIECE)?.get()?.get(i % PIECE..)?.first_chunk()
    }

    /// Keeps the piece that begins with limit `first`, of a file of `count`, where there is room for it.
    pub fn put(&self, first: u64, count: u64, piece: Box<[u64; PIECE]>) {
        let pieces = made(&self.pieces, || Kept::table(count));
        let Some(place) = usize::try_from(first).ok().and_then(|first| pieces.get(first / PIECE)) else { return };
        if ALL.fetch_add(1, Ordering::Relaxed) >= MOST || place.set(piece).is_err() {
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
        let mut table = memory::with_room(n).unwrap_or_default();
        if table.capacity() >= n {
            table.resize_with(n, OnceLock::new);
        }
        table
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let kept = self.pieces.get().into_iter().flatten().filter(|p| p.get().is_some()).count();
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
        assert_eq!(kept.get(0), None);
        for k in [2, 0, 0] {
            let first = k * PIECE as u64;
            kept.put(first, count, Box::new(std::array::from_fn(|i| first + i as u64)));
        }
        for i in [0, 1, PIECE as u64 - 1, 2 * PIECE as u64, count - 1] {
            assert_eq!(kept.get(i), Some(i));
        }
        assert_eq!((kept.get(PIECE as u64), kept.get(u64::MAX)), (None, None));
        let last = PIECE as u64 - 4;
        assert_eq!(kept.four(last), Some(&[last, last + 1, last + 2, last + 3]));
        assert_eq!([last + 1, PIECE as u64, u64::MAX].map(|i| kept.four(i)), [None; 3]);
    }
}
