//! Batch reads: runs of consecutive records, or scattered records, into one buffer.
//!
//! The records are divided into tasks of a few hundred. Two passes process the tasks in parallel:
//!
//! 1. The first pass locates the records, reads their stored bytes (consecutive records together)
//!    and parses the frame headers. All sizes are then known, and the buffer is allocated under the
//!    memory limit.
//! 2. The second pass decodes every record into its position in the buffer.
//!
//! For long runs the second pass reads the stored bytes again, piece by piece. They are in the page
//! cache and need not all be in memory at once.
#![forbid(unsafe_code)]

mod budget;
mod decode;
mod frames;
mod layout;
mod locate;
mod prefetch;
mod records;
mod task;
#[cfg(test)]
mod tests;

pub use frames::{FrameForm, Frames};
pub use records::{BatchLayout, BufferPool, Destination, OwnedBuffer, Records};

use super::codec::Codec;
use super::shard::Shard;
use crate::alloc;
use crate::error::{Error, Result};
use crate::parallel::{self, Threads};
use crate::progress::{self, Progress, Scope, Step};
use crate::slice::SliceExt;
use budget::Budget;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use task::{PER_RECORD, Task, TaskRecords};

/// Maximum number of records of a task, and of stored bytes of a task of a run.
const TASK_RECORDS: usize = 512;
const TASK_BYTES: u64 = 256 << 10;
/// Stored bytes of runs that each thread retains between the passes, if there are more tasks than
/// threads.
const MAX_RETAINED: usize = 512 << 10;
/// Scattered records of one task. The number is small so that all threads finish at about the same
/// time; it is higher for records that are read together.
const TASK_SCATTERED: usize = 32;
const TASK_NEAR: usize = 128;

/// A requested record and its position in the batch.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Index of the file.
    pub shard: usize,
    /// Index of the record in the file.
    pub local: u64,
    /// Position in the batch.
    pub out: usize,
}

impl Item {
    /// Returns the sort key: file and record index as one integer, which is compared without a
    /// branch.
    pub fn sort_key(&self) -> u128 {
        (self.shard as u128) << 64 | u128::from(self.local)
    }
}

/// Consecutive records of one file that have consecutive positions in the batch.
pub struct Run<'a> {
    /// The file.
    pub shard: &'a Shard,
    /// Index of the first record in the file.
    pub first: u64,
    /// Number of records.
    pub n: u64,
}

/// Parameters of a batch read.
#[derive(Clone, Copy)]
pub struct BatchConfig<'a> {
    /// The pool that buffers are taken from.
    pub pool: &'a Arc<BufferPool>,
    /// The callback that the calling thread reports to.
    pub progress: Option<&'a Progress>,
    /// Set by another thread to cancel the batch.
    pub stop: Option<&'a AtomicBool>,
    /// Threads that may be used.
    pub threads: Threads,
    /// Maximum number of bytes to allocate.
    pub memory_limit: u64,
    /// Maximum total size of the records.
    pub most: u64,
    /// Records that are returned as empty instead of failing the batch.
    pub skip: Skip,
    /// Form of the stored frames that are returned, too.
    pub frames: Option<FrameForm>,
}

/// Which unreadable records do not fail a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// None.
    Nothing,
    /// Damaged records.
    Damaged,
    /// All unreadable records, including those on a failing disk.
    All,
}

/// The error of a failed batch.
pub struct Failure {
    /// Position in the batch.
    pub out: usize,
    /// The error.
    pub error: Error,
}

/// Returns whether the work justifies waking other threads, which takes some ten microseconds.
/// `records`: the number of scattered records, each of which takes some microseconds to find.
fn worth_threads(shard: &Shard, records: usize, stored: u64) -> bool {
    match (shard.decoder().codec(), shard.file().is_in_memory()) {
        (Codec::Zstd, _) => stored >= 128 << 10 || records >= 128,
        (Codec::None, mapped) => stored >= 8 << 20 || records >= if mapped { 512 } else { 256 },
    }
}

/// Returns the failure of a batch that no single record caused.
pub fn whole_batch(error: Error) -> Failure {
    Failure { out: 0, error }
}

/// Reads runs, one after the other.
pub fn runs(
    runs: &[Run<'_>],
    config: BatchConfig<'_>,
    destination: &mut dyn Destination,
) -> std::result::Result<BatchLayout, Failure> {
    let mut all_bounds: Vec<Vec<u64>> = Vec::new();
    let budget = Budget::new(config.memory_limit, config.stop);
    let of = |r: &Run<'_>| {
        if r.shard.decoder().codec() == Codec::None {
            24
        } else {
            PER_RECORD
        }
    };
    let needed = runs
        .iter()
        .fold(0u64, |n, r| n.saturating_add(r.n.saturating_mul(of(r))));
    budget.take(needed).map_err(whole_batch)?;
    let records = with_positions(runs)
        .flat_map(|(out, r)| (0..r.n).map(move |k| (out + k as usize, r.shard, r.first + k)));
    prefetch::fetch_metadata(
        runs.iter().map(|r| (r.shard, r.first, r.first + r.n)),
        records,
    )?;
    for (out, r) in with_positions(runs) {
        // One more on each side, if it exists.
        let (first, last) = (
            r.first.saturating_sub(1),
            (r.first + r.n + 1).min(r.shard.count()),
        );
        let bounds = r
            .shard
            .limits()
            .bounds(first, last - first)
            .and_then(|b| r.shard.limits().check_unchanged().map(|()| b));
        all_bounds.push(bounds.map_err(|error| Failure { out, error })?);
    }
    let mut tasks = Vec::new();
    let (mut out, mut worth) = (0, false);
    for (r, all) in runs.iter().zip(&all_bounds) {
        let skip = r.first.min(1) as usize;
        let n = r.n as usize;
        let bounds = all.at(skip..skip + n + 1).map_err(whole_batch)?;
        let stored = bounds
            .last()
            .zip(bounds.first())
            .map_or(0, |(b, a)| b.saturating_sub(*a));
        worth |= worth_threads(r.shard, 0, stored);
        let mut k = 0;
        while k < n {
            let part = bounds
                .at(k..)
                .and_then(|rest| task_bounds(r.shard, rest))
                .map_err(whole_batch)?;
            let n = part.len() - 1;
            // the record before the first begins at 0, the one after the last is empty
            let before = (skip + k).checked_sub(1).and_then(|j| all.get(j));
            let after = all.get(skip + k + n + 1).or(part.last());
            let edges = (before.copied().unwrap_or(0), after.copied().unwrap_or(0));
            alloc::reserve(&mut tasks, 1).map_err(whole_batch)?;
            tasks.push(Task::new(
                r.shard,
                TaskRecords::Run {
                    first: r.first + k as u64,
                    bounds: part,
                    edges,
                    out,
                },
            ));
            out += n;
            k += n;
        }
    }
    finish(
        tasks,
        out,
        if worth {
            config
        } else {
            BatchConfig {
                threads: Threads::ONE,
                ..config
            }
        },
        &budget,
        destination,
    )
}

/// Returns the runs with the position of their first record in the batch.
fn with_positions<'r, 'a>(runs: &'r [Run<'a>]) -> impl Iterator<Item = (usize, &'r Run<'a>)> {
    runs.iter().scan(0, |next, r| {
        Some((std::mem::replace(next, *next + r.n as usize), r))
    })
}

/// Returns the bounds of the records that make up one task.
fn task_bounds<'b>(shard: &Shard, bounds: &'b [u64]) -> Result<&'b [u64]> {
    // Uncompressed runs are copied in larger pieces, so that a system call moves more data.
    let (most, bytes) = match shard.decoder().codec() {
        Codec::Zstd => (TASK_RECORDS, TASK_BYTES),
        Codec::None => (TASK_RECORDS * 32, TASK_BYTES * 8),
    };
    let (from, after) = (bounds.at(0)?, bounds.at(1..)?);
    let fits = after
        .iter()
        .take(most)
        .take_while(|&&b| b.saturating_sub(*from) <= bytes)
        .count()
        .max(1);
    bounds.at(..=fits)
}

/// Returns how many of these scattered records of `mean` bytes make up one task.
fn task_size(items: &[Item], mean: u64) -> usize {
    let most = (TASK_BYTES / mean).clamp(1, TASK_NEAR as u64) as usize;
    let near = |pair: &&[Item]| matches!(pair, [a, b] if (b.local - a.local).saturating_mul(mean) <= locate::GAP);
    let few = most.min(TASK_SCATTERED);
    let more = items
        .get(few - 1..)
        .unwrap_or_default()
        .windows(2)
        .take(most - few)
        .take_while(near)
        .count();
    few + more
}

/// Reads scattered records. `items` must be sorted, and their positions must be 0 to `items.len() -
/// 1`.
pub fn scattered(
    shards: &[Shard],
    items: &[Item],
    config: BatchConfig<'_>,
    destination: &mut dyn Destination,
) -> std::result::Result<BatchLayout, Failure> {
    let budget = Budget::new(config.memory_limit, config.stop);
    budget
        .take((items.len() as u64).saturating_mul(PER_RECORD))
        .map_err(whole_batch)?;
    let mut tasks = Vec::new();
    let mut worth = false;
    for same in items.chunk_by(|a, b| a.shard == b.shard) {
        let shard = same.at(0).and_then(|i| shards.at(i.shard));
        let shard = shard.map_err(whole_batch)?;
        let mean = shard.end() / shard.count().max(1);
        worth |= worth_threads(shard, items.len(), mean.saturating_mul(items.len() as u64));
        let mut rest = same;
        while !rest.is_empty() {
            let (items, others) = rest
                .split_at_checked(task_size(rest, mean.max(1)))
                .unwrap_or((rest, &[]));
            alloc::reserve(&mut tasks, 1).map_err(whole_batch)?;
            tasks.push(Task::new(
                shard,
                TaskRecords::Scattered {
                    items,
                    extents: Vec::new(),
                },
            ));
            rest = others;
        }
    }
    finish(
        tasks,
        items.len(),
        if worth {
            config
        } else {
            BatchConfig {
                threads: Threads::ONE,
                ..config
            }
        },
        &budget,
        destination,
    )
}

fn finish(
    mut tasks: Vec<Task<'_>>,
    n: usize,
    config: BatchConfig<'_>,
    budget: &Budget<'_>,
    destination: &mut dyn Destination,
) -> std::result::Result<BatchLayout, Failure> {
    prefetch::fetch_stored(&mut tasks, budget)?;
    let threads = config.threads.for_tasks(tasks.len());
    let may_be_retained = AtomicUsize::new(if tasks.len() > threads {
        MAX_RETAINED * threads
    } else {
        usize::MAX
    });
    each(
        config.threads,
        tasks.iter_mut().map(|t| (t, ())).collect(),
        |t, ()| {
            t.prepare(budget)?;
            t.discard_stored_beyond(&may_be_retained);
            Ok(())
        },
    )?;
    let offsets = layout::offsets(&tasks, n).map_err(whole_batch)?;
    let bytes = *offsets.at(n).map_err(whole_batch)?;
    let data = alloc::allow(bytes, config.most, "the records of a batch")
        .and_then(|_| budget.take(bytes))
        .and_then(|n| destination.allocate(n));
    let data = data.map_err(|error| {
        // The record that exceeds the limit.
        let left = budget.left.load(Ordering::Relaxed).min(config.most);
        let out = offsets
            .partition_point(|&end| end <= left)
            .saturating_sub(1);
        match &tasks[..] {
            [t] if n == 1 => whole_batch(t.shard.at_record(t.local(0), error)),
            _ => Failure { out, error },
        }
    })?;
    let mut slots = layout::hand_out(&tasks, data, &offsets).map_err(whole_batch)?;
    let scope = Scope::open(config.progress, bytes, Step::Decode);
    prefetch::fetch_uncompressed(&mut tasks, &mut slots)?;
    each(
        config.threads,
        tasks.iter_mut().zip(slots).collect(),
        |t, slots| {
            let n = slots.total_len();
            t.finish(slots, budget, config.frames)?;
            progress::advance(Step::Decode, n)
        },
    )?;
    first_error(&mut tasks, config.skip)?;
    let unchecked = |t: &Task<'_>| {
        (0..t.len())
            .filter(|&k| !t.checked(k))
            .count()
            .saturating_sub(t.errors.iter().filter(|(k, _)| !t.checked(*k)).count())
    };
    let unchecked = tasks.iter().map(|t| unchecked(t) as u64).sum();
    let damaged = collect_damaged(&mut tasks).map_err(whole_batch)?;
    let frames = match config.frames {
        Some(_) => Frames::take(&mut tasks, n, budget).map_err(whole_batch)?,
        None => Frames::default(),
    };
    drop(tasks);
    scope.finish();
    let mut layout = BatchLayout {
        offsets,
        damaged,
        unchecked,
        frames,
    };
    if !layout.damaged.is_empty() {
        layout::remove_damaged(&mut layout, data);
    }
    Ok(layout)
}

/// Runs one pass over all tasks. Returns the failure with the lowest position among those that do
/// not concern a single record.
fn each<'a, 't: 'a, S: Send>(
    threads: Threads,
    work: Vec<(&'a mut Task<'t>, S)>,
    pass: impl Fn(&mut Task<'t>, S) -> Result<()> + Sync,
) -> std::result::Result<(), Failure> {
    let refused = Mutex::new(None::<Failure>);
    parallel::for_each(
        threads.for_tasks(work.len()),
        work,
        |(t, s): (&mut Task<'t>, S)| {
            let Err(error) = pass(t, s) else { return };
            let out = t.out(0);
            let error = if t.len() == 1 {
                t.shard.at_record(t.local(0), error)
            } else {
                error
            };
            let mut r = refused.lock().unwrap_or_else(PoisonError::into_inner);
            if r.as_ref().is_none_or(|f| f.out > out) {
                *r = Some(Failure { out, error });
            }
        },
    );
    refused
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// Returns the error with the lowest position that may not be skipped.
fn first_error(tasks: &mut [Task<'_>], skip: Skip) -> std::result::Result<(), Failure> {
    let fatal = |e: &Error| match skip {
        Skip::Nothing => true,
        Skip::Damaged => !e.status.is_corruption(),
        Skip::All => false,
    };
    let mut first: Option<Failure> = None;
    for t in tasks {
        for (k, e) in t.errors.iter().filter(|(_, e)| fatal(e)) {
            if first.as_ref().is_none_or(|f| t.out(*k) < f.out) {
                first = Some(Failure {
                    out: t.out(*k),
                    error: t.shard.at_record(t.local(*k), e.clone()),
                });
            }
        }
    }
    first.map_or(Ok(()), Err)
}

fn collect_damaged(tasks: &mut [Task<'_>]) -> Result<Vec<(u64, Error)>> {
    let mut damaged = alloc::with_capacity(tasks.iter().map(|t| t.errors.len()).sum())?;
    for t in tasks {
        for (k, e) in std::mem::take(&mut t.errors) {
            damaged.push((t.out(k) as u64, t.shard.at_record(t.local(k), e)));
        }
    }
    damaged.sort_by_key(|(out, _)| *out);
    Ok(damaged)
}
