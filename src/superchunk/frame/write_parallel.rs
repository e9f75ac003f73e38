//! Several new chunks: each thread makes one, and writes it while the others still make theirs.
//!
//! They lie in the file in the order in which they come, whoever is done first: the same calls make
//! the same files. What is written lies behind everything that counts, and is put in its place by
//! the caller's thread, in order, when all are there: until then nothing of the frame has changed.
#![forbid(unsafe_code)]

use super::Frame;
use super::entry::Entry;
use super::index::Slot;
use super::write::Form;
use crate::alloc;
use crate::error::Result;
use crate::parallel::ordered::{self, Keeper};
use crate::superchunk::chunks::{Coming, jobs};

/// What has become of a chunk that has its place.
pub(super) enum Put {
    Slot(Slot),
    Bytes(u32, Option<u32>),
}

impl Frame {
    /// May these be written before they are put? Not to files of their own; nor where the room of
    /// one that was never committed may be used again, of which it is made.
    pub(super) fn writes_meanwhile(&self, coming: &[Coming]) -> bool {
        let is_new = |chunk: u64| {
            self.place(chunk)
                .ok()
                .flatten()
                .is_some_and(|place| place >= self.writing.committed)
        };
        !self.site.sparse && jobs(coming) > 1 && !coming.iter().filter_map(|c| c.chunk).any(is_new)
    }

    /// Makes these on so many threads, writes them meanwhile, and puts them. On failure those
    /// before it are put.
    pub(super) fn put_meanwhile(&mut self, threads: usize, coming: Vec<Coming>) -> Result<()> {
        let n = self.chunk_bytes();
        let chunks: Vec<Option<u64>> = coming.iter().map(|c| c.chunk).collect();
        let make = |frame: &Frame, c: Coming| {
            c.work
                .done(frame, 1)?
                .map(|new| frame.form(n, new))
                .transpose()
        };
        let (puts, done) = self.write_meanwhile(threads, coming, make)?;
        for (chunk, put) in chunks.into_iter().zip(puts) {
            let Some(put) = put else { continue };
            self.put_entry(chunk.unwrap_or(self.entries.len() as u64), n, |frame| {
                Ok(frame.entry_of(put))
            })?;
        }
        done
    }

    /// Makes chunks of these on so many threads, and writes those that take room behind each other.
    /// On failure there are those before the one that failed.
    pub(super) fn write_meanwhile<P: Send>(
        &mut self,
        threads: usize,
        pieces: Vec<P>,
        make: impl Fn(&Frame, P) -> Result<Option<Form>> + Sync,
    ) -> Result<(Vec<Option<Put>>, Result<()>)> {
        self.check_writer()?;
        self.before_writing()?;
        let keeper = if self.file_threads() > 1 {
            Keeper::Any
        } else {
            Keeper::Caller
        };
        let (this, mut at) = (&*self, self.next);
        let mut puts = alloc::with_room(pieces.len())?;
        let done = ordered::in_order(
            threads,
            ordered::few(threads),
            keeper,
            pieces,
            |piece| make(this, piece),
            |form| {
                puts.push(match form {
                    None => None,
                    Some(Form::Slot(slot)) => Some(Put::Slot(slot)),
                    Some(Form::Bytes { bytes, cbytes, crc }) => {
                        this.write_chunk(at, &bytes)?;
                        at = at.saturating_add(cbytes.into());
                        this.writing.buffers.keep(bytes, this.threads.count());
                        Some(Put::Bytes(cbytes, crc))
                    }
                });
                Ok(())
            },
        );
        // closing cuts off what a write that failed has left
        self.writing.changed |= done.is_err();
        Ok((puts, done))
    }

    /// The entry of a chunk that was written so, in the order of these.
    pub(super) fn entry_of(&mut self, put: Put) -> Entry {
        self.writing.changed = true;
        match put {
            Put::Slot(slot) => Entry::bare(slot),
            Put::Bytes(cbytes, crc) => Entry::sound(Slot::At(self.written(cbytes)), cbytes, crc),
        }
    }
}
