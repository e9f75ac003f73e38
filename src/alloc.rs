//! Memory that is asked for, not taken: an allocation whose size comes from a file is held under
//! the caller's limit, and one that the system refuses is an error, not an abort.
//!
//! Unsafe code: `zeroed`, because the standard library has no zeroed allocation that can fail, and
//! writing zeros by hand would touch every page twice; and the hint of `to_fill`.

use crate::error::{Error, Result, fail};

/// What one file may make a call allocate, unless `HOLDALL_OPT_MEMORY_LIMIT` says otherwise.
pub const DEFAULT_LIMIT: u64 = 4 << 30;

/// From this size on memory that is to be filled is worth a system call: some large pages are in
/// it.
#[cfg(target_os = "linux")]
const LARGE: usize = 8 << 20;

/// Refuses `bytes` beyond `limit`.
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
        "{what}: {bytes} bytes of memory are needed, the limit is {limit} (HOLDALL_OPT_MEMORY_LIMIT)"
    )
}

/// `n` bytes of zeros.
pub fn zeroed(n: usize) -> Result<Vec<u8>> {
    let none = || fail!(Memory, "{n} bytes of memory could not be had");
    if n == 0 {
        return Ok(Vec::new());
    }
    let layout = std::alloc::Layout::array::<u8>(n).map_err(|_| none())?;
    // SAFETY: the layout has a size above 0; the vector takes over exactly this allocation of the
    // global allocator, n initialised bytes of alignment 1.
    unsafe {
        let p = std::alloc::alloc_zeroed(layout);
        if p.is_null() {
            Err(none())
        } else {
            Ok(Vec::from_raw_parts(p, n, n))
        }
    }
}

/// As [`zeroed`], of which every byte is going to be written: much of it takes large pages where
/// the system has them, for one page fault in place of 512.
pub fn to_fill(n: usize) -> Result<Vec<u8>> {
    let buffer = zeroed(n)?;
    #[cfg(target_os = "linux")]
    if n >= LARGE {
        const PAGE: usize = 64 << 10; // or less
        let start = buffer.as_ptr().addr().next_multiple_of(PAGE);
        let end = (buffer.as_ptr().addr() + n) & !(PAGE - 1);
        // SAFETY: a hint about whole pages inside the buffer, which changes nothing in them; where
        // it is refused, all is well.
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

/// An empty vector with room for `n` items.
pub fn with_room<T>(n: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    reserve(&mut v, n)?;
    Ok(v)
}

/// `n` items, each as it is by default.
pub fn defaults<T: Default>(n: usize) -> Result<Vec<T>> {
    let mut v = with_room(n)?;
    v.resize_with(n, T::default);
    Ok(v)
}

/// Room for `n` more items.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    v.try_reserve(n).map_err(|_| {
        fail!(
            Memory,
            "{} bytes of memory could not be had",
            n.saturating_mul(size_of::<T>())
        )
    })
}

/// The same, and none beyond them.
pub fn reserve_exact<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    v.try_reserve_exact(n).map_err(|_| {
        fail!(
            Memory,
            "{} bytes of memory could not be had",
            n.saturating_mul(size_of::<T>())
        )
    })
}

/// Room for `n` more bytes of a buffer that is going to have `most` or fewer. One that has no
/// memory yet gets all of it; one that is kept, and has some, a small part, so that little of it
/// stays unused.
pub fn grow(buffer: &mut Vec<u8>, n: usize, most: usize) -> Result<()> {
    const LEAST: usize = 32 << 10;
    let left = most.saturating_sub(buffer.len());
    if buffer.capacity() == 0 {
        return reserve_exact(buffer, left.max(n));
    }
    if buffer.capacity() - buffer.len() >= n {
        return Ok(());
    }
    reserve_exact(buffer, (most / 32).max(LEAST).min(left).max(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    #[test]
    fn refusals_are_errors() {
        assert_eq!(zeroed(0).unwrap(), Vec::<u8>::new());
        assert_eq!(zeroed(5).unwrap(), [0; 5]);
        // with 32 bits, half of the address space may well be there
        #[cfg(target_pointer_width = "64")]
        assert_eq!(
            zeroed(isize::MAX as usize).unwrap_err().status,
            Status::Memory
        );
        assert_eq!(zeroed(usize::MAX).unwrap_err().status, Status::Memory);
        assert_eq!(
            with_room::<u64>(usize::MAX / 2).unwrap_err().status,
            Status::Memory
        );
        assert_eq!(allow(11, 10, "x").unwrap_err().status, Status::Limit);
        assert_eq!(allow(10, 10, "x").unwrap(), 10);
    }
}
