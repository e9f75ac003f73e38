//! Frames that are nodes of a store in a folder (`.b2d`): a store commits several of them together.
//!
//! The files of the store are a set: its writer excludes the writers of each frame, and each frame
//! is recovered with the set. A folder is a store if it has the file [`EMBED`], and is recognized
//! by its name, as python-blosc2 does.
#![forbid(unsafe_code)]

use crate::io::journal::Container;
use crate::io::{Folder, locate};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path};
use std::sync::Arc;

/// The frame of nodes that are not in files of their own.
pub const EMBED: &str = "embed.b2e";
/// Extensions of the names of frames.
pub const EXTENSIONS: [&str; 3] = ["b2nd", "b2f", "b2b"];
/// Extension of the name of the folder of a store.
const STORE: &str = "b2d";
/// Prefix of the names of the journal and the lock.
const MAIN: &str = "store";

/// Returns the files of the store in a folder.
pub fn set(folder: &Arc<dyn Folder>) -> Container {
    Container::of(folder, MAIN, Arc::new(is_file), EMBED, vec![EMBED.into()])
}

/// Returns whether a path in the folder of a store is one of a frame.
pub fn is_file(name: &OsStr) -> bool {
    let path = Path::new(name);
    let is_plain = path.components().all(|c| matches!(c, Component::Normal(_)));
    let extension = path.extension().and_then(OsStr::to_str);
    is_plain && (name == EMBED || extension.is_some_and(|e| EXTENSIONS.contains(&e)))
}

/// Returns a container as a part of the store that its folder is in, if it is in one.
pub fn part_of_store(container: Container) -> Container {
    let Some((set, below)) = find_set(&*container.folder) else {
        return container;
    };
    Container {
        sets: vec![set],
        below,
        ..container
    }
}

/// Returns the set of the store that a folder is in, and the path of the folder in it.
fn find_set(folder: &dyn Folder) -> Option<(Container, OsString)> {
    let path = folder.local_path()?;
    let mut named = path
        .ancestors()
        .filter(|folder| folder.extension() == Some(OsStr::new(STORE)));
    let store = named.find(|folder| folder.join(EMBED).is_file())?;
    let below = path.strip_prefix(store).ok()?.as_os_str().to_owned();
    let folder = locate::folder(store.as_os_str()).ok()?;
    Some((set(&folder), below))
}
