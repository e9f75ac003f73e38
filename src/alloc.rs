//! Fallible memory allocation.
//!
//! Sizes that come from a file are checked against the caller's limit. A failed allocation is an
//! error, not an abort.
//!
//! Unsafe code: `zeroed`, because the standard library has no fallible zeroed allocation, and
//! writing the zeros separately would touch every page twice; and the `madvise` call of
//! `zeroed_large_pages`.

use crate::error::{Error, Result, fail};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

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
