//! Finds the single corrupt byte of a buffer by its CRC-32.
//!
//! A changed byte changes the CRC-32 by a value that depends only on the offset of the byte and on
//! the change. The search steps this value back byte by byte from the end. Where it equals the
//! value of a change of a single byte, that byte may be the corrupt one.
#![forbid(unsafe_code)]

use crate::checksum::crc32;

/// The CRC-32 polynomial with its bits reversed.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// The change of the CRC-32 for each change of a last byte, and the change of the byte for each
/// upper byte of the former, which are all different.
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

/// Returns all variants of `bytes` with one byte changed that have the CRC-32 `crc`, the last byte
/// first.
pub fn corrections(bytes: &[u8], crc: u32) -> impl Iterator<Item = Vec<u8>> {
    let (moves, by_upper) = &TABLES;
    let mut moved = crc32(bytes) ^ crc;
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
fn every_corrupt_byte_is_found() {
    let intact: Vec<u8> = (0..700u32).map(|i| ((i * i) >> 3) as u8).collect();
    let crc = crc32(&intact);
    assert_eq!(corrections(&intact, crc).count(), 0);
    for at in 0..intact.len() {
        let mut corrupt = intact.clone();
        corrupt[at] ^= (at % 255) as u8 + 1;
        assert!(
            corrections(&corrupt, crc).any(|found| found == intact),
            "{at}"
        );
    }
}
