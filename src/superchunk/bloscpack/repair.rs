//! Repair: what a crash, a full disk or damage left becomes a whole file again. Chunks that are
//! sound stay as they are; a damaged one among them becomes zeros, so that all others keep their
//! places, and so do those that an array has lost at its end.
#![forbid(unsafe_code)]

use super::chunk_list::{Place, Slot};
use super::chunk_table::{BLOSC_HEADER, ChunkPlace};
use super::{Bloscpack, Mode};
use crate::alloc;
use crate::array::numpy_meta::ArrayMeta;
use crate::blosc;
use crate::error::{Result, Status, fail};
use crate::io::{Access, Folder, locate};
use crate::options::{Opt, Options};
use std::ffi::OsStr;
use std::sync::Arc;

/// The most content that a byte of a chunk can stand for: Zstandard says a run of 128 KiB in four.
const BEST_RATIO: u64 = 32 << 10;
/// Zeros that are appended at once.
const PIECE: u64 = 1 << 20;

/// What a repair did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Chunks that stay.
    pub kept: u64,
    /// Chunks that are zeros now, or are gone; damaged metadata that are gone count as one.
    pub dropped: u64,
}

/// Repairs a file.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    let place = locate::locate_for_change(path)?;
    repair_in(&place.folder, &place.name, options)
}

/// Repairs a name in a folder.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    let known = [Opt::Threads, Opt::MemoryLimit, Opt::Durability, Opt::Lock];
    options.only("repairing a superchunk", &known)?;
    folder.writable()?;
    let mut b = Bloscpack::for_writing(folder, name, options)?;
    b.load(folder.open(name, Access::Write)?)?;
    b.go_on_as_it_is()?;
    b.mode = Mode::Append;
    b.refuse_to_guess()?;
    b.take_in_what_follows()?;
    let gone = std::mem::take(&mut b.missing);
    let zeroed = b.zero_damaged()?;
    let kept = b.slots.len() as u64 - zeroed;
    let meta_is_lost = b.meta_damage.take().is_some();
    if meta_is_lost {
        b.meta = None;
        (b.meta_changed, b.changed) = (true, true);
    }
    b.changed |= gone > 0 || b.damage.is_some() || b.doubt.is_some();
    if kept == 0 && gone + zeroed > 0 {
        return Err(fail!(
            Format,
            "{}: none of its {} chunks is sound: there is nothing to keep",
            b.name(),
            gone + zeroed
        ));
    }
    // where nothing is missing, metadata and content contradict each other, and nobody knows which
    // is right
    let put = if gone > 0 { b.fill_array()? } else { 0 };
    (b.damage, b.doubt, b.offsets_are_right) = (None, None, b.offsets_are_right && !b.changed);
    b.commit()?;
    Ok(Repaired {
        kept,
        dropped: zeroed + gone.max(put) + u64::from(meta_is_lost),
    })
}

impl Bloscpack {
    /// Where chunks are missing, and those that are there may have been found in a wrong place, one
    /// more repair could lose what somebody who looks at the file might save.
    fn refuse_to_guess(&self) -> Result<()> {
        let Some(doubt) = self
            .doubt
            .as_ref()
            .filter(|_| self.damage.is_some() || self.slots.len() == 0)
        else {
            return Ok(());
        };
        let mut e = doubt.clone();
        e.message
            .push_str("; it cannot be told which chunks are missing, and nothing was changed");
        Err(e)
    }

    /// Chunks that are sound and stand right behind the last one: the header counts too few, or a
    /// writer died.
    fn take_in_what_follows(&mut self) -> Result<()> {
        let Some(main) = self.main.clone().filter(|_| self.doubt.is_some()) else {
            return Ok(());
        };
        let mut header = [0; BLOSC_HEADER];
        while main.read_at(self.end, &mut header)? == BLOSC_HEADER {
            let Some(c) = ChunkPlace::parse(self.end, &header)
                .filter(|c| c.end(self.header.checksum) <= self.size)
            else {
                break;
            };
            let slot = Slot {
                place: Place::Main(c.at),
                cbytes: c.cbytes,
                nbytes: c.nbytes,
                flags: c.flags,
                spare: 0,
            };
            if !self.is_sound(&slot)? {
                break;
            }
            self.slots.push(slot)?;
            self.end = c.end(self.header.checksum);
        }
        Ok(())
    }

    /// Can it be decoded, and does its digest fit?
    fn is_sound(&self, slot: &Slot) -> Result<bool> {
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
        let (mut bad, mut lost) = (0, 0u64);
        for i in 0..self.slots.len() {
            self.options.progress(i as u64, self.slots.len() as u64)?;
            let slot = self.slots.get(i)?;
            if self.is_sound(slot)? {
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
            bad += 1;
        }
        Ok(bad)
    }
    fn check_lost(&self, lost: u64) -> Result<()> {
        match self.can_have_lost(lost) {
            true => Ok(()),
            false => {
                let words = "bytes of content are lost, it says, more than it can have held: nothing was changed";
                Err(fail!(Format, "{}: {lost} {words}", self.name()))
            }
        }
    }

    /// Can the file have held so many more bytes of content?
    fn can_have_lost(&self, n: u64) -> bool {
        n / BEST_RATIO <= self.size && n / self.chunk_size.max(1) as u64 <= self.size
    }

    /// Is this content of `n` bytes, of which chunks are missing at the end that are to read as
    /// zeros?
    pub fn stands_for(&self, n: u64) -> bool {
        self.skip_damaged
            && self.main.is_some()
            && n > self.nbytes()
            && self.can_have_lost(n - self.nbytes())
    }

    /// What the metadata say of a NumPy array of a known type, if that is what it is.
    pub(super) fn array(&self) -> Result<Option<ArrayMeta>> {
        match self.meta.as_deref().map_or(Ok(None), ArrayMeta::read) {
            Err(e) if e.status == Status::Type => Ok(None),
            r => r,
        }
    }

    /// Puts zeros behind content that is shorter than the array it is; gives how many chunks they
    /// take.
    fn fill_array(&mut self) -> Result<u64> {
        let wanted = self
            .array()
            .ok()
            .flatten()
            .and_then(|a| a.nbytes())
            .unwrap_or(0);
        let Some(short) = wanted.checked_sub(self.nbytes()).filter(|n| *n > 0) else {
            return Ok(0);
        };
        self.check_lost(short)?;
        alloc::allow(
            short.min(self.chunk_size as u64),
            self.memory_limit,
            "a chunk",
        )?;
        let (before, zeros) = (self.chunks(), alloc::zeroed(short.min(PIECE) as usize)?);
        while let Some(n) = wanted.checked_sub(self.nbytes()).filter(|n| *n > 0) {
            self.append(zeros.get(..n.min(PIECE) as usize).unwrap_or_default())?;
            self.options.progress(
                self.chunks() as u64,
                wanted
                    .div_ceil(self.chunk_size.max(1) as u64)
                    .max(self.chunks() as u64),
            )?;
        }
        Ok((self.chunks().saturating_sub(before) as u64).max(1))
    }
}
