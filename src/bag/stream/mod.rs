//! Streams: the records of a bag in any order, finite or not, read ahead in parallel, for one
//! thread or several.
//!
//! What comes next is planned in batches ([`plan`]), which wait in a queue ([`slot`]) until threads
//! of the pool, or who wants their records, read them ([`work`]). The caller's index function is
//! called by whoever takes records, never by another thread: so nothing of the caller's runs once
//! the stream is closed, or the process ends.
//!
//! After a fork the child has the queue, and nobody who works on it: it plans its own work anew,
//! with the same records.
#![forbid(unsafe_code)]

mod plan;
mod read_ahead;
mod slot;

#[cfg(test)]
mod tests;

pub use plan::Next;

use super::Bag;
use super::batch::{Own, Places, Records, Room, Skip};
use crate::alloc;
use crate::error::{Error, Result, Status};
use crate::options::{Opt, Options};
use crate::os;
use crate::parallel::Threads;
use plan::{Bounds, Plan};
use read_ahead::{Gate, Settings, Work};
use slot::{Part, Slot};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// Options that opening a stream knows. What is not given is as the bag has it.
pub const STREAM_OPTIONS: &[Opt] = &[
    Opt::Threads,
    Opt::MemoryLimit,
    Opt::SkipDamaged,
    Opt::BagReadAhead,
    Opt::BagReadAheadBytes,
];

/// Records in a wanted order, read ahead. [`Stream::take`] may be called by many threads.
pub struct Stream {
    ahead: Mutex<Ahead>,
    bounds: Bounds,
    skip_damaged: bool,
    /// Damaged records that were given as empty ones.
    damaged: AtomicU64,
    /// The number of the record that was given last.
    number: u64,
    /// The thread that calls the index function now, or 0.
    inside: AtomicUsize,
    /// The process that plans.
    process: AtomicU32,
}

/// What was planned and not given, and what plans.
struct Ahead {
    plan: Plan,
    queue: VecDeque<Piece>,
    /// What [`Stream::next_record`] gives from.
    lent: Option<Part>,
    work: Arc<Work>,
    gate: Gate,
}

enum Piece {
    Part(Part),
    /// In place of a record.
    Failed(Error),
}

/// A batch of a stream.
pub struct Batch {
    /// The records.
    pub records: Records,
    /// Their numbers in the bag.
    pub numbers: Vec<u64>,
}

/// What a call gets that the index function of its stream makes.
pub fn inside_of_a_stream() -> Error {
    Error::new(
        Status::State,
        "the index function of the stream has called it",
    )
}

/// Something that only this thread has, of those that live.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

impl Stream {
    /// The records that `next` wants, in its order; or all in theirs.
    pub fn open(bag: &Bag, next: Option<Next>, options: &Options) -> Result<Stream> {
        options.only("opening a stream of a bag", STREAM_OPTIONS)?;
        let of_bag = bag.rules();
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
        let work = Arc::new(Work::new(bag.clone(), settings));
        let gate = Gate::new(work.clone());
        let ahead = Ahead {
            plan: Plan::new(bag, next),
            queue: VecDeque::new(),
            lent: None,
            work,
            gate,
        };
        Ok(Stream {
            ahead: Mutex::new(ahead),
            bounds,
            skip_damaged,
            damaged: AtomicU64::new(0),
            number: u64::MAX,
            inside: AtomicUsize::new(0),
            process: AtomicU32::new(os::process()),
        })
    }

    /// The next record; `None` at the end. After an error the next call gives the record behind it.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>> {
        if !self
            .ahead
            .get_mut()
            .is_ok_and(|a| a.lent.as_ref().is_some_and(|p| !p.range.is_empty()))
        {
            let lent = self.some(0)?.0.pop();
            self.ahead
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner)
                .lent = lent;
        }
        let Some(part) = &mut self
            .ahead
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .lent
        else {
            return Ok(None);
        };
        let (Some(place), Some(read)) = (part.range.next(), part.slot.get()) else {
            return Ok(None);
        };
        self.number = part.slot.numbers.at(place);
        if read.damage(place).is_some() {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Some(read.records.get(place)))
    }

    /// The next `n` records (0: as many as were read together), or fewer at the end and before one
    /// that cannot be read, whose error the next call is told; `None` at the end.
    pub fn take(&self, n: usize) -> Result<Option<Batch>> {
        let (mut parts, work) = self.some(n)?;
        if parts.is_empty() {
            return Ok(None);
        }
        match gather(&mut parts, &work) {
            Ok(batch) => {
                self.damaged
                    .fetch_add(batch.records.damaged.len() as u64, Ordering::Relaxed);
                Ok(Some(batch))
            }
            Err(e) => {
                self.put_back(parts.into_iter().map(Piece::Part).collect())?;
                Err(e)
            }
        }
    }

    /// Records that are there to be given, none at the end; and what has read them.
    fn some(&self, n: usize) -> Result<(Vec<Part>, Arc<Work>)> {
        let mut mine = VecDeque::new();
        let work = {
            let mut a = self.enter()?;
            if let Some(part) = a.lent.take().filter(|p| !p.range.is_empty()) {
                a.queue.push_front(Piece::Part(part));
            }
            self.detach(&mut a, n, &mut mine);
            a.work.clone()
        };
        let (mut parts, mut got) = (Vec::new(), 0);
        let found = loop {
            let most = if n == 0 { usize::MAX } else { n - got };
            if most == 0 || (n == 0 && got > 0) {
                break Ok(());
            }
            match self.front(&work, &mut mine, most) {
                Ok(Some(part)) => {
                    got += part.range.len();
                    parts.push(part);
                }
                Ok(None) => break Ok(()),
                Err(e) if got == 0 => break Err(e),
                Err(e) => {
                    mine.push_front(Piece::Failed(e));
                    break Ok(());
                }
            }
        };
        self.put_back(mine)?;
        found.map(|()| (parts, work))
    }

    /// Damaged records that were given as empty ones, as the options wished.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// The number in the bag of the record that `next_record` gave last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Does its index function run on this thread now?
    pub fn is_inside(&self) -> bool {
        let inside = self.inside.load(Ordering::Relaxed);
        inside != 0 && inside == this_thread()
    }

    /// What is shared, for this thread alone. In a forked child what the parent's threads have
    /// begun is begun anew.
    fn enter(&self) -> Result<MutexGuard<'_, Ahead>> {
        if self.is_inside() {
            return Err(inside_of_a_stream());
        }
        let me = os::process();
        let mut a = match self.ahead.try_lock() {
            Ok(a) => a,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) if self.process.load(Ordering::Acquire) != me => {
                return Err(Error::new(
                    Status::State,
                    "another thread was using the stream when this process was forked: open another one",
                ));
            }
            Err(TryLockError::WouldBlock) => {
                self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        if self.process.swap(me, Ordering::AcqRel) != me {
            a.begin_anew();
        }
        Ok(a)
    }

    /// Takes `n` records from what was planned (0: the first batch), or fewer before one that
    /// cannot be had and at the end, and plans as many again.
    fn detach(&self, a: &mut Ahead, n: usize, mine: &mut VecDeque<Piece>) {
        let (mut got, n, whole) = (0, n.max(1), n == 0);
        while got < n {
            if a.queue.is_empty() {
                self.plan(a, (n - got) as u64, 0);
            }
            match a.queue.pop_front() {
                Some(Piece::Part(mut part)) => {
                    let end = if whole {
                        part.range.end
                    } else {
                        part.range.end.min(part.range.start.saturating_add(n - got))
                    };
                    let rest = Part {
                        slot: part.slot.clone(),
                        range: end..part.range.end,
                    };
                    put_first(&mut a.queue, vec![rest]);
                    part.range.end = end;
                    got += part.range.len();
                    mine.push_back(Piece::Part(part));
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

    /// Plans batches until there are enough of them; where there is none and nothing is read ahead,
    /// one of `wanted` records. `held`: records that were taken from the queue and are not
    /// wanted yet.
    fn plan(&self, a: &mut Ahead, wanted: u64, held: u64) {
        self.inside.store(this_thread(), Ordering::Relaxed);
        loop {
            let planned = a
                .queue
                .iter()
                .map(Piece::len)
                .fold(held, u64::saturating_add);
            let failing = matches!(a.queue.back(), Some(Piece::Failed(_)));
            let room = self.bounds.records.saturating_sub(planned);
            let demanded = if a.queue.is_empty() { wanted } else { 0 };
            if failing
                || a.plan.ended()
                || a.queue.len() >= self.bounds.at_once(a.work.mean())
                || room.max(demanded) == 0
            {
                break;
            }
            let (slot, refused) = match room {
                0 => a.plan.slot(demanded),
                _ => a.plan.suiting(&self.bounds, a.work.mean(), room),
            };
            a.push(slot, refused);
        }
        self.inside.store(0, Ordering::Relaxed);
    }

    /// What comes first: records that are there, all of them to be given, or why the first one is
    /// not.
    fn front(&self, work: &Work, mine: &mut VecDeque<Piece>, most: usize) -> Result<Option<Part>> {
        let skip = |e: &Error| self.skip_damaged && super::damage(e.status);
        loop {
            let mut part = match mine.pop_front() {
                Some(Piece::Part(part)) => part,
                Some(Piece::Failed(e)) => return Err(e),
                None => return Ok(None),
            };
            let read = work.have(&part.slot);
            let (start, tried) = (part.range.start, read.records.len());
            let end = read
                .sound(&part.range, &skip)
                .min(start.saturating_add(most));
            if end > start {
                let rest = Part {
                    slot: part.slot.clone(),
                    range: end..part.range.end,
                };
                if !rest.range.is_empty() {
                    mine.push_front(Piece::Part(rest));
                }
                part.range.end = end;
                return Ok(Some(part));
            }
            if let Some(e) = read.error(start, &part.slot, &skip) {
                part.range.start += 1;
                let behind = if start < tried {
                    vec![part]
                } else {
                    part.in_pieces()
                };
                put_first(mine, behind);
                return Err(e);
            }
            let anew = if start == 0 && tried == 0 {
                part.first_alone()
            } else {
                vec![part.again()]
            };
            put_first(mine, anew);
        }
    }

    fn put_back(&self, mut mine: VecDeque<Piece>) -> Result<()> {
        if !mine.is_empty() {
            let mut a = self.enter()?;
            mine.append(&mut a.queue);
            a.queue = mine;
        }
        Ok(())
    }
}

fn put_first(mine: &mut VecDeque<Piece>, parts: Vec<Part>) {
    parts
        .into_iter()
        .rev()
        .filter(|p| !p.range.is_empty())
        .for_each(|p| mine.push_front(Piece::Part(p)));
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Piece::Part(part) => part.range.len() as u64,
            Piece::Failed(_) => 1,
        }
    }
}

impl Ahead {
    fn push(&mut self, slot: Option<Slot>, refused: Option<Error>) {
        if let Some(slot) = slot {
            let part = Part::whole(slot);
            self.gate.push(&self.work, &part.slot);
            self.queue.push_back(Piece::Part(part));
        }
        self.queue.extend(refused.map(Piece::Failed));
    }

    /// In a forked child: with work that nobody of the parent's has begun.
    fn begin_anew(&mut self) {
        self.work = Arc::new(self.work.anew());
        self.gate = Gate::new(self.work.clone());
        for piece in &mut self.queue {
            if let Piece::Part(part) = piece {
                *part = part.again();
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // in a forked child that has not used it nobody is at work
        if self.process.load(Ordering::Acquire) == os::process() {
            let a = self.ahead.get_mut().unwrap_or_else(PoisonError::into_inner);
            a.gate.close(&a.work);
        }
    }
}

/// Makes one batch of parts that are there; on failure they are as they were.
fn gather(parts: &mut Vec<Part>, work: &Work) -> Result<Batch> {
    let mut numbers = alloc::with_room(parts.iter().map(|p| p.range.len()).sum())?;
    for p in &*parts {
        numbers.extend(p.range.clone().map(|place| p.slot.numbers.at(place)));
    }
    if let [part] = &parts[..]
        && part
            .slot
            .get()
            .is_some_and(|read| part.range == (0..read.records.len()))
        && let Some(Part { slot, range }) = parts.pop()
    {
        match Arc::try_unwrap(slot) {
            Ok(slot) => {
                return Ok(Batch {
                    records: slot.into_records(),
                    numbers,
                });
            }
            Err(slot) => parts.push(Part { slot, range }),
        }
    }
    let mut places = Places::none();
    alloc::reserve(&mut places.offsets, numbers.len())?;
    let spans = spans(parts, &mut places)?;
    let mut own = Own::new(work.spare());
    let mut room = own.make(spans.iter().map(|s| s.len()).sum())?;
    for span in spans {
        let (to, rest) = room.split_at_mut(span.len());
        to.copy_from_slice(span);
        room = rest;
    }
    Ok(Batch {
        records: own.with(places),
        numbers,
    })
}

/// The bytes of parts, one after the other; `places` says which are whose.
fn spans<'p>(parts: &'p [Part], places: &mut Places) -> Result<Vec<&'p [u8]>> {
    let mut spans = alloc::with_room(parts.len())?;
    let mut end = 0;
    for p in parts {
        let Some(read) = p.slot.get() else { continue };
        let bound = |place: usize| read.records.offsets.get(place).copied().unwrap_or(0);
        let (from, to) = (bound(p.range.start), bound(p.range.end));
        let before = places.offsets.len() - 1;
        places
            .offsets
            .extend(p.range.clone().map(|place| end + bound(place + 1) - from));
        for (at, e) in read
            .records
            .damaged
            .iter()
            .filter(|(at, _)| p.range.contains(&(*at as usize)))
        {
            alloc::reserve(&mut places.damaged, 1)?;
            places
                .damaged
                .push((at - p.range.start as u64 + before as u64, e.clone()));
        }
        end += to - from;
        spans.push(
            read.records
                .data
                .get(from as usize..to as usize)
                .unwrap_or_default(),
        );
    }
    Ok(spans)
}
