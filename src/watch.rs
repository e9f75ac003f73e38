//! Detects that a container may have a newer commit than the one that a reader has open.
//!
//! A watch compares the time stamps of the files that every commit changes. It never misses a commit
//! of this library: where stamps cannot decide, it reports that the container may have changed.
#![forbid(unsafe_code)]

use crate::bag::shard::LIMITS_PREFIX;
use crate::bag::spec;
use crate::error::{Result, fail};
use crate::io::{Folder, beside, locate};
use crate::options::Options;
use crate::os;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files of a folder that a commit or an append of any tool changes, in the folder of an array or
/// frame and in those of the columns of a table.
const CHANGED_FILES: [&str; 8] = [
    "meta/sizes",
    "meta/storage",
    "__attrs__",
    "__rootdirs__",
    "chunks.b2frame",
    "_meta.b2f",
    "_valid_rows.b2nd",
    "_vlmeta.b2f",
];
/// A file that changed this recently may change again without another time stamp.
const GRANULARITY: Duration = Duration::from_millis(50);

/// Identity, length, change stamp and modification time of a file; `None`: it does not exist.
type Stamp = Option<(u64, u64, u64, u64)>;

/// The state of the files of a container at one time.
pub struct Watch {
    container: Container,
    /// The files with their stamps. `None` before [`Watch::again`], if the storage has no stamps, or
    /// if they are too recent.
    files: Option<Vec<(PathBuf, Stamp)>>,
}

/// What is watched.
enum Container {
    /// A file or folder.
    Path(OsString),
    /// The files of a bag.
    Bag(OsString),
}

impl Watch {
    /// Names the superchunk, array or table at a path. The first [`Watch::again`] inspects its files,
    /// so that readers that never follow a writer pay nothing.
    pub fn path(path: &OsStr) -> Watch {
        Watch {
            container: Container::Path(path.to_owned()),
            files: None,
        }
    }

    /// Names the files of a bag, as [`Watch::path`] does.
    pub fn bag(spec: &OsStr) -> Watch {
        Watch {
            container: Container::Bag(spec.to_owned()),
            files: None,
        }
    }

    fn begin(container: Container) -> Watch {
        let now = SystemTime::now();
        // a container that cannot be listed is opened again, which reports the error
        let files = container.files().ok().flatten();
        Watch {
            files: files.filter(|files| files.iter().all(|(_, stamp)| is_conclusive(*stamp, now))),
            container,
        }
    }

    /// Returns whether the container certainly has no newer commit.
    pub fn is_unchanged(&self) -> bool {
        let Some(seen) = &self.files else {
            return false;
        };
        self.container
            .files()
            .is_ok_and(|files| files.as_ref() == Some(seen))
    }

    /// Begins to watch the container. To be called before it is opened.
    pub fn again(&self) -> Watch {
        Watch::begin(match &self.container {
            Container::Path(path) => Container::Path(path.clone()),
            Container::Bag(spec) => Container::Bag(spec.clone()),
        })
    }

    /// Returns the path or the spec.
    pub fn name(&self) -> &OsStr {
        match &self.container {
            Container::Path(name) | Container::Bag(name) => name,
        }
    }
}

/// What a handle for reading was opened from, to open it again at a later commit.
pub enum Source {
    /// A path or the spec of a bag.
    Path(Watch),
    /// Storage of the caller, which has no time stamps.
    Storages(Vec<Arc<dyn Folder>>),
}

/// What a handle for reading was opened from, with the options of the call.
pub type Reopen = (Source, Options);

/// Returns what to open again, or `None` if there certainly is no newer commit.
pub fn reopened(from: Option<&Reopen>) -> Result<Option<Reopen>> {
    let Some((source, options)) = from else {
        return Err(fail!(
            State,
            "only a handle that was opened with HOLDALL_READ can be refreshed"
        ));
    };
    let source = match source {
        Source::Path(watch) if watch.is_unchanged() => return Ok(None),
        Source::Path(watch) => Source::Path(watch.again()),
        Source::Storages(folders) => Source::Storages(folders.clone()),
    };
    Ok(Some((source, options.clone())))
}

impl Container {
    /// Returns the files that commits change, with their stamps; `None` for object stores
    /// and nodes of stores.
    fn files(&self) -> Result<Option<Vec<(PathBuf, Stamp)>>> {
        let paths = match self {
            Container::Path(path) if is_remote(path) => return Ok(None),
            // a node of a store: other files change
            Container::Path(path) if !Path::new(path).exists() => return Ok(None),
            Container::Path(path) => changed_files(Path::new(path)),
            Container::Bag(spec) => {
                let files = spec::expand(spec)?;
                if files.iter().any(|file| is_remote(file)) {
                    return Ok(None);
                }
                files.into_iter().flat_map(bag_files).collect()
            }
        };
        let stamped = |path: PathBuf| {
            let stamp = stamp(&path);
            (path, stamp)
        };
        Ok(Some(paths.into_iter().map(stamped).collect()))
    }
}

fn is_remote(name: &OsStr) -> bool {
    locate::scheme(name).is_some() && !Path::new(name).exists()
}

/// Returns the files whose stamps change with each commit: of a file, itself.
fn changed_files(path: &Path) -> Vec<PathBuf> {
    let mut paths = vec![path.to_owned()];
    if !path.is_dir() {
        return paths;
    }
    // the folder itself changes when a journal is created or removed in it
    let inside = |folder: &Path| CHANGED_FILES.map(|name| folder.join(name));
    paths.extend(inside(path));
    let columns = fs::read_dir(path).into_iter().flatten().flatten();
    let mut columns: Vec<PathBuf> = columns
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    columns.sort();
    paths.extend(columns.iter().flat_map(|column| inside(column)));
    paths
}

fn bag_files(file: OsString) -> [PathBuf; 2] {
    let path = PathBuf::from(file);
    let limits = beside(LIMITS_PREFIX, path.file_name().unwrap_or_default(), "");
    [path.with_file_name(limits), path]
}

fn stamp(path: &Path) -> Stamp {
    let stat = os::stat(path).ok()?;
    let times = (os::stamp(&stat), os::modified(&stat));
    Some((os::identity(&stat), stat.len(), times.0, times.1))
}

/// Returns whether a later change of the file will have another stamp.
fn is_conclusive(stamp: Stamp, now: SystemTime) -> bool {
    let Some((.., modified)) = stamp else {
        return true;
    };
    let Ok(now) = now.duration_since(UNIX_EPOCH) else {
        return false;
    };
    Duration::from_nanos(modified) + GRANULARITY < now
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    fn conclusive(path: &Path) -> Watch {
        sleep(GRANULARITY * 2);
        Watch::path(path.as_os_str()).again()
    }

    #[test]
    fn a_change_of_any_file_is_detected() {
        let folder = std::env::temp_dir().join(format!("holdall-watch-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("column/meta")).unwrap();
        let sizes = folder.join("column/meta/sizes");
        fs::write(&sizes, "1").unwrap();
        let watch = conclusive(&folder);
        assert!(watch.is_unchanged());
        fs::write(&sizes, "2").unwrap();
        assert!(!watch.is_unchanged());
        let watch = conclusive(&folder);
        fs::write(folder.join("__attrs__"), "{}").unwrap();
        assert!(!watch.is_unchanged());
        let watch = conclusive(&sizes);
        fs::write(&sizes, "2").unwrap();
        assert!(!watch.is_unchanged());
        // too recent to decide
        assert!(!watch.again().is_unchanged());
        fs::remove_dir_all(&folder).unwrap();
    }
}
