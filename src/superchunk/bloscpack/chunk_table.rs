//! The chunk table of a Bloscpack file: the actual position of each chunk, also in a damaged file.
#![forbid(unsafe_code)]

use super::located_chunk::LocatedChunk;
use crate::alloc;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};

/// The chunks of a file in content order.
#[derive(Clone, Debug)]
pub struct ChunkTable {
    /// The chunks. A lost chunk is in the list only if offsets lead to a later chunk. It has the
    /// content size that the header gives it.
    pub chunks: Vec<LocatedChunk>,
    /// Offset of the end of the last chunk in the file with its checksum. The bytes after it belong
    /// to no chunk.
    pub end: u64,
    /// True if every chunk is at its stored offset.
    pub by_offsets: bool,
    /// True if the chunks follow each other without gaps. Readers that ignore offsets require that.
    pub in_order: bool,
    /// True if the content sizes match the header. v0 and v1 headers have no sizes.
    pub as_header: bool,
    /// Why the first lost chunk is lost; the position of the error is the chunk index.
    pub damage: Option<Error>,
    /// Suspected corruption: a contradiction about the positions or the number of the chunks that
    /// were found. The cause is a damaged header or table, or a crash of a writer.
    pub suspected: Option<Error>,
}

impl ChunkTable {
    /// Returns the number of chunks before the first lost chunk.
    pub fn before_damage(&self) -> usize {
        self.chunks
            .iter()
            .position(LocatedChunk::is_lost)
            .unwrap_or(self.chunks.len())
    }

    /// Returns start, end and index of the chunks that were found, in file order.
    fn spans(&self, sum: Checksum) -> Result<Vec<(u64, u64, usize)>> {
        let mut spans = alloc::with_capacity(self.chunks.len())?;
        spans.extend(
            self.chunks
                .iter()
                .enumerate()
                .filter(|(_, c)| !c.is_lost())
                .map(|(i, c)| (c.at, c.end(sum), i)),
        );
        spans.sort_unstable();
        Ok(spans)
    }

    /// Returns the chunks that were found, the shortest first, and the smallest gap after a chunk.
    /// Returns `None` if there is no gap after some chunk.
    pub fn separated(&self, size: u64) -> Result<Option<(Vec<LocatedChunk>, u64)>> {
        if self.in_order && self.end == size {
            return Ok(None);
        }
        let spans = self.spans(Checksum::None)?;
        let next = spans.iter().skip(1).map(|(at, ..)| *at).chain([size]);
        let gap = spans
            .iter()
            .zip(next)
            .map(|((_, end, _), next)| next.saturating_sub(*end))
            .min();
        let Some(gap) = gap.filter(|gap| *gap > 0) else {
            return Ok(None);
        };
        let mut found = alloc::with_capacity(spans.len())?;
        found.extend(self.chunks.iter().filter(|c| !c.is_lost()).copied());
        found.sort_unstable_by_key(|c| (c.cbytes, c.at));
        Ok(Some((found, gap)))
    }

    /// Returns the number of overlapping pairs of chunks, and an error for the first pair.
    pub fn overlaps(&self, sum: Checksum) -> Result<Option<(usize, Error)>> {
        if self.in_order {
            return Ok(None);
        }
        let spans = self.spans(sum)?;
        let pairs = || {
            spans
                .iter()
                .zip(spans.iter().skip(1))
                .filter(|((_, end, _), (next, _, _))| next < end)
        };
        let n = pairs().count();
        let first = pairs()
            .map(|((_, _, i), (at, _, k))| (i.min(k), i.max(k), at))
            .min();
        Ok(first.map(|(i, k, at)| {
            (
                n,
                fail!(Format, "offsets: chunks {i} and {k} overlap at {at}").at(*k as u64),
            )
        }))
    }

    /// Marks chunks as lost that reach into the next chunk in the file.
    pub fn without_overlong(mut self, sum: Checksum) -> Result<ChunkTable> {
        let spans = self.spans(sum)?;
        for ((at, end, i), (next, _, k)) in spans.iter().zip(spans.iter().skip(1)) {
            if let Some(c) = self.chunks.get_mut(*i).filter(|_| at < next && next < end) {
                let why = fail!(
                    Format,
                    "chunk {i} at {at} ends at {end}, after the start of chunk {k} at {next}"
                )
                .at(*i as u64);
                *c = LocatedChunk::lost(*at, c.nbytes);
                self.damage = Some(why)
                    .into_iter()
                    .chain(self.damage)
                    .min_by_key(|e| e.position);
            }
        }
        self.by_offsets = false;
        self.end = self
            .chunks
            .iter()
            .filter(|c| !c.is_lost())
            .map(|c| c.end(sum))
            .max()
            .unwrap_or(self.end);
        Ok(self)
    }

    /// Updates the flags for chunk `i`, given its stored offset, its expected position and its
    /// expected content size.
    pub fn note(
        &mut self,
        i: u64,
        chunk: &LocatedChunk,
        offset: Option<u64>,
        next: Option<u64>,
        nbytes: Option<u32>,
    ) {
        self.by_offsets &= offset == Some(chunk.at) && !chunk.is_lost();
        self.in_order &= next == Some(chunk.at);
        self.as_header &= nbytes.is_none_or(|n| n == chunk.nbytes);
        if let Some(o) = offset.filter(|o| *o != chunk.at && self.suspected.is_none()) {
            self.suspected = Some(
                fail!(
                    Format,
                    "offsets: the offset of chunk {i} is wrong (expected {}, found {o})",
                    chunk.at
                )
                .at(i),
            );
        }
    }

    /// Removes the chunks from the index in `why` on.
    pub fn truncate_at(&mut self, why: Error) {
        let n = usize::try_from(why.position).unwrap_or(0);
        self.chunks.truncate(n);
        self.by_offsets = false;
        // an earlier chunk may already be lost
        if self.before_damage() == n {
            self.damage = Some(why);
        }
    }
}
