//! Items of a file become an array, the content of a frame without a shape, or a file.
//!
//! In a Bloscpack file, the items go into chunks as they are in the file. Type, shape and order
//! become the metadata that make a superchunk an array.

use super::convert::{format_of, layout};
use super::grid::Grid;
use super::npy::Npy;
use crate::cli::groups::{Encoding, FileInput, Shape};
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::cli::{Convert, Pack};
use crate::failure::{Exit, Result, library};
use crate::file_name::FileName;
use crate::files::{Input, OutputFile};
use crate::superchunk::pack::spare_chunks;
use crate::superchunk::packing::{self, Packing, Target};
use crate::{create, failure, options, signals, usage};
use holdall::{Array, ArrayLayout, Format, Options, Schunk};

/// The container that the items become.
struct New<'a> {
    out: &'a FileName,
    force: bool,
    options: Options,
    encoding: &'a Encoding,
    chunks: Option<&'a Shape>,
}

impl New<'_> {
    fn schunk(&self, format: Format, item_size: u64, options: &Options) -> Result<Schunk> {
        let type_size = packing::type_size(item_size);
        create!(Schunk, self.out, self.force, format, type_size, options)
    }

    fn array(&self, dtype: &str, shape: &[u64], layout: &ArrayLayout) -> Result<Array> {
        create!(Array, self.out, self.force, dtype, shape, layout, &self.options)
    }

    /// Opens a new array in a Bloscpack file.
    fn bloscpack(self, input: &Input, npy: &Npy) -> Result<(Target, Option<u64>)> {
        let (item_size, bytes, chunk_size) = self.measure(npy)?;
        let options = self.options.clone().chunk_bytes(chunk_size);
        let options = spare_chunks(options, self.encoding, input, chunk_size);
        if self.out.is_standard() {
            let (size, metadata) = (packing::type_size(item_size), npy.metadata());
            let stream = packing::stream(size, Some(bytes), Some(metadata.as_bytes()), &options)?;
            return Ok((stream, Some(bytes)));
        }
        let mut schunk = self.schunk(Format::Bloscpack, item_size, &options)?;
        let set = schunk.set_attribute("", npy.metadata().as_bytes());
        set.map_err(library(self.out))?;
        Ok((Target::Schunk(schunk), Some(bytes)))
    }

    /// Returns the bytes of an item, of all items, and of a chunk: an array that is never committed
    /// knows them. Its slowest dimension is the first, between whose indices the library splits
    /// chunks.
    fn measure(&self, npy: &Npy) -> Result<(u64, u64, u64)> {
        let slowest_first = |shape: &[u64]| -> Vec<u64> {
            let numbers = shape.iter().copied();
            if npy.fortran_order { numbers.rev().collect() } else { numbers.collect() }
        };
        let mut layout = ArrayLayout::new(Format::Bloscpack);
        if let Some(chunks) = packing::shape(self.chunks, "chunks", self.out, npy.shape.len())? {
            layout = layout.chunks(&slowest_first(chunks));
        }
        let array = self.array(&npy.descr, &slowest_first(&npy.shape), &layout)?;
        let item = array.item_size() as u64;
        let chunk = array.chunk_shape().iter().fold(item, |n, d| n * d);
        let chunk = if chunk == 0 { item.max(1) } else { chunk };
        Ok((item, array.content_bytes(), chunk))
    }
}

/// Runs `holdall pack` of a .npy file.
pub fn npy(args: &Pack, usage: &Usage, input: &FileName, out: &FileName) -> Result<Exit> {
    if let Some(option) = ["metadata", "typesize"].iter().find(|option| usage.has(option)) {
        return Err(usage!(
            "--{option} is not for a .npy, which has its own (--raw packs its bytes)"
        ));
    }
    let options = options::given(Options::new(), args.threads, Options::threads);
    let options = options::encoding(options::sync(options, &args.sync), &args.encoding)?;
    packing::run(&Packing { command: "pack", from: input, out }, |input| {
        let new =
            New { out, force: args.output.force, options, encoding: &args.encoding, chunks: None };
        let npy = Npy::begin(input, DataFormat::Npy, &FileInput::default())?;
        new.bloscpack(input, &npy)
    })
}

/// Runs `holdall convert` of the items of a file into an array, a frame without a shape, or a file.
pub fn items(
    args: &Convert,
    input: &FileName,
    from: DataFormat,
    out: &FileName,
    to: DataFormat,
) -> Result<Exit> {
    let new = New {
        out,
        force: args.output.force,
        // the packing reports progress
        options: options::converting(args)?.progress(|_, _| !signals::stopped()),
        encoding: &args.encoding,
        chunks: args.layout.chunks.as_ref(),
    };
    packing::run(&Packing { command: "convert", from: input, out }, |input| {
        let npy = Npy::begin(input, from, &args.input)?;
        let flat = |what, instead| match npy.fortran_order && npy.shape.len() > 1 {
            true => Err(failure!(
                "{}: its items are in Fortran order, which {what} cannot record (--to {instead})",
                input.name
            )),
            false => npy.measure(input),
        };
        match format_of(to) {
            Some(Format::Bloscpack) => new.bloscpack(input, &npy),
            Some(Format::B2Frame) => {
                let (item_size, bytes) = flat("a frame", "b2nd")?;
                let schunk = new.schunk(Format::B2Frame, item_size, &new.options)?;
                Ok((Target::Schunk(schunk), Some(bytes)))
            }
            Some(format) => {
                let layout = layout(args, format, out, npy.shape.len())?;
                let array = new.array(npy.dtype(), &npy.shape, &layout)?;
                let bytes = array.content_bytes();
                Ok((Target::Grid(Grid::new(array, npy.fortran_order)), Some(bytes)))
            }
            None => {
                let is_npy = to == DataFormat::Npy;
                let (_, bytes) =
                    if is_npy { npy.measure(input)? } else { flat("raw bytes", "b2nd or npy")? };
                let mut file = OutputFile::create(out, new.force)?;
                if is_npy {
                    file.put(&npy.header())?;
                }
                Ok((Target::File(file), Some(bytes)))
            }
        }
    })
}
