//! An open store, for reading or for changes.
#![forbid(unsafe_code)]

use super::{NodeLocation, Store, StoreWriter};
use crate::array::NewLocation;
use crate::error::{Result, fail};
use crate::format::{Format, Kind};
use crate::io::Folder;
use crate::options::Options;
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;
use std::sync::Arc;

/// An open store.
pub struct StoreHandle {
    /// The store as it was opened, or as the last commit of this handle left it.
    committed: Arc<Store>,
    writer: Option<StoreWriter>,
}

impl StoreHandle {
    /// Opens the store at a path, for reading or for changes.
    pub fn open(path: &OsStr, mode: Mode, options: &Options) -> Result<StoreHandle> {
        match is_writing(mode)? {
            true => StoreHandle::writing(StoreWriter::open(path, options)?),
            false => Ok(StoreHandle::reading(Store::open(path, options)?)),
        }
    }

    /// Opens the store in a folder of the caller.
    pub fn open_in(folder: &Arc<dyn Folder>, mode: Mode, options: &Options) -> Result<StoreHandle> {
        match is_writing(mode)? {
            true => StoreHandle::writing(StoreWriter::open_in(folder, options)?),
            false => {
                let store = Store::open_in(folder, OsStr::new(""), options)?;
                Ok(StoreHandle::reading(store))
            }
        }
    }

    /// Creates a store at a path, in this format, or that of the end of its name.
    pub fn create(
        path: &OsStr,
        mode: Mode,
        format: Option<Format>,
        options: &Options,
    ) -> Result<StoreHandle> {
        StoreHandle::writing(StoreWriter::create(path, mode, format, options)?)
    }

    /// Creates a store in a folder of the caller.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        mode: Mode,
        format: Option<Format>,
        options: &Options,
    ) -> Result<StoreHandle> {
        StoreHandle::writing(StoreWriter::create_in(folder, mode, format, options)?)
    }

    /// Copies all nodes, as they are stored, to a new store, which is complete or absent.
    pub fn copy(
        &self,
        to: NewLocation,
        mode: Mode,
        format: Option<Format>,
        options: &Options,
    ) -> Result<()> {
        let mut writer = match to {
            NewLocation::Path(path) => StoreWriter::create(path, mode, format, options)?,
            NewLocation::Storage(folder) => StoreWriter::create_in(folder, mode, format, options)?,
        };
        writer.add_all(&*self.current()?)?;
        writer.commit().map(drop)
    }

    fn reading(store: Store) -> StoreHandle {
        StoreHandle {
            committed: Arc::new(store),
            writer: None,
        }
    }

    fn writing(writer: StoreWriter) -> Result<StoreHandle> {
        Ok(StoreHandle {
            committed: Arc::new(writer.view()?),
            writer: Some(writer),
        })
    }

    /// Returns the store as it was opened, or as the last commit of this handle left it.
    pub fn committed(&self) -> &Arc<Store> {
        &self.committed
    }

    /// Returns the store as it is now, with changes that are not committed.
    pub fn current(&self) -> Result<Arc<Store>> {
        match &self.writer {
            Some(writer) => writer.view().map(Arc::new),
            None => Ok(self.committed.clone()),
        }
    }

    /// Returns what to open for a node, for reading or for changes.
    pub fn locate(&self, node: &str, mode: Mode) -> Result<NodeLocation> {
        match is_writing(mode)? {
            true => self.writer()?.locate(node),
            false => match self.find(node)? {
                Some(location) => Ok(location),
                None => self.current()?.locate(node),
            },
        }
    }

    /// Returns what to open for a node to read it, if the store is open for changes and this takes
    /// no list of all nodes.
    pub fn find(&self, node: &str) -> Result<Option<NodeLocation>> {
        match &self.writer {
            Some(writer) => writer.find_to_read(node),
            None => Ok(None),
        }
    }

    /// Returns where a node of this kind is created.
    pub fn locate_new(&self, node: &str, kind: Kind) -> Result<NodeLocation> {
        self.writer()?.locate_new(node, kind)
    }

    /// Removes a node, or all nodes of a group, with the next commit.
    pub fn remove(&mut self, node: &str) -> Result<()> {
        self.writer()?.remove(node)
    }

    /// Makes all changes visible and durable in one step.
    pub fn commit(&mut self) -> Result<()> {
        self.writer()?;
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        if writer.commit()? {
            self.committed = Arc::new(writer.view()?);
        }
        Ok(())
    }

    fn writer(&self) -> Result<&StoreWriter> {
        self.writer.as_ref().ok_or_else(|| {
            fail!(
                State,
                "{}: it was opened for reading",
                self.committed.show("")
            )
        })
    }
}

fn is_writing(mode: Mode) -> Result<bool> {
    match mode {
        Mode::Read => Ok(false),
        Mode::Append => Ok(true),
        Mode::New | Mode::Replace => Err(fail!(
            Argument,
            "wrong mode for opening (expected HOLDALL_READ or HOLDALL_APPEND)"
        )),
    }
}
