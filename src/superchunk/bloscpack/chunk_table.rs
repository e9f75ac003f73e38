//! The chunk table of a Bloscpack file: where each chunk is, and what is left of a damaged file.
//!
//! A chunk is found by its offset, or behind the chunk before it. Offsets come first: only they
//! know of gaps and of chunks out of order. Where one is missing (-1: the writer died) or does not
//! lead to a chunk, the place behind the chunk before is tried. Without offsets each chunk is found
//! in the second way, to the number in the header or to the end of the file.
//!
//! Every entry has its 16 bytes in the file, whatever number the header says; so the table is
//! bounded by the file, and by the caller's limit.
#![forbid(unsafe_code)]

use super::header::Header;
use super::offsets;
use crate::alloc;
use crate::checksum::Sum;
use crate::error::{Error, Result, fail};
use crate::io::File;

/// Bytes of a Blosc chunk's header, or the first half of it in chunks of Blosc2.
pub const BLOSC_HEADER: usize = 16;
/// Versions of the chunk format: 1 and 2 are Blosc's, those to 5 Blosc2's.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=5;
/// Version of the format inside, for all codecs so far.
const VERSION_LZ: u8 = 1;
/// A chunk that is a copy of its content.
const COPIED: u8 = 0x02;

/// One chunk in the file, and what its own header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Where it begins.
    pub at: u64,
    /// Its bytes in the file, without the digest; 0 where there is no chunk to be found.
    pub cbytes: u32,
    /// Its bytes, unpacked.
    pub nbytes: u32,
    /// Bytes of a block, unpacked.
    pub blocksize: u32,
    /// Version of the chunk format.
    pub version: u8,
    /// Version of what is inside.
    pub version_lz: u8,
    /// Flags: shuffle, copy, codec.
    pub flags: u8,
    /// Typesize.
    pub typesize: u8,
}

impl ChunkPlace {
    /// The chunk with this header at `at`, if it can be one.
    pub fn parse(at: u64, header: &[u8; BLOSC_HEADER]) -> Option<ChunkPlace> {
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
        let place = ChunkPlace {
            at,
            cbytes: u32::from_le_bytes([c0, c1, c2, c3]),
            nbytes: u32::from_le_bytes([n0, n1, n2, n3]),
            blocksize: u32::from_le_bytes([b0, b1, b2, b3]),
            version,
            version_lz,
            flags,
            typesize,
        };
        place.can_be().then_some(place)
    }

    fn can_be(&self) -> bool {
        let sizes_fit = match self.nbytes {
            0 => true,
            n => 0 < self.blocksize && self.blocksize <= n && n <= i32::MAX as u32,
        };
        let copy = u64::from(self.nbytes) + BLOSC_HEADER as u64;
        // room behind the content of a chunk is allowed, but for copies
        let is_copy = self.flags & COPIED != 0 && self.version <= 2;
        VERSIONS.contains(&self.version)
            && self.version_lz == VERSION_LZ
            && self.typesize > 0
            && sizes_fit
            && self.cbytes as usize >= BLOSC_HEADER
            && (!is_copy || u64::from(self.cbytes) == copy)
    }

    /// A chunk that is not to be found.
    fn lost(at: u64, nbytes: u32) -> ChunkPlace {
        ChunkPlace {
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

    /// Is it none?
    pub fn is_lost(&self) -> bool {
        self.cbytes == 0
    }

    /// Where what follows it begins, its digest counted in.
    pub fn end(&self, sum: Sum) -> u64 {
        self.at
            .saturating_add(u64::from(self.cbytes))
            .saturating_add(sum.size() as u64)
    }
}

/// All chunks of a file, in the order of their content.
#[derive(Clone, Debug)]
pub struct ChunkTable {
    /// The chunks. A lost one stands among them only where offsets lead to one behind it, and has
    /// the unpacked size that the header gives it.
    pub chunks: Vec<ChunkPlace>,
    /// Where the last of them in the file ends, with its digest; what comes then belongs to no
    /// chunk.
    pub end: u64,
    /// Is each of them where its offset says?
    pub by_offsets: bool,
    /// Do they follow each other in the file without gaps? Readers that know no offsets need that.
    pub in_order: bool,
    /// Have they the unpacked sizes that the header says? Headers of v0 and v1 say none.
    pub as_header: bool,
    /// Why the first lost chunk is lost; the error's position is its number.
    pub damage: Option<Error>,
    /// Something in the file speaks against the places of the chunks that are there, or against
    /// their number: a damaged header or table, or a writer that died.
    pub doubt: Option<Error>,
}

impl ChunkTable {
    /// Finds the chunks of `file`; no allocation is larger than `limit` bytes. Fails where the file
    /// cannot be read or the limit is passed; damage is in the table.
    pub fn read(file: &dyn File, header: &Header, limit: u64) -> Result<ChunkTable> {
        let offsets = offsets::read(file, header, limit)?;
        let mut search = Search {
            header,
            size: file.size()?,
            limit,
            window: Window::new(file),
            offsets_alone: false,
        };
        let table = search.run(&offsets)?;
        let mut table = search.without_overlaps(table, &offsets)?;
        if table.doubt.is_none() {
            table.doubt = search.doubt(&table)?;
        }
        let named = |e: Error| e.within(file.name());
        Ok(ChunkTable {
            damage: table.damage.map(named),
            doubt: table.doubt.map(named),
            ..table
        })
    }

    /// How many chunks there are before the first damage.
    pub fn before_damage(&self) -> usize {
        self.chunks
            .iter()
            .position(ChunkPlace::is_lost)
            .unwrap_or(self.chunks.len())
    }

    /// Where the chunks that were found begin and end, and their numbers, as they stand in the
    /// file.
    fn spans(&self, sum: Sum) -> Result<Vec<(u64, u64, usize)>> {
        let mut spans = alloc::with_room(self.chunks.len())?;
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

    /// Returns the chunks that were found, the shortest first, and the fewest bytes that are
    /// between one of them and what follows it; `None` if some follow each other at once.
    pub fn apart(&self, size: u64) -> Result<Option<(Vec<ChunkPlace>, u64)>> {
        if self.in_order && self.end == size {
            return Ok(None);
        }
        let spans = self.spans(Sum::None)?;
        let next = spans.iter().skip(1).map(|(at, ..)| *at).chain([size]);
        let gap = spans
            .iter()
            .zip(next)
            .map(|((_, end, _), next)| next.saturating_sub(*end))
            .min();
        let Some(gap) = gap.filter(|gap| *gap > 0) else {
            return Ok(None);
        };
        let mut found = alloc::with_room(spans.len())?;
        found.extend(self.chunks.iter().filter(|c| !c.is_lost()).copied());
        found.sort_unstable_by_key(|c| (c.cbytes, c.at));
        Ok(Some((found, gap)))
    }

    /// Chunks that share bytes: how many do, and the first two of them.
    fn overlaps(&self, sum: Sum) -> Result<Option<(usize, Error)>> {
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
                fail!(Format, "offsets: chunks {i} and {k} share bytes, at {at}").at(*k as u64),
            )
        }))
    }

    /// Takes those away that reach into the one behind them in the file.
    fn without_long_ones(mut self, sum: Sum) -> Result<ChunkTable> {
        let spans = self.spans(sum)?;
        for ((at, end, i), (next, _, k)) in spans.iter().zip(spans.iter().skip(1)) {
            if let Some(c) = self.chunks.get_mut(*i).filter(|_| at < next && next < end) {
                let why = fail!(
                    Format,
                    "chunk {i} at {at} says that it ends at {end}, and chunk {k} begins at {next}"
                )
                .at(*i as u64);
                *c = ChunkPlace::lost(*at, c.nbytes);
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

    /// Takes in chunk `i`, found where it is and expected elsewhere, maybe.
    fn note(
        &mut self,
        i: u64,
        chunk: &ChunkPlace,
        offset: Option<u64>,
        next: Option<u64>,
        nbytes: Option<u32>,
    ) {
        self.by_offsets &= offset == Some(chunk.at) && !chunk.is_lost();
        self.in_order &= next == Some(chunk.at);
        self.as_header &= nbytes.is_none_or(|n| n == chunk.nbytes);
        if let Some(o) = offset.filter(|o| *o != chunk.at && self.doubt.is_none()) {
            self.doubt =
                Some(fail!(Format, "offsets: chunk {i} is at {}, not at {o}", chunk.at).at(i));
        }
    }

    /// Nothing can be said for the chunks from the one that `why` names on.
    fn lose(&mut self, why: Error) {
        let n = usize::try_from(why.position).unwrap_or(0);
        self.chunks.truncate(n);
        self.by_offsets = false;
        // an earlier one may be lost already
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
    /// Are offsets all that counts?
    offsets_alone: bool,
}

impl Search<'_> {
    /// Finds them by these offsets, of which there may be none.
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
            doubt: None,
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
                    ChunkPlace::lost(at, nbytes.unwrap_or(0))
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

    /// What to believe where chunks share bytes.
    fn without_overlaps(&mut self, mut table: ChunkTable, offsets: &[i64]) -> Result<ChunkTable> {
        let Some((n, overlap)) = table.overlaps(self.header.checksum)? else {
            return Ok(table);
        };
        // perhaps a chunk was taken for the one behind it in the file, and is another one
        self.offsets_alone = true;
        let by_offsets = self.run(offsets)?;
        self.offsets_alone = false;
        if by_offsets.overlaps(self.header.checksum)?.is_none() {
            return Ok(by_offsets);
        }
        // or a wrong offset leads to another chunk, and all stand in order
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
                doubt: Some(overlap),
                ..walked
            });
        }
        // or a damaged chunk seems to be longer than it is
        let shorter = by_offsets.without_long_ones(self.header.checksum)?;
        if shorter.overlaps(self.header.checksum)?.is_none()
            && shorter.chunks.len() == table.chunks.len()
        {
            return Ok(shorter);
        }
        table.lose(overlap);
        Ok(table)
    }

    fn push(&self, chunks: &mut Vec<ChunkPlace>, chunk: ChunkPlace) -> Result<()> {
        if chunks.len() == chunks.capacity() {
            let more = chunks.len().max(64);
            let bytes = (chunks.len() + more) as u64 * size_of::<ChunkPlace>() as u64;
            alloc::allow(bytes, self.limit, "chunk table")?;
            alloc::reserve(chunks, more)?;
        }
        chunks.push(chunk);
        Ok(())
    }

    /// The chunk at its offset, or else behind the one before.
    fn find(&mut self, offset: Option<u64>, next: Option<u64>) -> Result<Option<ChunkPlace>> {
        // not the end of the table: its length may be what is wrong, and no chunk looks like an
        // offset
        if let Some(at) = offset.filter(|at| *at >= self.header.offsets_at())
            && let Some(chunk) = self.chunk_at(at)?
        {
            return Ok(Some(chunk));
        }
        next.filter(|_| !self.offsets_alone)
            .map_or(Ok(None), |at| self.chunk_at(at))
    }

    /// The chunk here, whole with its digest, as far as its header says so.
    fn chunk_at(&mut self, at: u64) -> Result<Option<ChunkPlace>> {
        if at >= self.size {
            return Ok(None);
        }
        let chunk = self
            .window
            .header(at)?
            .and_then(|h| ChunkPlace::parse(at, &h));
        Ok(chunk.filter(|c| c.end(self.header.checksum) <= self.size))
    }

    /// Why there is no chunk `i` here.
    fn why(&mut self, i: u64, at: u64) -> Result<Error> {
        let error = match self.window.header(at)? {
            None => fail!(
                Format,
                "chunk {i} was expected at {at}, the file has {} bytes",
                self.size
            ),
            Some(h) => match ChunkPlace::parse(at, &h) {
                None => fail!(
                    Format,
                    "chunk {i}: a chunk's header was expected at {at}, {h:02x?} is there"
                ),
                Some(c) => fail!(
                    Format,
                    "chunk {i} at {at}: {} bytes were expected with its digest, {} are there",
                    c.end(self.header.checksum) - at,
                    self.size.saturating_sub(at)
                ),
            },
        };
        Ok(error.at(i))
    }

    /// Unpacked bytes of chunk `i`, by the header.
    fn expected(&self, i: u64) -> Option<u32> {
        let last = self.header.nchunks.is_some_and(|n| i + 1 == n);
        if last {
            self.header.last_chunk
        } else {
            self.header.chunk_size
        }
    }

    /// Where chunks are missing: the first of those that are there that cannot be where it is, or
    /// does not follow the one before it.
    fn misplaced(&self, table: &ChunkTable) -> Option<usize> {
        table.damage.as_ref()?;
        let least = (BLOSC_HEADER + self.header.checksum.size()) as u64;
        // where not all are there, one that is lost may be any of those that are not
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

    /// What speaks against a table.
    fn doubt(&mut self, table: &ChunkTable) -> Result<Option<Error>> {
        let (n, from) = (table.chunks.len(), self.header.chunks_at());
        if self.header.nchunks == Some(0) && self.size > from {
            return Ok(Some(fail!(
                Format,
                "the header counts no chunks, and {} bytes are behind it",
                self.size - from
            )));
        }
        let first = table.chunks.iter().map(|c| c.at).min().unwrap_or(from);
        if first != from {
            return Ok(Some(fail!(
                Format,
                "the first chunk was expected behind the offsets at {from}, and is at {first}"
            )));
        }
        if let Some(i) = self.misplaced(table) {
            return Ok(Some(fail!(Format, "chunks are missing, and chunk {i} is not behind those before it: it may be another one").at(i as u64)));
        }
        let more = self.chunk_at(table.end)?.is_some();
        Ok(more.then(|| {
            let end = table.end;
            fail!(
                Format,
                "behind the last of {n} chunks, at {end}, there is one more"
            )
            .at(n as u64)
        }))
    }
}

/// Headers of chunks, many of them read at once where chunks are small and stand in order.
struct Window<'a> {
    file: &'a dyn File,
    bytes: Vec<u8>,
    at: u64,
    /// The header asked for last, and how many in a row were near the one before.
    last: u64,
    streak: u64,
}

/// Chunks up to this many bytes are small: a read of them all costs no more than one of each
/// header.
const NEAR: u64 = 16 << 10;
/// The least and the most that is read at once for small chunks.
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

    /// The 16 bytes at `at`; `None` where the file ends before.
    fn header(&mut self, at: u64) -> Result<Option<[u8; BLOSC_HEADER]>> {
        let step = at.checked_sub(self.last).filter(|step| *step <= NEAR);
        self.streak = step.map_or(0, |_| self.streak + 1);
        self.last = at;
        if let Some(found) = self.look(at) {
            return Ok(Some(found));
        }
        // as much as the chunks before make likely to be used
        let (least, most) = PIECE;
        let piece = step.map_or(BLOSC_HEADER as u64, |step| {
            self.streak.saturating_mul(step).clamp(least, most)
        });
        self.bytes.resize(piece as usize, 0);
        let n = self.file.read_at(at, &mut self.bytes)?;
        self.bytes.truncate(n);
        self.at = at;
        Ok(self.look(at))
    }

    fn look(&self, at: u64) -> Option<[u8; BLOSC_HEADER]> {
        let from = usize::try_from(at.checked_sub(self.at)?).ok()?;
        self.bytes.get(from..)?.first_chunk().copied()
    }
}
