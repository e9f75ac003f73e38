//! `holdall convert` of arrays, and of the items of files.

use super::cat::Items;
use super::dataset::{self, Dataset};
use super::npy::Npy;
use crate::cli::Convert;
use crate::cli::usage::Usage;
use crate::cli::values::DataFormat;
use crate::failure::{Exit, Failure, Result, creation, library};
use crate::files::Input;
use crate::output::{self, Output};
use crate::report::{self, plural};
use crate::superchunk::packing;
use crate::superchunk::source::{Damage, resize};
use crate::{detect, failure, options, progress, relay, rows, signals, usage};
use holdall::{Array, ArrayLayout, Format, Integrity, Schunk};

/// Bytes that are written at once, if that is more than a row of chunks has.
const PIECE: u64 = 8 << 20;

/// The format of the container that convert writes; None: a plain file, or a bag.
pub fn format_of(to: DataFormat) -> Option<Format> {
    Some(match to {
        DataFormat::Blpk => Format::Bloscpack,
        DataFormat::Bcolz => Format::Bcolz,
        DataFormat::Blz => Format::Blz,
        DataFormat::BlzRfc => Format::BlzRfc,
        DataFormat::B2nd => Format::B2nd,
        DataFormat::Caterva => Format::Caterva,
        DataFormat::B2Frame => Format::B2Frame,
        _ => return None,
    })
}

/// Ends an operation: removes the progress, and stops if a signal asked to.
fn ended<T>(result: Result<T>) -> Result<T> {
    progress::end();
    match result {
        Err(_) if signals::stopped() => Err(Failure::Stopped),
        result => result,
    }
}

fn note_converted(out: &str, bytes: u64, more: &str) {
    report::note(&format!("{out}: {bytes} byte{} converted{more}", plural(bytes)));
}

/// Notes that a file cannot store so many attributes.
pub fn note_lost_attributes(out: &str, n: usize) {
    if n > 0 {
        let s = plural(n as u64);
        report::note(&format!("{out}: a file of this format cannot store {n} attribute{s}"));
    }
}

/// The layout that the options give an array of so many dimensions.
fn layout(args: &Convert, format: Format, path: &str, ndim: usize) -> Result<ArrayLayout> {
    let mut layout = ArrayLayout::new(format);
    if let Some(chunks) = packing::shape(args.layout.chunks.as_ref(), "chunks", path, ndim)? {
        layout = layout.chunks(chunks);
    }
    if let Some(blocks) = packing::shape(args.layout.blocks.as_ref(), "blocks", path, ndim)? {
        layout = layout.blocks(blocks);
    }
    Ok(layout)
}

// ---- from an array

/// Converts an array, also one in a Bloscpack file.
pub fn array(
    args: &Convert,
    usage: &Usage,
    dataset: &Dataset,
    damage: &mut Damage,
    out: &str,
    to: DataFormat,
) -> Result<Exit> {
    let Some(array) = dataset.array() else {
        return rows::convert::dataset(args, usage, dataset, out, to);
    };
    let has_objects = dataset::has_objects(array);
    let copies = |format| {
        format == Format::Bloscpack || detect::is_frame(format) || dataset::in_c_order(array)
    };
    match (to, format_of(to)) {
        (DataFormat::B2Frame, _) if !has_objects => flat(args, &dataset.path, array, damage, out)?,
        (_, Some(format)) if copies(format) => {
            copy(args, &dataset.path, array, damage, out, format)?
        }
        (DataFormat::Npy | DataFormat::Raw, _) if !has_objects => {
            let attributes = match dataset.format {
                Format::Bloscpack => 0,
                _ => dataset.attribute_names().len(),
            };
            file(args, &dataset.path, array, damage, out, to)?;
            note_lost_attributes(out, attributes);
        }
        _ => return rows::convert::dataset(args, usage, dataset, out, to),
    }
    note_converted(out, array.content_bytes(), "");
    Ok(Exit::damaged(damage.found))
}

/// Copies an array into another container.
fn copy(
    args: &Convert,
    path: &str,
    array: &Array,
    damage: &mut Damage,
    out: &str,
    format: Format,
) -> Result {
    let layout = layout(args, format, path, array.shape().len())?;
    let (options, force) = (options::converting(args)?, args.output.force);
    signals::catch();
    progress::begin("convert");
    let copied = if force {
        array.copy_replacing(out, &layout, &options)
    } else {
        array.copy_to(out, &layout, &options)
    };
    if ended(copied.map_err(creation(out, force)))? == Integrity::Filled {
        damage.report("in the copy");
    }
    Ok(())
}

/// Writes the items of an array, in C order, into a frame without a shape.
fn flat(args: &Convert, path: &str, array: &Array, damage: &mut Damage, out: &str) -> Result {
    if args.layout.chunks.is_some() || args.layout.blocks.is_some() {
        return Err(usage!(
            "--chunks and --blocks are for arrays, and this becomes a frame without a shape (--chunk-size)"
        ));
    }
    let options = options::converting(args)?.progress(|_, _| !signals::stopped());
    let create = if args.output.force { Schunk::replace } else { Schunk::create };
    let type_size = match array.item_size() {
        size @ 1..=255 => size,
        _ => 1,
    };
    signals::catch();
    progress::begin("convert");
    let (mut done, total) = (0, array.content_bytes());
    let mut write = || {
        let mut schunk = create(out, Format::B2Frame, type_size, &options)
            .map_err(creation(out, args.output.force))?;
        Items::of(array, path, None, None)?.each(damage, |bytes| {
            schunk.append(bytes).map_err(library(out))?;
            done += bytes.len() as u64;
            progress::report(done, total);
            Ok(())
        })?;
        schunk.commit().map_err(library(out))
    };
    ended(write())
}

/// Writes the items of an array into a plain file.
fn file(
    args: &Convert,
    path: &str,
    array: &Array,
    damage: &mut Damage,
    out: &str,
    to: DataFormat,
) -> Result {
    signals::catch();
    let printed = output::printed(Some(out), args.output.force, |output| {
        let mut items = Items::of(array, path, None, None)?;
        if to == DataFormat::Npy {
            output.bytes(&items.header(true))?;
        }
        items.each(damage, |bytes| match signals::stopped() {
            true => Err(Failure::Stopped),
            false => output.bytes(bytes),
        })?;
        Ok(Exit::Done)
    });
    ended(printed).map(drop)
}

// ---- from items of a file

/// Converts the items of a .npy file, or of a file without a header.
pub fn items(
    args: &Convert,
    usage: &Usage,
    input: &str,
    from: DataFormat,
    out: &str,
    to: DataFormat,
) -> Result<Exit> {
    match (to, format_of(to)) {
        (DataFormat::B2nd | DataFormat::Caterva, Some(format)) => {
            grid(args, input, from, out, format)
        }
        (_, Some(format @ (Format::Bloscpack | Format::B2Frame))) => {
            super::pack::items(args, input, from, out, format)
        }
        (DataFormat::Npy | DataFormat::Raw, _) => items_to_file(args, input, from, out, to),
        _ => rows::convert::file(args, usage, input, from, out, to),
    }
}

fn refuse_length(input: &Input, expected: u64, come: &str) -> Failure {
    failure!("{}: type and shape are {expected} bytes, {come}", input.name)
}

/// Items that fill an array, some indices of the slowest dimension in the file at a time.
struct Filling {
    array: Array,
    fortran_order: bool,
    slowest: usize,
    /// The length of the slowest dimension, and the bytes of one index of it.
    slices: u64,
    slice_bytes: u64,
}

impl Filling {
    fn new(array: Array, fortran_order: bool) -> Filling {
        let shape = array.shape();
        let slowest = match fortran_order {
            true => shape.len().saturating_sub(1),
            false => 0,
        };
        let others = shape.iter().enumerate().filter(|(d, _)| *d != slowest);
        Filling {
            slowest,
            slices: shape.get(slowest).copied().unwrap_or(1),
            slice_bytes: others.fold(array.item_size() as u64, |n, (_, length)| n * length),
            fortran_order,
            array,
        }
    }

    /// How many indices of the slowest dimension are read at once: those of whole chunks.
    fn at_once(&self) -> u64 {
        let chunk = self.array.chunk_shape().get(self.slowest).copied();
        let chunk = chunk.unwrap_or(1).max(1);
        match chunk * self.slice_bytes {
            bytes @ 1..PIECE => chunk * (PIECE / bytes),
            _ => chunk,
        }
    }

    /// Writes items that begin at an index of the slowest dimension. Returns the number of its
    /// indices.
    fn write(&mut self, at: u64, bytes: &[u8]) -> holdall::Result<u64> {
        let n = bytes.len() as u64 / self.slice_bytes;
        let mut ranges: Vec<_> = self.array.shape().iter().map(|n| 0..*n).collect();
        if let Some(range) = ranges.get_mut(self.slowest) {
            *range = at..at + n;
        }
        let (mut strides, mut stride) = (vec![0; ranges.len()], self.array.item_size() as i64);
        for i in 0..ranges.len() {
            let d = if self.fortran_order { i } else { ranges.len() - 1 - i };
            strides[d] = stride;
            stride *= (ranges[d].end - ranges[d].start) as i64;
        }
        let written = self.array.write_bytes_strided(ranges.as_slice(), bytes, &strides);
        written.map(|()| n)
    }
}

/// Writes the items of a file into an array whose chunks are parts of a grid. Each chunk is written
/// once.
fn grid(args: &Convert, input: &str, from: DataFormat, out: &str, format: Format) -> Result<Exit> {
    signals::catch();
    let mut input = Input::open(input, Some(out))?;
    progress::begin("convert");
    let (array, bytes) = ended(fill_grid(args, &mut input, from, out, format))?;
    let stored = array.stored_bytes().map_err(library(out))?;
    note_converted(out, bytes, &format!(", {stored} bytes on disk"));
    Ok(Exit::Done)
}

fn fill_grid(
    args: &Convert,
    input: &mut Input,
    from: DataFormat,
    out: &str,
    format: Format,
) -> Result<(Array, u64)> {
    let npy = Npy::begin(input, from, &args.input)?;
    let layout = layout(args, format, out, npy.shape.len())?;
    let options = options::converting(args)?.progress(|_, _| !signals::stopped());
    let create = if args.output.force { Array::replace } else { Array::create };
    let array = create(out, npy.dtype(), &npy.shape, &layout, &options)
        .map_err(creation(out, args.output.force))?;
    let expected = array.content_bytes();
    let mut filling = Filling::new(array, npy.fortran_order);
    let (at_once, slice_bytes) = (filling.at_once(), filling.slice_bytes);
    let mut left = if expected > 0 { filling.slices } else { 0 };
    let (mut bytes, mut at) = (0, 0);
    let make = |piece: &mut Vec<u8>| {
        let n = left.min(at_once);
        resize(piece, usize::try_from(n * slice_bytes).unwrap_or(usize::MAX))?;
        let got = input.fill(piece)?;
        bytes += got as u64;
        if got < piece.len() {
            return Err(refuse_length(input, expected, &format!("{bytes} come")));
        }
        left -= n;
        input.progress(bytes);
        Ok(n > 0)
    };
    relay::make_here(make, |piece| {
        at += filling.write(at, piece).map_err(library(out))?;
        Ok(())
    })?;
    if input.fill(&mut [0])? > 0 {
        return Err(refuse_length(input, expected, "and more come"));
    }
    filling.array.commit().map_err(library(out))?;
    Ok((filling.array, bytes))
}

/// Copies the items of a file into a .npy file or a file without a header.
fn items_to_file(
    args: &Convert,
    input: &str,
    from: DataFormat,
    out: &str,
    to: DataFormat,
) -> Result<Exit> {
    signals::catch();
    let mut input = Input::open(input, Some(out))?;
    progress::begin("convert");
    let mut bytes = 0;
    let printed = output::printed(Some(out), args.output.force, |output| {
        bytes = copy_items(args, &mut input, from, to, output)?;
        Ok(Exit::Done)
    });
    ended(printed)?;
    note_converted(out, bytes, "");
    Ok(Exit::Done)
}

fn copy_items(
    args: &Convert,
    input: &mut Input,
    from: DataFormat,
    to: DataFormat,
    output: &mut Output,
) -> Result<u64> {
    let npy = Npy::begin(input, from, &args.input)?;
    let (_, expected) = npy.measure(input)?;
    if to == DataFormat::Npy {
        output.bytes(&npy.header())?;
    } else if npy.fortran_order && npy.shape.len() > 1 {
        return Err(failure!(
            "{}: its items are in Fortran order, which raw bytes cannot record (--to b2nd or npy)",
            input.name
        ));
    }
    let (mut piece, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        let n = input.fill(&mut piece)?;
        if n == 0 {
            break;
        }
        output.bytes(&piece[..n])?;
        bytes += n as u64;
        input.progress(bytes);
    }
    if bytes != expected {
        return Err(refuse_length(input, expected, &format!("{bytes} come")));
    }
    Ok(bytes)
}
