//! Encodes several chunks in parallel. Each thread encodes a chunk while finished ones are written.
//!
//! Chunks are written in order, independent of which one is finished first: the same calls create
//! the same files. They are written after all committed data. The caller's thread adds them to the
//! frame, in order, after all are written; the frame does not change before that.
#![forbid(unsafe_code)]

use super::Frame;
use super::entry::Entry;
use super::index::IndexSlot;
use super::write::StoredForm;
use crate::alloc;
use crate::error::Result;
use crate::parallel::ordered::{self, ConsumerThread};
use crate::superchunk::chunks::{PendingChunk, jobs};

/// A chunk that was written, or needs no space.
pub(super) enum WrittenChunk {
    Slot(IndexSlot),
    Bytes(u32, Option<u32>),
}

impl Frame {
    /// Can these chunks be written before they are added to the frame? Not if chunks are files. Not
    /// if one of them replaces an uncommitted chunk: the space of that chunk may be reused while
    /// its content is still needed.
    pub(super) fn can_write_in_parallel(&self, coming: &[PendingChunk]) -> bool {
        let is_new = |chunk: u64| {
            self.position(chunk)
                .ok()
                .flatten()
                .is_some_and(|position| position >= self.writing.committed)
        };
        !self.storage.sparse
            && jobs(coming) > 1
            && !coming.iter().filter_map(|c| c.chunk).any(is_new)
    }

    /// Encodes and writes these chunks on `threads` threads and adds them to the frame. On failure,
    /// the chunks before the failing one are added.
    pub(super) fn put_parallel(&mut self, threads: usize, coming: Vec<PendingChunk>) -> Result<()> {
        let n = self.chunk_bytes();
        let chunks: Vec<Option<u64>> = coming.iter().map(|c| c.chunk).collect();
        let make = |frame: &Frame, c: PendingChunk| {
            c.work
                .run(frame, 1)?
                .map(|new| frame.form(n, new))
                .transpose()
        };
        let (puts, done) = self.write_parallel(threads, coming, make)?;
        for (chunk, put) in chunks.into_iter().zip(puts) {
            let Some(put) = put else { continue };
            self.put_entry(chunk.unwrap_or(self.entries.len() as u64), n, |frame| {
                Ok(frame.entry_of(put))
            })?;
        }
        done
    }

    /// Encodes chunks on `threads` threads and writes them one after the other. On failure, returns
    /// the chunks before the failing one.
    pub(super) fn write_parallel<P: Send>(
        &mut self,
        threads: usize,
        pieces: Vec<P>,
        make: impl Fn(&Frame, P) -> Result<Option<StoredForm>> + Sync,
    ) -> Result<(Vec<Option<WrittenChunk>>, Result<()>)> {
        self.check_writer()?;
        self.before_writing()?;
        let keeper = if self.file_threads() > 1 {
            ConsumerThread::Any
        } else {
            ConsumerThread::Caller
        };
        let (this, mut at) = (&*self, self.next);
        let mut puts = alloc::with_capacity(pieces.len())?;
        let done = ordered::in_order(
            threads,
            ordered::max_early_large(threads),
            keeper,
            pieces,
            |piece| make(this, piece),
            |form| {
                puts.push(match form {
                    None => None,
                    Some(StoredForm::Slot(slot)) => Some(WrittenChunk::Slot(slot)),
                    Some(StoredForm::Bytes { bytes, cbytes, crc }) => {
                        this.write_chunk(at, &bytes)?;
                        at = at.saturating_add(cbytes.into());
                        this.writing.buffers.give_back(bytes, this.threads.count());
                        Some(WrittenChunk::Bytes(cbytes, crc))
                    }
                });
                Ok(())
            },
        );
        // dropping the frame truncates what a failed write has left
        self.writing.changed |= done.is_err();
        Ok((puts, done))
    }

    /// Creates the entry of a chunk that was written. Must be called in the order of the writes.
    pub(super) fn entry_of(&mut self, put: WrittenChunk) -> Entry {
        self.writing.changed = true;
        match put {
            WrittenChunk::Slot(slot) => Entry::bare(slot),
            WrittenChunk::Bytes(cbytes, crc) => {
                Entry::verified(IndexSlot::At(self.record_written(cbytes)), cbytes, crc)
            }
        }
    }
}
