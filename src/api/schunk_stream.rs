//! A Bloscpack file that is written from front to back.
#![forbid(unsafe_code)]

use super::{Error, Options, Result};
use crate::superchunk::bloscpack::StreamWriter;
use std::io::Write;

/// A writer of a Bloscpack file from front to back, for outputs that cannot seek: a pipe, a socket,
/// a compressor. Memory use does not depend on the length of the content.
///
/// The file has no table of chunk offsets. Each chunk is written when it is complete; there is no
/// commit. An output that ends before [`SchunkStream::finish`] is a truncated file: opening it
/// fails with [`Status::Format`](crate::Status::Format) unless
/// [`Options::skip_corrupt`] is set.
///
/// If the length is unknown, the header has the number of chunks -1, and an empty chunk ends the
/// file. This library reads such files; the original Bloscpack reads them as empty, without an
/// error. A commit of [`Schunk::open_for_writing`](crate::Schunk::open_for_writing), or a copy,
/// writes a header with all numbers.
///
/// ```
/// use holdall::{Location, Options, Schunk, SchunkStream};
///
/// let mut stream = SchunkStream::new(Vec::new(), 4, None, &Options::new())?;
/// stream.append(&[7; 10_000])?;
/// let file = stream.finish()?; // the output: here a vector, otherwise a pipe
///
/// let schunk = Schunk::open(Location::memory(file))?;
/// assert_eq!(schunk.len(), 10_000);
/// # Ok::<(), holdall::Error>(())
/// ```
pub struct SchunkStream<W>(StreamWriter<W>);

impl<W: Write + Send> SchunkStream<W> {
    /// Creates a writer. Filters treat the content as items of `type_size` bytes, at least 1.
    /// `length` is the number of bytes of content, if it is known.
    ///
    /// Options are those of [`Schunk::create`](crate::Schunk::create);
    /// [`Options::offsets`] and [`Options::spare_chunks`] have no effect. It fails with
    /// [`Status::Unsupported`](crate::Status::Unsupported) if the length is unknown and
    /// [`Options::bloscpack_version`] is 1, whose files have no end.
    pub fn new(
        out: W,
        type_size: usize,
        length: Option<u64>,
        options: &Options,
    ) -> Result<SchunkStream<W>> {
        StreamWriter::new(out, type_size, length, options.get()?)
            .map(SchunkStream)
            .map_err(Error)
    }

    /// Sets the metadata, which must be JSON: attribute `""` of a
    /// [`Schunk`](crate::Schunk). It fails with [`Status::State`](crate::Status::State) after the
    /// first content.
    pub fn set_metadata(&mut self, json: &[u8]) -> Result<()> {
        self.0.set_meta(json).map_err(Error)
    }

    /// Appends content, compressed in parallel, and writes the chunks that are complete.
    ///
    /// It fails with [`Status::Range`](crate::Status::Range) if there is more content than `length`,
    /// and then writes nothing. After a failure of the output all calls fail with
    /// [`Status::State`](crate::Status::State).
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.append(bytes).map_err(Error)
    }

    /// Returns the number of bytes of content so far.
    pub fn len(&self) -> u64 {
        self.0.nbytes()
    }

    /// Returns whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the last chunk and returns the output. It fails with
    /// [`Status::State`](crate::Status::State) if there is less content than `length`.
    pub fn finish(self) -> Result<W> {
        self.0.finish().map_err(Error)
    }
}

impl<W> std::fmt::Debug for SchunkStream<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SchunkStream").finish_non_exhaustive()
    }
}
