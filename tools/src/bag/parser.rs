//! A plain file becomes records.
//!
//! The file is read in large pieces. The buffer grows with the bytes that exist, not with a length
//! that the file claims.

use super::records::{Collector, Sink, masked_crc32c};
use crate::cli::values::DataFormat;
use crate::failure::{Failure, Result};
use crate::files::Input;
use crate::report;

/// Bytes that are read at once.
const PIECE: usize = 4 << 20;

pub struct Parser<'a> {
    format: DataFormat,
    input: &'a mut Input,
    /// Bytes that a record may have.
    most: u64,
    /// TFRecord: records with a wrong checksum are reported and left out.
    pub skip_damaged: bool,
    count: u64,
    pub damaged: u64,
    /// `data[from..have]` is to be parsed, `data[0]` is at `position` in the file.
    data: Vec<u8>,
    from: usize,
    have: usize,
    position: u64,
    ended: bool,
}

/// The next record in the buffer: bytes before it, of it, and after it.
struct Part {
    before: usize,
    n: usize,
    after: usize,
    is_intact: bool,
}

impl<'a> Parser<'a> {
    pub fn new(format: DataFormat, input: &'a mut Input, most: u64) -> Parser<'a> {
        Parser {
            format,
            input,
            most,
            skip_damaged: false,
            count: 0,
            damaged: 0,
            data: Vec::new(),
            from: 0,
            have: 0,
            position: 0,
            ended: false,
        }
    }

    /// Passes on all records. An error names the number of the record and the offset of its first
    /// byte.
    pub fn each(&mut self, sink: &mut dyn Sink) -> Result {
        let mut records = Collector::new(sink);
        while let Some(Part { before, n, after, is_intact }) = self.next()? {
            let begin = self.from + before;
            match is_intact {
                true => records.push(&self.data[begin..begin + n])?,
                false => self.leave_out()?,
            }
            self.count += 1;
            self.from = begin + n + after;
        }
        records.flush()
    }

    fn message(&self, why: &str) -> String {
        let (record, at) = (self.count, self.position + self.from as u64);
        format!("{}: record {record} at byte {at}: {why}", self.input.name)
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::Message(self.message(why))
    }

    fn left(&self) -> &[u8] {
        &self.data[self.from..self.have]
    }

    /// Reads more bytes, after those that are left.
    fn fill(&mut self) -> Result {
        self.data.copy_within(self.from..self.have, 0);
        self.position += self.from as u64;
        (self.have, self.from) = (self.have - self.from, 0);
        if self.have == self.data.len() {
            // at first, and if one record fills it
            let room = (2 * self.have).max(PIECE);
            if self.have as u64 >= self.most {
                return Err(self.failure("it is larger than --memory-limit"));
            }
            if self.data.try_reserve_exact(room - self.have).is_err() {
                return Err(self.failure("out of memory for it"));
            }
            self.data.resize(room, 0);
        }
        self.have += self.input.fill(&mut self.data[self.have..])?;
        self.ended = self.have < self.data.len();
        self.input.progress(self.count);
        Ok(())
    }

    /// Reads until `n` bytes are left to parse, or the input ends.
    fn need(&mut self, n: u64) -> Result {
        while !self.ended && (self.left().len() as u64) < n {
            self.fill()?;
        }
        Ok(())
    }

    /// Reports a record with a wrong checksum. Fails unless it is to be left out.
    fn leave_out(&mut self) -> Result {
        const WHY: &str = "its CRC-32C does not match";
        if !self.skip_damaged {
            return Err(self.failure(WHY));
        }
        report::error(&self.message(&format!("{WHY} (skipped)")));
        self.damaged += 1;
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Part>> {
        match self.format {
            DataFormat::Lengths32 => self.next_framed(4, 0),
            DataFormat::Lengths64 => self.next_framed(8, 0),
            DataFormat::TfRecord => self.next_framed(8, 4),
            _ => self.next_line(),
        }
    }

    fn next_line(&mut self) -> Result<Option<Part>> {
        let mut seen = 0;
        loop {
            let left = self.left();
            let line = |n, after| Part { before: 0, n, after, is_intact: true };
            if let Some(n) = memchr::memchr(b'\n', &left[seen..]) {
                return Ok(Some(line(seen + n, 1)));
            }
            if self.ended {
                return Ok((!left.is_empty()).then(|| line(left.len(), 0)));
            }
            seen = left.len();
            self.fill()?;
        }
    }

    /// Finds a record after its length of `width` bytes, each with a checksum of `crc` bytes.
    fn next_framed(&mut self, width: usize, crc: usize) -> Result<Option<Part>> {
        let before = width + crc;
        self.need(before as u64)?;
        let left = self.left();
        if left.is_empty() {
            return Ok(None);
        }
        if left.len() < before {
            return Err(self.failure("the file ends amid its length"));
        }
        let (length, rest) = left.split_at(width);
        if crc > 0 && !is_crc_of(length, rest) {
            let is_start = self.position == 0 && self.from == 0;
            return Err(self.failure(if is_start && is_deflated(left) {
                "the file is compressed with gzip or zlib: give it unpacked (gunzip -c FILE | \
                 holdall convert - OUT --from tfrecord)"
            } else {
                "the CRC-32C of its length does not match"
            }));
        }
        let n = length.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        self.check_length(before, n)?;
        self.need(n.saturating_add((before + crc) as u64))?;
        self.check_length(before, n)?;
        let (record, rest) = self.left()[before..].split_at(n as usize);
        if rest.len() < crc {
            return Err(self.failure("the file ends amid its CRC-32C"));
        }
        let is_intact = crc == 0 || is_crc_of(record, rest);
        Ok(Some(Part { before, n: record.len(), after: crc, is_intact }))
    }

    /// Checks that the file has the `n` bytes that a record claims, without reading them.
    fn check_length(&self, before: usize, n: u64) -> Result {
        let here = (self.left().len() - before) as u64;
        let follow = match self.input.total {
            _ if self.ended => Some(here),
            Some(total) if total >= self.input.done => Some(here + total - self.input.done),
            _ => None,
        };
        match follow {
            Some(follow) if n > follow => Err(self.failure(&format!(
                "its length says {n} bytes, and {follow} follow: the file is cut off, or of another kind"
            ))),
            _ if n > self.most => Err(self.failure(&format!(
                "its length says {n} bytes, more than --memory-limit, {}",
                self.most
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns whether `after` begins with the masked CRC-32C of some bytes.
fn is_crc_of(bytes: &[u8], after: &[u8]) -> bool {
    after.starts_with(&masked_crc32c(bytes).to_le_bytes())
}

/// A gzip or zlib member: TFRecord files may be compressed like that.
fn is_deflated(bytes: &[u8]) -> bool {
    match bytes {
        [0x1f, 0x8b, ..] => true,
        [0x78, second, ..] => (0x7800 + u32::from(*second)) % 31 == 0,
        _ => false,
    }
}

/// Passes on the lines of a file.
pub fn each_line(input: &mut Input, sink: &mut dyn Sink) -> Result {
    Parser::new(DataFormat::Lines, input, u64::MAX).each(sink)
}
