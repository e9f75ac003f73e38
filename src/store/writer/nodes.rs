//! The nodes of a store that is open for changes: found, created and removed in its overlay.
#![forbid(unsafe_code)]

use super::table_location::TableLocation;
use super::{EmbeddedNodes, StoreWriter};
use crate::array::msgpack_json::from_json;
use crate::error::{Error, Result, Status, fail};
use crate::format::{Format, Kind};
use crate::io::one_file::OneFile;
use crate::io::{Access, Folder, beside, lock};
use crate::options::Options;
use crate::os::OsStrExt;
use crate::store::table_files::{META, TableFiles};
use crate::store::{EMBED, Node, NodeLocation, Store, tree};
use crate::superchunk::bloscpack::Mode;
use crate::superchunk::frame::in_store::EXTENSIONS;
use crate::superchunk::frame::{Frame, in_store};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, PoisonError};

/// What a new node would meet.
enum Occupant {
    None,
    /// A file of this path.
    File(OsString),
    /// Another node, a group, or what only a list of all nodes shows.
    Other,
}

/// Maximum number of steps in the path of a new node: folders are listed to a certain depth.
const MAX_STEPS: usize = 48;

impl StoreWriter {
    /// Returns what to open for an existing node, to read or change it.
    pub fn locate(&self, node: &str) -> Result<NodeLocation> {
        self.session.check()?;
        if let Some(Node::File(name)) = self.find(node)? {
            return Ok(self.file(&name));
        }
        let store = self.view()?;
        if node.trim_matches('/').is_empty() && store.is_table("", &self.options)? {
            return Ok(self.table(""));
        }
        let (path, found) = store.node(node)?;
        match found {
            Node::Table => Ok(self.table(path)),
            Node::Embedded(_) => self.give_file(&store, path),
            Node::File(name) if in_store::is_file(name) => Ok(self.file(name)),
            Node::File(name) => Err(fail!(
                Unsupported,
                "{}: only files whose names end in .b2nd, .b2f or .b2b are changed as nodes; rename it",
                self.overlay.show(name)
            )),
            Node::Reference(_) | Node::Ambiguous(..) => store.locate(path),
        }
    }

    /// Returns what to open for a node to read it, if it is clear without a list of all nodes.
    pub fn find_to_read(&self, node: &str) -> Result<Option<NodeLocation>> {
        self.session.check()?;
        Ok(match self.find(node)? {
            Some(Node::File(name)) => {
                let file = OneFile::new(self.folder(), name);
                Some(NodeLocation::Folder(Arc::new(file)))
            }
            _ => None,
        })
    }

    /// Returns the node of a path if it is clear without a list of all nodes.
    fn find(&self, node: &str) -> Result<Option<Node>> {
        let path = node.trim_start_matches('/');
        let files = self.files_of(path)?;
        let is_table = self.is_there(&format!("{path}/{META}"))?;
        Ok(match (&files[..], is_table) {
            ([name], false) => Some(Node::File(name.clone())),
            ([], false) => self.embedded()?.get(&format!("/{path}")).cloned(),
            _ => None,
        })
    }

    /// Returns the files of a node.
    fn files_of(&self, path: &str) -> Result<Vec<OsString>> {
        let mut found = Vec::new();
        for extension in EXTENSIONS {
            let name = format!("{path}.{extension}");
            if self.is_there(&name)? {
                found.push(name.into());
            }
        }
        Ok(found)
    }

    fn is_there(&self, name: &str) -> Result<bool> {
        self.overlay.exists(OsStr::new(name))
    }

    /// Returns the nodes of `embed.b2e`.
    fn embedded(&self) -> Result<Arc<BTreeMap<String, Node>>> {
        let file = self.overlay.open(OsStr::new(EMBED), Access::Read)?;
        let state = (file.identity(), file.size()?, file.stamp()?);
        let mut known = self.embedded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.of == state) {
            return Ok(known.nodes.clone());
        }
        let nodes = Arc::new(tree::embedded_nodes(&self.open_embed(Mode::Read)?)?);
        *known = Some(EmbeddedNodes {
            of: state,
            nodes: nodes.clone(),
        });
        Ok(nodes)
    }

    /// Returns where a node of this kind is created, or replaced if there is one of this kind.
    pub fn locate_new(&self, node: &str, kind: Kind) -> Result<NodeLocation> {
        self.session.check()?;
        let path = check_path(node)?;
        let extension = match kind {
            Kind::Array => "b2nd",
            Kind::Schunk => "b2f",
            Kind::Table if self.format == Format::B2e => {
                return Err(self.refuse_table(&path));
            }
            Kind::Table => "",
            _ => {
                return Err(fail!(
                    Argument,
                    "a node of kind {kind:?} (expected an array, a superchunk or a table)"
                ));
            }
        };
        match self.occupant(&path)? {
            Occupant::None => {}
            Occupant::File(name) if is_kind(&name, kind) => return Ok(self.file(&name)),
            Occupant::File(_) | Occupant::Other => {
                let store = self.view()?;
                self.refuse_occupied(&store, &path, kind)?;
                if let Ok((path, Node::Embedded(_))) = store.node(&path) {
                    return self.give_file(&store, path);
                }
            }
        }
        if kind == Kind::Table {
            self.make_folders(&path)?;
            return Ok(self.table(&path));
        }
        self.make_folders(parent_of(&path))?;
        let file = format!("{}.{extension}", path.trim_start_matches('/'));
        Ok(self.file(OsStr::new(&file)))
    }

    /// Returns what a new node would meet, as far as that is clear without a list of all nodes.
    fn occupant(&self, path: &str) -> Result<Occupant> {
        let embedded = self.embedded()?;
        let is_node = |step: &str| -> Result<bool> {
            let file = step.trim_start_matches('/');
            Ok(embedded.contains_key(step)
                || !self.files_of(file)?.is_empty()
                || self.is_there(&format!("{file}/{META}"))?)
        };
        let own = path.trim_start_matches('/');
        let group = format!("{path}/");
        let mut below = embedded.range(group.clone()..);
        let is_group = below
            .next()
            .is_some_and(|(other, _)| other.starts_with(&group));
        if is_group || self.is_there(META)? || embedded.contains_key(path) {
            return Ok(Occupant::Other);
        }
        for (at, _) in path.match_indices('/').skip(1) {
            if is_node(path.get(..at).unwrap_or_default())? {
                return Ok(Occupant::Other);
            }
        }
        // also a folder that is empty
        if !self
            .overlay
            .list(OsStr::new(own))
            .unwrap_or_default()
            .is_empty()
        {
            return Ok(Occupant::Other);
        }
        Ok(match &self.files_of(own)?[..] {
            [] => Occupant::None,
            [name] => Occupant::File(name.clone()),
            _ => Occupant::Other,
        })
    }

    /// Returns an error if a new node would be above or below another one, or if another kind of
    /// node has its path.
    fn refuse_occupied(&self, store: &Store, path: &str, kind: Kind) -> Result<()> {
        let exists = |at: &str, what: &str| {
            let e = fail!(State, "{}{at}: {what}; remove it first", self.shown);
            let status = Status::Exists;
            Err(Error { status, ..e })
        };
        if store.is_table("", &self.options)? {
            return Err(fail!(
                Type,
                "{}: this store is a table, which has no other nodes",
                self.shown
            ));
        }
        for (other, node) in store.nodes() {
            if other == path {
                let fits = match node {
                    Node::File(name) => is_kind(name, kind),
                    Node::Embedded(_) => kind != Kind::Table,
                    Node::Table => kind == Kind::Table,
                    Node::Reference(_) | Node::Ambiguous(..) => false,
                };
                if !fits {
                    return exists(path, "another kind of node has this path");
                }
            } else if is_below(path, other) {
                return exists(other, "it is a node, which has no nodes below it");
            } else if is_below(other, path) {
                return exists(other, "this path is that of a group");
            }
        }
        Ok(())
    }

    /// Removes a node, or all nodes of a group.
    pub fn remove(&self, node: &str) -> Result<()> {
        self.session.check()?;
        let absolute = format!("/{}", node.trim_matches('/'));
        if let Some(Node::File(name)) = self.find(&absolute)?
            && !self.embedded()?.contains_key(&absolute)
        {
            self.refuse_open(&name)?;
            return self.overlay.remove(&name);
        }
        let store = self.view()?;
        let (mut paths, mut files) = (Vec::new(), Vec::new());
        for (path, at) in &store.nodes {
            if path != &absolute && !is_below(path, &absolute) {
                continue;
            }
            paths.push(path.as_str());
            match at {
                Node::File(name) => files.push(name),
                Node::Ambiguous(one, other) => files.extend([one, other]),
                Node::Table => {
                    let table = TableFiles::new(&self.folder(), path).container();
                    self.refuse_open(&table.main)?;
                }
                Node::Embedded(_) | Node::Reference(_) => {}
            }
        }
        for name in &files {
            self.refuse_open(name)?;
        }
        for name in files {
            self.overlay.remove(name)?;
        }
        if paths.is_empty() {
            store.node(node)?;
        }
        self.forget_embedded(&store, &paths)
    }

    pub(super) fn refuse_table(&self, path: &str) -> Error {
        fail!(
            Unsupported,
            "{}{path}: a .b2e store holds arrays and superchunks; a table needs a .b2d or .b2z store",
            self.shown
        )
    }

    /// Returns an error if a handle of a file is open for changes.
    fn refuse_open(&self, name: &OsStr) -> Result<()> {
        self.overlay.lock(&beside("", name, lock::SUFFIX)).map(drop)
    }

    /// Removes nodes from the map of `embed.b2e`, and from the list of tables and references.
    fn forget_embedded(&self, store: &Store, paths: &[&str]) -> Result<()> {
        let mut changed = Vec::new();
        for key in [tree::EMBEDDED, tree::REGISTRY] {
            let Some(mut value) = tree::metalayer(&store.embed, key)? else {
                continue;
            };
            let Some(map) = tree::paths_of(key, &mut value) else {
                continue;
            };
            let before = map.len();
            map.retain(|(path, _)| !paths.contains(&path.as_str()));
            if map.len() < before {
                changed.push((key, value.to_string()));
            }
        }
        self.set_metalayers(changed)
    }

    /// Sets metalayers of `embed.b2e`, given as JSON.
    pub(super) fn set_metalayers(&self, values: Vec<(&str, String)>) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let mut embed = self.open_embed(Mode::Append)?;
        for (key, text) in values {
            embed.vlmeta_set(key, &from_json(text.as_bytes()))?;
        }
        embed.commit()
    }

    pub(super) fn open_embed(&self, mode: Mode) -> Result<Frame> {
        Frame::open_in(&self.folder(), OsStr::new(EMBED), mode, &Options::new())
    }

    /// Gives a node of `embed.b2e` a file of its own, which may be changed.
    fn give_file(&self, store: &Store, path: &str) -> Result<NodeLocation> {
        let NodeLocation::Folder(from) = store.locate_in(path)? else {
            return store.locate(path);
        };
        let name = file_of(path, &from)?;
        self.add(store, path, &Node::File(name.clone()))?;
        self.forget_embedded(store, &[path])?;
        Ok(self.file(&name))
    }

    fn file(&self, name: &OsStr) -> NodeLocation {
        let file = OneFile::writable(self.folder(), name.to_owned());
        NodeLocation::Folder(Arc::new(file))
    }

    fn table(&self, path: &str) -> NodeLocation {
        NodeLocation::Folder(Arc::new(TableLocation::new(self.folder(), path)))
    }

    /// Creates a group, and those above it, in the overlay.
    pub(super) fn make_folders(&self, group: &str) -> Result<()> {
        let mut steps = String::new();
        for step in group.split('/').filter(|step| !step.is_empty()) {
            if !steps.is_empty() {
                steps.push('/');
            }
            steps.push_str(step);
            self.folder().make_folder(OsStr::new(&steps))?;
        }
        Ok(())
    }
}

/// Returns whether a file is one of a node of this kind.
fn is_kind(name: &OsStr, kind: Kind) -> bool {
    let end: &[u8] = match kind {
        Kind::Array => b".b2nd",
        Kind::Schunk => b".b2f",
        _ => return false,
    };
    name.as_bytes().ends_with(end)
}

/// Returns the path of a new node with a slash at its beginning.
fn check_path(node: &str) -> Result<String> {
    let steps: Vec<&str> = node.strip_prefix('/').unwrap_or(node).split('/').collect();
    let is_wrong = |step: &&&str| {
        ["", ".", ".."].contains(*step) || step.contains(['\\', '\0']) || !tree::may_be_node(step)
    };
    if let Some(step) = steps.iter().find(is_wrong) {
        return Err(fail!(
            Argument,
            "node {node:?}: the step {step:?} is no name (expected one without backslash, \".holdall-\" and \".tmp\")"
        ));
    }
    if steps.len() > MAX_STEPS {
        return Err(fail!(
            Limit,
            "node {node:?}: {} steps (expected at most {MAX_STEPS})",
            steps.len()
        ));
    }
    if steps == ["embed"] {
        return Err(fail!(
            Argument,
            "node {node:?}: this name is that of a file of the store"
        ));
    }
    Ok(format!("/{}", steps.join("/")))
}

/// Returns the file of a node whose frame is in a folder of its own.
pub fn file_of(path: &str, folder: &Arc<dyn Folder>) -> Result<OsString> {
    let frame = Frame::open_in(folder, OsStr::new(""), Mode::Read, &Options::new())?;
    let extension = match frame.meta("b2nd")? {
        Some(_) => "b2nd",
        None => "b2f",
    };
    Ok(format!("{}.{extension}", path.trim_start_matches('/')).into())
}

fn is_below(path: &str, group: &str) -> bool {
    path.strip_prefix(group)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the group of a node.
pub fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(group, _)| group)
}
