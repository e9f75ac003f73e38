//! Verifies a store: all its nodes, and the checksums of its zip archive.
#![forbid(unsafe_code)]

use super::table_files::{ATTRIBUTES, META, TableFiles};
use super::{EMBED, Node, NodeLocation, Store, open_archive};
use crate::array;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::io::journal::Snapshot;
use crate::io::locate;
use crate::options::{Opt, Options};
use crate::superchunk::bloscpack::Verified;
use std::ffi::OsStr;

/// A callback for each fault, with the part of the store. Returns whether to continue.
type Fault<'a> = &'a mut dyn FnMut(&str, &Error) -> bool;

/// Verifies the store at a path: decodes every chunk of every node and verifies every checksum.
/// Calls `fault` with each error until it returns false. Parts are "/group/a chunk 3", "/group/a",
/// and names of members of a zip archive.
pub fn verify(path: &OsStr, options: &Options, fault: Fault) -> Result<Verified> {
    options.only(
        "verifying a store",
        &[Opt::Threads, Opt::MemoryLimit, Opt::Io],
    )?;
    let mut found = Verified::default();
    if !verify_archive(path, &mut found, fault)? {
        return Ok(found);
    }
    let store = Store::open(path, options)?;
    if !store.verify_embed(options, &mut found, fault)? {
        return Ok(found);
    }
    store.verify_nodes("", options, &mut found, fault)?;
    Ok(found)
}

/// Verifies the checksums of a zip archive, if it is one. Returns whether to continue.
fn verify_archive(path: &OsStr, found: &mut Verified, fault: Fault) -> Result<bool> {
    if locate::is_folder(path) {
        return Ok(true);
    }
    let located = locate::locate(path)?;
    let Some(archive) = open_archive(&located.folder, &located.name)? else {
        return Ok(true);
    };
    for name in archive.names() {
        if let Err(e) = archive.verify(name) {
            found.count(&e);
            if !fault(name, &e) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

impl Store {
    /// Verifies the nodes below a group, as [`verify`] does.
    pub fn verify_below(&self, root: &str, options: &Options, fault: Fault) -> Result<Verified> {
        let mut found = Verified::default();
        self.verify_nodes(root, options, &mut found, fault)?;
        Ok(found)
    }

    fn verify_nodes(
        &self,
        root: &str,
        options: &Options,
        found: &mut Verified,
        fault: Fault,
    ) -> Result<()> {
        let group = format!("{root}/");
        for (node, at) in self
            .nodes
            .iter()
            .filter(|(node, _)| node.starts_with(&group))
        {
            let go_on = match at {
                Node::File(_) | Node::Embedded(_) | Node::Ambiguous(..) => {
                    self.verify_node(node, options, found, fault)?
                }
                // the nodes of a table are verified one by one
                Node::Table => true,
                Node::Reference(_) => {
                    found.unchecked += 1;
                    true
                }
            };
            if !go_on {
                break;
            }
        }
        Ok(())
    }

    /// Verifies the frame `embed.b2e`.
    fn verify_embed(&self, options: &Options, found: &mut Verified, fault: Fault) -> Result<bool> {
        let name = match self.format {
            Format::B2e => OsStr::new(""),
            _ => OsStr::new(EMBED),
        };
        let folder = self.committed()?;
        add(EMBED, found, fault, |fault| {
            array::verify_in(&folder, name, options, fault)
        })
    }

    /// Verifies a frame as of one commit of its table.
    fn verify_rewritten(
        &self,
        root: &str,
        name: &OsStr,
        options: &Options,
        fault: &mut dyn FnMut(&Error) -> bool,
    ) -> Result<Verified> {
        let files = TableFiles::new(&self.folder()?, root);
        let (found, faults) = Snapshot::read(&files.container(), |snapshot| {
            let mut faults = Vec::new();
            let found = array::verify_in(&snapshot.folder()?, name, options, |e| {
                faults.push(e.clone());
                true
            })?;
            Ok((found, faults))
        })?;
        let _ = faults.iter().all(fault);
        Ok(found)
    }

    fn verify_node(
        &self,
        node: &str,
        options: &Options,
        found: &mut Verified,
        fault: Fault,
    ) -> Result<bool> {
        let location = self.locate(node);
        let at = self.nodes.get(node);
        if let (Format::B2d, Some(Node::File(name))) = (self.format, at)
            && let Some(root) = rewritten_in(node)
        {
            return add(node, found, fault, |fault| {
                self.verify_rewritten(root, name, options, fault)
            });
        }
        add(node, found, fault, |fault| match &location {
            Ok(NodeLocation::Path(path)) => array::verify(path, options, fault),
            Ok(NodeLocation::Folder(folder)) => {
                array::verify_in(folder, OsStr::new(""), options, fault)
            }
            Err(e) => Err(e.clone()),
        })
    }
}

/// Returns the group of the table of which a node is one that commits rewrite in place.
fn rewritten_in(node: &str) -> Option<&str> {
    let names = [META, ATTRIBUTES];
    let stems = names.iter().filter_map(|name| name.strip_suffix(".b2f"));
    let mut roots = stems.filter_map(|stem| node.strip_suffix(stem)?.strip_suffix('/'));
    roots.next()
}

/// Adds the result for one part. An error of opening it is a fault of the part, unless it concerns
/// the call. Returns whether to continue.
fn add(
    part: &str,
    found: &mut Verified,
    fault: Fault,
    verify: impl FnOnce(&mut dyn FnMut(&Error) -> bool) -> Result<Verified>,
) -> Result<bool> {
    let mut go_on = true;
    let verified = verify(&mut |e| {
        go_on = match e.position {
            0.. => fault(&format!("{part} chunk {}", e.position), e),
            _ => fault(part, e),
        };
        go_on
    });
    match verified {
        Ok(verified) => {
            found.intact += verified.intact;
            found.corrupt += verified.corrupt;
            found.unchecked += verified.unchecked;
        }
        Err(e) if e.status.is_corruption() => {
            found.count(&e);
            go_on = fault(part, &e);
        }
        Err(e) => return Err(e),
    }
    Ok(go_on)
}
