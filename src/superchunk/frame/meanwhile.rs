//! Several new chunks: each thread makes one, and writes what is done while the others still make theirs.
//!
//! They lie in the file in the order in which they come, whoever is done first: the same calls make the same files. Where a
//! chunk begins is known when all before it are made, so that one that is done early waits for them, and is written by the
//! thread that was waited for. What is written lies behind everything that counts, and is put in its place by the caller's
//! thread, in order, when all are there: until then nothing of the frame has changed.
#![forbid(unsafe_code)]

use super::Frame;
use super::entry::Entry;
use super::index::Slot;
use super::put::Form;
use crate::error::{Error, Result};
use crate::parallel;
use crate::superchunk::chunks::{Coming, jobs};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The chunks on their way to the file.
struct Line {
    /// Which of them has its place next, and where that is.
    next: usize,
    at: u64,
    /// Those that are made and wait for others; of those that are in the index alone, none.
    waiting: BTreeMap<usize, Option<Vec<u8>>>,
    /// What could not be written.
    failed: BTreeMap<usize, Error>,
}

/// What has become of a chunk that has its place.
enum Put {
    Slot(Slot),
    Bytes(u32, Option<u32>),
}

impl Frame {
    /// May these be written before they are put? Not to files of their own; nor where the room of one that was never
    /// committed may be used again, of which it is made.
    pub(super) fn writes_meanwhile(&self, coming: &[Coming]) -> bool {
        let is_new = |chunk: u64| self.place(chunk).ok().flatten().is_some_and(|place| place >= self.writing.committed);
        !self.site.sparse && jobs(coming) > 1 && !coming.iter().filter_map(|c| c.chunk).any(is_new)
    }

    /// Makes these on so many threads, writes them meanwhile, and puts them. On failure those before it are put.
    pub(super) fn put_meanwhile(&mut self, threads: usize, coming: Vec<Coming>) -> Result<()> {
        self.check_writer()?;
        self.before_first()?;
        let line = Mutex::new(Line { next: 0, at: self.next, waiting: BTreeMap::new(), failed: BTreeMap::new() });
        let mut made: Vec<(Coming, Result<Option<Put>>)> = coming.into_iter().map(|c| (c, Ok(None))).collect();
        let this = &*self;
        parallel::for_each_alone(threads, made.iter_mut().enumerate().collect(), |(k, (coming, put)): (usize, &mut (Coming, _))| {
            *put = this.make_and_pass(k, coming, &line);
        });
        let mut failed = line.into_inner().unwrap_or_else(PoisonError::into_inner).failed;
        let n = self.chunk_bytes();
        for (k, (coming, put)) in made.into_iter().enumerate() {
            let Some(put) = put? else { continue };
            if let Some(e) = failed.remove(&k) {
                return Err(e);
            }
            self.put_entry(coming.chunk.unwrap_or(self.entries.len() as u64), n, |frame| {
                frame.writing.changed = true;
                Ok(match put {
                    Put::Slot(slot) => Entry::bare(slot),
                    Put::Bytes(cbytes, crc) => Entry::sound(Slot::At(frame.written(cbytes)), cbytes, crc),
                })
            })?;
        }
        Ok(())
    }

    fn make_and_pass(&self, k: usize, coming: &Coming, line: &Mutex<Line>) -> Result<Option<Put>> {
        let new = coming.work.done(self, 1)?;
        let (put, bytes) = match new.map(|new| self.form(self.chunk_bytes(), new)).transpose()? {
            Some(Form::Bytes { bytes, cbytes, crc }) => (Some(Put::Bytes(cbytes, crc)), Some(bytes)),
            Some(Form::Slot(slot)) => (Some(Put::Slot(slot)), None),
            None => (None, None),
        };
        self.pass(k, bytes, line);
        Ok(put)
    }

    /// Gives a chunk, and those that waited for it, their places, and writes them.
    fn pass(&self, k: usize, bytes: Option<Vec<u8>>, line: &Mutex<Line>) {
        let mut now = Vec::new();
        let locked = || line.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let line = &mut *locked();
            line.waiting.insert(k, bytes);
            while let Some(bytes) = line.waiting.remove(&line.next) {
                if let Some(bytes) = bytes {
                    let place = line.at;
                    line.at = place.saturating_add(bytes.len() as u64);
                    now.push((line.next, place, bytes));
                }
                line.next += 1;
            }
        }
        for (k, place, bytes) in now {
            if let Err(e) = self.write_chunk(place, &bytes) {
                locked().failed.insert(k, e);
            }
            self.writing.keep(bytes, self.threads);
        }
    }
}
