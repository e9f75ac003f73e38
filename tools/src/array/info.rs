//! `holdall info` of superchunks, arrays and tables.

use super::coding::Coding;
use super::files;
use crate::cli::Info;
use crate::content::{Content, columns, json_or_text, without_nan};
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::output::Output;
use crate::report::{self, plural, printable, size, stored_size};
use crate::superchunk::source::Damage;
use crate::{detect, options};
use holdall::{Array, Checksum, Format, Kind, Options, Order, Schunk, Table};
use serde_json::{Map, Value as Json, json};
use std::fmt::Display;

/// Of longer values of metalayers only the length is printed, in JSON and in lines.
const SHORT_VALUE: usize = 1024;
const SHORT_LINE: usize = 200;

/// What is printed, as members of a JSON object and as lines.
#[derive(Default)]
pub struct Facts {
    pub members: Map<String, Json>,
    pub lines: Vec<String>,
}

impl Facts {
    pub fn member(&mut self, name: &str, value: Json) {
        self.members.insert(name.to_owned(), value);
    }

    pub fn line(&mut self, name: &str, text: impl Display) {
        self.lines.push(format!("{:<14}{text}", format!("{name}:")));
    }

    /// A value that is a member and a line of the same name.
    pub fn put(&mut self, name: &str, value: Json, text: impl Display) {
        self.member(&name.replace(' ', "_"), value);
        self.line(name, text);
    }

    pub fn text(&mut self, name: &str, text: &str) {
        self.put(name, json!(text), printable(text));
    }

    pub fn number(&mut self, name: &str, n: u64) {
        self.put(name, json!(n), n);
    }

    /// Lines under a heading.
    pub fn list(&mut self, name: &str, lines: Vec<String>) {
        if lines.is_empty() {
            return self.line(name, "none");
        }
        self.lines.push(format!("{name}:"));
        self.lines.extend(lines.into_iter().map(|line| format!("  {line}")));
    }

    pub fn container(&mut self, path: &FileName, format: Format, kind: Kind) {
        self.text("path", &path.text());
        self.text("format", detect::format_name(format));
        self.text("kind", detect::kind_name(kind));
    }

    pub fn sizes(&mut self, content: u64, stored: u64) {
        self.put("nbytes", json!(content), size(content));
        self.put("cbytes", json!(stored), stored_size(stored, content));
    }

    pub fn print(self, is_json: bool, output: &mut Output) -> Result {
        match is_json {
            true => output.line(Json::Object(self.members)),
            false => self.lines.iter().try_for_each(|line| output.line(line)),
        }
    }
}

fn numbers(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// The name of a value of the library.
pub fn name(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

// ---- Bloscpack files

fn dialect(version: i32) -> &'static str {
    match version {
        0 => "v0",
        1 => "v1",
        2 => "v2",
        3 => "v3",
        103 => "rfc",
        _ => "unknown",
    }
}

/// Reports a failure that does not prevent the rest of the output.
fn reported<T>(result: Result<T>, is_damaged: &mut bool) -> Result<Option<T>> {
    match result {
        Err(Failure::Message(text)) => {
            *is_damaged = true;
            report::error(&text);
            Ok(None)
        }
        result => result.map(Some),
    }
}

/// Describes a superchunk, or an array in a Bloscpack file. Returns whether it is damaged.
fn bloscpack(args: &Info, kind: Kind, options: Options, facts: &mut Facts) -> Result<bool> {
    let path = &args.path;
    let mut is_damaged = Damage::of(path, &options, args.skip_damaged)?.found;
    let options = options.skip_corrupt(args.skip_damaged);
    let schunk = Schunk::open_with(path, &options).map_err(library(path))?;
    let metadata = schunk.attribute("").map_err(library(path));
    let metadata = reported(metadata, &mut is_damaged)?.flatten();
    let array = match kind {
        Kind::Array => {
            reported(Array::open_with(path, &options).map_err(library(path)), &mut is_damaged)?
        }
        _ => None,
    };
    facts.container(path, Format::Bloscpack, array.as_ref().map_or(Kind::Schunk, |_| Kind::Array));
    facts.text("dialect", dialect(schunk.version()));
    facts.sizes(schunk.len(), schunk.stored_bytes().map_err(library(path))?);
    facts.number("chunks", schunk.chunks());
    let chunk_size = schunk.chunk_size() as u64;
    facts.put("chunk size", json!(chunk_size), size(chunk_size));
    facts.number("typesize", schunk.type_size() as u64);
    let encoding = schunk.encoding();
    facts.text("codec", &encoding.codec.map_or("mixed".to_owned(), name));
    facts.text("checksum", &name(encoding.checksum));
    // text that is no JSON is a string, so that it is seen as it is and harms nothing
    let (value, text) = metadata.map_or((Json::Null, "none".to_owned()), |stored| {
        let text = String::from_utf8_lossy(stored);
        match serde_json::from_slice(stored) {
            Ok(value) => (value, printable(&text)),
            Err(_) => (json!(text), json!(text).to_string()),
        }
    });
    facts.put("metadata", value, text);
    if let Some(array) = array {
        let order = if array.order() == Order::Fortran { "F" } else { "C" };
        array_facts(facts, path, None, &array);
        facts.text("order", order);
    }
    Ok(is_damaged)
}

// ---- arrays

fn array_facts(facts: &mut Facts, path: &FileName, at: Option<u64>, array: &Array) {
    let coding = Coding::of(path, at, array);
    facts.text("dtype", &array.dtype());
    facts.number("ndim", array.shape().len() as u64);
    facts.put("shape", json!(array.shape()), numbers(array.shape()));
    facts.put("chunk", json!(array.chunk_shape()), numbers(array.chunk_shape()));
    if array.format() == Format::BlzRfc && array.order() == Order::Fortran {
        facts.text("order", "F");
    }
    facts.member("chunkshape", json!(array.chunk_shape()));
    facts.member("blockshape", json!(array.block_shape()));
    facts.line("block", numbers(array.block_shape()));
    if array.format() != Format::Bloscpack {
        let codec = coding.codec.as_deref().unwrap_or("unknown");
        let level = coding.level.map_or(String::new(), |level| format!(", level {level}"));
        facts.put("codec", json!(coding.codec), format_args!("{codec}{level}"));
    }
    let filters = match coding.filters.as_slice() {
        [] => "none".to_owned(),
        filters => filters.join(", "),
    };
    facts.put("filters", json!(coding.filters), filters);
    facts.member("metalayers", json!({}));
    let options = Options::new().frame_offset(at.unwrap_or(0));
    if detect::is_frame(array.format())
        && let Ok(schunk) = Schunk::open_with(path, &options)
    {
        facts.member("level", json!(coding.level));
        frame_facts(facts, &schunk);
    }
}

/// Describes the frame of an array.
fn frame_facts(facts: &mut Facts, schunk: &Schunk) {
    // chunks of one value, which take no room
    let is_special = |i: &u64| schunk.chunk_info(*i).is_ok_and(|info| info.stored_bytes == 0);
    let (all, special) = (schunk.chunks(), (0..schunk.chunks()).filter(is_special).count() as u64);
    facts.put("chunks", json!(all), format_args!("{all}, {special} of them all of one value"));
    facts.member("chunks_stored", json!(all - special));
    facts.member("chunks_special", json!(special));
    facts.member("sparse", json!(schunk.is_sparse()));
    facts.line(
        "storage",
        if schunk.is_sparse() { "sparse, a file for each chunk" } else { "contiguous, one file" },
    );
    let has_checksums = schunk.encoding().checksum == Checksum::Crc32;
    facts.text("checksum", if has_checksums { "crc32" } else { "none" });
    let (mut layers, mut lines) = (Map::new(), Vec::new());
    for name in schunk.attribute_names() {
        let shown = printable(name);
        let Ok(Some(value)) = schunk.attribute(name) else {
            lines.push(format!("{shown}: damaged"));
            continue;
        };
        let short = |most| {
            let value = (value.len() <= most).then(|| schunk.format().attribute_to_json(value))?;
            serde_json::from_str::<Json>(&without_nan(&value)).ok()
        };
        layers
            .insert(name.to_owned(), json!({ "bytes": value.len(), "value": short(SHORT_VALUE) }));
        let text = short(SHORT_LINE)
            .map_or(String::new(), |value| format!(", {}", printable(&value.to_string())));
        lines.push(format!("{shown}: {} byte{}{text}", value.len(), plural(value.len() as u64)));
    }
    facts.member("metalayers", Json::Object(layers));
    facts.list("metalayers", lines);
}

// ---- tables

fn table_facts(facts: &mut Facts, table: &Table) {
    facts.number("rows", table.rows());
    let (mut members, mut lines) = (Vec::new(), Vec::new());
    for (name, array) in columns(table) {
        let (dtype, shape) = (array.dtype(), array.shape());
        let more = match table.stored_rows(name).map_or(0, |n| n.wrapping_sub(table.rows())) {
            0 => String::new(),
            more => format!(", {more} more rows that other columns lack"),
        };
        lines.push(format!(
            "  {}: {} [{}], {} bytes, chunks of {}{more}",
            printable(name),
            printable(&dtype),
            numbers(shape),
            array.content_bytes(),
            array.chunk_shape().first().unwrap_or(&1),
        ));
        members.push(json!({
            "name": name,
            "dtype": dtype,
            "shape": shape,
            "chunk": array.chunk_shape(),
            "nbytes": array.content_bytes(),
            "rows_stored": table.stored_rows(name),
        }));
    }
    facts.put("columns", json!(members), table.column_names().count());
    facts.lines.append(&mut lines);
}

// ---- the command

fn dataset_facts(facts: &mut Facts, path: &FileName, at: Option<u64>, of: &Content) -> Result {
    let kind = match of {
        Content::Table(_) => Kind::Table,
        _ if of.format() == Format::B2Frame => Kind::Schunk,
        _ => Kind::Array,
    };
    facts.container(path, of.format(), kind);
    if let Some(table) = of.table() {
        facts.sizes(table.content_bytes(), table.stored_bytes().map_err(library(path))?);
        table_facts(facts, table);
    } else if let Some(array) = of.array() {
        facts.sizes(array.content_bytes(), array.stored_bytes().map_err(library(path))?);
        array_facts(facts, path, at, array);
    }
    let (mut attributes, mut lines) = (Map::new(), Vec::new());
    for name in of.attribute_names() {
        let text = of.attribute(path, name)?;
        lines.push(format!("{}: {}", printable(name), printable(&text)));
        attributes.insert(name.to_owned(), json_or_text(text));
    }
    facts.member("attrs", Json::Object(attributes));
    // those of a frame are metalayers
    if !detect::is_frame(of.format()) {
        facts.list("attributes", lines);
    }
    Ok(())
}

pub fn run(args: &Info) -> Result<Exit> {
    let (path, frame) = (&args.path, &args.source.frame);
    let options = options::reading(&args.source.reading);
    let (mut facts, mut output) = (Facts::default(), Output::standard());
    if let Ok((Format::Bloscpack, kind)) = detect::identify(path, frame.at)
        && !args.files
    {
        let is_damaged = bloscpack(args, kind, options, &mut facts)?;
        facts.print(args.json, &mut output)?;
        return output.finish(Exit::damaged(is_damaged));
    }
    let options = options::frame(options.skip_corrupt(args.skip_damaged), frame);
    let content = Content::dataset(path, frame.at, &options)?;
    if args.files {
        files::print(args, &content, &mut output)?;
    } else {
        dataset_facts(&mut facts, path, frame.at, &content)?;
        facts.print(args.json, &mut output)?;
    }
    output.finish(Exit::Done)
}
