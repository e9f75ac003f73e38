//! Superchunks that are written from front to back.

use crate::schunks::content;
use crate::{done, made, options, refused};
use holdall::capi::{container::*, guard::*, options::*, schunk::*, schunk_stream::*, storage::*};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// A stream, and the output that it wrote.
struct Piped {
    stream: *mut holdall_schunk_stream,
    file: Vec<u8>,
}

/// Stores the output of a stream, which it calls without success.
unsafe extern "C" fn take(ctx: *mut c_void, src: *const c_void, n: usize) -> i64 {
    // SAFETY: the test passes a `Piped` that only this function uses during the call, and a stream
    // that is open; the library passes n bytes.
    unsafe {
        let piped = &mut *ctx.cast::<Piped>();
        refused(HOLDALL_E_STATE, |err| {
            holdall_schunk_stream_write(piped.stream, src, n, err)
        });
        holdall_schunk_stream_free(piped.stream);
        piped
            .file
            .extend_from_slice(std::slice::from_raw_parts(src.cast(), n));
    }
    0
}

#[test]
fn superchunks_are_streamed() {
    let piped = Box::into_raw(Box::new(Piped {
        stream: null_mut(),
        file: Vec::new(),
    }));
    // no C code, which Miri cannot run
    let o = options(&[
        (HOLDALL_OPT_LEVEL, 0),
        (HOLDALL_OPT_CHECKSUM, HOLDALL_CHECKSUM_NONE.into()),
    ]);
    // SAFETY: the stream is open until it is freed, and does not use `piped` between its calls.
    unsafe {
        let stream = made(|out, err| {
            holdall_schunk_stream_new(Some(take), piped.cast(), 1, u64::MAX, o, out, err)
        });
        (*piped).stream = stream;
        done(|err| holdall_schunk_stream_write(stream, b"content".as_ptr().cast(), 7, err));
        done(|err| holdall_schunk_stream_finish(stream, err));
        holdall_schunk_stream_free(stream);
        holdall_options_free(o);
        let file = Box::from_raw(piped).file;
        let storage = made(|out, err| {
            holdall_storage_from_memory(file.as_ptr().cast(), file.len(), out, err)
        });
        let o = options(&[]);
        done(|err| holdall_options_set_storage(o, &storage, 1, err));
        let c = made(|out, err| holdall_schunk_open(null(), HOLDALL_READ, o, out, err));
        assert_eq!(content(c), b"content");
        holdall_schunk_close(c);
        holdall_options_free(o);
        holdall_storage_free(storage);
    }
}
