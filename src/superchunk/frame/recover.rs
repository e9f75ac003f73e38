//! What can be found again of a frame whose header, index or trailer is damaged: its chunks may all
//! be whole.
//!
//! Where the trailer is ours, it knows the CRC-32 of header, index and itself, so that one wrong
//! byte of them is put right for certain ([`corrections`]); and the length and the CRC-32 of each
//! chunk, by which the chunks that stand there ([`walk`]) are known again. Where that does not do,
//! what is left of the parts is taken as far as they fit each other, or the chunks as they
//! stand behind each other; or the frame goes back to an earlier commit of ours: those before the
//! last are still in the file until it is compacted, and each trailer knows what its header was.
//! What is not certain then is said.
#![forbid(unsafe_code)]

use super::byte_correction::corrections;
use super::checksums::{self, SUMS};
use super::header::{self, Header};
use super::index::{self, LOST, Slot};
use super::patched_file::Overlay;
use super::storage::Site;
use super::trailer::{TAIL, Trailer};
use super::{meta, part_checksum, scan};
use crate::alloc;
use crate::blosc;
use crate::checksum::crc32;
use crate::error::{Error, Result, fail};
use crate::io::{File, read_buffer};
use std::ops::Range;
use std::sync::Arc;

/// What is searched at once, and in what a header is looked for.
const PIECE: usize = 1 << 20;
/// What is taken for the end of a commit, or for its index, before the search is given up: each may
/// cost as much as the file is long.
const TRIES: usize = 16;

/// A frame that was found again.
pub struct Rescued {
    /// Its file, as it would be whole.
    pub file: Overlay,
    /// What is lost for good, but for chunks, or not certain.
    pub lost: Vec<Error>,
    /// Its header is lost, with all that it says of an array; there is no more than the content.
    pub headless: bool,
    /// Was it written by us?
    pub ours: bool,
}

/// Finds it.
pub fn rescue(site: &Site, file: &Arc<dyn File>, limit: u64) -> Result<Rescued> {
    let size = file.size()?;
    let mut head = alloc::zeroed(PIECE.min(usize::try_from(size).unwrap_or(PIECE)))?;
    let n = file.read_at(0, &mut head)?;
    head.truncate(n);
    Search {
        site,
        file,
        size,
        head,
        limit,
    }
    .find()
}

struct Search<'a> {
    site: &'a Site,
    file: &'a Arc<dyn File>,
    size: u64,
    /// What it begins with.
    head: Vec<u8>,
    limit: u64,
}

/// A trailer of ours that is whole.
struct Sealed {
    trailer: Trailer,
    /// Where it is.
    place: Range<u64>,
    head_crc: u32,
    index_crc: u32,
    /// Length and CRC-32 of each chunk.
    sums: Vec<[u32; 2]>,
}

/// Header, index and trailer.
struct Found {
    header: Header,
    /// How long the header is in the file.
    base: u64,
    slots: Vec<Slot>,
    trailer: Trailer,
    sealed: bool,
    lost: Vec<Error>,
    headless: bool,
}

impl Search<'_> {
    fn find(&self) -> Result<Rescued> {
        let mut ends = vec![self.size];
        let said = self
            .heads()
            .into_iter()
            .find_map(|h| Some(Header::parse(&h).ok()?.frame_len));
        ends.extend(said.filter(|end| *end < self.size));
        let mut headless = None;
        for end in ends.iter().rev() {
            let Some(sealed) = self.sealed_at(*end) else {
                continue;
            };
            match self.of_sealed(sealed)? {
                Some(found) if !found.headless => return self.whole(found),
                found => headless = headless.or(found),
            }
        }
        if headless.is_none()
            && let Some(found) = self.by_index(&ends)?
        {
            return self.whole(found);
        }
        if let Some(found) = self.earlier()? {
            return self.whole(found);
        }
        if headless.is_none() {
            headless = self.by_order(&ends)?;
        }
        let found = headless.ok_or_else(|| {
            fail!(
                Format,
                "not enough of header, index and trailer is left to tell which chunk is where"
            )
        })?;
        self.whole(found)
    }

    /// The file with the parts that were found.
    fn whole(&self, found: Found) -> Result<Rescued> {
        let Found {
            mut header,
            base,
            mut slots,
            mut trailer,
            sealed,
            lost,
            headless,
        } = found;
        let (new_base, ours) = (header.len(), header.mark != 0);
        let shift = base.saturating_sub(new_base);
        if shift > 0 && !self.site.sparse {
            slots.iter_mut().for_each(|slot| {
                if let Slot::At(place) = slot {
                    *place = place.saturating_add(shift)
                }
            });
        }
        let tail_at = if self.site.sparse {
            new_base
        } else {
            self.size.max(new_base)
        };
        if !self.site.sparse {
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
        Ok(Rescued {
            file: Overlay {
                file: self.file.clone(),
                head,
                tail_at,
                tail,
            },
            lost,
            headless,
            ours,
        })
    }

    fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let n = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        read_buffer::with_range(&**self.file, range.start, n, self.limit, |b| Ok(b.to_vec())).ok()
    }

    // ---- with a trailer of ours

    fn sealed_at(&self, end: u64) -> Option<Sealed> {
        let mut from: Vec<u64> = Vec::new();
        let last = self.bytes(end.checked_sub(TAIL as u64)?..end)?;
        from.extend(
            Trailer::length(&last)
                .ok()
                .and_then(|n| end.checked_sub(n.into())),
        );
        // it is behind the index
        let header = self
            .heads()
            .into_iter()
            .find_map(|h| Header::parse(&h).ok());
        from.extend(header.and_then(|h| {
            let at = if self.site.sparse {
                h.len()
            } else {
                h.len().checked_add(h.cbytes)?
            };
            let own = self.bytes(at..at.checked_add(blosc::LONG as u64)?)?;
            let n = if h.nbytes == 0 {
                0
            } else {
                blosc::Header::parse(&own).ok()?.cbytes as u64
            };
            at.checked_add(n).filter(|from| *from < end)
        }));
        from.into_iter().find_map(|from| {
            let bytes = self.bytes(from..end)?;
            let right = part_checksum::righted(&bytes, |[head, index, _]| {
                self.fit_as_they_are(from, head, index)
            })?;
            let trailer = Trailer::parse(&right).ok()?;
            let [head_crc, index_crc, _] = part_checksum::sums(&right)?;
            let sums = match trailer.vlmeta.iter().find(|(name, _)| name == SUMS) {
                Some((_, chunk)) => {
                    checksums::pairs(checksums::numbers(&meta::decode(chunk, self.limit).ok()?))
                }
                None => Vec::new(),
            };
            Some(Sealed {
                trailer,
                place: from..end,
                head_crc,
                index_crc,
                sums,
            })
        })
    }

    /// Do header and index have these sums, as they are there?
    fn fit_as_they_are(&self, from: u64, head_crc: u32, index_crc: u32) -> bool {
        let head = self.heads().into_iter().find(|h| crc32(h) == head_crc);
        head.and_then(|h| Header::parse(&h).ok()).is_some_and(|h| {
            let begin = if self.site.sparse {
                h.len()
            } else {
                h.len().saturating_add(h.cbytes)
            };
            self.bytes(begin..from)
                .is_some_and(|index| crc32(&index) == index_crc)
        })
    }

    fn of_sealed(&self, sealed: Sealed) -> Result<Option<Found>> {
        let (header, base, headless) = match self.header_of(&sealed) {
            Some(header) => (header.clone(), header.len(), false),
            None => match self.headless(&sealed) {
                // without metalayers it says nothing that chunks do not say
                Some((header, base)) => {
                    let headless = base != header.len();
                    (header, base, headless)
                }
                None => return Ok(None),
            },
        };
        let slots = self.index_of(&sealed, &header, base)?;
        let lost = if headless {
            vec![fail!(
                Format,
                "its header is lost, with its metalayers, which may make it an array"
            )]
        } else {
            Vec::new()
        };
        Ok(Some(Found {
            header,
            base,
            slots,
            trailer: sealed.trailer,
            sealed: true,
            lost,
            headless,
        }))
    }

    /// The header that the trailer knows.
    fn header_of(&self, sealed: &Sealed) -> Option<Header> {
        let mut all = self.heads();
        let anew: Vec<_> = all.iter().flat_map(|h| self.anew(h, sealed)).collect();
        all.extend(anew);
        let parsed = |h: Vec<u8>| Header::parse(&h).ok();
        let as_it_is = all
            .iter()
            .filter(|h| crc32(h) == sealed.head_crc)
            .find_map(|h| parsed(h.clone()));
        let righted = || {
            all.iter()
                .find_map(|h| corrections(h, sealed.head_crc).find_map(parsed))
        };
        // others have changed it since, and say so
        let theirs = || {
            all.first()
                .and_then(|h| parsed(h.clone()))
                .filter(|h| h.mark == 0 && h.frame_len == sealed.place.end)
        };
        as_it_is.or_else(righted).or_else(theirs)
    }

    /// A header with the numbers that follow from the other parts.
    fn anew(&self, head: &[u8], sealed: &Sealed) -> Vec<Vec<u8>> {
        let (base, n) = (head.len() as u64, sealed.sums.len() as u64);
        let mut head = head.to_vec();
        let cbytes = if self.site.sparse {
            sealed.sums.iter().map(|[n, _]| u64::from(*n)).sum()
        } else {
            self.index_before(sealed.place.start, n, base)
                .map_or(0, |index| sealed.place.start - index.len() as u64 - base)
        };
        header::put(
            &mut head,
            header::FRAME_LEN,
            &sealed.place.end.to_be_bytes(),
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
                .index_before(sealed.place.start, n, base)
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

    /// The index that the trailer knows, or made anew from the chunks that are there.
    fn index_of(&self, sealed: &Sealed, header: &Header, base: u64) -> Result<Vec<Slot>> {
        let (n, end) = (sealed.sums.len() as u64, sealed.place.start);
        if n == 0 {
            return Ok(Vec::new());
        }
        let begin = if self.site.sparse {
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
            // the longer it is, the likelier another byte would do as well: the chunks tell
            let fits = |(slot, [len, _]): (&Slot, &[u32; 2])| match slot {
                Slot::At(place) => self
                    .chunk_at(base, *place)
                    .is_some_and(|h| h.cbytes == *len as usize),
                _ => *len == 0,
            };
            let all_fit = |slots: &Vec<Slot>| slots.iter().zip(&sealed.sums).all(fits);
            let mut righted = corrections(bytes, sealed.index_crc).take(TRIES);
            if let Some(slots) =
                righted.find_map(|b| index::decode(&b, n, self.limit).ok().filter(all_fit))
            {
                return Ok(slots);
            }
        }
        let mut slots = scan::by_sums(
            &self.walk(header, base, &sealed.sums)?,
            &sealed.sums,
            |seen| scan::sum_of(self.site, &**self.file, base, seen, self.limit),
        )?;
        // nothing else tells what those are that take no room
        for special in [Slot::Zeros, Slot::Nan, Slot::Uninit] {
            let all: Vec<Slot> = slots
                .iter()
                .map(|s| if *s == Slot::Zeros { special } else { *s })
                .collect();
            if crc32(&index::encode(&all)?) == sealed.index_crc {
                return Ok(all);
            }
        }
        slots
            .iter_mut()
            .filter(|s| **s == Slot::Zeros)
            .for_each(|s| *s = Slot::Unknown(LOST));
        Ok(slots)
    }

    /// A header with what the chunks say, and nothing else, and where the one ended that is there.
    fn headless(&self, sealed: &Sealed) -> Option<(Header, u64)> {
        let n = sealed.sums.len() as u64;
        self.heads().into_iter().rev().find_map(|head| {
            let base = head.len() as u64;
            // whatever file has the least number, where chunks are files
            let place = if self.site.sparse {
                self.site.chunks().ok()?.into_iter().min()?
            } else {
                0
            };
            let first = self.chunk_at(base, place)?;
            let params =
                blosc::Params::new(blosc::Target::Blosc2, blosc::Codec::Lz4, 5, first.typesize);
            let mut header = Header::new(&params, first.nbytes, self.site.sparse).ok()?;
            header.blocksize = first.blocksize as u32;
            let index = self.index_before(sealed.place.start, n, base);
            header.cbytes = index
                .as_ref()
                .map_or(0, |index| sealed.place.start - index.len() as u64 - base);
            let last = index
                .and_then(|index| self.last_chunk(&index, n, base))
                .unwrap_or(first.nbytes as u64);
            header.nbytes = (n.saturating_sub(1))
                .saturating_mul(first.nbytes as u64)
                .saturating_add(last);
            Some((header, base))
        })
    }

    /// An earlier commit.
    fn earlier(&self) -> Result<Option<Found>> {
        let (mut end, mut tries) = (self.size, 0);
        while end > 0 && tries < TRIES && !self.site.sparse {
            let begin = end.saturating_sub(PIECE as u64);
            // a tail may lie over the border
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
                if let Some(mut found) = self.of_sealed(sealed)?.filter(|found| !found.headless) {
                    found
                        .lost
                        .push(fail!(Format, "what was committed last is lost"));
                    return Ok(Some(found));
                }
            }
            end = begin;
        }
        Ok(None)
    }

    // ---- without one

    /// Header and index as they are, as far as they fit each other.
    fn by_index(&self, ends: &[u64]) -> Result<Option<Found>> {
        for head in self.heads() {
            let Ok(header) = Header::parse(&head) else {
                continue;
            };
            let base = header.len();
            let (trailer, from, lost) = self.other_trailer(ends);
            let places = [
                Some(if self.site.sparse {
                    base
                } else {
                    base.saturating_add(header.cbytes)
                }),
                self.any_index_before(from, base),
            ];
            for at in places.into_iter().flatten() {
                let Some((header, slots)) = self.index_at(&header, at, base) else {
                    continue;
                };
                return Ok(Some(Found {
                    header,
                    base,
                    slots,
                    trailer,
                    sealed: false,
                    lost,
                    headless: false,
                }));
            }
        }
        Ok(None)
    }

    /// The index at a place, and the header with what follows from it; nothing if most of its
    /// places are none.
    fn index_at(&self, header: &Header, at: u64, base: u64) -> Option<(Header, Vec<Slot>)> {
        let own =
            blosc::Header::parse(&self.bytes(at..at.checked_add(blosc::LONG as u64)?)?).ok()?;
        let n = own.nbytes as u64 / 8;
        let bytes = self.bytes(at..at.checked_add(own.cbytes as u64)?)?;
        let mut slots = index::decode(&bytes, n, self.limit)
            .ok()
            .filter(|slots| !slots.is_empty())?;
        let mut header = header.clone();
        if header.variable_chunks {
            return Some((header, slots));
        }
        // no more than there is room for
        let stored = slots
            .iter()
            .filter(|s| !matches!(s, Slot::Zeros | Slot::Nan | Slot::Uninit))
            .count();
        let room = if self.site.sparse {
            self.site.chunks().ok()?.len() as u64
        } else {
            self.size / blosc::LONG as u64
        };
        if stored as u64 > room {
            return None;
        }
        let head = |slot: &Slot| {
            if let Slot::At(place) = slot {
                self.chunk_at(base, *place)
            } else {
                None
            }
        };
        let mut sizes = alloc::with_room(slots.len()).ok()?;
        sizes.extend(slots.iter().map(|slot| head(slot).map(|h| h.nbytes)));
        if sizes.iter().flatten().count() * 2 < stored {
            return None;
        }
        // what one chunk says is not more than what the header says
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
            // of chunks that take no room only the header had the length, and it does not fit
            let told = sizes.iter().rev().skip(1).any(Option::is_some) || sizes.len() == 1;
            let unsure = |i: usize| !told || i + 1 == sizes.len();
            let special = slots
                .iter_mut()
                .zip(&sizes)
                .enumerate()
                .filter(|(i, (_, size))| size.is_none() && unsure(*i));
            special.for_each(|(_, (slot, _))| *slot = Slot::Unknown(LOST));
        }
        Some((header, slots))
    }

    /// The trailer of another writer, or of nobody: what it has, where it begins, and what is lost
    /// with it.
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
            // one of ours that does not fit is damaged
            if let Some((trailer, from)) =
                trailer.zip(from).filter(|(t, _)| t.fingerprint == [0; 16])
            {
                return (trailer, from, Vec::new());
            }
        }
        let lost = fail!(
            Format,
            "its trailer is lost, with the checksums of the chunks and all metalayers that it had"
        );
        (Trailer::default(), self.size, vec![lost])
    }

    /// The chunks as they stand behind each other, if there are as many as there must be.
    fn by_order(&self, ends: &[u64]) -> Result<Option<Found>> {
        for head in self.heads() {
            let Ok(header) = Header::parse(&head) else {
                continue;
            };
            let (base, Ok(n)) = (header.len(), header.chunks()) else {
                continue;
            };
            let seen = self.walk(&header, base, &[])?;
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
                "its index is lost: the chunks are taken in the order in which they stand there"
            ));
            let slots = seen.iter().map(|s| Slot::At(s.place)).collect();
            return Ok(Some(Found {
                header,
                base,
                slots,
                trailer,
                sealed: false,
                lost,
                headless: false,
            }));
        }
        Ok(None)
    }

    // ---- parts

    /// What the header may be: as it is there, and with all bytes put right that are the same in
    /// every header.
    fn heads(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for fixed in [false, true] {
            let mut head = self.head.clone();
            if fixed {
                header::put_constants(&mut head, self.site.sparse);
            }
            let lens = [header::said_len(&head), header::true_len(&head)];
            for len in lens
                .into_iter()
                .flatten()
                .filter(|len| (header::FIXED..=head.len()).contains(len))
            {
                let mut head = head.get(..len).unwrap_or_default().to_vec();
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

    /// The header of the chunk at a place.
    fn chunk_at(&self, base: u64, place: u64) -> Option<blosc::Header> {
        if self.site.sparse {
            let file = self
                .site
                .folder
                .open(&self.site.chunk(place), crate::io::Access::Read)
                .ok()?;
            return read_buffer::with_range(
                &*file,
                0,
                blosc::LONG,
                self.limit,
                blosc::Header::parse,
            )
            .ok();
        }
        read_buffer::with_range(
            &**self.file,
            base.checked_add(place)?,
            blosc::LONG,
            self.limit,
            blosc::Header::parse,
        )
        .ok()
    }

    fn walk(&self, header: &Header, base: u64, sums: &[[u32; 2]]) -> Result<Vec<scan::Seen>> {
        match self.site.sparse {
            true => scan::in_folder(self.site, header, self.limit),
            false => scan::in_file(&**self.file, base..self.size, header, sums),
        }
    }

    /// The index that ends here: the chunk of so many numbers.
    fn index_before(&self, end: u64, chunks: u64, least: u64) -> Option<Vec<u8>> {
        self.indices_before(end, chunks, least)
            .find(|b| index::decode(b, chunks, self.limit).is_ok())
    }

    /// The same, however many there are.
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
            .saturating_add(blosc::LONG as u64)
            .min(end.saturating_sub(least));
        let bytes = self.bytes(end - room..end).unwrap_or_default();
        let count = bytes.len().saturating_sub(blosc::LONG - 1);
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

    /// Bytes of content of the last chunk.
    fn last_chunk(&self, index: &[u8], chunks: u64, base: u64) -> Option<u64> {
        match index::decode(index, chunks, self.limit).ok()?.last()? {
            Slot::At(place) => self.chunk_at(base, *place).map(|h| h.nbytes as u64),
            _ => None,
        }
    }
}
