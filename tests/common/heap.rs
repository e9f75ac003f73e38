//! What a thread holds of the heap at once: for the tests that make this their allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
pub struct Counting;

thread_local! {
    /// Bytes that are held now, and the most of them.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(more: isize) {
    // a thread that ends counts no more
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + more;
        held.set((now, held.get().1.max(now)));
    });
}

/// The most bytes that this thread held while it did this, beyond those that it held before.
pub fn most_held(f: impl FnOnce()) -> usize {
    let before = HELD.get().0;
    HELD.set((before, before));
    f();
    (HELD.get().1 - before) as usize
}

// SAFETY: all calls go to the system's allocator as they come.
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
