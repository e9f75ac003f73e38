//! Encoding of the new chunks of a file, each with spare bytes and a checksum.
#![forbid(unsafe_code)]

use super::located_chunk::COPIED;
use crate::alloc;
use crate::blosc::{self, Params};
use crate::checksum::Checksum;
use crate::error::Result;
use crate::options::{Opt, Options};
use crate::parallel::Threads;
use crate::superchunk::block_checksums;
use crate::superchunk::buffer_pool::BufferPool;

/// An encoded chunk with its checksum, and the number of spare bytes before the checksum.
pub struct SealedChunk {
    pub bytes: Vec<u8>,
    pub spare: u32,
}

/// Encodes chunks. Threads share it.
pub struct ChunkEncoder {
    pub params: Params,
    pub spare_bytes: u32,
    pub threads: Threads,
    /// The checksum after each chunk.
    checksum: Checksum,
    buffers: BufferPool,
}

impl ChunkEncoder {
    /// Returns an encoder with these parameters.
    pub fn new(params: Params, checksum: Checksum, options: &Options) -> ChunkEncoder {
        ChunkEncoder {
            params,
            spare_bytes: options.get(Opt::SpareBytes, 0) as u32,
            threads: options.threads(),
            checksum,
            buffers: BufferPool::default(),
        }
    }

    /// Encodes a chunk with spare bytes and checksum.
    pub fn sealed(&self, content: &[u8], threads: usize) -> Result<SealedChunk> {
        let mut bytes = self.buffers.take();
        self.encode(content, &mut bytes, threads)?;
        let least = bytes.len();
        widen(&mut bytes, self.spare_bytes);
        let spare = (bytes.len() - least) as u32;
        block_checksums::seal(&mut bytes, 0, self.checksum)?;
        Ok(SealedChunk { bytes, spare })
    }

    /// Returns an encoded chunk with its checksum.
    pub fn sealed_raw(&self, chunk: &[u8]) -> Result<SealedChunk> {
        let mut bytes = alloc::with_capacity(chunk.len() + self.checksum.size())?;
        bytes.extend_from_slice(chunk);
        Ok(SealedChunk {
            bytes: seal(bytes, self.checksum)?,
            spare: 0,
        })
    }

    /// Encodes a chunk.
    pub fn encode(&self, content: &[u8], dst: &mut Vec<u8>, threads: usize) -> Result<()> {
        blosc::encode(&self.params, content, dst, threads)
    }

    /// Takes back the buffer of a chunk, for another chunk.
    pub fn reuse(&self, buffer: Vec<u8>) {
        self.buffers.give_back(buffer, self.threads.count());
    }

    /// Frees the buffers.
    pub fn free_buffers(&mut self) {
        self.buffers = BufferPool::default();
    }
}

/// Appends the checksum to a chunk.
pub fn seal(mut chunk: Vec<u8>, sum: Checksum) -> Result<Vec<u8>> {
    let digest = sum.of(&chunk);
    alloc::reserve_exact(&mut chunk, digest.len())?;
    chunk.extend_from_slice(&digest);
    Ok(chunk)
}

/// Extends a chunk without checksum by `by` bytes that readers ignore, and sets the length in its
/// header, also after a truncation. Returns false if the chunk cannot be extended.
pub fn widen(chunk: &mut Vec<u8>, by: u32) -> bool {
    let requested = u32::try_from(chunk.len())
        .ok()
        .and_then(|n| n.checked_add(by))
        .filter(|n| i32::try_from(*n).is_ok());
    let (Some(requested), Some(flags)) = (requested, chunk.get(2).copied()) else {
        return false;
    };
    if by > 0 && (flags & COPIED != 0 || alloc::reserve_exact(chunk, by as usize).is_err()) {
        return false;
    }
    chunk.resize(requested as usize, 0);
    if let Some(field) = chunk.get_mut(12..16) {
        field.copy_from_slice(&requested.to_le_bytes());
    }
    true
}
