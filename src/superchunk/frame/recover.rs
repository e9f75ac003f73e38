//! Recovers a frame whose header, index or trailer is corrupt; its chunks may all be intact.
//!
//! A sealed trailer contains the CRC-32s of header, index and trailer, so that a single corrupt
//! byte in them can be corrected ([`corrections`]). It also contains the length and the CRC-32 of
//! each chunk, which identify the chunks that [`scan`] finds. Otherwise there are three more ways:
//!
//! - The remaining parts are used as far as they match each other.
//! - The chunks are used in the order in which they are stored.
//! - The frame is rolled back to an earlier commit of this library. Earlier commits stay in the
//!   file until it is compacted, and each trailer contains the CRC-32 of its header.
//!
//! Whatever is uncertain or lost is reported.
#![forbid(unsafe_code)]

use super::byte_correction::corrections;
use super::checksums::{self, CHECKSUMS};
use super::header::{self, Header};
use super::index::{self, IndexSlot, LOST};
use super::patched_file::PatchedFile;
use super::storage::FrameStorage;
use super::trailer::{TAIL, Trailer};
use super::{meta, part_checksum, scan};
use crate::alloc;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are searched at a time, and in which a header is searched for.
const PIECE: usize = 1 << 20;
/// Maximum number of candidates for the end of a commit, or for its index. Checking one may take as
/// long as reading the file.
const TRIES: usize = 16;

/// A recovered frame.
pub struct RecoveredFrame {
    /// The file with the recovered parts.
    pub file: PatchedFile,
    /// Parts other than chunks that are lost or uncertain.
    pub lost: Vec<Error>,
    /// The header is lost, with all that it states about an array; only the content is left.
    pub header_lost: bool,
    /// Was the frame written by this library?
    pub ours: bool,
}

/// Recovers a frame.
pub fn recover(storage: &FrameStorage, file: &Arc<dyn File>, limit: u64) -> Result<RecoveredFrame> {
    let size = file.size()?;
    let mut head = alloc::zeroed(PIECE.min(usize::try_from(size).unwrap_or(PIECE)))?;
    let n = file.read_at(0, &mut head)?;
    head.truncate(n);
    Search {
        storage,
        file,
        size,
        head,
        limit,
    }
    .find()
}

struct Search<'a> {
    storage: &'a FrameStorage,
    file: &'a Arc<dyn File>,
    size: u64,
    /// The first bytes of the file.
    head: Vec<u8>,
    limit: u64,
}

/// An intact trailer with a seal.
struct SealedTrailer {
    trailer: Trailer,
    /// Its range in the file.
    range: Range<u64>,
    head_crc: u32,
    index_crc: u32,
    /// Length and CRC-32 of each chunk.
    checksums: Vec<[u32; 2]>,
}

/// Header, index and trailer.
struct FoundParts {
    header: Header,
    /// The length of the header in the file.
    base: u64,
    slots: Vec<IndexSlot>,
    trailer: Trailer,
    sealed: bool,
    lost: Vec<Error>,
    header_lost: bool,
}

impl Search<'_> {
    fn find(&self) -> Result<RecoveredFrame> {
        let mut ends = vec![self.size];
        let said = self
            .header_candidates()
            .into_iter()
            .find_map(|h| Some(Header::parse(&h).ok()?.frame_len));
        ends.extend(said.filter(|end| *end < self.size));
        let mut fallback = None;
        for end in ends.iter().rev() {
            let Some(sealed) = self.sealed_at(*end) else {
                continue;
            };
            match self.parts_of_sealed(sealed)? {
                Some(found) if !found.header_lost => return self.assemble(found),
                found => fallback = fallback.or(found),
            }
        }
        if fallback.is_none()
            && let Some(found) = self.by_index(&ends)?
        {
            return self.assemble(found);
        }
        if let Some(found) = self.earlier_commit()? {
            return self.assemble(found);
        }
        if fallback.is_none() {
            fallback = self.in_stored_order(&ends)?;
        }
        let found = fallback.ok_or_else(|| {
            fail!(
                Format,
                "too little of header, index and trailer is left to locate the chunks"
            )
        })?;
        self.assemble(found)
    }

    /// Returns the file with the recovered parts.
    fn assemble(&self, found: FoundParts) -> Result<RecoveredFrame> {
        let FoundParts {
            mut header,
            base,
            mut slots,
            mut trailer,
            sealed,
            lost,
            header_lost,
        } = found;
        let (new_base, ours) = (header.len(), header.mark != 0);
        let shift = base.saturating_sub(new_base);
        if shift > 0 && !self.storage.sparse {
            slots.iter_mut().for_each(|slot| {
                if let IndexSlot::At(position) = slot {
                    *position = position.saturating_add(shift)
                }
            });
        }
        let tail_at = if self.storage.sparse {
            new_base
        } else {
            self.size.max(new_base)
        };
        if !self.storage.sparse {
            header.cbytes = tail_at - new_base;
        }
        let mut tail = if slots.is_empty() {
            Vec::new()
        } else {
            index::encode(&slots)?
        };
        header.has_vlmeta = !trailer.vlmeta.is_empty();
        header.frame_len = tail_at
            .saturating_add(tail.len() as u64)
            .saturating_add(trailer.len());
        let (head, end) = if sealed {
            part_checksum::seal(&mut header, &tail, &mut trailer)?
        } else {
            part_checksum::unseal(&mut header, &mut trailer);
            (header.encode()?, trailer.encode()?)
        };
        tail.extend_from_slice(&end);
        Ok(RecoveredFrame {
            file: PatchedFile {
                file: self.file.clone(),
                head,
                tail_at,
                tail,
            },
            lost,
            header_lost,
            ours,
        })
    }

    fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let n = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let bytes = read_buffer::read(&**self.file, range.start, n, self.limit);
        bytes.map(|bytes| bytes.to_vec()).ok()
    }

    // ---- with a sealed trailer

    fn sealed_at(&self, end: u64) -> Option<SealedTrailer> {
        let mut from: Vec<u64> = Vec::new();
        let last = self.bytes(end.checked_sub(TAIL as u64)?..end)?;
        from.extend(
            Trailer::length(&last)
                .ok()
                .and_then(|n| end.checked_sub(n.into())),
        );
        // the trailer begins after the index
        let header = self
            .header_candidates()
            .into_iter()
            .find_map(|h| Header::parse(&h).ok());
        from.extend(header.and_then(|h| {
            let at = if self.storage.sparse {
                h.len()
            } else {
                h.len().checked_add(h.cbytes)?
            };
            let own = self.bytes(at..at.checked_add(blosc::EXTENDED_HEADER_LEN as u64)?)?;
            let n = if h.nbytes == 0 {
                0
            } else {
                blosc::Header::parse(&own).ok()?.cbytes as u64
            };
            at.checked_add(n).filter(|from| *from < end)
        }));
        from.into_iter().find_map(|from| {
            let bytes = self.bytes(from..end)?;
            let right = part_checksum::corrected(&bytes, |[head, index, _]| {
                self.match_uncorrected(from, head, index)
            })?;
            let trailer = Trailer::parse(&right).ok()?;
            let [head_crc, index_crc, _] = part_checksum::checksums(&right)?;
            let checksums = match trailer.vlmeta.iter().find(|(name, _)| name == CHECKSUMS) {
                Some((_, chunk)) => {
                    checksums::pairs(checksums::numbers(&meta::decode(chunk, self.limit).ok()?))
                }
                None => Vec::new(),
            };
            Some(SealedTrailer {
                trailer,
                range: from..end,
                head_crc,
                index_crc,
                checksums,
            })
        })
    }

    /// Do header and index match these CRC-32s without correction?
    fn match_uncorrected(&self, from: u64, head_crc: u32, index_crc: u32) -> bool {
        let head = self
            .header_candidates()
            .into_iter()
            .find(|h| crc32(h) == head_crc);
        head.and_then(|h| Header::parse(&h).ok()).is_some_and(|h| {
            let begin = if self.storage.sparse {
                h.len()
            } else {
                h.len().saturating_add(h.cbytes)
            };
            self.bytes(begin..from)
                .is_some_and(|index| crc32(&index) == index_crc)
        })
    }

    fn parts_of_sealed(&self, sealed: SealedTrailer) -> Result<Option<FoundParts>> {
        let (header, base, header_lost) = match self.header_of(&sealed) {
            Some(header) => (header.clone(), header.len(), false),
            None => match self.build_header(&sealed) {
                // without metalayers, the chunks contain everything that the header states
                Some((header, base)) => {
                    let header_lost = base != header.len();
                    (header, base, header_lost)
                }
                None => return Ok(None),
            },
        };
        let slots = self.index_of(&sealed, &header, base)?;
        let lost = if header_lost {
            vec![fail!(
                Format,
                "its header is lost, with its metalayers, which may define an array"
            )]
        } else {
            Vec::new()
        };
        Ok(Some(FoundParts {
            header,
            base,
            slots,
            trailer: sealed.trailer,
            sealed: true,
            lost,
            header_lost,
        }))
    }

    /// Returns the header that matches the trailer.
    fn header_of(&self, sealed: &SealedTrailer) -> Option<Header> {
        let mut all = self.header_candidates();
        let derived_headers: Vec<_> = all
            .iter()
            .flat_map(|h| self.derived_headers(h, sealed))
            .collect();
        all.extend(derived_headers);
        let parsed = |h: Vec<u8>| Header::parse(&h).ok();
        let as_it_is = all
            .iter()
            .filter(|h| crc32(h) == sealed.head_crc)
            .find_map(|h| parsed(h.clone()));
        let corrected = || {
            all.iter()
                .find_map(|h| corrections(h, sealed.head_crc).find_map(parsed))
        };
        // another writer has changed the header and marked it
        let foreign = || {
            all.first()
                .and_then(|h| parsed(h.clone()))
                .filter(|h| h.mark == 0 && h.frame_len == sealed.range.end)
        };
        as_it_is.or_else(corrected).or_else(foreign)
    }

    /// Returns variants of a header with the fields that follow from the other parts.
    fn derived_headers(&self, head: &[u8], sealed: &SealedTrailer) -> Vec<Vec<u8>> {
        let (base, n) = (head.len() as u64, sealed.checksums.len() as u64);
        let mut head = head.to_vec();
        let cbytes = if self.storage.sparse {
            sealed.checksums.iter().map(|[n, _]| u64::from(*n)).sum()
        } else {
            self.index_before(sealed.range.start, n, base)
                .map_or(0, |index| sealed.range.start - index.len() as u64 - base)
        };
        header::put(
            &mut head,
            header::FRAME_LEN,
            &sealed.range.end.to_be_bytes(),
        );
        header::put(&mut head, header::CBYTES, &cbytes.to_be_bytes());
        header::put(
            &mut head,
            header::HAS_VLMETA,
            &[0xc2 + u8::from(!sealed.trailer.vlmeta.is_empty())],
        );
        let mut all = Vec::new();
        let first = self.chunk_at(base, 0);
        for sizes in [None, first.filter(|_| n > 1)] {
            let mut head = head.clone();
            if let Some(first) = sizes {
                header::put(
                    &mut head,
                    header::BLOCKSIZE,
                    &(first.blocksize as u32).to_be_bytes(),
                );
                header::put(
                    &mut head,
                    header::CHUNKSIZE,
                    &(first.nbytes as u32).to_be_bytes(),
                );
            }
            let Ok(size) = Header::parse(&head).map(|h| u64::from(h.chunksize)) else {
                continue;
            };
            let last = self
                .index_before(sealed.range.start, n, base)
                .and_then(|index| self.last_chunk(&index, n, base));
            for nbytes in [
                None,
                Some(n.saturating_mul(size)),
                last.map(|last| {
                    n.saturating_sub(1)
                        .saturating_mul(size)
                        .saturating_add(last)
                }),
            ] {
                let mut head = head.clone();
                if let Some(nbytes) = nbytes {
                    header::put(&mut head, header::NBYTES, &nbytes.to_be_bytes());
                }
                all.push(head);
            }
        }
        all
    }

    /// Returns the index that matches the trailer, or rebuilds it from the chunks.
    fn index_of(
        &self,
        sealed: &SealedTrailer,
        header: &Header,
        base: u64,
    ) -> Result<Vec<IndexSlot>> {
        let (n, end) = (sealed.checksums.len() as u64, sealed.range.start);
        if n == 0 {
            return Ok(Vec::new());
        }
        let begin = if self.storage.sparse {
            base
        } else {
            base.saturating_add(header.cbytes)
        };
        let there = [self.bytes(begin..end), self.index_before(end, n, base)];
        for bytes in there.iter().flatten() {
            if crc32(bytes) == sealed.index_crc
                && let Ok(slots) = index::decode(bytes, n, self.limit)
            {
                return Ok(slots);
            }
            // for a long index, more than one correction can match: the lengths of the chunks
            // decide
            let fits = |(slot, [len, _]): (&IndexSlot, &[u32; 2])| match slot {
                IndexSlot::At(position) => self
                    .chunk_at(base, *position)
                    .is_some_and(|h| h.cbytes == *len as usize),
                _ => *len == 0,
            };
            let all_fit = |slots: &Vec<IndexSlot>| slots.iter().zip(&sealed.checksums).all(fits);
            let mut corrected = corrections(bytes, sealed.index_crc).take(TRIES);
            if let Some(slots) =
                corrected.find_map(|b| index::decode(&b, n, self.limit).ok().filter(all_fit))
            {
                return Ok(slots);
            }
        }
        let mut slots = scan::by_checksums(
            &self.scan_chunks(header, base, &sealed.checksums)?,
            &sealed.checksums,
            |seen| scan::crc_of(self.storage, &**self.file, base, seen, self.limit),
        )?;
        // the kind of chunks that are not stored is found by the CRC-32 of the index
        for special in [IndexSlot::Zeros, IndexSlot::Nan, IndexSlot::Uninit] {
            let all: Vec<IndexSlot> = slots
                .iter()
                .map(|s| if *s == IndexSlot::Zeros { special } else { *s })
                .collect();
            if crc32(&index::encode(&all)?) == sealed.index_crc {
                return Ok(all);
            }
        }
        slots
            .iter_mut()
            .filter(|s| **s == IndexSlot::Zeros)
            .for_each(|s| *s = IndexSlot::Unknown(LOST));
        Ok(slots)
    }

    /// Builds a header from the fields of the chunks, and returns the length of the lost header.
    fn build_header(&self, sealed: &SealedTrailer) -> Option<(Header, u64)> {
        let n = sealed.checksums.len() as u64;
        self.header_candidates().into_iter().rev().find_map(|head| {
            let base = head.len() as u64;
            // in a sparse frame, the chunk file with the lowest number
            let position = if self.storage.sparse {
                self.storage.chunk_numbers().ok()?.into_iter().min()?
            } else {
                0
            };
            let first = self.chunk_at(base, position)?;
            let params =
                blosc::Params::new(blosc::Target::Blosc2, blosc::Codec::Lz4, 5, first.typesize);
            let mut header = Header::new(&params, first.nbytes, self.storage.sparse).ok()?;
            header.blocksize = first.blocksize as u32;
            let index = self.index_before(sealed.range.start, n, base);
            header.cbytes = index
                .as_ref()
                .map_or(0, |index| sealed.range.start - index.len() as u64 - base);
            let last = index
                .and_then(|index| self.last_chunk(&index, n, base))
                .unwrap_or(first.nbytes as u64);
            header.nbytes = (n.saturating_sub(1))
                .saturating_mul(first.nbytes as u64)
                .saturating_add(last);
            Some((header, base))
        })
    }

    /// Returns the latest earlier commit.
    fn earlier_commit(&self) -> Result<Option<FoundParts>> {
        let (mut end, mut tries) = (self.size, 0);
        while end > 0 && tries < TRIES && !self.storage.sparse {
            let begin = end.saturating_sub(PIECE as u64);
            // a trailer may cross the boundary of two pieces
            let n = (end - begin) as usize + TAIL;
            let mut piece = alloc::zeroed(n)?;
            let got = self.file.read_at(begin, &mut piece)?;
            piece.truncate(got);
            let tails: Vec<usize> = piece
                .windows(TAIL)
                .enumerate()
                .filter(|(_, w)| part_checksum::is_tail(w))
                .map(|(i, _)| i)
                .collect();
            for at in tails.into_iter().rev().take(TRIES - tries) {
                tries += 1;
                let Some(sealed) = self.sealed_at(begin + (at + TAIL) as u64) else {
                    continue;
                };
                if let Some(mut found) = self
                    .parts_of_sealed(sealed)?
                    .filter(|found| !found.header_lost)
                {
                    found.lost.push(fail!(Format, "the last commit is lost"));
                    return Ok(Some(found));
                }
            }
            end = begin;
        }
        Ok(None)
    }

    // ---- without a sealed trailer

    /// Uses header and index as far as they match each other.
    fn by_index(&self, ends: &[u64]) -> Result<Option<FoundParts>> {
        for head in self.header_candidates() {
            let Ok(header) = Header::parse(&head) else {
                continue;
            };
            let base = header.len();
            let (trailer, from, lost) = self.other_trailer(ends);
            let offsets = [
                Some(if self.storage.sparse {
                    base
                } else {
                    base.saturating_add(header.cbytes)
                }),
                self.any_index_before(from, base),
            ];
            for at in offsets.into_iter().flatten() {
                let Some((header, slots)) = self.index_at(&header, at, base) else {
                    continue;
                };
                return Ok(Some(FoundParts {
                    header,
                    base,
                    slots,
                    trailer,
                    sealed: false,
                    lost,
                    header_lost: false,
                }));
            }
        }
        Ok(None)
    }

    /// Returns the index at an offset, and the header with the fields that follow from it. Returns
    /// none if most slots do not lead to a chunk.
    fn index_at(&self, header: &Header, at: u64, base: u64) -> Option<(Header, Vec<IndexSlot>)> {
        let own = blosc::Header::parse(
            &self.bytes(at..at.checked_add(blosc::EXTENDED_HEADER_LEN as u64)?)?,
        )
        .ok()?;
        let n = own.nbytes as u64 / 8;
        let bytes = self.bytes(at..at.checked_add(own.cbytes as u64)?)?;
        let mut slots = index::decode(&bytes, n, self.limit)
            .ok()
            .filter(|slots| !slots.is_empty())?;
        let mut header = header.clone();
        if header.variable_chunks {
            return Some((header, slots));
        }
        // no more chunks than the file has space for
        let stored = slots
            .iter()
            .filter(|s| !matches!(s, IndexSlot::Zeros | IndexSlot::Nan | IndexSlot::Uninit))
            .count();
        let room = if self.storage.sparse {
            self.storage.chunk_numbers().ok()?.len() as u64
        } else {
            self.size / blosc::EXTENDED_HEADER_LEN as u64
        };
        if stored as u64 > room {
            return None;
        }
        let head = |slot: &IndexSlot| {
            if let IndexSlot::At(position) = slot {
                self.chunk_at(base, *position)
            } else {
                None
            }
        };
        let mut sizes = alloc::with_capacity(slots.len()).ok()?;
        sizes.extend(slots.iter().map(|slot| head(slot).map(|h| h.nbytes)));
        if sizes.iter().flatten().count() * 2 < stored {
            return None;
        }
        // all stored chunks but the last agree on another length than the header
        let mut whole = sizes.iter().rev().skip(1).flatten();
        if let Some(first) = whole
            .next()
            .filter(|first| **first != header.chunksize as usize && whole.all(|n| n == *first))
        {
            header.chunksize = *first as u32;
        }
        if header.chunks() != Ok(n) {
            let before = (n - 1).saturating_mul(header.chunksize.into());
            let last = sizes
                .last()
                .copied()
                .flatten()
                .map_or(header.chunksize.into(), |last: usize| last as u64);
            header.nbytes = before.saturating_add(last);
            // only the header had the length of chunks that are not stored, and it does not match
            let length_known = sizes.iter().rev().skip(1).any(Option::is_some) || sizes.len() == 1;
            let unsure = |i: usize| !length_known || i + 1 == sizes.len();
            let special = slots
                .iter_mut()
                .zip(&sizes)
                .enumerate()
                .filter(|(i, (_, size))| size.is_none() && unsure(*i));
            special.for_each(|(_, (slot, _))| *slot = IndexSlot::Unknown(LOST));
        }
        Some((header, slots))
    }

    /// Returns the trailer of another writer, or an empty one, its offset, and what is lost with
    /// it.
    fn other_trailer(&self, ends: &[u64]) -> (Trailer, u64, Vec<Error>) {
        for end in ends {
            let last = end
                .checked_sub(TAIL as u64)
                .and_then(|at| self.bytes(at..*end));
            let from = last
                .and_then(|last| Trailer::length(&last).ok())
                .and_then(|n| end.checked_sub(n.into()));
            let trailer = from
                .and_then(|from| self.bytes(from..*end))
                .and_then(|bytes| Trailer::parse(&bytes).ok());
            // a sealed trailer that does not match is corrupt
            if let Some((trailer, from)) =
                trailer.zip(from).filter(|(t, _)| t.fingerprint == [0; 16])
            {
                return (trailer, from, Vec::new());
            }
        }
        let lost = fail!(
            Format,
            "its trailer is lost, with the checksums of the chunks and all its metalayers"
        );
        (Trailer::default(), self.size, vec![lost])
    }

    /// Uses the chunks in the order in which they are stored, if their number matches the header.
    fn in_stored_order(&self, ends: &[u64]) -> Result<Option<FoundParts>> {
        for head in self.header_candidates() {
            let Ok(header) = Header::parse(&head) else {
                continue;
            };
            let (base, Ok(n)) = (header.len(), header.chunks()) else {
                continue;
            };
            let seen = self.scan_chunks(&header, base, &[])?;
            let all_full = seen
                .iter()
                .rev()
                .skip(1)
                .all(|s| s.nbytes == header.chunksize);
            let bytes: u64 = seen.iter().map(|s| u64::from(s.nbytes)).sum();
            if n == 0 || seen.len() as u64 != n || !all_full || bytes != header.nbytes {
                continue;
            }
            let (trailer, _, mut lost) = self.other_trailer(ends);
            lost.push(fail!(
                Format,
                "its index is lost; the chunks are used in the order in which they are stored"
            ));
            let slots = seen.iter().map(|s| IndexSlot::At(s.position)).collect();
            return Ok(Some(FoundParts {
                header,
                base,
                slots,
                trailer,
                sealed: false,
                lost,
                header_lost: false,
            }));
        }
        Ok(None)
    }

    // ---- parts

    /// Returns candidates for the header: as it is stored, and with the bytes corrected that are
    /// equal in all headers.
    fn header_candidates(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for fixed in [false, true] {
            let mut head = self.head.clone();
            if fixed {
                header::put_constants(&mut head, self.storage.sparse);
            }
            let lens = [header::stated_len(&head), header::computed_len(&head)];
            for len in lens
                .into_iter()
                .flatten()
                .filter(|len| *len >= header::FIXED)
            {
                let Some(head) = head.get(..len) else {
                    continue;
                };
                let mut head = head.to_vec();
                if fixed {
                    header::put(&mut head, header::LEN, &(len as u32).to_be_bytes());
                    if Header::parse(&head).is_err() {
                        header::put(&mut head, header::FRAME_LEN, &self.size.to_be_bytes());
                    }
                }
                if !all.contains(&head) {
                    all.push(head);
                }
            }
        }
        all
    }

    /// Returns the header of the chunk at an offset or with a file number.
    fn chunk_at(&self, base: u64, position: u64) -> Option<blosc::Header> {
        if self.storage.sparse {
            let file = self
                .storage
                .folder
                .open(&self.storage.chunk_path(position), crate::io::Access::Read)
                .ok()?;
            return header_at(&*file, 0, self.limit);
        }
        header_at(&**self.file, base.checked_add(position)?, self.limit)
    }

    fn scan_chunks(
        &self,
        header: &Header,
        base: u64,
        checksums: &[[u32; 2]],
    ) -> Result<Vec<scan::ScannedChunk>> {
        match self.storage.sparse {
            true => scan::in_folder(self.storage, header, self.limit),
            false => scan::in_file(&**self.file, base..self.size, header, checksums),
        }
    }

    /// Returns the index of `chunks` slots that ends at this offset.
    fn index_before(&self, end: u64, chunks: u64, least: u64) -> Option<Vec<u8>> {
        self.indices_before(end, chunks, least)
            .find(|b| index::decode(b, chunks, self.limit).is_ok())
    }

    /// Returns the offset of an index of any length that ends at this offset.
    fn any_index_before(&self, end: u64, least: u64) -> Option<u64> {
        let most = end.saturating_sub(least) / 8;
        let found = self
            .indices_before(end, most.min(PIECE as u64), least)
            .next()?;
        Some(end - found.len() as u64)
    }

    fn indices_before(&self, end: u64, most: u64, least: u64) -> impl Iterator<Item = Vec<u8>> {
        let room = most
            .saturating_mul(8)
            .saturating_add(blosc::EXTENDED_HEADER_LEN as u64)
            .min(end.saturating_sub(least));
        let bytes = self.bytes(end - room..end).unwrap_or_default();
        let count = bytes.len().saturating_sub(blosc::EXTENDED_HEADER_LEN - 1);
        let fits = |b: &[u8]| {
            let whole = |h: blosc::Header| {
                h.cbytes == b.len()
                    && h.nbytes > 0
                    && h.nbytes.is_multiple_of(8)
                    && h.extended()
                    && h.typesize == 8
            };
            blosc::Header::parse(b).is_ok_and(whole)
        };
        (0..count)
            .rev()
            .filter_map(move |at| bytes.get(at..).filter(|b| fits(b)).map(<[u8]>::to_vec))
            .take(TRIES)
    }

    /// Returns the content bytes of the last chunk.
    fn last_chunk(&self, index: &[u8], chunks: u64, base: u64) -> Option<u64> {
        match index::decode(index, chunks, self.limit).ok()?.last()? {
            IndexSlot::At(position) => self.chunk_at(base, *position).map(|h| h.nbytes as u64),
            _ => None,
        }
    }
}

/// Returns the header of the chunk at this offset of a file.
fn header_at(file: &dyn File, at: u64, limit: u64) -> Option<blosc::Header> {
    let bytes = read_buffer::read(file, at, blosc::EXTENDED_HEADER_LEN, limit);
    bytes.and_then(|bytes| blosc::Header::parse(&bytes)).ok()
}
