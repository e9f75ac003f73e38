//! Nodes inside of the frame `embed.b2e`: each is a frame in a range of its content.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::io::lock::Lock;
use crate::io::{Access, File, Folder, read_only};
use crate::slice::SliceExt;
use crate::superchunk::frame::Frame;
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::Arc;

/// A folder with one file, "": a range of the content of a frame.
pub struct EmbeddedFolder(Arc<EmbeddedFile>);

struct EmbeddedFile {
    frame: Arc<Frame>,
    shown: String,
    range: Range<u64>,
}

impl EmbeddedFolder {
    /// Creates the folder of a range. `shown` is its name for messages.
    pub fn new(frame: &Arc<Frame>, shown: String, range: &Range<u64>) -> Result<EmbeddedFolder> {
        if range.start > range.end || range.end > frame.nbytes() {
            return Err(fail!(
                Format,
                "{shown}: the node has the bytes {range:?} of {} (expected an end before {})",
                frame.name(),
                frame.nbytes()
            ));
        }
        Ok(EmbeddedFolder(Arc::new(EmbeddedFile {
            frame: frame.clone(),
            shown,
            range: range.clone(),
        })))
    }

    fn read_only(&self) -> crate::error::Error {
        read_only(&self.0.shown)
    }
}

impl Folder for EmbeddedFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        if !name.is_empty() {
            return Err(fail!(Missing, "{}: no such file", self.show(name)));
        }
        match access {
            Access::Read | Access::Map => Ok(self.0.clone()),
            Access::Write | Access::WriteBeside | Access::Create => Err(self.read_only()),
        }
    }

    fn rename(&self, _: &OsStr, _: &OsStr) -> Result<()> {
        Err(self.read_only())
    }

    fn remove(&self, _: &OsStr) -> Result<()> {
        Err(self.read_only())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(name.is_empty().then_some(0))
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Err(self.read_only())
    }

    fn writable(&self) -> Result<()> {
        Err(self.read_only())
    }

    fn show(&self, name: &OsStr) -> String {
        format!("{}{}", self.0.shown, name.display())
    }
}

impl File for EmbeddedFile {
    fn size(&self) -> Result<u64> {
        Ok(self.range.end - self.range.start)
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        let from = self.range.start.saturating_add(at).min(self.range.end);
        let n = (self.range.end - from).min(dst.len() as u64) as usize;
        self.frame
            .read(from, dst.at_mut(..n)?)
            .map_err(|e| e.within(&self.shown))?;
        Ok(n)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(read_only(&self.shown))
    }

    fn set_size(&self, _: u64) -> Result<()> {
        Err(read_only(&self.shown))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> &str {
        &self.shown
    }
}
