//! The C functions, called from Rust as C calls them: each kind of handle from its making to its
//! closing, over storage that is functions. Content is not compressed, so that no C code is called,
//! and Miri, which looks at each access to memory, can run it: `make check-long RIG=miri`.

mod arrays;
mod bags;
mod nulls;
mod schunks;
mod storage;
mod tables;

use holdall::capi::guard::*;
use holdall::capi::options::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// What a call returned, and its words.
fn answer(call: impl FnOnce(*mut holdall_error) -> holdall_status) -> (holdall_status, String) {
    let mut err = MaybeUninit::<holdall_error>::uninit();
    let status = call(err.as_mut_ptr());
    if status >= HOLDALL_OK {
        return (status, String::new());
    }
    // SAFETY: a call that failed has written it, and its message has a NUL.
    let (err, words) = unsafe {
        (
            err.assume_init_ref(),
            CStr::from_ptr((*err.as_ptr()).message.as_ptr()),
        )
    };
    assert_eq!(err.status, status);
    (status, words.to_string_lossy().into_owned())
}

/// It must be done.
#[track_caller]
fn done(call: impl FnOnce(*mut holdall_error) -> holdall_status) {
    let (status, words) = answer(call);
    assert_eq!((status, words.as_str()), (HOLDALL_OK, ""));
}

/// It must fail with this status, and with words.
#[track_caller]
fn refused(want: holdall_status, call: impl FnOnce(*mut holdall_error) -> holdall_status) {
    let (status, words) = answer(call);
    assert!(status == want && !words.is_empty(), "{status}: {words}");
}

/// Makes a handle.
#[track_caller]
fn made<T>(call: impl FnOnce(*mut *mut T, *mut holdall_error) -> holdall_status) -> *mut T {
    let mut out = null_mut();
    done(|err| call(&mut out, err));
    assert!(!out.is_null());
    out
}

/// Makes none.
#[track_caller]
fn not_made<T>(
    want: holdall_status,
    call: impl FnOnce(*mut *mut T, *mut holdall_error) -> holdall_status,
) {
    // whatever was there before
    let mut out = null_mut::<T>().wrapping_byte_add(64);
    refused(want, |err| call(&mut out, err));
    assert!(out.is_null());
}

/// Options of one thread, which hand content on as it is.
fn options(more: &[(i32, i64)]) -> *mut holdall_options {
    let o = holdall_options_new();
    for (option, value) in [(HOLDALL_OPT_THREADS, 1)].iter().chain(more) {
        // SAFETY: options that are there.
        done(|err| unsafe { holdall_options_set(o, *option, *value, err) });
    }
    o
}

#[test]
fn options_are_set_and_freed() {
    unsafe extern "C" fn on(ctx: *mut std::ffi::c_void, _: u64, _: u64) -> std::ffi::c_int {
        ctx.is_null().into()
    }
    let o = options(&[(HOLDALL_OPT_MEMORY_LIMIT, 1 << 20)]);
    // SAFETY: options that are there, until they are freed.
    unsafe {
        refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_options_set(o, 9999, 1, err)
        });
        refused(HOLDALL_E_ARGUMENT, |err| {
            holdall_options_set(o, HOLDALL_OPT_LEVEL, i64::MIN, err)
        });
        done(|err| {
            holdall_options_set_bytes(o, HOLDALL_OPT_FILL, [1u8, 2].as_ptr().cast(), 2, err)
        });
        done(|err| holdall_options_set_bytes(o, HOLDALL_OPT_FILL, null(), 0, err));
        holdall_options_on_progress(o, Some(on), null_mut());
        holdall_options_free(o);
    }
}

/// In debug builds; other builds, and programs under a sanitizer, have the sanitizer.
#[test]
#[cfg(debug_assertions)]
#[cfg_attr(miri, ignore = "it starts a process")]
fn a_handle_that_is_closed_twice_ends_the_process_with_words() {
    const ME: &str = "a_handle_that_is_closed_twice_ends_the_process_with_words";
    if std::env::var_os("HOLDALL_CLOSE_TWICE").is_none() {
        let me = std::env::current_exe().unwrap();
        let out = std::process::Command::new(me)
            .args(["--exact", ME, "--nocapture"])
            .env("HOLDALL_CLOSE_TWICE", "1")
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&out.stderr);
        assert!(
            !out.status.success() && words.contains("closed, but not an open holdall_options"),
            "{words}"
        );
        return;
    }
    let o = options(&[]);
    // SAFETY: the second time is what is tried; it ends before it touches anything.
    unsafe {
        holdall_options_free(o);
        holdall_options_free(o);
    }
}
