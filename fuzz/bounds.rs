//! What an input may cost, by its length: time of the processor, and memory at once. Both are far above what the address
//! sanitizer makes of honest work, and far below what a size that a file merely claims would ask for.
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seconds, and more for each byte.
const TIME: (f64, f64) = (2.0, 0.002);
/// Bytes, and more for each byte.
const MEMORY: (usize, usize) = (16 << 20, 4 << 10);

/// The system's, counted. What C allocates is zstd's and libdeflate's own: the limit of libFuzzer (-rss_limit_mb) is over both.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize) {
    MOST.fetch_max(NOW.fetch_add(more, Ordering::Relaxed) + more, Ordering::Relaxed);
}

// SAFETY: each call is the system's, with what it was given.
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
    /// Microseconds of the processor that the process has had.
    safe fn clock() -> std::ffi::c_long;
}

/// Runs a check, which must stay within these bounds.
pub fn within(data: &[u8], check: impl Fn(&[u8])) {
    let (before, then) = (NOW.load(Ordering::Relaxed), clock());
    MOST.store(before, Ordering::Relaxed);
    check(data);
    let (n, seconds) = (data.len(), (clock() - then) as f64 / 1e6);
    let most = MOST.load(Ordering::Relaxed) - before;
    assert!(seconds < TIME.0 + TIME.1 * n as f64, "{n} bytes took {seconds} seconds");
    assert!(most < MEMORY.0 + MEMORY.1 * n, "{n} bytes took {most} bytes of memory");
}
