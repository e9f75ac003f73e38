//! A folder of a dataset: the files in it, and the folders below it.
//!
//! Names from files are used only where they are one step down. What a name leads to is for the
//! storage to mind: a local folder that is a dataset follows no link out of itself.
#![forbid(unsafe_code)]

use super::meta::{self, STORAGE};
use super::open::ROOTDIRS;
use super::text_checksum;
use crate::alloc;
use crate::error::{Result, Status, fail};
use crate::io::{self, Access, File, Folder, locate};
use crate::json::Value;
use crate::os::OsStrExt;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::is_separator;
use std::sync::Arc;

/// The journal of a dataset.
pub const JOURNAL: &str = "dataset.holdall-journal";
/// A longer list of columns is not looked into.
const MOST_ROOTDIRS: u64 = 16 << 20;
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

/// Is this folder a table, and `name` a column of it? Files that another user has put there do not
/// make it one.
fn is_column(folder: &dyn Folder, name: &str) -> bool {
    // while the first commit of a table is under way, there is a journal
    if folder
        .open_trusted(OsStr::new(JOURNAL), OsStr::new(""))
        .is_ok()
    {
        return true;
    }
    let Ok(file) = folder.open_trusted(OsStr::new(ROOTDIRS), OsStr::new("")) else {
        return false;
    };
    let Some(n) = file.size().ok().filter(|&n| n <= MOST_ROOTDIRS) else {
        return true;
    };
    let Ok(mut text) = alloc::zeroed(n as usize) else {
        return true;
    };
    if file.read_exact_at(0, &mut text).is_err() {
        return true;
    }
    let Ok(value) = meta::parse(&text) else {
        return true;
    };
    let names = |value: &Value| match value {
        Value::Array(names) => names.iter().any(|n| n.as_str() == Some(name)),
        Value::Object(dirs) => dirs.iter().any(|(_, way)| {
            way.as_str()
                .is_some_and(|way| way.rsplit('/').next() == Some(name))
        }),
        _ => false,
    };
    // an array that is not there yet would be in the table's folder without being a column
    let is_new = || {
        !folder
            .exists(OsStr::new(&format!("{name}/{STORAGE}")))
            .unwrap_or(false)
    };
    ["names", "dirs"]
        .iter()
        .any(|key| value.get(key).is_some_and(names))
        || is_new()
}

impl Place {
    /// A local folder. One that is in the folder of a table is a column of it: it is a place there,
    /// where journal and lock of all columns are.
    pub fn local(path: &OsStr) -> Result<Place> {
        let table = fs::canonicalize(path).ok().and_then(|real| {
            let (parent, name) = (real.parent()?, real.file_name()?.to_str()?);
            let folder = locate::folder(parent.as_os_str()).ok()?;
            is_column(&*folder, name).then(|| (folder, name.to_owned()))
        });
        match table {
            Some((folder, name)) => Place::of(&folder).down(&name),
            None => Ok(Place::of(&locate::folder(path)?)),
        }
    }

    /// All of a folder.
    pub fn of(folder: &Arc<dyn Folder>) -> Place {
        Place {
            folder: folder.clone(),
            way: OsString::new(),
            is_trusted: false,
        }
    }

    /// The same place in another view of its storage.
    pub fn within(&self, folder: Arc<dyn Folder>) -> Place {
        Place {
            folder,
            way: self.way.clone(),
            is_trusted: self.is_trusted,
        }
    }

    /// The same, whose small files count as they are: their checksums are not looked at.
    pub fn trusted(&self, yes: bool) -> Place {
        Place {
            is_trusted: yes,
            ..self.clone()
        }
    }

    /// A folder in it.
    pub fn down(&self, name: &str) -> Result<Place> {
        if !can_be_in_a_folder(name) {
            return Err(fail!(
                Format,
                "{}: {name:?} is no name of a folder in it",
                self.show("")
            ));
        }
        let mut way = self.name(name);
        way.push("/");
        Ok(Place {
            way,
            ..self.clone()
        })
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

    /// Creates a file in the place of what has this name. It is open to as many as the file that it
    /// is to replace, which has the name without what follows `.holdall-`, or else as the
    /// description of the array.
    pub fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        let replaced = name
            .split_once(".holdall-")
            .map_or(name, |(replaced, _)| replaced);
        let like = if self.has(replaced)? {
            replaced
        } else {
            STORAGE
        };
        self.folder.create(&self.name(name), &self.name(like))
    }

    /// The names in a folder in it, "" is itself; none where it is not there, or the storage cannot
    /// tell.
    pub fn list(&self, below: &str) -> Vec<OsString> {
        // "a/b/c" is in "a/b", whatever c is
        let inside = if below.is_empty() {
            self.name("-")
        } else {
            self.name(&format!("{below}/-"))
        };
        self.folder.list(io::parent(&inside)).unwrap_or_default()
    }

    /// Makes the names in it durable.
    pub fn sync(&self) -> Result<()> {
        self.folder.sync_in(io::parent(&self.name("-")))
    }

    /// Makes its folder and all those that it is in.
    pub fn make_folders(&self) -> Result<()> {
        for i in self
            .way
            .as_bytes()
            .iter()
            .enumerate()
            .filter_map(|(i, b)| (*b == b'/').then_some(i))
        {
            self.folder.make_folder(OsStr::from_bytes(
                self.way.as_bytes().get(..i).unwrap_or_default(),
            ))?;
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

    /// Does a file have exactly these bytes? Takes no more memory than they do, whatever the file
    /// has become.
    pub fn is_still(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let file = match self.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => return Ok(false),
            file => file?,
        };
        if file.as_opened()?.0 != bytes.len() as u64 {
            return Ok(false);
        }
        let mut now = alloc::zeroed(bytes.len())?;
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
        alloc::allow(size.saturating_mul(PARSED), limit, file.name())?;
        let mut text = alloc::zeroed(size as usize)?;
        file.read_exact_at(0, &mut text)?;
        if !self.is_trusted {
            text_checksum::check(&text).map_err(|e| e.within(file.name()))?;
        }
        Ok(Some(text))
    }
}
