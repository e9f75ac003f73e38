//! The C functions for superchunks that are written from front to back.

use super::bag::without_storage;
use super::guard::*;
use super::options::holdall_options;
use crate::error::{Error, Result, Status, fail};
use crate::superchunk::bloscpack::StreamWriter;
use std::ffi::c_void;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A writer of a Bloscpack file from front to back, for a pipe or a socket. Memory use does not
/// depend on the length; there is no commit.
pub struct holdall_schunk_stream {
    broken: AtomicBool,
    /// `None` once it is finished. Locked during a call, so that calls of the write function on its
    /// own stream are detected.
    writer: Mutex<Option<StreamWriter<Output>>>,
}
handle!(holdall_schunk_stream);

/// Writes all n bytes. Returns 0 or n on success, -errno on failure.
pub type holdall_write_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, src: *const c_void, n: usize) -> i64>;

/// The output of a stream: a function of the caller.
struct Output {
    write: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> i64,
    ctx: *mut c_void,
}
// SAFETY: the header states that the thread that writes to the stream calls the function.
unsafe impl Send for Output {}

impl Output {
    fn call(&mut self, src: &[u8]) -> Result<()> {
        // SAFETY: by contract callable with its context and bytes that it only reads.
        let n = unsafe { (self.write)(self.ctx, src.as_ptr().cast(), src.len()) };
        if n < 0 {
            let code = i32::try_from(n.unsigned_abs()).unwrap_or(i32::MAX);
            let os = io::Error::from_raw_os_error(code);
            return Err(Error {
                os_code: code,
                ..Error::new(
                    Status::Callback,
                    format!("(stream): the caller's write failed: {os}"),
                )
            });
        }
        if n == 0 || n.unsigned_abs() == src.len() as u64 {
            return Ok(());
        }
        Err(fail!(
            Callback,
            "(stream): the caller's write returned {n} (expected 0 or {}); it must write all bytes",
            src.len()
        ))
    }
}

impl Write for Output {
    fn write(&mut self, src: &[u8]) -> io::Result<usize> {
        self.write_all(src).map(|()| src.len())
    }
    // The default method calls `write` again after EINTR, which would write the bytes twice.
    fn write_all(&mut self, src: &[u8]) -> io::Result<()> {
        self.call(src).map_err(io::Error::other)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl holdall_schunk_stream {
    /// Locks the writer, unless another call of the stream is running.
    fn try_lock(&self) -> Option<MutexGuard<'_, Option<StreamWriter<Output>>>> {
        match self.writer.try_lock() {
            Ok(writer) => Some(writer),
            Err(TryLockError::Poisoned(writer)) => Some(writer.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, Option<StreamWriter<Output>>>> {
        self.try_lock().ok_or_else(|| {
            fail!(
                State,
                "(stream): another call is running; the write function must not call its own stream"
            )
        })
    }

    fn change(&self, f: impl FnOnce(&mut StreamWriter<Output>) -> Result<()>) -> Result<()> {
        match self.lock()?.as_mut() {
            Some(writer) => f(writer),
            None => Err(fail!(State, "(stream): finished already")),
        }
    }
}

/// Creates a stream that passes its output to write, in order, on the thread that calls the stream.
/// ctx must stay valid. typesize and options: as for holdall_schunk_create(). length: bytes of
/// content; UINT64_MAX: unknown, which the original Bloscpack reads as empty.
///
/// Returns:
/// - HOLDALL_E_UNSUPPORTED: the length is unknown, and HOLDALL_OPT_FORMAT_VERSION is 1.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_stream_new(
    write: holdall_write_fn,
    ctx: *mut c_void,
    typesize: usize,
    length: u64,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk_stream,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard(err, || {
        give(out, || {
            let write = write.ok_or_else(|| fail!(Argument, "write is NULL"))?;
            let options = without_storage(options, "writing a stream of chunks")?;
            let length = (length != u64::MAX).then_some(length);
            let writer = StreamWriter::new(Output { write, ctx }, typesize, length, &options)?;
            Ok(holdall_schunk_stream {
                broken: AtomicBool::new(false),
                writer: Mutex::new(Some(writer)),
            })
        })
    })
}

/// Sets the metadata, n bytes of JSON: attribute "" of the superchunk.
///
/// Returns:
/// - HOLDALL_E_ARGUMENT: not JSON.
/// - HOLDALL_E_STATE: after the first holdall_schunk_stream_write().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_stream_set_metadata(
    stream: *mut holdall_schunk_stream,
    json: *const c_void,
    n: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(stream), err, |s| {
        let json = slice(json.cast(), n, "json")?;
        s.change(|writer| writer.set_meta(json))
            .map(|()| HOLDALL_OK)
    })
}

/// Appends src_size bytes of content and writes the chunks that are complete.
///
/// Returns:
/// - HOLDALL_E_RANGE: more content than length; nothing was written.
/// - HOLDALL_E_CALLBACK: write failed; err->os_code is its errno.
/// - HOLDALL_E_STATE: finished, an earlier call failed, or called by write.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_stream_write(
    stream: *mut holdall_schunk_stream,
    src: *const c_void,
    src_size: usize,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(stream), err, |s| {
        let src = slice(src.cast(), src_size, "src")?;
        s.change(|writer| writer.append(src)).map(|()| HOLDALL_OK)
    })
}

/// Writes the rest. Without it the file is truncated, which readers report as an error.
///
/// Returns:
/// - HOLDALL_E_STATE: less content than length, which may still be written; others as
///   holdall_schunk_stream_write().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_schunk_stream_finish(
    stream: *mut holdall_schunk_stream,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(stream), err, |s| {
        s.change(StreamWriter::complete)?;
        *s.lock()? = None;
        Ok(HOLDALL_OK)
    })
}

/// Frees a stream, without writing anything. Does nothing if write calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_schunk_stream_free(stream: *mut holdall_schunk_stream) {
    if borrow(stream).is_none_or(|s| s.try_lock().is_some()) {
        take_back(stream);
    }
}
