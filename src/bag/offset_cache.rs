//! Cache of limits, in pieces of [`PIECE`] limits. A cached limit costs no system call.
//!
//! A piece is cached after the length of the file has been checked. An append in place overwrites
//! limits, but not the records that they describe. Cached limits therefore stay valid.
//!
//! All bags of the process together cache at most [`MAX_PIECES`] pieces. Other limits are read on
//! each access.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::parallel::get_or_init;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of limits in a piece.
pub const PIECE: usize = 1024;
/// Maximum number of cached pieces: 64 MiB.
const MAX_PIECES: usize = 1 << 14;
/// Maximum number of pieces of a file with a cache. The table of more pieces would be slow to
/// allocate.
const MAX_PIECES_PER_FILE: u64 = 1 << 17;
/// Number of cached pieces in the process.
static CACHED_PIECES: AtomicUsize = AtomicUsize::new(0);

type CachedPiece = OnceLock<Box<PieceDeltas>>;

/// The limits of a piece as 32-bit differences from the first one. This halves the memory, and with
/// it the cache misses of random access.
struct PieceDeltas {
    first: u64,
    deltas: [u32; PIECE],
}

impl PieceDeltas {
    /// Returns `None` if a limit is below the first one or differs by 2^32 or more. Such records
    /// average 4 MiB, for which the time of a lookup is negligible. Differences are modulo 2^64, so
    /// that small limits after ones near 2^64, as damaged files have, are in range.
    fn of(limits: &[u64]) -> Option<PieceDeltas> {
        let first = *limits.first()?;
        let (mut deltas, mut all) = ([0; PIECE], 0);
        // Without a branch, so that the compiler vectorizes the loop.
        for (delta, limit) in deltas.iter_mut().zip(limits) {
            let d = limit.wrapping_sub(first);
            *delta = d as u32;
            all |= d;
        }
        if all >> 32 != 0 {
            return None;
        }
        Some(PieceDeltas { first, deltas })
    }
}

/// The cached pieces of one file.
#[derive(Default)]
pub struct OffsetCache {
    pieces: OnceLock<Vec<CachedPiece>>,
}

impl OffsetCache {
    fn piece(&self, i: usize) -> Option<&PieceDeltas> {
        self.pieces
            .get()?
            .get(i / PIECE)?
            .get()
            .map(|piece| &**piece)
    }

    /// Returns limit `i`, if it is cached.
    pub fn get(&self, i: u64) -> Option<u64> {
        let i = usize::try_from(i).ok()?;
        let piece = self.piece(i)?;
        piece
            .deltas
            .get(i % PIECE)
            .map(|&d| piece.first.wrapping_add(d.into()))
    }

    /// Returns the limits `i` to `i + 3`, if one piece contains them and is cached.
    pub fn four(&self, i: u64) -> Option<[u64; 4]> {
        let i = usize::try_from(i).ok()?;
        let piece = self.piece(i)?;
        let four: &[u32; 4] = piece.deltas.get(i % PIECE..)?.first_chunk()?;
        Some(four.map(|d| piece.first.wrapping_add(d.into())))
    }

    /// Caches the piece that begins with limit `number` of a file of `count` limits, if there is
    /// room and the limits can be represented.
    pub fn put(&self, number: u64, count: u64, limits: &[u64]) {
        let Some(piece) = PieceDeltas::of(limits) else {
            return;
        };
        let pieces = get_or_init(&self.pieces, || OffsetCache::table(count));
        let Some(slot) = usize::try_from(number)
            .ok()
            .and_then(|number| pieces.get(number / PIECE))
        else {
            return;
        };
        if CACHED_PIECES.fetch_add(1, Ordering::Relaxed) >= MAX_PIECES
            || slot.set(Box::new(piece)).is_err()
        {
            // The cache is full, or another thread stored the piece first.
            CACHED_PIECES.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns whether a file of `count` limits may cache another piece.
    pub fn has_room(count: u64) -> bool {
        count.div_ceil(PIECE as u64) <= MAX_PIECES_PER_FILE
            && CACHED_PIECES.load(Ordering::Relaxed) < MAX_PIECES
    }

    /// Returns an empty table if memory is insufficient.
    fn table(count: u64) -> Vec<CachedPiece> {
        let n = count.div_ceil(PIECE as u64) as usize;
        let mut table = alloc::with_capacity(n).unwrap_or_default();
        if table.capacity() >= n {
            table.resize_with(n, OnceLock::new);
        }
        table
    }
}

impl Drop for OffsetCache {
    fn drop(&mut self) {
        let cached = self
            .pieces
            .get()
            .into_iter()
            .flatten()
            .filter(|p| p.get().is_some())
            .count();
        CACHED_PIECES.fetch_sub(cached, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_pieces_are_found() {
        let cache = OffsetCache::default();
        let count = 3 * PIECE as u64 - 1;
        let limit = |i: u64| (1 << 40) + 4_000_000 * i;
        assert_eq!(cache.get(0), None);
        for k in [2, 0, 0] {
            let first = k * PIECE as u64;
            cache.put(
                first,
                count,
                &(first..count.min(first + PIECE as u64))
                    .map(limit)
                    .collect::<Vec<_>>(),
            );
        }
        for i in [0, 1, PIECE as u64 - 1, 2 * PIECE as u64, count - 1] {
            assert_eq!(cache.get(i), Some(limit(i)));
        }
        assert_eq!((cache.get(PIECE as u64), cache.get(u64::MAX)), (None, None));
        let last = PIECE as u64 - 4;
        assert_eq!(
            cache.four(last),
            Some([0, 1, 2, 3].map(|k| limit(last + k)))
        );
        assert_eq!(
            [last + 1, PIECE as u64, u64::MAX].map(|i| cache.four(i)),
            [None; 3]
        );
    }

    #[test]
    fn limits_on_both_sides_of_0_are_returned_as_they_are() {
        let cache = OffsetCache::default();
        let limits = [u64::MAX - 11, 21, 21, u64::MAX];
        cache.put(0, 4, &limits);
        assert_eq!(cache.four(0), Some(limits));
        assert_eq!(
            (0..4).map(|i| cache.get(i).unwrap()).collect::<Vec<_>>(),
            limits
        );
    }

    #[test]
    fn limits_below_the_first_or_too_far_are_not_cached() {
        let cache = OffsetCache::default();
        for limits in [
            &[5, 4][..],
            &[5, u64::from(u32::MAX) + 6],
            &[0, u64::MAX],
            &[],
        ] {
            cache.put(0, 2, limits);
            assert_eq!(cache.get(0), None);
        }
        cache.put(0, 2, &[5, u64::from(u32::MAX) + 5]);
        assert_eq!(
            (cache.get(0), cache.get(1)),
            (Some(5), Some(u64::from(u32::MAX) + 5))
        );
    }
}
