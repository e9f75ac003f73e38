//! Locks of names in one process: of files in memory, and of the names that an overlay holds.
#![forbid(unsafe_code)]

use super::lock::{self, Lock};
use crate::error::Result;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The locks of a folder.
#[derive(Default)]
pub struct MemoryLocks(Mutex<BTreeMap<OsString, Holders>>);

/// Who holds the lock of a name: a value that exists as long as a lock does.
#[derive(Default)]
struct Holders {
    exclusive: Weak<()>,
    shared: Weak<()>,
}

impl MemoryLocks {
    /// Takes the lock of a name. Returns `Busy`, with the name for messages, if it is held.
    pub fn take(&self, name: &OsStr, is_shared: bool, shown: &str) -> Result<Lock> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let holders = locks.entry(name.to_owned()).or_default();
        let shared = holders.shared.upgrade();
        if holders.exclusive.upgrade().is_some() || !is_shared && shared.is_some() {
            return Err(lock::busy(shown));
        }
        let token = shared.unwrap_or_default();
        let holder = if is_shared {
            &mut holders.shared
        } else {
            &mut holders.exclusive
        };
        *holder = Arc::downgrade(&token);
        Ok(Lock::in_memory(token))
    }
}
