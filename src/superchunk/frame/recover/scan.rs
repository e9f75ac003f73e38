//! Scans a frame whose index is lost for chunks. The header of each chunk states its length, which
//! leads to the next one. After a corrupt chunk, the scan continues at the next chunk header that
//! matches the frame.
#![forbid(unsafe_code)]

use crate::alloc;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Result, Status};
use crate::io::{Access, File, read_buffer};
use crate::slice::SliceExt;
use crate::superchunk::block_checksums;
use crate::superchunk::frame::header::Header;
use crate::superchunk::frame::index::{IndexSlot, LOST};
use crate::superchunk::frame::storage::FrameStorage;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

/// Bytes that are searched at a time.
const PIECE: usize = 64 << 10;

/// A chunk that was found: its offset or file number, its stored bytes and its content bytes.
#[derive(Clone, Copy, Debug)]
pub struct ScannedChunk {
    pub position: u64,
    cbytes: u32,
    pub nbytes: u32,
    /// The number of bytes after it, if it has checksums of its blocks there.
    after: usize,
}

/// The expected values of a chunk header.
struct ExpectedHeader<'a> {
    header: &'a Header,
    /// The lengths of the chunks with checksums.
    lengths: HashSet<u32>,
}

impl ExpectedHeader<'_> {
    fn parse(&self, position: u64, bytes: &[u8], room: u64) -> Option<ScannedChunk> {
        let own = blosc::Header::parse(bytes)
            .ok()
            .filter(|h| h.extended() && h.cbytes as u64 <= room)?;
        let (nbytes, cbytes) = (
            u32::try_from(own.nbytes).ok()?,
            u32::try_from(own.cbytes).ok()?,
        );
        let fits = match self.header.chunksize {
            0 => self.lengths.is_empty() || self.lengths.contains(&cbytes),
            size => nbytes == size || (nbytes < size && nbytes > 0 && !self.is_index(&own)),
        };
        fits.then_some(ScannedChunk {
            position,
            cbytes,
            nbytes,
            after: block_checksums::len_after(&own),
        })
    }

    fn is_index(&self, own: &blosc::Header) -> bool {
        own.typesize == 8 && self.header.typesize != 8
    }

    /// Can a chunk begin with these bytes? Used where no previous chunk leads to this offset.
    fn begins(&self, bytes: &[u8]) -> bool {
        let [3..=5, _, flags, _, n0, n1, n2, n3, ..] = *bytes else {
            return false;
        };
        let nbytes = u32::from_le_bytes([n0, n1, n2, n3]);
        flags & 5 == 5 && (nbytes == self.header.chunksize || self.header.chunksize == 0)
    }
}

/// A part of a file that is searched byte by byte.
struct Window<'a> {
    file: &'a dyn File,
    at: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// Returns bytes from an offset: at least as many as a chunk header has, if they exist.
    fn from(&mut self, at: u64, end: u64) -> Result<&[u8]> {
        let ends = self.at.saturating_add(self.bytes.len() as u64);
        if at < self.at || at.saturating_add(blosc::EXTENDED_HEADER_LEN as u64) > ends {
            let n = file_piece(end.saturating_sub(at));
            self.bytes = alloc::zeroed(n)?;
            let n = self.file.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(n);
            self.at = at;
        }
        self.bytes.at((at - self.at) as usize..)
    }
}

fn file_piece(left: u64) -> usize {
    usize::try_from(left).unwrap_or(PIECE).min(PIECE)
}

/// Finds the chunks of a contiguous frame, in the order in which they are stored. Offsets are
/// relative to `range.start`.
pub fn in_file(
    file: &dyn File,
    range: Range<u64>,
    header: &Header,
    checksums: &[[u32; 2]],
) -> Result<Vec<ScannedChunk>> {
    let expected = ExpectedHeader {
        header,
        lengths: checksums
            .iter()
            .map(|[n, _]| *n)
            .filter(|n| *n > 0)
            .collect(),
    };
    let (mut found, mut at) = (Vec::new(), range.start);
    let mut window = Window {
        file,
        at,
        bytes: Vec::new(),
    };
    while at.saturating_add(blosc::EXTENDED_HEADER_LEN as u64) <= range.end {
        let bytes = window.from(at, range.end)?;
        let Some(searched) = bytes
            .len()
            .checked_sub(blosc::EXTENDED_HEADER_LEN - 1)
            .filter(|n| *n > 0)
        else {
            break;
        };
        // directly after the previous chunk, or where a chunk may begin
        let hit = bytes
            .windows(blosc::EXTENDED_HEADER_LEN)
            .zip(at..)
            .find_map(|(bytes, here)| {
                let may = here == at || expected.begins(bytes);
                if may {
                    expected.parse(here - range.start, bytes, range.end - here)
                } else {
                    None
                }
            });
        at = match hit {
            Some(scanned) => {
                alloc::reserve(&mut found, 1)?;
                found.push(scanned);
                let end = range
                    .start
                    .saturating_add(scanned.position)
                    .saturating_add(scanned.cbytes.into());
                block_checksums::end_after(file, end, scanned.after)?
            }
            None => at.saturating_add(searched as u64),
        };
    }
    Ok(found)
}

/// Finds the chunks of a sparse frame, in the order of their file numbers.
pub fn in_folder(storage: &FrameStorage, header: &Header, limit: u64) -> Result<Vec<ScannedChunk>> {
    let (mut numbers, expected) = (
        storage.chunk_numbers()?,
        ExpectedHeader {
            header,
            lengths: HashSet::new(),
        },
    );
    numbers.sort_unstable();
    let mut found = alloc::with_capacity(numbers.len())?;
    for number in numbers {
        let file = storage
            .folder
            .open(&storage.chunk_path(number), Access::Read)?;
        let (size, n) = (file.size()?, blosc::EXTENDED_HEADER_LEN);
        let scanned = read_buffer::read(&*file, 0, n, limit)
            .map(|bytes| expected.parse(number, &bytes, size));
        match scanned {
            Ok(scanned) => found.extend(scanned.filter(|s| u64::from(s.cbytes) == size)),
            Err(e) if e.status == Status::Format => {}
            Err(e) => return Err(e),
        }
    }
    Ok(found)
}

/// Assigns the chunks that were found to chunk numbers by their checksums. Chunks without a
/// checksum become zeros; chunks that were not found become [`LOST`].
pub fn by_checksums(
    scanned: &[ScannedChunk],
    checksums: &[[u32; 2]],
    mut crc_of: impl FnMut(&ScannedChunk) -> Result<u32>,
) -> Result<Vec<IndexSlot>> {
    let mut there: HashMap<[u32; 2], (usize, VecDeque<u64>)> = HashMap::new();
    let mut lengths = HashSet::new();
    for sum in checksums {
        there.entry(*sum).or_default().0 += 1;
        lengths.insert(sum[0]);
    }
    for chunk in scanned.iter().filter(|s| lengths.contains(&s.cbytes)) {
        if let Some((uses, positions)) = there.get_mut(&[chunk.cbytes, crc_of(chunk)?]) {
            positions.push_back(chunk.position);
            // of more equal chunks than needed, the ones written first are outdated
            if positions.len() > *uses {
                positions.pop_front();
            }
        }
    }
    let mut slots = alloc::with_capacity(checksums.len())?;
    slots.extend(checksums.iter().map(|sum| {
        match there
            .get_mut(sum)
            .and_then(|(_, positions)| positions.pop_front())
        {
            _ if *sum == [0, 0] => IndexSlot::Zeros,
            Some(position) => IndexSlot::At(position),
            None => IndexSlot::Unknown(LOST),
        }
    }));
    Ok(slots)
}

/// Returns the CRC-32 of a chunk that was found.
pub fn crc_of(
    storage: &FrameStorage,
    file: &dyn File,
    base: u64,
    chunk: &ScannedChunk,
    limit: u64,
) -> Result<u32> {
    let n = chunk.cbytes as usize;
    if storage.sparse {
        let own = storage
            .folder
            .open(&storage.chunk_path(chunk.position), Access::Read)?;
        return Ok(crc32(&read_buffer::read(&*own, 0, n, limit)?));
    }
    let at = base.saturating_add(chunk.position);
    Ok(crc32(&read_buffer::read(file, at, n, limit)?))
}
