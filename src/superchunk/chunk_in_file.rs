//! The bytes of a chunk in a file, as the source that [`blosc::stored`](crate::blosc::stored) reads.
#![forbid(unsafe_code)]

use crate::alloc::Bytes;
use crate::blosc::stored::StoredBytes;
use crate::error::Result;
use crate::io::{File, read_buffer};
use crate::superchunk::block_checksums::BlockChecksums;
use std::ops::Range;

/// A chunk in a file.
pub struct ChunkInFile<'a> {
    /// The file.
    pub file: &'a dyn File,
    /// Its offset in the file.
    pub at: u64,
    /// Its first bytes, if they were read before.
    pub first: &'a [u8],
    /// The memory limit of a read.
    pub limit: u64,
    /// The checksums of its blocks, if they are verified when they are read.
    pub checksums: Option<&'a BlockChecksums>,
}

impl ChunkInFile<'_> {
    /// Returns a range of the bytes, if it was read before.
    pub fn known(&self, at: usize, n: usize) -> Option<&[u8]> {
        self.first.get(at..)?.get(..n)
    }

    /// Returns the offset in the file for offset `at` of the chunk.
    pub fn position(&self, at: usize) -> u64 {
        self.at.saturating_add(at as u64)
    }
}

impl ChunkInFile<'_> {
    /// Returns a range of the bytes, which are not verified.
    fn unverified(&self, range: Range<usize>) -> Result<Bytes<'_>> {
        match self.known(range.start, range.len()) {
            Some(bytes) => Ok(Bytes::InPlace(bytes)),
            None => {
                let at = self.position(range.start);
                read_buffer::read(self.file, at, range.len(), self.limit)
            }
        }
    }

    /// Verifies the blocks that a range touches. Returns the range, if it is all that was read.
    fn verify(&self, range: &Range<usize>) -> Result<Option<Bytes<'_>>> {
        let Some(checksums) = self.checksums else {
            return Ok(None);
        };
        let Some(blocks) = checksums.unverified(range) else {
            return Ok(None);
        };
        let all = checksums.range(&blocks);
        let bytes = self.unverified(all.clone())?;
        checksums.verify(blocks, &bytes)?;
        Ok((all == *range).then_some(bytes))
    }
}

impl StoredBytes for ChunkInFile<'_> {
    fn read_at(&self, at: usize, dst: &mut [u8]) -> Result<()> {
        if let Some(bytes) = self.verify(&(at..at.saturating_add(dst.len())))? {
            dst.copy_from_slice(&bytes);
            return Ok(());
        }
        match self.known(at, dst.len()) {
            Some(bytes) => {
                dst.copy_from_slice(bytes);
                Ok(())
            }
            None => self.file.read_exact_at(self.position(at), dst),
        }
    }

    fn bytes(&self, range: Range<usize>) -> Result<Bytes<'_>> {
        match self.verify(&range)? {
            Some(bytes) => Ok(bytes),
            None => self.unverified(range),
        }
    }
}
