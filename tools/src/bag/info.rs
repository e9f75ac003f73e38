//! `holdall info` of a bag, and of each of its files.

use super::Access;
use super::writer::escaped;
use crate::array::info::{Facts, name};
use crate::cli::Info;
use crate::cli::groups::BagRead;
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::{printable, size};
use holdall::{Bag, BagChecksum, BagLimits, Format, Kind, Status};
use serde_json::{Value, json};

/// Returns the facts about a bag, or about a file of one.
fn facts(bag: &Bag, path: &FileName) -> Result<Facts> {
    let mut facts = Facts::default();
    facts.container(path, Format::Bagz, Kind::Bag);
    facts.member("size", json!(bag.len()));
    facts.line("records", bag.len());
    // shards differ if it has no codec
    facts.text("compression", &bag.codec().map_or("mixed".to_owned(), name));
    let limits = if bag.limits() == BagLimits::Separate { "separate" } else { "tail" };
    facts.text("limits", limits);
    facts.text(
        "checksum",
        match bag.protection().map_err(library(path))? {
            BagChecksum::Crc32 => "crc32",
            BagChecksum::Zstd => "zstd",
            _ => "none",
        },
    );
    match bag.dictionary() {
        Ok(None) => {}
        Ok(Some(dictionary)) => {
            facts.put("dictionary", json!(dictionary.len()), size(dictionary.len() as u64));
        }
        Err(error) if error.status() == Status::Checksum => facts.text("dictionary", "corrupt"),
        Err(error) => return Err(library(path)(error)),
    }
    facts.number("shards", bag.shards().count() as u64);
    facts.put("bytes", json!(bag.stored_bytes()), size(bag.stored_bytes()));
    Ok(facts)
}

/// Adds the facts about each file.
fn add_files(all: &mut Facts, args: &Info) -> Result {
    let (path, source) = (&args.path, &args.source);
    // the order is that of all files
    let alone = BagRead { shard_order: None, ..source.bag.read.clone() };
    let access = Access::new(&source.reading, &alone, &source.bag.codec)?;
    let mut files = Vec::new();
    all.lines.push("\n     records           bytes  compression  checksum  file".to_owned());
    for file in Bag::files(path.path()).map_err(library(path))? {
        let path = FileName::from(file.into_os_string());
        let mut file = facts(&access.open(&escaped(path.bytes()).into())?, &path)?.members;
        file.retain(|name, _| !["format", "kind", "limits", "shards"].contains(&&name[..]));
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), printable);
        let [records, bytes, compression, checksum, path] =
            ["size", "bytes", "compression", "checksum", "path"].map(|name| text(&file[name]));
        all.lines
            .push(format!("{records:>12}  {bytes:>14}  {compression:11}  {checksum:8}  {path}"));
        files.push(file);
    }
    all.member("files", json!(files));
    Ok(())
}

pub fn run(args: &Info) -> Result<Exit> {
    let mut output = Output::standard();
    let bag = Access::of(&args.source)?.open(&args.path)?;
    let mut all = facts(&bag, &args.path)?;
    if bag.shards().count() > 1 {
        add_files(&mut all, args)?;
    }
    all.print(args.json, &mut output)?;
    output.finish(Exit::Done)
}
