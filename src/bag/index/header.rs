//! Header of an index file: see the top of [`super`].
#![forbid(unsafe_code)]

use super::bag_fingerprint::State;
use super::fingerprint::Seed;
use crate::bag::Bag;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::File;

/// Size of the header in bytes.
pub const HEADER_BYTES: u64 = 160;
/// Size of a directory entry in bytes.
pub const ENTRY_BYTES: u64 = 8;
const MAGIC: &[u8; 16] = b"holdall bagindex";
const VERSION: u32 = 1;
const CHECKSUM_AT: usize = HEADER_BYTES as usize - 4;

/// The fields of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Size of a value in a bucket, in bytes.
    pub width: u32,
    /// Number of records of the bag or the slice.
    pub records: u64,
    /// Number of records in the index: all but the damaged ones.
    pub rows: u64,
    /// Number of distinct keys.
    pub keys: u64,
    /// Number of buckets.
    pub buckets: u64,
    /// Size of buckets and lists in bytes.
    pub body: u64,
    /// Seed of the fingerprints.
    pub seed: Seed,
    /// Number of the first record in the whole bag, and step to the next record.
    pub slice: (u64, i64),
    /// State of the bag when the index was built.
    pub state: State,
}

/// Appends little-endian values.
struct ByteWriter(Vec<u8>);

impl ByteWriter {
    fn u32(mut self, v: u32) -> ByteWriter {
        self.0.extend(v.to_le_bytes());
        self
    }
    fn u64(mut self, v: u64) -> ByteWriter {
        self.0.extend(v.to_le_bytes());
        self
    }
}

/// Reads little-endian values.
struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
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
    /// Returns the offset of the body.
    pub fn body_at(&self) -> u64 {
        self.buckets
            .saturating_mul(ENTRY_BYTES)
            .saturating_add(HEADER_BYTES)
    }

    /// Returns the encoded header.
    pub fn encode(&self) -> Vec<u8> {
        let [s0, s1] = self.seed;
        let mut b = ByteWriter(MAGIC.to_vec()).u32(VERSION).u32(self.width);
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
        let checksum = crc32(&b.0);
        b = b.u32(checksum);
        b.0
    }

    /// Returns whether a file begins with the magic of an index, or is empty. Both may be replaced
    /// by an index.
    pub fn is_in(file: &dyn File) -> Result<bool> {
        let mut magic = [0; MAGIC.len()];
        Ok(file.read_at(0, &mut magic)? == 0 || &magic == MAGIC)
    }

    /// Decodes a header and checks it against the size of the file.
    pub fn decode(bytes: &[u8; HEADER_BYTES as usize], size: u64, name: &str) -> Result<Header> {
        let mut t = ByteReader(bytes);
        if &t.bytes::<16>() != MAGIC {
            return Err(fail!(Format, "{name}: not a bag index"));
        }
        let version = t.u32();
        if version != VERSION {
            return Err(fail!(
                Version,
                "{name}: unsupported index version (expected {VERSION}, found {version})"
            ));
        }
        let (stored, computed) = bytes
            .split_at_checked(CHECKSUM_AT)
            .map_or((0, 0), |(b, checksum)| {
                (ByteReader(checksum).u32(), crc32(b))
            });
        if stored != computed {
            return Err(fail!(
                Checksum,
                "{name}: the header of this index is corrupt: wrong CRC-32 (expected {stored:#010x}, found {computed:#010x})"
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
            .map_err(|problem| fail!(Format, "{name}: this index is corrupt: {problem}"))?;
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
                "the header is inconsistent: {keys} keys, {rows} of {records} records, {buckets} buckets, values of {width} bytes"
            ));
        }
        let expected = self
            .buckets
            .checked_mul(ENTRY_BYTES)
            .and_then(|d| d.checked_add(HEADER_BYTES)?.checked_add(self.body));
        if expected != Some(size) {
            return Err(format!(
                "the file size does not match {} buckets and {} bytes of body (found {size} bytes)",
                self.buckets, self.body
            ));
        }
        Ok(())
    }

    /// Returns an error if the index belongs to another bag, another state of the bag, or another
    /// slice.
    pub fn check_bag(&self, bag: &Bag, name: &str) -> Result<()> {
        let now = State::of(bag)?;
        if now != self.state {
            let was = &self.state;
            return Err(fail!(
                State,
                "{name}: this index belongs to another bag or another state of the bag (expected {} records in {} bytes and {} files, found {} in {} and {}{}); rebuild the index",
                was.records,
                was.bytes,
                was.shards,
                now.records,
                now.bytes,
                now.shards,
                if (was.records, was.bytes, was.shards) == (now.records, now.bytes, now.shards) {
                    ", with other content"
                } else {
                    ""
                }
            ));
        }
        if (self.records, self.slice) != (bag.size, (bag.start, bag.step)) {
            return Err(fail!(
                State,
                "{name}: this index belongs to another slice of the bag (expected {} records from record {} in steps of {}, found {} from {} in steps of {})",
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
