//! Access control lists, which the standard library does not support.

use std::fs::File;
use std::io::Result;
use std::path::Path;

/// Does nothing: this system has no supported access control lists.
#[cfg(any(not(target_os = "linux"), miri))]
pub fn copy_acl(_: &Path, _: &File) -> Result<()> {
    Ok(())
}

/// Copies the access control list of `from` to the file `to`, if `from` has one.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn copy_acl(from: &Path, to: &File) -> Result<()> {
    use std::ffi::CString;
    use std::io::{Error, ErrorKind};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;

    /// An upper bound of the lists that the system stores with a file.
    const LONGEST: usize = 64 << 10;
    const NAME: &std::ffi::CStr = c"system.posix_acl_access";

    let from = CString::new(from.as_os_str().as_bytes())
        .map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    // SAFETY: both strings end with NUL; without a buffer the call returns the length only.
    let n = unsafe { libc::getxattr(from.as_ptr(), NAME.as_ptr(), std::ptr::null_mut(), 0) };
    let Some(n) = usize::try_from(n)
        .ok()
        .filter(|n| (1..=LONGEST).contains(n))
    else {
        // the file has no list, or the file system has none
        return Ok(());
    };
    let mut list = vec![0u8; n];
    // SAFETY: as above, and the buffer has `n` bytes.
    let n = unsafe { libc::getxattr(from.as_ptr(), NAME.as_ptr(), list.as_mut_ptr().cast(), n) };
    let Some(list) = usize::try_from(n).ok().and_then(|n| list.get(..n)) else {
        return Err(Error::last_os_error());
    };
    // SAFETY: the file is open, and the length passed is that of the list.
    let set = unsafe {
        libc::fsetxattr(
            to.as_raw_fd(),
            NAME.as_ptr(),
            list.as_ptr().cast(),
            list.len(),
            0,
        )
    };
    if set == 0 {
        Ok(())
    } else {
        Err(Error::last_os_error())
    }
}
