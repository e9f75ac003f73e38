//! What is known of each chunk before it is looked at: where it is, how long, and its checksum.
#![forbid(unsafe_code)]

use super::index::{LOST, Slot};
use std::sync::atomic::{AtomicU8, Ordering};

/// What is known of the checksum.
const NONE: u8 = 0;
const STORED: u8 = 1;
const SOUND: u8 = 2;
/// It is another chunk's, whose place this one has taken.
const OTHERS: u8 = 3;

/// One chunk.
#[derive(Debug)]
pub struct Entry {
    /// Where it is.
    pub slot: Slot,
    /// Its bytes; 0 where that is not known, and of one that takes no room.
    pub cbytes: u32,
    /// Their CRC-32.
    pub crc: u32,
    sum: AtomicU8,
}

impl Clone for Entry {
    fn clone(&self) -> Entry {
        Entry {
            sum: AtomicU8::new(self.sum.load(Ordering::Relaxed)),
            ..*self
        }
    }
}

impl Entry {
    /// Of which nothing else is known.
    pub fn bare(slot: Slot) -> Entry {
        Entry {
            slot,
            cbytes: 0,
            crc: 0,
            sum: AtomicU8::new(NONE),
        }
    }

    /// With the sum that was stored for it; zeros are none.
    pub fn stored(slot: Slot, [cbytes, crc]: [u32; 2]) -> Entry {
        let known = cbytes > 0 && matches!(slot, Slot::At(_));
        if known {
            Entry {
                slot,
                cbytes,
                crc,
                sum: AtomicU8::new(STORED),
            }
        } else {
            Entry::bare(slot)
        }
    }

    /// The same where both are as they were written: what needs no room has no checksum.
    pub fn sealed(slot: Slot, sum: [u32; 2]) -> Entry {
        match (slot, sum) {
            (Slot::Zeros | Slot::Nan | Slot::Uninit, [n, _]) if n > 0 => {
                Entry::bare(Slot::Unknown(LOST))
            }
            _ => Entry::stored(slot, sum),
        }
    }

    /// That was written just now.
    pub fn sound(slot: Slot, cbytes: u32, crc: Option<u32>) -> Entry {
        Entry {
            slot,
            cbytes,
            crc: crc.unwrap_or(0),
            sum: AtomicU8::new(if crc.is_some() { SOUND } else { NONE }),
        }
    }

    /// Its place, if it has one.
    pub fn place(&self) -> Option<u64> {
        if let Slot::At(place) = self.slot {
            Some(place)
        } else {
            None
        }
    }

    /// Is there a checksum that nobody has looked at yet?
    pub fn is_to_be_checked(&self) -> bool {
        self.sum.load(Ordering::Relaxed) == STORED
    }

    /// Is there a checksum?
    pub fn has_sum(&self) -> bool {
        matches!(self.sum.load(Ordering::Relaxed), STORED | SOUND)
    }

    /// Its bytes, where they are known. `binding`: what is stored is of this chunk, whether it was
    /// looked at or not.
    pub fn length(&self, binding: bool) -> Option<u32> {
        let known = match self.sum.load(Ordering::Relaxed) {
            STORED => binding,
            OTHERS => false,
            _ => true,
        };
        Some(self.cbytes).filter(|n| *n > 0 && known)
    }

    /// It fits, or it is another writer's chunk that it does not belong to.
    pub fn found(&self, fits: bool) {
        self.sum
            .store(if fits { SOUND } else { OTHERS }, Ordering::Relaxed);
    }

    /// As it is stored.
    pub fn sum(&self) -> [u32; 2] {
        if self.has_sum() {
            [self.cbytes, self.crc]
        } else {
            [0, 0]
        }
    }
}
