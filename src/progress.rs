//! Progress and cancellation of long calls.
//!
//! A call that can take long opens a [`Scope`] with the number of bytes of content that it will
//! process. The layers below report what they decode and encode with [`advance`]; they know neither
//! the call nor its callback. The scope belongs to the calling thread. `parallel` passes it to the
//! threads of the pool that work for the call. They count, and the calling thread reports.
//!
//! A call that a layer above makes reports to the scope of that layer: the caller sees one call.
#![forbid(unsafe_code)]

use crate::error::{Result, fail};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The callback of the caller: bytes of content that are done, of how many. Returns false to stop
/// the call.
pub type Progress = Arc<dyn Fn(u64, u64) -> bool + Send + Sync>;

/// What processes the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Decoding of stored content.
    Decode,
    /// Encoding of new content.
    Encode,
    /// The call itself, with [`Scope::at`].
    Call,
}

/// Number of open scopes in the process. Without any, a step costs one load.
static OPEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether the thread runs no callback: one of the library, or one that is in a callback.
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
    static CURRENT: RefCell<Option<Arc<Meter>>> = const { RefCell::new(None) };
}

/// The progress of a call. Each thread that works for the call has it.
pub struct Meter {
    callback: Progress,
    total: u64,
    counted: Step,
    done: AtomicU64,
    /// Whether the callback knows that all is done.
    is_complete: AtomicBool,
    stopped: AtomicBool,
}

impl Meter {
    /// Reports, on the calling thread. Returns `Cancelled` if the callback has stopped the call.
    fn report(&self) -> Result<()> {
        if !IS_SILENT.get() && !self.stopped.load(Ordering::Relaxed) {
            let done = self.done.load(Ordering::Relaxed).min(self.total);
            self.is_complete
                .store(done == self.total, Ordering::Relaxed);
            // a callback may call the library: that is another call, which reports to none, or a
            // callback that reads its own object would be called without end
            let _restore = Restore(CURRENT.take(), IS_SILENT.replace(true));
            if !(self.callback)(done, self.total) {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
        if self.stopped.load(Ordering::Relaxed) {
            return Err(fail!(
                Cancelled,
                "stopped by the progress callback of the caller"
            ));
        }
        Ok(())
    }
}

/// Restores the scope of the thread, and whether it is silent, when it is dropped.
struct Restore(Option<Arc<Meter>>, bool);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
        IS_SILENT.set(self.1);
    }
}

/// A call whose progress is reported until the scope is dropped.
#[must_use]
pub struct Scope {
    /// None without a callback, within the scope of another call, in a callback, and on a worker
    /// thread.
    meter: Option<Arc<Meter>>,
    /// Not `Send`: the scope belongs to the thread that opened it.
    _thread: PhantomData<std::sync::MutexGuard<'static, ()>>,
}

impl Scope {
    /// Opens the scope of a call that processes `total` bytes of content. Of the steps below, those
    /// of kind `counted` are counted.
    pub fn open(callback: Option<&Progress>, total: u64, counted: Step) -> Scope {
        let meter = callback.and_then(|callback| {
            CURRENT.with_borrow_mut(|current| {
                if current.is_some() || IS_SILENT.get() {
                    return None;
                }
                let meter = Arc::new(Meter {
                    callback: callback.clone(),
                    total,
                    counted,
                    done: AtomicU64::new(0),
                    is_complete: AtomicBool::new(false),
                    stopped: AtomicBool::new(false),
                });
                OPEN.fetch_add(1, Ordering::Relaxed);
                *current = Some(meter.clone());
                Some(meter)
            })
        });
        Scope {
            meter,
            _thread: PhantomData,
        }
    }

    /// Reports that `done` bytes are done.
    pub fn at(&self, done: u64) -> Result<()> {
        if let Some(meter) = &self.meter {
            meter.done.fetch_max(done, Ordering::Relaxed);
        }
        poll()
    }

    /// Reports that `done` of `all` equal parts are done.
    pub fn at_part(&self, done: u64, all: u64) -> Result<()> {
        let total = self.meter.as_ref().map_or(0, |meter| meter.total);
        let bytes = u128::from(total) * u128::from(done) / u128::from(all.max(1));
        self.at(u64::try_from(bytes).unwrap_or(total))
    }

    /// Ends a call that succeeded: reports that all is done, unless the callback knows it. The call
    /// cannot be stopped any more.
    pub fn finish(self) {
        if let Some(meter) = &self.meter
            && meter.total > 0
            && !meter.is_complete.load(Ordering::Relaxed)
        {
            meter.done.store(meter.total, Ordering::Relaxed);
            _ = meter.report();
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.meter.is_some() {
            CURRENT.set(None);
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Runs a call that processes `total` bytes of content, in its own [`Scope`].
#[inline]
pub fn measured<T>(
    callback: Option<Progress>,
    total: u64,
    counted: Step,
    call: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if callback.is_none() {
        return call();
    }
    let scope = Scope::open(callback.as_ref(), total, counted);
    let value = call()?;
    scope.finish();
    Ok(value)
}

/// Reports that `n` bytes of content went through a step, if the call counts that step. Returns
/// `Cancelled` if the caller has stopped the call. The callback may call the library, so no lock
/// and no thread-local buffer may be borrowed.
#[inline]
pub fn advance(step: Step, n: usize) -> Result<()> {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    advance_current(Some((step, n)))
}

/// Lets the caller stop the call, as [`advance`], between steps that are no content.
pub fn poll() -> Result<()> {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    advance_current(None)
}

#[cold]
fn advance_current(step: Option<(Step, usize)>) -> Result<()> {
    let Some(meter) = CURRENT.with_borrow(Option::clone) else {
        return Ok(());
    };
    match step {
        // a call that verifies chunks must not take a stop for a fault of a chunk
        Some((step, _)) if step != meter.counted => return Ok(()),
        Some((_, n)) => _ = meter.done.fetch_add(n as u64, Ordering::Relaxed),
        None => {}
    }
    meter.report()
}

/// Marks the calling thread as one of the library. It never runs a callback.
pub fn mark_worker() {
    IS_SILENT.set(true);
}

/// Returns what the calling thread works for, to pass it to other threads.
pub fn current() -> Option<Arc<Meter>> {
    if OPEN.load(Ordering::Relaxed) == 0 {
        return None;
    }
    CURRENT.with_borrow(Option::clone)
}

/// Runs `work` on a thread that is marked as a worker, for the call that `meter` belongs to.
pub fn working_for(meter: Option<&Arc<Meter>>, work: impl FnOnce()) {
    let Some(meter) = meter else {
        return work();
    };
    let _restore = Restore(CURRENT.replace(Some(meter.clone())), IS_SILENT.get());
    work();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use crate::parallel;
    use std::sync::Mutex;

    type Reports = Arc<Mutex<Vec<(u64, u64)>>>;

    /// A callback that records its calls and stops at the call number `stop`.
    fn recorder(stop: usize) -> (Progress, Reports) {
        let reports = Reports::default();
        let seen = reports.clone();
        let callback = move |done, total| {
            let mut seen = seen.lock().unwrap();
            seen.push((done, total));
            seen.len() < stop
        };
        (Arc::new(callback), reports)
    }

    #[test]
    fn counted_steps_are_reported_up_to_the_total() {
        let (callback, reports) = recorder(usize::MAX);
        let call = || {
            advance(Step::Decode, 40)?;
            advance(Step::Encode, 7)?;
            advance(Step::Decode, 70)
        };
        measured(Some(callback.clone()), 100, Step::Decode, call).unwrap();
        let expected = [(40, 100), (100, 100)];
        assert_eq!(*reports.lock().unwrap(), expected);
        call().unwrap();
        measured(None, 100, Step::Decode, call).unwrap();
        assert_eq!(reports.lock().unwrap().len(), expected.len());
    }

    #[test]
    fn a_stopped_call_fails_at_its_next_step_on_every_thread() {
        let (callback, reports) = recorder(3);
        let caller = std::thread::current().id();
        let e = measured(Some(callback.clone()), 1000, Step::Encode, || {
            parallel::try_for_each_index(3, 1000, |_| {
                // the other threads leave enough items to the calling one
                while std::thread::current().id() != caller && reports.lock().unwrap().len() < 3 {
                    std::thread::yield_now();
                }
                advance(Step::Encode, 1)
            })
        });
        assert_eq!(e.unwrap_err().status, Status::Cancelled);
        assert_eq!(reports.lock().unwrap().len(), 3);
        assert!(reports.lock().unwrap().is_sorted());
        advance(Step::Encode, 1).unwrap();
    }

    #[test]
    fn a_call_within_a_call_reports_to_the_outer_one() {
        let (outer, outer_reports) = recorder(usize::MAX);
        let (inner, inner_reports) = recorder(usize::MAX);
        measured(Some(outer.clone()), 10, Step::Decode, || {
            measured(Some(inner.clone()), 5, Step::Decode, || {
                advance(Step::Decode, 5)
            })
        })
        .unwrap();
        assert_eq!(*outer_reports.lock().unwrap(), [(5, 10), (10, 10)]);
        assert!(inner_reports.lock().unwrap().is_empty());
    }

    #[test]
    fn calls_in_a_callback_report_to_none() {
        let (inner, inner_reports) = recorder(usize::MAX);
        let outer_calls = Arc::new(AtomicUsize::new(0));
        let count = outer_calls.clone();
        let outer: Progress = Arc::new(move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            let call = || advance(Step::Decode, 2);
            call().is_ok() && measured(Some(inner.clone()), 3, Step::Decode, call).is_ok()
        });
        for calls in 1..3 {
            let call = || advance(Step::Decode, 1);
            measured(Some(outer.clone()), 1, Step::Decode, call).unwrap();
            assert_eq!(outer_calls.load(Ordering::Relaxed), calls);
        }
        assert!(inner_reports.lock().unwrap().is_empty());
    }

    #[test]
    fn a_panic_ends_the_scope() {
        let (callback, reports) = recorder(usize::MAX);
        let call = std::panic::AssertUnwindSafe(|| {
            measured(Some(callback.clone()), 1, Step::Decode, || -> Result<()> {
                panic!("planned")
            })
        });
        assert!(std::panic::catch_unwind(call).is_err());
        advance(Step::Decode, 1).unwrap();
        assert!(reports.lock().unwrap().is_empty());
    }
}
