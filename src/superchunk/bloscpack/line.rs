//! Content becomes chunks on all threads, and these go to the file in their order. A file takes one write at a time: whoever
//! has made the chunk that is next writes it, and those behind it that are ready, while the others make more.
#![forbid(unsafe_code)]

use super::Bloscpack;
use super::slots::Slot;
use crate::error::Result;
use crate::io::File;
use crate::parallel;
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Line<'a> {
    /// Chunks that are made and not kept yet, by their number.
    made: Vec<Option<Result<Vec<u8>>>>,
    kept: Result<()>,
    slots: Vec<Slot>,
    /// Where the next one goes in the file; none: they stay in memory.
    file: Option<&'a dyn File>,
    start: u64,
    nbytes: u64,
    busy: bool,
}

fn lock<'l, 'a>(line: &'l Mutex<Line<'a>>) -> MutexGuard<'l, Line<'a>> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bloscpack {
    /// Encodes content and puts its chunks behind the last. On failure those before it stay.
    pub(super) fn push_content(&mut self, content: &[u8]) -> Result<()> {
        if content.is_empty() {
            return Ok(());
        }
        let pieces: Vec<(usize, &[u8])> = content.chunks(self.chunk_size).enumerate().collect();
        let each = if pieces.len() > 1 { 1 } else { self.threads };
        let file = self.part_for(content.len())?;
        let made = pieces.iter().map(|_| None).collect();
        let line = Mutex::new(Line { made, kept: Ok(()), slots: Vec::new(), file: file.as_deref(), start: self.part_end, nbytes: 0, busy: false });
        let anywhere = self.file_threads() > 1;
        parallel::for_each(self.threads, pieces, |(i, piece)| {
            let chunk = self.encode_sealed(piece, each);
            if let Some(made) = lock(&line).made.get_mut(i) {
                *made = Some(chunk);
            }
            if anywhere {
                self.keep_made(&line);
            }
        });
        self.keep_made(&line);
        let Line { kept, slots, nbytes, .. } = line.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.kept(file.is_some(), nbytes);
        slots.into_iter().try_for_each(|s| self.slots.push(s))?;
        kept
    }

    /// Keeps all that is made, as far as it is the next, unless another thread is at it: it then finds this, too.
    fn keep_made(&self, line: &Mutex<Line<'_>>) {
        let mut l = lock(line);
        while !l.busy && l.kept.is_ok() {
            let next = l.slots.len();
            let Some(chunk) = l.made.get_mut(next).and_then(Option::take) else { return };
            l.busy = true;
            let (file, at) = (l.file, l.start.saturating_add(l.nbytes));
            drop(l);
            let n = chunk.as_ref().map_or(0, Vec::len) as u64;
            let kept = chunk.and_then(|bytes| self.put(file, at, bytes));
            l = lock(line);
            l.busy = false;
            l.nbytes += n;
            match kept {
                Ok(slot) => l.slots.push(slot),
                Err(e) => l.kept = Err(e),
            }
        }
    }
}
