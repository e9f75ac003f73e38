//! Batches of bags in object stores, where each read is a request: all that the tasks of a batch are going to read is asked for
//! together, first the limits, then the records. Tasks of other bags read for themselves.
#![forbid(unsafe_code)]

use super::budget::Budget;
use super::task::{Slots, Task, Which};
use crate::bag::shard::Shard;
use crate::error::Result;
use crate::io::{self, Part};

/// Records that lie this near have their limits fetched together with those between.
const NEAR: u64 = 16 << 10;
/// Runs of more records than this have their limits fetched as one, and not kept.
const LONG: u64 = 64 << 10;

fn is_object(shard: &Shard) -> bool {
    shard.file().object().is_some()
}

/// Fetches limits and checksums of records, `first..last` of a shard.
pub fn fetch_papers<'a>(ranges: impl Iterator<Item = (&'a Shard, u64, u64)>) -> Result<()> {
    let wanted = ranges.filter(|(shard, first, last)| is_object(shard) && last - first <= LONG);
    io::keep_parts(wanted.flat_map(|(shard, first, last)| shard.papers(first, last)).collect())
}

/// Fetches what tasks want of compressed records, into their own room.
pub fn fetch_stored(tasks: &mut [Task<'_>], budget: &Budget<'_>) -> Result<()> {
    let spans = tasks.iter().filter_map(|t| match t.which {
        Which::Scattered { items, .. } => {
            Some(items.chunk_by(|a, b| b.local - a.local <= NEAR).filter_map(|near| Some((t.shard, near.first()?.local, near.last()?.local))))
        }
        Which::Run { .. } => None,
    });
    fetch_papers(spans.flatten())?;
    let mut jobs = Vec::new();
    for task in tasks.iter_mut().filter(|t| is_object(t.shard)) {
        task.find(budget)?;
        if task.raw() {
            continue;
        }
        let (mut k, mut groups) = (0, Vec::new());
        while let Some(group) = task.next_group(&mut k) {
            task.make_room(&group, budget)?;
            groups.push(group);
        }
        task.arrived = true;
        let mut rest = &mut task.fetched[..];
        let parts = groups.iter().map(|g| Part { at: g.from, dst: rest.split_off_mut(..(g.to - g.from) as usize).unwrap_or_default() });
        jobs.push((task.shard.file(), parts.collect()));
    }
    io::read_parts(jobs)
}

/// Fetches uncompressed records straight to their places.
pub fn fetch_plain(tasks: &mut [Task<'_>], slots: &mut [Slots<'_>]) -> Result<()> {
    let mut jobs = Vec::new();
    for (task, slots) in tasks.iter_mut().zip(slots).filter(|(t, _)| t.raw() && is_object(t.shard)) {
        let mut parts = Vec::new();
        match slots {
            Slots::One(slot) => {
                let mut rest = &mut **slot;
                if task.plain() {
                    parts.push(Part { at: task.extent(0).0, dst: std::mem::take(&mut rest) });
                }
                let cut = |k| Part { at: task.extent(k).0, dst: rest.split_off_mut(..task.size(k) as usize).unwrap_or_default() };
                parts.extend((0..if task.plain() { 0 } else { task.len() }).map(cut));
            }
            Slots::Each(each) => parts.extend(each.iter_mut().enumerate().map(|(k, slot)| Part { at: task.extent(k).0, dst: slot })),
        }
        task.arrived = true;
        jobs.push((task.shard.file(), parts));
    }
    io::read_parts(jobs)
}
