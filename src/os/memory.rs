//! Memory of the system: whether some is free, and buffers that no allocator keeps.

use std::ops::{Deref, DerefMut};
use std::ptr;

/// Minimum number of pages of a [`PageBuffer`]: fewer take longer to map than to decode into.
const MIN_PAGES: usize = 16;

/// Returns whether the process could map so many bytes now.
pub fn is_memory_free(bytes: usize) -> bool {
    PageBuffer::map(bytes).is_some()
}

/// Bytes that return to the system when they are dropped. An allocator would keep them for the
/// thread that allocated them.
pub struct PageBuffer {
    start: *mut u8,
    len: usize,
}

// SAFETY: the memory belongs to the value, and no thread owns it.
unsafe impl Send for PageBuffer {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for PageBuffer {}

impl PageBuffer {
    /// Creates a buffer of `len` zero bytes. Returns `None` if they are few for whole pages, or if
    /// the system has no memory.
    pub fn new(len: usize) -> Option<PageBuffer> {
        // SAFETY: the call only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let min = usize::try_from(page).ok()?.saturating_mul(MIN_PAGES);
        (len >= min).then(|| PageBuffer::map(len)).flatten()
    }

    fn map(len: usize) -> Option<PageBuffer> {
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: a new mapping, which no other memory overlaps.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
        (start != libc::MAP_FAILED).then(|| PageBuffer {
            start: start.cast(),
            len,
        })
    }
}

impl Drop for PageBuffer {
    fn drop(&mut self) {
        // SAFETY: the whole of the mapping, to which nothing else refers.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has `len` initialised bytes and lives as long as the value.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the value is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}
