//! A file of the caller's functions.
#![forbid(unsafe_code)]

use super::found::FoundFile;
use super::{FunctionRange, Functions, refused, shown};
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::io::recent_reads::RecentReads;
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file of the caller's functions.
pub struct FunctionsFile {
    functions: Arc<dyn Functions>,
    name: OsString,
    shown: String,
    /// Set for reading if the functions read several ranges at once.
    remote: Option<Remote>,
}

/// What is known of a file without a call of the functions.
struct Remote {
    /// The size that the last call has found.
    size: AtomicU64,
    recent: Arc<RecentReads>,
    /// Why the last call failed; the next read reports it.
    failed: Mutex<Option<Error>>,
}

impl FunctionsFile {
    /// Creates a file of this name, whether it exists or not.
    pub fn new(functions: &Arc<dyn Functions>, name: &OsStr) -> FunctionsFile {
        FunctionsFile {
            functions: functions.clone(),
            name: name.into(),
            shown: shown(name),
            remote: None,
        }
    }

    /// Makes the file one that is read by few calls, beginning with what one has found.
    pub fn begin_fetching(&mut self, found: FoundFile) {
        self.remote = Some(Remote {
            size: AtomicU64::new(found.size),
            recent: found.content,
            failed: Mutex::default(),
        });
    }

    fn range<'a>(&'a self, at: u64, dst: &'a mut [u8]) -> FunctionRange<'a> {
        FunctionRange::new(&self.name, i64::try_from(at).unwrap_or(i64::MAX), dst)
    }
}

impl Remote {
    fn failed(&self) -> MutexGuard<'_, Option<Error>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads ranges, and notes the size of the file, so that a change is seen. Returns how many bytes
    /// the file has of each.
    fn read(&self, file: &FunctionsFile, ranges: &mut [FunctionRange<'_>]) -> Result<Vec<usize>> {
        let refused = |r| refused("read_ranges", &file.shown, r);
        file.functions.read_ranges(ranges).map_err(refused)?;
        let found = ranges.iter().map(|range| {
            let size = range.size.map_err(refused)?;
            self.size.store(size, Ordering::Relaxed);
            Ok(range.found(size).1)
        });
        found.collect()
    }

    /// Reads a range that is not cached.
    fn read_one(&self, file: &FunctionsFile, at: u64, dst: &mut [u8]) -> Result<usize> {
        if let Some(failure) = self.failed().take() {
            return Err(failure);
        }
        let found = self.read(file, &mut [file.range(at, dst)])?;
        Ok(found.first().copied().unwrap_or_default())
    }

    /// Reads the parts of ranges that are not cached into the cache.
    fn fetch(&self, file: &FunctionsFile, requested: &[Range<u64>]) -> Result<()> {
        let size = self.size.load(Ordering::Relaxed);
        let mut missing = Vec::new();
        for range in self.recent.missing(requested, size) {
            let n = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            missing.push((range.start, alloc::zeroed(n)?));
        }
        if missing.is_empty() {
            return Ok(());
        }
        let ranges = missing.iter_mut().map(|(at, dst)| file.range(*at, dst));
        let found = self.read(file, &mut ranges.collect::<Vec<_>>())?;
        for ((at, mut bytes), n) in missing.into_iter().zip(found) {
            bytes.truncate(n);
            self.recent.insert(at, bytes);
        }
        Ok(())
    }
}

impl File for FunctionsFile {
    fn size(&self) -> Result<u64> {
        if let Some(remote) = &self.remote {
            return Ok(remote.size.load(Ordering::Relaxed));
        }
        self.functions
            .size(&self.name)
            .map_err(|r| refused("size", &self.shown, r))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let remote = self.remote.as_ref();
        let done = remote.map_or(0, |remote| remote.recent.copy(at, dst));
        let (at, dst) = (at.saturating_add(done as u64), dst.at_mut(done..)?);
        if dst.is_empty() {
            return Ok(done);
        }
        if let Some(remote) = remote {
            return remote.read_one(self, at, dst).map(|n| done + n);
        }
        let n = self
            .functions
            .read_at(&self.name, at, dst)
            .map_err(|r| refused("read_at", &self.shown, r))?;
        usize::try_from(n)
            .ok()
            .filter(|&n| n <= dst.len())
            .ok_or_else(|| {
                fail!(
                    Callback,
                    "{}: the caller's read_at returned an invalid length (expected at most {}, found {n})",
                    self.shown,
                    dst.len()
                )
            })
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.functions
            .write_at(&self.name, at, src)
            .map_err(|r| refused("write_at", &self.shown, r))
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.functions
            .truncate(&self.name, size)
            .map_err(|r| refused("truncate", &self.shown, r))
    }

    fn sync(&self) -> Result<()> {
        self.functions
            .sync(&self.name)
            .map_err(|r| refused("sync", &self.shown, r))
    }

    fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    fn fetch(&self, ranges: &[Range<u64>]) {
        if let Some(remote) = &self.remote {
            let failure = remote.fetch(self, ranges).err();
            *remote.failed() = failure;
        }
    }

    fn name(&self) -> &str {
        &self.shown
    }

    fn is_foreign(&self) -> bool {
        true
    }
}
