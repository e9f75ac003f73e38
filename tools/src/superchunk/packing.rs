//! A file that becomes the content of a superchunk, an array or a file, for pack, append and
//! convert.
//!
//! Nothing is visible before the commit at the end: a failure, or a signal, leaves OUT unchanged.

use crate::array::grid::Grid;
use crate::cli::groups::Shape;
use crate::failure::{Exit, Failure, Result, library};
use crate::file_name::FileName;
use crate::files::{Input, OutputFile};
use crate::report::{self, plural};
use crate::superchunk::source::resize;
use crate::{detect, failure, progress, relay, signals};
use holdall::{Array, Options, Schunk, SchunkStream};
use std::io;

/// Bytes that are passed on at once: several chunks, which are compressed in parallel.
pub const PIECE: u64 = 8 << 20;
/// The most bytes of a piece that holds one chunk.
const PIECE_MOST: u64 = 256 << 20;

/// What the content is added to.
pub enum Target {
    Schunk(Schunk),
    /// A superchunk on standard output.
    Stream(SchunkStream<OutputFile>),
    /// An array that gets more rows.
    Rows(Array),
    /// A new array of a known shape.
    Grid(Grid),
    File(OutputFile),
}

/// One call of a command.
pub struct Packing<'a> {
    pub command: &'static str,
    pub from: &'a FileName,
    pub out: &'a FileName,
}

/// Returns the bytes of one index of the first dimension.
pub fn row_bytes(array: &Array) -> u64 {
    let row = array.shape().iter().skip(1);
    row.fold(array.item_size() as u64, |n, d| n.saturating_mul(*d))
}

/// Returns the type size of a superchunk with items of so many bytes.
pub fn type_size(item_size: u64) -> usize {
    u8::try_from(item_size).map_or(1, |size| usize::from(size).max(1))
}

/// Returns the value of `--chunks` or `--blocks` as a shape of an array with `ndim` dimensions.
pub fn shape<'s>(
    shape: Option<&'s Shape>,
    option: &str,
    path: &FileName,
    ndim: usize,
) -> Result<Option<&'s [u64]>> {
    match shape {
        Some(Shape(shape)) if shape.len() != ndim => Err(failure!(
            "{path}: --{option} has {} number{}, and the array has {ndim} dimension{}",
            shape.len(),
            plural(shape.len() as u64),
            plural(ndim as u64)
        )),
        shape => Ok(shape.map(|Shape(shape)| shape.as_slice())),
    }
}

/// Creates a superchunk on standard output. `length` is that of its content, if it is known.
pub fn stream(
    type_size: usize,
    length: Option<u64>,
    metadata: Option<&[u8]>,
    options: &Options,
) -> Result<Target> {
    let out = FileName::from("-");
    let file = OutputFile::create(&out, false)?;
    let stream = SchunkStream::new(file, type_size, length, options);
    let mut stream = stream.map_err(library(&out))?;
    metadata.map_or(Ok(()), |json| stream.set_metadata(json)).map_err(library(&out))?;
    Ok(Target::Stream(stream))
}

/// The failure to write to standard output. A reader that has gone is none.
fn streamed(out: &FileName) -> impl Fn(holdall::Error) -> Failure {
    move |error| match error.os_code() {
        _ if signals::stopped() => Failure::Stopped,
        Some(code) => Failure::Output(io::Error::from_raw_os_error(code)),
        None => library(out)(error),
    }
}

impl Target {
    fn add(&mut self, bytes: &[u8], input: &FileName, out: &FileName) -> Result {
        let added = match self {
            Target::Schunk(schunk) => schunk.append(bytes),
            Target::Stream(stream) => return stream.append(bytes).map_err(streamed(out)),
            Target::Grid(grid) => grid.write(bytes),
            Target::File(file) => return file.put(bytes),
            Target::Rows(array) => {
                let (n, row) = (bytes.len() as u64, row_bytes(array).max(1));
                if n % row != 0 {
                    return Err(failure!(
                        "{input}: its last {} bytes are no whole row of the array, of {row} bytes",
                        n % row
                    ));
                }
                array.append_bytes(0, n / row, bytes)
            }
        };
        added.map_err(library(out))
    }

    /// Returns the bytes of a piece: whole chunks of a frame, so that each is compressed once,
    /// otherwise whole rows.
    fn piece(&self) -> u64 {
        let array = match self {
            Target::Rows(array) => array,
            Target::Grid(grid) => return grid.piece(),
            _ => return PIECE,
        };
        let row = row_bytes(array).max(1);
        let rows = array.chunk_shape().first().copied().unwrap_or(1).max(1);
        let chunk = if detect::is_frame(array.format()) { row.saturating_mul(rows) } else { row };
        match chunk {
            ..PIECE => PIECE / chunk * chunk,
            PIECE..=PIECE_MOST => chunk,
            _ => (PIECE / row).max(1) * row,
        }
    }

    /// Makes the content visible. Returns what the summary says of it.
    fn commit(self, out: &FileName) -> Result<String> {
        let (now, parts, part, stored) = match self {
            Target::Schunk(mut schunk) => {
                schunk.commit().map_err(library(out))?;
                (schunk.len(), schunk.chunks(), "chunk", schunk.stored_bytes())
            }
            Target::Rows(mut array) => {
                array.commit().map_err(library(out))?;
                let rows = array.shape().first().copied().unwrap_or(1);
                (array.content_bytes(), rows, "row", array.stored_bytes())
            }
            Target::Grid(mut grid) => {
                grid.array.commit().map_err(library(out))?;
                let stored = grid.array.stored_bytes().map_err(library(out))?;
                return Ok(format!(", {stored} bytes on disk"));
            }
            Target::Stream(stream) => {
                stream.finish().map_err(streamed(out))?;
                return Ok(String::new());
            }
            Target::File(file) => return file.complete().map(|()| String::new()),
        };
        let stored = stored.map_err(library(out))?;
        Ok(format!(
            "; now {now} byte{} in {parts} {part}{}, {stored} bytes on disk",
            plural(now),
            plural(parts)
        ))
    }
}

/// Adds all of the input, which must have the expected length, and commits. Returns the number of
/// bytes and the summary.
fn add_content(
    input: &mut Input,
    mut target: Target,
    expected: Option<u64>,
    out: &FileName,
) -> Result<(u64, String)> {
    let (size, name, mut bytes) = (target.piece(), input.name.clone(), 0);
    let size = usize::try_from(size).map_err(|_| failure!("out of memory"))?;
    let make = |piece: &mut Vec<u8>| {
        resize(piece, size)?;
        let n = input.fill(piece)?;
        piece.truncate(n);
        bytes += n as u64;
        input.progress(bytes);
        match expected {
            Some(expected) if bytes > expected || (n < size && bytes < expected) => {
                let come = if bytes > expected { "more" } else { &bytes.to_string() };
                let name = &input.name;
                Err(failure!("{name}: type and shape are {expected} bytes, and {come} come"))
            }
            _ => Ok(n > 0),
        }
    };
    relay::make_here(make, |piece| target.add(piece, &name, out))?;
    if signals::stopped() {
        return Err(Failure::Stopped);
    }
    Ok((bytes, target.commit(out)?))
}

/// Opens the input, then with `open` what the content is added to, and adds the content. `open`
/// also returns the number of bytes that must come, if it is known.
pub fn run(
    packing: &Packing,
    open: impl FnOnce(&mut Input) -> Result<(Target, Option<u64>)>,
) -> Result<Exit> {
    let Packing { command, from, out } = packing;
    signals::catch();
    let mut input = Input::open(from, Some(out))?;
    progress::begin(command);
    let added = open(&mut input)
        .and_then(|(target, expected)| add_content(&mut input, target, expected, out));
    progress::end();
    let (bytes, summary) = match added {
        Err(_) if signals::stopped() => return Err(Failure::Stopped),
        added => added?,
    };
    report::note(&format!("{out}: {bytes} byte{} {command}ed{summary}", plural(bytes)));
    Ok(Exit::Done)
}
