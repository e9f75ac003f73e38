//! Reads a bag batch by batch for an Arrow stream.
#![forbid(unsafe_code)]

use super::batch_source::{BATCH_BYTES, Source};
use super::data::{Buffer, Data};
use super::format::{Field, Format, OffsetLayout};
use crate::bag::{Bag, Records};
use crate::error::{Error, Result, Status, fail};

/// Maximum number of records of a batch, if the caller does not set it.
const MAX_RECORDS: u64 = 1 << 16;

/// Reads the records of a bag.
pub struct BagSource {
    bag: Bag,
    schema: Field,
    next: u64,
    end: u64,
    /// The number of records of a batch, and whether it adapts to the record sizes.
    batch: (u64, bool),
}

impl BagSource {
    /// Creates a stream of `n` records from `first` on, with `batch` records per batch; 0: a number
    /// that adapts to the record sizes.
    pub fn new(bag: Bag, first: u64, n: u64, batch: u64) -> Result<BagSource> {
        let end = first.checked_add(n).filter(|end| *end <= bag.size());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{n} records from {first} on exceed the bag (found {} records)",
                bag.size()
            )
            .at(first)
        })?;
        let format = Format::Variable {
            text: false,
            layout: OffsetLayout::Offsets32,
        };
        let record = Field {
            nullable: true,
            ..Field::new("record", format)
        };
        let schema = Field::of("", Format::Struct, vec![record]);
        let batch = if batch > 0 {
            (batch.min(i32::MAX as u64), false)
        } else {
            (MAX_RECORDS, true)
        };
        Ok(BagSource {
            bag,
            schema,
            next: first,
            end,
            batch,
        })
    }
}

impl Source for BagSource {
    fn schema(&self) -> &Field {
        &self.schema
    }

    fn next_batch(&mut self) -> Result<Option<Data>> {
        let (n, is_adaptive) = self.batch;
        let n = n.min(self.end - self.next);
        if n == 0 {
            return Ok(None);
        }
        let records = self.bag.read_some(
            self.next,
            n,
            if is_adaptive {
                BATCH_BYTES
            } else {
                i32::MAX as u64
            },
        )?;
        let n = records.len();
        if is_adaptive {
            let adapted = (n as u64).saturating_mul(BATCH_BYTES) / records.data.len().max(1) as u64;
            self.batch.0 = adapted.clamp(1, MAX_RECORDS.min(n as u64 * 4));
        }
        let data = record_data(records).map_err(|e| e.at(self.next))?;
        self.next += n as u64;
        Ok(Some(Data::of(n, vec![data])))
    }
}

/// Converts records to an array. Corrupt records that were skipped are nulls.
fn record_data(mut records: Records) -> Result<Data> {
    let n = records.len();
    if i32::try_from(records.data.len()).is_err() {
        let max = i32::MAX;
        return Err(Error::new(
            Status::Unsupported,
            format!(
                "a record of {} bytes exceeds the 32-bit offsets of Arrow (limit {max})",
                records.data.len()
            ),
        ));
    }
    let mut offsets = Buffer::zeroed((n + 1).saturating_mul(4))?;
    for (to, from) in offsets
        .get_mut()
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(&records.offsets)
    {
        *to = (*from as i32).to_ne_bytes();
    }
    let data = Data::variable(n, offsets, Buffer::bytes(std::mem::take(&mut records.data)));
    if records.damaged.is_empty() {
        return Ok(data);
    }
    let mut damaged = vec![false; n];
    for (i, _) in &records.damaged {
        damaged
            .get_mut(*i as usize)
            .into_iter()
            .for_each(|d| *d = true);
    }
    data.with_nulls(&damaged)
}
