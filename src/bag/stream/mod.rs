//! Streams: the records of a bag in any order, finite or infinite, read ahead in parallel, for one
//! or more threads.
//!
//! Records are planned in batches ([`plan`]). Batches wait in a queue ([`slot`]) until threads of
//! the pool, or the thread that requests the records, read them ([`read_ahead`]). Only threads that
//! take records call the caller's index function. No code of the caller runs after the stream is
//! closed or the process ends.
//!
//! After a fork the child process has the queue but no threads that work on it. It starts its own
//! reader with the same records.
#![forbid(unsafe_code)]

mod plan;
mod read_ahead;
mod slot;

#[cfg(test)]
mod tests;

pub use plan::Next;

use super::Bag;
use super::batch::{BatchLayout, Destination, OwnedBuffer, Records, Skip};
use crate::alloc;
use crate::error::{Error, Result, Status};
use crate::options::{BAG_OPTIONS, Opt, Options};
use crate::os;
use crate::parallel::Threads;
use crate::slice::SliceExt;
use plan::{Bounds, Plan};
use read_ahead::{Gate, Reader, Settings};
use slot::{Slot, SlotRange};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Options of [`Stream::open`]. The bag determines options that are not set.
pub const STREAM_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::SkipDamaged,
    Opt::BagReadAhead,
    Opt::BagReadAheadBytes,
];

/// Records in a requested order, read ahead. Multiple threads may call [`Stream::take`] at once.
pub struct Stream {
    state: Mutex<State>,
    bounds: Bounds,
    skip_damaged: bool,
    /// Number of damaged records that were returned empty.
    damaged: AtomicU64,
    /// Number of the record that `next_record` returned last, and whether it is damaged.
    number: u64,
    is_damaged: bool,
    /// Token of the thread that is calling the index function, or 0.
    callback_thread: AtomicUsize,
    /// Id of the process that owns the reader.
    process: AtomicU32,
}

/// Mutable state of a stream: the plan, the queue of planned records, and the reader.
struct State {
    plan: Plan,
    queue: VecDeque<QueueEntry>,
    /// The records from which [`Stream::next_record`] returns the next.
    current: Option<SlotRange>,
    reader: Arc<Reader>,
    gate: Gate,
}

enum QueueEntry {
    Records(SlotRange),
    /// An error at the position of a record.
    Failed(Error),
}

/// A batch of a stream.
pub struct Batch {
    /// The records.
    pub records: Records,
    /// Numbers of the records in the bag.
    pub numbers: Vec<u64>,
}

/// Returns the error of a call on a stream from within its own index function.
pub fn callback_reentry_error() -> Error {
    Error::new(
        Status::State,
        "the index function of a stream must not call its own stream",
    )
}

/// Returns a token of this thread, unique among the running threads.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl Stream {
    /// Opens a stream of the records that `next` returns, or of all records in order.
    pub fn open(bag: &Bag, next: Option<Next>, options: &Options) -> Result<Stream> {
        let options =
            &options.applying("opening a stream of a bag", STREAM_OPTIONS, BAG_OPTIONS)?;
        let of_bag = bag.batch_config();
        let threads = options
            .given(Opt::Threads)
            .map_or(of_bag.threads, |_| options.threads());
        let memory_limit = options
            .given(Opt::MemoryLimit)
            .map_or(of_bag.memory_limit, |m| m as u64);
        let skip_damaged = options
            .given(Opt::SkipDamaged)
            .map_or(of_bag.skip == Skip::Damaged, |s| s == 1);
        let bounds = Bounds::new(options, threads.count(), memory_limit);
        let none = bounds.records == 0;
        let settings = Settings {
            helpers: if none { 0 } else { threads.count() - 1 },
            threads: if none { threads } else { Threads::ONE },
            memory: bounds.memory,
            most: bounds.most,
            batches: bounds.batches,
        };
        let reader = Arc::new(Reader::new(bag.clone(), settings));
        let gate = Gate::new(reader.clone());
        let state = State {
            plan: Plan::new(bag, next),
            queue: VecDeque::new(),
            current: None,
            reader,
            gate,
        };
        Ok(Stream {
            state: Mutex::new(state),
            bounds,
            skip_damaged,
            damaged: AtomicU64::new(0),
            number: u64::MAX,
            is_damaged: false,
            callback_thread: AtomicUsize::new(0),
            process: AtomicU32::new(os::process()),
        })
    }

    /// Returns the next record, or `None` at the end. After an error the next call returns the
    /// record after it.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>> {
        if !self
            .state
            .get_mut()
            .is_ok_and(|a| a.current.as_ref().is_some_and(|p| !p.range.is_empty()))
        {
            let current = self.take_ranges(0)?.0.pop();
            self.state
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .current = current;
        }
        let Some(part) = &mut self
            .state
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .current
        else {
            return Ok(None);
        };
        let (Some(i), Some(read)) = (part.range.next(), part.slot.get()) else {
            return Ok(None);
        };
        self.number = part.slot.numbers.at(i);
        self.is_damaged = read.damage(i).is_some();
        if self.is_damaged {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Some(read.records.get(i)))
    }

    /// Returns the next `n` records, or `None` at the end. With `n` = 0 it returns one batch as it
    /// was read. It returns fewer records at the end and before a record that cannot be read; the
    /// next call returns the error of that record.
    pub fn take(&self, n: usize) -> Result<Option<Batch>> {
        let (mut parts, reader) = self.take_ranges(n)?;
        if parts.is_empty() {
            return Ok(None);
        }
        match merge(&mut parts, &reader) {
            Ok(batch) => {
                self.damaged
                    .fetch_add(batch.records.damaged.len() as u64, Ordering::Relaxed);
                Ok(Some(batch))
            }
            Err(e) => {
                self.put_back(parts.into_iter().map(QueueEntry::Records).collect())?;
                Err(e)
            }
        }
    }

    /// Returns ranges of up to `n` records that were read, none at the end; and their reader.
    fn take_ranges(&self, n: usize) -> Result<(Vec<SlotRange>, Arc<Reader>)> {
        let mut mine = VecDeque::new();
        let reader = {
            let mut a = self.lock_state()?;
            if let Some(part) = a.current.take().filter(|p| !p.range.is_empty()) {
                a.queue.push_front(QueueEntry::Records(part));
            }
            self.detach(&mut a, n, &mut mine);
            a.reader.clone()
        };
        let (mut parts, mut got) = (Vec::new(), 0);
        let found = loop {
            let most = if n == 0 { usize::MAX } else { n - got };
            if most == 0 || (n == 0 && got > 0) {
                break Ok(());
            }
            match self.next_ready(&reader, &mut mine, most) {
                Ok(Some(part)) => {
                    got += part.range.len();
                    parts.push(part);
                }
                Ok(None) => break Ok(()),
                Err(e) if got == 0 => break Err(e),
                Err(e) => {
                    mine.push_front(QueueEntry::Failed(e));
                    break Ok(());
                }
            }
        };
        self.put_back(mine)?;
        found.map(|()| (parts, reader))
    }

    /// Returns the number of damaged records that were returned empty because of `SkipDamaged`.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Returns the number in the bag of the record that `next_record` returned last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether the record that `next_record` returned last is damaged and therefore empty.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Returns whether the index function of this stream is running on this thread.
    pub fn is_in_callback(&self) -> bool {
        let callback_thread = self.callback_thread.load(Ordering::Relaxed);
        callback_thread != 0 && callback_thread == this_thread()
    }

    /// Locks the state. In a forked child it restarts the work that threads of the parent had
    /// started.
    fn lock_state(&self) -> Result<MutexGuard<'_, State>> {
        if self.is_in_callback() {
            return Err(callback_reentry_error());
        }
        let me = os::process();
        let mut a = match self.state.try_lock() {
            Ok(a) => a,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) if self.process.load(Ordering::Acquire) != me => {
                return Err(Error::new(
                    Status::State,
                    "another thread was using the stream when this process was forked; open a new stream",
                ));
            }
            Err(TryLockError::WouldBlock) => {
                self.state.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        if self.process.swap(me, Ordering::AcqRel) != me {
            a.restart_after_fork()?;
        }
        Ok(a)
    }

    /// Moves `n` planned records (0: the first batch) to `mine`, and plans as many again. It moves
    /// fewer at the end and before an error.
    fn detach(&self, a: &mut State, n: usize, mine: &mut VecDeque<QueueEntry>) {
        let (mut got, n, whole) = (0, n.max(1), n == 0);
        while got < n {
            if a.queue.is_empty() {
                self.plan(a, (n - got) as u64, 0);
            }
            match a.queue.pop_front() {
                Some(QueueEntry::Records(mut part)) => {
                    let end = if whole {
                        part.range.end
                    } else {
                        part.range.end.min(part.range.start.saturating_add(n - got))
                    };
                    let rest = SlotRange {
                        slot: part.slot.clone(),
                        range: end..part.range.end,
                    };
                    push_front_all(&mut a.queue, vec![rest]);
                    part.range.end = end;
                    got += part.range.len();
                    mine.push_back(QueueEntry::Records(part));
                }
                Some(failed) => {
                    mine.push_back(failed);
                    break;
                }
                None => break,
            }
        }
        if self.bounds.records > 0 {
            self.plan(a, 0, got.saturating_sub(n) as u64);
        }
    }

    /// Plans batches up to the limits. If the queue is empty and nothing is read ahead, it plans
    /// one batch of `requested` records. `held`: number of records that were taken from the queue
    /// but are not returned yet.
    fn plan(&self, a: &mut State, requested: u64, held: u64) {
        self.callback_thread.store(this_thread(), Ordering::Relaxed);
        loop {
            let planned = a
                .queue
                .iter()
                .map(QueueEntry::len)
                .fold(held, u64::saturating_add);
            let failing = matches!(a.queue.back(), Some(QueueEntry::Failed(_)));
            let room = self.bounds.records.saturating_sub(planned);
            let demanded = if a.queue.is_empty() { requested } else { 0 };
            if failing
                || a.plan.ended()
                || a.queue.len() >= self.bounds.max_batches(a.reader.mean())
                || room.max(demanded) == 0
            {
                break;
            }
            let (slot, error) = match room {
                0 => a.plan.next_slot(demanded),
                _ => a.plan.next_batch(&self.bounds, a.reader.mean(), room),
            };
            a.push(slot, error);
        }
        self.callback_thread.store(0, Ordering::Relaxed);
    }

    /// Returns the first records of `mine`, all of which can be returned, or the error of the first
    /// one.
    fn next_ready(
        &self,
        reader: &Reader,
        mine: &mut VecDeque<QueueEntry>,
        most: usize,
    ) -> Result<Option<SlotRange>> {
        let skip = |e: &Error| self.skip_damaged && e.status.is_corruption();
        loop {
            let mut part = match mine.pop_front() {
                Some(QueueEntry::Records(part)) => part,
                Some(QueueEntry::Failed(e)) => return Err(e),
                None => return Ok(None),
            };
            let read = reader.get_or_read(&part.slot);
            let (start, tried) = (part.range.start, read.records.len());
            let end = read
                .intact_end(&part.range, &skip)
                .min(start.saturating_add(most));
            if end > start {
                let rest = SlotRange {
                    slot: part.slot.clone(),
                    range: end..part.range.end,
                };
                if !rest.range.is_empty() {
                    mine.push_front(QueueEntry::Records(rest));
                }
                part.range.end = end;
                return Ok(Some(part));
            }
            if let Some(e) = read.error(start, &part.slot, &skip) {
                part.range.start += 1;
                let rest = if start < tried {
                    vec![part]
                } else {
                    part.split_growing()?
                };
                push_front_all(mine, rest);
                return Err(e);
            }
            let retry = if start == 0 && tried == 0 {
                part.split_off_first()?
            } else {
                vec![part.reread()?]
            };
            push_front_all(mine, retry);
        }
    }

    fn put_back(&self, mut mine: VecDeque<QueueEntry>) -> Result<()> {
        if !mine.is_empty() {
            let mut a = self.lock_state()?;
            mine.append(&mut a.queue);
            a.queue = mine;
        }
        Ok(())
    }
}

fn push_front_all(mine: &mut VecDeque<QueueEntry>, parts: Vec<SlotRange>) {
    parts
        .into_iter()
        .rev()
        .filter(|p| !p.range.is_empty())
        .for_each(|p| mine.push_front(QueueEntry::Records(p)));
}

impl QueueEntry {
    fn len(&self) -> u64 {
        match self {
            QueueEntry::Records(part) => part.range.len() as u64,
            QueueEntry::Failed(_) => 1,
        }
    }
}

impl State {
    fn push(&mut self, slot: Option<Slot>, error: Option<Error>) {
        if let Some(slot) = slot {
            let part = SlotRange::whole(slot);
            self.gate.push(&self.reader, &part.slot);
            self.queue.push_back(QueueEntry::Records(part));
        }
        self.queue.extend(error.map(QueueEntry::Failed));
    }

    /// Restarts in a forked child, with a reader that has no work in progress.
    fn restart_after_fork(&mut self) -> Result<()> {
        self.reader = Arc::new(self.reader.restarted());
        self.gate = Gate::new(self.reader.clone());
        for piece in &mut self.queue {
            if let QueueEntry::Records(part) = piece {
                *part = part.reread()?;
            }
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // a forked child that has not used the stream has no threads that work on it
        if self.process.load(Ordering::Acquire) == os::process() {
            let a = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            a.gate.close(&a.reader);
        }
    }
}

/// Merges ranges that were read into one batch. On failure `parts` is unchanged.
fn merge(parts: &mut Vec<SlotRange>, reader: &Reader) -> Result<Batch> {
    let mut numbers = alloc::with_capacity(parts.iter().map(|p| p.range.len()).sum())?;
    for p in &*parts {
        numbers.extend(p.range.clone().map(|i| p.slot.numbers.at(i)));
    }
    if let [part] = &parts[..]
        && part
            .slot
            .get()
            .is_some_and(|read| part.range == (0..read.records.len()))
        && let Some(SlotRange { slot, range }) = parts.pop()
    {
        match Arc::try_unwrap(slot) {
            Ok(slot) => {
                return Ok(Batch {
                    records: slot.into_records(),
                    numbers,
                });
            }
            Err(slot) => parts.push(SlotRange { slot, range }),
        }
    }
    let mut layout = BatchLayout::empty();
    alloc::reserve(&mut layout.offsets, numbers.len())?;
    let spans = spans(parts, &mut layout)?;
    let mut buffer = OwnedBuffer::new(reader.buffers());
    let mut target = buffer.allocate(spans.iter().map(|s| s.len()).sum())?;
    for span in spans {
        let (to, rest) = target.split_at_mut(span.len());
        to.copy_from_slice(span);
        target = rest;
    }
    Ok(Batch {
        records: buffer.into_records(layout),
        numbers,
    })
}

/// Returns the bytes of the ranges in order, and adds their records to `layout`.
fn spans<'p>(parts: &'p [SlotRange], layout: &mut BatchLayout) -> Result<Vec<&'p [u8]>> {
    let mut spans = alloc::with_capacity(parts.len())?;
    let mut end = 0;
    for p in parts {
        let read = p
            .slot
            .get()
            .ok_or_else(|| Error::internal("a batch of unread records"))?;
        let offsets = read.records.offsets.at(p.range.start..=p.range.end)?;
        let (from, to) = (*offsets.at(0)?, *offsets.at(p.range.len())?);
        let before = layout.offsets.len() - 1;
        let ends = offsets.iter().skip(1);
        layout.offsets.extend(ends.map(|o| end + o - from));
        for (at, e) in read
            .records
            .damaged
            .iter()
            .filter(|(at, _)| p.range.contains(&(*at as usize)))
        {
            alloc::reserve(&mut layout.damaged, 1)?;
            layout
                .damaged
                .push((at - p.range.start as u64 + before as u64, e.clone()));
        }
        end += to - from;
        spans.push(read.records.data.at(from as usize..to as usize)?);
    }
    Ok(spans)
}
