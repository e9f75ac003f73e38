//! A slot: one batch of a stream, with its record numbers, its reader, and its result.
#![forbid(unsafe_code)]

use crate::bag::batch::Records;
use crate::bag::read::{Requested, positioned};
use crate::error::{Error, Result};
use crate::slice::SliceExt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Numbers of records of a bag, in the order of the stream.
pub enum RecordNumbers {
    /// The first number, and the number of consecutive records.
    Range(u64, u64),
    /// All numbers.
    Each(Vec<u64>),
}

impl RecordNumbers {
    /// Returns the number of records.
    pub fn len(&self) -> usize {
        match self {
            RecordNumbers::Range(_, n) => *n as usize,
            RecordNumbers::Each(all) => all.len(),
        }
    }

    /// Returns the record number at position `i`.
    pub fn at(&self, i: usize) -> u64 {
        self.first(self.len()).index(i)
    }

    /// Returns the first `n` records as a read request.
    pub fn first(&self, n: usize) -> Requested<'_> {
        match self {
            RecordNumbers::Range(first, _) => Requested::Range(*first, n as u64),
            RecordNumbers::Each(all) => Requested::Indices(all.get(..n).unwrap_or(all)),
        }
    }

    fn part(&self, range: Range<usize>) -> Result<RecordNumbers> {
        Ok(match self {
            RecordNumbers::Range(first, _) => {
                RecordNumbers::Range(first + range.start as u64, range.len() as u64)
            }
            RecordNumbers::Each(all) => RecordNumbers::Each(all.at(range)?.to_vec()),
        })
    }
}

/// A batch that is read once, by the thread that claims it.
pub struct Slot {
    /// The records of the batch.
    pub numbers: RecordNumbers,
    /// Whether this is a single record that did not fit into a batch with others. It may take more
    /// memory than a batch may.
    pub single: bool,
    claimed: AtomicBool,
    result: OnceLock<ReadResult>,
}

/// The result of a slot: its first records, and the state of the others.
pub struct ReadResult {
    /// The records that were read; damaged ones are empty.
    pub records: Records,
    /// State of the records after these.
    pub remainder: Remainder,
}

/// State of the records of a slot that are not in [`ReadResult::records`].
pub enum Remainder {
    /// There are none: all records were read.
    Nothing,
    /// The next record and those after it did not fit into the memory limit of a batch.
    Unread,
    /// The next record cannot be read, for this reason. The records after it were not tried.
    Failed(Error),
}

impl Slot {
    /// Creates a slot that no thread has claimed.
    pub fn new(numbers: RecordNumbers) -> Slot {
        Slot {
            numbers,
            single: false,
            claimed: AtomicBool::new(false),
            result: OnceLock::new(),
        }
    }

    /// Claims the slot. Returns true for exactly one caller, which must read it.
    pub fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::AcqRel)
    }

    /// Returns whether a thread has claimed the slot.
    pub fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire)
    }

    /// Returns the result, if it is available.
    pub fn get(&self) -> Option<&ReadResult> {
        self.result.get()
    }

    /// Waits for the thread that claimed the slot, and returns the result.
    pub fn wait(&self) -> &ReadResult {
        self.result.wait()
    }

    /// Stores the result. Called by the thread that claimed the slot.
    pub fn set_result(&self, result: ReadResult) {
        // cannot fail: no other thread has claimed the slot
        let _ = self.result.set(result);
    }

    /// Returns all records.
    pub fn into_records(self) -> Records {
        self.result
            .into_inner()
            .map_or_else(Records::none, |r| r.records)
    }
}

/// A range of the records of a slot.
pub struct SlotRange {
    /// The slot.
    pub slot: Arc<Slot>,
    /// The positions in the slot.
    pub range: Range<usize>,
}

impl SlotRange {
    /// Creates a range of all records of a slot.
    pub fn whole(slot: Slot) -> SlotRange {
        let range = 0..slot.numbers.len();
        SlotRange {
            slot: Arc::new(slot),
            range,
        }
    }

    /// Returns the same records in a new slot, to be read again.
    pub fn reread(&self) -> Result<SlotRange> {
        self.part(self.range.clone()).map(SlotRange::whole)
    }

    fn part(&self, range: Range<usize>) -> Result<Slot> {
        self.slot.numbers.part(range).map(Slot::new)
    }

    /// Splits the range into new slots of 1, 2, 4, ... records, to be read again. If a record could
    /// not be read, those after it may fail as well, and must not all be tried again each time.
    pub fn split_growing(&self) -> Result<Vec<SlotRange>> {
        let (mut parts, mut from, mut n) = (Vec::new(), self.range.start, 1);
        while from < self.range.end {
            let to = (from + n).min(self.range.end);
            parts.push(SlotRange::whole(self.part(from..to)?));
            (from, n) = (to, n * 2);
        }
        Ok(parts)
    }

    /// Splits the range into two new slots: its first record, which may take more memory than a
    /// batch may, and the others.
    pub fn split_off_first(&self) -> Result<Vec<SlotRange>> {
        let middle = (self.range.start + 1).min(self.range.end);
        let mut parts = vec![SlotRange::whole(Slot {
            single: true,
            ..self.part(self.range.start..middle)?
        })];
        if middle < self.range.end {
            parts.push(SlotRange::whole(self.part(middle..self.range.end)?));
        }
        Ok(parts)
    }
}

impl ReadResult {
    /// Creates a result without records, for this reason.
    pub fn failed(e: Error) -> ReadResult {
        ReadResult {
            records: Records::none(),
            remainder: Remainder::Failed(e),
        }
    }

    /// Returns why the record at position `i` of the slot cannot be returned, if it was tried.
    /// Damaged records can be returned if they are skipped.
    pub fn error(&self, i: usize, slot: &Slot, skip: &dyn Fn(&Error) -> bool) -> Option<Error> {
        let e = match &self.remainder {
            Remainder::Failed(e) if i == self.records.len() => e,
            _ => self.damage(i).filter(|e| !skip(e))?,
        };
        Some(positioned(e.clone(), slot.numbers.at(i)))
    }

    /// Returns the error of the record at position `i`, if it is damaged.
    pub fn damage(&self, i: usize) -> Option<&Error> {
        let damaged = &self.records.damaged;
        damaged
            .binary_search_by_key(&(i as u64), |(at, _)| *at)
            .ok()
            .and_then(|k| damaged.get(k))
            .map(|(_, e)| e)
    }

    /// Returns the end of the records in `range` that can be returned.
    pub fn intact_end(&self, range: &Range<usize>, skip: &dyn Fn(&Error) -> bool) -> usize {
        let damaged = &self.records.damaged;
        let from = damaged.partition_point(|(at, _)| (*at as usize) < range.start);
        let first = damaged
            .iter()
            .skip(from)
            .find(|(_, e)| !skip(e))
            .map_or(usize::MAX, |(at, _)| *at as usize);
        first.min(range.end).min(self.records.len())
    }
}
