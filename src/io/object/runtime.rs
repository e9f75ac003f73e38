//! The threads that send requests: one runtime of two threads, created on first use and never shut
//! down.
//!
//! A call blocks its own thread, which may be a pool thread or a thread that runs futures of the
//! caller. A forked child does not inherit the threads: it creates its own runtime, and inherited
//! handles are refused.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use crate::os;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tokio::runtime::{Builder, Runtime};

const THREADS: usize = 2;
/// Maximum depth of forks whose processes may use stores.
const MAX_FORKS: usize = 16;

struct ProcessRuntime {
    process: u32,
    runtime: Runtime,
}

// no lock, which a fork might copy while it is held: each child takes the next slot
static RUNTIMES: [OnceLock<ProcessRuntime>; MAX_FORKS] = [const { OnceLock::new() }; MAX_FORKS];

fn runtime() -> Result<&'static Runtime> {
    let process = os::process();
    for cell in &RUNTIMES {
        if let Some(made) = cell.get() {
            if made.process == process {
                return Ok(&made.runtime);
            }
            continue;
        }
        // TLS with ring, unless the program has installed another provider
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("holdall-cloud")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|e| {
            fail!(
                Io,
                "the threads that talk to object stores cannot be started: {e}"
            )
        })?;
        // another thread may have created one meanwhile: discard this one
        if let Err(discarded) = cell.set(ProcessRuntime { process, runtime }) {
            discarded.runtime.shutdown_background();
        }
        if let Some(made) = cell.get().filter(|made| made.process == process) {
            return Ok(&made.runtime);
        }
    }
    Err(fail!(
        State,
        "object stores have been used by too many generations of forked processes (expected at most {MAX_FORKS})"
    ))
}

/// Returns an error if another process opened the object.
pub fn same_process(owner: u32, shown: &str) -> Result<()> {
    if owner == os::process() {
        return Ok(());
    }
    Err(fail!(
        State,
        "{shown}: it was opened before this process was forked; open it again here"
    ))
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the calling thread until a future is ready.
pub fn wait<T>(future: impl Future<Output = T>) -> Result<T> {
    let _entered = runtime()?.enter();
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return Ok(value),
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn any_thread_may_wait() {
        let sleep = || wait(async { tokio::time::sleep(Duration::from_millis(1)).await });
        sleep().unwrap();
        crate::parallel::for_each(2, (0..10).collect(), |_: i32| sleep().unwrap());
        // also from a thread that runs futures itself
        Runtime::new().unwrap().block_on(async { sleep().unwrap() });
    }
}
