//! A folder of a dataset: its files and subfolders.
//!
//! Names that come from files are used only if they lead exactly one level down. The storage
//! resolves links: a local dataset folder follows a link out of itself only if the options say so.
#![forbid(unsafe_code)]

use super::meta::{self, STORAGE};
use super::open::ROOTDIRS;
use super::text_checksum;
use crate::alloc;
use crate::error::{Result, Status, fail};
use crate::io::{self, Access, File, Folder, OWN_SUFFIX, locate};
use crate::json::Value;
use crate::os::OsStrExt;
use crate::slice::SliceExt;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::is_separator;
use std::sync::Arc;

/// Name of the journal of a dataset.
pub const JOURNAL: &str = "dataset.holdall-journal";
/// Maximum size of `__rootdirs__` that [`is_column`] parses.
const MAX_ROOTDIRS_BYTES: u64 = 16 << 20;
/// Memory for parsing a text file, as a multiple of its size.
const PARSED_FACTOR: u64 = 32;

/// A dataset folder, or a folder inside one.
#[derive(Clone)]
pub struct DatasetDir {
    folder: Arc<dyn Folder>,
    /// Path of the folder in its storage, with a slash after each component; empty for the root.
    prefix: OsString,
    /// True if the checksums of metadata files are not verified.
    is_trusted: bool,
}

/// Returns true if `name` is a valid name of a folder entry that does not lead outside of the
/// folder.
pub fn is_valid_entry_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(|c| c == '\0' || is_separator(c))
}

/// Returns true if this folder is a table and `name` is a column of it. Files of another user do
/// not make a folder a table.
fn is_column(folder: &dyn Folder, name: &str) -> bool {
    // during the first commit of a table only the journal exists
    if folder
        .open_trusted(OsStr::new(JOURNAL), OsStr::new(""))
        .is_ok()
    {
        return true;
    }
    let Ok(file) = folder.open_trusted(OsStr::new(ROOTDIRS), OsStr::new("")) else {
        return false;
    };
    let Some(n) = file.size().ok().filter(|&n| n <= MAX_ROOTDIRS_BYTES) else {
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
        Value::Object(dirs) => dirs.iter().any(|(_, path)| {
            path.as_str()
                .is_some_and(|path| path.rsplit('/').next() == Some(name))
        }),
        _ => false,
    };
    // an array that does not exist yet would be created in the folder of a table without being one
    // of its columns
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

impl DatasetDir {
    /// Opens a local folder. A column of a table becomes a subfolder of the table's folder, which
    /// has the journal and the lock of all columns. Links that lead out of the folder are followed
    /// if `follows_links`.
    pub fn local(path: &OsStr, follows_links: bool) -> Result<DatasetDir> {
        let table = fs::canonicalize(path).ok().and_then(|real| {
            let (parent, name) = (real.parent()?, real.file_name()?.to_str()?);
            let folder = locate::folder_with_links(parent.as_os_str(), follows_links).ok()?;
            is_column(&*folder, name).then(|| (folder, name.to_owned()))
        });
        match table {
            Some((folder, name)) => DatasetDir::of(&folder).subdir(&name),
            None => Ok(DatasetDir::of(&locate::folder_with_links(
                path,
                follows_links,
            )?)),
        }
    }

    /// Returns the root of this storage.
    pub fn of(folder: &Arc<dyn Folder>) -> DatasetDir {
        DatasetDir {
            folder: folder.clone(),
            prefix: OsString::new(),
            is_trusted: false,
        }
    }

    /// Returns the same folder in another view of its storage.
    pub fn within(&self, folder: Arc<dyn Folder>) -> DatasetDir {
        DatasetDir {
            folder,
            prefix: self.prefix.clone(),
            is_trusted: self.is_trusted,
        }
    }

    /// Returns the same folder; if `yes`, checksums of metadata files are not verified.
    pub fn trusted(&self, yes: bool) -> DatasetDir {
        DatasetDir {
            is_trusted: yes,
            ..self.clone()
        }
    }

    /// Returns the subfolder `name`.
    pub fn subdir(&self, name: &str) -> Result<DatasetDir> {
        if !is_valid_entry_name(name) {
            return Err(fail!(
                Format,
                "{}: {name:?} is not a valid folder name",
                self.show("")
            ));
        }
        let mut prefix = self.name(name);
        prefix.push("/");
        Ok(DatasetDir {
            prefix,
            ..self.clone()
        })
    }

    /// Returns the storage that contains this folder.
    pub fn folder(&self) -> &Arc<dyn Folder> {
        &self.folder
    }

    /// Returns the path of the folder in its storage.
    pub fn path(&self) -> &OsStr {
        OsStr::from_bytes(
            self.prefix
                .as_bytes()
                .strip_suffix(b"/")
                .unwrap_or_default(),
        )
    }

    /// Returns the path of file `name` in the storage.
    pub fn name(&self, name: &str) -> OsString {
        let mut full = self.prefix.clone();
        full.push(name);
        full
    }

    /// Returns the full path of file `name`, for messages.
    pub fn show(&self, name: &str) -> String {
        let shown = self.folder.show(&self.name(name));
        shown.trim_end_matches('/').to_owned()
    }

    /// Opens file `name`.
    pub fn open(&self, name: &str, access: Access) -> Result<Arc<dyn File>> {
        self.folder.open(&self.name(name), access)
    }

    /// Creates file `name`, replacing an existing one. The new file gets the access rights of the
    /// file that it will replace, whose name is the part before `.holdall-`. If that file does not
    /// exist, it gets the access rights of `meta/storage`.
    pub fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        let replaced = name
            .split_once(OWN_SUFFIX)
            .map_or(name, |(replaced, _)| replaced);
        let like = if self.has(replaced)? {
            replaced
        } else {
            STORAGE
        };
        self.folder.create(&self.name(name), &self.name(like))
    }

    /// Returns the names of the entries of subfolder `below`; `""` is the folder itself. Returns an
    /// empty list if the folder does not exist or the storage cannot list entries.
    pub fn list(&self, below: &str) -> Vec<OsString> {
        // `parent("a/b/-")` is `"a/b"`
        let inside = if below.is_empty() {
            self.name("-")
        } else {
            self.name(&format!("{below}/-"))
        };
        self.folder.list(io::parent(&inside)).unwrap_or_default()
    }

    /// Makes the entries of the folder durable.
    pub fn sync(&self) -> Result<()> {
        self.folder.sync_in(io::parent(&self.name("-")))
    }

    /// Creates the folder and its parent folders.
    pub fn make_folders(&self) -> Result<()> {
        for i in self
            .prefix
            .as_bytes()
            .iter()
            .enumerate()
            .filter_map(|(i, b)| (*b == b'/').then_some(i))
        {
            self.folder
                .make_folder(OsStr::from_bytes(self.prefix.as_bytes().at(..i)?))?;
        }
        Ok(())
    }

    /// Makes the entries of all parent folders durable.
    pub fn sync_above(&self) -> Result<()> {
        let mut path = self.path();
        while !path.is_empty() {
            path = io::parent(path);
            self.folder.sync_in(path)?;
        }
        Ok(())
    }

    /// Removes the folder and its parents below `up_to`, as far as they are empty.
    pub fn remove_folders(&self, up_to: &DatasetDir) {
        let mut path = self.path();
        while path.len() > up_to.path().len() {
            let _ = self.folder.remove_folder(path);
            path = io::parent(path);
        }
    }

    /// Returns true if a file or folder with this name exists.
    pub fn has(&self, name: &str) -> Result<bool> {
        self.folder.exists(&self.name(name))
    }

    /// Returns true if the file has exactly these bytes. Allocates no more than `bytes.len()`,
    /// whatever the size of the file is now.
    pub fn content_equals(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let file = match self.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => return Ok(false),
            file => file?,
        };
        if file.as_opened()?.size != bytes.len() as u64 {
            return Ok(false);
        }
        let mut now = alloc::zeroed(bytes.len())?;
        file.read_exact_at(0, &mut now)?;
        Ok(now == bytes)
    }

    /// Reads a metadata file and verifies its checksum, if it has one. Returns `None` if the file
    /// does not exist.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let file = match self.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => return Ok(None),
            file => file?,
        };
        let size = file.as_opened()?.size;
        alloc::allow(size.saturating_mul(PARSED_FACTOR), limit, file.name())?;
        let mut text = alloc::zeroed(size as usize)?;
        file.read_exact_at(0, &mut text)?;
        if !self.is_trusted {
            text_checksum::check(&text).map_err(|e| e.within(file.name()))?;
        }
        Ok(Some(text))
    }
}
