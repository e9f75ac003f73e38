//! What Unix and Windows have each in its own way: names as bytes, files by position, what tells
//! one file from another, the file of a lock. `unix.rs` and `windows.rs` have the same functions;
//! nothing else in the library asks which it is, but what maps files, which only Unix does here.
//! `placing.rs` and `anywhere.rs` say where threads run, on Linux and elsewhere; `process.rs` tells
//! a process from the one that forked it.

// Miri has no processors
#[cfg(any(not(target_os = "linux"), miri))]
mod anywhere;
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
mod placing;
#[cfg(unix)]
#[allow(unsafe_code)]
mod process;
#[cfg(unix)]
#[allow(unsafe_code)]
mod rights;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
#[allow(unsafe_code)]
mod windows;

#[cfg(any(not(target_os = "linux"), miri))]
pub use anywhere::*;
#[cfg(all(target_os = "linux", not(miri)))]
pub use placing::*;
#[cfg(unix)]
pub use process::{effective_user, process};
#[cfg(unix)]
pub use rights::copy_acl;
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
