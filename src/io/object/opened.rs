//! The objects that a call has opened last: detecting a format and opening the container use the
//! same object, and the same version of it.
#![forbid(unsafe_code)]

use super::file::ObjectFile;
use super::store::Store;
use crate::error::{Result, Status};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of objects that are remembered: each holds the bytes of its end.
const MAX_OPENED: usize = 8;

/// A store and a key, and the object, if it exists.
type Opened = (Arc<Store>, String, Option<Arc<ObjectFile>>);

thread_local!(static OPENED: RefCell<Option<VecDeque<Opened>>> = const { RefCell::new(None) });

/// Remembers the objects that this thread opens until it is dropped. An inner scope has no effect.
pub struct OpenedScope {
    is_outermost: bool,
}

impl OpenedScope {
    /// Starts to remember objects.
    pub fn new() -> OpenedScope {
        let is_outermost = OPENED.with_borrow(Option::is_none);
        if is_outermost {
            OPENED.set(Some(VecDeque::new()));
        }
        OpenedScope { is_outermost }
    }
}

impl Drop for OpenedScope {
    fn drop(&mut self) {
        if self.is_outermost {
            // the last handle of an object may be among them
            drop(OPENED.take());
        }
    }
}

/// Returns what this call knows of an object: `Some(None)` means that it does not exist.
pub fn known(store: &Arc<Store>, key: &str) -> Option<Option<Arc<ObjectFile>>> {
    OPENED.with_borrow(|opened| {
        let all = opened.iter().flatten();
        let mut own = all.filter(|(s, k, _)| Arc::ptr_eq(s, store) && k == key);
        own.next().map(|(.., object)| object.clone())
    })
}

/// Opens an object, once in a call.
pub fn open(store: &Arc<Store>, key: &str) -> Result<Arc<ObjectFile>> {
    if let Some(Some(object)) = known(store, key) {
        return Ok(object);
    }
    let opened = ObjectFile::open(store, key).map(Arc::new);
    let object = match &opened {
        Ok(object) => Some(object.clone()),
        Err(e) if e.status == Status::Missing => None,
        Err(_) => return opened,
    };
    let forgotten = OPENED.with_borrow_mut(|opened| {
        let all = opened.as_mut()?;
        all.push_back((store.clone(), key.to_owned(), object));
        (all.len() > MAX_OPENED).then(|| all.pop_front())
    });
    drop(forgotten);
    opened
}

/// Returns whether an object exists. A call that remembers objects opens it.
pub fn exists(store: &Arc<Store>, key: &str) -> Result<bool> {
    if let Some(object) = known(store, key) {
        return Ok(object.is_some());
    }
    if OPENED.with_borrow(Option::is_none) {
        return Ok(store.head(key)?.is_some());
    }
    match open(store, key) {
        Err(e) if e.status == Status::Missing => Ok(false),
        opened => opened.map(|_| true),
    }
}
