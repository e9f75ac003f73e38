//! `holdall pack` into a superchunk.

use super::packing::{self, Packing, Target};
use crate::cli::usage::Usage;
use crate::cli::{Pack, groups::Encoding};
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::files::{self, Input};
use crate::{array, create, detect, failure, options, output, usage};
use holdall::{Format, Options, Schunk};

/// Bytes of an item, unless an option says otherwise.
const TYPE_SIZE: u8 = 8;
/// Bytes of content of a chunk that the library takes by default.
const CHUNK_SIZE: u64 = 1 << 20;
/// Free entries in the table of offsets for each chunk, as Bloscpack has them: its own, and 10 for
/// later ones.
const ENTRIES: u64 = 11;

/// Reserves entries for chunk offsets, if the number of chunks is known.
pub fn spare_chunks(options: Options, encoding: &Encoding, input: &Input, chunk: u64) -> Options {
    let version = encoding.format_version.unwrap_or(3);
    match input.total.filter(|total| *total > 0) {
        Some(total) if !encoding.no_offsets && version == 3 => {
            options.spare_chunks((total / chunk + 1) * ENTRIES)
        }
        _ => options,
    }
}

pub fn run(args: &Pack, usage: &Usage, input: &FileName, out: &FileName) -> Result<Exit> {
    output::refuse_terminal(Some(out), "bytes")?;
    if !args.raw && input.ends_with(".npy") {
        return array::pack::npy(args, usage, input, out);
    }
    let encoding = &args.encoding;
    let type_size = encoding.typesize.unwrap_or(TYPE_SIZE);
    if let Some(chunk) = encoding.chunk_size.filter(|chunk| chunk % u64::from(type_size) != 0) {
        return Err(usage!(
            "--chunk-size {chunk} is not a whole number of items of {type_size} bytes (--typesize)"
        ));
    }
    if input.is_standard() && args.metadata.as_ref().is_some_and(FileName::is_standard) {
        return Err(usage!("content and --metadata cannot both be standard input"));
    }
    let options = options::given(Options::new(), args.threads, Options::threads);
    let options = options::encoding(options::sync(options, &args.sync), encoding)?;
    if !args.raw
        && !input.is_standard()
        && let Some(stored) = detect::stored_container(input)
    {
        return Err(failure!(
            "{input}: it is a container of {stored}: convert copies its content (--raw packs its bytes)"
        ));
    }
    packing::run(&Packing { command: "pack", from: input, out }, |input| {
        let options =
            spare_chunks(options, encoding, input, encoding.chunk_size.unwrap_or(CHUNK_SIZE));
        let metadata = args.metadata.as_ref().map(files::read_all).transpose()?;
        let type_size = usize::from(type_size);
        if out.is_standard() {
            let metadata = metadata.as_deref();
            return Ok((packing::stream(type_size, input.total, metadata, &options)?, None));
        }
        let force = args.output.force;
        let mut schunk = create!(Schunk, out, force, Format::Bloscpack, type_size, &options)?;
        if let (Some(path), Some(metadata)) = (&args.metadata, metadata) {
            schunk.set_attribute("", &metadata).map_err(library(path))?;
        }
        Ok((Target::Schunk(schunk), None))
    })
}
