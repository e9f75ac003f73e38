//! Shuffled epochs: a permutation of the numbers below `n`, determined by a seed and the number of
//! the epoch, computed without a table.
//!
//! A Feistel network permutes the numbers below 2^k, where k is the number of bits of `n - 1`. It
//! is applied again while the result is not below `n` (cycle walking: fewer than two times on
//! average). Numbers are 64-bit and wrap around:
//!
//! ```text
//! mix(z)       z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9;  z ^= z >> 27;  z *= 0x94D049BB133111EB;  z ^= z >> 31
//! G            0x9E3779B97F4A7C15
//! rounds       32 if k is 10 or less, else 12
//! key[i]       mix(mix(mix(seed + G) + epoch) + (i + 1) * G),  i from 0 on
//! permute(x)   h = k / 2, rounded down;  low = the lower k - h bits of x;  high = the h bits above
//!              for i = 0, 2, 4 ... rounds - 2:
//!                                         high ^= the lower h bits of mix(low + key[i])
//!                                         low ^= the lower k - h bits of mix(high + key[i + 1])
//! ```
//!
//! For small `n` more rounds are needed to make all orders equally likely: with 12 rounds, some
//! orders of five numbers are 40 % more likely than others.
//!
//! The order never changes between versions: training that was interrupted continues with the
//! records that it has not seen.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};

/// Domains of up to 10 bits use 32 rounds. Larger ones use `ROUNDS`.
const SMALL_DOMAIN: (u32, usize) = (10, 32);
const ROUNDS: usize = 12;
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finalizer of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A permutation of the numbers below `n`.
#[derive(Clone, Debug)]
struct Permutation {
    n: u64,
    /// One key per round.
    keys: Vec<u64>,
    /// Number of bits of the upper and of the lower half.
    high: u32,
    low: u32,
}

impl Permutation {
    fn new(n: u64, seed: u64, epoch: u64) -> Permutation {
        let base = mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(epoch));
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let rounds = if bits <= SMALL_DOMAIN.0 {
            SMALL_DOMAIN.1
        } else {
            ROUNDS
        };
        let keys = (1..=rounds as u64)
            .map(|i| mix(base.wrapping_add(i.wrapping_mul(GOLDEN))))
            .collect();
        Permutation {
            n,
            keys,
            high: bits / 2,
            low: bits - bits / 2,
        }
    }

    /// Returns the number at position `x`, which must be below `n`.
    fn at(&self, mut x: u64) -> u64 {
        loop {
            x = self.once(x);
            if x < self.n {
                return x;
            }
        }
    }

    fn once(&self, x: u64) -> u64 {
        let (high_mask, low_mask) = ((1u64 << self.high) - 1, (1u64 << self.low) - 1);
        let (mut high, mut low) = ((x >> self.low) & high_mask, x & low_mask);
        for pair in self.keys.as_chunks::<2>().0 {
            let [a, b] = *pair;
            high ^= mix(low.wrapping_add(a)) & high_mask;
            low ^= mix(high.wrapping_add(b)) & low_mask;
        }
        high << self.low | low
    }
}

/// The numbers of one epoch that belong to one rank.
///
/// Rank `r` of `world` has the positions `r`, `r + world`, `r + 2 * world` ... of the order. The
/// ranks together have every number once. The first `n % world` ranks have one number more than the
/// others.
#[derive(Clone, Debug)]
pub struct Epoch {
    order: Permutation,
    seed: u64,
    rank: u64,
    world: u64,
    position: u64,
}

impl Epoch {
    /// Creates an epoch over the numbers below `n`, with one rank.
    pub fn whole(n: u64, seed: u64, epoch: u64) -> Epoch {
        Epoch {
            order: Permutation::new(n, seed, epoch),
            seed,
            rank: 0,
            world: 1,
            position: 0,
        }
    }

    /// Creates the part of an epoch over the numbers below `n` that one rank has.
    pub fn new(n: u64, seed: u64, epoch: u64, rank: u32, world: u32) -> Result<Epoch> {
        if rank >= world {
            return Err(fail!(
                Argument,
                "rank {rank} of {world}: ranks are numbered from 0, and there must be at least one"
            ));
        }
        Ok(Epoch {
            rank: rank.into(),
            world: world.into(),
            ..Epoch::whole(n, seed, epoch)
        })
    }

    /// Returns the number of positions of this rank.
    pub fn size(&self) -> u64 {
        self.order.n.saturating_sub(self.rank).div_ceil(self.world)
    }

    /// Sets the epoch and the position within this rank. The position may be the end.
    pub fn seek(&mut self, epoch: u64, position: u64) -> Result<()> {
        if position > self.size() {
            return Err(fail!(
                Range,
                "position {position} of an epoch: this rank has {} numbers",
                self.size()
            ));
        }
        self.order = Permutation::new(self.order.n, self.seed, epoch);
        self.position = position;
        Ok(())
    }
}

impl Iterator for Epoch {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.position >= self.size() {
            return None;
        }
        // Below n, because `self.position` is below the size of this rank.
        let position = self.position * self.world + self.rank;
        self.position += 1;
        Some(self.order.at(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(n: u64, seed: u64, epoch: u64) -> Vec<u64> {
        Epoch::new(n, seed, epoch, 0, 1).unwrap().collect()
    }

    fn is_permutation(mut order: Vec<u64>, n: u64) -> bool {
        order.sort_unstable();
        order.into_iter().eq(0..n)
    }

    /// Returns the normalized deviation of `counts` from a uniform distribution, in standard
    /// deviations.
    fn chi_square(counts: &[u64]) -> f64 {
        let (total, cells) = (counts.iter().sum::<u64>() as f64, counts.len() as f64);
        let expected = total / cells;
        let sum: f64 = counts
            .iter()
            .map(|&c| (c as f64 - expected).powi(2) / expected)
            .sum();
        (sum - (cells - 1.0)) / (2.0 * (cells - 1.0)).sqrt()
    }

    /// These values must never change.
    #[test]
    fn orders_never_change() {
        assert_eq!(all(10, 0, 0), TEN);
        assert_eq!(all(10, 0, 1), TEN_NEXT);
        let large = |n: u64| {
            (0..4)
                .map(|x| Permutation::new(n, 42, 7).at(x))
                .collect::<Vec<_>>()
        };
        assert_eq!(large(1_000_000), MILLION);
        assert_eq!(large(u64::MAX), LARGEST);
    }
    const TEN: [u64; 10] = [2, 7, 8, 3, 9, 0, 4, 6, 5, 1];
    const TEN_NEXT: [u64; 10] = [7, 3, 0, 1, 4, 9, 8, 2, 5, 6];
    const MILLION: [u64; 4] = [972_914, 210_275, 892_710, 79_721];
    const LARGEST: [u64; 4] = [
        801_401_604_743_083_718,
        4_264_234_478_713_011_969,
        17_060_649_413_693_167_969,
        5_775_335_484_420_599_329,
    ];

    #[test]
    fn every_number_occurs_once() {
        for n in 0..=1000 {
            assert!(is_permutation(all(n, n ^ 5, 3), n), "{n}");
        }
        for n in [65_535, 65_536, 65_537, 300_007] {
            assert!(is_permutation(all(n, 1, 0), n), "{n}");
        }
        // Large domains: distinct positions have distinct numbers, and all are below n.
        for n in [(1 << 32) + 1, 1 << 63, u64::MAX] {
            let order = Permutation::new(n, 9, 9);
            let mut seen: Vec<u64> = (0..1000).chain(n - 1000..n).map(|x| order.at(x)).collect();
            assert!(seen.iter().all(|&x| x < n));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 2000);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn ranks_share_an_epoch(n in 0..5000u64, seed: u64, epoch: u64, world in 1..9u32) {
            let whole = all(n, seed, epoch);
            prop_assert!(is_permutation(whole.clone(), n));
            let mut ranks: Vec<Epoch> = (0..world).map(|r| Epoch::new(n, seed, epoch, r, world).unwrap()).collect();
            for (r, rank) in ranks.iter_mut().enumerate() {
                let want: Vec<u64> = whole.iter().skip(r).step_by(world as usize).copied().collect();
                prop_assert_eq!(rank.size(), want.len() as u64);
                prop_assert_eq!(&rank.by_ref().collect::<Vec<_>>(), &want);
                // Continue from any position.
                let from = seed % (want.len() as u64 + 1);
                rank.seek(epoch, from).unwrap();
                prop_assert!(rank.eq(want[from as usize..].iter().copied()));
                prop_assert!(rank.seek(epoch, want.len() as u64 + 1).is_err());
            }
        }
    }

    /// For small domains all orders are equally likely.
    #[test]
    fn all_orders_are_equally_likely() {
        for (n, orders) in [(2, 2), (3, 6), (4, 24), (5, 120)] {
            let mut counts = std::collections::BTreeMap::new();
            let tries = orders * 500;
            for seed in 0..tries {
                *counts.entry(all(n, seed, seed % 3)).or_insert(0u64) += 1;
            }
            let counts: Vec<u64> = counts.into_values().collect();
            assert_eq!(counts.len() as u64, orders, "{n}");
            let deviation = chi_square(&counts);
            assert!(deviation < 4.0, "{n}: {deviation}");
        }
    }

    /// Every number is equally likely at every position, over epochs as well as over seeds,
    /// whatever precedes it.
    #[test]
    fn every_number_is_equally_likely_at_every_position() {
        for n in [6u64, 16, 17, 31, 100] {
            let side = n as usize;
            let (mut positions, mut pairs, mut next) = (
                vec![0u64; side * side],
                vec![0u64; side * side],
                vec![0u64; side * side],
            );
            for k in 0..n * 400 {
                let (order, again) = (all(n, k, 0), all(n, 11, k));
                for x in 0..side {
                    positions[x * side + order[x] as usize] += 1;
                    next[x * side + again[x] as usize] += 1;
                }
                // Consecutive numbers are never equal.
                for w in order.windows(2) {
                    pairs[w[0] as usize * side + w[1] as usize] += 1;
                }
            }
            let pairs: Vec<u64> = pairs
                .into_iter()
                .enumerate()
                .filter(|(i, _)| i / side != i % side)
                .map(|(_, c)| c)
                .collect();
            for (what, counts) in [
                ("positions", &positions),
                ("pairs", &pairs),
                ("epochs", &next),
            ] {
                let deviation = chi_square(counts);
                assert!(deviation.abs() < 5.0, "{n}, {what}: {deviation}");
            }
        }
    }

    #[test]
    fn invalid_ranks_are_refused() {
        for (rank, world) in [(0, 0), (1, 1), (9, 8)] {
            assert!(Epoch::new(10, 0, 0, rank, world).is_err());
        }
        assert_eq!(Epoch::new(3, 0, 0, 7, 8).unwrap().size(), 0);
    }
}
