//! Bags that are written to object stores: whole, by one commit. Each file is an upload that nobody
//! sees before it; where nothing was, the records come last, and what a commit that fails has put
//! there goes again.
//!
//! Several objects cannot take the place of others at one moment. Records with the checksums of
//! other ones would seem damaged, so those that are there go before the records do; records with
//! other limits, or shards of another set, would be read wrong, so these are not replaced.
#![forbid(unsafe_code)]

use super::sink::{Sink, Upload};
use super::store::Store;
use super::{Mode, Writer};
use crate::bag::codec::Codec;
use crate::bag::interleave::TURNS_PREFIX;
use crate::bag::shard::{LIMITS_PREFIX, SUMS_PREFIX};
use crate::error::{Error, Result, fail};
use crate::io::{File, Folder};
use std::ffi::OsString;
use std::sync::Arc;

/// Refuses what would go behind what is there.
pub fn whole(shown: &str) -> Error {
    fail!(
        Unsupported,
        "{shown}: a bag in an object store is written by one commit; what is to be added goes into another shard"
    )
}

/// A file that is to be there, and where.
type Made = (Arc<dyn Folder>, OsString, Arc<dyn File>);

impl Writer {
    /// Points all that waits at the store.
    pub(super) fn aim_at_store(&mut self) -> Result<()> {
        let upload = match self.mode {
            Mode::New => Upload::New,
            Mode::Replace => Upload::Replace,
            Mode::Append => return Err(whole(&self.shown())),
        };
        self.refuse_replacing_several()?;
        self.stores.iter_mut().for_each(|s| s.aim_at_store(upload));
        Ok(())
    }

    fn refuse_replacing_several(&self) -> Result<()> {
        if self.mode != Mode::Replace
            || (self.stores.len() == 1 && !self.stores.iter().any(|s| s.separate))
        {
            return Ok(());
        }
        for store in &self.stores {
            for name in [store.name(""), store.name(LIMITS_PREFIX)] {
                if store.container.folder.exists(&name)? {
                    return Err(fail!(
                        Unsupported,
                        "{}: an object store cannot replace several files at one moment; remove them first, or write under another name",
                        store.container.folder.show(&name)
                    ));
                }
            }
        }
        Ok(())
    }

    /// The one commit: everything is there, or nothing.
    pub(super) fn publish(&mut self) -> Result<()> {
        match self.mode {
            Mode::New => self.refuse_existing()?,
            _ => self.refuse_replacing_several()?,
        }
        let done = self.upload();
        (self.broken, self.finished) = (done.is_err(), done.is_ok());
        done?;
        self.committed = std::mem::take(&mut self.waiting);
        Ok(())
    }

    fn upload(&mut self) -> Result<()> {
        let new = self.mode == Mode::New;
        // what the records need, the records, and what they can do without
        let (mut first, mut records, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for store in &mut self.stores {
            if !new && (store.with_sums() || store.replaces_sums()) {
                store
                    .container
                    .folder
                    .remove_if_there(&store.name(SUMS_PREFIX))?;
            }
            store.finish(
                self.rules.codec,
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
        let forgotten = self.stores.iter().filter(|s| !new && !s.separate);
        forgotten.for_each(|s| _ = s.container.folder.remove_if_there(&s.name(LIMITS_PREFIX)));
        Ok(())
    }
}

impl Store {
    fn aim_at_store(&mut self, upload: Upload) {
        let folder = &self.container.folder;
        let sink = |prefix, upload| {
            Sink::to_store(folder, self.container.name(prefix), self.most(), upload)
        };
        let limits = if self.separate {
            upload
        } else {
            Upload::Behind
        };
        (self.records, self.limits, self.sums) = (
            sink("", upload),
            sink(LIMITS_PREFIX, limits),
            sink(SUMS_PREFIX, upload),
        );
    }

    /// Finishes the uploads; checksums go first where they are to go nowhere else.
    fn finish(
        &mut self,
        codec: Codec,
        first: &mut Vec<Made>,
        records: &mut Vec<Made>,
        sums: Option<&mut Vec<Made>>,
    ) -> Result<()> {
        let new = sums.is_none();
        let folder = self.container.folder.clone();
        let made = |sink: &mut Sink, name: OsString| -> Result<Made> {
            sink.flush()?;
            Ok((folder.clone(), name, sink.file()?))
        };
        let (name, limits_name, sums_name) = (
            self.name(""),
            self.name(LIMITS_PREFIX),
            self.name(SUMS_PREFIX),
        );
        let (folder, name, file) = made(&mut self.records, name)?;
        if self.separate {
            first.push(made(&mut self.limits, limits_name)?);
        } else {
            self.limits.copy_to(&*file, self.records.len())?;
        }
        records.push((folder.clone(), name, file));
        if let Some(turn) = self.mark_beside(codec) {
            let name = self.name(TURNS_PREFIX);
            let file = folder.upload(&name, new)?;
            file.write_at(0, &turn.mark())?;
            first.push((folder, name, file));
        }
        if self.with_sums() {
            sums.unwrap_or(first).push(made(&mut self.sums, sums_name)?);
        }
        Ok(())
    }
}
