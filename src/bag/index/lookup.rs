//! Look-up of keys: reads the bucket, compares the tags, and then reads the records of the values.
#![forbid(unsafe_code)]

use super::fingerprint::fingerprint;
use super::header::{ENTRY_BYTES, HEADER_BYTES};
use super::{CHECKSUM_BYTES, Index, LIST_UNIT, ROWS_PER_CHECKSUM, bucket, bucket_checksum};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::parallel;
use crate::slice::SliceExt;
use std::sync::{Mutex, PoisonError};

/// Row of a key that no record has, in the result of [`Index::first_of_each`].
pub const NO_RECORD: u64 = u64::MAX;
/// Size of the buffer on the stack for short reads.
const STACK_BYTES: usize = 1024;
/// Maximum number of rows that are read one by one; more rows are read as a batch.
const MAX_SINGLE_READS: usize = 4;
/// Number of keys per task of [`Index::first_of_each`].
const KEYS_PER_TASK: usize = 512;

/// The values of a key in a bucket. There is more than one only if tags collide.
#[derive(Default)]
pub struct Values {
    one: Option<u64>,
    more: Vec<u64>,
}

impl Values {
    fn push(&mut self, v: u64) -> Result<()> {
        if self.one.is_none() {
            self.one = Some(v);
            return Ok(());
        }
        alloc::reserve(&mut self.more, 1)?;
        self.more.push(v);
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        self.one.into_iter().chain(self.more.iter().copied())
    }
}

/// Decodes a little-endian value of at most 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

impl Index {
    /// Returns the first record whose content is `key`.
    pub fn first(&self, key: &[u8]) -> Result<Option<u64>> {
        let mut first = None::<u64>;
        for value in self.values(key)?.iter() {
            if let Some(row) = self.first_match(value, key)? {
                first = Some(first.map_or(row, |f| f.min(row)));
            }
        }
        Ok(first)
    }

    /// Returns all records whose content is `key`, in ascending order.
    pub fn find(&self, key: &[u8]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        let values = self.values(key)?;
        for value in values.iter() {
            self.rows(value, |rows| {
                self.append_matches(rows, key, &mut found).map(|()| true)
            })?;
        }
        if !values.more.is_empty() {
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// Writes the first record of each key, or [`NO_RECORD`], to `rows`. Key `i` is
    /// `data[offsets[i]..offsets[i + 1]]`. Returns the number of keys that no record has.
    pub fn first_of_each(&self, data: &[u8], offsets: &[u64], rows: &mut [u64]) -> Result<u64> {
        let all = data.len() as u64;
        if !(offsets.is_sorted()
            && offsets.last().is_none_or(|&end| end <= all)
            && offsets.len().saturating_sub(1) == rows.len())
        {
            return Err(fail!(
                Argument,
                "offsets: the offsets of {} keys must ascend and not exceed the data (expected at most {all})",
                rows.len()
            ));
        }
        let failed = Mutex::new(None::<(usize, Error)>);
        let tasks: Vec<(usize, &mut [u64])> = rows.chunks_mut(KEYS_PER_TASK).enumerate().collect();
        parallel::for_each_without_nesting(
            self.threads.for_tasks(tasks.len()),
            tasks,
            |(k, rows)| {
                let found = offsets
                    .at(k * KEYS_PER_TASK..)
                    .and_then(|offsets| self.first_of_task(data, offsets, rows));
                if let Err(e) = found {
                    let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(other, _)| k < *other) {
                        *first = Some((k, e));
                    }
                }
            },
        );
        if let Some((_, e)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e);
        }
        Ok(rows.iter().filter(|&&r| r == NO_RECORD).count() as u64)
    }

    fn first_of_task(&self, data: &[u8], offsets: &[u64], rows: &mut [u64]) -> Result<()> {
        let key = |i: usize| data.at(*offsets.at(i)? as usize..*offsets.at(i + 1)? as usize);
        // the first candidate rows are read as one batch
        let mut candidates = alloc::with_capacity(rows.len())?;
        for (i, row) in rows.iter_mut().enumerate() {
            let values = self.values(key(i)?)?;
            *row = NO_RECORD;
            if let Some(value) = values.one {
                self.rows(value, |all| {
                    *row = *all.at(0)?;
                    Ok(false)
                })?;
                candidates.push(*row);
            }
        }
        let read = self.bag.read_indices(&candidates);
        let mut k = 0;
        for (i, row) in rows.iter_mut().enumerate() {
            if *row == NO_RECORD {
                continue;
            }
            let key = key(i)?;
            let right = read
                .as_ref()
                .is_ok_and(|r| r.damaged.is_empty() && r.get(k) == key);
            if !right {
                *row = self.first(key)?.unwrap_or(NO_RECORD);
            }
            k += 1;
        }
        Ok(())
    }

    // ---- buckets and lists

    /// Returns the values of a key.
    pub(super) fn values(&self, key: &[u8]) -> Result<Values> {
        let (hash, tag) = fingerprint(self.header.seed, key);
        let mut values = Values::default();
        self.bucket(bucket(hash, self.header.buckets), |tags, all| {
            let tag = ((tag >> 32) as u32).to_le_bytes();
            for (i, t) in tags.iter().enumerate() {
                if *t == tag {
                    values.push(self.value(all, i)?)?;
                }
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// Returns value `i` of a bucket's values.
    pub(super) fn value(&self, all: &[u8], i: usize) -> Result<u64> {
        let width = self.header.width as usize;
        all.at(i * width..(i + 1) * width).map(number)
    }

    /// Calls `f` with the tags and the values of a bucket.
    pub(super) fn bucket<T>(
        &self,
        number: u64,
        f: impl FnOnce(&[[u8; 4]], &[u8]) -> Result<T>,
    ) -> Result<T> {
        let mut entry = [0; ENTRY_BYTES as usize];
        let at = HEADER_BYTES + number * ENTRY_BYTES;
        match self.mapped(at, ENTRY_BYTES) {
            Some(b) => entry.copy_from_slice(b),
            None => self.file.read_cached(at, &mut entry)?,
        }
        let entry = u64::from_le_bytes(entry);
        let (at, keys) = (entry & (u64::MAX >> 16), entry >> 48);
        let mapped = self.file.is_in_memory();
        self.with_body(at, keys * (4 + u64::from(self.header.width)) + CHECKSUM_BYTES, |bytes| {
            let (bytes, checksum) = bytes.split_last_chunk().ok_or_else(|| self.damaged_at(at))?;
            if self.checked && !(mapped && self.verified.contains(number)) {
                if bucket_checksum(number, bytes) != u32::from_le_bytes(*checksum) {
                    return Err(fail!(Checksum, "{}: bucket {number} of this index is corrupt: wrong CRC-32; rebuild the index", self.file.name()));
                }
                if mapped {
                    self.verified.insert(number, self.header.buckets);
                }
            }
            let (tags, values) = bytes.split_at_checked(keys as usize * 4).ok_or_else(|| self.damaged_at(at))?;
            f(tags.as_chunks().0, values)
        })
    }

    /// Calls `f` with the rows of a value, some at a time, until `f` returns false.
    pub(super) fn rows(&self, value: u64, mut f: impl FnMut(&[u64]) -> Result<bool>) -> Result<()> {
        let Some(list) = value.checked_sub(self.header.records) else {
            return f(&[value]).map(|_| ());
        };
        let width = u64::from(self.header.width);
        let at = list
            .checked_mul(LIST_UNIT)
            .ok_or_else(|| self.damaged_at(list))?;
        let count = self.with_body(at, width, |b| Ok(number(b)))?;
        if !(2..=self.header.rows).contains(&count) {
            return Err(self.damaged_at(at));
        }
        let mut rows = alloc::with_capacity(count.min(ROWS_PER_CHECKSUM) as usize)?;
        let (mut from, mut left, mut min) = (at, count, 0);
        while left > 0 {
            let n = left.min(ROWS_PER_CHECKSUM);
            let head = if left == count { width } else { 0 };
            let bytes = head + n * width;
            rows.clear();
            self.with_body(from, bytes + CHECKSUM_BYTES, |b| {
                let (bytes, checksum) = b.split_last_chunk().ok_or_else(|| self.damaged_at(at))?;
                if self.checked && crc32(bytes) != u32::from_le_bytes(*checksum) {
                    return Err(fail!(Checksum, "{}: the rows at offset {from} of the body of this index are corrupt: wrong CRC-32; rebuild the index", self.file.name()));
                }
                rows.extend(bytes.at(head as usize..)?.chunks_exact(width as usize).map(number));
                Ok(())
            })?;
            for &row in &rows {
                if row < min || row >= self.header.records {
                    return Err(self.damaged_at(at));
                }
                min = row + 1;
            }
            if !f(&rows)? {
                return Ok(());
            }
            (from, left) = (from + bytes + CHECKSUM_BYTES, left - n);
        }
        Ok(())
    }

    fn damaged_at(&self, at: u64) -> Error {
        fail!(
            Format,
            "{}: this index is corrupt at offset {at} of its body; rebuild the index",
            self.file.name()
        )
    }

    fn mapped(&self, at: u64, n: u64) -> Option<&[u8]> {
        self.file
            .bytes()?
            .get(usize::try_from(at).ok()?..)?
            .get(..usize::try_from(n).ok()?)
    }

    /// Calls `f` with `n` bytes of the body at offset `at`.
    fn with_body<T>(&self, at: u64, n: u64, f: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        if at.checked_add(n).is_none_or(|end| end > self.header.body) {
            return Err(self.damaged_at(at));
        }
        let from = self.header.body_at() + at;
        if let Some(bytes) = self.mapped(from, n) {
            self.file.prefetch(from, from + n);
            return f(bytes);
        }
        let (mut stack, mut heap);
        let bytes: &mut [u8] = if n as usize <= STACK_BYTES {
            stack = [0; STACK_BYTES];
            stack.at_mut(..n as usize)?
        } else {
            heap = alloc::zeroed(n as usize)?;
            &mut heap
        };
        self.file.read_exact_at(from, bytes)?;
        f(bytes)
    }

    // ---- the records

    /// Returns the first row of a value whose record equals the key.
    fn first_match(&self, value: u64, key: &[u8]) -> Result<Option<u64>> {
        let mut first = None;
        self.rows(value, |rows| {
            for &row in rows {
                if self.record_equals(row, key)? {
                    first = Some(row);
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(first)
    }

    /// Appends the rows whose record equals the key to `found`.
    fn append_matches(&self, rows: &[u64], key: &[u8], found: &mut Vec<u64>) -> Result<()> {
        alloc::reserve(found, rows.len())?;
        if rows.len() > MAX_SINGLE_READS {
            // if this fails, the rows are read one by one: together they may be too large, or some
            // may be damaged
            if let Ok(records) = self.bag.read_indices(rows)
                && records.damaged.is_empty()
            {
                found.extend(
                    rows.iter()
                        .zip(records.iter())
                        .filter(|(_, r)| *r == key)
                        .map(|(row, _)| row),
                );
                return Ok(());
            }
        }
        for &row in rows {
            if self.record_equals(row, key)? {
                found.push(row);
            }
        }
        Ok(())
    }

    /// Returns whether a record equals the key.
    fn record_equals(&self, row: u64, key: &[u8]) -> Result<bool> {
        match self.bag.in_memory(row).and_then(|r| {
            r.map_or_else(
                || self.stored_record_equals(row, key),
                |record| Ok(record == key),
            )
        }) {
            Err(e) if self.skip_damaged && e.status.is_corruption() => Ok(false),
            result => result,
        }
    }

    fn stored_record_equals(&self, row: u64, key: &[u8]) -> Result<bool> {
        let (mut stack, mut heap);
        let record: &mut [u8] = if key.len() <= STACK_BYTES {
            stack = [0; STACK_BYTES];
            stack.at_mut(..key.len())?
        } else {
            heap = alloc::zeroed(key.len())?;
            &mut heap
        };
        match self.bag.read_into(row, Some(record)) {
            Ok((n, damaged)) => Ok(!damaged && record.get(..n) == Some(key)),
            Err(e) if e.status == Status::Buffer => Ok(false),
            Err(e) => Err(e),
        }
    }
}
