//! What Unix and Windows have each in its own way: names as bytes, files by position, what tells
//! one file from another, the file of a lock. `unix.rs` and `windows.rs` have the same functions;
//! nothing else in the library asks which it is, but what maps files, which only Unix does here.
//! `affinity.rs` and `affinity_none.rs` say where threads run, on Linux and elsewhere; `process.rs` tells
//! a process from the one that forked it.

// Miri has no processors
#[cfg(unix)]
#[allow(unsafe_code)]
mod acl;
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
mod affinity;
#[cfg(any(not(target_os = "linux"), miri))]
mod affinity_none;
#[cfg(unix)]
#[allow(unsafe_code)]
mod process;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
#[allow(unsafe_code)]
mod windows;

#[cfg(unix)]
pub use acl::copy_acl;
#[cfg(all(target_os = "linux", not(miri)))]
pub use affinity::*;
#[cfg(any(not(target_os = "linux"), miri))]
pub use affinity_none::*;
#[cfg(unix)]
pub use process::{effective_user, process};
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
