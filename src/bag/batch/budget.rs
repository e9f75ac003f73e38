//! The memory that a batch may take, and whether it is still wanted.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::error::{Error, Result, Status, fail};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that a batch may still allocate, over all its tasks.
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

    /// To be asked at each record: an error where nobody wants the batch any more.
    pub fn go_on(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::new(
                Status::Cancelled,
                "nobody wants the batch any more",
            )),
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
            fail!(Limit, "{n} bytes of memory are needed, {left} of the limit of {} are left (HOLDALL_OPT_MEMORY_LIMIT)", self.limit)
        })
    }

    pub fn give_back(&self, n: u64) {
        self.left.fetch_add(n, Ordering::Relaxed);
    }
}
