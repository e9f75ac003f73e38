//! Many records at once, into one buffer: runs of neighbours, or scattered ones.
//!
//! Two passes over tasks of a few hundred records, each in parallel. The first finds where the records
//! are, fetches their stored bytes (neighbours together) and looks at the frames' headers; then all
//! sizes are known, the buffer is made under the memory limit, and the second decodes every record
//! straight into its place.
#![forbid(unsafe_code)]

use super::codec::Codec;
use super::frame::Survey;
use super::shape::{self, Odd};
use super::shard::{self, Shard};
use crate::error::{Error, Result, Status, fail};
use crate::memory;
use crate::parallel;
use std::sync::atomic::{AtomicU64, Ordering};

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
}

impl Records {
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
pub struct Rules {
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
    found: Vec<Found>,
    /// Of uncompressed records, where there are any.
    sums: Vec<u32>,
}

enum Which<'a> {
    Run { first: u64, bounds: &'a [u64], out: usize },
    Scattered { items: &'a [Item], extents: Vec<(u64, u64)> },
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
struct Found {
    size: u64,
    /// Place of its stored bytes in `fetched`.
    at: usize,
    odd: Option<Odd>,
    /// Does a checksum stand behind it?
    checked: bool,
    survey: Survey,
    /// Decoded already, because its headers do not tell its size.
    decoded: Option<Vec<u8>>,
    error: Option<Error>,
}

impl Found {
    fn new(result: Result<u64>) -> Found {
        let (size, error) = match result {
            Ok(n) => (n, None),
            Err(e) => (0, Some(e)),
        };
        Found { size, at: 0, odd: None, checked: false, survey: Survey::default(), decoded: None, error }
    }
}

/// Bytes that the first pass may still allocate, over all tasks.
struct Budget {
    left: AtomicU64,
    limit: u64,
}

impl Budget {
    fn take(&self, n: u64) -> Result<usize> {
        let took = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(n));
        memory::allow(if took.is_ok() { n } else { u64::MAX }, u64::MAX - 1, "").map_err(|_| {
            fail!(Limit, "the stored bytes of this batch take more memory than the limit, {} bytes (HOLDALL_OPT_MEMORY_LIMIT)", self.limit)
        })
    }
}

impl<'a> Task<'a> {
    fn new(shard: &'a Shard, which: Which<'a>) -> Self {
        Task { shard, which, fetched: Vec::new(), found: Vec::new(), sums: Vec::new() }
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

    fn extent(&self, k: usize) -> (u64, u64) {
        let found = match &self.which {
            Which::Run { bounds, .. } => bounds.get(k).copied().zip(bounds.get(k + 1).copied()),
            Which::Scattered { extents, .. } => extents.get(k).copied(),
        };
        found.unwrap_or((1, 0))
    }

    // ---- first pass

    fn prepare(&mut self, budget: &Budget) -> Result<()> {
        self.locate()?;
        for k in 0..self.len() {
            let (a, b) = self.extent(k);
            let checked = self.shard.check_extent((a, b)).map(|()| b - a);
            self.found.push(Found::new(checked));
        }
        if self.shard.decoder().codec() == Codec::None {
            self.found.iter_mut().for_each(|f| f.checked = self.shard.has_sums());
            return self.fetch_sums();
        }
        self.fetch(budget)?;
        for k in 0..self.len() {
            self.look(k, budget);
        }
        for k in 0..self.len() {
            self.compare_with_neighbours(k);
        }
        Ok(())
    }

    /// Finds the extents of scattered records, reading near limits together.
    fn locate(&mut self) -> Result<()> {
        let Which::Scattered { items, extents } = &mut self.which else { return Ok(()) };
        let limits = self.shard.limits();
        for group in items.chunk_by(near(LIMITS_GAP)) {
            let [first, ..] = group else { continue };
            let last = group.last().unwrap_or(first).local;
            if first.local == last {
                let pair = limits.pair(last)?;
                extents.extend(group.iter().map(|_| pair));
                continue;
            }
            let bounds = limits.bounds(first.local, last - first.local + 1)?;
            let bound = |i: u64| bounds.get((i - first.local) as usize).copied().unwrap_or(0);
            extents.extend(group.iter().map(|i| (bound(i.local), bound(i.local + 1))));
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
                let Some(f) = self.found.get_mut(j).filter(|f| f.error.is_none()) else { continue };
                f.at = at + (a - group.from) as usize;
                f.error = got.as_ref().err().cloned();
            }
            k = group.next;
        }
        Ok(())
    }

    /// The record `k` and those after it that are worth fetching together.
    fn group(&self, k: usize) -> Option<Group> {
        let sound = |k: usize| self.found.get(k).is_some_and(|f| f.error.is_none()).then(|| self.extent(k));
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
    fn look(&mut self, k: usize, budget: &Budget) {
        if self.found.get(k).is_none_or(|f| f.error.is_some()) {
            return;
        }
        let (a, b) = self.extent(k);
        let looked = if a == b { Ok(None) } else { self.look_inside(k, budget).map(Some) };
        let Some(f) = self.found.get_mut(k) else { return };
        match looked {
            Ok(None) => f.odd = Some(Odd::Empty),
            Ok(Some((survey, decoded))) => {
                f.size = decoded.as_ref().map_or(survey.content.unwrap_or(0), |d| d.len() as u64);
                f.odd = (survey.data_frames > 1).then_some(Odd::Several);
                f.checked = survey.checksum;
                f.survey = survey;
                f.decoded = decoded;
            }
            Err(e) => {
                f.size = 0;
                f.error = Some(e);
            }
        }
    }

    fn look_inside(&self, k: usize, budget: &Budget) -> Result<(Survey, Option<Vec<u8>>)> {
        let stored = self.stored(k);
        let survey = self.shard.decoder().survey(stored)?;
        if survey.content.is_some() {
            return Ok((survey, None));
        }
        let decoded = self.shard.decoder().decode_unknown(stored, &survey, budget.limit)?;
        budget.take(decoded.len() as u64)?;
        Ok((survey, Some(decoded)))
    }

    fn compare_with_neighbours(&mut self, k: usize) {
        let Some(odd) = self.found.get(k).and_then(|f| f.odd) else { return };
        // inside a run the neighbours of an empty record have been looked at already
        let here = matches!(self.which, Which::Run { .. }) && odd == Odd::Empty && k > 0 && k + 1 < self.len();
        let compared = if here {
            let several = |j: usize| self.found.get(j).is_some_and(|f| f.odd == Some(Odd::Several));
            if several(k - 1) || several(k + 1) { shape::neighbours(self.shard, self.local(k), odd) } else { Ok(()) }
        } else {
            shape::neighbours(self.shard, self.local(k), odd)
        };
        if let (Err(e), Some(f)) = (compared, self.found.get_mut(k)) {
            f.error = Some(e);
            f.size = 0;
        }
    }

    // ---- second pass

    fn finish(&mut self, mut slots: Slots<'_>) {
        if let (Codec::None, Slots::One(slot)) = (self.shard.decoder().codec(), &mut slots) {
            if self.finish_raw_run(slot) {
                return;
            }
        }
        for k in 0..self.len() {
            let size = self.found.get(k).map_or(0, |f| f.size) as usize;
            let slot: &mut [u8] = match &mut slots {
                Slots::One(rest) => rest.split_off_mut(..size).unwrap_or_default(),
                Slots::Each(each) => each.get_mut(k).map(std::mem::take).unwrap_or_default(),
            };
            if self.found.get(k).is_none_or(|f| f.error.is_some()) {
                continue;
            }
            let done = self.finish_one(k, slot);
            if let (Err(e), Some(f)) = (done, self.found.get_mut(k)) {
                f.error = Some(e);
            }
        }
    }

    fn finish_one(&self, k: usize, slot: &mut [u8]) -> Result<()> {
        let Some(f) = self.found.get(k) else { return Ok(()) };
        if self.shard.decoder().codec() == Codec::None {
            let (a, b) = self.extent(k);
            match self.shard.mapped((a, b)) {
                Some(bytes) => slot.copy_from_slice(bytes),
                None => self.shard.file().read_exact_at(a, slot)?,
            }
            return self.check_sum(k, slot);
        }
        match &f.decoded {
            Some(d) => slot.copy_from_slice(d),
            None if f.odd == Some(Odd::Empty) => {}
            None => self.shard.decoder().decode(self.stored(k), slot)?,
        }
        Ok(())
    }

    /// Uncompressed neighbours: one copy for all. `false` where that cannot be done.
    fn finish_raw_run(&mut self, slot: &mut [u8]) -> bool {
        let n = self.len();
        let whole = (self.extent(0).0, self.extent(n.saturating_sub(1)).1);
        let sound = self.found.iter().all(|f| f.error.is_none()) && whole.1.checked_sub(whole.0) == Some(slot.len() as u64);
        if !sound || n == 0 {
            return false;
        }
        match self.shard.mapped(whole) {
            Some(bytes) => slot.copy_from_slice(bytes),
            None => {
                if self.shard.file().read_exact_at(whole.0, slot).is_err() {
                    return false;
                }
            }
        }
        if !self.shard.has_sums() {
            return true;
        }
        for k in 0..n {
            let (a, b) = self.extent(k);
            let record = slot.get((a - whole.0) as usize..(b - whole.0) as usize).unwrap_or_default();
            let checked = self.check_sum(k, record);
            if let (Err(e), Some(f)) = (checked, self.found.get_mut(k)) {
                f.error = Some(e);
            }
        }
        true
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
        (Codec::None, mapped) => stored >= 8 << 20 || records >= if mapped { 8192 } else { 256 },
    }
}

fn whole(error: Error) -> Failure {
    Failure { out: 0, error }
}

/// Reads runs, one after the other.
pub fn runs(runs: &[Run<'_>], rules: Rules) -> std::result::Result<Records, Failure> {
    let mut all_bounds = Vec::new();
    let total: u64 = runs.iter().map(|r| r.n).sum();
    memory::allow(total.saturating_mul(16), rules.memory_limit, "the limits of this batch").map_err(whole)?;
    for r in runs {
        let bounds = r.shard.limits().bounds(r.first, r.n).and_then(|b| r.shard.limits().still().map(|()| b));
        all_bounds.push(bounds.map_err(whole)?);
    }
    let mut tasks = Vec::new();
    let mut out = 0;
    let mut worth = false;
    for (r, bounds) in runs.iter().zip(&all_bounds) {
        let stored = bounds.last().zip(bounds.first()).map_or(0, |(b, a)| b.saturating_sub(*a));
        // one system call should fetch something: raw runs are copied in larger pieces
        let (most, bytes) = match r.shard.decoder().codec() {
            Codec::Zstd => (TASK_RECORDS, TASK_BYTES),
            Codec::None => (TASK_RECORDS * 32, TASK_BYTES * 8),
        };
        worth |= enough(r.shard, 0, stored);
        let mut k = 0;
        while k + 1 < bounds.len() {
            let rest = bounds.get(k..).unwrap_or_default();
            let from = rest.first().copied().unwrap_or(0);
            let fits = rest.iter().skip(1).take(most).take_while(|&&b| b.saturating_sub(from) <= bytes).count().max(1);
            let part = rest.get(..=fits).unwrap_or(rest);
            tasks.push(Task::new(r.shard, Which::Run { first: r.first + k as u64, bounds: part, out }));
            out += fits;
            k += fits;
        }
    }
    finish(tasks, out, if worth { rules } else { Rules { threads: 1, ..rules } })
}

/// Reads scattered records; `items` must be sorted, and fill places 0 to their number.
pub fn scattered(shards: &[Shard], items: &[Item], rules: Rules) -> std::result::Result<Records, Failure> {
    let mut tasks = Vec::new();
    let mut worth = false;
    for same in items.chunk_by(|a, b| a.shard == b.shard) {
        let Some(shard) = same.first().and_then(|i| shards.get(i.shard)) else { continue };
        let mean = shard.end() / shard.count().max(1);
        worth |= enough(shard, items.len(), mean.saturating_mul(items.len() as u64));
        let piece = if mean > 16 << 10 { 4 } else { TASK_SCATTERED };
        tasks.extend(same.chunks(piece).map(|items| Task::new(shard, Which::Scattered { items, extents: Vec::with_capacity(items.len()) })));
    }
    finish(tasks, items.len(), if worth { rules } else { Rules { threads: 1, ..rules } })
}

fn finish(mut tasks: Vec<Task<'_>>, n: usize, rules: Rules) -> std::result::Result<Records, Failure> {
    let budget = Budget { left: AtomicU64::new(rules.memory_limit), limit: rules.memory_limit };
    let refused = std::sync::Mutex::new(None::<Failure>);
    parallel::for_each(rules.threads, tasks.iter_mut().collect(), |t: &mut Task<'_>| {
        if let Err(error) = t.prepare(&budget) {
            let out = t.out(0);
            let error = if t.len() == 1 { t.shard.at_record(t.local(0), error) } else { error };
            let mut r = refused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if r.as_ref().is_none_or(|f| f.out > out) {
                *r = Some(Failure { out, error });
            }
        }
    });
    if let Some(f) = refused.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(f);
    }
    let mut records = layout(&tasks, n, rules.memory_limit).map_err(|e| match &tasks[..] {
        [t] if n == 1 => whole(t.shard.at_record(t.local(0), e)),
        _ => whole(e),
    })?;
    let slots = hand_out(&tasks, &mut records.data, &records.offsets);
    let work = tasks.iter_mut().zip(slots).collect();
    parallel::for_each(rules.threads, work, |(t, slots): (&mut Task<'_>, Slots<'_>)| t.finish(slots));
    first_error(&mut tasks, rules)?;
    records.unchecked = tasks.iter().flat_map(|t| &t.found).filter(|f| f.error.is_none() && !f.checked).count() as u64;
    let damaged = collect_damaged(&mut tasks);
    if !damaged.is_empty() {
        empty(&mut records, damaged);
    }
    Ok(records)
}

/// The failure at the lowest place, if there is one that may not be skipped.
fn first_error(tasks: &mut [Task<'_>], rules: Rules) -> std::result::Result<(), Failure> {
    let mut first: Option<Failure> = None;
    for t in tasks.iter_mut() {
        for k in 0..t.len() {
            let (out, local) = (t.out(k), t.local(k));
            if first.as_ref().is_some_and(|f| f.out <= out) {
                continue;
            }
            let fatal = |e: &mut Error| !rules.skip_damaged || !super::damage(e.status);
            if let Some(error) = t.found.get_mut(k).and_then(|f| f.error.take_if(fatal)) {
                first = Some(Failure { out, error: t.shard.at_record(local, error) });
            }
        }
    }
    first.map_or(Ok(()), Err)
}

fn collect_damaged(tasks: &mut [Task<'_>]) -> Vec<(u64, Error)> {
    let mut damaged = Vec::new();
    for t in tasks.iter_mut() {
        for k in 0..t.len() {
            let (out, local) = (t.out(k), t.local(k));
            if let Some(e) = t.found.get_mut(k).and_then(|f| f.error.take()) {
                damaged.push((out as u64, t.shard.at_record(local, e)));
            }
        }
    }
    damaged.sort_by_key(|(out, _)| *out);
    damaged
}

/// Sizes to offsets, and the buffer.
fn layout(tasks: &[Task<'_>], n: usize, limit: u64) -> Result<Records> {
    let mut offsets: Vec<u64> = memory::with_room(n + 1)?;
    offsets.resize(n + 1, 0);
    for t in tasks {
        for (k, f) in t.found.iter().enumerate() {
            if let Some(o) = offsets.get_mut(t.out(k) + 1) {
                *o = f.size;
            }
        }
    }
    let mut end = 0u64;
    for o in &mut offsets {
        end = end.checked_add(*o).ok_or_else(|| Error::new(Status::Limit, "the records of this batch have more than 2^64 bytes"))?;
        *o = end;
    }
    let bytes = memory::allow(end, limit, format_args!("{n} records"))?;
    Ok(Records { data: memory::zeroed(bytes)?, offsets, damaged: Vec::new(), unchecked: 0 })
}

/// The parts of the buffer that each task's records go to.
fn hand_out<'b>(tasks: &[Task<'_>], data: &'b mut [u8], offsets: &[u64]) -> Vec<Slots<'b>> {
    let offset = |i: usize| offsets.get(i).copied().unwrap_or(0);
    let mut rest = data;
    let mut cut = |from: usize, to: usize| rest.split_off_mut(..offset(to).saturating_sub(offset(from)) as usize).unwrap_or_default();
    if tasks.iter().all(|t| matches!(t.which, Which::Run { .. })) {
        return tasks.iter().map(|t| Slots::One(cut(t.out(0), t.out(0) + t.len()))).collect();
    }
    let n = offsets.len().saturating_sub(1);
    let mut slots: Vec<&mut [u8]> = (0..n).map(|i| cut(i, i + 1)).collect();
    let mut own = |t: &Task<'_>, k: usize| slots.get_mut(t.out(k)).map(std::mem::take).unwrap_or_default();
    tasks.iter().map(|t| Slots::Each((0..t.len()).map(|k| own(t, k)).collect())).collect()
}

/// Takes what was written of damaged records out of the buffer.
fn empty(records: &mut Records, damaged: Vec<(u64, Error)>) {
    let mut bad = damaged.iter().map(|(out, _)| *out as usize).peekable();
    let old = records.offsets.clone();
    let mut end = 0usize;
    for (i, pair) in old.windows(2).enumerate() {
        let &[a, b] = pair else { continue };
        if bad.next_if_eq(&i).is_none() {
            records.data.copy_within(a as usize..b as usize, end);
            end += (b - a) as usize;
        }
        if let Some(o) = records.offsets.get_mut(i + 1) {
            *o = end as u64;
        }
    }
    records.data.truncate(end);
    records.damaged = damaged;
}
