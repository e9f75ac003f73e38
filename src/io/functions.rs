//! Files provided by the caller's functions. Rust callers implement [`Functions`]; C callers reach
//! it through `capi`.
#![forbid(unsafe_code)]

use super::{Access, File, Folder, lock::Lock};
use crate::error::{Error, Result, Status, fail};
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
    /// Returns the names in a folder; "" is the root.
    fn list(&self, folder: &OsStr) -> FunctionResult<Vec<OsString>>;
    /// Returns whether all functions that writing needs are present.
    fn writable(&self) -> bool {
        true
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

/// A folder whose files are provided by the caller's functions.
pub struct FunctionsFolder(Arc<dyn Functions>);

impl FunctionsFolder {
    /// Creates a folder on these functions.
    pub fn new(f: Arc<dyn Functions>) -> Self {
        FunctionsFolder(f)
    }
}

fn refused(what: &str, name: &str, r: FunctionError) -> Error {
    match r {
        FunctionError::Absent => super::read_only(name),
        FunctionError::Errno(code) => {
            let os = std::io::Error::from_raw_os_error(code);
            let missing = os.kind() == std::io::ErrorKind::NotFound;
            let status = if missing {
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
        let f = FunctionsFile {
            functions: self.0.clone(),
            name: name.into(),
            shown: shown(name),
        };
        match access {
            Access::Create => f.set_size(0)?,
            _ => _ = f.size()?,
        }
        Ok(Arc::new(f))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.0
            .rename(from, to)
            .map_err(|r| refused("rename", &shown(to), r))
    }

    fn remove(&self, name: &OsStr) -> Result<()> {
        self.0
            .remove(name)
            .map_err(|r| refused("remove", &shown(name), r))
    }

    fn sync(&self) -> Result<()> {
        Ok(()) // by contract each function is durable by itself
    }

    fn identity(&self, name: &OsStr) -> Result<Option<u64>> {
        match self.0.size(name) {
            Ok(_) => Ok(Some(0)),
            Err(r) => match refused("size", &shown(name), r) {
                e if e.status == Status::Missing => Ok(None),
                e => Err(e),
            },
        }
    }

    fn lock(&self, _: &OsStr) -> Result<Lock> {
        Ok(Lock::none())
    }

    fn list(&self, name: &OsStr) -> Result<Vec<OsString>> {
        self.0.list(name).map_err(|r| match r {
            FunctionError::Absent => fail!(
                Unsupported,
                "{}: the caller's storage has no function `list`, which folders require",
                shown(name)
            ),
            r => refused("list", &shown(name), r),
        })
    }

    fn writable(&self) -> Result<()> {
        if self.0.writable() {
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

struct FunctionsFile {
    functions: Arc<dyn Functions>,
    name: OsString,
    shown: String,
}

impl File for FunctionsFile {
    fn size(&self) -> Result<u64> {
        self.functions
            .size(&self.name)
            .map_err(|r| refused("size", &self.shown, r))
    }

    fn read_at(&self, at: u64, dst: &mut [u8]) -> Result<usize> {
        if dst.is_empty() {
            return Ok(0);
        }
        let n = self
            .functions
            .read_at(&self.name, at, dst)
            .map_err(|r| refused("read_at", &self.shown, r))?;
        usize::try_from(n)
            .ok()
            .filter(|&n| n <= dst.len())
            .ok_or_else(|| {
                fail!(
                    Callback,
                    "{}: the caller's read_at returned an invalid length (expected at most {}, found {n})",
                    self.shown,
                    dst.len()
                )
            })
    }

    fn write_at(&self, at: u64, src: &[u8]) -> Result<()> {
        self.functions
            .write_at(&self.name, at, src)
            .map_err(|r| refused("write_at", &self.shown, r))
    }

    fn set_size(&self, size: u64) -> Result<()> {
        self.functions
            .truncate(&self.name, size)
            .map_err(|r| refused("truncate", &self.shown, r))
    }

    fn sync(&self) -> Result<()> {
        self.functions
            .sync(&self.name)
            .map_err(|r| refused("sync", &self.shown, r))
    }

    fn name(&self) -> &str {
        &self.shown
    }

    fn is_foreign(&self) -> bool {
        true
    }
}
