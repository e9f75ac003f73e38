//! Ranges of files, lent: from the memory where the file is, or from a buffer that each thread keeps.
#![forbid(unsafe_code)]

use super::File;
use crate::error::{Result, fail};
use crate::memory;
use std::cell::RefCell;

/// What a thread keeps.
const KEPT: usize = 8 << 20;
/// Buffers have so many bytes, or a multiple: one that is kept is of use for somewhat more, and takes no more memory than it must.
const STEP: usize = 8 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// For what leads to other ranges, which are lent while it still is.
    static SMALL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with `n` bytes of a file from `at` on; they must all be there.
pub fn with_range<R>(file: &dyn File, at: u64, n: usize, limit: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
    let (mut f, mut result) = (Some(f), None);
    range(file, at, n, limit, &mut |bytes| {
        result = f.take().map(|f| f(bytes));
        Ok(())
    })?;
    result.unwrap_or_else(|| Err(fail!(State, "{}: nothing was read", file.name())))
}

/// The same, once for all kinds of results.
fn range(file: &dyn File, at: u64, n: usize, limit: u64, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if let Some(bytes) = file.bytes().and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..n)) {
        return f(bytes);
    }
    memory::allow(n as u64, limit, "a part of a file")?;
    let kept = if n <= STEP { &SMALL } else { &BUFFER };
    let mut buffer = kept.take();
    if buffer.len() < n {
        // first given back, so that there are not two
        drop(buffer);
        buffer = memory::zeroed(n.checked_next_multiple_of(STEP).unwrap_or(n))?;
    }
    let bytes = buffer.get_mut(..n).unwrap_or_default();
    let result = file.read_exact_at(at, bytes).and_then(|()| f(bytes));
    if buffer.len() <= KEPT {
        kept.set(buffer);
    }
    result
}
