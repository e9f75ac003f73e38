//! Where a frame lives: one file, or a folder with an index and a file a chunk.
#![forbid(unsafe_code)]

use crate::error::Result;
use crate::io::journal::Container;
use crate::io::{Folder, beside};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

/// The file in a folder that holds all but the chunks.
const INDEX: &str = "chunks.b2frame";
const CHUNK: &str = ".chunk";

/// See the top of the file.
#[derive(Clone)]
pub struct Site {
    /// Its folder, or where that is.
    pub folder: Arc<dyn Folder>,
    /// The name of its file, or of its own folder; "" where the folder above is its own.
    pub name: OsString,
    /// Is it a folder?
    pub sparse: bool,
}

impl Site {
    /// What has this name.
    pub fn find(folder: &Arc<dyn Folder>, name: &OsStr) -> Result<Site> {
        let mut site = Site {
            folder: folder.clone(),
            name: name.into(),
            sparse: true,
        };
        site.sparse = match folder.exists(&site.main()) {
            // a file is no folder to look into
            Err(e) if !e.is_of_system() => false,
            there => there?,
        };
        Ok(site)
    }

    /// Is it a folder in which nothing is but what a writer has put there before its first commit?
    pub fn is_begun(&self) -> Result<bool> {
        let names = self.names()?;
        Ok(!names.is_empty() && names.iter().all(|name| self.is_ours(name)))
    }

    /// Something in its folder that no frame has put there.
    pub fn stranger(&self) -> Result<Option<OsString>> {
        Ok(self.names()?.into_iter().find(|name| !self.is_ours(name)))
    }

    /// What is in its folder; nothing where there is none.
    fn names(&self) -> Result<Vec<OsString>> {
        match self.folder.list(&self.name) {
            Err(e) if !e.is_of_system() => Ok(Vec::new()),
            names => names,
        }
    }

    fn is_ours(&self, name: &OsStr) -> bool {
        let name = name.to_str().unwrap_or_default();
        let beside = |rest: &str| rest.is_empty() || rest.starts_with(".holdall-");
        self.number(name).is_some() || name.strip_prefix(INDEX).is_some_and(beside)
    }

    /// The chunk whose file has this name in its folder.
    fn number(&self, name: &str) -> Option<u64> {
        let number = u64::from_str_radix(name.strip_suffix(CHUNK)?, 16).ok()?;
        (self.chunk(number) == self.within(name)).then_some(number)
    }

    fn within(&self, name: &str) -> OsString {
        Path::new(&self.name).join(name).into()
    }

    /// The file with header, index and trailer.
    pub fn main(&self) -> OsString {
        if self.sparse {
            self.within(INDEX)
        } else {
            self.name.clone()
        }
    }

    /// The file of a chunk.
    pub fn chunk(&self, number: u64) -> OsString {
        self.within(&format!("{number:08X}{CHUNK}"))
    }

    /// The chunks that are there as files, whoever needs them.
    pub fn chunks(&self) -> Result<Vec<u64>> {
        let number = |name: &OsString| self.number(name.to_str()?);
        Ok(self
            .folder
            .list(&self.name)?
            .iter()
            .filter_map(number)
            .collect())
    }

    /// What is committed together.
    pub fn container(&self) -> Container {
        Container::new(&self.folder, self.main(), &[""])
    }

    /// Where the chunks of a new file wait for the first commit.
    pub fn part(&self) -> OsString {
        beside("", &self.main(), ".holdall-part")
    }

    /// Name for messages.
    pub fn show(&self) -> String {
        self.folder.show(&self.name)
    }
}
