//! `holdall info` of a superchunk.

use super::source::Source;
use crate::array;
use crate::array::dataset::Dataset;
use crate::cli::Info;
use crate::detect;
use crate::failure::{Exit, Failure, Result, library};
use crate::options;
use crate::output::Output;
use crate::report::{self, printable};
use holdall::Array;
use serde_json::{Value as Json, json};

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

/// Returns the metadata; text that is no JSON as a string, so that it is seen as it is and harms
/// nothing.
fn metadata(source: &Source) -> Result<Option<(Json, String)>> {
    let stored = source.schunk.attribute("").map_err(library(&source.path))?;
    let as_json = |stored: &[u8]| match serde_json::from_slice::<Json>(stored) {
        Ok(value) => (value, printable(&String::from_utf8_lossy(stored))),
        Err(_) => {
            let text = json!(String::from_utf8_lossy(stored));
            (text.clone(), text.to_string())
        }
    };
    Ok(stored.map(as_json))
}

/// What `info` prints.
struct Facts<'a> {
    source: &'a Source,
    stored_bytes: u64,
    metadata: Option<(Json, String)>,
    array: Option<Dataset>,
}

impl Facts<'_> {
    fn array(&self) -> Option<(&Dataset, &Array)> {
        let dataset = self.array.as_ref()?;
        dataset.array().map(|array| (dataset, array))
    }

    fn kind(&self) -> &'static str {
        if self.array.is_some() { "array" } else { "schunk" }
    }

    fn order(array: &Array) -> &'static str {
        match array.order() {
            holdall::Order::Fortran => "F",
            _ => "C",
        }
    }

    /// The names of the codec of all chunks, and of their checksum.
    fn names(&self) -> (String, String) {
        let encoding = self.source.schunk.encoding();
        let codec = encoding.codec.map_or("mixed".to_owned(), |codec| format!("{codec:?}"));
        (codec.to_lowercase(), format!("{:?}", encoding.checksum).to_lowercase())
    }

    fn json(&self) -> Json {
        let (schunk, (codec, checksum)) = (&self.source.schunk, self.names());
        let mut all = json!({
            "path": self.source.path, "format": "bloscpack", "kind": self.kind(),
            "dialect": dialect(schunk.version()), "nbytes": schunk.len(), "cbytes": self.stored_bytes,
            "chunks": schunk.chunks(), "chunk_size": schunk.chunk_size(), "typesize": schunk.type_size(),
            "codec": codec, "checksum": checksum,
            "metadata": self.metadata.as_ref().map(|(value, _)| value),
        });
        if let (Json::Object(all), Some((dataset, array))) = (&mut all, self.array()) {
            all.append(&mut array::info::members(dataset, array));
            all.insert("order".to_owned(), json!(Facts::order(array)));
        }
        all
    }

    fn print(&self, output: &mut Output) -> Result {
        let (schunk, (codec, checksum)) = (&self.source.schunk, self.names());
        let metadata = self.metadata.as_ref().map_or("none", |(_, text)| text);
        let lines = [
            ("path", printable(&self.source.path)),
            ("format", "bloscpack".to_owned()),
            ("kind", self.kind().to_owned()),
            ("dialect", dialect(schunk.version()).to_owned()),
            ("nbytes", report::size(schunk.len())),
            ("cbytes", report::stored_size(self.stored_bytes, schunk.len())),
            ("chunks", schunk.chunks().to_string()),
            ("chunk size", report::size(schunk.chunk_size() as u64)),
            ("typesize", schunk.type_size().to_string()),
            ("codec", codec),
            ("checksum", checksum),
            ("metadata", metadata.to_owned()),
        ];
        for (name, value) in lines {
            output.line(format_args!("{:<14}{value}", name.to_owned() + ":"))?;
        }
        let Some((dataset, array)) = self.array() else {
            return Ok(());
        };
        array::info::lines(dataset, array, output)?;
        output.line(format_args!("order:        {}", Facts::order(array)))
    }
}

/// Reports a failure, which does not prevent the rest of the output.
fn reported<T>(result: Result<Option<T>>, is_damaged: &mut bool) -> Result<Option<T>> {
    match result {
        Err(Failure::Message(text)) => {
            *is_damaged = true;
            report::error(&text);
            Ok(None)
        }
        result => result,
    }
}

pub fn run(args: &Info) -> Result<Exit> {
    if detect::format(&args.path, args.source.frame.at).is_some_and(detect::is_frame) {
        return array::info::run(args);
    }
    let options = options::frame(options::reading(&args.source.reading), &args.source.frame);
    let (source, damage) = Source::open(&args.path, &options, args.skip_damaged)?;
    let mut is_damaged = damage.found;
    let metadata = reported(metadata(&source), &mut is_damaged)?;
    let array = match is_damaged && metadata.is_none() {
        true => None,
        false => reported(source.array(), &mut is_damaged)?,
    };
    let facts = Facts {
        stored_bytes: source.schunk.stored_bytes().map_err(library(&args.path))?,
        metadata,
        array: array.map(|array| Dataset::of_array(&args.path, array)),
        source: &source,
    };
    let mut output = Output::standard();
    if args.json {
        output.line(facts.json())?;
    } else {
        facts.print(&mut output)?;
    }
    output.finish(Exit::damaged(is_damaged))
}
