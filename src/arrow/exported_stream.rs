//! Streams that this library exports: the functions that their consumer calls.

use super::batch_source::Source;
use super::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use crate::error::{Error, Result, Status, fail};
use crate::panics::caught;
use std::ffi::{CString, c_char, c_int};
use std::ptr::{null, null_mut};

/// The state of an exported stream.
struct Exported {
    source: Box<dyn Source>,
    /// Whether a call has panicked.
    is_broken: bool,
    /// Message of the last failed call.
    last_error: Option<CString>,
}

impl ArrowArrayStream {
    /// Exports a source of batches.
    pub fn of(source: Box<dyn Source>) -> ArrowArrayStream {
        let exported = Box::new(Exported {
            source,
            is_broken: false,
            last_error: None,
        });
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: Box::into_raw(exported).cast(),
        }
    }
}

/// Returns the state of a stream, or `None` if the stream is NULL or released.
///
/// # Safety
/// `stream` must be NULL, or point to a stream that [`ArrowArrayStream::of`] has returned and that
/// no other thread uses.
unsafe fn exported<'a>(stream: *mut ArrowArrayStream) -> Option<&'a mut Exported> {
    // SAFETY: NULL or valid, by the contract of this function. The state exists until the release.
    unsafe {
        let stream = stream.as_mut().filter(|s| s.release.is_some())?;
        stream.private_data.cast::<Exported>().as_mut()
    }
}

impl Exported {
    /// Runs a function of the stream. Returns 0, or an errno value and stores the message.
    fn call(&mut self, f: impl FnOnce(&mut dyn Source) -> Result<()>) -> c_int {
        let Err(e) = self.checked(f) else {
            self.last_error = None;
            return 0;
        };
        self.is_broken |= e.status == Status::Internal;
        self.last_error = CString::new(e.message.replace('\0', " ")).ok();
        match e.status {
            _ if e.os_code > 0 => e.os_code,
            Status::Memory | Status::Limit => libc::ENOMEM,
            Status::Type | Status::Range | Status::Argument => libc::EINVAL,
            Status::Unsupported => libc::ENOTSUP,
            _ => libc::EIO,
        }
    }

    fn checked(&mut self, f: impl FnOnce(&mut dyn Source) -> Result<()>) -> Result<()> {
        if self.is_broken {
            return Err(Error::internal(
                "an earlier call on this stream failed; release it",
            ));
        }
        let (source, mut f) = (&mut *self.source, Some(f));
        caught(&mut || {
            let f = f.take().ok_or_else(|| fail!(State, "called twice"))?;
            f(source).map(|()| 0)
        })?;
        Ok(())
    }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: by contract a stream of this library.
    let Some(exported) = (unsafe { exported(stream) }) else {
        return libc::EINVAL;
    };
    exported.call(|source| {
        let schema = ArrowSchema::of(source.schema())?;
        // SAFETY: by contract memory for a schema, which may be uninitialized.
        unsafe { out.write(schema) };
        Ok(())
    })
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: by contract a stream of this library.
    let Some(exported) = (unsafe { exported(stream) }) else {
        return libc::EINVAL;
    };
    exported.call(|source| {
        let batch = source.next_batch()?;
        // SAFETY: by contract memory for an array, which may be uninitialized.
        unsafe { out.write(batch.map_or(ArrowArray::none(), ArrowArray::of)) };
        Ok(())
    })
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: by contract a stream of this library.
    let exported = unsafe { exported(stream) };
    let message = exported.and_then(|e| e.last_error.as_ref());
    message.map_or(null(), |message| message.as_ptr())
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: by contract NULL or a stream of this library that no other thread uses.
    let Some(stream) = (unsafe { stream.as_mut() }).filter(|s| s.release.is_some()) else {
        return;
    };
    stream.release = None;
    let state = std::mem::replace(&mut stream.private_data, null_mut());
    // SAFETY: `of` stored the box there, and no code has taken it since.
    let mut exported = Some(unsafe { Box::from_raw(state.cast::<Exported>()) });
    _ = caught(&mut || {
        drop(exported.take());
        Ok(0)
    });
}
