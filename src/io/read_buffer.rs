//! Ranges of files, lent: from memory that nobody changes where the file is in that, or from a
//! buffer that each thread keeps.
#![forbid(unsafe_code)]

use super::File;
use crate::alloc;
use crate::error::{Result, fail};
use std::cell::{Cell, RefCell};

/// What a thread keeps.
const KEPT: usize = 8 << 20;
/// Buffers have so many bytes, or a multiple: one that is kept is of use for somewhat more, and
/// takes no more memory than it must.
const STEP: usize = 8 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// For what leads to other ranges, which are lent while it still is.
    static SMALL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with `n` bytes of a file from `at` on; they must all be there.
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

/// The same, once for all kinds of results.
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
    let kept = if n <= STEP { &SMALL } else { &BUFFER };
    let mut buffer = kept.take();
    if buffer.len() < n {
        // first given back, so that there are not two
        drop(buffer);
        buffer = alloc::zeroed(n.checked_next_multiple_of(STEP).unwrap_or(n))?;
    }
    let bytes = buffer.get_mut(..n).unwrap_or_default();
    let result = file.read_exact_at(at, bytes).and_then(|()| f(bytes));
    if buffer.len() <= KEPT {
        kept.set(buffer);
    }
    result
}

/// What is read at once of ranges near each other, and how long one is at most that brings what is
/// behind it.
const NEAR: usize = 1 << 10;
const SHORT: usize = NEAR / 4;

/// Lends ranges of one file, one behind the other: with a short one that follows the one before
/// closely comes what is behind it, so that the system is asked once for many.
pub struct Near<'a> {
    file: &'a dyn File,
    /// Nothing is wanted from here on.
    end: u64,
    /// Where what was read last begins, how long it is, and it.
    last: RefCell<(u64, usize, [u8; NEAR])>,
    /// Where the range before ended.
    before: Cell<u64>,
}

impl<'a> Near<'a> {
    /// Of a file, of which nothing is read from `end` on.
    pub fn new(file: &'a dyn File, end: u64) -> Near<'a> {
        Near {
            file,
            end,
            last: RefCell::new((0, 0, [0; NEAR])),
            before: Cell::new(u64::MAX),
        }
    }

    /// As [`with_range`].
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
            .unwrap_or(NEAR)
            .min(NEAR);
        // what is in memory needs no other place, and a range may be asked for while another one is
        // lent
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

    /// A file that lends nothing, and counts how often it is read.
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
        fn ranges_are_those_of_the_file(all in prop::collection::vec((0..11_000u64, 0..2 * NEAR), 1..30), end in 0..12_000u64) {
            let file = counted();
            let near = Near::new(&file, end);
            for (at, n) in all {
                // nothing is there everywhere, behind the end too
                let want = if n == 0 { Some(&[][..]) } else { file.0.get(at as usize..at as usize + n) };
                let got = near.with_range(at, n, u64::MAX, |bytes| Ok(bytes.to_vec())).ok();
                // what may be read must be there, and what is there is what the file has
                prop_assert!(got.is_none() || got.as_deref() == want);
                prop_assert!(got.is_some() || want.is_none() || end > 10_000);
            }
        }
    }

    #[test]
    fn short_ranges_behind_each_other_are_read_at_once() {
        let file = counted();
        let near = Near::new(&file, 9_000);
        for at in (100..104 + NEAR as u64).step_by(4) {
            near.with_range(at, 4, u64::MAX, |bytes| {
                assert_eq!(bytes, &file.0[at as usize..][..4]);
                Ok(())
            })
            .unwrap();
        }
        // the first one followed none
        assert_eq!(file.1.load(Ordering::Relaxed), 2);
        near.with_range(8_998, 2, u64::MAX, |bytes| {
            assert_eq!(bytes, &file.0[8_998..9_000]);
            Ok(())
        })
        .unwrap();
        assert_eq!(file.1.load(Ordering::Relaxed), 3);
    }
}
