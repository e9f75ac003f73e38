//! Where threads run, on Linux, which may wake a thread on the processor that wakes it though
//! another one is idle: where two processors share a cache it hardly looks for one after busy
//! times. What was to be done at once is then done in turns.

use std::mem::{size_of, zeroed};

/// A thread, as the system counts them.
pub type Thread = libc::pid_t;

/// The calling one.
pub fn this_thread() -> Thread {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// The processor that it runs on, now.
pub fn this_processor() -> Option<usize> {
    // SAFETY: takes nothing, and gives less than 0 where it fails.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Keeps a thread that sleeps from being woken on a processor, until this is dropped: where it may
/// run is then as before. `None`: it may run nowhere else, or the system does not let us.
pub struct Elsewhere {
    thread: Thread,
    before: libc::cpu_set_t,
}

impl Elsewhere {
    /// Than on this processor.
    pub fn than(processor: usize, thread: Thread) -> Option<Elsewhere> {
        if processor >= libc::CPU_SETSIZE as usize {
            return None;
        }
        // SAFETY: a set is an array of bits, all of which may be 0; the calls read or write one,
        // whose size they are told, and the processor is one that it has a bit for.
        unsafe {
            let mut before: libc::cpu_set_t = zeroed();
            let got = libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &mut before);
            if got != 0 || libc::CPU_COUNT(&before) < 2 || !libc::CPU_ISSET(processor, &before) {
                return None;
            }
            let mut others = before;
            libc::CPU_CLR(processor, &mut others);
            let set = libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &others);
            (set == 0).then_some(Elsewhere { thread, before })
        }
    }
}

impl Drop for Elsewhere {
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
    fn a_thread_is_kept_off_a_processor_and_may_go_back() {
        let (before, here) = (allowed(), this_processor().unwrap());
        // the system may have moved this thread since, but not to where it may not run
        let elsewhere = Elsewhere::than(here, this_thread());
        let now = allowed();
        // SAFETY: the calls look at a bit of a set, or at all, and the processor is one that it has
        // a bit for.
        unsafe {
            let Some(elsewhere) = elsewhere else {
                return assert!(libc::CPU_COUNT(&before) < 2);
            };
            assert!(!libc::CPU_ISSET(here, &now) && this_processor() != Some(here));
            assert!(Elsewhere::than(here, this_thread()).is_none());
            drop(elsewhere);
            assert!(libc::CPU_EQUAL(&before, &allowed()));
        }
        assert!(Elsewhere::than(usize::MAX, this_thread()).is_none());
    }
}
