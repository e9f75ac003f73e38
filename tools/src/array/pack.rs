//! Items of a file become an array in a Bloscpack file, or the content of a frame without a shape.
//!
//! The items go into chunks as they are in the file. Type, shape and order become the metadata that
//! make a superchunk an array.

use super::npy::Npy;
use crate::cli::groups::{Encoding, FileInput, Shape};
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::cli::{Convert, Pack};
use crate::failure::{Exit, Result, creation, library};
use crate::files::Input;
use crate::superchunk::packing::{self, Expected, Opened, Packing, Target};
use crate::{failure, options, usage};
use holdall::{Array, ArrayLayout, Format, Options, Schunk};

/// The largest type size that files have.
const TYPE_SIZE_MOST: u64 = 255;
/// Entries for offsets that Bloscpack keeps for a chunk: the chunk's, and 10 to append others.
const ENTRIES: u64 = 11;

/// The file and the superchunk that it becomes.
struct New<'a> {
    out: &'a str,
    force: bool,
    options: Options,
    encoding: &'a Encoding,
    chunks: Option<&'a Shape>,
}

impl New<'_> {
    fn create(&self, format: Format, item_size: u64, options: &Options) -> Result<Schunk> {
        let type_size = match item_size {
            1..=TYPE_SIZE_MOST => item_size as usize,
            _ => 1,
        };
        let create = if self.force { Schunk::replace } else { Schunk::create };
        create(self.out, format, type_size, options).map_err(creation(self.out, self.force))
    }

    /// Opens a new array in a Bloscpack file.
    fn array(self, input: &Input, npy: &Npy, in_header: bool) -> Result<Opened> {
        let (item_size, bytes, chunk_size) = self.measure(npy)?;
        let mut options = self.options.clone().chunk_bytes(chunk_size);
        let version = self.encoding.format_version;
        let offsets = !self.encoding.no_offsets && version.is_none_or(|v| v == 3);
        if let Some(total) = input.total.filter(|total| offsets && *total > 0) {
            options = options.spare_chunks((total / chunk_size + 1) * ENTRIES);
        }
        let mut schunk = self.create(Format::Bloscpack, item_size, &options)?;
        let set = schunk.set_attribute("", npy.metadata().as_bytes());
        set.map_err(library(self.out))?;
        Ok(Opened { target: Target::Schunk(schunk), expected: Some(Expected { bytes, in_header }) })
    }

    /// Returns the bytes of an item, of all items, and of a chunk: an array that is never committed
    /// knows them. Its slowest dimension is the first, between whose indices the library splits
    /// chunks.
    fn measure(&self, npy: &Npy) -> Result<(u64, u64, u64)> {
        let slowest_first = |shape: &[u64]| -> Vec<u64> {
            let numbers = shape.iter().copied();
            if npy.fortran_order { numbers.rev().collect() } else { numbers.collect() }
        };
        let chunks = packing::shape(self.chunks, "chunks", self.out, npy.shape.len())?;
        let mut layout = ArrayLayout::new(Format::Bloscpack);
        if let Some(chunks) = chunks {
            layout = layout.chunks(&slowest_first(chunks));
        }
        let create = if self.force { Array::replace } else { Array::create };
        let shape = slowest_first(&npy.shape);
        let array = create(self.out, &npy.descr, &shape, &layout, &self.options)
            .map_err(creation(self.out, self.force))?;
        let item = array.item_size() as u64;
        let chunk = array.chunk_shape().iter().fold(item, |n, d| n * d);
        let chunk = if chunk == 0 { item.max(1) } else { chunk };
        Ok((item, array.content_bytes(), chunk))
    }

    /// Opens a new frame, which cannot store type and shape.
    fn frame(self, input: &Input, npy: &Npy, in_header: bool) -> Result<Opened> {
        let (item_size, bytes) = npy.measure(input)?;
        if npy.fortran_order && npy.shape.len() > 1 {
            return Err(failure!(
                "{}: its items are in Fortran order, which a frame cannot record (--to b2nd)",
                input.name
            ));
        }
        let schunk = self.create(Format::B2Frame, item_size, &self.options)?;
        Ok(Opened { target: Target::Schunk(schunk), expected: Some(Expected { bytes, in_header }) })
    }
}

/// Runs `holdall pack` of a .npy file.
pub fn npy(args: &Pack, usage: &Usage, input: &str, out: &str) -> Result<Exit> {
    for option in ["metadata", "typesize"] {
        if usage.has(option) {
            return Err(usage!(
                "--{option} is not for a .npy, which has its own (--raw packs its bytes)"
            ));
        }
    }
    let options = options::given(Options::new(), args.threads, Options::threads);
    let options = options::encoding(options::sync(options, &args.sync), &args.encoding)?;
    let packing = Packing { command: "pack", done: "packed", from: input, out };
    packing::run(&packing, |input| {
        let new =
            New { out, force: args.output.force, options, encoding: &args.encoding, chunks: None };
        let npy = Npy::begin(input, DataFormat::Npy, &FileInput::default())?;
        new.array(input, &npy, true)
    })
}

/// Runs `holdall convert` of the items of a file into a Bloscpack array or a frame without a shape.
pub fn items(
    args: &Convert,
    input: &str,
    from: DataFormat,
    out: &str,
    format: Format,
) -> Result<Exit> {
    let options = options::converting(args)?;
    let packing = Packing { command: "convert", done: "converted", from: input, out };
    packing::run(&packing, |input| {
        let new = New {
            out,
            force: args.output.force,
            // the packing reports progress
            options: options.progress(|_, _| !crate::signals::stopped()),
            encoding: &args.encoding,
            chunks: args.layout.chunks.as_ref(),
        };
        let npy = Npy::begin(input, from, &args.input)?;
        let in_header = args.input.dtype.is_none();
        match format {
            Format::B2Frame => new.frame(input, &npy, in_header),
            _ => new.array(input, &npy, in_header),
        }
    })
}
