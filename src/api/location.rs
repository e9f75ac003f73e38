//! Where a container is: a path, or a storage of the caller.
#![forbid(unsafe_code)]

use super::{Result, Storage, storage};
use crate::error::Result as EngineResult;
use crate::io::Folder;
use crate::io::memory::MemoryFolder;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// The location of a container: a path, bytes in memory, or a [`Storage`].
///
/// Functions that open or create a container accept whatever converts to a location. Paths are
/// strings, `Path` and the like. With the feature `cloud`, a path may also name an object:
/// `gs://`, `s3://`, `az://`, `http://` or `https://`.
///
/// ```
/// use holdall::{Bag, BagWriter, Location, Options};
/// # let path = std::env::temp_dir().join(format!("holdall-doc-location-{}.bag", std::process::id()));
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
    Folder(Arc<dyn Folder>),
}

impl Location {
    /// Creates the location of a read-only container in memory. It must be a single file: a folder
    /// needs a [`Storage`].
    pub fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Location {
        Location(Target::Folder(Arc::new(MemoryFolder::new(bytes))))
    }

    /// Creates the location of a container in a storage of the caller.
    pub fn storage(storage: impl Storage + 'static) -> Location {
        Arc::new(storage).into()
    }

    /// Calls the function of the engine for this location.
    pub(super) fn with<T>(
        &self,
        at_path: impl FnOnce(&OsStr) -> EngineResult<T>,
        in_folder: impl FnOnce(&Arc<dyn Folder>) -> EngineResult<T>,
    ) -> Result<T> {
        Ok(match &self.0 {
            Target::Path(path) => at_path(path)?,
            Target::Folder(folder) => in_folder(folder)?,
        })
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

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Location {
        Location(Target::Path(path.into()))
    }
}

impl From<Arc<dyn Storage>> for Location {
    fn from(storage: Arc<dyn Storage>) -> Location {
        Location(Target::Folder(storage::folder(storage)))
    }
}

impl<S: Storage + 'static> From<Arc<S>> for Location {
    fn from(storage: Arc<S>) -> Location {
        Location::from(storage as Arc<dyn Storage>)
    }
}
