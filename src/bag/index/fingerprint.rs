//! Fingerprints of keys: SipHash-1-3 with 128 bits of output (Aumasson and Bernstein,
//! https://github.com/veorq/SipHash).
//!
//! Each index has a random SipHash key of its own, so that the author of the records cannot choose
//! their buckets.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, RandomState};

/// SipHash key of an index.
pub type Seed = [u64; 2];

/// Returns a random seed.
pub fn seed() -> Seed {
    [
        RandomState::new().hash_one(0u8),
        RandomState::new().hash_one(1u8),
    ]
}

/// Returns two independent 64-bit integers for a key.
pub fn fingerprint(seed: Seed, key: &[u8]) -> (u64, u64) {
    siphash::<1, 3>(seed, key)
}

struct State([u64; 4]);

impl State {
    fn rounds(&mut self, n: usize) {
        let [mut a, mut b, mut c, mut d] = self.0;
        for _ in 0..n {
            a = a.wrapping_add(b);
            b = b.rotate_left(13) ^ a;
            a = a.rotate_left(32);
            c = c.wrapping_add(d);
            d = d.rotate_left(16) ^ c;
            a = a.wrapping_add(d);
            d = d.rotate_left(21) ^ a;
            c = c.wrapping_add(b);
            b = b.rotate_left(17) ^ c;
            c = c.rotate_left(32);
        }
        self.0 = [a, b, c, d];
    }

    fn absorb(&mut self, word: u64, rounds: usize) {
        self.0[3] ^= word;
        self.rounds(rounds);
        self.0[0] ^= word;
    }

    fn output(&self) -> u64 {
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }
}

/// SipHash-C-D with 128 bits of output.
fn siphash<const C: usize, const D: usize>(seed: Seed, key: &[u8]) -> (u64, u64) {
    let [k0, k1] = seed;
    let mut s = State([
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]);
    let (blocks, rest) = key.as_chunks::<8>();
    blocks
        .iter()
        .for_each(|w| s.absorb(u64::from_le_bytes(*w), C));
    let last = match key.last_chunk() {
        // the shift removes the bytes before the rest: one load instead of one per byte
        Some(&end) => u64::from_le_bytes(end)
            .checked_shr(64 - 8 * rest.len() as u32)
            .unwrap_or(0),
        None => rest
            .iter()
            .rev()
            .fold(0, |word, &b| word << 8 | u64::from(b)),
    };
    s.absorb(last | (key.len() as u64) << 56, C);
    s.0[2] ^= 0xee;
    s.rounds(D);
    let first = s.output();
    s.0[1] ^= 0xdd;
    s.rounds(D);
    (first, s.output())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of the algorithm's authors are for SipHash-2-4.
    #[test]
    fn known_answers() {
        let seed = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let of = |n: u8| {
            let (a, b) = siphash::<2, 4>(seed, &(0..n).collect::<Vec<u8>>());
            [a.to_le_bytes(), b.to_le_bytes()].concat()
        };
        let hex = |s: &str| {
            (0..16)
                .map(|i| u8::from_str_radix(&s[i * 2..][..2], 16).unwrap())
                .collect::<Vec<u8>>()
        };
        assert_eq!(of(0), hex("a3817f04ba25a8e66df67214c7550293"));
        assert_eq!(of(1), hex("da87c1d86b99af44347659119b22fc45"));
        assert_eq!(
            of(2),
            hex("8177228da4a45dc7fca38bde f60affe4"
                .replace(' ', "")
                .as_str())
        );
        assert_eq!(of(15), hex("5493e99933b0a8117e08ec0f97cfc3d9"));
        assert_ne!(seed_pair(), seed_pair());
    }

    fn seed_pair() -> Seed {
        super::seed()
    }
}
