//! Free memory.

/// Returns whether the process could map so many bytes now.
pub fn is_memory_free(bytes: usize) -> bool {
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping, which no other memory overlaps.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: the whole of the mapping above, to which nothing refers.
    unsafe { libc::munmap(start, bytes) };
    true
}
