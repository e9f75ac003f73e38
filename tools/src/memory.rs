//! What happens if an allocation fails: the tool prints an error and exits with 1.
//!
//! The library and the tool allocate with functions that return errors where sizes depend on a
//! file. Other allocations, and those of other crates, panic or abort. The standard library may
//! then print a backtrace, which allocates while it holds a lock: if that fails too, the thread
//! waits for its own lock forever. The tool therefore prints no backtraces.

use crate::failure;
use crate::failure::{Exit, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{CString, c_char};
use std::fmt::{self, Display, Formatter, Write};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The size below which a failed allocation ends the process at once. Nothing useful can be done
/// without that much memory, and most of these allocations would abort.
const SMALL: usize = 1 << 20;

/// The size of the last allocation that failed, or 0.
static FAILED: AtomicUsize = AtomicUsize::new(0);
/// Whether a thread panicked because an allocation failed.
static PANICKED: AtomicBool = AtomicBool::new(false);
/// The path of the last temporary file, or null.
static TEMPORARY: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// Removes a temporary file if a failed allocation ends the process, instead of the file that was
/// given before. The file may already be renamed or removed by then.
pub fn remove_at_end(temporary: &Path) {
    // never freed: another thread may be about to read it
    if let Ok(path) = CString::new(temporary.as_os_str().as_bytes()) {
        TEMPORARY.store(path.into_raw(), Ordering::Release);
    }
}

/// The allocator of the system, which records failures.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Returns the allocated memory, unless the allocation failed and is small.
#[inline]
fn checked(allocated: *mut u8, size: usize) -> *mut u8 {
    if allocated.is_null() {
        failed(size);
    }
    allocated
}

#[cold]
fn failed(size: usize) {
    FAILED.store(size, Ordering::Relaxed);
    if size < SMALL {
        end(size);
    }
}

// SAFETY: all calls go to the allocator of the system with the same arguments.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, allocated: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(allocated, layout) }
    }
}

/// The message about an allocation of so many bytes, or 0 if the size is unknown.
struct OutOfMemory(usize);

impl Display for OutOfMemory {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.0 {
            0 => f.write_str("out of memory"),
            size => write!(f, "out of memory: an allocation of {size} bytes failed"),
        }
    }
}

/// A line in memory that is not allocated.
struct Line {
    bytes: [u8; 100],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let free = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        free.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

/// Prints the error, removes the temporary file and ends the process without destructors. Allocates
/// nothing.
fn end(size: usize) -> ! {
    let mut line = Line { bytes: [0; 100], len: 0 };
    _ = writeln!(line, "holdall: {}", OutOfMemory(size));
    let temporary = TEMPORARY.load(Ordering::Acquire);
    // SAFETY: the bytes and the path are valid, and a signal handler may call the functions.
    unsafe {
        if !temporary.is_null() {
            libc::unlink(temporary);
        }
        libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.len);
        libc::_exit(Exit::Failed as i32)
    }
}

/// Handles the signal of an abort. Returns, and the process aborts, if no allocation has failed.
extern "C" fn aborted(_: i32) {
    let size = FAILED.load(Ordering::Relaxed);
    if size != 0 || PANICKED.load(Ordering::Relaxed) {
        end(size);
    }
}

/// Returns whether a panic says that memory could not be allocated, for a buffer of Arrow or the
/// stack of a thread. All later panics follow from it.
fn is_out_of_memory(panic: &PanicHookInfo) -> bool {
    let message = panic.payload().downcast_ref::<String>();
    PANICKED.load(Ordering::Relaxed)
        || message.is_some_and(|message| message.starts_with("failed to allocate"))
}

/// Handles failed allocations from now on. Must be called before other threads start.
pub fn handle_failures() {
    // SAFETY: the process has one thread. The structure is valid, and the handler calls only
    // functions that a signal handler may call.
    unsafe {
        std::env::remove_var("RUST_BACKTRACE");
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = aborted as extern "C" fn(i32) as usize;
        libc::sigaction(libc::SIGABRT, &action, std::ptr::null_mut());
    }
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match is_out_of_memory(panic) {
        true => PANICKED.store(true, Ordering::Relaxed),
        false => default(panic),
    }));
}

/// Calls a function, and converts a panic to a failure if memory could not be allocated.
pub fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        match PANICKED.load(Ordering::Relaxed) {
            true => Err(failure!("{}", OutOfMemory(FAILED.load(Ordering::Relaxed)))),
            false => resume_unwind(panic),
        }
    })
}
