//! Many records at once, into one buffer: runs of neighbours, or scattered ones.
//!
//! Two passes over tasks of a few hundred records, each in parallel. The first finds where the
//! records are, fetches their stored bytes (neighbours together) and looks at the frames' headers;
//! then all sizes are known, the buffer is made under the memory limit, and the second decodes
//! every record straight into its place. Of long runs the second fetches the stored bytes again,
//! piece by piece: they are in the system's cache, and need not all be in memory at once.
#![forbid(unsafe_code)]

mod budget;
mod decode;
mod destination;
mod locate;
mod prefetch;
mod records;
mod task;
#[cfg(test)]
mod tests;

pub use records::{Own, Places, Records, Room, Spare};

use super::codec::Codec;
use super::shard::Shard;
use crate::alloc;
use crate::error::{Error, Result};
use crate::parallel::{self, Threads};
use budget::Budget;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use task::{PER_RECORD, Task, Which};

/// Records of one task at most, and stored bytes of one task of a run.
const TASK_RECORDS: usize = 512;
const TASK_BYTES: u64 = 256 << 10;
/// Stored bytes of runs that are held between the passes for each thread, where there is more than
/// a task for each.
const HELD: usize = 512 << 10;
/// Scattered records of one task: few, so that no thread has much left when the others end; more
/// where they are read together.
const TASK_SCATTERED: usize = 32;
const TASK_NEAR: usize = 128;

/// A record that is wanted, and where in the batch it goes.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Which file.
    pub shard: usize,
    /// Its number there.
    pub local: u64,
    /// Its place in the batch.
    pub out: usize,
}

impl Item {
    /// By which they are in the order of their records, as one number: it is compared without a
    /// branch.
    pub fn place(&self) -> u128 {
        (self.shard as u128) << 64 | u128::from(self.local)
    }
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
pub struct Rules<'a> {
    /// Where buffers come from.
    pub spare: &'a Arc<Spare>,
    /// Set by others where the batch is not wanted any more.
    pub stop: Option<&'a AtomicBool>,
    /// Threads it may use.
    pub threads: Threads,
    /// Bytes it may allocate.
    pub memory_limit: u64,
    /// Bytes that its records may have.
    pub most: u64,
    /// Which records read as empty instead of failing it.
    pub skip: Skip,
}

/// Records that cannot be read, and do not make a batch fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// None.
    Nothing,
    /// Damaged ones.
    Damaged,
    /// Those that a failing disk has, too.
    All,
}

/// Why a batch failed, and at which place of it.
pub struct Failure {
    /// The place.
    pub out: usize,
    /// Why.
    pub error: Error,
}

/// Is it worth waking other threads? They cost some ten microseconds.
fn enough(shard: &Shard, records: usize, stored: u64) -> bool {
    match (shard.decoder().codec(), shard.file().is_in_memory()) {
        (Codec::Zstd, _) => stored >= 128 << 10,
        (Codec::None, mapped) => stored >= 8 << 20 || records >= if mapped { 512 } else { 256 },
    }
}

fn whole(error: Error) -> Failure {
    Failure { out: 0, error }
}

/// Reads runs, one after the other.
pub fn runs(
    runs: &[Run<'_>],
    rules: Rules<'_>,
    room: &mut dyn Room,
) -> std::result::Result<Places, Failure> {
    let mut all_bounds: Vec<Vec<u64>> = Vec::new();
    let budget = Budget::new(rules.memory_limit, rules.stop);
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
    budget.take(needed).map_err(whole)?;
    let records = placed(runs)
        .flat_map(|(out, r)| (0..r.n).map(move |k| (out + k as usize, r.shard, r.first + k)));
    prefetch::fetch_papers(
        runs.iter().map(|r| (r.shard, r.first, r.first + r.n)),
        records,
    )?;
    for (out, r) in placed(runs) {
        // one more on each side, where there is one
        let (first, last) = (
            r.first.saturating_sub(1),
            (r.first + r.n + 1).min(r.shard.count()),
        );
        let bounds = r
            .shard
            .limits()
            .bounds(first, last - first)
            .and_then(|b| r.shard.limits().still().map(|()| b));
        all_bounds.push(bounds.map_err(|error| Failure { out, error })?);
    }
    let mut tasks = Vec::new();
    let (mut out, mut worth) = (0, false);
    for (r, all) in runs.iter().zip(&all_bounds) {
        let skip = r.first.min(1) as usize;
        let bounds = all.get(skip..skip + r.n as usize + 1).unwrap_or_default();
        let stored = bounds
            .last()
            .zip(bounds.first())
            .map_or(0, |(b, a)| b.saturating_sub(*a));
        worth |= enough(r.shard, 0, stored);
        let mut k = 0;
        while k + 1 < bounds.len() {
            let part = piece(r.shard, bounds.get(k..).unwrap_or_default());
            let n = part.len().saturating_sub(1).max(1);
            let (before, end) = (
                (skip + k).checked_sub(1).and_then(|j| all.get(j)),
                part.last().copied().unwrap_or(0),
            );
            let edges = (
                before.copied().unwrap_or(0),
                all.get(skip + k + n + 1).copied().unwrap_or(end),
            );
            alloc::reserve(&mut tasks, 1).map_err(whole)?;
            tasks.push(Task::new(
                r.shard,
                Which::Run {
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
            rules
        } else {
            Rules {
                threads: Threads::ONE,
                ..rules
            }
        },
        &budget,
        room,
    )
}

/// Each with the place in the batch of its first record.
fn placed<'r, 'a>(runs: &'r [Run<'a>]) -> impl Iterator<Item = (usize, &'r Run<'a>)> {
    runs.iter().scan(0, |next, r| {
        Some((std::mem::replace(next, *next + r.n as usize), r))
    })
}

/// The bounds of as many records as are worth a task.
fn piece<'b>(shard: &Shard, bounds: &'b [u64]) -> &'b [u64] {
    // one system call should fetch something: uncompressed runs are copied in larger pieces
    let (most, bytes) = match shard.decoder().codec() {
        Codec::Zstd => (TASK_RECORDS, TASK_BYTES),
        Codec::None => (TASK_RECORDS * 32, TASK_BYTES * 8),
    };
    let from = bounds.first().copied().unwrap_or(0);
    let fits = bounds
        .iter()
        .skip(1)
        .take(most)
        .take_while(|&&b| b.saturating_sub(from) <= bytes)
        .count()
        .max(1);
    bounds.get(..=fits).unwrap_or(bounds)
}

/// How many of these scattered records of about so many bytes are worth a task.
fn together(items: &[Item], mean: u64) -> usize {
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

/// Reads scattered records; `items` must be sorted, and fill places 0 to their number.
pub fn scattered(
    shards: &[Shard],
    items: &[Item],
    rules: Rules<'_>,
    room: &mut dyn Room,
) -> std::result::Result<Places, Failure> {
    let budget = Budget::new(rules.memory_limit, rules.stop);
    budget
        .take((items.len() as u64).saturating_mul(PER_RECORD))
        .map_err(whole)?;
    let mut tasks = Vec::new();
    let mut worth = false;
    for same in items.chunk_by(|a, b| a.shard == b.shard) {
        let Some(shard) = same.first().and_then(|i| shards.get(i.shard)) else {
            continue;
        };
        let mean = shard.end() / shard.count().max(1);
        worth |= enough(shard, items.len(), mean.saturating_mul(items.len() as u64));
        let mut rest = same;
        while !rest.is_empty() {
            let (items, others) = rest
                .split_at_checked(together(rest, mean.max(1)))
                .unwrap_or((rest, &[]));
            alloc::reserve(&mut tasks, 1).map_err(whole)?;
            tasks.push(Task::new(
                shard,
                Which::Scattered {
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
            rules
        } else {
            Rules {
                threads: Threads::ONE,
                ..rules
            }
        },
        &budget,
        room,
    )
}

fn finish(
    mut tasks: Vec<Task<'_>>,
    n: usize,
    rules: Rules<'_>,
    budget: &Budget<'_>,
    room: &mut dyn Room,
) -> std::result::Result<Places, Failure> {
    prefetch::fetch_stored(&mut tasks, budget)?;
    let threads = rules.threads.for_pieces(tasks.len());
    let may_be_held = AtomicUsize::new(if tasks.len() > threads {
        HELD * threads
    } else {
        usize::MAX
    });
    each(
        rules.threads,
        tasks.iter_mut().map(|t| (t, ())).collect(),
        |t, ()| {
            t.prepare(budget)?;
            t.let_go_beyond(&may_be_held);
            Ok(())
        },
    )?;
    let offsets = destination::offsets(&tasks, n).map_err(whole)?;
    let bytes = offsets.last().copied().unwrap_or(0);
    let data = alloc::allow(bytes, rules.most, "the records of a batch")
        .and_then(|_| budget.take(bytes))
        .and_then(|n| room.make(n));
    let data = data.map_err(|error| {
        // the record with which it became too much
        let left = budget.left.load(Ordering::Relaxed).min(rules.most);
        let out = offsets
            .partition_point(|&end| end <= left)
            .saturating_sub(1);
        match &tasks[..] {
            [t] if n == 1 => whole(t.shard.at_record(t.local(0), error)),
            _ => Failure { out, error },
        }
    })?;
    let mut slots = destination::hand_out(&tasks, data, &offsets).map_err(whole)?;
    prefetch::fetch_plain(&mut tasks, &mut slots)?;
    each(
        rules.threads,
        tasks.iter_mut().zip(slots).collect(),
        |t, slots| t.finish(slots, budget),
    )?;
    first_error(&mut tasks, rules.skip)?;
    let unchecked = |t: &Task<'_>| {
        (0..t.len())
            .filter(|&k| !t.checked(k))
            .count()
            .saturating_sub(t.errors.iter().filter(|(k, _)| !t.checked(*k)).count())
    };
    let unchecked = tasks.iter().map(|t| unchecked(t) as u64).sum();
    let damaged = collect_damaged(&mut tasks).map_err(whole)?;
    drop(tasks);
    let mut places = Places {
        offsets,
        damaged,
        unchecked,
    };
    if !places.damaged.is_empty() {
        destination::empty(&mut places, data);
    }
    Ok(places)
}

/// Does one pass over all tasks; of the failures that are not about one record, the first counts.
fn each<'a, 't: 'a, S: Send>(
    threads: Threads,
    work: Vec<(&'a mut Task<'t>, S)>,
    pass: impl Fn(&mut Task<'t>, S) -> Result<()> + Sync,
) -> std::result::Result<(), Failure> {
    let refused = Mutex::new(None::<Failure>);
    parallel::for_each(
        threads.for_pieces(work.len()),
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

/// The failure at the lowest place, if there is one that may not be skipped.
fn first_error(tasks: &mut [Task<'_>], skip: Skip) -> std::result::Result<(), Failure> {
    let fatal = |e: &Error| match skip {
        Skip::Nothing => true,
        Skip::Damaged => !super::damage(e.status),
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
    let mut damaged = alloc::with_room(tasks.iter().map(|t| t.errors.len()).sum())?;
    for t in tasks {
        for (k, e) in std::mem::take(&mut t.errors) {
            damaged.push((t.out(k) as u64, t.shard.at_record(t.local(k), e)));
        }
    }
    damaged.sort_by_key(|(out, _)| *out);
    Ok(damaged)
}
