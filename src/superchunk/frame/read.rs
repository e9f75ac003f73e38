//! Reading: chunks as they are stored, their checksums, and bytes of content.
#![forbid(unsafe_code)]

use super::Frame;
use super::chunk::Chunk;
use super::entry::Entry;
use super::index::{LOST, Slot};
use super::open::is_damage;
use crate::blosc::{self, Decoded};
use crate::checksum::crc32;
use crate::error::{Error, Result, Status, fail};
use crate::io::{Access, File, read_buffer};
use crate::superchunk::chunks::{Fill, Sink};
use crate::superchunk::staging::Pieces;
use crate::{alloc, parallel};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Content that is worth another thread.
const WORTH: usize = 128 << 10;
/// Blocks that a chunk may have where nothing tells.
const BLOCKS: usize = 16;
/// A chunk of no more bytes is read at once, and so is the way to a block that ends, as it seems,
/// before that. A read call costs as much as so many bytes, even where they are in memory already.
const NEAR: usize = 64 << 10;
/// Of a chunk of so many blocks that are all wanted it is not kept where they are: to read that
/// again takes next to nothing of such a call.
const MANY: usize = 8;
/// The longest chunk that may hold nothing but an item, unless it has to be asked.
const MOST_FILL: u32 = 4 << 10;

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

    fn put(&mut self, block: usize, content: &Decoded) -> Result<()> {
        let done = self
            .place(block)
            .is_some_and(|place| content.copy_from(0, place));
        if done {
            Ok(())
        } else {
            Err(fail!(State, "no place for block {block}"))
        }
    }
}

/// The last block that is wanted, and how many there are.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    pub(super) last: usize,
    pub(super) n: usize,
}

/// What is done with a chunk, and its bytes where they are at hand.
pub(super) type With<'f> = &'f mut dyn FnMut(&Chunk, Option<&[u8]>) -> Result<()>;

impl Frame {
    /// The file that a chunk is in, where it begins there, and how many bytes it may have.
    pub(super) fn place_of(&self, entry: &Entry) -> Result<(Arc<dyn File>, u64, u64)> {
        let place = match entry.slot {
            Slot::At(place) => place,
            Slot::Unknown(LOST) => {
                return Err(fail!(
                    Format,
                    "the index is damaged, and nothing else tells where it is"
                ));
            }
            Slot::Unknown(place) if place >> 63 == 0 => {
                return Err(fail!(
                    Format,
                    "the index says that it is at {place}, as others are"
                ));
            }
            Slot::Unknown(bits) => {
                return Err(fail!(
                    Format,
                    "the index says {bits:#x} of it, which means nothing"
                ));
            }
            _ => return Err(fail!(State, "it is not stored")),
        };
        if self.site.sparse {
            let access = if self.options.get(crate::options::Opt::Io, 0) == 1 {
                Access::Map
            } else {
                Access::Read
            };
            let file = match self.site.folder.open(&self.site.chunk(place), access) {
                // the frame is there, and not all of it
                Err(e) if e.status == Status::Missing => {
                    return Err(fail!(Format, "its file is missing: {e}"));
                }
                file => file?,
            };
            let room = file.size()?;
            return Ok((file, 0, room));
        }
        let file = self
            .file
            .as_ref()
            .ok_or_else(|| fail!(State, "there is no file yet"))?;
        let room = self
            .header
            .cbytes
            .checked_sub(place)
            .filter(|room| *room >= blosc::LONG as u64);
        let room = room.ok_or_else(|| {
            fail!(
                Format,
                "it is at {place}, in {} bytes of chunks",
                self.header.cbytes
            )
        })?;
        let at = place
            .checked_add(self.base)
            .ok_or_else(|| fail!(Format, "it is at {place}"))?;
        Ok((file.clone(), at, room))
    }

    /// Calls `f` with a chunk that is stored, whose checksum is found to fit if there is one, and
    /// with the bytes that it begins with if they are at hand.
    pub(super) fn with_chunk<R>(
        &self,
        i: u64,
        f: impl FnOnce(&Chunk, Option<&[u8]>) -> Result<R>,
    ) -> Result<R> {
        self.with_chunk_for(i, None, f)
    }

    /// The same for blocks that are wanted of it: where it was not opened lately, they may be read
    /// along.
    pub(super) fn with_chunk_for<R>(
        &self,
        i: u64,
        blocks: Option<Reach>,
        f: impl FnOnce(&Chunk, Option<&[u8]>) -> Result<R>,
    ) -> Result<R> {
        let (mut f, mut result) = (Some(f), None);
        let read = self.each_chunk(i, blocks, &mut |chunk, bytes| {
            result = f.take().map(|f| f(chunk, bytes)).transpose()?;
            Ok(())
        });
        // it may look damaged only because it was changed under us
        let still = || {
            if self.owner == 0 || self.is_new() {
                self.still()
            } else {
                self.still_ours()
            }
        };
        read.map_err(|e| still().err().unwrap_or_else(|| self.named(i, e)))?;
        self.still()?;
        result.ok_or_else(|| fail!(State, "{}: chunk {i}: nothing was read", self.name))
    }

    fn each_chunk(&self, i: u64, blocks: Option<Reach>, f: With) -> Result<()> {
        let entry = self.entry(i)?;
        if self.verify && entry.is_to_be_checked() {
            return self.with_entry(i, &entry, f);
        }
        self.with_opened(i, &entry, blocks, f)
    }

    /// The same, checked now if there is a checksum.
    pub(super) fn with_entry(&self, i: u64, entry: &Entry, f: With) -> Result<()> {
        if !entry.has_sum() {
            return f(&*self.open_chunk(i, entry)?, None);
        }
        let (file, at, room) = self.place_of(entry)?;
        if u64::from(entry.cbytes) > room || (self.site.sparse && u64::from(entry.cbytes) != room) {
            return self.unchecked(i, entry, f, || {
                fail!(
                    Checksum,
                    "it has {room} bytes of the {} that its CRC-32 is of",
                    entry.cbytes
                )
            });
        }
        read_buffer::with_range(
            &*file,
            at,
            entry.cbytes as usize,
            self.memory_limit,
            |bytes| {
                if crc32(bytes) != entry.crc {
                    return self.unchecked(i, entry, f, || {
                        fail!(Checksum, "its CRC-32 does not match what is stored")
                    });
                }
                let chunk = Chunk::parse(&file, at, bytes, self.memory_limit)?
                    .filter(|c| c.header().cbytes == bytes.len());
                let chunk = chunk.ok_or_else(|| {
                    fail!(
                        Format,
                        "it is longer than the {} bytes that its CRC-32 is of",
                        bytes.len()
                    )
                })?;
                let chunk = self.keep(i, entry, chunk)?;
                entry.found(true);
                f(&chunk, Some(bytes))
            },
        )
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
        if let Some(chunk) = self.opened_lately(entry) {
            return Ok(chunk);
        }
        let (file, at, room) = self.place_of(entry)?;
        Chunk::open(
            &file,
            at,
            room,
            self.first_bytes(i, entry, room, None),
            self.memory_limit,
            |chunk, _| self.keep(i, entry, chunk),
        )
    }

    /// Calls `f` with such a chunk, and with what was read of it just now.
    fn with_opened(&self, i: u64, entry: &Entry, blocks: Option<Reach>, f: With) -> Result<()> {
        if let Some(chunk) = self.opened_lately(entry) {
            return f(&chunk, None);
        }
        let (file, at, room) = self.place_of(entry)?;
        let n = self.first_bytes(i, entry, room, blocks);
        Chunk::open(&file, at, room, n, self.memory_limit, |chunk, bytes| {
            let all = blocks
                .is_some_and(|wanted| wanted.n >= MANY && wanted.n == chunk.header().blocks());
            if all {
                self.fits(i, chunk.header())?;
                return f(&chunk, Some(bytes));
            }
            f(&*self.keep(i, entry, chunk)?, Some(bytes))
        })
    }

    pub(super) fn opened_lately(&self, entry: &Entry) -> Option<Arc<Chunk>> {
        entry.place().and_then(|place| self.open_chunks.get(&place))
    }

    fn keep(&self, i: u64, entry: &Entry, chunk: Chunk) -> Result<Arc<Chunk>> {
        self.fits(i, chunk.header())?;
        let chunk = Arc::new(chunk);
        if let Some(place) = entry.place() {
            self.open_chunks.put(place, chunk.clone(), chunk.cost());
        }
        Ok(chunk)
    }

    /// How many of its bytes to read at first: where its blocks begin, or all of it, or up to the
    /// end of the last block that is wanted, as it seems: what is read now is held until they
    /// are decoded.
    fn first_bytes(&self, i: u64, entry: &Entry, room: u64, wanted: Option<Reach>) -> usize {
        let blocks = match self.header.blocksize as usize {
            0 => BLOCKS,
            size => self.header.chunksize.div_ceil(size as u32) as usize,
        };
        let head = blosc::LONG.saturating_add(blocks.saturating_mul(4));
        // it ends where the next one begins, if nothing tells more
        let next = || match (
            self.place(i.saturating_add(1)).ok().flatten(),
            entry.place(),
        ) {
            (Some(next), Some(own)) if !self.site.sparse && next > own => room.min(next - own),
            _ => room,
        };
        let length = usize::try_from(entry.length(self.binding).map_or_else(next, u64::from))
            .unwrap_or(usize::MAX);
        if length <= NEAR {
            return length;
        }
        let Some(Reach { last, .. }) = wanted else {
            return head;
        };
        let end = head.saturating_add(
            (length.saturating_sub(head) / blocks.max(1)).saturating_mul(last.saturating_add(1))
                / 8
                * 9,
        );
        if end <= NEAR { end.min(length) } else { head }
    }

    fn fits(&self, i: u64, header: &blosc::Header) -> Result<()> {
        let span = self.span(i)?;
        if header.nbytes as u64 == span.end - span.start {
            return Ok(());
        }
        Err(fail!(
            Format,
            "it holds {} bytes; {} were expected",
            header.nbytes,
            span.end - span.start
        ))
    }

    /// Refuses to go on where another writer may have written over what was there when it was
    /// opened.
    pub(super) fn still(&self) -> Result<()> {
        if self.owner != 0 || self.file.is_none() || self.is_still()? {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it was changed since it was opened; open it again to read on",
            self.name
        ))
    }

    fn is_still(&self) -> Result<bool> {
        let Some(file) = &self.file else {
            return Ok(true);
        };
        let same = !self.site.sparse
            || self.site.folder.identity(&self.site.main())? == Some(file.identity());
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
        let Some(entry) = self.entry_if_there(i)? else {
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
            _ => self.with_chunk(i, |chunk, _| Ok(chunk.fill().cloned())),
        }
    }

    /// The same, as far as it can be told without reading what is going to be read for its blocks
    /// as well.
    pub(super) fn fill_at_hand(&self, i: u64) -> Result<Option<Fill>> {
        match self.entry_if_there(i)? {
            Some(entry) if entry.place().is_some() => {
                let lately = self
                    .opened_lately(&entry)
                    .filter(|_| !(self.verify && entry.is_to_be_checked()));
                Ok(lately.and_then(|chunk| chunk.fill().cloned()))
            }
            _ => self.fill_of(i),
        }
    }

    /// The content that waits to be encoded as this chunk.
    pub(super) fn waiting(&self, i: u64) -> Option<&[u8]> {
        let behind = i.checked_sub(self.stored_chunks())?;
        self.pending
            .chunks(self.chunk_bytes().max(1))
            .nth(behind as usize)
    }

    /// Reads content from byte `at` on, until `dst` is full. True: some of it was damaged, and is
    /// zeros now, as the options wished.
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at
            .checked_add(dst.len() as u64)
            .filter(|&e| e <= self.nbytes());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{}: bytes {at} to {}: there are {}",
                self.name,
                at.saturating_add(dst.len() as u64),
                self.nbytes()
            )
        })?;
        let worth = dst.len() >= 2 * WORTH;
        let parts = self.cut(at..end, dst, if worth { self.file_threads() } else { 1 })?;
        // the first of those that fail, whatever the order in which they did
        let failed: Mutex<(Option<Error>, bool)> = Mutex::default();
        parallel::for_each(
            if worth { self.file_threads() } else { 1 },
            parts,
            |mut p| {
                let read = self
                    .read_chunk_part(&mut p)
                    .map_err(|e| self.named(p.chunk, e));
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                match read {
                    Ok(bad) => failed.1 |= bad,
                    Err(e) if failed.0.as_ref().is_none_or(|f| e.position < f.position) => {
                        failed.0 = Some(e)
                    }
                    Err(_) => {}
                }
            },
        );
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (Some(e), _) => Err(e),
            (None, bad) => Ok(bad || self.is_doubtful()),
        }
    }

    /// Cuts a range of content into parts of chunks; chunks for several threads into several parts.
    fn cut<'a>(
        &self,
        bytes: Range<u64>,
        mut rest: &'a mut [u8],
        threads: usize,
    ) -> Result<Vec<Part<'a>>> {
        let chunks = self.holding(&bytes);
        let few = threads > 1 && chunks.end - chunks.start < 2 * threads as u64;
        let share = match self.block_bytes() {
            size if few && size > 0 => WORTH.max(rest.len() / threads / 2).next_multiple_of(size),
            _ => usize::MAX,
        };
        let mut parts = Vec::new();
        for chunk in chunks {
            let span = self.span(chunk)?;
            let (mut from, to) = (
                (span.start.max(bytes.start) - span.start) as usize,
                (span.end.min(bytes.end).saturating_sub(span.start)) as usize,
            );
            while from < to {
                let end = (from / share)
                    .saturating_add(1)
                    .saturating_mul(share)
                    .min(to);
                let (dst, behind) = rest
                    .split_at_mut_checked(end - from)
                    .ok_or_else(|| fail!(State, "too many bytes"))?;
                rest = behind;
                parts.push(Part { chunk, from, dst });
                from = end;
            }
        }
        Ok(parts)
    }

    fn read_chunk_part(&self, part: &mut Part<'_>) -> Result<bool> {
        if let Some(content) = self.waiting(part.chunk) {
            let own = content
                .get(part.from..)
                .and_then(|c| c.get(..part.dst.len()));
            part.dst
                .copy_from_slice(own.ok_or_else(|| fail!(State, "bytes beyond the end"))?);
            return Ok(false);
        }
        self.or_zeros(self.stored_part(part.chunk, part.from, part.dst), |()| {
            part.dst.fill(0)
        })
    }

    /// Reads a part of a chunk that is there.
    pub(super) fn stored_part(&self, i: u64, from: usize, dst: &mut [u8]) -> Result<()> {
        match self.fill_at_hand(i)? {
            Some(Fill::Zeros) => dst.fill(0),
            Some(Fill::Item(item)) => blosc::repeat(&item, from, dst),
            None => {
                let block = |at: usize| at.checked_div(self.block_bytes());
                let blocks =
                    block(from).zip(block(from.saturating_add(dst.len().saturating_sub(1))));
                let reach = blocks.map(|(first, last)| Reach {
                    last,
                    n: last - first + 1,
                });
                self.with_chunk_for(i, reach, |chunk, have| {
                    match chunk.fill() {
                        Some(Fill::Zeros) => dst.fill(0),
                        Some(Fill::Item(item)) => blosc::repeat(item, from, dst),
                        None => self.part_of(i, chunk, have, from, dst)?,
                    }
                    Ok(())
                })?
            }
        }
        Ok(())
    }

    /// The same of one that is open.
    fn part_of(
        &self,
        i: u64,
        chunk: &Chunk,
        have: Option<&[u8]>,
        from: usize,
        dst: &mut [u8],
    ) -> Result<()> {
        let (size, all) = (chunk.header().blocksize.max(1), chunk.header().nbytes);
        let (mut at, mut rest) = (from, dst);
        while !rest.is_empty() {
            let (block, skip) = (at / size, at % size);
            let len = all.saturating_sub(block * size).min(size);
            let whole = if skip == 0 && rest.len() >= len {
                if len < size {
                    rest.len()
                } else {
                    rest.len() / size * size
                }
            } else {
                0
            };
            let n = if whole == 0 {
                len.saturating_sub(skip).min(rest.len()).max(1)
            } else {
                whole
            };
            let (dst, behind) = rest.split_at_mut_checked(n).unwrap_or_default();
            if whole == 0 {
                self.block_part_of(i, (chunk, have), block, skip, dst)?;
            } else {
                let wanted: Vec<usize> = (block..block + whole.div_ceil(size)).collect();
                chunk.read_blocks(
                    have,
                    &wanted,
                    &mut Run {
                        first: block,
                        size,
                        dst,
                    },
                )?;
            }
            (at, rest) = (at + n, behind);
        }
        Ok(())
    }

    /// Reads a part of a block of a chunk that is stored, from the block where it is kept. False:
    /// its blocks are not those of the frame.
    pub(super) fn block_part(
        &self,
        i: u64,
        block: usize,
        from: usize,
        dst: &mut [u8],
    ) -> Result<bool> {
        if self.kept_part(i, block, from, dst)? {
            return Ok(true);
        }
        self.with_chunk_for(
            i,
            Some(Reach { last: block, n: 1 }),
            |chunk, have| match self.blocks_fit(chunk)? {
                true => self
                    .block_part_of(i, (chunk, have), block, from, dst)
                    .map(|()| true),
                false => Ok(false),
            },
        )
    }

    fn block_part_of(
        &self,
        i: u64,
        (chunk, have): (&Chunk, Option<&[u8]>),
        block: usize,
        from: usize,
        dst: &mut [u8],
    ) -> Result<()> {
        if self.kept_part(i, block, from, dst)? {
            return Ok(());
        }
        let room = |n| match self
            .blocks
            .make_room(n)
            .and_then(|old| Arc::try_unwrap(old).ok())
        {
            Some(old) if old.len() == n => Ok(old),
            _ => alloc::zeroed(n),
        };
        if let Some(whole) = chunk
            .read_part(have, block, from, dst, room)?
            .filter(|w| w.len() <= super::chunk::LONGEST_KEPT)
        {
            let cost = whole.len();
            self.blocks.put(self.block_key(i, block)?, whole, cost);
        }
        Ok(())
    }

    fn block_key(&self, i: u64, block: usize) -> Result<(u64, usize)> {
        Ok((self.place(i)?.unwrap_or(u64::MAX), block))
    }

    /// The same from a block that is kept, if it is.
    fn kept_part(&self, i: u64, block: usize, from: usize, dst: &mut [u8]) -> Result<bool> {
        let Some(whole) = self.blocks.get(&self.block_key(i, block)?) else {
            return Ok(false);
        };
        let own = whole.get(from..).and_then(|w| w.get(..dst.len()));
        dst.copy_from_slice(own.ok_or_else(|| {
            fail!(
                Range,
                "block {block} has {} bytes: there are no {} from {from} on",
                whole.len(),
                dst.len()
            )
        })?);
        Ok(true)
    }

    /// Is something of it damaged or lost that its chunks do not tell of, and was that to be
    /// skipped?
    pub fn is_doubtful(&self) -> bool {
        self.skip_damaged && !self.doubts.is_empty()
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
            let e = fail!(
                Argument,
                "it has {} bytes, there is room for {}",
                span.end - span.start,
                dst.len()
            );
            return Err(self.named(i, e));
        }
        self.read(span.start, dst)
    }

    /// Calls `f` with chunk `i` as it is stored; one that takes no room, or waits, as it would be.
    pub fn with_raw<R>(&self, i: u64, f: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let span = self.span(i)?;
        let entry = self.entry_if_there(i)?;
        if entry
            .as_ref()
            .is_some_and(|e| matches!(e.slot, Slot::At(_) | Slot::Unknown(_)))
        {
            return self.with_chunk(i, |chunk, have| {
                chunk.with_bytes(have, 0..chunk.header().cbytes, f)
            });
        }
        let n = (span.end - span.start) as usize;
        if let Some(fill) = entry.map(|_| self.fill_of(i)).transpose()?.flatten() {
            return f(&self.filled(&fill, n)?);
        }
        let mut chunk = Vec::new();
        blosc::encode(
            self.params()?,
            self.waiting(i).unwrap_or_default(),
            &mut chunk,
            self.threads.count(),
        )?;
        f(&chunk)
    }

    /// Bytes of content, bytes as stored (0: it takes no room, or waits) and flags of a chunk.
    pub fn chunk_info(&self, i: u64) -> Result<(usize, usize, u8)> {
        let span = self.span(i)?;
        let n = (span.end - span.start) as usize;
        match self
            .entry_if_there(i)?
            .filter(|e| matches!(e.slot, Slot::At(_) | Slot::Unknown(_)))
        {
            Some(entry) => {
                let chunk = self.open_chunk(i, &entry).map_err(|e| self.named(i, e))?;
                Ok((n, chunk.header().cbytes, chunk.header().flags))
            }
            None => Ok((n, 0, 0)),
        }
    }

    /// Calls `f` with all content, piece by piece. True: as [`Frame::read`].
    pub fn each_piece(&self, f: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let (nbytes, chunk) = (self.nbytes(), self.chunk_bytes().max(1 << 20) as u64);
        let pieces = Pieces {
            nbytes,
            chunk,
            threads: self.threads.count(),
            limit: self.memory_limit,
            options: &self.options,
        };
        pieces.each(|at, dst| self.read(at, dst), f)
    }
}
