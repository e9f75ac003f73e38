//! Items whose fields stand in folders of their own, as the papers have it: `data/a`, `data/b/c`.
//!
//! Each field at the end of such a way is a run of bytes in chunks, of as many rows as all. Here
//! they become items again, and items become fields.
#![forbid(unsafe_code)]

use super::chunks::Chunks;
use crate::alloc;
use crate::array::dtype::Type;
use crate::error::{Error, Result, fail};
use crate::superchunk::bloscpack::Splice;
use std::ops::Range;

/// Bytes of items that are put together at once.
const PIECE: u64 = 4 << 20;

/// One field of an item.
pub struct Field {
    /// Where in the item it begins, and its bytes.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
    /// What it is.
    pub item: Type,
    /// Those of all items.
    pub chunks: Chunks,
}

/// All fields.
pub struct Fields {
    /// They.
    pub all: Vec<Field>,
    /// Bytes of an item.
    pub item: u64,
    /// How many items there are, and in a chunk.
    pub items: u64,
    /// How many of them are in a chunk.
    pub chunk_items: u64,
    /// The most that a file may make a call allocate.
    pub memory_limit: u64,
}

impl Fields {
    /// Bytes of all items.
    pub fn nbytes(&self) -> u64 {
        self.items.saturating_mul(self.item)
    }

    /// The bytes of items that stand in one chunk of each field, with the byte at `at` among them.
    pub fn span(&self, at: u64) -> Range<u64> {
        let chunk = self.chunk_items.saturating_mul(self.item).max(1);
        let start = at - at % chunk;
        start..start.saturating_add(chunk)
    }

    /// As [`Chunks::read`].
    pub fn read(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let end = at
            .checked_add(dst.len() as u64)
            .filter(|end| *end <= self.nbytes());
        let end = end.ok_or_else(|| {
            fail!(
                Range,
                "{} bytes at {at}: there are {}",
                dst.len(),
                self.nbytes()
            )
        })?;
        let most = (PIECE / self.item.max(1)).max(1).saturating_mul(self.item);
        let (mut at, mut rest, mut bad) = (at, dst, false);
        while at < end {
            let first = at / self.item;
            let to = (first * self.item).saturating_add(most).min(end);
            let (piece, behind) = rest
                .split_at_mut_checked((to - at) as usize)
                .unwrap_or_default();
            let items = first..to.div_ceil(self.item);
            if at.is_multiple_of(self.item) && to.is_multiple_of(self.item) {
                bad |= self.items(items, piece)?;
            } else {
                let n = alloc::allow(
                    (items.end - items.start) * self.item,
                    self.memory_limit,
                    "items of several fields",
                )?;
                let mut whole = alloc::zeroed(n)?;
                let skip = (at - first * self.item) as usize;
                bad |= self.items(items, &mut whole)?;
                piece.copy_from_slice(
                    whole
                        .get(skip..)
                        .and_then(|w| w.get(..piece.len()))
                        .unwrap_or_default(),
                );
            }
            (at, rest) = (to, behind);
        }
        Ok(bad)
    }

    /// Puts these items together in `dst`, which has room for just them.
    fn items(&self, items: Range<u64>, dst: &mut [u8]) -> Result<bool> {
        let (mut scratch, mut bad) = (Vec::new(), false);
        dst.fill(0);
        for field in self.all.iter().filter(|f| f.size > 0) {
            let size = field.size as u64;
            let n = alloc::allow(
                (items.end - items.start).saturating_mul(size),
                self.memory_limit,
                "items of a field",
            )?;
            if scratch.len() < n {
                scratch = alloc::zeroed(n)?;
            }
            let values = scratch.get_mut(..n).unwrap_or_default();
            bad |= field.chunks.read(items.start * size, values)?;
            for (item, value) in dst
                .chunks_exact_mut(self.item as usize)
                .zip(values.chunks_exact(field.size))
            {
                if let Some(to) = item
                    .get_mut(field.offset..)
                    .and_then(|i| i.get_mut(..field.size))
                {
                    to.copy_from_slice(value);
                }
            }
        }
        Ok(bad)
    }

    /// How many items so many bytes are.
    fn whole(&self, nbytes: u64) -> Result<u64> {
        let n = nbytes / self.item.max(1);
        if n * self.item == nbytes {
            Ok(n)
        } else {
            Err(fail!(
                Argument,
                "{nbytes} bytes: items of {} bytes were expected",
                self.item
            ))
        }
    }

    /// The values of one field in these items.
    fn values(&self, field: &Field, items: &[u8]) -> Result<Vec<u8>> {
        let item = self.item.max(1) as usize;
        let mut values = alloc::with_room(items.len() / item * field.size)?;
        for item in items.chunks_exact(item) {
            values.extend_from_slice(
                item.get(field.offset..)
                    .and_then(|i| i.get(..field.size))
                    .unwrap_or_default(),
            );
        }
        Ok(values)
    }

    /// Calls `f` for each field, with the values of it in these items.
    fn each(
        &mut self,
        src: &[u8],
        mut f: impl FnMut(&mut Chunks, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for i in 0..self.all.len() {
            let Some(field) = self.all.get(i) else { break };
            let values = self.values(field, src)?;
            if let Some(field) = self.all.get_mut(i) {
                f(&mut field.chunks, field.size as u64, &values)?;
            }
        }
        Ok(())
    }

    /// As [`Chunks::append`].
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        let new = self.whole(src.len() as u64)?;
        if let Err(e) = self.each(src, |chunks, _, values| chunks.append(values)) {
            // as many of each as there were; what cannot be taken back does not count
            let old = self.items;
            self.all
                .iter_mut()
                .try_for_each(|f| f.chunks.truncate(old * f.size as u64))?;
            return Err(e);
        }
        self.items += new;
        Ok(())
    }

    /// As [`Chunks::write`].
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        let first = self.whole(at)?;
        self.whole(src.len() as u64)?;
        let most = (PIECE / self.item.max(1)).max(1);
        for (i, piece) in src.chunks((most * self.item).max(1) as usize).enumerate() {
            let at = first + i as u64 * most;
            self.each(piece, |chunks, size, values| {
                chunks.write(at * size, values)
            })?;
        }
        Ok(())
    }

    /// As [`Chunks::truncate`].
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        let items = self.whole(nbytes)?;
        if items > self.items {
            return Err(fail!(
                Range,
                "{nbytes} bytes are to stay: there are {}",
                self.nbytes()
            ));
        }
        self.all
            .iter_mut()
            .try_for_each(|f| f.chunks.truncate(items * f.size as u64))?;
        self.items = items;
        Ok(())
    }

    /// As [`Chunks::splice`], but that some fields may be changed when it fails: it says so.
    pub fn splice(&mut self, s: &Splice) -> std::result::Result<(), (Error, bool)> {
        let (mut some, times, every) = (false, s.times, s.every);
        let done = (|| {
            let (at, gone, new) = (
                self.whole(s.at)?,
                self.whole(s.gone)?,
                self.whole(s.src.len() as u64)?,
            );
            self.each(s.src, |chunks, size, values| {
                chunks.splice(&Splice {
                    at: at * size,
                    gone: gone * size,
                    src: values,
                    times,
                    every,
                })?;
                some = true;
                Ok(())
            })?;
            self.items = self.items - gone + new;
            Ok(())
        })();
        done.map_err(|e| (e, some))
    }
}
