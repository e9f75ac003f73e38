//! The chunk table of a Bloscpack file: the position of each chunk, also in a damaged file.
//!
//! A chunk is found by its offset, or directly after the previous chunk. The offset has priority:
//! only offsets describe gaps and chunks out of order. If an offset is missing (-1 after a crash of
//! the writer) or does not lead to a chunk, the position after the previous chunk is tried. Without
//! offsets, only that position is used, up to the number of chunks in the header or the end of the
//! file.
//!
//! Every entry corresponds to 16 bytes in the file, whatever the number in the header. The size of
//! the table is therefore bounded by the file size and by the caller's limit.
#![forbid(unsafe_code)]

use super::header::Header;
use super::offsets;
use crate::alloc;
use crate::checksum::Checksum;
use crate::error::{Error, Result, fail};
use crate::io::File;

/// Size of the header of a Blosc chunk, or of the first half of a Blosc2 chunk header.
pub const BLOSC_HEADER: usize = 16;
/// Versions of the chunk format: Blosc writes 1 and 2, Blosc2 up to 5.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=5;
/// Version of the codec format; the same for all codecs so far.
const VERSION_LZ: u8 = 1;
/// Flag of a chunk that stores its content uncompressed.
const COPIED: u8 = 0x02;

/// A chunk that was found in the file, with the fields of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocatedChunk {
    /// Offset in the file.
    pub at: u64,
    /// Encoded size without the checksum; 0 for a lost chunk.
    pub cbytes: u32,
    /// Content size.
    pub nbytes: u32,
    /// Content size of a block.
    pub blocksize: u32,
    /// Version of the chunk format.
    pub version: u8,
    /// Version of the codec format.
    pub version_lz: u8,
    /// Flags: shuffle, copy, codec.
    pub flags: u8,
    /// Item size.
    pub typesize: u8,
}

impl LocatedChunk {
    /// Parses a chunk header at offset `at`; `None` if it is not a valid header.
    pub fn parse(at: u64, header: &[u8; BLOSC_HEADER]) -> Option<LocatedChunk> {
        let [
            version,
            version_lz,
            flags,
            typesize,
            n0,
            n1,
            n2,
            n3,
            b0,
            b1,
            b2,
            b3,
            c0,
            c1,
            c2,
            c3,
        ] = *header;
        let chunk = LocatedChunk {
            at,
            cbytes: u32::from_le_bytes([c0, c1, c2, c3]),
            nbytes: u32::from_le_bytes([n0, n1, n2, n3]),
            blocksize: u32::from_le_bytes([b0, b1, b2, b3]),
            version,
            version_lz,
            flags,
            typesize,
        };
        chunk.can_be().then_some(chunk)
    }

    fn can_be(&self) -> bool {
        let sizes_fit = match self.nbytes {
            0 => true,
            n => 0 < self.blocksize && self.blocksize <= n && n <= i32::MAX as u32,
        };
        let copy = u64::from(self.nbytes) + BLOSC_HEADER as u64;
        // unused bytes after the content are valid, except in uncompressed chunks
        let is_copy = self.flags & COPIED != 0 && self.version <= 2;
        VERSIONS.contains(&self.version)
            && self.version_lz == VERSION_LZ
            && self.typesize > 0
            && sizes_fit
            && self.cbytes as usize >= BLOSC_HEADER
            && (!is_copy || u64::from(self.cbytes) == copy)
    }

    /// Returns an entry for a chunk that was not found.
    fn lost(at: u64, nbytes: u32) -> LocatedChunk {
        LocatedChunk {
            at,
            cbytes: 0,
            nbytes,
            blocksize: 0,
            version: 0,
            version_lz: 0,
            flags: 0,
            typesize: 0,
        }
    }

    /// Returns true if the chunk was not found.
    pub fn is_lost(&self) -> bool {
        self.cbytes == 0
    }

    /// Returns the offset of the end of the chunk with its checksum.
    pub fn end(&self, sum: Checksum) -> u64 {
        self.at
            .saturating_add(u64::from(self.cbytes))
            .saturating_add(sum.size() as u64)
    }
}

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
    /// Finds the chunks of `file`. No allocation exceeds `limit` bytes. Returns an error if the
    /// file cannot be read or the limit is exceeded; corruption is reported in the table.
    pub fn read(file: &dyn File, header: &Header, limit: u64) -> Result<ChunkTable> {
        let offsets = offsets::read(file, header, limit)?;
        let mut search = Search {
            header,
            size: file.size()?,
            limit,
            window: Window::new(file),
            offsets_only: false,
        };
        let table = search.run(&offsets)?;
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
    fn overlaps(&self, sum: Checksum) -> Result<Option<(usize, Error)>> {
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
    fn without_overlong(mut self, sum: Checksum) -> Result<ChunkTable> {
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
    fn note(
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
    fn truncate_at(&mut self, why: Error) {
        let n = usize::try_from(why.position).unwrap_or(0);
        self.chunks.truncate(n);
        self.by_offsets = false;
        // an earlier chunk may already be lost
        if self.before_damage() == n {
            self.damage = Some(why);
        }
    }
}

/// A search for the chunks of one file.
struct Search<'a> {
    header: &'a Header,
    size: u64,
    limit: u64,
    window: Window<'a>,
    /// True if chunks are searched for at their stored offsets only.
    offsets_only: bool,
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
        let mut offsets = offsets.iter().map(|o| u64::try_from(*o).ok());
        for i in 0..nchunks.unwrap_or(u64::MAX) {
            if nchunks.is_none() && next == Some(self.size) {
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
        Ok(table)
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
        next.filter(|_| !self.offsets_only)
            .map_or(Ok(None), |at| self.chunk_at(at))
    }

    /// Returns the chunk at offset `at` if it and its checksum fit into the file.
    fn chunk_at(&mut self, at: u64) -> Result<Option<LocatedChunk>> {
        if at >= self.size {
            return Ok(None);
        }
        let chunk = self
            .window
            .header(at)?
            .and_then(|h| LocatedChunk::parse(at, &h));
        Ok(chunk.filter(|c| c.end(self.header.checksum) <= self.size))
    }

    /// Returns an error that explains why chunk `i` is not at `at`.
    fn why(&mut self, i: u64, at: u64) -> Result<Error> {
        let error = match self.window.header(at)? {
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

/// A read buffer for chunk headers. Reads many headers at once if chunks are small and in order.
struct Window<'a> {
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

impl<'a> Window<'a> {
    fn new(file: &'a dyn File) -> Window<'a> {
        Window {
            file,
            bytes: Vec::new(),
            at: 0,
            last: u64::MAX,
            streak: 0,
        }
    }

    /// Returns the 16 bytes at `at`; `None` if the file ends before.
    fn header(&mut self, at: u64) -> Result<Option<[u8; BLOSC_HEADER]>> {
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
