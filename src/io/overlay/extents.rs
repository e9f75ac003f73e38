//! The content of changed files: ranges of one scratch file.
#![forbid(unsafe_code)]

use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::os;
use crate::slice::SliceExt;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::lock;

/// Bit set in the identity of files that exist in an overlay only.
pub const NEW: u64 = 1 << 63;

/// What the overlays of one dry run, or of one commit, share: the scratch file, and the identities
/// of new files.
pub struct ScratchSpace {
    /// The scratch file is created on the file system of this folder, if possible.
    folder: PathBuf,
    scratch: Mutex<Option<Arc<Scratch>>>,
    numbers: AtomicU64,
}

/// The file that holds the written bytes.
pub struct Scratch {
    file: fs::File,
    end: AtomicU64,
}

impl ScratchSpace {
    /// Creates a space without a scratch file, which the first change creates.
    pub fn new(folder: &Path) -> ScratchSpace {
        ScratchSpace {
            folder: folder.into(),
            scratch: Mutex::default(),
            numbers: AtomicU64::new(NEW),
        }
    }

    /// Returns the scratch file.
    pub fn scratch(&self) -> Result<Arc<Scratch>> {
        let mut scratch = lock(&self.scratch);
        if let Some(scratch) = &*scratch {
            return Ok(scratch.clone());
        }
        let file = os::create_unnamed(&self.folder).map_err(|e| Error::os(SCRATCH, &e))?;
        Ok(scratch
            .insert(Arc::new(Scratch {
                file,
                end: AtomicU64::new(0),
            }))
            .clone())
    }

    /// Returns the identity of another new file.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Gives the scratch file up: nothing in it is used any more.
    pub fn clear(&self) {
        *lock(&self.scratch) = None;
    }
}

/// The name of the scratch file for messages.
const SCRATCH: &str = "the scratch file of changes that are not committed";

impl Scratch {
    fn failed(&self, e: &std::io::Error) -> Error {
        Error::os(SCRATCH, e)
    }

    fn write(&self, at: u64, src: &[u8]) -> Result<()> {
        os::write_all_at(&self.file, src, at).map_err(|e| self.failed(&e))
    }

    fn read(&self, mut at: u64, mut dst: &mut [u8]) -> Result<()> {
        while !dst.is_empty() {
            let n = os::read_at(&self.file, dst, at).map_err(|e| self.failed(&e))?;
            if n == 0 {
                return Err(fail!(Io, "{SCRATCH}: it was truncated"));
            }
            (at, dst) = (at + n as u64, dst.at_mut(n..)?);
        }
        Ok(())
    }
}

/// The state of a changed file.
pub struct Changed {
    pub size: u64,
    /// Length of the prefix of the real file that is visible where nothing was overwritten.
    pub base: u64,
    /// Written ranges, without overlap: offset to length and offset in the scratch file.
    pub extents: BTreeMap<u64, (u64, u64)>,
    /// Number of changes.
    pub changes: u64,
    /// Length and change stamp of the real file before the first change.
    pub found: (u64, u64),
    /// The scratch file that has the written ranges; none before the first.
    scratch: Option<Arc<Scratch>>,
}

impl Changed {
    /// Returns the state of a file whose content is that of a real file with this length and stamp.
    pub fn of(found: (u64, u64)) -> Changed {
        let base = found.0;
        Changed {
            found,
            size: base,
            base,
            extents: BTreeMap::new(),
            changes: 0,
            scratch: None,
        }
    }

    /// Returns what a file that has the first bytes of this one leaves out: what its writer has not
    /// committed.
    pub fn after(mut self, file: &dyn File) -> Option<Changed> {
        let (size, stamp) = (file.size().ok()?, file.stamp().ok()?);
        self.remove(0, size);
        (self.base, self.found) = (size, (size, stamp));
        (self.size > size).then_some(self)
    }

    /// Removes a range from the extents.
    pub fn remove(&mut self, from: u64, to: u64) {
        let begun: Vec<_> = self
            .extents
            .range(..to)
            .rev()
            .map(|(at, e)| (*at, *e))
            .take_while(|(at, (n, _))| at + n > from)
            .collect();
        for (at, (n, scratch)) in begun {
            self.extents.remove(&at);
            if at < from {
                self.extents.insert(at, (from - at, scratch));
            }
            if at + n > to {
                self.extents.insert(to, (at + n - to, scratch + (to - at)));
            }
        }
    }

    /// Returns the last extent that starts at or before `at`.
    fn last(&self, at: u64) -> Option<(u64, u64, u64)> {
        self.extents
            .range(..=at)
            .next_back()
            .map(|(from, (n, scratch))| (*from, *n, *scratch))
    }

    /// Returns the scratch file of this file. It stays the same when that of the space is given up.
    fn scratch_of(&mut self, space: &ScratchSpace) -> Result<Arc<Scratch>> {
        if let Some(scratch) = &self.scratch {
            return Ok(scratch.clone());
        }
        let scratch = space.scratch()?;
        Ok(self.scratch.insert(scratch).clone())
    }

    /// Reads bytes that were written, from an offset of the scratch file.
    pub fn read_written(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        match &self.scratch {
            Some(scratch) => scratch.read(at, dst),
            None => Err(fail!(State, "{SCRATCH}: nothing was written")),
        }
    }

    /// Writes bytes at an offset.
    pub fn write(&mut self, at: u64, src: &[u8], space: &ScratchSpace) -> Result<()> {
        let scratch = self.scratch_of(space)?;
        let n = src.len() as u64;
        let Some(end) = at.checked_add(n).filter(|end| *end <= i64::MAX as u64) else {
            return Err(fail!(
                Limit,
                "{n} bytes at {at} exceed the maximum length of a file"
            ));
        };
        match self.last(at) {
            Some((from, len, to)) if end <= from + len => scratch.write(to + (at - from), src)?,
            _ => {
                let to = scratch.end.fetch_add(n, Ordering::Relaxed);
                scratch.write(to, src)?;
                self.remove(at, end);
                match self.last(at) {
                    Some((from, len, before)) if from + len == at && before + len == to => {
                        _ = self.extents.insert(from, (len + n, before))
                    }
                    _ => _ = self.extents.insert(at, (n, to)),
                }
            }
        }
        self.size = self.size.max(end);
        Ok(())
    }

    /// Reads bytes from an offset. Returns how many, fewer only at the end.
    pub fn read(&self, at: u64, dst: &mut [u8], base: Option<&dyn File>) -> Result<usize> {
        let end = self.size.min(at.saturating_add(dst.len() as u64));
        let n = end.saturating_sub(at) as usize;
        let dst = dst.at_mut(..n)?;
        dst.fill(0);
        let visible = self.base.min(end).saturating_sub(at) as usize;
        if let (Some(base), Some(part)) =
            (base, dst.get_mut(..visible).filter(|part| !part.is_empty()))
        {
            base.read_exact_at(at, part)?;
        }
        let over: Vec<_> = self
            .extents
            .range(..end)
            .rev()
            .take_while(|(from, (n, _))| *from + n > at)
            .collect();
        if over.is_empty() {
            return Ok(n);
        }
        for (from, (n, to)) in over {
            let (begin, stop) = (at.max(*from), end.min(from + n));
            let part = dst.at_mut((begin - at) as usize..(stop - at) as usize)?;
            self.read_written(to + (begin - from), part)?;
        }
        Ok(n)
    }
}
