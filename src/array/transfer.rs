//! Transfers the bytes of a selection between the content of an array and a buffer. Each chunk is
//! decoded at most once per call.
#![forbid(unsafe_code)]

use super::filled_content::FilledContent;
use super::selection::{Cover, Plan};
use crate::alloc::{self, Scratch};
use crate::error::{Error, Result, fail};
use crate::parallel;
use std::ops::Range;

/// Minimum number of content bytes that a selection spans before several threads are used.
pub(super) const PARALLEL_MIN: u64 = 256 << 10;
/// Number of content bytes that are decoded per batch into a scratch buffer.
const BATCH_BYTES: usize = 16 << 20;

/// The part of a selection that lies in one chunk, on its way to the buffer.
struct Task<'a> {
    /// FilledContent range of the chunk.
    span: Range<u64>,
    /// Part of the caller's buffer, or a scratch buffer.
    dst: &'a mut [u8],
    /// Offset of `dst` in the caller's buffer.
    base: usize,
    done: Result<bool>,
}

impl FilledContent {
    /// Reads a selection. Returns `true` under the same condition as [`FilledContent::read`].
    pub fn gather(&self, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        if let Some((at, range)) = plan.contiguous() {
            return self.read(at, dst.get_mut(range).ok_or_else(outside)?);
        }
        if plan.is_in_order() {
            self.gather_in_order(plan, dst)
        } else {
            self.gather_in_batches(plan, dst)
        }
    }

    fn threads(&self, plan: &Plan) -> usize {
        let range = plan.range();
        if range.end - range.start >= PARALLEL_MIN {
            self.store.file_threads()
        } else {
            1
        }
    }

    /// Reads all chunks in parallel. Requires that each chunk fills a part of the buffer that no
    /// other chunk touches.
    fn gather_in_order(&self, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        let mut tasks = Vec::new();
        let (mut rest, mut base) = (dst, 0);
        let mut next = plan.first_from(0);
        while let Some((at, buf)) = next {
            let span = self.span(at);
            next = plan.first_from(span.end);
            let from_buf = rest.split_at_mut_checked(buf - base).ok_or_else(outside)?.1;
            let end = next.map_or(from_buf.len(), |(_, next_buf)| next_buf - buf);
            let (own, after) = from_buf.split_at_mut_checked(end).ok_or_else(outside)?;
            alloc::reserve(&mut tasks, 1)?;
            tasks.push(Task {
                span,
                dst: own,
                base: buf,
                done: Ok(false),
            });
            (rest, base) = (after, buf + end);
        }
        parallel::for_each(
            self.threads(plan),
            tasks.iter_mut().collect(),
            |t: &mut Task| t.done = self.gather_chunk(plan, t),
        );
        tasks
            .into_iter()
            .try_fold(false, |damaged, t| Ok(damaged | t.done?))
    }

    fn gather_chunk(&self, plan: &Plan, task: &mut Task) -> Result<bool> {
        let Some(cover) = plan.cover(task.span.clone()) else {
            return Ok(false);
        };
        if cover.contiguous {
            let n = (cover.to - cover.from) as usize;
            return self.read(cover.from, task.dst.get_mut(..n).ok_or_else(outside)?);
        }
        let (n, what) = (cover.to - cover.from, "part of a chunk");
        let mut scratch = Scratch::new(n, self.memory_limit(), what)?;
        let damaged = self.read(cover.from, &mut scratch)?;
        for segment in plan.segments(task.span.clone()) {
            if !segment.to_buffer((&scratch, cover.from), (task.dst, task.base)) {
                return Err(outside());
            }
        }
        Ok(damaged)
    }

    /// Reads a batch of chunks into a scratch buffer and copies the items to the caller's buffer.
    /// Used where the chunks do not have disjoint parts of the buffer.
    fn gather_in_batches(&self, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        let mut damaged = false;
        let mut next = plan.first_from(0);
        while next.is_some() {
            let (mut covers, mut size) = (Vec::new(), 0usize);
            while let Some((at, _)) = next.filter(|_| size < BATCH_BYTES) {
                let span = self.span(at);
                next = plan.first_from(span.end);
                let cover = plan.cover(span.clone()).ok_or_else(outside)?;
                size = size.saturating_add(alloc::allow(
                    cover.to - cover.from,
                    self.memory_limit(),
                    "part of a chunk",
                )?);
                alloc::reserve(&mut covers, 1)?;
                covers.push((span, cover));
            }
            let mut scratch = Scratch::new(size as u64, u64::MAX, "part of a chunk")?;
            damaged |= self.read_all(plan, &covers, &mut scratch)?;
            let mut rest = &scratch[..];
            for (span, cover) in covers {
                let (part, after) = rest
                    .split_at_checked((cover.to - cover.from) as usize)
                    .ok_or_else(outside)?;
                rest = after;
                if !plan
                    .segments(span)
                    .all(|p| p.to_buffer((part, cover.from), (dst, 0)))
                {
                    return Err(outside());
                }
            }
        }
        Ok(damaged)
    }

    /// Reads the given parts of chunks into consecutive parts of `scratch`.
    fn read_all(
        &self,
        plan: &Plan,
        covers: &[(Range<u64>, Cover)],
        scratch: &mut [u8],
    ) -> Result<bool> {
        let mut tasks = alloc::with_capacity(covers.len())?;
        let mut rest = scratch;
        for (_, cover) in covers {
            let (dst, after) = rest
                .split_at_mut_checked((cover.to - cover.from) as usize)
                .ok_or_else(outside)?;
            rest = after;
            tasks.push(Task {
                span: cover.from..cover.to,
                dst,
                base: 0,
                done: Ok(false),
            });
        }
        parallel::for_each(
            self.threads(plan),
            tasks.iter_mut().collect(),
            |t: &mut Task| t.done = self.read(t.span.start, t.dst),
        );
        tasks
            .into_iter()
            .try_fold(false, |damaged, t| Ok(damaged | t.done?))
    }

    /// Writes a selection. On failure, part of it may be written.
    pub fn scatter(&mut self, plan: &Plan, src: &[u8]) -> Result<()> {
        let mut next = plan.first_from(0);
        while let Some((at, buf)) = next {
            // Everything before `at` is already written. An append may move the ends of later
            // chunks, so each span is computed only now.
            let mut span = at..self.span(at).end;
            // A contiguous run that continues in the following chunks is written in one call, so
            // that these chunks are encoded in parallel.
            if let Some(end) = plan.unit_end(at).filter(|end| *end > span.end) {
                span.end = end;
            }
            next = plan.first_from(span.end);
            let cover = plan.cover(span.clone()).ok_or_else(outside)?;
            let n = usize::try_from(cover.to - cover.from).unwrap_or(usize::MAX);
            if cover.contiguous {
                self.write(
                    cover.from,
                    src.get(buf..)
                        .and_then(|s| s.get(..n))
                        .ok_or_else(outside)?,
                )?;
            } else {
                self.scatter_chunk(plan, span, &cover, src)?;
            }
        }
        Ok(())
    }

    fn scatter_chunk(
        &mut self,
        plan: &Plan,
        span: Range<u64>,
        cover: &Cover,
        src: &[u8],
    ) -> Result<()> {
        let n = alloc::allow(
            cover.to - cover.from,
            self.memory_limit(),
            "part of a chunk",
        )?;
        let mut scratch = alloc::zeroed(n)?;
        if cover.requested < n as u64 && self.read(cover.from, &mut scratch)? {
            return Err(fail!(
                Format,
                "{}: the chunk is corrupt and cannot be written in part; overwrite all of it or repair the file",
                self.store.name()
            ));
        }
        if !plan
            .segments(span)
            .all(|p| p.to_content(src, (&mut scratch, cover.from)))
        {
            return Err(outside());
        }
        self.write(cover.from, &scratch)
    }
}

fn outside() -> Error {
    fail!(State, "a selection exceeds its buffer")
}
