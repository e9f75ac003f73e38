//! A local file mapped into memory, for those who ask for it: a file that is cut short by another
//! process then ends this one with SIGBUS, which is why reading is the default.
//!
//! Another process may write to the file at any time. Rust takes bytes behind a reference, and C
//! decoders take their input, for bytes that do not change while they look at them twice. So the
//! mapping is never lent: reading copies from it, and what is copied is then checked and decoded.
//!
//! Unsafe code: the two calls that map and unmap, the copy out of the mapping, and a hint to the
//! processor.

use super::{File, file::LocalFile, map_heuristic::Touched};
use crate::error::{Error, Result, fail};
use std::os::fd::AsRawFd;

/// A file and its mapping.
pub struct MappedFile {
    file: LocalFile,
    start: *const u8,
    len: usize,
    touched: Touched,
}

// SAFETY: the mapping is read-only and lives as long as the value; no thread owns it.
unsafe impl Send for MappedFile {}
// SAFETY: as above; all access is by shared reference.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps the whole file.
    pub fn new(file: LocalFile) -> Result<MappedFile> {
        let (size, _) = file.as_opened()?;
        let len = usize::try_from(size)
            .map_err(|_| fail!(Limit, "{}: {size} bytes cannot be mapped here", file.name()))?;
        if len == 0 {
            return Ok(MappedFile {
                file,
                start: std::ptr::NonNull::dangling().as_ptr(),
                len,
                touched: Touched::default(),
            });
        }
        // SAFETY: a new read-only mapping of a file that is open, at an address of the system's
        // choice.
        let p = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.file.as_raw_fd(),
                0,
            )
        };
        if p == libc::MAP_FAILED {
            return Err(Error::os(file.name(), &std::io::Error::last_os_error()));
        }
        Ok(MappedFile {
            file,
            start: p.cast(),
            len,
            touched: Touched::default(),
        })
    }

    /// Where `n` bytes from `at` on are, if all of them are mapped.
    #[inline]
    fn within(&self, at: u64, n: usize) -> Option<*const u8> {
        let at = usize::try_from(at).ok()?;
        (at <= self.len && n <= self.len - at).then(|| self.start.wrapping_add(at))
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: exactly what `new` mapped; no slice outlives the value.
            unsafe { libc::munmap(self.start.cast_mut().cast(), self.len) };
        }
    }
}

impl File for MappedFile {
    fn size(&self) -> Result<u64> {
        self.file.size()
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        match self.within(at, dst.len()) {
            Some(from) if !self.touched.read_rather(at, dst.len(), self.len) => {
                // SAFETY: so many bytes from there on are in the mapping, and `dst` is memory of
                // the caller's alone. Another process may write to them meanwhile:
                // no reference says that they stay as they are, and any bytes are fine.
                unsafe { std::ptr::copy_nonoverlapping(from, dst.as_mut_ptr(), dst.len()) };
                Ok(dst.len())
            }
            _ => self.file.read_at(at, dst),
        }
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(super::read_only(self.name()))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(super::read_only(self.name()))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        self.file.name()
    }

    fn identity(&self) -> u64 {
        self.file.identity()
    }

    fn modified(&self) -> Result<u64> {
        self.file.modified()
    }

    fn look(&self) -> Result<(u64, u64)> {
        self.file.look()
    }

    fn as_opened(&self) -> Result<(u64, u64)> {
        self.file.as_opened()
    }

    fn stamp(&self) -> Result<u64> {
        self.file.stamp()
    }

    fn prefetch(&self, from: u64, to: u64) {
        const LINE: usize = 64;
        // the first lines: the processor itself goes on from there
        const MOST: u64 = 8 * LINE as u64;
        let n = usize::try_from(to.saturating_sub(from).min(MOST)).unwrap_or_default();
        let Some(start) = self.within(from, n) else {
            return;
        };
        for line in (0..n).step_by(LINE) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a hint, on an address inside the mapping.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                    start.wrapping_add(line).cast(),
                )
            };
            #[cfg(not(target_arch = "x86_64"))]
            let _ = (start, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::io::{Access, file};
    use std::ffi::OsStr;

    #[test]
    fn a_mapping_is_copied_from_and_never_lent() {
        let name = format!("holdall-map-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        std::fs::write(&path, [7; 5000]).unwrap();
        let mapped = file::folder(std::env::temp_dir().as_os_str())
            .unwrap()
            .open(OsStr::new(&name), Access::Map)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(mapped.is_in_memory() && mapped.bytes().is_none());
        for (at, n, got) in [
            (0, 5000, 5000),
            (0, 10, 10),
            (4990, 10, 10),
            (4990, 11, 10),
            (5000, 1, 0),
            (5001, 0, 0),
            (u64::MAX, 9, 0),
        ] {
            let mut dst = vec![0; n];
            assert_eq!(mapped.read_at(at, &mut dst).ok(), Some(got), "{n} at {at}");
            assert!(
                dst.iter()
                    .enumerate()
                    .all(|(i, b)| *b == if i < got { 7 } else { 0 })
            );
        }
        for (from, to) in [
            (0, 5000),
            (4999, 5000),
            (5000, 6000),
            (9, 3),
            (u64::MAX, u64::MAX),
        ] {
            mapped.prefetch(from, to);
        }
    }
}
