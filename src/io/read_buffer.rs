//! Reusable read buffers: ranges of files are borrowed from immutable memory if the file is in
//! memory, otherwise from a per-thread buffer.
#![forbid(unsafe_code)]

use super::File;
use crate::alloc;
use crate::error::{Result, fail};
use std::cell::{Cell, RefCell};

/// Largest buffer that a thread retains.
const MAX_RETAINED: usize = 8 << 20;
/// Buffer sizes are multiples of this, so that a retained buffer fits slightly longer ranges
/// without much excess memory.
const STEP: usize = 8 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// For short ranges that refer to other ranges, which are read while the short one is borrowed.
    static SMALL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with `n` bytes of a file from offset `at`. All of them must exist.
pub fn with_range<R>(
    file: &dyn File,
    at: u64,
    n: usize,
    limit: u64,
    f: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    let (mut f, mut result) = (Some(f), None);
    range(file, at, n, limit, &mut |bytes| {
        result = f.take().map(|f| f(bytes));
        Ok(())
    })?;
    result.unwrap_or_else(|| Err(fail!(State, "{}: nothing was read", file.name())))
}

/// Non-generic part of `with_range`, compiled once.
fn range(
    file: &dyn File,
    at: u64,
    n: usize,
    limit: u64,
    f: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if let Some(bytes) = file
        .bytes()
        .and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..n))
    {
        return f(bytes);
    }
    alloc::allow(n as u64, limit, "a part of a file")?;
    let buffers = if n <= STEP { &SMALL } else { &BUFFER };
    let mut buffer = buffers.take();
    if buffer.len() < n {
        // frees the old buffer first, so that two are never allocated
        drop(buffer);
        buffer = alloc::zeroed(n.checked_next_multiple_of(STEP).unwrap_or(n))?;
    }
    let bytes = buffer.get_mut(..n).unwrap_or_default();
    let result = file.read_exact_at(at, bytes).and_then(|()| f(bytes));
    if buffer.len() <= MAX_RETAINED {
        buffers.set(buffer);
    }
    result
}

/// Bytes read at once by [`SequentialReader`], and the longest range that triggers read-ahead.
const READ_AHEAD: usize = 1 << 10;
const SHORT: usize = READ_AHEAD / 4;

/// Reads ranges of one file in ascending order. A short range close to the previous one triggers
/// read-ahead, so that one system call serves several ranges.
pub struct SequentialReader<'a> {
    file: &'a dyn File,
    /// No range beyond this offset is read.
    end: u64,
    /// The last read: its offset, its length, its bytes.
    last: RefCell<(u64, usize, [u8; READ_AHEAD])>,
    /// End of the previous range.
    before: Cell<u64>,
}

impl<'a> SequentialReader<'a> {
    /// Creates a reader of a file that never reads beyond `end`.
    pub fn new(file: &'a dyn File, end: u64) -> SequentialReader<'a> {
        SequentialReader {
            file,
            end,
            last: RefCell::new((0, 0, [0; READ_AHEAD])),
            before: Cell::new(u64::MAX),
        }
    }

    /// Like the function [`with_range`].
    pub fn with_range<R>(
        &self,
        at: u64,
        n: usize,
        limit: u64,
        f: impl FnOnce(&[u8]) -> Result<R>,
    ) -> Result<R> {
        let follows = at
            .checked_sub(self.before.replace(at.saturating_add(n as u64)))
            .is_some_and(|gap| gap < SHORT as u64);
        let longest = usize::try_from(self.end.saturating_sub(at))
            .unwrap_or(READ_AHEAD)
            .min(READ_AHEAD);
        // a file in memory needs no buffer; the buffer may be in use, because a range may be
        // requested while another one is borrowed
        let Ok(mut last) = self.last.try_borrow_mut() else {
            return with_range(self.file, at, n, limit, f);
        };
        if n > longest || self.file.is_in_memory() {
            return with_range(self.file, at, n, limit, f);
        }
        let (begin, len, bytes) = &mut *last;
        let skip = at
            .checked_sub(*begin)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|skip| skip.saturating_add(n) <= *len);
        let skip = match skip {
            Some(skip) => skip,
            None if n > SHORT || !follows => return with_range(self.file, at, n, limit, f),
            None => {
                *len = 0;
                self.file
                    .read_exact_at(at, bytes.get_mut(..longest).unwrap_or_default())?;
                (*begin, *len) = (at, longest);
                0
            }
        };
        f(bytes
            .get(skip..)
            .and_then(|b| b.get(..n))
            .unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A file that is not in memory and counts its reads.
    struct Counted(Vec<u8>, AtomicUsize);

    impl File for Counted {
        fn size(&self) -> Result<u64> {
            Ok(self.0.len() as u64)
        }
        fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let there = self.0.get(at as usize..).unwrap_or_default();
            let n = there.len().min(dst.len());
            dst[..n].copy_from_slice(&there[..n]);
            Ok(n)
        }
        fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
            Err(fail!(State, "read only"))
        }
        fn set_size(&self, _: u64) -> Result<()> {
            Err(fail!(State, "read only"))
        }
        fn sync(&self) -> Result<()> {
            Ok(())
        }
        fn name(&self) -> &str {
            "counted"
        }
    }

    fn counted() -> Counted {
        Counted(
            (0..10_000u32).map(|i| (i * i / 7) as u8).collect(),
            AtomicUsize::new(0),
        )
    }

    proptest! {
        #[test]
        fn ranges_equal_the_bytes_of_the_file(all in prop::collection::vec((0..11_000u64, 0..2 * READ_AHEAD), 1..30), end in 0..12_000u64) {
            let file = counted();
            let reader = SequentialReader::new(&file, end);
            for (at, n) in all {
                // an empty range exists at any offset, also beyond the end
                let expected = if n == 0 { Some(&[][..]) } else { file.0.get(at as usize..at as usize + n) };
                let got = reader.with_range(at, n, u64::MAX, |bytes| Ok(bytes.to_vec())).ok();
                // a range equals the file's bytes or is refused; an existing one is refused only if
                // `end` lies beyond the file
                prop_assert!(got.is_none() || got.as_deref() == expected);
                prop_assert!(got.is_some() || expected.is_none() || end > 10_000);
            }
        }
    }

    #[test]
    fn consecutive_short_ranges_are_read_at_once() {
        let file = counted();
        let reader = SequentialReader::new(&file, 9_000);
        for at in (100..104 + READ_AHEAD as u64).step_by(4) {
            reader
                .with_range(at, 4, u64::MAX, |bytes| {
                    assert_eq!(bytes, &file.0[at as usize..][..4]);
                    Ok(())
                })
                .unwrap();
        }
        // the first range had no predecessor
        assert_eq!(file.1.load(Ordering::Relaxed), 2);
        reader
            .with_range(8_998, 2, u64::MAX, |bytes| {
                assert_eq!(bytes, &file.0[8_998..9_000]);
                Ok(())
            })
            .unwrap();
        assert_eq!(file.1.load(Ordering::Relaxed), 3);
    }
}
