//! `holdall count` and `holdall schema`.
//!
//! `count --json` prints one object: `path`: string, and `count`: number of records of a bag, rows of a table, indices
//! of the first dimension of an array, or items of a superchunk.
//!
//! `schema --json` prints one object:
//!
//! - `path`, `format`, `kind`: strings, as `identify` prints them
//! - `columns`: list of `{"name", "dtype", "shape"}`, of a table; `shape` is that of a row
//! - `dtype`: string, and `shape`: list of numbers; of an array
//! - `item_size`: number of bytes of an item of a superchunk
//! - `compression`: `"none"` or `"zstd"`, of the records of a bag; null: its shards differ

use super::content::{self, Content};
use crate::cli::excerpts::Overview;
use crate::cli::usage::Usage;
use crate::failure::{Exit, Result};
use crate::output::Output;
use crate::report::printable;
use holdall::{Array, Table};
use serde_json::{Value as Json, json};

fn open_as(args: &Overview, usage: &Usage) -> Result<Content> {
    Content::open(&args.path, usage, &args.source)
}

pub fn count(args: &Overview, usage: &Usage) -> Result<Exit> {
    let count = open_as(args, usage)?.len();
    let mut output = Output::standard();
    match args.json {
        true => output.line(json!({"path": args.path, "count": count}))?,
        false => output.line(count)?,
    }
    output.finish(Exit::Done)
}

/// The columns of a table, and the shape of a row of each.
fn columns(table: &Table) -> impl Iterator<Item = (&str, &Array, &[u64])> {
    content::columns(table)
        .map(|(name, array)| (name, array, array.shape().get(1..).unwrap_or_default()))
}

/// The codec of the records of a bag.
fn compression(bag: &holdall::Bag) -> Option<String> {
    bag.codec().map(|codec| format!("{codec:?}").to_lowercase())
}

fn json(path: &str, content: &Content) -> Json {
    let [format, kind] = content.names();
    let mut all = json!({"path": path, "format": format, "kind": kind});
    let more = match content {
        Content::Bag(bag) => json!({"compression": compression(bag)}),
        Content::Schunk(schunk) => json!({"item_size": schunk.type_size()}),
        Content::Array(array) => json!({"dtype": array.dtype(), "shape": array.shape()}),
        Content::Table(table) => {
            let column = |(name, array, shape): (&str, &Array, &[u64])| json!({"name": name, "dtype": array.dtype(), "shape": shape});
            json!({"columns": columns(table).map(column).collect::<Vec<Json>>()})
        }
    };
    if let (Json::Object(all), Json::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

pub fn schema(args: &Overview, usage: &Usage) -> Result<Exit> {
    let (content, mut output) = (open_as(args, usage)?, Output::standard());
    if args.json {
        output.line(json(&args.path, &content))?;
        return output.finish(Exit::Done);
    }
    match &content {
        Content::Bag(bag) => {
            let codec = compression(bag).unwrap_or("mixed".to_owned());
            output.line(format_args!("records, compression {codec}"))?;
        }
        Content::Schunk(schunk) => {
            output.line(format_args!("items of {} bytes", schunk.type_size()))?;
        }
        Content::Array(array) => {
            let (dtype, shape) = (printable(&array.dtype()), array.shape());
            output.line(format_args!("{dtype}  {shape:?}"))?;
        }
        Content::Table(table) => {
            for (name, array, shape) in columns(table) {
                let (name, dtype) = (printable(name), printable(&array.dtype()));
                output.line(format_args!("{name}  {dtype}  {shape:?}"))?;
            }
        }
    }
    output.finish(Exit::Done)
}
