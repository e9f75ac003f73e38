//! Header, index and trailer: reads those of a commit, and encodes those of the next one.
#![forbid(unsafe_code)]

use super::header::Header;
use super::index::paged::PagedEntries;
use super::index::{self, ENTRY, IndexSlot};
use super::metalayers::Named;
use super::part_checksum::{self, Writer};
use super::trailer::{TAIL, Trailer};
use crate::alloc;
use crate::blosc;
use crate::error::{Result, fail};
use crate::io::{File, read_buffer};
use crate::slice::SliceExt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the first read. Most headers are shorter.
const FIRST_READ: usize = 512;
/// Commits of another writer for which a reader waits while it reads header and trailer.
const SEAL_TRIES: usize = 1000;

/// Header, index and trailer of a frame.
pub struct FrameParts {
    pub header: Header,
    pub slots: Vec<IndexSlot>,
    /// Replaces `slots` and `vlmeta`.
    pub paged: Option<Box<PagedEntries>>,
    /// The variable-length metalayers of the trailer.
    pub vlmeta: Vec<Named>,
    pub writer: Writer,
    pub commit: Committed,
}

/// The bytes of a file by which a commit is recognized; empty before the first commit.
#[derive(Default)]
pub struct Committed {
    pub header: Vec<u8>,
    /// The last bytes of the trailer, and their offset.
    pub tail: Vec<u8>,
    pub tail_at: u64,
    /// The first slot of an uncompressed index, with its offset: later commits may add slots (see
    /// [`super::tail_pair`]).
    pub first_slot: Option<(u64, [u8; ENTRY])>,
}

impl Committed {
    /// `tail` are the bytes before offset `end`: at least the last ones of the trailer.
    pub fn new(header: Vec<u8>, mut tail: Vec<u8>, end: u64) -> Committed {
        tail.drain(..tail.len().saturating_sub(TAIL));
        Committed {
            header,
            tail_at: end.saturating_sub(tail.len() as u64),
            tail,
            first_slot: None,
        }
    }

    /// Returns the offset of the end of the trailer.
    pub fn end(&self) -> u64 {
        self.tail_at.saturating_add(self.tail.len() as u64)
    }
}

/// The bytes of a commit except the chunks.
pub struct EncodedParts {
    pub head: Vec<u8>,
    pub index_and_trailer: Vec<u8>,
}

impl EncodedParts {
    /// Encodes the parts, after setting the fields of the header that follow from the other parts.
    /// `sealed`: with checksums of the parts.
    pub fn new(
        header: &mut Header,
        slots: &[IndexSlot],
        trailer: &mut Trailer,
        sealed: bool,
    ) -> Result<EncodedParts> {
        let mut index = if slots.is_empty() {
            Vec::new()
        } else {
            index::encode(slots)?
        };
        header.has_vlmeta = !trailer.vlmeta.is_empty();
        let chunks = if header.sparse { 0 } else { header.cbytes };
        header.frame_len = header
            .len()
            .saturating_add(chunks)
            .saturating_add(index.len() as u64)
            .saturating_add(trailer.len());
        let (head, tail) = if sealed {
            part_checksum::seal(header, &index, trailer)?
        } else {
            part_checksum::unseal(header, trailer);
            (header.encode()?, trailer.encode()?)
        };
        alloc::reserve(&mut index, tail.len())?;
        index.extend_from_slice(&tail);
        Ok(EncodedParts {
            head,
            index_and_trailer: index,
        })
    }
}

impl FrameParts {
    /// Reads the parts of a single commit.
    pub fn read(file: &Arc<dyn File>, at: u64, limit: u64, paged: bool) -> Result<FrameParts> {
        let head = read_header(&**file, at, limit)?;
        let read = FrameParts::read_rest(file, at, limit, &head, paged);
        // a writer writes the header last: an unchanged header proves that the parts belong
        // together
        match read_header(&**file, at, limit) {
            Ok(again) if again == head => read,
            Ok(_) => Err(fail!(Busy, "another writer is changing it; try again")),
            Err(e) => Err(e),
        }
    }

    fn read_rest(
        file: &Arc<dyn File>,
        at: u64,
        limit: u64,
        head: &[u8],
        paged: bool,
    ) -> Result<FrameParts> {
        let header = Header::parse(head)?;
        let room = file.size()?.saturating_sub(at);
        if header.frame_len > room {
            return Err(fail!(
                Format,
                "the header states a frame of {} bytes (the file has {room} for it)",
                header.frame_len
            ));
        }
        let end = at.saturating_add(header.frame_len);
        let mut last = [0; TAIL];
        file.read_exact_at(end.saturating_sub(TAIL as u64), &mut last)?;
        // reading all entries at once reports any error of the paged ones
        if paged
            && let Ok(Some(paged)) = PagedEntries::open(file, at, limit, &header, (head, &last))
        {
            let mut commit = Committed::new(head.to_vec(), last.to_vec(), end);
            commit.first_slot = paged.first_slot();
            return Ok(FrameParts {
                header,
                slots: Vec::new(),
                paged: Some(paged),
                vlmeta: Vec::new(),
                writer: Writer::Holdall,
                commit,
            });
        }
        let file = &**file;
        let trailer_len = Trailer::length(&last)?;
        let from = end
            .checked_sub(trailer_len.into())
            .filter(|from| *from >= at + head.len() as u64);
        let from = from.ok_or_else(|| {
            fail!(
                Format,
                "a trailer of {trailer_len} bytes does not fit in the frame"
            )
        })?;
        let index = index_range(&header, trailer_len)?;
        let begin = index.as_ref().map_or(from, |range| at + range.start);
        let n = usize::try_from(end - begin).map_err(|_| {
            fail!(
                Limit,
                "an index and a trailer of {} bytes are too large",
                end - begin
            )
        })?;
        let bytes = read_buffer::read(file, begin, n, limit)?;
        let (index, tail) = bytes.cut((from - begin) as usize)?;
        let trailer = Trailer::parse(tail)?;
        let (index, slots) = if index.is_empty() {
            (index, Vec::new())
        } else {
            read_index(&header, index, limit)?
        };
        let writer = part_checksum::check(head, index, tail)?;
        let mut commit = Committed::new(head.to_vec(), last.to_vec(), end);
        if index.len() == blosc::EXTENDED_HEADER_LEN + slots.len() * ENTRY {
            let first = index.get(blosc::EXTENDED_HEADER_LEN..);
            let at = begin.saturating_add(blosc::EXTENDED_HEADER_LEN as u64);
            commit.first_slot = first.and_then(|slots| Some((at, *slots.first_chunk()?)));
        }
        Ok(FrameParts {
            header,
            slots,
            paged: None,
            vlmeta: trailer.vlmeta,
            writer,
            commit,
        })
    }
}

/// Reads the header bytes.
pub fn read_header(file: &dyn File, at: u64, limit: u64) -> Result<Vec<u8>> {
    let mut head = alloc::zeroed(FIRST_READ)?;
    let n = file.read_at(at, &mut head)?;
    head.truncate(n);
    if n < 15 {
        return Err(fail!(Format, "the file has {n} bytes, fewer than a frame"));
    }
    let len = Header::prefix_len(&head)?;
    if u64::from(len) > file.size()?.saturating_sub(at) {
        return Err(fail!(
            Format,
            "a header of {len} bytes does not fit in the file"
        ));
    }
    let len = alloc::allow(len.into(), limit, "a header")?;
    if len > head.len() {
        head = alloc::zeroed(len)?;
        file.read_exact_at(at, &mut head)?;
    }
    head.truncate(len);
    Ok(head)
}

/// Returns whether the last commit is one of this library, with a header of `header_len` bytes.
pub fn is_sealed(file: &dyn File, at: u64, header_len: usize) -> Result<bool> {
    let (mut head, mut again) = (alloc::zeroed(header_len)?, alloc::zeroed(header_len)?);
    file.read_at(at, &mut again)?;
    for _ in 0..SEAL_TRIES {
        std::mem::swap(&mut head, &mut again);
        let is_sealed = has_seal(file, at, &head)?;
        file.read_at(at, &mut again)?;
        // a writer that commits meanwhile overwrites the trailer of another header
        if is_sealed || again == head {
            return Ok(is_sealed);
        }
    }
    Ok(false)
}

/// Returns whether the trailer to which a header refers has the seal of this library for it.
fn has_seal(file: &dyn File, at: u64, head: &[u8]) -> Result<bool> {
    let Ok(header) = Header::parse(head) else {
        return Ok(false);
    };
    let mut tail = [0; TAIL];
    let tail_at = at
        .saturating_add(header.frame_len)
        .saturating_sub(TAIL as u64);
    let n = file.read_at(tail_at, &mut tail)?;
    Ok(n == TAIL && part_checksum::index_crc(head, &tail).is_some())
}

/// Returns the range of the index.
fn index_range(header: &Header, trailer_len: u32) -> Result<Option<Range<u64>>> {
    if !header.variable_chunks || header.nbytes == 0 {
        return header.index_range(trailer_len);
    }
    // only the index states the number of variable-length chunks
    Header {
        variable_chunks: false,
        chunksize: u32::MAX,
        ..header.clone()
    }
    .index_range(trailer_len)
}

/// Returns the stored index and its slots.
fn read_index<'b>(
    header: &Header,
    bytes: &'b [u8],
    limit: u64,
) -> Result<(&'b [u8], Vec<IndexSlot>)> {
    let own = blosc::Header::parse(bytes).map_err(|e| e.within("the index of the chunks"))?;
    let bytes = bytes.get(..own.cbytes).ok_or_else(|| {
        fail!(
            Format,
            "an index of {} bytes does not fit in the frame",
            own.cbytes
        )
    })?;
    let chunks = if header.variable_chunks {
        own.nbytes as u64 / 8
    } else {
        header.chunks()?
    };
    let slots = index::decode(bytes, chunks, limit)?;
    // one flipped bit can move one chunk out of range; more such chunks mean that the index was
    // decoded incorrectly
    let most = if header.sparse {
        u32::MAX.into()
    } else {
        header.cbytes
    };
    let mut out_of_range = slots
        .iter()
        .enumerate()
        .filter_map(|(i, slot)| {
            if let IndexSlot::At(position) = slot {
                Some((i, *position))
            } else {
                None
            }
        })
        .filter(|(_, at)| *at > most);
    match (out_of_range.next(), out_of_range.next()) {
        (Some((i, at)), Some(_)) => Err(fail!(
            Format,
            "the index of the chunks: chunk {i} has the position {at} (at most {most})"
        )
        .at(i as u64)),
        _ => Ok((bytes, slots)),
    }
}
