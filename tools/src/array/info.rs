//! `holdall info` of arrays and tables.

use super::attributes;
use super::coding::Coding;
use super::dataset::{self, Content, Dataset};
use super::files;
use crate::cli::Info;
use crate::failure::{Exit, Result, library};
use crate::output::Output;
use crate::report::{plural, printable, size, stored_size};
use crate::{detect, options};
use holdall::{Array, Checksum, Format, Kind, Options, Schunk, Table};
use serde_json::{Map, Value as Json, json};
use std::fmt::Display;

/// Of longer values of metalayers only the length is printed, in JSON and in lines.
const SHORT_VALUE: usize = 1024;
const SHORT_LINE: usize = 200;

/// Properties of a frame that are not of the array.
struct Frame {
    schunk: Schunk,
    stored: u64,
    /// Chunks of one value, which take no room.
    special: u64,
}

impl Frame {
    fn of(dataset: &Dataset) -> Option<Frame> {
        let options = Options::new().frame_offset(dataset.at.unwrap_or(0));
        let is_frame = detect::is_frame(dataset.format);
        let schunk = is_frame.then(|| Schunk::open_with(&dataset.path, &options).ok())??;
        let is_special =
            |i: &u64| matches!(schunk.chunk_info(*i), Ok(info) if info.stored_bytes == 0);
        let special = (0..schunk.chunks()).filter(is_special).count() as u64;
        Some(Frame { stored: schunk.chunks() - special, special, schunk })
    }

    fn checksum(&self) -> &'static str {
        match self.schunk.encoding().checksum {
            Checksum::Crc32 => "crc32",
            _ => "none",
        }
    }

    /// The names of the metalayers, and their values unless they are damaged.
    fn metalayers(&self) -> impl Iterator<Item = (&str, Option<&[u8]>)> {
        let value = |name| self.schunk.attribute(name).ok().flatten();
        let names = self.schunk.attribute_names().into_iter();
        names.map(move |name| (name, value(name)))
    }
}

/// A short value of MessagePack.
fn short(value: &[u8], most: usize) -> Option<Json> {
    Some(value).filter(|value| value.len() <= most).and_then(attributes::to_json)
}

// ---- JSON

/// The members of an array: ndim, shape, chunkshape, blockshape, dtype, codec, filters, metalayers,
/// and what a frame has beside these.
pub fn members(dataset: &Dataset, array: &Array) -> Map<String, Json> {
    let (coding, frame) = (Coding::of(dataset, array), Frame::of(dataset));
    let mut members = Map::new();
    let mut put = |name: &str, value: Json| drop(members.insert(name.to_owned(), value));
    put("ndim", json!(array.shape().len()));
    put("shape", json!(array.shape()));
    put("chunkshape", json!(array.chunk_shape()));
    put("blockshape", json!(array.block_shape()));
    put("dtype", json!(array.dtype()));
    if dataset.format != Format::Bloscpack {
        put("codec", json!(coding.codec));
    }
    put("filters", json!(coding.filters));
    let layer = |(name, value): (&str, Option<&[u8]>)| {
        let value = value?;
        let about = json!({ "bytes": value.len(), "value": short(value, SHORT_VALUE) });
        Some((name.to_owned(), about))
    };
    let layers = frame.as_ref().map(|frame| frame.metalayers().filter_map(layer).collect());
    put("metalayers", Json::Object(layers.unwrap_or_default()));
    if let Some(frame) = frame {
        put("level", json!(coding.level));
        put("sparse", json!(frame.schunk.is_sparse()));
        put("chunks", json!(frame.stored + frame.special));
        put("chunks_stored", json!(frame.stored));
        put("chunks_special", json!(frame.special));
        put("checksum", json!(frame.checksum()));
    }
    members
}

fn column_members(table: &Table) -> Json {
    let member = |name: &str| {
        let array = table.column(name)?;
        Some(json!({
            "name": name,
            "dtype": array.dtype(),
            "shape": array.shape(),
            "chunk": array.chunk_shape(),
            "nbytes": array.content_bytes(),
            "rows_stored": table.stored_rows(name),
        }))
    };
    table.column_names().filter_map(member).collect()
}

fn print_json(dataset: &Dataset, output: &mut Output) -> Result {
    let (nbytes, cbytes) = sizes(dataset)?;
    let mut about = json!({
        "path": dataset.path,
        "format": detect::format_name(dataset.format),
        "kind": detect::kind_name(kind(dataset)),
        "nbytes": nbytes,
        "cbytes": cbytes,
    });
    let mut attributes = Map::new();
    for name in dataset.attribute_names() {
        let text = dataset.attribute(name)?;
        let value = serde_json::from_str(&text).unwrap_or(Json::String(text));
        attributes.insert(name.to_owned(), value);
    }
    if let Json::Object(about) = &mut about {
        match &dataset.content {
            Content::Table(table) => {
                about.insert("rows".to_owned(), json!(table.rows()));
                about.insert("columns".to_owned(), column_members(table));
            }
            Content::Array(array) => {
                about.insert("chunk".to_owned(), json!(array.chunk_shape()));
                about.append(&mut members(dataset, array));
            }
        }
        about.insert("attrs".to_owned(), Json::Object(attributes));
    }
    output.line(about)
}

// ---- lines

fn numbers(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

fn put(output: &mut Output, name: &str, value: impl Display) -> Result {
    output.line(format_args!("{:<14}{value}", format!("{name}:")))
}

/// Prints an array as lines, without its sizes.
pub fn lines(dataset: &Dataset, array: &Array, output: &mut Output) -> Result {
    let (coding, frame) = (Coding::of(dataset, array), Frame::of(dataset));
    put(output, "dtype", printable(&array.dtype()))?;
    put(output, "ndim", array.shape().len())?;
    put(output, "shape", numbers(array.shape()))?;
    put(output, "chunk", numbers(array.chunk_shape()))?;
    put(output, "block", numbers(array.block_shape()))?;
    if dataset.format != Format::Bloscpack {
        let codec = coding.codec.as_deref().unwrap_or("unknown");
        let level = coding.level.map_or(String::new(), |level| format!(", level {level}"));
        put(output, "codec", format_args!("{codec}{level}"))?;
    }
    let filters = match coding.filters.as_slice() {
        [] => "none".to_owned(),
        filters => filters.join(", "),
    };
    put(output, "filters", filters)?;
    let Some(frame) = frame else { return Ok(()) };
    let (all, special) = (frame.stored + frame.special, frame.special);
    put(output, "chunks", format_args!("{all}, {special} of them all of one value"))?;
    let storage = if frame.schunk.is_sparse() {
        "sparse, a file for each chunk"
    } else {
        "contiguous, one file"
    };
    put(output, "storage", storage)?;
    put(output, "checksum", frame.checksum())?;
    metalayer_lines(&frame, output)
}

fn metalayer_lines(frame: &Frame, output: &mut Output) -> Result {
    let none = frame.schunk.attribute_names().is_empty();
    output.line(if none { "metalayers:   none" } else { "metalayers:" })?;
    for (name, value) in frame.metalayers() {
        let name = printable(name);
        match value.map(|value| (value.len(), short(value, SHORT_LINE))) {
            None => output.line(format_args!("  {name}: damaged"))?,
            Some((n, None)) => {
                output.line(format_args!("  {name}: {n} byte{}", plural(n as u64)))?
            }
            Some((n, Some(value))) => {
                let value = printable(&value.to_string());
                output.line(format_args!("  {name}: {n} byte{}, {value}", plural(n as u64)))?;
            }
        }
    }
    Ok(())
}

fn column_lines(table: &Table, output: &mut Output) -> Result {
    put(output, "rows", table.rows())?;
    put(output, "columns", table.column_names().count())?;
    for name in table.column_names() {
        let Some(array) = table.column(name) else {
            continue;
        };
        let stored = table.stored_rows(name).unwrap_or(table.rows());
        let more = match stored.wrapping_sub(table.rows()) {
            0 => String::new(),
            more => format!(", {more} more rows that other columns lack"),
        };
        output.line(format_args!(
            "  {}: {} [{}], {} bytes, chunks of {}{more}",
            printable(name),
            printable(&array.dtype()),
            numbers(array.shape()),
            array.content_bytes(),
            array.chunk_shape().first().unwrap_or(&1),
        ))?;
    }
    Ok(())
}

fn attribute_lines(dataset: &Dataset, output: &mut Output) -> Result {
    let names = dataset.attribute_names();
    output.line(if names.is_empty() { "attributes:   none" } else { "attributes:" })?;
    for name in names {
        let value = printable(&dataset.attribute(name)?);
        output.line(format_args!("  {}: {value}", printable(name)))?;
    }
    Ok(())
}

fn print_lines(dataset: &Dataset, output: &mut Output) -> Result {
    let (nbytes, cbytes) = sizes(dataset)?;
    put(output, "path", printable(&dataset.path))?;
    put(output, "format", detect::format_name(dataset.format))?;
    put(output, "kind", detect::kind_name(kind(dataset)))?;
    put(output, "nbytes", size(nbytes))?;
    put(output, "cbytes", stored_size(cbytes, nbytes))?;
    match &dataset.content {
        Content::Table(table) => column_lines(table, output)?,
        Content::Array(array) => lines(dataset, array, output)?,
    }
    // those of a frame are metalayers
    if !detect::is_frame(dataset.format) {
        attribute_lines(dataset, output)?;
    }
    Ok(())
}

// ---- the command

/// The bytes of the items, and those on disk.
fn sizes(dataset: &Dataset) -> Result<(u64, u64)> {
    let (content, stored) = match &dataset.content {
        Content::Table(table) => (table.content_bytes(), table.stored_bytes()),
        Content::Array(array) => (array.content_bytes(), array.stored_bytes()),
    };
    Ok((content, stored.map_err(library(&dataset.path))?))
}

/// A frame without a shape is a superchunk, and opens as an array of one dimension.
fn kind(dataset: &Dataset) -> Kind {
    match &dataset.content {
        _ if dataset.format == Format::B2Frame => Kind::Schunk,
        Content::Table(_) => Kind::Table,
        Content::Array(_) => Kind::Array,
    }
}

pub fn run(args: &Info) -> Result<Exit> {
    let options = options::reading(&args.source.reading);
    let options = dataset::skipping(options, args.skip_damaged);
    let dataset = Dataset::read(&args.path, &args.source.frame, options)?;
    let mut output = Output::standard();
    if args.files {
        files::print(args, dataset, &mut output)?;
    } else if args.json {
        print_json(&dataset, &mut output)?;
    } else {
        print_lines(&dataset, &mut output)?;
    }
    output.finish(Exit::Done)
}
