//! Differences between Unix and Windows: names as bytes, positional I/O, file identities, lock
//! files. `unix.rs` and `windows.rs` have the same functions. No other module depends on the
//! system, except for mapped files, which are implemented on Unix only. `affinity.rs` and
//! `affinity_none.rs` control where threads run, on Linux and elsewhere. `process.rs` distinguishes
//! a process from the one that forked it; `memory.rs` asks for free memory and maps some; `page_cache.rs` and
//! `page_cache_none.rs` read ahead, on Linux and elsewhere.

// Miri does not emulate processor affinity or access control lists
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
mod memory;
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
mod page_cache;
#[cfg(any(not(target_os = "linux"), miri))]
mod page_cache_none;
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
pub use memory::{PageBuffer, is_memory_free};
#[cfg(all(target_os = "linux", not(miri)))]
pub use page_cache::*;
#[cfg(any(not(target_os = "linux"), miri))]
pub use page_cache_none::*;
#[cfg(unix)]
pub use process::{effective_user, process};
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
