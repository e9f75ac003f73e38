//! A node of a store that a command creates or changes: its commit is one of the store.
//!
//! `x.b2z/group/a` is the node `/group/a` of the store `x.b2z`, which is created if nothing is there.
//! Nodes of a folder that exist are changed in place, without this.

use crate::cli::values::DataFormat;
use crate::failure::{Result, library};
use crate::file_name::FileName;
use crate::usage;
use holdall::{Format, Kind, Location, Options, Store};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Endings of the names of stores.
const STORES: [&str; 3] = [".b2d", ".b2z", ".b2e"];
/// Endings of the files of nodes: in a folder such a path is that of a file.
const FILES: [&str; 3] = [".b2nd", ".b2f", ".b2b"];

/// The store that is open for changes, and the node.
struct Opened {
    path: FileName,
    store: Store,
    location: Location,
}

static OPENED: Mutex<Option<Opened>> = Mutex::new(None);

/// Returns the store and the node that a path names, if it continues after the name of a store.
fn split(path: &FileName) -> Option<(PathBuf, String)> {
    let text = path.text();
    let ends = text.match_indices('/').map(|(at, _)| text.split_at(at));
    let mut stores = ends.filter(|(store, _)| STORES.iter().any(|end| store.ends_with(end)));
    let (store, node) = stores.find(|(store, _)| {
        let about = std::fs::metadata(store);
        about.map_or(true, |about| about.is_dir() == store.ends_with(".b2d"))
    })?;
    let is_file = store.ends_with(".b2d") && FILES.iter().any(|end| node.ends_with(end));
    (!is_file && node.len() > 1).then(|| (store.into(), node.to_owned()))
}

/// Returns whether a path names a node.
pub fn is_node(path: &FileName) -> bool {
    split(path).is_some()
}

/// Returns whether a name is that of a store.
pub fn is_store_name(path: &FileName) -> bool {
    STORES.iter().any(|end| path.ends_with(end))
}

/// Begins to create a node, if OUT names one.
pub fn create(out: &FileName, to: DataFormat) -> Result {
    let Some((path, node)) = split(out) else {
        return Ok(());
    };
    let kind = match to {
        DataFormat::B2nd => Kind::Array,
        DataFormat::B2Frame => Kind::Schunk,
        DataFormat::CTable => Kind::Table,
        _ => {
            return Err(usage!(
                "'{out}' is a node of a store, which is an array, a superchunk or a table (--to b2nd|b2frame|ctable)"
            ));
        }
    };
    let store = match Path::exists(&path) {
        true => Store::open_for_writing(&path, &Options::new()),
        false => Store::create(&path, None, &Options::new()),
    };
    let store = store.map_err(library(out))?;
    let location = store.new_node(&node, kind).map_err(library(out))?;
    begin(out, store, location);
    Ok(())
}

/// Begins to change a node of an archive or a frame, if a path names one.
pub fn change(path: &FileName) -> Result {
    let Some((store, node)) = split(path).filter(|(store, _)| store.is_file()) else {
        return Ok(());
    };
    let store = Store::open_for_writing(&store, &Options::new()).map_err(library(path))?;
    let location = store.node_for_writing(&node).map_err(library(path))?;
    begin(path, store, location);
    Ok(())
}

fn begin(path: &FileName, store: Store, location: Location) {
    let opened = Opened { path: path.clone(), store, location };
    *OPENED.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
}

/// Returns the location of the node that is created or changed, if `path` names it.
pub fn location(path: &FileName) -> Option<Location> {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.as_ref().filter(|opened| opened.path == *path);
    opened.map(|opened| opened.location.clone())
}

/// Commits the store, if the command has begun to create or change a node.
pub fn commit() -> Result {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner).take();
    match opened {
        Some(mut opened) => opened.store.commit().map_err(library(&opened.path)),
        None => Ok(()),
    }
}

/// Copies a store, as its nodes are stored.
pub fn copy(input: &FileName, out: &FileName, format: Option<Format>, force: bool) -> Result {
    let store = Store::open(input.path()).map_err(library(input))?;
    let copied = match force {
        true => store.copy_replacing(out.path(), format, &Options::new()),
        false => store.copy_to(out.path(), format, &Options::new()),
    };
    copied.map_err(crate::failure::creation(out, force))
}
