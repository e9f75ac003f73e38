//! A local file mapped into memory, for those who ask for it: a file that is cut short by another
//! process then ends this one with SIGBUS, which is why reading is the default.
//!
//! Unsafe code: the two calls that map and unmap, the slice over the mapping, and a hint to the processor.

use super::{File, file::LocalFile, touched::Touched};
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
        let len = usize::try_from(size).map_err(|_| fail!(Limit, "{}: {size} bytes cannot be mapped here", file.name()))?;
        if len == 0 {
            return Ok(MappedFile { file, start: std::ptr::NonNull::dangling().as_ptr(), len, touched: Touched::default() });
        }
        // SAFETY: a new read-only mapping of a file that is open, at an address of the system's choice.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.file.as_raw_fd(), 0) };
        if p == libc::MAP_FAILED {
            return Err(Error::os(file.name(), &std::io::Error::last_os_error()));
        }
        Ok(MappedFile { file, start: p.cast(), len, touched: Touched::default() })
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
        let mapped = self.bytes().and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..dst.len()));
        match mapped.filter(|b| !self.touched.read_rather(at, b.len(), self.len)) {
            Some(b) => {
                dst.copy_from_slice(b);
                Ok(b.len())
            }
            None => self.file.read_at(at, dst),
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

    fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: mapped for reading as long as `self` lives. Another process may change the bytes under
        // us: every value read from them is checked after it was copied out, and the caller was told.
        Some(unsafe { std::slice::from_raw_parts(self.start, self.len) })
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
        let wanted = self.bytes().and_then(|b| b.get(usize::try_from(from).ok()?..usize::try_from(to.min(from.saturating_add(MOST))).ok()?));
        for line in wanted.unwrap_or_default().chunks(LINE) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a hint, on an address inside the mapping.
            unsafe {
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast())
            };
            #[cfg(not(target_arch = "x86_64"))]
            let _ = line;
        }
    }
}
