//! Many records at once, into one buffer: runs of neighbours, or scattered ones.
//!
//! Two passes over tasks of a few hundred records, each in parallel. The first finds where the records
//! are, fetches their stored bytes (neighbours together) and looks at the frames' headers; then all
//! sizes are known, the buffer is made under the memory limit, and the second decodes every record
//! straight into its place.
#![forbid(unsafe_code)]

use super::codec::Codec;
use super::frame::Survey;
use super::limits::Around;
use super::shape::{self, Odd};
use super::shard::{self, Shard};
use crate::error::{Error, Result, Status, fail};
use crate::memory;
use crate::parallel::{self, unless_taken};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Records of one task at most, and stored bytes of one task of a run.
const TASK_RECORDS: usize = 512;
const TASK_BYTES: u64 = 256 << 10;
/// Scattered records of one task.
const TASK_SCATTERED: usize = 128;
/// Stored records that lie this near are fetched together.
const GAP: u64 = 4 << 10;
const GROUP: u64 = 256 << 10;
/// Limits, and checksums, that lie this near are fetched together.
const LIMITS_GAP: u64 = 256;
const SUMS_GAP: u64 = 512;

/// Scattered records that are asked for this far ahead.
const AHEAD: usize = 4;

/// What a batch read gave: record `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Default)]
pub struct Records {
    /// All bytes.
    pub data: Vec<u8>,
    /// One more than there are records.
    pub offsets: Vec<u64>,
    /// Records that were damaged and read as empty: position in the batch, and why.
    pub damaged: Vec<(u64, Error)>,
    /// Records that had no checksum to be checked by.
    pub unchecked: u64,
    home: Weak<Spare>,
}

impl Drop for Records {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.keep(std::mem::take(&mut self.data));
        }
    }
}

/// Buffers of batches that were closed, for the next ones: fresh memory costs more than the records that
/// go into it, a page fault for each 4 KiB.
#[derive(Debug, Default)]
pub struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    const BUFFERS: usize = 2;
    const BYTES: usize = 8 << 20;

    fn keep(&self, buffer: Vec<u8>) {
        let Some(mut all) = unless_taken(&self.0) else { return };
        if all.len() < Spare::BUFFERS && (1..=Spare::BYTES).contains(&buffer.capacity()) {
            all.push(buffer);
        }
    }

    /// A buffer of `n` bytes of any content.
    fn take(&self, n: usize) -> Result<Vec<u8>> {
        let fits = |all: &mut Vec<Vec<u8>>| all.iter().position(|b| b.capacity() >= n).map(|i| all.swap_remove(i));
        match unless_taken(&self.0).filter(|_| n > 0).and_then(|mut all| fits(&mut all)) {
            Some(mut buffer) => {
                buffer.resize(n, 0);
                Ok(buffer)
            }
            None => memory::zeroed(n),
        }
    }
}

impl Records {
    /// A batch without a record.
    pub fn none() -> Records {
        let mut r = Records::default();
        r.offsets.push(0);
        r
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    /// None?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Record `i`; beyond the last, nothing.
    pub fn get(&self, i: usize) -> &[u8] {
        let (a, b) = (self.offsets.get(i), self.offsets.get(i + 1));
        let range = a.zip(b).map(|(&a, &b)| a as usize..b as usize);
        range.and_then(|r| self.data.get(r)).unwrap_or_default()
    }
    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// A record that is wanted, and where in the batch it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// Which file.
    pub shard: usize,
    /// Its number there.
    pub local: u64,
    /// Its place in the batch.
    pub out: usize,
}

/// Neighbours of one file that go to neighbouring places of the batch.
pub struct Run<'a> {
    /// The file.
    pub shard: &'a Shard,
    /// The first one's number there.
    pub first: u64,
    /// How many.
    pub n: u64,
}

/// How a batch is read.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Where buffers come from.
    pub spare: &'a Arc<Spare>,
    /// Threads it may use.
    pub threads: usize,
    /// Bytes it may allocate.
    pub memory_limit: u64,
    /// Damaged records read as empty.
    pub skip_damaged: bool,
}

/// Why a batch failed, and at which place of it.
pub struct Failure {
    /// The place.
    pub out: usize,
    /// Why.
    pub error: Error,
}

struct Task<'a> {
    shard: &'a Shard,
    which: Which<'a>,
    /// Stored bytes of compressed records, unless the file is mapped.
    fetched: Vec<u8>,
    /// A value a record; none at all for uncompressed neighbours of which nothing is odd.
    found: Vec<Found>,
    /// Of uncompressed records, where there are any.
    sums: Vec<u32>,
    /// Records that cannot be read.
    errors: Vec<(usize, Error)>,
}

enum Which<'a> {
    /// The bounds of all, and those before the first and after the last.
    Run {
        first: u64,
        bounds: &'a [u64],
        edges: (u64, u64),
        out: usize,
    },
    Scattered {
        items: &'a [Item],
        extents: Vec<Around>,
    },
}

/// Are two wanted records at most this far apart?
fn near(gap: u64) -> impl Fn(&Item, &Item) -> bool {
    move |a, b| b.local - a.local <= gap
}

/// Where decoded records go.
enum Slots<'a> {
    One(&'a mut [u8]),
    Each(Vec<&'a mut [u8]>),
}

/// What the first pass found out about a record.
#[derive(Default)]
struct Found {
    size: u64,
    /// Place of its stored bytes in `fetched`.
    at: usize,
    odd: Option<Odd>,
    /// Does a checksum in its frames stand behind it?
    checked: bool,
    /// It is among the errors.
    bad: bool,
    /// Decoded already, because its headers do not tell its size.
    decoded: Option<Vec<u8>>,
}

/// Memory for one record, result not counted: what is found out about it, its place, its offset.
const PER_RECORD: u64 = (size_of::<Found>() + size_of::<Item>() + 16) as u64;
/// Memory for the words of one failure, about.
const PER_ERROR: u64 = 256;

/// Bytes that a batch may still allocate, over all its tasks.
struct Budget {
    left: AtomicU64,
    limit: u64,
}

impl Budget {
    fn new(limit: u64) -> Budget {
        Budget { left: AtomicU64::new(limit), limit }
    }

    fn take(&self, n: u64) -> Result<usize> {
        let took = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(n));
        let allowed = if took.is_ok() { self.limit } else { 0 };
        memory::allow(n, allowed, "a batch").map_err(|_| {
            let left = self.left.load(Ordering::Relaxed);
            fail!(Limit, "{n} bytes of memory are needed, {left} of the limit of {} are left (HOLDALL_OPT_MEMORY_LIMIT)", self.limit)
        })
    }

    fn give_back(&self, n: u64) {
        self.left.fetch_add(n, Ordering::Relaxed);
    }
}

impl<'a> Task<'a> {
    fn new(shard: &'a Shard, which: Which<'a>) -> Self {
        Task { shard, which, fetched: Vec::new(), found: Vec::new(), sums: Vec::new(), errors: Vec::new() }
    }

    fn len(&self) -> usize {
        match &self.which {
            Which::Run { bounds, .. } => bounds.len().saturating_sub(1),
            Which::Scattered { items, .. } => items.len(),
        }
    }

    fn local(&self, k: usize) -> u64 {
        match &self.which {
            Which::Run { first, .. } => first + k as u64,
            Which::Scattered { items, .. } => items.get(k).map_or(0, |i| i.local),
        }
    }

    fn out(&self, k: usize) -> usize {
        match &self.which {
            Which::Run { out, .. } => out + k,
            Which::Scattered { items, .. } => items.get(k).map_or(0, |i| i.out),
        }
    }

    fn around(&self, k: usize) -> Around {
        let none = Around { before: 0, from: 1, to: 0, after: 0 };
        match &self.which {
            Which::Run { bounds, edges, .. } => {
                let Some(&[from, to]) = bounds.get(k..k + 2) else { return none };
                let before = k.checked_sub(1).and_then(|j| bounds.get(j)).unwrap_or(&edges.0);
                Around { before: *before, from, to, after: *bounds.get(k + 2).unwrap_or(&edges.1) }
            }
            Which::Scattered { extents, .. } => extents.get(k).copied().unwrap_or(none),
        }
    }

    fn extent(&self, k: usize) -> (u64, u64) {
        let a = self.around(k);
        (a.from, a.to)
    }

    /// May all be copied as one?
    fn rising(&self) -> bool {
        let Which::Run { bounds, edges, .. } = &self.which else { return false };
        let Some((&from, &to)) = bounds.first().zip(bounds.last()) else { return false };
        let around = Around { before: edges.0, from, to, after: edges.1 };
        bounds.is_sorted() && to <= self.shard.end() && !self.shard.doubtful(around)
    }

    fn prefetch(&self, k: usize) {
        if matches!(self.which, Which::Scattered { .. }) && k < self.len() {
            let (from, to) = self.extent(k);
            self.shard.file().prefetch(from, to);
        }
    }

    fn raw(&self) -> bool {
        self.shard.decoder().codec() == Codec::None
    }

    /// Uncompressed neighbours of which nothing is odd: one copy will do.
    fn plain(&self) -> bool {
        self.found.is_empty()
    }

    fn bad(&self, k: usize) -> bool {
        self.found.get(k).is_some_and(|f| f.bad)
    }

    fn size(&self, k: usize) -> u64 {
        let (a, b) = self.extent(k);
        if self.plain() { b.saturating_sub(a) } else { self.found.get(k).map_or(0, |f| f.size) }
    }

    fn checked(&self, k: usize) -> bool {
        if self.raw() { self.shard.has_sums() } else { self.found.get(k).is_some_and(|f| f.checked) }
    }

    fn fail(&mut self, k: usize, e: Error, budget: &Budget) -> Result<()> {
        budget.take(PER_ERROR)?;
        memory::reserve(&mut self.errors, 1)?;
        self.errors.push((k, e));
        if let Some(f) = self.found.get_mut(k) {
            f.bad = true;
        }
        Ok(())
    }

    // ---- first pass

    fn prepare(&mut self, budget: &Budget) -> Result<()> {
        self.locate()?;
        if !(self.raw() && self.rising()) {
            self.measure(budget)?;
        }
        if self.raw() {
            return self.fetch_sums();
        }
        self.fetch(budget)?;
        for k in 0..self.len() {
            self.prefetch(k + AHEAD);
            if let Err(e) = self.look(k, budget) {
                self.fail(k, e, budget)?;
            }
        }
        for k in 0..self.len() {
            if let Err(e) = self.compare_with_neighbours(k) {
                if let Some(f) = self.found.get_mut(k) {
                    f.size = 0;
                }
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Makes `found`, with the sizes of what is stored.
    fn measure(&mut self, budget: &Budget) -> Result<()> {
        self.found = memory::with_room(self.len())?;
        for k in 0..self.len() {
            let a = self.around(k);
            let checked = self.shard.check_extent(a);
            self.found.push(Found { size: if checked.is_ok() { a.to - a.from } else { 0 }, ..Found::default() });
            if let Err(e) = checked {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    /// Finds the extents of scattered records, reading near limits together.
    fn locate(&mut self) -> Result<()> {
        let Which::Scattered { items, extents } = &mut self.which else { return Ok(()) };
        let limits = self.shard.limits();
        *extents = memory::with_room(items.len())?;
        for group in items.chunk_by(near(LIMITS_GAP)) {
            let [first, ..] = group else { continue };
            let last = group.last().unwrap_or(first).local;
            if first.local == last {
                let around = limits.around(last)?;
                extents.extend(group.iter().map(|_| around));
                continue;
            }
            let from = first.local.saturating_sub(1);
            let bounds = limits.bounds(from, (last + 2).min(limits.count()) - from)?;
            let bound = |i: u64| bounds.get((i - from) as usize).copied();
            extents.extend(group.iter().map(|i| {
                let (a, b) = (bound(i.local).unwrap_or(1), bound(i.local + 1).unwrap_or(0));
                Around { before: bound(i.local.max(1) - 1).unwrap_or(0), from: a, to: b, after: bound(i.local + 2).unwrap_or(b) }
            }));
        }
        limits.still()
    }

    /// Fetches the checksums that lie beside the records.
    fn fetch_sums(&mut self) -> Result<()> {
        if !self.shard.has_sums() {
            return Ok(());
        }
        match &self.which {
            Which::Run { first, bounds, .. } => self.sums = self.shard.sums(*first, bounds.len().saturating_sub(1))?,
            Which::Scattered { items, .. } => {
                for group in items.chunk_by(near(SUMS_GAP)) {
                    let [first, .., last] = group else {
                        self.sums.extend(self.shard.sums(group.first().map_or(0, |i| i.local), 1)?);
                        continue;
                    };
                    let sums = self.shard.sums(first.local, (last.local - first.local + 1) as usize)?;
                    self.sums.extend(group.iter().map(|i| sums.get((i.local - first.local) as usize).copied().unwrap_or(0)));
                }
            }
        }
        Ok(())
    }

    /// Refuses record `k` if its checksum does not fit.
    fn check_sum(&self, k: usize, record: &[u8]) -> Result<()> {
        self.sums.get(k).map_or(Ok(()), |&want| shard::check_sum(want, record))
    }

    /// Fetches the stored bytes of all records, near ones together.
    fn fetch(&mut self, budget: &Budget) -> Result<()> {
        if self.shard.file().bytes().is_some() {
            return Ok(());
        }
        let mut k = 0;
        while k < self.len() {
            let Some(group) = self.group(k) else {
                k += 1;
                continue;
            };
            let at = self.fetched.len();
            let n = budget.take(group.to - group.from)?;
            memory::reserve(&mut self.fetched, n)?;
            self.fetched.resize(at + n, 0);
            let got = self.shard.file().read_exact_at(group.from, self.fetched.get_mut(at..).unwrap_or_default());
            for j in k..group.next {
                let (a, _) = self.extent(j);
                if let Some(f) = self.found.get_mut(j) {
                    f.at = at + (a - group.from) as usize;
                }
                if let Err(e) = &got {
                    self.fail(j, e.clone(), budget)?;
                }
            }
            k = group.next;
        }
        Ok(())
    }

    /// The record `k` and those after it that are worth fetching together.
    fn group(&self, k: usize) -> Option<Group> {
        let sound = |k: usize| self.found.get(k).is_some_and(|f| !f.bad).then(|| self.extent(k));
        let (from, mut to) = sound(k)?;
        let mut next = k + 1;
        let run = matches!(self.which, Which::Run { .. });
        while let Some((a, b)) = sound(next) {
            let near = a >= from && a <= to.saturating_add(GAP) && (run || b.saturating_sub(from) <= GROUP);
            if !near {
                break;
            }
            to = to.max(b);
            next += 1;
        }
        Some(Group { from, to, next })
    }

    fn stored(&self, k: usize) -> &[u8] {
        let (a, b) = self.extent(k);
        if let Some(mapped) = self.shard.mapped((a, b)) {
            return mapped;
        }
        let Some(f) = self.found.get(k) else { return &[] };
        self.fetched.get(f.at..f.at + (b - a) as usize).unwrap_or_default()
    }

    /// Looks at the frames of one record.
    fn look(&mut self, k: usize, budget: &Budget) -> Result<()> {
        if self.bad(k) {
            return Ok(());
        }
        let (a, b) = self.extent(k);
        let looked = if a == b { Ok(None) } else { self.look_inside(k, budget).map(Some) };
        let Some(f) = self.found.get_mut(k) else { return Ok(()) };
        f.size = 0;
        match looked? {
            None => f.odd = Some(Odd::Empty),
            Some((survey, decoded)) => {
                f.size = decoded.as_ref().map_or(survey.content.unwrap_or(0), |d| d.len() as u64);
                f.odd = (survey.data_frames > 1).then_some(Odd::Several);
                f.checked = survey.checksum;
                f.decoded = decoded;
            }
        }
        Ok(())
    }

    fn look_inside(&self, k: usize, budget: &Budget) -> Result<(Survey, Option<Vec<u8>>)> {
        let stored = self.stored(k);
        let survey = self.shard.decoder().survey(stored)?;
        if survey.content.is_some() {
            return Ok((survey, None));
        }
        budget.take(survey.most)?;
        let decoded = self.shard.decoder().decode_unknown(stored, &survey, budget.limit);
        let kept = decoded.as_ref().map_or(0, |d| d.len() as u64);
        budget.give_back(survey.most.saturating_sub(kept));
        Ok((survey, Some(decoded?)))
    }

    fn compare_with_neighbours(&self, k: usize) -> Result<()> {
        let Some(odd) = self.found.get(k).filter(|f| !f.bad).and_then(|f| f.odd) else { return Ok(()) };
        if odd == Odd::Empty && self.between_sound_ones(k) {
            return Ok(());
        }
        shape::neighbours(self.shard, self.local(k), odd)
    }

    /// Is an empty record of a run between records of the run that speak for it? Then no limit needs to be
    /// read again.
    fn between_sound_ones(&self, k: usize) -> bool {
        let Which::Run { .. } = self.which else { return false };
        let one = |k: usize| self.found.get(k).is_some_and(|f| !f.bad && f.odd.is_none());
        let empty = |k: usize| self.found.get(k).is_some_and(|f| !f.bad && f.odd == Some(Odd::Empty));
        // runs of empty records are looked along a little; longer ones are left to the limits
        let left = (1..16).map_while(|n| k.checked_sub(n)).find(|&j| !empty(j));
        let right = (1..16).map(|n| k + n).find(|&j| !empty(j));
        left.is_some_and(one) && right.is_some_and(one)
    }

    // ---- second pass

    fn finish(&mut self, mut slots: Slots<'_>, budget: &Budget) -> Result<()> {
        if let (true, Slots::One(slot)) = (self.plain(), &mut slots) {
            if self.copy_all(slot).is_ok() {
                return self.check_all(slot, budget);
            }
            // one by one, to find out which cannot be read
            self.measure(budget)?;
        }
        for k in 0..self.len() {
            self.prefetch(k + AHEAD);
            let size = self.size(k) as usize;
            let slot: &mut [u8] = match &mut slots {
                Slots::One(rest) => rest.split_off_mut(..size).unwrap_or_default(),
                Slots::Each(each) => each.get_mut(k).map(std::mem::take).unwrap_or_default(),
            };
            if self.bad(k) {
                continue;
            }
            if let Err(e) = self.finish_one(k, slot) {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }

    fn finish_one(&self, k: usize, slot: &mut [u8]) -> Result<()> {
        if self.raw() {
            self.copy(self.extent(k), slot)?;
            return self.check_sum(k, slot);
        }
        match self.found.get(k) {
            Some(Found { decoded: Some(d), .. }) => slot.copy_from_slice(d),
            Some(Found { odd: Some(Odd::Empty), .. }) | None => {}
            Some(_) => self.shard.decoder().decode(self.stored(k), slot)?,
        }
        Ok(())
    }

    /// Copies stored bytes.
    fn copy(&self, (from, to): (u64, u64), slot: &mut [u8]) -> Result<()> {
        match self.shard.mapped((from, to)) {
            Some(bytes) => slot.copy_from_slice(bytes),
            None => self.shard.file().read_exact_at(from, slot)?,
        }
        Ok(())
    }

    /// Uncompressed neighbours: one copy for all.
    fn copy_all(&self, slot: &mut [u8]) -> Result<()> {
        self.copy((self.extent(0).0, self.extent(self.len().saturating_sub(1)).1), slot)
    }

    fn check_all(&mut self, slot: &[u8], budget: &Budget) -> Result<()> {
        if self.sums.is_empty() {
            return Ok(());
        }
        let (start, _) = self.extent(0);
        for k in 0..self.len() {
            let (a, b) = self.extent(k);
            let record = slot.get((a - start) as usize..(b - start) as usize).unwrap_or_default();
            if let Err(e) = self.check_sum(k, record) {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }
}

struct Group {
    from: u64,
    to: u64,
    next: usize,
}

/// Is it worth waking other threads? They cost some ten microseconds.
fn enough(shard: &Shard, records: usize, stored: u64) -> bool {
    match (shard.decoder().codec(), shard.file().bytes().is_some()) {
        (Codec::Zstd, _) => stored >= 128 << 10,
        (Codec::None, mapped) => stored >= 8 << 20 || records >= if mapped { 512 } else { 256 },
    }
}

fn whole(error: Error) -> Failure {
    Failure { out: 0, error }
}

/// Reads runs, one after the other.
pub fn runs(runs: &[Run<'_>], rules: Rules<'_>) -> std::result::Result<Records, Failure> {
    let mut all_bounds: Vec<Vec<u64>> = Vec::new();
    let budget = Budget::new(rules.memory_limit);
    let of = |r: &Run<'_>| if r.shard.decoder().codec() == Codec::None { 24 } else { PER_RECORD };
    let needed = runs.iter().fold(0u64, |n, r| n.saturating_add(r.n.saturating_mul(of(r))));
    budget.take(needed).map_err(whole)?;
    for r in runs {
        // one more on each side, where there is one
        let (first, last) = (r.first.saturating_sub(1), (r.first + r.n + 1).min(r.shard.count()));
        let bounds = r.shard.limits().bounds(first, last - first).and_then(|b| r.shard.limits().still().map(|()| b));
        all_bounds.push(bounds.map_err(whole)?);
    }
    let mut tasks = Vec::new();
    let (mut out, mut worth) = (0, false);
    for (r, all) in runs.iter().zip(&all_bounds) {
        let skip = r.first.min(1) as usize;
        let bounds = all.get(skip..skip + r.n as usize + 1).unwrap_or_default();
        let stored = bounds.last().zip(bounds.first()).map_or(0, |(b, a)| b.saturating_sub(*a));
        worth |= enough(r.shard, 0, stored);
        let mut k = 0;
        while k + 1 < bounds.len() {
            let part = piece(r.shard, bounds.get(k..).unwrap_or_default());
            let n = part.len().saturating_sub(1).max(1);
            let (before, end) = ((skip + k).checked_sub(1).and_then(|j| all.get(j)), part.last().copied().unwrap_or(0));
            let edges = (before.copied().unwrap_or(0), all.get(skip + k + n + 1).copied().unwrap_or(end));
            memory::reserve(&mut tasks, 1).map_err(whole)?;
            tasks.push(Task::new(r.shard, Which::Run { first: r.first + k as u64, bounds: part, edges, out }));
            out += n;
            k += n;
        }
    }
    finish(tasks, out, if worth { rules } else { Rules { threads: 1, ..rules } }, &budget)
}

/// The bounds of as many records as are worth a task.
fn piece<'b>(shard: &Shard, bounds: &'b [u64]) -> &'b [u64] {
    // one system call should fetch something: uncompressed runs are copied in larger pieces
    let (most, bytes) = match shard.decoder().codec() {
        Codec::Zstd => (TASK_RECORDS, TASK_BYTES),
        Codec::None => (TASK_RECORDS * 32, TASK_BYTES * 8),
    };
    let from = bounds.first().copied().unwrap_or(0);
    let fits = bounds.iter().skip(1).take(most).take_while(|&&b| b.saturating_sub(from) <= bytes).count().max(1);
    bounds.get(..=fits).unwrap_or(bounds)
}

/// Reads scattered records; `items` must be sorted, and fill places 0 to their number.
pub fn scattered(shards: &[Shard], items: &[Item], rules: Rules<'_>) -> std::result::Result<Records, Failure> {
    let budget = Budget::new(rules.memory_limit);
    budget.take((items.len() as u64).saturating_mul(PER_RECORD)).map_err(whole)?;
    let mut tasks = Vec::new();
    let mut worth = false;
    for same in items.chunk_by(|a, b| a.shard == b.shard) {
        let Some(shard) = same.first().and_then(|i| shards.get(i.shard)) else { continue };
        let mean = shard.end() / shard.count().max(1);
        worth |= enough(shard, items.len(), mean.saturating_mul(items.len() as u64));
        let piece = if mean > 16 << 10 { 4 } else { TASK_SCATTERED };
        memory::reserve(&mut tasks, same.len().div_ceil(piece)).map_err(whole)?;
        tasks.extend(same.chunks(piece).map(|items| Task::new(shard, Which::Scattered { items, extents: Vec::new() })));
    }
    finish(tasks, items.len(), if worth { rules } else { Rules { threads: 1, ..rules } }, &budget)
}

fn finish(mut tasks: Vec<Task<'_>>, n: usize, rules: Rules<'_>, budget: &Budget) -> std::result::Result<Records, Failure> {
    each(rules.threads, tasks.iter_mut().map(|t| (t, ())).collect(), |t, ()| t.prepare(budget))?;
    let offsets = offsets(&tasks, n).map_err(whole)?;
    let bytes = offsets.last().copied().unwrap_or(0);
    let data = budget.take(bytes).and_then(|bytes| rules.spare.take(bytes)).map_err(|error| {
        // the record with which it became too much
        let left = budget.left.load(Ordering::Relaxed);
        let out = offsets.partition_point(|&end| end <= left).saturating_sub(1);
        match &tasks[..] {
            [t] if n == 1 => whole(t.shard.at_record(t.local(0), error)),
            _ => Failure { out, error },
        }
    })?;
    let mut records = Records { data, offsets, damaged: Vec::new(), unchecked: 0, home: Arc::downgrade(rules.spare) };
    let slots = hand_out(&tasks, &mut records.data, &records.offsets).map_err(whole)?;
    each(rules.threads, tasks.iter_mut().zip(slots).collect(), |t, slots| t.finish(slots, budget))?;
    first_error(&mut tasks, rules)?;
    let unchecked =
        |t: &Task<'_>| (0..t.len()).filter(|&k| !t.checked(k)).count().saturating_sub(t.errors.iter().filter(|(k, _)| !t.checked(*k)).count());
    records.unchecked = tasks.iter().map(|t| unchecked(t) as u64).sum();
    let damaged = collect_damaged(&mut tasks).map_err(whole)?;
    drop(tasks);
    if !damaged.is_empty() {
        empty(&mut records, damaged);
    }
    Ok(records)
}

/// Does one pass over all tasks; of the failures that are not about one record, the first counts.
fn each<'a, 't: 'a, S: Send>(
    threads: usize,
    work: Vec<(&'a mut Task<'t>, S)>,
    pass: impl Fn(&mut Task<'t>, S) -> Result<()> + Sync,
) -> std::result::Result<(), Failure> {
    let refused = Mutex::new(None::<Failure>);
    parallel::for_each(threads, work, |(t, s): (&mut Task<'t>, S)| {
        let Err(error) = pass(t, s) else { return };
        let out = t.out(0);
        let error = if t.len() == 1 { t.shard.at_record(t.local(0), error) } else { error };
        let mut r = refused.lock().unwrap_or_else(PoisonError::into_inner);
        if r.as_ref().is_none_or(|f| f.out > out) {
            *r = Some(Failure { out, error });
        }
    });
    refused.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The failure at the lowest place, if there is one that may not be skipped.
fn first_error(tasks: &mut [Task<'_>], rules: Rules<'_>) -> std::result::Result<(), Failure> {
    let fatal = |e: &Error| !rules.skip_damaged || !super::damage(e.status);
    let mut first: Option<Failure> = None;
    for t in tasks {
        for (k, e) in t.errors.iter().filter(|(_, e)| fatal(e)) {
            if first.as_ref().is_none_or(|f| t.out(*k) < f.out) {
                first = Some(Failure { out: t.out(*k), error: t.shard.at_record(t.local(*k), e.clone()) });
            }
        }
    }
    first.map_or(Ok(()), Err)
}

fn collect_damaged(tasks: &mut [Task<'_>]) -> Result<Vec<(u64, Error)>> {
    let mut damaged = memory::with_room(tasks.iter().map(|t| t.errors.len()).sum())?;
    for t in tasks {
        for (k, e) in std::mem::take(&mut t.errors) {
            damaged.push((t.out(k) as u64, t.shard.at_record(t.local(k), e)));
        }
    }
    damaged.sort_by_key(|(out, _)| *out);
    Ok(damaged)
}

/// Sizes to offsets.
fn offsets(tasks: &[Task<'_>], n: usize) -> Result<Vec<u64>> {
    let mut offsets: Vec<u64> = memory::with_room(n + 1)?;
    offsets.resize(n + 1, 0);
    for t in tasks {
        for k in 0..t.len() {
            if let Some(o) = offsets.get_mut(t.out(k) + 1) {
                *o = t.size(k);
            }
        }
    }
    let mut end = 0u64;
    for o in &mut offsets {
        end = end.checked_add(*o).ok_or_else(|| Error::new(Status::Limit, "the records of this batch have more than 2^64 bytes"))?;
        *o = end;
    }
    Ok(offsets)
}

/// The parts of the buffer that each task's records go to.
fn hand_out<'b>(tasks: &[Task<'_>], data: &'b mut [u8], offsets: &[u64]) -> Result<Vec<Slots<'b>>> {
    let offset = |i: usize| offsets.get(i).copied().unwrap_or(0);
    let mut rest = data;
    let mut cut = |from: usize, to: usize| rest.split_off_mut(..offset(to).saturating_sub(offset(from)) as usize).unwrap_or_default();
    let mut out = memory::with_room(tasks.len())?;
    if tasks.iter().all(|t| matches!(t.which, Which::Run { .. })) {
        out.extend(tasks.iter().map(|t| Slots::One(cut(t.out(0), t.out(0) + t.len()))));
        return Ok(out);
    }
    let n = offsets.len().saturating_sub(1);
    let mut slots: Vec<&mut [u8]> = memory::with_room(n)?;
    slots.extend((0..n).map(|i| cut(i, i + 1)));
    for t in tasks {
        let mut own = memory::with_room(t.len())?;
        own.extend((0..t.len()).map(|k| slots.get_mut(t.out(k)).map(std::mem::take).unwrap_or_default()));
        out.push(Slots::Each(own));
    }
    Ok(out)
}

/// Takes what was written of damaged records out of the buffer.
fn empty(records: &mut Records, damaged: Vec<(u64, Error)>) {
    let mut bad = damaged.iter().map(|(out, _)| *out as usize).peekable();
    let (mut from, mut end) = (0usize, 0usize);
    for i in 0..records.len() {
        let Some(o) = records.offsets.get_mut(i + 1) else { continue };
        let to = std::mem::replace(o, 0) as usize;
        if bad.next_if_eq(&i).is_none() {
            records.data.copy_within(from..to, end);
            end += to - from;
        }
        *o = end as u64;
        from = to;
    }
    records.data.truncate(end);
    records.damaged = damaged;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_spare_buffers() {
        let spare = Spare::default();
        spare.keep(vec![0; 100]);
        let taken = spare.0.lock();
        assert_eq!(spare.take(10).unwrap().len(), 10);
        spare.keep(vec![0; 100]);
        drop(taken);
        assert_eq!(spare.take(10).unwrap().capacity(), 100);
    }
}
