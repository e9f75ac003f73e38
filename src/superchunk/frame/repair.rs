//! Repair: a frame without room that has no use any more, and without damage. Chunks that are sound
//! stay as they are; a damaged one becomes zeros, so that all others keep their places.
//!
//! Where header, index or trailer are damaged, it goes on from what [`rescue`](super::rescue) finds
//! again.
#![forbid(unsafe_code)]

use super::Frame;
use super::open::is_damage;
use super::storage::Site;
use crate::error::{Result, Status, fail};
use crate::io::lock::Lock;
use crate::io::{Access, Folder, locate};
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::{Mode, Repaired};
use crate::superchunk::chunks::{Encoded, Fill};
use std::ffi::OsStr;
use std::sync::Arc;

/// Repairs a frame.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    if locate::is_folder(path) {
        return repair_in(&locate::folder(path)?, OsStr::new(""), options);
    }
    let place = locate::locate_for_change(path)?;
    repair_in(&place.folder, &place.name, options)
}

/// Repairs a name in a folder.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    options.only(
        "repairing a frame",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Durability, Opt::Lock],
    )?;
    folder.writable()?;
    let site = Site::find(folder, name)?;
    let lock = Frame::lock(&site, options)?;
    let main = folder.open(&site.main(), Access::Write)?;
    let (mut frame, rescued) = match Frame::load(&site, main.clone(), options, Lock::none()) {
        Ok(_) => (Frame::load(&site, main, options, lock)?, false),
        Err(e) if is_damage(&e) => (Frame::load_rescued(&site, &main, options, lock, e)?, true),
        Err(e) => return Err(e),
    };
    if let Some(e) = frame.headless() {
        let words = "its metalayers, which may make it an array, are nowhere else; HOLDALL_OPT_SKIP_DAMAGED opens it as a superchunk, with its content";
        return Err(fail!(Format, "{}; {words}", e.message));
    }
    frame.write_from_here(Mode::Append);
    let repaired = frame.mend(rescued)?;
    frame.compact(repaired.dropped > 0 || rescued)?;
    Ok(repaired)
}

impl Frame {
    /// Makes zeros of what is damaged.
    fn mend(&mut self, rescued: bool) -> Result<Repaired> {
        let mut repaired = Repaired::default();
        for i in 0..self.entries.len() as u64 {
            self.options.progress(i, self.entries.len() as u64)?;
            match self.sound(i, false) {
                Ok(_) => repaired.kept += 1,
                // a codec that is not known, or a disk that fails, is no damage
                Err(e) if matches!(e.status, Status::Format | Status::Checksum) => {
                    let n = self.span(i).map(|s| (s.end - s.start) as usize)?;
                    self.put_chunk(i, n, Encoded::Fill(Fill::Zeros))?;
                    repaired.dropped += 1;
                }
                Err(e) => return Err(self.named(i, e)),
            }
        }
        if repaired.kept == 0 && repaired.dropped > 0 {
            return Err(fail!(
                Format,
                "{}: none of its {} chunks is sound: there is nothing to keep",
                self.name,
                repaired.dropped
            ));
        }
        let before = self.vlmeta.len();
        let limit = self.memory_limit;
        self.vlmeta.retain(|m| {
            !m.value(limit)
                .is_err_and(|e| matches!(e.status, Status::Format | Status::Checksum))
        });
        // what was damaged and is found again is not lost
        let doubts = std::mem::take(&mut self.doubts);
        repaired.dropped +=
            (before - self.vlmeta.len() + doubts.len().saturating_sub(rescued.into())) as u64;
        self.writing.changed |= !doubts.is_empty() || before != self.vlmeta.len();
        Ok(repaired)
    }

    /// Writes it anew, if it has room without use, or must.
    fn compact(&mut self, must: bool) -> Result<()> {
        if self.site.sparse {
            self.writing.changed |= must;
            self.commit()?;
            for number in self.site.chunks()? {
                if self.writing.files.binary_search(&number).is_err() {
                    self.site.folder.remove_if_there(&self.site.chunk(number))?;
                }
            }
            return Ok(());
        }
        let mut used = 0u64;
        for (i, entry) in self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, e)| e.place().is_some())
        {
            used = used.saturating_add(self.cbytes_of(i as u64, entry)?.into());
        }
        let size = self.file.as_ref().map_or(Ok(0), |f| f.size())?;
        if !must
            && !self.writing.changed
            && used == self.header.cbytes
            && size == self.header.frame_len
        {
            return Ok(());
        }
        self.find_sums()?;
        self.rewrite()
    }
}
