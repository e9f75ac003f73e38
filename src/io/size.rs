//! The length of an open file, which a bag asks for at each read. The standard library asks for all that
//! the system knows of a file, which takes twice as long as asking for the length alone.
//!
//! Unsafe code: that one call.

use std::fs::File;
use std::io::Result;

/// The length in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn of(file: &File) -> Result<u64> {
    use std::os::fd::AsRawFd;
    let mut answer = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: an open file, an empty path, and a place for the answer, for which all zeros are valid.
    let (status, answer) = unsafe {
        let status = libc::statx(file.as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_SIZE, answer.as_mut_ptr());
        (status, answer.assume_init())
    };
    // systems and sandboxes without this call have the other one
    if status == 0 && answer.stx_mask & libc::STATX_SIZE != 0 { Ok(answer.stx_size) } else { Ok(file.metadata()?.len()) }
}

/// The length in bytes.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn of(file: &File) -> Result<u64> {
    Ok(file.metadata()?.len())
}
