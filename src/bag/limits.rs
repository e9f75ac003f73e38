//! Limits: the end offset of each record of a file, as little-endian u64. Bagz calls them limits.
//!
//! They are stored at the end of the file itself or in a separate file. They are read on demand or
//! held in memory.
//!
//! `bound(0)` is 0 and `bound(i)` is the limit of record `i - 1`. Record `i` is the range
//! `bound(i)..bound(i + 1)`.
#![forbid(unsafe_code)]

use super::offset_cache::{self, OffsetCache};
use crate::alloc;
use crate::error::{Result, Status, fail};
use crate::io::File;
use crate::slice::SliceExt;
use std::sync::Arc;

/// Size of a limit in bytes.
pub const LIMIT: u64 = 8;
const PIECE: usize = 64 << 10;
/// Size of a piece in an object store, where each piece is a request.
const REMOTE_PIECE: usize = 8 << 20;

/// The limits of one file.
pub struct Limits {
    count: u64,
    storage: Storage,
}

/// The extent of a record, `from..to`, with the start of the previous record and the end of the
/// next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordBounds {
    /// Start of the previous record; 0 for the first record.
    pub before: u64,
    /// Start of the record.
    pub from: u64,
    /// End of the record.
    pub to: u64,
    /// End of the next record; `to` for the last record.
    pub after: u64,
}

enum Storage {
    Disk {
        file: Arc<dyn File>,
        base: u64,
        /// Length that the file must still have after limits were read. An append in place extends
        /// the file before it overwrites limits.
        unchanged: Option<u64>,
        /// Cache of limits of single records, if reading them takes system calls.
        cache: Option<OffsetCache>,
        /// What the last limit is without the room after its record (see [`super::room`]).
        last: Option<u64>,
    },
    Memory(Vec<u64>),
}

/// The limits at the tail of a file.
pub struct Tail {
    /// The limits.
    pub limits: Limits,
    /// The end of the records: the last limit.
    pub end: u64,
    /// The last limits, at most four.
    pub last: Vec<u64>,
}

impl Tail {
    /// Reads the tail of a file of `size` bytes.
    pub fn read(file: &Arc<dyn File>, size: u64) -> Result<Tail> {
        let name = file.name();
        if (1..LIMIT).contains(&size) {
            return Err(fail!(
                Format,
                "{name}: {size} bytes cannot be a bag: a single limit has 8 bytes"
            ));
        }
        let mut bytes = [0; 4 * LIMIT as usize];
        let n = (size / LIMIT).min(4);
        let bytes = bytes.at_mut(..(n * LIMIT) as usize)?;
        file.read_cached(size - n * LIMIT, bytes)?;
        let last = bytes.as_chunks::<8>().0.iter();
        let mut last: Vec<u64> = last.map(|limit| u64::from_le_bytes(*limit)).collect();
        let end = last.last().copied().unwrap_or(0);
        if end > size - n.min(1) * LIMIT {
            return Err(fail!(
                Format,
                "{name}: its last 8 bytes must be the end offset of its records (found {end}, the file has {size} bytes)"
            ));
        }
        if !(size - end).is_multiple_of(LIMIT) {
            return Err(fail!(
                Format,
                "{name}: its last limit leaves {} bytes for limits of 8 bytes each: it was truncated or is not a bag",
                size - end
            ));
        }
        let count = (size - end) / LIMIT;
        last.drain(..n.saturating_sub(count) as usize);
        let limits = Limits::on_disk(file.clone(), end, count, true);
        Ok(Tail { limits, end, last })
    }
}

impl Limits {
    /// Creates limits that stay on disk, `count` of them at offset `base`. `in_place` means that
    /// they share the file with the records.
    pub fn on_disk(file: Arc<dyn File>, base: u64, count: u64, in_place: bool) -> Limits {
        let unchanged = in_place.then(|| base.saturating_add(count.saturating_mul(LIMIT)));
        let cache = (file.object().is_none() && (in_place || !file.is_in_memory()))
            .then(OffsetCache::default);
        Limits {
            count,
            storage: Storage::Disk {
                file,
                base,
                unchanged,
                cache,
                last: None,
            },
        }
    }

    /// Leaves out the room after the last record, which ends at `end`: a later commit overwrites it.
    pub fn leave_out_room(&mut self, end: u64) {
        if let Storage::Disk { last, .. } = &mut self.storage {
            *last = Some(end);
        }
    }

    /// Reads all limits into memory.
    pub fn into_memory(self, limit: u64) -> Result<Limits> {
        let what = format!("the limits of {} records", self.count);
        let bytes = alloc::allow(self.count.saturating_mul(LIMIT), limit, what)?;
        let mut all = alloc::with_capacity(bytes / LIMIT as usize)?;
        let mut first = 0;
        while first < self.count {
            let n = (self.count - first).min(self.piece() as u64 / LIMIT);
            all.extend(self.bounds(first, n)?.iter().skip(1));
            first += n;
        }
        self.check_unchanged()?;
        Ok(Limits {
            count: self.count,
            storage: Storage::Memory(all),
        })
    }

    /// Returns the number of limits.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the bounds of a record and of its neighbours, and whether they are verified. If they
    /// are not, the caller must call [`Limits::check_unchanged`].
    #[inline]
    pub fn around(&self, i: u64) -> Result<(RecordBounds, bool)> {
        match self.cached_four(i) {
            Some([before, from, to, after]) => Ok((
                RecordBounds {
                    before,
                    from,
                    to,
                    after,
                },
                true,
            )),
            None => self.around_slow(i),
        }
    }

    /// Returns the cached bounds around record `i`, unless it is the first or the last record.
    #[inline]
    fn cached_four(&self, i: u64) -> Option<[u64; 4]> {
        let Storage::Disk {
            cache: Some(cache), ..
        } = &self.storage
        else {
            return None;
        };
        if i.checked_add(2)? <= self.count {
            cache.four(i.checked_sub(2)?)
        } else {
            None
        }
    }

    /// Like [`Limits::around`], for any record and any storage.
    fn around_slow(&self, i: u64) -> Result<(RecordBounds, bool)> {
        let (first, last) = (i.saturating_sub(2), i.saturating_add(2).min(self.count));
        let mut limits = [0; 4];
        let (skip, n) = (
            (first + 2).saturating_sub(i) as usize,
            last.saturating_sub(first) as usize,
        );
        let requested = limits
            .get_mut(skip..skip + n)
            .ok_or_else(|| fail!(Range, "no limit {i}"))?;
        let mut verified = true;
        match &self.storage {
            Storage::Memory(all) => {
                requested.copy_from_slice(all.at(first as usize..last as usize)?)
            }
            Storage::Disk { .. } if self.cached_limits(first, requested)? => {}
            Storage::Disk { .. } => {
                let mut bytes = [0; 32];
                let bytes = bytes.at_mut(..n * LIMIT as usize)?;
                self.fetch(first, bytes)?;
                requested
                    .iter_mut()
                    .zip(bytes.as_chunks::<8>().0)
                    .for_each(|(w, b)| *w = u64::from_le_bytes(*b));
                verified = false;
            }
        }
        let [before, from, to, after] = limits;
        Ok((
            RecordBounds {
                before,
                from,
                to,
                after: if last == i + 2 { after } else { to },
            },
            verified,
        ))
    }

    /// Copies limits from `first` on from the cache, and caches their pieces first if necessary.
    /// Returns false if a limit cannot be cached.
    fn cached_limits(&self, first: u64, limits: &mut [u64]) -> Result<bool> {
        let Storage::Disk {
            cache: Some(cache), ..
        } = &self.storage
        else {
            return Ok(false);
        };
        for (i, limit) in (first..).zip(limits) {
            let cached = match cache.get(i) {
                None if OffsetCache::has_room(self.count) => self.cache_piece(cache, i)?,
                cached => cached,
            };
            *limit = match cached {
                Some(limit) => limit,
                None => return Ok(false),
            };
        }
        Ok(true)
    }

    /// Caches the piece of limit `i` and returns the limit. Returns `None` if the piece cannot be
    /// read or the cache is full.
    #[cold]
    fn cache_piece(&self, cache: &OffsetCache, i: u64) -> Result<Option<u64>> {
        let first = i - i % offset_cache::PIECE as u64;
        let n = (self.count - first).min(offset_cache::PIECE as u64) as usize;
        let mut bytes = [0; offset_cache::PIECE * LIMIT as usize];
        let bytes = bytes.at_mut(..n * LIMIT as usize)?;
        match self.fetch(first, bytes) {
            // The requested limit may be readable although the piece is not.
            Err(e) if e.status != Status::Memory => return Ok(None),
            read => read?,
        }
        self.check_unchanged()?;
        let mut limits = [0; offset_cache::PIECE];
        let limits = limits.at_mut(..n)?;
        limits
            .iter_mut()
            .zip(bytes.as_chunks::<8>().0)
            .for_each(|(w, b)| *w = u64::from_le_bytes(*b));
        cache.put(first, self.count, limits);
        Ok(cache.get(i))
    }

    /// Returns `bound(first)` to `bound(first + n)`: `n + 1` values. The caller must call
    /// [`Limits::check_unchanged`] before it uses them.
    pub fn bounds(&self, first: u64, n: u64) -> Result<Vec<u64>> {
        let many = usize::try_from(n).map_err(|_| fail!(Limit, "{n} limits at once"))?;
        let mut out = alloc::with_capacity(many.saturating_add(1))?;
        if first == 0 {
            out.push(0);
        }
        let from = first.saturating_sub(1);
        let last = first
            .checked_add(n)
            .filter(|&e| e <= self.count)
            .ok_or_else(|| fail!(Range, "limits beyond the last"))?;
        match &self.storage {
            Storage::Memory(all) => out.extend_from_slice(all.at(from as usize..last as usize)?),
            Storage::Disk { .. } => {
                let most = self.piece();
                let mut buf = alloc::zeroed(most.min((last - from) as usize * LIMIT as usize))?;
                let mut at = from;
                while at < last {
                    let piece = buf.at_mut(..((last - at) * LIMIT).min(most as u64) as usize)?;
                    self.fetch(at, piece)?;
                    let (limits, _) = piece.as_chunks::<8>();
                    out.extend(limits.iter().map(|w| u64::from_le_bytes(*w)));
                    at += limits.len() as u64;
                }
            }
        }
        Ok(out)
    }

    /// Returns `bound(i)`. The caller must call [`Limits::check_unchanged`] before it uses it.
    pub fn bound(&self, i: u64) -> Result<u64> {
        let bounds = self.bounds(i, 0)?;
        let bound = bounds.first().copied();
        bound.ok_or_else(|| fail!(Range, "no limit {i}"))
    }

    /// Reads the bytes of the limits from `from` on.
    fn fetch(&self, from: u64, dst: &mut [u8]) -> Result<()> {
        let Storage::Disk {
            file, base, last, ..
        } = &self.storage
        else {
            return Ok(());
        };
        let at = base.saturating_add(from.saturating_mul(LIMIT));
        match file
            .bytes()
            .and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..dst.len()))
        {
            Some(b) => dst.copy_from_slice(b),
            None => file.read_cached(at, dst)?,
        }
        if let Some(last) = last.filter(|_| from + dst.len() as u64 / LIMIT == self.count)
            && let Some(limit) = dst.last_chunk_mut()
        {
            *limit = last.to_le_bytes();
        }
        Ok(())
    }

    fn piece(&self) -> usize {
        match &self.storage {
            Storage::Disk { file, .. } if file.is_remote() => REMOTE_PIECE,
            _ => PIECE,
        }
    }

    /// Returns the file and the byte range of the limits of records `first` to `last` and of their
    /// neighbours, or `None` if the limits are in memory.
    pub fn span(&self, first: u64, last: u64) -> Option<(&dyn File, u64, u64)> {
        let Storage::Disk { file, base, .. } = &self.storage else {
            return None;
        };
        let at = |i: u64| base.saturating_add(i.min(self.count).saturating_mul(LIMIT));
        Some((
            &**file,
            at(first.saturating_sub(2)),
            at(last.saturating_add(2)),
        ))
    }

    /// Hints that the limits around these records, in ascending order, will be read next. Does
    /// nothing if the first of them that are not in memory are in the page cache.
    pub fn read_ahead(&self, records: impl Iterator<Item = u64> + Clone) {
        const PIECE: u64 = offset_cache::PIECE as u64;
        // the piece that is cached, and what it lacks of the neighbours
        let piece = |i: u64| self.span(i - i % PIECE, (i - i % PIECE).saturating_add(PIECE - 1));
        let unknown = records.filter(|&i| self.cached_four(i).is_none());
        let Some(first) = unknown.clone().next() else {
            return;
        };
        if piece(first).is_none_or(|(file, from, _)| file.is_cached(from)) {
            return;
        }
        let mut end = 0;
        unknown.filter_map(piece).for_each(|(file, from, to)| {
            if to > end {
                file.begin_reading(from, to);
                end = to;
            }
        });
    }

    /// Returns an error if the file has changed since it was opened. Must be called after limits
    /// are read and before they are used. One call is enough for a batch.
    pub fn check_unchanged(&self) -> Result<()> {
        let Storage::Disk {
            file,
            unchanged: Some(was),
            ..
        } = &self.storage
        else {
            return Ok(());
        };
        let now = file.size()?;
        if now == *was {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it had {was} bytes when it was opened and has {now} now; open it again (with its limits in memory, HOLDALL_OPT_BAG_LIMITS_CACHE 1, a bag stays readable during appends)",
            file.name()
        ))
    }
}
