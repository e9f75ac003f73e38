//! Things that several threads make and that are kept one by one, in their order, as what lies in a
//! file behind each other: whoever has made the one that is next keeps it. A thread that is early
//! lays down what it has made, where the caller gives room for that, and else waits for its turn,
//! so that no more things are in memory than there are threads and room; where these take about as
//! long for each, they soon stand in a row and hardly wait.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::parallel;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Of so many threads one may lay down what it has made too early, and go on, where what is made
/// takes much memory.
const THREADS_EACH: usize = 4;
/// Things that are made for each thread before the calling one keeps them, where no other may.
const TOGETHER: usize = 2;

/// Which threads may keep what is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// Any of them.
    Any,
    /// The one that calls.
    Caller,
}

/// How many large things may be laid down before their turn.
pub fn few(threads: usize) -> usize {
    threads / THREADS_EACH
}

/// Makes something of each piece, on so many threads, and keeps all in the order of the pieces.
/// What fails first in this order ends it: all before it are kept, and none behind it. Up to
/// `early` of them are laid down before their turn.
pub fn in_order<P: Send, T: Send>(
    threads: usize,
    early: usize,
    keeper: Keeper,
    pieces: Vec<P>,
    make: impl Fn(P) -> Result<T> + Sync,
    mut keep: impl FnMut(T) -> Result<()> + Send,
) -> Result<()> {
    if threads < 2 || pieces.len() < 2 {
        return pieces.into_iter().try_for_each(|piece| keep(make(piece)?));
    }
    if keeper == Keeper::Caller {
        return in_groups(threads, pieces, make, keep);
    }
    let state = State {
        next: 0,
        early: BTreeMap::new(),
        failed: None,
        ended: false,
    };
    let line = Line {
        state: Mutex::new(state),
        moved: Condvar::new(),
        keep: Mutex::new(keep),
        room: early,
    };
    parallel::for_each_alone(
        threads,
        pieces.into_iter().enumerate().collect(),
        |(i, piece)| {
            let _end = EndOnPanic(&line.state, &line.moved);
            if !line.state().ended {
                line.pass(i, make(piece));
            }
        },
    );
    line.state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .failed
        .map_or(Ok(()), Err)
}

fn in_groups<P: Send, T: Send>(
    threads: usize,
    pieces: Vec<P>,
    make: impl Fn(P) -> Result<T> + Sync,
    mut keep: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut pieces = pieces.into_iter();
    loop {
        let mut made: Vec<(Option<P>, Option<Result<T>>)> = pieces
            .by_ref()
            .take(TOGETHER * threads)
            .map(|p| (Some(p), None))
            .collect();
        if made.is_empty() {
            return Ok(());
        }
        parallel::for_each_alone(
            threads,
            made.iter_mut().collect(),
            |(piece, made): &mut (Option<P>, _)| *made = piece.take().map(&make),
        );
        made.into_iter()
            .filter_map(|(_, made)| made)
            .try_for_each(|made| keep(made?))?;
    }
}

struct State<T> {
    /// Whose turn it is.
    next: usize,
    /// What was made before its turn, and laid down.
    early: BTreeMap<usize, Result<T>>,
    failed: Option<Error>,
    /// Nothing more is kept.
    ended: bool,
}

struct Line<T, K> {
    state: Mutex<State<T>>,
    moved: Condvar,
    keep: Mutex<K>,
    /// How many may be laid down.
    room: usize,
}

impl<T, K: FnMut(T) -> Result<()>> Line<T, K> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what was made when it is its turn, with what was laid down for the turns behind it; or
    /// lays it down.
    fn pass(&self, i: usize, made: Result<T>) {
        let mut state = self.state();
        if state.next != i && state.early.len() < self.room {
            state.early.insert(i, made);
            return;
        }
        while state.next != i && !state.ended {
            state = self
                .moved
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let mut now = Some(made);
        while let Some(made) = now.filter(|_| !state.ended) {
            drop(state);
            let kept = made
                .and_then(|made| self.keep.lock().unwrap_or_else(PoisonError::into_inner)(made));
            state = self.state();
            state.next += 1;
            (state.ended, state.failed) = (kept.is_err(), kept.err());
            let next = state.next;
            now = state.early.remove(&next);
        }
        drop(state);
        self.moved.notify_all();
    }
}

/// A thread that panics leaves none waiting for it.
struct EndOnPanic<'a, T>(&'a Mutex<State<T>>, &'a Condvar);

impl<T> Drop for EndOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
            self.1.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::fail;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Threads, how many things may be early, and who keeps them.
    fn ways() -> impl Iterator<Item = (usize, usize, Keeper)> {
        let threads = [1, 2, 9]
            .into_iter()
            .flat_map(|t| [Keeper::Any, Keeper::Caller].map(|k| (t, k)));
        threads.flat_map(|(t, k)| [0, t].map(|early| (t, early, k)))
    }

    /// Makes 300 things of which these fail, and keeps them until this one; gives those that were
    /// kept.
    fn kept(
        (threads, early, keeper): (usize, usize, Keeper),
        bad: &[usize],
        last: usize,
    ) -> (Vec<usize>, Result<()>) {
        let mut kept = Vec::new();
        let make = |i| {
            if bad.contains(&i) {
                Err(fail!(Format, "{i}").at(i as u64))
            } else {
                Ok(i)
            }
        };
        let done = in_order(threads, early, keeper, (0..300).collect(), make, |i| {
            kept.push(i);
            if i == last {
                Err(fail!(Io, "full").at(i as u64))
            } else {
                Ok(())
            }
        });
        (kept, done)
    }

    #[test]
    fn all_in_their_order() {
        for way in ways() {
            assert_eq!(kept(way, &[], 300), ((0..300).collect(), Ok(())));
        }
    }

    #[test]
    fn what_fails_first_in_order_ends_it() {
        for way in ways() {
            let (all, done) = kept(way, &[50, 7, 8], 300);
            assert_eq!(
                (all, done.unwrap_err().position),
                ((0..7).collect::<Vec<_>>(), 7)
            );
            let (all, done) = kept(way, &[50, 70], 40);
            assert_eq!(
                (all, done.unwrap_err().position),
                ((0..=40).collect::<Vec<_>>(), 40)
            );
        }
    }

    #[test]
    fn few_are_there_at_once() {
        for (threads, early) in [(2, 0), (4, few(4)), (4, 4)] {
            let (there, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let make = |i| {
                most.fetch_max(there.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                Ok(i)
            };
            let keep = |_: usize| {
                there.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            in_order(threads, early, Keeper::Any, (0..3000).collect(), make, keep).unwrap();
            let most = most.into_inner();
            assert!(
                (1..=threads + early).contains(&most),
                "{most} with {threads} threads"
            );
        }
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        for in_make in [true, false] {
            let planned = |now: bool, i: usize| assert!(!now || i != 50, "planned");
            let make = |i| {
                planned(in_make, i);
                Ok(i)
            };
            let keep = |i| {
                planned(!in_make, i);
                Ok(())
            };
            assert!(
                std::panic::catch_unwind(|| in_order(
                    3,
                    1,
                    Keeper::Any,
                    (0..300).collect(),
                    make,
                    keep
                ))
                .is_err()
            );
        }
        all_in_their_order();
    }
}
