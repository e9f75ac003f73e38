//! Splices: content is put in or taken away in the middle, and what is behind moves.
//!
//! Chunks stay as long as they were: content behind the change is encoded anew, chunk by chunk, up to where the
//! old limits of chunks fall on the new ones. From there on, chunks stay as they are. Nothing that waits for a
//! commit is ever written over, so that a splice that fails is taken back by going on with the old chunks.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::slots::Slot;
use crate::error::{Result, fail};
use crate::memory;
use std::ops::Range;

impl Bloscpack {
    /// Puts `src` in the place of some bytes of content. On failure the content is as it was.
    pub fn splice(&mut self, bytes: Range<u64>, src: &[u8]) -> Result<()> {
        self.check_writer()?;
        if bytes.start > bytes.end || bytes.end > self.nbytes() {
            return Err(fail!(Range, "{}: bytes {} to {}: there are {}", self.name(), bytes.start, bytes.end, self.nbytes()));
        }
        if bytes.is_empty() && src.is_empty() {
            return Ok(());
        }
        self.flush()?;
        let first = self.slots.holding(bytes.start..bytes.start.saturating_add(1)).start;
        // an append may go on in the one before
        let kept = first.saturating_sub(1);
        let mut old = memory::with_room(self.slots.len() - kept)?;
        old.extend(self.slots.iter().skip(kept).cloned());
        let changed = std::mem::replace(&mut self.changed, true);
        self.refill(first, old.get(first - kept..).unwrap_or_default(), bytes, src).inspect_err(|_| {
            self.pending = Vec::new();
            self.slots.truncate(kept);
            // there was room for them before
            let back = old.drain(..).try_for_each(|slot| self.slots.push(slot));
            self.broken |= back.is_err();
            self.changed = changed;
        })
    }

    /// Cuts the chunks from `first` on, and goes on with `src` and what stays of them.
    fn refill(&mut self, first: usize, old: &[Slot], bytes: Range<u64>, src: &[u8]) -> Result<()> {
        let mut at = self.slots.span(first).start;
        self.slots.truncate(first);
        if let Some(slot) = old.first().filter(|_| bytes.start > at) {
            let content = self.content_of(first, slot)?;
            self.append(content.get(..(bytes.start - at) as usize).unwrap_or_default())?;
        }
        self.append(src)?;
        for (i, slot) in (first..).zip(old) {
            let end = at + u64::from(slot.nbytes);
            let gone = bytes.end.saturating_sub(at).min(end - at) as usize;
            if gone == 0 && self.pending.len().is_multiple_of(self.chunk_size) {
                self.encode_pending(self.pending.len())?;
                self.slots.push(slot.clone())?;
            } else if at + (gone as u64) < end {
                let content = self.content_of(i, slot)?;
                self.append(content.get(gone..).unwrap_or_default())?;
            }
            at = end;
        }
        Ok(())
    }

    /// The content of a chunk that was chunk `i`.
    fn content_of(&self, i: usize, slot: &Slot) -> Result<Vec<u8>> {
        let mut content = memory::zeroed(memory::allow(slot.nbytes.into(), self.memory_limit, "a chunk")?)?;
        let read = self.slot_part(slot, 0, &mut content, self.threads);
        read.map_err(|e| e.within(format_args!("{}: chunk {i}", self.name())).at(i as u64))?;
        Ok(content)
    }
}
