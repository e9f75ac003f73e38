//! What every exported function goes through: panics end here, arguments are checked here, failures
//! become a status and words.
//!
//! Unsafe code in this layer: reading what C pointers point to, after they were held against NULL.
//! That they point to what the header says is the caller's part of the contract.

use super::handles;
use crate::error::{Error, Result, Status, fail};
use crate::os;
use std::cell::Cell;
use std::ffi::{CStr, OsStr, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// What every call that can fail returns: HOLDALL_OK, a value above 0 (done, but), or a
/// HOLDALL_E_*. The values are never renumbered.
pub type holdall_status = i32;

/// Done.
pub const HOLDALL_OK: i32 = 0;
/// Done, but there was nothing: see the function.
pub const HOLDALL_NOT_FOUND: i32 = 1;
/// An argument is NULL, out of range, or does not fit the others.
pub const HOLDALL_E_ARGUMENT: i32 = -1;
/// A bug in the library, please report it. The handle refuses work from now on.
pub const HOLDALL_E_PANIC: i32 = -2;
/// The memory could not be had.
pub const HOLDALL_E_MEMORY: i32 = -3;
/// The buffer is too small; the size wanted is in *n, where the call has one.
pub const HOLDALL_E_BUFFER: i32 = -4;
/// The operating system refused: see holdall_error::os_code.
pub const HOLDALL_E_IO: i32 = -5;
/// A file is not there.
pub const HOLDALL_E_MISSING: i32 = -6;
/// A file is there that must not be.
pub const HOLDALL_E_EXISTS: i32 = -7;
/// Stored bytes break the format: damage, or another kind of file.
pub const HOLDALL_E_FORMAT: i32 = -8;
/// A stored checksum does not match.
pub const HOLDALL_E_CHECKSUM: i32 = -9;
/// A format version that this library does not know.
pub const HOLDALL_E_VERSION: i32 = -10;
/// A codec or filter that this library does not have.
pub const HOLDALL_E_CODEC: i32 = -11;
/// A type that does not fit.
pub const HOLDALL_E_TYPE: i32 = -12;
/// An index beyond the end.
pub const HOLDALL_E_RANGE: i32 = -13;
/// The call does not fit the state of the handle or of the file.
pub const HOLDALL_E_STATE: i32 = -14;
/// A limit that the caller has set would be passed.
pub const HOLDALL_E_LIMIT: i32 = -15;
/// The caller's progress function stopped the call.
pub const HOLDALL_E_CANCELLED: i32 = -16;
/// One of the caller's functions failed.
pub const HOLDALL_E_CALLBACK: i32 = -17;
/// Somebody else is writing.
pub const HOLDALL_E_BUSY: i32 = -18;
/// Well-formed, and not supported by this version or this storage.
pub const HOLDALL_E_UNSUPPORTED: i32 = -19;

const MESSAGE: usize = 496;

/// The words of a failure: 512 bytes of the caller's, for ever. Every call that can fail takes one
/// as its last argument, or NULL; it is written only where the call returns less than 0.
#[repr(C)]
pub struct holdall_error {
    /// What the call returned.
    pub status: holdall_status,
    /// errno, or 0.
    pub os_code: i32,
    /// The record or chunk at which it failed, as the caller counts them, or -1.
    pub position: i64,
    /// UTF-8 with a NUL; cut with "..." where it is longer.
    pub message: [c_char; 496],
}

const _: () = assert!(size_of::<holdall_error>() == 512);

/// A handle that can be found to be broken.
pub trait Handle {
    /// Set for good once a call on this handle has panicked.
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

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// The words of a panic reach the caller as an error; they must not be printed as well. Panics of
/// others in this process go on to whatever hook there was.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.get() == 0 && !crate::parallel::is_worker() {
                before(info);
            }
        }));
    });
}

/// Runs the body of a call. One function for all of them: what it does is not in each.
#[inline(never)]
fn caught(f: &mut dyn FnMut() -> Result<holdall_status>) -> Result<holdall_status> {
    quiet_panics();
    // looked up once: in a shared library that is a call
    let r = INSIDE.with(|inside| {
        inside.set(inside.get() + 1);
        let r = catch_unwind(AssertUnwindSafe(f));
        inside.set(inside.get() - 1);
        r
    });
    r.unwrap_or_else(|p| {
        let words = p
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or_else(|| p.downcast_ref::<String>().cloned());
        // what a panic carries may panic when it is dropped
        std::mem::forget(p);
        Err(Error::new(
            Status::Panic,
            format!("this is a bug in holdall: {}", words.unwrap_or_default()),
        ))
    })
}

/// A function that runs once, as one that may run often.
fn once(f: impl FnOnce() -> Result<holdall_status>) -> impl FnMut() -> Result<holdall_status> {
    let mut f = Some(f);
    move || f.take().map_or(Ok(HOLDALL_OK), |f| f())
}

/// Runs the body of an exported function: `Ok` is the status it returns.
pub(crate) fn guard(
    err: *mut holdall_error,
    f: impl FnOnce() -> Result<holdall_status>,
) -> holdall_status {
    told(err, caught(&mut once(f)))
}

#[inline(never)]
fn told(err: *mut holdall_error, done: Result<holdall_status>) -> holdall_status {
    match done {
        Ok(status) => status,
        Err(e) => {
            // SAFETY: NULL or, by contract, a holdall_error of the caller's.
            if let Some(out) = unsafe { err.as_mut() } {
                tell(out, &e);
            }
            e.status as i32
        }
    }
}

/// As [`guard`], on a handle: it must not be NULL or broken, and a panic breaks it.
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

/// As [`guard_handle`], on a handle that is changed.
pub(crate) fn guard_handle_mut<H: Handle>(
    h: Option<&mut H>,
    err: *mut holdall_error,
    f: impl FnOnce(&mut H) -> Result<holdall_status>,
) -> holdall_status {
    let Some(h) = h else { return no_handle(err) };
    // the body has the handle to itself: the mark is looked at before, and set behind it
    let broken = AtomicBool::new(h.broken().load(Ordering::Relaxed));
    let done = guarded(&broken, err, &mut once(|| f(&mut *h)));
    h.broken().store(broken.into_inner(), Ordering::Relaxed);
    done
}

/// As [`guard_handle_mut`], for a change that gives nothing.
pub(crate) fn guard_change<H: Handle>(
    h: Option<&mut H>,
    err: *mut holdall_error,
    f: impl FnOnce(&mut H) -> Result<()>,
) -> holdall_status {
    guard_handle_mut(h, err, |h| f(h).map(|()| HOLDALL_OK))
}

#[inline(never)]
fn no_handle(err: *mut holdall_error) -> holdall_status {
    told(err, Err(fail!(Argument, "the handle is NULL")))
}

#[inline(never)]
fn guarded(
    broken: &AtomicBool,
    err: *mut holdall_error,
    f: &mut dyn FnMut() -> Result<holdall_status>,
) -> holdall_status {
    if broken.load(Ordering::Relaxed) {
        return told(
            err,
            Err(fail!(
                Panic,
                "an earlier call on this handle met a bug in holdall; close it"
            )),
        );
    }
    let done = caught(f);
    if done.as_ref().is_err_and(|e| e.status == Status::Panic) {
        broken.store(true, Ordering::Relaxed);
    }
    told(err, done)
}

/// For functions that cannot fail: what they return if there is a bug.
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

/// What a handle says of itself, `otherwise` for NULL: as [`guard_value`], for what only looks at a
/// field. Where the compiler sees that nothing in it panics, nothing but the look is left. A panic
/// ends here all the same; its words are printed, as those of others are.
#[inline(always)]
pub(crate) fn field<H, T: Copy>(handle: *const H, otherwise: T, f: impl FnOnce(&H) -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| borrow(handle).map_or(otherwise, f))).unwrap_or_else(|p| {
        std::mem::forget(p);
        otherwise
    })
}

fn tell(out: &mut holdall_error, e: &Error) {
    out.status = e.status as i32;
    out.os_code = e.os_code;
    out.position = e.position;
    let words = e.message.replace('\0', " ");
    let (head, dots, tail) = shortened(&words, MESSAGE - 1);
    let bytes = [head, dots, tail, "\0"].into_iter().flat_map(str::bytes);
    for (d, s) in out.message.iter_mut().zip(bytes) {
        *d = s as c_char;
    }
}

/// Shortens a message to `most` bytes. What is long in a message is a path or a name, which comes
/// first, and the reason comes last: the middle is left out, so that both the beginning of the path
/// and the reason stay.
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

/// The caller's string: a path or a name.
pub(crate) fn string<'a>(s: *const c_char, what: &str) -> Result<&'a OsStr> {
    if s.is_null() {
        return Err(fail!(Argument, "{what} is NULL"));
    }
    // SAFETY: not NULL, so by contract a string with a NUL that lives as long as the call.
    let bytes = unsafe { CStr::from_ptr(s) }.to_bytes();
    os::text(bytes).ok_or_else(|| fail!(Argument, "{what} is no UTF-8"))
}

/// The caller's values: NULL only where there are none.
pub(crate) fn slice<'a, T>(p: *const T, n: usize, what: &str) -> Result<&'a [T]> {
    if n == 0 {
        return Ok(&[]);
    }
    check_values(p.addr(), n, size_of::<T>(), align_of::<T>(), what)?;
    // SAFETY: not NULL, aligned, and by contract n values that nobody changes during the call.
    Ok(unsafe { std::slice::from_raw_parts(p, n) })
}

/// Refuses what cannot be room for values of the caller's, and writes to none of it.
pub(crate) fn check_room<T>(p: *mut T, n: usize, what: &str) -> Result<()> {
    if n == 0 {
        Ok(())
    } else {
        check_values(p.addr(), n, size_of::<T>(), align_of::<T>(), what)
    }
}

/// Room for values of the caller's, who need not have written to it: each becomes `value` first.
/// NULL only where there are none.
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
    // SAFETY: not NULL, aligned, and by contract room for n values that only this call touches, as
    // values that may be missing.
    let room = unsafe { std::slice::from_raw_parts_mut(p.cast::<MaybeUninit<T>>(), n) };
    room.fill(MaybeUninit::new(value));
    // SAFETY: the same room, all of whose values have been written.
    Ok(unsafe { std::slice::from_raw_parts_mut(p, n) })
}

/// Can values of this size be there?
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

/// The caller's buffer: NULL asks for the size. The caller need not have written to it, and writing
/// to all of it first would cost as much as many a read. So what gets this slice writes to it, and
/// reads nothing that it has not written: buffers without values are what the tests pass under Miri
/// (`tests/boundary`) and valgrind (`c-tests`), which both tell where such a byte decides
/// something.
#[inline]
pub(crate) fn buffer<'a>(p: *mut u8, n: usize) -> Result<Option<&'a mut [u8]>> {
    if p.is_null() {
        return Ok(None);
    }
    if n > isize::MAX as usize {
        return Err(too_large(n));
    }
    // SAFETY: not NULL, and by contract n bytes that only this call touches. They come from outside
    // of what the compiler sees, so that to it they are some bytes, whether written or not; and
    // they are written before they are read.
    Ok(Some(unsafe { std::slice::from_raw_parts_mut(p, n) }))
}

#[cold]
fn too_large(n: usize) -> Error {
    fail!(Argument, "a buffer of {n} bytes")
}

/// A place for a result, which must not be NULL.
#[inline]
pub(crate) fn place<'a, T>(p: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: NULL or, by contract, a place for one value.
    unsafe { p.as_mut() }.ok_or_else(|| is_null(what))
}

#[cold]
fn is_null(what: &str) -> Error {
    fail!(Argument, "{what} is NULL")
}

/// A place for a result that may be left out.
pub(crate) fn put<T>(p: *mut T, value: T) {
    if !p.is_null() {
        // SAFETY: not NULL, so by contract a place for one value, which may have none yet.
        unsafe { p.write(value) };
    }
}

/// A handle or other value of the caller's, where it is not NULL.
pub(crate) fn borrow<'a, T>(p: *const T) -> Option<&'a T> {
    // SAFETY: NULL or, by contract, a live handle.
    unsafe { p.as_ref() }
}

/// A handle that the caller lets nobody else use during the call.
pub(crate) fn borrow_mut<'a, T>(p: *mut T) -> Option<&'a mut T> {
    // SAFETY: NULL or, by contract, a live handle that no other thread uses now.
    unsafe { p.as_mut() }
}

/// Makes a new handle; the place for it becomes NULL first.
pub(crate) fn give<T>(
    out: *mut *mut T,
    make: impl FnOnce() -> Result<T>,
) -> Result<holdall_status> {
    let out = place(out, "out")?;
    *out = std::ptr::null_mut();
    *out = hand_out(make()?);
    Ok(HOLDALL_OK)
}

/// A new handle, which is the caller's until [`take_back`].
pub(crate) fn hand_out<T>(value: T) -> *mut T {
    let handle = Box::into_raw(Box::new(value));
    handles::opened(handle);
    handle
}

/// Takes a handle back.
pub(crate) fn take_back<T>(p: *mut T) {
    if !p.is_null() {
        handles::closed(p);
        // SAFETY: not NULL, so by contract a handle that `give` made and that is not used again.
        let owned = unsafe { Box::from_raw(p) };
        guard_value((), || drop(owned));
    }
}

/// Copies bytes of known size to the caller, in two calls or one.
pub(crate) fn copy_out(
    bytes: &[u8],
    dst: *mut u8,
    dst_size: usize,
    n: *mut usize,
) -> Result<holdall_status> {
    let n = place(n, "n")?;
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
    fn of_a_long_message_the_middle_is_left_out() {
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
                // characters stay whole, so up to 3 bytes on each side are left out
                assert!(n <= most && n + 6 >= most, "{n} of {most}");
                // what went wrong stands at the end
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

    fn words(e: &holdall_error) -> String {
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
            HOLDALL_E_PANIC
        );
        assert!(words(&e).contains("planned 1"));
        assert_eq!(guard_handle(Some(&h), &mut e, |_| Ok(0)), HOLDALL_E_PANIC);
        assert!(words(&e).contains("close it"));
        assert_eq!(guard_value(5, || panic!("planned")), 5);
        assert_eq!(field(&0, 5, |_| panic!("planned")), 5);
    }

    #[test]
    fn a_panic_on_a_worker_comes_back_too() {
        let r = guard(std::ptr::null_mut(), || {
            crate::parallel::for_each(2, (0..64).collect(), |i: i32| assert!(i < 60, "planned"));
            Ok(0)
        });
        assert_eq!(r, HOLDALL_E_PANIC);
    }

    #[test]
    fn values_that_cannot_be_there_are_told_apart() {
        let values = [1u64, 2];
        let said = |p: *const u64, n: usize| {
            slice(p, n, "start")
                .map(<[u64]>::len)
                .map_err(|e| e.message)
        };
        assert_eq!(said(values.as_ptr(), 2), Ok(2));
        assert_eq!(said(std::ptr::null(), 0), Ok(0));
        assert_eq!(said(std::ptr::null(), 2), Err("start is NULL".into()));
        assert_eq!(
            said(values.as_ptr().wrapping_byte_add(1), 1),
            Err(format!(
                "start is not aligned to {} bytes",
                align_of::<u64>()
            ))
        );
        let most = isize::MAX as usize / size_of::<u64>();
        let words = format!("{} values", most + 1);
        assert!(said(values.as_ptr(), most + 1).is_err_and(|message| message.contains(&words)));
    }

    #[test]
    fn a_long_message_loses_its_middle_between_characters() {
        let mut e = blank();
        guard(&mut e, || {
            Err(Error::new(Status::Io, "ü".repeat(400) + ": gone").at(9))
        });
        let w = words(&e);
        assert!(
            w.contains("ü...ü") && w.ends_with("ü: gone") && (485..=495).contains(&w.len()),
            "{w}"
        );
        assert_eq!((e.status, e.position), (HOLDALL_E_IO, 9));
        guard(&mut e, || Err(Error::new(Status::Io, "x".repeat(495))));
        assert_eq!(words(&e), "x".repeat(495));
    }
}
