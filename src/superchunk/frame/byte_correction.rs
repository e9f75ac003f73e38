//! The one byte that is wrong, from a CRC-32 that does not fit.
//!
//! A byte that changes moves the sum by a number that depends on where it is and by what it
//! changed, and on nothing else. So that number is taken back byte by byte from the end, and where
//! it is one that a single byte makes, that may have been it.
#![forbid(unsafe_code)]

use crate::checksum::crc32;

/// The polynomial of CRC-32, its bits reversed.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// By what a last byte moves the sum; and which byte it is that moves the upper byte of it by so
/// much, each by another.
#[allow(clippy::indexing_slicing)] // before there is a program
const TABLES: ([u32; 256], [u8; 256]) = {
    let (mut moves, mut by_upper, mut i) = ([0; 256], [0; 256], 0);
    while i < 256 {
        let (mut n, mut bit) = (i as u32, 0);
        while bit < 8 {
            n = if n & 1 == 1 {
                (n >> 1) ^ POLYNOMIAL
            } else {
                n >> 1
            };
            bit += 1;
        }
        (moves[i], by_upper[(n >> 24) as usize]) = (n, i as u8);
        i += 1;
    }
    (moves, by_upper)
};

/// These bytes with one changed so that they have this sum: each way in which that can be, the last
/// byte first.
pub fn corrections(bytes: &[u8], sum: u32) -> impl Iterator<Item = Vec<u8>> {
    let (moves, by_upper) = &TABLES;
    let mut moved = crc32(bytes) ^ sum;
    (0..bytes.len()).rev().filter_map(move |at| {
        let by = by_upper.get((moved >> 24) as usize).copied().unwrap_or(0);
        let move_of_it = moves.get(usize::from(by)).copied().unwrap_or(0);
        let found = moved == move_of_it && by != 0;
        moved = ((moved ^ move_of_it) << 8) | u32::from(by);
        if !found {
            return None;
        }
        let mut right = bytes.to_vec();
        *right.get_mut(at)? ^= by;
        Some(right)
    })
}

#[cfg(test)]
#[test]
fn every_byte_can_be_the_wrong_one() {
    let good: Vec<u8> = (0..700u32).map(|i| ((i * i) >> 3) as u8).collect();
    let sum = crc32(&good);
    assert_eq!(corrections(&good, sum).count(), 0);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= (at % 255) as u8 + 1;
        assert!(corrections(&bad, sum).any(|found| found == good), "{at}");
    }
}
