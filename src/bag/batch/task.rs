//! A task: a few hundred records of one file, and what is known about them.
#![forbid(unsafe_code)]

use super::Item;
use super::budget::Budget;
use crate::alloc;
use crate::bag::codec::Codec;
use crate::bag::limits::RecordBounds;
use crate::bag::offset_check::Suspect;
use crate::bag::shard::Shard;
use crate::error::{Error, Result};
use std::ops::Range;

pub struct Task<'a> {
    pub shard: &'a Shard,
    pub records: TaskRecords<'a>,
    /// Stored bytes of compressed records, unless the file is mapped.
    pub fetched: Vec<u8>,
    /// One entry per record. Empty for consecutive uncompressed records without suspect limits.
    pub info: Vec<RecordInfo>,
    /// Checksums of uncompressed records, if there are any.
    pub checksums: Vec<u32>,
    /// Retained frames: their bytes, and the range of each by record.
    pub frames: Vec<u8>,
    pub frame_ranges: Vec<(usize, Range<usize>)>,
    /// Records that cannot be read.
    pub errors: Vec<(usize, Error)>,
    /// Whether the records have been located.
    pub located: bool,
    /// Whether the stored bytes were read for all tasks together.
    pub prefetched: bool,
    /// Whether the stored bytes were discarded and must be read again for decoding.
    pub discarded: bool,
}

pub enum TaskRecords<'a> {
    /// Consecutive records. `edges` are the bounds before the first and after the last of `bounds`.
    Run {
        first: u64,
        bounds: &'a [u64],
        edges: (u64, u64),
        out: usize,
    },
    Scattered {
        items: &'a [Item],
        extents: Vec<RecordBounds>,
    },
}

/// The destinations of the decoded records.
pub enum OutputSlots<'a> {
    Contiguous(&'a mut [u8]),
    Scattered(Vec<&'a mut [u8]>),
}

impl OutputSlots<'_> {
    /// Returns the number of bytes of all records.
    pub fn total_len(&self) -> usize {
        match self {
            OutputSlots::Contiguous(slot) => slot.len(),
            OutputSlots::Scattered(slots) => slots.iter().map(|slot| slot.len()).sum(),
        }
    }
}

/// The result of the first pass for a record.
#[derive(Default)]
pub struct RecordInfo {
    pub size: u64,
    /// Offset of the stored bytes in `fetched`, if they were read.
    pub at: Option<usize>,
    pub suspect: Option<Suspect>,
    /// Whether its stored bytes are exactly one frame with content.
    pub is_frame: bool,
    /// Whether its frames have checksums.
    pub checked: bool,
    /// ID of the dictionary that its frames name; 0 if they name none.
    pub dictionary: u32,
    /// Whether `errors` contains the record.
    pub has_failed: bool,
    /// The record, if it was decoded early because its headers do not contain its size.
    pub decoded: Option<Vec<u8>>,
}

/// Memory per record without the result: its information, its item and its offset.
pub const PER_RECORD: u64 = (size_of::<RecordInfo>() + size_of::<Item>() + 16) as u64;
/// Estimated memory for the message of an error.
pub const PER_ERROR: u64 = 256;

impl<'a> Task<'a> {
    pub fn new(shard: &'a Shard, records: TaskRecords<'a>) -> Self {
        Task {
            shard,
            records,
            fetched: Vec::new(),
            info: Vec::new(),
            checksums: Vec::new(),
            frames: Vec::new(),
            frame_ranges: Vec::new(),
            errors: Vec::new(),
            located: false,
            prefetched: false,
            discarded: false,
        }
    }

    pub fn len(&self) -> usize {
        match &self.records {
            TaskRecords::Run { bounds, .. } => bounds.len().saturating_sub(1),
            TaskRecords::Scattered { items, .. } => items.len(),
        }
    }

    pub fn local(&self, k: usize) -> u64 {
        match &self.records {
            TaskRecords::Run { first, .. } => first + k as u64,
            TaskRecords::Scattered { items, .. } => items.get(k).map_or(0, |i| i.local),
        }
    }

    pub fn out(&self, k: usize) -> usize {
        match &self.records {
            TaskRecords::Run { out, .. } => out + k,
            TaskRecords::Scattered { items, .. } => items.get(k).map_or(0, |i| i.out),
        }
    }

    pub fn around(&self, k: usize) -> RecordBounds {
        let none = RecordBounds {
            before: 0,
            from: 1,
            to: 0,
            after: 0,
        };
        match &self.records {
            TaskRecords::Run { bounds, edges, .. } => {
                let Some(&[from, to]) = bounds.get(k..k + 2) else {
                    return none;
                };
                let before = k
                    .checked_sub(1)
                    .and_then(|j| bounds.get(j))
                    .unwrap_or(&edges.0);
                RecordBounds {
                    before: *before,
                    from,
                    to,
                    after: *bounds.get(k + 2).unwrap_or(&edges.1),
                }
            }
            TaskRecords::Scattered { extents, .. } => extents.get(k).copied().unwrap_or(none),
        }
    }

    pub fn extent(&self, k: usize) -> (u64, u64) {
        let a = self.around(k);
        (a.from, a.to)
    }

    /// Returns whether the bounds ascend, so that one copy can read all records.
    pub fn is_ascending(&self) -> bool {
        let TaskRecords::Run { bounds, edges, .. } = &self.records else {
            return false;
        };
        let Some((&from, &to)) = bounds.first().zip(bounds.last()) else {
            return false;
        };
        let around = RecordBounds {
            before: edges.0,
            from,
            to,
            after: edges.1,
        };
        bounds.is_sorted() && to <= self.shard.end() && !self.shard.is_suspect(around)
    }

    pub fn prefetch(&self, k: usize) {
        if matches!(self.records, TaskRecords::Scattered { .. }) && k < self.len() {
            let (from, to) = self.extent(k);
            self.shard.file().prefetch(from, to);
        }
    }

    pub fn raw(&self) -> bool {
        self.shard.decoder().codec() == Codec::None
    }

    /// Returns whether one copy reads all records: they are consecutive, uncompressed and not
    /// suspect.
    pub fn is_single_copy(&self) -> bool {
        self.info.is_empty()
    }

    pub fn has_failed(&self, k: usize) -> bool {
        self.info.get(k).is_some_and(|f| f.has_failed)
    }

    pub fn size(&self, k: usize) -> u64 {
        if !self.is_single_copy() {
            return self.info.get(k).map_or(0, |f| f.size);
        }
        let (a, b) = self.extent(k);
        b.saturating_sub(a)
    }

    /// Returns whether the record is a repetition of the previous one.
    pub fn is_repeat(&self, k: usize) -> bool {
        matches!(self.records, TaskRecords::Scattered { .. })
            && k > 0
            && self.local(k) == self.local(k - 1)
    }

    /// Returns the error of a record that cannot be read.
    pub fn error(&self, k: usize) -> Option<&Error> {
        self.errors
            .iter()
            .rev()
            .find(|(j, _)| *j == k)
            .map(|(_, e)| e)
    }

    pub fn checked(&self, k: usize) -> bool {
        if self.raw() {
            self.shard.has_checksums()
        } else {
            self.info.get(k).is_some_and(|f| f.checked)
        }
    }

    pub fn fail(&mut self, k: usize, e: Error, budget: &Budget<'_>) -> Result<()> {
        budget.take(PER_ERROR)?;
        alloc::reserve(&mut self.errors, 1)?;
        self.errors.push((k, e));
        if let Some(f) = self.info.get_mut(k) {
            f.has_failed = true;
        }
        Ok(())
    }
}
