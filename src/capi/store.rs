//! The C functions for stores.

use super::array::{holdall_array, open_node as open_array, utf8};
use super::bag::without_storage;
use super::constants::{format_number, kind_number};
use super::container::{holdall_format, holdall_kind};
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::schunk::{holdall_schunk, open_node as open_schunk};
use super::storage::{Target, target};
use super::table::{holdall_table, table_handle};
use crate::error::Result;
use crate::store::{NodeLocation, Store};
use crate::superchunk::bloscpack::Mode;
use crate::table::Table;
use crate::watch::{Source, Watch};
use std::ffi::{CString, OsStr, c_char};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open store of python-blosc2: a tree of arrays and superchunks, the nodes, in a folder (`.b2d`),
/// a zip archive (`.b2z`) or a frame (`.b2e`). The path of a node begins with a slash.
///
/// The functions of array.h, schunk.h and table.h also open nodes by path: "x.b2z/group/a". Nodes of a folder
/// open for changes, too; archives and frames are read-only.
pub struct holdall_store {
    broken: AtomicBool,
    inner: Store,
    /// The paths of the nodes.
    paths: Vec<CString>,
}
handle!(holdall_store);

const fn shared<T: Send + Sync>() {}
const _: () = shared::<holdall_store>();

/// What a call opens for a node, and what a refresh opens again.
pub(super) fn target_and_source(location: &NodeLocation) -> (Target<'_>, Source) {
    match location {
        NodeLocation::Path(path) => (Target::Path(path), Source::Path(Watch::path(path))),
        NodeLocation::Folder(folder) => (
            Target::Storage(Arc::clone(folder)),
            Source::Storages(vec![Arc::clone(folder)]),
        ),
    }
}

/// Opens a store for reading. It lists the nodes once: open it again to find later ones.
///
/// Returns:
/// - HOLDALL_E_FORMAT: no store; an archive with members that overlap or lead out of it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open(
    path: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_store,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let chosen = chosen(options);
            let inner = match target(path, options)? {
                Target::Path(path) => Store::open(path, &chosen)?,
                Target::Storage(folder) => Store::open_in(&folder, OsStr::new(""), &chosen)?,
            };
            // a path with a NUL has no node that C could open
            let paths = inner
                .nodes()
                .filter_map(|(path, _)| CString::new(path).ok());
            Ok(holdall_store {
                broken: AtomicBool::new(false),
                paths: paths.collect(),
                inner,
            })
        })
    })
}

/// Closes a store. Its open nodes remain valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_store_close(store: *mut holdall_store) {
    take_back(store);
}

/// Returns the number of nodes. A table is one node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_store_node_count(store: *const holdall_store) -> usize {
    field(store, 0, |s| s.paths.len())
}

/// Returns the path of a node, in order; NULL if i is out of range. Valid until the store is closed.
///
/// A node `__vlmeta__` is a superchunk with the attributes of its group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_store_node_path(
    store: *const holdall_store,
    i: usize,
) -> *const c_char {
    field(store, std::ptr::null(), |s| {
        s.paths
            .get(i)
            .map_or(std::ptr::null(), |path| path.as_ptr())
    })
}

/// Identifies the format and kind of a node. Outputs may be NULL.
///
/// Returns:
/// - HOLDALL_E_MISSING: no such node.
/// - HOLDALL_E_TYPE: a group.
/// - HOLDALL_E_UNSUPPORTED: a reference to remote content.
/// - HOLDALL_E_FORMAT: two files have this path.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_identify(
    store: *const holdall_store,
    node: *const c_char,
    format: *mut holdall_format,
    kind: *mut holdall_kind,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(store), err, |store| {
        let (f, k) = crate::identify::identify_node(&store.inner, node_path(node)?)?;
        put(format, format_number(f));
        put(kind, kind_number(k));
        Ok(HOLDALL_OK)
    })
}

/// Opens a node that is an array, for reading.
///
/// Returns: as holdall_store_identify() and holdall_array_open().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open_array(
    store: *const holdall_store,
    node: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let options = without_storage(options, "opening a node")?;
            open_array(&store.inner.locate(node_path(node)?)?, options)
        })
    })
}

/// Opens a node as a superchunk, for reading.
///
/// Returns: as holdall_store_identify() and holdall_schunk_open().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open_schunk(
    store: *const holdall_store,
    node: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let options = without_storage(options, "opening a node")?;
            open_schunk(&store.inner.locate(node_path(node)?)?, options)
        })
    })
}

/// Opens a node that is a table, for reading. holdall_table_refresh() does not apply.
///
/// Returns: as holdall_store_identify() and holdall_table_open().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open_table(
    store: *const holdall_store,
    node: *const c_char,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let options = without_storage(options, "opening a node")?;
            table_handle(options, |options| {
                Table::open_node(&store.inner, node_path(node)?, Mode::Read, options)
            })
        })
    })
}

fn node_path<'a>(node: *const c_char) -> Result<&'a str> {
    utf8(node, "node")
}
