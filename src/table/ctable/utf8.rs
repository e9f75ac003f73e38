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
use crate::json::Value;
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
        let is = |array: &Array, kind: Kind, size: usize| {
            let item = &array.dtype().item;
            array.shape().len() == 1 && item.kind == kind && item.size == size && !item.big_endian
        };
        if !is(&offsets, Kind::Int, 8) || !is(&bytes, Kind::Uint, 1) {
            return Err(fail!(
                Format,
                "offsets of dtype {} and bytes of dtype {} (expected <i8 and |u1 in one dimension)",
                offsets.dtype_text(),
                bytes.dtype_text()
            ));
        }
        let null = match nulls {
            Nulls::Value(Value::String(text)) => Some(text.clone().into_bytes()),
            Nulls::Value(value) => {
                return Err(fail!(Format, "the null value {value} of texts"));
            }
            Nulls::None | Nulls::Mask => None,
        };
        Ok(Utf8 {
            offsets,
            bytes,
            mask,
            null,
            limit,
        })
    }

    fn read_piece(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        let n = positions.end - positions.start;
        let mut stored = alloc::zeroed((n as usize + 1) * 8)?;
        let read = |array: &Array, at: u64, dst: &mut [u8]| {
            let n = dst.len() as u64 / array.itemsize() as u64;
            array.read(&[at], &[n], None, dst, None)
        };
        read(&self.offsets, positions.start, &mut stored)?;
        let offsets: Vec<i64> = stored
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| i64::from_le_bytes(*b))
            .collect();
        let length = self.bytes.shape().first().copied().unwrap_or(0);
        let is_right = offsets.is_sorted()
            && offsets.first().is_some_and(|first| *first >= 0)
            && offsets.last().is_some_and(|last| *last as u64 <= length);
        let (true, &[first, ..], &[.., last]) = (is_right, &*offsets, &*offsets) else {
            return Err(fail!(
                Format,
                "the offsets of the texts from position {} on are not ascending, or exceed the {length} bytes",
                positions.start
            ));
        };
        let len = alloc::allow((last - first) as u64, self.limit, "texts")?;
        let mut bytes = alloc::zeroed(len)?;
        read(&self.bytes, first as u64, &mut bytes)?;
        let mut valid = alloc::zeroed(if self.mask.is_some() { n as usize } else { 0 })?;
        if let Some(mask) = &self.mask {
            read(mask, positions.start, &mut valid)?;
        }
        for (i, ends) in offsets.windows(2).enumerate() {
            let &[begin, end] = ends else { continue };
            let text = bytes.get((begin - first) as usize..(end - first) as usize);
            let text = text.unwrap_or_default();
            let is_null = valid.get(i) == Some(&0) || self.null.as_deref() == Some(text);
            check_text(positions.start + i as u64, text)?;
            to.push(text, is_null)?;
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
        let mut at = positions.start;
        while at < positions.end {
            let end = (at + PIECE).min(positions.end);
            self.read_piece(at..end, to)?;
            at = end;
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        self.offsets.store().file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        Ok(self.offsets.cbytes()?.saturating_add(self.bytes.cbytes()?))
    }
}
