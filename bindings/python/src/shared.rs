//! A lock for the object of a Python object: many calls read, one call changes.

use crate::errors::failure;
use holdall::Status;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

thread_local! {
    /// The gates that calls of this thread have passed, by address.
    static PASSED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// An object that many threads read and one at a time changes.
///
/// A thread waits only while it is detached from the interpreter. A callback may read the object
/// that it is called for, even while a change waits. If it changes that object, it gets an exception
/// instead of a deadlock.
pub struct Shared<T> {
    gate: Gate,
    /// Never contended: the gate admits no reader and writer at once.
    object: RwLock<T>,
}

impl<T> Shared<T> {
    /// Shares an object.
    pub fn new(object: T) -> Shared<T> {
        Shared {
            gate: Gate::default(),
            object: RwLock::new(object),
        }
    }

    /// Returns the object for reading. Waits for a change.
    ///
    /// Raises StateError in a callback of a change.
    pub fn read(&self, py: Python<'_>) -> PyResult<Reading<'_, T>> {
        let pass = self.gate.enter(py, Use::Read)?;
        let object = self.object.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Reading {
            object,
            _pass: pass,
        })
    }

    /// Returns the object for a change. Waits for all calls in progress; later calls wait for it.
    ///
    /// Raises StateError in a callback of a call of the same object.
    pub fn write(&self, py: Python<'_>) -> PyResult<Writing<'_, T>> {
        let pass = self.gate.enter(py, Use::Write)?;
        let object = self.object.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Writing {
            object,
            _pass: pass,
        })
    }
}

/// Access to read an object. The object is released before the gate.
pub struct Reading<'a, T> {
    object: RwLockReadGuard<'a, T>,
    _pass: Pass<'a>,
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

/// Access to change an object. The object is released before the gate.
pub struct Writing<'a, T> {
    object: RwLockWriteGuard<'a, T>,
    _pass: Pass<'a>,
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.object
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read,
    Write,
}

/// Admits readers together and writers alone. Readers wait for a writer that waits.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    readers: usize,
    is_writing: bool,
    waiting_writers: usize,
    /// Threads that wait for `changed`.
    waiting: usize,
}

impl State {
    fn admits(&self, usage: Use) -> bool {
        match usage {
            Use::Read => !self.is_writing && self.waiting_writers == 0,
            Use::Write => !self.is_writing && self.readers == 0,
        }
    }

    fn admit(&mut self, usage: Use) {
        match usage {
            Use::Read => self.readers += 1,
            Use::Write => self.is_writing = true,
        }
    }
}

impl Gate {
    fn enter(&self, py: Python<'_>, usage: Use) -> PyResult<Pass<'_>> {
        let is_callback = PASSED.with_borrow(|passed| passed.contains(&self.address()));
        let mut state = self.state();
        if is_callback && (usage == Use::Write || state.is_writing) {
            let message = "a callback cannot refresh or change the object that it is called for";
            drop(state);
            return Err(failure(py, Status::State, message));
        }
        if is_callback || state.admits(usage) {
            state.admit(usage);
        } else {
            drop(state);
            py.detach(|| self.wait(usage));
        }
        PASSED.with_borrow_mut(|passed| passed.push(self.address()));
        Ok(Pass { gate: self, usage })
    }

    fn wait(&self, usage: Use) {
        let mut state = self.state();
        let writers = usize::from(usage == Use::Write);
        state.waiting_writers += writers;
        state.waiting += 1;
        while !state.admits(usage) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting_writers -= writers;
        state.waiting -= 1;
        state.admit(usage);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// The right to use an object, until it is dropped by the same thread.
struct Pass<'a> {
    gate: &'a Gate,
    usage: Use,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let address = self.gate.address();
        PASSED.with_borrow_mut(|passed| {
            if let Some(i) = passed.iter().rposition(|gate| *gate == address) {
                passed.remove(i);
            }
        });
        let mut state = self.gate.state();
        match self.usage {
            Use::Read => state.readers -= 1,
            Use::Write => state.is_writing = false,
        }
        if state.waiting > 0 {
            self.gate.changed.notify_all();
        }
    }
}
