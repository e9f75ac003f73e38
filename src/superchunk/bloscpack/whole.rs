//! Files that are made at once, from all their content, as what is a file among many of a dataset.
#![forbid(unsafe_code)]

use super::edit::{seal, widen};
use super::header::{Dialect, Header};
use super::offsets;
use crate::blosc::{self, Params};
use crate::checksum::Sum;
use crate::error::{Error, Result};
use crate::{memory, parallel};
use std::sync::{Mutex, PoisonError};

/// How such a file is made: with offsets, without metadata, so that it is the same in the papers' layout and in that of
/// version 3.
#[derive(Clone)]
pub struct Whole {
    /// Its chunks.
    pub params: Params,
    /// What follows each of them.
    pub sum: Sum,
    /// Bytes of content in each but the last.
    pub chunk_size: usize,
    /// Offsets that are kept free.
    pub spare_chunks: u64,
    /// Bytes that are kept free in each chunk.
    pub spare_bytes: u32,
}

impl Whole {
    /// The bytes of a file with this content.
    pub fn encode(&self, content: &[u8], threads: usize) -> Result<Vec<u8>> {
        let chunks = self.chunks(content, threads)?;
        let mut header = Header { has_offsets: true, checksum: self.sum, ..Header::new(Dialect::V3) };
        let size = |n: usize| u32::try_from(n).ok();
        header.typesize = u8::try_from(self.params.typesize).unwrap_or(1);
        header.chunk_size = size(self.chunk_size);
        header.last_chunk = size(content.len() - chunks.len().saturating_sub(1) * self.chunk_size);
        header.nchunks = Some(chunks.len() as u64);
        header.max_app_chunks = self.spare_chunks;
        let mut next = header.chunks_at();
        let positions = chunks.iter().map(|c| {
            next += c.len() as u64;
            next - c.len() as u64
        });
        let table = offsets::encode(positions, header.offset_entries())?;
        let mut bytes = memory::with_room(usize::try_from(next).unwrap_or(usize::MAX))?;
        bytes.extend(header.encode());
        bytes.extend(table);
        chunks.iter().for_each(|c| bytes.extend_from_slice(c));
        Ok(bytes)
    }

    /// The chunks, each with its checksum.
    fn chunks(&self, content: &[u8], threads: usize) -> Result<Vec<Vec<u8>>> {
        let pieces: Vec<&[u8]> = content.chunks(self.chunk_size.max(1)).collect();
        let each = if pieces.len() > 1 { 1 } else { threads };
        let mut chunks: Vec<Vec<u8>> = pieces.iter().map(|_| Vec::new()).collect();
        let failed = Mutex::new(None::<Error>);
        parallel::for_each(threads, pieces.iter().zip(&mut chunks).collect(), |(piece, chunk)| match self.chunk(piece, each) {
            Ok(bytes) => *chunk = bytes,
            Err(e) => *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e),
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(chunks), Err)
    }

    fn chunk(&self, content: &[u8], threads: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        blosc::encode(&self.params, content, &mut bytes, threads)?;
        widen(&mut bytes, self.spare_bytes);
        seal(bytes, self.sum)
    }
}
