//! The C functions for stores.

use super::array::{holdall_array, new_location, open_node as open_array, utf8};
use super::bag::without_storage;
use super::constants::{format, format_number, kind, kind_number, mode};
use super::container::{holdall_format, holdall_kind, holdall_mode};
use super::guard::*;
use super::options::{chosen, holdall_options};
use super::schunk::{holdall_schunk, open_node as open_schunk};
use super::storage::{Target, holdall_storage, target};
use super::table::{self, holdall_table, table_handle};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::store::{NodeLocation, StoreHandle};
use crate::watch::{Source, Watch};
use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open store of python-blosc2: a tree of arrays, superchunks and tables, the nodes, in a folder
/// (`.b2d`), a zip archive (`.b2z`) or a frame (`.b2e`). The path of a node begins with a slash.
///
/// The functions of array.h, schunk.h and table.h also open nodes by path: "x.b2z/group/a", in a folder
/// also for changes. While a node is open for changes, no other thread may use the store; a change
/// beside a commit is refused, HOLDALL_E_STATE.
pub struct holdall_store {
    broken: AtomicBool,
    inner: StoreHandle,
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

impl holdall_store {
    fn new(inner: StoreHandle) -> holdall_store {
        let paths = paths(&inner);
        holdall_store {
            broken: AtomicBool::new(false),
            inner,
            paths,
        }
    }
}

/// Returns the paths of the nodes. One with a NUL is no node that C could open.
fn paths(store: &StoreHandle) -> Vec<CString> {
    let nodes = store.committed().nodes();
    nodes
        .filter_map(|(path, _)| CString::new(path).ok())
        .collect()
}

/// Opens a store. mode: HOLDALL_READ, or HOLDALL_APPEND to change nodes in one commit.
///
/// Returns:
/// - HOLDALL_E_FORMAT: no store; an archive with members that overlap or lead out of it.
/// - HOLDALL_E_BUSY: a writer has the store or a node open.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open(
    path: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_store,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (chosen, mode) = (chosen(options), self::mode(mode)?);
            let inner = match target(path, options)? {
                Target::Path(path) => StoreHandle::open(path, mode, &chosen)?,
                Target::Storage(folder) => StoreHandle::open_in(&folder, mode, &chosen)?,
            };
            Ok(holdall_store::new(inner))
        })
    })
}

/// Creates a store and opens it for changes. The first commit makes it visible.
///
/// - mode: HOLDALL_CREATE, HOLDALL_REPLACE.
/// - format: HOLDALL_FORMAT_B2D, _B2Z or _B2E; 0: by the end of the path.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_create(
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    options: *const holdall_options,
    out: *mut *mut holdall_store,
    err: *mut holdall_error,
) -> holdall_status {
    guard(err, || {
        give(out, || {
            let (chosen, mode) = (chosen(options), self::mode(mode)?);
            let format = chosen_format(format)?;
            let inner = match target(path, options)? {
                Target::Path(path) => StoreHandle::create(path, mode, format, &chosen)?,
                Target::Storage(folder) => StoreHandle::create_in(&folder, mode, format, &chosen)?,
            };
            Ok(holdall_store::new(inner))
        })
    })
}

/// Makes what nodes have committed, and removals, visible and durable in one step, and lists the
/// nodes again. Open nodes stay valid. An archive or a frame is written again.
///
/// Returns:
/// - HOLDALL_E_STATE: opened for reading; another program has changed a node.
/// - HOLDALL_E_UNSUPPORTED: a node has another format than b2nd, b2frame or ctable.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_commit(
    store: *mut holdall_store,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle_mut(borrow_mut(store), err, |store| {
        store.inner.commit()?;
        store.paths = paths(&store.inner);
        Ok(HOLDALL_OK)
    })
}

/// Gets the storage of a new node, for holdall_options_set_storage() and a call that creates or
/// copies an array (HOLDALL_FORMAT_B2ND), a superchunk (_B2FRAME) or a table (_CTABLE): kind. Creates
/// groups. To be freed.
///
/// Returns:
/// - HOLDALL_E_EXISTS: another kind of node has this path, or a table is above or below it.
/// - HOLDALL_E_ARGUMENT: a step such as "..".
/// - HOLDALL_E_UNSUPPORTED: a table in a .b2e store.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_node_storage(
    store: *const holdall_store,
    node: *const c_char,
    kind: holdall_kind,
    out: *mut *mut holdall_storage,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let kind = self::kind(kind)?;
            match store.inner.locate_new(node_path(node)?, kind)? {
                NodeLocation::Folder(folder) => Ok(holdall_storage::new(folder)),
                NodeLocation::Path(path) => {
                    Err(fail!(State, "{}: it has a path of its own", path.display()))
                }
            }
        })
    })
}

/// Copies all nodes, as they are stored, to a new store, complete or not at all. path, mode, format: as
/// for holdall_store_create().
///
/// Returns: as that does, and
/// - HOLDALL_E_UNSUPPORTED: a table for a .b2e store.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_copy(
    store: *const holdall_store,
    path: *const c_char,
    mode: holdall_mode,
    format: holdall_format,
    options: *const holdall_options,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle(borrow(store), err, |store| {
        let (mode, format) = (self::mode(mode)?, chosen_format(format)?);
        let to = target(path, options)?;
        store
            .inner
            .copy(new_location(&to), mode, format, &chosen(options))?;
        Ok(HOLDALL_OK)
    })
}

/// Removes a node or a group with the next commit. No handle of it may be open.
///
/// Returns:
/// - HOLDALL_E_MISSING: no such node.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_remove(
    store: *mut holdall_store,
    node: *const c_char,
    err: *mut holdall_error,
) -> holdall_status {
    guard_handle_mut(borrow_mut(store), err, |store| {
        store.inner.remove(node_path(node)?)?;
        Ok(HOLDALL_OK)
    })
}

/// Closes a store, without a commit. Its open nodes remain valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_store_close(store: *mut holdall_store) {
    take_back(store);
}

/// Returns the number of nodes at the last commit. A table is one node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdall_store_node_count(store: *const holdall_store) -> usize {
    field(store, 0, |s| s.paths.len())
}

/// Returns the path of a node, in order; NULL if i is out of range. Valid until the store is closed
/// or committed.
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
        let node = node_path(node)?;
        let (f, k) = crate::identify::identify_in_store(&store.inner, node)?;
        put(format, format_number(f));
        put(kind, kind_number(k));
        Ok(HOLDALL_OK)
    })
}

/// Opens a node that is an array. mode: HOLDALL_READ; HOLDALL_APPEND if the store is open for changes:
/// what the array commits is in the next commit of the store.
///
/// Returns: as holdall_store_identify() and holdall_array_open().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open_array(
    store: *const holdall_store,
    node: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_array,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let (options, mode) = (
                without_storage(options, "opening a node")?,
                self::mode(mode)?,
            );
            open_array(&store.inner.locate(node_path(node)?, mode)?, mode, options)
        })
    })
}

/// Opens a node as a superchunk. mode: as for holdall_store_open_array().
///
/// Returns: as holdall_store_identify() and holdall_schunk_open().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open_schunk(
    store: *const holdall_store,
    node: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_schunk,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let (options, mode) = (
                without_storage(options, "opening a node")?,
                self::mode(mode)?,
            );
            open_schunk(&store.inner.locate(node_path(node)?, mode)?, mode, options)
        })
    })
}

/// Opens a node that is a table. mode: as for holdall_store_open_array(). holdall_table_refresh() does
/// not apply.
///
/// Returns: as holdall_store_identify() and holdall_table_open().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn holdall_store_open_table(
    store: *const holdall_store,
    node: *const c_char,
    mode: holdall_mode,
    options: *const holdall_options,
    out: *mut *mut holdall_table,
    err: *mut holdall_error,
) -> holdall_status {
    put(out, std::ptr::null_mut());
    guard_handle(borrow(store), err, |store| {
        give(out, || {
            let (options, mode) = (
                without_storage(options, "opening a node")?,
                self::mode(mode)?,
            );
            table_handle(options, |options| {
                table::open_node(&store.inner, node_path(node)?, mode, options)
            })
        })
    })
}

/// Returns the format of a constant; 0: none.
fn chosen_format(constant: holdall_format) -> Result<Option<Format>> {
    match constant {
        0 => Ok(None),
        constant => format(constant).map(Some),
    }
}

fn node_path<'a>(node: *const c_char) -> Result<&'a str> {
    utf8(node, "node")
}
