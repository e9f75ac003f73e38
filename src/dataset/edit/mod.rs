//! Pending changes of the items of an array. New files are written beside those of the last commit.
//! The content of the unit that is being changed is buffered in memory.
//!
//! A unit is the content of one file: a chunk, or a superchunk in the BLZ RFC layout. Files of the
//! last commit are not modified here. A unit that is changed again is written to a second new file
//! before the first one is removed, so that a failure changes nothing.
#![forbid(unsafe_code)]

mod change;

use super::chunk_file::HEADER;
use super::chunks::file_name;
use super::commit::tidy;
use super::folder::DatasetDir;
use super::superchunks;
use crate::blosc::{self, Params};
use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::io::Access;
use crate::io::journal::NEW;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::slice::SliceExt;
use crate::superchunk::block_checksums;
use crate::superchunk::bloscpack::{self, FileEncoder};
use crate::superchunk::buffer_pool::BufferPool;
use crate::{alloc, parallel};
use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

/// How chunks are distributed over files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayout {
    /// One file per chunk.
    ChunkFiles,
    /// Files with many chunks, as in the BLZ RFC layout.
    Superchunks,
}

impl FileLayout {
    /// Returns the name of the file of this unit.
    pub fn file_name(self, unit: u64) -> String {
        match self {
            FileLayout::ChunkFiles => file_name(unit),
            FileLayout::Superchunks => superchunks::name(unit.saturating_add(1)),
        }
    }

    /// Returns the name of the new file of this unit until the commit renames it.
    pub fn pending_name(self, unit: u64, second: bool) -> String {
        format!(
            "{}{NEW}{}",
            self.file_name(unit),
            if second { "2" } else { "" }
        )
    }

    /// Parses a file name. Returns the layout and the unit.
    pub fn parse(name: &str) -> Option<(FileLayout, u64)> {
        let rest = name.strip_prefix("__")?;
        let (layout, number, first) = match rest.strip_suffix("__.bin") {
            Some(number) => (FileLayout::Superchunks, number, 1),
            None => (FileLayout::ChunkFiles, rest.strip_suffix(".blp")?, 0),
        };
        let unit = number.parse::<u64>().ok()?.checked_sub(first)?;
        (layout.file_name(unit) == name).then_some((layout, unit))
    }
}

/// Encoder of the file of one unit.
pub enum UnitEncoder {
    /// Encodes one chunk, followed by its digest.
    Chunk(Params, Checksum),
    /// Encodes a superchunk.
    Superchunk(FileEncoder),
}

impl UnitEncoder {
    /// Returns the parameters of new chunks.
    fn params(&self) -> &Params {
        match self {
            UnitEncoder::Chunk(params, _) => params,
            UnitEncoder::Superchunk(file_encoder) => &file_encoder.params,
        }
    }

    /// Returns the checksum of new chunks.
    pub(super) fn checksum(&self) -> Checksum {
        match self {
            UnitEncoder::Chunk(_, sum) => *sum,
            UnitEncoder::Superchunk(file_encoder) => file_encoder.sum,
        }
    }

    /// Returns the bytes of a file with this content. `bytes` is a buffer for reuse.
    pub(super) fn encode(
        &self,
        content: &[u8],
        mut bytes: Vec<u8>,
        threads: usize,
    ) -> Result<Vec<u8>> {
        let (params, sum) = match self {
            UnitEncoder::Superchunk(file_encoder) => return file_encoder.encode(content, threads),
            UnitEncoder::Chunk(params, sum) => (params, sum),
        };
        alloc::reserve(&mut bytes, HEADER.len())?;
        bytes.extend_from_slice(&HEADER);
        blosc::encode(params, content, &mut bytes, threads)?;
        block_checksums::seal(&mut bytes, HEADER.len(), *sum)?;
        Ok(bytes)
    }
}

/// The buffered content of a unit.
struct UnitBuffer {
    unit: u64,
    /// Offset in the unit of the first buffered byte; the start of a chunk.
    from: u64,
    content: Vec<u8>,
    /// True if the content is not in a file yet.
    changed: bool,
}

/// The pending changes of one run of chunks.
pub struct Edit {
    pub(super) dir: DatasetDir,
    pub(super) layout: FileLayout,
    encoder: UnitEncoder,
    /// Number of content bytes in a unit.
    pub(super) unit: u64,
    limit: u64,
    threads: Threads,
    open: Option<UnitBuffer>,
    /// The last unit of the last commit, from its last chunk on, with the data appended since. It
    /// is set only if that unit has no other changes. The data is appended to the existing file.
    tail: Option<UnitBuffer>,
    /// Units in new files, in ascending order; true if the unit is in its second new file.
    pub(super) pending: Vec<(u64, bool)>,
    /// Number of content bytes of the last commit, and length of the prefix that is unchanged
    /// since.
    pub(super) committed: u64,
    pub(super) unchanged: u64,
    /// Approximate number of stored bytes.
    pub(super) cbytes: u64,
    /// The unit that was written last, and the size of its file.
    written: Option<(u64, u64)>,
    /// True if files were renamed and the folder is not synced yet.
    names_unsynced: bool,
    buffers: BufferPool,
}

/// A unit in a new file: its index, whether it is the second new file, and the size of the file.
type StoredUnit = (u64, bool, u64);

impl Edit {
    /// Creates an empty set of changes for the files in `dir`. `[unit, committed, cbytes, limit]`
    /// are bytes: content per unit, content of the last commit, stored size, memory limit.
    pub fn new(
        dir: &DatasetDir,
        encoder: UnitEncoder,
        [unit, committed, cbytes, limit]: [u64; 4],
        threads: Threads,
    ) -> Edit {
        let layout = if matches!(encoder, UnitEncoder::Chunk(..)) {
            FileLayout::ChunkFiles
        } else {
            FileLayout::Superchunks
        };
        let (dir, pending) = (dir.clone(), Vec::new());
        Edit {
            dir,
            layout,
            encoder,
            unit: unit.max(1),
            limit,
            threads,
            open: None,
            tail: None,
            pending,
            committed,
            unchanged: committed,
            cbytes,
            written: None,
            names_unsynced: false,
            buffers: BufferPool::default(),
        }
    }

    fn find(&self, unit: u64) -> std::result::Result<usize, usize> {
        self.pending.binary_search_by_key(&unit, |(i, _)| *i)
    }

    /// Removes the leftovers of an interrupted writer.
    pub(super) fn tidy(&self, durable: bool) -> Result<()> {
        tidy(&self.dir, "")?;
        match self.committed / self.unit {
            // storage that cannot list its files may have leftovers of this file nevertheless
            last if self.layout == FileLayout::Superchunks && last * self.unit < self.committed => {
                bloscpack::recover(
                    self.dir.folder(),
                    &self.dir.name(&self.layout.file_name(last)),
                    durable,
                )
            }
            _ => Ok(()),
        }
    }

    /// Returns which new file contains a unit, if any; true for the second one.
    fn second(&self, unit: u64) -> Option<bool> {
        self.find(unit)
            .ok()
            .and_then(|at| self.pending.get(at))
            .map(|(_, second)| *second)
    }

    /// Returns the parameters of new chunks.
    pub fn params(&self) -> &Params {
        self.encoder.params()
    }

    /// Returns the checksum of new chunks.
    pub fn checksum(&self) -> Checksum {
        self.encoder.checksum()
    }

    /// Returns the name of the file that currently contains a unit.
    pub fn name(&self, unit: u64) -> String {
        self.second(unit).map_or_else(
            || self.layout.file_name(unit),
            |second| self.layout.pending_name(unit, second),
        )
    }

    /// Returns the content from offset `at` to the end of its unit, if it is in memory.
    pub fn content(&self, at: u64) -> Option<&[u8]> {
        let (unit, at) = (at / self.unit, at % self.unit);
        let buffer = [&self.open, &self.tail]
            .into_iter()
            .flatten()
            .find(|o| o.unit == unit && o.from <= at)?;
        Some(
            buffer
                .content
                .get((at - buffer.from) as usize..)
                .unwrap_or_default(),
        )
    }

    /// Returns the number of content bytes that the next commit encodes.
    pub fn pending_bytes(&self) -> u64 {
        let open = self.open.as_ref().filter(|unit| unit.changed);
        let buffers = open.into_iter().chain(&self.tail);
        buffers.map(|unit| unit.content.len() as u64).sum()
    }

    /// Returns true if changes are pending besides the unit that is being changed in memory.
    pub(super) fn has_pending(&self) -> bool {
        self.tail.is_some() || !self.pending.is_empty()
    }

    /// Appends the buffered data to the last file of the last commit. It is not visible before the
    /// commit.
    pub(super) fn append_tail(&mut self, durable: bool) -> Result<()> {
        let (Some(tail), UnitEncoder::Superchunk(file_encoder)) = (&self.tail, &self.encoder)
        else {
            return Ok(());
        };
        let name = self.dir.name(&self.layout.file_name(tail.unit));
        let mut options = Options::new()
            .with(Opt::Threads, self.threads.count() as i64)?
            .with(Opt::Durability, durable.into())?;
        options.set(
            Opt::MemoryLimit,
            i64::try_from(self.limit).unwrap_or(i64::MAX),
        )?;
        let keep = self.committed - tail.unit * self.unit;
        let new = tail.content.at((keep - tail.from) as usize..)?;
        let grown = file_encoder.append(self.dir.folder(), &name, keep, new, &options)?;
        (self.tail, self.written) = (None, None);
        self.cbytes = self.cbytes.saturating_add_signed(grown);
        Ok(())
    }

    /// Renames new files to their final names if they only add units after those of the last
    /// commit. Otherwise returns the final names of the files, which the commit must swap.
    pub(super) fn rename_all(&mut self, durable: bool, replaces: bool) -> Result<Vec<OsString>> {
        let (dir, layout) = (&self.dir, self.layout);
        let grows = self.unchanged >= self.committed && !replaces;
        let mut named = 0;
        let renamed = self.pending.iter_mut().try_for_each(|(unit, second)| {
            let to = if grows {
                layout.file_name(*unit)
            } else {
                layout.pending_name(*unit, false)
            };
            let from = dir.name(&layout.pending_name(*unit, *second));
            let done = if grows || *second {
                dir.folder().rename(&from, &dir.name(&to))
            } else {
                Ok(())
            };
            // an operation that failed may have taken effect nevertheless
            if done.is_ok() || !dir.folder().exists(&from).unwrap_or(true) {
                (*second, named) = (false, named + 1);
            }
            done
        });
        if grows {
            self.pending.drain(..named);
            self.names_unsynced |= named > 0;
        }
        let swapped = self
            .pending
            .iter()
            .map(|(unit, _)| dir.name(&layout.file_name(*unit)))
            .collect();
        renamed?;
        if self.names_unsynced && durable {
            dir.sync()?;
        }
        self.names_unsynced = false;
        Ok(swapped)
    }

    /// Records that `len` bytes are committed, and removes files that are no longer used.
    pub(super) fn finish_commit(&mut self, len: u64) {
        self.pending.clear();
        self.buffers = BufferPool::default();
        let old = std::mem::replace(&mut self.committed, len);
        self.unchanged = len;
        for i in len.div_ceil(self.unit)..old.div_ceil(self.unit) {
            self.remove(&self.layout.file_name(i));
        }
    }

    /// Removes a file. A file that cannot be removed does no harm.
    fn remove(&self, name: &str) {
        let _ = self.dir.folder().remove_if_there(&self.dir.name(name));
    }

    /// Removes all pending files.
    pub fn clear(&mut self) {
        for (unit, second) in std::mem::take(&mut self.pending) {
            self.remove(&self.layout.pending_name(unit, second));
        }
    }

    /// Writes a unit to a new file, which is not recorded yet.
    pub(super) fn write_unit(
        &self,
        unit: u64,
        content: &[u8],
        threads: usize,
    ) -> Result<StoredUnit> {
        let bytes = self.encoder.encode(content, self.buffers.take(), threads)?;
        let written = self.write_file(unit, &bytes);
        self.buffers.give_back(bytes, self.threads.count());
        written
    }

    /// Writes the file of a unit, which is not recorded yet.
    pub(super) fn write_file(&self, unit: u64, bytes: &[u8]) -> Result<StoredUnit> {
        let second = self.second(unit) == Some(false);
        let name = self.layout.pending_name(unit, second);
        let written = self
            .dir
            .create(&name)
            .and_then(|file| file.write_at(0, bytes));
        match written {
            Ok(()) => Ok((unit, second, bytes.len() as u64)),
            Err(e) => {
                self.remove(&name);
                Err(e)
            }
        }
    }

    /// Writes consecutive units, all or none.
    fn write_units(&self, first: u64, content: &[u8]) -> Result<Vec<StoredUnit>> {
        let units: Vec<(u64, &[u8])> = (first..)
            .zip(content.chunks(usize::try_from(self.unit).unwrap_or(usize::MAX)))
            .collect();
        let unit_threads = if units.len() > 1 {
            1
        } else {
            self.threads.count()
        };
        let done = Mutex::new((Vec::new(), None::<Error>));
        parallel::for_each(self.threads.count(), units, |(unit, content)| {
            let stored = self.write_unit(unit, content, unit_threads);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            match stored {
                Ok(stored) => done.0.push(stored),
                Err(e) => done.1 = Some(e),
            }
        });
        let (stored, failed) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed {
            None => Ok(stored),
            Some(e) => {
                self.remove_all(&stored);
                Err(e)
            }
        }
    }

    fn remove_all(&self, stored: &[StoredUnit]) {
        stored
            .iter()
            .for_each(|(unit, second, _)| self.remove(&self.layout.pending_name(*unit, *second)));
    }

    /// Records that these units are in new files. `len` is the current number of content bytes.
    fn accept(&mut self, stored: Vec<StoredUnit>, len: u64) -> Result<()> {
        if let Err(e) = alloc::reserve(&mut self.pending, stored.len()) {
            self.remove_all(&stored);
            return Err(e);
        }
        for (unit, second, bytes) in stored {
            let old = self.name(unit);
            let size = |name: &str| self.dir.open(name, Access::Read).and_then(|f| f.size());
            let before = match self.written.filter(|(last, _)| *last == unit) {
                _ if unit >= len.div_ceil(self.unit) => 0,
                Some((_, bytes)) => bytes,
                None => size(&old).unwrap_or(0),
            };
            self.written = Some((unit, bytes));
            self.cbytes = self.cbytes.saturating_sub(before).saturating_add(bytes);
            match self.find(unit) {
                Ok(at) => {
                    self.remove(&old);
                    self.pending
                        .get_mut(at)
                        .into_iter()
                        .for_each(|w| w.1 = second);
                }
                Err(at) => self.pending.insert(at, (unit, second)),
            }
        }
        Ok(())
    }
}
