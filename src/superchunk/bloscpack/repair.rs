//! Repair after a crash, a full disk or corruption. Intact chunks remain unchanged. Corrupt chunks
//! are replaced by zeros, so that the other chunks keep their positions. Chunks that an array has
//! lost at its end are replaced by zeros, too.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::chunk_list::ChunkSlot;
use super::damage::Damage;
use super::writer::{open_session, shown};
use crate::alloc;
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
    /// Whether the metadata were corrupt and are removed.
    pub metadata_lost: bool,
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
    let session = open_session(folder, name, Mode::Append, options)?;
    let main = folder.open(name, Access::Write)?;
    let mut b = Bloscpack::load(shown(session.container()), main, None, options)?;
    b.start_writing(session)?;
    let damage = &b.reader.damage;
    damage.refuse_to_guess(b.content.slots.len())?;
    if damage.suspected.is_some() {
        b.append_trailing_chunks()?;
    }
    let gone = std::mem::take(&mut b.reader.damage.missing);
    let zeroed = b.zero_damaged()?;
    let retained = b.content.slots.len() as u64 - zeroed;
    let meta_is_lost = b.head.drop_damaged_meta();
    let damage = &b.reader.damage;
    b.changed |= meta_is_lost || gone > 0 || damage.lost.is_some() || damage.suspected.is_some();
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
    b.reader.damage = Damage::default();
    if let Some(main) = &mut b.reader.main {
        main.offsets_are_right &= !b.changed;
    }
    b.commit()?;
    Ok(Repaired {
        retained,
        metadata_lost: meta_is_lost,
        dropped: zeroed + gone.max(put) + u64::from(meta_is_lost),
    })
}

impl Bloscpack {
    /// Appends intact chunks that directly follow the last chunk. The number of chunks in the
    /// header is too small, or a writer crashed.
    fn append_trailing_chunks(&mut self) -> Result<()> {
        let sum = self.header().checksum;
        while let Some(main) = &self.reader.main
            && let Some(chunk) = main.chunk_at_end(sum)?
        {
            let slot = ChunkSlot::of(&chunk);
            if !self.is_intact(&slot)? {
                break;
            }
            self.content.slots.push(slot)?;
            if let Some(main) = &mut self.reader.main {
                main.end = chunk.end(sum);
            }
        }
        Ok(())
    }

    /// Returns true if the chunk can be decoded and its checksum matches.
    fn is_intact(&self, slot: &ChunkSlot) -> Result<bool> {
        match self.reader.check(slot, self.reader.threads.count()) {
            Err(e) if matches!(e.status, Status::Format | Status::Checksum) => Ok(false),
            r => r.map(|()| true),
        }
    }

    fn zero_damaged(&mut self) -> Result<u64> {
        let (mut zeroed, mut lost) = (0, 0u64);
        let scope = Scope::open(self.options.progress(), self.nbytes(), Step::Call);
        for i in 0..self.content.slots.len() {
            scope.at_part(i as u64, self.content.slots.len() as u64)?;
            let slot = self.content.slots.get(i)?;
            if self.is_intact(slot)? {
                continue;
            }
            lost = lost.saturating_add(slot.nbytes.into());
            self.check_lost(lost)?;
            let zeros = self.reader.zeros(slot)?;
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
        let chunks = n / self.chunk_size().max(1) as u64;
        let main = self.reader.main.as_ref();
        main.is_some_and(|main| n / BEST_RATIO <= main.size && chunks <= main.size)
    }

    /// Returns true if this can be content of `n` bytes that has lost chunks at its end, and the
    /// options skip damage. The missing content reads as zeros.
    pub fn is_truncation_of(&self, n: u64) -> bool {
        self.reader.skip_damaged && n > self.nbytes() && self.can_have_lost(n - self.nbytes())
    }

    /// Appends zeros to content that is shorter than its array. Returns the number of chunks added.
    fn pad_array(&mut self) -> Result<u64> {
        let expected = self
            .head
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
            short.min(self.chunk_size() as u64),
            self.reader.memory_limit,
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
