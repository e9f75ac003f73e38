//! Positions of the records in the buffer of a batch.
#![forbid(unsafe_code)]

use super::BatchLayout;
use super::task::{OutputSlots, Task, TaskRecords};
use crate::alloc;
use crate::error::{Error, Result, Status};
use crate::slice::{SliceExt, take_mut};

/// Computes the offsets from the sizes.
pub fn offsets(tasks: &[Task<'_>], n: usize) -> Result<Vec<u64>> {
    let mut offsets: Vec<u64> = alloc::defaults(n + 1)?;
    for t in tasks {
        if let (true, TaskRecords::Run { bounds, out, .. }) = (t.is_single_copy(), &t.records) {
            let sizes = offsets.at_mut(out + 1..)?;
            let ends = bounds.iter().skip(1);
            for ((size, from), to) in sizes.iter_mut().zip(*bounds).zip(ends) {
                *size = to.saturating_sub(*from);
            }
            continue;
        }
        for k in 0..t.len() {
            *offsets.at_mut(t.out(k) + 1)? = t.size(k);
        }
    }
    let mut end = 0u64;
    for o in &mut offsets {
        end = end.checked_add(*o).ok_or_else(|| {
            Error::new(
                Status::Limit,
                "the records of this batch have more than 2^64 bytes",
            )
        })?;
        *o = end;
    }
    Ok(offsets)
}

/// Splits the buffer into the slots of each task.
pub fn hand_out<'b>(
    tasks: &[Task<'_>],
    data: &'b mut [u8],
    offsets: &[u64],
) -> Result<Vec<OutputSlots<'b>>> {
    let mut rest = data;
    let mut cut = |from: usize, to: usize| {
        take_mut(&mut rest, (offsets.at(to)? - offsets.at(from)?) as usize)
    };
    let mut out = alloc::with_capacity(tasks.len())?;
    if tasks
        .iter()
        .all(|t| matches!(t.records, TaskRecords::Run { .. }))
    {
        for t in tasks {
            out.push(OutputSlots::Contiguous(cut(t.out(0), t.out(0) + t.len())?));
        }
        return Ok(out);
    }
    let n = offsets.len().saturating_sub(1);
    let mut slots: Vec<&mut [u8]> = alloc::with_capacity(n)?;
    for i in 0..n {
        slots.push(cut(i, i + 1)?);
    }
    for t in tasks {
        let mut own = alloc::with_capacity(t.len())?;
        for k in 0..t.len() {
            own.push(std::mem::take(slots.at_mut(t.out(k))?));
        }
        out.push(OutputSlots::Scattered(own));
    }
    Ok(out)
}

/// Removes the bytes of damaged records from the buffer.
pub fn remove_damaged(layout: &mut BatchLayout, data: &mut [u8]) {
    let mut damaged = layout
        .damaged
        .iter()
        .map(|(out, _)| *out as usize)
        .peekable();
    let (mut from, mut end) = (0usize, 0usize);
    for (i, o) in layout.offsets.iter_mut().skip(1).enumerate() {
        let to = std::mem::replace(o, 0) as usize;
        if damaged.next_if_eq(&i).is_none() {
            data.copy_within(from..to, end);
            end += to - from;
        }
        *o = end as u64;
        from = to;
    }
}
