//! Object stores: folders of objects, accessed over a network (cargo feature `cloud`). An object is
//! read in ranges and written as a whole. An open object is one version: a later read returns that
//! version or an error.
//!
//! [`name`] parses names. [`store`] sends requests to one bucket or server, and [`runtime`]
//! provides its threads. [`opened`] has the objects of a call. [`folder`] and [`file`] implement
//! the traits of `io`, on [`ranges`] (many reads in few requests) and [`cache`] (fetched bytes).
//! [`upload`] writes. [`message`] has the error messages. Without the feature, names are
//! recognized and opening them is an error that names the feature.
#![forbid(unsafe_code)]

#[cfg(feature = "cloud")]
mod cache;
#[cfg(feature = "cloud")]
mod file;
#[cfg(feature = "cloud")]
mod folder;
#[cfg(feature = "cloud")]
mod message;
#[cfg(feature = "cloud")]
mod name;
#[cfg(feature = "cloud")]
mod opened;
#[cfg(feature = "cloud")]
mod ranges;
#[cfg(feature = "cloud")]
mod runtime;
#[cfg(feature = "cloud")]
mod store;
#[cfg(feature = "cloud")]
mod upload;

#[cfg(feature = "cloud")]
pub use with::*;
#[cfg(not(feature = "cloud"))]
pub use without::*;

#[cfg(feature = "cloud")]
mod with {
    pub use super::file::ObjectFile;
    pub use super::folder::{folder, is_folder, locate};
    pub use super::ranges::{prefetch, read};
    pub use super::store::request_scope;
}

#[cfg(not(feature = "cloud"))]
mod without {
    use crate::error::{Error, Result, fail};
    use crate::io::{Folder, ReadFailure, ReadRange, file::Located};
    use crate::options::Options;
    use std::ffi::OsStr;
    use std::sync::Arc;

    /// An open object; without the feature there is none.
    pub enum ObjectFile {}

    fn absent(text: &OsStr) -> Error {
        fail!(
            Unsupported,
            "{}: this build of the library does not support object stores; build it with the feature `cloud` (cmake -DHOLDALL_CLOUD=ON, cargo --features cloud), or write ./{0} for a local file of this name",
            text.display()
        )
    }

    /// Returns an error: this build has no object stores.
    pub fn locate(_: &str, text: &OsStr) -> Result<Located> {
        Err(absent(text))
    }

    /// Returns an error: this build has no object stores.
    pub fn folder(_: &str, text: &OsStr) -> Result<Arc<dyn Folder>> {
        Err(absent(text))
    }

    /// Returns false: this build has no object stores.
    pub fn is_folder(_: &str, _: &OsStr) -> bool {
        false
    }

    /// Reads nothing: no object can be open.
    pub fn read(_: Vec<(usize, &ObjectFile, Vec<ReadRange<'_>>)>) -> Result<(), ReadFailure> {
        Ok(())
    }

    /// Fetches nothing: no object can be open.
    pub fn prefetch(_: Vec<(usize, &ObjectFile, u64, u64)>) -> Result<(), ReadFailure> {
        Ok(())
    }

    /// A placeholder: this build sends no requests.
    pub struct RequestScope;

    /// Does nothing: this build sends no requests.
    pub fn request_scope(_: &Options) -> RequestScope {
        RequestScope
    }
}
