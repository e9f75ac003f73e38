//! Encodes several chunks in parallel. Each thread encodes a chunk while finished ones are written.
//!
//! Chunks are written in order, independent of which one is finished first: the same calls create
//! the same files. They are written after all committed data. The caller's thread adds them to the
//! frame, in order, after all are written; the frame does not change before that.
#![forbid(unsafe_code)]

use super::index::IndexSlot;
use super::index::entry::Entry;
use super::write::{FrameWriter, StoredForm};
use crate::alloc;
use crate::error::Result;
use crate::parallel::ordered::{self, ConsumerThread};
use crate::superchunk::chunks::{PendingChunk, jobs};

/// A chunk that was written, or needs no space.
pub(super) enum WrittenChunk {
    Slot(IndexSlot),
    /// The offset and the number of bytes that were written, the length of the chunk with which they
    /// begin, and its CRC-32.
    Bytes {
        position: u64,
        n: usize,
        cbytes: u32,
        crc: Option<u32>,
    },
}

impl FrameWriter {
    /// Can these chunks be written before they are added to the frame? Not if chunks are files. Not
    /// if one of them replaces an uncommitted chunk: the space of that chunk may be reused while
    /// its content is still needed.
    pub(super) fn can_write_in_parallel(&self, coming: &[PendingChunk]) -> bool {
        let is_new = |chunk: u64| {
            self.reader
                .position(chunk)
                .ok()
                .flatten()
                .is_some_and(|position| position >= self.committed)
        };
        !self.reader.files.storage.sparse
            && jobs(coming) > 1
            && !coming.iter().filter_map(|c| c.chunk).any(is_new)
    }

    /// Adds written chunks of `n` bytes to the frame, or replaces chunks by them. `done` is the
    /// result of writing them.
    pub(super) fn put_written(
        &mut self,
        n: usize,
        chunks: impl Iterator<Item = Option<u64>>,
        (puts, done): (Vec<Option<WrittenChunk>>, Result<()>),
    ) -> Result<()> {
        // dropping the writer truncates what a failed write has left
        self.changed |= done.is_err();
        for (chunk, put) in chunks.zip(puts) {
            let Some(put) = put else { continue };
            let end = self.reader.layout.entries.len() as u64;
            self.put_entry(chunk.unwrap_or(end), n, |writer| Ok(writer.entry_of(put)))?;
        }
        done
    }

    /// Encodes chunks on `threads` threads and writes them one after the other. Returns the chunks
    /// before the first failing one, and whether one failed: see [`FrameWriter::put_written`].
    pub(super) fn write_parallel<P: Send>(
        &self,
        threads: usize,
        pieces: Vec<P>,
        make: impl Fn(P) -> Result<Option<StoredForm>> + Sync,
    ) -> Result<(Vec<Option<WrittenChunk>>, Result<()>)> {
        self.before_writing()?;
        let keeper = if self.reader.file_threads() > 1 {
            ConsumerThread::Any
        } else {
            ConsumerThread::Caller
        };
        let mut at = self.next;
        let mut puts = alloc::with_capacity(pieces.len())?;
        let done = ordered::in_order(
            threads,
            ordered::max_early_large(threads),
            keeper,
            pieces,
            make,
            |form| {
                puts.push(match form {
                    None => None,
                    Some(StoredForm::Slot(slot)) => Some(WrittenChunk::Slot(slot)),
                    Some(StoredForm::Bytes { bytes, cbytes, crc }) => {
                        let n = bytes.len();
                        let position = self.position_for(at, n);
                        self.reader.files.write_chunk(position, &bytes)?;
                        at = position.saturating_add(n as u64);
                        self.buffers.give_back(bytes, self.reader.threads.count());
                        Some(WrittenChunk::Bytes {
                            position,
                            n,
                            cbytes,
                            crc,
                        })
                    }
                });
                Ok(())
            },
        );
        Ok((puts, done))
    }

    /// Creates the entry of a chunk that was written. Must be called in the order of the writes.
    pub(super) fn entry_of(&mut self, put: WrittenChunk) -> Entry {
        self.changed = true;
        match put {
            WrittenChunk::Slot(slot) => Entry::bare(slot),
            WrittenChunk::Bytes {
                position,
                n,
                cbytes,
                crc,
            } => {
                self.record_written(position, n);
                Entry::verified(IndexSlot::At(position), cbytes, crc)
            }
        }
    }
}
