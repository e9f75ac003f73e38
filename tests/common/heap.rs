//! Measures the heap memory of a thread: for the tests that use this allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
pub struct Counting;

thread_local! {
    /// The current number of allocated bytes, and its maximum.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(more: isize) {
    // a thread that ends is not counted any more
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + more;
        held.set((now, held.get().1.max(now)));
    });
}

/// The peak of bytes that this thread allocated during `work`, beyond those allocated before.
pub fn most_held(f: impl FnOnce()) -> usize {
    let before = HELD.get().0;
    HELD.set((before, before));
    f();
    (HELD.get().1 - before) as usize
}

// SAFETY: all calls are forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: see above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: see above.
        unsafe { System.dealloc(p, layout) }
    }
}
