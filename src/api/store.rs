//! Stores: trees of arrays and superchunks.
#![forbid(unsafe_code)]

use super::{Error, Format, Kind, Location, Options, Result};
use crate::identify::identify_node;
use crate::store::Store as EngineStore;
use std::ffi::OsStr;
use std::sync::Arc;

/// A store of python-blosc2: a tree of arrays and superchunks, its nodes, in a folder (`.b2d`), a zip
/// archive (`.b2z`) or a frame (`.b2e`).
///
/// The path of a node begins with a slash. [`Array::open`](crate::Array::open),
/// [`Schunk::open`](crate::Schunk::open) and [`Table::open`](crate::Table::open) accept what
/// [`Store::node`] returns, and also paths such as `x.b2z/group/a`. Nodes of a folder also open for writing; archives and frames are read-only. A
/// node `__vlmeta__` is a superchunk with the attributes of its group.
///
/// All methods may be called from several threads.
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
pub struct Store(Arc<EngineStore>);

impl Store {
    /// Opens a store for reading, with default options.
    pub fn open(location: impl Into<Location>) -> Result<Store> {
        Store::open_with(location, &Options::new())
    }

    /// Opens a store for reading. It lists the nodes once: open it again to find later ones.
    ///
    /// It fails with [`Status::Format`](crate::Status::Format) if there is no store, or if members of
    /// an archive overlap or lead out of it.
    pub fn open_with(location: impl Into<Location>, options: &Options) -> Result<Store> {
        let options = options.get()?;
        let at_path = |path: &OsStr| EngineStore::open(path, options);
        let in_folder = |folder: &_| EngineStore::open_in(folder, OsStr::new(""), options);
        let store = location.into().with(at_path, in_folder)?;
        Ok(Store(Arc::new(store)))
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.0.format()
    }

    /// Returns the paths of all nodes, in order. A table is one node.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.0.nodes().map(|(path, _)| path)
    }

    /// Returns the format and the kind of a node.
    ///
    /// It fails with [`Status::Missing`](crate::Status::Missing) if there is no such node, with
    /// [`Status::Type`](crate::Status::Type) for a group, with
    /// [`Status::Unsupported`](crate::Status::Unsupported) for a reference to remote content, and
    /// with [`Status::Format`](crate::Status::Format) if two files have this path.
    pub fn identify(&self, node: &str) -> Result<(Format, Kind)> {
        identify_node(&self.0, node).map_err(Error)
    }

    /// Returns the location of a node, to open it. It fails as [`Store::identify`] does.
    pub fn node(&self, node: &str) -> Result<Location> {
        Location::node(&self.0, node).map_err(Error)
    }
}
