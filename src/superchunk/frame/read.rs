//! Reading: chunks as they are stored, their checksums, and bytes of content.
#![forbid(unsafe_code)]

use super::Frame;
use super::chunk::Chunk;
use super::entry::Entry;
use super::index::Slot;
use super::open::is_damage;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, lend};
use crate::superchunk::chunks::{Fill, Sink};
use crate::{memory, parallel};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Content that is worth another thread.
const WORTH: usize = 128 << 10;
/// Blocks that a chunk may have where nothing tells.
const BLOCKS: usize = 16;
/// The longest chunk that may hold nothing but an item, unless it has to be asked.
const MOST_FILL: u32 = 4 << 10;
/// Content that is held at once where all is read.
const PIECE: u64 = 64 << 20;
/// The same where the caller's limit is lower than any sense.
const LEAST_PIECE: u64 = 64 << 10;

/// A part of a chunk that is wanted.
struct Part<'a> {
    chunk: u64,
    /// From this byte of its content on.
    from: usize,
    dst: &'a mut [u8],
}

/// Whole blocks that follow each other, and where they go.
struct Run<'a> {
    first: usize,
    size: usize,
    dst: &'a mut [u8],
}

impl Sink for Run<'_> {
    fn place(&mut self, block: usize) -> Option<&mut [u8]> {
        let at = block.checked_sub(self.first)?.checked_mul(self.size)?;
        let n = self.size.min(self.dst.len().saturating_sub(at));
        self.dst.get_mut(at..)?.get_mut(..n)
    }

    fn put(&mut self, block: usize, content: &[u8]) -> Result<()> {
        let place = self.place(block).filter(|place| place.len() == content.len());
        place.ok_or_else(|| fail!(State, "no place for block {block}"))?.copy_from_slice(content);
        Ok(())
    }
}

/// What is done with a chunk, and its bytes where they are at hand.
pub(super) type With<'f> = &'f mut dyn FnMut(&Chunk, Option<&[u8]>) -> Result<()>;

impl Frame {
    /// The file that a chunk is in, where it begins there, and how many bytes it may have.
    pub(super) fn place_of(&self, entry: &Entry) -> Result<(Arc<dyn File>, u64, u64)> {
        let place = match entry.slot {
            Slot::At(place) => place,
            Slot::Unknown(place) if place >> 63 == 0 => return Err(fail!(Format, "the index says that it is at {place}, as others are")),
            Slot::Unknown(bits) => return Err(fail!(Format, "the index says {bits:#x} of it, which means nothing")),
            _ => return Err(fail!(State, "it is not stored")),
        };
        if self.site.sparse {
            let access = if self.options.get(crate::options::Opt::Io, 0) == 1 { Access::Map } else { Access::Read };
            let file = match self.site.folder.open(&self.site.chunk(place), access) {
                // the frame is there, and not all of it
                Err(e) if e.status == Status::Missing => return Err(fail!(Format, "its file is missing: {e}")),
                file => file?,
            };
            let room = file.size()?;
            return Ok((file, 0, room));
        }
        let file = self.file.as_ref().ok_or_else(|| fail!(State, "there is no file yet"))?;
        let room = self.header.cbytes.checked_sub(place).filter(|room| *room >= blosc::LONG as u64);
        let room = room.ok_or_else(|| fail!(Format, "it is at {place}, in {} bytes of chunks", self.header.cbytes))?;
        let at = place.checked_add(self.base).ok_or_else(|| fail!(Format, "it is at {place}"))?;
        Ok((file.clone(), at, room))
    }

    /// Calls `f` with a chunk that is stored, whose checksum is found to fit if there is one, and with its bytes if they
    /// are at hand.
    pub(super) fn with_chunk<R>(&self, i: u64, f: impl FnOnce(&Chunk, Option<&[u8]>) -> Result<R>) -> Result<R> {
        let (mut f, mut result) = (Some(f), None);
        let read = self.each_chunk(i, &mut |chunk, bytes| {
            result = f.take().map(|f| f(chunk, bytes)).transpose()?;
            Ok(())
        });
        // it may look damaged only because it was changed under us
        let still = || if self.owner == 0 || self.is_new() { self.still() } else { self.still_ours() };
        read.map_err(|e| still().err().unwrap_or_else(|| self.named(i, e)))?;
        self.still()?;
        result.ok_or_else(|| fail!(State, "{}: chunk {i}: nothing was read", self.name))
    }

    fn each_chunk(&self, i: u64, f: With) -> Result<()> {
        let entry = self.entry(i)?;
        if self.verify && entry.is_to_be_checked() {
            return self.with_entry(i, entry, f);
        }
        f(&*self.open_chunk(i, entry)?, None)
    }

    /// The same, checked now if there is a checksum.
    pub(super) fn with_entry(&self, i: u64, entry: &Entry, f: With) -> Result<()> {
        if !entry.has_sum() {
            return f(&*self.open_chunk(i, entry)?, None);
        }
        let (file, at, room) = self.place_of(entry)?;
        if u64::from(entry.cbytes) > room || (self.site.sparse && u64::from(entry.cbytes) != room) {
            return self.unchecked(i, entry, f, || fail!(Checksum, "it has {room} bytes of the {} that its CRC-32 is of", entry.cbytes));
        }
        lend::with_range(&*file, at, entry.cbytes as usize, self.memory_limit, |bytes| {
            if crc32(bytes) != entry.crc {
                return self.unchecked(i, entry, f, || fail!(Checksum, "its CRC-32 does not match what is stored"));
            }
            let chunk = Chunk::parse(&file, at, bytes, self.memory_limit)?.filter(|c| c.header().cbytes == bytes.len());
            let chunk = Arc::new(chunk.ok_or_else(|| fail!(Format, "it is longer than the {} bytes that its CRC-32 is of", bytes.len()))?);
            self.fits(i, chunk.header())?;
            entry.found(true);
            if let Some(place) = entry.place() {
                self.open_chunks.put(place, chunk.clone(), chunk.cost());
            }
            f(&chunk, Some(bytes))
        })
    }

    /// Goes on without the checksum, if another writer may have put this chunk where ours was.
    fn unchecked(&self, i: u64, entry: &Entry, f: With, e: impl Fn() -> Error) -> Result<()> {
        if self.binding {
            return Err(e());
        }
        entry.found(false);
        f(&*self.open_chunk(i, entry)?, None)
    }

    /// A chunk whose checksum nobody asks for.
    pub(super) fn open_chunk(&self, i: u64, entry: &Entry) -> Result<Arc<Chunk>> {
        let place = entry.place();
        if let Some(chunk) = place.and_then(|p| self.open_chunks.get(&p)) {
            return Ok(chunk);
        }
        let (file, at, room) = self.place_of(entry)?;
        let blocks = match self.header.blocksize as usize {
            0 => BLOCKS,
            size => self.header.chunksize.div_ceil(size as u32) as usize,
        };
        let chunk = Arc::new(Chunk::open(&file, at, room, blocks, self.memory_limit)?);
        self.fits(i, chunk.header())?;
        if let Some(place) = place {
            self.open_chunks.put(place, chunk.clone(), chunk.cost());
        }
        Ok(chunk)
    }

    fn fits(&self, i: u64, header: &blosc::Header) -> Result<()> {
        let span = self.span(i)?;
        if header.nbytes as u64 == span.end - span.start {
            return Ok(());
        }
        Err(fail!(Format, "it holds {} bytes; {} were expected", header.nbytes, span.end - span.start))
    }

    /// Refuses to go on where another writer may have written over what was there when it was opened.
    pub(super) fn still(&self) -> Result<()> {
        if self.owner != 0 || self.file.is_none() || self.is_still()? {
            return Ok(());
        }
        Err(fail!(State, "{}: it was changed since it was opened; open it again to read on", self.name))
    }

    fn is_still(&self) -> Result<bool> {
        let Some(file) = &self.file else { return Ok(true) };
        let same = !self.site.sparse || self.site.folder.identity(&self.site.main())? == Some(file.identity());
        let as_opened = same && (file.size()?, file.modified()?) == self.last.stamp;
        if as_opened || !same || !self.last.grows {
            return Ok(as_opened);
        }
        // whoever is not one of us writes over the trailer, and nobody else does
        let mut tail = [0; super::trailer::TAIL];
        let n = file.read_at(self.last.tail_at, &mut tail)?;
        Ok(tail.get(..n) == Some(&self.last.tail))
    }

    /// What all items of a chunk are, where nothing needs to be decoded for them.
    pub(super) fn fill_of(&self, i: u64) -> Result<Option<Fill>> {
        let Some(entry) = usize::try_from(i).ok().and_then(|i| self.entries.get(i)) else {
            return self.span(i).map(|_| None);
        };
        match entry.slot {
            Slot::Zeros | Slot::Uninit => Ok(Some(Fill::Zeros)),
            Slot::Nan => match self.header.typesize {
                4 => Ok(Some(Fill::Item(f32::NAN.to_le_bytes()[..].into()))),
                8 => Ok(Some(Fill::Item(f64::NAN.to_le_bytes()[..].into()))),
                n => Err(self.named(i, fail!(Format, "it claims to be all NaN, {n} bytes each"))),
            },
            // one that is all the same is hardly longer than an item
            _ if entry.cbytes > MOST_FILL => Ok(None),
            _ => {
                let peeked = self.open_chunk(i, entry).map(|chunk| chunk.fill().is_some());
                // a checksum tells more of a damaged header than what it looks like
                if !peeked.unwrap_or(true) {
                    return Ok(None);
                }
                self.with_chunk(i, |chunk, _| Ok(chunk.fill().cloned()))
            }
        }
    }

    /// The content that waits to be encoded as this chunk.
    pub(super) fn waiting(&self, i: u64) -> Option<&[u8]> {
        let behind = i.checked_sub(self.entries.len() as u64)?;
        self.pending.chunks(self.chunk_bytes().max(1)).nth(behind as usize)
    }

    /// Reads content from byte `at` on, until `dst` is full. True: some of it was damaged, and is zeros now,
    /// as the options wished.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at.checked_add(dst.len() as u64).filter(|&e| e <= self.nbytes());
        let end =
            end.ok_or_else(|| fail!(Range, "{}: bytes {at} to {}: there are {}", self.name, at.saturating_add(dst.len() as u64), self.nbytes()))?;
        let worth = dst.len() >= 2 * WORTH;
        let parts = self.cut(at..end, dst, if worth { self.file_threads() } else { 1 })?;
        // the first of those that fail, whatever the order in which they did
        let failed: Mutex<(Option<Error>, bool)> = Mutex::default();
        parallel::for_each(if worth { self.file_threads() } else { 1 }, parts, |mut p| {
            let read = self.read_chunk_part(&mut p).map_err(|e| self.named(p.chunk, e));
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            match read {
                Ok(bad) => failed.1 |= bad,
                Err(e) if failed.0.as_ref().is_none_or(|f| e.position < f.position) => failed.0 = Some(e),
                Err(_) => {}
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (Some(e), _) => Err(e),
            (None, bad) => Ok(bad || (self.skip_damaged && self.doubt.is_some())),
        }
    }

    /// Cuts a range of content into parts of chunks; chunks for several threads into several parts.
    fn cut<'a>(&self, bytes: Range<u64>, mut rest: &'a mut [u8], threads: usize) -> Result<Vec<Part<'a>>> {
        let chunks = self.holding(&bytes);
        let few = threads > 1 && chunks.end - chunks.start < 2 * threads as u64;
        let share = match self.block_bytes() {
            size if few && size > 0 => WORTH.max(rest.len() / threads / 2).next_multiple_of(size),
            _ => usize::MAX,
        };
        let mut parts = Vec::new();
        for chunk in chunks {
            let span = self.span(chunk)?;
            let (mut from, to) = ((span.start.max(bytes.start) - span.start) as usize, (span.end.min(bytes.end).saturating_sub(span.start)) as usize);
            while from < to {
                let end = (from / share).saturating_add(1).saturating_mul(share).min(to);
                let (dst, behind) = rest.split_at_mut_checked(end - from).ok_or_else(|| fail!(State, "too many bytes"))?;
                rest = behind;
                parts.push(Part { chunk, from, dst });
                from = end;
            }
        }
        Ok(parts)
    }

    fn read_chunk_part(&self, part: &mut Part<'_>) -> Result<bool> {
        if let Some(content) = self.waiting(part.chunk) {
            let own = content.get(part.from..).and_then(|c| c.get(..part.dst.len()));
            part.dst.copy_from_slice(own.ok_or_else(|| fail!(State, "bytes beyond the end"))?);
            return Ok(false);
        }
        self.or_zeros(self.stored_part(part.chunk, part.from, part.dst), |()| part.dst.fill(0))
    }

    /// Reads a part of a chunk that is there.
    pub(super) fn stored_part(&self, i: u64, from: usize, dst: &mut [u8]) -> Result<()> {
        match self.fill_of(i)? {
            Some(Fill::Zeros) => dst.fill(0),
            Some(Fill::Item(item)) => blosc::repeat(&item, from, dst),
            None => {
                let size = self.with_size(i)?;
                let (mut at, mut rest) = (from, dst);
                while !rest.is_empty() {
                    let (block, skip) = (at / size, at % size);
                    let span = self.span(i)?;
                    let len = ((span.end - span.start) as usize).saturating_sub(block * size).min(size);
                    let whole = if skip == 0 && rest.len() >= len { if len < size { rest.len() } else { rest.len() / size * size } } else { 0 };
                    if whole == 0 {
                        let (dst, behind) = rest.split_at_mut(len.saturating_sub(skip).min(rest.len()).max(1));
                        self.block_part(i, block, skip, dst)?;
                        (at, rest) = (at + dst.len(), behind);
                        continue;
                    }
                    let (dst, behind) = rest.split_at_mut(whole);
                    let wanted: Vec<usize> = (block..block + whole.div_ceil(size)).collect();
                    let mut run = Run { first: block, size, dst };
                    self.with_chunk(i, |chunk, have| chunk.read_blocks(have, &wanted, &mut run))?;
                    (at, rest) = (at + whole, behind);
                }
            }
        }
        Ok(())
    }

    /// Bytes of content in a block of this chunk.
    fn with_size(&self, i: u64) -> Result<usize> {
        let chunk = self.open_chunk(i, self.entry(i)?)?;
        Ok(chunk.header().blocksize.max(1))
    }

    /// Reads a part of a block of a chunk that is stored, from the block where it is kept.
    pub(super) fn block_part(&self, i: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<()> {
        let key = (self.entry(i)?.place().unwrap_or(u64::MAX), block);
        if let Some(whole) = self.blocks.get(&key) {
            let own = whole.get(from..).and_then(|w| w.get(..dst.len()));
            dst.copy_from_slice(
                own.ok_or_else(|| fail!(Range, "block {block} has {} bytes: there are no {} from {from} on", whole.len(), dst.len()))?,
            );
            return Ok(());
        }
        let decoded = self.with_chunk(i, |chunk, have| chunk.read_part(have, block, from, dst))?;
        if let Some(whole) = decoded.filter(|w| w.len() <= super::chunk::LONGEST_KEPT) {
            let cost = whole.len();
            self.blocks.put(key, whole, cost);
        }
        Ok(())
    }

    /// Damage reads as zeros where that is wished.
    pub(super) fn or_zeros<T>(&self, read: Result<T>, zero: impl FnOnce(())) -> Result<bool> {
        match read {
            Ok(_) => Ok(false),
            Err(e) if self.skip_damaged && is_damage(&e) => {
                zero(());
                Ok(true)
            }
            Err(e) => Err(e),
        }
    }

    /// Reads chunk `i` into `dst`, which has its size. True: as [`Frame::read`].
    pub fn read_chunk(&self, i: u64, dst: &mut [u8]) -> Result<bool> {
        let span = self.span(i)?;
        if dst.len() as u64 != span.end - span.start {
            let e = fail!(Argument, "it has {} bytes, there is room for {}", span.end - span.start, dst.len());
            return Err(self.named(i, e));
        }
        self.read(span.start, dst)
    }

    /// Calls `f` with chunk `i` as it is stored; one that takes no room, or waits, as it would be.
    pub fn with_raw<R>(&self, i: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let span = self.span(i)?;
        let entry = usize::try_from(i).ok().and_then(|i| self.entries.get(i));
        if entry.is_some_and(|e| matches!(e.slot, Slot::At(_) | Slot::Unknown(_))) {
            return self.with_chunk(i, |chunk, have| chunk.with_bytes(have, 0..chunk.header().cbytes, f));
        }
        let n = (span.end - span.start) as usize;
        if let Some(fill) = entry.map(|_| self.fill_of(i)).transpose()?.flatten() {
            return f(&self.filled(&fill, n)?);
        }
        let mut chunk = Vec::new();
        blosc::encode(self.params()?, self.waiting(i).unwrap_or_default(), &mut chunk, self.threads)?;
        f(&chunk)
    }

    /// Bytes of content, bytes as stored (0: it takes no room, or waits) and flags of a chunk.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        match usize::try_from(i).ok().and_then(|i| self.entries.get(i)).filter(|e| matches!(e.slot, Slot::At(_) | Slot::Unknown(_))) {
            Some(entry) => {
                let chunk = self.open_chunk(i, entry).map_err(|e| self.named(i, e))?;
                Ok((n, chunk.header().cbytes, chunk.header().flags))
            }
            None => Ok((n, 0, 0)),
        }
    }

    /// Calls `f` with all content, piece by piece. True: as [`Frame::read`].
    pub fn each_piece(&self, mut f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let piece = (self.chunk_bytes().max(1 << 20) as u64).saturating_mul(self.threads.max(1) as u64 * 2).min(PIECE);
        let piece = piece.min(self.memory_limit.max(LEAST_PIECE));
        let mut buffer = memory::zeroed(piece.min(self.nbytes()) as usize)?;
        let (mut at, n, mut bad) = (0, self.nbytes(), false);
        while at < n {
            let now = buffer.get_mut(..(n - at).min(piece) as usize).unwrap_or_default();
            bad |= self.read(at, now)?;
            f(now)?;
            at += now.len() as u64;
            self.options.progress(at, n)?;
        }
        Ok(bad)
    }
}
