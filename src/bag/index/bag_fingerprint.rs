//! Fingerprint of the state of a bag, compared when an index is opened.
//!
//! It consists of the number of files, the number and the end offset of the records of each file,
//! and the limits and some stored bytes of a few sample records. Computing it does not read the
//! whole bag.
//!
//! Every change that makes a bag longer or shorter is detected. A change of bytes in place is
//! detected only if it affects a sample record. The correctness of look-ups does not depend on this
//! check: see [`super`].
#![forbid(unsafe_code)]

use crate::bag::Bag;
use crate::bag::codec::Codec;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, Result};
use crate::slice::SliceExt;

/// Number of sample records, evenly spaced from the first to the last.
const SAMPLES: u64 = 16;
/// Maximum number of stored bytes that are read from the end of each sample record.
const SAMPLE_BYTES: u64 = 256;

/// The state of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Number of records in all files.
    pub records: u64,
    /// Number of bytes in which the records are stored.
    pub bytes: u64,
    /// Number of files.
    pub shards: u64,
    /// SHA-256 of the data that are described at the top of this file.
    pub digest: [u8; 32],
}

impl State {
    /// Returns the state of the whole bag, as it was when it was opened.
    pub fn of(bag: &Bag) -> Result<State> {
        let set = &*bag.set;
        let mut h = Hasher::new(Checksum::Sha256);
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
        let wrong_size = |digest: Vec<u8>| {
            Error::internal(format_args!("a fingerprint of {} bytes", digest.len()))
        };
        let digest = h.finish().try_into().map_err(wrong_size)?;
        Ok(State {
            records,
            bytes,
            shards: set.shards.len() as u64,
            digest,
        })
    }
}

/// Adds record `i` of the whole bag to the hash. The record may be damaged.
fn sample(bag: &Bag, i: u64, h: &mut Hasher) -> Result<()> {
    let (shard, local) = bag.find_shard(i)?;
    let shard = bag.set.shards.at(shard)?;
    let (around, sure) = shard.limits().around(local)?;
    if !sure {
        shard.limits().check_unchanged()?;
    }
    [around.from, around.to]
        .iter()
        .for_each(|v| h.update(&v.to_le_bytes()));
    if around.from < around.to && around.to <= shard.end() {
        let mut buffer = [0; SAMPLE_BYTES as usize];
        let buffer = buffer.at_mut(..(around.to - around.from).min(SAMPLE_BYTES) as usize)?;
        shard
            .file()
            .read_exact_at(around.to - buffer.len() as u64, buffer)?;
        h.update(buffer);
    }
    Ok(())
}
