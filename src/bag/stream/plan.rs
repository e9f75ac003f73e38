//! Planning: selects the records that a stream reads next, and the size of a batch.
#![forbid(unsafe_code)]

use super::slot::{RecordNumbers, Slot};
use crate::alloc;
use crate::bag::Bag;
use crate::error::{Error, Result, fail};
use crate::options::{Opt, Options};

/// Approximate size of a batch in bytes (half of it with several batches), and maximum number of
/// its records.
const BATCH_BYTES: u64 = 1 << 20;
const MAX_RECORDS: u64 = 1 << 16;
/// Number of records of the first batch. It is small so that the first record is available soon.
/// Each following batch has twice as many.
const FIRST_BATCH_RECORDS: u64 = 32;
/// Number of batches per thread that are read or waiting.
const BATCHES_PER_THREAD: usize = 2;
/// Approximate memory overhead per record, in addition to its content and its stored bytes.
const RECORD_OVERHEAD: u64 = 192;

/// Index function of a stream: returns the number of the next record, or `None` at the end.
pub type Next = Box<dyn FnMut() -> Result<Option<u64>> + Send>;

/// Limits of the read-ahead of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Number of batches, at least 1.
    pub batches: usize,
    /// Size of a batch in bytes.
    bytes: u64,
    /// Maximum number of records in all batches. If 0, only requested records are read.
    pub records: u64,
    /// Memory limit of a batch, and of a single record that exceeds the former.
    pub memory: (u64, u64),
    /// Maximum size of the records of a batch in bytes.
    pub most: u64,
}

impl Bounds {
    /// Returns the limits for these options and `threads` threads.
    pub fn new(options: &Options, threads: usize, memory_limit: u64) -> Bounds {
        let batches = if threads > 1 {
            threads * BATCHES_PER_THREAD
        } else {
            1
        };
        let each = |all: u64| (all / batches as u64).max(1);
        let bytes = options.given(Opt::BagReadAheadBytes).map(|b| b as u64);
        let records = if bytes == Some(0) {
            0
        } else {
            options
                .given(Opt::BagReadAhead)
                .map_or(u64::MAX, |r| r as u64)
        };
        Bounds {
            batches,
            bytes: bytes.map_or(
                if batches > 1 {
                    BATCH_BYTES / 2
                } else {
                    BATCH_BYTES
                },
                each,
            ),
            records,
            memory: (each(memory_limit / 4), memory_limit - memory_limit / 4),
            most: bytes.map_or(u64::MAX, each),
        }
    }

    /// Returns the number of batches that are read or waiting for records of mean size `mean`. It
    /// is lower if a record is larger than a batch.
    pub fn max_batches(&self, mean: u64) -> usize {
        if mean > self.bytes {
            self.batches.div_ceil(BATCHES_PER_THREAD)
        } else {
            self.batches
        }
    }

    /// Returns the number of records of a batch for records of mean size `mean`.
    fn batch_records(&self, mean: u64) -> u64 {
        let fit = (self.memory.0 / mean.saturating_mul(2).saturating_add(RECORD_OVERHEAD))
            .min(self.bytes / mean.max(1));
        fit.clamp(1, MAX_RECORDS)
            .min(self.records.div_ceil(self.batches as u64).max(1))
    }
}

/// The source of the record numbers of a stream.
pub struct Plan {
    next: Option<Next>,
    /// Number of record numbers that were issued.
    issued: u64,
    size: u64,
    batch: u64,
    ended: bool,
}

impl Plan {
    /// Creates a plan from an index function, or for all records of a bag in order.
    pub fn new(bag: &Bag, next: Option<Next>) -> Plan {
        Plan {
            next,
            issued: 0,
            size: bag.size(),
            batch: FIRST_BATCH_RECORDS,
            ended: false,
        }
    }

    /// Returns whether all numbers were issued.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the next batch of a suitable size, with at most `most` records; and the error of the
    /// index function that ended it.
    pub fn next_batch(
        &mut self,
        bounds: &Bounds,
        mean: u64,
        most: u64,
    ) -> (Option<Slot>, Option<Error>) {
        let n = bounds.batch_records(mean).min(self.batch).min(most);
        self.batch = self.batch.saturating_mul(2).min(MAX_RECORDS);
        self.next_slot(n)
    }

    /// Returns a slot with the next `n` records. It has fewer records at the end and before an
    /// invalid number, whose error is returned.
    pub fn next_slot(&mut self, n: u64) -> (Option<Slot>, Option<Error>) {
        if self.next.is_none() {
            let (first, n) = (self.issued, n.min(self.size - self.issued));
            self.issued += n;
            self.ended = self.issued == self.size;
            return (
                (n > 0).then(|| Slot::new(RecordNumbers::Range(first, n))),
                None,
            );
        }
        let mut all = Vec::new();
        let error = self.pull(n, &mut all).err();
        (
            (!all.is_empty()).then(|| Slot::new(RecordNumbers::Each(all))),
            error,
        )
    }

    fn pull(&mut self, n: u64, all: &mut Vec<u64>) -> Result<()> {
        let Some(next) = &mut self.next else {
            return Ok(());
        };
        while (all.len() as u64) < n && !self.ended {
            alloc::reserve(all, 1)?;
            let at = self.issued;
            match next() {
                Ok(Some(i)) if i < self.size => all.push(i),
                Ok(Some(i)) => {
                    self.issued += 1;
                    return Err(fail!(
                        Range,
                        "number {at} of the stream: record {i} does not exist (expected less than {})",
                        self.size
                    )
                    .at(i));
                }
                Ok(None) => self.ended = true,
                Err(e) => return Err(e.within(format_args!("number {at} of the stream"))),
            }
            self.issued += u64::from(!self.ended);
        }
        Ok(())
    }
}
