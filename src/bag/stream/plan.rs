//! Which records a stream reads next, and how many of them as one batch.
#![forbid(unsafe_code)]

use super::slot::{Numbers, Slot};
use crate::alloc;
use crate::bag::Bag;
use crate::error::{Error, Result, fail};
use crate::options::{Opt, Options};

/// Bytes of a batch, about, or half of that where several wait; and records at most.
const BATCH: u64 = 1 << 20;
const RECORDS: u64 = 1 << 16;
/// Records of the first batch, so that the first record comes soon; each one after it has twice as
/// many.
const FIRST: u64 = 32;
/// Batches that are read or waiting for each thread.
const EACH: usize = 2;
/// Memory for a record beside what it holds and what is stored of it, about.
const BESIDE: u64 = 192;

/// Gives the number of the record wanted next; `None` at the end.
pub type Next = Box<dyn FnMut() -> Result<Option<u64>> + Send>;

/// How far a stream reads ahead.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Batches, 1 at least.
    pub batches: usize,
    /// Bytes of one batch.
    bytes: u64,
    /// Records of all of them; 0: nothing is read that is not asked for.
    pub records: u64,
    /// What one batch may allocate, and what a record that does not fit into that.
    pub memory: (u64, u64),
    /// Bytes that one batch may hold.
    pub most: u64,
}

impl Bounds {
    /// As these options have it, with so many threads.
    pub fn new(options: &Options, threads: usize, memory_limit: u64) -> Bounds {
        let batches = if threads > 1 { threads * EACH } else { 1 };
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
            bytes: bytes.map_or(if batches > 1 { BATCH / 2 } else { BATCH }, each),
            records,
            memory: (each(memory_limit / 4), memory_limit - memory_limit / 4),
            most: bytes.map_or(u64::MAX, each),
        }
    }

    /// Batches that are read or waiting, where a record has so many bytes: fewer, if one fills more
    /// than a batch.
    pub fn at_once(&self, mean: u64) -> usize {
        if mean > self.bytes {
            self.batches.div_ceil(EACH)
        } else {
            self.batches
        }
    }

    /// Records of a batch, where a record has so many bytes.
    fn suit(&self, mean: u64) -> u64 {
        let fit = (self.memory.0 / mean.saturating_mul(2).saturating_add(BESIDE))
            .min(self.bytes / mean.max(1));
        fit.clamp(1, RECORDS)
            .min(self.records.div_ceil(self.batches as u64).max(1))
    }
}

/// Where the numbers come from.
pub struct Plan {
    next: Option<Next>,
    /// Numbers that were given.
    given: u64,
    size: u64,
    batch: u64,
    ended: bool,
}

impl Plan {
    /// All numbers of a bag in their order, or those of the function.
    pub fn new(bag: &Bag, next: Option<Next>) -> Plan {
        Plan {
            next,
            given: 0,
            size: bag.size(),
            batch: FIRST,
            ended: false,
        }
    }

    /// Have all numbers come?
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The next batch that suits, of at most so many records.
    pub fn suiting(
        &mut self,
        bounds: &Bounds,
        mean: u64,
        most: u64,
    ) -> (Option<Slot>, Option<Error>) {
        let n = bounds.suit(mean).min(self.batch).min(most);
        self.batch = self.batch.saturating_mul(2).min(RECORDS);
        self.slot(n)
    }

    /// The next `n` records, or fewer at the end, or before a number that cannot be had.
    pub fn slot(&mut self, n: u64) -> (Option<Slot>, Option<Error>) {
        if self.next.is_none() {
            let (first, n) = (self.given, n.min(self.size - self.given));
            self.given += n;
            self.ended = self.given == self.size;
            return ((n > 0).then(|| Slot::new(Numbers::Range(first, n))), None);
        }
        let mut all = Vec::new();
        let refused = self.pull(n, &mut all).err();
        (
            (!all.is_empty()).then(|| Slot::new(Numbers::Each(all))),
            refused,
        )
    }

    fn pull(&mut self, n: u64, all: &mut Vec<u64>) -> Result<()> {
        let Some(next) = &mut self.next else {
            return Ok(());
        };
        while (all.len() as u64) < n && !self.ended {
            alloc::reserve(all, 1)?;
            let at = self.given;
            match next() {
                Ok(Some(i)) if i < self.size => all.push(i),
                Ok(Some(i)) => {
                    self.given += 1;
                    return Err(fail!(
                        Range,
                        "number {at} of the stream is {i}, there are {} records",
                        self.size
                    )
                    .at(i));
                }
                Ok(None) => self.ended = true,
                Err(e) => return Err(e.within(format_args!("number {at} of the stream"))),
            }
            self.given += u64::from(!self.ended);
        }
        Ok(())
    }
}
