//! Fallible memory allocation.
//!
//! Sizes that come from a file are checked against the caller's limit. A failed allocation is an
//! error, not an abort.
//!
//! Unsafe code: `zeroed`, because the standard library has no fallible zeroed allocation, and
//! writing the zeros separately would touch every page twice; and the `madvise` call of
//! `zeroed_large_pages`.

use crate::error::{Error, Result, fail};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Default of `HOLDALL_OPT_MEMORY_LIMIT`: the bytes that a call may allocate for one file.
pub const DEFAULT_LIMIT: u64 = 4 << 30;

/// Minimum size for which `zeroed_large_pages` calls `madvise`: a buffer of some large pages.
#[cfg(target_os = "linux")]
const LARGE: usize = 8 << 20;

/// Returns `bytes` as a `usize`, or an error if it exceeds `limit`.
#[inline]
pub fn allow(bytes: u64, limit: u64, what: impl std::fmt::Display) -> Result<usize> {
    match usize::try_from(bytes) {
        Ok(n) if bytes <= limit => Ok(n),
        _ => Err(too_much(bytes, limit, &what)),
    }
}

#[cold]
fn too_much(bytes: u64, limit: u64, what: &dyn std::fmt::Display) -> Error {
    fail!(
        Limit,
        "{what}: {bytes} bytes of memory exceed the limit of {limit}; raise HOLDALL_OPT_MEMORY_LIMIT"
    )
}

/// Allocates `n` zero bytes.
pub fn zeroed(n: usize) -> Result<Vec<u8>> {
    let failed = || fail!(Memory, "allocation of {n} bytes failed");
    if n == 0 {
        return Ok(Vec::new());
    }
    let layout = std::alloc::Layout::array::<u8>(n).map_err(|_| failed())?;
    // SAFETY: the layout has a size above 0; the vector takes over exactly this allocation of the
    // global allocator, n initialised bytes of alignment 1.
    unsafe {
        let p = std::alloc::alloc_zeroed(layout);
        if p.is_null() {
            Err(failed())
        } else {
            Ok(Vec::from_raw_parts(p, n, n))
        }
    }
}

/// Allocates `n` zero bytes, as [`zeroed`], for a buffer in which every byte will be written.
///
/// On Linux a large buffer asks for large pages. A large page takes one page fault instead of 512.
pub fn zeroed_large_pages(n: usize) -> Result<Vec<u8>> {
    let buffer = zeroed(n)?;
    #[cfg(target_os = "linux")]
    if n >= LARGE {
        const PAGE: usize = 64 << 10; // at least the page size of the system
        let start = buffer.as_ptr().addr().next_multiple_of(PAGE);
        let end = (buffer.as_ptr().addr() + n) & !(PAGE - 1);
        // SAFETY: a hint for whole pages inside the buffer that does not change their content. A
        // failure of the call has no effect.
        unsafe {
            libc::madvise(
                buffer.as_ptr().with_addr(start).cast_mut().cast(),
                end - start,
                libc::MADV_HUGEPAGE,
            )
        };
    }
    Ok(buffer)
}

/// Allocates an empty vector with capacity for `n` items.
pub fn with_capacity<T>(n: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    reserve(&mut v, n)?;
    Ok(v)
}

/// Allocates a vector of `n` default items.
pub fn defaults<T: Default>(n: usize) -> Result<Vec<T>> {
    let mut v = with_capacity(n)?;
    v.resize_with(n, T::default);
    Ok(v)
}

/// Reserves capacity for at least `n` more items.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    v.try_reserve(n).map_err(|_| {
        fail!(
            Memory,
            "allocation of {} bytes failed",
            n.saturating_mul(size_of::<T>())
        )
    })
}

/// Reserves capacity for exactly `n` more items, as `Vec::try_reserve_exact`.
pub fn reserve_exact<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    v.try_reserve_exact(n).map_err(|_| {
        fail!(
            Memory,
            "allocation of {} bytes failed",
            n.saturating_mul(size_of::<T>())
        )
    })
}

/// Reserves capacity for `n` more bytes in a buffer whose final length is at most `max_len`.
///
/// An unallocated buffer gets capacity for `max_len` bytes. A reused buffer grows in small steps,
/// so that little of its capacity stays unused.
pub fn grow(buffer: &mut Vec<u8>, n: usize, max_len: usize) -> Result<()> {
    const MIN_STEP: usize = 32 << 10;
    let left = max_len.saturating_sub(buffer.len());
    if buffer.capacity() == 0 {
        return reserve_exact(buffer, left.max(n));
    }
    if buffer.capacity() - buffer.len() >= n {
        return Ok(());
    }
    reserve_exact(buffer, (max_len / 32).max(MIN_STEP).min(left).max(n))
}

/// Largest scratch buffer that a thread retains.
const MAX_RETAINED: usize = 8 << 20;
/// Scratch buffers are multiples of this, so that a retained buffer fits slightly longer requests
/// without much excess memory.
const SCRATCH_STEP: usize = 8 << 10;
/// Number of scratch buffers that a thread retains: how many are in use at once in one call.
const RETAINED: usize = 4;

thread_local! {
    static FREE: RefCell<[Vec<u8>; RETAINED]> = const { RefCell::new([const { Vec::new() }; RETAINED]) };
}

/// A temporary buffer. The thread that drops it retains the memory for its next buffer.
pub struct Scratch {
    buffer: Vec<u8>,
    len: usize,
}

impl Scratch {
    /// Returns a buffer of `bytes` bytes with unspecified content, or an error if that exceeds
    /// `limit`.
    pub fn new(bytes: u64, limit: u64, what: &str) -> Result<Scratch> {
        let len = allow(bytes, limit, what)?;
        // fails while the thread ends
        let free = FREE.try_with(|free| Some(take_free(&mut *free.try_borrow_mut().ok()?, len)));
        let mut buffer = free.ok().flatten().unwrap_or_default();
        if buffer.len() < len {
            // frees the old buffer first, so that two are never allocated
            drop(buffer);
            buffer = zeroed(len.checked_next_multiple_of(SCRATCH_STEP).unwrap_or(len))?;
        }
        Ok(Scratch { buffer, len })
    }
}

/// Takes the shortest retained buffer of at least `len` bytes, or else the longest one.
fn take_free(free: &mut [Vec<u8>], len: usize) -> Vec<u8> {
    let best = free.iter_mut().min_by_key(|buffer| match buffer.len() {
        n if n >= len => (false, n),
        n => (true, usize::MAX - n),
    });
    best.map(std::mem::take).unwrap_or_default()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.buffer.len() > MAX_RETAINED {
            return;
        }
        _ = FREE.try_with(|free| {
            let mut free = free.try_borrow_mut().ok()?;
            let slot = free.iter_mut().find(|slot| slot.is_empty())?;
            *slot = std::mem::take(&mut self.buffer);
            Some(())
        });
    }
}

impl Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.len).unwrap_or_default()
    }
}

/// Bytes that were read: in place if they are in memory, otherwise in a scratch buffer.
pub enum Bytes<'a> {
    /// Immutable bytes in memory.
    InPlace(&'a [u8]),
    /// A copy.
    Copied(Scratch),
}

impl Bytes<'_> {
    /// Removes all bytes after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Bytes::InPlace(bytes) => *bytes = bytes.get(..len).unwrap_or(bytes),
            Bytes::Copied(scratch) => scratch.len = scratch.len.min(len),
        }
    }

    /// Returns the buffer of a copy.
    pub fn into_scratch(self) -> Option<Scratch> {
        match self {
            Bytes::InPlace(_) => None,
            Bytes::Copied(scratch) => Some(scratch),
        }
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::InPlace(bytes) => bytes,
            Bytes::Copied(scratch) => scratch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn a_thread_reuses_scratch_buffers() {
        let new = |n| Scratch::new(n, u64::MAX, "x").unwrap();
        let (long, short) = (new(100_000), new(10));
        let at = [long.as_ptr(), short.as_ptr()];
        assert_eq!([long.len(), short.len()], [100_000, 10]);
        drop((long, short));
        // the shortest buffer that is long enough is taken first
        let (short, long) = (new(SCRATCH_STEP as u64), new(90_000));
        assert_eq!([long.as_ptr(), short.as_ptr()], at);
        drop((short, long));
        // the longest one is replaced if all are too short
        drop(new(MAX_RETAINED as u64));
        let (first, second) = (new(1), new(1));
        assert_eq!(
            [first.buffer.len(), second.buffer.len()],
            [SCRATCH_STEP, MAX_RETAINED]
        );
        drop((first, second, new(MAX_RETAINED as u64 + 1)));
        assert_eq!(
            Scratch::new(11, 10, "x").err().unwrap().status,
            Status::Limit
        );
        assert_eq!(new(1).buffer.len(), SCRATCH_STEP);
    }

    #[test]
    fn failed_allocations_are_errors() {
        assert_eq!(zeroed(0).unwrap(), Vec::<u8>::new());
        assert_eq!(zeroed(5).unwrap(), [0; 5]);
        // in 32-bit processes, half of the address space may be available
        #[cfg(target_pointer_width = "64")]
        assert_eq!(
            zeroed(isize::MAX as usize).unwrap_err().status,
            Status::Memory
        );
        assert_eq!(zeroed(usize::MAX).unwrap_err().status, Status::Memory);
        assert_eq!(
            with_capacity::<u64>(usize::MAX / 2).unwrap_err().status,
            Status::Memory
        );
        assert_eq!(allow(11, 10, "x").unwrap_err().status, Status::Limit);
        assert_eq!(allow(10, 10, "x").unwrap(), 10);
    }
}
