//! What Unix and Windows have each in its own way: names as bytes, files by position, what tells one file from another,
//! the file of a lock. `unix.rs` and `windows.rs` have the same functions; nothing else in the library asks which it is, but
//! what maps files, which only Unix does here.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
#[allow(unsafe_code)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
