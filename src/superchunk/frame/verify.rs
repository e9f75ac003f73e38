//! The search for faults: every chunk is decoded, and every checksum there is looked at.
#![forbid(unsafe_code)]

use super::Frame;
use super::index::Slot;
use crate::blosc::Decoded;
use crate::error::{Error, Result};
use crate::options::{Opt, Options};
use crate::parallel;
use crate::superchunk::bloscpack::{Mode, Verified};
use crate::superchunk::chunks::Sink;
use std::ffi::OsStr;

/// Verifies a frame; every fault goes to `fault`, which says whether to go on.
pub fn verify(
    path: &OsStr,
    options: &Options,
    fault: impl FnMut(&Error) -> bool,
) -> Result<Verified> {
    options.only(
        "verifying a frame",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io, Opt::At],
    )?;
    let all = options.clone().with(Opt::SkipDamaged, 1)?;
    Frame::open(path, Mode::Read, &all)?.verify(fault)
}

/// For content that nobody wants.
struct Nowhere;

impl Sink for Nowhere {
    fn place(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }
    fn put(&mut self, _: usize, _: &Decoded) -> Result<()> {
        Ok(())
    }
}

impl Frame {
    /// Reads every chunk and checks all that can be; tells each fault to `fault`, until it returns
    /// false.
    pub fn verify(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.verify_all(false, &mut fault)
    }

    /// The same for a frame that is an array: its chunks must have the blocks that the header says.
    pub fn verify_array(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.verify_all(true, &mut fault)
    }

    fn verify_all(&self, array: bool, fault: &mut dyn FnMut(&Error) -> bool) -> Result<Verified> {
        let mut v = Verified::default();
        let (group, n) = (self.threads.count() as u64 * 4, self.stored_chunks());
        for first in (0..n).step_by(group as usize) {
            let mut found: Vec<(u64, Result<bool>)> = (first..n.min(first + group))
                .map(|i| (i, Ok(false)))
                .collect();
            parallel::for_each(
                self.file_threads(),
                found.iter_mut().collect(),
                |(i, sound): &mut (u64, _)| *sound = self.sound(*i, array),
            );
            for (i, sound) in found {
                match sound {
                    Ok(true) => v.sound += 1,
                    Ok(false) => v.unchecked += 1,
                    Err(e) => {
                        self.still_for_a_fault()?;
                        v.count(&e);
                        if !fault(&self.named(i, e)) {
                            return Ok(v);
                        }
                    }
                }
            }
            self.options.progress(n.min(first + group), n)?;
        }
        let metas = self
            .vlmeta
            .iter()
            .filter_map(|m| self.vlmeta(&m.name).err());
        for e in self.doubts.iter().cloned().chain(metas) {
            self.still_for_a_fault()?;
            if !fault(&e) {
                break;
            }
        }
        Ok(v)
    }

    /// A fault of a frame that a writer has changed meanwhile is none.
    fn still_for_a_fault(&self) -> Result<()> {
        self.still().map_err(Error::because_changed)
    }

    /// Decodes a chunk; true where its checksum was found to fit, or it takes no room and the index
    /// has one. `array`: it must have the blocks of the frame too, by which arrays are read.
    pub(super) fn sound(&self, i: u64, array: bool) -> Result<bool> {
        let entry = self.entry(i)?;
        if !matches!(entry.slot, Slot::At(_) | Slot::Unknown(_)) {
            return self.fill_of(i).map(|_| self.sums && self.binding);
        }
        // whatever was found before
        let again = super::entry::Entry::stored(
            entry.slot,
            if entry.has_sum() {
                [entry.cbytes, entry.crc]
            } else {
                [0, 0]
            },
        );
        self.with_entry(i, &again, &mut |chunk, have| {
            if chunk.fill().is_some() {
                return Ok(());
            }
            if array {
                self.blocks_fit(chunk)?;
            }
            // as it is read
            let each = |bytes: &[u8]| {
                (0..chunk.header().blocks())
                    .try_for_each(|b| chunk.read_blocks(Some(bytes), &[b], &mut Nowhere))
            };
            chunk.with_bytes(have, 0..chunk.header().cbytes, each)
        })?;
        self.still()?;
        Ok(again.has_sum())
    }
}
