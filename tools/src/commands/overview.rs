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

use crate::cli::excerpts::Overview;
use crate::cli::usage::Usage;
use crate::content::{Content, column_members, columns};
use crate::failure::{Exit, Result};
use crate::output::Output;
use crate::report::printable;
use serde_json::json;

fn open(args: &Overview, usage: &Usage) -> Result<Content> {
    Content::open(&args.path, usage, &args.source)
}

pub fn count(args: &Overview, usage: &Usage) -> Result<Exit> {
    let count = open(args, usage)?.len();
    let mut output = Output::standard();
    match args.json {
        true => output.line(json!({"path": args.path, "count": count}))?,
        false => output.line(count)?,
    }
    output.finish(Exit::Done)
}

pub fn schema(args: &Overview, usage: &Usage) -> Result<Exit> {
    let content = open(args, usage)?;
    let [format, kind] = content.names();
    let mut all = json!({"path": args.path, "format": format, "kind": kind});
    let text = match &content {
        Content::Bag(bag) => {
            let codec = bag.codec().map(|codec| format!("{codec:?}").to_lowercase());
            all["compression"] = json!(codec);
            format!("records, compression {}\n", codec.unwrap_or("mixed".to_owned()))
        }
        Content::Schunk(schunk) => {
            all["item_size"] = json!(schunk.type_size());
            format!("items of {} bytes\n", schunk.type_size())
        }
        Content::Array(array) => {
            (all["dtype"], all["shape"]) = (json!(array.dtype()), json!(array.shape()));
            format!("{}  {:?}\n", printable(&array.dtype()), array.shape())
        }
        Content::Table(table) => {
            all["columns"] = column_members(table, 1);
            let line = |(name, array): (&str, &holdall::Array)| {
                let (name, dtype) = (printable(name), printable(&array.dtype()));
                format!("{name}  {dtype}  {:?}\n", array.shape().get(1..).unwrap_or_default())
            };
            columns(table).map(line).collect()
        }
    };
    let mut output = Output::standard();
    output.text(if args.json { format!("{all}\n") } else { text })?;
    output.finish(Exit::Done)
}
