//! Where a container is: a path, or a storage of the caller.
#![forbid(unsafe_code)]

use super::{Error, MemoryStorage, Result, Storage, storage};
use crate::array::NewLocation;
use crate::error::{Error as EngineError, Result as EngineResult, fail};
use crate::io::Folder;
use crate::io::memory::MemoryFolder;
use crate::options::Options as EngineOptions;
use crate::store::{self, Node, NodeLocation, Store as EngineStore, StoreHandle};
use crate::watch::{Source, Watch};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// The location of a container: a path, bytes in memory, or a [`Storage`].
///
/// Functions that open or create a container accept whatever converts to a location. Paths are
/// strings, `Path` and the like. With the feature `cloud`, a path may also name an object:
/// `gs://`, `s3://`, `az://`, `http://` or `https://`.
///
/// A location is `Send`, `Sync` and `Clone`. Creating one opens nothing and cannot fail.
///
/// ```
/// use holdall::{Bag, BagWriter, Location, Options};
/// # let name = format!("holdall-doc-location-{}.bag", std::process::id());
/// # let path = std::env::temp_dir().join(name);
///
/// let mut writer = BagWriter::replace(&path, &Options::new())?;
/// writer.append(b"a record")?;
/// writer.commit()?;
///
/// let bag = Bag::open(Location::memory(std::fs::read(&path)?))?;
/// assert_eq!(bag.get(0)?, b"a record");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Location(Target);

#[derive(Clone)]
enum Target {
    Path(OsString),
    /// Several are the shards of a bag.
    Folders(Vec<Arc<dyn Folder>>),
    /// Invalid: reported by the call that takes the location.
    PathAmongShards(OsString),
    /// A table that consists of the nodes of a store below a path.
    Nodes(Arc<EngineStore>, String),
}

fn path_among_shards(path: &OsStr) -> EngineError {
    fail!(
        Argument,
        "location: the path {} among storages (expected storages only)",
        path.display()
    )
}

fn only_a_table(store: &EngineStore, root: &str) -> EngineError {
    fail!(
        Type,
        "{}: a table (ctable); open it as a table",
        store.show(root)
    )
}

impl Location {
    /// Creates the location of a read-only container in memory. It must be a single file: a folder
    /// needs a [`Storage`].
    pub fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Location {
        Location(Target::Folders(vec![Arc::new(MemoryFolder::new(bytes))]))
    }

    /// Creates the location of a container in a storage of the caller.
    pub fn storage(storage: impl Storage + 'static) -> Location {
        Arc::new(storage).into()
    }

    /// Creates the location of a bag whose shards are in several storages or in memory, in this
    /// order: the file `""` of each. Only [`Bag::open_with`](crate::Bag::open_with) and
    /// [`Bag::open`](crate::Bag::open) accept more than one, and no path may be among them: a path
    /// names several files itself.
    pub fn shards<L: Into<Location>>(storages: impl IntoIterator<Item = L>) -> Location {
        let mut folders = Vec::new();
        for storage in storages {
            match storage.into().0 {
                Target::Folders(more) => folders.extend(more),
                Target::Nodes(store, root) => {
                    return Location(Target::PathAmongShards(store.show(&root).into()));
                }
                Target::Path(path) | Target::PathAmongShards(path) => {
                    return Location(Target::PathAmongShards(path));
                }
            }
        }
        Location(Target::Folders(folders))
    }

    /// Returns the location of a node of a store.
    pub(super) fn node(store: &StoreHandle, node: &str) -> EngineResult<Location> {
        if let Some(location) = store.find(node)? {
            return Ok(Location::of_node(location));
        }
        let store = store.current()?;
        if let (path, Node::Table) = store.node(node)? {
            let path = path.to_owned();
            return Ok(Location(Target::Nodes(store, path)));
        }
        store.locate(node).map(Location::of_node)
    }

    /// Returns a location of a node.
    pub(super) fn of_node(location: NodeLocation) -> Location {
        match location {
            NodeLocation::Path(path) => path.into(),
            NodeLocation::Folder(folder) => Location(Target::Folders(vec![folder])),
        }
    }

    /// Returns the location that a reader was opened from.
    pub(super) fn of(source: &Source) -> Location {
        Location(match source {
            Source::Path(watch) => Target::Path(watch.name().to_owned()),
            Source::Storages(folders) => Target::Folders(folders.clone()),
        })
    }

    /// Returns what a reader opens. `watch` begins to watch a path.
    pub(super) fn source(&self, watch: fn(&OsStr) -> Watch) -> Source {
        match &self.0 {
            Target::Path(path) | Target::PathAmongShards(path) => Source::Path(watch(path)),
            Target::Folders(folders) => Source::Storages(folders.clone()),
            // such a table is not opened again
            Target::Nodes(..) => Source::Storages(Vec::new()),
        }
    }

    /// Returns the store and the path of a table that consists of nodes.
    pub(super) fn nodes(&self) -> Option<(&Arc<EngineStore>, &str)> {
        match &self.0 {
            Target::Nodes(store, root) => Some((store, root)),
            _ => None,
        }
    }

    /// Calls the function of the engine for this location.
    pub(super) fn with<T>(
        &self,
        at_path: impl FnOnce(&OsStr) -> EngineResult<T>,
        in_folder: impl FnOnce(&Arc<dyn Folder>) -> EngineResult<T>,
    ) -> Result<T> {
        self.with_target(|target| match target {
            NewLocation::Path(path) => at_path(path),
            NewLocation::Storage(folder) => in_folder(folder),
        })
    }

    /// Like [`Location::with`], for a container that exists: a path may name a node of a store.
    pub(super) fn with_existing<T>(
        &self,
        options: &EngineOptions,
        at_path: impl FnOnce(&OsStr) -> EngineResult<T>,
        in_folder: impl Fn(&Arc<dyn Folder>) -> EngineResult<T>,
    ) -> Result<T> {
        self.with(
            |path| store::path::open(path, options, at_path, &in_folder),
            &in_folder,
        )
    }

    /// Calls the function of the engine for this location of a bag.
    pub(super) fn with_shards<T>(
        &self,
        at_path: impl FnOnce(&OsStr) -> EngineResult<T>,
        in_folders: impl FnOnce(&[Arc<dyn Folder>]) -> EngineResult<T>,
    ) -> Result<T> {
        match &self.0 {
            Target::Path(path) => at_path(path),
            Target::Folders(folders) => in_folders(folders),
            Target::PathAmongShards(path) => Err(path_among_shards(path)),
            Target::Nodes(store, root) => Err(only_a_table(store, root)),
        }
        .map_err(Error)
    }

    /// Calls a function of the engine that distinguishes paths and storage itself.
    pub(super) fn with_target<T>(
        &self,
        f: impl FnOnce(NewLocation) -> EngineResult<T>,
    ) -> Result<T> {
        match &self.0 {
            Target::Path(path) => f(NewLocation::Path(path)),
            Target::PathAmongShards(path) => Err(path_among_shards(path)),
            Target::Nodes(store, root) => Err(only_a_table(store, root)),
            Target::Folders(folders) => match folders.as_slice() {
                [folder] => f(NewLocation::Storage(folder)),
                _ => Err(fail!(
                    Argument,
                    "location: {} storages (expected 1); only a bag has several",
                    folders.len()
                )),
            },
        }
        .map_err(Error)
    }
}

impl<P: AsRef<OsStr> + ?Sized> From<&P> for Location {
    fn from(path: &P) -> Location {
        Location(Target::Path(path.as_ref().to_owned()))
    }
}

impl From<String> for Location {
    fn from(path: String) -> Location {
        Location(Target::Path(path.into()))
    }
}

impl From<OsString> for Location {
    fn from(path: OsString) -> Location {
        Location(Target::Path(path))
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Location {
        Location(Target::Path(path.into()))
    }
}

impl From<&MemoryStorage> for Location {
    fn from(storage: &MemoryStorage) -> Location {
        Location(Target::Folders(vec![storage.folder()]))
    }
}

impl From<MemoryStorage> for Location {
    fn from(storage: MemoryStorage) -> Location {
        Location::from(&storage)
    }
}

impl From<Arc<dyn Storage>> for Location {
    fn from(storage: Arc<dyn Storage>) -> Location {
        Location(Target::Folders(vec![storage::folder(storage)]))
    }
}

impl<S: Storage + 'static> From<Arc<S>> for Location {
    fn from(storage: Arc<S>) -> Location {
        Location::from(storage as Arc<dyn Storage>)
    }
}
