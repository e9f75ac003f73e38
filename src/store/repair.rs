//! Repairs the frames of a store.
#![forbid(unsafe_code)]

use super::{EMBED, Node, tree};
use crate::error::{Result, fail};
use crate::format::Format;
use crate::io::locate;
use crate::options::Options;
use crate::superchunk::bloscpack::Repaired;
use crate::superchunk::frame;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

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
    let mut nodes = BTreeMap::new();
    tree::add_files(&mut nodes, &*locate::folder(path)?)?;
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
