//! Files that are made at once, from all their content, as what is a file among many of a dataset;
//! the last of those gets more content in place.
#![forbid(unsafe_code)]

use super::commit::usual_spare;
use super::edit::{seal, widen};
use super::header::{Dialect, Header};
use super::open::{container, part_name};
use super::{Bloscpack, Mode, offsets};
use crate::blosc::{self, Params};
use crate::checksum::Sum;
use crate::error::{Error, Result};
use crate::io::{Folder, journal};
use crate::options::{Opt, Options};
use crate::{alloc, parallel};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

/// How such a file is made: with offsets, without metadata, so that it is the same in the papers'
/// layout and in that of version 3.
#[derive(Clone)]
pub struct Whole {
    /// Its chunks.
    pub params: Params,
    /// What follows each of them.
    pub sum: Sum,
    /// Bytes of content in each but the last.
    pub chunk_size: usize,
    /// The most chunks that it is going to have.
    pub most: u64,
    /// Offsets that are kept free, where that is said.
    pub spare_chunks: Option<u64>,
    /// Bytes that are kept free in each chunk.
    pub spare_bytes: u32,
}

impl Whole {
    /// The bytes of a file with this content.
    pub fn encode(&self, content: &[u8], threads: usize) -> Result<Vec<u8>> {
        let chunks = self.chunks(content, threads)?;
        let mut header = Header {
            has_offsets: true,
            checksum: self.sum,
            ..Header::new(Dialect::V3)
        };
        let size = |n: usize| u32::try_from(n).ok();
        header.typesize = u8::try_from(self.params.typesize).unwrap_or(1);
        header.chunk_size = size(self.chunk_size);
        header.last_chunk = size(content.len() - chunks.len().saturating_sub(1) * self.chunk_size);
        header.nchunks = Some(chunks.len() as u64);
        header.max_app_chunks = self.spare(chunks.len() as u64);
        let mut next = header.chunks_at();
        let positions = chunks.iter().map(|c| {
            next += c.len() as u64;
            next - c.len() as u64
        });
        let table = offsets::encode(positions, header.offset_entries())?;
        let mut bytes = alloc::with_room(usize::try_from(next).unwrap_or(usize::MAX))?;
        bytes.extend(header.encode());
        bytes.extend(table);
        chunks.iter().for_each(|c| bytes.extend_from_slice(c));
        Ok(bytes)
    }

    /// Offsets that are kept free behind those of so many chunks.
    fn spare(&self, chunks: u64) -> u64 {
        self.spare_chunks
            .unwrap_or_else(|| usual_spare(chunks).min(self.most.saturating_sub(chunks)))
    }

    /// Puts content behind the first `keep` bytes of that of a file: all of it, or nothing. By how
    /// much the file grew.
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
        // who writes the dataset has a lock on all of it
        let options = options.clone().with(Opt::Lock, 0)?.with(
            Opt::SpareChunks,
            i64::try_from(self.spare(all)).unwrap_or(0),
        )?;
        let mut file = Bloscpack::open_in(folder, name, Mode::Append, &options)?;
        (file.chunk_size, file.params, file.spare_bytes) =
            (self.chunk_size, self.params.clone(), self.spare_bytes);
        let before = file.cbytes()?;
        file.truncate(keep)?;
        file.append(content)?;
        file.commit()?;
        Ok(file.cbytes()? as i64 - before as i64)
    }

    /// The chunks, each with its checksum.
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
        seal(bytes, self.sum)
    }
}

/// Finishes or undoes what an [append](Whole::append) that was cut off has left.
pub fn tidy(folder: &Arc<dyn Folder>, name: &OsStr, durable: bool) -> Result<()> {
    let container = container(folder, name);
    journal::tidy(&container, durable)?;
    folder.remove_if_there(&part_name(&container))
}
