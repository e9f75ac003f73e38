//! Verifies frames: decodes every chunk and verifies every checksum.
#![forbid(unsafe_code)]

use super::index::IndexSlot;
use super::index::entry::Entry;
use super::read::FrameReader;
use crate::blosc::Decoded;
use crate::blosc::stored::StoredBytes;
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Scope, Step};
use crate::superchunk::bloscpack::Verified;
use crate::superchunk::chunks::Sink;

/// A [`Sink`] that discards content.
struct Nowhere;

impl Sink for Nowhere {
    fn destination(&mut self, _: usize) -> Option<&mut [u8]> {
        None
    }
    fn put(&mut self, _: usize, _: &Decoded) -> Result<()> {
        Ok(())
    }
}

impl FrameReader {
    /// Decodes every chunk and verifies every checksum. Calls `fault` with each error until it
    /// returns false.
    pub(super) fn verify(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.verify_all(false, &mut fault)
    }

    /// Like [`FrameReader::verify`], for a frame that is an array: its chunks must have the block size
    /// that the header states.
    pub(super) fn verify_array(&self, mut fault: impl FnMut(&Error) -> bool) -> Result<Verified> {
        self.verify_all(true, &mut fault)
    }

    fn verify_all(&self, array: bool, fault: &mut dyn FnMut(&Error) -> bool) -> Result<Verified> {
        let mut v = Verified::default();
        let (group, n) = (self.threads.count() as u64 * 4, self.layout.stored_chunks());
        let nbytes = self.layout.header.nbytes;
        let scope = Scope::open(self.options.progress(), nbytes, Step::Call);
        for first in (0..n).step_by(group as usize) {
            let mut found: Vec<(u64, Result<bool>)> = (first..n.min(first + group))
                .map(|i| (i, Ok(false)))
                .collect();
            parallel::for_each(
                self.file_threads(),
                found.iter_mut().collect(),
                |(i, result): &mut (u64, _)| *result = self.verify_chunk(*i, array),
            );
            for (i, result) in found {
                match result {
                    Ok(true) => v.intact += 1,
                    Ok(false) => v.unchecked += 1,
                    Err(e) => {
                        self.check_unchanged_for_fault()?;
                        v.count(&e);
                        if !fault(&self.layout.chunk_error(i, e)) {
                            return Ok(v);
                        }
                    }
                }
            }
            scope.at_part(n.min(first + group), n)?;
        }
        let metas = self
            .layout
            .vlmeta
            .iter()
            .filter_map(|m| self.vlmeta(&m.name).err());
        for e in self.layout.corruption.iter().cloned().chain(metas) {
            self.check_unchanged_for_fault()?;
            if !fault(&e) {
                break;
            }
        }
        Ok(v)
    }

    /// Fails if a writer has changed the frame in the meantime: a fault is no corruption then.
    fn check_unchanged_for_fault(&self) -> Result<()> {
        self.files.check_unchanged().map_err(Error::into_busy)
    }

    /// Decodes a chunk. Returns true if its checksum matches, or if it is not stored and the index
    /// is protected by a checksum. `array`: its block size must match that of the frame, as array
    /// reads require.
    pub(super) fn verify_chunk(&self, i: u64, array: bool) -> Result<bool> {
        let entry = self.entry(i)?;
        if !matches!(entry.slot, IndexSlot::At(_) | IndexSlot::Unknown(_)) {
            return self
                .fill_of(i)
                .map(|_| self.layout.checksums && self.layout.checksums_trusted);
        }
        // ignore the result of earlier verifications
        let again = Entry::stored(
            entry.slot,
            if entry.has_checksum() {
                [entry.cbytes, entry.crc]
            } else {
                [0, 0]
            },
        );
        let opened = self.open_verified(i, &again)?;
        let (stored, source) = (&opened.chunk.stored, opened.source());
        if stored.fill().is_none() {
            if array {
                self.blocks_fit(stored)?;
            }
            // decode block by block, as reads do
            let bytes = source.bytes(0..stored.header().cbytes)?;
            for block in 0..stored.header().blocks() {
                stored.read_blocks(&&*bytes, &[block], &mut Nowhere, None)?;
            }
        }
        self.files.check_unchanged()?;
        Ok(again.has_checksum())
    }
}
