//! Reading ranges of files: in place if the file is in immutable memory, otherwise into scratch
//! buffers.
#![forbid(unsafe_code)]

use super::File;
use crate::alloc::{Bytes, Scratch};
use crate::error::Result;
use crate::slice::SliceExt;
use std::cell::{Cell, RefCell};

/// Returns `n` bytes of a file from offset `at`. All of them must exist.
pub fn read<'a>(file: &'a dyn File, at: u64, n: usize, limit: u64) -> Result<Bytes<'a>> {
    if let Some(bytes) = file
        .bytes()
        .and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..n))
    {
        return Ok(Bytes::InPlace(bytes));
    }
    let mut scratch = Scratch::new(n as u64, limit, "a part of a file")?;
    file.read_exact_at(at, &mut scratch)?;
    Ok(Bytes::Copied(scratch))
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

    /// Like the function [`read`].
    pub fn read(&self, at: u64, n: usize, limit: u64) -> Result<Bytes<'a>> {
        if n > READ_AHEAD || self.file.is_in_memory() {
            self.before.set(at.saturating_add(n as u64));
            return read(self.file, at, n, limit);
        }
        let mut scratch = Scratch::new(n as u64, limit, "a part of a file")?;
        self.read_at(at, &mut scratch)?;
        Ok(Bytes::Copied(scratch))
    }

    /// Fills `dst` from offset `at`.
    pub fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        let n = dst.len();
        let follows = at
            .checked_sub(self.before.replace(at.saturating_add(n as u64)))
            .is_some_and(|gap| gap < SHORT as u64);
        let longest = usize::try_from(self.end.saturating_sub(at))
            .unwrap_or(READ_AHEAD)
            .min(READ_AHEAD);
        // a file in memory needs no buffer
        if n > longest || self.file.is_in_memory() {
            return self.file.read_exact_at(at, dst);
        }
        let (begin, len, bytes) = &mut *self.last.borrow_mut();
        let skip = at
            .checked_sub(*begin)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|skip| skip.saturating_add(n) <= *len);
        let skip = match skip {
            Some(skip) => skip,
            None if n > SHORT || !follows => return self.file.read_exact_at(at, dst),
            None => {
                *len = 0;
                self.file.read_exact_at(at, bytes.at_mut(..longest)?)?;
                (*begin, *len) = (at, longest);
                0
            }
        };
        dst.copy_from_slice(bytes.at(skip..skip + n)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::fail;
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
                let got = reader.read(at, n, u64::MAX).map(|bytes| bytes.to_vec()).ok();
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
            let bytes = reader.read(at, 4, u64::MAX).unwrap();
            assert_eq!(bytes[..], file.0[at as usize..][..4]);
        }
        // the first range had no predecessor
        assert_eq!(file.1.load(Ordering::Relaxed), 2);
        let bytes = reader.read(8_998, 2, u64::MAX).unwrap();
        assert_eq!(bytes[..], file.0[8_998..9_000]);
        drop(bytes);
        assert_eq!(file.1.load(Ordering::Relaxed), 3);
    }
}
