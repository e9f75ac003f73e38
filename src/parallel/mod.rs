//! One pool of threads for the whole library: made at first use, sized to the processors that this
//! process may use (or to `HOLDALL_THREADS`), and left alone by a forked child, which works on the
//! calling thread instead: the pool's threads do not exist there.
#![forbid(unsafe_code)]

pub mod ordered;

use crate::os;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

static POOL: OnceLock<Option<rayon_core::ThreadPool>> = OnceLock::new();
/// The process that made, or is making, the pool. 0: nobody yet.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Threads that the library may have, whatever is asked for.
const MOST_THREADS: usize = 1024;
/// Looks at the others before the calling thread falls asleep: some tens of microseconds.
const LINGER: usize = 2000;

/// Where a thread of the pool is.
struct Place {
    thread: os::Thread,
    /// The processor that it ended its last work on.
    processor: AtomicUsize,
}

/// Of those that have begun.
static PLACES: [OnceLock<Place>; MOST_THREADS] = [const { OnceLock::new() }; MOST_THREADS];

thread_local! {
    static WORKER: Cell<bool> = const { Cell::new(false) };
    /// Which of the pool's threads this is.
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Is this one of the pool's threads?
pub fn is_worker() -> bool {
    WORKER.get()
}

/// Processors this process may use, or `HOLDALL_THREADS`, read once.
pub fn processors() -> usize {
    static N: OnceLock<usize> = OnceLock::new();
    *N.get_or_init(|| {
        let asked = std::env::var("HOLDALL_THREADS")
            .ok()
            .and_then(|v| v.trim().parse().ok())
            .filter(|&n| n > 0);
        asked
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
            .min(MOST_THREADS)
    })
}

/// The threads that calls of a handle may use. How many that is, is found out where work is spread:
/// asking the system for its processors takes longer than opening most files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threads(usize);

impl Threads {
    /// The calling one.
    pub const ONE: Threads = Threads(1);

    /// So many, as far as there are processors; 0: as many as those.
    pub fn wanted(n: usize) -> Threads {
        Threads(n)
    }

    /// How many that is.
    pub fn count(self) -> usize {
        match self.0 {
            0 => processors(),
            1 => 1,
            n => n.min(processors()),
        }
    }

    /// How many for so many pieces of work: more than one only for several.
    pub fn for_pieces(self, n: usize) -> usize {
        if n < 2 { 1 } else { self.count() }
    }
}

/// The pool, unless this process did not make it or is still making it on another thread: no lock
/// is ever waited for here, because a fork may have copied it locked.
fn pool() -> Option<&'static rayon_core::ThreadPool> {
    let me = os::process();
    match OWNER.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let made = rayon_core::ThreadPoolBuilder::new()
                .num_threads(processors().saturating_sub(1).max(1))
                .thread_name(|i| format!("holdall-{i}"))
                // given, so that the environment is not asked for it
                .stack_size(2 << 20)
                .start_handler(begin)
                .build()
                .ok();
            let _ = POOL.set(made);
        }
        Err(owner) if owner != me => return None,
        Err(_) => {}
    }
    POOL.get()?.as_ref()
}

fn begin(number: usize) {
    WORKER.set(true);
    NUMBER.set(number);
    if let Some(place) = PLACES.get(number) {
        place.get_or_init(|| Place {
            thread: os::this_thread(),
            processor: AtomicUsize::new(usize::MAX),
        });
    }
}

/// Remembers the processor that this thread of the pool falls asleep on.
fn end() {
    if let (Some(place), Some(here)) = (
        PLACES.get(NUMBER.get()).and_then(OnceLock::get),
        os::this_processor(),
    ) {
        place.processor.store(here, Ordering::Relaxed);
    }
}

/// While threads of the pool are kept off a processor: two calls at once would take each other's
/// doing for how it was before.
static KEEPING: Mutex<()> = Mutex::new(());

/// Until this is dropped none of the pool's threads is woken on the processor of this one, which
/// has work for itself.
fn others_elsewhere() -> Option<(Vec<os::Elsewhere>, MutexGuard<'static, ()>)> {
    let here = os::this_processor()?;
    let mut there = PLACES
        .iter()
        .map_while(OnceLock::get)
        .filter(|p| p.processor.load(Ordering::Relaxed) == here)
        .peekable();
    there.peek()?;
    let keeping = unless_taken(&KEEPING)?;
    Some((
        there
            .filter_map(|p| os::Elsewhere::than(here, p.thread))
            .collect(),
        keeping,
    ))
}

/// Calls `f` with every item, on up to `threads` threads, the calling one among them. Items are
/// taken in order, one at a time: make each worth some ten microseconds.
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
    let work = || work_off(&queue, &f);
    let left = AtomicUsize::new(helpers);
    pool.in_place_scope(|scope| {
        let elsewhere = others_elsewhere();
        for _ in 0..helpers {
            scope.spawn(|_| {
                work();
                end();
                left.fetch_sub(1, Ordering::Relaxed);
            });
        }
        drop(elsewhere);
        work();
        linger(&left);
    });
}

/// Stays awake while the others are at their last items: these take less time, often, than to fall
/// asleep and be woken.
fn linger(left: &AtomicUsize) {
    for _ in 0..LINGER {
        if left.load(Ordering::Relaxed) == 0 {
            return;
        }
        std::hint::spin_loop();
    }
}

fn work_off<T>(queue: &Mutex<impl Iterator<Item = T>>, f: impl Fn(T)) {
    loop {
        let item = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        match item {
            Some(item) => f(item),
            None => return,
        }
    }
}

/// The same, where each call does little but wait for a network: the pool has no more threads than
/// there are processors, so these are threads of the call's own, as many as can be had.
pub fn for_each_that_waits<T: Send>(threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.into_iter());
    let work = || work_off(&queue, &f);
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            if std::thread::Builder::new()
                .name("holdall-waits".into())
                .spawn_scoped(scope, work)
                .is_err()
            {
                break;
            }
        }
        work();
    });
}

/// As [`for_each`], with what may fail: what failed first, in the order of the items. None behind
/// one that has failed is begun.
pub fn try_each<T: Send, E: Send>(
    threads: usize,
    items: Vec<T>,
    f: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    try_each_of(threads, items.into_iter(), f)
}

/// As [`try_each`], of the numbers below `n`.
pub fn try_below<E: Send>(
    threads: usize,
    n: usize,
    f: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    try_each_of(threads, 0..n, f)
}

fn try_each_of<T: Send, E: Send>(
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

/// As [`for_each`], where each call may want threads of its own: it is the only one on its thread
/// then.
pub fn for_each_alone<T: Send>(threads: usize, items: Vec<T>, f: impl Fn(T) + Sync) {
    if items.len() < 2 || threads < 2 {
        return items.into_iter().for_each(f);
    }
    struct Alone(bool);
    impl Drop for Alone {
        fn drop(&mut self) {
            WORKER.set(self.0);
        }
    }
    for_each(threads, items, |item| {
        let _was = Alone(WORKER.replace(true));
        f(item);
    });
}

/// Has one of the pool's threads do this, some time; where there are none (see above), or this is
/// one of them, it is not done, and says so.
pub fn spawn(f: impl FnOnce() + Send + 'static) -> bool {
    let Some(pool) = pool().filter(|_| !is_worker()) else {
        return false;
    };
    // a panic that came out of here would end the process; what it carries may panic when it is
    // dropped
    pool.spawn(|| catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(std::mem::forget));
    true
}

/// What is locked, unless another thread has it now: for what a reader can do without. A forked
/// child may find it taken by a thread that it does not have, and would wait for ever.
pub fn unless_taken<T>(shared: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match shared.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// What is in the cell, made if it is empty, by several threads maybe: nobody waits for another
/// one, as above.
pub fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(value) => value,
        None => {
            let value = make();
            cell.get_or_init(|| value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_once() {
        for threads in [1, 2, 7] {
            let seen: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
            let see = |i: usize| _ = seen[i].fetch_add(1, Ordering::Relaxed);
            for_each(threads, (0..1000).collect(), see);
            for_each_that_waits(threads, (0..1000).collect(), see);
            assert!(seen.iter().all(|s| s.load(Ordering::Relaxed) == 2));
        }
    }

    #[test]
    fn the_first_failure_counts_and_ends_it() {
        for threads in [1, 3] {
            let done = AtomicUsize::new(0);
            let fail_from = |first: usize| {
                try_below(threads, 1000, |i| {
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

    /// Many callers at once, on any processor: where the pool's threads may run is as it was in the
    /// end.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn threads_of_the_pool_may_run_where_they_could_before() {
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
        let pool: Vec<&Place> = PLACES.iter().map_while(OnceLock::get).collect();
        assert!(!pool.is_empty());
        for place in pool {
            // other tests have calls of their own, for a moment each
            let own = || allowed(&format!("self/task/{}", place.thread));
            assert!((0..10_000).any(|_| own() == allowed("self")), "{:?}", own());
        }
    }

    #[test]
    fn a_panic_comes_back_and_the_pool_lives_on() {
        for _ in 0..3 {
            let r = std::panic::catch_unwind(|| {
                for_each(2, (0..100).collect(), |i: usize| {
                    assert!(i != 50, "planned")
                })
            });
            assert!(r.is_err());
        }
        every_item_once();
    }
}
