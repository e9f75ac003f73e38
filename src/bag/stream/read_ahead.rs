//! Reading the batches of a stream: by whoever wants one, and by threads of the pool ahead of that.
//!
//! A batch is read by one thread, and several at once by several: nobody waits for the slowest part
//! of one. Who wants a batch that another thread is just reading reads one of those to come
//! meanwhile. Every job of the pool does one batch, so that other calls of the library get their
//! turn.
#![forbid(unsafe_code)]

use super::slot::{Read, Slot, Then};
use crate::bag::Bag;
use crate::bag::batch::{Records, Rules, Skip, Spare};
use crate::error::{Error, Status};
use crate::parallel::{self, Threads};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What the threads that read the batches of one stream share.
pub struct Work {
    bag: Bag,
    settings: Settings,
    spare: Arc<Spare>,
    /// Slots that perhaps nobody has claimed, in their order.
    todo: Mutex<VecDeque<Arc<Slot>>>,
    /// Jobs of the pool that have not begun, those that have and read no batch yet, and those that
    /// read one.
    waiting: AtomicUsize,
    begun: AtomicUsize,
    busy: AtomicUsize,
    stop: AtomicBool,
    /// Bytes of a record, lately.
    mean: AtomicU64,
}

/// A stream's work, as jobs of the pool that are still to begin have it: gone, once the stream is
/// closed.
pub struct Gate(Arc<RwLock<Option<Arc<Work>>>>);

impl Gate {
    /// To this work.
    pub fn new(work: Arc<Work>) -> Gate {
        Gate(Arc::new(RwLock::new(Some(work))))
    }

    /// A slot that may be read ahead.
    pub fn push(&self, work: &Work, slot: &Arc<Slot>) {
        if work.settings.helpers == 0 {
            return;
        }
        {
            let mut todo = work.todo.lock().unwrap_or_else(PoisonError::into_inner);
            todo.retain(|s| !s.is_claimed());
            todo.push_back(slot.clone());
        }
        // the pool may have others to serve for long
        if work.waiting.fetch_add(1, Ordering::Relaxed) >= work.settings.batches {
            work.waiting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let gate = self.0.clone();
        let spawned = parallel::spawn(move || {
            if let Some(work) = gate.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
                work.job();
            }
        });
        if !spawned {
            work.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits for those that read, who stop at their next record; nobody begins any more.
    pub fn close(&self, work: &Work) {
        work.stop.store(true, Ordering::Relaxed);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// How batches are read.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Threads of the pool that may be at it.
    pub helpers: usize,
    /// Threads for one batch.
    pub threads: Threads,
    /// What one batch may allocate, and a record that does not fit into that.
    pub memory: (u64, u64),
    /// Bytes that the records of a batch may have.
    pub most: u64,
    /// Batches at once.
    pub batches: usize,
}

impl Work {
    /// Of this bag.
    pub fn new(bag: Bag, settings: Settings) -> Work {
        Work {
            settings,
            spare: Arc::new(Spare::new(
                settings.batches + settings.helpers + 1,
                settings.memory.0.saturating_mul(settings.batches as u64),
            )),
            todo: Mutex::default(),
            waiting: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            mean: AtomicU64::new(bag.mean()),
            bag,
        }
    }

    /// The same, of which nothing has begun.
    pub fn anew(&self) -> Work {
        Work::new(self.bag.clone(), self.settings)
    }

    /// Buffers for batches.
    pub fn spare(&self) -> &Arc<Spare> {
        &self.spare
    }

    /// Bytes of a record, about.
    pub fn mean(&self) -> u64 {
        self.mean.load(Ordering::Relaxed)
    }

    /// What came of a slot: reads it, or has it read.
    pub fn have<'s>(&self, slot: &'s Slot) -> &'s Read {
        loop {
            if let Some(read) = slot.get() {
                return read;
            }
            if slot.claim() {
                self.read(slot);
            } else if !self.one_of_those_to_come() {
                return slot.wait();
            }
        }
    }

    /// Reads the first slot that nobody has claimed. Says whether there was one.
    fn one_of_those_to_come(&self) -> bool {
        loop {
            let next = self
                .todo
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            match next {
                Some(slot) if slot.claim() => {
                    self.read(&slot);
                    return true;
                }
                Some(_) => {}
                None => return false,
            }
        }
    }

    /// A job of the pool: a batch, unless as many jobs as may are at it; they do those of the
    /// others, too.
    fn job(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::AcqRel);
        loop {
            let may = self.busy.fetch_add(1, Ordering::AcqRel) < self.settings.helpers;
            while may
                && self
                    .begun
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1))
                    .is_ok()
            {
                self.one_of_those_to_come();
            }
            self.busy.fetch_sub(1, Ordering::AcqRel);
            // one that came just now may have found this one still at it
            if !may || self.begun.load(Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    /// Reads a slot that is claimed.
    fn read(&self, slot: &Slot) {
        // whoever waits for it must get something
        let read = catch_unwind(AssertUnwindSafe(|| self.try_read(slot))).unwrap_or_else(|p| {
            // what a panic carries may panic when it is dropped
            std::mem::forget(p);
            Read::failed(Error::new(
                Status::Panic,
                "this is a bug in holdall: reading a batch of a stream ended in a panic",
            ))
        });
        if let Some(mean) = (read.records.data.len() as u64).checked_div(read.records.len() as u64)
        {
            self.mean
                .store((self.mean() + mean).div_ceil(2), Ordering::Relaxed);
        }
        slot.put(read);
    }

    fn try_read(&self, slot: &Slot) -> Read {
        let (memory, alone) = self.settings.memory;
        let rules = Rules {
            spare: &self.spare,
            stop: Some(&self.stop),
            threads: self.settings.threads,
            memory_limit: if slot.alone { alone } else { memory },
            most: if slot.alone {
                u64::MAX
            } else {
                self.settings.most
            },
            skip: Skip::All,
        };
        let all = slot.numbers.len();
        let mut n = all;
        loop {
            let failure = match self.bag.gathered(slot.numbers.first(n), rules) {
                Ok(records) => {
                    return Read {
                        records,
                        then: if n == all {
                            Then::Nothing
                        } else {
                            Then::Unread
                        },
                    };
                }
                Err(failure) => failure,
            };
            let too_much = matches!(failure.error.status, Status::Limit | Status::Memory);
            n = match (n, failure.out) {
                (1, _) if too_much && !slot.alone => {
                    return Read {
                        records: Records::none(),
                        then: Then::Unread,
                    };
                }
                (1, _) => return Read::failed(failure.error),
                _ if failure.error.status == Status::Cancelled => {
                    return Read::failed(failure.error);
                }
                (n, 0) => (n / 8).max(1),
                // the record that failed, or with which it became too much: those before it may do
                (n, out) => out.min(n - 1),
            };
        }
    }
}
