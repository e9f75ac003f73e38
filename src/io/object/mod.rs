//! Object stores: folders of objects, reached by a network (the cargo feature `cloud`). An object
//! is read in parts and written whole; it is one version of what it was opened as, or an error.
//!
//! [`name`] takes names apart, [`store`] asks one bucket or server, [`runtime`] has the threads for
//! it; [`folder`] and [`file`] are what formats see, over [`ranges`] (many reads by few requests)
//! and [`kept`] (what was read); [`upload`] writes. [`words`] are for what goes wrong. Without the
//! feature there is a name, and words on how to get it.
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
    pub use super::ranges::{keep, read};
    pub use super::store::{Asking, ask_as};
}

#[cfg(not(feature = "cloud"))]
mod without {
    use crate::error::{Error, Result, fail};
    use crate::io::{Folder, Part, Unread, file::Located};
    use crate::options::Options;
    use std::ffi::OsStr;
    use std::sync::Arc;

    /// An open object, of which there is none.
    pub enum ObjectFile {}

    fn absent(text: &OsStr) -> Error {
        fail!(
            Unsupported,
            "{}: this build of the library does not reach object stores; one with its feature `cloud` does (cmake -DHOLDALL_CLOUD=ON, cargo --features cloud). A local file of this name is ./{0}",
            text.display()
        )
    }

    /// Nowhere.
    pub fn locate(_: &str, text: &OsStr) -> Result<Located> {
        Err(absent(text))
    }

    /// The same.
    pub fn folder(_: &str, text: &OsStr) -> Result<Arc<dyn Folder>> {
        Err(absent(text))
    }

    /// None.
    pub fn is_folder(_: &str, _: &OsStr) -> bool {
        false
    }

    /// Nothing to be read.
    pub fn read(_: Vec<(usize, &ObjectFile, Vec<Part<'_>>)>) -> Result<(), Unread> {
        Ok(())
    }

    /// The same.
    pub fn keep(_: Vec<(usize, &ObjectFile, u64, u64)>) -> Result<(), Unread> {
        Ok(())
    }

    /// Nobody is asked.
    pub struct Asking;

    /// See there.
    pub fn ask_as(_: &Options) -> Asking {
        Asking
    }
}
