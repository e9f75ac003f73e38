//! Copies records of one bag to another.

use super::Access;
use super::reader::Reader;
use super::writer::Writer;
use crate::cli::groups::{BagCodec, BagRead, Reading};
use crate::cli::values::CodecChoice;
use crate::failure::Result;
use crate::file_name::FileName;
use holdall::Codec;

/// A bag whose records are copied. Its name says whether they are decompressed: the options are
/// about the copy.
pub struct Source<'a> {
    input: &'a FileName,
    is_decompressed: bool,
    /// Records that are zstd frames may be copied as they are.
    pub takes_frames: bool,
}

impl<'a> Source<'a> {
    /// `codec` is that of the copy, by default the one that the name `out` says.
    pub fn new(input: &'a FileName, out: &FileName, codec: Option<CodecChoice>) -> Source<'a> {
        let is_compressed = match codec.flatten() {
            None => out.ends_with(".bagz"),
            Some(codec) => codec == Codec::Zstd,
        };
        let is_decompressed = input.ends_with(".bagz");
        Source {
            input,
            is_decompressed,
            takes_frames: is_decompressed || (input.ends_with(".bag") && !is_compressed),
        }
    }

    pub fn access(&self, reading: &Reading, read: &BagRead) -> Result<Access> {
        let codec = BagCodec {
            codec: (!self.is_decompressed).then_some(Some(Codec::None)),
            dictionary: None,
        };
        Access::new(reading, read, &codec)
    }

    pub fn copy(&self, reader: &mut Reader, writer: &mut Writer) -> Result {
        writer.refused_frames = (!self.takes_frames).then(|| self.input.clone());
        reader.each(writer)
    }
}
