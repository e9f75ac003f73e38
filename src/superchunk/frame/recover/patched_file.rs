//! A view of a file with other bytes at its beginning and at its end: recovered header, index and
//! trailer. The file itself is not changed.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::io::File;
use crate::slice::SliceExt;
use std::sync::Arc;

/// A read view of `file` that begins with `head` and ends with `tail`.
pub struct PatchedFile {
    pub file: Arc<dyn File>,
    /// The bytes at the beginning.
    pub head: Vec<u8>,
    /// The offset of `tail`, after which the view ends.
    pub tail_at: u64,
    pub tail: Vec<u8>,
}

impl PatchedFile {
    fn end(&self) -> u64 {
        self.tail_at.saturating_add(self.tail.len() as u64)
    }
}

/// Copies the part of `src` (at offset `src_at`) that overlaps `dst` (at offset `at`).
fn overlay(src: &[u8], src_at: u64, dst: &mut [u8], at: u64) {
    let (skip_src, skip_dst) = (at.saturating_sub(src_at), src_at.saturating_sub(at));
    let (Ok(skip_src), Ok(skip_dst)) = (usize::try_from(skip_src), usize::try_from(skip_dst))
    else {
        return;
    };
    let (src, dst) = (
        src.get(skip_src..).unwrap_or_default(),
        dst.get_mut(skip_dst..).unwrap_or_default(),
    );
    dst.iter_mut().zip(src).for_each(|(to, from)| *to = *from);
}

impl File for PatchedFile {
    fn size(&self) -> Result<u64> {
        Ok(self.end())
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let n = usize::try_from(self.end().saturating_sub(at))
            .unwrap_or(usize::MAX)
            .min(dst.len());
        let dst = dst.at_mut(..n)?;
        if at < self.tail_at {
            let got = self.file.read_at(at, dst)?;
            dst.at_mut(got..)?.fill(0);
        }
        overlay(&self.head, 0, dst, at);
        overlay(&self.tail, self.tail_at, dst, at);
        Ok(n)
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        // chunks that a repair writes go after the existing bytes
        if at >= self.end() {
            return self.file.write_at(at, src);
        }
        Err(fail!(
            State,
            "{}: the frame is corrupt; repair it before writing",
            self.name()
        ))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(fail!(
            State,
            "{}: the frame is corrupt; repair it before writing",
            self.name()
        ))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync()
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

    fn is_foreign(&self) -> bool {
        self.file.is_foreign()
    }
}
