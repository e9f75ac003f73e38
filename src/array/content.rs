//! The content of an array: the bytes of its store, then zeros, or its fill value, that nobody has
//! put into it yet.
//!
//! An array that was made large, or made larger, costs nothing until it is written: who fills it
//! from its beginning to its end never makes those zeros into chunks. And here the bytes of a
//! selection go to and from a buffer, in such a way that no chunk is decoded twice for one call.
#![forbid(unsafe_code)]

use super::selection::{Cover, Plan};
use super::store::{Store, repeat};
use crate::error::{Error, Result, fail};
use crate::superchunk::bloscpack::Splice;
use crate::{alloc, parallel};
use std::cell::RefCell;
use std::ops::Range;

/// Content over which a selection goes that is worth another thread.
pub(super) const WORTH: u64 = 256 << 10;
/// Scratch that a thread keeps.
const KEPT: usize = 8 << 20;
/// Content that is decoded at once where it cannot go straight to its place.
const BATCH: usize = 16 << 20;
/// What is put in at once where there is nothing yet.
const BLANK: u64 = 64 << 10;

/// See the top of the file.
pub struct Content {
    /// The bytes that are there.
    pub file: Box<dyn Store>,
    len: u64,
    /// Chunks are missing at the end, and what they held is zeros here.
    short: bool,
    memory_limit: u64,
}

/// What one chunk holds of a selection, on its way to the buffer.
struct Task<'a> {
    /// The chunk.
    span: Range<u64>,
    /// A part of the buffer, or scratch.
    dst: &'a mut [u8],
    /// Where in the buffer that part begins.
    base: usize,
    done: Result<bool>,
}

impl Content {
    /// All bytes of a store, and zeros up to `len` bytes: nobody has put anything there yet, or it
    /// has lost them.
    pub fn new(file: Box<dyn Store>, len: u64, memory_limit: u64) -> Content {
        let short = file.stands_for(len);
        Content {
            file,
            len,
            short,
            memory_limit,
        }
    }

    /// Refuses to make zeros of what was lost.
    pub fn refuse_short(&self) -> Result<()> {
        match self.short {
            true => Err(fail!(
                State,
                "{}: chunks are missing at its end; repair it first",
                self.file.name()
            )),
            false => Ok(()),
        }
    }

    /// Bytes that its file may make a call allocate.
    pub fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Bytes.
    pub fn nbytes(&self) -> u64 {
        self.len
    }

    /// The bytes of the chunk that holds, or is going to hold, this byte.
    fn span(&self, at: u64) -> Range<u64> {
        let span = self.file.chunk_span(at);
        span.start..span.end.min(self.len).max(at.saturating_add(1))
    }

    // ---- bytes

    /// Reads a range. True: some of it was damaged, and is zeros now, as the options wished.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        self.check(at, dst.len())?;
        let there = self.file.nbytes().saturating_sub(at).min(dst.len() as u64) as usize;
        let (stored, zeros) = dst.split_at_mut_checked(there).unwrap_or_default();
        if !zeros.is_empty() {
            repeat(self.file.fill()?, at + there as u64, zeros);
        }
        let lost = self.short && !zeros.is_empty();
        if stored.is_empty() {
            Ok(lost)
        } else {
            Ok(self.file.read(at, stored)? | lost)
        }
    }

    /// Writes a range. On failure some of it may be written.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check(at, src.len())?;
        if at > self.file.nbytes() {
            self.fill(at)?;
        }
        let there = (self.file.nbytes() - at).min(src.len() as u64) as usize;
        let (over, behind) = src.split_at_checked(there).unwrap_or_default();
        self.file.write(at, over)?;
        self.file.append(behind)
    }

    fn check(&self, at: u64, n: usize) -> Result<()> {
        match at.checked_add(n as u64) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(fail!(
                Range,
                "{}: {n} bytes at {at}: there are {}",
                self.file.name(),
                self.len
            )),
        }
    }

    /// Cuts it, or lets it grow by zeros, or its fill value.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        // refuses a handle that reads
        self.file.append(&[])?;
        self.cut()?;
        let old = std::mem::replace(&mut self.len, len);
        self.cut().inspect_err(|_| self.len = old)
    }

    /// Puts bytes in and takes others away, what is behind moves. On failure it is as it was.
    pub fn splice(&mut self, splice: &Splice<'_>) -> Result<()> {
        // refuses a handle that reads
        self.file.append(&[])?;
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
            .ok_or_else(|| fail!(Argument, "more than 2^64 bytes"))?;
        self.settle()?;
        // what of an append that fails is there is cut off before anybody sees it
        if splice.at < self.file.nbytes() {
            self.file.splice(splice)?
        } else {
            self.file.append(splice.src)?
        }
        self.len = len;
        Ok(())
    }

    /// So many zeros, if the memory may be had.
    pub fn zeros(&self, n: u64) -> Result<Vec<u8>> {
        alloc::zeroed(self.allow(n)?)
    }

    /// Refuses to put in more than the memory that may be had.
    pub fn allow(&self, n: u64) -> Result<usize> {
        alloc::allow(n, self.memory_limit, "what is put in")
    }

    fn cut(&mut self) -> Result<()> {
        if self.file.nbytes() > self.len {
            self.file.truncate(self.len)
        } else {
            Ok(())
        }
    }

    /// Makes the superchunk as long as it should be.
    pub fn settle(&mut self) -> Result<()> {
        self.cut()?;
        self.fill(self.len)
    }

    fn fill(&mut self, to: u64) -> Result<()> {
        let missing = to.saturating_sub(self.file.nbytes());
        let mut blank = alloc::zeroed(missing.min(BLANK) as usize)?;
        while let Some(n) = to.checked_sub(self.file.nbytes()).filter(|n| *n > 0) {
            let part = blank.get_mut(..n.min(BLANK) as usize).unwrap_or_default();
            repeat(self.file.fill()?, self.file.nbytes(), part);
            self.file.append(part)?;
        }
        Ok(())
    }

    // ---- selections

    /// Reads a selection. True: as [`Content::read`].
    pub fn gather(&self, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        if let Some((at, range)) = plan.one_run() {
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
        if range.end - range.start >= WORTH {
            self.file.file_threads()
        } else {
            1
        }
    }

    /// Where what is wanted of each chunk goes to a part of the buffer that belongs to it alone:
    /// all at once.
    fn gather_in_order(&self, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        let mut tasks = Vec::new();
        let (mut rest, mut base) = (dst, 0);
        let mut next = plan.first_from(0);
        while let Some((at, buf)) = next {
            let span = self.span(at);
            next = plan.first_from(span.end);
            let from_buf = rest.split_at_mut_checked(buf - base).ok_or_else(outside)?.1;
            let end = next.map_or(from_buf.len(), |(_, next_buf)| next_buf - buf);
            let (own, behind) = from_buf.split_at_mut_checked(end).ok_or_else(outside)?;
            alloc::reserve(&mut tasks, 1)?;
            tasks.push(Task {
                span,
                dst: own,
                base: buf,
                done: Ok(false),
            });
            (rest, base) = (behind, buf + end);
        }
        parallel::for_each(
            self.threads(plan),
            tasks.iter_mut().collect(),
            |t: &mut Task| t.done = self.gather_chunk(plan, t),
        );
        tasks
            .into_iter()
            .try_fold(false, |bad, t| Ok(bad | t.done?))
    }

    fn gather_chunk(&self, plan: &Plan, task: &mut Task) -> Result<bool> {
        let Some(cover) = plan.cover(task.span.clone()) else {
            return Ok(false);
        };
        if cover.one_run {
            let n = (cover.to - cover.from) as usize;
            return self.read(cover.from, task.dst.get_mut(..n).ok_or_else(outside)?);
        }
        self.with_scratch(&cover, |scratch| {
            let bad = self.read(cover.from, scratch)?;
            for piece in plan.pieces(task.span.clone()) {
                if !piece.to_buffer((scratch, cover.from), (task.dst, task.base)) {
                    return Err(outside());
                }
            }
            Ok(bad)
        })
    }

    fn with_scratch<R>(&self, cover: &Cover, f: impl FnOnce(&mut [u8]) -> Result<R>) -> Result<R> {
        thread_local!(static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        let n = alloc::allow(
            cover.to - cover.from,
            self.memory_limit,
            "a part of a chunk",
        )?;
        let mut scratch = SCRATCH.with(|s| {
            s.try_borrow_mut()
                .map(|mut s| std::mem::take(&mut *s))
                .unwrap_or_default()
        });
        if scratch.len() < n {
            scratch = alloc::zeroed(n)?;
        }
        let result = f(scratch.get_mut(..n).unwrap_or_default());
        if scratch.len() <= KEPT {
            SCRATCH.with(|s| _ = s.try_borrow_mut().map(|mut s| *s = scratch));
        }
        result
    }

    /// Where chunks have no parts of the buffer of their own: some chunks at a time to scratch,
    /// then to their places.
    fn gather_in_batches(&self, plan: &Plan, dst: &mut [u8]) -> Result<bool> {
        let (mut scratch, mut bad) = (Vec::new(), false);
        let mut next = plan.first_from(0);
        while next.is_some() {
            let (mut covers, mut size) = (Vec::new(), 0usize);
            while let Some((at, _)) = next.filter(|_| size < BATCH) {
                let span = self.span(at);
                next = plan.first_from(span.end);
                let cover = plan.cover(span.clone()).ok_or_else(outside)?;
                size = size.saturating_add(alloc::allow(
                    cover.to - cover.from,
                    self.memory_limit,
                    "a part of a chunk",
                )?);
                alloc::reserve(&mut covers, 1)?;
                covers.push((span, cover));
            }
            if scratch.len() < size {
                scratch = alloc::zeroed(size)?;
            }
            bad |= self.read_all(plan, &covers, &mut scratch)?;
            let mut rest = &scratch[..];
            for (span, cover) in covers {
                let (part, behind) = rest
                    .split_at_checked((cover.to - cover.from) as usize)
                    .ok_or_else(outside)?;
                rest = behind;
                if !plan
                    .pieces(span)
                    .all(|p| p.to_buffer((part, cover.from), (dst, 0)))
                {
                    return Err(outside());
                }
            }
        }
        Ok(bad)
    }

    /// Reads these parts of chunks one behind the other.
    fn read_all(
        &self,
        plan: &Plan,
        covers: &[(Range<u64>, Cover)],
        scratch: &mut [u8],
    ) -> Result<bool> {
        let mut tasks = alloc::with_room(covers.len())?;
        let mut rest = scratch;
        for (_, cover) in covers {
            let (dst, behind) = rest
                .split_at_mut_checked((cover.to - cover.from) as usize)
                .ok_or_else(outside)?;
            rest = behind;
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
            .try_fold(false, |bad, t| Ok(bad | t.done?))
    }

    /// Writes a selection. On failure some of it may be written.
    pub fn scatter(&mut self, plan: &Plan, src: &[u8]) -> Result<()> {
        let mut next = plan.first_from(0);
        while let Some((at, buf)) = next {
            // what is before is written already; appends move the limits of chunks that are still
            // to come
            let mut span = at..self.span(at).end;
            // what goes on in the next chunks goes with it, so that they are encoded in parallel
            if let Some(end) = plan.unit_end(at).filter(|end| *end > span.end) {
                span.end = end;
            }
            next = plan.first_from(span.end);
            let cover = plan.cover(span.clone()).ok_or_else(outside)?;
            let n = usize::try_from(cover.to - cover.from).unwrap_or(usize::MAX);
            if cover.one_run {
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
            self.memory_limit,
            "a part of a chunk",
        )?;
        let mut scratch = alloc::zeroed(n)?;
        if cover.wanted < n as u64 && self.read(cover.from, &mut scratch)? {
            return Err(fail!(
                Format,
                "{}: a damaged chunk, in part of which nothing else can be written",
                self.file.name()
            ));
        }
        if !plan
            .pieces(span)
            .all(|p| p.to_content(src, (&mut scratch, cover.from)))
        {
            return Err(outside());
        }
        self.write(cover.from, &scratch)
    }
}

fn outside() -> Error {
    fail!(State, "a selection reaches out of its buffer")
}
