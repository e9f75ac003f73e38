//! `holdall info`: what a container is, and how it is stored.

use crate::array::info::Facts;
use crate::cli::Info;
use crate::cli::usage::Usage;
use crate::detect::{self, Container};
use crate::failure::{Exit, Result, library};
use crate::output::Output;
use crate::report::printable;
use crate::{array, bag, options};
use holdall::{Kind, Store};
use serde_json::json;

/// Prints the format of a store and its nodes.
fn store(args: &Info) -> Result<Exit> {
    let (path, options) = (&args.path, options::reading(&args.source.reading));
    let store = Store::open_with(path, &options).map_err(library(path))?;
    let (mut facts, mut output) = (Facts::default(), Output::standard());
    facts.container(path, store.format(), Kind::Store);
    let nodes: Vec<&str> = store.nodes().collect();
    facts.member("nodes", json!(nodes));
    facts.list("nodes", nodes.into_iter().map(printable).collect());
    facts.print(args.json, &mut output)?;
    output.finish(Exit::Done)
}

pub fn run(args: &Info, usage: &Usage) -> Result<Exit> {
    let container = detect::container(&args.path, args.source.frame.at);
    // a missing path is reported before options that do not apply
    if !detect::is_missing(&args.path) {
        usage.fit(container.name())?;
    }
    match container {
        Container::Bag => bag::info::run(args),
        Container::Store => store(args),
        _ => array::info::run(args),
    }
}
