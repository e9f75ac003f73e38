//! Changes texts of a CTable that are stored as offsets and bytes.
#![forbid(unsafe_code)]

use super::column_writer::ColumnWriter;
use super::commit_part::CommitPart;
use super::row_map::RowMap;
use super::text_rows::TextSource;
use super::text_writer::TextSink;
use super::utf8::{Offsets, check_arrays, pieces};
use super::valid_rows::ValidRows;
use crate::alloc;
use crate::array::Array;
use crate::array::store::{Store, Texts};
use crate::error::{Result, fail};
use crate::slice::SliceExt;
use crate::superchunk::frame::Frame;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are moved at once.
const PIECE: u64 = 1 << 20;
/// Bytes of an offset.
const OFFSET: u64 = 8;

/// Offsets, and bytes, each in an array that grows.
pub struct Utf8Writer {
    offsets: ColumnWriter,
    bytes: ColumnWriter,
    /// The text that marks nulls.
    null: Option<Vec<u8>>,
    limit: u64,
}

/// Returns the first `n` items of an array as rows that can grow.
pub fn growing(array: Array, n: u64, limit: u64) -> Result<ColumnWriter> {
    ColumnWriter::new(array, RowMap::new(Arc::new(ValidRows::dense(n))), limit)
}

impl Utf8Writer {
    /// Wraps the arrays of `n` texts. A read may need `limit` bytes.
    pub fn new(
        offsets: Array,
        bytes: Array,
        n: u64,
        null: Option<Vec<u8>>,
        limit: u64,
    ) -> Result<Utf8Writer> {
        check_arrays(&offsets, &bytes)?;
        let have = offsets.shape().first().copied().unwrap_or(0);
        if have <= n {
            return Err(fail!(
                Format,
                "{have} offsets (expected {} for {n} texts)",
                n + 1
            ));
        }
        let mut last = [0; OFFSET as usize];
        offsets.read(&[n], &[1], None, &mut last, None)?;
        let length = bytes.shape().first().copied().unwrap_or(0);
        let end = Offsets::parse(n, &last, length)?.range().end;
        Ok(Utf8Writer {
            offsets: growing(offsets, n + 1, limit)?,
            bytes: growing(bytes, end, limit)?,
            null,
            limit,
        })
    }

    /// Returns the offsets of the texts at these positions.
    fn offsets(&self, positions: Range<u64>) -> Result<Offsets> {
        let n = positions.end - positions.start + 1;
        let mut stored = alloc::zeroed((n * OFFSET) as usize)?;
        self.offsets.read(positions.start * OFFSET, &mut stored)?;
        Offsets::parse(positions.start, &stored, self.bytes.nbytes())
    }

    /// Returns offsets, which are not verified.
    fn stored_offsets(&self, range: Range<u64>) -> Result<Vec<u64>> {
        let mut stored = alloc::zeroed(((range.end - range.start) * OFFSET) as usize)?;
        self.offsets.read(range.start * OFFSET, &mut stored)?;
        let offsets = stored.as_chunks::<8>().0.iter();
        Ok(offsets.map(|b| u64::from_le_bytes(*b)).collect())
    }

    fn write_offsets(&mut self, position: u64, offsets: impl Iterator<Item = u64>) -> Result<()> {
        let stored: Vec<u8> = offsets.flat_map(u64::to_le_bytes).collect();
        self.offsets.write(position * OFFSET, &stored)
    }

    /// Moves the bytes from `from` on by so many.
    fn move_bytes(&mut self, from: u64, by: i64) -> Result<()> {
        let (end, distance) = (self.bytes.nbytes(), by.unsigned_abs());
        let mut piece = alloc::zeroed(PIECE.min((end - from).max(distance)) as usize)?;
        if by < 0 {
            for at in (from..end).step_by(PIECE as usize) {
                let n = PIECE.min(end - at) as usize;
                self.copy_bytes(at, at - distance, piece.at_mut(..n)?)?;
            }
            return self.bytes.truncate(end - distance);
        }
        for at in (0..distance).step_by(PIECE as usize) {
            self.bytes
                .append(piece.at(..PIECE.min(distance - at) as usize)?)?;
        }
        // the last ones first: they may be moved over those before them
        let mut at = end;
        while at > from {
            let n = PIECE.min(at - from);
            at -= n;
            self.copy_bytes(at, at + distance, piece.at_mut(..n as usize)?)?;
        }
        Ok(())
    }

    fn copy_bytes(&mut self, from: u64, to: u64, piece: &mut [u8]) -> Result<()> {
        self.bytes.read(from, piece)?;
        self.bytes.write(to, piece)
    }
}

impl TextSource for Utf8Writer {
    fn len(&self) -> u64 {
        (self.offsets.nbytes() / OFFSET).saturating_sub(1)
    }

    fn read(&self, positions: Range<u64>, to: &mut Texts) -> Result<()> {
        for piece in pieces(positions) {
            let offsets = self.offsets(piece)?;
            let bytes =
                offsets.bytes(self.limit, |at, dst| self.bytes.read(at, dst).map(|_| ()))?;
            offsets.push_texts(&bytes, to, |_, text| self.null.as_deref() == Some(text))?;
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        self.offsets.file_threads()
    }

    fn stored_bytes(&self) -> Result<u64> {
        Ok(self.offsets.cbytes()?.saturating_add(self.bytes.cbytes()?))
    }
}

impl TextSink for Utf8Writer {
    fn append(&mut self, texts: &Texts) -> Result<()> {
        let (n, start) = (self.len(), self.bytes.nbytes());
        let end = start.checked_add(texts.bytes.len() as u64);
        if end.is_none_or(|end| i64::try_from(end).is_err()) {
            return Err(fail!(Limit, "more than 2^63 bytes of texts"));
        }
        let mut offsets = alloc::with_capacity(texts.len() * OFFSET as usize)?;
        for end in &texts.ends {
            offsets.extend((start + *end as u64).to_le_bytes());
        }
        self.bytes.append(&texts.bytes)?;
        let appended = self.offsets.append(&offsets);
        if appended.is_err() {
            self.offsets.truncate((n + 1) * OFFSET)?;
            self.bytes.truncate(start)?;
        }
        appended
    }

    fn overwrite(&mut self, position: u64, texts: &Texts) -> Result<()> {
        let end = position + texts.len() as u64;
        let before = self.offsets(position..end)?;
        let Range { start, end: after } = before.range();
        let by = texts.bytes.len() as i64 - (after - start) as i64;
        if by != 0 {
            self.move_bytes(after, by)?;
            for piece in pieces(end..self.len()) {
                // the first offset of a piece is the last one of the piece before
                let offsets = self.stored_offsets(piece.start + 1..piece.end + 1)?;
                let moved = offsets.iter().map(|at| at.wrapping_add_signed(by));
                self.write_offsets(piece.start + 1, moved)?;
            }
        }
        self.bytes.write(start, &texts.bytes)?;
        let ends = texts.ends.iter().map(|end| start + *end as u64);
        self.write_offsets(position + 1, ends)
    }

    fn truncate(&mut self, positions: u64) -> Result<()> {
        let end = self.offsets(positions..positions)?.range().end;
        self.offsets.truncate((positions + 1) * OFFSET)?;
        self.bytes.truncate(end)
    }

    fn prepare_commit(&mut self, _positions: u64) -> Result<Vec<&mut Frame>> {
        let offsets = self.offsets.nbytes() / OFFSET;
        // python-blosc2 has no array without bytes
        let bytes = self.bytes.nbytes().max(1);
        let mut frames = self.offsets.prepare_commit(offsets)?;
        frames.extend(self.bytes.prepare_commit(bytes)?);
        Ok(frames)
    }
}
