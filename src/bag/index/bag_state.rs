//! What tells whether a bag is still the one that an index was made for, without reading it as a
//! whole: how many files and records there are and where these end, and the limits and some stored
//! bytes of a few records.
//!
//! So everything that makes a bag longer or shorter is noticed, and what changes nothing but some
//! bytes in place only where one of these records is hit. The index itself needs none of that to be
//! right: see [`super`].
#![forbid(unsafe_code)]

use crate::bag::Bag;
use crate::bag::codec::Codec;
use crate::checksum::{Hasher, Sum};
use crate::error::Result;

/// Records that are looked at, evenly from the first to the last.
const SAMPLES: u64 = 16;
/// Of each its last stored bytes, so many at most.
const BYTES: u64 = 256;

/// A state of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Records of all files.
    pub records: u64,
    /// Bytes that they are stored in.
    pub bytes: u64,
    /// Files.
    pub shards: u64,
    /// SHA-256 of all that is looked at.
    pub digest: [u8; 32],
}

impl State {
    /// That of the bag, the whole of it, as it was opened.
    pub fn of(bag: &Bag) -> Result<State> {
        let set = &*bag.set;
        let mut h = Hasher::new(Sum::Sha256);
        let (mut records, mut bytes) = (0u64, 0u64);
        for s in &set.shards {
            let codec = u64::from(s.decoder().codec() == Codec::Zstd);
            [s.count(), s.end(), codec]
                .iter()
                .for_each(|v| h.update(&v.to_le_bytes()));
            (records, bytes) = (
                records.saturating_add(s.count()),
                bytes.saturating_add(s.end()),
            );
        }
        h.update(&[u8::from(set.interleaved)]);
        for k in 0..SAMPLES.min(records) {
            let last = u128::from(records.saturating_sub(1));
            sample(
                bag,
                (last * u128::from(k) / u128::from(SAMPLES.min(records).saturating_sub(1).max(1)))
                    as u64,
                &mut h,
            )?;
        }
        let digest = h.finish().try_into().unwrap_or_default();
        Ok(State {
            records,
            bytes,
            shards: set.shards.len() as u64,
            digest,
        })
    }
}

/// Looks at one record of the whole bag, be it damaged or not.
fn sample(bag: &Bag, i: u64, h: &mut Hasher) -> Result<()> {
    let (shard, local) = bag.find(i);
    let Some(shard) = bag.set.shards.get(shard) else {
        return Ok(());
    };
    let (around, sure) = shard.limits().around(local)?;
    if !sure {
        shard.limits().still()?;
    }
    [around.from, around.to]
        .iter()
        .for_each(|v| h.update(&v.to_le_bytes()));
    if around.from < around.to && around.to <= shard.end() {
        let mut some = [0; BYTES as usize];
        let some = some
            .get_mut(..(around.to - around.from).min(BYTES) as usize)
            .unwrap_or_default();
        shard
            .file()
            .read_exact_at(around.to - some.len() as u64, some)?;
        h.update(some);
    }
    Ok(())
}
