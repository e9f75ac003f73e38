//! The stored frames of the records of a batch, for copies that do not encode the records again.
//!
//! The second pass retains a frame that it decoded, so the frames are as intact as the records.
#![forbid(unsafe_code)]

use super::budget::Budget;
use super::task::Task;
use crate::alloc;
use crate::error::Result;
use crate::slice::SliceExt;
use std::ops::Range;

/// What a writer requires of frames that it stores as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameForm {
    /// Whether they have a checksum of the content.
    pub checksum: bool,
    /// ID of the dictionary that they name; 0 if they name none.
    pub dictionary: u32,
}

/// The bytes of a frame: part, begin and end.
type Slot = (usize, usize, usize);

/// The frames of a batch. A record has none if its stored form is not a single frame of the requested
/// form.
#[derive(Debug, Default)]
pub struct Frames {
    /// The frames that each task retained.
    parts: Vec<Vec<u8>>,
    /// The frame of each record.
    slots: Vec<Option<Slot>>,
}

impl Frames {
    /// Takes the frames of the tasks of a batch of `n` records.
    pub fn take(tasks: &mut [Task<'_>], n: usize, budget: &Budget<'_>) -> Result<Frames> {
        budget.take((n * size_of::<Option<Slot>>()) as u64)?;
        let mut slots = alloc::defaults(n)?;
        let mut parts = alloc::with_capacity(tasks.len())?;
        for (part, task) in tasks.iter_mut().enumerate() {
            for (k, range) in &task.frame_ranges {
                *slots.at_mut(task.out(*k))? = Some((part, range.start, range.end));
            }
            parts.push(std::mem::take(&mut task.frames));
        }
        Ok(Frames { parts, slots })
    }

    /// Returns the frames of the records from record `i` on that follow each other in memory, and
    /// the length of each. There are none if record `i` has no frame.
    pub fn run(&self, i: usize) -> (&[u8], Vec<u64>) {
        let mut lengths = Vec::new();
        let Some(&Some((part, from, mut end))) = self.slots.get(i) else {
            return (&[], lengths);
        };
        lengths.push((end - from) as u64);
        for slot in self.slots.iter().skip(i + 1) {
            match slot {
                Some((other, begin, next)) if (*other, *begin) == (part, end) => {
                    lengths.push((next - begin) as u64);
                    end = *next;
                }
                _ => break,
            }
        }
        let bytes = self.parts.get(part).and_then(|part| part.get(from..end));
        (bytes.unwrap_or_default(), lengths)
    }

    /// Returns whether record `i` has a frame.
    pub fn has(&self, i: usize) -> bool {
        matches!(self.slots.get(i), Some(Some(_)))
    }
}

impl Task<'_> {
    /// Returns whether the stored form of a record is one frame of this form.
    pub fn is_frame(&self, k: usize, form: FrameForm) -> bool {
        self.info.get(k).is_some_and(|f| {
            let found = FrameForm {
                checksum: f.checked,
                dictionary: f.dictionary,
            };
            f.is_frame && f.decoded.is_none() && found == form
        })
    }

    /// Decodes a frame from a copy of its stored bytes, and retains the copy.
    pub fn finish_frame(&mut self, k: usize, slot: &mut [u8], budget: &Budget<'_>) -> Result<()> {
        let range = self.copy_frame(k, budget)?;
        let frame = self.frames.at(range.clone())?;
        match self.shard.decode(frame, slot) {
            Ok(()) => self.retain(k, range),
            Err(e) => {
                self.frames.truncate(range.start);
                Err(e)
            }
        }
    }

    /// Retains the frame of the previous record for a repetition of it.
    pub fn repeat_frame(&mut self, k: usize) -> Result<()> {
        match self.frame_ranges.last().cloned() {
            Some((previous, range)) if previous + 1 == k => self.retain(k, range),
            _ => Ok(()),
        }
    }

    fn retain(&mut self, k: usize, range: Range<usize>) -> Result<()> {
        alloc::reserve(&mut self.frame_ranges, 1)?;
        self.frame_ranges.push((k, range));
        Ok(())
    }

    fn copy_frame(&mut self, k: usize, budget: &Budget<'_>) -> Result<Range<usize>> {
        let mut frames = std::mem::take(&mut self.frames);
        let from = frames.len();
        let copied = self.stored(k).and_then(|stored| {
            budget.take(stored.len() as u64)?;
            alloc::reserve(&mut frames, stored.len())?;
            frames.extend_from_slice(&stored);
            Ok(())
        });
        self.frames = frames;
        copied.map(|()| from..self.frames.len())
    }
}
