//! Recovers a frame whose header, index or trailer is corrupt; its chunks may all be intact.
//!
//! A sealed trailer contains the CRC-32s of header, index and trailer, so that a single corrupt
//! byte in them can be corrected ([`byte_correction`]). It also contains the length and the CRC-32
//! of each chunk, which identify the chunks that [`scan`] finds. Otherwise there are three more
//! ways:
//!
//! - The remaining parts are used as far as they match each other.
//! - The chunks are used in the order in which they are stored.
//! - The frame is rolled back to an earlier commit of this library. Earlier commits stay in the
//!   file until it is compacted, and each trailer contains the CRC-32 of its header.
//!
//! Whatever is uncertain or lost is reported.
//!
//! - [`search`]: the corrupt frame, and candidates for each part of it. [`pair`]: those of a pair of
//!   tails.
//! - [`sealed`], [`unsealed`]: combine the parts with a sealed trailer, and without one.
//! - [`patched_file`]: a view of the file with the recovered parts.
#![forbid(unsafe_code)]

mod byte_correction;
mod pair;
mod patched_file;
mod scan;
mod sealed;
mod search;
mod unsealed;

use super::header::Header;
use super::index::IndexSlot;
use super::parts::EncodedParts;
use super::storage::FrameStorage;
use crate::error::{Error, Result, fail};
use crate::io::File;
use patched_file::PatchedFile;
use search::{FoundParts, Search};
use std::sync::Arc;

/// A recovered frame.
pub struct RecoveredFrame {
    /// The file with the recovered parts.
    pub file: PatchedFile,
    /// Parts other than chunks that are lost or uncertain.
    pub lost: Vec<Error>,
    /// The header is lost, with all that it states about an array; only the content is left.
    pub header_lost: bool,
    /// Was the frame written by this library?
    pub ours: bool,
}

/// Recovers a frame.
pub fn recover(storage: &FrameStorage, file: &Arc<dyn File>, limit: u64) -> Result<RecoveredFrame> {
    Search::new(storage, file, limit)?.find()
}

impl Search<'_> {
    fn find(&self) -> Result<RecoveredFrame> {
        let said = self
            .header_candidates()
            .into_iter()
            .find_map(|h| Some(Header::parse(&h).ok()?.frame_len))
            .filter(|end| *end < self.size);
        let mut ends: Vec<u64> = said.into_iter().chain([self.size]).collect();
        // of a pair, the header refers to one commit, and the other is the one before or after it
        let marks = self.marks(&ends);
        for end in marks.iter().flat_map(|mark| self.ends_of_pair(mark)) {
            if !ends.contains(&end) {
                ends.insert(ends.len() - 1, end);
            }
        }
        let mut sealed: Vec<_> = ends.iter().filter_map(|end| self.sealed_at(*end)).collect();
        let of_header = sealed
            .iter()
            .position(|s| self.stored_header_of(s).is_some());
        sealed.rotate_left(of_header.unwrap_or(0));
        let may_be_older = !marks.is_empty() && of_header.is_none();
        if may_be_older
            && sealed.len() < 2
            && let Some(found) = self.by_index(&ends)?
        {
            return self.assemble(found);
        }
        let mut fallback = None;
        for sealed in sealed {
            match self.parts_of_sealed(sealed)? {
                Some(mut found) if !found.header_lost => {
                    if may_be_older {
                        found
                            .lost
                            .push(fail!(Format, "the last commit may be lost"));
                    }
                    return self.assemble(found);
                }
                found => fallback = fallback.or(found),
            }
        }
        if fallback.is_none()
            && let Some(found) = self.by_index(&ends)?
        {
            return self.assemble(found);
        }
        if let Some(found) = self.earlier_commit()? {
            return self.assemble(found);
        }
        if fallback.is_none() {
            fallback = self.in_stored_order(&ends)?;
        }
        let found = fallback.ok_or_else(|| {
            fail!(
                Format,
                "too little of header, index and trailer is left to locate the chunks"
            )
        })?;
        self.assemble(found)
    }

    /// Returns the file with the recovered parts.
    fn assemble(&self, found: FoundParts) -> Result<RecoveredFrame> {
        let FoundParts {
            mut header,
            base,
            mut slots,
            mut trailer,
            sealed,
            lost,
            header_lost,
        } = found;
        let (new_base, ours) = (header.len(), header.mark != 0);
        let shift = base.saturating_sub(new_base);
        if shift > 0 && !self.storage.sparse {
            slots.iter_mut().for_each(|slot| {
                if let IndexSlot::At(position) = slot {
                    *position = position.saturating_add(shift)
                }
            });
        }
        let tail_at = if self.storage.sparse {
            new_base
        } else {
            self.size.max(new_base)
        };
        if !self.storage.sparse {
            header.cbytes = tail_at - new_base;
        }
        let parts = EncodedParts::new(&mut header, &slots, &mut trailer, sealed)?;
        Ok(RecoveredFrame {
            file: PatchedFile {
                file: self.file.clone(),
                head: parts.head,
                tail_at,
                tail: parts.index_and_trailer,
            },
            lost,
            header_lost,
            ours,
        })
    }
}
