//! The threads that talk to stores: one runtime of two threads, made at first use and never ended.
//!
//! Calls wait on their own thread, whatever that is: one of the pool's, or one that runs futures of
//! the caller's. A forked child has no such threads; it makes its own, and what it has inherited
//! open is refused.
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
/// Processes in a row, each forked by the one before, that may use stores.
const GENERATIONS: usize = 16;

struct Made {
    process: u32,
    runtime: Runtime,
}

// no lock, which a fork might copy locked: a child takes the next place
static MADE: [OnceLock<Made>; GENERATIONS] = [const { OnceLock::new() }; GENERATIONS];

fn runtime() -> Result<&'static Runtime> {
    let process = os::process();
    for cell in &MADE {
        if let Some(made) = cell.get() {
            if made.process == process {
                return Ok(&made.runtime);
            }
            continue;
        }
        // TLS by ring, unless the program has chosen otherwise
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
        // several threads may make one: the others of them go again
        if let Err(spare) = cell.set(Made { process, runtime }) {
            spare.runtime.shutdown_background();
        }
        if let Some(made) = cell.get().filter(|made| made.process == process) {
            return Ok(&made.runtime);
        }
    }
    Err(fail!(
        State,
        "{GENERATIONS} processes, each forked by the one before, have used object stores: this one cannot"
    ))
}

/// Refuses what another process has opened.
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

/// Waits for a future on this thread.
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
        // one that runs futures itself, too
        Runtime::new().unwrap().block_on(async { sleep().unwrap() });
    }
}
