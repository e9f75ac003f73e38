//! Processor affinity on Linux. Linux may wake a thread on the processor of its waker although
//! another processor is idle: after busy periods it rarely searches among processors that share a
//! cache. Parallel work then runs sequentially.

use std::mem::{size_of, zeroed};

/// A thread ID of the system.
pub type Thread = libc::pid_t;

/// Returns the ID of the calling thread.
pub fn this_thread() -> Thread {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::gettid() }
}

/// Returns the processor on which the calling thread runs.
pub fn this_processor() -> Option<usize> {
    // SAFETY: takes no arguments, and returns a negative number on failure.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Excludes a processor from a sleeping thread's affinity mask until dropped, so that the thread is
/// not woken there. Dropping restores the mask.
pub struct ProcessorExclusion {
    thread: Thread,
    before: libc::cpu_set_t,
}

impl ProcessorExclusion {
    /// Excludes this processor. Returns `None` if the thread may run on no other processor, or if
    /// the system refuses.
    pub fn new(processor: usize, thread: Thread) -> Option<ProcessorExclusion> {
        if processor >= libc::CPU_SETSIZE as usize {
            return None;
        }
        // SAFETY: a set is an array of bits, for which all zeros is valid. The calls read or write
        // one set of the given size, and `processor` is less than the number of its bits.
        unsafe {
            let mut before: libc::cpu_set_t = zeroed();
            let got = libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &mut before);
            if got != 0 || libc::CPU_COUNT(&before) < 2 || !libc::CPU_ISSET(processor, &before) {
                return None;
            }
            let mut others = before;
            libc::CPU_CLR(processor, &mut others);
            let set = libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &others);
            (set == 0).then_some(ProcessorExclusion { thread, before })
        }
    }
}

impl Drop for ProcessorExclusion {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::sched_setaffinity(self.thread, size_of::<libc::cpu_set_t>(), &self.before) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> libc::cpu_set_t {
        // SAFETY: as above.
        unsafe {
            let mut set = zeroed();
            assert_eq!(
                libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set),
                0
            );
            set
        }
    }

    #[test]
    fn excluding_a_processor_moves_a_thread_until_dropped() {
        let (before, here) = (allowed(), this_processor().unwrap());
        // the system may have moved this thread since, but only to a processor of its mask
        let exclusion = ProcessorExclusion::new(here, this_thread());
        let now = allowed();
        // SAFETY: the calls read one bit or all bits of a set, and `here` is less than the number
        // of its bits.
        unsafe {
            let Some(exclusion) = exclusion else {
                return assert!(libc::CPU_COUNT(&before) < 2);
            };
            assert!(!libc::CPU_ISSET(here, &now) && this_processor() != Some(here));
            assert!(ProcessorExclusion::new(here, this_thread()).is_none());
            drop(exclusion);
            assert!(libc::CPU_EQUAL(&before, &allowed()));
        }
        assert!(ProcessorExclusion::new(usize::MAX, this_thread()).is_none());
    }
}
