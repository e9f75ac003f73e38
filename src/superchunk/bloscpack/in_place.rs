//! Commits in place under the journal: planning of positions, and the writes.
//!
//! A commit changes the length of the file. It extends the file before it overwrites any committed
//! byte, because readers detect a change by the length.
#![forbid(unsafe_code)]

use super::chunk_encoder::{seal, widen};
use super::chunk_list::{ChunkLocation, ChunkSlot, ChunkSlots};
use super::chunk_reader::{ChunkReader, MainFile};
use super::content::Content;
use super::head::{Committed, Head};
use super::header::{Dialect, ENTRY, Header};
use super::located_chunk::{BLOSC_HEADER, COPIED};
use super::offsets;
use super::uniform_mark;
use crate::alloc;
use crate::error::{Result, fail};
use crate::io::File;
use crate::io::journal::{Change, MAX_RANGES, SAMPLE_BYTES, Sample, Session};
use crate::slice::SliceExt;
use crate::superchunk::block_checksums;
use std::ops::Range;

/// Committed bytes that a commit in place may save to the journal, independent of the file size.
const MAX_SAVED: u64 = 64 << 20;
/// Bytes that no chunk starts with.
const STALE: [u8; 16] = [0; 16];
/// Bytes per chunk that the journal samples at the start and at the end.
const CHUNK_SAMPLE: usize = 32;
/// Maximum number of metadata samples in the journal.
const META: usize = 16;

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
pub(super) struct InPlace<'a> {
    /// The chunks, and the files that they are in now.
    slots: &'a ChunkSlots,
    main: &'a MainFile,
    part: Option<&'a dyn File>,
    old: &'a Header,
    /// The layout after the commit.
    new: Committed,
    /// The metadata, if it changes.
    meta: Option<Vec<u8>>,
    /// Index of the first offset that changes.
    first: usize,
    /// The entry at the position of the uniform mark, and its offset.
    mark: Option<(u64, i64)>,
}

impl<'a> InPlace<'a> {
    /// Returns a plan, or `None` if the new state does not fit into the file.
    pub fn plan(
        head: &'a Head,
        content: &'a Content,
        reader: &'a ChunkReader,
    ) -> Result<Option<InPlace<'a>>> {
        let (slots, old) = (&content.slots, &head.header);
        let Some(main) = &reader.main else {
            return Err(fail!(State, "the file is not open"));
        };
        let Some((header, meta)) = header_in_place(head, content)? else {
            return Ok(None);
        };
        let Some((positions, end)) = positions(slots, &header) else {
            return Ok(None);
        };
        let moved = |(slot, (at, _)): (&ChunkSlot, &(u64, u32))| !matches!(slot.location, ChunkLocation::Main(a) if a == *at);
        let by_offsets = reader.damage.suspected.is_none() && main.offsets_are_right;
        let first = if by_offsets {
            slots
                .iter()
                .zip(&positions)
                .position(moved)
                .unwrap_or(positions.len())
        } else {
            0
        };
        let mark = uniform_mark::position(&header);
        let mark = mark.map(|at| (at, uniform_mark::entry(&header, slots)));
        let new = Committed {
            header,
            positions,
            end,
        };
        let plan = InPlace {
            slots,
            main,
            part: reader.part.as_deref(),
            old,
            new,
            meta,
            first,
            mark,
        };
        let ranges = plan.ranges();
        let saved: u64 = ranges
            .iter()
            .map(|r| r.end.min(main.size).saturating_sub(r.start))
            .sum();
        let worth = saved <= MAX_SAVED || saved <= main.size / 2;
        Ok(Some(plan).filter(|_| worth && ranges.len() < MAX_RANGES))
    }

    /// Returns the layout after the commit.
    pub fn committed(self) -> Committed {
        self.new
    }

    /// Returns the uncommitted chunks with their new positions and encoded sizes.
    fn new_chunks(&self) -> impl Iterator<Item = (&'a ChunkSlot, u64, u32)> {
        let all = self.slots.iter().zip(&self.new.positions);
        all.filter(|(slot, _)| !matches!(slot.location, ChunkLocation::Main(_)))
            .map(|(slot, (at, cbytes))| (slot, *at, *cbytes))
    }

    /// Returns the ranges to write, ascending and not adjacent.
    fn ranges(&self) -> Vec<Range<u64>> {
        let header = &self.new.header;
        let mut all: Vec<Range<u64>> = Vec::new();
        all.push(0..header.size());
        if let Some(meta) = &self.meta {
            all.push(header.size()..header.size() + meta.len() as u64);
        }
        let (from, to) = self.entries();
        let entries = header.offsets_at() + from * ENTRY..header.offsets_at() + to * ENTRY;
        let mark = self.mark.filter(|(at, _)| entries.end <= *at);
        all.push(entries);
        all.extend(mark.map(|(at, _)| at..at + ENTRY));
        for (_, at, cbytes) in self.new_chunks() {
            all.push(at..at + u64::from(cbytes) + header.checksum.size() as u64);
        }
        all.push(self.new.end..self.new.end + STALE.len() as u64);
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
    fn samples(&self) -> Result<Vec<Sample>> {
        let header = &self.new.header;
        let mut samples = vec![Sample {
            at: 0,
            bytes: header.encode().to_vec(),
        }];
        let meta = self
            .meta
            .as_deref()
            .unwrap_or_default()
            .chunks(SAMPLE_BYTES)
            .take(META);
        samples.extend(meta.enumerate().map(|(i, part)| Sample {
            at: header.size() + (i * SAMPLE_BYTES) as u64,
            bytes: part.to_vec(),
        }));
        for (s, at, cbytes) in self.new_chunks() {
            let bytes = self.bytes_of(s, cbytes)?;
            let last = bytes.len().saturating_sub(CHUNK_SAMPLE).max(BLOSC_HEADER);
            for from in [BLOSC_HEADER, last] {
                let part = bytes
                    .iter()
                    .skip(from)
                    .take(CHUNK_SAMPLE)
                    .copied()
                    .collect();
                samples.push(Sample {
                    at: at + from as u64,
                    bytes: part,
                });
            }
        }
        Ok(samples)
    }

    /// Returns the range of offsets that change.
    fn entries(&self) -> (u64, u64) {
        if !self.new.header.has_offsets {
            return (0, 0);
        }
        let was = self.old.nchunks.unwrap_or(u64::MAX);
        let was = was.min(self.old.offset_entries());
        let from = (self.first as u64).min(was);
        (from, (self.new.positions.len() as u64).max(was))
    }

    /// Writes the changes under the journal.
    pub fn write(&self, session: &Session) -> Result<()> {
        let (file, size, end) = (&*self.main.file, self.main.size, self.new.end);
        let change = Change {
            name: session.container().main.clone(),
            file: Some(file),
            overwritten: self.ranges(),
            lengths: size..=end.max(size + 1),
            samples: self.samples()?,
        };
        let undo = session.begin(&[change])?;
        let written = self.write_all(file).and_then(|()| session.sync(file));
        session.finish(undo, written)?;
        // The commit is durable. Excess bytes may be truncated; if that fails, the next commit
        // truncates them.
        let _ = file.set_size(if end == size { end + 1 } else { end });
        Ok(())
    }

    fn write_all(&self, main: &dyn File) -> Result<()> {
        let (header, size, end) = (&self.new.header, self.main.size, self.new.end);
        // the length first: it shows readers that committed bytes are about to be overwritten
        main.set_size(if end > size { end } else { size + 1 })?;
        for (s, at, cbytes) in self.new_chunks() {
            main.write_at(at, &self.bytes_of(s, cbytes)?)?;
        }
        if end < size {
            // remains of longer chunks must not parse as another chunk
            let n = (size - end).min(STALE.len() as u64) as usize;
            main.write_at(end, STALE.at(..n)?)?;
        }
        let (from, to) = self.entries();
        if from < to {
            let positions = self.new.positions.iter().skip(from as usize);
            let used = positions.map(|(at, _)| *at);
            main.write_at(
                header.offsets_at() + from * ENTRY,
                &offsets::encode(used, to - from)?,
            )?;
        }
        if let Some((at, entry)) = self.mark {
            main.write_at(at, &entry.to_le_bytes())?;
        }
        if let Some(meta) = &self.meta {
            main.write_at(header.size(), meta)?;
        }
        main.write_at(0, &header.encode())
    }

    /// Returns an uncommitted chunk with the encoded size `cbytes`, and its checksum.
    fn bytes_of(&self, s: &ChunkSlot, cbytes: u32) -> Result<Vec<u8>> {
        let n = s.stored_size(self.old.checksum) as usize;
        let mut bytes = alloc::zeroed(n)?;
        match &s.location {
            ChunkLocation::Memory(b) => bytes.copy_from_slice(
                b.get(..n)
                    .ok_or_else(|| fail!(State, "a chunk is too short"))?,
            ),
            ChunkLocation::Part(at) => self
                .part
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
            block_checksums::renew(&mut bytes)?;
            bytes = seal(bytes, self.old.checksum)?;
        }
        Ok(bytes)
    }
}

/// Returns the header after the commit, and the metadata if it changes. Returns `None` if offsets or
/// metadata do not fit into their reserved bytes.
fn header_in_place(head: &Head, content: &Content) -> Result<Option<(Header, Option<Vec<u8>>)>> {
    let (old, mut header) = (&head.header, head.next_header(content));
    if header.has_offsets {
        let spare = old.offset_entries().checked_sub(content.slots.len() as u64);
        let Some(spare) = spare.filter(|s| *s == 0 || header.dialect == Dialect::V3) else {
            return Ok(None);
        };
        header.max_app_chunks = spare;
    }
    if !head.meta_changed {
        return Ok(Some((header, None)));
    }
    let (location, json) = match (&old.meta, &head.meta) {
        (Some(location), Some(json)) => (location, json),
        (None, None) => return Ok(Some((header, None))),
        _ => return Ok(None),
    };
    let rewritten = location.rewrite(json)?;
    let fits = rewritten.filter(|(new, _)| new.size() == location.size());
    Ok(fits.map(|(new, bytes)| {
        header.meta = Some(new);
        (header, Some(bytes))
    }))
}

/// Returns the position of each chunk and the end, if committed chunks need not move.
fn positions(slots: &ChunkSlots, header: &Header) -> Option<(Vec<(u64, u32)>, u64)> {
    let mut positions = alloc::with_capacity(slots.len()).ok()?;
    let (mut next, digest) = (header.chunks_at(), header.checksum.size() as u64);
    let all = slots.iter().as_slice();
    let stays = |s: &ChunkSlot| matches!(s.location, ChunkLocation::Main(_) | ChunkLocation::Lost);
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
