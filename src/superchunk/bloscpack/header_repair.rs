//! Reconstruction of a damaged header from the rest of the file.
//!
//! The first offset leads to the first chunk, which starts at the end of the offsets table. The
//! table thus determines its own position and length. That is sufficient if one of these fields is
//! damaged: the number of chunks, the number of spare offsets, the metadata section header, the
//! version, or the options. The result is a guess that fits the file; callers report it as such.
#![forbid(unsafe_code)]

use super::chunk_table::ChunkTable;
use super::header::{Dialect, ENTRY, Header, PREFIX};
use super::located_chunk::{BLOSC_HEADER, LocatedChunk};
use super::metadata;
use super::metadata_repair;
use super::offsets;
use crate::alloc;
use crate::checksum::{Checksum, Hasher};
use crate::error::{Error, Result, fail};
use crate::io::File;
use crate::slice::SliceExt;

/// Bytes of the file that are searched for the table.
const MAX_SEARCH: u64 = 16 << 20;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Maximum number of false candidates for the table.
const MAX_CANDIDATES: usize = 1000;
const VERSION: usize = 4;
const OPTIONS: usize = 5;
const CHECKSUM: usize = 6;
const NCHUNKS: usize = 16;
const LAST_FIELD: usize = 24;
const META: usize = 32;

/// A reconstructed header that fits the file.
pub struct RepairedHeader {
    /// The reconstructed header.
    pub header: Header,
    /// True if the metadata cannot be recovered.
    pub meta_is_lost: bool,
    /// An error that describes the damaged bytes.
    pub why: Error,
}

/// Reconstructs the header of `file` from its offsets. Returns `None` if no header fits, or if the
/// offsets match the existing header and the metadata cannot be recovered. No allocation exceeds
/// `limit` bytes.
pub fn repair_header(file: &dyn File, limit: u64) -> Result<Option<RepairedHeader>> {
    let mut prefix = [0; PREFIX];
    file.read_at(0, &mut prefix)?;
    let m = HeaderRepair {
        file,
        size: file.size()?,
        prefix,
        limit,
    };
    let fits = m.offsets_match(&prefix)?;
    let numbers = if fits { None } else { m.numbers()? };
    let found = match numbers.filter(|n| n.is_plausible) {
        Some(n) => Some(n.bytes),
        None if fits => None,
        None => m.version_and_options()?,
    };
    let (bytes, meta_is_lost) = match found {
        Some(bytes) => (bytes, false),
        None => match (m.metadata()?, numbers) {
            (Some((_, true)), _) if fits => return Ok(None),
            (Some(found), _) => found,
            (None, Some(n)) => (n.bytes, false),
            (None, None) => return Ok(None),
        },
    };
    match Header::parse(&bytes, m.size) {
        Ok(header) => Ok(m.why(&bytes).map(|why| RepairedHeader {
            header,
            meta_is_lost,
            why,
        })),
        Err(_) => Ok(None),
    }
}

/// Number of chunks whose checksums are tested. One intact chunk is sufficient.
const DIGESTS: usize = 4;

/// Finds the checksum type of a file whose header names none although every chunk is followed by a
/// checksum. Such a header is damaged, and other corruption would not be detected. Reads nothing if
/// chunks follow each other without gaps.
pub fn checksum(
    file: &dyn File,
    header: &Header,
    table: &ChunkTable,
) -> Result<Option<(Checksum, Error)>> {
    if header.checksum != Checksum::None || matches!(header.dialect, Dialect::V0 | Dialect::V1) {
        return Ok(None);
    }
    let Some((chunks, gap)) = table.separated(file.size()?)? else {
        return Ok(None);
    };
    for chunk in chunks.iter().take(DIGESTS) {
        for sum in Checksum::ALL.into_iter().filter(|s| s.size() as u64 <= gap) {
            if is_followed_by_digest(file, chunk, sum)? {
                let mut prefix = [0; PREFIX];
                file.read_at(0, &mut prefix)?;
                let m = HeaderRepair {
                    file,
                    size: 0,
                    prefix,
                    limit: 0,
                };
                return Ok(m.why(&m.with(CHECKSUM, [sum as u8])).map(|why| (sum, why)));
            }
        }
    }
    Ok(None)
}

/// Returns true if `chunk` is followed by its checksum. Zeros are reserved bytes and not a
/// checksum.
fn is_followed_by_digest(file: &dyn File, chunk: &LocatedChunk, sum: Checksum) -> Result<bool> {
    let (mut at, end) = (chunk.at, chunk.end(Checksum::None));
    let mut digest = alloc::zeroed(sum.size())?;
    file.read_exact_at(end, &mut digest)?;
    if digest.iter().all(|b| *b == 0) {
        return Ok(false);
    }
    let (mut piece, mut hasher) = (alloc::zeroed(PIECE)?, Hasher::new(sum));
    while at < end {
        let n = (end - at).min(PIECE as u64) as usize;
        let part = piece.at_mut(..n)?;
        file.read_exact_at(at, part)?;
        hasher.update(part);
        at += n as u64;
    }
    Ok(hasher.finish() == digest)
}

type Prefix = [u8; PREFIX];

/// A header with other numbers of chunks and spare offsets.
#[derive(Clone, Copy)]
struct Numbers {
    bytes: Prefix,
    /// True if every entry of the table can be an offset. If not, the damage is elsewhere or not
    /// limited to the header.
    is_plausible: bool,
}

struct HeaderRepair<'a> {
    file: &'a dyn File,
    size: u64,
    prefix: Prefix,
    limit: u64,
}

impl HeaderRepair<'_> {
    /// Returns an error that names the bytes that differ from the file; `None` if there is no
    /// difference.
    fn why(&self, bytes: &Prefix) -> Option<Error> {
        let differs = |(a, b): (&u8, &u8)| a != b;
        let first = self.prefix.iter().zip(bytes).position(differs)?;
        let last = self.prefix.iter().zip(bytes).rposition(differs)?;
        let (part, expected) = (
            if first < META {
                "header"
            } else {
                "metadata section header"
            },
            bytes.get(first..=last)?,
        );
        let stored = self.prefix.get(first..=last)?;
        let which = if first == last {
            format!("byte {first} is")
        } else {
            format!("bytes {first} to {last} are")
        };
        Some(fail!(
            Format,
            "{}: {part}: {which} damaged (expected {expected:02x?}, found {stored:02x?})",
            self.file.name()
        ))
    }

    fn with<const N: usize>(&self, at: usize, value: [u8; N]) -> Prefix {
        let mut bytes = self.prefix;
        put(&mut bytes, at, &value);
        bytes
    }

    /// Returns the position of the first chunk if `table` is the position of the offsets table.
    fn first_chunk(&self, table: u64) -> Result<Option<u64>> {
        let mut entry = [0; 8];
        let n = self.file.read_at(table, &mut entry)?;
        let at = u64::from_le_bytes(entry);
        Ok(if n == entry.len() && self.is_chunk(at)? {
            Some(at)
        } else {
            None
        })
    }

    fn is_chunk(&self, at: u64) -> Result<bool> {
        let mut header = [0; BLOSC_HEADER];
        Ok(at < self.size
            && self.file.read_at(at, &mut header)? == BLOSC_HEADER
            && LocatedChunk::parse(at, &header).is_some())
    }

    /// Returns true if the first offset matches this header.
    fn offsets_match(&self, bytes: &Prefix) -> Result<bool> {
        match Header::parse(bytes, self.size) {
            Ok(h) if h.has_offsets => Ok(self.first_chunk(h.offsets_at())? == Some(h.chunks_at())),
            _ => Ok(false),
        }
    }

    /// Reconstructs the numbers of chunks and spare offsets.
    fn numbers(&self) -> Result<Option<Numbers>> {
        let field = |at: usize| {
            self.prefix
                .get(at..at + 8)
                .and_then(|b| b.first_chunk())
                .map_or(0, |b| u64::from_le_bytes(*b))
        };
        // the RFC layout has the size of the metadata in the last field
        for mut bytes in [self.with(NCHUNKS, [0; 16]), self.with(NCHUNKS, [0; 8])] {
            let Ok(header) = Header::parse(&bytes, self.size) else {
                continue;
            };
            let table = header.offsets_at();
            let Some(first) = self.first_chunk(table)?.filter(|_| header.has_offsets) else {
                continue;
            };
            let Some(entries) = first
                .checked_sub(table)
                .filter(|n| n % ENTRY == 0 && *n > 0)
                .map(|n| n / ENTRY)
            else {
                continue;
            };
            let spares = header.dialect == Dialect::V3;
            let all = offsets::read(
                self.file,
                &Header {
                    nchunks: Some(entries),
                    ..header
                },
                self.limit,
            )?;
            let is_plausible = all.iter().all(|o| {
                *o == -1 || u64::try_from(*o).is_ok_and(|o| (first..self.size).contains(&o))
            });
            let used = all
                .iter()
                .rposition(|o| *o >= 0)
                .map_or(0, |i| i as u64 + 1);
            let n = match entries.checked_sub(field(LAST_FIELD)) {
                _ if !spares => entries,
                // one of the two numbers may be intact
                Some(n) if n >= used && field(NCHUNKS) != used => n,
                _ => used,
            };
            put(&mut bytes, NCHUNKS, &n.to_le_bytes());
            if spares {
                put(&mut bytes, LAST_FIELD, &(entries - n).to_le_bytes());
            }
            return Ok(Some(Numbers {
                bytes,
                is_plausible,
            }));
        }
        Ok(None)
    }

    fn version_and_options(&self) -> Result<Option<Prefix>> {
        for bytes in [
            self.with(VERSION, [3]),
            self.with(OPTIONS, [1]),
            self.with(OPTIONS, [3]),
        ] {
            if self.offsets_match(&bytes)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// Reconstructs the header of the metadata. The flag is true if the metadata is lost.
    fn metadata(&self) -> Result<Option<(Prefix, bool)>> {
        let [_, _, _, _, version, options, ..] = self.prefix;
        // first v3, then the RFC layout
        for (section, mut bytes) in [(true, self.prefix), (false, self.with(LAST_FIELD, [0; 8]))] {
            put(&mut bytes, OPTIONS, &[options & 1]);
            let Ok(header) = Header::parse(&bytes, self.size) else {
                continue;
            };
            if options & 3 != 3 || section && version != 3 {
                continue;
            }
            let Some(table) = self.find(header.offset_entries() * ENTRY)? else {
                continue;
            };
            bytes = self.prefix;
            let lost = if section {
                self.section(&mut bytes, table)
            } else {
                Some(rfc(&mut bytes, table, options & 4 != 0))
            };
            return Ok(lost.map(|lost| (bytes, lost)));
        }
        Ok(None)
    }

    /// Finds a table of `bytes` bytes that is directly followed by the first chunk.
    fn find(&self, bytes: u64) -> Result<Option<u64>> {
        let mut piece = vec![0; PIECE];
        let (mut at, mut candidates) = (META as u64, 0);
        while at < MAX_SEARCH {
            let n = self.file.read_at(at, &mut piece)?;
            for (i, entry) in piece.at(..n)?.windows(8).enumerate() {
                let (position, entry) = (
                    at + i as u64,
                    entry.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)),
                );
                if entry != position + bytes {
                    continue;
                }
                if self.is_chunk(entry)? {
                    return Ok(Some(position));
                }
                candidates += 1;
                if candidates > MAX_CANDIDATES {
                    return Ok(None);
                }
            }
            if n < piece.len() {
                break;
            }
            at += (n - 7) as u64;
        }
        Ok(None)
    }

    /// Reconstructs the section header for the bytes before the table. Returns true if no checksum
    /// matches.
    fn section(&self, bytes: &mut Prefix, table: u64) -> Option<bool> {
        let head = bytes.last_chunk_mut()?;
        let room = table
            .checked_sub(PREFIX as u64)
            .and_then(|n| u32::try_from(n).ok())?;
        let other = metadata_repair::other_head(self.file, head, room, self.limit);
        *head = other.or_else(|| metadata_repair::empty_head(room))?;
        Some(other.is_none())
    }
}

/// Sets the size of RFC metadata and their first byte. Returns true if that byte was wrong and the
/// metadata is lost.
fn rfc(bytes: &mut Prefix, table: u64, packed: bool) -> bool {
    put(bytes, LAST_FIELD, &(table - META as u64).to_le_bytes());
    let begins = |b: &Prefix| {
        b.last_chunk::<META>()
            .is_some_and(|rest| metadata::begins(rest, packed))
    };
    let lost = !begins(bytes);
    if lost {
        put(bytes, META, if packed { b"x" } else { b"{" });
    }
    lost
}

fn put(bytes: &mut Prefix, at: usize, value: &[u8]) {
    if let Some(field) = bytes.get_mut(at..).and_then(|b| b.get_mut(..value.len())) {
        field.copy_from_slice(value);
    }
}
