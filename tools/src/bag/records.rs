//! Records on their way from a source to a sink.

use crate::failure::Result;
use holdall::Bag;

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

    /// Takes consecutive records of a bag without reading them for it, up to the first that cannot be
    /// read. Returns their number; 0 if it takes only records that were read.
    fn copy(&mut self, _bag: &Bag) -> Result<u64> {
        Ok(0)
    }

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

/// Returns the masked CRC-32C of TFRecord, which stores the length of a record (8 bytes,
/// little-endian) with its masked CRC-32C, and the record with its own:
/// <https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details>
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}
