//! Repairs the frames of a store.
#![forbid(unsafe_code)]

use super::table_files::TableFiles;
use super::{EMBED, Node, tree, writer};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::journal::{Mode, Session};
use crate::io::{Folder, locate};
use crate::options::Options;
use crate::superchunk::bloscpack::Repaired;
use crate::superchunk::frame::{self, in_store};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

/// Repairs each frame of the store in a folder. Frames of a kind that the library does not support
/// are left alone. One that cannot be repaired is an error, after all others were repaired. An
/// archive is refused: its members are not changed in place.
pub fn repair(path: &OsStr, format: Format, options: &Options) -> Result<Repaired> {
    if format != Format::B2d {
        return Err(fail!(
            Unsupported,
            "{}: a zip archive is not repaired; extract it to a folder, and repair that",
            path.display()
        ));
    }
    let folder = locate::folder(path)?;
    {
        let shown = folder.show(OsStr::new(""));
        let session = Session::open(in_store::set(&folder), shown, Mode::Append, options)?;
        writer::tidy(&folder, session.is_durable())?;
    }
    // until the end: a writer of a table changes several frames
    let _tables = lock_tables(&folder, options)?;
    let mut nodes = BTreeMap::new();
    tree::add_files(&mut nodes, &*folder)?;
    let mut names = vec![OsString::from(EMBED)];
    for node in nodes.into_values() {
        match node {
            Node::File(name) => names.push(name),
            Node::Ambiguous(one, other) => names.extend([one, other]),
            Node::Embedded(_) | Node::Table | Node::Reference(_) => {}
        }
    }
    let (mut all, mut failed) = (Repaired::default(), None);
    for name in names {
        let mut file = path.to_owned();
        file.push("/");
        file.push(name);
        match frame::repair(&file, options) {
            Err(e) if e.is_unsupported() => {}
            Err(e) => _ = failed.get_or_insert(e),
            Ok(done) => {
                all.retained += done.retained;
                all.dropped += done.dropped;
            }
        }
    }
    failed.map_or(Ok(all), Err)
}

/// Takes the locks of all tables, whose files [`writer::tidy`] has recovered, and removes the folders
/// of indexes that interrupted writers left.
fn lock_tables(folder: &Arc<dyn Folder>, options: &Options) -> Result<Vec<Session>> {
    let mut roots = BTreeSet::new();
    for name in folder.files()? {
        roots.extend(
            name.to_str()
                .and_then(TableFiles::root_of)
                .map(str::to_owned),
        );
    }
    let lock = |root: String| {
        let files = TableFiles::new(folder, &root);
        let shown = folder.show(OsStr::new(&root));
        let session = Session::open(files.container(), shown, Mode::Append, options)?;
        files.remove_index_folders();
        Ok(session)
    };
    roots.into_iter().map(lock).collect()
}
