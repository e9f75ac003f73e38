//! A buffer for uncommitted bytes of a writer, in memory and in a file.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;
use crate::io::{self, File, Folder};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// A sequence of bytes: the last ones are in memory, the ones before in a file.
pub struct SpillBuffer {
    folder: Arc<dyn Folder>,
    pub name: OsString,
    /// The file whose mode and owner the new file receives.
    like: OsString,
    file: Option<Arc<dyn File>>,
    /// Whether the file is temporary and must be removed.
    temporary: bool,
    /// Offset in the file of the first byte.
    base: u64,
    /// Number of bytes in the file.
    pub written: u64,
    pub buffer: Vec<u8>,
    /// Maximum number of bytes in memory.
    max_buffered: usize,
    /// How the bytes are uploaded, if the destination is an object store.
    upload: Option<Upload>,
}

/// The kind of an upload to an object store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Upload {
    /// The object must not exist.
    New,
    /// An existing object is replaced.
    Replace,
    /// The bytes stay in memory until they are appended to another sink.
    Buffered,
}

impl SpillBuffer {
    /// Creates a sink that writes to a temporary file and buffers up to `max_buffered` bytes in
    /// memory.
    pub fn new(
        folder: &Arc<dyn Folder>,
        name: OsString,
        like: &OsStr,
        max_buffered: usize,
    ) -> SpillBuffer {
        SpillBuffer {
            folder: folder.clone(),
            name,
            like: like.into(),
            file: None,
            temporary: true,
            base: 0,
            written: 0,
            buffer: Vec::new(),
            max_buffered,
            upload: None,
        }
    }

    /// Creates a sink that writes to an existing file from `base` on.
    pub fn onto(
        folder: &Arc<dyn Folder>,
        name: OsString,
        file: Arc<dyn File>,
        base: u64,
        max_buffered: usize,
    ) -> SpillBuffer {
        SpillBuffer {
            file: Some(file),
            temporary: false,
            base,
            ..SpillBuffer::new(folder, name, OsStr::new(""), max_buffered)
        }
    }

    /// Creates a sink that uploads to an object store under the final name.
    pub fn to_store(
        folder: &Arc<dyn Folder>,
        name: OsString,
        max_buffered: usize,
        upload: Upload,
    ) -> SpillBuffer {
        SpillBuffer {
            temporary: false,
            upload: Some(upload),
            ..SpillBuffer::new(folder, name, OsStr::new(""), max_buffered)
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Reserves memory for `n` bytes, so that a push of as many cannot fail.
    pub fn prepare(&mut self, n: usize) -> Result<()> {
        if self.buffer.len() + n > self.max_buffered && self.upload != Some(Upload::Buffered) {
            self.flush()?;
        }
        if self.buffer.capacity() - self.buffer.len() >= n {
            return Ok(());
        }
        // Doubles the capacity, up to the maximum.
        let more = self
            .buffer
            .capacity()
            .min(self.max_buffered.saturating_sub(self.buffer.len()))
            .max(n);
        if self.upload == Some(Upload::Buffered) {
            alloc::reserve(&mut self.buffer, n)
        } else {
            alloc::reserve_exact(&mut self.buffer, more)
        }
    }

    /// Appends bytes: all, or on failure none.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.prepare(if bytes.len() < self.max_buffered {
            bytes.len()
        } else {
            0
        })?;
        if bytes.len() < self.max_buffered {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.file()?.write_at(self.base + self.written, bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Returns the file, which is created on first use.
    pub fn file(&mut self) -> Result<Arc<dyn File>> {
        if let Some(f) = &self.file {
            return Ok(f.clone());
        }
        let f = match self.upload {
            Some(upload) => self.folder.upload(&self.name, upload == Upload::New)?,
            None => self.folder.create(&self.name, &self.like)?,
        };
        Ok(self.file.insert(f).clone())
    }

    /// Writes the buffered bytes to the file.
    pub fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let file = self.file()?;
        file.write_at(self.base + self.written, &self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Like [`SpillBuffer::flush`]; also frees the buffer.
    pub fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    /// Returns the first bytes, at most `max`.
    pub fn first(&self, max: usize) -> Result<Vec<u8>> {
        let mut first = vec![0; max.min(self.written as usize)];
        if let Some(from) = self.file.as_ref().filter(|_| !first.is_empty()) {
            from.read_exact_at(self.base, &mut first)?;
        }
        first.extend(self.buffer.iter().take(max - first.len()));
        Ok(first)
    }

    /// Copies all bytes to offset `at` of another file.
    pub fn copy_to(&self, to: &dyn File, at: u64) -> Result<()> {
        if let Some(from) = self.file.as_ref().filter(|_| self.written > 0) {
            io::copy(&**from, self.base, to, at, self.written)?;
        }
        if self.buffer.is_empty() {
            Ok(())
        } else {
            to.write_at(at + self.written, &self.buffer)
        }
    }

    /// Discards all bytes and removes the temporary file.
    pub fn clear(&mut self) {
        if self.file.take().is_some() && self.temporary {
            let _ = self.folder.remove_if_there(&self.name);
        }
        self.written = 0;
        self.buffer.clear();
    }
}
