//! Writes a Bloscpack file from front to back, for example to a pipe: the header, then each chunk as
//! soon as it is encoded. Nothing is written again, so there are no offsets.
//!
//! If the length of the content is known, the header states the number of chunks, and every reader
//! finds out that chunks are missing. Otherwise the number of chunks and their size are -1, and the
//! size of the last chunk is 0: an empty chunk ends the file, and without it the file is truncated.
#![forbid(unsafe_code)]

use super::chunk_encoder::ChunkEncoder;
use super::head::Head;
use super::header::{Dialect, Header};
use super::open::{CREATE_OPTIONS, OPEN_OPTIONS, WRITE_OPTIONS, new_chunk_size, new_header};
use super::params::params;
use crate::error::{Error, Result, fail};
use crate::options::Options;
use crate::parallel::ordered::{self, ConsumerThread};
use crate::superchunk::staging::{self, StagingTarget};
use std::io::Write;

/// The name of the output for error messages.
const NAME: &str = "(stream)";

/// A Bloscpack file that is written from front to back.
pub struct StreamWriter<W> {
    out: W,
    head: Head,
    encoder: ChunkEncoder,
    chunk_size: usize,
    /// Number of bytes of content, if it is known.
    length: Option<u64>,
    /// Number of bytes of content in chunks that were written.
    written: u64,
    /// Content that is not encoded yet.
    pending: Vec<u8>,
    has_begun: bool,
    /// True if a call failed: a part of a chunk may have been written.
    is_broken: bool,
}

impl<W: Write + Send> StagingTarget for StreamWriter<W> {
    fn staged(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }
    fn encoded(&self) -> u64 {
        self.written
    }
    fn encode(&mut self, content: &[u8]) -> Result<()> {
        self.write_chunks(content.chunks(self.chunk_size).collect())
    }
}

impl<W: Write + Send> StreamWriter<W> {
    /// Creates a writer. It writes nothing before the first content.
    pub fn new(
        out: W,
        typesize: usize,
        length: Option<u64>,
        options: &Options,
    ) -> Result<StreamWriter<W>> {
        options.only(
            "writing a stream of chunks",
            &[OPEN_OPTIONS, WRITE_OPTIONS, CREATE_OPTIONS].concat(),
        )?;
        let header = Header {
            has_offsets: false,
            ..new_header(typesize, options)?
        };
        if header.dialect == Dialect::V1 && length.is_none() {
            return Err(fail!(
                Unsupported,
                "HOLDALL_OPT_FORMAT_VERSION: version 1 cannot show that a stream of unknown length is truncated (expected version 2 or 3, or the length)"
            ));
        }
        let params = params(options, typesize, None)?;
        Ok(StreamWriter {
            encoder: ChunkEncoder::new(params, header.checksum, options),
            head: Head::new(header, options),
            chunk_size: new_chunk_size(typesize, options)?,
            out,
            length,
            written: 0,
            pending: Vec::new(),
            has_begun: false,
            is_broken: false,
        })
    }

    /// Returns the number of bytes of content so far.
    pub fn nbytes(&self) -> u64 {
        self.written.saturating_add(self.pending.len() as u64)
    }

    /// Sets the metadata, which must be JSON. The metadata precedes the content.
    pub fn set_meta(&mut self, json: &[u8]) -> Result<()> {
        match self.has_begun {
            true => Err(fail!(
                State,
                "{NAME}: metadata precedes the content, which was written already"
            )),
            false => self.head.set_meta(Some(json), NAME),
        }
    }

    /// Appends content and writes the chunks that are complete.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        let end = self.nbytes().saturating_add(src.len() as u64);
        if let Some(length) = self.length.filter(|length| end > *length) {
            return Err(fail!(
                Range,
                "{NAME}: the content has {length} bytes, as the header says, and {end} come"
            ));
        }
        self.attempt(|writer| {
            let (chunk, threads) = (writer.chunk_size, writer.encoder.threads.count());
            writer.begin()?;
            staging::append(writer, src, chunk, threads)
        })
    }

    /// Writes the rest, and returns the output. Without this call, readers report a truncated file.
    pub fn finish(mut self) -> Result<W> {
        self.complete()?;
        Ok(self.out)
    }

    /// Writes the rest, after which the writer must not be used. If content is missing, nothing is
    /// written.
    pub fn complete(&mut self) -> Result<()> {
        let n = self.nbytes();
        if let Some(length) = self.length.filter(|length| n != *length) {
            return Err(fail!(
                State,
                "{NAME}: the content has {length} bytes, as the header says, and {n} came"
            ));
        }
        self.attempt(|writer| {
            writer.begin()?;
            staging::encode_first(writer, writer.pending.len())?;
            if writer.length.is_none_or(|length| length == 0) {
                writer.write_chunks(vec![&[]])?;
            }
            writer.out.flush().map_err(failed)
        })
    }

    /// Calls `f`, after whose failure nothing more is written.
    fn attempt(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.is_broken {
            return Err(fail!(
                State,
                "{NAME}: an earlier call failed, and the output is incomplete"
            ));
        }
        let done = f(self);
        self.is_broken = done.is_err();
        done
    }

    /// Writes header and metadata before the first chunk.
    fn begin(&mut self) -> Result<()> {
        if !self.has_begun {
            let bytes = self.head.encode_without_offsets(self.header())?;
            self.has_begun = true;
            self.out.write_all(&bytes).map_err(failed)?;
        }
        Ok(())
    }

    fn header(&self) -> Header {
        let mut header = self.head.header.clone();
        let Some(length) = self.length else {
            header.nchunks = None;
            header.last_chunk = Some(0);
            return header;
        };
        let chunk = self.chunk_size as u64;
        let chunks = length.div_ceil(chunk).max(1);
        let last = (length - (chunks - 1) * chunk) as u32;
        header.nchunks = Some(chunks);
        if header.dialect != Dialect::V1 {
            header.chunk_size = Some(self.chunk_size as u32);
            header.last_chunk = Some(last);
        }
        header
    }

    fn write_chunks(&mut self, pieces: Vec<&[u8]>) -> Result<()> {
        let (encoder, out, written) = (&self.encoder, &mut self.out, &mut self.written);
        let threads = encoder.threads.count();
        let each = if pieces.len() > 1 { 1 } else { threads };
        ordered::in_order(
            threads,
            ordered::max_early_large(threads),
            ConsumerThread::Caller,
            pieces,
            |piece| Ok((encoder.sealed(piece, each)?.bytes, piece.len())),
            |(bytes, n)| {
                out.write_all(&bytes).map_err(failed)?;
                encoder.reuse(bytes);
                *written += n as u64;
                Ok(())
            },
        )
    }
}

/// The error of the output, which may be one of this library.
fn failed(error: std::io::Error) -> Error {
    error
        .downcast()
        .unwrap_or_else(|error| Error::os(NAME, &error))
}
