//! Files provided by the caller's functions. Rust callers implement [`Functions`]; C callers reach
//! it through `capi`.
//!
//! Where the functions read several ranges at once, the files are remote: [`found`] asks for all that
//! opening needs by one call, and readers fetch what they request by few.
#![forbid(unsafe_code)]

mod file;
mod found;

use super::{Access, File, Folder, lock::Lock};
use crate::error::{Error, Result, Status, fail};
use file::FunctionsFile;
use found::Found;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// The functions of the caller. `Err(n)` is an `errno`. `holdall_storage_functions` documents each
/// function.
pub trait Functions: Send + Sync {
    /// Returns the length of a file; `ENOENT` if it does not exist.
    fn size(&self, name: &OsStr) -> FunctionResult<u64>;
    /// Reads into `dst` and returns the number of bytes, fewer only at the end of the file.
    fn read_at(&self, name: &OsStr, at: u64, dst: &mut [u8]) -> FunctionResult<u64>;
    /// Writes all of `src`.
    fn write_at(&self, name: &OsStr, at: u64, src: &[u8]) -> FunctionResult<()>;
    /// Sets the length. Creates the file if it does not exist.
    fn truncate(&self, name: &OsStr, size: u64) -> FunctionResult<()>;
    /// Makes content and name of a file durable.
    fn sync(&self, name: &OsStr) -> FunctionResult<()>;
    /// Renames a file atomically and durably.
    fn rename(&self, from: &OsStr, to: &OsStr) -> FunctionResult<()>;
    /// Removes a file durably.
    fn remove(&self, name: &OsStr) -> FunctionResult<()>;
    /// Returns whether there is a function `read_ranges`.
    fn reads_ranges(&self) -> bool {
        false
    }
    /// Reads ranges, at once as far as the storage can, and sets the size of each file.
    fn read_ranges(&self, _ranges: &mut [FunctionRange<'_>]) -> FunctionResult<()> {
        Err(FunctionError::Absent)
    }
    /// Returns the names in a folder; "" is the root.
    fn list(&self, folder: &OsStr) -> FunctionResult<Vec<OsString>>;
    /// Returns whether all functions that writing needs are present.
    fn writable(&self) -> bool {
        true
    }
}

const ENOMEM: i32 = 12;

/// A range of a file that the caller's function reads.
pub struct FunctionRange<'a> {
    /// Name of the file.
    pub name: &'a OsStr,
    /// Offset; a negative one is counted from the end of the file, or 0 if the file is shorter.
    pub at: i64,
    /// Destination of what the file has of the range.
    pub dst: &'a mut [u8],
    /// The size of the file, which the function sets.
    pub size: FunctionResult<u64>,
}

impl<'a> FunctionRange<'a> {
    /// Creates a range that is not read yet.
    pub fn new(name: &'a OsStr, at: i64, dst: &'a mut [u8]) -> FunctionRange<'a> {
        FunctionRange {
            name,
            at,
            dst,
            size: Err(FunctionError::Absent),
        }
    }

    /// Returns the offset at which a file of `size` bytes was read, and how many bytes it has there.
    fn found(&self, size: u64) -> (u64, usize) {
        let at = match u64::try_from(self.at) {
            Ok(at) => at,
            Err(_) => size.saturating_sub(self.at.unsigned_abs()),
        };
        let n = usize::try_from(size.saturating_sub(at)).unwrap_or(usize::MAX);
        (at, n.min(self.dst.len()))
    }
}

/// The result of a caller's function.
pub type FunctionResult<T> = std::result::Result<T, FunctionError>;

/// Why a caller's function failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionError {
    /// The function returned this `errno`.
    Errno(i32),
    /// The caller has not provided the function.
    Absent,
}

impl FunctionError {
    /// Returns whether the file does not exist.
    fn is_missing(self) -> bool {
        match self {
            FunctionError::Errno(code) => {
                let os = std::io::Error::from_raw_os_error(code);
                os.kind() == std::io::ErrorKind::NotFound
            }
            FunctionError::Absent => false,
        }
    }
}

/// A folder whose files are provided by the caller's functions.
pub struct FunctionsFolder {
    functions: Arc<dyn Functions>,
    found: Found,
}

impl FunctionsFolder {
    /// Creates a folder on these functions.
    pub fn new(functions: Arc<dyn Functions>) -> Self {
        FunctionsFolder {
            functions,
            found: Found::default(),
        }
    }

    /// Returns the size of a file; `None` if it does not exist.
    fn size(&self, name: &OsStr) -> Result<Option<u64>> {
        let (function, size) = match self.found.get(&*self.functions, name) {
            Some(found) => ("read_ranges", found.map(|file| file.size)),
            None => ("size", self.functions.size(name)),
        };
        match size {
            Ok(size) => Ok(Some(size)),
            Err(r) => match refused(function, &shown(name), r) {
                e if e.status == Status::Missing => Ok(None),
                e => Err(e),
            },
        }
    }
}

fn refused(what: &str, name: &str, r: FunctionError) -> Error {
    match r {
        FunctionError::Absent => super::read_only(name),
        FunctionError::Errno(code) => {
            let os = std::io::Error::from_raw_os_error(code);
            let status = if r.is_missing() {
                Status::Missing
            } else {
                Status::Callback
            };
            Error {
                status,
                os_code: code,
                position: -1,
                message: format!("{name}: the caller's {what} failed: {os}"),
            }
        }
    }
}

fn shown(name: &OsStr) -> String {
    if name.is_empty() {
        "(caller's file)".into()
    } else {
        name.display().to_string()
    }
}

impl Folder for FunctionsFolder {
    fn open(&self, name: &OsStr, access: Access) -> Result<Arc<dyn File>> {
        let mut file = FunctionsFile::new(&self.functions, name);
        match access {
            Access::Create => {
                self.found.forget();
                file.set_size(0)?;
            }
            Access::Write | Access::WriteBeside => {
                self.found.forget();
                file.size()?;
            }
            Access::Read | Access::Map => match self.found.get(&*self.functions, name) {
                Some(Ok(found)) => file.begin_fetching(found),
                Some(Err(r)) => return Err(refused("read_ranges", &shown(name), r)),
                None => _ = file.size()?,
            },
        }
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.found.forget();
        self.functions
            .rename(from, to)
            .map_err(|r| refused("rename", &shown(to), r))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.found.forget();
        self.functions
            .remove(name)
            .map_err(|r| refused("remove", &shown(name), r))
    }

    fn sync(&self) -> Result<()> {
        Ok(()) // by contract each function is durable by itself
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        Ok(self.size(name)?.map(|_| 0))
    }

    fn is_unchanged(&self, name: &OsStr, _: &dyn File, (size, _): (u64, u64)) -> Result<bool> {
        Ok(self.size(name)? == Some(size))
    }

    fn for_opening(&self, names: &'static [&'static str]) -> Option<Arc<dyn Folder>> {
        // a call that opens a container by way of another one has asked before
        (self.functions.reads_ranges() && !self.found.is_used()).then(|| -> Arc<dyn Folder> {
            Arc::new(FunctionsFolder {
                functions: self.functions.clone(),
                found: Found::to_ask(names),
            })
        })
    }

    fn begin_check(&self, names: &dyn Fn() -> Vec<OsString>) {
        self.found.ask_sizes(&*self.functions, names);
    }

    fn end_check(&self) {
        self.found.forget();
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Ok(Lock::none())
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        self.functions.list(name).map_err(|r| match r {
            FunctionError::Absent => fail!(
                Unsupported,
                "{}: the caller's storage has no function `list`, which folders require",
                shown(name)
            ),
            r => refused("list", &shown(name), r),
        })
    }

    fn writable(&self) -> Result<()> {
        if self.functions.writable() {
            Ok(())
        } else {
            Err(super::read_only(&shown(OsStr::new(""))))
        }
    }

    fn show(&self, name: &OsStr) -> String {
        shown(name)
    }

    fn is_foreign(&self) -> bool {
        true
    }
}
