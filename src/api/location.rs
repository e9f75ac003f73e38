//! Where a container is: a path, or a storage of the caller.
#![forbid(unsafe_code)]

use super::{Error, MemoryStorage, Result, Storage, storage};
use crate::array::NewLocation;
use crate::error::{Error as EngineError, Result as EngineResult, fail};
use crate::io::Folder;
use crate::io::memory::MemoryFolder;
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
}

fn path_among_shards(path: &OsStr) -> EngineError {
    fail!(
        Argument,
        "location: the path {} among storages (expected storages only)",
        path.display()
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
                Target::Path(path) | Target::PathAmongShards(path) => {
                    return Location(Target::PathAmongShards(path));
                }
            }
        }
        Location(Target::Folders(folders))
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
