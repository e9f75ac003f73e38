//! Makes indexes: all records are read once, in parallel, and their fingerprints go into [`Parts`];
//! then one part after the other is sorted, and written as buckets and lists.
//!
//! In memory are, at any time, the records that are being read, the fingerprints (14 bytes a
//! record; in a file beside the index beyond a bound, where the index goes to a file), and of the
//! index itself what is just made.
#![forbid(unsafe_code)]

use super::bag_state::State;
use super::fingerprint::{fingerprint, seed};
use super::header::{HEADER, Header, WORD};
use super::partition::{Item, MOST_ROWS, Parts, Spill, item};
use super::{LIST_UNIT, PIECE_ROWS, SUM, bucket, bucket_sum};
use crate::alloc;
use crate::bag::batch::Rules;
use crate::bag::read::Wanted;
use crate::bag::{Bag, Records};
use crate::checksum::crc32;
use crate::error::{Result, Status, fail};
use crate::io::File;
use crate::options::Options;
use crate::parallel::{self, Threads};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Keys in a bucket, about.
const BUCKET: u64 = 32;
/// Buckets of a part, unless memory is short or there would be too many parts.
const PART: u64 = 2048;
const MOST_PARTS: u64 = 1024;
/// Records that one thread reads at once, and their bytes.
const TASK_RECORDS: u64 = 4096;
const TASK_BYTES: u64 = 1 << 20;
/// Memory for a record that is read and fingerprinted, beside its own, about; and for one of a part
/// that is sorted.
const PER_ROW: u64 = 40;
/// Fingerprints that stay in memory where there is a file for them.
const KEPT: u64 = 64 << 20;

/// Where an index goes.
pub enum Out {
    /// To memory.
    Memory(Mutex<Vec<u8>>),
    /// To a file, with another one for what is only needed meanwhile.
    File(Arc<dyn File>, Option<Spill>),
}

impl Out {
    fn put(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut all = match self {
            Out::File(file, _) => return file.write_at(at, bytes),
            Out::Memory(all) => all.lock().unwrap_or_else(PoisonError::into_inner),
        };
        let end = at as usize + bytes.len();
        if end > all.len() {
            let more = end - all.len();
            alloc::reserve(&mut all, more)?;
            all.resize(end, 0);
        }
        all.get_mut(at as usize..end)
            .unwrap_or_default()
            .copy_from_slice(bytes);
        Ok(())
    }
}

/// What is settled before the first record is read.
struct Plan<'a> {
    bag: &'a Bag,
    rules: Rules<'a>,
    header: Header,
    /// A part has 2^shift buckets.
    shift: u32,
    parts: Parts,
}

/// Builds the index of a bag.
pub fn build(bag: &Bag, options: &Options, out: &mut Out) -> Result<()> {
    let mut plan = Plan::new(bag, options, out)?;
    plan.header.rows = bag.size - plan.read(options)?;
    options.progress(bag.size, bag.size)?;
    plan.write(out)?;
    out.put(0, &plan.header.encode())
}

impl<'a> Plan<'a> {
    fn new(bag: &'a Bag, options: &Options, out: &mut Out) -> Result<Plan<'a>> {
        let records = bag.size;
        if records > MOST_ROWS {
            return Err(fail!(
                Unsupported,
                "an index of {records} records: {MOST_ROWS} are the most"
            ));
        }
        let foreign = matches!(out, Out::File(file, _) if file.is_foreign());
        let rules = super::rules(bag, options, foreign);
        let buckets = (records / BUCKET).max(1);
        let mut shift = PART.trailing_zeros();
        while shift > 0 && (BUCKET * PER_ROW) << shift > rules.memory_limit / 8 {
            shift -= 1;
        }
        while (buckets >> shift) >= MOST_PARTS && shift < 16 {
            shift += 1;
        }
        let (most, spill) = match out {
            Out::File(_, spill) => (KEPT.min(rules.memory_limit / 4), spill.take()),
            Out::Memory(all) => {
                alloc::allow(
                    records.saturating_mul(PER_ROW / 2),
                    rules.memory_limit,
                    "an index in memory (one in a file takes less)",
                )?;
                // so that it need not move while it grows; lists take a little more
                let all = all.get_mut().unwrap_or_else(PoisonError::into_inner);
                alloc::reserve(
                    all,
                    (HEADER + buckets * (WORD + SUM) + records * (4 + u64::from(width(records))))
                        as usize,
                )?;
                (u64::MAX, None)
            }
        };
        let parts = Parts::new((buckets >> shift) + 1, records, most, spill)?;
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
        Ok(Plan {
            bag,
            rules,
            header,
            shift,
            parts,
        })
    }

    // ---- reading

    /// Reads all records; gives how many were damaged and left out.
    fn read(&self, options: &Options) -> Result<u64> {
        let all = self.bag.size;
        let stored = self.header.state.bytes / self.header.state.records.max(1);
        let many = (TASK_BYTES / stored.max(1)).clamp(1, TASK_RECORDS);
        let left_out = AtomicU64::new(0);
        parallel::try_below(
            self.rules.threads.count(),
            all.div_ceil(many) as usize,
            |task| {
                let first = task as u64 * many;
                // the caller's function may be called on the caller's thread alone
                if !parallel::is_worker() {
                    options.progress(first, all)?;
                }
                left_out.fetch_add(
                    self.read_some(first, many.min(all - first))?,
                    Ordering::Relaxed,
                );
                Ok(())
            },
        )?;
        Ok(left_out.into_inner())
    }

    fn read_some(&self, mut first: u64, n: u64) -> Result<u64> {
        let (end, mut many, mut left_out) = (first + n, n, 0);
        while first < end {
            many = many.min(end - first);
            // only a record alone may take all that the caller allows
            let memory_limit =
                self.rules
                    .memory_limit
                    .min(if many > 1 { 8 * TASK_BYTES } else { u64::MAX });
            let rules = Rules {
                threads: Threads::ONE,
                memory_limit,
                ..self.rules
            };
            match self.bag.read_with(Wanted::Range(first, many), rules) {
                Err(e) if many > 1 && matches!(e.status, Status::Limit | Status::Memory) => {
                    many = (many / 8).max(1)
                }
                Err(e) => return Err(e),
                Ok(records) => {
                    left_out += records.damaged.len() as u64;
                    self.take_in(first, &records)?;
                    first += many;
                }
            }
        }
        Ok(left_out)
    }

    /// Adds the fingerprints of these records to the parts.
    fn take_in(&self, first: u64, records: &Records) -> Result<()> {
        let mut items: Vec<Item> = alloc::with_room(records.len())?;
        let mut parts: Vec<u32> = alloc::with_room(records.len())?;
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
            let (place, tag) = fingerprint(self.header.seed, record);
            let b = bucket(place, self.header.buckets);
            items.push(item(b & low, tag, first + k as u64));
            parts.push((b >> self.shift) as u32);
        }
        self.parts.add(&parts, &items)
    }

    // ---- writing

    /// Sorts and writes all parts, whichever is ready where the last one ended.
    fn write(&mut self, out: &Out) -> Result<()> {
        let parts = ((self.header.buckets - 1) >> self.shift) as usize + 1;
        let (body, keys) = (AtomicU64::new(0), AtomicU64::new(0));
        parallel::try_below(self.together(parts)?, parts, |part| {
            let mut made = Made::sorted(part, &self.header, self.shift, &self.parts)?;
            made.at = body.fetch_add(made.bytes, Ordering::Relaxed);
            keys.fetch_add(made.keys, Ordering::Relaxed);
            made.encode(&self.header)?;
            out.put(HEADER + made.buckets.start * WORD, &made.directory)?;
            out.put(self.header.body_at() + made.at, &made.body)
        })?;
        (self.header.body, self.header.keys) = (body.into_inner(), keys.into_inner());
        Ok(())
    }

    /// Threads that may each have a part in memory: all that there are, if memory allows it.
    fn together(&self, parts: usize) -> Result<usize> {
        let largest = (0..parts)
            .map(|p| self.parts.items(p))
            .max()
            .unwrap_or(0)
            .saturating_mul(PER_ROW);
        let what = "sorting the records of one part of an index, of which too many may have the same content";
        alloc::allow(largest, self.rules.memory_limit, what)?;
        let fit = self.rules.memory_limit / 4 / largest.max(1);
        Ok((self.rules.threads.count() as u64).min(fit).max(1) as usize)
    }
}

/// Bytes of a value: it is a row, or a place of the body in units of [`LIST_UNIT`] behind all rows.
/// The body has less than 2 units a row: 12 bytes for one of its own, 28 for two in a list, in the
/// largest width.
fn width(rows: u64) -> u32 {
    let most = rows.saturating_mul(3).saturating_add(4096);
    (64 - most.leading_zeros()).div_ceil(8)
}

/// A part of the index, being made.
struct Made {
    buckets: Range<u64>,
    items: Vec<Item>,
    keys: u64,
    /// Bytes of the body, and where they go.
    bytes: u64,
    at: u64,
    directory: Vec<u8>,
    body: Vec<u8>,
}

/// The rows of one key.
fn keys(items: &[Item]) -> impl Iterator<Item = &[Item]> {
    items.chunk_by(|a, b| a >> 48 == b >> 48)
}

/// Bytes of these buckets, which have so many keys.
fn buckets_bytes(buckets: &Range<u64>, keys: u64, width: u64) -> u64 {
    ((buckets.end - buckets.start) * SUM + keys * (4 + width)).next_multiple_of(LIST_UNIT)
}

/// Bytes of a list of so many rows.
fn list_bytes(rows: u64, width: u64) -> u64 {
    ((rows + 1) * width + rows.div_ceil(PIECE_ROWS) * SUM).next_multiple_of(LIST_UNIT)
}

impl Made {
    /// The rows of a part, in their order, and how many bytes they will take.
    fn sorted(part: usize, h: &Header, shift: u32, parts: &Parts) -> Result<Made> {
        let first = (part as u64) << shift;
        let buckets = first..h.buckets.min(first + (1 << shift));
        let items = parts.take(part, (buckets.end - buckets.start) as usize)?;
        let width = u64::from(h.width);
        let (mut different, mut lists) = (0, 0);
        for rows in keys(&items) {
            different += 1;
            if rows.len() > 1 {
                lists += list_bytes(rows.len() as u64, width);
            }
        }
        let bytes = buckets_bytes(&buckets, different, width) + lists;
        Ok(Made {
            buckets,
            items,
            keys: different,
            bytes,
            at: 0,
            directory: Vec::new(),
            body: Vec::new(),
        })
    }

    /// Writes buckets and lists, to memory.
    fn encode(&mut self, h: &Header) -> Result<()> {
        let numbers = self.buckets.clone();
        let (width, first) = (h.width as usize, numbers.start);
        let mut lists: Vec<u8> = Vec::new();
        alloc::reserve(&mut self.body, self.bytes as usize)?;
        alloc::reserve(&mut self.directory, ((numbers.end - first) * WORD) as usize)?;
        let lists_at = self.at + buckets_bytes(&numbers, self.keys, width as u64);
        let mut rest = &self.items[..];
        let mut values: Vec<u8> = Vec::new();
        for b in numbers {
            let n = rest
                .iter()
                .position(|i| (i >> 112) as u64 > b - first)
                .unwrap_or(rest.len());
            let (items, others) = rest.split_at_checked(n).unwrap_or_default();
            rest = others;
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
                    put_list(&mut lists, rows, width)?;
                }
                self.body.extend(((one >> 80) as u32).to_le_bytes());
                put(&mut values, value, width);
                count += 1;
            }
            self.body.extend_from_slice(&values);
            let sum = bucket_sum(b, self.body.get(start..).unwrap_or_default());
            self.body.extend(sum.to_le_bytes());
            self.directory
                .extend(word(self.at + start as u64, count)?.to_le_bytes());
        }
        self.body
            .resize(self.body.len().next_multiple_of(LIST_UNIT as usize), 0);
        self.body.append(&mut lists);
        self.items = Vec::new();
        Ok(())
    }
}

fn row(i: Item) -> u64 {
    i as u64 & (MOST_ROWS - 1)
}

/// A word of the directory.
fn word(at: u64, count: u64) -> Result<u64> {
    match at >> 48 == 0 && count >> 16 == 0 {
        true => Ok(at | count << 48),
        false => Err(fail!(
            Unsupported,
            "an index with a bucket of {count} keys at {at}"
        )),
    }
}

/// Puts a value of so many bytes behind the others.
fn put(out: &mut Vec<u8>, value: u64, width: usize) {
    let end = out.len() + width;
    out.extend_from_slice(&value.to_le_bytes());
    out.truncate(end);
}

fn put_list(out: &mut Vec<u8>, rows: &[Item], width: usize) -> Result<()> {
    let bytes = list_bytes(rows.len() as u64, width as u64) as usize;
    let end = out.len() + bytes;
    alloc::reserve(out, bytes)?;
    let mut start = out.len();
    put(out, rows.len() as u64, width);
    for piece in rows.chunks(PIECE_ROWS as usize) {
        for &i in piece {
            put(out, row(i), width);
        }
        let sum = crc32(out.get(start..).unwrap_or_default());
        out.extend(sum.to_le_bytes());
        start = out.len();
    }
    out.resize(end, 0);
    Ok(())
}
