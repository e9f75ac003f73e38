//! Stores: trees of arrays and superchunks.
#![forbid(unsafe_code)]

use super::{Error, Format, Kind, Location, Options, Result};
use crate::identify::identify_in_store;
use crate::store::StoreHandle;
use crate::superchunk::bloscpack::Mode;
use std::ffi::OsStr;

/// A store of python-blosc2: a tree of arrays, superchunks and tables, its nodes, in a folder
/// (`.b2d`), a zip archive (`.b2z`) or a frame (`.b2e`).
///
/// The path of a node begins with a slash. [`Array::open`](crate::Array::open),
/// [`Schunk::open`](crate::Schunk::open) and [`Table::open`](crate::Table::open) accept what
/// [`Store::node`] returns, and also paths such as `x.b2z/group/a`. A node `__vlmeta__` is a
/// superchunk with the attributes of its group.
///
/// All methods may be called from several threads. While a node is open for changes, no other
/// thread may use the store.
///
/// ```no_run
/// use holdall::{Array, Kind, Store};
///
/// let store = Store::open("measurements.b2z")?;
/// for path in store.nodes() {
///     if store.identify(path)?.1 == Kind::Array {
///         println!("{path}: {:?}", Array::open(store.node(path)?)?.shape());
///     }
/// }
/// # Ok::<(), holdall::Error>(())
/// ```
///
/// # Changes
///
/// One commit of a store that is open for changes makes what its nodes have committed visible:
///
/// ```
/// use holdall::{Array, ArrayLayout, Format, Kind, Options, Store};
/// # let name = format!("holdall-doc-store-{}.b2z", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let mut store = Store::replace(&path, None, &Options::new())?;
/// for node in ["/day/1", "/day/2"] {
///     let location = store.new_node(node, Kind::Array)?;
///     let layout = ArrayLayout::new(Format::B2nd);
///     let mut array = Array::create(location, "<f4", &[100], &layout, &Options::new())?;
///     array.write([0..100], &[0.5f32; 100])?;
///     array.commit()?;
/// }
/// store.commit()?;
/// assert_eq!(store.nodes().count(), 2);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store(StoreHandle);

impl Store {
    /// Opens a store for reading, with default options.
    pub fn open(location: impl Into<Location>) -> Result<Store> {
        Store::open_with(location, &Options::new())
    }

    /// Opens a store for reading. It lists the nodes once: open it again to find later ones.
    ///
    /// It fails with [`Status::Format`](crate::Status::Format) if there is no store, or if members
    /// of an archive overlap or lead out of it.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Store> {
        Store::open_as(location.into(), Mode::Read, options)
    }

    /// Opens a store to change several nodes in one commit. It excludes other writers of the store
    /// and of its nodes.
    ///
    /// It fails as [`Store::open_with`] does, and with [`Status::Busy`](crate::Status::Busy) if
    /// another writer has the store or a node open.
    pub fn open_for_writing(location: impl Into<Location>, options: &Options) -> Result<Store> {
        Store::open_as(location.into(), Mode::Append, options)
    }

    fn open_as(location: Location, mode: Mode, options: &Options) -> Result<Store> {
        let options = options.get()?;
        let at_path = |path: &OsStr| StoreHandle::open(path, mode, options);
        let in_folder = |folder: &_| StoreHandle::open_in(folder, mode, options);
        location.with(at_path, in_folder).map(Store)
    }

    /// Creates a store, which exists from its first commit on. It fails with
    /// [`Status::Exists`](crate::Status::Exists) if something is there.
    ///
    /// `format` is [`Format::B2d`], [`Format::B2z`] or [`Format::B2e`]; `None`: by the end of the
    /// path, with which it must agree.
    pub fn create(
        location: impl Into<Location>,
        format: impl Into<Option<Format>>,
        options: &Options,
    ) -> Result<Store> {
        Store::create_as(location.into(), Mode::New, format.into(), options)
    }

    /// Like [`Store::create`]: the first commit replaces all nodes of an existing store.
    pub fn replace(
        location: impl Into<Location>,
        format: impl Into<Option<Format>>,
        options: &Options,
    ) -> Result<Store> {
        Store::create_as(location.into(), Mode::Replace, format.into(), options)
    }

    fn create_as(
        location: Location,
        mode: Mode,
        format: Option<Format>,
        options: &Options,
    ) -> Result<Store> {
        let options = options.get()?;
        let at_path = |path: &OsStr| StoreHandle::create(path, mode, format, options);
        let in_folder = |folder: &_| StoreHandle::create_in(folder, mode, format, options);
        location.with(at_path, in_folder).map(Store)
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.0.committed().format()
    }

    /// Returns the paths of all nodes when the store was opened, or after its last commit, in
    /// order. A table is one node.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.0.committed().nodes().map(|(path, _)| path)
    }

    /// Returns the format and the kind of a node.
    ///
    /// It fails with [`Status::Missing`](crate::Status::Missing) if there is no such node, with
    /// [`Status::Type`](crate::Status::Type) for a group, with
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a reference to remote content, and
    /// with [`Status::Format`](crate::Status::Format) if two files have this path.
    pub fn identify(&self, node: &str) -> Result<(Format, Kind)> {
        identify_in_store(&self.0, node).map_err(Error)
    }

    /// Returns the location of a node, to open it for reading. It fails as [`Store::identify`]
    /// does.
    pub fn node(&self, node: &str) -> Result<Location> {
        Location::node(&self.0, node).map_err(Error)
    }

    /// Returns the location of a node, to open it for changes: what the node commits is part of the
    /// next commit of the store.
    ///
    /// It fails as [`Store::identify`] does, and with [`Status::State`](crate::Status::State) if
    /// the store was opened for reading.
    pub fn node_for_writing(&self, node: &str) -> Result<Location> {
        let location = self.0.locate(node, Mode::Append);
        location.map(Location::of_node).map_err(Error)
    }

    /// Returns the location at which a node of this kind is created, as a copy, or replaced: an
    /// array ([`Format::B2nd`]), a superchunk ([`Format::B2Frame`]) or a table
    /// ([`Format::CTable`]). Groups of the path need not exist.
    ///
    /// It fails with [`Status::Exists`](crate::Status::Exists) if a node of another kind has this
    /// path, or a table is above or below it; with [`Status::Argument`](crate::Status::Argument) if
    /// a step of the path is `""` or `".."`, for example; with
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a table in a `.b2e` store.
    pub fn new_node(&self, node: &str, kind: Kind) -> Result<Location> {
        let location = self.0.locate_new(node, kind);
        location.map(Location::of_node).map_err(Error)
    }

    /// Copies all nodes, as they are stored, to a new store of another or the same format, which is
    /// complete or absent. `format`: as for [`Store::create`].
    ///
    /// It fails as that does, and with [`Status::Unsupported`](crate::Status::Unsupported) for a
    /// table that would be in a `.b2e` store. References to remote content remain references.
    pub fn copy_to(
        &self,
        location: impl Into<Location>,
        format: impl Into<Option<Format>>,
        options: &Options,
    ) -> Result<()> {
        self.copy(&location.into(), Mode::New, format.into(), options)
    }

    /// Like [`Store::copy_to`]. The copy replaces an existing store.
    pub fn copy_replacing(
        &self,
        location: impl Into<Location>,
        format: impl Into<Option<Format>>,
        options: &Options,
    ) -> Result<()> {
        self.copy(&location.into(), Mode::Replace, format.into(), options)
    }

    fn copy(
        &self,
        location: &Location,
        mode: Mode,
        format: Option<Format>,
        options: &Options,
    ) -> Result<()> {
        let options = options.get()?;
        location.with_target(|to| self.0.copy(to, mode, format, options))
    }

    /// Removes a node, or a group with all its nodes, with the next commit. No handle of it may be
    /// open.
    ///
    /// It fails with [`Status::Missing`](crate::Status::Missing) if there is no such node.
    pub fn remove(&mut self, node: &str) -> Result<()> {
        self.0.remove(node).map_err(Error)
    }

    /// Commits the changes that nodes have committed, and removals: all of them become visible and
    /// durable in one step. What a node has not committed stays pending in its handle. An archive
    /// or a frame is written again.
    ///
    /// It fails with [`Status::State`](crate::Status::State) if another program has changed a node,
    /// and with [`Status::Unsupported`](crate::Status::Unsupported) if a node was created in
    /// another format.
    pub fn commit(&mut self) -> Result<()> {
        self.0.commit().map_err(Error)
    }
}
