//! The content of an array: the bytes of its store, followed by zeros or the fill value for items
//! that were never written.
//!
//! Creating or growing an array does not write chunks for the new items. An array that is written
//! sequentially from start to end therefore never stores those zeros. This module also transfers
//! the bytes of a selection between the store and a buffer, and decodes each chunk at most once per
//! call.
#![forbid(unsafe_code)]

use super::selection::{Cover, Plan};
use super::store::{Store, repeat};
use crate::alloc::{self, Scratch};
use crate::error::{Error, Result, fail};
use crate::parallel;
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Splice;
use std::ops::Range;

/// Minimum number of content bytes that a selection spans before several threads are used.
pub(super) const PARALLEL_MIN: u64 = 256 << 10;
/// Number of content bytes that are decoded per batch into a scratch buffer.
const BATCH_BYTES: usize = 16 << 20;
/// Number of bytes per append when missing content is filled.
const FILL_STEP: u64 = 64 << 10;

/// The content of one array: a store and the length that the array requires.
pub struct Content {
    /// The bytes that are stored. May be shorter than the content.
    pub store: Box<dyn Store>,
    len: u64,
    /// The store has lost chunks at its end. Their content reads as the fill value.
    truncated: bool,
    memory_limit: u64,
}

/// The part of a selection that lies in one chunk, on its way to the buffer.
struct Task<'a> {
    /// Content range of the chunk.
    span: Range<u64>,
    /// Part of the caller's buffer, or a scratch buffer.
    dst: &'a mut [u8],
    /// Offset of `dst` in the caller's buffer.
    base: usize,
    done: Result<bool>,
}

impl Content {
    /// Wraps a store. Content from the end of the store up to `len` bytes was never written, or is
    /// lost, and reads as the fill value.
    pub fn new(store: Box<dyn Store>, len: u64, memory_limit: u64) -> Content {
        let truncated = store.is_truncation_of(len);
        Content {
            store,
            len,
            truncated,
            memory_limit,
        }
    }

    /// Returns an error if the store has lost chunks, so that a commit never turns them into zeros.
    pub fn refuse_truncated(&self) -> Result<()> {
        match self.truncated {
            true => Err(fail!(
                State,
                "{}: chunks are missing at the end; repair the file first",
                self.store.name()
            )),
            false => Ok(()),
        }
    }

    /// Returns the memory limit in bytes for allocations whose size comes from the file.
    pub fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Returns the length in bytes.
    pub fn nbytes(&self) -> u64 {
        self.len
    }

    /// Returns the content range of the chunk that holds, or will hold, byte `at`.
    fn span(&self, at: u64) -> Range<u64> {
        let span = self.store.chunk_span(at);
        span.start..span.end.min(self.len).max(at.saturating_add(1))
    }

    // ---- byte ranges

    /// Reads a range. Returns `true` if some of it was corrupt and reads as zeros, as the options
    /// requested.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        self.check(at, dst.len())?;
        let stored_len = self.store.nbytes().saturating_sub(at).min(dst.len() as u64) as usize;
        let (stored, zeros) = dst.cut_mut(stored_len)?;
        if !zeros.is_empty() {
            repeat(self.store.fill()?, at + stored_len as u64, zeros);
        }
        let lost = self.truncated && !zeros.is_empty();
        if stored.is_empty() {
            Ok(lost)
        } else {
            Ok(self.store.read(at, stored)? | lost)
        }
    }

    /// Writes a range. On failure, part of the range may be written.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check(at, src.len())?;
        if at > self.store.nbytes() {
            self.fill(at)?;
        }
        let stored_len = (self.store.nbytes() - at).min(src.len() as u64) as usize;
        let (overwritten, after) = src.cut(stored_len)?;
        self.store.write(at, overwritten)?;
        self.store.append(after)
    }

    fn check(&self, at: u64, n: usize) -> Result<()> {
        match at.checked_add(n as u64) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(fail!(
                Range,
                "{}: {n} bytes at offset {at} exceed the content of {} bytes",
                self.store.name(),
                self.len
            )),
        }
    }

    /// Sets the length. Truncates the content or grows it with zeros or the fill value.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        // Fails if the handle is read-only.
        self.store.append(&[])?;
        self.truncate_store()?;
        let old = std::mem::replace(&mut self.len, len);
        self.truncate_store().inspect_err(|_| self.len = old)
    }

    /// Inserts and removes bytes, and shifts the bytes after them. On failure, the content is
    /// unchanged.
    pub fn splice(&mut self, splice: &Splice<'_>) -> Result<()> {
        // Fails if the handle is read-only.
        self.store.append(&[])?;
        if splice.src.is_empty() && (splice.gone == 0 || splice.times == 0) {
            return Ok(());
        }
        let (more, less) = (
            splice.src.len() as u64,
            splice.gone.saturating_mul(splice.times),
        );
        let len = self
            .len
            .checked_add(more)
            .and_then(|n| n.checked_sub(less))
            .ok_or_else(|| fail!(Argument, "the content would exceed 2^64 bytes"))?;
        self.flush()?;
        // If an append fails, the bytes that it added lie beyond `len` and are truncated later.
        if splice.at < self.store.nbytes() {
            self.store.splice(splice)?
        } else {
            self.store.append(splice.src)?
        }
        self.len = len;
        Ok(())
    }

    /// Allocates `n` zero bytes, within the memory limit.
    pub fn zeros(&self, n: u64) -> Result<Vec<u8>> {
        alloc::zeroed(self.allow(n)?)
    }

    /// Returns an error if inserted data of `n` bytes exceeds the memory limit.
    pub fn allow(&self, n: u64) -> Result<usize> {
        alloc::allow(n, self.memory_limit, "inserted data")
    }

    fn truncate_store(&mut self) -> Result<()> {
        if self.store.nbytes() > self.len {
            self.store.truncate(self.len)
        } else {
            Ok(())
        }
    }

    /// Truncates or fills the store so that its length equals the length of the content.
    pub fn flush(&mut self) -> Result<()> {
        self.truncate_store()?;
        self.fill(self.len)
    }

    fn fill(&mut self, to: u64) -> Result<()> {
        let missing = to.saturating_sub(self.store.nbytes());
        let mut fill = alloc::zeroed(missing.min(FILL_STEP) as usize)?;
        while let Some(n) = to.checked_sub(self.store.nbytes()).filter(|n| *n > 0) {
            let part = fill.at_mut(..n.min(FILL_STEP) as usize)?;
            repeat(self.store.fill()?, self.store.nbytes(), part);
            self.store.append(part)?;
        }
        Ok(())
    }

    // ---- selections

    /// Reads a selection. Returns `true` under the same condition as [`Content::read`].
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
        let mut scratch = Scratch::new(n, self.memory_limit, what)?;
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
                    self.memory_limit,
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
        let n = alloc::allow(cover.to - cover.from, self.memory_limit, "part of a chunk")?;
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
