//! Holds a whole index against the bag: every checksum in it, and that every record is in it, once.
#![forbid(unsafe_code)]

use super::Index;
use super::fingerprint::fingerprint;
use super::header::Header;
use crate::error::{Result, fail};
use crate::options::Options;

/// Rows and where they should be found, in any order: one sum for all of them.
struct Rows {
    count: u64,
    sum: u128,
}

impl Rows {
    fn add(&mut self, h: &Header, bucket: u64, tag: u32, row: u64) {
        let mut bytes = [0; 20];
        let words = [bucket.to_le_bytes(), row.to_le_bytes()];
        bytes
            .iter_mut()
            .zip(words.as_flattened().iter().chain(&tag.to_le_bytes()))
            .for_each(|(b, v)| *b = *v);
        let (high, low) = fingerprint(h.seed, &bytes);
        self.count += 1;
        self.sum = self
            .sum
            .wrapping_add(u128::from(high) << 64 | u128::from(low));
    }
}

impl Index {
    /// An error where something is wrong.
    pub(super) fn verify(&self, options: &Options) -> Result<()> {
        let (h, name) = (&self.header, self.file.name());
        let mut said = Rows { count: 0, sum: 0 };
        let mut keys = 0;
        for b in 0..h.buckets {
            self.bucket(b, |tags, values| {
                keys += tags.len() as u64;
                for (i, tag) in tags.iter().enumerate() {
                    self.rows(self.value(values, i), |rows| {
                        rows.iter()
                            .for_each(|&row| said.add(h, b, u32::from_le_bytes(*tag), row));
                        Ok(said.count <= h.rows)
                    })?;
                }
                Ok(())
            })?;
            if said.count > h.rows {
                break;
            }
        }
        if (keys, said.count) != (h.keys, h.rows) {
            return Err(fail!(
                Format,
                "{name}: this index is damaged: {keys} keys and {} rows are in it, {} and {} should be",
                said.count,
                h.keys,
                h.rows
            ));
        }
        let is = self.rows_of_bag(options)?;
        if (is.count, is.sum) != (said.count, said.sum) {
            return Err(fail!(
                State,
                "{name}: this index does not fit the records of the bag, some of which have changed; make it anew"
            ));
        }
        Ok(())
    }

    fn rows_of_bag(&self, options: &Options) -> Result<Rows> {
        let h = &self.header;
        let mut rows = Rows { count: 0, sum: 0 };
        self.bag.batches(
            super::rules(&self.bag, options, false),
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
                    let (place, tag) = fingerprint(h.seed, record);
                    rows.add(
                        h,
                        super::bucket(place, h.buckets),
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
