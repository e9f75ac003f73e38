//! A read buffer for chunk headers.
#![forbid(unsafe_code)]

use super::located_chunk::BLOSC_HEADER;
use crate::error::Result;
use crate::io::File;

/// A read buffer for chunk headers. Reads many headers at once if chunks are small and in order.
pub struct HeaderBuffer<'a> {
    file: &'a dyn File,
    bytes: Vec<u8>,
    at: u64,
    /// The last requested offset, and the number of consecutive requests close to the previous one.
    last: u64,
    streak: u64,
}

/// Maximum size of a small chunk. Reading small chunks completely costs no more than reading each
/// header.
const SMALL_CHUNK: u64 = 16 << 10;
/// Minimum and maximum read size for small chunks.
const PIECE: (u64, u64) = (512, 64 << 10);

impl<'a> HeaderBuffer<'a> {
    /// Returns an empty buffer.
    pub fn new(file: &'a dyn File) -> HeaderBuffer<'a> {
        HeaderBuffer {
            file,
            bytes: Vec::new(),
            at: 0,
            last: u64::MAX,
            streak: 0,
        }
    }

    /// Returns the 16 bytes at `at`; `None` if the file ends before.
    pub fn header(&mut self, at: u64) -> Result<Option<[u8; BLOSC_HEADER]>> {
        let step = at
            .checked_sub(self.last)
            .filter(|step| *step <= SMALL_CHUNK);
        self.streak = step.map_or(0, |_| self.streak + 1);
        self.last = at;
        if let Some(found) = self.buffered(at) {
            return Ok(Some(found));
        }
        // the read size is derived from the preceding chunks
        let (least, most) = PIECE;
        let piece = step.map_or(BLOSC_HEADER as u64, |step| {
            self.streak.saturating_mul(step).clamp(least, most)
        });
        self.bytes.resize(piece as usize, 0);
        let n = self.file.read_at(at, &mut self.bytes)?;
        self.bytes.truncate(n);
        self.at = at;
        Ok(self.buffered(at))
    }

    fn buffered(&self, at: u64) -> Option<[u8; BLOSC_HEADER]> {
        let from = usize::try_from(at.checked_sub(self.at)?).ok()?;
        self.bytes.get(from..)?.first_chunk().copied()
    }
}
