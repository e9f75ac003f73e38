//! Indexes of bags: which records have this content? Keys are the records of a bag; an index knows
//! a fingerprint of each and the row it is in, never the key. A look-up reads the rows that may be
//! meant and compares them with the key: what is found is right whatever the index says, and two
//! keys of one fingerprint are told apart.
//!
//! An index is made by [`Index::build`] in memory or by [`Index::create`] in a file, which is the
//! same bytes, and opened in a time that does not depend on its size. It belongs to one bag, or
//! slice of one, at one state (see [`state`]).
//!
//! The file (little-endian, version 1):
//!
//! | at | bytes | what |
//! | --- | --- | --- |
//! | 0 | 16 | `holdall bagindex` |
//! | 16 | 4 | version, 1 |
//! | 20 | 4 | W, bytes of a value, 1 to 8 |
//! | 24 | 8 | records of the bag, or of the slice: R |
//! | 32 | 8 | rows in the index: R without records that were damaged |
//! | 40 | 8 | different keys |
//! | 48 | 8 | buckets: B |
//! | 56 | 8 | bytes of the body |
//! | 64 | 16 | seed of the fingerprints: the key of SipHash as two numbers |
//! | 80 | 8 + 8 | number in the whole bag of the first record, and step to the next (signed): 0 and 1 but for slices |
//! | 96 | 8 × 3 | of the whole bag: records, bytes that they are stored in, files |
//! | 120 | 32 | SHA-256 over what [`state`] looks at |
//! | 152 | 4 | 0 |
//! | 156 | 4 | CRC-32 of all before |
//! | 160 | 8 × B | directory, a word a bucket: its place in the body (48 bits), how many keys it has (16 bits, above) |
//! | | | body: buckets and lists |
//!
//! - The fingerprint of a key is SipHash-1-3-128: two numbers of 64 bits, p and t. The key is in
//!   bucket p × B / 2^64.
//! - A bucket of n keys: n tags, the upper 32 bits of t, rising; n values of W bytes; and 4 bytes,
//!   the CRC-32 of these xor the upper and the lower 32 bits of the bucket's number.
//! - A value below R is the row of the key. Others less R are the place of a list in the body, in
//!   units of 16 bytes.
//! - A list, of two rows or more of one key: how many (W bytes), and the rows, rising (W bytes
//!   each). After each 1024 rows, and after the last, the CRC-32 (4 bytes) of what is before, from
//!   the last such sum on.
//!
//! W is the least in which 3 R + 4096 fits; about 32 keys are in a bucket. So a key takes some 7.4
//! bytes of up to 5.5 million, 8.4 of up to a billion.
#![forbid(unsafe_code)]

mod bag_state;
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

use super::batch::{Rules, Skip};
use super::{Bag, damage};
use crate::error::{Result, fail};
use crate::io::{Access, File, Folder};
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use build::Out;
use header::{HEADER, Header};
pub use lookup::NO_RECORD;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};
use verified_set::Sound;

/// Bytes of a checksum.
const SUM: u64 = 4;
/// Places of lists are multiples of it.
const LIST_UNIT: u64 = 16;
/// Rows of a list with a checksum of their own.
const PIECE_ROWS: u64 = 1024;

/// Options that building an index in memory knows.
pub const BUILD_OPTIONS: &[Opt] = &[Opt::Threads, Opt::MemoryLimit, Opt::SkipDamaged];
/// Those for a file.
pub const CREATE_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::SkipDamaged,
    Opt::Durability,
    Opt::Lock,
    Opt::Io,
];
/// Those for opening one.
pub const OPEN_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::SkipDamaged,
    Opt::Io,
    Opt::Verify,
];

/// The index of a bag. May be used by many threads.
pub struct Index {
    bag: Bag,
    file: Arc<dyn File>,
    header: Header,
    /// Are checksums looked at?
    checked: bool,
    sound: Sound,
    skip_damaged: bool,
    threads: Threads,
}

/// The bucket of a key.
fn bucket(place: u64, buckets: u64) -> u64 {
    ((u128::from(place) * u128::from(buckets)) >> 64) as u64
}

fn bucket_sum(number: u64, bytes: &[u8]) -> u32 {
    crate::checksum::crc32(bytes) ^ number as u32 ^ (number >> 32) as u32
}

/// How the bag is read where the options of a call say more than its own. `foreign`: an index
/// behind functions of the caller's, which other threads call only on demand.
fn rules<'a>(bag: &'a Bag, options: &Options, foreign: bool) -> Rules<'a> {
    let own = bag.rules();
    Rules {
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
    /// Makes the index of a bag in memory.
    pub fn build(bag: &Bag, options: &Options) -> Result<Index> {
        options.only("building the index of a bag in memory", BUILD_OPTIONS)?;
        let mut out = Out::Memory(Mutex::default());
        build::build(bag, options, &mut out)?;
        let Out::Memory(bytes) = out else {
            return Err(fail!(State, "no memory"));
        };
        let bytes = bytes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let file =
            crate::io::memory::MemoryFolder::new(bytes).open(OsStr::new(""), Access::Read)?;
        Index::over(file, bag, options)
    }

    fn over(file: Arc<dyn File>, bag: &Bag, options: &Options) -> Result<Index> {
        let mut bytes = [0; HEADER as usize];
        let size = file.size()?;
        if size < HEADER {
            return Err(fail!(
                Format,
                "{}: {size} bytes are no index of a bag: its header alone takes {HEADER}",
                file.name()
            ));
        }
        file.read_exact_at(0, &mut bytes)?;
        let header = Header::decode(&bytes, size, file.name())?;
        header.check_bag(bag, file.name())?;
        let Rules { threads, skip, .. } = rules(bag, options, file.is_foreign());
        let index = Index {
            bag: bag.clone(),
            file,
            header,
            checked: options.get(Opt::Verify, 1) > 0,
            sound: Sound::default(),
            skip_damaged: skip == Skip::Damaged,
            threads,
        };
        if options.get(Opt::Verify, 1) == 2 {
            index.verify(options)?;
        }
        Ok(index)
    }

    /// Different keys.
    pub fn keys(&self) -> u64 {
        self.header.keys
    }

    /// Records that were damaged when it was made, and are not in it.
    pub fn damaged(&self) -> u64 {
        self.header.records - self.header.rows
    }
}
