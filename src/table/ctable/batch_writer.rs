//! Changes texts, bytes or other values of a CTable that are stored in batches.
#![forbid(unsafe_code)]

use super::batches::{Batches, Items};
use super::text_rows::TextSource;
use super::text_writer::TextSink;
use crate::array::store::Texts;
use crate::error::Result;
use crate::superchunk::frame::Frame;
use std::ops::Range;

/// Maximum number of items of a new batch, as python-blosc2 writes them, and of their bytes.
pub const BATCH_ROWS: usize = 2048;
const BATCH_BYTES: usize = 8 << 20;

/// Batches, and items that are not written yet.
pub struct BatchWriter {
    batches: Batches,
    pending: Texts,
}

impl BatchWriter {
    /// Wraps a frame. A batch may need `limit` bytes.
    pub fn new(frame: Frame, items: Items, limit: u64) -> Result<BatchWriter> {
        Ok(BatchWriter {
            batches: Batches::new(frame, items, limit)?,
            pending: Texts::new(u64::MAX),
        })
    }

    /// Writes the items that are pending as a batch.
    fn write_pending(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let at = self.batches.count();
        self.batches.insert(at, &self.pending)?;
        self.pending = Texts::new(u64::MAX);
        Ok(())
    }

    /// Makes the items of the last batch pending, from item `from` on only those before it.
    fn reopen(&mut self, items: u64) -> Result<()> {
        let Some(last) = self.batches.count().checked_sub(1) else {
            return Ok(());
        };
        let mut retained = Texts::new(u64::MAX);
        let batch = self.batches.batch(last)?;
        retained.extend(&batch, 0..batch.len().min(items as usize))?;
        self.batches.remove(last)?;
        self.pending = retained;
        Ok(())
    }
}

impl TextSource for BatchWriter {
    fn len(&self) -> u64 {
        self.batches.len() + self.pending.len() as u64
    }

    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        let written = self.batches.len();
        let end = positions.end.min(written);
        if positions.start < end {
            self.batches.read(positions.start..end, to)?;
        }
        let from = positions.start.max(written) - written;
        let to_end = positions.end.max(written) - written;
        to.extend(&self.pending, from as usize..to_end as usize)
    }

    fn threads(&self) -> usize {
        self.batches.threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        self.batches.stored_bytes()
    }
}

impl TextSink for BatchWriter {
    fn append(&mut self, texts: &Texts) -> Result<()> {
        if self.pending.is_empty() && self.batches.is_last_short(BATCH_ROWS, BATCH_BYTES)? {
            self.reopen(u64::MAX)?;
        }
        for i in 0..texts.len() {
            self.pending.extend(texts, i..i + 1)?;
            if self.pending.len() >= BATCH_ROWS || self.pending.bytes.len() >= BATCH_BYTES {
                self.write_pending()?;
            }
        }
        Ok(())
    }

    fn overwrite(&mut self, position: u64, texts: &Texts) -> Result<()> {
        let mut done = 0;
        while done < texts.len() {
            let at = position + done as u64;
            if let Some(first) = at.checked_sub(self.batches.len()) {
                self.pending = replaced(&self.pending, first as usize, texts, done)?;
                return Ok(());
            }
            let (i, first) = self.batches.find(at);
            let batch = self.batches.batch(i)?;
            let n = (batch.len() - first).min(texts.len() - done);
            let mut part = Texts::new(u64::MAX);
            part.extend(texts, done..done + n)?;
            let new = replaced(&batch, first, &part, 0)?;
            self.batches.remove(i)?;
            self.batches.insert(i, &new)?;
            done += n;
        }
        Ok(())
    }

    fn truncate(&mut self, positions: u64) -> Result<()> {
        if let Some(pending) = positions.checked_sub(self.batches.len()) {
            self.pending.truncate(pending as usize);
            return Ok(());
        }
        self.pending = Texts::new(u64::MAX);
        while self.batches.len() > positions {
            let last = self.batches.count() - 1;
            let first = self.batches.start(last);
            match positions > first {
                true => return self.reopen(positions - first),
                false => self.batches.remove(last)?,
            }
        }
        Ok(())
    }

    fn prepare_commit(&mut self, _positions: u64) -> Result<Vec<&mut Frame>> {
        self.write_pending()?;
        self.batches.write_lengths()?;
        Ok(vec![self.batches.frame_mut()])
    }
}

/// Returns items of which those from `first` on are replaced by others, from `from` on.
fn replaced(items: &Texts, first: usize, others: &Texts, from: usize) -> Result<Texts> {
    let mut new = Texts::new(u64::MAX);
    let n = others.len() - from;
    new.extend(items, 0..first)?;
    new.extend(others, from..others.len())?;
    new.extend(items, first + n..items.len().max(first + n))?;
    Ok(new)
}
