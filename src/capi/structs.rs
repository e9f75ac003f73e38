//! Structures that the caller owns and that may grow in later versions: their first field is their
//! size in the version for which the caller was compiled.

use super::guard::{HOLDALL_OK, holdall_status};
use crate::error::{Result, fail};
use std::mem::MaybeUninit;

/// A structure whose first field is `struct_size`.
///
/// # Safety
/// The type is `repr(C)`, its first field is a `usize`, it has no padding, and zero bytes are a
/// valid value of it.
pub(super) unsafe trait Structure: Copy {
    /// The name in C.
    const NAME: &'static str;
    /// The sizes that the structure has had.
    const SIZES: &'static [usize];
}

macro_rules! structure {
    ($name:ident) => {
        // SAFETY: the structure begins with struct_size and contains numbers and pointers only.
        unsafe impl $crate::capi::structs::Structure for $name {
            const NAME: &'static str = stringify!($name);
            const SIZES: &'static [usize] = &[size_of::<$name>()];
        }
    };
}
pub(super) use structure;

/// Returns the size that the caller has set, after checks.
pub(super) fn checked_size<T: Structure>(p: *const T, what: &str) -> Result<usize> {
    if p.is_null() || !p.is_aligned() {
        return Err(fail!(Argument, "{what} is NULL or not aligned"));
    }
    // SAFETY: not NULL and aligned; by contract at least struct_size is readable.
    let size = unsafe { p.cast::<usize>().read() };
    if T::SIZES.contains(&size) {
        return Ok(size);
    }
    Err(fail!(
        Argument,
        "{what}->struct_size: {size} (expected sizeof({name}), {}); set it before the call",
        size_of::<T>(),
        name = T::NAME
    ))
}

/// Copies a structure of the caller. Fields that its version does not have are zero.
pub(super) fn read_struct<T: Structure>(p: *const T, what: &str) -> Result<T> {
    let size = checked_size(p, what)?;
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: by contract `size` bytes are readable, and the copy has at least that many. Every
    // byte of it is initialized, and zero bytes are valid values of the fields.
    unsafe {
        std::ptr::copy_nonoverlapping(p.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), size);
        Ok(copy.assume_init())
    }
}

/// Stores the fields that the caller's version of the structure has, except struct_size.
pub(super) fn write_struct<T: Structure>(
    p: *mut T,
    what: &str,
    value: T,
) -> Result<holdall_status> {
    let size = checked_size(p.cast_const(), what)?;
    let skipped = size_of::<usize>();
    // SAFETY: by contract `size` bytes are writable, and the value has at least that many.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const value).cast::<u8>().add(skipped),
            p.cast::<u8>().add(skipped),
            size - skipped,
        );
    }
    Ok(HOLDALL_OK)
}
