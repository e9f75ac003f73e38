//! `holdall info` of a bag, and of each of its files.

use super::Access;
use super::writer::escaped;
use crate::cli::Info;
use crate::cli::groups::BagRead;
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::{printable, size};
use holdall::{Bag, BagChecksum, BagLimits, Codec};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// The facts about a bag, or about a file of one.
fn facts(bag: &Bag, path: &FileName) -> Result<Map<String, Value>> {
    let compression = match bag.codec() {
        Some(Codec::None) => "none",
        Some(_) => "zstd",
        None => "mixed", // shards differ
    };
    let checksum = match bag.protection().map_err(library(path))? {
        BagChecksum::Crc32 => "crc32",
        BagChecksum::Zstd => "zstd",
        _ => "none",
    };
    let limits = if bag.limits() == BagLimits::Separate { "separate" } else { "tail" };
    let facts = [
        ("path", json!(path)),
        ("format", json!("bagz")),
        ("kind", json!("bag")),
        ("size", json!(bag.len())),
        ("compression", json!(compression)),
        ("limits", json!(limits)),
        ("checksum", json!(checksum)),
        ("shards", json!(bag.shards().count())),
        ("bytes", json!(bag.stored_bytes())),
    ];
    Ok(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn describe(args: &Info) -> Result<Map<String, Value>> {
    let (path, source) = (&args.path, &args.source);
    let bag = Access::of(source)?.open(path)?;
    let mut all = facts(&bag, path)?;
    if bag.shards().count() > 1 {
        // the order is that of all files
        let alone = BagRead { shard_order: None, ..source.bag.read.clone() };
        let access = Access::new(&source.reading, &alone, &source.bag.codec)?;
        let file = |file: &PathBuf| {
            let path = FileName::from(file.clone().into_os_string());
            let mut facts = facts(&access.open(&escaped(path.bytes()).into())?, &path)?;
            facts.retain(|name, _| !["format", "kind", "limits", "shards"].contains(&&name[..]));
            Ok(Value::Object(facts))
        };
        let files = Bag::files(path.path()).map_err(library(path))?;
        all.insert("files".to_owned(), files.iter().map(file).collect::<Result<_>>()?);
    }
    Ok(all)
}

fn print(output: &mut Output, facts: &Map<String, Value>) -> Result {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), printable);
    for (name, value) in facts.iter().filter(|(name, _)| *name != "files") {
        let (name, value) = match name.as_str() {
            "size" => ("records", text(value)),
            "bytes" => ("bytes", size(value.as_u64().unwrap_or(0))),
            name => (name, text(value)),
        };
        output.line(format_args!("{:14}{value}", format!("{name}:")))?;
    }
    let Some(files) = facts.get("files").and_then(Value::as_array) else {
        return Ok(());
    };
    output.line("\n     records           bytes  compression  checksum  file")?;
    files.iter().try_for_each(|file| {
        let [records, bytes, compression, checksum, path] =
            ["size", "bytes", "compression", "checksum", "path"].map(|name| text(&file[name]));
        output.line(format_args!(
            "{records:>12}  {bytes:>14}  {compression:11}  {checksum:8}  {path}"
        ))
    })
}

pub fn run(args: &Info) -> Result<Exit> {
    let mut output = Output::standard();
    let facts = describe(args)?;
    match args.json {
        true => output.line(Value::Object(facts))?,
        false => print(&mut output, &facts)?,
    }
    output.finish(Exit::Done)
}
