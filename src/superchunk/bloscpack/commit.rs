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

use super::Bloscpack;
use super::chunk_list::{ChunkLocation, ChunkSlot};
use super::chunk_reader::MainFile;
use super::damage::Damage;
use super::head::Committed;
use super::header::{ENTRY, Header};
use super::in_place::InPlace;
use super::writer::part_name;
use crate::error::{Result, fail};
use crate::io::{self, Access, File};
use crate::progress;
use std::ops::Range;
use std::sync::Arc;

/// A new file may use this fraction of its chunk bytes for offsets beyond the spare offsets.
const MAX_WASTE: u64 = 16;

impl Bloscpack {
    /// Makes all changes durable and visible together. On failure the file is in the state of the
    /// last commit. If that state is uncertain, this handle refuses further changes, and the next
    /// open recovers a consistent file.
    pub fn commit(&mut self) -> Result<()> {
        self.check_writer()?;
        self.flush()?;
        if self.reader.main.is_some() && !self.changed {
            return Ok(());
        }
        self.writer()?.session.check_commit()?;
        if self.reader.damage.missing > 0 || self.content.slots.iter().any(ChunkSlot::is_lost) {
            return Err(fail!(
                State,
                "{}: chunks are lost; repair the file first",
                self.name()
            ));
        }
        if let Some(e) = &self.head.meta_damage {
            // a rewrite of the file would lose the metadata silently
            return Err(fail!(
                State,
                "{}: the metadata is damaged ({e}); set it again, or repair the file first",
                self.name()
            ));
        }
        if self.content.slots.len() == 0 {
            // Bloscpack does not support a file without chunks
            self.insert(0, &[])?;
        }
        let session = &self.writer()?.session;
        let name = &session.container().main;
        let Some(main) = &self.reader.main else {
            session.refuse_existing(name)?;
            return match self.head_for_part()? {
                Some((header, head)) => self.publish_part(header, &head),
                None => self.rewrite(),
            };
        };
        let file = &main.file;
        session.check_unchanged(name, &**file, || Ok(file.size()? == main.size))?;
        match InPlace::plan(&self.head, &self.content, &self.reader)? {
            Some(plan) => {
                plan.write(session)?;
                let (file, committed) = (file.clone(), plan.committed());
                self.continue_from(Some(file), committed);
                Ok(())
            }
            None => self.rewrite(),
        }
    }

    /// Returns the encoded header if the part file can become the new file: its chunks must be
    /// complete, in order and without gaps.
    fn head_for_part(&self) -> Result<Option<(Header, Vec<u8>)>> {
        let (slots, sum) = (&self.content.slots, self.header().checksum);
        let Some(ChunkSlot {
            location: ChunkLocation::Part(first),
            ..
        }) = slots.iter().next()
        else {
            return Ok(None);
        };
        let mut next = *first;
        for s in slots.iter() {
            if !matches!(s.location, ChunkLocation::Part(at) if at == next) {
                return Ok(None);
            }
            next += s.stored_size(sum);
        }
        if self.writer()?.part_end() != next {
            return Ok(None);
        }
        // a small file is copied, so that it does not keep many unused offsets
        let room = self.head.encode(&self.content, Some(*first))?;
        let spare = self.head.spare_offsets(slots);
        let more = |h: &Header| h.max_app_chunks.saturating_sub(spare) * ENTRY;
        Ok(room.filter(|(header, _)| more(header) <= (next - first) / MAX_WASTE))
    }

    /// Writes the header into the part file and swaps it in.
    fn publish_part(&mut self, header: Header, head: &[u8]) -> Result<()> {
        let Some(part) = self.reader.part.clone() else {
            return Err(fail!(State, "the part file is not open"));
        };
        let writer = self.writer()?;
        part.write_at(0, head)?;
        // discards bytes of a failed write after the last chunk
        part.set_size(writer.part_end())?;
        let session = &writer.session;
        session.sync(&*part)?;
        session.swap_in(&part_name(session.container()))?;
        self.reader.part = None;
        self.reopen(header)
    }

    /// Writes a new file and swaps it in.
    fn rewrite(&mut self) -> Result<()> {
        let Some((header, head)) = self.head.encode(&self.content, None)? else {
            return Err(fail!(State, "the header does not fit before the chunks"));
        };
        let session = &self.writer()?.session;
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
        for s in self.content.slots.iter() {
            progress::poll()?;
            let n = s.stored_size(self.header().checksum);
            let (file, from) = match &s.location {
                ChunkLocation::Main(from) => (self.reader.main.as_ref().map(|m| &m.file), *from),
                ChunkLocation::Part(from) => (self.reader.part.as_ref(), *from),
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
        let (start, sum) = (header.chunks_at(), header.checksum);
        let positions: Vec<_> = self.content.slots.positions_from(start, sum).collect();
        let last = self.content.slots.iter().next_back().zip(positions.last());
        let end = last.map_or(start, |(slot, (at, _))| at + slot.stored_size(sum));
        let session = &self.writer()?.session;
        let container = session.container();
        let opened = container.folder.open(&container.main, Access::Write);
        if opened.is_err() {
            session.mark_broken();
        }
        let committed = Committed {
            header,
            positions,
            end,
        };
        self.continue_from(opened.ok(), committed);
        Ok(())
    }

    /// Continues after a commit. `file` is the committed file, if it is open.
    fn continue_from(&mut self, file: Option<Arc<dyn File>>, committed: Committed) {
        self.content.slots.set_positions(committed.positions);
        self.head.header = committed.header;
        self.head.meta_changed = false;
        self.reader.main = file.map(|file| MainFile {
            size: file.size().unwrap_or(u64::MAX),
            file,
            modified: None,
            end: committed.end,
            offsets_are_right: true,
        });
        self.reader.damage = Damage::default();
        if let Some(writer) = &mut self.writer {
            writer.remove_part(&mut self.reader);
        }
        self.changed = false;
    }
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
        if let Some(writer) = self.writer.as_mut().filter(|w| w.session.is_own()) {
            writer.remove_part(&mut self.reader);
        }
    }
}
