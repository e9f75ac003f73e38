//! A local file mapped into memory, on request only: if another process truncates the file, an
//! access ends this process with SIGBUS. Reading is therefore the default.
//!
//! Another process may write to the file at any time. Rust references and the inputs of C decoders
//! require bytes that do not change. The mapping is therefore never borrowed: reading copies from
//! it, and the copy is verified and decoded.
//!
//! Unsafe code: the calls that map and unmap, the copy out of the mapping, and a prefetch hint to
//! the processor.

use super::{File, file::LocalFile, map_heuristic::ReadCounts};
use crate::error::{Error, Result, fail};
use std::os::fd::AsRawFd;

/// A file and its mapping.
pub struct MappedFile {
    file: LocalFile,
    start: *const u8,
    len: usize,
    read_counts: ReadCounts,
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
                read_counts: ReadCounts::default(),
            });
        }
        // SAFETY: creates a read-only mapping of an open file, at an address chosen by the system.
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
            read_counts: ReadCounts::default(),
        })
    }

    /// Returns the address of `n` bytes at offset `at`, if all of them are mapped.
    #[inline]
    fn within(&self, at: u64, n: usize) -> Option<*const u8> {
        let at = usize::try_from(at).ok()?;
        (at <= self.len && n <= self.len - at).then(|| self.start.wrapping_add(at))
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: unmaps exactly what `new` mapped; no pointer into it outlives the value.
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
            Some(from) if !self.read_counts.prefers_read(at, dst.len(), self.len) => {
                // SAFETY: the mapping contains `dst.len()` bytes from there on, and `dst` is
                // exclusively borrowed. Another process may write to the mapping meanwhile; no
                // reference to it exists, and any byte value is valid.
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

    fn size_and_modified(&self) -> Result<(u64, u64)> {
        self.file.size_and_modified()
    }

    fn as_opened(&self) -> Result<(u64, u64)> {
        self.file.as_opened()
    }

    fn stamp(&self) -> Result<u64> {
        self.file.stamp()
    }

    fn prefetch(&self, from: u64, to: u64) {
        const LINE: usize = 64;
        // the first cache lines: the processor prefetches the following ones
        const MAX_BYTES: u64 = 8 * LINE as u64;
        let n = to.saturating_sub(from).min(MAX_BYTES) as usize;
        let Some(start) = self.within(from, n) else {
            return;
        };
        for line in (0..n).step_by(LINE) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a prefetch hint, on an address inside the mapping.
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
    fn a_mapping_is_copied_and_never_borrowed() {
        let name = format!("holdall-map-{}", std::process::id());
        let path = std::env::temp_dir().join(&name);
        std::fs::write(&path, [7; 5000]).unwrap();
        let mapped = file::folder(std::env::temp_dir().as_os_str(), false)
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
