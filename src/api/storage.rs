//! Storage that the caller implements.
#![forbid(unsafe_code)]

use super::{Error, Result};
use crate::io::Folder;
use crate::io::functions::{
    FunctionError, FunctionRange, FunctionResult, Functions, FunctionsFolder,
};
use crate::io::memory_files::MemoryFiles;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

/// A set of named files in which a container is stored: object-safe, implemented by the caller.
///
/// A container that is a single file has the name `""`; files beside it have names such as
/// `".holdall-journal"`. A folder has its files, with `/` between folder and file:
/// `"meta/sizes"`. Several threads may call a storage at once.
///
/// There is no lock: the caller must ensure that a container has a single writer.
///
/// # Errors
///
/// A missing file must be [`io::ErrorKind::NotFound`], and a method that the storage does not have
/// [`io::ErrorKind::Unsupported`]: a read-only storage returns it from the methods that write.
/// Every other error fails the call with [`Status::Callback`](crate::Status::Callback) and the
/// code of the operating system in the error, or `EIO` if the error has none.
///
/// # Examples
///
/// ```
/// use holdall::{Bag, BagWriter, Location, Options, Storage};
/// use std::collections::BTreeMap;
/// use std::io::{Error, ErrorKind, Result};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);
///
/// impl Memory {
///     fn file<T>(&self, name: &str, f: impl FnOnce(&mut Vec<u8>) -> T) -> Result<T> {
///         self.0.lock().unwrap().get_mut(name).map(f).ok_or(Error::from(ErrorKind::NotFound))
///     }
/// }
///
/// impl Storage for Memory {
///     fn size(&self, name: &str) -> Result<u64> {
///         self.file(name, |f| f.len() as u64)
///     }
///     fn read_at(&self, name: &str, at: u64, dst: &mut [u8]) -> Result<usize> {
///         self.file(name, |f| {
///             let rest = f.get(at as usize..).unwrap_or_default();
///             let n = rest.len().min(dst.len());
///             dst[..n].copy_from_slice(&rest[..n]);
///             n
///         })
///     }
///     fn write_at(&self, name: &str, at: u64, src: &[u8]) -> Result<()> {
///         self.file(name, |f| {
///             let end = at as usize + src.len();
///             f.resize(f.len().max(end), 0);
///             f[at as usize..end].copy_from_slice(src);
///         })
///     }
///     fn truncate(&self, name: &str, size: u64) -> Result<()> {
///         self.0.lock().unwrap().entry(name.into()).or_default().resize(size as usize, 0);
///         Ok(())
///     }
///     fn sync(&self, _: &str) -> Result<()> {
///         Ok(())
///     }
///     fn rename(&self, from: &str, to: &str) -> Result<()> {
///         let mut files = self.0.lock().unwrap();
///         let file = files.remove(from).ok_or(Error::from(ErrorKind::NotFound))?;
///         files.insert(to.into(), file);
///         Ok(())
///     }
///     fn remove(&self, name: &str) -> Result<()> {
///         self.0.lock().unwrap().remove(name).map(|_| ()).ok_or(Error::from(ErrorKind::NotFound))
///     }
///     fn list(&self, folder: &str) -> Result<Vec<String>> {
///         let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
///         let files = self.0.lock().unwrap();
///         let inside = files.keys().filter_map(|name| name.strip_prefix(&prefix));
///         let mut names: Vec<String> =
///             inside.map(|name| name.split('/').next().unwrap_or_default().into()).collect();
///         names.dedup();
///         Ok(names)
///     }
/// }
///
/// let storage = Arc::new(Memory::default());
/// let mut writer = BagWriter::create(storage.clone(), &Options::new())?;
/// writer.append(b"a record")?;
/// writer.commit()?;
/// assert_eq!(Bag::open(storage)?.get(0)?, b"a record");
/// # Ok::<(), holdall::Error>(())
/// ```
pub trait Storage: Send + Sync {
    /// Returns the length of a file in bytes.
    fn size(&self, name: &str) -> io::Result<u64>;
    /// Reads into `dst` from offset `at` on and returns the number of bytes read. It must fill
    /// `dst` except at the end of the file.
    fn read_at(&self, name: &str, at: u64, dst: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `src` at offset `at`. Extends the file if necessary; a gap reads as zeros.
    fn write_at(&self, name: &str, at: u64, src: &[u8]) -> io::Result<()>;
    /// Sets the length of a file. Creates the file if it does not exist.
    fn truncate(&self, name: &str, size: u64) -> io::Result<()>;
    /// Makes the content and the name of a file durable.
    fn sync(&self, name: &str) -> io::Result<()>;
    /// Renames a file, atomically and durably. An existing file `to` is replaced.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file durably.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Returns the names of the files and folders in a folder; `""` is the root. Only containers
    /// that are folders need it.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;
    /// Reads ranges, at once or one by one. Sets [`StorageRange::size`] of each; an error fails
    /// all.
    ///
    /// It is called if [`Storage::reads_ranges`] is true: frames and bags are then opened and read
    /// with few calls of it. Writers and folders call the other methods.
    fn read_ranges(&self, _ranges: &mut [StorageRange<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Returns whether the storage has [`Storage::read_ranges`]. A storage in which each call takes
    /// long should have it.
    fn reads_ranges(&self) -> bool {
        false
    }
}

/// A range of a file for [`Storage::read_ranges`].
pub struct StorageRange<'a> {
    /// The file.
    pub name: &'a str,
    /// Offset of the range. If it is negative, it is counted from the end of the file, and the
    /// range begins at 0 if the file is shorter.
    pub at: i64,
    /// Destination of the bytes that the file has of the range; it may be empty.
    pub dst: &'a mut [u8],
    /// To be set: the length of the file in bytes, or an error as of [`Storage::size`].
    pub size: io::Result<u64>,
}

/// Files in memory that can be written: a container that is no file.
///
/// A container of one file, such as a frame, has the name `""`. Clones share the files. Writers
/// exclude each other as on a disk. All methods may be called from several threads.
///
/// # Examples
///
/// ```
/// use holdall::{Array, ArrayLayout, Format, MemoryStorage, Options};
///
/// let memory = MemoryStorage::new();
/// let layout = ArrayLayout::new(Format::B2nd);
/// let mut array = Array::create(&memory, "<i4", &[3], &layout, &Options::new())?;
/// array.write([0..3], &[1i32, 2, 3])?;
/// array.commit()?;
///
/// let frame = memory.bytes("")?; // the bytes of a .b2nd file, not copied
/// let other = MemoryStorage::new();
/// other.put("", frame.to_vec());
/// assert_eq!(Array::open(&other)?.shape(), [3]);
/// # Ok::<(), holdall::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryStorage(Arc<MemoryFiles>);

impl MemoryStorage {
    /// Creates a storage without files.
    pub fn new() -> MemoryStorage {
        MemoryStorage::default()
    }

    /// Returns the names of all files, in order.
    pub fn names(&self) -> Vec<OsString> {
        self.0.names()
    }

    /// Returns the content of a file as of now, without a copy. A later commit does not change it:
    /// the first one copies the file.
    ///
    /// It fails with [`Status::Missing`](crate::Status::Missing) if the file does not exist.
    pub fn bytes(&self, name: impl AsRef<OsStr>) -> Result<Arc<Vec<u8>>> {
        self.0.snapshot(name.as_ref()).map_err(Error)
    }

    /// Stores a file. Replaces a file of this name; open handles keep the previous one.
    pub fn put(&self, name: impl AsRef<OsStr>, bytes: Vec<u8>) {
        self.0.put(name.as_ref(), bytes);
    }

    pub(super) fn folder(&self) -> Arc<dyn Folder> {
        self.0.clone()
    }
}

/// Returns the folder of the engine on top of a storage.
pub(super) fn folder(storage: Arc<dyn Storage>) -> Arc<dyn Folder> {
    Arc::new(FunctionsFolder::new(Arc::new(Adapter(storage))))
}

struct Adapter(Arc<dyn Storage>);

/// The numbers that POSIX systems and Windows's C library agree on.
const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EINVAL: i32 = 22;

fn failed(error: io::Error) -> FunctionError {
    match error.kind() {
        io::ErrorKind::NotFound => FunctionError::Errno(ENOENT),
        io::ErrorKind::Unsupported => FunctionError::Absent,
        _ => FunctionError::Errno(error.raw_os_error().unwrap_or(EIO)),
    }
}

fn text(name: &OsStr) -> FunctionResult<&str> {
    name.to_str().ok_or(FunctionError::Errno(EINVAL))
}

impl Functions for Adapter {
    fn size(&self, name: &OsStr) -> FunctionResult<u64> {
        self.0.size(text(name)?).map_err(failed)
    }
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> FunctionResult<u64> {
        let n = self.0.read_at(text(name)?, at, dst).map_err(failed)?;
        Ok(n as u64)
    }
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> FunctionResult<()> {
        self.0.write_at(text(name)?, at, src).map_err(failed)
    }
    fn truncate(&self, name: &OsStr, size: u64) -> FunctionResult<()> {
        self.0.truncate(text(name)?, size).map_err(failed)
    }
    fn sync(&self, name: &OsStr) -> FunctionResult<()> {
        self.0.sync(text(name)?).map_err(failed)
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> FunctionResult<()> {
        self.0.rename(text(from)?, text(to)?).map_err(failed)
    }
    fn remove(&self, name: &OsStr) -> FunctionResult<()> {
        self.0.remove(text(name)?).map_err(failed)
    }
    fn reads_ranges(&self) -> bool {
        self.0.reads_ranges()
    }
    fn read_ranges(&self, ranges: &mut [FunctionRange<'_>]) -> FunctionResult<()> {
        let all = ranges.iter_mut().map(|range| {
            Ok(StorageRange {
                name: text(range.name)?,
                at: range.at,
                dst: &mut *range.dst,
                size: Err(io::ErrorKind::Other.into()),
            })
        });
        let mut all = all.collect::<FunctionResult<Vec<_>>>()?;
        self.0.read_ranges(&mut all).map_err(failed)?;
        let sizes: Vec<_> = all.into_iter().map(|range| range.size).collect();
        for (range, size) in ranges.iter_mut().zip(sizes) {
            range.size = size.map_err(failed);
        }
        Ok(())
    }
    fn list(&self, folder: &OsStr) -> FunctionResult<Vec<OsString>> {
        let names = self.0.list(text(folder)?).map_err(failed)?;
        Ok(names.into_iter().map(OsString::from).collect())
    }
}
