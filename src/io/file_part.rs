//! A range of a file as a read-only file: a member of an archive, for example.
#![forbid(unsafe_code)]

use super::{File, read_only};
use crate::error::Result;
use crate::slice::SliceExt;
use std::ops::Range;
use std::sync::Arc;

/// A range of another file.
pub struct FilePart {
    file: Arc<dyn File>,
    name: String,
    range: Range<u64>,
}

impl FilePart {
    /// Creates the file of a range. `name` is for messages.
    pub fn new(file: Arc<dyn File>, name: String, range: Range<u64>) -> FilePart {
        FilePart { file, name, range }
    }

    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns the range of the whole file that belongs to a range of the part.
    fn outer(&self, from: u64, to: u64) -> Range<u64> {
        let outer = |at: u64| self.range.start + at.min(self.len());
        outer(from)..outer(to)
    }
}

impl File for FilePart {
    fn size(&self) -> Result<u64> {
        Ok(self.len())
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let range = self.outer(at, at.saturating_add(dst.len() as u64));
        let n = (range.end - range.start) as usize;
        self.file.read_at(range.start, dst.at_mut(..n)?)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(read_only(&self.name))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(read_only(&self.name))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn bytes(&self) -> Option<&[u8]> {
        let at = |n: u64| usize::try_from(n).ok();
        self.file
            .bytes()?
            .get(at(self.range.start)?..at(self.range.end)?)
    }

    fn is_in_memory(&self) -> bool {
        self.file.is_in_memory()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> u64 {
        self.range.start
    }

    fn stamp(&self) -> Result<u64> {
        self.file.stamp()
    }

    fn modified(&self) -> Result<u64> {
        self.file.modified()
    }

    fn prefetch(&self, from: u64, to: u64) {
        let range = self.outer(from, to);
        self.file.prefetch(range.start, range.end);
    }

    fn is_cached(&self, at: u64) -> bool {
        self.file.is_cached(self.outer(at, at).start)
    }

    fn begin_reading(&self, from: u64, to: u64) {
        let range = self.outer(from, to);
        self.file.begin_reading(range.start, range.end);
    }

    fn fetch(&self, ranges: &[Range<u64>]) {
        let outer = ranges
            .iter()
            .map(|range| self.outer(range.start, range.end));
        self.file.fetch(&outer.collect::<Vec<_>>());
    }

    fn is_foreign(&self) -> bool {
        self.file.is_foreign()
    }

    fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    fn read_cached(&self, at: u64, dst: &mut [u8]) -> Result<()> {
        if at.saturating_add(dst.len() as u64) > self.len() {
            return self.read_exact_at(at, dst);
        }
        self.file.read_cached(self.range.start + at, dst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use crate::io::memory::MemoryFolder;
    use crate::io::{Access, Folder};
    use std::ffi::OsStr;

    #[test]
    fn a_part_ends_where_its_range_does() {
        let folder = MemoryFolder::new(b"0123456789");
        let whole = folder.open(OsStr::new(""), Access::Read).unwrap();
        let part = FilePart::new(whole, "part".into(), 3..7);
        let mut dst = [b'.'; 6];
        assert_eq!(
            (part.size().unwrap(), part.bytes()),
            (4, Some(&b"3456"[..]))
        );
        assert_eq!((part.read_at(1, &mut dst).unwrap(), &dst), (3, b"456..."));
        assert_eq!(part.read_at(4, &mut dst).unwrap(), 0);
        assert_eq!(part.read_at(u64::MAX, &mut dst).unwrap(), 0);
        assert!(part.read_cached(1, &mut dst[..3]).is_ok());
        let e = part.read_cached(1, &mut dst[..4]).unwrap_err();
        assert!(
            e.status == Status::Format && e.message.contains("part"),
            "{e}"
        );
        let e = part.write_at(0, b"x").unwrap_err();
        assert_eq!(e.status, Status::Unsupported);
    }
}
