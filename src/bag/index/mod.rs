//! Hash indexes of bags: find the records with a given content.
//!
//! The keys are the records of the bag. The index stores a fingerprint of each key and the row of
//! the record, but not the key. A look-up reads the candidate rows and compares them with the key.
//! A found row is therefore correct whatever the index contains, and keys with equal fingerprints
//! are distinguished.
//!
//! [`Index::build`] builds an index in memory and [`Index::create`] in a file; the bytes are the
//! same. The time to open an index does not depend on its size. An index belongs to one bag, or
//! one slice of a bag, in one state (see [`bag_state`]).
//!
//! The file format (little-endian, version 1):
//!
//! | offset | bytes | content |
//! | --- | --- | --- |
//! | 0 | 16 | `holdall bagindex` |
//! | 16 | 4 | version, 1 |
//! | 20 | 4 | W: bytes per value, 1 to 8 |
//! | 24 | 8 | R: number of records of the bag or the slice |
//! | 32 | 8 | number of rows in the index: R less the damaged records |
//! | 40 | 8 | number of distinct keys |
//! | 48 | 8 | B: number of buckets |
//! | 56 | 8 | size of the body in bytes |
//! | 64 | 16 | seed of the fingerprints: the SipHash key as two integers |
//! | 80 | 8 + 8 | number of the first record in the whole bag, and signed step to the next; 0 and 1 unless the bag is a slice |
//! | 96 | 8 × 3 | of the whole bag: number of records, stored bytes, number of files |
//! | 120 | 32 | SHA-256 of the data that [`bag_state`] reads |
//! | 152 | 4 | 0 |
//! | 156 | 4 | CRC-32 of the preceding bytes |
//! | 160 | 8 × B | directory, one 64-bit entry per bucket: offset in the body (lower 48 bits), number of keys (upper 16 bits) |
//! | | | body: buckets and lists |
//!
//! - The fingerprint of a key is SipHash-1-3-128: two 64-bit integers, p and t. The key is in
//!   bucket p × B / 2^64.
//! - A bucket with n keys consists of n tags, n values of W bytes, and a checksum of 4 bytes. A tag
//!   is the upper 32 bits of t; tags are in ascending order. The checksum is the CRC-32 of tags and
//!   values, XORed with the upper and the lower 32 bits of the bucket number.
//! - A value less than R is the row of the key. For other values, the value minus R is the offset
//!   of a list in the body, in units of 16 bytes.
//! - A list contains two or more rows of one key: their number (W bytes) and the rows in ascending
//!   order (W bytes each). After every 1024 rows, and after the last row, follows the CRC-32
//!   (4 bytes) of the list's bytes since the previous CRC-32.
//!
//! W is the smallest width in which 3 R + 4096 fits. A bucket has about 32 keys. A key thus takes
//! about 7.4 bytes with up to 5.5 million keys and 8.4 bytes with up to a billion.
#![forbid(unsafe_code)]

mod bag_fingerprint;
mod build;
mod file;
mod fingerprint;
mod header;
mod lookup;
mod partition;
mod verified_set;
mod verify;

#[cfg(test)]
mod tests;

use super::Bag;
use super::batch::{BatchConfig, Skip};
use crate::error::{Result, fail};
use crate::io::{Access, File, Folder};
use crate::options::{BAG_OPTIONS, Opt, Options};
use crate::parallel::Threads;
use build::Output;
use header::{HEADER_BYTES, Header};
pub use lookup::NO_RECORD;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};
use verified_set::VerifiedSet;

/// Size of a checksum in bytes.
const CHECKSUM_BYTES: u64 = 4;
/// Alignment of lists in the body.
const LIST_UNIT: u64 = 16;
/// Maximum number of rows of a list that share one checksum.
const ROWS_PER_CHECKSUM: u64 = 1024;

/// Options of [`Index::build`].
pub const BUILD_OPTIONS: &[Opt] = &[Opt::Threads, Opt::MemoryLimit, Opt::SkipDamaged];
/// Options of [`Index::create`].
pub const CREATE_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::SkipDamaged,
    Opt::Durability,
    Opt::Lock,
    Opt::Io,
];
/// Options of [`Index::open`].
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::SkipDamaged,
    Opt::Io,
    Opt::Verify,
];

/// A hash index of a bag. Multiple threads may use it at once.
pub struct Index {
    bag: Bag,
    file: Arc<dyn File>,
    header: Header,
    /// Whether checksums are verified.
    checked: bool,
    verified: VerifiedSet,
    skip_damaged: bool,
    threads: Threads,
}

/// Returns the bucket of a key from the first half of its fingerprint.
fn bucket(hash: u64, buckets: u64) -> u64 {
    ((u128::from(hash) * u128::from(buckets)) >> 64) as u64
}

fn bucket_checksum(number: u64, bytes: &[u8]) -> u32 {
    crate::checksum::crc32(bytes) ^ number as u32 ^ (number >> 32) as u32
}

/// Returns how the bag is read: its own settings, overridden by the options of a call. `foreign`:
/// the index is accessed through the caller's functions; worker threads then call them only if the
/// options request threads.
fn batch_config<'a>(bag: &'a Bag, options: &Options, foreign: bool) -> BatchConfig<'a> {
    let own = bag.batch_config();
    BatchConfig {
        threads: match options.given(Opt::Threads) {
            Some(_) => options.threads(),
            None if foreign => Threads::ONE,
            None => own.threads,
        },
        memory_limit: options
            .given(Opt::MemoryLimit)
            .map_or(own.memory_limit, |m| m as u64),
        skip: if options.get(Opt::SkipDamaged, 0) == 1 {
            Skip::Damaged
        } else {
            own.skip
        },
        ..own
    }
}

impl Index {
    /// Builds the index of a bag in memory.
    pub fn build(bag: &Bag, options: &Options) -> Result<Index> {
        let options = &options.applying(
            "building the index of a bag in memory",
            BUILD_OPTIONS,
            BAG_OPTIONS,
        )?;
        let mut out = Output::Memory(Mutex::default());
        build::build(bag, options, &mut out)?;
        let Output::Memory(bytes) = out else {
            return Err(fail!(State, "the index was not built in memory"));
        };
        let bytes = bytes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let file =
            crate::io::memory::MemoryFolder::new(bytes).open(OsStr::new(""), Access::Read)?;
        Index::over(file, bag, options)
    }

    fn over(file: Arc<dyn File>, bag: &Bag, options: &Options) -> Result<Index> {
        let mut bytes = [0; HEADER_BYTES as usize];
        let size = file.size()?;
        if size < HEADER_BYTES {
            return Err(fail!(
                Format,
                "{}: not a bag index: the file is too short (expected at least {HEADER_BYTES} bytes, found {size})",
                file.name()
            ));
        }
        file.read_exact_at(0, &mut bytes)?;
        let header = Header::decode(&bytes, size, file.name())?;
        header.check_bag(bag, file.name())?;
        let BatchConfig { threads, skip, .. } = batch_config(bag, options, file.is_foreign());
        let index = Index {
            bag: bag.clone(),
            file,
            header,
            checked: options.get(Opt::Verify, 1) > 0,
            verified: VerifiedSet::default(),
            skip_damaged: skip == Skip::Damaged,
            threads,
        };
        if options.get(Opt::Verify, 1) == 2 {
            index.verify(options)?;
        }
        Ok(index)
    }

    /// Returns the number of distinct keys.
    pub fn keys(&self) -> u64 {
        self.header.keys
    }

    /// Returns the number of records that are missing from the index because they were damaged when
    /// the index was built.
    pub fn damaged(&self) -> u64 {
        self.header.records - self.header.rows
    }
}
