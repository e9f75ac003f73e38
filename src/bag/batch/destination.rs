//! Positions of the records in the buffer of a batch.
#![forbid(unsafe_code)]

use super::BatchLayout;
use super::task::{OutputSlots, Task, TaskRecords};
use crate::alloc;
use crate::error::{Error, Result, Status};

/// Computes the offsets from the sizes.
pub fn offsets(tasks: &[Task<'_>], n: usize) -> Result<Vec<u64>> {
    let mut offsets: Vec<u64> = alloc::defaults(n + 1)?;
    for t in tasks {
        if let (true, TaskRecords::Run { bounds, out, .. }) = (t.is_single_copy(), &t.records) {
            let sizes = offsets.get_mut(out + 1..).unwrap_or_default();
            sizes.iter_mut().zip(bounds.windows(2)).for_each(|(o, w)| {
                *o = w
                    .last()
                    .zip(w.first())
                    .map_or(0, |(b, a)| b.saturating_sub(*a))
            });
            continue;
        }
        for k in 0..t.len() {
            if let Some(o) = offsets.get_mut(t.out(k) + 1) {
                *o = t.size(k);
            }
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
    let offset = |i: usize| offsets.get(i).copied().unwrap_or(0);
    let mut rest = data;
    let mut cut = |from: usize, to: usize| {
        rest.split_off_mut(..offset(to).saturating_sub(offset(from)) as usize)
            .unwrap_or_default()
    };
    let mut out = alloc::with_capacity(tasks.len())?;
    if tasks
        .iter()
        .all(|t| matches!(t.records, TaskRecords::Run { .. }))
    {
        out.extend(
            tasks
                .iter()
                .map(|t| OutputSlots::Contiguous(cut(t.out(0), t.out(0) + t.len()))),
        );
        return Ok(out);
    }
    let n = offsets.len().saturating_sub(1);
    let mut slots: Vec<&mut [u8]> = alloc::with_capacity(n)?;
    slots.extend((0..n).map(|i| cut(i, i + 1)));
    for t in tasks {
        let mut own = alloc::with_capacity(t.len())?;
        own.extend((0..t.len()).map(|k| {
            slots
                .get_mut(t.out(k))
                .map(std::mem::take)
                .unwrap_or_default()
        }));
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
