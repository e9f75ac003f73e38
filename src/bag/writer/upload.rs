//! Writes bags to object stores, by a single commit.
//!
//! Each file is an upload that is invisible before the commit. In a new bag the records are
//! published last. If the commit of a new bag fails, the objects that it has published are removed.
//!
//! Several objects cannot be replaced atomically. Records with the checksums of other records would
//! appear corrupt, so existing checksums are removed before the records are replaced. Records with
//! other limits, or shards of another set, would be read incorrectly, so these are not replaced.
#![forbid(unsafe_code)]

use super::shard_writer::ShardWriter;
use super::spill_buffer::{SpillBuffer, Upload};
use super::{Mode, Writer};
use crate::bag::interleave::TURNS_PREFIX;
use crate::bag::shard::{CHECKSUMS_PREFIX, LIMITS_PREFIX};
use crate::error::{Error, Result, fail};
use crate::io::{File, Folder};
use std::ffi::OsString;
use std::sync::Arc;

/// Returns the error for appends and second commits.
pub fn single_commit_error(shown: &str) -> Error {
    fail!(
        Unsupported,
        "{shown}: a bag in an object store is written by a single commit; write further records to another shard"
    )
}

/// An upload to publish: its folder, name and file.
type UploadedFile = (Arc<dyn Folder>, OsString, Arc<dyn File>);

impl Writer {
    /// Makes all sinks upload to the object store.
    pub(super) fn target_object_store(&mut self) -> Result<()> {
        let upload = match self.session.mode() {
            Mode::New => Upload::New,
            Mode::Replace => Upload::Replace,
            Mode::Append => return Err(single_commit_error(&self.shown())),
        };
        self.refuse_replacing_several()?;
        self.shards
            .iter_mut()
            .for_each(|s| s.target_object_store(upload));
        Ok(())
    }

    fn refuse_replacing_several(&self) -> Result<()> {
        if self.session.mode() != Mode::Replace
            || (self.shards.len() == 1 && !self.shards.iter().any(|s| s.separate))
        {
            return Ok(());
        }
        for shard in &self.shards {
            for name in [shard.name(""), shard.name(LIMITS_PREFIX)] {
                if shard.container.folder.exists(&name)? {
                    return Err(fail!(
                        Unsupported,
                        "{}: an object store cannot replace several files atomically; remove them first, or write under another name",
                        shard.container.folder.show(&name)
                    ));
                }
            }
        }
        Ok(())
    }

    /// Commits: publishes all files or, in a new bag, none.
    pub(super) fn publish(&mut self) -> Result<()> {
        match self.session.mode() {
            Mode::New => self.refuse_existing()?,
            _ => self.refuse_replacing_several()?,
        }
        self.upload().inspect_err(|_| self.session.mark_broken())?;
        self.finished = true;
        self.committed = std::mem::take(&mut self.uncommitted);
        Ok(())
    }

    fn upload(&mut self) -> Result<()> {
        let new = self.session.mode() == Mode::New;
        // In order: what the records need, the records, and what they can lack.
        let (mut first, mut records, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for shard in &mut self.shards {
            if !new && (shard.with_checksums() || shard.replaces_checksums()) {
                shard
                    .container
                    .folder
                    .remove_if_there(&shard.name(CHECKSUMS_PREFIX))?;
            }
            shard.finish(
                &mut first,
                &mut records,
                if new { None } else { Some(&mut last) },
            )?;
        }
        first.append(&mut records);
        first.append(&mut last);
        for (i, (.., file)) in first.iter().enumerate() {
            if let Err(e) = file.publish() {
                first
                    .iter()
                    .take(if new { i } else { 0 })
                    .for_each(|(folder, name, _)| _ = folder.remove_if_there(name));
                return Err(e);
            }
        }
        let forgotten = self.shards.iter().filter(|s| !new && !s.separate);
        forgotten.for_each(|s| _ = s.container.folder.remove_if_there(&s.name(LIMITS_PREFIX)));
        Ok(())
    }
}

impl ShardWriter {
    fn target_object_store(&mut self, upload: Upload) {
        let folder = &self.container.folder;
        let sink = |prefix, upload| {
            SpillBuffer::to_store(
                folder,
                self.container.name(prefix),
                self.max_buffered(),
                upload,
            )
        };
        let limits = if self.separate {
            upload
        } else {
            Upload::Buffered
        };
        (self.records, self.limits, self.checksums) = (
            sink("", upload),
            sink(LIMITS_PREFIX, limits),
            sink(CHECKSUMS_PREFIX, upload),
        );
    }

    /// Finishes the uploads. Checksums are added to `first` if `checksums` is `None`.
    fn finish(
        &mut self,
        first: &mut Vec<UploadedFile>,
        records: &mut Vec<UploadedFile>,
        checksums: Option<&mut Vec<UploadedFile>>,
    ) -> Result<()> {
        let new = checksums.is_none();
        let folder = self.container.folder.clone();
        let made = |sink: &mut SpillBuffer, name: OsString| -> Result<UploadedFile> {
            sink.flush()?;
            Ok((folder.clone(), name, sink.file()?))
        };
        let (name, limits_name, checksums_name) = (
            self.name(""),
            self.name(LIMITS_PREFIX),
            self.name(CHECKSUMS_PREFIX),
        );
        let (folder, name, file) = made(&mut self.records, name)?;
        if self.separate {
            first.push(made(&mut self.limits, limits_name)?);
        } else {
            self.limits.copy_to(&*file, self.records.len())?;
        }
        records.push((folder.clone(), name, file));
        if let Some(mark) = self.mark_in_file() {
            let name = self.name(TURNS_PREFIX);
            let file = folder.upload(&name, new)?;
            file.write_at(0, &mark.to_bytes())?;
            first.push((folder, name, file));
        }
        if self.with_checksums() {
            checksums
                .unwrap_or(first)
                .push(made(&mut self.checksums, checksums_name)?);
        }
        Ok(())
    }
}
