//! The second pass: decodes or copies every record of a task into its slot.
#![forbid(unsafe_code)]

use super::budget::Budget;
use super::frames::FrameForm;
use super::locate::AHEAD;
use super::task::{OutputSlots, RecordInfo, Task};
use crate::bag::offset_check::Suspect;
use crate::error::Result;
use crate::slice::{SliceExt, take_mut};

impl Task<'_> {
    /// Fills the slots. `frames`: retains the frames of this form.
    pub fn finish(
        &mut self,
        mut slots: OutputSlots<'_>,
        budget: &Budget<'_>,
        frames: Option<FrameForm>,
    ) -> Result<()> {
        if let (true, OutputSlots::Contiguous(slot)) = (self.is_single_copy(), &mut slots) {
            if self.copy_all(slot).is_ok() {
                return self.check_all(slot, budget);
            }
            // One by one, to find the unreadable records.
            self.measure(budget)?;
        }
        if self.discarded {
            // The budget of the batch already includes these bytes.
            self.fetch(&Budget::new(u64::MAX, None))?;
        }
        let mut before: &mut [u8] = &mut [];
        for k in 0..self.len() {
            budget.check_cancelled()?;
            self.prefetch(k + AHEAD);
            let size = self.size(k) as usize;
            let slot: &mut [u8] = match &mut slots {
                OutputSlots::Contiguous(rest) => take_mut(rest, size)?,
                OutputSlots::Scattered(each) => std::mem::take(each.at_mut(k)?),
            };
            let done = match (self.has_failed(k), self.is_repeat(k)) {
                (true, _) => continue,
                (false, true) => {
                    let copied = self.copy_previous(k, before, slot);
                    copied.and_then(|()| self.repeat_frame(k))
                }
                (false, false) if frames.is_some_and(|form| self.is_frame(k, form)) => {
                    self.finish_frame(k, slot, budget)
                }
                (false, false) => self.finish_one(k, slot),
            };
            if let Err(e) = done {
                self.fail(k, e, budget)?;
            }
            before = slot;
        }
        self.fetched = Vec::new();
        Ok(())
    }

    fn finish_one(&self, k: usize, slot: &mut [u8]) -> Result<()> {
        if self.raw() {
            match self.fetched(k).filter(|bytes| bytes.len() == slot.len()) {
                Some(bytes) => slot.copy_from_slice(bytes),
                None => self.copy(self.extent(k).0, slot)?,
            }
            return self.verify_checksum(k, slot);
        }
        match self.info.get(k) {
            Some(RecordInfo {
                decoded: Some(d), ..
            }) => slot.copy_from_slice(d),
            Some(RecordInfo {
                suspect: Some(Suspect::Empty),
                ..
            })
            | None => {}
            Some(_) => self.shard.decode(&self.stored(k)?, slot)?,
        }
        Ok(())
    }

    /// Handles a repetition of the previous record: copies it, or fails with the same error.
    fn copy_previous(&self, k: usize, before: &[u8], slot: &mut [u8]) -> Result<()> {
        match self.error(k - 1) {
            Some(e) => return Err(e.clone()),
            None => slot.copy_from_slice(before),
        }
        Ok(())
    }

    /// Reads uncompressed bytes at offset `from`.
    fn copy(&self, from: u64, slot: &mut [u8]) -> Result<()> {
        if self.prefetched {
            Ok(())
        } else {
            self.shard.file().read_exact_at(from, slot)
        }
    }

    /// Reads consecutive uncompressed records with one copy.
    fn copy_all(&self, slot: &mut [u8]) -> Result<()> {
        self.copy(self.extent(0).0, slot)
    }

    fn check_all(&mut self, slot: &[u8], budget: &Budget<'_>) -> Result<()> {
        if self.checksums.is_empty() {
            return Ok(());
        }
        let (start, _) = self.extent(0);
        for k in 0..self.len() {
            let (a, b) = self.extent(k);
            let record = slot.at((a - start) as usize..(b - start) as usize)?;
            if let Err(e) = self.verify_checksum(k, record) {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }
}
