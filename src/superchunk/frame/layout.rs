//! The layout of a frame: its header, the entry of each stored chunk, and its metalayers. It is
//! parsed once. Only a writer changes it.
#![forbid(unsafe_code)]

use super::checksums::{self, CHECKSUMS};
use super::header::{Header, MAX_CHUNKS};
use super::index::entry::Entry;
use super::index::entry_list::EntryList;
use super::index::paged::{EntryRef, PagedEntries};
use super::index::{IndexSlot, invalidate_shared};
use super::part_checksum::Writer;
use super::parts::FrameParts;
use super::vlmeta::{self, Variable};
use crate::alloc;
use crate::blosc::Params;
use crate::error::{Error, Result, Status, fail};
use std::ops::Range;

/// What a frame contains, except for the content of its chunks.
pub struct FrameLayout {
    /// The file or folder name, for messages.
    pub(super) name: String,
    /// The current header. A commit sets the fields that are known only then.
    pub(super) header: Header,
    pub(super) entries: EntryList,
    /// Replaces `entries` in a frame that is open for reading and loads its entries on demand.
    pub(super) paged: Option<Box<PagedEntries>>,
    /// The content offset of each chunk, and the end of the last one. Set if chunks have variable
    /// length.
    pub(super) starts: Option<Vec<u64>>,
    /// Variable-length metalayers, without the one that holds the checksums.
    pub(super) vlmeta: Vec<Variable>,
    /// Does the frame store checksums of its chunks?
    pub(super) checksums: bool,
    /// Is a checksum mismatch corruption? False if another writer may have replaced chunks without
    /// updating the checksums.
    pub(super) checksums_trusted: bool,
    /// Corruption or loss outside of the chunks. Commits are refused while there is any.
    pub(super) corruption: Vec<Error>,
    /// Was the header lost, with its metalayers?
    pub(super) header_lost: bool,
    /// The parameters with which new chunks are encoded.
    pub(super) params: Result<Params>,
}

impl FrameLayout {
    /// Returns the layout of a frame without chunks.
    pub(super) fn new(name: String, header: Header) -> FrameLayout {
        FrameLayout {
            name,
            params: header.params(),
            header,
            entries: EntryList::default(),
            paged: None,
            starts: None,
            vlmeta: Vec::new(),
            checksums: false,
            checksums_trusted: true,
            corruption: Vec::new(),
            header_lost: false,
        }
    }

    /// Returns the layout of a committed frame. `starts` must be set afterwards if chunks have
    /// variable length.
    pub(super) fn of_parts(name: String, parts: FrameParts, limit: u64) -> Result<FrameLayout> {
        let mut layout = FrameLayout::new(name, parts.header);
        layout.checksums_trusted = parts.writer != Writer::Other;
        if let Some(paged) = parts.paged {
            (layout.checksums, layout.paged) = (true, Some(paged));
            return Ok(layout);
        }
        layout.load_chunks_and_metalayers(parts.slots, parts.vlmeta, limit)?;
        Ok(layout)
    }

    /// Loads chunks and metalayers.
    fn load_chunks_and_metalayers(
        &mut self,
        mut slots: Vec<IndexSlot>,
        vlmeta: Vec<(String, Vec<u8>)>,
        limit: u64,
    ) -> Result<()> {
        invalidate_shared(&mut slots)?;
        let mut value = Vec::new();
        for (name, chunk) in vlmeta {
            if name != CHECKSUMS {
                self.vlmeta.push(Variable::new(name, chunk));
                continue;
            }
            self.checksums = true;
            match vlmeta::decode(&chunk, limit) {
                Ok(bytes) => value = bytes,
                // another writer has changed this metalayer: it is not ours
                Err(e) if self.checksums_trusted => self
                    .corruption
                    .push(e.within(format_args!("{}: metalayer {CHECKSUMS:?}", self.name))),
                Err(_) => {}
            }
        }
        let checksums = checksums::numbers(&value);
        // a frame without chunks has no checksum metalayer
        self.checksums |= slots.is_empty() && self.checksums_trusted;
        if self.checksums_trusted
            && self.checksums
            && self.corruption.is_empty()
            && checksums.len() != slots.len() * 8
        {
            self.corruption.push(fail!(
                Format,
                "{}: the checksums of {} chunks have {} bytes",
                self.name,
                slots.len(),
                checksums.len()
            ));
        }
        let checksums = checksums::pairs(checksums).into_iter();
        let known = if self.checksums_trusted {
            Entry::sealed
        } else {
            Entry::stored
        };
        alloc::allow(
            (slots.len() * size_of::<Entry>()) as u64,
            limit,
            "the index of the chunks",
        )?;
        self.entries.reserve(slots.len())?;
        self.entries.extend(
            slots
                .into_iter()
                .zip(checksums.chain(std::iter::repeat([0, 0])))
                .map(|(slot, sum)| known(slot, sum)),
        );
        self.entries.set_committed();
        Ok(())
    }

    // ---- properties

    /// Returns the parameters with which new chunks are encoded.
    pub(super) fn params(&self) -> Result<&Params> {
        self.params
            .as_ref()
            .map_err(|e| e.clone().within(&self.name))
    }

    /// Returns the parameters, or an error if no chunk can be encoded with them.
    pub(super) fn encoding_params(&self) -> Result<&Params> {
        let params = self.params()?;
        // options were checked before they were applied, so the header is the cause
        params.check(0).map_err(|e| Error {
            status: Status::Unsupported,
            ..e.within(format_args!("{}: its header", self.name))
        })?;
        Ok(params)
    }

    /// Returns the number of encoded chunks.
    #[inline]
    pub(super) fn stored_chunks(&self) -> u64 {
        self.paged
            .as_ref()
            .map_or(self.entries.len() as u64, |paged| paged.len())
    }

    /// Returns the content bytes of each chunk except the last; 0 if chunks have variable length.
    #[inline]
    pub(super) fn chunk_bytes(&self) -> usize {
        if self.starts.is_some() {
            0
        } else {
            self.header.chunksize as usize
        }
    }

    /// Returns the content bytes of each block as arrays see it: those of a chunk if the header
    /// states none.
    #[inline]
    pub(super) fn array_block_bytes(&self) -> usize {
        match self.header.blocksize as usize {
            0 => self.chunk_bytes(),
            n => n,
        }
    }

    /// Is the last chunk as long as the others?
    pub(super) fn is_full(&self) -> bool {
        self.starts.is_some()
            || self
                .header
                .nbytes
                .is_multiple_of(u64::from(self.header.chunksize.max(1)))
    }

    /// Returns the total size of all stored chunks, if it is known without opening them.
    pub(super) fn chunk_files(&self) -> Option<u64> {
        let stored = self.entries.iter().filter(|e| e.position().is_some());
        stored
            .map(|e| e.length(self.checksums_trusted).map(u64::from))
            .try_fold(0u64, |n, of_it| Some(n.saturating_add(of_it?)))
    }

    /// Returns, for each stored chunk, the end of its content and the stored size up to there. None
    /// if sizes are not known without reading, also if entries are loaded on demand.
    pub(super) fn stored_ends(&self) -> Option<Vec<(u64, u64)>> {
        if self.paged.is_some() {
            return None;
        }
        let sizes = if self.header.sparse {
            let length = |e: &Entry| match e.position() {
                Some(_) => e.length(self.checksums_trusted).map(u64::from),
                None => Some(0),
            };
            self.entries.iter().map(length).collect::<Option<_>>()?
        } else {
            self.rooms()
        };
        let mut stored = 0u64;
        let end = |(i, size): (u64, u64)| {
            stored = stored.saturating_add(size);
            Some((self.span(i).ok()?.end, stored))
        };
        (0..).zip(sizes).map(end).collect()
    }

    /// Returns the distance from each chunk to the next one in the file; 0 for a chunk that takes no
    /// space.
    fn rooms(&self) -> Vec<u64> {
        let at = |(i, e): (usize, &Entry)| Some((e.position()?, i));
        let mut positions: Vec<_> = self.entries.iter().enumerate().filter_map(at).collect();
        positions.sort_unstable();
        let mut rooms = vec![0; self.entries.len()];
        let mut next = self.header.cbytes;
        for (position, i) in positions.into_iter().rev() {
            if let Some(room) = rooms.get_mut(i) {
                *room = next.saturating_sub(position);
            }
            next = position;
        }
        rooms
    }

    /// Returns the error of a header that is lost together with all its metalayers.
    pub(super) fn lost_header(&self) -> Option<&Error> {
        self.corruption.first().filter(|_| self.header_lost)
    }

    // ---- chunks

    /// Returns the content range of a stored chunk.
    pub(super) fn span(&self, i: u64) -> Result<Range<u64>> {
        let (begin, end) = match &self.starts {
            Some(starts) => {
                let at = |i: u64| usize::try_from(i).ok().and_then(|i| starts.get(i)).copied();
                (at(i), i.checked_add(1).and_then(at))
            }
            None => {
                let size = u64::from(self.header.chunksize);
                let begin = i.checked_mul(size).filter(|_| i < self.stored_chunks());
                let end = begin.map(|b| b.saturating_add(size).min(self.header.nbytes));
                (begin, end)
            }
        };
        begin
            .zip(end)
            .filter(|(b, e)| b <= e)
            .map(|(b, e)| b..e)
            .ok_or_else(|| self.no_chunk(i, self.stored_chunks()))
    }

    /// Returns the error for a chunk number that is out of range.
    pub(super) fn no_chunk(&self, i: u64, chunks: u64) -> Error {
        fail!(
            Range,
            "{}: chunk {i} is out of range (there are {chunks})",
            self.name
        )
        .at(i)
    }

    /// Returns the chunks that overlap a range of stored content.
    pub(super) fn chunks_overlapping(&self, bytes: &Range<u64>) -> Range<u64> {
        if bytes.is_empty() {
            return 0..0;
        }
        match &self.starts {
            Some(starts) => {
                let first = starts
                    .partition_point(|s| *s <= bytes.start)
                    .saturating_sub(1);
                first as u64..starts.partition_point(|s| *s < bytes.end) as u64
            }
            None => {
                let size = u64::from(self.header.chunksize).max(1);
                bytes.start / size..bytes.end.div_ceil(size)
            }
        }
    }

    /// Returns none if the chunk is not stored.
    pub(super) fn entry(&self, i: u64) -> Result<Option<EntryRef<'_>>> {
        let Some(paged) = &self.paged else {
            return Ok(usize::try_from(i)
                .ok()
                .and_then(|i| self.entries.get(i))
                .map(EntryRef::Loaded));
        };
        (i < paged.len()).then(|| paged.get(i)).transpose()
    }

    /// Adds the frame name and the chunk number to an error.
    pub(super) fn chunk_error(&self, i: u64, mut e: Error) -> Error {
        e.position = -1;
        let e = e.at(i);
        if e.message.starts_with(&self.name) {
            e
        } else {
            e.within(format_args!("{}: chunk {i}", self.name))
        }
    }

    // ---- changes

    /// Sets one chunk length in a frame without chunks.
    pub(super) fn set_chunk_length(&mut self, chunk_bytes: usize, block_bytes: usize) {
        let sizes = u32::try_from(chunk_bytes)
            .ok()
            .zip(u32::try_from(block_bytes).ok());
        if let Some((chunk, block)) = sizes.filter(|_| self.entries.is_empty()) {
            let header = &mut self.header;
            (header.chunksize, header.blocksize, self.starts) = (chunk, block, None);
            (
                header.version,
                header.variable_chunks,
                header.variable_blocks,
            ) = (2, false, false);
            if let Ok(params) = &mut self.params {
                params.blocksize = Some(block_bytes);
            }
        }
    }

    /// Switches to chunks of variable length, which begin at these content offsets.
    pub(super) fn set_variable_length(&mut self, starts: Vec<u64>) {
        self.starts = Some(starts);
        (
            self.header.variable_chunks,
            self.header.version,
            self.header.chunksize,
        ) = (true, 3, 0);
    }

    /// States that chunks have blocks of variable length.
    pub(super) fn set_variable_blocks(&mut self) {
        (self.header.variable_blocks, self.header.version) = (true, 3);
    }

    /// Fails if there is no space for one more chunk with `n` bytes.
    pub(super) fn check_room(&self, n: u64) -> Result<()> {
        let fits = self
            .header
            .nbytes
            .checked_add(n)
            .is_some_and(|n| i64::try_from(n).is_ok());
        if fits && (self.entries.len() as u64) < MAX_CHUNKS {
            return Ok(());
        }
        Err(fail!(
            Limit,
            "{}: {} chunks with {} bytes leave no space for more",
            self.name,
            self.entries.len(),
            self.header.nbytes
        ))
    }

    /// Returns the content bytes of `len` chunks, and `len` as the capacity of their entries, if a
    /// frame can have them.
    pub(super) fn check_chunk_count(&self, len: u64, limit: u64) -> Result<(u64, usize)> {
        let nbytes = len
            .checked_mul(self.header.chunksize.into())
            .filter(|n| i64::try_from(*n).is_ok() && len <= MAX_CHUNKS);
        let nbytes = nbytes.ok_or_else(|| {
            fail!(
                Limit,
                "{}: {len} chunks are more than a frame can have",
                self.name
            )
        })?;
        let room = len.saturating_mul(size_of::<Entry>() as u64);
        Ok((
            nbytes,
            alloc::allow(room, limit, "an index")? / size_of::<Entry>(),
        ))
    }

    /// Appends the entry of a chunk of `n` bytes.
    pub(super) fn push(&mut self, entry: Entry, n: usize) -> Result<()> {
        self.entries.reserve(1)?;
        self.entries.push(entry);
        self.header.nbytes += n as u64;
        let end = self.header.nbytes;
        if let Some(starts) = &mut self.starts {
            alloc::reserve(starts, 1)?;
            starts.push(end);
        }
        Ok(())
    }

    /// Inserts the entry of a chunk of `n` bytes before chunk `at`, or after the last one.
    pub(super) fn insert(&mut self, at: u64, entry: Entry, n: usize) -> Result<()> {
        self.entries.reserve(1)?;
        self.entries.insert(at as usize, entry);
        self.header.nbytes += n as u64;
        if let Some(starts) = &mut self.starts {
            alloc::reserve(starts, 1)?;
            let begin = starts.get(at as usize).copied().unwrap_or(0);
            starts.insert(at as usize, begin);
            starts
                .iter_mut()
                .skip(at as usize + 1)
                .for_each(|s| *s += n as u64);
        }
        Ok(())
    }

    /// Removes the entry of chunk `at`, which has `n` bytes.
    pub(super) fn remove(&mut self, at: u64, n: u64) {
        self.entries.remove(at as usize);
        if let Some(starts) = &mut self.starts {
            starts.remove(at as usize);
            starts.iter_mut().skip(at as usize).for_each(|s| *s -= n);
        }
        self.header.nbytes -= n;
        self.forget_chunk_length();
    }

    /// Removes the entry of the last chunk, which begins at this content offset.
    pub(super) fn pop(&mut self, last: u64, begin: u64) {
        self.entries.truncate(last as usize);
        self.starts
            .iter_mut()
            .for_each(|s| s.truncate(last as usize + 1));
        self.header.nbytes = begin;
        self.forget_chunk_length();
    }

    /// Allows the next chunk of blocks of variable length to have any length if there is none:
    /// c-blosc2 states the length of the only chunk, and would refuse a longer one after it is
    /// removed.
    fn forget_chunk_length(&mut self) {
        if self.entries.is_empty() && self.header.variable_blocks {
            self.set_variable_length(vec![0]);
        }
    }
}
