//! The page cache of Linux.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Returns whether the byte at an offset can be read without waiting for the disk. Where a file
/// system does not report it: false.
pub fn is_cached(file: &File, at: u64) -> bool {
    let mut byte = 0u8;
    let buffer = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // the kernel takes the offset in two parts, of which the upper one is empty on 64-bit systems
    const HALF: u32 = libc::c_ulong::BITS / 2;
    let (low, high) = (at as libc::c_ulong, (at >> HALF >> HALF) as libc::c_ulong);
    // SAFETY: reads at most one byte into `byte`, which outlives the call. It is called by number,
    // because the C library has it only since glibc 2.26.
    let read = unsafe {
        libc::syscall(
            libc::SYS_preadv2,
            file.as_raw_fd(),
            &raw const buffer,
            1usize,
            low,
            high,
            libc::RWF_NOWAIT,
        )
    };
    read >= 0
}

/// Begins to read a range into the page cache, and does not wait for it.
pub fn begin_reading(file: &File, from: u64, to: u64) {
    let (Ok(from), Ok(length)) = (from.try_into(), to.saturating_sub(from).try_into()) else {
        return;
    };
    // SAFETY: takes an open file and numbers. It is a hint: an error changes nothing.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), from, length, libc::POSIX_FADV_WILLNEED) };
}
