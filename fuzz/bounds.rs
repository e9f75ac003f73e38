//! Bounds on the CPU time and the memory of an input, by its length. Both are far above the cost of
//! valid inputs under the address sanitizer, and far below the sizes that a file may claim.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seconds, and seconds per byte.
const TIME: (f64, f64) = (2.0, 0.002);
/// Bytes, and bytes per byte.
const MEMORY: (usize, usize) = (16 << 20, 4 << 10);

/// The system's allocator, counted. It does not see allocations of zstd and libdeflate in C; the
/// limit of libFuzzer (-rss_limit_mb) includes both.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize) {
    MOST.fetch_max(
        NOW.fetch_add(more, Ordering::Relaxed) + more,
        Ordering::Relaxed,
    );
}

// SAFETY: forwards the call to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

unsafe extern "C" {
    /// Returns the CPU time of the process in microseconds.
    safe fn clock() -> std::ffi::c_long;
}

/// Runs a check, which must stay within these bounds.
pub fn within(data: &[u8], check: impl Fn(&[u8])) {
    let (before, then) = (NOW.load(Ordering::Relaxed), clock());
    MOST.store(before, Ordering::Relaxed);
    check(data);
    let (n, seconds) = (data.len(), (clock() - then) as f64 / 1e6);
    let most = MOST.load(Ordering::Relaxed) - before;
    assert!(
        seconds < TIME.0 + TIME.1 * n as f64,
        "{n} bytes took {seconds} seconds"
    );
    assert!(
        most < MEMORY.0 + MEMORY.1 * n,
        "{n} bytes took {most} bytes of memory"
    );
}
