//! A file as it would be with other bytes at its beginning and at its end: header, index and
//! trailer that were found again. What it has of its own is not changed by that.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::io::File;
use std::sync::Arc;

/// See the top of the file.
pub struct Overlay {
    pub file: Arc<dyn File>,
    /// What it begins with.
    pub head: Vec<u8>,
    /// Where it ends with `tail`.
    pub tail_at: u64,
    pub tail: Vec<u8>,
}

impl Overlay {
    fn end(&self) -> u64 {
        self.tail_at.saturating_add(self.tail.len() as u64)
    }
}

/// Puts what of `src`, which is at `src_at`, lies in `dst`, which is at `at`, to its place.
fn lay(src: &[u8], src_at: u64, dst: &mut [u8], at: u64) {
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

impl File for Overlay {
    fn size(&self) -> Result<u64> {
        Ok(self.end())
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let n = usize::try_from(self.end().saturating_sub(at))
            .unwrap_or(usize::MAX)
            .min(dst.len());
        let dst = dst.get_mut(..n).unwrap_or_default();
        if at < self.tail_at {
            let got = self.file.read_at(at, dst)?;
            dst.get_mut(got..).unwrap_or_default().fill(0);
        }
        lay(&self.head, 0, dst, at);
        lay(&self.tail, self.tail_at, dst, at);
        Ok(n)
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        // what is new while it is repaired waits behind all that is there
        if at >= self.end() {
            return self.file.write_at(at, src);
        }
        Err(fail!(
            State,
            "{}: it is damaged, and is not written to before it is repaired",
            self.name()
        ))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(fail!(
            State,
            "{}: it is damaged, and is not written to before it is repaired",
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
