//! The nodes of a store: the files in its folder, and what `embed.b2e` lists.
#![forbid(unsafe_code)]

use super::Node;
use crate::array::msgpack_json::to_json;
use crate::error::{Result, fail};
use crate::io::{Access, Folder, is_own_file};
use crate::json::Value;
use crate::superchunk::frame::in_store::{EMBED, EXTENSIONS};
use crate::superchunk::frame::{self, Frame};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsStr;

/// Metalayer with the nodes of `embed.b2e`.
pub const EMBEDDED: &str = "estore_metadata";
/// Metalayer with the tables and references of a tree.
pub const REGISTRY: &str = "_object_registry";
/// Part of the names of files that python-blosc2 writes before it renames them.
const TEMPORARY: &str = ".tmp";

/// Returns whether a file of this name, or a step of a path, may be one of a node.
pub fn may_be_node(file: &str) -> bool {
    !is_own_file(file) && !file.contains(TEMPORARY)
}

/// Adds the files of a folder that are frames. A file precedes an embedded node of its path.
pub fn add_files(nodes: &mut BTreeMap<String, Node>, folder: &dyn Folder) -> Result<()> {
    let mut files = folder.files()?;
    files.sort_unstable();
    let mut found = BTreeMap::new();
    for name in files {
        // python-blosc2 has no other names
        let Some(text) = name.to_str().filter(|text| *text != EMBED) else {
            continue;
        };
        let text = match cfg!(windows) {
            true => text.replace('\\', "/"),
            false => text.to_owned(),
        };
        let (folder_part, file) = text.rsplit_once('/').unwrap_or(("", &text));
        if !may_be_node(file) {
            continue;
        }
        let (stem, extension) = match file.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ => (file, ""),
        };
        if !EXTENSIONS.contains(&extension) && !is_frame(folder, &name)? {
            continue;
        }
        let slash = if folder_part.is_empty() { "" } else { "/" };
        match found.entry(format!("{slash}{folder_part}/{stem}")) {
            Entry::Vacant(entry) => _ = entry.insert(Node::File(name)),
            Entry::Occupied(mut entry) => {
                if let Node::File(other) = entry.get() {
                    let both = Node::Ambiguous(other.clone(), name);
                    entry.insert(both);
                }
            }
        }
    }
    nodes.extend(found);
    Ok(())
}

/// Returns whether a file begins as a frame does.
pub fn is_frame(folder: &dyn Folder, name: &OsStr) -> Result<bool> {
    let mut head = [0; frame::header::MAGIC.len()];
    let n = match folder.open(name, Access::Read) {
        Err(e) if e.is_system_failure() => return Err(e),
        // a folder that is no file, or a compressed member of an archive
        Err(_) => return Ok(false),
        Ok(file) => file.read_at(0, &mut head)?,
    };
    Ok(n == head.len() && head.get(2..) == frame::header::MAGIC.get(2..))
}

/// Returns the members of a metalayer of `embed.b2e` that have paths as names.
pub fn paths_of<'a>(key: &str, value: &'a mut Value) -> Option<&'a mut Vec<(String, Value)>> {
    let Value::Object(members) = value else {
        return None;
    };
    if key == REGISTRY {
        return Some(members);
    }
    let map = members.iter_mut().find(|(name, _)| name == "embed_map");
    match map {
        Some((_, Value::Object(map))) => Some(map),
        _ => None,
    }
}

/// Returns the nodes of the frame `embed.b2e`.
pub fn embedded_nodes(embed: &Frame) -> Result<BTreeMap<String, Node>> {
    let mut nodes = BTreeMap::new();
    let Some(value) = metalayer(embed, EMBEDDED)? else {
        return Ok(nodes);
    };
    let wrong = |path: &str| {
        fail!(
            Format,
            "{}: metalayer {EMBEDDED:?}: {path:?} has no valid offset and length",
            embed.name()
        )
    };
    let Some(Value::Object(map)) = value.get("embed_map") else {
        return Err(wrong("embed_map"));
    };
    for (path, value) in map {
        let text = |key| value.get(key).and_then(Value::as_str);
        let number = |key| value.get(key).and_then(Value::as_u64);
        let node = match (text("path"), number("offset"), number("length")) {
            (Some(to), ..) => {
                Node::Reference(format!("{}{to}", text("urlbase").unwrap_or_default()))
            }
            (None, Some(at), Some(n)) => {
                let end = at.checked_add(n).filter(|end| *end <= embed.nbytes());
                Node::Embedded(at..end.ok_or_else(|| wrong(path))?)
            }
            _ => return Err(wrong(path)),
        };
        if !path.starts_with('/') {
            return Err(wrong(path));
        }
        nodes.insert(path.clone(), node);
    }
    Ok(nodes)
}

/// Returns the tables and references that a tree registers.
pub fn registered(embed: &Frame) -> Result<Vec<(String, Node)>> {
    let Some(Value::Object(objects)) = metalayer(embed, REGISTRY)? else {
        return Ok(Vec::new());
    };
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let node = |(path, value): (String, Value)| {
        let node = match text(&value, "kind").as_deref() {
            Some("ctable") => Node::Table,
            kind => Node::Reference(format!("an object of kind {:?}", kind.unwrap_or_default())),
        };
        (path, node)
    };
    Ok(objects.into_iter().map(node).collect())
}

/// Returns the value of a metalayer, which is MessagePack.
pub fn metalayer(frame: &Frame, name: &str) -> Result<Option<Value>> {
    let Some(value) = frame.meta(name)? else {
        return Ok(None);
    };
    let value = Value::parse(to_json(value).as_bytes());
    value
        .map(Some)
        .map_err(|e| e.within(format_args!("{}: metalayer {name:?}", frame.name())))
}
