//! A plain file becomes records.
//!
//! The file is read in large pieces. The records of a piece are moved together over the bytes
//! between them, and passed on many at once; an incomplete one stays for the next piece. The buffer
//! grows with the bytes that exist, not with a length that the file claims.

use super::records::{Batch, RecordFormat, Sink, masked_crc32c};
use crate::failure::{Failure, Result};
use crate::files::Input;
use crate::report;

/// Bytes that are read before records are passed on, and records that are passed on at once.
const PIECE: usize = 4 << 20;
const RECORDS_MOST: usize = 32768;

pub struct Parser<'a> {
    pub format: RecordFormat,
    pub input: &'a mut Input,
    /// Bytes that a record may have.
    pub most: u64,
    /// TFRecord: records with a wrong checksum are reported and left out.
    pub skip_damaged: bool,
    /// Records so far.
    pub count: u64,
    pub damaged: u64,
    /// `have` bytes are to be parsed, the first one at `position` in the file.
    data: Vec<u8>,
    have: usize,
    position: u64,
    ended: bool,
}

/// A record in the buffer: bytes before it, of it, and after it.
#[derive(Default)]
struct Part {
    before: usize,
    n: usize,
    after: usize,
}

/// What the bytes at an offset of the buffer are.
enum Seen {
    Record(Part),
    /// The beginning of a record, or nothing.
    Begun,
    /// A record with a wrong checksum.
    Damaged(Part),
}

impl<'a> Parser<'a> {
    pub fn new(format: RecordFormat, input: &'a mut Input, most: u64) -> Parser<'a> {
        Parser {
            format,
            input,
            most,
            skip_damaged: false,
            count: 0,
            damaged: 0,
            data: Vec::new(),
            have: 0,
            position: 0,
            ended: false,
        }
    }

    /// Passes on all records. An error names the number of the record and the offset of its first
    /// byte.
    pub fn each(&mut self, sink: &mut dyn Sink) -> Result {
        let mut offsets = Vec::with_capacity(RECORDS_MOST + 1);
        while !self.ended {
            self.fill()?;
            self.take_records(&mut offsets, sink)?;
            self.input.progress(self.count);
        }
        Ok(())
    }

    fn message(&self, from: usize, why: &str) -> String {
        let (record, at) = (self.count + self.damaged, self.position + from as u64);
        format!("{}: record {record} at byte {at}: {why}", self.input.name)
    }

    fn failure(&self, from: usize, why: &str) -> Failure {
        Failure::Message(self.message(from, why))
    }

    /// Reads until the buffer is full or the input ends.
    fn fill(&mut self) -> Result {
        if self.have == self.data.len() {
            // at first, and if one record fills it
            let room = (2 * self.have).max(PIECE);
            if self.have as u64 >= self.most {
                return Err(self.failure(0, "it is larger than --memory-limit"));
            }
            if self.data.try_reserve_exact(room - self.have).is_err() {
                return Err(self.failure(0, "out of memory for it"));
            }
            self.data.resize(room, 0);
        }
        self.have += self.input.fill(&mut self.data[self.have..])?;
        self.ended = self.have < self.data.len();
        Ok(())
    }

    /// Passes on the complete records of the buffer.
    fn take_records(&mut self, offsets: &mut Vec<u64>, sink: &mut dyn Sink) -> Result {
        let (mut from, mut to) = (0, 0);
        offsets.clear();
        offsets.push(0);
        loop {
            let part = match self.see(from)? {
                Seen::Begun => break,
                Seen::Record(part) => {
                    let begin = from + part.before;
                    self.data.copy_within(begin..begin + part.n, to);
                    to += part.n;
                    offsets.push(to as u64);
                    self.count += 1;
                    part
                }
                Seen::Damaged(part) => {
                    self.leave_out(from)?;
                    part
                }
            };
            from += part.before + part.n + part.after;
            if offsets.len() > RECORDS_MOST {
                self.pass_on(offsets, sink)?;
                to = 0;
            }
        }
        self.pass_on(offsets, sink)?;
        self.data.copy_within(from..self.have, 0);
        self.have -= from;
        self.position += from as u64;
        Ok(())
    }

    fn pass_on(&self, offsets: &mut Vec<u64>, sink: &mut dyn Sink) -> Result {
        if offsets.len() > 1 {
            sink.take(Batch { data: &self.data, offsets })?;
        }
        offsets.truncate(1);
        Ok(())
    }

    /// Reports a record with a wrong checksum. Fails unless it is to be left out.
    fn leave_out(&mut self, from: usize) -> Result {
        const WHY: &str = "its CRC-32C does not match";
        if !self.skip_damaged {
            return Err(self.failure(from, WHY));
        }
        report::error(&self.message(from, &format!("{WHY} (skipped)")));
        self.damaged += 1;
        Ok(())
    }

    fn see(&self, from: usize) -> Result<Seen> {
        let left = &self.data[from..self.have];
        if self.format != RecordFormat::Lines {
            return self.see_framed(from, left);
        }
        let newline = memchr::memchr(b'\n', left);
        Ok(match newline {
            None if left.is_empty() || !self.ended => Seen::Begun,
            found => Seen::Record(Part {
                before: 0,
                n: found.unwrap_or(left.len()),
                after: usize::from(found.is_some()),
            }),
        })
    }

    /// A record after its length.
    fn see_framed(&self, from: usize, left: &[u8]) -> Result<Seen> {
        let width = if self.format == RecordFormat::Lengths32 { 4 } else { 8 };
        let crc = if self.format == RecordFormat::TfRecord { 4 } else { 0 };
        let before = width + crc;
        if left.len() < before {
            return match self.ended && !left.is_empty() {
                true => Err(self.failure(from, "the file ends amid its length")),
                false => Ok(Seen::Begun),
            };
        }
        let (length, rest) = left.split_at(width);
        if crc > 0 && !is_crc_of(length, rest) {
            let deflated = self.position == 0 && from == 0 && is_deflated(left);
            return Err(self.failure(
                from,
                if deflated {
                    "the file is compressed with gzip or zlib: give it unpacked (gunzip -c FILE | holdall convert - OUT \
                     --from tfrecord)"
                } else {
                    "the CRC-32C of its length does not match"
                },
            ));
        }
        let n = length.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        self.check_length(from, (left.len() - before) as u64, n)?;
        let Some(record) = left.get(before..).filter(|rest| rest.len() as u64 >= n + crc as u64)
        else {
            return match self.ended {
                true => Err(self.failure(from, "the file ends amid its CRC-32C")),
                false => Ok(Seen::Begun),
            };
        };
        let (record, rest) = record.split_at(n as usize);
        let part = Part { before, n: record.len(), after: crc };
        Ok(if crc == 0 || is_crc_of(record, rest) {
            Seen::Record(part)
        } else {
            Seen::Damaged(part)
        })
    }

    /// Checks that the file has the `n` bytes that a record claims, of which `here` or fewer are in
    /// the buffer, without reading them.
    fn check_length(&self, from: usize, here: u64, n: u64) -> Result {
        let follow = match self.input.total {
            _ if self.ended => Some(here),
            Some(total) if total >= self.input.done => Some(here + total - self.input.done),
            _ => None,
        };
        match follow {
            Some(follow) if n > follow => Err(self.failure(
                from,
                &format!(
                    "its length says {n} bytes, and {follow} follow: the file is cut off, or of another kind"
                ),
            )),
            _ if n > self.most => Err(self.failure(
                from,
                &format!("its length says {n} bytes, more than --memory-limit, {}", self.most),
            )),
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
    Parser::new(RecordFormat::Lines, input, u64::MAX).each(sink)
}
