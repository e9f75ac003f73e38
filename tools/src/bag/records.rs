//! Records on their way from what reads them to what writes them.

use crate::cli::values::DataFormat;
use crate::failure::Result;

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

/// A plain file of records.
///
/// TFRecord: length (8 bytes, little-endian), its masked CRC-32C, the record, its masked CRC-32C,
/// see <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFormat {
    /// Each ends in a newline, which the last one may lack.
    Lines,
    /// Each after its length, little-endian.
    Lengths32,
    Lengths64,
    TfRecord,
}

impl RecordFormat {
    pub fn of(format: DataFormat) -> Option<RecordFormat> {
        Some(match format {
            DataFormat::Lines => RecordFormat::Lines,
            DataFormat::Lengths32 => RecordFormat::Lengths32,
            DataFormat::Lengths64 => RecordFormat::Lengths64,
            DataFormat::TfRecord => RecordFormat::TfRecord,
            _ => return None,
        })
    }
}

/// Returns the masked CRC-32C of TFRecord.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}
