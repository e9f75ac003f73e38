//! Paths that continue after the name of a store: `x.b2z/group/a` is the node `/group/a` of the store
//! `x.b2z`.
#![forbid(unsafe_code)]

use super::{Node, NodeLocation, Store};
use crate::error::{Result, Status};
use crate::io::{Folder, locate};
use crate::options::Options;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// Ends of the names of stores whose nodes have paths.
const ENDINGS: [&[u8]; 3] = [b".b2z", b".b2d", b".b2e"];

/// What a path names.
pub enum Named {
    /// No node: a file or folder, or nothing.
    Other,
    /// A node that is an array or a superchunk.
    Node(NodeLocation),
    /// A CTable: the nodes of the store below this path.
    Table(Store, String),
}

/// Opens the array or superchunk that a path names: with `in_folder`, if it is a node that has no
/// path of its own.
pub fn open<T>(
    path: &OsStr,
    options: &Options,
    at_path: impl FnOnce(&OsStr) -> Result<T>,
    in_folder: impl FnOnce(&Arc<dyn Folder>) -> Result<T>,
) -> Result<T> {
    match named(path, options)? {
        Named::Other => at_path(path),
        Named::Node(NodeLocation::Path(path)) => at_path(&path),
        Named::Node(NodeLocation::Folder(folder)) => in_folder(&folder),
        Named::Table(store, root) => store.locate(&root).and_then(|_| at_path(path)),
    }
}

/// Returns what a path names. A path of an existing file names that file.
pub fn named(path: &OsStr, options: &Options) -> Result<Named> {
    let Some((store, node)) = split(path) else {
        return Ok(Named::Other);
    };
    if locate::is_local_name(path) && Path::new(path).is_file() {
        return Ok(Named::Other);
    }
    let store = match Store::open(store, options) {
        // no store: opening the path states what is missing
        Err(e) if matches!(e.status, Status::Missing | Status::Type) => return Ok(Named::Other),
        opened => opened?,
    };
    match store.node(&node)? {
        (path, Node::Table) => {
            let root = path.to_owned();
            Ok(Named::Table(store, root))
        }
        _ => store.locate(&node).map(Named::Node),
    }
}

/// Splits a path after the name of a store that exists.
fn split(path: &OsStr) -> Option<(&OsStr, Cow<'_, str>)> {
    let stores = locate::continued(path, &ENDINGS);
    let mut stores = stores.filter_map(|(store, node)| Some((store, node.to_str()?)));
    let (store, node) = stores.find(|(store, _)| match locate::is_local_name(store) {
        true => Path::new(store).exists(),
        false => true,
    })?;
    match cfg!(windows) {
        true => Some((store, node.replace('\\', "/").into())),
        false => Some((store, node.into())),
    }
}
