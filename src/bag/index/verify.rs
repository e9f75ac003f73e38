//! Verification of a whole index: checks every checksum, and that the index has each record of the
//! bag exactly once.
#![forbid(unsafe_code)]

use super::Index;
use super::fingerprint::fingerprint;
use super::header::Header;
use crate::bag::Requested;
use crate::error::{Result, fail};
use crate::options::Options;

/// An order-independent digest of rows and the buckets and tags where they are expected.
struct RowsDigest {
    count: u64,
    sum: u128,
}

impl RowsDigest {
    fn add(&mut self, h: &Header, bucket: u64, tag: u32, row: u64) {
        let mut bytes = [0; 20];
        let fields = [bucket.to_le_bytes(), row.to_le_bytes()];
        bytes
            .iter_mut()
            .zip(fields.as_flattened().iter().chain(&tag.to_le_bytes()))
            .for_each(|(b, v)| *b = *v);
        let (high, low) = fingerprint(h.seed, &bytes);
        self.count += 1;
        self.sum = self
            .sum
            .wrapping_add(u128::from(high) << 64 | u128::from(low));
    }
}

impl Index {
    /// Returns an error if the index is corrupt or does not match the bag.
    pub(super) fn verify(&self, options: &Options) -> Result<()> {
        let (h, name) = (&self.header, self.file.name());
        let mut indexed = RowsDigest { count: 0, sum: 0 };
        let mut keys = 0;
        for b in 0..h.buckets {
            self.bucket(b, |tags, values| {
                keys += tags.len() as u64;
                for (i, tag) in tags.iter().enumerate() {
                    self.rows(self.value(values, i)?, |rows| {
                        rows.iter()
                            .for_each(|&row| indexed.add(h, b, u32::from_le_bytes(*tag), row));
                        Ok(indexed.count <= h.rows)
                    })?;
                }
                Ok(())
            })?;
            if indexed.count > h.rows {
                break;
            }
        }
        if (keys, indexed.count) != (h.keys, h.rows) {
            return Err(fail!(
                Format,
                "{name}: this index is corrupt: it has {keys} keys and {} rows (expected {} and {}); rebuild the index",
                indexed.count,
                h.keys,
                h.rows
            ));
        }
        let actual = self.rows_of_bag(options)?;
        if (actual.count, actual.sum) != (indexed.count, indexed.sum) {
            return Err(fail!(
                State,
                "{name}: this index does not match the records of the bag, some of which have changed; rebuild the index"
            ));
        }
        Ok(())
    }

    fn rows_of_bag(&self, options: &Options) -> Result<RowsDigest> {
        let h = &self.header;
        let mut rows = RowsDigest { count: 0, sum: 0 };
        self.bag.batches(
            Requested::Range(0, self.bag.size()),
            super::batch_config(&self.bag, options, false),
            &mut |first, records| {
                let records = records?;
                let mut damaged = records
                    .damaged
                    .iter()
                    .map(|(at, _)| *at as usize)
                    .peekable();
                for (k, record) in records.iter().enumerate() {
                    if damaged.next_if_eq(&k).is_some() {
                        continue;
                    }
                    let (hash, tag) = fingerprint(h.seed, record);
                    rows.add(
                        h,
                        super::bucket(hash, h.buckets),
                        (tag >> 32) as u32,
                        first + k as u64,
                    );
                }
                Ok(())
            },
        )?;
        Ok(rows)
    }
}
