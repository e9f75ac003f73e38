//! The thread pool of the library.
//!
//! The pool is created on first use. Its size is the number of processors that this process may
//! use, or `HOLDALL_THREADS`. The threads of the pool do not exist in a forked child, so a child
//! runs all work on the calling thread.
#![forbid(unsafe_code)]

pub mod ordered;

use crate::os;
use crate::progress;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

static POOL: OnceLock<Option<rayon_core::ThreadPool>> = OnceLock::new();
/// The process that has created, or is creating, the pool; 0 if there is none yet.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Upper bound of the number of threads, whatever is requested.
const MAX_THREADS: usize = 1024;
/// Stack size of a thread of the pool.
const STACK: usize = 2 << 20;
/// Memory that the C library may reserve, beside the stacks, while the threads of the pool start.
const START: usize = 2 << 20;
/// Iterations of the spin loop before the calling thread sleeps: some tens of microseconds.
const SPIN_ITERATIONS: usize = 2000;

/// A thread of the pool.
struct PoolThread {
    thread: os::Thread,
    /// The processor on which the thread finished its last task.
    last_processor: AtomicUsize,
}

/// The threads of the pool that have started.
static POOL_THREADS: [OnceLock<PoolThread>; MAX_THREADS] = [const { OnceLock::new() }; MAX_THREADS];

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// The index of this thread in the pool.
    static INDEX: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Returns whether the calling thread must not distribute work: it is a thread of the pool, or runs
/// an item of [`for_each_without_nesting`].
pub fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Returns the number of processors that this process may use, or `HOLDALL_THREADS`. The value is
/// read once.
pub fn processors() -> usize {
    static N: OnceLock<usize> = OnceLock::new();
    *N.get_or_init(|| {
        let requested = std::env::var("HOLDALL_THREADS")
            .ok()
            .and_then(|v| v.trim().parse().ok())
            .filter(|&n| n > 0);
        requested
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
            .min(MAX_THREADS)
    })
}

/// The number of threads that calls on a handle may use.
///
/// The number is resolved when work is distributed, because querying the number of processors takes
/// longer than opening most files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threads(usize);

impl Threads {
    /// Only the calling thread.
    pub const ONE: Threads = Threads(1);

    /// Requests `n` threads, limited to the number of processors; 0 requests one per processor.
    pub fn requested(n: usize) -> Threads {
        Threads(n)
    }

    /// Returns the resolved number of threads.
    pub fn count(self) -> usize {
        match self.0 {
            0 => processors(),
            1 => 1,
            n => n.min(processors()),
        }
    }

    /// Returns the number of threads for `n` tasks: 1 for fewer than two tasks.
    pub fn for_tasks(self, n: usize) -> usize {
        if n < 2 { 1 } else { self.count() }
    }
}

/// Returns the pool. Returns `None` if another process created it, or if another thread is still
/// creating it. This function never waits for a lock, because a fork may have copied it locked.
fn pool() -> Option<&'static rayon_core::ThreadPool> {
    let me = os::process();
    match OWNER.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let _ = POOL.set(create_pool(processors().saturating_sub(1).max(1)));
        }
        Err(owner) if owner != me => return None,
        Err(_) => {}
    }
    POOL.get()?.as_ref()
}

/// Creates the pool, and returns after each of its threads has started. Returns `None` if a thread
/// cannot be created.
///
/// A thread that starts without memory for its thread-local variables aborts the process. So
/// memory for all threads must be free before, and the caller allocates nothing meanwhile.
fn create_pool(threads: usize) -> Option<rayon_core::ThreadPool> {
    if !os::is_memory_free(threads * STACK + START) {
        return None;
    }
    let pool = rayon_core::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("holdall-{i}"))
        // set explicitly, so that the environment is not read
        .stack_size(STACK)
        .start_handler(register)
        .build()
        .ok()?;
    for slot in POOL_THREADS.iter().take(threads) {
        slot.wait();
    }
    Some(pool)
}

fn register(index: usize) {
    IS_WORKER.set(true);
    progress::mark_worker();
    INDEX.set(index);
    if let Some(slot) = POOL_THREADS.get(index) {
        slot.get_or_init(|| PoolThread {
            thread: os::this_thread(),
            last_processor: AtomicUsize::new(usize::MAX),
        });
    }
}

/// Records the processor on which this thread of the pool goes to sleep.
fn record_processor() {
    if let (Some(thread), Some(current)) = (
        POOL_THREADS.get(INDEX.get()).and_then(OnceLock::get),
        os::this_processor(),
    ) {
        thread.last_processor.store(current, Ordering::Relaxed);
    }
}

/// Held while threads of the pool are excluded from a processor. Two concurrent calls would each
/// save the temporary affinity set by the other one as the original.
static EXCLUDING: Mutex<()> = Mutex::new(());

/// Prevents the system from waking threads of the pool on the processor of the calling thread,
/// which has work of its own, until the result is dropped.
fn exclude_current_processor() -> Option<(Vec<os::ProcessorExclusion>, MutexGuard<'static, ()>)> {
    let current = os::this_processor()?;
    let mut affected = POOL_THREADS
        .iter()
        .map_while(OnceLock::get)
        .filter(|t| t.last_processor.load(Ordering::Relaxed) == current)
        .peekable();
    affected.peek()?;
    let guard = try_lock(&EXCLUDING)?;
    Some((
        affected
            .filter_map(|t| os::ProcessorExclusion::new(current, t.thread))
            .collect(),
        guard,
    ))
}

/// Calls `f` with every item, on up to `threads` threads, including the calling one.
///
/// Threads take one item at a time, in order. An item should take at least about ten microseconds.
pub fn for_each<T: Send>(threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    for_each_of(threads, items.into_iter(), f);
}

fn for_each_of<T: Send>(
    threads: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    f: impl Fn(T) + Sync,
) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let pool = if helpers == 0 || is_worker() {
        None
    } else {
        pool()
    };
    let Some(pool) = pool else {
        items.for_each(f);
        return;
    };
    let queue = Mutex::new(items);
    let work = || drain(&queue, &f);
    let running = AtomicUsize::new(helpers);
    let call = progress::current();
    pool.in_place_scope(|scope| {
        let exclusion = exclude_current_processor();
        for _ in 0..helpers {
            scope.spawn(|_| {
                progress::working_for(call.as_ref(), work);
                record_processor();
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
        drop(exclusion);
        work();
        spin_until_done(&running);
    });
}

/// Spins for a limited time while the other threads finish their last items. This often takes less
/// time than sleeping and waking up.
fn spin_until_done(running: &AtomicUsize) {
    for _ in 0..SPIN_ITERATIONS {
        if running.load(Ordering::Relaxed) == 0 {
            return;
        }
        std::hint::spin_loop();
    }
}

/// Calls `f` with items from the queue until it is empty.
fn drain<T>(queue: &Mutex<impl Iterator<Item = T>>, f: impl Fn(T)) {
    loop {
        let item = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        match item {
            Some(item) => f(item),
            None => return,
        }
    }
}

/// Calls `f` with every item, as [`for_each`], on threads that this call creates. For calls of `f`
/// that mostly wait for the network: the pool has no more threads than processors. If a thread
/// cannot be created, fewer threads do the work.
pub fn for_each_blocking<T: Send>(threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.into_iter());
    let work = || drain(&queue, &f);
    let call = progress::current();
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            if std::thread::Builder::new()
                .name("holdall-waits".into())
                .spawn_scoped(scope, || {
                    progress::mark_worker();
                    progress::working_for(call.as_ref(), work);
                })
                .is_err()
            {
                break;
            }
        }
        work();
    });
}

/// Calls `f` with every item, as [`for_each`]. Returns the error of the first failed item, in the
/// order of the items. No item after a failed one is started.
pub fn try_for_each<T: Send, E: Send>(
    threads: usize,
    items: Vec<T>,
    f: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    try_for_each_of(threads, items.into_iter(), f)
}

/// Calls `f` with every index below `n`, as [`try_for_each`].
pub fn try_for_each_index<E: Send>(
    threads: usize,
    n: usize,
    f: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    try_for_each_of(threads, 0..n, f)
}

fn try_for_each_of<T: Send, E: Send>(
    threads: usize,
    items: impl ExactSizeIterator<Item = T> + Send,
    f: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed = Mutex::new(None::<(usize, E)>);
    let first = || failed.lock().unwrap_or_else(PoisonError::into_inner);
    for_each_of(threads, items.enumerate(), |(i, item)| {
        if first().as_ref().is_some_and(|(other, _)| *other < i) {
            return;
        }
        let Err(e) = f(item) else { return };
        let mut first = first();
        if first.as_ref().is_none_or(|(other, _)| i < *other) {
            *first = Some((i, e));
        }
    });
    failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), |(_, e)| Err(e))
}

/// Calls `f` with every item, as [`for_each`]. Calls into this module from within `f` run on the
/// thread of the item and do not distribute work. With fewer than two items or threads, they may.
pub fn for_each_without_nesting<T: Send>(threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    if items.len() < 2 || threads < 2 {
        return items.into_iter().for_each(f);
    }
    struct RestoreWorker(bool);
    impl Drop for RestoreWorker {
        fn drop(&mut self) {
            IS_WORKER.set(self.0);
        }
    }
    for_each(threads, items, |item| {
        let _restore = RestoreWorker(IS_WORKER.replace(true));
        f(item);
    });
}

/// Runs `f` asynchronously on a thread of the pool. Returns `false` without running it if the pool
/// is not available or the calling thread belongs to it.
pub fn spawn(f: impl FnOnce() + Send + 'static) -> bool {
    let Some(pool) = pool().filter(|_| !is_worker()) else {
        return false;
    };
    // A panic that escapes from here would abort the process. The payload is leaked, because its
    // drop may panic.
    pool.spawn(|| catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(std::mem::forget));
    true
}

/// Locks a mutex without waiting. Returns `None` if it is locked; the caller must be able to
/// proceed without the data. In a forked child the mutex may be locked by a thread that does not
/// exist there, so waiting could last forever.
pub fn try_lock<T>(shared: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match shared.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns the value of a cell and initializes the cell if it is empty. No thread waits for another
/// one, for the reason given at [`try_lock`], so several threads may call `init`.
pub fn get_or_init<T>(cell: &OnceLock<T>, init: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => {
            let value = init();
            cell.get_or_init(|| value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_processed_once() {
        for threads in [1, 2, 7] {
            let seen: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
            let see = |i: usize| _ = seen[i].fetch_add(1, Ordering::Relaxed);
            for_each(threads, (0..1000).collect(), see);
            for_each_blocking(threads, (0..1000).collect(), see);
            assert!(seen.iter().all(|s| s.load(Ordering::Relaxed) == 2));
        }
    }

    #[test]
    fn the_first_error_is_returned_and_stops_the_work() {
        for threads in [1, 3] {
            let done = AtomicUsize::new(0);
            let fail_from = |first: usize| {
                try_for_each_index(threads, 1000, |i| {
                    done.fetch_add(1, Ordering::Relaxed);
                    if i < first { Ok(()) } else { Err(i) }
                })
            };
            assert_eq!(fail_from(1000), Ok(()));
            assert_eq!(done.swap(0, Ordering::Relaxed), 1000);
            assert_eq!(fail_from(7), Err(7));
            assert!(done.into_inner() < 8 + threads);
        }
    }

    /// After many concurrent calls, on any processors, the affinity of the threads of the pool is
    /// the original one.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn the_affinity_of_the_pool_is_restored() {
        let allowed = |of: &str| {
            let all = std::fs::read_to_string(format!("/proc/{of}/status")).unwrap();
            all.lines()
                .find(|l| l.starts_with("Cpus_allowed:"))
                .map(String::from)
        };
        std::thread::scope(|scope| {
            (0..8).for_each(|_| {
                _ = scope.spawn(|| {
                    (0..2000).for_each(|_| for_each(2, vec![0; 8], |_: i32| std::hint::spin_loop()))
                })
            });
        });
        let pool: Vec<&PoolThread> = POOL_THREADS.iter().map_while(OnceLock::get).collect();
        assert!(!pool.is_empty());
        for thread in pool {
            // concurrent calls of other tests change the affinity for a moment
            let own = || allowed(&format!("self/task/{}", thread.thread));
            assert!((0..10_000).any(|_| own() == allowed("self")), "{:?}", own());
        }
    }

    #[test]
    fn a_panic_is_propagated_and_the_pool_stays_usable() {
        for _ in 0..3 {
            let r = std::panic::catch_unwind(|| {
                for_each(2, (0..100).collect(), |i: usize| {
                    assert!(i != 50, "planned")
                })
            });
            assert!(r.is_err());
        }
        every_item_is_processed_once();
    }
}
