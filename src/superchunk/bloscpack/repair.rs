//! Repair after a crash, a full disk or corruption. Intact chunks remain unchanged. Corrupt chunks
//! are replaced by zeros, so that the other chunks keep their positions. Chunks that an array has
//! lost at its end are replaced by zeros, too.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::chunk_table::{BLOSC_HEADER, LocatedChunk};
use crate::alloc;
use crate::blosc;
use crate::dtype::numpy_meta::ArrayMeta;
use crate::error::{Result, Status, fail};
use crate::io::journal::Mode;
use crate::io::{Access, Folder, locate};
use crate::options::{Opt, Options};
use crate::progress::{Scope, Step};
use crate::slice::SliceExt;
use std::ffi::OsStr;
use std::sync::Arc;

/// Maximum ratio of content bytes to chunk bytes: Zstandard encodes a run of 128 KiB in four bytes.
const BEST_RATIO: u64 = 32 << 10;
/// Zeros that are appended at once.
const PIECE: u64 = 1 << 20;

/// The result of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Chunks that were retained.
    pub retained: u64,
    /// Chunks that were replaced by zeros or dropped. Dropped metadata counts as one.
    pub dropped: u64,
}

/// Repairs the file at `path`.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    let location = locate::locate_for_change(path)?;
    repair_in(&location.folder, &location.name, options)
}

/// Repairs the file `name` in `folder`.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    let known = [Opt::Threads, Opt::MemoryLimit, Opt::Durability, Opt::Lock];
    options.only("repairing a superchunk", &known)?;
    let mut b = Bloscpack::for_writing(folder, name, Mode::Append, options)?;
    b.load(folder.open(name, Access::Write)?)?;
    b.inherit_params()?;
    b.refuse_to_guess()?;
    b.append_trailing_chunks()?;
    let gone = std::mem::take(&mut b.missing);
    let zeroed = b.zero_damaged()?;
    let retained = b.slots.len() as u64 - zeroed;
    let meta_is_lost = b.meta_damage.take().is_some();
    if meta_is_lost {
        b.meta = None;
        (b.meta_changed, b.changed) = (true, true);
    }
    b.changed |= gone > 0 || b.damage.is_some() || b.suspected.is_some();
    if retained == 0 && gone + zeroed > 0 {
        return Err(fail!(
            Format,
            "{}: none of its {} chunks is intact; nothing can be repaired",
            b.name(),
            gone + zeroed
        ));
    }
    // if no chunk is missing, metadata and content contradict each other, and it is unknown which
    // of them is right
    let put = if gone > 0 { b.pad_array()? } else { 0 };
    (b.damage, b.suspected, b.offsets_are_right) = (None, None, b.offsets_are_right && !b.changed);
    b.commit()?;
    Ok(Repaired {
        retained,
        dropped: zeroed + gone.max(put) + u64::from(meta_is_lost),
    })
}

impl Bloscpack {
    /// Returns an error if chunks are missing and the others may have been found at wrong
    /// positions. A repair could then destroy data that a manual inspection might recover.
    fn refuse_to_guess(&self) -> Result<()> {
        let Some(suspected) = self
            .suspected
            .as_ref()
            .filter(|_| self.damage.is_some() || self.slots.len() == 0)
        else {
            return Ok(());
        };
        let mut e = suspected.clone();
        e.message
            .push_str("; it is unknown which chunks are missing; nothing was changed");
        Err(e)
    }

    /// Appends intact chunks that directly follow the last chunk. The number of chunks in the
    /// header is too small, or a writer crashed.
    fn append_trailing_chunks(&mut self) -> Result<()> {
        let Some(main) = self.main.clone().filter(|_| self.suspected.is_some()) else {
            return Ok(());
        };
        let mut header = [0; BLOSC_HEADER];
        while main.read_at(self.end, &mut header)? == BLOSC_HEADER {
            let Some(c) = LocatedChunk::parse(self.end, &header)
                .filter(|c| c.end(self.header.checksum) <= self.size)
            else {
                break;
            };
            let slot = ChunkSlot {
                location: ChunkLocation::Main(c.at),
                cbytes: c.cbytes,
                nbytes: c.nbytes,
                flags: c.flags,
                spare: 0,
            };
            if !self.is_intact(&slot)? {
                break;
            }
            self.slots.push(slot)?;
            self.end = c.end(self.header.checksum);
        }
        Ok(())
    }

    /// Returns true if the chunk can be decoded and its checksum matches.
    fn is_intact(&self, slot: &ChunkSlot) -> Result<bool> {
        let decoded = self.stored(slot, |chunk| {
            let mut content = alloc::zeroed(alloc::allow(
                slot.nbytes.into(),
                self.memory_limit,
                "a chunk",
            )?)?;
            blosc::decode(chunk, &mut content, self.threads.count())
        });
        match decoded {
            Err(e) if matches!(e.status, Status::Format | Status::Checksum) => Ok(false),
            r => r.map(|()| true),
        }
    }

    fn zero_damaged(&mut self) -> Result<u64> {
        let (mut zeroed, mut lost) = (0, 0u64);
        let scope = Scope::open(self.options.progress(), self.nbytes(), Step::Call);
        for i in 0..self.slots.len() {
            scope.at_part(i as u64, self.slots.len() as u64)?;
            let slot = self.slots.get(i)?;
            if self.is_intact(slot)? {
                continue;
            }
            lost = lost.saturating_add(slot.nbytes.into());
            self.check_lost(lost)?;
            let zeros = alloc::zeroed(alloc::allow(
                slot.nbytes.into(),
                self.memory_limit,
                "a chunk",
            )?)?;
            self.replace_content(i, &zeros)?;
            zeroed += 1;
        }
        Ok(zeroed)
    }
    fn check_lost(&self, lost: u64) -> Result<()> {
        match self.can_have_lost(lost) {
            true => Ok(()),
            false => {
                let message = "lost bytes of content are more than a file of this size can have held; nothing was changed";
                Err(fail!(Format, "{}: {lost} {message}", self.name()))
            }
        }
    }

    /// Returns true if a file of this size can have held `n` more bytes of content.
    fn can_have_lost(&self, n: u64) -> bool {
        n / BEST_RATIO <= self.size && n / self.chunk_size.max(1) as u64 <= self.size
    }

    /// Returns true if this can be content of `n` bytes that has lost chunks at its end, and the
    /// options skip damage. The missing content reads as zeros.
    pub fn is_truncation_of(&self, n: u64) -> bool {
        self.skip_damaged
            && self.main.is_some()
            && n > self.nbytes()
            && self.can_have_lost(n - self.nbytes())
    }

    /// Returns the array in the metadata if it is a NumPy array of a known type.
    pub(super) fn array(&self) -> Result<Option<ArrayMeta>> {
        match self.meta.as_deref().map_or(Ok(None), ArrayMeta::read) {
            Err(e) if e.status == Status::Type => Ok(None),
            r => r,
        }
    }

    /// Appends zeros to content that is shorter than its array. Returns the number of chunks added.
    fn pad_array(&mut self) -> Result<u64> {
        let expected = self
            .array()
            .ok()
            .flatten()
            .and_then(|a| a.nbytes())
            .unwrap_or(0);
        let Some(short) = expected.checked_sub(self.nbytes()).filter(|n| *n > 0) else {
            return Ok(0);
        };
        self.check_lost(short)?;
        alloc::allow(
            short.min(self.chunk_size as u64),
            self.memory_limit,
            "a chunk",
        )?;
        let (before, zeros) = (self.chunks(), alloc::zeroed(short.min(PIECE) as usize)?);
        let scope = Scope::open(self.options.progress(), short, Step::Call);
        while let Some(n) = expected.checked_sub(self.nbytes()).filter(|n| *n > 0) {
            scope.at(short - n)?;
            self.append(zeros.at(..n.min(PIECE) as usize)?)?;
        }
        Ok((self.chunks().saturating_sub(before) as u64).max(1))
    }
}
