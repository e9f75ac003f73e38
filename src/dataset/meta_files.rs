//! Further files in `meta/`, which the BLZ RFC allows beside its own: bytes by name.
//!
//! A file is read when it is requested, so that opening an array does not depend on them. Changes
//! are in memory until the commit, which writes them with all other changes of the array.
#![forbid(unsafe_code)]

use super::attrs::FILES;
use super::folder::{DatasetDir, is_valid_entry_name};
use super::meta::{SIZES, STORAGE};
use crate::alloc;
use crate::array::Array;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, is_own_file};
use std::collections::BTreeMap;

/// The folder, with a slash.
const FOLDER: &str = "meta/";
/// Bytes of the longest name: file systems have 255, of which the names of new files need some.
const MAX_NAME: usize = 200;

/// The further files of an array, or of a table in the BLZ RFC layout.
#[derive(Clone, Default)]
pub struct MetaFiles {
    /// The folder of the array or of the table; `None` if the metadata is that of a table.
    dir: Option<DatasetDir>,
    /// True if the files in the folder are those of an array that the commit replaces.
    is_replaced: bool,
    /// What the next commit writes; `None`: it removes the file.
    changes: BTreeMap<String, Option<Vec<u8>>>,
}

/// Returns whether a path in the folder of an array is that of a further file.
pub fn is_path(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(is_name)
}

/// Returns the path of a further file in the folder of an array.
fn path_of(name: &str) -> String {
    format!("{FOLDER}{name}")
}

fn is_name(name: &str) -> bool {
    let is_own = [SIZES, STORAGE, FILES[1]]
        .into_iter()
        .filter_map(|path| path.strip_prefix(FOLDER))
        .any(|own| own.eq_ignore_ascii_case(name));
    is_valid_entry_name(name)
        && !is_own
        && !name.starts_with('.')
        && !is_own_file(name)
        && name.len() <= MAX_NAME
}

impl MetaFiles {
    /// Returns the further files of the array in `dir`.
    pub fn of(dir: &DatasetDir, is_replaced: bool) -> MetaFiles {
        MetaFiles {
            dir: Some(dir.clone()),
            is_replaced,
            changes: BTreeMap::new(),
        }
    }

    /// Returns the names of the files in the folder, in order.
    fn in_folder(&self) -> Result<Vec<String>> {
        let Some(dir) = &self.dir else {
            return Ok(Vec::new());
        };
        let below = dir.name(FOLDER.trim_end_matches('/'));
        let entries = match dir.folder().list(&below) {
            // nothing was committed, or the storage cannot list files
            Err(e) if matches!(e.status, Status::Missing | Status::Unsupported) => Vec::new(),
            entries => entries?,
        };
        let mut names = Vec::new();
        for name in entries.iter().filter_map(|name| name.to_str()) {
            let path = dir.name(&path_of(name));
            if is_name(name) && dir.folder().obstacle(&path)?.is_none() {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns the names of the files, in order.
    pub fn names(&self) -> Result<Vec<String>> {
        let mut names = if self.is_replaced {
            Vec::new()
        } else {
            self.in_folder()?
        };
        names.retain(|name| !self.changes.contains_key(name));
        let new = self.changes.iter().filter(|(_, bytes)| bytes.is_some());
        names.extend(new.map(|(name, _)| name.clone()));
        names.sort();
        Ok(names)
    }

    /// Returns the bytes of a file, or `None` if it does not exist. Allocates at most `limit` bytes.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        check(name)?;
        if let Some(changed) = self.changes.get(name) {
            return Ok(changed.clone());
        }
        let Some(dir) = self.dir.as_ref().filter(|_| !self.is_replaced) else {
            return Ok(None);
        };
        let file = match dir.open(&path_of(name), Access::Read) {
            Err(e) if e.status == Status::Missing => return Ok(None),
            file => file?,
        };
        let size = alloc::allow(file.as_opened()?.size, limit, file.name())?;
        let mut bytes = alloc::zeroed(size)?;
        file.read_exact_at(0, &mut bytes)?;
        Ok(Some(bytes))
    }

    /// Sets the bytes of a file, or removes it.
    pub fn set(&mut self, name: &str, bytes: Option<&[u8]>) -> Result<()> {
        check(name)?;
        let bytes = match bytes {
            Some(bytes) => {
                let mut copy = alloc::with_capacity(bytes.len())?;
                copy.extend_from_slice(bytes);
                Some(copy)
            }
            None => None,
        };
        self.changes.insert(name.to_owned(), bytes);
        Ok(())
    }

    /// Returns whether the next commit writes or removes files.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns the paths and the bytes of the files that the next commit writes.
    pub fn written(&self) -> impl Iterator<Item = (String, &[u8])> {
        let written = |(name, bytes): (&String, _)| Some((path_of(name), Option::as_deref(bytes)?));
        self.changes.iter().filter_map(written)
    }

    /// Returns the paths of the files that the next commit removes.
    pub fn removed(&self) -> Result<Vec<String>> {
        if !self.is_replaced && self.changes.values().all(Option::is_some) {
            return Ok(Vec::new());
        }
        let is_removed = |name: &String| match self.changes.get(name) {
            Some(change) => change.is_none(),
            None => self.is_replaced,
        };
        let names = self.in_folder()?.into_iter().filter(is_removed);
        Ok(names.map(|name| path_of(&name)).collect())
    }

    /// Updates the state after a commit.
    pub fn finish_commit(&mut self) {
        self.changes.clear();
        self.is_replaced = false;
    }

    /// Removes all files of an array that is no longer part of a table.
    pub fn remove_all(dir: &DatasetDir) {
        let files = MetaFiles::of(dir, true).removed().unwrap_or_default();
        for path in files {
            let _ = dir.folder().remove_if_there(&dir.name(&path));
        }
    }
}

fn check(name: &str) -> Result<()> {
    match is_name(name) {
        true => Ok(()),
        false => Err(invalid(name)),
    }
}

fn invalid(name: &str) -> Error {
    fail!(
        Argument,
        "{name:?} is not a valid name of a file in {FOLDER} (expected 1 to {MAX_NAME} bytes without a slash or a leading dot, and none of sizes, storage, attributes)"
    )
}

/// Sets all further files of an array in another one.
pub fn copy(from: &Array, to: &mut Array) -> Result<()> {
    for name in from.store().meta_file_names()? {
        let bytes = from.store().meta_file(&name)?;
        to.store_mut()?.meta_file_set(&name, bytes.as_deref())?;
    }
    Ok(())
}

/// Fails if the array has further files, which no other format can store.
pub fn refuse(array: &Array) -> Result<()> {
    let store = array.store();
    refuse_files(store.name(), &store.meta_file_names()?, "a dataset")
}

/// Fails if there are files. `to` is the format that can store them.
pub fn refuse_files(name: &str, files: &[String], to: &str) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    Err(fail!(
        Unsupported,
        "{name}: its files {FOLDER}{} cannot be stored in this format; copy it to {to}, or remove them",
        files.join(&format!(", {FOLDER}"))
    ))
}
