//! A commit into the file that is there, under the journal: where everything goes, if it fits, and
//! the writes.
//!
//! It leaves the file with another length than it had, and gives it a longer one before any
//! committed byte is written over: readers tell by the length.
#![forbid(unsafe_code)]

use super::chunk_list::{Place, Slot};
use super::edit::{COPIED, seal, widen};
use super::header::{Dialect, ENTRY, Header};
use super::{Bloscpack, offsets};
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;
use crate::io::journal::{self, Change, MOST_RANGES, Piece, SAID, Undo};
use std::ops::Range;

/// Committed bytes that a change in place may save first, whatever the size of the file.
const SAVED: u64 = 64 << 20;
/// No chunk begins like this.
const STALE: [u8; 16] = [0; 16];
/// Bytes of a chunk that the journal says, at its beginning and at its end.
const SAYS: usize = 32;
/// Pieces of metadata that it says.
const META: usize = 16;
/// Bytes of a header of c-blosc 1.x.
const CHUNK_HEADER: usize = 16;

/// The lengths of chunks that fill the room before a chunk that stays: spare bytes go where there
/// is not enough of it, and what is left goes to the last chunk that can be widened.
fn fitted(run: &[Slot], room: u64, digest: u64) -> Option<Vec<u32>> {
    let least = |s: &Slot| s.cbytes.saturating_sub(s.spare);
    let needed = run.iter().map(|s| u64::from(least(s)) + digest).sum();
    let mut left = room.checked_sub(needed)?;
    let mut lengths = alloc::with_room(run.len()).ok()?;
    for s in run {
        let spare = left.min(s.spare.into());
        left -= spare;
        lengths.push(least(s) + spare as u32);
    }
    if left > 0 {
        let last = run.iter().rposition(|s| s.flags & COPIED == 0)?;
        let length = lengths.get_mut(last)?;
        *length = u32::try_from(u64::from(*length) + left)
            .ok()
            .filter(|n| i32::try_from(*n).is_ok())?;
    }
    Some(lengths)
}

/// How the new state fits into the file that is there.
pub(super) struct InPlace {
    header: Header,
    /// Metadata, where they change.
    meta: Option<Vec<u8>>,
    /// Where each chunk goes, and its bytes there without the digest.
    places: Vec<(u64, u32)>,
    /// The first offset that changes.
    first: usize,
    end: u64,
}

impl Bloscpack {
    /// How the new state fits in; `None` where it does not.
    pub(super) fn plan(&self) -> Result<Option<InPlace>> {
        let n = self.slots.len() as u64;
        let mut header = self.next_header();
        if header.has_offsets {
            let entries = self.header.offset_entries();
            let Some(spare) = entries
                .checked_sub(n)
                .filter(|s| *s == 0 || header.dialect == Dialect::V3)
            else {
                return Ok(None);
            };
            header.max_app_chunks = spare;
        }
        let mut meta = None;
        if self.meta_changed {
            let rewritten = match (&self.header.meta, &self.meta) {
                (Some(place), Some(json)) => place.rewrite(json)?,
                (None, None) => None,
                _ => return Ok(None),
            };
            match rewritten {
                Some((place, bytes))
                    if place.size() == self.header.meta.as_ref().map_or(0, |m| m.size()) =>
                {
                    header.meta = Some(place);
                    meta = Some(bytes);
                }
                None if self.meta.is_none() => {}
                _ => return Ok(None),
            }
        }
        let Some((places, end)) = self.places(header.chunks_at()) else {
            return Ok(None);
        };
        let moved = |(slot, (at, _)): (&Slot, &(u64, u32))| !matches!(slot.place, Place::Main(a) if a == *at);
        let by_offsets = self.doubt.is_none() && self.offsets_are_right;
        let first = if by_offsets {
            self.slots
                .iter()
                .zip(&places)
                .position(moved)
                .unwrap_or(places.len())
        } else {
            0
        };
        let plan = InPlace {
            header,
            meta,
            places,
            first,
            end,
        };
        let saved: u64 = self
            .ranges(&plan)
            .iter()
            .map(|r| r.end.min(self.size).saturating_sub(r.start))
            .sum();
        let worth = saved <= SAVED || saved <= self.size / 2;
        Ok(Some(plan).filter(|p| worth && self.ranges(p).len() < MOST_RANGES))
    }

    /// Where each chunk goes, if those that are in the file may stay where they are.
    fn places(&self, from: u64) -> Option<(Vec<(u64, u32)>, u64)> {
        let mut places = alloc::with_room(self.slots.len()).ok()?;
        let (mut next, digest) = (from, self.header.checksum.size() as u64);
        let all = self.slots.iter().as_slice();
        let stays = |s: &Slot| matches!(s.place, Place::Main(_) | Place::Lost);
        for run in all.chunk_by(|a, b| stays(a) == stays(b)) {
            let behind = all.get(places.len() + run.len()).map(|s| &s.place);
            let lengths = match behind {
                Some(Place::Main(then)) if !run.first().is_some_and(stays) => {
                    Some(fitted(run, then.checked_sub(next)?, digest)?)
                }
                _ => None,
            };
            for (i, s) in run.iter().enumerate() {
                if stays(s) && !matches!(s.place, Place::Main(at) if at == next) {
                    return None;
                }
                let cbytes = lengths
                    .as_ref()
                    .and_then(|l| l.get(i))
                    .copied()
                    .unwrap_or(s.cbytes);
                places.push((next, cbytes));
                next += u64::from(cbytes) + digest;
            }
        }
        Some((places, next))
    }

    /// The ranges that are written, rising and apart.
    fn ranges(&self, plan: &InPlace) -> Vec<Range<u64>> {
        let header = &plan.header;
        let mut all: Vec<Range<u64>> = Vec::new();
        all.push(0..header.size());
        if let Some(meta) = &plan.meta {
            all.push(header.size()..header.size() + meta.len() as u64);
        }
        let (from, to) = self.entries(plan);
        all.push(header.offsets_at() + from * ENTRY..header.offsets_at() + to * ENTRY);
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.places) {
            if !matches!(s.place, Place::Main(_)) {
                all.push(*at..*at + u64::from(*cbytes) + header.checksum.size() as u64);
            }
        }
        all.push(plan.end..plan.end + STALE.len() as u64);
        let mut out: Vec<Range<u64>> = Vec::new();
        for r in all.into_iter().filter(|r| !r.is_empty()) {
            match out.last_mut() {
                Some(last) if last.end == r.start => last.end = r.end,
                _ => out.push(r),
            }
        }
        out
    }

    /// Some of what is written: the header, the first metadata, and of each chunk the first bytes
    /// behind its header, and the last ones with its checksum.
    fn said(&self, plan: &InPlace) -> Result<Vec<Piece>> {
        let mut said = vec![Piece {
            at: 0,
            bytes: plan.header.encode().to_vec(),
        }];
        let meta = plan
            .meta
            .as_deref()
            .unwrap_or_default()
            .chunks(SAID)
            .take(META);
        said.extend(meta.enumerate().map(|(i, part)| Piece {
            at: plan.header.size() + (i * SAID) as u64,
            bytes: part.to_vec(),
        }));
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.places) {
            if !matches!(s.place, Place::Main(_)) {
                let bytes = self.bytes_of(s, *cbytes)?;
                let last = bytes.len().saturating_sub(SAYS).max(CHUNK_HEADER);
                for from in [CHUNK_HEADER, last] {
                    let part = bytes.iter().skip(from).take(SAYS).copied().collect();
                    said.push(Piece {
                        at: *at + from as u64,
                        bytes: part,
                    });
                }
            }
        }
        Ok(said)
    }

    /// The offsets that change.
    fn entries(&self, plan: &InPlace) -> (u64, u64) {
        if !plan.header.has_offsets {
            return (0, 0);
        }
        let was = self
            .header
            .nchunks
            .unwrap_or(0)
            .min(self.header.offset_entries());
        let from = (plan.first as u64).min(was);
        (from, (plan.places.len() as u64).max(was))
    }

    pub(super) fn write_in_place(&mut self, plan: InPlace) -> Result<()> {
        let Some(main) = self.main.clone() else {
            return Err(fail!(State, "no file"));
        };
        let change = Change {
            name: self.container.main.clone(),
            file: Some(&*main),
            over: self.ranges(&plan),
            lengths: self.size..=plan.end.max(self.size + 1),
            new: self.said(&plan)?,
        };
        let undo = match Undo::begin(&self.container, self.durable, &[change]) {
            Ok(undo) => undo,
            Err(e) => {
                // it may have been published, and must not be found beside another file that a
                // later try swaps in
                self.broken |= journal::settle(&self.container, self.durable).is_err();
                return Err(e);
            }
        };
        match self
            .write_plan(&*main, &plan)
            .and_then(|()| self.sync(&*main))
        {
            Ok(()) => {
                let done = undo.commit();
                self.broken |= done.is_err();
                done?;
            }
            Err(e) => {
                self.broken |= undo.rollback().is_err();
                return Err(e);
            }
        }
        // it stands from here on; what it has in excess may go, and goes with the next commit where
        // it cannot now
        let _ = main.set_size(if plan.end == self.size {
            plan.end + 1
        } else {
            plan.end
        });
        self.go_on(Some(main), plan.header, plan.places, plan.end)
    }

    fn write_plan(&self, main: &dyn File, plan: &InPlace) -> Result<()> {
        // first the length: readers tell by it that something is about to be written over
        main.set_size(if plan.end > self.size {
            plan.end
        } else {
            self.size + 1
        })?;
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.places) {
            if !matches!(s.place, Place::Main(_)) {
                main.write_at(*at, &self.bytes_of(s, *cbytes)?)?;
            }
        }
        if plan.end < self.size {
            // what is left of longer chunks must not look like one more
            let n = (self.size - plan.end).min(STALE.len() as u64) as usize;
            main.write_at(plan.end, STALE.get(..n).unwrap_or_default())?;
        }
        let (from, to) = self.entries(plan);
        if from < to {
            let used = plan.places.iter().skip(from as usize).map(|(at, _)| *at);
            main.write_at(
                plan.header.offsets_at() + from * ENTRY,
                &offsets::encode(used, to - from)?,
            )?;
        }
        if let Some(meta) = &plan.meta {
            main.write_at(plan.header.size(), meta)?;
        }
        main.write_at(0, &plan.header.encode())
    }

    /// A chunk that waits, with the length that it is to have, and its digest.
    fn bytes_of(&self, s: &Slot, cbytes: u32) -> Result<Vec<u8>> {
        let n = self.stored_size(s) as usize;
        let mut bytes = alloc::zeroed(n)?;
        match &s.place {
            Place::Memory(b) => {
                bytes.copy_from_slice(b.get(..n).ok_or_else(|| fail!(State, "a short chunk"))?)
            }
            Place::Part(at) => self
                .part
                .as_ref()
                .ok_or_else(|| fail!(State, "no temporary file"))?
                .read_exact_at(*at, &mut bytes)?,
            Place::Main(_) | Place::Lost => return Err(fail!(State, "a chunk that does not wait")),
        }
        if cbytes != s.cbytes {
            let least = cbytes.min(s.cbytes);
            bytes.truncate(least as usize);
            if !widen(&mut bytes, cbytes - least) {
                return Err(fail!(State, "a chunk that cannot be widened"));
            }
            bytes = seal(bytes, self.header.checksum)?;
        }
        Ok(bytes)
    }
}
