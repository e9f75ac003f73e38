//! The second pass: every record of a task decoded, or copied, into its place.
#![forbid(unsafe_code)]

use super::budget::Budget;
use super::locate::AHEAD;
use super::task::{Found, Slots, Task};
use crate::bag::offset_check::Odd;
use crate::error::Result;

impl Task<'_> {
    pub fn finish(&mut self, mut slots: Slots<'_>, budget: &Budget<'_>) -> Result<()> {
        if let (true, Slots::One(slot)) = (self.plain(), &mut slots) {
            if self.copy_all(slot).is_ok() {
                return self.check_all(slot, budget);
            }
            // one by one, to find out which cannot be read
            self.measure(budget)?;
        }
        if self.let_go {
            // the batch has paid for it
            self.fetch(&Budget::new(u64::MAX, None))?;
        }
        let mut before: &mut [u8] = &mut [];
        for k in 0..self.len() {
            budget.go_on()?;
            self.prefetch(k + AHEAD);
            let size = self.size(k) as usize;
            let slot: &mut [u8] = match &mut slots {
                Slots::One(rest) => rest.split_off_mut(..size).unwrap_or_default(),
                Slots::Each(each) => each.get_mut(k).map(std::mem::take).unwrap_or_default(),
            };
            let done = match (self.bad(k), self.repeats(k)) {
                (true, _) => continue,
                (false, true) => self.finish_again(k, before, slot),
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
            return self.check_sum(k, slot);
        }
        match self.found.get(k) {
            Some(Found {
                decoded: Some(d), ..
            }) => slot.copy_from_slice(d),
            Some(Found {
                odd: Some(Odd::Empty),
                ..
            })
            | None => {}
            Some(_) => self.with_stored(k, |stored| self.shard.decoder().decode(stored, slot))?,
        }
        Ok(())
    }

    /// The record before is the same one: it is copied, or cannot be read either.
    fn finish_again(&self, k: usize, before: &[u8], slot: &mut [u8]) -> Result<()> {
        match self.error(k - 1) {
            Some(e) => return Err(e.clone()),
            None => slot.copy_from_slice(before),
        }
        Ok(())
    }

    /// Copies stored bytes from this place on.
    fn copy(&self, from: u64, slot: &mut [u8]) -> Result<()> {
        if self.arrived {
            Ok(())
        } else {
            self.shard.file().read_exact_at(from, slot)
        }
    }

    /// Uncompressed neighbours: one copy for all.
    fn copy_all(&self, slot: &mut [u8]) -> Result<()> {
        self.copy(self.extent(0).0, slot)
    }

    fn check_all(&mut self, slot: &[u8], budget: &Budget<'_>) -> Result<()> {
        if self.sums.is_empty() {
            return Ok(());
        }
        let (start, _) = self.extent(0);
        for k in 0..self.len() {
            let (a, b) = self.extent(k);
            let record = slot
                .get((a - start) as usize..(b - start) as usize)
                .unwrap_or_default();
            if let Err(e) = self.check_sum(k, record) {
                self.fail(k, e, budget)?;
            }
        }
        Ok(())
    }
}
