//! The search for the chunks of a file.
//!
//! A chunk is found by its offset, or directly after the previous chunk. The offset has priority:
//! only offsets describe gaps and chunks out of order. If an offset is missing (-1 after a crash of
//! the writer) or does not lead to a chunk, the position after the previous chunk is tried. Without
//! offsets, only that position is used, up to the number of chunks in the header or the end of the
//! file. If that leads to no chunk, spare bytes may follow each chunk: the BLZ RFC allows empty space
//! there. A chunk never starts with a zero byte, so it starts at the first byte that is not zero. This
//! search is used only if it finds all chunks, with the sizes in the header, and only zeros after them.
//!
//! Every entry corresponds to 16 bytes in the file, whatever the number in the header. The size of
//! the table is therefore bounded by the file size and by the caller's limit.
#![forbid(unsafe_code)]

use super::chunk_table::ChunkTable;
use super::header::Header;
use super::header_buffer::HeaderBuffer;
use super::located_chunk::{BLOSC_HEADER, LocatedChunk};
use super::offsets;
use super::uniform_mark;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::io::File;

impl ChunkTable {
    /// Finds the chunks of `file`. No allocation exceeds `limit` bytes. Returns an error if the
    /// file cannot be read or the limit is exceeded; corruption is reported in the table.
    pub fn read(file: &dyn File, header: &Header, limit: u64) -> Result<ChunkTable> {
        let offsets = offsets::read(file, header, limit)?;
        let mut search = Search {
            file,
            header,
            size: file.size()?,
            limit,
            headers: HeaderBuffer::new(file),
            offsets_only: false,
            skip_zeros: false,
        };
        let mut table = search.run(&offsets)?;
        if table.damage.is_some() && !header.has_offsets {
            table = search.with_spare_bytes()?.unwrap_or(table);
        }
        let mut table = search.without_overlaps(table, &offsets)?;
        if table.suspected.is_none() {
            table.suspected = search.suspected(&table)?;
        }
        let named = |e: Error| e.within(file.name());
        Ok(ChunkTable {
            damage: table.damage.map(named),
            suspected: table.suspected.map(named),
            ..table
        })
    }
}

/// Size of a read of zero bytes after a chunk.
const ZEROS_PIECE: usize = 512;

/// A search for the chunks of one file.
struct Search<'a> {
    file: &'a dyn File,
    header: &'a Header,
    size: u64,
    limit: u64,
    headers: HeaderBuffer<'a>,
    /// True if chunks are searched for at their stored offsets only.
    offsets_only: bool,
    /// True if zero bytes after a chunk are skipped.
    skip_zeros: bool,
}

impl Search<'_> {
    /// Finds the chunks with these offsets, or without offsets if there are none.
    fn run(&mut self, offsets: &[i64]) -> Result<ChunkTable> {
        let Header {
            nchunks,
            checksum,
            last_chunk,
            has_offsets,
            ..
        } = *self.header;
        let as_header = nchunks != Some(0) || last_chunk.is_none_or(|n| n == 0);
        let (end, by_offsets) = (self.header.chunks_at(), has_offsets);
        let mut table = ChunkTable {
            chunks: Vec::new(),
            end,
            by_offsets,
            in_order: true,
            as_header,
            damage: None,
            suspected: None,
        };
        let mut next = Some(end);
        let entries = if has_offsets {
            self.header.offset_entries()
        } else {
            u64::MAX
        };
        let known = offsets.iter().rposition(|o| !uniform_mark::is_unused(*o));
        let known = known.map_or(0, |i| i as u64 + 1);
        let mut offsets = offsets.iter().map(|o| u64::try_from(*o).ok());
        for i in 0..nchunks.unwrap_or(entries) {
            if nchunks.is_none() && next == Some(self.size) && i >= known {
                break;
            }
            let offset = offsets.next().flatten();
            let nbytes = self.expected(i);
            let chunk = match self.find(offset, next)? {
                Some(chunk) => chunk,
                None => {
                    let at = offset.or(next).unwrap_or(0);
                    if table.damage.is_none() {
                        table.damage = Some(self.why(i, at)?);
                    }
                    if offsets.len() == 0 {
                        break;
                    }
                    LocatedChunk::lost(at, nbytes.unwrap_or(0))
                }
            };
            table.note(i, &chunk, offset, next, nbytes);
            next = (!chunk.is_lost()).then(|| chunk.end(checksum));
            table.end = table.end.max(next.unwrap_or(0));
            self.push(&mut table.chunks, chunk)?;
        }
        let found = table
            .chunks
            .iter()
            .rposition(|c| !c.is_lost())
            .map_or(0, |i| i + 1);
        table.chunks.truncate(found);
        if nchunks.is_none() && !has_offsets && table.damage.is_none() {
            table.damage = self.truncated_stream(&table.chunks);
        }
        Ok(table)
    }

    /// Finds chunks that are followed by zero bytes, without offsets. Returns `None` unless the
    /// chunks and the zero bytes are exactly what the header describes.
    fn with_spare_bytes(&mut self) -> Result<Option<ChunkTable>> {
        let sized = self.header.chunk_size.is_some() && self.header.last_chunk.is_some();
        if !sized || self.header.nchunks.is_none() {
            return Ok(None);
        }
        self.skip_zeros = true;
        let table = self.run(&[]);
        self.skip_zeros = false;
        let table = table?;
        let as_header = table.damage.is_none() && table.as_header;
        let complete = as_header && self.after_zeros(table.end)? == self.size;
        Ok(complete.then_some(table))
    }

    /// Returns the offset of the first byte from `at` on that is not zero, or the file size.
    fn after_zeros(&self, mut at: u64) -> Result<u64> {
        let mut piece = [0; ZEROS_PIECE];
        while at < self.size {
            let n = self.file.read_at(at, &mut piece)?;
            let read = piece.get(..n).unwrap_or_default();
            match read.iter().position(|b| *b != 0) {
                Some(i) => return Ok(at + i as u64),
                None if n == 0 => break,
                None => at += n as u64,
            }
        }
        Ok(self.size)
    }

    /// Resolves overlapping chunks.
    fn without_overlaps(&mut self, mut table: ChunkTable, offsets: &[i64]) -> Result<ChunkTable> {
        let Some((n, overlap)) = table.overlaps(self.header.checksum)? else {
            return Ok(table);
        };
        // a chunk may have been found at the position of the chunk after it in the file
        self.offsets_only = true;
        let by_offsets = self.run(offsets)?;
        self.offsets_only = false;
        if by_offsets.overlaps(self.header.checksum)?.is_none() {
            return Ok(by_offsets);
        }
        // or a wrong offset leads to another chunk, and all chunks are in order
        let walked = self.run(&[])?;
        let elsewhere = walked
            .chunks
            .iter()
            .zip(offsets)
            .filter(|(c, o)| i64::try_from(c.at).ok() != Some(**o))
            .count();
        if walked.damage.is_none() && elsewhere <= n {
            return Ok(ChunkTable {
                by_offsets: false,
                suspected: Some(overlap),
                ..walked
            });
        }
        // or the length of a chunk is corrupt and too large
        let shorter = by_offsets.without_overlong(self.header.checksum)?;
        if shorter.overlaps(self.header.checksum)?.is_none()
            && shorter.chunks.len() == table.chunks.len()
        {
            return Ok(shorter);
        }
        table.truncate_at(overlap);
        Ok(table)
    }

    fn push(&self, chunks: &mut Vec<LocatedChunk>, chunk: LocatedChunk) -> Result<()> {
        if chunks.len() == chunks.capacity() {
            let more = chunks.len().max(64);
            let bytes = (chunks.len() + more) as u64 * size_of::<LocatedChunk>() as u64;
            alloc::allow(bytes, self.limit, "chunk table")?;
            alloc::reserve(chunks, more)?;
        }
        chunks.push(chunk);
        Ok(())
    }

    /// Returns the chunk at its offset, or the chunk after the previous one.
    fn find(&mut self, offset: Option<u64>, next: Option<u64>) -> Result<Option<LocatedChunk>> {
        // the lower bound is not the end of the table: the table length may be wrong, and an offset
        // never parses as a chunk header
        if let Some(at) = offset.filter(|at| *at >= self.header.offsets_at())
            && let Some(chunk) = self.chunk_at(at)?
        {
            return Ok(Some(chunk));
        }
        let Some(at) = next.filter(|_| !self.offsets_only) else {
            return Ok(None);
        };
        match self.chunk_at(at)? {
            None if self.skip_zeros => {
                let at = self.after_zeros(at)?;
                self.chunk_at(at)
            }
            found => Ok(found),
        }
    }

    /// Returns the chunk at offset `at` if it and its checksum fit into the file.
    fn chunk_at(&mut self, at: u64) -> Result<Option<LocatedChunk>> {
        if at >= self.size {
            return Ok(None);
        }
        let chunk = self
            .headers
            .header(at)?
            .and_then(|h| LocatedChunk::parse(at, &h));
        Ok(chunk.filter(|c| c.end(self.header.checksum) <= self.size))
    }

    /// Returns an error that explains why chunk `i` is not at `at`.
    fn why(&mut self, i: u64, at: u64) -> Result<Error> {
        let error = match self.headers.header(at)? {
            None => fail!(
                Format,
                "chunk {i} at {at} is after the end of the file at {}",
                self.size
            ),
            Some(h) => match LocatedChunk::parse(at, &h) {
                None => fail!(
                    Format,
                    "chunk {i}: no chunk header at {at} (found {h:02x?})"
                ),
                Some(c) => fail!(
                    Format,
                    "chunk {i} at {at}: the file is too short for the chunk and its checksum (expected {} bytes, found {})",
                    c.end(self.header.checksum) - at,
                    self.size.saturating_sub(at)
                ),
            },
        };
        Ok(error.at(i))
    }

    /// Returns an error if the number of chunks is unknown, and the last one that was found is not
    /// the one that the header describes: the file was written to a pipe and is truncated.
    fn truncated_stream(&self, chunks: &[LocatedChunk]) -> Option<Error> {
        let expected = self.header.last_chunk?;
        let found = match chunks.last().map(|last| last.nbytes) {
            Some(found) if found == expected => return None,
            Some(found) => format!("found a chunk of {found} bytes"),
            None => "found no chunk".to_owned(),
        };
        let n = chunks.len() as u64;
        let error = fail!(
            Format,
            "the file is truncated: it does not end with the last chunk (expected one of {expected} bytes after chunk {n}, {found})"
        );
        Some(error.at(n))
    }

    /// Returns the content size of chunk `i` according to the header.
    fn expected(&self, i: u64) -> Option<u32> {
        let last = self.header.nchunks.is_some_and(|n| i + 1 == n);
        if last {
            self.header.last_chunk
        } else {
            self.header.chunk_size
        }
    }

    /// If chunks are missing, returns the first chunk that cannot be at its position, or does not
    /// follow the previous chunk.
    fn misplaced(&self, table: &ChunkTable) -> Option<usize> {
        table.damage.as_ref()?;
        let least = (BLOSC_HEADER + self.header.checksum.size()) as u64;
        // if not all chunks are in the table, a lost one may be any of the missing chunks
        let some_are_missing = self
            .header
            .nchunks
            .is_some_and(|n| n > table.chunks.len() as u64);
        let (mut from, mut lost) = (self.header.chunks_at(), 0);
        table.chunks.iter().position(|c| {
            let wrong = if lost > 0 {
                some_are_missing || c.at < from.saturating_add(lost * least)
            } else {
                c.at != from
            };
            let found = !c.is_lost();
            (from, lost) = if found {
                (c.end(self.header.checksum), 0)
            } else {
                (from, lost + 1)
            };
            wrong && found
        })
    }

    /// Returns a contradiction between the table and the file, if there is one.
    fn suspected(&mut self, table: &ChunkTable) -> Result<Option<Error>> {
        let (n, from) = (table.chunks.len(), self.header.chunks_at());
        if self.header.nchunks == Some(0) && self.size > from {
            return Ok(Some(fail!(
                Format,
                "the number of chunks in the header is 0, but {} bytes follow the header",
                self.size - from
            )));
        }
        let first = table.chunks.iter().map(|c| c.at).min().unwrap_or(from);
        if first != from {
            return Ok(Some(fail!(
                Format,
                "the first chunk is not directly after the offsets (expected at {from}, found at {first})"
            )));
        }
        if let Some(i) = self.misplaced(table) {
            return Ok(Some(fail!(Format, "chunks are missing, and chunk {i} does not follow the previous chunk; it may be a different chunk").at(i as u64)));
        }
        let more = self.chunk_at(table.end)?.is_some();
        Ok(more.then(|| {
            let end = table.end;
            fail!(
                Format,
                "another chunk follows the last of {n} chunks, at {end}"
            )
            .at(n as u64)
        }))
    }
}
