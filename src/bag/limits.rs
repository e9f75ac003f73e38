//! Limits: where each record of a file ends, one little-endian u64 a record; at the end of the file
//! itself, or in a file of their own; read from there at need, or kept in memory.
//!
//! `bound(0)` is 0 and `bound(i)` the limit of record `i - 1`: record `i` is `bound(i)..bound(i +
//! 1)`.
#![forbid(unsafe_code)]

use super::offset_cache::{self, Kept};
use crate::alloc;
use crate::error::{Result, Status, fail};
use crate::io::File;
use std::sync::Arc;

/// Bytes of one limit.
pub const LIMIT: u64 = 8;
const PIECE: usize = 64 << 10;
/// The same of an object store, where each piece is a request.
const LONG_PIECE: usize = 8 << 20;

/// The limits of one file.
pub struct Limits {
    count: u64,
    place: Place,
}

/// A record, `from..to`, where the one before it begins, and where the one after it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// Where the record before begins; at the first one, 0.
    pub before: u64,
    /// Where it begins.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// Where the record after ends; at the last one, `to`.
    pub after: u64,
}

enum Place {
    Disk {
        file: Arc<dyn File>,
        base: u64,
        /// The length that the file must still have once limits were read from it: an append in
        /// place lets the file grow before it writes over them.
        unchanged: Option<u64>,
        /// Those that were read for single records, where that takes system calls.
        kept: Option<Kept>,
    },
    Memory(Vec<u64>),
}

impl Limits {
    /// Limits that stay on disk, `count` of them from `base` on. `in_place`: they share their file
    /// with the records.
    pub fn on_disk(file: Arc<dyn File>, base: u64, count: u64, in_place: bool) -> Limits {
        let unchanged = in_place.then(|| base.saturating_add(count.saturating_mul(LIMIT)));
        let kept =
            (file.object().is_none() && (in_place || !file.is_in_memory())).then(Kept::default);
        Limits {
            count,
            place: Place::Disk {
                file,
                base,
                unchanged,
                kept,
            },
        }
    }

    /// The same limits, read into memory once.
    pub fn into_memory(self, limit: u64) -> Result<Limits> {
        let what = format!("the limits of {} records", self.count);
        let bytes = alloc::allow(self.count.saturating_mul(LIMIT), limit, what)?;
        let mut all = alloc::with_room(bytes / LIMIT as usize)?;
        let mut first = 0;
        while first < self.count {
            let n = (self.count - first).min(self.piece() as u64 / LIMIT);
            all.extend(self.bounds(first, n)?.iter().skip(1));
            first += n;
        }
        self.still()?;
        Ok(Limits {
            count: self.count,
            place: Place::Memory(all),
        })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The bounds of one record and of its neighbours, and whether that is sure already: otherwise
    /// see [`Limits::still`].
    #[inline]
    pub fn around(&self, i: u64) -> Result<(Around, bool)> {
        match self.kept_four(i) {
            Some([before, from, to, after]) => Ok((
                Around {
                    before,
                    from,
                    to,
                    after,
                },
                true,
            )),
            None => self.around_any(i),
        }
    }

    /// What is around record `i`, where it is at no end, of limits that are kept.
    #[inline]
    fn kept_four(&self, i: u64) -> Option<[u64; 4]> {
        let Place::Disk {
            kept: Some(kept), ..
        } = &self.place
        else {
            return None;
        };
        if i.checked_add(2)? <= self.count {
            kept.four(i.checked_sub(2)?)
        } else {
            None
        }
    }

    /// As [`Limits::around`], wherever record and limits are.
    fn around_any(&self, i: u64) -> Result<(Around, bool)> {
        let (first, last) = (i.saturating_sub(2), i.saturating_add(2).min(self.count));
        let mut words = [0; 4];
        let (skip, n) = (
            (first + 2).saturating_sub(i) as usize,
            last.saturating_sub(first) as usize,
        );
        let wanted = words
            .get_mut(skip..skip + n)
            .ok_or_else(|| fail!(Range, "no limit {i}"))?;
        let mut sure = true;
        match &self.place {
            Place::Memory(all) => {
                wanted.copy_from_slice(all.get(first as usize..last as usize).unwrap_or_default())
            }
            Place::Disk { .. } if self.kept_words(first, wanted)? => {}
            Place::Disk { .. } => {
                let mut bytes = [0; 32];
                let bytes = bytes.get_mut(..n * LIMIT as usize).unwrap_or_default();
                self.fetch(first, bytes)?;
                wanted
                    .iter_mut()
                    .zip(bytes.as_chunks::<8>().0)
                    .for_each(|(w, b)| *w = u64::from_le_bytes(*b));
                sure = false;
            }
        }
        let [before, from, to, after] = words;
        Ok((
            Around {
                before,
                from,
                to,
                after: if last == i + 2 { after } else { to },
            },
            sure,
        ))
    }

    /// Limits from `first` on, of those that are kept, or are kept from now on; false where they
    /// are not.
    fn kept_words(&self, first: u64, words: &mut [u64]) -> Result<bool> {
        let Place::Disk {
            kept: Some(kept), ..
        } = &self.place
        else {
            return Ok(false);
        };
        for (i, word) in (first..).zip(words) {
            *word = match kept.get(i) {
                Some(limit) => limit,
                None if !Kept::has_room(self.count) || !self.keep(kept, i)? => return Ok(false),
                None => kept.get(i).unwrap_or(0),
            };
        }
        Ok(true)
    }

    /// Keeps the piece with limit `i`; false where it cannot be read, or has no room.
    #[cold]
    fn keep(&self, kept: &Kept, i: u64) -> Result<bool> {
        let first = i - i % offset_cache::PIECE as u64;
        let n = (self.count - first).min(offset_cache::PIECE as u64) as usize;
        let mut bytes = [0; offset_cache::PIECE * LIMIT as usize];
        let bytes = bytes.get_mut(..n * LIMIT as usize).unwrap_or_default();
        match self.fetch(first, bytes) {
            // one that is wanted may be readable all the same
            Err(e) if e.status != Status::Memory => return Ok(false),
            read => read?,
        }
        self.still()?;
        let mut limits = [0; offset_cache::PIECE];
        let limits = limits.get_mut(..n).unwrap_or_default();
        limits
            .iter_mut()
            .zip(bytes.as_chunks::<8>().0)
            .for_each(|(w, b)| *w = u64::from_le_bytes(*b));
        kept.put(first, self.count, limits);
        Ok(kept.get(i).is_some())
    }

    /// `bound(first)` to `bound(first + n)`: `n + 1` values. See [`Limits::still`].
    pub fn bounds(&self, first: u64, n: u64) -> Result<Vec<u64>> {
        let many = usize::try_from(n).map_err(|_| fail!(Limit, "{n} limits at once"))?;
        let mut out = alloc::with_room(many.saturating_add(1))?;
        if first == 0 {
            out.push(0);
        }
        let from = first.saturating_sub(1);
        let last = first
            .checked_add(n)
            .filter(|&e| e <= self.count)
            .ok_or_else(|| fail!(Range, "limits beyond the last"))?;
        match &self.place {
            Place::Memory(all) => {
                out.extend_from_slice(all.get(from as usize..last as usize).unwrap_or_default())
            }
            Place::Disk { .. } => {
                let most = self.piece();
                let mut buf = alloc::zeroed(most.min((last - from) as usize * LIMIT as usize))?;
                let mut at = from;
                while at < last {
                    let piece = buf
                        .get_mut(..((last - at) * LIMIT).min(most as u64) as usize)
                        .unwrap_or_default();
                    self.fetch(at, piece)?;
                    let (words, _) = piece.as_chunks::<8>();
                    out.extend(words.iter().map(|w| u64::from_le_bytes(*w)));
                    at += words.len() as u64;
                }
            }
        }
        Ok(out)
    }

    /// The bytes of limits from `from` on.
    fn fetch(&self, from: u64, dst: &mut [u8]) -> Result<()> {
        let Place::Disk { file, base, .. } = &self.place else {
            return Ok(());
        };
        let at = base.saturating_add(from.saturating_mul(LIMIT));
        match file
            .bytes()
            .and_then(|b| b.get(usize::try_from(at).ok()?..)?.get(..dst.len()))
        {
            Some(b) => dst.copy_from_slice(b),
            None => file.read_kept(at, dst)?,
        }
        Ok(())
    }

    fn piece(&self) -> usize {
        match &self.place {
            Place::Disk { file, .. } if file.object().is_some() => LONG_PIECE,
            _ => PIECE,
        }
    }

    /// Where in which file the limits of records are, those around them too; none where they are in
    /// memory.
    pub fn span(&self, first: u64, last: u64) -> Option<(&dyn File, u64, u64)> {
        let Place::Disk { file, base, .. } = &self.place else {
            return None;
        };
        let at = |i: u64| base.saturating_add(i.min(self.count).saturating_mul(LIMIT));
        Some((
            &**file,
            at(first.saturating_sub(2)),
            at(last.saturating_add(2)),
        ))
    }

    /// To be called after limits were read and before they are believed: an error where the file
    /// has changed under us. One call serves a whole batch.
    pub fn still(&self) -> Result<()> {
        let Place::Disk {
            file,
            unchanged: Some(was),
            ..
        } = &self.place
        else {
            return Ok(());
        };
        let now = file.size()?;
        if now == *was {
            return Ok(());
        }
        Err(fail!(
            State,
            "{}: it had {was} bytes when it was opened and has {now} now; open it again to read on (a bag whose limits are kept in memory reads on through appends)",
            file.name()
        ))
    }
}
