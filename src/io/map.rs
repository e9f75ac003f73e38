//! A local file mapped into memory, on request only: if another process truncates the file, an
//! access ends this process with SIGBUS. Reading is therefore the default.
//!
//! The file is mapped when it has been read some times: a page fault takes several times as long as
//! a short read, so that a file which is opened for a few records is not mapped at all.
//!
//! Another process may write to the file at any time. Rust references and the inputs of C decoders
//! require bytes that do not change. The mapping is therefore never borrowed: reading copies from
//! it, and the copy is verified and decoded.
//!
//! Unsafe code: the calls that map and unmap, the copy out of the mapping, and a prefetch hint to
//! the processor.

use super::{AsOpened, File, file::LocalFile, map_heuristic::ReadCounts};
use crate::error::{Result, fail};
use crate::parallel::get_or_init;
use std::fs;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of reads by system calls before a file is mapped. They take about as long as it takes to
/// map a file, to access some pages, and to unmap it. Opening a bag takes four.
const READS_BEFORE: u32 = 16;

/// A file that is mapped when it has been read some times.
pub struct MappedFile {
    file: LocalFile,
    len: usize,
    /// Number of reads before the file was mapped.
    reads: AtomicU32,
    /// `None` inside if the system refuses to map the file; it is then read.
    mapping: OnceLock<Option<Mapping>>,
    read_counts: ReadCounts,
}

/// The mapping of a whole file.
struct Mapping {
    start: *const u8,
    len: usize,
}

// SAFETY: the mapping is read-only and lives as long as the value; no thread owns it.
unsafe impl Send for Mapping {}
// SAFETY: as above; all access is by shared reference.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &fs::File, len: usize) -> Option<Mapping> {
        if len == 0 {
            return None;
        }
        // SAFETY: creates a read-only mapping of an open file, at an address chosen by the system.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        (start != libc::MAP_FAILED).then_some(Mapping {
            start: start.cast(),
            len,
        })
    }

    /// Returns the address of `n` bytes at offset `at`, if all of them are mapped.
    #[inline]
    fn within(&self, at: u64, n: usize) -> Option<*const u8> {
        let at = usize::try_from(at).ok()?;
        (at <= self.len && n <= self.len - at).then(|| self.start.wrapping_add(at))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `new` mapped; no pointer into it outlives the value.
        unsafe { libc::munmap(self.start.cast_mut().cast(), self.len) };
    }
}

impl MappedFile {
    /// Prepares an open file to be mapped as a whole.
    pub fn new(file: LocalFile) -> Result<MappedFile> {
        let size = file.as_opened()?.size;
        let len = usize::try_from(size)
            .map_err(|_| fail!(Limit, "{}: {size} bytes cannot be mapped here", file.name()))?;
        Ok(MappedFile {
            file,
            len,
            reads: AtomicU32::new(0),
            mapping: OnceLock::new(),
            read_counts: ReadCounts::default(),
        })
    }

    /// Returns the mapping, unless a system call is to read the file.
    #[inline]
    fn mapping(&self) -> Option<&Mapping> {
        match self.mapping.get() {
            Some(mapping) => mapping.as_ref(),
            None => self.map_after_reads(),
        }
    }

    #[cold]
    fn map_after_reads(&self) -> Option<&Mapping> {
        if self.reads.fetch_add(1, Ordering::Relaxed) < READS_BEFORE {
            return None;
        }
        get_or_init(&self.mapping, || Mapping::new(&self.file.file, self.len)).as_ref()
    }
}

impl File for MappedFile {
    fn size(&self) -> Result<u64> {
        self.file.size()
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let mapped = self.mapping().and_then(|m| m.within(at, dst.len()));
        match mapped {
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

    fn is_cached(&self, at: u64) -> bool {
        self.file.is_cached(at)
    }

    fn begin_reading(&self, from: u64, to: u64) {
        self.file.begin_reading(from, to);
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

    fn as_opened(&self) -> Result<AsOpened> {
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
        let mapping = self.mapping.get().and_then(Option::as_ref);
        let Some(start) = mapping.and_then(|m| m.within(from, n)) else {
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
        let ranges = [
            (0, 5000, 5000),
            (0, 10, 10),
            (4990, 10, 10),
            (4990, 11, 10),
            (5000, 1, 0),
            (5001, 0, 0),
            (u64::MAX, 9, 0),
        ];
        // by system calls at first, then from the mapping
        let times = 2 * super::READS_BEFORE as usize;
        for (at, n, got) in ranges.into_iter().cycle().take(times * ranges.len()) {
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
