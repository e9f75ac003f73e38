//! The record of a commit of parts. It makes the commit one that may be repeated: after a crash, a
//! program that has the tokens commits them again, and records or rows are not appended twice.
//!
//! The record is written before the commit of the container, and states its length before and after
//! it. After the commit the record says that it is done; then the parts are removed, and the record
//! last.
//!
//! Layout, little-endian: `hpc` and the version 1; the state, 3 zeros; the length before and after;
//! the identities of the parts, 16 bytes each; CRC-32 of everything before it.
#![forbid(unsafe_code)]

use super::files::PartId;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::io::File;

const MAGIC: &[u8; 4] = b"hpc\x01";
const HEAD: usize = 24;
/// Maximum number of parts of a commit.
pub const MAX_PARTS: usize = 1 << 20;

/// How far a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The length of the container shows whether it was committed.
    Begun = 1,
    /// The container was committed.
    Done = 2,
}

/// The record of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How far the commit is.
    pub state: State,
    /// Number of records or rows before the commit.
    pub before: u64,
    /// Number of records or rows after it.
    pub after: u64,
    /// The parts in the order in which they are committed.
    pub parts: Vec<PartId>,
}

impl Record {
    /// Returns the size of a record in a file of `size` bytes, or an error if no record has it.
    pub fn checked_size(size: u64, file: &dyn File) -> Result<usize> {
        let most = HEAD + 4 + 16 * MAX_PARTS;
        match usize::try_from(size) {
            Ok(n) if n <= most => Ok(n),
            _ => Err(fail!(
                Format,
                "{}: it has {size} bytes (expected at most {most}); remove it",
                file.name()
            )),
        }
    }

    /// Returns the bytes of the record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [MAGIC.as_slice(), &[self.state as u8, 0, 0, 0]].concat();
        bytes.extend_from_slice(&self.before.to_le_bytes());
        bytes.extend_from_slice(&self.after.to_le_bytes());
        self.parts
            .iter()
            .for_each(|id| bytes.extend_from_slice(&id.0));
        let crc = crc32(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Parses the bytes of a record.
    pub fn parse(bytes: &[u8]) -> Result<Record> {
        let wrong = |why: &str| fail!(Format, "it is not the record of a commit: {why}");
        let (body, crc) = bytes
            .split_last_chunk::<4>()
            .ok_or_else(|| wrong("it is too short"))?;
        if crc32(body) != u32::from_le_bytes(*crc) {
            return Err(wrong("its checksum is wrong"));
        }
        let (head, parts) = body
            .split_first_chunk::<HEAD>()
            .ok_or_else(|| wrong("it is too short"))?;
        let (magic, head) = head.split_first_chunk::<4>().unwrap_or((b"    ", &[]));
        let ([state, zeros @ ..], head) = head.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let state = [State::Begun, State::Done]
            .into_iter()
            .find(|s| *s as u8 == *state);
        let (Some(state), true) = (state, magic == MAGIC && *zeros == [0; 3]) else {
            return Err(wrong("it does not begin with `hpc`, version 1 and a state"));
        };
        let (lengths, _) = head.as_chunks::<8>();
        let (parts, []) = parts.as_chunks::<16>() else {
            return Err(wrong("its length is wrong"));
        };
        let [before, after] = [0, 1].map(|i| {
            let bytes = lengths.get(i).copied().unwrap_or_default();
            u64::from_le_bytes(bytes)
        });
        Ok(Record {
            state,
            before,
            after,
            parts: parts.iter().map(|id| PartId(*id)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        for (state, n) in [(State::Begun, 0), (State::Done, 1), (State::Begun, 3)] {
            let record = Record {
                state,
                before: 5,
                after: 1 << 50,
                parts: (0..n).map(|i| PartId([i; 16])).collect(),
            };
            let bytes = record.to_bytes();
            assert_eq!(Record::parse(&bytes).unwrap(), record);
            for (i, bit) in (0..bytes.len()).flat_map(|i| (0..8).map(move |bit| (i, bit))) {
                let mut changed = bytes.clone();
                changed[i] ^= 1 << bit;
                assert!(Record::parse(&changed).is_err(), "byte {i}, bit {bit}");
            }
            for n in 0..bytes.len() {
                assert!(Record::parse(&bytes[..n]).is_err(), "{n} bytes");
            }
        }
    }
}
