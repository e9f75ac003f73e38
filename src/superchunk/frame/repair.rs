//! Repairs frames: removes unused space and corruption. Intact chunks stay as they are; corrupt
//! chunks become zeros, so that all other chunks keep their numbers.
//!
//! If header, index or trailer are corrupt, the repair starts from the result of
//! [`recover`](super::recover::recover).
#![forbid(unsafe_code)]

use super::Frame;
use super::storage::FrameStorage;
use crate::error::{Result, Status, fail};
use crate::io::journal::Mode;
use crate::io::{Access, Folder, locate};
use crate::options::{Opt, Options};
use crate::progress::{Scope, Step};
use crate::superchunk::bloscpack::Repaired;
use crate::superchunk::chunks::{Encoded, Fill};
use std::ffi::OsStr;
use std::sync::Arc;

/// Repairs the frame at a path.
pub fn repair(path: &OsStr, options: &Options) -> Result<Repaired> {
    if locate::is_folder(path) {
        return repair_in(&locate::folder(path)?, OsStr::new(""), options);
    }
    let location = locate::locate_for_change(path)?;
    repair_in(&location.folder, &location.name, options)
}

/// Repairs a frame by name in a folder.
pub fn repair_in(folder: &Arc<dyn Folder>, name: &OsStr, options: &Options) -> Result<Repaired> {
    options.only(
        "repairing a frame",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Durability, Opt::Lock],
    )?;
    let storage = FrameStorage::find(folder, name)?;
    let session = Frame::open_session(&storage, Mode::Append, options)?;
    let main = folder.open(&storage.main(), Access::Write)?;
    let (mut frame, recovered) = match Frame::load(&storage, main.clone(), options) {
        Ok(frame) => (frame, false),
        Err(e) if e.status.is_corruption() => {
            (Frame::load_recovered(&storage, &main, options, e)?, true)
        }
        Err(e) => return Err(e),
    };
    if let Some(e) = frame.lost_header() {
        let hint = "its metalayers, which may define an array, cannot be recovered; HOLDALL_OPT_SKIP_DAMAGED opens it as a superchunk, with its content";
        return Err(fail!(Format, "{}; {hint}", e.message));
    }
    frame.start_writing(session);
    let repaired = frame.repair_chunks(recovered)?;
    frame.compact(repaired.dropped > 0 || recovered)?;
    Ok(repaired)
}

impl Frame {
    /// Replaces corrupt chunks by zeros and removes corrupt metalayers.
    fn repair_chunks(&mut self, recovered: bool) -> Result<Repaired> {
        let mut repaired = Repaired::default();
        let chunks = self.entries.len() as u64;
        let scope = Scope::open(self.options.progress(), self.nbytes(), Step::Call);
        for i in 0..chunks {
            scope.at_part(i, chunks)?;
            match self.verify_chunk(i, false) {
                Ok(_) => repaired.retained += 1,
                // an unknown codec or an I/O error is not corruption
                Err(e) if matches!(e.status, Status::Format | Status::Checksum) => {
                    let n = self.span(i).map(|s| (s.end - s.start) as usize)?;
                    self.put_chunk(i, n, Encoded::Fill(Fill::Zeros))?;
                    repaired.dropped += 1;
                }
                Err(e) => return Err(self.chunk_error(i, e)),
            }
        }
        if repaired.retained == 0 && repaired.dropped > 0 {
            return Err(fail!(
                Format,
                "{}: none of its {} chunks is intact; there is nothing to repair",
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
        // corruption that was recovered is not lost data
        let corruption = std::mem::take(&mut self.corruption);
        repaired.dropped +=
            (before - self.vlmeta.len() + corruption.len().saturating_sub(recovered.into())) as u64;
        self.writing.changed |= !corruption.is_empty() || before != self.vlmeta.len();
        Ok(repaired)
    }

    /// Rewrites the frame without unused space, if it has any or if `must` is set.
    fn compact(&mut self, must: bool) -> Result<()> {
        if self.storage.sparse {
            self.writing.changed |= must;
            self.commit()?;
            for number in self.storage.chunk_numbers()? {
                if self.writing.files.binary_search(&number).is_err() {
                    self.storage
                        .folder
                        .remove_if_there(&self.storage.chunk_path(number))?;
                }
            }
            return Ok(());
        }
        let mut used = 0u64;
        for (i, entry) in self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, e)| e.position().is_some())
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
        self.compute_missing_checksums()?;
        self.rewrite()
    }
}
