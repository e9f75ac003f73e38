//! Writes the frame of a `.b2e` store: its content is the frames of all nodes, one after the other.
#![forbid(unsafe_code)]

use super::commit::committed;
use crate::alloc;
use crate::array::msgpack_json::from_json;
use crate::error::Result;
use crate::io::Folder;
use crate::io::journal::Session;
use crate::io::one_file::OneFile;
use crate::json::Value;
use crate::options::Options;
use crate::slice::SliceExt;
use crate::store::{EMBED, Node, NodeLocation, Store, embed_frame, tree};
use crate::superchunk::frame::Frame;
use std::ffi::OsStr;
use std::sync::Arc;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// Replaces the file of a store by one with these nodes, without the bytes of removed ones.
pub fn replace(store: &Store, session: &Arc<Session>) -> Result<()> {
    let old = &store.embed;
    let is_fixed = |name: &&str| old.is_fixed(name);
    let mut fixed = Vec::new();
    for name in old.meta_names().filter(is_fixed) {
        fixed.push((name, old.existing_meta(name)?.to_vec()));
    }
    let mut frame = Frame::create_member(
        session,
        &session.container().main,
        &embed_frame::properties(&fixed),
        &Options::new(),
    )?;
    for name in old.meta_names().filter(|name| !old.is_fixed(name)) {
        frame.vlmeta_set(name, old.existing_meta(name)?)?;
    }
    let mut map = references(old)?;
    let mut at = 0u64;
    for (path, node) in &store.nodes {
        if !matches!(node, Node::File(_) | Node::Embedded(_)) {
            continue;
        }
        let n = append(&mut frame, store, path)?;
        let number = |n: u64| Value::Int(n.into());
        let location = vec![
            ("offset".to_owned(), number(at)),
            ("length".to_owned(), number(n)),
        ];
        map.push((path.clone(), Value::Object(location)));
        at += n;
    }
    let nodes = Value::Object(vec![
        ("embed_map".to_owned(), Value::Object(map)),
        ("current_offset".to_owned(), Value::Int(at.into())),
    ]);
    frame.vlmeta_set(tree::EMBEDDED, &from_json(nodes.to_string().as_bytes()))?;
    frame.commit()
}

/// Returns the members of the map that are references.
fn references(embed: &Frame) -> Result<Vec<(String, Value)>> {
    let value = tree::metalayer(embed, tree::EMBEDDED)?;
    let map = value.as_ref().and_then(|value| value.get("embed_map"));
    let Some(Value::Object(map)) = map else {
        return Ok(Vec::new());
    };
    let is_reference = |value: &Value| value.get("path").is_some();
    let references = map.iter().filter(|(_, value)| is_reference(value));
    Ok(references.cloned().collect())
}

/// Appends the frame of a node. Returns its length.
fn append(frame: &mut Frame, store: &Store, path: &str) -> Result<u64> {
    let NodeLocation::Folder(folder) = store.locate_in(path)? else {
        return Ok(0);
    };
    let file = committed(&folder, OsStr::new(""))?;
    let size = file.size()?;
    let mut piece = alloc::zeroed(PIECE)?;
    let mut done = 0;
    while done < size {
        let part = piece.at_mut(..(size - done).min(PIECE as u64) as usize)?;
        file.read_exact_at(done, part)?;
        frame.append(part)?;
        done += part.len() as u64;
    }
    Ok(size)
}

/// Returns the files of a `.b2e` store as those of a folder: the frame is `embed.b2e`.
pub fn files(folder: &Arc<dyn Folder>, name: &OsStr) -> Arc<dyn Folder> {
    Arc::new(OneFile::renamed(folder.clone(), name.to_owned(), EMBED))
}
