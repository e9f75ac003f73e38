//! The first pass: locates the records of a task, reads their stored bytes and parses the frame
//! headers.
#![forbid(unsafe_code)]

use super::Item;
use super::budget::Budget;
use super::task::{RecordInfo, Task, TaskRecords};
use crate::alloc::{self, Bytes};
use crate::bag::frame::Survey;
use crate::bag::limits::RecordBounds;
use crate::bag::offset_check::{self, Suspect};
use crate::bag::shard;
use crate::error::{Error, Result};
use crate::slice::SliceExt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum gap in bytes between stored records that are read together.
pub const GAP: u64 = 4 << 10;
const GROUP: u64 = 256 << 10;
/// Maximum gap in records between limits, and between checksums, that are read together.
const LIMITS_GAP: u64 = 256;
const CHECKSUMS_GAP: u64 = 512;

/// Number of scattered records to prefetch.
pub const AHEAD: usize = 4;
/// Number of scattered records from which on they are read ahead if they are not in the page cache.
const FEW: usize = 4;

/// Returns a predicate: the records of two items are at most `gap` apart.
fn near(gap: u64) -> impl Fn(&Item, &Item) -> bool {
    move |a, b| b.local - a.local <= gap
}

impl Task<'_> {
    pub fn prepare(&mut self, budget: &Budget<'_>) -> Result<()> {
        if !self.located {
            self.find(budget)?;
        }
        if !self.prefetched
            && (!self.raw() || matches!(self.records, TaskRecords::Scattered { .. }))
        {
            self.fetch(budget)?;
        }
        if self.raw() {
            return self.fetch_checksums();
        }
        for k in 0..self.len() {
            budget.check_cancelled()?;
            self.prefetch(k + AHEAD);
            if let Err(e) = self.inspect(k, budget) {
                self.fail(k, e, budget)?;
            }
        }
        for k in 0..self.len() {
            if let Err(e) = self.compare_with_neighbours(k) {
                self.info.at_mut(k)?.size = 0;
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Discards the stored bytes if the retained bytes exceed the limit until the output buffer is
    /// allocated. Runs are read in large pieces, so that reading them again is fast.
    pub fn discard_stored_beyond(&mut self, may_be_retained: &AtomicUsize) {
        let is_rereadable = matches!(self.records, TaskRecords::Run { .. })
            && !self.prefetched
            && !self.shard.is_foreign();
        let retain = || {
            may_be_retained.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(self.fetched.len())
            })
        };
        if is_rereadable && !self.fetched.is_empty() && retain().is_err() {
            self.fetched = Vec::new();
            self.info.iter_mut().for_each(|f| f.at = None);
            self.discarded = true;
        }
    }

    /// Locates the records.
    pub fn find(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.locate()?;
        self.located = true;
        if self.raw() && self.is_ascending() {
            Ok(())
        } else {
            self.measure(budget)
        }
    }

    /// Creates `info` with the stored sizes.
    pub fn measure(&mut self, budget: &Budget<'_>) -> Result<()> {
        self.info = alloc::with_capacity(self.len())?;
        for k in 0..self.len() {
            let a = self.around(k);
            let checked = self.shard.check_extent(a);
            self.info.push(RecordInfo {
                size: if checked.is_ok() { a.to - a.from } else { 0 },
                ..RecordInfo::default()
            });
            if let Err(e) = checked {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Finds the extents of scattered records. Reads limits with small gaps together.
    fn locate(&mut self) -> Result<()> {
        let TaskRecords::Scattered { items, extents } = &mut self.records else {
            return Ok(());
        };
        let limits = self.shard.limits();
        if items.len() >= FEW {
            limits.read_ahead(items.iter().map(|i| i.local));
        }
        *extents = alloc::with_capacity(items.len())?;
        let mut all_sure = true;
        for group in items.chunk_by(near(LIMITS_GAP)) {
            let (first, last) = (group.at(0)?, group.at(group.len() - 1)?.local);
            let (around, sure) = limits.around(first.local)?;
            all_sure &= sure;
            if first.local == last {
                extents.extend(group.iter().map(|_| around));
                continue;
            }
            if sure {
                for i in group {
                    let (around, sure) = limits.around(i.local)?;
                    all_sure &= sure;
                    extents.push(around);
                }
                continue;
            }
            let from = first.local.saturating_sub(1);
            let bounds = limits.bounds(from, (last + 2).min(limits.count()) - from)?;
            let bound = |i: u64| bounds.at((i - from) as usize);
            for i in group {
                let to = bound(i.local + 1)?;
                extents.push(RecordBounds {
                    before: *bound(i.local.max(1) - 1)?,
                    from: *bound(i.local)?,
                    to: *to,
                    // the last record has none after it
                    after: *bounds.get((i.local + 2 - from) as usize).unwrap_or(to),
                });
            }
        }
        if all_sure {
            Ok(())
        } else {
            limits.check_unchanged()
        }
    }

    /// Reads the checksums beside the records.
    fn fetch_checksums(&mut self) -> Result<()> {
        if !self.shard.has_checksums() {
            return Ok(());
        }
        match &self.records {
            TaskRecords::Run { first, bounds, .. } => {
                self.checksums = self
                    .shard
                    .checksums(*first, bounds.len().saturating_sub(1))?
            }
            TaskRecords::Scattered { items, .. } => {
                for group in items.chunk_by(near(CHECKSUMS_GAP)) {
                    let (first, last) = (group.at(0)?, group.at(group.len() - 1)?);
                    let checksums = self
                        .shard
                        .checksums(first.local, (last.local - first.local + 1) as usize)?;
                    for i in group {
                        let checksum = checksums.at((i.local - first.local) as usize)?;
                        self.checksums.push(*checksum);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns an error if record `k` does not match its checksum.
    pub fn verify_checksum(&self, k: usize, record: &[u8]) -> Result<()> {
        self.checksums
            .get(k)
            .map_or(Ok(()), |&expected| shard::verify_checksum(expected, record))
    }

    /// Reads the stored bytes of all records. Reads records with small gaps together.
    pub fn fetch(&mut self, budget: &Budget<'_>) -> Result<()> {
        let file = self.shard.file();
        if file.bytes().is_some() || (self.raw() && file.is_remote()) {
            return Ok(());
        }
        self.read_ahead();
        if self.raw() && file.is_in_memory() {
            return Ok(());
        }
        let mut k = 0;
        while let Some(group) = self.next_group(&mut k) {
            budget.check_cancelled()?;
            // A single uncompressed record is read directly into its slot.
            if !(self.raw() && self.extent(group.first) == (group.from, group.to)) {
                self.reserve_group(&group, budget)?;
                self.fetch_group(&group, budget)?;
            }
        }
        Ok(())
    }

    /// Hints that the groups of scattered records will be read next, unless the first is in the page
    /// cache.
    fn read_ahead(&self) {
        if self.len() < FEW || matches!(self.records, TaskRecords::Run { .. }) {
            return;
        }
        let (file, mut k) = (self.shard.file(), 0);
        let mut groups = std::iter::from_fn(|| self.next_group(&mut k));
        let Some(first) = groups.next() else { return };
        if !file.is_cached(first.from) {
            file.begin_reading(first.from, first.to);
            groups.for_each(|group| file.begin_reading(group.from, group.to));
        }
    }

    /// Reads the bytes around several records. If that fails, reads each record separately to find
    /// the unreadable ones.
    fn fetch_group(&mut self, group: &Group, budget: &Budget<'_>) -> Result<()> {
        let at = self.fetched.len() - (group.to - group.from) as usize;
        if self
            .shard
            .file()
            .read_exact_at(group.from, self.fetched.at_mut(at..)?)
            .is_ok()
        {
            return Ok(());
        }
        for k in group.first..group.next {
            let (a, b) = self.extent(k);
            let at = at + (a - group.from) as usize;
            if let Err(e) = self
                .shard
                .file()
                .read_exact_at(a, self.fetched.at_mut(at..at + (b - a) as usize)?)
            {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Returns the next group of records from `k` on and sets `k` to the record after it.
    pub fn next_group(&self, k: &mut usize) -> Option<Group> {
        let group = (*k..self.len()).find_map(|k| self.group(k))?;
        *k = group.next;
        Some(group)
    }

    /// Allocates memory for a group.
    pub fn reserve_group(&mut self, group: &Group, budget: &Budget<'_>) -> Result<()> {
        let at = self.fetched.len();
        let n = budget.take(group.to - group.from)?;
        alloc::reserve(&mut self.fetched, n)?;
        self.fetched.resize(at + n, 0);
        for k in group.first..group.next {
            let (a, _) = self.extent(k);
            self.info.at_mut(k)?.at = Some(at + (a - group.from) as usize);
        }
        Ok(())
    }

    /// Returns the group of record `k` and the following records to read with it.
    fn group(&self, k: usize) -> Option<Group> {
        let intact_extent = |k: usize| {
            self.info
                .get(k)
                .is_some_and(|f| !f.has_failed)
                .then(|| self.extent(k))
        };
        let (from, mut to) = intact_extent(k)?;
        let mut next = k + 1;
        let run = matches!(self.records, TaskRecords::Run { .. });
        while let Some((a, b)) = intact_extent(next) {
            let near = a >= from
                && a <= to.saturating_add(GAP)
                && (run || b.saturating_sub(from) <= GROUP);
            if !near {
                break;
            }
            to = to.max(b);
            next += 1;
        }
        Some(Group {
            first: k,
            next,
            from,
            to,
        })
    }

    /// Returns the stored bytes of a record.
    pub fn stored(&self, k: usize) -> Result<Bytes<'_>> {
        match self.fetched(k) {
            Some(bytes) => Ok(Bytes::InPlace(bytes)),
            None => self.shard.stored(self.extent(k)),
        }
    }

    /// Returns the stored bytes of a record, if they were read.
    pub fn fetched(&self, k: usize) -> Option<&[u8]> {
        let ((a, b), at) = (self.extent(k), self.info.get(k)?.at?);
        self.fetched.get(at..at + (b - a) as usize)
    }

    /// Parses the frame headers of one record.
    fn inspect(&mut self, k: usize, budget: &Budget<'_>) -> Result<()> {
        if self.has_failed(k) {
            return Ok(());
        }
        if self.is_repeat(k) {
            return self.copy_info(k);
        }
        let (a, b) = self.extent(k);
        let looked = if a == b {
            Ok(None)
        } else {
            self.inspect_frames(k, budget).map(Some)
        };
        let f = self.info.at_mut(k)?;
        f.size = 0;
        match looked? {
            None => f.suspect = Some(Suspect::Empty),
            Some((survey, decoded)) => {
                let size = decoded.as_ref().map(|d| d.len() as u64).or(survey.content);
                f.size = size.ok_or_else(|| Error::internal("a record of unknown size"))?;
                f.suspect = (survey.data_frames > 1).then_some(Suspect::SeveralFrames);
                f.is_frame = (survey.frames, survey.data_frames) == (1, 1);
                f.checked = survey.checksum;
                f.dictionary = survey.dictionary;
                f.decoded = decoded;
            }
        }
        Ok(())
    }

    /// Copies the information of the previous record, of which this one is a repetition.
    fn copy_info(&mut self, k: usize) -> Result<()> {
        if let Some(e) = self.error(k - 1) {
            return Err(e.clone());
        }
        let known = self.info.at(k - 1)?;
        let known = (known.size, known.suspect, known.checked);
        let f = self.info.at_mut(k)?;
        (f.size, f.suspect, f.checked) = known;
        Ok(())
    }

    fn inspect_frames(&self, k: usize, budget: &Budget<'_>) -> Result<(Survey, Option<Vec<u8>>)> {
        let stored = self.stored(k)?;
        let survey = self.shard.decoder().survey(&stored)?;
        if survey.content.is_some() {
            return Ok((survey, None));
        }
        budget.take(survey.max_content)?;
        let decoded = self.shard.decode_unknown(&stored, &survey, budget.limit);
        let decoded_size = decoded.as_ref().map_or(0, |d| d.len() as u64);
        budget.release(survey.max_content.saturating_sub(decoded_size));
        Ok((survey, Some(decoded?)))
    }

    fn compare_with_neighbours(&self, k: usize) -> Result<()> {
        let Some(suspect) = self
            .info
            .get(k)
            .filter(|f| !f.has_failed)
            .and_then(|f| f.suspect)
        else {
            return Ok(());
        };
        if self.is_repeat(k) {
            return self.error(k - 1).map_or(Ok(()), |e| Err(e.clone()));
        }
        if suspect == Suspect::Empty && self.is_between_intact_records(k) {
            return Ok(());
        }
        offset_check::check_neighbours(self.shard, self.local(k), suspect)
    }

    /// Returns whether an empty record of a run lies between intact records with one frame each. No
    /// limits need to be read again then.
    fn is_between_intact_records(&self, k: usize) -> bool {
        let TaskRecords::Run { .. } = self.records else {
            return false;
        };
        let one = |k: usize| {
            self.info
                .get(k)
                .is_some_and(|f| !f.has_failed && f.suspect.is_none())
        };
        let is_empty = |k: usize| {
            self.info
                .get(k)
                .is_some_and(|f| !f.has_failed && f.suspect == Some(Suspect::Empty))
        };
        // Searches only a few empty records; longer sequences are checked by their limits.
        let left = (1..16)
            .map_while(|n| k.checked_sub(n))
            .find(|&j| !is_empty(j));
        let right = (1..16).map(|n| k + n).find(|&j| !is_empty(j));
        left.is_some_and(one) && right.is_some_and(one)
    }
}

/// The records `first` to `next` and the byte range around them.
pub struct Group {
    pub first: usize,
    pub next: usize,
    pub from: u64,
    pub to: u64,
}
