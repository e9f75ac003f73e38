//! Batches of bags in object stores, where each read is a request: all that the tasks of a batch
//! are going to read is asked for together, first the limits, then the records. Tasks of other bags
//! read for themselves.
//!
//! What fails is told of the first record that was to come with it.
#![forbid(unsafe_code)]

use super::budget::Budget;
use super::task::{Slots, Task, Which};
use super::{Failure, whole};
use crate::bag::shard::Shard;
use crate::error::{Error, Result};
use crate::io::{self, Part, Unread};
use std::ops::Range;

/// Records that lie this near have their limits fetched together with those between.
const NEAR: u64 = 16 << 10;
/// Runs of more records than this have their limits fetched as one, and not kept.
const LONG: u64 = 64 << 10;

fn is_object(shard: &Shard) -> bool {
    shard.file().object().is_some()
}

/// The failure of a batch: at the first of these places for which what is missing was asked for, as
/// far as that is known.
fn failure(error: Error, places: impl Iterator<Item = (bool, usize)>) -> Failure {
    let first = places.map(|(asked_for, out)| (!asked_for, out)).min();
    Failure {
        out: first.map_or(0, |(_, out)| out),
        error,
    }
}

fn overlap(missing: &Range<u64>, from: u64, to: u64) -> bool {
    from < missing.end && missing.start < to
}

/// Fetches limits and checksums of records: ranges of them, each with its shard and its first and
/// last number there. All are `records` of the batch, in which they have these places, shards and
/// numbers.
pub fn fetch_papers<'a>(
    ranges: impl Iterator<Item = (&'a Shard, u64, u64)>,
    records: impl Iterator<Item = (usize, &'a Shard, u64)>,
) -> Result<(), Failure> {
    let wanted = ranges.filter(|(shard, first, last)| is_object(shard) && last - first <= LONG);
    let (shards, jobs): (Vec<&Shard>, Vec<_>) = wanted
        .flat_map(|(shard, first, last)| shard.papers(first, last).map(move |p| (shard, p)))
        .unzip();
    let files: Vec<_> = jobs.iter().map(|(file, ..)| file.name()).collect();
    io::keep_parts(jobs).map_err(|Unread { job, bytes, error }| {
        let (Some(shard), Some(file)) = (shards.get(job), files.get(job)) else {
            return whole(error);
        };
        let asked_for = |i| {
            shard
                .papers(i, i)
                .any(|(paper, from, to)| paper.name() == *file && overlap(&bytes, from, to))
        };
        failure(
            error,
            records
                .filter(|(_, of, _)| std::ptr::eq(*of, *shard))
                .map(|(out, _, i)| (asked_for(i), out)),
        )
    })
}

/// Says of what could not be read of the files of tasks, each job being one of these tasks, for
/// which place it was.
fn at_task(unread: Unread, tasks: &[Task<'_>], of_jobs: &[usize]) -> Failure {
    let Unread { job, bytes, error } = unread;
    let Some(failed) = of_jobs.get(job).and_then(|&t| tasks.get(t)) else {
        return whole(error);
    };
    let same = tasks.iter().filter(|t| std::ptr::eq(t.shard, failed.shard));
    let places = same.flat_map(|t| {
        (0..t.len()).map(|k| {
            let (from, to) = t.extent(k);
            (overlap(&bytes, from, to), t.out(k))
        })
    });
    failure(error, places)
}

/// Fetches what tasks want of compressed records, into their own room.
pub fn fetch_stored(tasks: &mut [Task<'_>], budget: &Budget<'_>) -> Result<(), Failure> {
    let spans = tasks.iter().filter_map(|t| match t.which {
        Which::Scattered { items, .. } => Some(
            items
                .chunk_by(|a, b| b.local - a.local <= NEAR)
                .filter_map(|near| Some((t.shard, near.first()?.local, near.last()?.local))),
        ),
        Which::Run { .. } => None,
    });
    fetch_papers(
        spans.flatten(),
        tasks
            .iter()
            .flat_map(|t| (0..t.len()).map(|k| (t.out(k), t.shard, t.local(k)))),
    )?;
    let (mut jobs, mut of_jobs) = (Vec::new(), Vec::new());
    for (number, task) in tasks
        .iter_mut()
        .enumerate()
        .filter(|(_, t)| is_object(t.shard))
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
            task.make_room(&group, budget).map_err(|error| Failure {
                out: task.out(group.first),
                error,
            })?;
            groups.push(group);
        }
        task.arrived = true;
        let mut rest = &mut task.fetched[..];
        let parts = groups.iter().map(|g| Part {
            at: g.from,
            dst: rest
                .split_off_mut(..(g.to - g.from) as usize)
                .unwrap_or_default(),
        });
        jobs.push((task.shard.file(), parts.collect()));
        of_jobs.push(number);
    }
    io::read_parts(jobs).map_err(|unread| at_task(unread, tasks, &of_jobs))
}

/// Fetches uncompressed records straight to their places.
pub fn fetch_plain(tasks: &mut [Task<'_>], slots: &mut [Slots<'_>]) -> Result<(), Failure> {
    let (mut jobs, mut of_jobs) = (Vec::new(), Vec::new());
    for (number, (task, slots)) in tasks
        .iter_mut()
        .zip(slots)
        .enumerate()
        .filter(|(_, (t, _))| t.raw() && is_object(t.shard))
    {
        let mut parts = Vec::new();
        match slots {
            Slots::One(slot) => {
                let mut rest = &mut **slot;
                if task.plain() {
                    parts.push(Part {
                        at: task.extent(0).0,
                        dst: std::mem::take(&mut rest),
                    });
                }
                let cut = |k| Part {
                    at: task.extent(k).0,
                    dst: rest
                        .split_off_mut(..task.size(k) as usize)
                        .unwrap_or_default(),
                };
                parts.extend((0..if task.plain() { 0 } else { task.len() }).map(cut));
            }
            Slots::Each(each) => parts.extend(each.iter_mut().enumerate().map(|(k, slot)| Part {
                at: task.extent(k).0,
                dst: slot,
            })),
        }
        task.arrived = true;
        jobs.push((task.shard.file(), parts));
        of_jobs.push(number);
    }
    io::read_parts(jobs).map_err(|unread| at_task(unread, tasks, &of_jobs))
}
