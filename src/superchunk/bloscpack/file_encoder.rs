//! Encoding of a complete Bloscpack file from its content. Datasets consist of many such files; the
//! last of them is appended to in place.
#![forbid(unsafe_code)]

use super::chunk_encoder::{seal, widen};
use super::head::default_spare;
use super::header::{Dialect, Header};
use super::writer::{container, part_name};
use super::{Bloscpack, Mode, offsets};
use crate::blosc::{self, Params};
use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::io::{Folder, journal};
use crate::options::{Opt, Options};
use crate::superchunk::block_checksums;
use crate::{alloc, parallel};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The parameters of such a file. It has offsets and no metadata, so that the BLZ RFC layout and
/// version 3 are identical.
#[derive(Clone)]
pub struct FileEncoder {
    /// Chunk parameters.
    pub params: Params,
    /// Checksum after each chunk.
    pub sum: Checksum,
    /// Content size of each chunk except the last.
    pub chunk_size: usize,
    /// Maximum number of chunks of the file.
    pub most: u64,
    /// Number of spare offsets, if it is set.
    pub spare_chunks: Option<u64>,
    /// Spare bytes in each chunk.
    pub spare_bytes: u32,
}

impl FileEncoder {
    /// Encodes a complete file with this content.
    pub fn encode(&self, content: &[u8], threads: usize) -> Result<Vec<u8>> {
        self.file(&self.chunks(content, threads)?, content.len())
    }

    /// Returns a complete file of these encoded chunks, which have no checksums yet, and this many
    /// bytes of content.
    pub fn file_of_stored(&self, chunks: Vec<Vec<u8>>, nbytes: usize) -> Result<Vec<u8>> {
        let sealed = chunks.into_iter().map(|chunk| seal(chunk, self.sum));
        self.file(&sealed.collect::<Result<Vec<_>>>()?, nbytes)
    }

    /// Returns a complete file of these chunks, each with its checksum.
    fn file(&self, chunks: &[Vec<u8>], nbytes: usize) -> Result<Vec<u8>> {
        let mut header = Header {
            has_offsets: true,
            checksum: self.sum,
            ..Header::new(Dialect::V3)
        };
        let size = |n: usize| u32::try_from(n).ok();
        header.typesize = u8::try_from(self.params.typesize).unwrap_or(1);
        header.chunk_size = size(self.chunk_size);
        header.last_chunk = size(nbytes - chunks.len().saturating_sub(1) * self.chunk_size);
        header.nchunks = Some(chunks.len() as u64);
        header.max_app_chunks = self.spare(chunks.len() as u64);
        let mut next = header.chunks_at();
        let positions = chunks.iter().map(|c| {
            next += c.len() as u64;
            next - c.len() as u64
        });
        let table = offsets::encode(positions, header.offset_entries())?;
        let mut bytes = alloc::with_capacity(usize::try_from(next).unwrap_or(usize::MAX))?;
        bytes.extend(header.encode());
        bytes.extend(table);
        chunks.iter().for_each(|c| bytes.extend_from_slice(c));
        Ok(bytes)
    }

    /// Returns the number of spare offsets for a file of `chunks` chunks.
    fn spare(&self, chunks: u64) -> u64 {
        self.spare_chunks
            .unwrap_or_else(|| default_spare(chunks).min(self.most.saturating_sub(chunks)))
    }

    /// Truncates a file to `keep` bytes of content and appends `content`, in one commit. Returns
    /// the growth of the file in bytes.
    pub fn append(
        &self,
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        keep: u64,
        content: &[u8],
        options: &Options,
    ) -> Result<i64> {
        let all = keep
            .saturating_add(content.len() as u64)
            .div_ceil(self.chunk_size.max(1) as u64);
        // the writer of the dataset holds a lock on all files
        let options = options.clone().with(Opt::Lock, 0)?.with(
            Opt::SpareChunks,
            i64::try_from(self.spare(all)).unwrap_or(0),
        )?;
        let mut file = Bloscpack::open_in(folder, name, Mode::Append, &options)?;
        file.content.chunk_size = self.chunk_size;
        if let Some(writer) = &mut file.writer {
            writer.encoder.params = self.params.clone();
            writer.encoder.spare_bytes = self.spare_bytes;
        }
        let before = file.cbytes()?;
        file.truncate(keep)?;
        file.append(content)?;
        file.commit()?;
        Ok(file.cbytes()? as i64 - before as i64)
    }

    /// Encodes the chunks, each with its checksum.
    fn chunks(&self, content: &[u8], threads: usize) -> Result<Vec<Vec<u8>>> {
        let pieces: Vec<&[u8]> = content.chunks(self.chunk_size.max(1)).collect();
        let each = if pieces.len() > 1 { 1 } else { threads };
        let mut chunks: Vec<Vec<u8>> = pieces.iter().map(|_| Vec::new()).collect();
        let failed = Mutex::new(None::<Error>);
        parallel::for_each(
            threads,
            pieces.iter().zip(&mut chunks).collect(),
            |(piece, chunk)| match self.chunk(piece, each) {
                Ok(bytes) => *chunk = bytes,
                Err(e) => *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(e),
            },
        );
        failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(chunks), Err)
    }

    fn chunk(&self, content: &[u8], threads: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        blosc::encode(&self.params, content, &mut bytes, threads)?;
        widen(&mut bytes, self.spare_bytes);
        block_checksums::seal(&mut bytes, 0, self.sum)?;
        Ok(bytes)
    }
}

/// Completes or rolls back an interrupted [`append`](FileEncoder::append).
pub fn recover(folder: &Arc<dyn Folder>, name: &OsStr, durable: bool) -> Result<()> {
    let container = container(folder, name);
    journal::recover_and_clean(&container, durable)?;
    folder.remove_if_there(&part_name(&container))
}
