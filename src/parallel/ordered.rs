//! Ordered parallel pipeline: several threads produce results, which are consumed one at a time in
//! input order, for example to write them one after the other to a file.
//!
//! The thread that produced the next result in order consumes it. A thread that is early stores its
//! result in a bounded buffer and continues. If the buffer is full, the thread waits for its turn.
//! Memory therefore holds at most one result per thread, plus the buffer. If the results take
//! similar time, the threads soon finish in order and rarely wait.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::parallel;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of threads per slot of the buffer, if results are large.
const THREADS_PER_SLOT: usize = 4;
/// Results per thread and group, if only the calling thread consumes results.
const GROUP_SIZE: usize = 2;

/// The threads that may consume results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerThread {
    /// Any thread.
    Any,
    /// The calling thread.
    Caller,
}

/// Returns the buffer size for large results, in results.
pub fn max_early_large(threads: usize) -> usize {
    threads / THREADS_PER_SLOT
}

/// Calls `produce` with each item, on `threads` threads, and `consume` with each result, in the
/// order of the items. Up to `max_early` results are buffered.
///
/// Returns the first error in the order of the items. All results before it are consumed, and none
/// after it.
pub fn in_order<P: Send, T: Send>(
    threads: usize,
    max_early: usize,
    consumer: ConsumerThread,
    items: Vec<P>,
    produce: impl Fn(P) -> Result<T> + Sync,
    mut consume: impl FnMut(T) -> Result<()> + Send,
) -> Result<()> {
    if threads < 2 || items.len() < 2 {
        return items
            .into_iter()
            .try_for_each(|item| consume(produce(item)?));
    }
    if consumer == ConsumerThread::Caller {
        return in_groups(threads, items, produce, consume);
    }
    let state = State {
        next: 0,
        early: BTreeMap::new(),
        error: None,
        stopped: false,
    };
    let pipeline = Pipeline {
        state: Mutex::new(state),
        advanced: Condvar::new(),
        consume: Mutex::new(consume),
        max_early,
    };
    parallel::for_each_without_nesting(
        threads,
        items.into_iter().enumerate().collect(),
        |(i, item)| {
            let _guard = StopOnPanic(&pipeline.state, &pipeline.advanced);
            if !pipeline.state().stopped {
                pipeline.submit(i, produce(item));
            }
        },
    );
    pipeline
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .error
        .map_or(Ok(()), Err)
}

/// As [`in_order`], but the calling thread consumes all results, one group at a time.
fn in_groups<P: Send, T: Send>(
    threads: usize,
    items: Vec<P>,
    produce: impl Fn(P) -> Result<T> + Sync,
    mut consume: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut items = items.into_iter();
    loop {
        let mut group: Vec<(Option<P>, Option<Result<T>>)> = items
            .by_ref()
            .take(GROUP_SIZE * threads)
            .map(|p| (Some(p), None))
            .collect();
        if group.is_empty() {
            return Ok(());
        }
        parallel::for_each_without_nesting(
            threads,
            group.iter_mut().collect(),
            |(item, result): &mut (Option<P>, _)| *result = item.take().map(&produce),
        );
        group
            .into_iter()
            .filter_map(|(_, result)| result)
            .try_for_each(|result| consume(result?))?;
    }
}

struct State<T> {
    /// The index of the next result to consume.
    next: usize,
    /// Buffered results that were produced before their turn.
    early: BTreeMap<usize, Result<T>>,
    error: Option<Error>,
    /// No further result is consumed.
    stopped: bool,
}

struct Pipeline<T, C> {
    state: Mutex<State<T>>,
    advanced: Condvar,
    consume: Mutex<C>,
    /// The maximum number of buffered results.
    max_early: usize,
}

impl<T, C: FnMut(T) -> Result<()>> Pipeline<T, C> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Buffers result `i`, or consumes it in its turn, followed by the buffered results that come
    /// next.
    fn submit(&self, i: usize, result: Result<T>) {
        let mut state = self.state();
        if state.next != i && state.early.len() < self.max_early {
            state.early.insert(i, result);
            return;
        }
        while state.next != i && !state.stopped {
            state = self
                .advanced
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let mut current = Some(result);
        while let Some(result) = current.filter(|_| !state.stopped) {
            drop(state);
            let consumed = result.and_then(|value| {
                self.consume.lock().unwrap_or_else(PoisonError::into_inner)(value)
            });
            state = self.state();
            state.next += 1;
            (state.stopped, state.error) = (consumed.is_err(), consumed.err());
            let next = state.next;
            current = state.early.remove(&next);
        }
        drop(state);
        self.advanced.notify_all();
    }
}

/// Stops the pipeline if a thread panics, so that no other thread waits for it.
struct StopOnPanic<'a, T>(&'a Mutex<State<T>>, &'a Condvar);

impl<T> Drop for StopOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .stopped = true;
            self.1.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::fail;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Configurations: threads, buffer size, and the consumer.
    fn configurations() -> impl Iterator<Item = (usize, usize, ConsumerThread)> {
        let threads = [1, 2, 9]
            .into_iter()
            .flat_map(|t| [ConsumerThread::Any, ConsumerThread::Caller].map(|k| (t, k)));
        threads.flat_map(|(t, k)| [0, t].map(|max_early| (t, max_early, k)))
    }

    /// Produces 300 results, of which `failing` fail, and fails to consume `last`. Returns the
    /// consumed ones.
    fn run(
        (threads, max_early, consumer): (usize, usize, ConsumerThread),
        failing: &[usize],
        last: usize,
    ) -> (Vec<usize>, Result<()>) {
        let mut consumed = Vec::new();
        let produce = |i| {
            if failing.contains(&i) {
                Err(fail!(Format, "{i}").at(i as u64))
            } else {
                Ok(i)
            }
        };
        let done = in_order(
            threads,
            max_early,
            consumer,
            (0..300).collect(),
            produce,
            |i| {
                consumed.push(i);
                if i == last {
                    Err(fail!(Io, "full").at(i as u64))
                } else {
                    Ok(())
                }
            },
        );
        (consumed, done)
    }

    #[test]
    fn all_results_are_consumed_in_order() {
        for configuration in configurations() {
            assert_eq!(run(configuration, &[], 300), ((0..300).collect(), Ok(())));
        }
    }

    #[test]
    fn the_first_error_in_order_stops_the_pipeline() {
        for configuration in configurations() {
            let (all, done) = run(configuration, &[50, 7, 8], 300);
            assert_eq!(
                (all, done.unwrap_err().position),
                ((0..7).collect::<Vec<_>>(), 7)
            );
            let (all, done) = run(configuration, &[50, 70], 40);
            assert_eq!(
                (all, done.unwrap_err().position),
                ((0..=40).collect::<Vec<_>>(), 40)
            );
        }
    }

    #[test]
    fn the_number_of_results_in_memory_is_bounded() {
        for (threads, max_early) in [(2, 0), (4, max_early_large(4)), (4, 4)] {
            let (alive, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let produce = |i| {
                peak.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                Ok(i)
            };
            let consume = |_: usize| {
                alive.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            in_order(
                threads,
                max_early,
                ConsumerThread::Any,
                (0..3000).collect(),
                produce,
                consume,
            )
            .unwrap();
            let peak = peak.into_inner();
            assert!(
                (1..=threads + max_early).contains(&peak),
                "{peak} with {threads} threads"
            );
        }
    }

    #[test]
    fn no_thread_waits_after_a_panic() {
        for in_produce in [true, false] {
            let planned = |now: bool, i: usize| assert!(!now || i != 50, "planned");
            let produce = |i| {
                planned(in_produce, i);
                Ok(i)
            };
            let consume = |i| {
                planned(!in_produce, i);
                Ok(())
            };
            assert!(
                std::panic::catch_unwind(|| in_order(
                    3,
                    1,
                    ConsumerThread::Any,
                    (0..300).collect(),
                    produce,
                    consume
                ))
                .is_err()
            );
        }
        all_results_are_consumed_in_order();
    }
}
