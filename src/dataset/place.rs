//! A folder of a dataset: the files in it, and the folders below it.
//!
//! Names from files are used only where they are one step down. What a name leads to is for the storage to mind: a
//! local folder that is a dataset follows no link out of itself.
#![forbid(unsafe_code)]

use super::open::ROOTDIRS;
use super::seal;
use crate::error::{Result, Status, fail};
use crate::io::{self, Access, File, Folder, file, locate};
use crate::memory;
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::is_separator;
use std::sync::Arc;

/// The journal of a dataset.
pub const JOURNAL: &str = "dataset.holdall-journal";
/// What a text of so many bytes may take when it is parsed.
const PARSED: u64 = 32;

/// A folder that is a dataset, or one in it.
#[derive(Clone)]
pub struct Place {
    folder: Arc<dyn Folder>,
    /// The way down to it, with a slash behind each step.
    way: OsString,
    /// Are the seals of small files not looked at?
    is_trusted: bool,
}

/// Can something in a folder have this name, which leads nowhere else?
pub fn can_be_in_a_folder(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(|c| c == '\0' || is_separator(c))
}

impl Place {
    /// A local folder. One that is in the folder of a table is a column of it: it is a place there, where journal and lock
    /// of all columns are.
    pub fn local(path: &OsStr) -> Result<Place> {
        let table = fs::canonicalize(path).ok().and_then(|real| {
            let (parent, name) = (real.parent()?, real.file_name()?.to_str()?);
            // while the first commit of a table is under way, there is a journal
            let is_table = [ROOTDIRS, JOURNAL].iter().any(|file| parent.join(file).exists());
            is_table.then(|| (parent.to_path_buf(), name.to_owned()))
        });
        match table {
            Some((parent, name)) => Place::of(&file::folder(parent.as_os_str())?).down(&name),
            None => Ok(Place::of(&locate::folder(path)?)),
        }
    }

    /// All of a folder.
    pub fn of(folder: &Arc<dyn Folder>) -> Place {
        Place { folder: folder.clone(), way: OsString::new(), is_trusted: false }
    }

    /// The same place in another view of its storage.
    pub fn within(&self, folder: Arc<dyn Folder>) -> Place {
        Place { folder, way: self.way.clone(), is_trusted: self.is_trusted }
    }

    /// The same, whose small files count as they are: their checksums are not looked at.
    pub fn trusted(&self, yes: bool) -> Place {
        Place { is_trusted: yes, ..self.clone() }
    }

    /// A folder in it.
    pub fn down(&self, name: &str) -> Result<Place> {
        if !can_be_in_a_folder(name) {
            return Err(fail!(Format, "{}: {name:?} is no name of a folder in it", self.show("")));
        }
        let mut way = self.name(name);
        way.push("/");
        Ok(Place { way, ..self.clone() })
    }

    /// The storage that it is in.
    pub fn folder(&self) -> &Arc<dyn Folder> {
        &self.folder
    }

    /// What the storage calls it.
    pub fn own(&self) -> &OsStr {
        OsStr::from_bytes(self.way.as_bytes().strip_suffix(b"/").unwrap_or_default())
    }

    /// What the storage calls a file in it.
    pub fn name(&self, name: &str) -> OsString {
        let mut full = self.way.clone();
        full.push(name);
        full
    }

    /// For messages.
    pub fn show(&self, name: &str) -> String {
        let shown = self.folder.show(&self.name(name));
        shown.trim_end_matches('/').to_owned()
    }

    /// Opens a file.
    pub fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>> {
        self.folder.open(&self.name(name), access)
    }

    /// The names in a folder in it, "" is itself; none where it is not there, or the storage cannot tell.
    pub fn list(&self, below: &str) -> Vec<OsString> {
        // "a/b/c" is in "a/b", whatever c is
        let inside = if below.is_empty() { self.name("-") } else { self.name(&format!("{below}/-")) };
        self.folder.list(io::parent(&inside)).unwrap_or_default()
    }

    /// Makes the names in it durable.
    pub fn sync(&self) -> Result<()> {
        self.folder.sync_in(io::parent(&self.name("-")))
    }

    /// Makes its folder and all those that it is in.
    pub fn make_folders(&self) -> Result<()> {
        for i in self.way.as_bytes().iter().enumerate().filter_map(|(i, b)| (*b == b'/').then_some(i)) {
            self.folder.make_folder(OsStr::from_bytes(self.way.as_bytes().get(..i).unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Makes the names of the folders that it is in durable.
    pub fn sync_above(&self) -> Result<()> {
        let mut way = self.own();
        while !way.is_empty() {
            way = io::parent(way);
            self.folder.sync_in(way)?;
        }
        Ok(())
    }

    /// Removes its folder and those that it is in, as far as they are empty, up to that one.
    pub fn remove_folders(&self, up_to: &Place) {
        let mut way = self.own();
        while way.len() > up_to.own().len() {
            let _ = self.folder.remove_folder(way);
            way = io::parent(way);
        }
    }

    /// Is there a file, or a folder, of this name?
    pub fn has(&self, name: &str) -> Result<bool> {
        self.folder.exists(&self.name(name))
    }

    /// Does a file have exactly these bytes? Takes no more memory than they do, whatever the file has become.
    pub fn is_still(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let file = match self.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => return Ok(false),
            file => file?,
        };
        if file.as_opened()?.0 != bytes.len() as u64 {
            return Ok(false);
        }
        let mut now = memory::zeroed(bytes.len())?;
        file.read_exact_at(0, &mut now)?;
        Ok(now == bytes)
    }

    /// All bytes of a small file, if they match their checksum; nothing where there is none.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = match self.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => return Ok(None),
            file => file?,
        };
        let (size, _) = file.as_opened()?;
        memory::allow(size.saturating_mul(PARSED), limit, file.name())?;
        let mut text = memory::zeroed(size as usize)?;
        file.read_exact_at(0, &mut text)?;
        if !self.is_trusted {
            seal::check(&text).map_err(|e| e.within(file.name()))?;
        }
        Ok(Some(text))
    }
}
