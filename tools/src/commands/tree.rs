//! `holdall tree`: folders, containers, columns, and how these are stored, drawn as a tree.

use super::content::columns;
use super::ls::{Found, Walk, shape};
use crate::array::coding::Coding;
use crate::array::dataset::{Content, Dataset};
use crate::cli::excerpts::Tree;
use crate::failure::{Exit, Result};
use crate::output::Output;
use crate::report::printable;
use holdall::Array;
use std::fmt::Debug;

/// A line, and those below it.
#[derive(Default)]
struct Node {
    name: String,
    about: String,
    below: Vec<Node>,
}

impl Node {
    fn leaf(about: String) -> Node {
        Node { about, ..Node::default() }
    }

    /// Returns the node of a path below this one, which is added if it does not exist.
    fn descend<'a>(&mut self, mut names: impl Iterator<Item = &'a str>) -> &mut Node {
        let Some(name) = names.next() else {
            return self;
        };
        // containers come in the order of their paths
        if self.below.last().is_none_or(|last| last.name != name) {
            self.below.push(Node { name: name.to_owned(), ..Node::default() });
        }
        let last = self.below.len() - 1;
        self.below[last].descend(names)
    }

    fn print(&self, indentation: &str, output: &mut Output) -> Result {
        for (i, node) in self.below.iter().enumerate() {
            let is_last = i + 1 == self.below.len();
            let (branch, below) =
                if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            let separator = if node.name.is_empty() || node.about.is_empty() { "" } else { "  " };
            let name = printable(&node.name);
            output.line(format_args!("{indentation}{branch}{name}{separator}{}", node.about))?;
            node.print(&format!("{indentation}{below}"), output)?;
        }
        Ok(())
    }
}

fn lowercase(value: &impl Debug) -> String {
    format!("{value:?}").to_lowercase()
}

/// How an array is stored: chunks, blocks, codec, level and filters.
fn storage(array: &Array, coding: &Coding) -> Node {
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
    Node::leaf(about)
}

/// How a column is stored.
fn column(array: &Array) -> Node {
    let encoding = array.encoding();
    let filters = encoding.filters.iter().flatten();
    let coding = Coding {
        codec: encoding.codec.as_ref().map(lowercase),
        level: encoding.level,
        filters: filters.map(lowercase).collect(),
    };
    storage(array, &coding)
}

/// What is below the line of a container.
fn structure(dataset: &Dataset) -> Vec<Node> {
    match &dataset.content {
        Content::Array(array) => vec![storage(array, &Coding::of(dataset, array))],
        Content::Table(table) => {
            let of_column = |(name, array): (&str, &Array)| Node {
                name: name.to_owned(),
                about: format!("{} {}", printable(&array.dtype()), shape(array)),
                below: vec![column(array)],
            };
            columns(table).map(of_column).collect()
        }
    }
}

pub fn run(args: &Tree) -> Result<Exit> {
    let mut root = Node::default();
    let each = |found: Found| {
        let node = match found.shown == args.path {
            true => &mut root,
            false => root.descend(found.shown.split('/')),
        };
        node.about = found.summary();
        node.below = found.dataset.as_ref().map(structure).unwrap_or_default();
        Ok(())
    };
    let mut walk = Walk { reading: &args.reading, each, has_failed: false };
    walk.run(&args.path)?;
    let has_failed = walk.has_failed;
    let mut output = Output::standard();
    let separator = if root.about.is_empty() { "" } else { "  " };
    output.line(format_args!("{}{separator}{}", printable(&args.path), root.about))?;
    root.print("", &mut output)?;
    output.finish(Exit::damaged(has_failed))
}
