//! Signals that stop the tool: long calls return, outputs are removed, then the signal ends the
//! process.

use std::sync::atomic::{AtomicI32, Ordering};

static STOPPED: AtomicI32 = AtomicI32::new(0);
const STOPPING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

extern "C" fn stop(signal: i32) {
    STOPPED.store(signal, Ordering::Relaxed);
}

/// Returns whether a signal asked the tool to stop.
pub fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed) != 0
}

/// Catches the signals from now on. A second one ends the process at once.
pub fn catch() {
    for signal in STOPPING {
        // SAFETY: both structures are valid, and the handler only stores to an atomic. read() must
        // return, so SA_RESTART is not set. A signal that is ignored stays so, under nohup for
        // example.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = stop as extern "C" fn(i32) as usize;
            action.sa_flags = libc::SA_RESETHAND;
            if libc::sigaction(signal, std::ptr::null(), &mut old) == 0
                && old.sa_sigaction != libc::SIG_IGN
            {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

/// Ends the process with the signal that stopped it.
pub fn die() -> ! {
    let signal = STOPPED.load(Ordering::Relaxed);
    // SAFETY: both calls take a number of a signal.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    std::process::exit(128 + signal)
}

/// Calls a function that starts a thread: the thread gets no signals, so that they interrupt this
/// one.
pub fn blocked<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are valid, and the mask is that of this thread alone.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        started
    }
}
