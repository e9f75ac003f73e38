//! The content of an array: the bytes of its store, followed by zeros or the fill value for items
//! that were never written.
//!
//! Creating or growing an array does not write chunks for the new items. An array that is written
//! sequentially from start to end therefore never stores those zeros.
#![forbid(unsafe_code)]

use super::store::{Store, repeat};
use crate::alloc;
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Splice;
use std::ops::Range;

/// Number of bytes per append when missing content is filled.
const FILL_STEP: u64 = 64 << 10;

/// The content of one array: a store and the length that the array requires.
pub struct FilledContent {
    /// The bytes that are stored. May be shorter than the content.
    pub store: Box<dyn Store>,
    len: u64,
    /// The store has lost chunks at its end. Their content reads as the fill value.
    truncated: bool,
    memory_limit: u64,
}

impl FilledContent {
    /// Wraps a store. FilledContent from the end of the store up to `len` bytes was never written, or is
    /// lost, and reads as the fill value.
    pub fn new(store: Box<dyn Store>, len: u64, memory_limit: u64) -> FilledContent {
        let truncated = store.is_truncation_of(len);
        FilledContent {
            store,
            len,
            truncated,
            memory_limit,
        }
    }

    /// Returns an error if the store has lost chunks, so that a commit never turns them into zeros.
    pub fn refuse_truncated(&self) -> Result<()> {
        match self.truncated {
            true => Err(fail!(
                State,
                "{}: chunks are missing at the end; repair the file first",
                self.store.name()
            )),
            false => Ok(()),
        }
    }

    /// Returns the memory limit in bytes for allocations whose size comes from the file.
    pub fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// Returns the length in bytes.
    pub fn nbytes(&self) -> u64 {
        self.len
    }

    /// Returns the content range of the chunk that holds, or will hold, byte `at`.
    pub(super) fn span(&self, at: u64) -> Range<u64> {
        let span = self.store.chunk_span(at);
        span.start..span.end.min(self.len).max(at.saturating_add(1))
    }

    // ---- byte ranges

    /// Reads a range. Returns `true` if some of it was corrupt and reads as zeros, as the options
    /// requested.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        self.check(at, dst.len())?;
        let stored_len = self.store.nbytes().saturating_sub(at).min(dst.len() as u64) as usize;
        let (stored, zeros) = dst.cut_mut(stored_len)?;
        if !zeros.is_empty() {
            repeat(self.store.fill()?, at + stored_len as u64, zeros);
        }
        let lost = self.truncated && !zeros.is_empty();
        if stored.is_empty() {
            Ok(lost)
        } else {
            Ok(self.store.read(at, stored)? | lost)
        }
    }

    /// Writes a range. On failure, part of the range may be written.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        self.check(at, src.len())?;
        if at > self.store.nbytes() {
            self.fill(at)?;
        }
        let stored_len = (self.store.nbytes() - at).min(src.len() as u64) as usize;
        let (overwritten, after) = src.cut(stored_len)?;
        self.store.write(at, overwritten)?;
        self.store.append(after)
    }

    /// Appends content of another array as it is stored, as far as this is possible. Returns the
    /// number of bytes.
    pub fn append_stored(&mut self, from: &FilledContent) -> Result<u64> {
        if self.store.nbytes() != self.len {
            return Ok(0);
        }
        let before = self.len;
        let appended = self.store.append_stored(&*from.store);
        // also if only a part was appended
        self.len = self.store.nbytes();
        appended.map(|_| self.len - before)
    }

    fn check(&self, at: u64, n: usize) -> Result<()> {
        match at.checked_add(n as u64) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(fail!(
                Range,
                "{}: {n} bytes at offset {at} exceed the content of {} bytes",
                self.store.name(),
                self.len
            )),
        }
    }

    /// Sets the length. Truncates the content or grows it with zeros or the fill value.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        // Fails if the handle is read-only.
        self.store.append(&[])?;
        self.truncate_store()?;
        let old = std::mem::replace(&mut self.len, len);
        self.truncate_store().inspect_err(|_| self.len = old)
    }

    /// Inserts and removes bytes, and shifts the bytes after them. On failure, the content is
    /// unchanged.
    pub fn splice(&mut self, splice: &Splice<'_>) -> Result<()> {
        // Fails if the handle is read-only.
        self.store.append(&[])?;
        if splice.src.is_empty() && (splice.gone == 0 || splice.times == 0) {
            return Ok(());
        }
        let (more, less) = (
            splice.src.len() as u64,
            splice.gone.saturating_mul(splice.times),
        );
        let len = self
            .len
            .checked_add(more)
            .and_then(|n| n.checked_sub(less))
            .ok_or_else(|| fail!(Argument, "the content would exceed 2^64 bytes"))?;
        self.flush()?;
        // If an append fails, the bytes that it added lie beyond `len` and are truncated later.
        if splice.at < self.store.nbytes() {
            self.store.splice(splice)?
        } else {
            self.store.append(splice.src)?
        }
        self.len = len;
        Ok(())
    }

    /// Allocates `n` zero bytes, within the memory limit.
    pub fn zeros(&self, n: u64) -> Result<Vec<u8>> {
        alloc::zeroed(self.allow(n)?)
    }

    /// Returns an error if inserted data of `n` bytes exceeds the memory limit.
    pub fn allow(&self, n: u64) -> Result<usize> {
        alloc::allow(n, self.memory_limit, "inserted data")
    }

    fn truncate_store(&mut self) -> Result<()> {
        if self.store.nbytes() > self.len {
            self.store.truncate(self.len)
        } else {
            Ok(())
        }
    }

    /// Truncates or fills the store so that its length equals the length of the content.
    pub fn flush(&mut self) -> Result<()> {
        self.truncate_store()?;
        self.fill(self.len)
    }

    fn fill(&mut self, to: u64) -> Result<()> {
        let missing = to.saturating_sub(self.store.nbytes());
        let mut fill = alloc::zeroed(missing.min(FILL_STEP) as usize)?;
        while let Some(n) = to.checked_sub(self.store.nbytes()).filter(|n| *n > 0) {
            let part = fill.at_mut(..n.min(FILL_STEP) as usize)?;
            repeat(self.store.fill()?, self.store.nbytes(), part);
            self.store.append(part)?;
        }
        Ok(())
    }
}
