//! Which process of a line of forks this is. The system's number does not tell: in a new PID
//! namespace a child may have the number of its parent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many forks lie between this process and the one that called [`process`] first, plus one.
static FORKS: AtomicU32 = AtomicU32::new(1);

extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The identity of this process, never 0 and never `u32::MAX`: a value that was recorded before a
/// fork differs from what the child gets here, and stays the parent's. To be compared with values
/// of this process's own memory only: children of one parent share a number.
pub fn process() -> u32 {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    // SAFETY: the handler is a plain function that adds to an atomic number, which POSIX allows in
    // a forked child; it lives as long as this library, with which glibc removes it.
    let counts =
        *COUNTS.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(count)) == 0 });
    // there was no memory to register it: the system's number is the next best
    if counts {
        FORKS.load(Ordering::Relaxed)
    } else {
        std::process::id()
    }
}

/// The user and the group that the system takes this process for.
pub fn effective_user() -> (u32, u32) {
    // SAFETY: both take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fork_is_counted() {
        let me = process();
        // SAFETY: the child only reads an atomic number and ends.
        let child = unsafe {
            match libc::fork() {
                0 => libc::_exit(i32::from(process() == me)),
                child => child,
            }
        };
        let mut status = -1;
        // SAFETY: `status` is a place for one number.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!((status, process()), (0, me));
    }
}
