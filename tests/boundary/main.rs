//! The C functions, called from Rust as C calls them: each kind of handle from its creation to its
//! end, in storage that consists of functions. Tests that Miri runs (`make check-long RIG=miri`)
//! store content uncompressed, because Miri does not run C code.

#[path = "../common/mod.rs"]
mod common;

mod arrays;
mod bags;
mod constants;
mod damage;
mod infos;
mod kinds;
mod nulls;
mod options;
mod refresh;
mod schunk_streams;
mod schunks;
mod sources;
mod storage;
mod stores;
mod structs;
mod tables;
mod targets;

use holdall::capi::array::holdall_array_spec;
use holdall::capi::guard::*;
use holdall::capi::options::*;
use holdall::capi::storage::holdall_storage;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

/// Returns the status of a call, and its message.
fn answer(call: impl FnOnce(*mut holdall_error) -> holdall_status) -> (holdall_status, String) {
    let mut err = MaybeUninit::<holdall_error>::uninit();
    let status = call(err.as_mut_ptr());
    if status >= HOLDALL_OK {
        return (status, String::new());
    }
    // SAFETY: a call that failed has written it, and its message has a NUL.
    let (err, message) = unsafe {
        (
            err.assume_init_ref(),
            CStr::from_ptr((*err.as_ptr()).message.as_ptr()),
        )
    };
    assert_eq!(err.status, status);
    (status, message.to_string_lossy().into_owned())
}

/// Checks that a call returns this status, which is not an error.
#[track_caller]
fn returns(expected: holdall_status, call: impl FnOnce(*mut holdall_error) -> holdall_status) {
    let (status, message) = answer(call);
    assert_eq!((status, message.as_str()), (expected, ""));
}

/// Checks that a call succeeds.
#[track_caller]
fn done(call: impl FnOnce(*mut holdall_error) -> holdall_status) {
    returns(HOLDALL_OK, call);
}

/// Checks that a call fails with this status, and returns its message.
#[track_caller]
fn refused(
    expected: holdall_status,
    call: impl FnOnce(*mut holdall_error) -> holdall_status,
) -> String {
    let (status, message) = answer(call);
    assert!(
        status == expected && !message.is_empty(),
        "{status}: {message}"
    );
    message
}

/// Returns the handle that a call creates.
#[track_caller]
fn made<T>(call: impl FnOnce(*mut *mut T, *mut holdall_error) -> holdall_status) -> *mut T {
    let mut out = null_mut();
    done(|err| call(&mut out, err));
    assert!(!out.is_null());
    out
}

/// Checks that a call fails and creates no handle. Returns its message.
#[track_caller]
fn not_made<T>(
    expected: holdall_status,
    call: impl FnOnce(*mut *mut T, *mut holdall_error) -> holdall_status,
) -> String {
    // not NULL before the call
    let mut out = null_mut::<T>().wrapping_byte_add(64);
    let message = refused(expected, |err| call(&mut out, err));
    assert!(out.is_null());
    message
}

/// Returns what a call stores in a structure of which only struct_size is set.
#[track_caller]
fn info<T>(get: impl FnOnce(*mut T, *mut holdall_error) -> holdall_status) -> T {
    let mut info = MaybeUninit::<T>::uninit();
    // SAFETY: every structure begins with struct_size; the call writes all other fields.
    unsafe {
        info.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        done(|err| get(info.as_mut_ptr(), err));
        info.assume_init()
    }
}

/// Options of one thread.
#[track_caller]
fn options(more: &[(i32, i64)]) -> *mut holdall_options {
    let o = holdall_options_new();
    for (option, value) in [(HOLDALL_OPT_THREADS, 1)].iter().chain(more) {
        // SAFETY: the options exist.
        done(|err| unsafe { holdall_options_set(o, *option, *value, err) });
    }
    o
}

/// Runs a call with options that hold these storages, which are removed afterwards.
#[track_caller]
fn in_storages(
    storages: &[*mut holdall_storage],
    options: *mut holdall_options,
    call: impl FnOnce(*mut holdall_options) -> holdall_status,
) -> holdall_status {
    let own = options.is_null();
    let o = if own { holdall_options_new() } else { options };
    // SAFETY: options and storages exist.
    unsafe {
        let count = storages.len() as u32;
        done(|err| holdall_options_set_storage(o, storages.as_ptr(), count, err));
        let status = call(o);
        done(|err| holdall_options_set_storage(o, null(), 0, err));
        if own {
            holdall_options_free(o);
        }
        status
    }
}

/// The description of a new array, with chunks and blocks of the library's choice.
fn array_spec(format: i32, dtype: &CStr, shape: &[u64]) -> holdall_array_spec {
    holdall_array_spec {
        struct_size: size_of::<holdall_array_spec>(),
        dtype: dtype.as_ptr(),
        shape: shape.as_ptr(),
        chunk_shape: null(),
        block_shape: null(),
        format,
        ndim: shape.len() as u32,
    }
}

/// A path as C has it.
fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).unwrap()
}

/// A folder that is removed at the end of a test.
struct TempFolder(PathBuf);

impl TempFolder {
    /// Creates an empty folder. Tests use different names, because they run at the same time.
    fn new(name: &str) -> TempFolder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("boundary-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        TempFolder(path)
    }

    /// The path of a file as C has it.
    fn file(&self, name: &str) -> CString {
        c_path(&self.0.join(name))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// In debug builds only. Other builds, and programs under a sanitizer, have the sanitizer.
#[test]
#[cfg(debug_assertions)]
#[cfg_attr(miri, ignore = "starts a process")]
fn closing_a_handle_twice_ends_the_process_with_a_message() {
    const ME: &str = "closing_a_handle_twice_ends_the_process_with_a_message";
    if std::env::var_os("HOLDALL_CLOSE_TWICE").is_none() {
        let me = std::env::current_exe().unwrap();
        let out = std::process::Command::new(me)
            .args(["--exact", ME, "--nocapture"])
            .env("HOLDALL_CLOSE_TWICE", "1")
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&out.stderr);
        assert!(
            !out.status.success() && message.contains("closed, but not an open holdall_options"),
            "{message}"
        );
        return;
    }
    let o = options(&[]);
    // SAFETY: the second call ends the process before it accesses anything.
    unsafe {
        holdall_options_free(o);
        holdall_options_free(o);
    }
}
