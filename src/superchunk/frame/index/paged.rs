//! The entries of a long frame, loaded page by page on demand, so that opening a long frame is as
//! fast as opening a short one.
//!
//! Pages are used only for reading a frame with the seal and the checksums of this library. The
//! header is verified against the seal. The index and the checksums, each one Blosc chunk, are
//! decoded one page at a time. An entry with a checksum needs no other verification: a wrong offset
//! leads to a chunk that does not match the checksum. Entries without a checksum, such as zeros
//! that are not stored, depend on the index alone: the first of them triggers one verification of
//! the complete index against the seal.
//!
//! If anything is unexpected on opening, all entries are read at once; that code reports the error.
#![forbid(unsafe_code)]

use super::entry::Entry;
use super::{ENTRY, IndexSlot, LOST};
use crate::alloc;
use crate::blosc::EXTENDED_HEADER_LEN;
use crate::cache::{CacheBudget, LruCache};
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, Result};
use crate::io::{File, read_buffer};
use crate::parallel::get_or_init;
use crate::slice::SliceExt;
use crate::superchunk::frame::checksums::{self, BIN_HEADER_BYTES, CHECKSUMS, INTEGER_BYTES, PAGE};
use crate::superchunk::frame::header::Header;
use crate::superchunk::frame::part_checksum;
use crate::superchunk::frame::trailer::{TAIL, Trailer};
use crate::superchunk::open_chunk::Chunk;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// A frame with at most this many chunks is read at once. Fuzzers have short frames.
const MAX_UNPAGED_CHUNKS: u64 = if cfg!(fuzzing) { 1 } else { 4096 };
/// Pages that a frame caches, and the memory limit for the pages of all frames.
const CACHED_PAGES: usize = 64;
static BUDGET: CacheBudget = CacheBudget::new(32 << 20);
/// Bytes that are read at a time to verify the complete index.
const PIECE: u64 = 256 << 10;

/// The entries of a frame, loaded on demand.
pub struct PagedEntries {
    count: u64,
    index: Chunk,
    checksums: Chunk,
    /// Bytes of the MessagePack header before the checksums.
    bin_header: usize,
    pages: LruCache<u64, Arc<Page>>,
    file: Arc<dyn File>,
    /// The range of the stored index, and its CRC-32 according to the seal.
    stored: Range<u64>,
    crc: u32,
    /// What later commits may overwrite: none if they write no part of these entries.
    overwritable: Option<Overwritable>,
    /// The result of verifying the index, computed on demand.
    index_check: OnceLock<Result<()>>,
    limit: u64,
}

/// The parts of an uncompressed index and its checksums that later commits may overwrite, as they
/// were on opening (see [`super::super::tail_pair`]).
struct Overwritable {
    /// The header of the index and its first slot, which identifies the index.
    start: [u8; EXTENDED_HEADER_LEN + ENTRY],
    last_slot: [u8; ENTRY],
    last_checksum: [u8; ENTRY],
}

pub struct Page {
    entries: Vec<Entry>,
    /// Stands for an entry that is not on the page; [`PagedEntries::get`] refuses those.
    none: Entry,
}

/// A reference to an entry in memory or on a cached page.
pub enum EntryRef<'a> {
    Loaded(&'a Entry),
    OnPage(Arc<Page>, usize),
}

impl Deref for EntryRef<'_> {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        match self {
            EntryRef::Loaded(entry) => entry,
            EntryRef::OnPage(page, i) => page.entries.get(*i).unwrap_or(&page.none),
        }
    }
}

impl PagedEntries {
    /// Opens the entries of the frame at offset `at` with this header. `head` and `tail` are its
    /// first and last bytes. Returns none if all entries must be read at once.
    pub fn open(
        file: &Arc<dyn File>,
        at: u64,
        limit: u64,
        header: &Header,
        (head, tail): (&[u8], &[u8; TAIL]),
    ) -> Result<Option<Box<PagedEntries>>> {
        if header.sparse || header.variable_chunks || header.chunks()? <= MAX_UNPAGED_CHUNKS {
            return Ok(None);
        }
        let end = at.saturating_add(header.frame_len);
        let Some(crc) = part_checksum::index_crc(head, tail) else {
            return Ok(None);
        };
        let trailer_len = Trailer::length(tail)?;
        let (Some(range), Some(from)) = (
            header.index_range(trailer_len)?,
            end.checked_sub(trailer_len.into()),
        ) else {
            return Ok(None);
        };
        let Some(checksums) = checksums_range(&**file, from..end.saturating_sub(TAIL as u64))?
        else {
            return Ok(None);
        };
        let (count, begin) = (header.chunks()?, at.saturating_add(range.start));
        let index = open_chunk(file, begin..from, count, (ENTRY, 0), limit)?;
        let (Some(index), Some(checksums)) = (
            index,
            open_chunk(
                file,
                checksums,
                count,
                (INTEGER_BYTES, BIN_HEADER_BYTES),
                limit,
            )?,
        ) else {
            return Ok(None);
        };
        let mut paged = PagedEntries {
            count,
            stored: begin..begin.saturating_add(index.stored.header().cbytes as u64),
            index,
            // the first versions of this library wrote no MessagePack header
            bin_header: if checksums.stored.header().nbytes as u64 == count * ENTRY as u64 {
                0
            } else {
                BIN_HEADER_BYTES
            },
            checksums,
            pages: LruCache::new(CACHED_PAGES, &BUDGET),
            file: file.clone(),
            crc,
            overwritable: None,
            index_check: OnceLock::new(),
            limit,
        };
        if paged.index.stored.is_copied() {
            paged.overwritable = Some(paged.read_overwritable()?);
        }
        Ok(Some(Box::new(paged)))
    }

    fn read_overwritable(&self) -> Result<Overwritable> {
        let (mut start, mut last_slot, mut last_checksum) =
            ([0; EXTENDED_HEADER_LEN + ENTRY], [0; ENTRY], [0; ENTRY]);
        self.file.read_exact_at(self.stored.start, &mut start)?;
        let last = self.count.saturating_sub(1);
        self.read_entries(last, &mut last_slot, &mut last_checksum)?;
        Ok(Overwritable {
            start,
            last_slot,
            last_checksum,
        })
    }

    /// Returns the first slot of an uncompressed index, with its offset in the file.
    pub fn first_slot(&self) -> Option<(u64, [u8; ENTRY])> {
        let start = &self.overwritable.as_ref()?.start;
        let at = self.stored.start.saturating_add(EXTENDED_HEADER_LEN as u64);
        Some((at, *start.last_chunk()?))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns the entry of a chunk.
    pub fn get(&self, i: u64) -> Result<EntryRef<'static>> {
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
        let i = (i % PAGE) as usize;
        page.entries.at(i)?;
        Ok(EntryRef::OnPage(page, i))
    }

    fn page(&self, number: u64) -> Result<Page> {
        let first = number.saturating_mul(PAGE);
        let n = self.count.saturating_sub(first).min(PAGE) as usize;
        alloc::allow(
            (n * (2 * ENTRY + size_of::<Entry>())) as u64,
            self.limit,
            "a page of the index of the chunks",
        )?;
        let (mut slots, mut checksums) = (alloc::zeroed(n * ENTRY)?, alloc::zeroed(n * ENTRY)?);
        self.read_entries(first, &mut slots, &mut checksums)?;
        if let Some(parts) = &self.overwritable
            && first + n as u64 == self.count
            && let (Some(slot), Some(checksum)) =
                (slots.last_chunk_mut(), checksums.last_chunk_mut())
        {
            (*slot, *checksum) = (parts.last_slot, parts.last_checksum);
        }
        let mut entries = alloc::with_capacity(n)?;
        for (slot, sum) in super::slots(&slots).zip(checksums::pairs(&checksums)) {
            if matches!(sum, [0, _]) {
                self.verify_index()?;
            }
            entries.push(Entry::sealed(slot, sum));
        }
        Ok(Page {
            entries,
            none: Entry::bare(IndexSlot::Unknown(LOST)),
        })
    }

    /// Reads the slots and the checksums of entries from `first` on.
    fn read_entries(&self, first: u64, slots: &mut [u8], checksums: &mut [u8]) -> Result<()> {
        let at = first as usize * ENTRY;
        part(&self.index, at, slots).map_err(|e| e.within("the index of the chunks"))?;
        part(&self.checksums, self.bin_header + at, checksums)
            .map_err(|e| e.within(format_args!("metalayer {CHECKSUMS:?}")))
    }

    /// Verifies the complete index against its CRC-32, once.
    fn verify_index(&self) -> Result<()> {
        let verified = get_or_init(&self.index_check, || {
            let mut sum = Hasher::new(Checksum::Crc32);
            let (first, last): (&[u8], &[u8]) = match &self.overwritable {
                Some(parts) => (&parts.start, &parts.last_slot),
                None => (&[], &[]),
            };
            sum.update(first);
            let mut at = self.stored.start + first.len() as u64;
            let end = self.stored.end.saturating_sub(last.len() as u64);
            while at < end {
                let n = (end - at).min(PIECE);
                sum.update(&read_buffer::read(&*self.file, at, n as usize, self.limit)?);
                at += n;
            }
            sum.update(last);
            if sum.finish() == self.crc.to_le_bytes() {
                Ok(())
            } else {
                Err(part_checksum::damaged("index"))
            }
        });
        verified.as_ref().map_err(Error::clone).copied()
    }
}

/// Returns the range of the checksums in a trailer that has no other metalayer. `trailer` ends
/// before the last [`TAIL`] bytes.
fn checksums_range(file: &dyn File, trailer: Range<u64>) -> Result<Option<Range<u64>>> {
    let before = Trailer::default().start_before(CHECKSUMS)?;
    let mut found = alloc::zeroed(before.len() + 4)?;
    let begin = trailer.start.saturating_add(found.len() as u64);
    let Some(n) = trailer.end.checked_sub(begin) else {
        return Ok(None);
    };
    file.read_exact_at(trailer.start, &mut found)?;
    let expected = [&before[..], &(n as u32).to_be_bytes()].concat();
    Ok((found == expected).then_some(begin..trailer.end))
}

/// Opens the chunk at this range if it has 8 bytes for each of `count` chunks, after a header of
/// `marker` bytes or none.
fn open_chunk(
    file: &Arc<dyn File>,
    range: Range<u64>,
    count: u64,
    (typesize, bin_header): (usize, usize),
    limit: u64,
) -> Result<Option<Chunk>> {
    let room = range.end.saturating_sub(range.start);
    // the block table, if blocks have the usual length
    let first = EXTENDED_HEADER_LEN + 4 * count.div_ceil(PAGE) as usize;
    let (chunk, _) = Chunk::open(file, range.start, room, first.min(room as usize), limit)?;
    let h = chunk.stored.header();
    let marked = (h.nbytes as u64).checked_sub(count.saturating_mul(ENTRY as u64));
    let fits = marked.is_some_and(|n| n == 0 || n == bin_header as u64)
        && h.typesize == typesize
        && h.cbytes as u64 <= room;
    Ok(fits.then_some(chunk))
}

/// Decodes bytes from this content offset.
fn part(chunk: &Chunk, from: usize, dst: &mut [u8]) -> Result<()> {
    chunk.stored.read(&chunk.source(None), from, dst, None)
}
