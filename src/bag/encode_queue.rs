//! Records that were appended and are not encoded yet, and how many of them are encoded together:
//! those that come one by one are gathered until there is work for all threads.
#![forbid(unsafe_code)]

use super::codec::{Encoder, Encoding};
use crate::alloc;
use crate::error::Result;
use crate::parallel::ordered::{self, Keeper};
use std::sync::{Mutex, PoisonError};

/// A piece of records that is worth a task: small, so that no thread has much left when the others
/// end.
const PIECE_RECORDS: usize = 256;
const PIECE_BYTES: u64 = 64 << 10;
/// Pieces for each thread that are gathered.
const GATHERED: usize = 8;

/// The longest buffer for a piece that is kept.
const KEPT: usize = 1 << 20;

/// Records in one run of bytes: record `i` is `data[offsets[i]..offsets[i + 1]]`.
pub struct Gathered {
    /// The bytes of all.
    pub data: Vec<u8>,
    /// Their bounds.
    pub offsets: Vec<u64>,
}

impl Gathered {
    /// No record.
    pub fn new() -> Gathered {
        Gathered {
            data: Vec::new(),
            offsets: vec![0],
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.offsets.len().saturating_sub(1) as u64
    }

    /// Is there, with these records more, enough for all threads?
    pub fn fills(&self, records: usize, bytes: usize, threads: usize) -> bool {
        let wanted = GATHERED * threads.clamp(1, 16);
        self.offsets.len() + records > wanted * PIECE_RECORDS
            || self.data.len() + bytes > wanted * PIECE_BYTES as usize
    }

    /// Takes in one more.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        alloc::reserve(&mut self.offsets, 1)?;
        alloc::reserve(&mut self.data, record.len())?;
        self.data.extend_from_slice(record);
        self.offsets.push(self.data.len() as u64);
        Ok(())
    }

    /// Lets go of the first `n`.
    pub fn drop_first(&mut self, n: u64) {
        let n = n.min(self.count());
        let from = self.offsets.get(n as usize).copied().unwrap_or(0);
        self.data.drain(..from as usize);
        self.offsets.drain(..n as usize);
        self.offsets.iter_mut().for_each(|o| *o -= from);
    }
}

/// Records as they are stored.
#[derive(Default)]
pub struct Encoded {
    /// One after the other.
    pub bytes: Vec<u8>,
    /// Their lengths.
    pub lengths: Vec<u64>,
}

/// Encodes records on several threads, with contexts and buffers that are kept.
pub struct Encoders {
    encoding: Encoding,
    spare: Mutex<Vec<Encoder>>,
    buffers: Mutex<Vec<Encoded>>,
}

impl Encoders {
    /// For this encoding; an error where the codec refuses it.
    pub fn new(encoding: &Encoding) -> Result<Encoders> {
        let first = encoding.encoder()?;
        Ok(Encoders {
            encoding: encoding.clone(),
            spare: Mutex::new(vec![first]),
            buffers: Mutex::default(),
        })
    }

    /// Encodes records and gives them to `take` in order, piece by piece; stops at the first
    /// failure.
    pub fn each(
        &self,
        data: &[u8],
        offsets: &[u64],
        (threads, keeper): (usize, Keeper),
        mut take: impl FnMut(&Encoded) -> Result<()> + Send,
    ) -> Result<()> {
        let bytes = offsets
            .last()
            .zip(offsets.first())
            .map_or(0, |(b, a)| b - a);
        let threads = if bytes >= 64 << 10 { threads } else { 1 };
        let pieces = pieces(offsets);
        // where they are small nobody waits for a neighbour whose records take longer
        let early = if bytes <= PIECE_BYTES * pieces.len() as u64 {
            threads
        } else {
            ordered::few(threads)
        };
        ordered::in_order(
            threads,
            early,
            keeper,
            pieces,
            |o| self.piece(data, o),
            |encoded| {
                let taken = take(&encoded);
                if encoded.bytes.capacity() <= KEPT {
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
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut encoder = match spare {
            Some(s) => s,
            None => self.encoding.encoder()?,
        };
        for w in offsets.windows(2) {
            let stored = encoder.encode(span(data, w))?;
            alloc::reserve(&mut e.bytes, stored.len())?;
            e.bytes.extend_from_slice(stored);
            e.lengths.push(stored.len() as u64);
        }
        self.spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(encoder);
        Ok(e)
    }
}

/// What lies between the first and the last of these offsets.
pub fn span<'a>(data: &'a [u8], offsets: &[u64]) -> &'a [u8] {
    let ends = offsets.first().zip(offsets.last());
    ends.and_then(|(&a, &b)| data.get(a as usize..b as usize))
        .unwrap_or_default()
}

/// Cuts offsets into pieces that overlap by one.
fn pieces(offsets: &[u64]) -> Vec<&[u64]> {
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
        let (piece, _) = rest.split_at_checked(fits + 1).unwrap_or((rest, &[]));
        out.push(piece);
        rest = rest.get(fits..).unwrap_or_default();
    }
    out
}
