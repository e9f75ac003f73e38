//! Compressed text files: `x.csv.gz`, `x.jsonl.zst`. Inputs are recognized by their first bytes
//! instead, see `feed`.

use crate::detect::strip_ending;
use crate::file_name::FileName;
use crate::files::OutputFile;
use flate2::write::GzEncoder;
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

/// Returns a name without the ending of a compression, and the compression.
pub fn split(path: &FileName) -> (FileName, Option<Compression>) {
    let endings =
        [(".gz", Compression::Gzip), (".zst", Compression::Zstd), (".zstd", Compression::Zstd)];
    let mut found = endings.iter().filter_map(|(ending, compression)| {
        let name = strip_ending(path, ending)?;
        let mut texts = [".csv", ".jsonl", ".ndjson"].iter();
        let is_text = texts.any(|text| strip_ending(&name, text).is_some());
        is_text.then_some((name, Some(*compression)))
    });
    found.next().unwrap_or_else(|| (path.clone(), None))
}

/// Writes compressed into a file.
pub enum Compressor<'a> {
    Gzip(GzEncoder<&'a mut OutputFile>),
    Zstd(zstd::Encoder<'static, &'a mut OutputFile>),
}

impl<'a> Compressor<'a> {
    pub fn new(file: &'a mut OutputFile, compression: Compression) -> io::Result<Compressor<'a>> {
        Ok(match compression {
            Compression::Gzip => {
                Compressor::Gzip(GzEncoder::new(file, flate2::Compression::default()))
            }
            Compression::Zstd => Compressor::Zstd(zstd::Encoder::new(file, 0)?),
        })
    }

    /// Writes the end. The file is to be completed then.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Compressor::Gzip(encoder) => encoder.finish().map(drop),
            Compressor::Zstd(encoder) => encoder.finish().map(drop),
        }
    }
}

impl Write for Compressor<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressor::Gzip(encoder) => encoder.write(bytes),
            Compressor::Zstd(encoder) => encoder.write(bytes),
        }
    }

    /// The buffers of the encoder stay until `finish`: a flush would end a block.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
