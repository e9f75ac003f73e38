//! The metadata of a chunk that is not open: its position, its length and its checksum.
#![forbid(unsafe_code)]

use super::{IndexSlot, LOST};
use std::sync::atomic::{AtomicU8, Ordering};

/// States of the checksum: none, not verified yet, verified.
const NONE: u8 = 0;
const UNVERIFIED: u8 = 1;
const VERIFIED: u8 = 2;
/// The checksum belongs to a chunk that another writer has replaced.
const REPLACED: u8 = 3;

/// The metadata of one chunk.
#[derive(Debug)]
pub struct Entry {
    /// The position of the chunk.
    pub slot: IndexSlot,
    /// Stored bytes; 0 if the length is unknown or the chunk is not stored.
    pub cbytes: u32,
    /// The CRC-32 of the stored bytes.
    pub crc: u32,
    state: AtomicU8,
}

impl Clone for Entry {
    fn clone(&self) -> Entry {
        Entry {
            state: AtomicU8::new(self.state.load(Ordering::Relaxed)),
            ..*self
        }
    }
}

impl Entry {
    /// Creates an entry without length and checksum.
    pub fn bare(slot: IndexSlot) -> Entry {
        Entry {
            slot,
            cbytes: 0,
            crc: 0,
            state: AtomicU8::new(NONE),
        }
    }

    /// Creates an entry with the stored length and CRC-32; zeros stand for no checksum.
    pub fn stored(slot: IndexSlot, [cbytes, crc]: [u32; 2]) -> Entry {
        let known = cbytes > 0 && matches!(slot, IndexSlot::At(_));
        if known {
            Entry {
                slot,
                cbytes,
                crc,
                state: AtomicU8::new(UNVERIFIED),
            }
        } else {
            Entry::bare(slot)
        }
    }

    /// Creates an entry where slot and checksum are known to be of one commit. A chunk that is not
    /// stored must have no checksum.
    pub fn sealed(slot: IndexSlot, checksum: [u32; 2]) -> Entry {
        match (slot, checksum) {
            (IndexSlot::Zeros | IndexSlot::Nan | IndexSlot::Uninit, [n, _]) if n > 0 => {
                Entry::bare(IndexSlot::Unknown(LOST))
            }
            _ => Entry::stored(slot, checksum),
        }
    }

    /// Creates an entry for a chunk that was just written or verified.
    pub fn verified(slot: IndexSlot, cbytes: u32, crc: Option<u32>) -> Entry {
        Entry {
            slot,
            cbytes,
            crc: crc.unwrap_or(0),
            state: AtomicU8::new(if crc.is_some() { VERIFIED } else { NONE }),
        }
    }

    /// Returns the offset or file number of a stored chunk.
    pub fn position(&self) -> Option<u64> {
        if let IndexSlot::At(position) = self.slot {
            Some(position)
        } else {
            None
        }
    }

    /// Is there a checksum that is not verified yet?
    pub fn is_unverified(&self) -> bool {
        self.state.load(Ordering::Relaxed) == UNVERIFIED
    }

    /// Is there a checksum that belongs to the chunk?
    pub fn has_checksum(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), UNVERIFIED | VERIFIED)
    }

    /// Returns the stored length, if it is known. `checksums_trusted`: lengths that are not
    /// verified belong to this chunk, not to a replaced one.
    pub fn length(&self, checksums_trusted: bool) -> Option<u32> {
        let known = match self.state.load(Ordering::Relaxed) {
            UNVERIFIED => checksums_trusted,
            REPLACED => false,
            _ => true,
        };
        Some(self.cbytes).filter(|n| *n > 0 && known)
    }

    /// Records the result of a verification. False: the checksum belongs to a chunk that another
    /// writer has replaced.
    pub fn set_verified(&self, fits: bool) {
        self.state
            .store(if fits { VERIFIED } else { REPLACED }, Ordering::Relaxed);
    }

    /// Returns the length and the CRC-32 as they are stored; zeros without a checksum.
    pub fn checksum(&self) -> [u32; 2] {
        if self.has_checksum() {
            [self.cbytes, self.crc]
        } else {
            [0, 0]
        }
    }
}
