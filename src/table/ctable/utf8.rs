//! Texts of a CTable as an array of offsets, with one more than there are texts, and an array of
//! bytes.
#![forbid(unsafe_code)]

use super::schema::Nulls;
use super::text_rows::{TextSource, check_text};
use crate::alloc;
use crate::array::Array;
use crate::array::store::Texts;
use crate::dtype::Kind;
use crate::error::{Result, fail};
use std::ops::Range;

/// Positions that are read at once.
const PIECE: u64 = 1 << 16;

/// Offsets, bytes, and what marks nulls.
pub struct Utf8 {
    offsets: Array,
    bytes: Array,
    mask: Option<Array>,
    null: Option<Vec<u8>>,
    limit: u64,
}

impl Utf8 {
    /// Wraps the arrays. A read may need `limit` bytes.
    pub fn new(
        offsets: Array,
        bytes: Array,
        mask: Option<Array>,
        nulls: &Nulls,
        limit: u64,
    ) -> Result<Utf8> {
        check_arrays(&offsets, &bytes)?;
        Ok(Utf8 {
            null: nulls.text()?,
            offsets,
            bytes,
            mask,
            limit,
        })
    }

    fn read_piece(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        let n = positions.end - positions.start;
        let mut stored = alloc::zeroed((n as usize + 1) * 8)?;
        let read = |array: &Array, at: u64, dst: &mut [u8]| {
            let n = dst.len() as u64 / array.itemsize() as u64;
            array.read(&[at], &[n], None, dst, None).map(|_| ())
        };
        read(&self.offsets, positions.start, &mut stored)?;
        let mut valid = alloc::zeroed(if self.mask.is_some() { n as usize } else { 0 })?;
        if let Some(mask) = &self.mask {
            read(mask, positions.start, &mut valid)?;
        }
        let length = self.bytes.shape().first().copied().unwrap_or(0);
        let offsets = Offsets::parse(positions.start, &stored, length)?;
        let bytes = offsets.bytes(self.limit, |at, dst| read(&self.bytes, at, dst))?;
        offsets.push_texts(&bytes, to, |i, text| {
            valid.get(i) == Some(&0) || self.null.as_deref() == Some(text)
        })
    }
}

/// Returns an error unless the arrays are offsets and bytes.
pub fn check_arrays(offsets: &Array, bytes: &Array) -> Result<()> {
    let is = |array: &Array, kind: Kind, size: usize| {
        let item = &array.dtype().item;
        array.shape().len() == 1 && item.kind == kind && item.size == size && !item.big_endian
    };
    if is(offsets, Kind::Int, 8) && is(bytes, Kind::Uint, 1) {
        return Ok(());
    }
    Err(fail!(
        Format,
        "offsets of dtype {} and bytes of dtype {} (expected <i8 and |u1 in one dimension)",
        offsets.dtype_text(),
        bytes.dtype_text()
    ))
}

/// Where texts begin and end.
pub struct Offsets {
    /// The position of the first text.
    position: u64,
    /// The beginning of each text, and the end of the last one.
    all: Vec<u64>,
}

impl Offsets {
    /// Parses the offsets of texts in `length` bytes.
    pub fn parse(position: u64, stored: &[u8], length: u64) -> Result<Offsets> {
        let stored = stored.as_chunks::<8>().0;
        let mut all = alloc::with_capacity(stored.len())?;
        all.extend(stored.iter().map(|b| u64::from_le_bytes(*b)));
        // a negative one is larger than any length
        if all.is_sorted() && all.last().is_some_and(|last| *last <= length) {
            return Ok(Offsets { position, all });
        }
        Err(fail!(
            Format,
            "the offsets of the texts from position {position} on are not ascending, or exceed the {length} bytes"
        ))
    }

    /// Returns the range of the bytes of all texts.
    pub fn range(&self) -> Range<u64> {
        let [first, last] = [self.all.first(), self.all.last()].map(|n| n.copied().unwrap_or(0));
        first..last
    }

    /// Returns the bytes of all texts, at most `limit`.
    pub fn bytes(
        &self,
        limit: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let Range { start, end } = self.range();
        let mut bytes = alloc::zeroed(alloc::allow(end - start, limit, "texts")?)?;
        read(start, &mut bytes)?;
        Ok(bytes)
    }

    /// Adds the texts to a list.
    pub fn push_texts(
        &self,
        bytes: &[u8],
        to: &mut Texts,
        is_null: impl Fn(usize, &[u8]) -> bool,
    ) -> Result<()> {
        let first = self.range().start;
        for (i, ends) in self.all.windows(2).enumerate() {
            let &[begin, end] = ends else { continue };
            let text = bytes.get((begin - first) as usize..(end - first) as usize);
            let text = text.unwrap_or_default();
            let position = self.position + i as u64;
            check_text(text).map_err(|e| e.within(format_args!("position {position}")))?;
            to.push(text, is_null(i, text))?;
        }
        Ok(())
    }
}

impl TextSource for Utf8 {
    fn len(&self) -> u64 {
        self.offsets
            .shape()
            .first()
            .map_or(0, |n| n.saturating_sub(1))
    }

    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        pieces(positions).try_for_each(|piece| self.read_piece(piece, to))
    }

    fn threads(&self) -> usize {
        self.offsets.store().file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        Ok(self.offsets.cbytes()?.saturating_add(self.bytes.cbytes()?))
    }
}

/// Splits positions into those that are read at once.
pub fn pieces(positions: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let Range { start, end } = positions;
    let starts = (start..end).step_by(PIECE as usize);
    starts.map(move |at| at..(at + PIECE).min(end))
}
