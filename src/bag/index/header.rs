//! The first bytes of an index file: see the top of [`super`].
#![forbid(unsafe_code)]

use super::bag_state::State;
use super::fingerprint::Seed;
use crate::bag::Bag;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::File;

/// Its bytes.
pub const HEADER: u64 = 160;
/// Bytes of an entry of the directory.
pub const WORD: u64 = 8;
const MAGIC: &[u8; 16] = b"holdall bagindex";
const VERSION: u32 = 1;
const SUM_AT: usize = HEADER as usize - 4;

/// What stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of a value in a bucket.
    pub width: u32,
    /// Records that the bag, or the slice of it, has.
    pub records: u64,
    /// Those that are in the index: without the damaged ones.
    pub rows: u64,
    /// Different keys among them.
    pub keys: u64,
    /// Buckets.
    pub buckets: u64,
    /// Bytes of buckets and lists.
    pub body: u64,
    /// What fingerprints are made with.
    pub seed: Seed,
    /// Number in the whole bag of the first record, and what the next one is on from it.
    pub slice: (u64, i64),
    /// The bag, as it was.
    pub state: State,
}

/// Puts values one behind the other.
struct Put(Vec<u8>);

impl Put {
    fn u32(mut self, v: u32) -> Put {
        self.0.extend(v.to_le_bytes());
        self
    }
    fn u64(mut self, v: u64) -> Put {
        self.0.extend(v.to_le_bytes());
        self
    }
}

/// Takes them again.
struct Take<'a>(&'a [u8]);

impl Take<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let Some((head, rest)) = self.0.split_first_chunk::<N>() else {
            return [0; N];
        };
        self.0 = rest;
        *head
    }
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }
    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}

impl Header {
    /// Where the buckets begin.
    pub fn body_at(&self) -> u64 {
        self.buckets.saturating_mul(WORD).saturating_add(HEADER)
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let [s0, s1] = self.seed;
        let mut b = Put(MAGIC.to_vec()).u32(VERSION).u32(self.width);
        for v in [
            self.records,
            self.rows,
            self.keys,
            self.buckets,
            self.body,
            s0,
            s1,
            self.slice.0,
            self.slice.1 as u64,
        ] {
            b = b.u64(v);
        }
        let mut b = b
            .u64(self.state.records)
            .u64(self.state.bytes)
            .u64(self.state.shards);
        b.0.extend(self.state.digest);
        let mut b = b.u32(0);
        let sum = crc32(&b.0);
        b = b.u32(sum);
        b.0
    }

    /// Does this file begin as an index does? An empty one has nothing to lose.
    pub fn is_at(file: &dyn File) -> Result<bool> {
        let mut magic = [0; MAGIC.len()];
        Ok(file.read_at(0, &mut magic)? == 0 || &magic == MAGIC)
    }

    /// Reads it, and holds it against the length of the file.
    pub fn decode(bytes: &[u8; HEADER as usize], size: u64, name: &str) -> Result<Header> {
        let mut t = Take(bytes);
        if &t.bytes::<16>() != MAGIC {
            return Err(fail!(Format, "{name}: this is no index of a bag"));
        }
        let version = t.u32();
        if version != VERSION {
            return Err(fail!(
                Version,
                "{name}: an index of version {version}; this library knows version {VERSION}"
            ));
        }
        let (said, is) = bytes
            .split_at_checked(SUM_AT)
            .map_or((0, 0), |(b, sum)| (Take(sum).u32(), crc32(b)));
        if said != is {
            return Err(fail!(
                Checksum,
                "{name}: the CRC-32 of its header is {is:#010x}, {said:#010x} stands there"
            ));
        }
        let width = t.u32();
        let [records, rows, keys, buckets, body, s0, s1, start, step] =
            std::array::from_fn(|_| t.u64());
        let state = State {
            records: t.u64(),
            bytes: t.u64(),
            shards: t.u64(),
            digest: t.bytes(),
        };
        let h = Header {
            width,
            records,
            rows,
            keys,
            buckets,
            body,
            seed: [s0, s1],
            slice: (start, step as i64),
            state,
        };
        h.check(size)
            .map_err(|words| fail!(Format, "{name}: this index is damaged: {words}"))?;
        Ok(h)
    }

    fn check(&self, size: u64) -> std::result::Result<(), String> {
        if !(1..=8).contains(&self.width)
            || self.buckets == 0
            || self.keys > self.rows
            || self.rows > self.records
        {
            let Header {
                width,
                records,
                rows,
                keys,
                buckets,
                ..
            } = self;
            return Err(format!(
                "{keys} keys of {rows} of {records} records in {buckets} buckets of values of {width} bytes"
            ));
        }
        let whole = self
            .buckets
            .checked_mul(WORD)
            .and_then(|d| d.checked_add(HEADER)?.checked_add(self.body));
        if whole != Some(size) {
            return Err(format!(
                "its header tells of {} buckets and {} bytes in them, the file has {size} bytes",
                self.buckets, self.body
            ));
        }
        Ok(())
    }

    /// Refuses another bag, another state of it, or another slice.
    pub fn check_bag(&self, bag: &Bag, name: &str) -> Result<()> {
        let now = State::of(bag)?;
        if now != self.state {
            let was = &self.state;
            return Err(fail!(
                State,
                "{name}: this index was made for another state of the bag, or another bag: {} records of {} bytes in {} files, now {} of {} in {}{}; make it anew",
                was.records,
                was.bytes,
                was.shards,
                now.records,
                now.bytes,
                now.shards,
                if (was.records, was.bytes, was.shards) == (now.records, now.bytes, now.shards) {
                    ", but with other content"
                } else {
                    ""
                }
            ));
        }
        if (self.records, self.slice) != (bag.size, (bag.start, bag.step)) {
            return Err(fail!(
                State,
                "{name}: this index was made for {} records of the bag, from number {} on by steps of {}, not for {} from {} on by {}",
                self.records,
                self.slice.0,
                self.slice.1,
                bag.size,
                bag.start,
                bag.step
            ));
        }
        Ok(())
    }
}
