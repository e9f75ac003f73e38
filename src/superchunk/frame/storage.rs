//! The files of a frame: one file, or a folder with an index file and one file per chunk.
#![forbid(unsafe_code)]

use super::in_store;
use crate::error::Result;
use crate::io::journal::{self, Container, Mode, PART, Session};
use crate::io::{Folder, OWN_SUFFIX, beside};
use crate::options::Options;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

/// The file in a folder that holds everything except the chunks.
const INDEX: &str = "chunks.b2frame";
/// The files that opening for reading looks for.
pub const LOOKED_FOR: &[&str] = &["", INDEX, journal::SUFFIX];
const CHUNK: &str = ".chunk";

/// The location of a frame: a file, or a folder with one file per chunk.
#[derive(Clone)]
pub struct FrameStorage {
    /// The frame's own folder, or its parent.
    pub folder: Arc<dyn Folder>,
    /// The name of the file or folder in `folder`; "" if `folder` is the frame's own folder.
    pub name: OsString,
    /// Is the frame a folder?
    pub sparse: bool,
}

impl FrameStorage {
    /// Finds out whether the name is a file or a folder.
    pub fn find(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<FrameStorage> {
        let mut storage = FrameStorage {
            folder: folder.clone(),
            name: name.into(),
            sparse: true,
        };
        // an object is no folder; this asks the store nothing that opening the object does not
        if folder.is_store() && !name.is_empty() && folder.exists(name).unwrap_or(false) {
            storage.sparse = false;
            return Ok(storage);
        }
        storage.sparse = match folder.exists(&storage.main()) {
            // the name is a file, so that it has no entries
            Err(e) if !e.is_system_failure() => false,
            there => there?,
        };
        Ok(storage)
    }

    /// Is it a folder that holds only files that a writer creates before its first commit?
    pub fn is_uncommitted(&self) -> Result<bool> {
        let names = self.names()?;
        Ok(!names.is_empty() && names.iter().all(|name| self.is_frame_file(name)))
    }

    /// Returns a file in the folder that no frame writer created.
    pub fn foreign_file(&self) -> Result<Option<OsString>> {
        Ok(self
            .names()?
            .into_iter()
            .find(|name| !self.is_frame_file(name)))
    }

    /// Returns the names in the folder; none if the folder does not exist.
    fn names(&self) -> Result<Vec<OsString>> {
        match self.folder.list(&self.name) {
            Err(e) if !e.is_system_failure() => Ok(Vec::new()),
            names => names,
        }
    }

    fn is_frame_file(&self, name: &OsStr) -> bool {
        let name = name.to_str().unwrap_or_default();
        let beside = |rest: &str| rest.is_empty() || rest.starts_with(OWN_SUFFIX);
        self.chunk_number(name).is_some() || name.strip_prefix(INDEX).is_some_and(beside)
    }

    /// Returns the number of the chunk file with this name.
    fn chunk_number(&self, name: &str) -> Option<u64> {
        let chunk_number = u64::from_str_radix(name.strip_suffix(CHUNK)?, 16).ok()?;
        (self.chunk_path(chunk_number) == self.path_in_folder(name)).then_some(chunk_number)
    }

    fn path_in_folder(&self, name: &str) -> OsString {
        Path::new(&self.name).join(name).into()
    }

    /// Returns the file with header, index and trailer.
    pub fn main(&self) -> OsString {
        if self.sparse {
            self.path_in_folder(INDEX)
        } else {
            self.name.clone()
        }
    }

    /// Returns the file of a chunk.
    pub fn chunk_path(&self, chunk_number: u64) -> OsString {
        self.path_in_folder(&format!("{chunk_number:08X}{CHUNK}"))
    }

    /// Returns the numbers of all chunk files in the folder, referenced or not.
    pub fn chunk_numbers(&self) -> Result<Vec<u64>> {
        let chunk_number = |name: &OsString| self.chunk_number(name.to_str()?);
        Ok(self
            .folder
            .list(&self.name)?
            .iter()
            .filter_map(chunk_number)
            .collect())
    }

    /// Returns the files that are committed together.
    pub fn container(&self) -> Container {
        Container::new(&self.folder, self.main(), &[""])
    }

    /// Returns the temporary file that holds the chunks of a new frame until the first commit.
    pub fn temporary_file(&self) -> OsString {
        beside("", &self.main(), PART)
    }

    /// Returns the location of a frame in one file of a container that commits several frames
    /// together.
    pub fn of_member(session: &Session, name: &OsStr) -> FrameStorage {
        FrameStorage {
            folder: session.container().folder.clone(),
            name: name.into(),
            sparse: false,
        }
    }

    /// Opens the session of a writer and removes the leftovers of an interrupted one.
    pub fn open_session(&self, mode: Mode, options: &Options) -> Result<Arc<Session>> {
        let container = in_store::part_of_store(self.container());
        let session = Session::open(container, self.show(), mode, options)?;
        if !self.sparse {
            self.folder.remove_if_there(&self.temporary_file())?;
        }
        Ok(Arc::new(session))
    }

    /// Returns the name for messages.
    pub fn show(&self) -> String {
        self.folder.show(&self.name)
    }
}
