//! Builds indexes.
//!
//! The builder reads all records once, in parallel, and adds their fingerprints to [`Partitions`].
//! It then sorts one partition after the other and writes it as buckets and lists.
//!
//! Memory holds the records that are being read, the fingerprints (14 bytes per record), and the
//! partitions that are being written. If the index goes to a file, fingerprints beyond a limit go
//! to a temporary file beside it.
#![forbid(unsafe_code)]

use super::bag_fingerprint::State;
use super::fingerprint::{fingerprint, seed};
use super::header::{ENTRY_BYTES, HEADER_BYTES, Header};
use super::partition::{Item, MAX_ROWS, Partitions, Spill, item};
use super::{CHECKSUM_BYTES, LIST_UNIT, ROWS_PER_CHECKSUM, bucket, bucket_checksum};
use crate::alloc;
use crate::bag::batch::BatchConfig;
use crate::bag::read::Requested;
use crate::bag::{Bag, Records};
use crate::checksum::crc32;
use crate::error::{Result, Status, fail};
use crate::io::File;
use crate::options::Options;
use crate::parallel::{self, Threads};
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Approximate number of keys in a bucket.
const KEYS_PER_BUCKET: u64 = 32;
/// Default number of buckets in a partition. Smaller if memory is short, larger if there would be
/// more than [`MAX_PARTITIONS`].
const BUCKETS_PER_PARTITION: u64 = 2048;
const MAX_PARTITIONS: u64 = 1024;
/// Maximum number of records, and approximate number of their bytes, that a thread reads at once.
const TASK_RECORDS: u64 = 4096;
const TASK_BYTES: u64 = 1 << 20;
/// Approximate memory per record in addition to its content while it is read, and per row of a
/// partition that is sorted.
const BYTES_PER_ROW: u64 = 40;
/// Maximum bytes of fingerprints in memory if there is a temporary file.
const MAX_FINGERPRINT_BYTES: u64 = 64 << 20;

/// Destination of an index.
pub enum Output {
    /// Memory.
    Memory(Mutex<Vec<u8>>),
    /// A file, and a temporary file for fingerprints.
    File(Arc<dyn File>, Option<Spill>),
}

impl Output {
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut buffer = match self {
            Output::File(file, _) => return file.write_at(at, bytes),
            Output::Memory(buffer) => buffer.lock().unwrap_or_else(PoisonError::into_inner),
        };
        let end = at as usize + bytes.len();
        if end > buffer.len() {
            let more = end - buffer.len();
            alloc::reserve(&mut buffer, more)?;
            buffer.resize(end, 0);
        }
        buffer.at_mut(at as usize..end)?.copy_from_slice(bytes);
        Ok(())
    }
}

/// The build in progress.
struct Builder<'a> {
    bag: &'a Bag,
    config: BatchConfig<'a>,
    header: Header,
    /// A partition has 2^shift buckets.
    shift: u32,
    partitions: Partitions,
}

/// Builds the index of a bag.
pub fn build(bag: &Bag, options: &Options, out: &mut Output) -> Result<()> {
    let mut builder = Builder::new(bag, options, out)?;
    let scope = Scope::open(options.progress(), bag.bytes(), Step::Call);
    builder.header.rows = bag.size - builder.read_all(&scope)?;
    builder.write(out)?;
    out.write_at(0, &builder.header.encode())?;
    scope.finish();
    Ok(())
}

impl<'a> Builder<'a> {
    fn new(bag: &'a Bag, options: &Options, out: &mut Output) -> Result<Builder<'a>> {
        let records = bag.size;
        if records > MAX_ROWS {
            return Err(fail!(
                Unsupported,
                "{records} records are too many for an index (expected at most {MAX_ROWS})"
            ));
        }
        let foreign = matches!(out, Output::File(file, _) if file.is_foreign());
        let config = super::batch_config(bag, options, foreign);
        let buckets = (records / KEYS_PER_BUCKET).max(1);
        let mut shift = BUCKETS_PER_PARTITION.trailing_zeros();
        while shift > 0 && (KEYS_PER_BUCKET * BYTES_PER_ROW) << shift > config.memory_limit / 8 {
            shift -= 1;
        }
        while (buckets >> shift) >= MAX_PARTITIONS && shift < 16 {
            shift += 1;
        }
        let (most, spill) = match out {
            Output::File(_, spill) => (
                MAX_FINGERPRINT_BYTES.min(config.memory_limit / 4),
                spill.take(),
            ),
            Output::Memory(buffer) => {
                alloc::allow(
                    records.saturating_mul(BYTES_PER_ROW / 2),
                    config.memory_limit,
                    "an index in memory (one in a file takes less)",
                )?;
                // reserved in advance so that the vector does not move while it grows; lists take
                // slightly more
                let buffer = buffer.get_mut().unwrap_or_else(PoisonError::into_inner);
                alloc::reserve(
                    buffer,
                    (HEADER_BYTES
                        + buckets * (ENTRY_BYTES + CHECKSUM_BYTES)
                        + records * (4 + u64::from(width(records)))) as usize,
                )?;
                (u64::MAX, None)
            }
        };
        let partitions = Partitions::new((buckets >> shift) + 1, records, most, spill)?;
        let header = Header {
            width: width(records),
            records,
            rows: 0,
            keys: 0,
            buckets,
            body: 0,
            seed: seed(),
            slice: (bag.start, bag.step),
            state: State::of(bag)?,
        };
        Ok(Builder {
            bag,
            config,
            header,
            shift,
            partitions,
        })
    }

    // ---- reading

    /// Reads all records. Returns the number of damaged records that were skipped.
    fn read_all(&self, scope: &Scope) -> Result<u64> {
        let total = self.bag.size;
        let stored = self.header.state.bytes / self.header.state.records.max(1);
        let count = (TASK_BYTES / stored.max(1)).clamp(1, TASK_RECORDS);
        let (skipped, done) = (AtomicU64::new(0), AtomicU64::new(0));
        parallel::try_for_each_index(
            self.config.threads.count(),
            total.div_ceil(count) as usize,
            |task| {
                let first = task as u64 * count;
                let n = count.min(total - first);
                skipped.fetch_add(self.read_task(first, n)?, Ordering::Relaxed);
                scope.at_part(done.fetch_add(n, Ordering::Relaxed) + n, total)
            },
        )?;
        Ok(skipped.into_inner())
    }

    fn read_task(&self, mut first: u64, n: u64) -> Result<u64> {
        let (end, mut count, mut skipped) = (first + n, n, 0);
        while first < end {
            count = count.min(end - first);
            // only a single record may take all of the memory limit
            let memory_limit =
                self.config
                    .memory_limit
                    .min(if count > 1 { 8 * TASK_BYTES } else { u64::MAX });
            let config = BatchConfig {
                threads: Threads::ONE,
                memory_limit,
                ..self.config
            };
            match self.bag.read_with(Requested::Range(first, count), config) {
                Err(e) if count > 1 && matches!(e.status, Status::Limit | Status::Memory) => {
                    count = (count / 8).max(1)
                }
                Err(e) => return Err(e),
                Ok(records) => {
                    skipped += records.damaged.len() as u64;
                    self.add_records(first, &records)?;
                    first += count;
                }
            }
        }
        Ok(skipped)
    }

    /// Adds the fingerprints of these records to the partitions.
    fn add_records(&self, first: u64, records: &Records) -> Result<()> {
        let mut items: Vec<Item> = alloc::with_capacity(records.len())?;
        let mut partitions: Vec<u32> = alloc::with_capacity(records.len())?;
        let mut damaged = records
            .damaged
            .iter()
            .map(|(at, _)| *at as usize)
            .peekable();
        let low = (1u64 << self.shift) - 1;
        for (k, record) in records.iter().enumerate() {
            if damaged.next_if_eq(&k).is_some() {
                continue;
            }
            let (hash, tag) = fingerprint(self.header.seed, record);
            let b = bucket(hash, self.header.buckets);
            items.push(item(b & low, tag, first + k as u64));
            partitions.push((b >> self.shift) as u32);
        }
        self.partitions.add(&partitions, &items)
    }

    // ---- writing

    /// Sorts and writes all partitions. Each is written at the current end of the body, in the
    /// order in which they are finished.
    fn write(&mut self, out: &Output) -> Result<()> {
        let partitions = ((self.header.buckets - 1) >> self.shift) as usize + 1;
        let (body, keys) = (AtomicU64::new(0), AtomicU64::new(0));
        parallel::try_for_each_index(self.sort_threads(partitions)?, partitions, |partition| {
            let mut built =
                BuiltPartition::sorted(partition, &self.header, self.shift, &self.partitions)?;
            built.at = body.fetch_add(built.bytes, Ordering::Relaxed);
            keys.fetch_add(built.keys, Ordering::Relaxed);
            built.encode(&self.header)?;
            out.write_at(
                HEADER_BYTES + built.buckets.start * ENTRY_BYTES,
                &built.directory,
            )?;
            out.write_at(self.header.body_at() + built.at, &built.body)
        })?;
        (self.header.body, self.header.keys) = (body.into_inner(), keys.into_inner());
        Ok(())
    }

    /// Returns the number of threads that may each hold a partition in memory under the memory
    /// limit.
    fn sort_threads(&self, partitions: usize) -> Result<usize> {
        let largest = (0..partitions)
            .map(|p| self.partitions.items(p))
            .max()
            .unwrap_or(0)
            .saturating_mul(BYTES_PER_ROW);
        let purpose = "sorting the records of one partition of an index, of which too many may have the same content";
        alloc::allow(largest, self.config.memory_limit, purpose)?;
        let fit = self.config.memory_limit / 4 / largest.max(1);
        Ok((self.config.threads.count() as u64).min(fit).max(1) as usize)
    }
}

/// Returns the width W of a value in bytes.
///
/// A value is a row, or the number of rows plus the offset of a list in the body in units of
/// [`LIST_UNIT`]. The body has fewer than 2 units per row: at the largest width 12 bytes for a row
/// of its own, and 28 bytes for two rows in a list.
fn width(rows: u64) -> u32 {
    let max = rows.saturating_mul(3).saturating_add(4096);
    (64 - max.leading_zeros()).div_ceil(8)
}

/// A partition of the index in memory.
struct BuiltPartition {
    buckets: Range<u64>,
    items: Vec<Item>,
    keys: u64,
    /// Size in bytes and offset of this partition in the body.
    bytes: u64,
    at: u64,
    directory: Vec<u8>,
    body: Vec<u8>,
}

/// Returns the groups of items that belong to the same key.
fn keys(items: &[Item]) -> impl Iterator<Item = &[Item]> {
    items.chunk_by(|a, b| a >> 48 == b >> 48)
}

/// Returns the size in bytes of these buckets with `keys` keys in total.
fn buckets_bytes(buckets: &Range<u64>, keys: u64, width: u64) -> u64 {
    ((buckets.end - buckets.start) * CHECKSUM_BYTES + keys * (4 + width))
        .next_multiple_of(LIST_UNIT)
}

/// Returns the size in bytes of a list of `rows` rows.
fn list_bytes(rows: u64, width: u64) -> u64 {
    ((rows + 1) * width + rows.div_ceil(ROWS_PER_CHECKSUM) * CHECKSUM_BYTES)
        .next_multiple_of(LIST_UNIT)
}

impl BuiltPartition {
    /// Takes and sorts the rows of a partition, and computes the size of its output.
    fn sorted(
        partition: usize,
        h: &Header,
        shift: u32,
        partitions: &Partitions,
    ) -> Result<BuiltPartition> {
        let first = (partition as u64) << shift;
        let buckets = first..h.buckets.min(first + (1 << shift));
        let items = partitions.take(partition, (buckets.end - buckets.start) as usize)?;
        let width = u64::from(h.width);
        let (mut distinct, mut lists) = (0, 0);
        for rows in keys(&items) {
            distinct += 1;
            if rows.len() > 1 {
                lists += list_bytes(rows.len() as u64, width);
            }
        }
        let bytes = buckets_bytes(&buckets, distinct, width) + lists;
        Ok(BuiltPartition {
            buckets,
            items,
            keys: distinct,
            bytes,
            at: 0,
            directory: Vec::new(),
            body: Vec::new(),
        })
    }

    /// Encodes buckets and lists in memory.
    fn encode(&mut self, h: &Header) -> Result<()> {
        let numbers = self.buckets.clone();
        let (width, first) = (h.width as usize, numbers.start);
        let mut lists: Vec<u8> = Vec::new();
        alloc::reserve(&mut self.body, self.bytes as usize)?;
        alloc::reserve(
            &mut self.directory,
            ((numbers.end - first) * ENTRY_BYTES) as usize,
        )?;
        let lists_at = self.at + buckets_bytes(&numbers, self.keys, width as u64);
        let mut rest = &self.items[..];
        let mut values: Vec<u8> = Vec::new();
        for b in numbers {
            let n = rest
                .iter()
                .position(|i| (i >> 112) as u64 > b - first)
                .unwrap_or(rest.len());
            let items;
            (items, rest) = rest.cut(n)?;
            let start = self.body.len();
            let mut count = 0u64;
            values.clear();
            for rows in keys(items) {
                let Some(&one) = rows.first() else { continue };
                let value = match rows.len() {
                    1 => row(one),
                    _ => h.records + (lists_at + lists.len() as u64) / LIST_UNIT,
                };
                if rows.len() > 1 {
                    push_list(&mut lists, rows, width)?;
                }
                self.body.extend(((one >> 80) as u32).to_le_bytes());
                push_value(&mut values, value, width);
                count += 1;
            }
            self.body.extend_from_slice(&values);
            let checksum = bucket_checksum(b, self.body.at(start..)?);
            self.body.extend(checksum.to_le_bytes());
            self.directory
                .extend(directory_entry(self.at + start as u64, count)?.to_le_bytes());
        }
        self.body
            .resize(self.body.len().next_multiple_of(LIST_UNIT as usize), 0);
        self.body.append(&mut lists);
        self.items = Vec::new();
        Ok(())
    }
}

fn row(i: Item) -> u64 {
    i as u64 & (MAX_ROWS - 1)
}

/// Returns a directory entry.
fn directory_entry(at: u64, count: u64) -> Result<u64> {
    match at >> 48 == 0 && count >> 16 == 0 {
        true => Ok(at | count << 48),
        false => Err(fail!(
            Unsupported,
            "the index needs a bucket with {count} keys at offset {at}, which its directory cannot represent"
        )),
    }
}

/// Appends a value of `width` bytes.
fn push_value(out: &mut Vec<u8>, value: u64, width: usize) {
    let end = out.len() + width;
    out.extend_from_slice(&value.to_le_bytes());
    out.truncate(end);
}

fn push_list(out: &mut Vec<u8>, rows: &[Item], width: usize) -> Result<()> {
    let bytes = list_bytes(rows.len() as u64, width as u64) as usize;
    let end = out.len() + bytes;
    alloc::reserve(out, bytes)?;
    let mut start = out.len();
    push_value(out, rows.len() as u64, width);
    for chunk in rows.chunks(ROWS_PER_CHECKSUM as usize) {
        for &i in chunk {
            push_value(out, row(i), width);
        }
        let checksum = crc32(out.at(start..)?);
        out.extend(checksum.to_le_bytes());
        start = out.len();
    }
    out.resize(end, 0);
    Ok(())
}
