//! Splices: replacement of content at one position, or at several positions with a constant stride.
//! The content after each position moves.
//!
//! The chunk size stays the same. Content after the change is encoded again, chunk by chunk, until
//! old and new chunk boundaries coincide. From there on, chunks are reused as they are stored. A
//! splice never overwrites uncommitted data; a failed splice rolls back by restoring the old chunk
//! list.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::ChunkSlot;
use super::content::Content;
use crate::alloc;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use std::ops::Range;

/// A replacement of content.
#[derive(Clone, Copy)]
pub struct Splice<'a> {
    /// The first position, in the old content.
    pub at: u64,
    /// Distance from one position to the next.
    pub every: u64,
    /// Number of positions.
    pub times: u64,
    /// Bytes to remove at each position.
    pub gone: u64,
    /// Bytes to insert; every position receives an equal part.
    pub src: &'a [u8],
}

impl<'a> Splice<'a> {
    /// Returns the end of the last removed range; `None` if ranges overlap or exceed 64 bits.
    fn end(&self) -> Option<u64> {
        let apart = self.times <= 1 || self.every >= self.gone;
        let last = self.every.checked_mul(self.times.checked_sub(1)?)?;
        self.at
            .checked_add(last)?
            .checked_add(self.gone)
            .filter(|_| apart)
    }

    fn each(&self) -> impl Iterator<Item = Result<(Range<u64>, &'a [u8])>> {
        let Splice {
            at,
            every,
            times,
            gone,
            src,
        } = *self;
        let n = (src.len() as u64 / times.max(1)) as usize;
        (0..times).map(move |i| {
            let (from, offset) = (at + i * every, n * i as usize);
            Ok((from..from + gone, src.at(offset..offset + n)?))
        })
    }
}

/// The old chunks, consumed in order.
struct OldChunks<'a> {
    chunks: &'a [ChunkSlot],
    /// Index and content offset of the first chunk.
    number: usize,
    at: u64,
    content: Option<Vec<u8>>,
}

impl Bloscpack {
    /// Replaces content. On failure the content is unchanged.
    pub fn splice(&mut self, splice: &Splice<'_>) -> Result<()> {
        self.check_writer()?;
        if splice.end().is_none_or(|end| end > self.nbytes()) {
            let Splice {
                at,
                every,
                times,
                gone,
                ..
            } = splice;
            return Err(fail!(
                Range,
                "{}: {times} ranges of {gone} bytes from {at} with stride {every}: there are {}",
                self.name(),
                self.nbytes()
            ));
        }
        if splice.gone == 0 && splice.src.is_empty() {
            return Ok(());
        }
        self.flush()?;
        let slots = &self.content.slots;
        let first = slots.holding(splice.at..splice.at.saturating_add(1)).start;
        // an append may reopen the chunk before `first`
        let first_saved = first.saturating_sub(1);
        let mut old = alloc::with_capacity(slots.len() - first_saved)?;
        old.extend(slots.iter().skip(first_saved).cloned());
        let changed = std::mem::replace(&mut self.changed, true);
        let rest = old.at(first - first_saved..)?;
        self.refill(first, rest, splice).inspect_err(|_| {
            let Content { pending, slots, .. } = &mut self.content;
            *pending = Vec::new();
            slots.truncate(first_saved);
            // the capacity for these slots existed before
            let back = old.drain(..).try_for_each(|slot| slots.push(slot));
            if let (Err(_), Some(writer)) = (back, &self.writer) {
                writer.session.mark_broken();
            }
            self.changed = changed;
        })
    }

    /// Truncates the chunk list at `first`, then appends the retained and the inserted content.
    fn refill(&mut self, first: usize, chunks: &[ChunkSlot], splice: &Splice<'_>) -> Result<()> {
        let mut at = self.content.slots.span(first).start;
        let mut old = OldChunks {
            chunks,
            number: first,
            at,
            content: None,
        };
        self.content.slots.truncate(first);
        for change in splice.each() {
            let (bytes, new) = change?;
            self.copy_old(&mut old, at..bytes.start)?;
            self.append(new)?;
            at = bytes.end;
        }
        self.copy_old(&mut old, at..u64::MAX)
    }

    /// Appends the old content in `bytes`. Reuses complete encoded chunks where the new chunk
    /// boundaries allow it.
    fn copy_old(&mut self, old: &mut OldChunks<'_>, bytes: Range<u64>) -> Result<()> {
        while let Some((slot, rest)) = old.chunks.split_first() {
            let span = old.at..old.at + u64::from(slot.nbytes);
            let requested = bytes.start.max(span.start)..bytes.end.min(span.end);
            let is_aligned = self.content.pending.len().is_multiple_of(self.chunk_size());
            if requested == span && is_aligned {
                self.encode_pending()?;
                self.content.slots.push(slot.clone())?;
            } else if !requested.is_empty() {
                let content = match old.content.take() {
                    Some(content) => content,
                    None => self.reader.content(old.number, slot)?,
                };
                self.append(
                    content.at((requested.start - span.start) as usize
                        ..(requested.end - span.start) as usize)?,
                )?;
                old.content = Some(content);
            }
            if bytes.end < span.end {
                break;
            }
            *old = OldChunks {
                chunks: rest,
                number: old.number + 1,
                at: span.end,
                content: None,
            };
        }
        Ok(())
    }
}
