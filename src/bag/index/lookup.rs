//! Looks keys up: bucket, tags, values, and then the records themselves.
#![forbid(unsafe_code)]

use super::fingerprint::fingerprint;
use super::header::{HEADER, WORD};
use super::{Index, LIST_UNIT, PIECE_ROWS, SUM, bucket, bucket_sum, damage};
use crate::alloc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::parallel;
use std::sync::{Mutex, PoisonError};

/// What stands where a key of many is in no record.
pub const NO_RECORD: u64 = u64::MAX;
/// Bytes that are read to where a call has room for them.
const FEW: usize = 1024;
/// Rows of a list that are read one by one; more are read together.
const SINGLY: usize = 4;
/// Keys of many that are looked up together.
const TASK: usize = 512;

/// What a bucket says of a key: nothing or one value, but for tags that are the same by accident.
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

/// A value of `bytes`, which are no more than 8.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

impl Index {
    /// The first record that is this key.
    pub fn first(&self, key: &[u8]) -> Result<Option<u64>> {
        let mut first = None::<u64>;
        for value in self.values(key)?.iter() {
            if let Some(row) = self.first_of(value, key)? {
                first = Some(first.map_or(row, |f| f.min(row)));
            }
        }
        Ok(first)
    }

    /// All records that are this key, rising.
    pub fn find(&self, key: &[u8]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        let values = self.values(key)?;
        for value in values.iter() {
            self.rows(value, |rows| {
                self.keep(rows, key, &mut found).map(|()| true)
            })?;
        }
        if !values.more.is_empty() {
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// The first record of each of many keys, or [`NO_RECORD`]: key `i` is
    /// `data[offsets[i]..offsets[i + 1]]`. Gives how many are in no record.
    pub fn first_of_each(&self, data: &[u8], offsets: &[u64], rows: &mut [u64]) -> Result<u64> {
        let all = data.len() as u64;
        if !(offsets.is_sorted()
            && offsets.last().is_none_or(|&end| end <= all)
            && offsets.len().saturating_sub(1) == rows.len())
        {
            return Err(fail!(
                Argument,
                "the offsets of {} keys do not rise within {all} bytes",
                rows.len()
            ));
        }
        let failed = Mutex::new(None::<(usize, Error)>);
        let tasks: Vec<(usize, &mut [u64])> = rows.chunks_mut(TASK).enumerate().collect();
        parallel::for_each_alone(self.threads.for_pieces(tasks.len()), tasks, |(k, rows)| {
            let keys = offsets
                .get(k * TASK..)
                .unwrap_or_default()
                .windows(2)
                .map(|w| match w {
                    &[a, b] => data.get(a as usize..b as usize).unwrap_or_default(),
                    _ => &[],
                });
            if let Err(e) = self.first_of_some(keys, rows) {
                let mut first = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(other, _)| k < *other) {
                    *first = Some((k, e));
                }
            }
        });
        if let Some((_, e)) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e);
        }
        Ok(rows.iter().filter(|&&r| r == NO_RECORD).count() as u64)
    }

    fn first_of_some<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]> + Clone,
        rows: &mut [u64],
    ) -> Result<()> {
        // the rows that they are in, most likely, are read together
        let mut wanted = alloc::with_room(rows.len())?;
        for (key, row) in keys.clone().zip(&mut *rows) {
            let values = self.values(key)?;
            *row = NO_RECORD;
            if let Some(value) = values.one {
                self.rows(value, |all| {
                    *row = all.first().copied().unwrap_or(NO_RECORD);
                    Ok(false)
                })?;
                wanted.push(*row);
            }
        }
        let read = self.bag.read_indices(&wanted);
        let mut k = 0;
        for (key, row) in keys.zip(rows) {
            if *row == NO_RECORD {
                continue;
            }
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

    // ---- the index

    /// What the index says of a key.
    pub(super) fn values(&self, key: &[u8]) -> Result<Values> {
        let (place, tag) = fingerprint(self.header.seed, key);
        let mut values = Values::default();
        self.bucket(bucket(place, self.header.buckets), |tags, all| {
            let tag = ((tag >> 32) as u32).to_le_bytes();
            for (i, t) in tags.iter().enumerate() {
                if *t == tag {
                    values.push(self.value(all, i))?;
                }
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// Value `i` of these.
    pub(super) fn value(&self, all: &[u8], i: usize) -> u64 {
        let width = self.header.width as usize;
        number(all.get(i * width..(i + 1) * width).unwrap_or_default())
    }

    /// Calls `f` with the tags and the values of a bucket.
    pub(super) fn bucket<T>(
        &self,
        number: u64,
        f: impl FnOnce(&[[u8; 4]], &[u8]) -> Result<T>,
    ) -> Result<T> {
        let mut word = [0; WORD as usize];
        let at = HEADER + number * WORD;
        match self.mapped(at, WORD) {
            Some(b) => word.copy_from_slice(b),
            None => self.file.read_kept(at, &mut word)?,
        }
        let word = u64::from_le_bytes(word);
        let (at, keys) = (word & (u64::MAX >> 16), word >> 48);
        let mapped = self.file.is_in_memory();
        self.part(at, keys * (4 + u64::from(self.header.width)) + SUM, |bytes| {
            let (bytes, sum) = bytes.split_last_chunk().ok_or_else(|| self.damaged_at(at))?;
            if self.checked && !(mapped && self.sound.is(number)) {
                if bucket_sum(number, bytes) != u32::from_le_bytes(*sum) {
                    return Err(fail!(Checksum, "{}: the CRC-32 of bucket {number} of this index does not fit; make it anew", self.file.name()));
                }
                if mapped {
                    self.sound.found(number, self.header.buckets);
                }
            }
            let (tags, values) = bytes.split_at_checked(keys as usize * 4).ok_or_else(|| self.damaged_at(at))?;
            f(tags.as_chunks().0, values)
        })
    }

    /// Calls `f` with the rows that a value means, some at a time, until it says that it wants no
    /// more.
    pub(super) fn rows(&self, value: u64, mut f: impl FnMut(&[u64]) -> Result<bool>) -> Result<()> {
        let Some(list) = value.checked_sub(self.header.records) else {
            return f(&[value]).map(|_| ());
        };
        let width = u64::from(self.header.width);
        let at = list
            .checked_mul(LIST_UNIT)
            .ok_or_else(|| self.damaged_at(list))?;
        let count = self.part(at, width, |b| Ok(number(b)))?;
        if !(2..=self.header.rows).contains(&count) {
            return Err(self.damaged_at(at));
        }
        let mut rows = alloc::with_room(count.min(PIECE_ROWS) as usize)?;
        let (mut from, mut left, mut least) = (at, count, 0);
        while left > 0 {
            let n = left.min(PIECE_ROWS);
            let head = if left == count { width } else { 0 };
            let bytes = head + n * width;
            rows.clear();
            self.part(from, bytes + SUM, |b| {
                let (bytes, sum) = b.split_last_chunk().ok_or_else(|| self.damaged_at(at))?;
                if self.checked && crc32(bytes) != u32::from_le_bytes(*sum) {
                    return Err(fail!(Checksum, "{}: the CRC-32 of the rows at {from} of this index does not fit; make it anew", self.file.name()));
                }
                rows.extend(bytes.get(head as usize..).unwrap_or_default().chunks_exact(width as usize).map(number));
                Ok(())
            })?;
            for &row in &rows {
                if row < least || row >= self.header.records {
                    return Err(self.damaged_at(at));
                }
                least = row + 1;
            }
            if !f(&rows)? {
                return Ok(());
            }
            (from, left) = (from + bytes + SUM, left - n);
        }
        Ok(())
    }

    fn damaged_at(&self, at: u64) -> Error {
        fail!(
            Format,
            "{}: this index is damaged at {at} of its buckets and lists; make it anew",
            self.file.name()
        )
    }

    fn mapped(&self, at: u64, n: u64) -> Option<&[u8]> {
        self.file
            .bytes()?
            .get(usize::try_from(at).ok()?..)?
            .get(..usize::try_from(n).ok()?)
    }

    /// Calls `f` with some bytes of the body.
    fn part<T>(&self, at: u64, n: u64, f: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        if at.checked_add(n).is_none_or(|end| end > self.header.body) {
            return Err(self.damaged_at(at));
        }
        let from = self.header.body_at() + at;
        if let Some(bytes) = self.mapped(from, n) {
            self.file.prefetch(from, from + n);
            return f(bytes);
        }
        let (mut few, mut many);
        let bytes: &mut [u8] = if n as usize <= FEW {
            few = [0; FEW];
            few.get_mut(..n as usize).unwrap_or_default()
        } else {
            many = alloc::zeroed(n as usize)?;
            &mut many
        };
        self.file.read_exact_at(from, bytes)?;
        f(bytes)
    }

    // ---- the records

    /// The first row of a value that is the key.
    fn first_of(&self, value: u64, key: &[u8]) -> Result<Option<u64>> {
        let mut first = None;
        self.rows(value, |rows| {
            for &row in rows {
                if self.is(row, key)? {
                    first = Some(row);
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(first)
    }

    /// Keeps those of the rows that are the key.
    fn keep(&self, rows: &[u64], key: &[u8], found: &mut Vec<u64>) -> Result<()> {
        alloc::reserve(found, rows.len())?;
        if rows.len() > SINGLY {
            // where that fails, one by one: they may be too large together, or damaged
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
            if self.is(row, key)? {
                found.push(row);
            }
        }
        Ok(())
    }

    /// Is this record the key?
    fn is(&self, row: u64, key: &[u8]) -> Result<bool> {
        match self
            .bag
            .in_memory(row)
            .and_then(|r| r.map_or_else(|| self.reads_as(row, key), |record| Ok(record == key)))
        {
            Err(e) if self.skip_damaged && damage(e.status) => Ok(false),
            is => is,
        }
    }

    fn reads_as(&self, row: u64, key: &[u8]) -> Result<bool> {
        let (mut few, mut many);
        let record: &mut [u8] = if key.len() <= FEW {
            few = [0; FEW];
            few.get_mut(..key.len()).unwrap_or_default()
        } else {
            many = alloc::zeroed(key.len())?;
            &mut many
        };
        match self.bag.read_into(row, Some(record)) {
            Ok((n, damaged)) => Ok(!damaged && record.get(..n) == Some(key)),
            Err(e) if e.status == Status::Buffer => Ok(false),
            Err(e) => Err(e),
        }
    }
}
