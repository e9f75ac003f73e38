//! `holdall info` of a bag, and of each of its files.

use super::Access;
use crate::cli::Info;
use crate::cli::groups::{BagCodec, BagRead};
use crate::failure::{Exit, Result, library};
use crate::output::Output;
use crate::report::{printable, size};
use holdall::{Bag, BagChecksum, BagLimits, Codec};
use serde_json::{Value, json};

fn codec_name(bag: &Bag) -> &'static str {
    match bag.codec() {
        Some(Codec::None) => "none",
        Some(_) => "zstd",
        None => "mixed", // shards differ
    }
}

fn checksum_name(bag: &Bag, path: &str) -> Result<&'static str> {
    Ok(match bag.protection().map_err(library(path))? {
        BagChecksum::Crc32 => "crc32",
        BagChecksum::Zstd => "zstd",
        _ => "none",
    })
}

/// Describes a file by itself; the slice and the order are those of all of them.
fn file(path: &str, access: &Access) -> Result<Value> {
    let bag = access.open(path)?;
    Ok(json!({
        "path": path,
        "size": bag.len(),
        "compression": codec_name(&bag),
        "checksum": checksum_name(&bag, path)?,
        "bytes": bag.stored_bytes(),
    }))
}

fn describe(args: &Info) -> Result<Value> {
    let path = args.path.as_str();
    let access = |read: &BagRead, codec: &BagCodec| Access::new(&args.source.reading, read, codec);
    let bag = access(&args.source.bag.read, &args.source.bag.codec)?.open(path)?;
    let shards = bag.shards().count();
    let limits = match bag.limits() {
        BagLimits::Separate => "separate",
        _ => "tail",
    };
    let mut facts = json!({
        "path": path,
        "format": "bagz",
        "kind": "bag",
        "size": bag.len(),
        "compression": codec_name(&bag),
        "limits": limits,
        "checksum": checksum_name(&bag, path)?,
        "shards": shards,
        "bytes": bag.stored_bytes(),
    });
    if shards > 1 {
        let alone = BagRead { shard_order: None, ..args.source.bag.read.clone() };
        let alone = access(&alone, &args.source.bag.codec)?;
        let files = Bag::files(path).map_err(library(path))?;
        let files = files.iter().map(|path| {
            let name = super::writer::escaped(&path.to_string_lossy());
            let mut facts = file(&name, &alone)?;
            facts["path"] = json!(path.to_string_lossy());
            Ok(facts)
        });
        facts["files"] = files.collect::<Result<Vec<_>>>()?.into();
    }
    Ok(facts)
}

fn print(output: &mut Output, facts: &Value) -> Result {
    let number = |facts: &Value, name: &str| facts[name].as_u64().unwrap_or(0);
    let text = |facts: &Value, name: &str| printable(facts[name].as_str().unwrap_or(""));
    output.line(format_args!("path:         {}", text(facts, "path")))?;
    output.line("format:       bagz\nkind:         bag")?;
    output.line(format_args!("records:      {}", number(facts, "size")))?;
    for name in ["compression", "limits", "checksum"] {
        output.line(format_args!("{:14}{}", format!("{name}:"), text(facts, name)))?;
    }
    output.line(format_args!("shards:       {}", number(facts, "shards")))?;
    output.line(format_args!("bytes:        {}", size(number(facts, "bytes"))))?;
    let files = facts["files"].as_array().map_or(&[][..], Vec::as_slice);
    if !files.is_empty() {
        output.line("\n     records           bytes  compression  checksum  file")?;
    }
    for file in files {
        output.line(format_args!(
            "{:12}  {:14}  {:11}  {:8}  {}",
            number(file, "size"),
            number(file, "bytes"),
            text(file, "compression"),
            text(file, "checksum"),
            text(file, "path")
        ))?;
    }
    Ok(())
}

pub fn run(args: &Info) -> Result<Exit> {
    let mut output = Output::standard();
    let facts = describe(args)?;
    if args.json {
        output.line(&facts)?;
    } else {
        print(&mut output, &facts)?;
    }
    output.finish(Exit::Done)
}
