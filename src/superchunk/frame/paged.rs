//! The entries of a long frame, found page by page as they are asked for, so that opening it takes
//! no longer than opening a short one.
//!
//! That is done where nothing is lost by it: for reading, of a frame that has our seal and our
//! checksums. The header is held against the seal. The index and the checksums, each one Blosc
//! chunk, are decoded a page at a time. An entry with a checksum needs no other proof: one that
//! leads to the wrong place leads to a chunk that does not fit. What has none, as zeros that
//! take no room, hangs on the index alone: the first of them lets the whole index be held against
//! the seal, once.
//!
//! Whatever is not as it should be when a frame is opened lets all of it be read at once, which has
//! the words for it.
#![forbid(unsafe_code)]

use super::checksums::{self, MARKER, SUM, SUMS};
use super::chunk::Chunk;
use super::entry::Entry;
use super::header::Header;
use super::index::{self, ENTRY, LOST, Slot};
use super::trailer::{TAIL, Trailer};
use super::{Committed, part_checksum};
use crate::alloc;
use crate::blosc::LONG;
use crate::cache::{Budget, Lately};
use crate::checksum::{Hasher, Sum};
use crate::error::{Error, Result};
use crate::io::{File, read_buffer};
use crate::parallel::made;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// A frame of no more chunks is read at once (fuzzers have short ones).
const FEW: u64 = if cfg!(fuzzing) { 1 } else { 4096 };
/// Entries of a page: those in a block of an index.
pub(super) const PAGE: u64 = 2048;
/// Pages that a frame keeps, and bytes of those of all frames.
const KEPT: usize = 64;
static BUDGET: Budget = Budget::new(32 << 20);
/// What is read at a time of an index that is read as a whole.
const PIECE: u64 = 256 << 10;

/// See the top of the file.
pub(super) struct Paged {
    count: u64,
    index: Chunk,
    sums: Chunk,
    /// Bytes of the marker before them.
    marker: usize,
    pages: Lately<u64, Arc<Page>>,
    file: Arc<dyn File>,
    /// Where the index is stored, and the CRC-32 of that, which the seal has.
    stored: Range<u64>,
    crc: u32,
    /// Does it fit? Found when that is asked.
    whole: OnceLock<Result<()>>,
    limit: u64,
}

pub(super) struct Page {
    entries: Vec<Entry>,
    /// Stands for what is not on it.
    none: Entry,
}

/// An entry.
pub(super) enum Known<'a> {
    Here(&'a Entry),
    OnPage(Arc<Page>, usize),
}

impl Deref for Known<'_> {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        match self {
            Known::Here(entry) => entry,
            Known::OnPage(page, i) => page.entries.get(*i).unwrap_or(&page.none),
        }
    }
}

impl Paged {
    /// The entries of the frame that begins `at` with this header, and how it was found; none where
    /// they are to be read at once.
    pub(super) fn open(
        file: &Arc<dyn File>,
        at: u64,
        limit: u64,
        header: &Header,
        head: &[u8],
    ) -> Result<Option<(Box<Paged>, Committed)>> {
        if header.sparse || header.variable_chunks || header.chunks()? <= FEW {
            return Ok(None);
        }
        let end = at.saturating_add(header.frame_len);
        let tail_at = end.saturating_sub(TAIL as u64);
        let mut tail = [0; TAIL];
        file.read_exact_at(tail_at, &mut tail)?;
        let Some(crc) = part_checksum::index_sum(head, &tail) else {
            return Ok(None);
        };
        let trailer_len = Trailer::length(&tail)?;
        let (Some(place), Some(from)) = (
            header.index_place(trailer_len)?,
            end.checked_sub(trailer_len.into()),
        ) else {
            return Ok(None);
        };
        let Some(sums) = only_sums(&**file, from..tail_at)? else {
            return Ok(None);
        };
        let (count, begin) = (header.chunks()?, at.saturating_add(place.start));
        let index = open_chunk(file, begin..from, count, (ENTRY, 0), limit)?;
        let (Some(index), Some(sums)) =
            (index, open_chunk(file, sums, count, (SUM, MARKER), limit)?)
        else {
            return Ok(None);
        };
        let paged = Paged {
            count,
            stored: begin..begin.saturating_add(index.header().cbytes as u64),
            index,
            // frames of the first versions have none
            marker: if sums.header().nbytes as u64 == count * ENTRY as u64 {
                0
            } else {
                MARKER
            },
            sums,
            pages: Lately::new(KEPT, &BUDGET),
            file: file.clone(),
            crc,
            whole: OnceLock::new(),
            limit,
        };
        Ok(Some((
            Box::new(paged),
            Committed {
                header: head.to_vec(),
                tail: tail.to_vec(),
                tail_at,
                ..Committed::default()
            },
        )))
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.count
    }

    /// The entry of a chunk.
    pub(super) fn get(&self, i: u64) -> Result<Known<'static>> {
        let number = i / PAGE;
        let page = match self.pages.get(&number) {
            Some(page) => page,
            None => {
                let page = Arc::new(self.page(number)?);
                self.pages.put(
                    number,
                    page.clone(),
                    page.entries.len() * size_of::<Entry>(),
                );
                page
            }
        };
        Ok(Known::OnPage(page, (i % PAGE) as usize))
    }

    fn page(&self, number: u64) -> Result<Page> {
        let first = number.saturating_mul(PAGE);
        let n = self.count.saturating_sub(first).min(PAGE) as usize;
        alloc::allow(
            (n * (2 * ENTRY + size_of::<Entry>())) as u64,
            self.limit,
            "a page of the index of the chunks",
        )?;
        let (mut slots, mut sums) = (alloc::zeroed(n * ENTRY)?, alloc::zeroed(n * ENTRY)?);
        part(&self.index, first as usize * ENTRY, &mut slots)
            .map_err(|e| e.within("the index of the chunks"))?;
        part(&self.sums, self.marker + first as usize * ENTRY, &mut sums)
            .map_err(|e| e.within(format_args!("metalayer {SUMS:?}")))?;
        let mut entries = alloc::with_room(n)?;
        for (slot, sum) in index::slots(&slots).zip(checksums::pairs(&sums)) {
            if matches!(sum, [0, _]) {
                self.index_is_sound()?;
            }
            entries.push(Entry::sealed(slot, sum));
        }
        Ok(Page {
            entries,
            none: Entry::bare(Slot::Unknown(LOST)),
        })
    }

    /// Is the index as it was written?
    fn index_is_sound(&self) -> Result<()> {
        let sound = made(&self.whole, || {
            let mut sum = Hasher::new(Sum::Crc32);
            let mut at = self.stored.start;
            while at < self.stored.end {
                let n = (self.stored.end - at).min(PIECE);
                read_buffer::with_range(&*self.file, at, n as usize, self.limit, |bytes| {
                    sum.update(bytes);
                    Ok(())
                })?;
                at += n;
            }
            if sum.finish() == self.crc.to_le_bytes() {
                Ok(())
            } else {
                Err(part_checksum::damaged("index"))
            }
        });
        sound.as_ref().map_err(Error::clone).copied()
    }
}

/// Where the checksums are in a trailer that has no other metalayer, but for its last bytes.
fn only_sums(file: &dyn File, trailer: Range<u64>) -> Result<Option<Range<u64>>> {
    let before = Trailer::before_the_only(SUMS)?;
    let mut found = alloc::zeroed(before.len() + 4)?;
    let begin = trailer.start.saturating_add(found.len() as u64);
    let Some(n) = trailer.end.checked_sub(begin) else {
        return Ok(None);
    };
    file.read_exact_at(trailer.start, &mut found)?;
    let wanted = [&before[..], &(n as u32).to_be_bytes()].concat();
    Ok((found == wanted).then_some(begin..trailer.end))
}

/// The chunk at this offset that has 8 bytes for each of so many chunks, and `marker` bytes before
/// them or none.
fn open_chunk(
    file: &Arc<dyn File>,
    place: Range<u64>,
    count: u64,
    (typesize, marker): (usize, usize),
    limit: u64,
) -> Result<Option<Chunk>> {
    let room = place.end.saturating_sub(place.start);
    // where its blocks begin, if they have the usual length
    let first = LONG + 4 * count.div_ceil(PAGE) as usize;
    let chunk = Chunk::open(
        file,
        place.start,
        room,
        first.min(room as usize),
        limit,
        |chunk, _| Ok(chunk),
    )?;
    let h = chunk.header();
    let marked = (h.nbytes as u64).checked_sub(count.saturating_mul(ENTRY as u64));
    let fits = marked.is_some_and(|n| n == 0 || n == marker as u64)
        && h.typesize == typesize
        && h.cbytes as u64 <= room;
    Ok(fits.then_some(chunk))
}

/// Decodes the bytes from this offset on.
fn part(chunk: &Chunk, from: usize, dst: &mut [u8]) -> Result<()> {
    let (size, mut at, mut rest) = (chunk.header().blocksize.max(1), from, dst);
    while !rest.is_empty() {
        let (block, from) = (at / size, at % size);
        let n = rest.len().min(size - from);
        let (now, behind) = rest.split_at_mut_checked(n).unwrap_or_default();
        chunk.read_part(None, block, from, now, alloc::zeroed)?;
        (at, rest) = (at + n, behind);
    }
    Ok(())
}
