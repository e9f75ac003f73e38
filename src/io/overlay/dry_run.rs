//! Dry runs: during a dry run, the changes that a thread makes to folders go to overlays.
//!
//! Every folder that [`locate`](crate::io::locate) returns during a dry run is an overlay of the
//! real one.
#![forbid(unsafe_code)]

use super::extents::ScratchSpace;
use super::{Overlay, Purpose, lock};
use crate::io::{Folder, beside, parent};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex};

thread_local!(static DRY_RUN: RefCell<Option<Arc<DryRunState>>> = const { RefCell::new(None) });

/// The folders of one dry run.
struct DryRunState {
    space: Arc<ScratchSpace>,
    folders: Mutex<HashMap<OsString, Arc<dyn Folder>>>,
}

/// A dry run on this thread, until it is dropped. Handles opened during the dry run remain usable.
pub struct DryRun(Option<Arc<DryRunState>>);

impl DryRun {
    /// Begins a dry run of changes to the container at this path.
    pub fn begin(path: &OsStr) -> DryRun {
        let folder = parent(path);
        let folder = if folder.is_empty() {
            Path::new(".")
        } else {
            Path::new(folder)
        };
        let state = DryRunState {
            space: Arc::new(ScratchSpace::new(folder)),
            folders: Mutex::default(),
        };
        DryRun(DRY_RUN.replace(Some(Arc::new(state))))
    }

    /// Calls a function of the caller, which is not part of the dry run.
    pub fn outside<T>(f: impl FnOnce() -> T) -> T {
        let _back = DryRun(DRY_RUN.replace(None));
        f()
    }
}

impl Drop for DryRun {
    fn drop(&mut self) {
        // Folders refer to their dry run: this breaks the reference cycle.
        if let Some(ended) = DRY_RUN.replace(self.0.take()) {
            let folders = std::mem::take(&mut *lock(&ended.folders));
            drop(folders);
        }
    }
}

/// Returns the overlay of a folder during a dry run of this thread, otherwise the folder itself.
/// Folders of the same `kind` and path share one overlay.
pub fn wrap(kind: &str, folder: Arc<dyn Folder>) -> Arc<dyn Folder> {
    DRY_RUN.with_borrow(|state| match state {
        None => folder,
        Some(state) => {
            let key = beside(kind, OsStr::new(&folder.show(OsStr::new(""))), "");
            let new = || {
                let overlay = Overlay::new(folder, state.space.clone(), Purpose::DryRun);
                Arc::new(overlay) as Arc<dyn Folder>
            };
            lock(&state.folders).entry(key).or_insert_with(new).clone()
        }
    })
}

/// Returns an overlay of a folder in a dry run of its own.
#[cfg(test)]
pub fn standalone(base: Arc<dyn Folder>) -> Arc<dyn Folder> {
    let space = Arc::new(ScratchSpace::new(Path::new("/tmp")));
    Arc::new(Overlay::new(base, space, Purpose::DryRun))
}
