//! Copies records of one bag to another.

use super::Access;
use super::reader::Reader;
use super::records::{Batch, Sink};
use super::writer::Writer;
use crate::cli::groups::{BagCodec, BagRead, Reading};
use crate::cli::values::CodecChoice;
use crate::failure::{Failure, Result};
use crate::{failure, progress, signals};
use holdall::Codec;

/// A bag whose records are copied. Its name says whether they are decompressed: the options are
/// about the copy.
pub struct Source<'a> {
    input: &'a str,
    is_decompressed: bool,
    /// Records that are zstd frames may be copied as they are.
    pub takes_frames: bool,
}

impl<'a> Source<'a> {
    /// `codec` is that of the copy, by default the one that the name `out` says.
    pub fn new(input: &'a str, out: &str, codec: Option<CodecChoice>) -> Source<'a> {
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
        let (input, is_checked) = (self.input, self.takes_frames);
        each(reader, &mut OnceCompressed { writer, input, is_checked })
    }
}

/// Refuses zstd frames that would be compressed again, by the first record that is not empty.
struct OnceCompressed<'a, 'w, 'p> {
    writer: &'w mut Writer<'p>,
    input: &'a str,
    is_checked: bool,
}

impl Sink for OnceCompressed<'_, '_, '_> {
    fn take(&mut self, batch: Batch) -> Result {
        if !self.is_checked
            && let Some(record) = batch.iter().find(|record| !record.is_empty())
        {
            if record.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                return Err(failure!(
                    "{}: its records are zstd frames, and its name does not end in .bagz: a link to it with such a \
                     name is read decompressed; --from bagz takes the frames as the records",
                    self.input
                ));
            }
            self.is_checked = true;
        }
        self.writer.take(batch)
    }
}

/// Reports progress, and stops at a signal.
pub fn each(reader: &mut Reader, sink: &mut dyn Sink) -> Result {
    struct Watched<'a> {
        sink: &'a mut dyn Sink,
        done: u64,
        count: u64,
    }
    impl Sink for Watched<'_> {
        fn take(&mut self, batch: Batch) -> Result {
            self.done += batch.len() as u64;
            progress::report(self.done, self.count);
            self.sink.take(batch)?;
            match signals::stopped() {
                true => Err(Failure::Stopped),
                false => Ok(()),
            }
        }

        fn skip(&mut self) -> Result {
            self.done += 1;
            self.sink.skip()
        }
    }
    let count = reader.count;
    reader.each(&mut Watched { sink, done: 0, count })
}
