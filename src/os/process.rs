//! The identity of a process among its forks. The process number of the system is none: in a new
//! PID namespace a child may have the number of its parent.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of forks between the process that called [`process`] first and this one, plus one.
static FORKS: AtomicU32 = AtomicU32::new(1);

extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns the identity of this process, never 0 and never `u32::MAX`.
///
/// A value that was recorded before a fork differs from what the child gets here, and stays the
/// parent's. Compare it with values of this process's own memory only: children of one parent share
/// a number.
pub fn process() -> u32 {
    static PAGE: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();
    match PAGE.get_or_init(wiped_in_children) {
        Some(page) => match page.load(Ordering::Relaxed) {
            0 => renew(page),
            id => id,
        },
        None => process_by_handler(),
    }
}

/// Gives a child, whose page is zero, its number. Threads of the child agree on one.
fn renew(page: &AtomicU32) -> u32 {
    let id = FORKS.fetch_add(1, Ordering::Relaxed) + 1;
    match page.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => id,
        Err(other) => other,
    }
}

/// Returns a page that holds the identity and that the kernel zeroes in each child, also in one of
/// `_Fork()` or `clone()`, which call no handlers. None where the system has no such memory.
#[cfg(all(target_os = "linux", not(miri)))]
fn wiped_in_children() -> Option<&'static AtomicU32> {
    const BYTES: usize = 4096;
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping, which no other memory overlaps.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, kind, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the whole of the mapping above; kernels before Linux 4.14 refuse the advice.
    if unsafe { libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: nothing refers to the mapping.
        unsafe { libc::munmap(page, BYTES) };
        return None;
    }
    // SAFETY: the mapping is aligned to a page, holds zeros, and is never unmapped from here on.
    let page = unsafe { &*page.cast::<AtomicU32>() };
    page.store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
    Some(page)
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn wiped_in_children() -> Option<&'static AtomicU32> {
    None
}

/// As [`process`], by a handler that `fork()` calls.
fn process_by_handler() -> u32 {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    // SAFETY: the handler is a plain function that adds to an atomic number, which POSIX allows in
    // a forked child; it lives as long as this library, with which glibc removes it.
    let counts =
        *COUNTS.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(count)) == 0 });
    // Without memory to register the handler, the process number is the next best.
    if counts {
        FORKS.load(Ordering::Relaxed)
    } else {
        std::process::id()
    }
}

/// Returns the effective user and group of this process.
pub fn effective_user() -> (u32, u32) {
    // SAFETY: both take no arguments and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a child that `fork` makes gets the number of this process.
    fn is_shared_with_child(fork: impl FnOnce() -> libc::pid_t) -> bool {
        let me = process();
        let child = match fork() {
            // SAFETY: the child only reads atomic numbers and ends.
            0 => unsafe { libc::_exit(i32::from(process() == me)) },
            child => child,
        };
        let mut status = -1;
        // SAFETY: `status` is a valid pointer to one number.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(process(), me);
        status != 0
    }

    #[test]
    fn a_child_has_another_number() {
        // SAFETY: the child does nothing that the state of another thread could harm.
        assert!(!is_shared_with_child(|| unsafe { libc::fork() }));
    }

    /// No handler of fork() runs in such a child.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_child_that_the_kernel_cloned_has_another_number() {
        // SAFETY: as fork(): no memory is shared, and the child only reads atomic numbers.
        let clone = || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        assert!(!is_shared_with_child(|| clone() as libc::pid_t));
    }
}
