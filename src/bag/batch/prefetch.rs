//! Batches of remote files, where each read is a request: all reads of a batch are issued
//! together, first the limits, then the records. Tasks of other bags read on their own.
//!
//! A failed request is reported for the first record that needed it.
#![forbid(unsafe_code)]

use super::budget::Budget;
use super::task::{OutputSlots, Task, TaskRecords};
use super::{Failure, whole_batch};
use crate::bag::shard::Shard;
use crate::error::{Error, Result};
use crate::io::{self, ReadFailure, ReadRange};
use crate::slice::take_mut;
use std::ops::Range;

/// Maximum gap in records between those whose limits are read together.
const NEAR: u64 = 16 << 10;
/// Longer runs read their limits in one request, and do not cache them.
const LONG: u64 = 64 << 10;

fn is_remote(shard: &Shard) -> bool {
    shard.file().is_remote()
}

/// Returns the failure at the first position that needed the missing bytes, as far as that is
/// known.
fn failure(error: Error, positions: impl Iterator<Item = (bool, usize)>) -> Failure {
    let first = positions.map(|(asked_for, out)| (!asked_for, out)).min();
    Failure {
        out: first.map_or(0, |(_, out)| out),
        error,
    }
}

fn overlap(missing: &Range<u64>, from: u64, to: u64) -> bool {
    from < missing.end && missing.start < to
}

/// Reads limits and checksums of `ranges`: shard, first and last record. `records` are the records
/// of the batch: position, shard and index.
pub fn fetch_metadata<'a>(
    ranges: impl Iterator<Item = (&'a Shard, u64, u64)>,
    records: impl Iterator<Item = (usize, &'a Shard, u64)>,
) -> Result<(), Failure> {
    let requested = ranges.filter(|(shard, first, last)| is_remote(shard) && last - first <= LONG);
    let (shards, jobs): (Vec<&Shard>, Vec<_>) = requested
        .flat_map(|(shard, first, last)| {
            shard.metadata_ranges(first, last).map(move |p| (shard, p))
        })
        .unzip();
    let files: Vec<_> = jobs.iter().map(|(file, ..)| file.name()).collect();
    io::prefetch_ranges(jobs).map_err(|ReadFailure { job, bytes, error }| {
        let (Some(shard), Some(name)) = (shards.get(job), files.get(job)) else {
            return whole_batch(error);
        };
        let asked_for = |i| {
            shard
                .metadata_ranges(i, i)
                .any(|(file, from, to)| file.name() == *name && overlap(&bytes, from, to))
        };
        failure(
            error,
            records
                .filter(|(_, of, _)| std::ptr::eq(*of, *shard))
                .map(|(out, _, i)| (asked_for(i), out)),
        )
    })
}

/// Returns the failure of a read. `of_jobs` are the indices of the tasks of the jobs.
fn at_task(unread: ReadFailure, tasks: &[Task<'_>], of_jobs: &[usize]) -> Failure {
    let ReadFailure { job, bytes, error } = unread;
    let Some(failed) = of_jobs.get(job).and_then(|&t| tasks.get(t)) else {
        return whole_batch(error);
    };
    let same = tasks.iter().filter(|t| std::ptr::eq(t.shard, failed.shard));
    let positions = same.flat_map(|t| {
        (0..t.len()).map(|k| {
            let (from, to) = t.extent(k);
            (overlap(&bytes, from, to), t.out(k))
        })
    });
    failure(error, positions)
}

/// Reads the stored bytes of compressed records into the buffers of their tasks.
pub fn fetch_stored(tasks: &mut [Task<'_>], budget: &Budget<'_>) -> Result<(), Failure> {
    let spans = tasks.iter().filter_map(|t| match t.records {
        TaskRecords::Scattered { items, .. } => Some(
            items
                .chunk_by(|a, b| b.local - a.local <= NEAR)
                .filter_map(|near| Some((t.shard, near.first()?.local, near.last()?.local))),
        ),
        TaskRecords::Run { .. } => None,
    });
    fetch_metadata(
        spans.flatten(),
        tasks
            .iter()
            .flat_map(|t| (0..t.len()).map(|k| (t.out(k), t.shard, t.local(k)))),
    )?;
    let (mut jobs, mut of_jobs) = (Vec::new(), Vec::new());
    for (number, task) in tasks
        .iter_mut()
        .enumerate()
        .filter(|(_, t)| is_remote(t.shard))
    {
        task.find(budget).map_err(|error| Failure {
            out: task.out(0),
            error,
        })?;
        if task.raw() {
            continue;
        }
        let (mut k, mut groups) = (0, Vec::new());
        while let Some(group) = task.next_group(&mut k) {
            task.reserve_group(&group, budget)
                .map_err(|error| Failure {
                    out: task.out(group.first),
                    error,
                })?;
            groups.push(group);
        }
        task.prefetched = true;
        let mut rest = &mut task.fetched[..];
        let parts = groups.iter().map(|g| {
            Ok(ReadRange {
                at: g.from,
                dst: take_mut(&mut rest, (g.to - g.from) as usize)?,
            })
        });
        let parts = parts.collect::<Result<_>>().map_err(whole_batch)?;
        jobs.push((task.shard.file(), parts));
        of_jobs.push(number);
    }
    io::read_ranges(jobs).map_err(|unread| at_task(unread, tasks, &of_jobs))
}

/// Reads uncompressed records directly into their slots.
pub fn fetch_uncompressed(
    tasks: &mut [Task<'_>],
    slots: &mut [OutputSlots<'_>],
) -> Result<(), Failure> {
    let (mut jobs, mut of_jobs) = (Vec::new(), Vec::new());
    for (number, (task, slots)) in tasks
        .iter_mut()
        .zip(slots)
        .enumerate()
        .filter(|(_, (t, _))| t.raw() && is_remote(t.shard))
    {
        let mut parts = Vec::new();
        match slots {
            OutputSlots::Contiguous(slot) => {
                let mut rest = &mut **slot;
                if task.is_single_copy() {
                    parts.push(ReadRange {
                        at: task.extent(0).0,
                        dst: std::mem::take(&mut rest),
                    });
                }
                for k in 0..if task.is_single_copy() { 0 } else { task.len() } {
                    parts.push(ReadRange {
                        at: task.extent(k).0,
                        dst: take_mut(&mut rest, task.size(k) as usize).map_err(whole_batch)?,
                    });
                }
            }
            OutputSlots::Scattered(each) => {
                parts.extend(each.iter_mut().enumerate().map(|(k, slot)| ReadRange {
                    at: task.extent(k).0,
                    dst: slot,
                }))
            }
        }
        task.prefetched = true;
        jobs.push((task.shard.file(), parts));
        of_jobs.push(number);
    }
    io::read_ranges(jobs).map_err(|unread| at_task(unread, tasks, &of_jobs))
}
