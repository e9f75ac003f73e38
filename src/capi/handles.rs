//! In debug builds: the handles that are open. One that is closed twice, or that this library never
//! made, ends the process with words, where it would otherwise free memory that is somebody else's
//! by now. Nothing of this is in the library for C.

#[cfg(debug_assertions)]
mod known {
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
                "holdall: {handle:p} is closed, and is no open {}",
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
mod known {
    pub fn opened<T>(_: *mut T) {}
    pub fn closed<T>(_: *mut T) {}
}

pub(super) use known::{closed, opened};
