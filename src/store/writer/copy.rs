//! Copies of all nodes of another store, as they are stored.
#![forbid(unsafe_code)]

use super::StoreWriter;
use super::nodes::{file_of, parent_of};
use crate::error::Result;
use crate::format::Format;
use crate::io;
use crate::io::Access;
use crate::json::Value;
use crate::store::{EMBED, Node, NodeLocation, Store, tree};
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::frame::in_store;
use std::ffi::OsStr;

impl StoreWriter {
    /// Adds all nodes of another store, as they are stored.
    pub fn add_all(&self, from: &Store) -> Result<()> {
        for (path, node) in &from.nodes {
            match node {
                Node::File(_) | Node::Embedded(_) => self.add(from, path, node)?,
                Node::Table if self.format == Format::B2e => return Err(self.refuse_table(path)),
                Node::Table | Node::Reference(_) => {}
                Node::Ambiguous(..) => return from.locate(path).map(drop),
            }
        }
        self.add_references(from)
    }

    /// Adds the references of another store, as it states them.
    fn add_references(&self, from: &Store) -> Result<()> {
        let is_reference = |path: &str| matches!(from.nodes.get(path), Some(Node::Reference(_)));
        let mut added = Vec::new();
        for key in [tree::EMBEDDED, tree::REGISTRY] {
            let (theirs, own) = (
                tree::metalayer(&from.embed, key)?,
                tree::metalayer(&self.open_embed(Mode::Read)?, key)?,
            );
            let Some(mut theirs) = theirs else { continue };
            let mut own = own.unwrap_or(Value::Object(Vec::new()));
            let Some(map) = tree::paths_of(key, &mut theirs) else {
                continue;
            };
            let mut references = std::mem::take(map);
            references.retain(|(path, _)| is_reference(path));
            if let Some(map) = tree::paths_of(key, &mut own)
                && !references.is_empty()
            {
                map.extend(references);
                added.push((key, own.to_string()));
            }
        }
        self.set_metalayers(added)
    }

    /// Adds a node of another store under its path.
    pub(super) fn add(&self, from: &Store, path: &str, node: &Node) -> Result<()> {
        let NodeLocation::Folder(source) = from.locate_in(path)? else {
            return Ok(());
        };
        let name = match node {
            Node::File(name) if in_store::is_file(name) => name.clone(),
            _ => file_of(path, &source)?,
        };
        self.make_folders(parent_of(path))?;
        let source = source.open(OsStr::new(""), Access::Read)?;
        let to = self.folder().create(&name, OsStr::new(EMBED))?;
        io::copy(&*source, 0, &*to, 0, source.size()?)
    }
}
