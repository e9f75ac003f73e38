//! The memory budget and the cancellation of a batch.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of bytes that the tasks of a batch may still allocate.
pub struct Budget<'a> {
    pub left: AtomicU64,
    pub limit: u64,
    stop: Option<&'a AtomicBool>,
}

impl<'a> Budget<'a> {
    pub fn new(limit: u64, stop: Option<&'a AtomicBool>) -> Budget<'a> {
        Budget {
            left: AtomicU64::new(limit),
            limit,
            stop,
        }
    }

    /// Returns an error if the batch was cancelled. Must be called for each record.
    pub fn check_cancelled(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => {
                Err(Error::new(Status::Cancelled, "the batch was cancelled"))
            }
            _ => Ok(()),
        }
    }

    pub fn take(&self, n: u64) -> Result<usize> {
        let took = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(n)
            });
        let allowed = if took.is_ok() { self.limit } else { 0 };
        alloc::allow(n, allowed, "a batch").map_err(|_| {
            let left = self.left.load(Ordering::Relaxed);
            fail!(Limit, "a batch: {n} bytes of memory are needed, {left} bytes of the limit of {} are left (HOLDALL_OPT_MEMORY_LIMIT)", self.limit)
        })
    }

    pub fn release(&self, n: u64) {
        self.left.fetch_add(n, Ordering::Relaxed);
    }
}
