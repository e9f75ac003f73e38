//! A damaged header, mended with what the rest of the file says.
//!
//! The first offset leads to the first chunk, which begins where the table of offsets ends: so the
//! table says where it is and how long it is. That is enough where one of these is damaged: the
//! number of chunks, that of the spare offsets, the head of the metadata, the version, the options.
//! What is found is a guess that fits, and those who use it say so.
#![forbid(unsafe_code)]

use super::chunk_table::{BLOSC_HEADER, ChunkPlace, ChunkTable};
use super::header::{Dialect, ENTRY, Header, PREFIX};
use super::metadata;
use super::offsets;
use crate::alloc;
use crate::checksum::{Hasher, Sum};
use crate::error::{Error, Result, fail};
use crate::io::File;

/// Bytes of the file in which the table is looked for.
const MOST: u64 = 16 << 20;
/// Bytes of it that are read at once.
const PIECE: usize = 64 << 10;
/// Places that look like it, and are not, before that is given up.
const TRIES: usize = 1000;
const VERSION: usize = 4;
const OPTIONS: usize = 5;
const CHECKSUM: usize = 6;
const NCHUNKS: usize = 16;
const LAST_FIELD: usize = 24;
const META: usize = 32;

/// A header that fits the file.
pub struct Mended {
    /// The header as it should be.
    pub header: Header,
    /// Are the metadata beyond saving?
    pub meta_is_lost: bool,
    /// Which bytes are damaged.
    pub why: Error,
}

/// Finds another header for `file` that its offsets fit, unless they fit the one that it has and
/// the metadata cannot be saved. Memory for at most `limit` bytes.
pub fn mend(file: &dyn File, limit: u64) -> Result<Option<Mended>> {
    let mut prefix = [0; PREFIX];
    file.read_at(0, &mut prefix)?;
    let m = Mender {
        file,
        size: file.size()?,
        prefix,
        limit,
    };
    let fits = m.as_it_is(&prefix)?;
    let numbers = if fits { None } else { m.numbers()? };
    let found = match numbers.filter(|n| n.is_sound) {
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
        Ok(header) => Ok(m.why(&bytes).map(|why| Mended {
            header,
            meta_is_lost,
            why,
        })),
        Err(_) => Ok(None),
    }
}

/// Chunks whose digests are looked for. One that is intact is enough.
const DIGESTS: usize = 4;

/// Finds the checksum of a file whose header names none, where each chunk is followed by its
/// digest: then the header is damaged. Without this, other damage would be silent. Reads nothing
/// where chunks follow each other at once.
pub fn checksum(
    file: &dyn File,
    header: &Header,
    table: &ChunkTable,
) -> Result<Option<(Sum, Error)>> {
    if header.checksum != Sum::None || matches!(header.dialect, Dialect::V0 | Dialect::V1) {
        return Ok(None);
    }
    let Some((chunks, gap)) = table.apart(file.size()?)? else {
        return Ok(None);
    };
    for chunk in chunks.iter().take(DIGESTS) {
        for sum in Sum::ALL.into_iter().filter(|s| s.size() as u64 <= gap) {
            if follows(file, chunk, sum)? {
                let mut prefix = [0; PREFIX];
                file.read_at(0, &mut prefix)?;
                let m = Mender {
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

/// Is this chunk followed by its digest? Zeros are none: they are room that a writer left.
fn follows(file: &dyn File, chunk: &ChunkPlace, sum: Sum) -> Result<bool> {
    let (mut at, end) = (chunk.at, chunk.end(Sum::None));
    let mut digest = alloc::zeroed(sum.size())?;
    file.read_exact_at(end, &mut digest)?;
    if digest.iter().all(|b| *b == 0) {
        return Ok(false);
    }
    let (mut piece, mut hasher) = (alloc::zeroed(PIECE)?, Hasher::new(sum));
    while at < end {
        let n = (end - at).min(PIECE as u64) as usize;
        let part = piece.get_mut(..n).unwrap_or_default();
        file.read_exact_at(at, part)?;
        hasher.update(part);
        at += n as u64;
    }
    Ok(hasher.finish() == digest)
}

type Prefix = [u8; PREFIX];

/// A header with other numbers.
#[derive(Clone, Copy)]
struct Numbers {
    bytes: Prefix,
    /// May every entry of its table be an offset? Some are no chunks' where it is not the header
    /// that is damaged, or more.
    is_sound: bool,
}

struct Mender<'a> {
    file: &'a dyn File,
    size: u64,
    prefix: Prefix,
    limit: u64,
}

impl Mender<'_> {
    /// Which bytes of the file differ from these; `None` where they do not.
    fn why(&self, bytes: &Prefix) -> Option<Error> {
        let differs = |(a, b): (&u8, &u8)| a != b;
        let first = self.prefix.iter().zip(bytes).position(differs)?;
        let last = self.prefix.iter().zip(bytes).rposition(differs)?;
        let (part, expected) = (
            if first < META {
                "header"
            } else {
                "metadata head"
            },
            bytes.get(first..=last)?,
        );
        let there = self.prefix.get(first..=last)?;
        let which = if first == last {
            format!("byte {first} is")
        } else {
            format!("bytes {first} to {last} are")
        };
        Some(fail!(
            Format,
            "{}: {part}: {which} damaged: {there:02x?} is there, {expected:02x?} would fit",
            self.file.name()
        ))
    }

    fn with<const N: usize>(&self, at: usize, value: [u8; N]) -> Prefix {
        let mut bytes = self.prefix;
        put(&mut bytes, at, &value);
        bytes
    }

    /// Where the first chunk is, if there is one at that place.
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
            && ChunkPlace::parse(at, &header).is_some())
    }

    /// Do the offsets fit a header like this?
    fn as_it_is(&self, bytes: &Prefix) -> Result<bool> {
        match Header::parse(bytes, self.size) {
            Ok(h) if h.has_offsets => Ok(self.first_chunk(h.offsets_at())? == Some(h.chunks_at())),
            _ => Ok(false),
        }
    }

    /// With other numbers of chunks and of spare offsets.
    fn numbers(&self) -> Result<Option<Numbers>> {
        let field = |at: usize| {
            self.prefix
                .get(at..at + 8)
                .and_then(|b| b.first_chunk())
                .map_or(0, |b| u64::from_le_bytes(*b))
        };
        // the size of metadata is in the last field, in the older layout
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
            let is_sound = all.iter().all(|o| {
                *o == -1 || u64::try_from(*o).is_ok_and(|o| (first..self.size).contains(&o))
            });
            let used = all
                .iter()
                .rposition(|o| *o >= 0)
                .map_or(0, |i| i as u64 + 1);
            let n = match entries.checked_sub(field(LAST_FIELD)) {
                _ if !spares => entries,
                // one of the two may be right
                Some(n) if n >= used && field(NCHUNKS) != used => n,
                _ => used,
            };
            put(&mut bytes, NCHUNKS, &n.to_le_bytes());
            if spares {
                put(&mut bytes, LAST_FIELD, &(entries - n).to_le_bytes());
            }
            return Ok(Some(Numbers { bytes, is_sound }));
        }
        Ok(None)
    }

    fn version_and_options(&self) -> Result<Option<Prefix>> {
        for bytes in [
            self.with(VERSION, [3]),
            self.with(OPTIONS, [1]),
            self.with(OPTIONS, [3]),
        ] {
            if self.as_it_is(&bytes)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// With another head of the metadata; true: they are lost.
    fn metadata(&self) -> Result<Option<(Prefix, bool)>> {
        let [_, _, _, _, version, options, ..] = self.prefix;
        // v3, and then the older layout
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

    /// A table of so many bytes with a first chunk right behind it.
    fn find(&self, bytes: u64) -> Result<Option<u64>> {
        let mut piece = vec![0; PIECE];
        let (mut at, mut tries) = (META as u64, 0);
        while at < MOST {
            let n = self.file.read_at(at, &mut piece)?;
            for (i, entry) in piece.get(..n).unwrap_or_default().windows(8).enumerate() {
                let (place, entry) = (
                    at + i as u64,
                    entry.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)),
                );
                if entry != place + bytes {
                    continue;
                }
                if self.is_chunk(entry)? {
                    return Ok(Some(place));
                }
                tries += 1;
                if tries > TRIES {
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

    /// A head for the room before the table. True: no digest fits.
    fn section(&self, bytes: &mut Prefix, table: u64) -> Option<bool> {
        let head = bytes.last_chunk_mut()?;
        let room = table
            .checked_sub(PREFIX as u64)
            .and_then(|n| u32::try_from(n).ok())?;
        let other = metadata::other_head(self.file, head, room, self.limit);
        *head = other.or_else(|| metadata::empty_head(room))?;
        Some(other.is_none())
    }
}

/// The size of metadata in the older layout, and how they must begin. True: they do not.
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
    if let Some(place) = bytes.get_mut(at..).and_then(|b| b.get_mut(..value.len())) {
        place.copy_from_slice(value);
    }
}
