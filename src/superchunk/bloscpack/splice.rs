//! Splices: content is put in or taken away in the middle, at one place or at places in equal
//! distances, and what is behind moves.
//!
//! Chunks stay as long as they were: content behind the change is encoded anew, chunk by chunk, up
//! to where the old limits of chunks fall on the new ones. From there on, chunks stay as they are.
//! Nothing that waits for a commit is ever written over, so that a splice that fails is taken back
//! by going on with the old chunks.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::Slot;
use crate::alloc;
use crate::error::{Result, fail};
use std::ops::Range;

/// What is put in and taken away.
#[derive(Clone, Copy)]
pub struct Splice<'a> {
    /// The first place, in the content as it was.
    pub at: u64,
    /// How far it is from one place to the next.
    pub every: u64,
    /// How many places there are.
    pub times: u64,
    /// Bytes that are taken away at each.
    pub gone: u64,
    /// What is put there: at each place an equal part of it.
    pub src: &'a [u8],
}

impl<'a> Splice<'a> {
    /// Where the last place ends, if no two places overlap.
    fn end(&self) -> Option<u64> {
        let apart = self.times <= 1 || self.every >= self.gone;
        let last = self.every.checked_mul(self.times.checked_sub(1)?)?;
        self.at
            .checked_add(last)?
            .checked_add(self.gone)
            .filter(|_| apart)
    }

    fn each(&self) -> impl Iterator<Item = (Range<u64>, &'a [u8])> {
        let Splice {
            at,
            every,
            times,
            gone,
            src,
        } = *self;
        let n = (src.len() as u64 / times.max(1)) as usize;
        (0..times).map(move |i| {
            let (from, place) = (at + i * every, n * i as usize);
            (
                from..from + gone,
                src.get(place..place + n).unwrap_or_default(),
            )
        })
    }
}

/// Chunks that are taken over one after the other.
struct Old<'a> {
    chunks: &'a [Slot],
    /// Number and begin of the first of them.
    number: usize,
    at: u64,
    content: Option<Vec<u8>>,
}

impl Bloscpack {
    /// Puts content in the place of other content. On failure the content is as it was.
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
                "{}: {gone} bytes at {at}, {times} times, each {every} further: there are {}",
                self.name(),
                self.nbytes()
            ));
        }
        if splice.gone == 0 && splice.src.is_empty() {
            return Ok(());
        }
        self.flush()?;
        let first = self
            .slots
            .holding(splice.at..splice.at.saturating_add(1))
            .start;
        // an append may go on in the one before
        let kept = first.saturating_sub(1);
        let mut old = alloc::with_room(self.slots.len() - kept)?;
        old.extend(self.slots.iter().skip(kept).cloned());
        let changed = std::mem::replace(&mut self.changed, true);
        self.refill(first, old.get(first - kept..).unwrap_or_default(), splice)
            .inspect_err(|_| {
                self.pending = Vec::new();
                self.slots.truncate(kept);
                // there was room for them before
                let back = old.drain(..).try_for_each(|slot| self.slots.push(slot));
                self.broken |= back.is_err();
                self.changed = changed;
            })
    }

    /// Cuts the chunks from `first` on, and goes on with what stays of them and what is put in.
    fn refill(&mut self, first: usize, chunks: &[Slot], splice: &Splice<'_>) -> Result<()> {
        let mut at = self.slots.span(first).start;
        let mut old = Old {
            chunks,
            number: first,
            at,
            content: None,
        };
        self.slots.truncate(first);
        for (bytes, new) in splice.each() {
            self.keep(&mut old, at..bytes.start)?;
            self.append(new)?;
            at = bytes.end;
        }
        self.keep(&mut old, at..u64::MAX)
    }

    /// Goes on with some of the old content, whole chunks as they are where they can stay so.
    fn keep(&mut self, old: &mut Old<'_>, bytes: Range<u64>) -> Result<()> {
        while let Some((slot, rest)) = old.chunks.split_first() {
            let span = old.at..old.at + u64::from(slot.nbytes);
            let wanted = bytes.start.max(span.start)..bytes.end.min(span.end);
            if wanted == span && self.pending.len().is_multiple_of(self.chunk_size) {
                self.encode_pending(self.pending.len())?;
                self.slots.push(slot.clone())?;
            } else if !wanted.is_empty() {
                let content = match old.content.take() {
                    Some(content) => content,
                    None => self.content_of(old.number, slot)?,
                };
                let part = content
                    .get((wanted.start - span.start) as usize..(wanted.end - span.start) as usize);
                self.append(part.unwrap_or_default())?;
                old.content = Some(content);
            }
            if bytes.end < span.end {
                break;
            }
            *old = Old {
                chunks: rest,
                number: old.number + 1,
                at: span.end,
                content: None,
            };
        }
        Ok(())
    }

    /// The content of a chunk that was chunk `i`.
    fn content_of(&self, i: usize, slot: &Slot) -> Result<Vec<u8>> {
        let mut content = alloc::zeroed(alloc::allow(
            slot.nbytes.into(),
            self.memory_limit,
            "a chunk",
        )?)?;
        let read = self.slot_part(slot, 0, &mut content, self.threads.count());
        read.map_err(|e| {
            e.within(format_args!("{}: chunk {i}", self.name()))
                .at(i as u64)
        })?;
        Ok(content)
    }
}
