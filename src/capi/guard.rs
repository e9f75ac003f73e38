//! Entry and exit of every exported function: arguments are checked, panics are caught, and
//! failures become a status and a message.
//!
//! Unsafe code in this module reads what C pointers point to, after a check for NULL. By contract,
//! the caller passes pointers that satisfy the header.

use super::handles;
use crate::error::{Error, Result, Status, fail};
use crate::os;
use crate::panics::caught;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Result of a function that can fail. Values never change.
pub type holdall_status = i32;

/// Success.
pub const HOLDALL_OK: i32 = 0;
/// Success: the key, attribute or index entry does not exist.
pub const HOLDALL_NOT_FOUND: i32 = 1;
/// Success: the end of a stream or epoch.
pub const HOLDALL_END: i32 = 2;
/// Success, but corrupt parts were replaced by zeros or empty records (HOLDALL_OPT_SKIP_DAMAGED).
pub const HOLDALL_DAMAGED: i32 = 3;
/// An argument is NULL, out of range, or inconsistent with the others.
pub const HOLDALL_E_ARGUMENT: i32 = -1;
/// Bug in the library; please report it. The handle then refuses all calls but closing.
pub const HOLDALL_E_INTERNAL: i32 = -2;
/// Memory allocation failed.
pub const HOLDALL_E_MEMORY: i32 = -3;
/// The buffer is too small; *n, if there is one, is the required size.
pub const HOLDALL_E_BUFFER: i32 = -4;
/// The operating system or the storage failed: see holdall_error::os_code.
pub const HOLDALL_E_IO: i32 = -5;
/// A file does not exist.
pub const HOLDALL_E_MISSING: i32 = -6;
/// A file exists that must not exist.
pub const HOLDALL_E_EXISTS: i32 = -7;
/// Stored bytes violate the format: corruption, or another kind of file.
pub const HOLDALL_E_FORMAT: i32 = -8;
/// A stored checksum does not match.
pub const HOLDALL_E_CHECKSUM: i32 = -9;
/// The format version is unknown to this library.
pub const HOLDALL_E_VERSION: i32 = -10;
/// The codec or filter is not available in this library.
pub const HOLDALL_E_CODEC: i32 = -11;
/// A type does not match.
pub const HOLDALL_E_TYPE: i32 = -12;
/// An index, offset or count is past the end.
pub const HOLDALL_E_RANGE: i32 = -13;
/// The call is invalid in the current state of the handle or file.
pub const HOLDALL_E_STATE: i32 = -14;
/// A limit set by the caller would be exceeded.
pub const HOLDALL_E_LIMIT: i32 = -15;
/// The caller's progress callback stopped the call.
pub const HOLDALL_E_CANCELLED: i32 = -16;
/// A callback of the caller failed.
pub const HOLDALL_E_CALLBACK: i32 = -17;
/// Another writer is active.
pub const HOLDALL_E_BUSY: i32 = -18;
/// Valid, but not supported by this version or this storage.
pub const HOLDALL_E_UNSUPPORTED: i32 = -19;

const MESSAGE: usize = 496;

/// A failure, always 512 bytes. Functions that can fail take a pointer to one, or NULL, as last
/// argument, and write it only if they return a negative status.
#[repr(C)]
pub struct holdall_error {
    /// The status that the function returned.
    pub status: holdall_status,
    /// errno, or 0.
    pub os_code: i32,
    /// Index of the record or chunk that failed, or -1.
    pub position: i64,
    /// UTF-8 with a terminating NUL; "..." replaces the middle of a long message.
    pub message: [c_char; 496],
}

const _: () = assert!(size_of::<holdall_error>() == 512);

/// A handle that records whether a call on it has panicked.
pub trait Handle {
    /// The flag, which is never cleared once a call on this handle has panicked.
    fn broken(&self) -> &AtomicBool;
}

macro_rules! handle {
    ($name:ident) => {
        impl $crate::capi::guard::Handle for $name {
            fn broken(&self) -> &std::sync::atomic::AtomicBool {
                &self.broken
            }
        }
    };
}
pub(crate) use handle;

/// Wraps a function that runs once as one that may be called repeatedly.
fn once(f: impl FnOnce() -> Result<holdall_status>) -> impl FnMut() -> Result<holdall_status> {
    let mut f = Some(f);
    move || f.take().map_or(Ok(HOLDALL_OK), |f| f())
}

/// Runs the body of an exported function, which returns the status on success.
pub(crate) fn guard(
    err: *mut holdall_error,
    f: impl FnOnce() -> Result<holdall_status>,
) -> holdall_status {
    report(err, caught(&mut once(f)))
}

#[inline(never)]
fn report(err: *mut holdall_error, done: Result<holdall_status>) -> holdall_status {
    match done {
        Ok(status) => status,
        Err(e) => {
            // SAFETY: NULL or, by contract, a holdall_error of the caller's.
            if let Some(out) = unsafe { err.as_mut() } {
                fill(out, &e);
            }
            e.status as i32
        }
    }
}

/// Like [`guard`], for a handle. A NULL or broken handle is an error, and a panic breaks the
/// handle.
pub(crate) fn guard_handle<H: Handle>(
    h: Option<&H>,
    err: *mut holdall_error,
    f: impl FnOnce(&H) -> Result<holdall_status>,
) -> holdall_status {
    match h {
        Some(h) => guarded(h.broken(), err, &mut once(|| f(h))),
        None => no_handle(err),
    }
}

/// Like [`guard_handle`], for a handle that the call changes.
pub(crate) fn guard_handle_mut<H: Handle>(
    h: Option<&mut H>,
    err: *mut holdall_error,
    f: impl FnOnce(&mut H) -> Result<holdall_status>,
) -> holdall_status {
    let Some(h) = h else { return no_handle(err) };
    // the body borrows the handle exclusively: the flag is read before it and stored after it
    let broken = AtomicBool::new(h.broken().load(Ordering::Relaxed));
    let done = guarded(&broken, err, &mut once(|| f(&mut *h)));
    h.broken().store(broken.into_inner(), Ordering::Relaxed);
    done
}

/// Like [`guard_handle_mut`], for a change that returns no value.
pub(crate) fn guard_change<H: Handle>(
    h: Option<&mut H>,
    err: *mut holdall_error,
    f: impl FnOnce(&mut H) -> Result<()>,
) -> holdall_status {
    guard_handle_mut(h, err, |h| f(h).map(|()| HOLDALL_OK))
}

#[inline(never)]
fn no_handle(err: *mut holdall_error) -> holdall_status {
    report(err, Err(fail!(Argument, "the handle is NULL")))
}

#[inline(never)]
fn guarded(
    broken: &AtomicBool,
    err: *mut holdall_error,
    f: &mut dyn FnMut() -> Result<holdall_status>,
) -> holdall_status {
    if broken.load(Ordering::Relaxed) {
        return report(
            err,
            Err(fail!(
                Internal,
                "an earlier call on this handle failed with a bug in holdall; close the handle"
            )),
        );
    }
    let done = caught(f);
    if done.as_ref().is_err_and(|e| e.status == Status::Internal) {
        broken.store(true, Ordering::Relaxed);
    }
    report(err, done)
}

/// Runs a function that cannot fail. Returns `otherwise` if it panics.
pub(crate) fn guard_value<T>(otherwise: T, f: impl FnOnce() -> T) -> T {
    let (mut f, mut value) = (Some(f), otherwise);
    let _ = caught(&mut || {
        if let Some(f) = f.take() {
            value = f();
        }
        Ok(HOLDALL_OK)
    });
    value
}

/// Reads a field of a handle. Returns `otherwise` for NULL. Like [`guard_value`], but inlined:
/// where the compiler proves that `f` cannot panic, only the access remains. If `f` panics, the
/// panic is caught, but its message is printed.
#[inline(always)]
pub(crate) fn field<H, T: Copy>(handle: *const H, otherwise: T, f: impl FnOnce(&H) -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| borrow(handle).map_or(otherwise, f))).unwrap_or_else(|p| {
        std::mem::forget(p);
        otherwise
    })
}

fn fill(out: &mut holdall_error, e: &Error) {
    out.status = e.status as i32;
    out.os_code = e.os_code;
    out.position = e.position;
    let message = e.message.replace('\0', " ");
    let (head, dots, tail) = shortened(&message, MESSAGE - 1);
    let bytes = [head, dots, tail, "\0"].into_iter().flat_map(str::bytes);
    for (d, s) in out.message.iter_mut().zip(bytes) {
        *d = s as c_char;
    }
}

/// Shortens a message to `most` bytes by removing its middle. The long part of a message is a path
/// or name at the beginning, and the reason is at the end: both the beginning of the path and the
/// reason remain.
fn shortened(message: &str, most: usize) -> (&str, &str, &str) {
    const DOTS: &str = "...";
    if message.len() <= most {
        return (message, "", "");
    }
    let room = most.saturating_sub(DOTS.len());
    let (mut head, mut tail) = (room / 3, message.len() - (room - room / 3));
    while !message.is_char_boundary(head) {
        head -= 1;
    }
    while !message.is_char_boundary(tail) {
        tail += 1;
    }
    (
        message.get(..head).unwrap_or_default(),
        DOTS,
        message.get(tail..).unwrap_or_default(),
    )
}

// ---- arguments

/// Borrows the caller's string: a path or a name.
pub(crate) fn string<'a>(s: *const c_char, what: &str) -> Result<&'a OsStr> {
    if s.is_null() {
        return Err(fail!(Argument, "{what} is NULL"));
    }
    // SAFETY: not NULL, so by contract a NUL-terminated string that lives as long as the call.
    let bytes = unsafe { CStr::from_ptr(s) }.to_bytes();
    os::name_from_bytes(bytes).ok_or_else(|| fail!(Argument, "{what} is not UTF-8"))
}

/// Borrows the caller's values. `p` may be NULL only if `n` is 0.
pub(crate) fn slice<'a, T>(p: *const T, n: usize, what: &str) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    check_values(p.addr(), n, size_of::<T>(), align_of::<T>(), what)?;
    // SAFETY: not NULL, aligned, and by contract n values that do not change during the call.
    Ok(unsafe { std::slice::from_raw_parts(p, n) })
}

/// Checks that `p` can be an array of `n` values. Writes nothing.
pub(crate) fn check_room<T>(p: *mut T, n: usize, what: &str) -> Result<()> {
    if n == 0 {
        Ok(())
    } else {
        check_values(p.addr(), n, size_of::<T>(), align_of::<T>(), what)
    }
}

/// Borrows the caller's output array and sets every element to `value`: the array may be
/// uninitialized. `p` may be NULL only if `n` is 0.
pub(crate) fn filled<'a, T: Copy>(
    p: *mut T,
    n: usize,
    value: T,
    what: &str,
) -> Result<&'a mut [T]> {
    if n == 0 {
        return Ok(&mut []);
    }
    check_values(p.addr(), n, size_of::<T>(), align_of::<T>(), what)?;
    // SAFETY: not NULL, aligned, and by contract memory for n values that only this call accesses.
    // The values may be uninitialized.
    let room = unsafe { std::slice::from_raw_parts_mut(p.cast::<MaybeUninit<T>>(), n) };
    room.fill(MaybeUninit::new(value));
    // SAFETY: the same memory, in which every value is now initialized.
    Ok(unsafe { std::slice::from_raw_parts_mut(p, n) })
}

/// Checks that an array of `n` values can be at address `at`.
#[inline(never)]
fn check_values(at: usize, n: usize, size: usize, align: usize, what: &str) -> Result<()> {
    if at == 0 {
        return Err(fail!(Argument, "{what} is NULL"));
    }
    if !at.is_multiple_of(align) {
        return Err(fail!(Argument, "{what} is not aligned to {align} bytes"));
    }
    if n > isize::MAX as usize / size.max(1) {
        return Err(fail!(
            Argument,
            "{what}: {n} values are more than memory can hold"
        ));
    }
    Ok(())
}

/// Borrows the caller's output buffer; `None` for NULL, which requests the size. The buffer may be
/// uninitialized: initializing it would cost as much as many reads. The receiver must therefore
/// write each byte before it reads it. Tests pass uninitialized buffers under Miri
/// (`tests/boundary`) and valgrind (`c-tests`), which report a decision that depends on such a
/// byte.
#[inline]
pub(crate) fn buffer<'a>(p: *mut u8, n: usize) -> Result<Option<&'a mut [u8]>> {
    if p.is_null() {
        return Ok(None);
    }
    if n > isize::MAX as usize {
        return Err(too_large(n));
    }
    // SAFETY: not NULL, and by contract n bytes that only this call accesses. The compiler cannot
    // see their origin, so it must treat them as initialized; and they are written before they are
    // read.
    Ok(Some(unsafe { std::slice::from_raw_parts_mut(p, n) }))
}

#[cold]
fn too_large(n: usize) -> Error {
    fail!(
        Argument,
        "a buffer of {n} bytes is larger than memory can hold"
    )
}

/// Borrows the value that a required pointer points to. NULL is an error.
#[inline]
pub(crate) fn required<'a, T>(p: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: NULL or, by contract, a pointer to one value.
    unsafe { p.as_mut() }.ok_or_else(|| is_null(what))
}

#[cold]
fn is_null(what: &str) -> Error {
    fail!(Argument, "{what} is NULL")
}

/// Stores a result where an optional pointer points to. NULL is allowed.
pub(crate) fn put<T>(p: *mut T, value: T) {
    if !p.is_null() {
        // SAFETY: not NULL, so by contract memory for one value, which may be uninitialized.
        unsafe { p.write(value) };
    }
}

/// Borrows a handle or another value of the caller; `None` for NULL.
pub(crate) fn borrow<'a, T>(p: *const T) -> Option<&'a T> {
    // SAFETY: NULL or, by contract, a live handle.
    unsafe { p.as_ref() }
}

/// Borrows a handle that no other thread uses during the call; `None` for NULL.
pub(crate) fn borrow_mut<'a, T>(p: *mut T) -> Option<&'a mut T> {
    // SAFETY: NULL or, by contract, a live handle that no other thread uses now.
    unsafe { p.as_mut() }
}

/// Creates a handle and stores it in `*out`, which is NULL on failure.
pub(crate) fn give<T>(
    out: *mut *mut T,
    make: impl FnOnce() -> Result<T>,
) -> Result<holdall_status> {
    let out = required(out, "out")?;
    *out = std::ptr::null_mut();
    *out = hand_out(make()?);
    Ok(HOLDALL_OK)
}

/// Moves a value to a new handle, which the caller owns until [`take_back`].
pub(crate) fn hand_out<T>(value: T) -> *mut T {
    let handle = Box::into_raw(Box::new(value));
    handles::opened(handle);
    handle
}

/// Closes a handle and drops its value. NULL is allowed.
pub(crate) fn take_back<T>(p: *mut T) {
    if !p.is_null() {
        handles::closed(p);
        // SAFETY: not NULL, so by contract a handle from `hand_out` that is not used again.
        let owned = unsafe { Box::from_raw(p) };
        guard_value((), || drop(owned));
    }
}

/// Returns the arguments of a call that takes `count` items, records or keys (`what`): item `i` is
/// `data[offsets[i]..offsets[i + 1]]`. Without items, no offsets are read.
pub(crate) fn concatenated<'a>(
    data: *const c_void,
    offsets: *const u64,
    count: usize,
    what: &str,
) -> Result<(&'a [u8], &'a [u64])> {
    let many = count.checked_add(1).ok_or_else(|| {
        fail!(
            Argument,
            "count: {count} {what} are more than memory can hold"
        )
    })?;
    let offsets = slice(offsets, if count == 0 { 0 } else { many }, "offsets")?;
    let end = offsets.last().copied().unwrap_or(0);
    let end = usize::try_from(end).map_err(|_| {
        fail!(
            Argument,
            "offsets: the last value, {end}, is larger than memory can hold"
        )
    })?;
    Ok((slice(data.cast(), end, "data")?, offsets))
}

/// Copies `bytes` to the caller's buffer and stores their number in `*n`. If `dst` is NULL, only
/// stores the number.
pub(crate) fn copy_out(
    bytes: &[u8],
    dst: *mut u8,
    dst_size: usize,
    n: *mut usize,
) -> Result<holdall_status> {
    let n = required(n, "n")?;
    if let Some(dst) = buffer(dst, dst_size)? {
        let have = dst.len();
        match dst.get_mut(..bytes.len()) {
            Some(d) => d.copy_from_slice(bytes),
            None => {
                *n = bytes.len();
                return Err(fail!(
                    Buffer,
                    "{} bytes are needed, the buffer has {have}",
                    bytes.len()
                ));
            }
        }
    }
    *n = bytes.len();
    Ok(HOLDALL_OK)
}

/// Returns the status of a call that may have skipped corrupt content.
pub(super) fn or_skipped(skipped: bool) -> holdall_status {
    if skipped { HOLDALL_DAMAGED } else { HOLDALL_OK }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct H {
        broken: AtomicBool,
    }
    handle!(H);

    fn blank() -> holdall_error {
        holdall_error {
            status: 0,
            os_code: 0,
            position: 0,
            message: [1; 496],
        }
    }

    #[test]
    fn a_long_message_is_shortened_in_its_middle() {
        assert_eq!(shortened("short", 5), ("short", "", ""));
        for message in [
            "x".repeat(300),
            "é".repeat(150),
            "漢".repeat(100),
            "a漢é\u{1f600}".repeat(30),
        ] {
            for most in [3, 4, 9, 10, 50, 100, 299, message.len() - 1] {
                let (head, dots, tail) = shortened(&message, most);
                assert!(
                    message.starts_with(head) && message.ends_with(tail) && dots == "...",
                    "{most}"
                );
                let n = head.len() + dots.len() + tail.len();
                // characters are not split, so up to 3 more bytes on each side are removed
                assert!(n <= most && n + 6 >= most, "{n} of {most}");
                // the reason is at the end
                assert!(
                    tail.len() >= head.len().saturating_sub(3),
                    "{most}: {} {}",
                    head.len(),
                    tail.len()
                );
            }
            assert_eq!(shortened(&message, message.len()), (&message[..], "", ""));
        }
    }

    fn message(e: &holdall_error) -> String {
        let b: Vec<u8> = e
            .message
            .iter()
            .map(|&c| c as u8)
            .take_while(|&c| c != 0)
            .collect();
        String::from_utf8(b).unwrap()
    }

    #[test]
    fn a_panic_becomes_an_error_and_breaks_its_handle() {
        let h = H {
            broken: AtomicBool::new(false),
        };
        let mut e = blank();
        assert_eq!(guard_handle(Some(&h), &mut e, |_| Ok(7)), 7);
        assert_eq!(
            guard_handle(Some(&h), &mut e, |_| panic!("planned {}", 1)),
            HOLDALL_E_INTERNAL
        );
        assert!(message(&e).contains("planned 1"));
        assert_eq!(
            guard_handle(Some(&h), &mut e, |_| Ok(0)),
            HOLDALL_E_INTERNAL
        );
        assert!(message(&e).contains("close the handle"));
        assert_eq!(guard_value(5, || panic!("planned")), 5);
        assert_eq!(field(&0, 5, |_| panic!("planned")), 5);
    }

    #[test]
    fn a_panic_on_a_worker_thread_becomes_an_error() {
        let r = guard(std::ptr::null_mut(), || {
            crate::parallel::for_each(2, (0..64).collect(), |i: i32| assert!(i < 60, "planned"));
            Ok(0)
        });
        assert_eq!(r, HOLDALL_E_INTERNAL);
    }

    #[test]
    fn invalid_arrays_have_distinct_messages() {
        let values = [1u64, 2];
        let checked = |p: *const u64, n: usize| {
            slice(p, n, "start")
                .map(<[u64]>::len)
                .map_err(|e| e.message)
        };
        assert_eq!(checked(values.as_ptr(), 2), Ok(2));
        assert_eq!(checked(std::ptr::null(), 0), Ok(0));
        assert_eq!(checked(std::ptr::null(), 2), Err("start is NULL".into()));
        assert_eq!(
            checked(values.as_ptr().wrapping_byte_add(1), 1),
            Err(format!(
                "start is not aligned to {} bytes",
                align_of::<u64>()
            ))
        );
        let most = isize::MAX as usize / size_of::<u64>();
        let expected = format!("{} values", most + 1);
        assert!(
            checked(values.as_ptr(), most + 1).is_err_and(|message| message.contains(&expected))
        );
    }

    #[test]
    fn a_long_message_is_shortened_between_characters() {
        let mut e = blank();
        guard(&mut e, || {
            Err(Error::new(Status::Io, "ü".repeat(400) + ": gone").at(9))
        });
        let w = message(&e);
        assert!(
            w.contains("ü...ü") && w.ends_with("ü: gone") && (485..=495).contains(&w.len()),
            "{w}"
        );
        assert_eq!((e.status, e.position), (HOLDALL_E_IO, 9));
        guard(&mut e, || Err(Error::new(Status::Io, "x".repeat(495))));
        assert_eq!(message(&e), "x".repeat(495));
    }
}
