//! Repairs frames: removes unused space and corruption. Intact chunks stay as they are; corrupt
//! chunks become zeros, so that all other chunks keep their numbers.
//!
//! If header, index or trailer are corrupt, the repair starts from the result of
//! [`recover`](super::recover::recover).
#![forbid(unsafe_code)]

use super::read::FrameReader;
use super::storage::FrameStorage;
use super::write::FrameWriter;
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
    let session = storage.open_session(Mode::Append, options)?;
    let main = folder.open(&storage.main(), Access::Write)?;
    let (reader, recovered) = match FrameReader::load(&storage, main.clone(), options) {
        Ok(reader) => (reader, false),
        Err(e) if e.status.is_corruption() => (
            FrameReader::load_recovered(&storage, &main, options, e)?,
            true,
        ),
        Err(e) => return Err(e),
    };
    if let Some(e) = reader.layout.lost_header() {
        let hint = "its metalayers, which may define an array, cannot be recovered; HOLDALL_OPT_SKIP_DAMAGED opens it as a superchunk, with its content";
        return Err(fail!(Format, "{}; {hint}", e.message));
    }
    let mut writer = FrameWriter::new(reader, session);
    let repaired = writer.repair_chunks(recovered)?;
    writer.compact(repaired.dropped > 0 || recovered)?;
    Ok(repaired)
}

impl FrameWriter {
    /// Replaces corrupt chunks by zeros and removes corrupt metalayers.
    fn repair_chunks(&mut self, recovered: bool) -> Result<Repaired> {
        let mut repaired = Repaired::default();
        let count = self.reader.layout.stored_chunks();
        let nbytes = self.reader.layout.header.nbytes;
        let scope = Scope::open(self.reader.options.progress(), nbytes, Step::Call);
        for i in 0..count {
            scope.at_part(i, count)?;
            match self.reader.verify_chunk(i, false) {
                Ok(_) => repaired.retained += 1,
                // an unknown codec or an I/O error is not corruption
                Err(e) if matches!(e.status, Status::Format | Status::Checksum) => {
                    let span = self.reader.layout.span(i)?;
                    let n = (span.end - span.start) as usize;
                    self.put_chunk(i, n, Encoded::Fill(Fill::Zeros))?;
                    repaired.dropped += 1;
                }
                Err(e) => return Err(self.reader.layout.chunk_error(i, e)),
            }
        }
        let FrameReader {
            layout,
            memory_limit: limit,
            ..
        } = &mut self.reader;
        if repaired.retained == 0 && repaired.dropped > 0 {
            return Err(fail!(
                Format,
                "{}: none of its {} chunks is intact; there is nothing to repair",
                layout.name,
                repaired.dropped
            ));
        }
        let before = layout.vlmeta.len();
        layout.vlmeta.retain(|m| {
            !m.value(*limit)
                .is_err_and(|e| matches!(e.status, Status::Format | Status::Checksum))
        });
        // corruption that was recovered is not lost data
        let corruption = std::mem::take(&mut layout.corruption);
        let lost = before - layout.vlmeta.len();
        repaired.dropped += (lost + corruption.len().saturating_sub(recovered.into())) as u64;
        self.changed |= !corruption.is_empty() || lost > 0;
        Ok(repaired)
    }

    /// Rewrites the frame without unused space, if it has any or if `must` is set.
    fn compact(&mut self, must: bool) -> Result<()> {
        if self.reader.files.storage.sparse {
            self.changed |= must;
            self.commit()?;
            let storage = &self.reader.files.storage;
            for number in storage.chunk_numbers()? {
                if self.chunk_files.binary_search(&number).is_err() {
                    storage
                        .folder
                        .remove_if_there(&storage.chunk_path(number))?;
                }
            }
            return Ok(());
        }
        let FrameReader { layout, files, .. } = &self.reader;
        let mut used = 0u64;
        for (i, entry) in layout
            .entries
            .iter()
            .enumerate()
            .filter(|(_, e)| e.position().is_some())
        {
            used = used.saturating_add(self.reader.cbytes_of(i as u64, entry)?.into());
        }
        let size = files.main.as_ref().map_or(Ok(0), |f| f.size())?;
        if !must && !self.changed && used == layout.header.cbytes && size == layout.header.frame_len
        {
            return Ok(());
        }
        self.reader.compute_missing_checksums(0)?;
        self.rewrite()
    }
}
