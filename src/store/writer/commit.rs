//! The commit of a store: in a folder one commit of its files, otherwise a new archive or frame.
#![forbid(unsafe_code)]

use super::{StoreWriter, embedded_writer};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::file_part::FilePart;
use crate::io::journal::NEW;
use crate::io::overlay::{Differences, Frozen};
use crate::io::zip::{ZipFolder, ZipWriter};
use crate::io::{Access, File, Folder, beside};
use crate::json::Value;
use crate::options::Options;
use crate::os::OsStrExt;
use crate::store::table_files::META;
use crate::store::{EMBED, Node, tree};
use crate::superchunk::frame;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

impl StoreWriter {
    /// Makes what nodes have committed, and what was removed, visible and durable in one step.
    /// Returns whether there are other nodes now.
    pub fn commit(&mut self) -> Result<bool> {
        self.session.check_commit()?;
        if !self.is_new && self.overlay.changes() == self.committed_changes {
            return Ok(false);
        }
        let (mut frozen, mut differences) = self.freeze()?;
        let names = differences.names();
        let lists_others = !names.is_empty() || self.overlay.is_changed(OsStr::new(EMBED));
        if names
            .iter()
            .any(|name| name.as_bytes().ends_with(META.as_bytes()))
        {
            drop(frozen);
            self.register_tables()?;
            (frozen, differences) = self.freeze()?;
        }
        self.refuse_other_files(&names)?;
        let changes = differences.changes;
        match self.format {
            Format::B2d => self.overlay.publish(&self.session, differences)?,
            Format::B2z => self.replace_archive(differences)?,
            _ => self.replace_frame(differences)?,
        }
        drop(frozen);
        (self.is_new, self.committed_changes) = (false, changes);
        Ok(lists_others)
    }

    /// Refuses changes by other threads from here on, and returns those that were made. No node is in
    /// the middle of a commit.
    fn freeze(&self) -> Result<(Frozen, Differences)> {
        let frozen = self.overlay.freeze();
        if let Some(journal) = self.overlay.unfinished()? {
            return Err(fail!(
                State,
                "{}: a commit of this node is not finished, or failed half-way; open the store again if it does not go on",
                self.overlay.show(&journal)
            ));
        }
        Ok((frozen, self.overlay.differences()?))
    }

    /// Lists the tables in the metalayer that python-blosc2 reads.
    pub(super) fn register_tables(&self) -> Result<()> {
        let store = self.view()?;
        let listed = tree::registered(&store.embed)?;
        let of = |nodes: Vec<(String, Node)>| -> BTreeSet<String> {
            let tables = nodes.into_iter().filter(|(_, node)| *node == Node::Table);
            tables.map(|(path, _)| path).collect()
        };
        let found = of(store.found_tables(&self.options)?);
        if of(listed) == found {
            return Ok(());
        }
        let value = tree::metalayer(&store.embed, tree::REGISTRY)?;
        let mut members = match value {
            Some(Value::Object(members)) => members,
            _ => Vec::new(),
        };
        let is_table = |value: &Value| value.get("kind").and_then(Value::as_str) == Some("ctable");
        members.retain(|(path, value)| !is_table(value) || found.contains(path));
        for path in found {
            if !members.iter().any(|(listed, _)| *listed == path) {
                let entry = br#"{"kind": "ctable", "version": 1, "layout": "inline-tree-subtree"}"#;
                members.push((path, Value::parse(entry)?));
            }
        }
        let text = Value::Object(members).to_string();
        self.set_metalayers(vec![(tree::REGISTRY, text)])
    }

    /// Returns an error if a node was created in another format than that of a frame.
    fn refuse_other_files(&self, names: &[OsString]) -> Result<()> {
        for name in names {
            let folder = self.folder();
            let header = match folder.exists(name)? {
                true => frame::header_in(&folder, name, &Options::new())?,
                false => continue,
            };
            let is_array = name.as_bytes().ends_with(b".b2nd");
            if header.is_none_or(|header| is_array && header.meta("b2nd").is_none()) {
                return Err(fail!(
                    Unsupported,
                    "{}: a node has another format (expected an array in b2nd, or a superchunk in b2frame); remove it",
                    self.folder().show(name)
                ));
            }
        }
        Ok(())
    }

    /// Replaces the archive by a new one.
    fn replace_archive(&self, found: Differences) -> Result<()> {
        let container = self.session.container();
        let (folder, name) = (&container.folder, &container.main);
        if self.is_new {
            self.session.refuse_existing(name)?;
        }
        let new = beside("", name, NEW);
        let file = container.create(&new)?;
        let written = self
            .write_archive(&*file)
            .and_then(|()| self.session.sync(&*file));
        let done = written.and_then(|()| self.session.swap(std::slice::from_ref(name), &[]));
        if done.is_err() && !self.session.is_broken() {
            let _ = folder.remove_if_there(&new);
        }
        done?;
        let archive = Arc::new(ZipFolder::open(folder, name)?);
        self.overlay.rebase(archive, found);
        Ok(())
    }

    /// Replaces the frame of a `.b2e` store by a new one.
    fn replace_frame(&self, found: Differences) -> Result<()> {
        embedded_writer::replace(&self.view()?, &self.session)?;
        let container = self.session.container();
        let files = embedded_writer::files(&container.folder, &container.main);
        self.overlay.rebase(files, found);
        Ok(())
    }

    /// Writes all files, the largest first and `embed.b2e` last, as python-blosc2 does.
    pub(super) fn write_archive(&self, to: &dyn File) -> Result<()> {
        let folder = self.folder();
        let mut files = Vec::new();
        for name in folder.files()? {
            if self.overlay.is_uncommitted(&name)? {
                continue;
            }
            let Some(text) = name.to_str() else {
                return Err(fail!(
                    Unsupported,
                    "{}: a name that is not UTF-8",
                    folder.show(&name)
                ));
            };
            let content = committed(&folder, &name)?;
            let size = std::cmp::Reverse(content.size()?);
            files.push((text == EMBED, size, text.to_owned()));
        }
        files.sort_unstable();
        let mut archive = ZipWriter::new(to);
        for (.., name) in files {
            let content = committed(&folder, OsStr::new(&name))?;
            archive.add(&name, &*content)?;
        }
        archive.finish()
    }
}

/// Opens a file without the bytes after its frame, which its writer has not committed.
pub fn committed(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<Arc<dyn File>> {
    let file = folder.open(name, Access::Read)?;
    // other files of an archive are no frames
    let header = frame::header_in(folder, name, &Options::new());
    let frame = header
        .ok()
        .flatten()
        .map_or(u64::MAX, |header| header.frame_len);
    match file.size()? > frame {
        true => Ok(Arc::new(FilePart::new(file, folder.show(name), 0..frame))),
        false => Ok(file),
    }
}
