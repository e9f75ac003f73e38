//! Two tails of a long frame, each an index and a trailer, which small commits write alternately.
//!
//! A commit that writes the complete index of a long frame takes as long as the frame is long. Two
//! tails with room after them let a commit write only what is new: into the tail that the header
//! does not refer to, which is that of the commit before the last one. The header then refers to
//! it. New chunks are written to room before the first index, because the reference library appends
//! chunks at the index: all chunks must be before it.
//!
//! | content | bytes |
//! | --- | --- |
//! | room for chunks | |
//! | for each tail: mark, index, room | [`MARK`], 32 + 8 per chunk, not written |
//! | mark, trailer, room | [`MARK`], some + 8 per chunk, not written |
//!
//! Index and checksums are uncompressed Blosc chunks, so that an entry has the same offset in all
//! commits. Marks do not change. They lead a recovery from one part to the others:
//!
//! | bytes | content, little-endian |
//! | --- | --- |
//! | 8 | `holdpair` |
//! | 32 | offsets of the first index, its trailer, the second index, and its trailer, in the file |
//! | 4 | bytes of a trailer without those per chunk |
//! | 4 | CRC-32 of the bytes before |
#![forbid(unsafe_code)]

use super::checksums::{self, PAIR_BYTES};
use super::header::Header;
use super::index::entry::Entry;
use super::index::entry_list::EntryList;
use super::index::{self, ENTRY};
use super::part_checksum;
use super::trailer::TAIL;
use crate::alloc;
use crate::blosc::EXTENDED_HEADER_LEN;
use crate::checksum::{crc32, crc32_concat};
use crate::error::Result;
use crate::io::File;
use crate::slice::SliceExt;
use std::ops::Range;

/// Tests and fuzzers have short frames.
const SHORT: bool = cfg!(any(test, fuzzing));
/// Frames with fewer chunks have no pair: writing their index takes no longer than the rest of a
/// commit.
const MIN_CHUNKS: usize = if SHORT { 8 } else { 8 << 10 };
/// A commit of at most this fraction of the chunks is small.
const SMALL: usize = if SHORT { 2 } else { 64 };
/// A pair has room for this fraction of its chunks, and at least for [`MIN_ROOM`] chunks.
const ROOM: usize = 16;
const MIN_ROOM: usize = if SHORT { 3 } else { 1 << 10 };
/// The room for chunks has space for so many chunks of average size, between these sizes, and for
/// [`MIN_LARGE`] chunks, however large.
const MIN_CHUNK_ROOM: u64 = if SHORT { 0 } else { 64 << 10 };
const MAX_CHUNK_ROOM: u64 = 64 << 20;
const MIN_LARGE: u64 = 4;
/// Bytes of a mark.
pub const MARK: usize = 48;
const SIGNATURE: [u8; 8] = *b"holdpair";
/// Entries that are encoded at a time.
const PIECE: usize = 32 << 10;

/// The offsets of the parts of both tails in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairMark {
    /// Of each tail: the offsets of its index and of its trailer.
    pub tails: [[u64; 2]; 2],
    /// Bytes of a trailer without those per chunk.
    pub trailer_len: u32,
}

impl PairMark {
    /// Parses a mark; none if the bytes are none.
    pub fn parse(bytes: &[u8]) -> Option<PairMark> {
        let (content, crc) = bytes.first_chunk::<MARK>()?.split_last_chunk()?;
        let (signature, numbers) = content.split_first_chunk()?;
        if *signature != SIGNATURE || crc32(content) != u32::from_le_bytes(*crc) {
            return None;
        }
        let (offsets, len) = numbers.as_chunks();
        let [a, b, c, d] = offsets else { return None };
        let offset = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Some(PairMark {
            tails: [[offset(a), offset(b)], [offset(c), offset(d)]],
            trailer_len: u32::from_le_bytes(*len.first_chunk()?),
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend(
            self.tails
                .as_flattened()
                .iter()
                .flat_map(|at| at.to_le_bytes()),
        );
        bytes.extend(self.trailer_len.to_le_bytes());
        bytes.extend(crc32(&bytes).to_le_bytes());
        bytes
    }
}

/// Two tails, of which the header refers to one.
pub struct TailPair {
    mark: PairMark,
    /// The number of chunks for which the tails have room.
    capacity: usize,
    /// The bytes of a trailer before the length of the metalayer with the checksums.
    trailer_start: Vec<u8>,
    states: [TailState; 2],
    /// The tail to which the header refers.
    current: usize,
}

/// The entries that a tail holds.
#[derive(Clone, Default)]
struct TailState {
    /// The header of the commit of the tail.
    head: Vec<u8>,
    count: usize,
    /// CRC-32s of the slots and of the checksums of all entries but the last, which the next commit
    /// may replace.
    crcs: [u32; 2],
}

/// A tail with the entries of the next commit.
pub struct NewTail {
    /// Which tail it is.
    number: usize,
    state: TailState,
    /// The header that refers to it.
    pub header: Header,
    /// The last bytes of the trailer.
    pub tail: [u8; TAIL],
}

impl NewTail {
    /// Returns the bytes of the header that refers to the tail.
    pub fn head(&self) -> &[u8] {
        &self.state.head
    }
}

/// Returns whether a frame with so many chunks is long enough for a pair.
pub fn is_long(count: usize) -> bool {
    count >= MIN_CHUNKS
}

/// Returns whether a commit of these entries may be written to a pair: it only appends to a long
/// frame, and few chunks.
pub fn is_small_commit(entries: &EntryList) -> bool {
    let (count, new) = (entries.len(), entries.len() - entries.unchanged());
    is_long(count) && entries.is_appended() && new.saturating_mul(SMALL) <= count
}

impl TailPair {
    /// Plans a pair for a frame with `count` chunks, which end at offset `end` of the file. Returns
    /// none if the frame cannot have one.
    pub fn plan(
        header: &Header,
        end: u64,
        count: usize,
        trailer_start: &[u8],
    ) -> Result<Option<TailPair>> {
        let extra = (count / ROOM).max(MIN_ROOM);
        let each_chunk = end.saturating_sub(header.len()) / count.max(1) as u64 + 1;
        let for_chunks = each_chunk
            .saturating_mul(extra as u64)
            .clamp(MIN_CHUNK_ROOM, MAX_CHUNK_ROOM)
            .max(each_chunk.saturating_mul(MIN_LARGE));
        let chunks_end = end.saturating_add(for_chunks);
        TailPair::new(chunks_end, count.saturating_add(extra), trailer_start)
    }

    fn new(chunks_end: u64, capacity: usize, trailer_start: &[u8]) -> Result<Option<TailPair>> {
        let fixed = checksums::uncompressed_header(0)?.len() + trailer_start.len() + 4 + TAIL;
        let all = (capacity as u64).saturating_mul(ENTRY as u64);
        let (index, trailer) = (
            all.saturating_add(EXTENDED_HEADER_LEN as u64),
            all.saturating_add(fixed as u64),
        );
        let mut at = chunks_end;
        let mut next = |len: u64| {
            let begin = at.saturating_add(MARK as u64);
            at = begin.saturating_add(len);
            begin
        };
        let tails = [[next(index), next(trailer)], [next(index), next(trailer)]];
        let fits = i32::try_from(index.max(trailer)).is_ok() && i64::try_from(at).is_ok();
        Ok(fits.then_some(TailPair {
            mark: PairMark {
                tails,
                trailer_len: fixed as u32,
            },
            capacity,
            trailer_start: trailer_start.to_vec(),
            states: Default::default(),
            current: 0,
        }))
    }

    /// Returns the pair that has this mark, of a frame with this header and these entries. Returns
    /// none if the offsets of its index and trailer are not those of a tail.
    pub fn reopen(
        mark: &PairMark,
        offsets: [u64; 2],
        head: &[u8],
        entries: &[Entry],
        trailer_start: &[u8],
    ) -> Result<Option<TailPair>> {
        let [[index, trailer], _] = mark.tails;
        let chunks_end = index.checked_sub(MARK as u64);
        let len = trailer.checked_sub(index.saturating_add((EXTENDED_HEADER_LEN + MARK) as u64));
        let (Some(chunks_end), Some(len)) = (chunks_end, len) else {
            return Ok(None);
        };
        let capacity = usize::try_from(len).unwrap_or(usize::MAX) / ENTRY;
        let pair = TailPair::new(chunks_end, capacity, trailer_start)?;
        let current = mark.tails.iter().position(|tail| *tail == offsets);
        let fits = |pair: &TailPair| pair.mark == *mark && entries.len() <= capacity;
        let (Some(mut pair), Some(current)) = (pair.filter(fits), current) else {
            return Ok(None);
        };
        pair.current = current;
        *pair.states.at_mut(current)? = TailState {
            head: head.to_vec(),
            count: entries.len(),
            crcs: crcs_before_last(entries)?,
        };
        Ok(Some(pair))
    }

    /// Returns the end of the room for chunks in the file.
    pub fn chunks_end(&self) -> u64 {
        let [[index, _], _] = self.mark.tails;
        index.saturating_sub(MARK as u64)
    }

    /// Returns the offset after which the file has no bytes of the pair.
    pub fn end(&self) -> u64 {
        let [_, [_, trailer]] = self.mark.tails;
        trailer.saturating_add(self.trailer_len(self.capacity))
    }

    fn trailer_len(&self, count: usize) -> u64 {
        u64::from(self.mark.trailer_len).saturating_add((count * PAIR_BYTES) as u64)
    }

    /// Returns whether the tails have room for so many chunks, and these are the first bytes of the
    /// next trailer.
    pub fn fits(&self, count: usize, trailer_start: &[u8]) -> bool {
        count <= self.capacity && trailer_start == self.trailer_start
    }

    /// Writes the tail of the next commit, which must be small: the entries that the tail of the
    /// commit before the last one does not hold. The first commit writes both tails. Returns none if
    /// the header would be the one of the commit before the last one: readers recognize a commit by
    /// its header.
    pub fn write(
        &mut self,
        file: &dyn File,
        header: &Header,
        entries: &[Entry],
    ) -> Result<Option<NewTail>> {
        let other = 1 - self.current;
        let new = self.write_tail(other, file, header, entries)?;
        if new.state.head == self.states.at(other)?.head {
            return Ok(None);
        }
        if self.states.at(self.current)?.count == 0 {
            let same = self.write_tail(self.current, file, header, entries)?;
            *self.states.at_mut(self.current)? = same.state;
        }
        Ok(Some(new))
    }

    /// Records that the header refers to a tail that was written.
    pub fn set_current(&mut self, new: NewTail) -> Result<()> {
        self.current = new.number;
        *self.states.at_mut(new.number)? = new.state;
        Ok(())
    }

    /// Writes the entries to a tail, except those that it holds, and its last bytes.
    fn write_tail(
        &self,
        number: usize,
        file: &dyn File,
        header: &Header,
        entries: &[Entry],
    ) -> Result<NewTail> {
        let [index_at, trailer_at] = *self.mark.tails.at(number)?;
        let (count, state) = (entries.len(), self.states.at(number)?);
        let index_header = index::uncompressed_header(count)?;
        let trailer_start = self.trailer_before_checksums(count)?;
        let after = |at: u64, header: &[u8]| at.saturating_add(header.len() as u64);
        if state.count == 0 {
            let mark = self.mark.encode();
            for at in [index_at, trailer_at] {
                file.write_at(at.saturating_sub(MARK as u64), &mark)?;
            }
        }
        file.write_at(index_at, &index_header)?;
        file.write_at(trailer_at, &trailer_start)?;
        let (mut crcs, mut crcs_before_last) = (state.crcs, state.crcs);
        for part in pieces(state.count.saturating_sub(1), count) {
            let at = (part.start * ENTRY) as u64;
            let [slots, checksums] = encode(entries.at(part)?)?;
            file.write_at(after(index_at, &index_header).saturating_add(at), &slots)?;
            file.write_at(
                after(trailer_at, &trailer_start).saturating_add(at),
                &checksums,
            )?;
            crcs_before_last = crcs;
            crcs = concat(crcs, [&slots, &checksums]);
        }

        let trailer_len = self.trailer_len(count);
        let mut header = header.clone();
        header.cbytes = index_at.saturating_sub(header.len());
        header.frame_len = trailer_at.saturating_add(trailer_len);
        header.has_vlmeta = true;
        let [slots_crc, checksums_crc] = crcs;
        let index_crc = crc32_concat(crc32(&index_header), slots_crc, count * ENTRY);
        let before_crc = crc32_concat(crc32(&trailer_start), checksums_crc, count * PAIR_BYTES);
        let (head, tail) =
            part_checksum::seal_parts(&mut header, index_crc, before_crc, trailer_len as u32)?;
        file.write_at(header.frame_len.saturating_sub(TAIL as u64), &tail)?;
        Ok(NewTail {
            number,
            state: TailState {
                head,
                count,
                crcs: crcs_before_last,
            },
            header,
            tail,
        })
    }

    /// Returns the bytes of a trailer before the checksums of the chunks.
    fn trailer_before_checksums(&self, count: usize) -> Result<Vec<u8>> {
        let value = checksums::uncompressed_header(count)?;
        let len = (value.len() + count * PAIR_BYTES) as u32;
        Ok([&self.trailer_start[..], &len.to_be_bytes(), &value].concat())
    }
}

/// Divides the entries from `from` to `count` into ranges. The last entry is one of its own.
fn pieces(from: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    let last = count.saturating_sub(1);
    let starts = (from..last).step_by(PIECE);
    let part = move |start: usize| start..last.min(start.saturating_add(PIECE));
    starts.map(part).chain(std::iter::once(last..count))
}

/// Returns the CRC-32s of bytes with these CRC-32s and other bytes after them.
fn concat([slots, checksums]: [u32; 2], [more_slots, more_checksums]: [&[u8]; 2]) -> [u32; 2] {
    [
        crc32_concat(slots, crc32(more_slots), more_slots.len()),
        crc32_concat(checksums, crc32(more_checksums), more_checksums.len()),
    ]
}

/// Returns the CRC-32s of the slots and of the checksums of all entries but the last.
fn crcs_before_last(entries: &[Entry]) -> Result<[u32; 2]> {
    let before = entries.split_last().map_or(entries, |(_, before)| before);
    before.chunks(PIECE).try_fold([0; 2], |crcs, part| {
        let [slots, checksums] = encode(part)?;
        Ok(concat(crcs, [&slots, &checksums]))
    })
}

/// Encodes the slots and the checksums of entries.
fn encode(entries: &[Entry]) -> Result<[Vec<u8>; 2]> {
    let (mut slots, mut checksums) = (
        alloc::with_capacity(entries.len() * ENTRY)?,
        alloc::with_capacity(entries.len() * PAIR_BYTES)?,
    );
    for entry in entries {
        slots.extend(entry.slot.bits().to_le_bytes());
        checksums.extend(entry.checksum().iter().flat_map(|n| n.to_le_bytes()));
    }
    Ok([slots, checksums])
}
