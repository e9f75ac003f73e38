//! Reads the batches of a stream, ahead of the caller on threads of the pool, or on the thread that
//! requests a batch.
//!
//! One thread reads a batch, and several threads read several batches at once, so that no thread
//! waits for the slowest part of a batch. A thread that requests a batch which another thread is
//! reading reads one of the following batches meanwhile. Every job of the pool reads one batch, so
//! that other calls of the library get their turn.
#![forbid(unsafe_code)]

use super::slot::{ReadResult, Remainder, Slot};
use crate::bag::Bag;
use crate::bag::batch::{BatchConfig, BufferPool, Records, Skip};
use crate::error::{Error, Status};
use crate::parallel::{self, Threads};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// State shared by the threads that read the batches of one stream.
pub struct Reader {
    bag: Bag,
    settings: Settings,
    buffers: Arc<BufferPool>,
    /// Slots in order, of which some may be unclaimed.
    todo: Mutex<VecDeque<Arc<Slot>>>,
    /// Number of pool jobs that have not started; that have started but not read a batch; and that
    /// are reading one.
    queued: AtomicUsize,
    started: AtomicUsize,
    busy: AtomicUsize,
    stop: AtomicBool,
    /// Moving average of the record size in bytes.
    mean: AtomicU64,
}

/// Access of pool jobs to the reader of a stream. Empty after the stream is closed, so that jobs
/// that start later do nothing.
pub struct Gate(Arc<RwLock<Option<Arc<Reader>>>>);

impl Gate {
    /// Creates access to this reader.
    pub fn new(reader: Arc<Reader>) -> Gate {
        Gate(Arc::new(RwLock::new(Some(reader))))
    }

    /// Adds a slot that may be read ahead, and starts a pool job for it.
    pub fn push(&self, reader: &Reader, slot: &Arc<Slot>) {
        if reader.settings.helpers == 0 {
            return;
        }
        {
            let mut todo = reader.todo.lock().unwrap_or_else(PoisonError::into_inner);
            todo.retain(|s| !s.is_claimed());
            todo.push_back(slot.clone());
        }
        // the pool may be busy with other callers for long
        if reader.queued.fetch_add(1, Ordering::Relaxed) >= reader.settings.batches {
            reader.queued.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let gate = self.0.clone();
        let spawned = parallel::spawn(move || {
            if let Some(reader) = gate.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
                reader.run_job();
            }
        });
        if !spawned {
            reader.queued.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Closes the access: jobs that are reading stop at their next record, and this call waits for
    /// them; no job starts reading.
    pub fn close(&self, reader: &Reader) {
        reader.stop.store(true, Ordering::Relaxed);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Settings for reading batches.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Maximum number of pool threads that read at once.
    pub helpers: usize,
    /// Threads that read one batch.
    pub threads: Threads,
    /// Memory limit of a batch, and of a single record that exceeds the former.
    pub memory: (u64, u64),
    /// Maximum size of the records of a batch in bytes.
    pub most: u64,
    /// Maximum number of batches at once.
    pub batches: usize,
}

impl Reader {
    /// Creates the reader of a stream of this bag.
    pub fn new(bag: Bag, settings: Settings) -> Reader {
        Reader {
            settings,
            buffers: Arc::new(BufferPool::new(
                settings.batches + settings.helpers + 1,
                settings.memory.0.saturating_mul(settings.batches as u64),
            )),
            todo: Mutex::default(),
            queued: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            mean: AtomicU64::new(bag.mean_record_size()),
            bag,
        }
    }

    /// Returns a new reader with the same settings and no work in progress.
    pub fn restarted(&self) -> Reader {
        Reader::new(self.bag.clone(), self.settings)
    }

    /// Returns the buffer pool for batches.
    pub fn buffers(&self) -> &Arc<BufferPool> {
        &self.buffers
    }

    /// Returns the approximate size of a record in bytes.
    pub fn mean(&self) -> u64 {
        self.mean.load(Ordering::Relaxed)
    }

    /// Returns the result of a slot: reads it, or waits for the thread that reads it.
    pub fn get_or_read<'s>(&self, slot: &'s Slot) -> &'s ReadResult {
        loop {
            if let Some(read) = slot.get() {
                return read;
            }
            if slot.claim() {
                self.read(slot);
            } else if !self.read_next_unclaimed() {
                return slot.wait();
            }
        }
    }

    /// Reads the first unclaimed slot. Returns false if there is none.
    fn read_next_unclaimed(&self) -> bool {
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

    /// Runs a pool job, which reads one batch. If the maximum number of jobs are reading already,
    /// they read the batch of this one as well.
    fn run_job(&self) {
        self.queued.fetch_sub(1, Ordering::Relaxed);
        self.started.fetch_add(1, Ordering::AcqRel);
        loop {
            let may = self.busy.fetch_add(1, Ordering::AcqRel) < self.settings.helpers;
            while may
                && self
                    .started
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1))
                    .is_ok()
            {
                self.read_next_unclaimed();
            }
            self.busy.fetch_sub(1, Ordering::AcqRel);
            // a job that started just now may have found this one still busy
            if !may || self.started.load(Ordering::Acquire) == 0 {
                return;
            }
        }
    }

    /// Reads a claimed slot.
    fn read(&self, slot: &Slot) {
        // threads that wait for the slot must get a result
        let read = catch_unwind(AssertUnwindSafe(|| self.try_read(slot))).unwrap_or_else(|p| {
            // dropping the payload of a panic may panic
            std::mem::forget(p);
            ReadResult::failed(Error::internal(
                "reading a batch of a stream ended in a panic",
            ))
        });
        if let Some(mean) = (read.records.data.len() as u64).checked_div(read.records.len() as u64)
        {
            self.mean
                .store((self.mean() + mean).div_ceil(2), Ordering::Relaxed);
        }
        slot.set_result(read);
    }

    fn try_read(&self, slot: &Slot) -> ReadResult {
        let (memory, single) = self.settings.memory;
        let config = BatchConfig {
            pool: &self.buffers,
            // no call of the caller waits for this batch in particular
            progress: None,
            stop: Some(&self.stop),
            threads: self.settings.threads,
            memory_limit: if slot.single { single } else { memory },
            most: if slot.single {
                u64::MAX
            } else {
                self.settings.most
            },
            skip: Skip::All,
            frames: None,
        };
        let all = slot.numbers.len();
        let mut n = all;
        loop {
            let failure = match self.bag.gather_owned(slot.numbers.first(n), config) {
                Ok(records) => {
                    return ReadResult {
                        records,
                        remainder: if n == all {
                            Remainder::Nothing
                        } else {
                            Remainder::Unread
                        },
                    };
                }
                Err(failure) => failure,
            };
            let too_much = matches!(failure.error.status, Status::Limit | Status::Memory);
            n = match (n, failure.out) {
                (1, _) if too_much && !slot.single => {
                    return ReadResult {
                        records: Records::none(),
                        remainder: Remainder::Unread,
                    };
                }
                (1, _) => return ReadResult::failed(failure.error),
                _ if failure.error.status == Status::Cancelled => {
                    return ReadResult::failed(failure.error);
                }
                (n, 0) => (n / 8).max(1),
                // the record that failed, or that exceeded the memory limit: the records before it
                // may succeed
                (n, out) => out.min(n - 1),
            };
        }
    }
}
