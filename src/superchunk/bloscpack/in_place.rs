//! Commits in place under the journal: planning of positions, and the writes.
//!
//! A commit changes the length of the file. It extends the file before it overwrites any committed
//! byte, because readers detect a change by the length.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::edit::{COPIED, seal, widen};
use super::header::{Dialect, ENTRY, Header};
use super::{Bloscpack, offsets};
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;
use crate::io::journal::{Change, MAX_RANGES, SAMPLE_BYTES, Sample};
use crate::slice::SliceExt;
use std::ops::Range;

/// Committed bytes that a commit in place may save to the journal, independent of the file size.
const MAX_SAVED: u64 = 64 << 20;
/// Bytes that no chunk starts with.
const STALE: [u8; 16] = [0; 16];
/// Bytes per chunk that the journal samples at the start and at the end.
const CHUNK_SAMPLE: usize = 32;
/// Maximum number of metadata samples in the journal.
const META: usize = 16;
/// Size of a chunk header of c-blosc 1.x.
const CHUNK_HEADER: usize = 16;

/// Returns chunk lengths that fill `room` bytes before a chunk that does not move. Drops spare
/// bytes if the room is too small. Adds remaining bytes to the last chunk that can be extended.
fn fitted(run: &[ChunkSlot], room: u64, digest: u64) -> Option<Vec<u32>> {
    let least = |s: &ChunkSlot| s.cbytes.saturating_sub(s.spare);
    let needed = run.iter().map(|s| u64::from(least(s)) + digest).sum();
    let mut left = room.checked_sub(needed)?;
    let mut lengths = alloc::with_capacity(run.len()).ok()?;
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

/// A plan for a commit in place.
pub(super) struct InPlace {
    header: Header,
    /// The metadata, if it changes.
    meta: Option<Vec<u8>>,
    /// Position and encoded size (without checksum) of each chunk.
    positions: Vec<(u64, u32)>,
    /// Index of the first offset that changes.
    first: usize,
    end: u64,
}

impl Bloscpack {
    /// Returns a plan, or `None` if the new state does not fit into the file.
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
                (Some(location), Some(json)) => location.rewrite(json)?,
                (None, None) => None,
                _ => return Ok(None),
            };
            match rewritten {
                Some((location, bytes))
                    if location.size() == self.header.meta.as_ref().map_or(0, |m| m.size()) =>
                {
                    header.meta = Some(location);
                    meta = Some(bytes);
                }
                None if self.meta.is_none() => {}
                _ => return Ok(None),
            }
        }
        let Some((positions, end)) = self.positions(header.chunks_at()) else {
            return Ok(None);
        };
        let moved = |(slot, (at, _)): (&ChunkSlot, &(u64, u32))| !matches!(slot.location, ChunkLocation::Main(a) if a == *at);
        let by_offsets = self.suspected.is_none() && self.offsets_are_right;
        let first = if by_offsets {
            self.slots
                .iter()
                .zip(&positions)
                .position(moved)
                .unwrap_or(positions.len())
        } else {
            0
        };
        let plan = InPlace {
            header,
            meta,
            positions,
            first,
            end,
        };
        let saved: u64 = self
            .ranges(&plan)
            .iter()
            .map(|r| r.end.min(self.size).saturating_sub(r.start))
            .sum();
        let worth = saved <= MAX_SAVED || saved <= self.size / 2;
        Ok(Some(plan).filter(|p| worth && self.ranges(p).len() < MAX_RANGES))
    }

    /// Returns the position of each chunk and the end, if committed chunks need not move.
    fn positions(&self, from: u64) -> Option<(Vec<(u64, u32)>, u64)> {
        let mut positions = alloc::with_capacity(self.slots.len()).ok()?;
        let (mut next, digest) = (from, self.header.checksum.size() as u64);
        let all = self.slots.iter().as_slice();
        let stays =
            |s: &ChunkSlot| matches!(s.location, ChunkLocation::Main(_) | ChunkLocation::Lost);
        for run in all.chunk_by(|a, b| stays(a) == stays(b)) {
            let after = all.get(positions.len() + run.len()).map(|s| &s.location);
            let lengths = match after {
                Some(ChunkLocation::Main(then)) if !run.first().is_some_and(stays) => {
                    Some(fitted(run, then.checked_sub(next)?, digest)?)
                }
                _ => None,
            };
            for (i, s) in run.iter().enumerate() {
                if stays(s) && !matches!(s.location, ChunkLocation::Main(at) if at == next) {
                    return None;
                }
                let cbytes = lengths
                    .as_ref()
                    .and_then(|l| l.get(i))
                    .copied()
                    .unwrap_or(s.cbytes);
                positions.push((next, cbytes));
                next += u64::from(cbytes) + digest;
            }
        }
        Some((positions, next))
    }

    /// Returns the ranges to write, ascending and not adjacent.
    fn ranges(&self, plan: &InPlace) -> Vec<Range<u64>> {
        let header = &plan.header;
        let mut all: Vec<Range<u64>> = Vec::new();
        all.push(0..header.size());
        if let Some(meta) = &plan.meta {
            all.push(header.size()..header.size() + meta.len() as u64);
        }
        let (from, to) = self.entries(plan);
        all.push(header.offsets_at() + from * ENTRY..header.offsets_at() + to * ENTRY);
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.positions) {
            if !matches!(s.location, ChunkLocation::Main(_)) {
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

    /// Returns samples of the new data for the journal: the header, the first metadata
    /// pieces, and for each chunk the first bytes after its header and the last bytes with the
    /// checksum.
    fn samples(&self, plan: &InPlace) -> Result<Vec<Sample>> {
        let mut samples = vec![Sample {
            at: 0,
            bytes: plan.header.encode().to_vec(),
        }];
        let meta = plan
            .meta
            .as_deref()
            .unwrap_or_default()
            .chunks(SAMPLE_BYTES)
            .take(META);
        samples.extend(meta.enumerate().map(|(i, part)| Sample {
            at: plan.header.size() + (i * SAMPLE_BYTES) as u64,
            bytes: part.to_vec(),
        }));
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.positions) {
            if !matches!(s.location, ChunkLocation::Main(_)) {
                let bytes = self.bytes_of(s, *cbytes)?;
                let last = bytes.len().saturating_sub(CHUNK_SAMPLE).max(CHUNK_HEADER);
                for from in [CHUNK_HEADER, last] {
                    let part = bytes
                        .iter()
                        .skip(from)
                        .take(CHUNK_SAMPLE)
                        .copied()
                        .collect();
                    samples.push(Sample {
                        at: *at + from as u64,
                        bytes: part,
                    });
                }
            }
        }
        Ok(samples)
    }

    /// Returns the range of offsets that change.
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
        (from, (plan.positions.len() as u64).max(was))
    }

    pub(super) fn write_in_place(&mut self, plan: InPlace) -> Result<()> {
        let Some(main) = self.main.clone() else {
            return Err(fail!(State, "the file is not open"));
        };
        let session = self.session()?;
        let change = Change {
            name: session.container().main.clone(),
            file: Some(&*main),
            overwritten: self.ranges(&plan),
            lengths: self.size..=plan.end.max(self.size + 1),
            samples: self.samples(&plan)?,
        };
        let undo = session.begin(&[change])?;
        let written = self
            .write_plan(&*main, &plan)
            .and_then(|()| session.sync(&*main));
        session.finish(undo, written)?;
        // The commit is durable. Excess bytes may be truncated; if that fails, the next commit
        // truncates them.
        let _ = main.set_size(if plan.end == self.size {
            plan.end + 1
        } else {
            plan.end
        });
        self.continue_from(Some(main), plan.header, plan.positions, plan.end)
    }

    fn write_plan(&self, main: &dyn File, plan: &InPlace) -> Result<()> {
        // the length first: it shows readers that committed bytes are about to be overwritten
        main.set_size(if plan.end > self.size {
            plan.end
        } else {
            self.size + 1
        })?;
        for (s, (at, cbytes)) in self.slots.iter().zip(&plan.positions) {
            if !matches!(s.location, ChunkLocation::Main(_)) {
                main.write_at(*at, &self.bytes_of(s, *cbytes)?)?;
            }
        }
        if plan.end < self.size {
            // remains of longer chunks must not parse as another chunk
            let n = (self.size - plan.end).min(STALE.len() as u64) as usize;
            main.write_at(plan.end, STALE.at(..n)?)?;
        }
        let (from, to) = self.entries(plan);
        if from < to {
            let used = plan.positions.iter().skip(from as usize).map(|(at, _)| *at);
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

    /// Returns an uncommitted chunk with the encoded size `cbytes`, and its checksum.
    fn bytes_of(&self, s: &ChunkSlot, cbytes: u32) -> Result<Vec<u8>> {
        let n = self.stored_size(s) as usize;
        let mut bytes = alloc::zeroed(n)?;
        match &s.location {
            ChunkLocation::Memory(b) => bytes.copy_from_slice(
                b.get(..n)
                    .ok_or_else(|| fail!(State, "a chunk is too short"))?,
            ),
            ChunkLocation::Part(at) => self
                .part
                .as_ref()
                .ok_or_else(|| fail!(State, "the part file is not open"))?
                .read_exact_at(*at, &mut bytes)?,
            ChunkLocation::Main(_) | ChunkLocation::Lost => {
                return Err(fail!(State, "the chunk is already committed"));
            }
        }
        if cbytes != s.cbytes {
            let least = cbytes.min(s.cbytes);
            bytes.truncate(least as usize);
            if !widen(&mut bytes, cbytes - least) {
                return Err(fail!(State, "a chunk cannot be extended"));
            }
            bytes = seal(bytes, self.header.checksum)?;
        }
        Ok(bytes)
    }
}
