//! Recovery without a sealed trailer, from the parts that match each other.
#![forbid(unsafe_code)]

use super::search::{FoundParts, Search};
use crate::alloc;
use crate::blosc;
use crate::error::{Error, Result, fail};
use crate::superchunk::frame::header::Header;
use crate::superchunk::frame::index::{self, IndexSlot, LOST};
use crate::superchunk::frame::trailer::{TAIL, Trailer};

impl Search<'_> {
    /// Uses header and index as far as they match each other.
    pub(super) fn by_index(&self, ends: &[u64]) -> Result<Option<FoundParts>> {
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
    pub(super) fn in_stored_order(&self, ends: &[u64]) -> Result<Option<FoundParts>> {
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
}
