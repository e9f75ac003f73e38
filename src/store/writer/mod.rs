//! Stores that are open for changes: one commit makes the changes of all nodes visible.
//!
//! - `open`: opens and creates stores. `nodes`: finds, creates and removes nodes. `copy`: adds
//!   those of another store. `commit`: makes the changes visible. `embedded_writer`: the frame of a
//!   `.b2e` store.
//! - [`TableLocation`](table_location::TableLocation): where a table is in a store.
//!
//! The nodes are opened in an overlay of the files of the store, where their own commits end. A
//! commit of the store publishes what differs: in a folder as one commit of its files, otherwise in
//! a new archive or frame that replaces the old one. Open nodes remain usable.
#![forbid(unsafe_code)]

mod commit;
mod copy;
mod embedded_writer;
mod nodes;
mod open;
mod table_location;

pub use open::{refuse_existing, tidy};

use crate::error::Result;
use crate::format::Format;
use crate::io::Folder;
use crate::io::journal::Session;
use crate::io::overlay::Overlay;
use crate::options::Options;
use crate::store::{Node, Root, Store};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The nodes of `embed.b2e`.
struct EmbeddedNodes {
    /// Identity, length and stamp of the file.
    of: (u64, u64, u64),
    nodes: Arc<BTreeMap<String, Node>>,
}

/// A store that is open for changes.
pub struct StoreWriter {
    format: Format,
    /// The files as the next commit will have them.
    overlay: Arc<Overlay>,
    /// For messages.
    shown: String,
    options: Options,
    /// There is no commit yet, or the next one replaces all nodes.
    is_new: bool,
    /// Number of changes of the overlay that are committed.
    committed_changes: u64,
    embedded: Mutex<Option<EmbeddedNodes>>,
    // last field, so that the lock is released at the end
    session: Arc<Session>,
}

impl StoreWriter {
    /// Returns the files as the next commit will have them.
    pub(super) fn folder(&self) -> Arc<dyn Folder> {
        self.overlay.clone()
    }

    /// Returns the store as the next commit will have it: with the changes that nodes have
    /// committed.
    pub fn view(&self) -> Result<Store> {
        let folder = self.folder();
        let root = Root::Folder(folder.clone());
        let mut store = Store::in_folder(self.format, root, &folder, &self.options)?;
        // new ones are listed by the next commit
        let tables = store.found_tables(&self.options)?;
        store.nodes.extend(tables);
        Ok(store)
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.overlay.close();
    }
}
