//! Commits: all pending changes become visible together, or none.
//!
//! Readers of this format walk from chunk to chunk, so chunks are stored in content order without
//! gaps. A commit writes in place under the journal if the new state fits into the file in this
//! way:
//!
//! - appended chunks,
//! - changed chunks that are not longer than before, padded to their old length,
//! - offsets and metadata that fit into their reserved bytes.
//!
//! Otherwise the commit writes a new file and swaps it in. New and replaced files are always
//! written this way; chunks in the part file need not be copied then.
#![forbid(unsafe_code)]

use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::header::{Dialect, ENTRY, Header};
use super::metadata::{self, Section};
use super::open::part_name;
use super::{Bloscpack, DEFAULT_CHUNK, offsets};
use crate::error::{Result, fail};
use crate::io::journal::Session;
use crate::io::{self, Access, File};
use crate::options::Opt;
use crate::progress;
use std::ops::Range;
use std::sync::Arc;

/// Number of offsets that a new file reserves before its chunks.
const INITIAL_ENTRIES: u64 = 1022;
/// Spare offsets as a multiple of the number of chunks, as in Bloscpack, and their minimum.
const SPARE: u64 = 10;
const MIN_SPARE: u64 = 50;
/// A new file may use this fraction of its chunk bytes for offsets beyond the spare offsets.
const MAX_WASTE: u64 = 16;

impl Bloscpack {
    /// Makes all changes durable and visible together. On failure the file is in the state of the
    /// last commit. If that state is uncertain, this handle refuses further changes, and the next
    /// open recovers a consistent file.
    pub fn commit(&mut self) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        if self.main.is_some() && !self.changed {
            return Ok(());
        }
        self.session()?.check_commit()?;
        if self.missing > 0
            || self
                .slots
                .iter()
                .any(|s| matches!(s.location, ChunkLocation::Lost))
        {
            return Err(fail!(
                State,
                "{}: chunks are lost; repair the file first",
                self.name()
            ));
        }
        if let Some(e) = &self.meta_damage {
            // a rewrite of the file would lose the metadata silently
            return Err(fail!(
                State,
                "{}: the metadata is damaged ({e}); set it again, or repair the file first",
                self.name()
            ));
        }
        if self.slots.len() == 0 {
            // Bloscpack does not support a file without chunks
            self.insert(0, &[])?;
        }
        let session = self.session()?;
        let name = &session.container().main;
        if let Some(main) = &self.main {
            session.check_unchanged(name, &**main, || Ok(main.size()? == self.size))?;
            match self.plan()? {
                Some(plan) => self.write_in_place(plan),
                None => self.rewrite(),
            }
        } else {
            session.refuse_existing(name)?;
            match self.head_for_part()? {
                Some((header, head)) => self.publish_part(header, &head),
                None => self.rewrite(),
            }
        }
    }

    // ---- header

    /// Returns the header for the current chunks.
    pub(super) fn next_header(&self) -> Header {
        let last = self.slots.iter().next_back().map_or(0, |s| s.nbytes);
        let sized = !matches!(self.header.dialect, Dialect::V0 | Dialect::V1);
        Header {
            nchunks: Some(self.slots.len() as u64),
            // Bloscpack rejects a last chunk that is longer than the others
            chunk_size: sized.then_some(last.max(self.chunk_size as u32)),
            last_chunk: sized.then_some(last),
            max_app_chunks: 0,
            ..self.header.clone()
        }
    }

    /// Encodes the metadata, and returns it with its new location.
    fn new_meta(&self) -> Result<Option<(metadata::MetaLocation, Vec<u8>)>> {
        let Some(json) = &self.meta else {
            return Ok(None);
        };
        if let Some(fits) = self
            .header
            .meta
            .as_ref()
            .map(|m| m.rewrite(json))
            .transpose()?
            .flatten()
        {
            return Ok(Some(fits));
        }
        if self.has_rfc_metadata() {
            return metadata::encode_rfc(json, false).map(Some);
        }
        metadata::section(
            json,
            None,
            &Section::new(metadata::DEFAULT_SUM, metadata::DEFAULT_LEVEL),
        )
        .map(Some)
    }

    /// Returns the bytes to reserve before the first chunk of a new file, whose number of chunks is
    /// still unknown.
    pub(super) fn head_room(&self) -> Result<u64> {
        let meta = self.new_meta()?.map_or(0, |(location, _)| location.size());
        let entries = match (self.header.has_offsets, self.header.dialect) {
            (true, Dialect::V3) => self.options.get(Opt::SpareChunks, 0) as u64 + INITIAL_ENTRIES,
            _ => 0,
        };
        Ok(self.header.size() + meta + entries * ENTRY)
    }

    /// Encodes header, metadata and offsets. `at` is the required position of the first chunk; with
    /// `None` the position follows from the sizes. Returns `None` if the required position is not
    /// possible.
    fn head(&self, at: Option<u64>) -> Result<Option<(Header, Vec<u8>)>> {
        let mut header = self.next_header();
        let meta = self.new_meta()?;
        header.meta = meta.as_ref().map(|(location, _)| location.clone());
        let n = self.slots.len() as u64;
        if header.has_offsets {
            let spare = match (header.dialect, at) {
                (Dialect::V3, Some(at)) => {
                    let Some(room) = at
                        .checked_sub(header.offsets_at())
                        .filter(|r| r % ENTRY == 0)
                    else {
                        return Ok(None);
                    };
                    let Some(spare) = (room / ENTRY).checked_sub(n) else {
                        return Ok(None);
                    };
                    spare
                }
                (Dialect::V3, None) => self.spare_offsets(),
                _ => 0,
            };
            header.max_app_chunks = spare;
        }
        if at.is_some_and(|at| at != header.chunks_at()) {
            return Ok(None);
        }
        let mut bytes = header.encode();
        bytes.extend(meta.map_or_else(Vec::new, |(_, b)| b));
        if header.has_offsets {
            let mut next = header.chunks_at();
            let digest = header.checksum.size() as u64;
            let positions = self.slots.iter().map(|s| {
                let at = next;
                next += u64::from(s.cbytes) + digest;
                at
            });
            bytes.extend(offsets::encode(positions, header.offset_entries())?);
        }
        Ok(Some((header, bytes)))
    }

    // ---- new file

    /// Returns the encoded header if the part file can become the new file: its chunks must be
    /// complete, in order and without gaps.
    fn head_for_part(&self) -> Result<Option<(Header, Vec<u8>)>> {
        let Some(ChunkSlot {
            location: ChunkLocation::Part(first),
            ..
        }) = self.slots.iter().next()
        else {
            return Ok(None);
        };
        let mut next = *first;
        for s in self.slots.iter() {
            if !matches!(s.location, ChunkLocation::Part(at) if at == next) {
                return Ok(None);
            }
            next += self.stored_size(s);
        }
        if self.part_end != next {
            return Ok(None);
        }
        // a small file is copied, so that it does not keep many unused offsets
        let room = self.head(Some(*first))?;
        let more = |h: &Header| h.max_app_chunks.saturating_sub(self.spare_offsets()) * ENTRY;
        Ok(room.filter(|(header, _)| more(header) <= (next - first) / MAX_WASTE))
    }

    /// Returns the number of spare offsets of a new file.
    fn spare_offsets(&self) -> u64 {
        self.options
            .given(Opt::SpareChunks)
            .map_or_else(|| default_spare(self.slots.len() as u64), |n| n as u64)
    }

    pub(super) fn stored_size(&self, s: &ChunkSlot) -> u64 {
        u64::from(s.cbytes) + self.header.checksum.size() as u64
    }

    /// Writes the header into the part file and swaps it in.
    fn publish_part(&mut self, header: Header, head: &[u8]) -> Result<()> {
        let Some(part) = self.part.clone() else {
            return Err(fail!(State, "the part file is not open"));
        };
        part.write_at(0, head)?;
        // discards bytes of a failed write after the last chunk
        part.set_size(self.part_end)?;
        let session = self.session()?;
        session.sync(&*part)?;
        session.swap_in(&part_name(session.container()))?;
        self.part = None;
        self.reopen(header)
    }

    /// Writes a new file and swaps it in.
    fn rewrite(&mut self) -> Result<()> {
        let Some((header, head)) = self.head(None)? else {
            return Err(fail!(State, "the header does not fit before the chunks"));
        };
        let session = self.session()?;
        let container = session.container();
        let new = container.new_name("");
        let file = container.create(&new)?;
        let written = self
            .write_all(&*file, &head)
            .and_then(|()| session.sync(&*file));
        if let Err(e) = written {
            let _ = container.folder.remove_if_there(&new);
            return Err(e);
        }
        drop(file);
        if let Err(e) = session.swap(std::slice::from_ref(&container.main), &[]) {
            // the swap fails, for example, if a folder has the name of the file
            if !session.is_broken() {
                let _ = container.folder.remove_if_there(&new);
            }
            return Err(e);
        }
        self.reopen(header)
    }

    fn write_all(&self, to: &dyn File, head: &[u8]) -> Result<()> {
        to.write_at(0, head)?;
        let mut at = head.len() as u64;
        // adjacent chunks are copied together
        let mut run: Option<(&Arc<dyn File>, Range<u64>)> = None;
        for s in self.slots.iter() {
            progress::poll()?;
            let n = self.stored_size(s);
            let (file, from) = match &s.location {
                ChunkLocation::Main(from) => (self.main.as_ref(), *from),
                ChunkLocation::Part(from) => (self.part.as_ref(), *from),
                ChunkLocation::Memory(bytes) => {
                    at += copy_run(run.take(), to, at)?;
                    to.write_at(at, bytes)?;
                    at += n;
                    continue;
                }
                ChunkLocation::Lost => return Err(fail!(State, "a chunk is lost")),
            };
            let file = file.ok_or_else(|| fail!(State, "its file is not open"))?;
            match &mut run {
                Some((f, r)) if Arc::ptr_eq(f, file) && r.end == from => r.end += n,
                _ => at += copy_run(run.replace((file, from..from + n)), to, at)?,
            }
        }
        copy_run(run, to, at)?;
        Ok(())
    }

    /// Continues with the committed file after a swap.
    fn reopen(&mut self, header: Header) -> Result<()> {
        let mut next = header.chunks_at();
        let digest = header.checksum.size() as u64;
        let positions: Vec<(u64, u32)> = self
            .slots
            .iter()
            .map(|s| {
                let at = next;
                next += u64::from(s.cbytes) + digest;
                (at, s.cbytes)
            })
            .collect();
        let session = self.session()?;
        let container = session.container();
        let opened = container.folder.open(&container.main, Access::Write);
        if opened.is_err() {
            session.mark_broken();
        }
        self.continue_from(opened.ok(), header, positions, next)
    }

    pub(super) fn continue_from(
        &mut self,
        main: Option<Arc<dyn File>>,
        header: Header,
        positions: Vec<(u64, u32)>,
        end: u64,
    ) -> Result<()> {
        self.slots.set_positions(positions);
        self.header = header;
        self.end = end;
        self.size = main
            .as_ref()
            .map_or(Ok(0), |m| m.size())
            .unwrap_or(u64::MAX);
        self.main = main;
        self.remove_part();
        (self.part_end, self.in_memory) = (0, 0);
        (self.changed, self.meta_changed) = (false, false);
        (
            self.damage,
            self.suspected,
            self.unsure_size,
            self.header_repaired,
        ) = (None, None, None, false);
        if self.chunk_size == 0 {
            self.chunk_size = DEFAULT_CHUNK;
        }
        Ok(())
    }

    fn remove_part(&mut self) {
        if let (Some(_), Some(session)) = (self.part.take(), &self.session) {
            let container = session.container();
            let _ = container.folder.remove_if_there(&part_name(container));
        }
    }
}

/// Returns the default number of spare offsets of a file with `chunks` chunks.
pub(super) fn default_spare(chunks: u64) -> u64 {
    chunks.saturating_mul(SPARE).max(MIN_SPARE)
}

fn copy_run(run: Option<(&Arc<dyn File>, Range<u64>)>, to: &dyn File, at: u64) -> Result<u64> {
    let Some((from, range)) = run else {
        return Ok(0);
    };
    let n = range.end - range.start;
    io::copy(&**from, range.start, to, at, n)?;
    Ok(n)
}

impl Drop for Bloscpack {
    /// Removes uncommitted data where possible.
    fn drop(&mut self) {
        if self.session.as_ref().is_some_and(Session::is_own) {
            self.remove_part();
        }
    }
}
