//! Recovery with a sealed trailer, of the last commit or of an earlier one.
#![forbid(unsafe_code)]

use super::byte_correction::corrections;
use super::scan;
use super::search::{FoundParts, PIECE, Search, TRIES};
use crate::alloc;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Result, fail};
use crate::superchunk::frame::checksums::{self, CHECKSUMS};
use crate::superchunk::frame::header::{self, Header};
use crate::superchunk::frame::index::{self, IndexSlot, LOST};
use crate::superchunk::frame::part_checksum::{self, OWN};
use crate::superchunk::frame::trailer::{TAIL, Trailer};
use crate::superchunk::frame::vlmeta;
use std::ops::Range;

/// Up to this length, a single wrong byte is distinguished from several wrong bytes, except in one
/// of 4000 cases.
const CERTAIN: usize = 4 << 10;

/// An intact trailer with a seal.
pub(super) struct SealedTrailer {
    trailer: Trailer,
    /// Its range in the file.
    range: Range<u64>,
    head_crc: u32,
    index_crc: u32,
    /// Length and CRC-32 of each chunk.
    checksums: Vec<[u32; 2]>,
}

impl Search<'_> {
    /// Returns the sealed trailer that ends at this offset.
    pub(super) fn sealed_at(&self, end: u64) -> Option<SealedTrailer> {
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
        from.extend(
            self.marks(&[])
                .iter()
                .flat_map(|mark| mark.tails.map(|[_, trailer]| trailer)),
        );
        from.into_iter().find_map(|from| {
            let bytes = self.bytes(from..end)?;
            let right = corrected_trailer(&bytes, |[head, index, _]| {
                self.match_uncorrected(from, head, index)
            })?;
            let trailer = Trailer::parse(&right).ok()?;
            let [head_crc, index_crc, _] = part_checksum::checksums(&right)?;
            let checksums = match trailer.vlmeta.iter().find(|(name, _)| name == CHECKSUMS) {
                Some((_, chunk)) => {
                    checksums::pairs(checksums::numbers(&vlmeta::decode(chunk, self.limit).ok()?))
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
            let chunks = h.chunks().unwrap_or(0);
            self.index_bytes(begin, from, chunks)
                .is_some_and(|index| crc32(&index) == index_crc)
        })
    }

    pub(super) fn parts_of_sealed(&self, sealed: SealedTrailer) -> Result<Option<FoundParts>> {
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
        // another writer has changed the header and marked it
        let foreign = || {
            all.first()
                .and_then(|h| parsed(h.clone()))
                .filter(|h| h.mark == 0 && h.frame_len == sealed.range.end)
        };
        matching_header(&all, sealed.head_crc).or_else(foreign)
    }

    /// Returns the header of the file if it matches the trailer, after the correction of at most one
    /// byte.
    pub(super) fn stored_header_of(&self, sealed: &SealedTrailer) -> Option<Header> {
        matching_header(&self.header_candidates(), sealed.head_crc)
    }

    /// Returns variants of a header with the fields that follow from the other parts.
    fn derived_headers(&self, head: &[u8], sealed: &SealedTrailer) -> Vec<Vec<u8>> {
        let (base, n) = (head.len() as u64, sealed.checksums.len() as u64);
        let mut head = head.to_vec();
        let cbytes = if self.storage.sparse {
            sealed.checksums.iter().map(|[n, _]| u64::from(*n)).sum()
        } else {
            self.index_start(sealed.range.start, n, base)
                .map_or(0, |at| at.saturating_sub(base))
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
        let there = [
            self.index_bytes(begin, end, n),
            self.index_before(end, n, base),
        ];
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
            header.cbytes = self
                .index_start(sealed.range.start, n, base)
                .map_or(0, |at| at.saturating_sub(base));
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
    pub(super) fn earlier_commit(&self) -> Result<Option<FoundParts>> {
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
}

/// Returns the first of these headers with this CRC-32, after the correction of at most one byte.
fn matching_header(all: &[Vec<u8>], crc: u32) -> Option<Header> {
    let parsed = |h: Vec<u8>| Header::parse(&h).ok();
    let as_it_is = all.iter().filter(|h| crc32(h) == crc);
    let corrected = || {
        all.iter()
            .find_map(|h| corrections(h, crc).find_map(parsed))
    };
    as_it_is.cloned().find_map(parsed).or_else(corrected)
}

/// Returns a sealed trailer after the correction of at most one byte. `others_match` checks the
/// CRC-32s of header and index.
fn corrected_trailer(trailer: &[u8], others_match: impl Fn([u32; 3]) -> bool) -> Option<Vec<u8>> {
    let (before, own) = trailer.split_last_chunk::<OWN>()?;
    let blank = [before, &[0; OWN]].concat();
    let with_own = |mut bytes: Vec<u8>| {
        bytes.truncate(before.len());
        bytes.extend_from_slice(own);
        bytes
    };
    let is_ours = |bytes: &Vec<u8>| {
        part_checksum::checksums(bytes).is_some()
            && Trailer::parse(bytes).is_ok_and(|t| t.fingerprint_kind == 0)
    };
    let crc = u32::from_le_bytes(*own);
    let as_it_is = Some(with_own(blank.clone())).filter(is_ours);
    if crc32(&blank) == crc && as_it_is.is_some() {
        return as_it_is;
    }
    // In a long trailer, more than one correction can match the CRC-32. A wrong correction of a
    // chunk checksum is detected when the chunk is read.
    let there = Trailer::parse(trailer);
    let only_checksums_differ = |b: &Vec<u8>| {
        let rest = |t: &Trailer| {
            t.vlmeta
                .iter()
                .filter(|(name, _)| name != CHECKSUMS)
                .cloned()
                .collect::<Vec<_>>()
        };
        Trailer::parse(b).is_ok_and(|b| there.as_ref().is_ok_and(|there| rest(there) == rest(&b)))
    };
    let certain = |b: &Vec<u8>| trailer.len() <= CERTAIN || only_checksums_differ(b);
    let found = corrections(&blank, crc)
        .filter(|b| b.ends_with(&[0; OWN]))
        .map(with_own)
        .find(|b| is_ours(b) && certain(b));
    // otherwise the CRC-32 of the trailer itself is corrupt
    found.or_else(|| as_it_is.filter(|b| part_checksum::checksums(b).is_some_and(others_match)))
}
