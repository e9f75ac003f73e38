//! Bytes that a writer has taken in and that do not count yet.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::Result;
use crate::io::{self, File, Folder};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Bytes on their way: the last ones in memory, those before in a file.
pub struct Sink {
    folder: Arc<dyn Folder>,
    pub name: OsString,
    /// The file whose mode and owner it gets.
    like: OsString,
    file: Option<Arc<dyn File>>,
    /// Is the file one of ours, to be removed?
    temporary: bool,
    /// Where in the file its first byte is.
    base: u64,
    /// Bytes that are in the file.
    pub written: u64,
    pub buffer: Vec<u8>,
    /// Bytes that may wait in memory before they go to the file.
    most: usize,
    /// How they go to an object store, if they do.
    upload: Option<Upload>,
}

/// What an object store does with them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Upload {
    /// They go where nothing may be.
    New,
    /// They replace what is there.
    Replace,
    /// They stay in memory until they go behind those of another sink.
    Behind,
}

impl Sink {
    /// For this file; so many bytes may wait in memory.
    pub fn new(folder: &Arc<dyn Folder>, name: OsString, like: &OsStr, most: usize) -> Sink {
        Sink {
            folder: folder.clone(),
            name,
            like: like.into(),
            file: None,
            temporary: true,
            base: 0,
            written: 0,
            buffer: Vec::new(),
            most,
            upload: None,
        }
    }

    /// Straight into a file that is there, from `base` on.
    pub fn onto(
        folder: &Arc<dyn Folder>,
        name: OsString,
        file: Arc<dyn File>,
        base: u64,
        most: usize,
    ) -> Sink {
        Sink {
            file: Some(file),
            temporary: false,
            base,
            ..Sink::new(folder, name, OsStr::new(""), most)
        }
    }

    /// To an object store, under the name itself.
    pub fn to_store(folder: &Arc<dyn Folder>, name: OsString, most: usize, upload: Upload) -> Sink {
        Sink {
            temporary: false,
            upload: Some(upload),
            ..Sink::new(folder, name, OsStr::new(""), most)
        }
    }

    /// All bytes.
    pub fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Room for `n` more bytes in memory, so that a push of as many cannot fail.
    pub fn prepare(&mut self, n: usize) -> Result<()> {
        if self.buffer.len() + n > self.most && self.upload != Some(Upload::Behind) {
            self.flush()?;
        }
        if self.buffer.capacity() - self.buffer.len() >= n {
            return Ok(());
        }
        // twice as much each time, but no more than may wait
        let more = self
            .buffer
            .capacity()
            .min(self.most.saturating_sub(self.buffer.len()))
            .max(n);
        if self.upload == Some(Upload::Behind) {
            alloc::reserve(&mut self.buffer, n)
        } else {
            alloc::reserve_exact(&mut self.buffer, more)
        }
    }

    /// Takes in bytes: all or, on failure, none.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.prepare(if bytes.len() < self.most {
            bytes.len()
        } else {
            0
        })?;
        if bytes.len() < self.most {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.file()?.write_at(self.base + self.written, bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// The file that they go to.
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

    /// Leaves none in memory.
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

    /// The same, with what memory it took.
    pub fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    /// Its first bytes, at most so many.
    pub fn first(&self, most: usize) -> Result<Vec<u8>> {
        let mut first = vec![0; most.min(self.written as usize)];
        if let Some(from) = self.file.as_ref().filter(|_| !first.is_empty()) {
            from.read_exact_at(self.base, &mut first)?;
        }
        first.extend(self.buffer.iter().take(most - first.len()));
        Ok(first)
    }

    /// Copies all of it to `at` of another file.
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

    /// Forgets what it holds, and its temporary file.
    pub fn clear(&mut self) {
        if self.file.take().is_some() && self.temporary {
            let _ = self.folder.remove_if_there(&self.name);
        }
        self.written = 0;
        self.buffer.clear();
    }
}
