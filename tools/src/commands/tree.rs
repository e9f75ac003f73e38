//! `holdall tree`: folders, containers, columns, and how these are stored, drawn as a tree.

use super::ls::{Found, Walk};
use crate::array::coding::Coding;
use crate::cli::excerpts::Tree;
use crate::content::{Content, columns};
use crate::failure::{Exit, Result};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::printable;
use holdall::Array;
use std::fmt;

#[derive(Default)]
struct Label {
    name: FileName,
    about: String,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let separator = if self.name.is_empty() || self.about.is_empty() { "" } else { "  " };
        write!(f, "{}{separator}{}", self.name, self.about)
    }
}

type Node = termtree::Tree<Label>;

fn node(name: FileName, about: String, leaves: Vec<Node>) -> Node {
    Node::new(Label { name, about }).with_leaves(leaves)
}

/// Returns the node of a path below a node, which is added if it does not exist.
fn descend(at: &mut Node, mut names: impl Iterator<Item = FileName>) -> &mut Node {
    let Some(name) = names.next() else {
        return at;
    };
    // containers come in the order of their paths
    if at.leaves.last().is_none_or(|last| last.root.name != name) {
        at.push(node(name, String::new(), Vec::new()));
    }
    let last = at.leaves.len() - 1;
    descend(&mut at.leaves[last], names)
}

/// The names of the folders and the file of a path.
fn names_of(path: &FileName) -> impl Iterator<Item = FileName> {
    path.bytes().split(|byte| *byte == b'/').map(|name| name.to_vec().into())
}

/// How an array is stored: chunks, blocks, codec, level and filters.
fn storage(path: &FileName, array: &Array) -> Vec<Node> {
    let coding = Coding::of(path, None, array);
    let mut about = format!("chunks {:?}", array.chunk_shape());
    if array.block_shape() != array.chunk_shape() {
        about += &format!(", blocks {:?}", array.block_shape());
    }
    about += &format!(", {}", coding.codec.as_deref().unwrap_or("codec unknown"));
    if let Some(level) = coding.level {
        about += &format!(" level {level}");
    }
    for filter in &coding.filters {
        about += &format!(", {filter}");
    }
    vec![node(FileName::default(), about, Vec::new())]
}

/// What is below the line of a container.
fn structure(found: &Found) -> Vec<Node> {
    match &found.content {
        Content::Bag(_) | Content::Schunk(_) => Vec::new(),
        Content::Array(array) => storage(&found.path, array),
        Content::Table(table) => {
            let column = |(name, array): (&str, &Array)| {
                let about = format!("{} {:?}", printable(&array.dtype()), array.shape());
                node(name.into(), about, storage(&found.path, array))
            };
            columns(table).map(column).collect()
        }
    }
}

pub fn run(args: &Tree) -> Result<Exit> {
    let mut root = node(args.path.clone(), String::new(), Vec::new());
    let is_complete = Walk::run(&args.path, &args.reading, |found: Found| {
        let at = match found.shown == args.path {
            true => &mut root,
            false => descend(&mut root, names_of(&found.shown)),
        };
        at.root.about = found.summary();
        at.leaves = structure(&found);
        Ok(())
    })?;
    let mut output = Output::standard();
    output.text(root)?;
    output.finish(Exit::damaged(!is_complete))
}
