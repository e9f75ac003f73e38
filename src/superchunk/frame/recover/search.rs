//! A frame that is searched for its parts: candidates for the header, for the index, and chunks.
#![forbid(unsafe_code)]

use super::scan::{self, ScannedChunk};
use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result};
use crate::io::{Access, File, read_buffer};
use crate::superchunk::frame::header::{self, Header};
use crate::superchunk::frame::index::{self, IndexSlot};
use crate::superchunk::frame::storage::FrameStorage;
use crate::superchunk::frame::trailer::Trailer;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are searched at a time, and in which a header is searched for.
pub(super) const PIECE: usize = 1 << 20;
/// Maximum number of candidates for the end of a commit, or for its index. Checking one may take as
/// long as reading the file.
pub(super) const TRIES: usize = 16;

/// A corrupt frame.
pub(super) struct Search<'a> {
    pub(super) storage: &'a FrameStorage,
    pub(super) file: &'a Arc<dyn File>,
    pub(super) size: u64,
    /// The first bytes of the file.
    pub(super) head: Vec<u8>,
    pub(super) limit: u64,
}

/// Header, index and trailer.
pub(super) struct FoundParts {
    pub(super) header: Header,
    /// The length of the header in the file.
    pub(super) base: u64,
    pub(super) slots: Vec<IndexSlot>,
    pub(super) trailer: Trailer,
    pub(super) sealed: bool,
    pub(super) lost: Vec<Error>,
    pub(super) header_lost: bool,
}

impl<'a> Search<'a> {
    /// Reads the first bytes of a frame.
    pub(super) fn new(
        storage: &'a FrameStorage,
        file: &'a Arc<dyn File>,
        limit: u64,
    ) -> Result<Search<'a>> {
        let size = file.size()?;
        let mut head = alloc::zeroed(PIECE.min(usize::try_from(size).unwrap_or(PIECE)))?;
        let n = file.read_at(0, &mut head)?;
        head.truncate(n);
        Ok(Search {
            storage,
            file,
            size,
            head,
            limit,
        })
    }
}

impl Search<'_> {
    pub(super) fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        // a corrupt length must not allocate memory
        if range.end > self.size {
            return None;
        }
        let n = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let bytes = read_buffer::read(&**self.file, range.start, n, self.limit);
        bytes.map(|bytes| bytes.to_vec()).ok()
    }

    /// Returns candidates for the header: as it is stored, and with the bytes corrected that are
    /// equal in all headers.
    pub(super) fn header_candidates(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for fixed in [false, true] {
            let mut head = self.head.clone();
            if fixed {
                header::put_constants(&mut head, self.storage.sparse);
            }
            let lens = [header::stated_len(&head), header::computed_len(&head)];
            for len in lens
                .into_iter()
                .flatten()
                .filter(|len| *len >= header::FIXED)
            {
                let Some(head) = head.get(..len) else {
                    continue;
                };
                let mut head = head.to_vec();
                if fixed {
                    header::put(&mut head, header::LEN, &(len as u32).to_be_bytes());
                    if Header::parse(&head).is_err() {
                        header::put(&mut head, header::FRAME_LEN, &self.size.to_be_bytes());
                    }
                }
                if !all.contains(&head) {
                    all.push(head);
                }
            }
        }
        all
    }

    /// Returns the header of the chunk at an offset or with a file number.
    pub(super) fn chunk_at(&self, base: u64, position: u64) -> Option<blosc::Header> {
        if self.storage.sparse {
            let file = self
                .storage
                .folder
                .open(&self.storage.chunk_path(position), Access::Read)
                .ok()?;
            return header_at(&*file, 0, self.limit);
        }
        header_at(&**self.file, base.checked_add(position)?, self.limit)
    }

    pub(super) fn scan_chunks(
        &self,
        header: &Header,
        base: u64,
        checksums: &[[u32; 2]],
    ) -> Result<Vec<ScannedChunk>> {
        match self.storage.sparse {
            true => scan::in_folder(self.storage, header, self.limit),
            false => scan::in_file(&**self.file, base..self.size, header, checksums),
        }
    }

    /// Returns the index of `chunks` slots that ends at this offset.
    pub(super) fn index_before(&self, end: u64, chunks: u64, least: u64) -> Option<Vec<u8>> {
        let fits = |b: &Vec<u8>| index::decode(b, chunks, self.limit).is_ok();
        match self.index_of_pair(end) {
            Some(_) => self.index_bytes(0, end, chunks).filter(fits),
            None => self.indices_before(end, chunks, least).find(fits),
        }
    }

    /// Returns the offset of the index of `chunks` slots before the trailer at `end`.
    pub(super) fn index_start(&self, end: u64, chunks: u64, least: u64) -> Option<u64> {
        let before = || {
            let index = self.index_before(end, chunks, least)?;
            Some(end - index.len() as u64)
        };
        self.index_of_pair(end).or_else(before)
    }

    /// Returns the offset of an index of any length that ends at this offset.
    pub(super) fn any_index_before(&self, end: u64, least: u64) -> Option<u64> {
        let most = end.saturating_sub(least) / 8;
        let found = self
            .indices_before(end, most.min(PIECE as u64), least)
            .next()?;
        Some(end - found.len() as u64)
    }

    fn indices_before(&self, end: u64, most: u64, least: u64) -> impl Iterator<Item = Vec<u8>> {
        let room = most
            .saturating_mul(8)
            .saturating_add(blosc::EXTENDED_HEADER_LEN as u64)
            .min(end.saturating_sub(least));
        let bytes = self.bytes(end - room..end).unwrap_or_default();
        let count = bytes.len().saturating_sub(blosc::EXTENDED_HEADER_LEN - 1);
        let fits = |b: &[u8]| {
            let whole = |h: blosc::Header| {
                h.cbytes == b.len()
                    && h.nbytes > 0
                    && h.nbytes.is_multiple_of(8)
                    && h.extended()
                    && h.typesize == 8
            };
            blosc::Header::parse(b).is_ok_and(whole)
        };
        (0..count)
            .rev()
            .filter_map(move |at| bytes.get(at..).filter(|b| fits(b)).map(<[u8]>::to_vec))
            .take(TRIES)
    }

    /// Returns the content bytes of the last chunk.
    pub(super) fn last_chunk(&self, index: &[u8], chunks: u64, base: u64) -> Option<u64> {
        match index::decode(index, chunks, self.limit).ok()?.last()? {
            IndexSlot::At(position) => self.chunk_at(base, *position).map(|h| h.nbytes as u64),
            _ => None,
        }
    }
}

/// Returns the header of the chunk at this offset of a file.
fn header_at(file: &dyn File, at: u64, limit: u64) -> Option<blosc::Header> {
    let bytes = read_buffer::read(file, at, blosc::EXTENDED_HEADER_LEN, limit);
    bytes.and_then(|bytes| blosc::Header::parse(&bytes)).ok()
}
