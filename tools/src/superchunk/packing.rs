//! A file that becomes content of a superchunk or rows of an array, for pack, append and convert.
//!
//! Nothing is visible before the commit at the end: a failure, or a signal, leaves the container
//! unchanged.

use crate::cli::groups::Shape;
use crate::failure::{Exit, Result, library};
use crate::files::Input;
use crate::report::{self, plural};
use crate::superchunk::source::resize;
use crate::{detect, failure, progress, relay, signals};
use holdall::{Array, Schunk};

/// Bytes that are passed on at once: several chunks, which are compressed in parallel.
const PIECE: u64 = 8 << 20;
/// The most bytes of a piece that holds one chunk.
const PIECE_MOST: u64 = 256 << 20;

/// What the content is added to.
pub enum Target {
    Schunk(Schunk),
    Array(Array),
}

/// The number of bytes that must come.
pub struct Expected {
    pub bytes: u64,
    /// From the header of the file; otherwise from options.
    pub in_header: bool,
}

/// The container that was opened, and what is known about the content.
pub struct Opened {
    pub target: Target,
    pub expected: Option<Expected>,
}

/// One call of a command.
pub struct Packing<'a> {
    /// `pack`, for the progress.
    pub command: &'static str,
    /// `packed`, for the summary.
    pub done: &'static str,
    pub from: &'a str,
    pub out: &'a str,
}

/// Returns the bytes of one index of the first dimension.
pub fn row_bytes(array: &Array) -> u64 {
    let row = array.shape().iter().skip(1);
    row.fold(array.item_size() as u64, |n, d| n.saturating_mul(*d))
}

/// Returns the value of `--chunks` or `--blocks` as a shape of an array with `ndim` dimensions.
pub fn shape<'s>(
    shape: Option<&'s Shape>,
    option: &str,
    path: &str,
    ndim: usize,
) -> Result<Option<&'s [u64]>> {
    let Some(Shape(shape)) = shape else {
        return Ok(None);
    };
    if shape.len() != ndim {
        return Err(failure!(
            "{path}: --{option} has {} number{}, and the array has {ndim} dimension{}",
            shape.len(),
            plural(shape.len() as u64),
            plural(ndim as u64)
        ));
    }
    Ok(Some(shape))
}

impl Target {
    fn add(&mut self, bytes: &[u8], input: &str, out: &str) -> Result {
        let array = match self {
            Target::Schunk(schunk) => return schunk.append(bytes).map_err(library(out)),
            Target::Array(array) => array,
        };
        let (n, row) = (bytes.len() as u64, row_bytes(array).max(1));
        if n % row != 0 {
            return Err(failure!(
                "{input}: its last {} bytes are no whole row of the array, of {row} bytes",
                n % row
            ));
        }
        array.append_bytes(0, n / row, bytes).map_err(library(out))
    }

    /// Returns the bytes of a piece: whole chunks of a frame, so that each is compressed once,
    /// otherwise whole rows.
    fn piece(&self) -> Result<usize> {
        let (row, chunk) = match self {
            Target::Schunk(_) => (1, 1),
            Target::Array(array) => {
                let row = row_bytes(array).max(1);
                let rows = array.chunk_shape().first().copied().unwrap_or(1).max(1);
                let is_frame = detect::is_frame(array.format());
                (row, if is_frame { row.saturating_mul(rows) } else { row })
            }
        };
        let size = if chunk < PIECE {
            PIECE / chunk * chunk
        } else if chunk <= PIECE_MOST {
            chunk
        } else {
            (PIECE / row).max(1) * row
        };
        usize::try_from(size).map_err(|_| failure!("out of memory"))
    }

    fn commit(&mut self, out: &str) -> Result {
        let committed = match self {
            Target::Schunk(schunk) => schunk.commit(),
            Target::Array(array) => array.commit(),
        };
        committed.map_err(library(out))
    }

    fn note(&self, packing: &Packing, bytes: u64) -> Result {
        let (now, parts, part, stored) = match self {
            Target::Schunk(schunk) => {
                (schunk.len(), schunk.chunks(), "chunk", schunk.stored_bytes())
            }
            Target::Array(array) => {
                let rows = array.shape().first().copied().unwrap_or(1);
                (array.content_bytes(), rows, "row", array.stored_bytes())
            }
        };
        report::note(&format!(
            "{}: {bytes} byte{} {}; now {now} byte{} in {parts} {part}{}, {} bytes on disk",
            packing.out,
            plural(bytes),
            packing.done,
            plural(now),
            plural(parts),
            stored.map_err(library(packing.out))?
        ));
        Ok(())
    }
}

/// Adds all of the input and returns the number of bytes.
fn add_content(input: &mut Input, target: &mut Target, out: &str) -> Result<u64> {
    let (size, name, mut bytes) = (target.piece()?, input.name.clone(), 0);
    let make = |piece: &mut Vec<u8>| {
        resize(piece, size)?;
        let n = input.fill(piece)?;
        piece.truncate(n);
        bytes += n as u64;
        input.progress(bytes);
        Ok(n > 0)
    };
    relay::make_here(make, |piece| target.add(piece, &name, out))?;
    Ok(bytes)
}

fn check_length(input: &Input, bytes: u64, expected: Option<&Expected>) -> Result {
    match expected.filter(|expected| expected.bytes != bytes) {
        None => Ok(()),
        Some(expected) => {
            let (header, after) = match expected.in_header {
                true => (" in its header", " after it"),
                false => ("", ""),
            };
            Err(failure!(
                "{}: type and shape{header} are {} bytes, {bytes} come{after}",
                input.name,
                expected.bytes
            ))
        }
    }
}

/// Opens the input, then with `open` the container, and adds the content.
pub fn run(packing: &Packing, open: impl FnOnce(&mut Input) -> Result<Opened>) -> Result<Exit> {
    signals::catch();
    let mut input = Input::open(packing.from, Some(packing.out))?;
    progress::begin(packing.command);
    let added = open(&mut input).and_then(|mut opened| {
        let bytes = add_content(&mut input, &mut opened.target, packing.out)?;
        check_length(&input, bytes, opened.expected.as_ref())?;
        if signals::stopped() {
            return Err(failure::Failure::Stopped);
        }
        opened.target.commit(packing.out)?;
        Ok((opened.target, bytes))
    });
    progress::end();
    let (target, bytes) = added?;
    target.note(packing, bytes)?;
    Ok(Exit::Done)
}
