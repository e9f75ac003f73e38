//! Where a new array or table is created.
#![forbid(unsafe_code)]

use crate::error::Result;
use crate::io::Folder;
use crate::options::Options;
use crate::superchunk::bloscpack::{Destination, Mode};
use std::ffi::OsStr;
use std::sync::Arc;

/// The location of a new array or table.
#[derive(Clone, Copy)]
pub enum NewLocation<'a> {
    /// At this path.
    Path(&'a OsStr),
    /// In storage of the caller: the file `""`, or the files of a folder.
    Storage(&'a Arc<dyn Folder>),
}

impl<'a> From<&'a OsStr> for NewLocation<'a> {
    fn from(path: &'a OsStr) -> NewLocation<'a> {
        NewLocation::Path(path)
    }
}

impl NewLocation<'_> {
    /// Returns the destination of a copy in one file.
    pub fn destination(self, mode: Mode, options: &Options) -> Result<Destination> {
        match self {
            NewLocation::Path(path) => Destination::at(path, mode, options.clone()),
            NewLocation::Storage(folder) => Ok(Destination {
                folder: folder.clone(),
                name: "".into(),
                mode,
                options: options.clone(),
            }),
        }
    }
}
