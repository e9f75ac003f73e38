//! Reads Arrow's IPC format, a file or a stream: a column of text or bytes becomes records.
//!
//! A file is a magic string, a stream, and a footer with a magic string. The footer says where the
//! batches are; from a pipe a file is read as a stream. The crate `arrow-ipc` verifies the metadata. Its readers are not used: they hold
//! whole batches, know no memory limit, and panic if a buffer is outside of its message, or its
//! length is odd. Here only the buffers of the column are read, and each value is located in them.
//! <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>

use super::arrow_column::{Column, find_column};
use super::records::{Collector, Sink};
use crate::failure;
use crate::failure::{Failure, Result};
use crate::file_name::FileName;
use crate::files::Input;
use arrow_ipc::{Message, MessageHeader, root_as_footer, root_as_message};
use std::fmt::Display;
use std::io::{self, Read};

/// Bytes that the metadata of a message may have.
const METADATA_MOST: u64 = 256 << 20;
/// The magic string of a file: at its start, padded to 8 bytes, and at its end.
const MAGIC: &[u8] = b"ARROW1";

/// The footer of a file is before its length and the magic string.
const TAIL: u64 = 4 + MAGIC.len() as u64;

pub struct ArrowReader<'a> {
    input: &'a mut Input,
    /// Most bytes of a message.
    most: u64,
    /// Bytes that were read to detect the format.
    ahead: Vec<u8>,
    /// The offset of the message that is being read.
    begin: u64,
    batches: usize,
    records: Collector<'a>,
    count: u64,
}

impl<'a> ArrowReader<'a> {
    pub fn new(input: &'a mut Input, most: u64, sink: &'a mut dyn Sink) -> ArrowReader<'a> {
        let records = Collector::new(sink);
        ArrowReader { input, most, ahead: Vec::new(), begin: 0, batches: 0, records, count: 0 }
    }

    /// Passes on the values of a column; without `name`, of the only column of text or bytes.
    pub fn each(&mut self, name: Option<&str>) -> Result {
        let start = self.read(8)?;
        for (magic, what) in [(b"PAR1", "Parquet"), (b"FEA1", "the first version of Feather")] {
            if start.starts_with(magic) {
                let name = &self.input.name;
                return Err(failure!("{name}: it is {what}, not Arrow's IPC format"));
            }
        }
        let is_file = start.starts_with(MAGIC);
        if is_file && self.input.total.is_some() {
            return self.by_footer(name);
        }
        self.ahead = start;
        if is_file {
            // some writers pad the magic string to 64 bytes
            self.ahead = self.read(64)?;
            let padding = self.ahead.iter().skip(MAGIC.len()).take_while(|byte| **byte == 0);
            let begin = (MAGIC.len() + padding.count()).next_multiple_of(8);
            self.ahead.drain(..begin.min(self.ahead.len()));
        }
        self.messages(name)?;
        if is_file { self.footer() } else { Ok(()) }
    }

    fn failure(&self, why: impl Display) -> Failure {
        let (name, batch, begin) = (&self.input.name, self.batches, self.begin);
        failure!("{name}: batch {batch} at byte {begin}: {why}")
    }

    /// Returns the next `n` bytes, or fewer at the end.
    fn read(&mut self, n: u64) -> Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.ahead);
        self.ahead = bytes.split_off(bytes.len().min(n as usize));
        let rest = n - bytes.len() as u64;
        if n > self.most {
            return Err(self.failure("it takes more memory than --memory-limit"));
        }
        // a length is trusted if the file has so many bytes
        let exists = self.input.total.map_or(0, |total| total.saturating_sub(self.input.done));
        if rest <= exists && bytes.try_reserve_exact(rest as usize).is_err() {
            return Err(self.failure("out of memory for it"));
        }
        let read = (&mut *self.input).take(rest).read_to_end(&mut bytes);
        read.map_err(|error| self.input.failure(error))?;
        Ok(bytes)
    }

    fn read_all(&mut self, n: u64) -> Result<Vec<u8>> {
        let bytes = self.read(n)?;
        match bytes.len() as u64 == n {
            true => Ok(bytes),
            false => Err(self.failure("the file is cut off in it")),
        }
    }

    fn skip(&mut self, n: u64) -> Result {
        let ahead = self.ahead.drain(..self.ahead.len().min(n as usize)).count() as u64;
        let skipped = io::copy(&mut (&mut *self.input).take(n - ahead), &mut io::sink());
        match skipped.map_err(|error| self.input.failure(error))? == n - ahead {
            true => Ok(()),
            false => Err(self.failure("the file is cut off in it")),
        }
    }

    /// Returns the metadata of the next message; None at the end mark, and at the end of the input.
    fn message(&mut self) -> Result<Option<Vec<u8>>> {
        self.begin = self.input.done - self.ahead.len() as u64;
        let mut word = self.read(4)?;
        // the oldest writers have no such marker
        if word == [0xff; 4] {
            word = self.read_all(4)?;
        }
        let n = match word.as_slice() {
            [] | [0, 0, 0, 0] => return Ok(None),
            [a, b, c, d] => u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
            _ => return Err(self.failure("the file is cut off in it")),
        };
        if n > METADATA_MOST {
            return Err(self.failure(
                "it does not begin as a message: the file is damaged, or of another kind",
            ));
        }
        self.read_all(n).map(Some)
    }

    fn messages(&mut self, name: Option<&str>) -> Result {
        let mut column = None;
        while let Some(metadata) = self.message()? {
            let wrong = self.failure(match column {
                Some(_) => "a message that is no batch",
                None => "there is no schema in front: the file is damaged, or of another kind",
            });
            let Ok(message) = root_as_message(&metadata) else {
                return Err(wrong);
            };
            let body = u64::try_from(message.bodyLength()).unwrap_or(u64::MAX);
            match (message.header_type(), &column) {
                (MessageHeader::Schema, None) => {
                    column = Some(find_column(message.header_as_schema(), name, &self.input.name)?);
                    self.skip(body)?;
                }
                (MessageHeader::DictionaryBatch, Some(_)) => self.skip(body)?,
                (MessageHeader::RecordBatch, Some(column)) => self.batch(&message, body, column)?,
                _ => return Err(wrong),
            }
            self.input.progress(self.count);
        }
        match column {
            Some(_) => self.records.flush(),
            None => Err(self.failure("there is no schema")),
        }
    }

    /// Reads the batches that the footer lists, each once. Polars writes no complete schema in front.
    fn by_footer(&mut self, name: Option<&str>) -> Result {
        let file = self.input.name.clone();
        let broken = || broken_footer(&file);
        let end = self.input.total.unwrap_or(0).saturating_sub(TAIL);
        self.go_to(end)?;
        let tail = self.read(TAIL)?;
        let (_, length) = split_footer(&tail, &file)?;
        self.go_to(end.checked_sub(length).ok_or_else(broken)?)?;
        let bytes = self.read_all(length)?;
        let footer = root_as_footer(&bytes).map_err(|_| broken())?;
        let column = find_column(footer.schema(), name, &file)?;
        let mut next = MAGIC.len() as u64;
        for block in footer.recordBatches().into_iter().flatten() {
            let position = u64::try_from(block.offset()).ok().filter(|at| *at >= next);
            self.go_to(position.ok_or_else(broken)?)?;
            let metadata = self.message()?.unwrap_or_default();
            let message = root_as_message(&metadata).ok();
            let message = message.filter(|of| of.header_type() == MessageHeader::RecordBatch);
            let Some(message) = message else {
                return Err(self.failure("no batch is where the footer says"));
            };
            let body = u64::try_from(message.bodyLength()).map_err(|_| broken())?;
            self.batch(&message, body, &column)?;
            next = self.input.done;
            self.input.progress(self.count);
        }
        self.records.flush()
    }

    fn go_to(&mut self, position: u64) -> Result {
        self.ahead.clear();
        let moved = self.input.seek(position);
        moved.map_err(|error| self.input.failure(error))
    }

    /// Checks that a file from a pipe is complete: its footer lists the batches.
    fn footer(&mut self) -> Result {
        let name = self.input.name.clone();
        let rest = self.read(METADATA_MOST.min(self.most))?;
        let (rest, length) = split_footer(&rest, &name)?;
        let begin = rest.len().checked_sub(length as usize);
        let footer = begin.and_then(|begin| root_as_footer(&rest[begin..]).ok());
        let batches = footer.map(|footer| footer.recordBatches().map_or(0, |all| all.len()));
        match batches {
            None => Err(broken_footer(&name)),
            Some(n) if n == self.batches => Ok(()),
            Some(n) => Err(failure!("{name}: its footer lists {n} batches, not {}", self.batches)),
        }
    }

    /// Passes on the values of the column in a batch.
    fn batch(&mut self, message: &Message, body: u64, column: &Column) -> Result {
        const BROKEN: &str = "its metadata or buffers are broken";
        let batch = column.locate(message, body).ok_or_else(|| self.failure(BROKEN))?;
        self.skip(batch.extent.start)?;
        let bytes = self.read_all(batch.extent.end - batch.extent.start)?;
        self.skip(body - batch.extent.end)?;
        let buffers = batch.buffers(&bytes, self.most).ok_or_else(|| self.failure(BROKEN))?;
        for i in 0..batch.rows {
            let why = match column.value(&buffers, i) {
                Some(Some(value)) => {
                    self.records.push(value)?;
                    self.count += 1;
                    continue;
                }
                Some(None) => "it is null, and a bag has no nulls",
                None => "its offsets are broken",
            };
            let (name, batch, begin) = (&self.input.name, self.batches, self.begin);
            return Err(failure!(
                "{name}: record {}, in batch {batch} at byte {begin}: {why}",
                self.count
            ));
        }
        self.batches += 1;
        Ok(())
    }
}

fn broken_footer(file: &FileName) -> Failure {
    failure!("{file}: its footer is broken")
}

/// Splits the end of a file into what is before the length of the footer, and that length.
fn split_footer<'a>(end: &'a [u8], file: &FileName) -> Result<(&'a [u8], u64)> {
    let split = end.strip_suffix(MAGIC).and_then(<[u8]>::split_last_chunk);
    let split = split.map(|(rest, length)| (rest, u64::from(u32::from_le_bytes(*length))));
    split.ok_or_else(|| failure!("{file}: the mark at its end is not there: the file is cut off"))
}
