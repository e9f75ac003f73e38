//! Records on their way from a source to a sink, and the formats of files of records.

use crate::failure::Result;
use crate::file_name::FileName;
use clap::ValueEnum;

/// Records and bytes that are passed on at once.
const RECORDS_MOST: usize = 32768;
const BYTES_TARGET: usize = 4 << 20;

/// Some records: record `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    pub data: &'a [u8],
    pub offsets: &'a [u64],
}

impl<'a> Batch<'a> {
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The bytes of all records, end to end.
    pub fn bytes(&self) -> &'a [u8] {
        match self.offsets {
            [first, .., last] => &self.data[*first as usize..*last as usize],
            _ => &[],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let data = self.data;
        self.offsets.windows(2).map(move |ends| &data[ends[0] as usize..ends[1] as usize])
    }
}

/// What takes records.
pub trait Sink {
    fn take(&mut self, batch: Batch) -> Result;

    /// Takes note of a damaged record, which is left out.
    fn skip(&mut self) -> Result {
        Ok(())
    }
}

/// Collects single records, and passes them on in batches.
pub struct Collector<'a> {
    sink: &'a mut dyn Sink,
    data: Vec<u8>,
    offsets: Vec<u64>,
}

impl<'a> Collector<'a> {
    pub fn new(sink: &'a mut dyn Sink) -> Collector<'a> {
        Collector { sink, data: Vec::new(), offsets: vec![0] }
    }

    pub fn push(&mut self, record: &[u8]) -> Result {
        if record.len() >= BYTES_TARGET {
            self.flush()?;
            return self.sink.take(Batch { data: record, offsets: &[0, record.len() as u64] });
        }
        self.data.extend_from_slice(record);
        self.offsets.push(self.data.len() as u64);
        match self.data.len() >= BYTES_TARGET || self.offsets.len() > RECORDS_MOST {
            true => self.flush(),
            false => Ok(()),
        }
    }

    pub fn flush(&mut self) -> Result {
        if self.offsets.len() > 1 {
            self.sink.take(Batch { data: &self.data, offsets: &self.offsets })?;
        }
        self.data.clear();
        self.offsets.truncate(1);
        Ok(())
    }
}

/// A container or a file of records.
///
/// TFRecord: length (8 bytes, little-endian), its masked CRC-32C, the record, its masked CRC-32C,
/// see <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFormat {
    Bag,
    /// Each ends in a newline, which the last one may lack.
    Lines,
    /// Each after its length, little-endian.
    Lengths32,
    Lengths64,
    TfRecord,
    Arrow,
    ArrowStream,
}

/// Formats by the value of `--from` and `--to`, with the endings of names.
const FORMATS: [(&str, RecordFormat, &[&str]); 8] = [
    ("bagz", RecordFormat::Bag, &[".bagz", ".bag"]),
    ("lines", RecordFormat::Lines, &[".txt", ".lines"]),
    ("jsonl", RecordFormat::Lines, &[".jsonl", ".ndjson"]),
    ("lengths32", RecordFormat::Lengths32, &[]),
    ("lengths64", RecordFormat::Lengths64, &[]),
    ("tfrecord", RecordFormat::TfRecord, &[".tfrecord", ".tfrecords"]),
    ("arrow", RecordFormat::Arrow, &[".arrow", ".feather"]),
    ("arrow-stream", RecordFormat::ArrowStream, &[".arrows"]),
];

impl RecordFormat {
    /// Returns the format that a value of an option says; None for formats without records.
    pub fn of(option: impl ValueEnum) -> Option<RecordFormat> {
        let value = option.to_possible_value()?;
        FORMATS.iter().find(|(name, _, _)| *name == value.get_name()).map(|(_, format, _)| *format)
    }

    pub fn of_name(path: &FileName) -> Option<RecordFormat> {
        let is_named = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        FORMATS.iter().find(|(_, _, ends)| is_named(ends)).map(|(_, format, _)| *format)
    }
}

/// The endings of names of bags and files of records.
pub fn endings() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().flat_map(|(_, _, ends)| ends.iter().copied())
}

/// Returns the masked CRC-32C of TFRecord.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}
