//! Registry of open handles, in debug builds only. Closing a handle twice, or a pointer that is not
//! a handle, would free memory that may belong to another object: the process ends with a message
//! instead. Release builds contain nothing of this.

#[cfg(debug_assertions)]
mod registry {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    static OPEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

    fn with<T>(f: impl FnOnce(&mut BTreeSet<usize>) -> T) -> T {
        f(&mut OPEN
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub fn opened<T>(handle: *mut T) {
        with(|all| all.insert(handle.addr()));
    }

    pub fn closed<T>(handle: *mut T) {
        if !with(|all| all.remove(&handle.addr())) {
            eprintln!(
                "holdall: {handle:p}: closed, but not an open {}",
                std::any::type_name::<T>()
                    .rsplit("::")
                    .next()
                    .unwrap_or_default()
            );
            std::process::abort();
        }
    }
}

#[cfg(not(debug_assertions))]
mod registry {
    pub fn opened<T>(_: *mut T) {}
    pub fn closed<T>(_: *mut T) {}
}

pub(super) use registry::{closed, opened};
