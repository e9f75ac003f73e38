//! Items whose fields are stored in folders of their own, as in the BLZ RFC layout: `data/a`,
//! `data/b/c`.
//!
//! Each leaf field is a run of chunks with one value per item. This module assembles items from
//! fields and splits items into fields.
#![forbid(unsafe_code)]

use super::chunks::Chunks;
use crate::alloc;
use crate::dtype::Type;
use crate::error::{Error, Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::bloscpack::Splice;
use std::ops::Range;

/// Bytes of items that are assembled at once.
const STEP_BYTES: u64 = 4 << 20;

/// One field of an item.
pub struct Field {
    /// Offset of the field in the item.
    pub offset: usize,
    /// Size of the field in bytes.
    pub size: usize,
    /// Type of the field.
    pub item: Type,
    /// Values of the field for all items.
    pub chunks: Chunks,
}

/// All fields of an array.
pub struct Fields {
    /// The leaf fields.
    pub all: Vec<Field>,
    /// Size of an item in bytes.
    pub item: u64,
    /// Number of items.
    pub items: u64,
    /// Number of items in a chunk.
    pub chunk_items: u64,
    /// Maximum number of bytes that a file may make a call allocate.
    pub memory_limit: u64,
}

impl Fields {
    /// Returns the size of all items in bytes.
    pub fn nbytes(&self) -> u64 {
        self.items.saturating_mul(self.item)
    }

    /// Returns the range of item bytes that are stored in the same chunk of each field as the byte
    /// at `at`.
    pub fn span(&self, at: u64) -> Range<u64> {
        let chunk = self.chunk_items.saturating_mul(self.item).max(1);
        let start = at - at % chunk;
        start..start.saturating_add(chunk)
    }

    /// Reads as [`Chunks::read`] does.
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
        let most = (STEP_BYTES / self.item.max(1))
            .max(1)
            .saturating_mul(self.item);
        let (mut at, mut rest, mut corrupt) = (at, dst, false);
        while at < end {
            let first = at / self.item;
            let to = (first * self.item).saturating_add(most).min(end);
            let (piece, after) = rest.cut_mut((to - at) as usize)?;
            let items = first..to.div_ceil(self.item);
            if at.is_multiple_of(self.item) && to.is_multiple_of(self.item) {
                corrupt |= self.assemble(items, piece)?;
            } else {
                let n = alloc::allow(
                    (items.end - items.start) * self.item,
                    self.memory_limit,
                    "items of several fields",
                )?;
                let mut whole = alloc::zeroed(n)?;
                let skip = (at - first * self.item) as usize;
                corrupt |= self.assemble(items, &mut whole)?;
                piece.copy_from_slice(whole.at(skip..skip + piece.len())?);
            }
            (at, rest) = (to, after);
        }
        Ok(corrupt)
    }

    /// Assembles these items in `dst`, which must have exactly their size.
    fn assemble(&self, items: Range<u64>, dst: &mut [u8]) -> Result<bool> {
        let (mut scratch, mut corrupt) = (Vec::new(), false);
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
            let values = scratch.at_mut(..n)?;
            corrupt |= field.chunks.read(items.start * size, values)?;
            for (item, value) in dst
                .chunks_exact_mut(self.item as usize)
                .zip(values.chunks_exact(field.size))
            {
                item.at_mut(field.offset..)?
                    .at_mut(..field.size)?
                    .copy_from_slice(value);
            }
        }
        Ok(corrupt)
    }

    /// Returns the number of items in `nbytes` bytes. Fails if it is not an integer.
    fn item_count(&self, nbytes: u64) -> Result<u64> {
        let n = nbytes / self.item.max(1);
        if n * self.item == nbytes {
            Ok(n)
        } else {
            Err(fail!(
                Argument,
                "{nbytes} bytes are not a multiple of the item size {}",
                self.item
            ))
        }
    }

    /// Extracts the values of one field from these items.
    fn values(&self, field: &Field, items: &[u8]) -> Result<Vec<u8>> {
        let item = self.item.max(1) as usize;
        let mut values = alloc::with_capacity(items.len() / item * field.size)?;
        for item in items.chunks_exact(item) {
            values.extend_from_slice(item.at(field.offset..)?.at(..field.size)?);
        }
        Ok(values)
    }

    /// Calls `f` for each field with its chunks, its size and its values in these items.
    fn for_each_field(
        &mut self,
        src: &[u8],
        mut f: impl FnMut(&mut Chunks, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for i in 0..self.all.len() {
            let values = self.values(self.all.at(i)?, src)?;
            let field = self.all.at_mut(i)?;
            f(&mut field.chunks, field.size as u64, &values)?;
        }
        Ok(())
    }

    /// Appends as [`Chunks::append`] does.
    pub fn append(&mut self, src: &[u8]) -> Result<()> {
        let new = self.item_count(src.len() as u64)?;
        if let Err(e) = self.for_each_field(src, |chunks, _, values| chunks.append(values)) {
            // give all fields the old length again; chunks that cannot be removed are ignored,
            // since `meta/sizes` does not include them
            let old = self.items;
            self.all
                .iter_mut()
                .try_for_each(|f| f.chunks.truncate(old * f.size as u64))?;
            return Err(e);
        }
        self.items += new;
        Ok(())
    }

    /// Writes as [`Chunks::write`] does.
    pub fn write(&mut self, at: u64, src: &[u8]) -> Result<()> {
        let first = self.item_count(at)?;
        self.item_count(src.len() as u64)?;
        let most = (STEP_BYTES / self.item.max(1)).max(1);
        for (i, piece) in src.chunks((most * self.item).max(1) as usize).enumerate() {
            let at = first + i as u64 * most;
            self.for_each_field(piece, |chunks, size, values| {
                chunks.write(at * size, values)
            })?;
        }
        Ok(())
    }

    /// Truncates as [`Chunks::truncate`] does.
    pub fn truncate(&mut self, nbytes: u64) -> Result<()> {
        let items = self.item_count(nbytes)?;
        if items > self.items {
            return Err(fail!(
                Range,
                "cannot keep {nbytes} of {} bytes",
                self.nbytes()
            ));
        }
        self.all
            .iter_mut()
            .try_for_each(|f| f.chunks.truncate(items * f.size as u64))?;
        self.items = items;
        Ok(())
    }

    /// Rearranges as [`Chunks::rearrange`] does, except that some fields may be changed on failure.
    /// The second value of the error is true if that happened.
    pub fn rearrange(
        &mut self,
        first: u64,
        n: u64,
        from: &dyn Fn(u64) -> Option<u64>,
    ) -> std::result::Result<(), (Error, bool)> {
        for (i, field) in self.all.iter_mut().enumerate() {
            let done = field.chunks.rearrange(first, n, from);
            done.map_err(|e| (e, i > 0))?;
        }
        self.items = n.saturating_mul(self.chunk_items);
        Ok(())
    }

    /// Splices as [`Chunks::splice`] does, except that some fields may be changed on failure. The
    /// second value of the error is true if that happened.
    pub fn splice(&mut self, s: &Splice) -> std::result::Result<(), (Error, bool)> {
        let (mut some, times, every) = (false, s.times, s.every);
        let done = (|| {
            let (at, gone, new) = (
                self.item_count(s.at)?,
                self.item_count(s.gone)?,
                self.item_count(s.src.len() as u64)?,
            );
            self.for_each_field(s.src, |chunks, size, values| {
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
