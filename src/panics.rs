//! Converts panics to errors at the functions that other languages call: a panic must not unwind
//! into them.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::parallel;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// Installs a panic hook that prints nothing for panics inside the library, because they are
/// returned as errors. Other panics of the process reach the previous hook.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.get() == 0 && !parallel::is_worker() {
                before(info);
            }
        }));
    });
}

/// Runs the body of a call and converts a panic to an error. Not generic, to keep the code of each
/// exported function small.
#[inline(never)]
pub fn caught(f: &mut dyn FnMut() -> Result<i32>) -> Result<i32> {
    quiet_panics();
    // accessed once: in a shared library each access to a thread-local variable is a call
    let r = INSIDE.with(|inside| {
        inside.set(inside.get() + 1);
        let r = catch_unwind(AssertUnwindSafe(f));
        inside.set(inside.get() - 1);
        r
    });
    r.unwrap_or_else(|p| {
        let message = p
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or_else(|| p.downcast_ref::<String>().cloned());
        // dropping the payload of a panic may panic
        std::mem::forget(p);
        Err(Error::internal(message.unwrap_or_default()))
    })
}
