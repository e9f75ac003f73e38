//! Buffers appended records and encodes them in parallel. Records that are appended one by one are
//! collected until there is work for all threads.
#![forbid(unsafe_code)]

use super::codec::{Encoder, Encoding};
use crate::alloc;
use crate::error::Result;
use crate::offsets::span;
use crate::parallel::ordered::{self, ConsumerThread};
use crate::progress::{Step, advance};
use crate::slice::SliceExt;
use std::sync::{Mutex, PoisonError};

/// Size of a piece, which is one task. Pieces are small so that all threads finish at about the
/// same time.
const PIECE_RECORDS: usize = 256;
const PIECE_BYTES: u64 = 64 << 10;
/// Pieces that are collected per thread.
const PIECES_PER_THREAD: usize = 8;

/// Maximum capacity of a pooled buffer of a piece.
const MAX_POOLED_BUFFER: usize = 1 << 20;

/// Concatenated records: record `i` is `data[offsets[i]..offsets[i + 1]]`.
pub struct UnencodedRecords {
    /// The bytes of all records.
    pub data: Vec<u8>,
    /// The bounds of the records.
    pub offsets: Vec<u64>,
}

impl UnencodedRecords {
    /// Creates an empty collection.
    pub fn new() -> UnencodedRecords {
        UnencodedRecords {
            data: Vec::new(),
            offsets: vec![0],
        }
    }

    /// Returns the number of records.
    pub fn count(&self) -> u64 {
        self.offsets.len().saturating_sub(1) as u64
    }

    /// Returns whether this many further records would exceed the amount that is enough for all
    /// threads.
    pub fn fills(&self, records: usize, bytes: usize, threads: usize) -> bool {
        let pieces = PIECES_PER_THREAD * threads.clamp(1, 16);
        self.offsets.len() + records > pieces * PIECE_RECORDS
            || self.data.len() + bytes > pieces * PIECE_BYTES as usize
    }

    /// Appends a record.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        alloc::reserve(&mut self.offsets, 1)?;
        alloc::reserve(&mut self.data, record.len())?;
        self.data.extend_from_slice(record);
        self.offsets.push(self.data.len() as u64);
        Ok(())
    }

    /// Removes all but the first `n` records.
    pub fn truncate(&mut self, n: u64) {
        self.offsets.truncate(n as usize + 1);
        let end = self.offsets.last().copied().unwrap_or(0);
        self.data.truncate(end as usize);
    }

    /// Removes the first `n` records.
    pub fn remove_first(&mut self, n: u64) {
        let n = n.min(self.count());
        let from = self.offsets.get(n as usize).copied().unwrap_or(0);
        self.data.drain(..from as usize);
        self.offsets.drain(..n as usize);
        self.offsets.iter_mut().for_each(|o| *o -= from);
    }
}

/// Encoded records.
#[derive(Default)]
pub struct Encoded {
    /// The concatenated stored records.
    pub bytes: Vec<u8>,
    /// The length of each stored record.
    pub lengths: Vec<u64>,
}

/// Encodes records on several threads. Contexts and buffers are reused.
pub struct Encoders {
    encoding: Encoding,
    encoders: Mutex<Vec<Encoder>>,
    buffers: Mutex<Vec<Encoded>>,
}

impl Encoders {
    /// Creates the encoders. Returns an error if the codec refuses the parameters.
    pub fn new(encoding: &Encoding) -> Result<Encoders> {
        let first = encoding.encoder()?;
        Ok(Encoders {
            encoding: encoding.clone(),
            encoders: Mutex::new(vec![first]),
            buffers: Mutex::default(),
        })
    }

    /// Encodes records and passes them to `take` in order, piece by piece. Stops at the first
    /// error.
    pub fn each(
        &self,
        data: &[u8],
        offsets: &[u64],
        (threads, keeper): (usize, ConsumerThread),
        mut take: impl FnMut(&Encoded) -> Result<()> + Send,
    ) -> Result<()> {
        let bytes = offsets
            .last()
            .zip(offsets.first())
            .map_or(0, |(b, a)| b - a);
        let threads = if bytes >= 64 << 10 { threads } else { 1 };
        let pieces = pieces(offsets)?;
        // If all pieces are small, threads do not wait for a predecessor that takes longer.
        let early = if bytes <= PIECE_BYTES * pieces.len() as u64 {
            threads
        } else {
            ordered::max_early_large(threads)
        };
        ordered::in_order(
            threads,
            early,
            keeper,
            pieces,
            |o| self.piece(data, o),
            |encoded| {
                let taken = take(&encoded);
                if encoded.bytes.capacity() <= MAX_POOLED_BUFFER {
                    self.buffers
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(encoded);
                }
                taken
            },
        )
    }

    fn piece(&self, data: &[u8], offsets: &[u64]) -> Result<Encoded> {
        let mut e = self
            .buffers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default();
        e.bytes.clear();
        e.lengths.clear();
        alloc::reserve(&mut e.lengths, offsets.len())?;
        let pooled = self
            .encoders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut encoder = match pooled {
            Some(s) => s,
            None => self.encoding.encoder()?,
        };
        for w in offsets.windows(2) {
            let stored = encoder.encode(span(data, w))?;
            alloc::reserve(&mut e.bytes, stored.len())?;
            e.bytes.extend_from_slice(stored);
            e.lengths.push(stored.len() as u64);
        }
        self.encoders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(encoder);
        advance(Step::Encode, span(data, offsets).len())?;
        Ok(e)
    }
}

/// Splits offsets into pieces that overlap by one.
fn pieces(offsets: &[u64]) -> Result<Vec<&[u64]>> {
    let mut out = Vec::new();
    let mut rest = offsets;
    while let [first, after @ ..] = rest {
        if after.is_empty() {
            break;
        }
        let fits = after
            .iter()
            .take(PIECE_RECORDS)
            .take_while(|&&b| b - first <= PIECE_BYTES)
            .count()
            .max(1);
        out.push(rest.at(..=fits)?);
        rest = rest.at(fits..)?;
    }
    Ok(out)
}
